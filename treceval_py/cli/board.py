"""``treceval board QRELS FOLDER``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

import click

from treceval_py.cli.options import (
    decimal,
    digits_option,
    flag,
    format_option,
    groups_option,
    output_option,
    scoring_options,
)
from treceval_py.cli.printing import check_targets, note, put, say, style_for
from treceval_py.cli.progress import counting

if TYPE_CHECKING:
    from treceval_py.boards.board import Board
    from treceval_py.scoring.planning import Reading, Scoring

__all__ = ["board"]

HELP = """Rank all runs of a folder by their means: a leaderboard.

RUNS are folders, patterns or files. The first measure decides the order; runs that share a letter do not differ
significantly by Tukey's test. A judged query that a run lacks counts as an empty ranking. Results are cached in
.treceval-board.json.gz in the runs' folder; only new or changed runs are scored again.

\b
treceval board qrels.txt runs/
treceval board qrels.txt runs/ -m nDCG@10 -m RR@10 --format html -o board.html
treceval board qrels.txt 'runs/2026-*.gz' --no-cache

A file that cannot be scored is reported on standard error and left off the board; the exit status is then 1.
"""


@click.command("board", help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("qrels", metavar="QRELS")
@click.argument("runs", metavar="RUNS…", nargs=-1, required=True)
@scoring_options("map, ndcg_cut.10, recip_rank, P.10")
@flag("--common", help="Average over the queries that all runs have, not over all judged queries.")
@decimal("--alpha", default=0.05, help="Significance level of the letters [0.05].")
@decimal("--confidence", default=0.95, help="Confidence level of the intervals [0.95].")
@groups_option
@click.option("--names", "by", type=click.Choice(["tag", "file"]), help="Name runs by tag or by file [tag if unique].")
@click.option("--cache", metavar="FILE", help="Cache results in FILE [in the runs' folder, if they share one].")
@flag("--no-cache", help="Score all runs, and use no cache.")
@format_option()
@digits_option
@output_option
@click.pass_context
def board(
    ctx: click.Context,
    qrels: str,
    runs: tuple[str, ...],
    scoring: Scoring,
    reading: Reading,
    common: bool,
    alpha: float,
    confidence: float,
    groups: tuple[str, ...],
    by: str | None,
    cache: str | None,
    no_cache: bool,
    output_format: str,
    digits: int | None,
    output: str | None,
) -> None:
    """Make a board: hash, score what is new, order, print."""
    if cache is not None and no_cache:
        raise click.UsageError("--cache and --no-cache contradict each other; remove one of them.")
    if common and scoring.complete:
        raise click.UsageError(
            "-c averages over all judged queries, --common over those that all runs have; remove one of them."
        )
    if "-" in runs:
        raise click.UsageError("Standard input (-) cannot be put on a board; name a file or a folder.")
    from treceval_py.boards.board import board as made
    from treceval_py.boards.cache import cache_beside
    from treceval_py.boards.show import board_text
    from treceval_py.comparing.saved.files import run_files
    from treceval_py.io.query_groups import read_query_groups

    place = cache_beside(runs) if cache is None and not no_cache else cache
    others = [path for path in (qrels, place) if path and path != "-"]
    files = run_files(runs, without=others, written=[output] if output and output != "-" else [])
    by_group = read_query_groups(groups) if groups else None
    check_targets([output], [qrels, *files, *(each.name for each in by_group or ())])
    with counting("runs scored") as after:
        found = made(
            qrels,
            files,
            scoring=replace(scoring, complete=not common),
            run_format=reading.run_format,
            judgment_format=reading.judgment_format,
            by=by,
            alpha=alpha,
            confidence=confidence,
            groups=by_group,
            cache=place,
            threads=reading.threads,
            after=after,
        )
    if not found.runs:  # a good board of another day is not replaced by an empty one
        _say_errors(ctx, found)
    put(board_text(found, output_format, style_for(output, digits)), output, styled=output_format == "table")
    if output_format in ("csv", "tsv"):
        note(*found.notes)
    if found.errors:
        _say_errors(ctx, found)


def _say_errors(ctx: click.Context, found: Board) -> NoReturn:
    for each in found.errors:
        say(each.message)
    ctx.exit(1)
