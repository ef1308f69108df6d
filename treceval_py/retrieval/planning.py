"""What a request would do, how large it gets, and what is there already, without doing it."""

from __future__ import annotations

import os
import shutil
from typing import NamedTuple

from treceval_py.io.reporting import SILENT, Reporter
from treceval_py.io.texts import Survey
from treceval_py.retrieval.devices import default_batch_size
from treceval_py.retrieval.indexing import bytes_per_vector
from treceval_py.retrieval.lexical import Bm25
from treceval_py.retrieval.models import Side
from treceval_py.retrieval.pipeline import (
    GROUP,
    Dense,
    Request,
    Surveys,
    check_index,
    check_request,
    folder_of,
    look,
    made_of,
    storage_of,
)
from treceval_py.retrieval.shards import STORAGES, Store, find_store
from treceval_py.retrieval.vectors import BLOCK_BYTES

__all__ = ["Forecast", "forecast"]

LIBRARIES = 600_000_000
"""Bytes that torch, FlagEmbedding and Faiss take before they do anything, as measured with torch 2.13 for CPUs."""

TOKENS_OF_A_CHARACTER = 20
"""Bytes for each character of a shard while its tokens are kept: 4.2 KB for a text of 60 tokens, as measured."""

COPIES = 3.5
"""How often the vectors of a shard are in memory while they are made, as measured."""

BM25_PASSAGE = 1300
"""Bytes of a passage of 60 words while the index of BM25 is built, as measured."""

ID = 24
"""Bytes of a passage's id and its place, about."""

LINE = 14
"""Bytes of a line of a run beside its ids and tag: Q0, rank, score, spaces."""


class Forecast(NamedTuple):
    """What would be done.

    Attributes
    ----------
    rows : tuple of (str, str)
        Things and what there is to say of them.
    disk : int
        Bytes that would be written and kept.
    memory : int
        Bytes of memory at most, about.
    notes : tuple of str
        What may go wrong.
    """

    rows: tuple[tuple[str, str], ...]
    disk: int
    memory: int
    notes: tuple[str, ...]

    def text(self) -> str:
        """Return the rows as lines for people."""
        width = max(len(name) for name, _ in self.rows)
        return "".join(f"{name:<{width}}  {what}\n" for name, what in self.rows)


def forecast(request: Request, reporter: Reporter = SILENT) -> Forecast:
    """Say what a request would do; the texts are read once and nothing is written.

    Parameters
    ----------
    request : Request
        What is asked for.
    reporter : Reporter
        Is told how far the reading is.

    Returns
    -------
    Forecast
        What would be done.

    Raises
    ------
    RunnerError
        The work folder has something else in it, so that it could not be done.
    InputError
        The collection cannot be read.
    """
    check_request(request)
    looked = look(request, reporter)
    rows = [
        ("collection", request.collection.name),
        ("passages", _texts(looked.passages)),
        ("queries", _texts(looked.queries)),
        ("judgments", request.collection.qrels_name or "none"),
    ]
    run = _run_bytes(request, looked)
    if isinstance(request.retriever, Dense):
        return _of_dense(request, request.retriever, looked, rows, run)
    name = "bm25" if isinstance(request.retriever, Bm25) else "jaccard"
    memory = looked.passages.count * (BM25_PASSAGE if name == "bm25" else ID)
    rows += [
        ("retriever", name),
        ("run", f"{request.output}: at most {_size(run)}"),
        ("to write", _size(run)),
        ("memory", f"about {_size(memory)} beside the program"),
    ]
    return Forecast(tuple(rows), run, memory, _about_room(request.output, run))


def _of_dense(request: Request, dense: Dense, looked: Surveys, rows: list[tuple[str, str]], run: int) -> Forecast:
    settings, model = dense.settings, dense.model
    sides: tuple[tuple[Side, Survey], ...] = (("queries", looked.queries), ("passages", looked.passages))
    stores = {side: _store(request, dense, side, texts) for side, texts in sides}
    rows += [
        ("model", model.name + (f" at {model.revision[:12]}" if model.revision else "")),
        *(() if model.files else (("", f"to be downloaded from the hub: {_size(model.bytes)}"),)),
        ("", f"{dense.dimensions} dimensions, {settings.pooling} pooling, {settings.precision}"),
        ("", f"before a query: {settings.query_instruction!r}" if settings.query_instruction else "no instruction"),
        ("encode", _where(dense)),
        *((side, _there(store)) for side, store in stores.items()),
    ]
    vectors = {side: _vector_bytes(store) for side, store in stores.items()}
    rest = sum(size - _done_bytes(stores[side]) for side, size in vectors.items())
    index, memory = _index_row(dense, looked)
    rows.append(("search", index))
    found = looked.queries.count * min(request.k, looked.passages.count) * 12
    disk = rest + memory + run
    memory = max(
        max(len(dense.devices), 1) * _encoding_memory(dense, looked), memory + _searching_memory(request, dense, looked)
    )
    rows += [
        ("run", f"{request.output}: at most {_size(run)}"),
        ("to write", f"{_size(disk)}, and {_size(found)} meanwhile"),
        ("memory", f"about {_size(memory)} at most"),
    ]
    return Forecast(tuple(rows), disk, memory, _about_room(request.work, disk + found))


