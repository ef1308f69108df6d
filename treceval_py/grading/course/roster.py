"""The roster of a course: everybody in it, from a learning platform's export or a plain table."""

from __future__ import annotations

import os
import re
import tomllib
import unicodedata
from collections.abc import Sequence
from importlib.resources import files
from itertools import zip_longest
from typing import NamedTuple

from treceval_py.data.ids import beginning_of, quoted
from treceval_py.errors import InputError
from treceval_py.grading.claims.documents.text import SEPARATED, content_of, decoded, lines_of, records
from treceval_py.grading.course.matching import Identity
from treceval_py.grading.grades import Person


class Roster(NamedTuple):
    """Everybody in a course.

    Attributes
    ----------
    people : tuple of Person
        The students, in the order of the file.
    platform : str
        ``moodle``, ``canvas``, ``gradescope`` or ``github``; empty for a plain table.
    columns : tuple of str
        The column titles, in the order of the file.
    file : str
        The path, as given.
    """

    people: tuple[Person, ...] = ()
    platform: str = ""
    columns: tuple[str, ...] = ()
    file: str = ""

    def __repr__(self) -> str:
        platform = f" of {self.platform}" if self.platform else ""
        return f"<Roster{platform}: {len(self.people)} students>"


_TITLES: dict[str, dict[str, list[str]]] = tomllib.loads((files(__package__) / "roster.toml").read_text("utf-8"))
_MEANING = {title: meaning for meaning, titles in _TITLES["meaning"].items() for title in titles}

GIVEN, FAMILY, NAME, NUMBER, ACCOUNT, EMAIL, LOGIN, GROUP, ROLE = _TITLES["meaning"]
"""Meanings of columns."""

_OF_MOODLE = ({GIVEN, FAMILY, EMAIL}, {ACCOUNT, NAME, EMAIL})
"""Meanings of the columns that Moodle's participants, grades and grading worksheet have in common."""

_STAFF = re.compile(
    r"(?i)instructor|teacher|\bta\b|assistant|reader|observer|dozent|lehrende|tutor|enseignant|profesor"
)

_NOBODY = frozenset({"points possible", "student, test", "test student"})
"""Names in rows of Canvas that are not students."""

SEPARATORS = ",;\t"


def read_roster(path: str | os.PathLike[str]) -> Roster:
    """Read a roster: a table whose first line names its columns.

    The function accepts the participants, grades and grading worksheet of Moodle, the gradebook of Canvas, the roster
    and grades of Gradescope, the roster of GitHub Classroom, and any table with at least one of the columns ``name``
    (or ``first name`` and ``last name``), ``number``, ``email`` and ``login``; ``group`` is read too. Titles may be in
    several languages. Other columns are kept.

    Parameters
    ----------
    path : path
        CSV separated by commas, semicolons or tabs, in UTF-8, UTF-16 or Windows-1252, as Excel writes it.

    Returns
    -------
    Roster
        The students, without teachers, assistants and others, if the table has their roles.

    Raises
    ------
    InputError
        The file cannot be read, is not such a table, or lists a student twice.
    """
    file = os.fspath(path)
    data = content_of(file)
    if data.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise InputError("this is a workbook, but a roster must be CSV", "Save it as CSV.", file=file)
    lines = lines_of(decoded(data))
    skipped = bool(lines) and SEPARATED.fullmatch(lines[0]) is not None
    separator = max(SEPARATORS, key=next((line for line in lines[skipped:] if line.strip()), "").count)
    rows = records(lines, int(skipped), separator, file)
    first, titles = next(rows, (1, []))
    meanings, known = set(map(meaning_of, titles)), {title.casefold().strip() for title in titles}
    if not {GIVEN, FAMILY, NAME, EMAIL, NUMBER, ACCOUNT, LOGIN} & meanings:
        written = beginning_of(", ".join(titles).encode()) if titles else "nothing"
        fault = f"expected a line that names columns such as name, number and email, found {written}"
        raise InputError(fault, "Begin the roster with name,number,email.", file=file, line=first)
    moodle = "moodle" if any(own <= meanings for own in _OF_MOODLE) else ""
    platform = next((name for name, own in _TITLES["platform"].items() if set(own) <= known), moodle)
    people: list[Person] = []
    seen: dict[tuple[str, str], int] = {}
    for line, cells in rows:
        if len(cells) > len(titles) and any(cell.strip() for cell in cells[len(titles) :]):
            fault = f"expected {len(titles)} columns as in the first line, found {len(cells)}"
            raise InputError(fault, "Put quotes around a field that contains a separator.", file=file, line=line)
        row = tuple(zip_longest(titles, cells[: len(titles)], fillvalue=""))
        person = _person(row, platform)
        if person is not None:
            _check_new(person, seen, file, line)
            people.append(person)
    if not people:
        raise InputError("there are no students in the roster", "Write a line for each student.", file=file)
    return Roster(tuple(people), platform, tuple(titles), file)


