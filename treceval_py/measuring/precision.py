"""Measures of binary relevance over ranks: precision, recall, average precision, reciprocal rank and related ones."""

from __future__ import annotations

import math

import numpy as np

from treceval_py._types import FloatArray, IntArray
from treceval_py.errors import EvaluationError
from treceval_py.judging.judged import JudgedRun, ratio
from treceval_py.measuring.cutting import cut_at

RECALLS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

MOST_RANKS = 1e15
"""More ranks than any ranking has; a multiple of R beyond it is cut to it, so that it is an integer."""


def _relevant_within(run: JudgedRun, level: int, depth: int | IntArray | None) -> IntArray:
    """Count the relevant documents among the first ``depth`` ones: as many for all queries, or for each (Q,). (Q,)."""
    if depth is None:
        return run.num_rel_ret(level)
    relevant = run.found(level)
    limit = depth if isinstance(depth, int) else depth[relevant.query]
    return run.count(relevant.query[relevant.rank <= limit])


def _sum_of_precisions(run: JudgedRun, level: int, cutoff: int | None = None) -> FloatArray:
    """Add up the precision at each relevant document retrieved. Returns (Q,)."""
    query, rank, nth, *_ = run.found(level)
    within = slice(None) if cutoff is None else rank <= cutoff
    return run.sum(query[within], (nth / rank)[within])


def _sum_of_precisions_in_steps(run: JudgedRun, level: int) -> FloatArray:
    """Add up, for each relevant document retrieved, the precision at the last rank of its tie. Returns (Q,)."""
    relevant = run.found(level)
    if not len(relevant.query):
        return np.zeros(run.num_queries)
    if run.tied is None:
        problem = "average precision that takes tied documents together needs to know ties"
        raise EvaluationError(problem, "Judge the run with tied=True.")
    last = np.minimum(run.tied.last[run.hits.rel >= max(level, 0)], run.num_ret[relevant.query])
    last = np.maximum(last, relevant.rank)
    # The last relevant document of a tie counts all those in the tie and above.
    ends = np.append((last[1:] != last[:-1]) | (relevant.query[1:] != relevant.query[:-1]), True)
    step = np.cumsum(np.concatenate([[False], ends[:-1]]))
    return run.sum(relevant.query, relevant.nth[ends][step] / last)


def precision(run: JudgedRun, *, level: int = 1, cutoff: int, divisor: str = "cutoff") -> FloatArray:
    r"""Precision: share of the first k documents that are relevant.

    Formula
    -------
    P@k = (relevant documents at ranks 1..k) / k. A shorter ranking counts as if padded with non-relevant documents,
    unless the divisor is min(k, documents retrieved) (``norm=retrieved``).

    .. math:: \mathrm{P}@k = \frac{1}{k} \sum_{i=1}^{k} r_i

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0.

    References
    ----------
    trec_eval 10.0, measure ``P``. Cleverdon, C. W. The Cranfield Tests on Index Language Devices. Aslib
    Proceedings 19(6), 1967. With ``norm=retrieved`` ``pre@k`` of XGBoost 3.2.0, ``PrecisionAt:top=k`` of CatBoost
    1.2.10, and RetrievalPrecision(adaptive_k=True) of torchmetrics 1.9.0.

    Examples
    --------
    Two of five are relevant.

    >>> precision(ranked_labels("1 0 2 - 0 1"), cutoff=5)
    array([0.4])

    Two of the four retrieved documents are relevant.

    >>> precision(ranked_labels("1 0 2 -"), cutoff=5, divisor="retrieved")
    array([0.5])
    """
    relevant = _relevant_within(run, level, cutoff)
    return ratio(relevant, np.minimum(run.num_ret, cutoff)) if divisor == "retrieved" else relevant / cutoff


