"""Rows of judgments and runs: gathered from blocks of text, grouped by query, checked for repeated documents.

The compiled scanner reads a block if it is available and accepts the block; otherwise the Python reader does.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from treceval_py._types import FloatArray, IntArray, Source
from treceval_py.data.ids import Ids, decode, encode, quoted, repeated
from treceval_py.data.qrels import Qrels
from treceval_py.data.run import Run
from treceval_py.errors import InputError, RepeatedDocumentError
from treceval_py.io.lines import QRELS, RUN, Layout, no_data, read_block
from treceval_py.io.source import name_of, numbered
from treceval_py.scan import scanner
from treceval_py.threads import in_order

Column = TypeVar("Column", FloatArray, IntArray)


class Part(NamedTuple):
    """Consecutive data lines of judgments or of a run, as columns.

    Attributes
    ----------
    qids : list of bytes, length Q
        The queries, in the order of their first rows.
    queries : (S,) int array
        The query of each stretch, that is, of consecutive rows with the same query.
    starts : (S + 1,) int array
        The first row of each stretch, and D.
    docids : Ids, length D
        The documents.
    rels : (D,) int array or None
        The judgments, for judgments.
    scores : (D,) float array or None
        The scores, for a run.
    ranks : (D,) int array or None
        The rank column of a run, if it has whole numbers only.
    tag : bytes
        The tag of the last line of a run.
    lines : sequence of int, length D
        The line number of each row.
    num_lines : int
        Number of lines, including those without data.
    ordered : bool
        Whether ranks are known not to fall, and scores not to rise, within each stretch.
    """

    qids: list[bytes]
    queries: IntArray
    starts: IntArray
    docids: Ids
    rels: IntArray | None
    scores: FloatArray | None
    ranks: IntArray | None
    tag: bytes
    lines: Sequence[int]
    num_lines: int
    ordered: bool = False


class _Lines(Sequence[int]):
    """Line numbers of rows when some lines were skipped; ``skips`` has the number of rows before each skipped line."""

    def __init__(self, first: int, rows: int, skips: IntArray) -> None:
        self._first = first
        self._rows = rows
        self._skips = skips

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, index: Any) -> Any:
        row = range(self._rows)[index]
        if isinstance(row, range):
            return [self[each] for each in row]
        return self._first + row + int(np.searchsorted(self._skips, row, side="right"))


def scanned(text: memoryview, first: int, layout: Layout) -> Part | None:
    """Read a block with the compiled scanner; None if it is not available or leaves the block to Python."""
    compiled = scanner()
    found = None if compiled is None else compiled.scan(text, layout is RUN)
    if found is None:
        return None
    num_lines, count, skips, qids, queries, starts, documents, offsets, scores, whole, ordered, tag = found
    lines = _Lines(first, count, skips) if len(skips) else range(first, first + count)
    rels, ranks = (None, whole) if layout is RUN else (whole, None)
    return Part(qids, queries, starts, Ids(documents, offsets), rels, scores, ranks, tag, lines, num_lines, ordered)


def read_part(
    text: bytes, first: int, layout: Layout, name: str, *, by_rank: bool = False
) -> tuple[Part | None, InputError | None]:
    """Read a block with the Python reader, up to the first bad line; also return the error of that line.

    Parameters
    ----------
    text, first, layout, name
        As for `lines.read_block`.
    by_rank : bool
        Whether the run will be ranked by its rank column, so that each line must have a rank from 1.

    Raises
    ------
    InputError
        A field above that line is not a number.
    """
    block, error = read_block(text, first, layout, QRELS if layout is RUN else RUN, name)
    if not block.lines:
        return None, error
    starts = block.stretches()
    numbers: dict[bytes, int] = {}
    begins = [block.columns[0][start] for start in starts[:-1].tolist()]
    queries = np.array([numbers.setdefault(qid, len(numbers)) for qid in begins], dtype=np.int64)
    part = Part(
        qids=list(numbers),
        queries=queries,
        starts=starts,
        docids=Ids.from_bytes(block.columns[2]),
        rels=block.integers(3, "judgment") if layout is QRELS else None,
        scores=block.numbers(4, "score") if layout is RUN else None,
        ranks=(block.ranks(3) if by_rank else block.whole_numbers(3)) if layout is RUN else None,
        tag=block.columns[5][-1] if layout is RUN else b"",
        lines=block.lines,
        num_lines=text.count(b"\n"),
    )
    return part, error


def gathered(
    source: Source,
    layout: Layout,
    name: str | None = None,
    threads: int | None = 1,
    take: Callable[[Part], None] | None = None,
) -> Rows:
    """Read all rows of a source.

    Parameters
    ----------
    source : str, path or binary file
        The file.
    layout : Layout
        Its columns.
    name : str, optional
        The source's name in messages. Default: its own.
    threads : int or None
        Threads that scan blocks; None for one per core. The Python reader uses one.
    take : callable, optional
        Receives each part; the returned rows are then empty.

    Raises
    ------
    InputError
        The source cannot be read, or one of its lines is malformed.
    """
    rows, empty = Rows(name_of(source) if name is None else name), True
    take = rows.add if take is None else take

    def scan(block: tuple[int, memoryview]) -> tuple[Part | None, InputError | None]:
        first, text = block
        part = scanned(text, first, layout)
        return (part, None) if part is not None else read_part(bytes(text), first, layout, rows.name)

    workers = 1 if scanner() is None else threads
    with closing(in_order(numbered(source, rows.name), scan, workers)) as parts:
        for part, error in parts:
            if part is not None and part.docids:  # a block of comments has no tag
                take(part)
                empty = False
            if error is not None:
                raise error
    if empty:
        raise no_data(rows.name)
    return rows


class Grouping(NamedTuple):
    """The order of rows by query.

    Attributes
    ----------
    qids : list of str, length Q
        The queries, in order of first occurrence.
    offsets : (Q + 1,) int array
        The first row of each query, and D.
    order : (D,) int array or None
        The rows in their new order; None if unchanged.
    """

    qids: list[str]
    offsets: IntArray
    order: IntArray | None


class _Kept(NamedTuple):
    """The rows that remain if the last line of each document counts.

    Attributes
    ----------
    places : (K,) int array
        The rows where the documents first occurred.
    values : (K,) int array
        The rows with their values.
    offsets : (Q + 1,) int array
        The first document of each query, and K.
    """

    places: IntArray
    values: IntArray
    offsets: IntArray


class Repetition(NamedTuple):
    """A document that occurs twice in a query, and the two lines."""

    qid: str
    docid: str
    first: int
    second: int

    def error(self, name: str, before: int = 0) -> RepeatedDocumentError:
        """Return the error for it, if ``before`` lines come before those that were counted."""
        return RepeatedDocumentError(
            f"document {quoted(encode(self.docid))} occurs twice in query {quoted(encode(self.qid))} "
            f"(first on line {self.first + before})",
            "Keep one of the two lines.",
            file=name,
            line=self.second + before,
        )


@dataclass(slots=True)
class Rows:
    """Rows gathered from parts of a file, to become a table.

    Attributes
    ----------
    name : str
        The source's name in messages.
    count : int
        Number of rows.
    """

    name: str
    count: int = 0
    _parts: list[Part] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)

    def add(self, part: Part) -> None:
        """Add the rows of a part."""
        self._parts.append(part)
        self._starts.append(self.count)
        self.count += len(part.docids)

    def qrels(self, *, duplicates: str = "refuse") -> Qrels:
        """Return the rows as judgments.

        Parameters
        ----------
        duplicates : {"refuse", "last"}
            How to treat a document that is judged twice for a query: raise an error, or keep the last line.

        Raises
        ------
        InputError
            A document is judged twice for a query.
        """
        grouping, docids = self._grouped()
        kept = self._without_repeated(grouping, docids) if duplicates == "last" else None
        if kept is None:
            self._check_duplicates(grouping, docids)
        rels = _joined([part.rels for part in self._parts if part.rels is not None], grouping.order)
        if kept is not None:
            rels, docids = rels[kept.values], docids.take(kept.places)
            return Qrels.from_columns(grouping.qids, kept.offsets, docids, rels, name=self.name)
        return Qrels.from_columns(grouping.qids, grouping.offsets, docids, rels, name=self.name)

    def run(self, *, checked: bool = True, duplicates: str = "refuse") -> Run:
        """Return the rows as a run.

        Parameters
        ----------
        checked : bool
            Check for documents that occur twice in a query.
        duplicates : {"refuse", "last"}
            How to treat such a document: raise an error; or keep its first position with the score and rank of its last
            line, as in a dictionary that is filled line by line.

        Raises
        ------
        InputError
            A document occurs twice in a query.
        """
        grouping, docids = self._grouped()
        kept = self._without_repeated(grouping, docids) if duplicates == "last" else None
        if checked and kept is None:
            self._check_duplicates(grouping, docids)
        scores = _joined([part.scores for part in self._parts if part.scores is not None], grouping.order)
        known = [part.ranks for part in self._parts if part.ranks is not None]
        ranks = _joined(known, grouping.order) if len(known) == len(self._parts) else None
        tag = decode(self._parts[-1].tag)
        if kept is not None:
            scores, docids = scores[kept.values], docids.take(kept.places)
            ranks = None if ranks is None else ranks[kept.values]
            grouping = grouping._replace(offsets=kept.offsets)
        return Run.from_columns(grouping.qids, grouping.offsets, docids, scores, tag=tag, name=self.name, ranks=ranks)

    def _grouped(self) -> tuple[Grouping, Ids]:
        lengths = np.concatenate([np.diff(part.starts) for part in self._parts])
        numbers: dict[bytes, int] = {}
        stretches: list[IntArray] = []
        for part in self._parts:
            here = np.array([numbers.setdefault(qid, len(numbers)) for qid in part.qids], dtype=np.int64)
            stretches.append(here[part.queries])
        queries = np.concatenate(stretches)
        columns = [part.docids for part in self._parts]
        docids = columns[0] if len(columns) == 1 else Ids.concatenate(columns)
        order = None
        if (queries[1:] < queries[:-1]).any():  # a query's lines are scattered over the file
            # By query, then row: unique numbers sort faster than a stable sort of rows by query.
            bits = int(lengths.sum()).bit_length()
            keys = np.repeat(queries << bits, lengths)
            keys |= np.arange(len(keys))
            keys.sort()
            order = keys & ((1 << bits) - 1)
            docids = docids.take(order)
        offsets = np.zeros(len(numbers) + 1, dtype=np.int64)
        np.add.at(offsets, queries + 1, lengths)
        np.cumsum(offsets, out=offsets)
        return Grouping([decode(qid) for qid in numbers], offsets, order), docids

    @staticmethod
    def _without_repeated(grouping: Grouping, docids: Ids) -> _Kept | None:
        """Return the positions of documents and the rows of their values; None if no document is repeated."""
        compiled = scanner()
        if compiled is not None:
            kept = _Kept(*compiled.last_lines(docids.buffer, docids.offsets, grouping.offsets))
            return kept if len(kept.places) < len(docids) else None
        if repeated(docids, grouping.offsets) is None:
            return None
        places: list[int] = []
        values: list[int] = []
        offsets = [0]
        for start, stop in pairwise(grouping.offsets.tolist()):
            last: dict[bytes, int] = {}
            first: dict[bytes, int] = {}
            for row, docid in enumerate(docids.raw(start, stop), start):
                first.setdefault(docid, row)
                last[docid] = row
            places += first.values()
            values += [last[docid] for docid in first]
            offsets.append(len(places))
        return _Kept(*(np.array(column, dtype=np.int64) for column in (places, values, offsets)))

    def repetition(self) -> Repetition | None:
        """Return the first document that occurs twice in a query."""
        return self._repetition(*self._grouped())

    def _repetition(self, grouping: Grouping, docids: Ids) -> Repetition | None:
        twice = repeated(docids, grouping.offsets)
        if twice is None:
            return None
        query, *rows = twice
        first, second = (self._line_of(row if grouping.order is None else int(grouping.order[row])) for row in rows)
        return Repetition(grouping.qids[query], docids[rows[1]], first, second)

    def _check_duplicates(self, grouping: Grouping, docids: Ids) -> None:
        twice = self._repetition(grouping, docids)
        if twice is not None:
            raise twice.error(self.name)

    def _line_of(self, row: int) -> int:
        number = bisect_right(self._starts, row) - 1
        return self._parts[number].lines[row - self._starts[number]]


def _joined(parts: Sequence[Column], order: IntArray | None) -> Column:
    """Join the parts of a column and reorder its rows."""
    column: Any = np.concatenate(parts) if len(parts) > 1 else parts[0]
    joined: Column = column if order is None else column[order]
    return joined
