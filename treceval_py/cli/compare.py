"""``treceval compare [QRELS] RUN RUN…``."""

from __future__ import annotations

import glob
import os
from typing import TYPE_CHECKING, NamedTuple

import click

from treceval_py.cli.options import (
    columns_option,
    digits_option,
    flag,
    format_option,
    groups_option,
    number,
    output_option,
    scoring_options,
    statistics_options,
    within,
)
from treceval_py.cli.printing import check_targets, note, put, style_for
from treceval_py.cli.progress import progress
from treceval_py.data.qrels import Qrels
from treceval_py.errors import EvaluationError
from treceval_py.rendering import left_out, render
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import Document
from treceval_py.scoring.show import about_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from treceval_py.comparing.comparison import Comparison
    from treceval_py.comparing.gathering import Gathered
    from treceval_py.comparing.outcome import Settings
    from treceval_py.data.run import Run
    from treceval_py.scoring.evaluation import Evaluator
    from treceval_py.scoring.planning import Reading, Scoring

HELP = """Compare runs: differences with intervals, paired tests, and groups that do not differ significantly.

RUNs are run files, folders or patterns, or results saved with -q (by trec_eval, or by treceval as trec, csv, tsv or
json). If all are saved results, omit QRELS.

\b
treceval compare qrels.txt bm25.txt bge.txt
treceval compare qrels.txt runs/ --baseline bm25 --format latex -o table.tex
treceval compare old.json new.json             results of treceval -q --format json
treceval compare qrels.txt a.txt b.txt --test randomisation --interval bca -m nDCG@10
treceval compare qrels.txt a.txt b.txt --per-query 5 --queries queries.tsv
treceval compare --explain                     what each test does and assumes
"""


class Arguments(NamedTuple):
    """The files of a command line: the judgments, if needed, and the files to compare."""

    qrels: str | None
    files: list[str]


def read_arguments(files: Sequence[str], outputs: Sequence[str | None] = ()) -> Arguments:
    """Separate the judgments, the first argument if anything is scored, from the files to compare."""
    from treceval_py.comparing.saved.files import run_files
    from treceval_py.comparing.saved.reading import is_saved

    if not files:
        raise click.UsageError("Missing argument 'QRELS'.")
    if list(files).count("-") > 1:
        raise click.UsageError("Standard input (-) can be read only once.")
    first, others = files[0], files[1:]
    # Earlier output in the runs' folder is not a run.
    written = [output for output in outputs if output is not None]
    if os.path.isdir(first) or (glob.has_magic(first) and not os.path.lexists(first)) or is_saved(first):
        return Arguments(None, run_files(files, written=written))
    if not others:
        raise click.UsageError("Missing argument 'RUN RUN…'.")
    found = run_files(others, without=[first], written=written)
    if all(map(is_saved, found)):
        raise EvaluationError(
            "all files after this hold saved results, which need no judgments; runs among them need judgments first",
            "Remove this file, or give the judgments first.",
            file=first,
        )
    return Arguments(first, found)


def gathered(
    files: Sequence[str],
    scoring: Scoring,
    reading: Reading,
    *,
    by: str | None,
    force: bool,
    outputs: Sequence[str | None] = (),
    again: bool = False,
    look: Callable[[Evaluator, Run], None] | None = None,
) -> Gathered:
    """Score and read the files of the command line, with a progress bar if it takes long.

    Parameters
    ----------
    files : sequence of str
        The arguments.
    scoring, reading, by, force, look
        As in `gather`.
    outputs : sequence of str or None
        The files that will be written.
    again : bool
        Whether runs will be read again, so that pipes must be kept.
    """
    from treceval_py.comparing.gathering import gather
    from treceval_py.comparing.saved.files import passed_over
    from treceval_py.comparing.saved.reading import is_saved
    from treceval_py.scoring.opening import load_run
    from treceval_py.scoring.profiles import profile_of

    given = read_arguments(files, outputs)
    check_targets(outputs, [given.qrels, *given.files])
    if given.qrels is None:
        unscored = next((file for file in given.files if not is_saved(file)), None)
        if unscored is not None:
            raise EvaluationError(
                f"scoring this run needs judgments, but the first argument, {files[0]}, is not a judgments file",
                "Give the judgments first.",
                file=unscored,
            )
    duplicates = profile_of(scoring.profile).conventions.duplicates
    with progress(given.files) as bar:
        found = gather(
            [
                load_run(file, reading.run_format, duplicates=duplicates, threads=reading.threads)
                if again and (file == "-" or not os.path.isfile(file))
                else file
                for file in given.files
            ],
            given.qrels,
            scoring,
            reading,
            by=by,
            force=force,
            watch=None if bar is None else bar.watch,
            after=None if bar is None else bar.next,
            look=look,
        )
    passed = passed_over(files, without=[given.qrels, *outputs])
    return found._replace(notes=(*found.notes, *passed))


