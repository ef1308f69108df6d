"""The notebooks of the site run from a fresh start, and what they say of numbers is what they show."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parent.parent
FOLDER = HOME / "docs" / "notebooks"
NOTEBOOKS = {path.stem: path.read_text("utf-8") for path in sorted(FOLDER.glob("*.md")) if path.stem != "index"}


def cells(page: str) -> list[str]:
    return [
        re.sub(r"^:tags: .*\n", "", source) for source in re.findall(r"```\{code-cell\}\n(.*?)```", page, re.DOTALL)
    ]


RUNNER = """
import ast, json, sys, warnings

warnings.simplefilter("error")
warnings.filterwarnings("ignore", ".* no judgments .* not scored", UserWarning)  # of the messy data
names = {"__name__": "__main__"}
shown = []
for source in json.load(sys.stdin):
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), names)
    value = None if last is None else eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    if value is not None:
        html = getattr(value, "_repr_html_", lambda: None)()
        print(repr(value), html or "", sep="\\n")
"""
"""A cell shows what it prints and its last value. The site runs the cells in Jupyter; here it takes no kernel."""


def test_there_are_five_of_one_form() -> None:
    assert list(NOTEBOOKS) == ["conventions", "grading", "reranking", "scoring", "training"]
    index = (FOLDER / "index.md").read_text("utf-8")
    for name, page in NOTEBOOKS.items():
        assert f"]({name}.md)" in index, name
        assert f"\n{name}\n" in index, name
        assert page.startswith("---\nfile_format: mystnb\nkernelspec:\n"), name
        assert page.count("```{code-cell}") == len(cells(page)) >= 7, name
        assert ".plot(" in page or "plt.subplots" in page, name


SHOWN = """
ndcg@10 profile= pd.DataFrame read_run(text= np.array to_pandas te.compare .plot( te.explain RelevanceEvaluator
te.Evaluator complete=True measure_by_query te.fuse te.grading.grade te.ranges.assess te.explaining.arithmetic te.scoring.check_comparable signature=
"""


def test_they_show_what_python_has_to_offer() -> None:
    code = "\n".join(cell for page in NOTEBOOKS.values() for cell in cells(page))
    assert [each for each in SHOWN.split() if each not in code] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_cells_run_and_show_the_numbers_that_the_text_has(name: str) -> None:
    pytest.importorskip("vl_convert")
    pytest.importorskip("matplotlib")
    done = subprocess.run(
        [sys.executable, "-c", RUNNER],
        input=json.dumps(cells(NOTEBOOKS[name])),
        cwd=FOLDER,
        env={**os.environ, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    shown = re.sub(r"data:image/[a-z+]+;base64,[A-Za-z0-9+/=]+", "", done.stdout)
    assert re.findall(r"[^\n]*/(?:home|root|tmp|Users|work)/[^\n]*", shown) == []
    prose = re.sub(r"```.*?```", "", NOTEBOOKS[name], flags=re.DOTALL)
    assert [number for number in re.findall(r"\d+\.\d{3,}", prose) if number not in shown] == []
