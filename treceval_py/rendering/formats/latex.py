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
from itertools import groupby, zip_longest
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
    """The layout of a floating table; what has a default is the tightest.

    Attributes
    ----------
    blocks : list of list of Typeset
        The columns placed side by side, one block below another; each begins with the naming columns.
    without : list of str
        The parts that are left out.
    unsaid : set of str
        The notes that explain those parts.
    page : Page
        The place where it floats.
    size : str
        The size of its letters.
    gap : float
        Its gaps.
    """

    blocks: list[list[Typeset]]
    without: list[str]
    unsaid: set[str]
    page: Page = PAGES[2]
    size: str = SIZES[SETTINGS[-1][0]]
    gap: float = SETTINGS[-1][1]


def draw(document: Document, style: Style) -> str:
    """Return the tables, one below another; comments above them list packages, and how values were computed."""
    tables = [table for table in document.tables if _columns(table)]
    packages = ["{booktabs}", *(["{siunitx}"] if style.siunitx else []), "[T1]{fontenc}"]
    made = [visible(line) for table in tables if table.label for line in (*table.made, table.version) if line]
    made += [line for table in tables for _, line in table.asides()] + left_out(document, style)
    head = [f"% \\usepackage{package}" for package in packages] + [f"% {line}" for line in made]
    parts = ["\n".join((_float if table.label else _bare)(table, style)) for table in tables]
    parts += [f"{{\\sloppy {_breakable(' '.join(document.text))}\\par}}"] if document.text else []
    return "\n".join([*head, "\n\n".join(parts), ""])


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
    said = [f"% {visible(line)}" for line in (table.lead, table.title, *table.sentences()) if line]
    head, rows = _body(table, columns)
    made = [f"% {visible(line)}" for line in table.made]
    return [*said, *_tabular("".join(column.form for column in columns), [*head, *rows]), *made]


def _tabular(form: str, lines: Sequence[str]) -> list[str]:
    return [f"\\begin{{tabular}}{{{form}}}", "\\toprule", *lines, "\\bottomrule", "\\end{tabular}"]


def _layout(table: Table, style: Style) -> Layout:
    """Return the largest and fullest layout that fits; one of two text columns if none fits into one."""
    naming = table.naming
    versions = []
    for columns, broken, without, unsaid in _versions(_columns(table)):
        block = [_typeset(column, style, broken=broken) for column in columns]
        versions.append(Layout([block], without, unsaid))
    layouts = list(versions)
    whole = next(layout.blocks[0] for layout in reversed(versions) if not layout.without)
    if not table.tight and len({column.form for column in whole[naming:]}) <= 1:
        for count in range(2, len(whole) - naming + 1):
            size = math.ceil((len(whole) - naming) / count)
            blocks = [[*whole[:naming], *whole[at : at + size]] for at in range(naming, len(whole), size)]
            layouts.append(Layout(blocks, [], set()))
    for page in [page for columns, page in PAGES.items() if columns >= style.columns]:
        for layout in layouts:
            places = [[column for column in place if column] for place in zip_longest(*layout.blocks)]
            for number, gap in SETTINGS:
                if all(_fits(places, paper, number, gap) for paper in page.papers):
                    return layout._replace(page=page, size=SIZES[number], gap=gap)
    return versions[-1]


def _fits(places: Sequence[Sequence[Typeset]], paper: Paper, size: int, gap: float) -> bool:
    """Return whether columns, some of them one below another, fit on a paper in a size of letters and with gaps."""
    wide = 0.0
    for columns in places:
        numbers = max(max(regular, best * paper.bold) for regular, best, _ in (column.widths for column in columns))
        wide += max(*(column.heading for column in columns), numbers + max(column.widths[2] for column in columns))
    # The room includes the gaps at the sides, except small ones.
    return paper.sizes[size] * wide + 2 * gap * len(places) <= paper.room + (2 * gap if gap < GAP else 0)


