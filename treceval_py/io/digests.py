"""Hashes of files, by which they are known again."""

from __future__ import annotations

import hashlib

from treceval_py.errors import RunnerError

__all__ = ["digest_of_file"]


def digest_of_file(path: str) -> str:
    """Return the SHA-256 of a file in hexadecimal.

    Raises
    ------
    RunnerError
        It cannot be read.
    """
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise RunnerError(f"cannot be read: {error.strerror or error}", "Check the file.", file=path) from None
    return digest.hexdigest()
