"""Expand the given paths, folders and patterns to files."""

from __future__ import annotations

import glob
import math
import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from treceval_py.comparing.saved.reading import GLANCE, is_saved, read_saved
from treceval_py.errors import InputError, TrecevalError
from treceval_py.io.digests import base_name
from treceval_py.io.source import peek

OURS = ".treceval-"
"""Prefix of the names of treceval's own files."""

NAMED = 5
"""Most files that are named as skipped or left out; more are counted."""


def run_files(
    paths: Sequence[str | os.PathLike[str]],
    *,
    without: Sequence[str | os.PathLike[str]] = (),
    written: Sequence[str | os.PathLike[str]] = (),
) -> list[str]:
    """Return the files: folders and patterns are expanded, other paths stay as they are.

    Parameters
    ----------
    paths : sequence of str or path
        Files; folders, which mean the files in them; and patterns with ``*``, ``?`` or ``[…]``, unless a file has that
        name.
    without : sequence of str or path
        Files to skip in folders and patterns, such as the judgments.
    written : sequence of str or path
        Outputs. They are skipped likewise; one that is a run or has results is refused, as it would be lost.

    Returns
    -------
    list of str
        The files in the order of ``paths``; those of a folder or pattern in the order of the bytes of their names. In a
        folder, these are skipped: folders, hidden files, README files and other Markdown, and ``RUN.json`` next to
        ``RUN``, the record of a run. If a folder or pattern has a file and links to it, the file is taken; if it has
        only links, the first one.

    Raises
    ------
    InputError
        A folder has no files or cannot be listed, no file matches a pattern, a file occurs twice, or an output would
        overwrite a run in a folder or pattern.
    """
    others = {os.path.realpath(path): path in written for path in (*without, *written)}
    files: list[str] = []
    for entry in paths:
        path = os.fspath(entry)
        if os.path.isdir(path):
            files += _each_once(_files_in(path), others, path, "it has no files")
        elif path != "-" and glob.has_magic(path) and not os.path.lexists(path):
            matching = [match for match in glob.glob(path) if not os.path.isdir(match)]
            files += _each_once(matching, others, path, "no file matches")
        else:
            files.append(path)
    first: dict[str, str] = {}
    for path in files:
        real = path if path == "-" else os.path.realpath(path)
        if real in first:
            alike = os.path.abspath(path) == os.path.abspath(first[real])
            repetition = "it is given twice" if alike else f"it is the same file as {first[real]}"
            raise InputError(repetition, "Remove one.", file=path)
        first[real] = path
    return files


def passed_over(
    paths: Sequence[str | os.PathLike[str]], *, without: Sequence[str | os.PathLike[str] | None] = ()
) -> list[str]:
    """Return a note for each folder that names the files `run_files` skips.

    Parameters
    ----------
    paths : sequence of str or path
        As in `run_files`.
    without : sequence of str or path
        Files used or written elsewhere, such as the judgments. Like treceval's own files, they are not named.
    """
    known = {os.path.realpath(path) for path in without if path is not None}
    notes = []
    for entry in paths:
        folder = os.fspath(entry)
        if not os.path.isdir(folder):
            continue
        meant = _files_in(folder)
        once = {os.path.basename(file) for file in _once(meant).values()}
        left = [
            (name, _why(os.path.join(folder, name)))
            for name in names_in(folder)
            if name not in once
            and not name.startswith((OURS, f".{OURS}"))  # the latter is a partial file of a killed board
            and os.path.realpath(os.path.join(folder, name)) not in known
        ]
        if left:
            named = [f"{name} ({why})" for name, why in left[:NAMED]]
            more = f" and {len(left) - NAMED} more" if len(left) > NAMED else ""
            are = "1 entry is" if len(left) == 1 else f"{len(left)} entries are"
            called = os.path.basename(os.path.abspath(folder))
            notes.append(f"in folder {called} {are} skipped: {', '.join(named)}{more}.")
    return notes


