"""Write files that appear whole or not at all, compressed if their name ends accordingly."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, BinaryIO

from treceval_py.data.ids import shown
from treceval_py.errors import OutputError
from treceval_py.io.source import open_zstd

PACKED = (".gz", ".bz2", ".xz", ".zst", ".zstd")
"""Endings of the names of files that are written compressed."""


@contextmanager
def written_whole(path: str | os.PathLike[str], *, part: str | None = None, links: bool = True) -> Iterator[BinaryIO]:
    """Open a file for writing that gets its name only once it is complete.

    The bytes go to a temporary file next to it, which replaces it at the end. On any error, including an interruption,
    the temporary file is removed and the earlier file is kept. A name that ends in ``.gz``, ``.bz2``, ``.xz`` or
    ``.zst`` is written compressed. Anything but a regular file (``/dev/stdout``, a pipe) is written directly.

    Parameters
    ----------
    path : path
        The file.
    part : str, optional
        The name of the temporary file (its folder is ignored). Default: a unique name. A fixed name requires that the
        file has only one writer; if that is killed, the next writer replaces the temporary file it left.
    links : bool
        Write to the target of a link, and to files that are not regular. Otherwise both are refused.

    Raises
    ------
    OutputError
        The file cannot be written, the disk is full, or the file is a refused link or not a regular file.
    """
    import tempfile

    if not isinstance(path, (str, os.PathLike)):
        raise OutputError(f"{shown(path)} is not a path", "Give a path to write to.")
    file = os.fspath(path)
    target = os.path.realpath(path) if links else os.path.abspath(path)
    try:
        mode = os.lstat(target).st_mode if os.path.lexists(target) else None
        if mode is not None and not stat.S_ISREG(mode):
            if not links:
                raise OutputError("this is a link or not a regular file", "Remove it.", file=file)
            with open(target, "wb") as raw:
                yield raw
            return
        folder = os.path.dirname(target)
        if part is None:
            descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=f".{os.path.basename(target)}.")
        else:
            temporary = os.path.join(folder, os.path.basename(part))
            with suppress(FileNotFoundError):
                os.unlink(temporary)
            # Like `mkstemp`, this follows no link.
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        ours = os.fstat(descriptor)
        try:
            with os.fdopen(descriptor, "wb") as raw:
                with _compressed(raw, file) as stream:
                    yield stream
                raw.flush()
                os.fsync(raw.fileno())
            if not _is_same(temporary, ours):  # another writer took the temporary file for an abandoned one
                raise OutputError("another program is writing this file", "Wait until it has finished.", file=file)
            if mode is None:
                os.umask(mask := os.umask(0))  # the only way to read it
                mode = 0o666 & ~mask
            os.chmod(temporary, stat.S_IMODE(mode))
            os.replace(temporary, target)
        except BaseException:
            if _is_same(temporary, ours):
                with suppress(OSError):
                    os.unlink(temporary)
            raise
    except OSError as error:
        problem = f"cannot be written: {error.strerror or error}"
        raise OutputError(problem, "Check the folder and the space left.", file=file) from None


def unfinished(folder: str, names: Collection[str]) -> list[str]:
    """Return the temporary files that killed processes left in a folder, for files with these names."""
    return [
        os.path.join(folder, name)
        for name in sorted(os.listdir(folder))
        if name.startswith(".") and name[1:].rpartition(".")[0] in names  # as `written_whole` names them
    ]


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
