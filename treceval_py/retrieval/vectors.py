"""Vectors of passages, a block at a time: from memory or from the shards of a collection."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, Protocol
from zipfile import BadZipFile

import numpy as np

from treceval_py._types import AnyArray, FloatArray32
from treceval_py.errors import RunnerError

BLOCK_BYTES = 256 << 20
"""Bytes of a block of float32. Larger ones are searched hardly faster; with 60 MB a search takes a half more."""

ROWS_AT_ONCE = 1024
"""Rows that Faiss multiplies at a time; blocks are multiples of this."""

PORTION_BYTES = 4 << 20
"""Bytes read at a time."""


def block_rows(dimensions: int) -> int:
    """Return the number of rows in a block.

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

    count: int
    """Number of vectors, D."""
    dimensions: int
    """Dimensions of each vector, E."""

    def blocks(self, rows: int) -> Iterator[tuple[int, FloatArray32]]:
        """Yield the vectors in blocks.

        Parameters
        ----------
        rows : int
            Number of vectors in a block; the last one may have fewer.

        Yields
        ------
        first : int
            The position of the block's first vector.
        block : (n, E) float32 array, C-contiguous
            The vectors. It may be overwritten by the next block, and must not be written to: who changes or keeps it
            copies it.
        """


class StreamedVectors:
    """Vectors that are read in portions of any sizes, of which one block at a time is in memory.

    Parameters
    ----------
    count : int
        How many there are, D.
    dimensions : int
        Dimensions of each vector, E.
    portions : callable
        Returns an iterator over them in order, as arrays of shape (n, E).
    first : int
        The position of the first one, if these are a part of others.
    """

    def __init__(self, count: int, dimensions: int, portions: Callable[[], Iterator[AnyArray]], first: int = 0) -> None:
        self.count = count
        self.dimensions = dimensions
        self.portions = portions
        self.first = first

    def blocks(self, rows: int) -> Iterator[tuple[int, FloatArray32]]:
        """Yield the vectors in blocks; see `Vectors.blocks`. Each block overwrites the one before."""
        buffer = np.empty((min(rows, self.count), self.dimensions), dtype=np.float32)
        first, filled = self.first, 0
        for portion in self.portions():
            taken = 0
            while taken < len(portion):
                part = portion[taken : taken + len(buffer) - filled]
                with np.errstate(over="ignore"):  # it becomes infinite, which is refused
                    buffer[filled : filled + len(part)] = part
                taken += len(part)
                filled += len(part)
                if filled == len(buffer):
                    yield first, buffer
                    first, filled = first + filled, 0
        if filled:
            yield first, buffer[:filled]


class ArrayVectors(StreamedVectors):
    """The vectors of an array in memory.

    Parameters
    ----------
    array : (D, E) float array
        The vectors, as float32, float16 or float64. What is not float32 is converted a block at a time.
    first : int
        As of `StreamedVectors`.

    Raises
    ------
    RunnerError
        It is not such an array.
    """

    def __init__(self, array: AnyArray, first: int = 0) -> None:
        super().__init__(*_shape(array), lambda: iter([array]), first)


def chained(parts: Sequence[StreamedVectors], dimensions: int) -> StreamedVectors:
    """Return the vectors of several parts in order, all of E dimensions."""
    count = sum(part.count for part in parts)
    return StreamedVectors(count, dimensions, lambda: chain.from_iterable(part.portions() for part in parts))


def _shape(array: AnyArray, path: str | None = None) -> tuple[int, int]:
    """Return the shape of a table of floating-point numbers; refuse others."""
    if array.ndim != 2 or array.dtype.kind != "f":
        wrong = f"vectors are a table of floating-point numbers, this is an array of shape {array.shape} and type "
        raise RunnerError(f"{wrong}{array.dtype}", "Give one row for each vector.", file=path)
    return array.shape[0], array.shape[1]


