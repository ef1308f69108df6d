"""Slow, obvious twins of the estimates from a sample, one query at a time, from the relevant documents that were judged."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

ROUNDS = 20


class Relevant(NamedTuple):
    """A relevant document: its rank, or 0; its grade; its stratum, or its own probability as a number."""

    rank: int
    grade: int
    stratum: str
    pooled: int
    judged: int

    def chance(self, beside: int) -> float:
        """The probability that it is judged, beside others of its stratum that are."""
        if self.stratum.isalpha():
            return (self.judged - beside) / (self.pooled - beside)
        return float(self.stratum)


def est_ap(documents: Sequence[Relevant], *, level: int = 1, cutoff: int = 10**6) -> float:
    """EstAP: over all pairs; 1/R is the integral of y^(R-1) from 0 to 1, and sampling turns x into 1 - p + p·x."""
    value, relevant = 0.0, [one for one in documents if one.grade >= level]
    at, weights = np.polynomial.legendre.leggauss(40)
    for low, high in itertools.product([one for one in relevant if 0 < one.rank <= cutoff], repeat=2):
        if low.rank < high.rank:
            continue
        own = [low] if low is high else [low, high]
        beside = Counter(one.stratum for one in own)
        both = low.chance(0)
        if low is not high:
            both *= high.chance(int(low.stratum == high.stratum))
        chances = [one.chance(beside[one.stratum]) for one in relevant if one not in own]
        for y, weight in zip((at + 1) / 2, weights / 2, strict=True):
            powers = [y ** (1 / p) for p in chances]
            for nth in range(ROUNDS + 1):
                share = (-1) ** nth * math.comb(ROUNDS + 1, nth + 1) * math.prod(powers)
                value += weight * y ** (len(own) - 1) * share / both / low.rank
                powers = [(1 - p + p * x) ** (1 / p) for p, x in zip(chances, powers, strict=True)]
    return value


def est_ndcg_of_one_round(documents: Sequence[Relevant], *, cutoff: int = 10**6) -> float:
    """EstNDCG with one round, 2 f - T f: over all numbers of documents that samples of the estimated ones could have.

    Probabilities must be 1 / whole numbers.
    """
    value = 0.0
    for one in documents:
        if not 0 < one.rank <= cutoff:
            continue
        counts: Counter[tuple[int, int]] = Counter()
        for other in documents:
            if other is not one:
                counts[other.grade, round(1 / other.chance(int(other.stratum == one.stratum)))] += 1
        again = 0.0
        for numbers in itertools.product(*(range(counts[kind] * kind[1] + 1) for kind in counts)):
            drawn = dict(zip(counts, numbers, strict=True))
            chance = math.prod(binomial(drawn[kind], counts[kind] * kind[1], kind[1]) for kind in counts)
            again += chance / ideal(one.grade, drawn, cutoff)
        estimate = 2 / ideal(one.grade, counts, cutoff) - again
        value += estimate * one.grade / math.log2(one.rank + 1) / one.chance(0)
    return value


def binomial(number: int, of: int, one_in: int) -> float:
    """The probability that a number of documents is judged, one in `one_in`."""
    chance = Fraction(1, one_in)
    return float(math.comb(of, number) * chance**number * (1 - chance) ** (of - number))


def ideal(own: int, judged: Mapping[tuple[int, int], int], cutoff: int) -> float:
    """The ideal DCG of a grade and of judged documents by grade, each of which stands for a number of them."""
    grades = [own, *itertools.chain(*([grade] * number * weight for (grade, weight), number in judged.items()))]
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(sorted(grades, reverse=True)[:cutoff], 1))


ESTIMATES: dict[str, Callable[..., Any]] = {
    "estap": est_ap,
    "estap_cut": est_ap,
    "estndcg": est_ndcg_of_one_round,
    "estndcg_cut": est_ndcg_of_one_round,
}
"""The twins by the names of families."""
