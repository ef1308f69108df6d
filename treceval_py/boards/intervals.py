"""Intervals of ranks, and which runs differ significantly, by a bootstrap over queries, collections or both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from treceval_py._types import BoolArray, FloatArray, IntArray

Resampled: TypeAlias = Literal["both", "queries", "collections"]

RESAMPLED: tuple[Resampled, ...] = get_args(Resampled)
"""Levels that a bootstrap can resample; the first is the default."""

EXACT = 1e-12
"""Means that differ by less are equal: rounding errors depend on which query has which value."""

AT_ONCE = 1 << 22
"""Most drawn weights, or differences, held in memory at a time."""


class Separation(NamedTuple):
    """Which means differ significantly, tested over all pairs together.

    Attributes
    ----------
    apart : (S, S) bool array
        Whether the means of two runs differ significantly.
    critical : float
        The difference, in standard errors, above which two means differ; NaN if there is nothing to test.
    """

    apart: BoolArray
    critical: float


def ranks_of(means: FloatArray) -> IntArray:
    """Return the ranks of means along the last axis, from 1 for the highest; equal means are ranked by position.

    Parameters
    ----------
    means : (..., S) float array
        The means.
    """
    order = np.argsort(-means, axis=-1, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.broadcast_to(np.arange(1, means.shape[-1] + 1), order.shape), -1)
    return ranks


def rounded(mean: float) -> float:
    """Return a mean without its last digits, which depend on the order in which values are added."""
    return float(f"{mean:.12g}")


def shared_ranks(means: Sequence[float]) -> list[int]:
    """Return the ranks of descending means; equal ones share the first of theirs."""
    ranks: list[int] = []
    for number, mean in enumerate(means):
        same = number > 0 and rounded(mean) == rounded(means[number - 1])
        ranks.append(ranks[-1] if same else number + 1)
    return ranks


def drawn_errors(
    collections: Sequence[FloatArray],
    weights: FloatArray | None = None,
    *,
    resampled: Resampled = "both",
    draws: int = 1000,
    seed: int = 1,
) -> FloatArray:
    """Draw errors of the runs' means, by a bootstrap.

    Parameters
    ----------
    collections : sequence of (S, Q) float arrays, length K
        The values in each collection, a row for each run. Each collection may have its own number of queries.
    weights : (K,) float array, optional
        The weight of each collection in the mean, above 0. Default: the same for all.
    resampled : {"both", "queries", "collections"}
        Level to resample with replacement: queries within each collection, collections with the means that were
        measured, or both. With a single collection, queries are drawn.
    draws : int
        Number of draws, B.
    seed : int
        Random seed.

    Returns
    -------
    (B, S) float array
        Drawn means less the means that were measured. All runs share the queries and collections of a draw, which
        keeps their correlation.

    Notes
    -----
    Errors are enlarged by ``sqrt(n / (n - 1))``, because a resampled mean varies less than a sample's mean by that
    factor. If both levels are resampled, the means of the collections already include the noise of their queries. Their
    deviations are therefore shrunk until the variance of a draw is that of the mean of a sample of collections (Davison
    and Hinkley 1997, section 3.8).

    References
    ----------
    Davison, A. C., and Hinkley, D. V. Bootstrap Methods and their Application. Cambridge University Press, 1997.
    """
    count = len(collections)
    shares = np.full(count, 1 / count) if weights is None else weights / weights.sum()
    # A generator for each collection and one for the collections themselves: another collection changes no other's.
    generators = [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(count + 1)]
    errors = np.zeros((draws, len(collections[0])))
    noise = 0.0
    if resampled != "collections" or count == 1:
        for values, share, rng in zip(collections, shares.tolist(), generators[1:], strict=True):
            drawn = _errors_of_mean(values, draws, rng)
            noise += _spread(drawn) / count
            errors += share * drawn
    if resampled != "queries" and count > 1:
        means = np.array([values.mean(axis=1) for values in collections])
        deviations = means - means.mean(axis=0)
        between = _spread(deviations) * count / (count - 1)
        shrunk = np.sqrt(max(0.0, 1 - noise / between)) if between > 0 else 0.0
        centred = shrunk * (means - shares @ means) * shares[:, None]
        times = generators[0].multinomial(count, np.full(count, 1 / count), size=draws)
        errors += np.sqrt(count / (count - 1)) * (times @ centred)
    return errors


def _errors_of_mean(values: FloatArray, draws: int, rng: np.random.Generator) -> FloatArray:
    """Return the drawn errors (B, S) of the means of values (S, Q), by drawing queries."""
    runs, queries = values.shape
    errors = np.zeros((draws, runs))
    if queries < 2:
        return errors
    centred = (values - values.mean(axis=1, keepdims=True)).T / np.sqrt(queries * (queries - 1.0))
    step = max(1, AT_ONCE // queries)
    for start in range(0, draws, step):
        stop = min(start + step, draws)
        drawn = rng.integers(queries, size=(stop - start, queries))
        drawn += np.arange(stop - start)[:, None] * queries
        times = np.bincount(drawn.ravel(), minlength=(stop - start) * queries).reshape(stop - start, queries)
        errors[start:stop] = times.astype(np.float64) @ centred
    return errors


def _spread(rows: FloatArray) -> float:
    """Return the mean over rows of the sum of squares about each row's mean."""
    return float(((rows - rows.mean(axis=1, keepdims=True)) ** 2).sum(axis=1).mean())


