"""Measures of agreement with an ideal ranking: Compatibility, Accuracy, AUC and ordered pairs."""

from __future__ import annotations

import functools

import numpy as np

from treceval_py._types import BoolArray, FloatArray, IntArray
from treceval_py.errors import EvaluationError, MeasureError
from treceval_py.judging.judged import Hits, JudgedRun, nth_of, ratio
from treceval_py.measuring.cutting import cut_at

DEPTH = 1000
"""Depth to which the script of Compatibility's authors compares rankings."""

MOST_DEPTH = 10_000_000
"""Length of the longest table of weights."""


@functools.lru_cache(maxsize=4)
def _overlap(p: float, depth: int) -> tuple[FloatArray, FloatArray, float]:
    """Return contributions of documents to the rank-biased overlap of two rankings, cut at a depth D.

    Parameters
    ----------
    p : float
        Probability of continuing to the next document.
    depth : int
        D.

    Returns
    -------
    one : (D + 1,) float array
        Contribution of a document by its lower rank, from 1; the last one, for all ranks below D, is 0.
    first : (D + 1,) float array
        Contribution of i documents that have ranks 1..i in both rankings, for i from 0.
    most : float
        The overlap of two rankings that are the same.
    """
    weights = np.cumprod(np.concatenate([[1.0], np.full(depth - 1, p)]))
    # A document is common to all depths from its lower rank on: the sum of p^(d-1) / d from there, smallest first.
    one = np.add.accumulate((weights / np.arange(1, depth + 1))[::-1])[::-1]
    first = np.add.accumulate(np.concatenate([[0.0], one]))
    return np.append(one, 0.0), first, float(np.add.accumulate(weights)[-1])


def _ideal_ranks(run: JudgedRun, hits: Hits) -> IntArray:
    """Return each hit's rank in the ideal ranking, which keeps the run's order within a grade."""
    grades, place = np.unique(np.concatenate([run.ideal.rel, hits.rel]), return_inverse=True)
    below = len(grades) - 1 - place.astype(np.int64)
    queries = np.concatenate([run.ideal.query, hits.query])
    key = queries * len(grades) + below  # by query, higher grades first
    best, ours = key[: len(run.ideal.rel)], key[len(run.ideal.rel) :]
    order = np.argsort(ours, kind="stable")
    grouped = ours[order]
    ranks = np.empty(len(ours), dtype=np.int64)
    ranks[order] = np.searchsorted(best, grouped) - run.starts(run.ideal)[hits.query[order]] + nth_of(grouped)
    return ranks


def compatibility(
    run: JudgedRun, *, p: float = 0.95, deepest: int = DEPTH, until: str = "depth", normalised: str = "yes"
) -> FloatArray:
    r"""Compatibility: rank-biased overlap with the ideal ranking that is most similar to the run.

    Formula
    -------
    RBO(A, B) = (sum over depths d ≤ D of p^(d-1) · (documents common to A and B at ranks 1..d) / d) / (sum of p^(d-1)).
    The ideal ranking I has all documents with a judgment above 0 in descending order of judgment; among equal ones,
    retrieved documents come first, in the order of the run. Compatibility = RBO(run, I) / RBO(I, I). Without
    normalisation it is RBO(run, I), which is below 1 even for I, because an ideal ranking is short.

    .. math:: \mathrm{Compat} = \frac{\mathrm{RBO}(\text{run}, I)}{\mathrm{RBO}(I, I)}, \qquad \mathrm{RBO}(A, B) =
        \frac{\sum_{d=1}^{D} p^{\,d-1} \cdot |A_{1..d} \cap B_{1..d}| / d}{\sum_{d=1}^{D} p^{\,d-1}}

    Parameters
    ----------
    p : float
        Probability of continuing to the next depth.
    deepest : int
        D, the depth to which rankings are compared.

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also when no document is judged above 0.

    References
    ----------
    Clarke, C. L. A., Vtyurina, A., Smucker, M. D. Assessing Top-k Preferences. ACM TOIS 39(3), 2021. The numbers are
    those of the authors' ``compatibility.py``, which orders ties by ascending id and averages over the run's queries
    that have a document judged above 0. In ir_measures 0.4.3, each query has its own D: the larger of the numbers of
    documents retrieved and of documents judged above 0 (``until=longer``). Its ideal ranking orders documents with
    equal judgments by score, with 0 for documents not retrieved, and equal scores by the order of the judgments.

    Examples
    --------
    The ideal ranking has one document. The rankings have no document in common at depth 1, and one of two at depth 2:
    0.5 · 1/2, over 1 + 0.5 · 1/2.

    >>> compatibility(ranked_labels("0 1"), p=0.5, deepest=2)
    array([0.2])
    """
    if deepest > MOST_DEPTH:
        raise MeasureError(
            f"rankings are compared down to {MOST_DEPTH} at most, not to {deepest}", f"Give D={MOST_DEPTH} or less."
        )
    one, first, most = _overlap(p, deepest)
    hits = run.hits.where(run.hits.rel > 0)
    lower = np.maximum(hits.rank, _ideal_ranks(run, hits))
    if until == "longer":
        return _compatibility_of_lists(run, hits.query, lower, p, normalised)
    here = run.sum(hits.query, one[np.minimum(lower, deepest + 1) - 1])
    if normalised == "no":
        return here / most
    return ratio(here, first[np.minimum(run.num_rel(1), deepest)])


