"""Score many variants of one measure at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from treceval_py._types import BoolArray, FloatArray
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import Ranking
from treceval_py.data.run import Run
from treceval_py.errors import TrecevalError
from treceval_py.explaining.variants import (
    AS_IS,
    DOCIDS,
    LATE,
    MEDIAN,
    MOST_GRADES,
    OF_RUN,
    REVERSED,
    USUAL,
    Situation,
    Variant,
)
from treceval_py.judging.judged import Hits, JudgedRun, Tied, ratio
from treceval_py.judging.streaming import Retrieved
from treceval_py.measuring.probes import values as values_of
from treceval_py.scoring.evaluation import Evaluator
from treceval_py.scoring.filling import judge_opened, results_of
from treceval_py.scoring.opening import Judged, Opened, open_run
from treceval_py.scoring.planning import Plan, Task
from treceval_py.scoring.signatures import Fingerprint


class Outcome(NamedTuple):
    """Result of a variant.

    Attributes
    ----------
    mean : float
        The average.
    qids : tuple of str, length Q
        All queries.
    values : (Q,) float array
        Their values; NaN for queries that do not count.
    counted : (Q,) bool array
        Which queries count.
    """

    mean: float
    qids: tuple[str, ...]
    values: FloatArray
    counted: BoolArray

    @property
    def queries(self) -> int:
        """Number of queries averaged."""
        return int(self.counted.sum())


class Scorer:
    """Scores one run against one set of judgments in many ways.

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
        self._opened: dict[str, Opened] = {}
        self._known: dict[tuple[str, Task], Outcome | TrecevalError] = {}
        lengths = np.diff(run.offsets)
        has_ranks = run.ranks is not None and len(run.ranks) > 0 and int(run.ranks.min()) >= 1
        has_numbers = all(docid.isascii() and docid.isdigit() and len(docid) < 16 for docid in run.docids.raw())
        grades = np.unique(qrels.rels[qrels.rels > 0])[:MOST_GRADES].tolist()
        self._orders = {"run": run.qids, "judgments": qrels.qids}
        in_both = [[qid for qid in qids if qid in other] for qids, other in ((run.qids, qrels), (qrels.qids, run))]
        lists = {name: len(qids) for name, qids in self._orders.items() if name == "run" or in_both[0] != in_both[1]}
        self.situation = Situation(
            qrels.max_rel, tuple(grades), has_ranks, has_numbers, int(lengths.max(initial=0)), _ties(run), lists
        )

    def scored(self, variants: Sequence[Variant]) -> list[Outcome | None]:
        """Return the results of variants; None for one that cannot be computed, such as a grade beyond the scale."""
        wanted: dict[str, list[Task]] = {}
        for variant in variants:
            if (variant.run, variant.task) not in self._known:
                wanted.setdefault(variant.run, []).append(variant.task)
        for kind, tasks in wanted.items():
            self._score(kind, list(dict.fromkeys(tasks)))
        return [self._outcome(variant) for variant in variants]

    def forget(self, most: int) -> None:
        """Free the results so far if they have more values of queries than that."""
        if len(self._known) * len(self.qrels) > most:
            self._known.clear()

    def raise_for(self, task: Task) -> None:
        """Raise the error that keeps a task from being computed, if there is one."""
        self.scored([Variant("", task)])
        outcome = self._known[AS_IS, task]
        if isinstance(outcome, TrecevalError):
            raise outcome

    def _outcome(self, variant: Variant) -> Outcome | None:
        outcome = self._known[variant.run, variant.task]
        if isinstance(outcome, TrecevalError):
            return None
        if variant.first is not None:
            return self._only(outcome, *variant.first, variant.task)
        if variant.average == USUAL:
            return outcome
        values, count = outcome.values[outcome.counted], outcome.queries
        if variant.average == MEDIAN:
            return outcome._replace(mean=float(np.median(values))) if count else None
        if variant.average == OF_RUN:
            total = float(np.nansum(np.where(outcome.counted, outcome.values, 0.0)))
            return outcome._replace(mean=total / len(self.run) if len(self.run) else 0.0)
        weights = self._weights(variant, outcome.qids)[outcome.counted]
        # Where all divide by the same, the mean of the queries is that of all, to its last bit.
        if not weights.any() or (weights == weights[0]).all():
            return outcome
        return outcome._replace(mean=float(values @ weights / weights.sum()))

    def _only(self, outcome: Outcome, source: str, count: int, task: Task) -> Outcome | None:
        """Return the result of only the first queries of the run or the judgments; None if none of them counts."""
        first = set(self._orders[source][:count])
        counted = outcome.counted & np.array([qid in first for qid in outcome.qids], dtype=bool)
        if not counted.any():
            return None
        mean = task.resolved.family.average(outcome.values[counted], int(counted.sum()))
        return Outcome(mean, outcome.qids, np.where(counted, outcome.values, np.nan), counted)

    def _weights(self, variant: Variant, qids: Sequence[str]) -> FloatArray:
        """Return each query's divisor, up to a factor: the inverse of what a single document at rank 1 adds."""
        task = variant.task
        judged, _ = (_judge_late if variant.run == LATE else judge_opened)(
            self._opened[variant.run], task.ranking, complete=True
        )
        if not isinstance(judged, JudgedRun):
            raise AssertionError("measures that need relevance judgments are computed from them")
        query = np.arange(judged.num_queries)
        ones = np.ones_like(query)
        hits = Hits(query, ones, np.full_like(query, self.situation.max_rel))
        alone = JudgedRun(judged.qids, hits, judged.ideal, judged.num_ret, judged.tag, Tied(ones, ones))
        weights = ratio(np.ones(len(query)), values_of(task.resolved, alone))
        known = dict(zip(judged.qids, weights.tolist(), strict=True))
        return np.array([known.get(qid, 0.0) for qid in qids])

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
        if kind not in self._opened:
            self._opened[kind] = open_run(self.qrels, self._made(kind), keep=True)
        how = _judge_late if kind == LATE else judge_opened
        results = results_of(self._opened[kind], Plan(tuple(tasks), ""), self._fingerprint, how)
        for number, task in enumerate(tasks):
            counted = results.counted[:, number]
            mean = float(results.averages[number])
            self._known[kind, task] = Outcome(mean, results.qids, results.matrix[:, number], counted)

    def _made(self, kind: str) -> Run:
        run = self.run
        if kind in (AS_IS, LATE):
            return run
        rows = np.arange(len(run.docids))
        if kind == REVERSED:
            rows = np.repeat(run.offsets[:-1] + run.offsets[1:] - 1, np.diff(run.offsets)) - rows
        docids = run.docids.take(rows) if kind == REVERSED else run.docids
        scores = np.array([float(docid) for docid in run.docids.raw()]) if kind == DOCIDS else -run.scores[rows]
        return run.having(docids, scores)


