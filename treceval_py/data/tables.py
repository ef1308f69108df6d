"""Judgments and runs as columns that read as per-query dictionaries.

A table keeps its rows in the order of the file, grouped by query: ``offsets[i]:offsets[i + 1]`` are the rows of
``qids[i]``. Document ids lie in one buffer (`Ids`), so that a run of millions of lines costs its bytes and not a
Python object a line. Reading a table as a mapping builds the dictionary of one query on access.

Identifiers are text. From files they are bytes, decoded as UTF-8 with ``surrogateescape``, so that any byte survives a
round trip; their order is the order of their bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from treceval_py._types import AnyArray, BoolArray, ByteArray, FloatArray, IntArray
from treceval_py.errors import DataError
from treceval_py.scan import scanner

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "DEFAULT_TAG",
    "RUN_NAME",
    "Ids",
    "Ideal",
    "JudgmentGroups",
    "Preference",
    "Preferences",
    "Qrels",
    "Run",
    "decode",
    "encode",
    "first_of",
    "quoted",
    "repeated",
    "shortened",
]

Value = TypeVar("Value")


def encode(text: str) -> bytes:
    """Return the bytes of an identifier; the inverse of `decode`."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise DataError(f"identifier {text!a} cannot be written as UTF-8", "Use valid Unicode text.") from None


def decode(raw: bytes) -> str:
    """Return the text of an identifier; bytes that are not UTF-8 become lone surrogates."""
    return raw.decode("utf-8", "surrogateescape")


DEFAULT_TAG = "run"
"""The tag of a run that has none."""

RUN_NAME = "<run>"
"""How messages call a run that comes from no file."""

PORTION = 1 << 17
"""Rows that are put in another order at a time."""

LONGEST_SHOWN = 80
"""Bytes of a field that a message shows."""


def shortened(text: bytes) -> str:
    """Return an id or a field as text for a message, which that of a damaged file would fill with a million letters."""
    return decode(text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN]) + "…" * (len(text) > LONGEST_SHOWN)


def quoted(text: bytes) -> str:
    """Return a field in quotes for a message."""
    return f"'{shortened(text)}'"


def first_of(qids: Sequence[str]) -> str:
    """Return the first few of some queries for a message."""
    return ", ".join(shortened(encode(qid)) for qid in qids[:3]) + (", …" if len(qids) > 3 else "")


class Ids(Sequence[str]):
    """A column of identifiers: one buffer of bytes and the offsets that cut it.

    Parameters
    ----------
    buffer : bytes
        The identifiers, one directly after the other.
    offsets : (D + 1,) int array
        ``buffer[offsets[i]:offsets[i + 1]]`` is identifier ``i``.
    """

    __slots__ = ("buffer", "offsets")

    def __init__(self, buffer: bytes, offsets: IntArray) -> None:
        self.buffer = buffer
        self.offsets = offsets

    @classmethod
    def from_bytes(cls, ids: Sequence[bytes]) -> Ids:
        """Build the column from identifiers as bytes."""
        offsets = np.zeros(len(ids) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, ids), dtype=np.int64, count=len(ids)), out=offsets[1:])
        return cls(b"".join(ids), offsets)

    @classmethod
    def concatenate(cls, columns: Sequence[Ids]) -> Ids:
        """Put columns one after the other."""
        sizes = [len(column.buffer) for column in columns]
        starts = np.cumsum([0, *sizes])
        parts = [column.offsets[:-1] + start for column, start in zip(columns, starts, strict=False)]
        offsets = np.concatenate([*parts, starts[-1:]]).astype(np.int64, copy=False)
        return cls(b"".join(column.buffer for column in columns), offsets)

    def take(self, order: IntArray) -> Ids:
        """Return the column with its rows in another order; ``order`` (N,) holds row numbers."""
        offsets = np.zeros(len(order) + 1, dtype=np.int64)
        np.cumsum(np.diff(self.offsets)[order], out=offsets[1:])
        raw: ByteArray = np.frombuffer(self.buffer, dtype=np.uint8)
        parts = []
        # A portion at a time, as there is a number of 8 bytes for each byte.
        for start in range(0, len(order), PORTION):
            cuts = offsets[start : start + PORTION + 1]
            shifts = self.offsets[order[start : start + PORTION]] - cuts[:-1]
            parts.append(raw[np.repeat(shifts, np.diff(cuts)) + np.arange(cuts[0], cuts[-1])].tobytes())
        return Ids(b"".join(parts), offsets)

    def raw(self, start: int = 0, stop: int | None = None) -> list[bytes]:
        """Return rows ``start`` to ``stop`` as a list of bytes."""
        cuts = self.offsets[start : (len(self) if stop is None else stop) + 1].tolist()
        buffer = self.buffer
        return [buffer[a:b] for a, b in pairwise(cuts)]

    def text(self, start: int = 0, stop: int | None = None) -> list[str]:
        """Return rows ``start`` to ``stop`` as a list of strings."""
        return [decode(raw) for raw in self.raw(start, stop)]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: Any) -> Any:
        """Return one identifier as text, or the column of a slice (with step 1)."""
        if isinstance(index, slice):
            return self.take(np.arange(len(self))[index])
        row = range(len(self))[index]
        return decode(self.buffer[self.offsets[row] : self.offsets[row + 1]])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ids):
            return NotImplemented
        return self.buffer == other.buffer and np.array_equal(self.offsets, other.offsets)

    __hash__ = None  # type: ignore[assignment]


