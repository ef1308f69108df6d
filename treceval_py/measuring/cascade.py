"""Measures of a reader who goes down the ranking and may stop at each document: ERR, RBP and related ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from treceval_py._types import FloatArray, IntArray
from treceval_py.judging.judged import Hits, JudgedRun, ratio
from treceval_py.measuring.cutting import cut_at
from treceval_py.measuring.gains import GainMap, check_scale, gain_of, powers, residuals


def in_rank_order(run: JudgedRun, hits_query: IntArray) -> Iterator[IntArray]:
    """Go down all queries at once: yield the rows of their first documents, then of their second ones, and so on.

    Parameters
    ----------
    run : JudgedRun
        The judged run.
    hits_query : (N,) int array
        The query of each row of a table sorted by query and rank.
    """
    starts = np.searchsorted(hits_query, np.arange(run.num_queries + 1))
    lengths = np.diff(starts)
    order = np.argsort(-lengths, kind="stable")
    starts, descending = starts[:-1][order], lengths[order]
    left = np.searchsorted(-descending, -np.arange(int(lengths.max(initial=0))))  # queries with more than n rows
    for number, queries in enumerate(left.tolist()):
        yield starts[:queries] + number


def stopping(rel: IntArray, max_rel: int) -> FloatArray:
    """Return the probability that a document satisfies the reader, (2^g - 1) / 2^max_rel, exact to the last bit."""
    chances: FloatArray = np.ldexp(1.0, np.maximum(rel, 0) - max_rel) - np.ldexp(1.0, -max_rel)
    return chances


def _expected_reciprocal_rank(run: JudgedRun, hits: Hits, max_rel: int, stop: str = "grade") -> FloatArray:
    query, rank, rel = hits.where(hits.rel > 0)
    if stop == "grade":
        check_scale(run, max_rel)
    stops = stopping(rel, max_rel) if stop == "grade" else rel.astype(np.float64)
    return run.sum(query, _arriving(run, query, stops) * stops / rank)


def _arriving(run: JudgedRun, query: IntArray, stops: FloatArray) -> FloatArray:
    """Return the probability that a reader, who may stop at each document above, arrives at a document. (N,)."""
    chances, arrives = np.empty(len(query)), np.ones(run.num_queries)
    for rows in in_rank_order(run, query):
        here = query[rows]
        chances[rows] = arrives[here]
        arrives[here] *= 1.0 - stops[rows]
    return chances


def expected_reciprocal_rank(
    run: JudgedRun, *, max_rel: int, cutoff: int | None = None, stop: str = "grade"
) -> FloatArray:
    r"""ERR: expected reciprocal of the rank at which a reader stops, who may be satisfied by each document.

    Formula
    -------
    ERR = sum over ranks i of (1/i) · p_i · product over j < i of (1 - p_j), where p_i = (2^g_i - 1) / 2^max_rel is the
    probability that a document judged g_i satisfies the reader.

    .. math:: \mathrm{ERR} = \sum_{i} \frac{1}{i}\,p_i \prod_{j<i} (1 - p_j), \qquad p_i = \frac{2^{g_i} -
        1}{2^{\mathrm{max\_rel}}}

    ERR@k = sum over ranks i up to k of (1/i) · p_i · product over j < i of (1 - p_j), p_i = (2^g_i - 1) / 2^max_rel.

    .. math:: \mathrm{ERR}@k = \sum_{i=1}^{k} \frac{1}{i}\,p_i \prod_{j<i} (1 - p_j), \qquad p_i = \frac{2^{g_i} -
        1}{2^{\mathrm{max\_rel}}}

    Parameters
    ----------
    stop : {"grade", "label"}
        The probability that a document judged g satisfies the reader: (2^g - 1) / 2^max_rel, or g itself, as in
        CatBoost. The latter is for judgments 0 and 1; with higher ones 1 - p is negative and the value is meaningless.

    Returns
    -------
    (Q,) float array
        Any value with ``stop=label``, else in [0, 1]; a single document, judged max_rel, gives at most 1 - 2^-max_rel.
        Empty case: 0.

    References
    ----------
    Chapelle, O., Metzler, D., Zhang, Y., Grinspan, P. Expected Reciprocal Rank for Graded Relevance. CIKM 2009.
    gdeval.pl 1.2 of TREC's Web tracks, where max_rel is always 4. With ``stop=label`` CatBoost 1.2.10, ``ERR`` and
    ``ERR:top=k``.

    Examples
    --------
    p is 1/4 and 3/4: 1/4 + (1/2) · (3/4) · (3/4)

    >>> expected_reciprocal_rank(ranked_labels("1 2"), max_rel=2)
    array([0.53125])

    p is 0 and 1: 1/2 · 1

    >>> expected_reciprocal_rank(ranked_labels("0 1 1"), max_rel=1, stop="label")
    array([0.5])

    Only the first document counts; its p is (2¹ - 1) / 2².

    >>> expected_reciprocal_rank(ranked_labels("1 2"), max_rel=2, cutoff=1)
    array([0.25])
    """
    return _expected_reciprocal_rank(run, cut_at(run, cutoff).hits, max_rel, stop)


def normalized_expected_reciprocal_rank(run: JudgedRun, *, max_rel: int, cutoff: int | None = None) -> FloatArray:
    r"""ERR divided by the ERR of the best possible ranking.

    Formula
    -------
    nERR = ERR / (ERR of all judged documents in descending order of judgment).

    .. math:: \mathrm{nERR} = \frac{\mathrm{ERR}}{\mathrm{ERR} \text{ of the ideal ranking}}

    nERR@k = ERR@k / (ERR@k of all judged documents in descending order of judgment).

    .. math:: \mathrm{nERR}@k = \frac{\mathrm{ERR}@k}{\mathrm{ERR}@k \text{ of the ideal ranking}}

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also when no document is judged above 0.

    References
    ----------
    Chapelle, O., Metzler, D., Zhang, Y., Grinspan, P. Expected Reciprocal Rank for Graded Relevance. CIKM 2009,
    divided by the ideal as nDCG is. Not to be confused with NERR8 to NERR11, which are other measures.

    Examples
    --------
    ERR is 1/4 + (1/2) · (3/4) · (3/4) = 17/32; the ideal ranking is 2 1, with 3/4 + (1/2) · (1/4) · (1/4) = 25/32.

    >>> normalized_expected_reciprocal_rank(ranked_labels("1 2"), max_rel=2)
    array([0.68])

    p is 1/4 where 3/4 would be possible.

    >>> normalized_expected_reciprocal_rank(ranked_labels("1 2"), max_rel=2, cutoff=1)
    array([0.33333333])
    """
    best = run.ideal if cutoff is None else run.ideal.where(run.ideal.rank <= cutoff)
    reached = expected_reciprocal_rank(run, max_rel=max_rel, cutoff=cutoff)
    return ratio(reached, _expected_reciprocal_rank(run, best, max_rel))


def pfound(run: JudgedRun, *, decay: float = 0.85, gains: GainMap = None, cutoff: int | None = None) -> FloatArray:
    r"""PFound: probability that a reader who goes down the ranking finds a satisfying document.

    Formula
    -------
    PFound = sum over ranks i of L(i) · p_i, where L(1) = 1, L(i + 1) = L(i) · (1 - p_i) · decay, and p_i, the
    probability that the document at rank i satisfies the reader, is its gain.

    .. math:: \mathrm{PFound} = \sum_{i} L(i)\,p_i, \qquad L(1) = 1, \quad L(i + 1) = L(i)\,(1 - p_i) \cdot
        \mathrm{decay}

    PFound@k = sum over ranks i ≤ k of L(i) · p_i, where L(1) = 1, L(i + 1) = L(i) · (1 - p_i) · decay, and p_i is the
    gain of the document at rank i.

    .. math:: \mathrm{PFound}@k = \sum_{i=1}^{k} L(i)\,p_i, \qquad L(1) = 1, \quad L(i + 1) = L(i)\,(1 - p_i) \cdot
        \mathrm{decay}

    Parameters
    ----------
    gains : mapping of int to float
        The probability for each judgment, from 0 to 1. An unlisted judgment is used as its own probability, which is
        meant for 0 and 1; with higher ones 1 - p is negative and the value is meaningless.

    Returns
    -------
    (Q,) float array
        Any value; in [0, 1] if gains are. Empty case: 0.

    References
    ----------
    CatBoost 1.2.10, ``PFound`` and ``PFound:top=k``. Gulin, A., Karpovich, P., Raskovalov, D., Segalovich, I. Yandex at
    ROMIP'2009: Optimization of Ranking Algorithms by Machine Learning Methods. ROMIP 2009.

    Examples
    --------
    L(2) = 1 · (1 - 0) · 0.85, and p is 1 there.

    >>> pfound(ranked_labels("0 1 1"))
    array([0.85])
    >>> pfound(ranked_labels("0 1 1"), cutoff=1)
    array([0.])
    """
    hits = cut_at(run, cutoff).hits
    stops = gain_of(hits.rel, gains)
    some = stops > 0
    (query, rank, _), stops = hits.where(some), stops[some]
    return run.sum(query, _arriving(run, query, stops) * stops * powers(decay, rank))


def rank_biased_precision_binary(
    run: JudgedRun, *, p: float = 0.8, level: int = 1, cutoff: int | None = None
) -> FloatArray:
    r"""Rank-biased precision (RBP) of binary judgments.

    Formula
    -------
    RBP = (1 - p) · sum over the ranks i of relevant documents of p^(i-1).

    .. math:: \mathrm{RBP} = (1 - p) \sum_{i} r_i\,p^{\,i-1}

    RBP@k = (1 - p) · sum over the ranks i ≤ k of relevant documents of p^(i-1). Documents below rank k count as not
    relevant; the sum is not divided by the weight of the first k ranks.

    .. math:: \mathrm{RBP}@k = (1 - p) \sum_{i=1}^{k} r_i\,p^{\,i-1}

    Returns
    -------
    (Q,) float array
        In [0, 1]; RBP@k is at most 1 - p^k. Empty case: 0.

    References
    ----------
    Moffat, A., Zobel, J. Rank-Biased Precision for Measurement of Retrieval Effectiveness. ACM TOIS 27(1), 2008.
    ir_measures 0.4.3, ``RBP(p=…,rel=…)``, computed by cwl-eval 1.0.12, which cuts rankings at rank 1000 and divides by
    1 - p^1000; this matters for p above about 0.96. ``get_rbp(p, depth=k)`` of trectools 0.0.50 is RBP@k without ties;
    it averages its weights over ties.

    Examples
    --------
    (1 - 0.5) · (1 + 0.5²)

    >>> rank_biased_precision_binary(ranked_labels("1 0 2"), p=0.5)
    array([0.625])

    (1 - 0.5) · 1

    >>> rank_biased_precision_binary(ranked_labels("1 0 2"), p=0.5, cutoff=2)
    array([0.5])
    """
    relevant = cut_at(run, cutoff).found(level)
    return (1.0 - p) * run.sum(relevant.query, powers(p, relevant.rank))


def rank_biased_precision_graded(
    run: JudgedRun, *, p: float = 0.8, max_rel: int, min_rel: int = 0, scale: str = "max_rel", cutoff: int | None = None
) -> FloatArray:
    r"""Rank-biased precision of graded judgments, as shares of the top of the scale.

    Formula
    -------
    RBP = (1 - p) · sum over ranks i of (g_i / max_rel) · p^(i-1), or of g_i · p^(i-1) (``scale=none``), over documents
    judged above min_rel.

    .. math:: \mathrm{RBP} = (1 - p) \sum_{i\,:\,g_i > \mathrm{min\_rel}} \frac{g_i}{\mathrm{max\_rel}}\,p^{\,i-1}

    RBP@k = (1 - p) · sum over ranks i ≤ k of (g_i / max_rel) · p^(i-1), or of g_i · p^(i-1) (``scale=none``), over
    documents judged above min_rel.

    .. math:: \mathrm{RBP}@k = (1 - p) \sum_{i \le k\,:\,g_i > \mathrm{min\_rel}}
        \frac{g_i}{\mathrm{max\_rel}}\,p^{\,i-1}

    Parameters
    ----------
    min_rel : int
        Judgments up to this one count as 0; higher ones keep their value.

    Returns
    -------
    (Q,) float array
        From 0 to 1, or in RBP@k to 1 - p^k; with ``scale=none``, to max_rel times that. Empty case: 0.

    References
    ----------
    Moffat, A., Zobel, J. Rank-Biased Precision for Measurement of Retrieval Effectiveness. ACM TOIS 27(1), 2008.
    trec_eval's ``rbp`` divides by the highest gain of the query; ranx (``rbp.95``) and trectools do not divide.

    Examples
    --------
    (1 - 0.5) · (1/2 + 2/2 · 0.5²)

    >>> rank_biased_precision_graded(ranked_labels("1 0 2"), p=0.5, max_rel=2)
    array([0.375])

    (1 - 0.5) · (1 + 2 · 0.5²)

    >>> rank_biased_precision_graded(ranked_labels("1 0 2"), p=0.5, max_rel=2, scale="none")
    array([0.75])

    (1 - 0.5) · (1/2)

    >>> rank_biased_precision_graded(ranked_labels("1 0 2"), p=0.5, max_rel=2, cutoff=2)
    array([0.25])
    """
    hits = cut_at(run, cutoff).hits
    query, rank, rel = hits.where(hits.rel > min_rel)
    if scale == "none":
        return (1.0 - p) * run.sum(query, rel * powers(p, rank))
    check_scale(run, max_rel)
    return (1.0 - p) * run.sum(query, rel / max_rel * powers(p, rank))


def rank_biased_residual(run: JudgedRun, *, p: float = 0.8) -> FloatArray:
    r"""Residual of RBP: how much documents that were not judged or not retrieved could add to RBP.

    Formula
    -------
    RBPResidual = (1 - p) · sum over the ranks i of unjudged documents of p^(i-1), plus p^n, n = documents retrieved.

    .. math:: \mathrm{RBPResidual} = (1 - p) \sum_{i\,:\,\text{unjudged}} p^{\,i-1} + p^{\,n}, \qquad n =
        |\text{retrieved}|

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 1, because nothing is known.

    References
    ----------
    Moffat, A., Zobel, J. Rank-Biased Precision for Measurement of Retrieval Effectiveness. ACM TOIS 27(1), 2008.
    In trec_eval 10.0 it is ``rbp_resid``, but 0 if all retrieved documents are judged.

    Examples
    --------
    0.5 · 0.5 for the unjudged document at rank 2, and 0.5² for all lower ranks.

    >>> rank_biased_residual(ranked_labels("1 -"), p=0.5)
    array([0.5])

    >>> rank_biased_residual(ranked_labels("1 0"), p=0.5)
    array([0.25])
    """
    return residuals(run, p, tail_of_judged=True)
