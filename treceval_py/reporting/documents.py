"""The parts of rankings that a report keeps: judged ranks, first documents, and the ranks of relevant documents.

Runs are added one by one, and only these parts are kept, so a report of many runs holds no whole run in memory.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from treceval_py._types import FloatArray, IntArray
from treceval_py.corpora.texts import PlacedTexts
from treceval_py.data.ids import decode, encode
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import limit_of
from treceval_py.data.run import Run
from treceval_py.judging.judged import JudgedRun
from treceval_py.judging.locating import judge_arranged
from treceval_py.ranges.assessment import range_of_labels, range_of_ties
from treceval_py.rendering.envelope import json_safe
from treceval_py.reporting.robustness import Range, known_ranges
from treceval_py.scoring.conventions import Conventions
from treceval_py.scoring.evaluation import Evaluator
from treceval_py.scoring.filling import judge_opened
from treceval_py.scoring.opening import Opened, open_run
from treceval_py.scoring.planning import Task
from treceval_py.scoring.signatures import concise

FIRST = 100
"""Documents of each list used for overlap."""

DEEP = 500
"""Queries for which that many documents are kept; for the others, only those shown."""

SHOWN, FEWER = 20, 10
"""Documents of each list that a page names; the second number is used when space is short."""

ROOM = 1_500_000
"""Bytes that documents may take up in a page."""

OF_A_RUN, HARDEST, SPREAD = 50, 10, 50
"""When space is short: queries kept for their difference in a run, as the hardest, and evenly spread by difficulty."""

LISTS = 20
"""Runs with lists when space is shorter still: the best ones, and the baseline."""

MANY = 40
"""Most runs for which ranges over labels of unjudged documents are computed, the slowest step."""

SAMPLE = 40
"""Queries whose documents are written as a sample to estimate the space of the others."""


ShortArray: TypeAlias = npt.NDArray[np.int32]

Passages: TypeAlias = "Mapping[str, str] | PlacedTexts"
"""Texts of documents by id, or their source."""


class KeptRun(NamedTuple):
    """A run as a report keeps it.

    Attributes
    ----------
    name, tag : str
        Its source, and its tag.
    judged : JudgedRun
        All judged queries, with the ranks that tied documents could have.
    firsts : (Q, FIRST) int32 array
        The number of the document at each of the first ranks, -1 if there is none.
    relevant : (N,) int32 array
        The rank of each relevant document of each query, 0 if not retrieved.
    ties, unjudged : dict of str to Range
        The range of each measure over the orders of ties, and over labels of unjudged documents, if available.
    qids : frozenset of str
        The queries that the run has.
    """

    name: str
    tag: str
    judged: JudgedRun
    firsts: ShortArray
    relevant: ShortArray
    ties: dict[str, Range]
    unjudged: dict[str, Range]
    qids: frozenset[str]


class _List(NamedTuple):
    """The documents of a query in a run: the first ones with their places, from 0, and the relevant ones with ranks."""

    row: int
    first: list[bytes]
    places: slice | IntArray
    relevant: list[bytes]
    ranks: IntArray


class Rankings:
    """The rankings of the runs of a report.

    Parameters
    ----------
    qrels : Qrels
        The judgments.
    conventions : Conventions
        How documents are ranked.
    tasks : mapping of str to Task
        The measures, by their names in the comparison.

    Attributes
    ----------
    qids : tuple of str, length Q
        All judged queries, in the order of their bytes.
    starts : (Q + 1,) int array
        The start of each query's relevant documents in `KeptRun.relevant`.
    grades : (N,) int array
        The grades of the relevant documents, query by query, highest first.
    runs : list of KeptRun
        The runs that were added.
    """

    def __init__(self, qrels: Qrels, conventions: Conventions, tasks: Mapping[str, Task]) -> None:
        if conventions.bare == "judged" and qrels.bare:
            qrels = qrels.widened(qrels.bare)
        self.qrels = qrels
        self.ranking = conventions.ranking(tied=True)
        self.first = min(FIRST, limit_of(conventions.depth))
        number = len(qrels.qids)
        self.deep = np.zeros(number, dtype=bool)
        self.deep[np.linspace(0, number - 1, min(number, DEEP)).round().astype(np.int64)] = True
        self.tasks = tasks
        ideal = qrels.ideal
        self.qids = ideal.qids
        self.runs: list[KeptRun] = []
        # Relevant documents have the first numbers of a query; others are numbered when first seen.
        relevant = ideal.rel > 0
        self.starts = np.searchsorted(ideal.place[relevant], np.arange(len(ideal.qids) + 1))
        self.grades: IntArray = ideal.rel[relevant]
        self._codes = [self._seed(row) for row in ideal.rows.tolist()]

    @classmethod
    def of(cls, evaluator: Evaluator) -> Rankings:
        """Return empty rankings for the runs that an evaluator scores by relevance judgments."""
        assert isinstance(evaluator.judgments, Qrels)
        tasks = evaluator.plan.tasks
        asked = [concise(task.asked) if evaluator.repeats else task.asked for task in tasks]
        named = {measure.name: task for measure, task in zip(asked, tasks, strict=True)}
        return cls(evaluator.judgments, tasks[0].conventions, named)

    def _seed(self, row: int) -> dict[bytes, int]:
        """Return numbers for the relevant documents of a query: highest grade first, then by id."""
        graded = [(-rel, docid) for docid, rel in self.qrels.judgments(row).items() if rel > 0]
        return {docid: number for number, (_, docid) in enumerate(sorted(graded))}

    def add(self, run: Run) -> None:
        """Keep the needed parts of a run.

        Raises
        ------
        DataError
            It must be ranked by its ranks, but has none.
        """
        opened = open_run(self.qrels, run, keep=True)
        # There, a rank is not a position in the list.
        if self.ranking.order == "rank" or self.ranking.judged_only:
            judged, lists = self._listed(opened)
        else:
            judged, (table, order, *_) = judge_arranged(self.qrels, run, self.ranking)
            lists = self._lists(judged, table, order)
            if opened.kept is not None:
                opened.kept[self.ranking, True, ()] = judged, opened.retrieved
        firsts = np.full((len(self.qids), self.first), -1, dtype=np.int32)
        relevant = np.zeros(len(self.grades), dtype=np.int32)
        for row, ids, ranks, retrieved, places in lists:
            codes = self._codes[row]
            numbers: list[Any] = list(map(codes.get, ids))
            if None in numbers:
                new = [docid for docid, known in zip(ids, numbers, strict=True) if known is None]
                codes.update(zip(new, range(len(codes), len(codes) + len(new)), strict=True))
                numbers = list(map(codes.get, ids))
            firsts[row, ranks] = numbers
            relevant[self.starts[row] + np.array([codes[docid] for docid in retrieved], dtype=np.int64)] = places
        ties = known_ranges(partial(range_of_ties, opened), self.tasks)
        by_labels = partial(range_of_labels, opened, max_rel=self.qrels.max_rel)
        labels = known_ranges(by_labels, self.tasks if len(self.runs) < MANY else {})
        self.runs.append(KeptRun(run.name, run.tag, judged, firsts, relevant, ties, labels, frozenset(run.qids)))

    def _lists(self, judged: JudgedRun, table: Run, order: IntArray) -> Iterator[_List]:
        numbers = table.rows_of(self.qids)
        starts = np.where(numbers >= 0, table.offsets[numbers], 0)
        lengths = np.where(numbers >= 0, table.offsets[numbers + 1] - starts, 0)
        sizes = np.minimum(lengths, np.where(self.deep, self.first, min(self.first, SHOWN)))
        hits = judged.hits.where(judged.hits.rel > 0)
        # The positions of all documents at once: first those at the first ranks, then relevant ones.
        ends = np.cumsum(sizes)
        first = np.arange(int(sizes.sum())) + np.repeat(starts - ends + sizes, sizes)
        rows = order[np.concatenate([first, starts[hits.query] + hits.rank - 1])]
        buffer, cuts = table.docids.buffer, table.docids.offsets
        ids = [buffer[a:b] for a, b in zip(cuts[rows].tolist(), cuts[rows + 1].tolist(), strict=True)]
        retrieved, ids = ids[len(first) :], ids[: len(first)]
        bounds = np.searchsorted(hits.query, np.arange(len(self.qids) + 1)).tolist()
        ends, sizes = ends.tolist(), sizes.tolist()
        for row in np.flatnonzero(numbers >= 0).tolist():
            end, size, begin, stop = ends[row], sizes[row], bounds[row], bounds[row + 1]
            yield _List(row, ids[end - size : end], slice(size), retrieved[begin:stop], hits.rank[begin:stop])

    def _listed(self, opened: Opened) -> tuple[JudgedRun, Iterator[_List]]:
        """Judge a run, and find the documents of its lists by their given ranks."""
        judged, _ = judge_opened(opened, self.ranking._replace(documents=True), complete=True)
        assert isinstance(judged, JudgedRun)
        lists = []
        for row, query in enumerate(judged.documents or ()):
            ids, ranks = [encode(docid) for docid in query.docids], query.ranks
            kept = self.first if self.deep[row] else min(self.first, SHOWN)
            shown = np.flatnonzero(ranks <= kept).tolist()
            relevant = [place for place, label in enumerate(query.labels) if label is not None and label > 0]
            first, retrieved = [ids[place] for place in shown], [ids[place] for place in relevant]
            lists.append(_List(row, first, ranks[shown] - 1, retrieved, ranks[relevant]))
        return replace(judged, documents=None), iter(lists)

    def deepest(self) -> int:
        """Return the length of the longest list."""
        return max(int(run.judged.num_ret.max(initial=0)) for run in self.runs)

    def documents(self, qids: Sequence[str], shown: int, runs: Sequence[int]) -> list[dict[str, Any]]:
        """Return the documents of queries as `report_payload` has them.

        Parameters
        ----------
        qids : sequence of str
            The queries.
        shown : int
            Number of documents named in each list.
        runs : sequence of int
            The runs with lists.
        """
        place = {qid: row for row, qid in enumerate(self.qids)}
        return [self._documents(place[qid], min(shown, self.first), runs) for qid in qids]

    def _documents(self, row: int, shown: int, runs: Sequence[int]) -> dict[str, Any]:
        start, stop = int(self.starts[row]), int(self.starts[row + 1])
        count = stop - start
        lists = np.stack([self.runs[run].firsts[row, :shown] for run in runs])
        ranks = np.stack([self.runs[run].relevant[start:stop] for run in runs])
        used = np.unique(lists)
        used = used[used >= 0]
        named = used[used < count]
        unnamed = np.setdiff1d(np.arange(count), named)
        number = np.full(int(lists.max(initial=-1)) + 2, -1)
        number[used] = np.arange(len(used))
        docids = list(self._codes[row])
        labels = self.qrels.judgments(int(self.qrels.ideal.rows[row]))
        ids = [docids[code] for code in used.tolist()]
        top: list[list[int] | None] = [None] * len(self.runs)
        relevant: list[list[int] | None] = [None] * len(self.runs)
        rows, columns = number[lists].tolist(), ranks[:, np.concatenate([named, unnamed])].tolist()
        for run, numbers, places in zip(runs, rows, columns, strict=True):
            while numbers and numbers[-1] < 0:  # the ranks after the last document
                numbers.pop()
            top[run], relevant[run] = numbers, places
        return {
            "d": [json_safe(decode(docid)) for docid in ids],
            "g": [max(labels.get(docid, -1), -1) for docid in ids],
            "u": self.grades[start + unnamed].tolist(),
            "t": top,
            "r": relevant,
            "n": [int(run.judged.num_ret[row]) for run in self.runs],
        }


def chosen_documents(
    rankings: Rankings, qids: Sequence[str], values: FloatArray, reference: int, texts: Passages | None
) -> dict[str, Any]:
    """Return the documents of as many queries as fit, and their texts.

    Parameters
    ----------
    rankings : Rankings
        The rankings.
    qids : sequence of str, length Q
        The queries of the page.
    values : (S, Q) float array
        The values of the first measure, NaN if a query does not count.
    reference : int
        The run with which others are compared.
    texts : mapping of str to str, or PlacedTexts, optional
        The texts of documents, or their source.

    Returns
    -------
    dict
        ``K``, ``docs`` and ``passages`` of `report_payload`.
    """
    judged = set(rankings.qids)
    rows, some = _by_interest(values, reference)
    rows = [row for row in rows if qids[row] in judged]
    every = list(range(len(rankings.runs)))
    best = np.argsort(-np.nan_to_num(np.nanmean(values, axis=1)), kind="stable")[:LISTS].tolist()
    few = sorted({reference, *best})
    steps = ((len(rows), SHOWN, every), (some, SHOWN, every), (some, FEWER, every), (some, FEWER, few))
    for count, shown, runs in steps:
        fits = _room(rankings, [qids[row] for row in rows[:count]], shown, runs)
        if fits >= count:
            break
    kept = sorted(rows[: min(count, fits)])
    docs: list[dict[str, Any] | None] = [None] * len(qids)
    for row, documents in zip(kept, rankings.documents([qids[row] for row in kept], shown, runs), strict=True):
        docs[row] = documents
    return {"K": min(shown, rankings.first), "docs": docs, "passages": {} if texts is None else _snippets(docs, texts)}


def _by_interest(values: FloatArray, reference: int) -> tuple[list[int], int]:
    """Return all queries, those likeliest to be opened first, and the number of these."""
    others = [run for run in range(len(values)) if run != reference]
    differences = np.nan_to_num(np.abs(values - values[reference]))[others]
    order = np.argsort(-differences, axis=1, kind="stable").T
    hardest = np.argsort(np.median(np.nan_to_num(values, nan=np.inf), axis=0), kind="stable")
    spread = np.linspace(0, len(hardest) - 1, min(SPREAD, len(hardest))).round().astype(np.int64)
    wanted = dict.fromkeys([*order[:OF_A_RUN].ravel().tolist(), *hardest[:HARDEST].tolist(), *hardest[spread].tolist()])
    return list(wanted | dict.fromkeys([*order.ravel().tolist(), *range(values.shape[1])])), len(wanted)


def _room(rankings: Rankings, qids: Sequence[str], shown: int, runs: Sequence[int]) -> int:
    """Return how many of some queries fit, estimated from a sample."""
    sample = [qids[at] for at in np.linspace(0, len(qids) - 1, min(SAMPLE, len(qids))).round().astype(np.int64)]
    if not sample:
        return 0
    # As in the page: compressed, in base64.
    size = len(gzip.compress(json.dumps(rankings.documents(sample, shown, runs)).encode(), 6)) * 4 / 3
    return int(ROOM / (size / len(sample)))


SNIPPET = 200
"""Characters of a document's text in a page."""

