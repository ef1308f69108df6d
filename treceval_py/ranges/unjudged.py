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
from treceval_py.judging.judged import Hits, JudgedRun, ratio
from treceval_py.measures.counts import share_judged
from treceval_py.measures.facts import Labels
from treceval_py.measures.gains import gain_of
from treceval_py.measures.parameters import PARAMETERS
from treceval_py.measures.probes import parameter, rank_weights, shares, values, with_fixed_ideal
from treceval_py.measures.registry import Measure
from treceval_py.ranges.groups import nth_of, of_relevant, portions, relevant_alone

MOST_STEPS = 100
"""Most iterations for the highest nDCG; about five are needed."""


MOST_KEPT = 1 << 18
"""Most unjudged documents for which a labelled run is kept for other measures."""


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
    judged : JudgedRun
        The run with its judged documents only.
    query, rank : (U,) int arrays
        The unjudged documents, sorted by query and rank.
    nth : (U,) int array
        Number of unjudged documents above each.
    measure : Measure
        The measure.
    top : int
        The highest label.
    """

    judged: JudgedRun
    query: IntArray
    rank: IntArray
    nth: IntArray
    measure: Measure
    top: int

    @property
    def number(self) -> IntArray:
        """Number of unjudged documents of each query. (Q,)."""
        return self.judged.count(self.query)

    @property
    def labels(self) -> IntArray:
        """All labels that a document can get."""
        return np.arange(self.top + 1)

    def where(self, mask: BoolArray) -> IntArray:
        """Give the highest label to the unjudged documents of a mask (U,), and 0 to the others."""
        return np.where(mask, self.top, 0)

    def value(self, labels: IntArray) -> FloatArray:
        """Compute the measure with these labels (U,) of the unjudged documents. Returns (Q,)."""
        bare = relevant_alone(self.measure)

        def make() -> JudgedRun:
            return (
                self._labelled(of_relevant(self.judged), labels > 0, labels)
                if bare
                else self._labelled(self.judged, slice(None), labels)
            )

        # Other measures use the same labels. With millions of documents, keeping them would take too much memory.
        if len(labels) > MOST_KEPT:
            return values(self.measure, make())
        return values(self.measure, self.judged.once((bare, labels.tobytes()), make))

    def _labelled(self, judged: JudgedRun, rows: BoolArray | slice, labels: IntArray) -> JudgedRun:
        """Return a judged run in which some of the unjudged documents have labels (U,)."""
        more = Hits(self.query[rows], self.rank[rows], labels[rows])
        query = np.concatenate([judged.hits.query, more.query])
        rank = np.concatenate([judged.hits.rank, more.rank])
        # A single key with both parts sorted (or nearly so): merging is faster than sorting by two keys.
        order = np.argsort(query * (int(rank.max(initial=0)) + 1) + rank, kind="stable")
        found = Hits(query[order], rank[order], np.concatenate([judged.hits.rel, more.rel])[order])
        query = np.concatenate([judged.ideal.query, more.query])
        rel = np.concatenate([judged.ideal.rel, more.rel])
        highest = int(rel.max(initial=0))
        order = np.argsort(query * (highest + 1) + highest - rel, kind="stable")
        query, rel = query[order], rel[order]
        ideal = Hits(query, nth_of(query) + 1, rel)
        return JudgedRun(judged.qids, found, ideal, judged.num_ret, judged.tag)


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

    >>> from treceval_py.measures import parse_measures
    >>> found, = unjudged_ranges(ranked_labels("- 1 - -"), parse_measures("map"), max_rel=1)
    >>> found.lowest, found.highest, found.judged
    (array([0.5]), array([1.]), array([0.25]))
    """
    top = PARAMETERS["max_rel"].check(max_rel, "max_rel")
    rest, query, rank = judged.once("unjudged", lambda: _unjudged(judged))
    nth = nth_of(query)
    return [
        _range(_Case(rest, query, rank, nth, measure, parameter(measure, "max_rel", top)), judged)
        for measure in measures
    ]


def _unjudged(judged: JudgedRun) -> tuple[JudgedRun, IntArray, IntArray]:
    """Return the run with its judged documents only, and the query and rank of the others."""
    hits, ideal = judged.hits.where(judged.hits.rel >= 0), judged.ideal.where(judged.ideal.rel >= 0)
    if (hits.rank > judged.num_ret[hits.query]).any():
        raise EvaluationError(
            "the rank column has gaps, so that it is not known where unjudged documents stand", "Rank by scores."
        )
    ends = np.cumsum(judged.num_ret)
    free = np.ones(int(judged.num_ret.sum()), dtype=bool)
    free[(ends - judged.num_ret)[hits.query] + hits.rank - 1] = False
    place = np.flatnonzero(free)
    query = np.searchsorted(ends, place, side="right")
    rest = JudgedRun(judged.qids, hits, ideal, judged.num_ret, judged.tag)
    return rest, query, place - (ends - judged.num_ret)[query] + 1


