"""Gzip, decompressed by zlib-ng if it is installed (the extra ``fast``), otherwise by the standard library.

This module reads the headers and trailers around the compressed data. So every library reports an error at the same
byte and in the same words, those of `gzip.GzipFile`.

References
----------
.. [1] P. Deutsch, GZIP file format specification version 4.3, RFC 1952, 1996.
"""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

PIECE = 1 << 18
"""Compressed bytes read at a time; larger pieces would not be faster."""

_DEFLATE = 8  # the only method there is, see [1]_, 2.3.1, as the flags
_HEADER_CRC, _EXTRA, _NAME, _COMMENT = 2, 4, 8, 16


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
        self._packed = memoryview(b"")  # read and not used yet
        self._member: Any = None
        self._crc = self._size = 0  # of the member's text so far
        self._failure: EOFError | zlib.error | None = None

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer or its beginning; return the number of bytes, 0 at the end."""
        if not len(buffer):  # to the library, no bytes mean no limit
            return 0
        try:
            return self._filled(buffer)
        except (EOFError, zlib.error) as error:
            self._failure = error  # what is read after it means nothing
            raise

    def _filled(self, buffer: Any) -> int:
        while self._failure is None:
            if self._member is not None and self._member.eof:
                self._end()
            if self._member is None and not self._begin():
                return 0
            text, more = self._text(len(buffer))
            if text:
                self._crc = self._library.crc32(text, self._crc)
                self._size += len(text)
                buffer[: len(text)] = text
                return len(text)
            if not more:
                raise _cut_off()
        raise self._failure

    def _text(self, most: int) -> tuple[bytes, bool]:
        """Return some text of the member, and whether there may be more."""
        packed = self._packed or memoryview(self._stream.read(PIECE))
        before = self._member.copy()
        try:
            text: bytes = self._member.decompress(packed, most)
        except self._library.error as error:
            return self._rescued(before, packed, error), True
        self._packed = memoryview(self._member.unused_data if self._member.eof else self._member.unconsumed_tail)
        return text, bool(packed)

    def _rescued(self, member: Any, packed: memoryview, error: Exception) -> bytes:
        """Return the text before the damage, which is found by decompressing byte by byte."""
        text = bytearray()
        try:
            for at in range(-1, len(packed)):  # first what it still has of bytes before
                text += member.decompress(packed[max(at, 0) : at + 1])
        except self._library.error as exact:
            error = exact
        self._failure = zlib.error(str(error))
        return bytes(text)

    def _begin(self) -> bool:
        """Read the header of a member, see [1]_, 2.3; return whether there is one."""
        magic = self._bytes(2)
        if not magic:
            return False
        if magic != b"\x1f\x8b":
            raise zlib.error(f"Not a gzipped file ({magic!r})")
        method, flags = struct.unpack("<BB6x", self._exactly(8))
        if method != _DEFLATE:
            raise zlib.error("Unknown compression method")
        if flags & _EXTRA:
            self._exactly(*struct.unpack("<H", self._exactly(2)))
        for text in _NAME, _COMMENT:
            while flags & text and self._bytes(1) not in (b"", b"\0"):
                pass
        if flags & _HEADER_CRC:
            self._exactly(2)
        self._member = self._library.decompressobj(-zlib.MAX_WBITS)
        self._crc = self._size = 0
        return True

    def _end(self) -> None:
        """Check a member's text against its trailer, and skip zeros."""
        crc, size = struct.unpack("<II", self._exactly(8))
        if crc != self._crc:
            raise zlib.error(f"CRC check failed {crc:#x} != {self._crc:#x}")
        if size != self._size & 0xFFFFFFFF:
            raise zlib.error("Incorrect length of data produced")
        self._member = None
        while (byte := self._bytes(1)) == b"\0":
            pass
        self._packed = memoryview(byte + self._packed)

    def _exactly(self, size: int) -> bytes:
        found = self._bytes(size)
        if len(found) < size:
            raise _cut_off()
        return found

    def _bytes(self, size: int) -> bytes:
        """Return the next bytes; fewer at the end."""
        while len(self._packed) < size and (more := self._stream.read(PIECE)):
            self._packed = memoryview(bytes(self._packed) + more)
        found = bytes(self._packed[:size])
        self._packed = self._packed[size:]
        return found


def _cut_off() -> EOFError:
    return EOFError("Compressed file ended before the end-of-stream marker was reached")


def _fastest() -> Any:
    try:  # only where there is gzip to read
        from zlib_ng import zlib_ng
    except ImportError:
        return zlib
    return zlib_ng