def recall(run: JudgedRun, *, level: int = 1, cutoff: int) -> FloatArray:
    r"""Recall: share of the relevant documents that are among the first k.

    Formula
    -------
    R@k = (relevant documents at ranks 1..k) / R.

    .. math:: \mathrm{R}@k = \frac{1}{R} \sum_{i=1}^{k} r_i

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also when R = 0.

    References
    ----------
    trec_eval 10.0, measure ``recall``. Cleverdon, C. W. The Cranfield Tests on Index Language Devices. Aslib
    Proceedings 19(6), 1967.

    Examples
    --------
    Two of the three relevant documents are among the first five.

    >>> recall(ranked_labels("1 0 2 - 0 1"), cutoff=5)
    array([0.66666667])
    """
    return ratio(_relevant_within(run, level, cutoff), run.num_rel(level))


def relative_precision(run: JudgedRun, *, level: int = 1, cutoff: int) -> FloatArray:
    r"""Precision relative to the best possible precision.

    Formula
    -------
    relative_P@k = (relevant documents at ranks 1..k) / min(k, R).

    .. math:: \mathrm{relative\_P}@k = \frac{1}{\min(k, R)} \sum_{i=1}^{k} r_i

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also when R = 0.

    References
    ----------
    trec_eval 10.0, measure ``relative_P``.

    Examples
    --------
    One of two possible relevant documents is found.

    >>> relative_precision(ranked_labels("1 0 0", missed="1"), cutoff=5)
    array([0.5])
    """
    return ratio(_relevant_within(run, level, cutoff), np.minimum(run.num_rel(level), cutoff))


def capped_recall(run: JudgedRun, *, level: int = 1, cutoff: int) -> FloatArray:
    r"""Capped recall: relevant documents among the first k, as a share of the largest possible number there.

    Formula
    -------
    R_cap@k = (relevant documents at ranks 1..k) / min(k, R).

    .. math:: \mathrm{R\_cap}@k = \frac{1}{\min(k, R)} \sum_{i=1}^{k} r_i

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also when R = 0, while other programs leave such a query out or divide by 1.

    References
    ----------
    Thakur, N. et al. BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of Information Retrieval Models. NeurIPS
    Datasets and Benchmarks 2021. The same number as trec_eval's ``relative_P``.

    Examples
    --------
    Three documents are relevant. Two of them could be among the first two, and one is.

    >>> capped_recall(ranked_labels("1 0 2 - 0 1"), cutoff=2)
    array([0.5])
    """
    return relative_precision(run, level=level, cutoff=cutoff)


def f1(run: JudgedRun, *, level: int = 1, cutoff: int) -> FloatArray:
    r"""F1: harmonic mean of precision and recall of the first k documents.

    Formula
    -------
    F1@k = 2·P@k·R@k / (P@k + R@k) = 2·(relevant documents at ranks 1..k) / (k + R).

    .. math:: \mathrm{F1}@k = \frac{2 \cdot \mathrm{P}@k \cdot \mathrm{R}@k}{\mathrm{P}@k + \mathrm{R}@k} = \frac{2}{k +
        R} \sum_{i=1}^{k} r_i

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also when R = 0.

    References
    ----------
    van Rijsbergen, C. J. Information Retrieval, chapter 7. Butterworths 1979. ranx 0.3.21, ``f1@k``. trec_eval's
    ``set_F`` with ``-M k`` is higher if fewer than k documents were retrieved.

    Examples
    --------
    P@3 = 2/3 and R@3 = 2/5: 2 · 2 / (3 + 5).

    >>> f1(ranked_labels("1 0 2 - 0 1", missed="1 1"), cutoff=3)
    array([0.5])
    """
    return 2 * _relevant_within(run, level, cutoff) / (cutoff + run.num_rel(level))


def hits(run: JudgedRun, *, level: int = 1, cutoff: int | None = None) -> FloatArray:
    r"""Hits: number of relevant documents retrieved, averaged over queries.

    Formula
    -------
    Hits = relevant documents retrieved. ``num_rel_ret`` is their sum over queries.

    .. math:: \mathrm{Hits} = \sum_{i} r_i

    Hits@k = relevant documents at ranks 1..k.

    .. math:: \mathrm{Hits}@k = \sum_{i=1}^{k} r_i

    Returns
    -------
    (Q,) float array
        From 0, to k at most in Hits@k. Empty case: 0.

    References
    ----------
    ranx 0.3.21, ``hits`` and ``hits@k``. Elsewhere this name means a hit rate, which is ``success`` here.

    Examples
    --------
    >>> hits(ranked_labels("1 - 0 2", missed="2 1"))
    array([2.])
    >>> hits(ranked_labels("1 - 0 2"), cutoff=3)
    array([1.])
    """
    return _relevant_within(run, level, cutoff).astype(np.float64)


