"""Slow, obvious twins of the measures that are models of a reader, of Compatibility and of Accuracy.

Each is written from the definition of the measure, with loops, one query at a time, and shares nothing with the
package. Codes are those of twins.py: a grade >= 0, or a negative number for a document that was not judged.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from twins import with_cutoff


def gains_of(codes: list[int], depth: int, *, max_rel: int, min_rel: int = 0) -> list[float]:
    """Give the gains of a ranking that is cut at a depth, or continued with documents of gain 0 down to it.

    A gain is the place of a grade on the scale.
    """
    padded = [*codes, *[-1] * depth][:depth]
    return [(code - min_rel) / (max_rel - min_rel) if code > min_rel else 0.0 for code in padded]


def expected_rate(gains: list[float], goes_on: Callable[[int], float]) -> float:
    """Give the sum of W(i)·r(i): the gain that a reader can expect of a document."""
    reached = 1.0
    total = 0.0
    weighed = 0.0
    for rank, gain in enumerate(gains, start=1):
        total += reached
        weighed += reached * gain
        reached *= goes_on(rank)
    return weighed / total


def inst(codes: list[int], judged: list[int], *, target: float = 1.0, deepest: int = 1000, **scale: int) -> float:
    """Give INST."""
    gains = gains_of(codes, deepest, **scale)

    def goes_on(rank: int) -> float:
        wanted = target - math.fsum(gains[:rank])
        return ((rank - 1 + target + wanted) / (rank + target + wanted)) ** 2

    return expected_rate(gains, goes_on)


def insq(codes: list[int], judged: list[int], *, target: float = 1.0, deepest: int = 1000, **scale: int) -> float:
    """Give INSQ."""
    gains = gains_of(codes, deepest, **scale)
    return expected_rate(gains, lambda rank: ((rank - 1 + 2 * target) / (rank + 2 * target)) ** 2)


def sdcg_cut(
    codes: list[int], judged: list[int], *, max_rel: int, min_rel: int = 0, cutoff: int, gain: str = "linear"
) -> float:
    """Give DCG over that of documents of the highest grade."""
    reached = 0.0
    possible = 0.0
    gains = gains_of(codes, cutoff, max_rel=max_rel, min_rel=min_rel)
    if gain == "binary":
        gains = [float(each > 0) for each in gains]
    elif gain == "exp":
        wide = max_rel - min_rel
        gains = [(2 ** (each * wide) - 1) / (2**wide - 1) for each in gains]
    for rank, gain_there in enumerate(gains, start=1):
        reached += gain_there / math.log2(rank + 1)
        possible += 1.0 / math.log2(rank + 1)
    return reached / possible


def bpm_cut(
    codes: list[int], judged: list[int], *, target: float = 1.0, max_rel: int, min_rel: int = 0, cutoff: int
) -> float:
    """Go down until the target or the cutoff is reached, and give the precision there."""
    steps = 0
    for rank in range(1, cutoff + 1):
        if rank <= len(codes) and codes[rank - 1] > min_rel:
            steps += codes[rank - 1] - min_rel
        gained = Fraction(steps, max_rel - min_rel)
        if gained >= Fraction(str(target)):
            return float(gained / rank)
    return float(gained / cutoff)


def nerr8_cut(codes: list[int], judged: list[int], *, cutoff: int, **scale: int) -> float:
    """Give NERR8."""
    gains = gains_of(codes, cutoff, **scale)
    return expected_rate(gains, lambda rank: 1.0 - gains[rank - 1])


def nerr9_cut(codes: list[int], judged: list[int], *, cutoff: int, **scale: int) -> float:
    """Give NERR9."""
    gains = gains_of(codes, cutoff, **scale)
    return expected_rate(gains, lambda rank: rank / (rank + 1) * (1.0 - gains[rank - 1]))


def nerr10(codes: list[int], judged: list[int], *, p: float = 0.9, deepest: int = 1000, **scale: int) -> float:
    """Give NERR10."""
    gains = gains_of(codes, deepest, **scale)
    return expected_rate(gains, lambda rank: p * (1.0 - gains[rank - 1]))


def nerr11(codes: list[int], judged: list[int], *, target: float = 1.0, deepest: int = 1000, **scale: int) -> float:
    """Give NERR11."""
    gains = gains_of(codes, deepest, **scale)
    steps = 2 * target - 1
    return expected_rate(gains, lambda rank: ((rank + steps) / (rank + steps + 1)) ** 2 * (1.0 - gains[rank - 1]))


def overlap(one: list[str], other: list[str], p: float, depth: int) -> float:
    """Give the rank-biased overlap of two rankings down to a depth."""
    total = 0.0
    most = 0.0
    for at in range(1, depth + 1):
        total += p ** (at - 1) * len(set(one[:at]) & set(other[:at])) / at
        most += p ** (at - 1)
    return total / most if most else 0.0


def compat(
    codes: list[int],
    judged: list[int],
    *,
    p: float = 0.95,
    deepest: int = 1000,
    until: str = "depth",
    normalised: str = "yes",
) -> float:
    """Give Compatibility: documents are named, missed ones too, and the ideal ranking is written out."""
    run = [f"rank {rank}" for rank in range(1, len(codes) + 1)]
    graded = [(code, name) for code, name in zip(codes, run, strict=True) if code > 0]
    for grade in sorted(set(judged)):
        missed = judged.count(grade) - codes.count(grade)
        if grade > 0:
            graded += [(grade, f"missed {grade} {number}") for number in range(missed)]
    ideal = [name for grade, name in sorted(graded, key=lambda each: -each[0])]  # stable: in the order of the run
    if until == "longer":
        deepest = max(len(run), len(ideal))
    similar = overlap(run, ideal, p, deepest)
    if normalised == "no":
        return similar
    best = overlap(ideal, ideal, p, deepest)
    return similar / best if best else 0.0


def accuracy(codes: list[int], judged: list[int], *, level: int = 1) -> float:
    """Count the pairs of a relevant and another document, and those in order."""
    pairs = 0
    right = 0
    relevant = 0
    for place, code in enumerate(codes):
        relevant += code >= level
        for other, below in enumerate(codes):
            if code >= level > below:
                pairs += 1
                right += place < other
    if not pairs:
        return 1.0 if relevant else 0.0
    return right / pairs


USER_MODELS: dict[str, Callable[..., float]] = {
    "inst": inst,
    "insq": insq,
    "sdcg_cut": sdcg_cut,
    "bpm_cut": bpm_cut,
    "nerr8_cut": nerr8_cut,
    "nerr9_cut": nerr9_cut,
    "nerr10": nerr10,
    "nerr11": nerr11,
    "compat": compat,
    "accuracy": accuracy,
    "accuracy_cut": with_cutoff(accuracy),
}
"""The twins by the names of families."""
