"""What judgments and runs have in common: columns that read as per-query dictionaries.

A table keeps its rows in the order of the file, grouped by query: ``offsets[i]:offsets[i + 1]`` are the rows of
``qids[i]``. Document ids lie in one buffer (`Ids`), so that a run of millions of lines costs its bytes and not a
Python object a line. Reading a table as a mapping builds the dictionary of one query on access.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from treceval_py._types import AnyArray, IntArray
from treceval_py.data.ids import Ids, encode, repeated
from treceval_py.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Table",
    "check_id",
    "check_no_duplicates",
    "encode_all",
    "frame_column",
    "from_flat",
    "from_nested",
    "integers",
    "taken",
]

Value = TypeVar("Value")


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
        The table's origin, for messages.
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
        """Return the position of a query in `qids`, None if it is not there."""
        return self._rows.get(qid)

    def span(self, row: int) -> tuple[int, int]:
        """Return the first row of query number ``row``, and the row after its last."""
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


def from_nested(nested: Mapping[str, Mapping[str, Any]], what: str) -> tuple[list[str], IntArray, Ids, list[Any]]:
    """Turn ``{qid: {docid: value}}`` into columns."""
    if not isinstance(nested, Mapping):
        raise DataError(f"{what} of type {type(nested).__name__}", "Give a dictionary {qid: {docid: value}}.")
    docids: list[Any] = []
    values: list[Any] = []
    cuts = [0]
    for qid, documents in nested.items():
        if not isinstance(qid, str):
            check_id(qid, "query")
        if not isinstance(documents, Mapping):
            raise DataError(
                f"query {qid!r} has a {type(documents).__name__} instead of a dictionary {{docid: value}}",
                "Give a dictionary {qid: {docid: value}}.",
            )
        docids.extend(documents)
        values.extend(documents.values())
        cuts.append(len(docids))
    try:
        text = "".join(docids)
    except TypeError:  # something that is not text, which is named below
        text = "\udc80"
    qids, offsets = list(nested), np.array(cuts, dtype=np.int64)
    if not text.isascii():
        return qids, offsets, _encoded(qids, cuts, docids), values
    ends = np.zeros(len(docids) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, docids), dtype=np.int64, count=len(docids)), out=ends[1:])
    return qids, offsets, Ids(text.encode(), ends), values


def _encoded(qids: Sequence[str], cuts: Sequence[int], docids: list[Any]) -> Ids:
    """Return ids as a column; refuse those that are not text, and of a query those with the same bytes."""
    encoded = encode_all(docids)
    for qid, start, stop in zip(qids, cuts, cuts[1:], strict=False):
        if len(set(encoded[start:stop])) < stop - start:
            raise DataError(
                f"two documents of query {qid!r} are written with the same bytes", "Use valid Unicode text."
            )
    return Ids.from_bytes(encoded)


def from_flat(qids: Sequence[Any], docids: Sequence[Any], what: str) -> tuple[list[str], IntArray, Ids, IntArray]:
    """Turn one row per document into columns grouped by query; also return the order in which rows were taken."""
    first: dict[str, int] = {}
    for qid in qids:
        if qid not in first:
            check_id(qid, "query")
            first[qid] = len(first)
    query = np.fromiter((first[qid] for qid in qids), dtype=np.int64, count=len(qids))
    order = np.argsort(query, kind="stable")
    offsets = np.searchsorted(query[order], np.arange(len(first) + 1))
    column = Ids.from_bytes(encode_all(taken(docids, order)))
    check_no_duplicates(list(first), offsets, column, what)
    return list(first), offsets.astype(np.int64), column, order


def check_no_duplicates(qids: Sequence[str], offsets: IntArray, docids: Ids, what: str) -> None:
    """Refuse a document that occurs twice in a query."""
    twice = repeated(docids, offsets)
    if twice is not None:
        query, _, row = twice
        raise DataError(
            f"document {docids[row]!r} occurs twice in query {qids[query]!r} of the {what}", "Keep one of them."
        )


def encode_all(docids: Iterable[Any]) -> list[bytes]:
    """Return document ids as bytes; refuse any that is not text."""
    docids = list(docids)
    try:
        return list(map(str.encode, docids))
    except (TypeError, UnicodeEncodeError):  # no text, or bytes that came from a file and were not UTF-8
        for docid in docids:
            check_id(docid, "document")
        return list(map(encode, docids))


def check_id(identifier: object, kind: str) -> None:
    """Refuse an identifier that is not text."""
    if not isinstance(identifier, str):
        raise DataError(
            f"{kind} id {identifier!r} is of type {type(identifier).__name__}, not str",
            "Ids are text, so that 7 and 0007 stay apart: use str.",
        )


def frame_column(frame: pd.DataFrame, name: str) -> list[Any]:
    """Return a column of a DataFrame as a list."""
    if name not in frame.columns:
        has = ", ".join(map(str, frame.columns))
        raise DataError(f"the frame has no column {name!r} (it has {has})", "Name the columns to use.")
    column: list[Any] = frame[name].tolist()
    return column


def taken(column: Sequence[Any], order: IntArray) -> list[Any]:
    """Return the rows of a column in another order."""
    return [column[row] for row in order.tolist()]


def integers(values: list[Any], what: str) -> IntArray:
    """Return values as a column of 64-bit integers; refuse any that is not an integer."""
    if not set(map(type, values)) <= {int}:
        for value in values:
            if isinstance(value, (int, np.integer)):
                continue
            raise DataError(f"{what} {value!r} is of type {type(value).__name__}, not int", "Use whole numbers.")
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        raise DataError(f"a {what} is beyond 64 bits", "Use smaller whole numbers.") from None