def mean_precision(run: JudgedRun, *, level: int = 1, cutoff: int) -> FloatArray:
    r"""Mean precision over the first k ranks, relevant or not.

    Formula
    -------
    MeanP@k = (P@1 + P@2 + … + P@k) / k. Average precision (AP@k) uses only the ranks of relevant documents.

    .. math:: \mathrm{MeanP}@k = \frac{1}{k} \sum_{i=1}^{k} \mathrm{P}@i

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0.

    References
    ----------
    Elliot 0.3.1, measure ``MAP``: Anelli, V. W. et al. Elliot: A Comprehensive and Rigorous Framework for Reproducible
    Recommender Systems Evaluation. SIGIR 2021.

    Examples
    --------
    (1/1 + 1/2 + 2/3) / 3

    >>> mean_precision(ranked_labels("1 0 2"), cutoff=3)
    array([0.72222222])
    """
    relevant = run.found(level)
    within = relevant.rank <= cutoff
    # A document at rank r counts in P@r, P@r+1, …, P@k: 1/r + 1/(r+1) + … + 1/k, smallest first.
    inverse = np.concatenate([[np.inf], 1.0 / np.arange(1, cutoff + 1)])
    shares = np.add.accumulate(inverse[::-1])[::-1]
    return run.sum(relevant.query[within], shares[relevant.rank[within]]) / cutoff


def fallout(run: JudgedRun, *, level: int = 1, cutoff: int | None = None, collection_size: int = 0) -> FloatArray:
    r"""Fall-out: share of the non-relevant documents that were retrieved.

    Formula
    -------
    Fallout = (retrieved, not relevant) / N'. N' is the number of documents in the collection - R, if the size of the
    collection is given. Otherwise it is the number of documents known to be non-relevant: judged so, or retrieved
    without a judgment.

    .. math:: \mathrm{Fallout} = \frac{|\text{retrieved} \setminus \text{relevant}|}{N'}

    Fallout@k = (documents at ranks 1..k that are not relevant) / N'. N' is the number of documents in the collection -
    R, if the size of the collection is given. Otherwise it is the number of documents known to be non-relevant: judged
    so, or retrieved without a judgment, at any rank.

    .. math:: \mathrm{Fallout}@k = \frac{|\{i \le k : r_i = 0\}|}{N'}

    Returns
    -------
    (Q,) float array
        In [0, 1]; less is better. Empty case: 0, also when no document is known to be non-relevant.

    References
    ----------
    Cleverdon, C. W. The Cranfield Tests on Index Language Devices. Aslib Proceedings 19(6), 1967. RetrievalFallOut of
    torchmetrics 1.9.0 uses only the retrieved documents, and counts a query without a non-relevant one as 1.

    Examples
    --------
    Three documents are known to be non-relevant, at ranks 2 and 3 and one that was missed; two were retrieved.

    >>> fallout(ranked_labels("1 0 - 2", missed="0"))
    array([0.66666667])

    A collection of 12 documents has 10 non-relevant ones.

    >>> fallout(ranked_labels("1 0 - 2", missed="0"), collection_size=12)
    array([0.2])

    One of the two non-relevant documents is among the first two.

    >>> fallout(ranked_labels("1 0 2 -"), cutoff=2)
    array([0.5])
    """
    retrieved = run.num_ret if cutoff is None else np.minimum(run.num_ret, cutoff)
    if collection_size:
        nonrelevant = np.maximum(collection_size - run.num_rel(level), 0)
    else:
        nonrelevant = run.num_nonrel(level) + run.num_ret - run.count(run.hits.query[run.hits.rel >= 0])
    return ratio(retrieved - _relevant_within(run, level, cutoff), nonrelevant)


