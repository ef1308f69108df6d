"""Average precision of graded judgments: graded average precision and the Q-measure."""

from __future__ import annotations

import numpy as np

from treceval_py._types import FloatArray
from treceval_py.errors import EvaluationError
from treceval_py.judging.judged import Hits, JudgedRun, nth_of, ratio
from treceval_py.measuring.cascade import in_rank_order
from treceval_py.measuring.gains import GainMap, check_scale, gain_of


def graded_average_precision(run: JudgedRun, *, weights: tuple[float, ...] | None = None, max_rel: int) -> FloatArray:
    r"""Graded average precision (GAP): AP for readers with an unknown threshold of relevance.

    Formula
    -------
    GAP = (sum over n of (1/n) · sum over m ≤ n of d(m, n)) / (sum over grades i of R_i · G_i), where n and m are ranks,
    R_i is the number of documents judged i, G_i = t_1 + … + t_i, and d(m, n) = G_min(g_m, g_n), or 0 if one of them is
    not above grade 0. The threshold t_i is the probability that the reader's lowest relevant grade is i. Equivalently:
    the sum over i of t_i · (sum of precisions at level i), divided by the sum over i of t_i · R at level i.

    .. math:: \mathrm{GAP} = \frac{\sum_{n} \frac{1}{n} \sum_{m \le n} d(m, n)}{\sum_{i} R_i\,G_i}, \qquad d(m, n) =
        G_{\min(g_m,\,g_n)}, \quad G_i = t_1 + \dots + t_i

    Parameters
    ----------
    max_rel : int
        The top of the scale of judgments; no judgment may be higher. Equal thresholds cancel out, so the value does not
        depend on it.

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also when no document is relevant. With one grade it is AP.

    References
    ----------
    Robertson, S. E., Kanoulas, E., Yilmaz, E. Extending Average Precision to Graded Relevance Judgments. SIGIR 2010.

    Examples
    --------
    AP's sums of precisions are 1/1 + 2/2 at level 1 (R = 2) and 1/2 at level 2 (R = 1):
    (1/2 · 2 + 1/2 · 1/2) / (1/2 · 2 + 1/2 · 1)

    >>> graded_average_precision(ranked_labels("1 2"), max_rel=2)
    array([0.83333333])
    """
    highest = int(run.ideal.rel.max(initial=0))
    if weights is None:
        check_scale(run, max_rel)
    elif highest > len(weights):
        problem = f"a document is judged {highest}, and there are weights for the grades 1 to {len(weights)} only"
        raise EvaluationError(problem, f"Give {highest} weights, one for each grade from 1 on.")
    query, rank, rel = run.hits.where(run.hits.rel > 0)
    reached, most = np.zeros(len(query)), np.zeros(run.num_queries)
    for grade, threshold in _thresholds(run, weights):
        from_here_on = rel >= grade
        reached[from_here_on] += threshold * nth_of(query[from_here_on])
        most += threshold * run.count(run.ideal.query[run.ideal.rel >= grade])
    return ratio(run.sum(query, reached / rank), most)


def _thresholds(run: JudgedRun, weights: tuple[float, ...] | None) -> list[tuple[int, float]]:
    """Return grades and their thresholds, without dividing by the thresholds' sum, which cancels out."""
    if weights is not None:
        return list(enumerate(weights, 1))
    # A grade without documents joins the next higher one: all are whole numbers, so no query can tell them apart.
    grades = np.unique(run.ideal.rel[run.ideal.rel > 0])
    return list(zip(grades.tolist(), np.diff(grades, prepend=0).tolist(), strict=True))


def q_measure(run: JudgedRun, *, beta: float = 1.0, level: int = 1, gains: GainMap = None) -> FloatArray:
    r"""Q-measure: AP with the blended ratio of gains instead of precision.

    Formula
    -------
    Q = (1/R) · sum over the ranks i of relevant documents of (C(i) + β·cg(i)) / (i + β·cg*(i)), where C(i) = relevant
    documents at ranks 1..i, cg(i) = their gains, and cg*(i) = gains of the best possible ranking at ranks 1..i, which
    is constant below the end of that ranking.

    .. math:: \mathrm{Q} = \frac{1}{R} \sum_{i\,:\,r_i = 1} \frac{C(i) + \beta\,\mathrm{cg}(i)}{i +
        \beta\,\mathrm{cg}^*(i)}

    Parameters
    ----------
    level : int
        Lowest judgment that counts as relevant; 0 means 1. Other documents have no gain.

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also when R = 0.

    References
    ----------
    Sakai, T. New Performance Metrics Based on Multigrade Relevance: Their Application to Question Answering. NTCIR-4,
    2004. Sakai, T. On the Reliability of Information Retrieval Metrics Based on Graded Relevance. IPM 43(2), 2007.

    Examples
    --------
    The ideal ranking is 2 1. At rank 1: (1 + 1) / (1 + 2). At rank 3: (2 + 3) / (3 + 3). Over R = 2.

    >>> q_measure(ranked_labels("1 0 2"))
    array([0.75])
    """
    level = max(level, 1)
    relevant = run.hits.where(run.hits.rel >= level)
    best = run.ideal.where(run.ideal.rel >= level)
    best_gain = gain_of(best.rel, gains)
    best_gain = best_gain[np.lexsort((-best_gain, best.query))]
    reached, possible = _running(run, relevant, gain_of(relevant.rel, gains)), _running(run, best, best_gain)
    starts, lengths = run.starts(best)[:-1], run.count(best.query)
    query, rank, _ = relevant
    at = np.minimum(rank, lengths[query]) - 1
    blended = (nth_of(query) + beta * reached) / (rank + beta * possible[starts[query] + at])
    return ratio(run.sum(query, blended), lengths)


def _running(run: JudgedRun, hits: Hits, gain: FloatArray) -> FloatArray:
    """Add up gains by query, down to each document. (H,)."""
    totals = np.zeros(run.num_queries)
    running = np.zeros(len(gain))
    for rows in in_rank_order(run, hits.query):
        here = hits.query[rows]
        totals[here] += gain[rows]
        running[rows] = totals[here]
    return running
