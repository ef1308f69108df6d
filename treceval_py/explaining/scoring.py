"""Score many variants of one measure at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from treceval_py._types import BoolArray, FloatArray
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import Ranking
from treceval_py.data.run import Run
from treceval_py.errors import TrecevalError
from treceval_py.explaining.variants import MOST_GRADES, Situation, Variant
from treceval_py.judging.judged import JudgedRun, ratio
from treceval_py.judging.located import UNJUDGED, Reduced, numbered, reduced
from treceval_py.judging.locating import assemble, judge_by, missing_queries
from treceval_py.judging.streaming import Retrieved
from treceval_py.measuring.formulas import Ratio, ratio_of, relevant_within, settled, values_of
from treceval_py.scoring.conventions import Conventions
from treceval_py.scoring.evaluation import Evaluator
from treceval_py.scoring.filling import results_of
from treceval_py.scoring.opening import Opened
from treceval_py.scoring.planning import Plan, Task
from treceval_py.scoring.signatures import Fingerprint

AS_IS, ASCENDING, REVERSED, BY_LABEL = "as it is", "ascending", "reversed", "label"
"""What happens to the run first: nothing; the lowest score comes first; the same, with equal scores reversed; of equal
scores the highest label comes first."""

_OPPOSITE = {"docid-desc": "docid-asc", "docid-asc": "docid-desc"}
"""The order of ties in a list that is read from its end; the order of its lines is reversed, too."""

_AVERAGING = frozenset({"run", "average", "subset", "missing", "unrelevant", "extra", "duplicates", "bare", "empty"})
"""Settings that do not change the formula."""


MOST_VALUES = 5_000_000
"""Most values of queries that are kept: of the ways tried, and of what these have in common."""


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
    parts : sequence of mapping of str to Reduced
        What `reductions` returns of the parts of the run.

    Attributes
    ----------
    searched : dict of (Task, int) to list of Row
        The ways with so many changes of a task at most, for further claims of its measure.
    """

    def __init__(self, qrels: Qrels, parts: Sequence[Mapping[str, Reduced]]) -> None:
        kinds = set.intersection(*(set(part) for part in parts)) if parts else {AS_IS}
        self._reduced = {kind: Reduced.concatenate([part[kind] for part in parts]) for kind in kinds}
        run = self._reduced[AS_IS]
        self.qrels = qrels
        self.run = run.run
        self.documents = int(run.sizes.sum())
        self._fingerprint = Fingerprint(qrels)
        self._judged: dict[tuple[str, Ranking, bool, tuple[str, ...]], JudgedRun] = {}
        self._known: dict[Task, Outcome | TrecevalError] = {}
        self._ratios: dict[object, Ratio] = {}
        self.searched: dict[tuple[Task, int], list[Any]] = {}
        grades = np.unique(qrels.rels[qrels.rels > 0])[:MOST_GRADES].tolist()
        qids = run.run.qids
        self._orders = {"run": qids, "judgments": qrels.qids}
        in_both = [[qid for qid in some if qid in other] for some, other in ((qids, qrels), (qrels.qids, self.run))]
        lists = {name: len(some) for name, some in self._orders.items() if name == "run" or in_both[0] != in_both[1]}
        facts = run.has_ranks, "docids" in kinds, int(run.sizes.max(initial=0)), run.ties, lists, "text" in kinds
        self.situation = Situation(qrels.max_rel, tuple(grades), *facts)

    def scored(self, variants: Sequence[Variant]) -> list[Outcome | None]:
        """Return the results of variants; None for one that cannot be computed, such as a grade beyond the scale."""
        tasks = [variant.task for variant in variants if variant.settings is None and variant.task not in self._known]
        if tasks:
            self._score(list(dict.fromkeys(tasks)))
        return [self._outcome(variant) for variant in variants]

    def forget(self, most: int) -> None:
        """Free the results so far if they have more values of queries than that."""
        if (len(self._known) + len(self._ratios) + sum(map(len, self.searched.values()))) * len(self.qrels) > most:
            for kept in (self._known, self._ratios, self.searched):
                kept.clear()

    def raise_for(self, task: Task) -> None:
        """Raise the error that keeps a task from being computed, if there is one."""
        self.scored([Variant("", task)])
        outcome = self._known[task]
        if isinstance(outcome, TrecevalError):
            raise outcome

    def _outcome(self, variant: Variant) -> Outcome | None:
        if variant.settings is None:
            known = self._known[variant.task]
            return None if isinstance(known, TrecevalError) else known
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is no result
                outcome = self._averaged(variant.settings, variant.task)
        except TrecevalError:
            return None
        return outcome if math.isfinite(outcome.mean) else None

    def _averaged(self, settings: Mapping[str, Any], task: Task) -> Outcome:
        """Compute and average a way of scoring."""
        conventions = Conventions(*(settings[name] for name in Conventions._fields))
        ranking = task._replace(conventions=conventions, resolved=settings["measure"]).ranking
        if settings.get("tied"):
            ranking = ranking._replace(tied=True)
        extra = self.run.qids if conventions.extra == "in" else ()
        judged = self._judge(settings["run"], ranking, True, extra)
        parts = frozenset((key, value) for key, value in settings.items() if key not in _AVERAGING)
        key = settings["run"], ranking, bool(extra), parts
        if key not in self._ratios:
            if len(self._ratios) * len(judged.qids) > MOST_VALUES:
                self._ratios.clear()
            self._ratios[key] = ratio_of(settings, judged)
        values, above, below = self._ratios[key]
        values = settled(settings, judged, values)
        counted, kind = self._counted(settings, judged, values), settings["average"]
        some = values[counted]
        averages: dict[str, Callable[[], Any]] = {
            "usual": lambda: settings["measure"].family.average(some, len(some)),
            "mean": some.mean,
            "median": lambda: np.median(some),
            "geometric": lambda: np.exp(np.log(np.maximum(some, 1e-5)).mean()),
            "harmonic": lambda: (some > 0).sum() / max((1 / some[some > 0]).sum(), 1e-300),
            "over run": lambda: some.sum() / max(len(self.run), 1),
            "micro": lambda: ratio(above[counted].sum(), below[counted].sum()),
            "one list": lambda: self._of_one_list(settings, judged, counted),
            "means": lambda: _harmonic(*(_share(settings, by, judged)[counted].mean() for by in ("by", "rby"))),
        }
        mean = float(averages[kind]()) if counted.any() else math.nan
        return Outcome(mean, judged.qids, np.where(counted, values, np.nan), counted)

    def _of_one_list(self, settings: Mapping[str, Any], judged: JudgedRun, counted: BoolArray) -> float:
        """Return the AP of the rankings of all queries, put into one list in the order of the run."""
        place = {qid: number for number, qid in enumerate(self.run.qids)}
        order = np.argsort([place.get(qid, len(place)) for qid in judged.qids], kind="stable")
        sizes = np.where(counted, np.minimum(judged.num_ret, settings["cutoff"] or judged.num_ret), 0)
        begins = np.zeros_like(sizes)
        begins[order] = np.cumsum(sizes[order]) - sizes[order]
        hits = relevant_within(settings, judged)
        ranks = np.sort((begins[hits.query] + hits.rank)[counted[hits.query]])
        relevant = judged.num_rel(settings["level"])[counted].sum()
        return float(ratio((np.arange(1, len(ranks) + 1) / ranks).sum(), relevant))

    def _counted(self, settings: Mapping[str, Any], judged: JudgedRun, values: FloatArray) -> BoolArray:
        """Return which queries are averaged. (Q,)."""

        def within(qids: Sequence[str]) -> BoolArray:
            some = set(qids)
            return np.array([qid in some for qid in judged.qids], dtype=bool)

        counted: BoolArray = judged.once("judged", lambda: within(self.qrels.qids)) | (settings["extra"] == "in")
        if settings["missing"] == "out":
            counted = counted & judged.once("answered", lambda: within(self.run.qids))
        if settings["unrelevant"] == "out":
            counted = counted & (judged.num_rel(settings["level"]) > 0)
        subset = settings.get("subset", "")
        if subset == "hits":
            counted = counted & (values > 0)
        elif subset == "full":
            counted = counted & (judged.num_ret >= (settings["k"] or 0))
        elif subset:  # the first n queries of the run or the judgments
            _, number, *_, source = subset.split()
            counted = counted & judged.once(subset, lambda: within(self._orders[source][: int(number)]))
        return counted

    def _score(self, tasks: list[Task]) -> None:
        retrieved = Retrieved(self.run.qids, self.run.name, self.run.tag, bare=self.run.bare)

        def judge(_: Opened, *how: Any) -> tuple[JudgedRun, Retrieved]:
            return self._judge(AS_IS, *how), retrieved

        opened = Opened(self.qrels, self.run, retrieved)
        try:
            results = results_of(opened, Plan(tuple(tasks), ""), self._fingerprint, judge)
        except TrecevalError as error:
            if len(tasks) == 1:
                self._known[tasks[0]] = error
                return
            for task in tasks:  # one that cannot be computed must not hide the others
                self._score([task])
            return
        for number, task in enumerate(tasks):
            counted = results.counted[:, number]
            mean = float(results.averages[number])
            self._known[task] = Outcome(mean, results.qids, results.matrix[:, number], counted)

    def _judge(self, kind: str, ranking: Ranking, complete: bool, extra: tuple[str, ...]) -> JudgedRun:
        """Judge the run under a ranking, after what happens to it first; with queries that count as judged, too."""
        for known in (ranking, ranking._replace(tied=True)):  # a ranking that also knows ties will do
            if (kind, known, complete, extra) in self._judged:
                return self._judged[kind, known, complete, extra]
        qrels = self.qrels.widened(missing_queries(extra, self.qrels.qids)) if extra else self.qrels
        run, how = self._reduced.get(kind) or self._reduced[AS_IS], ranking
        if kind in (ASCENDING, REVERSED):
            run = run.negated(reverse=kind == REVERSED)
            if kind == REVERSED:
                how = how._replace(ties=_OPPOSITE.get(how.ties, how.ties))
        elif kind == BY_LABEL:
            run, how = _by_label(run), how._replace(ties="line")
        if ranking.documents:
            judged = judge_by(qrels, run.run, how, complete=complete)
        else:
            located = run.located(qrels, how)
            judged = assemble(qrels, [located], complete=complete, tag=run.run.tag, known=ranking.known)
        self._judged[kind, ranking, complete, extra] = judged
        return judged


