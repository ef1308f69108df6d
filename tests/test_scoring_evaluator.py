"""Scoring, Reading and Evaluator: one way of scoring for all functions, prepared once for any number of runs."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refused import refusal
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.data.ranking import Ranking
from treceval_py.judging.streaming import judge_file
from treceval_py.scoring.conventions import Conventions
from treceval_py.scoring.filling import judge_opened, part_of
from treceval_py.scoring.opening import open_run
from treceval_py.scoring.planning import Reading, Scoring

QRELS = {"1": {"a": 1, "b": 0}, "2": {"c": 1}}
# AP of the first query: a at rank 2 of 2, 1/2; of the second: c at rank 1, 1.
RUN = {"1": {"b": 0.9, "a": 0.5}, "2": {"c": 1.0, "x": 0.5}}
LINES = "1 Q0 b 1 0.9 t\n1 Q0 a 2 0.5 t\n2 Q0 c 1 1.0 t\n2 Q0 x 2 0.5 t\n"
TWICE = "1 Q0 a 1 0.9 t\n1 Q0 b 2 0.7 t\n1 Q0 a 3 0.5 t\n2 Q0 c 1 1.0 t\n"

FUNCTIONS: list[Callable[..., object]] = [
    te.evaluate, te.ranges.assess, te.board, te.compare, te.gating.gate, te.explain, te.explaining.arithmetic,
]  # fmt: skip


@pytest.fixture
def run_file(tmp_path: Path) -> str:
    (tmp_path / "run.txt").write_text(LINES)
    return str(tmp_path / "run.txt")


# One evaluator, many runs ---------------------------------------------------------------------------


def test_an_evaluator_scores_any_number_of_runs(run_file: str) -> None:
    evaluator = te.Evaluator(QRELS, te.Scoring(["map"]))
    assert evaluator.score(RUN).mean["map"] == 0.75
    assert evaluator.score({"1": {"a": 1.0}, "2": {"c": 1.0}}).mean["map"] == 1.0
    assert evaluator.score(run_file).mean["map"] == 0.75
    assert evaluator.score(te.Run(RUN)).mean["map"] == 0.75


def test_an_evaluator_says_how_it_scores() -> None:
    evaluator = te.Evaluator(QRELS, te.Scoring(["AP"], profile="ranx"))
    assert [task.asked.name for task in evaluator.plan.tasks] == ["AP"]
    assert evaluator.profile.name == evaluator.plan.profile == "ranx"
    assert str(evaluator.fingerprint) == evaluator.score(RUN).signatures["AP"].judgments


def test_no_measure_is_another_thing_than_no_choice() -> None:
    assert te.evaluate(QRELS, RUN, scoring=te.Scoring(measures=())).names == []
    assert te.evaluate(QRELS, RUN, scoring=te.Scoring()).names == te.evaluate(QRELS, RUN).names != []


def test_what_is_wrong_with_a_way_of_scoring_is_said_before_any_run(snapshot: SnapshotAssertion) -> None:
    wrong: list[dict[str, Any]] = [
        {"measures": ["no such"]}, {"profile": "nobody"}, {"depth": -1}, {"level": -1}, {"collection_size": -1},
    ]  # fmt: skip
    said = [refusal(te.Evaluator, QRELS, te.Scoring(**each)) for each in wrong]
    for threads in (0, 257):
        said.append(refusal(te.Evaluator, QRELS, reading=te.scoring.Reading(threads=threads)))
    assert said == snapshot
    for accepted in (te.Scoring(depth=0), te.Scoring(level=0), te.Scoring(collection_size=0)):
        te.Evaluator(QRELS, accepted, te.scoring.Reading(threads=256))


# All functions take the same options ----------------------------------------------------------------


def test_every_function_takes_every_option_of_scoring() -> None:
    own = {"measures", "signatures"}  # which have other names, or stand for what is explained
    options = {*(each.name for each in dataclasses.fields(Scoring)), *Reading._fields, "scoring"} - own
    lacking = {function.__name__: options - set(inspect.signature(function).parameters) for function in FUNCTIONS}
    assert {name: names for name, names in lacking.items() if names} == {}


CALLS: dict[str, Callable[..., object]] = {
    "evaluate": lambda **options: te.evaluate(QRELS, RUN, **options),
    "assess": lambda **options: te.ranges.assess(QRELS, RUN, **options),
    "board": lambda **options: te.board(QRELS, [], **options),
    "compare": lambda **options: te.compare(QRELS, [RUN, RUN], **options),
    "gate": lambda **options: te.gating.gate(QRELS, RUN, RUN, **options),
    "explain": lambda **options: te.explain(QRELS, RUN, **options),
    "arithmetic": lambda **options: te.explaining.arithmetic(QRELS, RUN, None, "1", **options),
}


def test_a_scoring_beside_other_options_is_refused() -> None:
    options: list[dict[str, Any]] = [
        {"profile": "ranx"}, {"level": 0}, {"complete": True}, {"depth": 3}, {"judged_only": True}, {"collection_size": 9},
    ]  # fmt: skip
    said = {refusal(call, scoring=te.Scoring(["map"]), **option) for call in CALLS.values() for option in options}
    said.add(refusal(te.evaluate, QRELS, RUN, "map", scoring=te.Scoring()))
    assert [*said] == [
        "MeasureError: scoring= already has every scoring option. Remove the other options, or put them into scoring."
    ]


def test_a_signature_in_a_scoring_stands_alone() -> None:
    signature = te.evaluate(QRELS, RUN, "AP").signatures["AP"]
    assert te.evaluate(QRELS, RUN, scoring=te.Scoring(signatures=[signature])).mean["AP(rel=1)"] == 0.75
    said = refusal(te.evaluate, QRELS, RUN, scoring=te.Scoring(level=1, signatures=[signature]))
    assert "a signature already fixes every scoring option" in said


def test_runs_are_compared_as_a_signature_says() -> None:
    signature = te.evaluate(QRELS, RUN, "AP", profile="ranx").signatures["AP"]
    found = te.compare(QRELS, [RUN, RUN], scoring=te.Scoring(signatures=[signature]))
    assert found.measures[0].signature is not None
    assert found.measures[0].signature.profile == "ranx"
    assert found.measures[0].means.tolist() == [0.75, 0.75]


def test_a_board_and_explanations_begin_from_a_profile(run_file: str, snapshot: SnapshotAssertion) -> None:
    scoring = te.Scoring(signatures=[te.evaluate(QRELS, RUN, "AP").signatures["AP"]])
    said = [refusal(te.board, QRELS, [run_file], scoring=scoring), refusal(te.explain, QRELS, RUN, scoring=scoring)]
    assert said == snapshot


def test_a_board_counts_missing_queries_unless_somebody_chose(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("1 Q0 a 1 0.5 t\n")  # AP is 1 in query 1; query 2 is missing
    for complete, mean in ((None, 0.5), (True, 0.5), (False, 1.0)):
        found = te.board(QRELS, [tmp_path / "run"], scoring=te.Scoring(["map"], complete=complete))
        assert found.runs[0].means == (mean,)


# What had drifted -----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*replaced by a later line")
def test_what_is_scored_can_be_explained_under_profiles_that_take_the_last_line(tmp_path: Path) -> None:
    (tmp_path / "run").write_text(TWICE)  # the last line of a puts it below b: AP 1/2
    path = str(tmp_path / "run")
    assert te.evaluate(QRELS, path, "AP", profile="ir_measures")["1"]["AP"] == 0.5
    assert te.explaining.arithmetic(QRELS, path, "AP", "1", profile="ir_measures").value == 0.5
    rows = te.explain(QRELS, path, "AP", profile="ir_measures").measures[0].rows
    assert next(row.outcome.mean for row in rows if row.variant.name == "ir_measures" and row.outcome) == 0.75
    for function in (te.evaluate, te.explain):
        with pytest.raises(te.errors.InputError, match="occurs twice"):
            function(QRELS, path, "AP")


def test_explanations_take_depth_and_judged_only() -> None:
    # Of the first document alone query 1 has none that is relevant.
    assert te.explaining.arithmetic(QRELS, RUN, "AP", "1", depth=1).value == 0.0
    rows = te.explain(QRELS, RUN, "AP", depth=1).measures[0].rows
    assert rows[0].outcome is not None
    assert rows[0].outcome.mean == 0.5
    # Without x, which nobody judged, y stands at rank 1.
    qrels, run = {"1": {"y": 1}}, {"1": {"x": 2.0, "y": 1.0}}
    assert te.explaining.arithmetic(qrels, run, "AP", "1").value == 0.5
    assert te.explaining.arithmetic(qrels, run, "AP", "1", judged_only=True).value == 1.0


# d times the documents that are neither relevant nor retrieved: of 10 documents 1 is relevant and b is retrieved beside.
UTILITY = "utility(coefficients=0,0,0,1)"


def test_the_size_of_the_collection_counts_everywhere() -> None:
    qrels, run = {"1": {"a": 1, "b": 0}}, {"1": {"a": 1.0, "b": 0.5}}
    assert te.evaluate(qrels, run, UTILITY, collection_size=10)["1"][UTILITY] == 8.0
    assert te.explaining.arithmetic(qrels, run, UTILITY, "1", collection_size=10).value == 8.0
    found = te.ranges.assess(qrels, run, UTILITY, unjudged=False, collection_size=10)
    assert next(iter(found.ties.values())).expected_mean == 8.0
    compared = te.compare(qrels, [run, run], UTILITY, collection_size=10)
    assert compared.measures[0].means.tolist() == [8.0, 8.0]


def test_comparing_and_assessing_take_formats(tmp_path: Path) -> None:
    # A ranking of three columns whose last one looks like a rank is recognised as MS MARCO's; it is said here.
    (tmp_path / "run").write_text("1\tb\t1\n1\ta\t2\n2\tc\t1\n")
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n2 0 c 1\n")
    files = {"run_format": "msmarco", "judgment_format": "qrels"}
    path, qrels = str(tmp_path / "run"), str(tmp_path / "qrels")
    assert te.compare(qrels, [path, path], "map", names=["a", "b"], **files).measures[0].means[0] == 0.75  # type: ignore[arg-type]
    assert te.ranges.assess(qrels, path, "map", ties=False, **files).results.mean["map"] == 0.75  # type: ignore[arg-type]
    with pytest.raises(te.errors.TrecevalError):
        te.compare(qrels, [path, path], "map", run_format="trec_results")


def test_ranges_are_computed_with_the_threads_that_were_asked_for(
    run_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int | None] = []

    def watched(*arguments: Any, **options: Any) -> Any:
        seen.append(options["threads"])
        return judge_file(*arguments, **options)

    monkeypatch.setattr("treceval_py.scoring.filling.judge_file", watched)
    assert te.ranges.assess(QRELS, run_file, "map", threads=3).ties["map"].expected_mean == 0.75
    assert seen
    assert set(seen) == {3}


def test_ranges_of_a_stream_are_those_of_its_file(run_file: str) -> None:
    with open(run_file, "rb") as stream:
        found = te.ranges.assess(QRELS, stream, "map")
    assert (found.ties["map"].expected_mean, found.unjudged["map"].highest_mean) == (0.75, 0.75)


@pytest.mark.parametrize("name", ["signatures", "levl"])
def test_an_option_that_no_function_has_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(TypeError, match=f"^unexpected keyword argument '{name}'"):
        te.evaluate(QRELS, RUN, ["AP"], **{name: None})


def test_a_ranking_has_conventions_by_their_names_and_with_their_values() -> None:
    usual, needs = Conventions(), {"tied", "pooled", "confidence", "documents", "sample"}
    assert set(Ranking._fields) - needs < set(Conventions._fields)
    assert usual.ranking() == Ranking()
    for name in set(Ranking._fields) - needs:
        other = next(value for value in (True, 7, "other") if value != getattr(usual, name))
        assert usual._replace(**{name: other}).ranking() == Ranking()._replace(**{name: other})


# One run, judged once -------------------------------------------------------------------------------


def test_judged_rankings_are_kept_only_where_that_is_asked_for() -> None:
    evaluator = te.Evaluator(QRELS)
    ranking = Conventions().ranking()
    kept, forgotten = evaluator.open(RUN), open_run(evaluator.judgments, RUN)
    assert judge_opened(kept, ranking, complete=True) is judge_opened(kept, ranking, complete=True)
    assert judge_opened(forgotten, ranking, complete=True)[0] is not judge_opened(forgotten, ranking, complete=True)[0]


def test_a_part_has_the_queries_that_conventions_count() -> None:
    opened = open_run(te.Qrels(QRELS), {"1": {"a": 1.0}})
    for missing, qids, zeros in (("out", ("1",), [False]), ("zero", ("1", "2"), [False, True])):
        part, fixed = part_of(opened, Conventions(missing=missing), Conventions().ranking())
        assert (part.qids, (fixed == 0).tolist()) == (qids, zeros)


def test_a_run_without_a_judged_query_is_refused() -> None:
    assert "query '7' is not judged" in refusal(te.Evaluator(QRELS, te.Scoring(["map"])).score, {"7": {"a": 1.0}})


@pytest.mark.filterwarnings("ignore::treceval_py.errors.SuspectRunWarning")
def test_ranges_and_boards_take_a_run_that_scoring_takes(tmp_path: Path) -> None:
    # Under this profile one measure counts all judged queries and the other only those of the run.
    run, scoring = {"7": {"a": 1.0, "b": 1.0}}, te.Scoring(["Judged@10", "P@5"], "ir_measures")
    assert dict(te.evaluate(QRELS, run, scoring=scoring).mean) == {"Judged@10": 0.0, "P@5": 0.0}
    ties = te.ranges.assess(QRELS, run, scoring=scoring, unjudged=False).ties
    assert [ties[name].highest_mean for name in ("Judged@10", "P@5")] == [0.0, 0.0]
    te.write_run(te.Run(run), tmp_path / "run.txt")
    (other,) = te.board(QRELS, tmp_path, "map").runs
    assert (other.means, other.tied, other.warnings) == ((0.0,), 0, ("no query of the run is judged",))


# Judgments as dictionaries --------------------------------------------------------------------------


class Odd(str):
    """Text that nothing equals."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return 7


