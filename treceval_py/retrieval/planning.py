"""Forecast a request without doing it: steps, sizes, memory, existing results, and times measured on a sample."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import cycle, islice
from typing import Any, NamedTuple

import numpy as np

from treceval_py.corpora.reporting import SILENT, Reporter
from treceval_py.corpora.texts import Texts
from treceval_py.retrieval import exact, indexing
from treceval_py.retrieval.devices import default_batch_size
from treceval_py.retrieval.engines import Reranker, encoder_maker, reranker_maker
from treceval_py.retrieval.external import Imported
from treceval_py.retrieval.lexical import Bm25, rank_bm25, rank_jaccard
from treceval_py.retrieval.models import Side
from treceval_py.retrieval.pipeline import GROUP, Dense, Request, Surveys, check_request, look, store_of
from treceval_py.retrieval.pool import Maker, Pool, Task, open_pool
from treceval_py.retrieval.shards import Store
from treceval_py.retrieval.vectors import BLOCK_BYTES, ArrayVectors, block_rows

LIBRARIES = 600_000_000
"""Bytes that torch, transformers and Faiss take before they do anything, as measured with torch 2.13 for CPUs."""

TOKENS_OF_A_CHARACTER = 20
"""Bytes for each character of a shard while its tokens are kept: 4.2 KB for a text of 60 tokens, as measured."""

COPIES = 5
"""How often the vectors of a shard are in memory: 3.5 times while they are made, as measured, and while written."""

BM25_PASSAGE = 400
"""Bytes of a passage of 60 words while the index of BM25 is built, as measured with 7,000 queries."""

WEIGHTS = 120
"""Typical number of words with a weight in a passage: SPLADE's passages of MS MARCO have 100 to 200."""

ID = 24
"""Approximate bytes of a passage's id and its position."""

LINE = 14
"""Bytes of a line of a run beside its ids and tag: Q0, rank, score, spaces."""

SAMPLE = 4096
"""Fewest texts, evenly spread over a collection, whose lengths are sampled."""

QUERIES = 64
"""Most queries of a search that is timed."""

CHARACTERS = 4
"""Approximate characters per token."""

ENOUGH = 1.0
"""Shortest time of a sample, in seconds; a fast model gets more texts."""


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
    times : dict of str to float
        Seconds of each stage that was measured.
    """

    rows: tuple[tuple[str, str], ...]
    disk: int
    memory: int
    notes: tuple[str, ...]
    times: Mapping[str, float]

    def text(self) -> str:
        """Return the rows as lines for people."""
        width = max(len(name) for name, _ in self.rows)
        return "".join(f"{name:<{width}}  {description}\n" for name, description in self.rows)


def forecast(request: Request, reporter: Reporter = SILENT) -> Forecast:
    """Forecast a request; the texts are read, a sample of them is encoded or ranked, and nothing is written.

    Parameters
    ----------
    request : Request
        The request.
    reporter : Reporter
        Receives progress and notes.

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
    retriever, reranker, since = request.retriever, request.reranker, time.perf_counter()
    looked = look(request, reporter)
    times = {"read texts": 2 * (time.perf_counter() - since)}  # to look at them, and for the work
    passages, queries = looked["passages"].count, looked["queries"].count
    k = min(request.k, passages)
    disk = run = queries * k * (LINE + len(f"{passages}{queries}{request.tag}"))
    rows, left = [("collection", request.collection.name)], dict[Side, int]()
    for side, texts in looked.items():
        characters = f"{texts.characters:,} characters, the longest {texts.longest:,}"
        rows.append((side, f"{texts.count:,} of {texts.name}, {characters}"))
    rows.append(("judgments", request.collection.qrels_name or "none"))
    if isinstance(retriever, Dense):
        rows += _model_rows(retriever)
        for side, texts in looked.items():
            store = store_of(request, retriever, side, texts)
            if retriever.model.files:  # else it is not here, and existing embeddings cannot be compared
                store.find()
            rows.append((side, _existing(store)))
            left[side] = texts.count - store.done()
            disk += _bytes(store) - sum(shard.size for shard in store.present())
    if isinstance(retriever, Imported):
        retriever.look(reporter)
        rows.append(("vectors", f"{retriever.dimensions} dimensions, made elsewhere"))
    hits = 0
    if isinstance(retriever, Dense | Imported):
        search, index = _search_row(retriever, passages)
        rows.append(("search", search))
        disk, hits, memory = disk + index, 12 * queries * k, _memory(request, retriever, looked, index)
    else:
        words = isinstance(retriever, Bm25)
        rows.append(("retriever", "bm25" if words else "jaccard"))
        memory = passages * (BM25_PASSAGE if words else ID)
    if reranker is not None:
        rows.append(("rerank", f"at most {queries * min(k, reranker.depth):,} pairs with {reranker.model.name}"))
        memory = max(memory, LIBRARIES + max(len(reranker.devices), 1) * reranker.model.bytes)
    rows.append(("run", f"{request.output}: at most {_size(run)}"))
    rows.append(("to write", _size(disk) + (f", and {_size(hits)} meanwhile" if hits else "")))
    rows.append(("memory", f"about {_size(memory)} {'at most' if hits or reranker else 'beside the program'}"))
    notes = _about_room(request.work if hits else request.output, disk + hits)
    reporter.begin("measure", None, "stages")
    without = _measure(request, looked, left, times)
    reporter.advance(len(times))
    reporter.end()
    ordered = sorted(times, key=lambda name: "rerank" in name)
    stages = ", ".join(f"{name} {_span(times[name])}" for name in ordered)
    rows.append(("time", f"about {_span(sum(times.values()))}: {stages}"))
    if without:
        notes += (f"The time is without {', '.join(without)}, which cannot be measured here.",)
    return Forecast(tuple(rows), disk, memory, notes, times)


