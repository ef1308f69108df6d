"""Reads submitted documents of any format."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from treceval_py.data.ids import LONGEST_SHOWN
from treceval_py.errors import visible
from treceval_py.grading.claims.documents.document import Blocks, Document, Full, Unread
from treceval_py.grading.claims.documents.html import read_html
from treceval_py.grading.claims.documents.latex import read_latex
from treceval_py.grading.claims.documents.notebooks import read_notebook
from treceval_py.grading.claims.documents.objects import parsed, read_json
from treceval_py.grading.claims.documents.office import read_docx, read_xlsx
from treceval_py.grading.claims.documents.pdf import read_pdf
from treceval_py.grading.claims.documents.text import decoded, read_delimited, read_text


class Format(NamedTuple):
    """A format of documents.

    Attributes
    ----------
    endings : str
        Pattern of the endings of file names, without the dot.
    most : int
        Most bytes of a file that are read.
    whole : bool
        Whether the beginning of a file is useless without the rest.
    read : callable
        Reads the bytes of a file into blocks.
    """

    endings: str
    most: int
    whole: bool
    read: Callable[[bytes, Blocks], None]


_TEXT, _PAGE, _LARGE = 1 << 20, 4 << 20, 32 << 20
"""Pages and notebooks may contain pictures."""


def _of_text(read: Callable[[str, Blocks], None]) -> Callable[[bytes, Blocks], None]:
    return lambda data, blocks: read(decoded(data), blocks)


def _refused(data: bytes, blocks: Blocks) -> None:  # noqa: ARG001 - the signature of all readers
    raise Unread("its format cannot be read: hand it in as .pdf, .docx or text")


def _text_or_json(text: str, blocks: Blocks) -> None:
    values = parsed(text)
    if values is None:
        read_text(text, blocks)
    else:
        read_json(values, blocks)


FORMATS = {
    "text": Format("txt|text|log|out|res|eval|ya?ml|toml|ini|cfg", _TEXT, False, _of_text(_text_or_json)),
    "markdown": Format("md|markdown|rmd|qmd|rst", _TEXT, False, _of_text(read_text)),
    "csv": Format("csv|tsv", _TEXT, False, _of_text(read_delimited)),
    "json": Format("jsonl?|ndjson", _TEXT, False, _of_text(_text_or_json)),
    "html": Format("x?html?", _PAGE, False, _of_text(read_html)),
    "notebook": Format("ipynb", _LARGE, True, read_notebook),
    "latex": Format("tex|ltx", _TEXT, False, _of_text(read_latex)),
    "docx": Format("docx", _LARGE, True, read_docx),
    "xlsx": Format("xlsx", _LARGE, True, read_xlsx),
    "pdf": Format("pdf", _LARGE, True, read_pdf),
    "other": Format("doc|docm|dotx|rtf|od[tsp]|pptx?|xlsm?|pages|numbers|key|djvu|epub", _LARGE, True, _refused),
}
"""The formats of documents, by kind."""

_CODE = re.compile(
    r"(?i)\.(py|pyi|java|c|h|cc|cpp|hpp|cs|js|mjs|ts|go|rs|r|jl|m|sh|bash|bat|ps1|scala|kts?|pl|rb|php|sql|css|scss|xml"
    r"|lock|gradle|cmake|mk|svg|aux|toc|lo[ft]|bib|bbl|blg|fls|sty|cls|bst)$"
    r"|(^|/)(makefile|dockerfile|requirements\.txt|licen[sc]e(\.txt)?)$"
)
"""Programs and their companions, and files that LaTeX writes for itself: their numbers are not claims."""

_PACKED_KINDS = ("docx", "xlsx", "pdf", "other")
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
    if kind in _PACKED_KINDS or head.startswith((b"\xff\xfe", b"\xfe\xff")):
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
        if len(data) > form.most and form.whole:
            raise Unread(f"it has more than {form.most >> 20} MiB")
        form.read(data[: form.most], blocks)
        if len(data) > form.most:
            raise Full(f"only its first {form.most >> 20} MiB were read")
    except Full as full:
        fault = f"{file} was not read to its end: {full}"
    except Unread as why:
        fault = f"{file} was not read because {why}"
    except MemoryError:
        fault = f"{file} was not read because that takes more memory than a submission may use"
    except Exception as error:  # noqa: BLE001 - a damaged file may make a library raise anything
        fault = f"{file} was not read because it is damaged ({type(error).__name__})"
    return Document(kind, tuple(blocks.found), fault)
