"""Judgments and runs as Python objects: detect an object's form, and extract its columns.

`table.from_nested` reads the plain form, ``{qid: {docid: value}}`` with ids as text. This module reads other forms:

* frames of pandas, polars (also lazy), pyarrow and DuckDB, through the package ``narwhals``; a dictionary of columns; a
  structured NumPy array;
* rows: named tuples and other objects with fields, dictionaries, plain tuples ``(qid, docid, value)``;
* ``{qid: …}`` with numbers as ids, with ``[docid, …]`` (for a run the ranking, for judgments the relevant documents),
  or with ``[(docid, value), …]``.

Columns and fields have the names in `data.columns`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AnySet
from functools import partial
from numbers import Real
from operator import attrgetter, itemgetter
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np

from treceval_py._types import IntArray
from treceval_py.data.arrow import batches_of, joined
from treceval_py.data.columns import (
    DOCUMENT,
    GROUP,
    JUDGMENT,
    QUERY,
    RANK,
    SCORE,
    Field,
    column_of,
    needed,
)
from treceval_py.data.ids import Ids, shown
from treceval_py.data.table import (
    FORMS,
    READERS,
    Columns,
    Grouping,
    Kind,
    check_unique,
    from_flat,
    grouped,
    ids_of,
    in_row,
    judgments_of,
    place_in,
)
from treceval_py.errors import DataError

FIELDS = (QUERY, DOCUMENT, JUDGMENT, SCORE, RANK, GROUP)


def columns_of(given: object, kind: Kind, named: Mapping[Field, str | None] | None = None) -> Columns:
    """Return the columns of judgments, or of a run; without scores, ranks order it. The caller may name columns.

    Raises
    ------
    DataError
        The object has an unsupported form, or a value is invalid; the message tells where.
    """
    try:
        return _columns_of(given, kind, named)
    except DataError as error:
        todo = _about_lists(given, kind)
        if not todo:
            raise
        raise type(error)(error.what, todo) from None


def _columns_of(given: object, kind: Kind, named: Mapping[Field, str | None] | None) -> Columns:
    table = _table_of(given, kind)
    if table is None:
        return _nested(given, kind)
    ranked = kind == "run" and column_of(table.names, RANK, table.word, within=table.within) is not None
    by_rank = ranked and not (named or {}).get(SCORE) and column_of(table.names, SCORE, table.word) is None
    of_value = [JUDGMENT] if kind == "judgments" else [] if by_rank else [SCORE]
    fields = [QUERY, DOCUMENT, *of_value, *([RANK] if ranked else [])]
    scanned = _scanned(table.select, table.named(fields, named), kind, by_rank=by_rank)
    if scanned is not None:
        return scanned
    columns = table.columns(fields, named)
    qids, docids, values = columns[:3]
    try:
        ranks = judgments_of(columns[-1], in_row) if ranked else None
    except DataError:  # other values, with which nothing is compared
        ranks = None
    if by_rank and ranks is None:
        raise DataError("the ranks are not whole numbers", "Give a column of scores.")
    return _grouped(qids, docids, -ranks if by_rank and ranks is not None else values, kind, ranks)


def _scanned(
    select: Callable[[Sequence[Any]], Any] | None, names: Sequence[Any], kind: Kind, *, by_rank: bool
) -> Columns | None:
    """Return the columns of a frame by the compiled scanner; None if its rows must be read and refused one by one."""
    numbers: dict[bytes, int] = {}
    if select is None:
        return None
    try:
        rows = joined(list(batches_of(select(names), [*names, None][:4], numbers)))
        qids = [qid.decode() for qid in numbers]
        if not rows.docids.buffer.isascii():
            rows.docids.buffer.decode()
    except Exception:  # noqa: BLE001 - each library has its own exceptions, which the other reader reports
        return None
    values, ranks = rows.values, rows.values if by_rank else rows.ranks
    if not len(values) or (values.dtype.kind != "i" if by_rank or kind == "judgments" else np.isnan(values).any()):
        return None
    columns = grouped(qids, rows.queries, np.diff(rows.starts), rows.docids, kind)
    return _in_order(columns, -values if by_rank else values, ranks)


SEVERAL = "Give one run; te.compare(qrels, runs) and te.board(qrels, folder) take several."


def _about_lists(given: object, kind: Kind) -> str:
    """Return what to give instead of a list of queries, whose ids are not known; empty for rows and other objects."""
    rows: Any = given
    first: Any = rows[0] if isinstance(given, (list, tuple)) and given else None
    flat = isinstance(first, Real)
    even = type(first) in (list, tuple) and all(type(row) is type(first) and len(row) == len(first) for row in rows)
    cells = rows if flat else first if even else ()
    if cells and all(isinstance(cell, Real) for cell in cells):
        array = "np.array([…])" if flat else "np.array(…)"
        return f"If these are the labels and scores of all documents, with a row for each query, give both as {array}."
    if isinstance(first, (str, bytes)) and kind == "run":
        text = isinstance(first, str) and len(first.split()) > 2
        return "Give text as te.read_run(text=…)." if text else SEVERAL
    if isinstance(first, str):
        return "Give the judgments first, then the run, then the measures."
    if isinstance(first, Mapping) and first and all(isinstance(value, Mapping) for value in first.values()):
        return SEVERAL if kind == "run" else "Give the judgments first, then the runs."
    of_query = isinstance(first, AnySet)
    if isinstance(first, Mapping):
        of_query = all(isinstance(value, Real) for value in first.values())
    elif isinstance(first, list):
        of_query = len(first) != 3 or not isinstance(first[2], Real)
    if not of_query or not first:
        return ""
    return (
        "Give rows of (qid, docid, value); or, if each item belongs to a query, give judgments and run by the ids of "
        "queries, such as dict(enumerate(…))."
    )


def nested_groups(given: object) -> dict[str, dict[str, dict[str, int]]]:
    """Return judgments by subtopic as ``{qid: {subtopic: {docid: rel}}}``; errors as for `columns_of`."""
    table = _table_of(given, "judgments")
    if table is None or not table.names:
        fault = f"judgments by subtopics cannot be made from {shown(given)}"
        raise DataError(fault, "Give columns or rows of qid, subtopic, docid and rel, or a te.data.JudgmentGroups.")
    qids, docids, labels, groups = table.columns([QUERY, DOCUMENT, JUDGMENT, GROUP])
    by_query: dict[str, dict[str, dict[str, int]]] = {}
    place = partial(_place_of_row, qids, docids)
    rels = judgments_of(labels, place).tolist()
    columns = (ids_of(qids, "query", in_row), ids_of(groups, "subtopic", in_row), ids_of(docids, "document", in_row))
    for row, (qid, group, docid, rel) in enumerate(zip(*columns, rels, strict=True)):
        judged = by_query.setdefault(qid, {}).setdefault(group, {})
        if docid in judged:
            raise DataError(f"subtopic {shown(group)} judges twice{place(row)}", "Keep one of the two.")
        judged[docid] = rel
    return by_query


def columns_by_query(given: object) -> tuple[list[str], dict[str, list[Any]]]:
    """Return the queries of a frame, or of rows with fields, and the other columns by name; errors as above."""
    table = _table_of(given, "groups")
    if table is None or not table.names:
        _refuse(given, "groups")
    names = [name for name in table.names if isinstance(name, str)]
    queries = needed(names, QUERY, table.word, within=table.within)
    others = [name for name in names if name != queries]
    qids, *columns = table.take([queries, *others])
    return ids_of(qids, "query", in_row), dict(zip(others, columns, strict=True))


def could_be(given: object) -> frozenset[Literal["run", "qrels"]]:
    """Return what an object can be, by the names of its columns: ``run``, ``qrels``, or both.

    Both for rows that can be read only once, and for dictionaries.
    """
    both = frozenset[Literal["run", "qrels"]](("run", "qrels"))
    table = None if isinstance(given, Iterator) else _table_of(given, "run")
    if table is None or not table.names:
        return both
    judged = column_of(table.names, JUDGMENT._replace(last=())) is not None
    scored = column_of(table.names, SCORE) is not None
    return both if judged == scored else frozenset(["qrels"]) if judged else frozenset(["run"])


def flat_columns(qids: Sequence[Any], docids: Sequence[Any], rels: Any) -> Columns:
    """Return the columns of judgments given as three columns, (D,) each; errors as above."""
    queries, documents, labels = columns = [_listed(column) for column in (qids, docids, rels)]
    if len(set(map(len, columns))) > 1:
        sizes = "{} qids, {} docids and {} rels".format(*map(len, columns))
        raise DataError(f"{sizes} do not fit", "Give three equal lengths.")
    return _grouped(queries, documents, labels, "judgments")


def is_array(given: object) -> bool:
    """Return whether an object is an array or a tensor without named columns."""
    return hasattr(given, "shape") and hasattr(given, "dtype") and not getattr(given.dtype, "names", None)


class _Table(NamedTuple):
    """An object with named columns.

    Attributes
    ----------
    names : sequence
        The names of the columns; empty if they are qid, docid and value, in this order.
    take : callable
        Returns some columns as lists.
    word, within : str
        The words for a column and for the table in messages.
    select : callable or None
        Returns some columns as a frame, of a library of frames.
    """

    names: Sequence[Any]
    take: Callable[[Sequence[Any]], list[list[Any]]]
    word: str = "column"
    within: str = ""
    select: Callable[[Sequence[Any]], Any] | None = None

    def columns(self, fields: Sequence[Field], named: Mapping[Field, str | None] | None = None) -> list[list[Any]]:
        """Return the columns of some fields, which have equal lengths.

        Raises
        ------
        DataError
            A column is missing or ambiguous, or there are no rows.
        """
        wanted = self.named(fields, named)
        columns = self.take(wanted)
        lengths = [len(column) for column in columns]
        if len(set(lengths)) > 1:
            pairs = ", ".join(f"{shown(name)} {length}" for name, length in zip(wanted, lengths, strict=True))
            raise DataError(f"{self.within}columns have different lengths ({pairs})", "Give equal lengths.")
        if not lengths[0]:
            raise DataError(f"{self.within}no rows", "Give at least one row.")
        return columns

    def named(self, fields: Sequence[Field], named: Mapping[Field, str | None] | None) -> list[Any]:
        """Return the names of the columns of some fields; errors as for `columns`."""
        if not self.names:
            return list(fields)
        of, names = named or {}, self.names
        return [needed(names, field, self.word, within=self.within, named=of.get(field)) for field in fields]


def _table_of(given: object, kind: str) -> _Table | None:
    """Return an object that has columns or rows as a table; None for a dictionary by query."""
    if isinstance(given, Mapping):
        # A dictionary of columns: its keys include names for queries and documents, unlike query ids.
        names = [name for name in given if isinstance(name, str)]
        if column_of(names[:99], QUERY) is None or column_of(names[:99], DOCUMENT) is None:
            return None
        return _Table(names, lambda wanted: [_listed(given[name]) for name in wanted])
    if isinstance(given, (str, bytes, bytearray)) or is_array(given):
        _refuse(given, kind)
    if hasattr(type(given), "columns") or hasattr(given, "__arrow_c_stream__"):
        return _frame(given, kind)
    if isinstance(given, np.ndarray):
        return _Table(given.dtype.names or (), lambda names: [given[name].ravel().tolist() for name in names])
    if not isinstance(given, Iterable):
        _refuse(given, kind)
    return _records(list(given), kind)


def _refuse(given: object, kind: str) -> NoReturn:
    fault, todo = f"{_NOUNS[kind]} cannot be made from {shown(given)}", FORMS[kind]
    if isinstance(given, (str, bytes, bytearray, os.PathLike)) and kind != "groups":
        reader = "read_qrels" if kind == "judgments" else "read_run"
        todo = f"Read a file with te.{reader}(path), and text with te.{reader}(text=…)."
    elif is_array(given) and kind != "groups":
        table = "Qrels" if kind == "judgments" else "Run"
        todo = f"Give the DataFrame itself, or the ids, too: te.{table}.from_arrays."
    raise DataError(fault, todo)


_NOUNS = {"judgments": "judgments", "run": "a run", "groups": "groups of queries"}


def _listed(column: Any) -> list[Any]:
    if isinstance(column, (str, bytes, Mapping)) or not isinstance(column, Iterable):
        itself = ", or the DataFrame itself" if isinstance(column, Mapping) else ""
        raise DataError(f"a column is {shown(column)}", f"Give a list or an array for each column{itself}.")
    return list(column.tolist() if isinstance(column, np.ndarray) else column)


def _frame(given: Any, kind: str) -> _Table:
    """Return a frame of any library."""
    import narwhals as nw

    name = f"{type(given).__module__.partition('.')[0]}.{type(given).__name__}"

    def read(step: Callable[[], Any]) -> Any:
        try:
            return step()
        except Exception as error:  # noqa: BLE001 - each library has its own exceptions
            reason = " ".join(str(error).split()).rstrip(".")
            raise DataError(f"the {name} cannot be read: {reason[:200]}", FORMS[kind]) from None

    def framed() -> Any:
        # The columns that a frame was grouped or indexed by are ordinary columns to its owner.
        levels = getattr(getattr(given, "index", None), "names", ())
        known = [name for name in levels if any(str(name).lower() in field.every for field in FIELDS)]
        kept = [name for name in known if name not in given.columns]
        native = given.reset_index(level=kept) if kept else given
        frame = nw.from_native(native, pass_through=True)
        is_frame = isinstance(frame, (nw.DataFrame, nw.LazyFrame))
        return frame if is_frame else nw.from_arrow(native, backend="pyarrow")

    frame = read(framed)

    def select(names: Sequence[Any]) -> Any:
        part = frame.select(*dict.fromkeys(names))
        return part.collect() if isinstance(part, nw.LazyFrame) else part

    def take(names: Sequence[Any]) -> list[list[Any]]:
        part = select(names)
        return [part.get_column(name).to_list() for name in names]

    names = read(lambda: frame.collect_schema().names())
    if not names:
        raise DataError(f"the {name} has no columns", FORMS[kind])
    return _Table(names, lambda wanted: read(lambda: take(wanted)), within=f"the {name} has ", select=select)


def _records(rows: list[Any], kind: str) -> _Table:
    """Return rows: dictionaries, objects with fields, or tuples of three."""
    if not rows:
        raise DataError("there are no rows", FORMS[kind])
    first = rows[0]
    names: Any = getattr(first, "_fields", None)
    get: Callable[[Any], Callable[[Any], Any]] = attrgetter
    if isinstance(first, Mapping):
        names, get = list(first), itemgetter
    elif isinstance(first, (tuple, list)) and names is None:
        for number, row in enumerate(rows):
            if not isinstance(row, (tuple, list)) or len(row) != 3:
                size = f" of {len(row)}" if isinstance(row, (tuple, list)) else ""
                raise DataError(f"row {number + 1} is {shown(row)}{size}, not (qid, docid, value)", FORMS[kind])
        return _Table((), lambda _: [list(column) for column in zip(*rows, strict=True)])
    else:
        if names is None and not isinstance(first, (str, bytes)):
            names = [name for field in FIELDS for name in field.every if hasattr(first, name)]
        if not names:
            raise DataError(f"{_NOUNS[kind]} cannot be made from rows such as {shown(first)}", FORMS[kind])
    names = list(dict.fromkeys(names))
    return _Table(names, lambda wanted: [_each(rows, get(name), name) for name in wanted], "field", "rows have ")


def _each(rows: list[Any], value: Callable[[Any], Any], name: object) -> list[Any]:
    """Return one field of all rows."""
    column = []
    for number, row in enumerate(rows):
        try:
            column.append(value(row))
        except (AttributeError, KeyError, TypeError, IndexError):
            raise DataError(f"row {number + 1} has no field {shown(name)}", "Give all rows the same fields.") from None
    return column


def _place_of_row(qids: Sequence[Any], docids: Sequence[Any], row: int) -> str:
    return f" of document {shown(docids[row])} of query {shown(qids[row])} (row {row + 1})"


def _grouped(
    qids: Sequence[Any], docids: Sequence[Any], values: Any, kind: Kind, ranks: IntArray | None = None
) -> Columns:
    """Check rows and group them by query."""
    queries, documents = ids_of(qids, "query", in_row), ids_of(docids, "document", in_row)
    column = READERS[kind](values, partial(_place_of_row, queries, documents))
    return _in_order(from_flat(queries, documents, kind), column, ranks)


def _in_order(columns: Grouping, values: Any, ranks: Any) -> Columns:
    """Add values and ranks of rows to their columns by query, in the same order."""
    qids, offsets, docids, order = columns
    if order is not None:
        values, ranks = values[order], None if ranks is None else ranks[order]
    return Columns(qids, offsets, docids, values, ranks)


def _nested(given: Any, kind: Kind) -> Columns:
    """Read ``{qid: …}``."""
    lists = [_documents(qid, documents, kind) for qid, documents in given.items()]
    qids = ids_of(list(given), "query", lambda _: "")
    if len(set(qids)) < len(qids):
        raise DataError("two queries have the same id", "Keep one of them.")
    offsets = np.concatenate([[0], np.cumsum([len(ids) for ids, _ in lists])]).astype(np.int64)
    documents: list[str] = []
    values: list[Any] = []
    for qid, (ids, valued) in zip(qids, lists, strict=True):
        of = f" of query {shown(qid)}"
        documents += ids_of(ids, "document", lambda _, of=of: of)  # type: ignore[misc]
        # As in MS MARCO's files: the score is the negative rank.
        by_order = [1] * len(ids) if kind == "judgments" else range(-1, -len(ids) - 1, -1)
        values += by_order if valued is None else valued
    docids = Ids.from_text(documents)
    check_unique(qids, offsets, docids, kind)
    column = READERS[kind](values, partial(place_in, qids, offsets, docids))
    ranked = kind == "run" and bool(lists) and all(valued is None for _, valued in lists)
    return Columns(qids, offsets, docids, column, (-column).astype(np.int64) if ranked else None)


def _documents(qid: object, given: Any, kind: str) -> tuple[list[Any], list[Any] | None]:
    """Return the documents of a query and their values; None instead of values if only the order is given."""
    if isinstance(given, Mapping):
        return list(given), list(given.values())
    is_list = isinstance(given, (Sequence, Iterator)) or (isinstance(given, np.ndarray) and given.ndim == 1)
    if isinstance(given, AnySet) and kind == "run":
        raise DataError(f"query {shown(qid)} has a set of documents, which has no order", "Give a list, best first.")
    if isinstance(given, (str, bytes)) or not (is_list or isinstance(given, AnySet)):
        todo = SEVERAL if isinstance(given, str) and kind == "run" and os.path.isfile(given) else FORMS[kind]
        raise DataError(f"query {shown(qid)} has {shown(given)} instead of documents", todo)
    # In order of their text, because the order of a set differs between Python processes.
    entries = sorted(given, key=str) if isinstance(given, AnySet) else list(given)
    if not any(isinstance(entry, (tuple, list)) for entry in entries):
        return entries, None
    for entry in entries:
        if not isinstance(entry, (tuple, list)) or len(entry) != 2:
            raise DataError(f"query {shown(qid)} has {shown(entry)} among its (docid, value) pairs", FORMS[kind])
    return [entry[0] for entry in entries], [entry[1] for entry in entries]
