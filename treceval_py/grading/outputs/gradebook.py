"""The tables of a class: the gradebook (CSV, workbook) has all of their columns, the overview some of them.

Text of students is never a formula or a link in a workbook.
"""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from statistics import fmean, median
from typing import Any, NamedTuple
from urllib.parse import quote

from treceval_py.checking.catalogue import CODES
from treceval_py.checking.findings import ERROR, SEVERITIES, WARNING, Finding
from treceval_py.checking.show import by_severity
from treceval_py.errors import visible
from treceval_py.grading import records
from treceval_py.grading.attention import BASELINE, KINDS, needing
from treceval_py.grading.grades import Entry, Grades, Marks, Person
from treceval_py.grading.records import EVIDENCE, VERDICTS, Graded
from treceval_py.rendering import render
from treceval_py.rendering.envelope import Made, plain
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import Column, Document, Table

COUNT, POINTS, VALUE = 0, 2, 4
"""Decimals of whole numbers, of points and of values of measures."""

QUESTION = "That runs are alike is a question to look into, not a verdict: simple systems give the same ranking."

PARTS = ("run", "measures", "claims", "other", "late", "adjusted")
PART_OF = {"run": "run", "measure": "measures", "claim": "claims", "claims": "claims"}
"""The parts of marks by the first words of their names; claims are joined, since there may be thousands."""

PAGE = (
    *("student", "group", "points", "passed", "status", "to look at", "profile"),
    *("right claims", "errors", "warnings"),
)
"""The columns of the class on the overview, beside the measures."""

FOR_PEOPLE = ("to look at", "right claims")
"""Those of them that the gradebook has in more detail."""

OPTIONAL = ("number", "e-mail", "group", "handed in", "attempt", "late", "passed")
"""Columns that are left out if they are empty, and so are those of parts of points and of tasks, with a colon."""

PRIVATE = ("student", "source", "missing_queries", "hash_of_run", "hash_of_ranking", "tops", "values")
"""What the record for programs has of a submission in another form, or not at all."""

TITLES = {"text": "claimed", "name": "file", "role": "read as", "what": "what was found", "todo": "what to do"}
PLACE = ("line", "column")
"""Titles of fields of records, and fields that are empty if they are 0."""

SETTLED = (records.CORRECT, records.NO_CLAIM, records.CONFIRMED, records.EXPLAINED)
"""Verdicts on numbers that the overview leaves out."""

LONGEST, BRIEF = 1000, 120
NONE: Mapping[str, Sequence[str]] = {}


def csv_of(table: Table) -> str:
    """Return a table as CSV (RFC 4180, newline-ended): numbers with all digits, points with two decimals.

    A text that a spreadsheet could take for a formula gets an apostrophe before it; control characters are escaped.
    There is no byte-order mark, because programs would read it as part of the first title; for Excel, which looks for
    one, there is the workbook.
    """
    return render(Document("", [table], lambda _: Made()), "csv", Style())


def shown(text: str, most: int = LONGEST) -> str:
    r"""Return text of a submission in a form fit to show: control characters as escapes, and not too long.

    Examples
    --------
    >>> shown("a\tb")
    'a\\tb'
    >>> shown("abcdefgh", 5)
    'abcd…'
    """
    # Cut before escaping too, since one character may become ten.
    text = visible(text[: most + 1])
    return text if len(text) <= most else text[: most - 1] + "…"


def counted(number: int, one: str) -> str:
    """Return a number of things in words."""
    return f"{number:,} {one}{'s' * (number != 1)}".replace("querys", "queries")


def by_weight(code: str) -> tuple[int, str]:
    """Return a key that sorts codes of findings: errors first."""
    return SEVERITIES.index(CODES[code].severity), code


def feedback_of(entry: Entry | None) -> str:
    """Return the address of a student's feedback, within the folder of grades."""
    return "" if entry is None else f"feedback/{quote(entry.name)}.txt"


