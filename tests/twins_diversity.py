"""Slow, obvious twins of the measures over subtopics, to test the fast ones against.

As in `twins`: written from the definitions, with loops, one query at a time, sharing nothing with the package. A ranking
is a list of docids; judgments are ``{subtopic: {docid: rel}}``. A document is relevant to a subtopic if it is judged
there, not negative, and its level is at least `level`.
"""

import math
from collections.abc import Callable

from twins import utf8

Judgments = dict[str, dict[str, int]]


def is_relevant(docid: str, labels: dict[str, int], level: int) -> bool:
    return docid in labels and labels[docid] >= 0 and labels[docid] >= level


def subtopics_of(judgments: Judgments, level: int) -> list[str]:
    """Give the subtopics that have a relevant document, in the order of their bytes."""
    return [
        subtopic
        for subtopic in sorted(judgments, key=utf8)
        if any(is_relevant(docid, judgments[subtopic], level) for docid in judgments[subtopic])
    ]


def gain_of(docid: str, above: list[str], judgments: Judgments, level: int, alpha: float) -> float:
    """Give the gain of a document below others, adding up its subtopics."""
    total = 0.0
    for subtopic in subtopics_of(judgments, level):
        if is_relevant(docid, judgments[subtopic], level):
            gain = 1.0
            for other in above:
                if is_relevant(other, judgments[subtopic], level):
                    gain *= 1.0 - alpha
            total += gain
    return total


def gains_of(ranking: list[str], judgments: Judgments, level: int, alpha: float) -> list[float]:
    return [gain_of(docid, ranking[:at], judgments, level, alpha) for at, docid in enumerate(ranking)]


def greedy(judgments: Judgments, level: int, alpha: float) -> list[str]:
    """Rank all judged documents: the one with the highest gain next, of equal ones the one with the largest id."""
    left = {docid for labels in judgments.values() for docid in labels}
    ranking: list[str] = []
    while left:
        best = max(left, key=lambda docid: (gain_of(docid, ranking, judgments, level, alpha), utf8(docid)))
        ranking.append(best)
        left.remove(best)
    return ranking


def cumulated(gains: list[float], discount: Callable[[int], float], cutoff: int) -> float:
    return sum(gain / discount(rank) for rank, gain in enumerate(gains[:cutoff], 1))


def log2_discount(rank: int) -> float:
    return math.log2(rank + 1)


def over_bound(discount: Callable[[int], float]) -> Callable[..., float]:
    """Give the twin that divides discounted gains by the highest there could be."""

    def twin(ranking: list[str], judgments: Judgments, level: int, alpha: float, cutoff: int) -> float:
        subtopics = subtopics_of(judgments, level)
        bound = [len(subtopics) * (1.0 - alpha) ** above for above in range(cutoff)]
        found = cumulated(gains_of(ranking, judgments, level, alpha), discount, cutoff)
        return found / cumulated(bound, discount, cutoff) if subtopics else 0.0

    return twin


def over_ideal(discount: Callable[[int], float]) -> Callable[..., float]:
    """Give the twin that divides discounted gains by those of the greedy ranking."""

    def twin(ranking: list[str], judgments: Judgments, level: int, alpha: float, cutoff: int) -> float:
        ideal = gains_of(greedy(judgments, level, alpha), judgments, level, alpha)
        found = cumulated(gains_of(ranking, judgments, level, alpha), discount, cutoff)
        return found / cumulated(ideal, discount, cutoff) if subtopics_of(judgments, level) else 0.0

    return twin


def with_patience(gains: list[float], patience: float) -> float:
    total, going_on = 0.0, 1.0
    for gain in gains:
        total += going_on * gain
        going_on *= patience
    return total


def nrbp(ranking: list[str], judgments: Judgments, level: int, alpha: float, patience: float) -> float:
    subtopics = subtopics_of(judgments, level)
    if not subtopics:
        return 0.0
    total = with_patience(gains_of(ranking, judgments, level, alpha), patience)
    return (1.0 - (1.0 - alpha) * patience) / len(subtopics) * total


def nnrbp(ranking: list[str], judgments: Judgments, level: int, alpha: float, patience: float) -> float:
    if not subtopics_of(judgments, level):
        return 0.0
    ideal = gains_of(greedy(judgments, level, alpha), judgments, level, alpha)
    return with_patience(gains_of(ranking, judgments, level, alpha), patience) / with_patience(ideal, patience)


def ap_ia(ranking: list[str], judgments: Judgments, level: int) -> float:
    subtopics = subtopics_of(judgments, level)
    total = 0.0
    for subtopic in subtopics:
        labels = judgments[subtopic]
        precisions, found = 0.0, 0
        for rank, docid in enumerate(ranking, 1):
            if is_relevant(docid, labels, level):
                found += 1
                precisions += found / rank
        total += precisions / sum(is_relevant(docid, labels, level) for docid in labels)
    return total / len(subtopics) if subtopics else 0.0


def p_ia(ranking: list[str], judgments: Judgments, level: int, cutoff: int) -> float:
    subtopics = subtopics_of(judgments, level)
    found = sum(is_relevant(docid, judgments[each], level) for each in subtopics for docid in ranking[:cutoff])
    return found / cutoff / len(subtopics) if subtopics else 0.0


def strec(ranking: list[str], judgments: Judgments, level: int, cutoff: int) -> float:
    subtopics = subtopics_of(judgments, level)
    covered = 0
    for subtopic in subtopics:
        covered += any(is_relevant(docid, judgments[subtopic], level) for docid in ranking[:cutoff])
    return covered / len(subtopics) if subtopics else 0.0


DIVERSITY: dict[str, Callable[..., float]] = {
    "alpha_dcg_cut": over_bound(log2_discount),
    "alpha_ndcg_cut": over_ideal(log2_discount),
    "err_ia_cut": over_bound(float),
    "nerr_ia_cut": over_ideal(float),
    "nrbp": nrbp,
    "nnrbp": nnrbp,
    "ap_ia": ap_ia,
    "p_ia_cut": p_ia,
    "strec_cut": strec,
}
