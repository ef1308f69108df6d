"""``treceval [score] QRELS RUN [RUN…]``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from treceval_py.cli.commands import COMMANDS, PrefixCommand
from treceval_py.cli.options import digits_option, flag, format_option, groups_option, output_option, scoring_options
from treceval_py.cli.printing import check_targets, note, put, style_for
from treceval_py.cli.progress import progress
from treceval_py.measures import in_print_order
from treceval_py.scan import reader_name, why_python
from treceval_py.scoring.evaluation import Evaluator
from treceval_py.scoring.planning import Reading, Scoring
from treceval_py.scoring.profiles import DEFAULT_MEASURES, profile_of
from treceval_py.scoring.results import Results
from treceval_py.scoring.show import RESULT_FORMATS, Options, about, about_groups, results_text
from treceval_py.scoring.zscores import read_norms
from treceval_py.version import __version__

if TYPE_CHECKING:
    from treceval_py.data.query_groups import QueryGroups

RANGED = ("map", "recip_rank", "ndcg", "ndcg_cut.10")
"""Default measures of --ties and --unjudged."""

_OTHERS = "\n".join(f"  {name:10} {what}" for name, what in COMMANDS.items())

HELP = f"""Score RUNs against the judgments in QRELS, with trec_eval's measures and numbers.

QRELS has lines of "qid iteration docid rel", RUN lines of "qid Q0 docid rank score tag"; MS MARCO's, BEIR's, JSON
and Parquet files are recognised. Either may be compressed (gzip, bzip2, xz, zstd), a pipe, or - for standard input.

\b
treceval qrels.txt run.txt                 official measures, ndcg, ndcg_cut_10
treceval -q -m map -m nDCG@10 qrels.txt run.txt
treceval -m ndcg qrels.txt a.txt b.txt     a table with a column for each run
treceval --profile msmarco qrels.tsv run.tsv
treceval --ties -m map qrels.txt run.txt   lowest and highest value over all orders of ties
treceval measures ndcg                     explain a measure

