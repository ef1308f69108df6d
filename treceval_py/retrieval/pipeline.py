"""The stages from a collection to a run file, each of which takes over what is there already.

texts → survey → embeddings of queries and passages (`shards`) → search, in groups of queries → run file, and a record
in JSON beside it. The work folder has ``queries/``, ``passages/``, ``index/`` and ``search/``; everything in it takes
its name when it is complete, so a run that was killed goes on by the same call.
"""

from __future__ import annotations

import hashlib
import io
import os
import platform
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from treceval_py._types import AnyArray
from treceval_py.data.ids import Ids, encode
from treceval_py.errors import OutputError, RunnerError
from treceval_py.io.digests import digest_of_file
from treceval_py.io.reporting import SILENT, Reporter
from treceval_py.io.source import open_zstd
from treceval_py.io.target import written_whole
from treceval_py.io.texts import Survey, Texts, chunks, survey
from treceval_py.retrieval.collection import Collection
from treceval_py.retrieval.hub import INSTALL
from treceval_py.retrieval.indexing import IndexSettings
from treceval_py.retrieval.lexical import Bm25, check_bm25, rank_bm25, rank_jaccard
from treceval_py.retrieval.models import Model, Settings, Side, identity
from treceval_py.retrieval.run_file import Ranked, Written, check_tag, write_ranked
from treceval_py.retrieval.shards import (
    Store,
    canonical,
    check_chunk,
    folder_errors,
    locked,
    open_store,
    write_json,
)
from treceval_py.version import __version__

if TYPE_CHECKING:
    from treceval_py.retrieval.pools import Pool

__all__ = ["GROUP", "SHARD_SIZE", "Dense", "Jaccard", "Outcome", "Request", "retrieve"]

SHARD_SIZE = 10_000
"""Texts in a shard: what a kill can cost, some minutes of a CPU."""

_PART = re.compile(r"[0-9]{5}-[0-9a-f]{16}\.npz")
"""Names of what was found for a group of queries."""

GROUP = 2048
"""Queries that are searched together; what a kill can cost of the search."""


@dataclass(frozen=True, slots=True)
class Dense:
    """Retrieval by the vectors of a model.

    Attributes
    ----------
    model : Model
        From `models.find_model`.
    settings : Settings
        From `models.settings_for`.
    devices : sequence of str
        Where to encode, such as ``("cuda:0", "cuda:1")``.
    batch_size : int, optional
        Texts that are encoded at once; by default what suits each device.
    shard_size : int
        Texts in a shard.
    storage : str
        How vectors are stored: ``float32`` or ``float16``.
    similarity : str
        ``inner-product``, ``cosine`` or ``l2``.
    index : IndexSettings, optional
        A Faiss index in place of exact search.
    ray : str, optional
        The address of a Ray cluster, where encoding and exact search are done.
    """

    model: Model
    settings: Settings
    devices: Sequence[str]
    batch_size: int | None = None
    shard_size: int = SHARD_SIZE
    storage: str = "float32"
    similarity: str = "inner-product"
    index: IndexSettings | None = None
    ray: str | None = None

    @property
    def dimensions(self) -> int:
        """Return the length of the vectors, E."""
        return self.settings.dimensions or self.model.hidden_size


class Jaccard(NamedTuple):
    """Retrieval by the Jaccard similarity of the sets of words; it has no settings."""


Retriever: TypeAlias = "Dense | Bm25 | Jaccard"


class Request(NamedTuple):
    """What is to be done.

    Attributes
    ----------
    collection : Collection
        From `collection.open_collection`.
    output : str
        The run file; compressed as its name ends.
    work : str
        The folder for what is kept: embeddings, indexes. Lexical retrieval needs none.
    retriever : Dense, Bm25 or Jaccard
        How to rank.
    k : int
        Documents a query.
    tag : str
        The last column of the run file.
    """

    collection: Collection
    output: str
    work: str
    retriever: Retriever
    k: int = 1000
    tag: str = "treceval"


