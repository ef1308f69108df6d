"""The common base of judgments and runs: columns that can be read as per-query dictionaries.

A table keeps its rows in file order, grouped by query: ``offsets[i]:offsets[i + 1]`` are the rows of ``qids[i]``.
Document ids are in one buffer (`Ids`), so a run of millions of lines takes the memory of its bytes, not of a Python
object per line. Reading a table as a mapping builds one query's dictionary on access.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from itertools import chain, compress, count, repeat
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np

from treceval_py._types import AnyArray, FloatArray, IntArray
from treceval_py.data.ids import PORTION, Ids, first_of, is_decimal, repeated, shown
from treceval_py.errors import DataError, UnknownKeyError, brief
from treceval_py.scan import scanner

if TYPE_CHECKING:
    from typing import Self

    import pandas as pd

Value = TypeVar("Value")

Kind: TypeAlias = Literal["judgments", "run"]

FORMS = {
    "judgments": "Give a path, {qid: {docid: rel}}, a DataFrame with columns qid, docid and rel, or rows of these.",
    "run": "Give a path, {qid: {docid: score}}, {qid: [docid, …]} with the best first, a DataFrame with columns qid, "
    "docid and score, or rows of these.",
    "groups": "Give a path, {qid: label}, {qid: {attribute: label}}, or a DataFrame with a column qid.",
}
"""The forms that judgments, runs and groups of queries can have, for messages."""

MANY = 1000
"""Number of queries from which a dictionary of them is slower than the compiled scanner's table."""

Place = Callable[[int], str]
"""Describes a row, by its number from 0, for a message: ``" of document 'a' of query '1'"``, with the space."""


