"""JSON: ``{qid: {docid: value}}`` as one document, and JSON Lines.

A line of JSON Lines is a record, ``{"qid": "1", "docid": "a", "score": 0.5}``, or a dictionary of queries, as in a JSON
document. Fields may have the names in `data.columns`; other fields are ignored. Nothing is overwritten silently: a key
that occurs twice in an object is refused. ``Infinity`` is a valid score, as is ``inf`` in TREC's files.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn

import numpy as np

from treceval_py._types import FloatArray, IntArray, Source
from treceval_py.data.columns import DOCUMENT, QUERY, Field, needed
from treceval_py.data.ids import Ids, beginning_of, quoted_text
from treceval_py.data.qrels import Qrels
from treceval_py.data.run import Run
from treceval_py.errors import DataError, InputError
from treceval_py.io.records import Records, encoded
from treceval_py.io.source import name_of, numbered, whole
from treceval_py.io.writing import Lines, any_id, by_row, checked, checked_query, joined

SPACE = " \t\n\r"
"""What JSON allows between its parts (RFC 8259, section 2)."""


class Rank(int):
    """A rank in place of a score: the position in a list, from 1, or a column of ranks."""


class Infinite(float):
    """Infinity that was written as such, rather than as 1e999."""


# An object becomes a tuple of its pairs rather than a dictionary, which would keep the last of equal keys.
_DECODER = json.JSONDecoder(
    object_pairs_hook=tuple, parse_constant=lambda name: math.nan if name == "NaN" else Infinite(name)
)


class Dictionary(NamedTuple):
    """The contents of a JSON file, before they are read as judgments or as a run.

    Attributes
    ----------
    records : Records
        The queries and their documents.
    values : list, length D
        The value of each row, of any JSON type.
    names : tuple of str
        The names of the values' fields, if they had names.
    """

    records: Records
    values: list[Any]
    names: tuple[str, ...] = ()

    def run(self) -> Run:
        """Return the values as scores.

        Raises
        ------
        InputError
            A value is not a number, or a document occurs twice in a query.
        """
        scores, types = None, set(map(type, self.values))
        if types == {Rank}:
            ranks = np.array(self.values, dtype=np.int64)
            return self.records.run(-ranks.astype(np.float64), ranks=ranks)
        if types <= {float, int}:
            with suppress(OverflowError):
                scores = np.array(self.values, dtype=np.float64)
        if scores is None or not np.isfinite(scores).all():
            scores = np.array([self._score(row, value) for row, value in enumerate(self.values)], dtype=np.float64)
        return self.records.run(scores)

    def _score(self, row: int, value: Any) -> float:
        if type(value) not in (float, int, Infinite):
            fault, todo = f"is {_shown(value)}, which is not a number", "Write it as 12, 12.5 or 1.25e1."
            raise self.records.error(row, "score", fault, todo)
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isnan(number):
            raise self.records.error(row, "score", "is NaN, so it cannot be ranked", "Find its cause.")
        if math.isinf(number) and not isinstance(value, Infinite):
            raise self.records.error(row, "score", "is too large for a 64-bit float", "Use smaller numbers.")
        return number

    def qrels(self) -> Qrels:
        """Return the values as judgments.

        Raises
        ------
        InputError
            A value is not a whole number, or a document is judged twice for a query.
        """
        for row, value in enumerate(() if self.whole() else self.values):
            if type(value) not in (int, Rank):
                fault = f"is {_shown(value)}, which is not a whole number"
                raise self.records.error(row, "judgment", fault, "Grades are integers, such as 0, 1, 2.")
        try:
            listed = [type(value) is Rank for value in self.values]  # the documents of a list are relevant
            return self.records.qrels(np.where(listed, 1, np.array(self.values, dtype=np.int64)))
        except OverflowError:
            row = next(row for row, value in enumerate(self.values) if not -(2**63) <= value < 2**63)
            raise self.records.error(row, "judgment", "is beyond 64 bits", "Use smaller grades.") from None

    def whole(self) -> bool:
        """Return whether all values are whole numbers."""
        return set(map(type, self.values)) <= {int}


def _shown(value: object) -> str:
    """Return a JSON value for a message."""
    if isinstance(value, (tuple, list)):
        return "an object" if isinstance(value, tuple) else "a list"
    if isinstance(value, str):
        return f'"{beginning_of(value.encode("utf-8", "backslashreplace"))}"'
    if isinstance(value, int) and abs(value) >= 2**63:
        return "a very large number"
    return json.dumps(value)


def read_json(source: Source, value: Field) -> Dictionary:
    """Read one JSON document.

    It is ``{qid: {docid: value}}``, in FlagEmbedding's files under the key ``search_results``; ``{qid: [docid, …]}``;
    or a list of records as in JSON Lines, such as pandas writes by ``orient="records"``.

    Raises
    ------
    InputError
        The source cannot be read, or is not JSON of this form.
    """
    rows = _Gathered(name_of(source))
    text = utf8_text(whole(source), rows.name, 1)
    document, end = decoded(text, len(text) - len(text.lstrip(SPACE)), rows.name, 1)
    rest = text[end:].lstrip(SPACE)
    if rest:
        line = text.count("\n", 0, len(text) - len(rest)) + 1
        rows.refuse("something follows the end of the JSON object", "Is this JSON Lines (format jsonl)?", line)
    if isinstance(document, list) and all(isinstance(record, tuple) for record in document):
        for record in document:
            rows.add_record(record, value)
    elif isinstance(document, tuple):
        results = dict(document).get("search_results")
        rows.add_queries(results if isinstance(results, tuple) else document)
    else:
        rows.refuse(f"this is {_shown(document)}, not a JSON object", "Write {qid: {docid: value}}.")
    if not rows.numbers:
        rows.refuse("no queries, only an empty object", "Is it the right file?")
    return rows.dictionary()


def read_json_lines(source: Source, value: Field) -> Dictionary:
    """Read JSON Lines.

    Parameters
    ----------
    source : str, path or binary file
        The source to read.
    value : Field
        The value field of records.

    Raises
    ------
    InputError
        The source cannot be read, a line is not JSON of this form, or a record lacks a field or has two candidates.
    """
    rows = _Gathered(name_of(source))
    for first, block in numbered(source):
        for number, line in enumerate(utf8_text(bytes(block), rows.name, first).split("\n"), first):
            stripped = line.strip(SPACE)
            if not stripped:
                continue
            pairs, end = decoded(stripped, 0, rows.name, number)
            if end != len(stripped):
                rows.refuse("something follows the end of the JSON object", "Put one object on a line.", number)
            if not isinstance(pairs, tuple):
                todo = 'Write {"qid": …, "docid": …, …} or {qid: {docid: value}}.'
                rows.refuse(f"this is {_shown(pairs)}, not a JSON object", todo, number)
            if pairs and all(isinstance(documents, (tuple, list)) for _, documents in pairs):
                rows.add_queries(pairs, number)
            else:
                rows.add_record(pairs, value, number)
    if not rows.numbers:
        rows.refuse("no data lines, only blank lines", "Is it the right file?")
    return rows.dictionary()


class _Gathered:
    """Rows gathered from objects. A document's errors name no line."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.numbers: dict[str, int] = {}
        self._queries: list[int] = []
        self._starts: list[int] = []
        self._docids: list[str] = []
        self._values: list[Any] = []
        self._lines: list[int] = []
        self._fields: dict[tuple[str, ...], list[str]] = {}  # of records, by all their fields

    def refuse(self, problem: str, todo: str, line: int | None = None) -> NoReturn:
        raise InputError(problem, todo, file=self.name, line=line)

    def add_queries(self, pairs: tuple[tuple[str, Any], ...], line: int | None = None) -> None:
        """Add ``{qid: {docid: value}}``."""
        if len(dict(pairs)) < len(pairs):
            self.refuse(f"query {_twice(pairs)} occurs twice in the object", "Keep one of them.", line)
        first = type(pairs[0][1]) if pairs else tuple
        for qid, documents in pairs:
            listed = isinstance(documents, list) and all(isinstance(docid, str) for docid in documents)
            if type(documents) is not first or not (listed or isinstance(documents, tuple)):
                form = "a list of documents" if first is list else "an object {docid: value}"
                mixed = first is list and isinstance(documents, list)
                has = "a list with something other than ids" if mixed else _shown(documents)
                problem = f"query {quoted_text(qid)} has {has} instead of {form}"
                self.refuse(problem, "Write {qid: {docid: value}}.", line)
            self._begin(qid)
            self._docids += documents if listed else [docid for docid, _ in documents]
            self._values += map(Rank, range(1, len(documents) + 1)) if listed else [value for _, value in documents]
            if line is not None:
                self._lines += [line] * len(documents)

    def add_record(self, pairs: tuple[tuple[str, Any], ...], value: Field, line: int | None = None) -> None:
        """Add ``{"qid": …, "docid": …, value: …}``."""
        record: dict[str, Any] = dict(pairs)
        keys = tuple(record)
        if len(keys) < len(pairs):
            self.refuse(f"the field {_twice(pairs)} occurs twice in the object", "Keep one of them.", line)
        if keys not in self._fields:
            wanted = QUERY, DOCUMENT, value
            try:
                self._fields[keys] = [needed(keys, field, "field", within="the object has ") for field in wanted]
            except DataError as error:
                self.refuse(error.what, error.todo, line)
        qid_field, docid_field, value_field = self._fields[keys]
        qid, docid = record[qid_field], record[docid_field]
        for kind, identifier in (("query", qid), ("document", docid)):
            if type(identifier) is not str:
                self.refuse(f"the {kind} id is {_shown(identifier)}, not text", 'Write ids in quotes: "7".', line)
        self._begin(qid)
        self._docids.append(docid)
        self._values.append(record[value_field])
        if line is not None:
            self._lines.append(line)

    def _begin(self, qid: str) -> None:
        number = self.numbers.setdefault(qid, len(self.numbers))
        if not self._queries or self._queries[-1] != number:
            self._queries.append(number)
            self._starts.append(len(self._docids))

    def dictionary(self) -> Dictionary:
        """Return the gathered rows."""
        lines = self._lines or None
        encoded(self.numbers, self.name)  # only to refuse invalid text before a message shows it
        queries = np.array(self._queries, dtype=np.int64)
        starts = np.array([*self._starts, len(self._docids)], dtype=np.int64)
        docids = Ids.from_bytes(encoded(self._docids, self.name, lines))
        records = Records(list(self.numbers), queries, starts, docids, self.name, lines)
        return Dictionary(records, self._values, tuple({fields[2] for fields in self._fields.values()}))


