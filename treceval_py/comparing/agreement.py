"""How far two orders of systems, or of documents, agree: Kendall's tau, AP correlation and rank-biased overlap."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treceval_py._types import AnyArray, FloatArray, IntArray
from treceval_py.data.ids import encode
from treceval_py.data.ranking import PLAIN, Ranking, arranged, limit_of, order_of
from treceval_py.data.run import Run
from treceval_py.errors import EvaluationError

if TYPE_CHECKING:
    from treceval_py.comparing.outcome import Outcome


def kendall_tau(a: FloatArray, b: FloatArray) -> float:
    """Return Kendall's tau-b between two lists of values: 1 if they order things alike, -1 if one reverses the other.

    It is (C - D) / sqrt((C + D + A)(C + D + B)) with C pairs in the same order, D in the opposite one, and A and B
    pairs that are tied in `b` only and in `a` only.

    Parameters
    ----------
    a, b : (N,) float arrays
        The values of the same things, such as the means of systems.

    Returns
    -------
    float
        Between -1 and 1; NaN where all values of `a`, or of `b`, are equal, or there are fewer than two.

    References
    ----------
    Maurice G. Kendall. The treatment of ties in ranking problems. Biometrika 33(3), 239-251, 1945.

    Examples
    --------
    Five of six pairs are in the same order, and one is not: (5 - 1) / 6.

    >>> import numpy as np
    >>> f"{kendall_tau(np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.1, 0.3, 0.2, 0.4])):.4f}"
    '0.6667'
    """
    if _says_nothing(a, b):
        return float("nan")
    pairs = np.triu_indices(len(a), 1)
    one, other = (np.sign(values[:, None] - values)[pairs] for values in (a, b))
    tau = (one * other).sum() / np.sqrt(np.count_nonzero(one)) / np.sqrt(np.count_nonzero(other))
    return float(np.clip(tau, -1, 1))


def _says_nothing(a: FloatArray, b: FloatArray) -> bool:
    """Return whether one of two lists has no order: all its values are equal."""
    return len(a) < 2 or bool((a == a[0]).all()) or bool((b == b[0]).all())


def tau_ap(truth: FloatArray, tested: FloatArray) -> float:
    r"""Return the AP correlation of a tested order with a true one: a Kendall's tau in which the top counts more.

    .. math:: \tau_{AP} = \frac{2}{N-1} \sum_{i=2}^{N} \frac{C(i)}{i-1} - 1

    where C(i) is the number of things above rank i of the tested order that are truly above the one at rank i.

    Parameters
    ----------
    truth, tested : (N,) float arrays
        The values of the same things in the true and in the tested order, higher is better.

    Returns
    -------
    float
        Between -1 and 1; 0 is expected of a random order. NaN where all values of `truth`, or of `tested`, are equal,
        or there are fewer than two. It is not symmetric.

    Notes
    -----
    Without ties this is the coefficient of Yilmaz, Aslam and Robertson. The value of ties, in either list, is its mean
    over all orders of the tied items, each equally likely; a pair that is tied in `truth`
    counts half. With ties in `tested` only this is the tau_AP,a of Urbano and Marrero. Two equal lists with ties have
    less than 1; where neither list is the truth, take `tau_ap_b`.

    References
    ----------
    Emine Yilmaz, Javed A. Aslam and Stephen Robertson. A new rank correlation coefficient for information retrieval. In
    Proceedings of the 31st Annual International ACM SIGIR Conference, 587-594, 2008.

    Julián Urbano and Mónica Marrero. The treatment of ties in AP correlation. In Proceedings of the ACM SIGIR
    International Conference on Theory of Information Retrieval, 321-324, 2017.

    Examples
    --------
    Of A, B, C, D, E, F, tested as B, A, C, D, F, E, the things at the ranks 2 to 6 have 0, 2, 3, 4 and 4 above them
    that are truly above: 2 / 5 · (0 / 1 + 2 / 2 + 3 / 3 + 4 / 4 + 4 / 5) - 1.

    >>> import numpy as np
    >>> truth, tested = np.array([6.0, 5, 4, 3, 2, 1]), np.array([5.0, 6, 4, 3, 1, 2])
    >>> f"{tau_ap(truth, tested):.2f}"
    '0.52'
    """
    if _says_nothing(truth, tested):
        return float("nan")
    order = np.argsort(-tested, kind="stable")
    ranked, true = tested[order], truth[order]
    # Whether the item of a column, tested above that of a row, is truly above it; a half if they are tied.
    agrees = (np.sign(true[None, :] - true[:, None]) + 1) / 2
    correct = (agrees * (ranked[None, :] > ranked[:, None])).sum(axis=1)
    _, group, sizes = np.unique(-ranked, return_inverse=True, return_counts=True)
    # Each item of a group of ties is equally likely at each of its ranks; of the items of the group above it, one half
    # are expected to be truly above it.
    above = np.bincount(group, correct) / sizes
    place = np.arange(len(ranked)) - (np.cumsum(sizes) - sizes)[group]
    expected = above[group] + place / 2
    count = len(ranked)
    return float(2 * (expected[1:] / np.arange(1, count)).sum() / (count - 1) - 1)


def tau_ap_b(one: FloatArray, two: FloatArray) -> float:
    r"""Return the AP correlation of two orders, neither of which is the truth: symmetric, and ties have no order.

    .. math:: \frac{1}{2} \left( T(x, y) + T(y, x) \right), \quad
        T(x, y) = \frac{2}{N - t_1} \sum_{i \notin top} \frac{C(i)}{a(i)} - 1

    where a(i) is the number of items strictly above i in y, C(i) the number of these that are also strictly above it in
    x, and top the :math:`t_1` items tied for the first place in y.

    Parameters
    ----------
    one, two : (N,) float arrays
        The values of the same things in two orders, higher is better.

    Returns
    -------
    float
        Between -1 and 1; 1 for two equal orders, with ties or without. NaN where all values of one order are equal, or
        there are fewer than two.

    References
    ----------
    Julián Urbano and Mónica Marrero. The treatment of ties in AP correlation. In Proceedings of the ACM SIGIR
    International Conference on Theory of Information Retrieval, 321-324, 2017.

    Examples
    --------
    In the second order A and B are tied above C, and both are above C in the first: 2 · (2 / 2) - 1. In the first order
    A is above B, which is not so in the second, and two items are above C: 2 · (0 / 1 + 2 / 2) / 2 - 1.

    >>> import numpy as np
    >>> tau_ap_b(np.array([3.0, 2, 1]), np.array([2.0, 2, 1]))
    0.5
    """
    if _says_nothing(one, two):
        return float("nan")
    return (_concordant_above(one, two) + _concordant_above(two, one)) / 2


def _concordant_above(truth: FloatArray, tested: FloatArray) -> float:
    above = tested[None, :] > tested[:, None]
    agree = above & (truth[None, :] > truth[:, None])
    count = above.sum(axis=1)
    outside = count > 0
    return float(2 * (agree.sum(axis=1)[outside] / count[outside]).mean() - 1)


def rbo(a: Sequence[Hashable], b: Sequence[Hashable], p: float = 0.9) -> float:
    r"""Return the rank-biased overlap of two lists, which may differ in length and in their items.

    .. math:: RBO = (1-p) \sum_{d=1}^{\infty} p^{d-1} \frac{X_d}{d}

    where :math:`X_d` is the number of items that both lists have in their first d. A reader continues from each depth
    to the next with probability p. Items beyond the end of a list are unknown; with the length s of the shorter list
    and the length l of the longer one, the point estimate is

    .. math:: RBO_{ext} = \frac{1-p}{p} \left[ \sum_{d=1}^{l} \frac{X_d}{d} p^d
              + \sum_{d=s+1}^{l} \frac{X_s (d-s)}{s d} p^d \right]
              + \left[ \frac{X_l - X_s}{l} + \frac{X_s}{s} \right] p^l

    Parameters
    ----------
    a, b : sequence
        The ranked items, best first; no item occurs twice in a list.
    p : float
        The persistence of the reader, between 0 and 1.

    Returns
    -------
    float
        The point estimate: two equal lists have 1, two that share nothing 0. NaN if a list is empty.

    References
    ----------
    William Webber, Alistair Moffat and Justin Zobel. A similarity measure for indefinite rankings. ACM Transactions on
    Information Systems 28(4), article 20, 2010: the estimate is that of equation 32, for lists of unequal length.

    Examples
    --------
    (a, b) and (b, a) share nothing at depth 1 and everything from depth 2 on: with p = 0.5 the sum is 1/4 + 1/8 + …

    >>> rbo("ab", "ba", p=0.5)
    0.5
    """
    ranks = {item: rank for rank, item in enumerate(a)}
    met = [max(ranks[item], rank) for rank, item in enumerate(b) if item in ranks]
    short, long = sorted((len(a), len(b)))
    if not short:
        return float("nan")
    return float(rbo_of_pairs(np.array([met], np.int64), long, np.array([short]), np.array([long]), p)[0])


@functools.lru_cache(maxsize=8)
def _weights(p: float, depth: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the sums of p^d and of p^d / d over the first 0, 1, …, D depths; and, by rank, what `rbo_of_pairs` adds.

    The last two are, for items by the rank at which both lists have them, the sum of p^d / d before it; and its part of
    RBO_ext if both lists are whole: it counts from there on, and beyond the end. Both end with 0, for other items.
    """
    power = p ** np.arange(1, depth + 1)
    whole, weights = (np.concatenate([[0.0], np.cumsum(terms)]) for terms in (power, power / np.arange(1, depth + 1)))
    worth = (1 - p) / p * (weights[depth] - weights[:-1]) + p**depth / depth
    return whole, weights, np.append(weights[:-1], 0.0), np.append(worth, 0.0)


