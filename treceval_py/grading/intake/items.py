"""Submissions: their owners, and their files, which any process can open again."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, BinaryIO, NamedTuple, cast

from treceval_py.grading.intake.archives import BROKEN, Archive, archive_in, copy_of, reason
from treceval_py.grading.intake.folders import opened_below
from treceval_py.grading.intake.found import DEFAULT, IntakeError, Limits, Place, amount
from treceval_py.grading.records import FileRead


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
    limits: Limits = DEFAULT
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
    except BROKEN as error:
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
        stream = opened_below(place.root, place.below, place.state, name) if not place.members else None
        if stream is None:
            with opened_at(place, name, limits) as packed:
                stream = copy_of(packed, limits.file_bytes)
        archive = archive_in(stream, name, limits)
    _kept[key] = archive
    if len(_kept) > 2:
        del _kept[next(iter(_kept))]
    return archive


def close_kept() -> None:
    """Close the archives that were kept open, each with its last user, which frees their temporary files."""
    _kept.clear()
