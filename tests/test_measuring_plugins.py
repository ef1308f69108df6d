"""Modules of users: what their measures are computed from, however it is annotated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from command import treceval
from refused import refusal

import treceval_py as te
from treceval_py.judging.judged import JudgedGroups, JudgedRun
from treceval_py.judging.preferences import JudgedPreferences
from treceval_py.measuring import FAMILIES
from treceval_py.measuring.plugins import load_plugin

FILES = {"qrels": "1 0 a 1\n1 0 b 2\n", "run": "1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n"}
# Two documents are judged 1 or more, one is judged 2.


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with judgments and a run; the measures of its plugins are forgotten."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    with patch.dict(FAMILIES):
        yield tmp_path


FUTURE = "from __future__ import annotations\n"
CHECKED = "from typing import TYPE_CHECKING\nfrom treceval_py.measuring import declare\nif TYPE_CHECKING:\n    "
SOURCE = """{head}

def found(run: {run}, *, level: {level} = 1):
    return run.num_rel_ret(level)

declare(found, "found")
"""

UNDERSTOOD = {
    "no annotations": ("from treceval_py.measuring import declare", None, None),
    "imported": ("from treceval_py.judging import JudgedRun\nfrom treceval_py.measuring import declare", "JudgedRun", "int"),
    "quoted": (CHECKED + "from treceval_py.judging import JudgedRun", "'JudgedRun'", "'int | None'"),
    "future": (FUTURE + "from treceval_py.judging import JudgedRun\nfrom treceval_py.measuring import declare", "JudgedRun", "int"),
    "checked": (FUTURE + CHECKED + "from treceval_py.judging import JudgedRun", "JudgedRun", "int"),
    "checked module": (FUTURE + CHECKED + "import treceval_py as te", "te.judging.JudgedRun", "int"),
    "alias": (FUTURE + "import treceval_py as te\nfrom treceval_py.measuring import declare", "te.judging.JudgedRun", "int"),
    "checked alias": (FUTURE + CHECKED + "from treceval_py.judging import JudgedRun as Run", "Run", "int"),
    "other annotations": (FUTURE + CHECKED + "import numpy as np\n    from a import Level, R as JudgedRun", "JudgedRun", "Level | np.int64"),
    "optional": (FUTURE + CHECKED + "from treceval_py.judging import JudgedRun", "Optional[JudgedRun]", "int"),
}  # fmt: skip


@pytest.mark.parametrize("kind", UNDERSTOOD)
def test_a_plugin_is_understood_however_it_is_annotated(kind: str, folder: Path) -> None:
    head, run, level = UNDERSTOOD[kind]
    source = SOURCE.format(head=head, run=run, level=level)
    if run is None:
        source = source.replace(": None", "")
    (folder / "own.py").write_text(source)
    done = treceval(["--plugin", "own.py", "-m", "found", "-m", "found(rel=2)", "qrels", "run"], folder=folder)
    assert done.status == 0, done.err
    assert [line.split() for line in done.out.decode().splitlines()] == [
        ["found", "all", "2.0000"],
        ["found(rel=2)", "all", "1.0000"],
    ]
    assert FAMILIES["found"].judged is JudgedRun
    del FAMILIES["found"]
    (folder / "again.py").write_text(source)
    load_plugin(str(folder / "again.py"))
    assert te.evaluate(folder / "qrels", folder / "run", "found(rel=2)").mean == {"found(rel=2)": 1.0}


@pytest.mark.parametrize(
    ("annotation", "judged"),
    [
        ("nowhere.JudgedGroups", JudgedGroups),
        ("JudgedPreferences", JudgedPreferences),
        ("JudgedRun | x.JudgedGroups", JudgedRun | JudgedGroups),
        ("Any", Any),
        ("int", int),
    ],
)
def test_what_a_function_takes_is_found_in_the_text_of_its_annotation(annotation: str, judged: Any) -> None:
    def function(run, *, level=1):  # type: ignore[no-untyped-def]
        return run.num_rel_ret(level)

    function.__annotations__["run"] = annotation
    function.__globals__["Any"] = Any
    family = te.measuring.declare(function, "taken")
    assert family.judged == judged
    del FAMILIES["taken"]


@pytest.mark.parametrize("annotation", ["Nonsense", "te.Nonsense", "Nonsense[", "1 / 0", "not a type", "JudgedRunner"])
def test_an_annotation_that_is_not_understood_is_refused(annotation: str, folder: Path) -> None:
    (folder / "own.py").write_text(SOURCE.format(head=CHECKED + "pass", run=repr(annotation), level="int"))
    done = treceval(["--plugin", "own.py", "-m", "found", "qrels", "run"], folder=folder)
    message = (
        f"measure 'found', defined by found in own.py:6, takes '{annotation}', which is not known. "
        "Annotate its first parameter with JudgedRun, JudgedGroups or JudgedPreferences."
    )
    assert (done.status, done.err.decode()) == (2, f"treceval: plugin 'own.py': {message}\n")
    assert refusal(load_plugin, str(folder / "own.py")).endswith(message)
    assert "found" not in FAMILIES