def utf8_text(raw: bytes, name: str, first: int) -> str:
    """Decode text that must be UTF-8; `first` is the number of its first line, for messages."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first + raw.count(b"\n", 0, error.start)
        problem = f"the byte 0x{raw[error.start]:02x} is not UTF-8, but JSON must be UTF-8"
        raise InputError(problem, "Save the file as UTF-8.", file=name, line=line) from None


def decoded(text: str, at: int, name: str, first: int) -> tuple[Any, int]:
    """Return the JSON value that begins at a position, and the position after it."""
    try:
        return _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        problem = f"this is not JSON: {error.msg[:1].lower()}{error.msg[1:]} (column {error.colno})"
        raise InputError(problem, "Fix the syntax.", file=name, line=first + error.lineno - 1) from None
    except RecursionError:
        raise InputError("the JSON is nested too deeply", "Write {qid: {docid: value}}.", file=name) from None
    except ValueError:  # Python refuses integers with more than some thousands of digits
        raise InputError("a number has thousands of digits", "Use smaller numbers.", file=name) from None


def _twice(pairs: tuple[tuple[str, Any], ...]) -> str:
    """Return the first key that occurs twice, in quotes."""
    seen: set[str] = set()
    return next(quoted_text(key) for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]


def written_json(table: Run | Qrels, _: str) -> Iterator[Lines]:
    """Return JSON with one query on each line, so that files can be compared; non-ASCII characters are escaped."""
    ids = any_id("a JSON file")
    bare = _escaped(Ids.from_bytes([checked_query(qid, ids) for qid in table.bare])).raw()
    opening = b"{\n"  # of the next query, after the end of the one before
    for part in checked(table, ids) if table.qids else ():
        heads = [b'},\n"%s": {"' % qid for qid in _escaped(Ids.from_text(part.qids)).raw()]
        heads[0] = opening + heads[0].removeprefix(b"},\n")
        before = np.zeros(len(part.docids), dtype=np.int64)
        before[part.offsets[:-1]] = np.arange(1, len(heads) + 1)
        yield joined(Ids.from_bytes([b', "', *heads]).take(before), _escaped(part.docids), b'": ', _numbers(part))
        opening = b"},\n"
    for qid in bare:
        yield opening + b'"%s": {}' % qid
        opening = b",\n"
    yield {b"{\n": b"{}\n", b"},\n": b"}\n}\n", b",\n": b"\n}\n"}[opening]


def written_json_lines(table: Run | Qrels, _: str) -> Iterator[Lines]:
    """Return a record for each document."""
    for part in checked(table, any_id("a JSON Lines file")):
        value = b'", "%s": ' % (b"score" if isinstance(part, Run) else b"rel")
        qids = by_row(part, _escaped(Ids.from_text(part.qids)))
        yield joined(b'{"qid": "', qids, b'", "docid": "', _escaped(part.docids), value, _numbers(part), b"}\n")


_PLAIN = bytes(range(ord(" "), 127)).translate(None, b'"\\')
"""The characters that JSON writes as they are."""


def _escaped(ids: Ids) -> Ids:
    """Return ids as they are written between quotes."""
    if not ids.buffer.translate(None, _PLAIN):
        return ids
    return Ids.from_text([json.dumps(text)[1:-1] for text in ids.text()])


def _numbers(part: Run | Qrels) -> Ids | IntArray | FloatArray:
    """Return the values of a table as JSON writes them."""
    if isinstance(part, Qrels):
        return part.rels
    return part.scores if np.isfinite(part.scores).all() else Ids.from_text(list(map(json.dumps, part.scores.tolist())))
