"""Submissions: their owners, and their files, which any process can open again.

Folders are untrusted: no link is followed, and nothing but files is opened.
"""

from __future__ import annotations

import io
import os
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import IO, Any, BinaryIO, NamedTuple, TypeAlias, cast

from treceval_py.grading.intake import archives
from treceval_py.grading.intake.archives import Archive, Found, IntakeError, Limits, Place, State, amount, reason
from treceval_py.grading.records import KEPT, MANIFEST, FileRead


class Owner(NamedTuple):
    """The owner of a submission, as the platform gives it.

    Attributes
    ----------
    name : str
        The name; empty if unknown.
    number : str
        The number or the login name, whichever the platform gives; empty if unknown.
    email : str
        The e-mail address; empty if unknown.
    """

    name: str = ""
    number: str = ""
    email: str = ""


class Item(NamedTuple):
    """A file of a submission.

    Attributes
    ----------
    name : str
        Its path within the submission, with slashes, in a form fit to show.
    size : int
        Its declared size.
    place : Place
        Its place.
    limits : Limits
        Limits on what is read of it.
    attempt : str
        Its attempt, if the platform keeps several; later ones are greater.
    number : int
        The number that the platform gave to the file; later uploads have higher numbers. 0 if there is none.
    time : str
        Time of the last change, according to the student's archive; ISO 8601, empty if unknown.
    """

    name: str
    size: int
    place: Place
    limits: Limits = archives.DEFAULT
    attempt: str = ""
    number: int = 0
    time: str = ""

    def opened(self) -> BinaryIO:
        """Open the file for reading; reading raises when the limit is exceeded.

        Raises
        ------
        IntakeError
            It cannot be opened, or has changed; while reading: it is damaged, or larger than the limit.
        """
        return opened_at(self.place, self.name, self.limits)


class Submission(NamedTuple):
    """A submission of a student or group.

    Attributes
    ----------
    student : str
        Its owner, by the name of the folder or file, in a form fit to show.
    source : str
        The folder, file or archive member that it came in.
    items : tuple of Item
        The files that can be opened.
    refused : tuple of FileRead
        Files that are not opened, and why: the role is ``refused``, or ``not used`` for files that no person wrote.
    owners : tuple of Owner
        Its owners according to the platform, otherwise by the name of the file or folder; several if the platform says
        that they handed it in together.
    platform : str
        ``moodle``, ``canvas``, ``blackboard``, ``gradescope`` or ``github``; empty for files and folders named by hand.
    group : str
        The group that handed it in, if the platform says so.
    handed_in : str
        Time, in ISO 8601, in UTC if the zone is known; empty if unknown.
    late : bool or None
        Whether the platform marks it as late; None if it does not say.
    attempt : str
        Number of the attempt, as the platform counts; empty if it does not.
    """

    student: str
    source: str
    items: tuple[Item, ...] = ()
    refused: tuple[FileRead, ...] = ()
    owners: tuple[Owner, ...] = ()
    platform: str = ""
    group: str = ""
    handed_in: str = ""
    late: bool | None = None
    attempt: str = ""

    def renamed(self, name: Callable[[str], str]) -> Submission:
        """Return it with other names of its files; files whose names become empty are left out."""
        return self._replace(
            items=tuple(item._replace(name=new) for item in self.items if (new := name(item.name))),
            refused=tuple(file._replace(name=new) for file in self.refused if (new := name(file.name))),
        )

    @property
    def numbers(self) -> tuple[str, ...]:
        """The numbers or login names of its owners, whichever the platform gives."""
        return tuple(owner.number for owner in self.owners if owner.number)


