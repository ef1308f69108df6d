"""Which files are meant, and what runs are called."""

from __future__ import annotations

import glob
import math
import os
from collections.abc import Mapping, Sequence

from treceval_py.data.run import DEFAULT_TAG, RUN_NAME
from treceval_py.errors import EvaluationError, InputError
from treceval_py.io.source import peek

__all__ = ["run_files", "stem", "unique_names"]

COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
WRITTEN_AS = (".txt", ".run", ".tsv", ".csv", ".json", ".trec", ".res", ".eval")
GLANCE = 1 << 12
"""Bytes by which a run is told."""

ARCHIVED = "input."
"""How the names of runs begin in TREC's archive."""


def run_files(
    paths: Sequence[str | os.PathLike[str]],
    *,
    without: Sequence[str | os.PathLike[str]] = (),
    written: Sequence[str | os.PathLike[str]] = (),
) -> list[str]:
    """Return the files that are meant: folders and patterns are written out, anything else stays.

    Parameters
    ----------
    paths : sequence of str or path
        Files; folders, which stand for the files in them; and patterns with ``*``, ``?`` or ``[…]``, where there is
        no file of that name.
    without : sequence of str or path
        What no folder and no pattern stands for, such as the judgments.
    written : sequence of str or path
        What will be written. It is left out likewise, unless it is a run or has results, which would be lost.

    Returns
    -------
    list of str
        The files in the order of ``paths``, those of a folder or pattern in the order of the bytes of their names. Of a
        folder are left out: folders in it, hidden files, README files and other Markdown, and ``RUN.json`` beside
        ``RUN``, which says how a run was made. Of a file and links to it that are in one folder, or match one pattern,
        the file itself is meant, or else the first link.

    Raises
    ------
    InputError
        A folder has no files or cannot be listed, no file matches a pattern, a file comes twice, or one that a
        folder or pattern stands for would be left out and written over.
    """
    others = {os.path.realpath(path): path in written for path in (*without, *written)}
    found: list[str] = []
    for each in paths:
        path = os.fspath(each)
        if os.path.isdir(path):
            found += _each_once(_files_in(path), others, path, "it has no files")
        elif path != "-" and glob.has_magic(path) and not os.path.lexists(path):
            matching = [match for match in glob.glob(path) if not os.path.isdir(match)]
            found += _each_once(matching, others, path, "no file matches")
        else:
            found.append(path)
    first: dict[str, str] = {}
    for path in found:
        real = path if path == "-" else os.path.realpath(path)
        if real in first:
            alike = os.path.abspath(path) == os.path.abspath(first[real])
            what = "it is given twice" if alike else f"it is the same file as {first[real]}"
            raise InputError(what, "Leave one out.", file=path)
        first[real] = path
    return found


def _each_once(files: Sequence[str], others: Mapping[str, bool], given: str, none: str) -> list[str]:
    """Return the files that a path stands for, in the order of their bytes and without links to another of them.

    `others` are the real paths of those to leave out, and whether they will be written.
    """
    found: dict[str, str] = {}
    for file in sorted(files, key=lambda file: (os.path.islink(file), os.fsencode(file))):
        found.setdefault(os.path.realpath(file), file)
    kept = []
    for real, file in found.items():
        if real not in others:
            kept.append(file)
        elif others[real] and _is_to_be_kept(file):
            raise InputError("this is one of the runs, and would be written over", "Name another file.", file=file)
    if not kept:
        raise InputError(none, file=given)
    return sorted(kept, key=os.fsencode)


def _is_to_be_kept(file: str) -> bool:
    """Tell whether a file is a run or has results of runs, which a table or page of an earlier command is not."""
    from treceval_py.comparing.saved import is_saved, read_saved

    try:
        if is_saved(file):
            return bool(read_saved(file))
        head, _ = peek(file, GLANCE)
    except InputError:
        return False
    lines = (line.split() for line in head.splitlines() if line.strip() and not line.startswith(b"#"))
    fields = next(lines, [])
    return _are_numbers(fields[3:5]) if len(fields) >= 6 else len(fields) == 3 and _are_numbers(fields)


def _are_numbers(fields: Sequence[bytes]) -> bool:
    try:
        return all(math.isfinite(float(field)) for field in fields)
    except ValueError:
        return False


def _files_in(folder: str) -> list[str]:
    try:
        names = os.listdir(folder)
    except OSError as error:
        what = f"the folder cannot be listed: {error.strerror or error}"
        raise InputError(what, "Check its permissions.", file=folder) from None
    there = set(names)
    meant = [os.path.join(folder, name) for name in names if _is_meant(name, there)]
    return [file for file in meant if os.path.isfile(file)]


def _is_meant(name: str, there: set[str]) -> bool:
    described = name.endswith(".json") and name.removesuffix(".json") in there
    return not (name.startswith(".") or name.upper().startswith("README") or name.endswith(".md") or described)


def unique_names(tags: Sequence[str], files: Sequence[str], by: str | None = None) -> tuple[str, ...]:
    """Return what runs are called, each differently.

    Parameters
    ----------
    tags : sequence of str, length S
        Their tags, empty where there is none.
    files : sequence of str, length S
        Their files.
    by : {"tag", "file"}, optional
        What they are called by. By default their tags, where all have one and all differ; else the names of the
        files without folders and known endings, else the paths, else both with the tag, else with a number. A run with
        the tag that runs without one get, ``run``, is called by its file.

    Returns
    -------
    tuple of str, length S
        The names, none of them empty.

    Raises
    ------
    EvaluationError
        By what they are to be called, two are called the same, or one has no name.
    """
    stems = [stem(file) for file in files]
    if by is not None:
        if by not in ("tag", "file"):
            raise EvaluationError(f"runs are not named by {by!r}", "Choose 'tag' or 'file'.")
        return _checked(tags if by == "tag" else stems, files, by)
    numbers = range(1, len(files) + 1)
    said = [
        stem(file) if tag == DEFAULT_TAG and file != RUN_NAME else tag for tag, file in zip(tags, files, strict=True)
    ]
    for names in (
        said,
        stems,
        files,
        [f"{name} ({tag})" for name, tag in zip(stems, tags, strict=True)] if all(tags) else [],
        [f"{name} ({tag})" for name, tag in zip(files, tags, strict=True)] if all(tags) else [],
    ):
        if len(names) == len(files) and all(names) and len(set(names)) == len(names):
            return tuple(names)
    return tuple(f"{name} ({number})" for name, number in zip(files, numbers, strict=True))


def _checked(names: Sequence[str], files: Sequence[str], by: str) -> tuple[str, ...]:
    other = "files" if by == "tag" else "tags"
    first: dict[str, str] = {}
    for name, file in zip(names, files, strict=True):
        if not name:
            raise EvaluationError(f"run {file} has no {by}", f"Name runs by {other}.")
        if name in first:
            both = f"runs {first[name]} and {file} are both" if file != first[name] else f"two runs of {file} are both"
            raise EvaluationError(f"{both} called '{name}'", f"Name them by {other}, or rename one.")
        first[name] = file
    return tuple(names)


def stem(file: str) -> str:
    """Return the name of a file without its folder, the endings of its compression and format, and ``input.``."""
    name = os.path.basename(file) or file
    for endings in (COMPRESSED, WRITTEN_AS):
        ending = next((each for each in endings if name.endswith(each) and name != each), "")
        name = name.removesuffix(ending)
    return name.removeprefix(ARCHIVED) or name
