"""Names of files in records that are passed on: base names and hashes, without a machine's folders."""

from __future__ import annotations

import hashlib
import os
import re

from treceval_py.errors import RunnerError

SHOWN = 8
"""Hexadecimal digits of a hash in output for people."""


def digest_of_file(path: str) -> str:
    """Return the SHA-256 of a file in hexadecimal.

    Raises
    ------
    RunnerError
        The file cannot be read.
    """
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise RunnerError(f"cannot be read: {error.strerror or error}", "Check the file.", file=path) from None
    return digest.hexdigest()


def digest_of(source: object) -> str:
    """Return the SHA-256 of a source's bytes; empty unless it is a file that can be read again."""
    if not isinstance(source, (str, os.PathLike)) or not os.path.isfile(source):
        return ""
    return digest_of_file(os.fsdecode(source))


def base_name(file: str) -> str:
    """Return the name of a file without its folders; other names, such as ``<stdin>``, are unchanged."""
    return os.path.basename(file) or file


def without_folders(word: str) -> str:
    """Return a word of a command line with paths reduced to base names.

    This includes paths in ``bars=plots/bars.png``, ``datasets:plots/bars`` and ``-oplots/run.txt``.
    """
    if before := re.match(rf"[^{re.escape(os.sep)}=:]*[=:]|-[A-Za-z](?=.*{re.escape(os.sep)})", word):
        return before[0] + without_folders(word[before.end() :])
    path = word.rstrip(os.sep)
    return base_name(path) if os.sep in word and (path == "" or os.path.isdir(os.path.dirname(path) or ".")) else word


def short(digest: str) -> str:
    """Return the first digits of a hash, for output."""
    return digest[:SHOWN]


def named(file: str, digest: str) -> str:
    """Return the base name of a file with its hash.

    Examples
    --------
    >>> named("old/qrels.txt", "9f86d081884c7d65"), named("<stdin>", "")
    ('qrels.txt (sha256:9f86d081)', '<stdin>')
    """
    return base_name(file) + (f" (sha256:{short(digest)})" if digest else "")
