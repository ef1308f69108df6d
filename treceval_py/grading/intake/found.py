"""Plain data about what is found among submissions: limits on how much is read, and reasons for leaving files out."""

from __future__ import annotations

import re
from typing import NamedTuple

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
    why = ""
    if "\0" in raw:
        why = "its name has a NUL character, which can hide another name after it"
    elif len(raw) > longest:
        why = f"its path has more than {longest} characters"
    elif len(parts) - 1 > DEEPEST:
        why = f"it is nested in {len(parts) - 1} folders, more than {DEEPEST}"
    elif raw.startswith("/") or re.match(r"[A-Za-z]:", raw):
        why = "its path begins at the root of a disk"
        parts = ("", *parts) if raw.startswith("/") else parts
    elif ".." in parts:
        why = "its path leads out of the archive"
    elif not parts:
        why = "it has no name"
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