def table_of(
    name: str,
    rows: Sequence[Mapping[str, Any]],
    *,
    page: Collection[str] = (),
    values: Collection[str] | None = None,
    links: Mapping[str, Sequence[str]] = NONE,
    behind: Mapping[str, Sequence[str]] = NONE,
    **more: Any,
) -> Table:
    """Return a table of rows, which have the same keys.

    Parameters
    ----------
    name, rows
        Its name and its rows.
    page : collection of str
        The columns that the overview has, by default all.
    values : collection of str, optional
        The columns of fractions that are values of measures, by default all; others are points.
    links, behind
        What the cells of some columns link to, and what stands behind them.
    **more
        What else a `Table` has.
    """
    columns: list[Column] = []
    for key in rows[0] if rows else ():
        cells = [("no", "yes")[cell] if isinstance(cell, bool) else cell for cell in (row[key] for row in rows)]
        if (key in OPTIONAL or ": " in key) and not any(cell not in (None, "") for cell in cells):
            continue
        kinds = set(map(type, cells))
        digits = COUNT if int in kinds else None
        if float in kinds:
            digits = VALUE if values is None or key in values else POINTS
        columns.append(
            Column(
                key,
                [shown(cell) if isinstance(cell, str) else cell for cell in cells],
                text=digits is None,
                head=not columns,
                people=key in page or not page,
                programs=key not in FOR_PEOPLE,
                digits=digits,
                fixed=digits == POINTS,
                links=links.get(key, ()),
                behind=behind.get(key, ()),
            )
        )
    return Table(tuple(columns), name, **more)


# The class ----------------------------------------------------------------------------------------


def class_table(grades: Grades, entries: Sequence[Entry]) -> Table:
    """Return the table of the class, with a row for each of these entries."""
    values = [*grades.measures, *(f"{name} less baseline" for name in grades.measures[:1])]
    rows = [_row(entry, grades) for entry in entries]
    claims = (sum(claim.verdict in VERDICTS for claim in entry.graded.claims) for entry in entries)
    behind = {"status": [*map(_about_status, entries)], "right claims": [f"of {number}" for number in claims]}
    links = {"student": [*map(feedback_of, entries)]}
    return table_of("Grades", rows, page=(*PAGE, *grades.measures), values=values, links=links, behind=behind)


def _row(entry: Entry, grades: Grades) -> dict[str, Any]:
    graded, marks = entry.graded, entry.marks
    parts, size = _points_of_parts(marks), (graded.lines, graded.queries, graded.missing_queries[0])
    verdicts, severities = Counter(claim.verdict for claim in graded.claims), by_severity(graded.counts)
    row: dict[str, Any] = {
        "student": entry.student,
        **about(entry.person),
        "handed in": graded.handed_in,
        "attempt": graded.attempt,
        "late": graded.late,
        "points": None if marks.excused else float(marks.total),
        "out of": float(marks.most),
        "passed": "excused" if marks.excused else marks.passed,
        **{f"points: {part}": parts.get(part) for part in PARTS},
        "status": graded.status,
        "reason": graded.reason,
        "needs a human": "; ".join(question.what for question in entry.questions),
        "to look at": ", ".join(dict.fromkeys(question.kind for question in entry.questions)),
        "profile": graded.profile,
        **{name: graded.measures.get(name) for name in grades.measures},
    }
    if grades.baseline and grades.measures:
        against = graded.against
        row[f"{grades.measures[0]} less baseline"] = None if against is None else against.value - against.baseline
        row["queries above"] = None if against is None else against.better
        row["queries below"] = None if against is None else against.worse
    return row | {
        "right claims": verdicts[records.CORRECT] + verdicts[records.ROUNDING],
        **{f"claims: {verdict}": verdicts[verdict] for verdict in VERDICTS},
        "numbers: found": verdicts.total() - verdicts[records.NO_CLAIM],
        **{f"numbers: {kind}": verdicts[kind] for kind in EVIDENCE},
        "run": graded.run,
        **dict(zip(("lines", "queries", "queries missing"), size if graded.run else (None,) * 3, strict=True)),
        "errors": severities[ERROR],
        "warnings": severities[WARNING],
        "repairs": len(graded.repairs),
        "feedback": f"feedback/{entry.name}.txt",
    }


def about(person: Person | None) -> dict[str, Any]:
    """Return the columns that a roster fills."""
    person = person or Person("")
    return {"number": person.number, "e-mail": person.email, "group": person.group}


def _about_status(entry: Entry) -> str:
    """Return what the overview says behind a status."""
    graded, marks = entry.graded, entry.marks
    kinds = (change.kind for change in marks.changes)
    said = [graded.reason, "late" * bool(graded.late), "excused" * marks.excused, *kinds]
    return shown(", ".join(dict.fromkeys(filter(None, said))), BRIEF)


def _points_of_parts(marks: Marks) -> dict[str, float]:
    """Sum points by kind of part; the sums add up to the total."""
    parts = [(PART_OF.get(mark.part.partition(" ")[0], "other"), mark.points) for mark in marks.items]
    sums: dict[str, float] = {}
    for kind, points in (*parts, *((change.kind, change.points) for change in marks.changes)):
        sums[kind] = sums.get(kind, 0.0) + points
    return {kind: round(points, 2) for kind, points in sums.items()}


