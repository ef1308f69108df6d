"""The average of a measure over all orders of documents with equal scores.

If a measure is a sum of independent contributions, each document counts with the average weight of the ranks of its
tie. If documents affect each other (AP, RR, ERR, bpref, …), the probability of each order is that of drawing without
replacement. For other measures all distinct orders are tried if there are few.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from treceval_py._types import BoolArray, FloatArray, IntArray
from treceval_py.judging.judged import Hits, JudgedRun, Tied, ratio
from treceval_py.measures.cascade import stopping
from treceval_py.measures.facts import Sums
from treceval_py.measures.gains import gain_of
from treceval_py.measures.probes import parameter, rank_weights, shares, values, with_fixed_ideal
from treceval_py.measures.registry import Measure
from treceval_py.ranges.groups import MOST_CELLS, Groups, groups_of, portions

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
    """

    judged: JudgedRun
    measure: Measure
    key: FloatArray
    depth: int | None

    @property
    def hits(self) -> Hits:
        return self.judged.hits

    @property
    def tied(self) -> Tied:
        return self.judged.tied or Tied(self.hits.rank, self.hits.rank)

    @property
    def groups(self) -> Groups:
        return groups_of(self.hits, self.tied)

    @property
    def level(self) -> int:
        return max(int(parameter(self.measure, "level", 1)), 0)

    @property
    def limit(self) -> int:
        """The last rank that counts, by cutoff or depth; a rank below all others if there is none."""
        ends = [each for each in (parameter(self.measure, "cutoff"), self.depth) if each is not None]
        return min([int(self.tied.last.max(initial=0)), *ends])

    def alone(self, rel: int | None) -> FloatArray:
        """Return the value of each query with one document of that judgment, at rank 1. (Q,)."""
        num_ret = self.judged.num_ret
        if self.depth is not None:
            num_ret = np.minimum(num_ret, self.depth)
        query = np.flatnonzero((num_ret > 0) & (rel is not None))
        ones = np.ones(len(query), dtype=np.int64)
        hits = Hits(query, ones, ones * (rel or 0))
        run = JudgedRun(self.judged.qids, hits, self.judged.ideal, num_ret, "", Tied(ones, ones))
        return values(self.measure, run)


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
    case = _Case(judged, measure, key, depth)
    sums = measure.family.sums
    found = _CLOSED[sums](case) if sums in _CLOSED else None
    return _over_all_orders(case) if found is None else found


# Sums of independent contributions ------------------------------------------------------------------


def _additive(case: _Case) -> FloatArray | None:
    case = _with_ideal(case)
    deepest = int(case.tied.last.max(initial=0))
    if case.depth is not None:
        deepest = min(deepest, case.depth)
    of = shares(case.measure, case.hits.rel, deepest)
    weights = rank_weights(case.measure, of, deepest)
    mean = _mean_weights(case, np.concatenate([[0.0], np.cumsum(weights)]), deepest)
    return _from_top(case, case.judged.sum(case.hits.query, mean * of.of(case.hits.rel)), of.top)


def _within(case: _Case) -> FloatArray | None:
    """Return the average of a measure that counts the documents above a rank that depends on the query."""
    of = shares(case.measure, case.hits.rel)
    limit: IntArray = np.rint(ratio(np.ones(case.judged.num_queries), case.alone(of.top))).astype(np.int64)
    if case.depth is not None:
        limit = np.minimum(limit, case.depth)
    groups = case.groups
    mean = (groups.inside(limit[groups.query]) / groups.size)[groups.of]
    return _from_top(case, case.judged.sum(case.hits.query, mean * of.of(case.hits.rel)), of.top)


def _residual(case: _Case) -> FloatArray | None:
    """Return the average of trec_eval's residual, which is not a sum if all documents within the depth are judged."""
    return _additive(case) if case.depth is None else None


def _squared(case: _Case) -> FloatArray | None:
    """Return the average of a measure that squares the number of relevant documents above the depth."""
    groups = case.groups
    inside, drawn = groups.inside(case.limit), groups.tally(case.key > 0)
    share = drawn / groups.size
    sure, spread = inside * share, inside * share * (1 - share) * (groups.size - inside)
    variance = spread / np.maximum(groups.size - 1, 1)
    total = case.judged.sum(groups.query, sure)
    square = total * total + case.judged.sum(groups.query, variance)
    return _from_top(case, square, case.level)


