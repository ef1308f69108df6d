"""``treceval rerank RUN --corpus FILE --queries FILE -o OUT``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from treceval_py.cli.commands import Command
from treceval_py.cli.options import (
    CORPUS,
    PATHS,
    QUERIES,
    machine_options,
    model_options,
    number,
    option,
    tag_of,
    titled,
)
from treceval_py.cli.printing import wrote
from treceval_py.cli.stages import long_work

if TYPE_CHECKING:
    from treceval_py.corpora.reporting import Reporter
    from treceval_py.retrieval.engines import Reranker

MODEL = "BAAI/bge-reranker-v2-m3"


@click.command("rerank", cls=Command, peak=(650, 100), common="-o --corpus --queries --model --depth")
@click.argument("run", metavar="RUN")
@option("-o --output", "OUT", "Run to write; its extension selects compression (.gz, …).", required=True)
@option("--corpus", "FILE", CORPUS, required=True)
@option("--queries", "FILE", QUERIES, required=True)
@titled("Model")
@option("--model", "NAME[@REV]", f"Reranker on huggingface.co, or a folder [{MODEL}].", default=MODEL)
@number("--depth", "Documents per query to rerank [100].", 100, least=1)
@model_options
@titled("Output")
@option("--tag", None, "Tag of the run [the model's name].")
@option("--work", "FOLDER", "Folder for scores until OUT is complete [OUT.work].")
@PATHS
@machine_options
def rerank(run: str, output: str, corpus: str, queries: str, **options: Any) -> None:
    r"""Rerank the first documents of each query of RUN with a cross-encoder, and write OUT in TREC's format.

    The model, one of BGE's rerankers (base, large, v2-m3, v2-gemma) or any cross-encoder with one label, reads each
    query together with each passage. Scores are logits, as from FlagEmbedding's FlagReranker. They are kept in a work
    folder until OUT is complete; to resume an interrupted run, repeat the command. OUT.json, next to OUT, records its
    inputs and settings. `treceval retrieve --rerank` retrieves and reranks in one command.

    \b
    treceval rerank bm25.txt -o reranked.txt --corpus msmarco/collection.tsv --queries msmarco/queries.dev.small.tsv
    treceval rerank run.txt -o reranked.txt --corpus beir/scifact --queries beir/scifact --model ./my-reranker --depth 50

    Needs the packages of the extra retrieve: see docs/install.md.
    """  # noqa: E501 - an example
    from treceval_py.corpora.named import open_texts
    from treceval_py.retrieval.reranking import check_files
    from treceval_py.retrieval.reranking import rerank as reranked

    work = options["work"] or f"{output}.work"
    with long_work(work, f"scores so far are kept in {work}. To resume") as stages:
        documents, asked = open_texts(corpus, "document"), open_texts(queries, "query")
        check_files(run, output, documents, asked)  # before a model is downloaded
        reranker = reranker_of(options, options["model"], options["depth"], stages)
        tag = tag_of(reranker.model.name) if options["tag"] is None else options["tag"]
        texts: dict[str, Any] = {"corpus": documents, "queries": asked}
        where: dict[str, Any] = {"work": work, "paths": options["paths"], "command": ["treceval", *sys.argv[1:]]}
        reranked(run, output, reranker, **texts, **where, tag=tag, reporter=stages)
    wrote(output, f"{output}.json")


def reranker_of(
    options: dict[str, Any], named: str, depth: int, reporter: Reporter, *, weights: bool = True
) -> Reranker:
    """Return a reranker by its name, with the options of running a model."""
    from treceval_py.retrieval.engines import Reranker
    from treceval_py.retrieval.models import find_model

    model = find_model(named, wanted="reranker", weights=weights)
    devices, precision = devices_of(options, reporter)
    given = {key: options[key] for key in ("max_length", "batch_size", "ray", "engine")}
    return Reranker(model, devices, depth, precision, **given)


def devices_of(options: dict[str, Any], reporter: Reporter) -> tuple[list[str], str]:
    """Return the devices that run a model, none for a cluster, which has its own; and the precision."""
    from treceval_py.retrieval.devices import choose_precision, devices_for

    devices = devices_for(options["devices"]) if options["ray"] is None else []
    precision = choose_precision(options["precision"], devices)
    if options["precision"] == "auto":
        change = (
            "" if precision == "fp32" else "; scores have fewer digits than with fp32, so some documents change places"
        )
        reporter.note(f"--precision auto took {precision}{change}.")
        options["precision"] = precision  # once, for the model and the reranker
    return devices, precision
