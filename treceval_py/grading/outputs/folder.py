"""The folder of grades: what is written to it, what changed, and what an earlier grading left there."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from importlib.util import find_spec
from typing import Any

from treceval_py.data.ids import encode
from treceval_py.errors import OutputError
from treceval_py.grading.grades import Grades, Question
from treceval_py.grading.outputs.feedback import feedback
from treceval_py.grading.outputs.gradebook import class_table, csv_of, graded_json, sheets_of, shown, workbook
from treceval_py.grading.outputs.imports import PLATFORMS
from treceval_py.grading.outputs.pages import overview
from treceval_py.grading.processes import refusing, remove
from treceval_py.grading.records import KEPT, MANIFEST
from treceval_py.io.target import written_whole

Changes = dict[tuple[str, int], list[str]]
"""For each student and submission a line for each change; a second student of the same name has the number 1."""


def read_before(path: str, kind: type[Any] = list) -> Any:
    """Return what an earlier grading wrote as JSON; empty if it cannot be read."""
    try:
        with open(path, "rb") as stream:
            record = json.load(stream)
    except (OSError, ValueError, RecursionError):
        return kind()
    return record if isinstance(record, kind) else kind()


def changed(before: Sequence[Any], after: Sequence[Mapping[str, Any]]) -> Changes:
    """Compare two gradings, as `graded_json` describes all submissions; damaged earlier ones are skipped."""
    old, new = _by_student(before), _by_student(after)
    changes = {}
    for key in sorted({**old, **new}, key=lambda key: (key[0].casefold(), key)):
        was = old.get(key, {}) if key in new else {"submission": "graded"}
        now = new.get(key, {"submission": "gone"}) if key in old else {"submission": "new"}
        lines = [
            f"{shown(fact)}: {shown(was.get(fact, '')) or 'none'} -> {shown(now.get(fact, '')) or 'none'}"
            for fact in {**now, **was}
            if was.get(fact, "") != now.get(fact, "")
        ]
        if lines:
            changes[key] = lines
    return changes


def changes_txt(changes: Changes) -> str:
    """Return changes as text: a paragraph for each student."""
    paragraphs = ["\n  ".join([shown(student), *lines]) + "\n" for (student, _), lines in changes.items()]
    return "\n".join([f"{_counted(changes)}.\n", *paragraphs])


def _counted(changes: Changes) -> str:
    students = "1 student" if len(changes) == 1 else f"{len(changes)} students"
    return f"{students} changed, came or went since the last grading"


def _by_student(entries: Sequence[Any]) -> dict[tuple[str, int], dict[str, str]]:
    """Return the facts of each submission that are compared, as texts by name; a damaged one is left out."""
    seen = Counter[str]()
    by_student = {}
    for entry in entries:
        with suppress(KeyError, TypeError, ValueError, AttributeError):
            facts = {
                "points": "excused" if entry["excused"] else f"{entry['points']:.2f}",
                "status": entry["status"],
                "run": f"{entry['run']} ({entry['sha256'][:8]})" if entry["run"] else "",
                **{name: "" if value is None else f"{value:.4f}" for name, value in entry["measures"].items()},
                **{f"claim {claim['measure']} = {claim['text']}": claim["verdict"] for claim in entry["claims"]},
            }
            by_student[entry["student"], seen[entry["student"]]] = facts
            seen[entry["student"]] += 1
    return by_student


ADJUSTMENTS = "adjustments.toml"
"""The teacher's decisions by hand; grading only reads this file."""

FEEDBACK = "feedback"

GRADES = "grades.json"
"""The next grading is compared with this file, so it is written last."""

CHANGES = "changes.txt"
"""The changes of the last grading that changed anything."""

FILES = (
    *("gradebook.csv", "gradebook.xlsx", "overview.html", CHANGES, GRADES),
    *("import-moodle.csv", "import-canvas.csv", "import-gradescope.zip"),
)

RENEW = "delete it and repeat the command to get the new version"

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
        fault = "the folder has files that grading did not write"
        raise OutputError(fault, "Name a new or an empty folder.", file=target)


def edited(target: str) -> tuple[str, ...]:
    """Return the names of the files that were changed after grading wrote them, in order."""
    paths = {name: (os.path.join(target, name), digests) for name, digests in _manifest(target).items()}
    return tuple(
        name
        for name, (path, digests) in sorted(paths.items())
        if os.path.isfile(path) and sha256(_read(path)).hexdigest() not in digests
    )


