r"""Tables for a paper, in the style of the LaTeX package booktabs.

They need booktabs; letters beyond ASCII need ``\usepackage[T1]{fontenc}`` and UTF-8, LaTeX's default. A character
without a letter in pdfLaTeX, such as Chinese characters or emoji, is written as ``<U+6A21>``: it is visible, it keeps
names distinct, and the table compiles. A table with a label floats, with a caption; others are bare, with comments.

A floating table is as wide as one column of text (``table``) or two (``table*``), for all common classes of articles.
To make it fit, letters become smaller, gaps narrower, names are broken over lines, and finally redundant parts are left
out, which `left_out` reports. A table is never scaled.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from treceval_py.errors import visible
from treceval_py.rendering.escaping import shown_in_latex, typeset
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import Column, Document, Table


class Paper(NamedTuple):
    """A style of papers.

    Attributes
    ----------
    room : float
        The available width, in points.
    sizes : tuple of float
        The width of letters in each of `SIZES`, relative to ten points.
    bold : float
        The width of bold digits, relative to normal ones.
    """

    room: float
    sizes: tuple[float, ...]
    bold: float


class Page(NamedTuple):
    """The place where a table floats.

    Attributes
    ----------
    environment : str
        LaTeX's environment.
    words : str
        Its name in messages.
    papers : tuple of Paper
        The styles with the least room.
    most : int
        The number of lines that fit below a caption; a longer table continues in another float.
    """

    environment: str
    words: str
    papers: tuple[Paper, ...]
    most: int


SIZES = ("", "\\small", "\\footnotesize")
"""Letter sizes that are readable in every class of articles."""

ACL = Paper(219.0, (1.095, 1.0, 0.9), 1.0)
"""A column of ACL's style, in 11-point Times."""

IN_TWO_COLUMNS = Paper(229.0, (1.0, 0.925, 0.85), 1.15)
"""A column of two-column article, in Computer Modern; acmart (sigconf) has more room."""

IN_ONE_COLUMN = Paper(345.0, (1.0, 0.925, 0.85), 1.15)
"""A page of single-column article or LNCS; pages of two-column styles are wider."""

PAGES = {
    1: Page("table", "one column of text", (ACL, IN_TWO_COLUMNS), 30),
    2: Page("table*", "a page", (IN_ONE_COLUMN,), 36),
}
"""The places where tables float, by number of text columns."""

GAP = 6.0
"""Points on each side of a column, LaTeX's ``\\tabcolsep``; if it is smaller, the outer sides have none."""

SETTINGS = ((0, GAP), (1, GAP), (1, 3.0), (2, 3.0), (2, 2.0))
"""Letter sizes and gaps, in the order they are tried."""

MOST_FLOATS = 12
"""The number of floats that LaTeX can hold back at a time."""

LONGEST = 7
"""The width, in em, of a name that is broken over lines."""

PIECE = 12, 9
"""The number of letters of a name that stay on one line if there is no hyphen or similar; fewer if they are wide."""


class Typeset(NamedTuple):
    """A column as TeX.

    Attributes
    ----------
    column : Column
        The column.
    title : str
        Its title.
    cells : list of str
        Its cells.
    behind : bool
        Whether its cells are followed by another column, with marks or letters.
    widths : tuple of float
        The widths of its normal cells, of its bold cells, and of the text behind them.
    form : str
        Its alignment.
    lines : int
        The largest number of lines in a cell.
    """

    column: Column
    title: str
    cells: list[str]
    behind: bool
    widths: tuple[float, float, float]
    form: str
    lines: int

    @property
    def heading(self) -> float:
        """The width of its title."""
        # A command, of which titles have few, is about as wide as a letter.
        title = re.sub(r"\\[a-zA-Z]+(\{\})?", "n", self.column.tex).translate(dict.fromkeys(map(ord, "\\{}$")))
        return _width(title or self.column.heading)


