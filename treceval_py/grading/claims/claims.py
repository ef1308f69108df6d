"""Claims: the numbers that students give for measures, in a table of the class or in their submissions.

Everything in these files was written by others. A line that names a measure without a readable number becomes a claim
with a fault; a line about something else is not a claim.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from treceval_py.data.ids import LONGEST_SHOWN
from treceval_py.errors import InputError, MeasureError, UnknownMeasureError, visible
from treceval_py.explaining.explanation import MOST_DIGITS, Claim
from treceval_py.grading.claims.documents.document import Document
from treceval_py.grading.claims.documents.reading import read_document
from treceval_py.grading.claims.documents.text import SEPARATED, content_of, decoded, lines_of, records
from treceval_py.grading.claims.finding import said_in
from treceval_py.grading.claims.lines import WHOLE, Said, folded
from treceval_py.grading.claims.naming import LONGEST_NAME, is_name, known_measure, measure_named, nearest_name
from treceval_py.grading.claims.tables import key_of
from treceval_py.grading.claims.wording import is_of_others
from treceval_py.measures import Measure
from treceval_py.measures.notation import meant_by

MOST_CLAIMS = 200
"""Most claims of a submission that are read."""

ONLY_THE_FIRST = f"only the first {MOST_CLAIMS} claims of a submission are read"

_LONGEST = 400


class Claimed(NamedTuple):
    """A number that a student gives, or the text in its place.

    Attributes
    ----------
    claim : Claim or None
        The claim; None if it could not be read.
    measure : str
        The measure, as written.
    text : str
        The number, as written.
    place : str
        Its place, such as ``claims.csv:4``.
    fault : str
        Why it could not be read, or that reading stopped after it; without a full stop, empty otherwise.
    run : str
        The run, system or row that the number is about; empty if not given.
    """

    claim: Claim | None
    measure: str
    text: str
    place: str
    fault: str = ""
    run: str = ""


def shown(text: str) -> str:
    """Return somebody's text in a form fit to show: short, and with control characters made visible."""
    return visible(text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…")


# --- a number ---

_PARTS = re.compile(r"(?P<plain>[+-]?[\d.,]+)(?:[eE](?P<power>[+-]?\d+))?\s*(?P<percent>%?)", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+", re.ASCII)


def claimed(name: str, number: str, place: str, run: str = "") -> Claimed:
    """Return the claim that a name and a number make, or the reason if they make none."""
    unread = Claimed(None, shown(name.strip()), shown(number.strip()), place, run=run)
    try:
        return unread._replace(claim=_claim(measure_named(name), number))
    except UnknownMeasureError:
        near = meant_by(name.strip()[:LONGEST_NAME])
        return unread._replace(fault=f"'{unread.measure}' is not a measure" + (f"; is {near} meant?" * bool(near)))
    except MeasureError as error:
        return unread._replace(fault=visible(error.what[:_LONGEST]))


def _claim(measure: Measure, written: str) -> Claim:
    """Read the number of a claim.

    Raises
    ------
    MeasureError
        The text is not a number.
    """
    text = folded(written)
    if measure.family.kind == "count" and _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    if not text:
        raise MeasureError("there is no number")
    parts = _PARTS.fullmatch(text) if WHOLE.fullmatch(text) else None
    if parts is None:
        raise MeasureError(f"'{shown(text)}' is not a number")
    plain, power = parts["plain"].replace(",", "."), int(parts["power"] or 0)
    decimals = len(plain.partition(".")[2])
    if max(decimals, len(plain) - decimals - 1) > MOST_DIGITS or power > MOST_DIGITS:
        raise MeasureError(f"'{shown(text)}' has more digits than a number can have")
    digits = min(max(decimals - power, 0), MOST_DIGITS)
    return Claim(measure, shown(written.strip()), float(f"{plain}e{power}"), digits, percent=bool(parts["percent"]))


# --- what was handed in ---


def claims_in(data: bytes, name: str, runs: Iterable[str] = ()) -> list[Claimed]:
    """Find the claims in a submitted file of any format that `read_document` reads; see `claims_of`."""
    return claims_of(read_document(data, name), name, runs)


def claims_of(document: Document, name: str, runs: Iterable[str] = ()) -> list[Claimed]:
    """Find the claims in a submitted document.

    Claims are lines such as ``MAP = 0.75185``, ``nDCG@10: 41.2 %`` and ``map all 0.1234`` (as trec_eval prints it),
    numbers of measures in sentences of several languages and in Python's output, and tables with a row or a column for
    each measure, or a row for each number. A decimal comma is allowed. The numbers of a baseline, an earlier run, a
    single query, training data or a publication are not claims, nor are numbers that could belong to several runs.

    Parameters
    ----------
    document : Document
        The document.
    name : str
        The document's name in places.
    runs : iterable of str
        Names and tags of the submitted runs. Table rows with these names are the student's, even if they look like
        those of a baseline.

    Returns
    -------
    list of Claimed
        At most `MOST_CLAIMS`; if part of the file was not read, the last claim says so.
    """
    claims: list[Claimed] = []
    file = shown(name)
    guesses = MOST_CLAIMS
    for said in _certain(list(said_in(document, frozenset(run.lower() for run in runs)))):
        # Only a limited number of names is compared with all known names.
        if not said.sure and not is_name(said.name):
            guesses -= 1
            if guesses < 0 or not nearest_name(said.name):
                continue
        if len(claims) == MOST_CLAIMS:
            return [*claims[:-1], noted(claims[-1], ONLY_THE_FIRST)]
        claims.append(claimed(said.name, said.number, f"{file}{said.place}", shown(said.run)))
    if claims and document.fault:
        return [*claims[:-1], noted(claims[-1], document.fault)]
    return claims


def _certain(said: list[Said]) -> Iterator[Said]:
    """Leave out different numbers that running text gives for one measure; keep them if all are the same number."""
    numbers: dict[tuple[str, str], set[str]] = {}
    for claim in said:
        numbers.setdefault(_key(claim), set()).add(claim.number.strip(" %+").replace(",", "."))
    for claim in said:
        if not is_of_others(claim.name) and not (claim.loose and _differ(numbers[_key(claim)])):
            yield claim


def _key(said: Said) -> tuple[str, str]:
    measure = known_measure(said.name)
    return said.name if measure is None else measure.name, said.run


def _differ(numbers: set[str]) -> bool:
    """Tell whether some numbers are not roundings of the same one."""
    longest = max(numbers, key=len)
    for number in numbers:
        with contextlib.suppress(ValueError):
            decimals = len(number.partition(".")[2])
            scales = (1.0, 100.0, 0.01)
            if not any(abs(float(longest) * scale - float(number)) <= 10.0**-decimals for scale in scales):
                return True
    return False


def noted(claimed: Claimed, why: str) -> Claimed:
    """Return a claim with another remark."""
    return claimed._replace(fault="; ".join(remark for remark in (claimed.fault, why) if remark))


# --- the table of a class ---


_PARTS_OF_NAMES = (
    "vorname, first name, firstname, given name, forename, prénom, nombre",
    "name, full name, nachname, last name, lastname, surname, family name, nom, apellidos, 姓名",
    "student id, id, matriculation number, matrikelnummer, matrikel-nr., matrikelnr, matr.-nr., matrnr, 学号",
)
_TITLES = [titles.split(", ") for titles in _PARTS_OF_NAMES]
_STUDENTS = ("student", *(title for titles in _TITLES for title in titles), "username", "user")
"""Names of columns that identify a student; several columns together if they are parts of a name."""


class _Header(NamedTuple):
    """The columns of a table.

    Attributes
    ----------
    separator : str
        Character between columns.
    names : tuple of str
        Names of the columns.
    students : tuple of int
        The columns that together identify a student.
    measure, value : int or None
        The columns of measures and of numbers; None in a table with a column for each measure.
    measures : tuple of int
        In such a table, the columns named after measures.
    """

    separator: str
    names: tuple[str, ...]
    students: tuple[int, ...]
    measure: int | None
    value: int | None
    measures: tuple[int, ...]


def claims_of_class(path: str | os.PathLike[str]) -> dict[str, list[Claimed]]:
    """Read the claims of a class: a table with a column for students.

    The first line names the columns. Besides the students, there is either a column ``measure`` and a column ``value``,
    or a column for each measure. The order of columns is free, other columns are ignored, and commas, semicolons or
    tabs separate them. A row without a value claims nothing. A value that is not a number, or has an unknown measure,
    is a claim with a fault.

    Parameters
    ----------
    path : path
        A file in UTF-8, UTF-16 or cp1252, as Excel writes it.

    Returns
    -------
    dict of str to list of Claimed
        The claims of each student, under the name in the file.

    Raises
    ------
    InputError
        The file cannot be read, or is not such a table.
    """
    file = os.fspath(path)
    lines = lines_of(decoded(content_of(file)))
    first = next((at for at, line in enumerate(lines) if line.strip() and not SEPARATED.fullmatch(line)), len(lines))
    header = _header(lines[first]) if first < len(lines) else None
    if header is None:
        written = f"'{shown(lines[first].strip())}'" if first < len(lines) else "nothing"
        fault = f"expected a line that names student, measure and value, or student and measures, found {written}"
        todo = "Begin the table with student,measure,value or student,MAP,nDCG@10."
        raise InputError(fault, todo, file=file, line=min(first + 1, len(lines)))
    by_student: dict[str, list[Claimed]] = {}
    width = len(header.names)
    for line, cells in records(lines, first + 1, header.separator, file):
        if len(cells) != width:
            todo = "Put quotes around a number with a decimal comma." if len(cells) > width else ""
            fault = f"expected {width} columns as in the first line, found {len(cells)}"
            raise InputError(fault, todo, file=file, line=line)
        student = " ".join(filter(None, (cells[at].strip() for at in header.students)))
        if not student:
            raise InputError("there is no student", "Write who claims it.", file=file, line=line)
        mine = by_student.setdefault(student, [])
        for measure, value in _claims_of_row(header, cells):
            if not measure:
                raise InputError("there is no measure", "Write MAP or nDCG@10, for example.", file=file, line=line)
            if value:
                mine.append(claimed(measure, value, f"{shown(os.path.basename(file))}:{line}"))
    return by_student


def _claims_of_row(header: _Header, cells: Sequence[str]) -> Iterator[tuple[str, str]]:
    if header.measure is None or header.value is None:
        yield from ((header.names[at], cells[at].strip()) for at in header.measures)
    else:
        yield cells[header.measure].strip(), cells[header.value].strip()


def _header(line: str) -> _Header | None:
    """Return the columns that a line names; None if it does not name students and measures."""
    for separator in "\t;,|":
        written = tuple(name.strip().strip('"').strip() for name in line.strip("\ufeff\r\n |").split(separator))
        names = [name.lower() for name in written]
        first = names.index("student") if "student" in names else None
        if first is None:
            first = next((at for at, name in enumerate(names) if name in _STUDENTS), None)
        if first is None:
            continue
        measure, value = (_column(names, key, first) for key in ("measure", "value"))
        students = _columns_of_student(names, first, {measure, value})
        measures = tuple(at for at, name in enumerate(written) if at not in students and is_name(name))
        if measure is not None and value is not None:
            return _Header(separator, written, students, measure, value, ())
        if measures:
            return _Header(separator, written, students, None, None, measures)
    return None


def _column(names: Sequence[str], key: str, student: int) -> int | None:
    """Return the column of measures, or of values: one with exactly this name before one with the same meaning."""
    others = (at for at, name in enumerate(names) if at != student and key_of(name, (key,)))
    return names.index(key) if key in names else next(others, None)


def _columns_of_student(names: Sequence[str], first: int, taken: Collection[int | None]) -> tuple[int, ...]:
    """Return the columns that together identify a student: names, and a registration number beside them."""
    if not any(names[first] in titles for titles in _TITLES):
        return (first,)
    groups = [[at for at, name in enumerate(names) if name in titles and at not in taken] for titles in _TITLES]
    return tuple(group[0] for group in groups if group)
