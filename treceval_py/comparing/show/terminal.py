"""A comparison as tables for a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from treceval_py.comparing.show.layout import (
    Cell,
    Column,
    Layout,
    Row,
    columns_of,
    heading,
    panels,
    rows_of,
    sentences,
    starts_of,
)
from treceval_py.errors import visible
from treceval_py.rendering.terminal import BETWEEN, drawn, width_of, wrapped

if TYPE_CHECKING:
    from treceval_py.comparing.comparison import Comparison

__all__ = ["table"]

BEST = "●"


def table(comparison: Comparison, layout: Layout) -> str:
    """Return the means, the differences and what they mean as text for a terminal.

    The highest mean of a measure has the sign ● before it, and is bold where styles may be used. Behind a mean come
    the mark of a significant difference from the baseline and the letters of its groups. Where the terminal has a
    width, tables are cut into blocks of columns, all beginning with names, and sentences are wrapped.
    """
    lines = [f"{BEST}: highest mean.", *sentences(comparison)]
    blocks = [
        *_means(comparison, layout),
        f"{heading(comparison)}\n",
        *_differences(comparison, layout),
        "".join(f"{part}\n" for line in lines for part in wrapped(line, layout.width)),
    ]
    return "\n".join(blocks)


def _differences(comparison: Comparison, layout: Layout) -> list[str]:
    """Return the table of differences, in blocks of columns as wide as the terminal."""
    columns = columns_of(comparison, layout)
    marks = next(column.cells for column in columns if column.key == "mark")
    shown = [_drawn(column, marks) for column in columns if column.key != "mark"]
    names = sum(column.text for column in columns)
    widths = [float(max(map(width_of, [title, *cells])) + len(BETWEEN)) for title, cells in shown]
    blocks = panels(widths[names:], _room(layout, sum(widths[:names]) - len(BETWEEN)))
    texts = []
    for block in blocks:
        parts = [*shown[:names], *(shown[names + at] for at in block)]
        rows = list(zip(*(cells for _, cells in parts), strict=True))
        titles = [title for title, _ in parts]
        texts.append(drawn(titles, rows, names, breaks=starts_of(comparison)[1:], colour=layout.colour))
    return texts


def _room(layout: Layout, used: float) -> float:
    """Return how many columns of the terminal are left beside names."""
    return math.inf if layout.width is None else layout.width - used


def _drawn(column: Column, marks: Sequence[str]) -> tuple[str, list[str]]:
    """Return the title and the cells of a column, a mark behind the difference, brackets below each other."""
    if column.key == "difference" and any(marks):
        return f"{column.title}  ", [f"{cell} {mark or ' '}" for cell, mark in zip(column.cells, marks, strict=True)]
    if column.key not in {"interval", "effect_interval"}:
        return column.title, list(column.cells)
    pairs = [cell.strip("[]").split(", ") for cell in column.cells]
    wide = max(len(bound) for pair in pairs for bound in pair)
    return column.title, [
        f"[{', '.join(bound.rjust(wide) for bound in pair)}]" if len(pair) == 2 else pair[0] for pair in pairs
    ]


def _means(comparison: Comparison, layout: Layout) -> list[str]:
    """Return the table of means, in blocks of measures as wide as the terminal."""
    rows = rows_of(comparison, layout)
    names = [f"{row.name} (baseline)" if row.baseline else row.name for row in rows]
    columns = [_cells(rows, at, visible(each.measure)) for at, each in enumerate(comparison.measures)]
    widths = [float(max(map(width_of, column)) + len(BETWEEN)) for column in columns]
    blocks = []
    for block in panels(widths, _room(layout, max(map(width_of, names)))):
        shown = [columns[at] for at in block]
        cells = [[name, *(column[row + 1] for column in shown)] for row, name in enumerate(names)]
        bold = {
            (row, place) for row, each in enumerate(rows) for place, at in enumerate(block, 1) if each.cells[at].best
        }
        blocks.append(drawn(["run", *(column[0] for column in shown)], cells, 1, colour=layout.colour, bold=bold))
    return blocks


def _cells(rows: Sequence[Row], at: int, title: str) -> list[str]:
    """Return the title and the cells of a measure; numbers stand below each other, and the title above them."""
    cells: list[Cell] = [row.cells[at] for row in rows]
    marked = any(cell.mark for row in rows for cell in row.cells)
    letters = max(len(cell.letters) for cell in cells)
    wide = max(len(cell.text) for cell in cells)
    behind = [
        (f" {cell.mark or ' '}" if marked else "") + (f" {cell.letters:<{letters}}" if letters else "")
        for cell in cells
    ]
    return [
        title + " " * len(behind[0]),
        *(f"{BEST if cell.best else ' '} {cell.text:>{wide}}{end}" for cell, end in zip(cells, behind, strict=True)),
    ]
