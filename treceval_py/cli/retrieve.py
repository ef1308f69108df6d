"""``treceval retrieve COLLECTION -o RUN``."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import click

from treceval_py.cli.printing import note, put, say
from treceval_py.cli.stages import Stages
from treceval_py.errors import OutputError

if TYPE_CHECKING:
    from treceval_py.retrieval.collection import Collection
    from treceval_py.retrieval.pipeline import Outcome, Request, Retriever
    from treceval_py.retrieval.planning import Forecast
    from treceval_py.scoring.profiles import Profile

__all__ = ["retrieve"]

MODEL = "BAAI/bge-base-en-v1.5"

MEASURES = ("AP", "RR@10", "nDCG@10", "R@10", "R@100", "R@1000")
"""Measures printed unless a profile or -m sets others."""

HELP = """Make a run: rank the passages of COLLECTION for its queries, and write RUN in TREC's format.

COLLECTION is a folder in MS MARCO's layout (collection.tsv, queries*.tsv, qrels*.tsv), a BEIR folder (corpus.jsonl,
queries.jsonl, qrels/), datasets:NAME (of the hub, or a folder) or ir_datasets:NAME. Passages and queries are encoded
with a BGE model (or another one that FlagEmbedding runs) and searched with Faiss. Embeddings are kept in a work folder;
to resume an interrupted run, repeat the command. RUN.json, next to RUN, records its inputs and settings. If there are
judgments, scores are printed.

\b
treceval retrieve msmarco/ --split dev.small -o bge.txt
treceval retrieve msmarco/ --split dev.small -o bm25.txt.gz --retriever bm25
treceval retrieve datasets:namespace-Pt/msmarco --protocol truncated -o bge.txt --profile flagembedding-tutorial
treceval retrieve beir/scifact -o run.txt --model ./my-model --pooling mean
treceval retrieve msmarco/ --split dev.small -o ivf.txt --index IVF4096,Flat --search-parameters nprobe=64
treceval retrieve msmarco/ --split dev.small -o bge.txt --dry-run     show the plan and its cost

