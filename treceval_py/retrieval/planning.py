"""Forecast a request: its steps, sizes and times, and existing results, without doing it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

from treceval_py.corpora.reporting import SILENT, Reporter
from treceval_py.retrieval import indexing
from treceval_py.retrieval.devices import default_batch_size
from treceval_py.retrieval.engines import Reranker
from treceval_py.retrieval.external import Imported
from treceval_py.retrieval.lexical import Bm25, rank_bm25, rank_jaccard
from treceval_py.retrieval.models import Side
from treceval_py.retrieval.pipeline import GROUP, Dense, Jaccard, Request, Surveys, check_request, look, store_of
from treceval_py.retrieval.probing import Measured, probe_dense, probe_rerank, probe_search, probe_words, sample
from treceval_py.retrieval.products import BATCH, BLOCK
from treceval_py.retrieval.shards import Store
from treceval_py.retrieval.vectors import BLOCK_BYTES

LIBRARIES = 600_000_000
"""Bytes that torch, transformers and Faiss take before they do anything, as measured with torch 2.13 for CPUs."""

TOKENS_OF_A_CHARACTER = 20
"""Bytes for each character of a shard while its tokens are kept: 4.2 KB for a text of 60 tokens, as measured."""

COPIES = 3.5
"""How often the vectors of a shard are in memory while they are made, as measured."""

BM25_PASSAGE = 400
"""Bytes of a passage of 60 words while the index of BM25 is built, as measured with 7,000 queries."""

WEIGHTS = 120
"""Typical number of words with a weight in a passage: SPLADE's passages of MS MARCO have 100 to 200."""

BYTES_OF_A_NUMBER = {"float32": 4, "float16": 2, "sparse": 8}
"""Bytes of a number of a vector by its storage; a sparse one has its place with it."""

ID = 24
"""Approximate bytes of a passage's id and its position."""

LINE = 14
"""Bytes of a line of a run beside its ids and tag: Q0, rank, score, spaces."""


class Forecast(NamedTuple):
    """The forecast of a request.

    Attributes
    ----------
    rows : tuple of (str, str)
        Topics and their descriptions.
    disk : int
        Bytes that would be written and kept.
    memory : int
        Approximate peak memory in bytes.
    notes : tuple of str
        What may go wrong.
    times : dict of str to Measured
        Time of each stage that was measured.
    """

    rows: tuple[tuple[str, str], ...]
    disk: int
    memory: int
    notes: tuple[str, ...]
    times: Mapping[str, Measured]

    def text(self) -> str:
        """Return the rows as lines for people."""
        width = max(len(name) for name, _ in self.rows)
        return "".join(f"{name:<{width}}  {description}\n" for name, description in self.rows)


