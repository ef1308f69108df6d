"""The stages from a collection to a run file; each reuses existing results.

texts → survey → embeddings of queries and passages (`shards`) → search, in groups of queries → run file, and a record
in JSON beside it. The work folder has ``queries/``, ``passages/``, ``index/`` and ``search/``; every file gets
its name when it is complete, so the same call resumes a run that was killed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from treceval_py.corpora.reporting import SILENT, Logbook, Reporter
from treceval_py.corpora.texts import Chunk, Survey, Texts, survey
from treceval_py.data.ids import Ids, encode
from treceval_py.errors import RunnerError
from treceval_py.io.digests import digest_of_file
from treceval_py.retrieval import exact, indexing
from treceval_py.retrieval.collection import Collection
from treceval_py.retrieval.engines import PACKAGES, Reranker, encoder_maker
from treceval_py.retrieval.external import Embedded, Imported
from treceval_py.retrieval.hub import ENCODING, check_packages
from treceval_py.retrieval.indexing import IndexSettings
from treceval_py.retrieval.lexical import Bm25, about_bm25, analyser, rank_bm25, rank_jaccard
from treceval_py.retrieval.models import Model, Settings, Side, identity
from treceval_py.retrieval.parts import Parts, key_of
from treceval_py.retrieval.pool import Pool, Task, connected, loaded
from treceval_py.retrieval.reranking import Outcome, rerank
from treceval_py.retrieval.shards import Store, as_surveyed, deciding, locked, read_manifest
from treceval_py.retrieval.vectors import SparseVectors
from treceval_py.runs.record import provenance, read_json, read_sidecar, version_of, write_json, write_sidecar
from treceval_py.runs.writing import SearchResults, check_output, check_tag, write_search_results

SHARD_SIZE = 10_000
"""Most texts in a shard: some seconds of a GPU."""

LEAST_SHARD = 100
"""Fewest texts of a full shard, however large the model is."""

MINUTE = 450e9
"""Texts times bytes of weights in a shard of a CPU: 1,000 texts with bge-base, 47 seconds on two cores as measured."""

GROUP = 2048
"""Queries searched together: a kill can cost this much of the search."""


@dataclass(frozen=True, slots=True)
class Dense:
    """Retrieval by the vectors of a model; by sparse ones, weights of words, if the model's ``kind`` is sparse.

    Attributes
    ----------
    model : Model
        From `find_model`.
    settings : Settings
        From `settings_for`.
    devices : sequence of str
        Devices to encode on, such as ``("cuda:0", "cuda:1")``.
    batch_size : int, optional
        Texts to encode at once. Default: a number that suits each device.
    similarity : str
        ``inner-product``, ``cosine`` or ``l2``.
    index : IndexSettings, optional
        A Faiss index in place of exact search.
    ray : str, optional
        The address of a Ray cluster, where encoding and exact search are done.
    engine : str, optional
        The package that runs the model: ``flagembedding`` or ``sentence-transformers``. Default: what suits the model.
    """

    model: Model
    settings: Settings
    devices: Sequence[str]
    batch_size: int | None = None
    similarity: str = "inner-product"
    index: IndexSettings | None = None
    ray: str | None = None
    engine: str | None = None

    @property
    def dimensions(self) -> int:
        """Return the length of the vectors, E."""
        return self.model.dimensions

    @property
    def sparse(self) -> bool:
        """Say whether the vectors are sparse."""
        return self.model.kind == "sparse"


class Jaccard(NamedTuple):
    """Retrieval by the Jaccard similarity of the sets of words; it has no settings."""


Retriever: TypeAlias = "Dense | Imported | Bm25 | Jaccard"


NEEDED: dict[type, tuple[tuple[str, ...], tuple[str, ...]]] = {
    Dense: (ENCODING, (*PACKAGES, "pyarrow", "FlagEmbedding", "sentence-transformers", "faiss-cpu", "ray")),
    Imported: (("faiss",), ("numpy", "pyarrow", "faiss-cpu", "ray")),
    Bm25: (("scipy",), ("numpy", "pyarrow", "scipy", "bm25s", "PyStemmer", "regex")),
    Jaccard: (("scipy",), ("numpy", "pyarrow", "scipy")),
}
"""Packages without which a retriever cannot begin, as Python calls them, and those whose versions are recorded."""


class Request(NamedTuple):
    """A run to make.

    Attributes
    ----------
    collection : Collection
        From `open_collection`.
    output : str
        The run file; its extension selects compression. `embed` needs none: ``""``.
    work : str
        The folder that keeps embeddings and indexes. Lexical retrieval needs none.
    retriever : Dense, Imported, Bm25 or Jaccard
        How to rank.
    k : int
        Documents a query.
    tag : str
        The last column of the run file.
    paths : bool
        Record files with their folders, and the folder that relative paths start from.
    reranker : Reranker, optional
        Reranks the first documents; the run of the first stage is then kept in the work folder.
    """

    collection: Collection
    output: str
    work: str
    retriever: Retriever
    k: int = 1000
    tag: str = "treceval"
    paths: bool = True
    reranker: Reranker | None = None

    @property
    def texts(self) -> dict[Side, Texts]:
        """Return the texts of queries and of passages."""
        return {"queries": self.collection.queries, "passages": self.collection.corpus}


Surveys: TypeAlias = "dict[Side, Survey]"
"""Surveys of the texts of queries and of passages, from one pass over them."""


class Hits(NamedTuple):
    """The hits of a retriever in groups of queries, the ids of the passages, and the record."""

    ranked: Iterator[SearchResults]
    ids: Ids
    about: dict[str, Any]
    parts: Parts | None = None


def retrieve(request: Request, reporter: Reporter = SILENT, command: Sequence[str] = ()) -> Outcome:
    """Make a run file and the record beside it (``RUN.json``), resuming an earlier call.

    Parameters
    ----------
    request : Request
        The request.
    reporter : Reporter
        Receives progress and notes.
    command : sequence of str
        The command line, for the record.

    Returns
    -------
    Outcome
        The record and notes.

    Raises
    ------
    RunnerError
        The work folder has embeddings of other texts or settings, a model cannot be used, a package is missing.
    InputError
        The collection cannot be read.
    OutputError
        A file cannot be written.
    """
    check_request(request)
    check_output(request.output, request.collection.sources)
    log, retriever, collection, tag = Logbook(reporter), request.retriever, request.collection, request.tag
    # Before the texts are read, which takes a while: somebody else may be at work already.
    uses_work = isinstance(retriever, Dense | Imported) or request.reranker is not None
    with locked(request.work) if uses_work else nullcontext():
        looked = look(request, log)
        if request.reranker is None:
            return _retrieved(request, looked, log, command)
        # The name of the run that is reranked has a hash of all that decides it.
        texts = [looked["passages"].sha256, looked["queries"].sha256]
        run = os.path.join(request.work, "first", f"{key_of([*texts, request.k, repr(retriever), tag])}.txt")
        if read_sidecar(run) is None:
            os.makedirs(os.path.dirname(run), exist_ok=True)
            _retrieved(request._replace(output=run), looked, log, command)
        if not os.path.getsize(run):
            return _retrieved(request, looked, log, command)  # nothing was found, so there is nothing to rerank
    done = rerank(
        run, request.output, request.reranker, corpus=collection.corpus, queries=collection.queries,
        work=request.work, tag=tag, reporter=log, command=command, paths=request.paths,
    )  # fmt: skip
    return done._replace(notes=tuple(log.notes))


def _retrieved(request: Request, looked: Surveys, log: Logbook, command: Sequence[str]) -> Outcome:
    """Retrieve, and write the run and its record."""
    begun, collection, count = datetime.now(UTC), request.collection, looked["queries"].count
    if isinstance(request.retriever, Dense | Imported):
        hits = _by_vectors(request, request.retriever, looked, log)
    else:
        hits = _by_words(request, request.retriever, looked, log)
    k = min(request.k, len(hits.ids))
    written, run = write_search_results(
        request.output, hits.ranked, hits.ids, request.tag, k=k, queries=count, reporter=log
    )
    texts: dict[str, Any] = {}
    for side, seen in looked.items():
        facts = {key: value for key, value in seen._asdict().items() if key not in {"hashes", "sizes"}}
        texts[side] = {"sha256": seen.sha256, **facts}
        if seen.empty:
            log.note(f"{seen.empty:,} of {seen.count:,} {side} are empty.")
    if written.without_hits:
        log.note(f"{written.without_hits:,} of {count:,} queries found nothing and have no line in the run.")
    if written.short:
        few = f"{written.short:,} of {count:,} queries have fewer documents than asked for"
        log.note(f"{few} ({written.missing:,} lines are missing in all).")
    record = {
        "run": {**run, "k": request.k},
        "collection": {
            "name": collection.name, **texts, "qrels": collection.qrels_name, "notes": list(collection.notes),
        },
        **hits.about,
        **provenance(command, begun, NEEDED[type(request.retriever)][1], paths=request.paths),
        "seconds": {stage: round(seconds, 3) for stage, seconds in log.seconds.items()},
        "notes": log.notes,
    }  # fmt: skip
    record = write_sidecar(request.output, record, paths=request.paths)
    # Only now, with the run and its record in place, can what was found be thrown away.
    if hits.parts is not None:
        hits.parts.clear()
    return Outcome(record, written, tuple(log.notes))


# Before


def check_request(request: Request) -> None:
    """Refuse what would stop the work at its end, before it begins.

    Parameters
    ----------
    request : Request
        The request.

    Raises
    ------
    RunnerError
        A package is missing, settings do not fit together, no documents are requested, or the tag is not possible in
        a run.
    """
    retriever, k = request.retriever, request.k
    if k < 1:
        raise RunnerError(f"{k} documents per query are asked for", "Ask for 1 or more.")
    check_tag(request.tag)
    ray = ["ray"] if isinstance(retriever, Dense | Imported) and retriever.ray is not None else []
    check_packages("pyarrow", *NEEDED[type(retriever)][0], *ray)
    if isinstance(retriever, Bm25):
        analyser(retriever)
    if isinstance(retriever, Dense):
        if retriever.model.kind == "reranker":
            kind = "the model was found as a reranker, which makes no vectors"
            raise RunnerError(kind, "Give it to a Reranker.", file=retriever.model.name)
        encoder_maker(retriever.model, retriever.settings, retriever.batch_size, retriever.engine)  # only to check it
        if retriever.sparse and retriever.index is not None:
            raise RunnerError("Faiss has no index for sparse vectors", "Search them exactly.")
    if request.reranker is not None:
        if isinstance(retriever, Imported):
            raise RunnerError("vectors have no texts to rerank", "Rerank their run with the corpus: treceval rerank.")
        request.reranker.check()


def look(request: Request, reporter: Reporter = SILENT) -> Surveys:
    """Read the texts of a request once: count them, check their ids, hash them."""
    looked: Surveys = {}
    for side, texts in request.texts.items():
        size = _shard_size(request, request.retriever, side) if isinstance(request.retriever, Dense) else SHARD_SIZE
        reporter.begin(f"read {side}", texts.known_count(), side)
        looked[side] = survey(texts, size, reporter)
        reporter.end()
    return looked


def _shard_size(request: Request, dense: Dense, side: Side) -> int:
    """Return the most texts in a shard: about a minute's work, or what existing shards have."""
    if side == "passages":
        manifest = read_manifest(os.path.join(request.work, side))
        if manifest.shards:
            return manifest.shard_size
        if set(dense.devices) != {"cpu"}:
            return SHARD_SIZE
    # Queries are few, and the hashes of their chunks name their folder, which must not depend on the device.
    size = min(max(MINUTE / max(dense.model.bytes, 1), LEAST_SHARD), SHARD_SIZE)
    return int(float(f"{size:.0e}"))


