"""Measures of graded relevance: cumulated gain and its kin.

Without gains of one's own the gain of a document is its judgment; documents without a judgment, or with a negative
one, have the gain 0. The ideal ranking has all judged documents of the query in descending order of gain.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from treceval_py._types import FloatArray, IntArray
from treceval_py.judging import Hits, JudgedRun, ratio
from treceval_py.measures.parameters import Gains

GainMap = Mapping[int, float] | None


class _Gained(NamedTuple):
    """Documents with a gain above 0, sorted by query and rank; all arrays have one shape."""

    query: IntArray
    rank: IntArray
    gain: FloatArray


@functools.lru_cache(maxsize=4)
def _discount_table(size: int) -> FloatArray:
    # math.log2 is the C library's; NumPy's vector version differs in the last bit at some ranks.
    return np.array([math.log2(rank + 1) if rank else 1.0 for rank in range(size)], dtype=np.float64)


def _discounts(ranks: IntArray) -> FloatArray:
    """Return log2(rank + 1) for each rank."""
    deepest = int(ranks.max(initial=0))
    if deepest < 4096:
        return _discount_table(4096)[ranks]
    distinct, place = np.unique(ranks, return_inverse=True)
    table = np.array([math.log2(rank + 1) for rank in distinct.tolist()])
    return table[place]


def _gain_of(rels: IntArray, gains: GainMap) -> FloatArray:
    values = np.maximum(rels, 0).astype(np.float64)
    for level, gain in (gains or {}).items():
        values[rels == level] = gain
    return values


def _gained(hits: Hits, gains: GainMap) -> _Gained:
    gain = _gain_of(hits.rel, gains)
    some = gain > 0
    return _Gained(hits.query[some], hits.rank[some], gain[some])


def _retrieved(run: JudgedRun, gains: GainMap) -> _Gained:
    return run.once(("gained", _key(gains)), lambda: _gained(run.hits, gains))


def _ideal(run: JudgedRun, gains: GainMap) -> _Gained:
    def make() -> _Gained:
        query, rank, gain = _gained(run.ideal, gains)
        if not gains:  # documents stand in descending order of judgment already
            return _Gained(query, rank, gain)
        order = np.lexsort((-gain, query))
        starts = np.searchsorted(query, np.arange(run.num_queries))
        return _Gained(query, np.arange(len(query)) - starts[query] + 1, gain[order])

    return run.once(("ideal", _key(gains)), make)


def _key(gains: GainMap) -> Gains | None:
    return Gains(gains) if gains else None


def _cumulated(run: JudgedRun, gained: _Gained, cutoff: int | None = None) -> FloatArray:
    """Add up discounted gains. Returns (Q,)."""
    query, rank, gain = gained
    if cutoff is not None:
        within = rank <= cutoff
        query, rank, gain = query[within], rank[within], gain[within]
    return run.sum(query, gain / _discounts(rank))


def _by_query(run: JudgedRun, gained: _Gained) -> list[tuple[IntArray, FloatArray]]:
    """Return rank and gain of each query's documents, for what has to go through queries one by one."""
    starts = np.searchsorted(gained.query, np.arange(run.num_queries + 1)).tolist()
    return [(gained.rank[start:stop], gained.gain[start:stop]) for start, stop in pairwise(starts)]


def discounted_cumulated_gain(run: JudgedRun, *, gains: GainMap = None) -> FloatArray:
    """Discounted cumulated gain (DCG) of the whole ranking.

    Formula
    -------
    DCG = sum over ranks i of gain(i) / log2(i + 1).

    Parameters
    ----------
    gains : mapping of int to float
        The gain of each judgment, from 0; a judgment that is not named is its own gain.

    Returns
    -------
    (Q,) float array
        From 0. Empty case: 0.

    References
    ----------
    trec_eval 10.0, measure ``dcg``. Järvelin, K., Kekäläinen, J. Cumulated Gain-Based Evaluation of IR Techniques.
    ACM TOIS 20(4), 2002; the discount log2(i + 1) is that of Burges, C. et al. Learning to Rank Using Gradient
    Descent. ICML 2005.

    Examples
    --------
    2/log2(2) + 1/log2(4)

    >>> discounted_cumulated_gain(ranked_labels("2 0 1"))
    array([2.5])
    """
    return _cumulated(run, _retrieved(run, gains))