def _compatibility_of_lists(run: JudgedRun, query: IntArray, lower: IntArray, p: float, normalised: str) -> FloatArray:
    """Return each query's Compatibility to the depth of the longer of its ranking and its ideal ranking. (Q,)."""
    relevant = run.num_rel(1)
    depth = np.maximum(run.num_ret, relevant)
    one, first, _ = _overlap(p, max(int(depth.max(initial=0)), 1))
    below = one[depth]  # contribution of a common document below the depth
    here = run.sum(query, one[lower - 1] - below[query])
    if normalised == "no":
        return ratio(here, depth if p == 1 else (1 - p**depth) / (1 - p))
    return ratio(here, first[relevant] - relevant * below)


def accuracy(run: JudgedRun, *, level: int = 1, cutoff: int | None = None) -> FloatArray:
    r"""Accuracy: the share of pairs of a relevant and a non-relevant retrieved document that are in the right order.

    Formula
    -------
    Accuracy = (pairs of a relevant document and a non-relevant one below it, both retrieved) / (r·n), r = relevant
    documents retrieved, n = the other documents retrieved, including unjudged ones.

    .. math:: \mathrm{Accuracy} = \frac{|\{(i, j) : i < j,\; r_i = 1,\; r_j = 0\}|}{r \cdot n}

    Accuracy@k = (pairs of a relevant document and a non-relevant one below it, both at ranks 1..k) / (r·n),
    r = relevant documents at ranks 1..k, n = the other documents at these ranks, including unjudged ones.

    .. math:: \mathrm{Accuracy}@k = \frac{|\{(i, j) : i < j \le k,\; r_i = 1,\; r_j = 0\}|}{r \cdot n}

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also if no retrieved document is relevant; 1 if all retrieved documents are relevant.

    References
    ----------
    MacAvaney, S., Macdonald, C., Ounis, I. Streamlining Evaluation with ir-measures. ECIR 2022. ir_measures 0.4.3 has
    the same values, but none for a query without a relevant document, which its mean leaves out. It fails if all
    documents are relevant (it divides by zero), and with ``rel=0`` it counts unjudged documents as relevant.

    Examples
    --------
    There are two relevant and two other documents: one pair of four is in order.

    >>> accuracy(ranked_labels("0 1 - 1"))
    array([0.25])

    One of the first three documents is relevant, and one of the two others is below it.

    >>> accuracy(ranked_labels("0 1 - 1"), cutoff=3)
    array([0.5])
    """
    run = cut_at(run, cutoff)
    query, rank, nth, *_ = run.found(level)
    # Gaps in a rank column are documents that are not relevant: the last rank found counts too.
    length = run.num_ret.copy()
    np.maximum.at(length, query, rank)
    relevant = run.count(query)
    pairs = relevant * (length - relevant)
    wrong = run.sum(query, (rank - nth).astype(np.float64))
    all_relevant = (relevant > 0) & (pairs == 0)
    return np.where(all_relevant, 1.0, ratio(pairs - wrong, pairs))


