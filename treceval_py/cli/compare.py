"""``treceval compare [QRELS] RUN RUN…``."""

from __future__ import annotations

import glob
import os
from typing import TYPE_CHECKING, Any

import click

from treceval_py.cli.commands import Command
from treceval_py.cli.options import (
    COLUMNS,
    FORCE,
    GROUPS,
    NAMES,
    TWICE,
    USUAL,
    flag,
    option,
    output_options,
    scoring_options,
    statistics_options,
    titled,
    within,
)
from treceval_py.cli.printing import Output, check_targets, kind_of, note, say
from treceval_py.cli.progress import progress, working
from treceval_py.errors import EvaluationError
from treceval_py.rendering import left_out, render

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treceval_py.comparing.comparison import Comparison
    from treceval_py.comparing.gathering import Gathered
    from treceval_py.comparing.outcome import Settings
    from treceval_py.data.run import Run
    from treceval_py.rendering.style import Style
    from treceval_py.rendering.tables import Document
    from treceval_py.scoring.evaluation import Evaluator
    from treceval_py.scoring.planning import Reading, Scoring


def file_faults(files: Sequence[str]) -> dict[str, object]:
    """Return what is wrong with the files."""
    return {"Missing argument 'QRELS'.": not files, TWICE: files.count("-") > 1}


def _divided(files: Sequence[str], outputs: Sequence[str | None], fewest: int) -> tuple[str | None, list[str]]:
    """Return the judgments, the first argument if anything is scored, and the files to compare."""
    from treceval_py.comparing.saved.files import run_files
    from treceval_py.comparing.saved.reading import is_saved

    first, others = files[0], files[1:]
    # Earlier output in the runs' folder is not a run.
    written = [output for output in outputs if output is not None]
    if os.path.isdir(first) or (glob.has_magic(first) and not os.path.lexists(first)) or is_saved(first):
        return None, run_files(files, written=written)
    if not others:
        raise click.UsageError(f"Missing argument '{'RUN ' * (fewest - 1)}RUN…'.")
    runs = run_files(others, without=[first], written=written)
    if all(map(is_saved, runs)):
        raise EvaluationError(
            "all files after this hold saved results, which need no judgments; runs among them need judgments first",
            "Remove this file, or give the judgments first.",
            file=first,
        )
    if kind_of(first) == "run":
        if judgments := next((file for file in others if kind_of(file) == "qrels"), None):
            raise click.UsageError(f"The judgments come first: put {judgments} before {first}.")
        raise click.UsageError(f"Missing argument 'QRELS': {first} looks like a run. Give the judgments before it.")
    return first, runs


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
    every: bool = False,
    fewest: int = 2,
) -> Gathered:
    """Score and read the files of the command line, with a progress bar if it takes long.

    Parameters
    ----------
    files : sequence of str
        The arguments.
    scoring, reading, by, force, look, fewest
        As in `gather`.
    outputs : sequence of str or None
        The files that will be written.
    again : bool
        Whether runs will be read again, so that pipes must be kept.
    every : bool
        Whether files of folders and patterns that cannot be scored are refused, as those named are, not left out.
    """
    from treceval_py.comparing.gathering import gather
    from treceval_py.comparing.saved.files import passed_over
    from treceval_py.comparing.saved.reading import is_saved
    from treceval_py.scoring.opening import load_run
    from treceval_py.scoring.profiles import profile_of

    qrels, runs = _divided(files, outputs, fewest)
    check_targets(outputs, [qrels, *runs])
    optional = [] if every else [file for file in runs if file not in files]
    unsaved = [file for file in runs if not is_saved(file)] if qrels is None else []
    unscored = next((file for file in unsaved if file not in optional or len(unsaved) == len(runs)), None)
    if unscored is not None:
        raise EvaluationError(
            f"scoring this run needs judgments, but the first argument, {files[0]}, is not a judgments file",
            "Give the judgments first.",
            file=unscored,
        )
    duplicates = profile_of(scoring.profile).conventions.duplicates
    with progress(runs) as bar:
        gathering = gather(
            [
                load_run(file, reading, duplicates=duplicates)
                if again and (file == "-" or not os.path.isfile(file))
                else file
                for file in runs
            ],
            qrels,
            scoring,
            reading,
            by=by,
            force=force,
            watch=None if bar is None else bar.watch,
            after=None if bar is None else bar.next,
            look=look,
            optional=optional,
            fewest=fewest,
        )
    return gathering._replace(notes=(*gathering.notes, *passed_over(files, without=[qrels, *outputs])))


