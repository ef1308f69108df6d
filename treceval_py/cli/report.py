"""``treceval report [QRELS] RUN RUN… -o report.html``."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import click

from treceval_py.cli.compare import gathered
from treceval_py.cli.options import flag, groups_option, scoring_options, statistics_options
from treceval_py.cli.printing import check_targets, note
from treceval_py.data.qrels import Qrels
from treceval_py.errors import EvaluationError
from treceval_py.io.digests import without_folders
from treceval_py.scoring.show import about_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treceval_py.comparing.comparison import Comparison
    from treceval_py.comparing.outcome import Settings
    from treceval_py.corpora.texts import PlacedTexts
    from treceval_py.data.run import Run
    from treceval_py.report.documents import Rankings
    from treceval_py.scoring.evaluation import Evaluator
    from treceval_py.scoring.planning import Reading, Scoring

HELP = """Write a report that compares runs: one self-contained HTML file with tables and plots.

RUNs are as for 'treceval compare': run files, folders, patterns, or saved results, which need no QRELS and have no
rankings. The page states the result, compares any two runs, shows how far values depend on ties and on unjudged
documents, and puts the documents of two runs for a query side by side, with texts from --queries and --docs. It loads
nothing and names files without their folders. If documents would take more than 1.5 MB, they are kept only for the
queries that differ most, the hardest, and some others.

\b
treceval report qrels.txt runs/ -o report.html
treceval report qrels.txt bm25.txt bge.txt -o report.html --queries queries.tsv --docs collection.tsv
treceval report qrels.txt bm25.txt bge.txt --svg deltas=deltas.svg --png bars=bars.png