def _store(request: Request, dense: Dense, side: Side, texts: Survey) -> Store:
    """Look at the embeddings that are there; those of a model that is not here cannot be compared and do not count."""
    folder, made, storage = folder_of(request, side, texts), made_of(dense, side), storage_of(dense, side)
    return find_store(folder, made, texts, storage) if dense.model.files else Store(folder, made, texts, storage)


def _texts(looked: Survey) -> str:
    return f"{looked.count:,} of {looked.name}, {looked.characters:,} characters, the longest {looked.longest:,}"


def _where(dense: Dense) -> str:
    where = f"on the Ray cluster {dense.ray}" if dense.ray is not None else f"on {', '.join(dense.devices)}"
    size = _batch_size(dense)
    batch = f"{size} texts at once" if size else "as many texts at once as suits each node"
    return f"{where}, {batch}, {dense.settings.passage_max_length} tokens at most"


def _batch_size(dense: Dense) -> int | None:
    """Return how many texts are encoded at once; None where only the nodes of a cluster know."""
    if dense.batch_size is not None or not dense.devices:
        return dense.batch_size
    return default_batch_size(dense.devices[0])


def _there(store: Store) -> str:
    total, done = store.survey.chunk_count, len(store.shards)
    size = f"{total:,} shard{'s' if total != 1 else ''} of {store.survey.shard_size:,} in {store.folder}"
    if not done:
        return f"{size}, none there yet: {_size(_vector_bytes(store))}"
    if done == total:
        return f"{size}, all there"
    return f"{size}, {done:,} there: {store.survey.count - store.done():,} texts are left to encode"


def _vector_bytes(store: Store) -> int:
    count = store.survey.count
    ids = count * (len(str(count)) + 1)
    return int(count * store.dimensions * (4 if store.storage == STORAGES[0] else 2)) + ids


def _done_bytes(store: Store) -> int:
    return sum(shard.size for shard in store.shards.values())


def _index_row(dense: Dense, looked: Surveys) -> tuple[str, int]:
    """Return what searches, and the bytes of an index."""
    if dense.index is None:
        return f"exact, {dense.similarity}, over blocks of {_size(BLOCK_BYTES)}", 0
    check_index(dense, looked.passages.count)
    each = bytes_per_vector(dense.index.factory, dense.dimensions, dense.index.similarity)
    size = round(each * looked.passages.count)
    return f"{dense.index.factory}, {dense.index.similarity}: {_size(size)} in memory and on disk", size


def _encoding_memory(dense: Dense, looked: Surveys) -> int:
    """Return about what it takes to encode a shard on one device."""
    passages = looked.passages
    texts = min(passages.shard_size, passages.count)
    characters = passages.characters * texts / passages.count
    settings = dense.settings
    # Of a layer, the largest tensors are those between its two halves, four times as wide as the model.
    batch = (_batch_size(dense) or 32) * settings.passage_max_length * dense.model.hidden_size * 4 * 4
    vectors = COPIES * texts * dense.dimensions * 4
    return round(
        LIBRARIES + dense.model.bytes + 3 * batch + characters * TOKENS_OF_A_CHARACTER + vectors + 8 * passages.count
    )


def _searching_memory(request: Request, dense: Dense, looked: Surveys) -> int:
    queries, passages = min(GROUP, looked.queries.count), looked.passages
    block = min(BLOCK_BYTES, passages.count * dense.dimensions * 4)
    found = queries * min(request.k, passages.count) * 12
    return round(
        LIBRARIES + block * (2 if dense.similarity != "inner-product" else 1) + 4 * found + ID * passages.count
    )


def _run_bytes(request: Request, looked: Surveys) -> int:
    """Return about how long the run gets, uncompressed."""
    ids = len(str(looked.passages.count)) + len(str(looked.queries.count))
    lines = looked.queries.count * min(request.k, looked.passages.count)
    return lines * (LINE + ids + len(request.tag) + 6)


def _about_room(path: str, needed: int) -> tuple[str, ...]:
    folder = os.path.abspath(path)
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    free = shutil.disk_usage(folder).free
    return (f"{folder} has {_size(free)} free, which is not enough.",) if free < needed else ()


def _size(count: float) -> str:
    for unit in ("bytes", "KB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:,.0f} {unit}" if unit == "bytes" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError
