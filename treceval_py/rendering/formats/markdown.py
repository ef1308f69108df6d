"""GitHub-flavoured Markdown: best values bold, letters raised, sentences in a list."""

from __future__ import annotations

from collections.abc import Iterable

from treceval_py.rendering.escaping import markdown, markdown_code, markdown_line
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import Column, Document, Table


def draw(document: Document, style: Style) -> str:
    """Return the tables, one below another."""
    return "\n".join(_table(table, style) for table in document.tables if table.for_people())


def _table(table: Table, style: Style) -> str:
    columns = table.spread() if table.sections is None else table.for_people()
    rows = [_line(cells) for cells in zip(*(_cells(column, style) for column in columns), strict=True)]
    head = [_line(markdown(column.heading) for column in columns)]
    head += [_line(":--" if column.text else "--:" for column in columns)]
    if table.sections is not None:
        return _sections(table, head, rows)
    for at in range(len(rows)):
        if title := table.breaks.get(at):
            rows[at] = _line([f"**{markdown(title)}**", *[""] * (len(columns) - 1)]) + rows[at]
    said = [*map(markdown_line, table.sentences()), *map(markdown_code, table.made)]
    said += [markdown_line(table.version)] if table.version else []
    sign = "* " if len(said) > 1 or table.made else ""
    parts = [f"{markdown_line(line)}\n" for line in (table.lead, table.title) if line]
    parts.append("".join([*head, *rows]))
    parts += ["".join(f"{sign}{line}\n" for line in said)] if said else []
    return "\n".join(parts)


def _sections(table: Table, head: list[str], rows: list[str]) -> str:
    """Return one table per section, below its heading."""
    parts = [f"{markdown_line(line)}\n" for line in (table.title, *table.sentences())]
    for section, numbers in table.parts():
        first, *others = section.values
        values = " ".join([first, *(f"({value})" for value in others)])
        parts.append(f"**{markdown(section.name)}** {values} {markdown(section.text)}".rstrip() + "\n")
        parts += ["".join([*head, *(rows[at] for at in numbers)])] if numbers else []
    return "\n".join(parts)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _cells(column: Column, style: Style) -> list[str]:
    cells = [markdown(text) for text in column.texts(style)]
    for row, cell in enumerate(cells):
        mark = f" {column.marks[row]}" if column.marks and column.marks[row] else ""
        letters = f" <sup>{markdown(column.letters[row])}</sup>" if column.letters and column.letters[row] else ""
        cells[row] = (f"**{cell}**" if row in column.best else cell) + mark + letters
    return cells
