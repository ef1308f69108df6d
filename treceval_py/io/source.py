"""Open a file, a pipe or standard input, decompress it, and split it into blocks of whole lines."""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, BinaryIO, cast

import numpy as np

from treceval_py._types import Source
from treceval_py.data.ids import encode, shown
from treceval_py.errors import InputError
from treceval_py.scan import scanner

BLOCK_SIZE = 1 << 22
"""Bytes in a block: few enough to hold many blocks in memory, many enough to make the overhead per block negligible."""

SMALL_BLOCK_SIZE = 1 << 18
"""Bytes in a block for the Python reader, whose objects take ten times as many bytes and should fit in the processor's
caches."""

SHORTEST_BLOCK = 16
"""Number of bytes that is enough to recognise a kind of file."""

LONGEST_LINE = 1 << 24
"""Longest line that is read, in bytes. Judgments and runs have no longer lines, and lines are held in memory."""

_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
"""First bytes of compressed files: RFC 1952, the bzip2 manual, the .xz file format 1.1, RFC 8878."""

_OTHER_FILES = {
    b"PK\x03\x04": "a zip archive: unpack it first",
    b"PAR1": "a Parquet file, which has no lines: its format is parquet",
    b"%PDF": "a PDF document",
    b"\x93NUMPY": "a NumPy array: load it with numpy and use Run.from_arrays",
    b"\xff\xfe": "UTF-16 text: save it as UTF-8",
    b"\xfe\xff": "UTF-16 text: save it as UTF-8",
}

# By name, where to import the module would cost those who need no compression. ZstdError has a different module in each
# package and version: zstandard up to 0.23 says "zstd".
_DAMAGE = (EOFError, zlib.error)
_DAMAGE_BY_NAME = {"LZMAError", "ZstdError"}

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def name_of(source: Source) -> str:
    """Return a source's name in messages: its path as given, or ``<stdin>``."""
    if isinstance(source, (str, os.PathLike)):
        path = os.fsdecode(source)
        return "<stdin>" if path == "-" else path or "''"
    return str(getattr(source, "name", "<file>"))


class Text(io.BytesIO):
    """Text given instead of a file, with its name in messages."""

    def __init__(self, text: bytes, name: str = "<text>") -> None:
        super().__init__(text)
        self.name = name


def source_of(source: Source | None, text: str | bytes | None) -> Source:
    """Return a source, or the text that was given instead.

    Raises
    ------
    InputError
        Neither or both were given, or something else.
    """
    if text is None and source is not None:
        return source
    if source is not None:
        raise InputError("both a file and its text were given", "Remove one of them.")
    if not isinstance(text, (str, bytes)):
        what = "neither a file nor a text was given" if text is None else f"text= is {shown(text)}, not text"
        raise InputError(what, "Give a path, an open binary file, or text=….")
    return Text(encode(text) if isinstance(text, str) else text)


Watch = Callable[[int, "int | None"], None]
"""Progress callback, called with the bytes read from a source and its size (None if unknown)."""


def blocks(
    source: Source,
    size: int | None = None,
    *,
    name: str | None = None,
    whole_queries: bool = False,
    watch: Watch | None = None,
) -> Iterator[memoryview]:
    """Yield the text of a source in blocks of whole lines.

    Parameters
    ----------
    source : str, path or binary file
        ``"-"`` is standard input. gzip, bzip2, xz and (with its package) zstd are detected by their first bytes.
    size : int
        Approximate bytes per block. Default: what suits the reader.
    name : str, optional
        The source's name in messages.
    whole_queries : bool
        End blocks only where the first field changes, so that a query whose lines are together is not split. A block is
        then at least as long as its longest query.
    watch : callable, optional
        Progress callback, called for every block.

    Yields
    ------
    block : memoryview
        Whole lines, each ending with a newline, even the file's last one. A byte-order mark is removed.

    Raises
    ------
    InputError
        The source cannot be read, is empty, damaged or not text, or changed while it was read. Line numbers in the
        error count from the end of the previous block, because only the reader of lines counts them all: see `at_line`.
    """
    name = name_of(source) if name is None else name
    size = size or (SMALL_BLOCK_SIZE if scanner() is None else BLOCK_SIZE)
    with _opened(source, name) as raw:
        state = _state(raw)
        stream = _Stream(raw, name)
        rest: bytes | memoryview = b""
        while True:
            buffer, filled = stream.after(rest, max(size, 2 * len(rest)))
            if watch is not None:
                watch(stream.read, state[0] if state is not None else None)
            lines = _last_newline(buffer, filled) + 1
            if stream.ended or filled - lines > LONGEST_LINE:
                break
            cut = _last_query(buffer, lines) if whole_queries else lines
            if cut:
                yield buffer[:cut]
            rest = buffer[cut:filled]
        if stream.ended:
            _check_unchanged(raw, state, name)
            if filled > lines:
                buffer[filled : filled + 1] = b"\n"
                lines = filled + 1
        if lines:
            yield buffer[:lines]
        if not stream.ended:
            raise InputError(f"a line has more than {LONGEST_LINE:,} bytes", "Is this a text file?", file=name, line=1)
        if not stream.started:
            raise InputError("the file is empty", "Is it the right file?", file=name)


