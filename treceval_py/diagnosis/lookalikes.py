"""Ids that were meant to be the same, but differ in the case of letters, leading zeros, punctuation and the like.

Each way in which programs and people rewrite an id has a fold, which maps the variants to one form (``37_1`` and
``37.1``, ``D007`` and ``d7``). Two ids that are equal after all folds look alike, and the smallest set of folds that
makes them equal names their differences.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import combinations, islice
from typing import TypeAlias

import numpy as np

from treceval_py.data.ids import decode, encode, quoted
from treceval_py.data.qrels import Qrels

_Fold: TypeAlias = tuple[str, Callable[[str], str]]
"""A way in which an id is rewritten: what differs, and the function that undoes it."""


def _without(pattern: str, kept: str = "") -> Callable[[str], str]:
    """Return the function that replaces what a pattern matches."""
    return partial(re.compile(pattern).sub, kept)


_SEPARATORS = "._:#/\\\\\\s\u200b\u2060\ufeff-"

_without_segment = _without(r"(?<=.)#[^#]*\Z")
_number_alone = _without(rf"\A[^\W\d_]+[{_SEPARATORS}]*(\d+)\Z", r"\1")


def _separated_alike(text: str) -> str:
    return re.sub(f"[{_SEPARATORS}]+", "-", text).strip("-") or text


_SPELLING: tuple[_Fold, ...] = (
    ("the way letters are encoded", partial(unicodedata.normalize, "NFKC")),
    ("the case of letters", str.casefold),
    ("punctuation", _separated_alike),
    ("leading zeros", _without(r"(?<!\d)0+(?=\d)")),
)
"""Differences that may occur in ids of any kind, in order of application."""

# Spreadsheets and data frames turn 301 into 301.0.
_FRACTION: _Fold = ("a decimal point", _without(r"\A(\d+)\.0+\Z", r"\1"))
_BRACKETS: _Fold = ("angle brackets", _without(r"\A<(.+)>\Z", r"\1"))
_FILE: tuple[_Fold, ...] = (
    _BRACKETS,
    ("quotes", _without(r"\A([\"'])(.+)\1\Z", r"\2")),
    ("the beginning of the URL", _without(r"\Ahttps?://\S*/(?=\S)")),
    ("the folder", _without(r"\A.*[/\\](?=[^/\\])|[/\\]+\Z")),
    # Twice, for page.html.gz.
    ("the ending", _without(r"(?i)(?<=.)(?:\.(?:[a-z][a-z0-9]{0,4}|7z|bz2)){1,2}\Z")),
)

SEGMENT = "the segment after #"

# Only one of two ids may have them: two segments, or two names with prefixes, are two documents.
_PARTS: tuple[_Fold, ...] = ((SEGMENT, _without_segment), ("the prefix", _without(r"\A[A-Za-z]{2,}:(?!//)(?=\S)")))
_ALL = (_BRACKETS, *_PARTS, *_FILE[1:], _FRACTION, *_SPELLING, ("the text before the number", _number_alone))

_PLAIN = re.compile(rb"[1-9][0-9]*")

LONGEST = 1000
"""Longest id, in bytes, that is folded: a longer one is damaged data."""

MOST_COMPARED = 300_000
"""Most judged documents that are compared with the documents of a run in which no document is judged."""


def _folded(text: str, folds: Iterable[_Fold]) -> str:
    for _, fold in folds:
        text = fold(text)
    return text


def key(raw: bytes) -> str:
    """Return an id without case, punctuation and leading zeros; ids that look alike have the same key.

    Parameters
    ----------
    raw : bytes
        The id.

    Examples
    --------
    >>> key(b"Q_037.1"), key(b"q-37#1")
    ('q-37-1', 'q-37-1')
    """
    # Most query ids are plain numbers, and there may be a million of them.
    return decode(raw) if len(raw) > LONGEST or _PLAIN.fullmatch(raw) else _folded(decode(raw), _SPELLING)


def difference(one: bytes, other: bytes) -> str:
    """Say how two similar ids differ: the smallest set of differences without which they are equal.

    Parameters
    ----------
    one, other : bytes
        The ids.

    Returns
    -------
    str
        Such as ``leading zeros`` or ``the case of letters and punctuation``; empty if they do not look alike.

    Examples
    --------
    >>> difference(b"37_1", b"37.1")
    'punctuation'
    >>> difference(b"docs/FT911-3.txt", b"ft911-3")
    'the folder, the ending and the case of letters'
    """
    first, second = decode(one), decode(other)
    # Differences in spelling alone are likelier than others, even if there are more of them.
    for possible in (_SPELLING, _ALL):
        for count in range(1, len(possible) + 1):
            for folds in combinations(possible, count):
                if _folded(first, folds) == _folded(second, folds):
                    names = [differs for differs, _ in folds]
                    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return ""


class Known:
    """A collection of ids in which look-alikes of other ids are found.

    Parameters
    ----------
    ids : iterable of bytes
        The ids.
    files : bool
        Whether ids may be file names or URLs, so that folders, endings and brackets are ignored, and may name parts.
    """

    def __init__(self, ids: Iterable[bytes], *, files: bool = False) -> None:
        # In query ids an ending is significant: 37.a and 37.b are two turns of a conversation.
        self._files = files
        self._folds = (*(_FILE if files else ()), _FRACTION, *_SPELLING)
        self._spelled: dict[str, bytes] = {}
        self._folded: dict[str, bytes] = {}
        self._numbered: dict[str, bytes] = {}
        for raw in ids:
            if len(raw) > LONGEST:
                continue
            folded = _folded(decode(raw), self._folds)
            self._spelled.setdefault(key(raw), raw)
            self._folded.setdefault(folded, raw)
            if (number := _number_alone(folded)) != folded:
                self._numbered.setdefault(number, raw)

    def like(self, raw: bytes) -> bytes | None:
        """Return the id that looks most like another one, or equals it; None if none does."""
        if len(raw) > LONGEST:
            return None
        if (spelled := self._spelled.get(key(raw))) is not None:
            return spelled
        folded = _folded(decode(raw), self._folds)
        # q37 is like 37, but FT-37 is not like LA-37: one of the two must be the number alone.
        number = _number_alone(folded)
        other = self._folded.get(number) if number != folded else self._numbered.get(folded)
        return self._folded.get(folded) or other or (self._like_part(raw) if self._files else None)

    def _like_part(self, raw: bytes) -> bytes | None:
        """Return the id of the whole of which an id names a part, or that lacks its prefix."""
        text = _BRACKETS[1](decode(raw))
        for _, fold in _PARTS:
            if (whole := fold(text)) != text and (like := self.like(encode(whole))) is not None:
                return like
        return None


def like_document(qrels: Qrels, first: Sequence[tuple[str, Sequence[bytes]]]) -> tuple[bytes, bytes, str] | None:
    """Find a document that is judged under a similar id, preferably for its query.

    Parameters
    ----------
    qrels : Qrels
        The judgments.
    first : sequence of (str, sequence of bytes)
        The first documents of some judged queries, of which none is judged.

    Returns
    -------
    tuple or None
        The document, the judged id, and the query for which it is judged.
    """
    for qid, docids in first:
        row = qrels.row_of(qid)
        judged = [] if row is None else qrels.docids.raw(*qrels.span(row))
        known, listed = Known(judged, files=True), Known(docids, files=True)
        for docid in docids:
            if (like := known.like(docid)) is not None:
                return docid, like, qid
        for docid in judged:
            if (like := listed.like(docid)) is not None:
                return like, docid, qid
    # A segment may be like a document that is judged for another query.
    places = {encode(_without_segment(decode(docid))): docid for _, docids in first for docid in reversed(docids)}
    known = Known(places, files=True)
    for place, docid in enumerate(islice(documents(qrels), MOST_COMPARED)):
        like = known.like(docid)
        if like is not None and places[like] != docid:
            return places[like], docid, qrels.qids[int(np.searchsorted(qrels.offsets, place, side="right")) - 1]
    return None


def documents(qrels: Qrels) -> Iterator[bytes]:
    """Yield all judged documents, a portion at a time."""
    portion = 1 << 17
    for start in range(0, len(qrels.docids), portion):
        yield from qrels.docids.raw(start, min(start + portion, len(qrels.docids)))


def but_known(raw: bytes, like: bytes) -> str:
    """Say that an id is not judged although a similar one is, and how they differ."""
    where = difference(raw, like)
    return f"{quoted(raw)} is not judged, but {quoted(like)} is" + (f": they differ only in {where}" if where else "")
