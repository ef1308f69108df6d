"""Submissions: their owners, and their files, which any process can open again."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable
from typing import IO, Any, BinaryIO, NamedTuple, cast

from treceval_py.grading.intake.archives import BROKEN, Archive, kept_archive, reason
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
        self._stream = stream
        self._most = most
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = self._done(lambda: self._stream.seek(offset, whence))
        return self._at

    def readinto(self, buffer: Any) -> int:
        data: bytes = self._done(lambda: self._stream.read(len(buffer)))
        self._at += len(data)
        if self._at > self._most:
            raise IntakeError(f"it has more than {amount(self._most)}", "Hand in a smaller file.", file=self.name)
        buffer[: len(data)] = data
        return len(data)

    def _done(self, action: Any) -> Any:
        try:
            return action()
        except BROKEN as error:
            fault = f"it cannot be read: {reason(error)}"
            raise IntakeError(fault, "Hand it in again.", file=self.name) from None

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


def opened_at(place: Place, name: str, limits: Limits) -> BinaryIO:
    """Open a file at its place; see `Item.opened`.

    Parameters
    ----------
    place : Place
        The place of the file.
    name : str
        The file's name in messages.
    limits : Limits
        Limits on what is read of it.

    Raises
    ------
    IntakeError
        See `Item.opened`.
    """
    if place.members:
        archive = archive_at(place._replace(members=place.members[:-1]), name, limits)
        stream = archive.opened(place.members[-1], name)
    else:
        stream = opened_below(place.root, place.below, place.state, name)
    return cast("BinaryIO", io.BufferedReader(_Bounded(stream, name, limits.file_bytes), 1 << 16))


def archive_at(place: Place, name: str, limits: Limits) -> Archive:
    """Open the archive that is at a place; it stays open for a while.

    Parameters
    ----------
    place : Place
        The place of the archive, which may itself be in one other archive.
    name : str
        The archive's name in messages.
    limits : Limits
        Limits on its number of files and bytes.

    Raises
    ------
    IntakeError
        It cannot be read.
    """

    def opened() -> BinaryIO:
        if not place.members:
            return opened_below(place.root, place.below, place.state, name)
        with opened_at(place, name, limits) as packed:
            copy = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the archive
            try:
                while data := packed.read(1 << 20):
                    copy.write(data)
            except BaseException:
                copy.close()
                raise
        copy.seek(0)
        return cast("BinaryIO", copy)

    return kept_archive(tuple(place), opened, name, limits)