class Outcome(NamedTuple):
    """What was done: the record that is written beside the run, and the counts of its lines."""

    record: dict[str, Any]
    written: Written
    notes: tuple[str, ...]


class Surveys(NamedTuple):
    """The texts as one pass over them saw them."""

    passages: Survey
    queries: Survey


def retrieve(request: Request, reporter: Reporter = SILENT, command: Sequence[str] = ()) -> Outcome:
    """Make a run file and the record beside it (``RUN.json``), going on with what an earlier call left.

    Parameters
    ----------
    request : Request
        What is to be done.
    reporter : Reporter
        Is told how far it is.
    command : sequence of str
        The command line, for the record.

    Returns
    -------
    Outcome
        The record and what there is to say.

    Raises
    ------
    RunnerError
        The work folder has embeddings of something else, a model cannot be used, a package is missing.
    InputError
        The collection cannot be read.
    OutputError
        A file cannot be written.
    """
    _check_packages(request.retriever)
    check_request(request)
    begun = datetime.now(UTC)
    watch = _Clock(reporter)
    dense = request.retriever if isinstance(request.retriever, Dense) else None
    with ExitStack() as stack:
        if dense is not None:
            # Before the texts are read, which takes a while: somebody else may be at work already.
            stack.enter_context(locked(request.work))
        looked = look(request, watch)
        if dense is not None:
            check_index(dense, looked.passages.count)
            ranked, ids, about = _dense(request, dense, looked, watch)
        else:
            assert not isinstance(request.retriever, Dense)
            ranked, ids, about = _lexical(request, request.retriever, looked, watch)
        written = _written(request, looked, ranked, ids, watch)
        for sentence in _remarks(looked, written):
            watch.note(sentence)
        record = _record(request, looked, written, about, watch, begun, command)
        write_json(f"{request.output}.json", record)
        # Only now, with the run and its record in place, can what was found be thrown away.
        if dense is not None:
            _clear_search(request.work)
    return Outcome(record, written, tuple(watch.notes))


def _written(request: Request, looked: Surveys, ranked: Iterator[Ranked], ids: Ids, watch: _Clock) -> Written:
    """Write the run; an older record goes before, as it is of another run."""
    with folder_errors(os.path.dirname(request.output) or "."), suppress(FileNotFoundError):
        os.unlink(f"{request.output}.json")
    watch.begin("write", looked.queries.count, "queries")
    written = write_ranked(
        request.output,
        ranked,
        ids,
        request.tag,
        k=min(request.k, looked.passages.count),
        advance=watch.advance,
        part=_part_of(request.output),
    )
    watch.end()
    return written


def _part_of(path: str) -> str:
    """Return the name that a run has until it is whole."""
    return f".{os.path.basename(path)}.treceval.part"


def check_request(request: Request) -> None:
    """Refuse what would stop the work at its end, before it begins.

    Raises
    ------
    RunnerError
        Nothing is asked for, or the tag cannot stand in a run.
    OutputError
        The run file could not be written.
    """
    if request.k < 1:
        raise RunnerError(f"{request.k} documents a query are no run", "Ask for 1 or more.")
    check_tag(request.tag)
    if isinstance(request.retriever, Bm25):
        check_bm25(request.retriever)
    _check_output(request.output, request.collection)
    if isinstance(request.retriever, Dense) and os.path.exists(request.work) and not os.path.isdir(request.work):
        raise OutputError("the work folder is a file", "Name another.", file=request.work)


