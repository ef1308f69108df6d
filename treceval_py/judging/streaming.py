"""Judge a run while it is read, piece by piece, so that a run needs no more memory than its judged documents.

A piece holds whole queries if the lines of each query are together, as in nearly every run. Pieces are read, judged
and forgotten, by several threads where the compiled scanner is at work.

A query that comes in two pieces shows that lines are scattered. Then the queries are divided into so many parts that a
part fits in memory, and the run is read again for each of them; or as a table, where the Python reader is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from treceval_py._types import Source
from treceval_py.data.ids import decode
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import PLAIN, RankContradictions, Ranking, rank_contradictions
from treceval_py.data.run import Run
from treceval_py.errors import InputError
from treceval_py.io.lines import RUN, no_data
from treceval_py.io.rows import Part, Rows, gathered, read_part, scanned
from treceval_py.io.source import Watch, at_line, blocks, kept, name_of
from treceval_py.judging.judged import JudgedRun
from treceval_py.judging.locating import Located, assemble, judge_by, locate
from treceval_py.scan import scanner
from treceval_py.threads import in_order

__all__ = ["Retrieved", "judge_file"]

SCATTERED_SIZE = 1 << 24
"""About how many bytes of text of scattered queries are held at a time."""


class Retrieved(NamedTuple):
    """What is known of a run beside its judged documents.

    Attributes
    ----------
    qids : tuple of str
        Its queries.
    name, tag : str
        Where it comes from, and its tag.
    contradictions : RankContradictions
        The queries in which its rank column contradicts its scores.
    """

    qids: tuple[str, ...]
    name: str
    tag: str
    contradictions: RankContradictions


def judge_file(
    qrels: Qrels,
    source: Source,
    *,
    complete: bool = True,
    ranking: Ranking = PLAIN,
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
        The run; a pipe is kept as far as it was read, for the case that its queries are scattered.
    complete : bool
        As for `judging.judge`.
    ranking : Ranking
        How documents are ranked.
    threads : int, optional
        How many threads read; by default as many as there are cores for this process. The Python reader uses one.
    size : int, optional
        About how many bytes a piece has; by default what suits the reader.
    watch : callable, optional
        Is told how many bytes of the source have been read, and how many it has.

    Returns
    -------
    judged : JudgedRun
        The same, whatever the reader, the threads and the size of pieces.
    retrieved : Retrieved
        What else is known of the run.

    Raises
    ------
    InputError
        The run cannot be read, a line is malformed, a document occurs twice in a query.
    """
    name = name_of(source)
    judging = _Judging(qrels, name, ranking)
    workers = 1 if scanner() is None else threads
    with kept(source) as (first, again):
        reading = _Reading(judging)
        texts = blocks(first, size, name=name, whole_queries=True, watch=watch)
        with closing(in_order(texts, judging.piece, workers)) as results:
            reading.take_all(results)
        if judging.scattered and not _judged_in_parts(judging, reading, again, workers, size):
            run = gathered(again(), RUN, name, workers).run()
            judged = judge_by(qrels, run, judging.ranking, complete=complete)
            return judged, Retrieved(run.qids, name, run.tag, rank_contradictions(run))
    return reading.whole(complete=complete)


class _Piece(NamedTuple):
    """What is left of a piece of a run when it has been judged.

    Attributes
    ----------
    qids : tuple of str
        Its queries.
    tag : str
        Its tag.
    num_lines, num_bytes : int
        Its size.
    located : Located or None
        Its judged documents; None when judging it is of no use.
    contradictions : RankContradictions or None
        Queries whose ranks contradict their scores; None where ranks are not whole numbers.
    """

    qids: tuple[str, ...]
    tag: str
    num_lines: int
    num_bytes: int
    located: Located | None = None
    contradictions: RankContradictions | None = None


@dataclass(slots=True)
class _Judging:
    """How pieces are judged, in any thread."""

    qrels: Qrels
    name: str
    ranking: Ranking
    scattered: bool = False  # whether a query came in two pieces: then pieces are only looked through

    def piece(self, text: memoryview) -> _Piece | bytes:
        """Judge a piece; return its text where the Python reader must look at it."""
        part = scanned(text, 1, RUN)
        if part is None:
            return bytes(text)
        if not part.docids:
            return _Piece((), "", part.num_lines, len(text))
        if self.ranking.order == "rank" and (part.ranks is None or int(part.ranks.min()) < 1):
            return bytes(text)
        if self.scattered:
            return _Piece(tuple(map(decode, part.qids)), decode(part.tag), part.num_lines, len(text))
        rows = Rows(self.name)
        rows.add(part)
        run = rows.run(checked=False)
        piece = self.judged(part, run, len(text))
        return piece if piece.located is None or piece.located.twice is None else bytes(text)

    def judged(self, part: Part, run: Run, num_bytes: int) -> _Piece:
        """Judge a part of a run."""
        located = locate(self.qrels, run, self.ranking)
        contradictions: RankContradictions | None = None
        if run.ranks is not None:
            in_place = part.ordered and len(part.queries) == len(run.qids)
            contradictions = RankContradictions() if in_place else rank_contradictions(run)
        return _Piece(run.qids, run.tag, part.num_lines, num_bytes, located, contradictions)


