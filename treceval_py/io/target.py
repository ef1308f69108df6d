"""Write files that appear whole or not at all, compressed if their name ends accordingly."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from itertools import count
from typing import Any, BinaryIO

from treceval_py.data.ids import shown
from treceval_py.errors import OutputError, TrecevalError
from treceval_py.io.source import open_zstd

PACKED = (".gz", ".bz2", ".xz", ".zst", ".zstd")
"""Endings of the names of files that are written compressed."""


OPEN: set[str] = set()
"""Temporary files of this process; the command removes those that are left when a signal ends it."""


@contextmanager
def written_whole(path: str | os.PathLike[str], *, links: bool = True) -> Iterator[BinaryIO]:
    """Open a file for writing that gets its name only once it is complete.

    The bytes go to a temporary file next to it, which replaces it at the end. On any error, including an interruption,
    the temporary file is removed and the earlier file is kept. What a killed process left is removed by the next one
    that writes the same file. A name that ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst`` is written compressed.
    Anything but a regular file (``/dev/stdout``, a pipe) is written directly.

    Parameters
    ----------
    path : path
        The file.
    links : bool
        Write to the target of a link, and to files that are not regular. Otherwise both are refused.

    Raises
    ------
    OutputError
        The file cannot be written, the disk is full, or the file is a refused link or not a regular file.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise OutputError(f"{shown(path)} is not a path", "Give a path to write to.")
    file = os.fspath(path)
    target = os.path.realpath(path) if links else os.path.abspath(path)
    try:
        mode = os.lstat(target).st_mode if os.path.lexists(target) else None
        if mode is not None and not stat.S_ISREG(mode):
            if not links:
                raise OutputError("this is a link or not a regular file", "Remove it.", file=file)
            with open(target, "wb") as device:
                yield device
            return
        raw = _begun(target, 0o666 if mode is None else stat.S_IMODE(mode))
        ours = os.fstat(raw.fileno())
        try:
            with raw:
                with _compressed(raw, file) as stream:
                    yield stream
                raw.flush()
                os.fsync(raw.fileno())
                if not _is_same(raw.name, ours):  # another writer, where locks do not reach, took it for abandoned
                    raise OutputError("another program is writing this file", "Wait until it has finished.", file=file)
                if mode is not None:
                    os.chmod(raw.name, stat.S_IMODE(mode))
                if os.name == "nt":  # where an open file keeps its name
                    raw.close()
                os.replace(raw.name, target)
        except BaseException:
            if _is_same(raw.name, ours):
                with suppress(OSError):
                    os.unlink(raw.name)
            raise
        finally:
            OPEN.discard(raw.name)
    except OSError as error:
        problem = f"cannot be written: {error.strerror or error}"
        raise OutputError(problem, "Check the folder and the space left.", file=file) from None


def _begun(target: str, mode: int) -> BinaryIO:
    """Make a temporary file for a target, under a lock that ends with the process, and remove those of dead ones."""
    folder, name = os.path.split(target)
    for number in count():
        path = os.path.join(folder, f".{name}.treceval{number}")
        while _is_free(path):
            OPEN.add(path)
            with suppress(FileExistsError):  # another process was faster
                raw = open(path, "xb", opener=lambda path, flags: os.open(path, flags, mode))  # noqa: SIM115 - the caller's
                with suppress(BlockingIOError):  # or is about to remove it
                    lock(raw)
                    if _is_same(path, os.fstat(raw.fileno())):
                        return raw
                raw.close()
            OPEN.discard(path)
    raise AssertionError  # there are always more numbers


def _is_free(path: str) -> bool:
    """Return whether a name can be used, after removing the file under it if its process is dead."""
    if not os.path.lexists(path):
        return True
    try:
        with open(path, "r+b") as left:
            if not lock(left) or not _is_same(path, os.fstat(left.fileno())):
                return False
            os.unlink(path)
    except FileNotFoundError:
        return True
    except OSError:  # a living process has it, or it is not a file
        return False
    return True


def lock(stream: BinaryIO) -> bool:
    """Lock a file until it is closed, or the process ends; return False where there are no locks.

    Raises
    ------
    BlockingIOError
        Another process has locked it.
    """
    try:
        import fcntl

        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except (ImportError, OSError):  # Windows, and some file systems
        return False
    return True


@contextmanager
def locked(folder: str, kind: type[TrecevalError], other: str, name: str = "lock") -> Iterator[None]:
    """Lock a folder, which is made if it is missing, against a second program.

    Parameters
    ----------
    folder : str
        The folder.
    kind : type
        The error of the second program.
    other : str
        What the second program could use instead.
    name : str
        The file in the folder that is locked.

    Raises
    ------
    TrecevalError
        Another process has locked it.
    OutputError
        The folder cannot be made.
    """
    with folder_errors(folder):
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        stream = open(path, "a+b", buffering=0)  # noqa: SIM115 - closed below
    with stream:
        try:
            lock(stream)
        except BlockingIOError:
            stream.seek(0)
            holder = stream.read(20).decode("ascii", "replace").strip()
            process = f" (process {holder})" if holder else ""
            in_use = f"another treceval command is using this folder{process}"
            raise kind(in_use, f"Wait for it, or use another {other}.", file=folder) from None
        with suppress(OSError):  # a number for people, which a full disk may do without
            stream.truncate(0)
            stream.write(b"%d\n" % os.getpid())
        yield


@contextmanager
def folder_errors(folder: str) -> Iterator[None]:
    """Turn errors of the file system about a folder into an `OutputError`."""
    try:
        yield
    except OSError as error:
        reason = f"the folder cannot be used: {error.strerror or error}"
        raise OutputError(reason, "Check its name, its rights and the space left.", file=folder) from None


def _is_same(path: str, file: os.stat_result) -> bool:
    """Return whether a name still refers to the file that was opened under it."""
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), file)
    except OSError:
        return False


def _compressed(raw: BinaryIO, path: str) -> AbstractContextManager[Any]:
    if path.endswith(".gz"):
        import gzip

        # Without name and time inside, so that the same content gives the same bytes.
        return gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0)
    if path.endswith(".bz2"):
        import bz2

        return bz2.BZ2File(raw, "wb")
    if path.endswith(".xz"):
        import lzma

        return lzma.LZMAFile(raw, "wb")
    return open_zstd(raw, path, "wb") if path.endswith(PACKED) else nullcontext(raw)
