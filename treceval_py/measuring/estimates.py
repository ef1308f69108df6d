"""Estimates of AP and nDCG from a sample of the pool, without the bias of dividing by estimated numbers.

A sum over the relevant documents is estimated without bias by dividing each term by the probability that its documents
were judged. A measure is such a sum times 1 / R, or 1 / ideal, and 1 / R̂ is too high on average. Here the inverse is
estimated by the iterated bootstrap: what sampling would add to it if the estimated counts were the true ones is
subtracted, and what sampling would add to that, and so on.

For this an inverse is written as a sum of exponentials of the counts, x^r for r relevant documents judged with
probability p. Sampling turns x^R, on average, into (1 - p + p·x)^R, so that each round only changes x. Counts are of
documents other than those of the term, which are judged for certain where the term is there at all.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from treceval_py._types import BoolArray, FloatArray, IntArray
from treceval_py.judging.sampled import JudgedSample
from treceval_py.measuring.gains import discounts

ROUNDS = 20
"""How often bias is estimated and subtracted. Each round leaves less of it, and adds a little variance."""

MOST_KINDS = 3
"""The grades whose counts are corrected separately; where there are more, neighbouring ones are taken together."""

_RATES = np.append(0.0, np.logspace(-4, 1, 19))
_COUNTS = np.append(np.arange(12.0), np.logspace(math.log10(12), math.log10(2000), 28).round())


class _Drawn(NamedTuple):
    """The relevant documents that were judged, in groups that were drawn alike, sorted by query.

    Attributes
    ----------
    query : (G,) int array
        The row of the query in `JudgedSample.qids`.
    probability : (3, G, 1) float array
        The probability that another document of the group is judged, if 0, 1 or 2 of the group are.
    group : (D,) int array
        The group of each document of the pool; -1 if it is not relevant.
    """

    query: IntArray
    probability: FloatArray
    group: IntArray


class _Terms(NamedTuple):
    """Terms of a sum over the relevant documents, or over pairs of them.

    Attributes
    ----------
    known : tuple of ((T,) int array, int)
        The groups of the documents of each term, and how many of each group they are.
    kind : int
        The kind of these documents.
    """

    known: tuple[tuple[IntArray, int], ...]
    kind: int = 0

    def of_others(self, drawn: _Drawn, counts: FloatArray, values: FloatArray) -> FloatArray:
        """Add up values (3, G, N) over relevant documents (G, K) other than those of the term. (T, K, N)."""
        total = np.zeros((int(drawn.query.max(initial=-1)) + 1, counts.shape[1], values.shape[2]))
        np.add.at(total, drawn.query, counts[:, :, None] * values[0, :, None])
        others: FloatArray = total[drawn.query[self.known[0][0]]]
        for group, number in self.known:
            there = counts[group][:, :, None]
            left = there - number * np.eye(counts.shape[1])[:, self.kind, None]
            others += left * values[number, group, None] - there * values[0, group, None]
        return others

    def relevant(self, counts: FloatArray) -> FloatArray:
        """Add the documents of the term to counts (…, K) of others."""
        own: FloatArray = sum(number for _, number in self.known) * np.eye(counts.shape[-1])[self.kind]
        return counts + own

    def estimated(self, drawn: _Drawn, counts: FloatArray) -> FloatArray:
        """Estimate the relevant documents (T, K) of each kind."""
        return self.relevant(self.of_others(drawn, counts, 1 / drawn.probability)[:, :, 0])


def _drawn(run: JudgedSample, relevant: BoolArray) -> _Drawn:
    pool, group = run.pool, np.full(len(relevant), -1)
    rows = np.flatnonzero(relevant & (pool.probability > 0))
    if run.strata is None:
        alike = np.stack([pool.query[rows], pool.probability[rows]])
        (queries, chance), inverse = np.unique(alike, axis=1, return_inverse=True)
        group[rows] = inverse.ravel()
        return _Drawn(queries.astype(np.int64), np.tile(chance[:, None], (3, 1, 1)), group)
    strata, group[rows] = np.unique(pool.stratum[rows], return_inverse=True)
    query, pooled, judged = (column[strata] for column in run.strata)
    known = np.arange(3)[:, None]
    # Nothing is known of the rest of a stratum of which no other document was judged.
    probability = np.where(judged > known, (judged - known) / np.maximum(pooled - known, 1), 1.0)
    return _Drawn(query, probability[:, :, None], group)


@functools.lru_cache(maxsize=1)
def _fitting() -> FloatArray:
    """Return the matrix from values of a function at `_COUNTS` to weights of the exponentials e^(-rate · count)."""
    return np.linalg.pinv(np.exp(-np.outer(_COUNTS, _RATES)), rcond=1e-5)


def _corrections(
    terms: _Terms, drawn: _Drawn, counts: FloatArray, inverse: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Return the factor (T,) that corrects an inverse, a function of (…, K) counts; (G, K) of each kind were judged."""
    kinds, probability = counts.shape[1], drawn.probability
    grid = np.stack(np.meshgrid(*[_COUNTS] * kinds, indexing="ij"), axis=-1)
    weights = inverse(terms.relevant(grid))
    for _ in range(kinds):
        weights = np.tensordot(weights, _fitting(), axes=(0, 1))
    rounds, logs = [], -_RATES / probability
    for _ in range(ROUNDS + 1):
        powers = np.exp(terms.of_others(drawn, counts, logs))
        value = np.broadcast_to(weights, (len(powers), *weights.shape))
        for kind in range(kinds):
            value = np.einsum("tn,tn...->t...", powers[:, kind], value)
        rounds.append(value)
        logs = np.where(probability < 1, np.log1p(probability * np.expm1(logs)) / probability, logs)
    signs = [(-1) ** nth * math.comb(ROUNDS + 1, nth + 1) for nth in range(ROUNDS + 1)]
    corrected: FloatArray = np.tensordot(np.array(signs, dtype=np.float64), np.array(rounds), axes=1) / rounds[0]
    return corrected


