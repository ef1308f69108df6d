"""Parquet: a table with one row per document, through the package ``pyarrow``.

Columns may have the names in `QUERY_NAMES` and the other fields of `lines`; other columns are not read. Ids are columns
of text, or of integers, which are written in decimal. No other type is accepted as an id, so that no id loses zeros.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

import numpy as np

from treceval_py._types import AnyArray, FloatArray, IntArray, Source
from treceval_py.data.arrow import Batch, batches_of, joined
from treceval_py.data.columns import DOCUMENT, JUDGMENT, QUERY, RANK, SCORE, TAG, Field, column_of, needed
from treceval_py.data.ids import Ids, decode, encode, quoted
from treceval_py.data.qrels import Qrels
from treceval_py.data.run import DEFAULT_TAG, Run
from treceval_py.errors import DataError, InputError
from treceval_py.io.formats import Kind
from treceval_py.io.records import Records
from treceval_py.io.rows import Part
from treceval_py.io.source import name_of, rewindable
from treceval_py.io.writing import any_id, by_row, checked
from treceval_py.version import pip_install

MAGIC = b"PAR1"
"""The bytes at the beginning and end of a Parquet file."""

BATCH = 1 << 16
"""Number of rows read at a time."""

RELEASING = 4
"""Number of batches after which the memory that pyarrow keeps in reserve, often more than it uses, is released."""


class ParquetTable(NamedTuple):
    """The contents of a Parquet file, before they are read as judgments or as a run.

    Attributes
    ----------
    records : Records
        The queries and their documents.
    values : pyarrow array, length D
        The values of the rows.
    names : tuple of str
        The name of the values' column.
    ranks : (D,) int array or None
        The ranks, if all are whole numbers.
    tag : str
        The tag of the last row.
    """

    records: Records
    values: Any
    names: tuple[str, ...]
    ranks: IntArray | None
    tag: str

    def run(self) -> Run:
        """Return the values as scores.

        Raises
        ------
        InputError
            The values are not numbers, or a document occurs twice in a query.
        """
        types = _pyarrow(self.records.name).types
        kind = self.values.type
        if not (types.is_floating(kind) or types.is_integer(kind)):
            raise _wrong_type(self.records.name, self.names[0], kind, "numbers")
        self._check_nulls("score")
        scores: FloatArray = _numpy(self.values).astype(np.float64)
        missing = np.flatnonzero(np.isnan(scores))
        if len(missing):
            raise self.records.error(int(missing[0]), "score", "is NaN, so it cannot be ranked", "Find its cause.")
        return self.records.run(scores, ranks=self.ranks, tag=self.tag)

    def qrels(self) -> Qrels:
        """Return the values as judgments.

        Raises
        ------
        InputError
            The values are not whole numbers, or a document is judged twice for a query.
        """
        if not self.whole():
            raise _wrong_type(self.records.name, self.names[0], self.values.type, "integers")
        self._check_nulls("judgment")
        rels = _numpy(self.values)
        beyond = np.flatnonzero(rels > 2**63 - 1)
        if len(beyond):
            raise self.records.error(int(beyond[0]), "judgment", "is beyond 64 bits", "Use smaller grades.")
        return self.records.qrels(rels.astype(np.int64))

    def whole(self) -> bool:
        """Return whether the values are integers."""
        return bool(_pyarrow(self.records.name).types.is_integer(self.values.type))

    def _check_nulls(self, value: str) -> None:
        if self.values.null_count:
            row = int(np.flatnonzero(_numpy(self.values.is_null()))[0])
            raise self.records.error(row, value, "is missing", "Fill it in, or remove the row.")


def read_parquet(source: Source, value: Field) -> ParquetTable:
    """Read the columns of judgments or a run.

    Parameters
    ----------
    source : str, path or binary file
        The source.
    value : Field
        The value column, besides the ids.

    Raises
    ------
    InputError
        The file cannot be read, a column is missing, or ids are not text.
    """
    name = name_of(source)
    with _opened(source, value) as content:
        numbers: dict[bytes, int] = {}
        try:
            rows, tag = joined(list(content.batches(numbers))), content.tag()
        except (OSError, ValueError, _pyarrow(name).ArrowException):  # what is wrong, if anything, is found below
            pass
        else:
            records = Records(list(map(decode, numbers)), rows.queries, rows.starts, rows.docids, name, numbered=True)
            values = _pyarrow(name).array(rows.values, content.file.schema_arrow.field(content.value).type)
            return ParquetTable(records, values, (content.value,), rows.ranks, tag)
        table, tag = content.file.read(columns=[name for name in content[2:] if name is not None]), content.tag()
    qids = _ids(table.column(content.query), content.query, "query", name).dictionary_encode()
    codes = _numpy(qids.indices).astype(np.int64)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(codes)) + 1, [len(codes)]])
    queries = [decode(qid) for qid in _raw(qids.dictionary).raw()]
    docids = _raw(_ids(table.column(content.document), content.document, "document", name))
    records = Records(queries, codes[starts[:-1]], starts, docids, name, numbered=True)
    ranks: IntArray | None = None
    if content.ranked and not table.column(content.rank).null_count:
        ranks = _numpy(table.column(content.rank)).astype(np.int64)
    return ParquetTable(records, table.column(content.value).combine_chunks(), (content.value,), ranks, tag)


def parts(source: Source, kinds: Collection[Kind]) -> tuple[Kind, Iterator[Part]]:
    """Return the rows of a run or of judgments in portions, and which they are; errors as for `parts_of_parquet`."""
    if "run" not in kinds:
        return "qrels", parts_of_parquet(source, JUDGMENT)
    if len(kinds) > 1:
        with _opened(source, JUDGMENT._replace(last=SCORE.names)) as content:
            kind = content.file.schema_arrow.field(content.value).type
            if content.value.lower() not in SCORE.names or not _pyarrow(None).types.is_floating(kind):
                raise ValueError("values that may be judgments")
    return "run", parts_of_parquet(source, SCORE)


def parts_of_parquet(source: Source, value: Field) -> Iterator[Part]:
    """Yield the rows of judgments or a run in portions, without holding more of them.

    Parameters
    ----------
    source, value
        As for `read_parquet`.

    Yields
    ------
    Part
        Consecutive rows, with the tag of the last row of all. Whole numbers are both judgments and scores. Whether a
        document occurs twice in a query is not checked.

    Raises
    ------
    InputError
        The rows can only be read by `read_parquet`, which tells what is wrong if something is.
    """
    first, numbers = 1, dict[bytes, int]()
    with _opened(source, value) as content:
        tag = encode(content.tag())
        for batch in content.batches(numbers):
            qids, count = list(numbers), len(batch.docids)
            numbers.clear()
            if not count:
                continue
            scores: FloatArray = batch.values.astype(np.float64, copy=False)
            if b"" in qids or not np.diff(batch.docids.offsets).all() or np.isnan(scores).any():
                raise ValueError("a row that is refused")
            rels: Any = batch.values if batch.values.dtype.kind == "i" else None
            lines = range(first, first + count)
            yield Part(qids, *batch[:3], rels, scores, batch.ranks, tag, lines, count, batch.ordered)
            first += count


class _Content(NamedTuple):
    """An open Parquet file, the same with queries and tags in dictionaries, which is faster, and names of its columns.

    Columns of ranks and tags can be missing.
    """

    file: Any
    by_dictionary: Any
    query: str
    document: str
    value: str
    rank: str | None
    tags: str | None

    @property
    def ranked(self) -> bool:
        """Whether there are ranks, in whole numbers like those of TREC's runs."""
        types = _pyarrow(None).types
        return self.rank is not None and types.is_integer(self.file.schema_arrow.field(self.rank).type)

    def batches(self, numbers: dict[bytes, int]) -> Iterator[Batch]:
        """Yield the rows; parameters and errors as for `batches_of`."""
        names = self.query, self.document, self.value, self.rank if self.ranked else None
        columns = [name for name in names if name is not None]
        for number, batch in enumerate(self.by_dictionary.iter_batches(BATCH, columns=columns)):
            yield from batches_of(batch, names, numbers)
            if not number % RELEASING:
                _pyarrow(None).default_memory_pool().release_unused()

    def tag(self) -> str:
        """Return the tag of the last row."""
        if self.tags is None:
            return DEFAULT_TAG
        # The last group may have no rows.
        for number in reversed(range(self.file.num_row_groups)):
            column = self.by_dictionary.read_row_group(number, [self.tags]).column(0)
            if len(column):
                tag = column[-1].as_py()
                return tag if isinstance(tag, str) and tag else DEFAULT_TAG
        return DEFAULT_TAG