def _range(case: _Case, judged: JudgedRun) -> UnjudgedRange:
    measure = case.measure
    labels = measure.family.labels
    averaged = parameter(measure, "ties") == "average" or parameter(measure, "steps") == "together"
    if labels not in _SEARCHES or averaged or parameter(measure, "stop") == "label":
        raise MeasureError(
            f"--unjudged does not support {measure.name}",
            measure.family.or_declare("Choose another measure, such as map, P_10, ndcg_cut_10 or rbp_binary."),
        )
    low, high = _SEARCHES[labels](case)
    found = [case.value(labels) for labels in low]
    lowest = functools.reduce(np.minimum, found)
    highest = functools.reduce(np.maximum, found if high is low else (case.value(labels) for labels in high))
    deepest = int(judged.num_ret.max(initial=1))
    share = share_judged(judged, cutoff=int(parameter(measure, "cutoff", max(deepest, 1))))
    average, count = measure.family.average, judged.num_queries
    means = average(lowest, count), average(highest, count)
    return UnjudgedRange(measure, lowest, highest, *means, share, float(share.mean()) if count else 0.0)


Labellings = tuple[Iterable[IntArray], Iterable[IntArray]]
"""Labellings (U,) that contain the lowest values, and labellings that contain the highest."""


def _all_or_none(case: _Case) -> Labellings:
    """Label all documents alike: for measures that never fall, or never rise, if a document gets a higher label."""
    least, most = 0, case.top
    if case.measure.family.takes("gains"):
        worth = shares(case.measure, case.labels).worth
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


def _first_or_last(case: _Case, value: Callable[[_Counts, Measure], FloatArray]) -> Labellings:
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
        known = _rectangle(rows, relevant.query, relevant.rank, depth)
        open_ = _rectangle(rows, case.query, case.rank, depth)
        down = _Counts.of(case.measure, known, open_, fewest[rows], first=True)
        high[rows] = np.argmax(value(down, case.measure), axis=1)
        up = _Counts.of(case.measure, known, open_, fewest[rows], first=False)
        low[rows] = np.argmin(value(up, case.measure), axis=1)
    return [case.where(case.rank > low[case.query])], [case.where(case.rank <= high[case.query])]


def _rectangle(rows: IntArray, query: IntArray, rank: IntArray, depth: int) -> FloatArray:
    """Mark the ranks of documents of some queries. Returns (rows, depth)."""
    order = np.argsort(rows)
    at = np.minimum(np.searchsorted(rows[order], query), len(rows) - 1)
    mine = rows[order][at] == query
    marked = np.zeros((len(rows), depth))
    marked[order[at[mine]], rank[mine] - 1] = 1.0
    return marked


class _Counts(NamedTuple):
    """Counts if the unjudged documents down to some rank, or from there on, are relevant.

    Attributes
    ----------
    precisions : (N, L + 1) float array
        The sum of precisions at relevant documents within the cutoff, for ranks 0..L.
    found : (N, L + 1) float array
        Number of relevant documents within the cutoff.
    relevant : (N, L + 1) float array
        Number of relevant documents, R.
    early : (N, L + 1) float array
        Number of relevant documents within rank R.
    """

    precisions: FloatArray
    found: FloatArray
    relevant: FloatArray
    early: FloatArray

    @classmethod
    def of(cls, measure: Measure, known: FloatArray, open_: FloatArray, fewest: IntArray, *, first: bool) -> _Counts:
        """Count for all ranks; ``known`` and ``open_`` (N, L) mark relevant and unjudged documents."""
        depth = known.shape[1]
        rank = np.arange(1, depth + 1)
        within = rank <= parameter(measure, "cutoff", depth)
        inverse = np.where(within, 1.0 / rank, 0.0)
        above = np.cumsum(known, axis=1)
        if first:
            # One more relevant document adds its own precision, and one document above each relevant one below it.
            added = (above + np.cumsum(open_, axis=1)) * inverse + _after(known * inverse)
        else:
            added = (above + 1) * inverse + _after((known + open_) * inverse)
        plain = (known * above * inverse).sum(axis=1)

        def total(each: FloatArray) -> FloatArray:
            """Add up over the documents labelled relevant."""
            down = np.concatenate([np.zeros((len(each), 1)), np.cumsum(each, axis=1)], axis=1)
            return down if first else down[:, -1:] - down

        more = total(open_)
        relevant = fewest[:, None] + more
        place = np.minimum(relevant, depth).astype(np.int64)
        row = np.arange(len(known))[:, None]
        seen = np.concatenate([np.zeros((len(known), 1)), np.cumsum(open_, axis=1)], axis=1)
        sure = np.concatenate([np.zeros((len(known), 1)), above], axis=1)[row, place]
        among = seen[row, place]
        early = sure + (np.minimum(seen, among) if first else np.maximum(among - seen, 0.0))
        found = (known * within).sum(axis=1)[:, None] + total(open_ * within)
        return cls(plain[:, None] + total(open_ * added), found, relevant, early)