class FileVectors(StreamedVectors):
    """The vectors of a ``.npy`` file, of which the header is read at once, and a portion at a time later.

    Mapping the file instead was not measurably faster, what is mapped counts as memory of the process, and a file that
    is cut short meanwhile would kill it.

    Parameters
    ----------
    path : str
        The file.
    todo : str
        What can be done about one that cannot be used.

    Raises
    ------
    RunnerError
        It is not such a file, is truncated, or is stored by columns.
    """

    def __init__(self, path: str, todo: str) -> None:
        try:
            mapped = np.load(path, mmap_mode="r")
        except OSError as error:
            raise RunnerError(f"cannot be read: {error.strerror or error}", todo, file=path) from None
        except Exception:  # noqa: BLE001 - NumPy fails in many ways at a damaged header, which is Python to it
            mapped = None
        if not isinstance(mapped, np.memmap) or not mapped.flags.c_contiguous:
            damage = "expected a whole .npy file with a table of numbers, row by row, found something else"
            raise RunnerError(damage, todo, file=path)
        super().__init__(*_shape(mapped, path), self._read)
        self.dtype, self._offset, self._path, self._todo = mapped.dtype, mapped.offset, path, todo

    def _read(self) -> Iterator[AnyArray]:
        """Yield the rows, a few megabytes at a time."""
        row = max(self.dimensions * self.dtype.itemsize, 1)
        step = max(PORTION_BYTES // row, 1)
        for start in range(0, self.count, step):
            count = min(step, self.count - start) * self.dimensions
            try:
                portion = np.fromfile(self._path, self.dtype, count, offset=self._offset + start * row)
            except OSError as error:
                raise RunnerError(f"cannot be read: {error.strerror or error}", self._todo, file=self._path) from None
            if len(portion) < count:
                raise RunnerError("became shorter while it was read", self._todo, file=self._path)
            yield portion.reshape(-1, self.dimensions)


class ShardVectors(StreamedVectors):
    """The vectors of several ``.npy`` files in order.

    Parameters
    ----------
    paths : sequence of str
        The files, each an array of shape (its rows, E).
    rows : sequence of int
        How many rows each file must have.
    dimensions : int
        How many dimensions a vector must have, E.
    dtype : str
        What the files must hold: ``float32`` or ``float16``.

    Raises
    ------
    RunnerError
        A file is not there or is something else than that. All are looked at before anything is read; a file that
        becomes shorter afterwards is refused when it is read.
    """

    def __init__(self, paths: Sequence[str], rows: Sequence[int], dimensions: int, dtype: str = "float32") -> None:
        files = [FileVectors(path, AGAIN) for path in paths]
        for path, file, count in zip(paths, files, rows, strict=True):
            shape, wanted = (file.count, file.dimensions), (count, dimensions)
            if (shape, file.dtype) != (wanted, np.dtype(dtype)):
                expected = f"expected an array of shape {wanted} and type {dtype}"
                raise RunnerError(f"{expected}, found shape {shape} and type {file.dtype}", AGAIN, file=path)
        together = chained(files, dimensions)
        super().__init__(together.count, dimensions, together.portions)


AGAIN = "Remove it to encode that shard again."
"""What can be done about a damaged shard."""


class SparseVectors:
    """The sparse vectors of several ``.npz`` files in order, as SciPy writes its CSR matrices.

    Parameters
    ----------
    paths : sequence of str
        The files.
    rows : sequence of int
        How many rows each file must have.
    dimensions : int
        How many dimensions a vector must have, E.
    """

    def __init__(self, paths: Sequence[str], rows: Sequence[int], dimensions: int) -> None:
        self._paths = paths
        self.count = sum(rows)
        self.dimensions = dimensions

    def blocks(self, rows: int) -> Iterator[tuple[int, Any]]:
        """Yield the vectors in blocks of this many rows or more, each of them a CSR matrix and its first position.

        Raises
        ------
        RunnerError
            A file cannot be read.
        """
        from scipy.sparse import load_npz  # type: ignore[import-untyped,unused-ignore]

        first, waiting = 0, list[Any]()
        for path in self._paths:
            try:
                waiting.append(load_npz(path))
            except (OSError, ValueError, KeyError, BadZipFile) as error:
                raise RunnerError(f"cannot be read: {error}", AGAIN, file=path) from None
            if (count := sum(part.shape[0] for part in waiting)) >= rows or path == self._paths[-1]:
                yield first, joined(waiting)
                first, waiting = first + count, []


def joined(parts: Sequence[Any]) -> Any:
    """Return the rows of several arrays, or of several sparse matrices, in one."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    from scipy.sparse import vstack

    return vstack(parts, format="csr")


def packed(vectors: Any) -> bytes:
    """Return vectors as the bytes of a file: an array as ``.npy``, a CSR matrix as ``.npz``; the same for the same.

    NumPy writes to a file by C's buffers, which lose their last bytes without a word when a disk is full.
    """
    content = io.BytesIO()
    if isinstance(vectors, np.ndarray):
        np.save(content, np.ascontiguousarray(vectors))
    else:
        from scipy.sparse import save_npz

        vectors.sum_duplicates()  # and sort
        save_npz(content, vectors, compressed=False)
    return content.getvalue()