def summary(grades: Grades) -> list[str]:
    """Describe a class in a few lines, which the command prints and the overview begins with."""
    entries = grades.entries
    statuses = Counter(entry.graded.status for entry in entries)
    parts = ", ".join(f"{statuses[status]} {status}" for status in records.STATUSES if statuses[status])
    lines = [counted(len(entries), "student") + f": {parts}" * bool(parts)]
    marks = [entry.marks for entry in entries if not entry.marks.excused]
    if marks:
        totals, passed = [own.total for own in marks], [own.passed for own in marks if own.passed is not None]
        said = f"{sum(passed)} of {len(passed)} passed" if passed else ""
        most = max(own.most for own in marks)
        spread = f"points: mean {fmean(totals):.1f}, median {median(totals):.1f}, of {most:g}"
        lines.append("; ".join(filter(None, (spread, said))))
    verdicts = Counter(claim.verdict for entry in entries for claim in entry.graded.claims)
    for title, known in (("claims", VERDICTS), ("other numbers", EVIDENCE)):
        said = ", ".join(f"{number} {verdict}" for verdict, number in verdicts.most_common() if verdict in known)
        lines += [f"{title}: {said}"] if said else []
    kinds = Counter(kind for entry in entries for kind in {question.kind for question in entry.questions})
    if kinds:
        said = ", ".join(f"{kinds[kind]} {kind}" for kind in KINDS if kinds[kind])
        lines.append(f"needs a human: {counted(sum(bool(entry.questions) for entry in entries), 'student')} ({said})")
    return lines


# Other sheets -------------------------------------------------------------------------------------


def sheets_of(grades: Grades) -> tuple[Table, ...]:
    """Return the sheets of the workbook."""
    every = [(entry.student, entry.graded) for entry in grades.entries]
    runs = [
        {"student": student, "run": run.name, "counts": counts, "why": run.reason or graded.chosen * counts}
        | {"status": run.status, "handed in": run.handed_in, "claims that are right": run.right}
        | {name: run.measures.get(name) for name in grades.measures}
        for student, graded in every
        for run in graded.runs
        for counts in (run.name == graded.run,)
    ]
    files = [(student, file) for student, graded in every for file in graded.files]
    findings = [(student, finding) for student, graded in every for finding in _findings(graded)]
    return (
        class_table(grades, grades.entries),
        questions_table(grades),
        claims_table(grades),
        table_of("Runs", runs),
        _records("Files", files),
        _records("Findings", findings),
        alike_table(grades),
        about_table(grades),
    )


def _records(name: str, records: Sequence[tuple[str, NamedTuple]], **more: Any) -> Table:
    """Return a table of records of students, with their fields as columns."""
    rows = [
        {"student": student}
        | {TITLES.get(key, key): None if cell == 0 and key in PLACE else cell for key, cell in record._asdict().items()}
        for student, record in records
    ]
    return table_of(name, rows, **more)


def _findings(graded: Graded) -> list[Finding]:
    left = Counter(graded.counts) - Counter(finding.code for finding in graded.findings)
    more = (Finding(code, CODES[code].severity, "", 0, 0, f"{left[code]:,} more of this code") for code in left)
    return [*graded.findings, *more]


def questions_table(grades: Grades) -> Table:
    """Return the table of the questions for a person."""
    asked = needing(grades)
    rows = [
        {"student": entry.student if entry else "", "kind": question.kind, "what to look at": question.what}
        for entry, question in asked
    ]
    meant = tuple(f"{kind}: {KINDS[kind]}" for kind in dict.fromkeys(question.kind for _, question in asked))
    links = {"student": [feedback_of(entry) for entry, _ in asked]}
    return table_of("Needs a human", rows, notes=meant, links=links)


def claims_table(grades: Grades, without: Collection[str] = (), **more: Any) -> Table:
    """Return the table of all numbers, apart from those with some verdicts."""
    every = ((entry.student, claim) for entry in grades.entries for claim in entry.graded.claims)
    return _records("Claims", [(student, claim) for student, claim in every if claim.verdict not in without], **more)


