"""Norms for z-scores: trec_eval's ``-Z`` file, lines of ``qid measure mean deviation``."""

from __future__ import annotations

from treceval_py._types import Source
from treceval_py.data.ids import decode, quoted
from treceval_py.errors import InputError
from treceval_py.io.lines import Layout, read_blocks
from treceval_py.io.source import name_of, source_of

__all__ = ["read_norms"]

NORMS = Layout(("qid", "measure", "mean", "deviation"), "a norm")


def read_norms(source: Source | None = None, *, text: str | None = None) -> dict[tuple[str, str], tuple[float, float]]:
    """Read the mean and standard deviation of each query and measure.

    Parameters
    ----------
    source : str, path or binary file
        The file; a measure is named as it is printed (``P_5``).
    text : str, optional
        The text of the file, instead of one.

    Returns
    -------
    dict
        ``{(qid, measure): (mean, deviation)}``, for `Results.standardise`.

    Raises
    ------
    InputError
        The file cannot be read, a line is malformed, or a query and measure occur twice.
    """
    given = source_of(source, text)
    norms: dict[tuple[str, str], tuple[float, float]] = {}
    for block in read_blocks(given, NORMS):
        means, deviations = block.numbers(2, "mean").tolist(), block.numbers(3, "deviation").tolist()
        for row, (qid, measure) in enumerate(zip(*block.columns[:2], strict=True)):
            key = decode(qid), decode(measure)
            if key in norms:
                raise InputError(
                    f"measure {quoted(measure)} of query {quoted(qid)} occurs twice",
                    "Keep one of the two lines.",
                    file=name_of(given),
                    line=block.lines[row],
                )
            norms[key] = means[row], deviations[row]
    return norms
