"""Write a repaired copy of a run or of judgments, changing only what loses nothing.

A file is read twice: first to see whether it can be read to its end and whether the lines of each query are together;
then to repair and write it, a chunk at a time. If queries are scattered over the file, the changes of their lines are
found in between, for one part of the queries at a time, and kept as numbers per line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import BinaryIO, NamedTuple, cast
from zlib import crc32

import numpy as np

from treceval_py._types import AnyArray, IntArray, Source
from treceval_py.checking.findings import Collector
from treceval_py.checking.reading import Chunk, chunks, without_data
from treceval_py.checking.rows import is_plain, span_of
from treceval_py.checking.scattered import NO_CODE, PART_SIZE, Codes, lines_of
from treceval_py.checking.tidying import Tally, tidied
from treceval_py.data.columns import QRELS, RUN
from treceval_py.data.ids import repeated
from treceval_py.data.table import by_query
from treceval_py.diagnosis.columns import Kind, whole_number
from treceval_py.errors import InputError
from treceval_py.io.rows import scanned
from treceval_py.io.source import BYTE_ORDER_MARK, kept, name_of

_BEGINNING = re.compile(rb"(?:[\t\n\v\f\r ]|\xef\xbb\xbf)*")
"""White space and byte-order marks; the text after them comes first once blank lines are removed."""

DROPPED = -(2**63)
"""Replaces the new rank of a line that is removed."""

ENDS = ("F001", "F002", "F005", "F006", "F007", "F010", "F017", "F018", "F021")
"""Findings of files that have no text, or not all of it: a copy would lose something."""

DECODED = {
    "F003": "the byte-order mark was removed",
    "F004": "UTF-16 was rewritten as UTF-8",
    "F008": "carriage returns that end lines were replaced with newlines",
}
"""Repairs that reading makes by itself."""


class Fixed(NamedTuple):
    """The repairs of a file.

    Attributes
    ----------
    repairs : tuple of str
        What was done, such as ``12 exact duplicates were removed (first: line 7)``; empty if nothing was changed.
    lines_in, lines_out : int
        Number of lines of the file, and of the copy.
    """

    repairs: tuple[str, ...]
    lines_in: int
    lines_out: int


def fix(source: Source, target: BinaryIO, kind: Kind) -> Fixed:
    """Write a repaired copy of a run or of judgments.

    Text becomes UTF-8 without a byte-order mark. Every line ends with a newline, and fields are separated by one space
    or tab. A space of another kind (no-break, zero-width, …) becomes a plain space if the line only then has its
    fields, with numbers in the right places. A header on the first line, quotes around fields, blank lines and exact
    duplicates are removed; run lines without a tag get one. Ranks of a query that begin at 0, are all the same, are
    repeated or have gaps are numbered from 1 by score. Documents with equal scores keep the order of their ranks; if
    these are equal too, they are ordered by descending id, as in trec_eval. Ranks that contradict the scores are never
    changed. Ranks of an MS MARCO run, which has no scores, are only raised by 1 if a query begins at 0. Everything
    else, including errors, stays the same, byte for byte.

    Parameters
    ----------
    source : str, path or binary file
        The file.
    target : binary file
        The copy is written here.
    kind : Kind
        Kind of the file.

    Returns
    -------
    Fixed
        The repairs. Fixing the copy again gives the same bytes.

    Raises
    ------
    InputError
        The file cannot be read to its end, or has no text. Nothing was written then, unless the file changed meanwhile.
    """
    with kept(source) as (first, again):
        fixing = _Fixing(kind, name_of(source))
        scattered = fixing.survey(first)
        edits = fixing.edits_of_scattered(again) if scattered else None
        return fixing.write(again(), target, edits)


class _Row(NamedTuple):
    """A line with the right number of fields.

    Attributes
    ----------
    line : int
        Its number.
    docid : bytes
        The document.
    value : object
        What must be equal in an exact duplicate: the score, as a number if it is one, or the label, ….
    rank : int or None
        Its rank, if it is a whole number.
    """

    line: int
    docid: bytes
    value: object
    rank: int | None


class _Edits(NamedTuple):
    """Changes of lines: their numbers, ascending, and for each the new rank, or `DROPPED`."""

    lines: IntArray
    ranks: IntArray

    def within(self, lines: Sequence[int]) -> dict[int, int]:
        """Return the changes of the lines of a chunk."""
        if not len(lines) or not len(self.lines):
            return {}
        start, stop = np.searchsorted(self.lines, [lines[0], lines[-1] + 1]).tolist()
        return dict(zip(self.lines[start:stop].tolist(), self.ranks[start:stop].tolist(), strict=True))


class _Fixing:
    """The repair of one file."""

    def __init__(self, kind: Kind, name: str) -> None:
        self._kind = kind
        self._name = name
        self._size = 0
        self._marked = False  # whether byte-order marks were removed
        self._ranked = Tally()

    def _chunks(self, source: Source) -> Iterator[Chunk]:
        """Yield the text of the file; raise if it cannot be read to its end."""
        self._reading, begun = Collector(self._name, most=1, select=(*ENDS, *DECODED)), False
        for first, raw in chunks(source, self._reading):
            text, begun = (raw, True) if begun else self._without_marks(raw)
            yield Chunk(first, text)
        for finding in self._reading.sorted():
            if finding.code in ENDS:
                raise InputError(finding.what, finding.todo, file=self._name, line=finding.line or None)
        if not begun:
            raise InputError("no line with data, only byte-order marks", "Is it the right file?", file=self._name)

    def _without_marks(self, text: bytes) -> tuple[bytes, bool]:
        """Remove all byte-order marks at the beginning, and tell whether anything follows them."""
        begins = len(text) - len(_BEGINNING.sub(b"", text, count=1))
        self._marked = self._marked or BYTE_ORDER_MARK in text[:begins]
        return text[:begins].replace(BYTE_ORDER_MARK, b"") + text[begins:], begins < len(text)

    def survey(self, source: Source) -> bool:
        """Read the file, and tell whether lines of other queries separate the lines of a query."""
        seen: set[bytes] = set()
        scattered = False
        for chunk in self._chunks(source):
            self._size += len(chunk.text)
            queries = self._queries(chunk)
            scattered = scattered or not seen.isdisjoint(queries)
            seen.update(queries)
        return scattered

    def _queries(self, chunk: Chunk) -> Iterable[bytes]:
        part = scanned(memoryview(chunk.text), 1, RUN if self._kind.layout is RUN else QRELS)
        if part is not None:
            return part.qids
        text, lines = tidied(chunk.text, chunk.first, self._kind, Tally())
        return {query for query, _ in _queries(text, lines)}

    def edits_of_scattered(self, again: Callable[[], Source]) -> _Edits:
        """Find the changes of the lines of scattered queries, reading the file once for each part of them."""
        lines: list[IntArray] = []
        ranks: list[IntArray] = []
        codes = Codes(min(self._size // PART_SIZE + 1, NO_CODE), list(map(self._coded, self._chunks(again()))))
        for part in range(codes.parts):
            raw, numbers = lines_of(self._chunks(again()), codes, part)
            text, at = tidied(raw, 0, self._kind, Tally())
            edits = self._edits_of(text, numbers[np.asarray(at, dtype=np.int64)].tolist())
            lines.append(edits.lines)
            ranks.append(edits.ranks)
        every = np.concatenate(lines)
        order = np.argsort(every)
        return _Edits(every[order], np.concatenate(ranks)[order])

    def _coded(self, chunk: Chunk) -> AnyArray:
        """Give each line of a chunk the code of its query."""
        codes = np.full(chunk.text.count(b"\n"), NO_CODE, dtype=np.uint16)
        text, lines = tidied(chunk.text, 0, self._kind, Tally())
        part = scanned(memoryview(text), 0, RUN if self._kind.layout is RUN else QRELS) if text else None
        if part is None:
            for query, line in _queries(text, lines):
                codes[line] = crc32(query) % NO_CODE
            return codes
        of_queries = np.array([crc32(query) % NO_CODE for query in part.qids], dtype=np.uint16)
        rows = np.delete(np.asarray(lines, dtype=np.int64), without_data(text)[1])
        codes[rows] = np.repeat(of_queries[part.queries], np.diff(part.starts))
        return codes

    def write(self, source: Source, target: BinaryIO, edits: _Edits | None) -> Fixed:
        """Write the copy; without edits, the changes are found in each chunk."""
        tally, lines_in, lines_out = Tally(), 0, 0
        for chunk in self._chunks(source):
            text, lines = tidied(chunk.text, chunk.first, self._kind, tally)
            changed = (self._edits_of(text, lines) if edits is None else edits).within(lines)
            if changed:
                text = _edited(text, lines, changed, self._kind)
            target.write(text)
            lines_in = chunk.first - 1 + chunk.text.count(b"\n")
            lines_out += text.count(b"\n")
        # Reading does not repair a carriage return within a line.
        whole = {finding.code for finding in self._reading.sorted() if finding.code != "F008" or not finding.line}
        whole |= {"F003"} if self._marked else set()
        decoded = [sentence for code, sentence in DECODED.items() if code in whole]
        return Fixed((*decoded, *tally.sentences(), *self._ranked.sentences()), lines_in, lines_out)

    def _edits_of(self, text: bytes, lines: Sequence[int]) -> _Edits:
        """Find the changes of lines that include all lines of their queries."""
        rows: dict[bytes, list[_Row]] = {}
        if not _is_sound(text, self._kind):
            for query, line, fields in _fields(text, lines, self._kind):
                # One that lacks a field has no document, so that its query keeps its ranks.
                row = _row(line, fields, self._kind) if fields else _Row(line, b"", None, None)
                rows.setdefault(query, []).append(row)
        changed: list[tuple[int, int]] = []
        for of_query in rows.values():
            once, twice = _without_duplicates(of_query)
            renumbered = _new_ranks(once, self._kind)
            self._ranked.add("duplicate", twice)
            if renumbered:
                self._ranked.add("rank", [min(line for line, _ in renumbered)])
            changed += [(line, DROPPED) for line in twice] + renumbered
        changed.sort()
        table = np.array(changed, dtype=np.int64).reshape(len(changed), 2)
        return _Edits(table[:, 0], table[:, 1])


def _is_sound(text: bytes, kind: Kind) -> bool:
    """Tell, for all lines of a chunk at once, that none needs a change; False also if that is uncertain."""
    if kind.layout not in (RUN, QRELS) or not text:
        return not text
    part = scanned(memoryview(text), 1, kind.layout)
    if part is None:
        return False
    qids, starts, docids, order = by_query(part.qids, part.queries, np.diff(part.starts), part.docids)
    if repeated(docids, starts) is not None:
        return False
    if kind.rank is None or part.ranks is None:
        return kind.rank is None
    query, ranks = np.repeat(np.arange(len(qids)), np.diff(starts)), part.ranks if order is None else part.ranks[order]
    places = np.arange(1, len(docids) + 1) - starts[query]
    return bool((ranks == places).all() or (ranks[np.lexsort((ranks, query))] == places).all())


def _queries(text: bytes, lines: Sequence[int]) -> Iterator[tuple[bytes, int]]:
    """Yield the query and the number of each data line."""
    for raw, line in zip(text.split(b"\n"), lines, strict=False):  # nothing follows the last newline
        query = raw.split(None, 1)[:1]
        if query and not query[0].startswith(b"#"):
            yield query[0], line


def _fields(text: bytes, lines: Sequence[int], kind: Kind) -> Iterator[tuple[bytes, int, list[bytes]]]:
    """Yield query, line number and fields of each data line; no fields if they cannot be read."""
    for raw, line in zip(text.split(b"\n"), lines, strict=False):
        fields = kind.layout.cut(raw)
        if fields and not fields[0].startswith(b"#"):
            yield fields[0], line, fields if is_plain(raw, fields, kind.layout) else []


def _row(line: int, fields: list[bytes], kind: Kind) -> _Row:
    docid = fields[kind.docid]
    rank = None if kind.rank is None else _whole_number(fields[kind.rank])
    if kind.score is not None:
        return _Row(line, docid, _score(fields[kind.score]), rank)
    if kind.rel is not None:  # in some judgments the second field is a subtopic
        label = _whole_number(fields[kind.rel])
        return _Row(line, docid, (fields[1], fields[kind.rel] if label is None else label), None)
    return _Row(line, docid, fields[-1] if rank is None else rank, rank)


def _whole_number(text: bytes) -> int | None:
    number = whole_number(text)
    return number if number is not None and abs(number) < 10**18 else None  # leaves room for raising a rank


def _score(text: bytes) -> float | bytes:
    """Return a score as the run reader reads it, or its text if the reader refuses it."""
    try:
        value = float(text)
    except ValueError:
        return text
    beyond = math.isinf(value) and b"i" not in text.lower()
    return text if math.isnan(value) or beyond or b"_" in text else value


def _without_duplicates(rows: list[_Row]) -> tuple[list[_Row], list[int]]:
    """Return the rows of a query without exact duplicates of earlier rows, and the lines of the duplicates."""
    seen: set[tuple[bytes, object]] = set()
    once: list[_Row] = []
    twice: list[int] = []
    for row in rows:
        key = (row.docid, row.value)
        if row.docid and key in seen:
            twice.append(row.line)
            continue
        seen.add(key)
        once.append(row)
    return once, twice


def _new_ranks(rows: list[_Row], kind: Kind) -> list[tuple[int, int]]:
    """Return the lines of a query whose ranks change, with their new ranks."""
    if kind.rank is None:
        return []
    ranked = [(row, row.rank) for row in rows if row.rank is not None]
    ranks = sorted(rank for _, rank in ranked)
    if len(ranked) < len(rows) or ranks == list(range(1, len(rows) + 1)):
        return []
    if kind.score is None:
        # MS MARCO's script counts a gap as a rank, and which of two equal ranks is right cannot be known.
        return [(row.line, rank + 1) for row, rank in ranked] if ranks[0] == 0 else []
    scored = [(row.value, rank, row) for row, rank in ranked if isinstance(row.value, float)]
    if len(scored) < len(rows):
        return []
    by_rank = sorted((rank, -score) for score, rank, _ in scored)
    if any(before > after for (_, before), (_, after) in pairwise(by_rank)):
        return []
    scored.sort(key=lambda each: each[2].docid, reverse=True)
    scored.sort(key=lambda each: (-each[0], each[1]))
    return [(row.line, place) for place, (_, rank, row) in enumerate(scored, 1) if rank != place]


def _edited(text: bytes, lines: Sequence[int], changed: dict[int, int], kind: Kind) -> bytes:
    """Return a text without the removed lines, and with the new ranks."""
    written: list[bytes] = []
    for raw, line in zip(text.split(b"\n"), lines, strict=False):
        rank = changed.get(line)
        if rank is None:
            written.append(raw)
        elif rank != DROPPED:
            start, end = span_of(raw, cast("int", kind.rank))
            written.append(raw[:start] + str(rank).encode() + raw[end:])
    written.append(b"")
    return b"\n".join(written)