def success(run: JudgedRun, *, level: int = 1, cutoff: int) -> FloatArray:
    r"""Whether a relevant document is among the first k.

    Formula
    -------
    Success@k = 1 if there is a relevant document at ranks 1..k, else 0.

    .. math:: \mathrm{Success}@k = \max_{1 \le i \le k} r_i

    Returns
    -------
    (Q,) float array
        0 or 1. Empty case: 0.

    References
    ----------
    trec_eval 10.0, measure ``success``. Also known as hit rate.

    Examples
    --------
    >>> success(ranked_labels("0 - 1"), cutoff=5)
    array([1.])
    """
    return (_relevant_within(run, level, cutoff) > 0).astype(np.float64)


def average_precision(
    run: JudgedRun, *, level: int = 1, cutoff: int | None = None, norm: str = "relevant", steps: str = "ordered"
) -> FloatArray:
    r"""Average precision (AP); its mean over queries is MAP.

    Formula
    -------
    AP = (sum over the relevant documents retrieved of the precision at their rank) / R.

    .. math:: \mathrm{AP} = \frac{1}{R} \sum_{i} r_i \cdot \mathrm{P}@i

    AP@k = (sum over the relevant documents at ranks 1..k of the precision at their rank) / m, where m is R, min(k, R)
    (``norm=capped``) or the number of relevant documents at ranks 1..k (``norm=retrieved``).

    .. math:: \mathrm{AP}@k = \frac{1}{m} \sum_{i=1}^{k} r_i \cdot \mathrm{P}@i

    Parameters
    ----------
    level : int
        Lowest judgment that counts as relevant. AP is binary: graded judgments are cut at this level.

    Returns
    -------
    (Q,) float array
        In [0, 1]; AP@k with ``norm=relevant`` cannot reach 1 when R > k. Empty case: 0, also when R = 0.

    References
    ----------
    trec_eval 10.0, measures ``map`` and ``map_cut``. Harman, D. Evaluation Issues in Information Retrieval. IPM 28(4),
    1992. scikit-learn 1.9, ``average_precision_score``.

    Examples
    --------
    (1/1 + 2/3) / 3

    >>> average_precision(ranked_labels("1 0 2", missed="1"))
    array([0.55555556])

    (1/1 + 2/3) / 2

    >>> average_precision(ranked_labels("1 0 2", missed="1"), norm="retrieved")
    array([0.83333333])

    (1/1) / 2: the second relevant document is below rank 2.

    >>> average_precision(ranked_labels("1 0 2"), cutoff=2)
    array([0.5])

    (1/1) / 1: one of the relevant documents is among the first two.

    >>> average_precision(ranked_labels("1 0 2"), cutoff=2, norm="retrieved")
    array([1.])
    """
    if steps == "together":
        total = _sum_of_precisions_in_steps(cut_at(run, cutoff), level)
    else:
        total = _sum_of_precisions(run, level, cutoff)
    number = _relevant_within(run, level, cutoff) if norm == "retrieved" else run.num_rel(level)
    return ratio(total, np.minimum(number, cutoff) if norm == "capped" and cutoff is not None else number)


def yaap(run: JudgedRun, *, level: int = 1) -> FloatArray:
    r"""Yet another average precision: the log odds of AP.

    Formula
    -------
    yaap = ln((1 + S) / (1 + R - S)), S = AP·R the undivided sum of precisions.

    .. math:: \mathrm{yaap} = \ln \frac{1 + S}{1 + R - S}, \qquad S = \sum_{i} r_i \cdot \mathrm{P}@i

    Returns
    -------
    (Q,) float array
        Any value. Empty case: ln(1 / (1 + R)).

    References
    ----------
    trec_eval 10.0, measure ``yaap``. Robertson, S. On GMAP: and Other Transformations. CIKM 2006.

    Examples
    --------
    S = 1, R = 2: ln(2 / 2).

    >>> yaap(ranked_labels("1 0", missed="1"))
    array([0.])
    """
    total = _sum_of_precisions(run, level)
    odds = (1 + total) / (1 + run.num_rel(level) - total)
    return np.array([math.log(value) for value in odds.tolist()], dtype=np.float64)


