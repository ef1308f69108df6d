"""Identifiers of queries and documents: text for callers, bytes in one buffer for columns.

Ids from files are bytes, decoded as UTF-8 with ``surrogateescape``, so that any byte survives a round trip. They are
sorted by their bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import count, pairwise
from typing import TYPE_CHECKING, Any, TypeGuard, cast

import numpy as np

from treceval_py._types import ByteArray, IntArray
from treceval_py.errors import DataError
from treceval_py.scan import scanner

if TYPE_CHECKING:
    from decimal import Decimal

LONGEST_SHOWN = 80
"""Number of bytes of a field that a message shows."""

PORTION = 1 << 17
"""Number of rows reordered or written at a time."""


def encode(text: str) -> bytes:
    """Return the bytes of an identifier; the inverse of `decode`."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise DataError(f"identifier {text!a} cannot be written as UTF-8", "Use valid Unicode text.") from None


decode: Callable[[bytes], str] = partial(str, encoding="utf-8", errors="surrogateescape")
"""Returns the text of an identifier; bytes that are not UTF-8 become lone surrogates."""


def beginning_of(text: bytes) -> str:
    """Shorten an id or a field for a message; damaged files can have huge ones."""
    return decode(text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN]) + "…" * (len(text) > LONGEST_SHOWN)


def quoted(text: bytes) -> str:
    """Return a field in quotes, for a message."""
    return f"'{beginning_of(text)}'"


def quoted_text(text: str) -> str:
    """Return text in quotes, for a message; lone surrogates are escaped."""
    return quoted(text.encode("utf-8", "backslashreplace"))


def shown(value: object) -> str:
    """Return a value for a message: shortened; only the type of a container."""
    if isinstance(value, str):
        return f"'{value[:LONGEST_SHOWN]}{'…' * (len(value) > LONGEST_SHOWN)}'"
    if isinstance(value, bytes):
        return repr(value[:LONGEST_SHOWN])
    if isinstance(value, int) and abs(value) >= 2**63:
        return "a very large number"
    if value is None or isinstance(value, (int, float, complex, np.generic)) or is_decimal(value):
        return str(value)[:LONGEST_SHOWN]
    name = type(value).__name__
    return f"{'an' if name[:1] in 'aeiouAEIOU' or name == 'ndarray' else 'a'} {name}"


def is_decimal(value: object) -> TypeGuard[Decimal]:
    """Return whether a value is a Decimal, without importing `decimal`: where nobody has, there is none."""
    return "decimal" in sys.modules and isinstance(value, sys.modules["decimal"].Decimal)


def first_of(qids: Sequence[str]) -> str:
    """Return the first few queries, for a message."""
    return ", ".join(beginning_of(encode(qid)) for qid in qids[:3]) + (", …" if len(qids) > 3 else "")


def _bounds_of(ids: Sequence[bytes] | Sequence[str]) -> IntArray:
    """Return where each id begins in the concatenation of all, and where the last one ends."""
    return np.concatenate([[0], np.fromiter(map(len, ids), dtype=np.int64, count=len(ids)).cumsum()])


