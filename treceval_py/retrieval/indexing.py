"""Faiss indexes: checked before hours are spent, built a block at a time, saved whole or not at all, searched.

Any factory string of Faiss can be used. Faiss itself refuses what it cannot make, or later what it cannot train; what
would kill the process, or silently find next to nothing, is refused here.

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
from treceval_py.retrieval.vectors import StreamedVectors, block_rows

ADVISED = 39
"""Training vectors for each list that Faiss advises."""

SAMPLE_LEAST = 10_000
"""Least number of training vectors: Faiss advises 39 for each of the 256 values of a byte of a code."""

UNUSABLE = re.compile(r"(HNSW0*[01]|(IVF|PCAW?R?|OPQ\d+_)0+)(?!\d)|\w+=(?![1-9]\d{0,8}(,|$))[^,]*")
"""What kills the process or finds next to nothing: fewer than 2 links, no lists, no dimensions, and parameters that are
not whole numbers from 1."""


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
    """Check what can be refused of an index without building it.

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
        Faiss cannot make such an index for these dimensions and this similarity, or has no such search parameters. Or
        Faiss is not installed.
    """
    faiss, index = exact.load_faiss(), _made(settings, dimensions)
    with _refusals(settings):
        faiss.ParameterSpace().set_index_parameters(index, settings.parameters)
    part, vector = faiss.downcast_index(index), 8 * bool(_lists(index))  # the id in a list
    with contextlib.suppress(RuntimeError):
        if isinstance(part, faiss.IndexHNSW):  # with the links of a vector, and somewhat more for those that have more
            part, vector = part.storage, 4 * part.hnsw.nb_neighbors(0) + 16
        return int(count * (part.sa_code_size() + vector) + 4 * dimensions * _lists(index))
    return None


def build(settings: IndexSettings, vectors: StreamedVectors, path: str, reporter: Reporter = SILENT) -> str:
    """Train an index, add all vectors, and write it whole or not at all.

    Parameters
    ----------
    settings : IndexSettings
        What to build.
    vectors : StreamedVectors
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
        As of `check` and `exact.search`, or Faiss refuses the vectors, which may be too few.
    OutputError
        The file cannot be written.

    Notes
    -----
    Training vectors are spaced evenly, and the seeds of Faiss are fixed, so the same vectors give the same file. This
    was measured with Faiss 1.15.1 for flat, IVF, PQ, SQ and HNSW indexes with 1, 2, 4 and 8 threads. For the cosine,
    vectors are normalised here and not by the index.
    """
    faiss, index = exact.load_faiss(), _made(settings, vectors.dimensions)
    with _refusals(settings):
        if not index.is_trained:
            reporter.begin("train the index", vectors.count, "passages")
            step = max(vectors.count // max(ADVISED * _lists(index), SAMPLE_LEAST), 1)
            blocks = _blocks(vectors, settings, reporter.advance)
            index.train(np.concatenate([block[-first % step :: step].copy() for first, block in blocks]))
            reporter.end()
        reporter.begin("build the index", vectors.count, "passages")
        for _, block in _blocks(vectors, settings, reporter.advance):
            index.add(block)
        reporter.end()
    with written_whole(path) as stream:
        faiss.write_index(index, faiss.PyCallbackIOWriter(stream.write))
    return digest_of_file(path)


class Index:
    """An index on disk, ready to be searched, on the CPU.

    Parameters
    ----------
    path : str
        The file that `build` wrote.
    settings : IndexSettings
        What it was built with, and the parameters of the search.

    Raises
    ------
    RunnerError
        The file is missing or is cut short, the index has no such parameter, or Faiss is not installed.
    """

    def __init__(self, path: str, settings: IndexSettings) -> None:
        faiss = exact.load_faiss()
        self._settings = settings
        with _refusals(settings):
            self.faiss_index = faiss.read_index(path)
            faiss.ParameterSpace().set_index_parameters(self.faiss_index, settings.parameters)

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
            Best first, equal scores by ascending position; -1 and ``-inf`` where the index found no more. The last
            digits of scores, and which of the vectors that are about as good as the last one is found, may depend on
            the other queries and on the number of threads. Distances that are estimated may be a little below zero.

        Raises
        ------
        RunnerError
            As of `exact.search`.
        """
        queries, _ = exact.prepared(queries, self._settings.similarity, "query")
        with _refusals(self._settings):
            scores, positions = self.faiss_index.search(queries, k)
        scores = np.where(positions < 0, np.float32(-np.inf), -scores if self._settings.similarity == "l2" else scores)
        return exact.hits_of(np.sort(exact.keys_of(scores, positions)))


def _made(settings: IndexSettings, dimensions: int) -> Any:
    """Return an empty index."""
    faiss, metric = exact.load_faiss(), exact.metric_of(settings.similarity)
    with _refusals(settings):
        if wrong := UNUSABLE.search(settings.index):
            raise RuntimeError(f"{wrong[0]!r} is too small, or not a whole number")
        index = faiss.index_factory(dimensions, settings.factory, metric)
        if index.metric_type != metric:  # HNSW over PQ, for instance, and Faiss does not say so
            raise RuntimeError(f"it does not support the similarity {settings.similarity}")
    return index


def _lists(index: Any) -> int:
    """Return the number of lists of an index; 0 if it has none. Faiss would print warnings of few vectors for them."""
    part = exact.load_faiss().try_extract_index_ivf(index)
    if part is None:
        return 0
    part.cp.min_points_per_centroid = 1
    return int(part.nlist)


def _blocks(
    vectors: StreamedVectors, settings: IndexSettings, advance: Callable[[int], None]
) -> Iterator[tuple[int, FloatArray32]]:
    """Yield vectors as they are added, with the position of the first of a block."""
    for first, block in vectors.blocks(block_rows(vectors.dimensions)):
        yield first, exact.prepared(block, settings.similarity, "vector", first)[0]
        advance(len(block))


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