def about_edits(names: Sequence[str]) -> str:
    """Say which files were edited by hand; without a full stop."""
    more = f" and {len(names) - LISTED} more" * (len(names) > LISTED)
    return f"edited by hand and kept: {', '.join(names[:LISTED])}{more}; {RENEW}"


def with_edits(target: str, book: Grades) -> Grades:
    """Return a class with a question and a note for each file that was edited by hand and is kept."""
    names, entries = edited(target), list(book.entries)
    for at, entry in enumerate(entries):
        if (name := f"{FEEDBACK}/{entry.name}.txt") in names:
            asked = Question("kept edit", f"{name} was edited by hand and is kept; {RENEW}")
            entries[at] = entry._replace(questions=(*entry.questions, asked))
    return book._replace(entries=tuple(entries), notes=(*book.notes, about_edits(names))) if names else book


def write_all(target: str, book: Grades, platforms: Sequence[str] = ()) -> tuple[str, ...]:
    """Write everything about a class, and remove files that an earlier grading wrote and this one does not.

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
    made = {"gradebook.csv": encode(csv_of(class_table(book, book.entries))), "overview.html": encode(overview(book))}
    if find_spec("xlsxwriter") is not None:
        made["gradebook.xlsx"] = workbook(sheets_of(book))
    texts = {entry.name: feedback(entry, book) for entry in book.entries}
    made |= {f"{FEEDBACK}/{name}.txt": encode(text) for name, text in texts.items()}
    # On their platform, students read the feedback as the teacher edited it.
    for path in set(edited(target)).intersection(made):
        folder, _, name = path.removesuffix(".txt").rpartition("/")
        if folder == FEEDBACK:
            texts[name] = _read(os.path.join(target, path)).decode(errors="replace")
    notes = []
    for platform in map(PLATFORMS.__getitem__, platforms):
        made[platform.file], left = platform.make(book, texts)
        notes.append(f"{platform.file} is for {platform.where}")
        for why in dict.fromkeys(left.values()):
            students = ", ".join(shown(student) for student, reason in left.items() if reason == why)
            notes.append(f"{platform.file} lacks {students}: {why}")
    every = [graded_json(entry, book) for entry in book.entries]
    before = read_before(os.path.join(target, GRADES))
    if changes := changed(before, every) if before else {}:
        made[CHANGES] = encode(changes_txt(changes))
        notes.append(f"{_counted(changes)}: see {CHANGES}")
    elif os.path.isfile(path := os.path.join(target, CHANGES)):  # keep the previous changes
        made[CHANGES] = _read(path)
    made[GRADES] = (json.dumps(every, indent=1, allow_nan=False) + "\n").encode()
    write_files(target, made)
    return tuple(notes)


def write_files(target: str, made: Mapping[str, bytes]) -> None:
    """Write files, apart from those that were edited since grading wrote them, and remove others that it wrote."""
    known, by_hand = _manifest(target), edited(target)
    written = {name: sha256(data).hexdigest() for name, data in made.items() if name not in by_hand}
    with refusing(folder := os.path.join(target, FEEDBACK), "cannot be made"):
        os.makedirs(folder, exist_ok=True)
    # If this grading is killed now, the next one recognises both contents as its own.
    _write_manifest(target, {**known, **{name: (*known.get(name, ()), digest) for name, digest in written.items()}})
    for name in written:
        with written_whole(os.path.join(target, name)) as stream:
            stream.write(made[name])
    for name in known:
        if name not in written and name not in by_hand and os.path.lexists(os.path.join(target, name)):
            remove(os.path.join(target, name))
    _write_manifest(target, {name: known[name] for name in by_hand} | {name: (own,) for name, own in written.items()})


def _read(path: str) -> bytes:
    with refusing(path, "cannot be read"), open(path, "rb") as stream:
        return stream.read()


def _manifest(target: str) -> dict[str, tuple[str, ...]]:
    """Return the files that an earlier grading wrote in the folder: names, and SHA-256 of contents that may be ours."""
    manifest = read_before(os.path.join(target, KEPT, MANIFEST), dict).items()
    return {name: (*map(str, own),) for name, own in manifest if isinstance(own, list) and _is_ours(name)}


def _write_manifest(target: str, names: Mapping[str, Sequence[str]]) -> None:
    with written_whole(os.path.join(target, KEPT, MANIFEST)) as stream:
        stream.write(json.dumps(names, sort_keys=True).encode())


def _is_ours(name: str) -> bool:
    folder, _, file = name.partition("/")
    return name in FILES or (folder == FEEDBACK and "/" not in file and file.endswith(".txt"))
