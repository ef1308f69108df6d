"""Runs whose queries' lines do not stand together: read part by part so that they do."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable

import pytest

from treceval_py.checking.rows import QueryLines
from treceval_py.checking.scattered import grouped
from treceval_py.diagnosis.columns import KINDS
from treceval_py.errors import InputError

RUN = """\
# made by hand
1 Q0 d7 1 9.5 mine
22 Q0 d3 1 7.5 mine
1 Q0 d2 2 8.5 mine

333 Q0 d4 1 2.5 mine
22 Q0 d9 2 7.0 mine
333 Q0 d6 2 1.5 mine
1 Q0 d5 3 8.0 mine
"""

# Query, document, score, rank and line, by hand.
ROWS = {
    (b"1", "d7", 9.5, 1, 2),
    (b"22", "d3", 7.5, 1, 3),
    (b"1", "d2", 8.5, 2, 4),
    (b"333", "d4", 2.5, 1, 6),
    (b"22", "d9", 7.0, 2, 7),
    (b"333", "d6", 1.5, 2, 8),
    (b"1", "d5", 8.0, 3, 9),
}


class Opened:
    """A file that is opened anew for each reading, and how often it was."""

    def __init__(self, *contents: bytes) -> None:
        self.contents = contents
        self.count = 0

    def __call__(self) -> io.BytesIO:
        self.count += 1
        return io.BytesIO(self.contents[min(self.count, len(self.contents)) - 1])


def read(text: str, kind: str = "run", size: int = 1 << 24) -> list[QueryLines]:
    return list(grouped(Opened(text.encode()), KINDS[kind], size=size))


def triples(
    every: list[QueryLines], values: Callable[[QueryLines], list[tuple[object, ...]]]
) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for rows in every:
        names = [
            qid
            for qid, start, stop in zip(rows.qids, rows.starts[:-1], rows.starts[1:], strict=True)
            for _ in range(stop - start)
        ]
        found += [(qid, docid, *rest) for qid, docid, rest in zip(names, rows.docids.text(), values(rows), strict=True)]
    return found


def of_run(rows: QueryLines) -> list[tuple[object, ...]]:
    return list(zip(rows.scores.tolist(), rows.ranks.tolist(), rows.lines, strict=True))


def sorted_of(every: list[QueryLines], qid: bytes) -> list[tuple[int, str]]:
    """Return line and document of the rows of a query, in their order."""
    found = triples(every, lambda rows: [(line,) for line in rows.lines])
    return [(line, docid) for name, docid, line in found if name == qid]


@pytest.mark.parametrize("size", [1, 20, 60, 100, 1000])
def test_all_rows_come_once_however_small_the_parts_are(size):
    found = triples(read(RUN, size=size), of_run)
    assert len(found) == len(ROWS)
    assert set(found) == ROWS


@pytest.mark.parametrize("size", [1, 60, 1000])
def test_the_rows_of_a_query_stand_together_and_in_the_order_of_the_file(size):
    every = read(RUN, size=size)
    qids = [qid for rows in every for qid in rows.qids]
    assert sorted(qids) == [b"1", b"22", b"333"]
    for rows in every:
        for start, stop in zip(rows.starts[:-1].tolist(), rows.starts[1:].tolist(), strict=True):
            assert list(rows.lines[start:stop]) == sorted(rows.lines[start:stop])


def test_small_parts_are_several():
    assert len(read(RUN, size=1)) == 3


def test_the_file_is_read_once_for_each_part_and_once_to_divide_it():
    again = Opened(RUN.encode())
    list(grouped(again, KINDS["run"], size=len(RUN) // 2))
    assert again.count == 4  # of a file of two halves and no more there are 2 + 1 parts


@pytest.mark.parametrize("size", [1, 1000])
def test_fields_are_found_at_their_columns(size):
    every = read(RUN.replace("22 Q0 d9", " 22  Q0\td9"), size=size)
    columns = {
        (rows.lines[row], rows.column(row, 2), rows.line_text(row)) for rows in every for row in range(len(rows.docids))
    }
    assert (7, 9, b" 22  Q0\td9 2 7.0 mine") in columns
    assert (9, 6, b"1 Q0 d5 3 8.0 mine") in columns


def test_lines_keep_their_order_where_there_are_many():
    text = "".join(f"{line % 3} Q0 d{line} {line} {-line} mine\n" for line in range(1, 2001))
    assert [line for line, _ in sorted_of(read(text), b"0")] == list(range(3, 2001, 3))


def test_lines_of_a_file_of_several_pieces_are_counted_on():
    # 90 lines of 100,000 letters are more than the 4 MiB that are read at once.
    text = "".join(f"{line % 3} Q0 d{line} {line} {-line} {'mine' * 25_000}\n" for line in range(1, 91))
    found = sorted_of(read(text, size=1 << 22), b"1")
    assert found == [(line, f"d{line}") for line in range(1, 91, 3)]


def test_lines_that_cannot_be_read_are_left_out_and_counted():
    found = triples(read(RUN.replace("22 Q0 d3 1 7.5 mine", "22 Q0 d3 1 many mine")), of_run)
    assert set(found) == ROWS - {(b"22", "d3", 7.5, 1, 3)}


def test_ranks_that_are_no_whole_numbers_are_marked():
    (rows,) = read(RUN.replace("1 Q0 d2 2", "1 Q0 d2 x"))
    assert rows.unranked is not None
    assert [line for line, odd in zip(rows.lines, rows.unranked.tolist(), strict=True) if odd] == [4]


def test_judgments_can_be_read_so():
    text = "1 0 d7 1\n2 0 d3 0\n1 0 d2 -1\n"
    found = triples(read(text, "qrels"), lambda rows: list(zip(rows.rels.tolist(), rows.lines, strict=True)))
    assert sorted(found) == [(b"1", "d2", -1, 3), (b"1", "d7", 1, 1), (b"2", "d3", 0, 2)]


def test_a_run_of_ms_marco_can_be_read_so():
    text = "1\t7\t1\n2\t3\t1\n1\t2\t2\n"
    found = triples(read(text, "msmarco"), lambda rows: list(zip(rows.ranks.tolist(), rows.lines, strict=True)))
    assert sorted(found) == [(b"1", "2", 2, 3), (b"1", "7", 1, 1), (b"2", "3", 1, 2)]


def test_a_compressed_file_can_be_read_so():
    again = Opened(gzip.compress(RUN.encode()))
    assert set(triples(list(grouped(again, KINDS["run"], size=60)), of_run)) == ROWS


def test_a_file_of_comments_has_no_rows():
    assert read("# nothing\n") == []


def test_a_file_that_changed_meanwhile_is_refused():
    again = Opened(RUN.encode(), RUN.encode() + b"1 Q0 d1 9 1 mine\n")
    with pytest.raises(InputError) as refused:
        list(grouped(again, KINDS["run"]))
    assert str(refused.value) == "the file changed while it was being read. Run again when nothing writes to it."
