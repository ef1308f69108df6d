"""How much values depend on the order of documents with equal scores.

The documents of a tie may be in any order. Two orders give the lowest and the highest value: the documents of each tie
in ascending and in descending order of the property that the measure promotes. Both rankings are made for all queries
at once, and the measure itself is computed on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from treceval_py._types import BoolArray, FloatArray, IntArray
from treceval_py.data.ranking import limit_of
from treceval_py.errors import EvaluationError, MeasureError, brief
from treceval_py.judging.judged import Hits, JudgedRun, Tied, nth_of
from treceval_py.measuring.facts import Promotes
from treceval_py.measuring.gains import gain_of
from treceval_py.measuring.probes import parameter, values
from treceval_py.measuring.registry import Measure
from treceval_py.ranges.expected import expected_values
from treceval_py.ranges.groups import groups_of, of_relevant, relevant_alone

ROUNDING = 1e-12
"""Values with a smaller relative difference are considered equal; their sums were added in another order."""


class TieRange(NamedTuple):
    """Lowest, expected and highest value over all orders of documents with equal scores.

    Attributes
    ----------
    measure : Measure
        The measure.
    lowest, expected, highest : (Q,) float arrays
        The lowest, the average and the highest value of each query. The average is NaN if unknown.
    lowest_mean, expected_mean, highest_mean : float
        Their averages by the measure's own rule: a sum for counts, a geometric mean for ``gm_map``.
    touched : (Q,) bool array
        Whether the order of ties changes the query's value.
    """

    measure: Measure
    lowest: FloatArray
    expected: FloatArray
    highest: FloatArray
    lowest_mean: float
    expected_mean: float
    highest_mean: float
    touched: BoolArray

    def __repr__(self) -> str:
        means = f"{self.lowest_mean:.4f} to {self.highest_mean:.4f}, expected {self.expected_mean:.4f}"
        return f"<TieRange of {brief(self.measure.name)}: {means}; {self.num_touched} queries touched>"

    @property
    def num_touched(self) -> int:
        """Number of queries whose value depends on the order of ties."""
        return int(self.touched.sum())


class TiedDocuments(NamedTuple):
    """Counts of documents that share a score with others, at least one of them judged.

    Attributes
    ----------
    tied : (Q,) int array
        Number of tied documents retrieved per query.
    num_ret : (Q,) int array
        Number of documents retrieved per query.
    """

    tied: IntArray
    num_ret: IntArray

    @property
    def num_queries(self) -> int:
        """Number of queries with such documents."""
        return int((self.tied > 0).sum())

    @property
    def share(self) -> float:
        """The share of these documents among all documents retrieved; 0 if nothing was retrieved."""
        return float(self.tied.sum() / max(int(self.num_ret.sum()), 1))


def tied_documents(judged: JudgedRun) -> TiedDocuments:
    """Count the documents that share a score with others, at least one of them judged.

    Ties among unjudged documents alone change no value and are not counted.

    Parameters
    ----------
    judged : JudgedRun
        Judged with ``tied=True``.

    Returns
    -------
    TiedDocuments
        The numbers of documents.

    Raises
    ------
    EvaluationError
        It was judged without ``tied=True``.

    Examples
    --------
    >>> from treceval_py import Qrels
    >>> from treceval_py.judging import judge
    >>> run = Run({"1": {"a": 1.0, "b": 1.0, "c": 0.5, "d": 0.0, "e": 0.0}})
    >>> tied_documents(judge(Qrels({"1": {"a": 1, "c": 1}}), run, tied=True)).share
    0.4
    """
    tied = _tied_of(judged)
    rated = judged.hits.rel >= 0
    groups = groups_of(judged.hits.where(rated), tied.where(rated))
    several = groups.size > 1
    sizes = np.bincount(groups.query[several], weights=groups.size[several], minlength=judged.num_queries)
    return TiedDocuments(sizes.astype(np.int64), judged.num_ret)


def tie_ranges(judged: JudgedRun, measures: Sequence[Measure], depth: int | None = None) -> list[TieRange]:
    """Compute the ranges of measures over all orders of documents with equal scores.

    Lowest and highest values are exact. So is the average over all orders, which count as equally likely. Most measures
    have a closed form; for others all distinct orders are tried if there are few, and the average is NaN if there are
    many.

    Parameters
    ----------
    judged : JudgedRun
        Judged with ``tied=True`` and without ``depth``.
    measures : sequence of Measure
        Measures with values for all their parameters.
    depth : int, optional
        Number of documents of each query that count. If a tie straddles this depth, the order decides which of its
        documents count.

    Returns
    -------
    list of TieRange
        One for each measure.

    Raises
    ------
    EvaluationError
        The run was judged without ``tied=True``.
    MeasureError
        A measure does not support these ranges.
    DataError
        `depth` is below 0.

    References
    ----------
    McSherry, F., Najork, M. Computing Information Retrieval Performance Measures Efficiently in the Presence of Tied
    Scores. ECIR 2008. Cabanac, G., Hubert, G., Boughanem, M., Chrisment, C. Tie-Breaking Bias: Effect of an
    Uncontrolled Parameter on Information Retrieval Evaluation. CLEF 2010.

    Examples
    --------
    One of three documents with the same score is relevant: its rank is 1, 2 or 3.

    >>> from treceval_py import Qrels
    >>> from treceval_py.judging import judge
    >>> from treceval_py.measuring import parse_measures
    >>> judged = judge(Qrels({"1": {"b": 1}}), Run({"1": {"a": 1.0, "b": 1.0, "c": 1.0}}), tied=True)
    >>> found, = tie_ranges(judged, parse_measures("recip_rank"))
    >>> [round(float(values[0]), 4) for values in (found.lowest, found.expected, found.highest)]
    [0.3333, 0.6111, 1.0]
    """
    _tied_of(judged)
    limit = limit_of(depth)
    return [_range(judged, measure, None if depth is None else limit) for measure in measures]


def _tied_of(judged: JudgedRun) -> Tied:
    if judged.tied is not None:
        return judged.tied
    if len(judged.hits.query):
        raise EvaluationError("the judged run has no information about ties", "Judge it with tied=True.")
    return Tied(judged.hits.rank, judged.hits.rank)


def _range(judged: JudgedRun, measure: Measure, depth: int | None) -> TieRange:
    _check(measure, depth)
    if parameter(measure, "norm") == "retrieved" and (depth is not None or parameter(measure, "cutoff")):
        lowest, highest = _extremes_of_shares(judged, measure, depth)
    else:
        seen = of_relevant(judged) if relevant_alone(measure) else judged
        key = promoted(seen.hits.rel, measure)
        down, up = (values(measure, _arranged_once(seen, order, depth)) for order in (key, -key))
        lowest, highest = np.minimum(down, up), np.maximum(down, up)
    touched = highest - lowest > ROUNDING * np.maximum(np.abs(lowest), np.abs(highest))
    expected = lowest.copy()
    if touched.any():
        key = promoted(judged.hits.rel, measure)
        means = expected_values(judged.select(touched), measure, key[touched[judged.hits.query]], depth)
        # A sum added in another order may be beyond the extremes by a rounding error; NaN stays.
        expected[touched] = np.clip(means, lowest[touched], highest[touched])
    average, count = measure.family.average, judged.num_queries
    low, middle, high = (average(column, count) for column in (lowest, expected, highest))
    return TieRange(measure, lowest, expected, highest, low, middle, high, touched)


def _check(measure: Measure, depth: int | None) -> None:
    """Check that the measure supports ranges."""
    family, unsupported, todo = measure.family, "--ties does not support {}", ""
    if family.promotes is Promotes.UNKNOWN:
        unsupported += ", which counts tied documents alike whatever their order" if family.needs == "tied" else ""
        todo = family.or_declare("Choose another measure, such as AP, P@10, RR or nDCG@10.")
    elif parameter(measure, "stop") == "label":
        unsupported, todo = f"{unsupported}, as judgments above 1 are not probabilities", "Use stop=grade."
    elif parameter(measure, "steps") == "together":
        unsupported = "{} treats tied documents as one step, so their order has no effect"
        todo = "Use AP to see the effect of ties."
    elif depth is not None and parameter(measure, "ideal") == "retrieved":
        unsupported, todo = f"{unsupported} at a depth", "Remove the depth, or use ideal=judged."
    if todo:
        raise MeasureError(unsupported.format(measure.name), todo)


def promoted(rel: IntArray, measure: Measure) -> FloatArray:
    """Return the amount of each document in the property that a measure promotes; unjudged documents have 0.

    Parameters
    ----------
    rel : (H,) int array
        Their judgments.
    measure : Measure
        A measure whose family declares what it promotes.
    """
    kind = measure.family.promotes
    level = max(int(parameter(measure, "level", 1)), 0)
    if kind in (Promotes.NOTHING, Promotes.LABEL):
        return np.full(len(rel), 1.0 if kind is Promotes.LABEL else 0.0)
    if kind is Promotes.JUDGMENT:
        return (rel >= (0 if parameter(measure, "negative", "unjudged") == "unjudged" else rel)).astype(np.float64)
    if kind in (Promotes.GAIN, Promotes.BOTH):
        gain = gain_of(rel, parameter(measure, "gains"), parameter(measure, "gain", "linear"))
        return gain if kind is Promotes.GAIN else np.where(rel >= max(level, 1), 1.0 + gain, 0.0)
    relevant = (rel >= level).astype(np.float64)
    if kind is not Promotes.PREFERENCE:
        return relevant
    least = -np.inf if parameter(measure, "negative") == "nonrelevant" else 0
    return relevant - ((rel >= least) & (rel < level))


def arranged_by(judged: JudgedRun, key: FloatArray, depth: int | None = None) -> JudgedRun:
    """Order the documents of each tie by a descending key, and cut the ranking.

    Parameters
    ----------
    judged : JudgedRun
        The run, with ties.
    key : (H,) float array
        The key of each hit. Documents without a row have 0.
    depth : int, optional
        Number of documents of each query that count.
    """
    first, last = tied = _tied_of(judged)
    groups = judged.once("groups", lambda: groups_of(judged.hits, tied))
    rows = np.arange(len(key))
    starts = np.searchsorted(groups.of, np.arange(len(groups.size) + 1))
    # A tie is within one query, and its rows are adjacent; a single row stays where it is.
    some = np.flatnonzero((np.diff(starts) > 1)[groups.of])
    order = rows.copy()
    order[some] = some[np.lexsort((-key[some], groups.of[some]))]
    # Documents worse than unjudged ones are below them, at the end of the tie.
    below = key[order] < 0
    rank = np.where(below, last - (starts[groups.of + 1] - 1 - rows), first + rows - starts[groups.of])
    return _cut(judged, judged.hits._replace(rank=rank, rel=judged.hits.rel[order]), tied, depth)


def _arranged_once(judged: JudgedRun, key: FloatArray, depth: int | None) -> JudgedRun:
    """Order the documents of each tie as `arranged_by`, once for all measures that promote the same property."""
    return judged.once(("arranged", key.tobytes(), depth), lambda: arranged_by(judged, key, depth))


def _cut(judged: JudgedRun, hits: Hits, tied: Tied, depth: int | None) -> JudgedRun:
    num_ret = judged.num_ret
    if depth is not None:
        within = hits.rank <= depth
        hits, tied, num_ret = hits.where(within), tied.where(within), np.minimum(num_ret, depth)
    return JudgedRun(judged.qids, hits, judged.ideal, num_ret, judged.tag, tied)


def _extremes_of_shares(judged: JudgedRun, measure: Measure, depth: int | None) -> tuple[FloatArray, FloatArray]:
    """Return the extremes of AP divided by the number of relevant documents found, which depends on the order.

    One tie straddles the last rank that counts. For any number of its relevant documents that count, the best order has
    them first, and the worst order has them last.
    """
    last_rank = min(end for end in (depth, parameter(measure, "cutoff")) if end is not None)
    relevant = promoted(judged.hits.rel, measure) > 0
    hits, tied = judged.hits.where(relevant), _tied_of(judged).where(relevant)
    judged = JudgedRun(judged.qids, hits, judged.ideal, judged.num_ret, judged.tag, tied)
    rows = np.flatnonzero((tied.first <= last_rank) & (tied.last > last_rank))
    query, first = hits.query[rows], tied.first[rows]
    nth = nth_of(query) - 1
    count = judged.count(query)
    outside, inside = np.zeros_like(count), np.zeros_like(count)
    outside[query], inside[query] = tied.last[rows] - last_rank, last_rank - first + 1
    fewest, most = np.maximum(count - outside, 0), np.minimum(count, inside)
    lowest, highest = np.full(len(count), np.inf), np.full(len(count), -np.inf)
    for number in range(int(fewest.min(initial=0)), int(most.max(initial=0)) + 1):
        come_in = np.clip(number, fewest, most)[query]
        for best, top in ((1.0, first), (-1.0, last_rank - come_in + 1)):
            arranged = arranged_by(judged, np.full(len(hits.query), best))
            rank = arranged.hits.rank.copy()
            rank[rows] = np.where(nth < come_in, top + nth, last_rank + 1 + nth - come_in)
            shares = values(measure, _cut(judged, arranged.hits._replace(rank=rank), tied, depth))
            lowest, highest = np.minimum(lowest, shares), np.maximum(highest, shares)
    return lowest, highest
