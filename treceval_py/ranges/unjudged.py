"""How much values depend on missing judgments: their range over all labels of the unjudged documents.

Many measures are divided by the best possible value. Treating unjudged documents as not relevant then does not give the
lowest value, nor does treating them as relevant give the highest: each additional relevant document also raises the
ideal. Each supported measure has a small set of labellings that contains the extremes. The measure itself is computed
on these, so an extreme is a value that the run can have.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from treceval_py._types import BoolArray, FloatArray, IntArray
from treceval_py.errors import EvaluationError, MeasureError, brief
from treceval_py.judging.judged import Hits, JudgedRun, nth_of, ratio
from treceval_py.measuring.counts import share_judged
from treceval_py.measuring.facts import Labels
from treceval_py.measuring.gains import gain_of
from treceval_py.measuring.parameters import PARAMETERS
from treceval_py.measuring.probes import parameter, rank_weights, shares, values, with_fixed_ideal
from treceval_py.measuring.registry import Measure
from treceval_py.ranges.groups import of_relevant, portions, rectangle, relevant_alone

MOST_STEPS = 100
"""Most iterations for the highest nDCG; about five are needed."""


MOST_AT_ONCE = 1 << 18
"""Most unjudged documents labelled at once, unless one query has more."""


class UnjudgedRange(NamedTuple):
    """Lowest and highest value over all possible labels of the unjudged retrieved documents.

    Attributes
    ----------
    measure : Measure
        The measure.
    lowest, highest : (Q,) float arrays
        The lowest and the highest value of each query.
    lowest_mean, highest_mean : float
        Their averages by the measure's own rule.
    judged : (Q,) float array
        The share of judged documents among the first k, the measure's cutoff; among all without a cutoff.
    judged_mean : float
        Its mean over the queries.
    """

    measure: Measure
    lowest: FloatArray
    highest: FloatArray
    lowest_mean: float
    highest_mean: float
    judged: FloatArray
    judged_mean: float

    def __repr__(self) -> str:
        means = f"{self.lowest_mean:.4f} to {self.highest_mean:.4f}; {self.judged_mean:.1%} judged"
        return f"<UnjudgedRange of {brief(self.measure.name)}: {means}>"


class _Case(NamedTuple):
    """Input of the search for extremes.

    Attributes
    ----------
    whole : JudgedRun
        The run with its judged documents only.
    judged : JudgedRun
        Some of its queries.
    all : Hits
        All documents of these queries, the unjudged ones with the judgment -1.
    at : (U,) int array
        The rows of unjudged documents.
    query, rank : (U,) int arrays
        Their queries and ranks.
    measure : Measure
        The measure.
    top : int
        The highest label.
    """

    whole: JudgedRun
    judged: JudgedRun
    all: Hits
    at: IntArray
    query: IntArray
    rank: IntArray
    measure: Measure
    top: int

    def where(self, mask: BoolArray) -> IntArray:
        """Give the highest label to the unjudged documents of a mask (U,), and 0 to the others."""
        return np.where(mask, self.top, 0)

    def value(self, labels: IntArray) -> FloatArray:
        """Compute the measure with these labels (U,) of the unjudged documents. Returns (Q,)."""
        bare = relevant_alone(self.measure)
        # Other labellings, and other measures, often give the same labels.
        make = functools.partial(self._labelled, labels, bare=bare)
        return values(self.measure, self.judged.once((bare, labels.tobytes()), make))

    def _labelled(self, labels: IntArray, *, bare: bool) -> JudgedRun:
        """Return the run with these labels (U,) of the unjudged documents; if bare, with relevant documents alone."""
        rel, ideal, more = self.all.rel.copy(), self.judged.ideal, self.query
        rel[self.at] = labels
        hits = self.all._replace(rel=rel)
        if bare:
            ideal, rows = ideal.where(ideal.rel > 0), labels > 0
            hits, more, labels = hits if rel.all() else hits.where(rel > 0), more[rows], labels[rows]
        # As single numbers, both columns are sorted at once.
        best = np.concatenate([ideal.rel, labels])
        bits = max(int(ideal.rel.max(initial=0)), self.top).bit_length()
        highest = (1 << bits) - 1
        keys = np.concatenate([ideal.query, more]) << bits | (highest - best)
        keys.sort()
        query = keys >> bits
        best_ranking = Hits(query, nth_of(query), highest - (keys & highest))
        return JudgedRun(self.judged.qids, hits, best_ranking, self.judged.num_ret, self.judged.tag)


def unjudged_ranges(judged: JudgedRun, measures: Sequence[Measure], max_rel: int) -> list[UnjudgedRange]:
    """Compute the ranges of measures over all possible labels of the unjudged documents retrieved.

    A document is unjudged if it has no judgment or a negative one. Its label counts like a judgment, in the number of
    relevant documents and in the ideal ranking, too.

    Parameters
    ----------
    judged : JudgedRun
        The judged run.
    measures : sequence of Measure
        Measures with values for all their parameters.
    max_rel : int
        The highest label; all labels from 0 on are possible. A measure with a maximum of its own uses that.

    Returns
    -------
    list of UnjudgedRange
        One for each measure.

    Raises
    ------
    MeasureError
        A measure does not support these ranges, or `max_rel` is out of range.

    References
    ----------
    For RBP: Moffat, A., Zobel, J. Rank-Biased Precision for Measurement of Retrieval Effectiveness. ACM TOIS 27(1),
    2008. For the highest nDCG: Dinkelbach, W. On Nonlinear Fractional Programming. Management Science 13(7), 1967.

    Examples
    --------
    The relevant document is at rank 2. If the unjudged document at rank 1 is relevant, AP is 1; if instead the one at
    rank 3 is, (1/2 + 2/3) / 2 = 0.5833; if only the one at rank 4 is, (1/2 + 2/4) / 2 = 0.5; if none is, 1/2.

    >>> from treceval_py.measuring import parse_measures
    >>> found, = unjudged_ranges(ranked_labels("- 1 - -"), parse_measures("map"), max_rel=1)
    >>> found.lowest, found.highest, found.judged
    (array([0.5]), array([1.]), array([0.25]))
    """
    top = PARAMETERS["max_rel"].check(max_rel, "max_rel")
    return [_range(judged, measure, parameter(measure, "max_rel", top)) for measure in measures]


_Part = tuple[JudgedRun, Hits, IntArray, IntArray, IntArray]
"""Some queries of a run, and their documents, as in `_Case`."""


def _without_unjudged(judged: JudgedRun) -> JudgedRun:
    """Return the run with its judged documents only."""
    hits, ideal = judged.hits.where(judged.hits.rel >= 0), judged.ideal.where(judged.ideal.rel >= 0)
    if (hits.rank > judged.num_ret[hits.query]).any():
        problem = "the rank column has gaps, so that it is not known where unjudged documents stand"
        raise EvaluationError(problem, "Rank by scores.")
    return JudgedRun(judged.qids, hits, ideal, judged.num_ret, judged.tag)


def _parts(whole: JudgedRun) -> Iterable[_Part]:
    """Divide the queries of a run so that the documents of each part fit in memory."""
    before = np.cumsum(whole.num_ret) // MOST_AT_ONCE
    if not before[-1:].any():
        return whole.once("unjudged", lambda: [_part(whole)])
    return (_part(whole.select(before == number)) for number in np.unique(before))


def _part(judged: JudgedRun) -> _Part:
    starts = np.cumsum(judged.num_ret) - judged.num_ret
    query = np.repeat(np.arange(len(starts)), judged.num_ret)
    documents = Hits(query, np.arange(1, len(query) + 1) - starts[query], np.full(len(query), -1))
    documents.rel[starts[judged.hits.query] + judged.hits.rank - 1] = judged.hits.rel
    at = np.flatnonzero(documents.rel < 0)
    return judged, documents, at, query[at], documents.rank[at]


def _range(judged: JudgedRun, measure: Measure, top: int) -> UnjudgedRange:
    whole = judged.once("without unjudged", lambda: _without_unjudged(judged))
    labels = measure.family.labels
    averaged = parameter(measure, "ties") == "average" or parameter(measure, "steps") == "together"
    if labels not in _SEARCHES or averaged or parameter(measure, "stop") == "label":
        raise MeasureError(
            f"--unjudged does not support {measure.name}",
            measure.family.or_declare("Choose another measure, such as AP, P@10, nDCG@10 or RBP."),
        )
    ends = [_ends(_Case(whole, *part, measure, top)) for part in _parts(whole)]
    lowest, highest = (np.concatenate(column) for column in zip(*ends, strict=True))
    share = share_judged(judged, cutoff=int(parameter(measure, "cutoff", judged.num_ret.max(initial=1))))
    average, count = measure.family.average, judged.num_queries
    means = average(lowest, count), average(highest, count)
    return UnjudgedRange(measure, lowest, highest, *means, share, float(share.mean()) if count else 0.0)


def _ends(case: _Case) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and the highest value of each query."""
    low, high = _SEARCHES[case.measure.family.labels](case)
    lows = [case.value(labels) for labels in low]
    highest = lows if high is low else map(case.value, high)
    return functools.reduce(np.minimum, lows), functools.reduce(np.maximum, highest)


