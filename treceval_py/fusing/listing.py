"""Runs read one list at a time, in any order of queries, that need not fit in memory.

A run in TREC's format is read once, in pieces. Columns larger than a few megabytes go to temporary files; the
positions of each query's rows stay in memory.
"""

from __future__ import annotations

import tempfile
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from treceval_py._types import AnyArray, FloatArray, Source
from treceval_py.data.columns import RUN
from treceval_py.data.ids import Ids, decode, repeated
from treceval_py.data.passages import best_segments
from treceval_py.data.run import Run
from treceval_py.diagnosis.signs import Lists
from treceval_py.errors import OutputError
from treceval_py.io.named import reader_named, recognised
from treceval_py.io.rows import Part, Repetition, Rows, parts_of
from treceval_py.io.source import name_of

IN_MEMORY = 1 << 22
"""Most bytes of a column that are kept in memory."""


@dataclass(slots=True)
class ListedRun:
    """A run that gives one list at a time.

    Attributes
    ----------
    name, tag : str
        Its source, and its tag.
    spans : dict
        The rows of each query, as ranges from the first row to the one after the last, in the order of the run.
    buffer, offsets, scores : columns
        The bytes of all document ids, the start of each id, and the scores. A slice of a column is an array.
    contradicting : set of str
        Queries in which the rank column contradicts the scores, as far as a single piece of the file shows.
    reversed : bool
        Whether scores grow with the rank in all of these.
    separator : bytes
        If not empty, documents are ranked by the best of their segments.
    """

    name: str
    tag: str
    spans: dict[str, list[tuple[int, int]]]
    buffer: Any
    offsets: Any
    scores: Any
    contradicting: set[str] = field(default_factory=set)
    reversed: bool = True
    separator: bytes = b""
    _starts: list[int] = field(default_factory=list)
    _lines: list[Sequence[int]] = field(default_factory=list)

    @property
    def num_rows(self) -> int:
        """Total number of documents over all queries."""
        return sum(stop - start for spans in self.spans.values() for start, stop in spans)

    def lists(self, qid: str) -> tuple[Ids, FloatArray]:
        """Return the documents of a query and their scores, in the order of the run; none if it lacks the query.

        Raises
        ------
        RepeatedDocumentError
            A document occurs twice.
        """
        spans = self.spans.get(qid, [])
        parts = [self._rows(start, stop) for start, stop in spans]
        ids = parts[0][0] if len(parts) == 1 else Ids.concatenate([part[0] for part in parts])
        scores = parts[0][1] if len(parts) == 1 else np.concatenate([np.empty(0), *(part[1] for part in parts)])
        if self._lines:  # otherwise the run was a table, in which no document occurs twice
            self._check_repeated(qid, ids)
        if self.separator:
            best = best_segments(ids.raw(), scores, self.separator)
            return Ids.from_bytes([*best.values()]), scores[[*best]]
        return ids, scores

    def _rows(self, start: int, stop: int) -> tuple[Ids, FloatArray]:
        cuts = self.offsets[start : stop + 1]
        return Ids(bytes(self.buffer[int(cuts[0]) : int(cuts[-1])]), cuts - cuts[0]), self.scores[start:stop]

    def _check_repeated(self, qid: str, ids: Ids) -> None:
        twice = repeated(ids, np.array([0, len(ids)]))
        if twice is None:
            return
        rows = [row for start, stop in self.spans[qid] for row in range(start, stop)]
        first, second = (self._line_of(rows[at]) for at in twice[1:])
        raise Repetition(qid, ids[twice[2]], first, second).error(self.name)

    def _line_of(self, row: int) -> int:
        number = bisect_right(self._starts, row) - 1
        return self._lines[number][row - self._starts[number]]

    def add(self, part: Part) -> None:
        """Add the rows of a part of the file."""
        first = self._starts[-1] + len(self._lines[-1]) if self._lines else 0
        self._starts.append(first)
        whole = range(part.lines[0], part.lines[-1] + 1)
        self._lines.append(whole if len(whole) == len(part.lines) else part.lines)
        for query, (start, stop) in zip(part.queries.tolist(), pairwise(part.starts.tolist()), strict=True):
            self.spans.setdefault(decode(part.qids[query]), []).append((first + start, first + stop))
        # Starts of ids in the buffer of all parts; the last entry is the buffer's size.
        begun = len(self.buffer)
        self.buffer.extend(np.frombuffer(part.docids.buffer, dtype=np.uint8))
        self.offsets.extend(part.docids.offsets[1 if self.offsets else 0 :] + begun)
        self.scores.extend(part.scores)
        self.tag = decode(part.tag)
        if not part.ordered:
            clashing, turned = _clashes(Rows(self.name, [part]).run(checked=False))
            self.contradicting |= clashing
            self.reversed = self.reversed and turned


def _clashes(run: Run) -> tuple[set[str], bool]:
    """Return the queries in which ranks contradict scores, and whether scores only grow with the rank in all."""
    lists = Lists.of(run)
    clashing = lists.contradicting
    names = {str(lists.qids[row]) for row in np.flatnonzero(clashing).tolist()}
    return names, not (clashing & lists.directions[1]).any()


class _Column:
    """A column of numbers that can be appended to, and moves to a file when it is long."""

    def __init__(self, stack: ExitStack, dtype: Any) -> None:
        self._file = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - the stack closes it
        stack.callback(self._file.close)
        self._dtype = np.dtype(dtype)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def extend(self, values: AnyArray) -> None:
        """Append values; called before any value is read."""
        self._file.write(np.ascontiguousarray(values, dtype=self._dtype).data)
        self._length += len(values)

    def __getitem__(self, rows: slice) -> AnyArray:
        size = self._dtype.itemsize
        self._file.seek(rows.start * size)
        return np.frombuffer(self._file.read((rows.stop - rows.start) * size), dtype=self._dtype)


@contextmanager
def read_listed(source: Source, format: str | None = None, *, threads: int | None = None) -> Iterator[ListedRun]:
    """Read a run, and yield it as lists.

    Parameters
    ----------
    source : str, path or binary file
        The file; ``"-"`` for standard input.
    format : str, optional
        The format. Default: recognised. A run in a format other than TREC's is held in memory.
    threads : int, optional
        Number of reading threads. Default: one per core.

    Raises
    ------
    InputError
        It cannot be read, or a line is malformed.
    OutputError
        Temporary files cannot be written.
    """
    name = name_of(source)
    kind, source = recognised(source, "run") if format is None else (format, source)
    if kind != "trec_results":
        yield list_run(reader_named(kind, "run")(source))
        return
    with ExitStack() as stack:
        buffer, offsets, scores = (_Column(stack, dtype) for dtype in (np.uint8, np.int64, np.float64))
        run = ListedRun(name, "", {}, buffer, offsets, scores)
        try:
            for part in parts_of(source, RUN, name, threads):
                run.add(part)
        except OSError as error:  # not from the source, which has its own errors
            failure = f"temporary files cannot be written: {error.strerror or error}"
            raise OutputError(failure, "Set TMPDIR to a folder with more space.", file=tempfile.gettempdir()) from None
        yield run


def list_run(run: Run, name: str | None = None) -> ListedRun:
    """Return a run in memory as lists, under a name for messages."""
    spans = {qid: [run.span(row)] for row, qid in enumerate(run.qids)}
    (clashing, turned), ids = _clashes(run), run.docids
    columns = (ids.buffer, ids.offsets, run.scores)
    return ListedRun(run.name if name is None else name, run.tag, spans, *columns, clashing, turned)
