"""One query's value term by term, so that it can be followed with a pencil."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Unpack

import numpy as np

from treceval_py._types import IntArray
from treceval_py.data.ids import decode
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import Ranking, arrange
from treceval_py.data.run import Run, joined
from treceval_py.data.table import ids_of
from treceval_py.errors import EvaluationError, MeasureError, brief
from treceval_py.explaining.scoring import qrels_of
from treceval_py.explaining.variants import check_number
from treceval_py.measuring import Measure
from treceval_py.measuring.documentation import formula as formula_of
from treceval_py.measuring.facts import Sums
from treceval_py.measuring.probes import given, single
from treceval_py.rendering import text_of
from treceval_py.scoring.evaluation import Evaluator
from treceval_py.scoring.filling import part_of, results_of
from treceval_py.scoring.opening import AnyJudgments, AnyRun, open_run, parts_of_run
from treceval_py.scoring.planning import Options, Plan, Reading, Scoring, Task, settled, takes_options
from treceval_py.scoring.signatures import Fingerprint, Signature


class Term(NamedTuple):
    """The contribution of a document.

    Attributes
    ----------
    rank : int
        Its rank.
    docid : str
        Its id.
    score : float
        Its score.
    label : int or None
        Its judgment; None for one that is not judged.
    how : str
        The calculation, in figures.
    value : float
        What it adds.
    total : float
        The sum so far.
    """

    rank: int
    docid: str
    score: float
    label: int | None
    how: str
    value: float
    total: float


class Arithmetic(NamedTuple):
    """The arithmetic of one query's value.

    Attributes
    ----------
    qid : str
        The query.
    measure : Measure
        The measure with all its parameters.
    formula : str
        Its formula.
    terms : list of Term
        The judged documents in rank order; without contributions if the measure's sum cannot be split.
    closing : str
        The calculation from the sum to the value, in figures.
    value : float
        The value, as in the results.
    apart : bool
        Whether the terms and the closing calculation give the value.
    """

    qid: str
    measure: Measure
    formula: str
    terms: list[Term]
    closing: str
    value: float
    apart: bool

    def __repr__(self) -> str:
        of = f"{brief(self.measure.notation)} of query {brief(self.qid)}"
        return f"<Arithmetic: {of} = {self.value:.6f}, {len(self.terms)} terms>"

    def __str__(self) -> str:
        return text_of(self, "table")

    def _repr_html_(self) -> str:
        return text_of(self, "html")


class RankedDocument(NamedTuple):
    """A retrieved document.

    Attributes
    ----------
    rank : int
        Its rank.
    docid : str
        Its id.
    score : float
        Its score.
    label : int or None
        Its judgment; None for one that is not judged.
    """

    rank: int
    docid: str
    score: float
    label: int | None


class Dissection(NamedTuple):
    """The arithmetic of one query's value, and the documents retrieved.

    Attributes
    ----------
    arithmetic : Arithmetic
        The value, term by term.
    documents : list of RankedDocument
        The documents that count, in rank order: all, those within the depth, or the judged ones.
    """

    arithmetic: Arithmetic
    documents: list[RankedDocument]


class _Query(NamedTuple):
    """Input of the sums: retrieved documents, all judgments, the last rank of the tie at each rank, the measure."""

    documents: list[RankedDocument]
    labels: list[int]
    ends: dict[int, int]
    measure: Measure


@takes_options
def arithmetic(
    qrels: AnyJudgments,
    run: AnyRun,
    measure: str | Measure | None,
    qid: str | int,
    **options: Unpack[Options],
) -> Arithmetic:
    """Return the arithmetic of a query's value, document by document.

    Parameters
    ----------
    qrels, run
        As in `explain`.
    measure : str, Measure or None
        One measure; None with a signature, or with `scoring`.
    qid : str
        The query.
    profile, level, complete, depth, judged_only, collection_size, signature, scoring
        As in `evaluate`. The query has a value even if the mean leaves it out.
    run_format, judgment_format, max_passage, threads
        As in `evaluate`.

    Returns
    -------
    Arithmetic
        The value, and what each document adds to it.

    Raises
    ------
    TrecevalError
        The query is not judged, the measure is unknown, a signature belongs to other judgments or is combined
        with other options, or a file cannot be read.

    Examples
    --------
    >>> found = arithmetic({"1": {"a": 1, "b": 2}}, {"1": {"x": 2.0, "a": 1.0}}, "AP", "1")
    >>> [term.how for term in found.terms], found.closing, found.value
    (['1 relevant / rank 2'], '0.5 / 2 relevant', 0.25)
    """
    scoring, reading = settled(measure, options)
    if scoring.measures is None and scoring.signatures is None:
        raise MeasureError("no measure to explain", "Name one, such as P@10, or give a signature.")
    measures = scoring.checked().named
    if len(measures) != 1:
        asked = f"'{scoring.measures}' is" if isinstance(scoring.measures, str) else "these are"
        raise MeasureError(
            f"{asked} {len(measures)} measures, but the arithmetic is that of one", "Name one, such as P@10."
        )
    _check_number(measures[0])
    (query,) = ids_of([qid], "query", lambda _: "")
    evaluator = Evaluator(qrels, scoring, reading)
    return dissected(
        evaluator.plan.tasks[0], qrels_of(evaluator), run_of_query(evaluator, run, query, reading), query
    ).arithmetic


def _check_number(measure: Measure) -> None:
    check_number(measure)
    if measure.family.average.over is not None:
        raise MeasureError(f"measure {measure.name} has no value for a single query", "Choose another measure.")


def task_of_signature(signature: Signature, judgments: Qrels) -> Task:
    """Return the task that a signature describes.

    Raises
    ------
    MeasureError
        Its measure has no value from relevance judgments.
    EvaluationError
        It belongs to other judgments.
    """
    _check_number(signature.measure)
    checked = Scoring(signatures=[signature]).checked()
    return checked.plan(judgments.max_rel, Fingerprint(judgments)).tasks[0]


def dissected(task: Task, judgments: Qrels, run: Run, qid: str) -> Dissection:
    """Return the arithmetic of a query's value, and the documents that count; other queries are not scored.

    Parameters
    ----------
    task : Task
        The measure, its parameters and the conventions. A query left out of the mean still has a value here.
    judgments : Qrels
        The judgments.
    run : Run
        The run; if it lacks the query, nothing was retrieved for it.
    qid : str
        The query.

    Raises
    ------
    EvaluationError
        The query is not judged.
    DataError
        The task ranks by the rank column, and the run has none.
    """
    if qid not in judgments:
        raise EvaluationError(f"query '{qid}' is not judged", "Choose a judged query.", file=judgments.name)
    missing = "empty" if task.conventions.missing == "out" else task.conventions.missing
    unrelevant = "in" if task.conventions.unrelevant == "out" else task.conventions.unrelevant
    task = task._replace(conventions=task.conventions._replace(missing=missing, unrelevant=unrelevant))
    labels = judgments[qid]
    alone = _query_of(run, qid)
    if not task.ranking.pooled:  # else what is judged for other queries counts
        judgments = Qrels({qid: labels})
    opened = open_run(judgments, alone)
    results = results_of(opened, Plan((task,), task.profile), Fingerprint(judgments))
    documents, ends = _ranked(alone, labels, task.ranking)
    if task.ranking.known == "retrieved":
        labels = {each.docid: each.label for each in documents if each.label is not None}
    query = _Query(documents, sorted(labels.values(), reverse=True), ends, task.resolved)
    if task.ranking.not_positive == "miss":
        documents = [each._replace(label=None) if each.score <= 0 else each for each in documents]
        query = query._replace(documents=documents)
    value = float(results.matrix[results.qids.index(qid), 0])
    detail = _taken_apart(qid, query, value)
    if unrelevant == "one":
        part, fixed = part_of(opened, task.conventions, task.ranking, task.resolved)
        if fixed[part.qids.index(qid)] == 1:
            detail = detail._replace(terms=[], closing=_WITHOUT[task.resolved.family.undefined_without], apart=True)
    return Dissection(detail, documents)


_WITHOUT = {
    "relevant": "1, without relevant documents",
    "found": "1, without relevant documents retrieved",
    "nonrelevant": "1, without documents retrieved that are not relevant",
}
"""Shown instead of a sum for a query in which a measure has no value of its own."""


def _taken_apart(qid: str, query: _Query, value: float) -> Arithmetic:
    measure = query.measure
    formula = formula_of(measure.family)
    if measure.family.sums in _TAKEN_APART:
        # Grades may be such that only the measure itself can be computed with them.
        with contextlib.suppress(OverflowError):
            terms, closing, total = _TAKEN_APART[measure.family.sums](query, given(measure))
            if math.isclose(total, value, rel_tol=1e-9, abs_tol=1e-12):
                return Arithmetic(qid, measure, formula, terms, closing, value, True)
    plain = [Term(*document, "", 0.0, 0.0) for document in query.documents if document.label is not None]
    return Arithmetic(qid, measure, formula, plain, "", value, False)


def run_of_query(evaluator: Evaluator, run: AnyRun, qid: str, reading: Reading) -> Run:
    """Return a run with this query alone, reading it without holding the others; an empty run if it lacks the query."""
    return joined(
        parts_of_run(evaluator.judgments, run, partial(_query_of, qid=qid), reading, evaluator.plan.duplicates)
    )


def _query_of(run: Run, qid: str) -> Run:
    """Return a copy of this query alone, which does not keep the others; an empty run if the run lacks the query."""
    number = run.row_of(qid)
    start, stop = (0, 0) if number is None else run.span(number)
    return Run.from_columns(
        () if number is None else (qid,),
        np.array([0] if number is None else [0, stop - start], dtype=np.int64),
        run.docids.take(np.arange(start, stop)),
        run.scores[start:stop].copy(),
        tag=run.tag,
        name=run.name,
        ranks=None if run.ranks is None else run.ranks[start:stop].copy(),
    )


def _ranked(alone: Run, labels: Mapping[str, int], ranking: Ranking) -> tuple[list[RankedDocument], dict[int, int]]:
    """Return the documents of a run of one query in rank order, and the last rank of the tie at each rank."""
    rated = None
    if ranking.ties == "worst":
        rated = np.array([labels.get(docid, 0) for docid in alone.docids.text()], dtype=np.int64)
    ordered = arrange(alone, ranking, rated)
    known = dict(zip(alone.docids.text(), alone.scores.tolist(), strict=True))
    ids = [decode(raw) for raw in ordered.run.docids.raw()]
    ties = range(1, len(ids) + 1) if ordered.first is None else ordered.first.tolist()
    ranked = []
    for place, (at, tie) in enumerate(zip(ordered.order.tolist(), ties, strict=True), 1):
        # Where documents move up into the places of others, there are no gaps that count.
        rank = place if ordered.ranks is None or ranking.judged_only else int(ordered.ranks[place - 1])
        label = labels.get(ids[at])
        label = None if label is None or label < 0 else label
        ranked.append((RankedDocument(rank, ids[at], known[ids[at]], label), tie))
    ranked = [each for each in ranked if ranking.depth is None or each[0].rank <= ranking.depth]
    if ranking.judged_only:
        kept = [each for each in ranked if each[0].label is not None]
        ranked = [(each._replace(rank=rank), tie) for rank, (each, tie) in enumerate(kept, 1)]
    last = {tie: each.rank for each, tie in ranked}
    return [each for each, _ in ranked], {each.rank: last[tie] for each, tie in ranked}


Given = Mapping[str, Any]
"""The values of a measure's parameters."""