class Table(Mapping[str, dict[str, Value]]):
    """Rows of (query, document, value), grouped by query, that read as ``table[qid][docid]``.

    Attributes
    ----------
    qids : tuple of str, length Q
        The queries in the order of their first row.
    offsets : (Q + 1,) int array
        The rows of ``qids[i]`` are ``offsets[i]:offsets[i + 1]``.
    docids : Ids, length D
        The documents, in the order of the file within a query.
    name : str
        Where the table comes from, for messages.
    """

    __slots__ = ("_rows", "docids", "name", "offsets", "qids")

    _values_are = "value"

    def __init__(self, qids: Sequence[str], offsets: IntArray, docids: Ids, *, name: str) -> None:
        self.qids = tuple(qids)
        self.offsets = offsets
        self.docids = docids
        self.name = name
        self._rows = {qid: row for row, qid in enumerate(self.qids)}

    def row_of(self, qid: str) -> int | None:
        """Return the position of a query in `qids`, None when it is not there."""
        return self._rows.get(qid)

    def span(self, row: int) -> tuple[int, int]:
        """Return the first row of query number ``row`` and the one after its last."""
        return int(self.offsets[row]), int(self.offsets[row + 1])

    def _column(self) -> AnyArray:
        raise NotImplementedError

    def __getitem__(self, qid: str) -> dict[str, Value]:
        start, stop = self.span(self._rows[qid])
        return dict(zip(self.docids.text(start, stop), self._column()[start:stop].tolist(), strict=True))

    def __iter__(self) -> Iterator[str]:
        return iter(self.qids)

    def __len__(self) -> int:
        return len(self.qids)

    def __contains__(self, qid: object) -> bool:
        return qid in self._rows

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}: {len(self):,} queries, {len(self.docids):,} documents>"

    def to_dict(self) -> dict[str, dict[str, Value]]:
        """Return the table as plain dictionaries, ``{qid: {docid: value}}``."""
        return {qid: self[qid] for qid in self}

    def to_frame(self) -> pd.DataFrame:
        """Return the table as a DataFrame with the columns ``qid``, ``docid`` and the value."""
        import pandas as pd

        qids = np.repeat(np.array(self.qids, dtype=object), np.diff(self.offsets))
        frame: pd.DataFrame = pd.DataFrame({"qid": qids, "docid": self.docids.text(), self._values_are: self._column()})
        return frame


class Ideal(NamedTuple):
    """All judgments as the best possible run would rank the documents: by descending judgment.

    Attributes
    ----------
    rows : (Q,) int array
        The rows of the queries in the order of their bytes.
    query, rank, rel : (D,) int arrays
        The row of the query, the rank from 1 and the judgment, sorted by place in `rows` and rank.
    """

    rows: IntArray
    query: IntArray
    rank: IntArray
    rel: IntArray


