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
    flag,
    given,
    machine_options,
    model_options,
    number,
    option,
    repeatable,
    tag_of,
    titled,
    usual_choice,
)
from treceval_py.cli.printing import note, put, wrote
from treceval_py.cli.rerank import devices_of, reranker_of
from treceval_py.cli.stages import long_work

if TYPE_CHECKING:
    from treceval_py.measuring.registry import Measure
    from treceval_py.retrieval import Collection, Outcome, Reporter, Request
    from treceval_py.retrieval.pipeline import Retriever
    from treceval_py.scoring.profiles import Profile

MODEL = {"dense": "BAAI/bge-base-en-v1.5", "sparse": "BAAI/bge-m3"}
"""The default model of each retriever that encodes."""

MEASURES = ("AP", "RR@10", "nDCG@10", "R@10", "R@100", "R@1000")
"""Measures printed unless a profile or -m sets others."""

BM25 = ("bm25", "bm25-anserini")
"""The retrievers that are BM25."""

RETRIEVERS = ("dense", "sparse", *BM25, "jaccard")
SIMILARITIES = ("inner-product", "cosine", "l2")

TUTORIAL = "flagembedding-tutorial"
"""The profile of tutorials that compare texts, not ids."""

ENCODERS = ("model", "instruction")
"""Options of retrieval by the vectors of a model, dense or sparse."""

COMPUTING = ("engine", "precision", "max_length", "devices", "batch_size")
"""Options of everything that runs a model, including reranking."""

DENSE = ("pooling", "index", "similarity", "embeddings")
"""Options of dense vectors."""

TEXTS = (*ENCODERS, *COMPUTING, "pooling", "rerank", "corpus", "queries", "protocol")
"""Options that need texts."""

RUN = ("depth", "index", "similarity", "rerank", "profile", "measures", "tag", "dry_run", "paths")
"""Options of the steps after encoding."""

EMPTY = {"source", "instruction", "output"}
"""What may be empty, or has a message of its own. Of others, a variable that is not set would take the default."""


def _check(ctx: click.Context) -> dict[str, object]:
    """Return what is wrong: options that would be ignored, options without a value, and a lack of an output."""
    options, chosen = ctx.params, given(ctx)
    flags = {parameter.name: max(parameter.opts, key=len) for parameter in ctx.command.params}
    encodes = options["retriever"] in MODEL
    only_encodes = encodes and options["output"] is None and options["work"] and not options["embeddings"]
    conditions = [
        (DENSE, options["retriever"] == "dense", "needs --retriever dense"),
        (ENCODERS, encodes, "needs --retriever dense or sparse"),
        (TEXTS, not options["embeddings"], "cannot be used with --embeddings"),
        (("split",), options["source"] or not options["embeddings"], "needs COLLECTION"),
        ((*COMPUTING, "ray", "work"), encodes or options["rerank"], "needs --retriever dense or sparse, or --rerank"),
        (RUN, not only_encodes, "needs -o"),
        (("rerank_depth",), options["rerank"], "needs --rerank"),
        (("bm25",), options["retriever"] in BM25, f"needs --retriever {' or '.join(BM25)}"),
        (("devices",), options["ray"] is None, "cannot be used with --ray"),
    ]
    collection = "" if options["source"] or options["embeddings"] else "argument 'COLLECTION' and "
    instead = ", or --work FOLDER, which only encodes" if encodes and not options["embeddings"] else ""
    missing = f"Missing {collection}option '-o': the run to write{instead}."
    return {
        **{f"{flags[name]} {why}.": not fits for names, fits, why in conditions for name in names if name in chosen},
        **{f"{flags[name]} is empty.": options[name] == "" for name in sorted(chosen - EMPTY)},
        missing: options["output"] is None and not only_encodes,
    }