def at_line(error: InputError, before: int) -> InputError:
    """Return an error of `blocks` that occurred after ``before`` lines, with the line number in the file."""
    if error.line is None:
        return error
    return InputError(error.what, error.todo, file=error.file, line=error.line + before)


def _last_newline(buffer: memoryview, end: int) -> int:
    """Return the position of the last newline before ``end``, or -1."""
    step = 1 << 10
    while end > 0:
        start = max(0, end - step)
        found = bytes(buffer[start:end]).rfind(b"\n")
        if found >= 0:
            return start + found
        end, step = start, step * 4
    return -1


LINES_WITHOUT_DATA = 64
"""Number of blank lines and comments at the end of a block that are skipped in search of a query."""


def _last_query(buffer: memoryview, end: int) -> int:
    """Return where the lines of the last query begin; ``end`` is the end of its last line.

    Lines in between are assumed to belong to the same query, so that only a few need to be checked. If that is wrong,
    the reader of the blocks meets the query again.
    """
    same, query, left = end, b"", LINES_WITHOUT_DATA
    while not query or query.startswith(b"#"):
        if not same or not left:
            return end
        same, left = _last_newline(buffer, same - 1) + 1, left - 1
        query = _first_field(buffer, same)
    other, step = -1, 1 << 10
    while other < 0:
        probe = _last_newline(buffer, max(same - step, 0)) + 1
        if _first_field(buffer, probe) != query:
            other = probe
        elif probe == 0:
            return 0
        else:
            same, step = probe, step * 2
    while True:  # the line at `other` has another query, the line at `same` does not
        middle = _last_newline(buffer, (other + same) // 2) + 1
        if middle <= other:
            middle = other + bytes(buffer[other:same]).index(b"\n") + 1
        if middle >= same:
            return same
        if _first_field(buffer, middle) == query:
            same = middle
        else:
            other = middle


def _first_field(buffer: memoryview, start: int) -> bytes:
    """Return the first field of the line that begins at `start`, or its first bytes if it is very long."""
    fields = bytes(buffer[start : start + 256]).split(b"\n", 1)[0].split(None, 1)
    return fields[0] if fields else b""


class _Stream:
    """The decompressed bytes of a source, read into buffers.

    Attributes
    ----------
    started : bool
        Whether any byte was read.
    ended : bool
        Whether the source is exhausted.
    """

    def __init__(self, raw: Any, name: str) -> None:
        self._raw = _Counted(raw)
        self._name = name
        self._stream: Any = None
        self.started = False
        self.ended = False

    @property
    def read(self) -> int:
        """Number of bytes of the source read so far."""
        return self._raw.count

    def after(self, rest: bytes | memoryview, room: int) -> tuple[memoryview, int]:
        """Read more. Return a buffer that begins with ``rest`` and has a spare byte, and the end of its data.

        Raises
        ------
        InputError
            The source cannot be read, or is not text.
        """
        room = max(room, SHORTEST_BLOCK)
        # Not a bytearray, which would first be filled with zeros.
        buffer = np.empty(room + 1, dtype=np.uint8).data
        buffer[: len(rest)] = rest
        filled = self._fill(buffer[:room], len(rest))
        if self.started or not filled:
            return buffer, filled
        self.started = True
        mark = _checked_start(bytes(buffer[: min(filled, SHORTEST_BLOCK)]), self._name)
        return buffer[mark:], filled - mark

    def _fill(self, buffer: memoryview, start: int) -> int:
        """Fill a buffer from ``start`` until it is full or the source ends; return the end of the data."""
        while start < len(buffer) and not self.ended:
            try:
                if self._stream is None:
                    self._stream = _decompressed(self._raw, self._name)
                count = self._stream.readinto(buffer[start:])
            except Exception as error:
                failure = _reason_of_failure(error, self._name)
                if failure is None:
                    raise
                # Lines before the damage are not used: damaged data may decompress to lines that nobody wrote.
                raise at_line(failure, bytes(buffer[:start]).count(b"\n")) from None
            self.ended = not count
            start += count or 0
        return start


def _reason_of_failure(error: Exception, name: str) -> InputError | None:
    """Return the error for an exception of a stream, or None if the exception does not concern its data."""
    if isinstance(error, _DAMAGE) or type(error).__name__ in _DAMAGE_BY_NAME:
        return _damaged(error, name)
    if isinstance(error, OSError):
        # bz2 raises OSErrors that are not from the system.
        return _refused(error, name, "read") if error.errno is not None else _damaged(error, name)
    return None


def _damaged(error: BaseException, name: str) -> InputError:
    return InputError(
        f"the compressed data is damaged or cut off ({_reason(error)})",
        "Copy or download the file again.",
        file=name,
        line=1,
    )


@contextmanager
def _opened(source: Source, name: str) -> Iterator[Any]:
    """Open a source for reading bytes; a stream that the caller opened stays open."""
    if isinstance(source, (str, os.PathLike)) and os.fspath(source) != "-":
        path = os.fspath(source)
        try:
            raw: Any = open(path, "rb", buffering=0)  # noqa: SIM115 - closed below
        except (OSError, ValueError) as error:  # a NUL in a path raises a ValueError
            if isinstance(error, ValueError) or ("\n" in name and len(name.split()) >= 3):
                what = f"{shown(name)} is not a path"
                raise InputError(what, "If it is the text of a file, give it as te.read_run(text=…).") from None
            raise _refused(error, name, "opened") from None
        try:
            yield raw
        finally:
            raw.close()
        return
    given = _standard_input() if isinstance(source, (str, os.PathLike)) else source
    if isinstance(given, io.TextIOBase):
        raise InputError("is open as text", "Open the file with mode 'rb', or give its path.", file=name)
    if not callable(getattr(given, "read", None)) and not callable(getattr(given, "readinto", None)):
        todo = "Give a path, an open binary file, or text=…; te.Run and te.Qrels take objects."
        raise InputError(f"{shown(given)} is not a file", todo)
    yield given


def _state(raw: Any) -> tuple[int, int] | None:
    """Return the size and modification time of a regular file, or None for anything else."""
    try:
        found = os.fstat(raw.fileno())
    except (AttributeError, OSError, ValueError):
        return None
    return (found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def _check_unchanged(raw: Any, state: tuple[int, int] | None, name: str) -> None:
    if _state(raw) != state:
        raise InputError("the file changed while it was read", "Run again when nothing writes to it.", file=name)


def _position(raw: Any) -> int | None:
    """Return the position of a stream, or None if it cannot seek back to it."""
    try:
        return int(raw.tell()) if raw.seekable() else None
    except (AttributeError, OSError, ValueError):
        return None


class _Counted(io.RawIOBase):
    """The bytes of any object with ``readinto`` or ``read``; counts them, and can show the first ones in advance."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._head = b""
        self.count = 0

    def readable(self) -> bool:
        return True

    def head(self, length: int) -> bytes:
        """Return the first bytes without consuming them."""
        found = bytearray(length)
        view, used = memoryview(found), 0
        while used < length and (more := self.readinto(view[used:])):  # a pipe may give a byte at a time
            used += more
        self._head = bytes(found[:used])
        return self._head

    def readinto(self, buffer: Any) -> int:
        if self._head:
            data = self._head[: len(buffer)]
            self._head = self._head[len(data) :]
            buffer[: len(data)] = data
            return len(data)
        if hasattr(self._stream, "readinto"):
            count: int = self._stream.readinto(buffer) or 0
        else:
            data = self._stream.read(len(buffer)) or b""
            if not isinstance(data, (bytes, bytearray, memoryview)):
                raise InputError("is open as text, or not a file", "Open the file with mode 'rb', or give its path.")
            count = len(data)
            buffer[:count] = data
        self.count += count
        return count


class _Decompressed(io.RawIOBase):
    """Decompressed bytes, read in portions, so that those before damage are not lost."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read1(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class _Zstd(io.RawIOBase):
    """Frames of zstd read through the ``zstandard`` package, whose own reader accepts truncated frames."""

    PIECE = 1 << 11
    """Bytes decompressed at a time. Four bytes can encode a block of 128 KiB (RFC 8878, 3.1.1.2), and the package
    decompresses a piece as a whole."""

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
            self._packed = self._packed or self._stream.read(self.PIECE)
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
    """Return the system's error. A directory fails on opening or, as standard input, on reading."""
    if error.errno == errno.EISDIR:
        return InputError("is a directory", "Give a file.", file=name)
    if error.errno == errno.ENOENT:
        return InputError("no such file", "Check the name.", file=name)
    return InputError(f"cannot be {done}: {_reason(error)}", "Check the file.", file=name)


def _reason(error: BaseException) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text.rstrip(".") or type(error).__name__


def _decompressed(raw: _Counted, name: str) -> Any:
    head = raw.head(8)
    kind = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)
    if kind is None:
        return raw
    if kind == "gzip":
        from treceval_py.io.gzipped import Gzip

        return Gzip(raw)
    stream = io.BufferedReader(raw, 1 << 18)
    if kind == "bzip2":
        import bz2

        return _Decompressed(bz2.BZ2File(stream))
    if kind == "xz":
        import lzma

        return _Decompressed(lzma.LZMAFile(stream))
    return _Decompressed(open_zstd(cast("BinaryIO", stream), name))


def open_zstd(stream: BinaryIO, name: str, mode: str = "rb") -> BinaryIO:
    """Read or write zstd through the standard library (Python 3.14), ``backports.zstd`` or ``zstandard``.

    Raises
    ------
    InputError
        None of these is installed.
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


def _checked_start(start: bytes, name: str) -> int:
    """Refuse common files that are neither judgments nor runs; return the length of a byte-order mark."""
    for magic, what in _OTHER_FILES.items():
        if start.startswith(magic):
            raise InputError(f"this is {what}", file=name)
    if start[:2].count(0) == 1 or start[2:4].count(0) == 1:
        raise InputError("this looks like UTF-16 text: save it as UTF-8", file=name)
    return len(BYTE_ORDER_MARK) if start.startswith(BYTE_ORDER_MARK) else 0


def numbered(source: Source, name: str | None = None) -> Iterator[tuple[int, memoryview]]:
    """Yield a source's blocks with the number of their first line; parameters and errors as for `blocks`."""
    found, lines = blocks(source, name=name), 0
    while True:
        try:
            block = next(found)
        except StopIteration:
            return
        except InputError as error:
            raise at_line(error, lines) from None
        yield lines + 1, block
        lines += int(np.count_nonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n")))


SPOOL_SIZE = 1 << 25
"""Bytes of a pipe kept in memory before they go to a temporary file."""


class _Kept(io.RawIOBase):
    """A stream that cannot be rewound, with a copy of the bytes read so that it can be read again."""

    def __init__(self, stream: Any, name: str) -> None:
        import tempfile

        self.name = name
        self._stream = _Counted(stream)
        self._copy = tempfile.SpooledTemporaryFile(SPOOL_SIZE)  # noqa: SIM115 - closed with this object
        self._again = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._again:
            data = self._copy.read(len(buffer))
            if data:
                buffer[: len(data)] = data
                return len(data)
            self._again = False
        count = self._stream.readinto(buffer)
        try:
            self._copy.write(buffer[:count])
        except OSError as error:
            what = f"there is no room for a copy of the pipe: {_reason(error)}"
            raise InputError(what, "Write the run to a file first.", file=self.name) from None
        return count

    def rewind(self) -> None:
        """Restart at the first byte."""
        self._copy.seek(0)
        self._again = True

    def close(self) -> None:
        self._copy.close()
        super().close()


@contextmanager
def kept(source: Source) -> Iterator[tuple[Source, Callable[[], Source]]]:
    """Make any source readable repeatedly.

    Yields
    ------
    source : Source
        For the first reading.
    again : callable
        Returns the source for another reading; raises InputError if the file has changed since the first.
    """
    name = name_of(source)
    with _opened(source, name) as raw:
        start = _position(raw)
        if start is not None:
            state = _state(raw)

            def rewound() -> BinaryIO:
                _check_unchanged(raw, state, name)
                raw.seek(start)
                return cast("BinaryIO", raw)

            try:
                yield raw, rewound
            except InputError:
                _check_unchanged(raw, state, name)  # the error may be due to another program that is rewriting the file
                raise
            return
        with _Kept(raw, name) as copied:

            def again() -> BinaryIO:
                copied.rewind()
                return cast("BinaryIO", copied)

            yield cast("BinaryIO", copied), again


class _Again(io.RawIOBase):
    """A stream that cannot be rewound, whose first bytes can be read in advance and are then read again.

    Only these bytes are kept, and only until they are read again. A stream opened here is closed at its end.
    """

    def __init__(self, stream: Any, name: str, opened: ExitStack) -> None:
        self.name = name
        self._stream = _Counted(stream)
        self._opened = opened
        self._first = bytearray()
        self._looking = True
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._looking and self._first:
            data = self._first[: len(buffer)]
            del self._first[: len(data)]
            buffer[: len(data)] = data
            return len(data)
        count = 0 if self._ended else self._stream.readinto(buffer)
        if self._looking:
            self._first += buffer[:count]
        if not count:
            self._ended = True
            self._opened.close()
        return count

    def rewind(self) -> None:
        """End the advance reading: from now on, all bytes are read from the first one."""
        self._looking = False

    def close(self) -> None:
        self._opened.close()
        super().close()


def peek(source: Source, size: int) -> tuple[bytes, Source]:
    """Return the first bytes of a source, decompressed, without consuming them.

    Parameters
    ----------
    source : str, path or binary file
        The source. Damaged data are left for its reader to report.
    size : int
        The number of bytes.

    Returns
    -------
    head : bytes
        The bytes; fewer than ``size`` if the source ends or is damaged before.
    source : Source
        The source to read from now on: the same one or, for a pipe, a stream of all its bytes.

    Raises
    ------
    InputError
        The source cannot be opened.
    """
    name = name_of(source)
    with ExitStack() as opened:
        raw = opened.enter_context(_opened(source, name))
        start = _position(raw)
        if start is not None:
            head = _head(raw, name, size)
            raw.seek(start)
            return head, source
        again = _Again(raw, name, opened.pop_all())
        head = _head(again, name, size)
        again.rewind()
        return head, cast("BinaryIO", again)


def _head(raw: Any, name: str, size: int) -> bytes:
    found, filled = memoryview(bytearray(size)), 0
    try:
        stream = _decompressed(_Counted(raw), name)
        while filled < size and (count := stream.readinto(found[filled:])):
            filled += count
    except Exception as error:
        if not isinstance(error, InputError) and _reason_of_failure(error, name) is None:
            raise
    return bytes(found[:filled])


def whole(source: Source, most: int | None = None) -> bytes:
    """Return all bytes of a source, decompressed, without a byte-order mark.

    Parameters
    ----------
    source : str, path or binary file
        As for `blocks`.
    most : int, optional
        The largest allowed number of bytes, decompressed. Reading stops soon after it.

    Raises
    ------
    InputError
        As for `blocks`; also if the source has more bytes.
    """
    name, parts = name_of(source), list[memoryview]()
    with _opened(source, name) as raw:
        state, stream = _state(raw), _Stream(raw, name)
        while not stream.ended:
            try:
                buffer, filled = stream.after(b"", BLOCK_SIZE)
            except InputError as error:
                raise at_line(error, sum(bytes(part).count(b"\n") for part in parts)) from None
            parts.append(buffer[:filled])
            if most is not None and sum(map(len, parts)) > most:
                raise InputError(f"the file has more than {most:,} bytes", file=name)
        _check_unchanged(raw, state, name)
    if not stream.started:
        raise InputError("the file is empty", "Is it the right file?", file=name)
    return b"".join(parts)


@contextmanager
def rewindable(source: Source) -> Iterator[BinaryIO]:
    """Open a source for random access, without decompressing it; a pipe is read into memory.

    Raises
    ------
    InputError
        The source cannot be opened or read.
    """
    name = name_of(source)
    with _opened(source, name) as raw:
        try:
            yield raw if _position(raw) == 0 else io.BytesIO(raw.read())
        except OSError as error:
            raise _refused(error, name, "read") from None