\b
Other commands:
{_OTHERS}
This command is 'score'; its name may be omitted.
"""


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        reader = reader_name() + (f", as {why}" if (why := why_python()) else "")
        put(f"treceval_py {__version__} (agrees with trec_eval 10.0 and 9.0.8; reader: {reader})\n", None)
        ctx.exit()


@click.command("score", cls=PrefixCommand, help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("qrels", metavar="QRELS", required=False)
@click.argument("runs", metavar="RUN [RUN…]", nargs=-1)
@scoring_options("official, ndcg, ndcg_cut.10, or the profile's")
@flag("-q", "--query_eval_wanted", "per_query", help="Print each query too.")
@flag("-n", "--nosummary", "no_summary", help="Do not print the average over queries.")
@click.option(
    "-Z", "--Zscore", "norms", metavar="FILE", help="Print z-scores; lines of FILE: qid measure mean deviation."
)
@click.option(
    "--judged-ranking",
    "judged_rankings",
    multiple=True,
    metavar="FILE",
    help="Score FILE of lines 'qid Q0 docid rel', both ranking and judgments; replaces QRELS RUN. Repeatable. The "
    "default profile is then coursework.",
)
@groups_option
@flag("--signature", help="Print how each value was computed, as one line that --repeat accepts.")
@flag("--long-signature", help="Like --signature, with every parameter and convention spelled out.")
@flag("--ties", help="Print the lowest, expected and highest value over all orders of documents with equal scores.")
@flag("--unjudged", help="Print the lowest and highest value over all labels of unjudged retrieved documents.")
@format_option(None, RESULT_FORMATS, "trec for one run, table for several")
@digits_option
@output_option
@click.option(
    "-v",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version.",
)
def score(
    qrels: str | None,
    runs: tuple[str, ...],
    scoring: Scoring,
    reading: Reading,
    per_query: bool,
    no_summary: bool,
    norms: str | None,
    judged_rankings: tuple[str, ...],
    groups: tuple[str, ...],
    signature: bool,
    long_signature: bool,
    ties: bool,
    unjudged: bool,
    output_format: str | None,
    digits: int | None,
    output: str | None,
) -> None:
    """Score runs: read, evaluate, print."""
    _check_arguments(qrels, runs, judged_rankings)
    ranges = ties or unjudged
    if norms is not None and (scoring.signatures or signature or long_signature):
        raise click.UsageError("Signatures describe values, not z-scores; remove -Z.")
    if judged_rankings and (reading.judgment_format or reading.run_format):
        option = "-R" if reading.judgment_format else "-T"
        raise click.UsageError(f"--judged-ranking has its own format; remove {option}.")
    for option, there in (
        ("-Z", norms),
        ("--signature", signature or long_signature),
        ("--judged-ranking", judged_rankings),
        ("--groups", groups),
    ):
        if ranges and there:
            raise click.UsageError(f"--ties and --unjudged print ranges of values; remove {option}.")
    if output is not None:
        check_targets([output], [qrels, *runs, *judged_rankings, norms])
    if scoring.signatures is None:
        scoring = _resolved(scoring, "coursework" if judged_rankings else None, RANGED if ranges else None)
    style = style_for(output, digits)
    form = "long" if long_signature else "short" if signature else ""
    # Each judged ranking has its own judgments.
    by_group = _read_groups(groups, output, no_summary=no_summary) if groups else ()
    options = Options(per_query, not no_summary, form, bool(judged_rankings), by_group)
    if ranges:
        from treceval_py.cli.ranges import print_ranges

        print_ranges(
            *(scoring, reading, qrels or "", runs, options, style, output_format, output), ties=ties, unjudged=unjudged
        )
        return
    table = read_norms(norms) if norms is not None else None
    scored: list[Results] = []
    files = judged_rankings or runs
    with progress(files) as bar:
        watch = None if bar is None else bar.watch
        evaluator = None if qrels is None else Evaluator(qrels, scoring, reading)
        for file in files:
            results = _of_judged_ranking(file, scoring, reading) if evaluator is None else evaluator.scored(file, watch)
            scored.append(results if table is None else results.standardise(table))
            if bar is not None:
                bar.next()
    name = output_format or ("trec" if len(files) == 1 else "table")
    notes = [line for results in scored for line in about(results)]
    notes += about_groups(scored, options) if groups else []
    put(results_text(scored, name, options, style, notes), output, styled=name == "table")
    # Only now, so that output that cannot be written gives a single line.
    note(*notes)


def _read_groups(files: Sequence[str], output: str | None, *, no_summary: bool) -> tuple[QueryGroups, ...]:
    """Return the groups of queries in some files; refuse a file that is also an output."""
    from treceval_py.io.query_groups import read_query_groups

    if no_summary:
        raise click.UsageError("--groups prints the averages of groups; remove -n.")
    groups = read_query_groups(files)
    check_targets([output], [each.name for each in groups])
    return groups


def _check_arguments(qrels: str | None, runs: tuple[str, ...], judged_rankings: tuple[str, ...]) -> None:
    if judged_rankings:
        if qrels is not None:
            raise click.UsageError("--judged-ranking FILE replaces QRELS and RUN; remove them.")
        files = list(judged_rankings)
    else:
        if qrels is None:
            raise click.UsageError("Missing argument 'QRELS'.")
        if not runs:
            raise click.UsageError("Missing argument 'RUN [RUN…]'.")
        files = [qrels, *runs]
    if files.count("-") > 1:
        raise click.UsageError("Standard input (-) can be read only once.")


def _resolved(scoring: Scoring, profile: str | None, usual: Sequence[str] | None) -> Scoring:
    """Return scoring with its profile and its measures in the order of output; defaults are this command's."""
    named = profile_of(scoring.profile or profile)
    asked = scoring.measures or (usual if usual and named.measures == DEFAULT_MEASURES else named.measures)
    return replace(scoring, profile=named, measures=in_print_order(named.parse(asked)))


def _of_judged_ranking(file: str, scoring: Scoring, reading: Reading) -> Results:
    """Score a judged ranking against its own judgments."""
    from treceval_py.io.judged_ranking import read_judged_ranking

    qrels, run = read_judged_ranking(file, reading.threads)
    return Evaluator(qrels, scoring).scored(run)
