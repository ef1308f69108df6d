"""JSON: objects whose values are numbers, as tables."""

from __future__ import annotations

import json
from bisect import bisect_right
from typing import Any

from treceval_py.grading.claims.documents.document import MOST_COLUMNS, Blocks, Row, Unread

_DEEPEST = 32


class _Number(str):
    """A number as written, with its line."""

    __slots__ = ("line",)

    line: int


def parsed(text: str) -> list[Any] | None:
    """Return the values of a JSON (or JSON Lines) text; None if a text is neither. Lists have empty keys."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    ends = [at for at, letter in enumerate(text) if letter == "\n"]
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
        return json.loads(
            part, object_pairs_hook=list, parse_int=number, parse_float=number, parse_constant=lambda _: None
        )

    try:
        try:
            return [values(text)]
        except ValueError:
            at = 0
            return [values(line) for line in text.splitlines() if line.strip()]
    except ValueError:
        return None
    except RecursionError:
        raise _too_deep() from None


def _too_deep() -> Unread:
    return Unread(f"it has more than {_DEEPEST} objects in one another")


def read_json(values: list[Any], blocks: Blocks) -> None:
    """Read JSON: each object becomes a table of keys and values; sibling objects become one table.

    Siblings are the objects of a list, and those under the keys of an object. Each is a row, whose first cell is its
    key, with a column for each of its keys.
    """
    _read_value(_items(values), (), blocks)


def _items(value: Any) -> list[tuple[str, Any]]:
    """Return the keys and values of an object; those of a list have empty keys."""
    pairs = [item if isinstance(item, tuple) else ("", item) for item in value]
    return [(key, _text(own)) for key, own in pairs]


def _text(value: Any) -> Any:
    return "" if value is None or isinstance(value, bool) else value


def _line(row: list[tuple[str, Any]]) -> str:
    return f":{next((own.line for _, own in row if isinstance(own, _Number)), 1)}"


def _read_value(items: list[tuple[str, Any]], path: tuple[str, ...], blocks: Blocks) -> None:
    if len(path) > _DEEPEST:
        raise _too_deep()
    own = [(key, value) for key, value in items if isinstance(value, str) and value]
    inner = [(key, _items(value)) for key, value in items if not isinstance(value, str)]
    caption = " / ".join(filter(None, path))
    blocks.grid([Row(_line([(key, value)]), (key, value)) for key, value in own if key], caption)
    for key, value in own:
        if not key:
            blocks.line(_line([(key, value)]), value)
    flat = {at for at, (_, row) in enumerate(inner) if row and all(isinstance(value, str) for _, value in row)}
    if len(flat) > 1:
        rows = [inner[at] for at in sorted(flat)]
        named = any(name for _, row in rows for name, _ in row)
        names = list(dict.fromkeys(name for _, row in rows for name, _ in row))[:MOST_COLUMNS] if named else []
        table = [Row(_line(rows[0][1]), ("", *names))] if named else []
        for key, row in rows:
            known = dict(row)
            table.append(Row(_line(row), (key, *([known.get(name, "") for name in names] or [own for _, own in row]))))
        blocks.grid(table, caption)
    for at, (key, row) in enumerate(inner):
        if len(flat) < 2 or at not in flat:
            _read_value(row, (*path, key), blocks)