def _check_output(output: str, collection: Collection) -> None:
    """Refuse a run file that could not be written, or would be written over the collection."""
    folder = os.path.dirname(os.path.realpath(output))
    beside = [output, f"{output}.json", f"{output}.qrels", os.path.join(folder, _part_of(output))]
    sources = [collection.corpus.name, collection.queries.name, collection.qrels_name or ""]
    for path in beside:
        if path in {"", "-"} or (_exists(path) and not os.path.isfile(path)):
            raise OutputError("a run is a file, with its record beside it", "Name a file.", file=path or "''")
        if os.path.exists(path) and any(os.path.samefile(path, each) for each in sources if os.path.exists(each)):
            raise OutputError("the run would take the place of the collection's file", "Name another.", file=path)
    if not os.path.isdir(folder):
        raise OutputError("the folder of the run file is not there", "Make it, or name another.", file=output)
    if not os.access(folder, os.W_OK):
        raise OutputError("the folder of the run file cannot be written", "Name another.", file=output)
    if output.endswith((".zst", ".zstd")):
        open_zstd(io.BytesIO(), output, "wb").close()  # which says so when its package is missing


def _exists(path: str) -> bool:
    """Say whether there is something of a name, and refuse a name that no file can have."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror or error}", "Name another file.", file=path) from None
    return True


def _check_packages(retriever: Retriever) -> None:
    """Refuse what a missing package would stop after the texts were read, or encoded."""
    needed = ["pyarrow"]
    if isinstance(retriever, Dense):
        needed += ["torch", "FlagEmbedding", "faiss"]
    else:
        needed += ["scipy", "bm25s"] if isinstance(retriever, Bm25) else ["scipy"]
    for package in needed:
        if not _is_installed(package):
            what = f"retrieval needs the package {package}, which is not installed"
            raise RunnerError(what, INSTALL)
    if isinstance(retriever, Dense) and retriever.ray is not None and not _is_installed("ray"):
        raise RunnerError("a cluster needs the package ray, which is not installed", "pip install 'treceval-py[ray]'")


def _is_installed(package: str) -> bool:
    """Say whether a package could be imported, without the seconds that importing it takes."""
    try:
        return find_spec(package) is not None
    except ValueError:  # it was imported in part
        return False


def look(request: Request, reporter: Reporter = SILENT) -> Surveys:
    """Read the texts of a request once: how many there are, whether their ids can be used, what they are."""
    size = request.retriever.shard_size if isinstance(request.retriever, Dense) else SHARD_SIZE
    found = []
    for side, texts in (("queries", request.collection.queries), ("passages", request.collection.corpus)):
        reporter.begin(f"read {side}", texts.known_count(), side)
        found.append(survey(texts, size, reporter))
        reporter.end()
    return Surveys(queries=found[0], passages=found[1])


def made_of(dense: Dense, side: Side) -> dict[str, Any]:
    """Return what decides the vectors of a side, for its manifest."""
    return identity(dense.model, dense.settings, side)


def storage_of(dense: Dense, side: Side) -> str:
    """Return how the vectors of a side are stored: queries take no room that is worth a digit."""
    return dense.storage if side == "passages" else "float32"


def folder_of(request: Request, side: Side, looked: Survey) -> str:
    """Return where the embeddings of a side are: those of each set of queries have a folder of their own."""
    if side == "passages":
        return os.path.join(request.work, side)
    return os.path.join(request.work, side, looked.sha256[:12])


Parts: TypeAlias = "tuple[Iterator[Ranked], Ids, dict[str, Any]]"


def _dense(request: Request, dense: Dense, looked: Surveys, watch: _Clock) -> Parts:
    """Encode and search; what is found is on disk until it is written."""
    # Both are opened before either is encoded, so that what does not fit is refused before anything is spent.
    passages = _opened(request, dense, "passages", looked.passages, watch)
    queries = _opened(request, dense, "queries", looked.queries, watch)
    before = {"passages": passages.done(), "queries": queries.done()}
    with _cluster(dense):
        with _Makers(dense) as makers:
            _encode(queries, "queries", request.collection.queries, makers, watch)
            _encode(passages, "passages", request.collection.corpus, makers, watch)
        k = min(request.k, looked.passages.count)
        engine, about = _engine(request, dense, passages, watch)
        # Not by the names of files: a work folder may be moved.
        how = {name: each for name, each in about.items() if name != "file"}
        key = _short([passages.content(), queries.content(), k, dense.similarity, how, GROUP])
        folder = os.path.join(request.work, "search", key)
        with folder_errors(folder):
            os.makedirs(folder, exist_ok=True)
        parts = _search(engine, queries, k, folder, looked.passages.count, watch)
    told = {
        "queries": _about_store(queries),
        "passages": _about_store(passages),
        "search": about,
        "taken_over": before,
    }
    return _read_parts(parts, queries), passages.ids(), told


def _clear_search(work: str) -> None:
    """Remove what searches left, of this run and of others that were stopped, and nothing else."""
    folder = os.path.join(work, "search")
    for key in os.listdir(folder) if os.path.isdir(folder) else ():
        within = os.path.join(folder, key)
        if not re.fullmatch("[0-9a-f]{16}", key) or not os.path.isdir(within):
            continue
        for name in os.listdir(within):
            if _PART.fullmatch(name) or re.fullmatch(r"[0-9]{5}\.part", name):
                os.unlink(os.path.join(within, name))
        with suppress(OSError):  # somebody else's file is in it
            os.rmdir(within)
    with suppress(OSError):
        os.rmdir(folder)


def _opened(request: Request, dense: Dense, side: Side, looked: Survey, watch: _Clock) -> Store:
    """Open the embeddings of a side, and check what is there."""
    store = open_store(folder_of(request, side, looked), made_of(dense, side), looked, storage_of(dense, side))
    if store.shards:
        store.check_files(watch, side)
    return store


def _encode(store: Store, side: Side, texts: Texts, makers: _Makers, watch: _Clock) -> None:
    """Encode the texts that have no vectors yet."""
    looked = store.survey
    wanted = set(store.missing())
    if wanted:
        pool = makers.pool(watch)
        for sentence in pool.notes:
            watch.note(sentence)
        watch.begin(f"encode {side}", looked.count, side, store.done())
        wanted_chunks = (chunk for chunk in chunks(texts, looked.shard_size) if chunk.number in wanted)
        for chunk, vectors, by in pool.encode(wanted_chunks, side, watch.advance):
            store.add(chunk, vectors, by)
        watch.end()
        for sentence in pool.notes:  # it may have more to say by now, of a batch that had to shrink for example
            watch.note(sentence)
    if store.missing():
        raise RunnerError("the texts changed while they were read", "Start again.", file=looked.name)
    if len(store.makers()) > 1:
        watch.note(
            f"The embeddings of the {side} were made in {len(store.makers())} different ways (devices, batch sizes or "
            "versions; the manifest lists them): their last digits may differ from those made in one."
        )


@contextmanager
def _cluster(dense: Dense) -> Iterator[None]:
    """Hold the connection with a cluster, if one is to be used, for encoding and search alike."""
    if dense.ray is None:
        yield
        return
    from treceval_py.retrieval.distributed import connected

    with connected(dense.ray):
        yield


def _short(value: object) -> str:
    """Return a name for what a value says."""
    return hashlib.sha256(canonical(value)).hexdigest()[:16]


class _Makers:
    """The pool that encodes, made when the first text needs it, for queries and passages alike."""

    def __init__(self, dense: Dense) -> None:
        self._dense = dense
        self._pool: Pool | None = None

    def __enter__(self) -> _Makers:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.close()

    def pool(self, watch: _Clock) -> Pool:
        if self._pool is None:
            where = (
                "cluster" if self._dense.ray is not None else "device" if len(self._dense.devices) == 1 else "devices"
            )
            watch.begin("load the model", None, where)
            self._pool = self._made()
            watch.advance(max(len(self._dense.devices), 1))
            watch.end()
        return self._pool

    def _made(self) -> Pool:
        dense = self._dense
        if dense.ray is not None:
            from treceval_py.retrieval.distributed import RayPool

            return RayPool(dense.model, dense.settings, address=dense.ray, batch_size=dense.batch_size)
        from treceval_py.retrieval.pools import Here, Processes

        kind = Here if len(dense.devices) == 1 else Processes
        return kind(dense.model, dense.settings, list(dense.devices), dense.batch_size)


Engine: TypeAlias = "Callable[[AnyArray, int, Callable[[int], None]], Any]"


def _engine(request: Request, dense: Dense, passages: Store, watch: _Clock) -> tuple[Engine, dict[str, Any]]:
    """Return what finds the k best passages for vectors of queries, and what it is for the record."""
    vectors = passages.vectors()
    if dense.index is not None:
        return _indexed(request, dense.index, passages, watch)
    about = {"kind": "exact", "similarity": dense.similarity, "faiss": _version_of("faiss-cpu")}
    if dense.ray is not None:
        from treceval_py.retrieval.distributed import search_with_ray

        return (lambda queries, k, advance: search_with_ray(vectors, queries, k, dense.similarity, advance)), about
    from treceval_py.retrieval.exact import search

    return (lambda queries, k, advance: search(vectors, queries, k, dense.similarity, advance)), about


def check_index(dense: Dense, count: int) -> None:
    """Refuse an index that could not be built for so many vectors, or searched so, before they are encoded.

    Raises
    ------
    RunnerError
        The factory is none, needs more vectors for its training, or has no such parameters.
    """
    if dense.index is not None:
        from treceval_py.retrieval import indexing

        indexing.check(dense.index, dense.dimensions, count)


def _indexed(
    request: Request, settings: IndexSettings, passages: Store, watch: _Clock
) -> tuple[Engine, dict[str, Any]]:
    """Build or load the index, and return what searches it."""
    from treceval_py.retrieval import indexing

    made = {
        "factory": settings.factory, "similarity": settings.similarity, "training": settings.training,
        "embeddings": passages.content(), "faiss": _version_of("faiss-cpu"),
    }  # fmt: skip
    path = os.path.join(request.work, "index", f"{_short(made)}.faiss")
    record = f"{path}.json"
    if not (os.path.exists(record) and os.path.exists(path)):
        _make_room(os.path.dirname(path))
        digest = indexing.build(settings, passages.vectors(), path, watch).sha256
        write_json(record, {**made, "sha256": digest})
    else:
        digest = _check_index(path, record, made)
    index = indexing.load(path)

    def engine(queries: AnyArray, k: int, advance: Callable[[int], None]) -> Any:
        found = indexing.search_index(index, queries, k, settings.similarity, settings.parameters)
        advance(passages.survey.count)
        return found

    return engine, {
        "kind": "index", "factory": settings.factory, "similarity": settings.similarity,
        "parameters": settings.parameters, "training": settings.training, "file": path,
        "sha256": digest, "faiss": made["faiss"],
    }  # fmt: skip


def _make_room(folder: str) -> None:
    """Make the folder of indexes, and remove what builds left that were killed."""
    with folder_errors(folder):
        os.makedirs(folder, exist_ok=True)
        for name in os.listdir(folder):
            if re.fullmatch(r"[0-9a-f]{16}\.faiss(\.json)?\.part", name):
                os.unlink(os.path.join(folder, name))


def _check_index(path: str, record: str, made: dict[str, Any]) -> str:
    """Refuse an index that is not what its record says; return its SHA-256."""
    import json

    again = "Remove it to build it again."
    try:
        with open(record, "rb") as stream:
            kept = json.loads(stream.read())
        digest = kept.pop("sha256", None) if isinstance(kept, dict) else None
    except (OSError, ValueError) as error:
        raise RunnerError(f"the record of the index cannot be read: {error}", again, file=record) from None
    if kept != made:
        raise RunnerError("the record of the index was edited", again, file=record)
    found = digest_of_file(path)
    if found != digest:
        raise RunnerError("the index is truncated or was changed since it was built", again, file=path)
    return found


def _search(engine: Engine, queries: Store, k: int, folder: str, count: int, watch: _Clock) -> list[str]:
    """Search the groups of queries that have no file yet, and return the files of all groups."""
    total = queries.survey.count
    groups = range(0, total, GROUP)
    names = [name for name in sorted(os.listdir(folder)) if _PART.fullmatch(name)]
    there = {name[:5]: os.path.join(folder, name) for name in names if os.path.isfile(os.path.join(folder, name))}
    paths = {start: there.get(f"{start // GROUP:05d}", "") for start in groups}
    for start, path in paths.items():
        if path and not _is_whole(path):
            paths[start] = ""
    missing = [start for start in groups if not paths[start]]
    watch.begin("search", count * len(groups), "passages", count * (len(groups) - len(missing)))
    for start, vectors in queries.vectors().blocks(GROUP) if missing else ():
        if not paths[start]:
            found = engine(vectors, k, watch.advance)
            paths[start] = _write_part(folder, start // GROUP, found.scores, found.positions)
    watch.end()
    return [paths[start] for start in groups]


def _write_part(folder: str, number: int, scores: AnyArray, positions: AnyArray) -> str:
    """Write what was found for a group of queries; the name has a hash of the number and the content."""
    packed = io.BytesIO()
    np.savez(packed, scores=scores, positions=positions)
    content = packed.getvalue()
    digest = hashlib.sha256(b"%05d" % number + hashlib.sha256(content).digest()).hexdigest()
    path = os.path.join(folder, f"{number:05d}-{digest[:16]}.npz")
    with written_whole(path, part=f"{number:05d}.part") as stream:
        stream.write(content)
    return path


def _is_whole(path: str) -> bool:
    """Say whether a file of a group has the number and the content that its name says."""
    name = os.path.basename(path)
    digest = hashlib.sha256(name[:5].encode() + bytes.fromhex(digest_of_file(path))).hexdigest()
    return digest[:16] == name[6:22]


def _read_parts(paths: Sequence[str], queries: Store) -> Iterator[Ranked]:
    """Read what was found, a group at a time."""
    ids = queries.ids()
    for number, path in enumerate(paths):
        with np.load(path) as part:
            scores, positions = part["scores"], part["positions"]
        start = number * GROUP
        yield Ranked(ids.text(start, start + len(scores)), positions, scores)


def _lexical(request: Request, retriever: Bm25 | Jaccard, looked: Surveys, watch: _Clock) -> Parts:
    """Rank by words."""
    queries = list(_as_surveyed(request.collection.queries, looked.queries, []))
    k = min(request.k, looked.passages.count)
    ids: list[bytes] = []
    corpus = _as_surveyed(request.collection.corpus, looked.passages, ids)
    if isinstance(retriever, Jaccard):
        about: dict[str, Any] = {"kind": "jaccard"}
        ranked = rank_jaccard(corpus, queries, k, watch.advance)
    else:
        about = {"kind": "bm25", **retriever._asdict(), "bm25s": _version_of("bm25s")}
        ranked = rank_bm25(corpus, queries, k, retriever, watch.advance)
    # Both read the whole corpus before their first group comes out, so the ids are all there then.
    groups = watch.through("rank", looked.passages.count, "passages", ranked)
    return groups, Ids.from_bytes(ids), {"search": about}


def _as_surveyed(texts: Texts, looked: Survey, ids: list[bytes]) -> Iterator[tuple[str, str]]:
    """Yield texts as they were surveyed, and gather their ids; texts that changed are refused."""
    count = 0
    for chunk in chunks(texts, looked.shard_size):
        check_chunk(chunk, looked)
        count += 1
        ids.extend(map(encode, chunk.ids))
        yield from zip(chunk.ids, chunk.texts, strict=True)
    if count != looked.chunk_count:
        raise RunnerError("the texts changed while they were read", "Start again.", file=looked.name)


class _Clock:
    """A reporter that hands on, and keeps the seconds of each stage and the notes."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self._stage = ""
        self._since = 0.0
        self.seconds: dict[str, float] = {}
        self.notes: list[str] = []

    def begin(self, stage: str, total: int | None, unit: str, done: int = 0) -> None:
        self._stage, self._since = stage, time.monotonic()
        self._reporter.begin(stage, total, unit, done)

    def advance(self, count: int) -> None:
        self._reporter.advance(count)

    def end(self) -> None:
        self.seconds[self._stage] = self.seconds.get(self._stage, 0.0) + time.monotonic() - self._since
        self._reporter.end()

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)
            self._reporter.note(text)

    def through(self, stage: str, total: int, unit: str, parts: Iterator[Ranked]) -> Iterator[Ranked]:
        """Yield parts, the first of which ends a stage; the time that the others take counts to it as well."""
        self.begin(stage, total, unit)
        first = next(parts, None)
        self.end()

        def rest() -> Iterator[Ranked]:
            if first is not None:
                yield first
            while True:
                since = time.monotonic()
                part = next(parts, None)
                taken = time.monotonic() - since
                self.seconds[stage] += taken
                self._since += taken  # so much less for the stage that this happens in
                if part is None:
                    return
                yield part

        return rest()


