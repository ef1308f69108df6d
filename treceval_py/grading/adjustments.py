"""Decisions by hand: a file that only the teacher writes, applied at each grading."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from treceval_py.data.ids import encode, quoted
from treceval_py.errors import InputError, MeasureError, visible
from treceval_py.grading.claims.naming import known_measure, measure_named
from treceval_py.grading.course.matching import Identity, fits, may_be
from treceval_py.grading.marking.points import Change, Marks, changed
from treceval_py.grading.marking.runs import is_named
from treceval_py.grading.records import BY_TEACHER, CORRECT, NO_CLAIM, NOT_REPRODUCED, VERDICTS, Checked, Graded
from treceval_py.grading.rule_keys import MOST, TEXT, YES, Form, Rules
from treceval_py.grading.toml_file import Place, TomlFile
from treceval_py.io.source import whole

KIND = "adjusted"
"""Kind of a `Change` that the teacher decided."""

ACCEPTED, REJECTED = "accepted", "rejected"

_CHANGE = re.compile(r"[+-]\d+(\.\d+)?")


def _fits_points(value: Any) -> bool:
    if isinstance(value, str):
        return _CHANGE.fullmatch(value) is not None and abs(float(value)) <= MOST
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= MOST


def _fits_claims(value: Any) -> bool:
    return isinstance(value, dict) and all(verdict in (ACCEPTED, REJECTED) for verdict in value.values())


KEYS = {
    "points": Form('a number, 0 or more, or a change in quotes, such as "+2"', _fits_points, lambda points: points),
    "comment": TEXT,
    "run": Form("the name of a file in quotes", lambda value: isinstance(value, str) and value != "", str),
    "excused": YES,
    "claims": Form(f'{ACCEPTED} or {REJECTED} for a measure: claims.MAP = "{ACCEPTED}"', _fits_claims, dict),
}
"""The decisions about a student, and the form of each value."""

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
    file = TomlFile(os.fspath(path), whole(path), "adjustments")
    return tuple(_adjustment(file, student, task, tasks) for student in file.document)


def _adjustment(file: TomlFile, student: str, task: str, tasks: Collection[str]) -> Adjustment:
    values = _table(file, student)
    of_tasks = _table(file, student, "tasks") if "tasks" in values else {}
    unknown = [name for name in of_tasks if name not in tasks]
    if unknown:
        known = f"The tasks are {', '.join(tasks)}." if tasks else "There is only one: write the keys below the name."
        raise file.refusal(f"unknown task {quoted(encode(unknown[0]))}", known, student, "tasks", unknown[0])
    given = _values(file, (student,), {key: value for key, value in values.items() if key != "tasks"})
    if tasks:
        for name in (name for name in OF_A_TASK if name in given):
            fault = f"{name} belongs to a task, and there are several"
            todo = f'Write it below ["{visible(student)}".tasks."{visible(min(tasks))}"].'
            raise file.refusal(fault, todo, student, name)
        # Each table is checked, even those of tasks that are not graded now.
        own = {name: _values(file, (student, "tasks", name), _table(file, student, "tasks", name)) for name in of_tasks}
        given = {**given, **own.get(task, {})}
    if given.get("excused") and "points" in given:
        raise file.refusal("an excused student has no points", "Keep points or excused.", student)
    points = given.pop("points", None)
    if isinstance(points, str):
        given["change"] = float(points)
    elif points is not None:
        given["points"] = float(points)
    given["claims"] = {measure: verdict == ACCEPTED for measure, verdict in given.get("claims", {}).items()}
    return Adjustment(student, file.name, file.line(student), **given)


def _table(file: TomlFile, *place: str) -> dict[str, Any]:
    table: Any = file.document
    for name in place:
        table = table[name]
    if isinstance(table, dict):
        return table
    fault = f"{quoted(encode(place[-1]))} is not a table"
    raise file.refusal(fault, 'Write ["Ada Lovelace"] on a line, and points = 30 below it.', *place)


def _values(file: TomlFile, place: tuple[Place, ...], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a table with their values, after checking their form."""
    for name, value in values.items():
        if name not in KEYS:
            near = difflib.get_close_matches(name.lower(), KEYS, n=1)
            todo = f"Did you mean {near[0]}?" if near else f"Known keys are {', '.join(KEYS)}."
            raise file.refusal(f"unknown key {quoted(encode(name))}", todo, *place, name)
        if not KEYS[name].fits(value):
            raise file.refusal(f"{name} must be {KEYS[name].words}", "", *place, name)
    for measure in values.get("claims", {}):
        try:
            measure_named(measure)
        except MeasureError as error:
            raise file.refusal(error.what, error.todo, *place, "claims", measure) from None
    return dict(values)


def matched(adjustments: Sequence[Adjustment], students: Sequence[Identity]) -> dict[int, Adjustment]:
    """Return the adjustments by the numbers of their students.

    Parameters
    ----------
    adjustments : sequence of Adjustment
        The decisions.
    students : sequence of Identity
        All students; messages show the first name of each.

    Raises
    ------
    InputError
        A student is unknown, could be several, or has two tables.
    """
    by_student: dict[int, Adjustment] = {}
    wanted = [_identity(adjustment.student) for adjustment in adjustments]
    for adjustment, fit in zip(adjustments, fits(wanted, students), strict=True):
        student = quoted(encode(adjustment.student))
        if fit.student is None:
            names = [students[at].names[0] for at in fit.candidates]
            may = may_be(names, "the student of another table")
            fault = f"{student} {may}" if may else f"unknown student {student}"
            raise adjustment.refusal(fault, "Write a name, a number or an e-mail address of the class.")
        if fit.student in by_student:
            fault = f"{student} is the student of line {by_student[fit.student].line}"
            raise adjustment.refusal(fault, "Keep one table for each student.")
        by_student[fit.student] = adjustment
    return by_student


def of_this_task(
    adjustments: Sequence[Adjustment], students: Sequence[Identity], strangers: Sequence[Identity]
) -> list[Adjustment]:
    """Return the decisions about students of this task, without those of students who are only in other tasks.

    Parameters
    ----------
    adjustments : sequence of Adjustment
        The decisions.
    students, strangers : sequence of Identity
        All students of the task, and those of other tasks who are not on the roster.
    """
    wanted = [_identity(adjustment.student) for adjustment in adjustments]
    pairs = zip(adjustments, fits(wanted, students), fits(wanted, strangers), strict=True)
    return [
        adjustment
        for adjustment, here, there in pairs
        if here.student is not None or here.candidates or there.student is None
    ]


def _identity(written: str) -> Identity:
    return Identity((written,), handles=(written,) if "@" in written else ())


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
    return changed(marks, [Change(KIND, round(points, 2), why)], rules) if why else marks
