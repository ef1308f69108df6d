"""Measures of graded relevance: cumulated gain and related measures.

Unless gains are given, the gain of a document is its judgment. Documents without a judgment, or with a negative one,
have gain 0. The ideal ranking contains all judged documents of the query in descending order of gain.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from treceval_py._types import BoolArray, FloatArray, IntArray
from treceval_py.errors import EvaluationError, MeasureError
from treceval_py.judging.judged import Hits, JudgedRun, Tied, nth_of, ratio
from treceval_py.measuring.parameters import MOST_MAX_REL, Gains

GainMap = Mapping[int, float] | None


class Gained(NamedTuple):
    """Documents with a gain above 0, sorted by query and rank; all arrays have the same shape."""

    query: IntArray
    rank: IntArray
    gain: FloatArray

    def within(self, cutoff: int | None) -> Gained:
        """Return those down to a cutoff, if there is one."""
        return self if cutoff is None else self.where(self.rank <= cutoff)

    def where(self, rows: BoolArray) -> Gained:
        """Return those with True in a mask."""
        return self if rows.all() else Gained(self.query[rows], self.rank[rows], self.gain[rows])


def too_high(judgment: int, limited: str) -> EvaluationError:
    """Return the error about a judgment that is too high for a parameter or a measure, whatever is given to it."""
    problem = f"a document is judged {judgment}, and {limited} takes judgments up to {MOST_MAX_REL}"
    return EvaluationError(problem, f"Put the judgments on a scale of at most {MOST_MAX_REL}.")


def check_scale(run: JudgedRun, max_rel: int) -> None:
    """Check that no document is judged above the top of the scale.

    Raises
    ------
    EvaluationError
        A document is.
    """
    highest = int(run.ideal.rel.max(initial=0))
    if highest > max(max_rel, MOST_MAX_REL):
        raise too_high(highest, "max_rel")
    if highest > max_rel:
        problem = f"a document is judged {highest}, above max_rel={max_rel}"
        raise EvaluationError(problem, f"Give the top of the scale, such as max_rel={highest}.")


class Discount(NamedTuple):
    """The divisors of gains: log2(rank + 1), the rank, or Järvelin and Kekäläinen's discount for a base."""

    kind: str = "log2"
    base: float = 2.0

    def of(self, rank: int) -> float:
        """Return the divisor of a rank."""
        # math.log2 is the C library's; NumPy's vector version differs in the last bit at some ranks.
        if self.kind == "jk":
            return 1.0 if rank < self.base else math.log2(rank) / math.log2(self.base)
        if self.kind == "position":
            return float(max(rank, 1))
        return math.log2(rank + 1) if rank else 1.0


_LOG2 = Discount()

TABLE = 4096
"""Number of ranks with a stored discount."""


def discount_named(kind: str, base: float) -> Discount:
    """Return the discount for given values of its parameters.

    Raises
    ------
    MeasureError
        A base was given but has no effect.
    """
    if kind != "jk" and base != _LOG2.base:
        problem = f"base={base:.15g} has no effect with discount={kind}"
        raise MeasureError(problem, "Ask for discount=jk, or leave out the base.")
    return Discount(kind, base)


@functools.lru_cache(maxsize=8)
def _discount_table(size: int, discount: Discount) -> FloatArray:
    return np.array([discount.of(rank) for rank in range(size)], dtype=np.float64)


def discounts(ranks: IntArray, discount: Discount = _LOG2) -> FloatArray:
    """Return the divisor of the gain at each rank."""
    deepest = int(ranks.max(initial=0))
    if deepest < TABLE:
        return _discount_table(TABLE, discount)[ranks]
    distinct, place = np.unique(ranks, return_inverse=True)
    table = np.array([discount.of(rank) for rank in distinct.tolist()])
    return table[place]


@functools.lru_cache(maxsize=4)
def _summed_weights(size: int, discount: Discount) -> FloatArray:
    """Return, for each rank below ``size``, the sum of 1 / discount over this and all higher ranks."""
    return np.cumsum(np.concatenate([[0.0], 1.0 / discounts(np.arange(1, size), discount)]))


