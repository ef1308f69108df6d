"""Compute a `JudgedRun` from judgments and a run: find the ranks of the judged documents.

`data.ranking` has the rules by which documents are ranked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from numbers import Integral
from types import NoneType
from typing import Any

import numpy as np

from treceval_py._types import Data, IntArray
from treceval_py.data.groups import JudgmentGroups
from treceval_py.data.ids import Ids, encode, shown
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import (
    FLOAT32,
    FLOAT64,
    ORDERS,
    PLAIN,
    TIES,
    WIDTHS,
    Arranged,
    Ranking,
    arranged,
    without_self,
)
from treceval_py.data.run import DEFAULT_TAG, Run
from treceval_py.data.table import is_nested, parted
from treceval_py.errors import DataError
from treceval_py.judging.judged import GroupJudgments, Hits, JudgedGroups, JudgedRun, Tied, nth_of
from treceval_py.judging.located import Located, labelled, limit_if_plain, locate
from treceval_py.scan import scanner


def judge(
    qrels: Qrels | Data,
    run: Run | Data,
    *,
    complete: bool = True,
    depth: int | None = None,
    judged_only: bool = False,
    score_type: str = FLOAT64,
    order: str = "score",
    ties: str = "docid-desc",
    tied: bool = False,
    pooled: bool = False,
    confidence: bool = False,
    documents: bool = False,
) -> JudgedRun:
    """Find the judged documents of a run.

    Parameters
    ----------
    qrels : Qrels, or an object of another form
        The judgments.
    run : Run, or an object of another form
        The run; queries without judgments are left out. In dictionaries, only judged documents are looked up.
    complete : bool
        Include judged queries that the run lacks, as queries without retrieved documents.
    depth : int, optional
        Number of documents of each query that count, best first (trec_eval's ``-M``).
    judged_only : bool
        Remove documents without a judgment, or with a negative one, from the ranking (``-J``), after applying
        ``depth``.
    score_type : {"float64", "float32"}
        The precision of scores. With float32, more documents are tied.
    order : {"score", "rank", "line"}
        How documents are ranked: by score, by the rank column of the run's file, or by line order.
    ties : {"docid-desc", "docid-asc", "line", "ranx", "worst"}
        Which of two documents with equal scores is ranked first: the one with the larger id, the smaller id or the
        earlier line; the one that ranx's sort puts first; or the one with the lower label.
    tied : bool
        Fill `JudgedRun.tied`.
    pooled : bool
        Give documents that are judged only for other queries a row in `JudgedRun.hits`, with the judgment -1. ``Hole``
        needs this.
    confidence : bool
        Fill `JudgedRun.confidence`.
    documents : bool
        Fill `JudgedRun.documents`.

    Returns
    -------
    JudgedRun
        The judged run, with queries in byte order.

    Raises
    ------
    DataError
        The dictionaries are not a run, an option has an unknown value, or the run lacks the ranks to rank by.

    Examples
    --------
    >>> judged = judge(Qrels({"1": {"a": 1, "b": 2}}), Run({"1": {"x": 3.0, "a": 2.0}}))
    >>> judged.hits.rank.tolist(), judged.ideal.rel.tolist(), judged.num_ret.tolist()
    ([2], [2, 1], [2])
    """
    for name, value, known in (("order", order, ORDERS), ("ties", ties, TIES), ("score_type", score_type, WIDTHS)):
        if not isinstance(value, str) or value not in known:
            raise DataError(f"{name} must be {' or '.join(known)}, not {shown(value)}")
    if not isinstance(depth, (Integral, NoneType)):
        raise DataError(f"depth must be a whole number, not {shown(depth)}")
    qrels = qrels if isinstance(qrels, Qrels) else Qrels(qrels)
    given: Any = run
    table = run if isinstance(run, Run) else parted(given)[0] if is_nested(run) else Run(given)
    ranking = Ranking(order, score_type, ties, judged_only=judged_only, depth=depth)
    ranking = ranking._replace(tied=tied, pooled=pooled, confidence=confidence, documents=documents)
    return judge_by(qrels, table, ranking, complete=complete)


def judge_by(
    qrels: Qrels, run: Run | Mapping[str, Mapping[str, float]], ranking: Ranking, *, complete: bool
) -> JudgedRun:
    """Find the judged documents of a run under a ranking; otherwise like `judge`."""
    compiled, limit = scanner(), limit_if_plain(ranking)
    if compiled is None or limit is None or isinstance(run, Run) or not isinstance(run, Mapping):
        table = run if isinstance(run, Run) else Run(run)
        located = locate(qrels, table, ranking)
        return assemble(qrels, [located], complete=complete, tag=table.tag, known=ranking.known)
    narrow = ranking.score_type == FLOAT32
    hits, num_ret, some, left = compiled.judge_nested(qrels.by_text(), run, narrow, limit, ranking.judged_only)
    # Dictionaries that are not plain (other types, other alphabets, long lists of hits) are converted to a table.
    rest = locate(qrels, Run({qid: run[qid] for qid in left}), ranking) if left else None
    return in_order(qrels, hits, num_ret, rest, some=some, complete=complete, known=ranking.known)


def judge_arranged(qrels: Qrels, run: Run, ranking: Ranking) -> tuple[JudgedRun, Arranged]:
    """Find the judged documents of a run under a ranking, with all judged queries; also return all documents in order.

    Not for rankings by the rank column or of judged documents only, whose ranks are not positions in the order.
    """
    if ranking.self_hits == "drop":
        run, ranking = without_self(run), ranking._replace(self_hits="keep")
    return judge_by(qrels, run, ranking, complete=True), labelled(qrels, run).arranged(ranking)


def in_order(
    qrels: Qrels,
    hits: IntArray,
    num_ret: IntArray,
    rest: Located | None = None,
    *,
    some: bool,
    complete: bool,
    known: str = "all",
) -> JudgedRun:
    """Make the judged run from hits that are in the order of queries and ranks.

    Parameters
    ----------
    qrels : Qrels
        The judgments.
    hits : (3, H) int array
        Query, rank and rel; a query is its position in `Ideal.rows`.
    num_ret : (Q,) int array
        The number of documents of each judged query that count; negative if the run lacks it.
    rest : Located, optional
        Other queries.
    some : bool
        Whether the run lacks judged queries.
    complete, known
        As for `assemble`.
    """
    if rest is None and known == "all" and (complete or not some):
        ideal = qrels.ideal
        best = Hits(ideal.place, ideal.rank, ideal.rel)
        counts = np.maximum(num_ret, 0) if some else num_ret
        return JudgedRun(ideal.qids, Hits(*hits), best, counts, DEFAULT_TAG, None, None, None, {}, qrels.known)
    rows = qrels.ideal.rows
    judged = Located(np.where(num_ret >= 0, rows, -1), Hits(rows[hits[0]], hits[1], hits[2]), num_ret)
    parts = [judged] if rest is None else [judged, rest]
    return assemble(qrels, parts, complete=complete, tag=DEFAULT_TAG, known=known)


def assemble(qrels: Qrels, parts: Sequence[Located], *, complete: bool, tag: str, known: str = "all") -> JudgedRun:
    """Combine separately located parts into one judged run; no query is in two parts.

    Parameters
    ----------
    qrels : Qrels
        The judgments.
    parts : sequence of Located
        The parts, in any order.
    complete : bool
        Include judged queries that no part has, as queries without retrieved documents.
    tag : str
        The run's tag.
    known : {"all", "retrieved"}
        Which judgments form the ideal: all, or only those of retrieved documents.
    """
    ideal = qrels.ideal
    queries = len(qrels.qids)
    num_ret = np.full(queries, -1, dtype=np.int64)
    sure = np.zeros((queries, 3)) if parts and all(part.confidence is not None for part in parts) else None
    for part in parts:
        judged = part.rows >= 0
        num_ret[part.rows[judged]] = part.num_ret[judged]
        if sure is not None and part.confidence is not None:
            sure[part.rows[judged]] = part.confidence[judged]
    there = num_ret >= 0
    if complete:
        num_ret[~there] = 0
        there[:] = True
    rows = ideal.rows[there[ideal.rows]]
    place = np.full(queries, -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    hits = parts[0].hits if len(parts) == 1 else Hits.concatenate([part.hits for part in parts])
    tables = [part.tied for part in parts if part.tied is not None]
    tied = Tied(*map(np.concatenate, zip(*tables, strict=True))) if tables and len(tables) == len(parts) else None
    query = place[hits.query]
    if (query[1:] < query[:-1]).any():
        order = np.argsort(query, kind="stable")
        hits, query = Hits(query[order], hits.rank[order], hits.rel[order]), query[order]
        tied = None if tied is None else tied.where(order)
    hits = Hits(query, hits.rank, hits.rel)
    sure = None if sure is None else sure[rows]
    documents = None
    if parts and parts[0].documents is not None:
        from treceval_py.judging.documents import of_queries

        documents = of_queries(qrels, rows.tolist(), [part.documents or {} for part in parts])
    if len(rows) == queries and known == "all":
        best = Hits(ideal.place, ideal.rank, ideal.rel)
        return JudgedRun(ideal.qids, hits, best, num_ret[rows], tag, tied, sure, documents, {}, qrels.known)
    if known == "retrieved":
        best = _best_of_retrieved(parts, place)
    else:
        kept = there[ideal.query]
        best = Hits(place[ideal.query[kept]], ideal.rank[kept], ideal.rel[kept])
    qids = tuple([qrels.qids[row] for row in rows.tolist()])
    return JudgedRun(qids, hits, best, num_ret[rows], tag, tied, sure, documents)


def _best_of_retrieved(parts: Sequence[Located], place: IntArray) -> Hits:
    """Return the judged documents that were retrieved, in the order of the best possible ranking."""
    hits = Hits.concatenate([part.hits if part.known is None else part.known for part in parts])
    query = place[hits.query]
    order = np.lexsort((~hits.rel, query))
    query = query[order]
    return Hits(query, nth_of(query), hits.rel[order])


def judge_groups(groups: JudgmentGroups, run: Run, *, complete: bool = True, ranking: Ranking = PLAIN) -> JudgedGroups:
    """Find the judged documents of a run for each group of judgments; errors as for `judge`."""
    qids = sorted((qid for qid in groups.qids if complete or qid in run), key=encode)
    if not ranking.plain:
        run, ranking = arranged(run, ranking), Ranking(judged_only=ranking.judged_only, depth=ranking.depth)
    sets = [list(groups.groups[qid].values()) for qid in qids]
    # The documents that any group of a query judged are looked up once, labelled with their numbers in the query.
    pools = [sorted(set[bytes]().union(*of_query)) for of_query in sets]
    starts = np.cumsum([0, *map(len, pools)])
    numbers = np.arange(starts[-1]) - np.repeat(starts[:-1], np.diff(starts))
    pooled = Qrels.from_columns(qids, starts, Ids.from_bytes(list(chain.from_iterable(pools))), numbers)
    located = locate(pooled, run, ranking._replace(judged_only=False))
    hits, there = located.hits, located.rows >= 0
    num_ret, rank_of = np.zeros(len(qids), dtype=np.int64), np.zeros(len(numbers), dtype=np.int64)
    num_ret[located.rows[there]] = located.num_ret[there]
    rank_of[starts[hits.query] + hits.rel] = hits.rank
    # One row for each judgment of a group.
    of_group, every = np.repeat(np.arange(len(sets)), list(map(len, sets))), list(chain.from_iterable(sets))
    group = np.repeat(np.arange(len(every)), list(map(len, every)))
    rel = np.array([label for judged in every for label in judged.values()], dtype=np.int64)
    places: list[int] = []
    for start, pool, of_query in zip(starts.tolist(), pools, sets, strict=False):
        places += map(dict(zip(pool, range(start, start + len(pool)), strict=True)).__getitem__, chain(*of_query))
    place, query = np.array(places, dtype=np.int64), of_group[group]
    rank = rank_of[place]
    found = np.flatnonzero((rank > 0) & (rel >= 0) if ranking.judged_only else rank > 0)
    found = found[np.lexsort((rank[found], group[found]))]
    hits, counts = Hits(group[found], rank[found], rel[found]), num_ret[of_group]
    # Ranks of the judgments, unlike those of hits, are without documents that no group labels 0 or more.
    labelled = np.unique(place[rel >= 0])
    shown_at = np.zeros_like(rank_of)
    shown_at[labelled] = rank_of[labelled]
    if ranking.judged_only:
        hits = hits._replace(rank=nth_of(hits.query))
        counts = np.bincount(hits.query, minlength=len(every)).astype(np.int64)
        labelled = labelled[rank_of[labelled] > 0]
        of_query_at = np.searchsorted(starts, labelled, side="right")
        labelled = labelled[np.lexsort((rank_of[labelled], of_query_at))]
        shown_at[labelled] = nth_of(np.sort(of_query_at))
    best = np.lexsort((~rel, group))
    ideal = Hits(group, nth_of(group), rel[best])
    rankings = JudgedRun(tuple([qids[number] for number in of_group.tolist()]), hits, ideal, counts, run.tag)
    order = np.lexsort((group, place))
    columns = query, group, numbers[place], shown_at[place], rel
    return JudgedGroups(tuple(qids), of_group, rankings, GroupJudgments(*(column[order] for column in columns)))


def missing_queries(judged: Sequence[str], retrieved: Sequence[str]) -> list[str]:
    """Return the queries of ``judged`` that ``retrieved`` lacks, in byte order."""
    return sorted(set(judged).difference(retrieved), key=encode)
