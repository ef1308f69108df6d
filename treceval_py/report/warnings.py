"""What a reader of a comparison is to be warned of: ties, unjudged documents and missing queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from treceval_py._types import BoolArray, FloatArray
from treceval_py.data.ids import first_of
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import limit_of
from treceval_py.data.run import Run
from treceval_py.errors import EvaluationError
from treceval_py.judging.judged import JudgedRun
from treceval_py.judging.locating import judge_by, missing_queries
from treceval_py.ranges.groups import groups_of
from treceval_py.report.curves import Basis, basis_of

if TYPE_CHECKING:
    from treceval_py.comparing.comparison import Comparison

__all__ = ["ALL_RUNS", "FIRST", "Warned", "tied_queries", "unjudged_shares", "warnings_of"]

FIRST = 10
"""The ranks that are looked at: those that most measures weigh most and most readers see."""

ALL_RUNS = "all runs"
"""What stands in place of a run's name where it is not known which runs are meant."""


class Warned(NamedTuple):
    """One warning.

    Attributes
    ----------
    run : str
        The name of the run, or `ALL_RUNS`.
    kind : {"ties", "unjudged", "missing"}
        What it is about.
    text : str
        A sentence or two.
    """

    run: str
    kind: str
    text: str


def warnings_of(comparison: Comparison, qrels: Qrels | None, runs: Sequence[Run] | None) -> list[Warned]:
    """Return what is to be said of the runs of a comparison, run by run.

    Parameters
    ----------
    comparison : Comparison
        The comparison.
    qrels : Qrels or None
        The judgments. Without them and the runs, only queries that were left out can be told.
    runs : sequence of Run or None, length S
        The runs, in the order of the comparison.

    Raises
    ------
    DataError
        A run is to be ranked by ranks that it has not.
    """
    if qrels is None or runs is None:
        return list(_left_out(comparison))
    basis = basis_of(comparison)
    found = []
    for name, run in zip(comparison.runs, runs, strict=True):
        judged = _judged(basis, qrels, run)
        found += [
            *_about_ties(name, basis, judged),
            *_about_unjudged(name, basis, judged),
            *_about_missing(name, comparison, qrels, run),
        ]
    return found


def _judged(basis: Basis, qrels: Qrels, run: Run) -> JudgedRun:
    """Judge the queries that were compared, keeping where tied documents could stand."""
    ranking = basis.conventions.ranking(tied=True)._replace(depth=None)
    judged = judge_by(qrels, run, ranking, complete=True)
    compared = set(basis.qids)
    return judged.select(np.array([qid in compared for qid in judged.qids], dtype=bool))


def tied_queries(judged: JudgedRun, level: int, ranks: int) -> BoolArray:
    """Tell for which queries the relevance found at the first ranks depends on the order of equal scores.

    It does where a group of documents with equal scores begins at one of these ranks and its documents differ in
    relevance: either can stand where the group begins. All that is below the level, unjudged documents included, is
    alike; relevant documents of different grades are not.

    Parameters
    ----------
    judged : JudgedRun
        Judged with ``tied=True``.
    level : int
        Least judgment that counts as relevant.
    ranks : int
        How many ranks are looked at.

    Returns
    -------
    (Q,) bool array
        Whether it does.

    Raises
    ------
    EvaluationError
        The run was judged without ``tied=True``.

    References
    ----------
    Cabanac, G., Hubert, G., Boughanem, M., Chrisment, C. Tie-Breaking Bias: Effect of an Uncontrolled Parameter on
    Information Retrieval Evaluation. CLEF 2010.

    Examples
    --------
    Of a and b, which have one score, a is relevant; c and d are both unjudged.

    >>> from treceval_py import Run, judge
    >>> run = Run({"1": {"a": 2.0, "b": 2.0}, "2": {"c": 2.0, "d": 2.0, "e": 1.0}})
    >>> tied_queries(judge(Qrels({"1": {"a": 1}, "2": {"e": 1}}), run, tied=True), 1, 10)
    array([ True, False])
    """
    if judged.tied is None:
        raise EvaluationError("the judged run has no information about ties", "Judge it with tied=True.")
    groups = groups_of(judged.hits, judged.tied)
    relevant = judged.hits.rel >= max(level, 0)
    number = groups.tally(relevant)
    highest, lowest = (np.zeros(len(number), dtype=np.int64) for _ in range(2))
    rel, of = judged.hits.rel[relevant], groups.of[relevant]
    lowest[of] = rel  # any of them, to begin with
    highest[of] = rel
    np.maximum.at(highest, of, rel)
    np.minimum.at(lowest, of, rel)
    mixed = (number > 0) & ((number < groups.size) | (highest > lowest))
    found = np.zeros(judged.num_queries, dtype=bool)
    found[groups.query[mixed & (groups.first <= ranks)]] = True
    return found


