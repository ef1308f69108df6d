"""A comparison as a part of a web page: tables and what they mean, without scripts, and nothing from outside."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from treceval_py.comparing.show.layout import (
    ABOVE,
    Cell,
    Column,
    Layout,
    Row,
    analyses,
    columns_of,
    heading,
    methods,
    notes,
    rows_of,
    signatures,
    starts_of,
)
from treceval_py.errors import visible

if TYPE_CHECKING:
    from treceval_py.comparing.comparison import Comparison

__all__ = ["STYLE", "differences_html", "html"]

MOST_OPEN = 40
"""More differences than these are folded."""

# All colours are made from that of the text around it, so it suits light and dark pages, and notebooks of any theme.
STYLE = """
.treceval-comparison { line-height: 1.45; max-width: 100%; }
.treceval-comparison .tc-wide { overflow-x: auto; margin: 0 0 1em; }
.treceval-comparison table { border-collapse: collapse; font-variant-numeric: tabular-nums lining-nums;
  border-top: 2px solid currentcolor; border-bottom: 2px solid currentcolor; margin: 0; font-size: 0.95em; }
.treceval-comparison caption, .treceval-comparison summary { text-align: left; font-weight: 600; padding: 0.4em 0;
  color: inherit; white-space: nowrap; }
.treceval-comparison summary { cursor: pointer; }
.treceval-comparison th, .treceval-comparison td { padding: 0.2em 0.8em; text-align: right; white-space: nowrap;
  border: 0; color: inherit; background: none; vertical-align: baseline; }
