"""How far values depend on judgments that are missing: between what they lie, whatever the unjudged documents are.

To take unjudged documents as not relevant does not give the lowest value of a measure that is divided by what could be
found, nor does it give the highest one to take them as relevant: each relevant document more is one more that the
ranking could have had further up. For each measure that is offered it is known among which labels the extremes are.
What is found there is a labelling; the measure itself is computed on it, so an extreme is a value the run can have.
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
from treceval_py.measures.probes import has, parameter, rank_weights, shares, values, with_fixed_ideal
from treceval_py.measures.registry import Measure
from treceval_py.ranges.groups import nth_of, of_relevant, portions, relevant_alone

__all__ = ["UnjudgedRange", "unjudged_ranges"]

MOST_STEPS = 100
"""How often an estimate of the highest nDCG is improved at most; it takes about five times."""


MOST_KEPT = 1 << 18
"""Unjudged documents up to which a labelled run is kept for other measures."""


class UnjudgedRange(NamedTuple):
    """Lowest and highest value over all possible labels of the unjudged retrieved documents.

    Attributes
    ----------
    measure : Measure
        The measure.
    lowest, highest : (Q,) float arrays
        The least and the greatest value of each query.
    lowest_mean, highest_mean : float
        What the measure's own average makes of them.
    judged : (Q,) float array
        The share of judged documents among the first k, k being the measure's cutoff; among all without a cutoff.
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
    """What extremes are searched for.

    Attributes
    ----------
    judged : JudgedRun
        The run with the documents that are judged, and no others.
    query, rank : (U,) int arrays
        The unjudged documents, sorted by query and rank.
    nth : (U,) int array
        How many unjudged documents stand above each.
    measure : Measure
        What is computed.
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
        """How many unjudged documents each query has. (Q,)."""
        return self.judged.count(self.query)

    @property
    def labels(self) -> IntArray:
        """All labels that a document can get."""
        return np.arange(self.top + 1)

    def where(self, mask: BoolArray) -> IntArray:
        """Give the highest label to the unjudged documents of a mask (U,), and 0 to the others."""
        return np.where(mask, self.top, 0)

    def value(self, labels: IntArray) -> FloatArray:
        """Compute the measure, the unjudged documents having these labels (U,). Returns (Q,)."""
        bare = relevant_alone(self.measure)

        def make() -> JudgedRun:
            return (
                self._labelled(of_relevant(self.judged), labels > 0, labels)
                if bare
                else self._labelled(self.judged, slice(None), labels)
            )

        # Other measures have the same labels; but of millions of documents none are kept.
        if len(labels) > MOST_KEPT:
            return values(self.measure, make())
        return values(self.measure, self.judged.once((bare, labels.tobytes()), make))

    def _labelled(self, judged: JudgedRun, rows: BoolArray | slice, labels: IntArray) -> JudgedRun:
        """Return a judged run with some of the unjudged documents, which have labels (U,)."""
        more = Hits(self.query[rows], self.rank[rows], labels[rows])
        query = np.concatenate([judged.hits.query, more.query])
        rank = np.concatenate([judged.hits.rank, more.rank])
        # One key, of which both parts are sorted (or nearly): merging is faster than sorting by two.
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
    """Compute between what values measures lie, over all labels that the unjudged documents retrieved could have.

    A document is unjudged if it has no judgment or a negative one. Its label counts wherever a judgment would: in the
    number of relevant documents and in the ideal ranking as well.

    Parameters
    ----------
    judged : JudgedRun
        The judged run.
    measures : sequence of Measure
        Measures with values for all their parameters.
    max_rel : int
        The highest label; all labels from 0 on are possible. A measure that has a top of the scale of its own goes by
        that.

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
    One relevant document at rank 2. Is the unjudged one above it relevant, AP is 1; is that at rank 3 relevant instead,
    (1/2 + 2/3) / 2 = 0.5833; are none, 1/2; is only that at rank 4, (1/2 + 2/4) / 2.

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
    """Return the run with its judged documents alone, and query and rank of the others."""
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
            measure.family.or_declare(labels, "Choose another measure, such as map, P_10, ndcg_cut_10 or rbp_binary."),
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
"""Labels (U,) among which the lowest values are, and those among which the highest are."""


def _all_or_none(case: _Case) -> Labellings:
    """Label all alike: for measures that never fall, or never rise, when a document is worth more."""
    least, most = 0, case.top
    if has(case.measure, "gains"):
        worth = shares(case.measure, case.labels).worth
        least, most = int(np.argmin(worth)), int(np.argmax(worth))
    alike = np.ones_like(case.query)
    both = [alike * least, alike * most]
    return both, both


