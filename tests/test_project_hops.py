"""The way of a run through the core is short: how many functions of the package are entered, and how often in turn.

A change is a function that is entered after one of another file: what a reader who follows the way has to open next. Not
files are counted, so that merging two of them gains nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

import treceval_py as te
from treceval_py.cli.commands import run
from treceval_py.scan import scanner

pytestmark = pytest.mark.skipif(scanner() is None, reason="the budgets are those of the compiled reader")

PACKAGE = os.path.dirname(te.__file__) + os.sep

IN_PLACE = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<module>"}
"""Code that a version of Python may run as a function of its own, or not."""


def entered(act: Callable[[], object]) -> tuple[int, int]:
    """Return how many functions of the package are entered, and how often another file is; imports don't count."""
    act()
    way: list[CodeType] = []

    def watch(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and code.co_name not in IN_PLACE:
            way.append(code)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        act()
    finally:
        sys.setprofile(before)
    files = [code.co_filename for code in way]
    return len(set(way)), sum(one != other for one, other in pairwise(files))


def test_functions_are_counted_once_and_changes_of_file_each_time() -> None:
    assert entered(lambda: te.Qrels) == (0, 0)
    # Three constructors, of run, table and ids, and what they need.
    functions, changes = entered(lambda: te.Run({"1": {"a": 1.0}}))
    again = entered(lambda: [te.Run({"1": {"a": 1.0}}) for _ in range(3)])
    assert again == (functions, 3 * changes + 2)
    assert 0 < changes < functions


def test_evaluating_dictionaries_is_a_short_way() -> None:
    qrels, scores = {"1": {"a": 1, "b": 0}, "2": {"c": 2}}, {"1": {"b": 0.9, "a": 0.5}, "2": {"c": 1.0, "x": 2.0}}
    functions, changes = entered(lambda: te.evaluate(qrels, scores, ["map"]))
    assert functions <= 50
    assert changes <= 32


def test_scoring_a_file_by_the_command_is_a_short_way(tmp_path: Path, capfdbinary: Any) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n2 0 c 2\n")
    (tmp_path / "run").write_text("1 Q0 b 1 0.9 t\n1 Q0 a 2 0.5 t\n2 Q0 x 1 2.0 t\n2 Q0 c 2 1.0 t\n")
    arguments = ["-m", "map", str(tmp_path / "qrels"), str(tmp_path / "run")]
    functions, changes = entered(lambda: run(arguments))
    assert capfdbinary.readouterr().out == b"map                   \tall\t0.5000\n" * 2
    assert functions <= 133  # a file is closed now or by the garbage collector
    assert changes <= 76
