"""A board over many collections as a table, and as JSON with all its data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from treceval_py.boards.columns import named_errors, rank_interval, ranks_for_programs
from treceval_py.comparing.show.cells import highest
from treceval_py.comparing.show.sentences import noted
from treceval_py.errors import visible
from treceval_py.io.digests import named
from treceval_py.rendering.envelope import Made, plain, signature_forms
from treceval_py.rendering.numbers import exactly, percent
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import Column, Document, Table

if TYPE_CHECKING:
    from treceval_py.boards.over import CollectionRun, CollectionsBoard

APART = {True: "not apart", False: "apart", None: ""}
"""The entry of the column Next, by whether a run is like the next one."""

YES_OR_NO = {True: "yes", False: "no", None: None}
"""The same for programs."""

QUESTIONS = {
    "both": "over queries and collections: the range for other collections like these, with other queries",
    "queries": "over the queries of each collection: the range for other queries of the same collections",
    "collections": "over collections: the range for other collections like these",
}
"""The question that the intervals of ranks answer, by the level resampled."""


def document_over(board: CollectionsBoard) -> Document:
    """Return a board over collections as a document: its table, and all its data for JSON."""
    return Document("collections", [_table(board)], lambda style: _made(board, style))


def _table(board: CollectionsBoard) -> Table:
    runs = board.runs
    tested = any(run.ranks for run in runs)
    confidence = percent(board.settings.confidence)
    mixed = len({collection.measures[0] for collection in board.collections}) > 1
    columns = [
        Column("rank", [math.nan if run.rank is None else run.rank for run in runs]),
        rank_interval([run.ranks for run in runs], confidence),
        Column("run", [run.name for run in runs], text=True, head=True),
        Column("next", [APART[run.like_next] for run in runs], text=True, programs=False, people=tested),
        *(_averages(board, at) for at in range(len(board.measures))),
        *(
            Column(
                f"{collection.name}: {collection.measures[0]}",
                [run.means[at][0] for run in runs],
                title=f"{collection.name} ({collection.measures[0]})" if mixed else collection.name,
                best=highest([run.means[at][0] for run in runs]),
                group="" if mixed else board.measures[0],
            )
            for at, collection in enumerate(board.collections)
        ),
        *ranks_for_programs([run.ranks for run in runs]),
        Column("like_next", [YES_OR_NO[run.like_next] for run in runs], text=True, people=False),
        Column("collections_lacking", [run.lacking for run in runs], people=False),
    ]
    return Table(
        tuple(columns),
        "runs",
        heading=f"Runs ranked by their mean {board.measures[0]} over {len(board.collections)} collections",
        notes=tuple(_sentences(board)),
        made=_signatures(board),
        best="highest mean" if any(column.best for column in columns) else "",
        naming=3 if tested else 2,
        label="tab:collections",
        tight=True,
    )


def _averages(board: CollectionsBoard, at: int) -> Column:
    values = [run.averages[at] for run in board.runs]
    return Column(f"mean {board.measures[at]}", values, best=highest(values))


def _sentences(board: CollectionsBoard) -> list[str]:
    """Describe how a board was made and what its columns mean, as plain text without control characters."""
    first, settings = visible(board.measures[0]), board.settings
    queries = sum(collection.queries for collection in board.collections)
    weighted = len({collection.weight for collection in board.collections}) > 1
    count = len(board.collections)
    mean = "weighted mean" if weighted else "mean"
    over = "mean in 1 collection" if count == 1 else f"means in {count} collections"
    said = [f"Ranked by the {mean} of the {over} ({queries} {'query' if queries == 1 else 'queries'}): {first}."]
    if weighted:
        weights = ", ".join(f"{visible(each.name)} {exactly(each.weight)}" for each in board.collections)
        said.append(f"Weights: {weights}.")
    if any(run.ranks for run in board.runs):
        said.append(
            f"Ranks: {percent(settings.confidence)} interval of each run's rank, by a bootstrap "
            f"{QUESTIONS[board.resampled]} ({settings.resamples} draws, seed {settings.seed}); each holds for its run "
            "alone."
        )
    pairs = [run.like_next for run in board.runs if run.like_next is not None]
    if pairs:
        of = "1 pair of neighbours" if len(pairs) == 1 else f"{len(pairs)} pairs of neighbours"
        said.append(
            "Next: whether a run differs significantly from the one below it (the same bootstrap, alpha = "
            f"{exactly(settings.alpha)} for all pairs of runs together: by {board.critical:.2f} standard errors or "
            f"more). Not significant: {sum(pairs)} of {of}."
        )
    said += [noted(note) for note in board.notes]
    said += [f"Not scored: {visible(message)}" for _, message in named_errors(board.errors)]
    return said


def _signatures(board: CollectionsBoard) -> tuple[str, ...]:
    """Describe how the deciding value of each collection was computed, and with what."""
    lines = []
    for collection in board.collections:
        parts = [collection.signatures[0].short] if collection.signatures else []
        parts += [named(collection.judgments, collection.judgments_digest)] if collection.judgments else []
        lines += [f"{collection.name}: {', '.join(parts)}"] if parts else []
    return (*lines, f"treceval_py {board.version}")


def _made(board: CollectionsBoard, style: Style) -> Made:
    settings = board.settings
    pairs = [run.like_next for run in board.runs if run.like_next is not None]
    return Made(
        runs=[_run(run, board, style) for run in board.runs],
        payload={
            "measures": board.measures,
            "collections": [
                {
                    "name": collection.name,
                    "judgments": collection.judgments or None,
                    "judgments_sha256": collection.judgments_digest or None,
                    "queries": collection.queries,
                    "weight": collection.weight,
                    "signatures": signature_forms(dict(zip(collection.measures, collection.signatures, strict=False))),
                }
                for collection in board.collections
            ],
            "resampled": board.resampled,
            "resamples": settings.resamples,
            "seed": settings.seed,
            "confidence": settings.confidence,
            "alpha": settings.alpha,
            "critical": plain(board.critical, style.digits),
            "neighbours": len(pairs),
            "neighbours_alike": sum(pairs),
        },
        notes=board.notes,
        errors=[{"file": file, "message": message} for file, message in named_errors(board.errors)],
        version=board.version,
    )


def _run(run: CollectionRun, board: CollectionsBoard, style: Style) -> Mapping[str, Any]:
    low, high = (None, None) if run.ranks is None else run.ranks
    collections = zip(board.collections, run.means, run.files, run.digests, strict=True)
    return {
        "name": run.name,
        "file": None,
        "tag": None,
        "rank": run.rank,
        "rank_low": low,
        "rank_high": high,
        "like_next": run.like_next,
        "mean": plain(dict(zip(board.measures, run.averages, strict=True)), style.digits),
        "collections": {
            collection.name: {
                "file": file or None,
                "sha256": digest or None,
                "mean": plain(dict(zip(board.measures, means, strict=True)), style.digits),
            }
            for collection, means, file, digest in collections
        },
    }
