"""Files about a course as a whole: one gradebook, a feedback file for each student, and a page."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from statistics import fmean
from typing import Any
from urllib.parse import quote

from treceval_py.data.ids import encode
from treceval_py.grading.course.course import Course, Standing
from treceval_py.grading.grades import Entry
from treceval_py.grading.outputs.feedback import score_of
from treceval_py.grading.outputs.gradebook import POINTS, about_people, csv_of, sheet_of, shown, text_column
from treceval_py.grading.outputs.overview import page
from treceval_py.grading.outputs.workbook import workbook
from treceval_py.grading.records import REPAIRED, SCORED
from treceval_py.rendering.tables import Column, Table

NAME, TOTAL = 80, "Total"


def course_outputs(course: Course, target: str) -> dict[str, bytes]:
    """Make the files of a course; those that need a package of the extra only if it is installed.

    Parameters
    ----------
    course : Course
        The course.
    target : str
        Its folder, where the tasks are already written. The feedback on tasks is read from there, because the teacher
        may have edited it.

    Returns
    -------
    dict of str to bytes
        The contents, by file name.
    """
    table = _gradebook(course)
    made = {"gradebook.csv": encode(csv_of(table))}
    if find_spec("xlsxwriter") is not None:
        made["gradebook.xlsx"] = workbook([table, *_sheets(course)])
    if find_spec("jinja2") is not None:
        made["overview.html"] = encode(_page(course))
    return made | {f"feedback/{member.name}.txt": _feedback(member, course, target) for member in course.members}


# The gradebook ------------------------------------------------------------------------------------


def _gradebook(course: Course) -> Table:
    members = course.members
    columns = [text_column("student", [shown(member.student) for member in members]), *_about(course)]
    columns.append(_points("points", [member.total for member in members]))
    columns.append(_points("out of", [member.most for member in members]))
    for number, task in enumerate(course.names):
        own = [member.entries[number] for member in members]
        columns.append(_points(shown(task), [_total(entry) for entry in own]))
        columns.append(
            _points(f"{shown(task)}: out of", [None if entry is None else entry.marks.most for entry in own])
        )
        columns.append(text_column(f"{shown(task)}: status", tuple(map(_status, own))))
        notes = ["" if entry is None else "; ".join(change.why for change in entry.marks.changes) for entry in own]
        if any(notes):
            columns.append(text_column(f"{shown(task)}: changes", tuple(map(shown, notes))))
        looks = ["" if entry is None else "; ".join(question.what for question in entry.questions) for entry in own]
        if any(looks):
            columns.append(text_column(f"{shown(task)}: needs a human", tuple(map(shown, looks))))
    columns.append(text_column("feedback", [f"feedback/{member.name}.txt" for member in members]))
    return Table(tuple(columns), "Course")


def _about(course: Course) -> Iterator[Column]:
    return about_people([member.person for member in course.members])


def _points(title: str, points: Sequence[float | None]) -> Column:
    return Column(title, tuple(points), digits=POINTS, fixed=True)


def _total(entry: Entry | None) -> float | None:
    return None if entry is None or entry.marks.excused else entry.marks.total


def _status(entry: Entry | None) -> str:
    return "" if entry is None else "excused" if entry.marks.excused else entry.graded.status


def _sheets(course: Course) -> Iterator[Table]:
    """Yield a sheet of the questions for a person in all tasks, and a sheet of the tasks."""
    rows = [
        (shown(task), question.kind, shown(entry.student), shown(question.what))
        for task, book in zip(course.names, course.tasks, strict=True)
        for entry in book.entries
        for question in entry.questions
    ]
    yield sheet_of("Needs a human", ("task", "kind", "student", "what to look at"), rows)
    tasks = zip(course.names, course.folders, course.tasks, course.weights, strict=True)
    yield sheet_of(
        "Tasks",
        ("task", "folder", "judgments", "baseline", "profile", "counts"),
        [
            (shown(name), folder, shown(book.qrels), shown(book.baseline), book.rules.profile, f"{weight:g}")
            for name, folder, book, weight in tasks
        ],
    )


# The feedback of a student ------------------------------------------------------------------------


def _feedback(member: Standing, course: Course, target: str) -> bytes:
    """Return the points of all tasks, then the feedback on each task."""
    rows, texts = [], []
    tasks = zip(course.names, course.folders, course.weights, course.tasks, member.entries, strict=True)
    for name, folder, weight, book, entry in tasks:
        if entry is None:
            continue
        said = "excused" if entry.marks.excused else f"{score_of(entry.marks.total)} of {score_of(entry.marks.most)}"
        rows.append((shown(name, NAME), said, f"   (counts {weight:g} times)" if weight != 1 else ""))
        texts.append(f"\n\n{shown(name, NAME)}\n{'#' * len(shown(name, NAME))}\n\n".encode())
        with open(os.path.join(target, folder, "feedback", f"{entry.name}.txt"), "rb") as stream:
            # The file of the task, as edited, without the heading that is repeated above.
            heading = f"{_heading(entry.student)}\n{shown(book.rules.title, NAME)}\n\n"
            texts.append(stream.read().removeprefix(encode(heading)))
    counted = any(entry is not None and not entry.marks.excused for entry in member.entries)
    together = f"{score_of(member.total)} of {score_of(member.most)}" if counted else "excused"
    rows.append((TOTAL, together, ""))
    widest, broadest = (max(len(row[column]) for row in rows) for column in (0, 1))
    lines = [_heading(member.student), *([shown(course.title), ""] if course.title else [])]
    lines += [f"  {name:<{widest}}  {said:>{broadest}}{times}" for name, said, times in rows]
    return encode("\n".join(lines) + "\n") + b"".join(texts)


def _heading(student: str) -> str:
    title = f"Feedback for {shown(student, NAME)}"
    return f"{title}\n{'=' * len(title)}\n"


# The page -----------------------------------------------------------------------------------------


def _page(course: Course) -> str:
    tasks = [
        {
            "name": name,
            "page": f"{quote(folder)}/overview.html",
            "weight": weight,
            "handed_in": sum(bool(entry.graded.source) for entry in book.entries),
            "scored": sum(entry.graded.status in (SCORED, REPAIRED) for entry in book.entries),
            "mean": fmean([entry.marks.total for entry in book.entries if not entry.marks.excused] or [0.0]),
            "most": max((entry.marks.most for entry in book.entries), default=0.0),
            "needing": sum(bool(entry.questions) for entry in book.entries),
        }
        for name, folder, weight, book in zip(course.names, course.folders, course.weights, course.tasks, strict=True)
    ]
    about = list(_about(course))
    rows: list[dict[str, Any]] = [
        {
            "student": shown(member.student, NAME),
            "feedback": f"feedback/{quote(member.name)}.txt",
            "about": [column.cells[place] for column in about],
            "cells": [_cell(entry, folder) for entry, folder in zip(member.entries, course.folders, strict=True)],
            "total": member.total,
            "most": member.most,
        }
        for place, member in enumerate(course.members)
    ]
    return page(
        "course.html",
        course=course,
        title=shown(course.title, NAME) or "Overview of the course",
        tasks=tasks,
        about=[column.key for column in about],
        rows=rows,
        marked=any(cell["mark"] for row in rows for cell in row["cells"]),
    )


def _cell(entry: Entry | None, folder: str) -> dict[str, Any]:
    """Return a cell of the page: a student's task."""
    if entry is None:
        return {"value": "", "link": "", "shown": "", "title": "", "mark": ""}
    points = _total(entry)
    changes, questions = entry.marks.changes, entry.questions
    said = [entry.graded.status, *(change.why for change in changes), *(question.what for question in questions)]
    return {
        "value": "" if points is None else points,
        "link": f"{quote(folder)}/feedback/{quote(entry.name)}.txt",
        "shown": "excused" if points is None else score_of(points),
        "title": shown("; ".join(said)),
        "mark": "*" if changes or questions else "",
    }
