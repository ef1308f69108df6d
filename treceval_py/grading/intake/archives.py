"""Archives that nobody has looked at, zip and tar: which of their members can be read, and the members as streams.

Nothing is unpacked to a name of its own. A zip archive that lies in another archive is copied to a temporary file
without a name, as it is read from its end; so are the files of a tar archive, which is read from its beginning only.

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

__all__ = ["BROKEN", "KINDS", "Archive", "Member", "close_kept", "kept_archive", "packed_as", "reason"]

LARGEST_DIRECTORY = 64 << 20
"""Bytes of the list of members, which zipfile reads whole; 100,000 members with long names have less."""

_ENTRY = b"PK\x01\x02"
"""How the record of a member begins in the list at the end, see [1]_, 4.3.12."""

_LOCAL_HEADER = 30
"""Bytes of the record before a member, without its name, see [1]_, 4.3.7."""

_DEFLATE_SPREADS = 5 / 16383
"""Data that cannot be compressed get longer by no more: five bytes a block of at least so many."""

BROKEN = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,  # among them UnicodeDecodeError
    OverflowError,
    IndexError,
    struct.error,
    tarfile.TarError,
    OSError,
)
"""What zipfile, tarfile and gzip raise for archives that are damaged, encrypted, or made to look so."""


def reason(error: BaseException) -> str:
    """Return what an exception of these modules or of the system says, for people, without full stop."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = str(error)
    if text.startswith("Bad CRC-32"):
        return "its bytes do not agree with their check sum"
    if isinstance(error, EOFError):
        return "it ends too early"
    if isinstance(error, UnicodeDecodeError):
        return "the name of a file in it is not the UTF-8 that it is said to be"
    if isinstance(error, (zlib.error, struct.error)):
        return "its compressed bytes make no sense"
    # zipfile quotes names as they are, of any length.
    return next((words for start, words in _IN_WORDS.items() if text.startswith(start)), "it is damaged")


_IN_WORDS = {
    "Overlapped": "it shares bytes with another file of the archive",
    "Truncated": "it ends too early",
    "Bad magic number for central": "the list of its files is damaged",
    "Bad magic number for file": "it is not at the place where the list of files says",
    "File name in directory": "it has another name in the list of files than at its place",
    "File is not a zip": "it has no list of files, as if its end were cut off",
}
"""How messages of zipfile begin, and what they mean."""


class Member(NamedTuple):
    """A file in an archive.

    Attributes
    ----------
    number : int
        Its place in the list of members.
    parts : tuple of str
        Its path.
    size : int
        Its size as it is declared.
    why : str
        Why it is refused; empty where it is not.
    time : str
        When it was last changed, ISO 8601: in local time in a zip archive, in UTC in a tar archive; empty if unknown.
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
"""Bytes by which archives are known."""


def packed_as(head: bytes, name: str) -> str:
    """Tell which archive a file is: ``zip``, ``tar``, another one in words, or none.

    Parameters
    ----------
    head : bytes
        Its first `BEGINNING` bytes.
    name : str
        Its name; documents are no archives, though their format is.
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
    return next((what for magic, what in _OTHER.items() if head.startswith(magic)), "")


def archive_in(stream: BinaryIO, name: str, limits: Limits) -> Archive:
    """Read the list of files of an archive.

    Parameters
    ----------
    stream : binary file
        The archive; it is closed with the object that is returned, or where it is refused.
    name : str
        How messages call it.
    limits : Limits
        How many files it may have, and how much is unpacked.

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
        what = f"this is no {kind} that can be read: {reason(error)}"
        raise IntakeError(what, "Make it again, or hand in the files themselves.", file=name) from None


def _fault_of(kind: int, size: int, limits: Limits) -> str:
    """Return what is wrong with a file by its kind and size."""
    if kind in KINDS:
        return f"it is {KINDS[kind]}, not a file" + (": links are not followed" if kind == stat.S_IFLNK else "")
    return f"it has {amount(size)}, more than {amount(limits.file_bytes)}" if size > limits.file_bytes else ""


KINDS = {stat.S_IFLNK: "a link", stat.S_IFIFO: "a pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
KINDS[stat.S_IFSOCK] = "a socket"
"""What is no file, by the bits of its mode."""


def _unlike(members: list[Member]) -> list[Member]:
    """Refuse files of the same name."""
    often = Counter(member.parts for member in members)
    why = "the archive has {} files of this name, so that it is not clear which one is meant"
    return [
        each._replace(why=why.format(often[each.parts])) if often[each.parts] > 1 and not each.why else each
        for each in members
    ]


# --- zip archives ---


class _Guarded:
    """A file that zipfile reads, which refuses to hand over a list of too many members before any is built.

    It is closed when neither the archive nor a member of it is in use any more.
    """

    def __init__(self, stream: BinaryIO, entries: int) -> None:
        self._stream = stream
        self._entries: int | None = entries
        self.seek = stream.seek
        self.tell = stream.tell
        self.seekable = stream.seekable
        weakref.finalize(self, stream.close)

    def ready(self) -> None:
        """Say that the list was read."""
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
        """Return its files in the order of its list, each with why it is refused, if it is."""
        # Only the list is looked at: what a member really holds is seen, and bounded, when it is read.
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
    """Return the name as it stands in the archive; without a mark it is CP437 by the standard, but often UTF-8."""
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
    # 1980 is where the format begins, and what programs write that do not know the time.
    return when.isoformat() if when.year > 1980 else ""


def _fault(info: zipfile.ZipInfo, limits: Limits) -> str:
    """Return what is wrong with a member by what the list says of it."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind in KINDS:
        return _fault_of(kind, 0, limits)
    if info.flag_bits & 0x2041:
        return "it is encrypted: hand it in without a password"
    if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        # The decompressors of bzip2 and LZMA, as zipfile uses them, give all at once that a piece holds.
        return "it is compressed in an unusual way: make the archive with the usual settings"
    if info.file_size > limits.file_bytes:
        return _fault_of(kind, info.file_size, limits)
    packed = info.file_size if info.compress_type == zipfile.ZIP_STORED else info.file_size * (1 + _DEFLATE_SPREADS)
    if info.compress_size > packed + 1024 * (info.compress_type == zipfile.ZIP_DEFLATED):
        return f"it is declared to have {amount(info.file_size)}, but there are {amount(info.compress_size)} of it"
    return ""


