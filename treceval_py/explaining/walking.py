"""Walks from one way of scoring to another, one convention at a time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from treceval_py.explaining.scoring import Outcome, Scorer
from treceval_py.explaining.variants import Variant
from treceval_py.scoring.conventions import CONVENTIONS
from treceval_py.scoring.planning import Task

MOST_MOVES = 3


class Move(NamedTuple):
    """A query's value before and after a step.

    Attributes
    ----------
    qid : str
        The query.
    before, after : float or None
        Its values; None if the query does not count.
    """

    qid: str
    before: float | None
    after: float | None


class Step(NamedTuple):
    """The change of one convention.

    Attributes
    ----------
    what : str
        The change, in words; empty for the start of the walk.
    says : str
        What holds after it, in words.
    mean : float
        The mean after it.
    delta : float
        The difference from the mean before it.
    queries : int
        Number of queries averaged after it.
    touched : int
        Number of queries that change their value, begin to count or no longer count.
    moves : tuple of Move
        The queries with the largest changes.
    """

    what: str
    says: str
    mean: float
    delta: float
    queries: int
    touched: int
    moves: tuple[Move, ...]


def walk(scorer: Scorer, start: Task, end: Task) -> list[Step]:
    """Change one convention after the other until ``start`` has become ``end``.

    The order is that of `CONVENTIONS`, with the measure last. In another order, the steps would divide the same
    difference differently.

    Returns
    -------
    list of Step
        The first one is the start of the walk.
    """
    stations: list[tuple[str, str, Task]] = [("", "", start)]
    task = start
    for convention in start.conventions.differences(end.conventions):
        before, after = (getattr(each.conventions, convention.name) for each in (start, end))
        task = task._replace(conventions=task.conventions.changed({convention.name: after}))
        words = f"{convention.question}: {convention.show(before)} → {convention.show(after)}"
        says = CONVENTIONS[convention.name].says(after)
        stations.append((f"{words} ({says})", f"{convention.question} {says}", task))
    if task.resolved != end.resolved:
        says = f"the measure is {end.resolved.notation}, not {start.resolved.notation}"
        stations.append((f"measure: {start.resolved.notation} → {end.resolved.notation}", says, end))
    outcomes = scorer.scored([Variant("", station) for _, _, station in stations])
    return _steps([words for *words, _ in stations], outcomes)


def walk_of(scorer: Scorer, way: Variant) -> list[Step]:
    """Apply one change of a way after the other."""
    stations: list[Variant] = []
    while way is not None:
        stations.insert(0, way)
        way = way.before
    words = [each.name.removeprefix(before.name).removeprefix("; ") for before, each in pairwise(stations)]
    return _steps([("", ""), *((each, each) for each in words)], scorer.scored(stations))


def _steps(words: Sequence[Sequence[str]], outcomes: Sequence[Outcome | None]) -> list[Step]:
    steps: list[Step] = []
    before: Outcome | None = None
    for (change, says), outcome in zip(words, outcomes, strict=True):
        if outcome is None:
            continue
        delta = 0.0 if before is None else outcome.mean - before.mean
        moves = [] if before is None else _moves(before, outcome)
        steps.append(Step(change, says, outcome.mean, delta, outcome.queries, len(moves), tuple(moves[:MOST_MOVES])))
        before = outcome
    return steps


def _moves(before: Outcome, after: Outcome) -> list[Move]:
    """Return the queries that change, the largest change first."""
    earlier, later = (_values(outcome) for outcome in (before, after))
    moves = [
        Move(qid, earlier.get(qid), later.get(qid))
        for qid in dict.fromkeys([*earlier, *later])
        if earlier.get(qid) != later.get(qid)
    ]
    return sorted(moves, key=lambda move: -abs((move.after or 0.0) - (move.before or 0.0)))


def _values(outcome: Outcome) -> dict[str, float]:
    return {outcome.qids[row]: float(outcome.values[row]) for row in np.flatnonzero(outcome.counted).tolist()}
