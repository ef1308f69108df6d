"""Faiss indexes: checked before hours are spent, built a block at a time, saved whole or not at all, searched.

Any factory string of Faiss can be used. What cannot work is refused before anything is encoded: Faiss itself refuses
what it cannot make; what it makes and then cannot build, or what kills the process, is refused here.

For lists of a thousand documents exact search is the sound default: indexes that look at a part of the vectors miss
many of them unless their parameters make them search a large part.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """An index to build, and how to search it.

    Attributes
    ----------
    index : str
        What ``faiss.index_factory`` takes, and parameters of the search after a colon: ``"IVF4096,SQ8"``,
        ``"IVF4096_HNSW32,Flat:nprobe=64,quantizer_efSearch=128"``. Without parameters those of Faiss hold.
    similarity : str
        ``inner-product``, ``cosine`` or ``l2``.
    """

    index: str
    similarity: str

    @property
    def factory(self) -> str:
        """Return what Faiss makes the index from; the parameters change nothing of what is built."""
        return self.index.partition(":")[0]

    @property
    def parameters(self) -> str:
        """Return the parameters of the search."""
        return self.index.partition(":")[2]


def check(settings: IndexSettings, dimensions: int, count: int) -> int | None:
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
    int or None
        About how many bytes it has in memory and on disk; None if that is unknown for its parts.

    Raises
    ------
    RunnerError
        Faiss cannot make such an index for these dimensions and this similarity, has no such search parameters, or
        there are too few vectors to train it. Or Faiss is not installed.
    """
    index, least, size = _made(settings, dimensions)
    _set_parameters(index, settings)
    if count < least:
        too_few = f"index {settings.factory!r} needs at least {least} vectors to train it, there are {count}"
        raise RunnerError(too_few, "Use fewer centroids, or search without an index.")
    return None if size is None else round(count * size + 4 * dimensions * least)


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
    check(settings, vectors.dimensions, vectors.count)
    index, least, _ = _made(settings, vectors.dimensions)
    rows = min(ADVISED * least if least > 1 else SAMPLE_LEAST, vectors.count)
    with _refusals(settings), exact.fast_batches():
        if not index.is_trained:
            reporter.begin("train the index", vectors.count, "passages")
            index.train(_sample(vectors, settings.similarity, rows, reporter.advance))
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


class Index:
    """An index on disk, ready to be searched; with GPUs, a copy that is made once for all searches.

    Parameters
    ----------
    path : str
        The file that `build` wrote.
    settings : IndexSettings
        What it was built with, and the parameters of the search.

    Raises
    ------
    RunnerError
        The file is missing, is cut short or holds something else; the index has no such parameter; or Faiss is not
        installed.
    """

    def __init__(self, path: str, settings: IndexSettings) -> None:
        faiss = exact.load_faiss()
        try:
            self.faiss_index = faiss.read_index(path)
        except (RuntimeError, MemoryError):
            damage = "this is not an index of Faiss, or it is cut short"
            raise RunnerError(damage, "Remove it to build it again.", file=path) from None
        _set_parameters(self.faiss_index, settings)
        self._similarity = settings.similarity
        part = faiss.downcast_index(self.faiss_index)
        self._flat = part if type(part) in (faiss.IndexFlat, faiss.IndexFlatIP, faiss.IndexFlatL2) else None
        self._on_gpus: Any = None
        if self._flat is None and exact.has_gpus(faiss):
            with contextlib.suppress(RuntimeError):  # not every index can be there
                self._on_gpus = faiss.index_cpu_to_all_gpus(self.faiss_index)

    def search(self, queries: FloatArray32, k: int) -> exact.Found:
        """Find the k best vectors for each query.

        Parameters
        ----------
        queries : (Q, E) float32 array
            The vectors of the queries.
        k : int
            How many vectors to find for each.

        Returns
        -------
        exact.Found
            Best first, equal scores by ascending position; -1 and ``-inf`` where the index found no more. A flat index
            finds to the bit what `exact.search` finds. With others the last digits of scores, and which of the vectors
            that are about as good as the last one is found, may depend on the other queries and on the number of
            threads. Distances that are estimated may be a little below zero.

        Raises
        ------
        RunnerError
            As of `exact.search`.
        """
        faiss, flat, l2 = exact.load_faiss(), self._flat, self._similarity == "l2"
        queries = exact.prepared_queries(queries, self.faiss_index.d, k, self._similarity)
        if flat is not None and flat.ntotal:
            rows = faiss.rev_swig_ptr(flat.get_xb(), flat.ntotal * flat.d).reshape(flat.ntotal, flat.d)
            return exact.search(ArrayVectors(rows), queries, k, "l2" if l2 else "inner-product")
        index = self._on_gpus if self._on_gpus is not None and k <= exact.GPU_MOST else self.faiss_index
        with exact.fast_batches():
            scores, positions = index.search(queries, k)
        scores = np.where(positions < 0, np.float32(-np.inf), -scores if l2 else scores)
        return exact.best_first(scores, positions, k)