class Qrels(Table[int]):
    """Relevance judgments: ``qrels["301"]`` is ``{docid: rel}``.

    Parameters
    ----------
    judgments : mapping
        ``{qid: {docid: rel}}`` with ids as str and rel as int. Negative rel means in the pool but not judged.

    Attributes
    ----------
    rels : (D,) int array
        The judgment of each row.

    Raises
    ------
    DataError
        An identifier that is not text, a judgment that is no integer.

    Examples
    --------
    >>> qrels = Qrels({"1": {"d1": 2, "d2": 0}})
    >>> qrels["1"]["d1"]
    2
    """

    __slots__ = ("_by_text", "_ideal", "_judgments", "digest", "rels")

    _values_are = "rel"

    def __init__(self, judgments: Mapping[str, Mapping[str, int]] | None = None) -> None:
        qids, offsets, docids, values = _from_nested({} if judgments is None else judgments, "judgments")
        self._set(qids, offsets, docids, _integers(values, "judgment"), name="<judgments>")

    def _set(self, qids: Sequence[str], offsets: IntArray, docids: Ids, rels: IntArray, *, name: str) -> None:
        super().__init__(qids, offsets, docids, name=name)
        self.rels = np.ascontiguousarray(rels, dtype=np.int64)
        # Made when they are asked for, once for all the runs that are scored.
        self._judgments: dict[int, dict[bytes, int]] = {}
        self._by_text: dict[str, tuple[int, dict[str, int]]] | None = None
        self._ideal: Ideal | None = None
        # The hash of the judgments, which the fingerprints of all results made with them share.
        self.digest: str | None = None

    @classmethod
    def from_columns(
        cls, qids: Sequence[str], offsets: IntArray, docids: Ids, rels: IntArray, *, name: str = "<judgments>"
    ) -> Qrels:
        """Build from columns as the attributes describe them; nothing is checked."""
        self = cls.__new__(cls)
        self._set(qids, offsets, docids, rels, name=name)
        return self

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, *, qid: str = "qid", docid: str = "docid", rel: str = "rel") -> Qrels:
        """Build from a DataFrame with a row a judgment.

        Parameters
        ----------
        frame : DataFrame
            One row a judgment.
        qid, docid, rel : str
            The names of its columns. Ids must be text: read files with ``dtype=str`` for them.

        Raises
        ------
        DataError
            A column is missing, an id is not text, a judgment is no integer, a document is judged twice for a query.
        """
        qids, offsets, docids, order = _from_flat(_frame_column(frame, qid), _frame_column(frame, docid), "judgments")
        values = _integers(_taken(_frame_column(frame, rel), order), "judgment")
        return cls.from_columns(qids, offsets, docids, values)

    @classmethod
    def from_arrays(cls, qids: Sequence[str], docids: Sequence[str], rels: AnyArray) -> Qrels:
        """Build from three columns, a row a judgment.

        Parameters
        ----------
        qids, docids : sequence of str, length D
            The query and the document of each judgment.
        rels : (D,) int array
            The judgments.

        Raises
        ------
        DataError
            Lengths differ, an id is not text, a judgment is no integer, a document is judged twice for a query.
        """
        if not len(qids) == len(docids) == len(rels):
            raise DataError(
                f"{len(qids)} qids, {len(docids)} docids and {len(rels)} rels do not fit", "Give three equal lengths."
            )
        names, offsets, column, order = _from_flat(qids, docids, "judgments")
        values = _integers(_taken(np.asarray(rels).tolist(), order), "judgment")
        return cls.from_columns(names, offsets, column, values)

    def to_arrays(self) -> tuple[AnyArray, AnyArray, IntArray]:
        """Return three columns, a row a judgment: qids and docids, (D,) arrays of str objects, and rels, (D,)."""
        qids = np.repeat(np.array(self.qids, dtype=object), np.diff(self.offsets))
        return qids, np.array(self.docids.text(), dtype=object), self.rels

    def _column(self) -> AnyArray:
        return self.rels

    def judgments(self, row: int) -> dict[bytes, int]:
        """Return the judgments of query number ``row`` as ``{docid: rel}`` with ids as bytes, made once."""
        found = self._judgments.get(row)
        if found is None:
            start, stop = self.span(row)
            found = dict(zip(self.docids.raw(start, stop), self.rels[start:stop].tolist(), strict=True))
            self._judgments[row] = found
        return found

    def by_text(self) -> dict[str, tuple[int, dict[str, int]]]:
        """Return all judgments as ``{qid: (row, {docid: rel})}``, made once."""
        if self._by_text is None:
            self._by_text = {qid: (row, self[qid]) for row, qid in enumerate(self.qids)}
        return self._by_text

    @property
    def max_rel(self) -> int:
        """The highest judgment of any query, at least 1: the top of the scale as far as it can be seen."""
        return max(1, int(self.rels.max(initial=1)))

    @property
    def ideal(self) -> Ideal:
        """All judgments as the best possible run would rank the documents, made once."""
        if self._ideal is None:
            rows = np.array(sorted(range(len(self)), key=lambda row: encode(self.qids[row])), dtype=np.int64)
            place = np.empty(len(self), dtype=np.int64)
            place[rows] = np.arange(len(self))
            lengths = np.diff(self.offsets)
            query = np.repeat(np.arange(len(self)), lengths)
            # ~rel falls as rel grows, and unlike -rel there is one for the least of all.
            order = np.lexsort((~self.rels, place[query]))
            starts = np.cumsum(lengths[rows]) - lengths[rows]
            rank = np.arange(1, len(order) + 1) - np.repeat(starts, lengths[rows])
            self._ideal = Ideal(rows, query[order], rank, self.rels[order])
        return self._ideal

    def __reduce__(self) -> tuple[object, ...]:
        return (_qrels_from_columns, (self.qids, self.offsets, self.docids, self.rels, self.name))


