"""Tables with typed columns: what a command makes of its data, and every format draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from treceval_py.errors import visible
from treceval_py.rendering.envelope import Made
from treceval_py.rendering.numbers import number, unsigned_zero
from treceval_py.rendering.style import Style

__all__ = ["DIGITS", "Cell", "Column", "Document", "Section", "Style", "Table", "records_table"]

Cell: TypeAlias = "str | float | int | None"

DIGITS = 4
"""Decimals of a value for people, by default."""


class Column(NamedTuple):
    """A column.

    Attributes
    ----------
    key : str
        Its name for programs: a heading in CSV, a key in JSON.
    cells : sequence of Cell, length R
        Its cells as they are. None is an empty cell, NaN a number that is not known.
    title : str or None
        Its title for people; None for the key.
    text : bool
        Whether it holds words, which are aligned to the left; numbers are aligned to the right.
    head : bool
        Whether its cells name their rows, in HTML and in lines below the table.
    unknown : str
        What stands for NaN where people read.
    people, programs, paper : bool
        Whether it is shown to people, to programs (CSV, TSV, JSON), and to people in LaTeX. A column that people and
        programs need differently is there twice.
    digits : int or None
        Decimals for people, whatever the style says.
    exact : bool
        Whether programs get all digits, whatever the style says.
    fixed : bool
        Whether programs get as many decimals as people, whatever the style says.
    signed : bool
        Whether people see the sign of positive numbers.
    best : frozenset of int
        The rows whose cells are bold, or have a sign where there is no bold type.
    second : frozenset of int
        Those that LaTeX underlines.
    marks, letters : sequence of str, length R, or empty
        What stands behind each cell for people: a sign, and letters, raised where that is possible.
    behind : sequence of str, length R, or empty
        What stands behind each name for people, and is no part of it.
    apart : bool
        Whether marks have a column of their own in Markdown and HTML.
    sign : bool
        Whether its cells are the marks of the column before it.
    joint : str
        What joins the two numbers of a cell, which stand below each other in a terminal: the comma of ``[low, high]``.
    group : str
        The common head of neighbouring columns, where a format has one: LaTeX and HTML.
    tex : str
        Its title as TeX.
    spare : int
        How soon LaTeX leaves it out where there is not room for all columns; 0 for never.
    note : str
        The note of the table that explains it or its letters, and is left out with them.
    aside : str
        What its cells are called in lines below the table, where the terminal is too narrow for them; LaTeX always has
        them in comments.
    """

    key: str
    cells: Sequence[Cell]
    title: str | None = None
    text: bool = False
    head: bool = False
    unknown: str = "–"
    people: bool = True
    programs: bool = True
    paper: bool = True
    digits: int | None = None
    exact: bool = False
    fixed: bool = False
    signed: bool = False
    best: frozenset[int] = frozenset()
    second: frozenset[int] = frozenset()
    marks: Sequence[str] = ()
    letters: Sequence[str] = ()
    behind: Sequence[str] = ()
    apart: bool = False
    sign: bool = False
    joint: str = ""
    group: str = ""
    tex: str = ""
    spare: int = 0
    note: str = ""
    aside: str = ""

    @property
    def heading(self) -> str:
        """The title for people, without control characters."""
        return visible(self.key if self.title is None else self.title)

    def texts(self, style: Style) -> list[str]:
        """Return the cells for people, without control characters."""
        digits = self.digits if self.digits is not None else DIGITS if style.digits is None else style.digits
        texts = [self._text(cell, digits) for cell in self.cells]
        if not self.behind:
            return texts
        return [f"{text} {visible(more)}".rstrip() for text, more in zip(texts, self.behind, strict=True)]

    def _text(self, cell: Cell, digits: int) -> str:
        if cell is None:
            return ""
        if isinstance(cell, float):
            return self.unknown if math.isnan(cell) else number(cell, digits, signed=self.signed)
        return visible(str(cell))

    def signs(self, style: Style) -> list[str]:
        """Return the cells for people with a true minus in numbers; other text, as of relevance strings, has none."""
        return [
            text if self.text or (isinstance(cell, str) and not self.joint) else text.replace("-", "−")
            for cell, text in zip(self.cells, self.texts(style), strict=True)
        ]

    def fields(self, style: Style) -> list[Cell]:
        """Return the cells for programs: what is not known is None, and values are text if digits are asked for."""
        digits = self.digits if self.fixed else None if self.exact else style.digits
        return [
            (None if math.isnan(cell) else cell if digits is None else unsigned_zero(f"{cell:.{digits}f}"))
            if isinstance(cell, float)
            else cell
            for cell in self.cells
        ]


class Section(NamedTuple):
    """Rows under a heading that has values of its own.

    Attributes
    ----------
    start : int
        The number of its first row.
    name : str
        What it is about.
    values : tuple of str
        The values of all of it, in its last columns where there are columns.
    text : str
        What else is said of it.
    """

    start: int
    name: str
    values: tuple[str, ...] = ()
    text: str = ""


class Table(NamedTuple):
    """A table.

    Attributes
    ----------
    columns : tuple of Column
        The columns, all with as many cells.
    name : str
        Its name in JSON.
    title : str
        What stands above it.
    heading : str
        The title where a table needs one: HTML; if empty, the other one.
    lead : str
        A sentence above the title: the result. LaTeX has it in the caption.
    notes : tuple of str
        Sentences below it.
    made : tuple of str
        Lines below it that can be copied: how its values were made.
    version : str
        What made it, in a last line.
    caption : tuple of str
        Sentences of LaTeX's caption, if these are not the notes.
    breaks : mapping of int to str
        The rows with which groups begin, and the groups' titles, which may be empty.
    above : mapping of int to str
        Titles of these groups in LaTeX, where a column that it lacks names them.
    sections : tuple of Section or None
        What people see the rows under; None for a plain table.
    across : frozenset of int
        The rows whose first cell goes across all columns but the last, as those between are empty.
    best : str
        What bold cells are; empty if nothing is bold.
    naming : int
        With how many columns each block begins into which a wide table is cut.
    label : str
        LaTeX's label of a table that floats, with a caption; empty for the bare table.
    tight : bool
        Whether LaTeX squeezes a wide table, instead of cutting it into blocks.
    folds : bool
        Whether HTML can fold it.
    """

    columns: tuple[Column, ...]
    name: str = "rows"
    title: str = ""
    heading: str = ""
    lead: str = ""
    notes: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    version: str = ""
    caption: tuple[str, ...] = ()
    breaks: Mapping[int, str] = MappingProxyType({})
    above: Mapping[int, str] = MappingProxyType({})
    sections: tuple[Section, ...] | None = None
    across: frozenset[int] = frozenset()
    best: str = ""
    naming: int = 1
    label: str = ""
    tight: bool = False
    folds: bool = False

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.columns[0].cells) if self.columns else 0

    def for_people(self) -> list[Column]:
        """Return the columns that people see."""
        return [column for column in self.columns if column.people]

    def parts(self) -> Iterator[tuple[Section, range]]:
        """Yield each section with the numbers of its rows."""
        sections = self.sections or ()
        ends = [*(section.start for section in sections[1:]), self.rows]
        return ((section, range(section.start, end)) for section, end in zip(sections, ends, strict=False))

    def spread(self) -> list[Column]:
        """Return the columns that people see, with marks that stand apart in columns of their own."""
        return [
            part
            for column in self.for_people()
            for part in (
                (column._replace(marks=()), Column("", column.marks, sign=True)) if column.apart else (column,)
            )
        ]

    def for_programs(self) -> list[Column]:
        """Return the columns that programs see."""
        return [column for column in self.columns if column.programs]

    def sentences(self, bold: str = "Bold") -> list[str]:
        """Return what is said below the table, without control characters; `bold` is what shows the best."""
        return [visible(line) for line in ([f"{bold}: {self.best}."] if self.best else []) + list(self.notes)]

    def asides(self) -> list[tuple[str, str]]:
        """Return the cells that can stand below the table: what they are called, then the row's name and the cell."""
        names = next((column.cells for column in self.columns if column.head), [""] * self.rows)
        return [
            (column.aside, visible(f"{name}: {cell}"))
            for column in self.for_people()
            if column.aside
            for name, cell in zip(names, column.cells, strict=True)
            if cell
        ]