def _made(settings: IndexSettings, dimensions: int) -> tuple[Any, int, float | None]:
    """Return an empty index, the least number of vectors that train it, and about the bytes of a vector if known."""
    exact.check_similarity(settings.similarity)
    faiss = exact.load_faiss()
    metric = faiss.METRIC_L2 if settings.similarity == "l2" else faiss.METRIC_INNER_PRODUCT
    with _refusals(settings):
        index = faiss.index_factory(dimensions, settings.factory, metric)
        if index.metric_type != metric:  # HNSW over PQ, for instance, and Faiss does not say so
            raise RuntimeError(f"it does not support the similarity {settings.similarity}")
        return index, *_needs(faiss, index)


def _needs(faiss: Any, index: Any) -> tuple[int, float | None]:
    """Return the least number of training vectors, and about the bytes of a vector if they are known.

    Refuse what Faiss makes, and then fails on after hours, kills the process with, or never ends.
    """
    part = faiss.downcast_index(index)
    least, size = 1, getattr(part, "code_size", None)
    if isinstance(part, faiss.IndexPreTransform):
        least, size = _needs(faiss, part.index)
        least = max(least, *(_least_for(faiss, part.chain.at(number)) for number in range(part.chain.size())))
    elif isinstance(part, faiss.IndexRefine):
        least, size = _needs(faiss, part.base_index)[0], None
    elif isinstance(part, faiss.IndexIDMap | faiss.IndexNSG):
        raise RuntimeError("a collection cannot be added to it in several parts")
    elif isinstance(part, faiss.IndexHNSW):
        least, size = _needs(faiss, part.storage)
        ends = part.hnsw.cum_nneighbor_per_level  # the lowest level has twice as many
        if (links := ends.at(1) // 2 if ends.size() > 1 else 0) < 2:
            raise RuntimeError("HNSW needs 2 links or more")
        # Somewhat more above that level, the level and where its links begin.
        size = None if size is None else size + 8 * links + 4 * links / (links - 1) + 12
    elif isinstance(part, faiss.IndexIVF):
        if not part.nlist:
            raise RuntimeError("IVF needs 1 list or more")
        alone = part.quantizer_trains_alone == "\x01"  # the lists of IMI are pairs of its centroids
        least = max(1 if alone else part.nlist, _needs(faiss, part.quantizer)[0])
        size = part.code_size + 8  # and its id
        part.cp.min_points_per_centroid = 1  # or Faiss warns of few vectors
    if hasattr(part, "pq"):
        least = max(least, part.pq.ksub)
        part.pq.cp.min_points_per_centroid = 1  # or it warns for each of its parts
    return least, size


def _least_for(faiss: Any, transform: Any) -> int:
    """Return the least number of training vectors of what changes the dimensions; refuse what cannot be trained."""
    part = faiss.downcast_VectorTransform(transform)
    if isinstance(part, faiss.PCAMatrix):
        if not 1 <= part.d_out <= part.d_in:
            raise RuntimeError(f"PCA makes 1 to {part.d_in} dimensions of {part.d_in}")
        return int(part.d_out)
    if isinstance(part, faiss.OPQMatrix):
        if not (part.M and part.d_out and part.d_out % part.M == 0):
            raise RuntimeError(f"OPQ cannot make {part.M} equal parts of {part.d_out} dimensions")
        return OPQ_CENTROIDS
    return 1


@contextlib.contextmanager
def _refusals(settings: IndexSettings) -> Iterator[None]:
    """Turn what Faiss raises into one line, without where in its code it was found."""
    try:
        yield
    except (RuntimeError, AssertionError, MemoryError) as error:
        where = r"^(?:Error in .*?\.(?:cpp|h):\d+: )?(?:Error: '[^']*' failed: (?=\S))?(?:\w+::\w+:)?"
        reason = re.sub(where, "", " ".join(str(error).split())).rstrip(". ") or type(error).__name__
        todo = "Choose another one, such as SQ8, HNSW32:efSearch=256 or IVF4096,SQ8:nprobe=64."
        raise RunnerError(f"Faiss cannot make index {settings.index!r}: {reason}", todo) from None


def _sample(vectors: Vectors, similarity: str, rows: int, advance: Callable[[int], None]) -> FloatArray32:
    """Return vectors (rows, E) that are spaced evenly over all."""
    chosen = np.arange(rows) * vectors.count // rows
    sample = np.empty((rows, vectors.dimensions), dtype=np.float32)
    for first, block, _ in exact.prepared_blocks(vectors, similarity):
        start, stop = np.searchsorted(chosen, (first, first + len(block)))
        sample[start:stop] = block[chosen[start:stop] - first]
        advance(len(block))
    return sample


def _set_parameters(index: Any, settings: IndexSettings) -> None:
    """Set how an index searches."""
    if not re.fullmatch(r"(\w+=[1-9][0-9]{0,8}(,|$))*", settings.parameters):
        misuse = f"{settings.parameters!r} are not parameters of an index, which are whole numbers from 1"
        raise RunnerError(misuse, "Write them as IVF4096,SQ8:nprobe=64, for example.")
    with _refusals(settings):
        exact.load_faiss().ParameterSpace().set_index_parameters(index, settings.parameters)