def _share_of_precisions(counts: _Counts, measure: Measure) -> FloatArray:
    norm = parameter(measure, "norm")
    if norm == "retrieved":
        return ratio(counts.precisions, counts.found)
    most = parameter(measure, "cutoff", np.inf) if norm == "capped" else np.inf
    return ratio(counts.precisions, np.minimum(counts.relevant, most))


def _odds(counts: _Counts, _: Measure) -> FloatArray:
    return (1.0 + counts.precisions) / (1.0 + counts.relevant - counts.precisions)


def _share_within(counts: _Counts, _: Measure) -> FloatArray:
    return ratio(counts.early, counts.relevant)


def _after(each: FloatArray) -> FloatArray:
    """Add up the entries to the right of each position. (N, L)."""
    summed: FloatArray = np.cumsum(each[:, ::-1], axis=1)[:, ::-1] - each
    return summed


def _scaled(case: _Case) -> Labellings:
    """Label for trec_eval's RBP, whose gains are divided by the highest of the query, unjudged documents included.

    For a given highest label, the value is highest if all documents have it, and lowest if only the last document has
    it. Without custom gains, a label above all others only lowers the gains of the others.
    """
    gains = parameter(case.measure, "gains")
    last = case.nth == case.number[case.query] - 1
    alike = np.ones_like(case.query)
    if not gains:
        highest = np.zeros_like(case.judged.num_ret)
        np.maximum.at(highest, case.judged.ideal.query, case.judged.ideal.rel)
        return [0 * alike, case.where(last)], [np.clip(highest, 1, case.top)[case.query]]
    gain = gain_of(case.labels, gains)
    low = (np.where(last, label, int(np.argmin(gain[: label + 1]))) for label in case.labels.tolist())
    return low, (alike * label for label in case.labels.tolist())


# nDCG -----------------------------------------------------------------------------------------------


class _Steps(NamedTuple):
    """The gains of an nDCG as steps, from the lowest to the highest; the IDCG is the sum over the steps.

    Attributes
    ----------
    labels : (C,) int array
        Labels in ascending order of gain, no two with the same gain.
    gains : (C,) float array
        Their gains.
    rises : (T,) float array
        The rise of the gain at each step, over all gains that occur.
    label_of : (T,) int array
        The first label that reaches a step; C if none does.
    judged : (Q, T) int array
        Number of judged documents of each query that reach it.
    summed : (N,) float array
        The sum of the weights of the first 0..N-1 ranks.
    """

    labels: IntArray
    gains: FloatArray
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
    judged = of_relevant(case.judged) if relevant_alone(case.measure) else case.judged
    source = judged.hits if parameter(case.measure, "ideal") == "retrieved" else judged.ideal
    probed = with_fixed_ideal(case.measure)
    of = shares(probed, np.concatenate([case.labels, judged.ideal.rel]))
    deepest = int((judged.num_ret + judged.count(judged.ideal.query)).max(initial=1))
    weights = np.concatenate([[0.0], rank_weights(probed, of, deepest)])
    steps = _steps(case, source, of.of(case.labels), of.of(source.rel), np.cumsum(weights))
    base = judged.sum(judged.hits.query, of.of(judged.hits.rel) * weights[judged.hits.rank])
    number = case.number
    low, high = np.zeros_like(case.query), np.zeros_like(case.query)
    starts = np.searchsorted(case.query, np.arange(judged.num_queries + 1))
    for rows in portions(number * len(steps.gains)):
        most = int(number[rows].max())
        at = starts[rows][:, None] + np.arange(most)
        there = np.arange(most) < number[rows][:, None]
        at = at[there]
        first = np.zeros((len(rows), most + 1))
        first[:, 1:][there] = weights[case.rank[at]]
        first = np.cumsum(first, axis=1)
        last_high = _lowest(steps, rows, number[rows], base[rows], first)
        nth = np.broadcast_to(np.arange(most), there.shape)
        in_end = nth >= (number[rows] - last_high)[:, None]
        low[at] = np.where(in_end, steps.labels[-1], steps.labels[0])[there]
        reached = _highest(steps, rows, number[rows], base[rows], first)
        high[at] = steps.labels[(reached[:, :, None] > nth[:, None, :]).sum(axis=1)][there]
    return [low], [high]


