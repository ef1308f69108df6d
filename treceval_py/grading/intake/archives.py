"""Untrusted zip and tar archives: which of their members can be read, and the members as streams.

Nothing is unpacked under its own name. A zip archive within an archive is copied to a temporary file without a name,
because it is read from its end; so are the files of a tar archive, which can only be read from its beginning.

References
----------
.. [1] PKWARE. APPNOTE.TXT: .ZIP File Format Specification, version 6.3.10, 2022.
.. [2] Fifield, D. "A better zip bomb." WOOT 2019. (Members that share their compressed bytes.)
"""

from __future__ import annotations

import gzip
import io
import os
import re
import stat
import struct
import tarfile
import tempfile
import threading
import weakref
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import IO, Any, BinaryIO, NamedTuple, TypeAlias, cast

from treceval_py.grading.intake.found import IntakeError, Limits, amount, path_of

LARGEST_DIRECTORY = 64 << 20
"""Largest list of members in bytes, since zipfile reads it whole; 100,000 members with long names need less."""

_ENTRY = b"PK\x01\x02"
"""Beginning of a member's record in the list at the end, see [1]_, 4.3.12."""

_LOCAL_HEADER = 30
"""Bytes of the record before a member, without its name, see [1]_, 4.3.7."""

_DEFLATE_SPREADS = 5 / 16383
"""Largest growth of data that cannot be compressed: five bytes per block of at least this size."""

BROKEN = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,  # including UnicodeDecodeError
    OverflowError,
    IndexError,
    struct.error,
    tarfile.TarError,
    OSError,
)
"""Exceptions of zipfile, tarfile and gzip for archives that are damaged, encrypted, or made to look so."""


def reason(error: BaseException) -> str:
    """Return the meaning of an exception of these modules or of the system, for people, without a full stop."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = str(error)
    if text.startswith("Bad CRC-32"):
        return "its bytes do not match their checksum"
    if isinstance(error, EOFError):
        return "it ends too early"
    if isinstance(error, UnicodeDecodeError):
        return "the name of a file in it is declared as UTF-8, but is not"
    if isinstance(error, (zlib.error, struct.error)):
        return "its compressed data is invalid"
    # zipfile quotes names unchanged, at any length.
    return next((words for start, words in _IN_WORDS.items() if text.startswith(start)), "it is damaged")


_IN_WORDS = {
    "Overlapped": "it shares bytes with another file of the archive",
    "Truncated": "it ends too early",
    "Bad magic number for central": "the list of its files is damaged",
    "Bad magic number for file": "it is not where the list of files says",
    "File name in directory": "the list of files gives it another name",
    "File is not a zip": "it has no list of files, as if its end were cut off",
}
"""Beginnings of zipfile's messages, and their meaning."""


class Member(NamedTuple):
    """A file in an archive.

    Attributes
    ----------
    number : int
        Its index in the list of members.
    parts : tuple of str
        Its path.
    size : int
        Its declared size.
    why : str
        Why it is refused; empty if it is not.
    time : str
        Time of the last change, ISO 8601: in local time in a zip archive, in UTC in a tar archive; empty if unknown.
    """

    number: int
    parts: tuple[str, ...]
    size: int
    why: str = ""
    time: str = ""


ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_OF_A_DOCUMENT = (
    *(".docx", ".docm", ".dotx", ".xlsx", ".xlsm", ".pptx", ".pptm", ".odt", ".ods", ".odp"),
    *(".jar", ".npz", ".epub", ".pages", ".numbers", ".key"),
)
_TAR = (".tar", ".tgz", ".tar.gz")
_OTHER_ENDINGS = re.compile(r"(?i)\.t(ar\.)?(bz2?|xz|zst)$")
_OTHER = {b"7z\xbc\xaf\x27\x1c": "a 7z archive", b"Rar!\x1a\x07": "a rar archive"}

BEGINNING = 1024
"""Bytes from which archives are recognised."""


def packed_as(head: bytes, name: str) -> str:
    """Return the kind of an archive: ``zip``, ``tar``, another one in words; empty if a file is not an archive.

    Parameters
    ----------
    head : bytes
        Its first `BEGINNING` bytes.
    name : str
        Its name; documents do not count as archives, though their format is one.
    """
    small = name.lower()
    if head.startswith(ZIP):
        return "" if small.endswith(_OF_A_DOCUMENT) else "zip"
    if head.startswith(b"\x1f\x8b"):
        try:
            head = zlib.decompressobj(31).decompress(head, 512)
        except zlib.error:
            head = b""
    if head[257:262] == b"ustar" or small.endswith(_TAR):
        return "tar"
    if _OTHER_ENDINGS.search(small):
        return "a tar archive in an unusual compression"
    return next((kind for magic, kind in _OTHER.items() if head.startswith(magic)), "")


