"""The overview of a class, one HTML page that loads nothing from elsewhere, and the files about a course as a whole."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from importlib.util import find_spec
from urllib.parse import quote

from treceval_py.checking.catalogue import CODES
from treceval_py.data.ids import encode
from treceval_py.grading.course import Course, Standing
from treceval_py.grading.grades import Entry, Grades
from treceval_py.grading.outputs import gradebook
from treceval_py.grading.outputs.feedback import NAME, heading_of
from treceval_py.grading.outputs.gradebook import by_weight, counted, feedback_of, shown, summary, table_of
from treceval_py.grading.records import EVIDENCE, VERDICTS
from treceval_py.rendering.formats.html import drawn_table
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import Table
from treceval_py.reporting.page import whole_page

FOLDER = files("treceval_py.grading.outputs")
CLAIMS = ("student", "measure", "claimed", "value", "verdict", "why", "place", "sentence")
MOST = 500
"""Most rows of a table apart from that of the class; the gradebook has all."""


def overview(grades: Grades) -> str:
    """Return the overview of a class as a complete HTML document, which opens from a file and without a network.

    It can be read without JavaScript, which only sorts tables. The same grades give the same text.
    """
    first = "".join(grades.measures[:1])
    values = [entry.graded.measures.get(first, math.nan) for entry in grades.entries]
    order = sorted(range(len(values)), key=lambda at: math.inf if math.isnan(values[at]) else -values[at])
    students = gradebook.class_table(grades, [grades.entries[at] for at in order])
    said = [f"In the order of {shown(first)}."] if first else []
    if first in grades.baseline_measures:
        said.append(f"The baseline has {grades.baseline_measures[first]:.4f}.")
    heading = "Numbers that are not simply right"
    others = (
        gradebook.questions_table(grades),
        _verdicts(grades.entries),
        gradebook.claims_table(grades, gradebook.SETTLED, page=CLAIMS, heading=heading, folds=True),
        _findings(grades.entries),
        gradebook.alike_table(grades),
        gradebook.about_table(grades),
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
    rows = [{"measure": name} | {kind: counts[name][kind] for kind in known} for name in order]
    return table_of("Verdicts", rows, notes=tuple(map(": ".join, known.items())))


def _findings(entries: Sequence[Entry]) -> Table:
    """Count findings by code: errors first, then by the number of submissions."""
    submissions = Counter(code for entry in entries for code in entry.graded.counts)
    numbers = sum((Counter(entry.graded.counts) for entry in entries), Counter[str]())
    codes = sorted(numbers, key=lambda code: (by_weight(code)[0], -submissions[code], code))
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
    table, tasks = _gradebook(course), _tasks(course)
    notes = table_of("Notes", [{"note": note} for note in course.notes])
    made = {"gradebook.csv": encode(gradebook.csv_of(table))}
    if find_spec("xlsxwriter") is not None:
        made["gradebook.xlsx"] = gradebook.workbook([table, tasks])
    title, line = course.title or "Overview of the course", counted(len(course.members), "student")
    made["overview.html"] = encode(page(title, [line], [tasks, table, notes]))
    return made | {f"feedback/{member.name}.txt": _feedback(member, course, target) for member in course.members}


def _gradebook(course: Course) -> Table:
    feedback = [f"feedback/{member.name}.txt" for member in course.members]
    rows, links = [], {"student": feedback}
    titles = ("points", "out of", "status", "changes", "needs a human")
    for member, file in zip(course.members, feedback, strict=True):
        about = gradebook.about(member.person)
        row = {"student": member.student, **about, "points": member.total, "out of": member.most}
        for task, folder, entry in zip(course.names, course.folders, member.entries, strict=True):
            link, cells = "", dict.fromkeys(titles)
            if entry is not None:
                link = f"{quote(folder)}/{feedback_of(entry)}"
                marks, graded = entry.marks, entry.graded
                points, status = (None, "excused") if marks.excused else (marks.total, graded.status)
                said = ["; ".join(change.why for change in marks.changes)]
                said.append("; ".join(question.what for question in entry.questions))
                cells = dict(zip(titles, (points, marks.most, status, *said), strict=True))
            row |= {f"{task}: {title}": cell for title, cell in cells.items()}
            links.setdefault(f"{task}: points", []).append(link)
        rows.append(row | {"feedback": file})
    asked = [f"{task}: {title}" for task in course.names for title in titles[-2:]]
    page = ("group", "points", "out of", *links, *asked)
    return table_of("Grades", rows, page=page, values=(), links=links)


def _tasks(course: Course) -> Table:
    tasks = zip(course.names, course.tasks, course.weights, strict=True)
    facts = ((name, f"{weight:g}", ". ".join(summary(book))) for name, book, weight in tasks)
    rows = [dict(zip(("task", "weight", "results"), fact, strict=True)) for fact in facts]
    return table_of("Tasks", rows, links={"task": [f"{quote(folder)}/overview.html" for folder in course.folders]})


def _feedback(member: Standing, course: Course, target: str) -> bytes:
    """Return the points of all tasks, then the feedback on each task."""
    rows, texts = [], []
    tasks = zip(course.names, course.folders, course.weights, course.tasks, member.entries, strict=True)
    for name, folder, weight, book, entry in tasks:
        if entry is None:
            continue
        said = "excused" if entry.marks.excused else f"{entry.marks.total:.2f} of {entry.marks.most:.2f}"
        title = shown(name, NAME)
        rows.append((title, said, f"   (counts {weight:g} times)" if weight != 1 else ""))
        texts.append(f"\n\n{title}\n{'#' * len(title)}\n\n".encode())
        with open(os.path.join(target, folder, "feedback", f"{entry.name}.txt"), "rb") as stream:
            # The file of the task, as edited, without the heading that is repeated above.
            texts.append(stream.read().removeprefix(encode(heading_of(entry.student, book.rules.title))))
    counts = any(entry is not None and not entry.marks.excused for entry in member.entries)
    rows.append(("Total", f"{member.total:.2f} of {member.most:.2f}" if counts else "excused", ""))
    widest, broadest = (max(len(row[place]) for row in rows) for place in (0, 1))
    lines = [f"  {name:<{widest}}  {said:>{broadest}}{times}\n" for name, said, times in rows]
    return encode(heading_of(member.student, course.title) + "".join(lines)) + b"".join(texts)
