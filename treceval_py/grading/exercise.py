"""One exercise, or one task of a course: submissions graded by processes, and points given from what they found."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import NamedTuple

from treceval_py.data.ids import encode
from treceval_py.errors import EvaluationError
from treceval_py.grading.adjustments import Adjustment, adjusted, decided, matched
from treceval_py.grading.claims.claims import Claimed, claims_of_class
from treceval_py.grading.course.lateness import days_late, is_dated, penalised
from treceval_py.grading.course.matching import match_students
from treceval_py.grading.course.members import Class, Member
from treceval_py.grading.grades import Entry, Grades
from treceval_py.grading.intake.archives import close_kept
from treceval_py.grading.intake.intake import safe_name
from treceval_py.grading.marking.marking import Grader, baseline_record
from treceval_py.grading.marking.points import Marks, marks_of
from treceval_py.grading.marking.scoring import Assignment
from treceval_py.grading.marking.similarity import alike
from treceval_py.grading.processes.worker import Job, Reply, Setup
from treceval_py.grading.processes.workers import graded_by_processes
from treceval_py.grading.records import MISSING, FileRead, Graded
from treceval_py.grading.rules import DEFAULT_RULES, Rules, fingerprint
from treceval_py.version import __version__

__all__ = ["FreeDays", "Records", "assignment_of", "book_of", "recorded"]

FreeDays = MutableMapping[str, int]
"""How many late days each member has left that cost nothing; who is not in it has all."""

NOTHING = "nothing was handed in"


class Records(NamedTuple):
    """What processes found out of a class.

    Attributes
    ----------
    assignment : Assignment
        By what was graded.
    submitted : str
        Where the submissions came from.
    people : Class
        Whose they are.
    graded : tuple of Graded
        One for each submission.
    baseline : Graded or None
        The baseline, where there is one.
    decisions : mapping of int to Adjustment
        What the teacher decided, by the numbers of the members.
    strays, notes : tuple of str
        As of `Grades`.
    kept : frozenset of str
        The files in which records are kept.
    claimed : bool
        Whether the table of claims has somebody of the class.
    """

    assignment: Assignment
    submitted: str
    people: Class
    graded: tuple[Graded, ...]
    baseline: Graded | None
    decisions: Mapping[int, Adjustment]
    strays: tuple[str, ...]
    notes: tuple[str, ...]
    kept: frozenset[str]
    claimed: bool


def assignment_of(qrels: str, baseline: str, rules: Rules) -> Assignment:
    """Return by what is graded.

    Raises
    ------
    EvaluationError
        A file is not one that several processes can read, or the baseline is missing that the rules need.
    """
    for path in filter(None, (qrels, baseline)):
        if os.path.exists(path) and not os.path.isfile(path):
            raise EvaluationError(
                "is no regular file, and is read by several processes", "Write it to a file.", file=path
            )
    if not baseline and rules.needs_baseline:
        what = "the rules give points by the baseline, and there is none"
        raise EvaluationError(what, "Give a run to compare with (--baseline; in a course baseline of the task).")
    return Assignment(qrels, baseline, rules)


def recorded(
    grader: Grader,
    submitted: str,
    people: Class,
    *,
    claims: str = "",
    adjustments: Sequence[Adjustment] = (),
    others: Sequence[FileRead] = (),
    folder: str = "",
    workers: int = 1,
    after: Callable[[], None] | None = None,
) -> Records:
    """Let processes grade the submissions of a class, or take what is kept of them.

    Parameters
    ----------
    grader : Grader
        What has read the assignment.
    submitted : str
        Where the submissions came from.
    people : Class
        The submissions, and whose they are.
    claims : str
        A table of claims; empty without one.
    adjustments : sequence of Adjustment
        What the teacher decided.
    others : sequence of FileRead
        What was found beside the submissions.
    folder : str
        Where records are kept; empty for nowhere.
    workers : int
        How many processes grade.
    after : callable, optional
        Is called after each submission.

    Raises
    ------
    InputError
        The claims, the adjustments or the baseline cannot be read.
    """
    identities = people.identities()
    claimed, strays = match_students(claims_of_class(claims), identities) if claims else ({}, [])
    by_submission: dict[int, list[Claimed]] = {}
    for at, mine in claimed.items():
        number = people.members[at].submission
        if number is not None:
            by_submission.setdefault(number, []).extend(mine)
        elif mine:
            strays.append(f"{mine[0].place}: student '{identities[at].names[0]}' handed nothing in")
    decisions = matched(adjustments, identities)
    wanted = {people.members[at].submission: each.run for at, each in decisions.items() if each.run}
    known = baseline_record(grader)
    jobs = [
        Job(each, tuple(by_submission.get(at, ())), wanted.get(at, "")) for at, each in enumerate(people.submissions)
    ]
    replies = _replies(_setup(grader, known, folder), jobs, workers, after)
    return Records(
        *(
            grader.assignment,
            submitted,
            people,
            tuple(each.graded for each in replies),
            known,
            decisions,
            tuple(strays),
        ),
        (*map(_about_other, others), *grader.scoring.notes),
        frozenset(each.kept for each in replies if each.kept),
        bool(claimed),
    )


def book_of(records: Records, free_days: FreeDays) -> Grades:
    """Give points by the rules, to everybody in the class.

    Parameters
    ----------
    records : Records
        What was found out.
    free_days : dict of str to int
        The late days that are left; those that are used up here are taken from it.
    """
    rules, notes = records.assignment.rules, records.notes
    if rules == DEFAULT_RULES and not records.strays and not any(each.claims for each in records.graded):
        # Nobody was asked for numbers, then; with rules of their own, teachers say what they want.
        rules = rules._replace(points_claims=0.0)
        notes = (*notes, "nobody claims a number, so points are given for runs alone")
    undated = sum(
        each.submission is not None and not is_dated(records.graded[each.submission], each.person)
        for each in records.people.members
    )
    if rules.deadline is not None and undated:
        what = "1 submission has" if undated == 1 else f"{undated} submissions have"
        notes = (*notes, f"{what} no time in the export, so lateness is unknown and costs nothing")
    means = {} if records.baseline is None else records.baseline.measures
    rows = []
    for at, member in enumerate(records.people.members):
        decision = records.decisions.get(at)
        graded = _graded_of(member, records)
        graded = graded if decision is None else decided(graded, decision)
        marks = _marks(graded, rules, means, decision, free_days, member)
        rows.append((member, graded, marks))
    rows.sort(key=lambda row: _order(row[0], row[1]))
    taken: set[str] = set()
    entries = tuple(
        Entry(
            graded._replace(tops=None),
            marks,
            safe_name(_called(member, graded), taken),
            member.person,
            member.questions,
            **_account(member, records.people),
        )
        for member, graded, marks in rows
    )
    # What several members handed in together is compared with the others once.
    first: dict[int, int] = {}
    for place, (member, _, _) in enumerate(rows):
        if member.submission is not None:
            first.setdefault(member.submission, place)
    places = list(first.values())
    pairs = alike(
        [rows[place][1] for place in places],
        records.baseline,
        threshold=rules.similarity,
        depth=rules.similarity_depth,
    )
    return Grades(
        qrels=records.assignment.qrels,
        submissions=records.submitted,
        baseline=records.assignment.baseline,
        rules=rules,
        measures=tuple(each.name for each in rules.measures),
        baseline_measures=means,
        entries=entries,
        pairs=tuple(
            each._replace(first=places[each.first], second=places[each.second] if each.second >= 0 else each.second)
            for each in pairs
        ),
        strays=records.strays,
        notes=notes,
    )


def _graded_of(member: Member, records: Records) -> Graded:
    if member.submission is not None:
        return records.graded[member.submission]
    name = "" if member.person is None else member.person.name
    return Graded(name, "", MISSING, NOTHING)


def _account(member: Member, people: Class) -> dict[str, str]:
    """Return the platform that a submission was exported from, and the number of the member's account there."""
    if member.submission is None:
        return {}
    submission, person = people.submissions[member.submission], member.person
    # Of a group, the owner whose name, number or address is the member's.
    own = [
        each
        for each in submission.owners
        if len(submission.owners) == 1
        or (person is not None and any(mine and mine == known for mine, known in zip(each, person[:3], strict=True)))
    ]
    return {"platform": submission.platform, "account": own[0].number} if len(own) == 1 else {}


