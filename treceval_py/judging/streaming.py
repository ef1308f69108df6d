"""Judge a run while it is read, piece by piece, so that memory holds only its judged documents.

If the lines of each query are together, as in nearly every run, a piece holds whole queries. Pieces are read, judged
and discarded, by several threads if the compiled scanner is available.

A query that occurs in two pieces shows that lines are scattered. Then the queries are divided into parts that each fit
in memory, and the run is read again for each part, or as a whole table if the Python reader is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from itertools import chain, compress
from typing import Any, NamedTuple, TypeVar

import numpy as np

from treceval_py._types import IntArray, Source
from treceval_py.data.columns import RUN, SCORE
from treceval_py.data.ids import decode
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import PLAIN, Ranking
from treceval_py.data.run import Run
from treceval_py.diagnosis.signs import Lists, Seen, look, merged
from treceval_py.errors import InputError
from treceval_py.io.lines import no_data
from treceval_py.io.rows import Part, Repetition, Rows, by_whole_queries, parts_of, read_part, scanned
from treceval_py.io.source import Watch, at_line, blocks, kept, name_of
from treceval_py.judging.judged import JudgedRun
from treceval_py.judging.located import limit_if_plain, locate
from treceval_py.judging.locating import assemble, judge_by
from treceval_py.scan import scanner
from treceval_py.threads import in_order

T = TypeVar("T")

SCATTERED_SIZE = 1 << 24
"""Approximate number of bytes held at a time for a run with scattered queries."""


class Retrieved(NamedTuple):
    """Facts about a run besides its judged documents.

    Attributes
    ----------
    qids : tuple of str
        Its queries.
    name, tag : str
        Its name for messages, and its tag.
    seen : Seen or None
        What its columns show; None if nobody has looked.
    replaced : int
        The number of lines replaced by a later line for the same document.
    bare : tuple of str
        Further queries, which have no documents.
    """

    qids: tuple[str, ...]
    name: str
    tag: str
    seen: Seen | None = None
    replaced: int = 0
    bare: tuple[str, ...] = ()


def judge_file(
    qrels: Qrels,
    source: Source,
    *,
    complete: bool = True,
    ranking: Ranking = PLAIN,
    duplicates: str = "refuse",
    threads: int | None = None,
    watch: Watch | None = None,
    format: str = "trec_results",
) -> tuple[JudgedRun, Retrieved]:
    """Find the judged documents of a run in TREC's format, or in Parquet.

    Parameters
    ----------
    qrels : Qrels
        The judgments.
    source : str, path or binary file
        The run. The bytes read from a pipe are kept, in case its queries are scattered.
    complete : bool
        As for `judging.judge`.
    ranking : Ranking
        How documents are ranked.
    duplicates : {"refuse", "last"}
        As for `Rows.run`.
    threads : int, optional
        Threads that read. Default: one per available core. The Python reader uses one.
    watch : callable, optional
        Progress callback, called with bytes read and total bytes (None if unknown).
    format : {"trec_results", "parquet"}
        The format. Parquet has no lines: only `complete`, `ranking` and `threads` concern it.

    Returns
    -------
    judged : JudgedRun
        The same for every reader, number of threads and size of pieces.
    retrieved : Retrieved
        Other facts about the run.

    Raises
    ------
    InputError
        The run cannot be read, a line is malformed, or a document occurs twice in a query.
    """
    if format == "parquet":
        return _judge_parquet(qrels, source, ranking, threads, complete=complete)
    with kept(source) as (first, again):
        reading = _Reading(qrels, name_of(source), ranking, threads, duplicates=duplicates)
        texts = blocks(first, name=reading.name, whole_queries=True, columns=True, watch=watch)
        reading.take_all(texts, reading.piece)
        if reading.scattered and not reading.take_parts(again):
            rows = Rows(reading.name, parts_of(again(), RUN, reading.name, reading.threads))
            run = rows.run(duplicates=duplicates)
            return _judge_table(qrels, run, ranking, rows.count - len(run.docids), complete=complete)
    return reading.whole(complete=complete)


def read_by_queries(
    qrels: Qrels, source: Source, take: Callable[[Run], T], *, duplicates: str = "refuse", threads: int | None = None
) -> list[T]:
    """Return what `take` makes of the parts of a run in TREC's format, each of whole queries, in order.

    Parameters, and errors, are those of `judge_file`. If the lines of queries are scattered, there is one part.
    """
    with kept(source) as (first, again):
        reading = _Reading(qrels, name_of(source), PLAIN, threads, duplicates=duplicates, take=take)
        reading.take_all(blocks(first, name=reading.name, whole_queries=True, columns=True), reading.piece)
        if reading.scattered:
            rows = Rows(reading.name, parts_of(again(), RUN, reading.name, reading.threads))
            return [take(rows.run(duplicates=duplicates))]
    return [piece.taken for piece in reading.pieces]


def _judge_parquet(
    qrels: Qrels, source: Source, ranking: Ranking, threads: int | None, *, complete: bool
) -> tuple[JudgedRun, Retrieved]:
    from treceval_py.io.parquet import parts_of_parquet, read_parquet

    # A table decides about repeated documents, scattered queries and ranks, and reports what is wrong.
    with suppress(InputError):
        reading = _Reading(qrels, name_of(source), ranking, threads)
        if ranking.order != "rank":
            reading.take_all(by_whole_queries(parts_of_parquet(source, SCORE)), reading.judged)
            if not reading.scattered:
                return reading.whole(complete=complete)
    return _judge_table(qrels, read_parquet(source, SCORE).run(), ranking, complete=complete)


def _judge_table(
    qrels: Qrels, run: Run, ranking: Ranking, replaced: int = 0, *, complete: bool
) -> tuple[JudgedRun, Retrieved]:
    judged = judge_by(qrels, run, ranking, complete=complete)
    return judged, Retrieved(run.qids, run.name, run.tag, look(Lists.of(run), qrels), replaced)


class _Piece(NamedTuple):
    """The results of judging a piece of a run.

    Attributes
    ----------
    num_lines, num_bytes : int
        Its size.
    qids : tuple of str
        Its queries.
    tag : str
        Its tag.
    rows : (Q,) int array
        Their rows in the judgments, negative for others.
    twice : Repetition or None
        A document that occurs twice in a query, if that is refused.
    replaced : int
        The number of lines replaced by a later line for the same document.
    taken : (Located, Seen) or object
        Its judged documents and what its columns show; or what `read_by_queries` returns of it.
    """

    num_lines: int
    num_bytes: int
    qids: tuple[str, ...] = ()
    tag: str = ""
    rows: IntArray = np.zeros(0, dtype=np.int64)
    twice: Repetition | None = None
    replaced: int = 0
    taken: Any = None


class _Reading:
    """A run that is being read, with the results of its pieces so far."""

    def __init__(
        self,
        qrels: Qrels,
        name: str,
        ranking: Ranking,
        threads: int | None,
        *,
        duplicates: str = "refuse",
        take: Callable[[Run], Any] | None = None,
    ) -> None:
        self.name = name
        self.threads = 1 if scanner() is None else threads
        self.scattered = False  # whether a query occurred in two pieces; then pieces are only scanned for errors
        self._qrels = qrels
        self._ranking = ranking
        self._duplicates = duplicates
        self._take = take
        self._parted = False  # whether pieces hold parts of the queries, instead of lines that follow one another
        self._plain = True  # whether the scanner accepted all pieces
        self._lines = self._num_bytes = 0
        self._twice: InputError | None = None
        self._qids: list[tuple[str, ...]] = []
        self._there = np.zeros(len(qrels.qids), dtype=bool)  # the judged queries so far, and the other ones
        self._unjudged: set[str] = set()
        self._tag = ""
        self.pieces: list[_Piece] = []

    def piece(self, text: memoryview) -> _Piece | bytes:
        """Judge a piece; return its text if the Python reader must read it."""
        part = scanned(text, 1, RUN)
        if part is None:
            return bytes(text)
        if not part.qids:
            return _Piece(part.num_lines, len(text))
        if self._ranking.order == "rank" and (part.ranks is None or int(part.ranks.min()) < 1):
            return bytes(text)
        if self.scattered:
            qids = tuple(map(decode, part.qids))
            return _Piece(part.num_lines, len(text), qids, decode(part.tag), self._qrels.rows_of(qids))
        return self.judged([part], len(text))

    def judged(self, parts: Sequence[Part], num_bytes: int = 0) -> _Piece:
        """Judge parts of a run that have whole queries."""
        rows = Rows(self.name, parts)
        run = rows.run(checked=False)
        located = locate(self._qrels, run, self._ranking)
        # The scanner notices repeated documents while it judges, unless some are left out of the ranking before.
        noticed = located.twice is not None or scanner() is None or limit_if_plain(self._ranking) is None
        twice, replaced = None, 0
        if noticed and self._duplicates == "last":
            run = rows.run(duplicates="last")
            replaced = rows.count - len(run.docids)
            located = locate(self._qrels, run, self._ranking) if replaced else located
        elif noticed:
            twice = rows.repetition()
        if self._take is not None:
            taken = self._take(run)
        else:
            # A query may go on from one part to the next.
            together = sum(len(part.queries) for part in parts) - len(run.qids) < len(parts)
            ordered = together and run.ranks is not None and all(part.ordered for part in parts)
            # If no document is judged, the documents will tell why.
            before = self.pieces[-1].taken if self.pieces else None
            judgments = None if len(located.hits.rank) else self._qrels
            seen = look(Lists.of(run, ordered=ordered), judgments, before and before[1])
            taken = located, seen
        # The texts of judged queries are those of the judgments, held once.
        named = zip(run.qids, located.rows.tolist(), strict=True)
        qids = tuple([qid if row < 0 else self._qrels.qids[row] for qid, row in named])
        num_lines = sum(part.num_lines for part in parts)
        return _Piece(num_lines, num_bytes, qids, run.tag, located.rows, twice, replaced, taken)

    def take_all(self, contents: Iterator[Any], judge: Callable[[Any], _Piece | bytes]) -> None:
        """Judge the contents of pieces, and add them in order.

        Raises
        ------
        InputError
            A line or the source cannot be read, the run has no line with data, or, unless it is scattered, a document
            occurs twice in a query.
        """
        with closing(in_order(contents, judge, self.threads)) as results:
            while True:
                try:
                    result = next(results)
                except StopIteration:
                    if not self._qids:
                        raise no_data(self.name) from None
                    if self._twice is not None and not self.scattered:
                        raise self._twice from None
                    return
                except InputError as error:
                    raise at_line(error, self._lines) from None
                piece, before = (self._by_python(result), 0) if isinstance(result, bytes) else (result, self._lines)
                if piece.twice is not None:
                    # Reported only once all lines are known to be well formed, as when the whole run is read at once.
                    self._twice = self._twice or piece.twice.error(self.name, before)
                self._lines += piece.num_lines
                self._num_bytes += piece.num_bytes
                if piece.qids:
                    judged, known = piece.rows[piece.rows >= 0], len(self._unjudged)
                    others = list(compress(piece.qids, (piece.rows < 0).tolist()))
                    self._unjudged.update(others)
                    self.scattered |= len(self._unjudged) < known + len(others) or bool(self._there[judged].any())
                    self._there[judged] = True
                    self._qids.append(piece.qids)
                    self._tag = piece.tag
                    self.pieces.append(piece)

    def _by_python(self, text: bytes) -> _Piece:
        self._plain = False
        part, error = read_part(text, self._lines + 1, RUN, self.name, by_rank=self._ranking.order == "rank")
        if error is not None:
            raise error
        return _Piece(text.count(b"\n"), len(text)) if part is None else self.judged([part], len(text))

    def take_parts(self, again: Callable[[], Source]) -> bool:
        """Judge a run with scattered queries instead, reading it once per part of its queries.

        Returns False if the Python reader is needed, which must hold such a run whole.
        """
        compiled = scanner()
        if compiled is None or not self._plain:
            return False
        self.scattered = False
        self._parted = True
        self.pieces.clear()
        count = self._num_bytes // SCATTERED_SIZE + 1
        for number in range(count):
            select = partial(compiled.select, parts=count, part=number)
            texts = blocks(again(), name=self.name)
            with closing(in_order(texts, select, self.threads)) as chosen:
                text = b"".join(chosen)
            if text:
                piece = self.piece(memoryview(text))
                if isinstance(piece, bytes) or piece.twice is not None:
                    return False
                self.pieces.append(piece)
        return True

    def whole(self, *, complete: bool) -> tuple[JudgedRun, Retrieved]:
        """Combine the pieces."""
        located, counts = zip(*(piece.taken for piece in self.pieces if piece.qids), strict=True)
        seen = merged(counts)
        qids = tuple(chain.from_iterable(self._qids))
        if self._parted:  # parts do not follow one another
            qids = tuple(dict.fromkeys(qids))
            seen.contradicting = tuple(filter({*seen.contradicting}.__contains__, qids))
            seen.usual = -1
        judged = assemble(self._qrels, located, complete=complete, tag=self._tag, known=self._ranking.known)
        replaced = sum(piece.replaced for piece in self.pieces)
        return judged, Retrieved(qids, self.name, self._tag, seen, replaced)
