"""Reliability of the values of a run: the order of ties, unjudged documents, and missing queries."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from treceval_py._types import BoolArray, FloatArray
from treceval_py.data.ids import first_of
from treceval_py.errors import TrecevalError
from treceval_py.judging.judged import JudgedRun
from treceval_py.judging.locating import missing_queries
from treceval_py.ranges.ties import TieRange
from treceval_py.ranges.unjudged import UnjudgedRange
from treceval_py.scoring.planning import Task

if TYPE_CHECKING:
    from treceval_py.comparing.comparison import Comparison

FIRST = 10
"""Number of first ranks whose judged documents are counted: those with most weight in most measures."""


class Range(NamedTuple):
    """Range of the values of a run in a measure, over everything that is left open.

    Attributes
    ----------
    qids : tuple of str, length Q
        The queries.
    lowest, highest : (Q,) float arrays
        The lowest and the highest value of each query.
    touched : (Q,) bool array
        Whether these differ.
    """

    qids: tuple[str, ...]
    lowest: FloatArray
    highest: FloatArray
    touched: BoolArray

    def over(self, qids: Sequence[str]) -> tuple[float, float, int] | None:
        """Return the lowest and highest mean over some queries, and how many vary; None if a query is absent."""
        place = {qid: row for row, qid in enumerate(self.qids)}
        rows = [place[qid] for qid in qids if qid in place]
        if len(rows) < len(qids):
            return None
        return float(self.lowest[rows].mean()), float(self.highest[rows].mean()), int(self.touched[rows].sum())


def known_ranges(
    find: Callable[[Task], tuple[tuple[str, ...], TieRange | UnjudgedRange]], tasks: Mapping[str, Task]
) -> dict[str, Range]:
    """Return the ranges that a function finds, by measure; a measure or profile without such ranges has none."""
    ranges = {}
    for name, task in tasks.items():
        with suppress(TrecevalError):
            qids, ends = find(task)
            touched = ends.touched if isinstance(ends, TieRange) else ends.highest > ends.lowest
            ranges[name] = Range(qids, ends.lowest, ends.highest, touched)
    return ranges


def unjudged_shares(judged: JudgedRun, ranks: int) -> FloatArray:
    """Compute the share of unjudged documents at the first ranks: 1 - Judged@k.

    Parameters
    ----------
    judged : JudgedRun
        The run. A document with a negative judgment is not judged.
    ranks : int
        Number of first ranks examined; all ranks of a shorter list.

    Returns
    -------
    (Q,) float array
        In [0, 1]; NaN for a query for which nothing was retrieved.
    """
    hits = judged.hits
    there = np.minimum(judged.num_ret, ranks)
    count = judged.count(hits.query[(hits.rel >= 0) & (hits.rank <= ranks)])
    shares: FloatArray = np.where(there > 0, 1 - count / np.maximum(there, 1), np.nan)
    return shares


def notes_of(comparison: Comparison, judged: Sequence[str], runs: Sequence[Collection[str]]) -> list[str]:
    """Return notes for readers on missing queries, one or two sentences each.

    Parameters
    ----------
    comparison : Comparison
        The comparison.
    judged : sequence of str
        The judged queries.
    runs : sequence of iterable of str, length S
        The queries of each run, in the order of the comparison.
    """
    by_text: dict[str, list[str]] = {}
    for name, qids in zip(comparison.runs, runs, strict=True):
        missing = missing_queries(judged, tuple(qids))
        if missing:
            by_text.setdefault(_about_missing(missing, len(judged), comparison), []).append(name)
    return [f"{_named(names)}: {text}" for text, names in by_text.items()]


def _named(names: Sequence[str]) -> str:
    more = len(names) - 5
    return ", ".join(names[:5]) + (f" and {more} more run{'s' * (more > 1)}" if more > 0 else "")


def _about_missing(missing: Sequence[str], judged: int, comparison: Comparison) -> str:
    one = len(missing) == 1
    lacks = f"{len(missing)} of {judged} judged {'query' if judged == 1 else 'queries'} "
    lacks += f"{'is' if one else 'are'} missing ({first_of(missing)})"
    counted: dict[int, list[str]] = {}
    for measure in comparison.measures:
        counted.setdefault(len(set(missing).intersection(measure.qids)), []).append(measure.measure)
    if list(counted) == [0]:
        return f"{lacks} and left out for all runs."
    if list(counted) == [len(missing)]:
        return f"{lacks} and {'counts' if one else 'count'} as if nothing had been retrieved."
    parts = [f"{count or 'none'} for {', '.join(measures)}" for count, measures in counted.items()]
    return f"{lacks}. As if nothing had been retrieved count {'; '.join(parts)}; others are left out for all runs."


def about_left_out(comparison: Comparison) -> Iterator[str]:
    """Return notes on queries that some runs lack, if the runs are unknown."""
    by_queries: dict[tuple[str, ...], list[str]] = {}
    for measure in comparison.measures:
        if measure.left_out:
            by_queries.setdefault(measure.left_out, []).append(measure.measure)
    for left_out, measures in by_queries.items():
        one = len(left_out) == 1
        are = "1 query is" if one else f"{len(left_out)} queries are"
        where = "" if len(measures) == len(comparison.measures) else f" of {', '.join(measures)}"
        yield f"{are} left out{where}, as some runs lack {'it' if one else 'them'} ({first_of(left_out)})."
