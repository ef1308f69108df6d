"""The overview of a class: one HTML page for the teacher, which loads nothing from elsewhere."""

from __future__ import annotations

import math
from base64 import b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from statistics import fmean, median
from typing import Any, NamedTuple
from urllib.parse import quote

from treceval_py.checking.catalogue import CODES
from treceval_py.checking.findings import ERROR, SEVERITIES, WARNING
from treceval_py.errors import OutputError
from treceval_py.grading.attention import BASELINE, KINDS, equal_runs, needing
from treceval_py.grading.grades import Entry, Grades
from treceval_py.grading.outputs.feedback import score_of
from treceval_py.grading.outputs.gradebook import QUESTION, by_severity, set_apart, shown
from treceval_py.grading.outputs.workbook import INSTALL
from treceval_py.grading.records import (
    CONFIRMED,
    CORRECT,
    EVIDENCE,
    EXPLAINED,
    NO_CLAIM,
    REPAIRED,
    ROUNDING,
    SCORED,
    STATUSES,
    VERDICTS,
)
from treceval_py.grading.rule_keys import Rules
from treceval_py.plots.themes import THEMES
from treceval_py.version import __version__

FOLDER = files("treceval_py.grading.outputs")
# Most items of each list; the gradebook has all.
PAIRS, GROUP, CLAIMS, MEASURES, NOTES = 200, 100, 500, 30, 100
NAME, SENTENCE = 80, 300
# Size and margins of a histogram, in its own units.
WIDE, HIGH, LEFT, RIGHT, TOP, BOTTOM = 460, 190, 18, 18, 26, 42
MOST_BARS = 14


class Bar(NamedTuple):
    """A bar of a histogram: its position and size, the number of values, and the text under a pointer."""

    x: float
    y: float
    width: float
    height: float
    number: int
    title: str


class Histogram(NamedTuple):
    """A histogram as shapes.

    Attributes
    ----------
    bars : tuple of Bar
        The bars, from left to right.
    ticks : tuple of (float, str)
        Positions and texts of the numbers on the axis.
    mark : float or None
        Position of the baseline.
    said : str
        The histogram in words.
    """

    bars: tuple[Bar, ...]
    ticks: tuple[tuple[float, str], ...]
    mark: float | None
    said: str


def overview(grades: Grades) -> str:
    """Return the overview of a class as a complete HTML document, which opens from a file and without a network.

    Parameters
    ----------
    grades : Grades
        The class.

    Returns
    -------
    str
        The document. It can be read without JavaScript, which only sorts tables. It links to ``feedback/NAME.txt`` for
        each entry. The same grades give the same text.

    Raises
    ------
    OutputError
        The package jinja2 is not installed.

    Notes
    -----
    Text of a student never becomes markup or script: Jinja escapes it, and control characters are written as escapes.
    By its content security policy, the document uses only its own script and style, which are named by their hashes,
    and fetches nothing.
    """
    others = set_apart(grades)
    return page(
        "overview.html",
        grades=grades,
        title=shown(grades.rules.title, NAME) or "Overview of the class",
        figures=_figures(grades),
        needing=_needing(grades),
        kinds=KINDS,
        plots=_plots(grades, others),
        rows=_rows(grades, others),
        unscored=[entry for entry in grades.entries if entry.graded.status not in (SCORED, REPAIRED)],
        claims=_claims(grades.entries),
        wrong=_wrong(grades.entries),
        findings=_findings(grades.entries),
        pairs=_pairs(grades),
        groups=[[_named(grades, place) for place in sorted(group)] for group in _groups(grades)],
        question=QUESTION,
        others=sorted(set(others.values())),
        rules=_rules(grades.rules),
        statuses=STATUSES,
        verdicts=VERDICTS | EVIDENCE,
        wide=WIDE,
        high=HIGH,
        foot=HIGH - BOTTOM,
        most={"pairs": PAIRS, "group": GROUP, "claims": CLAIMS, "measures": MEASURES, "notes": NOTES},
    )


def page(template: str, **given: Any) -> str:
    """Return a page like that of `overview`, from the common head, the named template and its data."""
    try:
        import jinja2  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise OutputError("the overview needs the package jinja2, which is not installed", INSTALL) from None
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(
        number=_number, score=score_of, name=lambda text: shown(text, NAME), shown=lambda text: shown(text, SENTENCE)
    )
    script, style = _read("overview.js"), _style()
    made: str = environment.from_string(_read("head.html") + _read(template)).render(
        policy=_policy(script, style), script=script, style=style, version=__version__, **given
    )
    return made


