"""The average of a measure over all orders of documents with equal scores.

If a measure is a sum of independent contributions, each document counts with the average weight of the ranks of its
tie. If documents affect each other (AP, RR, ERR, bpref, …), the probability of each order is that of drawing without
replacement. For other measures all distinct orders are tried if there are few.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from treceval_py._types import BoolArray, FloatArray, IntArray
from treceval_py.judging.judged import Hits, JudgedRun, Tied, nth_of, ratio
from treceval_py.measuring.cascade import stopping
from treceval_py.measuring.facts import Sums
from treceval_py.measuring.gains import gain_of
from treceval_py.measuring.probes import parameter, rank_weights, shares, values, with_fixed_ideal
from treceval_py.measuring.registry import Measure
from treceval_py.ranges.groups import MOST_CELLS, Groups, groups_of, portions, rectangle

MOST_ORDERS = 1000
"""Most distinct orders of a query that are tried."""


class _Case(NamedTuple):
    """Input of an expectation.

    Attributes
    ----------
    judged : JudgedRun
        The run, with ties.
    measure : Measure
        The measure.
    key : (H,) float array
        The amount of each hit in the property that the measure promotes.
    depth : int or None
        Number of documents of each query that count.
    num_ret : (Q,) int array
        Number of documents of each query, up to the depth.
    hits, tied, groups : Hits, Tied, Groups
        The judged documents, and their ties.
    level : int
        The measure's level.
    deepest, limit : int
        The last rank that counts, by depth, and by cutoff too; at most the last rank of a hit.
    """

    judged: JudgedRun
    measure: Measure
    key: FloatArray
    depth: int | None
    num_ret: IntArray
    hits: Hits
    tied: Tied
    groups: Groups
    level: int
    deepest: int
    limit: int

    def alone(self, rel: int | None) -> FloatArray:
        """Return the value of each query with one document of that judgment, at rank 1. (Q,)."""
        query = np.flatnonzero((self.num_ret > 0) & (rel is not None))
        ones = np.ones(len(query), dtype=np.int64)
        hits, tied = Hits(query, ones, ones * (rel or 0)), Tied(ones, ones)
        return values(self.measure, JudgedRun(self.judged.qids, hits, self.judged.ideal, self.num_ret, "", tied))

    def from_top(self, count: FloatArray, top: int) -> FloatArray:
        """Scale sums, in which a top document at rank 1 counts 1, to values. (Q,)."""
        none = self.alone(None)
        return none + (self.alone(top) - none) * count


def expected_values(judged: JudgedRun, measure: Measure, key: FloatArray, depth: int | None) -> FloatArray:
    """Average a measure over all orders of documents with equal scores.

    Parameters
    ----------
    judged : JudgedRun
        The run, with ties.
    measure : Measure
        A measure that depends only on the keys and ranks of documents.
    key : (H,) float array
        The key of each hit; unjudged documents have 0.
    depth : int, optional
        How many documents of each query count.

    Returns
    -------
    (Q,) float array
        NaN if there is no closed form and there are more than `MOST_ORDERS` orders.
    """
    hits, num_ret = judged.hits, judged.num_ret
    tied = judged.tied or Tied(hits.rank, hits.rank)
    deepest = int(tied.last.max(initial=0))
    if depth is not None:
        deepest, num_ret = min(deepest, depth), np.minimum(num_ret, depth)
    limit = min(deepest, parameter(measure, "cutoff") or deepest)
    level = max(int(parameter(measure, "level", 1)), 0)
    case = _Case(judged, measure, key, depth, num_ret, hits, tied, groups_of(hits, tied), level, deepest, limit)
    mean = _CLOSED.get(measure.family.sums, _over_all_orders)(case)
    return _over_all_orders(case) if mean is None else mean


# Sums of independent contributions ------------------------------------------------------------------


def _additive(case: _Case) -> FloatArray | None:
    judged, hits, (first, last), deepest = case.judged, case.hits, case.tied, case.deepest
    if parameter(case.measure, "ideal") == "retrieved":  # as the ideal of all judged documents, it stays fixed
        ideal = Hits(hits.query, nth_of(hits.query), hits.rel[np.lexsort((-hits.rel, hits.query))])
        judged = JudgedRun(judged.qids, hits, ideal, judged.num_ret, judged.tag, judged.tied)
        case = case._replace(judged=judged, measure=with_fixed_ideal(case.measure))
    worth = shares(case.measure, hits.rel, deepest)
    summed = np.concatenate([[0.0], np.cumsum(rank_weights(case.measure, worth, deepest))])
    # The average weight of the ranks that a hit can have; ranks beyond the deepest weigh 0.
    mean = (summed[np.minimum(last, deepest)] - summed[np.minimum(first - 1, deepest)]) / (last - first + 1)
    return case.from_top(judged.sum(hits.query, mean * worth.of(hits.rel)), worth.top)


def _within(case: _Case) -> FloatArray | None:
    """Return the average of a measure that counts the documents above a rank that depends on the query."""
    worth = shares(case.measure, case.hits.rel)
    limit = np.rint(ratio(np.ones(case.judged.num_queries), case.alone(worth.top))).astype(np.int64)
    limit, groups = np.minimum(limit, case.deepest), case.groups
    mean = (groups.inside(limit[groups.query]) / groups.size)[groups.of]
    return case.from_top(case.judged.sum(case.hits.query, mean * worth.of(case.hits.rel)), worth.top)


def _residual(case: _Case) -> FloatArray | None:
    """Return the average of trec_eval's residual, which is not a sum if all documents within the depth are judged."""
    return _additive(case) if case.depth is None else None