def _with_ideal(case: _Case) -> _Case:
    """Use the ideal that the case asks for as the ideal of all judged documents, so that it stays fixed."""
    if parameter(case.measure, "ideal") != "retrieved":
        return case
    order = np.lexsort((-case.hits.rel, case.hits.query))
    query = case.hits.query
    rank = np.arange(len(query)) - np.searchsorted(query, query) + 1
    judged = case.judged
    ideal = Hits(query, rank, case.hits.rel[order])
    run = JudgedRun(judged.qids, judged.hits, ideal, judged.num_ret, judged.tag, judged.tied)
    return case._replace(judged=run, measure=with_fixed_ideal(case.measure))


def _mean_weights(case: _Case, summed: FloatArray, deepest: int) -> FloatArray:
    """Return the average weight of the possible ranks of each hit; ranks beyond the deepest weigh 0. (H,)."""
    first, last = np.minimum(case.tied.first - 1, deepest), np.minimum(case.tied.last, deepest)
    mean: FloatArray = (summed[last] - summed[first]) / (case.tied.last - case.tied.first + 1)
    return mean


def _from_top(case: _Case, count: FloatArray, top: int) -> FloatArray:
    """Scale sums, in which a top document at rank 1 counts 1, to values. (Q,)."""
    none = case.alone(None)
    found: FloatArray = none + (case.alone(top) - none) * count
    return found


# Average precision and related measures -------------------------------------------------------------


class _Places(NamedTuple):
    """The ranks of ties, one after the other: the tie, the position in it from 1, and the rank; all (N,)."""

    of: IntArray
    place: IntArray
    rank: IntArray


def _places(groups: Groups, some: BoolArray, limit: int) -> Iterator[_Places]:
    """Yield the ranks of some ties (G,) up to ``limit``, as many at once as fit in memory."""
    inside = np.where(some, groups.inside(limit), 0)
    ends = np.cumsum(inside)
    start = 0
    while start < len(inside):
        begun = int(ends[start] - inside[start])
        stop = max(int(np.searchsorted(ends, begun + MOST_CELLS)), start + 1)
        of = np.repeat(np.arange(start, stop), inside[start:stop])
        place = np.arange(len(of)) - (ends - inside)[of] + begun + 1
        yield _Places(of, place, groups.first[of] + place - 1)
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
        return _from_top(case, total, case.level)
    if case.depth is not None or parameter(case.measure, "cutoff"):
        return None
    return ratio(total, case.judged.num_rel_ret(case.level))


def _graded_average_precision(case: _Case) -> FloatArray | None:
    of = shares(case.measure, case.hits.rel)
    worth = of.of(of.labels)
    total = np.zeros(case.judged.num_queries)
    for label, more in zip(of.labels.tolist(), np.diff(worth, prepend=0.0).tolist(), strict=True):
        if more > 0:
            total += more * _sum_of_precisions(case, case.hits.rel >= label)
    return _from_top(case, total, of.top)


def _q_measure(case: _Case) -> FloatArray | None:
    judged, groups = case.judged, case.groups
    beta, gains = float(parameter(case.measure, "beta")), parameter(case.measure, "gains")
    level = max(case.level, 1)
    relevant = case.hits.rel >= level
    gain = np.where(relevant, gain_of(case.hits.rel, gains), 0.0)
    number, gained = groups.tally(relevant), groups.sum(gain)
    above = groups.above(number) + beta * _above(groups, gained)
    best = judged.ideal.where(judged.ideal.rel >= level)
    best_gain = gain_of(best.rel, gains)
    best_gain = best_gain[np.lexsort((-best_gain, best.query))]
    running = np.cumsum(best_gain)
    starts, lengths = judged.starts(best)[:-1], judged.count(best.query)
    total = np.zeros(judged.num_queries)
    for of, place, rank in _places(groups, number > 0, case.limit):
        query, here, gains_here = groups.query[of], number[of], gained[of]
        begin = starts[query]
        possible = running[begin + np.minimum(rank, lengths[query]) - 1] - running[begin] + best_gain[begin]
        own = here * (above[of] + 1) + beta * gains_here
        others = (here - 1) * (here + beta * gains_here)
        others = others * (place - 1) / np.maximum(groups.size[of] - 1, 1)
        total += judged.sum(query, (own + others) / groups.size[of] / (rank + beta * possible))
    return ratio(total, lengths)


