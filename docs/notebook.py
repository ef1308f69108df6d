"""Run docs/notebook.ipynb, without Jupyter.

python docs/notebook.py            run its cells in order, and write what they show into it
python docs/notebook.py --check    run them, and fail if they show something else
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
NOTEBOOK = HERE / "notebook.ipynb"

_DRAWN = re.compile(r"data:image/[a-z+]+;base64,[A-Za-z0-9+/=]+")


def run(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook with what its cells show; they run in docs/, in one namespace."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells: list[dict[str, Any]] = []
    number = 0
    with _in_docs():
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                number += 1
                shown = _shown("".join(cell["source"]), names, number)
                cell = {**cell, "execution_count": number, "outputs": shown}
            cells.append(cell)
    return {**notebook, "cells": cells}


@contextlib.contextmanager
def _in_docs() -> Iterator[None]:
    before = os.getcwd()
    os.chdir(HERE)
    try:
        yield
    finally:
        os.chdir(before)


def _shown(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """Run a cell; return its outputs: what it prints, displays and warns of, and its last expression."""
    outputs: list[dict[str, Any]] = []
    printed = io.StringIO()

    def display(value: object) -> None:
        outputs.append({"output_type": "display_data", "data": _bundle(value), "metadata": {}})

    names["display"] = display
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with warnings.catch_warnings(record=True) as warned, contextlib.redirect_stdout(printed):
        warnings.simplefilter("always")
        exec(compile(tree, f"<cell {number}>", "exec"), names)
        value = None
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"<cell {number}>", "eval"), names)
        made = [] if value is None else [_bundle(value)]
    words = "".join(f"{each.category.__name__}: {each.message}\n" for each in warned)
    for name, text in (("stdout", printed.getvalue()), ("stderr", words)):
        if text:
            outputs.insert(0, {"output_type": "stream", "name": name, "text": _lines(text)})
    outputs += [
        {"output_type": "execute_result", "execution_count": number, "data": data, "metadata": {}} for data in made
    ]
    return outputs


def _bundle(value: Any) -> dict[str, Any]:
    """Return a value in the forms that a notebook chooses from."""
    if hasattr(value, "_repr_mimebundle_"):
        found = dict(value._repr_mimebundle_())
    else:
        found = {"text/plain": repr(value)}
        html = getattr(value, "_repr_html_", lambda: None)()
        if html is not None:
            found["text/html"] = html
    # The images in HTML show both themes; the specification would only show one.
    kept = {kind: text for kind, text in found.items() if kind in ("text/plain", "text/html")}
    return {kind: _lines(text) for kind, text in kept.items()}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def texts(notebook: dict[str, Any]) -> list[list[str]]:
    """Return what the cells show, without images, which are drawn otherwise by other versions."""
    return [
        [
            _DRAWN.sub("", "".join(text))
            for output in cell["outputs"]
            for text in ([output["text"]] if "text" in output else output["data"].values())
        ]
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]


def main(arguments: Sequence[str]) -> str | None:
    """Run the notebook; return what is wrong."""
    if arguments not in ([], ["--check"]):
        return __doc__
    before = json.loads(NOTEBOOK.read_text("utf-8"))
    found = run(before)
    if not arguments:
        NOTEBOOK.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
        return None
    stale = [
        number for number, both in enumerate(zip(texts(found), texts(before), strict=True), 1) if both[0] != both[1]
    ]
    return f"docs/notebook.ipynb: cell {stale[0]} shows something else. Run python docs/notebook.py." if stale else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
