"""Untrusted folders: their files, without following links and without opening anything but files."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import BinaryIO, TypeAlias

from treceval_py.grading.intake.archives import KINDS, reason
from treceval_py.grading.intake.found import DEEPEST, OURS, Found, IntakeError, Limits, Place, State, left_out
from treceval_py.grading.outputs.folder import KEPT, MANIFEST

Listing: TypeAlias = Callable[[tuple[str, ...]], list[Found]]
"""Returns the entries of a folder, given its path; raises like `entries_of`."""

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_FOLDER = getattr(os, "O_DIRECTORY", 0)
_BINARY = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def state_of(status: os.stat_result) -> State:
    """Return what distinguishes a file from later states of it."""
    return status.st_size, status.st_mtime_ns


def entries_of(root: str, most: int, below: tuple[str, ...]) -> list[Found]:
    """Return the entries of a folder below another one, by name; folders of grades are refused.

    Raises
    ------
    IntakeError
        It cannot be read, or has too many entries.
    """
    path = os.path.join(root, *below)
    try:
        with os.scandir(path) as entries:
            names = sorted(entry.name for entry in islice(entries, most + 1))
    except OSError as error:
        fault = f"the folder cannot be read: {reason(error)}"
        raise IntakeError(fault, "Check its permissions.", file=path) from None
    if len(names) > most:
        raise IntakeError(f"it has more than {most:,} files and folders", "Hand in fewer files.", file=path)
    return [_entry(root, (*below, name)) for name in names]


def _entry(root: str, parts: tuple[str, ...]) -> Found:
    path = os.path.join(root, *parts)
    try:
        status = os.lstat(path)
    except OSError as error:
        return Found(parts, 0, Place(root, parts, (), (0, 0)), f"it cannot be accessed: {reason(error)}")
    kind = stat.S_IFMT(status.st_mode)
    folder = kind == stat.S_IFDIR
    ours = folder and os.path.isfile(os.path.join(path, KEPT, MANIFEST))
    why = left_out(parts[-1]) or (OURS if ours else "")
    system = bool(why)
    if not why and kind not in {stat.S_IFREG, stat.S_IFDIR}:
        why = f"it is {KINDS.get(kind, 'of another kind')}, not a file"
        why = "it is a link: links are not followed" if kind == stat.S_IFLNK else why
    size = status.st_size if kind == stat.S_IFREG else 0
    return Found(parts, size, Place(root, parts, (), state_of(status)), why, system, folder)


def entries_in(files: Iterable[Found]) -> Listing:
    """Return what lists the entries of the folders of an archive by name, given its files; see `entries_of`."""
    files = sorted(files, key=lambda file: file.parts)
    ours = {file.parts[:-2] for file in files if file.parts[-2:] == (KEPT, MANIFEST) and not file.why} - {()}
    tree: dict[tuple[str, ...], list[Found]] = {}
    folders: set[tuple[str, ...]] = set()
    for file in files:
        for end in range(1, len(file.parts) + 1):
            own = file.parts[:end]
            entry = file if own == file.parts else Found(own, 0, file.place, folder=True)
            if entry.folder and own in folders:
                continue
            folders.update([own] if entry.folder else [])
            why = OURS if own in ours else left_out(own[-1])
            tree.setdefault(own[:-1], []).append(entry._replace(why=why, system=True) if why else entry)
    return lambda below: tree.get(below, [])


def walked(listed: Listing, top: Found, limits: Limits) -> Iterator[Found]:
    """Yield the files in a folder and in its subfolders, and refused entries.

    Folders come by name, before their subfolders, so that the order is always the same. If there are too many entries,
    the walk ends with an entry that says so. Folders of grades are not entered.
    """
    seen = 0
    waiting = deque([top])
    while waiting:
        folder = waiting.popleft()
        try:
            entries = listed(folder.parts)
        except IntakeError as error:
            yield folder._replace(why=error.what)
            continue
        seen += len(entries)
        if seen > limits.entries:
            why = f"more than {limits.entries:,} files and folders: neither this folder nor the rest was read"
            yield folder._replace(why=why)
            return
        for entry in entries:
            own = entry.parts[len(top.parts) :]
            if not entry.folder or entry.why:
                yield entry
            elif len(own) > DEEPEST or len("/".join(own)) > limits.path:
                yield entry._replace(why="it is nested too deep, or its path is too long: nothing in it was read")
            else:
                waiting.append(entry)


def opened_below(root: str, below: tuple[str, ...], state: State, name: str) -> BinaryIO:
    """Open a file for reading, without following any link on the way; raise unless it is the file that was found.

    The root is a folder that is trusted or, if nothing is below it, the file itself.
    """
    try:
        handle = _descriptor(root, below)
    except OSError as error:
        raise IntakeError(f"it cannot be opened: {reason(error)}", "Check its permissions.", file=name) from None
    stream = os.fdopen(handle, "rb", buffering=0)
    status = os.fstat(handle)
    if stat.S_ISREG(status.st_mode) and state_of(status) == state:
        return stream
    stream.close()
    raise IntakeError("the file changed while it was being read", "Run again when nothing writes to it.", file=name)


def _descriptor(root: str, below: tuple[str, ...]) -> int:
    """Open the path step by step, so that no folder in it can be a link, not even one created a moment ago."""
    wanted = os.O_RDONLY | _NO_WAIT | _BINARY
    if not below:
        return os.open(root, wanted)
    if os.open not in os.supports_dir_fd:  # Windows
        for end in range(1, len(below) + 1):
            if os.path.islink(os.path.join(root, *below[:end])):
                raise OSError(None, "a link is on the way to it")
        return os.open(os.path.join(root, *below), wanted)
    folder = os.open(root, os.O_RDONLY | _FOLDER | _BINARY)
    try:
        for part in below[:-1]:
            inner = os.open(part, os.O_RDONLY | _FOLDER | _NO_LINK | _BINARY, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(below[-1], wanted | _NO_LINK, dir_fd=folder)
    finally:
        os.close(folder)
