"""A board as a table, and as JSON with all its data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from treceval_py.boards.board import Board, BoardRun
from treceval_py.boards.columns import named_errors, rank_interval, ranks_for_programs
from treceval_py.boards.show_over import document_over
from treceval_py.comparing.show.cells import highest
from treceval_py.comparing.show.sentences import abridged, means_over, noted
from treceval_py.comparing.tests import SIMULTANEOUS, TESTS
from treceval_py.errors import visible
from treceval_py.measuring import Measure
from treceval_py.plots.images import Plot
from treceval_py.plots.specs import means_plot
from treceval_py.rendering.envelope import Made, plain
from treceval_py.rendering.numbers import exactly, number, percent
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import DIGITS, Cell, Column, Document, Table, records_table
from treceval_py.scoring.results import place_of

if TYPE_CHECKING:
    from treceval_py.boards.groups import BoardGroup
    from treceval_py.boards.over import CollectionsBoard

JUDGED = "judged@10: share of judged documents among the first ten."


def document_of(board: Board | CollectionsBoard, style: Style) -> Document:
    """Return a board as a document: its table, and all its data for JSON."""
    if not isinstance(board, Board):
        return document_over(board)
    return Document("board", [_table(board, style), *_group_tables(board)], lambda style: _made(board, style))


def plot_of(board: Board, measure: str | Measure | None) -> Plot:
    """Return the bars of a measure; parameters and errors as of `Board.plot`."""
    place = 0 if measure is None else place_of(board.measures, measure)
    nothing = [None] * len(board.runs)
    first = {"low": [run.low for run in board.runs], "high": [run.high for run in board.runs]}
    shown = {"label": _headings(board)[place], "means": [run.means[place] for run in board.runs]}
    shown |= {"low": nothing, "high": nothing} if place else first  # only the first measure has intervals
    payload = {"measures": [shown], "runs": [{"name": run.name} for run in board.runs], "baseline": None}
    return Plot(means_plot(plain(payload), 0), len(board.runs))


def _headings(board: Board) -> tuple[str, ...]:
    """Return the names of the measures' means, for people."""
    return board.headings or board.measures


def _table(board: Board, style: Style) -> Table:
    """Lay out a board: a row for each run. Empty columns are hidden from people."""
    runs = board.runs
    digits = DIGITS if style.digits is None else style.digits
    confidence = percent(board.settings.confidence)
    means = [_means(board, at) for at in range(len(board.measures))]
    warnings = ["; ".join(run.warnings) for run in runs]
    tested = any(run.letters for run in runs)
    known = any(not math.isnan(run.judged) for run in runs)
    ranked = rank_interval([run.ranks for run in runs], confidence)
    columns = (
        Column("rank", [run.rank for run in runs]),
        ranked,
        Column("run", [run.name for run in runs], text=True, head=True),
        means[0],
        Column(
            f"{confidence} interval",
            [_interval(run, digits) for run in runs],
            joint=" to ",
            programs=False,
            people=any(not math.isnan(run.low) for run in runs),
        ),
        Column("groups", [abridged(run.letters) for run in runs], text=True, programs=False, people=tested),
        *means[1:],
        Column("low", [run.low for run in runs], people=False),
        Column("high", [run.high for run in runs], people=False),
        Column("groups", [run.letters for run in runs], text=True, people=False),
        Column("judged@10", [run.judged for run in runs], people=known, spare=True, note=JUDGED),
        Column("tied_queries", [run.tied for run in runs], people=False),
        Column("missing_queries", [len(run.missing) for run in runs], people=False),
        Column("warnings", warnings, text=True, people=any(warnings), aside="Warning"),
        Column("file", [run.file for run in runs], text=True, people=False),
        Column("tag", [run.tag for run in runs], text=True, people=False),
        *ranks_for_programs([run.ranks for run in runs]),
    )
    marked = any(column.best for column in columns)
    pairs = zip(_headings(board), board.signatures, strict=True)
    made = [f"{measure}: {signature.short}" for measure, signature in pairs if runs]
    return Table(
        columns,
        "runs",
        heading=f"Runs ranked by {_headings(board)[0]}",
        notes=tuple(sentences(board)),
        made=(*made, f"treceval_py {board.version}"),
        caption=(*(["Bold: highest mean."] if marked else []), *sentences(board)),
        best="highest mean" if marked else "",
        naming=3 if ranked.people else 2,
        label="tab:board",
        tight=True,
    )


def _means(board: Board, at: int) -> Column:
    """Return the column of a measure."""
    values = [run.means[at] for run in board.runs]
    return Column(board.measures[at], values, _headings(board)[at], best=highest(values))