def gain_of(rels: IntArray, gains: GainMap, gain: str = "linear") -> FloatArray:
    """Return the gain of each judgment.

    Raises
    ------
    MeasureError
        Both gains and a rule for gains are given.
    EvaluationError
        A judgment is too high for an exponential gain.
    """
    if gain != "linear":
        if gains:
            raise MeasureError(f"gains are given, and gain={gain} has its own", "Leave out one of them.")
        if gain == "binary":
            return np.where(rels > 0, 1.0, 0.0)
        highest = int(rels.max(initial=0))
        if highest > MOST_MAX_REL:
            raise too_high(highest, "gain=exp")
        return np.ldexp(1.0, np.maximum(rels, 0)) - 1.0
    values = np.maximum(rels, 0).astype(np.float64)
    for level, value in (gains or {}).items():
        values[rels == level] = value
    return values


def _gained(hits: Hits, gains: GainMap, gain: str = "linear") -> Gained:
    values = gain_of(hits.rel, gains, gain)
    return Gained(hits.query, hits.rank, values).where(values > 0)


def _retrieved(run: JudgedRun, gains: GainMap, gain: str = "linear") -> Gained:
    return run.once(("gained", _key(gains), gain), lambda: _gained(run.hits, gains, gain))


def _ideal(run: JudgedRun, gains: GainMap, gain: str = "linear", ideal: str = "judged") -> Gained:
    """Return the documents with a gain, all judged ones or those retrieved, in descending order of gain."""

    def make() -> Gained:
        of = run.hits if ideal == "retrieved" else run.ideal
        query, rank, values = _gained(of, gains, gain)
        if not gains and ideal == "judged":  # documents are already in descending order of judgment
            return Gained(query, rank, values)
        order = np.lexsort((-values, query))
        return Gained(query, nth_of(query), values[order])

    once = run.known if ideal == "judged" else run.once
    return once(("ideal", _key(gains), gain, ideal), make)


def _key(gains: GainMap) -> Gains | None:
    return Gains(gains) if gains else None


def _cumulated(run: JudgedRun, gained: Gained, cutoff: int | None = None, discount: Discount = _LOG2) -> FloatArray:
    """Add up discounted gains. Returns (Q,)."""
    query, rank, gain = gained.within(cutoff)
    return run.sum(query, gain / discounts(rank, discount))


def _cumulated_gain(
    run: JudgedRun, gains: GainMap, gain: str, cutoff: int | None, discount: Discount, ties: str
) -> FloatArray:
    """Return the DCG of the ranking; tied documents may share the average discount over all their orders. (Q,)."""
    if ties == "ordered":
        return _cumulated(run, _retrieved(run, gains, gain), cutoff, discount)
    if run.tied is None and len(run.hits.query):
        raise EvaluationError("a measure with ties=average needs to know ties", "Judge the run with tied=True.")
    tied = run.tied or Tied(run.hits.rank, run.hits.rank)
    values = gain_of(run.hits.rel, gains, gain)
    some = values > 0
    if cutoff is not None:
        some &= tied.first <= cutoff
    query, rank, _ = run.hits.where(some)
    first, last = tied.where(some)
    # A ranking that was cut has no lower ranks. A rank column may have gaps, so its ranks may exceed the count.
    last = np.maximum(np.minimum(last, run.num_ret[query]), first)
    end = last if cutoff is None else np.minimum(last, cutoff)
    summed = _summed_weights(1 << max(12, int(end.max(initial=0)).bit_length()), discount)
    averaged = values[some] * ((summed[end] - summed[first - 1]) / (last - first + 1))
    return run.sum(query, np.where(first == last, values[some] / discounts(rank, discount), averaged))


def _by_query(run: JudgedRun, gains: GainMap) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
    """Yield ranks and gains of each query's documents, and the gains of the ideal ranking; some may have none."""
    retrieved, ideal = _retrieved(run, gains), _ideal(run, gains)
    queries = np.arange(run.num_queries + 1)
    starts, best_starts = (np.searchsorted(each.query, queries).tolist() for each in (retrieved, ideal))
    for (start, stop), (first, end) in zip(pairwise(starts), pairwise(best_starts), strict=True):
        yield retrieved.rank[start:stop], retrieved.gain[start:stop], ideal.gain[first:end]


