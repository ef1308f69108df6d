"""Slow, obvious twins of the graded and user-model measures, in the style of `twins`: from the definitions, with loops.

Rankings and judgments are those of `twins`: codes in rank order, below 0 for what is not judged.
"""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import permutations, product

from twins import relative_precision, with_cutoff

# Expected reciprocal rank -------------------------------------------------------------------------


def stop_probability(code: int, max_rel: int, stop: str) -> Fraction:
    """Give the probability that a document contents the reader, exactly."""
    if code <= 0:
        return Fraction(0)
    if stop == "label":
        return Fraction(code)
    return Fraction(2**code - 1, 2**max_rel)


def expected_reciprocal_rank(codes: list[int], judged: list[int], *, max_rel: int, stop: str = "grade") -> float:
    """Add up, over ranks, the probability to stop there divided by the rank."""
    total = Fraction(0)
    goes_on = Fraction(1)
    for rank, code in enumerate(codes, start=1):
        stops = stop_probability(code, max_rel, stop)
        total += goes_on * stops / rank
        goes_on *= 1 - stops
    return float(total)


def normalized_err(codes: list[int], judged: list[int], *, max_rel: int, cutoff: int | None = None) -> float:
    """nerr_cut_k and nerr: divided by that of all judged documents, best first."""
    best = expected_reciprocal_rank(sorted(judged, reverse=True)[:cutoff], judged, max_rel=max_rel)
    if best == 0:
        return 0.0
    return expected_reciprocal_rank(codes[:cutoff], judged, max_rel=max_rel) / best


# Rank-biased precision ----------------------------------------------------------------------------


def rbp_of_gains(gains: list[float], p: float) -> float:
    """Add up the gains of a reader who goes on with probability p."""
    total = 0.0
    for rank, gain in enumerate(gains, start=1):
        total += (1 - p) * p ** (rank - 1) * gain
    return total


def rbp_binary(codes: list[int], judged: list[int], *, p: float = 0.8, level: int = 1) -> float:
    """Give each relevant document the gain 1."""
    return rbp_of_gains([1.0 if code >= 0 and code >= level else 0.0 for code in codes], p)


def rbp_graded(
    codes: list[int], judged: list[int], *, p: float = 0.8, max_rel: int, min_rel: int = 0, scale: str = "max_rel"
) -> float:
    """Give each document its share of the scale, or its label."""
    top = 1 if scale == "none" else max_rel
    return rbp_of_gains([code / top if code > min_rel else 0.0 for code in codes], p)


def rbp_residual(codes: list[int], judged: list[int], *, p: float = 0.8) -> float:
    """Count unjudged documents as found, and all that could come after the end."""
    return rbp_of_gains([1.0 if code < 0 else 0.0 for code in codes], p) + p ** len(codes)


# Average precision with grades --------------------------------------------------------------------


def graded_average_precision(
    codes: list[int], judged: list[int], *, weights: tuple[float, ...] | None = None, max_rel: int
) -> float:
    """GAP as the paper defines it, over pairs of documents."""
    thresholds = [1 / max_rel] * max_rel if weights is None else [weight / sum(weights) for weight in weights]
    summed = [0.0]
    for threshold in thresholds:
        summed.append(summed[-1] + threshold)
    most = 0.0
    for level in judged:
        if level > 0:
            most += summed[level]
    if most == 0:
        return 0.0
    total = 0.0
    for n, lower in enumerate(codes, start=1):
        for upper in codes[:n]:
            if lower > 0 and upper > 0:
                total += summed[min(lower, upper)] / n
    return total / most


def q_measure(
    codes: list[int],
    judged: list[int],
    *,
    beta: float = 1.0,
    level: int = 1,
    gains: Mapping[int, float] | None = None,
) -> float:
    """Average the blended ratio over the relevant documents."""
    level = max(level, 1)

    def gain_of(code: int) -> float:
        if code < level:
            return 0.0
        return float((gains or {}).get(code, code))

    ideal = sorted([gain_of(code) for code in judged if code >= level], reverse=True)
    if len(ideal) == 0:
        return 0.0
    total = 0.0
    for rank, code in enumerate(codes, start=1):
        if code < level:
            continue
        above = codes[:rank]
        found = len([each for each in above if each >= level])
        gained = sum(gain_of(each) for each in above)
        total += (found + beta * gained) / (rank + beta * sum(ideal[:rank]))
    return total / len(ideal)


# Ties ---------------------------------------------------------------------------------------------


def mean_over_tie_orders(groups: list[list[int]], value: Callable[[list[int]], float]) -> float:
    """Average a value over all orders of documents with equal scores; `groups` holds codes, best score first."""
    values = []
    for order in product(*(list(permutations(group)) for group in groups)):
        values.append(value([code for group in order for code in group]))
    return math.fsum(values) / len(values)


GRADED: dict[str, Callable[..., float]] = {
    "recall_cap": relative_precision,
    "err": expected_reciprocal_rank,
    "err_cut": with_cutoff(expected_reciprocal_rank),
    "nerr": normalized_err,
    "nerr_cut": normalized_err,
    "rbp_binary": rbp_binary,
    "rbp_binary_cut": with_cutoff(rbp_binary),
    "rbp_graded": rbp_graded,
    "rbp_graded_cut": with_cutoff(rbp_graded),
    "rbp_residual": rbp_residual,
    "gap": graded_average_precision,
    "q_measure": q_measure,
}
