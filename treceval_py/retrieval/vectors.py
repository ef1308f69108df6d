"""Vectors of passages, a block at a time: from memory, from files, or from the shards of a collection."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from treceval_py._types import AnyArray, FloatArray32
from treceval_py.errors import RunnerError

BLOCK_BYTES = 256 << 20
"""Bytes of a block of float32. Larger ones are searched hardly faster; with 60 MB a search takes a half more."""

ROWS_AT_ONCE = 1024
"""Rows that Faiss multiplies at a time; blocks are multiples of this."""

SPARSE_BLOCK = 1 << 16
"""Most sparse vectors in a block."""

PORTION_BYTES = 16 << 20
"""Bytes read at a time."""

AGAIN = "Remove it to encode that shard again."
"""What can be done about a damaged shard."""


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
    return max(BLOCK_BYTES // (4 * dimensions) // ROWS_AT_ONCE, 1) * ROWS_AT_ONCE


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
    """

    def __init__(self, count: int, dimensions: int, portions: Callable[[], Iterator[AnyArray]]) -> None:
        self.count = count
        self.dimensions = dimensions
        self.portions = portions

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
            The vectors. The next block overwrites them, and they must not be written to: who changes or keeps them
            copies them.
        """
        buffer = np.empty((min(rows, self.count), self.dimensions), dtype=np.float32)
        first = filled = 0
        for portion in self.portions():
            rest = portion
            while len(rest):
                part, rest = np.split(rest, [len(buffer) - filled])
                with np.errstate(over="ignore"):  # it becomes infinite, which is refused
                    buffer[filled : filled + len(part)] = part
                filled += len(part)
                if filled == len(buffer):
                    yield first, buffer
                    first, filled = first + filled, 0
        if filled:
            yield first, buffer[:filled]


class FileVectors(StreamedVectors):
    """The vectors of a ``.npy`` file, of which the header is read at once, and a portion at a time later.

    Each portion is mapped by itself: what is mapped counts as memory of the process.

    Parameters
    ----------
    path : str
        The file.
    todo : str
        What can be done about one that cannot be used.

    Raises
    ------
    RunnerError
        It is not such a file, is truncated, or is stored by columns; also when it is read.
    """

    def __init__(self, path: str, todo: str) -> None:
        self._path, self._todo = path, todo
        count, dimensions = self._table().shape
        super().__init__(count, dimensions, self._read)

    def _table(self) -> AnyArray:
        """Map the file."""
        try:
            table: AnyArray = np.lib.format.open_memmap(self._path, mode="r")
            if table.ndim != 2 or table.dtype.kind != "f" or not table.flags.c_contiguous:
                raise ValueError
        except Exception as error:  # noqa: BLE001 - NumPy fails in many ways at a damaged header, which is Python to it
            damage = "expected a whole .npy file with a table of floating-point numbers, a row for each vector"
            raise RunnerError(getattr(error, "strerror", None) or damage, self._todo, file=self._path) from None
        return table

    def _read(self) -> Iterator[AnyArray]:
        """Yield the rows, a few megabytes at a time."""
        step = max(PORTION_BYTES // max(self._table()[:1].nbytes, 1), 1)  # nothing, if the file is empty
        for start in range(0, self.count, step):
            yield self._table()[start : start + step]


def chained(parts: Sequence[StreamedVectors], dimensions: int) -> StreamedVectors:
    """Return the vectors of several parts in order, all of E dimensions."""
    count = sum(part.count for part in parts)
    return StreamedVectors(count, dimensions, lambda: chain.from_iterable(part.portions() for part in parts))


class SparseVectors:
    """The sparse vectors of several ``.npz`` files in order, as SciPy writes its CSR matrices.

    Parameters
    ----------
    paths : sequence of str
        The files.
    count : int
        How many rows they have together.
    """

    def __init__(self, paths: Sequence[str], count: int) -> None:
        self._paths = paths
        self.count = count

    def blocks(self, rows: int = SPARSE_BLOCK) -> Iterator[tuple[int, Any]]:
        """Yield the vectors in blocks of so many rows, each a CSR matrix, with the position of the first."""
        from scipy.sparse import load_npz, vstack  # type: ignore[import-untyped,unused-ignore]

        first, waiting = 0, list[Any]()
        for path in self._paths:
            waiting.append(load_npz(path))
            if path == self._paths[-1] or sum(part.shape[0] for part in waiting) >= rows:
                block = vstack(waiting, format="csr")
                while block.shape[0] >= rows:
                    yield first, block[:rows]
                    first, block = first + rows, block[rows:]
                waiting = [block]
        if waiting and waiting[0].shape[0]:
            yield first, waiting[0]


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
