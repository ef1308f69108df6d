"""Vectors made elsewhere: arrays with a file of ids, or Parquet."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from treceval_py._types import AnyArray
from treceval_py.corpora.reporting import SILENT, Reporter
from treceval_py.corpora.texts import Kind, PlacedTexts
from treceval_py.data.ids import Ids, encode
from treceval_py.errors import RunnerError
from treceval_py.retrieval.indexing import IndexSettings
from treceval_py.retrieval.shards import MANIFEST
from treceval_py.retrieval.vectors import FileVectors, StreamedVectors, block_rows, chained

ID_COLUMNS = ("id", "_id", "docid", "doc_id", "qid", "query_id")
"""Possible names of the column of ids in a Parquet file; the first that exists counts."""

VECTOR_COLUMNS = ("vector", "emb", "embedding", "embeddings")
"""Possible names of the column of vectors."""

CHECK = "Check the file, or make it again."
"""What to do about a file that cannot be read correctly."""

ROWS = 8192
"""Rows of a Parquet file read at a time."""

ROUNDING = 0.01
"""By how much a vector of length 1 in half precision may be longer or shorter."""

SIDES = {"document": "passages", "query": "queries"}
"""What the kinds of texts are called in the record."""


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
    """

    def __init__(self, name: str, kind: Kind, ids: Ids, vectors: StreamedVectors) -> None:
        super().__init__(name, kind)
        self._ids, self._vectors = ids, vectors
        self._about: dict[str, Any] = {}

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
        return str(self.look()["sha256"])

    def look(self, reporter: Reporter = SILENT) -> dict[str, Any]:
        """Read all vectors, once, and describe them.

        Parameters
        ----------
        reporter : Reporter
            Receives progress.

        Returns
        -------
        dict
            Plain JSON: file, number and length of the vectors, the SHA-256, and their least and greatest norm.
        """
        if not self._about:
            side, (count, dimensions) = SIDES[self.kind], (self._vectors.count, self._vectors.dimensions)
            reporter.begin(f"check {side}", count, side)
            digest, parts = hashlib.sha256(b"".join(b"%s\n" % docid for docid in self._ids.raw())), []
            for _, block in self._vectors.blocks(block_rows(dimensions)):
                digest.update(block.data)
                parts.append(np.sqrt(np.einsum("ij,ij->i", block, block, dtype=np.float64)))
                reporter.advance(len(block))
            reporter.end()
            lengths, made = np.concatenate(parts), {"file": self.name, "vectors": [count, dimensions]}
            about = {"sha256": digest.hexdigest(), "lengths": [float(lengths.min()), float(lengths.max())]}
            self._about = {**made, **about}
        return self._about


class Imported(NamedTuple):
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
    index: IndexSettings | None = None  # type: ignore[assignment]  # over that of tuples
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
        about = {SIDES[given.kind]: given.look(reporter) for given in (self.queries, self.passages)}
        for side, (least, most) in ((side, made["lengths"]) for side, made in about.items()):
            if self.similarity == "inner-product" and (least < 1 - ROUNDING or most > 1 + ROUNDING):
                reporter.note(
                    f"The vectors of the {side} have lengths from {least:.4g} to {most:.4g}: inner products favour "
                    "long ones. If the model's similarity is another, give --similarity."
                )
        return about


