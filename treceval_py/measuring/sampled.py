"""Measures over judgments of a sample of the pool: estimates of what full judgments would give.

Of a stratum s, the pool has N documents, of which S were judged and R of these are relevant; n, j and r are these
numbers among the documents above a rank. A document with a probability p of its own has the weight w = 1 / p.
"""

from __future__ import annotations

import math

import numpy as np

from treceval_py._types import BoolArray, FloatArray, IntArray
from treceval_py.judging.judged import ratio
from treceval_py.judging.sampled import JudgedSample
from treceval_py.measuring.incomplete import SMALL


def expected(run: JudgedSample, level: int, *, above: bool) -> FloatArray:
    """Estimate the relevant documents of the pool down to each hit, or only those above it. (H,)."""

    def summed() -> FloatArray:
        (query, _, rel), strata, queries = run.hits, run.of_strata, np.arange(len(run.qids))
        total, first = np.zeros(len(rel)), np.searchsorted(query, queries)[query]
        # Strata are numbered within their queries, so that one pass counts the documents of all n-th strata.
        number = run.pool.stratum[run.row] - np.searchsorted(strata.query, queries)[query]
        for nth in range(int(number.max(initial=-1)) + 1):
            own = number == nth
            seen, judged, relevant = [
                (before := np.append(0, np.cumsum(kind)))[1:] - before[first] - (kind if above else 0)
                for kind in (own, own & (rel >= 0), own & (rel >= level))
            ]
            total += seen * (relevant + SMALL) / (judged + 3 * SMALL)
        return total

    return run.once(("expected", level, above), summed)


def _expected_within(run: JudgedSample, level: int, within: BoolArray) -> FloatArray:
    """Estimate the relevant documents of the pool down to the last hit of those in a mask (H,). (Q,)."""
    last = np.zeros(len(run.qids))
    last[run.hits.query[within]] = expected(run, level, above=False)[within]  # of several, the last one stays
    return last


def extended_inferred_average_precision(
    run: JudgedSample, *, level: int = 1, divide_by: str = "relevant"
) -> FloatArray:
    r"""xinfAP, extended infAP: estimate of AP from strata of which different shares were judged (sample_eval's infAP).

    Formula
    -------
    xinfAP = (1/R̂) · sum over strata of N/S · sum over its relevant documents retrieved, at rank k, of (1 + sum over
    strata of n · (r+e) / (j+3e)) / k; R̂ = sum over strata of R · N/S, e = 0.00001. Documents of the pool above k, of
    strata in which none was judged above k, count 1/3.

    .. math:: \mathrm{xinfAP} = \frac{1}{\hat R} \sum_s \frac{N_s}{S_s} \sum_{k \in s\,:\,r_k = 1} \frac{1}{k} \left(1 +
        \sum_t n_t \frac{r_t + e}{j_t + 3e}\right)

    Parameters
    ----------
    divide_by : {"relevant", "capped"}
        Whether to divide by R̂, or by at most the depth to which rankings are cut, as TRECVID's version does.

    Returns
    -------
    (Q,) float array
        From 0 to about 1. Empty case: 0, also when R̂ = 0.

    References
    ----------
    NIST's sample_eval.pl, measure ``infAP``. Yilmaz, E., Kanoulas, E., Aslam, J. A. A Simple and Efficient Sampling
    Method for Estimating AP and NDCG. SIGIR 2008.

    Examples
    --------
    All of stratum a was judged, and one of two documents of b. The first document counts 1, the relevant one of b
    stands for two, with the precision 2/2; R̂ = 1 + 2.

    >>> extended_inferred_average_precision(drawn_labels("1:a 1:b", missed="-1:b")).round(4)
    array([1.])
    """
    relevant = run.hits.rel >= level
    precision = (1.0 + expected(run, level, above=True)[relevant]) / run.hits.rank[relevant]
    total = run.sum(run.hits.query[relevant], run.weight[run.row[relevant]] * precision)
    estimated = inferred_relevant(run, level=level)
    most = run.depth if divide_by == "capped" and run.depth is not None else np.inf
    return ratio(total, np.minimum(estimated, most))