# Sizes


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
    count = _batch_size(dense) or "as many as suit each node"
    yield "encode", f"on {where}, {count} texts at once, {settings.max_length} tokens at most"


def _batch_size(stage: Dense | Reranker) -> int | None:
    """Return the number of texts processed at once; None if the nodes of a cluster decide."""
    return stage.batch_size or (default_batch_size(stage.devices[0]) if stage.devices else None)


def _existing(store: Store) -> str:
    """Describe the shards of some texts, and those of others beside them."""
    total, done = len(store.names), len(store.present())
    size = f"{total:,} shard{'s' if total != 1 else ''} of at most {store.survey.shard_size:,} in {store.folder}"
    if not store.shards:
        return f"{size}, none there yet: {_size(_bytes(store))}"
    left = f"{done:,} there: {store.survey.count - store.done():,} texts are left to encode"
    spare = store.spare()
    others = f". Shards of other texts stay: {len(spare):,}, {_size(sum(shard.size for shard in spare))}"
    return f"{size}, {'all there' if done == total else left}{others if spare else ''}"


def _bytes(store: Store) -> int:
    """Return how large the embeddings of all texts are; float16 is stored only where the model computes so."""
    storage = store.storage or ("sparse" if store.made.get("kind") == "sparse" else "float32")
    vector = WEIGHTS * 8 if storage == "sparse" else store.dimensions * np.dtype(storage).itemsize
    return store.survey.count * (vector + len(str(store.survey.count)) + 1)


def _search_row(dense: Dense | Imported, passages: int) -> tuple[str, int]:
    """Return what searches, and the bytes of an index."""
    if dense.index is not None:
        needed = indexing.check(dense.index, dense.dimensions, passages)
        size = "of unknown size" if needed is None else f"{_size(needed)} in memory and on disk"
        return f"{dense.index.factory}, {dense.similarity}: {size}", needed or 0
    if _is_sparse(dense):
        return "exact, by sparse products", 0
    return f"exact, {dense.similarity}, over blocks of {_size(BLOCK_BYTES)}", 0


def _is_sparse(retriever: Dense | Imported) -> bool:
    return isinstance(retriever, Dense) and retriever.sparse


def _memory(request: Request, retriever: Dense | Imported, looked: Surveys, index: int) -> int:
    """Return about how much memory is in use at once, in encoding or in the search."""
    passages, sparse = looked["passages"], _is_sparse(retriever)
    vector = WEIGHTS * 16 if sparse else retriever.dimensions * 4
    block = min(BLOCK_BYTES, passages.count * vector) * (2 if retriever.similarity != "inner-product" else 1)
    hits = 4 * 12 * min(GROUP, looked["queries"].count) * min(request.k, passages.count)
    most: float = LIBRARIES + index + block + hits
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


# Times


class _Work(NamedTuple):
    """Work of a model: a sample, what workers get of it, how many tokens of an item count, how many items are left."""

    name: str
    sample: Sequence[Any]
    content: Callable[[list[Any]], Any]
    tokens: int
    left: int


