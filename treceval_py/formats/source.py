"""Bytes in: open a file, a pipe or standard input, see through compression, and cut it into blocks of whole lines."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from treceval_py._types import Source
from treceval_py.errors import InputError

__all__ = ["blocks", "name_of", "open_zstd"]

BLOCK_SIZE = 1 << 22
"""Bytes in a block; small enough to stay in memory many times over, large enough that its overhead is nothing."""

LONGEST_LINE = 1 << 24
"""A longer line is no line of a judgments or run file, and would have to be held in memory whole."""

_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
"""How a compressed file begins: RFC 1952, the bzip2 manual, the .xz file format 1.1, RFC 8878."""

_OTHER_FILES = {
    b"PK\x03\x04": "a zip archive: unpack it first",
    b"PAR1": "a Parquet file: load it with pandas and use from_frame",
    b"%PDF": "a PDF document",
    b"\x93NUMPY": "a NumPy array: load it with numpy and use Run.from_arrays",
    b"\xff\xfe": "UTF-16 text: save it as UTF-8",
    b"\xfe\xff": "UTF-16 text: save it as UTF-8",
}

_DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError)

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def name_of(source: Source) -> str:
    """Return how messages call a source: its path as given, or ``<stdin>``."""
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        return "<stdin>" if path == "-" else path or "''"
    return str(getattr(source, "name", "<file>"))


def blocks(source: Source, size: int = BLOCK_SIZE) -> Iterator[tuple[int, bytes]]:
    """Yield the text of a source in blocks of whole lines.

    Parameters
    ----------
    source : str, path or binary file
        ``"-"`` is standard input. gzip, bzip2, xz and (with its package) zstd are recognised by their first bytes.
    size : int
        About how many bytes a block has.

    Yields
    ------
    line : int
        The number of the block's first line in the file, from 1.
    block : bytes
        Whole lines; every line ends with a newline, also the last one of the file. A byte-order mark is left out.

    Raises
    ------
    InputError
        The source cannot be read, is empty, is damaged, or is no text.
    """
    name = name_of(source)
    line, rest, nothing = 1, b"", True
    with _opened(source, name) as stream:
        while True:
            chunk = _read(stream, size, name, line)
            if nothing and chunk:
                nothing = False
                chunk = _checked_start(chunk, stream, name)
            if not chunk:
                break
            # Only the last newline of what is new can end the block, so `rest` is never searched twice.
            cut = chunk.rfind(b"\n") + 1
            if not cut:
                rest += chunk
                if len(rest) > LONGEST_LINE:
                    raise InputError(
                        f"a line of more than {LONGEST_LINE:,} bytes", "Is this a text file?", file=name, line=line
                    )
                continue
            block, rest = rest + chunk[:cut], chunk[cut:]
            yield from _text_only(block, name, line)
            line += block.count(b"\n")
    if nothing:
        raise InputError("the file is empty", "Is it the right file?", file=name)
    if rest:
        yield from _text_only(rest + b"\n", name, line)


def _read(stream: BinaryIO, size: int, name: str, line: int) -> bytes:
    try:
        return stream.read(size)
    except _DAMAGE as error:
        raise _damaged(error, name, line) from None
    except OSError as error:
        if error.errno is None:  # not from the system: bz2's word for data that is no bzip2
            raise _damaged(error, name, line) from None
        raise _refused(error, name, "read") from None
    except Exception as error:  # each zstd package has its own exceptions, which derive from nothing common
        if type(error).__module__.split(".")[0] in {"zstandard", "compression", "backports", "_zstd"}:
            raise _damaged(error, name, line) from None
        raise


def _damaged(error: BaseException, name: str, line: int) -> InputError:
    return InputError(
        f"the compressed data is damaged or cut off ({_reason(error)})",
        "Copy or download the file again.",
        file=name,
        line=line,
    )


@contextmanager
def _opened(source: Source, name: str) -> Iterator[BinaryIO]:
    """Open a source for reading decompressed bytes; a stream that was given open stays open."""
    if isinstance(source, (str, os.PathLike)) and os.fspath(source) != "-":
        path = os.fspath(source)
        try:
            raw: Any = open(path, "rb", buffering=0)  # noqa: SIM115 - closed below, with what is put around it
        except OSError as error:
            raise _refused(error, name, "opened") from None
        ours = True
    else:
        raw = _standard_input() if isinstance(source, (str, os.PathLike)) else source
        ours = False
        if isinstance(raw, io.TextIOBase):
            raise InputError("is open as text", "Open the file with mode 'rb', or give its path.", file=name)
    try:
        yield _decompressed(raw, name)
    finally:
        if ours:
            raw.close()


class _Raw(io.RawIOBase):
    """What `io.BufferedReader` needs of a stream, for any object with ``read``, after bytes that were read already."""

    def __init__(self, head: bytes, stream: BinaryIO) -> None:
        self._head = head
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._head[: len(buffer)] or self._stream.read(len(buffer))
        self._head = self._head[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


class _Zstd(io.RawIOBase):
    """Frames of zstd through the ``zstandard`` package, whose own reader takes a cut-off frame for a whole one."""

    def __init__(self, stream: BinaryIO, zstandard: Any) -> None:
        self._stream = stream
        self._new = zstandard.ZstdDecompressor().decompressobj
        self._frame: Any = None
        self._packed = b""
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            self._packed = self._packed or self._stream.read(BLOCK_SIZE)
            if not self._packed:
                if self._frame is not None:
                    raise EOFError("the end of a frame is missing")
                return 0
            self._frame = self._frame or self._new()
            self._ready = self._frame.decompress(self._packed)
            self._packed = b""
            if self._frame.eof:
                self._packed = self._frame.unused_data
                self._frame = None
        data = self._ready[: len(buffer)]
        self._ready = self._ready[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


def _standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise InputError("standard input is closed", "Give a file instead of '-'.", file="<stdin>")
    return cast("BinaryIO", sys.stdin.buffer)


def _refused(error: OSError, name: str, done: str) -> InputError:
    """Say what the system said; a directory is refused when it is opened, or, as standard input, when it is read."""
    if error.errno == errno.EISDIR:
        return InputError("is a directory", "Give a file.", file=name)
    if error.errno == errno.ENOENT:
        return InputError("no such file", "Check the name.", file=name)
    return InputError(f"cannot be {done}: {_reason(error)}", "Check the file.", file=name)


def _reason(error: BaseException) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text.rstrip(".") or type(error).__name__


def _decompressed(raw: BinaryIO, name: str) -> BinaryIO:
    head = b""
    while len(head) < 8 and (more := _read(raw, 8 - len(head), name, 1)):  # a pipe may give a byte at a time
        head += more
    stream = io.BufferedReader(_Raw(head, raw), BLOCK_SIZE)
    kind = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)
    if kind == "gzip":
        return cast("BinaryIO", gzip.GzipFile(fileobj=stream))
    if kind == "bzip2":
        return cast("BinaryIO", bz2.BZ2File(stream))
    if kind == "xz":
        return cast("BinaryIO", lzma.LZMAFile(stream))
    if kind == "zstd":
        return open_zstd(cast("BinaryIO", stream), name)
    return cast("BinaryIO", stream)


def open_zstd(stream: BinaryIO, name: str, mode: str = "rb") -> BinaryIO:
    """Read or write zstd through the standard library (Python 3.14), ``backports.zstd`` or ``zstandard``.

    Raises
    ------
    InputError
        None of them is there.
    """
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        try:
            from backports import zstd  # type: ignore[import-not-found,import-untyped,unused-ignore]
        except ImportError:
            zstd = None
    if zstd is not None:
        return cast("BinaryIO", zstd.ZstdFile(stream, mode))
    try:
        import zstandard
    except ImportError:
        raise InputError(
            "zstd compression needs a package that is not installed", "pip install zstandard", file=name
        ) from None
    if mode == "rb":
        return cast("BinaryIO", io.BufferedReader(_Zstd(stream, zstandard), BLOCK_SIZE))
    return cast("BinaryIO", zstandard.ZstdCompressor().stream_writer(stream, closefd=False))


def _checked_start(chunk: bytes, stream: BinaryIO, name: str) -> bytes:
    """Name the commonest files that are no judgments and no run; take off the byte-order mark."""
    while len(chunk) < 4 and (more := _read(stream, 4 - len(chunk), name, 1)):  # a pipe may give a byte at a time
        chunk += more
    for magic, what in _OTHER_FILES.items():
        if chunk.startswith(magic):
            raise InputError(f"this is {what}", file=name)
    if chunk[:2].count(0) == 1 or chunk[2:4].count(0) == 1:
        raise InputError("this looks like UTF-16 text: save it as UTF-8", file=name)
    return chunk[len(BYTE_ORDER_MARK) :] if chunk.startswith(BYTE_ORDER_MARK) else chunk


def _text_only(block: bytes, name: str, line: int) -> Iterator[tuple[int, bytes]]:
    """Yield a block; where it holds a NUL byte, only the lines before, so that errors come in the order of lines."""
    at = block.find(b"\0")
    if at < 0:
        yield line, block
        return
    cut = block.rfind(b"\n", 0, at) + 1
    if cut:
        yield line, block[:cut]
    raise InputError(
        "a NUL byte, so this is a binary file and no text",
        "Give a text file of judgments or of a run.",
        file=name,
        line=line + block.count(b"\n", 0, at),
    )
