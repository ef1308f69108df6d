"""Reads HTML pages as a browser shows them."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from treceval_py.grading.claims.documents.document import MOST_CELLS, MOST_COLUMNS, Blocks, Row
from treceval_py.grading.claims.documents.text import read_lines

_BLOCKS = re.compile(
    "address|article|aside|blockquote|body|br|caption|d[dlt]|div|fig(ure|caption)|footer|form|h[1-6]|head(er)?|hr|html|li"
    "|main|nav|[ou]l|p|pre|section|table|tbody|td|tfoot|th|thead|title|tr"
)
_HIDDEN = frozenset({"script", "style", "template"})


def read_html(text: str, blocks: Blocks, place: str = ":{}") -> None:
    """Read a page.

    Parameters
    ----------
    text : str
        Its HTML source.
    blocks : Blocks
        Takes its lines and tables.
    place : str
        Form of the places: ``{}`` is a line of the source.
    """
    page = _Page(blocks, place)
    try:
        page.feed(_closed(text))
        page.close()
    except AssertionError:  # the parser raises it for some malformed declarations
        pass
    page.end_table()
    page.end_line()


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


class _Page(HTMLParser):
    """Takes a page apart."""

    def __init__(self, blocks: Blocks, place: str) -> None:
        super().__init__(convert_charrefs=True)
        self._blocks = blocks
        self._place = place
        self._words: list[str] = []
        self._began = 1
        self._hidden = 0
        self._preformatted = False
        self._rows: list[Row] = []
        self._row: list[str] | None = None
        self._columns = 1
        self._in_cell = False
        self._cells = 0

    # --- lines ---

    def end_line(self) -> None:
        """End a line, if it has any text."""
        text = "".join(self._words)
        self._words.clear()
        if not text.strip():
            return
        if self._preformatted:
            lines = enumerate(text.rstrip().split("\n"), self._began)
            read_lines(((self._place.format(number), line) for number, line in lines), self._blocks)
        else:
            self._blocks.line(self._place.format(self._began), text)

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._add(data)

    def _add(self, text: str) -> None:
        if not self._words:
            if self._preformatted:
                text = text.lstrip("\n") if text.strip() else ""
            blank = text[: len(text) - len(text.lstrip())]
            self._began = self.getpos()[0] + blank.count("\n")
        if self._words or text.strip():
            self._words.append(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in _HIDDEN
        if tag in ("td", "th"):
            self._end_cell()
            if self._row is None:
                self._begin_row()
            self._in_cell = True
            span = dict(attrs).get("colspan") or ""
            self._columns = int(span) if span.isascii() and span.isdigit() and len(span) < 5 else 1
        elif tag == "tr":
            self._begin_row()
        elif tag == "table":
            self.end_table()
            self.end_line()
        elif _BLOCKS.fullmatch(tag):
            self._break()
        elif tag == "sup":  # the number of a footnote is not a digit of the number before it
            self._add(" ")
        if tag == "pre" and not self._in_cell:
            self._preformatted = True

    def handle_endtag(self, tag: str) -> None:
        self._hidden = max(self._hidden - (tag in _HIDDEN), 0)
        if tag in ("td", "th"):
            self._end_cell()
        elif tag == "tr":
            self._end_row()
        elif tag == "table":
            self.end_table()
        elif _BLOCKS.fullmatch(tag):
            self._break()
        if tag == "pre":
            self._preformatted = False

    def _break(self) -> None:
        if self._in_cell:
            self._add(" ")
        elif self._row is None:
            self.end_line()

    # --- tables ---

    def _begin_row(self) -> None:
        self._end_row()
        self.end_line()
        self._row = []
        self._row_began = self.getpos()[0]

    def _end_cell(self) -> None:
        """End a cell, and repeat it if it spans several columns."""
        if not self._in_cell or self._row is None:
            return
        self._in_cell = False
        text = " ".join("".join(self._words).split())
        self._words.clear()
        self._row += [text] * min(self._columns or 1, MOST_COLUMNS - len(self._row))

    def _end_row(self) -> None:
        self._end_cell()
        if self._row:
            self._rows.append(Row(self._place.format(self._row_began), tuple(self._row)))
            self._cells += len(self._row)
            if self._cells > MOST_CELLS:
                self._blocks.grid(self._rows)  # which ends the reading
        self._row = None

    def end_table(self) -> None:
        """End a table; the end of an inner table also ends the outer one.

        A row lacks the cells that reach into it from rows above. These are its names, which come first.
        """
        self._end_row()
        width = max((len(row.cells) for row in self._rows), default=0)
        self._blocks.grid([row._replace(cells=("",) * (width - len(row.cells)) + row.cells) for row in self._rows])
        self._rows = []
