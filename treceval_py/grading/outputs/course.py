"""Files about a course as a whole: one gradebook, a feedback file for each student, and a page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from urllib.parse import quote

from treceval_py.data.ids import encode
from treceval_py.grading.course.course import Course, Standing
from treceval_py.grading.grades import Entry
from treceval_py.grading.marking.points import Marks
from treceval_py.grading.outputs.feedback import NAME, heading_of, score_of
from treceval_py.grading.outputs.gradebook import about, csv_of, feedback_of, linked, shown, summary, table_of
from treceval_py.grading.outputs.overview import page
from treceval_py.grading.outputs.workbook import workbook
from treceval_py.rendering.tables import Cell, Table


def course_outputs(course: Course, target: str) -> dict[str, bytes]:
    """Make the files of a course, by name; the workbook only if its package is installed.

    The feedback on tasks is read from the target folder, where the tasks are already written, because the teacher may
    have edited it.
    """
    table = _gradebook(course)
    title = course.title or "Overview of the course"
    notes = table_of("Notes", [{"note": note} for note in course.notes])
    made = {"gradebook.csv": encode(csv_of(table))}
    if find_spec("xlsxwriter") is not None:
        made["gradebook.xlsx"] = workbook([table, _tasks(course)])
    made["overview.html"] = encode(page(title, [f"{len(course.members)} students"], [_tasks(course), table, notes]))
    return made | {f"feedback/{member.name}.txt": _feedback(member, course, target) for member in course.members}


def _gradebook(course: Course) -> Table:
    feedback = [f"feedback/{member.name}.txt" for member in course.members]
    rows, links = [], {"student": feedback}
    for member, file in zip(course.members, feedback, strict=True):
        row = {"student": member.student, **about(member.person), "points": member.total, "out of": member.most}
        for task, folder, entry in zip(course.names, course.folders, member.entries, strict=True):
            row |= _cells(task, entry)
            link = f"{quote(folder)}/{feedback_of(entry)}" if entry else ""
            links.setdefault(f"{task}: points", []).append(link)
        rows.append(row | {"feedback": file})
    asked = [f"{task}: {title}" for task in course.names for title in ("changes", "needs a human")]
    page = ("group", "points", "out of", *links, *asked)
    return linked(table_of("Grades", rows, page=page, values=()), links)


def _cells(task: str, entry: Entry | None) -> Iterator[tuple[str, Cell]]:
    """Yield the columns of a student's task."""
    marks = Marks((), 0.0, 0.0, None, excused=True) if entry is None else entry.marks
    status = "" if entry is None else "excused" if marks.excused else entry.graded.status
    yield f"{task}: points", None if marks.excused else marks.total
    yield f"{task}: out of", None if entry is None else marks.most
    yield f"{task}: status", status
    yield f"{task}: changes", "; ".join(change.why for change in marks.changes)
    yield f"{task}: needs a human", "; ".join(question.what for question in entry.questions) if entry else ""


def _tasks(course: Course) -> Table:
    tasks = zip(course.names, course.tasks, course.weights, strict=True)
    rows = [
        {"task": name, "weight": f"{weight:g}", "results": ". ".join(summary(book))} for name, book, weight in tasks
    ]
    return linked(table_of("Tasks", rows), {"task": [f"{quote(folder)}/overview.html" for folder in course.folders]})


def _feedback(member: Standing, course: Course, target: str) -> bytes:
    """Return the points of all tasks, then the feedback on each task."""
    rows, texts = [], []
    tasks = zip(course.names, course.folders, course.weights, course.tasks, member.entries, strict=True)
    for name, folder, weight, book, entry in tasks:
        if entry is None:
            continue
        said = "excused" if entry.marks.excused else f"{score_of(entry.marks.total)} of {score_of(entry.marks.most)}"
        title = shown(name, NAME)
        rows.append((title, said, f"   (counts {weight:g} times)" if weight != 1 else ""))
        texts.append(f"\n\n{title}\n{'#' * len(title)}\n\n".encode())
        with open(os.path.join(target, folder, "feedback", f"{entry.name}.txt"), "rb") as stream:
            # The file of the task, as edited, without the heading that is repeated above.
            texts.append(stream.read().removeprefix(encode(heading_of(entry.student, book.rules.title))))
    counted = any(entry is not None and not entry.marks.excused for entry in member.entries)
    rows.append(("Total", f"{score_of(member.total)} of {score_of(member.most)}" if counted else "excused", ""))
    widest, broadest = (max(len(row[place]) for row in rows) for place in (0, 1))
    lines = [f"  {name:<{widest}}  {said:>{broadest}}{times}\n" for name, said, times in rows]
    return encode(heading_of(member.student, course.title) + "".join(lines)) + b"".join(texts)