def compared(
    files: Sequence[str],
    scoring: Scoring,
    reading: Reading,
    settings: Settings,
    *,
    outputs: Sequence[str | None],
    inputs: Sequence[str | None],
    groups: Sequence[str],
    baseline: str | None,
    force: bool,
    pairs: bool = False,
    fewest: int = 2,
    **how: Any,
) -> tuple[Gathered, Comparison]:
    """Gather the files of the command line (`how`, as `gathered` does), and compare them; `inputs` are read, too."""
    from treceval_py.comparing.comparing import compare_gathered
    from treceval_py.io.query_groups import read_query_groups

    by_group = read_query_groups(groups) if groups else ()
    check_targets(outputs, [*inputs, *(each.name for each in by_group)])
    both: dict[str, Any] = {"force": force, "fewest": fewest}
    gathering = gathered(files, scoring, reading, outputs=outputs, **both, **how)
    with working(f"comparing {len(gathering.runs)} runs"):
        comparison = compare_gathered(
            gathering, settings, baseline=baseline, pairs=pairs, groups=by_group, threads=reading.threads, **both
        )
    return gathering, comparison


def notes_of(comparison: Comparison, gathering: Gathered) -> list[str]:
    """Return the notes of a comparison, but for those about files that were left out, which `end` names."""
    from treceval_py.comparing.saved.files import not_scored

    left_out = not_scored(gathering.left_out)
    return [sentence for sentence in comparison.notes if sentence not in left_out]


def end(ctx: click.Context, gathering: Gathered) -> None:
    """Name each file that was left out, with the reason, and end with the status for bad data if there is one."""
    for file in gathering.left_out:
        say(file.message)
    if gathering.left_out:
        ctx.exit(1)


def _runs_of(gathering: Gathered) -> list[Run] | None:
    """Return the runs as tables; None where some were saved as results only."""
    if gathering.evaluator is None or any(source is None for source in gathering.sources):
        return None
    return [gathering.evaluator.table(source) for source in gathering.sources if source is not None]


def _check(ctx: click.Context) -> dict[str, object]:
    """Return what is wrong: options that do not go together or have no effect, and a lack of files."""
    chosen = ctx.params
    by_query, agreement = chosen["per_query"] is not None, chosen["agreement"] is not None
    no_tables = by_query or agreement
    return {
        "--pairs compares every pair of runs; remove --baseline.": chosen["pairs"] and chosen["baseline"] is not None,
        "--per-query and --agreement print different things; remove one of them.": by_query and agreement,
        "--groups adds to the tables, which --per-query and --agreement replace; remove one.": chosen["groups"]
        and no_tables,
        "--queries needs --per-query.": chosen["queries"] is not None and not by_query,
        "--columns does not go with --per-query and --agreement.": chosen["columns"] and no_tables,
        "--columns needs --format latex.": chosen["columns"] and chosen["output_format"] != "latex",
        **file_faults(chosen["files"]),
    }