def rank_intervals(means: FloatArray, errors: FloatArray, confidence: float = 0.95) -> tuple[IntArray, IntArray]:
    """Return a confidence interval of each run's rank.

    Parameters
    ----------
    means : (S,) float array
        The runs' means.
    errors : (B, S) float array
        Drawn errors of the means, as `drawn_errors` gives them.
    confidence : float
        Confidence level of each interval, above 0 and below 1.

    Returns
    -------
    low, high : (S,) int array
        The best and the worst rank of each run, from 1 to S. The rank of the means that were measured is between them.

    Notes
    -----
    A run ranks r or better if its mean is not below the r-th highest mean of the other runs. Each r is tested by that
    difference, and the interval holds the ranks that are not rejected at ``(1 - confidence) / 2`` on either side. The
    errors of the difference come from a bootstrap of the order statistic itself: the measured means are spread too far
    by their own noise, so they are first drawn together until their variance is that of the runs without noise (Louis
    1984), and the errors are added to these.

    Ranks are not simply resampled: a resampled rank has the noise twice, which drives the first and last of many close
    runs towards the middle, and its percentiles then miss the true rank too often (Hall and Miller 2009). An interval
    from all pairs that differ significantly (Mogstad, Romano, Shaikh and Wilhelm 2024) is never too narrow, but several
    times too wide for many runs. benchmarks/README.md has a simulation of all three.

    References
    ----------
    Hall, P., and Miller, H. Using the Bootstrap to Quantify the Authority of an Empirical Ranking. Annals of Statistics
    37(6B), 2009. Louis, T. A. Estimating a Population of Parameter Values Using Bayes and Empirical Bayes Methods.
    Journal of the American Statistical Association 79(386), 1984. Mogstad, M., Romano, J. P., Shaikh, A. M., and
    Wilhelm, D. Inference for Ranks with Applications to Mobility across Neighbourhoods and Academic Achievement across
    Countries. Review of Economic Studies 91(1), 2024.
    """
    runs = len(means)
    places = np.arange(1, runs)
    tail = (1 - confidence) / 2
    centres = _without_noise(means, errors)
    drawn = centres + errors
    drawn_ranks, descending = ranks_of(drawn), -np.sort(-drawn, axis=1)
    low, high = ranks_of(means), ranks_of(means)
    scale = EXACT * max(1.0, float(np.abs(means).max(initial=0.0)))
    for run in range(runs):
        measured = _others(means, run) - means[run]
        # What the r-th highest of the others has to reach in a draw for its difference to be as large as measured.
        least = measured + _others(centres, run) + errors[:, run, None]
        before = drawn_ranks[:, run, None] > places
        as_high = np.where(before, descending[:, :-1] >= least - scale, descending[:, 1:] >= least - scale)
        as_low = np.where(before, descending[:, :-1] <= least + scale, descending[:, 1:] <= least + scale)
        better = np.flatnonzero(as_high.mean(axis=0) > tail)
        worse = np.flatnonzero(as_low.mean(axis=0) > tail)
        low[run] = min(low[run], better[0] + 1 if len(better) else runs)
        high[run] = max(high[run], worse[-1] + 2 if len(worse) else 1)
    return low, high


def ranges_of(
    values: FloatArray, confidence: float = 0.95, *, draws: int = 1000, seed: int = 1
) -> list[tuple[int, int] | None]:
    """Return the interval of each run's rank in one collection; None for a single query.

    Parameters
    ----------
    values : (S, Q) float array
        The values, a row for each run.
    confidence, draws, seed
        As for `rank_intervals` and `drawn_errors`.
    """
    if values.shape[1] < 2:
        return [None] * len(values)
    errors = drawn_errors([values], draws=draws, seed=seed)
    low, high = rank_intervals(values.mean(axis=1), errors, confidence)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def _others(means: FloatArray, run: int) -> FloatArray:
    """Return the means of the other runs, highest first."""
    return -np.sort(-np.delete(means, run))


def _without_noise(means: FloatArray, errors: FloatArray) -> FloatArray:
    """Return means drawn together until they vary as they would without their errors."""
    about = means - means.mean()
    spread = float(about @ about)
    kept = max(0.0, 1 - _spread(errors) / spread) if spread > 0 else 0.0
    centred: FloatArray = means.mean() + np.sqrt(kept) * about
    return centred


def separated(means: FloatArray, errors: FloatArray, alpha: float = 0.05) -> Separation:
    """Find which means differ significantly.

    Parameters
    ----------
    means : (S,) float array
        The runs' means.
    errors : (B, S) float array
        Drawn errors of the means, as `drawn_errors` gives them.
    alpha : float
        Significance level of all pairs together.

    Returns
    -------
    Separation
        Two means differ if their difference, in standard errors, is above the ``1 - alpha`` quantile of the largest
        such difference of all pairs over the draws. Neighbours are chosen by the order that was measured, so the family
        is all pairs, not the neighbours alone.
    """
    covariance = errors.T @ errors / len(errors)
    variances = np.diagonal(covariance)
    variance = variances[:, None] + variances[None, :] - 2 * covariance
    # Copies of a run differ by rounding errors only.
    usable = variance > EXACT * variances.max()  # 0 if no draw differs: then every difference is certain
    deviation = np.sqrt(np.where(usable, variance, np.inf))
    largest = np.empty(len(errors))
    step = max(1, AT_ONCE // len(means) ** 2)
    for start in range(0, len(errors), step):
        block = errors[start : start + step]
        largest[start : start + step] = np.abs((block[:, :, None] - block[:, None, :]) / deviation).max(axis=(1, 2))
    critical = float(np.quantile(largest, 1 - alpha, method="higher"))
    difference = np.abs(means[:, None] - means[None, :])
    exact = EXACT * max(1.0, float(np.abs(means).max()))
    least = np.maximum(exact, critical * np.sqrt(np.where(usable, variance, 0.0)))
    return Separation(difference > least, critical)
