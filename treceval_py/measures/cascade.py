"""Measures of a reader who goes down the ranking and may stop at each document: ERR, RBP and related ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from treceval_py._types import FloatArray, IntArray
from treceval_py.judging.judged import Hits, JudgedRun, ratio
from treceval_py.measures.cutting import cut_at
from treceval_py.measures.gains import GainMap, check_scale, gain_of, powers, residuals


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


def chances_to_stop(run: JudgedRun, rel: IntArray, max_rel: int, stop: str) -> FloatArray:
    """Return the probability that documents with these judgments satisfy the reader; errors as for `check_scale`."""
    if stop == "label":
        return np.maximum(rel, 0).astype(np.float64)
    check_scale(run, max_rel)
    return stopping(rel, max_rel)


def _expected_reciprocal_rank(run: JudgedRun, hits: Hits, max_rel: int, stop: str = "grade") -> FloatArray:
    query, rank, rel = hits.where(hits.rel > 0)
    stops = chances_to_stop(run, rel, max_rel, stop)
    values = np.zeros(run.num_queries)
    arrives = np.ones(run.num_queries)
    for rows in in_rank_order(run, query):
        here = query[rows]
        values[here] += arrives[here] * stops[rows] / rank[rows]
        arrives[here] *= 1.0 - stops[rows]
    return values


def expected_reciprocal_rank(run: JudgedRun, *, max_rel: int, stop: str = "grade") -> FloatArray:
    """ERR: expected reciprocal of the rank at which a reader stops, who may be satisfied by each document.

    Formula
    -------
    ERR = sum over ranks i of (1/i) · p_i · product over j < i of (1 - p_j), where p_i = (2^g_i - 1) / 2^max_rel is the
    probability that a document judged g_i satisfies the reader.

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
    gdeval.pl 1.2 of TREC's Web tracks, where max_rel is always 4. With ``stop=label`` CatBoost 1.2.10, ``ERR``.

    Examples
    --------
    p is 1/4 and 3/4: 1/4 + (1/2) · (3/4) · (3/4)

    >>> expected_reciprocal_rank(ranked_labels("1 2"), max_rel=2)
    array([0.53125])

    p is 0 and 1: 1/2 · 1

    >>> expected_reciprocal_rank(ranked_labels("0 1 1"), max_rel=1, stop="label")
    array([0.5])
    """
    return _expected_reciprocal_rank(run, run.hits, max_rel, stop)


def expected_reciprocal_rank_at(run: JudgedRun, *, max_rel: int, cutoff: int, stop: str = "grade") -> FloatArray:
    """ERR of the first k documents, as in ERR@20.

    Formula
    -------
    ERR@k = sum over ranks i up to k of (1/i) · p_i · product over j < i of (1 - p_j), p_i = (2^g_i - 1) / 2^max_rel.

    Parameters
    ----------
    stop : {"grade", "label"}
        The probability that a document judged g satisfies the reader: (2^g - 1) / 2^max_rel, or g itself, as in
        CatBoost. The latter is for judgments 0 and 1; with higher ones 1 - p is negative and the value is meaningless.

    Returns
    -------
    (Q,) float array
        Any value with ``stop=label``, else in [0, 1]. Empty case: 0.

    References
    ----------
    Chapelle, O., Metzler, D., Zhang, Y., Grinspan, P. Expected Reciprocal Rank for Graded Relevance. CIKM 2009.
    gdeval.pl 1.2 of TREC's Web tracks, where max_rel is always 4. With ``stop=label`` CatBoost 1.2.10, ``ERR:top=k``.

    Examples
    --------
    Only the first document counts; its p is (2¹ - 1) / 2².

    >>> expected_reciprocal_rank_at(ranked_labels("1 2"), max_rel=2, cutoff=1)
    array([0.25])
    """
    return expected_reciprocal_rank(cut_at(run, cutoff), max_rel=max_rel, stop=stop)


def normalized_expected_reciprocal_rank(run: JudgedRun, *, max_rel: int) -> FloatArray:
    """ERR divided by the ERR of the best possible ranking.

    Formula
    -------
    nERR = ERR / (ERR of all judged documents in descending order of judgment).

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
    """
    return ratio(expected_reciprocal_rank(run, max_rel=max_rel), _expected_reciprocal_rank(run, run.ideal, max_rel))


def normalized_expected_reciprocal_rank_at(run: JudgedRun, *, max_rel: int, cutoff: int) -> FloatArray:
    """ERR of the first k documents, divided by that of the best possible ranking.

    Formula
    -------
    nERR@k = ERR@k / (ERR@k of all judged documents in descending order of judgment).

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also when no document is judged above 0.

    References
    ----------
    Chapelle, O., Metzler, D., Zhang, Y., Grinspan, P. Expected Reciprocal Rank for Graded Relevance. CIKM 2009,
    divided by the ideal as nDCG@k is. Not to be confused with NERR8 to NERR11, which are other measures.

    Examples
    --------
    p is 1/4 where 3/4 would be possible.

    >>> normalized_expected_reciprocal_rank_at(ranked_labels("1 2"), max_rel=2, cutoff=1)
    array([0.33333333])
    """
    best = _expected_reciprocal_rank(run, run.ideal.where(run.ideal.rank <= cutoff), max_rel)
    return ratio(expected_reciprocal_rank(cut_at(run, cutoff), max_rel=max_rel), best)


def pfound(run: JudgedRun, *, decay: float = 0.85, gains: GainMap = None) -> FloatArray:
    """PFound: probability that a reader who goes down the ranking finds a satisfying document.

    Formula
    -------
    PFound = sum over ranks i of L(i) · p_i, where L(1) = 1, L(i + 1) = L(i) · (1 - p_i) · decay, and p_i, the
    probability that the document at rank i satisfies the reader, is its gain.

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
    CatBoost 1.2.10, ``PFound``. Gulin, A., Karpovich, P., Raskovalov, D., Segalovich, I. Yandex at ROMIP'2009:
    Optimization of Ranking Algorithms by Machine Learning Methods. ROMIP 2009.

    Examples
    --------
    L(2) = 1 · (1 - 0) · 0.85, and p is 1 there.

    >>> pfound(ranked_labels("0 1 1"))
    array([0.85])
    """
    gain = gain_of(run.hits.rel, gains)
    query, rank, _ = run.hits.where(gain > 0)
    stops, chance = gain[gain > 0], powers(decay, rank)
    values = np.zeros(run.num_queries)
    passed = np.ones(run.num_queries)
    for rows in in_rank_order(run, query):
        here = query[rows]
        values[here] += passed[here] * stops[rows] * chance[rows]
        passed[here] *= 1.0 - stops[rows]
    return values


def pfound_at(run: JudgedRun, *, decay: float = 0.85, gains: GainMap = None, cutoff: int) -> FloatArray:
    """PFound of the first k documents.

    Formula
    -------
    PFound@k = sum over ranks i ≤ k of L(i) · p_i, where L(1) = 1, L(i + 1) = L(i) · (1 - p_i) · decay, and p_i is the
    gain of the document at rank i.

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
    CatBoost 1.2.10, ``PFound:top=k``. Gulin, A., Karpovich, P., Raskovalov, D., Segalovich, I. Yandex at ROMIP'2009:
    Optimization of Ranking Algorithms by Machine Learning Methods. ROMIP 2009.

    Examples
    --------
    >>> pfound_at(ranked_labels("0 1 1"), cutoff=1)
    array([0.])
    """
    return pfound(cut_at(run, cutoff), decay=decay, gains=gains)


def rank_biased_precision_binary(run: JudgedRun, *, p: float = 0.8, level: int = 1) -> FloatArray:
    """Rank-biased precision (RBP) of binary judgments.

    Formula
    -------
    RBP = (1 - p) · sum over the ranks i of relevant documents of p^(i-1).

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0.

    References
    ----------
    Moffat, A., Zobel, J. Rank-Biased Precision for Measurement of Retrieval Effectiveness. ACM TOIS 27(1), 2008.
    ir_measures 0.4.3, ``RBP(p=…,rel=…)``, computed by cwl-eval 1.0.12, which cuts rankings at rank 1000 and divides by
    1 - p^1000; this matters for p above about 0.96.

    Examples
    --------
    (1 - 0.5) · (1 + 0.5²)

    >>> rank_biased_precision_binary(ranked_labels("1 0 2"), p=0.5)
    array([0.625])
    """
    found = run.found(level)
    return (1.0 - p) * run.sum(found.query, powers(p, found.rank))


def rank_biased_precision_binary_at(run: JudgedRun, *, p: float = 0.8, level: int = 1, cutoff: int) -> FloatArray:
    """Rank-biased precision of the relevant documents among the first k.

    Formula
    -------
    RBP@k = (1 - p) · sum over the ranks i ≤ k of relevant documents of p^(i-1). Documents below rank k count as not
    relevant; the sum is not divided by the weight of the first k ranks.

    Returns
    -------
    (Q,) float array
        In [0, 1]; at most 1 - p^k. Empty case: 0.

    References
    ----------
    Moffat, A., Zobel, J. Rank-Biased Precision for Measurement of Retrieval Effectiveness. ACM TOIS 27(1), 2008. As
    ``get_rbp(p, depth=k)`` of trectools 0.0.50 without ties, which averages its weights over ties.

    Examples
    --------
    (1 - 0.5) · 1

    >>> rank_biased_precision_binary_at(ranked_labels("1 0 2"), p=0.5, cutoff=2)
    array([0.5])
    """
    return rank_biased_precision_binary(cut_at(run, cutoff), p=p, level=level)


def rank_biased_precision_graded(
    run: JudgedRun, *, p: float = 0.8, max_rel: int, min_rel: int = 0, scale: str = "max_rel"
) -> FloatArray:
    """Rank-biased precision of graded judgments, as shares of the top of the scale.

    Formula
    -------
    RBP = (1 - p) · sum over ranks i of (g_i / max_rel) · p^(i-1), or of g_i · p^(i-1) (``scale=none``), over documents
    judged above min_rel.

    Parameters
    ----------
    min_rel : int
        Judgments up to this one count as 0; higher ones keep their value.

    Returns
    -------
    (Q,) float array
        From 0 to 1, or to max_rel with ``scale=none``. Empty case: 0.

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
    """
    query, rank, rel = run.hits.where(run.hits.rel > min_rel)
    if scale == "none":
        return (1.0 - p) * run.sum(query, rel * powers(p, rank))
    check_scale(run, max_rel)
    return (1.0 - p) * run.sum(query, rel / max_rel * powers(p, rank))


def rank_biased_precision_graded_at(
    run: JudgedRun, *, p: float = 0.8, max_rel: int, min_rel: int = 0, scale: str = "max_rel", cutoff: int
) -> FloatArray:
    """Rank-biased precision of the graded judgments of the first k documents.

    Formula
    -------
    RBP@k = (1 - p) · sum over ranks i ≤ k of (g_i / max_rel) · p^(i-1), or of g_i · p^(i-1) (``scale=none``), over
    documents judged above min_rel.

    Parameters
    ----------
    min_rel : int
        Judgments up to this one count as 0; higher ones keep their value.

    Returns
    -------
    (Q,) float array
        From 0 to 1 - p^k; with ``scale=none``, to max_rel times that. Empty case: 0.

    References
    ----------
    Moffat, A., Zobel, J. Rank-Biased Precision for Measurement of Retrieval Effectiveness. ACM TOIS 27(1), 2008.

    Examples
    --------
    (1 - 0.5) · (1/2)

    >>> rank_biased_precision_graded_at(ranked_labels("1 0 2"), p=0.5, max_rel=2, cutoff=2)
    array([0.25])
    """
    return rank_biased_precision_graded(cut_at(run, cutoff), p=p, max_rel=max_rel, min_rel=min_rel, scale=scale)


def rank_biased_residual(run: JudgedRun, *, p: float = 0.8) -> FloatArray:
    """Residual of RBP: how much documents that were not judged or not retrieved could add to RBP.

    Formula
    -------
    RBPResidual = (1 - p) · sum over the ranks i of unjudged documents of p^(i-1), plus p^n, n = documents retrieved.

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
