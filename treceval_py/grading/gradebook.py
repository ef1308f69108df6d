"""The gradebook laid out: a line for each student; sheets of claims, findings and runs that are alike; CSV and JSON."""

from __future__ import annotations

import io
import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from treceval_py.checking.catalogue import CODES
from treceval_py.checking.findings import ERROR, SEVERITIES, WARNING
from treceval_py.errors import visible
from treceval_py.grading.grades import Entry, Grades
from treceval_py.grading.points import Marks
from treceval_py.grading.records import VERDICTS, Graded
from treceval_py.scoring.show.tabular import json_safe

if TYPE_CHECKING:
    from typing import TypeAlias

__all__ = [
    "BASELINE",
    "COUNT",
    "POINTS",
    "QUESTION",
    "TEXT",
    "VALUE",
    "Cell",
    "Column",
    "Sheet",
    "by_severity",
    "graded_json",
    "gradebook_csv",
    "perfect",
    "sheets_of",
    "shown",
]

TEXT, POINTS, VALUE, COUNT = "text", "points", "value", "count"
"""What a column holds: text, points (two decimals), values of measures (four decimals), whole numbers."""

Cell: TypeAlias = "str | float | int | None"

QUESTION = "a question to look into, not a verdict"
"""What a pair of runs that are alike is."""

PERFECT, FEWEST_QUERIES = 0.999, 10
"""From this value on, of so many queries, a run is as good as the judgments themselves."""

PARTS = ("run", "measures", "claims", "other")
PART_OF = {"run": "run", "measure": "measures", "claim": "claims", "claims": "claims"}
"""The parts of marks by the first words of their names: of claims there may be thousands, and columns are of all."""

BASELINE = "(the baseline)"
LONGEST = 1000

# What a spreadsheet takes for the beginning of a formula. Where the list separator is a semicolon, as in much of
# Europe, a cell also begins after each semicolon of the text. The wide forms are those of East Asian keyboards.
_FORMULA = re.compile("(^|;)(?=\\s*[=+\\-@\uff1d\uff0b\uff0d\uff20])")


class Column(NamedTuple):
    """The title of a column, and what it holds: `TEXT`, `POINTS`, `VALUE` or `COUNT`."""

    title: str
    kind: str = TEXT


class Sheet(NamedTuple):
    """A table.

    Attributes
    ----------
    name : str
        Its name, 31 characters at most.
    columns : tuple of Column
        The columns.
    rows : list of tuple
        A cell for each column: text, a number, or None where there is nothing.
    """

    name: str
    columns: tuple[Column, ...]
    rows: list[tuple[Cell, ...]]


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
    import csv

    sheet = _grades_sheet(grades)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([_harmless(column.title) for column in sheet.columns])
    for row in sheet.rows:
        cells = zip(row, sheet.columns, strict=True)
        writer.writerow([_csv_cell(cell, column.kind) for cell, column in cells])
    return text.getvalue()


def sheets_of(grades: Grades) -> tuple[Sheet, ...]:
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


def _csv_cell(cell: Cell, kind: str) -> Cell:
    if isinstance(cell, str):
        return _harmless(cell)
    return f"{cell:.2f}" if kind == POINTS and cell is not None else cell


def _harmless(text: str) -> str:
    return _FORMULA.sub(r"\1'", text)


# The sheets ---------------------------------------------------------------------------------------


