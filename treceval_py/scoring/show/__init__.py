"""Results as text, in several formats."""

from __future__ import annotations

from collections.abc import Callable

from treceval_py.scoring.results import Results
from treceval_py.scoring.show.options import Options
from treceval_py.scoring.show.tabular import comma_separated, json_text, tab_separated
from treceval_py.scoring.show.text import assignments, latex, markdown, table
from treceval_py.scoring.show.trec import trec

__all__ = ["FORMATS", "Options"]

FORMATS: dict[str, Callable[[list[Results], Options], str]] = {
    "trec": trec,
    "table": table,
    "csv": comma_separated,
    "tsv": tab_separated,
    "json": json_text,
    "markdown": markdown,
    "latex": latex,
    "coursework": assignments,
}
"""The formats by name; each turns the results of runs into text."""
