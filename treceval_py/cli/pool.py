"""``treceval pool [QRELS] RUN…``."""

from __future__ import annotations

import os
from glob import has_magic
from typing import Any

import click

from treceval_py.cli.commands import Command
from treceval_py.cli.options import (
    NAMES,
    PROFILE,
    READING_OPTIONS,
    choice,
    named,
    number,
    option,
    output_options,
    titled,
)
from treceval_py.cli.printing import Output, check_targets, kind_of, say
from treceval_py.cli.progress import working
from treceval_py.rendering import FORMATS, render
from treceval_py.rendering.style import Style

RUNS = ("run", "near", "msmarco", "tevatron", "colbert")
"""What a first file looks like that is a run; anything else is read as judgments."""


@click.command("pool", cls=Command, peak=(150, 300), common="--budget --depth --method -m -o")
@click.argument("files", metavar="[QRELS] RUN…", nargs=-1, required=True)
@number("--budget", "Choose N documents [all down to --depth].", least=1)
@number("--depth", "Choose among the first N of each run [10; all with --budget].", least=1)
@choice(
    "--method", ["order", "depth", "mtf", "maxmean"], "order, depth, mtf or maxmean [order with --budget, else depth].",
    metavar="NAME",
)  # fmt: skip
@option(
    "-m --measure measure", "NAME", "Measure to compare runs by [AP].", default="AP", shell_complete=named("measure")
)
@titled("Scoring")
@option("--profile", help="Scoring conventions.", **PROFILE)
@titled("Reading files")
@READING_OPTIONS["judgment_format"]
@READING_OPTIONS["run_format"]
@READING_OPTIONS["max_passage"]
@titled("Output")
@NAMES
@output_options("trec", ["trec", "qrels", *FORMATS])
def pool(files: tuple[str, ...], output: Output, **settings: Any) -> None:
    r"""Choose the documents to judge next.

    Prints 'qid 0 docid', a tab and the reason, without documents that QRELS has. Judge them, add the judgments to
    QRELS, and run it again until the ranges, which are written to standard error, are narrow enough.

    \b
    order    documents that decide most about the order of the runs
    depth    the first documents of each run
    mtf      move-to-front: a run goes on until its document is not relevant
    maxmean  the run with the highest share of relevant documents so far

    Queries take turns, except with depth. RUNS may be folders and patterns, too. --format qrels writes judgments of
    -1, to be filled in.

    \b
    treceval pool runs/ --depth 10
    treceval pool qrels.txt runs/ --budget 200 -o to-judge.txt
    treceval pool qrels.txt a.run b.run --budget 50 -m nDCG@10 --format csv
    """
    from treceval_py.comparing.saved.files import run_files
    from treceval_py.pooling.pooling import pool as pool_of
    from treceval_py.pooling.show import document_of, lines_of

    first = files[0]
    no_qrels = os.path.isdir(first) or (has_magic(first) and not os.path.lexists(first)) or kind_of(first) in RUNS
    qrels, runs = (None, files) if no_qrels else (first, files[1:])
    if not runs:
        raise click.UsageError("Missing argument 'RUN…'.")
    sources = run_files(runs, without=[qrels] if qrels else [], written=[output.path] if output.path else [])
    check_targets([output.path], [qrels, *sources])
    with working(f"choosing among {len(sources)} runs"):
        chosen = pool_of(qrels, sources, **settings)
    document = document_of(chosen, output.style)
    documents, ranges = (document._replace(tables=[table]) for table in document.tables)
    if output.format in ("csv", "tsv"):  # a second table would be read as rows of the first
        output.put(render(documents, output.format, output.style))
    elif output.format in FORMATS:
        output.put(render(document, output.format, output.style))
        return
    else:
        output.put(lines_of(chosen, reasons=output.format == "trec"))
    say(render(ranges, "table", Style(output.style.digits)).rstrip("\n"))
