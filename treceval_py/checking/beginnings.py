"""The beginning of a file for a check: its encoding, whether it is text, and a way to read it as UTF-8."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, BinaryIO, cast

from treceval_py._types import Source
from treceval_py.checking.findings import Collector
from treceval_py.diagnosis.columns import encoding_of
from treceval_py.io.formats import format_of, sight_of
from treceval_py.io.source import BYTE_ORDER_MARK, rewindable

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
    (b"\x1f\x8b", "gzip within a compressed file"),
    (b"BZh", "bzip2 within a compressed file"),
    (b"\xfd7zXZ\x00", "xz within a compressed file"),
    (b"\x28\xb5\x2f\xfd", "zstd within a compressed file"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"%PDF", "a PDF document"),
    (b"{\\rtf", "an RTF document"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Word or Excel document"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x80\x02", "a Python pickle"),
    (b"\x80\x03", "a Python pickle"),
    (b"\x80\x04", "a Python pickle"),
    (b"\x80\x05", "a Python pickle"),
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


def text_of(source: Source, head: bytes, collector: Collector, opened: ExitStack) -> Source | None:
    """Recognise the encoding and kind of a file from its beginning, and return where to read its text.

    Parameters
    ----------
    source : str, path or binary file
        The file.
    head : bytes
        Its first bytes, decompressed.
    collector : Collector
        Takes the findings.
    opened : ExitStack
        Closes what is opened here.

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
        spoken = encoding[:6].upper()
        plain = _plain(source, head, opened)
        todo = "Save it as UTF-8." if plain is not None else "Unpack it and save it as UTF-8; none of it was read."
        collector.add("F004", f"this is {spoken} text, which trec_eval cannot read", todo)
        decoder = codecs.getincrementaldecoder(encoding)("replace")
        if plain is None:
            return None
        return _converted(plain, lambda data, last: decoder.decode(data, last).encode("utf-8"))
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
        plain = _plain(source, head, opened)
        # A compressed file like this is a single line, which is split when it is read.
        return source if plain is None else _converted(plain, _Newlines().convert)
    return source


def are_line_ends(text: bytes) -> bool:
    """Tell whether carriage returns end the lines of a text without newlines, or with none between its lines.

    In one whole line of a run or of judgments they may separate fields: readers treat them as spaces.
    """
    return b"\r" in text[:HEAD].strip() and (len(text) > HEAD or not _ONE_LINE.fullmatch(text))


_ABOUT_BINARY = {
    "a zip archive": "Unpack it first.",
    "a 7-Zip archive": "Unpack it first.",
    "a RAR archive": "Unpack it first.",
    "a tar archive": "Unpack it first.",
    "gzip within a compressed file": "Unpack it once.",
    "an Excel workbook": "Save the sheet as text, separated by tabs.",
    "a NumPy array": "Load it with numpy and use Run.from_arrays.",
}


def _binary(head: bytes) -> str | None:
    """Return the kind of a file that is not text; None if it may be text."""
    if head[257:262] == b"ustar":
        return "a tar archive"
    for magic, kind in _BINARY:
        if head.startswith(magic):
            return next((office for part, office in _OFFICE if magic[:2] == b"PK" and part in head), kind)
    # JSON and text may hold a few. Packed or encrypted data has one in nine bytes; binary numbers have mostly zeros.
    nuls = head.count(0)
    controls = len(head) - nuls - len(head.translate(None, bytes([*range(1, 9), *range(14, 32), 127])))
    odd = controls > 8 and 20 * controls > len(head)
    return "binary data" if odd or (nuls > 8 and 4 * nuls > len(head)) else None


def _plain(source: Source, head: bytes, opened: ExitStack) -> BinaryIO | None:
    """Return a stream of the bytes of a source; None if it is compressed."""
    stream: Any = source if hasattr(source, "read") else opened.enter_context(rewindable(source))
    first = b""
    while len(first) < min(8, len(head)) and (more := stream.read(8 - len(first))):
        first += more
    if first == head[:8]:
        return cast("BinaryIO", _Prefixed(first, stream))
    if hasattr(source, "read") and stream.seekable():
        stream.seek(-len(first), io.SEEK_CUR)
    return None


class _Prefixed:
    """A stream that first returns the bytes that were already read from it."""

    def __init__(self, first: bytes, stream: Any) -> None:
        self._first = first
        self._stream = stream

    def read(self, size: int) -> bytes:
        first, self._first = self._first, b""
        return first or self._stream.read(size) or b""


class _Newlines:
    """Turns carriage returns, alone or before a newline, into newlines, piece by piece."""

    def __init__(self) -> None:
        self._held = b""

    def convert(self, data: bytes, last: bool) -> bytes:
        data, self._held = self._held + data, b""
        if data.endswith(b"\r") and not last:  # a newline may follow
            data, self._held = data[:-1], b"\r"
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _converted(stream: BinaryIO, convert: Callable[[bytes, bool], bytes]) -> BinaryIO:
    return cast("BinaryIO", _Converted(stream, convert))


class _Converted(io.RawIOBase):
    """A stream that converts its bytes piece by piece as they are read."""

    def __init__(self, stream: BinaryIO, convert: Callable[[bytes, bool], bytes]) -> None:
        self._stream = stream
        self._convert = convert
        self._ready = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready and not self._ended:
            data = self._stream.read(HEAD)
            self._ended = not data
            self._ready = self._convert(data, self._ended)
        data, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)
