"""``treceval rerank RUN --corpus FILE --queries FILE -o OUT``."""

from __future__ import annotations

import shlex
import sys
from typing import Any

import click

from treceval_py.cli.options import paths_option, rerank_options, running_options, tag_of
from treceval_py.cli.printing import say
from treceval_py.cli.stages import Stages, long_work
from treceval_py.errors import OutputError

MODEL = "BAAI/bge-reranker-v2-m3"

HELP = """Rerank the first documents of each query of RUN with a cross-encoder, and write OUT in TREC's format.

The model, one of BGE's rerankers (base, large, v2-m3) or any cross-encoder with one label, reads each query together
with each passage. Scores are logits, as from FlagEmbedding's FlagReranker. They are kept in a work folder until OUT is
complete; to resume an interrupted run, repeat the command. OUT.json, next to OUT, records its inputs and settings.
`treceval retrieve --rerank` retrieves and reranks in one command.

\b
treceval rerank bm25.txt -o reranked.txt --corpus msmarco/collection.tsv --queries msmarco/queries.dev.small.tsv
treceval rerank run.txt -o reranked.txt --corpus beir/scifact --queries beir/scifact --model ./my-reranker --depth 50

Needs: pip install 'treceval-py[retrieve]'
"""


@click.command("rerank", help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("run", metavar="RUN")
@click.option(
    "-o", "--output", required=True, metavar="OUT", help="Run to write; its extension selects compression (.gz, …)."
)
@click.option("--corpus", required=True, metavar="FILE", help="Passages of RUN: a file, a folder, datasets:NAME, ….")
@click.option("--queries", required=True, metavar="FILE", help="Queries of RUN, likewise.")
@click.option("--model", default=MODEL, metavar="NAME", help=f"Reranker on the hub, or a folder [{MODEL}].")
@click.option("--revision", metavar="REV", help="Commit, branch or tag of a hub model [main].")
@rerank_options("--")
@click.option("--work", metavar="FOLDER", help="Folder that keeps scores until OUT is complete [OUT.work].")
@click.option("--tag", help="The last column of OUT [the model's name].")
@running_options
@paths_option
def rerank(run: str, output: str, corpus: str, queries: str, **options: Any) -> None:
    """Rerank a run."""
    long_work()
    from treceval_py.corpora.named import open_texts
    from treceval_py.retrieval.devices import devices_for
    from treceval_py.retrieval.models import find_model
    from treceval_py.retrieval.reranking import Reranker, check_files
    from treceval_py.retrieval.reranking import rerank as reranked

    work = options["work"] or f"{output}.work"
    command = ["treceval", *sys.argv[1:]]
    stages = Stages()
    try:
        documents, asked = open_texts(corpus, "document"), open_texts(queries, "query")
        check_files(run, output, documents, asked)  # before a model is downloaded
        reranker = Reranker(
            model=find_model(options["model"], options["revision"], wanted="reranker"),
            devices=devices_for(options["devices"]) if options["ray"] is None else (),
            **{name: options[name] for name in ("depth", "below", "max_length", "precision", "batch_size", "ray")},
        )
        reranked(
            run,
            output,
            reranker,
            corpus=documents,
            queries=asked,
            work=work,
            tag=tag_of(options["model"]) if options["tag"] is None else options["tag"],
            reporter=stages,
            command=command,
            paths=options["paths"],
        )
    except KeyboardInterrupt:
        stages.close()
        say(f"interrupted: scores so far are kept in {work}. To resume: {shlex.join(command)}")
        raise
    except OSError as error:  # from the work folder or a disk
        reason = f"cannot be used: {error.strerror or error}"
        raise OutputError(reason, "Work so far is kept.", file=str(error.filename or work)) from None
    finally:
        stages.close()
