"""Untrusted zip and tar archives: which of their members can be read, and the members as streams.

Nothing is unpacked under its own name. A zip archive within an archive is copied to a temporary file without a name,
because it is read from its end; so is an unpacked tar archive.

References
----------
.. [1] PKWARE. APPNOTE.TXT: .ZIP File Format Specification, version 6.3.10, 2022.
.. [2] Fifield, D. "A better zip bomb." WOOT 2019. (Members that share their compressed bytes.)
"""

from __future__ import annotations

import gzip
import re
import stat
import struct
import tarfile
import tempfile
import weakref
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import IO, Any, BinaryIO, NamedTuple, TypeAlias, cast

from treceval_py.errors import TrecevalError, visible
from treceval_py.grading.records import FileRead


class IntakeError(TrecevalError):
    """Submissions, or a file of one, that cannot be read."""


class Limits(NamedTuple):
    """Limits on what is read, so that no submission uses up memory or time.

    Attributes
    ----------
    file_bytes : int
        Bytes of a file, uncompressed.
    submission_bytes : int
        Bytes of all files of a submission together.
    files : int
        Number of files of a submission.
    entries : int
        Entries of a class's archive, or of a folder; the archive of a submission may have ten times `files`.
    unpacked : int
        Bytes unpacked from the tar archive of a class; from one in a submission, twice `submission_bytes`.
    path : int
        Characters of a path within a submission.
    """

    file_bytes: int = 64 << 20
    submission_bytes: int = 256 << 20
    files: int = 1000
    entries: int = 100_000
    unpacked: int = 16 << 30
    path: int = 255

    @property
    def of_a_student(self) -> Limits:
        """The limits of an archive within a submission."""
        return self._replace(entries=min(self.entries, 10 * self.files), unpacked=2 * self.submission_bytes)


DEFAULT = Limits()
"""The default limits."""

DEEPEST = 32
"""Deepest nesting of folders."""

State = tuple[int, int]
"""Size and modification time of a file."""


class Place(NamedTuple):
    """The place of a file.

    Attributes
    ----------
    root : str
        A folder that is trusted, or a file.
    below : tuple of str
        Path below the folder; empty if the root is the file itself.
    members : tuple of int
        For a file in an archive, its number there; for an archive within an archive, both numbers.
    state : State
        Size and time of the file on disk, which must not change while it is used.
    """

    root: str
    below: tuple[str, ...]
    members: tuple[int, ...]
    state: State


class Found(NamedTuple):
    """A file or folder that was found, even if it is refused.

    Attributes
    ----------
    parts : tuple of str
        Its path.
    size : int
        Size in bytes.
    place : Place
        Its place.
    why : str
        Why it is refused; empty if it is not.
    system : bool
        Whether it is refused because no person wrote it.
    folder : bool
        Whether it is a folder.
    time : str
        Time of the last change, according to its archive; ISO 8601, empty if unknown.
    attempt, number : str, int
        See `items.Item`.
    """

    parts: tuple[str, ...]
    size: int
    place: Place
    why: str = ""
    system: bool = False
    folder: bool = False
    time: str = ""
    attempt: str = ""
    number: int = 0

    @property
    def told(self) -> FileRead:
        """The report on a refused file or folder."""
        return FileRead(shown("/".join(self.parts)), "not used" if self.system else "refused", self.why, self.size)


OURS = "it is a folder of grades, written by an earlier grading"

_SYSTEM_FILES = {"__macosx", "thumbs.db", "desktop.ini", "$recycle.bin", "system volume information", "icon\r"}


def left_out(name: str) -> str:
    """Return why a file or folder of this name is left out; empty if it is not."""
    if name.lower() in _SYSTEM_FILES:
        return "written by the operating system, not by a person"
    if name.startswith(".") and name != "..":  # which is refused with its path
        return "a hidden file"
    return "written by an office program while a document is open" if name.startswith("~$") else ""


_FROM_THE_ROOT = "its path begins at the root of a disk"