def _grades_sheet(grades: Grades) -> Sheet:
    of_parts = [_points_of_parts(entry.marks) for entry in grades.entries]
    parts = [part for part in PARTS if any(part in points for points in of_parts)]
    names = list(grades.measures)
    columns = [Column("student"), Column("points", POINTS), Column("out of", POINTS), Column("passed")]
    columns += [Column(f"points: {part}", POINTS) for part in parts]
    columns += [Column("status"), Column("reason")]
    columns += [Column(name, VALUE) for name in names]
    if grades.baseline and names:
        columns += [Column(f"{names[0]} less baseline", VALUE), Column("queries above", COUNT)]
        columns += [Column("queries below", COUNT)]
    columns += [Column(f"claims: {verdict}", COUNT) for verdict in VERDICTS]
    columns += [Column("run"), Column("lines", COUNT), Column("queries", COUNT), Column("queries missing", COUNT)]
    columns += [Column("errors", COUNT), Column("warnings", COUNT), Column("repairs", COUNT)]
    columns += [Column("to look into"), Column("feedback")]
    questions = _questions(grades)
    rows = [
        _grades_row(entry, grades, [points.get(part) for part in parts], questions.get(place, ""))
        for place, (entry, points) in enumerate(zip(grades.entries, of_parts, strict=True))
    ]
    return Sheet("Grades", tuple(columns), rows)


def _grades_row(entry: Entry, grades: Grades, parts: list[float | None], question: str) -> tuple[Cell, ...]:
    graded, marks = entry.graded, entry.marks
    cells: list[Cell] = [shown(graded.student), marks.total, marks.most]
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


def _claims_sheet(grades: Grades) -> Sheet:
    columns = (
        *(Column("student"), Column("measure"), Column("claimed"), Column("value", VALUE), Column("verdict")),
        *(Column("why"), Column("profile"), Column("place")),
    )
    rows: list[tuple[Cell, ...]] = []
    for entry in grades.entries:
        for claim in entry.graded.claims:
            said = (shown(claim.why), shown(claim.profile), shown(claim.place))
            claimed = (shown(claim.measure), shown(claim.text), claim.value, claim.verdict)
            rows.append((shown(entry.graded.student), *claimed, *said))
    return Sheet("Claims", columns, rows)


def _findings_sheet(grades: Grades) -> Sheet:
    columns = (
        *(Column("student"), Column("severity"), Column("code"), Column("file"), Column("line", COUNT)),
        *(Column("column", COUNT), Column("what was found"), Column("what to do")),
    )
    rows: list[tuple[Cell, ...]] = []
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
    return Sheet("Findings", columns, rows)


def _alike_sheet(grades: Grades) -> Sheet:
    columns = (
        *(Column("student"), Column("and"), Column("what is alike"), Column("mean overlap", VALUE)),
        *(Column("queries", COUNT), Column("what this is")),
    )
    rows: list[tuple[Cell, ...]] = [
        (_name_of(grades, pair.first), _name_of(grades, pair.second), pair.kind, pair.overlap, pair.queries, QUESTION)
        for pair in grades.pairs
    ]
    return Sheet("Alike", columns, rows)


def _about_sheet(grades: Grades) -> Sheet:
    rows: list[tuple[Cell, ...]] = [
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
    return Sheet("About", (Column("what"), Column("is", VALUE)), rows)


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
        "marks": [mark._asdict() for mark in marks.items],
        "run": graded.run,
        "kind": graded.kind,
        "profile": graded.profile,
        "lines": graded.lines,
        "queries": graded.queries,
        "documents": graded.documents,
        "missing_queries": {"missing": missing, "judged": judged},
        "measures": dict(graded.measures),
        "signatures": dict(graded.signatures),
        "baseline": dict(grades.baseline_measures),
        "against": _plain(graded.against),
        "claims": [claim._asdict() for claim in graded.claims],
        "files": [file._asdict() for file in graded.files],
        "findings": [finding._asdict() for finding in graded.findings],
        "counts": dict(graded.counts),
        "severities": {severity: found[severity] for severity in SEVERITIES},
        "repairs": list(graded.repairs),
        "sha256": graded.hash_of_run,
    }
    made = _plain(document)
    assert isinstance(made, dict)
    return made


def _plain(value: Any) -> Any:
    """Return named tuples as dictionaries, text as Unicode, and numbers as JSON has them."""
    if isinstance(value, str):
        return json_safe(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {json_safe(str(key)): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return value
