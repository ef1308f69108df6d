"""PDF: the text of its pages; pictures are not read."""

from __future__ import annotations

import io
import logging
from collections.abc import Sequence
from typing import Any

from treceval_py.grading.claims.documents.document import Blocks, Full, Unread
from treceval_py.grading.claims.documents.text import read_text

_MOST_PAGES, _MOST_OPERATORS, _MOST_UNPACKED = 200, 500_000, 16 << 20
"""Most pages and drawing operators of a document that are read, and most bytes of a part after unpacking."""

_LIGATURES = dict(zip(range(0xFB00, 0xFB05), ("ff", "fi", "fl", "ffi", "ffl"), strict=True)) | {0xAD: ""}


def read_pdf(data: bytes, blocks: Blocks) -> None:
    """Read the pages of a PDF.

    Raises
    ------
    Unread
        It is damaged, encrypted or without text, or pypdf is not installed.
    """
    try:
        import pypdf
    except ModuleNotFoundError:
        raise Unread("pypdf is not installed") from None
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # its messages could quote the student's file
    kinds = ("zlib", "lzw", "run_length", "brotli", "array_based_stream")
    limits: dict[str, Any] = {f"{kind}_maximum_output_length": _MOST_UNPACKED for kind in kinds}
    limits |= {"stream_parsing_work_maximum_count": _MOST_OPERATORS, "xform_maximum_invocations_per_extraction": 100}
    with pypdf.apply_configuration(**limits, jbig2dec_binary=None):
        try:
            _read_pages(pypdf.PdfReader(io.BytesIO(data)), blocks)
        except (pypdf.errors.FileNotDecryptedError, pypdf.errors.DependencyError):
            raise Unread("it is encrypted: hand it in without a password") from None


def _read_pages(reader: Any, blocks: Blocks) -> None:
    operators = letters = 0
    damaged = ""

    def count(*_: object) -> None:
        nonlocal operators
        operators += 1
        if operators > _MOST_OPERATORS:
            raise Full(f"only its first {_MOST_OPERATORS:,} drawing operators were read")

    for number, page in enumerate(reader.pages, 1):
        if number > _MOST_PAGES:
            raise Full(f"only its first {_MOST_PAGES} pages were read")
        parts = _Parts()
        try:
            page.extract_text(visitor_operand_before=count, visitor_text=parts.take)
        except (Full, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001 - the other pages may be whole
            damaged = damaged or f"page {number} is damaged ({type(error).__name__})"
            continue
        text = "".join(parts.texts).translate(_LIGATURES)
        letters += len(text.strip())
        read_text(text, blocks, f", page {number}, line {{}}")
        blocks.line("", "")
    if letters and damaged:
        raise Full(damaged)
    if not letters:
        raise Unread(damaged or "it has no text, only pictures: hand in the document itself, not a scan of it")


class _Parts:
    """The parts of a page's text, with two spaces between separate parts."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._size = 0.0

    def take(self, text: str, outer: Sequence[float], inner: Sequence[float], _: object, size: float) -> None:
        """Take the next part, with the matrices of its position and its font size."""
        if not text:
            return
        height = size * (abs(outer[0]) + abs(outer[1])) * (abs(inner[0]) + abs(inner[1]))
        # The number of a footnote is not a digit of the number before it.
        small = bool(self.texts) and self.texts[-1][-1].isdigit() and text[0].isdigit() and height < 0.9 * self._size
        if small or text[0] == " ":
            self.texts.append(" ")
        self.texts.append(text)
        self._size = height
