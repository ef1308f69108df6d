"""Read lines of text into rows, with every message about a malformed line.

A line ends at a newline byte. Fields are separated by white space: space, tab, vertical tab, form feed and carriage
return, as for C's ``isspace`` and `bytes.split`, so CRLF files need no special care. Blank lines, and lines whose first
field begins with ``#``, are skipped but counted. Every other line must fit the format's layout.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from operator import ne
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import numpy as np

from treceval_py._types import FloatArray, IntArray
from treceval_py.data.columns import Layout
from treceval_py.data.ids import quoted
from treceval_py.errors import InputError

if TYPE_CHECKING:
    from treceval_py.diagnosis.sign import Sign

Column = Sequence[bytes]


class Block(NamedTuple):
    """Consecutive data lines of a file, as columns of fields."""

    columns: tuple[Column, ...]
    lines: Sequence[int]
    name: str

    def stretches(self, fields: int = 1) -> IntArray:
        """Return the rows where one of the first columns changes, and the number of rows: 0, …, D."""
        changes = np.zeros(len(self.lines) - 1, dtype=np.bool_)
        for column in self.columns[:fields]:
            changes |= np.fromiter(map(ne, column, islice(column, 1, None)), dtype=np.bool_, count=len(changes))
        return np.concatenate([[0], np.flatnonzero(changes) + 1, [len(self.lines)]]).astype(np.int64)

    def numbers(self, field: int, kind: str, *, nan: bool = False) -> FloatArray:
        """Return a field as float64, parsed as `float` does, but without underscores, and NaN only if allowed."""
        column = self.columns[field]
        try:
            values = np.fromiter(map(float, column), dtype=np.float64, count=len(column))
        except ValueError:
            values = None
        # Python reads 1_0 as 10, and 1e999 as infinity: the file's author meant neither.
        if values is None or b"_" in b"".join(column) or not np.isfinite(values).all():
            numbers = [self._number(row, text, kind, nan=nan) for row, text in enumerate(column)]
            return np.array(numbers, dtype=np.float64)
        return values

    def integers(self, field: int, kind: str) -> IntArray:
        """Return a field as int64."""
        values = self.whole_numbers(field)
        if values is None:
            from treceval_py.diagnosis.columns import is_whole
            from treceval_py.diagnosis.lines import about_label, about_rank

            row, text = next((row, text) for row, text in enumerate(self.columns[field]) if not is_whole(text))
            self._refuse_field(row, about_rank(text, alone=True) if kind == "rank" else about_label(text, kind))
        return values

    def whole_numbers(self, field: int) -> IntArray | None:
        """Return a field as int64, or None if some values are not whole numbers."""
        column = self.columns[field]
        try:
            values = np.fromiter(map(int, column), dtype=np.int64, count=len(column))
        except OverflowError:
            return None
        except ValueError:  # int() also refuses thousands of leading zeros
            from treceval_py.diagnosis.columns import whole_number

            numbers = list(map(whole_number, column))
            return None if None in numbers else np.array(numbers, dtype=np.int64)
        return None if b"_" in b"".join(column) else values  # Python reads 1_0 as 10

    def ranks(self, field: int) -> IntArray:
        """Return a field as int64, with every value a rank from 1."""
        values = self.whole_numbers(field)
        if values is None or (values < 1).any():
            rank = re.compile(rb"\+?0*[1-9]\d{0,17}")
            row, text = next((row, text) for row, text in enumerate(self.columns[field]) if not rank.fullmatch(text))
            self.refuse(row, f"rank {quoted(text)} is not a whole number from 1 on", "Ranks begin at 1.")
        return values

    def refuse(self, row: int, problem: str, todo: str) -> NoReturn:
        """Raise an error that names the file and the line of a row."""
        raise InputError(problem, todo, file=self.name, line=self.lines[row])

    def _number(self, row: int, text: bytes, kind: str, *, nan: bool) -> float:
        """Parse a number, or refuse the text with the reason."""
        from treceval_py.diagnosis.lines import about_number

        fault = about_number(text, kind, nan=nan)
        if fault is not None and fault.code != "R105":  # infinity
            self._refuse_field(row, fault)
        return float(text)

    def _refuse_field(self, row: int, fault: Sign) -> NoReturn:
        from treceval_py.diagnosis.lines import HEADER

        fields = b"".join(column[row] for at, column in enumerate(self.columns) if at != 1)
        if self.lines[row] == 1 and not re.search(rb"[0-9]", fields):  # a header has no digits, except in Q0
            self.refuse(row, *HEADER)
        self.refuse(row, fault.what, fault.todo)


def no_data(name: str) -> InputError:
    """Return the error for a file without data lines."""
    return InputError("no data lines, only comments or blank lines", "Is it the right file?", file=name)


def read_block(text: bytes, first: int, layout: Layout, name: str) -> tuple[Block, InputError | None]:
    """Split lines into rows of fields, up to the first bad line; also return the error of that line.

    Parameters
    ----------
    text : bytes
        Lines, each ended by a newline.
    first : int
        The number of the first line.
    layout : Layout
        The format.
    name : str
        The name of the file in messages.
    """
    at = text.find(b"\0")
    if at >= 0:
        whole = text.rfind(b"\n", 0, at) + 1
        block, error = read_block(text[:whole], first, layout, name)
        line = first + text.count(b"\n", 0, at)
        problem = "a NUL byte, so this is a binary file, not text"
        return block, error or InputError(problem, "Give a text file of judgments or of a run.", file=name, line=line)
    return _plain_block(text, first, layout, name) or _any_block(text, first, layout, name)


def _plain_block(text: bytes, first: int, layout: Layout, name: str) -> tuple[Block, None] | None:
    """Split all lines at once if each is a data line with exactly the fields of the layout; else return None."""
    width, count = len(layout.fields), text.count(b"\n")
    if layout.separator is not None:
        return None
    # A NUL, which the text does not contain, is added at the end of each line as another field. If it is every
    # (width + 1)-th field and nowhere else, each line has exactly `width` fields.
    fields = text.replace(b"\n", b" \0 ").split()
    if len(fields) != count * (width + 1) or fields[width :: width + 1].count(b"\0") != count or not count:
        return None
    columns = tuple(fields[field :: width + 1] for field in range(width))
    if b"#" in text and any(query.startswith(b"#") for query in set(columns[0])):
        return None
    return Block(columns, range(first, first + count), name), None


def _any_block(text: bytes, first: int, layout: Layout, name: str) -> tuple[Block, InputError | None]:
    """Split lines one by one."""
    error = None
    raw = text.split(b"\n")[:-1]  # every line ends with a newline, so nothing follows the last one
    rows = [layout.cut(line) for line in raw]
    lines: Sequence[int] = range(first, first + len(rows))
    if b"#" in text or not all(rows):
        kept = [index for index, row in enumerate(rows) if row and not row[0].startswith(b"#")]
        if len(kept) < len(rows):
            rows, lines = [rows[index] for index in kept], [first + index for index in kept]
    width = len(layout.fields)
    if set(map(len, rows)) - {width}:
        from treceval_py.diagnosis.lines import fields_of

        for index, (row, line) in enumerate(zip(rows, lines, strict=True)):
            if len(row) != width:
                rows[index], fault = fields_of(raw[line - first], row, layout)
                if fault is not None:
                    fault = _cause(raw, layout) or fault if first == 1 and not index else fault
                    error = InputError(fault.what, fault.todo, file=name, line=line)
                    rows, lines = rows[:index], lines[:index]
                    break
        rows = [row[:width] for row in rows]
    return Block(tuple(zip(*rows, strict=True)), lines, name), error


def _cause(lines: list[bytes], layout: Layout) -> Sign | None:
    """Return what is wrong with all lines, if the first one is wrong."""
    from treceval_py.diagnosis.columns import cause_of, kind_of
    from treceval_py.io.formats import lines_of

    kind = kind_of(layout)
    return None if kind is None else cause_of(lines_of(b"\n".join(lines[:1000]), ended=True), kind)
