"""Rows of judgments and runs: gathered from blocks of text, grouped by query, checked for repeated documents.

The compiled scanner reads a block if it is available and accepts the block; otherwise the Python reader does.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from functools import partial
from itertools import compress, pairwise
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from treceval_py._types import FloatArray, IntArray, Source
from treceval_py.data.columns import COLBERT, MSMARCO, RUN, TEVATRON, Layout
from treceval_py.data.ids import Ids, decode, encode, firsts_of, quoted, repeated
from treceval_py.data.qrels import Qrels
from treceval_py.data.run import DEFAULT_TAG, Run
from treceval_py.data.table import Grouping, by_query
from treceval_py.errors import InputError, RepeatedDocumentError
from treceval_py.io.lines import Block, no_data, read_block
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
    retagged, spaced : bool
        Whether tags differ, and whether one has spaces; known only of what the compiled scanner read.
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
    retagged: bool = False
    spaced: bool = False

    def between(self, first: int, last: int) -> Part:
        """Return the rows of stretches number ``first`` to ``last``."""
        start, stop = self.starts[[first, last]].tolist()
        queries = self.queries[first:last]
        least, most = (int(queries.min()), int(queries.max())) if len(queries) else (0, -1)
        columns = {name: getattr(self, name) for name in ("docids", "rels", "scores", "ranks", "lines")}
        return self._replace(
            qids=self.qids[least : most + 1],
            queries=queries - least,
            starts=self.starts[first : last + 1] - start,
            num_lines=stop - start,
            **{name: column[start:stop] for name, column in columns.items() if column is not None},
        )


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
            return [self[number] for number in row]
        return self._first + row + int(np.searchsorted(self._skips, row, side="right"))


def scanned(text: memoryview, first: int, layout: Layout) -> Part | None:
    """Read a block with the compiled scanner; None if it is not available or leaves the block to Python."""
    compiled = scanner()
    columns = None if compiled is None else compiled.scan(text, layout is RUN)
    if columns is None:
        return None
    num_lines, count, skips, qids, queries, starts, documents, offsets, scores, whole, *known = columns
    lines = _Lines(first, count, skips) if len(skips) else range(first, first + count)
    rels, ranks = (None, whole) if layout is RUN else (whole, None)
    ordered, tag, *of_tags = known
    docids = Ids(documents, offsets)
    return Part(qids, queries, starts, docids, rels, scores, ranks, tag, lines, num_lines, ordered, *of_tags)


def read_part(
    text: bytes, first: int, layout: Layout, name: str, *, by_rank: bool = False
) -> tuple[Part | None, InputError | None]:
    """Read a block with the Python reader, up to the first bad line; also return the error of that line.

    Parameters
    ----------
    text, first, layout, name
        As for `lines.read_block`. The ranks of MS MARCO's layout become ``rels``.
    by_rank : bool
        Whether the run will be ranked by its rank column, so that each line must have a rank from 1.

    Raises
    ------
    InputError
        A field above that line is not a number.
    """
    docid, score, rank = _OF_RUNS.get(layout, (-2, None, None))
    judged = layout is not MSMARCO and score is None
    block, error = read_block(text, first, layout, name)
    if not block.lines:
        return None, error
    docids = block.columns[docid]
    starts = block.stretches()
    numbers: dict[bytes, int] = {}
    begins = [block.columns[0][start] for start in starts[:-1].tolist()]
    queries = np.array([numbers.setdefault(qid, len(numbers)) for qid in begins], dtype=np.int64)
    part = Part(
        qids=list(numbers),
        queries=queries,
        starts=starts,
        docids=Ids.from_bytes(docids),
        rels=None if score is not None else block.integers(-1, "judgment" if judged else "rank"),
        scores=None if score is None else block.numbers(score, "score"),
        ranks=None if rank is None else block.ranks(rank) if by_rank else block.whole_numbers(rank),
        tag=block.columns[5][-1] if layout is RUN else b"",
        lines=block.lines,
        num_lines=text.count(b"\n"),
    )
    return part, error


_OF_RUNS: dict[Layout, tuple[int, int | None, int | None]] = {
    RUN: (2, 4, 3),
    COLBERT: (1, 3, 2),
    TEVATRON: (1, 2, None),
}
"""The fields of document, score and rank in layouts with scores."""


PartReader: TypeAlias = Callable[..., "tuple[Any, InputError | None]"]


def part_of(block: tuple[int, memoryview], layout: Layout, name: str) -> tuple[Part | None, InputError | None]:
    """Read a numbered block with the compiled scanner or else the Python reader; result as for `read_part`."""
    first, text = block
    part = scanned(text, first, layout)
    return (part, None) if part is not None else read_part(bytes(text), first, layout, name)


def parts_of(
    source: Source, layout: Layout, name: str | None = None, threads: int | None = 1, part_of: PartReader = part_of
) -> Iterator[Part]:
    """Yield the rows of a source, block by block.

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
    part_of : callable
        Reads a numbered block, as `part_of` does.

    Raises
    ------
    InputError
        The source cannot be read, or one of its lines is malformed.
    """
    name, empty = name_of(source) if name is None else name, True
    work = partial(part_of, layout=layout, name=name)
    texts = numbered(source, name, columns=True)
    several = threads != 1 and scanner() is not None
    with closing(in_order(texts, work, threads)) if several else nullcontext(map(work, texts)) as parts:
        for part, error in parts:
            if part is not None and len(part.lines):  # a block of comments has no tag
                yield part
                empty = False
            if error is not None:
                raise error
    if empty:
        raise no_data(name)


def read_blocks(source: Source, layout: Layout) -> Iterator[Block]:
    """Yield the data lines of a source as blocks of columns, one column per field of the layout; as `parts_of`."""

    def block_of(block: tuple[int, memoryview], layout: Layout, name: str) -> tuple[Block, InputError | None]:
        return read_block(bytes(block[1]), block[0], layout, name)

    blocks: Iterator[Any] = parts_of(source, layout, part_of=block_of)
    return blocks


def whole_queries(parts: Iterable[Part], kind: str, name: str) -> Iterator[Run | Qrels]:
    """Yield the rows of parts as tables of whole queries, for a file that is written while another is read.

    Raises
    ------
    InputError
        A document occurs twice in a query; or rows must be held, because those of a query are not together, the tag is
        not the same to the end, or only some parts have ranks.
    """
    known, alike = set[str](), set[tuple[bytes, bool]]()
    unnumbered = (part._replace(lines=range(len(part.docids))) for part in parts)  # which no message needs
    for piece in by_whole_queries(unnumbered):
        rows = Rows(name, piece)
        table = rows.run() if kind == "run" else rows.qrels()
        alike.update((part.tag, part.ranks is None) for part in piece)
        if len(alike) > 1 or not known.isdisjoint(table.qids):
            raise InputError("not to be read by parts", file=name)
        known.update(table.qids)
        yield table


def by_whole_queries(parts: Iterable[Part]) -> Iterator[list[Part]]:
    """Divide the rows of parts into pieces of whole queries.

    Raises
    ------
    InputError
        The rows of a query are not together, as far as two parts show.
    """
    rest: list[Part] = []  # of the last query, which may go on
    for part in parts:
        first, last = part.qids[:1], len(part.qids) - 1
        goes_on = bool(rest) and first == rest[-1].qids
        if len(part.queries) > len(part.qids) or (rest and rest[-1].qids[0] in part.qids[1:]):
            raise InputError("queries are scattered", "Read the run as a table.")
        ordered = part.ordered
        if goes_on and ordered and part.ranks is not None and part.scores is not None:
            before: Any = rest[-1]
            ordered = bool(part.ranks[0] > before.ranks[-1] and part.scores[0] <= before.scores[-1])
        if goes_on and not last:
            rest.append(part._replace(ordered=ordered))
            continue
        if rest or last:
            yield [*rest, part.between(0, last)._replace(ordered=ordered)]
        rest = [part.between(last, last + 1)]
    yield rest


class Repetition(NamedTuple):
    """A document that occurs twice in a query, and the two lines."""

    qid: str
    docid: str
    first: int
    second: int

    def error(self, name: str, before: int = 0) -> RepeatedDocumentError:
        """Return the error for it, if ``before`` lines come before those that were counted."""
        document, query = quoted(encode(self.docid)), quoted(encode(self.qid))
        problem = f"document {document} occurs twice in query {query} (first on line {self.first + before})"
        return RepeatedDocumentError(problem, "Keep one of the two lines.", file=name, line=self.second + before)


class Rows:
    """Rows gathered from parts of a file, to become a table.

    Attributes
    ----------
    name : str
        The source's name in messages.
    count : int
        Number of rows.
    """

    def __init__(self, name: str, parts: Iterable[Part] = ()) -> None:
        self.name = name
        self.count = 0
        self._parts: list[Part] = []
        self._qids: list[str] = []
        self._starts: list[int] = []
        for part in parts:
            self.add(part)

    def add(self, part: Part) -> None:
        """Add the rows of a part."""
        self._parts.append(part._replace(qids=[], queries=part.queries + len(self._qids)))
        if part.qids:
            self._qids += decode(b"\n".join(part.qids)).split("\n")  # faster than one by one
        self._starts.append(self.count)
        self.count += int(part.starts[-1])

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
        qids, offsets, docids, order = self._grouped(last=duplicates == "last", checked=True)
        rels = _joined([part.rels for part in self._parts if part.rels is not None], order)
        qrels = Qrels.from_columns(qids, offsets, docids, rels, name=self.name)
        qrels.replaced = self.count - int(offsets[-1])
        return qrels

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
        qids, offsets, docids, order = self._grouped(last=duplicates == "last", checked=checked)
        scores = _joined([part.scores for part in self._parts if part.scores is not None], order)
        known = [part.ranks for part in self._parts if part.ranks is not None]
        ranks = _joined(known, order) if len(known) == len(self._parts) else None
        tag = decode(self._parts[-1].tag) or DEFAULT_TAG
        return Run.from_columns(qids, offsets, docids, scores, tag=tag, name=self.name, ranks=ranks)

    def _grouped(self, *, last: bool = False, checked: bool = False) -> Grouping:
        """Return the rows by query; documents that occur twice are refused, or have only their last row."""
        lengths = np.concatenate([np.diff(part.starts) for part in self._parts])
        qids, queries, docids = self._qids, self._parts[0].queries, self._parts[0].docids
        if len(self._parts) > 1:
            firsts, queries = firsts_of(qids), np.concatenate([part.queries for part in self._parts])
            new = firsts == np.arange(len(qids))
            qids, queries = list(compress(qids, new)), (np.cumsum(new) - 1)[firsts[queries]]
            docids = Ids.concatenate([part.docids for part in self._parts])
        grouping = by_query(qids, queries, lengths, docids)
        if last:
            return _last_rows(grouping)
        if checked and (twice := self.repetition(grouping)) is not None:
            raise twice.error(self.name)
        return grouping

    def repetition(self, grouping: Grouping | None = None) -> Repetition | None:
        """Return the first document that occurs twice in a query."""
        qids, offsets, docids, order = grouping or self._grouped()
        twice = repeated(docids, offsets)
        if twice is None:
            return None
        query, *rows = twice
        lines = []
        for row in rows if order is None else order[rows].tolist():
            part = bisect_right(self._starts, row) - 1
            lines.append(self._parts[part].lines[row - self._starts[part]])
        return Repetition(qids[query], docids[rows[1]], *lines)


def _last_rows(grouping: Grouping) -> Grouping:
    """Return documents where they first occur, with the order of their last rows."""
    qids, offsets, docids, order = grouping
    compiled = scanner()
    if compiled is not None:
        places, values, offsets = compiled.last_lines(docids.buffer, docids.offsets, offsets)
    else:
        rows, last_rows, ends = list[int](), list[int](), [0]
        for start, stop in pairwise(offsets.tolist()):
            last: dict[bytes, int] = {}
            first: dict[bytes, int] = {}
            for row, docid in enumerate(docids.raw(start, stop), start):
                first.setdefault(docid, row)
                last[docid] = row
            rows += first.values()
            last_rows += last.values()
            ends.append(len(rows))
        places, values, offsets = (np.array(column, dtype=np.int64) for column in (rows, last_rows, ends))
    if len(places) == len(docids):
        return grouping
    return Grouping(qids, offsets, docids.take(places), values if order is None else order[values])


def _joined(parts: Sequence[Column], order: IntArray | None) -> Column:
    """Join the parts of a column and reorder its rows."""
    column: Any = np.concatenate(parts) if len(parts) > 1 else parts[0]
    joined: Column = column if order is None else column[order]
    return joined
