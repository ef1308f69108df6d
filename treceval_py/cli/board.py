"""``treceval board QRELS FOLDER`` and ``treceval board COLLECTIONS``."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import click

from treceval_py.cli.options import (
    columns_option,
    decimal,
    digits_option,
    flag,
    format_option,
    groups_option,
    number,
    output_option,
    scoring_options,
)
from treceval_py.cli.printing import check_targets, note, put, say, style_for
from treceval_py.cli.progress import counting
from treceval_py.rendering import left_out, render, show_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from treceval_py.boards.board import Board
    from treceval_py.boards.intervals import Resampled
    from treceval_py.boards.over import CollectionsBoard
    from treceval_py.scoring.planning import Reading, Scoring

HELP = """Rank all runs of a folder by their means: a leaderboard.

RUNS are folders, patterns or files. The first measure decides the order; runs that share a letter do not differ
significantly. A judged query that a run lacks counts as an empty ranking. Results are cached in
.treceval-board.json.gz in the runs' folder; only new or changed runs are scored again.

COLLECTIONS is a folder with a folder for each collection (judgments: qrels.txt or qrels/test.tsv; runs: runs/), or a
TOML file that lists them. Runs are ranked by the mean over collections. A run has the same file name in each.

\b
treceval board qrels.txt runs/
treceval board qrels.txt runs/ -m nDCG@10 -m RR@10 --format html -o board.html
treceval board qrels.txt 'runs/2026-*.gz' --no-cache
treceval board beir/ -m nDCG@10

Beside each rank is its interval, by a bootstrap. A file that cannot be scored is reported on standard error and left
off the board; the exit status is then 1.
"""


@click.command("board", help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("qrels", metavar="QRELS")
@click.argument("runs", metavar="RUNS… | COLLECTIONS", nargs=-1)
@scoring_options("map, ndcg_cut.10, recip_rank, P.10")
@flag("--common", help="Average over the queries that all runs have, not over all judged queries.")
@decimal("--alpha", default=0.05, help="Significance level of the letters, or of telling neighbours apart [0.05].")
@decimal("--confidence", default=0.95, help="Confidence level of the intervals [0.95].")
@click.option(
    "--resample",
    type=click.Choice(["both", "queries", "collections"]),
    help="For COLLECTIONS: draw queries, collections or both for the intervals of ranks [both].",
)
@number("--resamples", default=1000, least=100, most=1_000_000, help="Draws for the intervals of ranks [1000].")
@number("--seed", default=1, help="Random seed [1].")
@groups_option
@click.option(
    "--names",
    "by",
    type=click.Choice(["tag", "file"]),
    help="Name runs by tag or by file [tag if unique; by file over COLLECTIONS].",
)
@click.option("--cache", metavar="FILE", help="Cache results in FILE [in the runs' folder, if they share one].")
@flag("--no-cache", help="Score all runs, and use no cache.")
@columns_option
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
    resample: Resampled | None,
    resamples: int,
    seed: int,
    groups: tuple[str, ...],
    by: str | None,
    cache: str | None,
    no_cache: bool,
    columns: str | None,
    output_format: str,
    digits: int | None,
    output: str | None,
) -> None:
    """Make a board: hash, score what is new, order, print."""
    if columns is not None and output_format != "latex":
        raise click.UsageError("--columns needs --format latex.")
    _check_together(qrels, runs, scoring, resample, groups, cache, common=common, no_cache=no_cache)
    statistics: dict[str, Any] = {"by": by, "alpha": alpha, "confidence": confidence}
    statistics |= {"resamples": resamples, "seed": seed}
    written = [output] if output and output != "-" else []
    found: Board | CollectionsBoard
    with counting("runs scored") as after:
        if runs:
            scoring = replace(scoring, complete=not common)
            statistics |= {"groups": groups, "no_cache": no_cache, "after": after}
            found = _of_runs(qrels, runs, scoring, reading, cache, written, **statistics)
        else:
            from treceval_py.boards.over import board_over

            check_targets(written, [qrels])
            found = board_over(
                qrels,
                scoring=replace(scoring, complete=False) if common else scoring,
                reading=reading,
                resampled=resample or "both",
                cache=not no_cache,
                without=written,
                after=after,
                **statistics,
            )
    if not found.runs:  # an empty board does not replace an earlier good one
        _say_errors(ctx, found)
    style = style_for(output, digits)._replace(columns=int(columns or 1))
    document = show_of(found).document_of(found, style)
    put(render(document, output_format, style), output, styled=output_format == "table")
    note(*left_out(document, output_format, style))
    if output_format in ("csv", "tsv"):
        note(*found.notes)
    if found.errors:
        _say_errors(ctx, found)


def _check_together(
    qrels: str,
    runs: tuple[str, ...],
    scoring: Scoring,
    resample: str | None,
    groups: tuple[str, ...],
    cache: str | None,
    *,
    common: bool,
    no_cache: bool,
) -> None:
    """Refuse options that do not go together, and a lack of runs."""
    if cache is not None and no_cache:
        raise click.UsageError("--cache and --no-cache contradict each other; remove one of them.")
    if common and scoring.complete:
        raise click.UsageError(
            "-c averages over all judged queries, --common over the queries that all runs have; remove one of them."
        )
    if "-" in runs:
        raise click.UsageError("Standard input (-) cannot be put on a board; name a file or a folder.")
    if runs and resample is not None:
        raise click.UsageError("--resample needs a folder or TOML file of collections, without RUNS.")
    if not runs and not os.path.isdir(qrels) and not qrels.endswith(".toml"):
        raise click.UsageError("Missing argument 'RUNS…'.")
    if not runs and cache is not None:
        raise click.UsageError("Each collection has a cache of its own; remove --cache.")
    if not runs and groups:
        raise click.UsageError("--groups needs the queries of one collection; give its judgments and RUNS.")


def _of_runs(
    qrels: str,
    runs: tuple[str, ...],
    scoring: Scoring,
    reading: Reading,
    cache: str | None,
    written: list[str],
    *,
    groups: tuple[str, ...],
    no_cache: bool,
    after: Callable[[], None] | None,
    **statistics: Any,
) -> Board:
    """Make a board of the runs of one collection."""
    from treceval_py.boards.board import board as made
    from treceval_py.boards.cache import cache_beside
    from treceval_py.comparing.saved.files import run_files
    from treceval_py.io.query_groups import read_query_groups

    place = cache_beside(runs) if cache is None and not no_cache else cache
    others = [path for path in (qrels, place) if path and path != "-"]
    files = run_files(runs, without=others, written=written)
    by_group = read_query_groups(groups) if groups else None
    check_targets(written, [qrels, *files, *(each.name for each in by_group or ())])
    return made(
        qrels,
        runs,
        scoring=scoring,
        run_format=reading.run_format,
        judgment_format=reading.judgment_format,
        without=[*others, *written],
        groups=by_group,
        cache=place,
        threads=reading.threads,
        after=after,
        **statistics,
    )


def _say_errors(ctx: click.Context, found: Board | CollectionsBoard) -> NoReturn:
    for each in found.errors:
        say(each.message)
    ctx.exit(1)
