"""What is shown of a comparison, the same in all formats: cells, marks, columns and sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from treceval_py.errors import visible

if TYPE_CHECKING:
    from treceval_py.comparing.comparison import Comparison, Difference, Settings
    from treceval_py.comparing.variance import Anova

__all__ = [
    "ABOVE",
    "BELOW",
    "Cell",
    "Column",
    "Layout",
    "Row",
    "analyses",
    "columns_of",
    "exactly",
    "heading",
    "mark_of",
    "methods",
    "noted",
    "notes",
    "number",
    "p_value",
    "panels",
    "percent",
    "rows_of",
    "sentences",
    "shortened",
    "signatures",
    "starts_of",
]

ABOVE, BELOW = "▲", "▼"
"""The marks of a significant difference: of a mean above, and below, that of the other run."""

NONE, INFINITE = "–", "∞"

DIGITS = 4

LEAST_P = 0.0001
"""The least p-value that is written out."""

FEW_LETTERS = 4
"""So many letters in a row are written as the first and the last."""

MANY_QUERIES = 10**6
"""A number of queries above this is written in powers of ten."""

_INTERVALS = {"t": "Student's t", "bca": "BCa bootstrap"}


class Layout(NamedTuple):
    """How a comparison is printed.

    Attributes
    ----------
    digits : int or None
        Decimals of means and differences. None: four where people read, all that float64 has where programs read.
        p-values have four for people and all for programs.
    colour : bool
        Whether terminal styles may be used.
    width : int or None
        Columns of the terminal: a wider table is cut into blocks of columns, and sentences are wrapped. None: they are
        not.
    """

    digits: int | None = None
    colour: bool = False
    width: int | None = None


class Cell(NamedTuple):
    """The mean of a run in a measure.

    Attributes
    ----------
    text : str
        The mean.
    mark : str
        `ABOVE` or `BELOW` where it differs significantly from that of the baseline, else empty.
    letters : str
        The groups that the run is in, as `shortened` writes them.
    best : bool
        Whether no run has a higher mean.
    """

    text: str
    mark: str
    letters: str
    best: bool


class Row(NamedTuple):
    """A run in the table of means: its name, whether it is the baseline, and a cell for each measure."""

    name: str
    baseline: bool
    cells: tuple[Cell, ...]


class Column(NamedTuple):
    """A column of the table of differences.

    Attributes
    ----------
    key : str
        What it holds, whatever its title.
    title : str
        Its title; empty over marks.
    text : bool
        Whether it holds names, not numbers.
    cells : tuple of str
        A cell for each difference, measure by measure.
    """

    key: str
    title: str
    text: bool
    cells: tuple[str, ...]


def number(value: float, digits: int, *, signed: bool = False) -> str:
    """Write a number with so many decimals; NaN as a dash, and nothing as minus zero."""
    if math.isnan(value):
        return NONE
    if math.isinf(value):
        return ("+" if signed else "") + INFINITE if value > 0 else f"-{INFINITE}"
    text = f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"
    return text[1:] if text[0] in "+-" and not text.strip("+-0.") else text


def p_value(p: float) -> str:
    """Write a p-value with four decimals; below 0.0001 it is said to be below, never to be zero."""
    if math.isnan(p):
        return NONE
    return f"<{LEAST_P:.4f}" if p < LEAST_P else f"{p:.4f}"


def exactly(value: float) -> str:
    """Write a number with the fewest digits that tell it from every other one."""
    return repr(float(value)).removesuffix(".0")


def percent(share: float) -> str:
    """Write a share in percent with all its digits: what is nearly all is never said to be all."""
    from decimal import Decimal

    return f"{(100 * Decimal(repr(float(share)))).normalize():f} %"


def shortened(letters: str) -> str:
    """Write many letters in a row as the first and the last, as runs in the middle of a long order have them."""
    stretches: list[list[str]] = []
    for name in re.findall("[a-z][0-9]*", letters):
        if stretches and _place(name) == _place(stretches[-1][-1]) + 1:
            stretches[-1].append(name)
        else:
            stretches.append([name])
    return "".join(
        f"{stretch[0]}–{stretch[-1]}" if len(stretch) >= FEW_LETTERS else "".join(stretch) for stretch in stretches
    )


def _place(name: str) -> int:
    """Return the number of a group by its name: a is 0, z 25, a1 26."""
    return 26 * int(name[1:] or 0) + ord(name[0]) - ord("a")


def mark_of(comparison: Comparison, difference: Difference) -> str:
    """Return `ABOVE` or `BELOW` where a difference is significant after correction, else an empty text.

    A test that speaks for the run with the lower mean, as the sign test can, marks neither.
    """
    tested = difference.tests[comparison.settings.test]
    if not tested.adjusted <= comparison.settings.alpha or difference.mean == 0:  # NaN is not significant
        return ""
    if tested.direction * difference.mean < 0:
        return ""
    return ABOVE if difference.mean > 0 else BELOW


def rows_of(comparison: Comparison, layout: Layout) -> list[Row]:
    """Return the table of means: a row for each run, in their order, a cell for each measure."""
    digits = DIGITS if layout.digits is None else layout.digits
    marks = [
        {each.run: mark_of(comparison, each) for each in compared.differences if each.other == comparison.baseline}
        for compared in comparison.measures
    ]
    return [
        Row(
            visible(name),
            run == comparison.baseline,
            tuple(
                Cell(
                    number(float(compared.means[run]), digits),
                    marked.get(run, ""),
                    shortened(compared.letters[run]),
                    run in compared.best,
                )
                for compared, marked in zip(comparison.measures, marks, strict=True)
            ),
        )
        for run, name in enumerate(comparison.runs)
    ]


def columns_of(comparison: Comparison, layout: Layout) -> list[Column]:
    """Return the table of differences as columns; what is the same in all rows for sure has none."""
    digits = DIGITS if layout.digits is None else layout.digits
    settings = comparison.settings
    rows = [(compared.measure, each) for compared in comparison.measures for each in compared.differences]
    found = [each for _, each in rows]
    confidence = percent(settings.confidence)

    def column(key: str, title: str, cells: Sequence[str], *, text: bool = False) -> Column:
        return Column(key, title, text, tuple(cells))

    columns = [
        column("measure", "measure", [visible(measure) for measure, _ in rows], text=True),
        column("run", "run", [visible(comparison.runs[each.run]) for each in found], text=True),
    ]
    if comparison.baseline is None:
        names = [visible(comparison.runs[each.other]) for each in found]
        columns.append(column("other", "minus", names, text=True))
    columns += [
        column("difference", "difference", [number(each.mean, digits, signed=True) for each in found]),
        column("mark", "", [mark_of(comparison, each) for each in found]),
        column("interval", f"{confidence} interval", [_interval(each.low, each.high, digits) for each in found]),
    ]
    for name in settings.tests:
        columns.append(column("p", f"p ({name})", [p_value(each.tests[name].p) for each in found]))
        if name == settings.test and settings.correction != "none":
            adjusted = [p_value(each.tests[name].adjusted) for each in found]
            columns.append(column("adjusted", _corrected(settings), adjusted))
    columns += [
        column("effect", "d", [number(each.effect, 2, signed=True) for each in found]),
        column(
            "effect_interval", f"{confidence} of d", [_interval(each.effect_low, each.effect_high, 2) for each in found]
        ),
        column("counts", "w/t/l", [f"{each.wins}/{each.ties}/{each.losses}" for each in found]),
    ]
    if settings.margin is not None:
        columns.append(column("equivalence", "p (equal)", [p_value(each.equivalence) for each in found]))
    columns.append(column("needed", "needed", [_needed(each.needed) for each in found]))
    return columns


def starts_of(comparison: Comparison) -> list[int]:
    """Return the rows of the table of differences with which a measure begins."""
    starts, row = [], 0
    for compared in comparison.measures:
        starts.append(row)
        row += len(compared.differences)
    return starts


def heading(comparison: Comparison) -> str:
    """Return what stands above the table of differences."""
    if comparison.baseline is None:
        return "Differences of each two runs"
    return f"Differences from {visible(comparison.runs[comparison.baseline])} (baseline)"


def panels(widths: Sequence[float], room: float) -> list[range]:
    """Divide columns into blocks, each as many as there is room for, and one at least.

    Parameters
    ----------
    widths : sequence of float, length M
        How wide each column is, with the space before it.
    room : float
        How wide a block may be.
    """
    blocks: list[range] = []
    start, used = 0, 0.0
    for at, width in enumerate(widths):
        if at > start and used + width > room:
            blocks.append(range(start, at))
            start, used = at, 0.0
        used += width
    return [*blocks, range(start, len(widths))]


def sentences(comparison: Comparison) -> list[str]:
    """Say how a comparison was made and what its marks and letters mean, as plain text without control characters."""
    made = [*methods(comparison).values(), *analyses(comparison), *notes(comparison), *signatures(comparison)]
    return [*made, f"treceval_py {visible(comparison.version)}"]


def methods(comparison: Comparison) -> dict[str, str]:
    """Say what was computed, a sentence for each subject that there is; the keys name the subjects."""
    settings = comparison.settings
    confidence = percent(settings.confidence)
    said = {"queries": _queries(comparison), "test": _test(comparison)}
    others = [f"{_title(name)} ({name})" for name in settings.tests if name != settings.test]
    if others:
        said["tests"] = f"Also computed: {', '.join(others)}; p-values shown as they are."
    if "randomisation" in settings.tests:
        said["randomisation"] = (
            f"Randomisation: {_drawn(settings.resamples, 'random sign flip')}, seed {settings.seed}; "
            "all sign flips where there are no more than that."
        )
    drawn = f", {_drawn(settings.bootstrap, 'resample')}, seed {settings.seed}" if settings.interval == "bca" else ""
    said["interval"] = f"Intervals of differences: {confidence}, {_INTERVALS[settings.interval]}{drawn}."
    if any(any(compared.letters) for compared in comparison.measures):
        said["groups"] = _letters(comparison)
    said["effect"] = (
        "d: mean of the differences over their standard deviation (Cohen's d_z), "
        f"with the {confidence} interval of the noncentral t distribution."
    )
    said["counts"] = "w/t/l: queries in which the run wins, ties and loses."
    if settings.margin is not None:
        said["equivalence"] = (
            f"p (equal): the difference lies within ±{exactly(settings.margin)}, two one-sided paired t-tests, "
            "not corrected."
        )
    said["needed"] = (
        f"needed: queries with which a two-sided paired t-test at {exactly(settings.alpha)} finds this d "
        f"with power {exactly(settings.power)}."
    )
    return said


def analyses(comparison: Comparison) -> list[str]:
    """Say what the analysis of variance found, a sentence for each measure that has one."""
    return [
        f"{visible(each.measure)}, two-way analysis of variance: {_anova(each.anova)}."
        for each in comparison.measures
        if each.anova is not None
    ]


def notes(comparison: Comparison) -> list[str]:
    """Return the notes of a comparison, each with a full stop."""
    return [noted(note) for note in comparison.notes]


def noted(note: str) -> str:
    """Return a note as a sentence that is known to be one, with a full stop."""
    return f"Note: {visible(note.removeprefix('Note: ').rstrip('.'))}."


def signatures(comparison: Comparison) -> list[str]:
    """Say how the values of each measure were made, where that is known."""
    return [
        f"{visible(each.measure)}: {visible(each.signature.short)}"
        for each in comparison.measures
        if each.signature is not None
    ]


def _title(name: str) -> str:
    """Return what a test, or a correction, is called in a sentence."""
    from treceval_py.comparing.tests import GROUPS, METHODS, TESTS

    return {**TESTS, **GROUPS, **METHODS}[name].title


def _queries(comparison: Comparison) -> str:
    by_count: dict[int, list[str]] = {}
    for compared in comparison.measures:
        by_count.setdefault(len(compared.qids), []).append(visible(compared.measure))
    parts = [_count(count, "query", "queries") for count in by_count]
    if len(parts) > 1:
        parts = [f"{part} ({', '.join(names)})" for part, names in zip(parts, by_count.values(), strict=True)]
    judged = f", judged by {visible(comparison.judgments_name)}" if comparison.judgments_name else ""
    return f"Means over {', '.join(parts)}{judged}."


def _test(comparison: Comparison) -> str:
    settings = comparison.settings
    other = (
        "the other run"
        if comparison.baseline is None
        else f"{visible(comparison.runs[comparison.baseline])} (baseline)"
    )
    family = _count(comparison.family, "p-value", "p-values")
    corrected = (
        f"{family}, not corrected" if settings.correction == "none" else f"{_title(settings.correction)} over {family}"
    )
    return (
        f"{ABOVE}{BELOW}: mean above or below that of {other}, with a significant difference: "
        f"{_title(settings.test)}, p ≤ {exactly(settings.alpha)}, {corrected}."
    )


def _letters(comparison: Comparison) -> str:
    settings = comparison.settings
    drawn = (
        f", {_drawn(settings.resamples, 'resample')}, seed {settings.seed}"
        if settings.groups == "randomised-tukey"
        else ""
    )
    each = ", for each measure by itself" if len(comparison.measures) > 1 else ""
    return (
        "Letters: runs that share one do not differ significantly: "
        f"{_title(settings.groups)} at {exactly(settings.alpha)}{drawn}{each}."
    )


def _anova(anova: Anova) -> str:
    parts = [
        f"{name} F({degrees}, {anova.error_df}) = {number(f, 2)}, p {_equals(p)}"
        for name, degrees, f, p in (
            ("systems", anova.systems_df, anova.systems_f, anova.systems_p),
            ("queries", anova.queries_df, anova.queries_f, anova.queries_p),
        )
    ]
    return "; ".join(parts)


def _equals(p: float) -> str:
    text = p_value(p)
    return f"< {text[1:]}" if text.startswith("<") else f"= {text}"


def _interval(low: float, high: float, digits: int) -> str:
    if math.isnan(low) and math.isnan(high):
        return NONE
    return f"[{number(low, digits, signed=True)}, {number(high, digits, signed=True)}]"


def _needed(count: float) -> str:
    """Write a number of queries; of very many only how many they are about, as nobody reads their digits."""
    if not math.isfinite(count) or count <= MANY_QUERIES:
        return number(count, 0)
    digits, power = f"{count:.1e}".split("e")
    return f"{digits}e{int(power)}"


def _corrected(settings: Settings) -> str:
    """Return the title of corrected p-values, which names their test where there are several."""
    test = f"{settings.test}, " if len(settings.tests) > 1 else ""
    return f"p ({test}{_short(settings.correction)})"


def _short(correction: str) -> str:
    return {"benjamini-hochberg": "BH"}.get(correction, correction.capitalize())


def _count(count: int, one: str, more: str) -> str:
    return f"{count} {one if count == 1 else more}"


def _drawn(count: int, one: str) -> str:
    return f"{count:,} {one}{'' if count == 1 else 's'}"