def _versions(columns: list[Column]) -> Iterator[tuple[list[Column], bool, list[str], set[str]]]:
    """Yield columns, the fullest set first, whether names are broken, the parts left out and the notes on those."""
    without: list[str] = []
    unsaid: set[str] = set()
    yield columns, False, without, unsaid
    if any(column.behind for column in columns):  # the caption has the same information
        columns = [column._replace(behind=()) for column in columns]
        yield columns, False, without, unsaid
    yield columns, True, without, unsaid
    if any(any(column.marks) for column in columns) and any(any(column.letters) for column in columns):
        unsaid = {column.note for column in columns if column.letters}
        columns, without = [column._replace(letters=()) for column in columns], ["the letters of groups"]
        yield columns, True, without, unsaid
    for spare in sorted((column for column in columns if column.spare), key=lambda column: -column.spare):
        columns = [column for column in columns if column is not spare]
        without, unsaid = [*without, spare.heading], {*unsaid, spare.note}
        yield columns, True, without, unsaid


def _float(table: Table, style: Style) -> list[str]:
    """Return a table under its caption; a table with many rows becomes several floats under one number."""
    layout = _layout(table, style)
    environment = layout.page.environment
    form = "".join(column.form for column in layout.blocks[0])
    setting = ["\\smallskip", layout.size] if layout.size else ["\\smallskip"]
    if layout.gap < GAP:
        form = f"@{{}}{form}@{{}}"
        setting.append(f"\\setlength{{\\tabcolsep}}{{{layout.gap:g}pt}}")
    setting += ["\\sisetup{detect-weight=true, retain-explicit-plus=true}"] if style.siunitx else []
    said = table.caption or (table.lead, table.title, *table.sentences())
    text = _breakable(" ".join(line for line in said if line and line not in layout.unsaid))
    caption = f"\\caption{{{text}}}\\label{{{table.label}}}"
    lines: list[str] = []
    tall = max(column.lines for block in layout.blocks for column in block)
    for number, rows in enumerate(_floats([_body(table, block) for block in layout.blocks], layout.page.most, tall)):
        lines += [""] if number else []
        lines += ["\\clearpage", ""] if number and number % MOST_FLOATS == 0 else []
        lines += [f"\\begin{{{environment}}}", "\\centering"]
        lines += ["\\addtocounter{table}{-1}", "\\caption{Continued.}"] if number else [caption]
        lines += [*setting, *_tabular(form, rows), f"\\end{{{environment}}}"]
    return lines


def _floats(bodies: Sequence[tuple[list[str], list[str]]], most: int, tall: int) -> Iterator[list[str]]:
    """Yield the lines of each float: blocks one below another, with their heads, and as many rows as fit.

    A row with a broken name counts as `tall` lines.
    """
    lines: list[str] = []
    left = most
    for head, (rule, *rows) in bodies:
        heights = [tall if "\\parbox" in row else 1 for row in rows]
        if lines and left < min(sum(heights), most):
            yield lines
            lines, left = [], most
        lines += [*(["\\midrule"] if lines else []), *head, rule]
        for at, (row, height) in enumerate(zip(rows, heights, strict=True)):
            # The title of a group, which follows a rule, must not be alone at the end.
            needed = sum(heights[at : at + 3]) if row == "\\midrule" else height
            if needed > left:
                yield lines
                lines, left = [*head, rule], most
                if row == "\\midrule":
                    continue
            lines.append(row)
            left -= height
    yield lines


def _breakable(text: str) -> str:
    """Return text as TeX in which long words can be broken."""
    return " ".join(_pieces(word) if len(word) > 2 * PIECE[0] else typeset(word) for word in text.split(" "))


def _pieces(name: str) -> str:
    """Return a name as TeX that can be broken between pieces: ends of words, or a few letters."""
    usual, wide = (re.compile(rf"[^-_./:+@ ]{{1,{most}}}[-_./:+@ ]*|[-_./:+@ ]+") for most in PIECE)
    pieces = usual.findall(shown_in_latex(visible(name)))
    parts = (part for piece in pieces for part in ([piece] if _width(piece) <= 10 * LONGEST else wide.findall(piece)))
    return "\\allowbreak{}".join(map(typeset, parts))


