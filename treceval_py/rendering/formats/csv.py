"""CSV (RFC 4180, newline-ended): numbers have all digits unless fewer are requested; unknown values are empty."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from treceval_py.rendering.escaping import inert
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import Cell, Column, Document


def draw(document: Document, style: Style) -> str:
    """Return the tables, one below another."""
    return separated(document, style, ",")


def separated(document: Document, style: Style, delimiter: str) -> str:
    """Return the tables with a delimiter between cells."""
    special = re.compile(f'[{delimiter}"\r\n]')

    def line(cells: Iterable[Cell]) -> str:
        return delimiter.join(map(written, cells)) + "\n"

    def written(cell: Cell) -> str:
        if not isinstance(cell, str):
            return "" if cell is None else str(cell).lower() if isinstance(cell, bool) else repr(cell)
        return '"' + cell.replace('"', '""') + '"' if special.search(cell) else cell

    parts = []
    for table in document.tables:
        if columns := table.for_programs():
            rows = zip(*(_fields(column, style) for column in columns), strict=True)
            parts.append(line(inert(column.key) for column in columns) + "".join(map(line, rows)))
    return "\n".join(parts)


def _fields(column: Column, style: Style) -> Iterator[Cell]:
    # A number with few decimals is text at this point, but its minus sign does not begin a formula.
    for cell, field in zip(column.cells, column.fields(style), strict=True):
        yield inert(cell) if isinstance(cell, str) else field
