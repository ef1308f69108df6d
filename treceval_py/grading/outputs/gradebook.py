"""The gradebook laid out: a line for each student; sheets of claims, findings and runs that are alike; CSV and JSON."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeAlias

from treceval_py.checking.catalogue import CODES
from treceval_py.checking.findings import ERROR, SEVERITIES, WARNING
from treceval_py.errors import visible
from treceval_py.grading.grades import Entry, Grades
from treceval_py.grading.marking.points import Marks
from treceval_py.grading.records import VERDICTS, Graded
from treceval_py.rendering import render
from treceval_py.rendering.envelope import Made, plain
from treceval_py.rendering.tables import Cell, Column, Document, Style, Table

__all__ = [
    "BASELINE",
    "QUESTION",
    "by_severity",
    "graded_json",
    "gradebook_csv",
    "perfect",
    "sheets_of",
    "shown",
]

COUNT, POINTS, VALUE = 0, 2, 4
"""Decimals of whole numbers, of points and of values of measures."""

Rows: TypeAlias = "list[tuple[Cell, ...]]"

QUESTION = "a question to look into, not a verdict"
"""What a pair of runs that are alike is."""

PERFECT, FEWEST_QUERIES = 0.999, 10
"""From this value on, of so many queries, a run is as good as the judgments themselves."""

PARTS = ("run", "measures", "claims", "other")
PART_OF = {"run": "run", "measure": "measures", "claim": "claims", "claims": "claims"}
"""The parts of marks by the first words of their names: of claims there may be thousands, and columns are of all."""

BASELINE = "(the baseline)"
LONGEST = 1000


def gradebook_csv(grades: Grades) -> str:
    """Return the gradebook as CSV (RFC 4180, newline-ended, UTF-8): a line of titles, then a line for each student.

    Numbers have all their digits. Where a text could be taken for a formula by a spreadsheet (it begins with ``=``,
    ``+``, ``-`` or ``@``), an apostrophe stands before it; control characters are written as escapes.

    Parameters
    ----------
    grades : Grades
        The class.

    Returns
    -------
    str
        The text. It has no byte-order mark: programs take one for a part of the first title, and Excel, which looks
        for it, is better served by the workbook.

    References
    ----------
    Y. Shafranovich. Common Format and MIME Type for Comma-Separated Values (CSV) Files. RFC 4180, 2005.

    OWASP. CSV Injection. https://owasp.org/www-community/attacks/CSV_Injection
    """
    return render(Document("gradebook", [_grades_sheet(grades)], lambda _: Made()), "csv", Style())


def sheets_of(grades: Grades) -> tuple[Table, ...]:
    """Lay out the sheets of a gradebook."""
    return (
        _grades_sheet(grades),
        _claims_sheet(grades),
        _findings_sheet(grades),
        _alike_sheet(grades),
        _about_sheet(grades),
    )


def shown(text: str, most: int = LONGEST) -> str:
    r"""Return text of a submission as people can be shown it: control characters as escapes, and not too long.

    Examples
    --------
    >>> shown("a\tb")
    'a\\tb'
    >>> shown("abcdefgh", 5)
    'abcd…'
    """
    # Cut before as well, as one character may become ten.
    text = visible(text[: most + 1])
    return text if len(text) <= most else text[: most - 1] + "…"


# The sheets ---------------------------------------------------------------------------------------


def _text(title: str) -> Column:
    return Column(title, (), text=True)


def _number(title: str, digits: int) -> Column:
    """Return a column of numbers; points have their decimals in every format."""
    return Column(title, (), digits=digits, fixed=digits == POINTS)


def _sheet(name: str, columns: Sequence[Column], rows: Rows) -> Table:
    cells = zip(*rows, strict=True) if rows else ((),) * len(columns)
    return Table(tuple(column._replace(cells=each) for column, each in zip(columns, cells, strict=True)), name)


def _grades_sheet(grades: Grades) -> Table:
    of_parts = [_points_of_parts(entry.marks) for entry in grades.entries]
    parts = [part for part in PARTS if any(part in points for points in of_parts)]
    names = list(grades.measures)
    columns = [_text("student"), _number("points", POINTS), _number("out of", POINTS), _text("passed")]
    columns += [_number(f"points: {part}", POINTS) for part in parts]
    columns += [_text("status"), _text("reason")]
    columns += [_number(name, VALUE) for name in names]
    if grades.baseline and names:
        columns += [_number(f"{names[0]} less baseline", VALUE), _number("queries above", COUNT)]
        columns += [_number("queries below", COUNT)]
    columns += [_number(f"claims: {verdict}", COUNT) for verdict in VERDICTS]
    columns += [_text("run"), _number("lines", COUNT), _number("queries", COUNT), _number("queries missing", COUNT)]
    columns += [_number("errors", COUNT), _number("warnings", COUNT), _number("repairs", COUNT)]
    columns += [_text("to look into"), _text("feedback")]
    questions = _questions(grades)
    rows = [
        _grades_row(entry, grades, [points.get(part) for part in parts], questions.get(place, ""))
        for place, (entry, points) in enumerate(zip(grades.entries, of_parts, strict=True))
    ]
    return _sheet("Grades", columns, rows)


def _grades_row(entry: Entry, grades: Grades, parts: list[float | None], question: str) -> tuple[Cell, ...]:
    graded, marks = entry.graded, entry.marks
    cells: list[Cell] = [shown(graded.student), float(marks.total), float(marks.most)]
    cells.append("" if marks.passed is None else "yes" if marks.passed else "no")
    cells += parts
    cells += [graded.status, shown(graded.reason)]
    cells += [graded.measures.get(name) for name in grades.measures]
    if grades.baseline and grades.measures:
        against = graded.against
        cells += [None] * 3 if against is None else [against.value - against.baseline, against.better, against.worse]
    verdicts = Counter(claim.verdict for claim in graded.claims)
    cells += [verdicts[verdict] for verdict in VERDICTS]
    found = by_severity(graded)
    if graded.run:
        cells += [shown(graded.run), graded.lines, graded.queries, graded.missing_queries[0]]
    else:
        cells += ["", None, None, None]
    cells += [found[ERROR], found[WARNING], len(graded.repairs), question, f"feedback/{entry.name}.txt"]
    return tuple(cells)


def _points_of_parts(marks: Marks) -> dict[str, float]:
    """Sum points by kind of part, so that the sums make the total.

    Three thirds of 20 points are 20, and rounded one by one 20.01: such a rest goes where there are most parts.
    """
    kinds = [PART_OF.get(mark.part.partition(" ")[0], "other") for mark in marks.items]
    sums: dict[str, float] = {}
    for kind, mark in zip(kinds, marks.items, strict=True):
        sums[kind] = sums.get(kind, 0.0) + mark.points
    rest = marks.total - math.fsum(sums.values())
    if sums and abs(rest) < 0.01 * len(kinds):
        sums[Counter(kinds).most_common(1)[0][0]] += rest
    return {kind: round(points, 2) for kind, points in sums.items()}


def by_severity(graded: Graded) -> Counter[str]:
    """Count the findings of a submission by severity, also those that were not kept."""
    counts: Counter[str] = Counter()
    kept = {finding.code: finding.severity for finding in graded.findings}
    for code, number in graded.counts.items():
        counts[kept[code] if code in kept else CODES[code].severity] += number
    return counts


def perfect(grades: Grades) -> dict[int, str]:
    """Say of which entries the run is as good as the judgments themselves, which may be what was handed in.

    Parameters
    ----------
    grades : Grades
        The class.

    Returns
    -------
    dict of int to str
        For the numbers of such entries a sentence without full stop: where the first measure is 0.999 to 1, over 10 and
        more queries. It is a question to look into.
    """
    name = grades.measures[0] if grades.measures else ""
    said = {}
    for place, entry in enumerate(grades.entries):
        missing, judged = entry.graded.missing_queries
        value = entry.graded.measures.get(name, math.nan)
        if PERFECT <= value <= 1.0 + 1e-9 and judged - missing >= FEWEST_QUERIES:
            said[place] = f"{name} is {value:.4f}, as if the judgments were handed in as a run"
    return said


def _questions(grades: Grades) -> dict[int, str]:
    """Say of each entry which others it is like, and whether it is too good."""
    said = {place: [sentence] for place, sentence in perfect(grades).items()}
    for pair in grades.pairs:
        for one, other in ((pair.first, pair.second), (pair.second, pair.first)):
            if one >= 0:
                said.setdefault(one, []).append(f"{pair.kind}: {_name_of(grades, other)}")
    return {place: shown("; ".join(sentences)) for place, sentences in said.items()}


def _name_of(grades: Grades, place: int) -> str:
    return shown(grades.entries[place].graded.student) if place >= 0 else BASELINE


def _claims_sheet(grades: Grades) -> Table:
    columns = (
        *(_text("student"), _text("measure"), _text("claimed"), _number("value", VALUE), _text("verdict")),
        *(_text("why"), _text("profile"), _text("place")),
    )
    rows: Rows = []
    for entry in grades.entries:
        for claim in entry.graded.claims:
            said = (shown(claim.why), shown(claim.profile), shown(claim.place))
            claimed = (shown(claim.measure), shown(claim.text), claim.value, claim.verdict)
            rows.append((shown(entry.graded.student), *claimed, *said))
    return _sheet("Claims", columns, rows)


def _findings_sheet(grades: Grades) -> Table:
    columns = (
        *(_text("student"), _text("severity"), _text("code"), _text("file"), _number("line", COUNT)),
        *(_number("column", COUNT), _text("what was found"), _text("what to do")),
    )
    rows: Rows = []
    for entry in grades.entries:
        student = shown(entry.graded.student)
        kept = Counter(finding.code for finding in entry.graded.findings)
        for finding in entry.graded.findings:
            place = (shown(finding.file), finding.line or None, finding.column or None)
            rows.append((student, finding.severity, finding.code, *place, shown(finding.what), shown(finding.todo)))
        for code, number in entry.graded.counts.items():
            if number > kept[code]:
                more = f"{number - kept[code]:,} more of this code"
                rows.append((student, CODES[code].severity if code in CODES else "", code, "", None, None, more, ""))
    return _sheet("Findings", columns, rows)


def _alike_sheet(grades: Grades) -> Table:
    columns = (
        *(_text("student"), _text("and"), _text("what is alike"), _number("mean overlap", VALUE)),
        *(_number("queries", COUNT), _text("what this is")),
    )
    rows: Rows = [
        (_name_of(grades, pair.first), _name_of(grades, pair.second), pair.kind, pair.overlap, pair.queries, QUESTION)
        for pair in grades.pairs
    ]
    return _sheet("Alike", columns, rows)


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
    rows += [("claim without submission", shown(stray)) for stray in grades.strays]
    too_good = perfect(grades).items()
    rows += [("to look into", f"{_name_of(grades, place)}: {sentence}") for place, sentence in too_good]
    rows += [("note", shown(note)) for note in grades.notes]
    return _sheet("About", (_text("what"), _number("is", VALUE)), rows)


# One submission for programs ----------------------------------------------------------------------


def graded_json(entry: Entry, grades: Grades) -> dict[str, Any]:
    """Return one graded submission as what JSON can hold, for automatic graders.

    Parameters
    ----------
    entry : Entry
        The submission.
    grades : Grades
        What it is a part of.

    Returns
    -------
    dict
        Texts are Unicode; numbers that JSON lacks (NaN, infinity) are None.
    """
    graded, marks = entry.graded, entry.marks
    missing, judged = graded.missing_queries
    found = by_severity(graded)
    document = {
        "student": graded.student,
        "status": graded.status,
        "reason": graded.reason,
        "points": marks.total,
        "most": marks.most,
        "passed": marks.passed,
        "marks": marks.items,
        "run": graded.run,
        "kind": graded.kind,
        "profile": graded.profile,
        "lines": graded.lines,
        "queries": graded.queries,
        "documents": graded.documents,
        "missing_queries": {"missing": missing, "judged": judged},
        "measures": graded.measures,
        "signatures": graded.signatures,
        "baseline": grades.baseline_measures,
        "against": graded.against,
        "claims": graded.claims,
        "files": graded.files,
        "findings": graded.findings,
        "counts": graded.counts,
        "severities": {severity: found[severity] for severity in SEVERITIES},
        "repairs": graded.repairs,
        "sha256": graded.hash_of_run,
    }
    made: dict[str, Any] = plain(document)
    return made
