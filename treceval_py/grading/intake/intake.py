"""What a class handed in, from a folder or a zip archive, as submissions whose files can be opened safely.

    folder, zip archive ── folders.py, archives.py ──> what is found, and what of it is refused
                        ── platforms.py ──> whose it is
                        ── here, found.py ──> Submission: items within the limits, students' own archives opened once

Nothing is unpacked and no link is followed. What is refused is told to the student, with the reason.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from treceval_py.errors import visible
from treceval_py.grading.intake.archives import members_of, reason
from treceval_py.grading.intake.folders import OURS, Entry, entries_of, has_grades, state_of, walked
from treceval_py.grading.intake.found import ZIP, Found, in_archive, looks_handed_in, other_archive, within_limits
from treceval_py.grading.intake.items import Item, Place, Submission, archive_at, opened_at
from treceval_py.grading.intake.limits import DEFAULT, IntakeError, Limits, shown
from treceval_py.grading.intake.platforms import A_CLASS, Owner, owners_of, safe_name, seen_through, stem_of
from treceval_py.grading.records import FileRead

__all__ = ["IntakeError", "Item", "Limits", "Place", "Submission", "one", "safe_name", "submissions"]


ONE_STUDENT = (
    "all of it is taken for one student, though several of its files look like runs: "
    "give each student a folder if these are several students"
)

BESIDE = "it lies beside the submissions, and is no run"

_NOBODYS_NAME = re.compile(r"(?i)(read.?me|licen[cs]e|submission_metadata)(\.[a-z]+)?")
"""What files are called that belong to a whole folder."""

_LOOKED_INTO = 200
"""So many files of a folder are looked into, to see whether they are runs."""

_TOPS = 4
"""Folders in one another, each alone at the top, that are entered in search of those of the students."""


class _Part(NamedTuple):
    """An entry of a class: a file or folder, or one of several that belong to a student."""

    owner: Owner
    name: str
    folder: bool
    found: list[Found]


def submissions(
    path: str, limits: Limits = DEFAULT, *, without: Collection[str] = (), others: list[FileRead] | None = None
) -> Sequence[Submission]:
    """Return the submissions of a class, by the names of the students.

    Parameters
    ----------
    path : str
        A folder with a folder or file for each student, or a zip archive of it as learning platforms export it.
    limits : Limits
        How much is taken from each.
    without : collection of str
        What is no submission though it lies in the folder: paths, or names.
    others : list of FileRead, optional
        Takes what was found beside the submissions and belongs to no student.

    Returns
    -------
    sequence of Submission
        They can be pickled.

    Raises
    ------
    IntakeError
        The folder or the archive as a whole cannot be read.
    """
    others = [] if others is None else others
    if stat.S_ISDIR(_looked_at(path).st_mode):
        inner, below = _class_folder(path, without, limits)
        names = [entry.parts[0] for entry in below]
        excluded = _real(without)
        groups = [(_of_entry(inner, entry, limits, excluded), entry.folder and not entry.why) for entry in below]
        where = inner
    else:
        found = _without(_of_archive(path, limits), without)
        where, found = _below_top(path, found, limits)
        names, groups = _by_first_part(found, others)
    parts = _students_own(names, groups, others, limits)
    students: dict[str, list[_Part]] = {}
    for part in parts:
        students.setdefault(unicodedata.normalize("NFC", part.owner.student), []).append(part)
    made = [_submission(student, where, students[student], limits) for student in sorted(students)]
    if len(made) == 1 and not any(part.owner.platform for part in parts) and len(_runs(parts[0].found, limits)) > 1:
        others.append(FileRead(made[0].student, "note", ONE_STUDENT, 0))
    return made


def _students_own(
    names: Sequence[str], groups: Sequence[tuple[list[Found], bool]], others: list[FileRead], limits: Limits
) -> list[_Part]:
    """Return whose the entries of a class are; what is nobody's is told."""
    parts = []
    for name, (group, folder) in zip(names, groups, strict=True):
        others += [each.told for each in group if each.why == OURS]
        found = [each for each in group if each.why != OURS]
        alone = all(each.parts == (name,) for each in group)
        if group and alone and all(each.system for each in group):
            others += [each.told for each in found[:1]]
        else:
            parts.append((name, folder, found))
    owners = owners_of([(name, folder) for name, folder, _ in parts])
    own = [_Part(owner, *part) for owner, part in zip(owners, parts, strict=True)]
    folders = {part.owner.student for part in own if part.folder}
    mostly = 2 * sum(part.folder for part in own) >= len(own)
    beside = {
        part.name: part
        for part in own
        if (mostly or _NOBODYS_NAME.fullmatch(part.name))
        and part.owner.student not in folders
        and _is_beside(part, limits)
    }
    others += [FileRead(shown(name), "not used", BESIDE, part.found[0].size) for name, part in beside.items()]
    return [part for part in own if part.name not in beside]


