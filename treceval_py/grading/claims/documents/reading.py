"""Reads submitted documents of any format."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from treceval_py.data.ids import LONGEST_SHOWN
from treceval_py.errors import visible
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
    of_text : callable or None
        Reads a text into blocks.
    of_bytes : callable or None
        Reads the bytes of a file, of which the beginning is useless without the rest. None: this cannot be read.
    """

    endings: str
    most: int
    of_text: Callable[[str, Blocks], None] | None = None
    of_bytes: Callable[[bytes, Blocks], None] | None = None


_TEXT, _PAGE, _LARGE = 1 << 20, 4 << 20, 32 << 20
"""Pages and notebooks may contain pictures."""

FORMATS = {
    "text": Format("txt|text|log|out|res|eval|ya?ml|toml|ini|cfg", _TEXT, read_text_or_json),
    "markdown": Format("md|markdown|rmd|qmd|rst", _TEXT, read_text),
    "csv": Format("csv|tsv", _TEXT, read_delimited),
    "json": Format("jsonl?|ndjson", _TEXT, read_text_or_json),
    "html": Format("x?html?", _PAGE, read_html),
    "notebook": Format("ipynb", _LARGE, None, read_notebook),
    "latex": Format("tex|ltx", _TEXT, read_latex),
    "docx": Format("docx", _LARGE, None, read_docx),
    "xlsx": Format("xlsx", _LARGE, None, read_xlsx),
    "pdf": Format("pdf", _LARGE, None, read_pdf),
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
        Its lines and tables; with a fault if it was not read, or not to its end. For data and programs it is empty, and
        so is its kind.
    """
    kind = is_document(name, data[:1024])
    if not kind:
        return Document("", ())
    file = visible(name if len(name) <= LONGEST_SHOWN else name[:LONGEST_SHOWN] + "…")
    form, blocks, fault = FORMATS[kind], Blocks(), ""
    try:
        _read(data, form, blocks)
    except Full as full:
        fault = f"{file} was not read to its end: {full}"
    except Unread as why:
        fault = f"{file} was not read because {why}"
    except MemoryError:
        fault = f"{file} was not read because that takes more memory than a submission may use"
    except Exception as error:  # noqa: BLE001 - a damaged file may make a library raise anything
        fault = f"{file} was not read because it is damaged ({type(error).__name__})"
    return Document(kind, tuple(blocks.taken), fault)


def _read(data: bytes, form: Format, blocks: Blocks) -> None:
    try:
        if form.of_text is not None:
            form.of_text(decoded(data[: form.most]), blocks)
        elif form.of_bytes is None:
            raise Unread("its format cannot be read: hand it in as .pdf, .docx or text")
        elif len(data) > form.most:
            raise Unread(f"it has more than {form.most >> 20} MiB")
        else:
            form.of_bytes(data, blocks)
    finally:
        blocks.end()
    if len(data) > form.most:
        raise Full(f"only its first {form.most >> 20} MiB were read")
