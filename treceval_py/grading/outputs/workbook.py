"""Tables as an Excel workbook (XLSX), in which text of students is never a formula or a link."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from treceval_py.grading.outputs.gradebook import COUNT, POINTS, VALUE
from treceval_py.rendering.tables import Column, Table

FORMATS = {None: "@", POINTS: "0.00", VALUE: "0.0000", COUNT: "#,##0"}
"""Excel's number formats by decimals; None is text."""

NARROWEST, WIDEST = 6, 60
# A fixed time of creation, so that the same grades give the same bytes.
MADE = datetime(1980, 1, 1)


def workbook(sheets: Sequence[Table]) -> bytes:
    """Return tables as a workbook, one sheet each, with fixed title rows, filters, and numbers as numbers.

    The same tables give the same bytes. It needs the package XlsxWriter.
    """
    import xlsxwriter  # type: ignore[import-untyped,import-not-found,unused-ignore]

    stream = io.BytesIO()
    book = xlsxwriter.Workbook(
        stream,
        {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False},
    )
    book.set_properties({"created": MADE, "title": "Gradebook"})
    title = book.add_format({"bold": True, "bottom": 1, "valign": "top", "text_wrap": True})
    formats = {digits: book.add_format({"num_format": form, "valign": "top"}) for digits, form in FORMATS.items()}
    for sheet in sheets:
        if not sheet.rows:
            continue
        page, columns = book.add_worksheet(sheet.name), sheet.for_programs()
        for number, column in enumerate(columns):
            page.set_column(number, number, _width(column))
            page.write_string(0, number, column.key, title)
            _write(page, number, column, formats)
        page.freeze_panes(1, 1)
        page.autofilter(0, 0, max(sheet.rows, 1), len(columns) - 1)
        page.set_landscape()
        page.set_paper(9)
        page.fit_to_pages(1, 0)
        page.repeat_rows(0)
    book.close()
    return stream.getvalue()


def _write(page: Any, number: int, column: Column, formats: dict[int | None, Any]) -> None:
    for line, cell in enumerate(column.cells, 1):
        if isinstance(cell, (int, float)) and math.isfinite(cell):
            page.write_number(line, number, cell, formats[column.digits])
        elif cell:  # Excel has no NaN or infinity
            page.write_string(line, number, str(cell), formats[None])


def _width(column: Column) -> int:
    """Return a width in characters that fits most cells; titles are wrapped, and need room for the filter's arrow."""
    widths = [len(cell) if isinstance(cell, str) else 9 if isinstance(cell, float) else 6 for cell in column.cells]
    return min(max(NARROWEST, 4 + max(map(len, column.key.split()), default=0), *(1 + wide for wide in widths)), WIDEST)