@dataclass(slots=True)
class _Reading:
    """A run that is being read: the results of its pieces so far."""

    _judging: _Judging
    _lines: int = 0
    _twice: InputError | None = None
    _contradictions: list[RankContradictions | None] = field(default_factory=list)
    plain: bool = True  # whether the scanner took all pieces
    num_bytes: int = 0
    qids: dict[str, None] = field(default_factory=dict)
    located: list[Located] = field(default_factory=list)
    tag: str = ""

    def take_all(self, results: Iterator[_Piece | bytes]) -> None:
        """Take the pieces in their order.

        Raises
        ------
        InputError
            A line cannot be read, or the source.
        """
        while True:
            try:
                result = next(results)
            except StopIteration:
                return
            except InputError as error:
                raise at_line(error, self._lines) from None
            piece = self._by_python(result) if isinstance(result, bytes) else result
            self._lines += piece.num_lines
            self.num_bytes += piece.num_bytes
            if not piece.qids:
                continue
            before = len(self.qids)
            self.qids.update(dict.fromkeys(piece.qids))
            self.tag = piece.tag
            if len(self.qids) < before + len(piece.qids):
                self._judging.scattered = True
            self.keep(piece)

    def _by_python(self, text: bytes) -> _Piece:
        self.plain = False
        part, error = read_part(
            text, self._lines + 1, RUN, self._judging.name, by_rank=self._judging.ranking.order == "rank"
        )
        if error is not None:
            raise error
        if part is None:
            return _Piece((), "", text.count(b"\n"), len(text))
        rows = Rows(self._judging.name)
        rows.add(part)
        try:
            run = rows.run()
        except InputError as twice:
            # That is said only when all lines are known to be well formed, as when the whole run is read at once.
            self._twice = self._twice or twice
            run = rows.run(checked=False)
        return self._judging.judged(part, run, len(text))

    def keep(self, piece: _Piece) -> None:
        """Keep the results of a piece."""
        if piece.located is not None:
            self.located.append(piece.located)
            self._contradictions.append(piece.contradictions)

    def forget(self) -> None:
        """Forget the results so far."""
        self.located.clear()
        self._contradictions.clear()

    def whole(self, *, complete: bool) -> tuple[JudgedRun, Retrieved]:
        """Return what all pieces come to; queries whose ranks contradict their scores in the order of the run.

        Raises
        ------
        InputError
            There was no line with data, or a document occurs twice in a query.
        """
        if not self.qids:
            raise no_data(self._judging.name)
        if self._twice is not None:
            raise self._twice
        contradictions = RankContradictions()
        known = [found for found in self._contradictions if found is not None]
        if len(known) == len(self._contradictions):  # the ranks of all pieces are known
            found = {qid for part in known for qid in part.qids}
            qids = tuple(filter(found.__contains__, self.qids))
            contradictions = RankContradictions(qids, all(part.reversed for part in known))
        how = self._judging
        judged = assemble(how.qrels, self.located, complete=complete, tag=self.tag, known=how.ranking.known)
        return judged, Retrieved(tuple(self.qids), self._judging.name, self.tag, contradictions)


def _judged_in_parts(
    judging: _Judging, reading: _Reading, again: Callable[[], Source], threads: int | None, size: int | None
) -> bool:
    """Judge a run with scattered queries, reading it once for each of several parts of its queries.

    Returns False where the Python reader is needed, which has to hold such a run whole.
    """
    compiled = scanner()
    if compiled is None or not reading.plain:
        return False
    judging.scattered = False
    reading.forget()
    count = reading.num_bytes // SCATTERED_SIZE + 1
    for number in range(count):
        select = partial(compiled.select, parts=count, part=number)
        with closing(in_order(blocks(again(), size, name=judging.name), select, threads)) as chosen:
            text = b"".join(chosen)
        if text:
            piece = judging.piece(memoryview(text))
            if isinstance(piece, bytes):
                return False
            reading.keep(piece)
    return True