def histogram(values: Sequence[float], low: float, high: float, *, mark: float | None, unit: str) -> Histogram:
    """Return a histogram of equally wide bars; the last bar includes the upper end of the range.

    Parameters
    ----------
    values : sequence of float
        The values, within the range.
    low, high : float
        The range, which is widened to round numbers.
    mark : float, optional
        A value to mark.
    unit : str
        Name of the values, for people.

    Returns
    -------
    Histogram
        The shapes.
    """
    step = _step(high - low)
    first = math.floor(round(low / step, 9))
    last = max(math.ceil(round(high / step, 9)), first + 1)
    # Round first: 0.3 / 0.1 is just below 3.
    parts = Counter(min(math.floor(round(value / step, 9)), last - 1) for value in values)
    decimals = max(0, -math.floor(math.log10(step)))
    ends = [f"{number * step:.{decimals}f}" for number in range(first, last + 1)]
    width = (WIDE - LEFT - RIGHT) / (last - first)
    tallest = max(parts.values(), default=1)
    bars = []
    for place, number in enumerate(range(first, last)):
        count = parts[number]
        height = round((HIGH - TOP - BOTTOM) * count / tallest, 2)
        told = f"{ends[place]} to {ends[place + 1]} {unit}: {count} student{'s' * (count != 1)}"
        bars.append(
            Bar(round(LEFT + place * width + 1.5, 2), HIGH - BOTTOM - height, round(width - 3, 2), height, count, told)
        )
    every = math.ceil((last - first) / 7)
    ticks = [(round(LEFT + place * width, 2), end) for place, end in enumerate(ends) if place % every == 0]
    at = None if mark is None else round(LEFT + (mark / step - first) * width, 2)
    said = "; ".join(bar.title for bar in bars if bar.number)
    return Histogram(tuple(bars), tuple(ticks), at, said)


def _step(width: float) -> float:
    """Return the smallest of 1, 2, 5, 10, … or a power-of-ten fraction of them that divides a range into a few bars."""
    if not width > 0:
        return 0.05
    power = 10.0 ** math.floor(math.log10(width / MOST_BARS))
    return next(factor * power for factor in (1, 2, 5, 10) if width / (factor * power) <= MOST_BARS)


# What the page shows ------------------------------------------------------------------------------


def _figures(grades: Grades) -> list[tuple[str, str]]:
    """Return the key figures of the class, each with its words."""
    statuses = Counter(entry.graded.status for entry in grades.entries)
    figures = [(str(statuses[status]), status) for status in STATUSES if statuses[status]]
    asked = sum(bool(entry.questions) for entry in grades.entries)
    if asked:
        figures.append((str(asked), "needs a human" if asked == 1 else "need a human"))
    marks = [entry.marks for entry in grades.entries if not entry.marks.excused]
    if len(marks) < len(grades.entries):
        figures.append((str(len(grades.entries) - len(marks)), "excused"))
    if marks:
        totals = [own.total for own in marks]
        figures.append((f"{fmean(totals):.1f}", f"mean of the points, of {max(own.most for own in marks):g}"))
        figures.append((f"{median(totals):.1f}", "median of the points"))
    passed = [own.passed for own in marks if own.passed is not None]
    if passed:
        figures.append((f"{sum(passed)} of {len(passed)}", "passed"))
    return figures


def _plots(grades: Grades, others: Mapping[str, str]) -> list[tuple[str, Histogram]]:
    plots = []
    marks = [entry.marks for entry in grades.entries if not entry.marks.excused]
    if marks:
        most = max(own.most for own in marks)
        totals = [own.total for own in marks]
        top = max(most, *totals)
        plots.append(("Points", histogram(totals, min(0.0, *totals), top or 1.0, mark=None, unit="points")))
    if grades.measures:
        name = grades.measures[0]
        scored = [entry for entry in grades.entries if name in entry.graded.measures and entry.name not in others]
        values = [entry.graded.measures[name] for entry in scored]
        values = [value for value in values if math.isfinite(value)]
        if values:
            mark = grades.baseline_measures.get(name)
            marked = [*values, mark] if mark is not None else values
            plots.append((name, histogram(values, min(marked), max(marked), mark=mark, unit=name)))
    return plots