def path_of(name: str, longest: int) -> tuple[tuple[str, ...], str]:
    """Return the parts of a path in an archive, and why it is refused; empty if it is not.

    Backslashes separate like slashes, because some Windows programs write them.

    Examples
    --------
    >>> path_of("ada/run.txt", 255)
    (('ada', 'run.txt'), '')
    >>> path_of("ada/../../etc/passwd", 255)
    (('ada', '..', '..', 'etc', 'passwd'), 'its path leads out of the archive')
    """
    raw = name.replace("\\", "/")
    parts = tuple(part for part in raw.split("/") if part not in {"", "."})
    faults = {
        "its name has a NUL character, which can hide another name after it": "\0" in raw,
        f"its path has more than {longest} characters": len(raw) > longest,
        f"it is nested in {len(parts) - 1} folders, more than {DEEPEST}": len(parts) - 1 > DEEPEST,
        _FROM_THE_ROOT: re.match(r"/|[A-Za-z]:", raw),
        "its path leads out of the archive": ".." in parts,
        "it has no name": not parts,
    }
    why = next((fault for fault, is_so in faults.items() if is_so), "")
    parts = ("", *parts) if why == _FROM_THE_ROOT and raw.startswith("/") else parts
    # Of a path that is refused, the beginning is enough: it may have thousands of parts.
    return parts[: DEEPEST + 2] or ("?",), why


LONGEST_NAME = 120
"""Characters of a path that are shown if it is refused as too long, or is shown next to others."""


def shown(path: str) -> str:
    """Return a path of a submission in a form fit to show: on one line, without control characters, not too long."""
    short = path if len(path) <= LONGEST_NAME else path[:LONGEST_NAME] + "…"
    return visible(short)


def amount(number: int) -> str:
    """Return a number of bytes in words.

    Examples
    --------
    >>> amount(64 << 20), amount(1)
    ('64 MiB', '1 byte')
    """
    if number >= 1 << 20:
        return f"{number / (1 << 20):,.1f} MiB".replace(".0 MiB", " MiB")
    return f"{number:,} byte" + "s" * (number != 1)


LARGEST_DIRECTORY = 64 << 20
"""Largest list of members in bytes, since zipfile reads it whole; 100,000 members with long names need less."""

_ENTRY = b"PK\x01\x02"
"""Beginning of a member's record in the list at the end, see [1]_, 4.3.12."""

_LOCAL_HEADER = 30
"""Bytes of the record before a member, without its name, see [1]_, 4.3.7."""

BROKEN = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError),
    *(OverflowError, IndexError),
)
"""Exceptions of zipfile, tarfile and gzip for archives that are damaged, encrypted, or made to look so."""


def reason(error: BaseException) -> str:
    """Return the meaning of an exception of these modules or of the system, for people, without a full stop."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return "its bytes do not match their checksum" if str(error).startswith("Bad CRC-32") else "it is damaged"


ZIP, TAR = "a zip archive", "a tar archive"
"""The kinds that are read."""

_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_OF_A_DOCUMENT = (
    *(".docx", ".docm", ".dotx", ".xlsx", ".xlsm", ".pptx", ".pptm", ".odt", ".ods", ".odp"),
    *(".jar", ".npz", ".epub", ".pages", ".numbers", ".key"),
)
_OTHER_ENDINGS = re.compile(r"(?i)\.t(ar\.)?(bz2?|xz|zst)$")
_OTHER = {b"7z\xbc\xaf\x27\x1c": "a 7z archive", b"Rar!\x1a\x07": "a rar archive"}

BEGINNING = 1024
"""Bytes from which archives are recognised."""


def packed_as(head: bytes, name: str) -> str:
    """Return the kind of an archive in words, `ZIP`, `TAR` or another one; empty if a file is not an archive.

    Parameters
    ----------
    head : bytes
        Its first `BEGINNING` bytes.
    name : str
        Its name; documents do not count as archives, though their format is one.
    """
    small = name.lower()
    if head.startswith(_ZIP):
        return "" if small.endswith(_OF_A_DOCUMENT) else ZIP
    if head.startswith(b"\x1f\x8b"):
        try:
            head = zlib.decompressobj(31).decompress(head, 512)
        except zlib.error:
            head = b""
    if head[257:262] == b"ustar" or small.endswith((".tar", ".tgz", ".tar.gz")):
        return TAR
    if _OTHER_ENDINGS.search(small):
        return f"{TAR} in an unusual compression"
    return next((kind for magic, kind in _OTHER.items() if head.startswith(magic)), "")


_LINK = "a link: links are not followed"
_PIPE, _DEVICE, _SOCKET = (f"{kind}, not a file" for kind in ("a pipe", "a device", "a socket"))
KINDS = {stat.S_IFLNK: _LINK, stat.S_IFIFO: _PIPE, stat.S_IFCHR: _DEVICE, stat.S_IFBLK: _DEVICE, stat.S_IFSOCK: _SOCKET}
"""What is not a file, by the bits of its mode."""

_Member: TypeAlias = tuple[str, int, int, str, str]
"""A member as its archive describes it: name, kind as in a file's mode, size, time, and why it is refused."""