Needs: pip install 'treceval-py[retrieve]'
"""

DENSE = (
    "model", "revision", "pooling", "instruction", "passage_instruction", "passage_max_length", "query_max_length",
    "precision", "dimensions", "normalise", "devices", "batch_size", "shard_size", "storage", "work", "index",
    "similarity", "search_parameters", "training", "ray",
)  # fmt: skip
"""Options of dense retrieval."""

BM25 = ("k1", "b", "method", "stopwords", "stemmer")
"""Options of BM25."""

INDEX = ("search_parameters", "training")
"""Options of an index."""

HERE = ("devices", "index")
"""Options that cannot be used with a Ray cluster."""

Callback = Callable[..., Any]


def _count(*names: str, help: str, default: int | None = None, name: str = "") -> Callable[[Callback], Callback]:
    declared = [*names, name] if name else list(names)
    return click.option(*declared, type=click.IntRange(min=1), metavar="N", default=default, help=help)


@click.command("retrieve", help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("source", metavar="COLLECTION")
@click.option(
    "-o", "--output", required=True, metavar="RUN", help="Run file; its extension selects compression (.gz, …)."
)
@click.option("--corpus", metavar="FILE", help="Passages to use instead of the collection's; also datasets:NAME.")
@click.option("--queries", metavar="FILE", help="Queries to use instead of the collection's.")
@click.option("--qrels", metavar="FILE", help="Judgments to use instead of the collection's.")
@click.option("--split", metavar="NAME", help="Split of the collection's queries: dev.small, test, … [the only one].")
@click.option(
    "--protocol",
    type=click.Choice(["full", "truncated"]),
    default="full",
    help="truncated: only the first 100 queries, and the relevant passages of the first 5,000 as corpus [full].",
)
@click.option(
    "--retriever", type=click.Choice(["dense", "bm25", "jaccard"]), default="dense", help="Ranking method [dense]."
)
@_count("-k", "--depth", default=1000, help="Documents per query [1000].")
@click.option("--tag", help="The last column of RUN [the model's or the retriever's name].")
@click.option("--model", default=MODEL, metavar="NAME", help=f"Model on the hub, or a folder [{MODEL}].")
@click.option("--revision", metavar="REV", help="Commit, branch or tag of a hub model [main].")
@click.option("--pooling", metavar="cls|mean", help="How token vectors are pooled [the model's setting].")
@click.option("--instruction", metavar="TEXT", help="Text put before each query [BGE's for BGE models, else none].")
@click.option("--passage-instruction", metavar="TEXT", help="Text put before each passage [none].")
@_count("--passage-max-length", help="Most tokens of a passage [512, or the model's limit].")
@_count("--query-max-length", help="Most tokens of a query [512, or the model's limit].")
@click.option(
    "--precision",
    type=click.Choice(["fp32", "bf16", "fp16"]),
    default="fp32",
    help="Arithmetic of the model [fp32]; fp16 is for GPUs.",
)
@_count("--dimensions", help="Use the first N dimensions of each vector, for models trained for this [all].")
@click.option("--normalise/--no-normalise", default=True, help="Scale vectors to length 1 [yes].")
@click.option(
    "--device", "devices", multiple=True, metavar="NAME", help="cpu, cuda:0, …. Repeatable [all GPUs, or cpu]."
)
@_count("--batch-size", help="Texts to encode at once [32 on a CPU, more on a GPU].")
@_count("--shard-size", default=10_000, help="Texts per shard: the most work that an interruption can lose [10000].")
@click.option(
    "--storage",
    type=click.Choice(["float32", "float16"]),
    default="float32",
    help="Number type of stored embeddings; float16 takes half the space [float32].",
)
@click.option("--work", metavar="FOLDER", help="Folder for embeddings and indexes [RUN.work].")
@click.option("--index", metavar="FACTORY", help="A Faiss index (IVF4096,Flat; HNSW32; …) [exact search].")
@click.option(
    "--similarity",
    type=click.Choice(["inner-product", "cosine", "l2"]),
    default="inner-product",
    help="Similarity of vectors; l2 scores by the negative squared distance [inner-product].",
)
@click.option(
    "--search-parameters", default="", metavar="LIST", help="Search settings of the index: nprobe=64, efSearch=256, …."
)
@_count("--training", help="Vectors to train the index on [39 per centroid].")
@click.option("--ray", metavar="ADDRESS", help="Encode and search on a Ray cluster: auto, HOST:PORT, local.")
@click.option("--k1", type=click.FloatRange(min=0), default=1.5, help="BM25's k1 [1.5].")
@click.option("--b", type=click.FloatRange(0, 1), default=0.75, help="BM25's b [0.75].")
@click.option(
    "--method", type=click.Choice(["lucene", "robertson", "atire"]), default="lucene", help="Variant of BM25 [lucene]."
)
@click.option(
    "--stopwords", default="en", metavar="LANGUAGE", help="Stop words that BM25 ignores; 'none' keeps all words [en]."
)
@click.option("--stemmer", metavar="LANGUAGE", help="Stemmer for BM25; needs PyStemmer [none].")
@click.option("--profile", metavar="NAME", help="Scoring conventions for the printed scores.")
@click.option("-m", "--measure", "measures", multiple=True, metavar="NAME", help="Print this measure. Repeatable.")
@click.option("--dry-run", is_flag=True, help="Show the planned steps, their sizes, and what already exists.")
@click.pass_context
def retrieve(ctx: click.Context, /, source: str, output: str, dry_run: bool, **options: Any) -> None:
    """Make a run: look, encode, search, write, score."""
    _check_together(ctx, options)
    profile = _profile(options["profile"], options["measures"])
    _long_work()
    from treceval_py.retrieval.collection import open_collection

    stages = Stages()
    told: Forecast | None = None
    done: Outcome | None = None
    try:
        collection = open_collection(
            source,
            corpus=options["corpus"],
            queries=options["queries"],
            qrels=options["qrels"],
            split=options["split"],
            protocol=options["protocol"],
        )
        _tell_first(collection, profile, options, stages)
        request = _request(collection, output, options, dry_run)
        if dry_run:
            told = _forecast(request, stages)
        else:
            done = _run(request, stages)
    except KeyboardInterrupt:
        stages.close()
        _interrupted(output, options)
    except OSError as error:  # of the work folder or a disk, and not of standard output as elsewhere
        reason = f"cannot be used: {error.strerror or error}"
        raise OutputError(reason, "Work so far is kept.", file=str(error.filename or _work(output, options))) from None
    finally:
        stages.close()
    if told is not None:
        put(told.text(), None)
        for sentence in told.notes:
            note(sentence)
    elif done is not None:
        _print_scores(collection, output, done, profile, options)


def _tell_first(collection: Collection, profile: Profile, options: dict[str, Any], stages: Stages) -> None:
    """Say what there is to say of the collection, and refuse measures that its judgments are not enough for."""
    from treceval_py.scoring.evaluation import check_kinds

    for sentence in collection.notes:
        stages.note(sentence)
    if collection.qrels is not None:
        measures = options["measures"] or profile.measures
        check_kinds(profile.parse(measures), collection.qrels)
    elif options["measures"] or options["profile"]:
        stages.note("There are no judgments, so nothing will be scored.")


def _forecast(request: Request, stages: Stages) -> Forecast:
    from treceval_py.retrieval.planning import forecast

    return forecast(request, stages)


def _run(request: Request, stages: Stages) -> Outcome:
    from treceval_py.retrieval.pipeline import retrieve as run

    return run(request, stages, ["treceval", *sys.argv[1:]])


def _check_together(ctx: click.Context, options: dict[str, Any]) -> None:
    """Refuse options that would be ignored."""
    from click.core import ParameterSource

    flags = {parameter.name: max(parameter.opts, key=len) for parameter in ctx.command.params}
    given = {name for name in options if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    conditions = [
        (DENSE, options["retriever"] == "dense", "needs --retriever dense"),
        (BM25, options["retriever"] == "bm25", "needs --retriever bm25"),
        (INDEX, options["index"] is not None, "needs --index"),
        (HERE, options["ray"] is None, "cannot be used with --ray"),
    ]
    for names, fits, why in conditions:
        for name in names:
            if name in given and not fits:
                raise click.UsageError(f"{flags[name]} {why}.")


def _profile(name: str | None, measures: tuple[str, ...]) -> Profile:
    """Return the profile of the scores; names are looked at now, not after hours."""
    from treceval_py.scoring.profiles import DEFAULT_PROFILE, profile_named

    profile = profile_named(DEFAULT_PROFILE if name is None else name)
    if measures:
        profile.parse(measures)
    return profile


def _long_work() -> None:
    """Undo what is right for a command of a tenth of a second and not for one of hours."""
    import gc

    gc.enable()
    if hasattr(signal, "SIGPIPE"):
        # A connection that breaks (the hub's, Ray's) is an error of that connection and not the end.
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)


def _request(collection: Collection, output: str, options: dict[str, Any], dry_run: bool) -> Request:
    from treceval_py.retrieval.pipeline import Request

    retriever, name = _retriever(options, dry_run)
    return Request(
        collection=collection,
        output=output,
        work=_work(output, options),
        retriever=retriever,
        k=options["depth"],
        tag=name if options["tag"] is None else options["tag"],
    )


def _work(output: str, options: dict[str, Any]) -> str:
    return str(options["work"] or f"{output}.work")


def _retriever(options: dict[str, Any], dry_run: bool) -> tuple[Retriever, str]:
    """Return the retriever, and the tag that it gives the run."""
    from treceval_py.retrieval.lexical import Bm25
    from treceval_py.retrieval.pipeline import Dense, Jaccard

    if options["retriever"] == "jaccard":
        return Jaccard(), "jaccard"
    if options["retriever"] == "bm25":
        names = {"stopwords": None if options["stopwords"] == "none" else options["stopwords"]}
        return Bm25(**{name: options[name] for name in BM25} | names), "bm25"
    from treceval_py.retrieval.devices import check_precision, devices_for
    from treceval_py.retrieval.indexing import IndexSettings
    from treceval_py.retrieval.models import find_model, preview_model, settings_for

    model = (preview_model if dry_run else find_model)(options["model"], options["revision"])
    settings = settings_for(
        model,
        pooling=options["pooling"],
        normalise=options["normalise"],
        precision=options["precision"],
        dimensions=options["dimensions"],
        query_instruction=options["instruction"],
        passage_instruction=options["passage_instruction"],
        query_max_length=options["query_max_length"],
        passage_max_length=options["passage_max_length"],
    )
    devices: list[str] = []
    if options["ray"] is None:  # a cluster has devices of its own
        devices = devices_for(options["devices"])
        for device in devices:
            check_precision(settings.precision, device)
    index = None
    if options["index"] is not None:
        index = IndexSettings(
            factory=options["index"],
            similarity=options["similarity"],
            parameters=options["search_parameters"],
            training=options["training"] or 0,
        )
    dense = Dense(
        model=model,
        settings=settings,
        devices=devices,
        batch_size=options["batch_size"],
        shard_size=options["shard_size"],
        storage=options["storage"],
        similarity=options["similarity"],
        index=index,
        ray=options["ray"],
    )
    return dense, os.path.basename(os.path.normpath(options["model"])).replace(" ", "_")


def _interrupted(output: str, options: dict[str, Any]) -> NoReturn:
    """Say how to go on, and end as an interrupted program ends."""
    again = shlex.join(["treceval", *sys.argv[1:]])
    if options["retriever"] == "dense":
        say(f"interrupted: embeddings so far are kept in {_work(output, options)}. To resume: {again}")
    else:
        say(f"interrupted: nothing was written. To start again: {again}")
    raise KeyboardInterrupt


def _keep_judgments(collection: Collection, output: str, *, whole: bool) -> str | None:
    """Write judgments that are in no file, or are a part of one, beside the run, and return where."""
    from treceval_py.io.writing import write_qrels

    if collection.qrels is None or (whole and os.path.isfile(collection.qrels_name or "")):
        return None
    path = f"{output}.qrels"
    write_qrels(collection.qrels, path)
    return path


def _print_scores(
    collection: Collection, output: str, done: Outcome, profile: Profile, options: dict[str, Any]
) -> None:
    """Score the run that was written, if there are judgments."""
    from treceval_py.measures import in_print_order
    from treceval_py.rendering.tables import Style
    from treceval_py.scoring.evaluation import Evaluator
    from treceval_py.scoring.planning import Reading, Scoring
    from treceval_py.scoring.profiles import DEFAULT_MEASURES
    from treceval_py.scoring.show import Options, about, results_text

    if collection.qrels is None:
        return
    judged = _keep_judgments(collection, output, whole=options["protocol"] == "full")
    if judged is not None:
        note(f"the judgments of this run are in {judged}; use them to score it again.")
    if not done.written.lines:
        note(f"{output}: no query found any document; the run is empty and is not scored.")
        return
    measures = options["measures"]
    usual = MEASURES if profile.measures == DEFAULT_MEASURES else profile.measures
    wanted = in_print_order(profile.parse(measures or usual))
    asked = {qid for qid, _ in collection.queries}
    # A query that was asked and found nothing counts; one that was not asked does not.
    complete = set(collection.qrels) <= asked
    scoring = Scoring(wanted, profile, complete=complete)
    results = Evaluator(collection.qrels, scoring, Reading("trec_results")).scored(output)
    put(results_text([results], "trec", Options(), Style()), None)
    note(*about(results))