def discounted_cumulated_gain(
    run: JudgedRun,
    *,
    cutoff: int | None = None,
    gains: GainMap = None,
    gain: str = "linear",
    discount: str = "log2",
    base: float = 2.0,
    ties: str = "ordered",
) -> FloatArray:
    r"""Discounted cumulated gain (DCG) of the whole ranking.

    Formula
    -------
    DCG = sum over ranks i of gain(i) / discount(i), where discount(i) = log2(i + 1) by default.

    .. math:: \mathrm{DCG} = \sum_{i} \frac{\mathrm{gain}(i)}{\mathrm{discount}(i)}, \qquad \mathrm{discount}(i) =
        \log_2(i + 1)

    DCG@k = sum over ranks i ≤ k of gain(i) / discount(i), where discount(i) = log2(i + 1) by default.

    .. math:: \mathrm{DCG}@k = \sum_{i=1}^{k} \frac{\mathrm{gain}(i)}{\mathrm{discount}(i)}, \qquad \mathrm{discount}(i)
        = \log_2(i + 1)

    Parameters
    ----------
    ties : {"ordered", "average"}
        Documents with equal scores keep the ranking's order, or each gets the average of 1 / discount over the ranks
        that they share, with 0 below a cutoff: the mean over all their orders.

    Returns
    -------
    (Q,) float array
        From 0. Empty case: 0.

    References
    ----------
    trec_eval 10.0, measure ``dcg``. Järvelin, K., Kekäläinen, J. Cumulated Gain-Based Evaluation of IR Techniques.
    ACM TOIS 20(4), 2002; the discount log2(i + 1) and the gain 2^g - 1 are those of Burges, C. et al. Learning to Rank
    Using Gradient Descent. ICML 2005. Ties: McSherry, F., Najork, M. Computing Information Retrieval Performance
    Measures Efficiently in the Presence of Tied Scores. ECIR 2008. With ``gain=exp`` ``dcg_burges`` of ranx 0.3.21;
    with ``discount=position`` CatBoost 1.2.10, ``DCG:top=k;denominator=Position``.

    Examples
    --------
    2/log2(2) + 1/log2(4)

    >>> discounted_cumulated_gain(ranked_labels("2 0 1"))
    array([2.5])

    Exponential: (2² - 1)/log2(2) + (2¹ - 1)/log2(4)

    >>> discounted_cumulated_gain(ranked_labels("2 0 1"), gain="exp")
    array([3.5])

    2/log2(2): the document at rank 3 is below the cutoff.

    >>> discounted_cumulated_gain(ranked_labels("2 0 1"), cutoff=2)
    array([2.])

    2/1 + 1/3

    >>> discounted_cumulated_gain(ranked_labels("2 0 1"), cutoff=3, discount="position")
    array([2.33333333])
    """
    return _cumulated_gain(run, gains, gain, cutoff, discount_named(discount, base), ties)


