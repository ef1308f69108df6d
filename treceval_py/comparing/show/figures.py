"""Data for the plots of a comparison, with and without a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from treceval_py._types import FloatArray
from treceval_py.comparing.outcome import Compared, Outcome
from treceval_py.data.ids import encode
from treceval_py.errors import EvaluationError, MeasureError
from treceval_py.plots.images import Plot
from treceval_py.plots.specs import PLOTS, specs
from treceval_py.rendering.envelope import plain
from treceval_py.scoring.signatures import concise

TINY = 1e-300

DIGITS = 7
"""Significant digits of the values of queries, of which there can be hundreds of thousands."""


def plot_of(comparison: Outcome, plot: str, measure: str | None, runs: tuple[int, int] | None) -> Plot:
    """Return a plot of a comparison; parameters and errors as of `Comparison.plot`."""
    if plot not in PLOTS:
        raise MeasureError(f"unknown plot {plot!r}", f"Choose one of {', '.join(PLOTS)}.")
    base = comparison.baseline or 0
    qids = sorted({qid for compared in comparison.measures for qid in compared.qids}, key=encode)
    payload: dict[str, Any] = {
        "qids": qids,
        "texts": {},
        "runs": [{"name": name} for name in comparison.runs],
        "baseline": comparison.baseline,
        "measures": [measure_payload(compared, qids) for compared in comparison.measures],
        **dict.fromkeys(("pr", "rd", "overlap")),
    }
    made = specs(plain(payload), measure=measure, runs=runs or (1 if base == 0 else 0, base))
    if plot not in made:
        raise EvaluationError(
            f"the plot {plot} needs the runs, which a comparison does not keep",
            f"Choose {', '.join(made)}, or write a report.",
        )
    return Plot(made[plot], len(comparison.runs))


def measure_payload(compared: Compared, qids: Sequence[str]) -> dict[str, Any]:
    """Return what a report shows of a measure, as data that JSON can hold; `qids` are the queries of all measures."""
    signature = compared.signature
    measure = None if signature is None else concise(signature.measure)
    column = {qid: number for number, qid in enumerate(compared.qids)}
    rows = _rounded(compared.values)
    if len(qids) > len(compared.qids):
        rows = [[None if (at := column.get(qid)) is None else row[at] for qid in qids] for row in rows]
    return {
        **plain(
            {
                "name": compared.measure,
                "label": compared.heading,
                "long": "" if measure is None else measure.family.title,
                "sig": None if signature is None else signature.short,
                "siglong": None if signature is None else signature.long,
                "means": compared.means.tolist(),
                "low": compared.low.tolist(),
                "high": compared.high.tolist(),
                "bounds": list(compared.bounds),
                "left_out": len(compared.left_out),
            }
        ),
        "values": rows,
    }


def _rounded(values: FloatArray) -> list[list[float | None]]:
    """Return values with few digits that round to the same number of four decimals. (S, Q)."""
    # Whole numbers divided by a power of ten: the nearest float, which is printed with no more digits.
    scale = 10.0 ** (DIGITS - 1 - np.minimum(0, np.floor(np.log10(np.maximum(np.abs(values), TINY)))))
    few = np.round(values * scale) / scale
    # Rounding may have made a tie of what is just above or below it.
    rounded: list[list[float | None]] = np.where(np.abs(few * 1e4 % 1 - 0.5) < 1e-6, values, few).tolist()
    return rounded