class Run(Table[float]):
    """A ranked run: ``run["301"]`` is ``{docid: score}``.

    Parameters
    ----------
    scores : mapping
        ``{qid: {docid: score}}`` with ids as str and scores as numbers; a score may be infinite but not NaN.
    tag : str, optional
        The name of the system that made the run.

    Attributes
    ----------
    scores : (D,) float64 array
        The score of each row; more is better.
    tag : str
        The tag of the file's last line, or as given.
    ranks : (D,) int array or None
        The rank column of the file, where it holds whole numbers. Scores decide; this is only compared with them.

    Raises
    ------
    DataError
        An identifier that is not text, a score that is no number.

    Examples
    --------
    >>> run = Run({"1": {"d1": 0.5, "d2": 0.25}}, tag="mine")
    >>> run["1"]["d2"]
    0.25
    """

    __slots__ = ("ranks", "scores", "tag")

    _values_are = "score"

    def __init__(self, scores: Mapping[str, Mapping[str, float]] | None = None, *, tag: str = DEFAULT_TAG) -> None:
        qids, offsets, docids, values = _from_nested({} if scores is None else scores, "run")
        self._set(qids, offsets, docids, _numbers(values, qids, offsets, docids), tag=tag, name=RUN_NAME)

    def _set(
        self, qids: Sequence[str], offsets: IntArray, docids: Ids, scores: FloatArray, *, tag: str, name: str
    ) -> None:
        super().__init__(qids, offsets, docids, name=name)
        self.scores = np.ascontiguousarray(scores, dtype=np.float64)
        self.tag = tag
        self.ranks: IntArray | None = None

    @classmethod
    def from_columns(
        cls,
        qids: Sequence[str],
        offsets: IntArray,
        docids: Ids,
        scores: FloatArray,
        *,
        tag: str = DEFAULT_TAG,
        name: str = RUN_NAME,
        ranks: IntArray | None = None,
    ) -> Run:
        """Build from columns as the attributes describe them; nothing is checked."""
        self = cls.__new__(cls)
        self._set(qids, offsets, docids, scores, tag=tag, name=name)
        self.ranks = ranks
        return self

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        qid: str = "qid",
        docid: str = "docid",
        score: str = "score",
        tag: str = DEFAULT_TAG,
    ) -> Run:
        """Build from a DataFrame with a row a retrieved document.

        Parameters
        ----------
        frame : DataFrame
            One row a document of a query; the order of rows does not matter.
        qid, docid, score : str
            The names of its columns. Ids must be text: read files with ``dtype=str`` for them.
        tag : str
            The name of the system.

        Raises
        ------
        DataError
            A column is missing, an id is not text, a score is no number, a document occurs twice in a query.
        """
        qids, offsets, docids, order = _from_flat(_frame_column(frame, qid), _frame_column(frame, docid), "run")
        values = _taken(_frame_column(frame, score), order)
        return cls.from_columns(qids, offsets, docids, _numbers(values, qids, offsets, docids), tag=tag)

    @classmethod
    def from_arrays(
        cls,
        qids: Sequence[str],
        ids: AnyArray,
        scores: AnyArray,
        *,
        docids: Sequence[str] | None = None,
        tag: str = DEFAULT_TAG,
    ) -> Run:
        """Build from what a vector index returns for a batch of queries.

        Parameters
        ----------
        qids : sequence of str, length Q
            The queries.
        ids : (Q, k) array of int or str
            The documents found. Integers are positions in `docids`, or, without it, are written in decimal. A
            negative integer (Faiss fills up with -1) or an empty text means that nothing was found and is left out.
        scores : (Q, k) array
            Their scores, more is better. For a distance, give its negative.
        docids : sequence of str, optional
            The identifier of each position of the index.
        tag : str
            The name of the system.

        Raises
        ------
        DataError
            Shapes differ, a position is beyond `docids`, a document occurs twice in a query, a score is NaN.

        Examples
        --------
        >>> import numpy as np
        >>> run = Run.from_arrays(["q1"], np.array([[2, 0, -1]]), np.array([[0.9, 0.5, 0.0]]), docids=["a", "b", "c"])
        >>> run["q1"]
        {'c': 0.9, 'a': 0.5}
        """
        ids, scores = np.asarray(ids), np.asarray(scores)
        if ids.ndim != 2 or ids.shape != scores.shape or len(qids) != len(ids):
            raise DataError(
                f"{len(qids)} queries, ids of shape {ids.shape} and scores of shape {scores.shape} do not fit",
                "Give Q queries and two arrays of shape (Q, k).",
            )
        if ids.dtype.kind not in "iuUO":
            raise DataError(f"ids of type {ids.dtype}", "Give integers or text.")
        positions = ids.dtype.kind in "iu"
        there = ids >= 0 if positions else ids != ""
        found = ids[there]
        column = _names_of(found, docids) if positions else _text_column(found.tolist())
        for qid in qids:
            _check_id(qid, "query")
        lengths = there.sum(axis=1)
        kept = [qid for qid, length in zip(qids, lengths.tolist(), strict=True) if length]
        if len(set(kept)) < len(kept):  # a query in several rows
            names = np.repeat(np.array(qids, dtype=object), lengths).tolist()
            kept, offsets, column, order = _from_flat(names, column.text(), "run")
            return cls.from_columns(
                kept, offsets, column, _numbers(scores[there][order], kept, offsets, column), tag=tag
            )
        offsets = np.concatenate([[0], np.cumsum(lengths[lengths > 0])]).astype(np.int64)
        _check_no_duplicates(kept, offsets, column, "run")
        return cls.from_columns(kept, offsets, column, _numbers(scores[there], kept, offsets, column), tag=tag)

    def where(self, keep: BoolArray) -> Run:
        """Return the run with those rows that ``keep`` (D,) has; a query may be left without documents."""
        before = np.concatenate([[0], np.cumsum(keep)]).astype(np.int64)
        return Run.from_columns(
            self.qids,
            before[self.offsets],
            self.docids.take(np.flatnonzero(keep)),
            self.scores[keep],
            tag=self.tag,
            name=self.name,
            ranks=None if self.ranks is None else self.ranks[keep],
        )

    def to_arrays(self) -> tuple[list[str], AnyArray, FloatArray]:
        """Return what a vector index would: for each query its k best documents, best first.

        Returns
        -------
        qids : list of str, length Q
            The queries.
        ids : (Q, k) array of str objects
            Their documents in the order of `scores`, equal ones as in the table; k is the length of the longest list.
            Shorter ones are filled up with empty texts.
        scores : (Q, k) float64 array
            The scores, filled up with minus infinity.
        """
        longest = int(np.diff(self.offsets).max(initial=0))
        ids = np.full((len(self), longest), "", dtype=object)
        scores = np.full((len(self), longest), -np.inf)
        for row in range(len(self)):
            start, stop = self.span(row)
            order = np.argsort(-self.scores[start:stop], kind="stable")
            ids[row, : stop - start] = np.array(self.docids.text(start, stop), dtype=object)[order]
            scores[row, : stop - start] = self.scores[start:stop][order]
        return list(self.qids), ids, scores

    def _column(self) -> AnyArray:
        return self.scores

    def __reduce__(self) -> tuple[object, ...]:
        columns = (self.qids, self.offsets, self.docids, self.scores)
        return (_run_from_columns, (*columns, self.tag, self.name, self.ranks))


