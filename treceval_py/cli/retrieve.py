"""``treceval retrieve COLLECTION -o RUN``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from treceval_py.cli.commands import Command
from treceval_py.cli.options import (
    PATHS,
    PROFILE,
    choice,
    flag,
    number,
    option,
    repeatable,
    running_options,
    settings_option,
    tag_of,
    titled,
    usual_choice,
)
from treceval_py.cli.options import given as given_by_user
from treceval_py.cli.printing import note, put, wrote
from treceval_py.cli.rerank import reranker_of
from treceval_py.cli.stages import long_work

if TYPE_CHECKING:
    from treceval_py.measuring.registry import Measure
    from treceval_py.retrieval.collection import Collection
    from treceval_py.retrieval.pipeline import Retriever
    from treceval_py.retrieval.reranking import Outcome
    from treceval_py.scoring.profiles import Profile

MODEL = {"dense": "BAAI/bge-base-en-v1.5", "sparse": "BAAI/bge-m3"}
"""The default model of each retriever that encodes."""

MEASURES = ("AP", "RR@10", "nDCG@10", "R@10", "R@100", "R@1000")
"""Measures printed unless a profile or -m sets others."""

ENCODERS = (
    "model", "revision", "instruction", "passage_instruction", "passage_max_length", "query_max_length", "shard_size",
    "reuse", "shared_work", "embeddings_only",
)  # fmt: skip
"""Options of retrieval by the vectors of a model, dense or sparse."""

DENSE = ("pooling", "dimensions", "normalise", "storage")
"""Options of dense vectors of a model."""

SETTINGS = (
    "pooling", "normalise", "precision", "dimensions", "passage_instruction", "query_max_length", "passage_max_length",
)  # fmt: skip
"""Options of how texts are encoded, as `settings_for` takes them."""

VECTORS = ("index", "similarity", "search_parameters", "training", "passage_embeddings")
"""Options of search by dense vectors."""

RUN = (
    "depth", "tag", "index", "similarity", "search_parameters", "training", "rerank", "profile", "measures", "paths",
    "dry_run",
)  # fmt: skip
"""Options of the steps after encoding."""

TEXTS = ("corpus", "queries", "protocol", "rerank", "precision", "devices", "batch_size")
"""Options that need texts."""

MODELS = ("precision", "devices", "batch_size", "work", "ray")
"""Options of everything that runs a model, including reranking."""

RERANK = ("rerank_depth", "rerank_below", "rerank_max_length")
"""Options of reranking."""

BM25 = {"bm25": "bm25s", "bm25-anserini": "anserini"}
"""The retrievers that are BM25, with their presets."""

OF_BM25 = ("k1", "b", "method", "stopwords", "stemmer")
"""Settings of BM25."""

TUTORIAL = "flagembedding-tutorial"
"""The profile of tutorials that compare texts, not ids, and make nDCG's ideal ranking from what they retrieved."""

INDEX = ("search_parameters", "training")
"""Options of an index."""


def _check(ctx: click.Context) -> dict[str, object]:
    """Return what is wrong: options that would be ignored, and a lack of an output."""
    options = ctx.params
    flags = {parameter.name: max(parameter.opts, key=len) for parameter in ctx.command.params}
    flags |= {name: f"--set {name.replace('_', '-')}" for name in options["settings"]}
    given = given_by_user(ctx).union(options["settings"])
    encodes, by_words = options["retriever"] in MODEL, options["retriever"] in BM25
    conditions = [
        (DENSE + VECTORS, options["retriever"] == "dense", "needs --retriever dense"),
        (ENCODERS, encodes, "needs --retriever dense or sparse"),
        (ENCODERS + DENSE + TEXTS, not options["passage_embeddings"], "cannot be used with --passage-embeddings"),
        (("passage_embeddings",), options["query_embeddings"], "needs --query-embeddings"),
        (("query_embeddings",), options["passage_embeddings"], "needs --passage-embeddings"),
        (RUN, not options["embeddings_only"], "cannot be used with --embeddings-only"),
        (MODELS, encodes or options["rerank"], "needs --retriever dense or sparse, or --rerank"),
        (RERANK, options["rerank"], "needs --rerank"),
        (OF_BM25, by_words, f"needs --retriever {' or '.join(BM25)}"),
        (INDEX, options["index"] is not None, "needs --index"),
        (("devices",), options["ray"] is None, "cannot be used with --ray"),
        (("shared_work",), options["ray"] is not None, "needs --ray"),
        (("shared_work",), options["reuse"] == "shards", "cannot be used with --set reuse=passages"),
        (("probe",), options["dry_run"], "needs --dry-run"),
    ]
    collection = "" if options["source"] or options["passage_embeddings"] else "argument 'COLLECTION' and "
    missing = f"Missing {collection}option '-o': the run to write" + (
        ", or --work FOLDER." if options["embeddings_only"] else "."
    )
    return {
        **{f"{flags[name]} {why}.": not fits for names, fits, why in conditions for name in names if name in given},
        missing: options["output"] is None and not (options["embeddings_only"] and options["work"]),
    }