def _of_bm25(text: str) -> tuple[float, float]:
    """Return k1 and b of ``K1,B``."""
    try:
        k1, b = map(float, text.split(","))
    except ValueError:
        hint = "To rank by BM25, give --retriever bm25; this sets k1 and b, as in --bm25 0.9,0.4."
        raise click.BadParameter(f"{text!r} is not K1,B. {hint}") from None
    return k1, b


@click.command("retrieve", cls=Command, peak=(190, 500), check=_check, common="-o --split --retriever --model --rerank")
@click.argument("source", metavar="COLLECTION", default="")
@titled("Collection")
@option("--corpus", "FILE", "Passages in place of the collection's.")
@option("--queries", "FILE", "Queries in place of the collection's.")
@option("--qrels", "FILE", "Judgments in place of the collection's.")
@option("--split", "NAME", "Queries: dev.small, test, … [the only ones].")
@usual_choice("--protocol", ["full", "truncated"], "truncated: 100 queries, passages relevant for 5,000 [full].")
@titled("Model")
@usual_choice("--retriever", RETRIEVERS, f"{', '.join(RETRIEVERS)} [dense].", metavar="NAME")
@option("--model", "NAME[@REV]", f"On the hub, or a folder [{MODEL['dense']}; sparse: {MODEL['sparse']}].")
@model_options
@option("--instruction", "TEXT", "Text before each query [the model's own].")
@option("--pooling", "NAME", "cls, mean or lasttoken, if the model does not say.")
@option("--rerank", "NAME[@REV]", "Cross-encoder to rerank with.")
@number("--rerank-depth", "Documents per query to rerank [100].", 100, least=1)
@titled("Search")
@number("-k --depth", "Documents per query [1000; truncated: 10].", least=1)
@option("--index", "FACTORY[:LIST]", "Faiss index: HNSW32; IVF4096,Flat:nprobe=64; … [exact].")
@usual_choice("--similarity", SIMILARITIES, f"{', '.join(SIMILARITIES)} [inner-product].", metavar="NAME")
@option("--embeddings", "PASSAGES QUERIES", "Search these vectors: .npy with .ids, Parquet, ….", nargs=2)
@option("--bm25", "K1,B", "Of BM25 [1.5,0.75; bm25-anserini: 0.9,0.4].", type=_of_bm25, is_flag=False, flag_value="")
@titled("Output")
@option("-o --output", "RUN", "Run to write; .gz, .zst, … compresses it.")
@option("--profile", help="Score as another program does.", **PROFILE)
@repeatable("-m --measure measures", "NAME", "Measures to print. Repeatable.", "measure")
@option("--tag", None, "Tag of the run [the model's or retriever's name].")
@option("--work", "FOLDER", "Folder for embeddings and indexes [RUN.work]; without -o, only encode.")
@flag("--dry-run", "Show the plan: steps, sizes and times.")
@PATHS
@machine_options
def retrieve(source: str, output: str | None, **options: Any) -> None:
    r"""Make a run: rank the passages of COLLECTION for its queries, and write RUN in TREC's format.

    COLLECTION is a folder like MS MARCO's (collection.tsv, queries*.tsv, qrels*.tsv) or BEIR's (corpus.jsonl,
    queries.jsonl, qrels/), datasets:NAME (on huggingface.co, or a folder) or ir_datasets:NAME. By default, texts are
    encoded with a BGE model and searched with Faiss. To resume an interrupted run, repeat the command. RUN.json records
    inputs and settings. If there are judgments, scores are printed.

    \b
    treceval retrieve msmarco/ --split dev.small -o bge.txt
    treceval retrieve msmarco/ --split dev.small -o bm25.txt.gz --retriever bm25
    treceval retrieve beir/scifact -o run.txt --model intfloat/e5-base-v2 --rerank BAAI/bge-reranker-v2-m3
    treceval retrieve datasets:namespace-Pt/msmarco --protocol truncated -o bge.txt --profile flagembedding-tutorial

    Needs the packages of the extra retrieve: see docs/install.md.
    """
    from treceval_py.measuring import in_print_order
    from treceval_py.retrieval import embed, forecast
    from treceval_py.retrieval import retrieve as retrieved
    from treceval_py.scoring.profiles import DEFAULT_MEASURES, profile_of

    work, dry_run = str(options["work"] or f"{output}.work"), options["dry_run"]
    profile = profile_of(options["profile"])
    usual = MEASURES if profile.measures == DEFAULT_MEASURES else profile.measures
    measures = in_print_order(profile.parse(options["measures"] or usual))  # names are checked now, not after hours
    keeps = (options["retriever"] in MODEL or options["rerank"]) and not dry_run
    kept = f"work so far is kept in {work}. To resume" if keeps else "nothing was written. To start again"
    with long_work(work, kept) as stages:
        request = _request(source, output, work, measures, options, stages)
        if output is None:
            made = embed(request, stages)
        elif dry_run:
            plan = forecast(request, stages)
        else:
            done = retrieved(request, stages, ["treceval", *sys.argv[1:]])
    if output is None:
        for side in ("passages", "queries"):
            count, dimensions = made[side]["vectors"]
            put(f"{side}: {count:,} vectors of {dimensions} dimensions in {made[side]['folder']}\n", None)
    elif dry_run:
        put(plan.text, None)
        note(*plan.notes)
    else:
        wrote(output, f"{output}.json")
        _print_scores(request, done, measures, profile, whole=options["protocol"] == "full")


