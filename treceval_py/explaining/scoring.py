"""Score many variants of one measure at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from treceval_py._types import BoolArray, FloatArray
from treceval_py.data.qrels import Qrels
from treceval_py.data.run import Run
from treceval_py.errors import TrecevalError
from treceval_py.explaining.variants import AS_IS, ASCENDING, MOST_GRADES, Situation, Variant
from treceval_py.scoring.evaluation import evaluate_plan
from treceval_py.scoring.planning import Plan, Task

__all__ = ["Outcome", "Scorer"]


class Outcome(NamedTuple):
    """What a variant comes to.

    Attributes
    ----------
    mean : float
        The average.
    qids : tuple of str, length Q
        All queries.
    values : (Q,) float array
        Their values; NaN where a query does not count.
    counted : (Q,) bool array
        Which queries count.
    """

    mean: float
    qids: tuple[str, ...]
    values: FloatArray
    counted: BoolArray

    @property
    def queries(self) -> int:
        """How many queries are averaged."""
        return int(self.counted.sum())


class Scorer:
    """Judgments and a run, to be scored in many ways.

    Parameters
    ----------
    qrels : Qrels
        The judgments.
    run : Run
        The run.
    """

    def __init__(self, qrels: Qrels, run: Run) -> None:
        self.qrels = qrels
        self.run = run
        self._runs: dict[str, Run] = {AS_IS: run}
        self._known: dict[tuple[str, Task], Outcome | None] = {}
        lengths = np.diff(run.offsets)
        has_ranks = run.ranks is not None and len(run.ranks) > 0 and int(run.ranks.min()) >= 1
        numbers = [docid.isascii() and docid.isdigit() and len(docid) < 16 for docid in run.docids.raw()]
        grades = np.unique(qrels.rels[qrels.rels > 0])[:MOST_GRADES].tolist()
        self.situation = Situation(qrels.max_rel, tuple(grades), has_ranks, all(numbers), int(lengths.max(initial=0)))

    def scored(self, variants: Sequence[Variant]) -> list[Outcome | None]:
        """Return what variants come to; None where one cannot be computed, as on a scale that is too short."""
        wanted: dict[str, list[Task]] = {}
        for variant in variants:
            if (variant.run, variant.task) not in self._known:
                wanted.setdefault(variant.run, []).append(variant.task)
        for kind, tasks in wanted.items():
            self._score(kind, list(dict.fromkeys(tasks)))
        return [self._outcome(variant) for variant in variants]

    def raise_for(self, task: Task) -> None:
        """Raise the error with which a task cannot be carried out, if there is one."""
        if self.scored([Variant("", task)])[0] is None:
            evaluate_plan(Plan((task,), ""), self.qrels, self.run)

    def _outcome(self, variant: Variant) -> Outcome | None:
        found = self._known[variant.run, variant.task]
        if found is None or not variant.all_of_run:
            return found
        total = float(np.nansum(np.where(found.counted, found.values, 0.0)))
        return found._replace(mean=total / len(self.run) if len(self.run) else 0.0)

    def _score(self, kind: str, tasks: list[Task]) -> None:
        try:
            self._take(kind, tasks)
        except TrecevalError:
            if len(tasks) == 1:
                self._known[kind, tasks[0]] = None
                return
            for task in tasks:  # one that cannot be computed must not hide the others
                self._score(kind, [task])

    def _take(self, kind: str, tasks: list[Task]) -> None:
        results = evaluate_plan(Plan(tuple(tasks), ""), self.qrels, self._made(kind))
        for number, task in enumerate(tasks):
            counted = results.counted[:, number]
            mean = float(results.averages[number])
            self._known[kind, task] = Outcome(mean, results.qids, results.matrix[:, number], counted)

    def _made(self, kind: str) -> Run:
        if kind not in self._runs:
            run = self.run
            ascending = kind == ASCENDING
            scores = -run.scores if ascending else np.array([float(docid) for docid in run.docids.raw()])
            made = Run.from_columns(run.qids, run.offsets, run.docids, scores, tag=run.tag, name=run.name)
            self._runs[kind] = made
        return self._runs[kind]