Labellings = tuple[Iterable[IntArray], Iterable[IntArray]]
"""Labellings (U,) that contain the lowest values, and labellings that contain the highest."""


def _all_or_none(case: _Case) -> Labellings:
    """Label all documents alike: for measures that never fall, or never rise, if a document gets a higher label."""
    least, most = 0, case.top
    if case.measure.family.takes("gains"):
        worth = shares(case.measure, np.arange(case.top + 1)).worth
        least, most = int(np.argmin(worth)), int(np.argmax(worth))
    alike = np.ones_like(case.query)
    both = [alike * least, alike * most]
    return both, both


def _above_or_below(case: _Case) -> Labellings:
    """Label the documents above the cutoff, or those below it.

    A relevant document above the cutoff adds at least as much to the value as to the ideal. One below it adds only to
    the ideal. The same holds for documents that are not relevant.
    """
    above = case.rank <= int(parameter(case.measure, "cutoff"))
    both = [case.where(~above), case.where(above)]
    return both, both


def _first_or_last(case: _Case) -> Labellings:
    """Label the first or the last documents, in the number that gives the extreme value.

    For any number of relevant unjudged documents, a measure that rewards higher ranks is highest if they are the first
    ones and lowest if they are the last.
    """
    judged = case.judged
    level = max(int(parameter(case.measure, "level")), 0)
    fewest = judged.num_rel(level)
    low, high = np.zeros_like(fewest), np.zeros_like(fewest)
    relevant = judged.hits.where(judged.hits.rel >= level)
    for rows in portions(judged.num_ret):
        depth = max(int(judged.num_ret[rows].max()), 1)
        known = rectangle(rows, relevant.query, relevant.rank - 1, depth)
        open_ = rectangle(rows, case.query, case.rank - 1, depth)
        high[rows] = np.argmax(_by_number(case.measure, known, open_, fewest[rows], first=True), axis=1)
        low[rows] = np.argmin(_by_number(case.measure, known, open_, fewest[rows], first=False), axis=1)
    return [case.where(case.rank > low[case.query])], [case.where(case.rank <= high[case.query])]


