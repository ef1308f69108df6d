"""Tab-separated values, quoted as in CSV."""

from __future__ import annotations

from treceval_py.rendering.formats.csv import separated
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import Document


def draw(document: Document, style: Style) -> str:
    """Return the tables, one below another."""
    return separated(document, style, "\t")
