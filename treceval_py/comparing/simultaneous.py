"""Simultaneous test of all pairs of runs: paired t statistics, compared with the largest one expected by chance.

Readers of a comparison may pick any run as the reference after seeing the values. So the family of tests is all pairs
of runs of a measure, and one number, the critical |t|, decides each test and gives each interval: tests, intervals and
groups cannot contradict each other. Shape letters: S runs, Q queries, B resamples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from treceval_py._types import FloatArray
from treceval_py.comparing.paired import SAME, settled, special, student
from treceval_py.comparing.resampling import blocks, generator_of

ADDED = 2
"""Queries with the observed variance that are added to each resample when its variance is estimated."""

LEAST = 0.25
"""The variance of a resample counts as no less than this share of what was observed."""

NUMBERS = 2**19
"""Numbers that a block draws, and holds of its pairs at once; they fit in the cache of a core."""

MOST_LARGEST = 20_000_000
"""Statistics that are computed for all pairs and resamples; with more pairs there are fewer resamples."""

FEW = 25
"""With fewer queries a resample says too little of the variance: no p-value is then below Bonferroni's of a t-test."""

FEWEST = 2000
"""Fewest resamples, however many pairs there are, unless the caller asks for fewer."""


class Simultaneous(NamedTuple):
    """Result of the test of all pairs of runs for a measure.

    Attributes
    ----------
    t : (S, S) float array
        Paired t of the difference of two runs, that of the row minus that of the column. 0 for runs that are equal in
        each query, infinite where all differences are the same number; NaN of one query.
    error : (S, S) float array
        The standard errors of the mean differences; NaN of one query.
    p : (S, S) float array
        p-values corrected over all pairs: (count + 1) / (B + 1), where the count is that of resamples in which the
        largest |t| is no smaller; 0 of an infinite t. NaN of one query, except for 1 in the diagonal.
    largest : (B,) float array
        The largest |t| over all pairs in each resample, ascending. Empty of one query.
    """

    t: FloatArray
    error: FloatArray
    p: FloatArray
    largest: FloatArray

    def in_order(self, runs: Sequence[int]) -> Simultaneous:
        """Return the test for the runs with these numbers, in this order."""
        of_runs = np.ix_(runs, runs)
        return self._replace(t=self.t[of_runs], error=self.error[of_runs], p=self.p[of_runs])

    def critical(self, alpha: float) -> float:
        """Return the |t| above which a difference is significant at alpha, ``p <= alpha``.

        The interval with confidence 1 - alpha of any pair is its mean difference ± this number of standard errors.

        Parameters
        ----------
        alpha : float
            Between 0 and 1.

        Returns
        -------
        float
            Infinite where there are too few resamples for that alpha; NaN of one query.
        """
        count = len(self.largest)
        if not count:
            return float("nan")
        place = int(alpha * (count + 1) * (1 + SAME))  # 0.07 × 100 falls short of 7 by its last bit
        if not place:
            return float("inf")
        return float(self.largest[-place]) if place <= count else 0.0


def simultaneous(values: FloatArray, *, resamples: int, seed: int, threads: int | None = None) -> Simultaneous:
    r"""Test every pair of runs with paired t statistics, by a studentised bootstrap of the largest one.

    Parameters
    ----------
    values : (S, Q) float array
        The values, a row for each run; no NaN.
    resamples : int
        B, at least 1: how many times the queries are drawn with replacement. With many pairs of runs it is reduced to
        20 million over the number of pairs, but not below 2,000: from 64 runs on, of the usual 10,000.
    seed : int
        At least 0; the same seed gives the same p-values, whatever the number of threads.
    threads : int, optional
        By default as many as there are cores for this process.

    Returns
    -------
    Simultaneous
        The statistics, their standard errors, corrected p-values, and the largest |t| of each resample.

    Notes
    -----
    In a resample, the t of each pair is how far its mean difference is from the one observed, in standard errors that
    are computed anew from the resample:

    .. math:: t^* = \frac{\bar d^* - \bar d}{s^* / \sqrt Q}, \qquad
              s^{*2} = \max\left(\frac{Q-2}{Q} v^* + \frac{2}{Q} v, \frac{v}{4}\right)

    where v and v* are the variances of the differences, observed and resampled. The largest of all pairs is what the
    observed ones are referred to, in a single step: so the chance that any two runs of which neither is better are told
    apart is about alpha, whichever pairs are looked at.

    All runs have the same queries in a resample, which keeps their correlation, and the variance is that of each pair:
    small differences between near-copies of a run are found. Taking :math:`s^* = \sqrt{v^*}` is the
    studentised bootstrap as it is known. With thirty queries it rejects too seldom, and a pair that differs in a few
    queries only has resamples without these, in which it hardly varies: it alone would make the critical value of all
    others several times as large. That is what the two constants are for; with 100 queries and pairs that differ in
    more than thirty of them they change the critical value by less than 0.03. They were chosen by simulation. Fewer
    than 25 queries are too few; p-values are then no smaller than those of t-tests by Bonferroni's correction.

    Assumes that queries are independent and a fair sample of those that matter.

    References
    ----------
    Peter Hall. The Bootstrap and Edgeworth Expansion. Springer, 1992, sections 3.5 and 3.6.

    Peter H. Westfall and S. Stanley Young. Resampling-Based Multiple Testing. Wiley, 1993, section 2.5.

    Joseph P. Romano and Michael Wolf. Exact and approximate stepdown methods for multiple hypothesis testing. Journal
    of the American Statistical Association 100(469), 94-108, 2005.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> hard = rng.random(50)
    >>> found = simultaneous(np.stack([hard, hard + 0.1 + 0.1 * rng.random(50)]), resamples=999, seed=1)
    >>> found.p.tolist()  # 1 / (B + 1), as no resample has so large a t
    [[1.0, 0.001], [0.001, 1.0]]
    """
    return simultaneous_each([values], resamples=resamples, seed=seed, threads=threads)[0]