\b
Plots for --png and --svg: bars, scatter, deltas, precision-recall, recall-depth, overlap.
Needs: pip install 'treceval-py[report]'
"""

PLOTS = ("bars", "scatter", "deltas", "precision-recall", "recall-depth", "overlap")
"""The plots by name; a test compares them with those of the report."""


def _plot_and_file(_: click.Context, option: click.Parameter, given: Sequence[str]) -> list[tuple[str, str]]:
    """Parse PLOT=FILE."""
    found = []
    for each in given:
        plot, equals, file = each.partition("=")
        if not equals or not file:
            raise click.BadParameter(f"'{each}' is not of the form PLOT=FILE, such as bars=bars.{option.name}.")
        if plot not in PLOTS:
            raise click.BadParameter(f"unknown plot '{plot}'; choose one of {', '.join(PLOTS)}.")
        found.append((plot, file))
    return found


@click.command("report", help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", metavar="[QRELS] RUN RUN…", nargs=-1)
@click.option("-o", "--output", metavar="FILE", help="Write the page to FILE, whole or not at all.")
@click.option("--title", metavar="TEXT", help="Title of the page [Comparison of N runs].")
@click.option("--queries", metavar="FILE", help="File of query texts: qid<TAB>text, or BEIR's queries.jsonl.")
@click.option(
    "--docs",
    metavar="FILE",
    help="Texts of documents: docid<TAB>text, BEIR's corpus.jsonl, or ir_datasets:NAME. The page shows how they begin.",
)
@click.option(
    "--png", multiple=True, metavar="PLOT=FILE", callback=_plot_and_file, help="Write a plot as PNG. Repeatable."
)
@click.option(
    "--svg", multiple=True, metavar="PLOT=FILE", callback=_plot_and_file, help="Write a plot as SVG. Repeatable."
)
@click.option(
    "--of",
    "pair",
    nargs=2,
    metavar="RUN RUN",
    help="Two runs for the plots scatter and deltas of --png and --svg [the first other run, the baseline].",
)
@scoring_options("map, ndcg_cut.10, recip_rank, P.10, or what saved results have")
@click.option("--baseline", metavar="NAME", help="Run to compare the others with [of two the first, else the best].")
@groups_option
@statistics_options
@click.option("--names", "by", type=click.Choice(["tag", "file"]), help="Name runs by tag or by file [tag if unique].")
@flag("--force", help="Compare even values that were computed differently.")
@click.pass_context
def report(
    ctx: click.Context,
    files: tuple[str, ...],
    output: str | None,
    title: str | None,
    queries: str | None,
    docs: str | None,
    png: list[tuple[str, str]],
    svg: list[tuple[str, str]],
    pair: tuple[str, str] | None,
    scoring: Scoring,
    reading: Reading,
    settings: Settings,
    baseline: str | None,
    groups: tuple[str, ...],
    by: str | None,
    force: bool,
) -> None:
    """Write a report: gather, compare, draw."""
    plots = [*(("png", *each) for each in png), *(("svg", *each) for each in svg)]
    if output is None and not plots:
        raise click.UsageError("Missing output: add -o FILE, --png PLOT=FILE or --svg PLOT=FILE.")
    outputs = [output, *(file for _, _, file in plots)]
    if "-" in outputs:
        raise click.UsageError("Pages and plots cannot be written to standard output (-); name a file.")
    if pair is not None and not plots:
        raise click.UsageError("--of selects the runs of --png and --svg; add one of these.")
    from treceval_py.comparing.comparing import compare_gathered
    from treceval_py.comparing.documents import read_query_texts
    from treceval_py.io.query_groups import read_query_groups
    from treceval_py.io.target import written_whole
    from treceval_py.report import image, write_report
    from treceval_py.report.payload import payload_of

    by_group = read_query_groups(groups) if groups else ()
    check_targets(outputs, [queries, docs, *(each.name for each in by_group)])
    texts = None if queries is None else read_query_texts(queries)
    passages = None if docs is None else _texts_of_documents(docs)
    read = _Read()
    found = gathered(files, scoring, reading, by=by, force=force, outputs=outputs, look=read.add)
    compared = compare_gathered(
        found, settings, baseline=baseline, groups=by_group, force=force, threads=reading.threads
    )
    chosen = _pair(compared, pair)
    payload = payload_of(
        compared,
        read.rankings_of(compared),
        texts=texts,
        passages=passages,
        baseline=baseline,
        title=title or f"Comparison of {len(compared.runs)} runs",
        command=shlex.join(["treceval", *map(without_folders, ctx.obj or sys.argv[1:])]),
    )
    # Everything is drawn before anything is written.
    drawn = [(file, image(payload, plot, kind, runs=chosen)) for kind, plot, file in plots]
    if output is not None:
        write_report(output, payload)
    for file, raw in drawn:
        with written_whole(file) as stream:
            stream.write(raw)
    note(*about_runs(results for results in found.results if results is not None))
    for line in compared.notes:
        note(line)


class _Read:
    """Collects the parts of runs that a report needs."""

    def __init__(self) -> None:
        self._rankings: Rankings | None = None

    def add(self, evaluator: Evaluator, run: Run) -> None:
        """Keep what the report needs of a scored run."""
        from treceval_py.report.documents import Rankings

        if not isinstance(evaluator.judgments, Qrels):
            return
        if self._rankings is None:
            self._rankings = Rankings.of(evaluator)
        self._rankings.add(run)

    def rankings_of(self, compared: Comparison) -> Rankings | None:
        """Return the rankings of the runs; None where some are saved results."""
        found = self._rankings
        return found if found is not None and len(found.runs) == len(compared.runs) else None


def _texts_of_documents(name: str) -> PlacedTexts:
    from treceval_py.corpora.named import open_texts

    return open_texts(name, "document")


def _pair(compared: Comparison, names: tuple[str, str] | None) -> tuple[int, int]:
    """Return the numbers of the two runs that plots show: those named, or the two that the page shows first."""
    if names is None:
        base = 0 if compared.baseline is None else compared.baseline
        return (1 if base == 0 else 0), base
    for name in names:
        if name not in compared.runs:
            raise EvaluationError(f"no run is named '{name}'", f"The runs are {', '.join(compared.runs[:20])}.")
    if names[0] == names[1]:
        raise click.UsageError("--of needs two different runs.")
    return compared.number_of(names[0]), compared.number_of(names[1])