Taken = tuple["list[Term]", str, float]
"""Terms, what is done with their sum, and the value."""


def _summed(rows: list[tuple[RankedDocument, str, float]]) -> Taken:
    total, terms = 0.0, []
    for document, how, value in rows:
        total += value
        terms.append(Term(*document, how, value, total))
    return terms, "the sum", total


def _cutoff(parameters: Given) -> float:
    return float(parameters.get("cutoff", math.inf))


def _relevant(query: _Query, parameters: Given) -> list[RankedDocument]:
    """Return the relevant documents within the cutoff."""
    level, cutoff = max(parameters.get("level", 1), 0), _cutoff(parameters)
    return [each for each in query.documents if each.label is not None and each.label >= level and each.rank <= cutoff]


def _count(query: _Query, parameters: Given) -> int:
    return sum(label >= max(parameters.get("level", 1), 0) for label in query.labels)


def _shown(value: float) -> str:
    return f"{value:.6g}"


def _each(query: _Query, _: Given) -> Taken:
    """Compute what each document adds by scoring it as the only judged document retrieved."""
    judged = [each for each in query.documents if each.label is not None]
    labels = np.array([*(each.label for each in judged), 0], dtype=np.int64)
    ranks = np.array([*(each.rank for each in judged), 0], dtype=np.int64)

    def alone(at: IntArray) -> list[float]:
        values = single(query.measure, labels, at, np.array(query.labels, dtype=np.int64), len(query.documents))
        added: list[float] = (values[:-1] - values[-1]).tolist()
        return added

    added, first = alone(ranks), alone(np.minimum(ranks, 1))
    return _summed(
        [
            (each, _shown(at_first) if value == at_first else f"{_shown(at_first)} · {_shown(value / at_first)}", value)
            for each, value, at_first in zip(judged, added, first, strict=True)
            if value and at_first
        ]
    )