def read_vectors(path: str, kind: Kind = "document") -> Embedded:
    """Open vectors on disk; they are read later.

    Parameters
    ----------
    path : str
        ``NAME.npy`` (an array of shape (D, E)) with ``NAME.ids`` (an id a line) beside it; a Parquet file with a column
        ``id`` and a column ``vector`` of lists; or a folder of such files, which are read in the order of their names.
    kind : "document" or "query"
        What the vectors are of.

    Returns
    -------
    Embedded
        The vectors and their ids.

    Raises
    ------
    RunnerError
        None of these exists, a file cannot be read, there is not one vector for each id, or vectors differ in length.
        Or it is a work folder, in which there
        may be vectors of other texts, too.
    """
    paths = [os.path.join(path, name) for name in sorted(os.listdir(path))] if os.path.isdir(path) else [path]
    if os.path.join(path, MANIFEST) in paths:
        unsure = "these embeddings of a work folder may be of other texts, too"
        raise RunnerError(unsure, "Search them with --work and the --model that made them.", file=path)
    files = [file for file in paths if file.endswith((".npy", ".parquet"))]
    if not files:
        raise RunnerError("there are no vectors", "Give .npy with .ids, or Parquet.", file=path)
    ids, vectors = zip(*map(_of_file, files), strict=True)
    dimensions, *others = dict.fromkeys(part.dimensions for part in vectors if part.count) or [1]  # some may be empty
    if others:
        mismatch = f"some vectors have {dimensions} dimensions, and others {others[0]}"
        raise RunnerError(mismatch, "Give vectors of one model.", file=path)
    if not dimensions:
        raise RunnerError("its vectors have no numbers", CHECK, file=path)
    return Embedded(path, kind, Ids.concatenate(ids), chained(vectors, dimensions))


def _of_file(path: str) -> tuple[Ids, StreamedVectors]:
    """Look at a file of vectors, and read its ids."""
    if path.endswith(".parquet"):
        return _of_parquet(path)
    try:
        with open(path.removesuffix(".npy") + ".ids", "rb") as stream:
            ids, vectors = Ids.from_bytes(stream.read().splitlines()), FileVectors(path, CHECK)
    except OSError as error:
        unreadable = f"the ids cannot be read: {error.strerror or error}"
        raise RunnerError(unreadable, "Put a file with an id a line there.", file=error.filename) from None
    if len(ids) != vectors.count:
        mismatch = f"there are {vectors.count:,} vectors and {len(ids):,} ids"
        raise RunnerError(mismatch, "Give one id for each vector, in their order.", file=path)
    return ids, vectors


def _of_parquet(path: str) -> tuple[Ids, StreamedVectors]:
    from pyarrow.compute import list_value_length  # type: ignore[import-untyped,import-not-found,unused-ignore]

    def rows(lists: Any) -> AnyArray:
        if set(list_value_length(lists).to_pylist()) != {dimensions}:
            raise ValueError("its vectors are not all of one length")
        table: AnyArray = lists.flatten().to_numpy(zero_copy_only=False).astype(float)
        return table.reshape(-1, dimensions)

    ids = [docid for docids in _column(path, ID_COLUMNS, _docids) for docid in docids]
    lengths = chain.from_iterable(_column(path, VECTOR_COLUMNS, lambda lists: list_value_length(lists).to_pylist()))
    dimensions = next(filter(None, lengths), 0)  # a missing one has no length, and is refused when it is read
    return Ids.from_bytes(ids), StreamedVectors(len(ids), dimensions, partial(_column, path, VECTOR_COLUMNS, rows))


def _docids(column: Any) -> list[bytes]:
    """Return the ids of a column: text, bytes or whole numbers."""
    values = column.to_pylist()
    if wrong := [value for value in values if type(value) not in (str, bytes, int)]:
        raise ValueError(f"the id {wrong[0]!r} is neither text nor a whole number")
    return [value if isinstance(value, bytes) else encode(str(value)) for value in values]


def _column(path: str, names: Sequence[str], convert: Callable[[Any], Any]) -> Iterator[Any]:
    """Yield a converted column of a Parquet file, some rows at a time: the first of these names that there is."""
    import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            there = file.schema_arrow.names
            columns = [name for name in names if name in there]
            if not columns:
                raise ValueError(f"there is no column {', '.join(names)} (there are {', '.join(there)})")
            for batch in file.iter_batches(ROWS, columns=columns[:1]):
                yield convert(batch.column(0))
    except (OSError, ValueError, pa.ArrowException) as error:
        raise RunnerError(f"cannot be read: {str(error).rstrip('.')}", CHECK, file=path) from None