def forecast(request: Request, reporter: Reporter = SILENT, *, probe: bool = True) -> Forecast:
    """Forecast a request; the texts are read and nothing is written.

    Parameters
    ----------
    request : Request
        The request.
    reporter : Reporter
        Receives progress and notes.
    probe : bool
        Whether to measure how long it would take: two batches of passages, 64 passages at least, are encoded on each
        device, queries alike, and a block of random vectors is searched.

    Returns
    -------
    Forecast
        The forecast.

    Raises
    ------
    RunnerError
        The work folder has other contents, so the request would fail.
    InputError
        The collection cannot be read.
    """
    check_request(request)
    collection, retriever = request.collection, request.retriever
    since = time.perf_counter()
    looked = look(request, reporter)
    # They are read once to look at them, and once for the work.
    times = {"read texts": Measured(2 * (time.perf_counter() - since))}
    passages, queries, k = looked["passages"].count, looked["queries"].count, min(request.k, looked["passages"].count)
    disk = run = queries * k * (LINE + len(f"{passages}{queries}{request.tag}"))
    left: dict[Side, int] = {}
    rows = [("collection", collection.name)]
    for side, survey in looked.items():
        texts = f"{survey.count:,} of {survey.name}, {survey.characters:,} characters, the longest {survey.longest:,}"
        rows.append((side, texts))
    rows.append(("judgments", collection.qrels_name or "none"))
    if isinstance(retriever, Dense):
        stores = {side: store_of(request, retriever, side, looked[side]) for side in looked}
        # Embeddings of a model that is not here cannot be compared and do not count.
        for store in stores.values() if retriever.model.files else ():
            store.find()
        rows += [*_model_rows(retriever), *((side, _there(store)) for side, store in stores.items())]
        left = {side: store.left() for side, store in stores.items()}
        disk += sum(_bytes(store) - sum(shard.size for shard in store.present()) for store in stores.values())
    if by_vectors := isinstance(retriever, Dense | Imported):
        search, index = _search_row(retriever, passages)
        if isinstance(retriever, Imported):
            retriever.look(reporter)
            rows.append(("vectors", f"{retriever.dimensions} dimensions, made elsewhere"))
        rows.append(("search", search))
        disk += index
        memory = _memory(request, retriever, looked, index)
    else:
        words = isinstance(retriever, Bm25)
        rows.append(("retriever", "bm25" if words else "jaccard"))
        memory = passages * (BM25_PASSAGE if words else ID)
    if request.reranker is not None:
        pairs = queries * min(k, request.reranker.depth)
        rows.append(("rerank", f"at most {pairs:,} pairs with {request.reranker.model.name}"))
        memory = max(memory, LIBRARIES + max(len(request.reranker.devices), 1) * request.reranker.model.bytes)
    hit_bytes = 12 * queries * k if by_vectors else 0
    rows += [
        ("run", f"{request.output}: at most {_size(run)}"),
        ("to write", _size(disk) + (f", and {_size(hit_bytes)} meanwhile" if by_vectors else "")),
        (
            "memory",
            f"about {_size(memory)} "
            + ("at most" if by_vectors or request.reranker is not None else "beside the program"),
        ),
    ]
    notes = _about_room(request.work if by_vectors else request.output, disk + hit_bytes)
    if probe:
        reporter.begin("measure", None, "stages")
        without = _measure(request, looked, left, times)
        reporter.advance(len(times))
        reporter.end()
        total = sum(stage.seconds for stage in times.values())
        wrong = sum(stage.seconds * stage.uncertainty for stage in times.values()) / total
        stages = ", ".join(f"{name} {_span(stage.seconds)}" for name, stage in times.items())
        rows.append(("time", f"about {_span(total)}, give or take {wrong:.0%}: {stages}"))
        if without:
            notes += (f"The time is without {', '.join(without)}, which cannot be measured here.",)
    return Forecast(tuple(rows), disk, memory, notes, times if probe else {})


def _measure(request: Request, looked: Surveys, left: dict[Side, int], times: dict[str, Measured]) -> list[str]:
    """Add the times of what can be measured, and return the stages that cannot."""
    retriever, reranker, without = request.retriever, request.reranker, []
    passages, queries, k = looked["passages"].count, looked["queries"].count, min(request.k, looked["passages"].count)
    samples: dict[Side, list[str]] = {
        "queries": sample(request.collection.queries, queries),
        "passages": sample(request.collection.corpus, passages),
    }
    if isinstance(retriever, Bm25 | Jaccard):
        rank = partial(rank_bm25, settings=retriever) if isinstance(retriever, Bm25) else rank_jaccard
        times["rank"] = probe_words(rank, samples, passages, queries, k)
    else:
        if isinstance(retriever, Dense) and any(left.values()):
            if where := _elsewhere(retriever):
                without.append(f"encoding {where}")
            else:
                times |= probe_dense(retriever, samples, left)
        if retriever.index is not None:
            without.append("search with an index")
        elif retriever.ray is not None or (isinstance(retriever, Dense) and retriever.sparse):
            without.append("search on a cluster" if retriever.ray is not None else "search by sparse vectors")
        else:
            times["search"] = probe_search(retriever, passages, queries, k)
    if reranker is not None and (where := _elsewhere(reranker)):
        without.append(f"reranking {where}")
    elif reranker is not None:
        times |= probe_rerank(reranker, samples, queries * min(k, reranker.depth))
    return without


def _elsewhere(stage: Dense | Reranker) -> str:
    """Return where a stage runs if its time cannot be measured here; empty if it can."""
    return "on a cluster" if stage.ray is not None else "" if stage.model.files else "by a model that is not here yet"