def _request(
    source: str, output: str | None, work: str, measures: Sequence[Measure], options: dict[str, Any], reporter: Reporter
) -> Request:
    """Return the request; a model is downloaded unless the run is only planned."""
    from treceval_py.retrieval import Request
    from treceval_py.retrieval.collection import PROTOCOLS
    from treceval_py.runs.writing import check_output
    from treceval_py.scoring.opening import check_kinds

    collection = _collection(source, options)
    if output is not None:
        check_output(output, collection.sources)  # before a model is downloaded
    for sentence in collection.notes:
        reporter.note(sentence)
    if collection.qrels is not None:
        check_kinds(measures, collection.qrels)
    elif options["measures"] or options["profile"]:
        reporter.note("There are no judgments, so nothing will be scored.")
    retriever, name = _retriever(collection, options, reporter)
    weights, reranker = not options["dry_run"], None
    if options["rerank"]:
        reranker = reranker_of(options, options["rerank"], options["rerank_depth"], reporter, weights=weights)
    depth = options["depth"] or PROTOCOLS[options["protocol"]]
    tag = name if options["tag"] is None else options["tag"]
    return Request(collection, output or "", work, retriever, depth, tag, options["paths"], reranker)


def _collection(source: str, options: dict[str, Any]) -> Collection:
    """Return the collection; existing vectors take the place of its texts."""
    from treceval_py.io.named import read_qrels
    from treceval_py.retrieval import Collection, open_collection, read_vectors

    if not options["embeddings"]:
        names = ("corpus", "queries", "qrels", "split", "protocol")
        return open_collection(source, **{name: options[name] for name in names})
    passages, queries = read_vectors(options["embeddings"][0]), read_vectors(options["embeddings"][1], "query")
    if source:
        judged = open_collection(source, qrels=options["qrels"], split=options["split"])
        return judged._replace(corpus=passages, queries=queries)
    qrels = None if options["qrels"] is None else read_qrels(options["qrels"])
    return Collection(passages.name, passages, queries, qrels)