def _by_number(measure: Measure, known: FloatArray, open_: FloatArray, fewest: IntArray, *, first: bool) -> FloatArray:
    """Return the values if the unjudged documents down to some rank, or from there on, are relevant.

    Parameters
    ----------
    measure : Measure
        The measure.
    known, open_ : (N, L) float arrays
        Marks of relevant and of unjudged documents.
    fewest : (N,) int array
        Number of documents judged relevant, retrieved or not.
    first : bool
        Whether the documents down to a rank are relevant, or those from there on.

    Returns
    -------
    (N, L + 1) float array
        For ranks 0..L.
    """
    depth = known.shape[1]
    rank = np.arange(1, depth + 1)
    within = rank <= parameter(measure, "cutoff", depth)
    above, seen = _running(known), _running(open_)

    def total(parts: FloatArray) -> FloatArray:
        """Add up over the documents labelled relevant."""
        down = _running(parts)
        return down if first else down[:, -1:] - down

    relevant = fewest[:, None] + total(open_)
    if measure.family.labels is Labels.WITHIN_R:
        row, place = np.arange(len(known))[:, None], np.minimum(relevant, depth).astype(np.int64)
        among = seen[row, place]
        early = above[row, place] + (np.minimum(seen, among) if first else np.maximum(among - seen, 0.0))
        return ratio(early, relevant)
    # One more relevant document adds its own precision, and one document above each relevant one below it.
    inverse = np.where(within, 1.0 / rank, 0.0)
    ahead = above[:, 1:] + (seen[:, 1:] if first else 1)
    below = (known if first else known + open_) * inverse
    added = ahead * inverse + (np.cumsum(below[:, ::-1], axis=1)[:, ::-1] - below)
    precisions = (known * above[:, 1:] * inverse).sum(axis=1)[:, None] + total(open_ * added)
    if measure.family.labels is Labels.ODDS:
        return ratio(1.0 + precisions, 1.0 + relevant - precisions)
    norm = parameter(measure, "norm")
    if norm == "retrieved":
        return ratio(precisions, (known * within).sum(axis=1)[:, None] + total(open_ * within))
    return ratio(precisions, np.minimum(relevant, parameter(measure, "cutoff", np.inf) if norm == "capped" else np.inf))


