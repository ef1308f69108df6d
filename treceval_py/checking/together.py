"""Checks of a run against judgments: which queries are judged, whether documents are, and whether labels agree.

Only the first documents of each query are looked up, plus all others until a judged one is found. So checking a run
that fits its judgments costs hardly more than reading it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from treceval_py.checking.findings import Collector
from treceval_py.checking.lists import PlacedLists
from treceval_py.checking.queries import Shape
from treceval_py.checking.rows import QueryLines
from treceval_py.data.ids import beginning_of, decode, encode, quoted
from treceval_py.data.qrels import Qrels
from treceval_py.diagnosis.columns import Kind
from treceval_py.diagnosis.lookalikes import Known, but_known, like_document
from treceval_py.diagnosis.noting import LEAST_SAMPLED, Sampled, is_pooled, judged_elsewhere, unlike
from treceval_py.diagnosis.signs import DEPTH

MOST_SAMPLED = 100_000
"""Most documents that are looked up; more would not change a share."""

MOST_UNKNOWN = 0.5
"""If at least this share of the first documents is not judged for any query, this is reported."""

MOST_SPELLED = 100_000
"""Most unjudged queries that are compared with the judged ones; if a file has more, spelling is not the cause."""

NAMED = 5
"""Most missing queries that a message names."""


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
        self._known: Known | None = None
        self._seen: set[bytes] = set()
        self._spelled = 0  # queries that are not judged, and were compared with the judged ones
        self._alike: set[bytes] = set()
        self._documents = 0  # of judged queries
        self._hit = False  # whether one of them is judged
        self._sampled = Sampled(0, 0, 0, 0)
        self._strays: list[bytes] = []  # sampled documents that are not judged for their query
        # The first documents of the first judged queries, and the chunk with them: to find out why nothing is judged.
        self._first: dict[str, list[bytes]] = {}
        self._chunk: PlacedLists | None = None
        self._turned = False  # whether the documents of the first lines are ids of judged queries

    def take(self, rows: QueryLines) -> None:
        """Check the queries and documents of a chunk."""
        lists, starts, judged = PlacedLists(rows, self._kind), rows.starts.tolist(), False
        for number, qid in enumerate(rows.qids):
            row = self._qrels.row_of(decode(qid))
            new = qid not in self._seen
            self._seen.add(qid)
            if row is not None:
                judged = True
                self._documents += starts[number + 1] - starts[number]
                self._look_at_documents(lists, number, row, new=new)
            elif new:
                self._look_at_spelling(rows, starts[number], qid)
        if not judged and not self._seen.difference(rows.qids):
            documents = rows.docids.raw(0, min(len(rows.docids), 100))
            self._turned = all(self._qrels.row_of(decode(docid)) is not None for docid in documents)

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
        else:
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
        if self._collector.room("X204"):
            known, todo = f"query {but_known(qid, like)}", "Write query ids as in QRELS."
            self._collector.add("X204", known, todo, line=int(rows.lines[row]), column=rows.column(row, 0))

    def _look_at_documents(self, lists: PlacedLists, number: int, query: int, *, new: bool) -> None:
        """Look up documents of a judged query: its first ones when it is seen for the first time, and all if needed."""
        start, stop = lists.offsets[number : number + 2].tolist()
        if self._kind.name == "judged-ranking" and self._collector.wants("X210"):
            self._compare_labels(lists.rows, query, start, stop)
        sampled = new and self._sampled.number < MOST_SAMPLED
        if not sampled and self._hit:
            return
        judged = set(self._qrels.docids.raw(*self._qrels.span(query)))
        if sampled:
            first = lists.best(number, DEPTH)
            strays = [docid for docid in first if docid not in judged]
            queries, documents, hits, possible = self._sampled
            hits, possible = hits + len(first) - len(strays), possible + min(len(first), len(judged))
            self._sampled = Sampled(queries + 1, documents + len(first), hits, possible)
            self._strays += strays
            if len(self._first) < DEPTH and not self._hit and self._chunk in (None, lists):
                self._first[self._qrels.qids[query]] = first
                self._chunk = lists
        self._hit = self._hit or not judged.isdisjoint(lists.docids.raw(start, stop))
        self._chunk = None if self._hit else self._chunk

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
            if judged == rel or (judged is None and rel <= 0) or not self._collector.room("X210"):
                continue
            labelled = f"document {quoted(docid)} of query {quoted(encode(self._qrels.qids[query]))} has label {rel}"
            other = f"{labelled}, but QRELS " + ("does not judge it" if judged is None else f"says {judged}")
            todo = "Use the label of QRELS, or find out which one is right."
            self._collector.add("X210", other, todo, line=int(rows.lines[row]), column=rows.column(row, field))

    def _tell_no_common_query(self, shape: Shape) -> None:
        ours, theirs = _named(shape.first_line), _named(map(encode, self._qrels.qids))
        todo = "Write query ids as in QRELS." if self._alike else "Is it a run for other queries?"
        several = len(shape.first_line) > 1
        queries = f"none of {len(shape.first_line):,} queries is" if several else "the only query is not"
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
        todo = "It is not scored." if len(others) == 1 else "They are not scored."
        unjudged = f"{of} {are} not judged; the first is {quoted(others[0])}"
        self._collector.add("X203", unjudged, todo, line=shape.first_line[others[0]])

    def _tell_no_judged_document(self) -> None:
        if not self._collector.wants("X205") or self._chunk is None:
            self._collector.count("X205")
            return
        lists, line, column = self._chunk, 0, 0
        alike = like_document(self._qrels, [*self._first.items()])
        if alike is not None:
            row = lists.docids.raw().index(alike[0])
            line, column = lists.line(row), lists.column(row, self._kind.docid)
        sign = unlike(self._qrels, self._strays, self._documents, alike)
        self._collector.add(sign.code, sign.what, sign.todo, line=line, column=column)

    def _tell_few_judged(self) -> None:
        """Report that hardly any of the first documents are judged for their query, or many for no query."""
        sampled, strays = self._sampled, self._strays
        few, most = sampled.too_few(self._qrels), MOST_UNKNOWN * sampled.number
        pooled = sampled.number >= LEAST_SAMPLED and is_pooled(self._qrels)
        if not few and (not pooled or len(strays) < most):
            return
        unknown = len(strays) - judged_elsewhere(self._qrels, strays)
        version = "Is it the version of the corpus that was judged?"
        if few:
            unjudged = f"{sampled.documents} only {sampled.words} judged for their query"
            unjudged += f", and {unknown:,} are not judged for any query" if unknown >= most else ""
            self._collector.add("X206", unjudged, version if unknown >= most else "Do the query ids match QRELS?")
        elif unknown >= most:
            self._collector.add("X207", f"{sampled.documents} {unknown:,} are not judged for any query", version)


def _named(qids: Iterable[bytes]) -> str:
    """Return the ids of the first few queries for a message."""
    first = [beginning_of(qid) for qid in islice(qids, NAMED + 1)]
    return ", ".join([*first[:NAMED], *(["…"] if len(first) > NAMED else [])])
