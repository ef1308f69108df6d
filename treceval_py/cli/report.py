"""``treceval report [QRELS] RUN… -o report.html``."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from treceval_py.cli.commands import Command
from treceval_py.cli.compare import compared, end, file_faults, notes_of
from treceval_py.cli.names import PLOTS
from treceval_py.cli.options import (
    CORPUS,
    FORCE,
    GROUPS,
    NAMES,
    QUERIES,
    USUAL,
    option,
    scoring_options,
    statistics_options,
    titled,
)
from treceval_py.cli.printing import note, wrote
from treceval_py.cli.progress import working
from treceval_py.errors import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treceval_py.comparing.comparison import Comparison


def _plot_and_file(_: click.Context, option: click.Parameter, given: Sequence[str]) -> list[tuple[str, str]]:
    """Parse PLOT=FILE."""
    plots = []
    for text in given:
        plot, equals, file = text.partition("=")
        if not equals or not file:
            raise click.BadParameter(f"'{text}' is not of the form PLOT=FILE, such as bars=bars.{option.name}.")
        if plot not in PLOTS:
            raise click.BadParameter(f"unknown plot '{plot}'; choose one of {', '.join(PLOTS)}.")
        plots.append((plot, file))
    return plots


def _check(ctx: click.Context) -> dict[str, object]:
    """Return what is wrong: a lack of outputs or of files, and outputs that cannot be written."""
    chosen = ctx.params
    plots, output = [*chosen["png"], *chosen["svg"]], chosen["output"]
    return {
        "Missing output: add -o FILE, --png PLOT=FILE or --svg PLOT=FILE.": output is None and not plots,
        "Pages and plots cannot be written to standard output (-); name a file.": "-"
        in (output, *(file for _, file in plots)),
        "--of selects the runs of --png and --svg; add one of these.": chosen["pair"] is not None and not plots,
        **file_faults(chosen["files"]),
    }


@click.command("report", cls=Command, peak=(185, 100), check=_check, common="-o -m --baseline --queries --corpus")
@click.argument("files", metavar="[QRELS] RUN…", nargs=-1)
@option("-o --output", "FILE", "Write the page to FILE.")
@option("--queries", "FILE", QUERIES)
@option("--corpus", "FILE", CORPUS)
@scoring_options(f"{USUAL}, or what saved results have")
@option("--baseline", "NAME", "Run to compare the others with [of two the first, else the best].")
@titled("Reading files")
@FORCE
@titled("Statistics")
@statistics_options
@GROUPS
@titled("Plots")
@option("--png", "PLOT=FILE", "Write a plot as PNG. Repeatable.", multiple=True, callback=_plot_and_file)
@option("--svg", "PLOT=FILE", "Write a plot as SVG. Repeatable.", multiple=True, callback=_plot_and_file)
@option("--of pair", "RUN RUN", "Two runs to plot [the two that the page shows first].", nargs=2)
@titled("Output")
@option("--title", "TEXT", "Title of the page [names or counts the runs].")
@NAMES
@click.pass_context
def report(
    ctx: click.Context,
    /,
    files: tuple[str, ...],
    output: str | None,
    title: str | None,
    queries: str | None,
    corpus: str | None,
    png: list[tuple[str, str]],
    svg: list[tuple[str, str]],
    pair: tuple[str, str] | None,
    **how: Any,
) -> None:
    r"""Write a report on one run or several: one self-contained HTML file with tables and plots.

    RUNs are as for 'treceval compare': run files, folders, patterns, or saved results, which need no QRELS and have no
    rankings. The page states the result, shows the value of each query, how far values depend on ties and on unjudged
    documents, and the documents of a query, with texts from --queries and --corpus; it compares any two runs and puts
    their documents side by side. It loads nothing and names files without their folders. If documents would take more
    than 1.5 MB, they are kept only for the queries that differ most, the hardest, and some others.

    \b
    treceval report qrels.txt bm25.txt -o report.html
    treceval report qrels.txt runs/ -o report.html
    treceval report qrels.txt bm25.txt -o page.html --queries queries.tsv
    treceval report qrels.txt bm25.txt bge.txt --svg deltas=deltas.svg

    \b
    Plots: bars, scatter, deltas, precision-recall, recall-depth, overlap.
    --png and --svg need the packages of the extra report: see docs/install.md.
    """
    from treceval_py.corpora.named import open_texts, read_query_texts
    from treceval_py.io.digests import without_folders
    from treceval_py.io.target import written_whole
    from treceval_py.reporting import image, write_report
    from treceval_py.reporting.reporting import Kept
    from treceval_py.scoring.show import about_runs

    plots = [*(("png", *each) for each in png), *(("svg", *each) for each in svg)]
    outputs = [output, *(file for _, _, file in plots)]
    keep = Kept()
    texts = None if queries is None else read_query_texts(queries)
    passages = None if corpus is None else open_texts(corpus, "document")
    gathering, comparison = compared(files, **how, outputs=outputs, inputs=[queries, corpus], look=keep, fewest=1)
    chosen = _pair(comparison, pair, how["baseline"])
    with working("drawing the report"):
        command = shlex.join(["treceval", *map(without_folders, ctx.obj or sys.argv[1:])])
        contents = {"texts": texts, "passages": passages, "baseline": how["baseline"], "command": command}
        payload = keep.payload(comparison, title, **contents)
        # Everything is drawn before anything is written.
        drawn = [(file, image(payload, plot, kind, runs=chosen)) for kind, plot, file in plots]
    if output is not None:
        write_report(output, payload)
    for file, raw in drawn:
        with written_whole(file) as stream:
            stream.write(raw)
    note(*about_runs(results for results in gathering.results if results is not None))
    note(*notes_of(comparison, gathering))
    wrote(*filter(None, outputs))
    end(ctx, gathering)


def _pair(comparison: Comparison, names: tuple[str, str] | None, baseline: str | None) -> tuple[int, int]:
    """Return the numbers of the two runs that plots show: those named, or the two that the page shows first."""
    if names is None:
        means = comparison.measures[0].means
        best = sorted(range(len(means)), key=lambda run: (-means[run], comparison.runs[run]))
        base = best[0] if baseline is None and len(best) > 2 else comparison.baseline or 0
        return next((run for run in best if run != base), 1), base
    for name in names:
        if name not in comparison.runs:
            raise EvaluationError(f"no run is named '{name}'", f"The runs are {', '.join(comparison.runs[:20])}.")
    if names[0] == names[1]:
        raise click.UsageError("--of needs two different runs.")
    return comparison.runs.index(names[0]), comparison.runs.index(names[1])