def ideal_discounted_cumulated_gain(run: JudgedRun, *, gains: GainMap = None) -> FloatArray:
    """DCG of the best possible ranking of all judged documents.

    Formula
    -------
    IDCG = sum over the judged documents in descending order of gain, at ranks i, of gain(i) / log2(i + 1).

    Parameters
    ----------
    gains : mapping of int to float
        The gain of each judgment, from 0; a judgment that is not named is its own gain.

    Returns
    -------
    (Q,) float array
        From 0. Empty case: the query's own value, which does not depend on the run.

    References
    ----------
    trec_eval 10.0, measure ``ideal_dcg``. Järvelin, K., Kekäläinen, J. Cumulated Gain-Based Evaluation of IR
    Techniques. ACM TOIS 20(4), 2002.

    Examples
    --------
    2/log2(2) + 2/log2(3)

    >>> ideal_discounted_cumulated_gain(ranked_labels("2 0", missed="2"))
    array([3.26185951])
    """
    return _cumulated(run, _ideal(run, gains))


def normalized_discounted_cumulated_gain(run: JudgedRun, *, gains: GainMap = None) -> FloatArray:
    """NDCG: normalized discounted cumulated gain of the whole ranking.

    Formula
    -------
    nDCG = DCG / IDCG, DCG = sum over ranks i of gain(i) / log2(i + 1), IDCG = DCG of the best possible ranking.

    Parameters
    ----------
    gains : mapping of int to float
        The gain of each judgment, from 0; a judgment that is not named is its own gain.

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also when no judged document has a gain.

    References
    ----------
    trec_eval 10.0, measure ``ndcg``. Järvelin, K., Kekäläinen, J. Cumulated Gain-Based Evaluation of IR Techniques.
    ACM TOIS 20(4), 2002; the discount log2(i + 1) is that of Burges, C. et al. Learning to Rank Using Gradient
    Descent. ICML 2005.

    Examples
    --------
    (1/log2(2) + 2/log2(3)) / (2/log2(2) + 1/log2(3))

    >>> normalized_discounted_cumulated_gain(ranked_labels("1 2 0"))
    array([0.8597187])
    """
    return ratio(_cumulated(run, _retrieved(run, gains)), _cumulated(run, _ideal(run, gains)))


def normalized_discounted_cumulated_gain_at(run: JudgedRun, *, cutoff: int, gains: GainMap = None) -> FloatArray:
    """NDCG of the first k documents, as in nDCG@10.

    Formula
    -------
    nDCG@k = DCG@k / IDCG@k, both over ranks 1..k; DCG@k = sum over ranks i of gain(i) / log2(i + 1).

    Parameters
    ----------
    cutoff : int
        k, from 1.
    gains : mapping of int to float
        The gain of each judgment, from 0; a judgment that is not named is its own gain.

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also when no judged document has a gain.

    References
    ----------
    trec_eval 10.0, measure ``ndcg_cut``. Järvelin, K., Kekäläinen, J. Cumulated Gain-Based Evaluation of IR
    Techniques. ACM TOIS 20(4), 2002; the discount log2(i + 1) is that of Burges, C. et al. Learning to Rank Using
    Gradient Descent. ICML 2005.

    Examples
    --------
    The first rank has 1 where 2 would be possible.

    >>> normalized_discounted_cumulated_gain_at(ranked_labels("1 2 0"), cutoff=1)
    array([0.5])
    """
    return ratio(_cumulated(run, _retrieved(run, gains), cutoff), _cumulated(run, _ideal(run, gains), cutoff))


def ndcg_averaged_over_relevant(run: JudgedRun, *, gains: GainMap = None) -> FloatArray:
    """Average of nDCG at the rank of each document with a gain.

    Formula
    -------
    ndcg_rel = (1/m) · sum of DCG@i / IDCG@i over the ranks i of documents with a gain, and of DCG / IDCG for each of
    the m judged documents with a gain that was not retrieved.

    Parameters
    ----------
    gains : mapping of int to float
        The gain of each judgment, from 0; a judgment that is not named is its own gain.

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also when no judged document has a gain.

    References
    ----------
    trec_eval 10.0, measure ``ndcg_rel``.

    Examples
    --------
    At rank 1: 1/2. The other document has DCG / IDCG = 1 / (2 + 1/log2(3)).

    >>> ndcg_averaged_over_relevant(ranked_labels("1", missed="2"))
    array([0.44004688])
    """
    values = np.zeros(run.num_queries)
    pairs = zip(_by_query(run, _retrieved(run, gains)), _by_query(run, _ideal(run, gains)), strict=True)
    for query, ((rank, gain), (best_rank, best_gain)) in enumerate(pairs):
        if not len(rank):
            continue
        ideal = np.cumsum(best_gain / _discounts(best_rank))
        here = np.cumsum(gain / _discounts(rank))
        total = np.add.accumulate(here / ideal[np.minimum(rank, len(ideal)) - 1])[-1]
        missed = len(ideal) - len(rank)
        values[query] = (total + missed * here[-1] / ideal[-1]) / len(ideal)
    return values