def _above(groups: Groups, each: FloatArray) -> FloatArray:
    """Add up the values of the ties of the same query above each tie (G,). Returns (G,)."""
    totals = np.zeros(int(groups.query.max(initial=-1)) + 1)
    running = np.zeros(len(each))
    for row, (query, value) in enumerate(zip(groups.query.tolist(), each.tolist(), strict=True)):
        running[row] = totals[query]
        totals[query] += value
    return running


# The first relevant document ------------------------------------------------------------------------


def _none_of_the_first(size: IntArray, number: IntArray, most: int) -> FloatArray:
    """Return the probability of no relevant document among the first 0..most of a tie. Returns (G, most + 1)."""
    drawn = np.arange(most)
    left = np.maximum((size - number)[:, None] - drawn, 0) / np.maximum(size[:, None] - drawn, 1)
    return np.concatenate([np.ones((len(size), 1)), np.cumprod(left, axis=1)], axis=1)


def _first_ties(case: _Case) -> tuple[Groups, IntArray, IntArray, IntArray]:
    """Return ties, their numbers of relevant documents and of ranks that count, and the first tie of each query."""
    groups = case.groups
    number, inside = groups.tally(case.key > 0), groups.inside(case.limit)
    return groups, number, inside, np.flatnonzero((number > 0) & (groups.above(number) == 0) & (inside > 0))


def _reciprocal_rank(case: _Case) -> FloatArray | None:
    groups, number, inside, first = _first_ties(case)
    total = np.zeros(case.judged.num_queries)
    for portion in portions(inside[first]):
        rows = first[portion]
        most = int(inside[rows].max())
        none = _none_of_the_first(groups.size[rows], number[rows], most)
        place = np.arange(1, most + 1)
        chance = none[:, :-1] * number[rows][:, None] / np.maximum(groups.size[rows][:, None] - place + 1, 1)
        chance[place > inside[rows][:, None]] = 0.0
        total[groups.query[rows]] = (chance / (groups.first[rows][:, None] + place - 1)).sum(axis=1)
    return total


def _success(case: _Case) -> FloatArray | None:
    groups, number, inside, first = _first_ties(case)
    total = np.zeros(case.judged.num_queries)
    for portion in portions(inside[first]):
        rows = first[portion]
        none = _none_of_the_first(groups.size[rows], number[rows], int(inside[rows].max()))
        total[groups.query[rows]] = 1.0 - none[np.arange(len(rows)), inside[rows]]
    # If the first tie is wholly above the last rank, it certainly has a relevant document, and ties further down count,
    # too.
    return total


# A user who stops when satisfied --------------------------------------------------------------------


def _expected_reciprocal_rank(case: _Case) -> FloatArray | None:
    """Return the average of ERR or nERR.

    In a tie, the probability of passing j documents is the product of (1 - p), averaged over all choices of j
    documents: the j-th elementary symmetric polynomial divided by the number of choices, built up document by document.
    """
    stops = stopping(case.hits.rel, parameter(case.measure, "max_rel"))
    groups, inside = case.groups, case.groups.inside(case.limit)
    reached = _reached(groups, 1.0 - stops)
    counted = stops > 0
    number = groups.tally(counted)
    by_group = groups.of[counted]
    nth = np.arange(len(by_group)) - np.searchsorted(by_group, by_group)
    total = np.zeros(case.judged.num_queries)
    rows = np.flatnonzero((number > 0) & (inside > 0))
    for portion in portions(np.maximum(inside, number)[rows]):
        some = np.sort(rows[portion])
        q = np.ones((len(some), int(number[some].max())))
        at = np.searchsorted(some, by_group)
        mine = (at < len(some)) & (some[np.minimum(at, len(some) - 1)] == by_group)
        q[at[mine], nth[mine]] = 1.0 - stops[counted][mine]
        passed = _symmetric_means(q, number[some], groups.size[some], int(inside[some].max()))
        place = np.arange(1, passed.shape[1])
        stopped = (passed[:, :-1] - passed[:, 1:]) / (groups.first[some][:, None] + place - 1)
        stopped[place > inside[some][:, None]] = 0.0
        total += case.judged.sum(groups.query[some], stopped.sum(axis=1) * reached[some])
    top = stops.max(initial=0.0)
    return _from_top(case, total / top, int(case.hits.rel.max())) if top > 0 else total