def _squared(case: _Case) -> FloatArray | None:
    """Return the average of a measure that squares the number of relevant documents above the depth."""
    groups = case.groups
    inside, share = groups.inside(case.limit), groups.tally(case.key > 0) / groups.size
    sure, spread = inside * share, inside * share * (1 - share) * (groups.size - inside)
    total = case.judged.sum(groups.query, sure)
    variance = case.judged.sum(groups.query, spread / np.maximum(groups.size - 1, 1))
    return case.from_top(total * total + variance, case.level)


# Average precision and related measures -------------------------------------------------------------


def _places(groups: Groups, some: BoolArray, limit: int) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """Yield the ranks of some ties (G,) up to ``limit``, as many at once as fit in memory.

    Yields
    ------
    of, place, rank : (N,) int arrays
        The tie, the position in it from 1, and the rank.
    """
    inside = np.where(some, groups.inside(limit), 0)
    ends = np.cumsum(inside)
    start = 0
    while start < len(inside):
        begun = int(ends[start] - inside[start])
        stop = max(int(np.searchsorted(ends, begun + MOST_CELLS)), start + 1)
        of = np.repeat(np.arange(start, stop), inside[start:stop])
        place = np.arange(len(of)) - (ends - inside)[of] + begun + 1
        yield of, place, groups.first[of] + place - 1
        start = stop


def _sum_of_precisions(case: _Case, relevant: BoolArray) -> FloatArray:
    """Return the average of the sum of precisions at relevant documents (H,). Returns (Q,)."""
    groups = case.groups
    number = groups.tally(relevant)
    above = groups.above(number)
    total = np.zeros(case.judged.num_queries)
    for of, place, rank in _places(groups, number > 0, case.limit):
        here, size = number[of], groups.size[of]
        # A relevant document has this rank; of the others, a proportional share is above it.
        nth = above[of] + 1 + (place - 1) * (here - 1) / np.maximum(size - 1, 1)
        total += case.judged.sum(groups.query[of], here / size * nth / rank)
    return total


def _average_precision(case: _Case) -> FloatArray | None:
    total = _sum_of_precisions(case, case.key > 0)
    if parameter(case.measure, "norm") != "retrieved":
        return case.from_top(total, case.level)
    if case.depth is not None or parameter(case.measure, "cutoff"):
        return None
    return ratio(total, case.judged.num_rel_ret(case.level))


def _graded_average_precision(case: _Case) -> FloatArray | None:
    worth = shares(case.measure, case.hits.rel)
    rises = np.diff(worth.of(worth.labels), prepend=0.0)
    total = np.zeros(case.judged.num_queries)
    for label, more in zip(worth.labels.tolist(), rises.tolist(), strict=True):
        if more > 0:
            total += more * _sum_of_precisions(case, case.hits.rel >= label)
    return case.from_top(total, worth.top)


