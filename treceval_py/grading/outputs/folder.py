"""The folder of grades: whether it is ours, what is written to it, and what an earlier grading left there."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec

from treceval_py.data.ids import encode
from treceval_py.errors import OutputError
from treceval_py.grading.grades import Grades
from treceval_py.grading.processes.kept import forget_unfinished, remove
from treceval_py.io.target import written_whole

__all__ = ["KEPT", "check_folder", "write_all"]

KEPT = ".grades"
"""The folder of records within the output; that it is there says that a folder is one of ours."""

MANIFEST = "files.json"
"""What was written, within the folder of records."""

FEEDBACK = "feedback"

FILES = ("gradebook.csv", "gradebook.xlsx", "overview.html", "grades.json")


def check_folder(target: str) -> None:
    """Refuse a folder with files of somebody else.

    Raises
    ------
    OutputError
        It is no folder, or one that grading did not write.
    """
    if not os.path.lexists(target):
        return
    if not os.path.isdir(target):
        raise OutputError("is no folder", "Name a new one.", file=target)
    if os.listdir(target) and not os.path.isdir(os.path.join(target, KEPT)):
        raise OutputError(
            "the folder has files that grading did not write", "Name a new or an empty folder.", file=target
        )


def write_all(target: str, book: Grades) -> None:
    """Write everything about a class, and remove what an earlier grading wrote and this one does not.

    Raises
    ------
    OutputError
        It cannot be written.
    """
    written = _outputs(book)
    known = _written_before(target)
    _make_folder(os.path.join(target, FEEDBACK))
    for name, data in written.items():
        with written_whole(os.path.join(target, name)) as stream:
            stream.write(data)
    for name in known:
        if name not in written and os.path.lexists(os.path.join(target, name)):
            remove(os.path.join(target, name))
    with written_whole(os.path.join(target, KEPT, MANIFEST)) as stream:
        stream.write(json.dumps(sorted(written)).encode())
    forget_unfinished(target, FILES)
    forget_unfinished(os.path.join(target, KEPT), (MANIFEST,))
    forget_unfinished(os.path.join(target, FEEDBACK), {os.path.basename(name) for name in (*written, *known)})


def _make_folder(path: str) -> None:
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot be made: {error.strerror or error}", file=path) from None


def _written_before(target: str) -> list[str]:
    """Return the names that an earlier grading wrote, those within the folder only."""
    try:
        with open(os.path.join(target, KEPT, MANIFEST), "rb") as stream:
            names = json.load(stream)
    except (OSError, ValueError):
        return []
    if not isinstance(names, list):
        return []
    return [name for name in names if isinstance(name, str) and (name in FILES or _of_feedback(name))]


def _of_feedback(name: str) -> bool:
    folder, _, file = name.partition("/")
    return folder == FEEDBACK and "/" not in file and file.endswith(".txt")


def _outputs(book: Grades) -> dict[str, bytes]:
    """Make all files; those that need a package of the extra only where it is installed."""
    from treceval_py.grading.outputs.feedback import feedback
    from treceval_py.grading.outputs.gradebook import gradebook_csv, graded_json
    from treceval_py.grading.outputs.overview import overview
    from treceval_py.grading.outputs.workbook import gradebook_xlsx

    made = {"gradebook.csv": encode(gradebook_csv(book))}
    if find_spec("xlsxwriter") is not None:
        made["gradebook.xlsx"] = gradebook_xlsx(book)
    if find_spec("jinja2") is not None:
        made["overview.html"] = encode(overview(book))
    every = [graded_json(entry, book) for entry in book.entries]
    made["grades.json"] = (json.dumps(every, indent=1, allow_nan=False) + "\n").encode()
    made.update({f"{FEEDBACK}/{each.name}.txt": encode(feedback(each, book)) for each in book.entries})
    return made