class Columns(NamedTuple):
    """Rows as columns, grouped by query, as in a `Table`.

    Attributes
    ----------
    qids : list of str, length Q
        The queries.
    offsets : (Q + 1,) int array
        The first row of each query, and D.
    docids : Ids, length D
        The documents.
    values : (D,) array
        Their judgments or scores.
    ranks : (D,) int array or None
        Their ranks, if known.
    plain : bool
        Whether they are from dictionaries of whole numbers, with ids in ASCII, all of exactly these types.
    """

    qids: list[str]
    offsets: IntArray
    docids: Ids
    values: AnyArray
    ranks: IntArray | None = None
    plain: bool = False


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
    bare : tuple of str
        Queries given without documents, such as an empty dictionary. They are not in the table, as lines of a file
        cannot name them; the convention ``bare`` says where they count nevertheless.
    name : str
        The table's origin, for messages.
    known : dict
        Facts that others derive from the table alone, computed on first use.
    """

    _value: str
    """The name of a value; its plural is the attribute with the column of values."""

    _type: type[np.generic]
    """The type of this column."""

    more: Iterator[Self] | None = None
    """Tables of further queries, if this one is written while they are read."""

    _beside: str
    """The name of another column, or of none if that is None."""

    def _set(
        self,
        qids: Sequence[str],
        offsets: IntArray,
        docids: Ids,
        values: AnyArray,
        *,
        name: str,
        bare: tuple[str, ...] | None = None,
    ) -> None:
        """Set the columns. Queries without rows are set apart, unless those that were given so are named."""
        if bare is None:
            bare, there = (), offsets[1:] > offsets[:-1]
            if not there.all():
                bare, qids = tuple(compress(qids, ~there)), tuple(compress(qids, there))
                offsets = offsets[np.append(True, there)]
        self.bare = bare
        self.qids = tuple(qids)
        self.offsets = offsets
        self.docids = docids
        self.name = name
        self.known: dict[object, Any] = {}
        if len(self.qids) < MANY:  # else it is made when it is needed
            self._rows = dict(zip(self.qids, count()))
        self._column: AnyArray = np.ascontiguousarray(values, dtype=self._type)
        setattr(self, f"{self._value}s", self._column)

    @cached_property
    def _rows(self) -> dict[str, int]:
        """The position of each query."""
        return dict(zip(self.qids, count()))

    def row_of(self, qid: str) -> int | None:
        """Return the position of a query in ``qids``, or None."""
        return self._rows.get(qid)

    def rows_of(self, qids: Sequence[str]) -> IntArray:
        """Return the positions of queries in ``qids``, negative for others. (Q,)."""
        compiled = scanner()
        if compiled is None or len(self.qids) < MANY:
            return np.fromiter(map(self._rows.get, qids, repeat(-1)), dtype=np.int64, count=len(qids))
        sought, (known, slots) = Ids.from_text(qids), self._index
        rows: IntArray = compiled.rows_of(known.buffer, known.offsets, slots, sought.buffer, sought.offsets)
        return rows

    @cached_property
    def _index(self) -> tuple[Ids, AnyArray]:
        """The queries as `rows_of` looks up many of them, in a tenth of the memory of a dictionary."""
        known = Ids.from_text(self.qids)
        return known, cast("Any", scanner()).index(known.buffer, known.offsets)[1]

    def span(self, row: int) -> tuple[int, int]:
        """Return the first row of query number ``row``, and the row after its last one."""
        return int(self.offsets[row]), int(self.offsets[row + 1])

    def portions(self) -> Iterator[Self]:
        """Yield parts of the table with whole queries, of some hundred thousand rows, unless a query has more."""
        if len(self.docids) <= PORTION:
            yield self
            return
        first = 0
        while first < len(self.qids):
            start = int(self.offsets[first])
            last = max(int(np.searchsorted(self.offsets, start + PORTION, side="right")) - 1, first + 1)
            rows = slice(start, int(self.offsets[last]))
            part = type(self).__new__(type(self))
            offsets = self.offsets[first : last + 1] - start
            part._set(self.qids[first:last], offsets, self.docids[rows], self._column[rows], name=self.name)
            beside = getattr(self, self._beside)
            setattr(part, self._beside, None if beside is None else beside[rows])
            yield part
            first = last

    def __getitem__(self, qid: str) -> dict[str, Value]:
        row = self._rows.get(qid)
        if row is None:
            raise no_query(qid, self.qids)
        start, stop = self.span(row)
        return dict(zip(self.docids.text(start, stop), self._column[start:stop].tolist(), strict=True))

    def __iter__(self) -> Iterator[str]:
        return iter(self.qids)

    def __len__(self) -> int:
        return len(self.qids)

    def __contains__(self, qid: object) -> bool:
        return qid in self._rows

    def __repr__(self) -> str:
        queries = f"{len(self):,} {'query' if len(self) == 1 else 'queries'}"
        documents = f"{len(self.docids):,} document{'s' * (len(self.docids) != 1)}"
        return f"<{type(self).__name__} {brief(self.name)!r}: {queries}, {documents}>"

    def to_dict(self) -> dict[str, dict[str, Value]]:
        """Return the table as plain dictionaries, ``{qid: {docid: value}}``; those of bare queries are empty."""
        return {qid: self[qid] for qid in self} | {qid: {} for qid in self.bare}

    def to_frame(self) -> pd.DataFrame:
        """Return the table as a DataFrame with the columns ``qid``, ``docid`` and the value."""
        import pandas as pd

        qids = np.repeat(np.array(self.qids, dtype=object), np.diff(self.offsets))
        return pd.DataFrame({"qid": qids, "docid": self.docids.text(), self._value: self._column})


def no_query(qid: object, qids: Sequence[str]) -> UnknownKeyError:
    """Return the error about a query that is not among some."""
    todo = f"The queries are {first_of(qids)}." if qids else "There are no queries."
    if not isinstance(qid, str) and str(qid) in qids:
        todo = f"Query ids are text: {str(qid)!r}."
    return UnknownKeyError(f"there is no query {shown(qid)}", todo)


def from_nested(nested: object, kind: Kind) -> Columns | None:
    """Convert ``{qid: {docid: value}}`` with ids as text to columns; None for anything else.

    Raises
    ------
    DataError
        A value is invalid, or two documents of a query have the same bytes.
    """
    if not isinstance(nested, Mapping):
        return None
    qids, by_query = list(nested), list(nested.values())
    types = set(map(type, by_query))
    keys_are_text = all(issubclass(key, str) for key in set(map(type, qids)))
    if not keys_are_text or not all(issubclass(value, Mapping) for value in types):
        return None
    documents: list[Any] = list(chain.from_iterable(by_query))
    try:
        docids = Ids.from_text(documents)
    except TypeError:  # an id is not text
        return None
    values = list(chain.from_iterable(judged.values() for judged in by_query))
    offsets = np.cumsum([0, *map(len, by_query)], dtype=np.int64)
    in_ascii = docids.buffer.isascii()
    if not in_ascii and (twice := repeated(docids, offsets)):
        fault = f"two documents of query {shown(qids[twice[0]])} are encoded as the same bytes"
        raise DataError(fault, "Use valid Unicode text.")
    sure = list(map(type, values)).count(NUMBERS[kind]) == len(values)  # twice as fast as a set of types
    column = READERS[kind](values, partial(place_in, qids, offsets, docids), sure=sure)
    plain = kind == "judgments" and sure and in_ascii and types == {dict}
    plain = plain and list(map(type, documents)).count(str) == len(documents)
    return Columns(qids, offsets, docids, column, plain=plain)


def is_nested(given: object) -> bool:
    """Return whether an object is ``{qid: {…: …}}`` with text for queries; inner dictionaries are not checked."""
    return isinstance(given, Mapping) and set(map(type, given)) <= _TEXT and set(map(type, given.values())) <= {dict}


def parted(nested: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Return the queries of nested dictionaries that have documents, and the ids of the others."""
    if all(nested.values()):
        return nested, ()
    return {qid: row for qid, row in nested.items() if row}, tuple([qid for qid, row in nested.items() if not row])


