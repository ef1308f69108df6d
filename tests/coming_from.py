"""Runs the examples of docs/coming-from: the data, then the other tool's lines, and ours.

The first python block of a page is its data. The other ones are the tool's: a comment after an expression is what the
expression is. Blocks of pycon are ours.
"""

from __future__ import annotations

import ast
from typing import Any

from pages import HOME, blocks

PAGES = {path.stem: path.read_text("utf-8") for path in sorted((HOME / "docs" / "coming-from").glob("*.md"))}

PACKAGES = {
    **{page: [page.replace("-", "_")] for page in PAGES},
    "flagembedding": ["sklearn"],
    "learning-to-rank": ["lightgbm"],
    "torchmetrics": ["torch", "torchmetrics"],
    "trec_eval": [],
}
"""What the other tool's lines of each page need."""


def data_of(page: str) -> dict[str, Any]:
    """Return what the data of a page define."""
    names: dict[str, Any] = {}
    exec(blocks(PAGES[page], "python")[0], names)
    return names


def run_theirs(page: str, names: dict[str, Any]) -> list[str]:
    """Run the other tool's lines; return what differs from the comments."""
    wrong = []
    for block in blocks(PAGES[page], "python")[1:]:
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