def _above_or_below(case: _Case) -> Labellings:
    """Label what stands above the cutoff or what stands below it.

    A relevant document above the cutoff adds at least as much to what is found as to what could be; one below it adds
    to what could be alone. Of documents that are not relevant the same is true.
    """
    above = case.rank <= int(parameter(case.measure, "cutoff"))
    both = [case.where(~above), case.where(above)]
    return both, both


def _first_or_last(case: _Case, value: Callable[[_Counts, Measure], FloatArray]) -> Labellings:
    """Label the first documents or the last ones, so many as give the extreme of a value.

    However many of the unjudged documents are relevant, a measure that rises as they stand further up has its highest
    value if they are the first ones and its lowest one if they are the last.
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
    """Mark the ranks of some queries at which documents stand. Returns (rows, depth)."""
    order = np.argsort(rows)
    at = np.minimum(np.searchsorted(rows[order], query), len(rows) - 1)
    mine = rows[order][at] == query
    marked = np.zeros((len(rows), depth))
    marked[order[at[mine]], rank[mine] - 1] = 1.0
    return marked


class _Counts(NamedTuple):
    """What there is if the unjudged documents down to some rank, or from there on, are relevant.

    Attributes
    ----------
    precisions : (N, L + 1) float array
        The sum of precisions at relevant documents within the cutoff, for ranks 0..L.
    found : (N, L + 1) float array
        How many relevant documents there are within the cutoff.
    relevant : (N, L + 1) float array
        How many there are in all.
    early : (N, L + 1) float array
        How many there are within the rank of that number.
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
            # One more relevant document: its own precision, and one more above each relevant one that stands below.
            added = (above + np.cumsum(open_, axis=1)) * inverse + _after(known * inverse)
        else:
            added = (above + 1) * inverse + _after((known + open_) * inverse)
        plain = (known * above * inverse).sum(axis=1)

        def total(each: FloatArray) -> FloatArray:
            """Add up over the documents that are labelled relevant."""
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
    """Add up what stands to the right of each place. (N, L)."""
    summed: FloatArray = np.cumsum(each[:, ::-1], axis=1)[:, ::-1] - each
    return summed


def _scaled(case: _Case) -> Labellings:
    """Label for trec_eval's RBP, whose gains are divided by the highest of the query, unjudged documents included.

    With a highest label given, the value is highest if all have that one, and lowest if the last document alone has it.
    Without gains of one's own, a label above all others makes up for nothing but the gains of the others.
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
    """The gains of an nDCG as steps, from the lowest to the highest; the IDCG is added up step by step.

    Attributes
    ----------
    labels : (C,) int array
        Labels in ascending order of gain, no two with the same gain.
    gains : (C,) float array
        Their gains.
    rises : (T,) float array
        By how much the gain rises at each step, over all gains there are.
    label_of : (T,) int array
        The first of the labels that has reached a step; C if none has.
    judged : (Q, T) int array
        How many judged documents of each query have reached it.
    summed : (N,) float array
        The weights of the first 0..N-1 ranks, added up.
    """

    labels: IntArray
    gains: FloatArray
    rises: FloatArray
    label_of: IntArray
    judged: IntArray
    summed: FloatArray

    def ideal(self, rows: IntArray, label: int, number: IntArray) -> FloatArray:
        """Add up what the steps of a label add to the ideal if so many unjudged documents (N, …) have reached it."""
        total = np.zeros(number.shape)
        for step in np.flatnonzero(self.label_of == label).tolist():
            judged = self.judged[rows, step].reshape(-1, *[1] * (number.ndim - 1))
            total += self.rises[step] * self.summed[judged + number]
        return total


def _ratio_of_gains(case: _Case) -> Labellings:
    """Label for nDCG.

    Lowest: DCG is linear in the gains and IDCG, a maximum over orders, convex; so the lowest ratio is where each
    document has the lowest or the highest gain, and, however many have the highest, where these are the last ones.
    Highest: with t the highest value, DCG - t·IDCG is at most 0. It is a sum over the steps between gains, and at each
    step highest if the first documents have reached it, a number of them that is found for each step by itself: the
    higher a step, the fewer judged documents have reached it, the more a further one costs, so these numbers fall. From
    a t that is too low this finds labels with a better one, until there is none.
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
    """Return how many of the last documents have the highest label where nDCG is lowest. (N,)."""
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
    """Return what is in the ideal whatever the labels are. (N,)."""
    fixed: FloatArray = steps.ideal(rows, 0, number) + steps.ideal(rows, len(steps.gains), np.zeros_like(number))
    return fixed


def _highest(steps: _Steps, rows: IntArray, number: IntArray, base: FloatArray, first: FloatArray) -> IntArray:
    """Return how many of the first documents have reached each label but the lowest where nDCG is highest. (N, C-1)."""
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
"""Where the extremes are looked for."""
