"""Boards: the runs of a folder in order, their cache, and what is printed of them."""

from __future__ import annotations

import gzip
import json
import math
import os
import random
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refused import refusal
from scipy import stats
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.boards import board as board_module
from treceval_py.boards.board import Board, BoardRun, BoardSettings, board, check_statistics
from treceval_py.boards.cache import CACHE_NAME, cache_beside, read_cache
from treceval_py.boards.groups import _ranks
from treceval_py.boards.intervals import ranges_of
from treceval_py.boards.show import sentences
from treceval_py.comparing.saved.files import Unscored
from treceval_py.comparing.show.cells import highest
from treceval_py.measuring.registry import FAMILIES
from treceval_py.rendering import FORMATS, text_of
from treceval_py.rendering.style import Style
from treceval_py.scoring.signatures import Signature

pytestmark = pytest.mark.filterwarnings("ignore::treceval_py.errors.SuspectRunWarning")

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


def kept(path: Path) -> dict:
    """Return what a cache holds, without the hash before it."""
    return json.loads(gzip.decompress(path.read_bytes()).split(b"\n")[1])


def by_name(found: Board) -> dict[str, BoardRun]:
    return {run.name: run for run in found.runs}


def test_runs_stand_in_the_order_of_the_first_measure_and_share_a_rank_if_equal(runs: Path) -> None:
    (runs / "d.txt").write_text("1 Q0 a 1 1 fourth\n2 Q0 c 1 1 fourth\n3 Q0 d 1 1 fourth\n")
    found = board(QRELS, runs, ["RR", "P@1"])
    assert [(run.rank, run.name) for run in found.runs] == [(1, "fourth"), (2, "first"), (2, "second"), (4, "third")]
    assert [run.means for run in found.runs] == [(1, 1), (2.5 / 3, 2 / 3), (2.5 / 3, 2 / 3), (1 / 3, 1 / 3)]
    assert found.measures == ("RR", "P@1")
    assert found.signatures[0] == te.evaluate(QRELS, runs / "c.txt", "RR", complete=True).signatures["RR"]


def test_means_that_differ_by_a_rounding_error_are_equal(tmp_path: Path) -> None:
    # 0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in the last bit
    qrels = many(tmp_path / "runs", np.array([[1, 2, 3], [3, 2, 1]]))
    assert [run.rank for run in board(qrels, tmp_path / "runs", "P@10").runs] == [1, 1]