def test_judgments_are_copied_when_they_are_given() -> None:
    labels = {"a": 1}
    qrels = te.Qrels({"1": labels})
    labels["b"], labels["a"] = 1, 0
    assert te.evaluate(qrels, {"1": {"b": 2.0, "a": 1.0}}, "map")["1"]["map"] == 0.5


@pytest.mark.parametrize("label", [True, np.int64(1), np.uint8(1)], ids=repr)
def test_labels_of_other_types_count_as_their_numbers(label: int) -> None:
    results = te.evaluate({"1": {"a": label, "b": 0}}, {"1": {"b": 2.0, "a": 1.0}}, ["map", "relstring"])
    assert (results["1"]["map"], results.text("relstring")) == (0.5, {"1": "01"})


def test_documents_are_the_same_if_their_bytes_are() -> None:
    run = {"1": {"x": 2.0, "a": 1.0}}
    assert te.evaluate({"1": {Odd("a"): 1}}, run, "map").mean["map"] == 0.5
    # A letter of two bytes, and two characters that stand for these bytes.
    assert te.evaluate({"1": {"\udcc3\udca9": 1}}, {"1": {"x": 2.0, "é": 1.0}}, "map").mean["map"] == 0.5
    with pytest.raises(te.errors.DataError, match="encoded as the same bytes"):
        te.Qrels({"1": {"\udcc3\udca9": 1, "é": 1}})


