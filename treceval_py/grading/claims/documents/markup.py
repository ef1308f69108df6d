"""HTML pages as a browser shows them, Word documents and workbooks: text, tables, rows and cells between tags."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from functools import reduce
from html.parser import HTMLParser
from typing import Any

from treceval_py.grading.claims.documents.document import MOST_CELLS, MOST_COLUMNS, Blocks, Page, Row, Unread

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
        why = "it is encrypted, or of an older version of Office"
        raise Unread(f"{why}: hand it in as .docx or .pdf without a password")
    archive = zipfile.ZipFile(io.BytesIO(data))
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
    from xml.etree.ElementTree import iterparse

    part = archive.read(name) if name in archive.namelist() else b"<none/>"
    if b"<!DOCTYPE" in part or b"\0" in part:  # no program writes it, and entities could grow without bound
        raise Unread("it is damaged")
    for _, element in iterparse(io.BytesIO(part)):  # noqa: S314 - without entities
        if _name(element) == wanted:
            yield element
            element.clear()


def _name(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def _text(element: Any) -> str:
    return "".join(node.text or "" for node in element.iter() if _name(node) == "t")


def _values(row: Any, texts: list[str]) -> list[str]:
    cells: list[str] = []
    for cell in row:
        reference = _REFERENCE.fullmatch(cell.get("r", ""))
        column = reduce(lambda sum_, letter: 26 * sum_ + ord(letter) - 64, reference[1], 0) if reference else 0
        if max(column, len(cells) + 1) > MOST_COLUMNS:
            break
        cells += [*[""] * (column - 1 - len(cells)), _shown(cell, texts)]
    return cells


def _shown(cell: Any, texts: list[str]) -> str:
    value = next((child.text or "" for child in cell if _name(child) == "v"), "")
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


# --- HTML ---

_KINDS = {"td": "cell", "th": "cell", "tr": "row", "table": "table"}
_BLOCKS = re.compile(
    "address|article|aside|blockquote|body|br|caption|d[dlt]|div|fig(ure|caption)|footer|form|h[1-6]|head(er)?|hr|html|li"
    "|main|nav|[ou]l|p|pre|section|tbody|tfoot|thead|title"
)
_WITHOUT_TEXT = frozenset({"script", "style", "template"})


def read_html(text: str, blocks: Blocks, place: str = ":{}") -> None:
    """Read the HTML source of a page; ``place`` is the form of places, and ``{}`` in it a line of the source."""
    html = _Html(blocks, place)
    try:
        html.feed(_closed(text))
        html.close()
    except AssertionError:  # the parser raises it for some malformed declarations
        pass
    html.page.tag("table")


_DECLARED = re.compile(r"<[!?][A-Za-z][^<>]*>")
_OPEN = re.compile(r"<(?![/A-Za-z][^<>]*>)")


def _closed(text: str) -> str:
    """Remove comments and declarations, and escape tags that never end, which would slow down the parser."""
    parts: list[str] = []
    at = 0
    while (begin := text.find("<!--", at)) >= 0 and (end := text.find("-->", begin + 4)) >= 0:
        parts += text[at:begin], "\n" * text.count("\n", begin, end)
        at = end + 3
    rest = _DECLARED.sub(lambda declaration: "\n" * declaration[0].count("\n"), "".join((*parts, text[at:])))
    return _OPEN.sub("&lt;", rest)


class _Html(HTMLParser):
    """Takes the source of a page apart."""

    def __init__(self, blocks: Blocks, place: str) -> None:
        super().__init__(convert_charrefs=True)
        self.page = Page(blocks)
        self._place = place
        self._hidden = 0
        self._preformatted = False

    def handle_data(self, data: str) -> None:
        first = self.getpos()[0]
        if self._hidden:
            return
        if not self._preformatted:
            first += data[: len(data) - len(data.lstrip())].count("\n")
            data = re.sub(r"\s+", " ", data)
        for number, line in enumerate(data.split("\n"), first):
            if number > first:
                self.page.tag("block")
            self.page.add(line, self._place.format(number))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in _WITHOUT_TEXT
        self.page.tag(_KINDS.get(tag, "block" if _BLOCKS.fullmatch(tag) else ""))
        if tag in ("td", "th"):
            self.page.open_cell(dict(attrs).get("colspan") or "")
        elif tag == "sup":  # the number of a footnote is not a digit of the number before it
            self.page.add(" ", "")
        self._preformatted = self._preformatted or tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        self._hidden = max(self._hidden - (tag in _WITHOUT_TEXT), 0)
        self.page.tag(_KINDS.get(tag, "block" if _BLOCKS.fullmatch(tag) else ""))
        self._preformatted = self._preformatted and tag != "pre"


# --- Word ---

_ELEMENTS = {"tc": "cell", "tr": "row", "tbl": "table", "p": "block", "br": "block", "cr": "block"}
_CHARACTERS = {"tab": "\t", "noBreakHyphen": "-", "vertAlign": " "}
"""Text of elements without text; a superscript is not a digit of the number before it."""


def read_docx(data: bytes, blocks: Blocks) -> None:
    """Read a Word document.

    Raises
    ------
    Unread
        It is damaged or too large, or python-docx is not installed.
    """
    try:
        import docx
        from lxml.etree import iterwalk  # type: ignore[import-untyped]  # python-docx needs it too
    except ModuleNotFoundError:
        raise Unread("python-docx is not installed") from None
    opened(data).close()
    blocks.apart = True
    page, paragraphs, tables, rows, inside = Page(blocks), 0, 0, 0, 0
    for event, element in iterwalk(docx.Document(io.BytesIO(data)).element.body, events=("start", "end")):
        name, starts = _name(element), event == "start"
        page.tag(_ELEMENTS.get(name, ""))
        if name == "tbl":
            tables, rows, inside = tables + starts, 0, inside + (1 if starts else -1)
        elif starts:
            rows += name == "tr"
            paragraphs += name == "p" and not inside
            if name == "tc":
                page.open_cell()
            elif name == "gridSpan":
                page.span(str(next(iter(element.values()), "")))
            text = (element.text or "") if name == "t" else _CHARACTERS.get(name, "")
            page.add(text, f", table {tables}, row {rows}" if inside else f", paragraph {paragraphs}")
    page.tag("table")