def _measure(request: Request, looked: Surveys, left: Mapping[Side, int], times: dict[str, float]) -> list[str]:
    """Add the times of what can be measured, and return the stages that cannot."""
    retriever, reranker, without = request.retriever, request.reranker, []
    counts: dict[Side, int] = {side: texts.count for side, texts in looked.items()}
    k, collection = min(request.k, counts["passages"]), request.collection
    samples: dict[Side, list[str]] = {
        "queries": _sample(collection.queries, counts["queries"]),
        "passages": _sample(collection.corpus, counts["passages"]),
    }
    queries, passages = samples["queries"], samples["passages"]
    stages: list[tuple[str, Dense | Reranker, Maker, list[_Work]]] = []
    if isinstance(retriever, Dense) and any(left.values()):
        settings, works = retriever.settings, []
        for side, texts in samples.items():
            content = partial(_content, side)
            works.append(_Work(f"encode {side}", texts, content, settings.max_length, left[side]))
        maker = encoder_maker(retriever.model, settings, retriever.batch_size, retriever.engine)
        stages.append(("encoding", retriever, maker, [work for work in works if work.left]))
    if reranker is not None:
        pairs = list(zip(cycle(queries), passages, strict=False))  # whichever
        works = [_Work("rerank", pairs, list, reranker.length, counts["queries"] * min(k, reranker.depth))]
        stages.append(("reranking", reranker, reranker_maker(reranker), works))
    for name, stage, maker, works in stages:
        if stage.ray is not None or not stage.model.files:
            without.append(f"{name} {'on a cluster' if stage.ray is not None else 'by a model that is not here yet'}")
        else:
            times |= _model_times(stage, maker, works)
    if not isinstance(retriever, Dense | Imported):
        rank = partial(rank_bm25, settings=retriever) if isinstance(retriever, Bm25) else rank_jaccard
        times["rank"] = _ranking(rank, passages, queries, counts, k)
    elif retriever.index is not None:
        without.append("search with an index")
    elif retriever.ray is not None or _is_sparse(retriever):
        without.append(f"search {'on a cluster' if retriever.ray is not None else 'by sparse vectors'}")
    else:
        times["search"] = _searching(retriever, counts, k)
    return without


def _sample(texts: Texts, count: int) -> list[str]:
    """Return some of ``count`` texts, evenly spread."""
    return [text for _, text in islice(texts, 0, None, max(count // SAMPLE, 1))]


def _content(side: Side, texts: list[str]) -> tuple[list[str], list[str], Side]:
    """Return what an encoder takes: texts, ids for messages, and their side."""
    return texts, texts, side


def _model_times(stage: Dense | Reranker, maker: Maker, works: Sequence[_Work]) -> dict[str, float]:
    """Load a model on all devices, and time its work."""
    since = time.perf_counter()
    with closing(open_pool(maker, stage.devices)) as pool:
        times = {f"load the {'reranker' if isinstance(stage, Reranker) else 'model'}": time.perf_counter() - since}
        size, devices = _batch_size(stage) or 1, len(stage.devices)
        return times | {work.name: _seconds(pool, work, devices, size) for work in works}


def _seconds(pool: Pool, work: _Work, devices: int, size: int) -> float:
    """Time some batches on each of all devices at once, and scale the time by the lengths of the texts."""
    lengths = np.clip([len("".join(item)) for item in work.sample], 1, work.tokens * CHARACTERS)
    order, batches = np.argsort(lengths), 2
    while True:
        # As in a shard, texts of like length share a batch: those of the sample are taken from all lengths.
        starts = [max(0, (2 * batch + 1) * len(order) // (2 * batches) - size // 2) for batch in range(batches)]
        rows = np.concatenate([order[start : start + size] for start in starts])
        for _ in range(2 if batches == 2 else 1):  # the first time is slower than those that follow
            since = time.perf_counter()
            content = work.content([work.sample[row] for row in rows])
            for _ in pool.run([Task(number, content, 0) for number in range(devices)], lambda _: None):
                pass
            seconds = time.perf_counter() - since
        if seconds > ENOUGH or len(rows) >= len(order):
            return float(seconds / lengths[rows].sum() * lengths.mean() * work.left / devices)
        batches *= 4


def _searching(dense: Dense | Imported, counts: Mapping[Side, int], k: int) -> float:
    """Return the seconds of an exact search, from one over a block of random vectors."""
    rows, asked = min(counts["passages"], block_rows(dense.dimensions)), min(counts["queries"], QUERIES)
    vectors = np.random.default_rng(0).standard_normal((rows, dense.dimensions), dtype=np.float32)
    block = ArrayVectors(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    exact.search(block, vectors[:asked], 1, dense.similarity)  # loads Faiss
    since = time.perf_counter()
    exact.search(block, vectors[:asked], min(k, rows), dense.similarity)
    return (time.perf_counter() - since) * (counts["passages"] / rows) * (counts["queries"] / asked)


def _ranking(
    rank: Callable[..., Any], passages: list[str], queries: list[str], counts: Mapping[Side, int], k: int
) -> float:
    """Return the seconds of ranking by words, from some passages and queries."""
    corpus, asked = ([(str(row), text) for row, text in enumerate(texts)] for texts in (passages, queries[:QUERIES]))
    times = []
    for some in (asked[:1], asked[:1], asked):  # the first one imports packages
        since = time.perf_counter()
        for _ in rank(corpus, some, k):
            pass
        times.append(time.perf_counter() - since)
    one = max(times[2] - times[1], 0.0) / len(asked)
    return (times[1] + one * counts["queries"]) * counts["passages"] / len(corpus)


def _span(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _size(count: float) -> str:
    for unit in ("bytes", "KB", "MB"):
        if count < 1000:
            return f"{count:,.0f} {unit}" if unit == "bytes" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} GB"
