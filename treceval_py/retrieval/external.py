"""Vectors made elsewhere: arrays with a file of ids, Parquet, a folder of Pyserini, another work folder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from treceval_py._types import AnyArray
from treceval_py.corpora.reporting import Reporter
from treceval_py.corpora.texts import Kind, PlacedTexts
from treceval_py.data.ids import Ids, encode
from treceval_py.errors import RunnerError
from treceval_py.retrieval.exact import load_faiss
from treceval_py.retrieval.indexing import IndexSettings
from treceval_py.retrieval.shards import finished_store, is_store
from treceval_py.retrieval.vectors import FileVectors, StreamedVectors, block_rows, chained

ID_COLUMNS = ("id", "_id", "docid", "doc_id", "qid", "query_id")
"""Possible names of the column of ids in a Parquet file; the first that exists counts."""

VECTOR_COLUMNS = ("vector", "emb", "embedding", "embeddings")
"""Possible names of the column of vectors."""

HEADER = 45
"""Bytes that a Faiss index with vectors has at least; mapping a shorter file can crash the process."""

CHECK = "Check the file, or make it again."
"""What to do about a file that cannot be read correctly."""

ROWS = 8192
"""Vectors read from a Faiss index or a Parquet file at a time."""

ROUNDING = 0.01
"""By how much a vector of length 1 in half precision may be longer or shorter."""


class Embedded(PlacedTexts):
    """Vectors with their ids, used in place of texts.

    Parameters
    ----------
    name : str
        Their name in messages.
    kind : "document" or "query"
        The kind of texts.
    ids : Ids
        The ids.
    vectors : StreamedVectors
        The vectors, one for each id.
    check : callable
        Refuses files that are not as they were written; called before the vectors are read.

    Raises
    ------
    RunnerError
        There is not one vector for each id.
    """

    def __init__(
        self, name: str, kind: Kind, ids: Ids, vectors: StreamedVectors, check: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__(name, kind)
        self._ids = ids
        self._vectors = vectors
        self._check = check
        if len(ids) != vectors.count:
            mismatch = f"there are {vectors.count:,} vectors and {len(ids):,} ids"
            raise RunnerError(mismatch, "Give one id for each vector, in their order.", file=name)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Yield each id, in place of a text too."""
        return ((docid, docid) for docid in self._ids)

    def ids(self) -> Ids:
        """Return the ids in order."""
        return self._ids

    def vectors(self) -> StreamedVectors:
        """Return the vectors, read a block at a time."""
        return self._vectors

    def content(self) -> str:
        """Return a SHA-256 of the ids and the vectors as float32."""
        return self.looked[0]

    @cached_property
    def looked(self) -> tuple[str, float, float]:
        """Return a SHA-256 of the ids and vectors, and the least and the greatest length of a vector.

        Raises
        ------
        RunnerError
            A file was changed.
        """
        self._check()
        digest = hashlib.sha256(b"".join(b"%s\n" % docid for docid in self._ids.raw()))
        parts = []
        for _, block in self._vectors.blocks(block_rows(self._vectors.dimensions)):
            digest.update(block.data)
            parts.append(np.sqrt(np.einsum("ij,ij->i", block, block, dtype=np.float64)))
        lengths = np.concatenate(parts)
        return digest.hexdigest(), float(lengths.min()), float(lengths.max())


@dataclass(frozen=True, slots=True)
class Imported:
    """Retrieval by existing vectors.

    Attributes
    ----------
    passages, queries : Embedded
        From `read_vectors`. They are also the texts of the collection.
    similarity : str
        ``inner-product``, ``cosine`` or ``l2``.
    index : IndexSettings, optional
        A Faiss index in place of exact search.
    ray : str, optional
        The address of a Ray cluster, where exact search is done.
    """

    passages: Embedded
    queries: Embedded
    similarity: str = "inner-product"
    index: IndexSettings | None = None
    ray: str | None = None

    @property
    def dimensions(self) -> int:
        """Return the length of the vectors, E."""
        return self.passages.vectors().dimensions

    def look(self, reporter: Reporter) -> dict[str, Any]:
        """Check all vectors, give `reporter` notes on possible defects, and return their record."""
        if self.queries.vectors().dimensions != self.dimensions:
            mismatch = f"queries have {self.queries.vectors().dimensions} dimensions, and passages {self.dimensions}"
            raise RunnerError(mismatch, "Give vectors of one model.", file=self.queries.name)
        about: dict[str, Any] = {}
        for side, given in (("queries", self.queries), ("passages", self.passages)):
            count = given.vectors().count
            reporter.begin(f"check {side}", count, side)
            digest, least, most = given.looked
            reporter.advance(count)
            reporter.end()
            if self.similarity == "inner-product" and (least < 1 - ROUNDING or most > 1 + ROUNDING):
                reporter.note(
                    f"The vectors of the {side} have lengths from {least:.4g} to {most:.4g}: inner products favour "
                    "long ones. If the model's similarity is another, give --similarity."
                )
            made = {"file": given.name, "vectors": [count, self.dimensions], "sha256": digest}
            about[side] = {**made, "lengths": [least, most]}
        return about


