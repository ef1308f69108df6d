"""Run files from positions and scores: nothing is lost, ties stand as trec_eval takes them, what is wrong is refused."""

from __future__ import annotations

import gzip
import itertools
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import table
from readers import use_reader
from syrupy.assertion import SnapshotAssertion

# The lines are put together by pyarrow, which comes with the extra `retrieve`.
pytest.importorskip("pyarrow")

from treceval_py.corpora.reporting import Silent
from treceval_py.data.ids import Ids
from treceval_py.errors import OutputError, RunnerError
from treceval_py.fusing.fusing import FusedQuery, run_of
from treceval_py.io.named import read_run
from treceval_py.io.target import written_whole
from treceval_py.io.writing import trec_lines
from treceval_py.runs.writing import SearchResults, Written, check_output, write_search_results

IDS = Ids.from_bytes([b"d10", b"d9", b"\xc3\xa4", b"d"])


def ranked(
    qids: list[str], positions: list[list[int]], scores: list[list[float]], kind: type = np.float32
) -> SearchResults:
    return SearchResults(qids, np.array(positions, dtype=np.int64), np.array(scores, dtype=kind))


def written(path: Path, *groups: SearchResults, k: int = 3, ids: Ids = IDS, tag: str = "t", **more: Any) -> Written:
    return write_search_results(path, groups, ids, tag, k=k, **more)[0]


def write_scores(path: Path, scores: np.ndarray) -> list[str]:
    """Write one query whose documents have these scores, and return the texts of the scores in its lines."""
    count = len(scores)
    ids = Ids.from_bytes([b"%d" % number for number in range(count)])
    write_search_results(path, [SearchResults(["1"], np.arange(count)[None], scores[None])], ids, "t", k=count)
    fields = [line.split() for line in path.read_text().splitlines()]
    texts = {int(field[2]): field[4] for field in fields}
    return [texts[number] for number in range(count)]


def test_a_line_has_the_six_fields_of_a_trec_run(tmp_path: Path) -> None:
    written(tmp_path / "r", ranked(["7"], [[2, 0, 3]], [[2.5, 1, 0.1]]), ranked(["8"], [[1, 3, 0]], [[-1, -2, -3]]))
    assert (tmp_path / "r").read_text("utf-8") == (
        "7 Q0 ä 1 2.5 t\n7 Q0 d10 2 1 t\n7 Q0 d 3 0.1 t\n8 Q0 d9 1 -1 t\n8 Q0 d 2 -2 t\n8 Q0 d10 3 -3 t\n"
    )


def test_documents_stand_by_descending_score_however_they_were_found(tmp_path: Path) -> None:
    written(tmp_path / "r", ranked(["1"], [[0, 1, 2]], [[1, 3, 2]]))
    assert (tmp_path / "r").read_text("utf-8") == "1 Q0 d9 1 3 t\n1 Q0 ä 2 2 t\n1 Q0 d10 3 1 t\n"


def test_equal_scores_stand_by_descending_bytes_of_the_id(tmp_path: Path) -> None:
    # Bytes: c3 a4 > "d9" > "d10" > "d"; position 3 has a score of its own above them.
    done = written(tmp_path / "r", ranked(["1"], [[3, 0, 1, 2]], [[2, 1, 1, 1]]), k=4)
    assert [line.split()[2] for line in (tmp_path / "r").read_text("utf-8").splitlines()] == ["d", "ä", "d9", "d10"]
    assert done.tied == 3


def test_equal_scores_of_two_queries_are_no_tie(tmp_path: Path) -> None:
    assert written(tmp_path / "r", ranked(["1", "2"], [[0], [0]], [[1], [1]])).tied == 0


def test_no_hit_is_dropped_and_counted(tmp_path: Path) -> None:
    group = ranked(["1", "2", "3"], [[0, -1, 1], [-1, -1, -1], [0, 1, 2]], [[1, np.nan, 3], [0, 0, 0], [3, 2, 1]])
    done = written(tmp_path / "r", group)
    assert done == Written(lines=5, queries=3, short=2, missing=4, without_hits=1, tied=0)
    assert (tmp_path / "r").read_text("utf-8").splitlines()[:2] == ["1 Q0 d9 1 3 t", "1 Q0 d10 2 1 t"]


def test_a_search_without_any_hit_gives_an_empty_file(tmp_path: Path) -> None:
    done = written(tmp_path / "r", ranked(["1"], [[-1, -1, -1]], [[0, 0, 0]]))
    assert (done.lines, (tmp_path / "r").read_bytes()) == (0, b"")