def meaning_of(title: str) -> str:
    """Return the meaning of a column; empty if it is unknown."""
    return _MEANING.get(unicodedata.normalize("NFC", " ".join(title.casefold().split())), "")


def _cells(row: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the cells of each meaning in a row."""
    cells: dict[str, list[str]] = {}
    for title, cell in row:
        if cell.strip() not in ("", "-"):
            cells.setdefault(meaning_of(title), []).append(" ".join(cell.split()))
    return cells


def _person(row: tuple[tuple[str, str], ...], platform: str) -> Person | None:
    """Return the student of a row; None if the row is empty, or not about a student."""
    own = {meaning: cells[0] for meaning, cells in _cells(row).items()}
    if _STAFF.search(own.get(ROLE, "")) or own.get(NAME, "").casefold() in _NOBODY:
        return None
    account = own.get(ACCOUNT, "")
    number, email, login = own.get(NUMBER, ""), own.get(EMAIL, ""), own.get(LOGIN, "")
    if not email and "@" in login:  # common in Canvas
        email, login = login, ""
    if not email and "@" in account:  # a common choice in GitHub Classroom
        email = account
    numbered = account.isalnum() and any(map(str.isdigit, account))
    if not number and numbered:
        number = account
    if platform == "github" and account and "@" not in account and not numbered:
        own[NAME] = account  # the name that the teacher knows; the other one is that of the account
    name = _name(own) or login or email or number
    return Person(name, number, email, login, own.get(GROUP, ""), row) if name else None


def _name(own: dict[str, str]) -> str:
    """Return the full name, given name first; empty if there is none."""
    given, family, written = own.get(GIVEN, ""), own.get(FAMILY, ""), own.get(NAME, "")
    if written and bool(given) != bool(family):
        if set((given or family).casefold().split()) <= set(re.split(r"[\s,]+", written.casefold())):
            given = family = ""
        else:  # "Name, Vorname": here the name is the part that the other column lacks
            given, family = given or written, family or written
    if not (given or family):
        if written.count(",") != 1:
            return written
        family, given = (part.strip() for part in written.split(","))
    if min(given + family, default="") >= "\u2e80":  # ideographs: family name first, and together
        return family + given
    return f"{given} {family}".strip()


def _check_new(person: Person, seen: dict[tuple[str, str], int], file: str, line: int) -> None:
    """Raise if a student is on the roster twice, since the owner of a submission would be ambiguous."""
    own = {"number": person.number, "email": person.email, "login": person.login}
    if not any(own.values()):
        own = {"name": person.name}
    for kind, value in own.items():
        before = seen.setdefault((kind, value.casefold()), line)
        if value and before != line:
            fault = f"{kind} {quoted(value.encode())} is already on line {before}"
            raise InputError(fault, "Keep one of the two.", file=file, line=line)


def identity_of(person: Person) -> Identity:
    """Return everything that identifies a person, including other columns of the roster's row."""
    cells = _cells(person.row)
    accounts = [*cells.get(NUMBER, ()), *cells.get(ACCOUNT, ())]
    given, family = (cells.get(part, [""])[-1] for part in (GIVEN, FAMILY))
    names = [person.name, *cells.get(NAME, ()), *accounts, f"{given} {family}"]
    # Moodle writes "Participant 12345", or "Teilnehmer/in12345".
    numbers = [person.number, *(re.sub(r"^[^\W\d]{4,}\D*(?=\d+$)", "", number) for number in accounts)]
    handles = [person.email, person.login, *cells.get(EMAIL, ()), *cells.get(LOGIN, ())]
    return Identity(*(tuple(dict.fromkeys(filter(str.strip, texts))) for texts in (names, numbers, handles)))