# Vectors of a model


def store_of(request: Request, dense: Dense, side: Side, looked: Survey) -> Store:
    """Return the embeddings of a side, not yet compared with the folder."""
    folder, made = os.path.join(request.work, side), identity(dense.model, dense.settings, side)
    if side == "queries":
        # Each set of queries with each way to encode it has a folder of its own.
        folder = os.path.join(folder, key_of([looked.sha256, deciding(made)]))
    return Store(folder, made, looked, request.texts[side])


def embed(request: Request, reporter: Reporter = SILENT) -> dict[str, Any]:
    """Encode the texts of a request as `retrieve` does, without searching or writing a run.

    Parameters
    ----------
    request : Request
        The request. Its retriever must be `Dense`.
    reporter : Reporter
        Receives progress and notes.

    Returns
    -------
    dict
        For ``queries`` and ``passages``: the folder, the number of vectors and their length, who made them;
        ``sources`` of the settings, ``taken_over``, the numbers of vectors that were there, and ``notes``.

    Raises
    ------
    RunnerError
        As in `retrieve`; or the retriever is another.
    """
    dense = request.retriever
    if not isinstance(dense, Dense):
        raise RunnerError("this retriever does not encode texts", "Give a Dense one.")
    check_request(request)
    log = Logbook(reporter)
    with locked(request.work), connected(dense.ray) if dense.ray is not None else nullcontext():
        _, about = _encoded(request, dense, look(request, log), log)
    return {**about, "notes": log.notes}


