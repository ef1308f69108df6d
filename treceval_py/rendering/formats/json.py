"""One strict JSON object, with common first keys for every command; docs/json.md has the schema."""

from __future__ import annotations

from treceval_py.rendering.envelope import envelope, json_text
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import Document, Table


def draw(document: Document, style: Style) -> str:
    """Return the data that the document was made from, or the rows of its tables."""
    made = document.made(style)
    if made.payload is None:
        rows = {table.name: rows_of(table, style) for table in document.tables if table.for_programs()}
        made = made._replace(payload=rows)
    return json_text(envelope(document.kind, made))


def rows_of(table: Table, style: Style) -> list[dict[str, object]]:
    """Return each row as an object with a key per column; unknown values are null."""
    columns = table.for_programs()
    return [
        {
            column.key: round(cell, style.digits) + 0.0  # avoids minus zero
            if isinstance(cell, float) and not column.exact and style.digits is not None and cell - cell == 0
            else cell
            for column, cell in zip(columns, cells, strict=True)
        }
        for cells in zip(*(column.cells for column in columns), strict=True)
    ]