def ndcg_averaged_over_levels(run: JudgedRun, *, level: int = 1, gains: GainMap = None) -> FloatArray:
    """Average of nDCG at the ranks at which the ideal ranking goes from one gain to the next.

    Formula
    -------
    Rndcg = mean of DCG@i / IDCG@i over the ranks i at which a gain ends in the ideal ranking, and of one more for a
    ranking that is longer than the ideal one by more than a document: its whole DCG over the whole IDCG.

    Parameters
    ----------
    level : int
        Least judgment that counts as relevant, from 0; only used to tell whether R = 0.
    gains : mapping of int to float
        The gain of each judgment, from 0; a judgment that is not named is its own gain.

    Returns
    -------
    (Q,) float array
        From 0. Empty case: 0, also when R = 0.

    References
    ----------
    trec_eval 10.0, measure ``Rndcg``.

    Examples
    --------
    The ideal ranking is 2 1: its gain changes after ranks 1 and 2. At 1: 1/2. At 2: (1 + 2/log2(3)) / (2 + 1/log2(3)).

    >>> ndcg_averaged_over_levels(ranked_labels("1 2"))
    array([0.67985935])
    """
    values = np.zeros(run.num_queries)
    relevant = run.num_rel(level).tolist()
    pairs = zip(_by_query(run, _retrieved(run, gains)), _by_query(run, _ideal(run, gains)), strict=True)
    for query, ((rank, gain), (best_rank, best_gain)) in enumerate(pairs):
        if relevant[query] and len(best_gain):
            ideal = np.cumsum(best_gain / _discounts(best_rank))
            values[query] = _mean_at_changes(rank, gain, best_gain, ideal, int(run.num_ret[query]))
    return values


def _mean_at_changes(
    rank: IntArray, gain: FloatArray, best_gain: FloatArray, ideal: FloatArray, retrieved: int
) -> float:
    here = np.concatenate([[0.0], np.cumsum(gain / _discounts(rank))])
    last = len(ideal)
    changes = [*(np.flatnonzero(np.diff(best_gain)) + 1).tolist(), last]
    shares = [float(here[np.searchsorted(rank, at, side="right")] / ideal[at - 1]) for at in changes]
    if retrieved > last + 1:
        shares.append(float(here[-1] / ideal[-1]))
    return float(np.add.accumulate(shares)[-1]) / len(shares)


def normalized_g(run: JudgedRun, *, gains: GainMap = None) -> FloatArray:
    """Gain divided by the logarithm of the cost so far, which is what an ideal ranking would have and ours has not.

    Formula
    -------
    G = (sum over documents with a gain of gain / log2(2 + C - A)) / (sum of all gains), at the document's rank A =
    gains so far, C = for each rank so far the ideal ranking's gain, at least 1.

    Parameters
    ----------
    gains : mapping of int to float
        The gain of each judgment, from 0; a judgment that is not named is its own gain.

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also when no judged document has a gain.

    References
    ----------
    trec_eval 10.0, measure ``G``.

    Examples
    --------
    The ideal ranking is 2 1. At rank 2: A = 2, C = 2 + 1, so 2 / log2(3), over 3.

    >>> normalized_g(ranked_labels("0 2", missed="1"))
    array([0.42061984])
    """
    values = np.zeros(run.num_queries)
    pairs = zip(_by_query(run, _retrieved(run, gains)), _by_query(run, _ideal(run, gains)), strict=True)
    for query, ((rank, gain), (_, best_gain)) in enumerate(pairs):
        if not len(best_gain):
            continue
        more = np.concatenate([[0.0], np.cumsum(np.maximum(best_gain - 1.0, 0.0))])
        cost = rank + more[np.minimum(rank, len(best_gain))]
        # At least 2 but for rounding: at each rank the cost so far is no less than the gains so far.
        logs = [math.log2(max(excess, 2.0)) for excess in (2.0 + cost - np.cumsum(gain)).tolist()]
        values[query] = sum((gain / np.array(logs)).tolist(), start=0.0)
    return ratio(values, run.sum(_ideal(run, gains).query, _ideal(run, gains).gain))


def binary_g(run: JudgedRun, *, level: int = 1) -> FloatArray:
    """Share of relevant documents, each divided by the logarithm of the others above it.

    Formula
    -------
    binG = (1/R) · sum over the relevant documents retrieved of 1 / log2(2 + documents above it that are not relevant).

    Parameters
    ----------
    level : int
        Least judgment that counts as relevant, from 0.

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also when R = 0.

    References
    ----------
    trec_eval 10.0, measure ``binG``.

    Examples
    --------
    (1/log2(2) + 1/log2(4)) / 2

    >>> binary_g(ranked_labels("1 0 - 1"))
    array([0.75])
    """
    found = run.found(level)
    return ratio(run.sum(found.query, 1.0 / _discounts(found.rank - found.nth + 1)), run.num_rel(level))


