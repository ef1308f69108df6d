"""In which order the documents of a query are judged: methods of pooling."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from treceval_py._types import BoolArray, FloatArray, IntArray
from treceval_py.data.ranking import order_ties
from treceval_py.judging.judged import nth_of
from treceval_py.measuring.facts import Labels
from treceval_py.measuring.probes import parameter, rank_weights, shares
from treceval_py.measuring.registry import Measure
from treceval_py.pooling.lists import UNRANKED, QueryLists

SMOOTHING = 10
"""Constant added to ranks where a document's probability of relevance is estimated from its ranks."""

DEEPEST = 1000
"""Last rank with a weight; what adds up precisions has weights at all ranks."""

HIGHEST = 0.95
"""Highest probability of relevance of an unjudged document."""

Step: TypeAlias = tuple[int, int, int, int, str]
"""The turn in which a document is judged, its place in the turn, its query, its number there, and the reason."""


class Setting(NamedTuple):
    """What decides the order of documents, besides the lists.

    Attributes
    ----------
    measure : Measure
        The measure.
    level : int
        Lowest judgment of a relevant document.
    depth : int
        Lowest rank of documents to judge.
    names : sequence of str, length S
        The names of the runs.
    open : (S, S) bool array
        Whether judgments can still change the order of two runs.
    weights : (K + 1,) float array
        What a relevant document adds to the measure at each rank, relative to rank 1; 0 at rank 0, which there is not.
    queries : int
        Number of queries.
    budget : int or None
        Most documents to judge.
    """

    measure: Measure
    level: int
    depth: int
    names: Sequence[str]
    open: BoolArray
    weights: FloatArray
    queries: int
    budget: int | None


def weights_by_rank(measure: Measure, labels: IntArray) -> FloatArray:
    """Return the weights of ranks 0..`DEEPEST`, which `Setting` has."""
    known = shares(measure, np.append(labels[labels >= 0], max(int(parameter(measure, "level", 1)), 1)), DEEPEST)
    return np.append(0.0, rank_weights(measure, known, DEEPEST))


def _in_order(lists: QueryLists, setting: Setting, values: FloatArray) -> IntArray:
    """Return the unjudged documents with values above 0, highest first; ties by best rank, then by id."""
    best = lists.best
    rows = np.flatnonzero((lists.labels < 0) & (best <= setting.depth) & (values > 0))
    order = rows[np.lexsort((best[rows], -values[rows]))]
    tie = np.append(False, (np.diff(values[order]) == 0) & (np.diff(best[order]) == 0))[: len(order)]
    order_ties(order, tie, lambda those: lists.docids.take(those).raw(), later_first=False)
    return order


def _by_depth(lists: QueryLists, setting: Setting) -> Iterator[Step]:
    best = lists.best
    order = _in_order(lists, setting, 1 / best)
    for nth, document in zip(nth_of(best[order]).tolist(), order.tolist(), strict=True):
        ranks = lists.ranks[:, document]
        named = setting.names[int(np.flatnonzero(ranks == best[document])[0])]
        reason = f"rank {best[document]} in {named}; in {np.count_nonzero(ranks)} of {len(ranks)} runs"
        yield int(best[document]), nth, lists.number, document, reason


def _by_order(lists: QueryLists, setting: Setting) -> Iterator[Step]:
    """Yield the documents that contribute most to the variance of the differences between runs.

    If the relevance of documents is independent, the variance of a difference is the sum over unjudged documents of
    p(1 - p)(w - v)²: p is the probability of relevance, w and v are what a relevant document adds to the two runs.
    """
    chances = _probabilities(lists, setting.level)
    weights = _weights(lists, setting, chances)
    apart = setting.open.sum(axis=1) @ weights**2 - (weights * (setting.open @ weights)).sum(axis=0)
    order = _in_order(lists, setting, chances * (1 - chances) * apart)[: setting.budget]
    judged = lists.judged
    for turn, (document, those) in enumerate(zip(order.tolist(), weights[:, order].T, strict=True)):
        effect = np.where(setting.open, np.abs(those[:, None] - those), 0)
        one, other = sorted(divmod(int(effect.argmax()), len(those)))
        pair = f"{setting.names[one]} and {setting.names[other]}"
        moved = f"{effect[one, other] / setting.queries:.6f} between {pair}, if relevant"
        yield turn, judged, lists.number, document, moved


