"""How much is taken from a submission, and what is said where something cannot be read."""

from __future__ import annotations

from typing import NamedTuple

from treceval_py.errors import TrecevalError, visible

__all__ = ["DEEPEST", "DEFAULT", "IntakeError", "Limits", "amount", "left_out", "shown"]


class IntakeError(TrecevalError):
    """Submissions, or a file of one, that cannot be read."""


class Limits(NamedTuple):
    """How much is taken, so that no submission uses up memory or time.

    Attributes
    ----------
    file_bytes : int
        Of a file, uncompressed.
    submission_bytes : int
        Of all files of a submission together.
    files : int
        How many files a submission has.
    entries : int
        How many entries the archive of a class has, or a folder; an archive of a submission may have ten times `files`.
    path : int
        Characters of a path within a submission.
    """

    file_bytes: int = 64 << 20
    submission_bytes: int = 256 << 20
    files: int = 1000
    entries: int = 100_000
    path: int = 255


DEEPEST = 32
"""How many folders may lie in one another."""

DEFAULT = Limits()
"""The limits where none are given."""

_SYSTEM_FILES = {"__macosx", "thumbs.db", "desktop.ini", "$recycle.bin", "system volume information", "icon\r"}

LONGEST_NAME = 120
"""Characters of a path that are shown where it is refused for its length, or is shown beside others."""


def left_out(name: str) -> str:
    """Return why a file or folder of this name is passed over; the empty string where it is not."""
    if name.lower() in _SYSTEM_FILES:
        return "written by the operating system, not by a person"
    if name.startswith("."):
        return "a hidden file"
    return "written by an office program while a document is open" if name.startswith("~$") else ""


def shown(path: str) -> str:
    """Return a path of a submission as it may be shown: on one line, without what steers a terminal, not too long."""
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
