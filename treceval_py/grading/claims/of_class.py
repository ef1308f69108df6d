"""The table in which a teacher collects the claims of a class."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from treceval_py.errors import InputError
from treceval_py.grading.claims.claims import Claimed, claimed, shown
from treceval_py.grading.claims.documents.text import SEPARATED, content_of, decoded, lines_of, records
from treceval_py.grading.claims.naming import is_name
from treceval_py.grading.course.roster import ACCOUNT, EMAIL, FAMILY, GIVEN, LOGIN, NAME, NUMBER, meaning_of

_SEPARATORS = "\t;,|"
_PARTS = ((GIVEN,), (FAMILY, NAME), (NUMBER, ACCOUNT))
"""Meanings of the columns that identify a student together."""


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
    separator = max(_SEPARATORS, key=lines[first].count) if first < len(lines) else ","
    rows = records(lines, first, separator, file)
    _, written = next(rows, (0, []))
    titles = [title.strip("\ufeff |").strip() for title in written]
    students, measures = _students(titles), {at: title for at, title in enumerate(titles) if is_name(title)}
    known = {title.lower(): at for at, title in reversed([*enumerate(titles)])}
    pair = (known["measure"], known["value"]) if {"measure", "value"} <= known.keys() else None
    if not students or not (pair or measures):
        names = f"'{shown(lines[first].strip())}'" if titles else "nothing"
        fault = f"expected a line that names student, measure and value, or student and measures, found {names}"
        todo = "Begin the table with student,measure,value or student,MAP,nDCG@10."
        raise InputError(fault, todo, file=file, line=min(first + 1, len(lines)))
    by_student: dict[str, list[Claimed]] = {}
    for line, row in rows:
        cells = [cell.strip() for cell in row]
        if len(cells) != len(titles):
            todo = "Put quotes around a number with a decimal comma." if len(cells) > len(titles) else ""
            fault = f"expected {len(titles)} columns as in the first line, found {len(cells)}"
            raise InputError(fault, todo, file=file, line=line)
        student = " ".join(filter(None, (cells[at] for at in students)))
        if not student:
            raise InputError("there is no student", "Write who claims it.", file=file, line=line)
        said = {cells[pair[0]]: cells[pair[1]]} if pair else {name: cells[at] for at, name in measures.items()}
        if "" in said:
            raise InputError("there is no measure", "Write MAP or nDCG@10, for example.", file=file, line=line)
        place = f"{shown(os.path.basename(file))}:{line}"
        mine = by_student.setdefault(student, [])
        mine += [claimed(measure, value, place) for measure, value in said.items() if value]
    return by_student


def _students(titles: Sequence[str]) -> list[int]:
    """Return the columns that identify a student: one of that name, or the parts of a name and a number."""
    if "student" in (lowered := [title.lower() for title in titles]):
        return [lowered.index("student")]
    first: Mapping[str, int] = {meaning_of(title): at for at, title in reversed([*enumerate(titles)])}
    parts = [next((first[meaning] for meaning in part if meaning in first), None) for part in _PARTS]
    own = [at for at in parts if at is not None]
    return own or [first[meaning] for meaning in (LOGIN, EMAIL) if meaning in first][:1]