def ideal_discounted_cumulated_gain(
    run: JudgedRun, *, gains: GainMap = None, gain: str = "linear", discount: str = "log2", base: float = 2.0
) -> FloatArray:
    r"""DCG of the best possible ranking of all judged documents.

    Formula
    -------
    IDCG = sum over the judged documents in descending order of gain, at ranks i, of gain(i) / discount(i), where
    discount(i) = log2(i + 1) by default.

    .. math:: \mathrm{IDCG} = \sum_{i} \frac{\mathrm{gain}^*(i)}{\mathrm{discount}(i)}, \qquad \mathrm{discount}(i) =
        \log_2(i + 1)

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
    return _cumulated(run, _ideal(run, gains, gain), None, discount_named(discount, base))


def normalized_discounted_cumulated_gain(
    run: JudgedRun,
    *,
    cutoff: int | None = None,
    gains: GainMap = None,
    gain: str = "linear",
    discount: str = "log2",
    base: float = 2.0,
    ideal: str = "judged",
    ties: str = "ordered",
) -> FloatArray:
    r"""nDCG: normalized discounted cumulated gain of the whole ranking.

    Formula
    -------
    nDCG = DCG / IDCG, DCG = sum over ranks i of gain(i) / discount(i), IDCG = DCG of the best possible ranking, where
    discount(i) = log2(i + 1) by default.

    .. math:: \mathrm{nDCG} = \frac{\mathrm{DCG}}{\mathrm{IDCG}}, \quad \mathrm{DCG} = \sum_{i}
        \frac{\mathrm{gain}(i)}{\mathrm{discount}(i)}, \quad \mathrm{IDCG} = \sum_{i}
        \frac{\mathrm{gain}^*(i)}{\mathrm{discount}(i)}, \quad \mathrm{discount}(i) = \log_2(i + 1)

    nDCG@k = DCG@k / IDCG@k, both over ranks 1..k; DCG@k = sum over ranks i of gain(i) / discount(i), where
    discount(i) = log2(i + 1) by default.

    .. math:: \mathrm{nDCG}@k = \frac{\mathrm{DCG}@k}{\mathrm{IDCG}@k}, \quad \mathrm{DCG}@k = \sum_{i=1}^{k}
        \frac{\mathrm{gain}(i)}{\mathrm{discount}(i)}, \quad \mathrm{IDCG}@k = \sum_{i=1}^{k}
        \frac{\mathrm{gain}^*(i)}{\mathrm{discount}(i)}, \quad \mathrm{discount}(i) = \log_2(i + 1)

    Parameters
    ----------
    ties : {"ordered", "average"}
        Documents with equal scores keep the ranking's order, or each gets the average of 1 / discount over the ranks
        that they share, with 0 below a cutoff: the mean over all their orders.

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also when no judged document has a gain.

    References
    ----------
    trec_eval 10.0, measures ``ndcg`` and ``ndcg_cut``; with ``gain=exp`` gdeval.pl 1.2, the ``ndcg@k`` of TREC's Web
    tracks, which takes judgments up to 4; with ``ideal=retrieved,ties=average`` scikit-learn 1.9, ``ndcg_score`` of the
    documents retrieved. Järvelin, K., Kekäläinen, J. Cumulated Gain-Based Evaluation of IR Techniques. ACM TOIS 20(4),
    2002; the discount log2(i + 1) and the gain 2^g - 1 are those of Burges, C. et al. Learning to Rank Using Gradient
    Descent. ICML 2005. Ties: McSherry, F., Najork, M. Computing Information Retrieval Performance Measures Efficiently
    in the Presence of Tied Scores. ECIR 2008.

    Examples
    --------
    (1/log2(2) + 2/log2(3)) / (2/log2(2) + 1/log2(3))

    >>> normalized_discounted_cumulated_gain(ranked_labels("1 2 0"))
    array([0.8597187])

    With the discounts 1, 1, log2(3) of Järvelin and Kekäläinen: (1 + 2) / (2 + 1)

    >>> normalized_discounted_cumulated_gain(ranked_labels("1 2 0"), discount="jk")
    array([1.])

    The first document has gain 1, where 2 would be possible.

    >>> normalized_discounted_cumulated_gain(ranked_labels("1 2 0"), cutoff=1)
    array([0.5])

    The document judged 2 was not retrieved. The ideal of all judgments contains it; that of the ranking does not.

    >>> normalized_discounted_cumulated_gain(ranked_labels("1 0", missed="2"), cutoff=1, ideal="retrieved")
    array([1.])
    """
    discounting = discount_named(discount, base)
    once = run.known if ideal == "judged" else run.once
    best = once(
        ("gain of ideal", _key(gains), gain, cutoff, discounting, ideal),
        lambda: _cumulated(run, _ideal(run, gains, gain, ideal), cutoff, discounting),
    )
    return ratio(_cumulated_gain(run, gains, gain, cutoff, discounting, ties), best)


def average_gain(run: JudgedRun, *, cutoff: int, gains: GainMap = None, gain: str = "linear") -> FloatArray:
    r"""Average gain of the first k documents.

    Formula
    -------
    AverageGain@k = (sum of the gains at ranks 1..k) / min(k, documents retrieved).

    .. math:: \mathrm{AverageGain}@k = \frac{1}{\min(k, |\text{retrieved}|)} \sum_{i=1}^{k} \mathrm{gain}(i)

    Returns
    -------
    (Q,) float array
        From 0. Empty case: 0.

    References
    ----------
    CatBoost 1.2.10, ``AverageGain:top=k``, which is also called ``QueryAverage:top=k``.

    Examples
    --------
    (2 + 0 + 1) / 3

    >>> average_gain(ranked_labels("2 0 1"), cutoff=5)
    array([1.])
    """
    query, _, gained = _retrieved(run, gains, gain).within(cutoff)
    return ratio(run.sum(query, gained), np.minimum(run.num_ret, cutoff))


def average_relevance_position(run: JudgedRun, *, gains: GainMap = None, gain: str = "linear") -> FloatArray:
    r"""Average relevance position (ARP): the mean rank of the documents retrieved, weighted by their gains.

    Formula
    -------
    ARP = (sum of rank · gain over the documents retrieved) / (sum of their gains). Less is better.

    .. math:: \mathrm{ARP} = \frac{\sum_{i} i \cdot \mathrm{gain}(i)}{\sum_{i} \mathrm{gain}(i)}

    Returns
    -------
    (Q,) float array
        From 1, or 0 if no document with a gain was retrieved. Empty case: 0.

    References
    ----------
    TensorFlow Ranking, metric ``arp``: Pasumarthi, R. K. et al. TF-Ranking: Scalable TensorFlow Library for
    Learning-to-Rank. KDD 2019. The average rank of relevant documents: Zhu, M. Recall, Precision and Average Precision.
    University of Waterloo, 2004.

    Examples
    --------
    (1 · 1 + 3 · 2) / (1 + 2)

    >>> average_relevance_position(ranked_labels("1 0 2"))
    array([2.33333333])
    """
    query, rank, gained = _retrieved(run, gains, gain)
    return ratio(run.sum(query, rank * gained), run.sum(query, gained))


def ndcg_averaged_over_relevant(run: JudgedRun, *, gains: GainMap = None) -> FloatArray:
    r"""Average of nDCG at the rank of each document with a gain.

    Formula
    -------
    ndcg_rel = (1/m) · sum of DCG@i / IDCG@i over the ranks i of documents with a gain, and of DCG / IDCG for each of
    the m judged documents with a gain that was not retrieved.

    .. math:: \mathrm{ndcg\_rel} = \frac{1}{m} \left(\sum_{i\,:\,\mathrm{gain}(i) > 0}
        \frac{\mathrm{DCG}@i}{\mathrm{IDCG}@i} + u\,\frac{\mathrm{DCG}}{\mathrm{IDCG}}\right), \quad u = \text{those not
        retrieved}

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
    for query, (rank, gain, best_gain) in enumerate(_by_query(run, gains)):
        if not len(rank):
            continue
        ideal = np.cumsum(best_gain / discounts(np.arange(1, len(best_gain) + 1)))
        here = np.cumsum(gain / discounts(rank))
        total = np.add.accumulate(here / ideal[np.minimum(rank, len(ideal)) - 1])[-1]
        missed = len(ideal) - len(rank)
        values[query] = (total + missed * here[-1] / ideal[-1]) / len(ideal)
    return values


