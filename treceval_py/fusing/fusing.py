"""Fuse runs query by query: what `te.fuse` and ``treceval fuse`` do."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import chain, islice
from typing import Any, NamedTuple, TypeVar

import numpy as np

from treceval_py._types import Data, FloatArray, Source
from treceval_py.data.ids import Ids, encode, first_of, quoted, shown
from treceval_py.data.run import RUN_NAME, Run, joined
from treceval_py.errors import DataError, RunCountError, warn
from treceval_py.fusing.listing import ListedRun, list_run, read_listed
from treceval_py.fusing.methods import Fusion, Lists, align, weights_of
from treceval_py.fusing.observing import Observed, count_tied
from treceval_py.scoring.opening import load_run
from treceval_py.scoring.planning import Reading
from treceval_py.threads import in_order

Made = TypeVar("Made")

GROUP = 64
"""Queries that a thread fuses at a time."""

TRIED = 1024
"""Queries on which settings are tried at a time: each scoring has a cost that grows with all judged queries."""


class FusedQuery(NamedTuple):
    """The fused list of a query.

    Attributes
    ----------
    qid : str
        The query.
    docids : list of bytes, length N
        Its documents, best first; ties are ordered by descending id (by bytes).
    scores : (N,) float array
        Their scores.
    """

    qid: str
    docids: list[bytes]
    scores: FloatArray


class Fused:
    """Runs that are being fused.

    Parameters
    ----------
    runs : sequence of ListedRun
        The runs.
    fusion_of : callable
        Returns the fusion of a query.
    depth, k, strict
        As for `fuse`.
    threads : int, optional
        Number of threads. Default: one per core.

    Attributes
    ----------
    observed : Observed
        The statistics of the queries fused so far.

    Raises
    ------
    DataError
        There are fewer than two runs, or one has no query in common with the others.
    """

    def __init__(
        self,
        runs: Sequence[ListedRun],
        fusion_of: Callable[[str], Fusion],
        depth: int | None = None,
        k: int | None = 1000,
        *,
        strict: bool = False,
        threads: int | None = None,
    ) -> None:
        if len(runs) < 2:
            fault = f"there {'is one run' if runs else 'are no runs'} to fuse, but two or more are needed"
            raise RunCountError(fault, "Add another.")
        for option, number in (("depth", depth), ("k", k)):
            if number is not None and (not isinstance(number, (int, np.integer)) or number < 1):
                raise DataError(f"{option} is {shown(number)}", "Give a whole number from 1, or omit it.")
        self.runs = runs
        self.observed = Observed(len(runs))
        self.qids = list(dict.fromkeys(chain.from_iterable(run.spans for run in runs)))
        self._fusion_of, self._depth, self._k, self._threads = fusion_of, depth, k, threads
        self._check_queries(strict=strict)

    def _check_queries(self, *, strict: bool) -> None:
        for run in self.runs:
            others = [other for other in self.runs if other is not run]
            if not any(qid in other.spans for other in others for qid in run.spans):
                mismatch = f"{run.name} shares no query with {'the other runs' if others[1:] else others[0].name}"
                raise DataError(mismatch, "Give runs of the same queries.")
            lacking = [qid for qid in self.qids if qid not in run.spans] if strict else []
            if lacking:
                missing = f"{run.name} lacks {len(lacking)} of {len(self.qids)} queries ({first_of(lacking)})"
                raise DataError(missing, "Remove strict to fuse each query from the runs that have it.")

    def groups(self, made: Callable[[list[FusedQuery]], Made]) -> Iterator[Made]:
        """Apply a function to groups of fused queries in several threads, and yield its results.

        Queries are in the order of the first run, followed by those that only later runs have.

        Raises
        ------
        DataError
            The method cannot fuse the scores.
        InputError
            A document occurs twice in a query of a run.
        """

        def work(group: list[tuple[str, list[tuple[Ids, FloatArray]]]]) -> tuple[Made, Observed]:
            observed = Observed(len(self.runs))
            return made([self._query(qid, lists, observed) for qid, lists in group]), observed

        lists = ((qid, [run.lists(qid) for run in self.runs]) for qid in self.qids)
        groups = iter(lambda: list(islice(lists, GROUP)), [])
        with closing(in_order(groups, work, self._threads)) as results:
            for result, observed in results:
                self.observed.add(observed)
                yield result

    def _query(self, qid: str, lists: list[tuple[Ids, FloatArray]], observed: Observed) -> FusedQuery:
        aligned = align(lists, self._depth)
        observed.see(aligned)
        fused = self._best(qid, aligned, self._fusion_of(qid))
        observed.cut += len(aligned.docids) > len(fused.docids)
        observed.kept += len(fused.docids)
        observed.fused_ties += count_tied(fused.scores)
        return fused

    def _best(self, qid: str, lists: Lists, fusion: Fusion) -> FusedQuery:
        """Fuse the lists of a query."""
        for run, scores in zip(self.runs, lists.scores, strict=True):
            fault = fusion.fault(scores) if len(scores) else ""
            if fault:
                problem = f"{run.name}: query {quoted(encode(qid))}: {fault}"
                raise DataError(problem, f"Choose another normalisation or method, such as {fusion.instead}.")
        order, scores = lists.best(fusion)
        return FusedQuery(qid, lists.docids[order[: self._k]].tolist(), scores[: self._k])

    def tried(self, qids: Sequence[str], settings: Sequence[Fusion]) -> Iterator[tuple[list[str], Iterator[Run]]]:
        """Yield groups of queries, each with an iterator over their fused runs, one per setting."""
        rest = iter(qids)
        for group in iter(lambda: list(islice(rest, TRIED)), []):
            aligned = [align([run.lists(qid) for run in self.runs], self._depth) for qid in group]
            yield group, (self._of(group, aligned, each) for each in settings)

    def _of(self, qids: list[str], lists: list[Lists], fusion: Fusion) -> Run:
        return run_of([self._best(qid, each, fusion) for qid, each in zip(qids, lists, strict=True)], "")

    def run(self, tag: str) -> Run:
        """Return all fused queries as a run; errors as for `groups`."""
        return joined(list(self.groups(lambda group: run_of(group, tag))))

    def notes(self, fusion: Fusion) -> list[str]:
        """Return notes for people on the runs, once all queries are fused."""
        return self.observed.notes(self.runs, fusion, self._k)


@contextmanager
def opened(
    runs: Sequence[Run | Data | Source], format: str | None = None, max_passage: str | None = None
) -> Iterator[list[ListedRun]]:
    """Read runs and yield them as lists; objects given instead of files are used as they are."""
    with ExitStack() as stack:
        listed_runs: list[ListedRun] = []
        for number, run in enumerate(runs, 1):
            given: Any = run
            if isinstance(given, (str, os.PathLike)) or hasattr(given, "read"):
                listed_runs.append(stack.enter_context(read_listed(given, format)))
            else:
                table = load_run(given)
                listed_runs.append(list_run(table, f"run {number}" if table.name == RUN_NAME else table.name))
        for listed_run in listed_runs:
            listed_run.separator = encode(Reading(max_passage=max_passage).checked().max_passage or "")
        yield listed_runs


def check_several(runs: object) -> None:
    """Refuse one run instead of a list."""
    if not isinstance(runs, Iterable) or isinstance(runs, (str, bytes, os.PathLike, Mapping, Run)):
        raise DataError(f"runs cannot be {shown(runs)}", "Give a list of two or more.")


def fuse(
    runs: Sequence[Run | Data | Source],
    method: str = "rrf",
    *,
    norm: str | None = None,
    weights: Sequence[float] | None = None,
    rrf_k: float = 60,
    rbc_phi: float = 0.8,
    depth: int | None = None,
    k: int | None = 1000,
    strict: bool = False,
    tag: str | None = None,
    max_passage: str | None = None,
) -> Run:
    """Fuse runs into one.

    Parameters
    ----------
    runs : sequence of Run, path, or objects of other forms
        Two or more runs. Documents are ranked by score, as when a run is scored; a query is fused from the runs that
        have it.
    method : str
        ``rrf``, ``combsum``, ``combmnz``, ``weighted``, ``isr``, ``rbc``, ``borda``, ``combanz``, ``combmin``,
        ``combmax`` or ``combmed``.
    norm : str, optional
        Normalisation of the scores of each list, for methods that use scores: ``min-max`` (the default), ``zmuv``,
        ``sum``, ``max``, ``rank`` or ``none``.
    weights : sequence of float, optional
        The weight of each run, for ``weighted``, ``rrf``, ``rbc`` and ``borda``. Default: equal weights.
    rrf_k : float
        The constant of ``rrf``.
    rbc_phi : float
        The persistence of ``rbc``, between 0 and 1.
    depth : int, optional
        Documents used of each list. Default: all. The rest is cut off before scores are normalised.
    k : int or None
        Documents kept per query; None keeps all.
    strict : bool
        Refuse runs with different queries.
    tag : str, optional
        The name of the run. Default: the method and its settings, such as ``rrf-k60``.
    max_passage : str, optional
        Documents of each run are ranked by the best of their segments, as in `evaluate`.

    Returns
    -------
    Run
        The fused run: the queries of the first run in its order, then those that only later runs have.

    Raises
    ------
    DataError
        A setting is unknown or unsuitable, there are fewer than two runs, or the method cannot fuse the scores.
    InputError
        A run cannot be read.

    Warns
    -----
    TrecevalWarning
        Runs lack queries, are identical, have hardly any documents in common, or have unusual scores.

    Notes
    -----
    ``docs/fuse.md`` has the formulas and explains the treatment of missing documents and ties.

    Examples
    --------
    >>> one, other = {"q": {"a": 9.0, "b": 8.0}}, {"q": {"c": 0.7, "b": 0.6}}
    >>> {docid: round(score, 4) for docid, score in fuse([one, other])["q"].items()}
    {'b': 0.0323, 'c': 0.0164, 'a': 0.0164}
    """
    check_several(runs)
    fusion = Fusion(method, norm, None if weights is None else weights_of(weights), rrf_k, rbc_phi)
    with opened(runs, max_passage=max_passage) as listed_runs:
        fused = Fused(listed_runs, lambda _: fusion, depth, k, strict=strict)
        fusion.check_runs(len(listed_runs))
        run = fused.run(tag or fusion.tag(depth))
    for sentence in fused.notes(fusion):
        warn(sentence)
    return run


def run_of(queries: Sequence[FusedQuery], tag: str) -> Run:
    """Return fused lists as a run."""
    scores = np.concatenate([np.empty(0), *(query.scores for query in queries)])
    offsets = np.cumsum([0, *(len(query.docids) for query in queries)])
    docids = Ids.from_bytes(list(chain.from_iterable(query.docids for query in queries)))
    return Run.from_columns([query.qid for query in queries], offsets, docids, scores, tag=tag)
