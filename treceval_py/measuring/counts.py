"""Counts of retrieved, judged and relevant documents; and the run's name."""

from __future__ import annotations

import numpy as np

from treceval_py._types import BoolArray, FloatArray, IntArray
from treceval_py.judging.judged import JudgedGroups, JudgedRun, ratio
from treceval_py.judging.preferences import JudgedPreferences

Judged = JudgedRun | JudgedGroups | JudgedPreferences


def run_id(run: Judged) -> list[str]:
    """Name of the run.

    Formula
    -------
    The tag on the last line of the run file.

    Returns
    -------
    list of str, length Q
        The tag for every query; printed once. Empty case: the tag.

    References
    ----------
    trec_eval 10.0, measure ``runid``.

    Examples
    --------
    >>> run_id(ranked_labels("1 0"))
    ['example']
    """
    return [run.tag] * run.num_queries


def number_of_queries(run: Judged) -> IntArray:
    r"""Count the queries in the averages.

    Formula
    -------
    1 for each query, added up.

    .. math:: \mathrm{num\_q} = \sum_{\text{queries}} 1

    Returns
    -------
    (Q,) int array
        Ones. Empty case: 1.

    References
    ----------
    trec_eval 10.0, measure ``num_q``.

    Examples
    --------
    >>> number_of_queries(ranked_labels("1 0"))
    array([1])
    """
    return np.ones(run.num_queries, dtype=np.int64)


def number_retrieved(run: JudgedRun) -> IntArray:
    r"""Count the documents retrieved.

    Formula
    -------
    num_ret = the documents in the ranking, judged or not.

    .. math:: \mathrm{num\_ret} = |\text{retrieved}|

    Returns
    -------
    (Q,) int array
        From 0; added up over queries. Empty case: 0.

    References
    ----------
    trec_eval 10.0, measure ``num_ret``.

    Examples
    --------
    >>> number_retrieved(ranked_labels("1 - 0", missed="1"))
    array([3])
    """
    return run.num_ret


def number_relevant(run: JudgedRun, *, level: int = 1) -> IntArray:
    r"""Count the relevant documents, retrieved or not.

    Formula
    -------
    num_rel = R = the documents with rel >= level.

    .. math:: \mathrm{num\_rel} = R = |\text{relevant}|

    Returns
    -------
    (Q,) int array
        From 0; added up over queries. Empty case: R, which does not depend on the run.

    References
    ----------
    trec_eval 10.0, measure ``num_rel``.

    Examples
    --------
    >>> number_relevant(ranked_labels("1 - 0", missed="2 1"), level=1)
    array([3])
    """
    return run.num_rel(level)


def number_relevant_retrieved(run: JudgedRun, *, level: int = 1) -> IntArray:
    r"""Count the relevant documents retrieved.

    Formula
    -------
    num_rel_ret = the documents of the ranking with rel >= level.

    .. math:: \mathrm{num\_rel\_ret} = |\text{relevant} \cap \text{retrieved}|

    Returns
    -------
    (Q,) int array
        From 0; added up over queries. Empty case: 0.

    References
    ----------
    trec_eval 10.0, measure ``num_rel_ret``.

    Examples
    --------
    >>> number_relevant_retrieved(ranked_labels("1 - 0 2", missed="2 1"), level=1)
    array([2])
    """
    return run.num_rel_ret(level)


def number_nonrelevant_judged_retrieved(run: JudgedRun, *, level: int = 1) -> IntArray:
    r"""Count the documents retrieved that were judged not relevant.

    Formula
    -------
    num_nonrel_judged_ret = the documents of the ranking with 0 <= rel < level.

    .. math:: \mathrm{num\_nonrel\_judged\_ret} = |\{i : 0 \le \mathrm{rel}_i < \mathrm{level}\}|

    Returns
    -------
    (Q,) int array
        From 0; added up over queries. Empty case: 0.

    References
    ----------
    trec_eval 10.0, measure ``num_nonrel_judged_ret``.

    Examples
    --------
    >>> number_nonrelevant_judged_retrieved(ranked_labels("1 - 0 2 -1"), level=1)
    array([1])
    """
    rel = run.hits.rel
    return run.count(run.hits.query[(rel >= 0) & (rel < level)])


def relevance_string(run: JudgedRun, *, length: int = 10) -> list[str]:
    r"""Labels of the first documents, one character each.

    Formula
    -------
    The judgment at each rank: a digit, ``>`` above 9, ``-`` without a judgment, ``.`` if negative.

    .. math:: \mathrm{relstring}_i = \begin{cases} \mathrm{rel}_i & 0 \le \mathrm{rel}_i \le 9 \\ \text{>} &
        \mathrm{rel}_i > 9 \\ \text{.} & \mathrm{rel}_i < 0 \\ \text{-} & \text{without a judgment} \end{cases}

    Returns
    -------
    list of str, length Q
        Printed in single quotes, never averaged. Empty case: the empty string.

    References
    ----------
    trec_eval 10.0, measure ``relstring``.

    Examples
    --------
    >>> relevance_string(ranked_labels("1 - 0 12 -1"))
    ['1-0>.']
    """
    shown = [["-"] * min(length, retrieved) for retrieved in run.num_ret.tolist()]
    first = run.hits.where(run.hits.rank <= length)
    for query, rank, rel in zip(first.query.tolist(), first.rank.tolist(), first.rel.tolist(), strict=True):
        shown[query][rank - 1] = "." if rel < 0 else str(rel) if rel <= 9 else ">"
    return ["".join(characters) for characters in shown]