def _sharing(infos: list[zipfile.ZipInfo], end: int) -> set[int]:
    """Return which members have bytes in common with others, or reach into the list of members, see [2]_."""
    spans = sorted(
        (info.header_offset, info.header_offset + _LOCAL_HEADER + len(info.orig_filename) + info.compress_size, number)
        for number, info in enumerate(infos)
    )
    found: set[int] = set()
    furthest, holder = 0, -1
    for start, stop, number in spans:
        if start < furthest:
            found.update((number, holder))
        if start < 0 or stop > end:
            found.add(number)
        if stop > furthest:
            furthest, holder = stop, number
    return found


# --- tar archives ---

_BLOCK = 512
"""Bytes by which a tar archive goes on."""

LONGEST_RECORD = 1 << 16
"""Bytes of a record with a long name."""


class _Tar:
    """A tar archive, compressed by gzip or not, whose files were copied to a temporary file."""

    def __init__(self, stream: BinaryIO, limits: Limits) -> None:
        self._copy = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the last that uses it
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
                    why = "it is of a kind that is not read: make the archive with the usual settings"
                why = why or _fault_of(kind, info.size, limits)
                members.append(Member(number, parts, info.size, why, _utc(info.mtime)))
        return _unlike(members)

    def opened(self, number: int, name: str) -> IO[bytes]:  # noqa: ARG002 - as of all archives
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
    """A stream that ends with an error where more is read than is allowed."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._stream = stream
        self._most = self._left = most

    def read(self, size: int) -> bytes:
        """Return at most so many bytes; none at the end, and an error if there are fewer and that is the end."""
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

    tarfile itself stops without a word where an archive is damaged, and follows records of any length.
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
            for _ in data:  # what was not read of it
                pass
    while header:
        if header.strip(b"\0"):
            raise IntakeError("it goes on after its end, as if several archives were put together")
        header = stream.read(_BLOCK)


_EXTENDED = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE)


def _name_in(record: bytes, kind: bytes) -> str:
    """Return the name that a record gives to the file after it; empty where it gives none."""
    name, at = b"", 0
    if kind == tarfile.GNUTYPE_LONGNAME:
        name = record.rstrip(b"\0")
    while kind == tarfile.XHDTYPE and (length := _LENGTH.match(record, at)):
        end = at + int(length[1])
        key, _, value = record[length.end() : end].rstrip(b"\n").partition(b"=")
        if key == b"size" or key.startswith(b"GNU.sparse"):
            raise tarfile.HeaderError  # another size than that in the header: of 8 GiB and more, or with holes
        name = value if key == b"path" else name
        at = max(end, length.end())
    return name.decode("utf-8", "surrogateescape")


_LENGTH = re.compile(rb"(\d{1,9}) ")


def _pieces(stream: _Counted, size: int) -> Iterator[bytes]:
    """Yield the data of a file, and read on to the end of its last block."""
    while size > 0:
        piece = stream.read(min(size, 1 << 20))
        if not piece:
            raise EOFError
        # Of the last piece the rest of its block is read, too.
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
"""An archive of a class, and that of a student in it."""


def kept_archive(key: tuple[object, ...], opened: Callable[[], BinaryIO], name: str, limits: Limits) -> Archive:
    """Return an archive that stays open for a while, as its files are mostly read one after the other.

    Parameters
    ----------
    key : tuple
        What tells archives apart.
    opened : callable
        Opens the archive.
    name, limits
        As of `archive_in`.

    Raises
    ------
    IntakeError
        As of `archive_in`, and of ``opened``.
    """
    # A process that was forked shares the place in the file with the one that opened it, so it opens its own.
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
    """Close the archives that were kept open; the files of others, and temporary ones, are free then."""
    with _lock:
        _kept.clear()  # each closes with the last that uses it