def _remarks(looked: Surveys, written: Written) -> Iterator[str]:
    """Say what the run lacks."""
    for side, seen in (("passages", looked.passages), ("queries", looked.queries)):
        if seen.empty:
            yield f"{seen.empty:,} of {seen.count:,} {side} are empty."
    if written.without_hits:
        yield f"{written.without_hits:,} of {looked.queries.count:,} queries found nothing and have no line in the run."
    if written.short:
        yield (
            f"{written.short:,} of {looked.queries.count:,} queries have fewer documents than asked for "
            f"({written.missing:,} lines in all)."
        )


def _about_store(store: Store) -> dict[str, Any]:
    return {
        "folder": store.folder, "made": store.made, "storage": store.storage, "vectors": [
            store.survey.count, store.dimensions], "sha256": store.content(), "shards": len(store.shards),
        "shard_size": store.survey.shard_size, "by": store.makers(),
    }  # fmt: skip


def _about_texts(looked: Survey) -> dict[str, Any]:
    return {
        "name": looked.name, "count": looked.count, "characters": looked.characters, "empty": looked.empty,
        "sha256": looked.sha256, "shard_size": looked.shard_size,
    }  # fmt: skip


def _record(
    request: Request, looked: Surveys, written: Written, about: dict[str, Any], watch: _Clock, begun: datetime,
    command: Sequence[str],
) -> dict[str, Any]:  # fmt: skip
    """Return all that the run came from."""
    collection = request.collection
    return {
        "run": {
            "file": request.output, "sha256": digest_of_file(request.output), "tag": request.tag, "k": request.k,
            **written._asdict(),
        },
        "command": list(command),
        "collection": {
            "name": collection.name, "passages": _about_texts(looked.passages),
            "queries": _about_texts(looked.queries), "qrels": collection.qrels_name, "notes": list(collection.notes),
        },
        **about,
        "versions": _versions(request.retriever),
        "machine": {
            "system": platform.platform(), "processor": platform.machine(), "cores": os.cpu_count(),
            "python": platform.python_version(),
        },
        "begun": begun.isoformat(timespec="seconds"),
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": {stage: round(seconds, 3) for stage, seconds in watch.seconds.items()},
        "notes": watch.notes,
    }  # fmt: skip


def _versions(retriever: Retriever) -> dict[str, str]:
    names = ["numpy", "pyarrow"]
    if isinstance(retriever, Dense):
        names += ["FlagEmbedding", "torch", "transformers", "tokenizers", "faiss-cpu"]
        names += ["ray"] if retriever.ray is not None else []
    elif isinstance(retriever, Bm25):
        names += ["bm25s"]
    return {"treceval_py": __version__, **{name: _version_of(name) for name in names}}


def _version_of(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed" if package != "faiss-cpu" else _faiss_by_itself()


def _faiss_by_itself() -> str:
    """Return the version of a faiss that came under another name, such as one for GPUs."""
    try:
        import faiss  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        return "not installed"
    return str(faiss.__version__)
