"""One strict JSON object, with common first keys for every command; docs/json-schema.json has the schema."""

from __future__ import annotations

import json
from typing import Any

from treceval_py.rendering.envelope import plain, signature_forms
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import Document


def draw(document: Document, style: Style) -> str:
    """Return the data that the document was made from, or the rows of its tables: an object per row."""
    made = document.made(style)
    whole: dict[str, Any] = {"treceval_py": made.version, "kind": document.kind, "judgments": made.judgments}
    whole |= {"profile": made.profile, "complete": made.complete}
    whole |= {"signatures": signature_forms(made.signatures), "runs": made.runs, **(made.payload or {})}
    for table in document.tables if made.payload is None else ():
        if columns := table.for_programs():
            keys = [column.key for column in columns]
            digits = [None if column.exact else style.digits for column in columns]
            cells = ([plain(cell, most) for cell in column.cells] for column, most in zip(columns, digits, strict=True))
            whole[table.name] = [dict(zip(keys, row, strict=True)) for row in zip(*cells, strict=True)]
    whole |= {"notes": made.notes, "errors": made.errors}
    return json.dumps(plain(whole), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
