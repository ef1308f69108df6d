"""One query's value term by term, so that it can be followed with a pencil."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from treceval_py._types import IntArray, Source
from treceval_py.errors import EvaluationError, MeasureError
from treceval_py.evaluation import evaluate_plan, load_judgments, load_run
from treceval_py.explaining.variants import Situation, has_number, task_of
from treceval_py.formats.trec import Judgments
from treceval_py.measures import Measure, parse_measures
from treceval_py.planning import Plan, Task
from treceval_py.profiles import DEFAULT_PROFILE, Profile, profile_named
from treceval_py.ranking import arrange
from treceval_py.tables import Qrels, Run, decode

__all__ = ["Arithmetic", "Term", "arithmetic"]


class Term(NamedTuple):
    """What a document adds.

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
    """How a query's value comes about.

    Attributes
    ----------
    qid : str
        The query.
    measure : Measure
        The measure with all its parameters.
    formula : str
        Its formula.
    terms : list of Term
        The judged documents in rank order; for a measure whose sum is not taken apart, without what they add.
    closing : str
        What is done with the sum, in figures.
    value : float
        The value, as it is computed for the results.
    apart : bool
        Whether the terms and the closing give the value.
    """

    qid: str
    measure: Measure
    formula: str
    terms: list[Term]
    closing: str
    value: float
    apart: bool


class _Document(NamedTuple):
    rank: int
    docid: str
    score: float
    label: int | None


class _Query(NamedTuple):
    """What the sums need: the retrieved documents and all judgments."""

    documents: list[_Document]
    labels: list[int]


def arithmetic(
    qrels: Source | Judgments | Mapping[str, Mapping[str, int]],
    run: Source | Run | Mapping[str, Mapping[str, float]],
    measure: str | Measure,
    qid: str,
    *,
    profile: str | Profile = DEFAULT_PROFILE,
    level: int | None = None,
) -> Arithmetic:
    """Return how the value of a query comes about, document by document.

    Parameters
    ----------
    qrels, run
        As of `explain`.
    measure : str or Measure
        One measure.
    qid : str
        The query.
    profile : str or Profile
        The conventions.
    level : int, optional
        Least judgment that counts as relevant.

    Raises
    ------
    TrecevalError
        The query is not judged, the measure is unknown, or a file cannot be read.

    Examples
    --------
    >>> found = arithmetic({"1": {"a": 1, "b": 2}}, {"1": {"x": 2.0, "a": 1.0}}, "AP", "1")
    >>> [term.how for term in found.terms], found.closing, found.value
    (['1 relevant / rank 2'], '0.5 / 2 relevant', 0.25)
    """
    judgments, table = load_judgments(qrels), load_run(run)
    if not isinstance(judgments, Qrels):
        raise EvaluationError("only relevance judgments (qrels) can be explained", file=judgments.name)
    measures = parse_measures(measure)
    if len(measures) > 1:
        raise MeasureError(
            f"'{measure}' is {len(measures)} measures, and the arithmetic is that of one", "Name one, such as P@10."
        )
    if not has_number(measures[0]):
        raise MeasureError(f"measure {measures[0].name} has no number to explain", "Choose another one.")
    row = judgments.row_of(qid)
    if row is None:
        raise EvaluationError(f"query '{qid}' is not judged", "Choose one that is.", file=judgments.name)
    rules = profile_named(profile) if isinstance(profile, str) else profile
    task = task_of(
        measures[0], rules, Situation(judgments.max_rel, (), has_ranks=True, has_numbers=False, longest=0), level=level
    )
    task = task._replace(conventions=task.conventions._replace(missing="empty", unrelevant="in"))
    alone = Qrels({qid: judgments[qid]})
    results = evaluate_plan(Plan((task,), rules.name), alone, table)
    value = float(results.matrix[0, 0])
    query = _Query(_documents(table, judgments, qid, task), sorted(judgments[qid].values(), reverse=True))
    formula = _formula(task.resolved)
    for names, taken in _TAKEN_APART.items():
        if task.resolved.family.name in names.split():
            try:
                terms, closing, total = taken(query, dict(task.resolved.parameters))
            except OverflowError:  # grades that only the measure itself can be computed with
                break
            if math.isclose(total, value, rel_tol=1e-9, abs_tol=1e-12):
                return Arithmetic(qid, task.resolved, formula, terms, closing, value, True)
    plain = [Term(*document, "", 0.0, 0.0) for document in query.documents if document.label is not None]
    return Arithmetic(qid, task.resolved, formula, plain, "", value, False)


