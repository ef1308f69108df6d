"""Turn lines into rows for a check: good lines become columns, and every other line becomes a finding that says why.

A chunk whose lines are all plain is read by the compiled scanner and checked as a whole. Only if that finds something
odd is the chunk read line by line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from treceval_py.checking.findings import Collector
from treceval_py.checking.reading import Chunk, without_data
from treceval_py.checking.rows import QueryLines, column_of
from treceval_py.data.columns import QRELS
from treceval_py.data.ids import Ids, decode, quoted
from treceval_py.diagnosis.columns import MOST_FIELDS, Kind, cause_of, names_columns, whole_number
from treceval_py.diagnosis.lines import HEADER, about_label, about_number, about_rank, fields_of
from treceval_py.diagnosis.sign import Sign
from treceval_py.io.formats import lines_of
from treceval_py.io.rows import Part, scanned


@dataclass(slots=True)
class TagWatch:
    """What is carried from one chunk of a file to the next.

    Attributes
    ----------
    begun : bool
        Whether a line with data was read.
    over : bool
        Whether one cause was found that makes all lines wrong: no rows and no findings follow, and the rest of the file
        need not be read.
    tag : bytes or None
        The tag of the first line of a run.
    line : int
        The number of that line.
    changed : bool
        Whether another tag was seen.
    spaced : bool
        Whether a tag with spaces was seen.
    """

    begun: bool = False
    over: bool = False
    tag: bytes | None = None
    line: int = 0
    changed: bool = False
    spaced: bool = False


def rows_of(chunk: Chunk, kind: Kind, collector: Collector, *, tags: TagWatch) -> QueryLines | None:
    """Read the lines of a chunk.

    Parameters
    ----------
    chunk : Chunk
        The lines.
    kind : Kind
        Kind of the file.
    collector : Collector
        Takes a finding for each line that is wrong.
    tags : TagWatch
        What was seen in earlier chunks; the same object for all chunks of a file.

    Returns
    -------
    QueryLines or None
        The lines that could be read; None if there are none.
    """
    if tags.over:
        return None
    rows = _all_plain(chunk, kind, tags)
    if rows is None:
        cause = None if tags.begun else cause_of(lines_of(chunk.text), kind)
        if cause is not None:
            tags.over = True
            collector.add(cause.code, cause.what, cause.todo, line=first_with_data(chunk))
            return None
        rows = _Careful(chunk, kind, collector, tags).rows()
    else:
        tags.begun = True
    return rows


def first_with_data(chunk: Chunk) -> int:
    """Return the number of the first line that is neither blank nor a comment."""
    blank, comments, lines = without_data(chunk.text)
    idle = {*blank.tolist(), *comments.tolist()}
    return chunk.first + next((line for line in range(lines) if line not in idle), 0)


# -- all lines at once ---------------------------------------------------------------------------------------------


def _all_plain(chunk: Chunk, kind: Kind, tags: TagWatch) -> QueryLines | None:
    """Read a chunk without findings; None if it has, or may have, findings, or has no rows."""
    if kind.name == "msmarco":
        part = scanned(memoryview(_INDENT_OR_QUERY.sub(rb"\1 0", chunk.text)), chunk.first, QRELS)
    else:
        part = scanned(memoryview(chunk.text), chunk.first, kind.layout)
    if part is None or not len(part.docids):
        return None
    at: Sequence[int] = range(len(part.docids))
    lines = part.lines
    if not isinstance(lines, range):
        has_data = np.ones(part.num_lines, dtype=np.bool_)
        for idle in without_data(chunk.text)[:2]:
            has_data[idle] = False
        at = np.flatnonzero(has_data).tolist()
        lines = [chunk.first + line for line in at]
    if kind.name == "run" and not _is_plain_run(chunk.text, part, lines[0], tags):
        return None
    return QueryLines(
        qids=[part.qids[query] for query in part.queries.tolist()],
        starts=part.starts,
        docids=part.docids,
        scores=part.scores,
        ranks=part.rels if kind.name == "msmarco" else part.ranks,
        rels=part.rels if kind.rel is not None else None,
        lines=lines,
        text=chunk.text,
        at=at,
        ordered=part.ordered and kind.name == "run",
    )


# The query of each line except comments; an iteration is inserted after it, which makes lines of judgments.
_INDENT_OR_QUERY = re.compile(rb"(?m)^([\t\v\f\r ]*[^\t\n\v\f\r #][^\t\n\v\f\r ]*)")


def _is_plain_run(text: bytes, part: Part, line: int, tags: TagWatch) -> bool:
    """Tell whether all scores are finite, all ranks whole numbers, and all tags the same single word."""
    if part.ranks is None or part.scores is None or not np.isfinite(part.scores).all():
        return False
    if not tags.begun and part.docids.raw(0, 1)[0].upper() == b"Q0":
        return False  # columns may be shifted
    if not tags.begun and text.lstrip()[:1] in (b'"', b"'"):
        return False  # fields may be in quotes
    tag = part.tag if tags.tag is None else tags.tag
    if (part.spaced and not tags.spaced) or ((part.retagged or part.tag != tag) and not tags.changed):
        return False
    if tags.tag is None:
        tags.tag, tags.line = tag, line
    return True


# -- one line after the other --------------------------------------------------------------------------------------


class _Careful:
    """Reads a chunk line by line."""

    def __init__(self, chunk: Chunk, kind: Kind, collector: Collector, tags: TagWatch) -> None:
        self._chunk = chunk
        self._kind = kind
        self._collector = collector
        self._tags = tags
        self._begun = tags.begun
        self._qids: list[bytes] = []
        self._docids: list[bytes] = []
        self._values: list[float] = []
        self._whole: list[int] = []
        self._at: list[int] = []
        self._unranked: list[int] = []

    def rows(self) -> QueryLines | None:
        """Collect findings for bad lines, and return the others."""
        kind = self._kind
        for at, line in enumerate(self._chunk.text.split(b"\n")[:-1]):
            fields = line.split(None, MOST_FIELDS)
            if not fields or fields[0].startswith(b"#"):
                continue
            if self._is_header(fields):
                words = _LATE_HEADER if self._begun else HEADER
                self._tell(Sign("Q304" if kind.rel is not None else "R110", *words), at)
            else:
                self._take(line, fields, at)
            self._begun = True
        self._tags.begun = self._begun
        return self._columns() if self._qids else None

    def _take(self, line: bytes, fields: list[bytes], at: int) -> None:
        kind, given = self._kind, fields
        if len(fields) != len(kind.layout.fields):
            fields, fault = fields_of(line, given, kind.layout)
            if fault is not None:
                column = column_of(line, len(kind.layout.fields)) if len(given) > len(kind.layout.fields) else 0
                # For a short line, its end. A carriage return within a line is a finding already.
                if not (column and b"\r" in line.strip() and kind.layout.more):
                    column = column or 1 + len(decode(line.rstrip()))
                    self._collector.add(fault.code, fault.what, fault.todo, line=self._chunk.first + at, column=column)
                return
            if fields is not given:
                spaced = quoted(next(field for field in fields if len(field.split()) > 1))
                self._tell(Sign("F020", f"the id {spaced} contains a space", _SPACED), at)
        if (self._take_run if kind.name == "run" else self._take_whole)(fields, line, at):
            self._qids.append(fields[0])
            self._docids.append(fields[kind.docid])
            self._at.append(at)

    def _is_header(self, fields: list[bytes]) -> bool:
        """Tell whether a line has column names: the first one, or one without a score, label or rank."""
        number = len(self._kind.layout.fields) - (2 if self._kind.score is not None else 1)
        data = self._begun and number < len(fields) and fields[number][-1:].isdigit()
        return not data and names_columns(fields)

    def _columns(self) -> QueryLines:
        kind, first = self._kind, self._chunk.first
        changes = [row for row, (one, two) in enumerate(pairwise(self._qids), 1) if one != two]
        count = len(self._qids)
        whole = np.array(self._whole, dtype=np.int64)
        unranked = np.zeros(count, dtype=np.bool_)
        unranked[self._unranked] = True
        return QueryLines(
            qids=[self._qids[row] for row in (0, *changes)],
            starts=np.array([0, *changes, count], dtype=np.int64),
            docids=Ids.from_bytes(self._docids),
            scores=None if kind.score is None else np.array(self._values, dtype=np.float64),
            ranks=None if kind.rank is None else whole,
            rels=None if kind.rel is None else whole,
            lines=[first + at for at in self._at],
            text=self._chunk.text,
            at=self._at,
            unranked=unranked if self._unranked else None,
        )

    def _take_run(self, fields: list[bytes], line: bytes, at: int) -> bool:
        self._look_at_tag(fields, line, at)
        rank, score = fields[3], fields[4]
        whole = whole_number(rank)
        if whole is None:
            self._tell(about_rank(rank, alone=False), at, line, 3)
        try:
            value = float(score)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or b"_" in score:
            fault = about_number(score)
            if fault is not None:
                self._tell(fault, at, line, 4)
                if fault.code != "R105":
                    return False
        if whole is None:
            self._unranked.append(len(self._whole))
        self._values.append(value)
        self._whole.append(whole or 0)
        return True

    def _take_whole(self, fields: list[bytes], line: bytes, at: int) -> bool:
        """Take a judgment, or the rank of a run without scores; both are the last field."""
        number, field = whole_number(fields[-1]), len(fields) - 1
        if number is None:
            fault = about_rank(fields[-1], alone=True) if self._kind.name == "msmarco" else about_label(fields[-1])
            self._tell(fault, at, line, field)
            return False
        self._whole.append(number)
        return True

    def _look_at_tag(self, fields: list[bytes], line: bytes, at: int) -> None:
        tags = self._tags
        if len(fields) > 6 and not tags.spaced:
            tags.spaced = True
            number = f"{len(fields)}" if len(fields) <= MOST_FIELDS else f"more than {MOST_FIELDS}"
            mismatch = f"{number} fields, but a run's line has 6: the tag contains spaces"
            todo = "Write the tag as one word: pytrec_eval and others refuse such lines."
            self._tell(Sign("R102", mismatch, todo), at, line, 6)
        if tags.tag is None:
            tags.tag, tags.line = fields[5], self._chunk.first + at
        elif not tags.changed and fields[5] != tags.tag:
            tags.changed = True
            mismatch = f"tag {quoted(fields[5])}, but {quoted(tags.tag)} from line {tags.line} on"
            self._tell(Sign("R111", mismatch, "A run has one tag: were two runs joined into one file?"), at, line, 5)

    def _tell(self, fault: Sign, at: int, line: bytes = b"", field: int = 0) -> None:
        if self._collector.room(fault.code):
            column = column_of(line, field)
            self._collector.add(fault.code, fault.what, fault.todo, line=self._chunk.first + at, column=column)


_SPACED = "Write it without: trec_eval and others split lines at spaces, too."
_LATE_HEADER = ("a header line in the middle of the file", "Delete it: two files may have been joined.")
