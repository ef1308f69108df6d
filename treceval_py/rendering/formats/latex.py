r"""Tables for a paper, in the style of the LaTeX package booktabs.

They need booktabs, and longtable for more than 40 rows; letters beyond ASCII need ``\usepackage[T1]{fontenc}``, and
UTF-8, which is what LaTeX reads. A character that pdfLaTeX has no letter for, as of Chinese or an emoji, is written
``<U+6A21>``: it shows, it keeps names apart, and the table compiles. A table with a label floats, under a caption; the
others are bare, with what is to be said of them in comments.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from treceval_py.errors import visible
from treceval_py.rendering.escaping import shown_in_latex, typeset
from treceval_py.rendering.tables import Column, Document, Style, Table
from treceval_py.rendering.terminal import panels

__all__ = ["draw"]

MOST_ROWS = 40
"""So many rows fit on a page; a table of more goes over pages."""

ROOM = 345.0
"""Points across a page of LaTeX's article class."""

GAP, TIGHT_GAP = 6.0, 3.0
"""Points on each side of a column, LaTeX's ``\\tabcolsep``."""

SIZES = (("", 1.0), ("\\small", 0.92), ("\\footnotesize", 0.85))
"""Sizes of letters, and how wide they are of those of ten points."""

TIGHT_SIZES = (*SIZES, ("\\scriptsize", 0.8))


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
        Whether something stands behind its cells, in a column of its own.
    width : float
        About how wide it is, in points of letters of ten points.
    """

    column: Column
    title: str
    cells: list[str]
    behind: bool
    width: float


def draw(document: Document, style: Style) -> str:
    """Return the tables, one below the other; above them, in comments, what they need and how they were made."""
    tables = [table for table in document.tables if _columns(table)]
    long = any(table.label and table.rows > MOST_ROWS for table in tables)
    packages = ["{booktabs}", *(["{longtable}"] if long else []), "[T1]{fontenc}"]
    made = [visible(line) for table in tables if table.label for line in (*table.made, table.version) if line]
    made += [line for table in tables for _, line in table.asides()]
    head = [f"% \\usepackage{package}" for package in packages] + [f"% {line}" for line in made]
    parts = ["\n".join(_drawn(table, style)) for table in tables]
    return "\n".join([*head, "\n\n".join(parts), ""])


def _columns(table: Table) -> list[Column]:
    return [column for column in table.for_people() if column.paper and not column.aside]


def _drawn(table: Table, style: Style) -> list[str]:
    if table.most is not None and table.rows > table.most:
        return [f"% {table.rows} {table.name} are too many for a table; formats for programs have them."]
    return _float(table, style) if table.label else _bare(table, style)


def _bare(table: Table, style: Style) -> list[str]:
    columns = [_typeset(column, style) for column in _columns(table)]
    head = [f"% {visible(line)}" for line in (table.title, *table.sentences()) if line]
    made = [f"% {visible(line)}" for line in table.made]
    form = "".join(map(_form, columns))
    return [*head, f"\\begin{{tabular}}{{{form}}}", *_body(table, columns), "\\end{tabular}", *made]


def _float(table: Table, style: Style) -> list[str]:
    columns = [_typeset(column, style) for column in _columns(table)]
    naming = table.naming
    sizes, gap = (TIGHT_SIZES, TIGHT_GAP) if table.tight else (SIZES, GAP)
    left_out: set[str] = set()
    if table.tight and _size(columns, sizes, gap) is None:
        left_out = {each.column.note for each in columns if each.column.spare}
        columns = [each for each in columns if not each.column.spare]
    size, factor = _size(columns, sizes, gap) or sizes[-1]
    blocks = [range(len(columns) - naming)]
    if not table.tight and len(set(map(_form, columns[naming:]))) == 1:
        widths = [factor * each.width + 2 * gap for each in columns]
        blocks = panels(widths[naming:], ROOM - sum(widths[:naming]))
    shown = [[*columns[:naming], *(columns[naming + at] for at in block)] for block in blocks]
    form = "".join(map(_form, shown[max(range(len(shown)), key=lambda at: len(shown[at]))]))
    said = [line for line in table.caption or (table.title, *table.sentences()) if line and line not in left_out]
    caption = f"\\caption{{{typeset(' '.join(said))}}}"
    setting = [size] if size else []
    if table.tight:
        setting.append(f"\\setlength{{\\tabcolsep}}{{{gap:g}pt}}")
        form = f"@{{}}{form}@{{}}"
    bodies = [_body(table, each) for each in shown]
    label = f"\\label{{{table.label}}}"
    if table.rows > MOST_ROWS:
        return _pages(f"{caption}{label}", "".join(setting), form, bodies)
    body = [line for lines in bodies for line in ["\\midrule", *lines[1:-1]]]
    return [
        *("\\begin{table}", "\\centering", caption, label, "\\smallskip"),
        *setting,
        *(f"\\begin{{tabular}}{{{form}}}", "\\toprule", *body[1:], "\\bottomrule"),
        *("\\end{tabular}", "\\end{table}"),
    ]


def _pages(caption: str, size: str, form: str, bodies: Sequence[Sequence[str]]) -> list[str]:
    """Return tables that go over pages, one for each block of columns, under one caption and number."""
    lines = [f"\\begingroup{size}"]
    for place, body in enumerate(bodies):
        rule = body.index("\\midrule")
        head = body[: rule + 1]
        lines += ["\\addtocounter{table}{-1}"] * (place > 0) + [f"\\begin{{longtable}}{{{form}}}"]
        lines += [f"{caption} \\\\"] * (place == 0)
        lines += [*head, "\\endfirsthead", *head, "\\endhead", "\\bottomrule", "\\endfoot", *body[rule + 1 : -1]]
        lines.append("\\end{longtable}")
    return [*lines, "\\endgroup"]


def _size(columns: Sequence[Typeset], sizes: Sequence[tuple[str, float]], gap: float) -> tuple[str, float] | None:
    """Return the largest size in which columns fit on a page."""
    wide = sum(each.width for each in columns)
    return next((size for size in sizes if size[1] * wide + 2 * gap * len(columns) <= ROOM), None)


def _form(each: Typeset) -> str:
    """Return the alignment of a column; what stands behind numbers has a column of its own."""
    return "l" if each.column.text else "r@{}l" if each.behind else "r"


def _body(table: Table, columns: Sequence[Typeset]) -> list[str]:
    """Return the lines of a table between its beginning and its end."""
    rows = list(zip(*(each.cells for each in columns), strict=True))
    places = sum(2 if each.behind else 1 for each in columns)
    lines = ["\\toprule", *_groups(columns), " & ".join(each.title for each in columns) + r" \\"]
    if table.sections is not None:
        return [*lines, *_sections(table, rows), "\\bottomrule"]
    lines.append("\\midrule")
    # Names that no column has room for stand above the rows that they name.
    above = next((column.cells for column in table.for_people() if column.text and not column.paper), [])
    for at, row in enumerate(rows):
        if title := table.breaks.get(at) or (str(above[at]) if above and at in table.breaks else ""):
            lines += ["\\midrule"] * (at > 0)
            lines.append(f"\\multicolumn{{{places}}}{{@{{}}l}}{{\\emph{{{typeset(title)}}}}} \\\\")
        lines.append(" & ".join(row) + r" \\")
    return [*lines, "\\bottomrule"]


def _sections(table: Table, rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows below the headings of their sections."""
    lines: list[str] = []
    for section, numbers in table.parts():
        # Letters that LaTeX lacks have no spaces between them, and their text must break all the same.
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


