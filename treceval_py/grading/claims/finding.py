"""What a document says of measures, read from its beginning to its end: a heading also counts for what is below it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from treceval_py.grading.claims.documents.document import Document, Grid, Line, Row
from treceval_py.grading.claims.lines import Said, has_number, named_in, pairs_of, plain, said_in_prose, whole_number
from treceval_py.grading.claims.naming import is_label
from treceval_py.grading.claims.tables import said_in_table
from treceval_py.grading.claims.wording import Whose, is_standard, told_of

__all__ = ["said_in"]


def said_in(document: Document, runs: Collection[str] = ()) -> Iterator[Said]:
    """Yield what a document says of measures of the student's runs.

    Parameters
    ----------
    document : Document
        The document.
    runs : collection of str
        Names and tags of the runs that were handed in, in small letters.
    """
    reader = _Reader(runs)
    for block, following in zip(document.blocks, [*document.blocks[1:], None], strict=False):
        if isinstance(block, Line):
            yield from reader.line(block, following.text if isinstance(following, Line) else "")
        else:
            yield from reader.table(block)
    yield from reader.paragraph()
    yield from reader.columns()


_BULLET = re.compile(r"^\s*(?:[-*+•·▪◦–]|\d{1,2}[.)]|\(?[a-z]\))\s+")
_TITLE = re.compile(
    r"^\s*#{1,6}\s|^[1-9]\d?\.(?:\d{1,2}\.?)*\s+[^\W\d]|^(?:table|tab\.|tabelle|tableau|tabla|表)\s?\d+", re.I
)
_SECTION = re.compile(r"^[1-9]\d?\.(?:\d{1,2}\.?)*\s+(?=[^\W\d])")
_FENCE = re.compile(r"(?:```|~~~)\s*\{?\.?(?!te?xt|output|console|none|plain)([A-Za-z]\w*)?")
_COMMAND = re.compile(r"^(?:[$!%>]|>>>|In \[|C:\\)")
_MOST_WORDS = 6
"""Words of a line without end that is a heading."""
_MOST_LINES = 50
"""Lines of a paragraph: longer ones are read in parts."""


class _Reader:
    """Reads a document, and keeps what its headings said."""

    def __init__(self, runs: Collection[str]) -> None:
        self._runs = runs
        self._told = Whose.UNSAID
        self._run = ""
        self._until_blank = False
        self._begun = False
        self._in_code = False
        self._prose: list[Line] = []
        self._names: list[str] = []
        self._numbers: list[tuple[str, str]] = []

    def line(self, line: Line, following: str = "") -> Iterator[Said]:
        """Read the next line; what follows it shows whether it is a heading."""
        if (fence := _FENCE.match(line.text)) is not None:
            # What is in a block of code without a language may be what a program printed.
            self._in_code = not self._in_code and bool(fence[1])
            yield from self.paragraph()
            return
        if self._in_code:
            return
        if line.text.startswith("|"):
            yield from self.table(Grid((Row(line.place, tuple(line.text.strip("|").split("|"))),)))
            return
        bullet = _BULLET.match(line.text) is not None
        text = plain(_BULLET.sub("", line.text, count=1))
        if not text:
            yield from self.paragraph()
            if self._until_blank and self._begun:
                self._heading(Whose.UNSAID, "", until_blank=False)
            return
        if self._is_of_column(line.place, text):
            yield from self.paragraph()
            return
        yield from self.columns()
        # A line behind a sign of comments is none that counts.
        found = None if text.startswith("# ") else pairs_of(text, line.place)
        goes_on = bool(self._prose) and not self._prose[-1].text.endswith((".", "!", "?", ":", "。"))
        goes_on = goes_on or following[:1].islower() or following[:1].isdigit()
        is_heading = found is None and _is_heading(line.text, text, goes_on=goes_on)
        if bullet or is_heading or found is not None:
            yield from self.paragraph()
        if found is not None:
            self._begun = True
            if self._told is not Whose.OTHERS:
                yield from (each._replace(run=self._run) for each in found)
        elif text.startswith("runid all "):  # as trec_eval prints it
            run = text.removeprefix("runid all ")
            self._heading(told_of(run), run, until_blank=False)
        elif is_heading:
            told = Whose.OTHERS if is_standard(text.strip("#: ")) else told_of(text.removesuffix(":"))
            self._heading(told, named_in(text), until_blank=text.endswith(":"))
        else:
            self._prose.append(Line(line.place, text))
            if len(self._prose) == _MOST_LINES:
                yield from self.paragraph()

    def table(self, grid: Grid) -> Iterator[Said]:
        """Read the next table; the cells of one that has no measures as lines of their own."""
        yield from self.paragraph()
        yield from self.columns()
        self._begun = True
        found = list(said_in_table(grid, self._told, self._runs))
        yield from (each if each.run else each._replace(run=self._run) for each in found)
        if not found:
            for row in grid.rows:
                for cell in row.cells:
                    if has_number(cell) and not whole_number(cell):
                        yield from self.line(Line(row.place, cell))
                        yield from self.paragraph()

    def paragraph(self) -> Iterator[Said]:
        """End a paragraph."""
        prose, self._prose = self._prose, []
        for said in said_in_prose(prose) if prose and self._told is not Whose.OTHERS else ():
            if isinstance(said, Grid):
                yield from said_in_table(said, self._told, self._runs)
            else:
                yield said if said.run else said._replace(run=self._run)

    def columns(self) -> Iterator[Said]:
        """End names that stand below one another, and as many numbers that stand below them."""
        if self._names and len(self._names) == len(self._numbers) and self._told is not Whose.OTHERS:
            for name, (place, number) in zip(self._names, self._numbers, strict=True):
                yield Said(place, name, number, self._run)
        self._names, self._numbers = [], []

    def _is_of_column(self, place: str, text: str) -> bool:
        """Tell whether a line is a name or a number and nothing else, and keep it."""
        number = whole_number(text)
        if number and self._names and re.search(r"[.,]\d", number):
            self._numbers.append((place, number))
            return True
        if not number and is_label(text) and not self._numbers:
            self._names.append(text)
            return True
        return False

    def _heading(self, told: Whose, run: str, *, until_blank: bool) -> None:
        self._told, self._run, self._until_blank, self._begun = told, run, until_blank, False


def _is_heading(written: str, text: str, *, goes_on: bool) -> bool:
    """Tell whether a line is about those below it."""
    if text.startswith("# "):
        return True
    if has_number(_SECTION.sub("", text)):
        return False
    if _TITLE.match(written) or _COMMAND.match(written):
        return True
    short = len(text.split()) <= _MOST_WORDS
    title = text[:1].isupper() and not text.endswith((".", ",", ";")) and not goes_on
    return short and (text.endswith(":") or title)
