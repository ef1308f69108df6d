"""What was found in submissions, on its way to items: within the limits, students' own archives opened once."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable
from typing import NamedTuple

from treceval_py.grading.intake.archives import Member, members_of
from treceval_py.grading.intake.choosing import HEAD, like_a_run
from treceval_py.grading.intake.folders import OURS, is_manifest
from treceval_py.grading.intake.items import Item, Place, Submission, archive_at, opened_at
from treceval_py.grading.intake.limits import IntakeError, Limits, amount, left_out, shown
from treceval_py.grading.records import FileRead

__all__ = ["ZIP", "Found", "in_archive", "is_zip", "looks_handed_in", "other_archive", "within_limits"]


class Found(NamedTuple):
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


def in_archive(place: Place, members: Iterable[Member], before: tuple[str, ...]) -> list[Found]:
    """Return the members of an archive; what no person wrote, and folders of grades, are told once a folder."""
    members = list(members)
    ours = {member.parts[:-2] for member in members if is_manifest(member.parts) and not member.why} - {()}
    found: list[Found] = []
    told: set[tuple[str, ...]] = set()
    for member in members:
        end, why = _left_out(member.parts, ours)
        own = place._replace(members=(*place.members, member.number))
        if ".." in member.parts or not why:
            found.append(Found(before + member.parts, member.size, own, member.why))
        elif member.parts[:end] not in told:
            told.add(member.parts[:end])
            found.append(Found(before + member.parts[:end], member.size, own, why, system=True))
    return found


def _left_out(parts: tuple[str, ...], ours: Collection[tuple[str, ...]]) -> tuple[int, str]:
    """Return how many parts of a path are of what is left out, and why; 0 and nothing where it is not."""
    for end, part in enumerate(parts, 1):
        why = OURS if parts[:end] in ours else left_out(part)
        if why:
            return end, why
    return 0, ""


LONGEST_LIST = 100
"""How many refused files are told one by one."""


def within_limits(student: str, source: str, found: Iterable[Found], limits: Limits) -> Submission:
    """Make the items of a submission, of what lies high up first, as long as the limits allow."""
    items: list[Item] = []
    refused: list[Found] = []
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
ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_OF_A_DOCUMENT = (".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp", ".jar", ".npz", ".epub", ".pages", ".numbers")


def is_zip(head: bytes, name: str) -> bool:
    """Tell whether a file is a zip archive that is opened, by its beginning and its name."""
    return head.startswith(ZIP) and not name.lower().endswith(_OF_A_DOCUMENT)


def looks_handed_in(found: Found, limits: Limits) -> bool:
    """Tell whether a file looks like a run, or is a zip archive that may have one."""
    name = found.parts[-1]
    try:
        with opened_at(found.place, shown(name), limits) as stream:
            head = stream.read(HEAD)
        if head.startswith(b"\x1f\x8b"):
            head = zlib.decompressobj(31).decompress(head, HEAD)
    except (IntakeError, zlib.error):
        return False
    return is_zip(head, name) or like_a_run(head, name)


def other_archive(head: bytes, name: str) -> str:
    """Return which archive that is not read this is; the empty string where it is none."""
    found = next((what for magic, what in _PACKED.items() if head.startswith(magic)), "")
    return found or ("a tar archive" if head[257:262] == b"ustar" or name.lower().endswith(_TAR) else "")


def _unpacked(found: Iterable[Found], refused: list[Found], limits: Limits) -> Iterable[Found]:
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
                if other := other_archive(head, name):
                    why = f"it is {other}, which is not read: hand in a zip archive or the files themselves"
                    refused.append(each._replace(why=why))
                elif is_zip(head, name):
                    yield from _members(each, refused, limits)
                else:
                    yield each
            except IntakeError as error:
                refused.append(each._replace(why=error.what))


def _members(archive: Found, refused: list[Found], limits: Limits) -> Iterable[Found]:
    """Yield the files of an archive that a student handed in; one that lies in it is refused."""
    place, name = archive.place, shown(archive.parts[-1])
    opened = archive_at(place, name, limits, entries=min(limits.entries, 10 * limits.files))
    found = in_archive(place, members_of(opened, limits), archive.parts)
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
            packed = other_archive(head, each.parts[-1]) or ("a zip archive" if head.startswith(ZIP) else "")
            if packed and not each.parts[-1].lower().endswith(_OF_A_DOCUMENT):
                refused.append(each._replace(why=f"it is {packed} in a zip archive: hand in the files themselves"))
                continue
        yield each
