"""Grade a class: submissions, one by one and side by side, and all that is written about them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence

from treceval_py.data.ids import encode, shown
from treceval_py.errors import EvaluationError
from treceval_py.grading.claims.claims import Claimed, claims_of_class
from treceval_py.grading.grades import Entry, Grades
from treceval_py.grading.intake.archives import close_kept
from treceval_py.grading.intake.intake import Submission, one, safe_name, submissions
from treceval_py.grading.intake.students import match_students
from treceval_py.grading.marking.marking import Grader, baseline_record, limits_of
from treceval_py.grading.marking.points import marks_of
from treceval_py.grading.marking.scoring import Assignment
from treceval_py.grading.marking.similarity import alike
from treceval_py.grading.outputs.folder import KEPT, check_folder, write_all
from treceval_py.grading.processes.kept import forget
from treceval_py.grading.processes.worker import Job, Reply, Setup
from treceval_py.grading.processes.workers import graded_by_processes
from treceval_py.grading.records import FileRead, Graded
from treceval_py.grading.rules import DEFAULT_RULES, Rules, fingerprint
from treceval_py.threads import available_threads
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
    without: Iterable[str | os.PathLike[str]] = (),
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
    without : iterable of paths, optional
        What else in the folder of submissions is none, such as the file of rules.
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
    _check_paths(qrels, submitted, output, claims or "", baseline or "")
    target = os.fspath(output)
    assignment = _assignment(qrels, baseline, rules)
    grader = Grader(assignment)
    aside = [os.path.realpath(each) for each in (target, qrels, claims, baseline, *without) if each is not None]
    others: list[FileRead] = []
    handed_in = submissions(os.fspath(submitted), limits_of(rules), without=aside, others=others)
    if not handed_in:
        raise EvaluationError(
            "there is no submission",
            "Give a folder or zip with a file or folder for each student.",
            file=os.fspath(submitted),
        )
    claimed, strays = _claimed(claims, [each.student for each in handed_in])
    check_folder(target)
    os.makedirs(os.path.join(target, KEPT), exist_ok=True)
    known = baseline_record(grader)
    setup = _setup(assignment, grader, known, os.path.join(target, KEPT))
    replies = _replies(setup, handed_in, claimed, workers or available_threads(), after)
    book = _grades(assignment, known, os.fspath(submitted), [each.graded for each in replies], strays, grader.notes)
    book = book._replace(notes=(*map(_about_other, others), *book.notes))
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
    student: str | None = None,
) -> tuple[Entry, Grades]:
    """Grade one submission and write nothing; parameters and errors as of `grade`.

    Parameters
    ----------
    qrels, claims, baseline, rules
        As of `grade`. Of claims of a class, those of the submission's student count.
    submission : path
        A file, a folder or a zip that is one student's submission.
    student : str, optional
        Who it is from, to find the claims in a table of a class; by default the name of the file or folder.

    Returns
    -------
    Entry
        The submission with its points.
    Grades
        A class of this one.
    """
    _check_paths(qrels, submission, claims or "", baseline or "")
    assignment = _assignment(qrels, baseline, rules)
    grader = Grader(assignment)
    handed_in = one(os.fspath(submission), limits_of(rules))
    if student is not None:
        handed_in = handed_in._replace(student=student)
    claimed, strays = _claimed(claims, [handed_in.student])
    if handed_in.student in claimed:
        strays = ()  # those of a class are all of others
    known = baseline_record(grader)
    (reply,) = _replies(_setup(assignment, grader, known, ""), [handed_in], claimed, 1)
    book = _grades(assignment, known, os.fspath(submission), [reply.graded], strays, grader.notes)
    return book.entries[0], book


def _about_other(found: FileRead) -> str:
    """Say what was found beside the submissions."""
    return f"{found.name}: {found.why}" if found.role == "note" else f"{found.name} belongs to nobody: {found.why}"


def _check_paths(*paths: object) -> None:
    """Refuse what is not a path: submissions are graded by other processes, from files."""
    wrong = [path for path in paths if not isinstance(path, (str, os.PathLike))]
    if wrong:
        raise EvaluationError(f"submissions are graded by files, not by {shown(wrong[0])}", "Give paths.")


def _assignment(qrels: str | os.PathLike[str], baseline: str | os.PathLike[str] | None, rules: Rules) -> Assignment:
    for path in (qrels, baseline):
        if path is not None and os.path.exists(path) and not os.path.isfile(path):
            raise EvaluationError(
                "is no regular file, and is read by several processes", "Write it to a file.", file=os.fspath(path)
            )
    if baseline is None and rules.needs_baseline:
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


def _replies(
    setup: Setup,
    handed_in: Sequence[Submission],
    claimed: Mapping[str, Sequence[Claimed]],
    workers: int,
    after: Callable[[], None] | None = None,
) -> list[Reply]:
    """Let processes grade submissions."""
    jobs = [Job(each, tuple(claimed.get(each.student, ()))) for each in handed_in]
    try:
        return graded_by_processes(setup, jobs, workers=workers, seconds=setup.assignment.rules.seconds, after=after)
    finally:
        close_kept()


def _setup(assignment: Assignment, grader: Grader, baseline: Graded | None, folder: str) -> Setup:
    """Return what processes are told; the context changes with all that grades depend on."""
    from treceval_py.scoring.signatures import Fingerprint

    parts = (
        __version__,
        str(Fingerprint(grader.qrels)),
        grader.head,
        assignment.qrels,
        assignment.baseline,
        "" if baseline is None else f"{baseline.hash_of_ranking} {sorted(baseline.measures.items())}",
        fingerprint(assignment.rules),
    )
    context = hashlib.sha256(repr(parts).encode("utf-8", "surrogateescape")).hexdigest()
    memory = int(assignment.rules.memory_megabytes * (1 << 20))
    return Setup(assignment, folder, context, memory)


def _grades(
    assignment: Assignment,
    baseline: Graded | None,
    submitted: str,
    graded: Sequence[Graded],
    strays: Sequence[str],
    notes: Sequence[str],
) -> Grades:
    rules = assignment.rules
    if rules == DEFAULT_RULES and not strays and not any(each.claims for each in graded):
        # Nobody was asked for numbers, then; with rules of their own, teachers say what they want.
        rules = rules._replace(points_claims=0.0)
        notes = (*notes, "nobody claims a number, so points are given for runs alone")
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
        qrels=assignment.qrels,
        submissions=submitted,
        baseline=assignment.baseline,
        rules=rules,
        measures=measures,
        baseline_measures=means,
        entries=entries,
        pairs=pairs,
        strays=tuple(strays),
        notes=tuple(notes),
    )
