"""Columns and cells of differences, of all queries and of groups of them."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from treceval_py.comparing.paired import SAME
from treceval_py.comparing.tests import SIMULTANEOUS
from treceval_py.errors import visible
from treceval_py.rendering.envelope import plain
from treceval_py.rendering.numbers import NONE, number, p_value, percent
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import DIGITS, Column, Table, records_table

if TYPE_CHECKING:
    from treceval_py.comparing.outcome import Difference, GroupDifference, Interaction, Outcome

ABOVE, BELOW = "▲", "▼"
"""The marks of a significant difference: of a mean above, and below, that of the other run."""

VALUES = ("mean_run", "mean_other", "difference", "low", "high", "effect", "effect_low", "effect_high")
"""The fields that a number of decimals is meant for; p-values and statistics keep theirs."""


def shown(key: str, cells: Sequence[str | float], title: str | None = None, **how: Any) -> Column:
    """Return a column that programs do not see."""
    return Column(key, cells, title, programs=False, **how)


def naming(comparison: Outcome, rows: Sequence[tuple[str, Difference | GroupDifference | Interaction]]) -> list[Column]:
    """Return the columns that name differences: measure, run and, without a baseline, the other run."""
    runs = comparison.runs
    columns = [
        shown("measure", [measure for measure, _ in rows], text=True, paper=False),
        shown("run", [runs[pair.run] for _, pair in rows], text=True, head=True, tex="Run"),
    ]
    if comparison.baseline is None:
        columns.append(shown("other", [runs[pair.other] for _, pair in rows], "minus", text=True, tex="Minus"))
    return columns


def of_baseline(comparison: Outcome, before: str) -> str:
    """Return what a title says of the baseline; nothing if every pair of runs is compared."""
    return "" if comparison.baseline is None else f"{before}{visible(comparison.runs[comparison.baseline])} (baseline)"


def mark(mean: float, adjusted: float, alpha: float) -> str:
    """Return `ABOVE` or `BELOW` where a difference is significant, else an empty text."""
    if not adjusted <= alpha or mean == 0:  # NaN is not significant
        return ""
    return ABOVE if mean > 0 else BELOW


def highest(values: Sequence[float]) -> frozenset[int]:
    """Return the rows with the highest value; none if all are equal, or there is only one. NaN does not count."""
    known = [value for value in values if not math.isnan(value)]
    most = max(known, default=0.0)
    rows = frozenset(row for row, value in enumerate(values) if value >= most - SAME * max(1.0, abs(most)))
    return rows if len(rows) < len(known) else frozenset()


def intervals(
    low: Sequence[float], high: Sequence[float], digits: int, title: str, key: str = "interval", spare: int = 0
) -> Column:
    """Return a column of intervals in brackets."""
    cells = []
    for limits in zip(low, high, strict=True):
        texts = [number(limit, digits, signed=True) for limit in limits]
        cells.append(NONE if all(map(math.isnan, limits)) else f"[{', '.join(texts)}]")
    return shown(key, cells, title, joint=", ", spare=spare)


def differences(
    comparison: Outcome, pairs: Sequence[Difference | GroupDifference], marks: Sequence[str], style: Style
) -> list[Column]:
    """Return the columns of differences with their marks, and of their intervals."""
    digits = DIGITS if style.digits is None else style.digits
    title = f"{percent(comparison.settings.confidence)} {SIMULTANEOUS}"
    return [
        shown("difference", [pair.mean for pair in pairs], signed=True, marks=marks, apart=True),
        intervals([pair.low for pair in pairs], [pair.high for pair in pairs], digits, title),
    ]


def record_of(
    comparison: Outcome, pair: Difference | GroupDifference, mean_run: float, mean_other: float
) -> dict[str, Any]:
    """Return the part of a difference's record that is the same for all queries and for a group of them."""
    return {
        "run": comparison.runs[pair.run],
        "other": comparison.runs[pair.other],
        "mean_run": mean_run,
        "mean_other": mean_other,
        "difference": pair.mean,
        "low": pair.low,
        "high": pair.high,
        "interval": SIMULTANEOUS,
        "confidence": comparison.settings.confidence,
    }


def for_programs(rows: Sequence[Mapping[str, Any]], name: str) -> Table:
    """Return records as a table for programs, in which a number of decimals is meant for `VALUES` alone."""
    return records_table(rows, name=name, exact={key for row in rows[:1] for key in row if key not in VALUES})


def rounded(record: Mapping[str, Any], digits: int | None, without: Container[str] = ()) -> dict[str, Any]:
    """Return a record with a number of decimals in its `VALUES`, and without some keys."""
    return {
        key: plain(value, digits) if key in VALUES else value for key, value in record.items() if key not in without
    }


def p_values(
    p: Sequence[float], adjusted: Sequence[float], correction: str, title: str = "p", tex: str = ""
) -> list[Column]:
    """Return a column of p-values, which LaTeX does without, and one of them corrected, by the correction's name."""
    return [
        shown("p", list(map(p_value, p)), title, paper=False, tex=tex),
        shown("adjusted", list(map(p_value, adjusted)), f"p ({correction})"),
    ]