def files_in(archive: Archive, place: Place, limits: Limits) -> list[Found]:
    """Return the files of an archive; refused ones have the reason. Their sizes are what the archive says."""
    files = []
    for number, (name, kind, size, time, fault) in enumerate(archive.members()):
        parts, why = path_of(name, limits.path)
        if kind != stat.S_IFDIR or (why and parts != ("?",)):
            why = why or fault or (f"it is {KINDS[kind]}" if kind in KINDS else "")
            files.append(Found(parts, size, place._replace(members=(*place.members, number)), why, time=time))
    often = Counter(file.parts for file in files)
    same = "the archive has {} files of this name, so it is not clear which one is meant"
    for at, file in enumerate(files):
        if often[file.parts] > 1 and not file.why:
            files[at] = file._replace(why=same.format(often[file.parts]))
    return files


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
    try:
        head = stream.read(4)
        stream.seek(0)
        return _Zip(stream, limits.entries) if head.startswith(_ZIP) else _Tar(stream, limits)
    except IntakeError as error:
        stream.close()
        raise IntakeError(error.what, "Hand in fewer files.", file=name) from None
    except BROKEN as error:
        stream.close()
        raise IntakeError(f"the archive cannot be read: {reason(error)}; make it again", file=name) from None


def copy_of(stream: IO[bytes], most: int) -> BinaryIO:
    """Return a temporary copy of a stream without a name; raise if it has more bytes."""
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the archive
    try:
        while data := stream.read(1 << 20):
            copy.write(data)
            if copy.tell() > most:
                raise IntakeError(f"it unpacks to more than {amount(most)}")
    except BaseException:
        copy.close()
        raise
    copy.seek(0)
    return cast("BinaryIO", copy)


