"""A measure's object, of this package or of ir_measures, is taken wherever its name is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import treceval_py as te

QRELS = {f"q{number}": {"a": 1, "b": 0} for number in range(8)}
RUN = {qid: {"b": 2.0, "a": 1.0} for qid in QRELS}
OTHER = {qid: {"a": 2.0, "b": 1.0} for qid in QRELS}
RUNS = [RUN, OTHER]


def _of_ir_measures(name: str) -> Any:
    return pytest.importorskip("ir_measures").parse_measure(name)


# Each takes a measure, and gives what has its name.
TAKES: dict[str, Callable[[Any], Any]] = {
    "evaluate": lambda measure: te.evaluate(QRELS, RUN, measure).to_dict(),
    "evaluate, several": lambda measure: te.evaluate(QRELS, RUN, [measure, "AP"]).to_dict(),
    "Scoring": lambda measure: te.Evaluator(QRELS, te.Scoring([measure])).score(RUN).to_dict(),
    "averages": lambda measure: te.evaluate(QRELS, RUN, ["RR@10"]).mean[measure],
    "values of a query": lambda measure: te.evaluate(QRELS, RUN, ["RR@10"])["q1"].get(measure),
    "compare": lambda measure: te.compare(QRELS, RUNS, [measure])[measure].means.tolist(),
    "Comparison.sorted": lambda measure: te.compare(QRELS, RUNS, ["RR@10"]).sorted(measure).runs,
    "Comparison.plot": lambda measure: te.compare(QRELS, RUNS, ["AP", "RR@10"]).plot(measure=measure).spec,
    "board": lambda measure: te.board(QRELS, ["one", "two"], measure).plot(measure).spec,
    "explain": lambda measure: te.explain(QRELS, RUN, measure).plot(measure).spec,
    "arithmetic": lambda measure: te.explaining.arithmetic(QRELS, RUN, measure, "q1").value,
    "tune_fusion": lambda measure: (
        te.fusing.tune_fusion(runs=RUNS, qrels=QRELS, folds=2, measure=measure).tuned.measure
    ),
    "gate": lambda measure: str(te.gating.gate(QRELS, RUN, OTHER, measure, margin={measure: 0.1})[measure]),
    "agree": lambda measure: str(te.judges.agree([QRELS, QRELS], RUNS, measure)),
    "assess": lambda measure: repr(te.ranges.assess(QRELS, RUN, measure)),
    "RelevanceEvaluator": lambda measure: te.RelevanceEvaluator(QRELS, {measure}).evaluate(RUN),
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, run in zip(("one", "two"), RUNS, strict=True):
        te.write_run(run, name, tag=name)


@pytest.mark.parametrize("name", TAKES)
@pytest.mark.parametrize("made", [lambda name: te.measuring.parse_measures(name)[0], _of_ir_measures], ids=["te", "ir"])
def test_an_object_gives_what_its_name_gives(name: str, made: Callable[[str], Any]) -> None:
    assert TAKES[name](made("RR@10")) == TAKES[name]("RR@10")
