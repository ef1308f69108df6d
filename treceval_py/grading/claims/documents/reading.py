"""Read any document that was handed in, whatever its format."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from treceval_py.data.ids import LONGEST_SHOWN
from treceval_py.errors import visible
from treceval_py.grading.claims.documents.document import Blocks, Document, Full, Unread
from treceval_py.grading.claims.documents.html import read_html
from treceval_py.grading.claims.documents.objects import parsed, read_json
from treceval_py.grading.claims.documents.text import decoded, read_delimited, read_text

__all__ = ["FORMATS", "Format", "is_document", "read_document"]


class Format(NamedTuple):
    """A format of documents.

    Attributes
    ----------
    called : str
        What people call it.
    endings : str
        A pattern of the endings of its files' names, without dot.
    most : int
        So many bytes of a file are read.
    read : callable
        Reads the bytes of a file into blocks.
    """

    called: str
    endings: str
    most: int
    read: Callable[[bytes, Blocks], None]


_TEXT, _PACKED = 1 << 20, 32 << 20


def _of_text(read: Callable[[str, Blocks], None]) -> Callable[[bytes, Blocks], None]:
    return lambda data, blocks: read(decoded(data), blocks)


def _refused(data: bytes, blocks: Blocks) -> None:  # noqa: ARG001 - as of all readers
    raise Unread("its format cannot be read: hand it in as .pdf, .docx or text")


def _text_or_json(text: str, blocks: Blocks) -> None:
    values = parsed(text)
    if values is None:
        read_text(text, blocks)
    else:
        read_json(values, blocks)


FORMATS = {
    "text": Format("text", "txt|text|log|out|res|eval", _TEXT, _of_text(_text_or_json)),
    "markdown": Format("Markdown", "md|markdown|rmd|qmd|rst", _TEXT, _of_text(read_text)),
    "csv": Format("table", "csv|tsv", _TEXT, _of_text(read_delimited)),
    "json": Format("JSON", "jsonl?|ndjson", _TEXT, _of_text(_text_or_json)),
    "html": Format("HTML", "x?html?", _TEXT, _of_text(read_html)),
    "other": Format("office document", "docm?|dotx?|rtf|od[tsp]|pptx?|xls|pages|numbers|key|djvu|epub", 0, _refused),
}
"""The formats of documents, by kind."""

_CODE = re.compile(
    r"(?i)\.(py|pyi|java|c|h|cc|cpp|hpp|cs|js|mjs|ts|go|rs|r|jl|m|sh|bash|bat|ps1|scala|kts?|pl|rb|php|sql|css|scss|xml|ya?ml"
    r"|toml|ini|cfg|lock|gradle|cmake|mk|svg)$|(^|/)(makefile|dockerfile|requirements\.txt|licen[sc]e(\.txt)?)$"
)
"""Programs and their settings, whose numbers claim nothing."""

_ENDINGS = {kind: re.compile(rf"(?i)\.(?:{each.endings})$") for kind, each in FORMATS.items()}


def is_document(name: str, head: bytes) -> str:
    """Name the kind of document that a file is.

    Parameters
    ----------
    name : str
        Its name.
    head : bytes
        Its beginning.

    Returns
    -------
    str
        One of `FORMATS`; empty for data, programs and their settings.

    Examples
    --------
    >>> is_document("Report.HTM", b""), is_document("values", b"MAP = 0.3"), is_document("a.out", bytes(9))
    ('html', 'text', '')
    """
    if _CODE.search(name) or not head.strip():
        return ""
    kind = next((kind for kind, pattern in _ENDINGS.items() if pattern.search(name)), "")
    if kind == "other":
        return kind
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return kind or "text"
    if b"\0" in head:
        return ""
    if kind in ("", "text") and re.match(rb"(?i)\s*<(!doctype html|html)\b", head):
        return "html"
    return kind or "text"


def read_document(data: bytes, name: str) -> Document:
    """Read a document; nothing in it is executed, and nothing loaded from elsewhere.

    Parameters
    ----------
    data : bytes
        The file, or its beginning.
    name : str
        Its name, by which its format is known where its bytes leave that open.

    Returns
    -------
    Document
        Its lines and tables; with a fault where it was not read, or not to its end. Its kind is empty, and there are
        none, where the file is data or a program.
    """
    kind = is_document(name, data[:1024])
    if not kind:
        return Document("", ())
    file = visible(name if len(name) <= LONGEST_SHOWN else name[:LONGEST_SHOWN] + "…")
    form, blocks, fault = FORMATS[kind], Blocks(), ""
    try:
        form.read(data[: form.most], blocks)
        if len(data) > form.most:
            raise Full(f"only its first {form.most >> 20} MiB were read")
    except Full as full:
        fault = f"{file} was not read to its end: {full}"
    except Unread as why:
        fault = f"{file} was not read because {why}"
    return Document(kind, tuple(blocks.found), fault)