def _reached(groups: Groups, passes: FloatArray) -> FloatArray:
    """Return the probability of passing all documents of the ties above. (G,)."""
    through = np.ones(len(groups.size))
    np.multiply.at(through, groups.of, passes)
    reached = np.ones(len(through))
    for row in range(1, len(through)):
        if groups.query[row] == groups.query[row - 1]:
            reached[row] = reached[row - 1] * through[row - 1]
    return reached


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
        new = (1.0 - chance) * old
        new[:, 1:] += chance[:, 1:] * q[more, column][:, None] * old[:, :-1]
        means[more] = new
    return means


# Pairs of documents ---------------------------------------------------------------------------------


def _binary_preference(case: _Case) -> FloatArray | None:
    judged, groups = case.judged, case.groups
    relevant, nonrelevant = judged.num_rel(case.level), judged.num_nonrel(case.level)
    if parameter(case.measure, "negative") == "nonrelevant":
        nonrelevant = judged.count(judged.ideal.query) - relevant
    most, enough = np.minimum(relevant, nonrelevant)[groups.query], relevant[groups.query]

    def penalty(row: int, above: int, others: int) -> FloatArray:
        if not most[row]:
            return np.ones(others + 1)
        lost: FloatArray = np.minimum(above + np.arange(others + 1), enough[row]) / most[row]
        return 1.0 - lost

    total = _over_others(case, groups.tally(case.key < 0), penalty)
    return ratio(total, relevant)


def _binary_g(case: _Case) -> FloatArray | None:
    groups = case.groups
    logs = np.array([math.log2(2 + above) for above in range(int(groups.last.max(initial=0)) + 1)])

    def share(_: int, above: int, others: int) -> FloatArray:
        shares: FloatArray = 1.0 / logs[above : above + others + 1]
        return shares

    number = groups.tally(case.key > 0)
    # The ranks above a tie that relevant documents do not take up, including those of ties without a row.
    total = _over_others(case, groups.size - number, share, groups.first - 1 - groups.above(number))
    return ratio(total, case.judged.num_rel(case.level))


def _over_others(
    case: _Case,
    others: IntArray,
    value: Callable[[int, int, int], FloatArray],
    above: IntArray | None = None,
) -> FloatArray:
    """Sum, over relevant documents, the average of a value that depends on the number of others above. (Q,).

    Parameters
    ----------
    case : _Case
        The case.
    others : (G,) int array
        Number of others in each tie.
    value : callable
        Takes the row of a tie, the number of others above it and of others in it; returns the values with 0..others of
        the latter above.
    above : (G,) int array, optional
        Number of others above each tie. Default: those of the ties above.
    """
    groups = case.groups
    number, inside = groups.tally(case.key > 0), groups.inside(case.limit)
    before = groups.above(others) if above is None else above
    total = np.zeros(case.judged.num_queries)
    for row in np.flatnonzero((number > 0) & (inside > 0)).tolist():
        here = int(others[row])
        size, within = int(groups.size[row]), int(inside[row])
        chances = np.full(here + 1, 1 / (here + 1)) if within == size else _chances_above(size, here, within)
        total[groups.query[row]] += number[row] * float(chances @ value(row, int(before[row]), here))
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
    drawn = np.zeros(others + 1)  # how many others are among the documents above
    drawn[0] = 1.0
    total = drawn / size
    for above in range(1, inside):
        left = size - 1 - (above - 1)
        more = drawn * (others - number) / left
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
    found: list[tuple[int, ...]] = [()]
    for count in counts:
        found = [
            (*taken, *more)
            for taken in found
            for more in itertools.combinations([each for each in range(size) if each not in taken], count)
        ]
    return np.array(found, dtype=np.int64).reshape(len(found), sum(counts))


