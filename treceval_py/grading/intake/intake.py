"""Read what a class handed in, from a folder or an archive, as submissions whose files can be opened safely.

    folder ── folders.py ──┐
                           ├─> Found: files, and what is refused
    archive ── archives.py ┘
        │  platforms.py    the owner, the time and the number of the attempt
        │  here            the folder of the class, the limits, students' own archives
        ▼
    Submission ── candidates.py ──> what each file could be

Nothing is unpacked and no link is followed. Students learn what was refused, with the reason.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import chain, count, islice
from typing import NamedTuple

from treceval_py.errors import InputError, visible
from treceval_py.grading.intake import archives, folders
from treceval_py.grading.intake.archives import Found, IntakeError, Limits, Place, amount, reason, shown
from treceval_py.grading.intake.candidates import head_of, like_a_run
from treceval_py.grading.intake.folders import Item, Listing, Owner, Submission
from treceval_py.grading.intake.platforms import A_CLASS, METADATA, Named, gradescope_of, owners_of, stem_of
from treceval_py.grading.records import FileRead

ONE_STUDENT = (
    "all of it is graded as one student, though several of its files look like runs: "
    "if these are several students, give each of them a folder"
)

BESIDE = "it is next to the submissions, and is not a run"

LACKS = f"handed it in by {METADATA}, but it is not in the export"

_NOBODYS_NAME = re.compile(r"(?i)(read.?me|licen[cs]e|classroom.?roster|grades)(\.[a-z]+)?")
"""Names of files that belong to a whole folder."""

_LOOKED_INTO = 200
"""Most files of a folder that are opened to see whether they are runs."""

_TOPS = 4
"""Most nested folders, each alone at its level, that are entered to find those of the students."""


class _Part(NamedTuple):
    """An entry of a class: a file or folder, or one of several that belong to a student."""

    named: Named
    name: str
    folder: bool
    files: list[Found]


def submissions(
    path: str, limits: Limits = archives.DEFAULT, *, without: Collection[str] = (), others: list[FileRead] | None = None
) -> Sequence[Submission]:
    """Return the submissions of a class, by the names of the students.

    Parameters
    ----------
    path : str
        A folder with a folder or file for each student, or an archive of it as learning platforms export it: zip, tar,
        or tar.gz.
    limits : Limits
        Limits on what is read of each.
    without : collection of str
        Paths or names in the folder that are not submissions.
    others : list of FileRead, optional
        Takes the files found beside the submissions that belong to no student.

    Returns
    -------
    sequence of Submission
        They can be pickled.

    Raises
    ------
    IntakeError
        The folder or archive as a whole cannot be read.
    """
    others = [] if others is None else others
    listed = _listing(path, limits, without, others)
    base = _class_in(listed, limits, others)
    students: dict[str, list[_Part]] = {}
    parts = _students_own(listed, base, others, limits)
    for part in parts:
        students.setdefault(unicodedata.normalize("NFC", part.named.student), []).append(part)
    where = "/".join((path, *base))
    made = [_submission(student, where, students[student], limits) for student in sorted(students)]
    if len(made) == 1 and not made[0].platform and len(_runs(parts[0].files, limits)) > 1:
        others.append(FileRead(made[0].student, "note", ONE_STUDENT, 0))
    others[:] = dict.fromkeys(others)
    return made


def one(path: str, limits: Limits = archives.DEFAULT) -> Submission:
    """Return a file, a folder or an archive as a single submission.

    Parameters
    ----------
    path : str
        The file, folder or archive.
    limits : Limits
        Limits on what is read of it.

    Raises
    ------
    IntakeError
        It cannot be read at all.
    """
    looked = _looked_at(path)
    name = os.path.basename(os.path.abspath(path))
    folder = stat.S_ISDIR(looked.st_mode)
    student = visible(unicodedata.normalize("NFC", name if folder else stem_of(name)))
    made = Submission(student, visible(path), owners=(Owner(student),))
    top = Found(() if folder else (name,), looked.st_size, Place(path, (), (), folders.state_of(looked)), folder=folder)
    listed: Listing = partial(folders.entries_of, path, limits.entries)
    if folder:
        listed(())  # raises, while the walk only reports
    return _within_limits(made, _files_of(listed, top, limits), limits)


def _looked_at(path: str) -> os.stat_result:
    """Return the status of the given path, which may be a link, because the user chose it."""
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:
        fault = "no such file or folder" if isinstance(error, FileNotFoundError) else f"cannot be read: {reason(error)}"
        raise IntakeError(fault, "Check the name.", file=path) from None
    if stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode):
        return status
    raise IntakeError("is neither a folder nor a file", "Give a folder or an archive.", file=path)


# --- where a class lies ---


def _listing(path: str, limits: Limits, without: Collection[str], others: list[FileRead]) -> Listing:
    """Return what lists the entries of the folders of a class, without some of them."""
    here, real = os.path.realpath(path), frozenset(map(os.path.realpath, without))
    folder = stat.S_ISDIR(_looked_at(path).st_mode)
    listed = partial(folders.entries_of, path, limits.entries) if folder else _of_archive(path, limits, others)

    def kept(below: tuple[str, ...]) -> list[Found]:
        return [
            entry
            for entry in listed(below)
            if "/".join(entry.parts) not in without and os.path.join(here, *entry.parts) not in real
        ]

    return kept


def _of_archive(path: str, limits: Limits, others: list[FileRead]) -> Listing:
    """Return what lists the entries of the folders of the archive of a class."""
    place = Place(path, (), (), folders.state_of(_looked_at(path)))
    kind = archives.packed_as(_beginning(Found((path,), 0, place), limits, archives.BEGINNING), path)
    if not kind:
        raise IntakeError("is neither a folder nor an archive", "Give what the platform exported.", file=path)
    if kind not in (archives.ZIP, archives.TAR):
        raise IntakeError(f"this is {kind}, which cannot be read", "Unpack it, and give the folder.", file=path)
    files = archives.files_in(folders.archive_at(place, path, limits), place, limits)
    others += [file.told for file in files if _is_nobodys(file)]
    return folders.entries_in(file for file in _without_packing(files) if not _is_nobodys(file))


def _files_of(listed: Listing, entry: Found, limits: Limits) -> list[Found]:
    """Return a file, or all files below a folder."""
    return list(folders.walked(listed, entry, limits)) if entry.folder and not entry.why else [entry]


def _without_packing(files: Sequence[Found]) -> Sequence[Found]:
    """Remove the times of files if most lie within an hour: then they are times of packing, as on most platforms."""
    times = sorted(datetime.fromisoformat(file.time) for file in files if file.time)
    near = [time for time in times if abs(time - times[len(times) // 2]) < timedelta(hours=1)]
    return [file._replace(time="") for file in files] if 2 * len(near) > len(times) else files


def _is_nobodys(entry: Found) -> bool:
    """Tell whether a path names no student: it is absolute, leads out of the archive, or is missing."""
    first = entry.parts[0]
    return first in {"", "..", "?"} or bool(entry.why and re.match(r"[A-Za-z]:", first))


def _class_in(listed: Listing, limits: Limits, others: list[FileRead]) -> tuple[str, ...]:
    """Return the folder with the students' files and folders: the top, or a folder that is alone in it."""
    entries = listed(())
    system: list[Found] = []
    for _ in range(_TOPS):
        own = [entry for entry in entries if not entry.system]
        system += [entry for entry in entries if entry.system]
        if len(own) != 1 or not own[0].folder or own[0].why:
            break
        try:
            entries = listed(own[0].parts)
        except IntakeError:
            break
        if _are_of_a_class([entry for entry in entries if not entry.system], limits):
            others += [entry._replace(parts=entry.parts[-1:]).told for entry in system]
            return own[0].parts
    return ()


