"""Why two runs differ in a query: the queries that differ most, and which documents moved in them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from treceval_py.comparing.comparison import Comparison
from treceval_py.data.ids import encode
from treceval_py.data.qrels import Qrels
from treceval_py.data.run import Run
from treceval_py.errors import EvaluationError
from treceval_py.explaining.terms import Dissection, dissected, task_of_signature
from treceval_py.scoring.planning import Task
from treceval_py.scoring.signatures import Signature

ROUNDING = 1e-13
"""Contributions with a smaller relative difference are equal: only the order of their computation differed."""

SAME = 1e-9
"""Values closer than this to the compared ones are the same."""


class Moved(NamedTuple):
    """A document that adds more, or less, to a query's value in one run than in the other.

    Attributes
    ----------
    docid : str
        The document.
    label : int or None
        Its judgment; None if it is not judged.
    rank, other_rank : int or None
        Its ranks; None if the run did not retrieve it, or not among the documents that count.
    contribution, other_contribution : float
        Its contribution to the value; NaN if the measure is not a sum over documents.
    delta : float
        `contribution` minus `other_contribution`.
    """

    docid: str
    label: int | None
    rank: int | None
    other_rank: int | None
    contribution: float
    other_contribution: float
    delta: float


class QueryDifference(NamedTuple):
    """How two runs differ in a query.

    Attributes
    ----------
    qid : str
        The query.
    value, other_value : float
        Its values in the run and in the other one.
    delta : float
        `value` minus `other_value`.
    moved : tuple of Moved
        The documents that moved, largest absolute delta first, up to the requested number.
    apart : bool
        Whether the measure is a sum over documents. The deltas of `moved`, and `rest`, then add up to `delta`.
    rest : float
        The sum of the deltas of all other documents; NaN if the measure is not a sum over documents.
    rest_documents : int
        Number of these documents.
    """

    qid: str
    value: float
    other_value: float
    delta: float
    moved: tuple[Moved, ...] = ()
    apart: bool = False
    rest: float = 0.0
    rest_documents: int = 0


def largest_differences(
    comparison: Comparison, measure: str, run: int, other: int, *, count: int = 10
) -> list[QueryDifference]:
    """Return the queries in which two runs differ most, wins and losses alike, without their documents.

    Parameters
    ----------
    comparison : Comparison
        The comparison.
    measure : str
        The measure, by its name in the comparison.
    run, other : int
        The numbers of the runs.
    count : int
        Most queries to return. Queries in which the runs are equal are never among them.

    Returns
    -------
    list of QueryDifference
        Largest absolute difference first, equal ones in the order of the bytes of the query ids.

    Raises
    ------
    KeyError
        The comparison has no such measure.
    """
    compared = comparison[measure]
    rows = zip(compared.qids, compared.values[run].tolist(), compared.values[other].tolist(), strict=True)
    differing = [QueryDifference(qid, value, less, value - less) for qid, value, less in rows if value != less]
    return sorted(differing, key=lambda query: (-abs(query.delta), encode(query.qid)))[:count]


def with_documents(
    differences: Sequence[QueryDifference],
    qrels: Qrels,
    run_table: Run,
    other_table: Run,
    signature: Signature,
    *,
    count: int = 5,
) -> list[QueryDifference]:
    """Add the documents that moved, and how much each contributed to the difference.

    Parameters
    ----------
    differences : sequence of QueryDifference
        The queries.
    qrels : Qrels
        The judgments.
    run_table, other_table : Run
        The runs.
    signature : Signature
        How the values of both were computed.
    count : int
        Most documents of a query; the others are summed up in `QueryDifference.rest`.

    Returns
    -------
    list of QueryDifference
        The same queries in the same order.

    Raises
    ------
    EvaluationError
        The signature belongs to other judgments, a query is not judged, or its value differs from the compared one.
    MeasureError
        The measure has no value from relevance judgments.
    DataError
        The signature ranks by the rank column, and a run has none.

    Notes
    -----
    The measures that `arithmetic` takes apart are sums over documents, divided by a number, such as nDCG, AP, RR, P,
    recall, ERR and RBP; a measure declares what sum it is (`Sums`). The contribution of a document is its term of the
    sum, scaled so that the terms add up to the value; so the differences of the contributions of all documents add up
    to the difference of the values. What a document adds can depend on those above it (in AP on how many of them are
    relevant, in ERR on how relevant they are), so one that keeps its rank can have moved. Each run is scaled by itself,
    which matters if the divisor is the run's own: with nDCG(ideal=retrieved) or AP(norm=retrieved), a document at the
    same rank in both runs contributes differently if the runs retrieved different relevant documents.

    For other measures, and if ties are averaged, the judged documents whose ranks differ are listed without
    contributions, the most relevant and highest first.
    """
    task = task_of_signature(signature, qrels)
    return [_with_moved(query, task, qrels, run_table, other_table, count) for query in differences]


def _with_moved(
    difference: QueryDifference, task: Task, qrels: Qrels, run: Run, other: Run, count: int
) -> QueryDifference:
    mine, others = (dissected(task, qrels, table, difference.qid) for table in (run, other))
    for table, here, value in ((run, mine, difference.value), (other, others, difference.other_value)):
        if not math.isclose(here.arithmetic.value, value, rel_tol=SAME, abs_tol=SAME):
            raise EvaluationError(
                f"{task.asked.name} of query '{difference.qid}' is {here.arithmetic.value:.6f} here, and {value:.6f} "
                "where it was compared",
                "Use the run that was scored.",
                file=table.name,
            )
    apart = mine.arithmetic.apart and others.arithmetic.apart
    labels = {docid: label for docid, label in qrels[difference.qid].items() if label >= 0}
    moved = _contributed(mine, others, labels) if apart else _ranked_otherwise(mine, others, labels)
    rest = math.fsum(document.delta for document in moved[count:])
    return difference._replace(
        moved=tuple(moved[:count]), apart=apart, rest=rest if apart else math.nan, rest_documents=len(moved[count:])
    )


def _contributed(mine: Dissection, others: Dissection, labels: Mapping[str, int]) -> list[Moved]:
    """Return the documents whose contributions differ, largest difference first."""
    here, there = _contributions(mine), _contributions(others)
    moved = []
    for document in _both(mine, others, labels, dict.fromkeys([*here, *there])):
        ours, theirs = here.get(document.docid, 0.0), there.get(document.docid, 0.0)
        if not math.isclose(ours, theirs, rel_tol=ROUNDING, abs_tol=0.0):
            moved.append(document._replace(contribution=ours, other_contribution=theirs, delta=ours - theirs))
    return sorted(moved, key=lambda document: (-abs(document.delta), encode(document.docid)))


def _contributions(dissection: Dissection) -> dict[str, float]:
    """Return the contribution of each document to the value."""
    terms, value = dissection.arithmetic.terms, dissection.arithmetic.value
    total = terms[-1].total if terms else 0.0
    return {term.docid: term.value * (value / total) for term in terms} if total else {}


def _ranked_otherwise(mine: Dissection, others: Dissection, labels: Mapping[str, int]) -> list[Moved]:
    """Return the judged documents whose ranks differ, the most relevant and highest first."""
    judged = (each.docid for dissection in (mine, others) for each in dissection.documents if each.label is not None)
    moved = [each for each in _both(mine, others, labels, dict.fromkeys(judged)) if each.rank != each.other_rank]
    ranks = {each.docid: min(rank for rank in (each.rank, each.other_rank) if rank is not None) for each in moved}
    return sorted(moved, key=lambda each: (-(each.label or 0), ranks[each.docid], encode(each.docid)))


def _both(mine: Dissection, others: Dissection, labels: Mapping[str, int], docids: Iterable[str]) -> list[Moved]:
    """Return documents with their judgments and ranks, and no contributions."""
    here, there = ({each.docid: each.rank for each in dissection.documents} for dissection in (mine, others))
    none = (math.nan, math.nan, math.nan)
    return [Moved(docid, labels.get(docid), here.get(docid), there.get(docid), *none) for docid in docids]