def unjudged_shares(judged: JudgedRun, ranks: int) -> FloatArray:
    """Compute the share of unjudged documents at the first ranks: 1 - Judged@k.

    Parameters
    ----------
    judged : JudgedRun
        The run. A document with a negative judgment is not judged.
    ranks : int
        How many ranks are looked at; of a shorter list, all.

    Returns
    -------
    (Q,) float array
        In [0, 1]; NaN for a query for which nothing was retrieved.
    """
    hits = judged.hits
    there = np.minimum(judged.num_ret, ranks)
    count = judged.count(hits.query[(hits.rel >= 0) & (hits.rank <= ranks)])
    shares: FloatArray = np.where(there > 0, 1 - count / np.maximum(there, 1), np.nan)
    return shares


def _about_ties(name: str, basis: Basis, judged: JudgedRun) -> Iterator[Warned]:
    ranks = min(FIRST, limit_of(basis.conventions.depth))
    count = int(tied_queries(judged, basis.level, ranks).sum())
    if count:
        yield Warned(
            name,
            "ties",
            f"In {_of(count, judged.num_queries)} the relevance found at the first {ranks} ranks depends on the order "
            "of documents with equal scores.",
        )


def _about_unjudged(name: str, basis: Basis, judged: JudgedRun) -> Iterator[Warned]:
    if basis.conventions.judged_only:  # they are taken out
        return
    ranks = min(FIRST, limit_of(basis.conventions.depth))
    shares = unjudged_shares(judged, ranks)
    shares = shares[~np.isnan(shares)]
    count = int((shares > 0).sum())
    if count:
        yield Warned(
            name,
            "unjudged",
            f"On average {_percentage(float(shares.mean()))} of the first {ranks} documents of a query are not judged "
            f"(at least one in {_of(count, len(shares))}).",
        )


def _about_missing(name: str, comparison: Comparison, qrels: Qrels, run: Run) -> Iterator[Warned]:
    missing = missing_queries(qrels.qids, run.qids)
    if not missing:
        return
    one = len(missing) == 1
    lacks = f"{len(missing)} of {len(qrels)} judged {'query' if len(qrels) == 1 else 'queries'} "
    lacks += f"{'is' if one else 'are'} missing ({first_of(missing)})"
    counted: dict[int, list[str]] = {}
    for each in comparison.measures:
        counted.setdefault(len(set(missing).intersection(each.qids)), []).append(each.measure)
    if list(counted) == [0]:
        text = f"{lacks} and left out for all runs."
    elif list(counted) == [len(missing)]:
        text = f"{lacks} and {'counts' if one else 'count'} as if nothing had been retrieved."
    else:
        parts = [f"{count or 'none'} for {', '.join(measures)}" for count, measures in counted.items()]
        text = f"{lacks}. As if nothing had been retrieved count {'; '.join(parts)}; others are left out for all runs."
    yield Warned(name, "missing", text)


def _left_out(comparison: Comparison) -> Iterator[Warned]:
    """Tell the queries that some runs lack, where it is not known which runs these are."""
    by_queries: dict[tuple[str, ...], list[str]] = {}
    for each in comparison.measures:
        if each.left_out:
            by_queries.setdefault(each.left_out, []).append(each.measure)
    for left_out, measures in by_queries.items():
        one = len(left_out) == 1
        are = "1 query is" if one else f"{len(left_out)} queries are"
        where = "" if len(measures) == len(comparison.measures) else f" of {', '.join(measures)}"
        yield Warned(
            ALL_RUNS,
            "missing",
            f"{are} left out{where}, as some runs lack {'it' if one else 'them'} ({first_of(left_out)}).",
        )


def _of(count: int, number: int) -> str:
    return f"{count} of {number} {'query' if number == 1 else 'queries'}"


def _percentage(share: float) -> str:
    """Write a share so that a little is not nothing, and nearly all not all."""
    if 0 < share < 0.0005:
        return "less than 0.1 %"
    if 0.9995 <= share < 1:
        return "more than 99.9 %"
    return f"{100 * share:.1f} %"
