"""A graded class: every submission with its points, and what is known of all together."""

from __future__ import annotations

from typing import NamedTuple

from treceval_py.errors import brief, listed
from treceval_py.grading.marking.points import Marks
from treceval_py.grading.records import Graded
from treceval_py.grading.rules import Rules

__all__ = ["Entry", "Grades", "Pair", "Person", "Question"]


class Person(NamedTuple):
    """A student on a roster.

    Attributes
    ----------
    name : str
        The name, given name first.
    number, email, login, group : str
        As on the roster; empty if it has none. ``login`` is the account on GitHub or the platform.
    row : tuple of (str, str)
        Titles and cells of the student's row, which import files for the same platform repeat.
    """

    name: str
    number: str = ""
    email: str = ""
    login: str = ""
    group: str = ""
    row: tuple[tuple[str, str], ...] = ()


class Question(NamedTuple):
    """What a person should look at.

    Attributes
    ----------
    kind : str
        One of `treceval_py.grading.attention.KINDS`.
    what : str
        A sentence without full stop.
    """

    kind: str
    what: str


class Entry(NamedTuple):
    """A submission with its points.

    Attributes
    ----------
    graded : Graded
        What is known of it.
    marks : Marks
        Its points.
    name : str
        A name for its files, of letters, digits, dots, hyphens and underscores, that no other entry has, whatever case
        is.
    person : Person or None
        Who this is by the roster; None without one, or where nobody on it fits.
    questions : tuple of Question
        What a person should look at.
    pseudonym : str
        The name on the board of the class; empty without one.
    platform, account : str
        The platform that the submission was exported from, and the number of the student's account on it; empty if
        unknown.
    """

    graded: Graded
    marks: Marks
    name: str
    person: Person | None = None
    questions: tuple[Question, ...] = ()
    pseudonym: str = ""
    platform: str = ""
    account: str = ""

    @property
    def student(self) -> str:
        """The student's name: the roster's where there is one, else that of the folder or file."""
        return self.graded.student if self.person is None else self.person.name


class Pair(NamedTuple):
    """Two submissions, or one and the baseline, whose runs are alike: a question to look into, not a verdict.

    Attributes
    ----------
    first, second : int
        The numbers of the entries; `second` is -1 for the baseline.
    kind : str
        ``same file``, ``same ranking``, ``nearly the same`` or ``same documents``.
    overlap : float
        Mean rank-biased overlap of the first documents of each query, or the share of them that both have, 0 to 1.
    queries : int
        Over how many queries.
    """

    first: int
    second: int
    kind: str
    overlap: float
    queries: int


class Grades(NamedTuple):
    """All that the outputs are made from.

    Attributes
    ----------
    qrels, submissions, baseline : str
        The files, as they were named; no baseline is the empty string.
    rules : Rules
        By what was graded.
    measures : tuple of str
        The measures, the first one deciding the order of the overview.
    baseline_measures : dict of str to float
        The baseline's means; empty without one.
    entries : tuple of Entry
        All submissions, in the order of their students' names.
    pairs : tuple of Pair
        Those that are alike.
    strays : tuple of str
        Claims of students who handed nothing in: ``claims.csv:12: student 'xy' …``; sentences without full stop.
    notes : tuple of str
        What else is to be known; sentences without full stop.
    """

    qrels: str
    submissions: str
    baseline: str
    rules: Rules
    measures: tuple[str, ...]
    baseline_measures: dict[str, float]
    entries: tuple[Entry, ...]
    pairs: tuple[Pair, ...] = ()
    strays: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Grades of {brief(self.submissions)!r}: {len(self.entries)} submissions by {listed(self.measures)}>"
