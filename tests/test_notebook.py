"""The notebook runs from a fresh start, and shows what it holds."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HOME = Path(__file__).parent.parent


def _runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_notebook", HOME / "docs" / "notebook.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


runner = _runner()
NOTEBOOK: dict[str, Any] = json.loads((HOME / "docs" / "notebook.ipynb").read_text("utf-8"))
CELLS = [cell for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]


def cell(source: str) -> dict[str, Any]:
    return {"cell_type": "code", "source": [source], "outputs": [], "metadata": {}, "id": "x", "execution_count": None}


@pytest.mark.slow
def test_the_cells_show_what_is_stored() -> None:
    pytest.importorskip("ir_measures")
    pytest.importorskip("vl_convert")
    pytest.importorskip("pyarrow")
    # in a process of its own: a cell declares a measure, and another one changes ir_measures
    command = [sys.executable, str(HOME / "docs" / "notebook.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_it_is_a_notebook_as_jupyter_writes_it() -> None:
    assert (NOTEBOOK["nbformat"], NOTEBOOK["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in NOTEBOOK["cells"]}) == len(NOTEBOOK["cells"])
    assert all(cell["outputs"] for cell in CELLS)
    assert not any(output["output_type"] == "error" for cell in CELLS for output in cell["outputs"])


@pytest.mark.parametrize(
    "shows",
    [
        "ndcg@10", "profile=", "pd.DataFrame", "pa.Table", "read_run(text=", "np.array", "to_pandas", "te.compare",
        ".plot(", "te.explain", "RelevanceEvaluator", "provide()", "te.Evaluator", "complete=True", "measure_by_query",
    ],
)  # fmt: skip
def test_it_shows_each_of_these(shows: str) -> None:
    assert any(shows in "".join(cell["source"]) for cell in CELLS)


def test_it_holds_no_path_of_a_machine() -> None:
    assert re.findall(r"/(?:home|root|tmp|Users|work)/", json.dumps(NOTEBOOK)) == []


def test_a_cell_shows_its_last_value_what_it_prints_and_what_it_warns_of() -> None:
    source = "import warnings\nprint('said')\nwarnings.warn('careful')\ndisplay(1)\n2 + 2"
    (found,) = runner.run({"cells": [cell(source)]})["cells"]
    assert [(output["output_type"], output.get("text")) for output in found["outputs"]] == [
        ("stream", ["UserWarning: careful\n"]), ("stream", ["said\n"]), ("display_data", None), ("execute_result", None)
    ]  # fmt: skip
    assert [output["data"] for output in found["outputs"][2:]] == [{"text/plain": ["1"]}, {"text/plain": ["4"]}]


def test_cells_share_names_and_one_that_ends_in_a_statement_shows_nothing() -> None:
    found = runner.run({"cells": [cell("a = 1"), {"cell_type": "markdown"}, cell("a + 1\nNone"), cell("a + 1")]})
    assert runner.texts(found) == [[], [], ["2"]]


def test_what_shows_something_else_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "notebook.ipynb"
    monkeypatch.setattr(runner, "NOTEBOOK", path)
    path.write_text(json.dumps({"cells": [cell("1 + 1")]}))
    wrong = "docs/notebook.ipynb: cell 1 shows something else. Run python docs/notebook.py."
    assert runner.main(["--check"]) == wrong
    assert runner.main([]) is None
    assert runner.main(["--check"]) is None
    path.write_text(path.read_text().replace('"2"', '"3"'))
    assert runner.main(["--check"]) == wrong
    assert "python docs/notebook.py --check" in str(runner.main(["--chek"]))
