"""A comparison of runs as text: for a terminal, for papers and web pages, and for programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from treceval_py.comparing.show.latex import latex
from treceval_py.comparing.show.layout import Layout, sentences
from treceval_py.comparing.show.markdown import markdown
from treceval_py.comparing.show.tabular import comma_separated, json_text, records, tab_separated
from treceval_py.comparing.show.terminal import table
from treceval_py.comparing.show.web import html

if TYPE_CHECKING:
    from treceval_py.comparing.comparison import Comparison

__all__ = ["COMPARISON_FORMATS", "Layout", "records", "sentences"]

COMPARISON_FORMATS: dict[str, Callable[[Comparison, Layout], str]] = {
    "table": table,
    "csv": comma_separated,
    "tsv": tab_separated,
    "json": json_text,
    "markdown": markdown,
    "latex": latex,
    "html": html,
}
"""The formats by name; each turns a comparison into text."""
