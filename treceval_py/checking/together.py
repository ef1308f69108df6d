"""Checks of a run against judgments: which queries are judged, whether documents are, and whether labels agree.

Only the first documents of each query are looked up, plus all others until a judged one is found. So checking a run
that fits its judgments costs hardly more than reading it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import NamedTuple

import numpy as np

from treceval_py._types import FloatArray, IntArray
from treceval_py.checking.findings import Collector
from treceval_py.checking.lookalikes import Known, but_known
from treceval_py.checking.queries import Shape
from treceval_py.checking.rows import QueryLines
from treceval_py.data.ids import beginning_of, decode, encode, quoted
from treceval_py.data.qrels import Qrels
from treceval_py.diagnosis.columns import Kind

DEPTH = 10
"""Number of first documents of a query that are looked up."""

MOST_SAMPLED = 100_000
"""Most documents that are looked up; more would not change a share."""

LEAST_SAMPLED = 50
"""Fewest documents for which a share is meaningful."""

FEW_JUDGED = 0.1
"""If a smaller share of the first documents is judged, this is reported."""

MOST_UNKNOWN = 0.5
"""If at least this share of the first documents is not judged for any query, this is reported."""

POOLED = 20
"""Judgments per query, on average, from which they count as a pool, which covers the top of a good run."""

MOST_COMPARED = 300_000
"""Most judged documents that are compared with the documents of a run in which no document is judged."""

MOST_SPELLED = 100_000
"""Most unjudged queries that are compared with the judged ones; if a file has more, spelling is not the cause."""

NAMED = 5
"""Most missing queries that a message names."""


class _Sampled(NamedTuple):
    """A document that was looked up and is not judged for its query: the query's row in QRELS, and its own row."""

    query: int
    row: int


class _Alike(NamedTuple):
    """A document that is judged under an id similar to that in the run."""

    row: int
    docid: bytes
    judged: bytes
    query: str