def ndcg_averaged_over_levels(run: JudgedRun, *, level: int = 1, gains: GainMap = None) -> FloatArray:
    r"""Average of nDCG at the ranks where the ideal ranking moves to a lower gain.

    Formula
    -------
    Rndcg = mean of DCG@i / IDCG@i over the ranks i at which a gain ends in the ideal ranking. If the ranking is longer
    than the ideal one by more than one document, its whole DCG over the whole IDCG is one more term.

    .. math:: \mathrm{Rndcg} = \frac{1}{|L|} \sum_{i \in L} \frac{\mathrm{DCG}@i}{\mathrm{IDCG}@i}, \qquad L = \{i :
        \mathrm{gain}^*(i) > \mathrm{gain}^*(i + 1)\}

    Parameters
    ----------
    level : int
        Lowest judgment that counts as relevant; it is used only to decide whether R = 0.

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
    relevant, retrieved = run.num_rel(level).tolist(), run.num_ret.tolist()
    for query, (rank, gain, best_gain) in enumerate(_by_query(run, gains)):
        last = len(best_gain)
        if not relevant[query] or not last:
            continue
        ideal = np.cumsum(best_gain / discounts(np.arange(1, last + 1)))
        here = np.concatenate([[0.0], np.cumsum(gain / discounts(rank))])
        changes = np.append(np.flatnonzero(np.diff(best_gain)) + 1, last)
        shares = here[np.searchsorted(rank, changes, side="right")] / ideal[changes - 1]
        if retrieved[query] > last + 1:
            shares = np.append(shares, here[-1] / ideal[-1])
        values[query] = np.add.accumulate(shares)[-1] / len(shares)
    return values


def normalized_g(run: JudgedRun, *, gains: GainMap = None) -> FloatArray:
    r"""Sum of gains, each divided by the logarithm of how far the ranking lags behind the ideal one.

    Formula
    -------
    G = (sum over documents with a gain of gain / log2(2 + C - A)) / (sum of all gains). At the document's rank, A is
    the sum of gains so far, and C is the sum over ranks so far of the ideal ranking's gain, at least 1 per rank.

    .. math:: \mathrm{G} = \frac{\sum_{i} \mathrm{gain}(i) / \log_2(2 + C_i - A_i)}{\sum_{i} \mathrm{gain}^*(i)}, \quad
        A_i = \sum_{j \le i} \mathrm{gain}(j), \quad C_i = \sum_{j \le i} \max(1, \mathrm{gain}^*(j))

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
    for query, (rank, gain, best_gain) in enumerate(_by_query(run, gains)):
        if not len(best_gain):
            continue
        more = np.concatenate([[0.0], np.cumsum(np.maximum(best_gain - 1.0, 0.0))])
        cost = rank + more[np.minimum(rank, len(best_gain))]
        # At least 2, apart from rounding: at each rank, the cost so far is not below the gains so far.
        logs = [math.log2(max(excess, 2.0)) for excess in (2.0 + cost - np.cumsum(gain)).tolist()]
        values[query] = np.add.accumulate(gain / np.array(logs))[-1] if len(gain) else 0.0
    ideal = _ideal(run, gains)
    return ratio(values, run.sum(ideal.query, ideal.gain))


