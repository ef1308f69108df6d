"""Slow, obvious twins of the measures over judgments of a sample, in the style of `twins`: from the formulas, with loops.

A ranking is a list of documents: a triple of judgment, stratum and probability, or None for one outside the pool. `others` are
the documents of the pool that were not retrieved. With strata, a negative judgment is of a document that was not drawn.
"""

import math
from collections.abc import Callable
from typing import Any

Document = tuple[int, str, float]
Ranking = list[Document | None]

EPSILON = 0.00001


def pooled(ranking: Ranking) -> list[Document]:
    return [document for document in ranking if document is not None]


def sizes(documents: list[Document], stratum: str, level: int) -> tuple[int, int, int]:
    """Count the documents of a stratum, those that were judged, and the relevant ones."""
    grades = [grade for grade, of, _ in documents if of == stratum]
    return len(grades), len([g for g in grades if g >= 0]), len([g for g in grades if g >= max(level, 0)])


def smoothed(documents: list[Document], level: int) -> float:
    """Estimate the relevant documents among some of the pool."""
    total = 0.0
    for stratum in {of for _, of, _ in documents}:
        n, j, r = sizes(documents, stratum, level)
        total += n * (r + EPSILON) / (j + 3 * EPSILON)
    return total


def expansion(ranking: Ranking, others: list[Document], stratum: str) -> float:
    whole, judged, _ = sizes(pooled(ranking) + others, stratum, 1)
    return whole / judged


def inum_rel(ranking: Ranking, others: list[Document], depth: int, *, level: int = 1) -> float:
    return sum(
        expansion(ranking, others, stratum) for grade, stratum, _ in pooled(ranking) + others if grade >= max(level, 0)
    )


def xinfap(
    ranking: Ranking, others: list[Document], depth: int, *, level: int = 1, divide_by: str = "relevant"
) -> float:
    divisor, total = inum_rel(ranking, others, depth, level=level), 0.0
    if divide_by == "capped":
        divisor = min(divisor, depth)
    for at, document in enumerate(ranking[:depth]):
        if document is not None and document[0] >= max(level, 0):
            precision = (1 + smoothed(pooled(ranking[:at]), level)) / (at + 1)
            total += expansion(ranking, others, document[1]) * precision
    return total / divisor if divisor else 0.0


def infndcg(ranking: Ranking, others: list[Document], depth: int, *, counts: str = "rounded") -> float:
    shown = ranking[:depth]
    dcg = 0.0
    for at, document in enumerate(shown):
        if document is not None and document[0] > 0:
            n, j, _ = sizes(pooled(shown), document[1], 1)
            dcg += n / j * document[0] / math.log2(at + 2)
    ideal, rank = 0.0, 1.0
    everything = pooled(ranking) + others
    for grade in sorted({str(grade) for grade, _, _ in everything if grade > 0}, reverse=True):
        size = sum(expansion(ranking, others, of) for found, of, _ in everything if str(found) == grade)
        if counts == "rounded":
            size = math.floor(size + 0.5)
        for step in range(math.floor(size)):
            if step == 0 or rank + step <= depth:
                ideal += int(grade) / math.log2(rank + step + 1)
        rank += size
    return dcg / ideal if ideal else 0.0


def ip(ranking: Ranking, others: list[Document], depth: int, *, level: int = 1, cutoff: int) -> float:
    return smoothed(pooled(ranking[: min(cutoff, depth)]), level) / cutoff


def inum_rel_ret(ranking: Ranking, others: list[Document], depth: int, *, level: int = 1) -> float:
    return smoothed(pooled(ranking[:depth]), level)


def weights(documents: Ranking, level: int) -> list[float]:
    """Weights of the documents, 0 for those that are not relevant."""
    return [1 / document[2] if document is not None and document[0] >= max(level, 0) else 0.0 for document in documents]


def statap(ranking: Ranking, others: list[Document], depth: int, *, level: int = 1) -> float:
    w = weights(ranking[:depth], level)
    whole = sum(weights([*ranking, *others], level))
    total = sum(w[at] * (1 + sum(w[:at])) / (at + 1) for at in range(len(w)))
    return total / whole if whole else 0.0


def statrprec(ranking: Ranking, others: list[Document], depth: int, *, level: int = 1) -> float:
    w = weights(ranking[:depth], level)
    whole = sum(weights([*ranking, *others], level))
    rank = math.floor(whole + 0.5)
    if not whole:
        return 0.0
    return sum(w[:rank]) / rank if len(w) >= rank else sum(w) / whole


def statpc(
    ranking: Ranking, others: list[Document], depth: int, *, level: int = 1, cutoff: int, version: str = "v3"
) -> float:
    w = weights(ranking[:depth], level)
    return 0.0 if version == "v4" and len(w) < cutoff else sum(w[:cutoff]) / cutoff


def statndcg(ranking: Ranking, others: list[Document], depth: int, *, cutoff: int, version: str = "v3") -> float:
    grades = [grade for grade, _, _ in pooled(ranking) + others]
    relevant, very = [g for g in grades if g > 0], [g for g in grades if g > 1]
    best = [3] * len(very) + [1] * (len(relevant) - 2 * len(very))
    if version == "v4":
        best = [2**grade - 1 for grade in sorted(relevant, reverse=True)]
    ideal = sum(gain / math.log2(at + 2) for at, gain in enumerate(best[:cutoff]))
    dcg = 0.0
    for at, document in enumerate(ranking[: min(cutoff, depth)]):
        if document is not None:
            dcg += (2 ** document[0] - 1 if document[0] >= 0 else -1) / math.log2(at + 2)
    return dcg / ideal if ideal else 0.0


def varap(ranking: Ranking, others: list[Document], depth: int, *, level: int = 1, version: str = "v3") -> float:
    shown, everything = ranking[:depth], pooled(ranking) + others
    w, whole = weights(shown, level), sum(weights([*everything], level))
    if not whole:
        return 0.0
    value = statap(ranking, others, depth, level=level)
    y, p = [], []
    for at, document in enumerate(shown):
        if w[at] and document is not None:
            y.append(w[at] * ((1 + sum(w[:at])) / (at + 1) - value))
            p.append(document[2])
    for grade, _, probability in pooled(ranking[depth:]) + others:
        if grade >= max(level, 0):
            y.append(-value / probability)
            p.append(probability)
    total = sum((1 - p[i]) * y[i] ** 2 for i in range(len(y)))
    if len(everything) > 1:
        total -= (sum(y) ** 2 - sum(each**2 for each in y)) / (len(everything) - 1)
    uncertain = [w[at] ** 2 * (1 - document[2]) if w[at] and document else 0.0 for at, document in enumerate(shown)]
    if version == "v4":
        for at in range(len(w)):
            below = sum(w[lower] / (lower + 1) for lower in range(at + 1, len(w)))
            total += below**2 * uncertain[at]
        return min(1.0, total * len(everything) / (len(pooled(shown)) + 0.1) / whole**2)
    for at in range(len(w)):
        if w[at]:
            total += sum(uncertain[: at + 1]) / (at + 1) ** 2
    return total / whole**2


STRATA: dict[str, Callable[..., Any]] = {
    "xinfAP": xinfap,
    "infNDCG": infndcg,
    "iP": ip,
    "inum_rel_ret": inum_rel_ret,
    "inum_rel": inum_rel,
}
PROBABILITIES: dict[str, Callable[..., Any]] = {
    "statAP": statap,
    "varAP": varap,
    "statRprec": statrprec,
    "statPC": statpc,
    "statNDCG": statndcg,
}
"""The twins by the names of families: of samples with strata, and with probabilities."""