def rank_biased_precision(run: JudgedRun, *, p: float = 0.9, gains: GainMap = None) -> FloatArray:
    """Rank-biased precision (RBP), gains divided by the highest of the query.

    Formula
    -------
    RBP = (1 - p) · sum over ranks i of gain(i)·p^(i-1). Where the highest gain in the query's table is above 1, all
    gains are divided by it. The table holds the gains of all levels from 0 to the highest judgment of the query.

    Parameters
    ----------
    p : float
        Probability of going on to the next document, between 0 and 1.
    gains : mapping of int to float
        The gain of each judgment, from 0; a judgment that is not named is its own gain.

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0.

    References
    ----------
    trec_eval 10.0, measure ``rbp``. Moffat, A., Zobel, J. Rank-Biased Precision for Measurement of Retrieval
    Effectiveness. ACM TOIS 27(1), 2008, where gains are divided by the highest of the scale, not of the query.

    Examples
    --------
    (1 - 0.5) · (1 + 0.5²)

    >>> rank_biased_precision(ranked_labels("1 0 1"), p=0.5)
    array([0.625])
    """
    query, rank, gain = _retrieved(run, gains)
    highest = _highest_gains(run, gains)
    scale = np.where(highest > 1, highest, 1.0)
    return (1.0 - p) * run.sum(query, gain / scale[query] * _powers(p, rank))


def _reach(p: float) -> int:
    """Return a rank beyond which every power of p is 0 in float64, or, for p near 1, one beyond every ranking."""
    if p <= 0.0:
        return 1
    return min(int(math.log(5e-324) / math.log(p)) + 2, 1 << 24) if p < 1.0 else 1 << 24


def _powers(p: float, ranks: IntArray) -> FloatArray:
    """Return p^(rank - 1), multiplied out as a loop does."""
    size = min(int(ranks.max(initial=1)), _reach(p) + 1)
    table: FloatArray = np.cumprod(np.concatenate([[1.0], np.full(size - 1, p)]))
    powers: FloatArray = table[np.minimum(ranks, size) - 1]
    return powers


def _highest_gains(run: JudgedRun, gains: GainMap) -> FloatArray:
    """Return the highest gain in the table of each query's levels. (Q,)."""
    starts = run.starts(run.ideal)
    judged = starts[1:] > starts[:-1]
    highest_level = np.full(run.num_queries, -1, dtype=np.int64)
    highest_level[judged] = run.ideal.rel[starts[:-1][judged]]
    named = max(gains.values(), default=0.0) if gains else 0.0
    highest = np.full(run.num_queries, named)
    for query, top in enumerate(highest_level.tolist()):
        unnamed = top
        while gains and unnamed in gains:
            unnamed -= 1
        highest[query] = max(named, float(unnamed), 0.0)
    return highest


def rank_biased_precision_residual(
    run: JudgedRun,
    *,
    p: float = 0.9,
    gains: GainMap = None,  # noqa: ARG001 - so that rbp and rbp_resid take the same parameters
) -> FloatArray:
    """Residual of RBP: how much unjudged documents could add to it.

    Formula
    -------
    rbp_resid = p^n + (1 - p) · sum over the ranks i of unjudged documents of p^(i-1), n = documents retrieved; 0 if all
    of them are judged, as in trec_eval.

    Parameters
    ----------
    p : float
        Probability of going on to the next document, between 0 and 1.
    gains : mapping of int to float
        Without effect; taken so that ``rbp`` and ``rbp_resid`` can be given the same parameters.

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0.

    References
    ----------
    trec_eval 10.0, measure ``rbp_resid``. Moffat, A., Zobel, J. Rank-Biased Precision for Measurement of Retrieval
    Effectiveness. ACM TOIS 27(1), 2008, where the tail p^n is always there.

    Examples
    --------
    n = 2, and the document at rank 2 is unjudged: 0.5² + 0.5 · 0.5.

    >>> rank_biased_precision_residual(ranked_labels("1 -"), p=0.5)
    array([0.5])
    """
    judged = run.hits.where(run.hits.rel >= 0)
    counts = run.count(judged.query)
    starts = run.starts(judged)
    values = np.zeros(run.num_queries)
    for query, retrieved in enumerate(run.num_ret.tolist()):
        if counts[query] == retrieved:
            continue
        # Down to the rank beyond which all powers are 0: a deep run costs no more than that.
        weights = _powers(p, np.arange(1, min(retrieved, _reach(p)) + 2))
        tail, weights = (float(weights[-1]), weights[:-1]) if retrieved <= _reach(p) else (0.0, weights)
        unjudged = np.ones(len(weights), dtype=bool)
        ranks = judged.rank[starts[query] : starts[query + 1]]
        unjudged[ranks[ranks <= len(weights)] - 1] = False
        total = float(np.add.accumulate(np.concatenate([[0.0], weights[unjudged]]))[-1])
        values[query] = tail + (1.0 - p) * total
    return values