def r_precision(run: JudgedRun, *, level: int = 1) -> FloatArray:
    r"""Precision at rank R, where R is the number of relevant documents.

    Formula
    -------
    Rprec = (relevant documents at ranks 1..R) / R.

    .. math:: \mathrm{Rprec} = \frac{1}{R} \sum_{i=1}^{R} r_i

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also when R = 0.

    References
    ----------
    trec_eval 10.0, measure ``Rprec``. Buckley, C., Voorhees, E. M. Retrieval System Evaluation. In: TREC, MIT Press
    2005.

    Examples
    --------
    R = 3, and two of the first three are relevant.

    >>> r_precision(ranked_labels("1 0 2 1"))
    array([0.66666667])
    """
    relevant = run.num_rel(level)
    return ratio(_relevant_within(run, level, relevant), relevant)


def r_precision_multiple(run: JudgedRun, *, level: int = 1, multiple: float) -> FloatArray:
    r"""Precision at a multiple of R.

    Formula
    -------
    Rprec_mult@x = (relevant documents at ranks 1..c) / c, c = floor(x·R + 0.9).

    .. math:: \mathrm{Rprec\_mult}@x = \frac{1}{c} \sum_{i=1}^{c} r_i, \qquad c = \lfloor x R + 0.9 \rfloor

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also when c = 0.

    References
    ----------
    trec_eval 10.0, measure ``Rprec_mult``.

    Examples
    --------
    R = 2 and x = 2: two of the first four documents are relevant.

    >>> r_precision_multiple(ranked_labels("1 0 0 1 0"), multiple=2.0)
    array([0.5])
    """
    cutoffs = _ranks_of(multiple, run.num_rel(level), "up")
    return ratio(_relevant_within(run, level, cutoffs), cutoffs)


def reciprocal_rank(run: JudgedRun, *, level: int = 1, cutoff: int | None = None) -> FloatArray:
    r"""Reciprocal rank (RR) of the first relevant document; its mean over queries is MRR.

    Formula
    -------
    RR = 1 / (rank of the first relevant document), 0 if there is none.

    .. math:: \mathrm{RR} = \frac{1}{\min\{i : r_i = 1\}}

    RR@k = 1 / (rank of the first relevant document) if that is at most k, else 0.

    .. math:: \mathrm{RR}@k = \begin{cases} 1 / f & f \le k \\ 0 & \text{otherwise} \end{cases} \qquad f = \min\{i : r_i
        = 1\}

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0.

    References
    ----------
    trec_eval 10.0, measure ``recip_rank``, for RR@k with ``-M k``. Voorhees, E. M. The TREC-8 Question Answering Track
    Report. TREC 1999. MRR@10: Bajaj, P. et al. MS MARCO: A Human Generated MAchine Reading COmprehension Dataset.
    arXiv:1611.09268.

    Examples
    --------
    >>> reciprocal_rank(ranked_labels("0 - 1"))
    array([0.33333333])
    >>> reciprocal_rank(ranked_labels("0 - 1"), cutoff=2)
    array([0.])
    """
    relevant = cut_at(run, cutoff).found(level)
    first = relevant.nth == 1
    return run.sum(relevant.query[first], 1.0 / relevant.rank[first])


def interpolated_precision(run: JudgedRun, *, level: int = 1, recall: float, rounding: str = "nearest") -> FloatArray:
    r"""Interpolated precision: the highest precision at a recall level or beyond.

    Formula
    -------
    iprec@x = max of P@i over all ranks i from the c-th relevant document on, c = x·R rounded; 0 if fewer than c
    relevant documents were retrieved.

    .. math:: \mathrm{iprec}@x = \max_{i \ge i_c} \mathrm{P}@i, \quad i_c = \text{rank of relevant document } c, \quad c
        = \operatorname{round}(x R)

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0.

    References
    ----------
    trec_eval 10.0, measure ``iprec_at_recall``. Manning, C. D., Raghavan, P., Schütze, H. Introduction to Information
    Retrieval, section 8.4. Cambridge University Press 2008.

    Examples
    --------
    R = 2, so recall 0.75 requires the second relevant document, which is at rank 4.

    >>> interpolated_precision(ranked_labels("1 0 0 1"), recall=0.75)
    array([0.5])
    """
    return _interpolated_at(run, level, _ranks_of(recall, run.num_rel(level), rounding))


