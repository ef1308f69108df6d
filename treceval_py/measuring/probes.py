"""How a measure values single documents, found by evaluating the measure, so that no formula is repeated here."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from treceval_py._types import FloatArray, IntArray
from treceval_py.judging.judged import Hits, JudgedRun, Tied
from treceval_py.measuring.registry import Measure

MOST_CELLS = 1 << 20
"""Number of judgments held at once."""


def given(measure: Measure) -> dict[str, Any]:
    """Return the values of a measure's parameters: as given, else the function's defaults."""
    return {**measure.family.defaults, **dict(measure.parameters)}


def parameter(measure: Measure, name: str, absent: Any = None) -> Any:
    """Return the value of a parameter: as given, else the function's default; ``absent`` if there is neither."""
    return given(measure).get(name, absent)


def with_fixed_ideal(measure: Measure) -> Measure:
    """Return the measure with the ideal of all judged documents, which does not depend on the retrieved documents."""
    if not measure.family.takes("ideal"):
        return measure
    return Measure(measure.family, tuple({**dict(measure.parameters), "ideal": "judged"}.items()))


def values(measure: Measure, judged: JudgedRun) -> FloatArray:
    """Compute a numeric measure. Returns (Q,)."""
    return np.asarray(measure(judged), dtype=np.float64)


def single(measure: Measure, rel: IntArray, rank: IntArray, judged: IntArray, num_ret: int) -> FloatArray:
    """Return the values of rankings that each contain one judged document.

    Parameters
    ----------
    measure : Measure
        The measure to compute.
    rel, rank : (N,) int arrays
        The document's judgment and rank; at rank 0 there is no document.
    judged : (J,) int array
        The judgments of the query, the same for all N.
    num_ret : int
        The number of documents retrieved.
    """
    count = len(rel)
    most = max(MOST_CELLS // (len(judged) + 1), 1)
    if count > most:
        parts = (slice(start, start + most) for start in range(0, count, most))
        return np.concatenate([single(measure, rel[part], rank[part], judged, num_ret) for part in parts])
    there = rank > 0
    query = np.arange(count)
    best = np.sort(judged)[::-1]
    ideal = Hits(np.repeat(query, len(best)), np.tile(np.arange(1, len(best) + 1), count), np.tile(best, count))
    hits = Hits(query[there], rank[there], rel[there])
    num = np.full(count, num_ret, dtype=np.int64)
    return values(measure, JudgedRun(("",) * count, hits, ideal, num, "", Tied(hits.rank, hits.rank)))


class Shares(NamedTuple):
    """The worth of labels to a measure that adds up one value per document.

    Attributes
    ----------
    labels : (L,) int array
        Judgments, ascending.
    worth : (L,) float array
        The amount that a document with each label adds at rank 1, up to a factor.
    """

    labels: IntArray
    worth: FloatArray

    @property
    def top(self) -> int:
        """The label with the largest effect, up or down."""
        return int(self.labels[np.argmax(np.abs(self.worth))])

    def of(self, rel: IntArray) -> FloatArray:
        """Return the worth of documents, relative to the top label (all 0 if no label has an effect)."""
        most = self.worth[np.argmax(np.abs(self.worth))]
        if most == 0:
            return np.zeros(len(rel))
        share: FloatArray = self.worth[np.searchsorted(self.labels, rel)] / most
        return share


def shares(measure: Measure, labels: IntArray, deepest: int = 1) -> Shares:
    """Find the worth of labels to a measure.

    Parameters
    ----------
    measure : Measure
        A measure that adds up one value per document.
    labels : (L,) int array
        The judgments.
    deepest : int
        The length of the longest ranking.
    """
    known = np.unique(labels) if len(labels) else np.zeros(1, dtype=np.int64)
    rel = np.append(known, 0)
    rank = np.append(np.ones(len(known), dtype=np.int64), 0)
    alone = single(measure, rel, rank, np.maximum(known, 0), deepest + 1)
    return Shares(known, alone[:-1] - alone[-1])


def rank_weights(measure: Measure, of: Shares, deepest: int) -> FloatArray:
    """Return the weights of ranks 1..deepest, relative to rank 1. Returns (deepest,)."""
    rank = np.arange(deepest + 1, dtype=np.int64)
    rel = np.full(deepest + 1, of.top, dtype=np.int64)
    alone = single(measure, rel, rank, np.maximum(of.labels, 0), deepest + 1)
    added = alone[1:] - alone[0]
    if deepest == 0 or added[0] == 0:
        return np.zeros(deepest)
    weights: FloatArray = added / added[0]
    return weights
