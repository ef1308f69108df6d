"""Open a file, a pipe or standard input, decompress it, and split it into blocks of whole lines."""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from types import SimpleNamespace
from typing import Any, BinaryIO, cast

import numpy as np

from treceval_py._types import Source
from treceval_py.data.ids import encode, shown
from treceval_py.errors import InputError
from treceval_py.io.formats import GLANCE, is_text
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

PACKED_BEGINS = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
"""First bytes of compressed files: RFC 1952, the bzip2 manual, the .xz file format 1.1, RFC 8878."""

_BZIP2 = b"1AY&SY", b"\x17rE8P\x90"
"""What follows after "BZh" and a digit in a bzip2 file: the first bytes of a block, or of the end if there is none."""

_OTHER_FILES = {
    b"PK\x03\x04": "a zip archive: unpack it first",
    b"PAR1": "a Parquet file, which has no lines: its format is parquet",
    b"%PDF": "a PDF document",
    b"\x93NUMPY": "a NumPy array: load it with numpy and use Run.from_arrays",
    b"\xff\xfe": "UTF-16 text: save it as UTF-8",
    b"\xfe\xff": "UTF-16 text: save it as UTF-8",
}

# By name, as to import the module would cost those who need no compression. ZstdError has a different module in each
# package and version: zstandard up to 0.23 says "zstd".
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
        problem = "neither a file nor a text was given" if text is None else f"text= is {shown(text)}, not text"
        raise InputError(problem, "Give a path, an open binary file, or text=….")
    return Text(encode(text) if isinstance(text, str) else text)


Watch = Callable[[int, "int | None"], None]
"""Progress callback, called with the bytes read from a source and its size (None if unknown)."""


