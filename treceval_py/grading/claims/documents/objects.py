"""JSON: objects whose values are numbers, as tables."""

from __future__ import annotations

import json
import re
from itertools import count
from typing import Any, NamedTuple

from treceval_py.grading.claims.documents.document import MOST_COLUMNS, Blocks, Row, Unread

_DEEPEST = 32
_TOKEN = re.compile(r'"(?P<text>[^"\\\n]*(?:\\.[^"\\\n]*)*)"|-?\d[^\s,\]}]*|\n')


class _Scalar(NamedTuple):
    """A text or number as written, with its line."""

    text: str
    line: int


_EMPTY = _Scalar("", 0)


class _Object(NamedTuple):
    """An object, or a list, which has empty keys."""

    items: list[tuple[str, Any]]


def parsed(text: str) -> list[Any] | None:
    """Return the values of a JSON (or JSON Lines) text, with their lines; None if a text is neither."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    numbered = _numbered(text)
    try:
        try:
            return [_placed(json.loads(numbered, object_pairs_hook=_Object), 1)]
        except ValueError:
            lines = [line for line in numbered.splitlines() if line.strip()]
            return [_placed(json.loads(line, object_pairs_hook=_Object), 1) for line in lines]
    except ValueError:
        return None
    except RecursionError:
        raise Unread(f"it has more than {_DEEPEST} objects in one another") from None


def _numbered(text: str) -> str:
    """Turn each text and number of a JSON document into a text that begins with its line."""
    lines = count(2)
    line = 1

    def tell(token: re.Match[str]) -> str:
        nonlocal line
        if token[0] == "\n":
            line = next(lines)
            return "\n"
        return f'"{line} {token[0] if token["text"] is None else token["text"]}"'

    return _TOKEN.sub(tell, text)


def _placed(value: Any, depth: int) -> _Scalar | _Object:
    """Remove the lines from texts again, and turn lists into objects."""
    if depth > _DEEPEST:
        raise RecursionError
    if isinstance(value, list):
        return _Object([("", _placed(element, depth + 1)) for element in value])
    if isinstance(value, _Object):
        return _Object([(key.partition(" ")[2], _placed(inner, depth + 1)) for key, inner in value.items])
    if isinstance(value, str):
        line, _, text = value.partition(" ")
        return _Scalar(text, int(line))
    return _EMPTY  # null, true, false, NaN


def read_json(values: list[Any], blocks: Blocks) -> None:
    """Read JSON: each object becomes a table of keys and values; sibling objects become one table.

    Siblings are the objects of a list, and those under the keys of an object. Each is a row, whose first cell is its
    key (or its number in the list), with a column for each of its keys.
    """
    _read_value(_Object([("", value) for value in values]), (), blocks)


def _read_value(value: _Object, path: tuple[str, ...], blocks: Blocks) -> None:
    caption = " / ".join(path)
    scalars = [(key, scalar) for key, scalar in value.items if isinstance(scalar, _Scalar) and scalar.line]
    inner = [(key, child) for key, child in value.items if isinstance(child, _Object)]
    blocks.grid([Row(f":{scalar.line}", (key, scalar.text)) for key, scalar in scalars if key], caption)
    for key, scalar in scalars:
        if not key:
            blocks.line(f":{scalar.line}", scalar.text)
    beside = _beside(inner)
    if beside:
        _read_rows(beside, caption, blocks)
    taken = {id(row) for _, row in beside}
    for key, child in inner:
        if id(child) not in taken:
            _read_value(child, (*path, key) if key else path, blocks)


def _beside(objects: list[tuple[str, _Object]]) -> list[tuple[str, _Object]]:
    """Return the objects that are rows of one table: without inner objects, and with a key in common."""
    flat = [item for item in objects if item[1].items and all(isinstance(own, _Scalar) for _, own in item[1].items)]
    rows = [(key, row) for key, row in flat if any(name for name, _ in row.items)] or flat
    common = set.intersection(*({name for name, _ in row.items} for _, row in rows)) if rows else set()
    in_list = not any(key for key, _ in rows)
    return rows if len(rows) > 1 and (common or in_list) else []


def _read_rows(objects: list[tuple[str, _Object]], caption: str, blocks: Blocks) -> None:
    """Read sibling objects, or lists of values."""
    names = list(dict.fromkeys(name for _, row in objects for name, _ in row.items))[:MOST_COLUMNS]
    named = names != [""]
    rows = [Row(_place(objects[0][1]), ("", *names))] if named else []
    for number, (key, row) in enumerate(objects, 1):
        known = dict(row.items)
        own = [known.get(name, _EMPTY) for name in names] if named else [cell for _, cell in row.items]
        rows.append(Row(_place(row), (key or str(number), *(cell.text for cell in own))))
    blocks.grid(rows, caption)


def _place(value: _Object) -> str:
    return f":{next((scalar.line for _, scalar in value.items if scalar.line), 1)}"