def _probabilities(lists: QueryLists, level: int) -> FloatArray:
    """Estimate the probability that each document is relevant; 0 or 1 if it is judged. (N,).

    For unjudged ones it is half the reciprocal rank fusion, relative to that of rank 1 in all runs, times how often
    judged documents of the query are relevant compared to that.
    """
    fused = np.where(lists.ranks > 0, (1 + SMOOTHING) / (lists.ranks + SMOOTHING), 0.0).mean(axis=0) / 2
    judged, relevant = lists.labels >= 0, lists.labels >= level
    more = (1 + relevant[judged].sum()) / (1 + fused[judged].sum())
    return np.where(judged, relevant, np.minimum(fused * more, HIGHEST))


def _weights(lists: QueryLists, setting: Setting, chances: FloatArray) -> FloatArray:
    """Return what each document is expected to add to the value of each run if it is relevant. (S, N)."""
    measure, kind = setting.measure, setting.measure.family.labels
    ranks = np.where(lists.ranks < len(setting.weights), lists.ranks, 0)
    if kind not in (Labels.PRECISIONS, Labels.ODDS, Labels.WITHIN_R):
        weights: FloatArray = setting.weights[ranks]
        if kind in (Labels.GAINS_OF_IDEAL, Labels.ABOVE_CUTOFF):
            weights /= setting.weights[: max(round(chances.sum()), 1) + 1].sum()
        return weights
    # A relevant document adds its own precision, and one document above each relevant one below it.
    ranks = np.where(ranks <= parameter(measure, "cutoff", UNRANKED), ranks, 0)
    run, document = np.nonzero(ranks)
    rank = ranks[run, document]
    relevant = np.zeros((len(ranks), int(ranks.max(initial=0)) + 1))
    relevant[run, rank] = chances[document]
    above, inverse = np.cumsum(relevant, axis=1) - relevant, relevant / np.maximum(np.arange(relevant.shape[1]), 1)
    below = inverse.sum(axis=1)[:, None] - np.cumsum(inverse, axis=1)
    weights = np.zeros(ranks.shape)
    weights[run, document] = ((1 + above[run, rank]) / rank + below[run, rank]) / max(chances.sum(), 1)
    return weights


def _by_runs(lists: QueryLists, setting: Setting, worth: Callable[[int, int], float], words: str) -> Iterator[Step]:
    """Yield documents of the run that is worth most by the relevant and other documents it gave, its next one each.

    A document that is not judged yet counts as not relevant. Ties go to another run from query to query.
    """
    runs = len(setting.names)
    rows = [np.flatnonzero((ranks > 0) & (ranks <= setting.depth)) for ranks in lists.ranks]
    queues = [iter(of_run[np.argsort(lists.ranks[run, of_run])].tolist()) for run, of_run in enumerate(rows)]
    counts, seen, labels = [(0, 0)] * runs, set(), lists.labels.tolist()
    order = [(lists.number + run) % runs for run in range(runs)]
    turn, judged = 0, lists.judged
    while order:
        run = max(order, key=lambda run: worth(*counts[run]))
        document = next((document for document in queues[run] if document not in seen), None)
        if document is None:
            order.remove(run)
            continue
        seen.add(document)
        (relevant, others), label = counts[run], labels[document]
        if label < 0:
            reason = (
                f"rank {lists.ranks[run, document]} in {setting.names[run]}, {words.format(worth(relevant, others))}"
            )
            yield turn, judged, lists.number, document, reason
            turn += 1
        counts[run] = relevant + (label >= setting.level), others + (label < setting.level)


METHODS: Mapping[str, Callable[[QueryLists, Setting], Iterator[Step]]] = {
    "order": _by_order,
    "depth": _by_depth,
    "mtf": partial(_by_runs, worth=lambda _, others: -others, words="priority {:.0f}"),
    "maxmean": partial(
        _by_runs, worth=lambda relevant, others: (1 + relevant) / (2 + relevant + others), words="mean {:.2f}"
    ),
}
"""The methods, by name. Each yields the unjudged documents of a query, in turns that never fall."""