def _below(run: JudgedRun, alike: BoolArray, rows: BoolArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Compare the documents in ``rows`` (H,) with all retrieved documents except those in ``alike`` (H,).

    Returns
    -------
    query, above, tied, others : (N,) int arrays
        Of each document: its query, the numbers of other documents above it and of others with the same score, and how
        many others were retrieved for the query.

    Raises
    ------
    EvaluationError
        The run was judged without ties.
    """
    if run.tied is None and len(run.hits.query):
        raise EvaluationError("a measure of pairs needs to know ties", "Judge the run with tied=True.")
    first, last = run.tied or (run.hits.rank, run.hits.rank)
    query = run.hits.query
    # Gaps in a rank column are documents that are not relevant: the last rank found counts too.
    length = run.num_ret.copy()
    np.maximum.at(length, query, run.hits.rank)
    last = np.maximum(np.minimum(last, length[query]), first)
    step = int(length.max(initial=0)) + 1
    ends = query[alike] * step + run.hits.rank[alike]  # ascending, as hits are sorted by query and rank
    start = np.searchsorted(ends, query * step)
    up_to_first = np.searchsorted(ends, query * step + first - 1, side="right")
    up_to_last = np.searchsorted(ends, query * step + last, side="right")
    above = first - 1 - (up_to_first - start)
    tied = last - first + 1 - (up_to_last - up_to_first)
    others = (length - run.count(query[alike]))[query]
    return query[rows], above[rows], tied[rows], others[rows]


def _credited(above: IntArray, tied: IntArray, others: IntArray, credit: str) -> FloatArray:
    """Count the others that each document is rightly above; pairs with equal scores count half or not at all. (N,)."""
    right = (others - above - tied).astype(np.float64)
    return right + tied / 2.0 if credit == "half" else right


def area_under_curve(
    run: JudgedRun, *, level: int = 1, credit: str = "half", max_fpr: float = 1.0, cutoff: int | None = None
) -> FloatArray:
    r"""AUC: area under the ROC curve of the documents retrieved.

    Formula
    -------
    AUC = (pairs of a relevant and a non-relevant retrieved document in which the relevant one has the higher score,
    plus half of those with equal scores) / (r·n), r = relevant documents retrieved, n = the other documents retrieved,
    including unjudged ones. With x = max_fpr below 1, the area A of the curve from 0 to x is standardised:
    (1 + (A - x²/2) / (x - x²/2)) / 2.

    .. math:: \mathrm{AUC} = \frac{|\{(x, y) : s_x > s_y\}| + \frac{1}{2}\,|\{(x, y) : s_x = s_y\}|}{r \cdot n}, \quad x
        \text{ relevant},\; y \text{ not}, \quad s_x = \text{score of } x

    AUC@k = (pairs of a relevant and a non-relevant document, both at ranks 1..k, in which the relevant one has the
    higher score, plus half of those with equal scores) / (r·n), r = relevant documents at ranks 1..k, n = the other
    documents at these ranks, including unjudged ones. With max_fpr below 1, it is standardised as AUC is.

    .. math:: \mathrm{AUC}@k = \frac{|\{(x, y) : s_x > s_y\}| + \frac{1}{2}\,|\{(x, y) : s_x = s_y\}|}{r \cdot n}, \quad
        x \text{ relevant},\; y \text{ not}, \quad s_x = \text{score of } x

    Returns
    -------
    (Q,) float array
        In [0, 1]; 1/2 is chance. Empty case: 0, also if all or none of the retrieved documents are relevant.

    References
    ----------
    Fawcett, T. An Introduction to ROC Analysis. Pattern Recognition Letters 27(8), 2006. McClish, D. K. Analyzing a
    Portion of the ROC Curve. Medical Decision Making 9(3), 1989. scikit-learn 1.9, ``roc_auc_score`` of the documents
    of each query; torchmetrics 1.9.0, RetrievalAUROC and RetrievalAUROC(top_k=k), for scores from 0 to 1; CatBoost
    1.2.10, ``QueryAUC``.

    Examples
    --------
    Without ties, one of 2 · 2 pairs is in order.

    >>> from treceval_py import Qrels
    >>> from treceval_py.judging import judge
    >>> judged = judge(Qrels({"1": {"b": 1, "d": 1}}), Run({"1": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}}), tied=True)
    >>> area_under_curve(judged)
    array([0.25])

    With a, b and c tied, 2 · 1/2 of these pairs count.

    >>> judged = judge(Qrels({"1": {"b": 1, "d": 1}}), Run({"1": {"a": 3.0, "b": 3.0, "c": 3.0, "d": 1.0}}), tied=True)
    >>> area_under_curve(judged), area_under_curve(judged, credit="wrong")
    (array([0.25]), array([0.]))

    Among a, b and c, only b is relevant, and with scores that differ only c is below it.

    >>> judged = judge(Qrels({"1": {"b": 1, "d": 1}}), Run({"1": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}}), tied=True)
    >>> area_under_curve(judged, cutoff=3)
    array([0.5])
    """
    run = cut_at(run, cutoff)
    relevant = run.hits.rel >= max(level, 0)
    query, above, tied, others = _below(run, relevant, relevant)
    pairs = run.sum(query, others.astype(np.float64))
    if max_fpr == 1.0:
        return ratio(run.sum(query, _credited(above, tied, others, credit)), pairs)
    # What each relevant document adds to the curve rises from 0 to 1 over the others it is tied with.
    end = max_fpr * others
    beyond = np.maximum(end - above - tied, 0.0)
    rising = np.clip(end - above, 0.0, tied)
    half = ratio((rising * rising).astype(np.float64), 2 * tied if credit == "half" else 0 * tied)
    area, chance = ratio(run.sum(query, beyond + half), pairs), max_fpr * max_fpr / 2.0
    return np.where(pairs > 0, (1.0 + (area - chance) / (max_fpr - chance)) / 2.0, 0.0)


def ordered_pair_accuracy(run: JudgedRun, *, credit: str = "wrong") -> FloatArray:
    r"""Ordered pair accuracy (OPA): the share of pairs with different labels that are in the right order.

    Formula
    -------
    OPA = (pairs of documents retrieved in which the one judged higher has the higher score) / (pairs of documents
    retrieved with different judgments). Documents without a judgment count as judged 0. With binary judgments and
    ``ties=half`` it is AUC.

    .. math:: \mathrm{OPA} = \frac{|\{(x, y) : \mathrm{rel}_x > \mathrm{rel}_y,\; s_x > s_y\}|}{|\{(x, y) :
        \mathrm{rel}_x > \mathrm{rel}_y\}|}, \quad s_x = \text{score of } x

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also if all retrieved documents have the same judgment.

    References
    ----------
    TensorFlow Ranking, metric ``ordered_pair_accuracy``: Pasumarthi, R. K. et al. TF-Ranking: Scalable TensorFlow
    Library for Learning-to-Rank. KDD 2019. With ``ties=half`` CatBoost 1.2.10, ``QueryAUC:type=Ranking``.

    Examples
    --------
    Judged 1 0 2 in this order: among the pairs 1 0, 1 2 and 0 2, only the first is right.

    >>> from treceval_py import Qrels
    >>> from treceval_py.judging import judge
    >>> judged = judge(Qrels({"1": {"a": 1, "b": 0, "c": 2}}), Run({"1": {"a": 3.0, "b": 2.0, "c": 1.0}}), tied=True)
    >>> ordered_pair_accuracy(judged)
    array([0.33333333])
    """
    right, pairs = np.zeros(run.num_queries), np.zeros(run.num_queries)
    rel = run.hits.rel
    for label in np.unique(rel[rel > 0]).tolist():
        query, above, tied, others = _below(run, rel >= label, rel == label)
        right += run.sum(query, _credited(above, tied, others, credit))
        pairs += run.sum(query, others.astype(np.float64))
    return ratio(right, pairs)