def _are_of_a_class(entries: Sequence[Found], limits: Limits) -> bool:
    """Tell whether entries of a folder belong to a class rather than to a student.

    They do if a platform named them, or if there are several folders or three runs. Two files are enough if none of
    them, or of those that are runs, has a name that students give to their work.
    """
    names = [(entry.parts[-1], entry.folder) for entry in entries]
    inner = sum(entry.folder for entry in entries)
    runs = _runs([entry for entry in entries if not entry.folder], limits)
    if inner > 1 or len(runs) >= A_CLASS or (METADATA, False) in names:
        return True
    files = runs if len(runs) > 1 else [name for name, _ in names]
    neutral = not inner and len(files) > 1 and not any(_OF_A_STUDENT.search(name) for name in files)
    return neutral or any(owner.platform for owner in owners_of(names))


_OF_A_STUDENT = re.compile(r"(?i)run|result|rank|claim|read.?me|qrel|output|report|notes")


def _runs(files: Sequence[Found], limits: Limits) -> list[str]:
    """Return the names of the first files that look like submissions, up to the number that makes a class."""
    looking = (file.parts[-1] for file in files[:_LOOKED_INTO] if not file.why and _looks_handed_in(file, limits))
    return list(islice(looking, A_CLASS))


def _looks_handed_in(file: Found, limits: Limits) -> bool:
    """Tell whether a file looks like a run, or is an archive that may contain one."""
    name = file.parts[-1]
    try:
        with folders.opened_at(file.place, shown(name), limits) as stream:
            packed = archives.packed_as(stream.read(archives.BEGINNING), name)
            stream.seek(0)
            return packed in (archives.ZIP, archives.TAR) or like_a_run(head_of(stream), name)
    except (IntakeError, InputError):
        return False