def _encoded(request: Request, dense: Dense, looked: Surveys, log: Logbook) -> tuple[dict[Side, Store], dict[str, Any]]:
    """Return the embeddings of queries and passages, and their record."""
    # Both are opened before either is encoded, so that what does not fit is refused before anything is spent; passages
    # first, as queries that do not fit have another folder.
    stores = {side: store_of(request, dense, side, looked[side]).open() for side in sorted(looked)}
    before = {side: store.done() for side, store in stores.items()}
    for side, store in stores.items():
        if before[side]:
            store.check_files(log, side)
    if left := [side for side in looked if stores[side].missing()]:
        maker = encoder_maker(dense.model, dense.settings, dense.batch_size, dense.engine)
        with loaded(maker, dense.devices, dense.ray, "load the model", log) as pool:
            for side in left:
                _encode(stores[side], side, pool, log)
    about: dict[str, Any] = {"sources": dense.settings.sources, "taken_over": before}
    for side, store in stores.items():
        about[side] = {
            "folder": store.folder, "made": store.made, "sha256": store.content(),
            "vectors": [store.survey.count, store.dimensions], "shards": len(store.names),
            "shard_size": store.survey.shard_size, "by": (ways := store.makers()),
        }  # fmt: skip
        if len(ways) > 1 or dense.engine not in {None, str(ways[0].get("engine")).lower()}:
            log.note(
                f"Some embeddings of the {side} were made in another way than the others, or than asked for (engine, "
                "device, batch size, versions: the manifest lists them), so their last digits may differ."
            )
    return stores, about


