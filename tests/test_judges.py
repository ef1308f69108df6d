"""Agreement of judges: coefficients against scikit-learn, statsmodels and Krippendorff's own tables."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from shared import ROBUST, needs_shared

import treceval_py as te
from treceval_py.cli.agree import agree as command
from treceval_py.comparing.agreement import tau_ap
from treceval_py.judges.coefficients import WEIGHTS, krippendorff_alpha, weighted_kappa
from treceval_py.rendering import FORMATS

DATA = Path(__file__).parent.parent / "data"


def judged(*rows: str) -> list[dict[str, dict[str, int]]]:
    """Return the judgments of each judge, a text for each, in which a dot is no judgment."""
    return [{"q": {f"d{at}": int(label) for at, label in enumerate(row) if label != "."}} for row in rows]


# ---- coefficients against other programs --------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_kappas_equal_scikit_learn(seed: int) -> None:
    sklearn = pytest.importorskip("sklearn.metrics", reason="scikit-learn is the other implementation")
    generator = np.random.default_rng(seed)
    size = int(generator.integers(2, 6))
    one = generator.integers(0, size, 200)
    two = np.where(generator.random(200) < 0.6, one, generator.integers(0, size, 200))
    qrels = [{"q": {f"d{at}": int(label) for at, label in enumerate(labels)}} for labels in (one, two)]
    pair = te.judges.agree(qrels, bootstrap=1).pairs[0]
    for name, weights in (("kappa", None), ("linear", "linear"), ("quadratic", "quadratic")):
        expected = sklearn.cohen_kappa_score(one, two, weights=weights, labels=range(size))
        assert getattr(pair, name).value == pytest.approx(expected, abs=1e-12)
    assert pair.relevant.value == pytest.approx(sklearn.cohen_kappa_score(one > 0, two > 0), abs=1e-12)
    assert pair.overlap == pytest.approx(sklearn.jaccard_score(one > 0, two > 0), abs=1e-12)
    assert pair.confusion.tolist() == sklearn.confusion_matrix(one, two, labels=range(size)).tolist()


def test_kappas_equal_statsmodels() -> None:
    rater = pytest.importorskip("statsmodels.stats.inter_rater", reason="statsmodels is the other implementation")
    table = np.array([[20.0, 5, 1], [10, 15, 4], [3, 2, 9]])
    grades = np.arange(3.0)
    for weights, name in zip(WEIGHTS, (None, "linear", "quadratic"), strict=True):
        expected = rater.cohens_kappa(table, wt=name, return_results=False)
        assert weighted_kappa(table[None], grades, weights)[0] == pytest.approx(expected, abs=1e-12)


def test_a_grade_that_nobody_gave_lies_between_its_neighbours() -> None:
    sklearn = pytest.importorskip("sklearn.metrics", reason="scikit-learn is the other implementation")
    one, two = [0, 0, 1, 3, 3, 1], [0, 1, 1, 3, 1, 3]
    qrels = [{"q": {f"d{at}": label for at, label in enumerate(labels)}} for labels in (one, two)]
    pair = te.judges.agree(qrels, bootstrap=1).pairs[0]
    expected = sklearn.cohen_kappa_score(one, two, weights="linear", labels=range(4))
    assert pair.linear.value == pytest.approx(expected, abs=1e-12)


def test_alpha_has_the_values_of_krippendorffs_tables() -> None:
    # Krippendorff, Computing Krippendorff's alpha-reliability, 2011: two observers and ten units of two values have
    # 0.095 (section A); four observers and twelve units with missing data 0.743, 0.815 and 0.849 (section C).
    found = te.judges.agree(judged("0100000000", "1110010010"), bootstrap=1)
    assert round(found.alpha["nominal"].value, 3) == 0.095
    four = judged("123321412...", "1233224125.3", ".3332342251.", "12332441251.")
    found = te.judges.agree(four, bootstrap=1)
    assert [round(found.alpha[name].value, 3) for name in ("nominal", "ordinal", "interval")] == [0.743, 0.815, 0.849]
    assert found.judged == (9, 11, 10, 11)


def test_where_no_disagreement_is_possible_there_is_no_coefficient() -> None:
    found = te.judges.agree(judged("111", "111"), bootstrap=10)
    assert math.isnan(found.pairs[0].kappa.value)
    assert math.isnan(found.alpha["nominal"].value)
    assert found.pairs[0].same == 1.0
    assert np.isnan(krippendorff_alpha(np.zeros((1, 2, 2)), np.array([0.0, 1.0]))[0])


# ---- what is counted ----------------------------------------------------------------------------------------------


def test_documents_that_one_judge_left_out_are_counted_and_not_compared() -> None:
    pair = te.judges.agree(judged("0121.", "02.11"), bootstrap=1).pairs[0]
    assert (pair.common, pair.only_first, pair.only_second) == (3, 1, 1)
    assert pair.same == 2 / 3  # 0 and 0, 1 and 2, 1 and 1
    assert pair.bias == 1 / 3
    assert pair.confusion.tolist() == [[1, 0, 0], [0, 1, 1], [0, 0, 0]]


def test_negative_judgments_are_no_judgments() -> None:
    one = {"q": {"a": 1, "b": 0, "c": -1}}
    found = te.judges.agree([one, {"q": {"a": 1, "b": 1, "c": 1}}], bootstrap=1)
    assert found.grades == (0, 1)
    assert found.pairs[0].common == 2
    assert "1 negative judgment is treated as not judged" in found.notes[0]


def test_queries_are_told_apart() -> None:
    one, two = {"1": {"a": 1, "b": 0}, "2": {"a": 0, "b": 0}}, {"1": {"a": 1, "b": 0}, "2": {"a": 1, "b": 0}}
    first, second = te.judges.agree([one, two], bootstrap=1).pairs[0].queries
    assert (first.qid, first.same, first.kappa) == ("1", 1.0, 1.0)
    assert (second.qid, second.same, second.kappa, second.bias) == ("2", 0.5, 0.0, 0.5)


@pytest.mark.slow
def test_intervals_are_percentiles_over_resampled_queries() -> None:
    sklearn = pytest.importorskip("sklearn.metrics", reason="scikit-learn is the other implementation")
    generator = np.random.default_rng(5)
    labels = generator.integers(0, 3, (2, 12, 8))
    labels[1] = np.where(generator.random((12, 8)) < 0.5, labels[0], labels[1])
    qrels = [
        {f"q{q:02}": {f"d{d}": int(label) for d, label in enumerate(row)} for q, row in enumerate(each)}
        for each in labels
    ]
    found = te.judges.agree(qrels, bootstrap=4000, confidence=0.9).pairs[0].kappa
    drawn = []
    for _ in range(4000):  # with another generator: equal but for what is drawn
        rows = generator.integers(0, 12, 12)
        drawn.append(sklearn.cohen_kappa_score(labels[0, rows].ravel(), labels[1, rows].ravel()))
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(drawn, [0.05, 0.95])), abs=0.02)


# ---- runs ---------------------------------------------------------------------------------------------------------


def two_judges(queries: int = 30) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, int]], dict[str, object]]:
    """Return judges who want opposite documents, and two runs that each please one of them."""
    qids = [f"q{number:02}" for number in range(queries)]
    one = {qid: {"a": 1, "b": 0} for qid in qids}
    two = {qid: {"a": 0, "b": 1} for qid in qids}
    # Now and then the other document is first, so that values vary.
    runs = {
        name: {qid: {"a": 2.0 if (at % 7 == place) != (name == "x") else 1.0, "b": 1.5} for at, qid in enumerate(qids)}
        for place, name in enumerate(("x", "y"))
    }
    return one, two, runs


def test_a_pair_that_both_judges_find_different_in_opposite_directions_is_a_flip() -> None:
    one, two, runs = two_judges()
    order = te.judges.agree({"anna": one, "ben": two}, runs, "RR", bootstrap=50).orders[0]
    assert (order.opposite, order.same, order.neither) == (1, 0, 0)
    assert order.flips == ((0, 1),)
    assert order.swapped == 1
    assert order.tau == -1.0
    assert order.tau_ap.value == -1.0
    assert order.means[0][0] > order.means[0][1]


def test_a_pair_that_only_one_judge_finds_different_is_a_change() -> None:
    one, _, runs = two_judges()
    unsure = {qid: {"a": 1, "b": 1} for qid in one}
    order = te.judges.agree([one, unsure], runs, "RR", bootstrap=50).orders[0]
    assert (order.only_first, order.only_second, order.opposite) == (1, 0, 0)
    assert order.changes == ((0, 1, 0),)
    assert math.isnan(order.tau)  # for the second judge both runs have 1 throughout


def test_orders_are_over_queries_that_both_judges_have() -> None:
    one, two, runs = two_judges()
    fewer = {qid: labels for qid, labels in two.items() if qid != "q05"}
    found = te.judges.agree([one, fewer], runs, "RR", bootstrap=50)
    assert found.orders[0].queries == 29
    assert any("1 query that only one of two judges has" in note for note in found.notes)


def test_common_scores_with_documents_that_all_judges_judged() -> None:
    one = {"q": {"a": 1, "b": 1}, "r": {"a": 1, "c": 0}}
    two = {"q": {"a": 1}, "r": {"a": 1, "c": 0}}
    run = {"q": {"b": 2.0, "a": 1.0}, "r": {"a": 2.0}}
    alone = te.judges.agree([one, two], {"x": run}, "RR", bootstrap=5)
    common = te.judges.agree([one, two], {"x": run}, "RR", bootstrap=5, common=True)
    assert alone.orders[0].means[:, 0].tolist() == [1.0, 0.75]  # b counts for the first judge
    assert common.orders[0].means[:, 0].tolist() == [0.75, 0.75]


@needs_shared
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::treceval_py.errors.MissingQueriesWarning")
def test_real_runs_by_a_judge_who_finds_half_as_much() -> None:
    from scipy.stats import kendalltau

    qrels = te.read_qrels(ROBUST / "qrels.txt.gz")
    generator = np.random.default_rng(2)
    strict = {
        qid: {docid: int(rel > 0 and generator.random() < 0.5) for docid, rel in qrels[qid].items()} for qid in qrels
    }
    strict = {qid: labels for qid, labels in strict.items() if any(labels.values())}
    runs = sorted(ROBUST.glob("input.*.gz"))
    order = te.judges.agree([qrels, strict], runs, "map", bootstrap=200).orders[0]
    kept = {qid: dict(qrels[qid]) for qid in strict}
    means = np.array([[te.evaluate(judgments, run, "map").mean["map"] for run in runs] for judgments in (kept, strict)])
    assert order.means == pytest.approx(means, abs=1e-12)
    assert order.tau == pytest.approx(kendalltau(*means).statistic, abs=1e-12)
    assert order.tau_ap.value == pytest.approx(tau_ap(*means), abs=1e-12)
    assert order.tau_ap.low < order.tau_ap.value <= order.tau_ap.high
    pairs = len(runs) * (len(runs) - 1) // 2
    assert order.same + order.opposite + order.only_first + order.only_second + order.neither == pairs
    assert order.same > pairs / 3
    assert order.opposite == 0


# ---- errors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ([{"q": {"a": 1}}], {}, "agreement needs the judgments of two judges or more"),
        ({"q": {"a": 1}}, {}, "agreement needs the judgments of two judges or more"),
        ("qrels.txt", {}, "judgments must be a list or a dictionary of judgments"),
        (judged("01", "01"), {"alpha": 0}, "alpha must be above 0 and below 1"),
        (judged("01", "01"), {"alpha": 1}, "alpha must be above 0 and below 1"),
        (judged("01", "01"), {"confidence": 0}, "confidence must be above 0 and below 1"),
        (judged("01", "01"), {"confidence": 1.0}, "confidence must be above 0 and below 1"),
        (judged("01", "01"), {"bootstrap": 0}, "bootstrap must be a whole number from 1"),
        (judged("01", "01"), {"seed": -1}, "seed must be a whole number from 0"),
        ([{"q": {"a": 1}}, {"r": {"a": 1}}], {}, "no document was judged by two of the judges"),
        ([{"q": {f"d{at}": at for at in range(101)}}] * 2, {}, "there are 101 different grades"),
        (
            [te.data.Preferences({"1": [te.data.Preference(b"g", b"s", b"a", 1.0)]})] * 2,
            {},
            "needs relevance judgments",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(given: object, options: dict[str, object], message: str) -> None:
    with pytest.raises(te.errors.TrecevalError, match=message):
        te.judges.agree(given, **options)  # type: ignore[arg-type]


def test_options_and_grades_at_their_limits_are_taken() -> None:
    hundred = [{"q": {f"d{at}": at for at in range(100)}}] * 2
    found = te.judges.agree(hundred, alpha=0.999, confidence=0.001, bootstrap=1, seed=0)
    assert (len(found.grades), found.pairs[0].same) == (100, 1.0)


# ---- the command --------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    lines = (DATA / "qrels.tsv").read_text("utf-8").splitlines()
    changed = [line[:-1] + ("0" if line[-1] == "1" else line[-1]) for line in lines]
    (tmp_path / "anna.qrels").write_text("\n".join(lines) + "\n", "utf-8")
    (tmp_path / "ben.qrels").write_text("\n".join(changed) + "\n", "utf-8")
    return [str(tmp_path / "anna.qrels"), str(tmp_path / "ben.qrels")]


def test_the_command_tells_runs_from_judgments(files: list[str]) -> None:
    runs = [str(DATA / "runs" / name) for name in ("bm25.txt", "minilm.txt")]
    # In any order, and in a folder.
    for arguments in ([runs[0], *files, runs[1]], [*files, str(DATA / "runs")]):
        done = CliRunner().invoke(
            command, [*arguments, "-m", "map", "--bootstrap", "100", "--format", "json"], catch_exceptions=False
        )
        found = json.loads(done.stdout)
        assert [judge["name"] for judge in found["judges"]] == ["anna", "ben"]
        assert {"bm25", "minilm"} <= {run["name"] for run in found["runs"]}
        assert found["orders"][0]["measure"] == "map"


@pytest.mark.parametrize("format", FORMATS)
def test_the_command_prints_every_format(files: list[str], format: str) -> None:
    done = CliRunner().invoke(command, [*files, "-q", "--format", format], catch_exceptions=False)
    assert done.exit_code == 0
    assert "anna" in done.stdout
    assert "10086" in done.stdout


def test_the_command_refuses_one_file_of_judgments(files: list[str]) -> None:
    done = CliRunner().invoke(command, [files[0], str(DATA / "runs" / "bm25.txt")])
    assert done.exit_code == 2
    assert "There is one file of judgments, but agreement needs two or more; " in done.stderr
    done = CliRunner().invoke(command, [files[0], files[0]])
    assert done.exit_code == 2
    assert "is given twice" in done.stderr
    alias = Path(files[0]).parent / "." / "alias.qrels"
    alias.symlink_to(files[0])
    for same in (str(alias), f"{Path(files[0]).parent}/./anna.qrels"):
        done = CliRunner().invoke(command, [files[0], same])
        assert (done.exit_code, "is given twice" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--common"], "--common needs runs."),
        (["-m", "map"], "--measure needs runs."),
        (["--alpha", "0.1"], "--alpha needs runs."),
        (["-c"], "--complete needs runs."),
        (["-M", "5"], "--depth needs runs."),
        (["-J"], "--judged-only needs runs."),
        (["-N", "9"], "--collection-size needs runs."),
        (["--bootstrap", "1"], "1 is not 100 or more."),
    ],
)
def test_the_command_refuses_options_that_would_change_nothing(
    files: list[str], options: list[str], message: str
) -> None:
    done = CliRunner().invoke(command, [*files, *options])
    assert done.exit_code == 2
    assert message in done.stderr