def _average_precision(query: _Query, parameters: Given) -> Taken:
    relevant = _relevant(query, parameters)
    # Where a tie is taken in one step, each document of it has the precision at its last rank.
    together = parameters.get("steps") == "together"
    ends = [int(min(query.ends[each.rank], _cutoff(parameters))) if together else each.rank for each in relevant]
    counts = np.searchsorted(sorted(each.rank for each in relevant), ends, side="right").tolist()
    rows = [
        (each, f"{nth} relevant / rank {end}", nth / end) for each, nth, end in zip(relevant, counts, ends, strict=True)
    ]
    terms, _, total = _summed(rows)
    count = _count(query, parameters)
    norm = parameters.get("norm")
    by = {"retrieved": len(relevant), "capped": min(_cutoff(parameters), count)}.get(str(norm), count)
    words = {"retrieved": "relevant found", "capped": "min(k, relevant)"}.get(str(norm), "relevant")
    return terms, f"{_shown(total)} / {by:g} {words}", total / by if by else 0.0


def _reciprocal_rank(query: _Query, parameters: Given) -> Taken:
    first = _relevant(query, parameters)[:1]
    terms, _, total = _summed([(each, f"1 / rank {each.rank}", 1 / each.rank) for each in first])
    return terms, "the first relevant document" if first else "no relevant document", total


