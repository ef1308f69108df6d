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
from treceval_py.scoring.evaluation import Evaluator, JudgedOnce
from treceval_py.scoring.planning import Plan, Task
from treceval_py.scoring.signatures import Fingerprint

__all__ = ["Outcome", "Scorer", "qrels_of"]


class Outcome(NamedTuple):
    """Result of a variant.

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
        self._fingerprint = Fingerprint(qrels)
        self._judging: dict[str, JudgedOnce] = {}
        self._known: dict[tuple[str, Task], Outcome | TrecevalError] = {}
        lengths = np.diff(run.offsets)
        has_ranks = run.ranks is not None and len(run.ranks) > 0 and int(run.ranks.min()) >= 1
        numbers = [docid.isascii() and docid.isdigit() and len(docid) < 16 for docid in run.docids.raw()]
        grades = np.unique(qrels.rels[qrels.rels > 0])[:MOST_GRADES].tolist()
        self.situation = Situation(qrels.max_rel, tuple(grades), has_ranks, all(numbers), int(lengths.max(initial=0)))

    def scored(self, variants: Sequence[Variant]) -> list[Outcome | None]:
        """Return the results of variants; None for one that cannot be computed, as on too short a scale."""
        wanted: dict[str, list[Task]] = {}
        for variant in variants:
            if (variant.run, variant.task) not in self._known:
                wanted.setdefault(variant.run, []).append(variant.task)
        for kind, tasks in wanted.items():
            self._score(kind, list(dict.fromkeys(tasks)))
        return [self._outcome(variant) for variant in variants]

    def raise_for(self, task: Task) -> None:
        """Raise the error with which a task cannot be carried out, if there is one."""
        self.scored([Variant("", task)])
        found = self._known[AS_IS, task]
        if isinstance(found, TrecevalError):
            raise found

    def _outcome(self, variant: Variant) -> Outcome | None:
        found = self._known[variant.run, variant.task]
        if isinstance(found, TrecevalError):
            return None
        if not variant.all_of_run:
            return found
        total = float(np.nansum(np.where(found.counted, found.values, 0.0)))
        return found._replace(mean=total / len(self.run) if len(self.run) else 0.0)

    def _score(self, kind: str, tasks: list[Task]) -> None:
        try:
            self._take(kind, tasks)
        except TrecevalError as error:
            if len(tasks) == 1:
                self._known[kind, tasks[0]] = error
                return
            for task in tasks:  # one that cannot be computed must not hide the others
                self._score(kind, [task])

    def _take(self, kind: str, tasks: list[Task]) -> None:
        if kind not in self._judging:
            self._judging[kind] = JudgedOnce(self.qrels, self._made(kind))
        results = self._judging[kind].results(Plan(tuple(tasks), ""), self._fingerprint)
        for number, task in enumerate(tasks):
            counted = results.counted[:, number]
            mean = float(results.averages[number])
            self._known[kind, task] = Outcome(mean, results.qids, results.matrix[:, number], counted)

    def _made(self, kind: str) -> Run:
        run = self.run
        if kind == AS_IS:
            return run
        scores = -run.scores if kind == ASCENDING else np.array([float(docid) for docid in run.docids.raw()])
        return Run.from_columns(run.qids, run.offsets, run.docids, scores, tag=run.tag, name=run.name)


def qrels_of(evaluator: Evaluator) -> Qrels:
    """Return the judgments of an evaluator, all measures of which are computed from relevance judgments."""
    if not isinstance(evaluator.judgments, Qrels):
        raise AssertionError("measures that need relevance judgments are computed from them")
    return evaluator.judgments