class Preference(NamedTuple):
    """One line of preference judgments: in a sub-group of a group a document was given a level."""

    group: bytes
    subgroup: bytes
    docid: bytes
    level: float
    line: int = 0


class Preferences:
    """Preference judgments: within a sub-group a document of a higher level is preferred to one of a lower level.

    See trec_eval's formats ``prefs`` and ``qrels_prefs``.

    Attributes
    ----------
    qids : tuple of str, length Q
        The queries, in the order of their first line.
    rows : dict
        For each query its lines in the order of the file.
    name : str
        Where the judgments come from, for messages.
    """

    __slots__ = ("name", "qids", "rows")

    def __init__(self, rows: Mapping[str, Sequence[Preference]], *, name: str = "<preferences>") -> None:
        self.rows = {qid: list(lines) for qid, lines in rows.items()}
        self.qids = tuple(self.rows)
        self.name = name

    @property
    def max_rel(self) -> int:
        """1: levels of preferences are no scale."""
        return 1

    def __repr__(self) -> str:
        return f"<Preferences {self.name!r}: {len(self.qids):,} queries>"


class JudgmentGroups:
    """Judgments by several assessors or groups: for each query one set of judgments a group.

    Attributes
    ----------
    qids : tuple of str, length Q
        The queries, in the order of their first line.
    groups : dict
        ``groups[qid][group][docid]`` is the judgment, ids as bytes, groups in the order of their bytes.
    name : str
        Where the judgments come from, for messages.
    """

    __slots__ = ("groups", "name", "qids")

    def __init__(
        self, groups: Mapping[str, Mapping[bytes, Mapping[bytes, int]]], *, name: str = "<judgment groups>"
    ) -> None:
        self.groups = {qid: {key: dict(sets[key]) for key in sorted(sets)} for qid, sets in groups.items()}
        self.qids = tuple(self.groups)
        self.name = name

    @classmethod
    def from_dict(cls, judgments: Mapping[str, Mapping[str, Mapping[str, int]]]) -> JudgmentGroups:
        """Build from ``{qid: {group: {docid: rel}}}`` with ids as str, as of subtopics or of assessors.

        Raises
        ------
        DataError
            An identifier that is not text, a judgment that is no integer.

        Examples
        --------
        >>> JudgmentGroups.from_dict({"1": {"subtopic 1": {"d1": 1}, "subtopic 2": {"d1": 0, "d2": 1}}})
        <JudgmentGroups '<judgment groups>': 1 queries>
        """
        form = "Give a dictionary {qid: {group: {docid: rel}}}."
        if not isinstance(judgments, Mapping):
            raise DataError(f"judgments of type {type(judgments).__name__}", form)
        nested: dict[str, dict[bytes, dict[bytes, int]]] = {}
        for qid, groups in judgments.items():
            _check_id(qid, "query")
            if not isinstance(groups, Mapping):
                raise DataError(f"query {qid!r} has a {type(groups).__name__} instead of a dictionary", form)
            of_query = nested.setdefault(qid, {})
            for group, labels in groups.items():
                _check_id(group, "group")
                if not isinstance(labels, Mapping):
                    what = f"group {group!r} of query {qid!r} has a {type(labels).__name__} instead of a dictionary"
                    raise DataError(what, form)
                rels = _integers(list(labels.values()), "judgment").tolist()
                of_group = dict(zip(_encoded(labels), rels, strict=True))
                if encode(group) in of_query or len(of_group) < len(labels):
                    kind = "documents of a group" if len(of_group) < len(labels) else "groups"
                    what = f"two {kind} of query {qid!r} are written with the same bytes"
                    raise DataError(what, "Use valid Unicode text.")
                of_query[encode(group)] = of_group
        return cls(nested)

    @property
    def max_rel(self) -> int:
        """The highest judgment of any query, at least 1: the top of the scale as far as it can be seen."""
        labels = (sets.values() for groups in self.groups.values() for sets in groups.values())
        return max(1, max((max(each, default=1) for each in labels), default=1))

    def __repr__(self) -> str:
        return f"<JudgmentGroups {self.name!r}: {len(self.qids):,} queries>"


