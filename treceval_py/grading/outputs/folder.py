"""The folder of grades: whether grading made it, what is written to it, and what an earlier grading left there."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec

from treceval_py.data.ids import encode
from treceval_py.errors import OutputError
from treceval_py.grading.grades import Grades, Question
from treceval_py.grading.processes.kept import forget_unfinished, remove
from treceval_py.io.target import written_whole

KEPT = ".grades"
"""The folder of records within the output; it marks the output as a folder that grading made."""

MANIFEST = "files.json"
"""List of the written files, in the folder of records: for each name the SHA-256 of the content, or None if unknown."""

ADJUSTMENTS = "adjustments.toml"
"""The teacher's decisions by hand; grading only reads this file."""

FEEDBACK = "feedback"

GRADES = "grades.json"
"""The next grading is compared with this file, so it is written last."""

CHANGES = ("changes.txt", "changes.csv")
"""The changes of the last grading that changed anything."""

FILES = (
    *("gradebook.csv", "gradebook.xlsx", "overview.html", *CHANGES),
    *("import-moodle.csv", "import-canvas.csv", "import-gradescope.zip", GRADES),
)


LISTED = 3
"""Most names of edited files in a note; the questions of students name all."""


RESERVED = frozenset({KEPT, FEEDBACK, ADJUSTMENTS, *FILES})
"""Names that no task of a course can have."""


def check_folder(target: str) -> None:
    """Refuse a folder that has files of somebody else.

    Raises
    ------
    OutputError
        The path is not a folder, or a folder that grading did not make.
    """
    if not os.path.lexists(target):
        return
    if not os.path.isdir(target):
        raise OutputError("is not a folder", "Name a new one.", file=target)
    if set(os.listdir(target)) - {ADJUSTMENTS} and not os.path.isdir(os.path.join(target, KEPT)):
        raise OutputError(
            "the folder has files that grading did not write", "Name a new or an empty folder.", file=target
        )


def edited(target: str) -> tuple[str, ...]:
    """Return the names of the files that were changed after grading wrote them, in order."""
    known = _manifest(target)
    current = {name: _digest_at(os.path.join(target, name)) for name, digests in known.items() if digests}
    return tuple(sorted(name for name, digest in current.items() if digest and digest not in known[name]))


def about_edits(names: Sequence[str]) -> str:
    """Say which files were edited by hand; without a full stop."""
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"edited by hand and kept: {', '.join(names[:LISTED])}{more}; if grading changed one, see its .new file"


def with_edits(target: str, book: Grades) -> Grades:
    """Return a class with a question and a note for each file that was edited by hand and is kept."""
    names = edited(target)
    if not names:
        return book
    told = {
        name: f"{name} was edited by hand and is kept; if grading changed it, see {new_name(name)}" for name in names
    }
    entries = tuple(
        entry._replace(questions=(*entry.questions, Question("kept edit", told[name]))) if name in told else entry
        for entry in book.entries
        for name in (f"{FEEDBACK}/{entry.name}.txt",)
    )
    return book._replace(entries=entries, notes=(*book.notes, about_edits(names)))


def new_name(name: str) -> str:
    """Return the name of the new version of an edited file.

    Examples
    --------
    >>> new_name("feedback/Ada_Lovelace.txt")
    'feedback/Ada_Lovelace.new.txt'
    """
    stem, ending = os.path.splitext(name)
    return f"{stem}.new{ending}"


def write_all(target: str, book: Grades, platforms: Sequence[str] = ()) -> tuple[str, ...]:
    """Write everything about a class, and remove files that an earlier grading wrote and this one does not.

    A file that was edited since it was written is kept. Its new version is written beside it, unless the edited file
    was made from the same content.

    Parameters
    ----------
    target : str
        The folder.
    book : Grades
        The class.
    platforms : sequence of str
        The learning platforms for which import files are written.

    Returns
    -------
    tuple of str
        Changes since the previous grading, and students whom import files leave out; sentences without full stops.

    Raises
    ------
    OutputError
        A file cannot be written.
    """
    return write_files(target, lambda by_hand: _outputs(target, book, by_hand, platforms))


def write_files(
    target: str, make: Callable[[Mapping[str, bytes]], tuple[dict[str, bytes], tuple[str, ...]]]
) -> tuple[str, ...]:
    """Write the files that ``make`` returns for the edited ones, and return its notes; see `write_all`."""
    known = _manifest(target)
    by_hand = {name: _read(os.path.join(target, name)) for name in edited(target)}
    made, notes = make(by_hand)
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in made.items()}
    places = [(name, place) for name in made if (place := _place(name, made[name], known, by_hand))]
    _make_folder(os.path.join(target, FEEDBACK))
    # If this grading is killed now, the next one recognises both contents as its own.
    _write_manifest(target, {**known, **{place: (*known.get(place, ()), digests[name]) for name, place in places}})
    for name, place in places:
        with written_whole(os.path.join(target, place)) as stream:
            stream.write(made[name])
    written = {place: (digests[name],) for name, place in places}
    for name in known:
        if name not in written and name not in by_hand and os.path.lexists(os.path.join(target, name)):
            remove(os.path.join(target, name))
    _write_manifest(target, {**{name: known[name] for name in by_hand}, **written})
    forget_unfinished(target, FILES)
    forget_unfinished(os.path.join(target, KEPT), (MANIFEST,))
    forget_unfinished(os.path.join(target, FEEDBACK), {os.path.basename(name) for name in (*written, *known)})
    return notes