def _body(table: Table, columns: Sequence[Typeset]) -> tuple[list[str], list[str]]:
    """Return the lines of a table's head, and those below it, the first of which is a rule."""
    rows = [" & ".join(cells) + r" \\" for cells in zip(*(column.cells for column in columns), strict=True)]
    places = [2 if column.behind else 1 for column in columns]
    head = [" & ".join(column.title for column in columns) + r" \\"]
    if any(column.column.group for column in columns):
        groups, rules, place = [], [], 1
        for title, group in groupby(zip(columns, places, strict=True), lambda pair: pair[0].column.group):
            wide = sum(width for _, width in group)
            groups.append(f"\\multicolumn{{{wide}}}{{c}}{{{typeset(title)}}}")
            rules += [f"\\cmidrule(lr){{{place}-{place + wide - 1}}}"] if title else []
            place += wide
        head = [" & ".join(groups) + r" \\", " ".join(rules), *head]
    lines = ["\\midrule"] if table.sections is None else []
    for section, numbers in table.parts():
        # Letters that LaTeX lacks have no spaces between them, but their text must still break.
        text = typeset(section.text).replace("\\textgreater{}\\textless{}", "\\textgreater{}\\allowbreak{}\\textless{}")
        wide = len(columns) if rows else len(section.values) + 1
        title = f"\\textbf{{{typeset(section.name)}}} {text}".rstrip()
        lines += ["\\midrule", f"\\multicolumn{{{wide}}}{{p{{0.8\\linewidth}}}}{{{title}}} \\\\"]
        values = [typeset(value.replace("-", "−")) for value in section.values]
        lines.append(" & ".join([""] * (wide - len(values)) + values) + r" \\")
        lines += [f"\\quad {rows[at]}" for at in numbers]
    for at, row in enumerate(rows if table.sections is None else ()):
        if title := table.breaks.get(at) or table.above.get(at, ""):
            lines += ["\\midrule"] * (at > 0)
            lines.append(f"\\multicolumn{{{sum(places)}}}{{@{{}}l}}{{\\emph{{{typeset(title)}}}}} \\\\")
        lines.append(row)
    return head, lines


def _typeset(column: Column, style: Style, *, broken: bool = False) -> Typeset:
    texts = column.texts(style)
    numbers = column._replace(behind=()).texts(style) if style.siunitx and not column.text and not column.joint else []
    table_format = _table_format(numbers)
    # Intervals have no room for a plus sign.
    cells = [typeset(text.replace("+", "") if column.joint else text) for text in column.signs(style)]
    if table_format:
        cells = [text if _NUMBER.fullmatch(text) else f"{{{cell}}}" for text, cell in zip(numbers, cells, strict=True)]
    bold, underlined = ("\\bfseries %s", "{\\underline{%s}}") if table_format else ("\\textbf{%s}", "\\underline{%s}")
    for row, cell in enumerate(cells):
        cells[row] = bold % cell if row in column.best else underlined % cell if row in column.second else cell
    wide = max((_width(text) for row, text in enumerate(texts) if row not in column.best), default=0.0)
    best = max((_width(texts[row]) for row in column.best), default=0.0)
    beside, lines = 0.0, 1
    if broken and column.text and wide > 10 * LONGEST:
        lines = math.ceil(1.2 * wide / (10 * LONGEST))
        for row, text in enumerate(texts):
            if _width(text) > 10 * LONGEST:
                cells[row] = f"\\parbox[t]{{{LONGEST}em}}{{\\raggedright\\strut {_pieces(text)}\\strut}}"
        wide = 10.0 * LONGEST
    title = column.tex or typeset(column.heading)
    behind = any(column.marks) or any(column.letters)
    form = f"S[table-format={table_format}]" if table_format else "l" if column.text else "r"
    if behind:
        title, form = f"\\multicolumn{{2}}{{c}}{{{title}}}", f"{form}@{{}}l"
        empty = [""] * len(cells)
        for row, (mark, letters) in enumerate(zip(column.marks or empty, column.letters or empty, strict=True)):
            space = "\\," if mark and letters else ""
            raised = f"\\textsuperscript{{{typeset(letters)}}}" if letters else ""
            cells[row] += f" & {typeset(mark)}{space}{raised}"
            beside = max(beside, 7.7 * len(mark) + 1.7 * bool(mark and letters) + 4.6 * len(letters))
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


def _width(text: str) -> float:
    """Return the approximate width of text in 10-point Computer Modern; Times and Libertine are narrower."""
    return sum(_WIDTHS.get(letter, 7.6 if letter.isupper() else 5.3) for letter in shown_in_latex(text))


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