def inferred_ndcg(run: JudgedSample, *, counts: str = "rounded") -> FloatArray:
    r"""infNDCG: estimate of nDCG from strata of which different shares were judged (sample_eval's infNDCG).

    Formula
    -------
    infNDCG = DCG / ideal; DCG = sum over strata of n/j · sum over its documents judged g > 0, at rank k, of g /
    log2(k + 1), with n and j of the whole ranking. The ideal ranking has, of each grade, the sum over strata of (its
    documents) · N/S, to the depth to which rankings are cut, and beyond it one document of each lower grade. Grades are
    in the order of their text: 2 is before 10.

    .. math:: \mathrm{infNDCG} = \frac{1}{I} \sum_s \frac{n_s}{j_s} \sum_{k \in s} \frac{g_k}{\log_2(k + 1)}

    Parameters
    ----------
    counts : {"rounded", "exact"}
        Whether the number of documents of a grade in the ideal ranking is rounded, halves up; if not, whole ranks
        within it count, and those of the next grade continue from the fraction, as in TRECVID's version.

    Returns
    -------
    (Q,) float array
        From 0; above 1 when the part of a stratum that was retrieved was judged less than the rest. Empty case: 0.

    References
    ----------
    NIST's sample_eval.pl, measure ``infNDCG``. Yilmaz, E., Kanoulas, E., Aslam, J. A. A Simple and Efficient Sampling
    Method for Estimating AP and NDCG. SIGIR 2008.

    Examples
    --------
    Two documents of stratum b were retrieved and one of them was judged: its gain, 1 / log2(2), counts twice. The ideal
    ranking has two: 1 + 1 / log2(3).

    >>> inferred_ndcg(drawn_labels("1:b -1:b")).round(4)
    array([1.2263])
    """
    (_, rank, rel), size = run.hits, len(run.of_strata.query)
    stratum, gained = run.pool.stratum[run.row], rel > 0
    discounted = np.bincount(stratum[gained], rel[gained] / np.log2(rank[gained] + 1.0), size)
    seen, judged = np.bincount(stratum, minlength=size), np.bincount(stratum[rel >= 0], minlength=size)
    total = run.sum(run.of_strata.query, discounted * ratio(seen, judged))
    return ratio(total, run.once(("ideal", counts), lambda: _ideal_of_strata(run, counts)))


def _ideal_of_strata(run: JudgedSample, counts: str) -> FloatArray:
    ideal, begins = np.zeros(len(run.qids)), np.ones(len(run.qids))
    deepest = math.inf if run.depth is None else run.depth
    for grade in sorted({*run.pool.rel[run.pool.rel > 0].tolist()}, key=str, reverse=True):
        sizes = run.estimated(run.pool.rel == grade)
        sizes = np.floor(sizes + 0.5) if counts == "rounded" else sizes
        for query in np.flatnonzero(sizes >= 1).tolist():
            ranks = begins[query] + np.arange(int(sizes[query]))
            ideal[query] += (grade / np.log2(ranks[: max(1, int((ranks <= deepest).sum()))] + 1)).sum()
        begins += sizes
    return ideal


def inferred_precision(run: JudgedSample, *, level: int = 1, cutoff: int) -> FloatArray:
    r"""Inferred precision (iP): estimate of the share of the first k documents that are relevant.

    Formula
    -------
    iP@k = (1/k) · sum over strata of n · (r+e) / (j+3e), to and with rank k; e = 0.00001.

    .. math:: \mathrm{iP}@k = \frac{1}{k} \sum_s n_s \frac{r_s + e}{j_s + 3e}

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0.

    References
    ----------
    NIST's sample_eval.pl, measures ``iP10``, ``iP50`` and ``iP100``.

    Examples
    --------
    One of the two documents of stratum b was judged, relevant: both count.

    >>> inferred_precision(drawn_labels("1:b -1:b 0:a"), cutoff=4).round(4)
    array([0.5])
    """
    return _expected_within(run, level, run.hits.rank <= cutoff) / cutoff


def inferred_relevant_retrieved(run: JudgedSample, *, level: int = 1) -> FloatArray:
    r"""Estimated number of relevant documents that were retrieved.

    Formula
    -------
    inum_rel_ret = sum over strata of n · (r+e) / (j+3e), of the whole ranking; e = 0.00001.

    .. math:: \mathrm{inum\_rel\_ret} = \sum_s n_s \frac{r_s + e}{j_s + 3e}

    Returns
    -------
    (Q,) float array
        From 0. Empty case: 0.

    References
    ----------
    NIST's sample_eval.pl, measure ``inum_rel_ret``.

    Examples
    --------
    >>> inferred_relevant_retrieved(drawn_labels("1:b -1:b 0:a")).round(4)
    array([2.])
    """
    return _expected_within(run, level, run.hits.rank > 0)


def inferred_relevant(run: JudgedSample, *, level: int = 1) -> FloatArray:
    r"""Estimated number of relevant documents of the pool, R̂.

    Formula
    -------
    inum_rel = sum over strata of R · N/S; with probabilities, the sum of 1/p of the relevant documents.

    .. math:: \hat R = \sum_s R_s \frac{N_s}{S_s}

    Returns
    -------
    (Q,) float array
        From 0. Empty case: 0.

    References
    ----------
    NIST's sample_eval.pl, measure ``inum_rel``; statAP_MQ_eval, ``Relevant``.

    Examples
    --------
    The judged document of stratum b stands for two.

    >>> inferred_relevant(drawn_labels("1:a", missed="1:b -1:b"))
    array([3.])
    """
    return run.once(("relevant", level), lambda: run.estimated(run.pool.rel >= level))