def binary_g(run: JudgedRun, *, level: int = 1) -> FloatArray:
    r"""Share of relevant documents, each divided by the logarithm of the non-relevant ones above it.

    Formula
    -------
    binG = (1/R) · sum over the relevant documents retrieved of 1 / log2(2 + documents above it that are not relevant).

    .. math:: \mathrm{binG} = \frac{1}{R} \sum_{i\,:\,r_i = 1} \frac{1}{\log_2(2 + n_i)}, \qquad n_i = |\{j < i : r_j =
        0\}|

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
    relevant = run.found(level)
    return ratio(run.sum(relevant.query, 1.0 / discounts(relevant.rank - relevant.nth + 1)), run.num_rel(level))


def rank_biased_precision(run: JudgedRun, *, p: float = 0.9, gains: GainMap = None) -> FloatArray:
    r"""Rank-biased precision (RBP), with gains divided by the query's highest.

    Formula
    -------
    RBP = (1 - p) · sum over ranks i of gain(i)·p^(i-1). If the highest gain in the query's table is above 1, all gains
    are divided by it. The table has the gains of all levels from 0 to the query's highest judgment.

    .. math:: \mathrm{RBP} = (1 - p) \sum_{i} \frac{\mathrm{gain}(i)}{\max(1, h)}\,p^{\,i-1}, \quad h = \text{highest
        gain in the table}

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0.

    References
    ----------
    trec_eval 10.0, measure ``rbp``. Moffat, A., Zobel, J. Rank-Biased Precision for Measurement of Retrieval
    Effectiveness. ACM TOIS 27(1), 2008, which divides gains by the highest of the scale, not of the query.

    Examples
    --------
    (1 - 0.5) · (1 + 0.5²)

    >>> rank_biased_precision(ranked_labels("1 0 1"), p=0.5)
    array([0.625])
    """
    query, rank, gain = _retrieved(run, gains)
    highest = _highest_gains(run, gains)
    scale = np.where(highest > 1, highest, 1.0)
    return (1.0 - p) * run.sum(query, gain / scale[query] * powers(p, rank))


def _reach(p: float) -> int:
    """Return a rank beyond which every power of p is 0 in float64 or, for p near 1, a rank beyond every ranking."""
    if p <= 0.0:
        return 1
    return min(int(math.log(5e-324) / math.log(p)) + 2, 1 << 24) if p < 1.0 else 1 << 24


def powers(p: float, ranks: IntArray) -> FloatArray:
    """Return p^(rank - 1), computed by repeated multiplication, as a C loop does."""
    size = min(int(ranks.max(initial=1)), _reach(p) + 1)
    table: FloatArray = np.cumprod(np.concatenate([[1.0], np.full(size - 1, p)]))
    powers: FloatArray = table[np.minimum(ranks, size) - 1]
    return powers


def _highest_gains(run: JudgedRun, gains: GainMap) -> FloatArray:
    """Return the highest gain in the table of each query's levels. (Q,)."""
    highest = np.zeros(run.num_queries, dtype=np.int64)
    np.maximum.at(highest, run.ideal.query, run.ideal.rel)
    if not gains:
        return highest.astype(np.float64)
    # A level that is not named is its own gain.
    unnamed = [next((level for level in range(top, 0, -1) if level not in gains), 0) for top in highest.tolist()]
    return np.maximum(np.array(unnamed, dtype=np.float64), max(gains.values()))