def read_vectors(path: str, kind: Kind = "document") -> Embedded:
    """Open vectors on disk; they are read later.

    Parameters
    ----------
    path : str
        ``NAME.npy`` (an array of shape (D, E)) with ``NAME.ids`` (an id a line) beside it; a Parquet file with a column
        ``id`` and a column ``vector`` of lists; a folder of such files, which are read in the order of their names; a
        work folder's ``passages`` or one of its ``queries``; or a folder of Pyserini with a flat Faiss index (``index``
        and ``docid``).
    kind : "document" or "query"
        What the vectors are of.

    Returns
    -------
    Embedded
        The vectors and their ids.

    Raises
    ------
    RunnerError
        None of these exists, vectors differ in length, or there is not one for each id; or a work folder is not
        finished, or its vectors are sparse.
    """
    if is_store(path):
        store = finished_store(path)
        stored = store.vectors()
        if not isinstance(stored, StreamedVectors):
            unsupported = "these vectors are sparse, and only dense ones are searched so"
            raise RunnerError(unsupported, "Use --retriever sparse with the model that made them.", file=path)
        return Embedded(path, kind, store.ids(), stored, store.check_files)
    names = sorted(os.listdir(path)) if os.path.isdir(path) else [path]
    if {"index", "docid"} <= set(names):
        return Embedded(path, kind, _lines(os.path.join(path, "docid")), _of_index(os.path.join(path, "index")))
    files = [os.path.join(path, name) for name in names if name.endswith((".npy", ".parquet"))]
    if not files:
        raise RunnerError("there are no vectors", "Give .npy with .ids, Parquet, or a folder of Pyserini.", file=path)
    ids, vectors = zip(*map(_of_file, files), strict=True)
    dimensions = vectors[0].dimensions
    for file, part in zip(files, vectors, strict=True):
        if part.dimensions != dimensions:
            mismatch = f"vectors have {part.dimensions} dimensions, and those before them {dimensions}"
            raise RunnerError(mismatch, "Give vectors of one model.", file=file)
    return Embedded(path, kind, Ids.concatenate(ids), chained(vectors, dimensions))


def _of_file(path: str) -> tuple[Ids, StreamedVectors]:
    """Look at a file of vectors, and read its ids."""
    if path.endswith(".npy"):
        vectors = FileVectors(path, CHECK)
        return _lines(path.removesuffix(".npy") + ".ids"), vectors
    ids = [_id(cell, path) for cells in _column(path, ID_COLUMNS) for cell in cells.tolist()]
    first = next(_rows(path), np.empty((0, 1), dtype=np.float32))
    return Ids.from_bytes(ids), StreamedVectors(len(ids), first.shape[1], partial(_rows, path))


def _lines(path: str) -> Ids:
    """Return the ids of a file, a line each."""
    try:
        with open(path, "rb") as stream:
            return Ids.from_bytes(stream.read().splitlines())
    except OSError as error:
        unreadable = f"the ids cannot be read: {error.strerror or error}"
        raise RunnerError(unreadable, "Put a file with an id a line there.", file=path) from None


def _of_index(path: str) -> StreamedVectors:
    """Look at a Faiss index that keeps the vectors as they were added."""
    faiss = load_faiss()
    try:
        if os.path.getsize(path) < HEADER:
            raise RuntimeError
        index = faiss.read_index(path, getattr(faiss, "IO_FLAG_MMAP_IFC", 0))
    except (MemoryError, RuntimeError):
        raise RunnerError("expected a Faiss index, found something else", CHECK, file=path) from None
    if not isinstance(faiss.downcast_index(getattr(index, "storage", index)), faiss.IndexFlat):
        unsupported = f"this Faiss index ({type(index).__name__}) does not keep the vectors as they were"
        raise RunnerError(unsupported, "Give a flat one, or .npy with .ids.", file=path)
    starts = range(0, index.ntotal, ROWS)
    portions = lambda: (index.reconstruct_n(start, min(ROWS, index.ntotal - start)) for start in starts)  # noqa: E731
    return StreamedVectors(index.ntotal, index.d, portions)


def _rows(path: str) -> Iterator[AnyArray]:
    """Yield the vectors of a Parquet file, some at a time."""
    shape: tuple[int, ...] = ()
    for lists in _column(path, VECTOR_COLUMNS):
        try:
            rows = np.stack(lists.tolist())
        except (TypeError, ValueError):  # one is missing or of another length
            rows = lists
        shape = shape or rows.shape[1:]
        if rows.dtype.kind != "f" or rows.ndim != 2 or not rows.size or rows.shape[1:] != shape:
            raise RunnerError("its vectors are not lists of floats, all of one length", CHECK, file=path)
        yield rows


def _column(path: str, names: Sequence[str]) -> Iterator[AnyArray]:
    """Yield a column of a Parquet file, some rows at a time: the first of these names that there is."""
    import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            there = file.schema_arrow.names
            column = next((name for name in names if name in there), None)
            if column is None:
                missing = f"there is no column '{names[0]}' (there are {', '.join(there)})"
                raise RunnerError(missing, f"It may also be called {', '.join(names[1:])}.", file=path)
            for batch in file.iter_batches(ROWS, columns=[column]):
                yield batch.column(0).to_numpy(zero_copy_only=False)
    except (OSError, UnicodeError, pa.ArrowException) as error:
        raise RunnerError(f"cannot be read: {str(error).rstrip('.')}", CHECK, file=path) from None


def _id(value: object, path: str) -> bytes:
    """Return an id of a column as bytes: text, bytes or a whole number."""
    if isinstance(value, bytes):
        return value
    if type(value) not in (str, int):
        wrong_type = f"the id {value!r} is neither text nor a whole number"
        raise RunnerError(wrong_type, "Write ids as text.", file=path)
    return encode(str(value))
