"""Other output of treceval that looks like results: recognised by its beginning, and refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from treceval_py.errors import InputError

_SAVE = "Save results with treceval -q --format json."

_OTHERS: Mapping[str, tuple[str, str]] = {
    "ranges": (
        "these are ranges over ties or unjudged documents, which cannot be compared",
        "Save the original values, without --ties and --unjudged.",
    ),
    **{
        kind: (f"this is {name}, not results of runs", _SAVE)
        for kind, name in (("comparison", "a comparison"), ("board", "a board"), ("other", "JSON of another command"))
    },
    "lines": ("lines of qid, measure and value, as ir_measures prints them, are not read", _SAVE),
    "csv": ("results in CSV and TSV are not read", _SAVE),
    "table": ("this is a table for people", "Save results with --format json or trec."),
}

# A comparison and a gate begin with their result, followed by an empty line.
_LEAD = rb"(?:(?:[^\n]+\n){1,4}\r?\n)?"
# For terminals: a header above a line drawn with U+2500.
_DRAWN = re.compile(_LEAD + rb"[^\n]*\n(\xe2\x94\x80){3}")
_MARKDOWN = re.compile(_LEAD + rb"\|[^\n]*\|[ \r]*\n\|[ :|-]+\|[ \r]*(\n|$)")
_HTML = re.compile(rb'\s*<section class="treceval-')
_LATEX = re.compile(rb"\s*(%[^\n]*\n\s*)*(% ?\\usepackage\{|\\begin\{(tabular|table|longtable)\})")


_SEPARATED = re.compile(rb'"?query"?([,\t])"?measure"?\1')


def other_kind(head: bytes) -> str:
    """Return the kind of a file that only looks like results, by its beginning; empty for any other file."""
    if _SEPARATED.match(head):
        return "csv"
    return "table" if any(form.match(head) for form in (_DRAWN, _MARKDOWN, _LATEX, _HTML)) else ""


def kind_of_document(document: Mapping[str, Any]) -> str:
    """Return the kind of a JSON document that only looks like results; empty for any other document."""
    kind = document.get("kind", "scores")
    if "treceval_py" not in document or kind == "scores":
        return ""
    return str(kind) if kind in _OTHERS else "other"


def refusal(kind: str, file: str) -> InputError:
    """Return the error for a file of another kind."""
    return InputError(*_OTHERS[kind], file=file)
