"""Results by groups of queries, kept in files until the run is written: a kill costs at most one group."""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
from contextlib import suppress
from typing import Any

import numpy as np

from treceval_py._types import AnyArray
from treceval_py.io.digests import digest_of_file
from treceval_py.io.target import folder_errors, written_whole
from treceval_py.retrieval.shards import seal

PART = re.compile(r"([0-9]{5,})-([0-9a-f]{16})\.npz")
"""Names of the files: the number of the group, and the beginning of the SHA-256 of the content."""


def key_of(value: object) -> str:
    """Return a name for a value in plain JSON: a hash of its content."""
    return seal(value)[:16]


class Parts:
    """Arrays of numbered groups, a file ``00000-<hash>.npz`` for each; one that is damaged is as good as absent.

    Parameters
    ----------
    folder : str
        Folder of the files, made if needed. Its name must be the `key_of` everything that decides the arrays.
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
            for name in os.listdir(folder):
                path, part = os.path.join(folder, name), PART.fullmatch(name)
                if part and digest_of_file(path).startswith(part[2]):
                    self._paths[int(part[1])] = path

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
        path = os.path.join(self._folder, f"{number:05d}-{hashlib.sha256(content).hexdigest()[:16]}.npz")
        with written_whole(path) as stream:
            stream.write(content)
        self._paths[number] = path

    def read(self, number: int) -> dict[str, Any]:
        """Return the arrays of a group, by the names that they were written with."""
        with np.load(self._paths[number]) as arrays:
            return dict(arrays)

    def clear(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self._folder, ignore_errors=True)
        with suppress(OSError):  # those of other runs are beside it
            os.rmdir(os.path.dirname(self._folder))
