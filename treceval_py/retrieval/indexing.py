"""Faiss indexes: checked before hours are spent, built a block at a time, saved whole or not at all, searched.

For lists of a thousand documents exact search is the sound default: indexes that look at a part of the vectors miss
many of them unless they are told to look at a large part.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from treceval_py.errors import OutputError, RunnerError
from treceval_py.io.digests import digest_of_file
from treceval_py.io.reporting import SILENT, Reporter
from treceval_py.retrieval.exact import (
    BATCH,
    GPU_MOST,
    SIMILARITIES,
    Found,
    fast_batches,
    load_faiss,
    prepared_blocks,
    prepared_queries,
    search,
)
from treceval_py.retrieval.vectors import ArrayVectors, FloatArray32, Vectors

__all__ = [
    "Built",
    "IndexSettings",
    "Plan",
    "build",
    "bytes_per_vector",
    "check",
    "check_factory",
    "check_parameters",
    "load",
    "search_index",
]

ADVISED = 39
"""Faiss advises that many training vectors for each centroid."""

OPQ_CENTROIDS = 256
"""Faiss trains a rotation for product quantisation with that many centroids."""

SAMPLE_LEAST = 10_000
"""Vectors that train what has no centroids."""

HNSW_LEAST = 2
"""Links of HNSW: with fewer, faiss kills the process instead of raising."""

NSG_LEAST = 6
"""Links of NSG: with fewer, faiss was seen to build the graph without end."""

NSG_VECTORS = 101
"""Vectors that faiss needs at least to build the graph of NSG."""

AGAIN = "Remove it to build it again."


class IndexSettings(NamedTuple):
    """What index to build, and how to search it.

    Attributes
    ----------
    factory : str
        What `faiss.index_factory` takes, such as ``"IVF4096,SQ8"``.
    similarity : str
        ``inner-product``, ``cosine`` or ``l2``.
    parameters : str
        How to search, such as ``"nprobe=16,quantizer_efSearch=64"``; empty for faiss's defaults.
    training : int
        How many vectors train the index; 0 for as many as it needs.
    """

    factory: str
    similarity: str
    parameters: str = ""
    training: int = 0


class Plan(NamedTuple):
    """What a factory string means for some vectors.

    Attributes
    ----------
    trained : bool
        Whether training is needed.
    least : int
        How many vectors training needs at least: the number of centroids.
    advised : int
        How many vectors faiss advises, 39 for each centroid.
    bytes : int
        About how large the index gets, in memory and on disk.
    """

    trained: bool
    least: int
    advised: int
    bytes: int


class Built(NamedTuple):
    """An index that was written.

    Attributes
    ----------
    path : str
        The file.
    bytes : int
        Its size.
    sha256 : str
        Its SHA-256 in hexadecimal.
    vectors, dimensions : int
        How many vectors are in it, and their dimensions.
    training : int
        How many vectors trained it.
    """

    path: str
    bytes: int
    sha256: str
    vectors: int
    dimensions: int
    training: int


def check(settings: IndexSettings, dimensions: int, count: int) -> Plan:
    """Check everything of an index that can be refused without building it.

    Parameters
    ----------
    settings : IndexSettings
        The index.
    dimensions : int
        Dimensions of a vector, E.
    count : int
        How many vectors there are.

    Returns
    -------
    Plan
        What it needs.

    Raises
    ------
    RunnerError
        As of `check_factory` and `check_parameters`, or the vectors that shall train it are too few.
    """
    plan = check_factory(settings.factory, dimensions, settings.similarity, count)
    if settings.training and plan.trained and settings.training < plan.least:
        raise RunnerError(
            f"index {settings.factory!r} needs at least {plan.least} vectors to train it, not {settings.training}",
            "Train it with more, or use fewer centroids.",
        )
    check_parameters(settings, dimensions)
    return plan


def check_factory(factory: str, dimensions: int, similarity: str, count: int) -> Plan:
    """Check that an index can be built, without building it.

    Parameters
    ----------
    factory : str
        What `faiss.index_factory` takes.
    dimensions : int
        Dimensions of a vector, E.
    similarity : str
        One of `exact.SIMILARITIES`.
    count : int
        How many vectors there are.

    Returns
    -------
    Plan
        What it needs.

    Raises
    ------
    RunnerError
        Faiss cannot make such an index for these dimensions and this similarity, or there are too few vectors to train
        it. Or faiss is not installed.
    """
    if count < 1:
        raise RunnerError("there are no vectors to index")
    index = _made(factory, dimensions, similarity)
    least = max((_centroids(part) for part in _parts(index)), default=1)
    if count < least:
        raise RunnerError(
            f"index {factory!r} needs at least {least} vectors to train it, there are {count}",
            "Use fewer centroids, or search without an index.",
        )
    if count < NSG_VECTORS and any(hasattr(part, "nsg") for part in _stored(index)):
        raise RunnerError(
            f"index {factory!r} needs at least {NSG_VECTORS} vectors for its graph, there are {count}",
            "Use another index, or search without one.",
        )
    return Plan(
        trained=not index.is_trained,
        least=least,
        advised=ADVISED * least if least > 1 else SAMPLE_LEAST,
        bytes=round(count * _vector_bytes(index)) + 4 * dimensions * least,
    )


def check_parameters(settings: IndexSettings, dimensions: int) -> None:
    """Check that an index can be searched with its parameters, without building it.

    Parameters
    ----------
    settings : IndexSettings
        The index.
    dimensions : int
        Dimensions of a vector, E.

    Raises
    ------
    RunnerError
        It has no such parameter, or a value is none.
    """
    _set_parameters(load_faiss(), _made(settings.factory, dimensions, settings.similarity), settings.parameters)


def bytes_per_vector(factory: str, dimensions: int, similarity: str) -> float:
    """Return about how many bytes an index takes for a vector, in memory and on disk.

    Parameters
    ----------
    factory, dimensions, similarity
        As of `check_factory`.

    Returns
    -------
    float
        Codes, ids and links; without centroids, which do not grow with the vectors.

    Raises
    ------
    RunnerError
        Faiss cannot make such an index, or faiss is not installed.
    """
    return _vector_bytes(_made(factory, dimensions, similarity))


def build(settings: IndexSettings, vectors: Vectors, path: str, reporter: Reporter = SILENT) -> Built:
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
        Is told of two stages, training (if it is needed) and adding.

    Returns
    -------
    Built
        What was written.

    Raises
    ------
    RunnerError
        As of `check` and `exact.search`, or faiss refuses the vectors.
    OutputError
        The file cannot be written.

    Notes
    -----
    Training vectors are spaced evenly, and the seeds of faiss are fixed, so the same vectors give the same file. This
    was measured with faiss 1.15.1 for flat, IVF, PQ, SQ and HNSW indexes with 1, 2, 4 and 8 threads. For the cosine,
    vectors are normalised here and not by the index.
    """
    plan = check(settings, vectors.dimensions, vectors.count)
    index = _made(settings.factory, vectors.dimensions, settings.similarity)
    rows = min(settings.training or plan.advised, vectors.count) if plan.trained else 0
    with _refusals(settings.factory), fast_batches():
        if rows:
            reporter.begin("train the index", vectors.count, "passages")
            _train(index, _sample(vectors, settings.similarity, rows, reporter.advance))
            reporter.end()
        reporter.begin("build the index", vectors.count, "passages")
        _add(index, vectors, settings.similarity, reporter.advance)
        reporter.end()
    size, digest = _written(index, path)
    return Built(path, size, digest, vectors.count, vectors.dimensions, rows)