def simultaneous_each(
    columns: Sequence[FloatArray], *, resamples: int, seed: int, threads: int | None = None
) -> list[Simultaneous]:
    """Return the tests of several measures, each as of `simultaneous`.

    Drawing queries takes longer than all else. Measures of the same queries share the draws.
    """
    alike: dict[tuple[int, ...], list[FloatArray]] = {}
    for values in columns:
        alike.setdefault(values.shape, []).append(values)
    tests = {shape: iter(_tests(group, resamples, seed, threads)) for shape, group in alike.items()}
    return [next(tests[values.shape]) for values in columns]


def _tests(columns: list[FloatArray], resamples: int, seed: int, threads: int | None) -> Iterator[Simultaneous]:
    """Yield the tests of measures with the same numbers of runs and queries."""
    runs, queries = columns[0].shape
    drawn = min(resamples, max(FEWEST, MOST_LARGEST // max(1, runs * (runs - 1) // 2)))
    observed = [_observed(values) for values in columns]
    resampled = np.empty((len(columns), 0))
    if queries > 1:
        resampled = np.sort(_largest(columns, [error for _, error in observed], drawn, seed, threads))
    for (t, error), row in zip(observed, resampled, strict=True):
        largest = row
        if 1 < queries < FEW:
            largest = np.maximum(row, _student(drawn, int(np.count_nonzero(error)) // 2, queries - 1))
        count = len(largest)
        p = (count - np.searchsorted(largest, np.abs(t)) + 1) / (count + 1)
        p[np.isinf(t)] = 0.0  # of differences that do not vary
        p[np.isnan(t)] = np.nan
        np.fill_diagonal(p, 1.0)
        yield Simultaneous(t, error, p, largest)


def _observed(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return t and the standard errors of each pair of runs. Both (S, S)."""
    runs, queries = values.shape
    if queries < 2:
        return np.full((runs, runs), np.nan), np.full((runs, runs), np.nan)
    t, error = np.zeros((runs, runs)), np.zeros((runs, runs))
    for run in range(runs - 1):
        t[run, run + 1 :], error[run, run + 1 :] = student(settled((values[run] - values[run + 1 :]).T))
    return t - t.T, error + error.T


def _student(resamples: int, pairs: int, df: int) -> FloatArray:
    """Return the |t| whose p-values, multiplied by the number of pairs, are those of B resamples, ascending."""
    p = np.arange(resamples, 0, -1) / (resamples + 1)
    return np.asarray(-special.stdtrit(df, p / max(1, pairs) / 2), dtype=np.float64)


def _largest(
    columns: list[FloatArray], errors: list[FloatArray], resamples: int, seed: int, threads: int | None
) -> FloatArray:
    """Return the largest |t| over all pairs whose differences vary, of each measure and resample. (M, B)."""
    runs, queries = columns[0].shape
    each_centred = [values - values.mean(axis=1, keepdims=True) for values in columns]
    share = min(1.0, ADDED / queries)
    rows = max(1, NUMBERS // max(runs, queries))

    def largest(block: int, size: int) -> FloatArray:
        drawn = generator_of(seed, block).integers(0, queries, size=(size, queries))
        drawn += queries * np.arange(size)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=size * queries).reshape(size, queries)
        weights = np.divide(counts.T, queries, order="C")
        most = np.zeros((len(columns), size))
        for centred, error, most_here in zip(each_centred, errors, most, strict=True):
            means = centred @ weights
            for run in range(runs - 1):
                others = run + 1 + np.flatnonzero(error[run, run + 1 :])
                # In units of the standard deviation of each pair, that with Q.
                unit = 1 / (error[run, others, None] * np.sqrt(queries - 1))
                differences = (centred[run] - centred[others]) * unit
                squares = np.square((means[run] - means[others]) * unit)
                variances = np.square(differences) @ weights
                variances -= squares
                variances *= 1 - share
                variances += share
                np.maximum(variances, LEAST, out=variances)
                squares /= variances
                np.maximum(most_here, squares.max(axis=0, initial=0.0), out=most_here)
        highest: FloatArray = np.sqrt(most * (queries - 1))
        return highest

    return np.concatenate(blocks(resamples, rows, threads, largest), axis=1).astype(np.float64)