def _number_of_placings(size: int, counts: tuple[int, ...]) -> int:
    number = 1
    for count in counts:
        number *= math.comb(size, count)
        size -= count
    return number


def _over_all_orders(case: _Case) -> FloatArray:
    """Average over all distinct orders, query by query, if there are few."""
    found = np.full(case.judged.num_queries, np.nan)
    counted = case.key != 0
    rows = np.flatnonzero(counted)
    groups = groups_of(case.hits.where(counted), case.tied.where(counted))
    starts = np.searchsorted(groups.query, np.arange(case.judged.num_queries + 1))
    members = np.searchsorted(groups.of, np.arange(len(groups.size) + 1))
    for query in range(case.judged.num_queries):
        ranks, rels, orders = [], [], 1
        for group in range(starts[query], starts[query + 1]):
            here = rows[members[group] : members[group + 1]]
            if groups.first[group] > case.limit:  # whatever the order, nobody looks there
                ranks.append(case.hits.rank[here][None, :])
                rels.append(case.hits.rel[here])
                continue
            here = here[np.argsort(case.key[here], kind="stable")]
            counts = tuple(np.unique(case.key[here], return_counts=True)[1].tolist())
            orders *= _number_of_placings(int(groups.size[group]), counts)
            if orders > MOST_ORDERS:
                break
            ranks.append(_placings(int(groups.size[group]), counts) + groups.first[group])
            rels.append(case.hits.rel[here])
        if orders <= MOST_ORDERS:
            found[query] = _mean_over(case, query, ranks, rels, orders)
    return found


def _mean_over(case: _Case, query: int, ranks: list[IntArray], rels: list[IntArray], orders: int) -> float:
    """Average the measure over all combinations of the orders of a query's ties."""
    choices = np.unravel_index(np.arange(orders), [len(each) for each in ranks]) if ranks else ()
    rank = np.concatenate([each[of] for each, of in zip(ranks, choices, strict=True)], axis=1)
    rel = np.tile(np.concatenate(rels), (orders, 1))
    order = np.argsort(rank, axis=1)
    rank, rel = np.take_along_axis(rank, order, axis=1), np.take_along_axis(rel, order, axis=1)
    number = np.repeat(np.arange(orders), rank.shape[1])
    hits = Hits(number, rank.ravel(), rel.ravel())
    num_ret = int(case.judged.num_ret[query])
    if case.depth is not None:
        hits, num_ret = hits.where(hits.rank <= case.depth), min(num_ret, case.depth)
    start, stop = np.searchsorted(case.judged.ideal.query, [query, query + 1])
    best = case.judged.ideal.rel[start:stop]
    ideal = Hits(
        np.repeat(np.arange(orders), len(best)), np.tile(np.arange(1, len(best) + 1), orders), np.tile(best, orders)
    )
    lengths = np.full(orders, num_ret, dtype=np.int64)
    run = JudgedRun(("",) * orders, hits, ideal, lengths, "", Tied(hits.rank, hits.rank))
    return math.fsum(values(case.measure, run).tolist()) / orders


_CLOSED: dict[Sums, Callable[[_Case], FloatArray | None]] = {
    **dict.fromkeys([Sums.EACH, Sums.GAINS, Sums.GAINS_OF_IDEAL, Sums.POWERS], _additive),
    **dict.fromkeys([Sums.SHARE_OF_CUTOFF, Sums.SHARE_OF_RELEVANT, Sums.SHARE_OF_BEST], _additive),
    **dict.fromkeys([Sums.CASCADE, Sums.CASCADE_OF_IDEAL], _expected_reciprocal_rank),
    Sums.EACH_WITHIN: _within,
    Sums.EACH_UNCUT: _residual,
    Sums.SQUARE: _squared,
    Sums.PRECISIONS: _average_precision,
    Sums.GRADED_PRECISIONS: _graded_average_precision,
    Sums.BLENDED_RATIOS: _q_measure,
    Sums.FIRST: _reciprocal_rank,
    Sums.ANY: _success,
    Sums.JUDGED_ABOVE: _binary_preference,
    Sums.OTHERS_ABOVE: _binary_g,
}
"""Computes the average of each kind of sum; a function returns None if these parameters have no closed form."""