def alike_table(grades: Grades) -> Table:
    """Return the table of the pairs of runs that are alike."""
    names = [*(entry.student for entry in grades.entries), f"({BASELINE})"]  # the baseline is -1
    rows = [
        {"student": names[pair.first], "and": names[pair.second], "what is alike": pair.kind}
        | {"mean overlap": pair.overlap, "queries": pair.queries}
        for pair in grades.pairs
    ]
    return table_of("Alike", rows, notes=(QUESTION,))


def about_table(grades: Grades) -> Table:
    """Return the table of facts about a grading."""
    rules = grades.rules
    facts = [
        ("assignment", rules.title),
        ("judgments", grades.qrels),
        ("submissions", grades.submissions),
        ("baseline", grades.baseline or "none"),
        ("profile", rules.profile),
        ("measures", ", ".join(grades.measures)),
        ("points", f"run {rules.points_run:g}, measures {rules.points_measures:g}, claims {rules.points_claims:g}"),
        *((f"baseline's {name}", f"{value:.4f}") for name, value in grades.baseline_measures.items()),
        *(("not matched", stray) for stray in grades.strays),
        *(("note", note) for note in grades.notes),
    ]
    return table_of("About", [{"what": what, "is": fact} for what, fact in facts])


# One submission for programs ----------------------------------------------------------------------


def graded_json(entry: Entry, grades: Grades) -> dict[str, Any]:
    """Return one graded submission as data for JSON; texts are Unicode, and NaN and infinity are None."""
    graded, marks, severities = entry.graded, entry.marks, by_severity(entry.graded.counts)
    made: dict[str, Any] = plain(
        {
            "student": entry.student,
            **{name: getattr(entry.person, name, "") for name in ("number", "email", "group")},
            "points": marks.total,
            **{name: getattr(marks, name) for name in ("most", "passed", "excused", "changes")},
            "marks": marks.items,
            "needs_a_human": entry.questions,
            **{name: value for name, value in graded._asdict().items() if name not in PRIVATE},
            "missing_queries": dict(zip(("missing", "judged"), graded.missing_queries, strict=True)),
            "baseline": grades.baseline_measures,
            "severities": {severity: severities[severity] for severity in SEVERITIES},
            "sha256": graded.hash_of_run,
        }
    )
    return made


FORMATS = {None: "@", POINTS: "0.00", VALUE: "0.0000", COUNT: "#,##0"}
"""Excel's number formats by decimals; None is text."""

NARROWEST, WIDEST = 6, 60
# A fixed time of creation, so that the same grades give the same bytes.
MADE = datetime(1980, 1, 1)


def workbook(sheets: Sequence[Table]) -> bytes:
    """Return tables as a workbook, one sheet each, with fixed title rows, filters, and numbers as numbers.

    The same tables give the same bytes. It needs the package XlsxWriter.
    """
    import xlsxwriter  # type: ignore[import-untyped,import-not-found,unused-ignore]

    stream = io.BytesIO()
    converting = ("strings_to_formulas", "strings_to_urls", "strings_to_numbers")
    book = xlsxwriter.Workbook(stream, {"in_memory": True, **dict.fromkeys(converting, False)})
    book.set_properties({"created": MADE, "title": "Gradebook"})
    title = book.add_format({"bold": True, "bottom": 1, "valign": "top", "text_wrap": True})
    formats = {digits: book.add_format({"num_format": form, "valign": "top"}) for digits, form in FORMATS.items()}
    for sheet in sheets:
        if not sheet.rows:
            continue
        page, columns = book.add_worksheet(sheet.name), sheet.for_programs()
        for number, column in enumerate(columns):
            page.set_column(number, number, _width(column))
            page.write_string(0, number, column.key, title)
            for line, cell in enumerate(column.cells, 1):
                if isinstance(cell, (int, float)) and math.isfinite(cell):
                    page.write_number(line, number, cell, formats[column.digits])
                elif cell:  # Excel has no NaN or infinity
                    page.write_string(line, number, str(cell), formats[None])
        page.freeze_panes(1, 1)
        page.autofilter(0, 0, max(sheet.rows, 1), len(columns) - 1)
        page.set_landscape()
        page.set_paper(9)
        page.fit_to_pages(1, 0)
        page.repeat_rows(0)
    book.close()
    return stream.getvalue()


def _width(column: Column) -> int:
    """Return a width in characters that fits most cells; titles are wrapped, and need room for the filter's arrow."""
    widths = [len(cell) if isinstance(cell, str) else 9 if isinstance(cell, float) else 6 for cell in column.cells]
    return min(max(NARROWEST, 4 + max(map(len, column.key.split()), default=0), *(1 + wide for wide in widths)), WIDEST)
