"""Runs matched with judgments of a sample: judged documents at their ranks, and how each document was drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from treceval_py._types import AnyArray, BoolArray, FloatArray, IntArray
from treceval_py.data.ids import Ids
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import Ranking, without_self
from treceval_py.data.run import Run
from treceval_py.data.sample import Sample
from treceval_py.errors import EvaluationError
from treceval_py.judging.judged import Hits, JudgedRun, nth_of
from treceval_py.judging.located import labelled
from treceval_py.judging.locating import judge_by

LEAST_GRADE = -999
"""A judgment that is this low is none, in files with probabilities."""


class Pool(NamedTuple):
    """The documents of the pool, retrieved or not, sorted by query.

    Attributes
    ----------
    query : (D,) int array
        The row of the query in `JudgedSample.qids`.
    rel : (D,) int array
        The judgment. With strata, it is negative if the document was not drawn.
    stratum : (D,) int array
        The row of its stratum in `JudgedSample.strata`; 0 without strata.
    probability : (D,) float array
        The probability with which it was drawn: of a stratum, the share that was judged.
    """

    query: IntArray
    rel: IntArray
    stratum: IntArray
    probability: FloatArray


class Strata(NamedTuple):
    """The strata of all queries, sorted by query.

    Attributes
    ----------
    query : (S,) int array
        The row of the query in `JudgedSample.qids`.
    pooled, judged : (S,) int arrays
        The number of its documents, and of those that were judged.
    """

    query: IntArray
    pooled: IntArray
    judged: IntArray


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class JudgedSample(JudgedRun):
    """A run matched with judgments of a sample.

    `hits` has the pooled documents that were retrieved, also those that were not drawn, whose judgment is negative.

    Attributes
    ----------
    row : (H,) int array
        The row of each hit in `pool`.
    pool : Pool
        All documents of the pool.
    strata : Strata or None
        The strata; None if documents have probabilities of their own.
    drawn : (Q,) bool array
        Whether documents of the query were drawn at random.
    depth : int or None
        The number of documents of each query that count; None for all.
    """

    row: IntArray
    pool: Pool
    strata: Strata | None
    drawn: BoolArray
    depth: int | None = None

    @property
    def of_strata(self) -> Strata:
        """The strata, for measures that need them.

        Raises
        ------
        EvaluationError
            There are only probabilities.
        """
        if self.strata is None:
            fault = "these judgments have probabilities, and no strata"
            raise EvaluationError(fault, "Choose measures for probabilities, such as statAP.")
        return self.strata

    @property
    def weight(self) -> FloatArray:
        """The number of documents that each one of `pool` represents, 1 / probability; 0 if that is 0. (D,)."""
        weight = np.zeros(len(self.pool.query))
        return np.divide(1.0, self.pool.probability, out=weight, where=self.pool.probability > 0)

    def estimated(self, mask: BoolArray) -> FloatArray:
        """Estimate how many documents are like those of a mask (D,) of the pool. Returns (Q,)."""
        if self.strata is None:
            return self.sum(self.pool.query[mask], self.weight[mask])
        query, pooled, judged = self.strata
        share = np.bincount(self.pool.stratum[mask], minlength=len(query)) * pooled / np.maximum(judged, 1)
        return self.sum(query, share)

    def running(self, values: AnyArray) -> AnyArray:
        """Add values (H,) of hits down each ranking, with that of the hit itself. Returns (H,)."""
        totals = np.zeros_like(values)
        for start, stop in pairwise(self.starts(self.hits).tolist()):
            np.cumsum(values[start:stop], out=totals[start:stop])
        return totals

    def select(self, keep: BoolArray) -> JudgedSample:
        """Return the judged sample of the queries selected by ``keep`` (Q,)."""
        if keep.all():
            return self
        renumbered, kept, strata = np.cumsum(keep) - 1, keep[self.pool.query], self.strata
        pool = self.pool._replace(query=renumbered[self.pool.query])
        if strata is not None:
            own = keep[strata.query]
            pool = pool._replace(stratum=(np.cumsum(own) - 1)[pool.stratum])
            strata = Strata(*(column[own] for column in strata._replace(query=renumbered[strata.query])))
        return _with_sample(
            super().select(keep),
            (np.cumsum(kept) - 1)[self.row[keep[self.hits.query]]],
            Pool(pool.query[kept], pool.rel[kept], pool.stratum[kept], pool.probability[kept]),
            strata,
            self.drawn[keep],
            self.depth,
        )


def _with_sample(
    run: JudgedRun, row: IntArray, pool: Pool, strata: Strata | None, drawn: BoolArray, depth: int | None
) -> JudgedSample:
    shown = run.qids, run.hits, run.ideal, run.num_ret, run.tag, run.tied, run.confidence, run.documents
    return JudgedSample(*shown, row=row, pool=pool, strata=strata, drawn=drawn, depth=depth)


def judge_sample(
    qrels: Qrels, run: Run | Mapping[str, Mapping[str, float]], ranking: Ranking, *, complete: bool
) -> JudgedSample:
    """Find the documents of a sample in a run; parameters and errors as for `judge_by`."""
    sample, depth, ranking = qrels.sample, ranking.depth, ranking._replace(sample=False)
    if sample is None:
        raise EvaluationError("these judgments are not of a sample", file=qrels.name)
    run = run if isinstance(run, Run) else Run(run)
    if not ranking.plain:
        run = without_self(run) if ranking.self_hits == "drop" else run
        run = labelled(qrels, run).arranged(ranking._replace(tied=False)).run
        ranking = Ranking(judged_only=ranking.judged_only, depth=depth)
    there, rels = np.ones(len(qrels.rels), dtype=bool), qrels.rels
    if sample.probabilities is not None:
        there = ~np.isnan(sample.probabilities) & (rels > LEAST_GRADE)
    # Documents are judged by their rows, from which all else follows; negative if they are as if not judged.
    rows, offsets = np.flatnonzero(there), np.append(0, np.cumsum(there))[qrels.offsets]
    numbers = np.arange(len(rows))
    numbered = Qrels.__new__(Qrels)
    numbered._set(
        qrels.qids,
        offsets,
        qrels.docids if there.all() else qrels.docids.take(rows),
        np.where(rels[rows] < 0, ~numbers, numbers),
        name=qrels.name,
        bare=qrels.bare,
    )
    judged = judge_by(numbered, run, ranking, complete=complete)
    at = np.where(judged.hits.rel < 0, ~judged.hits.rel, judged.hits.rel)
    of_query = qrels.rows_of(judged.qids)
    sizes = np.diff(offsets)[of_query]
    begins = np.cumsum(sizes) - sizes
    # The rows of the judgments in the order of the queries here, and the place of each in that order.
    order = np.arange(int(sizes.sum())) + np.repeat(offsets[of_query] - begins, sizes)
    place = np.zeros(len(rows), dtype=np.int64)
    place[order] = np.arange(len(order))
    query, rel, drawn = np.repeat(np.arange(len(of_query)), sizes), rels[rows[order]], sample[rows[order]]
    pool, strata = Pool(query, rel, np.zeros_like(query), np.ones(len(query))), None
    random = np.ones(len(of_query), dtype=bool)
    if drawn.strata is not None:
        names: dict[str, int] = {}
        codes = np.array([names.setdefault(name, len(names)) for name in drawn.strata.tolist()], dtype=np.int64)
        keys, stratum = np.unique(query * max(1, len(names)) + codes, return_inverse=True)
        pooled, counted = np.bincount(stratum), np.bincount(stratum[rel >= 0], minlength=len(keys))
        strata = Strata(keys // max(1, len(names)), pooled, counted)
        pool = pool._replace(stratum=stratum, probability=(counted / pooled)[stratum])
    elif drawn.probabilities is not None and drawn.methods is not None:
        certain = np.isin(drawn.methods, (0, 2))
        pool = pool._replace(probability=np.where(certain, 1.0, drawn.probabilities))
        random = np.bincount(query[drawn.methods != 0], minlength=len(of_query)) > 0
    best = np.lexsort((~rel, query))
    ideal = Hits(query[best], nth_of(query[best]), rel[best])
    row = place[at]
    with_labels = Hits(judged.hits.query, judged.hits.rank, rel[row])
    run_of_labels = JudgedRun(judged.qids, with_labels, ideal, judged.num_ret, judged.tag)
    # What only judgments decide is shared by runs, as their queries and rows are the same.
    known = qrels.known.setdefault("sample", {}) if len(judged.qids) == len(qrels.qids) else {}
    return replace(_with_sample(run_of_labels, row, pool, strata, random, depth), _known=known)


def drawn_labels(labels: str, missed: str = "") -> JudgedSample:
    """Return the judged sample of one query from its labels in rank order, for worked examples and tests.

    Parameters
    ----------
    labels : str
        One label per rank, separated by blanks: a judgment and, after a colon, the document's stratum or, if these are
        numbers, its probability; or ``-`` for a document that is not in the pool.
    missed : str
        The labels of documents that were not retrieved.

    Examples
    --------
    >>> drawn_labels("1:a - -1:b", missed="0:b").weight.tolist()
    [1.0, 2.0, 2.0]
    """
    ranked, others = labels.split(), missed.split()
    pooled = [(f"{at:09}", *label.split(":")) for at, label in enumerate(ranked + others) if label != "-"]
    docids, rels, drawn = (np.array(column, dtype=object) for column in zip(*pooled, strict=True))
    sample = Sample(drawn)
    if all(text.replace(".", "").isdecimal() for text in drawn):
        sample = Sample(None, drawn.astype(np.float64), np.ones(len(drawn), dtype=np.int64))
    offsets = np.array([0, len(pooled)])
    qrels = Qrels.from_columns(["q"], offsets, Ids.from_text(docids.tolist()), rels.astype(np.int64), sample=sample)
    run = Run({"q": {f"{at:09}": -float(at) for at in range(len(ranked))}})
    return judge_sample(qrels, run, Ranking(), complete=True)