@click.command("compare", cls=Command, peak=(150, 50), check=_check, common="-m --baseline --pairs --format -o")
@click.argument("files", metavar="[QRELS] RUN RUN…", nargs=-1)
@scoring_options(f"{USUAL}, or what saved results have")
@option("--baseline", "NAME", "Run to compare the others with [the first].")
@titled("Reading files")
@FORCE
@titled("Statistics")
@statistics_options
@flag("--pairs", "Compare all pairs, not only with the baseline.")
@GROUPS
@titled("Other views")
@option(
    "--per-query",
    "[N]",
    "Instead of tables: the N queries that differ most, and the documents that moved [10].",
    is_flag=False,
    flag_value=10,
    type=within(1),
)
@option("--queries", "FILE", "With --per-query: texts of queries, as for report.")
@option(
    "--agreement",
    "[DEPTH]",
    "Instead of tables: how far measures agree on the order of runs, and the first DEPTH documents [100].",
    is_flag=False,
    flag_value=100,
    type=within(1),
)
@titled("Output")
@NAMES
@COLUMNS
@output_options()
@click.pass_context
def compare(
    ctx: click.Context,
    /,
    files: tuple[str, ...],
    per_query: int | None,
    queries: str | None,
    agreement: int | None,
    columns: str | None,
    output: Output,
    **how: Any,
) -> None:
    r"""Compare runs: differences with intervals, paired tests, and groups that do not differ significantly.

    RUNs are run files, folders or patterns, or results saved with -q as trec or json, which need no QRELS. A file of a
    folder that cannot be scored is left out with a note; the exit status is then 1.

    \b
    treceval compare qrels.txt bm25.txt bge.txt
    treceval compare qrels.txt runs/ --baseline bm25 --format latex -o table.tex
    treceval compare old.json new.json             saved results
    treceval compare qrels.txt a.txt b.txt --test t -m nDCG@10
    treceval compare qrels.txt a.txt b.txt --per-query 5 --queries queries.tsv
    """
    from treceval_py.scoring.show import about_runs

    tables = per_query is None and agreement is None
    gathering, comparison = compared(files, **how, outputs=[output.path], inputs=[queries], again=not tables)
    style = output.style._replace(columns=int(columns or 1))
    cut: list[str] = []
    if agreement is not None:
        from treceval_py.comparing.show.agreement import agreement_text

        text = agreement_text(comparison, _runs_of(gathering), agreement, output.format, style)
    elif per_query is not None:
        document = _by_query(comparison, gathering, per_query, queries, style)
        text = render(document, output.format, style)
    else:
        from treceval_py.comparing.show.tables import document_of

        document = document_of(comparison.sorted_for(output.format), style)
        text, cut = render(document, output.format, style), left_out(document, output.format, style)
    output.put(text)
    # Only now, so that output that cannot be written gives a single line.
    note(*about_runs(results for results in gathering.results if results is not None))
    output.note(*notes_of(comparison, gathering), also="" if tables else output.format)
    note(*cut)
    end(ctx, gathering)


def _by_query(comparison: Comparison, gathering: Gathered, count: int, queries: str | None, style: Style) -> Document:
    """Return the queries with the largest differences for each measure and pair of runs."""
    from treceval_py.comparing.documents import largest_differences, with_documents
    from treceval_py.comparing.show.queries import Pair, document_of
    from treceval_py.comparing.show.tables import made_of
    from treceval_py.corpora.named import read_query_texts
    from treceval_py.data.qrels import Qrels

    texts = {} if queries is None else read_query_texts(queries)
    qrels = gathering.judgments if isinstance(gathering.judgments, Qrels) else None
    runs = None if qrels is None else _runs_of(gathering)
    pairs = []
    for measure in comparison.measures:
        for pair in measure.differences:
            largest = largest_differences(comparison, measure.measure, pair.run, pair.other, count=count)
            # With --force, the values of two runs may not have been computed alike.
            one, other = (
                each.signatures[each.measures.index(measure.measure)] if measure.measure in each.measures else None
                for each in (gathering.runs[pair.run], gathering.runs[pair.other])
            )
            alike = one is not None and other is not None and not one.differences(other)
            if alike and runs is not None and measure.signature is not None and qrels is not None:
                tables = runs[pair.run], runs[pair.other]
                largest = with_documents(largest, qrels, *tables, measure.signature)
            pairs.append(Pair(largest, measure.measure, comparison.runs[pair.run], comparison.runs[pair.other]))
    return document_of(pairs, texts, made_of(comparison), style)