@click.command("retrieve", cls=Command, peak=(190, 500), check=_check, common="-o --split --retriever --model --rerank")
@click.argument("source", metavar="COLLECTION", default="")
@option("-o --output", "RUN", "Run to write; .gz, .zst, … compresses it.")
@titled("Collection")
@option("--corpus", "FILE", "Passages in place of the collection's.")
@option("--queries", "FILE", "Queries in place of the collection's.")
@option("--qrels", "FILE", "Judgments in place of the collection's.")
@option("--split", "NAME", "Queries: dev.small, test, … [the only ones].")
@usual_choice(
    "--protocol", ["full", "truncated"], "truncated: 100 queries, and what is relevant for 5,000 as corpus [full]."
)
@titled("Ranking")
@usual_choice(
    "--retriever",
    ["dense", "sparse", *BM25, "jaccard"],
    "dense, sparse (SPLADE, bge-m3), bm25, bm25-anserini (as Lucene) or jaccard [dense].",
    metavar="NAME",
)
@number("-k --depth", "Documents per query [1000; of truncated: 10].", least=1)
@option("--rerank", "NAME", "Cross-encoder to rerank with.")
@number("--rerank-depth", "Documents per query to rerank [100].", 100, least=1)
@titled("Running the model")
@option("--model", "NAME", f"On the hub, or a folder [{MODEL['dense']}; sparse: {MODEL['sparse']}].")
@option("--instruction", "TEXT", "Text before each query [the model's own].")
@running_options
@titled("Vectors and indexes")
@option("--index", "FACTORY", "Faiss index: IVF4096,Flat; HNSW32; … [exact].")
@option("--search-parameters", "LIST", "Of the index: nprobe=64, efSearch=256, ….", default="")
@usual_choice(
    "--similarity", ["inner-product", "cosine", "l2"], "inner-product, cosine or l2 [inner-product].", metavar="NAME"
)
@flag("--embeddings-only", "Only encode, into the work folder.")
@option("--passage-embeddings", "PATH", "Search these: .npy with .ids, Parquet, ….")
@option("--query-embeddings", "PATH", "By these queries: .npy with .ids, Parquet, ….")
@titled("Output")
@option("--profile", help="Score as another program does.", **PROFILE)
@repeatable("-m --measure measures", "NAME", "Measures to print. Repeatable.", "measure")
@option("--tag", None, "Tag of the run [the model's or retriever's name].")
@option("--work", "FOLDER", "Folder for embeddings and indexes [RUN.work].")
@flag("--dry-run", "Show the plan: steps, sizes and times.")
@PATHS
@settings_option(
    option("--revision", "REV", "Commit, branch or tag of the model [main]."),
    option("--pooling", "NAME", "cls, mean or lasttoken [the model's]."),
    option("--normalise", "yes|no", "Scale vectors to length 1 [the model's].", type=click.BOOL),
    number("--dimensions", "Use the first N dimensions of vectors [all].", least=1),
    option("--passage-instruction", "TEXT", "Text before each passage [the model's own]."),
    number("--passage-max-length", "Most tokens of a passage [512, or less].", least=1),
    number("--query-max-length", "Most tokens of a query [512, or less].", least=1),
    number("--shard-size", "Texts encoded before they are kept [10000].", 10_000, least=1),
    usual_choice("--storage", ["float32", "float16"], "Numbers that are stored [float32]."),
    usual_choice("--reuse", ["shards", "passages"], "Kept when the corpus changed [shards]."),
    option("--shared-work", "yes|no", "With --ray: each node writes embeddings [no].", type=click.BOOL, default=False),
    number("--training", "Vectors to train an index on [39 a centroid].", least=1),
    usual_choice("--rerank-below", ["keep", "drop"], "Documents below the reranked ones [keep]."),
    number("--rerank-max-length", "Most tokens of query and passage [512, or less].", least=1),
    option("--k1", "X", "Of BM25 [1.5; bm25-anserini: 0.9].", type=click.FloatRange(min=0)),
    option("--b", "X", "Of BM25 [0.75; bm25-anserini: 0.4].", type=click.FloatRange(0, 1)),
    choice("--method", ["lucene", "robertson", "atire"], "lucene, robertson or atire [lucene].", metavar="NAME"),
    option("--stopwords", "LANGUAGE", "Stop words that BM25 ignores, or none [en]."),
    option("--stemmer", "LANGUAGE", "Stemmer [none; bm25-anserini: porter]."),
    option("--probe", "yes|no", "Time a few texts in --dry-run [yes].", type=click.BOOL, default=True),
)
def retrieve(source: str, output: str | None, dry_run: bool, **options: Any) -> None:
    r"""Make a run: rank the passages of COLLECTION for its queries, and write RUN in TREC's format.

    COLLECTION is a folder like MS MARCO's (collection.tsv, queries*.tsv, qrels*.tsv) or BEIR's (corpus.jsonl,
    queries.jsonl, qrels/), datasets:NAME (on huggingface.co, or a folder) or ir_datasets:NAME. By default, texts are
    encoded with a BGE model and searched with Faiss. To resume an interrupted run, repeat the command. RUN.json records
    inputs and settings. If there are judgments, scores are printed.

    \b
    treceval retrieve msmarco/ --split dev.small -o bge.txt
    treceval retrieve msmarco/ --split dev.small -o bm25.txt.gz --retriever bm25
    treceval retrieve beir/scifact -o run.txt --model intfloat/e5-base-v2 --rerank BAAI/bge-reranker-v2-m3
    treceval retrieve datasets:namespace-Pt/msmarco --protocol truncated -o b.txt --profile flagembedding-tutorial

    Needs the packages of the extra retrieve: see docs/install.md.
    """
    from treceval_py.retrieval import pipeline
    from treceval_py.retrieval.collection import PROTOCOLS
    from treceval_py.retrieval.planning import forecast
    from treceval_py.runs.writing import check_output
    from treceval_py.scoring.opening import check_kinds
    from treceval_py.scoring.profiles import profile_of

    output = output or ""  # no collection is named; embeddings alone need none
    work = str(options["work"] or f"{output}.work")
    profile = profile_of(options["profile"])
    measures = profile.parse(options["measures"] or profile.measures)  # names are checked now, not after hours
    keeps = (options["retriever"] in MODEL or options["rerank"]) and not dry_run
    kept = f"work so far is kept in {work}. To resume" if keeps else "nothing was written. To start again"
    with long_work(work, kept) as stages:
        collection = _collection(source, options)
        if output:
            check_output(output, collection.sources)  # before a model is downloaded
        for sentence in collection.notes:
            stages.note(sentence)
        if collection.qrels is not None:
            check_kinds(measures, collection.qrels)
        elif options["measures"] or options["profile"]:
            stages.note("There are no judgments, so nothing will be scored.")
        retriever, name = _retriever(collection, options, dry_run)
        request = pipeline.Request(
            collection=collection,
            output=output,
            work=work,
            retriever=retriever,
            k=options["depth"] or PROTOCOLS[options["protocol"]],
            tag=name if options["tag"] is None else options["tag"],
            paths=options["paths"],
            reranker=reranker_of(options, options["rerank"], weights=not dry_run) if options["rerank"] else None,
        )
        if options["embeddings_only"]:
            made = pipeline.embed(request, stages)
        elif dry_run:
            told = forecast(request, stages, probe=options["probe"])
        else:
            done = pipeline.retrieve(request, stages, ["treceval", *sys.argv[1:]])
    if options["embeddings_only"]:
        for side in ("passages", "queries"):
            count, dimensions = made[side]["vectors"]
            put(f"{side}: {count:,} vectors of {dimensions} dimensions in {made[side]['folder']}\n", None)
    elif dry_run:
        put(told.text(), None)
        note(*told.notes)
    else:
        wrote(output, f"{output}.json")
        _print_scores(collection, output, done, profile, options)


