"""Judge a run while it is read, piece by piece, so that a run needs no more memory than its judged documents.

A piece holds whole queries where the lines of a query stand together, as in nearly every run. Pieces are read, judged
and forgotten, by several threads where the compiled scanner is at work. A query that comes again in a later piece shows
that lines are scattered: then the run is read once more, as a table.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple

from treceval_py._types import Source
from treceval_py.errors import InputError
from treceval_py.formats.lines import RUN, no_data
from treceval_py.formats.rows import Part, Rows, gathered, read_part, scanned
from treceval_py.formats.source import Watch, at_line, blocks, kept, name_of
from treceval_py.judging import (
    FLOAT64,
    JudgedRun,
    Located,
    RankContradictions,
    assemble,
    judge,
    locate,
    rank_contradictions,
)
from treceval_py.scanner import scanner
from treceval_py.tables import Qrels, Run
from treceval_py.threads import in_order

__all__ = ["Retrieved", "available_threads", "judge_file"]


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


class Rules(NamedTuple):
    """How the documents of a query are judged; see `judging.judge`."""

    depth: int | None = None
    judged_only: bool = False
    score_type: str = FLOAT64


class _Piece(NamedTuple):
    """What is left of a piece of a run when it has been judged."""

    qids: tuple[str, ...]
    located: Located
    contradictions: RankContradictions | None
    tag: str
    num_lines: int


def available_threads() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def judge_file(
    qrels: Qrels,
    source: Source,
    *,
    complete: bool = True,
    depth: int | None = None,
    judged_only: bool = False,
    score_type: str = FLOAT64,
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
    complete, depth, judged_only, score_type
        As of `judging.judge`.
    threads : int, optional
        How many threads read; by default as many as there are cores for this process. The Python reader uses one.
    size : int
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
    rules = Rules(depth, judged_only, score_type)
    name = name_of(source)
    workers = 1 if scanner() is None else (available_threads() if threads is None else threads)
    with kept(source) as (first, again):
        reading = _Reading(qrels, name, rules)
        texts = blocks(first, size, name=name, whole_queries=True, watch=watch)
        with closing(in_order(texts, reading.judged, workers)) as results:
            reading.take_all(results)
        if reading.scattered:
            run = gathered(again(), RUN, name).run()
            judged = judge(qrels, run, complete=complete, depth=depth, judged_only=judged_only, score_type=score_type)
            return judged, Retrieved(run.qids, name, run.tag, rank_contradictions(run))
    reading.check_whole()
    judged = assemble(qrels, reading.located, complete=complete, tag=reading.tag)
    return judged, Retrieved(tuple(reading.qids), name, reading.tag, reading.contradictions)


class _Reading:
    """A run that is being read: what its pieces so far come to."""

    def __init__(self, qrels: Qrels, name: str, rules: Rules) -> None:
        self._qrels = qrels
        self._name = name
        self._rules = rules
        self._lines = 0
        self._known = True  # whether all rank columns so far hold whole numbers
        self._twice: InputError | None = None
        self.scattered = False  # whether a query came again: then what is here counts for nothing
        self.qids: dict[str, None] = {}
        self.located: list[Located] = []
        self.contradictions = RankContradictions()
        self.tag = ""

    def judged(self, text: memoryview) -> _Piece | bytes | None:
        """Judge a piece, in any thread; return its text where the Python reader must look at it."""
        if self.scattered:
            return None
        part = scanned(text, 1, RUN)
        if part is None:
            return bytes(text)
        if not part.docids:
            return _Piece((), locate(self._qrels, Run()), RankContradictions(), self.tag, part.num_lines)
        rows = Rows(self._name)
        rows.add(part)
        run = rows.run(checked=False)
        piece = self._piece(part, run)
        return bytes(text) if piece.located.twice is not None else piece

    def _piece(self, part: Part, run: Run) -> _Piece:
        rules = self._rules
        located = locate(
            self._qrels, run, depth=rules.depth, judged_only=rules.judged_only, score_type=rules.score_type
        )
        contradictions: RankContradictions | None = None
        if run.ranks is not None:
            in_place = part.ordered and len(part.qids) == len(run.qids)
            contradictions = RankContradictions() if in_place else rank_contradictions(run)
        return _Piece(run.qids, located, contradictions, run.tag, part.num_lines)

    def take_all(self, results: Iterator[_Piece | bytes | None]) -> None:
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
                if self.scattered:  # the second reading comes to it, and knows its line
                    return
                raise at_line(error, self._lines) from None
            if self.scattered or result is None:
                continue
            self._take(self._by_python(result) if isinstance(result, bytes) else result)

    def _by_python(self, text: bytes) -> _Piece:
        part, error = read_part(text, self._lines + 1, RUN, self._name)
        if error is not None:
            raise error
        if part is None:
            return _Piece((), locate(self._qrels, Run()), RankContradictions(), self.tag, text.count(b"\n"))
        rows = Rows(self._name)
        rows.add(part)
        try:
            run = rows.run()
        except InputError as twice:
            # That is said only when all lines are known to be well formed, as when the whole run is read at once.
            self._twice = self._twice or twice
            run = rows.run(checked=False)
        return self._piece(part, run)

    def _take(self, piece: _Piece) -> None:
        self._lines += piece.num_lines
        if not piece.qids:
            return
        before = len(self.qids)
        self.qids.update(dict.fromkeys(piece.qids))
        if len(self.qids) < before + len(piece.qids):
            self.scattered = True
            return
        self.located.append(piece.located)
        self.tag = piece.tag
        if piece.contradictions is None:
            self._known, self.contradictions = False, RankContradictions()
        elif self._known:
            self.contradictions = self.contradictions.and_those(piece.contradictions)

    def check_whole(self) -> None:
        """Check what can be checked only at the end.

        Raises
        ------
        InputError
            There was no line with data, or a document occurs twice in a query.
        """
        if not self.qids:
            raise no_data(self._name)
        if self._twice is not None:
            raise self._twice
