"""Measures by query over documents, and measures that are declared again."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from command import treceval
from refused import refusal
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.measuring import FAMILIES

MESSY = [str(Path(__file__).parent.parent / "data" / "messy" / name) for name in ("qrels.txt", "run.txt")]
QRELS = {"1": {"a": 1, "b": 0, "c": 2, "n": -1}, "2": {"a": 1}, "3": {"z": 1}}
RUN = {"1": {"b": 3.0, "a": 2.0, "x": 1.0, "n": 0.5}, "2": {"a": 1.0}}


@pytest.fixture(autouse=True)
def _declared() -> Iterator[None]:
    """Forget the measures that a test declares."""
    with patch.dict(FAMILIES):
        yield


def precision(query: te.judging.RankedQuery, *, level: int = 1) -> float:
    """Share of relevant documents among all that were retrieved."""
    found = [label is not None and label >= level for label in query.labels]
    return sum(found) / len(found) if found else 0.0


# By query -------------------------------------------------------------------------------------------


def test_a_function_gets_a_query_as_it_was_ranked() -> None:
    seen: list[te.judging.RankedQuery] = []
    te.measuring.measure_by_query(lambda query: seen.append(query) or 0.0, "seen")
    te.evaluate(QRELS, RUN, "seen", complete=True)
    first, second, third = seen
    assert (first.qid, first.docids, first.scores.tolist()) == ("1", ("b", "a", "x", "n"), [3.0, 2.0, 1.0, 0.5])
    assert (first.ranks.tolist(), first.labels) == ([1, 2, 3, 4], (0, 1, None, None))
    assert first.judgments == QRELS["1"]
    assert (second.docids, second.labels) == (("a",), (1,))
    assert (third.qid, third.docids, third.scores.tolist(), third.judgments) == ("3", (), [], {"z": 1})


def test_a_cutoff_and_parameters_belong_to_the_notation() -> None:
    te.measuring.measure_by_query(precision, "mine")
    results = te.evaluate({"1": QRELS["1"]}, RUN, ["mine", "mine@2", "mine(rel=2)@2", "mine_cut_3"])
    assert results["1"] == {"mine": 0.25, "mine@2": 0.5, "mine(rel=2)@2": 0.0, "mine_cut_3": 1 / 3}
    assert results.mean["mine_cut_2"] == 0.5
    assert results.signatures["mine@2"].short.startswith("mine(rel=1)@2|p:trec_eval-10|")


@pytest.mark.filterwarnings("ignore::treceval_py.errors.MissingQueriesWarning")
def test_documents_are_ranked_as_for_every_measure() -> None:
    def hits(query: te.judging.RankedQuery, *, level: int = 1) -> float:
        return sum(label is not None and label >= level for label in query.labels) / 5

    te.measuring.measure_by_query(hits, "mine")
    names = ["mine@5", "P(norm=cutoff)@5"]  # with its divisor, as profiles may have another
    qrels, run = te.read_qrels(MESSY[0]), te.read_run(MESSY[1])
    for profile in te.scoring.PROFILES:
        for way in ({}, {"depth": 3}, {"judged_only": True}, {"depth": 7, "judged_only": True, "complete": True}):
            for given in (MESSY[1], run) if profile == "msmarco" else (MESSY[1], run, run.to_dict()):
                found = te.evaluate(qrels, given, names, profile=profile, **way)
                mine, theirs = found.matrix.T
                assert mine.tolist() == theirs.tolist(), (profile, way)
                assert found.mean[names[0]] == found.mean[names[1]], (profile, way)


def test_lines_of_a_file_may_stand_in_any_order(tmp_path: Path) -> None:
    drawn = random.Random(3)
    rows = [(qid, f"d{number}", drawn.randrange(9)) for qid in range(40) for number in range(20)]
    drawn.shuffle(rows)
    (tmp_path / "run").write_text("".join(f"{qid} Q0 {docid} 1 {score} t\n" for qid, docid, score in rows))
    (tmp_path / "qrels").write_text(
        "".join(f"{qid} 0 d{number} 1\n" for qid in range(40) for number in range(0, 20, 3))
    )
    te.measuring.measure_by_query(lambda query: float(sum(1 for label in query.labels if label)) / 4, "mine")
    results = te.evaluate(tmp_path / "qrels", tmp_path / "run", ["mine@4", "P@4"])
    assert [each["mine@4"] for each in results.values()] == [each["P@4"] for each in results.values()]


def test_what_goes_wrong_in_a_function_is_said_with_its_place(snapshot: SnapshotAssertion) -> None:
    said = []
    for function in (lambda _: 1 / 0, lambda _: None, lambda _: "0.5", lambda query: query.nothing):
        te.measuring.measure_by_query(function, "odd")
        message = refusal(te.evaluate, QRELS, RUN, "odd", complete=True)
        place = f"{Path(__file__).name}:{function.__code__.co_firstlineno}"
        assert place in message
        said.append(message.replace(place, "FILE:LINE"))
        del FAMILIES["odd"], FAMILIES["odd_cut"]
    assert said == snapshot


def test_errors_of_ours_pass() -> None:
    def refuse(query: te.judging.RankedQuery) -> float:
        raise te.errors.EvaluationError(f"query {query.qid} is not for me")

    te.measuring.measure_by_query(refuse, "odd")
    assert refusal(te.evaluate, QRELS, RUN, "odd", complete=True) == "EvaluationError: query 1 is not for me."


def test_a_cutoff_of_the_function_itself_is_refused() -> None:
    said = refusal(te.measuring.measure_by_query, lambda query, *, cutoff: 0.0, "odd")
    assert "measure 'odd' has a parameter 'cutoff', but odd@k gets the first k" in said


def test_a_run_that_was_judged_without_documents_is_refused() -> None:
    family = te.measuring.measure_by_query(precision, "mine")
    judged = te.judging.judge(te.Qrels(QRELS), te.Run(RUN))
    assert "needs all documents that were retrieved. Judge the run with doc" in refusal(
        te.measuring.Measure(family), judged
    )
    judged = te.judging.judge(te.Qrels(QRELS), te.Run(RUN), documents=True)
    assert te.measuring.Measure(family)(judged).tolist() == [0.25, 1.0, 0.0]


def test_commands_take_it_for_a_measure_of_somebody_else(tmp_path: Path) -> None:
    te.measuring.measure_by_query(precision, "mine")
    qrels, run = MESSY
    assert treceval(["-m", "mine@5", qrels, run]).out.startswith(b"mine@5 ")
    assert treceval(["measures", "mine"]).out.startswith(b"mine")
    assert te.explaining.arithmetic(qrels, run, "mine@5", "1").apart is False
    assert len({row.outcome.mean for row in te.explain(qrels, run, "mine@5").measures[0].rows if row.outcome}) > 1
    done = treceval(["--ties", "-m", "mine@5", qrels, run])
    assert done.err.startswith(b"treceval: --ties does not support mine@5. Choose another measure")
    saved = tmp_path / "saved.json"
    te.evaluate(qrels, run, ["mine@5"], complete=True).save(saved)
    assert te.comparing.read_results(saved).signatures["mine@5"].measure.family is FAMILIES["mine_cut"]


# Declared again -------------------------------------------------------------------------------------


def executed(source: str, file: str, module: str = "__main__") -> Callable[..., Any]:
    """Return the function ``mine`` of a source, as a notebook or a file that is run has it."""
    space: dict[str, Any] = {"__name__": module}
    exec(compile(source, file, "exec"), space)
    found: Callable[..., Any] = space["mine"]
    return found


SOURCE = "def mine(run):\n    return [{value}] * run.num_queries\n"
CELLS = "/tmp/ipykernel_7/11.py", "/tmp/ipykernel_7/22.py"
"""A notebook's kernel names a cell by its text, so that a changed one has another name."""