def _one_over(counts: FloatArray) -> FloatArray:
    return 1 / counts[..., 0]


def estimated_average_precision(run: JudgedSample, *, level: int = 1, cutoff: int | None = None) -> FloatArray:
    r"""estAP: estimate of AP from a sample of the pool whose bias is estimated too, and subtracted.

    Formula
    -------
    estAP = sum over the relevant documents retrieved, at rank k, of (1/k) · sum over the relevant documents i down to
    rank k of v / (probability that both were judged). v estimates 1/R: it is the sum over j from 0 to 20 of
    (-1)^j · C(21, j+1) · (T^j of 1/R) at R̂ = these two documents + sum of 1/p of the other relevant ones. T f(R) is the
    mean of f(R̂) if R documents were relevant, and each were judged with its probability p. In a stratum of N documents
    of which n were judged, two are both judged with probability n(n-1) / (N(N-1)), and p = (n-m) / (N-m) beside m that
    are. Where nothing else of a stratum was judged, nothing else of it counts.

    .. math:: \mathrm{estAP} = \sum_{k\,:\,r_k = 1} \frac{1}{k} \sum_{i \le k\,:\,r_i = 1} \frac{1}{\pi_{ik}}
        \sum_{j=0}^{20} (-1)^j \binom{21}{j+1} (T^j f)(\hat R_{ik}), \quad f(R) = \frac{1}{R}

    estAP@k takes the first k ranks only.

    .. math:: \mathrm{estAP}@k = \sum_{m \le k\,:\,r_m = 1} \frac{1}{m} \sum_{i \le m\,:\,r_i = 1} \frac{1}{\pi_{im}}
        \sum_{j=0}^{20} (-1)^j \binom{21}{j+1} (T^j f)(\hat R_{im}), \quad f(R) = \frac{1}{R}

    Returns
    -------
    (Q,) float array
        AP if everything was judged. The value of one query can be negative or above 1: the mean over queries is what is
        estimated. Empty case: 0, also when no judged document is relevant.

    References
    ----------
    This package's own. The sum: Horvitz, D. G., Thompson, D. J. A Generalization of Sampling Without Replacement From a
    Finite Universe. JASA 47(260), 1952. The estimate of 1/R: Hall, P., Martin, M. A. On Bootstrap Resampling and
    Iteration. Biometrika 75(4), 1988.

    Examples
    --------
    The document at rank 2 was judged with probability 1/2, as in one of two such queries; the other one gets 0:
    (1/2) / (1/2).

    >>> estimated_average_precision(drawn_labels("0:1 1:0.5"))
    array([1.])
    """
    drawn = _drawn(run, run.pool.rel >= max(level, 0))
    groups, group = np.arange(len(drawn.query)), drawn.group[run.row]
    counts = np.bincount(drawn.group[drawn.group >= 0], minlength=len(groups))[:, None].astype(np.float64)
    rows = np.flatnonzero((group >= 0) & (run.hits.rank <= (cutoff or math.inf)))
    query, rank, group = run.hits.query[rows], run.hits.rank[rows], group[rows]
    chance, again, _ = drawn.probability[:, :, 0]
    value = np.zeros(len(run.qids))

    def add(sums: FloatArray, *known: tuple[IntArray, int], key: object) -> None:
        terms = _Terms(known)

        def inverse() -> FloatArray:
            return _one_over(terms.estimated(drawn, counts)) * _corrections(terms, drawn, counts, _one_over)

        worth = sums[known[0][0]] * run.known(("estAP", level, len(known), key), inverse)
        np.add.at(value, drawn.query[known[0][0]], worth)

    add(np.bincount(group, 1 / rank, len(groups)) / chance, (groups, 1), key=None)
    first, starts = (np.searchsorted(of, np.arange(len(run.qids))) for of in (drawn.query, query))
    # Groups are numbered within their queries, so that one pass counts the pairs with all n-th groups.
    numbers, sizes = groups - first[drawn.query], np.bincount(drawn.query, minlength=len(run.qids))[drawn.query]
    for nth in range(int(numbers.max(initial=-1)) + 1):
        above = np.append(0, np.cumsum(numbers[group] == nth))
        pairs = np.bincount(group, (above[:-1] - above[starts[query]]) / rank, len(groups)) / chance
        same = np.flatnonzero((numbers == nth) & (counts[:, 0] > 1))
        add(pairs / again, (same, 2), key=nth)
        other = np.flatnonzero((numbers != nth) & (sizes > nth))
        partner = np.minimum(first[drawn.query] + nth, len(groups) - 1)
        add(pairs / chance[partner], (other, 1), (partner[other], 1), key=nth)
    return value