def test_zero_columns_give_no_lines(tmp_path: Path) -> None:
    done = written(tmp_path / "r", SearchResults(["1"], np.empty((1, 0), np.int64), np.empty((1, 0), np.float32)))
    assert done == Written(lines=0, queries=1, short=1, missing=0, without_hits=1, tied=0)


# Each with its two neighbours: 1, a score of 24 bits, denormals, the smallest and the largest normal numbers, 0.1, powers
# of ten, and 7.038531e-26, whose digits are half-way to a neighbour when read as float64 (found by trying all float32).
SINGLES = [1, 16777216, 1e-45, 1e-44, 1.17549435e-38, 3.4028233e38, 0.1, 1e-5, 1e10, 1e22, 7.038531e-26, -7.038531e-26]
DOUBLES = [1, 2.0**53, 1e-323, 2.2250738585072014e-308, 1.7976931348623155e308, 0.1, 1 / 3, 1e-5, 1e16, 1e22, -1 / 3]


def with_neighbours(values: list[float], kind: type) -> np.ndarray:
    middle = np.array(values, dtype=kind)
    every = np.concatenate([np.nextafter(middle, kind(-np.inf)), middle, np.nextafter(middle, kind(np.inf))])
    return np.unique(every[np.isfinite(every)])


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize("read", [np.float32, lambda text: np.float32(np.float64(text))], ids=["32 bits", "64 bits"])
def test_float32_scores_come_back_in_any_width(tmp_path: Path, read: Any) -> None:
    scores = with_neighbours(SINGLES, np.float32)
    assert [read(text) for text in write_scores(tmp_path / "r", scores)] == scores.tolist()


def test_neighbouring_float32_scores_stay_apart_for_a_reader_of_64_bits(tmp_path: Path) -> None:
    scores = with_neighbours(SINGLES, np.float32)
    values = [float(text) for text in write_scores(tmp_path / "r", scores)]
    assert all(a < b for a, b in itertools.pairwise(values))


def test_float64_scores_come_back(tmp_path: Path) -> None:
    scores = with_neighbours(DOUBLES, np.float64)
    assert [float(text) for text in write_scores(tmp_path / "r", scores)] == scores.tolist()