def _judge_late(
    opened: Opened, ranking: Ranking, complete: bool, extra: tuple[str, ...] = ()
) -> tuple[Judged, Retrieved]:
    """Judge a run as `judge_opened` does, but count ranks from 2, those of the ideal ranking included."""
    judged, retrieved = judge_opened(opened, ranking, complete, extra)
    if not isinstance(judged, JudgedRun):
        return judged, retrieved
    tied = None if judged.tied is None else Tied(judged.tied.first + 1, judged.tied.last + 1)
    hits, ideal = (each._replace(rank=each.rank + 1) for each in (judged.hits, judged.ideal))
    return JudgedRun(judged.qids, hits, ideal, judged.num_ret + 1, judged.tag, tied), retrieved


def _ties(run: Run) -> bool:
    """Return whether any documents of a query have equal scores."""
    query = np.repeat(np.arange(len(run.qids)), np.diff(run.offsets))
    order = np.lexsort((run.scores, query))
    scores, query = run.scores[order], query[order]
    return bool(((scores[1:] == scores[:-1]) & (query[1:] == query[:-1])).any())


def qrels_of(evaluator: Evaluator) -> Qrels:
    """Return the judgments of an evaluator whose measures all use relevance judgments."""
    if not isinstance(evaluator.judgments, Qrels):
        raise AssertionError("measures that need relevance judgments are computed from them")
    return evaluator.judgments