def sampled(run: JudgedSample, least: int | None = None) -> IntArray:
    """Count the judged documents of each query, retrieved or not, with at least some judgment. (Q,)."""
    pool = run.pool
    rows = slice(None) if least is None else pool.rel >= least
    return run.once(("sampled", least), lambda: run.count(pool.query[rows]))


def _weights(run: JudgedSample, level: int) -> FloatArray:
    """Return the weights of relevant hits, and 0 for the others. (H,)."""
    return np.where(run.hits.rel >= level, run.weight[run.row], 0.0)


def _precisions(run: JudgedSample, level: int) -> FloatArray:
    """Estimate the precision at each relevant hit, which counts once itself. (H,)."""
    weights = _weights(run, level)
    return (1.0 + run.running(weights) - weights) / run.hits.rank


def stat_average_precision(run: JudgedSample, *, level: int = 1) -> FloatArray:
    r"""statAP: estimate of AP from documents that were drawn with known probabilities.

    Formula
    -------
    statAP = (1/R̂) · sum over the relevant documents retrieved, at rank k, of w · (1 + sum of w of the relevant ones
    above) / k; R̂ = sum of w of all relevant documents.

    .. math:: \mathrm{statAP} = \frac{1}{\hat R} \sum_{k\,:\,r_k = 1} \frac{w_k}{k} \left(1 + \sum_{i < k\,:\,r_i = 1}
        w_i\right)

    Returns
    -------
    (Q,) float array
        From 0 to about 1. Empty case: 0; the program has no value without a relevant document.

    References
    ----------
    statAP_MQ_eval v3 and v4, ``AP``. Aslam, J. A., Pavlu, V. A Practical Sampling Strategy for Efficient Retrieval
    Evaluation. 2007.

    Examples
    --------
    The relevant documents have the weights 1 and 2: (1 · 1/1 + 2 · (1 + 1)/2) / 3.

    >>> stat_average_precision(drawn_labels("1:1 1:0.5"))
    array([1.])
    """
    estimated = inferred_relevant(run, level=level)
    return ratio(run.sum(run.hits.query, _weights(run, level) * _precisions(run, level)), estimated)


def stat_r_precision(run: JudgedSample, *, level: int = 1) -> FloatArray:
    r"""statRprec: estimate of R-precision from documents that were drawn with known probabilities.

    Formula
    -------
    statRprec = (sum of w of the relevant documents to rank k) / k, where k is R̂ rounded, halves up; over R̂ if fewer
    documents were retrieved.

    .. math:: \mathrm{statRprec} = \frac{1}{k} \sum_{i \le k\,:\,r_i = 1} w_i

    Returns
    -------
    (Q,) float array
        From 0. Empty case: 0.

    References
    ----------
    statAP_MQ_eval v3 and v4, ``R-prec``.

    Examples
    --------
    R̂ = 1 + 2: weights 1 + 2 among the first three documents.

    >>> stat_r_precision(drawn_labels("1:1 - 1:0.5"))
    array([1.])
    """
    estimated = inferred_relevant(run, level=level)
    rank = np.floor(estimated + 0.5)
    within = run.hits.rank <= rank[run.hits.query]
    total = run.sum(run.hits.query[within], _weights(run, level)[within])
    return ratio(total, np.where(run.num_ret >= rank, rank, estimated))


def stat_precision(run: JudgedSample, *, level: int = 1, cutoff: int, version: str = "v3") -> FloatArray:
    r"""statPC: estimate of the precision of the first k documents, drawn with known probabilities.

    Formula
    -------
    statPC@k = (sum of w of the relevant documents to rank k) / k. In version 4, it is 0 if fewer than k documents were
    retrieved.

    .. math:: \mathrm{statPC}@k = \frac{1}{k} \sum_{i \le k\,:\,r_i = 1} w_i

    Returns
    -------
    (Q,) float array
        From 0; it can exceed 1. Empty case: 0.

    References
    ----------
    statAP_MQ_eval v3 and v4, ``Prec_at_30``.

    Examples
    --------
    >>> stat_precision(drawn_labels("1:1 - 1:0.5"), cutoff=4)
    array([0.75])
    """
    within = run.hits.rank <= cutoff
    total = run.sum(run.hits.query[within], _weights(run, level)[within]) / cutoff
    return np.where((run.num_ret < cutoff) & (version == "v4"), 0.0, total)