def _span(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _model_rows(dense: Dense) -> Iterator[tuple[str, str]]:
    """Describe the settings that decide the vectors, their sources, and where vectors are made."""
    model, settings = dense.model, dense.settings
    yield "model", model.name + (f" at {model.revision[:12]}" if model.revision else "")
    if not model.files:
        yield "", f"to be downloaded from the hub: {_size(model.bytes)}"
    pooling = f"{settings.pooling} pooling ({settings.sources['pooling']}), " if settings.pooling else ""
    size = f"weights of {dense.dimensions:,} words" if dense.sparse else f"{dense.dimensions} dimensions"
    yield "", f"{size}, {pooling}{settings.precision}"
    for text in ("query", "passage"):
        if instruction := getattr(settings, f"{text}_instruction"):
            yield "", f"before a {text}: {instruction!r} ({settings.sources[f'{text}_instruction']})"
    if not settings.query_instruction + settings.passage_instruction:
        yield "", "no instruction"
    where = f"the Ray cluster {dense.ray}" if dense.ray is not None else ", ".join(dense.devices)
    count = _batch_size(dense)
    batch = f"{count} texts at once" if count else "as many texts at once as suits each node"
    yield "encode", f"on {where}, {batch}, {settings.max_length} tokens at most"


def _batch_size(dense: Dense) -> int | None:
    """Return the number of texts encoded at once; None if the nodes of a cluster decide."""
    return dense.batch_size or (default_batch_size(dense.devices[0]) if dense.devices else None)


def _there(store: Store) -> str:
    total, done = len(store.names), len(store.present())
    size = f"{total:,} shard{'s' if total != 1 else ''} of at most {store.survey.shard_size:,} in {store.folder}"
    if not store.shards:
        return f"{size}, none there yet: {_size(_bytes(store))}"
    told = "all there" if done == total else f"{done:,} there: {store.left():,} texts are left to encode"
    if again := store.again():
        told += f"; the vectors of {again:,} are taken" if store.reuse else (
            f", {again:,} of them only because texts beside them changed (--set reuse=passages takes their vectors)"
        )  # fmt: skip
    if spare := store.spare().values():
        told += f". Shards of other texts stay: {len(spare):,}, {_size(sum(shard.size for shard in spare))}"
    return f"{size}, {told}"


def _bytes(store: Store) -> int:
    """Return how large the embeddings of all texts are."""
    numbers = WEIGHTS if store.storage == "sparse" else store.dimensions
    return store.survey.count * (BYTES_OF_A_NUMBER[store.storage] * numbers + len(str(store.survey.count)) + 1)


def _search_row(dense: Dense | Imported, passages: int) -> tuple[str, int]:
    """Return what searches, and the bytes of an index."""
    if dense.index is not None:
        needed = indexing.check(dense.index, dense.dimensions, passages)
        size = "of unknown size" if needed is None else f"{_size(needed)} in memory and on disk"
        return f"{dense.index.factory}, {dense.similarity}: {size}", needed or 0
    if isinstance(dense, Dense) and dense.sparse:
        return f"exact, by sparse products, over blocks of {BLOCK:,} passages", 0
    return f"exact, {dense.similarity}, over blocks of {_size(BLOCK_BYTES)}", 0


def _memory(request: Request, retriever: Dense | Imported, looked: Surveys, index: int) -> int:
    """Return about how much memory is in use at once, in encoding or in the search."""
    passages, sparse = looked["passages"], isinstance(retriever, Dense) and retriever.sparse
    vector = WEIGHTS * 8 if sparse else retriever.dimensions * 4
    block = min(BLOCK_BYTES, passages.count * vector) * (2 if retriever.similarity != "inner-product" else 1)
    if sparse:
        block = min(BLOCK, passages.count) * (WEIGHTS * 16 + BATCH * 48)
    hit_bytes = 4 * 12 * min(GROUP, looked["queries"].count) * min(request.k, passages.count)
    most: float = LIBRARIES + index + block + hit_bytes
    if isinstance(retriever, Dense):
        model, texts = retriever.model, min(passages.shard_size, passages.count)
        tokens = (_batch_size(retriever) or 32) * retriever.settings.max_length
        # Of a layer, the largest tensors are those between its two halves, four times as wide as the model.
        batch = 3 * tokens * model.hidden_size * 4 * 4
        if sparse and not model.lexical_weights:
            batch += 2 * tokens * retriever.dimensions * 4  # a number for each word at each token, twice
        characters = texts * passages.characters / passages.count
        encoding = LIBRARIES + model.bytes + batch + characters * TOKENS_OF_A_CHARACTER + COPIES * texts * vector
        most = max(most, max(len(retriever.devices), 1) * encoding)
    return round(most + ID * passages.count)


def _about_room(path: str, needed: int) -> tuple[str, ...]:
    folder = os.path.abspath(path)
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    free = shutil.disk_usage(folder).free
    return (f"{folder} has {_size(free)} free, which is not enough.",) if free < needed else ()


def _size(count: float) -> str:
    for unit in ("bytes", "KB", "MB"):
        if count < 1000:
            return f"{count:,.0f} {unit}" if unit == "bytes" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} GB"