def value() -> float:
    return te.evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, "own").mean["own"]


def test_a_cell_can_be_run_again_and_changed() -> None:
    te.measuring.declare(executed(SOURCE.format(value=0.25), CELLS[0]), "own")
    te.measuring.declare(executed(SOURCE.format(value=0.25), CELLS[0]), "own")
    assert value() == 0.25
    te.measuring.declare(
        executed("def mine(run):\n    values = [0.75]\n    return values * run.num_queries\n", CELLS[1]), "own"
    )
    assert value() == 0.75


def test_a_lambda_of_another_cell_does_not_take_a_name() -> None:
    source = "mine = lambda run: [{}] * run.num_queries\n"
    te.measuring.declare(executed(source.format(0.25), CELLS[0]), "own")
    te.measuring.declare(executed(source.format(0.25), CELLS[1]), "own")
    with pytest.raises(te.errors.MeasureError, match="there is already a measure called 'own'"):
        te.measuring.declare(executed(source.format(0.5), CELLS[1]), "own")


def test_a_cell_with_a_measure_by_query_can_be_run_again() -> None:
    source = "def mine(query):\n    return {}\n"
    for found in (0.25, 0.5):
        te.measuring.measure_by_query(executed(source.format(found), CELLS[0]), "own")
        assert value() == found