@contextmanager
def _opened(source: Source, value: Field) -> Iterator[_Content]:
    """Open a file whose columns have the names of judgments or a run; errors as for `read_parquet`."""
    name = name_of(source)
    pyarrow = _pyarrow(name)
    with rewindable(source) as raw:
        start = raw.read(len(MAGIC))
        if start != MAGIC:
            packed = start[:2] in _PACKED
            todo = "Is the whole file compressed? Decompress it first." if packed else "Is it the right file?"
            raise InputError("this is not a Parquet file" if start else "the file is empty", todo, file=name)
        raw.seek(0)
        try:
            from pyarrow import parquet  # type: ignore[import-not-found,import-untyped,unused-ignore]

            file = parquet.ParquetFile(raw)
            there = file.schema_arrow.names
            wanted = [needed(there, field) for field in (QUERY, DOCUMENT, value)]
            more = [column_of(there, field) for field in (RANK, TAG)]
            if not file.metadata.num_rows:
                raise DataError("no rows", "Is it the right file?")
            repeating = [name for name in (wanted[0], more[1]) if name is not None]
            flat = [name for name in repeating if not pyarrow.types.is_nested(file.schema_arrow.field(name).type)]
            by_dictionary = parquet.ParquetFile(raw, metadata=file.metadata, read_dictionary=flat)
            yield _Content(file, by_dictionary, *wanted, *more)
        except DataError as error:
            raise InputError(error.what, error.todo, file=name) from None
        except (OSError, ValueError, pyarrow.ArrowException) as error:
            reason = " ".join(str(error).split()).rstrip(".")
            damage = f"the Parquet file is damaged or cut off ({reason})"
            raise InputError(damage, "Copy or download the file again.", file=name) from None


