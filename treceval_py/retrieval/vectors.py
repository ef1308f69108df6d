"""Vectors of passages, a block at a time: from memory or from the shards of a collection."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Protocol, TypeAlias

import numpy as np

from treceval_py._types import AnyArray
from treceval_py.errors import RunnerError

if TYPE_CHECKING:
    import numpy.typing as npt

    FloatArray32: TypeAlias = npt.NDArray[np.float32]
else:
    FloatArray32 = np.ndarray

__all__ = ["ArrayVectors", "FloatArray32", "ShardVectors", "Vectors", "block_rows"]

BLOCK_BYTES = 256 << 20
"""Bytes of a block of float32. Larger ones are searched hardly faster; with 60 MB a search takes a half more."""

ROWS_AT_ONCE = 1024
"""Faiss multiplies that many rows at a time, so blocks are multiples of it."""

PORTION_BYTES = 4 << 20
"""Bytes that are read at a time where they are converted afterwards."""


def block_rows(dimensions: int) -> int:
    """Return how many rows a block has.

    Parameters
    ----------
    dimensions : int
        Dimensions of a vector, E.

    Returns
    -------
    int
        A multiple of 1,024 that depends on E alone; about 256 MB of float32, and 65,536 rows or less where E is large
        enough for that to be more.
    """
    rows = BLOCK_BYTES // (4 * max(dimensions, 1))
    return max(rows // ROWS_AT_ONCE, 1) * ROWS_AT_ONCE


class Vectors(Protocol):
    """Vectors that can be read in order, a block at a time, as often as needed."""

    @property
    def count(self) -> int:
        """How many vectors there are, D."""

    @property
    def dimensions(self) -> int:
        """How many dimensions each of them has, E."""

    def blocks(self, rows: int) -> Iterator[tuple[int, FloatArray32]]:
        """Yield the vectors in blocks.

        Parameters
        ----------
        rows : int
            How many vectors a block has; the last one has fewer.

        Yields
        ------
        first : int
            The position of the block's first vector.
        block : (n, E) float32 array, C-contiguous
            The vectors. It may be overwritten by the next block, and must not be written to: who changes or keeps it
            copies it.
        """


class ArrayVectors:
    """The vectors of an array in memory.

    Parameters
    ----------
    array : (D, E) float array
        The vectors, as float32, float16 or float64. What is not float32 is converted a block at a time.

    Raises
    ------
    RunnerError
        It is no such array.
    """

    def __init__(self, array: AnyArray) -> None:
        if array.ndim != 2 or array.dtype.kind != "f":
            raise RunnerError(
                f"vectors are a table of floating-point numbers, this is an array of shape {array.shape} and "
                f"type {array.dtype}",
                "Give one row for each vector.",
            )
        self._array = array

    @property
    def in_place(self) -> bool:
        """Whether blocks are parts of the array itself, however large."""
        return self._array.dtype == np.float32 and self._array.flags.c_contiguous

    @property
    def count(self) -> int:
        """How many vectors there are, D."""
        return int(self._array.shape[0])

    @property
    def dimensions(self) -> int:
        """How many dimensions each of them has, E."""
        return int(self._array.shape[1])

    def blocks(self, rows: int) -> Iterator[tuple[int, FloatArray32]]:
        """Yield the vectors in blocks; see `Vectors.blocks`."""
        for first in range(0, self.count, rows):
            yield first, np.ascontiguousarray(self._array[first : first + rows], dtype=np.float32)


class _Shard(NamedTuple):
    """A file whose header was read: where its numbers begin and how many rows there are."""

    path: str
    offset: int
    rows: int


class ShardVectors:
    """The vectors of several ``.npy`` files in order, of which one block at a time is in memory.

    Parameters
    ----------
    paths : sequence of str
        The files, each an array of shape (its rows, E).
    rows : sequence of int
        How many rows each file must have.
    dimensions : int
        How many dimensions a vector must have, E.
    dtype : str or dtype
        What the files must hold: ``float32`` or ``float16``.

    Raises
    ------
    RunnerError
        A file is not there or is something else than that. All are looked at before anything is read; a file that
        becomes shorter afterwards is refused when it is read.

    Notes
    -----
    Files are read into one buffer that all blocks share. Mapping them instead was not measurably faster, and what is
    mapped counts as memory of the process.
    """

    def __init__(
        self, paths: Sequence[str], rows: Sequence[int], dimensions: int, dtype: str | np.dtype[Any] = "float32"
    ) -> None:
        self._dtype = np.dtype(dtype)
        if self._dtype not in (np.float32, np.float16):
            raise RunnerError(f"shards hold float32 or float16, not {dtype}", "Convert them.")
        if len(paths) != len(rows):
            raise RunnerError(f"there are {len(paths)} shards, and numbers of rows for {len(rows)}")
        self._dimensions = dimensions
        self._shards = [
            _Shard(path, self._checked_header(path, count), count) for path, count in zip(paths, rows, strict=True)
        ]

    @property
    def count(self) -> int:
        """How many vectors there are, D."""
        return sum(shard.rows for shard in self._shards)

    @property
    def dimensions(self) -> int:
        """How many dimensions each of them has, E."""
        return self._dimensions

    def blocks(self, rows: int) -> Iterator[tuple[int, FloatArray32]]:
        """Yield the vectors in blocks; see `Vectors.blocks`. Each block overwrites the one before."""
        buffer = np.empty((min(rows, self.count), self._dimensions), dtype=np.float32)
        first = filled = 0
        for shard in self._shards:
            taken = 0
            while taken < shard.rows:
                portion = min(len(buffer) - filled, shard.rows - taken)
                self._read(shard, taken, buffer[filled : filled + portion])
                taken += portion
                filled += portion
                if filled == len(buffer):
                    yield first, buffer
                    first, filled = first + filled, 0
        if filled:
            yield first, buffer[:filled]

    def _checked_header(self, path: str, rows: int) -> int:
        """Return where the numbers of a file begin."""
        with _opened(path) as stream:
            shape, fortran, dtype = _header(stream, path)
            expected = (rows, self._dimensions)
            if shape != expected or dtype != self._dtype or fortran:
                order = ", columns first" if fortran else ""
                raise RunnerError(
                    f"expected an array of shape {expected} and type {self._dtype}, found shape {shape} and type "
                    f"{dtype}{order}",
                    _AGAIN,
                    file=path,
                )
            offset = stream.tell()
            size = os.fstat(stream.fileno()).st_size
        needed = offset + rows * self._dimensions * self._dtype.itemsize
        if size != needed:
            raise RunnerError(f"expected {needed} bytes, found {size}", _AGAIN, file=path)
        return offset

    def _read(self, shard: _Shard, start: int, rows: FloatArray32) -> None:
        """Fill ``rows`` (n, E) with the rows of a shard from ``start`` on."""
        row_bytes = self._dimensions * self._dtype.itemsize
        with _opened(shard.path) as stream:
            stream.seek(shard.offset + start * row_bytes)
            if self._dtype == np.float32:
                _read_into(stream, rows, shard.path)
                return
            step = max(PORTION_BYTES // max(row_bytes, 1), 1)
            scratch = np.empty((min(step, len(rows)), self._dimensions), dtype=self._dtype)
            for first in range(0, len(rows), step):
                part = scratch[: len(rows) - first]
                _read_into(stream, part, shard.path)
                rows[first : first + step] = part


_AGAIN = "Remove it to encode that shard again."


def _opened(path: str) -> BinaryIO:
    try:
        # Without a buffer of Python's, as what is read is large and goes where it belongs at once.
        return open(path, "rb", buffering=0)
    except OSError as error:
        raise RunnerError(f"cannot be read: {error.strerror or error}", _AGAIN, file=path) from None


def _header(stream: BinaryIO, path: str) -> tuple[tuple[int, ...], bool, np.dtype[np.generic]]:
    """Read the header of a ``.npy`` file: shape, whether columns come first, and type."""
    try:
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            return np.lib.format.read_array_header_1_0(stream)
        return np.lib.format.read_array_header_2_0(stream)
    except (ValueError, EOFError, SyntaxError):
        raise RunnerError("expected a .npy file, found something else", _AGAIN, file=path) from None
    except OSError as error:
        raise RunnerError(f"cannot be read: {error.strerror or error}", _AGAIN, file=path) from None


def _read_into(stream: BinaryIO, array: AnyArray, path: str) -> None:
    """Fill a C-contiguous array with the next bytes of a file."""
    view = array.reshape(-1).view(np.uint8).data
    try:
        done = 0
        while done < len(view):
            count = stream.readinto(view[done:])  # type: ignore[attr-defined]
            if not count:
                raise RunnerError(f"ends {len(view) - done} bytes too early", _AGAIN, file=path)
            done += count
    except OSError as error:
        raise RunnerError(f"cannot be read: {error.strerror or error}", _AGAIN, file=path) from None
