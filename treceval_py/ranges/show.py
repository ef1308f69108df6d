"""The ranges of values as text: a table, CSV, TSV, JSON or Markdown."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from treceval_py.errors import visible
from treceval_py.rendering.terminal import drawn
from treceval_py.scoring.show.options import Options
from treceval_py.scoring.show.tabular import json_safe

if TYPE_CHECKING:
    from treceval_py.ranges import Sensitivity

__all__ = ["RANGE_FORMATS", "ranges_text"]

RANGE_FORMATS = ("table", "csv", "tsv", "json", "markdown")
"""The formats in which ranges can be printed."""

ALL = "all"

Cell = str | float | int | None

Record = dict[str, Cell]


def ranges_text(found: Sequence[Sensitivity], options: Options, format: str) -> str:
    """Return the ranges of one or more runs; one block, or list, for ties and one for unjudged documents."""
    blocks = {"ties": _ties(found, options), "unjudged": _unjudged(found, options)}
    there = {name: rows for name, rows in blocks.items() if rows}
    if format == "json":
        import json

        shown = {
            name: [{key: _plain(cell) for key, cell in row.items()} for row in rows] for name, rows in there.items()
        }
        return json.dumps(shown, indent=2, ensure_ascii=False) + "\n"
    draw = {"table": _table, "csv": _separated, "tsv": _separated, "markdown": _markdown}[format]
    return "\n".join(draw(rows, options, format) for rows in there.values())


def _ties(found: Sequence[Sensitivity], options: Options) -> list[Record]:
    rows: list[Record] = []
    for each in found:
        for name, tied in each.ties.items():
            head = _head(found, each, name)
            queries = enumerate(each.qids[name]) if options.per_query and _by_query(each, name) else ()
            for row, qid in queries:
                columns = (tied.lowest, tied.expected, tied.highest)
                lowest, expected, highest = (float(column[row]) for column in columns)
                value = each.results[qid].get(name)
                rows.append(
                    {"query": qid, **head, "value": value, "lowest": lowest, "expected": expected, "highest": highest}
                )
            if options.summary:
                means = {"lowest": tied.lowest_mean, "expected": tied.expected_mean, "highest": tied.highest_mean}
                summary: Record = {"query": ALL, **head, "value": each.results.mean[name], **means}
                rows.append({**summary, "queries touched": tied.num_touched, "queries": len(tied.touched)})
    return rows


def _unjudged(found: Sequence[Sensitivity], options: Options) -> list[Record]:
    rows: list[Record] = []
    for each in found:
        for name, unjudged in each.unjudged.items():
            head = _head(found, each, name)
            queries = enumerate(each.qids[name]) if options.per_query and _by_query(each, name) else ()
            for row, qid in queries:
                columns = (unjudged.lowest, unjudged.highest, unjudged.judged)
                lowest, highest, judged = (float(column[row]) for column in columns)
                value = each.results[qid].get(name)
                rows.append(
                    {"query": qid, **head, "value": value, "lowest": lowest, "highest": highest, "judged": judged}
                )
            if options.summary:
                means = {"lowest": unjudged.lowest_mean, "highest": unjudged.highest_mean}
                summary: Record = {"query": ALL, **head, "value": each.results.mean[name], **means}
                rows.append({**summary, "judged": unjudged.judged_mean})
    return rows


def _by_query(each: Sensitivity, name: str) -> bool:
    """Tell whether a measure has values by query."""
    return each.results.measures[each.results.names.index(name)].family.per_query


def _head(found: Sequence[Sensitivity], each: Sensitivity, name: str) -> Record:
    return {"run": each.results.run_name, "measure": name} if len(found) > 1 else {"measure": name}


def _columns(rows: Sequence[Record], options: Options) -> list[str]:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return columns if options.per_query else [column for column in columns if column != "query"]


def _plain(cell: Cell) -> Any:
    if isinstance(cell, str):
        return json_safe(cell)
    return None if isinstance(cell, float) and math.isnan(cell) else cell


def _text(cell: Cell, options: Options, default: int | None) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        digits = default if options.digits is None else options.digits
        if math.isnan(cell):
            return "not known" if default is not None else ""
        return repr(cell) if digits is None else f"{cell:.{digits}f}"
    return str(cell)


def _separated(rows: Sequence[Record], options: Options, format: str) -> str:
    import csv

    text = io.StringIO()
    writer = csv.writer(text, delimiter="," if format == "csv" else "\t", lineterminator="\n")
    columns = _columns(rows, options)
    writer.writerow(columns)
    writer.writerows([_text(row.get(column), options, None) for column in columns] for row in rows)
    return text.getvalue()


def _table(rows: Sequence[Record], options: Options, format: str) -> str:  # noqa: ARG001 - as the others
    columns = _columns(rows, options)
    left = sum(column in ("query", "run", "measure") for column in columns)
    cells = [[visible(_text(row.get(column), options, 4)) for column in columns] for row in rows]
    return drawn(columns, cells, left, colour=options.colour)


def _markdown(rows: Sequence[Record], options: Options, format: str) -> str:  # noqa: ARG001 - as the others
    columns = _columns(rows, options)
    lines = [columns, [":--" if column in ("query", "run", "measure") else "--:" for column in columns]]
    lines += [[visible(_text(row.get(column), options, 4)).replace("|", "\\|") for column in columns] for row in rows]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)