def _called(member: Member, graded: Graded) -> str:
    return graded.student if member.person is None else member.person.name


def _key(member: Member, graded: Graded) -> str:
    """Return what no other student of a course has, also not one of the same name."""
    return graded.student if member.person is None else " ".join(member.person[:4])


def _order(member: Member, graded: Graded) -> tuple[bool, str, bytes, bytes, str]:
    """Return what entries are ordered by: those of nobody on the roster last, then by name."""
    name, nobodys = _called(member, graded), member.person is None and bool(member.questions)
    return nobodys, name.casefold(), encode(name), encode(graded.source), _key(member, graded)


def _marks(
    graded: Graded,
    rules: Rules,
    baseline: Mapping[str, float],
    decision: Adjustment | None,
    free_days: FreeDays,
    member: Member,
) -> Marks:
    marks, student = marks_of(graded, rules, baseline), _key(member, graded)
    if decision is None or not decision.excused:
        left = free_days.get(student, rules.free_days)
        marks, used = penalised(marks, days_late(graded, rules, member.person), rules, left)
        free_days[student] = left - used
    return marks if decision is None else adjusted(marks, decision, rules)


def _about_other(found: FileRead) -> str:
    """Say what was found beside the submissions."""
    return f"{found.name}: {found.why}" if found.role == "note" else f"{found.name} belongs to nobody: {found.why}"


def _replies(setup: Setup, jobs: Sequence[Job], workers: int, after: Callable[[], None] | None) -> list[Reply]:
    """Let processes grade submissions."""
    try:
        return graded_by_processes(setup, jobs, workers=workers, seconds=setup.assignment.rules.seconds, after=after)
    finally:
        close_kept()


def _setup(grader: Grader, baseline: Graded | None, folder: str) -> Setup:
    """Return what processes are told; the context changes with all that grades depend on."""
    from treceval_py.scoring.signatures import Fingerprint

    assignment = grader.assignment
    parts = (
        __version__,
        str(Fingerprint(grader.scoring.qrels)),
        grader.head,
        assignment.qrels,
        assignment.baseline,
        "" if baseline is None else f"{baseline.hash_of_ranking} {sorted(baseline.measures.items())}",
        fingerprint(assignment.rules),
    )
    context = hashlib.sha256(repr(parts).encode("utf-8", "surrogateescape")).hexdigest()
    memory = int(assignment.rules.memory_megabytes * (1 << 20))
    return Setup(assignment, folder, context, memory)
