"""Queries in the open: rankings with ties and unjudged documents, and all that their order or labels could be."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from treceval_py.judging import JudgedRun
from treceval_py.judging.judged import Hits, Tied
from treceval_py.measuring import Family, Measure
from treceval_py.measuring.parameters import Gains

CHOICES: dict[str, list[Any]] = {
    "level": [0, 1, 1, 1, 2, 5],
    "cutoff": [1, 2, 3, 5, 100],
    "recall": [0.0, 0.05, 0.3, 0.5, 0.75, 1.0],
    "recalls": [(0.0, 0.5, 1.0), (0.75, 0.25), (1.0, 1.0), (0.5, 0.0, 0.3)],
    "multiple": [0.0, 0.2, 0.5, 1.0, 1.4, 2.0],
    "rounding": ["nearest", "up"],
    "gains": [None, None, *map(Gains, [{1: 3.0, 2: 9.0}, {0: 1.0}, {1: 0.5, 2: 0.2, 3: 0.2}, {3: 0.0}])],
    "gain": ["linear", "exp", "binary"],
    "discount": ["log2", "jk", "position"],
    "base": [2.0, 3.0, 2.5, 10.0],
    "ideal": ["judged", "judged", "retrieved"],
    "steps": ["ordered", "together"],
    "ties": ["ordered", "ordered", "average"],
    "norm": ["relevant", "capped", "retrieved"],
    "p": [0.5, 0.9, 0.95],
    "coefficients": [(1.0, -1.0, 0.0, 0.0), (-1.0, 1.0, 0.25, 0.125)],
    "collection_size": [0, 100],
    "beta_squared": [0.0, 0.5, 1.0, 4.0],
    "length": [0, 3, 10, 100],
    "weights": [None, (1.0, 1.0, 1.0, 1.0), (0.5, 0.0, 0.25, 0.25), (1.0, 2.0, 4.0, 8.0, 16.0)],
    "beta": [0.0, 0.5, 1.0, 3.0],
    "max_rel": [4, 5, 10],
    "min_rel": [0, 1, 2],
    "target": [0.5, 1.0, 1.5, 3.0],
    "deepest": [1, 2, 7, 100],
    "until": ["depth", "longer"],
    "normalised": ["yes", "no"],
    "divisor": ["cutoff", "retrieved"],
    "credit": ["half", "wrong"],
    "max_fpr": [1.0, 0.3],
    "negative": ["unjudged", "nonrelevant"],
    "stop": ["grade", "label"],
    "scale": ["max_rel", "none"],
    "decay": [0.85, 0.5, 0.0],
    "alpha": [0.0, 0.25, 0.5, 0.3, 0.9, 1.0],
    "patience": [0.0, 0.5, 0.8, 1.0],
    "divide_by": ["relevant", "capped"],
    "counts": ["rounded", "exact"],
    "version": ["v3", "v4"],
}
"""Values to try for each parameter."""

OPEN = CHOICES | {
    "steps": ["ordered"],
    "base": [2.0],
    "max_rel": [4],
    "min_rel": [0],
    "deepest": [4, 30],
    "multiple": [0.5, 1.0, 2.0],
    "weights": [None, (0.5, 0.0, 0.25, 0.25)],
    "stop": ["grade"],  # with labels of 2 and 3 the others are no probabilities, and ranges are refused
}
"""Values of parameters with which facts are declared to hold, or are cheap to try."""


def random_parameters(
    family: Family, rng: random.Random, choices: dict[str, list[Any]] = CHOICES, share: float = 1.0
) -> dict[str, Any]:
    """Draw parameters that go together, each with the probability ``share``; a cutoff always."""
    given = {
        parameter.name: rng.choice(choices[parameter.name])
        for parameter in family.parameters
        if rng.random() < share or parameter is family.at
    }
    if given.get("gains") and "gain" in given:
        given["gain"] = "linear"  # exponential gains are gains of their own
    if given.get("discount") != "jk":
        given.pop("base", None)  # it is the base of the other discount
    return given


def random_measure(family: Family, rng: random.Random) -> Measure:
    return Measure(family, tuple(random_parameters(family, rng, OPEN).items()))


Labels = tuple[int | None, ...]
"""Labels in rank order; None is a document without a judgment, a negative one a document not judged."""


class Ranking:
    """A query: labels in rank order, the sizes of ties, and the judgments of documents that were not retrieved."""

    def __init__(self, labels: Sequence[int | None], sizes: Sequence[int], missed: Sequence[int] = ()) -> None:
        self.labels, self.sizes, self.missed = tuple(labels), tuple(sizes), tuple(missed)

    def orders(self) -> list[Labels]:
        starts = itertools.accumulate(self.sizes, initial=0)
        ties = [self.labels[start : start + size] for start, size in zip(starts, self.sizes, strict=False)]
        return [sum(order, ()) for order in itertools.product(*map(itertools.permutations, ties))]

    def fillings(self, top: int) -> list[Labels]:
        free = [at for at, label in enumerate(self.labels) if label is None or label < 0]
        found = []
        for choice in itertools.product(range(top + 1), repeat=len(free)):
            labels = list(self.labels)
            for at, label in zip(free, choice, strict=True):
                labels[at] = label
            found.append(tuple(labels))
        return found


def table(rankings: Sequence[Ranking], labels: Sequence[Labels] | None = None, depth: int | None = None) -> JudgedRun:
    """Make rankings the queries of a judged run; ``labels`` in place of their own, cut at a depth."""
    hits: list[tuple[int, int, int, int, int]] = []
    ideal: list[tuple[int, int, int]] = []
    lengths = []
    for query, ranking in enumerate(rankings):
        here = ranking.labels if labels is None else labels[query]
        end = len(here) if depth is None else min(depth, len(here))
        spans: list[tuple[int, int]] = []
        for size in ranking.sizes:
            spans += [(len(spans) + 1, len(spans) + size)] * size
        for rank, label in enumerate(here[:end], 1):
            if label is not None:
                hits.append((query, rank, label, *spans[rank - 1]))
        best = sorted([*(label for label in here if label is not None), *ranking.missed], reverse=True)
        ideal += [(query, rank, label) for rank, label in enumerate(best, 1)]
        lengths.append(end)
    of_hits = np.array(hits, dtype=np.int64).reshape(-1, 5).T
    of_ideal = np.array(ideal, dtype=np.int64).reshape(-1, 3).T
    return JudgedRun(
        tuple(map(str, range(len(lengths)))),
        Hits(*of_hits[:3]),
        Hits(*of_ideal),
        np.array(lengths, dtype=np.int64),
        "",
        Tied(*of_hits[3:]),
    )


def random_ranking(rng: random.Random, longest: int, most_unjudged: int = 99) -> Ranking:
    while True:
        labels = [rng.choice([None, None, -1, 0, 0, 1, 1, 2, 3]) for _ in range(rng.randint(0, longest))]
        if sum(label is None or label < 0 for label in labels) <= most_unjudged:
            break
    sizes: list[int] = []
    while sum(sizes) < len(labels):
        sizes.append(rng.randint(1, min(len(labels) - sum(sizes), 4)))
    return Ranking(labels, sizes, [rng.choice([-1, 0, 0, 1, 2, 4]) for _ in range(rng.randint(0, 3))])


Batch = tuple[JudgedRun, JudgedRun, "np.ndarray[Any, Any]"]
"""A run, all that its queries could be as a run of many queries, and where each query begins there."""


def batch(rankings: Sequence[Ranking], every: Sequence[Sequence[Labels]], depth: int | None = None) -> Batch:
    repeated = [ranking for ranking, choices in zip(rankings, every, strict=True) for _ in choices]
    starts = np.cumsum([0, *map(len, every)])
    return table(rankings), table(repeated, [labels for choices in every for labels in choices], depth), starts


def computed(measure: Measure, judged: JudgedRun) -> Any:
    return np.asarray(measure(judged), dtype=np.float64)


def near(found: Any, wanted: Any) -> bool:
    return bool(np.allclose(found, wanted, rtol=1e-11, atol=1e-12))


def closed(closing: str, total: float) -> float:
    """Do with a sum what the closing says."""
    if closing.startswith("1, without "):
        return 1.0
    divided = re.fullmatch(r"(\S+) / (\S+) .*", closing)
    if divided is None:
        return total
    assert float(divided[1]) == pytest.approx(total, rel=1e-5, abs=1e-12)
    by = float(divided[2])
    return total / by if by else 0.0