def rbo_of_pairs(
    met: AnyArray, depth: int, short: IntArray, long: IntArray, p: float, *, extrapolated: bool = True
) -> FloatArray:
    """Return the rank-biased overlap of pairs of lists.

    Parameters
    ----------
    met : (P, N) int array
        For each item that both lists have, in any order, the larger of its two ranks, from 0; ``depth`` for others.
    depth : int
        Length of the longest list, at least 1.
    short, long : (P,) int arrays
        The lengths of the shorter and the longer list; extrapolated, from 1.
    p : float
        The persistence.
    extrapolated : bool
        Whether the agreement is assumed to continue (RBO_ext, as in `rbo`). Otherwise the mean agreement of the depths
        of the longer list, weighted by p^(d-1); 0 if both lists are empty.

    Returns
    -------
    (P,) float array
        The overlap of each pair, from 0 to 1.
    """
    whole, weights, before, worth = _weights(p, depth)
    overlap: FloatArray
    if extrapolated and bool((short == depth).all()):
        overlap = worth[met].sum(axis=1)
        return overlap
    shared = (met < depth).sum(axis=1)
    total = shared * weights[long] - before[met].sum(axis=1)  # the sum of X_d / d · p^d
    if not extrapolated:
        overlap = np.divide(total, whole[long], out=np.zeros(len(met)), where=long > 0)
        return overlap
    rate = (met < short[:, None]).sum(axis=1) / short
    # Beyond its end, the shorter list would continue to share items.
    total += rate * (whole[long] - whole[short] - short * (weights[long] - weights[short]))
    overlap = (1 - p) / p * total + ((shared - rate * short) / long + rate) * p**long
    return overlap