def _q_measure(case: _Case) -> FloatArray | None:
    judged, groups, level = case.judged, case.groups, max(case.level, 1)
    beta, gains = float(parameter(case.measure, "beta")), parameter(case.measure, "gains")
    relevant = case.hits.rel >= level
    number = groups.tally(relevant)
    gained = groups.sum(np.where(relevant, gain_of(case.hits.rel, gains), 0.0))
    above = groups.above(number) + beta * _joined_above(groups, gained, operator.add, 0.0)
    best = judged.ideal.where(judged.ideal.rel >= level)
    best_gain = gain_of(best.rel, gains)
    best_gain = best_gain[np.lexsort((-best_gain, best.query))]
    running = np.cumsum(best_gain)
    starts, lengths = judged.starts(best)[:-1], judged.count(best.query)
    total = np.zeros(judged.num_queries)
    for of, place, rank in _places(groups, number > 0, case.limit):
        query, here = groups.query[of], number[of]
        begin = starts[query]
        possible = running[begin + np.minimum(rank, lengths[query]) - 1] - running[begin] + best_gain[begin]
        own = here * (above[of] + 1) + beta * gained[of]
        others = (here - 1) * (here + beta * gained[of])
        others = others * (place - 1) / np.maximum(groups.size[of] - 1, 1)
        total += judged.sum(query, (own + others) / groups.size[of] / (rank + beta * possible))
    return ratio(total, lengths)


def _joined_above(groups: Groups, parts: FloatArray, join: Callable[[float, float], float], start: float) -> FloatArray:
    """Join the values of the ties of the same query above each tie (G,), one after the other. Returns (G,)."""
    joined = np.full(len(parts), start)
    for row in np.flatnonzero(groups.query[1:] == groups.query[:-1]).tolist():
        joined[row + 1] = join(joined[row], parts[row])
    return joined


# The first relevant document ------------------------------------------------------------------------


def _first_relevant(case: _Case, *, rank: bool) -> FloatArray | None:
    """Return the average of reciprocal rank, or of success.

    If the first tie with relevant documents is wholly above the last rank, success is certain.
    """
    groups = case.groups
    number, inside = groups.tally(case.key > 0), groups.inside(case.limit)
    first = np.flatnonzero((number > 0) & (groups.above(number) == 0) & (inside > 0))
    total = np.zeros(case.judged.num_queries)
    for portion in portions(inside[first]):
        rows = first[portion]
        place = np.arange(1, int(inside[rows].max()) + 1)
        here, left = number[rows][:, None], groups.size[rows][:, None] - place + 1
        # The probability of no relevant document among the first 0, 1, … of a tie.
        passed = np.cumprod(np.maximum(left - here, 0) / np.maximum(left, 1), axis=1)
        none = np.concatenate([np.ones((len(rows), 1)), passed], axis=1)
        if rank:
            chance = none[:, :-1] * here / np.maximum(left, 1)
            chance[place > inside[rows][:, None]] = 0.0
            total[groups.query[rows]] = (chance / (groups.first[rows][:, None] + place - 1)).sum(axis=1)
        else:
            total[groups.query[rows]] = 1.0 - none[np.arange(len(rows)), inside[rows]]
    return total


# A user who stops when satisfied --------------------------------------------------------------------


def _expected_reciprocal_rank(case: _Case) -> FloatArray | None:
    """Return the average of ERR or nERR.

    In a tie, the probability of passing j documents is the product of (1 - p), averaged over all choices of j
    documents: the j-th elementary symmetric polynomial divided by the number of choices, built up document by document.
    """
    stops = stopping(case.hits.rel, parameter(case.measure, "max_rel"))
    groups, inside = case.groups, case.groups.inside(case.limit)
    through = np.ones(len(groups.size))
    np.multiply.at(through, groups.of, 1.0 - stops)
    reached = _joined_above(groups, through, operator.mul, 1.0)
    counted = stops > 0
    number = groups.tally(counted)
    by_group = groups.of[counted]
    total = np.zeros(case.judged.num_queries)
    rows = np.flatnonzero((number > 0) & (inside > 0))
    for portion in portions(np.maximum(inside, number)[rows]):
        some = np.sort(rows[portion])
        q = 1.0 - rectangle(some, by_group, nth_of(by_group) - 1, int(number[some].max()), stops[counted])
        passed = _symmetric_means(q, number[some], groups.size[some], int(inside[some].max()))
        place = np.arange(1, passed.shape[1])
        stopped = (passed[:, :-1] - passed[:, 1:]) / (groups.first[some][:, None] + place - 1)
        stopped[place > inside[some][:, None]] = 0.0
        total += case.judged.sum(groups.query[some], stopped.sum(axis=1) * reached[some])
    top = stops.max(initial=0.0)
    return case.from_top(total / top, int(case.hits.rel.max())) if top > 0 else total