def load(path: str, *, mapped: bool = False) -> Any:
    """Read an index.

    Parameters
    ----------
    path : str
        The file that `build` wrote.
    mapped : bool
        Whether vectors stay on the disk and are read when they are needed, where faiss can do that (flat and IVF).

    Returns
    -------
    faiss.Index
        The index. It owns what is inside, so it must be kept as long as anything of it is used.

    Raises
    ------
    RunnerError
        The file is not there, is cut short or holds something else; or faiss is not installed.
    """
    faiss = load_faiss()
    if not os.path.isfile(path):
        raise RunnerError("there is no such index", "Build it.", file=path)
    try:
        # What is mapped as a file is checked against its size only in this way, which Flat does not know.
        index = faiss.read_index(path, faiss.IO_FLAG_MMAP if mapped else 0)
        if mapped and not _is_inverted(index):
            del index
            index = faiss.read_index(path, faiss.IO_FLAG_MMAP_IFC)
    except (RuntimeError, MemoryError):
        raise RunnerError("is no index of faiss, or was cut short", AGAIN, file=path) from None
    return index


def search_index(
    index: Any,
    queries: FloatArray32,
    k: int,
    similarity: str,
    parameters: str = "",
    advance: Callable[[int], None] | None = None,
) -> Found:
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
        That with which the index was built.
    parameters : str
        As of `IndexSettings`.
    advance : callable, optional
        Is told how many queries were searched.

    Returns
    -------
    Found
        Best first, equal scores by ascending position; -1 and ``-inf`` where the index found no more. A flat index
        finds to the bit what `exact.search` finds. Others find what faiss finds in groups of 1,024 queries: the last
        digits of scores, and of vectors that are about as good as the last which counts, may depend on the other
        queries of the group and on the number of threads. Distances that are estimated may be a little below zero.

    Raises
    ------
    RunnerError
        The index has another similarity or no such parameter, or as of `exact.search`.
    """
    faiss = load_faiss()
    queries = prepared_queries(queries, index.d, k, similarity)
    if index.metric_type != _metric(faiss, similarity):
        raise RunnerError(f"the index was not built for the similarity {similarity!r}", "Search it with its own.")
    _set_parameters(faiss, index, parameters)
    flat = _flat_vectors(faiss, index)
    on_gpus = None if flat is not None else _on_gpus(faiss, index, k)
    parts = []
    for start in range(0, len(queries), BATCH):
        batch = queries[start : start + BATCH]
        if flat is not None:
            parts.append(search(flat, batch, k, "l2" if similarity == "l2" else "inner-product"))
        else:
            with fast_batches():
                scores, positions = (on_gpus or index).search(batch, k)
            parts.append(_in_order(-scores if similarity == "l2" else scores, positions))
        if advance is not None:
            advance(len(batch))
    nothing = Found(np.empty((0, k), dtype=np.float32), np.empty((0, k), dtype=np.int64))
    return Found(*map(np.concatenate, zip(nothing, *parts, strict=True)))


def _in_order(scores: FloatArray32, positions: Any) -> Found:
    """Return hits best first, equal scores by position, what is missing last."""
    scores = np.where(positions < 0, np.float32(-np.inf), scores + np.float32(0.0))
    order = np.lexsort((positions, -scores), axis=1)
    return Found(np.take_along_axis(scores, order, axis=1), np.take_along_axis(positions, order, axis=1))


def _metric(faiss: Any, similarity: str) -> int:
    return int(faiss.METRIC_L2 if similarity == "l2" else faiss.METRIC_INNER_PRODUCT)


def _made(factory: str, dimensions: int, similarity: str) -> Any:
    """Return an empty index."""
    if similarity not in SIMILARITIES:
        raise RunnerError(f"{similarity!r} is no similarity", f"There are {', '.join(SIMILARITIES)}.")
    faiss = load_faiss()
    with _refusals(factory):
        index = faiss.index_factory(dimensions, factory, _metric(faiss, similarity))
    if index.metric_type != _metric(faiss, similarity):  # HNSW over PQ, for instance, and faiss does not say so
        raise RunnerError(
            f"faiss cannot make index {factory!r} for the similarity {similarity!r}", "Choose another one."
        )
    _check_parts(index, factory)
    return index


def _check_parts(index: Any, factory: str) -> None:
    """Refuse what faiss makes, and then fails on, kills the process with, or never ends."""
    faiss = load_faiss()
    for part in _parts(index):
        if getattr(part, "nlist", 1) < 1:
            raise RunnerError(f"index {factory!r} has no lists", "Give their number after IVF.")
        # The lowest level of HNSW has twice as many links as were asked for; with one link there is not even that.
        if hasattr(part, "hnsw") and (
            part.hnsw.cum_nneighbor_per_level.size() < 2 or part.hnsw.nb_neighbors(0) < 2 * HNSW_LEAST
        ):
            raise RunnerError(f"index {factory!r} has too few links", f"Give HNSW {HNSW_LEAST} or more.")
        if hasattr(part, "nsg") and part.nsg.R < NSG_LEAST:
            raise RunnerError(f"index {factory!r} has too few links", f"Give NSG {NSG_LEAST} or more.")
        if hasattr(part, "nlist") and hasattr(faiss.downcast_index(part.quantizer), "nsg") and part.nlist < NSG_VECTORS:
            raise RunnerError(
                f"index {factory!r} has {part.nlist} lists, and NSG over them needs at least {NSG_VECTORS}",
                "Give IVF more lists, or leave NSG out.",
            )
    for step in _transforms(index):
        _check_step(step, factory)


def _check_step(step: Any, factory: str) -> None:
    """Refuse a transformation that cannot be trained for its dimensions."""
    faiss = load_faiss()
    if step.d_out == 0:
        raise RunnerError(f"index {factory!r} leaves no dimensions", "Give their number, from 1.")
    if isinstance(step, (faiss.PCAMatrix, faiss.ITQTransform)) and step.d_out > step.d_in:
        raise RunnerError(
            f"index {factory!r} would make {step.d_out} dimensions of {step.d_in}", f"Give {step.d_in} or less."
        )
    if isinstance(step, faiss.OPQMatrix):
        dimensions = step.d_out if step.d_out > 0 else step.d_in
        if step.M < 1 or dimensions % step.M:
            raise RunnerError(
                f"index {factory!r} would divide {dimensions} dimensions into {step.M} equal parts",
                f"Give OPQ a divisor of {dimensions}.",
            )


@contextlib.contextmanager
def _refusals(factory: str) -> Iterator[None]:
    """Turn what faiss raises into one line."""
    try:
        yield
    except RunnerError:
        raise
    except MemoryError:
        raise RunnerError(f"there is not enough memory for index {factory!r}", "Choose a smaller one.") from None
    except (RuntimeError, AssertionError) as error:
        reason = _reason(error)
        if "could not parse" in reason or not factory:
            raise RunnerError(
                f"{factory!r} is no index that faiss knows",
                "Write it as for faiss.index_factory: Flat, SQ8, HNSW32, IVF4096,SQ8 or the like.",
            ) from None
        raise RunnerError(f"faiss cannot make index {factory!r}: {reason}", "Choose another one.") from None


def _reason(error: Exception) -> str:
    """Return what faiss means, without where in its code it was found."""
    text = re.sub(r"^Error in .*?\.(?:cpp|h):\d+: ", "", " ".join(str(error).split()))
    condition = re.fullmatch(r"Error: '(.*?)' failed(?:: ?(.*))?", text)
    if condition is not None:
        text = condition[2] or f"it needs {condition[1]}"
    return text.rstrip(". ") or type(error).__name__


def _parts(index: Any) -> Iterator[Any]:
    """Yield an index and all indexes that it is made of, as what they are; the owner has to be kept meanwhile."""
    faiss = load_faiss()
    part = faiss.downcast_index(index)
    yield part
    # One of the names is there for each thing that an index can be wrapped around or made with.
    for name in ("index", "base_index", "refine_index", "storage", "quantizer"):
        inner = getattr(part, name, None)
        if inner is not None:
            yield from _parts(inner)


def _stored(index: Any) -> Iterator[Any]:
    """Yield the parts of an index that hold all vectors, not the centroids of lists."""
    faiss = load_faiss()
    part = faiss.downcast_index(index)
    yield part
    for name in ("index", "base_index", "refine_index"):
        inner = getattr(part, name, None)
        if inner is not None:
            yield from _stored(inner)


def _transforms(index: Any) -> Iterator[Any]:
    """Yield the transformations that an index applies to vectors."""
    faiss = load_faiss()
    for part in _parts(index):
        chain = getattr(part, "chain", None)
        if chain is not None:
            yield from (faiss.downcast_VectorTransform(chain.at(number)) for number in range(chain.size()))


def _centroids(part: Any) -> int:
    """Return how many centroids a part is trained for; 1 where it has none."""
    if part.is_trained and not hasattr(part, "chain"):
        return 1
    found = [getattr(part, "nlist", 1)]
    if hasattr(part, "pq"):
        found.append(part.pq.ksub)
    if hasattr(part, "aq"):
        bits = part.aq.nbits
        found.append(1 << max((int(bits.at(number)) for number in range(bits.size())), default=0))
    if hasattr(part, "chain"):
        found += [
            OPQ_CENTROIDS if hasattr(step, "niter_pq") else step.d_out
            for step in _transforms(part)
            if not step.is_trained
        ]
    return int(max(found))


def _vector_bytes(index: Any) -> float:
    """Return about how many bytes a vector takes."""
    faiss = load_faiss()
    part = faiss.downcast_index(index)
    if hasattr(part, "chain"):
        return _vector_bytes(part.index)
    if hasattr(part, "id_map"):
        return _vector_bytes(part.index) + 8
    if hasattr(part, "refine_index"):
        return _vector_bytes(part.base_index) + _vector_bytes(part.refine_index)
    if hasattr(part, "nlist"):
        return float(part.code_size + 8)  # and its id
    if hasattr(part, "hnsw"):
        # Links of the lowest level, somewhat more for those above, the level and where its links begin.
        lowest = float(part.hnsw.cum_nb_neighbors(1))
        return _vector_bytes(part.storage) + 4 * lowest + 4 * (lowest / 2) / max(lowest / 2 - 1, 1) + 12
    if hasattr(part, "nsg"):
        return _vector_bytes(part.storage) + 4.0 * float(part.nsg.R)
    return float(part.sa_code_size())


def _sample(vectors: Vectors, similarity: str, rows: int, advance: Callable[[int], None]) -> FloatArray32:
    """Return vectors (rows, E) that are spaced evenly over all."""
    chosen = np.arange(rows) * vectors.count // rows
    sample = np.empty((rows, vectors.dimensions), dtype=np.float32)
    for first, block, _ in prepared_blocks(vectors, similarity):
        start, stop = np.searchsorted(chosen, (first, first + len(block)))
        sample[start:stop] = block[chosen[start:stop] - first]
        advance(len(block))
    return sample


def _train(index: Any, sample: FloatArray32) -> None:
    """Train an index without the warnings that faiss prints about few vectors; `Plan` says how many it advises."""
    faiss = load_faiss()
    for part in _parts(index):
        for owner in (part, getattr(part, "pq", None)):
            clustering = getattr(owner, "cp", None)
            if clustering is not None:
                clustering.min_points_per_centroid = 1
    quantisers = []  # to be kept until the training ends, as faiss does not
    for step in _transforms(index):
        if hasattr(step, "niter_pq"):
            quantiser = faiss.ProductQuantizer(step.d_out if step.d_out > 0 else step.d_in, step.M, 8)
            quantiser.cp.min_points_per_centroid = 1
            step.pq = quantiser
            quantisers.append((step, quantiser))
    index.train(sample)
    for step, _ in quantisers:
        step.pq = None


def _add(index: Any, vectors: Vectors, similarity: str, advance: Callable[[int], None]) -> None:
    """Add all vectors, a block at a time; at once where faiss can add only once."""
    at_once = any(hasattr(part, "nsg") for part in _parts(index))
    numbered = any(hasattr(part, "id_map") for part in _parts(index))
    kept = []
    for first, block, _ in prepared_blocks(vectors, similarity):
        if at_once:
            kept.append(block.copy())
        elif numbered:
            index.add_with_ids(block, np.arange(first, first + len(block)))
        else:
            index.add(block)
        advance(len(block))
    if kept:
        index.add(np.concatenate(kept))


def _written(index: Any, path: str) -> tuple[int, str]:
    """Write an index whole or not at all; return the size and SHA-256 of the file."""
    faiss = load_faiss()
    # Always the same name: what a killed writer left is replaced by the next one.
    temporary = f"{path}.part"
    try:
        with open(temporary, "wb"):  # the system says why that fails, faiss does not
            pass
        faiss.write_index(index, temporary)
        with open(temporary, "rb") as stream:
            os.fsync(stream.fileno())
        size, digest = os.path.getsize(temporary), digest_of_file(temporary)
        os.replace(temporary, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, (OSError, RuntimeError)):
            reason = getattr(error, "strerror", None) or "faiss could not write all of it"
            raise OutputError(
                f"cannot be written: {reason}", "Check the folder and the space left.", file=path
            ) from None
        raise
    return size, digest


def _is_inverted(index: Any) -> bool:
    """Whether vectors are in lists, which faiss maps in a way of its own."""
    return any(hasattr(part, "invlists") for part in _parts(index))


def _flat_vectors(faiss: Any, index: Any) -> ArrayVectors | None:
    """Return the vectors of an index that holds nothing else, without copying them."""
    part = faiss.downcast_index(index)
    if type(part) not in (faiss.IndexFlat, faiss.IndexFlatIP, faiss.IndexFlatL2):
        return None
    if not part.ntotal:
        return ArrayVectors(np.empty((0, part.d), dtype=np.float32))
    return ArrayVectors(faiss.rev_swig_ptr(part.get_xb(), part.ntotal * part.d).reshape(part.ntotal, part.d))


def _on_gpus(faiss: Any, index: Any, k: int) -> Any:
    """Return a copy of the index on all GPUs, or None where there are none or they cannot search it."""
    if faiss.get_num_gpus() < 1 or not hasattr(faiss, "index_cpu_to_all_gpus") or k > GPU_MOST:
        return None
    try:
        return faiss.index_cpu_to_all_gpus(index)
    except RuntimeError:
        return None


def _set_parameters(faiss: Any, index: Any, parameters: str) -> None:
    """Set how an index searches."""
    space = faiss.ParameterSpace()
    space.initialize(index)
    ranges = space.parameter_ranges
    names = [ranges.at(number).name for number in range(ranges.size())]
    known = f"It has {', '.join(names)}." if names else "It has none."
    for setting in filter(None, (part.strip() for part in parameters.split(","))):
        name, _, value = setting.partition("=")
        if name not in names:
            raise RunnerError(f"the index has no parameter {name!r}", known)
        if not re.fullmatch(r"[1-9][0-9]{0,8}", value):
            raise RunnerError(
                f"parameter {name!r} is a whole number from 1, not {value!r}", f"Write it as {name}=16, for example."
            )
        space.set_index_parameter(index, name, float(value))
