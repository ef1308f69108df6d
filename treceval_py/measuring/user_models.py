"""Measures based on user models: INST, INSQ, SDCG, BPM and the nearly expected reciprocal ranks.

In the C/W/L framework, a reader goes down a ranking from the top. After the document at rank i, the reader continues to
the next one with probability C(i). The share of attention at a rank is W(i) = V(i) / (V(1) + V(2) + …) with
V(i) = C(1)·…·C(i-1). The value is the gain that the reader can expect per document: the sum over ranks of W(i)·r(i).

The gain r(i) of a document is its position on the scale of grades, (rel - min_rel) / (max_rel - min_rel); it is 0 for
grades below min_rel and for unjudged documents. The framework has endless rankings, so ranks below the end of a ranking
have gain 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from treceval_py._types import FloatArray
from treceval_py.errors import EvaluationError, MeasureError
from treceval_py.judging.judged import JudgedRun, ratio
from treceval_py.measuring.gains import Gained, check_scale, discounts
from treceval_py.measuring.parameters import MOST_MAX_REL

DEPTH = 1000
"""Depth for readers who never stop, cwl_eval's MAX_N."""

MOST_DEPTH = 10_000_000
"""Length of the longest table of weights."""

CELLS = 1 << 20
"""Number of gains processed together."""

Continuation = Callable[[FloatArray, FloatArray], FloatArray]
"""Maps ranks (D,) and gains (Q, D) to the probability of continuing after each of them (Q, D)."""


def _check_grades(run: JudgedRun, max_rel: int, min_rel: int) -> None:
    """Refuse a scale that ends where it begins, and judgments above its top."""
    if min_rel >= max_rel:
        top = max(min_rel + 1, int(run.ideal.rel.max(initial=0)))
        problem = f"the scale of grades ends at max_rel={max_rel}, which is not above min_rel={min_rel}"
        higher = "" if top > MOST_MAX_REL else f", or max_rel={top}"
        raise EvaluationError(problem, f"Give a min_rel below {max_rel}{higher}.")
    check_scale(run, max_rel)


def _graded(run: JudgedRun, max_rel: int, min_rel: int, gain: str = "linear") -> Gained:
    """Return the documents graded above the bottom of the scale, with gains from 0 to 1."""
    _check_grades(run, max_rel, min_rel)

    def make() -> Gained:
        query, rank, rel = run.hits.where(run.hits.rel > min_rel)
        steps = rel - min_rel
        gains = steps / (max_rel - min_rel)
        if gain == "binary":
            gains = np.ones(len(steps))
        elif gain == "exp":
            gains = (np.ldexp(1.0, steps) - 1.0) / (math.ldexp(1.0, max_rel - min_rel) - 1.0)
        return Gained(query, rank, gains)

    return run.once(("graded", max_rel, min_rel, gain), make)


def _checked(depth: int) -> int:
    if depth > MOST_DEPTH:
        raise MeasureError(
            f"ranks are weighed down to {MOST_DEPTH} at most, not to {depth}", f"Give {MOST_DEPTH} or less."
        )
    return depth


