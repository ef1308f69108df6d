"""Randomisation tests: how large differences would be if values were assigned to runs by chance alone.

Resamples come in blocks, and each block has a random generator of its own, made of the seed and the number of the
block. How many resamples a block has depends on the data alone; so p-values are the same with any number of threads.
Shape letters: S runs, Q queries, P pairs, B resamples.

Differences of measures are often equal, and so are their sums: many resamples equal the observed sum exactly, and
count. The same sum in another order differs in its last bits, so sums count as equal if they differ by less than 1e-12
of the sum of absolute values.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import numpy as np

from treceval_py._types import FloatArray, IntArray
from treceval_py.comparing.paired import Outcome, settled
from treceval_py.threads import available_threads, in_order

ROOM = 1e-12
"""Sums that differ by no more than this share of the sum of absolute values are equal."""

SIGNS = 2**19
"""Numbers in a block of signs, and in a block of sums."""

DOUBLED = 16
"""Most differences whose sums under all signs are held at once: half a megabyte."""


def randomisation(differences: FloatArray, *, resamples: int, seed: int, threads: int | None = None) -> Outcome:
    """Test with Fisher's randomisation test whether the mean difference is 0.

    Parameters
    ----------
    differences : (Q, P) float array
        The differences, none of them NaN. Those of at most 1e-12 count as 0.
    resamples : int
        B, at least 1. If the signs of the differences that are not 0 have at most B combinations, all of them are
        enumerated, and the p-value is exact.
    seed : int
        At least 0; the same seed gives the same p-values, whatever the number of threads.
    threads : int, optional
        By default as many as there are cores for this process.

    Returns
    -------
    Outcome
        The mean difference, and its p-value: the share of resamples whose mean is at least as far from 0; if signs were
        drawn, (count + 1) / (B + 1), because the observed signs are one of them. p = 1 if all differences are 0, NaN
        for a single query.

    Notes
    -----
    Assumes that under the null hypothesis the two runs are exchangeable in each query, so each difference could also
    have the other sign; nothing is assumed about its distribution. All pairs are tested with the same signs, so the
    p-value of a pair does not depend on other pairs. A p-value p from drawn signs has the standard error √(p (1 - p) /
    B); with 100,000 resamples this is 0.0007 at p = 0.05.

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
    differences = settled(differences)
    p = np.full(differences.shape[1], np.nan)
    if len(differences) > 1:
        exact = np.count_nonzero(differences, axis=0) < resamples.bit_length()  # 2 ** count <= resamples
        for number in np.flatnonzero(exact).tolist():
            p[number] = _enumerated(differences[:, number])
        drawn = np.ascontiguousarray(differences[:, ~exact])
        if drawn.size:
            p[~exact] = (_as_far(drawn, resamples, seed, threads) + 1) / (resamples + 1)
    return Outcome(differences.mean(axis=0), p)


def generator_of(seed: int, block: int) -> np.random.Generator:
    """Return the generator of one block of resamples."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy=seed, spawn_key=(block,))))


def blocks(
    resamples: int, size: int, threads: int | None, work: Callable[[int, int], FloatArray | IntArray]
) -> list[FloatArray | IntArray]:
    """Return the result of ``work(block, rows)`` for each block, in order."""
    starts = range(0, resamples, size)
    crew = min(available_threads() if threads is None else threads, len(starts))
    items = ((number, min(size, resamples - start)) for number, start in enumerate(starts))
    with closing(in_order(items, lambda item: work(*item), crew)) as results:
        return list(results)


def _least(differences: FloatArray) -> FloatArray:
    """Return the absolute sums from which on a resample counts as at least as far from 0 as the observed one."""
    least: FloatArray = np.abs(differences.sum(axis=0)) - ROOM * np.abs(differences).sum(axis=0)
    return least


def _enumerated(column: FloatArray) -> float:
    """Return the exact p-value of differences, from the sums under all combinations of signs."""
    moved = column[column != 0]
    least = float(_least(moved))
    # With all signs reversed, a sum is as far from 0, so the first sign can stay.
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
    """Count the resamples whose mean is at least as far from 0 as that of the differences."""
    queries, pairs = differences.shape
    total, least = differences.sum(axis=0), _least(differences)
    size = min(max(1, SIGNS // queries), 8192)  # not by the number of pairs, because no p-value may depend on it
    width = max(1, SIGNS // size)

    def count(block: int, rows: int) -> IntArray:
        drawn = np.frombuffer(generator_of(seed, block).bytes(rows * -(-queries // 8)), dtype=np.uint8)
        turned = np.unpackbits(drawn.reshape(rows, -1), axis=1, count=queries).astype(np.float64)
        reached = np.empty(pairs, dtype=np.int64)
        for start in range(0, pairs, width):
            part = slice(start, start + width)
            sums = turned @ differences[:, part]
            sums *= -2.0  # reversing a sign subtracts the difference twice
            sums += total[part]
            np.abs(sums, out=sums)
            reached[part] = np.count_nonzero(sums >= least[part], axis=0)
        return reached

    counts: IntArray = np.sum(blocks(resamples, size, threads, count), axis=0, dtype=np.int64)
    return counts
