"""Excel workbooks: the cells of their sheets, as last saved."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from functools import reduce
from typing import Any

from treceval_py.grading.claims.documents.document import MOST_CELLS, MOST_COLUMNS, Blocks, Row, Unread

_MOST_UNPACKED, _MOST_TEXT, _MOST_PARTS = 64 << 20, 8 << 20, 5000
"""Most bytes of a file that are unpacked, most bytes of XML among them, and most parts."""


def opened(data: bytes) -> zipfile.ZipFile:
    """Open a file of Word or Excel after checking its unpacked size.

    Raises
    ------
    Unread
        It is too large, encrypted or damaged.
    """
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        why = "it is encrypted, or of an older version of Office: hand it in as .docx or .pdf without a password"
        raise Unread(why)
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError):
        raise Unread("it is damaged") from None
    parts = archive.infolist()
    # python-docx and zipfile read no more of a part than its declared size.
    text = sum(part.file_size for part in parts if part.filename.endswith((".xml", ".rels")))
    if text > _MOST_TEXT or sum(part.file_size for part in parts) > _MOST_UNPACKED or len(parts) > _MOST_PARTS:
        raise Unread(f"unpacked it has more than {_MOST_TEXT >> 20} MiB of text, or {_MOST_UNPACKED >> 20} MiB in all")
    return archive


_SHEET = re.compile(r"xl/worksheets/sheet(\d{1,3})\.xml")
_REFERENCE = re.compile(r"([A-Z]{1,3})\d{1,7}")


def read_xlsx(data: bytes, blocks: Blocks) -> None:
    """Read the sheets of an Excel workbook, with the values that formulas had when it was saved.

    Raises
    ------
    Unread
        It is damaged or too large.
    """
    with opened(data) as archive:
        texts = [_text(item) for item in _elements(archive, "xl/sharedStrings.xml", "si")]
        sheets = sorted((int(sheet[1]), sheet[0]) for sheet in map(_SHEET.fullmatch, archive.namelist()) if sheet)
        if not sheets:
            raise Unread("it is damaged")
        for sheet, name in sheets:
            rows: list[Row] = []
            number = cells = 0
            for row in _elements(archive, name, "row"):
                values = _values(row, texts)
                after, number = number, _whole(row.get("r", "")) or number + 1
                if number != after + 1 or not any(values):  # a table ends where a row is empty
                    blocks.grid(rows)
                    rows = []
                if any(values):
                    rows.append(Row(f", sheet {sheet}, row {number}", tuple(values)))
                cells += len(values)
                if cells > MOST_CELLS:
                    break
            blocks.grid(rows)


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 8 else 0


def _elements(archive: zipfile.ZipFile, name: str, wanted: str) -> Iterator[Any]:
    """Yield the elements of a part; each can be dropped after use."""
    from xml.etree.ElementTree import ParseError, iterparse

    part = archive.read(name) if name in archive.namelist() else b"<none/>"
    if b"<!DOCTYPE" in part or b"\0" in part:  # no program writes it, and entities could grow without bound
        raise Unread("it is damaged")
    try:
        for _, element in iterparse(io.BytesIO(part)):  # noqa: S314 - without entities
            if element.tag.rpartition("}")[2] == wanted:
                yield element
                element.clear()
    except ParseError:
        raise Unread("it is damaged") from None


def _text(element: Any) -> str:
    return "".join(node.text or "" for node in element.iter() if node.tag.rpartition("}")[2] == "t")


def _values(row: Any, texts: list[str]) -> list[str]:
    cells: list[str] = []
    for cell in row:
        reference = _REFERENCE.fullmatch(cell.get("r", ""))
        letters = reference[1] if reference else ""
        column = reduce(lambda sum_, letter: 26 * sum_ + ord(letter) - 64, letters, 0) - 1 if letters else len(cells)
        if column >= MOST_COLUMNS:
            break
        cells += [""] * (column - len(cells))
        cells.append(_shown(cell, texts))
    return cells


def _shown(cell: Any, texts: list[str]) -> str:
    value = next((child.text or "" for child in cell if child.tag.rpartition("}")[2] == "v"), "")
    kind = cell.get("t", "n")
    if kind == "s":
        return texts[_whole(value)] if _whole(value) < len(texts) else ""
    if kind == "inlineStr":
        return _text(cell)
    try:
        # 0.30880000000000002 was entered as 0.3088
        return repr(float(value)).removesuffix(".0") if kind == "n" and value else value * (kind in ("n", "str"))
    except ValueError:
        return value
