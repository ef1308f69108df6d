"""Names and numbers that stand together in lines of a text: after a sign, beside each other, or in a table."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from treceval_py.grading.claims.naming import is_name
from treceval_py.measures.registry import FAMILIES, TEXT

__all__ = [
    "FAMILY_NAMES",
    "GIVEN_NAMES",
    "IDS",
    "NAMES",
    "TYPOGRAPHY",
    "WHOLE",
    "Header",
    "header_of",
    "is_of_others",
    "pairs_in",
]

NUMBER = r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d{1,4})?\s*%?"
WHOLE = re.compile(NUMBER, re.ASCII)
TYPOGRAPHY = str.maketrans({"\u2212": "-", "\u00a0": " ", "\u202f": " "})

_BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)])\s+")
_MARKUP = re.compile(r"\*\*|__|`|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)")
_ASIDE = r"(?:\s?[.;,]?\s?(?P<aside>[(\[#].*|//.*)?)"
_SIGNED = re.compile(rf"(?P<name>.*?[^\s=:≈])\s?(?P<sign>[=:≈])\s?(?P<number>{NUMBER}){_ASIDE}", re.ASCII)
_NEXT_TO = re.compile(rf"(?P<name>.*?[^\s,;])\s?[\s,;]\s?(?P<number>{NUMBER})", re.ASCII)
_BETWEEN = re.compile(r"[;,]\s(?=[^\W\d])(?![^(]*\))|\s(?:and|und|\|)\s|\n")
_RUN_ON = re.compile(
    rf"([=:≈]\s?{NUMBER})(?<!,)\s(?![^(]*\))(?=(?:[^\W\d][^\s=:≈]*\s){{0,3}}?[^\W\d][^\s=:≈]*\s?[=:≈])", re.ASCII
)
"""A number behind which the next name begins: ``MAP=0.28 nDCG=0.55``."""
_AS_MEASURED = re.compile(r"[.,]\d{3}|%")

_WHOSE = r"(?:baselines?|previous|earlier|before|old|others?|paper|reference|published|random|sample)"
_OF_OTHERS = re.compile(
    rf"(?i)[(\[]\s*(?:(?:the|our|my|of|for|from|by|in|with|only)\s)*(?:{_WHOSE}|bm25|tf-?idf)(?![^\W_])"
)
_ONLY_OF_OTHERS = re.compile(rf"{_OF_OTHERS.pattern}(?:\s[^\W\d]+)?\s*[)\]]\s*")
_ROW_OF_OTHERS = re.compile(rf"(?i)(?<![^\W_]){_WHOSE}(?![^\W_])")
_ROW_OF_OTHERS_BESIDE = re.compile(r"(?i)(?<![^\W_])(?:bm25|tf-?idf)(?![^\W_])")
"""What is said of numbers that are not the student's own; a run of BM25 may well be, where there is no other."""

_OF_QUERY = re.compile(r"(?<!at)(?<!@) \d+$")
"""As trec_eval prints the value of a single query: ``map 301 0.4``."""

Pair = tuple[str, str, bool]
"""A name, a number, and whether it is sure that they are a claim."""


def is_of_others(name: str) -> bool:
    """Tell whether an aside in a name says that the number is not the student's own.

    Examples
    --------
    >>> is_of_others("MAP (baseline)"), is_of_others("MAP (better than the baseline)")
    (True, False)
    """
    return _OF_OTHERS.search(name) is not None


def _pairs(line: str) -> Iterator[Pair]:
    """Yield names and numbers that stand together on a line."""
    # With single spaces no pattern has two ways to match a stretch of them.
    text = " ".join(_MARKUP.sub("", _BULLET.sub("", line.translate(TYPOGRAPHY), count=1)).split())
    fields = text.split(" ")
    if len(fields) == 3 and fields[1] == "all":
        number = WHOLE.fullmatch(fields[2])
        family = FAMILIES.get(fields[0])
        # What trec_eval prints as text is no claim.
        if (number or is_name(fields[0])) and (family is None or family.kind != TEXT):
            yield fields[0], fields[2], True
    elif text.startswith("|"):
        yield from _cells(text)
    else:
        for part in _BETWEEN.split(_RUN_ON.sub(r"\1\n", text)):
            found = _assigned(part) or _next_to(part)
            if found is not None:
                yield found


