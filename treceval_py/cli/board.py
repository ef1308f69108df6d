"""``treceval board QRELS FOLDER`` and ``treceval board COLLECTIONS``."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from treceval_py.cli.commands import Command
from treceval_py.cli.options import (
    COLUMNS,
    GROUPS,
    NAMES,
    choice,
    decimal,
    flag,
    number,
    option,
    output_options,
    scoring_options,
    titled,
)
from treceval_py.cli.printing import Output, check_targets, note, say
from treceval_py.cli.progress import working
from treceval_py.errors import visible
from treceval_py.rendering import left_out, render, show_of

if TYPE_CHECKING:
    from treceval_py.boards.board import Board
    from treceval_py.boards.intervals import Resampled
    from treceval_py.boards.over import CollectionsBoard
    from treceval_py.scoring.planning import Reading, Scoring


def _check(ctx: click.Context) -> dict[str, object]:
    """Return what is wrong: options that do not go together, and a lack of runs."""
    chosen = ctx.params
    if not chosen["files"]:
        return {"Missing arguments 'QRELS RUNS…', or 'COLLECTIONS'.": True}
    qrels, *runs = chosen["files"]
    cache, no_collections = chosen["cache"] is not None, not os.path.isdir(qrels) and not qrels.endswith(".toml")
    return {
        "--columns needs --format latex.": chosen["columns"] is not None and chosen["output_format"] != "latex",
        "--cache and --no-cache contradict each other; remove one of them.": cache and chosen["no_cache"],
        "-c averages over all judged queries, --common over the queries that all runs have; remove one of them.": (
            chosen["common"] and chosen["complete"]
        ),
        "Standard input (-) cannot be put on a board; name a file or a folder.": "-" in runs,
        "--resample needs a folder or TOML file of collections, without RUNS.": runs and chosen["resampled"],
        "Missing argument 'RUNS…'.": not runs and no_collections,
        "Each collection has a cache of its own; remove --cache.": not runs and cache,
        "--pseudonyms replaces the names of runs on a board of one collection; give its judgments and RUNS.": (
            not runs and chosen["pseudonyms"] is not None
        ),
        "--groups needs the queries of one collection; give its judgments and RUNS.": not runs and chosen["groups"],
    }


@click.command("board", cls=Command, peak=(150, 50), check=_check, common="-m --common --groups --format -o")
@click.argument("files", metavar="QRELS RUNS… | COLLECTIONS", nargs=-1)
@scoring_options()
@flag("--common", "Average over the queries that all runs have.")
@titled("Statistics")
@decimal("--alpha", "Significance level [0.05].", 0.05)
@decimal("--confidence", "Confidence level of intervals [0.95].", 0.95)
@choice(
    "--resample resampled",
    ["both", "queries", "collections"],
    "COLLECTIONS: draw queries, collections or both [both].",
    metavar="NAME",
)
@number("--resamples", "Draws for the intervals of ranks [1000].", 1000, least=100, most=1_000_000)
@number("--seed", "Random seed [1].", 1)
@titled("Cache")
@option("--cache", "FILE", "Cache results in FILE [in the runs' folder].")
@flag("--no-cache", "Score all runs again, without a cache.")
@titled("Output")
@GROUPS
@NAMES
@option("--pseudonyms", "KEY", "Hide the names of runs: pseudonyms by secret words.")
@COLUMNS
@output_options()
@click.pass_context
def board(
    ctx: click.Context,
    /,
    files: tuple[str, ...],
    scoring: Scoring,
    reading: Reading,
    common: bool,
    resampled: Resampled | None,
    groups: tuple[str, ...],
    pseudonyms: str | None,
    cache: str | None,
    no_cache: bool,
    columns: str | None,
    output: Output,
    **statistics: Any,
) -> None:
    r"""Rank all runs of a folder by their means: a leaderboard.

    RUNS are folders, patterns or files. The first measure decides the order; runs that share a letter do not differ
    significantly. A judged query that a run lacks counts as an empty ranking. Only new or changed runs are scored
    again. A file that cannot be scored is left off the board with a note; the exit status is then 1.

    COLLECTIONS is a folder with a folder for each collection (judgments: qrels.txt or qrels/test.tsv; runs: runs/), or
    a TOML file that lists them. Runs, which have the same file name in each, are ranked by the mean.

    \b
    treceval board qrels.txt runs/
    treceval board qrels.txt runs/ -m nDCG@10 -m RR@10 --format html -o board.html
    treceval board qrels.txt 'runs/2026-*.gz' --no-cache
    treceval board qrels.txt runs/ --pseudonyms "secret words" -o board.txt
    treceval board beir/ -m nDCG@10
    """
    qrels, *runs = files
    written = [output.path] if output.path and output.path != "-" else []
    ranking: Board | CollectionsBoard
    with working("scoring and ranking runs") as after:
        statistics["after"] = after
        if runs:
            from treceval_py.boards.board import board as board_of
            from treceval_py.boards.cache import cache_beside
            from treceval_py.comparing.saved.files import run_files
            from treceval_py.io.query_groups import read_query_groups

            place = cache_beside(runs) if cache is None and not no_cache else cache
            others = [path for path in (qrels, place) if path and path != "-"]
            sources = run_files(runs, without=others, written=written)
            by_group = read_query_groups(groups) if groups else None
            check_targets(written, [qrels, *sources, *(each.name for each in by_group or ())])
            ranking = board_of(
                qrels,
                runs,
                scoring=replace(scoring, complete=not common),
                without=[*others, *written],
                groups=by_group,
                pseudonyms=pseudonyms,
                cache=place,
                **statistics,
                **reading._asdict(),
            )
        else:
            from treceval_py.boards.over import board_over

            check_targets(written, [qrels])
            ranking = board_over(
                qrels,
                scoring=replace(scoring, complete=False) if common else scoring,
                reading=reading,
                resampled=resampled or "both",
                cache=not no_cache,
                without=written,
                **statistics,
            )
    if ranking.runs:  # an empty board does not replace an earlier good one
        style = output.style._replace(columns=int(columns or 1))
        document = show_of(ranking).document_of(ranking, style)
        output.put(render(document, output.format, style))
        note(*left_out(document, output.format, style))
        output.note(*ranking.notes)
    # Only the terminal says who is who.
    for pseudonym, name in (getattr(ranking, "pseudonyms", None) or {}).items():
        say(visible(f"{pseudonym} is {name}"))
    for each in ranking.errors:
        say(each.message)
    if ranking.errors or not ranking.runs:
        ctx.exit(1)
