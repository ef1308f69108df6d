"""Notebooks: the output of their cells, and the text between them; code is neither run nor read."""

from __future__ import annotations

import json
import re
from typing import Any

from treceval_py.grading.claims.documents.document import Blocks, Unread
from treceval_py.grading.claims.documents.html import read_html
from treceval_py.grading.claims.documents.text import decoded, lines_of, read_lines

_MOST_VALUES = 1_000_000
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def read_notebook(data: bytes, blocks: Blocks) -> None:
    """Read a Jupyter notebook, version 3 or 4 of its format."""
    if sum(map(data.count, (b",", b"[", b"{"))) > _MOST_VALUES:  # Python would need gigabytes for them
        raise Unread(f"it has more than {_MOST_VALUES:,} values")
    try:
        notebook = json.loads(decoded(data))
        cells = notebook["cells"] if "cells" in notebook else notebook["worksheets"][0]["cells"]
        every = enumerate(list(cells), 1)
    except (ValueError, RecursionError, LookupError, TypeError):
        raise Unread("it is not a notebook, or a damaged one") from None
    for number, cell in every:
        if not isinstance(cell, dict):
            continue
        place = f", cell {number}"
        if cell.get("cell_type") != "code":
            _read(_joined(cell.get("source")), f"{place}, line ", blocks)
        outputs = cell.get("outputs")
        for output in outputs if isinstance(outputs, list) else ():
            _read_output(output, place, blocks)


def _read_output(output: Any, place: str, blocks: Blocks) -> None:
    """Read the output of a cell; if it has several forms, only the one with the most structure."""
    if not isinstance(output, dict):
        return
    data = output.get("data", output)  # in version 3 the forms are next to the other keys
    forms = data if isinstance(data, dict) else {}
    page = _joined(forms.get("text/html", forms.get("html")))
    if "<table" in page:
        read_html(page, blocks, f"{place}, output")
        return
    for form in ("text/markdown", "text/plain", "text"):
        if text := _joined(forms.get(form)):
            _read(_COLOURS.sub("", text), f"{place}, output line ", blocks)
            return


def _read(text: str, place: str, blocks: Blocks) -> None:
    read_lines(((f"{place}{number}", line) for number, line in enumerate(lines_of(text), 1)), blocks)
    blocks.line("", "")


def _joined(text: Any) -> str:
    """Return a text; notebooks may store it as a list of lines."""
    return "".join(part for part in (text if isinstance(text, list) else [text]) if isinstance(part, str))
