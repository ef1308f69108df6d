"""Faiss indexes: checked before hours are spent, built a block at a time, saved whole or not at all, searched.

Any factory string of Faiss can be used. Those made of the common parts (Flat, SQ, PQ, IVF, HNSW, after PCA or OPQ) are
checked before anything is encoded, and their size is known; what others need, Faiss says when it builds them.

For lists of a thousand documents exact search is the sound default: indexes that look at a part of the vectors miss
many of them unless their parameters make them search a large part.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from treceval_py._types import FloatArray32
from treceval_py.corpora.reporting import SILENT, Reporter
from treceval_py.errors import RunnerError
from treceval_py.io.digests import digest_of_file
from treceval_py.io.target import written_whole
from treceval_py.retrieval import exact
from treceval_py.retrieval.vectors import ArrayVectors, Vectors

ADVISED = 39
"""Training vectors for each centroid that Faiss advises."""

OPQ_CENTROIDS = 256
"""Centroids with which Faiss trains a rotation for product quantisation."""

SAMPLE_LEAST = 10_000
"""Training vectors for parts without centroids."""

LINKS = 32
"""Links of HNSW unless they are given."""

_FACTORY = re.compile(
    r"(?:PCAW?R?(?P<pca>\d+),|OPQ(?P<opq>\d+)(?:_(?P<to>\d+))?,)?"
    r"(?:IVF(?P<lists>\d+)(?P<scale>[kM])?(?:_HNSW(?P<coarse>\d*))?,|HNSW(?P<links>\d*)(?:[,_]|$))?"
    r"(?P<code>Flat|SQ(?P<bits>4|6|8|fp16|bf16)|PQ(?P<parts>\d+)(?:x(?P<each>\d+))?(?:fs)?)?"
)
"""The factories whose needs are known before they are built."""


class IndexSettings(NamedTuple):
    """An index to build, and how to search it.

    Attributes
    ----------
    factory : str
        What ``faiss.index_factory`` takes, such as ``"IVF4096,SQ8"``.
    similarity : str
        ``inner-product``, ``cosine`` or ``l2``.
    parameters : str
        How to search, such as ``"nprobe=16,quantizer_efSearch=64"``; empty for Faiss's defaults.
    training : int
        How many vectors train the index; 0 for as many as it needs.
    """

    factory: str
    similarity: str
    parameters: str = ""
    training: int = 0


class Plan(NamedTuple):
    """The needs of a factory string for given vectors.

    Attributes
    ----------
    trained : bool
        Whether training is needed.
    least : int
        How many vectors training needs at least: the number of centroids.
    advised : int
        How many vectors Faiss advises, 39 for each centroid.
    bytes : int or None
        About how large the index gets, in memory and on disk; None if its parts are not among the common ones.
    """

    trained: bool
    least: int
    advised: int
    bytes: int | None


def check(settings: IndexSettings, dimensions: int, count: int) -> Plan:
    """Check everything of an index that can be refused without building it.

    Parameters
    ----------
    settings : IndexSettings
        The index.
    dimensions : int
        Dimensions of a vector, E.
    count : int
        The number of vectors.

    Returns
    -------
    Plan
        What it needs.

    Raises
    ------
    RunnerError
        Faiss cannot make such an index for these dimensions and this similarity, has no such search parameters, or
        there are too few vectors to train it. Or Faiss is not installed.
    """
    index = _made(settings.factory, dimensions, settings.similarity)
    least, size = _needs(settings.factory, dimensions)
    if count < least:
        too_few = f"index {settings.factory!r} needs at least {least} vectors to train it, there are {count}"
        raise RunnerError(too_few, "Use fewer centroids, or search without an index.")
    if not index.is_trained and 0 < settings.training < least:
        too_few = f"index {settings.factory!r} needs at least {least} vectors to train it, not {settings.training}"
        raise RunnerError(too_few, "Train it with more, or use fewer centroids.")
    _set_parameters(index, settings.parameters)
    advised = ADVISED * least if least > 1 else SAMPLE_LEAST
    needed = None if size is None else round(count * size + 4 * dimensions * least)
    return Plan(not index.is_trained, least, advised, needed)


def build(settings: IndexSettings, vectors: Vectors, path: str, reporter: Reporter = SILENT) -> str:
    """Train an index, add all vectors, and write it whole or not at all.

    Parameters
    ----------
    settings : IndexSettings
        What to build.
    vectors : Vectors
        The D vectors; a block at a time is in memory beside the index.
    path : str
        The file. Its name is taken when all of it is on the disk.
    reporter : Reporter
        Progress reporter, for two stages: training (if it is needed) and adding.

    Returns
    -------
    str
        The SHA-256 of the file in hexadecimal.

    Raises
    ------
    RunnerError
        As of `check` and `exact.search`, or Faiss refuses the vectors.
    OutputError
        The file cannot be written.

    Notes
    -----
    Training vectors are spaced evenly, and the seeds of Faiss are fixed, so the same vectors give the same file. This
    was measured with Faiss 1.15.1 for flat, IVF, PQ, SQ and HNSW indexes with 1, 2, 4 and 8 threads. For the cosine,
    vectors are normalised here and not by the index.
    """
    plan = check(settings, vectors.dimensions, vectors.count)
    index = _made(settings.factory, vectors.dimensions, settings.similarity)
    with _refusals(settings.factory), exact.fast_batches():
        if plan.trained:
            rows = min(settings.training or plan.advised, vectors.count)
            reporter.begin("train the index", vectors.count, "passages")
            sample = _sample(vectors, settings.similarity, rows, reporter.advance)
            with _quiet() if rows < plan.advised else contextlib.nullcontext():
                index.train(sample)
            reporter.end()
        reporter.begin("build the index", vectors.count, "passages")
        for _, block, _ in exact.prepared_blocks(vectors, settings.similarity):
            index.add(block)
            reporter.advance(len(block))
        reporter.end()
    faiss = exact.load_faiss()
    with written_whole(path) as stream:
        faiss.write_index(index, faiss.PyCallbackIOWriter(stream.write))
    return digest_of_file(path)


def load(path: str) -> Any:
    """Read an index.

    Parameters
    ----------
    path : str
        The file that `build` wrote.

    Returns
    -------
    faiss.Index
        The index. It owns what is inside, so it must be kept as long as anything of it is used.

    Raises
    ------
    RunnerError
        The file is missing, is cut short or holds something else; or Faiss is not installed.
    """
    faiss = exact.load_faiss()
    try:
        return faiss.read_index(path)
    except (RuntimeError, MemoryError):
        damage = "this is not an index of Faiss, or it is cut short"
        raise RunnerError(damage, "Remove it to build it again.", file=path) from None


def search_index(index: Any, queries: FloatArray32, k: int, similarity: str, parameters: str = "") -> exact.Found:
    """Search an index.

    Parameters
    ----------
    index : faiss.Index
        What `load` returned.
    queries : (Q, E) float32 array
        The vectors of the queries.
    k : int
        How many vectors to find for each.
    similarity : str
        The similarity that the index was built with.
    parameters : str
        As of `IndexSettings`.

    Returns
    -------
    exact.Found
        Best first, equal scores by ascending position; -1 and ``-inf`` where the index found no more. A flat index
        finds to the bit what `exact.search` finds. With others the last digits of scores, and which of the vectors
        that are about as good as the last one is found, may depend on the other queries and on the number of threads.
        Distances that are estimated may be a little below zero.

    Raises
    ------
    RunnerError
        The index has another similarity or no such parameter, or as of `exact.search`.
    """
    faiss = exact.load_faiss()
    queries = exact.prepared_queries(queries, index.d, k, similarity)
    if index.metric_type != _metric(similarity):
        raise RunnerError(f"the index was not built for the similarity {similarity!r}", "Search it with its own.")
    _set_parameters(index, parameters)
    part = faiss.downcast_index(index)
    if type(part) in (faiss.IndexFlat, faiss.IndexFlatIP, faiss.IndexFlatL2) and part.ntotal:
        flat = faiss.rev_swig_ptr(part.get_xb(), part.ntotal * part.d).reshape(part.ntotal, part.d)
        return exact.search(ArrayVectors(flat), queries, k, "l2" if similarity == "l2" else "inner-product")
    with exact.fast_batches():
        scores, positions = (_on_gpus(faiss, index, k) or index).search(queries, k)
    scores = np.where(positions < 0, np.float32(-np.inf), np.float32(0.0) + (-scores if similarity == "l2" else scores))
    return exact.best_first(scores, positions, k)


def _metric(similarity: str) -> int:
    faiss = exact.load_faiss()
    return int(faiss.METRIC_L2 if similarity == "l2" else faiss.METRIC_INNER_PRODUCT)


def _made(factory: str, dimensions: int, similarity: str) -> Any:
    """Return an empty index."""
    exact.check_similarity(similarity)
    with _refusals(factory):
        index = exact.load_faiss().index_factory(dimensions, factory, _metric(similarity))
    if index.metric_type != _metric(similarity):  # HNSW over PQ, for instance, and Faiss does not say so
        unsupported = f"Faiss cannot make index {factory!r} for the similarity {similarity!r}"
        raise RunnerError(unsupported, "Choose another one.")
    return index


def _needs(factory: str, dimensions: int) -> tuple[int, float | None]:
    """Return the least number of training vectors and about the bytes of a vector, which are unknown for some.

    Refuse what Faiss makes, and then fails on when it is built, kills the process with, or never ends.
    """
    match = _FACTORY.fullmatch(factory)
    if match is None:
        return 1, None
    of = {name: int(value) for name, value in match.groupdict().items() if value and value.isdecimal()}
    dimensions, least = _transformed(factory, of, dimensions)
    for links in (match["links"], match["coarse"]):
        if links is not None and int(links or LINKS) < 2:
            raise RunnerError(f"index {factory!r} has too few links", "Give HNSW 2 or more.")
    size = dimensions * {"4": 4, "6": 6, "8": 8, "fp16": 16, "bf16": 16}.get(match["bits"], 32) / 8
    if "parts" in of:
        bits = of.get("each", 8)
        size, least = of["parts"] * bits / 8, max(least, 1 << bits)
    if "lists" in of:
        lists = of["lists"] * {"k": 1 << 10, "M": 1 << 20}.get(match["scale"], 1)
        if not lists:
            raise RunnerError(f"index {factory!r} has no lists", "Give their number after IVF.")
        size, least = size + 8, max(least, lists)  # and its id
    if match["links"] is not None:
        links = int(match["links"] or LINKS)
        # Twice as many on the lowest level, somewhat more above it, the level and where its links begin.
        size += 8 * links + 4 * links / (links - 1) + 12
    return least, size


def _transformed(factory: str, of: dict[str, int], dimensions: int) -> tuple[int, int]:
    """Return the dimensions after PCA or OPQ, and the least number of vectors that train it."""
    if "pca" in of:
        if not 1 <= of["pca"] <= dimensions:
            too_many = f"index {factory!r} would make {of['pca']} dimensions of {dimensions}"
            raise RunnerError(too_many, f"Give PCA a number from 1 to {dimensions}.")
        return of["pca"], of["pca"]
    if "opq" not in of:
        return dimensions, 1
    dimensions = of.get("to", dimensions)
    if not of["opq"] or not dimensions or dimensions % of["opq"]:
        uneven = f"index {factory!r} would divide {dimensions} dimensions into {of['opq']} equal parts"
        raise RunnerError(uneven, f"Give OPQ a divisor of {dimensions}.")
    return dimensions, OPQ_CENTROIDS


@contextlib.contextmanager
def _refusals(factory: str) -> Iterator[None]:
    """Turn what Faiss raises into one line, without where in its code it was found."""
    try:
        yield
    except MemoryError:
        raise RunnerError(f"there is not enough memory for index {factory!r}", "Choose a smaller one.") from None
    except (RuntimeError, AssertionError) as error:
        where = r"^Error in .*?\.(?:cpp|h):\d+: (?:Error: '[^']*' failed: (?=\S))?"
        reason = re.sub(where, "", " ".join(str(error).split())).rstrip(". ") or type(error).__name__
        todo = "Choose another one, such as Flat, SQ8, HNSW32 or IVF4096,SQ8."
        raise RunnerError(f"Faiss cannot make index {factory!r}: {reason}", todo) from None


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep Faiss from printing a warning for each of perhaps hundreds of clusterings that it has few vectors for."""
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


