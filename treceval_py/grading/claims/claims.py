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

from treceval_py.data.ids import LONGEST_SHOWN
from treceval_py.errors import InputError, MeasureError, UnknownMeasureError, visible
from treceval_py.explaining.explanation import MOST_DIGITS, Claim
from treceval_py.grading.claims.former import lines_of_html, pairs_of_json
from treceval_py.grading.claims.lines import (
    FAMILY_NAMES,
    GIVEN_NAMES,
    IDS,
    TYPOGRAPHY,
    WHOLE,
    Header,
    header_of,
    is_of_others,
    pairs_in,
)
from treceval_py.grading.claims.naming import LONGEST_NAME, is_name, measure_named, nearest_name
from treceval_py.measures import Measure
from treceval_py.measures.notation import meant_by

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

_PARTS = re.compile(r"(?P<plain>[+-]?[\d.,]+)(?:[eE](?P<power>[+-]?\d+))?\s*(?P<percent>%?)", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+", re.ASCII)


def claimed(name: str, number: str, place: str) -> Claimed:
    """Return the claim that a name and a number make, with the reason where they make none."""
    measure, text = shown(name.strip()), shown(number.strip())
    try:
        claim = _claim(measure_named(name), number)
    except UnknownMeasureError:
        near = meant_by(name.strip()[:LONGEST_NAME])
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
    text = written.strip().translate(TYPOGRAPHY)
    if measure.family.kind == "count" and _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    if not text:
        raise MeasureError("there is no number")
    found = _PARTS.fullmatch(text) if WHOLE.fullmatch(text) else None
    if found is None:
        raise MeasureError(f"'{shown(text)}' is no number")
    plain, power = found["plain"].replace(",", "."), int(found["power"] or 0)
    decimals = len(plain.partition(".")[2])
    if max(decimals, len(plain) - decimals - 1) > MOST_DIGITS or power > MOST_DIGITS:
        raise MeasureError(f"'{shown(text)}' has more digits than a number can have")
    digits = min(max(decimals - power, 0), MOST_DIGITS)
    return Claim(measure, shown(written.strip()), float(f"{plain}e{power}"), digits, percent=bool(found["percent"]))


# --- what was handed in ---


_HTML = re.compile(r"(?i)\.x?html?$")


def claims_in(data: bytes, name: str) -> list[Claimed]:
    """Find the claims in a file that was handed in.

    Claims are lines such as ``MAP = 0.75185``, ``nDCG@10: 41.2 %`` and ``map all 0.1234`` (as trec_eval prints it),
    rows of a Markdown table, rows below a line that names columns ``measure`` and ``value``, the only row below a line
    that names measures, and measures in JSON. HTML is read as it is seen. Decimals may stand after a comma. All other
    lines are about something else, and so is what is said to be a baseline's, or of an earlier run.

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
    whole = _decoded(data[:MOST_BYTES])
    lines = lines_of_html(whole) if _HTML.search(name) else list(enumerate(_lines(whole), 1))
    cut = ((number, line[:LONGEST].strip()) for number, line in lines[:MOST_LINES])
    of_json = pairs_of_json(whole)
    pairs = pairs_in(cut) if of_json is None else of_json
    guesses = MOST_CLAIMS
    for number, measure, text, sure in pairs:
        if is_of_others(measure):
            continue
        # Only a bounded number of names is compared with all that there are.
        if not sure and not is_name(measure):
            guesses -= 1
            if guesses < 0 or not nearest_name(measure):
                continue
        if len(found) == MOST_CLAIMS:
            return [*found[:-1], noted(found[-1], ONLY_THE_FIRST)]
        found.append(claimed(measure, text, f"{file}:{number}"))
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


# --- the table of a class ---


_SEPARATOR = re.compile(r"(?i)\ufeff?\"?sep=.\"?\s*")


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
    # Excel writes the separator on a line of its own.
    first = next((at for at, line in enumerate(lines) if line.strip() and not _SEPARATOR.fullmatch(line)), len(lines))
    header = header_of(lines[first], ("student", "measure", "value")) if first < len(lines) else None
    if header is None:
        written = f"'{shown(lines[first].strip())}'" if first < len(lines) else "nothing"
        what = f"expected a line that names the columns student, measure and value, found {written}"
        raise InputError(
            what, "Begin the table with student,measure,value.", file=file, line=min(first + 1, len(lines))
        )
    found: dict[str, list[Claimed]] = {}
    named = _columns_of_student(header)
    for line, cells in _records(lines, first + 1, header, file):
        measure, value = (cells[header.columns[key]].strip() for key in ("measure", "value"))
        student = " ".join(filter(None, (cells[at].strip() for at in named)))
        if not student:
            raise InputError("there is no student", "Write who claims it.", file=file, line=line)
        if not measure:
            raise InputError("there is no measure", "Write MAP or nDCG@10, for example.", file=file, line=line)
        mine = found.setdefault(student, [])
        if value:
            mine.append(claimed(measure, value, f"{shown(os.path.basename(file))}:{line}"))
    return found


def _columns_of_student(header: Header) -> list[int]:
    """Return the columns that say together who a student is: names, and a number of registration beside them."""
    first = header.columns["student"]
    if header.names[first] not in {*GIVEN_NAMES, *FAMILY_NAMES, *IDS}:
        return [first]
    groups = ([at for at, name in enumerate(header.names) if name in own] for own in (GIVEN_NAMES, FAMILY_NAMES, IDS))
    taken = {at for key, at in header.columns.items() if key != "student"}
    return [next(at for at in group if at not in taken) for group in groups if set(group) - taken]


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


def _records(lines: Sequence[str], first: int, header: Header, file: str) -> Iterator[tuple[int, list[str]]]:
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
        width = len(header.names)
        if len(cells) != width:
            todo = "Put quotes around a number with a decimal comma." if len(cells) > width else ""
            what = f"expected {width} columns as in the first line, found {len(cells)}"
            raise InputError(what, todo, file=file, line=line)
        yield line, cells
