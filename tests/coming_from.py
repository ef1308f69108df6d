"""Runs the examples of docs/coming-from: the data, then the other tool's lines, and ours.

The first python block of a page is its data. The other ones are the tool's: a comment after an expression is what the
expression is. Blocks of pycon are ours.
"""

from __future__ import annotations

import ast
import doctest
import io
import re
import warnings
from pathlib import Path
from typing import Any

import treceval_py as te

HOME = Path(__file__).parent.parent
PAGES = {path.stem: path.read_text("utf-8") for path in sorted((HOME / "docs" / "coming-from").glob("*.md"))}

PACKAGES = {
    "beir": ["beir"],
    "ir_measures": ["ir_measures"],
    "learning-to-rank": ["lightgbm"],
    "mteb": ["mteb"],
    "pytrec_eval": ["pytrec_eval"],
    "ranx": ["ranx"],
    "sentence-transformers": ["sentence_transformers"],
    "torchmetrics": ["torch", "torchmetrics"],
    "trec_eval": [],
}
"""What the other tool's lines of each page need."""


def blocks(page: str, kind: str) -> list[str]:
    """Return the code blocks of a kind on a page."""
    return re.findall(rf"```{kind}\n(.*?)```", PAGES[page], re.DOTALL)


def data_of(page: str) -> dict[str, Any]:
    """Return what the data of a page define."""
    names: dict[str, Any] = {}
    exec(blocks(page, "python")[0], names)
    return names


def run_theirs(page: str, names: dict[str, Any]) -> list[str]:
    """Run the other tool's lines; return what differs from the comments."""
    wrong = []
    for block in blocks(page, "python")[1:]:
        lines = block.splitlines()
        for node in ast.parse(block).body:
            source = "\n".join(lines[node.lineno - 1 : node.end_lineno])
            if not isinstance(node, ast.Expr):
                exec(source, names)
                continue
            expected = source.rpartition("  # ")[2]
            found = eval(source, names)
            if expected not in (str(found), repr(found)):
                wrong.append(f"{source.partition('  # ')[0]} is {found!r}, not {expected}")
    return wrong


def run_ours(page: str, names: dict[str, Any]) -> str:
    """Run our lines; return what differs, as doctest says it."""
    said = io.StringIO()
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    text = "\n".join(blocks(page, "pycon"))
    test = doctest.DocTestParser().get_doctest(text, names, f"docs/coming-from/{page}.md", None, 0)
    assert test.examples
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", te.TrecevalWarning)  # pages tell of queries that the run lacks
        runner.run(test, out=said.write)
    return said.getvalue()