def archive_in(stream: BinaryIO, name: str, limits: Limits) -> Archive:
    """Read the list of files of an archive.

    Parameters
    ----------
    stream : binary file
        The archive; closed with the returned object, or if it is refused.
    name : str
        The archive's name in messages.
    limits : Limits
        Limits on its number of files, and on the bytes unpacked.

    Raises
    ------
    IntakeError
        It is damaged, or has too many files.
    """
    kind = "archive"
    try:
        head = stream.read(4)
        stream.seek(0)
        kind = "zip archive" if head.startswith(ZIP) else "tar archive"
        return _Zip(stream, limits.entries) if head.startswith(ZIP) else _Tar(stream, limits)
    except IntakeError as error:
        stream.close()
        raise IntakeError(error.what, "Hand in fewer files.", file=name) from None
    except BROKEN as error:
        stream.close()
        fault = f"this {kind} cannot be read: {reason(error)}"
        raise IntakeError(fault, "Make it again, or hand in the files themselves.", file=name) from None


def _fault_of(kind: int, size: int, limits: Limits) -> str:
    """Return what is wrong with a file by its kind and size; empty if nothing is."""
    if kind in KINDS:
        return f"it is {KINDS[kind]}, not a file" + (": links are not followed" if kind == stat.S_IFLNK else "")
    return f"it has {amount(size)}, more than {amount(limits.file_bytes)}" if size > limits.file_bytes else ""