def _formula(measure: Measure) -> str:
    import inspect

    text = inspect.getdoc(measure.family.function) or ""
    _, _, after = text.partition("Formula\n-------\n")
    return " ".join(after.partition("\n\n")[0].split()) or measure.family.title


def _documents(run: Run, judgments: Qrels, qid: str, task: Task) -> list[_Document]:
    """Return the documents of a query in rank order, within the depth."""
    number = run.row_of(qid)
    if number is None:
        return []
    labels = judgments[qid]
    rules = task.rules
    start, stop = run.span(number)
    alone = Run.from_columns(
        (qid,),
        _span(stop - start),
        run.docids[start:stop],
        run.scores[start:stop],
        name=run.name,
        ranks=None if run.ranks is None else run.ranks[start:stop],
    )
    ordered = arrange(alone, rules._replace(tied=False))
    known = dict(zip(alone.docids.text(), alone.scores.tolist(), strict=True))
    ids = [decode(raw) for raw in ordered.run.docids.raw()]
    found = []
    for place, at in enumerate(ordered.order.tolist(), 1):
        rank = place if ordered.ranks is None else int(ordered.ranks[place - 1])
        label = labels.get(ids[at])
        found.append(_Document(rank, ids[at], known[ids[at]], None if label is None or label < 0 else label))
    found = [each for each in found if rules.depth is None or each.rank <= rules.depth]
    if rules.judged_only:
        kept = [each for each in found if each.label is not None]
        found = [each._replace(rank=rank) for rank, each in enumerate(kept, 1)]
    return found


def _span(size: int) -> IntArray:
    return np.array([0, size], dtype=np.int64)


Parameters = Mapping[str, object]
Taken = tuple["list[Term]", str, float]


def _level(parameters: Parameters) -> int:
    level = parameters.get("level", 1)
    return level if isinstance(level, int) else 1


def _cutoff(parameters: Parameters) -> float:
    cutoff = parameters.get("cutoff")
    return cutoff if isinstance(cutoff, int) else math.inf


def _summed(rows: list[tuple[_Document, str, float]]) -> tuple[list[Term], float]:
    total, terms = 0.0, []
    for document, how, value in rows:
        total += value
        terms.append(Term(*document, how, value, total))
    return terms, total


def _relevant(query: _Query, parameters: Parameters) -> list[_Document]:
    level = max(_level(parameters), 0)
    return [each for each in query.documents if each.label is not None and each.label >= level]


def _shown(value: float) -> str:
    return f"{value:.6g}"


def _average_precision(query: _Query, parameters: Parameters) -> Taken:
    relevant = [each for each in _relevant(query, parameters) if each.rank <= _cutoff(parameters)]
    # Where a tie is taken in one step, each document of it has the precision at its last rank.
    together = parameters.get("steps") == "together"
    last = {each.score: each.rank for each in query.documents} if together else {}
    ends = [last.get(each.score, each.rank) for each in relevant]
    found = [sum(other.rank <= end for other in relevant) for end in ends]
    rows = [
        (each, f"{nth} relevant / rank {end}", nth / end) for each, nth, end in zip(relevant, found, ends, strict=True)
    ]
    terms, total = _summed(rows)
    count = sum(label >= max(_level(parameters), 0) for label in query.labels)
    norm = parameters.get("norm", "relevant")
    by = {"retrieved": len(relevant), "capped": min(_cutoff(parameters), count)}.get(str(norm), count)
    words = {"retrieved": "relevant found", "capped": "min(k, relevant)"}.get(str(norm), "relevant")
    return terms, f"{_shown(total)} / {by:g} {words}", total / by if by else 0.0


def _reciprocal_rank(query: _Query, parameters: Parameters) -> Taken:
    first = [each for each in _relevant(query, parameters) if each.rank <= _cutoff(parameters)][:1]
    terms, total = _summed([(each, f"1 / rank {each.rank}", 1 / each.rank) for each in first])
    return terms, "the first relevant document" if first else "no relevant document", total