class Layout(NamedTuple):
    """The layout of a floating table.

    Attributes
    ----------
    page : Page
        The place where it floats.
    columns : list of Typeset
        Its columns.
    blocks : list of range
        The numbers of the columns placed side by side, after the naming columns.
    size : str
        The size of its letters.
    gap : float
        Its gaps.
    without : tuple of str
        The parts that are left out.
    unsaid : frozenset of str
        The notes that explain those parts.
    """

    page: Page
    columns: list[Typeset]
    blocks: list[range]
    size: str
    gap: float
    without: tuple[str, ...]
    unsaid: frozenset[str]


def draw(document: Document, style: Style) -> str:
    """Return the tables, one below another; comments above them list packages, and how values were computed."""
    tables = [table for table in document.tables if _columns(table)]
    packages = ["{booktabs}", *(["{siunitx}"] if style.siunitx else []), "[T1]{fontenc}"]
    made = [visible(line) for table in tables if table.label for line in (*table.made, table.version) if line]
    made += [line for table in tables for _, line in table.asides()] + left_out(document, style)
    head = [f"% \\usepackage{package}" for package in packages] + [f"% {line}" for line in made]
    parts = ["\n".join(_float(table, style) if table.label else _bare(table, style)) for table in tables]
    text = [f"{{\\sloppy {_breakable(' '.join(document.text))}\\par}}"] if document.text else []
    return "\n".join([*head, "\n\n".join([*parts, *text]), ""])


def left_out(document: Document, style: Style) -> list[str]:
    """Return a sentence for each table that lacks something or is wider than requested."""
    said = []
    for table in document.tables:
        if not table.label or not _columns(table):
            continue
        layout, asked = _layout(table, style), PAGES[style.columns]
        if layout.page is not asked:
            said.append(f"the table of {table.name} does not fit into {asked.words}, and is as wide as a page.")
        if layout.without:
            wider = "; --columns 2 has more room" if layout.page is PAGES[1] else ""
            *others, last = layout.without
            names = f"{', '.join(others)} and {last}" if others else last
            said.append(f"the table of {table.name} fits into {layout.page.words} only without {names}{wider}.")
    return said


def _columns(table: Table) -> list[Column]:
    return [column for column in table.for_people() if column.paper and not column.aside]


def _bare(table: Table, style: Style) -> list[str]:
    columns = [_typeset(column, style) for column in _columns(table)]
    head = [f"% {visible(line)}" for line in (table.lead, table.title, *table.sentences()) if line]
    made = [f"% {visible(line)}" for line in table.made]
    form = "".join(each.form for each in columns)
    return [*head, f"\\begin{{tabular}}{{{form}}}", *_body(table, columns), "\\end{tabular}", *made]


def _layout(table: Table, style: Style) -> Layout:
    """Return the largest and fullest layout that fits; one of two text columns if none fits into one."""
    naming = table.naming
    for page in [page for columns, page in PAGES.items() if columns >= style.columns]:
        versions = [*_versions(table, style)]
        for columns, without, unsaid in versions:
            blocks = [range(naming, len(columns))]
            if (setting := _setting(columns, naming, blocks, page)) is not None:
                return Layout(page, columns, blocks, *setting, tuple(without), frozenset(unsaid))
        columns, *_ = next(each for each in reversed(versions) if not each[1])
        if table.tight or len({each.form for each in columns[naming:]}) > 1:
            continue
        others = len(columns) - naming
        for count in range(2, others + 1):
            size = math.ceil(others / count)
            blocks = [range(at, min(at + size, len(columns))) for at in range(naming, len(columns), size)]
            if (setting := _setting(columns, naming, blocks, page)) is not None:
                return Layout(page, columns, blocks, *setting, (), frozenset())
    columns, without, unsaid = versions[-1]
    number, gap = SETTINGS[-1]
    return Layout(page, columns, [range(naming, len(columns))], SIZES[number], gap, tuple(without), frozenset(unsaid))


def _setting(columns: Sequence[Typeset], naming: int, blocks: Sequence[range], page: Page) -> tuple[str, float] | None:
    """Return the largest size and gap in which blocks of columns fit one below another, or None."""
    places = [[each] for each in columns[:naming]]
    places += [[columns[block[at]] for block in blocks if at < len(block)] for at in range(len(blocks[0]))]
    for number, gap in SETTINGS:
        for paper in page.papers:
            wide = sum(_wide(place, paper.bold) for place in places)
            if paper.sizes[number] * wide + 2 * gap * len(places) > _room(paper, gap):
                break
        else:
            return SIZES[number], gap
    return None