KINDS = {stat.S_IFLNK: "a link", stat.S_IFIFO: "a pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
KINDS[stat.S_IFSOCK] = "a socket"
"""Members that are not files, by the bits of their mode."""


def _unlike(members: list[Member]) -> list[Member]:
    """Refuse files of the same name."""
    often = Counter(member.parts for member in members)
    why = "the archive has {} files of this name, so it is not clear which one is meant"
    return [
        member._replace(why=why.format(often[member.parts])) if often[member.parts] > 1 and not member.why else member
        for member in members
    ]


# --- zip archives ---


class _Guarded:
    """A file for zipfile, which refuses to return a list of too many members, before any of them is built.

    It is closed when neither the archive nor a member of it is in use.
    """

    def __init__(self, stream: BinaryIO, entries: int) -> None:
        self._stream = stream
        self._entries: int | None = entries
        self.seek = stream.seek
        self.tell = stream.tell
        self.seekable = stream.seekable
        weakref.finalize(self, stream.close)

    def ready(self) -> None:
        """Tell it that the list was read."""
        self._entries = None

    def read(self, size: int = -1) -> bytes:
        if self._entries is None:
            return self._stream.read(size)
        if size > LARGEST_DIRECTORY:
            raise IntakeError(f"the list of its files has {amount(size)}, more than {amount(LARGEST_DIRECTORY)}")
        data = self._stream.read(size)
        if data.count(_ENTRY) > self._entries:
            raise IntakeError(f"it has more than {self._entries:,} files")
        return data


class _Zip:
    """A zip archive."""

    def __init__(self, stream: BinaryIO, entries: int) -> None:
        guarded = _Guarded(stream, entries)
        self._archive = zipfile.ZipFile(cast("IO[bytes]", guarded))
        guarded.ready()

    def members(self, limits: Limits) -> list[Member]:
        """Return its files in the order of its list; refused ones have the reason."""
        # Only the list is checked here; the real content of a member is checked, and limited, when it is read.
        infos = self._archive.infolist()
        sharing = _sharing(infos, self._archive.start_dir)
        members = []
        for number, info in enumerate(infos):
            parts, why = path_of(_name_of(info), limits.path)
            if info.orig_filename.endswith(("/", "\\")) and not info.file_size and (not why or parts == ("?",)):
                continue
            if not why and number in sharing:
                why = "it shares bytes with another file of the archive, or lies beyond its end, as in a zip bomb"
            members.append(Member(number, parts, info.file_size, why or _fault(info, limits), _time_of(info)))
        return _unlike(members)

    def opened(self, number: int, name: str) -> IO[bytes]:
        try:
            return self._archive.open(self._archive.infolist()[number])
        except BROKEN as error:
            raise IntakeError(f"it cannot be read: {reason(error)}", "Make the archive again.", file=name) from None


def _name_of(info: zipfile.ZipInfo) -> str:
    """Return the name as stored; without a UTF-8 mark it is CP437 by the standard, but often UTF-8."""
    name = info.orig_filename
    if info.flag_bits & 0x800 or name.isascii():
        return name
    try:
        return name.encode("cp437").decode("utf-8")
    except UnicodeError:
        return name


def _time_of(info: zipfile.ZipInfo) -> str:
    try:
        when = datetime(*info.date_time)
    except ValueError:
        return ""
    # 1980 is the first year of the format, and what programs write if they do not know the time.
    return when.isoformat() if when.year > 1980 else ""


def _fault(info: zipfile.ZipInfo, limits: Limits) -> str:
    """Return what is wrong with a member according to the list; empty if nothing is."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind in KINDS:
        return _fault_of(kind, 0, limits)
    if info.flag_bits & 0x2041:
        return "it is encrypted: hand it in without a password"
    if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        # zipfile's decompressors of bzip2 and LZMA return everything in a piece at once, without a limit.
        return "it is compressed in an unusual way: make the archive with the usual settings"
    if info.file_size > limits.file_bytes:
        return _fault_of(kind, info.file_size, limits)
    packed = info.file_size if info.compress_type == zipfile.ZIP_STORED else info.file_size * (1 + _DEFLATE_SPREADS)
    if info.compress_size > packed + 1024 * (info.compress_type == zipfile.ZIP_DEFLATED):
        return f"it is declared to have {amount(info.file_size)}, but has {amount(info.compress_size)} compressed"
    return ""


def _sharing(infos: list[zipfile.ZipInfo], end: int) -> set[int]:
    """Return the members that share bytes with others, or reach into the list of members, see [2]_."""
    spans = sorted(
        (info.header_offset, info.header_offset + _LOCAL_HEADER + len(info.orig_filename) + info.compress_size, number)
        for number, info in enumerate(infos)
    )
    sharing: set[int] = set()
    furthest, holder = 0, -1
    for start, stop, number in spans:
        if start < furthest:
            sharing.update((number, holder))
        if start < 0 or stop > end:
            sharing.add(number)
        if stop > furthest:
            furthest, holder = stop, number
    return sharing


# --- tar archives ---

_BLOCK = 512
"""Block size of a tar archive in bytes."""

LONGEST_RECORD = 1 << 16
"""Most bytes of a record with a long name."""


class _Tar:
    """A tar archive, compressed by gzip or not, whose files are copied to a temporary file."""

    def __init__(self, stream: BinaryIO, limits: Limits) -> None:
        self._copy = tempfile.TemporaryFile()  # noqa: SIM115 - closed with its last user
        self._lock = threading.Lock()
        weakref.finalize(self, self._copy.close)
        self._list: list[tuple[tarfile.TarInfo, int]] = []
        with stream:
            compressed = stream.read(2) == b"\x1f\x8b"
            stream.seek(0)
            plain = cast("IO[bytes]", gzip.GzipFile(fileobj=stream)) if compressed else stream
            for info, data in _records(_Counted(plain, limits.unpacked)):
                if len(self._list) >= limits.entries:
                    raise IntakeError(f"it has more than {limits.entries:,} files")
                self._list.append((info, self._copy.tell()))
                if info.type in _REGULAR and info.size <= limits.file_bytes:
                    self._copy.writelines(data)

    def members(self, limits: Limits) -> list[Member]:
        members = []
        for number, (info, _) in enumerate(self._list):
            parts, why = path_of(info.name, limits.path)
            if not info.isdir() or (why and parts != ("?",)):
                kind = stat.S_IFLNK if info.islnk() or info.issym() else _TYPES.get(info.type, 0)
                if not why and not kind and info.type not in _REGULAR:
                    why = "it is of a kind that cannot be read: make the archive with the usual settings"
                why = why or _fault_of(kind, info.size, limits)
                members.append(Member(number, parts, info.size, why, _utc(info.mtime)))
        return _unlike(members)

    def opened(self, number: int, name: str) -> IO[bytes]:  # noqa: ARG002 - the signature of all archives
        info, start = self._list[number]
        return cast("IO[bytes]", _Part(self, start, info.size))

    def read(self, at: int, size: int) -> bytes:
        """Return bytes of the copy."""
        with self._lock:
            self._copy.seek(at)
            return self._copy.read(size)


_REGULAR = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE)
_TYPES = {tarfile.FIFOTYPE: stat.S_IFIFO, tarfile.CHRTYPE: stat.S_IFCHR, tarfile.BLKTYPE: stat.S_IFBLK}


def _utc(seconds: float) -> str:
    return f"{datetime.fromtimestamp(int(seconds), UTC):%Y-%m-%dT%H:%M:%SZ}" if 0 < seconds < 1 << 32 else ""


class _Counted:
    """A stream that raises when more is read than allowed."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._stream = stream
        self._most = self._left = most

    def read(self, size: int) -> bytes:
        """Return exactly this many bytes, or none at the end; raise if the stream ends before."""
        data = b""
        while len(data) < size and (more := self._stream.read(size - len(data))):
            data += more
        self._left -= len(data)
        if self._left < 0:
            raise IntakeError(f"it unpacks to more than {amount(self._most)}")
        if 0 < len(data) < size:
            raise EOFError
        return data


def _records(stream: _Counted) -> Iterator[tuple[tarfile.TarInfo, Iterator[bytes]]]:
    """Yield the files of a tar archive, each with its data, which must be read before the next one.

    tarfile itself silently stops where an archive is damaged, and follows records of any length.
    """
    name = ""
    while (header := stream.read(_BLOCK)).strip(b"\0") or not header:
        if not header:
            raise EOFError
        info = tarfile.TarInfo.frombuf(header, "utf-8", "surrogateescape")
        if info.size < 0 or (info.type in _EXTENDED and info.size > LONGEST_RECORD):
            raise tarfile.HeaderError
        data = _pieces(stream, info.size)
        if info.type in _EXTENDED:
            name = _name_in(b"".join(data), info.type) or name
        else:
            info.name, name = name or info.name, ""
            yield info, data
            for _ in data:  # read the rest
                pass
    while header:
        if header.strip(b"\0"):
            raise IntakeError("it continues after its end, as if several archives were joined")
        header = stream.read(_BLOCK)


_EXTENDED = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE)


