"""``treceval gate [QRELS] BASELINE CANDIDATE``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from treceval_py.cli.commands import Command
from treceval_py.cli.compare import file_faults, gathered
from treceval_py.cli.options import FORCE, NAMES, USUAL, decimal, output_options, repeatable, scoring_options, titled
from treceval_py.cli.printing import Output, say
from treceval_py.rendering import FORMATS, text_of

if TYPE_CHECKING:
    from treceval_py.gating.gating import Verdict
    from treceval_py.scoring.planning import Reading, Scoring

SUMMARY = "GITHUB_STEP_SUMMARY"
"""The environment variable that holds the path of a workflow's summary."""


@click.command(
    "gate",
    cls=Command,
    peak=(115, 30),
    check=lambda ctx: file_faults(ctx.params["files"]),
    common="-m --margin --floor --format -o",
)
@click.argument("files", metavar="[QRELS] BASELINE CANDIDATE", nargs=-1)
@scoring_options(f"those with a margin or floor; else {USUAL}")
@repeatable(
    "--margin margins",
    "[MEASURE=]X",
    "How much lower the candidate may be: 0.01, or 5% of the baseline. Repeatable [0.01 where there is no floor].",
    "measure",
)
@repeatable("--floor floors", "MEASURE=X", "Lowest mean of the candidate, without a test. Repeatable.", "measure")
@titled("Reading files")
@FORCE
@titled("Statistics")
@decimal("--alpha", "Significance level [0.05].", 0.05)
@decimal("--power", "Power for the number of queries needed [0.8].", 0.8)
@titled("Output")
@NAMES
@output_options("table", [*FORMATS, "github"])
@click.pass_context
def gate(
    ctx: click.Context,
    files: tuple[str, ...],
    scoring: Scoring,
    reading: Reading,
    margins: tuple[str, ...],
    floors: tuple[str, ...],
    alpha: float,
    power: float,
    by: str | None,
    force: bool,
    output: Output,
) -> None:
    r"""Decide whether a run may replace another: a gate for continuous integration.

    The candidate passes if one-sided paired t-tests show for every measure that it is not lower than the baseline by
    more than the margin, and if it reaches its floors. Runs are run files, or results saved with -q, which need no
    QRELS. A judged query that a run lacks counts as an empty ranking. Higher is assumed better.

    \b
    treceval gate qrels.txt main.run branch.run -m nDCG@10 -m map
    treceval gate qrels.txt main.run branch.run --margin 0.005 --margin nDCG@10=2%
    treceval gate qrels.txt main.json branch.run --format github
    treceval gate qrels.txt main.run branch.run --floor map=0.30

    Exit status: 0: pass. 3: worse. 4: cannot tell, as there are too few queries. 1: a file is unreadable, or the runs
    do not compare. 2: wrong usage.
    """
    from treceval_py.comparing.saved.reading import is_saved
    from treceval_py.gating.gating import gate_gathered, gate_settings, scoring_for
    from treceval_py.gating.show import finding, workflow_commands

    settings = gate_settings(_by_measure("--margin", margins), _by_measure("--floor", floors), alpha, power)
    scoring = scoring_for(scoring, settings, saved=any(map(is_saved, files)))
    runs = gathered(files, scoring, reading, by=by, force=force, outputs=[output.path], every=True)
    verdict = gate_gathered(runs, settings, force=force)
    if output.format == "github":
        output.put(workflow_commands(verdict, next((file for file in files[-1:] if file != "-"), None)))
        _summarise(verdict)
    else:
        output.put(text_of(verdict, output.format, output.style))
    output.note(*verdict.notes, also="github")
    if output.format != "table" or output.path is not None:
        say(finding(verdict))
    ctx.exit(verdict.status)


def _by_measure(option: str, given: tuple[str, ...]) -> dict[str, str]:
    """Return values by measure; a value without a measure is for all of them."""
    values: dict[str, str] = {}
    for text in given:
        measure, equals, value = text.rpartition("=")
        of_measure = value[:1].isalpha() and value.lower() not in ("nan", "inf", "infinity")
        if not equals and (option == "--floor" or of_measure):
            name, _, number = value.partition(":")
            example = f"{name}={number or '0.01'}" if of_measure else f"map={value}"
            raise click.UsageError(f"{option} takes MEASURE=X: {option} {example}.")
        if equals and not measure:
            raise click.UsageError(f"{option} {text} lacks the measure before '='.")
        if measure in values:
            raise click.UsageError(f"{option} is given twice for {measure or 'all measures'}.")
        values[measure] = value
    return values


def _summarise(verdict: Verdict) -> None:
    """Append the verdict to the summary of the workflow, if there is one."""
    path = os.environ.get(SUMMARY)
    if not path:
        return
    from treceval_py.errors import OutputError

    text = text_of(verdict, "markdown", Output(output=path).style)
    try:
        with open(path, "ab") as stream:
            stream.write(text.encode() + b"\n")
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror or error}", f"Is {SUMMARY} right?", file=path) from None
