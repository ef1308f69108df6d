"""Choose the documents to judge next."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import merge
from itertools import islice
from typing import NamedTuple

import numpy as np

from treceval_py.comparing.saved.naming import unique_names
from treceval_py.data.ids import shown
from treceval_py.data.qrels import Qrels
from treceval_py.errors import EvaluationError, MeasureError, RunCountError
from treceval_py.measuring import Measure
from treceval_py.measuring.probes import parameter
from treceval_py.pooling.lists import UNRANKED, side_by_side
from treceval_py.pooling.methods import METHODS, Setting, weights_by_rank
from treceval_py.ranges.assessment import Sensitivity, ranges_of
from treceval_py.rendering import text_of
from treceval_py.scoring.evaluation import Evaluator
from treceval_py.scoring.opening import AnyJudgments, AnyRun, load_judgments, load_run
from treceval_py.scoring.planning import Reading, Scoring
from treceval_py.scoring.show import by_note

DEPTH = 10
"""The depth of a pool without depth and budget."""


class PoolDocument(NamedTuple):
    """A document to judge.

    Attributes
    ----------
    qid, docid : str
        The query and the document.
    rank : int
        Its best rank in any run.
    runs : int
        Number of runs that retrieved it.
    reason : str
        Why it was chosen.
    """

    qid: str
    docid: str
    rank: int
    runs: int
    reason: str


class PoolRun(NamedTuple):
    """How far unjudged documents can move the value of a run.

    Attributes
    ----------
    name : str
        The run.
    value : float
        Its mean, in which unjudged documents count as not relevant.
    lowest, highest : float
        The lowest and highest mean over all labels of its unjudged documents.
    judged : float
        The share of judged documents among those that the measure looks at.
    """

    name: str
    value: float
    lowest: float
    highest: float
    judged: float


class Pool(NamedTuple):
    """The documents to judge next.

    Attributes
    ----------
    documents : tuple of PoolDocument
        The documents, by query; within a query in the order of the method.
    runs : tuple of PoolRun, length S
        The ranges of the runs before these are judged.
    measure, heading, method : str
        How they were chosen: the measure, the name of its mean, and the method.
    judgments_name : str
        The name of the judgments; empty if there are none yet.
    notes : tuple of str
        What to know about them.
    """

    documents: tuple[PoolDocument, ...]
    runs: tuple[PoolRun, ...]
    measure: str
    heading: str
    method: str
    judgments_name: str
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Pool of {len(self.documents)} documents from {len(self.runs)} runs by {self.method}>"

    def __str__(self) -> str:
        return text_of(self, "table")

    def _repr_html_(self) -> str:
        return text_of(self, "html")


def pool(
    qrels: AnyJudgments | None,
    runs: Sequence[AnyRun],
    measure: str | Measure = "AP",
    *,
    depth: int | None = None,
    budget: int | None = None,
    method: str | None = None,
    profile: str | None = None,
    by: str | None = None,
    run_format: str | None = None,
    judgment_format: str | None = None,
    max_passage: str | None = None,
) -> Pool:
    """Choose the documents to judge next, of those that runs retrieved and nobody has judged.

    Judge them, add the judgments to the others, and call it again, until the ranges of the runs are narrow enough.

    Parameters
    ----------
    qrels : path, dict, or as in `evaluate`, or None
        The judgments so far; None if there are none.
    runs : sequence of paths, dicts, or as in `evaluate`
        The runs. All of their queries count, and those of the judgments, in every run.
    measure : name or Measure
        The measure by which the runs will be compared; one that supports ranges over unjudged documents.
    depth : int, optional
        Choose among the first documents of each run only. Default: 10 without a budget, else all.
    budget : int, optional
        Number of documents to choose. Default: all, down to `depth`.
    method : {"order", "depth", "mtf", "maxmean"}, optional
        ``order``: those that decide most about the order of the runs, by the variance that they add to the differences
        of runs whose ranges overlap. ``depth``: by best rank. ``mtf``: move-to-front. ``maxmean``: by the run with the
        highest mean relevance so far. Default: order with a budget, else depth.
    profile : str, optional
        The scoring conventions.
    by : {"tag", "file"}, optional
        How runs are named. Default: by tag if tags are unique, else by file.
    run_format, judgment_format, max_passage
        As in `evaluate`.

    Returns
    -------
    Pool
        The documents with the reason for each, and the range of each run.

    Raises
    ------
    TrecevalError
        A file cannot be read, the measure does not support ranges, or a number is not positive.

    Notes
    -----
    Except by depth, queries take turns, those with the fewest judgments first. ``mtf`` and ``maxmean`` repeat their
    choices on the known judgments; a document whose judgment they do not know counts as not relevant.

    References
    ----------
    Cormack, G. V., Palmer, C. R., Clarke, C. L. A. Efficient Construction of Large Test Collections. SIGIR 1998 (mtf).
    Losada, D. E., Parapar, J., Barreiro, Á. Feeling Lucky? Multi-armed Bandits for Ordering Judgements in
    Pooling-based Evaluation. SAC 2016 (maxmean). Carterette, B., Allan, J., Sitaraman, R. Minimal Test Collections for
    Retrieval Evaluation. SIGIR 2006 (what a judgment changes in the difference of two runs).

    Examples
    --------
    >>> chosen = pool({"1": {"a": 1}}, [{"1": ["a", "b", "c"]}, {"1": ["c", "a"]}], depth=1)
    >>> chosen.documents[0].docid
    'c'
    """
    for name, value in (("depth", depth), ("budget", budget)):
        if value is not None and (not isinstance(value, int) or value < 1):
            raise MeasureError(f"{name} must be a whole number from 1, not {shown(value)}")
    method = method or ("depth" if budget is None else "order")
    if method not in METHODS:
        raise MeasureError(f"method must be one of {', '.join(METHODS)}, not {shown(method)}")
    if len(runs) < 1 + (method == "order"):
        problem = "the method order compares runs, and needs two or more" if runs else "there are no runs"
        raise RunCountError(problem, "Add a run, or choose another method." if runs else "Add one.")
    # Means of different queries are not comparable.
    scoring = Scoring(measure, profile, complete=True).checked()
    reading = Reading(run_format, judgment_format, max_passage).checked()
    if len(scoring.named) != 1:
        raise MeasureError(f"a pool is for one measure, not {len(scoring.named)}", "Choose one, such as AP.")
    judgments = Qrels() if qrels is None else load_judgments(qrels, judgment_format, duplicates=scoring.duplicates)
    if not isinstance(judgments, Qrels):
        raise EvaluationError("pools need relevance judgments (qrels)", file=judgments.name)
    tables = [load_run(run, reading, duplicates=scoring.duplicates) for run in runs]
    qids = dict.fromkeys(qid for table in tables for qid in table.qids)
    new = [qid for qid in qids if qid not in judgments]
    widened = judgments.widened(new)
    evaluator = Evaluator(widened, scoring)
    (task,) = evaluator.plan.tasks
    names = unique_names([table.tag for table in tables], [table.name for table in tables], by)
    assessed = [ranges_of(evaluator, table, ties=False, unjudged=True) for table in tables]
    ranges = tuple(map(_range, names, assessed))
    low, high = np.array([(run.lowest, run.highest) for run in ranges]).T
    # Their ranges meet, and are not the same point.
    still_open = (np.maximum.outer(low, low) <= np.minimum.outer(high, high)) & ~np.eye(len(names), dtype=bool)
    still_open &= np.maximum.outer(high, high) > np.minimum.outer(low, low)
    setting = Setting(
        task.resolved,
        int(parameter(task.resolved, "level", 1)),
        depth or (UNRANKED - 1 if budget is not None else DEPTH),
        names,
        still_open,
        weights_by_rank(task.resolved, judgments.rels),
        len(widened.qids),
        budget,
    )
    queries = list(side_by_side(widened, tables, task.ranking))
    steps = merge(*(METHODS[method](lists, setting) for lists in queries), key=lambda step: step[:3])
    chosen = sorted(islice(steps, budget), key=lambda step: step[2])
    best = [lists.best for lists in queries]
    documents = tuple(
        PoolDocument(
            widened.qids[query],
            queries[query].docids[document],
            int(best[query][document]),
            int(np.count_nonzero(queries[query].ranks[:, document])),
            reason,
        )
        for _, _, query, document, reason in chosen
    )
    notes = []
    if qrels is not None:
        notes = by_note(
            (name, sign.text) for name, run in zip(names, assessed, strict=True) for sign in run.results.signs
        )
        notes += [f"{len(new)} of {len(widened.qids)} queries have no judgments yet."] if new else []
    pairs, overlapping = len(names) * (len(names) - 1) // 2, int(still_open.sum()) // 2
    if pairs:
        ending = "" if overlapping else " Further judgments cannot change their order."
        notes.append(f"The ranges of {task.asked.heading} overlap in {overlapping} of {pairs} pairs of runs.{ending}")
    if budget is not None and len(documents) < budget:
        within = f" down to rank {depth}" if depth else ""
        what = "is expected to change the order of runs" if method == "order" else "is unjudged"
        notes.append(f"{len(documents):,} of {budget:,} documents were chosen: no other one{within} {what}.")
    name = "" if qrels is None else judgments.name
    return Pool(documents, ranges, task.asked.name, task.asked.heading, method, name, tuple(notes))


def _range(name: str, sensitivity: Sensitivity) -> PoolRun:
    (value,), (ends,) = sensitivity.results.mean.values(), sensitivity.unjudged.values()
    return PoolRun(name, value, ends.lowest_mean, ends.highest_mean, ends.judged_mean)
