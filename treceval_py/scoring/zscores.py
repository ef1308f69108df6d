"""Norms for z-scores: trec_eval's ``-Z`` file, with lines of ``qid measure mean deviation``."""

from __future__ import annotations

import math

from treceval_py._types import Source
from treceval_py.data.columns import Layout
from treceval_py.data.ids import beginning_of, decode, quoted
from treceval_py.errors import warn
from treceval_py.io.rows import read_blocks
from treceval_py.io.source import name_of, source_of

NORMS = Layout(("qid", "measure", "mean", "deviation"), "a norm")


def read_norms(source: Source | None = None, *, text: str | None = None) -> dict[tuple[str, str], tuple[float, float]]:
    """Read the mean and standard deviation of each query and measure.

    Parameters
    ----------
    source : str, path or binary file
        The file. Measures have their printed names (``P_5``).
    text : str, optional
        The text of the file, instead of a source.

    Returns
    -------
    dict
        ``{(qid, measure): (mean, deviation)}``, for `Results.standardise`.

    Raises
    ------
    InputError
        The file cannot be read, a line is malformed, a query has the same measure twice, a mean or deviation is
        infinite, or a deviation is negative.

    Warns
    -----
    TrecevalWarning
        A mean or deviation is NaN. Z-scores made with it are NaN.
    """
    given = source_of(source, text)
    norms: dict[tuple[str, str], tuple[float, float]] = {}
    undefined: list[tuple[int, bytes]] = []
    for block in read_blocks(given, NORMS):
        means, deviations = (block.numbers(at, NORMS.fields[at], nan=True).tolist() for at in (2, 3))
        for row, (qid, measure) in enumerate(zip(*block.columns[:2], strict=True)):
            key = decode(qid), decode(measure)
            if math.isinf(means[row]) or math.isinf(deviations[row]) or deviations[row] < 0:
                demand = "the mean must be finite, and the deviation finite and 0 or more"
                numbers = f"{beginning_of(block.columns[2][row])} and {beginning_of(block.columns[3][row])}"
                block.refuse(row, f"{demand}, not {numbers}", "Compute them again, from finite values.")
            if math.isnan(means[row]) or math.isnan(deviations[row]):
                undefined.append((block.lines[row], measure))
            if key in norms:
                problem = f"measure {quoted(measure)} of query {quoted(qid)} occurs twice"
                block.refuse(row, problem, "Keep one of the two lines.")
            norms[key] = means[row], deviations[row]
    if undefined:
        (line, measure), more = undefined[0], len(undefined) - 1
        others = f", and {more:,} more like it" if more else ""
        warn(
            f"{name_of(given)}:{line}: the mean or deviation of {beginning_of(measure)} is nan{others}; "
            "z-scores made with it are nan. Leave out such lines to get -1000000."
        )
    return norms