def utility(
    run: JudgedRun, *, level: int = 1, coefficients: tuple[float, ...] = (1.0, -1.0, 0.0, 0.0), collection_size: int = 0
) -> FloatArray:
    r"""Linear utility of the retrieved set.

    Formula
    -------
    utility = a·(relevant retrieved) + b·(others retrieved) + c·(relevant missed) + d·(others not retrieved).

    .. math:: \mathrm{utility} = a\,n_a + b\,n_b + c\,n_c + d\,n_d, \quad n_a = |\text{relevant} \cap \text{retrieved}|,
        \quad n_b = |\text{retrieved} \setminus \text{relevant}|, \quad n_c = |\text{relevant} \setminus
        \text{retrieved}|, \quad n_d = |\text{all others}|

    Parameters
    ----------
    collection_size : int
        The number of documents in the collection (``-N``), used only for d.

    Returns
    -------
    (Q,) float array
        Any value. Empty case: c·R + d·(collection_size - R), which is 0 with the default coefficients.

    References
    ----------
    trec_eval 10.0, measure ``utility``. Hull, D. A. The TREC-7 Filtering Track: Description and Analysis. TREC 1998.

    Examples
    --------
    Two relevant and one other document retrieved: 2 - 1.

    >>> utility(ranked_labels("1 - 1", missed="1"))
    array([1.])
    """
    a, b, c, d = coefficients
    retrieved, relevant = run.num_rel_ret(level), run.num_rel(level)
    others = run.num_ret - retrieved
    rest = collection_size - relevant - others
    total: FloatArray = a * retrieved + b * others + c * (relevant - retrieved) + d * rest
    return total


def is_judged(run: JudgedRun, negative: str) -> BoolArray:
    """Return which hits are judged. (H,)."""
    return run.hits.rel >= 0 if negative == "unjudged" else np.ones(len(run.hits.rel), dtype=bool)


def share_judged(run: JudgedRun, *, cutoff: int, negative: str = "unjudged") -> FloatArray:
    r"""Share of the first documents that are judged.

    Formula
    -------
    Judged@k = (documents with rel >= 0 at ranks 1..k) / min(k, documents retrieved); with any rel if negative judgments
    count.

    .. math:: \mathrm{Judged}@k = \frac{|\{i \le k : \mathrm{rel}_i \ge 0\}|}{\min(k, |\text{retrieved}|)}

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0.

    References
    ----------
    MacAvaney, S., Macdonald, C., Ounis, I. Streamlining Evaluation with ir-measures. ECIR 2022. It divides a short
    ranking by its length, and counts negative judgments (``negative=nonrelevant``); trec_eval's ``unj`` divides by k.

    Examples
    --------
    Two of three documents are judged.

    >>> share_judged(ranked_labels("1 - 0"), cutoff=10)
    array([0.66666667])
    """
    hits = run.hits.query[is_judged(run, negative) & (run.hits.rank <= cutoff)]
    return ratio(run.count(hits), np.minimum(run.num_ret, cutoff))


def holes(run: JudgedRun, *, cutoff: int) -> FloatArray:
    r"""Share of the first k ranks whose document is not judged for any query.

    Formula
    -------
    Hole@k = (documents at ranks 1..k that have no judgment for any query, not even a negative one) / k.

    .. math:: \mathrm{Hole}@k = \frac{|\{i \le k : \text{unjudged for all queries}\}|}{k}

    Returns
    -------
    (Q,) float array
        In [0, 1]; at most unj@k. Empty case: 0.

    References
    ----------
    MTEB 2.26.24 and BEIR 2.2.0, ``Hole@k``: Thakur, N. et al. BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation
    of Information Retrieval Models. NeurIPS Datasets and Benchmarks 2021.

    Examples
    --------
    Neither document is judged for query 1, but b is judged for query 2.

    >>> from treceval_py import Qrels
    >>> from treceval_py.judging import judge
    >>> qrels, run = Qrels({"1": {"a": 1}, "2": {"b": 0}}), Run({"1": {"b": 2.0, "c": 1.0}})
    >>> holes(judge(qrels, run, pooled=True), cutoff=5)
    array([0.2, 0. ])
    """
    known = run.count(run.hits.query[run.hits.rank <= cutoff])
    return (np.minimum(run.num_ret, cutoff) - known) / cutoff


def share_unjudged(run: JudgedRun, *, cutoff: int) -> FloatArray:
    r"""Share of the first k ranks whose document is unjudged.

    Formula
    -------
    unj@k = (documents without a judgment, or with a negative one, at ranks 1..k) / k.

    .. math:: \mathrm{unj}@k = \frac{|\{i \le k : \text{unjudged or } \mathrm{rel}_i < 0\}|}{k}

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0.

    References
    ----------
    trec_eval 10.0, measure ``unj``.

    Examples
    --------
    >>> share_unjudged(ranked_labels("1 - 0"), cutoff=5)
    array([0.2])
    """
    judged = run.count(run.hits.query[(run.hits.rel >= 0) & (run.hits.rank <= cutoff)])
    return (np.minimum(run.num_ret, cutoff) - judged) / cutoff
