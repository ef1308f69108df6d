"""A comparison as GitHub-flavoured Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from treceval_py.comparing.show.layout import (
    Cell,
    Layout,
    analyses,
    columns_of,
    heading,
    methods,
    notes,
    rows_of,
    signatures,
)
from treceval_py.errors import visible
from treceval_py.scoring.show.text import escaped_markdown

if TYPE_CHECKING:
    from treceval_py.comparing.comparison import Comparison

__all__ = ["markdown"]


def markdown(comparison: Comparison, layout: Layout) -> str:
    """Return the means, the differences and what they mean as GitHub-flavoured Markdown.

    The highest mean of a measure is bold; behind a mean come the mark of a significant difference from the baseline
    and the letters of its groups, raised.
    """
    measures = [escaped_markdown(visible(compared.measure)) for compared in comparison.measures]
    rows = [
        [escaped_markdown(row.name) + (" (baseline)" if row.baseline else ""), *map(_mean, row.cells)]
        for row in rows_of(comparison, layout)
    ]
    columns = columns_of(comparison, layout)
    cells = zip(*(column.cells for column in columns), strict=True)
    differences = _table(
        [escaped_markdown(column.title) for column in columns],
        [[escaped_markdown(cell) for cell in row] for row in cells],
        sum(column.text for column in columns),
    )
    said = ["Bold: highest mean.", *methods(comparison).values(), *analyses(comparison), *notes(comparison)]
    made = [escaped_markdown(line) if "`" in line else f"`{line}`" for line in signatures(comparison)]
    lines = [*map(escaped_markdown, said), *made, escaped_markdown(f"treceval_py {visible(comparison.version)}")]
    return "\n".join(
        [
            _table(["run", *measures], rows, 1),
            f"{escaped_markdown(heading(comparison))}:\n",
            differences,
            "".join(f"* {line}\n" for line in lines),
        ]
    )


def _mean(cell: Cell) -> str:
    text = f"**{cell.text}**" if cell.best else cell.text
    return " ".join([text, *([cell.mark] if cell.mark else [])]) + (
        f" <sup>{cell.letters}</sup>" if cell.letters else ""
    )


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> str:
    lines = [header, [":--"] * left + ["--:"] * (len(header) - left), *rows]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)