def _qrels_from_columns(qids: Sequence[str], offsets: IntArray, docids: Ids, rels: IntArray, name: str) -> Qrels:
    return Qrels.from_columns(qids, offsets, docids, rels, name=name)


def _run_from_columns(
    qids: Sequence[str],
    offsets: IntArray,
    docids: Ids,
    scores: FloatArray,
    tag: str,
    name: str,
    ranks: IntArray | None,
) -> Run:
    return Run.from_columns(qids, offsets, docids, scores, tag=tag, name=name, ranks=ranks)


def _from_nested(nested: Mapping[str, Mapping[str, Any]], what: str) -> tuple[list[str], IntArray, Ids, list[Any]]:
    """Turn ``{qid: {docid: value}}`` into columns."""
    if not isinstance(nested, Mapping):
        raise DataError(f"{what} of type {type(nested).__name__}", "Give a dictionary {qid: {docid: value}}.")
    docids: list[bytes] = []
    values: list[Any] = []
    offsets = [0]
    for qid, documents in nested.items():
        _check_id(qid, "query")
        if not isinstance(documents, Mapping):
            raise DataError(
                f"query {qid!r} has a {type(documents).__name__} instead of a dictionary {{docid: value}}",
                "Give a dictionary {qid: {docid: value}}.",
            )
        encoded = _encoded(documents)
        if len(encoded) != len(set(encoded)):
            raise DataError(
                f"two documents of query {qid!r} are written with the same bytes", "Use valid Unicode text."
            )
        docids.extend(encoded)
        values.extend(documents.values())
        offsets.append(len(docids))
    return list(nested), np.array(offsets, dtype=np.int64), Ids.from_bytes(docids), values


