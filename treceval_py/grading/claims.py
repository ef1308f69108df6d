"""Claims: the numbers that students give for measures, in a table of the class or in what they handed in.

Whatever stands in these files was written by others. A line that names a measure without a number that can be read
becomes a claim with a fault; a line about something else is no claim.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from treceval_py.errors import InputError, MeasureError, UnknownMeasureError, visible
from treceval_py.explaining.explanation import MOST_DIGITS, Claim
from treceval_py.grading.naming import is_name, measure_named, nearest_name
from treceval_py.measures import Measure
from treceval_py.tables import LONGEST_SHOWN

__all__ = ["MOST_BYTES", "MOST_CLAIMS", "ONLY_THE_FIRST", "Claimed", "claims_in", "claims_of_class", "noted", "shown"]

MOST_CLAIMS = 200
"""So many claims of a submission are read."""

ONLY_THE_FIRST = f"only the first {MOST_CLAIMS} claims of a submission are read"

MOST_BYTES, MOST_LINES, LONGEST = 1 << 20, 20_000, 400
"""So many bytes and lines of a file that was handed in are searched for claims, and so many characters of a line."""


class Claimed(NamedTuple):
    """A number that a student gives, or what was written in its place.

    Attributes
    ----------
    claim : Claim or None
        The claim; None where it could not be read.
    measure : str
        The measure, as it was written.
    text : str
        The number, as it was written.
    place : str
        Where: ``claims.csv:4``.
    fault : str
        Why it could not be read, or that what follows it was not read; without full stop, empty otherwise.
    """

    claim: Claim | None
    measure: str
    text: str
    place: str
    fault: str = ""


def shown(text: str) -> str:
    """Return what somebody wrote so that it can be shown: short, and with control characters visible."""
    return visible(text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…")


# --- a number ---

_NUMBER = r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d{1,4})?\s*%?"
_PARTS = re.compile(r"(?P<plain>[+-]?[\d.,]+)(?:[eE](?P<power>[+-]?\d+))?\s*(?P<percent>%?)", re.ASCII)
_WHOLE = re.compile(_NUMBER, re.ASCII)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+", re.ASCII)
_TYPOGRAPHY = str.maketrans({"\u2212": "-", "\u00a0": " ", "\u202f": " "})


def claimed(name: str, number: str, place: str) -> Claimed:
    """Return the claim that a name and a number make, with the reason where they make none."""
    measure, text = shown(name.strip()), shown(number.strip())
    try:
        claim = _claim(measure_named(name), number)
    except UnknownMeasureError:
        near = nearest_name(name)
        return Claimed(None, measure, text, place, f"'{measure}' is no measure" + (f"; is {near} meant?" * bool(near)))
    except MeasureError as error:
        return Claimed(None, measure, text, place, visible(error.what[:LONGEST]))
    return Claimed(claim, measure, text, place)


def _claim(measure: Measure, written: str) -> Claim:
    """Read the number of a claim.

    Raises
    ------
    MeasureError
        It is none.
    """
    text = written.strip().translate(_TYPOGRAPHY)
    if measure.family.kind == "count" and _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    if not text:
        raise MeasureError("there is no number")
    found = _PARTS.fullmatch(text) if _WHOLE.fullmatch(text) else None
    if found is None:
        raise MeasureError(f"'{shown(text)}' is no number")
    plain, power = found["plain"].replace(",", "."), int(found["power"] or 0)
    decimals = len(plain.partition(".")[2])
    if max(decimals, len(plain) - decimals - 1) > MOST_DIGITS or power > MOST_DIGITS:
        raise MeasureError(f"'{shown(text)}' has more digits than a number can have")
    digits = min(max(decimals - power, 0), MOST_DIGITS)
    return Claim(measure, shown(written.strip()), float(f"{plain}e{power}"), digits, percent=bool(found["percent"]))


# --- what was handed in ---


def claims_in(data: bytes, name: str) -> list[Claimed]:
    """Find the claims in a file that was handed in.

    Claims are lines such as ``MAP = 0.75185``, ``nDCG@10: 41.2 %`` and ``map all 0.1234`` (as trec_eval prints it),
    rows of a Markdown table, and rows below a line that names columns ``measure`` and ``value``. Decimals may stand
    after a comma. All other lines are about something else.

    Parameters
    ----------
    data : bytes
        The file, or its beginning.
    name : str
        How places name it.

    Returns
    -------
    list of Claimed
        At most `MOST_CLAIMS`; where more of the file was not read, the last one says so.
    """
    found: list[Claimed] = []
    file = shown(name)
    lines = _lines(_decoded(data[:MOST_BYTES]))
    header: _Header | None = None
    guesses = MOST_CLAIMS
    for number, full in enumerate(lines[:MOST_LINES], 1):
        line = full[:LONGEST].strip()
        place = f"{file}:{number}"
        opened = _header_of(line)
        if opened is not None or not line:  # a table ends at a blank line
            header = opened
            continue
        for measure, text, sure in _pairs(line) if header is None else _row(line, header):
            # Only a bounded number of names is compared with all that there are.
            if not sure and not is_name(measure):
                guesses -= 1
                if guesses < 0 or not nearest_name(measure):
                    continue
            if len(found) == MOST_CLAIMS:
                return [*found[:-1], noted(found[-1], ONLY_THE_FIRST)]
            found.append(claimed(measure, text, place))
    if found and (len(data) > MOST_BYTES or len(lines) > MOST_LINES):
        why = f"only the first {MOST_LINES:,} lines and {MOST_BYTES:,} bytes of a file are searched for claims"
        return [*found[:-1], noted(found[-1], why)]
    return found


def noted(claimed: Claimed, why: str) -> Claimed:
    """Return a claim with something more to say of it."""
    return claimed._replace(fault="; ".join(each for each in (claimed.fault, why) if each))


def _decoded(data: bytes) -> str:
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if data.startswith(mark):
            errors = "surrogateescape" if encoding == "utf-8" else "replace"
            return data[len(mark) :].decode(encoding, errors)
    return data.decode("utf-8", "surrogateescape")


def _lines(text: str) -> list[str]:
    """Cut a text into lines, each with its newline, at what ends a line in a file and nothing else."""
    return list(io.StringIO(text, newline=None))


_BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)])\s+")
_MARKUP = re.compile(r"\*\*|__|`|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)")
_ASIDE = r"(?:\s?[.;,]?\s?(?:[(\[#].*|//.*)?)"
_SIGNED = re.compile(rf"(?P<name>.*?[^\s=:≈])\s?(?P<sign>[=:≈])\s?(?P<number>{_NUMBER}){_ASIDE}", re.ASCII)
_NEXT_TO = re.compile(rf"(?P<name>.*?[^\s,;])\s?[\s,;]\s?(?P<number>{_NUMBER})", re.ASCII)
_BETWEEN = re.compile(r"[;,]\s(?=[^\W\d])(?![^(]*\))|\s(?:and|und)\s")
_AS_MEASURED = re.compile(r"[.,]\d{3}|%")

_OF_QUERY = re.compile(r"(?<!at)(?<!@) \d+$")
"""As trec_eval prints the value of a single query: ``map 301 0.4``."""

_Pair = tuple[str, str, bool]
"""A name, a number, and whether it is sure that they are a claim."""


def _pairs(line: str) -> Iterator[_Pair]:
    """Yield names and numbers that stand together on a line."""
    # With single spaces no pattern has two ways to match a stretch of them.
    text = " ".join(_MARKUP.sub("", _BULLET.sub("", line.translate(_TYPOGRAPHY), count=1)).split())
    fields = text.split(" ")
    if len(fields) == 3 and fields[1] == "all":
        number = _WHOLE.fullmatch(fields[2])
        # What trec_eval prints as text is no claim.
        if (number or is_name(fields[0])) and fields[0] not in ("runid", "relstring"):
            yield fields[0], fields[2], True
    elif text.startswith("|"):
        yield from _cells(text)
    else:
        for part in _BETWEEN.split(text):
            found = _assigned(part) or _next_to(part)
            if found is not None:
                yield found


def _assigned(text: str) -> _Pair | None:
    """Read ``NAME = NUMBER`` or ``NAME: NUMBER``."""
    found = _SIGNED.fullmatch(text)
    if found is None:
        name, equals, rest = text.partition("=")
        return (name, rest, True) if equals and is_name(name) and "(" not in name else None
    name, sign, number = found["name"], found["sign"], found["number"]
    if is_name(name):
        # A letter alone, as of a group or a question, is a measure only where the number looks like one.
        return None if len(name) == 1 and sign == ":" and number.isdigit() else (name, number, True)
    # Of other names those count that look like a measure's, with a number as measures have it.
    return (name, number, False) if sign == "=" and _AS_MEASURED.search(number) and " " not in name else None


def _next_to(text: str) -> _Pair | None:
    """Read ``NAME NUMBER`` or ``NAME,NUMBER``, where the number is no whole one."""
    found = _NEXT_TO.fullmatch(text)
    if found is None or not is_name(found["name"]) or found["number"].strip("+-").isdigit():
        return None
    if _OF_QUERY.search(found["name"]):
        return None
    return found["name"], found["number"], True


def _cells(text: str) -> Iterator[_Pair]:
    """Yield the claim of a row of a Markdown table: a measure, and one number."""
    name, *others = [cell.strip() for cell in text.strip("|").split("|")]
    numbers = [cell for cell in others if _WHOLE.fullmatch(cell)]
    if len(numbers) == 1 and is_name(name):
        yield name, numbers[0], True


# --- tables ---


class _Header(NamedTuple):
    """Where the columns of a table stand, and what separates them."""

    separator: str
    columns: dict[str, int]
    width: int


_NAMES = {
    "query": ("query", "qid", "topic"),
    "student": ("student", "name", "student id", "id", "username", "user", "matriculation number", "matrikelnummer"),
    "measure": ("measure", "metric", "maß", "mass"),
    "value": ("value", "claim", "claimed", "claimed value", "score", "number", "result", "wert"),
}
"""What the columns of a table of claims are called."""


def _header_of(line: str, wanted: Sequence[str] = ("measure", "value")) -> _Header | None:
    """Return how a line names columns; None where it does not name those that are wanted."""
    for separator in "\t;,|":
        names = [name.strip().strip('"').strip().lower() for name in line.strip("\ufeff\r\n |").split(separator)]
        if len(names) < len(wanted):
            continue
        found = {key: at for key in wanted for at, name in enumerate(names) if name == key}
        for key in wanted:
            for at, name in enumerate(names):
                if name in _NAMES[key] and at not in found.values():
                    found.setdefault(key, at)
        if len(found) == len(wanted):
            found.update((("query", at) for at, name in enumerate(names) if name in _NAMES["query"]))
            return _Header(separator, found, len(names))
    return None


def _row(line: str, header: _Header) -> Iterator[_Pair]:
    """Yield the claim of a row below a header."""
    text = line.strip("|") if header.separator == "|" else line
    try:
        cells = next(csv.reader([text], delimiter=header.separator, skipinitialspace=True), [])
    except csv.Error:
        cells = []
    if len(cells) != header.width:
        yield from _pairs(line)
        return
    measure, value = (cells[header.columns[key]].strip() for key in ("measure", "value"))
    average = "query" not in header.columns or cells[header.columns["query"]].strip() in ("", "all", "mean")
    if measure.strip("-: ") and average:  # not the line below the header of a Markdown table
        yield measure, value, True


def claims_of_class(path: str | os.PathLike[str]) -> dict[str, list[Claimed]]:
    """Read the claims of a class: a table whose first line names columns ``student``, ``measure`` and ``value``.

    Columns may stand in any order, beside others, and be separated by commas, semicolons or tabs. A row without a value
    claims nothing. A value that is no number, or of no measure, is a claim with a fault.

    Parameters
    ----------
    path : path
        A file in UTF-8 or UTF-16.

    Returns
    -------
    dict of str to list of Claimed
        The claims of each student, as the student is written.

    Raises
    ------
    InputError
        The file cannot be read, or is no such table.
    """
    file = os.fspath(path)
    lines = _lines(_text_of(file))
    first = next((at for at, line in enumerate(lines) if line.strip()), len(lines))
    header = _header_of(lines[first], ("student", "measure", "value")) if first < len(lines) else None
    if header is None:
        written = f"'{shown(lines[first].strip())}'" if first < len(lines) else "nothing"
        what = f"expected a line that names the columns student, measure and value, found {written}"
        raise InputError(
            what, "Begin the table with student,measure,value.", file=file, line=min(first + 1, len(lines))
        )
    found: dict[str, list[Claimed]] = {}
    for line, cells in _records(lines, first + 1, header, file):
        student, measure, value = (cells[header.columns[key]].strip() for key in ("student", "measure", "value"))
        if not student:
            raise InputError("there is no student", "Write who claims it.", file=file, line=line)
        if not measure:
            raise InputError("there is no measure", "Write MAP or nDCG@10, for example.", file=file, line=line)
        mine = found.setdefault(student, [])
        if value:
            mine.append(claimed(measure, value, f"{shown(os.path.basename(file))}:{line}"))
    return found


def _text_of(file: str) -> str:
    try:
        with open(file, "rb") as opened:
            data = opened.read()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=file) from None
    text = _decoded(data)
    wrong = re.search("[\udc80-\udcff]", text)
    if wrong is not None:
        line = text.count("\n", 0, wrong.start()) + 1
        raise InputError("the text is not UTF-8", "Save the table as CSV in UTF-8.", file=file, line=line)
    return text


def _records(lines: Sequence[str], first: int, header: _Header, file: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a table, each with the line of the file on which it begins."""
    reader = csv.reader(lines[first:], delimiter=header.separator, skipinitialspace=True, strict=True)
    while True:
        line = first + reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            what, todo = f"this is no row of a table: {error}", "Put quotes around a field, and double those within it."
            raise InputError(what, todo, file=file, line=line) from None
        if cells is None:
            return
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != header.width:
            todo = "Put quotes around a number with a decimal comma." if len(cells) > header.width else ""
            what = f"expected {header.width} columns as in the first line, found {len(cells)}"
            raise InputError(what, todo, file=file, line=line)
        yield line, cells