def rank_biased_precision_residual(run: JudgedRun, *, p: float = 0.9, gains: GainMap = None) -> FloatArray:  # noqa: ARG001 - so that rbp and rbp_resid take the same parameters
    r"""Residual of RBP: how much unjudged documents could add to RBP.

    Formula
    -------
    rbp_resid = p^n + (1 - p) · sum over the ranks i of unjudged documents of p^(i-1), n = documents retrieved. As in
    trec_eval, it is 0 if all of them are judged.

    .. math:: \mathrm{rbp\_resid} = p^{\,n} + (1 - p) \sum_{i\,:\,\text{unjudged}} p^{\,i-1}, \qquad n =
        |\text{retrieved}|

    Parameters
    ----------
    gains : mapping of int to float
        No effect; accepted so that ``rbp`` and ``rbp_resid`` take the same parameters.

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0.

    References
    ----------
    trec_eval 10.0, measure ``rbp_resid``. Moffat, A., Zobel, J. Rank-Biased Precision for Measurement of Retrieval
    Effectiveness. ACM TOIS 27(1), 2008, where the tail p^n is always included.

    Examples
    --------
    n = 2, and the document at rank 2 is unjudged: 0.5² + 0.5 · 0.5.

    >>> rank_biased_precision_residual(ranked_labels("1 -"), p=0.5)
    array([0.5])
    """
    return residuals(run, p, tail_of_judged=False)


def residuals(run: JudgedRun, p: float, *, tail_of_judged: bool) -> FloatArray:
    """Return the share of RBP's weight that falls on unjudged documents and below the ranking. (Q,).

    Parameters
    ----------
    run : JudgedRun
        The judged run.
    p : float
        Probability of continuing to the next document.
    tail_of_judged : bool
        Include the weight below the ranking even if all its documents are judged.
    """
    judged = run.hits.where(run.hits.rel >= 0)
    counts = run.count(judged.query)
    starts = run.starts(judged)
    values = np.zeros(run.num_queries)
    for query, retrieved in enumerate(run.num_ret.tolist()):
        if counts[query] == retrieved and not tail_of_judged:
            continue
        # Ranks beyond which all powers are 0 are skipped, so a deep run costs no more.
        weights = powers(p, np.arange(1, min(retrieved, _reach(p)) + 2))
        tail, weights = (float(weights[-1]), weights[:-1]) if retrieved <= _reach(p) else (0.0, weights)
        unjudged = np.ones(len(weights), dtype=bool)
        ranks = judged.rank[starts[query] : starts[query + 1]]
        unjudged[ranks[ranks <= len(weights)] - 1] = False
        total = float(np.add.accumulate(np.concatenate([[0.0], weights[unjudged]]))[-1])
        values[query] = tail + (1.0 - p) * total
    return values