def _expected_rate(run: JudgedRun, graded: Gained, depth: int, goes_on: Continuation) -> FloatArray:
    """Return the expected gain per document for readers who see at most ``depth`` documents. (Q,)."""
    ranks = np.arange(1, _checked(depth) + 1, dtype=np.float64)
    query, rank, gain = graded.within(depth)
    values = np.zeros(run.num_queries)
    portion = max(1, CELLS // depth)
    for first in range(0, run.num_queries, portion):
        last = min(first + portion, run.num_queries)
        start, stop = np.searchsorted(query, [first, last])
        gains = np.zeros((last - first, depth))
        gains[query[start:stop] - first, rank[start:stop] - 1] = gain[start:stop]
        seen = np.ones_like(gains)
        np.cumprod(goes_on(ranks, gains)[:, :-1], axis=1, out=seen[:, 1:])
        # Sums are added up in rank order.
        gained, weight = (np.add.accumulate(terms, axis=1)[:, -1] for terms in (seen * gains, seen))
        values[first:last] = gained / weight
    return values


def _weighed(run: JudgedRun, graded: Gained, weights: FloatArray) -> FloatArray:
    """Return the mean gain under the weights of ranks (D,), which need not add up to 1. (Q,)."""
    query, rank, gain = graded.within(len(weights))
    return run.sum(query, gain * weights[rank - 1]) / float(np.add.accumulate(weights)[-1])


def inst(run: JudgedRun, *, target: float = 1.0, max_rel: int, min_rel: int = 0, deepest: int = DEPTH) -> FloatArray:
    r"""INST: readers want T relevant documents; they give up as they go on, and continue while they find some.

    Formula
    -------
    C(i) = ((i - 1 + T + T(i)) / (i + T + T(i)))², where T(i) = T - (r(1) + … + r(i)) is the gain still wanted after
    rank i. The value is the sum of W(i)·r(i) down to rank D.

    .. math:: \mathrm{INST} = \sum_{i=1}^{D} W(i)\,r(i), \qquad C(i) = \left(\frac{i - 1 + T + T(i)}{i + T +
        T(i)}\right)^2, \quad T(i) = T - \sum_{j \le i} r(j)

    Parameters
    ----------
    target : float
        T, the gain that the reader wants, at least 0.5. With a smaller T, C(i) of a ranking of relevant documents is
        not a probability.

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0.

    References
    ----------
    Moffat, A., Bailey, P., Scholer, F., Thomas, P. INST: An Adaptive Metric for Information Retrieval Evaluation. ADCS
    2015. Bailey, P., Moffat, A., Scholer, F., Thomas, P. User Variability and IR System Evaluation. SIGIR 2015. The
    numbers are those of cwl_eval 1.0.12, ``INSTCWLMetric``: Azzopardi, L., Thomas, P., Moffat, A. cwl_eval: An
    Evaluation Tool for Information Retrieval. SIGIR 2019.

    Examples
    --------
    Two ranks only. After the first, nothing more is wanted: T(1) = 0, so C(1) = (1/2)² and W(1) = 1 / (1 + 1/4).

    >>> inst(ranked_labels("1 0"), max_rel=1, deepest=2)
    array([0.8])
    """
    if target < 0.5:
        raise MeasureError(f"INST needs a T of 0.5 or more, not {target:.15g}", "Give T=0.5 or more.")

    def goes_on(ranks: FloatArray, gains: FloatArray) -> FloatArray:
        half = target + (ranks - np.add.accumulate(gains, axis=1)) / 2.0  # half of i + T + T(i)
        return ((half - 0.5) / half) ** 2

    return _expected_rate(run, _graded(run, max_rel, min_rel), deepest, goes_on)


def insq(run: JudgedRun, *, target: float = 1.0, max_rel: int, min_rel: int = 0, deepest: int = DEPTH) -> FloatArray:
    r"""INSQ: readers want T relevant documents; weights fall as the inverse square of the rank, whatever is found.

    Formula
    -------
    C(i) = ((i - 1 + 2T) / (i + 2T))², so W(i) is proportional to 1 / (i - 1 + 2T)². The value is the sum of W(i)·r(i)
    down to rank D.

    .. math:: \mathrm{INSQ} = \sum_{i=1}^{D} W(i)\,r(i), \qquad C(i) = \left(\frac{i - 1 + 2T}{i + 2T}\right)^2

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0.

    References
    ----------
    Moffat, A., Scholer, F., Thomas, P. Models and Metrics: IR Evaluation as a User Process. ADCS 2012. The numbers are
    those of cwl_eval 1.0.12, ``INSQCWLMetric``.

    Examples
    --------
    Two ranks only: C(1) = (2/3)², so W(1) = 1 / (1 + 4/9) = 9/13.

    >>> insq(ranked_labels("1 0"), max_rel=1, deepest=2)
    array([0.69230769])
    """
    ranks = np.arange(1, _checked(deepest) + 1, dtype=np.float64)
    share = target / (target + (ranks - 1.0) / 2.0)  # its square is the product of C(j) over the ranks j above
    return _weighed(run, _graded(run, max_rel, min_rel), share * share)


def scaled_discounted_cumulated_gain(
    run: JudgedRun, *, max_rel: int, min_rel: int = 0, cutoff: int, gain: str = "linear"
) -> FloatArray:
    r"""Scaled discounted cumulated gain (SDCG): DCG as a share of the DCG of k documents with the highest grade.

    Formula
    -------
    SDCG@k = (sum over ranks i ≤ k of r(i) / log2(i + 1)) / (sum over ranks i ≤ k of 1 / log2(i + 1)). As a model of a
    reader, C(i) = log2(i + 1) / log2(i + 2) above rank k, and 0 at rank k.

    .. math:: \mathrm{SDCG}@k = \frac{\sum_{i=1}^{k} r(i) / \log_2(i + 1)}{\sum_{i=1}^{k} 1 / \log_2(i + 1)}

    Parameters
    ----------
    gain : {"linear", "exp", "binary"}
        Whether r(i) is the position on the scale, (2^(rel - min_rel) - 1) / (2^(max_rel - min_rel) - 1), or 1 for every
        grade above min_rel.

    Returns
    -------
    (Q,) float array
        In [0, 1]; 1 only if there are k documents of the highest grade. Empty case: 0.

    References
    ----------
    Moffat, A., Bailey, P., Scholer, F., Thomas, P. Incorporating User Expectations and Behavior into the Measurement of
    Search Effectiveness. ACM TOIS 35(3), 2017. The numbers are those of cwl_eval 1.0.12, ``NDCGCWLMetric``, whose
    rankings end at rank 1000, so a larger k acts as 1000 there.

    Examples
    --------
    1 / (1 + 1/log2(3))

    >>> scaled_discounted_cumulated_gain(ranked_labels("1 0"), max_rel=1, cutoff=2)
    array([0.61314719])

    Grade 1 of 2 has the gain (2¹ - 1) / (2² - 1) = 1/3.

    >>> scaled_discounted_cumulated_gain(ranked_labels("1 0"), max_rel=2, cutoff=1, gain="exp")
    array([0.33333333])
    """
    weights = 1.0 / discounts(np.arange(1, _checked(cutoff) + 1))
    return _weighed(run, _graded(run, max_rel, min_rel, gain), weights)


def bejeweled_player_model(
    run: JudgedRun, *, target: float = 1.0, max_rel: int, min_rel: int = 0, cutoff: int
) -> FloatArray:
    r"""Bejeweled player model (BPM), static version: precision at the rank where readers stop, satisfied or tired.

    Formula
    -------
    BPM@k = (r(1) + … + r(s)) / s, where s is the first rank with r(1) + … + r(s) ≥ T, or k if none above k has it.

    .. math:: \mathrm{BPM}@k = \frac{1}{s} \sum_{i=1}^{s} r(i), \qquad s = \min\bigl(\{k\} \cup \{j : r(1) + \dots +
        r(j) \ge T\}\bigr)

    Parameters
    ----------
    target : float
        T, the gain that satisfies a reader (the wanted benefit, E_b in the paper).
    cutoff : int
        k, the rank at which a reader is tired (the cost, E_c in the paper; each document costs 1).

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0.

    References
    ----------
    Zhang, F., Liu, Y., Li, X., Zhang, M., Xu, Y., Ma, S. Evaluating Web Search with a Bejeweled Player Model. SIGIR
    2017. The numbers are those of cwl_eval 1.0.12, ``BPMCWLMetric(T, k)``, with two exceptions. There, rankings end at
    rank 1000, so a larger k acts as 1000. And it adds rounded gains, so that on a scale up to 3 the gains 3 1 1 1 do
    not reach T = 2.

    Examples
    --------
    The gains are 0.5, 0 and 1; T = 1 is reached at rank 3: (0.5 + 0 + 1) / 3.

    >>> bejeweled_player_model(ranked_labels("1 0 2"), max_rel=2, cutoff=5)
    array([0.5])
    """
    _check_grades(run, max_rel, min_rel)
    query, rank, rel = run.hits.where((run.hits.rel > min_rel) & (run.hits.rank <= cutoff))
    steps = rel - min_rel
    # Whole steps are added and divided once: a sum of rounded gains can miss the target in the last bit.
    added = np.concatenate([[0], np.cumsum(steps)])
    starts = np.searchsorted(query, np.arange(run.num_queries + 1))
    gained = (added[1:] - added[starts[query]]) / (max_rel - min_rel)
    stop = np.full(run.num_queries, cutoff, dtype=np.int64)
    np.minimum.at(stop, query[gained >= target], rank[gained >= target])
    total = run.sum(query, np.where(rank <= stop[query], steps, 0).astype(np.float64))
    return ratio(total / (max_rel - min_rel), stop)


def nearly_expected_reciprocal_rank_8(run: JudgedRun, *, max_rel: int, min_rel: int = 0, cutoff: int) -> FloatArray:
    r"""Nearly expected reciprocal rank, equation 8 (NERR8): gain alone makes readers stop, or the end of a page.

    Formula
    -------
    C(i) = 1 - r(i) above rank k, and 0 at rank k. The value is the sum of W(i)·r(i). It is not a normalised ERR.

    .. math:: \mathrm{NERR8}@k = \sum_{i=1}^{k} W(i)\,r(i), \qquad C(i) = \begin{cases} 1 - r(i) & i < k \\ 0 & i = k
        \end{cases}

    Parameters
    ----------
    cutoff : int
        k, the number of ranks that are scored. A shorter ranking is padded with documents of gain 0.

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0.

    References
    ----------
    Azzopardi, L., Mackenzie, J., Moffat, A. ERR is not C/W/L: Exploring the Relationship Between Expected Reciprocal
    Rank and Other Metrics. ICTIR 2021, equation 8. The numbers are those of cwl_eval 1.0.12, ``NERReq8CWLMetric``,
    whose rankings end at rank 1000, so a larger k acts as 1000 there.

    Examples
    --------
    r(1) = 1/2, so C(1) = 1/2, W(1) = 1 / (1 + 1/2) and the value is 2/3 · 1/2.

    >>> nearly_expected_reciprocal_rank_8(ranked_labels("1 0"), max_rel=2, cutoff=2)
    array([0.33333333])
    """
    return _expected_rate(run, _graded(run, max_rel, min_rel), cutoff, lambda _, gains: 1.0 - gains)


def nearly_expected_reciprocal_rank_9(run: JudgedRun, *, max_rel: int, min_rel: int = 0, cutoff: int) -> FloatArray:
    r"""Nearly expected reciprocal rank, equation 9 (NERR9): gain makes readers stop, or the rank they reach.

    Formula
    -------
    C(i) = (i / (i + 1))·(1 - r(i)) above rank k, and 0 at rank k. The value is the sum of W(i)·r(i).

    .. math:: \mathrm{NERR9}@k = \sum_{i=1}^{k} W(i)\,r(i), \qquad C(i) = \begin{cases} \frac{i}{i + 1} \, (1 - r(i)) &
        i < k \\ 0 & i = k \end{cases}

    Parameters
    ----------
    cutoff : int
        k, the number of ranks that are scored. A shorter ranking is padded with documents of gain 0.

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0.

    References
    ----------
    Azzopardi, L., Mackenzie, J., Moffat, A. ERR is not C/W/L: Exploring the Relationship Between Expected Reciprocal
    Rank and Other Metrics. ICTIR 2021, equation 9. The numbers are those of cwl_eval 1.0.12, ``NERReq9CWLMetric``,
    whose rankings end at rank 1000, so a larger k acts as 1000 there.

    Examples
    --------
    r(1) = 1/2, so C(1) = 1/2 · 1/2, W(1) = 1 / (1 + 1/4) and the value is 4/5 · 1/2.

    >>> nearly_expected_reciprocal_rank_9(ranked_labels("1 0"), max_rel=2, cutoff=2)
    array([0.4])
    """
    graded = _graded(run, max_rel, min_rel)
    return _expected_rate(run, graded, cutoff, lambda ranks, gains: ranks / (ranks + 1.0) * (1.0 - gains))


def nearly_expected_reciprocal_rank_10(
    run: JudgedRun, *, p: float = 0.9, max_rel: int, min_rel: int = 0, deepest: int = DEPTH
) -> FloatArray:
    r"""Nearly expected reciprocal rank, equation 10 (NERR10): gain makes readers stop, or patience as in RBP.

    Formula
    -------
    C(i) = p·(1 - r(i)). The value is the sum of W(i)·r(i) down to rank D.

    .. math:: \mathrm{NERR10} = \sum_{i=1}^{D} W(i)\,r(i), \qquad C(i) = p \cdot (1 - r(i))

    Parameters
    ----------
    p : float
        Probability of continuing after a document without gain.
    deepest : int
        D, the depth: a shorter ranking is padded with documents of gain 0, a longer one is cut. The value depends on D
        if p is near 1.

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0.

    References
    ----------
    Azzopardi, L., Mackenzie, J., Moffat, A. ERR is not C/W/L: Exploring the Relationship Between Expected Reciprocal
    Rank and Other Metrics. ICTIR 2021, equation 10. The numbers are those of cwl_eval 1.0.12, ``NERReq10CWLMetric``.

    Examples
    --------
    Two ranks only. r(1) = 1/2, so C(1) = 0.8 · 1/2, W(1) = 1 / 1.4 and the value is 1/2 · 1/1.4.

    >>> nearly_expected_reciprocal_rank_10(ranked_labels("1 0"), p=0.8, max_rel=2, deepest=2)
    array([0.35714286])
    """
    return _expected_rate(run, _graded(run, max_rel, min_rel), deepest, lambda _, gains: p * (1.0 - gains))


def nearly_expected_reciprocal_rank_11(
    run: JudgedRun, *, target: float = 1.0, max_rel: int, min_rel: int = 0, deepest: int = DEPTH
) -> FloatArray:
    r"""Nearly expected reciprocal rank, equation 11 (NERR11): gain makes readers stop, or patience as in INSQ.

    Formula
    -------
    C(i) = ((i - 1 + 2T) / (i + 2T))²·(1 - r(i)). The value is the sum of W(i)·r(i) down to rank D.

    .. math:: \mathrm{NERR11} = \sum_{i=1}^{D} W(i)\,r(i), \qquad C(i) = \left(\frac{i - 1 + 2T}{i + 2T}\right)^2 (1 -
        r(i))

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0.

    References
    ----------
    Azzopardi, L., Mackenzie, J., Moffat, A. ERR is not C/W/L: Exploring the Relationship Between Expected Reciprocal
    Rank and Other Metrics. ICTIR 2021, equation 11. The numbers are those of cwl_eval 1.0.12, ``NERReq11CWLMetric``.

    Examples
    --------
    Two ranks only. r(1) = 1/2, so C(1) = (2/3)² · 1/2, W(1) = 1 / (1 + 2/9) and the value is 9/11 · 1/2.

    >>> nearly_expected_reciprocal_rank_11(ranked_labels("1 0"), max_rel=2, deepest=2)
    array([0.40909091])
    """

    def goes_on(ranks: FloatArray, gains: FloatArray) -> FloatArray:
        half = target + ranks / 2.0  # half of i + 2T
        return ((half - 0.5) / half) ** 2 * (1.0 - gains)

    return _expected_rate(run, _graded(run, max_rel, min_rel), deepest, goes_on)
