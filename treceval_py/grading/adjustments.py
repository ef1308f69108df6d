"""Decisions by hand: a file that only the teacher writes, applied at each grading."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from treceval_py.data.ids import encode, quoted
from treceval_py.errors import InputError, MeasureError, visible
from treceval_py.grading.claims.naming import known_measure, measure_named
from treceval_py.grading.grades import Change, Marks, changed
from treceval_py.grading.marking.marking import is_named
from treceval_py.grading.people import Identity, fits, may_be
from treceval_py.grading.records import BY_TEACHER, CORRECT, NO_CLAIM, NOT_REPRODUCED, VERDICTS, Checked, Graded
from treceval_py.grading.rules import Rules
from treceval_py.io.source import whole
from treceval_py.io.toml_file import LARGEST, TEXT, YES, Form, TomlFile

MOST = 1_000_000

KIND = "adjusted"
"""Kind of a `Change` that the teacher decided."""

ACCEPTED, REJECTED = "accepted", "rejected"

_CHANGE = re.compile(r"[+-]\d+(\.\d+)?")


def _fits_points(value: Any) -> bool:
    if isinstance(value, str):
        return _CHANGE.fullmatch(value) is not None and abs(float(value)) <= MOST
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= MOST


def _is_table(value: Any) -> bool:
    return isinstance(value, dict)


def _fits_claims(value: Any) -> bool:
    return _is_table(value) and all(verdict in (ACCEPTED, REJECTED) for verdict in value.values())


KEYS = {
    "points": Form('a number, 0 or more, or a change in quotes, such as "+2"', _fits_points, lambda points: points),
    "comment": TEXT,
    "run": Form("the name of a file in quotes", lambda value: isinstance(value, str) and value != "", str),
    "excused": YES,
    "claims": Form(f'a verdict for each measure, such as claims.MAP = "{ACCEPTED}"', _fits_claims, dict),
}
"""The decisions about a student, and the form of each value."""

_TABLE = Form('a table: write ["Ada Lovelace"] on a line, and points = 30 below it', _is_table, dict)

OF_A_TASK = ("points", "run", "claims")
"""Decisions that belong to a task if there are several tasks."""


class Adjustment(NamedTuple):
    """The teacher's decisions about a student.

    Attributes
    ----------
    student : str
        The student, as written in the file: a name, number or e-mail address.
    file, line : str and int or None
        Place of the decisions.
    points : float or None
        Points that replace those of the rules.
    change : float or None
        Points that are added to those of the rules.
    comment : str
        Shown to the student.
    run : str
        The file whose run counts.
    excused : bool
        Whether no points are counted.
    claims : mapping of str to bool
        Whether the claims of each measure are accepted (True) or rejected (False), whatever the check found.
    """

    student: str
    file: str
    line: int | None
    points: float | None = None
    change: float | None = None
    comment: str = ""
    run: str = ""
    excused: bool = False
    claims: Mapping[str, bool] = {}

    def refusal(self, fault: str, todo: str) -> InputError:
        """Return an error about this adjustment."""
        return InputError(fault, todo, file=self.file, line=self.line)


def read_adjustments(
    path: str | os.PathLike[str], task: str = "", tasks: Collection[str] = ()
) -> tuple[Adjustment, ...]:
    """Read the teacher's decisions.

    Parameters
    ----------
    path : path
        The file; if it is missing or empty, there are no decisions.
    task : str
        The task that is being graded; empty if there is only one.
    tasks : collection of str
        All tasks of the course; each can have a table of its own: ``["Ada Lovelace".tasks.ranking]``.

    Returns
    -------
    tuple of Adjustment
        One for each student of the file.

    Raises
    ------
    InputError
        The file cannot be read, is not TOML, has an unknown key, or an invalid value.
    """
    if not os.path.lexists(path) or (os.path.isfile(path) and not os.path.getsize(path)):
        return ()
    file = TomlFile(os.fspath(path), whole(path, LARGEST))
    students = file.values(file.document, dict.fromkeys(file.document, _TABLE))
    return tuple(_adjustment(file, student, values, task, tasks) for student, values in students.items())


def _adjustment(
    file: TomlFile, student: str, values: Mapping[str, Any], task: str, tasks: Collection[str]
) -> Adjustment:
    given = file.values(values, {**KEYS, "tasks": _TABLE} if tasks else KEYS, student)
    of_tasks = file.values(given.pop("tasks", {}), dict.fromkeys(tasks, _TABLE), student, "tasks")
    for name in (name for name in OF_A_TASK if tasks and name in given):
        todo = f'Write it below ["{visible(student)}".tasks."{visible(min(tasks))}"].'
        raise file.refusal(f"{name} belongs to a task, and there are several", todo, student, name)
    # Each table is checked, even those of tasks that are not graded now.
    own = {name: file.values(table, KEYS, student, "tasks", name) for name, table in of_tasks.items()}
    given |= own.get(task, {})
    if given.get("excused") and "points" in given:
        raise file.refusal("an excused student has no points", "Keep points or excused.", student)
    for measure in given.get("claims", {}):
        try:
            measure_named(measure)
        except MeasureError as error:
            place = (student, *(("tasks", task) if tasks else ()), "claims", measure)
            raise file.refusal(error.what, error.todo, *place) from None
    points = given.pop("points", None)
    if points is not None:
        given["change" if isinstance(points, str) else "points"] = float(points)
    given["claims"] = {measure: verdict == ACCEPTED for measure, verdict in given.get("claims", {}).items()}
    return Adjustment(student, file.name, file.line(student), **given)


def matched(
    adjustments: Sequence[Adjustment], students: Sequence[Identity], others: Sequence[Identity] = ()
) -> dict[int, Adjustment]:
    """Return the adjustments by the numbers of their students.

    Parameters
    ----------
    adjustments : sequence of Adjustment
        The decisions.
    students : sequence of Identity
        All students; messages show the first name of each.
    others : sequence of Identity
        The students of other tasks; decisions about those who are only there are left out.

    Raises
    ------
    InputError
        A student is unknown, could be several, or has two tables.
    """
    by_student: dict[int, Adjustment] = {}
    wanted = [Identity((adjustment.student,)) for adjustment in adjustments]
    pairs = zip(adjustments, fits(wanted, students), fits(wanted, others), strict=True)
    for adjustment, here, there in pairs:
        student = quoted(encode(adjustment.student))
        if here.student is None and there.student is not None:
            continue
        if here.student is None:
            may = may_be([students[at].names[0] for at in here.candidates])
            fault = f"{student} {may}" if may else f"unknown student {student}"
            raise adjustment.refusal(fault, "Write a name, a number or an e-mail address of the class.")
        if here.student in by_student:
            fault = f"{student} is the student of line {by_student[here.student].line}"
            raise adjustment.refusal(fault, "Keep one table for each student.")
        by_student[here.student] = adjustment
    return by_student


def decided(graded: Graded, adjustment: Adjustment) -> Graded:
    """Return a submission with the claims that the teacher accepted or rejected.

    Parameters
    ----------
    graded : Graded
        The submission, graded with the run that the teacher chose.
    adjustment : Adjustment
        The decisions.

    Raises
    ------
    InputError
        The submission lacks the run, or lacks a claim that is rejected.
    """
    if adjustment.run and not is_named(graded.run, adjustment.run):
        names = [run.name for run in graded.runs] or [graded.run] * bool(graded.run)
        todo = f"There are {', '.join(map(visible, names))}." if names else "Leave run out."
        raise adjustment.refusal(f"no run {quoted(encode(adjustment.run))} was handed in", todo)
    claims = list(graded.claims)
    for name, accepted in adjustment.claims.items():
        measure = measure_named(name)
        numbers = [at for at, claim in enumerate(claims) if claim.counts and known_measure(claim.measure) == measure]
        if not accepted and not any(claims[number].verdict != NO_CLAIM for number in numbers):
            raise adjustment.refusal(f"no claim of {visible(name)} was found", "Leave it out.")
        for number in numbers:
            claims[number] = _decided(claims[number], accepted)
        if not numbers:
            claims.append(_decided(Checked(name, "", "", NO_CLAIM), accepted))
    return graded._replace(claims=tuple(claims))


def _decided(claim: Checked, accepted: bool) -> Checked:
    """Return a claim with the teacher's verdict; the reason keeps the finding of the check."""
    said = BY_TEACHER[0 if accepted else 1]
    if claim.verdict != NO_CLAIM:
        said += f"; the check found that {VERDICTS[claim.verdict]}" + (f": {claim.why}" if claim.why else "")
    text = claim.text or "a number that was not found in the files"
    return claim._replace(text=text, verdict=CORRECT if accepted else NOT_REPRODUCED, why=said, counts=True)


def adjusted(marks: Marks, adjustment: Adjustment, rules: Rules) -> Marks:
    """Return the points after the teacher's decisions.

    Parameters
    ----------
    marks : Marks
        The points that the rules give, including other changes.
    adjustment : Adjustment
        The decisions.
    rules : Rules
        The rules, for the mark to pass.

    Returns
    -------
    Marks
        The points.
    """
    why = visible(adjustment.comment.strip().rstrip("."))
    if adjustment.excused:
        return Marks((), 0.0, 0.0, None, (Change(KIND, 0.0, why or "excused by the teacher"),), excused=True)
    points = adjustment.change or 0.0
    if adjustment.points is not None:
        points = adjustment.points - marks.total
        why = why or f"the teacher gives {adjustment.points:g} points"
    elif points:
        why = why or "the teacher's decision"
    return changed(marks, Change(KIND, round(points, 2), why), rules) if why else marks