def _share(query: _Query, parameters: Given, by: float, words: str) -> Taken:
    terms, _, total = _summed([(each, "1 relevant", 1.0) for each in _relevant(query, parameters)])
    return terms, f"{total:g} / {by:g} {words}", total / by if by else 0.0


def _precision(query: _Query, parameters: Given) -> Taken:
    if parameters.get("divisor") == "retrieved":
        return _share(query, parameters, min(_cutoff(parameters), len(query.documents)), "min(k, retrieved)")
    return _share(query, parameters, _cutoff(parameters), "(the cutoff)")


def _recall(query: _Query, parameters: Given) -> Taken:
    return _share(query, parameters, _count(query, parameters), "relevant")


def _capped_recall(query: _Query, parameters: Given) -> Taken:
    return _share(query, parameters, min(_cutoff(parameters), _count(query, parameters)), "min(k, relevant)")


def _gain(label: int | None, parameters: Given) -> float:
    if label is None or label < 0:
        return 0.0
    gains = parameters.get("gains") or {}
    if label in gains:
        return float(gains[label])
    rule = parameters.get("gain")
    return 2.0**label - 1 if rule == "exp" else float(min(label, 1) if rule == "binary" else label)


def _discount(rank: int, parameters: Given) -> tuple[float, str]:
    if parameters.get("discount") == "jk":
        base = parameters["base"]
        return (1.0, "1") if rank < base else (math.log2(rank) / math.log2(base), f"log{base:g}({rank})")
    if parameters.get("discount") == "position":
        return float(rank), f"rank {rank}"
    return math.log2(rank + 1), f"log2({rank} + 1)"


