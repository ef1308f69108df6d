"""Tables for terminals, split into blocks of columns if they are too wide, with sentences below."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence

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
    columns = table.for_people()
    filled = [_filled(column, style) for column in columns]
    widths = [float(width_of(cells[0]) + len(BETWEEN)) for cells in filled]
    below: list[str] = []
    if style.width is not None and sum(widths) - len(BETWEEN) > style.width:
        below = [f"{what}: {line}." for what, line in table.asides()]
        kept = [at for at, column in enumerate(columns) if not column.aside]
        columns, filled, widths = ([each[at] for at in kept] for each in (columns, filled, widths))  # type: ignore[assignment]
    naming = table.naming
    room = math.inf if style.width is None else style.width - sum(widths[:naming]) + len(BETWEEN)
    texts = [_lines([visible(table.lead)], style)] if table.lead else []
    texts += [f"{visible(table.title)}\n"] if table.title else []
    for block in panels(widths[naming:], room):
        shown = [*range(naming), *(naming + at for at in block)]
        texts.append(_block(table, [filled[at] for at in shown], [columns[at].best for at in shown], style))
    said = [*table.sentences(BEST), *below, *map(visible, (*table.made, table.version))]
    said = list(filter(None, said))
    if said:
        texts.append(_lines(said, style))
    return "\n".join(texts)


def _lines(said: Sequence[str], style: Style) -> str:
    return "".join(f"{part}\n" for line in said for part in wrapped(line, style.width))


def _block(table: Table, columns: Sequence[Sequence[str]], best: Sequence[Container[int]], style: Style) -> str:
    """Return columns of titles and cells as lines: a header, a rule, and the rows with their groups' titles."""
    bold, plain = (BOLD, PLAIN) if style.colour else ("", "")
    header, *rows = zip(*columns, strict=True)
    rule = sum(map(width_of, header)) + len(BETWEEN) * (len(header) - 1)
    lines = [f"{bold}{BETWEEN.join(header).rstrip()}{plain}", "─" * min(rule, style.width or rule)]
    for number, row in enumerate(rows):
        if number in table.breaks:
            lines += [""] * (number > 0)
            lines += [f"{bold}{visible(title)}:{plain}"] if (title := table.breaks[number]) else []
        cells = [f"{bold}{cell}{plain}" if number in rows else cell for cell, rows in zip(row, best, strict=True)]
        lines.append(BETWEEN.join(cells).rstrip())
    return "".join(f"{line}\n" for line in lines)


def _filled(column: Column, style: Style) -> list[str]:
    """Return the title and cells of a column, padded to the same width."""
    cells, title = _texts(column, style), column.heading
    if column.apart and not any(column.marks):
        column = column._replace(marks=())
    if column.best or column.marks or column.letters:
        cells, behind = _marked(column, cells)
        title += " " * behind
    wide = max(map(width_of, [title, *cells]))
    spaces = [" " * (wide - width_of(cell)) for cell in (title, *cells)]
    return [cell + space if column.text else space + cell for cell, space in zip([title, *cells], spaces, strict=True)]


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
    widths = [max(map(width_of, [title, *each])) for title, each in zip(titles, cells, strict=True)]
    label, *others = cells[0], *widths[1:-1]
    room = sum(others) + 2 * len(others)
    own = [width_of(text) - (room if row in table.across else 0) for row, text in enumerate(label)]
    widths[0] = max(width_of(titles[0]), *own, 0)
    heads = [(visible(each.name), *each.values) for each in table.sections or ()]
    wide = [max(map(width_of, column)) for column in zip(*heads, strict=True)]
    for (section, rows), numbers in zip(table.parts(), heads, strict=True):
        head = padded(numbers, wide)
        text = cut(visible(section.text), WIDTH - width_of(head) - 2)
        lines += ["", f"{bold}{head}{plain}  {text}".rstrip()]
        if not table.across.issuperset(rows):
            lines.append(f"    {faint}{padded(titles, widths)}{plain}")
        for row in rows:
            if row in table.across:
                lines.append("    " + padded((label[row], cells[-1][row]), (widths[0] + room, widths[-1])))
            else:
                lines.append("    " + padded([each[row] for each in cells], widths))
    return "".join(f"{line}\n" for line in lines)


def _marked(column: Column, cells: Sequence[str]) -> tuple[list[str], int]:
    """Return cells with a sign before the best, and with marks and letters; also the width of these."""
    wide = max(map(width_of, cells), default=0)
    letters = max(map(len, column.letters), default=0)
    behind = [
        (f" {column.marks[row] or ' '}" if column.marks else "")
        + (f" {column.letters[row]:<{letters}}" if letters else "")
        for row in range(len(cells))
    ]
    signs = [f"{BEST if row in column.best else ' '} " if column.best else "" for row in range(len(cells))]
    texts = [
        sign + " " * (wide - width_of(cell)) + cell + end for sign, cell, end in zip(signs, cells, behind, strict=True)
    ]
    return texts, len(behind[0]) if behind else 0