class Unscored(NamedTuple):
    """A file that could not be scored.

    Attributes
    ----------
    file : str
        The file.
    message : str
        What is wrong, on one line that begins with the file.
    """

    file: str
    message: str

    @classmethod
    def of(cls, file: str, error: TrecevalError) -> Unscored:
        """Return why a file could not be scored."""
        return cls(file, str(error if error.file is not None else type(error)(error.what, error.todo, file=file)))

    @property
    def reason(self) -> str:
        """The message without the file's folder."""
        return self.message.replace(self.file, base_name(self.file))


def not_scored(files: Sequence[Unscored]) -> list[str]:
    """Return notes about files of folders and patterns that are left out of a comparison."""
    more = [f"{len(files) - NAMED} more files are not scored."] if len(files) > NAMED else []
    return [*(f"not scored: {file.reason}" for file in files[:NAMED]), *more]


def _why(path: str) -> str:
    """Return why a file in a folder is skipped."""
    if os.path.isdir(path):
        return "a folder"
    name = os.path.basename(path)
    if name.startswith("."):
        return "hidden"
    if name.upper().startswith("README") or name.endswith(".md"):
        return "a text about the folder"
    if name.endswith(".json") and os.path.lexists(path.removesuffix(".json")):
        return f"about {name.removesuffix('.json')}"
    if os.path.islink(path):
        return "a link to another file here" if os.path.exists(path) else "a link to nothing"
    return "not a regular file"


def _once(files: Sequence[str]) -> dict[str, str]:
    """Return each file, or the first link to it, by its real path."""
    by_path: dict[str, str] = {}
    for file in sorted(files, key=lambda file: (os.path.islink(file), os.fsencode(file))):
        by_path.setdefault(os.path.realpath(file), file)
    return by_path


def _each_once(files: Sequence[str], others: Mapping[str, bool], given: str, none: str) -> list[str]:
    """Return the files that a path means, in the order of their bytes and without links to another of them.

    `others` are the real paths of files to skip, and whether they will be written.
    """
    kept = []
    for real, file in _once(files).items():
        if real not in others:
            kept.append(file)
        elif others[real] and _is_to_be_kept(file):
            raise InputError("this file is one of the runs, and would be overwritten", "Name another file.", file=file)
    if not kept:
        raise InputError(none, file=given)
    return sorted(kept, key=os.fsencode)


def _is_to_be_kept(file: str) -> bool:
    """Tell whether a file is a run or has results of runs, unlike a table or page of an earlier command."""
    try:
        if is_saved(file):
            return bool(read_saved(file))
        head, _ = peek(file, GLANCE)
    except InputError:
        return False
    lines = (line.split() for line in head.splitlines() if line.strip() and not line.startswith(b"#"))
    fields = next(lines, [])
    return are_numbers(fields[3:5]) if len(fields) >= 6 else len(fields) == 3 and are_numbers(fields)


def are_numbers(fields: Sequence[bytes]) -> bool:
    """Tell whether fields are numbers, such as the rank and the score of a run."""
    try:
        return all(math.isfinite(float(field)) for field in fields)
    except ValueError:
        return False


def names_in(folder: str) -> list[str]:
    """Return the names in a folder, in the order of their bytes."""
    try:
        return sorted(os.listdir(folder), key=os.fsencode)
    except OSError as error:
        problem = f"the folder cannot be listed: {error.strerror or error}"
        raise InputError(problem, "Check its permissions.", file=folder) from None


def _files_in(folder: str) -> list[str]:
    names = names_in(folder)
    there = set(names)
    meant = [os.path.join(folder, name) for name in names if _is_meant(name, there)]
    return [file for file in meant if os.path.isfile(file)]


def _is_meant(name: str, there: set[str]) -> bool:
    described = name.endswith(".json") and name.removesuffix(".json") in there
    return not (name.startswith(".") or name.upper().startswith("README") or name.endswith(".md") or described)