def _wide(place: Sequence[Typeset], bold: float) -> float:
    """Return the approximate width of vertically aligned columns, in points at a letter size of ten points."""
    numbers = max(max(regular, best * bold) for regular, best, _ in (each.widths for each in place))
    return max(*(each.heading for each in place), numbers + max(each.widths[2] for each in place))


def _room(paper: Paper, gap: float) -> float:
    """Return the available width; it includes the gaps at the sides, except small ones."""
    return paper.room + (2 * gap if gap < GAP else 0)


def _versions(table: Table, style: Style) -> Iterator[tuple[list[Typeset], list[str], set[str]]]:
    """Yield columns, the fullest set first, with the parts left out and the notes that explain those."""
    columns = _columns(table)
    without: list[str] = []
    unsaid: set[str] = set()
    yield [_typeset(column, style) for column in columns], without, unsaid
    if any(column.behind for column in columns):  # the caption has the same information
        columns = [column._replace(behind=()) for column in columns]
        yield [_typeset(column, style) for column in columns], without, unsaid
    yield [_typeset(column, style, broken=True) for column in columns], without, unsaid
    if any(any(column.marks) for column in columns) and any(any(column.letters) for column in columns):
        unsaid = {column.note for column in columns if column.letters}
        columns, without = [column._replace(letters=()) for column in columns], ["the letters of groups"]
        yield [_typeset(column, style, broken=True) for column in columns], without, unsaid
    for spare in sorted((column for column in columns if column.spare), key=lambda column: -column.spare):
        columns = [column for column in columns if column is not spare]
        without, unsaid = [*without, spare.heading], {*unsaid, spare.note}
        yield [_typeset(column, style, broken=True) for column in columns], without, unsaid


def _float(table: Table, style: Style) -> list[str]:
    """Return a table under its caption; a table with many rows becomes several floats under one number."""
    layout = _layout(table, style)
    naming, columns = table.naming, layout.columns
    shown = [[*columns[:naming], *(columns[at] for at in block)] for block in layout.blocks]
    form = "".join(each.form for each in max(shown, key=len))
    if layout.gap < GAP:
        form = f"@{{}}{form}@{{}}"
    said = [
        line
        for line in table.caption or (table.lead, table.title, *table.sentences())
        if line and line not in layout.unsaid
    ]
    setting = [layout.size] if layout.size else []
    setting += [f"\\setlength{{\\tabcolsep}}{{{layout.gap:g}pt}}"] if layout.gap < GAP else []
    setting += ["\\sisetup{detect-weight=true, retain-explicit-plus=true}"] if style.siunitx else []
    lines: list[str] = []
    environment, most = layout.page.environment, layout.page.most
    tall = max(each.lines for each in columns)
    for number, bodies in enumerate(_floats([_body(table, each) for each in shown], most, tall)):
        caption = f"\\caption{{{_breakable(' '.join(said))}}}\\label{{{table.label}}}" if number == 0 else ""
        lines += [
            *([""] if number else []),
            *(["\\clearpage", ""] if number and number % MOST_FLOATS == 0 else []),
            *(f"\\begin{{{environment}}}", "\\centering"),
            *([caption] if caption else ["\\addtocounter{table}{-1}", "\\caption{Continued.}"]),
            *("\\smallskip", *setting, f"\\begin{{tabular}}{{{form}}}"),
            *("\\toprule", *bodies, "\\bottomrule", "\\end{tabular}", f"\\end{{{environment}}}"),
        ]
    return lines


