"""The overview of a class: one HTML page for the teacher, which loads nothing from elsewhere."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from treceval_py.checking.catalogue import CODES
from treceval_py.checking.findings import SEVERITIES
from treceval_py.grading.grades import Entry, Grades
from treceval_py.grading.outputs.gradebook import (
    SETTLED,
    about_table,
    alike_table,
    claims_table,
    class_table,
    questions_table,
    shown,
    summary,
    table_of,
)
from treceval_py.grading.records import EVIDENCE, VERDICTS
from treceval_py.rendering.formats.html import drawn_table
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import Table
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