def test_a_file_can_be_run_again() -> None:
    for found in (0.25, 0.25):
        te.measuring.declare(executed(SOURCE.format(value=found), "/home/me/mine.py", "mine"), "own")
    assert value() == 0.25


@pytest.mark.parametrize(
    ("source", "file", "module"),
    [
        ("\n" + SOURCE, "/home/me/mine.py", "mine"),  # at another line
        (SOURCE, "/home/me/other.py", "mine"),
        (SOURCE, "/home/me/mine.py", "other"),
        (SOURCE, "/home/me/mine.py", "__main__"),  # after a cell
        ("def other(run):\n    return [1.0] * run.num_queries\nmine = other\n", CELLS[0], "__main__"),
        ("mine = lambda run: [1.0] * run.num_queries\n", CELLS[0], "__main__"),
    ],
    ids=["line", "file", "module", "no cell", "name", "lambda"],
)
def test_another_function_does_not_take_a_name(source: str, file: str, module: str) -> None:
    first = executed(SOURCE.format(value=0.25), *(CELLS[:1] if module == "__main__" else ("/home/me/mine.py", "mine")))
    te.measuring.declare(first, "own")
    other = executed(source.format(value=1.0), file, module)
    with pytest.raises(te.errors.MeasureError) as caught:
        te.measuring.declare(other, "own")
    place = f"mine in {Path(first.__code__.co_filename).name}:1"
    assert str(caught.value) == (
        f"there is already a measure called 'own', defined by {place}. "
        "Choose another name, or replace that measure: declare(…, replace=True)."
    )
    te.measuring.declare(other, "own", replace=True)
    assert value() == 1.0


@pytest.mark.parametrize("name", ["nDCG", "NDCG", "RR", "MRR", "MAP", "mAP", "SetMAP", "hit_rate", "mine", "Mine"])
@pytest.mark.parametrize("as_notation", [False, True])
def test_a_measure_cannot_take_a_name_of_another(name: str, as_notation: bool) -> None:
    def declared(name: str) -> object:
        named = ("own", [name]) if as_notation else (name, [])
        return te.measuring.measure_by_query(lambda query: 0.25, named[0], notation=named[1])

    te.measuring.measure_by_query(lambda query: 0.5, "mine", notation=["Mine"])
    fault = (
        "there is already a measure called 'mine'" if name == "mine" and not as_notation else f"'{name}' already means"
    )
    with pytest.raises(te.errors.MeasureError, match=f"^{fault}"):
        declared(name)
    assert declared(f"{name}_of_us")


@pytest.mark.parametrize("name", ["map", "official"])
def test_a_measure_of_this_package_is_never_replaced(name: str) -> None:
    with pytest.raises(
        te.errors.MeasureError, match=f"^there is already a measure called '{name}'. Choose another name.$"
    ):
        te.measuring.declare(lambda run: [0.0] * run.num_queries, name, replace=True)


def test_a_name_means_what_was_declared_last() -> None:
    qrels, run = {"1": {"a": 1}}, {"1": {"a": 1.0}}
    te.measuring.declare(lambda run: [1.0] * run.num_queries, "ones")
    te.measuring.declare(lambda run: [2.0] * run.num_queries, "twos", written={"Zork": ""})
    assert te.evaluate(qrels, run, ["Zork"]).mean["Zork"] == 2.0
    te.measuring.declare(lambda run: [1.0] * run.num_queries, "ones", written={"Zork": ""}, replace=True)
    assert te.evaluate(qrels, run, ["Zork"]).mean["Zork"] == 1.0


def test_results_of_a_replaced_measure_keep_their_values() -> None:
    te.measuring.declare(executed(SOURCE.format(value=0.25), CELLS[0]), "own", notation=["Own"])
    results = te.evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, ["Own", "map"])
    te.measuring.declare(executed(SOURCE.format(value=0.75), CELLS[1]), "own", notation=["Own"])
    for found in (results, pickle.loads(pickle.dumps(results))):
        assert found.mean["own"] == found["1"]["Own"] == 0.25
        assert found.signatures["Own"].short.startswith("Own|p:trec_eval-10|")
        assert found.to_dict() == {"1": {"Own": 0.25, "map": 1.0}}