class _Guarded:
    """A file for zipfile or tarfile, which is closed when neither the archive nor a member of it is in use.

    While a number of entries is set, it refuses to return a list of more members, before any of them is built.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self.entries: int | None = None
        self._stream = stream
        self.seek, self.tell, self.seekable = stream.seek, stream.tell, stream.seekable
        weakref.finalize(self, stream.close)

    def read(self, size: int = -1) -> bytes:
        if self.entries is None:
            return self._stream.read(size)
        if size > LARGEST_DIRECTORY:
            raise IntakeError(f"the list of its files has {amount(size)}, more than {amount(LARGEST_DIRECTORY)}")
        data = self._stream.read(size)
        if data.count(_ENTRY) > self.entries:
            raise IntakeError(f"it has more than {self.entries:,} files")
        return data


# --- zip archives ---


class _Zip:
    """A zip archive."""

    def __init__(self, stream: BinaryIO, entries: int) -> None:
        guarded = _Guarded(stream)
        guarded.entries = entries
        self._archive = zipfile.ZipFile(cast("IO[bytes]", guarded))
        guarded.entries = None

    def members(self) -> Iterator[_Member]:
        infos = self._archive.infolist()
        sharing = _sharing(infos, self._archive.start_dir)
        for number, info in enumerate(infos):
            folder = info.orig_filename.endswith(("/", "\\")) and not info.file_size
            kind = stat.S_IFDIR if folder else stat.S_IFMT(info.external_attr >> 16)
            why = ""
            if number in sharing:
                why = "it shares bytes with another file of the archive, or lies beyond its end, as in a zip bomb"
            elif kind not in KINDS and info.flag_bits & 0x2041:
                why = "it is encrypted: hand it in without a password"
            elif kind not in KINDS and info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
                # zipfile's decompressors of bzip2 and LZMA return everything in a piece at once, without a limit.
                why = "it is compressed in an unusual way: make the archive with the usual settings"
            yield _name_of(info), kind, info.file_size, _time_of(info), why

    def opened(self, number: int) -> IO[bytes]:
        return self._archive.open(self._archive.infolist()[number])


def _name_of(info: zipfile.ZipInfo) -> str:
    """Return the name as stored; without a UTF-8 mark it is CP437 by the standard, but often UTF-8."""
    name = info.orig_filename
    try:
        return name if info.flag_bits & 0x800 else name.encode("cp437").decode("utf-8")
    except UnicodeError:
        return name


def _time_of(info: zipfile.ZipInfo) -> str:
    try:
        when = datetime(*info.date_time)
    except ValueError:
        return ""
    # 1980 is the first year of the format, and what programs write if they do not know the time.
    return when.isoformat() if when.year > 1980 else ""


def _sharing(infos: list[zipfile.ZipInfo], end: int) -> set[int]:
    """Return the members that share bytes with others, or reach into the list of members, see [2]_."""
    sizes = (_LOCAL_HEADER + len(info.orig_filename) + info.compress_size for info in infos)
    starts = ((info.header_offset, size) for info, size in zip(infos, sizes, strict=True))
    spans = sorted((start, start + size, number) for number, (start, size) in enumerate(starts))
    sharing: set[int] = set()
    furthest, holder = 0, -1
    for start, stop, number in spans:
        if start < furthest:
            sharing.update((number, holder))
        if start < 0 or stop > end:
            sharing.add(number)
        furthest, holder = max((furthest, holder), (stop, number))
    return sharing


# --- tar archives ---

LONGEST_RECORD = 1 << 16
"""Most bytes of a record with a long name."""

_LONGEST_NAME = 4096
"""Characters of a name that are kept; a path is refused long before."""

_RECORDS = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE)
_REGULAR = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE)
_TYPES = {tarfile.FIFOTYPE: stat.S_IFIFO, tarfile.CHRTYPE: stat.S_IFCHR, tarfile.BLKTYPE: stat.S_IFBLK}
_TYPES |= {tarfile.LNKTYPE: stat.S_IFLNK, tarfile.SYMTYPE: stat.S_IFLNK, tarfile.DIRTYPE: stat.S_IFDIR}


class _Tar:
    """A tar archive, compressed by gzip or not, in a temporary file."""

    def __init__(self, stream: BinaryIO, limits: Limits) -> None:
        with stream:
            compressed = stream.read(2) == b"\x1f\x8b"
            stream.seek(0)
            plain = cast("IO[bytes]", gzip.GzipFile(fileobj=stream)) if compressed else stream
            guarded = _Guarded(copy_of(plain, limits.unpacked))
        names: dict[str, Any] = {"encoding": "utf-8", "errors": "surrogateescape"}
        self._archive = tarfile.TarFile(fileobj=cast("IO[bytes]", guarded), tarinfo=_Info, **names)
        for number, _ in enumerate(self._archive):
            if number == limits.entries:
                raise IntakeError(f"it has more than {limits.entries:,} files")
        # tarfile silently stops where an archive is damaged; after its end, there is nothing but zeros.
        guarded.seek(self._archive.offset)
        if not (rest := guarded.read(tarfile.BLOCKSIZE)):
            raise EOFError
        while rest:
            if rest.strip(b"\0"):
                raise tarfile.HeaderError
            rest = guarded.read(1 << 20)

    def members(self) -> Iterator[_Member]:
        for info in self._archive:
            kind, why = _TYPES.get(info.type, 0), ""
            if not kind and info.type not in _REGULAR:
                why = "it is of a kind that cannot be read: make the archive with the usual settings"
            seconds = int(info.mtime)
            time = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}" if 0 < seconds < 1 << 32 else ""
            yield info.name, kind, info.size, time, why

    def opened(self, number: int) -> IO[bytes]:
        return cast("IO[bytes]", self._archive.extractfile(self._archive.getmembers()[number]))


class _Info(tarfile.TarInfo):
    """A member whose records give it nothing but a name.

    tarfile itself reads records and maps of sparse files of any size, and searches records in quadratic time.
    """

    def _proc_member(self, archive: Any) -> tarfile.TarInfo:
        if self.size < 0 or (self.type in _RECORDS and self.size > LONGEST_RECORD):
            raise tarfile.HeaderError
        if self.type not in _RECORDS:
            made: tarfile.TarInfo = self._proc_builtin(archive)  # type: ignore[attr-defined]
            return made
        record = archive.fileobj.read(-(-self.size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE)[: self.size]
        made = self.fromtarfile(archive)
        made.name = _name_in(record, self.type)[:_LONGEST_NAME] or made.name
        return made


_LENGTH = re.compile(rb"(\d{1,9}) ")


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


Archive: TypeAlias = _Zip | _Tar
"""An archive whose list of files was read."""