def _floats(bodies: Sequence[Sequence[str]], most: int, tall: int) -> Iterator[list[str]]:
    """Yield the lines of each float: blocks one below another, with their heads, and as many rows as fit.

    A row with a broken name counts as `tall` lines.
    """
    lines: list[str] = []
    left = most
    for body in bodies:
        rule = body.index("\\midrule") + 1
        head, rows = body[1:rule], list(body[rule:-1])
        heights = [tall if "\\parbox" in row else 1 for row in rows]
        if lines and left < min(sum(heights), most):
            yield lines
            lines, left = [], most
        lines += [*(["\\midrule"] if lines else []), *head]
        for at, (row, height) in enumerate(zip(rows, heights, strict=True)):
            # The title of a group, which follows a rule, must not be alone at the end.
            needed = sum(heights[at : at + 3]) if row == "\\midrule" else height
            if needed > left:
                yield lines
                lines, left = [*head], most
                if row == "\\midrule":
                    continue
            lines.append(row)
            left -= height
    yield lines


def _breakable(text: str) -> str:
    """Return text as TeX in which long words can be broken."""
    return " ".join(
        "\\allowbreak{}".join(map(typeset, _pieces(word))) if len(word) > 2 * PIECE[0] else typeset(word)
        for word in text.split(" ")
    )


def _pieces(name: str) -> list[str]:
    """Split a name into pieces that stay on one line: ends of words, or a few letters."""
    usual, wide = (re.compile(rf"[^-_./:+@ ]{{1,{most}}}[-_./:+@ ]*|[-_./:+@ ]+") for most in PIECE)
    pieces = usual.findall(shown_in_latex(visible(name)))
    return [part for each in pieces for part in ([each] if _width(each) <= 10 * LONGEST else wide.findall(each))]


def _body(table: Table, columns: Sequence[Typeset]) -> list[str]:
    """Return the lines of a table between its beginning and its end."""
    rows = list(zip(*(each.cells for each in columns), strict=True))
    places = sum(2 if each.behind else 1 for each in columns)
    lines = ["\\toprule", *_groups(columns), " & ".join(each.title for each in columns) + r" \\"]
    if table.sections is not None:
        return [*lines, *_sections(table, rows), "\\bottomrule"]
    lines.append("\\midrule")
    for at, row in enumerate(rows):
        if title := table.breaks.get(at) or table.above.get(at):
            lines += ["\\midrule"] * (at > 0)
            lines.append(f"\\multicolumn{{{places}}}{{@{{}}l}}{{\\emph{{{typeset(title)}}}}} \\\\")
        lines.append(" & ".join(row) + r" \\")
    return [*lines, "\\bottomrule"]


