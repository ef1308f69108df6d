"""Relevance judgments as a table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from itertools import islice
from operator import lt
from typing import Any, NamedTuple

import numpy as np

from treceval_py._types import AnyArray, Data, Frame, IntArray
from treceval_py.data.columns import DOCUMENT, JUDGMENT, QUERY
from treceval_py.data.ids import Ids, encode
from treceval_py.data.sample import Sample
from treceval_py.data.table import Table, from_nested, with_bare

QRELS_NAME = "<judgments>"
"""The name, in messages, of judgments that are not from a file."""


class Ideal(NamedTuple):
    """All judgments in the order of the best possible ranking: by descending judgment.

    Attributes
    ----------
    rows : (Q,) int array
        The rows of the queries, in byte order of their ids.
    query, rank, rel : (D,) int arrays
        The row of the query, the rank from 1, and the judgment; sorted by position in `rows`, then by rank.
    place : (D,) int array
        The position of the query in `rows`.
    qids : tuple of str, length Q
        The queries in byte order.
    """

    rows: IntArray
    query: IntArray
    rank: IntArray
    rel: IntArray
    place: IntArray
    qids: tuple[str, ...]


class Qrels(Table[int]):
    """Relevance judgments: ``qrels["301"]`` is ``{docid: rel}``.

    Parameters
    ----------
    judgments : mapping, frame or rows
        ``{qid: {docid: rel}}``. Or ``{qid: [docid, …]}``, the relevant documents, judged 1; a DataFrame of pandas,
        polars, pyarrow or DuckDB with columns such as ``qid``, ``docid`` and ``rel``; or rows of these. Whole numbers
        are ids, written in decimal. A negative rel means in the pool but not judged.

    Attributes
    ----------
    rels : (D,) int array
        The judgment of each row.
    sample : Sample or None
        How the documents of the rows were drawn, if these are judgments of a sample.

    Raises
    ------
    DataError
        The object has an unsupported form, an id is neither text nor a whole number, or a judgment is not a whole
        number.

    Examples
    --------
    >>> qrels = Qrels({"1": {"d1": 2, "d2": 0}})
    >>> qrels["1"]["d1"]
    2
    """

    _value, _type, _beside = "rel", np.int64, "sample"
    rels: IntArray
    sample: Sample | None = None
    digest: str | None = None
    """The hash of the judgments, shared by the fingerprints of all results made with them."""

    replaced: int = 0
    """The number of lines of the file replaced by a later line for the same document."""

    _given: list[dict[str, int]] | None = None
    _by_text: dict[str, dict[str, int]] | None = None

    def __init__(self, judgments: Data | None = None) -> None:
        given: Any = {} if judgments is None else judgments
        columns = from_nested(given, "judgments")
        if columns is None:
            from treceval_py.data.objects import columns_of

            columns = columns_of(given, "judgments")
        self._set(*columns[:4], name=QRELS_NAME)
        # Look-ups use the caller's ids and labels if they are of plain types, whose bytes and comparison cannot be
        # overridden. They are copied now, because the caller may change the dictionary later.
        if columns.plain:
            self._given = [row.copy() for row in given.values() if row]

    @classmethod
    def from_columns(
        cls,
        qids: Sequence[str],
        offsets: IntArray,
        docids: Ids,
        rels: IntArray,
        *,
        name: str = QRELS_NAME,
        sample: Sample | None = None,
    ) -> Qrels:
        """Build from the attributes `qids`, `offsets`, `docids`, `rels`, `name` and `sample`, without checks."""
        self = cls.__new__(cls)
        self._set(qids, offsets, docids, rels, name=name)
        self.sample = sample
        return self

    @classmethod
    def from_frame(
        cls, frame: Frame, *, qid: str | None = None, docid: str | None = None, rel: str | None = None
    ) -> Qrels:
        """Build from a frame with other column names.

        Parameters
        ----------
        frame : DataFrame
            One row per judgment; of pandas, polars, pyarrow or DuckDB.
        qid, docid, rel : str, optional
            The names of its columns. Default: detected.

        Raises
        ------
        DataError
            A column is missing, an id is neither text nor a whole number, a judgment is not a whole number, or a
            document is judged twice for a query.
        """
        from treceval_py.data.objects import columns_of

        return cls.from_columns(*columns_of(frame, "judgments", {QUERY: qid, DOCUMENT: docid, JUDGMENT: rel})[:4])

    @classmethod
    def from_arrays(cls, qids: Sequence[Any], docids: Sequence[Any], rels: AnyArray | Sequence[int]) -> Qrels:
        """Build from three columns, one row per judgment.

        Parameters
        ----------
        qids, docids : sequence of str or int, length D
            The query and the document of each judgment.
        rels : (D,) int array
            The judgments.

        Raises
        ------
        DataError
            Lengths differ, an id is neither text nor a whole number, a judgment is not a whole number, or a document is
            judged twice for a query.
        """
        from treceval_py.data.objects import flat_columns

        return cls.from_columns(*flat_columns(qids, docids, rels)[:4])

    def to_arrays(self) -> tuple[AnyArray, AnyArray, IntArray]:
        """Return three columns, one row per judgment: qids and docids, (D,) arrays of str objects, and rels, (D,)."""
        qids = np.repeat(np.array(self.qids, dtype=object), np.diff(self.offsets))
        return qids, np.array(self.docids.text(), dtype=object), self.rels

    def judgments(self, row: int) -> dict[bytes, int]:
        """Return the judgments of query number ``row`` as ``{docid: rel}`` with ids as bytes; cached."""
        if row not in self.known:
            start, stop = self.span(row)
            self.known[row] = dict(zip(self.docids.raw(start, stop), self.rels[start:stop].tolist(), strict=True))
        labels: dict[bytes, int] = self.known[row]
        return labels

    def by_text(self) -> dict[str, dict[str, int]]:
        """Return all judgments as ``{qid: {docid: rel}}``, with queries in byte order; cached.

        Look-ups in it never run the caller's code: ids are plain str.
        """
        if self._by_text is None:
            labels, names = self._given or [self[qid] for qid in self.qids], list(map(str.__str__, self.qids))
            self._by_text = {names[row]: labels[row] for row in self.ideal.rows.tolist()}
            self._given = None
        return self._by_text

    @cached_property
    def pool(self) -> frozenset[bytes]:
        """The ids of all documents with a judgment for any query; cached."""
        return frozenset(self.docids.raw())

    @property
    def max_rel(self) -> int:
        """The highest judgment of any query, at least 1: the top of the scale as far as the judgments show it."""
        return max(1, int(self.rels.max(initial=1)))

    @cached_property
    def ideal(self) -> Ideal:
        """All judgments in the order of the best possible ranking; cached."""
        qids: Sequence[Any] = self.qids if "".join(self.qids).isascii() else list(map(encode, self.qids))
        places, named = np.arange(len(qids), dtype=np.int64), self.qids
        rows = place = places
        if not all(map(lt, qids, islice(qids, 1, None))):
            ranked = sorted(range(len(qids)), key=qids.__getitem__)
            rows, place = np.array(ranked, dtype=np.int64), np.empty_like(places)
            place[rows] = places
            named = tuple([self.qids[row] for row in ranked])
        sizes = self.offsets[1:] - self.offsets[:-1]
        # ~rel falls as rel grows and, unlike -rel, exists for the lowest 64-bit integer.
        order = np.lexsort((~self.rels, place.repeat(sizes)))
        sizes = sizes[rows]
        rank = np.arange(1, len(order) + 1) - (sizes.cumsum() - sizes).repeat(sizes)
        return Ideal(rows, rows.repeat(sizes), rank, self.rels[order], places.repeat(sizes), named)

    def widened(self, qids: Sequence[str]) -> Qrels:
        """Return the judgments with the further queries `qids`, in which no document is judged."""
        wider = Qrels.__new__(Qrels)
        wider._set(*with_bare(self.qids, self.offsets, qids), self.docids, self.rels, name=self.name, bare=self.bare)
        wider.sample = self.sample
        return wider

    def __reduce__(self) -> tuple[object, ...]:
        columns = *with_bare(self.qids, self.offsets, self.bare), self.docids, self.rels
        return partial(Qrels.from_columns, name=self.name, sample=self.sample), columns