def _collection(source: str, options: dict[str, Any]) -> Collection:
    """Return the collection; existing vectors take the place of its texts."""
    from treceval_py.io.named import read_qrels
    from treceval_py.retrieval.collection import Collection, open_collection
    from treceval_py.retrieval.external import read_vectors

    if not options["passage_embeddings"]:
        names = ("corpus", "queries", "qrels", "split", "protocol")
        return open_collection(source, **{name: options[name] for name in names})
    passages = read_vectors(options["passage_embeddings"])
    queries = read_vectors(options["query_embeddings"], "query")
    if source:
        judged = open_collection(source, qrels=options["qrels"], split=options["split"])
        return judged._replace(corpus=passages, queries=queries)
    qrels = None if options["qrels"] is None else read_qrels(options["qrels"])
    return Collection(passages.name, passages, queries, qrels, options["qrels"], ())


def _retriever(collection: Collection, options: dict[str, Any], dry_run: bool) -> tuple[Retriever, str]:
    """Return the retriever and the tag of its run."""
    from treceval_py.retrieval import lexical
    from treceval_py.retrieval.external import Embedded, Imported
    from treceval_py.retrieval.pipeline import Dense, Jaccard

    if options["retriever"] == "jaccard":
        return Jaccard(), "jaccard"
    if options["retriever"] in BM25:
        given = {name: options[name] for name in OF_BM25 if options[name] is not None}
        asked: dict[str, Any] = {name: None if value == "none" else value for name, value in given.items()}
        return lexical.BM25[BM25[options["retriever"]]]._replace(**asked), "bm25"
    from treceval_py.retrieval.indexing import IndexSettings

    index = None
    if options["index"] is not None:
        index = IndexSettings(
            factory=options["index"],
            similarity=options["similarity"],
            parameters=options["search_parameters"],
            training=options["training"] or 0,
        )
    if isinstance(collection.corpus, Embedded) and isinstance(collection.queries, Embedded):
        search = {name: options[name] for name in ("similarity", "ray")}
        retriever = Imported(collection.corpus, collection.queries, index=index, **search)
        return retriever, tag_of(options["passage_embeddings"])
    from treceval_py.retrieval.devices import check_precision, devices_for
    from treceval_py.retrieval.hub import ENCODING, check_packages
    from treceval_py.retrieval.models import find_model, settings_for

    check_packages(*ENCODING)  # before a model is downloaded
    name = options["model"] or MODEL[options["retriever"]]
    model = find_model(name, options["revision"], wanted=options["retriever"], weights=not dry_run)
    settings = settings_for(
        model, query_instruction=options["instruction"], **{name: options[name] for name in SETTINGS}
    )
    devices = devices_for(options["devices"]) if options["ray"] is None else []  # a cluster has its own devices
    for device in devices:
        check_precision(settings.precision, device)
    names = ("batch_size", "shard_size", "storage", "reuse", "similarity", "ray", "shared_work")
    own = {name: options[name] for name in names}
    return Dense(model=model, settings=settings, devices=devices, index=index, **own), tag_of(name)


