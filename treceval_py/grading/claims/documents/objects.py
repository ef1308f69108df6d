"""JSON, whose objects become tables, and notebooks, of which the text and the output of cells are read."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import Any

from treceval_py.grading.claims.documents.document import MOST_COLUMNS, Blocks, Row, Unread
from treceval_py.grading.claims.documents.markup import read_html
from treceval_py.grading.claims.documents.text import decoded, read_text

_DEEPEST, _MOST_VALUES = 32, 1_000_000


class _Number(str):
    """A number as written, with its line."""

    __slots__ = ("line",)

    line: int


def read_text_or_json(text: str, blocks: Blocks) -> None:
    """Read JSON, JSON Lines or a printed dictionary; any other text line by line."""
    values = _parsed(text) if text.lstrip()[:1] in ("{", "[") else None
    if values is None:
        read_text(text, blocks)
    else:
        _read_value([("", _text(value)) for value in values], (), blocks)


def _parsed(text: str) -> list[Any] | None:
    """Return the values of a text, objects and lists as pairs of key and value; None if it has none."""
    ends = [end.start() for end in re.finditer("\n", text)]
    at = 0

    def number(written: str) -> _Number:
        """Find the next number of the text; the parser calls this in their order."""
        nonlocal at
        begin = max(text.find(written, at), at)
        at = begin + len(written)
        made = _Number(written)
        made.line = bisect_right(ends, begin) + 1
        return made

    def values(part: str) -> Any:
        hooks: dict[str, Any] = {"object_pairs_hook": _ours, "parse_constant": lambda _: None}
        return json.loads(part, parse_int=number, parse_float=number, **hooks)

    try:
        for parts in ([text], text.splitlines(), [re.sub(r"np\.float\d+\(([^()]*)\)", r"\1", text).replace("'", '"')]):
            try:
                at = 0
                return [values(part) for part in parts if part.strip()]
            except ValueError:
                continue
    except RecursionError:
        raise Unread(f"it has more than {_DEEPEST} objects in one another") from None
    return None


def _ours(pairs: list[tuple[str, Any]]) -> list[Any]:
    """Return the pairs of an object; of the output of treceval, its lines in trec_eval's format, without queries."""
    if not pairs or pairs[0][0] != "treceval_py":
        return pairs
    lines: list[Any] = []
    runs = [dict(run) for run in dict(pairs).get("runs", ())]
    for run in runs:
        lines.append(f"runid all {run.get('tag' if len(runs) == 1 else 'name')}")
        for name, value in run.get("mean", ()):
            line = _Number(f"{name} all {value}")
            line.line = value.line
            lines.append(line)
    return lines


def _text(value: Any) -> Any:
    return "" if value is None or isinstance(value, bool) else value


def _place(items: list[tuple[str, Any]]) -> str:
    return f":{next((own.line for _, own in items if isinstance(own, _Number)), 1)}"


def _read_value(items: list[tuple[str, Any]], path: tuple[str, ...], blocks: Blocks) -> None:
    """Read an object: a table of its keys and values; sibling objects become one table.

    Siblings are the objects of a list, and those under the keys of an object. Each is a row, whose first cell is its
    key, with a column for each of its keys. In a list, keys are empty.
    """
    if len(path) > _DEEPEST:
        raise Unread(f"it has more than {_DEEPEST} objects in one another")
    own = [(key, value) for key, value in items if isinstance(value, str) and value]
    inner = [
        (key, [(item[0], _text(item[1])) if isinstance(item, tuple) else ("", _text(item)) for item in value])
        for key, value in items
        if not isinstance(value, str)
    ]
    caption = " / ".join(filter(None, path))
    blocks.grid([Row(_place([item]), item) for item in own if item[0]], caption)
    for key, value in own:
        if not key:
            blocks.line(_place([(key, value)]), value)
    flat = [(key, row) for key, row in inner if row and all(isinstance(value, str) for _, value in row)]
    if len(flat) > 1:
        names = list(dict.fromkeys(name for _, row in flat for name, _ in row))[:MOST_COLUMNS]
        named = names not in ([], [""])
        table = [Row(_place(flat[0][1]), ("", *names))] if named else []
        for key, row in flat:
            known = dict(row)
            cells = [known.get(name, "") for name in names] if named else [value for _, value in row]
            table.append(Row(_place(row), (key, *cells)))
        blocks.grid(table, caption)
    for key, row in inner:
        if len(flat) < 2 or (key, row) not in flat:
            _read_value(row, (*path, key), blocks)


# --- notebooks ---

_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def read_notebook(data: bytes, blocks: Blocks) -> None:
    """Read a Jupyter notebook, version 3 or 4 of its format; code is neither run nor read."""
    if sum(map(data.count, (b",", b"[", b"{"))) > _MOST_VALUES:  # Python would need gigabytes for them
        raise Unread(f"it has more than {_MOST_VALUES:,} values")
    notebook = json.loads(decoded(data))
    cells = notebook["cells"] if "cells" in notebook else notebook["worksheets"][0]["cells"]
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict):
            continue
        if cell.get("cell_type") != "code":
            read_text(_joined(cell.get("source")), blocks, f", cell {number}, line {{}}")
            blocks.line("", "")
        outputs = cell.get("outputs")
        for output in outputs if isinstance(outputs, list) else ():
            _read_output(output, f", cell {number}, output", blocks)


def _read_output(output: Any, place: str, blocks: Blocks) -> None:
    """Read the output of a cell; if it has several forms, only the one with the most structure."""
    data = output.get("data", output) if isinstance(output, dict) else None  # in version 3 forms are beside other keys
    forms = data if isinstance(data, dict) else {}
    page = _joined(forms.get("text/html", forms.get("html")))
    if "<table" in page:
        read_html(page, blocks, place)
        return
    texts = (_joined(forms.get(form)) for form in ("text/markdown", "text/plain", "text"))
    read_text(_COLOURS.sub("", next(filter(None, texts), "")), blocks, f"{place} line {{}}")
    blocks.line("", "")


def _joined(text: Any) -> str:
    """Return a text; notebooks may store it as a list of lines."""
    return "".join(part for part in (text if isinstance(text, list) else [text]) if isinstance(part, str))