class _Bounded(io.RawIOBase):
    """A stream that returns no more than a number of bytes, and raises only one kind of error."""

    def __init__(self, stream: IO[bytes], name: str, most: int) -> None:
        self.name = name
        self._stream, self._most, self._at = stream, most, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        with _readable(self.name):
            self._at = self._stream.seek(offset, whence)
        return self._at

    def readinto(self, buffer: Any) -> int:
        with _readable(self.name):
            data = self._stream.read(len(buffer))
        self._at += len(data)
        if self._at > self._most:
            raise IntakeError(f"it has more than {amount(self._most)}", "Hand in a smaller file.", file=self.name)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


@contextmanager
def _readable(name: str) -> Iterator[None]:
    """Turn the many errors of a file or archive that is damaged into one."""
    try:
        yield
    except archives.BROKEN as error:
        raise IntakeError(f"it cannot be read: {reason(error)}", "Hand it in again.", file=name) from None


def opened_at(place: Place, name: str, limits: Limits) -> BinaryIO:
    """Open a file at its place; ``name`` is its name in messages. See `Item.opened`."""
    if place.members:
        archive = archive_at(place._replace(members=place.members[:-1]), name, limits)
        with _readable(name):
            stream = archive.opened(place.members[-1])
    else:
        stream = opened_below(place.root, place.below, place.state, name)
    return cast("BinaryIO", io.BufferedReader(_Bounded(stream, name, limits.file_bytes), 1 << 16))


_kept: dict[tuple[object, ...], Archive] = {}
"""The archives used last: that of a class, and that of one student in it."""


def archive_at(place: Place, name: str, limits: Limits) -> Archive:
    """Open the archive at a place, which may itself be in one other archive.

    It stays open for a while, since its files are usually read one after the other. ``name`` is its name in messages.

    Raises
    ------
    IntakeError
        It cannot be read.
    """
    key = (os.getpid(), *place)  # a forked process shares the file position with its parent, so it opens its own
    archive = _kept.pop(key, None)
    if archive is None:
        if place.members:
            with opened_at(place, name, limits) as packed:
                stream = archives.copy_of(packed, limits.file_bytes)
        else:
            stream = opened_below(place.root, place.below, place.state, name)
        archive = archives.archive_in(stream, name, limits)
    _kept[key] = archive
    if len(_kept) > 2:
        del _kept[next(iter(_kept))]
    return archive


def close_kept() -> None:
    """Close the archives that were kept open, each with its last user, which frees their temporary files."""
    _kept.clear()


Listing: TypeAlias = Callable[[tuple[str, ...]], list[Found]]
"""Returns the entries of a folder, given its path; raises like `entries_of`."""

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_FOLDER = getattr(os, "O_DIRECTORY", 0)
_BINARY = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def state_of(status: os.stat_result) -> State:
    """Return what distinguishes a file from later states of it."""
    return status.st_size, status.st_mtime_ns


def entries_of(root: str, most: int, below: tuple[str, ...]) -> list[Found]:
    """Return the entries of a folder below another one, by name; folders of grades are refused.

    Raises
    ------
    IntakeError
        It cannot be read, or has too many entries.
    """
    path = os.path.join(root, *below)
    try:
        with os.scandir(path) as entries:
            names = sorted(entry.name for entry in islice(entries, most + 1))
    except OSError as error:
        fault = f"the folder cannot be read: {reason(error)}"
        raise IntakeError(fault, "Check its permissions.", file=path) from None
    if len(names) > most:
        raise IntakeError(f"it has more than {most:,} files and folders", "Hand in fewer files.", file=path)
    return [_entry(root, (*below, name)) for name in names]


def _entry(root: str, parts: tuple[str, ...]) -> Found:
    path = os.path.join(root, *parts)
    try:
        status = os.lstat(path)
    except OSError as error:
        return Found(parts, 0, Place(root, parts, (), (0, 0)), f"it cannot be accessed: {reason(error)}")
    kind = stat.S_IFMT(status.st_mode)
    folder = kind == stat.S_IFDIR
    ours = folder and os.path.isfile(os.path.join(path, KEPT, MANIFEST))
    why = archives.left_out(parts[-1]) or (archives.OURS if ours else "")
    system = bool(why)
    if not why and kind not in {stat.S_IFREG, stat.S_IFDIR}:
        why = f"it is {archives.KINDS.get(kind, 'not a file')}"
    size = status.st_size if kind == stat.S_IFREG else 0
    return Found(parts, size, Place(root, parts, (), state_of(status)), why, system, folder)


