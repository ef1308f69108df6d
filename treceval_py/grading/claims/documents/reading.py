"""Reads submitted documents of any format."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from treceval_py.data.ids import LONGEST_SHOWN
from treceval_py.errors import brief
from treceval_py.grading.claims.documents.document import Blocks, Document, Full, Unread
from treceval_py.grading.claims.documents.markup import read_docx, read_html, read_xlsx
from treceval_py.grading.claims.documents.objects import read_notebook, read_text_or_json
from treceval_py.grading.claims.documents.pdf import read_pdf
from treceval_py.grading.claims.documents.text import decoded, read_delimited, read_latex, read_text


class Format(NamedTuple):
    """A format of documents.

    Attributes
    ----------
    endings : str
        Pattern of the endings of file names, without the dot.
    most : int
        Most bytes of a file that are read.
    read : callable or None
        Reads a text into blocks, or the bytes of a file if `most` is `_LARGE`. None: this cannot be read.
    """

    endings: str
    most: int
    read: Callable[[Any, Blocks], None] | None = None


_TEXT, _PAGE, _LARGE = 1 << 20, 4 << 20, 32 << 20
"""Pages and notebooks may contain pictures; the beginning of a large file is useless without the rest."""

FORMATS = {
    "text": Format("txt|text|log|out|res|eval|ya?ml|toml|ini|cfg", _TEXT, read_text_or_json),
    "markdown": Format("md|markdown|rmd|qmd|rst", _TEXT, read_text),
    "csv": Format("csv|tsv", _TEXT, read_delimited),
    "json": Format("jsonl?|ndjson", _TEXT, read_text_or_json),
    "html": Format("x?html?", _PAGE, read_html),
    "notebook": Format("ipynb", _LARGE, read_notebook),
    "latex": Format("tex|ltx", _TEXT, read_latex),
    "docx": Format("docx", _LARGE, read_docx),
    "xlsx": Format("xlsx", _LARGE, read_xlsx),
    "pdf": Format("pdf", _LARGE, read_pdf),
    "other": Format("doc|docm|dotx|rtf|od[tsp]|pptx?|xlsm?|pages|numbers|key|djvu|epub", _LARGE),
}
"""The formats of documents, by kind."""

_CODE = re.compile(
    r"(?i)\.(py|pyi|java|c|h|cc|cpp|hpp|cs|js|mjs|ts|go|rs|r|jl|m|sh|bash|bat|ps1|scala|kts?|pl|rb|php|sql|css|scss|xml"
    r"|lock|gradle|cmake|mk|svg|aux|toc|lo[ft]|bib|bbl|blg|fls|sty|cls|bst)$"
    r"|(^|/)(makefile|dockerfile|requirements\.txt|licen[sc]e(\.txt)?)$"
)
"""Programs and their companions, and files that LaTeX writes for itself: their numbers are not claims."""

_ENDINGS = {kind: re.compile(rf"(?i)\.(?:{form.endings})$") for kind, form in FORMATS.items()}


def is_document(name: str, head: bytes) -> str:
    """Return the kind of document of a file.

    Parameters
    ----------
    name : str
        Its name.
    head : bytes
        Its beginning.

    Returns
    -------
    str
        One of `FORMATS`; empty for data and programs.

    Examples
    --------
    >>> is_document("Report.HTM", b"<p>"), is_document("values", b"MAP = 0.3"), is_document("a.out", bytes(9))
    ('html', 'text', '')
    """
    if _CODE.search(name) or not head.strip() or head.startswith(b"This is pdfTeX"):
        return ""
    kind = next((kind for kind, pattern in _ENDINGS.items() if pattern.search(name)), "")
    if b"%PDF-" in head[:1024]:
        return "pdf"
    if kind in ("docx", "xlsx", "pdf", "other") or head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return kind or "text"
    if b"\0" in head:
        return ""
    if kind in ("", "text") and re.match(rb"(?i)\s*<(!doctype html|html)\b", head):
        return "html"
    return kind or "text"


def read_document(data: bytes, name: str) -> Document:
    """Read a document; nothing in it is executed, and nothing is loaded from elsewhere.

    Parameters
    ----------
    data : bytes
        The file, or its beginning.
    name : str
        Its name, which decides the format if its bytes do not.

    Returns
    -------
    Document
        Its lines and tables; with a fault if it was not read, or not to its end. For data and programs it is empty.
    """
    kind = is_document(name, data[:1024])
    if not kind:
        return Document(())
    form, blocks, fault = FORMATS[kind], Blocks(), "not read because "
    try:
        _read(data, form, blocks)
        return Document(tuple(blocks.taken))
    except Full as full:
        fault = f"not read to its end: {full}"
    except Unread as why:
        fault += str(why)
    except MemoryError:
        fault += "that takes more memory than a submission may use"
    except Exception:  # noqa: BLE001 - a damaged file may make a library raise anything
        fault += "it is damaged"
    return Document(tuple(blocks.taken), f"{brief(name, LONGEST_SHOWN + 1)} was {fault}")


def _read(data: bytes, form: Format, blocks: Blocks) -> None:
    if form.read is None:
        raise Unread("its format cannot be read: hand it in as .pdf, .docx or text")
    if form.most == _LARGE < len(data):
        raise Unread(f"it has more than {_LARGE >> 20} MiB")
    try:
        form.read(data if form.most == _LARGE else decoded(data[: form.most]), blocks)
    finally:
        blocks.end()
    if len(data) > form.most:
        raise Full(f"only its first {form.most >> 20} MiB were read")
