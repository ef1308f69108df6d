"""A course: the submissions of each task, and the results of each student in all tasks."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import NamedTuple

from treceval_py.errors import EvaluationError, InputError, brief, listed
from treceval_py.grading.grades import Entry, Grades, Person
from treceval_py.grading.intake.archives import Limits, left_out
from treceval_py.grading.intake.folders import Owner, Submission
from treceval_py.grading.intake.intake import submissions
from treceval_py.grading.intake.platforms import safe_name
from treceval_py.grading.people import Roster, fits, identities_of, identity_of
from treceval_py.grading.records import FileRead
from treceval_py.grading.rules import Task

_ARCHIVES = (".zip", ".tar.gz", ".tgz", ".tar")


class Standing(NamedTuple):
    """The results of a student in a course.

    Attributes
    ----------
    student : str
        The name.
    person : Person or None
        The student; None for submissions of nobody on the roster.
    name : str
        A unique name for the student's file.
    entries : tuple of (Entry or None)
        The entry in each task; None if there is none.
    total, most : float
        Weighted points over all tasks, reached and possible; tasks from which the student is excused count in neither.
    """

    student: str
    person: Person | None
    name: str
    entries: tuple[Entry | None, ...]
    total: float
    most: float


class Course(NamedTuple):
    """A graded course.

    Attributes
    ----------
    title : str
        Its title.
    names : tuple of str
        The names of the tasks.
    folders : tuple of str
        The folder of each task, within the folder of the course.
    weights : tuple of float
        Factors for the points of each task.
    tasks : tuple of Grades
        The results of each task.
    members : tuple of Standing
        Everybody, in the order of names; then submissions of nobody on the roster.
    notes : tuple of str
        Notes on the grading; sentences without full stops.
    """

    title: str
    names: tuple[str, ...]
    folders: tuple[str, ...]
    weights: tuple[float, ...]
    tasks: tuple[Grades, ...]
    members: tuple[Standing, ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Course {brief(self.title)!r}: {len(self.members)} students, {listed(self.names)}>"


def submissions_of(
    task: Task, path: str, limits: Limits, *, without: Collection[str], others: list[FileRead]
) -> Sequence[Submission]:
    """Return the submissions for a task.

    Parameters
    ----------
    task : Task
        The task. Its `folder` names the folder or archive of its submissions or, with a slash, such as ``*/ex1``, the
        files of the task in the folders of the students.
    path : str
        The folder with the submissions of all tasks.
    limits, without, others
        See `treceval_py.grading.intake.intake.submissions`.

    Returns
    -------
    sequence of Submission
        Empty if nothing was handed in yet.

    Raises
    ------
    EvaluationError
        Several folders or archives could be those of the task.
    InputError
        The folder cannot be read.
    """
    pattern = task.folder or task.name
    student, slash, below = pattern.partition("/")
    if slash:
        handed_in = submissions(path, limits, without=without, others=others)
        mine = [submission for submission in handed_in if fnmatchcase(submission.student, student)]
        return [submission.renamed(lambda name: _name_in(name, below)) for submission in mine]
    own = [name for name in _names_in(path, without) if _is_of(name, pattern)]
    if len(own) > 1:
        fault = f"{len(own)} folders or archives may have the submissions of task {task.name}: {listed(own)}"
        raise EvaluationError(fault, "Name one of them with folder in the rules.", file=path)
    return submissions(os.path.join(path, own[0]), limits, without=without, others=others) if own else ()


def of_no_task(tasks: Sequence[Task], path: str, limits: Limits, *, without: Collection[str]) -> list[str]:
    """Return the names among the submissions that belong to no task, and so are not read.

    Parameters
    ----------
    tasks : sequence of Task
        All tasks of the course.
    path, limits, without
        See `submissions_of`.

    Returns
    -------
    list of str
        Names of folders and files.
    """
    patterns = [task.folder or task.name for task in tasks]
    whole = [pattern for pattern in patterns if "/" not in pattern]
    parts = [pattern.partition("/")[::2] for pattern in patterns if "/" in pattern]
    if not parts:
        names = _names_in(path, without)
        return [name for name in names if not left_out(name) and not any(_is_of(name, pattern) for pattern in whole)]
    return [
        f"{handed_in.student}/{name}"
        for handed_in in submissions(path, limits, without=without)
        if not any(_is_of(handed_in.student, pattern) for pattern in whole)
        for name in [*(item.name for item in handed_in.items), *(file.name for file in handed_in.refused)]
        if not left_out(name.rpartition("/")[2])
        and not any(fnmatchcase(handed_in.student, student) and _name_in(name, below) for student, below in parts)
    ]


def _names_in(path: str, without: Collection[str]) -> list[str]:
    """Return the names in the folder of a course, without those of other files."""
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        todo = "Give the folder that has a folder or archive for each task."
        raise InputError(f"cannot be read as a folder: {error.strerror or error}", todo, file=path) from None
    aside = {os.path.realpath(file) for file in without}
    return [name for name in names if os.path.realpath(os.path.join(path, name)) not in aside]


def _is_of(name: str, pattern: str) -> bool:
    endings = [ending for ending in _ARCHIVES if name.lower().endswith(ending)]
    return any(fnmatchcase(form, pattern) for form in (name, *(name[: -len(ending)] for ending in endings)))


def _name_in(name: str, pattern: str) -> str:
    """Return the name of a file within the folder of a task; empty if it does not belong to the task."""
    depth = pattern.count("/") + 1
    parts = name.split("/")
    if len(parts) > depth and fnmatchcase("/".join(parts[:depth]), pattern):
        return "/".join(parts[depth:])
    return name if fnmatchcase(name, pattern) else ""


def roster_of(tasks: Sequence[Sequence[Submission]]) -> Roster:
    """Return everybody who handed something in, as a roster; submissions with matching names are one student."""
    people: list[Person] = []
    for handed_in in tasks:
        whose = [(submission, *pair) for submission in handed_in for pair in enumerate(identities_of(submission))]
        matches = fits([identity for *_, identity in whose], [identity_of(person) for person in people])
        for (submission, at, identity), fit in zip(whose, matches, strict=True):
            if fit.student is None:
                owner = submission.owners[at] if submission.owners else Owner()
                name = owner.name or submission.student or identity.names[0]
                people.append(Person(name, owner.number, owner.email, group=submission.group))
    return Roster(tuple(people))


def course_of(
    title: str,
    tasks: Sequence[Task],
    books: Sequence[Grades],
    folders: Mapping[str, str],
    roster: Roster,
    notes: Sequence[str],
) -> Course:
    """Put the tasks of a course together, student by student.

    Parameters
    ----------
    title : str
        The title of the course.
    tasks, books : sequence of Task, sequence of Grades
        The tasks, and the results of each.
    folders : mapping of str to str
        The folder of each task, by its name.
    roster : Roster
        Everybody in the course.
    notes : sequence of str
        See `Course`.
    """
    people = sorted(roster.people, key=lambda person: (person.name.casefold(), person))
    strangers = sorted({entry.student for book in books for entry in book.entries if entry.person is None})
    by_owner = [{entry.person or entry.student: entry for entry in book.entries} for book in books]
    taken: set[str] = set()
    members = []
    owners = [*((person.name, person) for person in people), *((name, None) for name in strangers)]
    for name, person in owners:
        entries = tuple(own.get(person or name) for own in by_owner)
        counted = [
            (entry.marks, Fraction(repr(task.weight)))
            for entry, task in zip(entries, tasks, strict=True)
            if entry is not None and not entry.marks.excused
        ]
        total = sum(Fraction(repr(marks.total)) * weight for marks, weight in counted)
        most = sum(Fraction(repr(marks.most)) * weight for marks, weight in counted)
        points = (round(float(total), 2), round(float(most), 2))
        members.append(Standing(name, person, safe_name(name, taken), entries, *points))
    names, weights = tuple(task.name for task in tasks), tuple(task.weight for task in tasks)
    places = tuple(folders[name] for name in names)
    return Course(title, names, places, weights, tuple(books), tuple(members), tuple(notes))
