"""Word documents and Excel workbooks: their text and tables, as last saved."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from typing import Any

from treceval_py.grading.claims.documents.document import (
    MOST_CELLS,
    MOST_COLUMNS,
    MOST_LINES,
    Blocks,
    Full,
    Row,
    Unread,
)
from treceval_py.grading.claims.documents.text import read_lines

_MOST_UNPACKED, _MOST_TEXT, _MOST_PARTS = 64 << 20, 8 << 20, 5000
"""Most bytes of a file that are unpacked, most bytes of XML among them, and most parts."""


def _opened(data: bytes) -> zipfile.ZipFile:
    """Open a file after checking its unpacked size.

    Raises
    ------
    Unread
        It is too large, encrypted or damaged.
    """
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise Unread(
            "it is encrypted, or of an older version of Office: hand it in as .docx or .pdf without a password"
        )
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


# --- Word ---


def read_docx(data: bytes, blocks: Blocks) -> None:
    """Read a Word document.

    Raises
    ------
    Unread
        It is damaged or too large, or python-docx is not installed.
    """
    try:
        import docx
    except ModuleNotFoundError:
        raise Unread("python-docx is not installed") from None
    _opened(data).close()
    lines: list[tuple[str, str]] = []
    paragraphs = tables = 0
    for element in _children(docx.Document(io.BytesIO(data)).element.body, "p", "tbl"):
        if _name(element) == "p":
            paragraphs += 1
            if paragraphs > MOST_LINES:
                read_lines(lines, blocks, apart=True)
                raise Full(f"only its first {MOST_LINES:,} paragraphs were read")
            lines += ((f", paragraph {paragraphs}", line) for line in _text(element).split("\n"))
            continue
        tables += 1
        read_lines(lines, blocks, apart=True)
        lines.clear()
        _read_table(element, f", table {tables}", blocks)
    read_lines(lines, blocks, apart=True)


def _name(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def _children(element: Any, *names: str) -> Iterator[Any]:
    """Yield the child elements with some names, including those in form fields or marked as inserted."""
    for child in element:
        name = _name(child)
        if name in names:
            yield child
        elif name in ("sdt", "sdtContent", "ins", "customXml"):
            yield from _children(child, *names)


_WORDS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "p": "\n"}


def _text(element: Any) -> str:
    """Return the text of an element, with tabs and newlines; deleted text has another element name."""
    parts: list[str] = []
    for node in element.iter():
        name = _name(node)
        if name == "t":
            parts.append(node.text or "")
        elif name == "vertAlign":  # a superscript is not a digit of the number before it
            parts.append(" ")
        elif node is not element:
            parts.append(_WORDS.get(name, ""))
    return "".join(parts)


def _read_table(table: Any, place: str, blocks: Blocks) -> None:
    rows: list[Row] = []
    for number, row in enumerate(_children(table, "tr"), 1):
        cells: list[str] = []
        for cell in _children(row, "tc"):
            spans = [setting for settings in _children(cell, "tcPr") for setting in _children(settings, "gridSpan")]
            columns = next((_whole(str(value)) for span in spans for value in span.values()), 1)
            cells += [_text(cell).strip()] * (min(columns, MOST_COLUMNS) or 1)
            if len(cells) > MOST_COLUMNS:
                break
        rows.append(Row(f"{place}, row {number}", tuple(cells)))
        if number > MOST_CELLS:
            break
    blocks.grid(rows)


# --- Excel ---

_SHEET = re.compile(r"xl/worksheets/sheet(\d{1,3})\.xml")
_REFERENCE = re.compile(r"([A-Z]{1,3})\d{1,7}")


def read_xlsx(data: bytes, blocks: Blocks) -> None:
    """Read the sheets of an Excel workbook, with the values that formulas had when it was saved.

    Raises
    ------
    Unread
        It is damaged or too large.
    """
    with _opened(data) as archive:
        names = archive.namelist()
        texts = ["".join(_texts(item)) for item in _elements(archive, "xl/sharedStrings.xml", "si")]
        sheets = sorted((int(numbered[1]), name) for name in names if (numbered := _SHEET.fullmatch(name)))
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

    if name not in archive.namelist():
        return
    part = archive.read(name)
    if b"<!DOCTYPE" in part or b"\0" in part:  # no program writes it, and entities could grow without bound
        raise Unread("it is damaged")
    try:
        for _, element in iterparse(io.BytesIO(part)):  # noqa: S314 - without entities
            if _name(element) == wanted:
                yield element
                element.clear()
    except ParseError:
        raise Unread("it is damaged") from None


def _texts(element: Any) -> Iterator[str]:
    return (node.text or "" for node in element.iter() if _name(node) == "t")


def _values(row: Any, texts: list[str]) -> list[str]:
    cells: list[str] = []
    for cell in row:
        reference = _REFERENCE.fullmatch(cell.get("r", ""))
        column = len(cells)
        if reference:
            column = 0
            for letter in reference[1]:
                column = 26 * column + ord(letter) - 64
            column -= 1
        if column >= MOST_COLUMNS:
            break
        cells += [""] * (column - len(cells))
        cells.append(_shown(cell, texts))
    return cells


def _shown(cell: Any, texts: list[str]) -> str:
    value = next((child.text or "" for child in cell if _name(child) == "v"), "")
    kind = cell.get("t", "n")
    if kind == "s":
        return texts[_whole(value)] if _whole(value) < len(texts) else ""
    if kind == "inlineStr":
        return "".join(_texts(cell))
    if kind != "n":
        return value if kind == "str" else ""
    try:
        return f"{float(value)!r}".removesuffix(".0") if value else ""  # 0.30880000000000002 was entered as 0.3088
    except ValueError:
        return value