def _symmetric_means(q: FloatArray, number: IntArray, size: IntArray, most: int) -> FloatArray:
    """Return the product of j of the q, averaged over all choices of j, for j = 0..most.

    Parameters
    ----------
    q : (G, N) float array
        The q of the first ``number`` (G,) documents of each tie; those of the others, up to ``size`` (G,), are 1.
    number, size : (G,) int arrays
        Number of documents with a q, and number of all documents of the tie.
    most : int
        Largest j.

    Returns
    -------
    (G, most + 1) float array
        Entries beyond a tie's size have no meaning.
    """
    j = np.arange(most + 1)
    means = np.ones((len(q), most + 1))
    for column in range(q.shape[1]):
        more = np.flatnonzero(column < number)
        count = (size[more] - number[more] + column + 1)[:, None]
        # Of all choices of j out of count documents, j/count contain the new one. There is no subtraction, so it is
        # stable.
        chance = np.minimum(j / count, 1.0)
        old = means[more]
        means[more] = (1.0 - chance) * old
        means[more, 1:] += chance[:, 1:] * q[more, column][:, None] * old[:, :-1]
    return means


# Pairs of documents ---------------------------------------------------------------------------------


def _binary_preference(case: _Case) -> FloatArray | None:
    judged, groups = case.judged, case.groups
    relevant, nonrelevant = judged.num_rel(case.level), judged.num_nonrel(case.level)
    if parameter(case.measure, "negative") == "nonrelevant":
        nonrelevant = judged.count(judged.ideal.query) - relevant
    most, enough = np.minimum(relevant, nonrelevant)[groups.query], relevant[groups.query]

    def credit(row: int, above: IntArray) -> FloatArray:
        return 1.0 - np.minimum(above, enough[row]) / most[row] if most[row] else np.ones(len(above))

    others = groups.tally(case.key < 0)
    return ratio(_over_others(case, others, groups.above(others), credit), relevant)


def _binary_g(case: _Case) -> FloatArray | None:
    groups = case.groups
    logs = np.array([math.log2(2 + above) for above in range(int(groups.last.max(initial=0)) + 1)])
    number = groups.tally(case.key > 0)
    # The ranks above a tie that relevant documents do not take up, including those of ties without a row.
    above = groups.first - 1 - groups.above(number)
    total = _over_others(case, groups.size - number, above, lambda _, above: 1.0 / logs[above])
    return ratio(total, case.judged.num_rel(case.level))


def _over_others(case: _Case, others: IntArray, above: IntArray, value: Callable[..., FloatArray]) -> FloatArray:
    """Sum, over relevant documents, the average of a value that depends on the number of others above. (Q,).

    Parameters
    ----------
    case : _Case
        The case.
    others, above : (G,) int arrays
        Number of others in each tie, and above it.
    value : callable
        Takes the row of a tie and numbers of others above a document; returns the value with each number.
    """
    groups = case.groups
    number, inside = groups.tally(case.key > 0), groups.inside(case.limit)
    total = np.zeros(case.judged.num_queries)
    for row in np.flatnonzero((number > 0) & (inside > 0)).tolist():
        here, size, within = int(others[row]), int(groups.size[row]), int(inside[row])
        chances = np.full(here + 1, 1 / (here + 1)) if within == size else _chances_above(size, here, within)
        worth = value(row, int(above[row]) + np.arange(here + 1))
        total[groups.query[row]] += number[row] * float(chances @ worth)
    return total


def _chances_above(size: int, others: int, inside: int) -> FloatArray:
    """Return the probabilities that a document is at one of the first ranks of its tie, with 0..others others above it.

    Parameters
    ----------
    size, others : int
        Number of documents in the tie, and number of others among them.
    inside : int
        Number of its ranks that count.

    Returns
    -------
    (others + 1,) float array
        The sum is inside / size.
    """
    number = np.arange(others + 1)
    drawn = np.where(number == 0, 1.0, 0.0)  # how many others are among the documents above
    total = drawn / size
    for above in range(1, inside):
        more = drawn * (others - number) / (size - above)
        drawn = drawn - more
        drawn[1:] += more[:-1]
        total += drawn / size
    return total


