"""HTML pages as a browser shows them, and Word documents: both are tags around text, tables, rows and cells."""

from __future__ import annotations

import io
import re
from html.parser import HTMLParser

from treceval_py.grading.claims.documents.document import Blocks, Page, Unread
from treceval_py.grading.claims.documents.sheets import opened

# --- HTML ---

_KINDS = {"td": "cell", "th": "cell", "tr": "row", "table": "table"}
_BLOCKS = re.compile(
    "address|article|aside|blockquote|body|br|caption|d[dlt]|div|fig(ure|caption)|footer|form|h[1-6]|head(er)?|hr|html|li"
    "|main|nav|[ou]l|p|pre|section|tbody|tfoot|thead|title"
)
_HIDDEN = frozenset({"script", "style", "template"})


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
        self._hidden += tag in _HIDDEN
        self.page.tag(_KINDS.get(tag, "block" if _BLOCKS.fullmatch(tag) else ""))
        if tag in ("td", "th"):
            self.page.open_cell(dict(attrs).get("colspan") or "")
        elif tag == "sup":  # the number of a footnote is not a digit of the number before it
            self.page.add(" ", "")
        self._preformatted = self._preformatted or tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        self._hidden = max(self._hidden - (tag in _HIDDEN), 0)
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
        name, starts = str(element.tag).rpartition("}")[2], event == "start"
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
