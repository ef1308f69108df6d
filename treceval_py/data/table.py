"""The common base of judgments and runs: columns that can be read as per-query dictionaries.

A table keeps its rows in file order, grouped by query: ``offsets[i]:offsets[i + 1]`` are the rows of ``qids[i]``.
Document ids are in one buffer (`Ids`), so a run of millions of lines takes the memory of its bytes, not of a Python
object per line. Reading a table as a mapping builds one query's dictionary on access.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from treceval_py._types import AnyArray, FloatArray, IntArray
from treceval_py.data.ids import Ids, encode, repeated, shown
from treceval_py.errors import DataError, brief

if TYPE_CHECKING:
    import pandas as pd

Value = TypeVar("Value")

FORMS = {
    "judgments": "Give a path, {qid: {docid: rel}}, a DataFrame with columns qid, docid and rel, or rows of these.",
    "run": "Give a path, {qid: {docid: score}}, {qid: [docid, …]} with the best first, a DataFrame with columns qid, "
    "docid and score, or rows of these.",
    "groups": "Give a path, {qid: label}, {qid: {attribute: label}}, or a DataFrame with a column qid.",
}
"""The forms that judgments, runs and groups of queries can have, for messages."""

Place = Callable[[int], str]
"""Describes a row, by its number from 0, for a message: ``" of document 'a' of query '1'"``, with the space."""


class Table(Mapping[str, dict[str, Value]]):
    """Rows of (query, document, value), grouped by query, that read as ``table[qid][docid]``.

    Attributes
    ----------
    qids : tuple of str, length Q
        The queries, in order of their first rows.
    offsets : (Q + 1,) int array
        The rows of ``qids[i]`` are ``offsets[i]:offsets[i + 1]``.
    docids : Ids, length D
        The documents, in file order within a query.
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
        """Return the position of a query in ``qids``, or None."""
        return self._rows.get(qid)

    def span(self, row: int) -> tuple[int, int]:
        """Return the first row of query number ``row``, and the row after its last one."""
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
        return f"<{type(self).__name__} {brief(self.name)!r}: {len(self):,} queries, {len(self.docids):,} documents>"

    def to_dict(self) -> dict[str, dict[str, Value]]:
        """Return the table as plain dictionaries, ``{qid: {docid: value}}``."""
        return {qid: self[qid] for qid in self}

    def to_frame(self) -> pd.DataFrame:
        """Return the table as a DataFrame with the columns ``qid``, ``docid`` and the value."""
        import pandas as pd

        qids = np.repeat(np.array(self.qids, dtype=object), np.diff(self.offsets))
        frame: pd.DataFrame = pd.DataFrame({"qid": qids, "docid": self.docids.text(), self._values_are: self._column()})
        return frame


def from_nested(nested: object) -> tuple[list[str], IntArray, Ids, list[Any]] | None:
    """Convert ``{qid: {docid: value}}`` with ids as text to columns; None for anything else."""
    if not isinstance(nested, Mapping):
        return None
    docids: list[Any] = []
    values: list[Any] = []
    cuts = [0]
    for qid, documents in nested.items():
        if not isinstance(qid, str) or not isinstance(documents, Mapping):
            return None
        docids.extend(documents)
        values.extend(documents.values())
        cuts.append(len(docids))
    try:
        text = "".join(docids)
    except TypeError:  # an id is not text
        return None
    qids, offsets = list(nested), np.array(cuts, dtype=np.int64)
    if not text.isascii():
        return qids, offsets, encoded_ids(qids, cuts, docids), values
    ends = np.zeros(len(docids) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, docids), dtype=np.int64, count=len(docids)), out=ends[1:])
    return qids, offsets, Ids(text.encode(), ends), values


def is_nested(given: object) -> bool:
    """Return whether an object is ``{qid: {…: …}}`` with text for queries; inner dictionaries are not checked."""
    return isinstance(given, Mapping) and set(map(type, given)) <= _TEXT and set(map(type, given.values())) <= {dict}


_TEXT = {str, np.str_}


def encoded_ids(qids: Sequence[str], cuts: Sequence[int], docids: Sequence[str]) -> Ids:
    """Return ids as a column; refuse ids of one query with the same bytes."""
    encoded = encode_all(docids)
    for qid, start, stop in zip(qids, cuts, cuts[1:], strict=False):
        if len(set(encoded[start:stop])) < stop - start:
            what = f"two documents of query {shown(qid)} are encoded as the same bytes"
            raise DataError(what, "Use valid Unicode text.")
    return Ids.from_bytes(encoded)


def from_flat(qids: Sequence[str], docids: Sequence[str], what: str) -> tuple[list[str], IntArray, Ids, IntArray]:
    """Convert one row per document to columns grouped by query; also return the new order of the rows."""
    first = {qid: number for number, qid in enumerate(dict.fromkeys(qids))}
    query = np.fromiter(map(first.__getitem__, qids), dtype=np.int64, count=len(qids))
    order = np.argsort(query, kind="stable")
    offsets = np.searchsorted(query[order], np.arange(len(first) + 1))
    column = Ids.from_bytes(encode_all([docids[row] for row in order.tolist()]))
    check_no_duplicates(list(first), offsets, column, what, order)
    return list(first), offsets.astype(np.int64), column, order


