"""Judge a run while it is read, piece by piece, so that memory holds only its judged documents.

If the lines of each query are together, as in nearly every run, a piece holds whole queries. Pieces are read, judged
and discarded, by several threads if the compiled scanner is available.

A query that occurs in two pieces shows that lines are scattered. Then the queries are divided into parts that each fit
in memory, and the run is read again for each part, or as a whole table if the Python reader is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple, TypeVar

from treceval_py._types import Source
from treceval_py.data.columns import RUN
from treceval_py.data.ids import decode
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import PLAIN, Ranking
from treceval_py.data.run import Run
from treceval_py.diagnosis.signs import Lists, Seen, look, merged
from treceval_py.errors import InputError
from treceval_py.io.lines import no_data
from treceval_py.io.rows import Part, Repetition, Rows, gathered, read_part, scanned
from treceval_py.io.source import Watch, at_line, blocks, kept, name_of
from treceval_py.judging.judged import JudgedRun
from treceval_py.judging.locating import Located, assemble, judge_by, limit_if_plain, locate
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
    size: int | None = None,
    watch: Watch | None = None,
) -> tuple[JudgedRun, Retrieved]:
    """Find the judged documents of a run in TREC's format.

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
    size : int, optional
        Approximate size of a piece in bytes. Default: what suits the reader.
    watch : callable, optional
        Progress callback, called with bytes read and total bytes (None if unknown).

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
    with kept(source) as (first, again):
        reading = _Reading(qrels, name_of(source), ranking, duplicates, 1 if scanner() is None else threads, size)
        reading.take_all(blocks(first, size, name=reading.name, whole_queries=True, columns=True, watch=watch))
        if reading.scattered and not reading.take_parts(again):
            rows = gathered(again(), RUN, reading.name, reading.threads)
            run = rows.run(duplicates=duplicates)
            judged = judge_by(qrels, run, ranking, complete=complete)
            replaced = rows.count - len(run.docids)
            seen = look(Lists.of(run), qrels)
            return judged, Retrieved(run.qids, run.name, run.tag, seen, replaced)
    return reading.whole(complete=complete)


def read_by_queries(
    qrels: Qrels, source: Source, take: Callable[[Run], T], *, duplicates: str = "refuse", threads: int | None = None
) -> list[T]:
    """Return what `take` makes of the parts of a run in TREC's format, each of whole queries, in order.

    Parameters, and errors, are those of `judge_file`. If the lines of queries are scattered, there is one part.
    """
    with kept(source) as (first, again):
        reading = _Reading(qrels, name_of(source), PLAIN, duplicates, 1 if scanner() is None else threads, None, take)
        reading.take_all(blocks(first, name=reading.name, whole_queries=True, columns=True))
        if reading.scattered:
            return [take(gathered(again(), RUN, reading.name, reading.threads).run(duplicates=duplicates))]
    return reading.taken()