def _retriever(collection: Collection, options: dict[str, Any], reporter: Reporter) -> tuple[Retriever, str]:
    """Return the retriever and the tag of its run."""
    from treceval_py import retrieval
    from treceval_py.retrieval.hub import ENCODING, check_packages
    from treceval_py.retrieval.lexical import BM25 as PRESETS

    kind = options["retriever"]
    if kind == "jaccard":
        return retrieval.Jaccard(), kind
    if kind in BM25:
        k1, b = options["bm25"] or PRESETS[kind][1:]
        return PRESETS[kind]._replace(k1=k1, b=b), "bm25"
    index = None if options["index"] is None else retrieval.IndexSettings(options["index"], options["similarity"])
    where = {"similarity": options["similarity"], "index": index, "ray": options["ray"]}
    if isinstance(collection.corpus, retrieval.Embedded) and isinstance(collection.queries, retrieval.Embedded):
        return retrieval.Imported(collection.corpus, collection.queries, **where), tag_of(options["embeddings"][0])
    check_packages(*ENCODING)  # before a model is downloaded
    model = retrieval.find_model(options["model"] or MODEL[kind], wanted=kind, weights=not options["dry_run"])
    devices, precision = devices_of(options, reporter)
    how = {key: options[key] for key in ("pooling", "instruction", "max_length")}
    settings = retrieval.settings_for(model, precision=precision, **how)
    own = {"batch_size": options["batch_size"], "engine": options["engine"]}
    return retrieval.Dense(model, settings, devices, **own, **where), tag_of(model.name)


def _print_scores(
    request: Request, done: Outcome, measures: Sequence[Measure], profile: Profile, *, whole: bool
) -> None:
    """Score the run that was written, if there are judgments; these are written too, unless they are a `whole` file."""
    from treceval_py.io.named import read_run
    from treceval_py.io.writing import write_qrels
    from treceval_py.rendering.style import Style
    from treceval_py.retrieval.collection import judge_texts
    from treceval_py.scoring.evaluation import Evaluator
    from treceval_py.scoring.planning import Reading, Scoring
    from treceval_py.scoring.show import Options, about, results_text

    collection, output, qrels, level = request.collection, request.output, request.collection.qrels, None
    if qrels is None:
        return
    # The tutorial compares texts, not ids.
    if collection.copies and profile.name == TUTORIAL and done.written.lines:
        level, qrels = 2, judge_texts(collection, read_run(output))
    if not (whole and os.path.isfile(collection.qrels_name or "")):
        write_qrels(qrels, f"{output}.qrels")
        with_level = "" if level is None else f", with -l {level}: recall counts each text once"
        note(f"the judgments of this run are in {output}.qrels; use them to score it again{with_level}.")
    if not done.written.lines:
        note(f"{output}: no query found any document; the run is empty and is not scored.")
        return
    # A query that was searched without result counts; one that was not searched does not.
    complete = set(qrels) <= {qid for qid, _ in collection.queries}
    scoring = Scoring(measures, profile, level=level, complete=complete)
    results = Evaluator(qrels, scoring, Reading("trec_results")).scored(output)
    put(results_text([results], "trec", Options(), Style()), None)
    note(*about(results), *_about_depth(measures, profile, done, request.k))


def _about_depth(measures: Sequence[Measure], profile: Profile, done: Outcome, depth: int) -> Iterator[str]:
    """Yield notes on values that depend on how many documents were retrieved."""
    from treceval_py.retrieval.collection import PROTOCOLS

    first = done.record.get("first_stage", {"record": done.record})["record"]  # reranking retrieves nothing
    count = first["collection"]["passages"]["count"]
    deeper = [measure.name for measure in measures if depth < min(dict(measure.parameters).get("cutoff", 0), count)]
    if deeper:
        yield f"{', '.join(deeper)}: only {depth:,} documents per query were retrieved (-k {depth})."
    usual, most, ideal = PROTOCOLS["truncated"], min(depth, count), ("ideal", "retrieved")
    names = ", ".join(measure.name for measure in measures if ideal in profile.meaning_of(measure).parameters)
    if names and most != usual:
        made = f"its ideal ranking is made from the {most:,} documents that were retrieved"
        yield f"{names}: {made}, in FlagEmbedding's tutorial from {usual} (-k {usual})."
