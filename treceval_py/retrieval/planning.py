"""Forecast a request without doing it: steps, sizes, existing results, and times of models measured on a sample."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

from rich.filesize import decimal

from treceval_py.corpora.reporting import SILENT, Reporter, duration
from treceval_py.retrieval import indexing
from treceval_py.retrieval.devices import default_batch_size
from treceval_py.retrieval.engines import Reranker, check_engine, encoder_maker, reranker_maker
from treceval_py.retrieval.external import Imported
from treceval_py.retrieval.lexical import Bm25
from treceval_py.retrieval.models import Side
from treceval_py.retrieval.pipeline import Dense, Request, Surveys, check_request, look, store_of
from treceval_py.retrieval.pool import Maker, Pool, Task, open_pool

WEIGHTS = 120
"""Typical number of words with a weight in a passage: SPLADE's passages of MS MARCO have 100 to 200."""

LINE = 14
"""Bytes of a line of a run beside its ids and tag: Q0, rank, score, spaces."""

BATCHES = 4
"""Batches of a model that are timed, of texts that are evenly spread over the collection."""


class Forecast(NamedTuple):
    """The forecast of a request.

    Attributes
    ----------
    text : str
        A line for each step, with the time of each stage that was measured, for people.
    notes : tuple of str
        What may go wrong, and what is not measured.
    """

    text: str
    notes: tuple[str, ...]


