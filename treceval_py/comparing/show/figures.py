"""What the plots of a comparison are drawn from, with and without a report."""

from __future__ import annotations

import math
from typing import Any

from treceval_py._types import FloatArray
from treceval_py.comparing.outcome import Compared, Outcome
from treceval_py.comparing.show.tables import mark_of
from treceval_py.errors import EvaluationError, MeasureError
from treceval_py.rendering.envelope import plain
from treceval_py.rendering.plots import PLOTS, Plot, specs

__all__ = ["measure_payload", "plot_of"]

DIGITS = 6
"""Significant digits of the values of queries, of which there can be hundreds of thousands. What is shown with four
decimals in a table is not rounded before: twice rounded, one number in some hundreds would differ."""


def plot_of(comparison: Outcome, plot: str, measure: str | None, runs: tuple[int, int] | None) -> Plot:
    """Return a plot of a comparison; parameters and errors as of `Comparison.plot`."""
    if plot not in PLOTS:
        raise MeasureError(f"unknown plot {plot!r}", f"Choose one of {', '.join(PLOTS)}.")
    base = comparison.baseline or 0
    payload = {
        "queries": {each.measure: list(each.qids) for each in comparison.measures},
        "texts": {},
        "runs": [{"name": name} for name in comparison.runs],
        "baseline": comparison.baseline,
        "measures": [measure_payload(comparison, each) for each in comparison.measures],
        **dict.fromkeys(("precision_recall", "recall_at_depth", "overlap")),
    }
    made = specs(plain(payload), measure=measure, runs=runs or (1 if base == 0 else 0, base))
    if plot not in made:
        raise EvaluationError(
            f"the plot {plot} needs the runs, which a comparison does not keep",
            f"Choose {', '.join(made)}, or write a report.",
        )
    return Plot(made[plot], len(comparison.runs))


def measure_payload(comparison: Outcome, compared: Compared) -> dict[str, Any]:
    """Return what a report shows of a measure, as data that JSON can hold."""
    adjusted = [math.nan] * len(comparison.runs)
    marks = [""] * len(comparison.runs)
    for each in compared.differences:
        if each.other != comparison.baseline:
            continue
        adjusted[each.run] = each.tests[comparison.settings.test].adjusted
        marks[each.run] = mark_of(comparison, each)
    signature = compared.signature
    return {
        "name": compared.measure,
        "signature": None if signature is None else signature.short,
        "long": None if signature is None else signature.long,
        "means": compared.means.tolist(),
        "low": compared.low.tolist(),
        "high": compared.high.tolist(),
        "best": list(compared.best),
        "letters": list(compared.letters),
        "marks": marks,
        "adjusted": adjusted,
        "values": _rounded(compared.values),
    }


def _rounded(values: FloatArray) -> list[list[float]]:
    """Return values with a few significant digits. (S, Q)."""
    return [[float(f"{value:.{DIGITS}g}") for value in row] for row in values.tolist()]