def _rows(grades: Grades, others: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the rows of the table of students, best first by the first measure; those without a value are last."""
    rows = [_row(entry, grades, entry.name in others) for entry in grades.entries]

    def order(row: dict[str, Any]) -> float:
        value = row["values"][0] if row["values"] else None
        return math.inf if value is None or math.isnan(value) else -value

    return sorted(rows, key=order)


def _row(entry: Entry, grades: Grades, apart: bool) -> dict[str, Any]:
    graded, person = entry.graded, entry.person
    severities = by_severity(graded)
    right = sum(claim.verdict in (CORRECT, ROUNDING) for claim in graded.claims)
    return {
        "student": shown(entry.student, NAME),
        "about": [shown(text, NAME) for text in (person.number, person.group) if text] if person else [],
        "feedback": f"feedback/{quote(entry.name)}.txt",
        "marks": entry.marks,
        "status": graded.status,
        "late": graded.late,
        "adjusted": not entry.marks.excused and any(change.kind == "adjusted" for change in entry.marks.changes),
        "apart": apart,
        "values": [graded.measures.get(name) for name in grades.measures],
        "right": right,
        "claims": sum(claim.verdict in VERDICTS for claim in graded.claims),
        "errors": severities[ERROR],
        "warnings": severities[WARNING],
        "questions": [question.kind for question in entry.questions],
    }


def _needing(grades: Grades) -> dict[str, list[tuple[str, str, str]]]:
    """Return the questions for a person by kind: the student, the address of the feedback, and the sentence."""
    by_kind: dict[str, list[tuple[str, str, str]]] = {}
    for entry, question in needing(grades):
        student, feedback = ("", "") if entry is None else (entry.student, f"feedback/{quote(entry.name)}.txt")
        by_kind.setdefault(question.kind, []).append((shown(student, NAME), feedback, shown(question.what, SENTENCE)))
    return by_kind


def _claims(entries: Sequence[Entry]) -> list[tuple[str, list[int]]]:
    """Count verdicts by measure, the measure with most claims first."""
    counts: dict[str, Counter[str]] = {}
    for entry in entries:
        for claim in entry.graded.claims:
            counts.setdefault(shown(claim.measure, NAME), Counter())[claim.verdict] += 1
    most = sorted(counts.items(), key=lambda item: -item[1].total())
    return [(name, [of[verdict] for verdict in VERDICTS | EVIDENCE]) for name, of in most]


def _wrong(entries: Sequence[Entry]) -> list[tuple[Entry, Any]]:
    kept = (CORRECT, NO_CLAIM, CONFIRMED, EXPLAINED)
    return [(entry, claim) for entry in entries for claim in entry.graded.claims if claim.verdict not in kept]


def _findings(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Count findings by code: errors first, then by the number of submissions."""
    codes: dict[str, dict[str, Any]] = {}
    for entry in entries:
        examples = {finding.code: finding for finding in reversed(entry.graded.findings)}
        for code, number in entry.graded.counts.items():
            known = CODES.get(code)
            example = examples.get(code)
            severity = known.severity if known else example.severity if example else ERROR
            row = codes.setdefault(
                code, {"code": code, "severity": severity, "title": "", "submissions": 0, "number": 0}
            )
            row["title"] = row["title"] or (known.title if known else shown(example.what, SENTENCE) if example else "")
            row["submissions"] += 1
            row["number"] += number
    return sorted(codes.values(), key=lambda row: (SEVERITIES.index(row["severity"]), -row["submissions"], row["code"]))


def _rules(rules: Rules) -> list[str]:
    """Say what gives points."""
    said = []
    if rules.points_run:
        after = f", {100 * rules.credit_repaired:g} % of them after repairs"
        said.append(f"{rules.points_run:g} points for a run that can be scored{after}")
    for measure in rules.measures if rules.points_measures else ():
        if measure.full_from is not None:
            place = " (both above the baseline's value)" if measure.above_baseline else ""
            said.append(
                f"{shown(measure.name, NAME)}: no points below {measure.none_below or 0:g}, "
                f"all from {measure.full_from:g} on{place}; weight {measure.weight:g} of the "
                f"{rules.points_measures:g} points for measures"
            )
    if rules.points_claims:
        shares = ", ".join(f"{verdict} {100 * rules.credit.get(verdict, 0):g} %" for verdict in VERDICTS)
        others = "" if rules.expected else " (all measures that are not in the rules are one part)"
        said.append(f"{rules.points_claims:g} points for claims, in equal parts{others}; share by verdict: {shares}")
    if rules.expected:
        said.append(f"expected claims: {shown(', '.join(rules.expected), SENTENCE)}")
    if rules.pass_mark is not None:
        said.append(f"{rules.pass_mark:g} points are needed to pass")
    return said


def _named(grades: Grades, place: int) -> str:
    return shown(grades.entries[place].student, NAME) if place >= 0 else f"({BASELINE})"


def _groups(grades: Grades) -> list[frozenset[int]]:
    """Return groups of three or more runs with the same ranking; pairs are in the table."""
    return [group for group in equal_runs(grades) if len(group) > 2]


def _pairs(grades: Grades) -> list[tuple[str, str, Any]]:
    """Return the pairs that are not in a group."""
    together = {place: number for number, group in enumerate(_groups(grades)) for place in group}
    return [
        (_named(grades, pair.first), _named(grades, pair.second), pair)
        for pair in grades.pairs
        if together.get(pair.first, -1) != together.get(pair.second, -2)
    ]


# The page -----------------------------------------------------------------------------------------


def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _style() -> str:
    """Return the style of the page, with its colours."""
    parts = [
        f":root {{ {_colours('light')} }}",
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {_colours('dark')} }} }}",
        _read("overview.css"),
    ]
    return "\n".join(parts)


def _colours(name: str) -> str:
    theme = THEMES[name]._asdict()
    used = ("paper", "ink", "muted", "line", "wash", "accent", "tint")
    return f"color-scheme: {name}; " + " ".join(f"--{part}: {theme[part]};" for part in used)


def _policy(script: str, style: str) -> str:
    """Return the content security policy: only this script and this style."""
    of_script, of_style = (b64encode(sha256(text.encode()).digest()).decode() for text in (script, style))
    return (
        f"default-src 'none'; script-src 'sha256-{of_script}'; style-src 'sha256-{of_style}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