def ranks_of(lists: IntArray, items: int, kind: type[np.integer[Any]] = np.int64) -> AnyArray:
    """Return the ranks of items in lists.

    Parameters
    ----------
    lists : (S, L) int array
        The items of each list by number, from 0, best first, none twice; the number of all items after its end.
    items : int
        Number of items.
    kind : type
        The type of the ranks.

    Returns
    -------
    (S, N + 1) int array
        The rank of each item in each list, from 0; L if the list lacks it, and for the number of all items.
    """
    ranks = np.full((len(lists), items + 1), lists.shape[1], dtype=kind)
    np.put_along_axis(ranks, lists, np.arange(lists.shape[1], dtype=kind)[None, :], axis=1)
    ranks[:, items] = lists.shape[1]
    return ranks


def rbo_of_lists(lists: IntArray, p: float) -> FloatArray:
    """Return RBO_ext of each pair of several lists, all at once.

    Parameters
    ----------
    lists : (S, L) int array
        The items of each list by number, best first, none twice; negative after its end. No list is empty.
    p : float
        The persistence.

    Returns
    -------
    (S, S) float array
        The overlap of each pair, from 0 to 1.
    """
    runs, depth = lists.shape
    there = lists >= 0
    lengths = there.sum(axis=1)
    known, number = np.unique(lists[there], return_inverse=True)
    coded = np.full(lists.shape, len(known))
    coded[there] = number
    ranks = ranks_of(coded, len(known), np.uint8 if depth < 255 else np.int64)
    places = np.arange(depth, dtype=ranks.dtype)
    overlap = np.eye(runs)
    for one, length in enumerate(lengths[:-1].tolist()):
        met = np.maximum(ranks[one + 1 :, coded[one, :length]], places[:length])
        short, long = np.minimum(lengths[one + 1 :], length), np.maximum(lengths[one + 1 :], length)
        overlap[one, one + 1 :] = rbo_of_pairs(met, depth, short, long, p)
    return np.maximum(overlap, overlap.T)


