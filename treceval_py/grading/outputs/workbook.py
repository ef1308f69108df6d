"""The gradebook as an Excel workbook (XLSX), in which text of students is never a formula or a link."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from treceval_py.errors import OutputError
from treceval_py.grading.grades import Grades
from treceval_py.grading.outputs.gradebook import COUNT, POINTS, VALUE, sheets_of
from treceval_py.rendering.tables import Cell, Table

INSTALL = "pip install 'treceval-py[grade]'"

FORMATS = {None: "@", POINTS: "0.00", VALUE: "0.0000", COUNT: "#,##0"}
"""Excel's number formats by decimals; None is text."""

NARROWEST, WIDEST = 6, 60
# Most characters in a cell of Excel, which refuses files with longer texts.
LONGEST = 32_767
# A fixed time of creation, so that the same grades give the same bytes.
MADE = datetime(1980, 1, 1)


def gradebook_xlsx(grades: Grades) -> bytes:
    """Return the gradebook as a workbook, with one sheet per table.

    Parameters
    ----------
    grades : Grades
        The class.

    Returns
    -------
    bytes
        The file; the same grades give the same bytes.

    Raises
    ------
    OutputError
        The package XlsxWriter is not installed.
    """
    return workbook(sheets_of(grades))


def workbook(sheets: Sequence[Table]) -> bytes:
    """Return tables as a workbook, one sheet each, with fixed title rows, filters, and numbers as numbers.

    Parameters
    ----------
    sheets : sequence of Table
        The tables.

    Returns
    -------
    bytes
        The file; the same tables give the same bytes.

    Raises
    ------
    OutputError
        The package XlsxWriter is not installed.

    Notes
    -----
    Text is always written as text, even if it looks like a formula, a number or an address.
    """
    try:
        import xlsxwriter  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        raise OutputError(
            "a gradebook as a workbook needs the package XlsxWriter, which is not installed", INSTALL
        ) from None
    stream = io.BytesIO()
    book = xlsxwriter.Workbook(
        stream,
        {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False},
    )
    book.set_properties({"created": MADE, "title": "Gradebook"})
    title = book.add_format({"bold": True, "bottom": 1, "valign": "top", "text_wrap": True})
    formats = {digits: book.add_format({"num_format": form, "valign": "top"}) for digits, form in FORMATS.items()}
    for sheet in sheets:
        _write(book.add_worksheet(sheet.name), sheet, title, formats)
    book.close()
    return stream.getvalue()


def _write(page: Any, sheet: Table, title: Any, formats: dict[int | None, Any]) -> None:
    for number, column in enumerate(sheet.columns):
        page.set_column(number, number, _width(column.key, column.cells))
        page.write_string(0, number, column.key, title)
    for line, row in enumerate(zip(*(column.cells for column in sheet.columns), strict=True), 1):
        for number, (cell, column) in enumerate(zip(row, sheet.columns, strict=True)):
            if cell is None or cell == "":
                continue
            if isinstance(cell, str):
                page.write_string(line, number, cell[:LONGEST], formats[None])
            elif math.isfinite(cell):
                page.write_number(line, number, cell, formats[column.digits])
            else:  # Excel has no NaN or infinity
                page.write_string(line, number, str(cell), formats[None])
    page.freeze_panes(1, 1)
    page.autofilter(0, 0, max(sheet.rows, 1), len(sheet.columns) - 1)
    page.set_landscape()
    page.set_paper(9)
    page.fit_to_pages(1, 0)
    page.repeat_rows(0)


def _width(title: str, cells: Iterable[Cell]) -> int:
    """Return a width in characters that fits most cells; titles are wrapped, and need room for the filter's arrow."""
    longest = max(map(len, title.split()), default=0) + 3
    for cell in cells:
        longest = max(longest, len(cell) if isinstance(cell, str) else 9 if isinstance(cell, float) else 6)
    return min(max(longest + 1, NARROWEST), WIDEST)
