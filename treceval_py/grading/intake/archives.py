"""Zip archives that nobody has looked at: which of their members can be read, and the members as streams.

Nothing is unpacked to a name of its own. An archive that lies in another one is copied to a temporary file without a
name, as a zip archive is read from its end.

References
----------
.. [1] PKWARE. APPNOTE.TXT: .ZIP File Format Specification, version 6.3.10, 2022.
.. [2] Fifield, D. "A better zip bomb." WOOT 2019. (Members that share their compressed bytes.)
"""

from __future__ import annotations

import os
import re
import stat
import struct
import threading
import weakref
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from typing import IO, BinaryIO, NamedTuple, cast

from treceval_py.grading.intake.limits import DEEPEST, IntakeError, Limits, amount

__all__ = ["BROKEN", "Member", "archive_in", "kept_archive", "members_of", "opened_member", "path_of", "reason"]

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
    OSError,
)
"""What zipfile raises for archives that are damaged, encrypted, or made to look so."""


def reason(error: BaseException) -> str:
    """Return what an exception of zipfile or of the system says, for people, without full stop."""
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
    """

    number: int
    parts: tuple[str, ...]
    size: int
    why: str = ""


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


def archive_in(stream: BinaryIO, name: str, entries: int) -> zipfile.ZipFile:
    """Read the list of members of a zip archive.

    Parameters
    ----------
    stream : binary file
        The archive; it is closed with the object that is returned, or where it is refused.
    name : str
        How messages call it.
    entries : int
        How many members it may have.

    Raises
    ------
    IntakeError
        It is no zip archive, is damaged, or has too many members.
    """
    guarded = _Guarded(stream, entries)
    try:
        archive = zipfile.ZipFile(cast("IO[bytes]", guarded))
    except IntakeError as error:
        stream.close()
        raise IntakeError(error.what, "Hand in fewer files.", file=name) from None
    except BROKEN as error:
        stream.close()
        what = f"this is no zip archive that can be read: {reason(error)}"
        raise IntakeError(what, "Make it again, or hand in the files themselves.", file=name) from None
    guarded.ready()
    return archive


# --- which members can be read ---


def members_of(archive: zipfile.ZipFile, limits: Limits) -> list[Member]:
    """Return the files of an archive in the order of its list, each with why it is refused, if it is.

    Only the list is looked at: what a member really holds is seen, and bounded, when it is read.
    """
    infos = archive.infolist()
    paths = [path_of(_name_of(info), limits.path) for info in infos]
    often = Counter(parts for info, (parts, _) in zip(infos, paths, strict=True) if not _is_folder(info))
    sharing = _sharing(infos, archive.start_dir)
    members = []
    for number, (info, (parts, bad)) in enumerate(zip(infos, paths, strict=True)):
        why = bad
        if not why and _is_folder(info):
            continue
        if not why and often[parts] > 1:
            why = f"the archive has {often[parts]} files of this name, so that it is not clear which one is meant"
        if not why and number in sharing:
            why = "it shares bytes with another file of the archive, or lies beyond its end, as in a zip bomb"
        members.append(Member(number, parts, info.file_size, why or _fault(info, limits)))
    return members


def _is_folder(info: zipfile.ZipInfo) -> bool:
    return info.orig_filename.endswith(("/", "\\")) and not info.file_size


def _name_of(info: zipfile.ZipInfo) -> str:
    """Return the name as it stands in the archive; without a mark it is CP437 by the standard, but often UTF-8."""
    name = info.orig_filename
    if info.flag_bits & 0x800 or name.isascii():
        return name
    try:
        return name.encode("cp437").decode("utf-8")
    except UnicodeError:
        return name


def path_of(name: str, longest: int) -> tuple[tuple[str, ...], str]:
    """Return the parts of a path in an archive, and why it is refused; the empty string where it is not.

    Backslashes separate like slashes: some Windows programs write them.

    Examples
    --------
    >>> path_of("ada/run.txt", 255)
    (('ada', 'run.txt'), '')
    >>> path_of("ada/../../etc/passwd", 255)
    (('ada', '..', '..', 'etc', 'passwd'), 'its path leads out of the archive')
    """
    raw = name.replace("\\", "/")
    parts = tuple(part for part in raw.split("/") if part not in {"", "."})
    why = ""
    if "\0" in raw:
        why = "its name has a NUL character, behind which another name can hide"
    elif len(raw) > longest:
        why = f"its path has {len(raw):,} characters, more than {longest}"
    elif len(parts) > DEEPEST:
        why = f"it lies in {len(parts) - 1} folders, more than {DEEPEST}"
    elif raw.startswith("/") or re.match(r"[A-Za-z]:", raw):
        why = "its path begins at the root of a disk"
        parts = ("", *parts) if raw.startswith("/") else parts
    elif ".." in parts:
        why = "its path leads out of the archive"
    elif not parts:
        why = "it has no name"
    return parts or ("?",), why


_KINDS = {stat.S_IFLNK: "a link", stat.S_IFIFO: "a pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
_KINDS[stat.S_IFSOCK] = "a socket"


def _fault(info: zipfile.ZipInfo, limits: Limits) -> str:
    """Return what is wrong with a member by what the list says of it."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind in _KINDS:
        return f"it is {_KINDS[kind]}, not a file" + (": links are not followed" if kind == stat.S_IFLNK else "")
    if info.flag_bits & 0x2041:
        return "it is encrypted: hand it in without a password"
    if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        # The decompressors of bzip2 and LZMA, as zipfile uses them, give all at once that a piece holds.
        return "it is compressed in an unusual way: make the archive with the usual settings"
    if info.file_size > limits.file_bytes:
        return f"it has {amount(info.file_size)}, more than {amount(limits.file_bytes)}"
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


# --- reading members ---


def opened_member(archive: zipfile.ZipFile, number: int, name: str) -> IO[bytes]:
    """Open a member for reading.

    Raises
    ------
    IntakeError
        It cannot be opened.
    """
    try:
        return archive.open(archive.infolist()[number])
    except BROKEN as error:
        raise IntakeError(f"it cannot be read: {reason(error)}", "Make the archive again.", file=name) from None


_kept: list[tuple[tuple[object, ...], zipfile.ZipFile]] = []
_lock = threading.RLock()
_MOST_KEPT = 2
"""An archive of a class, and that of a student in it."""


def kept_archive(key: tuple[object, ...], opened: Callable[[], BinaryIO], name: str, entries: int) -> zipfile.ZipFile:
    """Return an archive that stays open for a while, as its files are mostly read one after the other.

    Parameters
    ----------
    key : tuple
        What tells archives apart.
    opened : callable
        Opens the archive.
    name : str
        How messages call it.
    entries : int
        How many members it may have.

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
        archive = archive_in(opened(), name, entries)
        _kept.append((own, archive))
        del _kept[:-_MOST_KEPT]
        return archive


def close_kept() -> None:
    """Close the archives that were kept open; the files of others, and temporary ones, are free then."""
    with _lock:
        _kept.clear()  # each closes with the last that uses it
