"""Randomisation tests: what differences would be if it were chance alone that shared values among runs.

Resamples come in blocks, and each block has a random generator of its own, made of the seed and the number of the
block. How many resamples a block has depends on the data alone; so p-values are the same with any number of threads.
Shape letters: S runs, Q queries, P pairs, B resamples.

Differences of measures are often equal, and so are sums of them: many resamples come exactly to what was observed, and
count. A sum that is made in another order differs in its last bits; so what comes within 1e-12 of the sum of absolute
values counts as equal.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import numpy as np

from treceval_py._types import FloatArray, IntArray
from treceval_py.comparing.paired import Outcome, settled
from treceval_py.threads import available_threads, in_order

__all__ = ["randomisation", "randomised_tukey"]

ROOM = 1e-12
"""Sums that differ by no more than this share of the sum of absolute values are equal."""

SIGNS = 2**19
"""Numbers in a block of signs, and in a block of sums."""

SHUFFLED = 2**16
"""Numbers that are shuffled at once; they fit in the cache of a core."""

DOUBLED = 16
"""Of so many differences the sums under all signs are held at once: half a megabyte."""


def randomisation(differences: FloatArray, *, resamples: int, seed: int, threads: int | None = None) -> Outcome:
    """Test with Fisher's randomisation test whether the mean difference is 0.

    Parameters
    ----------
    differences : (Q, P) float array
        The differences, none of them NaN. Those of at most 1e-12 count as 0.
    resamples : int
        B, at least 1. Where the signs of the differences that are not 0 have no more than B combinations, all of them
        are gone through, and the p-value is exact.
    seed : int
        At least 0; the same seed gives the same p-values, whatever the number of threads.
    threads : int, optional
        By default as many as there are cores for this process.

    Returns
    -------
    Outcome
        The mean difference, and its p-value: the share of resamples whose mean is as far from 0; where signs were
        drawn, (count + 1) / (B + 1), as what was observed is one of them. p = 1 where all differences are 0, NaN of one
        query.

    Notes
    -----
    Assumes that under the null hypothesis the two runs could be exchanged in each query, so that each difference could
    as well have the other sign; nothing about its distribution. All pairs are tested with the same signs: the p-value
    of a pair does not depend on which others there are. A p-value p that was drawn has the standard error
    √(p (1 - p) / B); of 100,000 resamples it is 0.0007 at p = 0.05.

    References
    ----------
    Ronald A. Fisher. The Design of Experiments. Oliver and Boyd, 1935, section 21.

    Mark D. Smucker, James Allan and Ben Carterette. A comparison of statistical significance tests for information
    retrieval evaluation. In Proceedings of the 16th ACM Conference on Information and Knowledge Management, 623-632,
    2007.

    Belinda Phipson and Gordon K. Smyth. Permutation p-values should never be zero: calculating exact p-values when
    permutations are randomly drawn. Statistical Applications in Genetics and Molecular Biology 9(1), article 39, 2010.

    Examples
    --------
    >>> randomisation(np.array([[0.1], [0.2], [0.3]]), resamples=100, seed=1).p.tolist()  # 2 of 2 ** 3: all one sign
    [0.25]
    """
    found = settled(differences)
    p = np.full(found.shape[1], np.nan)
    if len(found) > 1:
        exact = np.count_nonzero(found, axis=0) < resamples.bit_length()  # 2 ** count <= resamples
        for number in np.flatnonzero(exact).tolist():
            p[number] = _enumerated(found[:, number])
        drawn = np.ascontiguousarray(found[:, ~exact])
        if drawn.size:
            p[~exact] = (_as_far(drawn, resamples, seed, threads) + 1) / (resamples + 1)
    return Outcome(found.mean(axis=0), p)


def randomised_tukey(values: FloatArray, *, resamples: int, seed: int, threads: int | None = None) -> FloatArray:
    """Test each pair of runs with the randomised Tukey HSD test, which keeps its level over all of them together.

    Parameters
    ----------
    values : (S, Q) float array
        The values, a row for each run; no NaN.
    resamples : int
        B, at least 1.
    seed : int
        At least 0; the same seed gives the same p-values, whatever the number of threads.
    threads : int, optional
        By default as many as there are cores for this process.

    Returns
    -------
    (S, S) float array
        p-values: (count + 1) / (B + 1), where the count is that of resamples in which the highest mean is at least as
        far from the lowest as these two runs' means are from each other. The diagonal is 1; else NaN of one query.

    Notes
    -----
    In each resample the values of each query are shuffled among the runs. Assumes that under the null hypothesis, that
    all runs are alike, they could be exchanged in each query. The p-values need no further correction.

    References
    ----------
    Benjamin A. Carterette. Multiple testing in statistical analysis of systems-based information retrieval
    experiments. ACM Transactions on Information Systems 30(1), article 4, 2012.
    """
    count, queries = values.shape
    p = np.full((count, count), np.nan)
    if queries > 1 and count > 1:
        ranges = _shuffled_ranges(values, resamples, seed, threads)
        ranges.sort()
        sums = values.sum(axis=1)
        # Each sum is off by no more than its share of all values of its queries.
        room = ROOM * np.abs(values).max(axis=0).sum()
        observed = np.abs(sums[:, None] - sums[None, :]) - room
        p = (resamples - np.searchsorted(ranges, observed) + 1) / (resamples + 1)
    np.fill_diagonal(p, 1.0)
    return p


def generator_of(seed: int, block: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy=seed, spawn_key=(block,))))


def blocks(
    resamples: int, size: int, threads: int | None, work: Callable[[int, int], FloatArray | IntArray]
) -> list[FloatArray | IntArray]:
    """Return what ``work(block, rows)`` makes of each block, in order."""
    starts = range(0, resamples, size)
    crew = min(available_threads() if threads is None else threads, len(starts))
    items = ((number, min(size, resamples - start)) for number, start in enumerate(starts))
    with closing(in_order(items, lambda item: work(*item), crew)) as results:
        return list(results)


def _least(differences: FloatArray) -> FloatArray:
    """Return the absolute sums from which on a resample counts as being as far from 0 as what was observed."""
    least: FloatArray = np.abs(differences.sum(axis=0)) - ROOM * np.abs(differences).sum(axis=0)
    return least


def _enumerated(column: FloatArray) -> float:
    """Return the exact p-value of differences, from the sums under all combinations of signs."""
    moved = column[column != 0]
    least = float(_least(moved))
    # With the other sign everywhere a sum is as far from 0, so the first sign can stay.
    inner = _all_sums(moved[: DOUBLED + 1])
    outer = _all_sums(np.concatenate([np.zeros(1), moved[DOUBLED + 1 :]]))
    count = sum(int(np.count_nonzero(np.abs(inner + offset) >= least)) for offset in outer.tolist())
    return count / (len(inner) * len(outer))


def _all_sums(values: FloatArray) -> FloatArray:
    """Return the sums of values, the first with its own sign and the others with both."""
    sums = values[:1]
    for value in values[1:].tolist():
        sums = np.concatenate([sums + value, sums - value])
    return sums if len(sums) else np.zeros(1)


def _as_far(differences: FloatArray, resamples: int, seed: int, threads: int | None) -> IntArray:
    """Count the resamples whose mean is as far from 0 as that of the differences."""
    queries, pairs = differences.shape
    total, least = differences.sum(axis=0), _least(differences)
    size = min(max(1, SIGNS // queries), 8192)  # not by the number of pairs, on which no p-value is to depend
    width = max(1, SIGNS // size)

    def count(block: int, rows: int) -> IntArray:
        drawn = np.frombuffer(generator_of(seed, block).bytes(rows * -(-queries // 8)), dtype=np.uint8)
        turned = np.unpackbits(drawn.reshape(rows, -1), axis=1, count=queries).astype(np.float64)
        found = np.empty(pairs, dtype=np.int64)
        for start in range(0, pairs, width):
            part = slice(start, start + width)
            sums = turned @ differences[:, part]
            sums *= -2.0  # a sign that is turned takes away a difference twice
            sums += total[part]
            np.abs(sums, out=sums)
            found[part] = np.count_nonzero(sums >= least[part], axis=0)
        return found

    counts: IntArray = np.sum(blocks(resamples, size, threads, count), axis=0, dtype=np.int64)
    return counts


def _shuffled_ranges(values: FloatArray, resamples: int, seed: int, threads: int | None) -> FloatArray:
    """Return how far apart the highest and the lowest sum are, in each resample."""
    columns = np.ascontiguousarray(values.T)

    def ranges(block: int, rows: int) -> FloatArray:
        generator = generator_of(seed, block)
        sums = np.zeros((rows, len(values)))
        shuffled = np.empty_like(sums)
        for column in columns:
            shuffled[:] = column
            generator.permuted(shuffled, axis=1, out=shuffled)
            sums += shuffled
        found: FloatArray = sums.max(axis=1) - sums.min(axis=1)
        return found

    return np.concatenate(blocks(resamples, max(1, SHUFFLED // len(values)), threads, ranges)).astype(np.float64)
