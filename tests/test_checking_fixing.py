"""The mended copy: what is changed, what never is, and that it scores as the file did.

Expected bytes are written out; which order equal scores have is trec_eval's rule (descending id).
"""

from __future__ import annotations

import gzip
import io
import random
from pathlib import Path

import pytest
from readers import use_reader
from shared import ROBUST, needs_shared

import treceval_py as te
from treceval_py.checking import fixing
from treceval_py.checking.fixing import Fixed, fix
from treceval_py.diagnosis.columns import KINDS
from treceval_py.errors import InputError
from treceval_py.scan import scanner

pytestmark = pytest.mark.filterwarnings("ignore::treceval_py.errors.SuspectRunWarning")

SAMPLE = Path(__file__).parent.parent / "data"
CLEAN = b"1 Q0 a 1 2.5 t\n1 Q0 b 2 1.5 t\n2 Q0 c 1 3 t\n"


def mended(data: bytes, kind: str = "run") -> tuple[bytes, Fixed]:
    target = io.BytesIO()
    done = fix(io.BytesIO(data), target, KINDS[kind])
    return target.getvalue(), done


def after(data: bytes, kind: str = "run") -> bytes:
    return mended(data, kind)[0]


# What is mended.

CASES = {
    "byte-order mark": ("run", b"\xef\xbb\xbf" + CLEAN, CLEAN, ("the byte-order mark was removed",)),
    "UTF-16": ("run", CLEAN.decode().encode("utf-16"), CLEAN, ("UTF-16 was rewritten as UTF-8",)),
    "old Macintosh": (
        "run", CLEAN.replace(b"\n", b"\r"), CLEAN, ("carriage returns that end lines were replaced with newlines",),
    ),
    "header": ("run", b"# c\nqid Q0 docid rank score tag\n" + CLEAN, b"# c\n" + CLEAN, ("the header was removed (line 2)",)),
    "header of judgments": (
        "qrels", b"qid\titer\tdocid\trel\n1 0 a 1\n", b"1 0 a 1\n", ("the header was removed (line 1)",),
    ),
    "quotes": (
        "run", b"\"1\" Q0 'a' 1 2.5 \"t\"\n\"1\" Q0 \"b\" 2 1.5 \"t\"\n", b"1 Q0 a 1 2.5 t\n1 Q0 b 2 1.5 t\n",
        ("quotes on 2 lines were removed (first: line 1)",),
    ),
    "tags": (
        "run", b"1\tQ0\ta\t1\t2.5\n1\tQ0\tb\t2\t1.5\n", b"1\tQ0\ta\t1\t2.5\trun\n1\tQ0\tb\t2\t1.5\trun\n",
        ("2 lines without a tag got one (first: line 1)",),
    ),
    "one tag": (
        "run", b"1 Q0 a 1 2.5 t\n1 Q0 b 2 1.5\n", b"1 Q0 a 1 2.5 t\n1 Q0 b 2 1.5 t\n",
        ("1 line without a tag got one (line 2)",),
    ),
    "quotes, a header and no tags": (
        "run", b"\"qid\" \"q0\" \"docid\" \"rank\" \"score\"\n\"1\" Q0 \"a\" 0 2.5\n", b"1 Q0 a 1 2.5 run\n",
        (
            "the header was removed (line 1)", "quotes on 1 line were removed (line 2)",
            "1 line without a tag got one (line 2)", "ranks of 1 query were numbered from 1 (line 2)",
        ),
    ),
    "CR LF": (
        "run", CLEAN.replace(b"\n", b"\r\n"), CLEAN,
        ("3 lines that ended with carriage returns now end with a newline alone (first: line 1)",),
    ),
    "one CR LF": (
        "qrels", b"1 0 a 1\n1 0 b 0\r\n", b"1 0 a 1\n1 0 b 0\n",
        ("1 line that ended with a carriage return now ends with a newline alone (line 2)",),
    ),
    "no-break spaces": (
        "run", "1\u00a0Q0 a 1 2.5 t\n1 Q0 b\u00a02 1.5 t\n".encode(), b"1 Q0 a 1 2.5 t\n1 Q0 b 2 1.5 t\n",
        ("unusual spaces on 2 lines were replaced (first: line 1)",),
    ),
    "no-break space before a label": (
        "qrels", "1 0 a\u00a01\n".encode(), b"1 0 a 1\n", ("unusual spaces on 1 line were replaced (line 1)",),
    ),
    "two byte-order marks": (
        "run", b"\xef\xbb\xbf\xef\xbb\xbf# c\n" + CLEAN, b"# c\n" + CLEAN, ("the byte-order mark was removed",),
    ),
    "a byte-order mark after a blank line": (
        "run", b"\n \xef\xbb\xbf" + CLEAN, CLEAN,
        (
            "the byte-order mark was removed", "superfluous white space on 1 line was removed (line 2)",
            "1 blank line was removed (line 1)",
        ),
    ),
    "old Macintosh with a newline at the end": (
        "run", CLEAN[:-1].replace(b"\n", b"\r") + b"\n", CLEAN,
        ("carriage returns that end lines were replaced with newlines",),
    ),
    "a carriage return between the fields of the only line": (
        "run", b"1 Q0 a\r1 2.5 t\n", b"1 Q0 a 1 2.5 t\n",
        ("superfluous white space on 1 line was removed (line 1)",),
    ),
    "white space around and between": (
        "run", b"  1  Q0\t a 1 2.5 t \n1 Q0 b 2 1.5 t\n", b"1 Q0\ta 1 2.5 t\n1 Q0 b 2 1.5 t\n",
        ("superfluous white space on 1 line was removed (line 1)",),
    ),
    "tabs of MS MARCO": (
        "msmarco", b"1\ta\t1\n1\t\tb\t2\t\n", b"1\ta\t1\n1\tb\t2\n",
        ("superfluous white space on 1 line was removed (line 2)",),
    ),
    "blank lines": (
        "qrels", b"\n1 0 a 1\n \t\n1 0 b 0\n", b"1 0 a 1\n1 0 b 0\n", ("2 blank lines were removed (first: line 1)",),
    ),
    "exact duplicates": (
        "run", b"1 Q0 a 1 2.5 t\n1 Q0 b 2 1.5 t\n1 Q0 a 3 2.50 t\n1 Q0 b 2 1.5 t\n", b"1 Q0 a 1 2.5 t\n1 Q0 b 2 1.5 t\n",
        ("2 exact duplicates were removed (first: line 3)",),
    ),
    "a duplicate judgment": (
        "qrels", b"1 0 a 1\n1 0 a 01\n", b"1 0 a 1\n", ("1 exact duplicate was removed (line 2)",),
    ),
    "a duplicate in a judged ranking": (
        "judged-ranking", b"1 Q0 a 1\n1 Q0 b 0\n1 Q0 a 1\n", b"1 Q0 a 1\n1 Q0 b 0\n",
        ("1 exact duplicate was removed (line 3)",),
    ),
    "a duplicate of MS MARCO": (
        "msmarco", b"1\ta\t1\n1\ta\t1\n", b"1\ta\t1\n", ("1 exact duplicate was removed (line 2)",),
    ),
    "ranks from 0": (
        "run", b"1 Q0 a 0 2.5 t\n1 Q0 b 1 1.5 t\n", b"1 Q0 a 1 2.5 t\n1 Q0 b 2 1.5 t\n",
        ("ranks of 1 query were numbered from 1 (line 1)",),
    ),
    "constant ranks": (
        "run", b"1 Q0 a 0 1 t\n1 Q0 b 0 2 t\n2 Q0 c 9 1 t\n", b"1 Q0 a 2 1 t\n1 Q0 b 1 2 t\n2 Q0 c 1 1 t\n",
        ("ranks of 2 queries were numbered from 1 (first: line 1)",),
    ),
    "constant ranks of equal scores": (
        "run", b"1 Q0 a 1 2 t\n1 Q0 b 1 2 t\n", b"1 Q0 a 2 2 t\n1 Q0 b 1 2 t\n",
        ("ranks of 1 query were numbered from 1 (line 1)",),
    ),
    "ranks that are repeated": (
        "run", b"1 Q0 a 1 3 t\n1 Q0 b 1 2 t\n1 Q0 c 2 1 t\n", b"1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n1 Q0 c 3 1 t\n",
        ("ranks of 1 query were numbered from 1 (line 2)",),
    ),
    "ranks with a gap, and equal scores that keep their order": (
        "run", b"1 Q0 a 1 2 t\n1 Q0 b 3 2 t\n", b"1 Q0 a 1 2 t\n1 Q0 b 2 2 t\n",
        ("ranks of 1 query were numbered from 1 (line 2)",),
    ),
    "ranks from 0 of MS MARCO": (
        "msmarco", b"1\ta\t0\n1\tb\t2\n2\tc\t1\n", b"1\ta\t1\n1\tb\t3\n2\tc\t1\n",
        ("ranks of 1 query were numbered from 1 (line 1)",),
    ),
    "the largest rank that is numbered": (
        "run", b"1 Q0 a 999999999999999999 1 t\n", b"1 Q0 a 1 1 t\n", ("ranks of 1 query were numbered from 1 (line 1)",),
    ),
    "ranks beside an infinite score": (
        "run", b"1 Q0 a 0 inf t\n1 Q0 b 1 1.5 t\n", b"1 Q0 a 1 inf t\n1 Q0 b 2 1.5 t\n",
        ("ranks of 1 query were numbered from 1 (line 1)",),
    ),
    "a header after 19 comments": (
        "run", b"# c\n" * 19 + b"qid Q0 docid rank score tag\n" + CLEAN, b"# c\n" * 19 + CLEAN,
        ("the header was removed (line 20)",),
    ),
    "no tag after an id with letters of another alphabet": (
        "run", "1 Q0 é 1 2.5\n".encode(), "1 Q0 é 1 2.5 run\n".encode(), ("1 line without a tag got one (line 1)",),
    ),
    "a rank between tabs, and a tag of two words": (
        "run", b"1\tQ0\ta\t0\t1\tmy tag\n", b"1\tQ0\ta\t1\t1\tmy tag\n",
        ("ranks of 1 query were numbered from 1 (line 1)",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", list(CASES))
def test_it_is_mended_and_said_and_a_mended_copy_is_left_as_it_is(case: str) -> None:
    kind, before, expected, said = CASES[case]
    once, done = mended(before, kind)
    assert (once, done.repairs) == (expected, said)
    assert mended(once, kind) == (once, Fixed((), once.count(b"\n"), once.count(b"\n")))


def test_several_repairs_are_told_in_order() -> None:
    data = b"\xef\xbb\xbf1 Q0 a 0 2 t\r\n\r\n1  Q0 b 1 1 t\r\n1 Q0 b 1 1 t\r\n"
    assert mended(data) == (
        b"1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n",
        Fixed(
            (
                "the byte-order mark was removed",
                "3 lines that ended with carriage returns now end with a newline alone (first: line 1)",
                "superfluous white space on 1 line was removed (line 3)",
                "1 blank line was removed (line 2)",
                "1 exact duplicate was removed (line 4)",
                "ranks of 1 query were numbered from 1 (line 1)",
            ),
            4,
            2,
        ),
    )


def test_a_last_line_without_newline_gets_one() -> None:
    assert after(b"1 0 a 1", "qrels") == b"1 0 a 1\n"


def test_a_compressed_file_is_read() -> None:
    assert after(gzip.compress(b"1 Q0 a 0 2 t\n")) == b"1 Q0 a 1 2 t\n"


# What is never changed.

KEPT = {
    "clean": ("run", CLEAN),
    "comments": ("run", b"# first,  with\tspaces \n" + CLEAN),
    "ranks that contradict scores": ("run", b"1 Q0 a 0 1 t\n1 Q0 b 1 2 t\n"),
    "ranks in another order of lines": ("run", b"1 Q0 b 2 1 t\n1 Q0 a 1 2 t\n"),
    "ranks that decide between equal scores": ("run", b"1 Q0 a 1 2 t\n1 Q0 b 2 2 t\n"),
    "another score of the same document": ("run", b"1 Q0 a 1 2 t\n1 Q0 a 2 1 t\n"),
    "a rank that is not a whole number": ("run", b"1 Q0 a 0 2 t\n1 Q0 b 1.5 1 t\n"),
    "ranks of a query with a score that is NaN": ("run", b"1 Q0 a 0 2 t\n1 Q0 b 1 nan t\n"),
    "ranks of a query with a decimal comma": ("run", b"1 Q0 a 0 2 t\n1 Q0 b 1 1,5 t\n"),
    "ranks of a query with a score beyond 64 bits": ("run", b"1 Q0 a 0 1e999 t\n1 Q0 b 1 1 t\n"),
    "ranks of a query with a score of Python's": ("run", b"1 Q0 a 0 1_0 t\n1 Q0 b 1 1 t\n"),
    "a rank that is too large to be numbered": ("run", b"1 Q0 a 1000000000000000000 2 t\n"),
    "ranks of a query with a line that lacks a field": ("run", b"1 Q0 a 0 2 t\n1 Q0 b 1 t\n"),
    "white space of a line that lacks a field": ("run", b"1  Q0 a 2 t \n" + CLEAN),
    "a no-break space within an id": ("run", "1 Q0 a\u00a0b 1 2 t\n".encode()),
    "a no-break space within a tag": ("run", "1 Q0 a 1 2 my\u00a0run\n".encode()),
    "a zero-width space before an id": ("qrels", "1 0 \u200ba 1\n".encode()),
    "a no-break space in the place of Q0": ("run", "37_5 \u00a0 d56 1 9.400 tag more\n".encode()),
    "a no-break space in the id of a line that lacks its tag": ("run", "1 Q0 d\u00a07 3 9.4\n".encode()),
    "a no-break space in the id of a line that lacks its iteration": ("qrels", "1 d\u00a07 1\n".encode()),
    "a no-break space in a line whose score is none": ("run", "1\u00a0Q0 a 1 x t\n".encode()),
    "an invisible character": ("run", "1 Q0 a\u00ad1 2.5 t\n".encode()),
    "lines in one line that look like duplicates": ("run", b"1 Q0 a 1 9 t\r1 Q0 b 2 8 t\n1 Q0 a 1 9 t\r1 Q0 c 3 7 t\n"),
    "ranks of a query with a line that may be several": ("run", b"1 Q0 a 5 9 t\n1 Q0 b 6 8 t\n1\rQ0 c 7 7 t x\n"),
    "a carriage return that may end a line": ("run", b"1 Q0 a 1 2 t\r1 Q0 b 2 1 t\n2 Q0 c 1 3 t\n"),
    "bytes that are no UTF-8": ("run", b"1 Q0 \xff\xe9 1 2 t\n"),
    "both labels of a document": ("qrels", b"1 0 a 1\n1 0 a 0\n"),
    "the same document in two subtopics": ("qrels", b"1 1 a 1\n1 2 a 1\n"),
    "a label that is not a whole number": ("qrels", b"1 0 a 0.5\n"),
    "a gap in ranks of MS MARCO": ("msmarco", b"1\ta\t1\n1\tb\t3\n"),
    "ranks from 2 of MS MARCO": ("msmarco", b"1\ta\t2\n1\tb\t3\n"),
    "a rank that comes twice in MS MARCO": ("msmarco", b"1\ta\t1\n1\tb\t1\n"),
}


@pytest.mark.parametrize("case", list(KEPT))
def test_it_stays_byte_for_byte(case: str) -> None:
    kind, data = KEPT[case]
    lines = data.count(b"\n")
    assert mended(data, kind) == (data, Fixed((), lines, lines))


FILES = sorted([*(SAMPLE / "runs").glob("*.txt"), SAMPLE / "messy" / "run.txt"])


@pytest.mark.filterwarnings("ignore::treceval_py.errors.MissingQueriesWarning")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_run_of_the_sample_scores_as_before(path: Path) -> None:
    folder = "messy" if path.parent.name == "messy" else ""
    qrels = te.read_qrels(SAMPLE / folder / ("qrels.txt" if folder else "qrels.tsv"))
    copy = io.BytesIO(after(path.read_bytes()))
    assert te.evaluate(qrels, copy, ["map", "ndcg"]).mean == te.evaluate(qrels, path, ["map", "ndcg"]).mean


@needs_shared
@pytest.mark.parametrize("name", ["MU03rob01", "NLPR03vb10", "UIUC03Rd1", "SABIR03BASE"])
def test_a_robust_run_with_ranks_from_1_changes_in_no_byte(name: str) -> None:
    data = gzip.decompress((ROBUST / f"input.{name}.gz").read_bytes())
    assert after(data) == data


# Queries whose lines are scattered.


def test_duplicates_and_ranks_of_scattered_queries_are_mended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixing, "PART_SIZE", 40)  # several readings of so small a file
    monkeypatch.setattr(fixing, "chunks", _line_by_line(fixing.chunks))
    data = b"1 Q0 a 0 3 t\n2 Q0 c 0 3 t\n\n1 Q0 b 1 2 t\n2 Q0 c 1 3 t\n1 Q0 a 0 3 t\n"
    assert mended(data) == (
        b"1 Q0 a 1 3 t\n2 Q0 c 1 3 t\n1 Q0 b 2 2 t\n",
        Fixed(
            (
                "1 blank line was removed (line 3)",
                "2 exact duplicates were removed (first: line 5)",
                "ranks of 2 queries were numbered from 1 (first: line 1)",
            ),
            6,
            3,
        ),
    )


@pytest.mark.parametrize("reader", ["", "python"], ids=["compiled", "Python"])
@pytest.mark.parametrize("kind", ["run", "qrels", "msmarco"])
def test_a_sound_file_of_scattered_queries_stays_byte_for_byte(
    kind: str, reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_reader(monkeypatch, reader)
    monkeypatch.setattr(fixing, "PART_SIZE", 40)
    monkeypatch.setattr(fixing, "chunks", _line_by_line(fixing.chunks))
    form = {"run": "{0} Q0 d{1} {1} -{1} t", "qrels": "{0} 0 d{1} 1", "msmarco": "{0}\td{1}\t{1}"}[kind]
    lines = [form.format(query, rank) for rank in (1, 2, 3) for query in "abc"]
    data = "\n".join(["# c", *lines, ""]).encode()
    assert mended(data, kind) == (data, Fixed((), 10, 10))


def test_a_sound_part_of_scattered_queries_is_not_cut_into_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    use_reader(monkeypatch, "")
    if scanner() is None:
        pytest.skip("there is no compiled reader")
    monkeypatch.setattr(fixing, "chunks", _line_by_line(fixing.chunks))
    monkeypatch.setattr(fixing, "_fields", None)
    data = b"1 Q0 a 1 3 t\n2 Q0 c 1 3 t\n1 Q0 b 2 2 t\n"
    assert after(data) == data


def test_tags_and_headers_are_known_over_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixing, "chunks", _line_by_line(fixing.chunks))
    assert after(b"1 Q0 a 1 2.5 t\n1 Q0 b 2 1.5\n") == b"1 Q0 a 1 2.5 t\n1 Q0 b 2 1.5 t\n"
    joined = b"1 Q0 a 1 2.5 t\nqid Q0 docid rank score tag\n2 Q0 b 1 1.5 t\n"
    assert after(joined) == joined


def test_a_rank_with_thousands_of_zeros_is_numbered() -> None:
    assert after(b"1 Q0 a " + b"0" * 5000 + b"5 2 t\n") == b"1 Q0 a 1 2 t\n"


def _line_by_line(chunks):  # type: ignore[no-untyped-def]
    """Make chunks of a line each, as a file with queries of megabytes would have them."""

    def cut(source, collector):  # type: ignore[no-untyped-def]
        for chunk in chunks(source, collector):
            for number, line in enumerate(chunk.text.splitlines(keepends=True)):
                yield fixing.Chunk(chunk.first + number, line)

    return cut


# What cannot be mended.


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n# nothing\n",
        gzip.compress(CLEAN * 100)[:-9],
        b"%PDF-1.4\n1 Q0 a 1 2 t\n",
        b"1 Q0 a\0 1 2 t\n" + CLEAN,
        b"\xef\xbb\xbf\xef\xbb\xbf\n",
    ],
    ids=["empty", "no data", "cut off", "PDF", "NUL", "only byte-order marks"],
)
def test_what_is_not_all_text_is_refused_and_nothing_written(data: bytes) -> None:
    target = io.BytesIO()
    with pytest.raises(InputError):
        fix(io.BytesIO(data), target, KINDS["run"])
    assert target.getvalue() == b""


