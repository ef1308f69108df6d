"""GitHub-flavoured Markdown: best values bold, letters raised, sentences in a list."""

from __future__ import annotations

from treceval_py.rendering.escaping import markdown, markdown_code, markdown_line
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import Column, Document, Table


def draw(document: Document, style: Style) -> str:
    """Return the tables, one below another."""
    shown = [table for table in document.tables if table.for_people()]
    return "\n".join((_table if table.sections is None else _sections)(table, style) for table in shown)


def _table(table: Table, style: Style) -> str:
    columns = table.spread()
    rows = list(zip(*(_cells(column, style) for column in columns), strict=True))
    lines = [[markdown(column.heading) for column in columns], [":--" if column.text else "--:" for column in columns]]
    for at, row in enumerate(rows):
        if table.breaks.get(at):
            lines.append([f"**{markdown(table.breaks[at])}**", *[""] * (len(columns) - 1)])
        lines.append(list(row))
    said = [*map(markdown_line, table.sentences()), *map(markdown_code, table.made)]
    said += [markdown_line(table.version)] if table.version else []
    sign = "* " if len(said) > 1 or table.made else ""
    parts = [
        f"{markdown_line(table.lead)}\n" if table.lead else "",
        f"{markdown_line(table.title)}\n" if table.title else "",
        "".join("| " + " | ".join(cells) + " |\n" for cells in lines),
        "".join(f"{sign}{line}\n" for line in said),
    ]
    return "\n".join(filter(None, parts))


def _sections(table: Table, style: Style) -> str:
    """Return one table per section, below its heading."""
    columns = table.for_people()
    rows = list(zip(*(_cells(column, style) for column in columns), strict=True))
    head = [[markdown(column.heading) for column in columns], [":--" if column.text else "--:" for column in columns]]
    parts = [markdown_line(line) for line in (table.title, *table.sentences())]
    for section, numbers in table.parts():
        first, *others = section.values
        values = " ".join([first, *(f"({value})" for value in others)])
        parts.append(f"**{markdown(section.name)}** {values} {markdown(section.text)}".rstrip())
        lines = [*head, *(rows[at] for at in numbers)]
        parts += ["\n".join("| " + " | ".join(cells) + " |" for cells in lines)] if numbers else []
    return "\n\n".join(parts) + "\n"


def _cells(column: Column, style: Style) -> list[str]:
    cells = [
        f"**{markdown(text)}**" if row in column.best else markdown(text)
        for row, text in enumerate(column.texts(style))
    ]
    if column.marks:
        cells = [f"{cell} {mark}" if mark else cell for cell, mark in zip(cells, column.marks, strict=True)]
    if column.letters:
        raised = [f" <sup>{markdown(each)}</sup>" if each else "" for each in column.letters]
        cells = [cell + letters for cell, letters in zip(cells, raised, strict=True)]
    return cells
