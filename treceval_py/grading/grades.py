"""A graded class: every submission with its points, and facts about all of them."""

from __future__ import annotations

from typing import NamedTuple

from treceval_py.errors import brief, listed
from treceval_py.grading.marking.points import Marks
from treceval_py.grading.records import Graded
from treceval_py.grading.rule_keys import Rules


class Person(NamedTuple):
    """A student on a roster.

    Attributes
    ----------
    name : str
        The name, given name first.
    number, email, login, group : str
        As on the roster; empty if missing. ``login`` is the account on GitHub or the platform.
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
    """A question for a person to look at.

    Attributes
    ----------
    kind : str
        One of `treceval_py.grading.attention.KINDS`.
    what : str
        A sentence without a full stop.
    """

    kind: str
    what: str


class Entry(NamedTuple):
    """A submission with its points.

    Attributes
    ----------
    graded : Graded
        Its record.
    marks : Marks
        Its points.
    name : str
        A name for its files, of letters, digits, dots, hyphens and underscores; unique among the entries, without
        regard to case.
    person : Person or None
        The student on the roster; None without a roster, or if nobody on it fits.
    questions : tuple of Question
        Questions for a person to look at.
    platform, account : str
        The platform from which the submission was exported, and the number of the student's account there; empty if
        unknown.
    """

    graded: Graded
    marks: Marks
    name: str
    person: Person | None = None
    questions: tuple[Question, ...] = ()
    platform: str = ""
    account: str = ""

    @property
    def student(self) -> str:
        """The student's name: on the roster if there is one, otherwise of the folder or file."""
        return self.graded.student if self.person is None else self.person.name


class Pair(NamedTuple):
    """Two submissions, or one and the baseline, with similar runs: a question to look into, not a verdict.

    Attributes
    ----------
    first, second : int
        Numbers of the entries; ``second`` is -1 for the baseline.
    kind : str
        ``same file``, ``same ranking``, ``nearly the same`` or ``same documents``.
    overlap : float
        Mean rank-biased overlap of the first documents of each query, or the share of documents that both have, 0 to 1.
    queries : int
        Number of queries compared.
    """

    first: int
    second: int
    kind: str
    overlap: float
    queries: int


class Grades(NamedTuple):
    """The results of grading a class, from which all output is made.

    Attributes
    ----------
    qrels, submissions, baseline : str
        The files, as they were named; the baseline is empty if there is none.
    rules : Rules
        The rules of grading.
    measures : tuple of str
        The measures; the first one orders the overview.
    baseline_measures : dict of str to float
        The baseline's means; empty without one.
    entries : tuple of Entry
        All submissions, in the order of the students' names.
    pairs : tuple of Pair
        The pairs of similar runs.
    strays : tuple of str
        Claims that match no submission, such as ``claims.csv:12: student 'xy' …``; sentences without full stops.
    notes : tuple of str
        Other notes for the teacher; sentences without full stops.
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