def with_bare(qids: Sequence[str], offsets: IntArray, bare: Sequence[str]) -> tuple[tuple[str, ...], IntArray]:
    """Return the queries and offsets of a table with further queries, which have no rows."""
    return (*qids, *bare), np.append(offsets, np.full(len(bare), offsets[-1]))


_TEXT = {str, np.str_}


class Grouping(NamedTuple):
    """Rows in the order of their queries.

    Attributes
    ----------
    qids : list of str, length Q
        The queries, in order of first occurrence.
    offsets : (Q + 1,) int array
        The first row of each query, and D.
    docids : Ids, length D
        The documents.
    order : (D,) int array or None
        The rows in their new order; None if unchanged.
    """

    qids: list[str]
    offsets: IntArray
    docids: Ids
    order: IntArray | None


def by_query(qids: list[Any], queries: IntArray, lengths: IntArray, docids: Ids) -> Grouping:
    """Order rows by query.

    Parameters
    ----------
    qids : list of str or bytes, length Q
        The queries.
    queries, lengths : (S,) int array
        The query and the number of rows of each stretch.
    docids : Ids, length D
        The documents.
    """
    order = None
    if (queries[1:] < queries[:-1]).any():  # a query's rows are scattered
        # By query, then row: unique numbers sort faster than a stable sort of rows by query.
        bits = int(lengths.sum()).bit_length()
        keys = np.repeat(queries << bits, lengths)
        keys |= np.arange(len(keys))
        keys.sort()
        order = keys & ((1 << bits) - 1)
        docids = docids.take(order)
    offsets = np.zeros(len(qids) + 1, dtype=np.int64)
    np.add.at(offsets, queries + 1, lengths)
    return Grouping(qids, np.cumsum(offsets), docids, order)


def from_flat(qids: Sequence[str], docids: Sequence[str], kind: Kind) -> Grouping:
    """Convert one row per document to columns; errors as for `grouped`."""
    first = {qid: number for number, qid in enumerate(dict.fromkeys(qids))}
    query = np.fromiter(map(first.__getitem__, qids), dtype=np.int64, count=len(qids))
    return grouped(list(first), query, np.ones_like(query), Ids.from_text(docids), kind)


def grouped(qids: list[str], queries: IntArray, lengths: IntArray, docids: Ids, kind: Kind) -> Grouping:
    """Order rows by query as `by_query` does; ``kind`` is what they are, for messages.

    Raises
    ------
    DataError
        A document occurs twice in a query.
    """
    grouping = by_query(qids, queries, lengths, docids)
    rows = range(len(docids)) if grouping.order is None else grouping.order
    check_unique(qids, grouping.offsets, grouping.docids, kind, rows)
    return grouping


def check_unique(
    qids: Sequence[str], offsets: IntArray, docids: Ids, kind: Kind, order: IntArray | range | None = None
) -> None:
    """Refuse a document that occurs twice in a query; ``order`` (D,) has the caller's rows."""
    twice = repeated(docids, offsets)
    if twice is not None:
        query, *rows = twice
        of = f"query {shown(qids[query])} of the {kind}"
        at = "" if order is None else f" (rows {order[rows[0]] + 1} and {order[rows[1]] + 1})"
        raise DataError(f"document {shown(docids[rows[0]])} occurs twice in {of}{at}", "Keep one of them.")


def in_row(row: int) -> str:
    """Describe a row of the caller's in messages by its number."""
    return f" in row {row + 1}"


def place_in(qids: Sequence[str], offsets: IntArray, docids: Ids, row: int) -> str:
    """Describe a row of a table in messages by document and query."""
    query = int(np.searchsorted(offsets, row, side="right")) - 1
    return f" of document {shown(docids[row])} of query {shown(qids[query])}"


