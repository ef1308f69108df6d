"""Slow, obvious twins of the measures that learning to rank and recommendation have, to test the fast ones against.

Arguments as in `twins`. A twin of `SCORED` also gets the score of each document, in rank order.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

from twins import (
    NO_JUDGMENT,
    any_gain_of,
    count_nonrelevant,
    count_relevant,
    dcg,
    gain_of,
    judged_of,
    num_rel_ret,
    recall_at,
    success,
    with_cutoff,
)


def average_gain(
    codes: list[int], judged: list[int], *, cutoff: int, gains: Mapping[int, float] | None = None, gain: str = "linear"
) -> float:
    """AverageGain@k: the mean over the documents that are there."""
    there = [any_gain_of(code, gains, gain) for code in codes[:cutoff]]
    return sum(there) / len(there) if there else 0.0


def arp(
    codes: list[int], judged: list[int], *, gains: Mapping[int, float] | None = None, gain: str = "linear"
) -> float:
    """ARP: ranks weighted by gains."""
    weights = [any_gain_of(code, gains, gain) for code in codes]
    if not sum(weights):
        return 0.0
    return sum(rank * weight for rank, weight in enumerate(weights, 1)) / sum(weights)


def f1(codes: list[int], judged: list[int], *, level: int = 1, cutoff: int) -> float:
    """F1@k from P@k and R@k."""
    precision = count_relevant(codes[:cutoff], level) / cutoff
    recall = recall_at(codes, judged, level=level, cutoff=cutoff)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def hole(codes: list[int], judged: list[int], *, cutoff: int) -> float:
    """Hole@k, where no other query is judged."""
    return sum(code == NO_JUDGMENT for code in codes[:cutoff]) / cutoff


def mean_precision(codes: list[int], judged: list[int], *, level: int = 1, cutoff: int) -> float:
    """MeanP@k."""
    return sum(count_relevant(codes[:depth], level) / depth for depth in range(1, cutoff + 1)) / cutoff


def _known(codes: list[int], judged: list[int], level: int, collection_size: int) -> int:
    if collection_size:
        return max(collection_size - count_relevant(judged, level), 0)
    return count_nonrelevant(judged, level) + sum(code < 0 for code in codes)


def fallout(codes: list[int], judged: list[int], *, level: int = 1, collection_size: int = 0) -> float:
    """Fallout."""
    return fallout_at(codes, judged, level=level, cutoff=len(codes), collection_size=collection_size)


def fallout_at(codes: list[int], judged: list[int], *, level: int = 1, cutoff: int, collection_size: int = 0) -> float:
    """Fallout@k."""
    known = _known(codes, judged, level, collection_size)
    found = sum(not (code >= 0 and code >= level) for code in codes[:cutoff])
    return found / known if known else 0.0


def pfound(
    codes: list[int], judged: list[int], *, decay: float = 0.85, gains: Mapping[int, float] | None = None
) -> float:
    """PFound."""
    look, total = 1.0, 0.0
    for code in codes:
        chance = gain_of(code, gains)
        total += look * chance
        look *= (1 - chance) * decay
    return total


LISTS: dict[str, Callable[..., Any]] = {
    "dcg_cut": with_cutoff(dcg),
    "average_gain": average_gain,
    "arp": arp,
    "F1_cut": f1,
    "hits": num_rel_ret,
    "hits_cut": with_cutoff(num_rel_ret),
    "set_success": success,
    "set_judged": judged_of,
    "hole": hole,
    "mean_P": mean_precision,
    "fallout": fallout,
    "fallout_cut": fallout_at,
    "pfound": pfound,
    "pfound_cut": with_cutoff(pfound),
}


# Pairs of documents -------------------------------------------------------------------------------


def auc(codes: list[int], scores: list[float], *, level: int = 1, credit: str = "half", max_fpr: float = 1.0) -> float:
    """AUC: the area under the curve that goes down the scores, its corners joined by lines (or by steps)."""
    positive = [code >= max(level, 0) for code in codes]
    if all(positive) or not any(positive):
        return 0.0
    points = [(0.0, 0.0)]
    for score in sorted(set(scores), reverse=True):
        above = [good for good, each in zip(positive, scores, strict=True) if each >= score]
        point = (above.count(False) / positive.count(False), above.count(True) / positive.count(True))
        if credit == "wrong":  # along first, then up
            points.append((point[0], points[-1][1]))
        points.append(point)
    area = 0.0
    for (x, y), (further, higher) in itertools.pairwise(points):
        if further > max_fpr:
            higher = y + (higher - y) * (max_fpr - x) / (further - x) if x < max_fpr else y
            further = max(max_fpr, x)
        area += (further - x) * (y + higher) / 2
    if max_fpr == 1.0:
        return area
    chance = max_fpr**2 / 2
    return (1 + (area - chance) / (max_fpr - chance)) / 2


def opa(codes: list[int], scores: list[float], *, credit: str = "wrong") -> float:
    """OPA: go through all pairs."""
    right, pairs = 0.0, 0
    labels = [max(code, 0) for code in codes]
    for (label, score), (other, another) in itertools.permutations(zip(labels, scores, strict=True), 2):
        if label > other:
            pairs += 1
            right += 1.0 if score > another else 0.5 if score == another and credit == "half" else 0.0
    return right / pairs if pairs else 0.0


def at_scores(twin: Callable[..., float]) -> Callable[..., float]:
    """Give the twin of a measure of the first documents, and of their scores."""
    return lambda codes, scores, *, cutoff, **given: twin(codes[:cutoff], scores[:cutoff], **given)


SCORED: dict[str, Callable[..., Any]] = {"auc": auc, "auc_cut": at_scores(auc), "opa": opa}
"""These get scores in place of the judgments."""


# All queries --------------------------------------------------------------------------------------


def nauc(values: list[float], confidences: list[float]) -> float:
    """NAUC of values and confidences of queries."""

    def area(order: list[float]) -> float:
        heights = []
        for tenth in range(10):
            # As numpy.linspace writes these shares: 0.30000000000000004, not 0.3.
            drop = min(round(tenth * 0.1 * len(values)), len(values) - 1)
            mean_of = {
                each: sum(value for value, other in zip(values, order, strict=True) if other == each)
                / order.count(each)
                for each in order
            }
            left = sorted(order)[drop:]
            heights.append(sum(mean_of[each] for each in left) / len(left))
        return sum((left + right) / 2 * 0.1 for left, right in itertools.pairwise(heights))

    flat = 0.9 * sum(values) / len(values)
    best = area(values)
    return (area(confidences) - flat) / (best - flat) if best != flat else math.nan


OF_ALL_QUERIES: dict[str, Callable[..., Any]] = {"nauc": nauc}
