"""The numbers of measures in a document, read from beginning to end: a heading applies to everything below it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from treceval_py.grading.claims.documents.document import Document, Grid, Line, Row
from treceval_py.grading.claims.lines import Said, pairs_of, plain, whole_number
from treceval_py.grading.claims.linking import has_number
from treceval_py.grading.claims.naming import is_label
from treceval_py.grading.claims.sentences import named_in, said_in_prose
from treceval_py.grading.claims.tables import said_in_table
from treceval_py.grading.claims.wording import Whose, is_standard, told_of


def said_in(document: Document, runs: Collection[str] = ()) -> Iterator[Said]:
    """Yield the numbers that a document gives for measures of the student's runs.

    Parameters
    ----------
    document : Document
        The document.
    runs : collection of str
        Names and tags of the submitted runs, in lower case.
    """
    reader = _Reader(runs)
    blocks = list(_with_headers(document.blocks))
    for block, following in zip(blocks, [*blocks[1:], None], strict=False):
        if isinstance(block, Line):
            yield from reader.line(block, following.text if isinstance(following, Line) else "")
        else:
            yield from reader.table(block)
    yield from reader.paragraph()
    yield from reader.columns()


def _with_headers(blocks: Sequence[Line | Grid]) -> Iterator[Line | Grid]:
    """Join a line of measures and a line of as many numbers below it into a table."""
    names: list[str] = []
    for number, block in enumerate(blocks):
        words = block.text.split() if isinstance(block, Line) and len(block.text) < _LONGEST_HEADER else []
        before = blocks[number - 1]
        if names and isinstance(before, Line):
            if isinstance(block, Line) and len(words) == len(names) and all(map(whole_number, words)):
                yield Grid((Row(before.place, tuple(names)), Row(block.place, tuple(words))))
                names = []
                continue
            yield before
        names = words if len(words) > 1 and all(map(is_label, words)) else []
        if not names:
            yield block
    if names:
        yield blocks[-1]


_LONGEST_HEADER = 200

_BULLET = re.compile(r"^\s*(?:[-*+•·▪◦–]|\d{1,2}[.)]|\(?[a-z]\))\s+")
_TITLE = re.compile(
    r"^\s*#{1,6}\s|^[1-9]\d?(?:\.\d{1,2})*\.?\s+[A-ZÄÖÜÉ]|^(?:table|tab\.|tabelle|tableau|tabla|表)\s?\d+", re.I
)
_SECTION = re.compile(r"^[1-9]\d?(?:\.\d{1,2})*\.?\s+(?=[^\W\d])")
_FENCE = re.compile(r"(?:```|~~~)\s*\{?\.?(?!te?xt|output|console|none|plain)([A-Za-z]\w*)?")
_COMMAND = re.compile(r"^(?:[$!%>]|>>>|In \[|C:\\|\S+@\S+[$%#>]\s|(?:\S{0,200}/)?trec_eval\s|python3?\s\S+\.py\s)")
_RUN_FILE = (
    r"(?!\S{0,200}(?:qrel|judg|topic|quer|claim|result|readme|report))"
    r"(?P<run>[\w+-][\w.+-]{0,100}\.(?:run|trec|txt|res|tsv|out|gz))"
)
_ARGUMENT = re.compile(rf"(?i)(?<![\w.+-]){_RUN_FILE}(?![\w.])")
_OF_FILE = re.compile(
    r"(?i)(?:\W*(?:now\s)?(?:evaluat\w+|scoring|scores?|results?|run|file|lauf|fichier)\W+(?:(?:of|for|von|für|de|pour)\s)?)?"
    rf"[^\w]*{_RUN_FILE}(?:\s?[\W_]*)"
)
"""A line about the file of a run, such as ``Evaluating bm25.txt ...``."""
_RULED = re.compile(r"[=*#~_-]{3,}\s*(?P<text>[^\s=*#~_-].*?)\s*[=*#~_-]{3,}")
"""A heading between drawn lines, such as ``=== BM25 ===``."""
_BEGINS = re.compile(r"[\[(]?(?P<run>[^\s:|,\[\]()]{1,100})[\])]?\s?[:|,;–—-]?\s+(?=\S)")
_MOST_WORDS = 6
"""Most words of a heading, for a line without punctuation at its end."""
_OF_ALL = re.compile(
    r"(?i)(?<![^\W_])(?:exercise|assignment|homework|project|report|lab|sheet|course|(?:übungs)?blatt|übung|aufgabe|projekt"
    r"|bericht|kurs|exercice|devoir|projet|rapport|tp|cours|ejercicio|práctica|proyecto|informe|curso)(?![^\W_])|作业|报告|实验"
)
"""The title of a report; it may contain anything."""
_RUNID = "runid all "
"""The beginning of trec_eval's output for a run."""
_MOST_LINES = 50
"""Most lines of a paragraph; longer ones are read in parts."""