# Whatever the file.


def _damaged(rng: random.Random) -> bytes:
    """Make a run that scores, with repairs of every kind to make."""
    lines = []
    for qid in rng.sample(["1", "02", "q3"], rng.randint(1, 3)):
        start = rng.choice([0, 1, 1, 5])
        scores = sorted((rng.choice([1, 2, 2.5, 4, 8]) for _ in range(rng.randint(1, 5))), reverse=True)
        for place, score in enumerate(scores):
            between = rng.choice([" ", "\t", "  "])
            rank = rng.choice([start + place, start, 7])
            end = rng.choice(["\n", "\r\n", " \n", "\n\n"])
            lines.append(between.join([qid, "Q0", f"d{place}", str(rank), str(score), "t"]) + end)
    if rng.random() < 0.5:
        rng.shuffle(lines)
    return rng.choice(["", "\ufeff"]).encode() + "".join(lines).encode()


@pytest.mark.parametrize("start", [0, 20, 40])
def test_a_copy_scores_as_the_file_and_is_left_as_it_is(start: int) -> None:
    for seed in range(start, start + 20):
        _scores_as_before(_damaged(random.Random(seed)))


def _scores_as_before(data: bytes) -> None:
    qrels = {qid: {"d0": 0, "d1": 2, "d2": 1, "d4": 1} for qid in ("1", "02", "q3")}
    measures = ["map", "ndcg", "recip_rank", "P.3"]
    copy, _ = mended(data)
    before, scored = (te.evaluate(qrels, io.BytesIO(each), measures, complete=True) for each in (data, copy))
    assert scored.mean == before.mean
    assert after(copy) == copy
