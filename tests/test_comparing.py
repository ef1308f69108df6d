"""Comparing runs from end to end: what is gathered, over which queries, and what is found."""

from __future__ import annotations

import dataclasses
import itertools
import json
import pickle
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from command import treceval
from refused import refusal
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower
from statsmodels.stats.weightstats import ttost_paired
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.comparing.comparing import checked
from treceval_py.comparing.notes import about_resamples
from treceval_py.comparing.outcome import Settings
from treceval_py.comparing.scores import Scored
from treceval_py.comparing.simultaneous import simultaneous
from treceval_py.comparing.tests import TESTS
from treceval_py.rendering import FORMATS
from treceval_py.scoring.profiles import USUAL_MEASURES

HOME = Path(__file__).parent.parent
DATA = HOME / "data"
QRELS = str(DATA / "qrels.tsv")
RUNS = [str(DATA / "runs" / f"{name}.txt") for name in ("jaccard", "bm25", "minilm")]
MEASURES = ["map", "nDCG@10"]


def lines_of(path: str, *, without: str = "") -> str:
    """Return a run's lines, but for those of a query."""
    return "".join(line for line in Path(path).read_text().splitlines(keepends=True) if line.split()[0] != without)


def saved(folder: Path, *options: str, runs: Sequence[str] = RUNS, form: str = "json") -> list[str]:
    """Save results of runs and return their files."""
    files = [str(folder / f"{Path(run).stem}.{form}") for run in runs]
    for file, run in zip(files, runs, strict=True):
        assert treceval(["-q", *(options or ["-m", "map"]), "--format", form, "-o", file, QRELS, run]).status == 0
    return files


def copied(folder: Path, runs: Sequence[str] = RUNS) -> list[str]:
    return [shutil.copy(run, folder) for run in runs]


def test_means_and_values_are_those_of_evaluate() -> None:
    found = te.compare(QRELS, RUNS, MEASURES)
    for measure in MEASURES:
        for number, run in enumerate(RUNS):
            results = te.evaluate(QRELS, run, measure)
            assert found[measure].means[number] == pytest.approx(results.mean[measure], abs=1e-15)
            assert found[measure].values[number].tolist() == results.matrix[:, 0].tolist()


@pytest.mark.slow
def test_p_values_are_those_of_scipy_corrected_by_statsmodels() -> None:
    found = te.compare(QRELS, RUNS, MEASURES, test="t")
    p, ours = [], []
    for measure in MEASURES:
        values = found[measure].values
        for difference in found[measure].differences:
            p.append(scipy.stats.ttest_rel(values[difference.run], values[0]).pvalue)
            ours.append(difference.tests["t"])
    assert [each.p for each in ours] == pytest.approx(p, rel=1e-9)
    assert [each.adjusted for each in ours] == pytest.approx(multipletests(p, method="holm")[1].tolist(), rel=1e-9)
    assert found.family == 4


def test_runs_are_compared_with_a_baseline_or_each_two_when_that_is_asked() -> None:
    found = te.compare(QRELS, RUNS, "map", pairs=True)
    assert [(each.run, each.other) for each in found["map"].differences] == [(1, 0), (2, 0), (2, 1)]
    assert (found.baseline, found.family) == (None, 3)
    for baseline in ("minilm", 2):
        found = te.compare(QRELS, RUNS, "map", baseline=baseline)
        assert (found.baseline, [each.other for each in found["map"].differences]) == (2, [2, 2])


def test_every_test_can_be_asked_for() -> None:
    found = te.compare(QRELS, RUNS, "map", test=["simultaneous", "wilcoxon", "randomisation"], resamples=999)
    values = found["map"].values
    first = found["map"].differences[0]
    assert list(first.tests) == ["simultaneous", "wilcoxon", "randomisation"]
    again = te.compare(QRELS, RUNS, "map", test=("t", "wilcoxon")).measures[0].differences[0]
    assert list(again.tests) == ["t", "wilcoxon"]
    assert again.tests["wilcoxon"].p == first.tests["wilcoxon"].p
    wins, losses = int((values[1] > values[0]).sum()), int((values[1] < values[0]).sum())
    assert (first.wins, first.losses, first.ties) == (wins, losses, 30 - wins - losses)


