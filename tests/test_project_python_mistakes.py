"""First mistakes in Python: what somebody gets who has not read the documentation."""

from __future__ import annotations

import io
import json
import pickle
import tomllib
import warnings
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest
from command import table
from syrupy.assertion import SnapshotAssertion
from test_cli_mistakes import write_files

import treceval_py as te

MISTAKES: dict[str, list[str]] = {
    kind: text.removeprefix("\n").splitlines()
    for kind, text in tomllib.loads(Path(__file__).with_name("first_mistakes_python.toml").read_text("utf-8")).items()
}


def ndcg_score(y_true: Any, y_score: Any) -> float:
    """Stand in for scikit-learn's function."""
    return 0.0


def names() -> dict[str, Any]:
    """Return the names that the lines use."""
    qrels = {"1": {"a": 1, "b": 0}, "2": {"c": 2}}
    run = {"1": {"b": 3.5, "a": 2.5}, "2": {"c": 0.25}}
    frame = pd.DataFrame({"qid": ["1", "1", "2"], "docid": ["b", "a", "c"], "score": [3.5, 2.5, 0.25]})
    return {
        "te": te,
        "np": np,
        "pd": pd,
        "json": json,
        "pickle": pickle,
        "Path": Path,
        "nDCG": ir_measures.nDCG,
        "ndcg_score": ndcg_score,
        "qrels": qrels,
        "run": run,
        "frame": frame,
        "results": te.evaluate(qrels, run, ["AP", "nDCG@10"]),
    }


def tried(line: str, there: dict[str, Any]) -> str:
    """Return what a line gets: the warnings, then the error or what a notebook shows."""
    out = io.StringIO()
    with warnings.catch_warnings(record=True) as caught, redirect_stdout(out):
        warnings.simplefilter("always")
        try:
            value = eval(line, there)
            shown = repr(value) if value is not None else ""
        except Exception as error:  # noqa: BLE001 - of Python itself, too
            shown = f"{type(error).__name__}: {error}"
    said = [f"{each.category.__name__}: {each.message}" for each in caught if each.category is not ResourceWarning]
    lines = (out.getvalue() + shown).splitlines()
    return "\n    ".join([*said, *lines[:9], *["…"] * (len(lines) > 9)])


@pytest.mark.parametrize("kind", MISTAKES)
def test_a_first_mistake_gets_a_message_that_says_what_to_type(
    kind: str, tmp_path: Path, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    there = names()
    assert table({line: tried(line, there) for line in MISTAKES[kind]}) == snapshot


def test_there_are_fifty_of_them() -> None:
    assert sum(map(len, MISTAKES.values())) >= 50