def records_table(
    rows: Sequence[Mapping[str, Cell]], keys: Iterable[str] = (), *, name: str = "rows", exact: Container[str] = ()
) -> Table:
    """Return records as a table that programs alone see.

    Parameters
    ----------
    rows : sequence of mapping of str to Cell
        The records; one that lacks a key has an empty cell there.
    keys : iterable of str
        The first columns, also where there are no records.
    name : str
        The table's name in JSON.
    exact : container of str
        The keys of values that have all digits, whatever the style says.
    """
    every = dict.fromkeys([*keys, *(key for row in rows for key in row)])
    columns = (Column(key, [row.get(key) for row in rows], people=False, exact=key in exact) for key in every)
    return Table(tuple(columns), name)


class Document(NamedTuple):
    """What a command prints: tables, and for JSON what they were made from.

    Attributes
    ----------
    kind : str
        What it is: "scores", "board" and so on.
    tables : sequence of Table
        The tables; one without columns for people, or for programs, is left out there.
    made : callable
        What returns how it was made, and what JSON has in place of the tables' rows; other formats do not call it.
    text : tuple of str
        Sentences for the text of a paper, which LaTeX has below the tables.
    """

    kind: str
    tables: Sequence[Table]
    made: Callable[[Style], Made]
    text: tuple[str, ...] = ()
