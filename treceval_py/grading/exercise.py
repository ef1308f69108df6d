"""One exercise, or one task of a course: processes grade the submissions, and their records give points."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import NamedTuple

from treceval_py.data.ids import encode
from treceval_py.errors import EvaluationError
from treceval_py.grading.adjustments import Adjustment, adjusted, decided, matched
from treceval_py.grading.claims.claims import Claimed
from treceval_py.grading.claims.of_class import claims_of_class
from treceval_py.grading.course.lateness import days_late, is_dated, penalised
from treceval_py.grading.course.matching import match_students
from treceval_py.grading.course.members import Class, Member
from treceval_py.grading.grades import Entry, Grades
from treceval_py.grading.intake.archives import close_kept
from treceval_py.grading.intake.platforms import safe_name
from treceval_py.grading.marking.marking import Grader, baseline_record
from treceval_py.grading.marking.points import Marks, marks_of
from treceval_py.grading.marking.scoring import Assignment
from treceval_py.grading.marking.similarity import DEPTH, alike
from treceval_py.grading.processes.worker import Job, Reply, Setup
from treceval_py.grading.processes.workers import graded_by_processes
from treceval_py.grading.records import MISSING, FileRead, Graded
from treceval_py.grading.rule_keys import DEFAULT_RULES, Rules, fingerprint
from treceval_py.version import __version__

FreeDays = MutableMapping[str, int]
"""Free late days that each member has left; members that are not in it have all of theirs."""

NOTHING = "nothing was handed in"

MEMORY = 1 << 30
"""Bytes of memory for one submission."""


class Records(NamedTuple):
    """The records of a class, made by the processes that grade.

    Attributes
    ----------
    assignment : Assignment
        The judgments, the baseline and the rules.
    submitted : str
        The path of the submissions.
    people : Class
        The owners of the submissions.
    graded : tuple of Graded
        One record per submission.
    baseline : Graded or None
        The baseline, if there is one.
    decisions : mapping of int to Adjustment
        The teacher's decisions, by the numbers of the members.
    strays, notes : tuple of str
        See `Grades`.
    kept : frozenset of str
        The names of the files of kept records.
    claimed : bool
        Whether somebody of the class is in the table of claims.
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
    """Return the judgments, the baseline and the rules of an exercise, after checking the files.

    Raises
    ------
    EvaluationError
        A file cannot be read by several processes, or the rules need a baseline and there is none.
    """
    for path in filter(None, (qrels, baseline)):
        if os.path.exists(path) and not os.path.isfile(path):
            raise EvaluationError(
                "is not a regular file, but several processes must read it", "Write it to a file.", file=path
            )
    if not baseline and rules.needs_baseline:
        fault = "the rules give points by the baseline, but there is none"
        raise EvaluationError(fault, "Give a run to compare with (--baseline; in a course baseline of the task).")
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
    """Grade the submissions of a class in several processes, or reuse their kept records.

    Parameters
    ----------
    grader : Grader
        The grader, which has read the assignment.
    submitted : str
        The path of the submissions.
    people : Class
        The submissions and their owners.
    claims : str
        A table of claims; empty without one.
    adjustments : sequence of Adjustment
        The teacher's decisions.
    others : sequence of FileRead
        The files found beside the submissions.
    folder : str
        The folder of records; empty to keep none.
    workers : int
        Number of processes.
    after : callable, optional
        Called after each submission.

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
    wanted = {people.members[at].submission: decision.run for at, decision in decisions.items() if decision.run}
    known = baseline_record(grader)
    jobs = [
        Job(handed, tuple(by_submission.get(at, ())), wanted.get(at, ""))
        for at, handed in enumerate(people.submissions)
    ]
    replies = _replies(_setup(grader, known, folder), jobs, workers, after)
    return Records(
        grader.assignment,
        submitted,
        people,
        tuple(reply.graded for reply in replies),
        known,
        decisions,
        tuple(strays),
        (*map(_about_other, others), *grader.scoring.notes),
        frozenset(reply.kept for reply in replies if reply.kept),
        bool(claimed),
    )


def book_of(records: Records, free_days: FreeDays) -> Grades:
    """Give points to everybody in the class, by the rules.

    Parameters
    ----------
    records : Records
        The records of the class.
    free_days : dict of str to int
        Remaining free late days; days used here are subtracted.
    """
    rules, notes = records.assignment.rules, records.notes
    if (
        rules == DEFAULT_RULES
        and not records.strays
        and not any(claim.counts for graded in records.graded for claim in graded.claims)
    ):
        # Nobody was asked for numbers, then. Teachers who want numbers write rules of their own.
        rules = rules._replace(points_claims=0.0)
        notes = (*notes, "nobody declares a number, so points are given for runs alone")
    undated = sum(
        member.submission is not None and not is_dated(records.graded[member.submission], member.person)
        for member in records.people.members
    )
    if rules.deadline is not None and undated:
        subject = "1 submission has" if undated == 1 else f"{undated} submissions have"
        notes = (*notes, f"{subject} no time in the export, so lateness is unknown and costs nothing")
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
    # A joint submission of several members is compared with the others once.
    first: dict[int, int] = {}
    for place, (member, _, _) in enumerate(rows):
        if member.submission is not None:
            first.setdefault(member.submission, place)
    places = list(first.values())
    pairs = alike(
        [rows[place][1] for place in places],
        records.baseline,
        threshold=rules.similarity,
        depth=DEPTH,
    )
    return Grades(
        qrels=records.assignment.qrels,
        submissions=records.submitted,
        baseline=records.assignment.baseline,
        rules=rules,
        measures=tuple(rule.name for rule in rules.measures),
        baseline_measures=means,
        entries=entries,
        pairs=tuple(
            pair._replace(first=places[pair.first], second=places[pair.second] if pair.second >= 0 else pair.second)
            for pair in pairs
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
    """Return the platform from which a submission was exported, and the number of the member's account there."""
    if member.submission is None:
        return {}
    submission, person = people.submissions[member.submission], member.person
    # In a group, the owner with the member's name, number or address.
    own = [
        owner
        for owner in submission.owners
        if len(submission.owners) == 1
        or (person is not None and any(mine and mine == known for mine, known in zip(owner, person[:3], strict=True)))
    ]
    return {"platform": submission.platform, "account": own[0].number} if len(own) == 1 else {}


def _called(member: Member, graded: Graded) -> str:
    return graded.student if member.person is None else member.person.name


def _key(member: Member, graded: Graded) -> str:
    """Return a key that is unique among the students of a course, even for equal names."""
    return graded.student if member.person is None else " ".join(member.person[:4])


def _order(member: Member, graded: Graded) -> tuple[bool, str, bytes, bytes, str]:
    """Return the sort key of an entry: those of nobody on the roster last, then by name."""
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


def _about_other(file: FileRead) -> str:
    """Describe a file found beside the submissions."""
    return f"{file.name}: {file.why}" if file.role == "note" else f"{file.name} belongs to nobody: {file.why}"


def _replies(setup: Setup, jobs: Sequence[Job], workers: int, after: Callable[[], None] | None) -> list[Reply]:
    """Grade submissions in several processes."""
    try:
        return graded_by_processes(setup, jobs, workers=workers, seconds=setup.assignment.rules.seconds, after=after)
    finally:
        close_kept()


def _setup(grader: Grader, baseline: Graded | None, folder: str) -> Setup:
    """Return the first message to processes; the context changes with everything that grades depend on."""
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
    return Setup(assignment, folder, context, MEMORY)
