"""A mended copy of a run or of judgments, in which only that is changed which nobody can miss.

A file is read twice: first to see that it can be read to its end, and whether the lines of a query stand together;
then to be mended and written, a chunk at a time. Where the lines of a query are scattered over the file, what becomes
of them is found in between, a part of the queries at a time, and kept as numbers by line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import BinaryIO, NamedTuple
from zlib import crc32

import numpy as np

from treceval_py._types import AnyArray, IntArray, Source
from treceval_py.checking.catalogue import CODES
from treceval_py.checking.fields import whole_number
from treceval_py.checking.findings import Collector
from treceval_py.checking.reading import Chunk, chunks, without_data
from treceval_py.checking.rows import Kind, is_several, span_of
from treceval_py.checking.scattered import NO_CODE, Codes, lines_of
from treceval_py.checking.tidying import Tally, tidied
from treceval_py.data.ids import repeated
from treceval_py.errors import InputError
from treceval_py.io.lines import QRELS, RUN
from treceval_py.io.rows import scanned
from treceval_py.io.source import BYTE_ORDER_MARK, kept, name_of

__all__ = ["Fixed", "fix"]

_BEGINNING = re.compile(rb"(?:[\t\n\v\f\r ]|\xef\xbb\xbf)*")
"""White space and byte-order marks; what follows stands at the beginning when blank lines are removed."""

PART_SIZE = 1 << 24
"""About how many bytes of text of scattered queries are looked at in one reading."""

DROPPED = -(2**63)
"""What a line that is left out has in the place of a new rank."""

ENDS = ("F001", "F002", "F005", "F006", "F007", "F010", "F017", "F018")
"""Where these are found there is no text, or not all of it: a copy would lose something."""

DECODED = {
    "F003": "the byte-order mark was removed",
    "F004": "UTF-16 was rewritten as UTF-8",
    "F008": "carriage returns that end lines were replaced with newlines",
}
"""What reading mends by itself."""


class Fixed(NamedTuple):
    """What was mended.

    Attributes
    ----------
    repairs : tuple of str
        What was done, such as ``12 exact duplicates were removed (first: line 7)``; empty where nothing was.
    lines_in, lines_out : int
        The lines of the file, and those of the copy.
    """

    repairs: tuple[str, ...]
    lines_in: int
    lines_out: int


def fix(source: Source, target: BinaryIO, kind: Kind) -> Fixed:
    """Write a mended copy of a run or of judgments.

    Text becomes UTF-8 without a byte-order mark, lines end with a newline, the last one too, and one space or tab
    stands between fields; a space of another kind (no-break, zero-width, …) becomes a plain one where only then the
    line has its fields, with numbers in their places. A header on the first line and quotes around fields are left
    out, and lines of a run without a tag get one. Blank lines and exact duplicates are left out. Ranks of a query
    that begin at 0, are all the same, come twice or have gaps are numbered from 1 in the order of the scores, equal
    scores as the ranks were, and else by descending id as trec_eval orders them; never where they contradict the
    scores. Ranks of an MS MARCO run, which has no scores, are only raised by 1 where a query begins at 0. All else,
    also what is wrong, stays byte for byte.

    Parameters
    ----------
    source : str, path or binary file
        The file.
    target : binary file
        Where the copy is written.
    kind : Kind
        What the file is.

    Returns
    -------
    Fixed
        What was mended. A copy of what `fix` wrote is the same, byte for byte.

    Raises
    ------
    InputError
        The file cannot be read to its end, or has no text. Unless it changes meanwhile, nothing was written then.
    """
    with kept(source) as (first, again):
        fixing = _Fixing(kind, name_of(source))
        scattered = fixing.survey(first)
        edits = fixing.edits_of_scattered(again) if scattered else None
        return fixing.write(again(), target, edits)


class _Row(NamedTuple):
    """A line that has its fields.

    Attributes
    ----------
    line : int
        Its number.
    docid : bytes
        The document.
    value : object
        What must be the same in an exact duplicate: the score as a number if it is one, the label, ….
    rank : int or None
        Its rank, if that is a whole number.
    """

    line: int
    docid: bytes
    value: object
    rank: int | None


class _Edits(NamedTuple):
    """What becomes of lines: their numbers, ascending, and for each the new rank, or `DROPPED`."""

    lines: IntArray
    ranks: IntArray

    def within(self, lines: Sequence[int]) -> dict[int, int]:
        """Return what becomes of those lines of a chunk that change."""
        if not len(lines) or not len(self.lines):
            return {}
        start, stop = np.searchsorted(self.lines, [lines[0], lines[-1] + 1]).tolist()
        return dict(zip(self.lines[start:stop].tolist(), self.ranks[start:stop].tolist(), strict=True))


class _Fixing:
    """One file on its way to a mended copy."""

    def __init__(self, kind: Kind, name: str) -> None:
        self._kind = kind
        self._name = name
        self._size = 0
        self._marked = False  # whether byte-order marks were removed
        self._ranked = Tally()

    def _chunks(self, source: Source, collector: Collector | None = None) -> Iterator[Chunk]:
        """Yield the text of the file, or refuse a file that cannot be read to its end."""
        if collector is None:
            collector = Collector(self._name, CODES, most=1, select=(*ENDS, *DECODED))
        empty, begun = True, False
        for first, raw in chunks(source, collector):
            empty, text = False, raw
            if not begun:
                text, begun = self._without_marks(raw)
            yield Chunk(first, text)
        for found in collector.sorted():
            # UTF-16 that cannot be decoded on the way gives no text.
            if found.code in ENDS or empty:
                raise InputError(found.what, found.todo, file=self._name, line=found.line or None)
        if not begun:
            raise InputError("no line with data, only byte-order marks", "Is it the right file?", file=self._name)

    def _without_marks(self, text: bytes) -> tuple[bytes, bool]:
        """Leave out all byte-order marks at the beginning, and tell whether anything follows them."""
        begins = len(text) - len(_BEGINNING.sub(b"", text, count=1))
        self._marked = self._marked or BYTE_ORDER_MARK in text[:begins]
        return text[:begins].replace(BYTE_ORDER_MARK, b"") + text[begins:], begins < len(text)

    def survey(self, source: Source) -> bool:
        """Read the file, and tell whether lines of a query stand apart, with other queries between them."""
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
        """Find what becomes of each line of scattered queries, reading the file once for each part of them."""
        lines: list[IntArray] = []
        ranks: list[IntArray] = []
        codes = Codes(min(self._size // PART_SIZE + 1, NO_CODE), list(map(self._coded, self._chunks(again()))))
        for part in range(codes.parts):
            raw, numbers = lines_of(self._chunks(again()), codes, part)
            text, at = tidied(raw, 0, self._kind, Tally())
            found = self._edits_of(text, numbers[np.asarray(at, dtype=np.int64)].tolist())
            lines.append(found.lines)
            ranks.append(found.ranks)
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

    def _edits(self, rows: dict[bytes, list[_Row]]) -> _Edits:
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

    def write(self, source: Source, target: BinaryIO, edits: _Edits | None) -> Fixed:
        """Write the copy; without edits, what becomes of lines is found in each chunk."""
        collector = Collector(self._name, CODES, most=1, select=(*ENDS, *DECODED))
        tally, lines_in, lines_out = Tally(), 0, 0
        for chunk in self._chunks(source, collector):
            text, lines = tidied(chunk.text, chunk.first, self._kind, tally)
            changed = (self._edits_of(text, lines) if edits is None else edits).within(lines)
            if changed:
                text = _edited(text, lines, changed, self._kind)
            target.write(text)
            lines_in = chunk.first - 1 + chunk.text.count(b"\n")
            lines_out += text.count(b"\n")
        # A carriage return on a line of its own is not what reading mends.
        whole = {found.code for found in collector.sorted() if found.code != "F008" or not found.line}
        whole |= {"F003"} if self._marked else set()
        decoded = [sentence for code, sentence in DECODED.items() if code in whole]
        return Fixed((*decoded, *tally.sentences(), *self._ranked.sentences()), lines_in, lines_out)

    def _edits_of(self, text: bytes, lines: Sequence[int]) -> _Edits:
        """Find what becomes of lines, among which are all of their queries."""
        rows: dict[bytes, list[_Row]] = {}
        if not _is_sound(text, self._kind):
            _gather(rows, _fields(text, lines, self._kind), self._kind)
        return self._edits(rows)


def _is_sound(text: bytes, kind: Kind) -> bool:
    """Tell, for all lines at once, that no line of a chunk has to change; where it is not known, it is not said."""
    if kind.layout not in (RUN, QRELS) or not text:
        return not text
    part = scanned(memoryview(text), 1, kind.layout)
    if part is None:
        return False
    query, docids, ranks = np.repeat(part.queries, np.diff(part.starts)), part.docids, part.ranks
    if len(part.qids) != len(part.starts) - 1:  # lines of a query stand apart
        order = np.argsort(query, kind="stable")
        query, docids, ranks = query[order], docids.take(order), None if ranks is None else ranks[order]
    starts = np.searchsorted(query, np.arange(len(part.qids) + 1)).astype(np.int64)
    if repeated(docids, starts) is not None:
        return False
    if kind.rank is None or ranks is None:
        return kind.rank is None
    places = np.arange(1, len(docids) + 1) - starts[query]
    return bool((ranks == places).all() or (ranks[np.lexsort((ranks, query))] == places).all())


def _queries(text: bytes, lines: Sequence[int]) -> Iterator[tuple[bytes, int]]:
    """Yield the query and the number of each data line."""
    for raw, line in zip(text.split(b"\n"), lines, strict=False):  # nothing follows the last newline
        query = raw.split(None, 1)[:1]
        if query and not query[0].startswith(b"#"):
            yield query[0], line


def _fields(text: bytes, lines: Sequence[int], kind: Kind) -> Iterator[tuple[bytes, int, list[bytes]]]:
    """Yield the query, the number and the fields of each data line; no fields of one that is likely several."""
    for raw, line in zip(text.split(b"\n"), lines, strict=False):
        fields = kind.layout.cut(raw)
        if fields and not fields[0].startswith(b"#"):
            yield fields[0], line, [] if is_several(raw, len(fields), kind.layout) else fields


def _gather(rows: dict[bytes, list[_Row]], found: Iterable[tuple[bytes, int, list[bytes]]], kind: Kind) -> None:
    """Put lines under their queries; one that lacks a field is there without a document, so that ranks stay."""
    for query, line, fields in found:
        whole = kind.layout.fits(len(fields))
        row = _row(line, fields, kind) if whole else _Row(line, b"", None, None)
        rows.setdefault(query, []).append(row)


def _row(line: int, fields: list[bytes], kind: Kind) -> _Row:
    docid = fields[kind.docid]
    rank = None if kind.rank is None else _whole_number(fields[kind.rank])
    if kind.score is not None:
        return _Row(line, docid, _score(fields[kind.score]), rank)
    if kind.rel is not None:  # the second field is a subtopic in some judgments
        return _Row(line, docid, (fields[1], _or_text(fields[kind.rel])), None)
    return _Row(line, docid, fields[-1] if rank is None else rank, rank)


def _whole_number(text: bytes) -> int | None:
    number = whole_number(text)
    return number if number is not None and abs(number) < 10**18 else None  # so that a rank can grow


def _or_text(text: bytes) -> int | bytes:
    number = _whole_number(text)
    return text if number is None else number


def _score(text: bytes) -> float | bytes:
    """Return a score as reading a run takes it; as it is written, if reading refuses it."""
    try:
        value = float(text)
    except ValueError:
        return text
    beyond = math.isinf(value) and b"i" not in text.lower()
    return text if math.isnan(value) or beyond or b"_" in text else value


def _without_duplicates(rows: list[_Row]) -> tuple[list[_Row], list[int]]:
    """Return the rows of a query without exact duplicates of earlier ones, and the lines of these."""
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
    """Return the lines of a query that get another rank, with that rank."""
    if kind.rank is None:
        return []
    ranked = [(row, row.rank) for row in rows if row.rank is not None]
    ranks = sorted(rank for _, rank in ranked)
    if len(ranked) < len(rows) or ranks == list(range(1, len(rows) + 1)):
        return []
    if kind.score is None:
        # A gap is a place that MS MARCO's script counts, and which of two equal ranks is meant nobody knows.
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
    """Return a text without the lines that are dropped, and with the new ranks."""
    written: list[bytes] = []
    for raw, line in zip(text.split(b"\n"), lines, strict=False):
        rank = changed.get(line)
        if rank is None:
            written.append(raw)
        elif rank != DROPPED:
            written.append(_with_rank(raw, rank, kind))
    written.append(b"")
    return b"\n".join(written)


def _with_rank(raw: bytes, rank: int, kind: Kind) -> bytes:
    """Replace the rank of a line."""
    if kind.rank is None:
        raise AssertionError(f"{kind.what} has no ranks")
    start, end = span_of(raw, kind.rank)
    return raw[:start] + str(rank).encode() + raw[end:]