def forecast(request: Request, reporter: Reporter = SILENT) -> Forecast:
    """Forecast a request; the texts are read, a sample of them is encoded or searched, and nothing is written.

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
    since = time.perf_counter()
    looked = look(request, reporter)
    times = {"read texts": 2 * (time.perf_counter() - since)}  # to look at them, and for the work
    left: dict[Side, int] = {}
    steps = list(_steps(request, looked, left, reporter))
    needed = sum(size for *_, size in steps)
    reporter.begin("measure", None, "stages")
    without = _measure(request, looked, left, times)
    reporter.advance(len(times))
    reporter.end()
    stages = ", ".join(f"{name} {duration(seconds)}" for name, seconds in times.items())
    steps += ("to write", decimal(needed), 0), ("time", f"about {duration(sum(times.values()))}: {stages}", 0)
    text = "".join(f"{topic:<10}  {description}\n" for topic, description, _ in steps)
    notes = [f"The time is without {', '.join(without)}."]
    folder = next(folder for folder in Path(os.path.abspath(request.work)).parents if folder.is_dir())
    free = shutil.disk_usage(folder).free
    if free < needed:
        notes.append(f"{folder} has {decimal(free)} free, which is not enough.")
    return Forecast(text, tuple(notes))


def _steps(
    request: Request, looked: Surveys, left: dict[Side, int], reporter: Reporter
) -> Iterator[tuple[str, str, int]]:
    """Yield topics, their descriptions and what they write in bytes; count the texts that are left to encode."""
    retriever, reranker = request.retriever, request.reranker
    passages, queries = looked["passages"].count, looked["queries"].count
    k = min(request.k, passages)
    yield "collection", request.collection.name, 0
    for side, texts in looked.items():
        characters = f"{texts.characters:,} characters, the longest {texts.longest:,}"
        yield side, f"{texts.count:,} of {texts.name}, {characters}", 0
    yield "judgments", request.collection.qrels_name or "none", 0
    if isinstance(retriever, Dense):
        yield from ((topic, description, 0) for topic, description in _model_rows(retriever))
        half = retriever.settings.precision == "fp16" and "cpu" not in retriever.devices
        vector = WEIGHTS * 8 if retriever.sparse else retriever.dimensions * (2 if half else 4)
        for side, texts in looked.items():
            store = store_of(request, retriever, side, texts)
            if retriever.model.files:  # else it is not here, and existing embeddings cannot be compared
                store.find()
            left[side] = texts.count - store.done()
            size = left[side] * (vector + len(f"{texts.count}\n"))
            shards = f"{len(store.names):,} shards of at most {texts.shard_size:,} in {store.folder}"
            yield side, f"{shards}, {len(store.present()):,} there; {decimal(size)} to encode", size
    if isinstance(retriever, Imported):
        retriever.look(reporter)
        yield "vectors", f"{retriever.dimensions} dimensions, made elsewhere", 0
    if not isinstance(retriever, Dense | Imported):
        words = f"{retriever.name}, k1 {retriever.k1}, b {retriever.b}" if isinstance(retriever, Bm25) else "jaccard"
        yield "search", words, 0
    elif retriever.index is not None:
        needed = indexing.check(retriever.index, retriever.dimensions, passages)
        index = "of unknown size" if needed is None else f"{decimal(needed)} in memory and on disk"
        yield "search", f"{retriever.index.factory}, {retriever.similarity}: {index}", needed or 0
    else:
        sparse = isinstance(retriever, Dense) and retriever.sparse
        yield "search", f"exact, {'by sparse products' if sparse else retriever.similarity}", 0
    run = queries * k * (LINE + len(f"{passages}{queries}{request.tag}"))
    if reranker is not None:  # the run of the first stage is kept in the work folder
        yield "rerank", f"at most {queries * min(k, reranker.depth):,} pairs with {reranker.model.name}", run
    yield "run", f"{request.output}: at most {decimal(run)}", run


def _model_rows(dense: Dense) -> Iterator[tuple[str, str]]:
    """Describe the settings that decide the vectors, their sources, and where vectors are made."""
    model, settings = dense.model, dense.settings
    yield "model", model.name + (f" at {model.revision[:12]}" if model.revision else "")
    if not model.files:
        yield "", f"to be downloaded from the hub: {decimal(model.bytes)}"
    size = f"weights of {dense.dimensions:,} words" if dense.sparse else f"{dense.dimensions} dimensions"
    pooling = f"{settings.pooling} pooling ({settings.sources['pooling']}), " if settings.pooling else ""
    yield "", f"{size}, {pooling}{settings.precision}, {settings.max_length} tokens at most"
    for text in ("query", "passage"):
        if instruction := getattr(settings, f"{text}_instruction"):
            yield "", f"before a {text}: {instruction!r} ({settings.sources[f'{text}_instruction']})"
    places = ", ".join(dense.devices) if dense.ray is None else f"the Ray cluster {dense.ray}"
    yield "encode", f"by {check_engine(model, dense.engine)} on {places}"


# Times


def _measure(request: Request, looked: Surveys, left: Mapping[Side, int], times: dict[str, float]) -> list[str]:
    """Add the times of loading models and of what they do; return the stages that are not measured."""
    dense, reranker, without = request.retriever, request.reranker, ["the search"]
    stages: list[tuple[str, Dense | Reranker, Maker, dict[str, tuple[Any, float]]]] = []
    if isinstance(dense, Dense) and any(left.values()):
        works: dict[str, tuple[Any, float]] = {}
        for side, count in left.items():
            texts = _sample(request, looked, side, dense)
            works[f"encode {side}"] = (texts, texts, side), count / len(texts)
        maker = encoder_maker(dense.model, dense.settings, dense.batch_size, dense.engine)
        stages.append(("load the model", dense, maker, works))
    if reranker is not None:
        queries, passages = (_sample(request, looked, side, reranker) for side in ("queries", "passages"))
        pairs = list(zip(cycle(queries), passages, strict=False))  # whichever
        count = looked["queries"].count * min(request.k, looked["passages"].count, reranker.depth)
        works = {"rerank": (pairs, count / len(pairs))}
        stages.append(("load the reranker", reranker, reranker_maker(reranker), works))
    for name, stage, maker, works in stages:
        if stage.ray is not None or not stage.model.files:  # a cluster, or a model that is to be downloaded
            without += works
            continue
        since = time.perf_counter()
        with closing(open_pool(maker, stage.devices)) as pool:
            times[name] = time.perf_counter() - since
            for work, (content, share) in works.items():
                times[work] = _seconds(pool, content, len(stage.devices)) * share
    return without


def _sample(request: Request, looked: Surveys, side: Side, stage: Dense | Reranker) -> list[str]:
    """Return texts of a side for some batches, evenly spread."""
    size = stage.batch_size or (default_batch_size(stage.devices[0]) if stage.devices else 1)
    return [text for _, text in islice(request.texts[side], 0, None, max(looked[side].count // (BATCHES * size), 1))]


def _seconds(pool: Pool, content: Any, devices: int) -> float:
    """Return the seconds of some work, done on each of all devices at once."""
    tasks = [Task(number, content, 0) for number in range(devices)]
    for _ in range(2):  # the first time is slower than those that follow
        since = time.perf_counter()
        list(pool.run(tasks, lambda _: None))
    return (time.perf_counter() - since) / devices