def stat_ndcg(run: JudgedSample, *, cutoff: int, version: str = "v3") -> FloatArray:
    r"""statNDCG: the nDCG of the judged documents among the first k, without weights, as statAP_MQ_eval computes it.

    Formula
    -------
    statNDCG@k = (sum over the judged documents to rank k of (2^g - 1) / log2(rank + 1)) / ideal. The ideal of version 3
    has the gain 3 at ranks 1 to v, and 1 from there to n - v, of n relevant documents of which v are judged above 1;
    that of version 4 is the best ranking of the judged documents. A negative judgment has the gain -1.

    .. math:: \mathrm{statNDCG}@k = \frac{1}{I} \sum_{i=1}^{k} \frac{2^{g_i} - 1}{\log_2(i + 1)}

    Returns
    -------
    (Q,) float array
        Above 1 where version 3's ideal lacks documents of grade 1. Empty case: 0.

    References
    ----------
    statAP_MQ_eval v3 and v4, ``nDCG``.

    Examples
    --------
    v = 1 and n = 2: the ideal of version 3 has no document of grade 1, (3 + 1/log2(3)) / 3; that of version 4 has one.

    >>> stat_ndcg(drawn_labels("2:1 1:0.5"), cutoff=30).round(4)
    array([1.2103])
    >>> stat_ndcg(drawn_labels("2:1 1:0.5"), cutoff=30, version="v4")
    array([1.])
    """
    query, rank, rel = run.hits.where(run.hits.rank <= cutoff)
    gains, discounts = np.where(rel < 0, -1.0, 2.0 ** np.maximum(rel, 0) - 1), np.log2(np.arange(2.0, cutoff + 2))
    if version == "v4":
        best = run.ideal.where((run.ideal.rank <= cutoff) & (run.ideal.rel > 0))
        ideal = run.sum(best.query, (2.0**best.rel - 1) / discounts[best.rank - 1])
    else:
        sums = np.append(0.0, np.cumsum(1 / discounts))
        very, all_ = (sampled(run, least) for least in (2, 1))
        high, low = (sums[np.minimum(number, cutoff)] for number in (very, np.maximum(very, all_ - very)))
        ideal = 3 * high + low - high
    return ratio(run.sum(query, gains / discounts[rank - 1]), ideal)


def stat_variance(run: JudgedSample, *, level: int = 1, version: str = "v3") -> FloatArray:
    r"""Estimated variance of statAP, caused by drawing the documents that were judged.

    Formula
    -------
    varAP = (sum of (1-p)·y² - ((sum of y)² - sum of y²) / (m-1) + t) / R̂², over the m judged documents; y = w ·
    (precision - statAP) for a relevant document retrieved, -w · statAP for another relevant one, 0 for the others. In
    version 3 t is the sum, over the relevant documents retrieved, of (sum of (1-p)/p² of those down to it) / rank²; in
    version 4 of (sum of w/rank of those below it)² · (1-p)/p², and the value is multiplied by m / (judged documents
    retrieved + 0.1) and at most 1.

    .. math:: \mathrm{varAP} = \frac{1}{\hat R^2} \left(\sum (1 - p) y^2 - \frac{(\sum y)^2 - \sum y^2}{m -
        1} + t\right)

    Returns
    -------
    (Q,) float array
        Its average is the variance of the mean, the sum over Q². Empty case: 0; without the second term when m = 1,
        where the program stops.

    References
    ----------
    statAP_MQ_eval v3 and v4, ``varAP`` and ``VAR_MAP``.

    Examples
    --------
    If all were drawn for certain, y = precision - AP is left: of 1 and 1/2 with AP 3/4, (0 - (0 - 2/16) / 1) / 4.

    >>> stat_variance(drawn_labels("1:1 0:1", missed="")), stat_variance(drawn_labels("1:1 - - 1:1"))
    (array([0.]), array([0.03125]))
    """
    query, rank, rel = run.hits
    weights, weight, drawn, judged = _weights(run, level), run.weight, run.pool, sampled(run)
    estimated, value = inferred_relevant(run, level=level), stat_average_precision(run, level=level)
    differences = np.where(drawn.rel >= level, -weight * value[drawn.query], 0.0)
    differences[run.row] += weights * _precisions(run, level)
    squares, total = differences * differences, run.sum(drawn.query, differences)
    variance = run.sum(drawn.query, (1 - drawn.probability) * squares)
    variance -= ratio(total * total - run.sum(drawn.query, squares), judged - 1)
    uncertain = weights * weights * (1 - drawn.probability[run.row])
    if version == "v4":
        below = run.sum(query, weights / rank)[query] - run.running(weights / rank)
        variance = (variance + run.sum(query, below**2 * uncertain)) * judged / (run.count(query) + 0.1)
        return np.minimum(1.0, ratio(variance, estimated * estimated))
    variance += run.sum(query, np.where(rel >= level, run.running(uncertain) / rank**2, 0.0))
    return ratio(variance, estimated * estimated)