def _encoded(docids: Iterable[Any]) -> list[bytes]:
    """Return document ids as bytes, and refuse what is no text."""
    docids = list(docids)
    try:
        return list(map(str.encode, docids))
    except (TypeError, UnicodeEncodeError):  # no text, or bytes that came from a file and were no UTF-8
        for docid in docids:
            _check_id(docid, "document")
        return list(map(encode, docids))


def _text_column(docids: Iterable[Any]) -> Ids:
    return Ids.from_bytes(_encoded(docids))


def _from_flat(qids: Sequence[Any], docids: Sequence[Any], what: str) -> tuple[list[str], IntArray, Ids, IntArray]:
    """Turn a row a document into columns grouped by query; also return the order in which rows were taken."""
    first: dict[str, int] = {}
    for qid in qids:
        if qid not in first:
            _check_id(qid, "query")
            first[qid] = len(first)
    query = np.fromiter((first[qid] for qid in qids), dtype=np.int64, count=len(qids))
    order = np.argsort(query, kind="stable")
    offsets = np.searchsorted(query[order], np.arange(len(first) + 1))
    column = Ids.from_bytes(_encoded(_taken(docids, order)))
    _check_no_duplicates(list(first), offsets, column, what)
    return list(first), offsets.astype(np.int64), column, order