class Together:
    """Checks a run, or a judged ranking, against judgments, chunk by chunk, and adds its findings to a collector.

    Parameters
    ----------
    qrels : Qrels
        The judgments.
    kind : Kind
        Kind of the file.
    collector : Collector
        Takes the findings.
    """

    def __init__(self, qrels: Qrels, kind: Kind, collector: Collector) -> None:
        self._qrels = qrels
        self._kind = kind
        self._collector = collector
        self._pooled = len(qrels.docids) >= POOLED * len(qrels) and bool((qrels.rels <= 0).any())
        self._known: Known | None = None
        self._seen: set[bytes] = set()
        self._spelled = 0  # queries that are not judged, and were compared with the judged ones
        self._alike: set[bytes] = set()
        self._documents = 0  # of judged queries
        self._hit = False  # whether one of them is judged
        self._sampled = 0
        self._sampled_queries = 0
        self._sampled_judged = 0
        self._strays: list[bytes] = []  # sampled documents that are not judged for their query
        # The first chunk with judged queries, and its sampled documents: to find out why nothing is judged.
        self._first: tuple[QueryLines, list[_Sampled]] | None = None
        self._turned = False  # whether the documents of the first lines are ids of judged queries

    def take(self, rows: QueryLines) -> None:
        """Check the queries and documents of a chunk."""
        starts = rows.starts.tolist()
        judged: list[tuple[int, int, int]] = []
        new: list[bool] = []
        for stretch, qid in enumerate(rows.qids):
            row = self._qrels.row_of(decode(qid))
            first = qid not in self._seen
            if first:
                self._seen.add(qid)
            if row is not None:
                judged.append((row, starts[stretch], starts[stretch + 1]))
                new.append(first)
            elif first:
                self._look_at_spelling(rows, starts[stretch], qid)
        sampled: list[_Sampled] = []
        for (row, start, stop), first in zip(judged, new, strict=True):
            self._documents += stop - start
            self._look_at_documents(rows, row, start, stop, sampled if first else None)
        if not judged and not self._seen.difference(rows.qids):
            documents = rows.docids.raw(0, min(len(rows.docids), 100))
            self._turned = all(self._qrels.row_of(decode(docid)) is not None for docid in documents)
        if self._first is None and judged and not self._hit:
            self._first = (rows, sampled)
        if self._hit:
            self._first = None

    def finish(self, shape: Shape) -> None:
        """Add the findings about the whole run.

        Parameters
        ----------
        shape : Shape
            The queries of the run, as its other checks found them.
        """
        if not shape.first_line:
            return
        judged = [qid for qid in shape.first_line if self._qrels.row_of(decode(qid)) is not None]
        if not judged:
            self._tell_no_common_query(shape)
            return
        self._tell_missing(shape, judged)
        self._tell_not_judged(shape)
        if not self._hit:
            self._tell_no_judged_document()
        elif self._pooled and self._sampled >= LEAST_SAMPLED:
            self._tell_few_judged()

    def _look_at_spelling(self, rows: QueryLines, row: int, qid: bytes) -> None:
        """Report a query that is not judged but looks like one that is."""
        self._spelled += 1
        if self._spelled > MOST_SPELLED:
            return
        if self._known is None:
            self._known = Known(map(encode, self._qrels.qids))
        like = self._known.like(qid)
        if like is None:
            return
        self._alike.add(qid)
        if not self._collector.room("X204"):
            self._collector.count("X204")
            return
        self._collector.add(
            "X204",
            f"query {but_known(qid, like)}",
            "Write query ids as in QRELS.",
            line=int(rows.lines[row]),
            column=rows.column(row, 0),
        )

    def _look_at_documents(
        self, rows: QueryLines, query: int, start: int, stop: int, sampled: list[_Sampled] | None
    ) -> None:
        """Look up documents of a judged query: its first ones when it is seen for the first time, and all if needed."""
        chosen: Sequence[int] = ()
        if sampled is not None and self._sampled < MOST_SAMPLED:
            chosen = _first_of(rows, start, stop)
        if self._kind.name == "judged-ranking" and self._collector.wants("X210"):
            self._compare_labels(rows, query, start, stop)
        if not chosen and self._hit:
            return
        judged = set(self._qrels.docids.raw(*self._qrels.span(query)))
        if sampled is not None and chosen:
            self._sampled += len(chosen)
            self._sampled_queries += 1
            for row in chosen:
                docid = _raw(rows, row)
                if docid in judged:
                    self._sampled_judged += 1
                    self._hit = True
                else:
                    self._strays.append(docid)
                    sampled.append(_Sampled(query, row))
        if not self._hit:
            self._hit = not judged.isdisjoint(rows.docids.raw(start, stop))

    def _compare_labels(self, rows: QueryLines, query: int, start: int, stop: int) -> None:
        """Report labels of a judged ranking that contradict the judgments."""
        rels, field = rows.rels, self._kind.rel
        if rels is None or field is None:
            return
        judgments = self._qrels.judgments(query)
        columns = zip(rows.docids.raw(start, stop), rels[start:stop].tolist(), strict=True)
        for row, (docid, rel) in enumerate(columns, start):
            judged = judgments.get(docid)
            # Most collections treat a document without a judgment as not relevant, like label 0.
            if judged == rel or (judged is None and rel <= 0):
                continue
            if not self._collector.room("X210"):
                self._collector.count("X210")
                continue
            labelled = f"document {quoted(docid)} of query {quoted(encode(self._qrels.qids[query]))} has label {rel}"
            self._collector.add(
                "X210",
                f"{labelled}, but QRELS " + ("does not judge it" if judged is None else f"says {judged}"),
                "Use the label of QRELS, or find out which one is right.",
                line=int(rows.lines[row]),
                column=rows.column(row, field),
            )

    def _tell_no_common_query(self, shape: Shape) -> None:
        ours, theirs = _named(shape.first_line), _named(map(encode, self._qrels.qids))
        todo = "Write query ids as in QRELS." if self._alike else "Is it a run for other queries?"
        queries = (
            f"none of {len(shape.first_line):,} queries is" if len(shape.first_line) > 1 else "the only query is not"
        )
        mismatch = f"{queries} judged: here {ours}; in QRELS {theirs}"
        if self._turned:
            mismatch = f"query and document are swapped: {mismatch}"
            todo = "Write qid Q0 docid rank score tag."
        self._collector.add("X201", mismatch, todo)

    def _tell_missing(self, shape: Shape, judged: Sequence[bytes]) -> None:
        number, total = len(self._qrels) - len(judged), len(self._qrels)
        if not number:
            return
        missing = (qid for qid in map(encode, self._qrels.qids) if qid not in shape.first_line)
        noun, are = "query" if total == 1 else "queries", "is" if number == 1 else "are"
        absence = f"{number:,} of {total:,} judged {noun} {are} missing from the run: {_named(missing)}"
        self._collector.add("X202", absence, "If all judged queries are averaged, each of them counts as 0.")

    def _tell_not_judged(self, shape: Shape) -> None:
        others = [qid for qid in shape.first_line if self._qrels.row_of(decode(qid)) is None]
        if not others or self._alike.issuperset(others):  # each was reported
            return
        # At least one other query is judged.
        are = "is" if len(others) == 1 else "are"
        of = f"{len(others):,} of {len(shape.first_line):,} queries of the run"
        self._collector.add(
            "X203",
            f"{of} {are} not judged; the first is {quoted(others[0])}",
            "It is not scored." if len(others) == 1 else "They are not scored.",
            line=shape.first_line[others[0]],
        )

    def _tell_no_judged_document(self) -> None:
        unjudged = f"none of {self._documents:,} documents is judged for its query"
        if self._documents == 1:
            unjudged = "the only document is not judged for its query"
        alike = self._look_alike() if self._collector.wants("X205") else None
        if alike is not None and self._first is not None:
            rows = self._first[0]
            self._collector.add(
                "X205",
                f"{unjudged}; {but_known(alike.docid, alike.judged)} (query {quoted(encode(alike.query))})",
                "Write document ids as in QRELS.",
                line=int(rows.lines[alike.row]),
                column=rows.column(alike.row, self._kind.docid),
            )
            return
        elsewhere = self._elsewhere()
        todo = "Is the run on another collection than these judgments?"
        if elsewhere:
            unjudged += f"; of the first {self._sampled:,} QRELS judges {elsewhere:,} for other queries"
            todo = "Are the query ids those of QRELS?"
        self._collector.add("X205", unjudged, todo)

    def _tell_few_judged(self) -> None:
        """Report that hardly any of the first documents are judged for their query, or many for no query."""
        few = self._sampled_judged < FEW_JUDGED * self._sampled
        if not few and len(self._strays) < MOST_UNKNOWN * self._sampled:
            return
        unknown = len(self._strays) - self._elsewhere()
        most = "" if self._sampled == DEPTH * self._sampled_queries else ", or fewer,"
        queries = f"{self._sampled_queries:,} judged {'query' if self._sampled_queries == 1 else 'queries'}"
        of = f"of {self._sampled:,} documents (the first {DEPTH}{most} of each of {queries})"
        if few:
            are = "is" if self._sampled_judged == 1 else "are"
            unjudged = f"{of} only {self._sampled_judged:,} {are} judged for their query"
            todo = "Are the query ids those of QRELS?"
            if unknown >= MOST_UNKNOWN * self._sampled:
                unjudged = f"{unjudged}, and {unknown:,} are not judged for any query"
                todo = "Is it the version of the corpus that was judged?"
            self._collector.add("X206", unjudged, todo)
        elif unknown >= MOST_UNKNOWN * self._sampled:
            unjudged = f"{of} {unknown:,} are not judged for any query"
            self._collector.add("X207", unjudged, "Is it the version of the corpus that was judged?")

    def _elsewhere(self) -> int:
        """Count the sampled documents that are judged for another query, but not for their own."""
        wanted, judged = set(self._strays), set()
        portion = 1 << 17
        for start in range(0, len(self._qrels.docids), portion):
            stop = min(start + portion, len(self._qrels.docids))
            judged |= wanted.intersection(self._qrels.docids.raw(start, stop))
        return sum(docid in judged for docid in self._strays)

    def _look_alike(self) -> _Alike | None:
        """Find a document of the first chunk that is judged under a similar id, preferably for its query."""
        if self._first is None:
            return None
        rows, sampled = self._first
        for query, group in groupby(sampled, key=lambda each: each.query):
            known = Known(self._qrels.docids.raw(*self._qrels.span(query)), files=True)
            for _, row in group:
                docid = _raw(rows, row)
                if (judged := known.like(docid)) is not None:
                    return _Alike(row, docid, judged, self._qrels.qids[query])
        return self._look_alike_elsewhere(rows, sampled)

    def _look_alike_elsewhere(self, rows: QueryLines, sampled: Sequence[_Sampled]) -> _Alike | None:
        places = {_raw(rows, row): row for _, row in reversed(sampled)}
        known = Known(places, files=True)
        for place, judged in enumerate(islice(_each(self._qrels), MOST_COMPARED)):
            docid = known.like(judged)
            if docid is not None and docid != judged:
                query = int(np.searchsorted(self._qrels.offsets, place, side="right")) - 1
                return _Alike(places[docid], docid, judged, self._qrels.qids[query])
        return None


def _raw(rows: QueryLines, row: int) -> bytes:
    return rows.docids.buffer[rows.docids.offsets[row] : rows.docids.offsets[row + 1]]


def _each(qrels: Qrels) -> Iterator[bytes]:
    """Yield all judged documents, a portion at a time."""
    portion = 1 << 17
    for start in range(0, len(qrels.docids), portion):
        yield from qrels.docids.raw(start, min(start + portion, len(qrels.docids)))


def _first_of(rows: QueryLines, start: int, stop: int) -> Sequence[int]:
    """Return the rows of the first documents of a query: by score, by rank if there are no scores, or by line."""
    column: FloatArray | IntArray | None = rows.ranks if rows.scores is None else rows.scores
    if rows.ordered or column is None:
        return range(start, min(start + DEPTH, stop))
    keys = column[start:stop] if rows.scores is None else -column[start:stop]
    top: list[int] = (start + np.argsort(keys, kind="stable")[:DEPTH]).tolist()
    return top


def _named(qids: Iterable[bytes]) -> str:
    """Return the ids of the first few queries for a message."""
    first = [beginning_of(qid) for qid in islice(qids, NAMED + 1)]
    return ", ".join([*first[:NAMED], *(["…"] if len(first) > NAMED else [])])
