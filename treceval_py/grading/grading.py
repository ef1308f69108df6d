"""Grade a class or a course: all submissions, and the files that are written about them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime

from treceval_py.data.ids import shown
from treceval_py.errors import EvaluationError, OutputError, listed
from treceval_py.grading.adjustments import matched, read_adjustments
from treceval_py.grading.attention import with_questions
from treceval_py.grading.course import Course, course_of, of_no_task, roster_of, submissions_of
from treceval_py.grading.exercise import Exercise, FreeDays
from treceval_py.grading.grades import Entry, Grades
from treceval_py.grading.intake.intake import one, submissions
from treceval_py.grading.intake.platforms import safe_name
from treceval_py.grading.marking.marking import limits_of
from treceval_py.grading.outputs.folder import (
    ADJUSTMENTS,
    RESERVED,
    about_edits,
    check_folder,
    edited,
    with_edits,
    write_all,
    write_files,
)
from treceval_py.grading.outputs.imports import check_platforms
from treceval_py.grading.outputs.pages import course_outputs
from treceval_py.grading.people import Roster, class_of, read_roster
from treceval_py.grading.processes import forget
from treceval_py.grading.records import KEPT, FileRead
from treceval_py.grading.rules import DEFAULT_RULES, Rules, Task
from treceval_py.io.target import locked
from treceval_py.threads import available_threads

AnyPath = str | os.PathLike[str]


def grade(
    qrels: AnyPath,
    submitted: AnyPath,
    output: AnyPath,
    *,
    claims: AnyPath | None = None,
    baseline: AnyPath | None = None,
    rules: Rules = DEFAULT_RULES,
    roster: AnyPath | Roster | None = None,
    workers: int | None = None,
    without: Iterable[AnyPath] = (),
    to: Sequence[str] = (),
    after: Callable[[], None] | None = None,
) -> Grades:
    """Grade all submissions of a class, and write a gradebook, a feedback file for each student and an overview.

    Parameters
    ----------
    qrels : path
        The judgments.
    submitted : path
        A folder with a file or folder for each student, or the zip, tar or tar.gz that a learning platform exports.
    output : path
        The folder to write to: a new or empty one, or one from an earlier grading. Submissions graded there are graded
        again only if something changed.
    claims : path, optional
        Claimed numbers of students: CSV with the columns ``student, measure, value``, or ``student`` and a column for
        each measure. Claims in the submissions are found without it.
    baseline : path, optional
        A run to compare with.
    rules : Rules
        Rules for scoring and points; see `read_rules`.
    roster : path or Roster, optional
        Everybody in the class; see `read_roster`. Each student on it has an entry; submissions that fit nobody are
        listed.
    workers : int, optional
        Number of processes that grade. Default: the number of cores available to this process.
    without : iterable of paths, optional
        Files in the folder of submissions that are not submissions, such as the rules. Output, roster, judgments,
        claims and baseline are always left out.
    to : sequence of str
        Learning platforms for which import files are written: ``moodle``, ``canvas``, ``gradescope``.
    after : callable, optional
        Called after each submission, for progress.

    Returns
    -------
    Grades
        The results, as they are written. A faulty submission never raises; its entry records the fault.

    Raises
    ------
    InputError
        The judgments, the baseline, the claims, the roster, the adjustments or the submissions as a whole cannot be
        read; or the adjustments name an unknown student or run.
    OutputError
        The output folder has files that grading did not write, or cannot be written.
    EvaluationError
        The rules are for a course, a platform is unknown, or an argument is not a path.
    """
    _check_paths(qrels, submitted, output, claims or "", baseline or "")
    check_platforms(to)
    if rules.tasks:
        raise EvaluationError("these are the rules of a course", "Use grade_course, which takes judgments from them.")
    target, path = os.fspath(output), os.fspath(submitted)
    task = Task("", os.fspath(qrels), os.fspath(baseline or ""), os.fspath(claims or ""), rules=rules)
    everybody, aside = _roster(roster, [target, qrels, claims, baseline, *without])
    others: list[FileRead] = []
    handed_in = submissions(path, limits_of(rules), without=aside, others=others)
    if not handed_in:
        todo = "Give a folder or zip with a file or folder for each student."
        raise EvaluationError("there are no submissions", todo, file=path)
    exercise = Exercise(task, path, class_of(handed_in, everybody, rules.groups), others)
    (book,) = _graded([exercise], {"": target}, workers, to, after)
    return book


def grade_course(
    submitted: AnyPath,
    output: AnyPath,
    *,
    rules: Rules,
    roster: AnyPath | Roster | None = None,
    workers: int | None = None,
    without: Iterable[AnyPath] = (),
    to: Sequence[str] = (),
    after: Callable[[], None] | None = None,
) -> Course:
    """Grade all tasks of a course: each like `grade`, into a folder of its own, and together in one gradebook.

    Parameters
    ----------
    submitted : path
        A folder with a folder or archive of submissions for each task, named by ``folder`` in the rules; or submissions
        with a folder for each task (``folder = "*/ex1"``).
    output : path
        The folder to write to; see `grade`.
    rules : Rules
        Rules with tasks.
    roster : path or Roster, optional
        Everybody in the course; see `read_roster`. Without it, everybody who handed something in, matched by name
        between tasks.
    workers, without, to, after
        See `grade`.

    Returns
    -------
    Course
        The tasks for which something was handed in, and the points of each student.

    Raises
    ------
    InputError, OutputError
        See `grade`.
    EvaluationError
        The rules have no task, nothing was handed in, a platform is unknown, or an argument is not a path.
    """
    _check_paths(submitted, output)
    check_platforms(to)
    if not rules.tasks:
        raise EvaluationError("the rules have no task", "Add [[task]] with name and qrels, or use grade.")
    target, path = os.fspath(output), os.fspath(submitted)
    files = [file for task in rules.tasks for file in (task.qrels, task.baseline, task.claims) if file]
    everybody, aside = _roster(roster, [target, *files, *without])
    others: dict[str, list[FileRead]] = {task.name: [] for task in rules.tasks}
    handed_in = {
        task.name: submissions_of(task, path, limits_of(task.rules), without=aside, others=others[task.name])
        for task in rules.tasks
    }
    tasks = [task for task in rules.tasks if handed_in[task.name]]
    if not tasks:
        wanted = ", ".join(task.folder or task.name for task in rules.tasks)
        todo = "Name the folder of each task in the rules."
        raise EvaluationError(f"there is nothing called {wanted}", todo, file=path)
    everybody = everybody or roster_of(list(handed_in.values()))
    people = {task.name: class_of(handed_in[task.name], everybody, rules.groups) for task in tasks}
    exercises = [Exercise(task, path, people[task.name], others[task.name]) for task in tasks]
    taken = {*RESERVED}
    folders = {task.name: safe_name(task.name, taken) for task in rules.tasks}
    targets = {name: os.path.join(target, folder) for name, folder in folders.items()}
    books = _graded(exercises, {"": target, **targets}, workers, to, after)
    notes = [f"nothing was handed in for {task.name}, which is left out" for task in rules.tasks if task not in tasks]
    if strange := of_no_task(rules.tasks, path, limits_of(rules), without=aside):
        why = "of no task, so not graded; name the folder of each task in the rules"
        notes.append(f"{listed(strange)} in {path}: {why}")
    notes += [
        f"{folder}/{ADJUSTMENTS} is not read; the adjustments of a course are in its own folder"
        for folder in folders.values()
        if os.path.lexists(os.path.join(target, folder, ADJUSTMENTS))
    ]
    if by_hand := edited(target):
        notes.append(about_edits(by_hand))
    course = course_of(rules.title, tasks, books, folders, everybody, notes)
    write_files(target, course_outputs(course, target))
    return course


def _graded(
    exercises: Sequence[Exercise],
    targets: Mapping[str, str],
    workers: int | None,
    to: Sequence[str],
    after: Callable[[], None] | None,
) -> list[Grades]:
    """Grade exercises, each into the folder of its task; decisions by hand are in the folder without a name."""
    for folder in targets.values():
        check_folder(folder)
    names = [name for name in targets if name]
    for exercise in exercises:
        others = [identity for other in exercises if other is not exercise for identity in other.identities]
        said = read_adjustments(os.path.join(targets[""], ADJUSTMENTS), exercise.task.name, names)
        exercise.decisions = matched(said, exercise.identities, others)
    with ExitStack() as stack:
        for folder in targets.values():
            stack.enter_context(locked(folder, OutputError, "folder", f"{KEPT}/lock"))
        for exercise in exercises:
            folder = os.path.join(targets[exercise.task.name], KEPT)
            exercise.grade(folder, workers=workers or available_threads(), after=after)
        free_days: FreeDays = {}
        # Free late days are used in the order of the deadlines, not of the tasks.
        never = datetime.max.replace(tzinfo=UTC)
        in_time = sorted(exercises, key=lambda exercise: exercise.task.rules.deadline or never)
        books = {exercise.task.name: with_questions(exercise.book(free_days)) for exercise in in_time}
        written = []
        for exercise in exercises:
            folder = targets[exercise.task.name]
            book = with_edits(folder, books[exercise.task.name])
            notes = write_all(folder, book, to)
            forget(os.path.join(folder, KEPT), set(exercise.kept))
            written.append(book._replace(notes=(*book.notes, *notes)))
    return written


def grade_one(
    qrels: AnyPath,
    submission: AnyPath,
    *,
    claims: AnyPath | None = None,
    baseline: AnyPath | None = None,
    rules: Rules = DEFAULT_RULES,
    student: str | None = None,
) -> tuple[Entry, Grades]:
    """Grade one submission without writing anything; parameters and errors as in `grade`.

    Parameters
    ----------
    qrels
        See `grade`.
    submission : path
        The submission of one student: a file, a folder or an archive.
    claims, baseline, rules
        See `grade`. From a class's table of claims, only those of the student count.
    student : str, optional
        The student's name, to find the claims in a table of a class. Default: the name of the file or folder.

    Returns
    -------
    Entry
        The submission with its points.
    Grades
        A class with only this entry.
    """
    _check_paths(qrels, submission, claims or "", baseline or "")
    handed_in = one(os.fspath(submission), limits_of(rules))
    if student is not None:
        handed_in = handed_in._replace(student=student)
    people = class_of([handed_in._replace(owners=handed_in.owners[:1])], None)
    task = Task("", os.fspath(qrels), os.fspath(baseline or ""), os.fspath(claims or ""), rules=rules)
    exercise = Exercise(task, os.fspath(submission), people)
    exercise.grade()
    book = exercise.book({})
    # The others in the class's table are not stray.
    book = with_questions(book._replace(strays=() if exercise.claimed else book.strays))
    return book.entries[0], book


def _check_paths(*paths: object) -> None:
    """Raise for arguments that are not paths: other processes grade the submissions from files."""
    for path in paths:
        if not isinstance(path, (str, os.PathLike)):
            raise EvaluationError(f"submissions are graded from files, not from {shown(path)}", "Give paths.")


def _roster(roster: AnyPath | Roster | None, aside: Iterable[AnyPath | None]) -> tuple[Roster | None, list[str]]:
    """Return the roster, and all files that are not submissions."""
    everybody = roster if roster is None or isinstance(roster, Roster) else read_roster(roster)
    files = [*aside, everybody.file if everybody is not None and everybody.file else None]
    return everybody, [os.path.realpath(file) for file in files if file is not None]