def _running(parts: FloatArray) -> FloatArray:
    """Add up the first 0..L entries of each row. (N, L + 1)."""
    return np.concatenate([np.zeros((len(parts), 1)), np.cumsum(parts, axis=1)], axis=1)


def _scaled(case: _Case) -> Labellings:
    """Label for trec_eval's RBP, whose gains are divided by the highest of the query, unjudged documents included.

    For a given highest label, the value is highest if all documents have it, and lowest if only the last document has
    it. Without custom gains, a label above all others only lowers the gains of the others.
    """
    gains = parameter(case.measure, "gains")
    last = np.diff(case.query, append=-1) != 0
    alike = np.ones_like(case.query)
    if not gains:
        highest = np.zeros_like(case.judged.num_ret)
        np.maximum.at(highest, case.judged.ideal.query, case.judged.ideal.rel)
        return [0 * alike, case.where(last)], [np.clip(highest, 1, case.top)[case.query]]
    gain = gain_of(np.arange(case.top + 1), gains)
    low = (np.where(last, label, int(np.argmin(gain[: label + 1]))) for label in range(case.top + 1))
    return low, (alike * label for label in range(case.top + 1))


# nDCG -----------------------------------------------------------------------------------------------


class _Steps(NamedTuple):
    """The gains of an nDCG as steps, from the lowest to the highest; the IDCG is the sum over the steps.

    Attributes
    ----------
    rises : (T,) float array
        The rise of the gain at each step, over all gains that occur.
    label_of : (T,) int array
        The first label that reaches a step; C if none does.
    judged : (Q, T) int array
        Number of judged documents of each query that reach it.
    summed : (N,) float array
        The sum of the weights of the first 0..N-1 ranks.
    """

    rises: FloatArray
    label_of: IntArray
    judged: IntArray
    summed: FloatArray

    def ideal(self, rows: IntArray, label: int, number: IntArray) -> FloatArray:
        """Return what the steps of a label add to the ideal if these numbers of unjudged documents (N, …) reach it."""
        total = np.zeros(number.shape)
        for step in np.flatnonzero(self.label_of == label).tolist():
            judged = self.judged[rows, step].reshape(-1, *[1] * (number.ndim - 1))
            total += self.rises[step] * self.summed[judged + number]
        return total


def _ratio_of_gains(case: _Case) -> Labellings:
    """Label for nDCG.

    Lowest: DCG is linear in the gains, and IDCG, a maximum over orders, is convex. So in the lowest ratio each document
    has the lowest or the highest gain, and those with the highest gain are the last ones. Highest: if t is the highest
    value, DCG - t·IDCG is at most 0. This is a sum over the steps between gains. At each step it is highest if the
    first documents reach the step, and their number is found for each step separately: the higher a step, the fewer
    judged documents reach it, the more an additional one costs, so these numbers fall. Starting from a t that is too
    low, this finds labels with a higher value, until there are none.
    """
    judged, whole = case.judged, case.whole
    if relevant_alone(case.measure):
        judged, whole = of_relevant(judged), of_relevant(whole)
    retrieved = parameter(case.measure, "ideal") == "retrieved"
    probed = with_fixed_ideal(case.measure)
    labels, number = np.arange(case.top + 1), judged.count(case.query)
    worth = shares(probed, np.concatenate([labels, whole.ideal.rel]))
    deepest = int((whole.num_ret + whole.count(whole.ideal.query)).max(initial=1))
    weights = np.concatenate([[0.0], rank_weights(probed, worth, deepest)])
    # Labels in ascending order of gain, no two with the same gain, and all gains that occur.
    gains, labels = np.unique(worth.of(labels), return_index=True)
    ends = np.unique(np.concatenate([gains, worth.of((whole.hits if retrieved else whole.ideal).rel)]))
    ends = ends[ends > 0]
    source = judged.hits if retrieved else judged.ideal
    known = worth.of(source.rel)
    reaching = np.zeros((judged.num_queries, len(ends)), dtype=np.int64)
    for step, end in enumerate(ends.tolist()):
        reaching[:, step] = judged.count(source.query[known >= end])
    steps = _Steps(np.diff(ends, prepend=0.0), np.searchsorted(gains, ends), reaching, np.cumsum(weights))
    base = judged.sum(judged.hits.query, worth.of(judged.hits.rel) * weights[judged.hits.rank])
    low, high = np.zeros_like(case.query), np.zeros_like(case.query)
    starts = np.searchsorted(case.query, np.arange(judged.num_queries + 1))
    for rows in portions(number * len(gains)):
        nth = np.arange(int(number[rows].max()))
        there = nth < number[rows][:, None]
        at = (starts[rows][:, None] + nth)[there]
        first = np.zeros((len(rows), len(nth) + 1))
        first[:, 1:][there] = weights[case.rank[at]]
        last, reached = _extremes(steps, gains, rows, number[rows], base[rows], np.cumsum(first, axis=1))
        in_end = nth >= (number[rows] - last)[:, None]
        low[at] = np.where(in_end, labels[-1], labels[0])[there]
        high[at] = labels[(reached[:, :, None] > nth).sum(axis=1)][there]
    return [low], [high]