def _sections(table: Table, rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows below the headings of their sections."""
    lines: list[str] = []
    for section, numbers in table.parts():
        # Letters that LaTeX lacks have no spaces between them, but their text must still break.
        text = typeset(section.text).replace("\\textgreater{}\\textless{}", "\\textgreater{}\\allowbreak{}\\textless{}")
        wide = len(rows[0]) if rows else len(section.values) + 1
        head = f"\\textbf{{{typeset(section.name)}}} {text}".rstrip()
        lines += ["\\midrule", f"\\multicolumn{{{wide}}}{{p{{0.8\\linewidth}}}}{{{head}}} \\\\"]
        values = [typeset(value.replace("-", "−")) for value in section.values]
        lines.append(" & ".join([""] * (wide - len(values)) + values) + r" \\")
        lines += ["\\quad " + " & ".join(rows[at]) + r" \\" for at in numbers]
    return lines


def _groups(columns: Sequence[Typeset]) -> list[str]:
    """Return the line of common heads, and the rules below them."""
    if not any(each.column.group for each in columns):
        return []
    heads, rules, place = [], [], 1
    for title, each in groupby(columns, lambda one: one.column.group):
        wide = sum(2 if one.behind else 1 for one in each)
        heads.append(f"\\multicolumn{{{wide}}}{{c}}{{{typeset(title)}}}")
        rules += [f"\\cmidrule(lr){{{place}-{place + wide - 1}}}"] if title else []
        place += wide
    return [" & ".join(heads) + r" \\", " ".join(rules)]


def _typeset(column: Column, style: Style, *, broken: bool = False) -> Typeset:
    texts = column.texts(style)
    numbers = column._replace(behind=()).texts(style) if style.siunitx and not column.text and not column.joint else []
    table_format = _table_format(numbers)
    # Intervals have no room for a plus sign.
    shown = [typeset(text.replace("+", "") if column.joint else text) for text in column.signs(style)]
    if table_format:
        shown = [text if _NUMBER.fullmatch(text) else f"{{{cell}}}" for text, cell in zip(numbers, shown, strict=True)]
    cells = [_marked(cell, row, column, table_format) for row, cell in enumerate(shown)]
    wide = max((_width(text) for row, text in enumerate(texts) if row not in column.best), default=0.0)
    best = max((_width(texts[row]) for row in column.best), default=0.0)
    beside, lines = 0.0, 1
    if broken and column.text and wide > 10 * LONGEST:
        lines = math.ceil(1.2 * wide / (10 * LONGEST))
        cells = [
            _in_lines(text) if _width(text) > 10 * LONGEST else cell for text, cell in zip(texts, cells, strict=True)
        ]
        wide = 10.0 * LONGEST
    title = column.tex or typeset(column.heading)
    behind = any(column.marks) or any(column.letters)
    form = f"S[table-format={table_format}]" if table_format else "l" if column.text else "r"
    if behind:
        marked = [*zip(column.marks or [""] * len(cells), column.letters or [""] * len(cells), strict=True)]
        title = f"\\multicolumn{{2}}{{c}}{{{title}}}"
        cells = [f"{cell} & {_behind(*each)}" for cell, each in zip(cells, marked, strict=True)]
        beside = max(
            (7.7 * len(mark) + 1.7 * bool(mark and more) + 4.6 * len(more) for mark, more in marked), default=0.0
        )
        form += "@{}l"
    elif table_format:
        title = f"{{{title}}}"
    return Typeset(column, title, cells, behind, (wide, best, beside), form, lines)


_NUMBER = re.compile(r"<?[-+]?\d+(\.\d+)?")
"""Cells that siunitx aligns."""


def _table_format(texts: Sequence[str]) -> str:
    """Return siunitx' format of a column of numbers; empty if the column has none."""
    numbers = [text for text in texts if _NUMBER.fullmatch(text)]
    if not numbers:
        return ""
    parts = [text.lstrip("<+-").partition(".") for text in numbers]
    sign = "<" if any(text[0] == "<" for text in numbers) else "+" if any(text[0] in "+-" for text in numbers) else ""
    whole, decimals = (max(len(part[at]) for part in parts) for at in (0, 2))
    return f"{sign}{whole}.{decimals}" if decimals else f"{sign}{whole}"


def _marked(cell: str, row: int, column: Column, table_format: str) -> str:
    """Return a cell, bold if it is the best and underlined if it is the second best."""
    if row in column.best:
        return f"\\bfseries {cell}" if table_format else f"\\textbf{{{cell}}}"
    if row in column.second:
        return f"{{\\underline{{{cell}}}}}" if table_format else f"\\underline{{{cell}}}"
    return cell


def _in_lines(name: str) -> str:
    """Return a name broken over lines."""
    pieces = "\\allowbreak{}".join(map(typeset, _pieces(name)))
    return f"\\parbox[t]{{{LONGEST}em}}{{\\raggedright\\strut {pieces}\\strut}}"


def _behind(mark: str, letters: str) -> str:
    raised = f"\\textsuperscript{{{typeset(letters)}}}" if letters else ""
    return typeset(mark) + ("\\," if mark and raised else "") + raised


def _width(text: str) -> float:
    """Return the approximate width of text in 10-point Computer Modern; Times and Libertine are narrower."""
    return sum(_WIDTHS.get(each, 7.6 if each.isupper() else 5.3) for each in shown_in_latex(text))


_WIDTHS: dict[str, float] = {
    letter: width
    for letters, width in (
        (".,:;!|[]'`ijl", 2.8), ("f ", 3.3), ("()rt", 3.9), ("sI", 4.0), ("cez", 4.5), ("0123456789agov/", 5.0),
        ("kxyJ", 5.3), ("bdhnpquS?", 5.6), ("LFZ", 6.5), ("EPB", 7.0), ("wCTRV", 7.5), ("ADGHNUXYK@&OQ_+-−<>", 7.9),
        ("m%#", 8.4), ("MW", 10.3),
    )
    for letter in letters
}  # fmt: skip
"""Widths of letters in 10-point Computer Modern, in points, rounded up."""
