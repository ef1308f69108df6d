"""From one way of making a number to another, a convention at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from treceval_py.explaining.scoring import Outcome, Scorer
from treceval_py.explaining.variants import Variant
from treceval_py.scoring.conventions import CONVENTIONS
from treceval_py.scoring.planning import Task

__all__ = ["Move", "Step", "walk"]

MOST_MOVES = 3


class Move(NamedTuple):
    """What a step does to a query; None where the query does not count."""

    qid: str
    before: float | None
    after: float | None


class Step(NamedTuple):
    """A convention that is changed on the way.

    Attributes
    ----------
    what : str
        What is changed, in words; empty for where the walk begins.
    mean : float
        The mean after it.
    delta : float
        By how much it moves the mean.
    queries : int
        How many queries are averaged after it.
    touched : int
        How many queries have another value, begin to count or no longer count.
    moves : tuple of Move
        The queries that move most.
    """

    what: str
    mean: float
    delta: float
    queries: int
    touched: int
    moves: tuple[Move, ...]


def walk(scorer: Scorer, start: Task, end: Task) -> list[Step]:
    """Change one convention after the other until ``start`` has become ``end``.

    The order is that of `CONVENTIONS`, the measure at last; in another order the steps would share the difference out
    otherwise, but it is the same in sum.

    Returns
    -------
    list of Step
        The first one is where the walk begins.
    """
    stations: list[tuple[str, Task]] = [("", start)]
    task = start
    for convention in start.conventions.differences(end.conventions):
        before, after = (getattr(each.conventions, convention.name) for each in (start, end))
        task = task._replace(conventions=task.conventions.changed({convention.name: after}))
        words = f"{convention.question}: {convention.show(before)} → {convention.show(after)}"
        stations.append((f"{words} ({CONVENTIONS[convention.name].says(after)})", task))
    if task.resolved != end.resolved:
        stations.append((f"measure: {start.resolved.notation} → {end.resolved.notation}", end))
    outcomes = scorer.scored([Variant(words, station) for words, station in stations])
    return _steps([words for words, _ in stations], outcomes)


def _steps(words: Sequence[str], outcomes: Sequence[Outcome | None]) -> list[Step]:
    steps: list[Step] = []
    before: Outcome | None = None
    for what, outcome in zip(words, outcomes, strict=True):
        if outcome is None:
            continue
        delta = 0.0 if before is None else outcome.mean - before.mean
        moves = [] if before is None else _moves(before, outcome)
        steps.append(Step(what, outcome.mean, delta, outcome.queries, len(moves), tuple(moves[:MOST_MOVES])))
        before = outcome
    return steps


def _moves(before: Outcome, after: Outcome) -> list[Move]:
    """Return the queries that move, most first."""
    earlier, later = (_values(outcome) for outcome in (before, after))
    moves = [
        Move(qid, earlier.get(qid), later.get(qid))
        for qid in dict.fromkeys([*earlier, *later])
        if earlier.get(qid) != later.get(qid)
    ]
    return sorted(moves, key=lambda move: -_size(move))


def _values(outcome: Outcome) -> dict[str, float]:
    return {outcome.qids[row]: float(outcome.values[row]) for row in np.flatnonzero(outcome.counted).tolist()}


def _size(move: Move) -> float:
    return abs((move.after or 0.0) - (move.before or 0.0))
