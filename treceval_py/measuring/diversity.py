"""Measures of diversity: how early a ranking covers the subtopics of a query, and how little it repeats itself.

Judgments are made per subtopic. A document may be relevant to several subtopics, with a different grade for each; only
whether the grade reaches ``level`` matters. The subtopics of a query are those with a relevant document. A document's
gain is 1 for each subtopic it is relevant to, multiplied by 1 - alpha for each document above it that is relevant to
the same subtopic. With alpha = 0 repetition is not penalised; with alpha = 1 it earns nothing.

A value can be normalized in two ways. *By the bound*: as if each rank could hold a document relevant to all subtopics,
whatever was judged. Queries with few such documents then have low values. *By the ideal ranking* of the judged
documents. Finding the best ranking is NP-hard, so it is built greedily: each rank gets the document with the highest
gain there; ties go to the larger id (compared as bytes).

The gain of a document is added up over subtopics in byte order, in float64. Unless alpha is a sum of few powers of 2,
this order affects the last bit, and so which documents are tied in the ideal ranking.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from treceval_py._types import BoolArray, FloatArray, IntArray
from treceval_py.judging.judged import GroupJudgments, JudgedGroups, nth_of, ratio
from treceval_py.measuring.gains import Gained, discounts, powers

Discounts = Callable[[IntArray], FloatArray | IntArray]

BLOCK = 4000
"""Ranks whose bound is added up at a time; also the length of the table of logarithms."""


def _rows(judgments: GroupJudgments, mask: BoolArray | IntArray) -> GroupJudgments:
    return GroupJudgments(*(column[mask] for column in judgments))


def _relevant(run: JudgedGroups, level: int) -> GroupJudgments:
    """Return the judgments of documents relevant to a subtopic."""
    rel = run.judgments.rel
    return run.run.once(("relevant to subtopics", level), lambda: _rows(run.judgments, rel >= max(level, 0)))


def _retrieved(run: JudgedGroups, level: int, cutoff: int | None = None) -> GroupJudgments:
    """Return those judgments of `_relevant` whose document was retrieved, within the cutoff."""
    rows = _relevant(run, level)
    there = rows.rank > 0
    return _rows(rows, there if cutoff is None else there & (rows.rank <= cutoff))


def _sum(run: JudgedGroups, query: IntArray, values: FloatArray) -> FloatArray:
    """Add up values (N,) by query, sequentially. Returns (Q,)."""
    return np.bincount(query, weights=values, minlength=run.num_queries).astype(np.float64)


def _covered(run: JudgedGroups, rows: GroupJudgments) -> IntArray:
    """Count the subtopics that occur in some rows. Returns (Q,)."""
    there = np.zeros(len(run.query), dtype=bool)
    there[rows.group] = True
    return np.bincount(run.query[there], minlength=run.num_queries).astype(np.int64)


def _subtopics(run: JudgedGroups, level: int) -> FloatArray:
    """Count the subtopics with a relevant document. Returns (Q,)."""
    return _covered(run, _relevant(run, level)).astype(np.float64)


def _above(rows: GroupJudgments) -> IntArray:
    """Count, for each row, the higher-ranked rows of the same subtopic. Returns (N,)."""
    order = np.lexsort((rows.rank, rows.group))
    above = np.empty(len(order), dtype=np.int64)
    above[order] = nth_of(rows.group[order]) - 1
    return above


def _gained(rows: GroupJudgments, alpha: float) -> Gained:
    """Return the gain of each document of some rows."""
    order = np.lexsort((rows.group, rows.rank, rows.query))
    gain = powers(1.0 - alpha, _above(rows) + 1)[order]
    query, rank = rows.query[order], rows.rank[order]
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = (query[1:] != query[:-1]) | (rank[1:] != rank[:-1])
    total: FloatArray = np.bincount(np.cumsum(begins) - 1, weights=gain).astype(np.float64)
    return Gained(query[begins], rank[begins], total)


def _found(run: JudgedGroups, level: int, alpha: float) -> Gained:
    """Return the gains of the retrieved documents."""
    return run.run.once(("gained of subtopics", level, alpha), lambda: _gained(_retrieved(run, level), alpha))


def _ideal(run: JudgedGroups, level: int, alpha: float, cutoff: int | None = None) -> Gained:
    """Return the gains of the ideal ranking, down to the cutoff."""

    def make() -> Gained:
        rows = _relevant(run, level)
        rank = np.zeros(len(rows.query), dtype=np.int64)
        starts = np.searchsorted(rows.query, np.arange(run.num_queries + 1)).tolist()
        for start, stop in pairwise(starts):
            documents, groups = rows.document[start:stop].tolist(), rows.group[start:stop].tolist()
            ranks = _greedy(documents, groups, 1.0 - alpha, stop - start if cutoff is None else cutoff)
            rank[start:stop] = [ranks.get(document, 0) for document in documents]
        there = rank > 0
        return _gained(_rows(rows._replace(rank=rank), there), alpha)

    return run.run.once(("ideal of subtopics", level, alpha, cutoff), make)


def _greedy(documents: list[int], subtopics: list[int], keep: float, most: int) -> dict[int, int]:
    """Rank the documents of a query greedily: each rank gets the document with the highest gain there.

    Parameters
    ----------
    documents, subtopics : list of int
        The document and the subtopic of each judgment, sorted by document and subtopic.
    keep : float
        Factor applied to a subtopic's gain after each document relevant to it, in [0, 1].
    most : int
        Number of documents to rank.

    Returns
    -------
    dict
        The ranks, from 1.
    """
    of_document: dict[int, list[int]] = {}
    for document, subtopic in zip(documents, subtopics, strict=True):
        of_document.setdefault(document, []).append(subtopic)
    alike: dict[tuple[int, ...], list[int]] = {}
    for document, covered in of_document.items():
        alike.setdefault(tuple(covered), []).append(document)
    gains = dict.fromkeys(subtopics, 1.0)
    # Of documents with the same subtopics, only the one with the largest id is a candidate. Gains only fall, so an
    # earlier gain is an upper bound: if a kind of documents is on top and its gain is still the same, it is the best.
    heap = [(-float(len(kind)), -same[-1], kind) for kind, same in alike.items()]
    heapq.heapify(heap)
    ranks: dict[int, int] = {}
    while heap and len(ranks) < most:
        before, document, kind = heap[0]
        gain = 0.0
        for subtopic in kind:  # not sum(), which rounds differently from Python 3.12 on
            gain += gains[subtopic]
        if -gain != before:
            heapq.heapreplace(heap, (-gain, document, kind))
            continue
        ranks[alike[kind].pop()] = len(ranks) + 1
        for subtopic in kind:
            gains[subtopic] *= keep
        if alike[kind]:
            heapq.heapreplace(heap, (before, -alike[kind][-1], kind))
        else:
            heapq.heappop(heap)
    return ranks


def _cumulated(run: JudgedGroups, gained: Gained, discounts: Discounts, cutoff: int) -> FloatArray:
    """Add up discounted gains down to the cutoff. Returns (Q,)."""
    query, rank, gain = gained.within(cutoff)
    return _sum(run, query, gain / discounts(rank))


def _bound(discounts: Discounts, alpha: float, cutoff: int) -> float:
    """Add up the discounted gains of one subtopic if every document is relevant to it."""
    total, gain, start = 0.0, 1.0, 1
    while start <= cutoff and gain > 0:
        ranks = np.arange(start, min(start + BLOCK, cutoff + 1))
        gains = np.cumprod(np.concatenate([[gain], np.full(len(ranks), 1.0 - alpha)]))
        total = float(np.add.accumulate(np.concatenate([[total], gains[:-1] / discounts(ranks)]))[-1])
        gain, start = float(gains[-1]), start + BLOCK
    return total


def _patience(run: JudgedGroups, gained: Gained, patience: float) -> FloatArray:
    """Add up gains times patience^(rank - 1). Returns (Q,)."""
    return _sum(run, gained.query, gained.gain * powers(patience, gained.rank))


def alpha_discounted_cumulated_gain(
    run: JudgedGroups, *, level: int = 1, alpha: float = 0.5, cutoff: int
) -> FloatArray:
    r"""Alpha-DCG of the first k documents: DCG of new information, divided by its bound.

    Formula
    -------
    alpha-DCG@k = (sum over ranks i of 1..k of gain(i) / log2(i + 1)) / (S · sum over the same ranks of
    (1 - alpha)^(i-1) / log2(i + 1)), S subtopics, gain(i) = sum over the subtopics of the document at rank i of
    (1 - alpha)^(relevant documents of the subtopic above). The divisor is the sum for documents that are relevant to
    all subtopics, so this value is normalized, unlike the bare sum in the paper.

    .. math:: \mathrm{\alpha\text{-}DCG}@k = \frac{\sum_{i=1}^{k} \mathrm{gain}(i) / \log_2(i + 1)}{S \sum_{i=1}^{k} (1
        - \alpha)^{i-1} / \log_2(i + 1)}, \qquad \mathrm{gain}(i) = \sum_{s \in S_i} (1 - \alpha)^{c_s(i)}

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also without relevant documents.

    References
    ----------
    ndeval 4.5 in pyndeval 0.0.8, measure ``alpha-DCG@k``, which does not divide at k = 1 and ends at k = 20. Clarke,
    C. L. A. et al. Novelty and Diversity in Information Retrieval Evaluation. SIGIR 2008.

    Examples
    --------
    The first document covers subtopic A: gain 1. The second covers A again and B: gain 1/2 + 1. If both covered both
    subtopics, the gains would be 2 and 1/2 + 1/2: (1 + 1.5/log2(3)) / (2 + 1/log2(3)).

    >>> groups = JudgmentGroups({"q": {b"A": {b"a": 1, b"b": 1}, b"B": {b"b": 1}}})
    >>> alpha_discounted_cumulated_gain(judge_groups(groups, Run({"q": {"a": 2.0, "b": 1.0}})), cutoff=2)
    array([0.73981247])
    """
    cumulated = _cumulated(run, _found(run, level, alpha), discounts, cutoff)
    return ratio(cumulated, _subtopics(run, level) * _bound(discounts, alpha, cutoff))


def alpha_normalized_discounted_cumulated_gain(
    run: JudgedGroups, *, level: int = 1, alpha: float = 0.5, cutoff: int
) -> FloatArray:
    r"""Alpha-nDCG of the first k documents: DCG of new information, divided by that of the ideal ranking.

    Formula
    -------
    alpha-nDCG@k = DCG / DCG of the ideal ranking, DCG = sum over ranks i of 1..k of gain(i) / log2(i + 1), gain(i) =
    sum over the subtopics of the document at rank i of (1 - alpha)^(relevant documents of the subtopic above). The
    ideal ranking is built greedily: each rank gets the document with the highest gain; ties go to the larger id.

    .. math:: \mathrm{\alpha\text{-}nDCG}@k = \frac{\mathrm{DCG}}{\mathrm{DCG} \text{ of the ideal ranking}}, \quad
        \mathrm{DCG} = \sum_{i=1}^{k} \frac{\mathrm{gain}(i)}{\log_2(i + 1)}, \quad \mathrm{gain}(i) = \sum_{s \in S_i}
        (1 - \alpha)^{c_s(i)}

    Returns
    -------
    (Q,) float array
        From 0 to 1, sometimes higher because the greedy ideal is not always the best. Empty case: 0, also without
        relevant documents.

    References
    ----------
    ndeval 4.5 in pyndeval 0.0.8, measure ``alpha-nDCG@k``, which ends at k = 20. Clarke, C. L. A. et al. Novelty and
    Diversity in Information Retrieval Evaluation. SIGIR 2008.

    Examples
    --------
    The reverse order is the ideal: (1 + 1.5/log2(3)) / (2 + 0.5/log2(3)).

    >>> groups = JudgmentGroups({"q": {b"A": {b"a": 1, b"b": 1}, b"B": {b"b": 1}}})
    >>> judged = judge_groups(groups, Run({"q": {"a": 2.0, "b": 1.0}}))
    >>> alpha_normalized_discounted_cumulated_gain(judged, cutoff=2)
    array([0.84060642])
    """
    cumulated = _cumulated(run, _found(run, level, alpha), discounts, cutoff)
    return ratio(cumulated, _cumulated(run, _ideal(run, level, alpha, cutoff), discounts, cutoff))


def intent_aware_expected_reciprocal_rank(
    run: JudgedGroups, *, level: int = 1, alpha: float = 0.5, cutoff: int
) -> FloatArray:
    r"""ERR-IA of the first k documents: expected reciprocal rank over all subtopics, divided by its bound.

    Formula
    -------
    ERR-IA@k = (sum over ranks i of 1..k of gain(i) / i) / (S · sum over the same ranks of (1 - alpha)^(i-1) / i), S
    subtopics, gain(i) = sum over the subtopics of the document at rank i of (1 - alpha)^(relevant documents of the
    subtopic above). The divisor is the sum for documents that are relevant to all subtopics.

    .. math:: \mathrm{ERR\text{-}IA}@k = \frac{\sum_{i=1}^{k} \mathrm{gain}(i) / i}{S \sum_{i=1}^{k} (1 - \alpha)^{i-1}
        / i}, \qquad \mathrm{gain}(i) = \sum_{s \in S_i} (1 - \alpha)^{c_s(i)}

    Parameters
    ----------
    alpha : float
        Probability that a relevant document satisfies a reader interested in its subtopic.

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also without relevant documents.

    References
    ----------
    ndeval 4.5 in pyndeval 0.0.8, measure ``ERR-IA@k``, which does not divide at k = 1 and ends at k = 20. Chapelle,
    O., Metzler, D., Zhang, Y., Grinspan, P. Expected Reciprocal Rank for Graded Relevance. CIKM 2009.

    Examples
    --------
    The first document covers subtopic A: gain 1. The second covers A again and B: gain 1/2 + 1. If both covered both
    subtopics, the gains would be 2 and 1/2 + 1/2: (1 + 1.5/2) / (2 + 1/2).

    >>> groups = JudgmentGroups({"q": {b"A": {b"a": 1, b"b": 1}, b"B": {b"b": 1}}})
    >>> intent_aware_expected_reciprocal_rank(judge_groups(groups, Run({"q": {"a": 2.0, "b": 1.0}})), cutoff=2)
    array([0.7])
    """
    cumulated = _cumulated(run, _found(run, level, alpha), np.asarray, cutoff)
    return ratio(cumulated, _subtopics(run, level) * _bound(np.asarray, alpha, cutoff))


def normalized_intent_aware_expected_reciprocal_rank(
    run: JudgedGroups, *, level: int = 1, alpha: float = 0.5, cutoff: int
) -> FloatArray:
    r"""ERR-IA of the first k documents, divided by that of the ideal ranking (nERR-IA).

    Formula
    -------
    nERR-IA@k = ERR / ERR of the ideal ranking, ERR = sum over ranks i of 1..k of gain(i) / i, gain(i) = sum over the
    subtopics of the document at rank i of (1 - alpha)^(relevant documents of the subtopic above). The ideal ranking is
    built greedily: each rank gets the document with the highest gain; ties go to the larger id.

    .. math:: \mathrm{nERR\text{-}IA}@k = \frac{\mathrm{ERR}}{\mathrm{ERR} \text{ of the ideal ranking}}, \quad
        \mathrm{ERR} = \sum_{i=1}^{k} \frac{\mathrm{gain}(i)}{i}, \quad \mathrm{gain}(i) = \sum_{s \in S_i} (1 -
        \alpha)^{c_s(i)}

    Parameters
    ----------
    alpha : float
        Probability that a relevant document satisfies a reader interested in its subtopic.

    Returns
    -------
    (Q,) float array
        From 0 to 1, sometimes higher because the greedy ideal is not always the best. Empty case: 0, also without
        relevant documents.

    References
    ----------
    ndeval 4.5 in pyndeval 0.0.8, measure ``nERR-IA@k``, which ends at k = 20. Chapelle, O., Metzler, D., Zhang, Y.,
    Grinspan, P. Expected Reciprocal Rank for Graded Relevance. CIKM 2009.

    Examples
    --------
    The reverse order is the ideal: (1 + 1.5/2) / (2 + 0.5/2).

    >>> groups = JudgmentGroups({"q": {b"A": {b"a": 1, b"b": 1}, b"B": {b"b": 1}}})
    >>> judged = judge_groups(groups, Run({"q": {"a": 2.0, "b": 1.0}}))
    >>> normalized_intent_aware_expected_reciprocal_rank(judged, cutoff=2)
    array([0.77777778])
    """
    cumulated = _cumulated(run, _found(run, level, alpha), np.asarray, cutoff)
    return ratio(cumulated, _cumulated(run, _ideal(run, level, alpha, cutoff), np.asarray, cutoff))


def novelty_and_rank_biased_precision(
    run: JudgedGroups, *, level: int = 1, alpha: float = 0.5, patience: float = 0.5
) -> FloatArray:
    r"""NRBP: rank-biased precision of new information, divided by its bound.

    Formula
    -------
    NRBP = ((1 - (1 - alpha)·beta) / S) · sum over ranks i of beta^(i-1) · gain(i), S subtopics, gain(i) = sum over the
    subtopics of the document at rank i of (1 - alpha)^(relevant documents of the subtopic above).

    .. math:: \mathrm{NRBP} = \frac{1 - (1 - \alpha)\,\beta}{S} \sum_{i} \beta^{\,i-1} \cdot \mathrm{gain}(i), \qquad
        \mathrm{gain}(i) = \sum_{s \in S_i} (1 - \alpha)^{c_s(i)}

    Returns
    -------
    (Q,) float array
        In [0, 1]; 0 for alpha = 0 and beta = 1, whose bound is infinite. Empty case: 0, also without relevant
        documents.

    References
    ----------
    ndeval 4.5 in pyndeval 0.0.8, measure ``NRBP``. Clarke, C. L. A., Kolla, M., Vechtomova, O. An Effectiveness
    Measure for Ambiguous and Underspecified Queries. ICTIR 2009.

    Examples
    --------
    The first document covers subtopic A: gain 1. The second covers A again and B: gain 1/2 + 1.
    (1 - 1/4) / 2 · (1 + 1.5/2).

    >>> groups = JudgmentGroups({"q": {b"A": {b"a": 1, b"b": 1}, b"B": {b"b": 1}}})
    >>> novelty_and_rank_biased_precision(judge_groups(groups, Run({"q": {"a": 2.0, "b": 1.0}})))
    array([0.65625])
    """
    total = _patience(run, _found(run, level, alpha), patience)
    return ratio((1.0 - (1.0 - alpha) * patience) * total, _subtopics(run, level))


def normalized_novelty_and_rank_biased_precision(
    run: JudgedGroups, *, level: int = 1, alpha: float = 0.5, patience: float = 0.5
) -> FloatArray:
    r"""NRBP, divided by that of the ideal ranking (nNRBP).

    Formula
    -------
    nNRBP = N / N of the ideal ranking, N = sum over ranks i of beta^(i-1) · gain(i), gain(i) = sum over the subtopics
    of the document at rank i of (1 - alpha)^(relevant documents of the subtopic above). The ideal ranking is built
    greedily: each rank gets the document with the highest gain; ties go to the larger id.

    .. math:: \mathrm{nNRBP} = \frac{N}{N \text{ of the ideal ranking}}, \quad N = \sum_{i} \beta^{\,i-1} \cdot
        \mathrm{gain}(i), \quad \mathrm{gain}(i) = \sum_{s \in S_i} (1 - \alpha)^{c_s(i)}

    Returns
    -------
    (Q,) float array
        From 0 to 1, sometimes higher because the greedy ideal is not always the best. Empty case: 0, also without
        relevant documents.

    References
    ----------
    ndeval 4.5 in pyndeval 0.0.8, measure ``nNRBP``, which is NaN without relevant documents. Clarke, C. L. A.,
    Kolla, M., Vechtomova, O. An Effectiveness Measure for Ambiguous and Underspecified Queries. ICTIR 2009.

    Examples
    --------
    The reverse order is the ideal: (1 + 1.5/2) / (2 + 0.5/2).

    >>> groups = JudgmentGroups({"q": {b"A": {b"a": 1, b"b": 1}, b"B": {b"b": 1}}})
    >>> normalized_novelty_and_rank_biased_precision(judge_groups(groups, Run({"q": {"a": 2.0, "b": 1.0}})))
    array([0.77777778])
    """
    total = _patience(run, _found(run, level, alpha), patience)
    return ratio(total, _patience(run, _ideal(run, level, alpha), patience))


def intent_aware_average_precision(run: JudgedGroups, *, level: int = 1) -> FloatArray:
    r"""Average precision, averaged over the subtopics (AP-IA; its mean over queries is MAP-IA).

    Formula
    -------
    AP-IA = (1/S) · sum over the S subtopics of the AP by the subtopic's judgments. Unlike ``map_avgjg``, subtopics
    without a relevant document do not count.

    .. math:: \mathrm{AP\text{-}IA} = \frac{1}{S} \sum_{s=1}^{S} \mathrm{AP}_s

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also without relevant documents.

    References
    ----------
    ndeval 4.5 in pyndeval 0.0.8, measure ``MAP-IA``. Agrawal, R., Gollapudi, S., Halverson, A., Ieong, S.
    Diversifying Search Results. WSDM 2009; here with subtopics of equal weight.

    Examples
    --------
    Subtopic A is found at ranks 1 and 2, AP 1, and B at rank 2, AP 1/2.

    >>> groups = JudgmentGroups({"q": {b"A": {b"a": 1, b"b": 1}, b"B": {b"b": 1}}})
    >>> intent_aware_average_precision(judge_groups(groups, Run({"q": {"a": 2.0, "b": 1.0}})))
    array([0.75])
    """
    rows = _retrieved(run, level)
    rows = _rows(rows, np.argsort(rows.rank, kind="stable"))
    precisions = run.run.sum(rows.group, (_above(rows) + 1) / rows.rank)
    values = ratio(precisions, run.run.count(_relevant(run, level).group))
    return ratio(_sum(run, run.query, values), _subtopics(run, level))


def intent_aware_precision(run: JudgedGroups, *, level: int = 1, cutoff: int) -> FloatArray:
    r"""Precision of the first k documents, averaged over the subtopics (P-IA).

    Formula
    -------
    P-IA@k = (1/S) · sum over the S subtopics of (documents relevant to it at ranks 1..k) / k. Unlike ``P_avgjg``,
    subtopics without a relevant document do not count.

    .. math:: \mathrm{P\text{-}IA}@k = \frac{1}{S} \sum_{s=1}^{S} \mathrm{P}_s@k

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also without relevant documents.

    References
    ----------
    ndeval 4.5 in pyndeval 0.0.8, measure ``P-IA@k``, which ends at k = 20. Agrawal, R., Gollapudi, S., Halverson,
    A., Ieong, S. Diversifying Search Results. WSDM 2009; here with subtopics of equal weight.

    Examples
    --------
    Subtopic A has 2/2, B has 1/2.

    >>> groups = JudgmentGroups({"q": {b"A": {b"a": 1, b"b": 1}, b"B": {b"b": 1}}})
    >>> intent_aware_precision(judge_groups(groups, Run({"q": {"a": 2.0, "b": 1.0}})), cutoff=2)
    array([0.75])
    """
    covering = np.bincount(_retrieved(run, level, cutoff).query, minlength=run.num_queries)
    return ratio(covering, cutoff * _subtopics(run, level))


def subtopic_recall(run: JudgedGroups, *, level: int = 1, cutoff: int) -> FloatArray:
    r"""Subtopic recall: share of the subtopics that the first k documents cover.

    Formula
    -------
    StRecall@k = (subtopics with a relevant document at ranks 1..k) / S, S = subtopics with a relevant document.

    .. math:: \mathrm{StRecall}@k = \frac{|\{s : \text{covered at ranks } 1..k\}|}{S}

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also without relevant documents.

    References
    ----------
    ndeval 4.5 in pyndeval 0.0.8, measure ``strec@k``, which ends at k = 20. Zhai, C., Cohen, W. W., Lafferty, J.
    Beyond Independent Relevance: Methods and Evaluation Metrics for Subtopic Retrieval. SIGIR 2003.

    Examples
    --------
    The first document covers A but not B.

    >>> groups = JudgmentGroups({"q": {b"A": {b"a": 1, b"b": 1}, b"B": {b"b": 1}}})
    >>> subtopic_recall(judge_groups(groups, Run({"q": {"a": 2.0, "b": 1.0}})), cutoff=1)
    array([0.5])
    """
    return ratio(_covered(run, _retrieved(run, level, cutoff)), _subtopics(run, level))