def eleven_point_average(
    run: JudgedRun, *, level: int = 1, recalls: tuple[float, ...] = RECALLS, rounding: str = "nearest"
) -> FloatArray:
    r"""Average of the interpolated precision at eleven recall levels.

    Formula
    -------
    11pt_avg = mean of iprec@x over the recall levels x.

    .. math:: \mathrm{11pt\_avg} = \frac{1}{11} \sum_{x \in \{0,\,0.1,\,\dots,\,1\}} \mathrm{iprec}@x

    Parameters
    ----------
    recalls : floats
        The recall levels, ascending, each at most 1. A level larger than the next one gets the highest precision of
        all, as in trec_eval, which goes through the list from its end.

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0.

    References
    ----------
    trec_eval 10.0, measure ``11pt_avg``. Salton, G., McGill, M. J. Introduction to Modern Information Retrieval.
    McGraw-Hill 1983.

    Examples
    --------
    R = 2. The precision is 1 at the first and 1/2 at the second relevant document. Recalls 0 to 0.7 round to 0 or 1
    document, 0.8 to 1.0 to 2: (1 · 8 + 1/2 · 3) / 11.

    >>> eleven_point_average(ranked_labels("1 0 0 1"))
    array([0.86363636])
    """
    relevant, retrieved = run.num_rel(level), run.num_rel_ret(level)
    highest = _interpolated_at(run, level, np.zeros_like(relevant))
    total = np.zeros(run.num_queries)
    at_end = np.ones(run.num_queries, dtype=bool)
    stuck = np.zeros(run.num_queries, dtype=bool)
    reached = retrieved
    for level_of_recall in reversed(recalls):
        wanted = _ranks_of(level_of_recall, relevant, rounding)
        at_end &= wanted > retrieved
        stuck |= ~at_end & (wanted > reached)
        value = np.where(stuck, highest, _interpolated_at(run, level, wanted))
        total += np.where(at_end, 0.0, value)
        reached = np.where(at_end | stuck, reached, wanted)
    return total / len(recalls)


def _ranks_of(share: float, relevant: IntArray, rounding: str) -> IntArray:
    """Convert a share of R to a number of relevant documents: trec_eval 10 rounds, 9 nearly always rounds up."""
    exact = share * relevant
    if rounding == "up":
        whole = np.floor(exact + 0.9)
    else:
        whole = np.floor(exact)
        whole = whole + (exact - whole >= 0.5)
    ranks: IntArray = np.minimum(whole, MOST_RANKS).astype(np.int64)
    return ranks


def _interpolated_at(run: JudgedRun, level: int, wanted: IntArray) -> FloatArray:
    """Return the highest precision from the ``wanted``-th (Q,) relevant document on; 0 beyond the last one. (Q,)."""
    relevant = run.found(level)
    best = run.once(("interpolated", level), lambda: _best_from_here_on(run, level))
    first = np.searchsorted(relevant.query, np.arange(run.num_queries))
    reached = (wanted <= run.num_rel_ret(level)) & (run.num_rel_ret(level) > 0)
    result = np.zeros(run.num_queries)
    result[reached] = best[(first + np.maximum(wanted, 1) - 1)[reached]]
    return result


def _best_from_here_on(run: JudgedRun, level: int) -> FloatArray:
    """Return, for each relevant document retrieved, the highest precision at its rank or below. (F,)."""
    relevant = run.found(level)
    if not len(relevant.query):
        return np.zeros(0)
    # A running maximum that restarts at each query. It runs on whole numbers in the order of the precisions, raised
    # from query to query by more than any of them, so that no precision is rounded.
    values, codes = np.unique(relevant.nth / relevant.rank, return_inverse=True)
    lifted = codes - relevant.query * len(values)
    highest = np.maximum.accumulate(lifted[::-1])[::-1] + relevant.query * len(values)
    return values[highest]
