"""Tables for terminals, split into blocks of columns if they are too wide, with sentences below."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from treceval_py.errors import visible
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import Column, Document, Table
from treceval_py.rendering.terminal import BETWEEN, BOLD, FAINT, PLAIN, cut, padded, panels, width_of, wrapped

WIDTH = 100
"""Terminal columns that the heading of a section may fill."""

BEST = "●"
"""The sign of the best value, if there is no bold type."""


def draw(document: Document, style: Style) -> str:
    """Return the tables, one below another."""
    shown = [table for table in document.tables if table.for_people()]
    return "\n".join((_table if table.sections is None else _sections)(table, style) for table in shown)


def _table(table: Table, style: Style) -> str:
    columns, naming, width = table.for_people(), table.naming, style.width
    drawn = [(column, _filled(column, style)) for column in columns]
    widths = [float(width_of(cells[0]) + len(BETWEEN)) for _, cells in drawn]
    below: list[str] = []
    if width is not None and sum(widths) - len(BETWEEN) > width:
        below = [f"{name}: {line}." for name, line in table.asides()]
        drawn = [(column, cells) for column, cells in drawn if not column.aside]
        widths = [wide for column, wide in zip(columns, widths, strict=True) if not column.aside]
    room = math.inf if width is None else width - sum(widths[:naming]) + len(BETWEEN)
    if drawn[-1][0].text and len(drawn) > naming:
        widths[-1] = min(widths[-1], room / 2)  # its texts are wrapped
    texts = [_lines([visible(table.lead)], style)] if table.lead else []
    texts += [f"{visible(table.title)}\n"] if table.title else []
    for block in panels(widths[naming:], room):
        texts.append(_block(table, [*drawn[:naming], *(drawn[naming + at] for at in block)], style))
    said = [*table.sentences(BEST), *below, *map(visible, (*table.made, table.version))]
    texts += [_lines(filter(None, said), style)] if any(said) else []
    return "\n".join(texts)


def _lines(said: Iterable[str], style: Style) -> str:
    return "".join(f"{part}\n" for line in said for part in wrapped(line, style.width))


def _block(table: Table, drawn: Sequence[tuple[Column, Sequence[str]]], style: Style) -> str:
    """Return columns of titles and cells as lines: a header, a rule, and the rows with their groups' titles."""
    bold, plain = (BOLD, PLAIN) if style.colour else ("", "")
    header, *rows = zip(*(cells for _, cells in drawn), strict=True)
    rule = sum(map(width_of, header)) + len(BETWEEN) * (len(header) - 1)
    lines = [f"{bold}{BETWEEN.join(header).rstrip()}{plain}", "─" * min(rule, style.width or rule)]
    for number, row in enumerate(rows):
        if number in table.breaks:
            lines += [""] * (number > 0)
            lines += [f"{bold}{visible(title)}:{plain}"] if (title := table.breaks[number]) else []
        best = [number in column.best for column, _ in drawn]
        cells = [f"{bold}{cell}{plain}" if first else cell for cell, first in zip(row, best, strict=True)]
        line = BETWEEN.join(cells).rstrip()
        lines += wrapped(line, style.width) if drawn[-1][0].text else [line]
    return "".join(f"{line}\n" for line in lines)


def _filled(column: Column, style: Style) -> list[str]:
    """Return the title and cells of a column, padded to the same width; with signs, marks and letters."""
    cells, title = _texts(column, style), column.heading
    marks = column.marks if any(column.marks) or not column.apart else ()
    if column.best or marks or column.letters:
        wide = max(map(width_of, cells), default=0)
        letters = max(map(len, column.letters), default=0)
        for row, cell in enumerate(cells):
            sign = f"{BEST if row in column.best else ' '} " if column.best else ""
            behind = f" {marks[row] or ' '}" if marks else ""
            behind += f" {column.letters[row]:<{letters}}" if letters else ""
            cells[row] = sign + " " * (wide - width_of(cell)) + cell + behind
            title += " " * len(behind) if row == 0 else ""
    cells = [title, *cells]
    wide = max(map(width_of, cells))
    spaces = [" " * (wide - width_of(cell)) for cell in cells]
    return [cell + space if column.text else space + cell for cell, space in zip(cells, spaces, strict=True)]


def _texts(column: Column, style: Style) -> list[str]:
    """Return cells as text; the two numbers of a cell are aligned separately."""
    cells, joint = column.texts(style), column.joint
    if not joint:
        return cells
    pairs = [cell.strip("[]").split(joint) for cell in cells]
    wide = max((len(end) for pair in pairs if len(pair) == 2 for end in pair), default=0)
    joined = [joint.join(end.rjust(wide) for end in pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return [f"[{text}]" if cell[:1] == "[" else text for text, cell in zip(joined, cells, strict=True)]


def _sections(table: Table, style: Style) -> str:
    """Return each section with its heading and its rows, indented and without rules."""
    bold, faint, plain = (BOLD, FAINT, PLAIN) if style.colour else ("", "", "")
    lines = [f"{bold}{visible(table.title)}{plain}", *table.sentences()]
    columns = table.for_people()
    cells = [_texts(column, style) for column in columns]
    titles = [column.heading for column in columns]
    widths = [max(map(width_of, [title, *texts])) for title, texts in zip(titles, cells, strict=True)]
    room = sum(widths[1:-1]) + 2 * len(widths[1:-1])  # of a row's name that goes across
    own = [width_of(text) - (room if row in table.across else 0) for row, text in enumerate(cells[0])]
    widths[0] = max(width_of(titles[0]), *own, 0)
    heads = [(visible(section.name), *section.values) for section in table.sections or ()]
    wide = [max(map(width_of, column)) for column in zip(*heads, strict=True)]
    for (section, rows), numbers in zip(table.parts(), heads, strict=True):
        head = padded(numbers, wide)
        text = cut(visible(section.text), WIDTH - width_of(head) - 2)
        lines += ["", f"{bold}{head}{plain}  {text}".rstrip()]
        if not table.across.issuperset(rows):
            lines.append(f"    {faint}{padded(titles, widths)}{plain}")
        for row in rows:
            if row in table.across:
                lines.append("    " + padded((cells[0][row], cells[-1][row]), (widths[0] + room, widths[-1])))
            else:
                lines.append("    " + padded([texts[row] for texts in cells], widths))
    return "".join(f"{line}\n" for line in lines)