def _beginning(file: Found, limits: Limits, size: int) -> bytes:
    with folders.opened_at(file.place, shown(file.parts[-1]), limits) as stream:
        return stream.read(size)


# --- whose the files and folders are ---


def _students_own(listed: Listing, base: tuple[str, ...], others: list[FileRead], limits: Limits) -> list[_Part]:
    """Return the owners of the entries of a class; report entries that belong to nobody."""
    parts: list[tuple[str, bool, list[Found]]] = []
    metadata: dict[str, Named] = {}
    for entry in listed(base):
        name = entry.parts[-1]
        if entry.system:
            others.append(entry._replace(parts=(name,)).told)
        elif name == METADATA and not entry.folder and not entry.why:
            metadata = gradescope_of(_beginning(entry, limits, limits.file_bytes).decode("utf-8", "replace"))
        else:
            files = [file._replace(parts=file.parts[len(base) :]) for file in _files_of(listed, entry, limits)]
            others += [file.told for file in files if file.why == archives.OURS]
            parts.append((name, entry.folder and not entry.why, [file for file in files if file.why != archives.OURS]))
    for name in sorted(metadata.keys() - {name for name, *_ in parts}):
        others.append(FileRead(shown(name), "note", f"{shown(metadata[name].student)} {LACKS}", 0))
    repositories = any(file.parts[1:] in ((".git",), (".github",)) for _, _, files in parts for file in files)
    named = owners_of([(name, folder) for name, folder, _ in parts], metadata, repositories=repositories)
    own = [_Part(owner, *part) for owner, part in zip(named, parts, strict=True)]
    students = {part.named.student for part in own if part.folder}
    mostly = 2 * sum(part.folder for part in own) >= len(own)
    beside = [
        part
        for part in own
        if (mostly or _NOBODYS_NAME.fullmatch(part.name))
        and not (part.folder or part.named.platform or part.named.student in students or part.files[0].why)
        and not _runs(part.files, limits)
    ]
    others += [FileRead(shown(part.name), "not used", BESIDE, part.files[0].size) for part in beside]
    return [part for part in own if part not in beside]


def _submission(student: str, where: str, parts: Sequence[_Part], limits: Limits) -> Submission:
    """Put together the files of a student, the last attempt first."""
    parts = sorted(parts, key=_attempt, reverse=True)
    current = [part for part in parts if _attempt(part) == _attempt(parts[0])]
    files = []
    for part in parts:
        own = [file._replace(parts=file.parts[1:] or (part.named.rest or part.name,)) for file in part.files]
        files += [file._replace(attempt=_attempt(part), number=part.named.number) for file in own]
    names = [part.name for part in current]
    number = max("" if _attempt(part) else part.named.attempt for part in current)
    attempts = len({_attempt(part) for part in parts})
    last = max((part.named for part in current), key=lambda named: named.handed_in)
    made = Submission(
        visible(student),
        visible(f"{where}/{names[0]}" + (f" and {len(names) - 1} more" if len(names) > 1 else "")),
        owners=_with_name(last.owners, current, limits),
        platform=last.platform,
        group=last.group,
        handed_in=last.handed_in,
        late=max((part.named.late for part in current if part.named.late is not None), default=None),
        attempt=str(attempts) if attempts > 1 else number,
    )
    return _within_limits(made, files, limits)


def _attempt(part: _Part) -> str:
    """Return the attempt of a part, if the platform exports several."""
    return part.named.attempt if part.named.platform == "blackboard" else ""


_SAID = re.compile(r"(?m)^Name:[ \t]*(\S[^\r\n()]{0,200}?)[ \t]*\(")