def _place(name: str, data: bytes, known: Mapping[str, Sequence[str]], by_hand: Mapping[str, bytes]) -> str:
    """Return the name for a file; empty if the edited one was made from the same content."""
    if name in by_hand and by_hand[name] != data and hashlib.sha256(data).hexdigest() in known[name]:
        return ""
    while name in by_hand and by_hand[name] != data:
        name = new_name(name)
    return name


def _make_folder(path: str) -> None:
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot be made: {error.strerror or error}", file=path) from None


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError as error:
        raise OutputError(f"cannot be read: {error.strerror or error}", file=path) from None


def _digest_at(path: str) -> str:
    """Return the SHA-256 of a file; empty if there is none."""
    if not os.path.isfile(path):
        return ""
    return hashlib.sha256(_read(path)).hexdigest()


def _manifest(target: str) -> dict[str, tuple[str, ...]]:
    """Return the files that an earlier grading wrote in the folder: names, and SHA-256 of contents that may be ours."""
    try:
        with open(os.path.join(target, KEPT, MANIFEST), "rb") as stream:
            manifest = json.load(stream)
    except (OSError, ValueError):
        return {}
    if isinstance(manifest, list):  # from a version that kept names only
        manifest = dict.fromkeys((name for name in manifest if isinstance(name, str)), ())
    if not isinstance(manifest, dict):
        return {}
    return {
        name: tuple(digest for digest in digests if isinstance(digest, str))
        for name, digests in manifest.items()
        if isinstance(digests, (list, tuple)) and _is_ours(name)
    }


def _write_manifest(target: str, names: Mapping[str, Sequence[str]]) -> None:
    with written_whole(os.path.join(target, KEPT, MANIFEST)) as stream:
        stream.write(json.dumps(names, sort_keys=True).encode())


def _is_ours(name: str) -> bool:
    folder, _, file = name.partition("/")
    return name.replace(".new.", ".") in FILES or (folder == FEEDBACK and "/" not in file and file.endswith(".txt"))


def _lacking(file: str, left: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each reason why students are missing from a file."""
    from treceval_py.grading.outputs.gradebook import shown

    for why in dict.fromkeys(left.values()):
        names = ", ".join(shown(student) for student, reason in left.items() if reason == why)
        yield f"{file} lacks {names}: {why}"


def _outputs(
    target: str, book: Grades, by_hand: Mapping[str, bytes], platforms: Sequence[str]
) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Make all files, and notes about them; files that need a package of the extra only if it is installed."""
    from treceval_py.grading.outputs.changes import changed, changes_csv, changes_txt, read_before
    from treceval_py.grading.outputs.feedback import feedback
    from treceval_py.grading.outputs.gradebook import gradebook_csv, graded_json
    from treceval_py.grading.outputs.imports import PLATFORMS
    from treceval_py.grading.outputs.overview import overview
    from treceval_py.grading.outputs.workbook import gradebook_xlsx

    made = {"gradebook.csv": encode(gradebook_csv(book))}
    if find_spec("xlsxwriter") is not None:
        made["gradebook.xlsx"] = gradebook_xlsx(book)
    if find_spec("jinja2") is not None:
        made["overview.html"] = encode(overview(book))
    texts = {entry.name: encode(feedback(entry, book)) for entry in book.entries}
    made.update({f"{FEEDBACK}/{name}.txt": text for name, text in texts.items()})
    # On their platform, students read the feedback as the teacher edited it.
    read = {name: by_hand.get(f"{FEEDBACK}/{name}.txt", text).decode(errors="replace") for name, text in texts.items()}
    notes = []
    for name in platforms:
        file = PLATFORMS[name].file
        made[file], left = PLATFORMS[name].make(book, read)
        notes.append(f"{file} is for {PLATFORMS[name].where}")
        notes += _lacking(file, left)
    every = [graded_json(entry, book) for entry in book.entries]
    before = read_before(os.path.join(target, GRADES))
    if changes := changed(before, every) if before else ():
        made |= dict(zip(CHANGES, (changes_txt(changes, len(every)), changes_csv(changes)), strict=True))
        count = len({change.student for change in changes})
        notes.append(f"{count} of {len(every)} students changed since the last grading: see {CHANGES[0]}")
    else:  # keep the previous changes
        made |= {name: _read(path) for name in CHANGES if os.path.isfile(path := os.path.join(target, name))}
    made[GRADES] = (json.dumps(every, indent=1, allow_nan=False) + "\n").encode()
    return made, tuple(notes)
