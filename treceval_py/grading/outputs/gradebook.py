"""The gradebook: a line for each student; sheets of claims, runs, files, findings and more; CSV and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from treceval_py.checking.catalogue import CODES
from treceval_py.checking.findings import ERROR, SEVERITIES, WARNING
from treceval_py.errors import visible
from treceval_py.grading.attention import BASELINE, needing
from treceval_py.grading.grades import Entry, Grades, Person
from treceval_py.grading.marking.points import Marks
from treceval_py.grading.records import EVIDENCE, NO_CLAIM, VERDICTS, Graded
from treceval_py.rendering import render
from treceval_py.rendering.envelope import Made, plain
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import Cell, Column, Document, Table

COUNT, POINTS, VALUE = 0, 2, 4
"""Decimals of whole numbers, of points and of values of measures."""

Rows: TypeAlias = "list[tuple[Cell, ...]]"

QUESTION = "a question to look into, not a verdict"
"""What it means that two runs are alike."""

PARTS = ("run", "measures", "claims", "other", "late", "adjusted")
PART_OF = {"run": "run", "measure": "measures", "claim": "claims", "claims": "claims"}
"""The parts of marks by the first words of their names; claims are joined, since there may be thousands."""

LONGEST = 1000


def gradebook_csv(grades: Grades) -> str:
    """Return the gradebook as CSV (RFC 4180, newline-ended, UTF-8): a line of titles, then a line for each student.

    Numbers have all their digits. A text that a spreadsheet could take for a formula (one that begins with ``=``,
    ``+``, ``-`` or ``@``) gets an apostrophe before it; control characters are written as escapes.

    Parameters
    ----------
    grades : Grades
        The class.

    Returns
    -------
    str
        The text. It has no byte-order mark, because programs would read it as part of the first title; for Excel, which
        looks for one, use the workbook.

    References
    ----------
    Y. Shafranovich. Common Format and MIME Type for Comma-Separated Values (CSV) Files. RFC 4180, 2005.

    OWASP. CSV Injection. https://owasp.org/www-community/attacks/CSV_Injection
    """
    return csv_of(_grades_sheet(grades))


def csv_of(table: Table) -> str:
    """Return a table as CSV, in the form of `gradebook_csv`."""
    return render(Document("", [table], lambda _: Made()), "csv", Style())


def sheets_of(grades: Grades) -> tuple[Table, ...]:
    """Return the sheets of a gradebook."""
    return (
        _grades_sheet(grades),
        _questions_sheet(grades),
        _claims_sheet(grades),
        _runs_sheet(grades),
        _files_sheet(grades),
        _findings_sheet(grades),
        _alike_sheet(grades),
        _about_sheet(grades),
    )


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


# The sheets ---------------------------------------------------------------------------------------


def text_column(title: str, cells: Sequence[Cell] = ()) -> Column:
    """Return a column of texts."""
    return Column(title, cells, text=True)


def _number(title: str, digits: int) -> Column:
    """Return a column of numbers; points have their decimals in every format."""
    return Column(title, (), digits=digits, fixed=digits == POINTS)


def sheet_of(name: str, columns: Sequence[Column | str], rows: Sequence[Sequence[Cell]]) -> Table:
    """Return a table of rows; a column that is only a title holds texts."""
    cells = zip(*rows, strict=True) if rows else ((),) * len(columns)
    empty = (text_column(column) if isinstance(column, str) else column for column in columns)
    return Table(tuple(column._replace(cells=own) for column, own in zip(empty, cells, strict=True)), name)


def _grades_sheet(grades: Grades) -> Table:
    entries = grades.entries
    of_parts = [_points_of_parts(entry.marks) for entry in entries]
    parts = [part for part in PARTS if any(part in points for points in of_parts)]
    names = list(grades.measures)
    columns: list[Column | str] = [_number("points", POINTS), _number("out of", POINTS), "passed"]
    columns += [_number(f"points: {part}", POINTS) for part in parts]
    columns += ["status", "reason", "needs a human", "profile"]
    columns += [_number(name, VALUE) for name in names]
    if grades.baseline and names:
        columns += [_number(f"{names[0]} less baseline", VALUE), _number("queries above", COUNT)]
        columns += [_number("queries below", COUNT)]
    columns += [_number(f"claims: {verdict}", COUNT) for verdict in VERDICTS]
    columns += [_number(f"numbers: {kind}", COUNT) for kind in ("found", *EVIDENCE)]
    columns += ["run", _number("lines", COUNT), _number("queries", COUNT), _number("queries missing", COUNT)]
    columns += [_number("errors", COUNT), _number("warnings", COUNT), _number("repairs", COUNT), "feedback"]
    rows = [
        _grades_row(entry, grades, [points.get(part) for part in parts])
        for entry, points in zip(entries, of_parts, strict=True)
    ]
    made = sheet_of("Grades", columns, rows)
    return made._replace(columns=(*_about_students(entries), *made.columns))


def _about_students(entries: Sequence[Entry]) -> Iterator[Column]:
    """Yield the columns about students and times of submission, without those that are empty."""
    yield text_column("student", [shown(entry.student) for entry in entries])
    yield from about_people([entry.person for entry in entries])
    for title, cells in (
        ("handed in", [entry.graded.handed_in for entry in entries]),
        ("attempt", [entry.graded.attempt for entry in entries]),
        ("late", ["" if entry.graded.late is None else _yes(entry.graded.late) for entry in entries]),
    ):
        if any(cells):
            yield text_column(title, tuple(map(shown, cells)))


def about_people(people: Sequence[Person | None]) -> Iterator[Column]:
    """Yield the columns that the roster fills, without those that are empty."""
    for title, field in (("number", "number"), ("e-mail", "email"), ("group", "group")):
        cells = ["" if person is None else shown(getattr(person, field)) for person in people]
        if any(cells):
            yield text_column(title, cells)


def _grades_row(entry: Entry, grades: Grades, parts: list[float | None]) -> tuple[Cell, ...]:
    graded, marks = entry.graded, entry.marks
    cells: list[Cell] = [None if marks.excused else float(marks.total), float(marks.most)]
    cells.append("excused" if marks.excused else "" if marks.passed is None else "yes" if marks.passed else "no")
    cells += parts
    cells += [graded.status, shown(graded.reason), shown("; ".join(question.what for question in entry.questions))]
    cells.append(graded.profile)
    cells += [graded.measures.get(name) for name in grades.measures]
    if grades.baseline and grades.measures:
        against = graded.against
        cells += [None] * 3 if against is None else [against.value - against.baseline, against.better, against.worse]
    verdicts = Counter(claim.verdict for claim in graded.claims)
    cells += [verdicts[verdict] for verdict in VERDICTS]
    cells += [verdicts.total() - verdicts[NO_CLAIM], *(verdicts[kind] for kind in EVIDENCE)]
    severities = by_severity(graded)
    if graded.run:
        cells += [shown(graded.run), graded.lines, graded.queries, graded.missing_queries[0]]
    else:
        cells += ["", None, None, None]
    cells += [severities[ERROR], severities[WARNING], len(graded.repairs), f"feedback/{entry.name}.txt"]
    return tuple(cells)


def set_apart(grades: Grades) -> dict[str, str]:
    """Return the conventions of submissions that differ from those of most, by the names of their entries."""
    scored = {entry.name: entry.graded.profile for entry in grades.entries if entry.graded.measures}
    usual = Counter(scored.values()).most_common(1)
    return {name: other for name, other in scored.items() if other != usual[0][0]}


def _points_of_parts(marks: Marks) -> dict[str, float]:
    """Sum points by kind of part; the sums add up to the total."""
    sums: dict[str, float] = {}
    for mark in marks.items:
        kind = PART_OF.get(mark.part.partition(" ")[0], "other")
        sums[kind] = sums.get(kind, 0.0) + mark.points
    for change in marks.changes:
        sums[change.kind] = sums.get(change.kind, 0.0) + change.points
    return {kind: round(points, 2) for kind, points in sums.items()}


def by_severity(graded: Graded) -> Counter[str]:
    """Count the findings of a submission by severity, including those that were not kept."""
    counts: Counter[str] = Counter()
    kept = {finding.code: finding.severity for finding in graded.findings}
    for code, number in graded.counts.items():
        counts[kept[code] if code in kept else CODES[code].severity] += number
    return counts


def _name_of(grades: Grades, place: int) -> str:
    return shown(grades.entries[place].student) if place >= 0 else f"({BASELINE})"


def _questions_sheet(grades: Grades) -> Table:
    rows: Rows = []
    for entry, question in needing(grades):
        student, feedback = ("", "") if entry is None else (shown(entry.student), f"feedback/{entry.name}.txt")
        rows.append((question.kind, student, shown(question.what), feedback))
    return sheet_of("Needs a human", ("kind", "student", "what to look at", "feedback"), rows)


def _claims_sheet(grades: Grades) -> Table:
    columns = (
        *("student", "measure", "claimed", _number("value", VALUE), "verdict"),
        *("why", "profile", "place", "run", "counts", "sentence"),
    )
    rows: Rows = []
    for entry in grades.entries:
        for claim in entry.graded.claims:
            said = (shown(claim.why), shown(claim.profile), shown(claim.place), shown(claim.run), _yes(claim.counts))
            claimed = (shown(claim.measure), shown(claim.text), claim.value, claim.verdict)
            rows.append((shown(entry.student), *claimed, *said, shown(claim.sentence)))
    return sheet_of("Claims", columns, rows)


def _yes(here: bool) -> str:
    return "yes" if here else "no"


def _runs_sheet(grades: Grades) -> Table:
    """Return a sheet of all runs, with the one that counts for each student."""
    columns = [_number("right claims", COUNT), *(_number(name, VALUE) for name in grades.measures)]
    rows: Rows = []
    for entry in grades.entries:
        for run in entry.graded.runs:
            counts = run.name == entry.graded.run
            why = run.reason or (entry.graded.chosen if counts else "")
            said = (shown(run.name), _yes(counts), shown(why), run.status, run.handed_in, run.right)
            rows.append((shown(entry.student), *said, *(run.measures.get(name) for name in grades.measures)))
    return sheet_of("Runs", ("student", "run", "counts", "why", "status", "handed in", *columns), rows)


def _files_sheet(grades: Grades) -> Table:
    columns = ("student", "file", _number("bytes", COUNT), "what it was read as", "why")
    rows: Rows = [
        (shown(entry.student), shown(file.name), file.bytes, file.role, shown(file.why))
        for entry in grades.entries
        for file in entry.graded.files
    ]
    return sheet_of("Files", columns, rows)


def _findings_sheet(grades: Grades) -> Table:
    columns = (
        *("student", "severity", "code", "file", _number("line", COUNT)),
        *(_number("column", COUNT), "what was found", "what to do"),
    )
    rows: Rows = []
    for entry in grades.entries:
        student = shown(entry.student)
        kept = Counter(finding.code for finding in entry.graded.findings)
        for finding in entry.graded.findings:
            place = (shown(finding.file), finding.line or None, finding.column or None)
            rows.append((student, finding.severity, finding.code, *place, shown(finding.what), shown(finding.todo)))
        for code, number in entry.graded.counts.items():
            if number > kept[code]:
                more = f"{number - kept[code]:,} more of this code"
                rows.append((student, CODES[code].severity if code in CODES else "", code, "", None, None, more, ""))
    return sheet_of("Findings", columns, rows)


def _alike_sheet(grades: Grades) -> Table:
    columns = (
        *("student", "and", "what is alike", _number("mean overlap", VALUE)),
        *(_number("queries", COUNT), "what this is"),
    )
    rows: Rows = [
        (_name_of(grades, pair.first), _name_of(grades, pair.second), pair.kind, pair.overlap, pair.queries, QUESTION)
        for pair in grades.pairs
    ]
    return sheet_of("Alike", columns, rows)


def _about_sheet(grades: Grades) -> Table:
    rows: Rows = [
        ("assignment", shown(grades.rules.title)),
        ("judgments", shown(grades.qrels)),
        ("submissions", shown(grades.submissions)),
        ("baseline", shown(grades.baseline) or "none"),
        ("profile", grades.rules.profile),
        ("measures", ", ".join(grades.measures)),
    ]
    rows += [(f"baseline's {name}", value) for name, value in grades.baseline_measures.items()]
    rows += [("not matched", shown(stray)) for stray in grades.strays]
    rows += [("note", shown(note)) for note in grades.notes]
    return sheet_of("About", ("what", _number("is", VALUE)), rows)


# One submission for programs ----------------------------------------------------------------------


def graded_json(entry: Entry, grades: Grades) -> dict[str, Any]:
    """Return one graded submission as data for JSON, for automatic graders.

    Parameters
    ----------
    entry : Entry
        The submission.
    grades : Grades
        The class of the submission.

    Returns
    -------
    dict
        Texts are Unicode; numbers that JSON lacks (NaN, infinity) are None.
    """
    graded, marks, person = entry.graded, entry.marks, entry.person or Person(entry.student)
    missing, judged = graded.missing_queries
    severities = by_severity(graded)

    def of(record: object, *names: str) -> dict[str, Any]:
        return {name: getattr(record, name) for name in names}

    document = {
        "student": entry.student,
        **of(person, "number", "email", "group"),
        **of(graded, "handed_in", "late", "attempt", "status", "reason"),
        "points": marks.total,
        **of(marks, "most", "passed", "excused"),
        "marks": marks.items,
        "changes": marks.changes,
        "needs_a_human": entry.questions,
        **of(graded, "run", "runs", "chosen", "kind", "profile", "lines", "queries", "documents"),
        "missing_queries": {"missing": missing, "judged": judged},
        **of(graded, "measures", "signatures"),
        "baseline": grades.baseline_measures,
        **of(graded, "against", "claims", "files", "findings", "counts"),
        "severities": {severity: severities[severity] for severity in SEVERITIES},
        "repairs": graded.repairs,
        "sha256": graded.hash_of_run,
    }
    made: dict[str, Any] = plain(document)
    return made