@pytest.mark.filterwarnings("ignore::treceval_py.errors.MissingQueriesWarning")
def test_missing_queries_are_left_out_of_all_runs_or_count_zero(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (tmp_path / "short.txt").write_text(lines_of(RUNS[0], without="7"))
    found = te.compare(QRELS, [str(tmp_path / "short.txt"), RUNS[1]], "map", names=["short", "bm25"])
    assert "7" not in found["map"].qids
    assert found["map"].left_out == ("7",)
    assert found["map"].values.shape == (2, 29)
    assert found.notes[-1] == snapshot
    alone = te.evaluate(QRELS, str(tmp_path / "short.txt"), "map")  # the signature is that of the queries compared
    assert found["map"].signature is not None
    assert found["map"].signature.long == alone.signatures["map"].long
    found = te.compare(QRELS, [str(tmp_path / "short.txt"), RUNS[1]], "map", names=["short", "bm25"], complete=True)
    assert found["map"].values.shape == (2, 30)
    assert found["map"].values[0, found["map"].qids.index("7")] == 0
    assert found["map"].left_out == ()


def test_results_that_were_made_differently_are_refused_unless_forced(snapshot: SnapshotAssertion) -> None:
    one, two = te.evaluate(QRELS, RUNS[0], "map"), te.evaluate(QRELS, RUNS[1], "map", level=2)
    with pytest.raises(te.errors.EvaluationError) as refused:
        te.compare([one, two])
    forced = te.compare([one, two], force=True)
    assert forced["map"].means[1] == pytest.approx(two.mean["map"])
    old = te.compare([one, dataclasses.replace(te.evaluate(QRELS, RUNS[1], "map"), version="0.0.9")])
    assert f"{te.__version__}, 0.0.9" in old.notes[0]
    assert (str(refused.value), forced.notes, old.notes[0].replace(te.__version__, "VERSION")) == snapshot


def test_saved_results_give_the_same_numbers_as_their_runs(tmp_path: Path) -> None:
    files = saved(tmp_path, "-m", "map", "-m", "nDCG@10")
    settings = {"test": ["simultaneous", "wilcoxon", "randomisation"], "resamples": 999, "margin": 0.05}
    ours, theirs = te.compare(QRELS, RUNS, MEASURES, **settings), te.compare(files, **settings)
    assert theirs.runs == ours.runs
    for measure in MEASURES:
        assert theirs[measure].values.tolist() == ours[measure].values.tolist()
        assert repr(theirs[measure].differences) == repr(ours[measure].differences)
        assert theirs[measure].letters == ours[measure].letters
        assert str(theirs[measure].signature) == str(ours[measure].signature)


def test_trec_evals_output_gives_the_numbers_of_its_four_decimals(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    found = te.compare(saved(tmp_path, "-m", "official", "-m", "ndcg_cut.10", form="trec"))
    ours = te.compare(QRELS, RUNS)
    assert [each.measure for each in found.measures] == ["map", "recip_rank", "P_10", "ndcg_cut_10"]
    assert found["map"].means == pytest.approx(ours["map"].means, abs=5e-5)
    assert found.notes[-2:] == snapshot


def test_runs_with_the_same_values_are_said_to_have_them() -> None:
    found = te.compare(QRELS, {"x": RUNS[0], "y": RUNS[0]}, "map")
    assert found["map"].differences[0].tests["simultaneous"].p == 1
    assert (found.runs, found["map"].letters) == (("x", "y"), ("a", "a"))
    assert found.notes == ("x and y have the same values in every query.",)


def test_one_query_is_compared_without_tests() -> None:
    found = te.compare({"1": {"a": 1}}, [{"1": {"b": 2.0, "a": 1.0}}, {"1": {"a": 1.0}}], "RR")
    assert np.isnan(found["RR"].differences[0].tests["simultaneous"].p)
    assert np.isnan(found["RR"].differences[0].needed)
    assert (found.runs, found["RR"].anova) == (("run 1", "run 2"), None)
    assert found.notes == ("there is only one query, so nothing can be tested.",)
    assert "nan" not in str(found).lower()


def test_the_same_seed_gives_the_same_p_values_with_one_thread_and_two_and_another_seed_does_not() -> None:
    def p(seed: int, threads: int) -> list[float]:
        found = te.compare(
            QRELS, RUNS, MEASURES, test="randomisation", resamples=2000, seed=seed, threads=threads, pairs=True,
        )  # fmt: skip
        tests = [each.tests["randomisation"].p for measure in found.measures for each in measure.differences]
        return tests + [float(x) for measure in found.measures for x in measure.together.largest]

    assert p(1, 1) == p(1, 2)
    assert p(1, 1) != p(2, 1)


def test_a_comparison_can_be_pickled_and_becomes_a_frame() -> None:
    found = te.compare(QRELS, RUNS, MEASURES)
    again = pickle.loads(pickle.dumps(found))
    assert str(again) == str(found)
    assert again["map"].values.tolist() == found["map"].values.tolist()
    frame = found.to_pandas()
    assert frame["measure"].tolist() == ["map", "map", "nDCG@10", "nDCG@10"]
    assert frame["other"].tolist() == ["jaccard"] * 4
    assert frame["wins"].tolist() == [each.wins for measure in found.measures for each in measure.differences]


REFUSED: list[dict[str, object]] = [
    {"alpha": 0}, {"alpha": 1}, {"alpha": "0.05"}, {"alpha": float("nan")}, {"power": 1}, {"power": 0},
    {"test": "anova"}, {"test": "sign"}, {"test": ()}, {"test": ("t", 3)},
    {"margin": -1.0}, {"margin": 0.0}, {"margin": np.inf}, {"margin": float("nan")},
    {"resamples": 0}, {"resamples": 100_000_001}, {"resamples": 1e4}, {"seed": -1}, {"seed": None},
    {"threads": 0}, {"threads": 257}, {"threads": 2.0}, {"baseline": 1.5}, {"baseline": "bge"}, {"baseline": 3},
    {"measures": "gm_map"}, {"runs": RUNS[:1]}, {"runs": "a.txt"}, {"runs": te.Run({"1": {"a": 1.0}})}, {"runs": 7},
    {"qrels": None}, {"names": "abc"}, {"names": ["a", "b"]}, {"names": ["a", "b", 3]}, {"names": ["a", "b", "b"]},
    {"names": ["a", "b", ""]},
]  # fmt: skip


def test_settings_out_of_range_are_refused(snapshot: SnapshotAssertion) -> None:
    usual: dict[str, Any] = {"qrels": QRELS, "runs": RUNS, "measures": "map"}
    said = {str(options): refusal(te.compare, **usual | options) for options in REFUSED}
    assert {options.replace(str(HOME), ""): message for options, message in said.items()} == snapshot


def test_settings_at_the_ends_of_their_ranges_are_taken() -> None:
    for name, values in {
        "alpha": (1e-9, 1 - 1e-9), "power": (1e-9, 1 - 1e-9), "margin": (1e-300, 1e300),
        "resamples": (1, 100_000_000, None), "seed": (0, 2**70), "tests": tuple((name,) for name in TESTS),
    }.items():  # fmt: skip
        for value in values:
            assert getattr(checked(Settings()._replace(**{name: value})), name) == value
    for threads in (1, 256, None):
        checked(Settings(), threads)


def test_the_usual_measures_are_compared_and_found_in_any_notation() -> None:
    found = te.compare(QRELS, RUNS)
    assert [each.measure for each in found.measures] == [*USUAL_MEASURES]
    assert found["P@10"] is found["P_10"] is found["P.10"]
    with pytest.raises(KeyError, match="P@5"):
        found["P@5"]


# The command.


def test_the_command_prints_a_table_of_files_of_a_folder_and_of_a_pattern() -> None:
    given = [sorted(RUNS), [str(DATA / "runs")], [str(DATA / "runs" / "*.txt")]]
    files, folder, pattern = (treceval(["compare", QRELS, *runs, "-m", "map"]) for runs in given)
    assert (files.status, b"0.8490" in files.out) == (0, True)
    assert files.out == folder.out == pattern.out


def test_saved_results_need_no_judgments_and_a_run_beside_them_is_scored_as_they_were(tmp_path: Path) -> None:
    files = saved(tmp_path)
    runs = treceval(["compare", QRELS, *sorted(RUNS), "-m", "map", "--format", "json"])
    for given in (sorted(files), [str(tmp_path)]):
        done = treceval(["compare", *given, "--format", "json"])
        assert (done.status, done.err) == (0, b"")
        assert json.loads(done.out)["measures"] == json.loads(runs.out)["measures"]
    found = te.compare(QRELS, [*saved(tmp_path, "-m", "map", "-l", "2", runs=RUNS[:1]), RUNS[1]])
    assert found["map"].means[1] == pytest.approx(te.evaluate(QRELS, RUNS[1], "map", level=2).mean["map"], abs=1e-15)


def test_runs_and_saved_results_without_judgments_are_refused(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (file,) = saved(tmp_path, runs=RUNS[:1])
    said = []
    for files in ([file, RUNS[1]], [RUNS[1], file]):
        done = treceval(["compare", *files])
        assert done.status == 1
        said.append(done.err.decode().replace(str(tmp_path), "").replace(str(HOME), ""))
    assert said == snapshot


def test_arguments_that_do_not_go_together_are_refused(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    for name in "abc":
        (tmp_path / name).touch()
    said = {}
    for arguments in (
        "", "a", "a b --pairs --baseline b", "a b --queries q", "- -", "a b --columns 2",
        "a b --per-query 3 --agreement 5", "a b c --test z", "a b --agreement --columns 2 --format latex",
    ):  # fmt: skip
        done = treceval(["compare", *arguments.split()], folder=tmp_path)
        assert (done.status, done.out) == (2, b"")
        said[arguments] = done.err.decode()
    assert said == snapshot


def test_every_format_is_printed() -> None:
    for form in FORMATS:
        done = treceval(["compare", QRELS, *RUNS, "--format", form, "--test", "all", "--resamples", "99", "-m", "map"])
        assert (done.status, b"minilm" in done.out) == (0, True), done.err


def test_the_queries_with_the_largest_differences_are_printed_with_what_moved() -> None:
    options = ["-m", "nDCG@10", "--per-query", "2", "--queries", str(DATA / "queries.tsv")]
    done = treceval(["compare", QRELS, *RUNS[1:], *options])
    assert done.status == 0, done.err
    results = [te.evaluate(QRELS, run, "nDCG@10") for run in RUNS[1:]]
    deltas = results[1].matrix[:, 0] - results[0].matrix[:, 0]
    largest = results[0].qids[int(np.abs(deltas).argmax())]
    assert largest in done.out.decode()
    assert f"{deltas[np.abs(deltas).argmax()]:+.4f}" in done.out.decode().replace("−", "-")


def test_agreement_is_printed() -> None:
    done = treceval(["compare", QRELS, *RUNS, "--agreement", "--format", "json"])
    found = json.loads(done.out)["rows"]
    lists = {(each["first"], each["second"]): each for each in found if each["kind"] == "runs"}
    assert set(lists) == {("jaccard", "bm25"), ("jaccard", "minilm"), ("bm25", "minilm")}
    measures = [each for each in found if each["kind"] == "measures"]
    assert all(each["tau"] == 1 for each in measures)  # each measure puts minilm before bm25 before jaccard


# Settings reach what they set: each field of a difference against scipy and statsmodels, with no setting as usual.

UNUSUAL = {
    "alpha": 0.2, "power": 0.6, "seed": 7, "margin": 0.03, "resamples": 500,
    "test": ["wilcoxon", "t", "randomisation", "simultaneous"],
}  # fmt: skip


def drawn_results(runs: int, queries: int, *, seed: int = 3) -> dict[str, Scored]:
    values = np.random.default_rng(seed).beta(1.5, 3, (runs, queries)) + 0.03 * np.arange(runs)[:, None]
    return {f"r{run}": one_of(f"r{run}", values[run]) for run in range(runs)}


def one_of(name: str, values: np.ndarray) -> Scored:
    """Return a run's values of AP."""
    qids = tuple(f"{number:04}" for number in range(len(values)))
    return Scored("", f"{name}.json", name, ("AP",), qids, values[:, None], (None,))


def test_each_number_of_a_difference_follows_its_settings() -> None:
    found = te.compare(drawn_results(3, 40), **UNUSUAL)
    values = found.measures[0].values
    d, first = values[1] - values[0], found.measures[0].differences[0]
    together = simultaneous(values, resamples=500, seed=7)
    reach = together.critical(0.2) * d.std(ddof=1) / np.sqrt(40)
    assert (first.low, first.high) == pytest.approx((d.mean() - reach, d.mean() + reach), rel=1e-9)
    assert first.equivalence == pytest.approx(ttost_paired(d, np.zeros_like(d), -0.03, 0.03)[0], rel=1e-9)
    effect = d.mean() / d.std(ddof=1)
    assert first.needed == np.ceil(
        TTestPower().solve_power(effect_size=abs(effect), alpha=0.2 / 2, power=0.6)
    )  # two p-values
    assert first.effect == pytest.approx(effect, rel=1e-9)
    t = effect * np.sqrt(40)
    assert scipy.stats.nct.cdf(t, 39, first.effect_high * np.sqrt(40)) == pytest.approx(0.1, abs=1e-8)
    assert scipy.stats.nct.cdf(t, 39, first.effect_low * np.sqrt(40)) == pytest.approx(0.9, abs=1e-8)
    for row, low, high in zip(values, found.measures[0].low, found.measures[0].high, strict=True):
        expected = scipy.stats.t.interval(0.8, 39, row.mean(), scipy.stats.sem(row))
        assert (low, high) == pytest.approx(expected, rel=1e-9)
    assert list(first.tests) == ["wilcoxon", "t", "randomisation", "simultaneous"]
    assert first.tests["t"].p == pytest.approx(scipy.stats.ttest_1samp(d, 0).pvalue, rel=1e-9)
    assert first.tests["wilcoxon"].p == pytest.approx(scipy.stats.wilcoxon(np.round(d, 12)).pvalue, rel=1e-9)
    assert first.tests["simultaneous"].adjusted == first.tests["simultaneous"].p == together.p[0, 1]
    other = te.compare(drawn_results(3, 40), **{**UNUSUAL, "seed": 8}).measures[0].differences[0]
    assert other.tests["randomisation"].p != first.tests["randomisation"].p


def test_letters_follow_alpha() -> None:
    values = drawn_results(3, 20)
    p = simultaneous(te.compare(values).measures[0].values, resamples=999, seed=1).p
    between = sorted(set(p[np.triu_indices(3, 1)].tolist()))
    for alpha in (
        each for value in between if value < 1 for each in (value, float(np.nextafter(value, 0)))
    ):  # at one, and just below
        found = te.compare(values, alpha=alpha, resamples=999).measures[0]
        for one, other in itertools.combinations(range(3), 2):
            share = bool(set(found.letters[one]) & set(found.letters[other]))
            assert share == (p[one, other] > alpha)
    assert te.compare(values, test="t").measures[0].letters == ("", "", "")


@pytest.mark.slow
def test_each_test_is_corrected_over_the_pairs_of_all_measures() -> None:
    found = te.compare(QRELS, RUNS, MEASURES, pairs=True, test=["t", "wilcoxon"])
    for test in ("t", "wilcoxon"):
        each = [one.tests[test] for measure in found.measures for one in measure.differences]
        expected = multipletests([one.p for one in each], method="holm")[1]
        assert [one.adjusted for one in each] == pytest.approx(expected.tolist(), rel=1e-9)
    assert found.family == 6


def test_means_that_differ_by_rounding_are_all_the_best() -> None:
    values = np.array([0.1, 0.2, 0.3, 0.4] * 5)
    runs = {name: one_of(name, values + add) for name, add in (("x", 0.0), ("y", 1e-14), ("z", -0.01))}
    found = te.compare(runs).measures[0]
    assert found.best == (0, 1)
    assert found.letters == ("a", "a", "b")


def test_a_test_that_speaks_for_the_lower_mean_does_not_mark_the_higher_one(snapshot: SnapshotAssertion) -> None:
    # 50 queries a little worse, ten a lot better: the mean is higher, most ranks are against it.
    d = np.r_[-0.01 - 1e-5 * np.arange(50), 0.1 + 1e-4 * np.arange(10)]
    runs = {name: one_of(name, np.full(60, 0.5) + add) for name, add in (("x", 0), ("y", d), ("z", d))}
    found, two = te.compare(dict(list(runs.items())[:2]), test="wilcoxon"), te.compare(runs, test="wilcoxon")
    first = found.measures[0].differences[0]
    assert first.mean > 0
    assert first.tests["wilcoxon"].adjusted < 0.05
    assert first.tests["wilcoxon"].direction == -1
    assert "▲" not in str(found).split("Differences")[0]
    assert [each.notes[-1] for each in (found, two)] == snapshot


RANDOM = {"tests": ("randomisation",)}

RESAMPLES: list[tuple[dict[str, Any], int, int]] = [
    # p is at least 1 / (resamples + 1), and with Holm's correction 15 times that
    (RANDOM | {"resamples": 298}, 15, 1), (RANDOM | {"resamples": 299}, 15, 0), (RANDOM | {"resamples": 1}, 0, 0),
    ({"resamples": 18}, 3, 1), ({"resamples": 19}, 3, 0), ({"tests": ("t",), "resamples": 1}, 15, 0),
    (RANDOM | {"resamples": 19, "alpha": 1 / 20}, 1, 0), (RANDOM | {"resamples": 19, "alpha": 0.0499}, 1, 1),
]  # fmt: skip


def test_too_few_resamples_for_anything_to_be_significant_are_noted(snapshot: SnapshotAssertion) -> None:
    found = [about_resamples(checked(Settings())._replace(**options), family) for options, family, _ in RESAMPLES]
    assert [len(notes) for notes in found] == [few for _, _, few in RESAMPLES]
    assert found == snapshot
    by_compare = te.compare(drawn_results(6, 40), pairs=True, test="randomisation", resamples=99)
    assert "that takes 300 resamples or more" in by_compare.notes[-1]  # 15 / 0.05


def test_few_queries_are_noted(snapshot: SnapshotAssertion) -> None:
    notes = {
        queries: [
            note for note in te.compare(drawn_results(2, queries)).notes if "queries" in note and "made" not in note
        ]
        for queries in (2, 9, 10)
    }
    assert {queries: len(said) for queries, said in notes.items()} == {2: 1, 9: 1, 10: 0}
    assert notes == snapshot


def test_options_of_scoring_are_refused_where_nothing_is_scored(snapshot: SnapshotAssertion) -> None:
    results = [te.evaluate(QRELS, run, "map") for run in RUNS[:2]]
    infinite = np.where(np.arange(30)[:, None] == 3, np.inf, results[0].matrix)
    large = dataclasses.replace(results[0], matrix=infinite, _rows={})
    other = {"qrels": {"301": {"a": 1}}, "runs": results}
    given = ({"runs": results, "complete": True}, other, {"runs": [large, large]})
    assert [refusal(te.compare, **each).replace(str(HOME), "") for each in given] == snapshot


def test_judgments_may_stand_before_results_that_were_made_with_them() -> None:
    results = [te.evaluate(QRELS, run, "map") for run in RUNS[:2]]
    alone, with_judgments = te.compare(results), te.compare(QRELS, results, ["AP"])
    assert alone.runs == with_judgments.runs
    assert alone["map"].means.tolist() == with_judgments["AP"].means.tolist()
    assert te.compare([te.evaluate({"1": {"a": 1}}, run, "AP") for run in [{"1": {"a": 1.0}}] * 2]).runs == (
        "run 1",
        "run 2",
    )


def test_a_set_of_measures_is_compared_but_for_those_without_numbers_of_queries(snapshot: SnapshotAssertion) -> None:
    found = te.compare(QRELS, RUNS[:2], "set")
    assert [each.measure for each in found.measures] == [
        "utility", "SetP", "SetRelP", "SetR", "SetAP", "SetF",
    ]  # fmt: skip
    once = te.compare(QRELS, RUNS[:2], ["map", "AP(rel=1)"])
    assert once.family == 1
    assert [found.notes[0], once.notes] == snapshot


def test_numbers_of_numpy_are_settings() -> None:
    found = te.compare(QRELS, RUNS, "map", seed=np.int64(3), alpha=np.float64(0.05), baseline=np.int64(1))
    assert found.baseline == 1
    assert json.loads(found.to_text("json"))["settings"]["seed"] == 3


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    stdin = Path(RUNS[0]).read_bytes()
    done = treceval(["compare", QRELS, "-", RUNS[1], "--agreement", "--format", "json"], stdin=stdin)
    file = treceval(["compare", QRELS, *RUNS[:2], "--agreement", "--format", "json"])
    assert done.status == 0, done.err
    assert json.loads(done.out)["rows"] == json.loads(file.out)["rows"]


def test_the_output_of_before_is_no_run(tmp_path: Path) -> None:
    copied(tmp_path)
    made = []
    for _ in range(2):
        assert treceval(["compare", QRELS, str(tmp_path), "-o", str(tmp_path / "table.txt")]).status == 0
        made.append((tmp_path / "table.txt").read_bytes())
    assert made[0] == made[1]


def test_saved_results_of_the_folder_are_not_written_over(tmp_path: Path) -> None:
    file = Path(saved(tmp_path)[1])
    before = file.read_bytes()
    assert treceval(["compare", str(tmp_path), "-o", str(file)]).status == 1
    assert file.read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize("form", ["table", "csv", "tsv", "json", "markdown", "latex", "html"])
def test_what_was_printed_into_the_folder_is_printed_again(form: str, tmp_path: Path) -> None:
    copied(tmp_path)
    for command in (["compare"], ["board", "--no-cache"]):
        arguments = [*command, QRELS, str(tmp_path), "--format", form, "-o", str(tmp_path / "made")]
        for _ in range(2):
            done = treceval(arguments)
            assert done.status == 0, done.err
        (tmp_path / "made").unlink()


def test_what_is_the_same_for_several_runs_is_noted_once(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 a 1\n3 0 a 1\n")
    for name, queries in (("x", "12"), ("y", "12"), ("z", "123")):
        (tmp_path / name).write_text("".join(f"{qid} Q0 a 1 1 {name}\n" for qid in queries))
    done = treceval(["compare", "qrels", "x", "y", "z", "-m", "RR"], folder=tmp_path)
    assert done.err.decode().splitlines()[0] == (
        "note: 2 runs (x, y): 1 judged query is missing (3), and left out; -c counts it."
    )


# Ranges of measures.

FEW = {"1": {"a": 1}, "2": {"a": 1}}
RIGHT, WRONG = {"a": 2.0, "x": 1.0}, {"x": 2.0, "y": 1.0}
OPPOSITE = {"one": {"1": WRONG, "2": RIGHT}, "other": {"1": RIGHT, "2": WRONG}}
"""RR is 0 and 1, and 1 and 0."""


def test_intervals_do_not_leave_the_range_of_a_measure() -> None:
    (found,) = te.compare(FEW, OPPOSITE, ["RR"]).measures
    assert found.values.tolist() == [[0, 1], [1, 0]]
    # 0.5 - 12.71 * 0.5 and 0.5 + 12.71 * 0.5, where RR is from 0 to 1
    assert scipy.stats.ttest_1samp([0, 1], 0).confidence_interval(0.95) == pytest.approx((-5.853, 6.853), abs=5e-4)
    assert (found.low.tolist(), found.high.tolist()) == ([0, 0], [1, 1])
    (difference,) = found.differences
    assert (difference.mean, difference.low, difference.high) == (0, -1, 1)  # of -12.71 to 12.71


def test_an_interval_that_stays_within_the_range_is_not_changed() -> None:
    qrels = {str(q): {"a": 1} for q in range(4)}
    runs = {
        name: {q: RIGHT if q in right else {"x": 2.0, "a": 1.0} for q in qrels}
        for name, right in (("u", "0"), ("v", "1"))
    }
    (found,) = te.compare(qrels, runs, ["RR"], alpha=0.9).measures
    values = [[1, 0.5, 0.5, 0.5], [0.5, 1, 0.5, 0.5]]
    of_mean = scipy.stats.ttest_1samp(values[0], 0).confidence_interval(0.1)
    assert (found.low[0], found.high[0]) == pytest.approx(tuple(of_mean), rel=1e-12)
    reach = found.together.critical(0.9) * scipy.stats.sem(np.subtract(values[1], values[0]))
    (difference,) = found.differences
    assert 0 < reach < 1
    assert (difference.low, difference.high) == pytest.approx((-reach, reach), rel=1e-12)


def test_an_interval_is_cut_only_where_the_measure_has_a_limit(tmp_path: Path) -> None:
    # DCG is from 0 on: 0 and 1 as above. Utility has no limits: -2 and 0, as two documents that are not relevant cost 1
    # each, and a relevant one brings 1.
    runs = te.compare(FEW, OPPOSITE, ["dcg", "utility"])
    dcg, utility = runs.measures
    of_mean = scipy.stats.ttest_1samp([0, 1], 0).confidence_interval(0.95)
    assert (dcg.low[0], dcg.high[0]) == (0, pytest.approx(of_mean.high, rel=1e-12))
    assert utility.values[0].tolist() == [-2, 0]
    of_mean = scipy.stats.ttest_1samp([-2, 0], 0).confidence_interval(0.95)
    assert (utility.low[0], utility.high[0]) == pytest.approx(tuple(of_mean), rel=1e-12)
    for measure in (dcg, utility):
        (difference,) = measure.differences
        reach = measure.together.critical(0.05) * scipy.stats.sem(measure.values[1] - measure.values[0])
        assert reach > 1
        assert (difference.low, difference.high) == pytest.approx((-reach, reach), rel=1e-12)


@pytest.mark.parametrize(("highest", "limits"), [(1, (0, 1)), (100, None)])
def test_saved_values_are_cut_at_the_range_that_their_name_has_unless_they_leave_it(
    highest: int, limits: tuple[float, float] | None, tmp_path: Path
) -> None:
    files = [tmp_path / name for name in ("one", "other")]
    for file, values in zip(files, ((0, highest), (highest, 0)), strict=True):
        file.write_text("".join(f"map\t{qid}\t{value:.4f}\n" for qid, value in enumerate(values, 1)))
    (found,) = te.compare(files).measures
    expected = limits or tuple(scipy.stats.ttest_1samp([0, highest], 0).confidence_interval(0.95))
    assert (found.low[0], found.high[0]) == pytest.approx(expected, rel=1e-12)


def test_intervals_in_groups_and_of_gates_do_not_leave_the_range_either() -> None:
    found = te.compare(FEW, OPPOSITE, ["RR"], groups={"1": "all", "2": "all"}).by_group
    assert [(each.low, each.high) for each in found[0].differences] == [(-1, 1)]
    (decision,) = te.gating.gate(FEW, *OPPOSITE.values(), measures=["RR"], margin=0.5).decisions
    assert decision.low == -1  # of -6.31
    (decision,) = te.gating.gate(FEW, *OPPOSITE.values(), measures=["utility"], margin=0.5).decisions
    assert decision.low == pytest.approx(scipy.stats.t.ppf(0.05, 1) * 2, rel=1e-9)  # ±2: the standard error is 2


# Files of a folder that are no runs.

LOG = "2026-11-25 12:00:00 started indexing\n"
BROKEN = "1 Q0 a 1 0.5 t\n2 Q0 a 1 high t\n"


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A folder with judgments, and with a folder of two runs, a broken one and a log."""
    (tmp_path / "runs").mkdir()
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 a 1\n")
    files = {"one.txt": "1 Q0 a 1 0.5 one\n2 Q0 b 1 0.5 one\n", "two.txt": "1 Q0 a 1 0.5 two\n2 Q0 a 1 0.5 two\n"}
    for name, text in {**files, "broken.txt": BROKEN, "log.txt": LOG}.items():
        (tmp_path / "runs" / name).write_text(text)
    return tmp_path


WHY = ("not scored: broken.txt:2: score ", "not scored: log.txt:1: ")


@pytest.mark.parametrize("files", ["runs/", "runs/*.txt", "runs/one.txt runs/[!o]*"])
def test_a_file_of_a_folder_that_is_no_run_is_named_and_left_out(files: str, mixed: Path) -> None:
    options = ["-m", "RR", "--format", "json"]
    done = treceval(["compare", "qrels", *files.split(), *options], folder=mixed)
    alone = treceval(["compare", "qrels", "runs/one.txt", "runs/two.txt", *options], folder=mixed)
    assert (done.status, alone.status) == (1, 0)
    found, expected = json.loads(done.out), json.loads(alone.out)
    assert found["measures"] == expected["measures"]
    said = [note for note in found["notes"] if note not in expected["notes"]]
    assert len(said) == 2
    assert [note.startswith(why) for note, why in zip(said, WHY, strict=True)] == [True, True], said
    assert done.err.decode().count(".txt:") == 2
    assert all(note.removeprefix("not scored: ") in done.err.decode() for note in said)
    if " " not in files:  # a board says the same
        board = json.loads(treceval(["board", "qrels", files, "--no-cache", *options], folder=mixed).out)
        assert [f"not scored: {each['message']}" for each in board["errors"]] == said


def test_a_file_that_is_named_must_be_a_run(mixed: Path) -> None:
    for name, why in zip(("broken", "log"), WHY, strict=True):
        done = treceval(["compare", "qrels", "runs/one.txt", "runs/two.txt", f"runs/{name}.txt"], folder=mixed)
        assert (done.status, done.out) == (1, b"")
        assert done.err.decode().startswith(f"runs/{why.removeprefix('not scored: ')}")


def test_with_less_than_two_runs_the_reason_is_told(mixed: Path) -> None:
    (mixed / "runs" / "two.txt").unlink()
    done = treceval(["compare", "qrels", "runs/"], folder=mixed)
    assert (done.status, done.out) == (1, b"")
    assert done.err.decode().startswith(f"runs/{WHY[0].removeprefix('not scored: ')}")


def test_a_gate_needs_every_file(mixed: Path) -> None:
    assert treceval(["gate", "qrels", "runs/one.txt", "runs/two.txt", "--margin", "9"], folder=mixed).status == 0
    done = treceval(["gate", "qrels", "runs/", "--margin", "9"], folder=mixed)
    assert (done.status, done.out) == (1, b"")


def test_a_folder_of_saved_results_may_hold_other_files_too(mixed: Path) -> None:
    (mixed / "saved").mkdir()
    for name in ("one", "two"):
        line = ["-q", "-m", "RR", "--format", "json", "-o", f"saved/{name}.json", "qrels", f"runs/{name}.txt"]
        assert treceval(line, folder=mixed).status == 0
    assert treceval(["compare", "saved/", "--format", "json"], folder=mixed).status == 0
    (mixed / "saved" / "log.txt").write_text(LOG)
    treceval(["compare", "saved/one.json", "saved/two.json", "-o", "saved/table.txt"], folder=mixed)
    done = treceval(["compare", "saved/", "--format", "json"], folder=mixed)
    assert done.status == 1
    notes = json.loads(done.out)["notes"]
    assert [note.split(": ")[1] for note in notes if note.startswith("not scored: ")] == ["table.txt", "log.txt"]
    said = treceval(["compare", "runs/"], folder=mixed).err.decode()
    assert "scoring this run needs judgments, but the first argument, runs/, is not a judgments file" in said


@pytest.mark.parametrize(("count", "said"), [(5, 5), (6, 6), (7, 6)])
def test_at_most_five_files_are_named(count: int, said: int, mixed: Path) -> None:
    for number in range(count - 2):
        (mixed / "runs" / f"m{number}").write_text(LOG)
    notes = json.loads(treceval(["compare", "qrels", "runs/", "-m", "RR", "--format", "json"], folder=mixed).out)[
        "notes"
    ]
    assert len([note for note in notes if "not scored" in note]) == said
    assert (f"{count - 5} more files are not scored." in notes) is (count > 5)


@pytest.mark.slow
def test_a_report_names_the_files_that_it_lacks(mixed: Path) -> None:
    done = treceval(["report", "qrels", "runs/", "-m", "RR", "-o", "page.html"], folder=mixed)
    assert done.status == 1
    assert WHY[0] in (mixed / "page.html").read_text("utf-8")