def _with_name(owners: tuple[Owner, ...], parts: Sequence[_Part], limits: Limits) -> tuple[Owner, ...]:
    """Return the owners; on Blackboard, with the name from the top of the typed text."""
    for part in parts:
        if part.named.platform == "blackboard" and part.named.rest == "typed.txt" and not part.files[0].why:
            with contextlib.suppress(IntakeError):
                text = _beginning(part.files[0], limits, archives.BEGINNING).decode("utf-8", "replace")
                if said := _SAID.match(text):
                    return tuple(owner._replace(name=said[1]) for owner in owners)
    return owners


# --- what is taken of a submission ---

LONGEST_LIST = 100
"""Most refused files that are reported one by one."""


MOST_TARS = 5
"""Most tar archives of a submission that are read, since each must be unpacked to list its files."""


def _within_limits(made: Submission, files: Iterable[Found], limits: Limits) -> Submission:
    """Return a submission with its items within the limits; the last attempt and the topmost files come first."""
    items: list[Item] = []
    refused: list[Found] = []
    names: set[str] = set()
    total = 0
    ordered = sorted(files, key=_by_depth)
    for file in _unpacked(sorted(ordered, key=lambda file: file.attempt, reverse=True), limits):
        why = file.why
        if not why and file.size > limits.file_bytes:
            why = f"it has {amount(file.size)}, more than {amount(limits.file_bytes)}"
        elif not why and len(items) >= limits.files:
            why = f"the submission has more than {limits.files:,} files"
        elif not why and total + file.size > limits.submission_bytes:
            why = f"with it, the files of the submission have more than {amount(limits.submission_bytes)}"
        if why:
            refused.append(file._replace(why=why))
        else:
            total += file.size
            short = shown("/".join(file.parts))  # shortened names can collide, and so can names with escapes
            others = (f"{short} ({number})" for number in count(2))
            names.add(name := next(name for name in chain([short], others) if name not in names))
            items.append(Item(name, file.size, file.place, limits, file.attempt, file.number, file.time))
    reports = [file.told for file in refused[:LONGEST_LIST]]
    if more := refused[LONGEST_LIST:]:
        why = f"{len(more):,} more, for the same or other reasons"
        reports.append(FileRead("…", "refused", why, sum(file.size for file in more)))
    return made._replace(items=tuple(items), refused=tuple(reports))


def _unpacked(files: Iterable[Found], limits: Limits, *, inner: bool = False) -> Iterator[Found]:
    """Yield files, with the files of archives in place of those; archives within archives are refused."""
    looked = tars = 0
    for file in files:
        if file.why or file.size > limits.file_bytes or looked >= limits.files:
            yield file  # the limits will refuse it
            continue
        looked += 1
        try:
            packed, why = archives.packed_as(_beginning(file, limits, archives.BEGINNING), file.parts[-1]), ""
            if not inner and len("/".join(file.parts)) > limits.path:
                why = f"its path has more than {limits.path} characters"
            elif inner and packed:
                why = f"it is {packed} in an archive: hand in the files themselves"
            elif packed not in ("", archives.ZIP, archives.TAR):
                why = f"it is {packed}, which cannot be read: hand in a zip archive or the files themselves"
            elif packed == archives.TAR and tars == MOST_TARS:
                why = f"no more than {MOST_TARS} tar archives are unpacked: hand in one, or the files themselves"
            elif packed:
                tars += packed == archives.TAR
                yield from _unpacked(_members(file, packed, limits), limits, inner=True)
                continue
            yield file._replace(why=why)
        except IntakeError as error:
            yield file._replace(why=error.what)


def _members(archive: Found, packed: str, limits: Limits) -> list[Found]:
    """Return the files of an archive that a student handed in."""
    most = limits.of_a_student
    members = archives.files_in(folders.archive_at(archive.place, shown(archive.parts[-1]), most), archive.place, most)
    if not members:
        return [archive._replace(why=f"it is {packed} without files")]
    files = folders.walked(folders.entries_in(members), Found((), 0, archive.place, folder=True), limits)
    attempt, number = archive.attempt, archive.number
    made = [file._replace(parts=archive.parts + file.parts, attempt=attempt, number=number) for file in files]
    return sorted(made, key=_by_depth)


def _by_depth(file: Found) -> tuple[int, tuple[str, ...]]:
    return len(file.parts), file.parts
