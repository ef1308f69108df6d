"""Grade a class: submissions, one by one and side by side, and all that is written about them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence

from treceval_py.errors import EvaluationError
from treceval_py.grading.claims import Claimed, claims_of_class
from treceval_py.grading.folder import KEPT, check_folder, write_all
from treceval_py.grading.grades import Entry, Grades
from treceval_py.grading.intake import one, safe_name, submissions
from treceval_py.grading.kept import forget
from treceval_py.grading.marking import Grader, baseline_record, limits_of
from treceval_py.grading.points import marks_of
from treceval_py.grading.records import FileRead, Graded
from treceval_py.grading.rules import DEFAULT_RULES, Rules, fingerprint
from treceval_py.grading.scoring import Assignment
from treceval_py.grading.similarity import alike
from treceval_py.grading.students import match_students
from treceval_py.grading.worker import Job, Setup
from treceval_py.grading.workers import graded_by_processes
from treceval_py.streaming import available_threads
from treceval_py.tables import encode
from treceval_py.version import __version__

__all__ = ["Graded", "Grades", "grade", "grade_one"]


def grade(
    qrels: str | os.PathLike[str],
    submitted: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    claims: str | os.PathLike[str] | None = None,
    baseline: str | os.PathLike[str] | None = None,
    rules: Rules = DEFAULT_RULES,
    workers: int | None = None,
    after: Callable[[], None] | None = None,
) -> Grades:
    """Grade all submissions of a class, and write a gradebook, a feedback file for each student and an overview.

    Parameters
    ----------
    qrels : path
        The judgments.
    submitted : path
        A folder with a file or folder for each student, or a zip of it as learning platforms export it.
    output : path
        A folder to write to: a new or empty one, or one that was written before; what was graded there is not graded
        again unless it changed.
    claims : path, optional
        Numbers that students claim: CSV with the columns ``student, measure, value``.
    baseline : path, optional
        A run to compare with.
    rules : Rules
        What is computed, and what gives points; see `read_rules`.
    workers : int, optional
        How many processes grade; by default as many as there are cores for this process.
    after : callable, optional
        Is called after each submission.

    Returns
    -------
    Grades
        All that was found out. What is wrong with a submission never raises: it stands in its entry.

    Raises
    ------
    InputError
        The judgments, the baseline, the claims or the submissions as a whole cannot be read.
    OutputError
        The folder is one of somebody else, or cannot be written.
    """
    target = os.fspath(output)
    assignment = _assignment(qrels, baseline, rules)
    grader = Grader(assignment)
    aside = [os.path.realpath(each) for each in (target, qrels, claims, baseline) if each is not None]
    others: list[FileRead] = []
    handed_in = submissions(os.fspath(submitted), limits_of(rules), without=aside, others=others)
    claimed, strays = _claimed(claims, [each.student for each in handed_in])
    check_folder(target)
    os.makedirs(os.path.join(target, KEPT), exist_ok=True)
    setup = _setup(assignment, grader, os.path.join(target, KEPT))
    jobs = [Job(each, tuple(claimed.get(each.student, ()))) for each in handed_in]
    replies = graded_by_processes(
        setup, jobs, workers=workers or available_threads(), seconds=rules.seconds, after=after
    )
    records = [each.graded for each in replies]
    notes = [f"{each.name} belongs to nobody: {each.why}" for each in others]
    if rules == DEFAULT_RULES and claims is None and not any(each.claims for each in records):
        # Nobody was asked for numbers, then; with rules of their own, teachers say what they want.
        assignment = assignment._replace(rules=rules._replace(points_claims=0.0))
        notes.append("nobody claims a number, so points are given for runs alone")
    book = _grades(assignment, grader, os.fspath(submitted), records, strays)._replace(notes=tuple(notes))
    write_all(target, book)
    forget(os.path.join(target, KEPT), {each.kept for each in replies if each.kept})
    return book


def grade_one(
    qrels: str | os.PathLike[str],
    submission: str | os.PathLike[str],
    *,
    claims: str | os.PathLike[str] | None = None,
    baseline: str | os.PathLike[str] | None = None,
    rules: Rules = DEFAULT_RULES,
) -> tuple[Entry, Grades]:
    """Grade one submission and write nothing; parameters and errors as of `grade`.

    Parameters
    ----------
    qrels, claims, baseline, rules
        As of `grade`. Of claims of a class, those of the submission's student count.
    submission : path
        A file, a folder or a zip that is one student's submission.

    Returns
    -------
    Entry
        The submission with its points.
    Grades
        A class of this one.
    """
    assignment = _assignment(qrels, baseline, rules)
    grader = Grader(assignment)
    handed_in = one(os.fspath(submission), limits_of(rules))
    claimed, _ = _claimed(claims, [handed_in.student])
    job = Job(handed_in, tuple(claimed.get(handed_in.student, ())))
    (reply,) = graded_by_processes(_setup(assignment, grader, ""), [job], workers=1, seconds=rules.seconds)
    book = _grades(assignment, grader, os.fspath(submission), [reply.graded], ())
    return book.entries[0], book


def _assignment(qrels: str | os.PathLike[str], baseline: str | os.PathLike[str] | None, rules: Rules) -> Assignment:
    if baseline is None and any(each.above_baseline for each in rules.measures):
        raise EvaluationError(
            "the rules give points by the baseline, and there is none", "Give a run to compare with (--baseline)."
        )
    return Assignment(os.fspath(qrels), "" if baseline is None else os.fspath(baseline), rules)


def _claimed(
    claims: str | os.PathLike[str] | None, students: Sequence[str]
) -> tuple[Mapping[str, Sequence[Claimed]], Sequence[str]]:
    if claims is None:
        return {}, ()
    return match_students(claims_of_class(os.fspath(claims)), students)


def _setup(assignment: Assignment, grader: Grader, folder: str) -> Setup:
    """Return what processes are told; the context changes with all that grades depend on."""
    from treceval_py.signatures import Fingerprint

    baseline = baseline_record(grader)
    parts = (
        __version__,
        str(Fingerprint(grader.qrels)),
        assignment.qrels,
        assignment.baseline,
        "" if baseline is None else f"{baseline.hash_of_ranking} {sorted(baseline.measures.items())}",
        fingerprint(assignment.rules),
    )
    context = hashlib.sha256(repr(parts).encode("utf-8", "surrogateescape")).hexdigest()
    memory = int(assignment.rules.memory_megabytes * (1 << 20))
    return Setup(assignment, folder, context, memory)


def _grades(
    assignment: Assignment, grader: Grader, submitted: str, graded: Sequence[Graded], strays: Sequence[str]
) -> Grades:
    rules, baseline = assignment.rules, baseline_record(grader)
    means = {} if baseline is None else baseline.measures
    ordered = sorted(graded, key=lambda each: (each.student.casefold(), encode(each.student), encode(each.source)))
    taken: set[str] = set()
    entries = tuple(
        Entry(each._replace(tops=None), marks_of(each, rules, means), safe_name(each.student, taken))
        for each in ordered
    )
    pairs = alike(ordered, baseline, threshold=rules.similarity, depth=rules.similarity_depth)
    measures = tuple(each.name for each in rules.measures)
    return Grades(
        assignment.qrels, submitted, assignment.baseline, rules, measures, means, entries, pairs, tuple(strays)
    )