class Agreement(NamedTuple):
    """How far orders agree, each pair of them.

    Attributes
    ----------
    names : tuple of str, length N
        What orders: measures, or runs.
    tau : (N, N) float array
        Kendall's tau; NaN where there is none.
    tau_ap : (N, N) float array
        AP correlation, symmetric; NaN if `tau` is.
    rbo : (N, N) float array
        Rank-biased overlap, extrapolated.
    shared : (N, N) float array
        Of lists of documents: their number in both lists divided by the length of the longer one; 1 of systems.
    queries : int
        The number of queries that values of lists are means over, those that all runs have.
    """

    names: tuple[str, ...]
    tau: FloatArray
    tau_ap: FloatArray
    rbo: FloatArray
    shared: FloatArray
    queries: int = 0


def system_orders(comparison: Outcome) -> Agreement:
    """Compare how the measures of a comparison order its systems, by their means.

    The tau is `kendall_tau`, AP correlation `tau_ap_b`; for overlap, systems with equal means are in the order of their
    names.

    Raises
    ------
    EvaluationError
        There are fewer than three systems.
    """
    if len(comparison.runs) < 3:
        raise EvaluationError(
            f"{len(comparison.runs)} runs are too few to compare how measures order them",
            "Compare at least three runs.",
        )
    means = [compared.means for compared in comparison.measures]
    lists = [[name for _, name in sorted(zip((-one).tolist(), comparison.runs, strict=True))] for one in means]
    tau = np.array([[kendall_tau(one, other) for other in means] for one in means])
    of_ap = np.array([[tau_ap_b(one, other) for other in means] for one in means])
    overlaps = np.array([[rbo(one, other) for other in lists] for one in lists])
    return Agreement(
        tuple(compared.measure for compared in comparison.measures), tau, of_ap, overlaps, np.ones_like(tau)
    )


