"""CSV (RFC 4180, newline-ended): numbers have all digits unless fewer are requested; unknown values are empty."""

from __future__ import annotations

import math
import re

from treceval_py.rendering.escaping import inert
from treceval_py.rendering.numbers import unsigned_zero
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import Cell, Document


def draw(document: Document, style: Style) -> str:
    """Return the tables, one below another."""
    return separated(document, style, ",")


def separated(document: Document, style: Style, delimiter: str) -> str:
    """Return the tables with a delimiter between cells."""
    special = re.compile(f'[{delimiter}"\r\n]')

    def written(cell: Cell, digits: int | None = None) -> str:
        if isinstance(cell, str):
            cell = inert(cell)
            return '"' + cell.replace('"', '""') + '"' if special.search(cell) else cell
        if cell is None or math.isnan(cell):
            return ""
        if isinstance(cell, float) and digits is not None:
            return unsigned_zero(f"{cell:.{digits}f}")
        return repr(cell).lower()

    parts = []
    for table in document.tables:
        if columns := table.for_programs():
            texts = []
            for column in columns:
                digits = column.digits if column.fixed else None if column.exact else style.digits
                texts.append([written(column.key), *(written(cell, digits) for cell in column.cells)])
            parts.append("".join(f"{delimiter.join(cells)}\n" for cells in zip(*texts, strict=True)))
    return "\n".join(parts)
