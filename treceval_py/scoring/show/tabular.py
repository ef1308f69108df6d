"""Results for programs: CSV, TSV and JSON, with all digits unless fewer are asked for."""

from __future__ import annotations

import io
from typing import Any

from treceval_py.scoring.results import Results
from treceval_py.scoring.show.options import Options
from treceval_py.scoring.show.sheet import Cell, column_names, sheet_of, signatures_of
from treceval_py.version import __version__

__all__ = ["comma_separated", "json_safe", "json_text", "tab_separated"]


def comma_separated(runs: list[Results], options: Options) -> str:
    """Return CSV (RFC 4180, newline-ended): query, measure, and a column of values for each run."""
    return _separated(runs, options, ",")


def tab_separated(runs: list[Results], options: Options) -> str:
    """Return tab-separated values: query, measure, and a column of values for each run."""
    return _separated(runs, options, "\t")


def _separated(runs: list[Results], options: Options, delimiter: str) -> str:
    import csv

    sheet = sheet_of(runs, options)
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    made: list[dict[str, str]] = [signatures_of(run, options) for run in runs] if options.signature else []
    # One run has a column "signature"; of several each has its own, as they may lack different queries.
    titles = ["signature"] if len(made) == 1 else [f"signature {name}" for name in sheet.runs[: len(made)]]
    writer.writerow(["query", "measure", *sheet.runs, *titles])
    for row in sheet.rows:
        values = [_number(cell, options) for cell in row.cells]
        writer.writerow([row.query, row.measure, *values, *(column.get(row.measure, "") for column in made)])
    return text.getvalue()


def _number(cell: Cell, options: Options) -> Cell:
    return f"{cell:.{options.digits}f}" if isinstance(cell, float) and options.digits is not None else cell


def json_text(runs: list[Results], options: Options) -> str:
    """Return a JSON object with what was scored, how, and the values of each run."""
    import json

    document = {
        "treceval_py": __version__,
        "profile": runs[0].profile,
        "judgments": json_safe(runs[0].judgments_name),
        "complete": runs[0].complete,
        "measures": {
            measure.name: resolved.notation
            for measure, resolved in zip(runs[0].measures, runs[0].resolved, strict=True)
        },
        "runs": [_run(name, results, options) for name, results in zip(column_names(runs), runs, strict=True)],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _run(name: str, results: Results, options: Options) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "name": json_safe(name),
        "file": json_safe(results.run_name),
        "tag": json_safe(results.tag),
        "queries": len(results.qids),
        "signatures": {name: {"short": each.short, "long": each.long} for name, each in results.signatures.items()},
        "missing": [json_safe(qid) for qid in results.missing],
        "unjudged": [json_safe(qid) for qid in results.unjudged],
    }
    sheet = sheet_of([results], options)
    averages: dict[str, Cell] = {}
    queries: dict[str, dict[str, Cell]] = {}
    summary = len([measure for measure in results.measures if measure.family.summary]) if options.summary else 0
    for row in sheet.rows[: len(sheet.rows) - summary]:
        if row.cells[0] is None:  # the query does not count for this measure
            continue
        queries.setdefault(json_safe(row.query), {})[row.measure] = _rounded(row.cells[0], options)
    for row in sheet.rows[len(sheet.rows) - summary :]:
        averages[row.measure] = _rounded(row.cells[0], options)
    if options.summary:
        shown["mean"] = averages
    if options.per_query:
        shown["per_query"] = queries
    return shown


def _rounded(cell: Cell, options: Options) -> Cell:
    if isinstance(cell, float) and options.digits is not None:
        return round(cell, options.digits)
    return json_safe(cell) if isinstance(cell, str) else cell


def json_safe(text: str) -> str:
    """Return text as JSON can have it, which is Unicode: a byte that is not UTF-8 is shown, not lost."""
    try:
        raw = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character, as JSON can hold it
        raw = text.encode("utf-8", "backslashreplace")
    return raw.decode("utf-8", "backslashreplace")
