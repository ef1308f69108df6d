"""Passages and queries as streams of ids and texts, and the check of all texts before hours of encoding.

Nothing here holds a corpus. Texts are kept unchanged, including white space at their ends. Only queries and small
selections, such as the corpus of a truncated protocol, are held in memory (`Listed`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from array import array
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias
from zlib import crc32

import numpy as np

from treceval_py.corpora.reporting import SILENT, Reporter
from treceval_py.data.ids import quoted, quoted_text
from treceval_py.errors import InputError, RunnerError
from treceval_py.io.source import numbered

Kind: TypeAlias = Literal["document", "query"]

Pair: TypeAlias = "tuple[str, str]"
"""An id and its text."""


class Texts(Protocol):
    """Texts with ids, in a fixed order, that can be read repeatedly."""

    name: str
    """Their name in messages: a file, a data set."""

    def __iter__(self) -> Iterator[Pair]:
        """Yield each id with its text, reading from the start."""

    def known_count(self) -> int | None:
        """Return the number of texts if it is known without reading them, else None."""
        return None


class PlacedTexts(Texts):
    """Texts that each come from a line of a file or a row of a table.

    Parameters
    ----------
    name : str
        Their name in messages.
    kind : "document" or "query"
        Documents or queries. A run's lines begin with query ids, so query ids have more restrictions.
    """

    def __init__(self, name: str, kind: Kind) -> None:
        self.name = name
        self.kind = kind

    def line_of(self, position: int) -> int | None:  # noqa: ARG002 - subclasses with lines use it
        """Return the line of the text at a position (from 0), or None if it has none; may read the file again."""
        return None

    def row_of(self, position: int) -> int:
        """Return the row, from 1, of the text at a position (from 0)."""
        return position + 1

    def texts_of(self, ids: Collection[str]) -> dict[str, str]:
        """Return the texts of those given ids that exist; reads until all are found."""
        texts: dict[str, str] = {}
        for identifier, text in self:
            if len(texts) == len(ids):
                break
            if identifier in ids:
                texts[identifier] = text
        return texts

    def refusal(self, position: int, fault: str, todo: str) -> InputError:
        """Return the error for the text at a position, with its line or row."""
        line = self.line_of(position)
        at = "" if line is not None else f" (row {self.row_of(position):,})"
        return InputError(f"{fault}{at}", todo, file=self.name, line=line)


class Survey(NamedTuple):
    """Result of one pass over texts.

    Attributes
    ----------
    name : str
        The name of the texts in messages.
    count : int
        The number of texts, D.
    shard_size : int
        Maximum number of texts in a chunk.
    hashes : tuple of str
        The SHA-256 of each chunk in hexadecimal, as in `Chunk`.
    sizes : tuple of int
        Number of texts in each chunk.
    characters : int
        Number of characters in all texts.
    longest : int
        Number of characters in the longest text.
    empty : int
        Number of texts that are empty or only white space.
    """

    name: str
    count: int  # type: ignore[assignment]  # over that of tuples
    shard_size: int
    hashes: tuple[str, ...]
    sizes: tuple[int, ...]
    characters: int
    longest: int
    empty: int

    @property
    def sha256(self) -> str:
        """Return the SHA-256 of the concatenated hexadecimal hashes of all chunks."""
        return hashlib.sha256("".join(self.hashes).encode()).hexdigest()


class Chunk(NamedTuple):
    """Texts that are encoded together.

    Attributes
    ----------
    number : int
        Its number, from 0.
    ids : list of str, length n
        The ids.
    texts : list of str, length n
        The texts.
    sha256 : str
        The hexadecimal SHA-256 of: n, the lengths of the ids and of the texts in characters, as 2n + 1 little-endian
        64-bit integers; then the ids and the texts in UTF-8, concatenated without separators.
    """

    number: int
    ids: list[str]
    texts: list[str]
    sha256: str


def survey(texts: Texts, shard_size: int, reporter: Reporter = SILENT) -> Survey:
    """Read all texts once: count and hash them, and check their ids.

    Memory: 8 bytes per id, and one chunk.

    Parameters
    ----------
    texts : Texts
        The texts.
    shard_size : int
        Maximum number of texts in a chunk.
    reporter : Reporter
        Progress reporter, advanced with each chunk; the caller begins and ends the stage.

    Returns
    -------
    Survey
        The counts and hashes.

    Raises
    ------
    InputError
        There are no texts, they cannot be read, an id or a text is not valid Unicode, an id occurs twice, or an id
        cannot be used in a run (it is empty or contains white space, or a query id begins with ``#``).
    RunnerError
        The size of a chunk is below 1.
    """
    ids_seen, hashes, sizes = array("q"), list[str](), list[int]()
    characters = longest = empty = 0
    for ids, portion in _portions(texts, shard_size):
        _check_ids(_placed(texts), ids, len(ids_seen))
        hashes.append(_digest(texts, ids, portion, len(ids_seen)))
        sizes.append(len(ids))
        # Python's own hash: it is never compared across processes, and str caches it.
        ids_seen.extend(map(hash, ids))
        lengths = list(map(len, portion))
        characters += sum(lengths)
        longest = max(longest, *lengths)
        empty += len(portion) - len(list(filter(str.strip, portion)))
        reporter.advance(len(ids))
    if not ids_seen:
        raise InputError("it has no texts", "Is it the right one?", file=texts.name)
    _check_repeated(texts, ids_seen)
    return Survey(texts.name, len(ids_seen), shard_size, tuple(hashes), tuple(sizes), characters, longest, empty)


def chunks(texts: Texts, shard_size: int) -> Iterator[Chunk]:
    """Yield texts in chunks of at most ``shard_size`` and, except for the last, at least a quarter of it.

    The ids near the end of a chunk decide where it ends, not the number of texts before. So added or removed texts
    change only their own chunk, and sometimes the next ones.

    Ids are not checked again: a chunk with the survey's hash has the survey's ids.

    Raises
    ------
    InputError
        The texts cannot be read, or are not valid Unicode.
    RunnerError
        The size of a chunk is below 1.
    """
    start = 0
    for number, (ids, portion) in enumerate(_portions(texts, shard_size)):
        yield Chunk(number, ids, portion, _digest(texts, ids, portion, start))
        start += len(ids)


def _portions(texts: Texts, size: int) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the ids and texts of each chunk; among ids that may end a chunk, the one with the lowest hash does."""
    if size < 1:
        raise RunnerError(f"{size} texts do not make a chunk", "Ask for 1 or more.")
    rows, least = iter(texts), -(-size // 4)
    held: list[Pair] = []
    while True:
        held += islice(rows, size + 1 - len(held))
        if not held:
            return
        end = len(held)
        if end > size:
            hashes = [crc32(identifier.encode("utf-8", "replace")) for identifier, _ in held[least - 1 : size]]
            end = least + hashes.index(min(hashes))
        ids, portion = zip(*held[:end], strict=True)
        yield list(ids), list(portion)
        del held[:end]


def _digest(texts: Texts, ids: list[str], portion: list[str], start: int) -> str:
    """Return the hash of a chunk that begins at a position; refuse text that cannot be encoded as UTF-8."""
    digest = hashlib.sha256(np.array([len(ids), *map(len, ids), *map(len, portion)], dtype="<i8").tobytes())
    try:
        digest.update("".join(ids).encode())
        digest.update("".join(portion).encode())
    except UnicodeEncodeError:  # which only half a pair causes
        for position, pair in enumerate(zip(ids, portion, strict=True), start):
            for part, text in zip(("id", "text"), pair, strict=True):
                if half := re.search("[\ud800-\udfff]", text):
                    fault = f"the {part} is not valid Unicode: it has half a surrogate pair (U+{ord(half[0]):04X})"
                    raise _placed(texts).refusal(position, fault, "Write the character whole.") from None
    return digest.hexdigest()


def _placed(texts: Texts) -> PlacedTexts:
    """Return texts with places; those of an object of another class are rows."""
    others: Any = texts
    return texts if isinstance(texts, PlacedTexts) else Listed(texts.name, "document", others)


COMMENTS = ("#", "\ufeff")
"""Readers of a run skip a line that begins with the first, and the second at its beginning."""


def _check_ids(texts: PlacedTexts, ids: list[str], start: int) -> None:
    """Refuse ids that cannot be used in a run, in a chunk that begins at a position."""
    refused = COMMENTS if texts.kind == "query" else ()
    joined, begins = " ".join(ids), refused and any(qid.startswith(refused) for qid in ids)
    if "\0" not in joined and joined.split() == ids and not begins:
        return
    for position, identifier in enumerate(ids, start):
        if not identifier:
            raise texts.refusal(position, "the id is empty", "Give every text an id.")
        if "\0" in identifier or identifier.split() != [identifier]:
            part = "a NUL" if "\0" in identifier else "white space"
            fault = f"the id {quoted_text(identifier)} contains {part}"
            raise texts.refusal(position, fault, "White space separates the fields of a run: use other ids.")
        if identifier.startswith(refused):
            fault = f"the query id {quoted_text(identifier)} begins with {quoted_text(identifier[0])}"
            raise texts.refusal(position, fault, "Readers of runs skip such a line or character: use other ids.")


SUSPECTS = 1 << 17
"""Number of ids held at once when those with equal hashes are compared."""


def _check_repeated(texts: Texts, hashes: array[int]) -> None:
    """Refuse an id that occurs twice; ``hashes`` are sorted."""
    column = np.frombuffer(hashes, dtype=np.int64)
    column.sort()
    suspects = np.unique(column[1:][column[1:] == column[:-1]])
    # Hashes can be equal by chance, in about one of a million corpora of ten million ids: compare the ids themselves.
    for start in range(0, len(suspects), SUSPECTS):
        refuse_repeated(texts, frozenset(suspects[start : start + SUSPECTS].tolist()))


def refuse_repeated(texts: Texts, suspects: frozenset[int]) -> None:
    """Refuse an id that occurs twice, if its hash is among ``suspects``."""
    positions: dict[str, int] = {}
    for position, (identifier, _) in enumerate(texts):
        if hash(identifier) in suspects and (first := positions.setdefault(identifier, position)) != position:
            rows, fault, todo = _placed(texts), f"the id {quoted_text(identifier)} occurs twice", "Keep one of the two."
            if (line := rows.line_of(first)) is not None:
                raise rows.refusal(position, f"{fault} (first on line {line})", todo)
            both = f"(rows {rows.row_of(first):,} and {rows.row_of(position):,})"
            raise InputError(f"{fault} {both}", todo, file=texts.name)


BLANK = b" \r"
"""What a blank line consists of."""


class _Lines(PlacedTexts):
    """Texts of a file, one per line; blank lines are skipped.

    Parameters
    ----------
    path : str
        The file, plain, gzip, bzip2, xz or zstd.
    kind : "document" or "query"
        Documents or queries.

    Raises
    ------
    InputError
        There is no such file, or it cannot be read repeatedly.
    """

    def __init__(self, path: str, kind: Kind) -> None:
        super().__init__(path, kind)
        try:
            mode = None if path == "-" else os.stat(path).st_mode
        except OSError as error:
            fault = "no such file" if isinstance(error, FileNotFoundError) else f"cannot be opened: {error.strerror}"
            raise InputError(fault, "Check the name.", file=path) from None
        if mode is not None and stat.S_ISDIR(mode):
            raise InputError("is a folder", "Give a file.", file=path)
        if mode is None or not stat.S_ISREG(mode):
            fault = "texts are read more than once, but a pipe cannot be"
            raise InputError(fault, "Write them to a file first.", file="<stdin>" if mode is None else path)

    def __iter__(self) -> Iterator[Pair]:
        """Yield each id with its text, from the first line."""
        for first, lines in self._lines():
            yield from self._rows(lines, first)

    def line_of(self, position: int) -> int:
        """Return the line of the text at a position (from 0), counting every line of the file."""
        blocks = (enumerate(lines, first) for first, lines in self._lines())
        numbers = (number for number, line in chain.from_iterable(blocks) if line.strip(BLANK))
        return next(islice(numbers, position, None))

    def _lines(self) -> Iterator[tuple[int, list[bytes]]]:
        """Yield lines without their ends, some at a time, with the number of the first."""
        for first, block in numbered(self.name):
            raw = bytes(block)
            lines = (raw.replace(b"\r\n", b"\n") if b"\r" in raw else raw).split(b"\n")
            del lines[-1]  # the empty text after the last newline
            yield first, lines

    def _rows(self, lines: list[bytes], first: int) -> Iterable[Pair]:
        return [self._row(line, number) for number, line in enumerate(lines, first) if line.strip(BLANK)]

    def _row(self, line: bytes, number: int) -> Pair:
        """Return the id and the text of a line.

        Raises
        ------
        InputError
            The line has no id or no text.
        """
        raise NotImplementedError

    def _error(self, fault: str, todo: str, number: int) -> InputError:
        return InputError(fault, todo, file=self.name, line=number)

    def _decoded(self, line: bytes, number: int) -> str:
        try:
            return line.decode()
        except UnicodeDecodeError as error:
            fault = f"byte {error.start + 1} of the line (0x{line[error.start]:02x}) is not UTF-8"
            raise self._error(fault, "Save the file as UTF-8.", number) from None


class TabbedTexts(_Lines):
    """Texts of a file with lines of ``id<tab>text``, as in MS MARCO; the text may contain tabs.

    Parameters and errors are those of `_Lines`. Reading raises InputError for a line that is not UTF-8 or has no tab.
    """

    def _rows(self, lines: list[bytes], first: int) -> Iterable[Pair]:
        with suppress(UnicodeDecodeError):
            rows: list[Any] = [str(line, "utf-8").split("\t", 1) for line in lines]
            if sum(map(len, rows)) == 2 * len(lines):
                return map(tuple, rows)
        return super()._rows(lines, first)  # slower, but reports the error

    def _row(self, line: bytes, number: int) -> Pair:
        identifier, tab, text = self._decoded(line, number).partition("\t")
        if not tab:
            fault = f"expected an id, a tab and a text, but found no tab in {quoted(line)}"
            raise self._error(fault, "Put a tab between the id and its text.", number)
        return identifier, text


class JsonTexts(_Lines):
    """Texts of a file with one JSON object per line: ``_id``, ``text`` and, for documents, ``title``, as in BEIR.

    ``id``, as in FlagEmbedding, is accepted too. A document with a title has the text title, space, text. BEIR's
    ``SentenceBERT.encode_corpus`` (beir/retrieval/models/sentence_bert.py) and FlagEmbedding's ``EvalDenseRetriever``
    (FlagEmbedding/abc/evaluation/searcher.py) do the same, and also strip both ends.

    Parameters and errors are those of `_Lines`. Reading raises InputError for a line that is not such an object.
    """

    def _row(self, line: bytes, number: int) -> Pair:
        try:
            entry = json.loads(self._decoded(line, number))
        except (ValueError, RecursionError) as error:
            reason = f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)
            raise self._error(f"not JSON: {reason}", "Write one object per line.", number) from None
        if not isinstance(entry, dict):
            raise self._error("expected a JSON object, but found another value", "Write one object per line.", number)
        identifier = self._field(entry, "_id" if "_id" in entry else "id", number)
        text = self._field(entry, "text", number)
        if self.kind == "document" and entry.get("title"):
            text = _joined(self._field(entry, "title", number), text)
        return identifier, text

    def _field(self, entry: dict[str, Any], field: str, number: int) -> str:
        if field not in entry:
            has = ", ".join(map(quoted_text, islice(entry, 8))) or "none"
            fault = f"the object has no field '{'_id' if field == 'id' else field}' (it has {has})"
            raise self._error(fault, "Name the fields as BEIR does.", number)
        value = entry[field]
        if not isinstance(value, str):
            fault = f"the field '{field}' is {quoted_text(json.dumps(value))}, which is not text"
            raise self._error(fault, 'Write ids and texts in quotes: "7".', number)
        return value


def _joined(title: str | None, text: str) -> str:
    return f"{title} {text}" if title and text else title or text


COLUMN_BATCH = 4096
"""Rows of a table converted to Python objects at a time."""


class ColumnTexts(PlacedTexts):
    """Texts in a column of a data set of the ``datasets`` library.

    Parameters
    ----------
    data : datasets.Dataset
        The data set.
    name : str
        Its name in messages.
    kind : "document" or "query"
        Documents or queries.
    text : str
        The column with the texts.
    id : str or None
        The column with the ids, text or whole numbers; None to use row numbers, from 0.
    title : str or None
        A column with titles, which may be missing; they are joined with the texts as in `JsonTexts`.
    """

    def __init__(
        self, data: Any, name: str, kind: Kind, *, text: str, id: str | None, title: str | None = None
    ) -> None:
        super().__init__(name, kind)
        self._data = data
        self._id, self._title, self._text = id, title, text

    def known_count(self) -> int | None:
        """Return the number of rows."""
        return len(self._data)

    def __iter__(self) -> Iterator[Pair]:
        """Yield each id with its text, from the first row."""
        columns = [column for column in (self._id, self._title, self._text) if column is not None]
        start = 0
        for batch in self._data.select_columns(columns).with_format("arrow").iter(COLUMN_BATCH):
            texts = self._checked(batch, self._text, start)
            if self._title is not None:
                texts = list(map(_joined, self._checked(batch, self._title, start), texts))
            rows = range(start, start + len(texts))
            ids = map(str, rows) if self._id is None else self._checked(batch, self._id, start)
            yield from zip(ids, texts, strict=True)
            start += len(texts)

    def _checked(self, batch: Any, column: str, start: int) -> list[str]:
        """Return the texts of a column, in a batch of rows that begins at a position."""
        values: list[Any] = batch.column(column).to_pylist()
        if column == self._id:  # whole numbers too, but not booleans or 1.0
            values = [str(value) if type(value) is int else value for value in values]
        elif column == self._title:
            values = ["" if value is None else value for value in values]
        if not set(map(type, values)) <= {str}:
            row, value = next((row, value) for row, value in enumerate(values) if not isinstance(value, str))
            fault = "missing" if value is None else f"{quoted_text(repr(value))}, which is not text"
            fault = f"the value of column '{column}' is {fault}"
            raise self.refusal(start + row, fault, "Fill it in, or remove the row.")
        return values


class IrTexts(PlacedTexts):
    """Documents or queries of a data set of the package ``ir_datasets``, each as its ``default_text()``.

    Parameters
    ----------
    data : ir_datasets.Dataset
        The data set.
    name : str
        Its name in messages.
    kind : "document" or "query"
        Documents or queries.
    """

    def __init__(self, data: Any, name: str, kind: Kind) -> None:
        super().__init__(name, kind)
        self._data = data

    def known_count(self) -> int | None:
        """Return the number of texts if the package knows it."""
        try:
            count = self._data.docs_count() if self.kind == "document" else self._data.queries_count()
        except Exception:  # noqa: BLE001 - only for a progress bar; reading the texts reports any error
            return None
        return count if isinstance(count, int) else None

    def __iter__(self) -> Iterator[Pair]:
        """Yield each id with its text, from the first one."""
        name = "doc_id" if self.kind == "document" else "query_id"
        for position, record in enumerate(self._records()):
            pair = (getattr(record, name), _default_text(record))
            if not (isinstance(pair[0], str) and isinstance(pair[1], str)):
                raise self.refusal(position, f"the {self.kind} has no id and text", "Write them to a file.")
            yield pair

    def texts_of(self, ids: Collection[str]) -> dict[str, str]:
        """Return the texts of some ids; the package's store looks up documents, without reading all."""
        if self.kind != "document":
            return super().texts_of(ids)
        try:
            records = self._data.docs_store().get_many(list(ids))
        except Exception as error:  # noqa: BLE001 - a download may fail in many ways
            raise self._unreadable(error) from None
        return {docid: text for docid, record in records.items() if isinstance(text := _default_text(record), str)}

    def _records(self) -> Iterator[Any]:
        try:
            yield from self._data.docs_iter() if self.kind == "document" else self._data.queries_iter()
        except Exception as error:  # noqa: BLE001 - as above
            raise self._unreadable(error) from None

    def _unreadable(self, error: Exception) -> InputError:
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        todo = "Check the connection and try again."
        return InputError(f"the data set cannot be read: {reason}", todo, file=self.name)


def _default_text(record: Any) -> Any:
    """Return the text of a document or query; some types of data sets have only ``text``."""
    default = getattr(record, "default_text", None)
    return getattr(record, "text", None) if default is None else default()


class Listed(PlacedTexts):
    """Texts held in memory.

    Parameters
    ----------
    name : str
        Their name in messages.
    kind : "document" or "query"
        Documents or queries.
    pairs : sequence of (str, str), length D
        Ids and texts.
    source : PlacedTexts, optional
        The texts that these were selected from.
    positions : sequence of int, length D
        Their positions in the source, from 0.
    """

    def __init__(
        self,
        name: str,
        kind: Kind,
        pairs: Sequence[Pair],
        *,
        source: PlacedTexts | None = None,
        positions: Sequence[int] = (),
    ) -> None:
        super().__init__(name, kind)
        self._pairs = pairs
        self._source = source
        self._positions = positions

    @classmethod
    def chosen(cls, source: PlacedTexts, ids: Container[str]) -> Listed:
        """Select the texts with given ids, in their order."""
        chosen = [(position, pair) for position, pair in enumerate(source) if pair[0] in ids]
        positions = array("q", [position for position, _ in chosen])
        return cls(source.name, source.kind, [pair for _, pair in chosen], source=source, positions=positions)

    @classmethod
    def first(cls, source: PlacedTexts, count: int) -> Listed:
        """Select the first ``count`` texts, or all if there are fewer."""
        pairs = list(islice(source, count))
        return cls(source.name, source.kind, pairs, source=source, positions=range(len(pairs)))

    def __iter__(self) -> Iterator[Pair]:
        """Yield each id with its text, from the first one."""
        return iter(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def known_count(self) -> int | None:
        """Return the number of texts."""
        return len(self._pairs)

    def line_of(self, position: int) -> int | None:
        """Return the line of the text at a position, or None if it has none."""
        return None if self._source is None else self._source.line_of(self._positions[position])

    def row_of(self, position: int) -> int:
        """Return the row, from 1, of the text at a position."""
        return position + 1 if self._source is None else self._source.row_of(self._positions[position])
