"""What a report shows: its payload, curves, overlap, documents and ranges."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import math
import random
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.stats
from command import table, treceval
from report_payloads import drawn_payload
from shared import ROBUST, skip_without_shared
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py import Qrels, Run
from treceval_py.cli.report import PLOTS as OFFERED
from treceval_py.comparing.agreement import overlap_of_runs, rbo_of_lists
from treceval_py.comparing.comparison import Comparison
from treceval_py.comparing.outcome import Compared, Difference, Settings
from treceval_py.comparing.outcome import Tested as Found  # pytest takes names that begin with Test for tests
from treceval_py.comparing.show import sentences
from treceval_py.comparing.simultaneous import simultaneous
from treceval_py.errors import DataError, EvaluationError, OutputError
from treceval_py.judging import judge
from treceval_py.plots.specs import PLOTS
from treceval_py.reporting import report_payload, write_report
from treceval_py.reporting.curves import Curves, basis_of, curves_of
from treceval_py.reporting.documents import Rankings
from treceval_py.reporting.page import SCRIPTS, page
from treceval_py.reporting.robustness import about_left_out, notes_of, unjudged_shares
from treceval_py.scoring import Signature
from treceval_py.scoring.conventions import Conventions

# Runs here lack queries, so that there is something to tell.
pytestmark = pytest.mark.filterwarnings("ignore::treceval_py.errors.MissingQueriesWarning")

DATA = Path(__file__).parent.parent / "data"
JUDGED, PAIR = str(DATA / "qrels.tsv"), [str(DATA / "runs" / f"{name}.txt") for name in ("bm25", "minilm")]

USUAL = Settings(("t",))

QRELS = Qrels({"1": {"a": 1, "b": 0, "c": 2}, "2": {"a": 1, "d": 0}, "3": {"z": 1}})
ONE = Run({"1": {"a": 3.0, "b": 2.0, "x": 1.5, "c": 1.0}, "2": {"a": 1.0, "d": 0.5}}, tag="first")
TWO = Run({"1": {"x": 3.0, "a": 2.0}, "2": {"d": 1.0, "a": 0.5}}, tag="second")
WHOLE = Run({"1": {"a": 1.0}, "2": {"a": 1.0}, "3": {"z": 1.0}})

KEYS = {
    "v", "title", "version", "command", "judgments", "baseline", "alpha", "confidence", "power", "margin",
    "seed", "methods", "notes", "reproduce", "runs", "qids", "texts", "R", "measures", "groups", "pr", "rd", "overlap",
    "K", "docs", "passages",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the sentences, which have tests of their own, be told from the rest."""
    said = {"queries": "Paired over 2 queries.", "interval": "Of differences.", "test": "Student's t-test."}
    monkeypatch.setattr(sentences, "methods", lambda comparison: said)


def signature(run: Run, measure: str = "map", qrels: Qrels = QRELS, **options: Any) -> Signature:
    return te.evaluate(qrels, run, measure, **options).signatures[measure]


def measured(
    name: str = "map",
    values: Sequence[Sequence[float]] = ((0.75, 1.0), (0.25, 0.5)),
    *,
    qids: tuple[str, ...] = ("1", "2"),
    signature: Signature | None = None,
    differences: Sequence[Difference] = (),
    left_out: tuple[str, ...] = (),
) -> Compared:
    matrix = np.array(values, dtype=np.float64)
    means = matrix.mean(axis=1)
    letters = tuple("ab"[: len(matrix)])
    return Compared(
        name, signature, qids, matrix, means, means - 0.1, means + 0.1, (int(means.argmax()),), letters, None,
        simultaneous(matrix, resamples=99, seed=1) if len(qids) > 1 else None, tuple(differences), left_out, 0.05,
    )  # fmt: skip


def difference(run: int, other: int, mean: float, adjusted: float, test: str = "t") -> Difference:
    tests = {test: Found(2.0, adjusted, adjusted)}
    return Difference(run, other, mean, mean - 1, mean + 1, tests, 1.0, 0.0, 2.0, 1, 0, 1, float("nan"), 10.0)


def comparison(
    *measures: Compared,
    baseline: int | None = 0,
    settings: Settings = USUAL,
    names: tuple[str, ...] = ("one", "two"),
    files: tuple[str, ...] = ("one.txt", "two.txt"),
    notes: tuple[str, ...] = (),
) -> Comparison:
    return Comparison(names, baseline, measures or (measured(),), settings, 1, files, "qrels.txt", notes)


def zeros(runs: int, names: str, **more: Any) -> Comparison:
    each = measured(values=np.zeros((runs, 3 if "qids" in more else 2)).tolist(), **more)
    return comparison(each, names=tuple(names), files=tuple(names))


def robust() -> tuple[Qrels, dict[str, Run]]:
    skip_without_shared()
    runs = {path.name[6:-3]: te.read_run(str(path)) for path in sorted(ROBUST.glob("input.*.gz"))[:3]}
    return te.read_qrels(str(ROBUST / "qrels.txt.gz")), runs


def printed_by_trec_eval(run: str) -> dict[str, float]:
    """Return the averages that trec_eval 10.0 printed for a run."""
    with gzip.open(ROBUST / "expected" / f"{run}.trec_eval-10.txt.gz", "rt") as lines:
        rows = (line.split() for line in lines)
        return {name: float(value) for name, qid, value in rows if qid == "all" and name != "runid"}


def payload(
    made: Comparison | None = None, qrels: Qrels = QRELS, runs: Sequence[Run] = (), **more: Any
) -> dict[str, Any]:
    """Return the payload of a comparison of two runs, which are one and two unless others are given."""
    return report_payload(made or comparison(), qrels=qrels, runs=list(runs or (ONE, TWO)), **more)


# The payload ----------------------------------------------------------------------------------------


def test_a_payload_is_strict_json_with_all_that_a_page_shows_and_the_same_each_time() -> None:
    found, again = (payload(texts={"1": "what", "9": "of another collection"}) for _ in range(2))
    assert set(found) == KEYS
    assert json.loads(json.dumps(found, allow_nan=False)) == found == again
    assert found["texts"] == {"1": "what"}  # of queries that were compared


def test_a_payload_says_what_was_compared_and_how_it_was_made() -> None:
    found = payload(title="Nile", command="treceval report q r")
    assert (found["v"], found["title"], found["command"]) == (3, "Nile", "treceval report q r")
    assert found["version"] == te.__version__
    assert found["judgments"]["name"] == "qrels.txt"
    assert found["judgments"]["n"] == 6  # three of query 1, two of query 2, one of query 3
    assert [(run["name"], run["file"], run["tag"]) for run in found["runs"]] == [
        ("one", "one.txt", "first"), ("two", "two.txt", "second")
    ]  # fmt: skip