def blocks(
    source: Source,
    size: int | None = None,
    *,
    name: str | None = None,
    whole_queries: bool = False,
    columns: bool = False,
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
    columns : bool
        Whether lines are rows of fields, so that a last line without a newline and with fewer fields was cut off.
    watch : callable, optional
        Progress callback, called for every block.

    Yields
    ------
    block : memoryview
        Whole lines, each ending with a newline, even the file's last one. A byte-order mark is removed.

    Raises
    ------
    InputError
        The source cannot be read, is empty, damaged, cut off or not text, or changed while it was read. Line numbers
        in the error count from the end of the previous block, because only the reader of lines counts them all: see
        `at_line`.
    """
    name = name_of(source) if name is None else name
    size = size or (SMALL_BLOCK_SIZE if scanner() is None else BLOCK_SIZE)
    with _opened(source, name, continued=True) as raw:
        state, _ = _state(raw)
        stream = _Stream(raw, name)
        rest, before, broken = memoryview(b""), b"", False
        while True:
            buffer, filled = stream.after(rest, max(size, 2 * len(rest)))
            if watch is not None:
                watch(stream.raw.count, state[0] if state is not None else None)
            lines = _last_newline(buffer, filled) + 1
            if stream.ended or filled - lines > LONGEST_LINE:
                break
            cut = _last_query(buffer, lines) if whole_queries else lines
            if cut:
                before = _last_line(buffer, cut)
                yield buffer[:cut]
            rest = buffer[cut:filled]
        if stream.ended:
            _check_unchanged(raw, state, name)
            last = bytes(buffer[lines:filled])
            broken = columns and last != b"" and _is_cut_off(last, _last_line(buffer, lines) if lines else before)
            if last and not broken:
                buffer[filled : filled + 1] = b"\n"
                lines = filled + 1
        if lines:
            yield buffer[:lines]
        if broken:
            problem = "the file ends within this line: it was cut off"
            raise InputError(problem, "Copy it or write it again.", file=name, line=1)
        if not stream.ended:
            raise InputError(f"a line has more than {LONGEST_LINE:,} bytes", "Is this a text file?", file=name, line=1)


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
        newline = bytes(buffer[start:end]).rfind(b"\n")
        if newline >= 0:
            return start + newline
        end, step = start, step * 4
    return -1


def _last_line(buffer: memoryview, end: int) -> bytes:
    return bytes(buffer[_last_newline(buffer, end - 1) + 1 : end])


def _is_cut_off(last: bytes, before: bytes) -> bool:
    """Tell whether a file's last line, which has no newline, lacks fields of the line before it.

    No format needs more than six fields: the tag of a run, the sixth, may have several words.
    """
    if before.lstrip().startswith(b"#") or last.lstrip().startswith(b"#"):
        return False
    fewer_tabs = b"\t" not in before or last.count(b"\t") < before.count(b"\t")  # ids between tabs may have spaces
    return fewer_tabs and 0 < len(last.split()) < min(6, len(before.split()))


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


class File(io.FileIO):
    """A file that is opened here.

    Attributes
    ----------
    begun : (_Bytes, callable) or None
        After a look at its beginning, its bytes and what reads them decompressed, from the first one.
    """

    begun: tuple[Any, Callable[[Any], int]] | None = None

    def __del__(self) -> None:
        self.close()

    def restart(self) -> None:
        """Return to the first byte."""
        self.begun = None
        self.seek(0)


class Peeked(os.PathLike[str]):
    """The path of a file that is open after a look at its beginning; whoever reads it first continues from there."""

    def __init__(self, path: str | os.PathLike[str], raw: File) -> None:
        self._path = os.fspath(path)
        self._raw: File | None = raw

    def __fspath__(self) -> str:
        return self._path

    def take(self, continued: bool) -> File | None:
        """Return the open file, once: to be continued, or at its beginning."""
        raw, self._raw = self._raw, None
        if raw is not None and not continued:
            raw.restart()
        return raw


class _Stream:
    """The decompressed bytes of a source, read into buffers.

    Attributes
    ----------
    raw : _Bytes
        The source.
    ended : bool
        Whether the source is exhausted.
    """

    def __init__(self, raw: Any, name: str) -> None:
        self.raw = _Bytes(raw)
        self._name = name
        self._readinto = _decompressed(self.raw, name)
        if isinstance(raw, File) and raw.begun is not None:
            (self.raw, self._readinto), raw.begun = raw.begun, None
        self._started = False
        self.ended = False

    def after(self, rest: memoryview, room: int) -> tuple[memoryview, int]:
        """Read more. Return a buffer that begins with ``rest`` and has a spare byte, and the end of its data.

        Raises
        ------
        InputError
            The source cannot be read, is empty, or is not text.
        """
        room, filled = max(room, SHORTEST_BLOCK), len(rest)
        # Not a bytearray, which would first be filled with zeros.
        buffer = np.empty(room + 1, dtype=np.uint8).data
        buffer[:filled] = rest
        while filled < room and not self.ended:
            try:
                count = self._readinto(buffer[filled:room])
            except InputError as error:
                # Lines before the damage are not used: damaged data may decompress to lines that nobody wrote.
                raise at_line(error, bytes(buffer[:filled]).count(b"\n")) from None
            self.ended = not count
            filled += count
        if self._started:
            return buffer, filled
        if not filled:
            raise InputError("the file is empty", "Is it the right file?", file=self._name)
        self._started, start = True, bytes(buffer[: min(filled, SHORTEST_BLOCK)])
        for magic, kind in _OTHER_FILES.items():
            if start.startswith(magic) and not is_text(bytes(buffer[: min(filled, GLANCE)])):
                raise InputError(f"this is {kind}", file=self._name)
        if start[:2].count(0) == 1 or start[2:4].count(0) == 1:
            raise InputError("this looks like UTF-16 text: save it as UTF-8", file=self._name)
        mark = len(BYTE_ORDER_MARK) if start.startswith(BYTE_ORDER_MARK) else 0
        return buffer[mark:], filled - mark


def _failure_of(error: Exception, name: str) -> InputError | None:
    """Return the error for an exception of a stream, or None if the exception does not concern its data."""
    if isinstance(error, OSError) and error.errno is not None:  # bz2 raises OSErrors that are not from the system
        return _refused(error, name, "read")
    if isinstance(error, (OSError, EOFError, zlib.error)) or type(error).__name__ in _DAMAGE_BY_NAME:
        damage = f"the compressed data is damaged or cut off ({_reason(error)})"
        return InputError(damage, "Copy or download the file again.", file=name, line=1)
    return None


def near_file(path: str) -> str:
    """Return the file, beside one that is missing, whose name differs only in its ending or hardly; empty if none."""
    from difflib import get_close_matches
    from itertools import islice

    folder, name = os.path.split(path)
    try:
        files = sorted(entry.name for entry in islice(os.scandir(folder or "."), 1000) if entry.is_file())
    except OSError:
        return ""
    alike = [file for file in files if file.split(".")[0] == name.split(".")[0] != ""]
    meant = next(iter(alike or get_close_matches(name, files, 1, 0.8)), "")
    return meant and os.path.join(folder, meant)


def _refused(error: OSError, name: str, done: str) -> InputError:
    """Return the system's error. A directory fails on opening or, as standard input, on reading."""
    if error.errno == errno.EISDIR:
        return InputError("is a folder", "Give a file.", file=name)
    if "://" in name:
        return InputError("is an address on the web", "Download the file, and give its path.", file=name)
    if error.errno == errno.ENOENT:
        near = near_file(name)
        return InputError("no such file", f"Did you mean {near}?" if near else "Check the name.", file=name)
    return InputError(f"cannot be {done}: {_reason(error)}", "Check the file.", file=name)


def _reason(error: BaseException) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text.rstrip(".") or type(error).__name__


def _file(path: str | os.PathLike[str], name: str) -> File:
    try:
        return File(path, "rb")
    except (OSError, ValueError) as error:  # a NUL in a path raises a ValueError
        if isinstance(error, ValueError) or ("\n" in name and len(name.split()) >= 3) or " Q0 " in name:
            problem = f"{shown(name)} is not a path"
            raise InputError(problem, "If it is the text of a file, give it as te.read_run(text=…).") from None
        raise _refused(error, name, "opened") from None


@contextmanager
def _opened(source: Source, name: str, *, continued: bool = False) -> Iterator[Any]:
    """Open a source for reading bytes, or continue with a peeked file; a stream that the caller opened stays open."""
    if isinstance(source, (str, os.PathLike)) and os.fspath(source) != "-":
        with (source.take(continued) if isinstance(source, Peeked) else None) or _file(source, name) as raw:
            yield raw
        return
    given: Any = source
    if isinstance(source, (str, os.PathLike)):
        if sys.stdin is None:
            raise InputError("standard input is closed", "Give a file instead of '-'.", file="<stdin>")
        given = sys.stdin.buffer
    if isinstance(given, io.TextIOBase):
        raise InputError("is open as text", "Open the file with mode 'rb', or give its path.", file=name)
    if not callable(getattr(given, "read", None)) and not callable(getattr(given, "readinto", None)):
        todo = "Give a path, an open binary file, or text=…; te.Run and te.Qrels take objects."
        raise InputError(f"{shown(given)} is not a file", todo)
    yield given


def _state(raw: Any) -> tuple[tuple[int, int] | None, int | None]:
    """Return a regular file's size and modification time, and a stream's position; None for what it lacks."""
    state = position = None
    with suppress(AttributeError, OSError, ValueError):
        status = os.fstat(raw.fileno())
        state = (status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None
    with suppress(AttributeError, OSError, ValueError):
        position = int(raw.tell()) if raw.seekable() else None
    return state, position


def _check_unchanged(raw: Any, state: tuple[int, int] | None, name: str) -> None:
    if _state(raw)[0] != state:
        raise InputError("the file changed while it was read", "Run again when nothing writes to it.", file=name)


class _Bytes(io.RawIOBase):
    """The bytes of any object with ``readinto`` or ``read``, copied so that they can be read again after `rewind`.

    Parameters
    ----------
    stream : object
        The bytes.
    name : str
        Its name in messages.
    copy : binary file, optional
        Holds all bytes. Default: only those read before the first `rewind` are kept, until they are read again.

    Attributes
    ----------
    count : int
        Number of bytes taken from the stream so far.
    opened : object
        What must stay open as long as this object lives.
    """

    def __init__(self, stream: Any, name: str = "", copy: Any = None) -> None:
        self.name = name
        self.count = 0
        self.opened: Any = None
        self._stream = stream
        self._copy = io.BytesIO() if copy is None else copy
        self._once = copy is None
        self._again = self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._again:
            count: int = self._copy.readinto(buffer)
            if count:
                return count
            self._again = False
            if self._once:
                self._copy = None
        count = 0
        if hasattr(self._stream, "readinto"):
            count = (not self._ended and self._stream.readinto(buffer)) or 0
        elif not self._ended:
            data = self._stream.read(len(buffer)) or b""
            if not isinstance(data, (bytes, bytearray, memoryview)):
                raise InputError("is open as text, or not a file", "Open the file with mode 'rb', or give its path.")
            count = len(data)
            buffer[:count] = data
        self._ended = not count and len(buffer) > 0  # a terminal would go on
        self.count += count
        if self._copy is not None:
            try:
                self._copy.write(buffer[:count])
            except OSError as error:
                problem = f"there is no room for a copy of the pipe: {_reason(error)}"
                raise InputError(problem, "Write the run to a file first.", file=self.name) from None
        return count

    def rewind(self) -> None:
        """Restart at the first byte."""
        self._copy.seek(0)
        self._again = True


def _decompressed(raw: _Bytes, name: str) -> Callable[[Any], int]:
    """Return a function that reads decompressed bytes into a buffer, all those before damage, which it refuses."""
    read: Callable[[Any], int] | None = None

    def readinto(buffer: Any) -> int:
        nonlocal read
        try:
            read = read or _decompressor(raw, name)
            return read(buffer)
        except Exception as error:
            failure = _failure_of(error, name)
            if failure is None:
                raise
            raise failure from None

    return readinto


def compression_of(head: bytes) -> str | None:
    """Return how a file is compressed, by its first ten bytes or all if it has fewer; None if it is not."""
    kind = next((kind for magic, kind in PACKED_BEGINS.items() if head.startswith(magic)), None)
    # Of bzip2, the first three bytes are letters.
    letters = kind == "bzip2" and not (head[3:4] in b"123456789" and any(it.startswith(head[4:10]) for it in _BZIP2))
    return None if letters else kind


def _decompressor(raw: _Bytes, name: str) -> Callable[[Any], int]:
    head = b""
    while len(head) < 10 and (more := raw.read(10 - len(head))):  # a pipe may give a byte at a time
        head += more
    raw.rewind()
    kind = compression_of(head) if head.startswith((*PACKED_BEGINS,)) else None
    if kind is None:
        return raw.readinto
    if kind == "gzip":
        from treceval_py.io.gzipped import Gzip

        return Gzip(raw).readinto
    stream = io.BufferedReader(raw, 1 << 18)
    if kind == "bzip2":
        import bz2

        return bz2.BZ2File(stream).readinto1
    if kind == "xz":
        import lzma

        return lzma.LZMAFile(stream).readinto1
    return cast("io.BufferedReader", open_zstd(cast("BinaryIO", stream), name)).readinto1


def pieces(source: Source) -> Iterator[bytes]:
    """Yield the bytes of a source, decompressed.

    Raises
    ------
    InputError
        The source cannot be read, or is damaged.
    """
    name = name_of(source)
    with _opened(source, name) as raw:
        read, buffer = _decompressed(_Bytes(raw), name), bytearray(SMALL_BLOCK_SIZE)
        while count := read(buffer):
            yield bytes(buffer[:count])


def stream_of(data: Iterator[bytes]) -> BinaryIO:
    """Return bytes that come in pieces as a stream."""
    return cast("BinaryIO", _Pieces(data))


class _Pieces(io.RawIOBase):
    """Bytes that an iterator gives in pieces."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = filter(None, pieces)
        self._piece = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._piece or next(self._pieces, b"")
        count = min(len(piece), len(buffer))
        buffer[:count], self._piece = piece[:count], piece[count:]
        return count


ZSTD_PIECE = 1 << 11
"""Bytes of zstd decompressed at a time. Four bytes can encode a block of 128 KiB (RFC 8878, 3.1.1.2), and the package
``zstandard`` decompresses a piece as a whole."""


def _zstd_frames(stream: BinaryIO, zstandard: Any) -> Iterator[bytes]:
    """Decompress frames by the package ``zstandard``, whose own reader accepts truncated frames."""
    new, frame = zstandard.ZstdDecompressor().decompressobj, None
    while packed := stream.read(ZSTD_PIECE):
        while packed:
            frame = frame or new()
            yield frame.decompress(packed)
            packed, frame = (frame.unused_data, None) if frame.eof else (b"", frame)
    if frame is not None:
        raise EOFError("the end of a frame is missing")


def open_zstd(stream: BinaryIO, name: str, mode: str = "rb") -> BinaryIO:
    """Read or write zstd through the standard library (Python 3.14), ``backports.zstd`` or ``zstandard``.

    Raises
    ------
    InputError
        None of these is installed.
    """
    for module in "compression.zstd", "backports.zstd":
        with suppress(ImportError):
            return cast("BinaryIO", import_module(module).ZstdFile(stream, mode))
    try:
        import zstandard
    except ImportError:
        problem = "zstd compression needs a package that is not installed"
        raise InputError(problem, "pip install zstandard", file=name) from None
    if mode == "rb":
        return cast("BinaryIO", io.BufferedReader(_Pieces(_zstd_frames(stream, zstandard)), BLOCK_SIZE))
    return cast("BinaryIO", zstandard.ZstdCompressor().stream_writer(stream, closefd=False))


def numbered(source: Source, name: str | None = None, *, columns: bool = False) -> Iterator[tuple[int, memoryview]]:
    """Yield a source's blocks with the number of their first line; parameters and errors as for `blocks`."""
    lines = 0
    try:
        for block in blocks(source, name=name, columns=columns):
            yield lines + 1, block
            lines += int(np.count_nonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n")))
    except InputError as error:
        raise at_line(error, lines) from None


SPOOL_SIZE = 1 << 25
"""Bytes of a pipe kept in memory before they go to a temporary file."""


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
    with _opened(source, name, continued=True) as raw:
        state, start = _state(raw)
        if start is None:
            import tempfile

            with tempfile.SpooledTemporaryFile(SPOOL_SIZE) as copy:
                copied = cast("Any", _Bytes(raw, name, copy))
                yield copied, lambda: copied.rewind() or copied
            return

        def again() -> BinaryIO:
            _check_unchanged(raw, state, name)
            if isinstance(raw, File):
                raw.restart()
            else:
                raw.seek(start)
            return cast("BinaryIO", raw)

        try:
            yield raw, again
        except InputError:
            _check_unchanged(raw, state, name)  # the error may be due to another program that is rewriting the file
            raise


def peek(source: Source, size: int) -> tuple[bytes, Source]:
    """Return the first bytes of a source, and where to read it from now on; as for `glance`."""
    head, _, source = glance(source, size)
    return head, source


def glance(source: Source, size: int, enough: Callable[[bytes], bool] | None = None) -> tuple[bytes, bool, Source]:
    """Look at the first bytes of a source, decompressed, without consuming them.

    Parameters
    ----------
    source : str, path or binary file
        The source. Damaged data are left for its reader to report.
    size : int
        The number of bytes.
    enough : callable, optional
        Whether these are enough; if not, `LONGEST_LINE` bytes are read.

    Returns
    -------
    head : bytes
        The bytes; fewer if the source ends or is damaged before.
    ended : bool
        Whether the source ends with these bytes, or is damaged there.
    source : Source
        The source to read from now on: the same one; of a file, its path, which is open and continues after these
        bytes; of a pipe, a stream of all its bytes.

    Raises
    ------
    InputError
        The source cannot be opened.
    """
    name = name_of(source)
    with ExitStack() as opened:
        path = isinstance(source, (str, os.PathLike)) and os.fspath(source) != "-"
        file = _file(cast("str", source), name) if path and not isinstance(source, Peeked) else None
        raw = opened.enter_context(file or _opened(source, name))
        (_, start), copied = _state(raw), _Bytes(raw, name)
        packed, head, ended, damaged = _Bytes(raw if start is not None else copied), bytearray(), False, False
        try:
            text = _Bytes(SimpleNamespace(readinto=_decompressed(packed, name)))
            for most in (size, LONGEST_LINE):
                while not ended and len(head) < most:
                    count = text.readinto(piece := bytearray(min(most - len(head), SMALL_BLOCK_SIZE)))
                    head += piece[:count]
                    ended = not count
                if ended or enough is None or enough(bytes(head)):
                    break
        except InputError:
            ended = damaged = True
        if start is None:
            copied.rewind()
            copied.opened = opened.pop_all()
            source = cast("BinaryIO", copied)
        elif file is not None and not damaged:
            text.rewind()
            file.begun = packed, text.readinto
            opened.pop_all()
            source = Peeked(cast("str", source), file)
        else:
            raw.seek(start)
        return bytes(head), ended, source


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
    name, text = name_of(source), memoryview(b"")
    with _opened(source, name, continued=True) as raw:
        (state, _), stream = _state(raw), _Stream(raw, name)
        while not stream.ended:
            buffer, filled = stream.after(text, max(BLOCK_SIZE, 2 * len(text)))
            text = buffer[:filled]
            if most is not None and filled > most:
                raise InputError(f"the file has more than {most:,} bytes", file=name)
        _check_unchanged(raw, state, name)
    return bytes(text)


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
            yield raw if _state(raw)[1] == 0 else io.BytesIO(raw.read())
        except OSError as error:
            raise _refused(error, name, "read") from None