def _steps(case: _Case, source: Hits, gains: FloatArray, judged: FloatArray, summed: FloatArray) -> _Steps:
    """Divide the gains of labels (C,) and of the documents of the ideal (I,) into steps."""
    distinct, labels = np.unique(gains, return_index=True)
    ends = np.unique(np.concatenate([distinct, judged]))
    ends = ends[ends > 0]
    count = np.array([case.judged.count(source.query[judged >= end]) for end in ends.tolist()], dtype=np.int64)
    return _Steps(
        labels,
        distinct,
        np.diff(ends, prepend=0.0),
        np.searchsorted(distinct, ends),
        count.reshape(len(ends), case.judged.num_queries).T,
        summed,
    )


def _lowest(steps: _Steps, rows: IntArray, number: IntArray, base: FloatArray, first: FloatArray) -> IntArray:
    """Return the number of last documents with the highest label for which nDCG is lowest. (N,)."""
    line = np.arange(len(rows))
    n = np.minimum(np.arange(first.shape[1]), number[:, None])
    highest = len(steps.gains) - 1
    everything = first[line, number]
    gained = (base + steps.gains[0] * everything)[:, None]
    gained = gained + (steps.gains[-1] - steps.gains[0]) * (
        everything[:, None] - first[line[:, None], number[:, None] - n]
    )
    ideal = _fixed(steps, rows, number)[:, None] + sum(
        (steps.ideal(rows, label, n) for label in range(1, highest + 1)), np.zeros(n.shape)
    )
    found: IntArray = np.argmin(ratio(gained, ideal), axis=1)
    return found


def _fixed(steps: _Steps, rows: IntArray, number: IntArray) -> FloatArray:
    """Return the part of the ideal that does not depend on the labels. (N,)."""
    fixed: FloatArray = steps.ideal(rows, 0, number) + steps.ideal(rows, len(steps.gains), np.zeros_like(number))
    return fixed


def _highest(steps: _Steps, rows: IntArray, number: IntArray, base: FloatArray, first: FloatArray) -> IntArray:
    """Return the number of first documents that reach each label except the lowest if nDCG is highest. (N, C-1)."""
    line, size = np.arange(len(rows)), len(steps.gains) - 1
    n = np.minimum(np.arange(first.shape[1]), number[:, None])
    beyond = np.arange(first.shape[1]) > number[:, None]
    ideals = [steps.ideal(rows, label, n) for label in range(1, size + 1)]
    sure, fixed = base + steps.gains[0] * first[line, number], _fixed(steps, rows, number)
    best = np.zeros((len(rows), size), dtype=np.int64)
    value = np.full(len(rows), -1.0)
    here = np.repeat(number[:, None], size, axis=1)
    for _ in range(MOST_STEPS):
        gained, ideal = sure.copy(), fixed.copy()
        for label in range(size):
            gained += (steps.gains[label + 1] - steps.gains[label]) * first[line, here[:, label]]
            ideal += ideals[label][line, here[:, label]]
        now = ratio(gained, ideal)
        better = now > value
        if not better.any():
            break
        value, best = np.where(better, now, value), np.where(better[:, None], here, best)
        here = np.empty_like(best)
        for label in range(size):
            gain = (steps.gains[label + 1] - steps.gains[label]) * first - value[:, None] * ideals[label]
            here[:, label] = np.argmax(np.where(beyond, -np.inf, gain), axis=1)
    return best


_SEARCHES: dict[Labels, Callable[[_Case], Labellings]] = {
    Labels.ALIKE: _all_or_none,
    Labels.ABOVE_CUTOFF: _above_or_below,
    Labels.PRECISIONS: functools.partial(_first_or_last, value=_share_of_precisions),
    Labels.ODDS: functools.partial(_first_or_last, value=_odds),
    Labels.WITHIN_R: functools.partial(_first_or_last, value=_share_within),
    Labels.GAINS_OF_IDEAL: _ratio_of_gains,
    Labels.SHARE_OF_HIGHEST: _scaled,
}
"""The search for each kind of measure."""