def test_random_bits_of_float32_come_back_when_read_as_float64_first(tmp_path: Path) -> None:
    bits = np.random.default_rng(0).integers(0, 2**32, 20_000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    scores = np.unique(bits[np.isfinite(bits)])
    assert [np.float32(float(text)) for text in write_scores(tmp_path / "r", scores)] == scores.tolist()


def test_scores_are_no_longer_than_they_need_be(tmp_path: Path) -> None:
    # What Python writes of the float64 0.1, and the nine digits at most of a float32.
    assert write_scores(tmp_path / "r", np.array([0.1, 1 / 3], np.float32)) == ["0.1", "0.33333334"]
    assert write_scores(tmp_path / "r", np.array([0.1, 1 / 3], np.float64)) == ["0.1", "0.3333333333333333"]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_negative_zero_ties_with_zero(tmp_path: Path, kind: type) -> None:
    done = written(tmp_path / "r", ranked(["1"], [[0, 1]], [[-0.0, 0.0]], kind))
    assert (tmp_path / "r").read_text("utf-8") == "1 Q0 d9 1 0 t\n1 Q0 d10 2 0 t\n"
    assert done.tied == 2


def random_groups(kind: type) -> tuple[list[SearchResults], Ids]:
    """40 queries over 300 documents in two groups, with many ties and some places without a hit."""
    random = np.random.default_rng(3)
    ids = Ids.from_bytes([b"%x" % number for number in random.permutation(300).tolist()])
    positions = np.array([random.permutation(300)[:50] for _ in range(40)])
    positions[random.random((40, 50)) < 0.1] = -1
    scores = random.integers(-8, 8, (40, 50)).astype(kind) / 3
    qids = [str(number) for number in range(40)]
    return [
        SearchResults(qids[:30], positions[:30], scores[:30]),
        SearchResults(qids[30:], positions[30:], scores[30:]),
    ], ids


def expected_of(groups: list[SearchResults], ids: Ids) -> dict[str, dict[str, float]]:
    return {
        qid: {ids[at]: float(score) for at, score in zip(*rows, strict=True) if at >= 0}
        for group in groups
        for qid, *rows in zip(group.qids, group.positions.tolist(), group.scores, strict=True)
    }


@pytest.mark.parametrize("name", ["r.txt", "r.txt.gz", "r.txt.xz"])
def test_the_run_reads_back_with_the_same_scores(tmp_path: Path, name: str) -> None:
    groups, ids = random_groups(np.float64)
    written(tmp_path / name, *groups, k=50, ids=ids)
    run = read_run(tmp_path / name)
    assert {qid: dict(run[qid]) for qid in run} == expected_of(groups, ids)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_rank_column_is_the_order_by_score_and_descending_id(tmp_path: Path, kind: type) -> None:
    groups, ids = random_groups(kind)
    written(tmp_path / "r", *groups, k=50, ids=ids)
    documents: dict[str, list[tuple[float, str]]] = {}
    for line in (tmp_path / "r").read_text("utf-8").splitlines():
        qid, _, docid, rank, score, _ = line.split()
        documents.setdefault(qid, []).append((float(score), docid))
        assert int(rank) == len(documents[qid])
    assert documents == {qid: sorted(rows, reverse=True) for qid, rows in documents.items()}


def test_pytrec_eval_gives_the_file_the_values_of_the_scores(tmp_path: Path) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    groups, ids = random_groups(np.float32)
    written(tmp_path / "r", *groups, k=50, ids=ids)
    expected = expected_of(groups, ids)
    qrels = {qid: {docid: int(docid, 16) % 3 for docid in list(found)[::2]} for qid, found in expected.items()}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg", "recip_rank"})
    with (tmp_path / "r").open() as stream:
        read = pytrec_eval.parse_run(stream)
    assert evaluator.evaluate(read) == evaluator.evaluate(expected)


def test_lines_have_the_digits_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    docids, scores = [b"d%d" % number for number in range(6)], np.array([1e10, 3.0, 0.5, 1e-5, 0.0, -2.25])
    lists = run_of([FusedQuery("q1", docids, scores), FusedQuery("q2", docids[:2], scores[:2])], "t")
    texts = ["10000000000.0", "3.0", "0.5", "1e-05", "0.0", "-2.25"]  # as Python's repr writes them
    expected = "".join(
        f"{qid} Q0 d{number} {number + 1} {texts[number]} t\n"
        for qid, count in (("q1", 6), ("q2", 2))
        for number in range(count)
    )
    for reader in ("", "python"):
        use_reader(monkeypatch, reader)
        assert bytes(trec_lines(lists, "t")).decode() == expected


def test_a_record_that_is_not_one_is_refused_before_the_work(tmp_path: Path) -> None:
    run = str(tmp_path / "run.txt")
    check_output(run, [])
    (tmp_path / "run.txt.json").write_text('{"notes": "mine"}')
    with pytest.raises(OutputError, match=r"run\.txt\.json: .*would be overwritten"):
        check_output(run, [])


def test_gzipped_files_hold_no_time(tmp_path: Path) -> None:
    with written_whole(str(tmp_path / "r.gz")) as file:
        file.write(b"1")
    assert (tmp_path / "r.gz").read_bytes()[4:8] == bytes(4)  # MTIME of RFC 1952: no time stamp


def test_the_same_groups_give_the_same_compressed_bytes(tmp_path: Path) -> None:
    groups, ids = random_groups(np.float32)
    for name in ("a.gz", "b.gz"):
        written(tmp_path / name, *groups, k=50, ids=ids)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()).startswith(b"0 Q0 ")


def test_a_group_that_is_larger_than_a_portion_is_written_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups, ids = random_groups(np.float32)
    written(tmp_path / "whole", *groups, k=50, ids=ids)
    monkeypatch.setattr("treceval_py.runs.writing.PORTION", 120)
    told: list[int] = []

    class Ear(Silent):
        def advance(self, count: int) -> None:
            told.append(count)

    written(tmp_path / "parts", *groups, k=50, ids=ids, reporter=Ear())
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()
    assert (sum(told), max(told)) == (40, 2)  # 120 lines are two queries of 50


def test_ids_that_are_no_utf_8_keep_their_bytes(tmp_path: Path) -> None:
    written(tmp_path / "r", ranked(["\udcff"], [[0]], [[1]]), ids=Ids.from_bytes([b"\xfe"]))
    assert (tmp_path / "r").read_bytes() == b"\xff Q0 \xfe 1 1 t\n"