def _sample(vectors: Vectors, similarity: str, rows: int, advance: Callable[[int], None]) -> FloatArray32:
    """Return vectors (rows, E) that are spaced evenly over all."""
    chosen = np.arange(rows) * vectors.count // rows
    sample = np.empty((rows, vectors.dimensions), dtype=np.float32)
    for first, block, _ in exact.prepared_blocks(vectors, similarity):
        start, stop = np.searchsorted(chosen, (first, first + len(block)))
        sample[start:stop] = block[chosen[start:stop] - first]
        advance(len(block))
    return sample


def _on_gpus(faiss: Any, index: Any, k: int) -> Any:
    """Return a copy of the index on all GPUs, or None without GPUs or if they cannot search it."""
    if faiss.get_num_gpus() < 1 or not hasattr(faiss, "index_cpu_to_all_gpus") or k > exact.GPU_MOST:
        return None
    with contextlib.suppress(RuntimeError):
        return faiss.index_cpu_to_all_gpus(index)
    return None


def _set_parameters(index: Any, parameters: str) -> None:
    """Set how an index searches."""
    space = exact.load_faiss().ParameterSpace()
    space.initialize(index)
    names = [space.parameter_ranges.at(number).name for number in range(space.parameter_ranges.size())]
    for setting in filter(None, map(str.strip, parameters.split(","))):
        name, _, value = setting.partition("=")
        if name not in names:
            raise RunnerError(f"the index has no parameter {name!r}", f"It has {', '.join(names) or 'none'}.")
        if not re.fullmatch(r"[1-9][0-9]{0,8}", value):
            misuse = f"parameter {name!r} is a whole number from 1, not {value!r}"
            raise RunnerError(misuse, f"Write it as {name}=16, for example.")
        space.set_index_parameter(index, name, float(value))