def _is_beside(part: _Part, limits: Limits) -> bool:
    """Tell whether an entry is a file that no student handed in, if its place or its name says so."""
    if part.folder or part.owner.platform or any(each.why for each in part.found):
        return False
    return not _runs(part.found, limits)


def _runs(found: Sequence[Found], limits: Limits) -> list[str]:
    """Return the names of files that look handed in, no more than make a class, of the first that there are."""
    looking = (each.parts[-1] for each in found[:_LOOKED_INTO] if not each.why and looks_handed_in(each, limits))
    return list(islice(looking, A_CLASS))


def one(path: str, limits: Limits = DEFAULT) -> Submission:
    """Return a file, a folder or a zip archive as a single submission.

    Parameters
    ----------
    path : str
        The file, folder or archive.
    limits : Limits
        How much is taken from it.

    Raises
    ------
    IntakeError
        It cannot be read at all.
    """
    looked = _looked_at(path)
    name = os.path.basename(os.path.abspath(path))
    if stat.S_ISDIR(looked.st_mode):
        entries_of(path, (), limits.entries)  # raises where the walk would only tell
        found = [_from_entry(path, entry) for entry in walked(path, limits)]
        return within_limits(_displayed(name), visible(path), found, limits)
    found = [Found((name,), looked.st_size, Place(path, (), (), state_of(looked)))]
    return within_limits(_displayed(stem_of(name)), visible(path), found, limits)


def _looked_at(path: str) -> os.stat_result:
    """Return what the system says of the path that was given, which may be a link, as the user chose it."""
    try:
        found = os.stat(path)
    except (OSError, ValueError) as error:
        what = "no such file or folder" if isinstance(error, FileNotFoundError) else f"cannot be read: {reason(error)}"
        raise IntakeError(what, "Check the name.", file=path) from None
    if stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode):
        return found
    raise IntakeError("is neither a folder nor a file", "Give a folder or a zip archive.", file=path)


# --- a class in a folder ---


def _class_folder(path: str, without: Collection[str], limits: Limits) -> tuple[str, list[Entry]]:
    """Return the folder that has the students' files and folders, and these; a common folder at the top is entered."""
    excluded = _real(without)
    entries: list[Entry] = []
    for _ in range(_TOPS):
        here = os.path.realpath(path)
        entries = [
            _unless_grades(path, entry)
            for entry in entries_of(path, (), limits.entries)
            if entry.parts[0] not in without and os.path.join(here, entry.parts[0]) not in excluded
        ]
        own = [entry for entry in entries if not entry.system]
        if len(own) != 1 or not own[0].folder:
            break
        inner = os.path.join(path, own[0].parts[0])
        if not _of_a_class(inner, excluded, limits, _TOPS):
            break
        path = inner
    return path, entries


def _real(paths: Iterable[str]) -> frozenset[str]:
    return frozenset(map(os.path.realpath, paths))


def _unless_grades(path: str, entry: Entry) -> Entry:
    """Return an entry of a folder, refused where grading wrote it."""
    ours = entry.folder and not entry.why and has_grades(os.path.join(path, entry.parts[0]))
    return entry._replace(why=OURS, system=True) if ours else entry


def _of_a_class(path: str, excluded: Collection[str], limits: Limits, levels: int) -> bool:
    """Tell whether a folder, or one that is alone in it, is that of a class and not of a student."""
    here = os.path.realpath(path)
    try:
        entries = [_unless_grades(path, each) for each in entries_of(path, (), limits.entries)]
    except IntakeError:
        return False
    found = [each for each in entries if not each.system and os.path.join(here, each.parts[0]) not in excluded]
    files = [_from_entry(path, each) for each in found if not each.folder]
    if seen_through([(each.parts[0], each.folder) for each in found], _runs(files, limits)):
        return True
    alone = levels > 1 and len(found) == 1 and found[0].folder and not found[0].why
    return alone and _of_a_class(os.path.join(path, found[0].parts[0]), excluded, limits, levels - 1)