def ids_of(values: Sequence[Any], noun: str, place: Place) -> list[str]:
    """Return ids as text: text unchanged, and whole numbers in decimal if all ids are numbers.

    Parameters
    ----------
    values : sequence, length D
        The ids.
    noun : str
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
            raise DataError(f"a {noun} id is a very large number", "Give ids as text.") from None
    gap = next((row for row, value in enumerate(values) if is_missing(value)), None)
    if gap is not None:  # which makes floats of the others
        raise DataError(f"the {noun} id{place(gap)} is missing", "Fill it in, or remove the row.")
    for row, value in enumerate(values):
        if isinstance(value, str) or (isinstance(value, (int, np.integer)) and not isinstance(value, bool)):
            continue
        if isinstance(value, (float, np.floating)):
            fault = f"the {noun} id{place(row)} is {shown(value)}, a number with a decimal point"
            todo = "Convert ids to whole numbers first: int(…), or column.astype(int)."
            raise DataError(fault, todo if float(value).is_integer() else "Ids are text, or all whole numbers.")
        todo = "Give [(docid, score), …]." if isinstance(value, Mapping) else "Ids are text, or all whole numbers."
        raise DataError(f"the {noun} id{place(row)} is {shown(value)}, not text", todo)
    row = next(row for row, value in enumerate(values) if not isinstance(value, str))
    fault = f"some {noun} ids are text, but others are numbers, such as {shown(values[row])}{place(row)}"
    raise DataError(fault, "Make all of them text.")


def is_missing(value: object) -> bool:
    """Return whether a value means "missing": None, NaN, and pandas' NA and NaT."""
    if isinstance(value, (float, np.floating)):
        return bool(np.isnan(value))
    if is_decimal(value):
        return value.is_nan()
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def scores_of(values: Sequence[Any] | AnyArray, place: Place, *, sure: bool = False) -> FloatArray:
    """Return scores as float64. (D,). ``sure``: whether all are float already.

    Raises
    ------
    DataError
        A score is missing, NaN, beyond float64, or not a number.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind not in "iuf":
        values = values.tolist()
    if not (sure or isinstance(values, np.ndarray) or set(map(type, values)) <= {float, int}):
        values = [_number(value, "score", place, row) for row, value in enumerate(values)]
    try:
        column: FloatArray = np.array(values, dtype=np.float64)
    except OverflowError:
        raise DataError("a score is beyond the range of float64", "Use smaller numbers.") from None
    if np.isnan(column).any():
        row = int(np.flatnonzero(np.isnan(column))[0])
        raise DataError(f"the score{place(row)} is NaN", "Give the document a score, or leave it out.")
    return column


def judgments_of(values: Sequence[Any] | AnyArray, place: Place, *, sure: bool = False) -> IntArray:
    """Return judgments as 64-bit integers. (D,). ``sure``: whether all are int already.

    1.0 is accepted, because columns with gaps become floats.

    Raises
    ------
    DataError
        A judgment is missing, not a whole number, or beyond 64 bits.
    """
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if not (sure or set(map(type, values)) <= {int}):
        values = [_whole(_number(value, "judgment", place, row), place, row) for row, value in enumerate(values)]
    if sure:
        with suppress(ValueError):  # most labels fit in a byte, which is read in half the time
            return np.frombuffer(bytes(values), dtype=np.uint8).astype(np.int64)
    try:
        return np.fromiter(values, dtype=np.int64, count=len(values))
    except OverflowError:
        raise DataError("a judgment is beyond 64 bits", "Use smaller whole numbers.") from None


READERS: Mapping[Kind, Callable[..., AnyArray]] = {"judgments": judgments_of, "run": scores_of}
"""How the values of a table are read."""

NUMBERS: Mapping[Kind, type] = {"judgments": int, "run": float}
"""Their type, if they need not be converted one by one."""


def _number(value: Any, noun: str, place: Place, row: int) -> Any:
    """Convert a number of any type to a Python number."""
    if isinstance(value, np.floating):
        return float(value)
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()  # an array or tensor with one number
    if isinstance(value, (int, float)):
        return value
    if is_missing(value):
        raise DataError(f"the {noun}{place(row)} is missing", "Fill it in, or remove the row.")
    if is_decimal(value):  # a database's 0.5
        number = float(value)
        return int(value) if number.is_integer() and value == value.to_integral_value() else number
    fault = f"the {noun}{place(row)} is {shown(value)}"
    if isinstance(value, Mapping) and noun == "score":
        raise DataError(fault, "If these are several runs, use te.compare(qrels, runs).")
    raise DataError(f"{fault}, of type {type(value).__name__}", "Use numbers.")


def _whole(value: float, place: Place, row: int) -> int:
    if isinstance(value, float) and not value.is_integer():
        if is_missing(value):
            raise DataError(f"the judgment{place(row)} is missing", "Fill it in, or remove the row.")
        todo = "Use 0, 1, 2 and so on. Judgments come first, then the run."
        raise DataError(f"the judgment{place(row)} is {value!r}, not a whole number", todo)
    return int(value)
