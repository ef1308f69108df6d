"""The beginning of a file for a check: its encoding, whether it is text, and a way to read it as UTF-8."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from itertools import chain

from treceval_py._types import Source
from treceval_py.checking.findings import Collector
from treceval_py.io.formats import encoding_of, format_of, is_text, sight_of
from treceval_py.io.source import BYTE_ORDER_MARK, PACKED_BEGINS, pieces, stream_of

HEAD = 1 << 16
"""Bytes at the beginning of a file from which its encoding and kind are recognised."""

MACINTOSH = ("lines end with carriage returns alone", "Save the file with newlines.")
"""What is wrong with a file whose lines all end like this, and what to do."""

_ONE_LINE = re.compile(
    rb"\s*\S+\s+(?:[Qq]?0\s+\S+\s+\S+\s+[+-]?(?:\.?[0-9]|inf)\S*\s+\S+|(?:\S+\s+)?\S+\s+[+-]?[0-9]+)\s*"
)

_BINARY = (
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "an empty zip archive"),
    *((magic, f"{kind} within a compressed file") for magic, kind in PACKED_BEGINS.items()),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"%PDF", "a PDF document"),
    (b"{\\rtf", "an RTF document"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Word or Excel document"),
    (b"\x93NUMPY", "a NumPy array"),
    *((bytes([0x80, protocol]), "a Python pickle") for protocol in range(2, 6)),
    (b"\x89HDF", "an HDF5 file"),
    (b"ARROW1", "an Arrow file"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"\x7fELF", "a program"),
)
"""First bytes of files that are not text. If they come out of a decompressor, the file was compressed twice."""

_OFFICE = ((b"xl/", "an Excel workbook"), (b"word/", "a Word document"), (b".npy", "a NumPy archive"))


def text_of(source: Source, head: bytes, collector: Collector) -> Source | None:
    """Recognise the encoding and kind of a file from its beginning, and return where to read its text.

    Parameters
    ----------
    source : str, path or binary file
        The file.
    head : bytes
        Its first bytes, decompressed.
    collector : Collector
        Takes the findings.

    Returns
    -------
    Source or None
        A source of the text, as UTF-8 and with newlines; None if there is no text.
    """
    encoding = encoding_of(head)
    kind = None if encoding else _binary(head)
    if kind is not None:
        collector.add("F006", f"this is {kind}, not text", _ABOUT_BINARY.get(kind, "Is it the right file?"))
        return None
    if encoding is not None:
        utf = f"this is {encoding[:6].upper()} text, which trec_eval cannot read"
        collector.add("F004", utf, "Save it as UTF-8.")
        return stream_of(text.encode() for text in codecs.iterdecode(pieces(source), encoding, "replace"))
    if head.startswith(BYTE_ORDER_MARK):
        mark = "a byte-order mark, which trec_eval reads as part of the first query's id"
        collector.add("F003", mark, "Save the file as UTF-8 without it.", line=1, column=1)
    form = format_of(sight_of(head), "run", "qrels")
    if form is not None and len(form.holds) > 1:
        caveat = f"this is {form.title}, whose lines cannot be checked one by one"
        collector.add("F018", caveat, "Score it to see whether all of it can be used.")
        return None
    if b"\n" not in head and are_line_ends(head):
        collector.add("F008", *MACINTOSH)
        return stream_of(_newlines(source))
    return source


def are_line_ends(text: bytes) -> bool:
    """Tell whether carriage returns end the lines of a text without newlines, or with none between its lines.

    In one whole line of a run or of judgments they may separate fields: readers treat them as spaces.
    """
    return b"\r" in text[:HEAD].strip() and (len(text) > HEAD or not _ONE_LINE.fullmatch(text))


_ABOUT_BINARY = {
    **dict.fromkeys(("a zip archive", "a 7-Zip archive", "a RAR archive", "a tar archive"), "Unpack it first."),
    "gzip within a compressed file": "Unpack it once.",
    "an Excel workbook": "Save the sheet as text, separated by tabs.",
    "a NumPy array": "Load it with numpy and use Run.from_arrays.",
}


def _binary(head: bytes) -> str | None:
    """Return the kind of a file that is not text; None if it may be text."""
    if head[257:262] == b"ustar":
        return "a tar archive"
    for magic, kind in () if is_text(head) else _BINARY:
        if head.startswith(magic):
            return next((office for part, office in _OFFICE if magic[:2] == b"PK" and part in head), kind)
    # JSON and text may hold a few. Packed or encrypted data has one in nine bytes; binary numbers have mostly zeros.
    nuls = head.count(0)
    controls = len(head) - nuls - len(head.translate(None, bytes([*range(1, 9), *range(14, 32), 127])))
    odd = controls > 8 and 20 * controls > len(head)
    return "binary data" if odd or (nuls > 8 and 4 * nuls > len(head)) else None


def _newlines(source: Source) -> Iterator[bytes]:
    """Yield text whose lines end with carriage returns, alone or before a newline, with newlines."""
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("latin-1")(), translate=True)
    for piece in chain(pieces(source), [b""]):
        yield decoder.decode(piece, final=not piece).encode("latin-1")
