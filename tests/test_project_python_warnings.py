"""Warnings name the line of the program that calls this package, whatever they go through."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import treceval

import treceval_py as te

QRELS = {"1": {"a": 1, "b": 0}, "2": {"c": 2}, "3": {"d": 1}}
RUN = {"1": {"b": 2.0, "a": 1.0}, "2": {"c": 1.0}, "9": {"a": 1.0}}
"""Lacks query 3, and has query 9, which is not judged."""

FILES = {
    "qrels": "1 0 a 1\n1 0 b 0\n2 0 c 2\n3 0 d 1\n",
    "run": "1 Q0 b 1 2.0 t\n1 Q0 a 2 1.0 t\n2 Q0 c 1 1.0 t\n9 Q0 a 1 1.0 t\n",
    # the rank in the place of the score, and the score in that of the rank
    "swapped": "".join(f"1 Q0 {docid} {11 - 2 * rank} {rank} s\n" for rank, docid in enumerate("abcde", 1)),
    "norms": "1 map nan 1.0\n",
}
EIGHT = {f"q{number}": {"a": 1} for number in range(8)}
AMBIGUOUS = "hits@10"  # here a count; in TF-Ranking another measure

CALLS: dict[str, Callable[[], Any]] = {
    "evaluate": lambda: te.evaluate(QRELS, RUN, ["AP"]),
    "evaluate, a file": lambda: te.evaluate("qrels", "run", ["AP"]),
    "evaluate, a profile": lambda: te.evaluate(QRELS, RUN, ["AP"], profile="beir"),
    "evaluate, arrays": lambda: te.evaluate([[1, 0, 1]], [[0.5, 0.4, 0.3]], [AMBIGUOUS]),
    "Evaluator": lambda: te.Evaluator(QRELS, te.Scoring([AMBIGUOUS])),
    "Evaluator.score": lambda: te.Evaluator(QRELS, te.Scoring(["AP"])).score(RUN),
    "compare": lambda: te.compare("qrels", ["swapped", "run"], ["AP"]),
    "board": lambda: te.board("qrels", ["swapped", "run"], ["AP"]),
    "explain": lambda: te.explain(QRELS, RUN, [AMBIGUOUS]),
    "fuse": lambda: te.fuse([RUN, RUN]),
    "write_run": lambda: te.write_run({"1": {"a": 1.0}, "2": {}}, "out"),
    "convert": lambda: te.convert(te.Run({"1": {"a": 1.0}, "2": {}}), "out"),
    "arithmetic": lambda: te.explaining.arithmetic(QRELS, RUN, AMBIGUOUS, "1"),
    "tune_fusion": lambda: te.fusing.tune_fusion(runs=[EIGHT, EIGHT], qrels=EIGHT, folds=2),
    "gate": lambda: te.gating.gate(QRELS, RUN, RUN, [AMBIGUOUS]),
    "agree": lambda: te.judges.agree([QRELS, QRELS], [RUN, RUN], [AMBIGUOUS]),
    "assess": lambda: te.ranges.assess(QRELS, RUN, [AMBIGUOUS]),
    "write_qrels": lambda: te.io.write_qrels({"1": {"a": 1}, "2": {}}, "out"),
    "read_norms": lambda: te.scoring.read_norms("norms"),
    "beir": lambda: te.integrations.beir.evaluate(QRELS, RUN, [10]),
    "mteb": lambda: te.integrations.mteb.scores(QRELS, RUN, [10]),
}

QUIET = {"check", "measures", "profiles", "read_qrels", "read_run", "report"}
"""Functions without warnings: they return what they have to say, or refuse."""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", CALLS)
def test_a_warning_has_the_line_of_the_caller(name: str) -> None:
    call = CALLS[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert caught
    places = {(each.filename, each.lineno) for each in caught}
    assert places == {(__file__, call.__code__.co_firstlineno)}
    assert {issubclass(each.category, te.errors.TrecevalWarning) for each in caught} == {True}


def test_every_public_function_is_among_them() -> None:
    functions = {name for name in te.__all__ if inspect.isfunction(getattr(te, name))}
    assert functions - QUIET <= CALLS.keys()


@pytest.mark.parametrize("profile", ["trec_eval-10", "beir", "msmarco"])
def test_warnings_are_the_notes_of_the_command(profile: str) -> None:
    (Path.cwd() / "other").write_text(FILES["run"].replace("9 Q0", "8 Q0") + FILES["swapped"].replace("1 Q0", "7 Q0"))
    for run in ("run", "swapped", "other"):
        for measure in ("AP", "ERR@10", "RR@10"):
            done = treceval(["--profile", profile, "-m", measure, "qrels", run], folder=Path.cwd())
            notes = [line.removeprefix("note: ") for line in done.err.decode().splitlines()]
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                te.evaluate("qrels", run, measure, profile=profile)
            said = [str(each.message).replace("complete=True", "-c") for each in caught]
            # what was asked for, by the profile, is only noted
            assert said == [text for text in notes if "empty ranking" not in text and "with -l 1" not in text]