.treceval-comparison th { font-weight: 600; }
.treceval-comparison tbody th { font-weight: 400; }
.treceval-comparison .tc-text { text-align: left; }
.treceval-comparison td.tc-mark { padding: 0.2em 0; }
.treceval-comparison .tc-before { padding-right: 0.3em; }
.treceval-comparison thead tr { border-bottom: 1px solid currentcolor; }
.treceval-comparison tbody + tbody tr:first-child > * { border-top: 1px solid rgb(128 128 128 / 0.5); }
.treceval-comparison tbody tr:hover > * { background: rgb(128 128 128 / 0.15); }
.treceval-comparison .tc-behind { display: inline-block; text-align: left; }
.treceval-comparison .tc-sign { display: inline-block; width: 1.4em; text-align: center; font-size: 0.8em; }
.treceval-comparison sup { font-size: 0.75em; line-height: 0; vertical-align: super; }
.treceval-comparison small { opacity: 0.75; }
.treceval-comparison ul { margin: 0 0 1em; padding: 0 0 0 1.2em; font-size: 0.9em; max-width: 60em; }
.treceval-comparison code { overflow-wrap: anywhere; background: none; color: inherit; }
:root:has(> body > .treceval-comparison:only-child) { color-scheme: light dark; font-family: system-ui, sans-serif; }
"""


def html(comparison: Comparison, layout: Layout) -> str:
    """Return a section with the means, the differences and what they mean, to be put into a page.

    It is ASCII, whatever the encoding of the page, and has its own style, which touches nothing else of the page.
    """
    return _section(comparison, layout, _means(comparison, layout))


def differences_html(comparison: Comparison, layout: Layout) -> str:
    """Return the same section without the means, for a page that has them in a table of its own."""
    return _section(comparison, layout)


def _section(comparison: Comparison, layout: Layout, *before: str) -> str:
    count = sum(len(compared.differences) for compared in comparison.measures)
    parts = [
        f'<section class="treceval-comparison">\n<style>{STYLE}</style>',
        *before,
        f"<details{'' if count > MOST_OPEN else ' open'}>\n<summary>{escape(heading(comparison))}</summary>",
        _differences(comparison, layout),
        "</details>",
        _sentences(comparison, means=bool(before)),
        "</section>\n",
    ]
    return "\n".join(parts).encode("ascii", "xmlcharrefreplace").decode("ascii")


def _means(comparison: Comparison, layout: Layout) -> str:
    rows = rows_of(comparison, layout)
    titles = [visible(compared.measure) for compared in comparison.measures]
    marked = any(cell.mark for row in rows for cell in row.cells)
    letters = [max(len(row.cells[at].letters) for row in rows) for at in range(len(titles))]
    head = "".join(f'<th scope="col">{escape(title)}</th>' for title in titles)
    lines = [_row(row, letters, marked=marked) for row in rows]
    return "\n".join(
        [
            '<div class="tc-wide" role="region" aria-label="Means" tabindex="0">\n<table>',
            f"<caption>{escape(_title(comparison))}</caption>",
            f'<thead><tr><th scope="col" class="tc-text">run</th>{head}</tr></thead>',
            "<tbody>",
            *lines,
            "</tbody>\n</table>\n</div>",
        ]
    )


def _title(comparison: Comparison) -> str:
    return methods(comparison)["queries"].rstrip(".")


def _row(row: Row, letters: Sequence[int], *, marked: bool) -> str:
    baseline = " <small>(baseline)</small>" if row.baseline else ""
    cells = "".join(_mean(cell, wide, marked=marked) for cell, wide in zip(row.cells, letters, strict=True))
    return f'<tr><th scope="row" class="tc-text"><bdi>{escape(row.name)}</bdi>{baseline}</th>{cells}</tr>'


def _mean(cell: Cell, letters: int, *, marked: bool) -> str:
    text = escape(cell.text.replace("-", "−"))
    text = f"<b>{text}</b>" if cell.best else text
    sign = f'<span class="tc-sign">{_sign(cell.mark)}</span>' if marked else ""
    # As wide in each row, so that the numbers stand below each other.
    raised = (
        f'<span class="tc-behind" style="min-width:{0.75 * letters:g}ch"><sup>{escape(cell.letters)}</sup></span>'
        if letters
        else ""
    )
    return f"<td>{text}{sign}{raised}</td>"


def _sign(mark: str) -> str:
    if not mark:
        return ""
    return f'<span role="img" aria-label="significantly {"above" if mark == ABOVE else "below"}">{mark}</span>'


def _differences(comparison: Comparison, layout: Layout) -> str:
    columns = columns_of(comparison, layout)
    head = "".join(
        f'<th scope="col"{_class(column)}>{escape(column.title)}</th>' if column.title else "<td></td>"
        for column in columns
    )
    starts = set(starts_of(comparison)[1:])
    lines = []
    for row in range(len(columns[0].cells)):
        lines += ["</tbody>\n<tbody>"] * (row in starts)
        lines.append(f"<tr>{''.join(_cell(column, row) for column in columns)}</tr>")
    return "\n".join(
        [
            '<div class="tc-wide" role="region" aria-label="Differences" tabindex="0">\n<table>',
            f"<thead><tr>{head}</tr></thead>",
            "<tbody>",
            *lines,
            "</tbody>\n</table>\n</div>",
        ]
    )


def _class(column: Column) -> str:
    name = "tc-text" if column.text else {"mark": "tc-mark", "difference": "tc-before"}.get(column.key)
    return f' class="{name}"' if name else ""


def _cell(column: Column, row: int) -> str:
    text = column.cells[row]
    if column.text:
        scope = ' scope="row"' if column.key == "run" else ""
        tag = "th" if scope else "td"
        return f"<{tag}{scope}{_class(column)}><bdi>{escape(text)}</bdi></{tag}>"
    shown = _sign(text) if column.key == "mark" else escape(text.replace("-", "−"))
    return f"<td{_class(column)}>{shown}</td>"


def _sentences(comparison: Comparison, *, means: bool) -> str:
    # What is computed over which queries is said in the caption already.
    bold = ["Bold: highest mean."] if means else []
    said = [*bold, *list(methods(comparison).values())[1:], *analyses(comparison), *notes(comparison)]
    items = [escape(line) for line in said]
    items += [f"<code>{escape(line)}</code>" for line in signatures(comparison)]
    items.append(escape(f"treceval_py {visible(comparison.version)}"))
    return "<ul>\n" + "".join(f"<li>{item}</li>\n" for item in items) + "</ul>"