def entries_in(files: Iterable[Found]) -> Listing:
    """Return what lists the entries of the folders of an archive by name, given its files; see `entries_of`."""
    files = sorted(files, key=lambda file: file.parts)
    ours = {file.parts[:-2] for file in files if file.parts[-2:] == (KEPT, MANIFEST) and not file.why} - {()}
    tree: dict[tuple[str, ...], list[Found]] = {}
    folders: set[tuple[str, ...]] = set()
    for file in files:
        for end in range(1, len(file.parts) + 1):
            own = file.parts[:end]
            entry = file if own == file.parts else Found(own, 0, file.place, folder=True)
            if entry.folder and own in folders:
                continue
            folders.update([own] if entry.folder else [])
            why = archives.OURS if own in ours else archives.left_out(own[-1])
            tree.setdefault(own[:-1], []).append(entry._replace(why=why, system=True) if why else entry)
    return lambda below: tree.get(below, [])


def walked(listed: Listing, top: Found, limits: Limits) -> Iterator[Found]:
    """Yield the files in a folder and in its subfolders, and refused entries.

    Folders come by name, before their subfolders, so that the order is always the same. If there are too many entries,
    the walk ends with an entry that says so. Folders of grades are not entered.
    """
    seen = 0
    waiting = deque([top])
    while waiting:
        folder = waiting.popleft()
        try:
            entries = listed(folder.parts)
        except IntakeError as error:
            yield folder._replace(why=error.what)
            continue
        seen += len(entries)
        if seen > limits.entries:
            why = f"more than {limits.entries:,} files and folders: neither this folder nor the rest was read"
            yield folder._replace(why=why)
            return
        for entry in entries:
            own = entry.parts[len(top.parts) :]
            if not entry.folder or entry.why:
                yield entry
            elif len(own) > archives.DEEPEST or len("/".join(own)) > limits.path:
                yield entry._replace(why="it is nested too deep, or its path is too long: nothing in it was read")
            else:
                waiting.append(entry)


def opened_below(root: str, below: tuple[str, ...], state: State, name: str) -> BinaryIO:
    """Open a file for reading, without following any link on the way; raise unless it is the file that was found.

    The root is a folder that is trusted or, if nothing is below it, the file itself.
    """
    try:
        handle = _descriptor(root, below)
    except OSError as error:
        raise IntakeError(f"it cannot be opened: {reason(error)}", "Check its permissions.", file=name) from None
    stream = os.fdopen(handle, "rb", buffering=0)
    status = os.fstat(handle)
    if stat.S_ISREG(status.st_mode) and state_of(status) == state:
        return stream
    stream.close()
    raise IntakeError("the file changed while it was being read", "Run again when nothing writes to it.", file=name)


def _descriptor(root: str, below: tuple[str, ...]) -> int:
    """Open the path step by step, so that no folder in it can be a link, not even one created a moment ago."""
    wanted = os.O_RDONLY | _NO_WAIT | _BINARY
    if not below:
        return os.open(root, wanted)
    if os.open not in os.supports_dir_fd:  # Windows
        for end in range(1, len(below) + 1):
            if os.path.islink(os.path.join(root, *below[:end])):
                raise OSError(None, "a link is on the way to it")
        return os.open(os.path.join(root, *below), wanted)
    folder = os.open(root, os.O_RDONLY | _FOLDER | _BINARY)
    try:
        for part in below[:-1]:
            inner = os.open(part, os.O_RDONLY | _FOLDER | _NO_LINK | _BINARY, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(below[-1], wanted | _NO_LINK, dir_fd=folder)
    finally:
        os.close(folder)