def _assigned(text: str) -> Pair | None:
    """Read ``NAME = NUMBER`` or ``NAME: NUMBER``."""
    found = _SIGNED.fullmatch(text)
    if found is None:
        name, equals, rest = text.partition("=")
        return (name, rest, True) if equals and is_name(name) and "(" not in name else None
    if _ONLY_OF_OTHERS.fullmatch(found["aside"] or ""):
        return None
    name, sign, number = found["name"], found["sign"], found["number"]
    if is_name(name):
        # A letter alone, as of a group or a question, is a measure only where the number looks like one.
        return None if len(name) == 1 and sign == ":" and number.isdigit() else (name, number, True)
    # Of other names those count that look like a measure's, with a number as measures have it.
    return (name, number, False) if sign == "=" and _AS_MEASURED.search(number) and " " not in name else None


def _next_to(text: str) -> Pair | None:
    """Read ``NAME NUMBER`` or ``NAME,NUMBER``, where the number is no whole one."""
    found = _NEXT_TO.fullmatch(text)
    if found is None or not is_name(found["name"]) or found["number"].strip("+-").isdigit():
        return None
    if _OF_QUERY.search(found["name"]):
        return None
    return found["name"], found["number"], True


def _cells(text: str) -> Iterator[Pair]:
    """Yield the claim of a row of a Markdown table: a measure, and one number."""
    name, *others = [cell.strip() for cell in text.strip("|").split("|")]
    numbers = [cell for cell in others if WHOLE.fullmatch(cell)]
    if len(numbers) == 1 and is_name(name):
        yield name, numbers[0], True


class Header(NamedTuple):
    """Where the columns of a table stand, and what separates them."""

    separator: str
    columns: dict[str, int]
    names: tuple[str, ...]


FAMILY_NAMES = ("name", "full name", "nachname", "last name", "lastname", "surname", "family name")
GIVEN_NAMES = ("vorname", "first name", "firstname", "given name", "forename")
IDS = (
    "student id",
    "id",
    "matriculation number",
    "matrikelnummer",
    "matrikel-nr.",
    "matrikelnr",
    "matr.-nr.",
    "matrnr",
)

NAMES = {
    "query": ("query", "qid", "topic"),
    "student": ("student", *FAMILY_NAMES, *GIVEN_NAMES, *IDS, "username", "user"),
    "measure": ("measure", "metric", "maß", "mass"),
    "value": ("value", "claim", "claimed", "claimed value", "score", "number", "result", "wert"),
}
"""What the columns of a table of claims are called."""


def header_of(line: str, wanted: Sequence[str] = ("measure", "value")) -> Header | None:
    """Return how a line names columns; None where it does not name those that are wanted."""
    for separator in "\t;,|":
        names = [name.strip().strip('"').strip().lower() for name in line.strip("\ufeff\r\n |").split(separator)]
        if len(names) < len(wanted):
            continue
        found = {key: at for key in wanted for at, name in enumerate(names) if name == key}
        for key in wanted:
            for at, name in enumerate(names):
                if name in NAMES[key] and at not in found.values():
                    found.setdefault(key, at)
        if len(found) == len(wanted):
            found.update((("query", at) for at, name in enumerate(names) if name in NAMES["query"]))
            return Header(separator, found, tuple(names))
    return None


def _row(line: str, header: Header) -> Iterator[Pair]:
    """Yield the claim of a row below a header."""
    cells = _split(line, header.separator)
    if len(cells) != len(header.names):
        yield from _pairs(line)
        return
    measure, value = (cells[header.columns[key]].strip() for key in ("measure", "value"))
    average = "query" not in header.columns or cells[header.columns["query"]].strip() in ("", "all", "mean")
    if measure.strip("-: ") and average:  # not the line below the header of a Markdown table
        yield measure, value, True