def _share(settings: Mapping[str, Any], by: str, judged: JudgedRun) -> FloatArray:
    """Return the precision or the recall that an F1 is made of. (Q,)."""
    return values_of({**settings, "formula": "count", "top": "hits", "by": settings[by]}, judged)


def _harmonic(one: float, other: float) -> float:
    return 2 * one * other / (one + other) if one + other else 0.0


def _by_label(run: Reduced) -> Reduced:
    """Return a run with its lines in order of their labels, the highest first, unjudged as 0."""
    query = np.repeat(np.arange(len(run.sizes)), np.diff(run.run.offsets))
    rows = np.lexsort((-np.where(run.labels == UNJUDGED, 0, run.labels), query))
    lines = run.run.having(run.run.docids.take(rows), run.run.scores[rows])
    return run._replace(run=lines, labels=run.labels[rows], hidden=run.hidden[:, rows])


def reductions(qrels: Qrels, run: Run, *, whole: bool, numbers: bool = True, keys: bool = False) -> dict[str, Reduced]:
    """Reduce a run, all of it if `whole`; and the same run ranked by ids that are `numbers`, and by texts as `keys`."""
    runs = {AS_IS: run}
    by_number = numbered(run) if numbers else None
    if by_number is not None:
        runs["docids"] = by_number
    if keys:
        for kind, texts in {"text": [repr(score) for score in run.scores.tolist()], "docid": run.docids.raw()}.items():
            order = np.unique(np.array(texts, dtype=object), return_inverse=True)[1].astype(np.float64)
            runs[kind] = run.having(run.docids, order)
        runs["docid ascending"] = run.having(run.docids, -runs["docid"].scores)
    return {kind: reduced(qrels, each, whole=whole) for kind, each in runs.items()}


def qrels_of(evaluator: Evaluator) -> Qrels:
    """Return the judgments of an evaluator whose measures all use relevance judgments."""
    if not isinstance(evaluator.judgments, Qrels):
        raise AssertionError("measures that need relevance judgments are computed from them")
    return evaluator.judgments
