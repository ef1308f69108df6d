"""Results by groups of queries, kept in files until the run is written: a kill costs at most one group."""

from __future__ import annotations

import hashlib
import io
import os
import re
from contextlib import suppress
from typing import Any

import numpy as np

from treceval_py._types import AnyArray
from treceval_py.io.digests import digest_of_file
from treceval_py.io.target import folder_errors, written_whole
from treceval_py.retrieval.shards import canonical


def key_of(value: object) -> str:
    """Return a name for a value in plain JSON: a hash of its content."""
    return hashlib.sha256(canonical(value)).hexdigest()[:16]


class Parts:
    """Arrays of numbered groups, a file ``00000-<hash>.npz`` for each.

    A file counts if its name has the hash of its number and its content; one that is damaged is as good as absent.

    Parameters
    ----------
    folder : str
        Folder of the files, made if needed. Its name must be the `key_of` everything that decides the arrays, and the
        folder above it must contain only such folders.
    count : int
        How many groups there are.

    Raises
    ------
    OutputError
        The folder cannot be made or read.
    """

    def __init__(self, folder: str, count: int) -> None:
        self._folder = folder
        self._count = count
        self._paths: dict[int, str] = {}
        with folder_errors(folder):
            os.makedirs(folder, exist_ok=True)
            for name in filter(_PART.fullmatch, os.listdir(folder)):
                path, number = os.path.join(folder, name), int(name.lstrip(".").partition("-")[0])
                if os.path.isfile(path) and name == _name(number, digest_of_file(path)):
                    self._paths[number] = path

    def missing(self) -> list[int]:
        """Return the numbers of the groups that have no whole file."""
        return [number for number in range(self._count) if number not in self._paths]

    def write(self, number: int, **arrays: AnyArray) -> None:
        """Write the arrays of a group.

        Raises
        ------
        OutputError
            The file cannot be written.
        """
        packed = io.BytesIO()
        np.savez(packed, **arrays)  # type: ignore[arg-type]
        content = packed.getvalue()
        path = os.path.join(self._folder, _name(number, hashlib.sha256(content).hexdigest()))
        with written_whole(path) as stream:
            stream.write(content)
        self._paths[number] = path

    def read(self, number: int) -> dict[str, Any]:
        """Return the arrays of a group, by the names that they were written with."""
        with np.load(self._paths[number]) as arrays:
            return dict(arrays)

    def clear(self) -> None:
        """Remove these files and those that other runs left beside them when they were stopped, and nothing else."""
        above = os.path.dirname(self._folder)
        for key in filter(re.compile("[0-9a-f]{16}").fullmatch, os.listdir(above)):
            within = os.path.join(above, key)
            with suppress(OSError):  # a file or folder of somebody else is in it, or in its place
                for name in filter(_PART.fullmatch, os.listdir(within)):
                    os.unlink(os.path.join(within, name))
                os.rmdir(within)
        with suppress(OSError):
            os.rmdir(above)


_PART = re.compile(r"\.?[0-9]{5,}-[0-9a-f]{16}\.npz(\.treceval[0-9]+)?")
"""Names of the files, and of those that are being written."""


def _name(number: int, content: str) -> str:
    """Return the name of a file, which has the hash of its number and of its content, given by its SHA-256."""
    digest = hashlib.sha256(b"%05d" % number + bytes.fromhex(content)).hexdigest()
    return f"{number:05d}-{digest[:16]}.npz"