def _discounted(documents: list[RankedDocument], parameters: Given) -> Taken:
    rows = []
    for each in documents:
        gain = _gain(each.label, parameters)
        if gain and each.rank <= _cutoff(parameters):
            by, words = _discount(each.rank, parameters)
            rows.append((each, f"{gain:g} / {words}", gain / by))
    return _summed(rows)


def _dcg(query: _Query, parameters: Given) -> Taken:
    return _discounted(query.documents, parameters)


def _ndcg(query: _Query, parameters: Given) -> Taken:
    labels = query.labels
    if parameters.get("ideal") == "retrieved":
        labels = [each.label for each in query.documents if each.label is not None]
    best = _in_order(sorted(labels, key=lambda label: -_gain(label, parameters)))
    return _of_ideal(_discounted(query.documents, parameters), _discounted(best, parameters))


def _in_order(labels: Sequence[int]) -> list[RankedDocument]:
    return [RankedDocument(rank, "", 0.0, label) for rank, label in enumerate(labels, 1)]


def _of_ideal(own: Taken, best: Taken) -> Taken:
    (terms, _, total), (_, _, ideal) = own, best
    return terms, f"{_shown(total)} / {_shown(ideal)} of the ideal ranking", total / ideal if ideal else 0.0


def _stopped(documents: list[RankedDocument], parameters: Given) -> Taken:
    rows, left = [], 1.0
    for each in documents:
        label = max(each.label or 0, 0)
        stop = float(label) if parameters.get("stop") == "label" else (2.0**label - 1) / 2.0 ** parameters["max_rel"]
        if stop and each.rank <= _cutoff(parameters):
            rows.append((each, f"{_shown(left)} · {_shown(stop)} / rank {each.rank}", left * stop / each.rank))
            left *= 1 - stop
    return _summed(rows)


def _err(query: _Query, parameters: Given) -> Taken:
    return _stopped(query.documents, parameters)


def _nerr(query: _Query, parameters: Given) -> Taken:
    return _of_ideal(_stopped(query.documents, parameters), _stopped(_in_order(query.labels), parameters))


def _rbp(query: _Query, parameters: Given) -> Taken:
    p = parameters["p"]
    rows = [
        (each, f"(1 - {p:g}) · {p:g}^{each.rank - 1}", (1 - p) * p ** (each.rank - 1))
        for each in _relevant(query, parameters)
    ]
    return _summed(rows)


_TAKEN_APART: dict[Sums, Callable[[_Query, Given], Taken]] = {
    Sums.EACH: _each,
    Sums.SHARE_OF_CUTOFF: _precision,
    Sums.SHARE_OF_RELEVANT: _recall,
    Sums.SHARE_OF_BEST: _capped_recall,
    Sums.GAINS: _dcg,
    Sums.GAINS_OF_IDEAL: _ndcg,
    Sums.POWERS: _rbp,
    Sums.EACH_WITHIN: _each,
    Sums.EACH_UNCUT: _each,
    Sums.PRECISIONS: _average_precision,
    Sums.FIRST: _reciprocal_rank,
    Sums.CASCADE: _err,
    Sums.CASCADE_OF_IDEAL: _nerr,
}
"""The sums by kind. A sum that differs from the value, such as one averaged over ties, is not shown."""
