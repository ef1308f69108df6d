"""What a class handed in, from a folder or a zip archive, as submissions whose files can be opened safely.

    folder, zip archive ── folders.py, archives.py ──> what is found, and what of it is refused
                        ── platforms.py ──> whose it is
                        ── here ──> Submission: items within the limits, students' own archives opened once

Nothing is unpacked and no link is followed. What is refused is told to the student, with the reason.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from treceval_py.errors import visible
from treceval_py.grading.archives import Member, members_of, reason
from treceval_py.grading.folders import Entry, entries_of, state_of, walked
from treceval_py.grading.items import Item, Place, Submission, archive_at, opened_at
from treceval_py.grading.limits import DEFAULT, IntakeError, Limits, amount, left_out, shown
from treceval_py.grading.platforms import Owner, owners_of, safe_name, seen_through, stem_of
from treceval_py.grading.records import FileRead

__all__ = ["IntakeError", "Item", "Limits", "Place", "Submission", "one", "safe_name", "submissions"]


_TOPS = 4
"""Folders in one another, each alone at the top, that are entered in search of those of the students."""


class _Found(NamedTuple):
    """Something that was found: a file, or what is refused.

    Attributes
    ----------
    parts : tuple of str
        Its path in the class, later in the submission.
    size : int
        Bytes.
    place : Place
        Where it is.
    why : str
        Why it is refused; empty where it is not.
    system : bool
        Whether it is passed over as nothing that a person wrote.
    """

    parts: tuple[str, ...]
    size: int
    place: Place
    why: str = ""
    system: bool = False

    @property
    def told(self) -> FileRead:
        """What is said of something that is refused."""
        return FileRead(shown("/".join(self.parts)), "not used" if self.system else "refused", self.why, self.size)


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
        groups = [(_of_entry(inner, entry, limits), entry.folder) for entry in below]
        where = inner
    else:
        found = _without(_of_archive(path, limits), without)
        where, found = _below_top(path, found)
        names, groups = _by_first_part(found, others)
    owned = [(name, folder) for name, (_, folder) in zip(names, groups, strict=True)]
    students: dict[str, list[tuple[Owner, str, list[_Found]]]] = {}
    for owner, name, (group, _) in zip(owners_of(owned), names, groups, strict=True):
        if len(group) == 1 and group[0].system and group[0].parts == (name,):
            others.append(group[0].told)
        else:
            students.setdefault(unicodedata.normalize("NFC", owner.student), []).append((owner, name, group))
    return [_submission(student, where, students[student], limits) for student in sorted(students)]


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
        return _within_limits(_displayed(name), visible(path), found, limits)
    found = [_Found((name,), looked.st_size, Place(path, (), (), state_of(looked)))]
    return _within_limits(_displayed(stem_of(name)), visible(path), found, limits)


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
    excluded = {os.path.realpath(each) for each in without}
    entries: list[Entry] = []
    for _ in range(_TOPS):
        here = os.path.realpath(path)
        entries = [
            entry
            for entry in entries_of(path, (), limits.entries)
            if entry.parts[0] not in without and os.path.join(here, entry.parts[0]) not in excluded
        ]
        own = [entry for entry in entries if not entry.system]
        if len(own) != 1 or not own[0].folder:
            break
        inner = os.path.join(path, own[0].parts[0])
        if not _of_a_class(inner, limits, _TOPS):
            break
        path = inner
    return path, entries


def _of_a_class(path: str, limits: Limits, levels: int) -> bool:
    """Tell whether a folder, or one that is alone in it, is that of a class and not of a student."""
    try:
        found = [each for each in entries_of(path, (), limits.entries) if not each.system]
    except IntakeError:
        return False
    if seen_through([(each.parts[0], each.folder) for each in found]):
        return True
    alone = levels > 1 and len(found) == 1 and found[0].folder and not found[0].why
    return alone and _of_a_class(os.path.join(path, found[0].parts[0]), limits, levels - 1)


def _of_entry(folder: str, entry: Entry, limits: Limits) -> list[_Found]:
    """Return what is in a file or folder of a class."""
    if not entry.folder or entry.why:
        return [_from_entry(folder, entry)]
    path = os.path.join(folder, entry.parts[0])
    return [
        _from_entry(folder, found._replace(parts=entry.parts + tuple(part for part in found.parts if part != ".")))
        for found in walked(path, limits)
    ]


def _from_entry(folder: str, entry: Entry) -> _Found:
    return _Found(entry.parts, entry.size, Place(folder, entry.parts, (), entry.state), entry.why, entry.system)


# --- a class in an archive ---


def _of_archive(path: str, limits: Limits) -> list[_Found]:
    """Return what is in the archive of a class."""
    place = Place(path, (), (), state_of(_looked_at(path)))
    with opened_at(place, path, limits) as stream:
        head = stream.read(512)
    other = _other_archive(head, path)
    if not other and not head.startswith(_ZIP):
        raise IntakeError("is neither a folder nor a zip archive", "Give what the platform exported.", file=path)
    if other:
        raise IntakeError(f"this is {other}, which is not read", "Unpack it, and give the folder.", file=path)
    return _in_archive(place, members_of(archive_at(place, path, limits), limits), ())


def _in_archive(place: Place, members: Iterable[Member], before: tuple[str, ...]) -> list[_Found]:
    """Return the members of an archive; what no person wrote is told once a folder."""
    found: list[_Found] = []
    told: set[tuple[str, ...]] = set()
    for member in members:
        end, why = next(((end, why) for end, part in enumerate(member.parts, 1) if (why := left_out(part))), (0, ""))
        own = place._replace(members=(*place.members, member.number))
        if ".." in member.parts or not why:
            found.append(_Found(before + member.parts, member.size, own, member.why))
        elif member.parts[:end] not in told:
            told.add(member.parts[:end])
            found.append(_Found(before + member.parts[:end], member.size, own, why, system=True))
    return found


def _without(found: Sequence[_Found], without: Collection[str]) -> list[_Found]:
    return [each for each in found if each.parts[0] not in without and "/".join(each.parts) not in without]


def _nobodys(found: _Found) -> bool:
    """Tell whether a path names no student: it begins at a root, outside of the archive, or is missing."""
    first = found.parts[0]
    return first in {"", "..", "?"} or bool(found.why and re.match(r"[A-Za-z]:", first))


def _below_top(path: str, found: list[_Found]) -> tuple[str, list[_Found]]:
    """Leave out the folders that all files of a class lie in."""
    own = [each.parts for each in found if not (each.system or _nobodys(each))]
    for depth in range(1, _TOPS + 1):
        if len({parts[:depth] for parts in own}) != 1 or min(map(len, own)) <= depth:
            break
        if seen_through(_names_at(own, depth)):
            top = own[0][:depth]
            return _below_top(
                f"{path}/{'/'.join(top)}",
                [each._replace(parts=each.parts[depth:]) if each.parts[:depth] == top else each for each in found],
            )
    return path, found


def _names_at(paths: Iterable[tuple[str, ...]], level: int) -> list[tuple[str, bool]]:
    names: dict[str, bool] = {}
    for parts in paths:
        names[parts[level]] = names.get(parts[level], False) or len(parts) > level + 1
    return list(names.items())


def _by_first_part(
    found: Iterable[_Found], others: list[FileRead]
) -> tuple[list[str], list[tuple[list[_Found], bool]]]:
    """Return the first parts of all paths, and what lies below each, with whether it is a folder."""
    groups: dict[str, list[_Found]] = {}
    for each in found:
        if _nobodys(each):
            others.append(each.told)
        else:
            groups.setdefault(each.parts[0], []).append(each)
    return list(groups), [(group, any(len(each.parts) > 1 for each in group)) for group in groups.values()]


# --- a submission ---


def _displayed(student: str) -> str:
    return visible(unicodedata.normalize("NFC", student))


def _submission(
    student: str, where: str, parts: Sequence[tuple[Owner, str, list[_Found]]], limits: Limits
) -> Submission:
    """Put together what belongs to a student; of several attempts, the last one counts."""
    last = max(owner.attempt for owner, _, _ in parts)
    current = [part for part in parts if part[0].attempt == last]
    found: list[_Found] = []
    used: set[tuple[str, ...]] = set()
    for owner, name, group in sorted(parts, key=lambda part: part[0].attempt != last):
        short = [each.parts[1:] or (owner.rest or name,) for each in group]
        for each, own in zip(group, short, strict=True):
            here = each._replace(parts=each.parts if own in used else own)
            if owner.attempt != last and not each.why:
                here = here._replace(why="it is of an earlier attempt", system=True)
            found.append(here)
        used.update(short)
    names = [name for _, name, _ in current]
    source = f"{where}/{names[0]}" + (f" and {len(names) - 1} more" if len(names) > 1 else "")
    return _within_limits(_displayed(student), visible(source), found, limits)


LONGEST_LIST = 100
"""How many refused files are told one by one."""


def _within_limits(student: str, source: str, found: Iterable[_Found], limits: Limits) -> Submission:
    """Make the items of a submission, of what lies high up first, as long as the limits allow."""
    items: list[Item] = []
    refused: list[_Found] = []
    total = 0
    for each in _unpacked(sorted(found, key=lambda each: (len(each.parts), each.parts)), refused, limits):
        if each.size > limits.file_bytes:
            refused.append(each._replace(why=f"it has {amount(each.size)}, more than {amount(limits.file_bytes)}"))
        elif len(items) >= limits.files:
            refused.append(each._replace(why=f"the submission has more than {limits.files:,} files"))
        elif total + each.size > limits.submission_bytes:
            most = amount(limits.submission_bytes)
            refused.append(each._replace(why=f"with it, the files of the submission have more than {most}"))
        else:
            total += each.size
            items.append(Item(shown("/".join(each.parts)), each.size, each.place, limits))
    told = [each.told for each in refused[:LONGEST_LIST]]
    if len(refused) > LONGEST_LIST:
        more, size = len(refused) - LONGEST_LIST, sum(each.size for each in refused[LONGEST_LIST:])
        told.append(FileRead("…", "refused", f"{more:,} more, for the same or other reasons", size))
    return Submission(student, source, tuple(items), tuple(told))


# --- archives that students hand in ---

_PACKED = {
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!\x1a\x07": "a rar archive",
}
_TAR = (".tar", ".tgz", ".tbz", ".tbz2", ".txz", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst")
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_ZIP_OF_A_DOCUMENT = (".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp", ".jar", ".npz", ".epub", ".pages", ".numbers")


def _other_archive(head: bytes, name: str) -> str:
    """Return which archive that is not read this is; the empty string where it is none."""
    found = next((what for magic, what in _PACKED.items() if head.startswith(magic)), "")
    return found or ("a tar archive" if head[257:262] == b"ustar" or name.lower().endswith(_TAR) else "")


def _unpacked(found: Iterable[_Found], refused: list[_Found], limits: Limits) -> Iterable[_Found]:
    """Yield what can be read, with the files of zip archives in the place of these."""
    looked = 0
    for each in found:
        name = each.parts[-1]
        if each.why:
            refused.append(each)
        elif each.size > limits.file_bytes or looked >= limits.files:
            yield each  # the limits will refuse it
        elif len("/".join(each.parts)) > limits.path:
            refused.append(each._replace(why=f"its path has more than {limits.path} characters"))
        else:
            looked += 1
            try:
                with opened_at(each.place, shown(name), limits) as stream:
                    head = stream.read(512)
                if other := _other_archive(head, name):
                    why = f"it is {other}, which is not read: hand in a zip archive or the files themselves"
                    refused.append(each._replace(why=why))
                elif head.startswith(_ZIP) and not name.lower().endswith(_ZIP_OF_A_DOCUMENT):
                    yield from _members(each, refused, limits)
                else:
                    yield each
            except IntakeError as error:
                refused.append(each._replace(why=error.what))


def _members(archive: _Found, refused: list[_Found], limits: Limits) -> Iterable[_Found]:
    """Yield the files of an archive that a student handed in; one that lies in it is refused."""
    place, name = archive.place, shown(archive.parts[-1])
    opened = archive_at(place, name, limits, entries=min(limits.entries, 10 * limits.files))
    found = _in_archive(place, members_of(opened, limits), archive.parts)
    if not found:
        refused.append(archive._replace(why="it is a zip archive without files"))
    for looked, each in enumerate(sorted(found, key=lambda each: (len(each.parts), each.parts))):
        if each.why:
            refused.append(each)
            continue
        if looked < limits.files:
            try:
                with opened_at(each.place, shown(each.parts[-1]), limits) as stream:
                    head = stream.read(512)
            except IntakeError as error:
                refused.append(each._replace(why=error.what))
                continue
            packed = _other_archive(head, each.parts[-1]) or ("a zip archive" if head.startswith(_ZIP) else "")
            if packed and not each.parts[-1].lower().endswith(_ZIP_OF_A_DOCUMENT):
                refused.append(each._replace(why=f"it is {packed} in a zip archive: hand in the files themselves"))
                continue
        yield each