def check_no_duplicates(
    qids: Sequence[str], offsets: IntArray, docids: Ids, what: str, order: IntArray | None = None
) -> None:
    """Refuse a document that occurs twice in a query; ``order`` (D,) has the caller's rows."""
    twice = repeated(docids, offsets)
    if twice is not None:
        query, *rows = twice
        of = f"query {shown(qids[query])} of the {what}"
        at = "" if order is None else f" (rows {order[rows[0]] + 1} and {order[rows[1]] + 1})"
        raise DataError(f"document {shown(docids[rows[0]])} occurs twice in {of}{at}", "Keep one of them.")


def encode_all(docids: Iterable[str]) -> list[bytes]:
    """Return document ids as bytes."""
    docids = list(docids)
    try:
        return list(map(str.encode, docids))
    except UnicodeEncodeError:  # bytes from a file that were not UTF-8
        return list(map(encode, docids))


def place_in(qids: Sequence[str], offsets: IntArray, docids: Ids) -> Place:
    """Return a function that describes rows of a table in messages by document and query."""

    def place(row: int) -> str:
        query = int(np.searchsorted(offsets, row, side="right")) - 1
        return f" of document {shown(docids[row])} of query {shown(qids[query])}"

    return place


def ids_of(values: Sequence[Any], what: str, place: Place) -> list[str]:
    """Return ids as text: text unchanged, and whole numbers in decimal if all ids are numbers.

    Parameters
    ----------
    values : sequence, length D
        The ids.
    what : str
        The kind of ids, for messages: ``query`` or ``document``.
    place : callable
        Describes a row in messages.

    Raises
    ------
    DataError
        An id is missing or has another type, or some are text and others numbers.
    """
    kinds = set(map(type, values))
    if kinds <= {str}:
        return list(values)
    if all(issubclass(kind, str) for kind in kinds):
        return list(map(str.__str__, values))
    if all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds):
        try:
            return [str(int(value)) for value in values]
        except ValueError:  # thousands of digits
            raise DataError(f"a {what} id is a very large number", "Give ids as text.") from None
    for row, value in enumerate(values):
        if isinstance(value, str) or (isinstance(value, (int, np.integer)) and not isinstance(value, bool)):
            continue
        if is_missing(value):
            raise DataError(f"the {what} id{place(row)} is missing", "Fill it in, or remove the row.")
        if isinstance(value, (float, np.floating)):
            what = f"the {what} id{place(row)} is {shown(value)}, a number with a decimal point"
            todo = "Whole numbers become floats in a column with gaps (after a join). Convert them to text first."
            raise DataError(what, todo)
        raise DataError(f"the {what} id{place(row)} is {shown(value)}, not text", "Ids are text, or all whole numbers.")
    row = next(row for row, value in enumerate(values) if not isinstance(value, str))
    what = f"some {what} ids are text, but others are numbers, such as {shown(values[row])}{place(row)}"
    raise DataError(what, "Make all of them text.")


def is_missing(value: object) -> bool:
    """Return whether a value means "missing": None, NaN, and pandas' NA and NaT."""
    if isinstance(value, (float, np.floating)):
        return bool(np.isnan(value))
    if isinstance(value, Decimal):
        return value.is_nan()
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def scores_of(values: Sequence[Any] | AnyArray, place: Place) -> FloatArray:
    """Return scores as float64. (D,).

    Raises
    ------
    DataError
        A score is missing, NaN, beyond float64, or not a number.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind not in "iuf":
        values = values.tolist()
    if not isinstance(values, np.ndarray) and not set(map(type, values)) <= {float, int}:
        values = [_number(value, "score", place, row) for row, value in enumerate(values)]
    try:
        column: FloatArray = np.array(values, dtype=np.float64)
    except OverflowError:
        raise DataError("a score is beyond the range of float64", "Use smaller numbers.") from None
    if np.isnan(column).any():
        row = int(np.flatnonzero(np.isnan(column))[0])
        raise DataError(f"the score{place(row)} is NaN", "A document without a score cannot be ranked.")
    return column


def judgments_of(values: Sequence[Any] | AnyArray, place: Place) -> IntArray:
    """Return judgments as 64-bit integers; 1.0 is accepted, because columns with gaps become floats. (D,).

    Raises
    ------
    DataError
        A judgment is missing, not a whole number, or beyond 64 bits.
    """
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if not set(map(type, values)) <= {int}:
        values = [_whole(_number(value, "judgment", place, row), place, row) for row, value in enumerate(values)]
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        raise DataError("a judgment is beyond 64 bits", "Use smaller whole numbers.") from None


def _number(value: Any, what: str, place: Place, row: int) -> Any:
    """Convert a number of any type to a Python number."""
    if isinstance(value, np.floating):
        return float(value)
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()  # an array or tensor with one number
    if isinstance(value, (int, float)):
        return value
    if is_missing(value):
        raise DataError(f"the {what}{place(row)} is missing", "Fill it in, or remove the row.")
    if isinstance(value, Decimal):  # a database's 0.5
        number = float(value)
        return int(value) if number.is_integer() and value == value.to_integral_value() else number
    what = f"the {what}{place(row)} is {shown(value)}, of type {type(value).__name__}"
    raise DataError(what, "Use numbers.")


def _whole(value: float, place: Place, row: int) -> int:
    if isinstance(value, float) and not value.is_integer():
        if is_missing(value):
            raise DataError(f"the judgment{place(row)} is missing", "Fill it in, or remove the row.")
        raise DataError(f"the judgment{place(row)} is {value!r}, not a whole number", "Use 0, 1, 2 and so on.")
    return int(value)
