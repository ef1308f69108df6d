"""A section of a web page: tables and their notes, without scripts or external resources.

It is ASCII, for any encoding of the page, and its style applies to nothing else on the page.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from html import escape
from itertools import groupby

from treceval_py.errors import visible
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import Column, Document, Table

MOST_OPEN = 40
"""A foldable table with more rows than this is folded."""

MARKS = {"▲": "significantly above", "▼": "significantly below"}
"""What screen readers say for marks."""

# All colours derive from that of the surrounding text, so they suit light and dark pages and notebooks.
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
.treceval-comparison p { margin: 0 0 1em; max-width: 60em; }
.treceval-comparison ul { margin: 0 0 1em; padding: 0 0 0 1.2em; font-size: 0.9em; max-width: 60em; }
.treceval-comparison code { overflow-wrap: anywhere; background: none; color: inherit; }
:root:has(> body > .treceval-comparison:only-child) { color-scheme: light dark; font-family: system-ui, sans-serif; }
"""


def draw(document: Document, style: Style) -> str:
    """Return a section with the tables and its style, for insertion into a page."""
    shown = [table for table in document.tables if table.for_people()]
    captions = {f"{table.heading}." for table in shown if not table.folds}
    classes = " ".join(dict.fromkeys(["treceval-comparison", f"treceval-{document.kind}"]))
    parts = [drawn_table(table, style, captions) for table in shown]
    text = "\n".join([f'<section class="{classes}">\n<style>{STYLE}</style>', *parts, "</section>\n"])
    return text.encode("ascii", "xmlcharrefreplace").decode("ascii")


def drawn_table(table: Table, style: Style, captions: Container[str] = ()) -> str:
    """Return a table with its notes, without those that are captions, for a page that has a style of its own."""
    columns = table.spread()
    heads, *rows = zip(*(_filled(column, style) for column in columns), strict=True)
    lines = [] if table.sections is None else _sections(table, columns, rows)
    for at, row in enumerate(rows if table.sections is None else ()):
        if at in table.breaks:
            lines += ["</tbody>\n<tbody>"] * (at > 0)
            if title := table.breaks[at]:
                head = f'<th scope="rowgroup" colspan="{len(columns)}" class="tc-text">{_shown(title)}</th>'
                lines.append(f"<tr>{head}</tr>")
        lines.append(f"<tr>{''.join(row)}</tr>")
    caption = _shown(table.heading or table.title)
    drawn = [
        *([f"<p>{_shown(table.lead)}</p>"] if table.lead else []),
        f'<div class="tc-wide" role="region" aria-label="{table.name.capitalize()}" tabindex="0">\n<table>',
        *([f"<caption>{caption}</caption>"] if caption and not table.folds else []),
        f"<thead>{_groups(columns)}<tr>{''.join(heads)}</tr></thead>\n<tbody>",
        *lines,
        "</tbody>\n</table>\n</div>",
    ]
    if table.folds:
        opened = "" if table.rows > MOST_OPEN else " open"
        drawn = [f"<details{opened}>\n<summary>{caption}</summary>", *drawn, "</details>"]
    items = [_shown(line) for line in table.sentences() if line not in captions]
    items += [f"<code>{_shown(line)}</code>" for line in table.made]
    items += [_shown(table.version)] if table.version else []
    if items:
        drawn.append("<ul>\n" + "".join(f"<li>{item}</li>\n" for item in items) + "</ul>")
    return "\n".join(drawn)


def _sections(table: Table, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows below the headings of their sections."""
    lines: list[str] = []
    for section, numbers in table.parts():
        lines += ["</tbody>\n<tbody>"] * (section.start > 0)
        wide = len(columns) - len(section.values)
        head = f"<bdi>{_shown(section.name)}</bdi>" + (f" <span>{_shown(section.text)}</span>" if section.text else "")
        values = "".join(f"<td>{escape(value.replace('-', '−'))}</td>" for value in section.values)
        lines.append(f'<tr><th scope="rowgroup" colspan="{wide}" class="tc-text">{head}</th>{values}</tr>')
        for at in numbers:
            cells = rows[at]
            if at in table.across:
                cells = [cells[0].replace("<th", f'<th colspan="{len(columns) - 1}"', 1), cells[-1]]
            lines.append(f"<tr>{''.join(cells)}</tr>")
    return lines


def _groups(columns: Sequence[Column]) -> str:
    """Return the row of common heads."""
    if not any(column.group for column in columns):
        return ""
    heads = ""
    for title, group in groupby(columns, lambda column: column.group):
        wide = len(list(group))
        heads += (
            f'<th scope="colgroup" colspan="{wide}">{_shown(title)}</th>' if title else f'<td colspan="{wide}"></td>'
        )
    return f"<tr>{heads}</tr>"


def _filled(column: Column, style: Style) -> list[str]:
    """Return the title and the cells of a column."""
    kind = "tc-text" if column.text else "tc-mark" if column.sign else "tc-before" if column.apart else ""
    kind = f' class="{kind}"' if kind else ""
    title = escape(column.heading)
    drawn = [f'<th scope="col"{kind}>{title}</th>' if title else "<td></td>"]
    # Equally wide in each row, so that the numbers are aligned.
    wide = max(map(len, column.letters), default=0)
    for row, text in enumerate(column._replace(behind=()).signs(style)):
        cell = _sign(text) if column.sign else f"<bdi>{escape(text)}</bdi>" if column.text and text else escape(text)
        if column.links and column.links[row]:
            cell = f'<a href="{escape(column.links[row])}">{cell}</a>'
        if column.behind and column.behind[row]:
            cell += f" <small>{_shown(column.behind[row])}</small>"
        if column.head:
            drawn.append(f'<th scope="row"{kind}>{cell}</th>')
            continue
        if row in column.best:
            cell = f"<b>{cell}</b>"
        if column.marks:
            cell += f'<span class="tc-sign">{_sign(column.marks[row])}</span>'
        if wide:
            raised = f"<sup>{escape(column.letters[row])}</sup>"
            cell += f'<span class="tc-behind" style="min-width:{0.75 * wide:g}ch">{raised}</span>'
        drawn.append(f"<td{kind}>{cell}</td>")
    return drawn


def _sign(mark: str) -> str:
    return f'<span role="img" aria-label="{MARKS.get(mark, mark)}">{mark}</span>' if mark else ""


def _shown(text: str) -> str:
    return escape(visible(text))