ROWS = 1 << 20
"""Rows in a row group, as pyarrow writes them by default."""


def written_parquet(table: Qrels | Run, tag: str) -> Iterator[bytes]:
    """Return judgments or a run as a Parquet file, in the order of the table, with the ranks of a run if it has some.

    Raises
    ------
    DataError
        An id or the tag is not UTF-8.
    InputError
        ``pyarrow`` is not installed.
    """
    pyarrow, drain = _pyarrow(None), _Drain()
    writer: Any = None
    rest: Any = None
    from pyarrow import parquet  # type: ignore[import-not-found,import-untyped,unused-ignore]

    for part in checked(table, any_id("a Parquet file")):
        columns = {"qid": _texts(by_row(part), "query id"), "docid": _texts(part.docids, "docid")}
        if isinstance(part, Qrels):
            columns["rel"] = part.rels
        else:
            columns["score"] = part.scores
            if part.ranks is not None:
                columns["rank"] = part.ranks
            columns["tag"] = _texts(by_row(part, Ids.from_text([tag] * len(part.qids))), "tag")
        rows = pyarrow.table(columns)
        rest = rows if rest is None else pyarrow.concat_tables([rest, rows])
        writer = writer or parquet.ParquetWriter(drain, rest.schema)
        while len(rest) > ROWS:
            rows, rest = rest[:ROWS].combine_chunks(), rest[ROWS:]
            writer.write_table(rows, ROWS)
            del rows  # or it would be there beside the next
            pyarrow.default_memory_pool().release_unused()
            yield drain.taken()
    writer.write_table(rest.combine_chunks(), ROWS)
    writer.close()
    yield drain.taken()


class _Drain(io.BytesIO):
    """A file whose bytes are taken while it is written; pyarrow itself counts where it is."""

    def taken(self) -> bytes:
        """Return what was written since the last call."""
        data = self.getvalue()
        self.seek(0)
        self.truncate()
        return data


def _pyarrow(name: str | None) -> Any:
    try:
        import pyarrow  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        problem = "Parquet needs the package pyarrow, which is not installed"
        raise InputError(problem, pip_install("parquet"), file=name) from None
    return pyarrow


_PACKED = (b"\x1f\x8b", b"BZ", b"\xfd7", b"\x28\xb5")
"""The first two bytes of compressed files."""


def _ids(column: Any, title: str, item: str, name: str) -> Any:
    """Return a column of ids as text."""
    pyarrow = _pyarrow(name)
    types, kind = pyarrow.types, column.type
    if types.is_dictionary(kind):
        kind = kind.value_type
    is_text = types.is_string(kind) or types.is_large_string(kind) or str(kind) == "string_view"
    if not is_text and not types.is_integer(kind):
        raise _wrong_type(name, title, column.type, f"text, so it is not a {item} id")
    if column.null_count:
        row = int(np.flatnonzero(_numpy(column.is_null().combine_chunks()))[0]) + 1
        raise InputError(f"the {item} id in row {row} is missing", "Fill it in, or remove the row.", file=name)
    if not is_text:
        column = column.cast(kind)
    return column.cast(pyarrow.large_string()).combine_chunks()


def _wrong_type(name: str, column: str, kind: Any, instead: str) -> InputError:
    return InputError(f"column '{column}' holds {kind}, not {instead}", "Convert the column.", file=name)


def _numpy(array: Any) -> AnyArray:
    return cast("AnyArray", array.to_numpy(zero_copy_only=False))


def _raw(texts: Any) -> Ids:
    """Return an array of large strings as a column, without creating an object per string."""
    _, cuts, data = texts.buffers()
    offsets = np.frombuffer(cuts, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    start = int(offsets[0])
    buffer = b"" if data is None else data.to_pybytes()[start : int(offsets[-1])]
    return Ids(buffer, offsets - start)


def _texts(ids: Ids, kind: str) -> Any:
    """Return ids as a column of pyarrow."""
    pyarrow = _pyarrow(None)
    offsets = pyarrow.py_buffer(ids.offsets.astype(np.int32))
    texts = pyarrow.StringArray.from_buffers(len(ids), offsets, pyarrow.py_buffer(ids.buffer))
    if not ids.buffer.isascii():
        try:
            texts.validate(full=True)
        except pyarrow.ArrowInvalid:
            text = next(text for text in ids.text() if any("\ud800" <= character <= "\udfff" for character in text))
            problem = f"{kind} {quoted(encode(text))} is not UTF-8, so it cannot be written to a Parquet file"
            raise DataError(problem, "Use another one.") from None
    return texts
