"""Gzip, decompressed by zlib-ng if it is installed (the extra ``fast``), otherwise by the standard library.

Their file objects lose text before damage: as much as they read at once, which differs. Here every library gives all of
it, so that errors name the same line, and has the same words for what is wrong, mostly those of `gzip.GzipFile`.
"""

from __future__ import annotations

import io
import zlib
from typing import Any

PIECE = 1 << 18
"""Compressed bytes read at a time; larger pieces would not be faster."""

_GZIP = 16 + zlib.MAX_WBITS

_WORDS = {
    "incorrect header check": "Not a gzipped file",
    "unknown compression method": "Unknown compression method",
    "incorrect data check": "CRC check failed",
    "incorrect length check": "Incorrect length of data produced",
}


class Gzip(io.RawIOBase):
    """The text of a gzip file: its members, concatenated, without the zeros between them.

    Text before any damage is returned before the error is raised.

    Parameters
    ----------
    stream : object with ``read``
        The file.
    library : module, optional
        The library that decompresses. Default: the fastest one installed.

    Raises
    ------
    zlib.error
        The data are damaged, or are followed by something that is not gzip.
    EOFError
        The data are cut off.
    """

    def __init__(self, stream: Any, library: Any = None) -> None:
        self._stream = stream
        self._library = library or _fastest()
        self._packed = b""  # read and not used yet
        self._member: Any = None
        self._failure: EOFError | zlib.error | None = None  # what is read after it means nothing

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer or its beginning; return the number of bytes, 0 at the end."""
        text = b""
        while not text and len(buffer):  # to the library, no room would mean no limit
            if self._failure is not None:
                raise self._failure
            packed = self._packed or self._stream.read(PIECE)
            if self._member is None:
                if not packed:
                    break
                self._packed = packed.lstrip(b"\0")
                self._member = self._library.decompressobj(_GZIP) if self._packed else None
                continue
            before = self._member.copy()
            try:
                text = self._member.decompress(packed, len(buffer))
            except self._library.error as error:
                text = self._rescued(before, packed, error)
                continue
            if self._member.eof:
                self._packed, self._member = self._member.unused_data, None
            elif text or packed:
                self._packed = self._member.unconsumed_tail
            else:
                self._failure = EOFError("Compressed file ended before the end-of-stream marker was reached")
        buffer[: len(text)] = text
        return len(text)

    def _rescued(self, member: Any, packed: bytes, error: Exception) -> bytes:
        """Return the text before the damage, which is found by decompressing byte by byte."""
        text = bytearray()
        try:
            for at in range(-1, len(packed)):  # first what it still has of bytes before
                text += member.decompress(packed[max(at, 0) : at + 1])
        except self._library.error as exact:
            error = exact
        self._failure = zlib.error(_WORDS.get(str(error).rpartition(": ")[2], str(error)))
        return bytes(text)


def _fastest() -> Any:
    try:  # only where there is gzip to read
        from zlib_ng import zlib_ng
    except ImportError:
        return zlib
    return zlib_ng