def test_queries_that_runs_lack_count_as_empty_rankings_or_are_left_out_of_all(
    runs: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.chdir(runs.parent)  # a long path would be shortened in the note
    found = board(QRELS, runs.name, "RR")
    assert (found.runs[2].missing, found.runs[2].warnings, found.queries) == (("3",), ("lacks 1 query",), (3,))
    common = board(QRELS, runs.name, "RR", complete=False)
    assert {run.name: run.means for run in common.runs} == {"first": (1.0,), "second": (0.75,), "third": (0.5,)}
    (runs / "d.txt").write_text("1 Q0 a 1 1 fourth\n")
    fewer = [board(QRELS, runs.name, "RR", complete=complete) for complete in (True, False)]
    assert by_name(fewer[0])["fourth"].warnings == ("lacks 2 queries",)
    assert [each.notes for each in (found, common, *fewer)] == snapshot


CAVEATS = {
    "other queries": ("9 a 1 1", 0, ["no query of the run is judged"]),
    "other queries, tied": ("9 a 1 1|9 b 2 1", 0, ["no query of the run is judged"]),
    "two missing queries": ("1 a 1 1", 0, ["lacks 2 queries"]),
    # In query 1 a relevant document is tied with another, in query 2 there is only one document.
    "ties": ("1 a 1 1|1 x 2 1|2 c 1 1|3 y 1 1|3 z 2 1", 1, ["ties matter in 1 of 3 queries"]),
    "ties in lines of any order": (
        "1 a 1 1|1 y 2 3|1 x 3 1",
        1,
        [
            "lacks 2 queries",
            "ties matter in 1 of 1 query",
            "ranks contradict scores in 1 of 1 query (1), and the scores are used",
        ],
    ),
    "distances": (
        "1 a 1 1|1 b 2 2|2 c 1 1|3 d 1 1",
        0,
        ["ranks contradict scores in 1 of 3 queries (1), and the scores are used"],
    ),
    "contradictions": (
        "1 a 1 1|1 b 2 2|1 c 3 0|2 c 1 1|2 e 2 2|2 f 3 0|3 d 1 1",
        0,
        ["ranks contradict scores in 2 of 3 queries (1, 2), and the scores are used"],
    ),
}
"""Query, document, rank and score of each line; the number of queries in which ties matter; and the warnings."""


@pytest.mark.parametrize("case", CAVEATS)
def test_caveats_are_said_with_the_run(runs: Path, case: str) -> None:
    lines, tied, warnings = CAVEATS[case]
    (runs / "d.txt").write_text("".join("{} Q0 {} {} {} x\n".format(*line.split()) for line in lines.split("|")))
    found = by_name(board(QRELS, runs, "RR"))
    assert (found["x"].tied, list(found["x"].warnings)) == (tied, warnings)
    assert (found["first"].tied, found["first"].warnings) == (0, ())
    if "no query of the run is judged" in warnings:
        assert found["x"].means == (0.0,)
        assert math.isnan(found["x"].judged)


def test_two_files_with_the_same_bytes_are_scored_once_with_a_warning(runs: Path) -> None:
    shutil.copy(runs / "a.txt", runs / "d.txt")
    found = board(QRELS, runs, "RR")
    warnings = [by_name(found)[name].warnings for name in "da"]
    assert (found.scored, warnings) == (3, [("the same file as a",), ()])


def test_intervals_are_those_of_students_t_and_of_a_sum_times_the_queries(runs: Path) -> None:
    found = board(QRELS, runs, "RR", confidence=0.9)
    low, high = stats.ttest_1samp([1, 1, 0.5], 0).confidence_interval(0.9)
    assert (found.runs[0].low, found.runs[0].high) == (pytest.approx(low, rel=1e-9), 1.0)  # RR is at most 1
    assert high > 1.3
    last = board(QRELS, runs, "num_rel_ret").runs[-1]
    low, high = stats.ttest_1samp([1, 0, 0], 0).confidence_interval(0.95)
    assert (last.means, last.low, last.high) == (
        (1.0,),
        0.0,
        pytest.approx(3 * high, rel=1e-9),
    )  # a count is at least 0
    assert low < 0


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


def test_letters_and_ranks_follow_their_level_confidence_draws_and_seed(tmp_path: Path) -> None:
    values = np.clip(np.random.default_rng(4).integers(0, 4, (5, 14)) + np.arange(5)[:, None], 0, 10)
    qrels = many(tmp_path, values)
    usual = board(qrels, tmp_path, "P@10")
    wide, strict = board(qrels, tmp_path, "P@10", confidence=0.5), board(qrels, tmp_path, "P@10", alpha=1e-9)
    assert {run.letters for run in strict.runs} == {"a"} < {run.letters for run in usual.runs}
    assert (math.isinf(strict.critical), strict.settings.alpha) == (True, 1e-9)
    assert [run.ranks for run in strict.runs] == [run.ranks for run in usual.runs]
    reach = [np.diff([run.ranks for run in each.runs]).sum() for each in (wide, usual)]
    assert reach[0] < reach[1]
    for options in ({"draws": 1000, "seed": 1}, {"draws": 100, "seed": 9}):
        found = board(qrels, tmp_path, "P@10", resamples=options["draws"], seed=options["seed"])
        expected = ranges_of(values / 10, 0.95, **options)
        assert [run.ranks for run in found.runs] == [expected[int(run.name[-3:])] for run in found.runs]
    assert [run.means[0] for run in usual.runs] == pytest.approx(sorted(values.mean(axis=1) / 10, reverse=True))


def test_one_query_tests_nothing_and_one_run_is_a_board(tmp_path: Path, runs: Path) -> None:
    found = board(many(tmp_path / "one", np.array([[1], [5]])), tmp_path / "one", "P@10")
    assert [(run.means, run.letters, run.ranks) for run in found.runs] == [((0.5,), "", None), ((0.1,), "", None)]
    assert (math.isnan(found.critical), math.isnan(found.runs[0].low)) == (True, True)
    assert found.notes == ("there is only one query, so nothing can be tested.",)
    two = board(many(tmp_path / "two", np.array([[1, 2], [5, 6]])), tmp_path / "two", "P@10")
    assert [(run.letters, run.ranks) for run in two.runs] == [("a", (1, 1)), ("b", (2, 2))]  # by 0.4 in both
    assert (two.notes, math.isnan(two.critical)) == ((), False)
    alone = board(QRELS, runs / "a.txt", "RR")
    assert [(run.rank, run.name, run.letters, run.ranks) for run in alone.runs] == [(1, "first", "", (1, 1))]


def test_the_share_of_judged_documents_is_over_the_queries_that_a_run_has(runs: Path) -> None:
    for measures in ("RR", ["RR", "judged_10"]):
        shares = {run.name: run.judged for run in board(QRELS, runs, measures).runs}
        assert shares == pytest.approx({"first": (1 + 1 + 1 / 2) / 3, "second": 1.0, "third": 1 / 2})


def test_ties_are_those_of_the_profile_and_counted_at_a_depth_unless_unjudged_documents_are_left_out(
    runs: Path,
) -> None:
    (runs / "a.txt").write_text("1 Q0 a 1 1.000000001 narrow\n1 Q0 x 2 1.0 narrow\n")
    # equal as floats of 32 bits only; ranks of a file have no ties
    for profile, tied in {"trec_eval-10": 0, "trec_eval-9": 1, "msmarco": None}.items():
        assert board(QRELS, runs / "a.txt", "RR", profile=profile).runs[0].tied == tied
    (runs / "a.txt").write_text("1 Q0 a 1 1 tied\n1 Q0 x 2 1 tied\n")
    for depth, judged_only, count in ((1, False, 1), (None, True, 0), (1, True, None)):
        assert board(QRELS, runs / "a.txt", "RR", depth=depth, judged_only=judged_only).runs[0].tied == count
    assert board(QRELS, runs / "a.txt", "infAP").runs[0].tied is None  # whose best order is not known


def test_a_file_too_large_to_be_held_has_the_same_values(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = board(QRELS, runs)
    sizes = sorted(path.stat().st_size for path in runs.iterdir())
    for most, unknown in ((sizes[-1], 0), (sizes[-1] - 1, 1), (0, 3)):
        monkeypatch.setattr(board_module, "MOST_HELD", most)
        streamed = board(QRELS, runs)
        assert [run.tied for run in streamed.runs].count(None) == unknown
        assert [run._replace(tied=0) for run in held.runs] == [run._replace(tied=0) for run in streamed.runs]


def test_without_measures_there_are_the_usual_ones_or_the_profiles(runs: Path, snapshot: SnapshotAssertion) -> None:
    given: list[dict[str, Any]] = [{}, {"profile": "gdeval"}, {"measures": ["set"]}]
    found = [board(QRELS, runs / "a.txt", **options) for options in given]
    assert [(each.measures, each.notes) for each in found] == snapshot


def test_a_file_that_cannot_be_scored_is_named_and_the_others_are_ranked(
    runs: Path, snapshot: SnapshotAssertion
) -> None:
    texts = {"a line cut off": "1 Q0 a 1\n", "an empty file": "", "saved results": "map\t1\t0.5000\n"}
    said = {}
    for what, text in {**texts, "a link to nothing": None}.items():
        (runs / "b.txt").unlink()
        if text is None:
            (runs / "b.txt").symlink_to(runs / "nowhere")
        else:
            (runs / "b.txt").write_text(text)
        found = board(QRELS, [runs / name for name in ("a.txt", "b.txt", "c.txt")], "RR", cache=runs / CACHE_NAME)
        assert [run.name for run in found.runs] == ["first", "third"]
        assert len(kept(runs / CACHE_NAME)["runs"]) == 2
        (error,) = found.errors
        assert error.file == f"{runs}/b.txt"
        said[what] = [error.message.replace(f"{runs}/", "")]
    (runs / "b.txt").unlink()
    (runs / "d.txt").write_text("9 Q0 a 1 1 other\n")
    os.mkfifo(runs / "pipe")
    found = board(QRELS, [runs, "-", runs / "pipe"], "RR", complete=False)
    assert len(found.runs) == 2
    said["standard input, a pipe and other queries"] = [each.message.replace(f"{runs}/", "") for each in found.errors]
    assert said == snapshot


def test_a_folder_may_have_other_files_and_a_run_without_a_tag_is_called_by_its_file(runs: Path) -> None:
    (runs / "qrels").write_text("1 0 a 1\n2 0 c 1\n3 0 d 1\n")
    found = board(runs / "qrels", runs, "RR", without=[runs / "qrels", runs / "b.txt"])
    assert ([run.name for run in found.runs], found.errors) == (["first", "third"], ())
    (runs / "b.txt").write_text("1\ta\t1\n2\tc\t1\n3\td\t1\n")
    assert {run.name for run in board(runs / "qrels", runs, "RR").runs} == {"first", "b", "third"}


@pytest.fixture
def own_measure(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Declare a measure that is the value in this list where two documents were retrieved, and else 0."""
    value = [0.0]

    def boundless(run: te.judging.JudgedRun) -> np.ndarray:
        """One value, where a second document is retrieved, and else 0."""
        return np.where(run.num_ret == 2, value[0], 0.0)

    te.measuring.declare(boundless, "board_test_boundless")
    yield value
    del FAMILIES["board_test_boundless"]


def test_values_without_a_mean_or_a_deviation_are_refused(
    runs: Path, own_measure: list[float], snapshot: SnapshotAssertion
) -> None:
    said = {}
    for value in (math.inf, -math.inf, 1.0001e100, -1e300, 1e100):
        own_measure[0] = value
        found = board(QRELS, runs, ["RR", "board_test_boundless"], cache=runs / CACHE_NAME)
        assert [run.name for run in found.runs] == (["third"] if abs(value) > 1e100 else ["first", "second", "third"])
        said[value] = [error.message.replace(f"{runs}/", "") for error in found.errors]
        # A measure of one's own is computed each time.
        assert found.notes[0] == "results are not cached: board_test_boundless may change without notice."
        assert not (runs / CACHE_NAME).exists()
    assert said == snapshot


def test_a_board_without_runs_is_no_failure_of_its_own(runs: Path) -> None:
    (runs / "a.txt").write_text("what?\n")
    found = board(QRELS, runs / "a.txt", "RR")
    assert (found.runs, len(found.errors), found.queries, math.isnan(found.critical)) == ((), 1, (0,), True)
    for name in FORMATS:
        assert text_of(found, name, Style())
    assert sentences(found)[0] == "No run could be scored."


OPTIONS: list[dict[str, Any]] = [
    {"measures": "gm_map"}, {"measures": ["map", "runid"]}, {"measures": []}, {"alpha": 0.0}, {"alpha": 1.0},
    {"alpha": "0.05"}, {"confidence": 95}, {"confidence": 1}, {"resamples": 99}, {"resamples": 1_000_001}, {"resamples": 1e3},
    {"resamples": True}, {"seed": -1}, {"seed": 1.5}, {"threads": 0}, {"threads": 257}, {"depth": -1}, {"signature": "AP"},
    {"runs": 3}, {"runs": {"a": "b"}}, {"runs": ["a.txt", 3]}, {"cache": 3}, {"after": 3},
]  # fmt: skip


def test_options_out_of_range_are_refused(runs: Path, snapshot: SnapshotAssertion) -> None:
    assert {repr(options): refusal(board, QRELS, **{"runs": runs, **options}) for options in OPTIONS} == snapshot


def test_options_at_the_ends_of_their_ranges_are_taken(runs: Path) -> None:
    usual = BoardSettings("", True, 0.05, 0.95)
    for name, values in {
        "alpha": (1e-9, 1 - 1e-9), "confidence": (1e-9, 1 - 1e-9), "resamples": (100, 1_000_000, np.int64(500)),
        "seed": (0, 2**70),
    }.items():  # fmt: skip
        for value in values:
            check_statistics(usual._replace(**{name: value}))
    assert usual == BoardSettings("", True, 0.05, 0.95, 1000, 1) == board(QRELS, runs).settings._replace(profile="")
    for threads in (1, 256):
        assert repr(board(QRELS, runs, threads=threads)) == repr(board(QRELS, runs))


def test_means_are_the_same_up_to_twelve_digits() -> None:
    # Equal within 1e-12, or within 1e-12 of a mean above 1.
    assert highest([0.5, 0.5 - 0.9e-12, 0.5 - 1.1e-12, math.nan]) == {0, 1}
    assert highest([5.0, 5.0 - 4.5e-12, 5.0 - 5.5e-12]) == {0, 1}
    assert highest([-5.0, -5.0 - 4.5e-12, -5.0 - 5.5e-12]) == {0, 1}
    assert highest([0.5, 0.5]) == highest([0.5]) == highest([0.5, math.nan]) == highest([]) == frozenset()
    assert _ranks([0.1234567890124, 0.1234567890123, 0.1234567890136, math.nan]) == (2, 2, 1, None)


# the cache


def test_a_run_that_is_known_by_its_bytes_is_not_scored_again(runs: Path) -> None:
    scored: list[int] = []  # after each file

    def again() -> Board:
        return board(QRELS, runs, cache=runs / CACHE_NAME, after=lambda: scored.append(1))

    first, inode, second = again(), (runs / CACHE_NAME).stat().st_ino, again()
    assert (first.scored, second.scored, len(scored)) == (3, 0, 3)
    assert repr(first._replace(scored=0)) == repr(second)
    assert (runs / CACHE_NAME).stat().st_ino == inode  # it is not written again
    (runs / "a.txt").rename(runs / "z.txt")
    (runs / "b.txt").touch()
    assert again().scored == 0


def test_only_a_run_that_changed_is_scored_again_and_what_it_had_before_is_forgotten(runs: Path) -> None:
    board(QRELS, runs, "RR", cache=runs / CACHE_NAME)
    (runs / "c.txt").write_text(THIRD + "3 Q0 d 1 1 third\n")
    found = board(QRELS, runs, "RR", cache=runs / CACHE_NAME)
    assert (found.scored, by_name(found)["third"].means) == (1, (2 / 3,))
    (runs / "a.txt").write_text(FIRST + "3 Q0 y 3 0.5 first\n")
    board(QRELS, runs / "a.txt", "RR", cache=runs / CACHE_NAME)
    assert len(kept(runs / CACHE_NAME)["runs"]) == 3


def test_another_question_is_computed_anew(runs: Path) -> None:
    board(QRELS, runs, "RR", cache=runs / CACHE_NAME)
    for options in (
        {"measures": ["RR", "P@1"]},
        {"level": 2},
        {"depth": 1},
        {"judged_only": True},
        {"complete": False},
        {"profile": "trec_eval-9"},
        {"qrels": {**QRELS, "3": {"d": 2}}},
    ):
        found = board(**{"qrels": QRELS, "runs": runs, "measures": "RR", **options}, cache=runs / CACHE_NAME)
        assert (found.scored, [note for note in found.notes if "cache" in note]) == (3, []), options


def test_runs_that_are_not_asked_for_stay_known_while_their_files_are_there(runs: Path) -> None:
    board(QRELS, runs, "RR", cache=runs / CACHE_NAME)
    (runs / "c.txt").unlink()
    board(QRELS, runs / "a.txt", "RR", cache=runs / CACHE_NAME)
    assert [each["file"] for each in kept(runs / CACHE_NAME)["runs"].values()] == ["a.txt", "b.txt"]
    assert board(QRELS, runs, "RR", cache=runs / CACHE_NAME).scored == 0


def test_a_cache_stands_in_the_folder_of_the_runs_where_there_is_one(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cache_beside([str(runs)]) == f"{runs}/{CACHE_NAME}"
    monkeypatch.chdir(runs)
    for given, beside in {
        "a.txt b.txt": f"./{CACHE_NAME}",
        "a.txt ./b.txt .": f"./{CACHE_NAME}",
        "../runs ../runs/": f"../runs/{CACHE_NAME}",
        "../runs/*.txt": f"../runs/{CACHE_NAME}",
        "a.txt ../b.txt": None,
        "none/*.txt": None,
    }.items():
        assert cache_beside(given.split()) == beside, given


@pytest.mark.parametrize("compressed", [True, False])
def test_no_damage_to_a_cache_stops_a_board_or_passes_for_other_values(runs: Path, compressed: bool) -> None:
    board(QRELS, runs, "RR", cache=runs / CACHE_NAME)
    path, rng = runs / CACHE_NAME, random.Random(5)
    whole, key = path.read_bytes(), kept(path)["key"]
    expected = read_cache(str(path), key, [(0.0, 1.0)]).entries
    assert len(expected) == 3
    whole = whole if compressed else gzip.decompress(whole)
    for _ in range(100):
        raw = bytearray(whole[: rng.randrange(len(whole))] if rng.random() < 0.3 else whole)
        for _ in range(rng.randrange(1, 4) if raw else 0):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        path.write_bytes(bytes(raw) if compressed else gzip.compress(raw, 1))
        found = read_cache(str(path), key, [(0.0, 1.0)])
        assert repr(found.entries) == repr(expected) or found.entries == {}


@pytest.mark.slow
def test_a_cache_of_another_name_is_known_by_its_beginning(runs: Path, tmp_path: Path) -> None:
    for name in ("cache.json", "cache.xz", "cache"):
        assert board(QRELS, runs, "RR", cache=tmp_path / name).scored == 3
        assert board(QRELS, runs, "RR", cache=tmp_path / name).scored == 0
        assert board(QRELS, runs, "map", cache=tmp_path / name).scored == 3


def test_a_cache_that_cannot_be_used_is_a_note(runs: Path, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (tmp_path / "notes.txt").write_text("mine\n")
    said = {}
    for name in ("notes.txt", "runs", "no folder/cache.json.gz"):
        found = board(QRELS, runs, "RR", cache=tmp_path / name)
        assert len(found.runs) == 3
        said[name] = found.notes[0]
    assert (tmp_path / "notes.txt").read_text() == "mine\n"
    assert said == snapshot


def test_a_file_that_changes_while_it_is_scored_is_named_and_not_kept(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening = te.Evaluator.open

    def and_somebody_writes(evaluator: te.Evaluator, run: te.Run) -> object:
        with open(runs / "b.txt", "a") as stream:
            stream.write("3 Q0 x 2 1 second\n")
        return opening(evaluator, run)

    monkeypatch.setattr(te.Evaluator, "open", and_somebody_writes)
    found = board(QRELS, runs, "RR", cache=runs / CACHE_NAME, threads=1)
    (error,) = found.errors
    assert error.message.startswith(f"{runs}/b.txt: the file changed while it was read.")
    assert len(kept(runs / CACHE_NAME)["runs"]) == 2


@pytest.mark.slow
def test_boards_that_are_made_at_once_leave_a_whole_cache(runs: Path) -> None:
    failures: list[Exception] = []

    def make(measure: str) -> None:
        try:
            for _ in range(5):
                assert len(board(QRELS, runs, measure, cache=runs / CACHE_NAME, threads=1).runs) == 3
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
    "<script>alert(1)</script>", "a|b & c_d 50% $x$ ~^\\{}#", "\x1b[31mred", "=1+1", "文字🎉", "\u202eltr", '"quoted", x',
]  # fmt: skip


def made(names: list[str], letters: list[str] | None = None, **changes: Any) -> Board:
    """Return a board that is made by hand."""
    rows = [
        BoardRun(
            number + 1, name, f"runs/{number}.txt", name, (0.9 - number / 1000, 1 / 3), 0.25, 0.75 if number else 1.0,
            "a" if letters is None else letters[number], 0.5, 0, (), "00", ("lacks 2 queries",) if number == 1 else (),
        )._replace(**changes)
        for number, name in enumerate(names)
    ]  # fmt: skip
    signature = Signature.parse("AP(rel=1)|p:trec_eval-10|#:1|q:fff4dd91|v:0.1.0")
    settings = BoardSettings("trec_eval-10", True, 0.05, 0.95)
    errors = (Unscored("runs/x.txt", "runs/x.txt: the file is empty. Is it the right file?"),)
    return Board(
        tuple(rows), ("map", "P_10"), (50, 50), settings, 3.21, "qrels.txt", (signature, signature), ("a note.",),
        errors, 1, "1.2.3",
    )  # fmt: skip


@pytest.mark.parametrize("format", FORMATS)
def test_a_board_in_every_format_shows_any_name_and_what_is_unknown(format: str, snapshot: SnapshotAssertion) -> None:
    unknown = made(["one"], [""], low=math.nan, high=math.nan, judged=math.nan, tied=None)
    unknown = unknown._replace(critical=math.nan, notes=("Note: 1",))
    for found, style in ((made(HOSTILE, ranks=(2, 7)), Style()), (unknown, Style(digits=2))):
        assert re.sub(r"<style>.*?</style>\n", "", text_of(found, format, style), flags=re.DOTALL) == snapshot


def test_the_table_of_a_board(snapshot: SnapshotAssertion) -> None:
    found = made(["one", "two"], ["a", "ab"], ranks=(1, 2))
    assert text_of(found, "table", Style()) == snapshot
    below = made(["one", "two"], low=-0.25)  # a dash before a number below 0 would look like its sign
    assert "-0.2500 to  1.0000" in text_of(below, "table", Style())
    alone = made(["one"], ranks=(1, 1))
    assert "ranks" not in text_of(alone, "table", Style())
    assert {"Ranked by", "Ranks: 95"} & {line[:9] for line in sentences(alone)} == set()
    nearly = alone._replace(settings=alone.settings._replace(confidence=0.9999999999999999), queries=(50, 1))
    assert "Intervals: 99.99999999999999 %, pointwise, Student's t, of each run's map." in sentences(nearly)
    assert sentences(nearly)[0] == "Means over 50 queries (map), 1 query (P_10), judged by qrels.txt."


def test_many_letters_in_a_row_are_written_as_the_first_and_the_last() -> None:
    shown = made(["1", "2", "3", "4"], ["abc", "abcdefg", "acdefhi", "x"])
    lines = text_of(shown, "markdown", Style()).splitlines()[2:6]
    assert [line.split(" | ")[4] for line in lines] == ["abc", "a–g", "ac–fhi", "x"]
    many_groups = made(["1", "2"], ["xyza1b1", "z"])
    assert "x–b1" in text_of(many_groups, "table", Style())


def test_a_board_wider_than_the_terminal_is_cut_into_blocks_that_begin_with_names(snapshot: SnapshotAssertion) -> None:
    # 4, 3, 8, 13 and 6 with 3 between are 46, and 6 for P_10 with its 3 are 55, and 9 for judged@10 do not fit
    found = made(["one", "two"], ["a", "ab"])
    text = text_of(found, "table", Style(width=60))
    assert max(map(len, text.splitlines())) <= 60
    assert text == snapshot
    whole, fits, cut = (text_of(found, "table", Style(width=width)).splitlines()[:4] for width in (None, 85, 84))
    assert whole == fits != cut


def test_long_boards_have_a_line_a_run_and_their_notes_in_the_first_caption() -> None:
    found = made([f"system{number}" for number in range(200)])
    lines = text_of(found, "table", Style()).splitlines()
    assert [line.split()[0] for line in lines[2:202]] == [str(number) for number in range(1, 201)]
    assert max(map(len, lines[:202])) <= 100
    long = found._replace(runs=found.runs[:60], notes=("Note: rounded.", "left out: 2"))
    caption, *others = [line for line in text_of(long, "latex", Style()).splitlines() if line.startswith("\\caption")]
    assert set(others) <= {"\\caption{Continued.}"}
    assert " Note: rounded. Note: left out: 2. Not scored:" in caption


def test_a_board_in_json_has_its_signature_and_is_short_in_python(runs: Path, snapshot: SnapshotAssertion) -> None:
    found = board(QRELS, runs, "RR")
    document = json.loads(text_of(found, "json", Style()), parse_constant=pytest.fail)
    assert te.scoring.Signature.parse(document["signatures"]["RR"]["long"]) == found.signatures[0]
    assert repr(found) == "<Board of 3 runs by RR: first 0.8333, second 0.8333, third 0.3333>"
    assert [repr(made([*"abcdef"[:count]])) for count in (5, 6)] == snapshot
    assert "<table" in found._repr_html_()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.parametrize("count", [len(HOSTILE), 60])
def test_latex_compiles(tmp_path: Path, count: int) -> None:
    names = (HOSTILE + [f"system{number}" for number in range(60)])[:count]
    packages = "\\usepackage{booktabs}\\usepackage{longtable}\\usepackage[T1]{fontenc}"
    text = text_of(made(names), "latex", Style())
    (tmp_path / "board.tex").write_text(
        f"\\documentclass{{article}}{packages}\\begin{{document}}\n{text}\\end{{document}}\n", "utf-8"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-draftmode", "board.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert b"Undefined" not in done.stdout