def overlap_of_runs(
    runs: Sequence[Run],
    *,
    names: Sequence[str],
    depth: int | None = 100,
    p: float = 0.9,
    ranking: Ranking = PLAIN,
    qids: Sequence[str] | None = None,
) -> Agreement:
    """Compare the document lists of runs for the same queries.

    Parameters
    ----------
    runs : sequence of Run, length S
        The runs.
    names : sequence of str, length S
        Their names.
    depth : int or None
        Number of documents of each list that count; None for all.
    p : float
        The persistence of the rank-biased overlap, between 0 and 1.
    ranking : Ranking
        How documents are ranked. As there are no judgments, unjudged documents stay.
    qids : sequence of str, optional
        The queries to use. Default: all. Only those count for which every run has documents.

    Returns
    -------
    Agreement
        The means over the queries; those of tau and of AP correlation, of the documents in both lists, over the queries
        with two or more such documents.

    Raises
    ------
    EvaluationError
        No query has documents of all runs.
    DataError
        depth is negative; documents are ranked by the rank column, and a run has none.

    References
    ----------
    See `rbo` and `kendall_tau`.

    Examples
    --------
    The lists share b, one of two documents.

    >>> one, other = Run({"1": {"a": 2.0, "b": 1.0}}), Run({"1": {"b": 2.0, "c": 1.0}})
    >>> overlap_of_runs([one, other], names=["one", "other"]).shared.tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    limit = limit_of(depth) if ranking.depth is None else min(limit_of(depth), limit_of(ranking.depth))
    if limit == 0:
        raise EvaluationError("lists of 0 documents cannot be compared", "Choose a depth of 1 or more.")
    ranked = [arranged(run, ranking) for run in runs]
    common = set(runs[0].qids) if qids is None else set(qids)
    for run in ranked:
        common &= {qid for qid, length in zip(run.qids, np.diff(run.offsets).tolist(), strict=True) if length}
    if not common:
        raise EvaluationError("no query has documents of all runs", "Check that the runs are for the same queries.")
    sums = np.zeros((4, len(runs), len(runs)))
    counts = np.zeros_like(sums)
    for qid in sorted(common, key=encode):
        agreements = _agreements([_documents(run, qid, limit) for run in ranked], p)
        known = ~np.isnan(agreements)
        sums += np.where(known, agreements, 0.0)
        counts += known
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    tau, of_ap, overlaps, shares = means
    return Agreement(tuple(names), tau, of_ap, overlaps, shares, len(common))


def _documents(run: Run, qid: str, limit: int) -> list[bytes]:
    """Return the documents of a query, best first; the scores of the run rank without ties."""
    row = run.row_of(qid)
    assert row is not None
    start, stop = run.span(row)
    docids = run.docids.raw(start, stop)
    return [docids[place] for place in order_of(docids, run.scores[start:stop])[:limit].tolist()]


def _agreements(documents: Sequence[list[bytes]], p: float) -> FloatArray:
    """Return tau, AP correlation, overlap and share (4, S, S) of the lists of a query; NaN where there is no tau."""
    codes: dict[bytes, int] = {}
    coded = [np.array([codes.setdefault(docid, len(codes)) for docid in docids]) for docids in documents]
    lists = np.full((len(coded), max(map(len, coded))), -1)
    for number, row in enumerate(coded):
        lists[number, : len(row)] = row
    ranks = ranks_of(np.where(lists < 0, len(codes), lists), len(codes))
    agreements = np.ones((4, len(coded), len(coded)))
    agreements[2] = rbo_of_lists(lists, p)
    for one, other in itertools.combinations(range(len(coded)), 2):
        there = ranks[other, coded[one]]
        both = there[there < lists.shape[1]]
        share = len(both) / max(len(coded[one]), len(coded[other]))
        agreements[:, one, other] = *_correlations(both), agreements[2, one, other], share
    return np.triu(agreements) + np.triu(agreements, 1).swapaxes(1, 2)


def _correlations(ranks: IntArray) -> tuple[float, float]:
    """Return Kendall's tau and the mean AP correlation of an order, from the ranks of its items in another one."""
    if len(ranks) < 2:
        return float("nan"), float("nan")
    places = -np.arange(float(len(ranks)))
    concordant = np.triu(ranks[:, None] < ranks, 1).sum()
    return 4 * float(concordant) / (len(ranks) * (len(ranks) - 1)) - 1, tau_ap_b(places, -ranks.astype(np.float64))