_BARE, _UNTIL_BLANK = 7, 8
"""Levels of headings without a sign or number, and of those whose scope ends at a blank line."""


class _Heading(NamedTuple):
    """A heading: the owner of the numbers below it, and the run that it names."""

    level: int
    told: Whose
    run: str


class _Reader:
    """Reads a document, and remembers its headings."""

    def __init__(self, runs: Collection[str]) -> None:
        self._runs = runs
        self._headings: list[_Heading] = []
        self._begun = False
        self._first = True
        self._in_code = False
        self._prose: list[Line] = []
        self._names: list[str] = []
        self._numbers: list[tuple[str, str]] = []

    def line(self, line: Line, following: str = "") -> Iterator[Said]:
        """Read the next line; the line after it helps to recognise a heading."""
        text = plain(_BULLET.sub("", line.text, count=1))
        if self._is_code(line.text):
            yield from self.paragraph()
        elif line.text.startswith("|"):
            yield from self.table(Grid((Row(line.place, tuple(line.text.strip("|").split("|"))),)))
        elif not text:
            yield from self.paragraph()
            if self._begun and self._headings and self._headings[-1].level == _UNTIL_BLANK:
                self._headings.pop()
        elif self._is_of_column(line.place, text):
            yield from self.paragraph()
        else:
            yield from self.columns()
            if text.startswith(_RUNID):
                run = text.removeprefix(_RUNID)
                self._below(_Heading(_BARE, told_of(run), run))
            else:
                yield from self._text(line, text, following)

    def _text(self, line: Line, text: str, following: str) -> Iterator[Said]:
        """Read a line that is more than a name or a number."""
        # A commented line does not count.
        said = None if text.startswith("# ") else self._said_of_run(text, line.place) or pairs_of(text, line.place)
        first, self._first = self._first, False
        is_heading = said is None and _is_heading(line.text, text, goes_on=self._goes_on(following))
        if is_heading or said is not None or _BULLET.match(line.text):
            yield from self.paragraph()
        if said is not None:
            self._begun = True
            if self._told is not Whose.OTHERS:
                yield from self._name_run(said)
        elif is_heading and not (first and _OF_ALL.search(text)):
            self._below(self._heading(line.text, text))
        else:
            self._prose.append(Line(line.place, text))
            if len(self._prose) == _MOST_LINES:
                yield from self.paragraph()

    def _said_of_run(self, text: str, place: str) -> list[Said]:
        """Return the numbers on a line that begins with the name of a run, followed by names and numbers."""
        begins = _BEGINS.match(text)
        if begins is None or not has_number(text[begins.end() :]):
            return []
        run = begins["run"]
        if run.lower() in self._runs or (_OF_FILE.fullmatch(run) and told_of(run) is not Whose.OTHERS):
            return [number._replace(run=run) for number in pairs_of(text[begins.end() :], place) or ()]
        return []

    def _heading(self, written: str, text: str) -> _Heading:
        """Interpret a heading; a submitted run is the student's, whatever its name."""
        text = text[:_LONGEST_HEADER]
        ruled = _RULED.fullmatch(text)
        title = (ruled["text"] if ruled else text).strip("#: ")
        files = _ARGUMENT.findall(text) if _COMMAND.match(written) else []
        about = _OF_FILE.fullmatch(title)
        run = files[-1] if files else about["run"] if about else named_in(title)
        if title.lower() in self._runs:
            run = title
        others = run.lower() not in self._runs and is_standard(title)
        told = Whose.OTHERS if others else Whose.UNSAID if run.lower() in self._runs else told_of(title)
        # A program's output about a run ends at a blank line.
        ends = (files or about) and told is not Whose.OTHERS
        return _Heading(_UNTIL_BLANK if ends else _level(written), told, run)

    def _is_code(self, written: str) -> bool:
        """Tell whether a line is code, in a block with a language; other blocks may hold output."""
        fence = _FENCE.match(written)
        if fence is not None:
            self._in_code = not self._in_code and bool(fence[1])
        return self._in_code or fence is not None

    def table(self, grid: Grid) -> Iterator[Said]:
        """Read the next table; if it has no measures, read its cells as lines."""
        yield from self.paragraph()
        yield from self.columns()
        self._begun = True
        said = list(said_in_table(grid, self._told, self._runs))
        yield from self._name_run(said)
        if not said:
            yield from self._untabled(grid)

    def _untabled(self, grid: Grid) -> Iterator[Said]:
        """Read a grid that is not really a table: lines with the same number of words, or cells with sentences."""
        if all(sum(cell.isalpha() for cell in row.cells[1:]) > 1 for row in grid.rows):
            lines = [Line(row.place, " ".join(row.cells)) for row in grid.rows]
            for line, following in zip(lines, [*lines[1:], None], strict=True):
                yield from self.line(line, following.text if following else "")
            return
        for row in grid.rows:
            for cell in row.cells:
                if has_number(cell) and not whole_number(cell):
                    yield from self.line(Line(row.place, cell))
                    yield from self.paragraph()

    def paragraph(self) -> Iterator[Said]:
        """End a paragraph."""
        prose, self._prose = self._prose, []
        for said in said_in_prose(prose) if prose and self._told is not Whose.OTHERS else ():
            numbers = said_in_table(said, self._told, self._runs) if isinstance(said, Grid) else iter((said,))
            yield from self._name_run(numbers)

    def columns(self) -> Iterator[Said]:
        """End a column of names with as many numbers below them."""
        if self._names and len(self._names) == len(self._numbers) and self._told is not Whose.OTHERS:
            for name, (place, number) in zip(self._names, self._numbers, strict=True):
                yield Said(place, name, number, self._run)
        self._names, self._numbers = [], []

    def _goes_on(self, following: str) -> bool:
        """Tell whether a line is in the middle of a sentence."""
        before = self._prose[-1].text if self._prose else ""
        unfinished = len(before.split()) > _MOST_WORDS and not before.endswith((".", "!", "?", ":", "。"))
        return unfinished or following[:1].islower() or following[:1].isdigit()

    def _is_of_column(self, place: str, text: str) -> bool:
        """Tell whether a line is only a name or only a number, and keep it."""
        number = whole_number(text)
        if number and self._names and re.search(r"[.,]\d", number):
            self._numbers.append((place, number))
            return True
        if not number and is_label(text) and not self._numbers:
            self._names.append(text)
            return True
        return False

    @property
    def _told(self) -> Whose:
        """The owner of the numbers, by the last heading that tells."""
        return next((head.told for head in reversed(self._headings) if head.told is not Whose.UNSAID), Whose.UNSAID)

    @property
    def _run(self) -> str:
        return next((head.run for head in reversed(self._headings) if head.run), "")

    def _name_run(self, numbers: Iterable[Said]) -> Iterator[Said]:
        """Give numbers without a run the run of the last heading that names one."""
        return (number if number.run else number._replace(run=self._run) for number in numbers)

    def _below(self, heading: _Heading) -> None:
        """Begin the scope of a heading, which ends those of the same or a deeper level."""
        self._headings = [*(above for above in self._headings if above.level < heading.level), heading]
        self._begun = False


def _level(written: str) -> int:
    """Return the level of a heading, by its signs or numbers."""
    if (signs := re.match(r"#{1,6}(?=\s)", written)) is not None:
        return len(signs[0])
    if (numbers := _SECTION.match(written)) is not None:
        return len(re.findall(r"\d+", numbers[0]))
    return _UNTIL_BLANK if written.endswith(":") else _BARE


def _is_heading(written: str, text: str, *, goes_on: bool) -> bool:
    """Tell whether a line is a heading of the lines below it."""
    if text.startswith("# "):
        return True
    if has_number(_SECTION.sub("", text)):
        return False
    if _TITLE.match(written) or _COMMAND.match(written):
        return True
    if len(text) < _LONGEST_HEADER and (_RULED.fullmatch(text) or _OF_FILE.fullmatch(text)):
        return True
    short = len(text.split()) <= _MOST_WORDS
    title = text[:1].isupper() and not text.endswith((".", ",", ";")) and not goes_on
    return short and (text.endswith(":") or title)