TEXTS = 500_000
"""Most bytes for the texts of documents."""

SHORTEST = 25
"""Fewest bytes of a usual text with its id: no more texts are read than so many that fit."""


def _snippets(docs: Sequence[dict[str, Any] | None], texts: Passages) -> dict[str, str]:
    """Return the beginnings of the documents on a page that fit: of relevant documents, then of the best-ranked."""
    ranks: dict[str, tuple[bool, int]] = {}
    for query in docs:
        if query is None:
            continue
        for numbers in query["t"]:
            for rank, number in enumerate(numbers or (), 1):
                if number >= 0:
                    docid, place = query["d"][number], (query["g"][number] <= 0, rank)
                    ranks[docid] = min(place, ranks.get(docid, place))
    order = sorted(ranks, key=lambda docid: (ranks[docid], docid))
    if isinstance(texts, PlacedTexts):
        texts = texts.texts_of(dict.fromkeys(order[: TEXTS // SHORTEST]))
    snippets: dict[str, str] = {}
    left = TEXTS
    for docid in order:
        text = texts.get(docid)
        if text is None:
            continue
        snippet = json_safe(_beginning(text))
        left -= len(snippet.encode()) + len(docid.encode())
        if left < 0:
            break
        snippets[docid] = snippet
    return snippets


def _beginning(text: str) -> str:
    """Return the first words of a text."""
    words = " ".join(text[: 4 * SNIPPET].split())
    if len(words) <= SNIPPET and len(text) <= 4 * SNIPPET:
        return words
    return words[:SNIPPET].rsplit(" ", 1)[0] + " …"