def runs_of(found: Gathered) -> list[Run] | None:
    """Return the runs as tables; None where some were saved as results only."""
    if found.evaluator is None:
        return None
    runs = [found.evaluator.table(source) for source in found.sources if source is not None]
    return runs if len(runs) == len(found.sources) else None


@click.command("compare", help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", metavar="[QRELS] RUN RUN…", nargs=-1)
@scoring_options("map, ndcg_cut.10, recip_rank, P.10, or what saved results have")
@click.option("--baseline", metavar="NAME", help="Run to compare the others with [the first].")
@flag("--pairs", help="Compare every pair of runs, not only with the baseline.")
@groups_option
@statistics_options
@click.option("--names", "by", type=click.Choice(["tag", "file"]), help="Name runs by tag or by file [tag if unique].")
@flag("--force", help="Compare even values that were computed differently.")
@click.option(
    "--per-query",
    "per_query",
    is_flag=False,
    flag_value=10,
    type=within(1),
    metavar="[N]",
    help="Instead of the tables, print the N queries with the largest differences, and the documents that moved [10].",
)
@number("--documents", help="With --per-query: show the N documents that changed the value most [5].")
@click.option("--queries", metavar="FILE", help="With --per-query: file of query texts, qid<TAB>text.")
@click.option(
    "--agreement",
    is_flag=False,
    flag_value=100,
    type=within(1),
    metavar="[DEPTH]",
    help="Instead of the tables, print how far the measures agree on the order of runs, and the runs' first DEPTH "
    "documents with each other [100].",
)
@flag("--explain", help="Explain each test: what it does, what it assumes, its source.")
@click.option(
    "--sort",
    metavar="BY",
    help="Order of the runs: a measure (highest first), name or given [the first measure; given in csv, tsv, json].",
)
@number("--rows", help="Show N runs and the baseline in tables for people; tests stay those of all runs.", least=1)
@columns_option
@flag("--siunitx", help="With --format latex: align numbers by the package siunitx.")
@flag("--raw-names", help="With --format latex: name measures as you do, not as papers do (MAP, nDCG@10).")
@format_option()
@digits_option
@output_option
def compare(
    files: tuple[str, ...],
    scoring: Scoring,
    reading: Reading,
    settings: Settings,
    baseline: str | None,
    pairs: bool,
    groups: tuple[str, ...],
    by: str | None,
    force: bool,
    per_query: int | None,
    documents: int | None,
    queries: str | None,
    agreement: int | None,
    explain: bool,
    sort: str | None,
    rows: int | None,
    columns: str | None,
    siunitx: bool,
    raw_names: bool,
    output_format: str,
    digits: int | None,
    output: str | None,
) -> None:
    """Compare runs: gather, test, print."""
    from treceval_py.comparing.comparing import compare_gathered
    from treceval_py.io.query_groups import read_query_groups

    if documents is not None and per_query is None:
        raise click.UsageError("--documents needs --per-query.")
    _check_together(
        baseline, per_query, agreement, queries, groups, pairs=pairs, explain=explain, output_format=output_format
    )
    _check_layout(
        {"--columns": columns is not None, "--siunitx": siunitx, "--raw-names": raw_names},
        {"--sort": sort is not None, "--rows": rows is not None},
        output_format,
        tables=per_query is None and agreement is None,
    )
    if pairs and rows == 1:
        raise click.UsageError("--rows 1 leaves no pair of runs; --pairs needs two rows or more.")
    if explain and not files:
        put(_explanations(None), output)
        return
    by_group = read_query_groups(groups) if groups else ()
    check_targets([output], [queries, *(each.name for each in by_group)])
    again = per_query is not None or agreement is not None
    found = gathered(files, scoring, reading, by=by, force=force, outputs=[output], again=again)
    compared = compare_gathered(
        found, settings, baseline=baseline, pairs=pairs, groups=by_group, force=force, threads=reading.threads
    )
    style = style_for(output, digits)
    cut: list[str] = []
    if per_query is not None:
        document = _by_query(compared, found, per_query, 5 if documents is None else documents, queries, style)
        text = render(document, output_format, style)
    elif agreement is not None:
        from treceval_py.comparing.show.agreement import agreement_text

        runs = runs_of(found)
        text = agreement_text(compared, runs, agreement, output_format, style)
    else:
        from treceval_py.comparing.show.tables import document_of

        style = style._replace(columns=int(columns or 1), siunitx=siunitx, raw_names=raw_names, rows=rows)
        document = document_of(compared.sorted_for(output_format, sort), style)
        text, cut = render(document, output_format, style), left_out(document, output_format, style)
        if explain:
            text += "\n" + _explanations(compared)
    put(text, output, styled=output_format == "table")
    # Only now, so that output that cannot be written gives a single line.
    note(*about_runs(results for results in found.results if results is not None))
    if per_query is not None or agreement is not None or output_format in ("csv", "tsv"):
        note(*compared.notes)
    note(*cut)


def _check_together(
    baseline: str | None,
    per_query: int | None,
    agreement: int | None,
    queries: str | None,
    groups: Sequence[str],
    *,
    pairs: bool,
    explain: bool,
    output_format: str,
) -> None:
    """Refuse options that do not go together."""
    if pairs and baseline is not None:
        raise click.UsageError("--pairs compares every pair of runs; remove --baseline.")
    if per_query is not None and agreement is not None:
        raise click.UsageError("--per-query and --agreement print different things; remove one of them.")
    if groups and (per_query is not None or agreement is not None):
        raise click.UsageError("--groups adds to the tables, which --per-query and --agreement replace; remove one.")
    if queries is not None and per_query is None:
        raise click.UsageError("--queries needs --per-query.")
    if explain and (output_format != "table" or per_query is not None or agreement is not None):
        raise click.UsageError("--explain needs the table format, without --per-query and --agreement.")


def _check_layout(latex: Mapping[str, bool], others: Mapping[str, bool], output_format: str, *, tables: bool) -> None:
    """Refuse options without effect: those of LaTeX in other formats, those of the tables if others are printed."""
    for option, given in {**latex, **others}.items():
        if given and not tables:
            raise click.UsageError(f"{option} does not go with --per-query and --agreement.")
        if given and option in latex and output_format != "latex":
            raise click.UsageError(f"{option} needs --format latex.")
        if given and option == "--rows" and output_format in ("csv", "tsv", "json"):
            raise click.UsageError(f"--rows needs a format for people; {output_format} has all runs.")


def _by_query(
    compared: Comparison,
    found: Gathered,
    count: int,
    documents: int,
    queries: str | None,
    style: Style,
) -> Document:
    """Return the queries with the largest differences for each measure and pair of runs."""
    from treceval_py.comparing.documents import largest_differences, read_query_texts, with_documents
    from treceval_py.comparing.show.queries import Pair, document_of
    from treceval_py.comparing.show.tables import made_of

    texts = {} if queries is None else read_query_texts(queries)
    runs = runs_of(found) if isinstance(found.judgments, Qrels) else None
    pairs = []
    for measure in compared.measures:
        for pair in measure.differences:
            largest = largest_differences(compared, measure.measure, pair.run, pair.other, count=count)
            alike = _alike(found, measure.measure, pair.run, pair.other)
            if alike and runs is not None and measure.signature is not None and isinstance(found.judgments, Qrels):
                tables = runs[pair.run], runs[pair.other]
                largest = with_documents(largest, found.judgments, *tables, measure.signature, count=documents)
            pairs.append(Pair(largest, measure.measure, compared.runs[pair.run], compared.runs[pair.other]))
    return document_of(pairs, texts, made_of(compared), style)


def _alike(found: Gathered, measure: str, run: int, other: int) -> bool:
    """Tell whether the values of two runs were computed alike; with --force they may not be."""
    one, two = (
        each.signatures[each.measures.index(measure)] if measure in each.measures else None
        for each in (found.runs[run], found.runs[other])
    )
    return one is not None and two is not None and not one.differences(two)


def _explanations(compared: Comparison | None) -> str:
    """Explain all tests, or those of a comparison."""
    from treceval_py.comparing.tests import explanations

    return explanations(None) if compared is None else explanations(compared.settings, groups=bool(compared.groups))