def _name_in(record: bytes, kind: bytes) -> str:
    """Return the name that a record gives to the next file; empty if it gives none."""
    name, at = b"", 0
    if kind == tarfile.GNUTYPE_LONGNAME:
        name = record.rstrip(b"\0")
    while kind == tarfile.XHDTYPE and (length := _LENGTH.match(record, at)):
        end = at + int(length[1])
        key, _, value = record[length.end() : end].rstrip(b"\n").partition(b"=")
        if key == b"size" or key.startswith(b"GNU.sparse"):
            raise tarfile.HeaderError  # a size other than that in the header: 8 GiB or more, or a sparse file
        name = value if key == b"path" else name
        at = max(end, length.end())
    return name.decode("utf-8", "surrogateescape")


_LENGTH = re.compile(rb"(\d{1,9}) ")


def _pieces(stream: _Counted, size: int) -> Iterator[bytes]:
    """Yield the data of a file, and read to the end of its last block."""
    while size > 0:
        piece = stream.read(min(size, 1 << 20))
        if not piece:
            raise EOFError
        # After the last piece, the rest of its block is read too.
        size -= len(piece)
        yield piece
        if not size and len(piece) % _BLOCK:
            stream.read(-len(piece) % _BLOCK)


class _Part(io.RawIOBase):
    """A file of a tar archive."""

    def __init__(self, archive: _Tar, start: int, size: int) -> None:
        self._archive = archive
        self._start, self._size, self._at = start, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = max(offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence], 0)
        return self._at

    def readinto(self, buffer: Any) -> int:
        data = self._archive.read(self._start + self._at, max(min(len(buffer), self._size - self._at), 0))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


Archive: TypeAlias = _Zip | _Tar
"""An archive whose list of files was read."""


# --- archives that stay open ---

_kept: list[tuple[tuple[object, ...], Archive]] = []
_lock = threading.RLock()
_MOST_KEPT = 2
"""The archive of a class, and that of one student in it."""


def kept_archive(key: tuple[object, ...], opened: Callable[[], BinaryIO], name: str, limits: Limits) -> Archive:
    """Return an archive that stays open for a while, since its files are usually read one after the other.

    Parameters
    ----------
    key : tuple
        Identifies the archive.
    opened : callable
        Opens the archive.
    name, limits
        See `archive_in`.

    Raises
    ------
    IntakeError
        As in `archive_in` and ``opened``.
    """
    # A forked process shares the file position with its parent, so it opens its own.
    own = (os.getpid(), *key)
    with _lock:
        for place, (known, archive) in enumerate(_kept):
            if known == own:
                _kept.append(_kept.pop(place))
                return archive
        archive = archive_in(opened(), name, limits)
        _kept.append((own, archive))
        del _kept[:-_MOST_KEPT]
        return archive


def close_kept() -> None:
    """Close the archives that were kept open, which frees their files, including temporary ones."""
    with _lock:
        _kept.clear()  # each is closed with its last user
