"""Pseudonyms for the runs of a board, which only those who have the key can compute."""

from __future__ import annotations

import hashlib
import hmac
import os
import unicodedata
from collections import Counter
from collections.abc import Sequence

from treceval_py.comparing.saved.naming import stem, unique_names
from treceval_py.data.ids import encode
from treceval_py.errors import EvaluationError

CONSONANTS, VOWELS = "bdfghjklmnprstvz", "aiou"
"""Sixteen consonants and four vowels: five of them in turn encode 16 bits in a word that can be said aloud."""


def pseudonyms_of(
    key: str, tags: Sequence[str], files: Sequence[str], by: str | None = None
) -> list[tuple[str, str, int]]:
    """Return the pseudonym of each run, with its name and its place, in the order of pseudonyms.

    That order says nothing about names. A pseudonym depends only on the key and on the name.

    Parameters
    ----------
    key : str
        Secret words.
    tags, files : sequence of str, length S
        The tags and files of the runs.
    by : {"tag", "file"}, optional
        What runs are named by. Default: the file; where several files have one name, also its folder.

    Raises
    ------
    EvaluationError
        The key is empty, or two runs have the same name.

    References
    ----------
    Daniel S. Wilkerson. A Proposal for Proquints: Identifiers that are Readable, Spellable, and Pronounceable. 2009.
    """
    if not isinstance(key, str) or not key.strip():
        raise EvaluationError("pseudonyms need a key that is not empty", "Give secret words.")
    stems = [stem(file) for file in files]
    folders = [os.path.basename(os.path.dirname(os.path.abspath(file))) for file in files]
    counts = Counter(stems)
    names = [name if counts[name] == 1 else f"{folder}/{name}" for folder, name in zip(folders, stems, strict=True)]
    if by is not None or len(set(names)) < len(names):
        names = list(unique_names(tags, files, by or "file"))
    taken: dict[str, int] = {}
    for place in sorted(range(len(names)), key=names.__getitem__):
        identity = unicodedata.normalize("NFC", names[place])
        digest = hmac.digest(encode(key), encode(identity), hashlib.sha256)
        words = 2
        while (said := _said(digest, words)) in taken:  # about one in 100,000 runs of a class
            words += 1
        taken[said] = place
    return [(said, names[place], place) for said, place in sorted(taken.items())]


def _said(digest: bytes, words: int) -> str:
    """Return the beginning of a digest as words of five letters, each for 16 bits."""
    return "-".join(_word(int.from_bytes(digest[2 * number : 2 * number + 2], "big")) for number in range(words))


def _word(bits: int) -> str:
    places = ((12, CONSONANTS), (10, VOWELS), (6, CONSONANTS), (4, VOWELS), (0, CONSONANTS))
    return "".join(kind[bits >> shift & len(kind) - 1] for shift, kind in places)