def _encode(store: Store, side: Side, pool: Pool, log: Logbook) -> None:
    """Encode the texts that have no vectors yet; each shard is written while the next ones are encoded."""
    log.begin(f"encode {side}", store.survey.count, side, store.done())
    tasks = (Task(chunk.number, (chunk.texts, chunk.ids, side), len(chunk.ids)) for chunk in store.wanted())
    # One thread writes, and at most one shard waits for it: a kill must not cost more. Its errors are raised here.
    with ThreadPoolExecutor(1) as writer:
        writing: Any = writer.submit(int)  # nothing yet
        for (number, (texts, ids, _), _), vectors, by in pool.run(tasks, log.advance):
            writing.result()
            chunk = Chunk(number, ids, texts, store.survey.hashes[number])
            writing = writer.submit(store.add, chunk, vectors, by)
        writing.result()
    log.end()
    for note in pool.notes:
        log.note(note)


# Search


def _by_vectors(request: Request, retriever: Dense | Imported, looked: Surveys, log: Logbook) -> Hits:
    """Encode texts without vectors, and search in groups of queries; hits are kept on disk until the run is written."""
    if retriever.index is not None:
        # What cannot be built or searched so is refused before hours are spent.
        indexing.check(retriever.index, retriever.dimensions, looked["passages"].count)
    sides: Mapping[Side, Store | Embedded]
    with connected(retriever.ray) if retriever.ray is not None else nullcontext():  # for encoding and search alike
        if isinstance(retriever, Dense):
            sides, about = _encoded(request, retriever, looked, log)
        else:
            sides, about = {"queries": retriever.queries, "passages": retriever.passages}, retriever.look(log)
        queries, passages = sides["queries"], sides["passages"]
        count, k = passages.vectors().count, min(request.k, passages.vectors().count)
        engine, about["search"] = _engine(request, retriever, passages, log)
        key = key_of([passages.content(), queries.content(), k, retriever.similarity, about["search"], GROUP])
        groups = -(-queries.vectors().count // GROUP)
        parts = Parts(os.path.join(request.work, "search", key), groups)
        missing = parts.missing()
        log.begin("search", count * groups, "passages", count * (groups - len(missing)))
        for first, vectors in queries.vectors().blocks(GROUP):
            if first // GROUP in missing:
                best = engine(vectors, k, advance=log.advance)
                parts.write(first // GROUP, scores=best.scores, positions=best.positions)
        log.end()
    qids, firsts = queries.ids(), range(0, queries.vectors().count, GROUP)
    ranked = (SearchResults(qids.text(first, first + GROUP), **parts.read(first // GROUP)) for first in firsts)
    return Hits(ranked, passages.ids(), about, parts)


def _engine(
    request: Request, retriever: Dense | Imported, passages: Store | Embedded, log: Logbook
) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Return what finds the best passages for vectors of queries, and its record; an index is built or loaded."""
    vectors: Any = passages.vectors()
    if isinstance(vectors, SparseVectors):
        return partial(exact.search_sparse, vectors), {"kind": "sparse product", "scipy": version_of("scipy")}
    if (settings := retriever.index) is None:
        search = exact.search if retriever.ray is None else exact.search_with_ray
        about: dict[str, Any] = {"kind": "exact", "similarity": retriever.similarity, "faiss": version_of("faiss-cpu")}
        return partial(search, vectors, similarity=retriever.similarity), about
    made: dict[str, Any] = {
        "factory": settings.factory, "similarity": settings.similarity, "embeddings": passages.content(),
        "faiss": version_of("faiss-cpu"),
    }  # fmt: skip
    path = os.path.join(request.work, "index", f"{key_of(made)}.faiss")
    record = read_json(f"{path}.json") if os.path.exists(path) else None
    if record is None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        record = {**made, "sha256": indexing.build(settings, vectors, path, log)}
        write_json(f"{path}.json", record)
    elif record["sha256"] != digest_of_file(path):
        damage = "the index is truncated or was changed since it was built"
        raise RunnerError(damage, "Remove it to build it again.", file=path)
    index = indexing.Index(path, settings)

    def engine(queries: Any, k: int, advance: Callable[[int], None]) -> Any:
        hits = index.search(queries, k)
        advance(vectors.count)
        return hits

    return engine, {"kind": "index", **record, "parameters": settings.parameters}


def _by_words(request: Request, retriever: Bm25 | Jaccard, looked: Surveys, log: Logbook) -> Hits:
    """Rank by words."""
    queries = list(_pairs(request.collection.queries, looked["queries"], []))
    count, ids = looked["passages"].count, list[bytes]()
    corpus, k = _pairs(request.collection.corpus, looked["passages"], ids), min(request.k, count)
    log.begin("rank", count, "passages")
    if isinstance(retriever, Bm25):
        ranked, about = list(rank_bm25(corpus, queries, k, retriever, log.advance)), about_bm25(retriever)
    else:
        ranked = list(rank_jaccard(corpus, queries, k, log.advance))
        about = {"kind": "jaccard", "words": "between white space, as written"}
    log.end()
    return Hits(iter(ranked), Ids.from_bytes(ids), {"search": about})


def _pairs(texts: Texts, looked: Survey, ids: list[bytes]) -> Iterator[tuple[str, str]]:
    """Yield texts and collect their ids."""
    for chunk in as_surveyed(texts, looked):
        ids.extend(map(encode, chunk.ids))
        yield from zip(chunk.ids, chunk.texts, strict=True)
