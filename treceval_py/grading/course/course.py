"""A course: several tasks, and the results of each student in all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from treceval_py.errors import brief, listed
from treceval_py.grading.course.roster import Roster
from treceval_py.grading.grades import Entry, Grades, Person
from treceval_py.grading.intake.platforms import safe_name
from treceval_py.grading.rule_keys import Task


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
    of_people = [{entry.person: entry for entry in book.entries if entry.person is not None} for book in books]
    nobodys = [{entry.student: entry for entry in book.entries if entry.person is None} for book in books]
    everybody = sorted(roster.people, key=lambda person: (person.name.casefold(), person))
    taken: set[str] = set()
    weights = [task.weight for task in tasks]
    members = [
        _standing(person.name, person, [own.get(person) for own in of_people], weights, taken) for person in everybody
    ]
    strangers = sorted({name for own in nobodys for name in own})
    members += [_standing(name, None, [own.get(name) for own in nobodys], weights, taken) for name in strangers]
    names = tuple(task.name for task in tasks)
    return Course(
        title,
        names,
        tuple(folders[name] for name in names),
        tuple(weights),
        tuple(books),
        tuple(members),
        tuple(notes),
    )


def _standing(
    student: str, person: Person | None, entries: Sequence[Entry | None], weights: Sequence[float], taken: set[str]
) -> Standing:
    total = most = Fraction(0)
    for entry, weight in zip(entries, weights, strict=True):
        if entry is not None and not entry.marks.excused:
            total += Fraction(repr(entry.marks.total)) * Fraction(repr(weight))
            most += Fraction(repr(entry.marks.most)) * Fraction(repr(weight))
    return Standing(
        student, person, safe_name(student, taken), tuple(entries), round(float(total), 2), round(float(most), 2)
    )
