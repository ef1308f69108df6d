"""Score many variants of one measure at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

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
from treceval_py.judging.located import Reduced, numbered, reduced
from treceval_py.judging.locating import assemble, judge_by, missing_queries
from treceval_py.judging.streaming import Retrieved
from treceval_py.measuring.probes import values as values_of
from treceval_py.scoring.evaluation import Evaluator
from treceval_py.scoring.filling import results_of
from treceval_py.scoring.opening import Opened
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
    parts : sequence of (Reduced, Reduced or None)
        What `reductions` returns of the parts of the run.
    """

    def __init__(self, qrels: Qrels, parts: Sequence[tuple[Reduced, Reduced | None]]) -> None:
        run = Reduced.concatenate([part for part, _ in parts])
        numbers = [part for _, part in parts if part is not None]
        numeric = len(numbers) == len(parts)
        self.qrels = qrels
        self.run = run.run
        self.documents = int(run.sizes.sum())
        self._fingerprint = Fingerprint(qrels)
        self._reduced = {AS_IS: run, LATE: run}
        if numeric:
            self._reduced[DOCIDS] = Reduced.concatenate(numbers)
        self._judged: dict[tuple[str, Ranking, bool, tuple[str, ...]], JudgedRun] = {}
        self._known: dict[tuple[str, Task], Outcome | TrecevalError] = {}
        grades = np.unique(qrels.rels[qrels.rels > 0])[:MOST_GRADES].tolist()
        qids = run.run.qids
        self._orders = {"run": qids, "judgments": qrels.qids}
        in_both = [[qid for qid in some if qid in other] for some, other in ((qids, qrels), (qrels.qids, self.run))]
        lists = {name: len(some) for name, some in self._orders.items() if name == "run" or in_both[0] != in_both[1]}
        longest = int(run.sizes.max(initial=0))
        self.situation = Situation(qrels.max_rel, tuple(grades), run.has_ranks, numeric, longest, run.ties, lists)

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
        judged = self._judge(variant.run, task.ranking, True, ())
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
        retrieved = Retrieved(self.run.qids, self.run.name, self.run.tag, bare=self.run.bare)

        def judge(_: Opened, *how: Any) -> tuple[JudgedRun, Retrieved]:
            return self._judge(kind, *how), retrieved

        opened = Opened(self.qrels, self.run, retrieved)
        results = results_of(opened, Plan(tuple(tasks), ""), self._fingerprint, judge)
        for number, task in enumerate(tasks):
            counted = results.counted[:, number]
            mean = float(results.averages[number])
            self._known[kind, task] = Outcome(mean, results.qids, results.matrix[:, number], counted)

    def _judge(self, kind: str, ranking: Ranking, complete: bool, extra: tuple[str, ...]) -> JudgedRun:
        """Judge the run under a ranking, after what happens to it first; with queries that count as judged, too."""
        for known in (ranking, ranking._replace(tied=True)):  # a ranking that also knows ties will do
            if (kind, known, complete, extra) in self._judged:
                return self._judged[kind, known, complete, extra]
        qrels = self.qrels.widened(missing_queries(extra, self.qrels.qids)) if extra else self.qrels
        run = self._reduced.get(kind) or self._reduced[AS_IS].negated(reverse=kind == REVERSED)
        if ranking.documents:
            judged = judge_by(qrels, run.run, ranking, complete=complete)
        else:
            located = run.located(qrels, ranking)
            judged = assemble(qrels, [located], complete=complete, tag=run.run.tag, known=ranking.known)
        if kind == LATE:  # ranks are counted from 2, those of the ideal ranking included
            tied = None if judged.tied is None else Tied(judged.tied.first + 1, judged.tied.last + 1)
            hits, ideal = (hits._replace(rank=hits.rank + 1) for hits in (judged.hits, judged.ideal))
            judged = JudgedRun(judged.qids, hits, ideal, judged.num_ret + 1, judged.tag, tied)
        self._judged[kind, ranking, complete, extra] = judged
        return judged


def reductions(qrels: Qrels, run: Run, *, whole: bool, numbers: bool = True) -> tuple[Reduced, Reduced | None]:
    """Reduce a run, and the same run with its document ids as scores, if these are `numbers`; all of it if `whole`."""
    by_number = numbered(run) if numbers else None
    return reduced(qrels, run, whole=whole), None if by_number is None else reduced(qrels, by_number, whole=whole)


def qrels_of(evaluator: Evaluator) -> Qrels:
    """Return the judgments of an evaluator whose measures all use relevance judgments."""
    if not isinstance(evaluator.judgments, Qrels):
        raise AssertionError("measures that need relevance judgments are computed from them")
    return evaluator.judgments
