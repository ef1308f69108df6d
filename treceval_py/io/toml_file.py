"""A TOML file that a person writes: the form of its values, and their lines, so that a mistake can be shown."""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from treceval_py.data.ids import beginning_of, encode, quoted
from treceval_py.errors import InputError

Place: TypeAlias = "str | int"
"""A step on the way to a value: a key, or the number of a table in an array of tables."""

LARGEST = 1 << 20
"""Most bytes of a file: what people write has a hundredth of that, and this many are read in about a second."""

_HEADER = re.compile(r"\s*(\[\[?)(.*?)\]\]?\s*(?:#.*)?$")
_ASSIGNED = re.compile(r"""\s*((?:"(?:[^"\\]|\\.)*"|'[^']*'|[^"'=#\[\]])+?)\s*=""")
_KEY = re.compile(r""""(?P<basic>(?:[^"\\]|\\.)*)"|'(?P<literal>[^']*)'|(?P<bare>[^."'\s]+)""")


class Form(NamedTuple):
    """The form of a value: in words, as a test, and as what is made of it."""

    words: str
    fits: Callable[[Any], bool]
    take: Callable[[Any], Any]


TEXT = Form("text in quotes", lambda value: isinstance(value, str), str)
YES = Form("true or false", lambda value: isinstance(value, bool), bool)
NAMES = Form(
    "a list of names in quotes",
    lambda value: isinstance(value, list) and all(isinstance(name, str) for name in value),
    tuple,
)


def number(low: float, high: float) -> Form:
    """Return the form of a number in a range."""
    # Python counts true and false as numbers; NaN is in no range.
    return Form(
        f"a number from {low:g} to {high:,.12g}",
        lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high,
        float,
    )


def whole_number(low: int, high: int) -> Form:
    """Return the form of a whole number in a range."""
    any_number = number(low, high)
    return Form(f"a whole {any_number.words[2:]}", lambda value: isinstance(value, int) and any_number.fits(value), int)


def one_of(*names: str) -> Form:
    """Return the form of one of some names."""
    return Form(f"one of {', '.join(map(written, names))}", lambda value: value in names, str)


def written(value: Any) -> str:
    """Return a value in TOML's notation."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return f"{value:.12g}" if isinstance(value, (int, float)) and abs(value) < 1e12 else str(value)


def shown_value(value: Any) -> str:
    """Return a value in TOML's notation, shortened if it is long."""
    if isinstance(value, (dict, list)):
        return "a table" if isinstance(value, dict) else "a list"
    # As written: 2.0 is not a whole number, but 2 would look like one.
    return beginning_of(encode(repr(value) if isinstance(value, float) else written(value)))


class TomlFile:
    """A file that was read, and where its keys are.

    Attributes
    ----------
    name : str
        The file.
    document : dict
        Its tables.
    """

    def __init__(self, name: str, raw: bytes) -> None:
        self.name = name
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            raise InputError("the text is not UTF-8", "Save it as UTF-8.", file=name, line=line) from None
        self._lines = text.replace("\r\n", "\n").split("\n")
        text = "\n".join(self._lines)
        try:
            self.document: dict[str, Any] = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            place = re.search(r" \(at line (\d+), column \d+\)$", str(error))
            line = int(place[1]) if place else len(text.rstrip().split("\n"))
            reason = re.sub(r" \(at .*\)$", "", str(error))
            todo = "Write key = value, text in double quotes, and each key once."
            if re.search(r"=\s*-?\d+,\d", self._lines[line - 1]):
                todo = "Write decimals with a point: 0.95."
            fault = f"is not TOML: {reason[:1].lower()}{reason[1:]}"
            raise InputError(fault, todo, file=name, line=line) from None

    def refusal(self, fault: str, todo: str, *place: Place) -> InputError:
        """Return an error about the value at a place."""
        return InputError(fault, todo, file=self.name, line=self.line(*place))

    def values(self, table: Mapping[str, Any], forms: Mapping[str, Form], *place: Place) -> dict[str, Any]:
        """Return the values of a table at a place, after checking their names and forms."""
        for name, value in table.items():
            if name not in forms:
                kind = "section" if isinstance(value, (dict, list)) and not place else "key"
                fault = f"unknown {kind} {quoted(encode(name))}"
                raise self.refusal(fault, self.suggestion(name, forms, *place), *place, name)
            if not forms[name].fits(value):
                fault = f"{name} is {shown_value(value)}; it must be {forms[name].words}"
                raise self.refusal(fault, "", *place, name)
        return {name: forms[name].take(value) for name, value in table.items()}

    def suggestion(self, name: str, forms: Mapping[str, Form], *_: Place) -> str:
        """Suggest the key that may have been meant by an unknown one."""
        near = difflib.get_close_matches(name.lower(), forms, n=1)
        return f"Did you mean {near[0]}?" if near else f"Known are {', '.join(forms)}."

    def line(self, *place: Place) -> int | None:
        """Return the line of a key, or of the nearest table around it; None if neither is on a line of its own."""
        table: tuple[Place, ...] = ()
        seen = Counter[tuple[Place, ...]]()
        best, nearest = 0, None
        for number, text in enumerate(self._lines, 1):
            if header := _HEADER.match(text):
                here = table = _numbered(_parts(header[2]), seen, array=header[1] == "[[")
            elif assigned := _ASSIGNED.match(text):
                here = (*table, *_parts(assigned[1]))
            else:
                continue
            if here[: len(place)] == place:
                return number
            if len(here) > best and here == place[: len(here)]:
                best, nearest = len(here), number
        return nearest


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