def _split(line: str, separator: str) -> list[str]:
    """Return the cells of a row of a table."""
    text = line.strip("|") if separator == "|" else line
    try:
        return next(csv.reader([text], delimiter=separator, skipinitialspace=True), [])
    except csv.Error:
        return []


# --- tables with a column for each measure ---


_MOST_COLUMNS = 40


class _Wide:
    """A table with a column for each measure, and its rows so far."""

    def __init__(self, names: Sequence[str], separator: str) -> None:
        self._names = names
        self._separator = separator
        self._measures = [at for at, name in enumerate(names) if is_name(name)]
        self._query = next((at for at, name in enumerate(names) if name.lower() in NAMES["query"]), None)
        self._rows: list[tuple[int, list[str]]] = []

    def takes(self, number: int, line: str) -> bool:
        """Tell whether a line is the next row, and keep it."""
        cells = _plain_cells(line, self._separator)
        if len(cells) != len(self._names):
            return False
        if not any(cell.strip("-: ") for cell in cells):  # below the header of a Markdown table
            return True
        values = [cells[at] for at in self._measures]
        if not any(values) or not all(WHOLE.fullmatch(value) or value.strip("-–") == "" for value in values):
            return False
        self._rows.append((number, cells))
        return True

    def pairs(self) -> Iterator[tuple[int, str, str, bool]]:
        """Yield the claims of the only row that is the student's own; of several nobody can tell which."""
        rows = [row for row in self._rows if not self._said(row[1], _ROW_OF_OTHERS)]
        if len(rows) > 1:
            rows = [row for row in rows if not self._said(row[1], _ROW_OF_OTHERS_BESIDE)]
        if self._query is not None:
            rows = [row for row in rows if row[1][self._query] in ("", "all", "mean", "average")]
        if len(rows) == 1:
            ((number, cells),) = rows
            yield from ((number, self._names[at], cells[at], True) for at in self._measures if cells[at].strip("-–"))

    def _said(self, cells: Sequence[str], what: re.Pattern[str]) -> bool:
        return any(what.search(cell) for at, cell in enumerate(cells) if at not in self._measures)


def _plain_cells(line: str, separator: str) -> list[str]:
    return [_MARKUP.sub("", cell.translate(TYPOGRAPHY)).strip() for cell in _split(line, separator)]


def _wide(line: str) -> _Wide | None:
    """Return the table that begins with a line of names, some of which are measures."""
    separator = "|" if line.startswith("|") else next((each for each in "\t;," if each in line), "")
    if not separator or line.count(separator) > _MOST_COLUMNS:
        return None
    names = _plain_cells(line, separator)
    if len(names) < 2 or any(WHOLE.fullmatch(name) for name in names) or not any(map(is_name, names)):
        return None
    return None if any(True for _ in _pairs(line)) else _Wide(names, separator)


def pairs_in(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str, str, bool]]:
    """Yield what may be claims in the lines of a text.

    Parameters
    ----------
    lines : iterable of (int, str)
        The lines, without white space around them, with their numbers.

    Yields
    ------
    (int, str, str, bool)
        The number of the line, a name, a number, and whether it is sure that they are a claim.
    """
    header: Header | None = None
    wide: _Wide | None = None
    for number, line in lines:
        if wide is not None:
            if wide.takes(number, line):
                continue
            yield from wide.pairs()
            wide = None
        opened = header_of(line)
        if opened is not None or not line:  # a table ends at a blank line
            header = opened
            continue
        wide = _wide(line) if header is None else None
        if wide is None:
            found = _pairs(line) if header is None else _row(line, header)
            yield from ((number, *pair) for pair in found)
    if wide is not None:
        yield from wide.pairs()