# What can be read only once --------------------------------------------------------------------------


def test_a_scoring_made_of_generators_scores_more_than_once() -> None:
    names = ["map", "P_5"]
    signatures = te.evaluate(QRELS, RUN, names).signatures.values()
    for scoring in (te.Scoring(name for name in names), te.Scoring(signatures=(each for each in signatures))):
        for _ in range(2):
            results = te.Evaluator(QRELS, scoring).score(RUN)
            assert dict(results["1"]).popitem()[1] == 0.2  # P@5: one of five
            assert len(results.names) == 2
        # The other run has a first: AP is 1 in both queries.
        compared = te.compare(QRELS, {"one": RUN, "two": {"1": {"a": 1.0}, "2": {"c": 1.0}}}, scoring=scoring)
        assert compared.measures[0].means.tolist() == [0.75, 1.0]


def test_the_arithmetic_is_that_of_one_measure(snapshot: SnapshotAssertion) -> None:
    assert te.explaining.arithmetic(QRELS, RUN, None, "1", scoring=te.Scoring(name for name in ["map"])).value == 0.5
    several = (te.Scoring(["map", "P.5"]), te.Scoring([]), te.Scoring("P.5,10"), te.Scoring(signatures=()))
    assert [refusal(te.explaining.arithmetic, QRELS, RUN, None, "1", scoring=each) for each in several] == snapshot
