"""A TOML file that a teacher writes: its tables, and the line of each key, so that a mistake can be shown."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from typing import Any, TypeAlias

from treceval_py.errors import InputError

Place: TypeAlias = "str | int"
"""A step on the way to a value: a key, or the number of a table in an array of tables."""

_HEADER = re.compile(r"\s*(\[\[?)(.*?)\]\]?\s*(?:#.*)?$")
_ASSIGNED = re.compile(r"""\s*((?:"(?:[^"\\]|\\.)*"|'[^']*'|[^"'=#\[\]])+?)\s*=""")
_KEY = re.compile(r""""(?P<basic>(?:[^"\\]|\\.)*)"|'(?P<literal>[^']*)'|(?P<bare>[^."'\s]+)""")


class TomlFile:
    """A file that was read, and where its keys are.

    Attributes
    ----------
    name : str
        The file.
    document : dict
        Its tables.
    """

    def __init__(self, name: str, raw: bytes, content: str) -> None:
        """Read a file; `content` names it in messages, such as "rules"."""
        self.name = name
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            raise InputError(f"the {content} are not UTF-8 text", "Save them as UTF-8.", file=name, line=line) from None
        self._lines = text.replace("\r\n", "\n").split("\n")
        self.document = self._parsed("\n".join(self._lines))

    def _parsed(self, text: str) -> dict[str, Any]:
        try:
            document: dict[str, Any] = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            place = re.search(r" \(at line (\d+), column \d+\)$", str(error))
            line = int(place[1]) if place else len(text.rstrip().split("\n"))
            reason = re.sub(r" \(at .*\)$", "", str(error))
            todo = "Write key = value, text in double quotes, and each key once."
            if re.search(r"=\s*-?\d+,\d", self._lines[line - 1]):
                todo = "Write decimals with a point: 0.95."
            raise InputError(f"no TOML: {reason[:1].lower()}{reason[1:]}", todo, file=self.name, line=line) from None
        return document

    def refusal(self, fault: str, todo: str, *place: Place) -> InputError:
        """Return an error about the value at a place."""
        return InputError(fault, todo, file=self.name, line=self.line(*place))

    def line(self, *place: Place) -> int | None:
        """Return the line of a key, or of the nearest table around it; None if neither is on a line of its own."""
        table: tuple[Place, ...] = ()
        seen = Counter[tuple[Place, ...]]()
        best, nearest = 0, None
        for number, text in enumerate(self._lines, 1):
            if header := _HEADER.match(text):
                table = self._numbered(_parts(header[2]), seen, array=header[1] == "[[")
                here = table
            elif assigned := _ASSIGNED.match(text):
                here = (*table, *_parts(assigned[1]))
            else:
                continue
            if here[: len(place)] == place:
                return number
            if len(here) > best and here == place[: len(here)]:
                best, nearest = len(here), number
        return nearest

    @staticmethod
    def _numbered(names: list[str], seen: Counter[tuple[Place, ...]], *, array: bool) -> tuple[Place, ...]:
        """Return where a header leads, with the numbers of the tables in arrays, and count those in `seen`."""
        here: tuple[Place, ...] = ()
        for position, name in enumerate(names, 1):
            here = (*here, name)
            if array and position == len(names):
                seen[here] += 1
            if seen[here]:
                here = (*here, seen[here] - 1)
        return here


def _parts(text: str) -> list[str]:
    """Return the names of a dotted key, of which quoted ones may have dots."""
    return [_unquoted(part) for part in _KEY.finditer(text)]


def _unquoted(part: re.Match[str]) -> str:
    if part["basic"] is None:
        return str(part["literal"] or part["bare"] or "")
    try:
        return str(tomllib.loads(f"key = {part[0]}")["key"])
    except tomllib.TOMLDecodeError:  # a line of a longer text that looks like a key
        return str(part[0])