def _of_entry(folder: str, entry: Entry, limits: Limits, excluded: Collection[str]) -> list[Found]:
    """Return what is in a file or folder of a class."""
    if not entry.folder or entry.why:
        return [_from_entry(folder, entry)]
    path = os.path.join(folder, entry.parts[0])
    return [
        _from_entry(folder, found._replace(parts=entry.parts + tuple(part for part in found.parts if part != ".")))
        for found in walked(path, limits, excluded)
    ]


def _from_entry(folder: str, entry: Entry) -> Found:
    return Found(entry.parts, entry.size, Place(folder, entry.parts, (), entry.state), entry.why, entry.system)


# --- a class in an archive ---


def _of_archive(path: str, limits: Limits) -> list[Found]:
    """Return what is in the archive of a class."""
    place = Place(path, (), (), state_of(_looked_at(path)))
    with opened_at(place, path, limits) as stream:
        head = stream.read(512)
    other = other_archive(head, path)
    if not other and not head.startswith(ZIP):
        raise IntakeError("is neither a folder nor a zip archive", "Give what the platform exported.", file=path)
    if other:
        raise IntakeError(f"this is {other}, which is not read", "Unpack it, and give the folder.", file=path)
    return in_archive(place, members_of(archive_at(place, path, limits), limits), ())


def _without(found: Sequence[Found], without: Collection[str]) -> list[Found]:
    return [each for each in found if each.parts[0] not in without and "/".join(each.parts) not in without]


def _nobodys(found: Found) -> bool:
    """Tell whether a path names no student: it begins at a root, outside of the archive, or is missing."""
    first = found.parts[0]
    return first in {"", "..", "?"} or bool(found.why and re.match(r"[A-Za-z]:", first))


def _below_top(path: str, found: list[Found], limits: Limits) -> tuple[str, list[Found]]:
    """Leave out the folders that all files of a class lie in."""
    students = [each for each in found if not (each.system or _nobodys(each))]
    own = [each.parts for each in students]
    for depth in range(1, _TOPS + 1):
        if len({parts[:depth] for parts in own}) != 1 or min(map(len, own)) <= depth:
            break
        files = [each for each in students if len(each.parts) == depth + 1]
        if seen_through(_names_at(own, depth), _runs(files, limits)):
            top = own[0][:depth]
            return _below_top(
                f"{path}/{'/'.join(top)}",
                [each._replace(parts=each.parts[depth:]) if each.parts[:depth] == top else each for each in found],
                limits,
            )
    return path, found


def _names_at(paths: Iterable[tuple[str, ...]], level: int) -> list[tuple[str, bool]]:
    names: dict[str, bool] = {}
    for parts in paths:
        names[parts[level]] = names.get(parts[level], False) or len(parts) > level + 1
    return list(names.items())


def _by_first_part(found: Iterable[Found], others: list[FileRead]) -> tuple[list[str], list[tuple[list[Found], bool]]]:
    """Return the first parts of all paths, and what lies below each, with whether it is a folder."""
    groups: dict[str, list[Found]] = {}
    for each in found:
        if _nobodys(each):
            others.append(each.told)
        else:
            groups.setdefault(each.parts[0], []).append(each)
    return list(groups), [(group, any(len(each.parts) > 1 for each in group)) for group in groups.values()]


# --- a submission ---


def _displayed(student: str) -> str:
    return visible(unicodedata.normalize("NFC", student))


def _submission(student: str, where: str, parts: Sequence[_Part], limits: Limits) -> Submission:
    """Put together what belongs to a student; of several attempts, the last one counts."""
    last = max(part.owner.attempt for part in parts)
    current = [part for part in parts if part.owner.attempt == last]
    found: list[Found] = []
    used: set[tuple[str, ...]] = set()
    for part in sorted(parts, key=lambda part: part.owner.attempt != last):
        short = [each.parts[1:] or (part.owner.rest or part.name,) for each in part.found]
        for each, own in zip(part.found, short, strict=True):
            here = each._replace(parts=each.parts if own in used else own)
            if part.owner.attempt != last and not each.why:
                here = here._replace(why="it is of an earlier attempt", system=True)
            found.append(here)
        used.update(short)
    names = [part.name for part in current]
    source = f"{where}/{names[0]}" + (f" and {len(names) - 1} more" if len(names) > 1 else "")
    return within_limits(_displayed(student), visible(source), found, limits)