REFUSED = {
    "nan": ranked(["1", "q"], [[0, 1], [0, 1]], [[2, 1], [2, np.nan]]),
    "infinite": ranked(["q"], [[3]], [[np.inf]]),
    "beyond": ranked(["q"], [[4]], [[1]]),
    "below": ranked(["q"], [[-2]], [[1]]),
    "twice": ranked(["q"], [[1, 0, 1]], [[3, 2, 1]]),
    "query twice": ranked(["q", "q"], [[1], [1]], [[3], [3]]),
    "space": ranked(["a b"], [[1]], [[1]]),
    "comment": ranked(["#1"], [[1]], [[1]]),
    "mark": ranked(["\ufeff1"], [[1]], [[1]]),
    "shape": ranked(["1"], [[1], [2]], [[1], [2]]),
    "depth": ranked(["1"], [[0, 1, 2, 3]], [[4, 3, 2, 1]]),
    "float16": ranked(["1"], [[0]], [[1]], np.float16),
    "positions": SearchResults(["1"], np.array([[0.0]]), np.array([[1.0]])),  # type: ignore[arg-type]
}


def test_what_cannot_be_written_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    found = {}
    for name, group in REFUSED.items():
        with pytest.raises(RunnerError) as caught:
            written(tmp_path / "r", group)
        found[name] = str(caught.value)
    for what, names in (("tag", ["", "a b", "a\tb", "a\0b"]), ("document id", ["", "a b", "a\n", "\0"])):
        for name in names:
            given: dict[str, Any] = {"tag": name} if what == "tag" else {"ids": Ids.from_bytes([b"a", name.encode()])}
            with pytest.raises(RunnerError) as caught:
                written(tmp_path / "r", **given)
            found[f"{what} {name!r}"] = str(caught.value)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(RunnerError) as caught:
        written(tmp_path / "r")
    found["without pyarrow"] = str(caught.value)
    assert list(tmp_path.iterdir()) == []
    assert table(found) == snapshot


def test_neighbours_of_what_is_refused_are_written(tmp_path: Path) -> None:
    highest = float(np.finfo(np.float64).max)
    written(
        tmp_path / "r", ranked(["!", "q#"], [[3, -1], [0, 1]], [[highest, np.nan], [-highest, -highest]], np.float64)
    )
    assert (tmp_path / "r").read_text().split("\n")[0] == f"! Q0 d 1 {highest!r} t"
    assert written(tmp_path / "s", ranked(["q"], [[0, 1, 2]], [[3, 2, 1]]), k=3).short == 0


def test_an_error_half_way_leaves_what_stood_there(tmp_path: Path) -> None:
    (tmp_path / "r").write_text("before")
    with pytest.raises(RunnerError):
        written(tmp_path / "r", ranked(["1"], [[0]], [[1]]), ranked(["2"], [[9]], [[1]]))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"r": "before"}


def left(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_what_a_dead_process_left_of_the_same_file_is_removed_and_nothing_else(tmp_path: Path) -> None:
    stay = dict.fromkeys((".r.treceval", ".r.treceval1", ".s.treceval0", "r.treceval0", ".r.k3x9a_7z"), "mine")
    for name in (*stay, ".r.treceval0"):
        (tmp_path / name).write_text("mine")
    with written_whole(tmp_path / "r") as stream:
        assert (tmp_path / ".r.treceval0").read_bytes() == b""
        stream.write(b"x")
    assert left(tmp_path) == {**stay, "r": "x"}


def test_two_writers_of_a_file_each_have_their_own_and_the_last_wins(tmp_path: Path) -> None:
    with written_whole(tmp_path / "r") as first:
        with written_whole(tmp_path / "r") as second:
            assert set(left(tmp_path)) == {".r.treceval0", ".r.treceval1"}
            second.write(b"second")
        first.write(b"first")
    assert left(tmp_path) == {"r": "first"}


def test_a_temporary_file_does_not_go_through_a_link_or_a_folder_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("kept")
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / ".r.treceval0").symlink_to(tmp_path / "precious")
    (tmp_path / "made" / ".r.treceval1").mkdir()
    # A link is not followed, and neither is removed.
    with written_whole(tmp_path / "made" / "r") as stream:
        stream.write(b"x")
    assert (tmp_path / "precious").read_text() == "kept"
    assert (tmp_path / "made" / "r").read_text() == "x"


@pytest.mark.skipif(os.name != "posix", reason="rights of files")
def test_a_new_file_has_the_rights_that_a_program_gives_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    (tmp_path / "old").touch(0o600)
    for name, rights in (("new", 0o666 & ~0o22), ("old", 0o600)):
        before = os.umask(0o22)
        try:
            with written_whole(tmp_path / name):
                pass
        finally:
            os.umask(before)
        assert (tmp_path / name).stat().st_mode & 0o777 == rights


def test_a_file_that_cannot_be_made_is_an_error_of_one_line(tmp_path: Path) -> None:
    with (
        pytest.raises(OutputError, match=r": cannot be written: .*\. Check the folder and the space left\.$"),
        written_whole(tmp_path / "none" / "r"),
    ):
        pass
