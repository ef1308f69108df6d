"""Ties that contain judged documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from treceval_py._types import BoolArray, FloatArray, IntArray
from treceval_py.judging.judged import Hits, JudgedRun, Tied, nth_of
from treceval_py.measuring.facts import Promotes
from treceval_py.measuring.probes import parameter
from treceval_py.measuring.registry import Measure

MOST_CELLS = 1 << 20
"""Most numbers held in memory at once."""


class Groups(NamedTuple):
    """Ties that have judged documents, sorted by query and rank; a document alone is a tie of one.

    Attributes
    ----------
    query, first, last : (G,) int arrays
        The query, and the first and last rank of the tie.
    size : (G,) int array
        Number of documents, judged or not.
    of : (H,) int array
        The tie of each hit.
    """

    query: IntArray
    first: IntArray
    last: IntArray
    size: IntArray
    of: IntArray

    def tally(self, mask: BoolArray) -> IntArray:
        """Count the hits of a mask (H,) in each tie. Returns (G,)."""
        return np.bincount(self.of[mask], minlength=len(self.size)).astype(np.int64)

    def sum(self, values: FloatArray) -> FloatArray:
        """Add up values (H,) in each tie. Returns (G,)."""
        return np.bincount(self.of, weights=values, minlength=len(self.size)).astype(np.float64)

    def above(self, counts: IntArray) -> IntArray:
        """Add up the values of the ties of the same query above each tie (G,). Returns (G,)."""
        before = np.cumsum(counts) - counts
        above: IntArray = before - before[np.arange(1, len(before) + 1) - nth_of(self.query)]
        return above

    def inside(self, limit: int | IntArray) -> IntArray:
        """Count the ranks of each tie that are at most ``limit``. Returns (G,)."""
        return (limit - self.first + 1).clip(0, self.size)


def relevant_alone(measure: Measure) -> bool:
    """Return whether a measure looks at relevant documents alone, so that others need no row."""
    if measure.family.from_outside or measure.family.needs or parameter(measure, "judged_only"):
        return False
    if measure.family.promotes not in (Promotes.RELEVANCE, Promotes.GAIN, Promotes.BOTH):
        return False
    gains = parameter(measure, "gains") or {}
    return parameter(measure, "level", 1) >= 1 and not any(label <= 0 and gain for label, gain in gains.items())


def of_relevant(judged: JudgedRun) -> JudgedRun:
    """Return a judged run with rows of relevant documents alone; it is made once."""

    def make() -> JudgedRun:
        rows = judged.hits.rel > 0
        hits, ideal = judged.hits.where(rows), judged.ideal.where(judged.ideal.rel > 0)
        tied = None if judged.tied is None else judged.tied.where(rows)
        return JudgedRun(judged.qids, hits, ideal, judged.num_ret, judged.tag, tied)

    return judged.once("relevant", make)


def groups_of(hits: Hits, tied: Tied) -> Groups:
    """Find the ties of judged documents.

    Parameters
    ----------
    hits : Hits
        The judged documents, sorted by query and rank.
    tied : Tied
        First and last rank that each can have.
    """
    new = np.ones(len(hits.query), dtype=bool)
    new[1:] = (hits.query[1:] != hits.query[:-1]) | (tied.first[1:] != tied.first[:-1])
    first, last = tied.first[new], tied.last[new]
    return Groups(hits.query[new], first, last, last - first + 1, np.cumsum(new) - 1)


def portions(widths: IntArray) -> Iterator[IntArray]:
    """Divide rows into portions of similar width that fit in memory as rectangles.

    Parameters
    ----------
    widths : (N,) int array
        Number of entries in each row.

    Yields
    ------
    (M,) int array
        Rows.
    """
    order = np.argsort(widths, kind="stable")
    ordered = widths[order]
    start = 0
    while start < len(order):
        near = int(np.searchsorted(ordered, 2 * int(ordered[start]) + 8, side="right"))
        most = max(MOST_CELLS // (int(ordered[near - 1]) + 1), 1)
        stop = min(near, start + most)
        yield order[start:stop]
        start = stop


def rectangle(rows: IntArray, of: IntArray, at: IntArray, width: int, entries: FloatArray | None = None) -> FloatArray:
    """Lay out the entries of some rows side by side; 0 where there is none.

    Parameters
    ----------
    rows : (M,) int array
        The rows, at least one.
    of, at : (N,) int arrays
        The row of each entry, and its column from 0. Entries of other rows are left out.
    width : int
        The number of columns.
    entries : (N,) float array, optional
        The entries. Default: 1 each.

    Returns
    -------
    (M, width) float array
        The entries of each row, in its line.
    """
    line = np.full(max(int(rows.max()), int(of.max(initial=0))) + 1, -1)
    line[rows] = np.arange(len(rows))
    mine = line[of] >= 0
    cells = np.zeros((len(rows), width))
    cells[line[of[mine]], at[mine]] = 1.0 if entries is None else entries[mine]
    return cells