def _typeset(column: Column, style: Style) -> Typeset:
    texts = column.texts(style)
    # In intervals there is no room for a plus sign.
    shown = [typeset(text.replace("+", "") if column.joint else text) for text in column.signs(style)]
    cells = [f"\\textbf{{{cell}}}" if row in column.best else cell for row, cell in enumerate(shown)]
    title = column.tex or typeset(column.heading)
    marked = [*zip(column.marks or [""] * len(cells), column.letters or [""] * len(cells), strict=True)]
    behind = bool(column.marks or column.letters)
    if behind:
        title = f"\\multicolumn{{2}}{{c}}{{{title}}}"
        cells = [f"{cell} & {_behind(*each)}" for cell, each in zip(cells, marked, strict=True)]
    wide = max(map(_width, texts), default=0.0) * (1.15 if column.best else 1.0)
    wide += max((9 * len(mark) + 4.5 * len(letters) for mark, letters in marked), default=0.0)
    return Typeset(column, title, cells, behind, max(_width(column.heading), wide))


def _behind(mark: str, letters: str) -> str:
    raised = f"\\textsuperscript{{{typeset(letters)}}}" if letters else ""
    return typeset(mark) + ("\\," if mark and raised else "") + raised


def _width(text: str) -> float:
    """Return about how wide text is in ten points of Computer Modern."""
    shown = shown_in_latex(text)
    return sum(2.8 if each in ".,:;|[]()/il'" else 7.7 if each in "+-<>" or each.isupper() else 5.0 for each in shown)