# All orders ------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def _placings(size: int, counts: tuple[int, ...]) -> IntArray:
    """Return all arrangements of documents of some kinds in a tie.

    Parameters
    ----------
    size : int
        Number of positions.
    counts : tuple of int
        Number of documents of each kind; the remaining positions stay empty.

    Returns
    -------
    (N, sum of counts) int array
        The positions of the documents, from 0, kind by kind.
    """
    orders: list[tuple[int, ...]] = [()]
    for count in counts:
        orders = [
            (*taken, *more)
            for taken in orders
            for more in itertools.combinations([place for place in range(size) if place not in taken], count)
        ]
    return np.array(orders, dtype=np.int64).reshape(len(orders), sum(counts))


def _over_all_orders(case: _Case) -> FloatArray:
    """Average over all distinct orders, query by query, if there are few."""
    means = np.full(case.judged.num_queries, np.nan)
    counted = case.key != 0
    rows = np.flatnonzero(counted)
    groups = groups_of(case.hits.where(counted), case.tied.where(counted))
    starts = np.searchsorted(groups.query, np.arange(case.judged.num_queries + 1))
    members = np.searchsorted(groups.of, np.arange(len(groups.size) + 1))
    for query in range(case.judged.num_queries):
        ranks, rels, orders = [], [], 1
        for group in range(starts[query], starts[query + 1]):
            here, size = rows[members[group] : members[group + 1]], int(groups.size[group])
            placings = case.hits.rank[here][None, :]
            if groups.first[group] <= case.limit:  # below it nobody looks, whatever the order
                here = here[np.argsort(case.key[here], kind="stable")]
                counts = tuple(np.unique(case.key[here], return_counts=True)[1].tolist())
                left = size - np.cumsum([0, *counts])
                orders *= math.prod(map(math.comb, left.tolist(), counts))
                if orders > MOST_ORDERS:
                    break
                placings = _placings(size, counts) + groups.first[group]
            ranks.append(placings)
            rels.append(case.hits.rel[here])
        if orders <= MOST_ORDERS:
            means[query] = _mean_over(case, query, ranks, rels, orders)
    return means


def _mean_over(case: _Case, query: int, ranks: list[IntArray], rels: list[IntArray], orders: int) -> float:
    """Average the measure over all combinations of the orders of a query's ties."""
    choices = np.unravel_index(np.arange(orders), [len(placings) for placings in ranks])
    rank = np.concatenate([placings[of] for placings, of in zip(ranks, choices, strict=True)], axis=1)
    order = np.argsort(rank, axis=1)
    rank, rel = np.take_along_axis(rank, order, axis=1), np.concatenate(rels)[order]
    hits = Hits(np.repeat(np.arange(orders), rank.shape[1]), rank.ravel(), rel.ravel())
    if case.depth is not None:
        hits = hits.where(hits.rank <= case.depth)
    start, stop = np.searchsorted(case.judged.ideal.query, [query, query + 1])
    best = case.judged.ideal.rel[start:stop]
    number, nth = np.divmod(np.arange(orders * len(best)), max(len(best), 1))
    ideal = Hits(number, nth + 1, np.tile(best, orders))
    lengths = np.full(orders, case.num_ret[query], dtype=np.int64)
    run = JudgedRun(("",) * orders, hits, ideal, lengths, "", Tied(hits.rank, hits.rank))
    return math.fsum(values(case.measure, run).tolist()) / orders


_CLOSED: dict[Sums | None, Callable[[_Case], FloatArray | None]] = {
    **dict.fromkeys([Sums.EACH, Sums.GAINS, Sums.GAINS_OF_IDEAL, Sums.POWERS], _additive),
    **dict.fromkeys([Sums.SHARE_OF_CUTOFF, Sums.SHARE_OF_RELEVANT, Sums.SHARE_OF_BEST], _additive),
    **dict.fromkeys([Sums.CASCADE, Sums.CASCADE_OF_IDEAL], _expected_reciprocal_rank),
    Sums.EACH_WITHIN: _within,
    Sums.EACH_UNCUT: _residual,
    Sums.SQUARE: _squared,
    Sums.PRECISIONS: _average_precision,
    Sums.GRADED_PRECISIONS: _graded_average_precision,
    Sums.BLENDED_RATIOS: _q_measure,
    Sums.FIRST: functools.partial(_first_relevant, rank=True),
    Sums.ANY: functools.partial(_first_relevant, rank=False),
    Sums.JUDGED_ABOVE: _binary_preference,
    Sums.OTHERS_ABOVE: _binary_g,
}
"""Computes the average of each kind of sum; a function returns None if these parameters have no closed form."""
