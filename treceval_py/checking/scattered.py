"""Bring together the lines of each query of a file in which they are scattered, with bounded memory.

The queries are divided into parts whose lines fit in memory, and the file is read once for each part. The part of each
line is computed once and kept, in two bytes a line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple
from zlib import crc32

import numpy as np

from treceval_py._types import AnyArray, IntArray, Source
from treceval_py.checking.findings import ENDING, Collector
from treceval_py.checking.lines import TagWatch, rows_of
from treceval_py.checking.reading import Chunk, chunks
from treceval_py.checking.rows import QueryLines
from treceval_py.data.ids import Ids
from treceval_py.diagnosis.columns import Kind
from treceval_py.errors import InputError

PART_SIZE = 1 << 24
"""Approximate number of bytes of text held at a time."""

NO_CODE = (1 << 16) - 1
"""Replaces the code of lines without data; also the largest number of parts."""


class Codes(NamedTuple):
    """Which lines belong together: the lines of a query have the same code.

    Attributes
    ----------
    parts : int
        Number of parts; the part of a line is its code modulo this number.
    of_lines : list of (L,) uint16 arrays
        The codes of the lines of each chunk.
    """

    parts: int
    of_lines: list[AnyArray]


def grouped(again: Callable[[], Source], kind: Kind, *, size: int = PART_SIZE) -> Iterator[QueryLines]:
    """Yield the rows of a file, with the rows of each query together.

    Parameters
    ----------
    again : callable
        Returns the file for another reading.
    kind : Kind
        Kind of the file.
    size : int
        Approximate number of bytes of text held at a time; more if a single query has more.

    Yields
    ------
    rows : QueryLines
        All rows of some queries, with the rows of each query together, in file order and with their line numbers.
        Bad lines are not reported again.

    Raises
    ------
    InputError
        The file cannot be read again, or has changed.
    """
    codes = _coded(again(), kind, size)
    for part in range(codes.parts):
        rows = _part(again(), kind, codes, part)
        if rows is not None:
            yield rows


def _silent() -> Collector:
    return Collector("", ignore=("", *ENDING))


def _coded(source: Source, kind: Kind, size: int) -> Codes:
    """Give each line the code of its query."""
    of_lines: list[AnyArray] = []
    total, tags, silent = 0, TagWatch(), _silent()
    for chunk in chunks(source, silent):
        total += len(chunk.text)
        here = np.full(chunk.text.count(b"\n"), NO_CODE, dtype=np.uint16)
        rows = rows_of(chunk, kind, silent, tags=tags)
        if rows is not None:
            of_stretches = np.array([crc32(qid) % NO_CODE for qid in rows.qids], dtype=np.uint16)
            here[np.asarray(rows.at, dtype=np.int64)] = np.repeat(of_stretches, np.diff(rows.starts))
        of_lines.append(here)
    return Codes(min(total // size + 1, NO_CODE), of_lines)


def _part(source: Source, kind: Kind, codes: Codes, part: int) -> QueryLines | None:
    """Return the rows of one part of the queries; None if it has none."""
    text, numbers = lines_of(chunks(source, _silent()), codes, part)
    if not text:
        return None
    rows = rows_of(Chunk(1, text), kind, _silent(), tags=TagWatch())
    return None if rows is None else _together(rows, numbers)


def lines_of(file_chunks: Iterable[Chunk], codes: Codes, part: int) -> tuple[bytes, IntArray]:
    """Return the lines of one part of the queries, joined, and their numbers in the file.

    Raises
    ------
    InputError
        The file has changed since the codes were made.
    """
    texts: list[bytes] = []
    numbers: list[IntArray] = []
    known = iter(codes.of_lines)
    for chunk in file_chunks:
        here = next(known, None)
        ends = np.flatnonzero(np.frombuffer(chunk.text, dtype=np.uint8) == ord("\n")) + 1
        if here is None or len(here) != len(ends):
            raise InputError("the file changed while it was being read", "Run again when nothing writes to it.")
        chosen = np.flatnonzero((here != NO_CODE) & (here % codes.parts == part))
        if len(chosen):
            lines = Ids(chunk.text, np.concatenate([[0], ends]))
            texts.append(lines.take(chosen).buffer)
            numbers.append(chunk.first + chosen)
    return b"".join(texts), np.concatenate(numbers) if numbers else np.zeros(0, dtype=np.int64)


def _together(rows: QueryLines, numbers: IntArray) -> QueryLines:
    """Put the rows of each query together; ``numbers`` holds the line of the file for each line of their text."""
    places: dict[bytes, int] = {}
    stretches = np.array([places.setdefault(qid, len(places)) for qid in rows.qids], dtype=np.int64)
    query = np.repeat(stretches, np.diff(rows.starts))
    order = np.argsort(query, kind="stable")
    starts = np.searchsorted(query[order], np.arange(len(places) + 1)).astype(np.int64)
    together = rows.take(order, list(places), starts)
    return together._replace(lines=numbers[np.asarray(together.at)].tolist())