def _print_scores(
    collection: Collection, output: str, done: Outcome, profile: Profile, options: dict[str, Any]
) -> None:
    """Score the run that was written, if there are judgments."""
    from treceval_py.io.named import read_run
    from treceval_py.io.writing import write_qrels
    from treceval_py.measuring import in_print_order
    from treceval_py.rendering.style import Style
    from treceval_py.retrieval.collection import judge_texts
    from treceval_py.scoring.evaluation import Evaluator
    from treceval_py.scoring.planning import Reading, Scoring
    from treceval_py.scoring.profiles import DEFAULT_MEASURES
    from treceval_py.scoring.show import Options, about, results_text

    qrels, level = collection.qrels, None
    if qrels is None:
        return
    # The tutorial compares texts, not ids.
    if collection.copies and profile.name == TUTORIAL and done.written.lines:
        level, qrels = 2, judge_texts(collection, read_run(output))
    if options["protocol"] != "full" or not os.path.isfile(collection.qrels_name or ""):
        # They are not a whole file.
        write_qrels(qrels, f"{output}.qrels")
        with_level = "" if level is None else f", with -l {level}: recall counts each text once"
        note(f"the judgments of this run are in {output}.qrels; use them to score it again{with_level}.")
    if not done.written.lines:
        note(f"{output}: no query found any document; the run is empty and is not scored.")
        return
    usual = MEASURES if profile.measures == DEFAULT_MEASURES else profile.measures
    measures = in_print_order(profile.parse(options["measures"] or usual))
    asked = {qid for qid, _ in collection.queries}
    # A query that was searched without result counts; one that was not searched does not.
    complete = set(qrels) <= asked
    scoring = Scoring(measures, profile, level=level, complete=complete)
    results = Evaluator(qrels, scoring, Reading("trec_results")).scored(output)
    put(results_text([results], "trec", Options(), Style()), None)
    note(*about(results), *_about_depth(measures, profile, done, options))


def _about_depth(
    measures: Sequence[Measure], profile: Profile, done: Outcome, options: dict[str, Any]
) -> Iterator[str]:
    """Yield notes on values that depend on how many documents were retrieved."""
    from treceval_py.retrieval.collection import PROTOCOLS

    depth = options["depth"] or PROTOCOLS[options["protocol"]]
    count = done.record.get("collection", {}).get("passages", {}).get("count", sys.maxsize)
    deeper = [measure.name for measure in measures if depth < min(dict(measure.parameters).get("cutoff", 0), count)]
    if deeper:
        yield f"{', '.join(deeper)}: only {depth:,} documents per query were retrieved (-k {depth})."
    usual = PROTOCOLS["truncated"]
    if profile.name == TUTORIAL and min(depth, count) != usual and any("ndcg" in each.family.name for each in measures):
        yield (
            f"nDCG is not the tutorial's: its ideal ranking is made from the {min(depth, count):,} documents that were "
            f"retrieved, in the tutorial from {usual}. For its values: -k {usual}."
        )
