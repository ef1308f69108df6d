"""Slow, obvious twins of the estimates from a sample, to test the fast ones against, one query at a time."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

ROUNDS = 20


class Relevant(NamedTuple):
    """A relevant document that was judged: its rank, or 0; its grade; pooled and judged documents of its stratum."""

    rank: int
    grade: int
    stratum: str
    pooled: int
    judged: int

    def chance(self, beside: int) -> float:
        """The probability that it is judged, beside others of its stratum that are."""
        return (self.judged - beside) / (self.pooled - beside)


def est_ap(documents: Sequence[Relevant], cutoff: int = 10**6, rounds: int = ROUNDS) -> float:
    """EstAP: over all pairs; 1/R is the integral of y^(R-1) from 0 to 1, and sampling turns x into 1 - p + p·x."""
    value = 0.0
    at, weights = np.polynomial.legendre.leggauss(60)
    for low, high in itertools.product([one for one in documents if 0 < one.rank <= cutoff], repeat=2):
        if low.rank < high.rank:
            continue
        own = [low] if low is high else [low, high]
        beside = Counter(one.stratum for one in own)
        both = low.chance(0)
        if low is not high:
            both *= high.chance(int(low.stratum == high.stratum))
        for y, weight in zip((at + 1) / 2, weights / 2, strict=True):
            chances = [one.chance(beside[one.stratum]) for one in documents if one not in own]
            powers = [y ** (1 / p) for p in chances]
            for nth in range(rounds + 1):
                share = (-1) ** nth * math.comb(rounds + 1, nth + 1) * math.prod(powers)
                value += weight * y ** (len(own) - 1) * share / both / low.rank
                powers = [(1 - p + p * x) ** (1 / p) for p, x in zip(chances, powers, strict=True)]
    return value


def est_ndcg_of_one_round(documents: Sequence[Relevant], cutoff: int = 10**6) -> float:
    """EstNDCG with one round, 2 f - T f, by all outcomes of judging as many documents as were estimated.

    The probabilities have to be 1 / whole numbers.
    """
    value = 0.0
    for one in documents:
        if not 0 < one.rank <= cutoff:
            continue
        counts: Counter[tuple[int, int]] = Counter()
        for other in documents:
            if other is not one:
                counts[other.grade, round(1 / other.chance(int(other.stratum == one.stratum)))] += 1
        once = sum(1.0 / _ideal(one.grade, pairs, cutoff) for pairs in [counts])
        twice, kinds = 0.0, list(counts)
        for judged in itertools.product(*(range(counts[kind] * kind[1] + 1) for kind in kinds)):
            chance = math.prod(
                _binomial(number, counts[kind] * kind[1], kind[1]) for number, kind in zip(judged, kinds, strict=True)
            )
            twice += chance / _ideal(one.grade, dict(zip(kinds, judged, strict=True)), cutoff)
        value += (2 * once - twice) * one.grade / math.log2(one.rank + 1) / one.chance(0)
    return value


def _binomial(number: int, of: int, one_in: int) -> float:
    chance = Fraction(1, one_in)
    return float(math.comb(of, number) * chance**number * (1 - chance) ** (of - number))


def _ideal(own: int, judged: dict[tuple[int, int], int], cutoff: int) -> float:
    grades = [own, *itertools.chain(*([grade] * number * weight for (grade, weight), number in judged.items()))]
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(sorted(grades, reverse=True)[:cutoff], 1))


Twin = Callable[..., float]


ESTIMATES = dict.fromkeys(("estAP", "estAP_cut"), est_ap) | dict.fromkeys(
    ("estNDCG", "estNDCG_cut"), est_ndcg_of_one_round
)
"""The twins by the names of families."""