def _share(query: _Query, parameters: Parameters, by: float, words: str) -> Taken:
    relevant = [each for each in _relevant(query, parameters) if each.rank <= _cutoff(parameters)]
    terms, total = _summed([(each, "1 relevant", 1.0) for each in relevant])
    return terms, f"{total:g} / {by:g} {words}", total / by if by else 0.0


def _precision(query: _Query, parameters: Parameters) -> Taken:
    return _share(query, parameters, _cutoff(parameters), "(the cutoff)")


def _recall(query: _Query, parameters: Parameters) -> Taken:
    return _share(query, parameters, _count(query, parameters), "relevant")


def _capped_recall(query: _Query, parameters: Parameters) -> Taken:
    return _share(query, parameters, min(_cutoff(parameters), _count(query, parameters)), "min(k, relevant)")


def _count(query: _Query, parameters: Parameters) -> int:
    return sum(label >= max(_level(parameters), 0) for label in query.labels)


def _gain(label: int | None, parameters: Parameters) -> float:
    if label is None or label < 0:
        return 0.0
    gains = parameters.get("gains")
    if isinstance(gains, Mapping) and label in gains:
        return float(gains[label])
    return 2.0**label - 1 if parameters.get("gain") == "exp" else float(label)


def _discount(rank: int, parameters: Parameters) -> tuple[float, str]:
    if parameters.get("discount") == "jk":
        base = parameters.get("base", 2.0)
        base = base if isinstance(base, float) else 2.0
        return (1.0, "1") if rank < base else (math.log2(rank) / math.log2(base), f"log{base:g}({rank})")
    return math.log2(rank + 1), f"log2({rank} + 1)"


def _discounted(documents: list[_Document], parameters: Parameters) -> tuple[list[Term], float]:
    rows = []
    for each in documents:
        gain = _gain(each.label, parameters)
        if gain and each.rank <= _cutoff(parameters):
            by, words = _discount(each.rank, parameters)
            rows.append((each, f"{gain:g} / {words}", gain / by))
    return _summed(rows)


def _dcg(query: _Query, parameters: Parameters) -> Taken:
    terms, total = _discounted(query.documents, parameters)
    return terms, "the sum", total


def _ndcg(query: _Query, parameters: Parameters) -> Taken:
    terms, total = _discounted(query.documents, parameters)
    labels = query.labels
    if parameters.get("ideal") == "retrieved":
        labels = [each.label for each in query.documents if each.label is not None]
    best = sorted(labels, key=lambda label: -_gain(label, parameters))
    ranked = [_Document(rank, "", 0.0, label) for rank, label in enumerate(best, 1)]
    _, ideal = _discounted(ranked, parameters)
    return terms, f"{_shown(total)} / {_shown(ideal)} of the ideal ranking", total / ideal if ideal else 0.0


def _err(query: _Query, parameters: Parameters) -> Taken:
    top = parameters.get("max_rel")
    top = top if isinstance(top, int) else 1
    rows, left = [], 1.0
    for each in query.documents:
        stop = (2.0 ** max(each.label or 0, 0) - 1) / 2.0**top
        if stop and each.rank <= _cutoff(parameters):
            rows.append((each, f"{_shown(left)} · {_shown(stop)} / rank {each.rank}", left * stop / each.rank))
            left *= 1 - stop
    terms, total = _summed(rows)
    return terms, "the sum", total


def _rbp(query: _Query, parameters: Parameters) -> Taken:
    p = parameters.get("p", 0.8)
    p = p if isinstance(p, float) else 0.8
    rows = [
        (each, f"(1 - {p:g}) · {p:g}^{each.rank - 1}", (1 - p) * p ** (each.rank - 1))
        for each in _relevant(query, parameters)
        if each.rank <= _cutoff(parameters)
    ]
    terms, total = _summed(rows)
    return terms, "the sum", total


_TAKEN_APART: dict[str, Callable[[_Query, Parameters], Taken]] = {
    "map map_cut": _average_precision,
    "recip_rank recip_rank_cut": _reciprocal_rank,
    "P": _precision,
    "recall": _recall,
    "recall_cap relative_P": _capped_recall,
    "dcg": _dcg,
    "ndcg ndcg_cut": _ndcg,
    "err err_cut": _err,
    "rbp_binary rbp_binary_cut": _rbp,
}
"""What the value of each family is the sum of. A sum that is not the value, as that of tied documents averaged, is not
shown."""
