"""The overview of a class, one HTML page that loads nothing from elsewhere, and the files about a course as a whole."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from importlib.util import find_spec
from urllib.parse import quote

from treceval_py.checking.catalogue import CODES
from treceval_py.checking.findings import SEVERITIES
from treceval_py.data.ids import encode
from treceval_py.grading.course import Course, Standing
from treceval_py.grading.grades import Entry, Grades, Marks
from treceval_py.grading.outputs.feedback import NAME, heading_of, score_of
from treceval_py.grading.outputs.gradebook import (
    SETTLED,
    about,
    about_table,
    alike_table,
    claims_table,
    class_table,
    csv_of,
    feedback_of,
    linked,
    questions_table,
    shown,
    summary,
    table_of,
    workbook,
)
from treceval_py.grading.records import EVIDENCE, VERDICTS
from treceval_py.rendering.formats.html import drawn_table
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import Cell, Table
from treceval_py.report.page import whole_page

FOLDER = files("treceval_py.grading.outputs")
CLAIMS = ("student", "measure", "claimed", "value", "verdict", "why", "place", "sentence")
MOST = 500
"""Most rows of a table apart from that of the class; the gradebook has all."""


def overview(grades: Grades) -> str:
    """Return the overview of a class as a complete HTML document, which opens from a file and without a network.

    It can be read without JavaScript, which only sorts tables. The same grades give the same text.
    """
    first = "".join(grades.measures[:1])

    def order(entry: Entry) -> float:
        value = entry.graded.measures.get(first, math.nan)
        return math.inf if math.isnan(value) else -value

    students = class_table(grades, sorted(grades.entries, key=order))
    said = [f"In the order of {shown(first)}."] if first else []
    if first in grades.baseline_measures:
        said.append(f"The baseline has {grades.baseline_measures[first]:.4f}.")
    others = (
        questions_table(grades),
        _verdicts(grades.entries),
        claims_table(grades, SETTLED, page=CLAIMS, heading="Numbers that are not simply right", folds=True),
        _findings(grades.entries),
        alike_table(grades),
        about_table(grades),
    )
    title = grades.rules.title or "Overview of the class"
    return page(title, summary(grades), [students._replace(notes=tuple(said)), *map(_cut, others)])


def page(title: str, lines: Sequence[str], tables: Sequence[Table]) -> str:
    """Return a page with lines of text and a section for each table that has rows."""
    tables = [table for table in tables if table.rows]
    ids = {table.name: table.name.lower().replace(" ", "-") for table in tables}
    links = " ".join(f'<a href="#{ids[name]}">{name}</a>' for name in ids)
    parts = [
        f'<header class="wide"><h1>{escape(shown(title))}</h1>\n',
        *(f'<p class="line">{escape(shown(line))}</p>\n' for line in lines),
        f'<nav aria-label="Contents">{links}</nav></header>\n<main class="wide">\n',
        *(
            f'<section id="{ids[table.name]}" tabindex="-1"><div class="part"><h2>{table.name}</h2></div>\n'
            f"{drawn_table(table, Style())}\n</section>\n"
            for table in tables
        ),
        "</main>\n",
    ]
    script, style = ((FOLDER / f"overview.{ending}").read_text("utf-8") for ending in ("js", "css"))
    return whole_page(shown(title), "".join(parts), [script], style=style, private=True)


def _cut(table: Table) -> Table:
    left = table.rows - MOST
    if left <= 0:
        return table
    columns = (column._replace(cells=column.cells[:MOST], links=column.links[:MOST]) for column in table.columns)
    return table._replace(columns=tuple(columns), notes=(*table.notes, f"And {left:,} more, all in the gradebook."))


def _verdicts(entries: Sequence[Entry]) -> Table:
    """Count verdicts by measure, the measure with most numbers first."""
    counts: dict[str, Counter[str]] = {}
    for entry in entries:
        for claim in entry.graded.claims:
            counts.setdefault(claim.measure, Counter())[claim.verdict] += 1
    known = VERDICTS | EVIDENCE
    order = sorted(counts, key=lambda name: -counts[name].total())
    notes = tuple(f"{verdict}: {meaning}" for verdict, meaning in known.items())
    return table_of(
        "Verdicts", [{"measure": name} | {kind: counts[name][kind] for kind in known} for name in order], notes=notes
    )


def _findings(entries: Sequence[Entry]) -> Table:
    """Count findings by code: errors first, then by the number of submissions."""
    submissions = Counter(code for entry in entries for code in entry.graded.counts)
    numbers = sum((Counter(entry.graded.counts) for entry in entries), Counter[str]())
    codes = sorted(numbers, key=lambda code: (SEVERITIES.index(CODES[code].severity), -submissions[code], code))
    rows = [
        {"code": code, "severity": CODES[code].severity, "submissions": submissions[code], "findings": numbers[code]}
        | {"what was found": CODES[code].title}
        for code in codes
    ]
    return table_of("Findings", rows, notes=("treceval check --explain CODE explains a code.",))


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
