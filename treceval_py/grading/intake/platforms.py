"""Whose a file is, by the names that learning platforms give to what they export; and names that any file may have."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Collection, Sequence
from itertools import takewhile
from typing import NamedTuple

__all__ = ["A_CLASS", "Owner", "owners_of", "safe_name", "seen_through", "stem_of"]


class Owner(NamedTuple):
    """Whose a file or folder is.

    Attributes
    ----------
    student : str
        The student, with the number that the platform gives, so that two of the same name stay apart.
    rest : str
        The name that the student gave to the file; empty for a folder.
    attempt : str
        When it was handed in, where the platform keeps several; later ones are greater.
    platform : bool
        Whether a platform's way of naming was recognised.
    """

    student: str
    rest: str = ""
    attempt: str = ""
    platform: bool = True


# Moodle, "Download all submissions": "Ada Lovelace_12345_assignsubmission_file_", a folder or the beginning of a name.
_MOODLE = re.compile(r"(?P<student>.+_\d+)_assignsubmission_[a-z]+(?:_(?P<rest>.*))?", re.DOTALL)

# Blackboard: "Homework 1_ada1_attempt_2026-01-01-10-00-00_run.txt", and the same with ".txt" for what was typed.
_BLACKBOARD = re.compile(
    r"(?P<before>.+)_attempt_(?P<attempt>\d{4}(?:-\d\d){5})(?:_(?P<rest>.+)|(?P<typed>\.txt))", re.DOTALL
)

# Canvas: "lovelaceada_LATE_123_456_run.txt", the numbers of the user and of the file.
_CANVAS = re.compile(r"(?P<name>[^\W\d_][^_]*)_(?:LATE_)?(?P<user>\d+)_\d+_(?P<rest>.+)", re.DOTALL)


def owners_of(names: Sequence[tuple[str, bool]]) -> list[Owner]:
    """Tell whose the files and folders of a class are.

    Parameters
    ----------
    names : sequence of (str, bool)
        All names of the class, and whether each is a folder.

    Returns
    -------
    list of Owner
        In the same order. What no platform named belongs to the student of this name, without its ending.

    Examples
    --------
    >>> owners_of([("Ada Lovelace_12345_assignsubmission_file_", True)])[0].student
    'Ada Lovelace_12345'
    >>> owners_of([("lovelaceada_LATE_123_456_run.txt", False)])[0][:2]
    ('lovelaceada_123', 'run.txt')
    >>> owners_of([("ada.run.gz", False)])[0].student
    'ada'
    """
    assignment = _assignment([found["before"] for name, _ in names if (found := _BLACKBOARD.fullmatch(name))])
    files = [name for name, folder in names if not folder]
    # Its names have no mark of their own: "bm25_10_20_x.txt" alone among others is none of them.
    canvas = 2 * sum(_CANVAS.fullmatch(name) is not None for name in files) > len(files)
    return [_owner(name, folder, assignment, canvas) for name, folder in names]


def _owner(name: str, folder: bool, assignment: str, canvas: bool) -> Owner:
    if found := _MOODLE.fullmatch(name):
        return Owner(found["student"], found["rest"] or "")
    if found := _BLACKBOARD.fullmatch(name):
        typed = found["typed"] and "typed" + found["typed"]
        return Owner(found["before"][len(assignment) :], typed or found["rest"], found["attempt"])
    if canvas and not folder and (found := _CANVAS.fullmatch(name)):
        return Owner(f"{found['name']}_{found['user']}", found["rest"])
    return Owner(name if folder else stem_of(name), "" if folder else name, platform=False)


_SHORT_NUMBER = re.compile(r"[\d_]{0,3}")
"""What tells nobody who a student is; numbers of registration are longer."""


def _assignment(before: Sequence[str]) -> str:
    """Return the name of the assignment, with its underscore: what the names of all students begin with.

    A part that all share is of the student where only a short number would be left, as of ``HW_3_ada_1``.
    """
    first, last = min(before, default=""), max(before, default="")
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False)))
    end = first.rfind("_", 0, common) + 1
    while end and any(_SHORT_NUMBER.fullmatch(name[end:]) for name in before):
        end = first.rfind("_", 0, end - 1) + 1
    return first[:end]


def stem_of(name: str) -> str:
    """Return the name of a file without its endings: that of a compression, and one more.

    Examples
    --------
    >>> stem_of("ada.tsv.gz"), stem_of("J. Doe"), stem_of("ada.2")
    ('ada', 'J. Doe', 'ada.2')
    """
    short = re.sub(r"(?i)\.(gz|bz2|xz|zst)$", "", name)
    return re.sub(r"\.[A-Za-z][A-Za-z0-9]{0,7}$", "", short) or short or name


_LIKE_A_RUN = re.compile(r"(?i)run|result|rank|claim|read.?me|qrel|output|report|notes")


A_CLASS = 3
"""So many files that look like runs are those of a class."""


def seen_through(names: Sequence[tuple[str, bool]], runs: Collection[str] = ()) -> bool:
    """Tell whether a folder that is alone at the top is that of the class, and not that of a student.

    Parameters
    ----------
    names : sequence of (str, bool)
        What is in it, and whether each is a folder.
    runs : collection of str
        The names of files in it that look like runs, or are zip archives, by what is in them; three are enough.

    Returns
    -------
    bool
        It is of the class where a platform named what is in it, where it has two folders or more, or three runs or
        more, or where it has two files or more, none of them (of two runs: neither) named as students name what they
        hand in.
    """
    folders = sum(folder for _, folder in names)
    if folders > 1 or len(runs) >= A_CLASS or any(owner.platform for owner in owners_of(names)):
        return True
    files = runs if len(runs) > 1 else [name for name, _ in names]
    return not folders and len(files) > 1 and not any(_LIKE_A_RUN.search(name) for name in files)


_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)")
"""What Windows takes for a device, whatever the ending."""

LONGEST = 80


def safe_name(student: str, taken: set[str]) -> str:
    """Return a name for the files of a student that is good on any system and that no other one has.

    Parameters
    ----------
    student : str
        The student.
    taken : set of str
        The names that are taken, in lower case; the new one is added.

    Returns
    -------
    str
        ASCII letters, digits, dots, hyphens and underscores, at most 80, not beginning with a dot or hyphen. Where
        letters had to be left out, or where the name is taken, some digits of a hash of the student's name are added.

    Examples
    --------
    >>> safe_name("Zoë Müßig_12345", set())
    'Zoe_Mussig_12345'
    """
    plain = unicodedata.normalize("NFKD", student.replace("ß", "ss"))
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", plain).rstrip("_.").lstrip("_.-")
    lost = any(not letter.isascii() and letter.isalnum() for letter in plain)
    digits = hashlib.sha256(student.encode("utf-8", "surrogatepass")).hexdigest()
    if lost or not name or len(name) > LONGEST or _RESERVED.match(name):
        name = f"{name[: LONGEST - 10] or 'student'}-{digits[:8]}"
        name = f"_{name}" if _RESERVED.match(name) else name
    base, number = name, 1
    while name.lower() in taken:
        name = f"{base[: LONGEST - 10]}-{digits[:8]}" + (f"-{number}" if number > 1 else "")
        number += 1
    taken.add(name.lower())
    return name
