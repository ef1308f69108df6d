"""Time a sample of each stage of a request, on its texts and devices."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import cycle, islice
from typing import Any, NamedTuple

import numpy as np

from treceval_py._types import IntArray
from treceval_py.corpora.texts import Texts
from treceval_py.retrieval import exact
from treceval_py.retrieval.devices import default_batch_size
from treceval_py.retrieval.engines import Reranker, encoder_maker, reranker_maker
from treceval_py.retrieval.external import Imported
from treceval_py.retrieval.models import Side
from treceval_py.retrieval.pipeline import Dense
from treceval_py.retrieval.pool import Maker, Pool, Task, open_pool
from treceval_py.retrieval.vectors import ArrayVectors, block_rows

SAMPLE = 4096
"""Fewest texts, evenly spread over a collection, whose lengths are sampled."""

PROBE = 64
"""Fewest texts encoded on each device; two batches if these are larger."""

CHARACTERS = 4
"""Approximate characters per token."""

ENOUGH = 1.0
"""Shortest time of encoding the sample, in seconds; a fast model gets more texts."""

QUERIES = 256
"""Most queries to search for: enough for the speed of large groups."""

SURE = 0.1
"""Smallest uncertainty of a stage: other work on the machine, a processor that gets warm."""


class Measured(NamedTuple):
    """The expected seconds of a stage, and their relative uncertainty."""

    seconds: float
    uncertainty: float = SURE


def sample(texts: Texts, count: int) -> list[str]:
    """Return some of ``count`` texts, evenly spread."""
    return [text for _, text in islice(texts, 0, None, max(count // SAMPLE, 1))]


def probe_dense(dense: Dense, samples: Mapping[Side, list[str]], left: Mapping[Side, int]) -> dict[str, Measured]:
    """Encode a sample of the remaining texts on all devices.

    Parameters
    ----------
    dense : Dense
        How to encode. Its model is here.
    samples : dict of side to list of str
        Some texts.
    left : dict of side to int
        Number of texts of each side left to encode.

    Returns
    -------
    dict of str to Measured
        Times of loading the model and of each side that has texts left.
    """
    settings, maker = dense.settings, encoder_maker(dense.model, dense.settings, dense.batch_size, dense.engine)
    stages: dict[str, Stage] = {}
    for side, texts in samples.items():
        if left[side]:
            lengths = _lengths((settings.instruction(side) + text for text in texts), settings.max_length)
            stages[f"encode {side}"] = Stage(partial(_chunk, texts, side), lengths, left[side])
    return _stages("load the model", maker, dense, stages)


def probe_rerank(reranker: Reranker, samples: Mapping[Side, list[str]], pairs: int) -> dict[str, Measured]:
    """Score some pairs on all devices; each is a query and a passage of the samples, whichever."""
    drawn = list(zip(cycle(samples["queries"]), samples["passages"], strict=False))
    stage = Stage(partial(_taken, drawn), _lengths(map("".join, drawn), reranker.length), pairs)
    return _stages("load the reranker", reranker_maker(reranker, reranker.engine), reranker, {"rerank": stage})


class Stage(NamedTuple):
    """A probe: the workers' input for some rows of a sample, the lengths of all its rows, the number of rows left."""

    content: Callable[[IntArray], Any]
    lengths: IntArray
    left: int


def _stages(load: str, maker: Maker, where: Dense | Reranker, stages: Mapping[str, Stage]) -> dict[str, Measured]:
    """Load a model on all devices, and time the stages that need it."""
    since = time.perf_counter()
    with closing(open_pool(maker, where.devices)) as pool:
        measured = {load: Measured(time.perf_counter() - since)}
        size = where.batch_size or default_batch_size(where.devices[0])
        return measured | {name: _probed(pool, stage, where.devices, size) for name, stage in stages.items()}


def _probed(pool: Pool, stage: Stage, devices: Sequence[str], size: int) -> Measured:
    """Time batches of short and of long texts, each on all devices at once, and scale the time by the lengths."""
    lengths = stage.lengths
    order, count = np.argsort(lengths), max(PROBE, 2 * size)

    def seconds(rows: IntArray) -> float:
        since = time.perf_counter()
        for _ in pool.run([Task(number, stage.content(rows), 0) for number in range(len(devices))], lambda _: None):
            pass
        return time.perf_counter() - since

    while True:
        # As in a shard, texts of like length share a batch: those of the probe are taken from all lengths.
        batches = count // size
        starts = [max(0, (2 * batch + 1) * len(order) // (2 * batches) - size // 2) for batch in range(batches)]
        halves = [np.concatenate([order[start : start + size] for start in half]) for half in np.array_split(starts, 2)]
        seconds(halves[0])  # the first time is slower than those that follow
        times, sizes = [seconds(half) for half in halves], [float(lengths[half].sum()) for half in halves]
        if sum(times) > ENOUGH or count >= len(order):
            break
        count *= 4
    rates = [spent / length for spent, length in zip(times, sizes, strict=True)]
    total = sum(times) / sum(sizes) * float(lengths.mean()) * stage.left / len(devices)
    return Measured(total, max(SURE, (max(rates) - min(rates)) / sum(rates)))


def _chunk(texts: list[str], side: Side, rows: IntArray) -> tuple[list[str], list[str], Side]:
    """Return some texts as those who encode get them."""
    return _taken(texts, rows), list(map(str, rows)), side


def _taken(drawn: Sequence[Any], rows: IntArray) -> list[Any]:
    return [drawn[row] for row in rows]


def _lengths(texts: Iterable[str], tokens: int) -> IntArray:
    """Return how many characters of each text a model reads, about, that reads so many tokens."""
    return np.clip([len(text) for text in texts], 1, tokens * CHARACTERS)


def probe_search(dense: Dense | Imported, passages: int, queries: int, k: int) -> Measured:
    """Search a block of random vectors as exactly as the passages would be searched."""
    rows, asked = min(passages, block_rows(dense.dimensions)), min(queries, QUERIES)
    drawn = np.random.default_rng(0)
    vectors = drawn.standard_normal((rows, dense.dimensions), dtype=np.float32)
    among = ArrayVectors(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    exact.search(among, vectors[:asked], 1, dense.similarity)  # loads Faiss
    since = time.perf_counter()
    exact.search(among, vectors[:asked], min(k, rows), dense.similarity)
    return Measured((time.perf_counter() - since) * (passages / rows) * (queries / asked), 2 * SURE)


def probe_words(
    rank: Callable[..., Any], samples: Mapping[Side, list[str]], passages: int, queries: int, k: int
) -> Measured:
    """Rank some passages for some queries by words."""
    corpus, asked = ([(str(row), text) for row, text in enumerate(samples[side])] for side in ("passages", "queries"))
    asked = asked[:PROBE]

    def seconds(count: int) -> float:
        since = time.perf_counter()
        for _ in rank(corpus, asked[:count], k):
            pass
        return time.perf_counter() - since

    seconds(1)  # imports what it needs
    index = seconds(1)
    each = max(seconds(len(asked)) - index, 0.0) / len(asked)
    return Measured((index + each * queries) * passages / len(corpus), 2 * SURE)
