"""``treceval agree QRELS QRELS… [RUN…]``."""

from __future__ import annotations

import glob
import os
from typing import TYPE_CHECKING, Any

import click

from treceval_py.cli.commands import Command
from treceval_py.cli.options import (
    SCORING_OPTIONS,
    decimal,
    flag,
    given,
    number,
    option,
    output_options,
    scoring_options,
    titled,
)
from treceval_py.cli.printing import Output, check_targets, kind_of
from treceval_py.cli.progress import working

if TYPE_CHECKING:
    from treceval_py.scoring.planning import Reading, Scoring


@click.command("agree", cls=Command, peak=(150, 800), common="-m --run -q --format -o")
@click.argument("files", metavar="QRELS QRELS… [RUN…]", nargs=-1, required=True)
@option("--run runs", "RUN", "Run, folder or pattern of runs. Repeatable.", multiple=True)
@scoring_options()
@flag("--common", "Only judgments that all judges made.")
@flag("-q --per-query by_query", "Show each query too.")
@titled("Statistics")
@decimal("--alpha", "Significance level of tests between runs [0.05].", 0.05)
@decimal("--confidence", "Confidence level of intervals [0.95].", 0.95)
@number("--bootstrap", "Resamples of the bootstrap [2000].", 2000, least=100)
@number("--seed", "Random seed [1].", 1)
@titled("Output")
@output_options()
@click.pass_context
def agree(
    ctx: click.Context,
    /,
    files: tuple[str, ...],
    runs: tuple[str, ...],
    scoring: Scoring,
    reading: Reading,
    by_query: bool,
    output: Output,
    **settings: Any,
) -> None:
    r"""Measure how judges agree, and whether they order runs alike.

    QRELS are the judgments of each judge, a person or a program. It prints Cohen's kappa, weighted kappas and
    Krippendorff's alpha with intervals, and a table of grades for each pair of judges. With runs: also the correlation
    of their orders (Kendall's tau, AP correlation), and pairs whose significant difference depends on the judge.

    \b
    treceval agree anna.qrels ben.qrels
    treceval agree nist.qrels llm.qrels runs/*.txt -m nDCG@10
    treceval agree anna.qrels ben.qrels -q --format csv -o agreement.csv
    """
    from treceval_py.comparing.saved.files import run_files
    from treceval_py.judges.agreeing import agree as agreeing
    from treceval_py.judges.show import document_of
    from treceval_py.rendering import render

    if "-" in (*files, *runs):
        raise click.UsageError("Standard input (-) is not read here; name a file.")
    judgments = [each for each in files if not _is_run(each)]
    scored = [*(file for file in files if file not in judgments), *runs]
    if len(judgments) < 2:
        number_of = "is one file" if judgments else "are no files"
        runs_too = f"; {files[-1]} is a run" if files[-1] not in judgments else ""
        raise click.UsageError(f"There {number_of} of judgments, but agreement needs two or more{runs_too}.")
    if not scored:  # level and profile still decide what is relevant
        needless = given(ctx) & {*SCORING_OPTIONS, "common", "alpha"} - {"level", "profile"}
        spellings = [name for option in ctx.command.params if option.name in needless for name in option.opts]
        if needless:
            raise click.UsageError(f"{next(name for name in spellings if name.startswith('--'))} needs runs.")
    check_targets([output.path], files)
    for at, file in enumerate(judgments):
        # Perhaps by different paths; and a judge always agrees with himself.
        if os.path.realpath(file) in map(os.path.realpath, judgments[:at]):
            raise click.UsageError(f"{file} is given twice; remove one.")
    with working("comparing judges"):
        agreement = agreeing(
            judgments,
            run_files(scored, without=judgments, written=[] if output.path is None else [output.path])
            if scored
            else (),
            scoring=scoring,
            **settings,
            **reading._asdict(),
        )
    output.put(render(document_of(agreement, output.style, by_query=by_query), output.format, output.style))
    output.note(*agreement.notes)


def _is_run(path: str) -> bool:
    """Tell by its first lines whether a file is a run; folders and patterns always are."""
    from treceval_py.diagnosis.columns import RUNS

    if os.path.isdir(path) or (glob.has_magic(path) and not os.path.lexists(path)):
        return True
    return kind_of(path) in RUNS