def _one_over_ideal(counts: FloatArray, gains: FloatArray, cutoff: int | None) -> FloatArray:
    """Return 1 / DCG of the best ranking of (…, K) documents, also of fractions of them, with K ascending gains."""
    at_least = counts[..., ::-1].cumsum(axis=-1)[..., ::-1]
    ranks = np.arange(1, (cutoff or math.ceil(at_least.max(initial=1.0))) + 1)
    sums = np.interp(at_least, np.append(0, ranks), np.append(0.0, np.cumsum(1 / discounts(ranks))))
    inverse: FloatArray = 1 / (sums @ np.diff(gains, prepend=0.0))
    return inverse


def estimated_ndcg(run: JudgedSample, *, cutoff: int | None = None) -> FloatArray:
    r"""estNDCG: estimate of nDCG from a sample of the pool whose bias is estimated too, and subtracted.

    Formula
    -------
    estNDCG = sum over the relevant documents retrieved, at rank k, of v · gain / log2(k+1) / (probability that it was
    judged). v estimates 1/ideal, the DCG of the best ranking, as estAP does 1/R, from the numbers of documents of each
    grade; where there are more than three grades, neighbouring ones are corrected together. The gain is the grade.

    .. math:: \mathrm{estNDCG} = \sum_{k} \frac{g_k}{\pi_k \log_2(k + 1)} \sum_{j=0}^{20} (-1)^j \binom{21}{j+1}
        (T^j f)(\hat R_k), \quad f(R) = \frac{1}{\mathrm{ideal}(R)}

    estNDCG@k takes the first k ranks only, of the run and of the ideal ranking.

    .. math:: \mathrm{estNDCG}@k = \sum_{m \le k} \frac{g_m}{\pi_m \log_2(m + 1)} \sum_{j=0}^{20} (-1)^j
        \binom{21}{j+1} (T^j f)(\hat R_m), \quad f(R) = \frac{1}{\mathrm{ideal}@k(R)}

    Returns
    -------
    (Q,) float array
        nDCG if everything was judged. The value of one query can be negative or above 1: the mean over queries is what
        is estimated. Empty case: 0, also when no judged document is relevant.

    References
    ----------
    As for estAP.

    Examples
    --------
    Judged with probability 1/2, alone relevant, at rank 3: (1/2) / (1/2).

    >>> estimated_ndcg(drawn_labels("0:1 - 2:0.5"))
    array([1.])
    """
    drawn = _drawn(run, run.pool.rel > 0)
    gains, grade = np.unique(run.pool.rel[drawn.group >= 0].astype(np.float64), return_inverse=True)
    counts = np.zeros((len(drawn.query), len(gains)))
    np.add.at(counts, (drawn.group[drawn.group >= 0], grade), 1)
    parts = [part for part in np.array_split(np.arange(len(gains)), MOST_KINDS) if len(part)]
    merged = functools.partial(_one_over_ideal, gains=np.array([gains[part].mean() for part in parts]), cutoff=cutoff)
    together = np.array([counts[:, part].sum(axis=1) for part in parts]).T
    group, value = drawn.group[run.row], np.zeros(len(run.qids))
    within = (group >= 0) & (run.hits.rank <= (cutoff or math.inf))
    for kind, at in ((kind, at) for kind, part in enumerate(parts) for at in part.tolist()):
        rows, known = np.flatnonzero(within & (run.hits.rel == gains[at])), np.flatnonzero(counts[:, at])
        terms = _Terms(((known, 1),), at)

        def inverse(terms: _Terms = terms, kind: int = kind) -> FloatArray:
            factor = _corrections(terms._replace(kind=kind), drawn, together, merged)
            return _one_over_ideal(terms.estimated(drawn, counts), gains, cutoff) * factor

        gained = np.bincount(group[rows], gains[at] / discounts(run.hits.rank[rows]), len(counts))[known]
        weighted = gained / drawn.probability[0, known, 0]
        value += run.sum(drawn.query[known], weighted * run.known(("estNDCG", cutoff, at), inverse))
    return value