def _check_no_duplicates(qids: Sequence[str], offsets: IntArray, docids: Ids, what: str) -> None:
    twice = repeated(docids, offsets)
    if twice is not None:
        query, _, row = twice
        raise DataError(
            f"document {docids[row]!r} occurs twice in query {qids[query]!r} of the {what}", "Keep one of them."
        )


def repeated(docids: Ids, offsets: IntArray) -> tuple[int, int, int] | None:
    """Find the first document that comes twice in a query.

    Parameters
    ----------
    docids : Ids, length D
        The documents.
    offsets : (Q + 1,) int array
        Where the rows of each query begin, and D.

    Returns
    -------
    tuple or None
        The number of the query and the two rows; None where no document comes twice.
    """
    compiled = scanner()
    if compiled is not None and compiled.repeated(docids.buffer, docids.offsets, offsets.astype(np.int64)) < 0:
        return None
    for query, (start, stop) in enumerate(pairwise(offsets.tolist())):
        raw = docids.raw(start, stop)
        if len(set(raw)) == len(raw):
            continue
        seen: dict[bytes, int] = {}
        for row, docid in enumerate(raw, start):
            if docid in seen:
                return query, seen[docid], row
            seen[docid] = row
    return None


def _frame_column(frame: pd.DataFrame, name: str) -> list[Any]:
    if name not in frame.columns:
        has = ", ".join(map(str, frame.columns))
        raise DataError(f"the frame has no column {name!r} (it has {has})", "Name the columns to use.")
    column: list[Any] = frame[name].tolist()
    return column


def _taken(column: Sequence[Any], order: IntArray) -> list[Any]:
    return [column[row] for row in order.tolist()]


def _names_of(positions: AnyArray, docids: Sequence[str] | None) -> Ids:
    """Return the ids at positions of an index, which without ids of its own has its positions in decimal."""
    if docids is not None:
        beyond = int(positions.max(initial=-1))
        if beyond >= len(docids):
            raise DataError(
                f"position {beyond} is beyond the {len(docids)} docids", "Give the docids of the index, in its order."
            )
        return _text_column([docids[position] for position in positions.tolist()])
    # As text of one width, padded with NULs, which are then left out.
    digits = positions.astype("S20").view(np.uint8).reshape(len(positions), 20)
    written = digits != 0
    offsets = np.zeros(len(positions) + 1, dtype=np.int64)
    np.cumsum(written.sum(axis=1), out=offsets[1:])
    return Ids(digits[written].tobytes(), offsets)


def _check_id(identifier: object, kind: str) -> None:
    if not isinstance(identifier, str):
        raise DataError(
            f"{kind} id {identifier!r} is of type {type(identifier).__name__}, not str",
            "Ids are text, so that 7 and 0007 stay apart: use str.",
        )


def _integers(values: list[Any], what: str) -> IntArray:
    if not set(map(type, values)) <= {int}:
        for value in values:
            if isinstance(value, (int, np.integer)):
                continue
            raise DataError(f"{what} {value!r} is of type {type(value).__name__}, not int", "Use whole numbers.")
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        raise DataError(f"a {what} is beyond 64 bits", "Use smaller whole numbers.") from None


def _numbers(values: list[Any] | AnyArray, qids: Sequence[str], offsets: IntArray, docids: Ids) -> FloatArray:
    def place(position: int) -> str:
        row = int(np.searchsorted(offsets, position, side="right")) - 1
        return f"document {docids[position]!r} of query {qids[row]!r}"

    if isinstance(values, np.ndarray) and values.dtype.kind not in "iuf":
        values = values.tolist()
    if isinstance(values, list) and not set(map(type, values)) <= {float, int}:
        for position, value in enumerate(values):
            if isinstance(value, (int, float, np.integer, np.floating)):
                continue
            raise DataError(
                f"the score of {place(position)} is {value!r}, of type {type(value).__name__}", "Use numbers."
            )
    try:
        column = np.array(values, dtype=np.float64)
    except OverflowError:
        raise DataError("a score is beyond the range of float64", "Use smaller numbers.") from None
    if np.isnan(column).any():
        position = int(np.flatnonzero(np.isnan(column))[0])
        raise DataError(f"the score of {place(position)} is NaN", "A document without a score cannot be ranked.")
    return column
