"""Boards: the runs of a folder in order, their cache, and what is printed of them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import random
import shutil
import subprocess
import threading
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import treceval_py as te
from treceval_py.boards import board as board_module
from treceval_py.boards.board import Board, BoardRun, BoardSettings, Unscored, board
from treceval_py.boards.cache import CACHE_NAME, cache_beside, cache_in, read_cache
from treceval_py.boards.show import board_text, sentences
from treceval_py.measures.registry import FAMILIES
from treceval_py.rendering import FORMATS
from treceval_py.rendering.escaping import active
from treceval_py.rendering.tables import Style

QRELS = {"1": {"a": 1, "b": 0}, "2": {"c": 1}, "3": {"d": 1}}

# reciprocal ranks of the queries 1, 2 and 3
FIRST = "1 Q0 a 1 2 first\n2 Q0 c 1 2 first\n3 Q0 x 1 2 first\n3 Q0 d 2 1 first\n"  # 1, 1, 1/2
SECOND = "1 Q0 b 1 2 second\n1 Q0 a 2 1 second\n2 Q0 c 1 2 second\n3 Q0 d 1 2 second\n"  # 1/2, 1, 1
THIRD = "1 Q0 a 1 2 third\n2 Q0 x 1 2 third\n"  # 1, 0, missing


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    folder.mkdir()
    for name, text in (("a.txt", FIRST), ("b.txt", SECOND), ("c.txt", THIRD)):
        (folder / name).write_text(text)
    return folder


def many(folder: Path, values: np.ndarray) -> dict[str, dict[str, int]]:
    """Write runs whose P@10 are given (S, Q), in tenths; return the judgments."""
    folder.mkdir(exist_ok=True)
    for number, row in enumerate(values.tolist()):
        lines = [
            f"{query} Q0 {'r' if rank < tenths else 'n'}{rank} {rank + 1} {10 - rank} system{number:03}\n"
            for query, tenths in enumerate(row)
            for rank in range(10)
        ]
        (folder / f"{number:03}.txt").write_text("".join(lines))
    return {str(query): {f"r{rank}": 1 for rank in range(10)} for query in range(values.shape[1])}


def test_runs_stand_in_the_order_of_the_first_measure(runs: Path) -> None:
    (runs / "d.txt").write_text("1 Q0 a 1 1 fourth\n2 Q0 c 1 1 fourth\n3 Q0 d 1 1 fourth\n")
    found = board(QRELS, runs, ["RR", "P@1"])
    assert [run.name for run in found.runs] == ["fourth", "first", "second", "third"]
    assert [run.means for run in found.runs] == [(1, 1), (2.5 / 3, 2 / 3), (2.5 / 3, 2 / 3), (1 / 3, 1 / 3)]
    assert found.measures == ("RR", "P@1")


def test_runs_with_equal_means_share_a_rank_and_stand_in_the_order_of_their_names(runs: Path) -> None:
    found = board(QRELS, runs, "RR")
    assert [(run.rank, run.name) for run in found.runs] == [(1, "first"), (1, "second"), (3, "third")]


def test_means_that_differ_by_a_rounding_error_are_equal(tmp_path: Path) -> None:
    # 0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in the last bit
    qrels = many(tmp_path / "runs", np.array([[1, 2, 3], [3, 2, 1]]))
    assert [run.rank for run in board(qrels, tmp_path / "runs", "P@10").runs] == [1, 1]


def test_a_query_that_a_run_lacks_counts_as_an_empty_ranking(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(runs.parent)  # a long path would be shortened in the note
    found = board(QRELS, runs.name, "RR")
    assert found.runs[2].missing == ("3",)
    assert found.runs[2].warnings == ("lacks 1 query",)
    assert found.queries == (3,)
    assert found.notes == (
        ("1 run lacks judged queries (c.txt), which count as empty rankings: all means are over the same 3 queries."),
    )


def test_a_query_that_some_runs_lack_can_be_left_out_of_all(runs: Path) -> None:
    found = board(QRELS, runs, "RR", complete=False)
    assert {run.name: run.means for run in found.runs} == {"first": (1.0,), "second": (0.75,), "third": (0.5,)}
    assert found.notes == (
        (
            "1 query that some runs lack is left out (3): all means are over the same 2 queries. Without --common a "
            "missing query counts as an empty ranking."
        ),
    )


@pytest.mark.parametrize("lines", ["9 Q0 a 1 1 other\n", "9 Q0 a 1 1 other\n9 Q0 b 2 1 other\n"], ids=["plain", "tied"])
def test_a_run_of_other_queries_is_ranked_last_and_has_a_warning(runs: Path, lines: str) -> None:
    (runs / "d.txt").write_text(lines)
    last = board(QRELS, runs, "RR").runs[-1]
    assert (last.name, last.means, last.warnings) == ("other", (0.0,), ("no judged query",))
    assert math.isnan(last.judged)


def test_intervals_are_those_of_students_t(runs: Path) -> None:
    found = board(QRELS, runs, "RR", confidence=0.9)
    expected = stats.ttest_1samp([1, 1, 0.5], 0).confidence_interval(0.9)
    assert (found.runs[0].low, found.runs[0].high) == pytest.approx(tuple(expected), rel=1e-9)


def test_the_interval_of_a_sum_is_that_of_the_mean_times_the_queries(runs: Path) -> None:
    found = board(QRELS, runs, "num_rel_ret")
    last = found.runs[-1]
    expected = [3 * each for each in stats.ttest_1samp([1, 0, 0], 0).confidence_interval(0.95)]
    assert (last.means, [last.low, last.high]) == ((1.0,), pytest.approx(expected, rel=1e-9))


def test_letters_of_two_runs_say_what_a_paired_t_test_says(tmp_path: Path) -> None:
    # Of two runs and few queries the test of all pairs is no easier to pass, and about as easy.
    rng = np.random.default_rng(3)
    for number, shift in enumerate((0, 1, 2, 3)):
        base = rng.integers(2, 6, size=12)
        values = np.array([base, np.clip(base + shift - rng.integers(0, 3, size=12), 0, 10)])
        folder = tmp_path / str(number)
        found = board(many(folder, values), folder, "P@10")
        p = stats.ttest_rel(*values).pvalue
        assert p < 0.03 or p > 0.05
        assert sorted(run.letters for run in found.runs) == (["a", "b"] if p < 0.03 else ["a", "a"])
        assert stats.t.ppf(0.975, 11) <= found.critical < stats.t.ppf(0.985, 11)


def test_one_query_tests_nothing(tmp_path: Path) -> None:
    qrels = many(tmp_path / "runs", np.array([[1], [5]]))
    found = board(qrels, tmp_path / "runs", "P@10")
    assert [(run.means, run.letters) for run in found.runs] == [((0.5,), ""), ((0.1,), "")]
    assert math.isnan(found.critical)
    assert math.isnan(found.runs[0].low)
    assert found.notes == ("there is one query, so that nothing can be tested.",)


def test_one_run_is_a_board(runs: Path) -> None:
    found = board(QRELS, runs / "a.txt", "RR")
    assert [(run.rank, run.name, run.letters) for run in found.runs] == [(1, "first", "")]


def test_the_share_of_judged_documents_is_over_the_queries_that_a_run_has(runs: Path) -> None:
    shares = {run.name: run.judged for run in board(QRELS, runs, "RR").runs}
    assert shares == pytest.approx({"first": (1 + 1 + 1 / 2) / 3, "second": 1.0, "third": 1 / 2})


def test_queries_in_which_ties_matter_are_counted(runs: Path) -> None:
    # In query 1 a relevant document is tied with one that is not, in query 2 there is only one document.
    (runs / "d.txt").write_text("1 Q0 a 1 1 tied\n1 Q0 x 2 1 tied\n2 Q0 c 1 1 tied\n3 Q0 y 1 1 tied\n3 Q0 z 2 1 tied\n")
    tied = {run.name: (run.tied, run.warnings) for run in board(QRELS, runs, "RR").runs}
    assert tied["tied"] == (1, ("ties matter in 1 of 3 queries",))
    assert tied["first"] == (0, ())


def test_scores_that_are_equal_only_as_32_bit_floats_are_ties_where_scores_are_that_wide(runs: Path) -> None:
    (runs / "a.txt").write_text("1 Q0 a 1 1.000000001 narrow\n1 Q0 x 2 1.0 narrow\n")
    assert board(QRELS, runs / "a.txt", "RR").runs[0].tied == 0
    assert board(QRELS, runs / "a.txt", "RR", profile="trec_eval-9").runs[0].tied == 1


def test_equal_scores_are_found_in_lines_of_any_order(runs: Path) -> None:
    (runs / "a.txt").write_text("1 Q0 a 1 1 mixed\n1 Q0 y 2 3 mixed\n1 Q0 x 3 1 mixed\n")
    assert board(QRELS, runs / "a.txt", "RR").runs[0].tied == 1


def test_ties_are_not_looked_for_where_ranks_are_those_of_the_file(runs: Path) -> None:
    assert board(QRELS, runs / "a.txt", profile="msmarco").runs[0].tied is None


def test_a_file_too_large_to_be_held_has_the_same_values(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = board(QRELS, runs)
    monkeypatch.setattr(board_module, "MOST_HELD", 0)
    streamed = board(QRELS, runs)
    assert [run.tied for run in streamed.runs] == [None, None, None]
    assert [run._replace(tied=None) for run in held.runs] == list(streamed.runs)


def test_two_files_with_the_same_bytes_are_scored_once_and_said(runs: Path) -> None:
    shutil.copy(runs / "a.txt", runs / "d.txt")
    found = board(QRELS, runs, "RR")
    assert found.scored == 3
    assert {run.name: run.warnings for run in found.runs}["d"] == ("the same file as a",)


def test_scores_that_grow_with_the_rank_are_said(runs: Path) -> None:
    (runs / "d.txt").write_text(
        "1 Q0 a 1 1 distances\n1 Q0 b 2 2 distances\n2 Q0 c 1 1 distances\n3 Q0 d 1 1 distances\n"
    )
    found = board(QRELS, runs, "RR")
    assert {run.name: run.warnings for run in found.runs}["distances"] == ("scores grow with the rank",)


def test_a_broken_file_is_named_and_the_others_are_ranked(runs: Path) -> None:
    (runs / "b.txt").write_text("1 Q0 a 1\n")
    (runs / "d.txt").write_text("")
    found = board(QRELS, runs, "RR")
    assert [run.name for run in found.runs] == ["first", "third"]
    assert [error.file for error in found.errors] == [f"{runs}/b.txt", f"{runs}/d.txt"]
    assert found.errors[0].message.startswith(f"{runs}/b.txt:1: ")
    assert found.errors[1].message == f"{runs}/d.txt: the file is empty. Is it the right file?"


def test_saved_results_are_named_and_not_scored(runs: Path) -> None:
    (runs / "b.txt").write_text("map\t1\t0.5000\n")
    found = board(QRELS, runs, "RR")
    assert [run.name for run in found.runs] == ["first", "third"]
    (error,) = found.errors
    assert error.message == (
        f"{runs}/b.txt: this holds saved results, but boards need runs. Compare saved results with treceval compare."
    )


def test_standard_input_is_not_put_on_a_board(runs: Path) -> None:
    found = board(QRELS, [str(runs / "a.txt"), "-"], "RR")
    assert [error.message for error in found.errors] == [
        "-: standard input cannot be put on a board. Name a file or a folder."
    ]


def test_a_folder_may_have_what_is_none_of_its_runs(runs: Path) -> None:
    (runs / "qrels").write_text("1 0 a 1\n2 0 c 1\n3 0 d 1\n")
    found = board(runs / "qrels", runs, "RR", without=[runs / "qrels", runs / "b.txt"])
    assert ([run.name for run in found.runs], found.errors) == (["first", "third"], ())


def test_a_run_without_a_tag_is_called_by_its_file_beside_one_with_a_tag(runs: Path) -> None:
    (runs / "b.txt").write_text("1\ta\t1\n2\tc\t1\n3\td\t1\n")
    assert {run.name for run in board(QRELS, runs, "RR").runs} == {"first", "b", "third"}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (math.inf, "infinite, which cannot be compared"),
        (-math.inf, "infinite, which cannot be compared"),
        (1e300, "1e+300, which is too large to be compared"),
    ],
)
def test_values_without_a_mean_or_a_deviation_are_refused(
    runs: Path, monkeypatch: pytest.MonkeyPatch, value: float, said: str
) -> None:
    monkeypatch.setattr("treceval_py.measures.registry.FAMILIES", FAMILIES)

    def boundless(run: te.JudgedRun) -> np.ndarray:
        """One value, where a second document is retrieved, and else 0."""
        return np.where(run.num_ret == 2, value, 0.0)

    te.declare(boundless, "board_test_boundless")
    try:
        found = board(QRELS, runs, ["RR", "board_test_boundless"])
    finally:
        del FAMILIES["board_test_boundless"]
    assert [run.name for run in found.runs] == ["third"]
    assert [error.message for error in found.errors] == [
        f"{runs}/{name}.txt: measure board_test_boundless of query '{qid}' is {said}. Rank runs by another measure."
        for name, qid in (("a", "3"), ("b", "1"))
    ]


def test_a_file_that_is_gone_is_named(runs: Path) -> None:
    (runs / "gone.txt").symlink_to(runs / "nowhere")
    found = board(QRELS, [runs / "a.txt", runs / "gone.txt"], "RR")
    assert len(found.runs) == 1
    assert found.errors == (
        Unscored(f"{runs}/gone.txt", f"{runs}/gone.txt: cannot be read: No such file or directory. Check the file."),
    )


def test_a_run_without_a_common_query_is_an_error_where_missing_queries_do_not_count(runs: Path) -> None:
    (runs / "d.txt").write_text("9 Q0 a 1 1 other\n")
    found = board(QRELS, runs, "RR", complete=False)
    assert len(found.runs) == 3
    assert found.errors[0].message.startswith(f"{runs}/d.txt: no query of 9 (1 query) is judged")


def test_a_board_without_runs_is_no_failure_of_its_own(runs: Path) -> None:
    (runs / "a.txt").write_text("what?\n")
    found = board(QRELS, runs / "a.txt", "RR")
    assert (found.runs, len(found.errors), found.queries) == ((), 1, (0,))
    for name in FORMATS:
        assert board_text(found, name, Style())


@pytest.mark.parametrize(
    ("measures", "message"),
    [
        ("gm_map", "measure gm_map has no value per query. Choose another measure."),
        (["map", "runid"], "measure runid has no value per query. Choose another measure."),
        ([], "no measure to rank runs by. Name one, such as map."),
    ],
)
def test_measures_without_a_number_for_each_query_are_refused(runs: Path, measures: object, message: str) -> None:
    with pytest.raises(te.MeasureError) as caught:
        board(QRELS, runs, measures)  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_parameters_out_of_range_are_refused(runs: Path) -> None:
    for options, message in (
        ({"alpha": 0.0}, "alpha must be above 0 and below 1, not 0.0."),
        ({"confidence": 95}, "confidence must be above 0 and below 1, not 95."),
        ({"threads": 0}, "threads must be 1 to 256, not 0."),
        ({"depth": -1}, "depth must be 0 or more, not -1."),
    ):
        with pytest.raises(te.MeasureError) as caught:
            board(QRELS, runs, **options)
        assert str(caught.value) == message


def test_the_number_of_threads_changes_nothing(runs: Path) -> None:
    assert repr(board(QRELS, runs, threads=1)) == repr(board(QRELS, runs, threads=3))


def test_each_scored_file_is_told(runs: Path) -> None:
    told: list[int] = []
    board(QRELS, runs, cache=cache_in(runs), after=lambda: told.append(1))
    assert len(told) == 3


def test_signatures_say_how_the_means_were_made(runs: Path) -> None:
    found = board(QRELS, runs, "RR")
    of_one = te.evaluate(QRELS, runs / "c.txt", "RR", complete=True).signatures["RR"]
    assert found.signatures == (of_one,)


# the cache


def test_a_run_that_is_known_is_not_scored_again(runs: Path) -> None:
    first = board(QRELS, runs, cache=cache_in(runs))
    again = board(QRELS, runs, cache=cache_in(runs))
    assert (first.scored, again.scored) == (3, 0)
    assert repr(first._replace(scored=0)) == repr(again)


def test_only_a_run_that_changed_is_scored_again(runs: Path) -> None:
    board(QRELS, runs, "RR", cache=cache_in(runs))
    (runs / "c.txt").write_text(THIRD + "3 Q0 d 1 1 third\n")
    found = board(QRELS, runs, "RR", cache=cache_in(runs))
    assert found.scored == 1
    assert {run.name: run.means for run in found.runs}["third"] == (2 / 3,)


def test_a_cache_stands_in_the_folder_of_the_runs_where_there_is_one(runs: Path) -> None:
    assert cache_in(runs) == cache_in([runs]) == f"{runs}/{CACHE_NAME}"
    assert cache_in([runs, runs]) is cache_in(runs / "a.txt") is cache_in([]) is cache_in("*.txt") is None


def test_a_run_is_known_by_its_bytes_not_by_its_name_or_time(runs: Path) -> None:
    board(QRELS, runs, cache=cache_in(runs))
    (runs / "a.txt").rename(runs / "z.txt")
    (runs / "b.txt").touch()
    assert board(QRELS, runs, cache=cache_in(runs)).scored == 0


@pytest.mark.parametrize(
    "options",
    [
        {"measures": ["RR", "P@1"]},
        {"measures": ["RR"], "level": 2},
        {"measures": ["RR"], "depth": 1},
        {"measures": ["RR"], "judged_only": True},
        {"measures": ["RR"], "complete": False},
        {"measures": ["RR"], "profile": "trec_eval-9"},
        {"measures": ["RR"], "qrels": {**QRELS, "3": {"d": 2}}},
    ],
)
def test_another_question_is_computed_anew(runs: Path, options: dict) -> None:
    board(QRELS, runs, "RR", cache=cache_in(runs))
    asked = {"qrels": QRELS, **options}
    found = board(asked.pop("qrels"), runs, cache=cache_in(runs), **asked)
    assert (found.scored, [note for note in found.notes if "cache" in note]) == (3, [])


def kept(path: Path) -> dict:
    """Return what a cache holds, without the hash before it."""
    return json.loads(gzip.decompress(path.read_bytes()).split(b"\n")[1])


def test_runs_that_are_gone_are_forgotten(runs: Path) -> None:
    board(QRELS, runs, "RR", cache=cache_in(runs))
    (runs / "a.txt").unlink()
    board(QRELS, runs, "RR", cache=cache_in(runs))
    assert len(kept(runs / CACHE_NAME)["runs"]) == 2


def test_runs_that_are_not_asked_for_stay_known_while_their_files_are_there(runs: Path) -> None:
    board(QRELS, runs, "RR", cache=cache_in(runs))
    (runs / "c.txt").unlink()
    board(QRELS, runs / "a.txt", "RR", cache=cache_in(runs))
    assert [each["file"] for each in kept(runs / CACHE_NAME)["runs"].values()] == ["a.txt", "b.txt"]
    assert board(QRELS, runs, "RR", cache=cache_in(runs)).scored == 0


def test_what_a_file_had_before_it_changed_is_forgotten(runs: Path) -> None:
    board(QRELS, runs, "RR", cache=cache_in(runs))
    (runs / "a.txt").write_text(FIRST + "3 Q0 y 3 0.5 first\n")
    board(QRELS, runs / "a.txt", "RR", cache=cache_in(runs))
    assert len(kept(runs / CACHE_NAME)["runs"]) == 3


def test_the_cache_is_none_of_the_runs(runs: Path) -> None:
    board(QRELS, runs, "RR", cache=runs / "cache.json")
    found = board(QRELS, runs, "RR", cache=runs / "cache.json")
    assert (len(found.runs), found.errors) == (3, ())


@pytest.mark.parametrize(
    ("given", "beside"),
    [
        (["a.txt", "b.txt"], f"./{CACHE_NAME}"),
        (["a.txt", "./b.txt", "."], f"./{CACHE_NAME}"),
        (["../runs", "../runs/"], f"../runs/{CACHE_NAME}"),
        (["../runs/*.txt"], f"../runs/{CACHE_NAME}"),
        (["a.txt", "../b.txt"], None),
        (["none/*.txt"], None),
    ],
)
def test_the_cache_of_files_stands_beside_them_where_they_are_in_one_folder(
    runs: Path, monkeypatch: pytest.MonkeyPatch, given: list[str], beside: str | None
) -> None:
    monkeypatch.chdir(runs)
    assert cache_beside(given) == beside


def test_a_broken_file_is_not_kept(runs: Path) -> None:
    (runs / "b.txt").write_text("1 Q0 a 1\n")
    assert board(QRELS, runs, "RR", cache=cache_in(runs)).scored == 2
    assert len(kept(runs / CACHE_NAME)["runs"]) == 2
    assert len(board(QRELS, runs, "RR", cache=cache_in(runs)).errors) == 1


def test_a_cache_of_the_same_runs_is_not_written_again(runs: Path) -> None:
    board(QRELS, runs, "RR", cache=cache_in(runs))
    before = (runs / CACHE_NAME).stat()
    board(QRELS, runs, "RR", cache=cache_in(runs))
    assert (runs / CACHE_NAME).stat().st_ino == before.st_ino


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda raw: b"", "the file is empty"),
        (lambda raw: b"something else\n", "it does not hold what a cache holds"),
        (lambda raw: gzip.compress(b"[]\n"), "it does not hold what a cache holds"),
        (lambda raw: gzip.compress(gzip.decompress(raw).replace(b'"values":"', b'"values":"AAAA')), "it does not hold what a cache holds"),
    ],
)  # fmt: skip
def test_a_damaged_cache_is_said_and_made_again(runs: Path, damage, reason: str) -> None:
    first = board(QRELS, runs, "RR", cache=cache_in(runs))
    path = runs / CACHE_NAME
    path.write_bytes(damage(path.read_bytes()))
    found = board(QRELS, runs, "RR", cache=cache_in(runs))
    assert found.notes[0] == f"the cache {path.name} cannot be used ({reason}) and is made again."
    assert (found.runs, found.scored) == (first.runs, 3)
    assert board(QRELS, runs, "RR", cache=cache_in(runs)).scored == 0


def mutated(whole: bytes, rng: random.Random) -> bytes:
    """Cut bytes off, or change some."""
    raw = bytearray(whole[: rng.randrange(len(whole))] if rng.random() < 0.3 else whole)
    for _ in range(rng.randrange(1, 4)):
        if raw:
            raw[rng.randrange(len(raw))] = rng.randrange(256)
    return bytes(raw)


def test_no_damage_to_a_cache_passes_for_other_values(runs: Path) -> None:
    board(QRELS, runs, "RR", cache=cache_in(runs))
    path, rng = runs / CACHE_NAME, random.Random(5)
    whole, key = path.read_bytes(), kept(path)["key"]
    expected = read_cache(str(path), key, [(0.0, 1.0)]).entries
    assert len(expected) == 3
    for _ in range(400):
        path.write_bytes(mutated(whole, rng))
        found = read_cache(str(path), key, [(0.0, 1.0)])
        assert repr(found.entries) == repr(expected) or (found.entries == {} and found.note)


def test_no_text_in_a_cache_stops_a_board(runs: Path) -> None:
    board(QRELS, runs, "RR", cache=cache_in(runs))
    path, rng = runs / CACHE_NAME, random.Random(6)
    text, key = gzip.decompress(path.read_bytes()), kept(path)["key"]
    for _ in range(400):
        path.write_bytes(gzip.compress(mutated(text, rng), 1))
        read_cache(str(path), key, [(0.0, 1.0)])


def test_a_file_of_another_kind_is_no_cache_and_is_left_alone(runs: Path, tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("mine\n")
    found = board(QRELS, runs, "RR", cache=other)
    assert found.notes[0] == f"{other.name} is not the cache of a board, and is left alone."
    assert other.read_text() == "mine\n"
    assert board(QRELS, runs, "RR", cache=tmp_path).notes[0] == (
        f"{tmp_path.name} is not a regular file, so results are not cached in it."
    )


@pytest.mark.slow
def test_a_cache_of_another_name_is_known_by_its_beginning(runs: Path, tmp_path: Path) -> None:
    for name in ("cache.json", "cache.xz", "cache"):
        assert board(QRELS, runs, "RR", cache=tmp_path / name).scored == 3
        assert board(QRELS, runs, "RR", cache=tmp_path / name).scored == 0
        assert board(QRELS, runs, "map", cache=tmp_path / name).scored == 3


def test_a_cache_that_cannot_be_written_is_a_note(runs: Path, tmp_path: Path) -> None:
    path = tmp_path / "no folder" / "cache.json.gz"
    found = board(QRELS, runs, "RR", cache=path)
    assert len(found.runs) == 3
    assert found.notes[0] == (
        f"results are not cached: {path.name}: cannot be written: No such file or directory. Check the folder and "
        "the space left."
    )


def test_a_file_that_changes_while_it_is_scored_is_named_and_not_kept(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judging = te.Evaluator.judging

    def and_somebody_writes(evaluator: te.Evaluator, run: te.Run) -> object:
        with open(runs / "b.txt", "a") as stream:
            stream.write("3 Q0 x 2 1 second\n")
        return judging(evaluator, run)

    monkeypatch.setattr(te.Evaluator, "judging", and_somebody_writes)
    found = board(QRELS, runs, "RR", cache=cache_in(runs), threads=1)
    assert found.errors == (
        Unscored(
            f"{runs}/b.txt",
            f"{runs}/b.txt: the file changed while it was read. Run again when nothing writes to it.",
        ),
    )
    assert len(kept(runs / CACHE_NAME)["runs"]) == 2


@pytest.mark.slow
def test_boards_that_are_made_at_once_leave_a_whole_cache(runs: Path) -> None:
    failures: list[Exception] = []

    def make(measure: str) -> None:
        try:
            for _ in range(5):
                assert len(board(QRELS, runs, measure, cache=cache_in(runs), threads=1).runs) == 3
        except Exception as error:  # noqa: BLE001 - told below, in the test's own thread
            failures.append(error)

    at_once = [threading.Thread(target=make, args=(measure,)) for measure in ("RR", "map", "P@1", "RR")]
    for each in at_once:
        each.start()
    for each in at_once:
        each.join()
    assert failures == []
    assert len(kept(runs / CACHE_NAME)["runs"]) == 3
    assert sorted(path.name for path in runs.iterdir()) == [CACHE_NAME, "a.txt", "b.txt", "c.txt"]


def test_measures_of_ones_own_are_computed_each_time(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treceval_py.measures.registry.FAMILIES", FAMILIES)

    def retrieved(run: te.JudgedRun) -> np.ndarray:
        """Documents retrieved."""
        return run.num_ret.astype(float)

    te.declare(retrieved, "board_test_retrieved")
    try:
        found = board(QRELS, runs, "board_test_retrieved", cache=cache_in(runs))
    finally:
        del FAMILIES["board_test_retrieved"]
    assert found.notes[0] == "nothing is kept for the next time: board_test_retrieved may change without notice."
    assert not (runs / CACHE_NAME).exists()


def test_ids_that_are_not_utf_8_come_back_from_the_cache(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_bytes(b"1\xff 0 a 1\n2 0 a 1\n")
    (tmp_path / "run").write_bytes(b"2 Q0 a 1 1 tag\xfe\n")
    first = board(tmp_path / "qrels", tmp_path / "run", "RR", cache=tmp_path / "cache.gz")
    again = board(tmp_path / "qrels", tmp_path / "run", "RR", cache=tmp_path / "cache.gz")
    assert again.scored == 0
    assert first.runs == again.runs
    assert again.runs[0].missing == ("1\udcff",)


# what is printed

HOSTILE = [
    "<script>alert(1)</script>",
    "a|b & c_d 50% $x$ ~^\\{}#",
    "\x1b[31mred",
    "=1+1",
    "文字🎉",
    "\u202eltr",
    '"quoted", x',
]


def made(names: list[str], letters: list[str] | None = None) -> Board:
    """Return a board that is made by hand."""
    rows = [
        BoardRun(
            number + 1, name, f"runs/{number}.txt", name, (0.9 - number / 1000, 1 / 3), 0.25, 0.75 if number else 1.0,
            "a" if letters is None else letters[number], 0.5, 0, (), "00", ("lacks 2 queries",) if number == 1 else (),
        )
        for number, name in enumerate(names)
    ]  # fmt: skip
    signature = te.evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, "map").signatures["map"]
    settings = BoardSettings("trec_eval-10", True, 0.05, 0.95)
    errors = (Unscored("runs/x.txt", "runs/x.txt: the file is empty. Is it the right file?"),)
    return Board(
        tuple(rows), ("map", "P_10"), (50, 50), settings, 3.21, "qrels.txt", (signature, signature), ("a note.",),
        errors, 1, "1.2.3",
    )  # fmt: skip


def test_the_table_of_a_board() -> None:
    found = made(["one", "two"], ["a", "ab"])
    found = found._replace(runs=tuple(run._replace(ranks=(1, 2)) for run in found.runs))
    made_by = "AP(rel=1)|p:trec_eval-10|#:1|q:fff4dd91|v:0.1.0"
    assert board_text(found, "table", Style()).splitlines() == [
        "rank   95 % ranks   run        map   95 % interval   groups     P_10   judged@10   warnings",
        "─" * (4 + 10 + 3 + 8 + 13 + 6 + 6 + 9 + 15 + 8 * 3),
        "   1          1–2   one   ● 0.9000   0.2500–1.0000   a        0.3333      0.5000",
        "   2          1–2   two     0.8990   0.2500–0.7500   ab       0.3333      0.5000   lacks 2 queries",
        "",
        "●: highest mean.",
        "Means over 50 queries, judged by qrels.txt.",
        "Ranked by map; runs with equal means share a rank.",
        "Intervals: 95 %, pointwise, Student's t, of each run's map.",
        (
            "Ranks: 95 % interval of each run's rank, by a bootstrap over queries (1000 draws, seed 1); each holds for "
            "its run alone."
        ),
        (
            "Groups: runs that share a letter do not differ significantly in map (simultaneous test of all pairs of runs, a "
            "studentised bootstrap of the largest paired t, alpha = 0.05 for all pairs together: two runs differ if their "
            "paired t is beyond ±3.21)."
        ),
        "judged@10: share of judged documents among the first ten.",
        "Note: a note.",
        "Not scored: x.txt: the file is empty. Is it the right file?",
        f"map: {made_by}",
        f"P_10: {made_by}",
        "treceval_py 1.2.3",
    ]


def test_warnings_have_a_column_only_where_there_are_any() -> None:
    header = board_text(made(["one"]), "table", Style()).splitlines()[0]
    assert header == "rank   run      map   95 % interval   groups     P_10   judged@10"


def test_many_letters_in_a_row_are_written_as_the_first_and_the_last() -> None:
    shown = made(["1", "2", "3", "4"], ["abc", "abcdefg", "acdefhi", "x"])
    lines = board_text(shown, "markdown", Style()).splitlines()[2:6]
    assert [line.split(" | ")[4] for line in lines] == ["abc", "a–g", "ac–fhi", "x"]
    many_groups = made(["1", "2"], ["xyza1b1", "z"])
    assert "x–b1" in board_text(many_groups, "table", Style())


def test_a_board_wider_than_the_terminal_is_cut_into_blocks_that_begin_with_names() -> None:
    lines = board_text(made(["one", "two"], ["a", "ab"]), "table", Style(width=60)).splitlines()
    # 4, 3, 8, 13 and 6 with 3 between are 46, and 6 for P_10 with its 3 are 55, and 9 for judged@10 do not fit
    assert lines[:10] == [
        "rank   run        map   95 % interval   groups     P_10",
        "─" * 55,
        "   1   one   ● 0.9000   0.2500–1.0000   a        0.3333",
        "   2   two     0.8990   0.2500–0.7500   ab       0.3333",
        "",
        "rank   run   judged@10",
        "─" * 22,
        "   1   one      0.5000",
        "   2   two      0.5000",
        "",
    ]
    assert "Warning: two: lacks 2 queries." in lines
    assert max(map(len, lines)) <= 60


def test_a_board_that_fits_the_terminal_is_not_cut() -> None:
    found = made(["one", "two"], ["a", "ab"])
    whole = board_text(found, "table", Style()).splitlines()[:4]
    assert board_text(found, "table", Style(width=85)).splitlines()[:4] == whole
    assert board_text(found, "table", Style(width=84)).splitlines()[:4] != whole


def test_notes_stand_in_the_caption_of_a_board_in_latex() -> None:
    for count in (2, 60):
        found = made([f"system{number}" for number in range(count)])._replace(notes=("Note: rounded.", "left out: 2"))
        lines = board_text(found, "latex", Style()).splitlines()
        caption, *others = [line for line in lines if line.startswith("\\caption")]
        assert set(others) <= {"\\caption{Continued.}"}
        assert " Note: rounded. Note: left out: 2. Not scored:" in caption


def test_a_confidence_of_a_board_has_all_its_digits() -> None:
    found = made(["one"])
    nearly = found._replace(settings=found.settings._replace(confidence=0.9999999999999999))
    assert "Intervals: 99.99999999999999 %, pointwise, Student's t, of each run's map." in sentences(nearly)


def test_two_hundred_runs_have_a_line_each() -> None:
    lines = board_text(made([f"system{number}" for number in range(200)]), "table", Style()).splitlines()
    assert [line.split()[0] for line in lines[2:202]] == [str(number) for number in range(1, 201)]
    assert max(map(len, lines[:202])) <= 100


@pytest.mark.parametrize("format", ["table", "markdown", "latex", "html"])
def test_names_cannot_steer_a_terminal(format: str) -> None:
    assert "\x1b" not in board_text(made(HOSTILE), format, Style())


def test_csv_has_all_digits_and_names_as_they_are() -> None:
    rows = list(csv.DictReader(io.StringIO(board_text(made(HOSTILE), "csv", Style()))))
    assert [active(row["run"]) for row in rows] == HOSTILE
    assert (rows[0]["rank"], rows[0]["map"], rows[0]["P_10"]) == ("1", "0.9", repr(1 / 3))
    assert rows[1]["warnings"] == "lacks 2 queries"
    assert list(rows[0]) == [
        "rank", "run", "map", "P_10", "low", "high", "groups", "judged@10", "tied_queries", "missing_queries",
        "warnings", "file", "tag", "rank_low", "rank_high",
    ]  # fmt: skip
    assert len(board_text(made(["x"]), "tsv", Style(digits=2)).splitlines()[1].split("\t")) == 15
    assert "\t0.33\t" in board_text(made(["x"]), "tsv", Style(digits=2))


def test_json_is_strict_and_whole(runs: Path) -> None:
    (runs / "b.txt").write_text("1 Q0 a 1\n")
    found = board(QRELS, runs, "RR")
    document = json.loads(board_text(found, "json", Style()), parse_constant=pytest.fail)
    assert [run["mean"]["RR"] for run in document["runs"]] == [2.5 / 3, 1 / 3]
    assert document["runs"][1]["missing"] == ["3"]
    assert document["errors"][0]["file"] == "b.txt"
    assert te.Signature.parse(document["signatures"]["RR"]["long"]) == found.signatures[0]
    one = made(["x"])
    nothing = one._replace(critical=math.nan, runs=(one.runs[0]._replace(low=math.nan, judged=math.nan),))
    document = json.loads(board_text(nothing, "json", Style()), parse_constant=pytest.fail)
    assert document["critical_t"] is None
    assert document["runs"][0]["judged@10"] is None


def test_the_highest_means_are_bold_in_markdown_latex_and_html() -> None:
    found = made(["one", "two"])
    assert "| 1 | one | **0.9000** |" in board_text(found, "markdown", Style())
    assert "1 & one & \\textbf{0.9000} &" in board_text(found, "latex", Style())
    assert "<td><b>0.9000</b></td>" in board_text(found, "html", Style())
    assert "0.8990</b>" not in board_text(found, "html", Style())


def test_rows_of_markdown_have_as_many_cells_as_its_header() -> None:
    lines = [line for line in board_text(made(HOSTILE), "markdown", Style()).splitlines() if line.startswith("| ")]
    assert {line.replace("\\|", "").count("|") for line in lines} == {9}
    assert len(lines) == 2 + len(HOSTILE)


class Seen(HTMLParser):
    """The tags, the attributes and the text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [name for name, _ in attrs if name in {"src", "href"}]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_html_shows_names_as_they_are_and_loads_nothing() -> None:
    seen = Seen()
    seen.feed(board_text(made(HOSTILE), "html", Style()))
    assert (seen.tags.count("tr"), seen.tags.count("script"), seen.addresses) == (1 + len(HOSTILE), 0, [])
    assert {"<script>alert(1)</script>", "a|b & c_d 50% $x$ ~^\\{}#", "=1+1", "文字🎉"} <= set(seen.text)


def test_what_could_not_be_scored_is_said_in_every_format_for_people() -> None:
    assert "Not scored: x.txt: the file is empty. Is it the right file?" in sentences(made(["one"]))
    for name in ("table", "markdown", "latex", "html"):
        assert "Not scored: x.txt: the file is empty." in board_text(made(["one"]), name, Style())


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.parametrize("count", [len(HOSTILE), 60])
def test_latex_compiles(tmp_path: Path, count: int) -> None:
    names = (HOSTILE + [f"system{number}" for number in range(60)])[:count]
    packages = "\\usepackage{booktabs}\\usepackage{longtable}\\usepackage[T1]{fontenc}"
    text = board_text(made(names), "latex", Style())
    (tmp_path / "board.tex").write_text(
        f"\\documentclass{{article}}{packages}\\begin{{document}}\n{text}\\end{{document}}\n", "utf-8"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-draftmode", "board.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert b"Undefined" not in done.stdout
