"""What a report shows: its payload, its curves and its warnings."""

from __future__ import annotations

import gzip
import itertools
import json
import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import treceval_py as te
from treceval_py import Qrels, Run, Signature, judge
from treceval_py.comparing.comparison import Comparison
from treceval_py.comparing.outcome import Compared, Difference, Settings
from treceval_py.comparing.outcome import Tested as Found  # pytest takes names that begin with Test for tests
from treceval_py.comparing.show import sentences, tables
from treceval_py.errors import DataError, EvaluationError, OutputError
from treceval_py.report import report_payload, write_report
from treceval_py.report.curves import basis_of, curves_of
from treceval_py.report.warnings import tied_queries, unjudged_shares, warnings_of
from treceval_py.scoring.conventions import Conventions

# Runs here lack queries, so that there is something to tell.
pytestmark = pytest.mark.filterwarnings("ignore::treceval_py.MissingQueriesWarning")

USUAL = Settings()
ROBUST = Path("../shared/data/robust03")

QRELS = Qrels({"1": {"a": 1, "b": 0, "c": 2}, "2": {"a": 1, "d": 0}, "3": {"z": 1}})
ONE = Run({"1": {"a": 3.0, "b": 2.0, "x": 1.5, "c": 1.0}, "2": {"a": 1.0, "d": 0.5}}, tag="first")
TWO = Run({"1": {"x": 3.0, "a": 2.0}, "2": {"d": 1.0, "a": 0.5}}, tag="second")
WHOLE = Run({"1": {"a": 1.0}, "2": {"a": 1.0}, "3": {"z": 1.0}})