def test_no_path_is_in_a_payload_but_names_and_hashes(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    files = {
        tmp_path / "qrels.txt": "1 0 a 1\n2 0 b 1\n",
        tmp_path / "runs" / "one.txt": "1 Q0 a 1 2 x\n2 Q0 b 1 1 x\n",
    }
    files[tmp_path / "runs" / "two.txt"] = "1 Q0 b 1 2 y\n2 Q0 b 1 1 y\n"
    for path, text in files.items():
        path.write_text(text)
    hashes = [hashlib.sha256(text.encode()).hexdigest()[:8] for text in files.values()]
    qrels, *runs = map(str, files)
    found = report_payload(te.compare(qrels, runs, "map", resamples=99), qrels=qrels, runs=runs)
    assert (found["judgments"]["name"], found["judgments"]["hash"]) == ("qrels.txt", hashes[0])
    assert [(run["file"], run["hash"]) for run in found["runs"]] == [("one.txt", hashes[1]), ("two.txt", hashes[2])]
    assert found["reproduce"][0].endswith(" qrels.txt one.txt two.txt")
    assert str(tmp_path) not in json.dumps(found)


def test_each_pair_of_runs_has_the_numbers_of_the_test_of_all_pairs_at_the_level_of_the_comparison() -> None:
    drawn = np.random.default_rng(4).random((3, 40))
    runs = {
        name: {str(q): {"a": float(v), "b": 0.5} for q, v in enumerate(row)}
        for name, row in zip("abc", drawn, strict=True)
    }
    qrels = {str(q): {"a": 1, "b": 0} for q in range(40)}
    made = te.compare(qrels, runs, "recip_rank", alpha=0.07, resamples=999)
    (found,) = report_payload(made, qrels=qrels, runs=runs)["measures"]
    values = made["recip_rank"].values
    largest = np.sort(made["recip_rank"].together.largest)
    pairs = found["pairs"]
    # Of 999 resamples, 69 may have a larger |t|: (69 + 1) / 1000 = 0.07.
    assert pairs["critical"] == largest[-70]
    assert pairs["resamples"] == 999
    level = 2 * scipy.stats.t.sf(largest[-70], 39)
    errors = []
    for at, (one, other) in enumerate([(1, 0), (2, 0), (2, 1)]):
        each = values[one] - values[other]
        errors.append(scipy.stats.sem(each))
        assert pairs["error"][at] == pytest.approx(errors[-1], rel=1e-7)  # eight digits
        assert pairs["p"][at] == 1 + np.sum(largest >= abs(each.mean()) / errors[-1])
        assert (pairs["won"][at], pairs["lost"][at]) == (np.sum(each > 0), np.sum(each < 0))
        # The power of the two-sided paired t-test from scipy's noncentral t distribution.
        effect = abs(each.mean()) / each.std(ddof=1)
        powers = [power_of(effect, pairs["needed"][at] - less, level) for less in (1, 0)]
        assert powers[0] < 0.8 <= powers[1]
    assert pairs["resolution"] == pytest.approx(largest[-70] * np.median(errors), rel=1e-12)


def power_of(effect: float, queries: int, level: float) -> float:
    quantile = scipy.stats.t.isf(level / 2, queries - 1)
    noncentral = scipy.stats.nct(queries - 1, effect * math.sqrt(queries))
    return float(noncentral.sf(quantile) + noncentral.cdf(-quantile))


def test_pairs_that_do_not_vary_or_differ_little_have_numbers_and_one_query_has_no_test() -> None:
    values = [[0.5, 0.25, 0.5], [0.5, 0.25, 0.5], [0.75, 0.5, 0.75], [0.5, 0.251, 0.499]]
    qids = {"qids": ("1", "2", "3")}
    (measure,) = report_payload(
        comparison(measured(values=values, **qids), names=("a", "b", "c", "d"), files=("",) * 4)
    )["measures"]  # type: ignore[arg-type]
    pairs = measure["pairs"]
    # a and b are equal; c is 0.25 better than both, which is certain; d differs from a by 0.001, 0 and -0.001.
    assert (pairs["error"][:3], pairs["p"][:3]) == ([0.0, 0.0, 0.0], [100, 0, 0])
    assert pairs["needed"] == [10_001, 2, 2, 10_001, 10_001, pairs["needed"][5]]
    assert (pairs["won"], pairs["lost"]) == ([0, 3, 3, 1, 1, 0], [0, 0, 0, 1, 1, 3])
    (single,) = report_payload(comparison(measured(values=[[0.5], [0.25]], qids=("1",))))["measures"]
    assert single["pairs"] == {"won": [0], "lost": [1]}


def test_the_result_names_runs_by_their_numbers_so_that_no_name_is_taken_for_one() -> None:
    (found,) = report_payload(comparison(names=("⟦1⟧", "MAP")))["measures"]
    first, *_ = found["finding"]
    assert first == ["", 0, " has the higher map, 0.8750 against 0.3750."]


def test_groups_have_the_critical_t_of_their_size_and_number() -> None:
    made = te.compare(
        JUDGED, PAIR, "map", groups={str(qid): str(place % 3) for place, qid in enumerate(qids_of(JUDGED))}
    )
    found = report_payload(made)
    sizes = [len(queries) for group in found["groups"] for _, queries in group["sets"]]
    (measure,) = found["measures"]
    assert {*measure["student"]} == {str(size) for size in sizes if size > 1}
    for size, critical in measure["student"].items():
        assert critical == pytest.approx(scipy.stats.t.isf(0.05 / len(sizes) / 2, int(size) - 1), rel=1e-7)


def qids_of(qrels: str) -> list[str]:
    return list(te.read_qrels(qrels))


def test_the_queries_are_those_of_any_measure_and_a_value_is_none_where_a_measure_leaves_one_out() -> None:
    found = report_payload(comparison(measured("map"), measured("P_5", [[0.5], [0.25]], qids=("2",))))
    assert found["qids"] == ["1", "2"]
    assert found["measures"][1]["values"] == [[None, 0.5], [None, 0.25]]


def test_the_page_decides_what_to_compare_with_unless_a_baseline_is_given_and_saved_results_have_no_tags() -> None:
    saved = report_payload(comparison())
    assert saved["baseline"] is None
    assert [(run["tag"], run["judged"]) for run in saved["runs"]] == [("", None), ("", None)]
    assert report_payload(comparison(baseline=None))["baseline"] is None
    assert report_payload(comparison(baseline=1))["baseline"] == 1
    assert report_payload(comparison(), baseline="one")["baseline"] == 0
    assert report_payload(comparison(), baseline=1)["baseline"] == 1


def test_a_measure_has_means_intervals_and_values() -> None:
    (found,) = report_payload(comparison(measured(left_out=("3",))))["measures"]
    assert (found["name"], found["left_out"]) == ("map", 1)
    assert found["means"] == [0.875, 0.375]  # (0.75 + 1)/2 and (0.25 + 0.5)/2; the intervals are ± 0.1 above
    assert found["low"] == [0.875 - 0.1, 0.375 - 0.1]
    assert found["high"] == [0.875 + 0.1, 0.375 + 0.1]
    assert found["values"] == [[0.75, 1.0], [0.25, 0.5]]


def test_a_measure_has_both_forms_of_its_signature_or_none() -> None:
    made = signature(ONE)
    found, unknown = report_payload(comparison(measured(signature=made), measured()))["measures"]
    assert (found["sig"], found["siglong"]) == (made.short, made.long)
    assert (unknown["sig"], unknown["siglong"], unknown["sum"], unknown["ties"], unknown["unj"]) == (None,) * 5


def test_values_of_queries_have_few_digits_but_print_the_same_number_of_four_decimals_and_means_have_all() -> None:
    # 0.388650004 is printed as 0.3887; of seven digits, it would be 0.38865, which is printed as 0.3886.
    values = [[1 / 3, 2 / 3, 1e-7 / 3, 0.0, 7.0], [1234.56789012, -0.0012345678, 50.0, 0.388650004, 0.00034999999]]
    (found,) = report_payload(comparison(measured(values=values, qids=("1", "2", "3", "4", "5"))))["measures"]
    assert found["values"] == [
        [0.3333333, 0.6666667, 3.333333e-08, 0.0, 7.0], [1234.56789, -0.001234568, 50.0, 0.388650004, 0.00034999999]
    ]  # fmt: skip
    assert found["means"][0] == np.mean(values[0])
    drawn = np.random.default_rng(3).integers(1, 1000, (2, 50_000)) / np.random.default_rng(4).integers(1, 1000, 50_000)
    (many,) = report_payload(comparison(measured(values=drawn.tolist(), qids=tuple(map(str, range(50_000))))))[
        "measures"
    ]
    for row, given in zip(many["values"], drawn.tolist(), strict=True):
        assert [f"{each:.4f}" for each in row] == [f"{each:.4f}" for each in given]


def test_what_is_no_finite_number_is_none() -> None:
    one = measured(values=[[0.5], [0.25]], qids=("1",))  # of one query there is no interval
    one = one._replace(low=np.array([np.nan, -np.inf]), high=np.array([np.nan, np.inf]))
    (found,) = report_payload(comparison(one))["measures"]
    assert found["low"] == found["high"] == [None, None]


def test_bytes_that_are_no_unicode_are_shown() -> None:
    one = measured(qids=("1\udcff", "2"))
    found = report_payload(comparison(one, names=("\udce9", "two")), texts={"1\udcff": "half \ud83d a character"})
    assert found["qids"] == ["1\\xff", "2"]
    assert found["runs"][0]["name"] == "\\xe9"
    assert found["texts"] == {"1\\xff": "half \\ud83d a character"}


def test_without_runs_there_are_no_curves_documents_ranges_nor_commands_but_the_one_given() -> None:
    found = report_payload(comparison(measured(signature=signature(ONE))), qrels=QRELS, command="treceval report x")
    assert found["pr"] is found["rd"] is found["overlap"] is found["docs"] is found["R"] is None
    assert found["measures"][0]["ties"] is found["measures"][0]["unj"] is found["measures"][0]["sum"] is None
    assert found["reproduce"] == ["treceval report x"]


# How to reproduce -----------------------------------------------------------------------------------


def test_a_command_repeats_the_signatures_unless_it_would_give_other_numbers() -> None:
    made = signature(ONE)
    whole, mine = comparison(measured(signature=made)), te.scoring.Profile("mine", "my own", Conventions(ties="line"))
    repeated = f"treceval --repeat '{made.short}' qrels.txt one.txt two.txt"
    assert payload(whole, command="treceval report x")["reproduce"] == ["treceval report x", repeated]
    part = comparison(measured(signature=made, left_out=("3",)))
    assert payload(part, command="c")["reproduce"] == ["c"]
    assert report_payload(whole, runs=[ONE, TWO], command="c")["reproduce"] == ["c"]
    for files in (("<run>", "two.txt"), ("-", "two.txt")):  # from Python, or a pipe
        assert payload(comparison(measured(signature=made), files=files))["reproduce"] == []
    written_out = signature(ONE, profile=mine)
    (command,) = payload(comparison(measured(signature=written_out)))["reproduce"]
    assert command == f"treceval --repeat '{written_out.long}' qrels.txt one.txt two.txt"


def test_the_command_gives_the_means_of_the_report(tmp_path: Path) -> None:
    """The measure, level and depth are not the usual ones, and a name has a blank and begins with a dash."""
    (tmp_path / "my qrels").write_text("1 0 a 1\n1 0 b 2\n1 0 c 0\n")
    (tmp_path / "-one").write_text("1 Q0 a 1 2 one\n1 Q0 b 2 1 one\n")
    (tmp_path / "two").write_text("1 Q0 b 1 2 two\n1 Q0 a 2 1 two\n")
    qrels = te.read_qrels(str(tmp_path / "my qrels"))
    runs = [te.read_run(str(tmp_path / name)) for name in ("-one", "two")]
    made = te.evaluate(qrels, runs[0], "map", level=2, depth=1).signatures["map"]
    one = measured(signature=made, values=[[0.0], [1.0]], qids=("1",))  # b, alone relevant, is second and first
    found = comparison(one, files=("-one", "two"))
    object.__setattr__(found, "judgments_name", "my qrels")
    (command,) = report_payload(found, qrels=qrels, runs=runs)["reproduce"]
    done = treceval([*shlex.split(command)[1:], "--format", "csv"], folder=tmp_path)
    assert done.err == b""
    assert done.out.decode().splitlines() == ["query,measure,one,two", "all,AP(rel=2),0.0,1.0"]


# Curves ---------------------------------------------------------------------------------------------


def curves(found: Comparison, runs: Sequence[Run], qrels: Qrels = QRELS) -> Curves:
    rankings = Rankings(qrels, basis_of(found).conventions, {})
    for run in runs:
        rankings.add(run)
    return curves_of(basis_of(found), qrels, [run.judged for run in rankings.runs])


def test_precision_over_recall_is_the_interpolated_one_averaged_over_queries() -> None:
    """Of run one, query 1 finds its two relevant documents at ranks 1 and 4, query 2 its one at rank 1."""
    found = curves(comparison(), [ONE])
    assert found.recalls == (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    # trec_eval 10 rounds 2 · recall to the nearest document, halves up: precision is 1 below 0.75, then 2/4.
    assert found.precision.tolist() == [[1.0] * 8 + [(0.5 + 1) / 2] * 3]


def test_recall_over_depth_ends_at_the_longest_list_or_a_thousand_or_where_the_lists_were_cut() -> None:
    found = curves(comparison(), [ONE, TWO])
    # Run one: 1 of 2 and 1 of 1 at rank 1, the second of query 1 at rank 4. Run two: none at 1, 1 of 2 and 1 of 1 at 2.
    assert found.depths == (1, 2, 4)
    assert found.recall.tolist() == [[0.75, 0.75, 1.0], [0.0, 0.75, 0.75]]
    one = comparison(measured(values=[[0.0]], qids=("1",)))
    long = {f"d{rank}": float(-rank) for rank in range(1500)}
    assert curves(one, [Run({"1": long})]).depths == (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
    assert curves(one, [Run({"1": {"a": 1.0}, "3": long})]).depths == (1,)  # query 3 was not compared
    cut = curves(comparison(measured(signature=signature(ONE, depth=2))), [ONE])
    assert cut.depths == (1, 2)
    assert cut.precision.tolist() == [[1.0] * 8 + [(0 + 1) / 2] * 3]  # the document at rank 4 is not retrieved


def test_runs_without_documents_have_curves_of_zeros() -> None:
    one = measured(values=[[0.0], [0.0]], qids=("1",), signature=signature(ONE, complete=True))
    found = curves(comparison(one), [Run({"2": {"a": 1.0}})])
    assert (found.depths, found.recall.tolist(), found.precision.tolist()) == ((1,), [[0.0]], [[0.0] * 11])


def test_curves_are_over_the_queries_of_the_first_measure() -> None:
    one = measured(values=[[1.0], [0.5]], qids=("2",))
    found = payload(comparison(one, measured("P_5")))
    assert found["rd"] == {"x": [1, 2], "y": [[1.0, 1.0], [0.0, 1.0]]}


def test_a_missing_query_that_counts_counts_as_an_empty_ranking() -> None:
    one = measured(values=[[0.75, 1, 0]], qids=("1", "2", "3"), signature=signature(ONE, complete=True))
    found = curves(comparison(one), [ONE])
    assert found.recall.tolist() == [pytest.approx([1.5 / 3, 1.5 / 3, 2 / 3], abs=1e-15)]


def test_curves_take_the_level_of_the_first_measure_that_has_one_and_leave_out_what_the_comparison_did() -> None:
    level = measured("P_5", signature=signature(ONE, "P_5", level=2))
    found = curves(comparison(measured("ndcg", signature=signature(ONE, "ndcg")), level), [ONE])
    # With 2 for relevant, query 1 has one relevant document, at rank 4, and query 2 has none.
    assert found.recall.tolist() == [[0.0, 0.0, 0.5]]
    found = curves(comparison(measured(signature=signature(ONE, judged_only=True))), [ONE])
    assert found.precision[0, -1] == (2 / 3 + 1) / 2  # the second relevant document moves up to rank 3


def test_curves_and_lists_are_ranked_as_the_comparison_ranks() -> None:
    """Ranx and a profile of ones own leave equal scores as they stand, trec_eval puts the larger id first."""
    tied, other = Run({"1": {"a": 1.0, "x": 1.0}}), Run({"1": {"a": 2.0, "x": 1.0}})
    mine = te.scoring.Profile("mine", "my own", Conventions(ties="line"))
    for profile, recall in (("ranx", 0.5), ("trec_eval-10", 0.0), (mine, 0.5)):
        one = measured(values=[[1.0], [1.0]], qids=("1",), signature=signature(tied, profile=profile))
        assert curves(comparison(one), [tied]).recall[0, 0] == recall
        assert (payload(comparison(one), runs=[tied, other])["overlap"]["rbo"][0][1] == 1) == (recall > 0)


def test_curves_of_robust_runs_are_what_trec_eval_prints() -> None:
    qrels, runs = robust()
    qids = te.evaluate(qrels, next(iter(runs.values())), "map").qids
    names = tuple(runs)
    one = measured(values=np.zeros((len(names), len(qids))).tolist(), qids=qids)
    found = report_payload(comparison(one, names=names, files=names), qrels=qrels, runs=list(runs.values()))
    for number, name in enumerate(names):
        expected = printed_by_trec_eval(name)
        curve = dict(zip(found["pr"]["x"], found["pr"]["y"][number], strict=True))
        for level, precision in curve.items():
            assert f"{precision:.4f}" == f"{expected[f'iprec_at_recall_{level:.2f}']:.4f}"
        depths = dict(zip(found["rd"]["x"], found["rd"]["y"][number], strict=True))
        assert max(depths) == 1000
        for depth in (5, 10, 20, 100, 200, 500, 1000):
            assert f"{depths[depth]:.4f}" == f"{expected[f'recall_{depth}']:.4f}"


# Overlap --------------------------------------------------------------------------------------------


def test_equal_lists_overlap_entirely_and_lists_without_a_common_document_not_at_all() -> None:
    other = Run({"1": {"p": 1.0, "q": 0.5}, "2": {"p": 1.0, "q": 0.5}})
    found = payload(zeros(3, "abc"), runs=[ONE, other, ONE])["overlap"]
    assert (found["depth"], found["p"], found["queries"]) == (100, 0.9, 2)
    assert found["rbo"] == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
    assert found["order"] in ([0, 2, 1], [1, 0, 2], [2, 0, 1], [1, 2, 0])  # the equal ones side by side


def test_the_overlap_of_lists_of_any_length_is_that_of_each_two() -> None:
    """`overlap_of_runs` looks at each pair by itself, depth by depth."""
    draw = random.Random(3)
    for depth in (1, 4, 9):
        lists = [draw.sample("abcdefghijkl", draw.randint(1, depth)) for _ in range(7)]
        runs = [Run({"1": list(each)}) for each in lists]
        coded = np.full((7, depth), -1)
        for row, each in enumerate(lists):
            coded[row, : len(each)] = ["abcdefghijkl".index(docid) * 3 for docid in each]
        expected = overlap_of_runs(runs, names="uvwxyz+", depth=depth, p=0.8).rbo
        assert np.allclose(rbo_of_lists(coded, 0.8), expected, atol=1e-12)


def test_the_overlap_of_two_short_lists_is_that_of_the_formula() -> None:
    """Lists a b and a c: one shared at depth 1, one of two at depth 2, with p = 0.5.

    RBO_ext = (1 - p)/p · (1·p + 1/2·p²) + 1/2·p² = 0.625 + 0.125 (Webber, Moffat, Zobel 2010, equation 30).
    """
    assert rbo_of_lists(np.array([[0, 1], [0, 2]]), 0.5)[0, 1] == pytest.approx(0.75, abs=1e-15)


def test_lists_are_compared_as_deep_as_values_are_computed() -> None:
    """The first documents are the same, and those below are not."""
    one, two = Run({"1": {"a": 2.0, "b": 1.0}}), Run({"1": {"a": 2.0, "c": 1.0}})
    values = [[1.0], [1.0]]
    for depth, shown, alike in ((1, 1, True), (None, 100, False)):
        each = measured(values=values, qids=("1",), signature=signature(one, depth=depth))
        found = report_payload(comparison(each), qrels=QRELS, runs=[one, two])["overlap"]
        assert (found["depth"], found["rbo"][0][1] == 1) == (shown, alike)


def test_there_is_no_overlap_of_lists_cut_to_nothing_or_where_no_query_has_documents_of_all_runs() -> None:
    each = comparison(measured(signature=signature(ONE, complete=True)))
    assert payload(each, runs=[Run({"1": {"a": 1.0}}), Run({"2": {"a": 1.0}})])["overlap"] is None
    assert payload(comparison(measured(signature=signature(ONE, depth=0))))["overlap"] is None


# Documents ------------------------------------------------------------------------------------------


def test_documents_of_a_query_are_named_once_relevant_ones_first() -> None:
    found = payload()
    one, two = found["docs"]
    # Of query 1, c has grade 2 and a grade 1; run one has a b x c, run two x a.
    assert one["d"] == ["c", "a", "b", "x"]
    assert one["g"] == [2, 1, 0, -1]
    assert one["t"] == [[1, 2, 3, 0], [3, 1]]
    assert one["r"] == [[4, 1], [0, 2]]
    assert (one["u"], one["n"]) == ([], [4, 2])
    assert (two["d"], two["r"], two["n"]) == (["a", "d"], [[1], [2]], [2, 2])
    assert (found["K"], found["R"]) == (20, [2, 1])


def alone(**signed: Any) -> Comparison:
    """Return a comparison of one run, of query 1."""
    one = measured(values=[[0.5]], qids=("1",), **signed)
    return comparison(one, names=("x",), files=("x",))


def test_relevant_documents_below_the_first_have_ranks_without_names() -> None:
    run = Run({"1": [*(f"n{rank}" for rank in range(1, 25)), "c", "a"]})
    (found,) = payload(alone(), runs=[run])["docs"]
    assert len(found["d"]) == 20
    assert (found["u"], found["r"], found["n"]) == ([2, 1], [[25, 26]], [26])


def test_documents_are_in_the_order_of_the_comparison() -> None:
    """Equal scores: trec_eval has the larger id first, ranx the earlier line. A depth cuts lists, -J the unjudged."""
    run = Run({"1": {"a": 1.0, "x": 1.0, "c": 0.5}})
    cases: dict[str, tuple[dict[str, Any], list[str], list[int]]] = {
        "larger id": ({}, ["x", "a", "c"], [3, 2]),
        "earlier line": ({"profile": "ranx"}, ["a", "x", "c"], [3, 1]),
        "cut": ({"depth": 2}, ["x", "a"], [0, 2]),
        "judged": ({"judged_only": True}, ["a", "c"], [2, 1]),
    }
    for options, docids, ranks in cases.values():
        (found,) = payload(alone(signature=signature(run, **options)), runs=[run])["docs"]
        assert [found["d"][number] for number in found["t"][0]] == docids
        relevant = dict(zip(["c", "a"], ranks, strict=True))
        named = [docid for docid, grade in zip(found["d"], found["g"], strict=True) if grade > 0]
        assert found["r"][0] == [relevant[docid] for docid in [*named, *({"c", "a"} - set(named))]]


def test_a_document_stands_at_the_rank_of_its_column() -> None:
    """By the rank column ranks may have gaps."""
    run = Run.from_columns(
        ("1",), np.array([0, 2]), Run({"1": {"a": 1.0, "c": 2.0}}).docids, np.array([1.0, 2.0]), ranks=np.array([1, 4])
    )
    made = signature(ONE)._replace(profile="msmarco", conventions=Conventions(order="rank"))
    (docs,) = payload(alone(signature=made), runs=[run])["docs"]
    assert docs["t"] == [[1, -1, -1, 0]]  # a, nothing, nothing, c
    assert docs["r"] == [[4, 1]]


@pytest.mark.parametrize("profile", [pytest.param("trec_eval-10", marks=pytest.mark.slow), "ranx"])
def test_ranks_and_grades_give_the_values_of_the_measures(profile: str) -> None:
    """AP, nDCG@10, RR and P@10, by their definitions, from what the page has of 3 runs and 100 queries."""
    qrels, runs = robust()
    made = te.compare(qrels, runs, ["map", "ndcg_cut.10", "recip_rank", "P.10"], profile=profile, resamples=10)
    found = report_payload(made, qrels=qrels, runs=runs)
    worst = 0.0
    for number, docs in enumerate(found["docs"]):
        grades = np.array([grade for grade in docs["g"] if grade > 0] + docs["u"], dtype=float)
        ideal = (np.sort(grades)[::-1][:10] / np.log2(np.arange(2, 2 + min(len(grades), 10)))).sum()
        for run, ranks in enumerate(docs["r"]):
            there = np.array(ranks) > 0
            order = np.sort(np.array(ranks)[there])
            gains, first = grades[there], np.array(ranks)[there] <= 10
            values = (
                (np.arange(1, len(order) + 1) / order).sum() / len(grades),
                (gains[first] / np.log2(np.array(ranks)[there][first] + 1)).sum() / ideal,
                1 / order[0] if len(order) else 0.0,
                (order <= 10).sum() / 10,
            )
            for measure, value in zip(found["measures"], values, strict=True):
                worst = max(worst, abs(measure["values"][run][number] - value))
    assert worst <= 1e-5  # five digits


def test_a_sum_says_what_a_document_adds() -> None:
    """The discounts of nDCG are 1/log2(1 + rank), by hand: 1, 0.63093, 0.5; those of P@2 a half each."""
    names = ("map", "ndcg_cut_3", "recip_rank", "P_2", "bpref")
    made = te.compare(QRELS, [ONE, TWO], list(names))
    found = {each["name"]: each["sum"] for each in payload(made)["measures"]}
    assert found["map"] == {"kind": "precisions", "level": 1, "cutoff": None}
    assert found["recip_rank"] == {"kind": "first", "level": 1, "cutoff": None}
    assert found["ndcg_cut_3"] == {"kind": "weights", "gains": [0.0, 0.5, 1.0], "weights": [1.0, 0.63093, 0.5]}
    assert found["P_2"] == {"kind": "weights", "gains": [0.0, 1.0, 1.0], "weights": [1.0, 1.0]}
    assert found["bpref"] is None
    made = te.compare(QRELS, [ONE, TWO], signature=[signature(ONE), signature(ONE, "P_5", depth=2)])
    assert [each["sum"] is None for each in payload(made)["measures"]] == [False, True]  # which ranks otherwise


def test_where_room_is_short_the_queries_that_differ_most_keep_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    qids = [f"{number:03d}" for number in range(200)]
    qrels = Qrels({qid: {"a": 1} for qid in qids})
    draw = random.Random(1)  # ids that cannot be compressed
    runs = [Run({qid: [*(str(draw.random()) for _ in range(20)), "a"] for qid in qids}) for _ in range(2)]
    values = np.array([np.linspace(0, 1, 200), np.zeros(200)])
    found = comparison(measured(values=values.tolist(), qids=tuple(qids)))
    whole = report_payload(found, qrels=qrels, runs=runs)
    assert (whole["K"], None in whole["docs"]) == (20, False)
    monkeypatch.setattr("treceval_py.reporting.documents.ROOM", 20_000)
    part = report_payload(found, qrels=qrels, runs=runs)
    kept = [number for number, docs in enumerate(part["docs"]) if docs is not None]
    assert part["K"] == 10
    assert 60 <= len(kept) < 110
    assert {*range(150, 200), *range(10)} <= set(kept)  # those that differ most, and the hardest
    size = len(gzip.compress(json.dumps([part["docs"][number] for number in kept]).encode())) * 4 / 3
    assert size < 1.2 * 20_000


def test_where_room_is_shorter_still_only_the_best_runs_keep_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treceval_py.reporting.documents.ROOM", 100)
    monkeypatch.setattr("treceval_py.reporting.documents.LISTS", 1)
    one = measured(values=[[0.75, 1.0], [0.25, 0.5], [0.1, 0.2]])
    found = comparison(one, names=("a", "b", "c"), files=("a", "b", "c"))
    docs = report_payload(found, qrels=QRELS, runs=[ONE, TWO, TWO], baseline="c")["docs"]
    kept = [each for each in docs if each is not None]
    assert all([numbers is None for numbers in each["t"]] == [False, True, False] for each in kept)


def test_texts_of_documents_begin_with_whole_words() -> None:
    texts = {"a": "  How long\tis\nthe   Nile ", "b": "word " * 100, "x": "x" * 500, "z": "of no list"}
    found = payload(passages=texts)["passages"]
    assert found["a"] == "How long is the Nile"
    assert found["b"] == "word " * 39 + "word …"
    assert found["x"] == "x" * 200 + " …"
    assert set(found) == {"a", "b", "x"}
    for text, shown in {"x" * 200: "x" * 200, "x" * 201: "x" * 200 + " …", "a" + " " * 800 + "b": "a …"}.items():
        assert payload(passages={"a": text})["passages"] == {"a": shown}


def test_documents_of_lists_have_texts_while_they_fit_relevant_ones_first_and_then_by_rank(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = Run({"1": [*(f"n{rank}" for rank in range(1, 8)), "c"], "2": ["a"]})
    texts = dict.fromkeys([*run["1"]], "x")
    assert set(payload(runs=[run, run], passages=texts)["passages"]) == {*run["1"]}
    monkeypatch.setattr("treceval_py.reporting.documents.TEXTS", 8)
    assert set(payload(runs=[run, run], passages=texts)["passages"]) == {"c", "n1", "n2"}  # 2 + 3 + 3 bytes
    # Of rank 1 is a, and of rank 2 the other relevant one, c; four bytes each.
    assert payload(passages=dict.fromkeys("abcdx", "abc"))["passages"] == {"a": "abc", "c": "abc"}


# Groups ---------------------------------------------------------------------------------------------


def test_queries_are_shown_by_thirds_of_relevant_documents_and_of_difficulty() -> None:
    qids = [f"{number}" for number in range(1, 10)]
    qrels = Qrels({qid: {f"d{rank}": 1 for rank in range(int(qid))} for qid in qids})
    run = Run({qid: {"d0": 1.0} for qid in qids})
    values = [[0.9, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]] * 2
    found = payload(comparison(measured(values=values, qids=tuple(qids))), qrels, [run, run])["groups"]
    by_number = [["1–3 relevant", [0, 1, 2]], ["4–6 relevant", [3, 4, 5]], ["7–9 relevant", [6, 7, 8]]]
    by_difficulty = [["hardest by map", [1, 2, 3]], ["middle", [4, 5, 6]], ["easiest", [0, 7, 8]]]
    assert [(each["name"], each["sets"]) for each in found] == [
        ("by relevant documents", by_number),
        ("by difficulty", by_difficulty),
    ]


def test_fewer_than_nine_queries_are_in_no_groups_but_those_given() -> None:
    for count, groups in ((8, 0), (9, 2)):
        qids = tuple(map(str, range(count)))
        qrels, run = Qrels({qid: {"a": 1} for qid in qids}), Run({qid: {"a": 1.0} for qid in qids})
        made = comparison(measured(values=np.ones((2, count)).tolist(), qids=qids))
        assert len(report_payload(made, qrels=qrels, runs=[run, run])["groups"]) == groups
    made = te.compare(QRELS, [ONE, TWO], "map", groups=te.data.QueryGroups.from_labels("set", {"1": "old", "2": "new"}))
    found = payload(made)["groups"]
    assert found == [{"name": "by set", "sets": [["old", [0]], ["new", [1]]]}]


# How far values can be relied on --------------------------------------------------------------------


def test_ranges_are_of_the_mean_over_all_orders_and_all_labels() -> None:
    """Of query 1, a (relevant) is tied with x (unjudged): RR is 1 or 1/2. Of query 2, a is first."""
    qrels = Qrels({"1": {"a": 1, "b": 0}, "2": {"a": 1}})
    tied, sure = Run({"1": {"a": 1.0, "x": 1.0}, "2": {"a": 1.0}}), Run({"1": {"b": 2.0, "a": 1.0}, "2": {"a": 1.0}})
    made = te.compare(qrels, [tied, sure], ["recip_rank"])
    (found,) = report_payload(made, qrels=qrels, runs=[tied, sure])["measures"]
    assert found["ties"] == [[0.75, 1.0, 1], [0.75, 0.75, 0]]
    # trec_eval puts x first: were it relevant, RR would be 1; all documents of the other run are judged.
    assert found["unj"] == [[0.75, 1.0], [0.75, 0.75]]


def test_ranges_over_labels_are_left_out_of_many_runs_and_a_note_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    made = te.compare(QRELS, [ONE, TWO], "map", resamples=9)
    for most in (2, 1):
        for module in ("documents", "payload"):
            monkeypatch.setattr(f"treceval_py.reporting.{module}.MANY", most)
        found = payload(made)
        assert (found["measures"][0]["unj"] is None, len(found["measures"][0]["ties"])) == (most < 2, 2)
        assert found["notes"][-1].startswith("Ranges over labels") is (most < 2)
    assert found["notes"][-1] == "Ranges over labels of unjudged documents are computed for up to 1 runs."


def test_there_are_ranges_of_measures_that_have_them_over_the_queries_that_were_compared() -> None:
    found = payload(te.compare(QRELS, [ONE, TWO], ["map", "infAP"]))["measures"]
    assert [each["unj"] is None for each in found] == [False, True]
    tied, other = Run({"1": {"a": 1.0, "b": 1.0}, "2": {"a": 1.0}}), Run({"2": {"a": 1.0}})
    made = te.compare(QRELS, [tied, other], "recip_rank")
    assert made["recip_rank"].qids == ("2",)
    (only,) = payload(made, runs=[tied, other])["measures"]
    assert only["ties"] == [[1.0, 1.0, 0], [1.0, 1.0, 0]]


def test_a_run_has_the_share_of_judged_documents_among_its_first_ten() -> None:
    # Run one has x, one of four, in query 1; run two has x, one of two. In query 2 all are judged.
    found = payload()["runs"]
    assert [run["judged"] for run in found] == [1 - 0.125, 1 - 0.25]


def test_shares_of_unjudged_documents_are_of_the_first_ranks() -> None:
    run = Run({"1": {"a": 4.0, "x": 3.0, "n": 2.0, "y": 1.0}})
    judged = judge(Qrels({"1": {"a": 1, "n": -1}, "2": {"b": 1}}), run)
    assert unjudged_shares(judged, 2).tolist()[0] == 1 / 2
    # What is judged negative is in the pool and not judged. Of query 2 nothing was retrieved.
    assert np.array_equal(unjudged_shares(judged, 10), [3 / 4, np.nan], equal_nan=True)


def test_shares_of_unjudged_documents_of_robust_runs_are_what_trec_eval_prints() -> None:
    qrels, runs = robust()
    for name, run in runs.items():
        shares = unjudged_shares(judge(qrels, run, complete=False), 10)
        assert f"{np.mean(shares):.4f}" == f"{printed_by_trec_eval(name)['unj_10']:.4f}"


# One run --------------------------------------------------------------------------------------------


def test_a_single_run_has_means_curves_and_documents_and_nothing_to_compare(tmp_path: Path) -> None:
    written_to, results = tmp_path / "one.html", te.evaluate(JUDGED, PAIR[0], "map")
    done = treceval(
        ["report", JUDGED, PAIR[0], "-m", "map", "-o", str(written_to), "--svg", f"bars={tmp_path}/bars.svg"]
    )
    assert (done.status, done.out) == (0, b"")
    packed = re.search(r'<script type="text/plain" id="data">([^<]*)</script>', written_to.read_text("utf-8"))
    assert packed is not None
    found = json.loads(gzip.decompress(base64.b64decode(packed[1])))
    (measure,) = found["measures"]
    assert found["title"] == "bm25"
    assert measure["means"] == pytest.approx([results.mean["map"]], rel=1e-12)
    assert measure["pairs"] is found["overlap"] is None
    values = [results[qid]["map"] for qid in results]
    low, high = scipy.stats.t.interval(0.95, 29, np.mean(values), scipy.stats.sem(values))
    assert (measure["low"][0], measure["high"][0]) == pytest.approx((low, high), rel=1e-9)
    assert measure["finding"] == [
        ["", 0, f" has map {results.mean['map']:.4f}."], [f"95 % interval of the mean: {low:.4f} to {high:.4f}."]
    ]  # fmt: skip
    assert [group["name"] for group in found["groups"]] == ["by relevant documents"]
    assert len(found["pr"]["y"]) == len(found["rd"]["y"]) == 1
    assert all(query is not None and len(query["t"]) == 1 for query in found["docs"])


def test_what_te_report_returns_of_a_single_run_prints_its_means_and_no_differences(tmp_path: Path) -> None:
    made = te.report(JUDGED, PAIR[0], str(tmp_path / "one.html"), "map", baseline="bm25")
    (compared,) = made.measures
    assert (made.baseline, compared.together, compared.differences, compared.letters) == (None, None, (), ("",))
    lines = str(made).splitlines()
    assert lines[2:5] == ["run       map", "─────────────", f"bm25   {compared.means[0]:.4f}"]
    for form in ("table", "markdown", "html", "latex"):
        printed = made.to_text(form)
        assert f"{compared.means[0]:.4f}" in printed
        assert re.search("ifference|aseline|pairs", printed.split("</style>")[-1]) is None, form


def test_no_run_is_refused_and_so_is_a_plot_of_two_of_one(tmp_path: Path) -> None:
    assert "Missing argument 'RUN…'." in treceval(["report", JUDGED, "-o", f"{tmp_path}/x.html"]).err.decode()
    done = treceval(["report", JUDGED, PAIR[0], "--svg", f"scatter={tmp_path}/x.svg"])
    assert (done.status, [*tmp_path.iterdir()]) == (1, [])
    assert "scatter, deltas and overlap need two runs" in done.err.decode()
    assert treceval(["compare", JUDGED, PAIR[0]]).status != 0  # of one run there is nothing to compare


def test_a_file_of_a_folder_is_left_out_if_one_run_is_left(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "a.txt").write_bytes(Path(PAIR[0]).read_bytes())
    (tmp_path / "runs" / "b.txt").write_text("1 Q0 a 1 x run\n")
    done = treceval(["report", JUDGED, str(tmp_path / "runs"), "-o", f"{tmp_path}/x.html"])
    assert done.status == 1
    assert (tmp_path / "x.html").exists()


# Missing queries ------------------------------------------------------------------------------------


ALL = {"qids": ("1", "2", "3")}
SOME = Run({"1": {"a": 1.0}})
MISSING: dict[str, tuple[Comparison, list[Run]]] = {
    "left out": (comparison(), [ONE, TWO]),
    "none": (comparison(), [WHOLE, WHOLE]),
    "five runs": (zeros(5, "abcde"), [ONE] * 5),
    "six runs": (zeros(6, "abcdef"), [ONE] * 6),
    "seven runs": (zeros(7, "abcdefg"), [ONE] * 7),
    "one that counts": (zeros(2, "ab", **ALL), [WHOLE, ONE]),
    "two that count": (zeros(2, "ab", **ALL), [WHOLE, SOME]),
    "of one run, one, and of the other two": (zeros(2, "ab"), [ONE, SOME]),
    "counts for some measures": (
        comparison(measured("RR@10", np.zeros((2, 3)).tolist(), **ALL), measured("map")),  # type: ignore[arg-type]
        [ONE, WHOLE],
    ),
}


def test_missing_queries_are_reported_once_for_all_runs_that_lack_them(snapshot: SnapshotAssertion) -> None:
    found = {name: notes_of(made, QRELS.qids, [run.qids for run in runs]) for name, (made, runs) in MISSING.items()}
    assert [len(each) for each in found.values()] == [1, 0, 1, 1, 1, 1, 1, 2, 1]
    one, two = measured("map", left_out=("3",)), measured("P_5", left_out=("3", "4", "5", "6"))
    found["in saved results"] = list(about_left_out(comparison(one, two, measured("P_10"))))
    found["in saved results, of all measures"] = list(about_left_out(comparison(one, one._replace(measure="P_5"))))
    assert table({name: " | ".join(lines) for name, lines in found.items()}) == snapshot


def test_notes_are_in_the_payload() -> None:
    found = report_payload(comparison(measured(left_out=("3",)), notes=("rounded.",)))["notes"]
    assert found == ["Note: rounded.", "1 query is left out, as some runs lack it (3)."]


# The page -------------------------------------------------------------------------------------------


def test_a_page_names_its_scripts_by_their_hashes_and_fetches_nothing() -> None:
    given = drawn_payload(2, 5, 1)
    made = page(given)
    found = re.search(r'Content-Security-Policy" content="([^"]*)"', made)
    assert found is not None
    allowed = dict(part.strip().split(" ", 1) for part in found[1].replace("&#39;", "'").split(";"))
    assert allowed["default-src"] == "'none'"
    assert re.fullmatch(r"('sha256-[A-Za-z0-9+/=]+' ?){2}", allowed["script-src"])
    assert (allowed["img-src"], allowed["font-src"]) == ("data: blob:", "data:")
    assert "connect-src" not in allowed
    assert "unsafe-eval" not in str(allowed)
    markup = re.sub(r"<script.*?</script>", "", made, flags=re.DOTALL)
    assert re.findall(r"(?:src|href)=\"(?!#)", markup) == []
    assert "@import" not in markup
    assert set(re.findall(r"url\(([a-z]+:)", markup)) == {"data:"}
    packed = re.search(r'<script type="text/plain" id="data">([^<]*)</script>', made)
    assert packed is not None
    assert json.loads(gzip.decompress(base64.b64decode(packed[1]))) == json.loads(json.dumps(given))
    assert page(drawn_payload(2, 5, 1)) == made


def test_all_parts_of_the_script_are_in_the_page() -> None:
    folder = Path(te.__file__).parent / "reporting" / "script"
    assert sorted(path.name for path in folder.iterdir()) == sorted(SCRIPTS)


def test_means_finding_and_files_can_be_read_without_a_script_and_hostile_names_are_text() -> None:
    given = drawn_payload()
    made = page(given)
    assert "<script>alert" not in made
    assert "<img src=x" not in made
    for measure in given["measures"]:
        for mean in measure["means"]:
            assert f">{mean:.4f}<" in made
    assert f"has the highest AP, {max(given['measures'][0]['means']):.4f}." in made
    for run in given["runs"]:
        assert f"<td>{run['file']}</td><td><code>{run['hash']}</code></td>" in made
    assert "qrels.robust04.txt 0123abcd (311,410)" in made


@pytest.mark.parametrize(
    ("runs", "queries", "documents", "limit"),
    [(17, 100, 20, 3_000_000), (200, 100, 0, 5_000_000), (17, 6980, 0, 5_000_000)],
)
def test_pages_are_small(runs: int, queries: int, documents: int, limit: int) -> None:
    given = drawn_payload(runs, queries, 4 if queries < 1000 else 2, documents=documents)
    assert len(page(given).encode()) < limit


def test_saved_results_make_a_page_without_curves_and_nothing_where_a_plot_cannot_be_drawn(tmp_path: Path) -> None:
    saved = [str(tmp_path / f"{name}.json") for name in ("bm25", "minilm")]
    for run, path in zip(PAIR, saved, strict=True):
        treceval(["-q", "-m", "map", "--format", "json", "-o", path, JUDGED, run])
    done = treceval(["report", *saved, "-o", str(tmp_path / "report.html")])
    assert done.status == 0, done.err
    assert 'id="curves"' not in (tmp_path / "report.html").read_text("utf-8")
    done = treceval(["report", *saved, "-o", str(tmp_path / "new.html"), "--svg", f"overlap={tmp_path}/x.svg"])
    assert done.status == 1
    assert not (tmp_path / "new.html").exists()


def test_single_plots_are_written(tmp_path: Path) -> None:
    plots = ["--png", f"bars={tmp_path}/bars.png", "--svg", f"deltas={tmp_path}/deltas.svg", "--of", "minilm", "bm25"]
    done = treceval(["report", JUDGED, *PAIR, *plots])
    assert done.status == 0, done.err
    assert (tmp_path / "bars.png").read_bytes().startswith(b"\x89PNG")
    assert "minilm − bm25" in (tmp_path / "deltas.svg").read_text("utf-8")


def test_the_plots_of_the_command_are_those_of_the_report() -> None:
    assert OFFERED == PLOTS


def test_one_file_is_not_written_twice(tmp_path: Path) -> None:
    plots = ["--png", f"bars={tmp_path}/a.png", "--png", f"scatter={tmp_path}/a.png"]
    done = treceval(["report", JUDGED, *PAIR, *plots])
    assert done.err.decode() == f"{tmp_path}/a.png: two outputs would go to this file. Name another file.\n"


# Files ----------------------------------------------------------------------------------------------


def test_a_report_is_written_and_where_it_cannot_be_nothing_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("page")  # in the place of the page, which has tests of its own
    module.page = lambda payload: f"<title>{payload['title']}</title>"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "treceval_py.reporting.page", module)
    write_report(tmp_path / "report.html", report_payload(comparison(), title="Ägypten"))
    with pytest.raises(OutputError, match="cannot be written: No such file or directory"):
        write_report(tmp_path / "none" / "report.html", report_payload(comparison()))
    with pytest.raises(KeyError):  # of a page that cannot be made
        write_report(tmp_path / "report.html", {"measures": []})
    assert [path.read_bytes() for path in tmp_path.iterdir()] == ["<title>Ägypten</title>".encode()]


def test_what_does_not_belong_to_the_comparison_is_refused(snapshot: SnapshotAssertion) -> None:
    one, two = (
        Run.from_columns(r.qids, r.offsets, r.docids, r.scores, name=n) for r, n in ((ONE, "one.txt"), (TWO, "two.txt"))
    )
    by_rank = signature(ONE)._replace(profile="msmarco", conventions=Conventions(order="rank"))
    cases: dict[str, Callable[[], object]] = {
        "another order": lambda: report_payload(comparison(), runs=[two, one]),
        "one run of two": lambda: report_payload(comparison(), qrels=QRELS, runs=[ONE]),
        "three runs of two": lambda: report_payload(comparison(), qrels=QRELS, runs=[ONE, TWO, ONE]),
        "other judgments": lambda: curves(comparison(), [ONE], Qrels({"2": {"a": 1}})),
        "no ranks": lambda: curves(comparison(measured(signature=by_rank)), [ONE]),
        **{
            f"baseline {each}": lambda each=each: report_payload(comparison(), baseline=each)
            for each in ("three", 2, -1)
        },
    }
    found = {}
    for name, act in cases.items():
        with pytest.raises((EvaluationError, DataError)) as caught:
            act()
        found[name] = str(caught.value)
    assert table(found) == snapshot


def test_texts_of_documents_go_on_after_a_query_that_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treceval_py.reporting.documents._room", lambda *_: 1)  # one query keeps its documents
    qrels, run = Qrels({"1": {"a": 1}, "2": {"b": 1}}), Run({"1": {"a": 1.0}, "2": {"b": 1.0}})
    found = comparison(measured(values=[[0.5, 0.0], [0.5, 1.0]], qids=("1", "2")))  # they differ in the second
    payload = report_payload(found, qrels=qrels, runs=[run, run], passages={"a": "one", "b": "two"})
    assert payload["docs"][0] is None
    assert payload["passages"] == {"b": "two"}