def _extremes(
    steps: _Steps, gains: FloatArray, rows: IntArray, number: IntArray, base: FloatArray, first: FloatArray
) -> tuple[IntArray, IntArray]:
    """Return how many unjudged documents have which labels if nDCG is lowest, and if it is highest.

    Parameters
    ----------
    steps : _Steps
        The steps between gains.
    gains : (C,) float array
        The gains of the labels, ascending.
    rows, number : (N,) int arrays
        The queries, and their numbers of unjudged documents.
    base : (N,) float array
        The DCG of their judged documents.
    first : (N, M + 1) float array
        The sum of the weights of their first 0..M unjudged documents.

    Returns
    -------
    last : (N,) int array
        The number of last documents with the highest label.
    reached : (N, C - 1) int array
        The number of first documents that reach each label except the lowest.
    """
    line, size = np.arange(len(rows)), len(gains) - 1
    count = np.arange(first.shape[1])
    some = np.minimum(count, number[:, None])
    everything = first[line, number]
    # What does not depend on the labels, and what those at each label add.
    sure = base + gains[0] * everything
    fixed = steps.ideal(rows, 0, number) + steps.ideal(rows, size + 1, np.zeros_like(number))
    ideals = [steps.ideal(rows, label, some) for label in range(1, size + 1)]
    last_ones = everything[:, None] - first[line[:, None], number[:, None] - some]
    gained = sure[:, None] + (gains[-1] - gains[0]) * last_ones
    last = np.argmin(ratio(gained, fixed[:, None] + sum(ideals, np.zeros(some.shape))), axis=1)
    best = np.zeros((len(rows), size), dtype=np.int64)
    value = np.full(len(rows), -1.0)
    here = np.repeat(number[:, None], size, axis=1)
    rises = np.diff(gains)
    for _ in range(MOST_STEPS):
        gained, ideal = sure.copy(), fixed.copy()
        for label in range(size):
            gained += rises[label] * first[line, here[:, label]]
            ideal += ideals[label][line, here[:, label]]
        now = ratio(gained, ideal)
        better = now > value
        if not better.any():
            break
        value, best = np.where(better, now, value), np.where(better[:, None], here, best)
        here = np.empty_like(best)
        for label in range(size):
            gain = rises[label] * first - value[:, None] * ideals[label]
            here[:, label] = np.argmax(np.where(count > number[:, None], -np.inf, gain), axis=1)
    return last, best


_SEARCHES: dict[Labels, Callable[[_Case], Labellings]] = {
    Labels.ALIKE: _all_or_none,
    Labels.ABOVE_CUTOFF: _above_or_below,
    **dict.fromkeys([Labels.PRECISIONS, Labels.ODDS, Labels.WITHIN_R], _first_or_last),
    Labels.GAINS_OF_IDEAL: _ratio_of_gains,
    Labels.SHARE_OF_HIGHEST: _scaled,
}
"""The search for each kind of measure."""