class _Piece(NamedTuple):
    """The results of judging a piece of a run.

    Attributes
    ----------
    qids : tuple of str
        Its queries.
    tag : str
        Its tag.
    num_lines, num_bytes : int
        Its size.
    located : Located or None
        Its judged documents; None if they are not needed.
    seen : Seen
        What its columns show.
    twice : Repetition or None
        A document that occurs twice in a query, if that is refused.
    replaced : int
        The number of lines replaced by a later line for the same document.
    taken : object
        What `read_by_queries` returns of it.
    """

    qids: tuple[str, ...]
    tag: str
    num_lines: int
    num_bytes: int
    located: Located | None = None
    seen: Seen = Seen()
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
        duplicates: str,
        threads: int | None,
        size: int | None,
        take: Callable[[Run], Any] | None = None,
    ) -> None:
        self.name = name
        self.threads = threads
        self.scattered = False  # whether a query occurred in two pieces; then pieces are only scanned for errors
        self._qrels = qrels
        self._ranking = ranking
        self._duplicates = duplicates
        self._size = size
        self._take = take
        self._parted = False  # whether pieces hold parts of the queries, instead of lines that follow one another
        self._plain = True  # whether the scanner accepted all pieces
        self._lines = self._num_bytes = 0
        self._twice: InputError | None = None
        self._qids: dict[str, None] = {}
        self._tag = ""
        self._pieces: list[_Piece] = []

    def piece(self, text: memoryview) -> _Piece | bytes:
        """Judge a piece; return its text if the Python reader must read it."""
        part = scanned(text, 1, RUN)
        if part is None:
            return bytes(text)
        if not part.qids:
            return _Piece((), "", part.num_lines, len(text))
        if self._ranking.order == "rank" and (part.ranks is None or int(part.ranks.min()) < 1):
            return bytes(text)
        if self.scattered:
            return _Piece(tuple(map(decode, part.qids)), decode(part.tag), part.num_lines, len(text))
        return self._judged(part, len(text))

    def _judged(self, part: Part, num_bytes: int) -> _Piece:
        """Judge a part of a run."""
        rows = Rows(self.name)
        rows.add(part)
        run = rows.run(checked=False)
        located = locate(self._qrels, run, self._ranking)
        # The scanner notices repeated documents while it judges, unless some are left out of the ranking before.
        noticed = located.twice is not None or scanner() is None or limit_if_plain(self._ranking) is None
        twice, replaced = None, 0
        if noticed and self._duplicates == "last":
            run = rows.run(duplicates="last")
            replaced = len(part.docids) - len(run.docids)
            located = locate(self._qrels, run, self._ranking) if replaced else located
        elif noticed:
            twice = rows.repetition()
        if self._take is not None:
            lines = part.num_lines
            return _Piece(run.qids, run.tag, lines, num_bytes, twice=twice, replaced=replaced, taken=self._take(run))
        ordered = part.ordered and run.ranks is not None and len(part.queries) == len(run.qids)
        # If no document is judged, the documents will tell why.
        before = self._pieces[-1].seen if self._pieces else None
        seen = look(Lists.of(run, ordered=ordered), None if len(located.hits.rank) else self._qrels, before)
        return _Piece(run.qids, run.tag, part.num_lines, num_bytes, located, seen, twice, replaced)

    def take_all(self, texts: Iterator[memoryview]) -> None:
        """Judge pieces, and add them in order.

        Raises
        ------
        InputError
            A line or the source cannot be read.
        """
        with closing(in_order(texts, self.piece, self.threads)) as results:
            while True:
                try:
                    result = next(results)
                except StopIteration:
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
                    known = len(self._qids)
                    self._qids.update(dict.fromkeys(piece.qids))
                    self._tag = piece.tag
                    self.scattered |= len(self._qids) < known + len(piece.qids)
                    self._pieces.append(piece)

    def _by_python(self, text: bytes) -> _Piece:
        self._plain = False
        part, error = read_part(text, self._lines + 1, RUN, self.name, by_rank=self._ranking.order == "rank")
        if error is not None:
            raise error
        return _Piece((), "", text.count(b"\n"), len(text)) if part is None else self._judged(part, len(text))

    def take_parts(self, again: Callable[[], Source]) -> bool:
        """Judge a run with scattered queries instead, reading it once per part of its queries.

        Returns False if the Python reader is needed, which must hold such a run whole.
        """
        compiled = scanner()
        if compiled is None or not self._plain:
            return False
        self.scattered = False
        self._parted = True
        self._pieces.clear()
        count = self._num_bytes // SCATTERED_SIZE + 1
        for number in range(count):
            select = partial(compiled.select, parts=count, part=number)
            texts = blocks(again(), self._size, name=self.name)
            with closing(in_order(texts, select, self.threads)) as chosen:
                text = b"".join(chosen)
            if text:
                piece = self.piece(memoryview(text))
                if isinstance(piece, bytes) or piece.twice is not None:
                    return False
                self._pieces.append(piece)
        return True

    def whole(self, *, complete: bool) -> tuple[JudgedRun, Retrieved]:
        """Combine the pieces; errors as of `taken`."""
        self.taken()
        located = [piece.located for piece in self._pieces if piece.located is not None]
        seen = merged([piece.seen for piece in self._pieces])
        if self._parted:  # parts do not follow one another
            seen.contradicting = tuple(filter({*seen.contradicting}.__contains__, self._qids))
            seen.usual = -1
        judged = assemble(self._qrels, located, complete=complete, tag=self._tag, known=self._ranking.known)
        replaced = sum(piece.replaced for piece in self._pieces)
        return judged, Retrieved(tuple(self._qids), self.name, self._tag, seen, replaced)

    def taken(self) -> list[Any]:
        """Return what was taken of each piece.

        Raises
        ------
        InputError
            The run has no line with data, or a document occurs twice in a query.
        """
        if not self._qids:
            raise no_data(self.name)
        if self._twice is not None:
            raise self._twice
        return [piece.taken for piece in self._pieces]