class Ids(Sequence[str]):
    """A column of identifiers: one buffer of bytes, and the offsets of the identifiers in it.

    Parameters
    ----------
    buffer : bytes
        The concatenated identifiers.
    offsets : (D + 1,) int array
        ``buffer[offsets[i]:offsets[i + 1]]`` is identifier ``i``. Or the identifiers, all in ASCII, whose
        offsets are computed on first use: dictionaries are often scored without them.
    """

    def __init__(self, buffer: bytes, offsets: IntArray | Sequence[str]) -> None:
        self.buffer = buffer
        self.__dict__["offsets" if isinstance(offsets, np.ndarray) else "_ids"] = offsets

    @classmethod
    def from_bytes(cls, ids: Sequence[bytes]) -> Ids:
        """Build the column from identifiers as bytes."""
        return cls(b"".join(ids), _bounds_of(ids))

    @classmethod
    def from_text(cls, ids: Sequence[str]) -> Ids:
        """Build the column from identifiers as text; raise TypeError for anything else."""
        text = "".join(ids)
        return cls(text.encode(), ids) if text.isascii() else cls.from_bytes(list(map(encode, ids)))

    @cached_property
    def offsets(self) -> IntArray:
        """The first byte of each identifier, and the number of bytes."""
        ids = self.__dict__.get("_ids")
        if ids is None:  # another thread has been faster
            return cast("IntArray", self.__dict__["offsets"])
        self.__dict__["offsets"] = offsets = _bounds_of(ids)
        self.__dict__.pop("_ids", None)
        return offsets

    @classmethod
    def concatenate(cls, columns: Sequence[Ids]) -> Ids:
        """Concatenate columns."""
        lengths = [np.diff(column.offsets) for column in columns]
        offsets = np.concatenate([[0], *lengths]).cumsum(dtype=np.int64)
        return cls(b"".join(column.buffer for column in columns), offsets)

    def take(self, order: IntArray) -> Ids:
        """Return the column with its rows in another order; ``order`` (N,) holds row numbers."""
        compiled = scanner()
        if compiled is not None:
            return Ids(*compiled.take(self.buffer, self.offsets, np.ascontiguousarray(order, dtype=np.int64)))
        offsets = np.append(0, np.diff(self.offsets)[order].cumsum())
        raw: ByteArray = np.frombuffer(self.buffer, dtype=np.uint8)
        parts = []
        # In portions, because the index takes 8 bytes per byte of the buffer.
        for start in range(0, len(order), PORTION):
            cuts = offsets[start : start + PORTION + 1]
            shifts = self.offsets[order[start : start + PORTION]] - cuts[:-1]
            parts.append(raw[np.repeat(shifts, np.diff(cuts)) + np.arange(cuts[0], cuts[-1])].tobytes())
        return Ids(b"".join(parts), offsets)

    def raw(self, start: int = 0, stop: int | None = None) -> list[bytes]:
        """Return rows ``start`` to ``stop`` as a list of bytes."""
        cuts = self.offsets[start : (len(self) if stop is None else stop) + 1].tolist()
        buffer = self.buffer
        return [buffer[a:b] for a, b in pairwise(cuts)]

    def text(self, start: int = 0, stop: int | None = None) -> list[str]:
        """Return rows ``start`` to ``stop`` as a list of strings."""
        return [decode(raw) for raw in self.raw(start, stop)]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: Any) -> Any:
        """Return one identifier as text, or the column of a slice (with step 1)."""
        if isinstance(index, slice):
            start, stop, _ = index.indices(len(self))
            cuts = self.offsets[start : max(start, stop) + 1]
            return Ids(self.buffer[cuts[0] : cuts[-1]], cuts - cuts[0])
        row = range(len(self))[index]
        return decode(self.buffer[self.offsets[row] : self.offsets[row + 1]])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ids):
            return NotImplemented
        return self.buffer == other.buffer and np.array_equal(self.offsets, other.offsets)

    __hash__ = None  # type: ignore[assignment]


def firsts_of(ids: Sequence[str]) -> IntArray:
    """Return for each id the row where it first occurs. (D,)."""
    compiled = scanner()
    if compiled is None:
        rows: dict[str, int] = {}
        return np.fromiter(map(rows.setdefault, ids, count()), dtype=np.int64, count=len(ids))
    column = ids if isinstance(ids, Ids) else Ids.from_text(ids)
    firsts: IntArray = compiled.index(column.buffer, column.offsets)[0]
    return firsts


def repeated(docids: Ids, offsets: IntArray) -> tuple[int, int, int] | None:
    """Find the first document that occurs twice in a query.

    Parameters
    ----------
    docids : Ids, length D
        The documents.
    offsets : (Q + 1,) int array
        The first row of each query, and D.

    Returns
    -------
    tuple or None
        The number of the query and the two rows; None if no document occurs twice.
    """
    compiled, begin = scanner(), 0
    if compiled is not None:
        row = compiled.repeated(docids.buffer, docids.offsets, offsets.astype(np.int64))
        if row < 0:
            return None
        begin = int(np.searchsorted(offsets, row, side="right")) - 1
    for query, (start, stop) in enumerate(pairwise(offsets[begin:].tolist()), begin):
        raw = docids.raw(start, stop)
        if len(set(raw)) == len(raw):
            continue
        seen: dict[bytes, int] = {}
        for row, docid in enumerate(raw, start):
            if docid in seen:
                return query, seen[docid], row
            seen[docid] = row
    return None
