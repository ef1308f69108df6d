"""Tables with typed columns: a command builds them from its data, and every format can draw them."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from treceval_py.errors import visible
from treceval_py.rendering.envelope import Made
from treceval_py.rendering.numbers import number
from treceval_py.rendering.style import Style

Cell: TypeAlias = "str | float | int | None"

DIGITS = 4
"""Default decimals of a value for people."""


class Column(NamedTuple):
    """A column.

    Attributes
    ----------
    key : str
        Its name for programs: a heading in CSV, a key in JSON.
    cells : sequence of Cell, length R
        Its unformatted cells. None is an empty cell, NaN an unknown number.
    title : str or None
        Its title for people; None for the key.
    text : bool
        Whether it contains words, which are left-aligned; numbers are right-aligned.
    head : bool
        Whether its cells name their rows, in HTML and in lines below the table.
    unknown : str
        Placeholder for NaN, for people.
    people, programs, paper : bool
        Whether it is shown to people, to programs (CSV, TSV, JSON), and in LaTeX. If people and programs need different
        columns, there are two.
    digits : int or None
        Decimals for people; overrides the style.
    exact : bool
        Give programs all digits; overrides the style.
    fixed : bool
        Give programs as many decimals as people; overrides the style.
    signed : bool
        Show people the sign of positive numbers.
    best : frozenset of int
        The rows with bold cells; without bold type, these are marked with a sign.
    second : frozenset of int
        The rows that LaTeX underlines.
    marks, letters : sequence of str, length R, or empty
        A sign and letters after each cell, for people; the letters are raised if possible.
    behind : sequence of str, length R, or empty
        Text after each name, for people, that is not part of the name.
    links : sequence of str, length R, or empty
        The address that each cell links to in HTML; empty for none.
    apart : bool
        Put marks into their own column in Markdown and HTML.
    sign : bool
        Whether its cells are the marks of the previous column.
    joint : str
        Separator of a cell's two numbers, which a terminal aligns separately: the comma of ``[low, high]``.
    group : str
        The common head of neighbouring columns, in LaTeX and HTML.
    tex : str
        Its title as TeX.
    spare : int
        How soon LaTeX leaves it out if not all columns fit; 0 for never.
    note : str
        The table's note that explains it or its letters; left out with them.
    aside : str
        Name of its cells when they are moved to lines below the table because the terminal is too narrow; LaTeX always
        has them in comments.
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
    links: Sequence[str] = ()
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
        """The title for people, with control characters escaped."""
        return visible(self.key if self.title is None else self.title)

    def texts(self, style: Style) -> list[str]:
        """Return the cells for people, with control characters escaped."""
        digits = self.digits if self.digits is not None else DIGITS if style.digits is None else style.digits
        texts = []
        for cell in self.cells:
            if isinstance(cell, float):
                texts.append(self.unknown if math.isnan(cell) else number(cell, digits, signed=self.signed))
            else:
                texts.append("" if cell is None else visible(str(cell)))
        if not self.behind:
            return texts
        return [f"{text} {visible(more)}".rstrip() for text, more in zip(texts, self.behind, strict=True)]

    def signs(self, style: Style) -> list[str]:
        """Return the cells for people with a true minus in numbers, but not in other text such as relevance strings."""
        return [
            text if self.text or (isinstance(cell, str) and not self.joint) else text.replace("-", "−")
            for cell, text in zip(self.cells, self.texts(style), strict=True)
        ]


class Section(NamedTuple):
    """Rows under a heading, which can have its own values.

    Attributes
    ----------
    start : int
        The number of its first row.
    name : str
        Its heading.
    values : tuple of str
        The values of the whole section, shown in the last columns.
    text : str
        Further text in the heading.
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
        The columns, all with the same number of cells.
    name : str
        Its name in JSON.
    title : str
        The title above it.
    heading : str
        The title for HTML, where a table needs one; if empty, `title`.
    lead : str
        A sentence above the title: the result. LaTeX puts it into the caption.
    notes : tuple of str
        Sentences below it.
    made : tuple of str
        Lines below it that can be copied: how its values were computed.
    version : str
        The program and version, in a last line.
    caption : tuple of str
        Sentences of LaTeX's caption, if they differ from the notes.
    breaks : mapping of int to str
        The rows where groups begin, and the groups' titles, which may be empty.
    above : mapping of int to str
        Titles of these groups in LaTeX, if the column that names them is left out there.
    sections : tuple of Section or None
        The sections that people see the rows under; None for a plain table.
    across : frozenset of int
        The rows whose first cell spans all columns but the last, because those in between are empty.
    best : str
        The meaning of bold cells; empty if nothing is bold.
    naming : int
        Number of columns repeated at the beginning of each block when a wide table is split.
    label : str
        LaTeX's label of a floating table with a caption; empty for a bare table.
    tight : bool
        Let LaTeX squeeze a wide table instead of splitting it into blocks.
    folds : bool
        Allow HTML to fold it.
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
        """Return the columns that people see, with separate marks in their own columns."""
        columns: list[Column] = []
        for column in self.for_people():
            columns += [column._replace(marks=()), Column("", column.marks, sign=True)] if column.apart else [column]
        return columns

    def for_programs(self) -> list[Column]:
        """Return the columns that programs see."""
        return [column for column in self.columns if column.programs]

    def sentences(self, bold: str = "Bold") -> list[str]:
        """Return the sentences below the table, with control characters escaped; `bold` names the style of the best."""
        return [visible(line) for line in ([f"{bold}: {self.best}."] if self.best else []) + list(self.notes)]

    def asides(self) -> list[tuple[str, str]]:
        """Return the cells that can be moved below the table: the cells' name, the row's name and the cell."""
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
    """Return records as a table that only programs see.

    Parameters
    ----------
    rows : sequence of mapping of str to Cell
        The records; a missing key gives an empty cell.
    keys : iterable of str
        The first columns, even if there are no records.
    name : str
        The table's name in JSON.
    exact : container of str
        The keys of values that keep all digits; overrides the style.
    """
    every = dict.fromkeys([*keys, *(key for row in rows for key in row)])
    columns = (Column(key, [row.get(key) for row in rows], people=False, exact=key in exact) for key in every)
    return Table(tuple(columns), name)


class Document(NamedTuple):
    """The output of a command: tables and, for JSON, the data they come from.

    Attributes
    ----------
    kind : str
        Its kind: "scores", "board" and so on.
    tables : sequence of Table
        The tables. A table without columns for people, or for programs, is not shown to them.
    made : callable
        Returns how it was computed, and the JSON that replaces the tables' rows; other formats do not call it.
    text : tuple of str
        Sentences for the text of a paper, which LaTeX prints below the tables.
    """

    kind: str
    tables: Sequence[Table]
    made: Callable[[Style], Made]
    text: tuple[str, ...] = ()