KEYS = (
    "title", "made", "judgments", "queries", "texts", "runs", "baseline", "confidence", "measures", "summary_sentences",
    "differences_html", "precision_recall", "recall_at_depth", "overlap", "warnings", "reproduce",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the sentences and the table, which have tests of their own, be told from the rest."""
    said = {"queries": "Paired over 2 queries.", "interval": "Of differences.", "test": "Student's t-test."}
    monkeypatch.setattr(sentences, "methods", lambda comparison: said)
    monkeypatch.setattr(tables, "differences_html", lambda comparison: "<section>\udcff</section>")


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
        name, signature, qids, matrix, means, means - 0.1, means + 0.1, (int(means.argmax()),), letters, None, None,
        tuple(differences), left_out,
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


def robust() -> tuple[Qrels, dict[str, Run]]:
    if not ROBUST.exists():
        pytest.skip(f"{ROBUST} is not there: runs of TREC 2003 Robust, which are not part of this project")
    runs = {path.name[6:-3]: te.read_run(str(path)) for path in sorted(ROBUST.glob("input.*.gz"))[:3]}
    return te.read_qrels(str(ROBUST / "qrels.txt.gz")), runs


def printed_by_trec_eval(run: str) -> dict[str, float]:
    """Return the averages that trec_eval 10.0 printed for a run."""
    with gzip.open(ROBUST / "expected" / f"{run}.trec_eval-10.txt.gz", "rt") as lines:
        rows = (line.split() for line in lines)
        return {name: float(value) for name, qid, value in rows if qid == "all" and name != "runid"}


# The payload ----------------------------------------------------------------------------------------


def test_a_payload_has_all_that_a_page_shows() -> None:
    assert tuple(report_payload(comparison())) == KEYS


def test_a_payload_is_strict_json() -> None:
    found = report_payload(comparison(), qrels=QRELS, runs=[ONE, TWO], texts={"1": "what"})
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_the_same_data_give_the_same_payload() -> None:
    one, two = (report_payload(comparison(), qrels=QRELS, runs=[ONE, TWO]) for _ in range(2))
    assert one == two
    assert one["made"]["date"] is None


def test_a_payload_says_what_was_compared_and_how_it_was_made() -> None:
    found = report_payload(comparison(), runs=[ONE, TWO], title="Nile", command="treceval report q r")
    assert found["title"] == "Nile"
    assert found["made"] == {"version": te.__version__, "command": "treceval report q r", "date": None}
    assert found["judgments"] == "qrels.txt"
    assert found["baseline"] == 0
    assert found["runs"] == [
        {"name": "one", "file": "one.txt", "tag": "first"},
        {"name": "two", "file": "two.txt", "tag": "second"},
    ]


def test_tags_are_empty_where_only_results_were_saved() -> None:
    assert [run["tag"] for run in report_payload(comparison())["runs"]] == ["", ""]


def test_each_measure_has_its_queries() -> None:
    found = report_payload(comparison(measured("map"), measured("P_5", [[0.5], [0.25]], qids=("2",))))
    assert found["queries"] == {"map": ["1", "2"], "P_5": ["2"]}


def test_only_the_texts_of_queries_that_were_compared_are_there() -> None:
    found = report_payload(comparison(), texts={"1": "how long is the nile", "9": "of another collection"})
    assert found["texts"] == {"1": "how long is the nile"}


def test_a_measure_has_means_intervals_values_letters_and_the_best_run() -> None:
    (found,) = report_payload(comparison(measured()))["measures"]
    assert found["name"] == "map"
    assert found["means"] == [0.875, 0.375]  # (0.75 + 1)/2 and (0.25 + 0.5)/2; the intervals are ± 0.1 above
    assert found["low"] == [0.875 - 0.1, 0.375 - 0.1]
    assert found["high"] == [0.875 + 0.1, 0.375 + 0.1]
    assert found["values"] == [[0.75, 1.0], [0.25, 0.5]]
    assert found["letters"] == ["a", "b"]
    assert found["best"] == [0]


def test_a_measure_has_both_forms_of_its_signature() -> None:
    made = signature(ONE)
    (found,) = report_payload(comparison(measured(signature=made)))["measures"]
    assert (found["signature"], found["long"]) == (made.short, made.long)


def test_a_measure_of_which_it_is_not_known_how_it_was_made_has_no_signature() -> None:
    (found,) = report_payload(comparison(measured()))["measures"]
    assert (found["signature"], found["long"]) == (None, None)


def test_values_of_queries_have_six_significant_digits_and_means_all_of_theirs() -> None:
    (found,) = report_payload(comparison(measured(values=[[1 / 3, 2 / 3], [12345.678, 0.0]])))["measures"]
    assert found["values"] == [[0.333333, 0.666667], [12345.7, 0.0]]
    assert found["means"][1] == 12345.678 / 2


def test_what_is_no_finite_number_is_none() -> None:
    one = measured(values=[[0.5], [0.25]], qids=("1",))  # of one query there is no interval
    one = one._replace(low=np.array([np.nan, -np.inf]), high=np.array([np.nan, np.inf]))
    (found,) = report_payload(comparison(one))["measures"]
    assert found["low"] == found["high"] == [None, None]


@pytest.mark.parametrize(
    ("mean", "adjusted", "mark"),
    [(0.1, 0.01, "▲"), (-0.1, 0.01, "▼"), (0.1, 0.05, "▲"), (0.1, 0.0501, ""), (0.1, float("nan"), "")],
)
def test_a_run_is_marked_when_it_differs_significantly_from_the_baseline(
    mean: float, adjusted: float, mark: str
) -> None:
    one = measured(differences=[difference(1, 0, mean, adjusted)])
    (found,) = report_payload(comparison(one))["measures"]
    assert found["marks"] == ["", mark]
    assert found["adjusted"] == [None, None if adjusted != adjusted else adjusted]


def test_marks_are_those_of_the_test_that_decides() -> None:
    each = difference(1, 0, 0.1, 0.9)._replace(tests={"t": Found(2.0, 0.9, 0.9), "sign": Found(0.0, 0.01, 0.02)})
    settings = Settings(test="sign", tests=("sign", "t"))
    (found,) = report_payload(comparison(measured(differences=[each]), settings=settings))["measures"]
    assert (found["marks"], found["adjusted"]) == (["", "▲"], [None, 0.02])


def test_nothing_is_marked_without_a_baseline() -> None:
    one = measured(differences=[difference(1, 0, 0.1, 0.001)])
    found = report_payload(comparison(one, baseline=None))
    assert found["baseline"] is None
    assert found["measures"][0]["marks"] == ["", ""]
    assert found["measures"][0]["adjusted"] == [None, None]


def test_the_table_and_the_sentences_are_those_of_the_comparison() -> None:
    found = report_payload(comparison())
    # what is said of differences stands below these, with their table
    assert found["summary_sentences"] == ["Paired over 2 queries.", "Student's t-test."]
    assert found["differences_html"] == "<section>\\xff</section>"


def test_bytes_that_are_no_unicode_are_shown() -> None:
    one = measured(qids=("1\udcff", "2"))
    found = report_payload(comparison(one, names=("\udce9", "two")), texts={"1\udcff": "half \ud83d a character"})
    assert found["queries"] == {"map": ["1\\xff", "2"]}
    assert found["runs"][0]["name"] == "\\xe9"
    assert found["texts"] == {"1\\xff": "half \\ud83d a character"}


def test_there_must_be_a_table_for_each_run() -> None:
    with pytest.raises(EvaluationError) as refused:
        report_payload(comparison(), qrels=QRELS, runs=[ONE])
    assert str(refused.value) == ("there are 1 tables for 2 compared runs. Give one table per run, in the same order.")


def test_without_runs_there_are_no_curves_no_overlap_and_no_commands_but_the_one_given() -> None:
    found = report_payload(comparison(measured(signature=signature(ONE))), qrels=QRELS, command="treceval report x")
    assert found["precision_recall"] is found["recall_at_depth"] is found["overlap"] is None
    assert found["reproduce"] == ["treceval report x"]


# How to reproduce -----------------------------------------------------------------------------------


def test_a_command_repeats_the_signatures() -> None:
    made = signature(ONE)
    found = report_payload(
        comparison(measured(signature=made)), qrels=QRELS, runs=[ONE, TWO], command="treceval report x"
    )
    assert found["reproduce"] == [
        "treceval report x",
        f"treceval --repeat '{made.short}' qrels.txt one.txt two.txt",
    ]


def test_the_command_gives_the_means_of_the_report(tmp_path: Path) -> None:
    """The measure, level and depth are not the usual ones, and a name has a blank and begins with a dash."""
    import shlex

    from command import treceval

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


def test_a_profile_of_ones_own_is_written_out() -> None:
    mine = te.Profile("mine", "my own", Conventions(ties="line"))
    made = signature(ONE, profile=mine)
    (command,) = report_payload(comparison(measured(signature=made)), qrels=QRELS, runs=[ONE, TWO])["reproduce"]
    assert command == f"treceval --repeat '{made.long}' qrels.txt one.txt two.txt"


@pytest.mark.parametrize("files", [("<run>", "two.txt"), ("-", "two.txt")])
def test_what_comes_from_python_or_a_pipe_is_not_repeated(files: tuple[str, ...]) -> None:
    found = comparison(measured(signature=signature(ONE)), files=files)
    assert report_payload(found, qrels=QRELS, runs=[ONE, TWO])["reproduce"] == []


# Curves ---------------------------------------------------------------------------------------------


def test_precision_over_recall_is_the_interpolated_one_averaged_over_queries() -> None:
    """Of run one, query 1 finds its two relevant documents at ranks 1 and 4, query 2 its one at rank 1."""
    found = curves_of(basis_of(comparison()), QRELS, [ONE])
    assert found.recalls == (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    # trec_eval 10 rounds 2 · recall to the nearest document, halves up: precision is 1 below 0.75, then 2/4.
    assert found.precision.tolist() == [[1.0] * 8 + [(0.5 + 1) / 2] * 3]


def test_recall_over_depth_ends_at_the_longest_list() -> None:
    found = curves_of(basis_of(comparison()), QRELS, [ONE, TWO])
    # Run one: 1 of 2 and 1 of 1 at rank 1, the second of query 1 at rank 4. Run two: none at 1, 1 of 2 and 1 of 1 at 2.
    assert found.depths == (1, 2, 4)
    assert found.recall.tolist() == [[0.75, 0.75, 1.0], [0.0, 0.75, 0.75]]


def test_recall_over_depth_ends_at_a_thousand() -> None:
    long = Run({"1": {f"d{rank}": float(-rank) for rank in range(1500)}})
    one = measured(values=[[0.0]], qids=("1",))
    assert curves_of(basis_of(comparison(one)), QRELS, [long]).depths == (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def test_recall_over_depth_ends_where_the_lists_were_cut() -> None:
    one = measured(signature=signature(ONE, depth=2))
    found = curves_of(basis_of(comparison(one)), QRELS, [ONE])
    assert found.depths == (1, 2)
    assert found.precision.tolist() == [[1.0] * 8 + [(0 + 1) / 2] * 3]  # the document at rank 4 is not retrieved


def test_the_list_of_a_query_that_was_not_compared_does_not_count() -> None:
    long = Run({"1": {"a": 1.0}, "3": {f"d{rank}": float(-rank) for rank in range(50)}})
    one = measured(values=[[1.0]], qids=("1",))
    assert curves_of(basis_of(comparison(one)), QRELS, [long]).depths == (1,)


def test_runs_without_documents_have_curves_of_zeros() -> None:
    one = measured(values=[[0.0], [0.0]], qids=("1",), signature=signature(ONE, complete=True))
    found = curves_of(basis_of(comparison(one)), QRELS, [Run({"2": {"a": 1.0}})])
    assert (found.depths, found.recall.tolist(), found.precision.tolist()) == ((1,), [[0.0]], [[0.0] * 11])


def test_curves_are_over_the_queries_of_the_first_measure() -> None:
    one = measured(values=[[1.0], [0.5]], qids=("2",))
    found = report_payload(comparison(one, measured("P_5")), qrels=QRELS, runs=[ONE, TWO])
    assert found["recall_at_depth"] == {"depth": [1, 2], "recall": [[1.0, 1.0], [0.0, 1.0]]}


def test_a_missing_query_that_counts_counts_as_an_empty_ranking() -> None:
    one = measured(values=[[0.75, 1, 0]], qids=("1", "2", "3"), signature=signature(ONE, complete=True))
    found = curves_of(basis_of(comparison(one)), QRELS, [ONE])
    assert found.recall.tolist() == [pytest.approx([1.5 / 3, 1.5 / 3, 2 / 3], abs=1e-15)]


def test_curves_take_the_level_of_the_first_measure_that_has_one() -> None:
    measures = [
        measured("ndcg", signature=signature(ONE, "ndcg")),
        measured("P_5", signature=signature(ONE, "P_5", level=2)),
    ]
    found = curves_of(basis_of(comparison(*measures)), QRELS, [ONE])
    # With 2 for relevant, query 1 has one relevant document, at rank 4, and query 2 has none.
    assert found.recall.tolist() == [[0.0, 0.0, 0.5]]


def test_curves_leave_unjudged_documents_out_where_the_comparison_did() -> None:
    one = measured(signature=signature(ONE, judged_only=True))
    found = curves_of(basis_of(comparison(one)), QRELS, [ONE])
    assert found.precision[0, -1] == (2 / 3 + 1) / 2  # the second relevant document moves up to rank 3


def test_curves_rank_as_the_profile_of_the_comparison() -> None:
    """Ranx leaves equal scores as they stand, trec_eval puts the larger id first."""
    tied = Run({"1": {"a": 1.0, "x": 1.0}})
    for profile, recall in (("ranx", 0.5), ("trec_eval-10", 0.0)):
        one = measured(values=[[0.5]], qids=("1",), signature=signature(tied, profile=profile))
        assert curves_of(basis_of(comparison(one)), QRELS, [tied]).recall[0, 0] == recall


def test_curves_rank_as_a_profile_of_ones_own() -> None:
    tied = Run({"1": {"a": 1.0, "x": 1.0}})
    mine = te.Profile("mine", "my own", Conventions(ties="line"))
    one = measured(values=[[0.5]], qids=("1",), signature=signature(tied, profile=mine))
    assert curves_of(basis_of(comparison(one)), QRELS, [tied]).recall[0, 0] == 0.5


def test_curves_need_the_judgments_of_the_comparison() -> None:
    with pytest.raises(EvaluationError) as refused:
        curves_of(basis_of(comparison()), Qrels({"2": {"a": 1}}), [ONE])
    assert str(refused.value) == (
        "the compared query 1 is not judged in <judgments>. Use the judgments that the runs were scored with."
    )


def test_curves_by_rank_need_ranks() -> None:
    made = signature(ONE)._replace(profile="msmarco", conventions=Conventions(order="rank"))
    with pytest.raises(DataError, match="has no rank column"):
        curves_of(basis_of(comparison(measured(signature=made))), QRELS, [ONE])


def test_curves_of_robust_runs_are_what_trec_eval_prints() -> None:
    qrels, runs = robust()
    qids = te.evaluate(qrels, next(iter(runs.values())), "map").qids
    names = tuple(runs)
    one = measured(values=np.zeros((len(names), len(qids))).tolist(), qids=qids)
    found = report_payload(comparison(one, names=names, files=names), qrels=qrels, runs=list(runs.values()))
    for number, name in enumerate(names):
        expected = printed_by_trec_eval(name)
        curve = dict(
            zip(found["precision_recall"]["recall"], found["precision_recall"]["precision"][number], strict=True)
        )
        for level, precision in curve.items():
            assert f"{precision:.4f}" == f"{expected[f'iprec_at_recall_{level:.2f}']:.4f}"
        depths = dict(zip(found["recall_at_depth"]["depth"], found["recall_at_depth"]["recall"][number], strict=True))
        assert max(depths) == 1000
        for depth in (5, 10, 20, 100, 200, 500, 1000):
            assert f"{depths[depth]:.4f}" == f"{expected[f'recall_{depth}']:.4f}"


# Overlap --------------------------------------------------------------------------------------------


def test_equal_lists_overlap_entirely_and_lists_without_a_common_document_not_at_all() -> None:
    other = Run({"1": {"p": 1.0, "q": 0.5}, "2": {"p": 1.0, "q": 0.5}})
    found = report_payload(
        comparison(measured(values=np.zeros((3, 2)).tolist()), names=("a", "b", "c"), files=("a", "b", "c")),
        runs=[ONE, ONE, other],
    )["overlap"]
    assert (found["depth"], found["p"], found["queries"]) == (100, 0.9, 2)
    assert np.allclose(found["rbo"], [[1, 1, 0], [1, 1, 0], [0, 0, 1]], atol=1e-12)
    assert np.allclose(found["shared"], [[1, 1, 0], [1, 1, 0], [0, 0, 1]], atol=1e-12)
    assert found["tau"][0][1] == pytest.approx(1.0, abs=1e-12)
    assert found["tau"][0][2] is None  # there is nothing of which to compare the order


def test_lists_are_compared_as_deep_as_values_are_computed() -> None:
    """The first documents are the same, and those below are not."""
    one, two = Run({"1": {"a": 2.0, "b": 1.0}}), Run({"1": {"a": 2.0, "c": 1.0}})
    values = [[1.0], [1.0]]
    for depth, shown, shared in ((1, 1, 1.0), (None, 100, 0.5)):
        each = measured(values=values, qids=("1",), signature=signature(one, depth=depth))
        found = report_payload(comparison(each), runs=[one, two])["overlap"]
        assert (found["depth"], found["shared"][0][1]) == (shown, shared)


def test_lists_are_ranked_as_the_comparison_ranks() -> None:
    """Ranx leaves equal scores as they stand, trec_eval puts the larger id first."""
    tied, other = Run({"1": {"a": 1.0, "b": 1.0}}), Run({"1": {"a": 2.0, "b": 1.0}})
    for profile, tau in (("ranx", 1.0), ("trec_eval-10", -1.0)):
        each = measured(values=[[1.0], [1.0]], qids=("1",), signature=signature(tied, profile=profile))
        assert report_payload(comparison(each), runs=[tied, other])["overlap"]["tau"][0][1] == tau


def test_there_is_no_overlap_where_no_query_has_documents_of_all_runs() -> None:
    each = measured(signature=signature(ONE, complete=True))
    found = report_payload(comparison(each), runs=[Run({"1": {"a": 1.0}}), Run({"2": {"a": 1.0}})])
    assert found["overlap"] is None


def test_there_is_no_overlap_of_lists_cut_to_nothing() -> None:
    each = measured(signature=signature(ONE, depth=0))
    assert report_payload(comparison(each), runs=[ONE, TWO])["overlap"] is None


# Warnings -------------------------------------------------------------------------------------------


def of_kind(kind: str, found: Comparison, qrels: Qrels | None, runs: Sequence[Run] | None) -> list[tuple[str, str]]:
    return [(each.run, each.text) for each in warnings_of(found, qrels, runs) if each.kind == kind]


def tied_in(run: Mapping[str, float], judgments: Mapping[str, int], *, level: int = 1, ranks: int = 10) -> bool:
    judged = judge(Qrels({"1": dict(judgments)}), Run({"1": dict(run)}), tied=True)
    return bool(tied_queries(judged, level, ranks)[0])


def test_a_relevant_document_tied_with_an_unjudged_one_matters() -> None:
    assert tied_in({"a": 1.0, "x": 1.0}, {"a": 1})


def test_a_relevant_document_tied_with_one_judged_not_relevant_matters() -> None:
    assert tied_in({"a": 1.0, "b": 1.0}, {"a": 1, "b": 0})


def test_relevant_documents_of_different_grades_that_are_tied_matter() -> None:
    assert tied_in({"a": 1.0, "c": 1.0}, {"a": 1, "c": 2})


def test_relevant_documents_of_one_grade_that_are_tied_do_not_matter() -> None:
    assert not tied_in({"a": 1.0, "c": 1.0}, {"a": 1, "c": 1})


def test_documents_below_the_level_that_are_tied_do_not_matter() -> None:
    assert not tied_in({"a": 1.0, "b": 1.0, "x": 1.0}, {"a": 1, "b": 0}, level=2)


def test_a_tie_matters_that_begins_at_the_last_rank_looked_at() -> None:
    run = {"x": 3.0, "a": 1.0, "b": 1.0}
    assert tied_in(run, {"a": 1, "b": 0}, ranks=2)
    assert not tied_in(run, {"a": 1, "b": 0}, ranks=1)


def first_labels(run: Mapping[str, float], judgments: Mapping[str, int], ranks: int) -> set[tuple[int, ...]]:
    """Return the labels of the first ranks in every order of equal scores, by trying them all."""
    scores = sorted(set(run.values()), reverse=True)
    groups = [[docid for docid in run if run[docid] == score] for score in scores]
    found = set()
    for orders in itertools.product(*(itertools.permutations(group) for group in groups)):
        ranked = [docid for group in orders for docid in group][:ranks]
        found.add(tuple(max(judgments.get(docid, 0), 0) for docid in ranked))
    return found


def test_a_tie_matters_exactly_where_another_order_changes_the_first_ranks() -> None:
    draw = random.Random(20)
    seen = set()
    for _ in range(300):
        docids = "abcdefg"[: draw.randint(1, 7)]
        run = {docid: float(draw.randint(1, 4)) for docid in docids}
        judgments = {docid: draw.choice([-1, 0, 1, 1, 2]) for docid in "abcdefgh" if draw.random() < 0.6} or {"a": 1}
        ranks = draw.randint(1, 5)
        expected = len(first_labels(run, judgments, ranks)) > 1
        assert tied_in(run, judgments, ranks=ranks) == expected, (run, judgments, ranks)
        seen.add(expected)
    assert seen == {True, False}


def test_a_run_judged_without_its_ties_is_refused() -> None:
    with pytest.raises(EvaluationError) as refused:
        tied_queries(judge(QRELS, ONE), 1, 10)
    assert str(refused.value) == "the judged run has no information about ties. Judge it with tied=True."


def test_ties_are_told_of_the_run_that_has_them() -> None:
    tied = Run({"1": {"a": 1.0, "b": 1.0, "c": 1.0}, "2": {"a": 1.0, "d": 0.5}})
    ((run, text),) = of_kind("ties", comparison(), QRELS, [ONE, tied])
    assert run == "two"
    assert text == (
        "In 1 of 2 queries the relevance found at the first 10 ranks depends on the order of documents with equal "
        "scores."
    )


def test_ties_in_the_width_of_the_comparison_are_told() -> None:
    """0.1 and 0.1 + 1e-12 are one number in 32 bits, as trec_eval 9 stores scores."""
    near = Run({"1": {"a": 0.1, "b": 0.1 + 1e-12}, "2": {"a": 1.0}})
    for profile, told in (("trec_eval-9", 1), ("trec_eval-10", 0)):
        one = measured(values=[[0.5, 1]], signature=signature(near, profile=profile))
        found = comparison(one, names=("one",), files=("one.txt",))
        assert len(of_kind("ties", found, QRELS, [near])) == told


def test_documents_ranked_by_their_lines_are_not_tied() -> None:
    tied = Run({"1": {"a": 1.0, "b": 1.0}, "2": {"a": 1.0}})
    one = measured(values=[[0.5, 1]], signature=signature(tied, profile="coursework"))
    assert of_kind("ties", comparison(one, names=("one",), files=("one.txt",)), QRELS, [tied]) == []


def test_ties_of_queries_that_were_not_compared_are_not_told() -> None:
    tied = Run({"1": {"a": 1.0, "b": 1.0}, "2": {"a": 1.0, "d": 0.5}})
    one = measured(values=[[1.0], [1.0]], qids=("2",))
    assert of_kind("ties", comparison(one), QRELS, [tied, tied]) == []


def test_shares_of_unjudged_documents_are_of_the_first_ranks() -> None:
    run = Run({"1": {"a": 4.0, "x": 3.0, "n": 2.0, "y": 1.0}})
    judged = judge(Qrels({"1": {"a": 1, "n": -1}, "2": {"b": 1}}), run)
    assert unjudged_shares(judged, 2).tolist()[0] == 1 / 2
    # What is judged negative is in the pool and not judged. Of query 2 nothing was retrieved.
    assert np.array_equal(unjudged_shares(judged, 10), [3 / 4, np.nan], equal_nan=True)


def test_unjudged_documents_are_told_of_the_run_that_has_them() -> None:
    # Run one has x, one of four, in query 1; run two has x, one of two. In query 2 all are judged.
    told = of_kind("unjudged", comparison(), QRELS, [ONE, TWO])
    for (run, text), name, share in zip(told, ("one", "two"), ("12.5", "25.0"), strict=True):
        assert run == name
        assert text == (
            f"On average {share} % of the first 10 documents of a query are not judged (at least one in 1 of 2 "
            "queries)."
        )


def test_unjudged_documents_that_were_taken_out_are_not_told() -> None:
    one = measured(signature=signature(ONE, judged_only=True))
    assert of_kind("unjudged", comparison(one), QRELS, [ONE, TWO]) == []


def test_a_missing_query_is_no_query_with_judged_documents() -> None:
    one = measured(values=[[0.75, 0], [0.25, 0]], qids=("1", "3"), signature=signature(ONE, complete=True))
    ((_, text), _) = of_kind("unjudged", comparison(one), QRELS, [ONE, TWO])
    assert text.startswith(
        "On average 25.0 % of the first 10 documents of a query are not judged (at least one in 1 of 1 query)"
    )


@pytest.mark.parametrize(
    ("judged", "retrieved", "written"), [(1, 3000, "less than 0.1 %"), (2999, 3000, "more than 99.9 %")]
)
def test_a_little_is_not_nothing_and_nearly_all_not_all(judged: int, retrieved: int, written: str) -> None:
    """One document a query; those of the first queries, or all but one, are unjudged."""
    count = judged
    qids = [f"{number:04d}" for number in range(retrieved)]
    qrels = Qrels({qid: {"x" if number < count else "a": 1, "b": 1} for number, qid in enumerate(qids)})
    run = Run({qid: {"a": 1.0} for qid in qids})
    one = measured(values=np.zeros((1, retrieved)).tolist(), qids=tuple(qids))
    ((_, text),) = of_kind("unjudged", comparison(one, names=("one",), files=("one.txt",)), qrels, [run])
    assert text.startswith(f"On average {written} of the first 10 documents")


def test_shares_of_unjudged_documents_of_robust_runs_are_what_trec_eval_prints() -> None:
    qrels, runs = robust()
    for name, run in runs.items():
        shares = unjudged_shares(judge(qrels, run, complete=False), 10)
        assert f"{np.mean(shares):.4f}" == f"{printed_by_trec_eval(name)['unj_10']:.4f}"


def test_missing_queries_that_are_left_out_are_told() -> None:
    assert of_kind("missing", comparison(), QRELS, [ONE, TWO]) == [
        (name, "1 of 3 judged queries is missing (3) and left out for all runs.") for name in ("one", "two")
    ]


def test_missing_queries_that_count_are_told() -> None:
    found = comparison(measured(values=np.zeros((2, 3)).tolist(), qids=("1", "2", "3")))
    short = Run({"1": {"a": 1.0}})
    assert of_kind("missing", found, QRELS, [WHOLE, short]) == [
        ("two", "2 of 3 judged queries are missing (2, 3) and count as if nothing had been retrieved.")
    ]


def test_missing_queries_that_count_for_some_measures_are_told() -> None:
    found = comparison(measured("RR@10", values=np.zeros((2, 3)).tolist(), qids=("1", "2", "3")), measured("map"))
    ((run, text),) = of_kind("missing", found, QRELS, [ONE, WHOLE])
    assert run == "one"
    assert text == (
        "1 of 3 judged queries is missing (3). As if nothing had been retrieved count 1 for RR@10; none for map; "
        "others are left out for all runs."
    )


def test_queries_that_were_left_out_of_saved_results_are_told_of_all_runs() -> None:
    found = comparison(measured("map", left_out=("3",)), measured("P_5", left_out=("3", "4")), measured("P_10"))
    assert of_kind("missing", found, None, None) == [
        ("all runs", "1 query is left out of map, as some runs lack it (3)."),
        ("all runs", "2 queries are left out of P_5, as some runs lack them (3, 4)."),
    ]


def test_runs_without_ties_unjudged_documents_and_missing_queries_have_no_warnings() -> None:
    assert warnings_of(comparison(), QRELS, [WHOLE, WHOLE]) == []


def test_warnings_are_in_the_payload() -> None:
    (found,) = report_payload(comparison(measured(left_out=("3",))))["warnings"]
    assert found == {"run": "all runs", "kind": "missing", "text": "1 query is left out, as some runs lack it (3)."}


# Files ----------------------------------------------------------------------------------------------


def test_a_report_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, lambda payload: f"<title>{payload['title']}</title>")
    write_report(tmp_path / "report.html", report_payload(comparison(), title="Ägypten"))
    assert (tmp_path / "report.html").read_bytes() == "<title>Ägypten</title>".encode()


def test_a_report_that_cannot_be_made_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(payload: Mapping[str, Any]) -> str:
        raise EvaluationError("no")

    stand_in(monkeypatch, fails)
    (tmp_path / "report.html").write_text("before")
    with pytest.raises(EvaluationError):
        write_report(tmp_path / "report.html", report_payload(comparison()))
    assert [path.read_text() for path in tmp_path.iterdir()] == ["before"]


def test_a_report_in_a_folder_that_is_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, lambda payload: "")
    with pytest.raises(OutputError, match="cannot be written: No such file or directory"):
        write_report(tmp_path / "none" / "report.html", report_payload(comparison()))


def stand_in(monkeypatch: pytest.MonkeyPatch, page: Any) -> None:
    """Put another page in the place of the report's, which has tests of its own."""
    module = ModuleType("page")
    module.page = page  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "treceval_py.report.page", module)


def test_a_command_that_would_give_other_numbers_is_not_shown() -> None:
    made = signature(ONE)
    whole = report_payload(
        comparison(measured(signature=made)), qrels=QRELS, runs=[ONE, TWO], command="treceval report q"
    )
    assert len(whole["reproduce"]) == 2
    part = measured(signature=made, left_out=("3",))
    assert report_payload(comparison(part), qrels=QRELS, runs=[ONE, TWO], command="c")["reproduce"] == ["c"]
    assert report_payload(comparison(measured(signature=made)), runs=[ONE, TWO], command="c")["reproduce"] == ["c"]


def test_runs_in_another_order_are_refused() -> None:
    one, two = (
        Run.from_columns(r.qids, r.offsets, r.docids, r.scores, name=n) for r, n in ((ONE, "one.txt"), (TWO, "two.txt"))
    )
    with pytest.raises(EvaluationError) as refused:
        report_payload(comparison(), runs=[two, one])
    assert str(refused.value) == "the runs are not in the order of the comparison. Give them in that order."
