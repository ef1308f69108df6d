"""The lines of a run or of judgments that could be read, as columns, for checks that process many lines at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from treceval_py._types import BoolArray, FloatArray, IntArray
from treceval_py.data.columns import Layout
from treceval_py.data.ids import Ids
from treceval_py.diagnosis.lines import fields_of


class QueryLines(NamedTuple):
    """Lines of whole queries, in the order of the file: D rows in S groups of consecutive rows of the same query.

    Attributes
    ----------
    qids : list of bytes, length S
        The query of each group.
    starts : (S + 1,) int array
        The row at which each group begins, then D.
    docids : Ids, length D
        The documents.
    scores : (D,) float array or None
        The scores of a run: finite, or infinite if the file says inf.
    ranks : (D,) int array or None
        The rank column; None if there is none.
    rels : (D,) int array or None
        The labels of judgments.
    lines : sequence of int, length D
        The line of the file of each row.
    text : bytes
        Whole lines of text that include the rows.
    at : sequence of int, length D
        The line of ``text`` of each row, from 0.
    ordered : bool
        True if ranks are known to rise, and scores never to rise, within each group.
    unranked : (D,) bool array or None
        Rows without a whole number as rank, which have 0 in ``ranks``; None if all ranks are whole numbers.
    """

    qids: list[bytes]
    starts: IntArray
    docids: Ids
    scores: FloatArray | None
    ranks: IntArray | None
    rels: IntArray | None
    lines: Sequence[int]
    text: bytes
    at: Sequence[int]
    ordered: bool = False
    unranked: BoolArray | None = None

    def take(self, rows: IntArray, qids: list[bytes], starts: IntArray) -> QueryLines:
        """Return some rows in another order, with their queries and the row at which each of these begins."""
        columns: tuple[Any, ...] = (self.scores, self.ranks, self.rels, self.unranked)
        scores, ranks, rels, unranked = (None if column is None else column[rows] for column in columns)
        lines, at = np.asarray(self.lines)[rows].tolist(), np.asarray(self.at)[rows].tolist()
        docids = self.docids.take(rows)
        return QueryLines(qids, starts, docids, scores, ranks, rels, lines, self.text, at, unranked=unranked)

    def line_text(self, row: int) -> bytes:
        """Return the line of a row, without its newline; it must first be found in the text."""
        wanted = int(self.at[row])
        ends = _line_ends(self.text)
        start = int(ends[wanted - 1]) + 1 if wanted else 0
        return self.text[start : int(ends[wanted])]

    def column(self, row: int, field: int) -> int:
        """Return the character of its line, from 1, at which a field (from 0) of a row begins."""
        return column_of(self.line_text(row), field)


@lru_cache(maxsize=2)
def _line_ends(text: bytes) -> IntArray:
    """Return where lines end; the last texts are cached, since findings ask for the same text again."""
    return np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n"))


_FIELD = re.compile(rb"[^\t\n\v\f\r ]+")


def column_of(line: bytes, field: int) -> int:
    """Return the character, from 1, at which a field of a line begins; the last field if there are fewer.

    Characters are those of UTF-8; a byte that is not part of one counts as one.
    """
    start = 0
    for number, match in enumerate(_FIELD.finditer(line)):
        start = match.start()
        if number == field:
            break
    return 1 + len(line[:start].decode("utf-8", "surrogateescape"))


def span_of(line: bytes, field: int) -> tuple[int, int]:
    """Return the bytes at which a field (from 0) of a line begins and ends."""
    return next(islice(_FIELD.finditer(line), field, None)).span()


def is_plain(line: bytes, fields: list[bytes], layout: Layout) -> bool:
    """Tell whether a line that has been split at white space has the fields of its layout."""
    return len(fields) == len(layout.fields) or fields_of(line, fields, layout) == (fields, None)
