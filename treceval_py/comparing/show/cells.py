"""Columns and cells of differences, of all queries and of groups of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from treceval_py.errors import visible
from treceval_py.rendering.numbers import NONE, number, p_value
from treceval_py.rendering.tables import Column

if TYPE_CHECKING:
    from treceval_py.comparing.outcome import Difference, GroupDifference, Interaction, Outcome

ABOVE, BELOW = "▲", "▼"
"""The marks of a significant difference: of a mean above, and below, that of the other run."""

EXACT = 1e-12
"""Means closer than this are equal: sums in other orders differ in their last digits."""

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


def interval(low: float, high: float, digits: int) -> str:
    """Return an interval in brackets."""
    if math.isnan(low) and math.isnan(high):
        return NONE
    return f"[{number(low, digits, signed=True)}, {number(high, digits, signed=True)}]"


def p_values(
    p: Sequence[float], adjusted: Sequence[float], correction: str, title: str = "p", tex: str = ""
) -> list[Column]:
    """Return a column of p-values, which LaTeX does without, and one of them corrected, by the correction's name."""
    return [
        shown("p", list(map(p_value, p)), title, paper=False, tex=tex),
        shown("adjusted", list(map(p_value, adjusted)), f"p ({correction})"),
    ]