def _group_tables(board: Board) -> list[Table]:
    """Lay out groups of queries: for people a table of the first measure by each attribute; for programs one of all."""
    tables = []
    names = [run.name for run in board.runs]
    for attribute in dict.fromkeys(group.attribute for group in board.groups):
        columns = [Column("run", names, text=True, head=True, programs=False)]
        for group in board.groups:
            if group.attribute == attribute:
                means = [mean[0] for mean in group.means]
                title = f"{group.label} ({group.queries[0]})"
                columns.append(Column(title, means, best=highest(means), programs=False))
                columns.append(Column("rank", group.ranks, programs=False))
        title = f"{_headings(board)[0]} by {attribute} (number of queries)"
        tables.append(Table(tuple(columns), title=title, best="highest mean of the group", tight=True))
    if board.groups:
        tables.append(records_table(_group_rows(board), name="groups"))
    return tables


def _group_rows(board: Board) -> list[dict[str, Cell]]:
    """Return a record for each group and run."""
    return [
        {
            "attribute": group.attribute,
            "group": group.label,
            "queries": group.queries[0],
            "run": run.name,
            "rank": rank,
            **dict(zip(board.measures, means, strict=True)),
        }
        for group in board.groups
        for run, rank, means in zip(board.runs, group.ranks, group.means, strict=True)
    ]


def _interval(run: BoardRun, digits: int) -> str:
    if math.isnan(run.low) or math.isnan(run.high):
        return "–"
    # A dash before a number below zero would look like its sign.
    between = " to " if run.low < 0 else "–"
    return f"{number(run.low, digits)}{between}{number(run.high, digits)}"


def sentences(board: Board) -> list[str]:
    """Describe how a board was made and what its columns mean, as plain text without control characters."""
    first, settings = visible(_headings(board)[0]), board.settings
    queries = zip(_headings(board), board.queries, strict=True)
    over = means_over(queries, board.judgments_name, board.judgments_digest)
    said = [over] if board.runs else ["No run could be scored."]
    said += [f"Ranked by {first}; runs with equal means share a rank."] if len(board.runs) > 1 else []
    if any(not math.isnan(run.low) for run in board.runs):
        said.append(f"Intervals: {percent(settings.confidence)}, pointwise, Student's t, of each run's {first}.")
    if any(run.ranks for run in board.runs) and len(board.runs) > 1:
        said.append(
            f"Ranks: {percent(settings.confidence)} interval of each run's rank, by a bootstrap over queries "
            f"({settings.resamples} draws, seed {settings.seed}); each holds for its run alone."
        )
    if any(run.letters for run in board.runs):
        said.append(
            f"Groups: runs that share a letter do not differ significantly in {first} ({TESTS[SIMULTANEOUS]}, "
            f"alpha = {exactly(settings.alpha)} for all pairs together: two runs differ if their paired t is beyond "
            f"±{number(board.critical, 2)})."
        )
    if any(not math.isnan(run.judged) for run in board.runs):
        said.append(JUDGED)
    said += [noted(note) for note in board.notes]
    said += [f"Not scored: {visible(message)}" for _, message in _errors(board)]
    return said


def _errors(board: Board) -> list[tuple[str, str]]:
    """Return the files that could not be scored and why, unless names are hidden."""
    return [] if board.pseudonyms is not None else named_errors(board.errors)


def _made(board: Board, style: Style) -> Made:
    settings = board.settings
    return Made(
        board.judgments_name,
        settings.profile,
        settings.complete,
        dict(zip(board.measures, board.signatures, strict=True)),
        [_run(run, board, style) for run in board.runs],
        {
            "judgments_sha256": board.judgments_digest or None,
            "board": "runs in the order of the first measure",
            "measures": board.measures,
            "queries": dict(zip(board.measures, board.queries, strict=True)),
            "confidence": settings.confidence,
            "alpha": settings.alpha,
            "resamples": settings.resamples,
            "seed": settings.seed,
            "critical_t": plain(board.critical, style.digits),
        }
        | ({"groups": [_group(group, board, style) for group in board.groups]} if board.groups else {}),
        board.notes,
        [{"file": file, "message": message} for file, message in _errors(board)],
        board.version,
    )


def _group(group: BoardGroup, board: Board, style: Style) -> dict[str, Any]:
    named = [plain(dict(zip(board.measures, means, strict=True)), style.digits) for means in group.means]
    return {
        "attribute": group.attribute,
        "group": group.label,
        "queries": dict(zip(board.measures, group.queries, strict=True)),
        "runs": [
            {"name": run.name, "rank": rank, "mean": mean}
            for run, rank, mean in zip(board.runs, group.ranks, named, strict=True)
        ],
    }


def _run(run: BoardRun, board: Board, style: Style) -> Mapping[str, Any]:
    return {
        "name": run.name,
        "file": run.file,
        "tag": run.tag,
        "rank": run.rank,
        "rank_low": None if run.ranks is None else run.ranks[0],
        "rank_high": None if run.ranks is None else run.ranks[1],
        "mean": plain(dict(zip(board.measures, run.means, strict=True)), style.digits),
        "low": plain(run.low, style.digits),
        "high": plain(run.high, style.digits),
        "groups": run.letters,
        "judged@10": plain(run.judged, style.digits),
        "tied_queries": run.tied,
        "missing": run.missing,
        "warnings": run.warnings,
        "sha256": run.digest,
    }
