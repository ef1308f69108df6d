"""The ranges of values as tables: one for ties, and one for unjudged documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from treceval_py.rendering import render
from treceval_py.rendering.envelope import Made
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import Cell, Column, Document, Table
from treceval_py.scoring.show import Options, about, common_signatures

if TYPE_CHECKING:
    from treceval_py._types import FloatArray
    from treceval_py.ranges import Sensitivity

ALL = "all"

GROUPS = {"ties": "over all orders of ties", "unjudged": "over all labels"}
"""The common headings of the ends of ranges."""

Record = dict[str, Cell]


def ranges_text(
    found: Sequence[Sensitivity], format: str, options: Options, style: Style, notes: Sequence[str] = ()
) -> str:
    """Return the ranges of one or more runs as text; one table for ties and one for unjudged documents.

    Parameters
    ----------
    found : sequence of Sensitivity
        The ranges of each run.
    format : str
        One of `rendering.FORMATS`.
    options : Options
        Options of the output.
    style : Style
        Style of the output.
    notes : sequence of str
        Notes for JSON.
    """
    return render(_document(found, options, notes), format, style)


def document_of(found: Sensitivity, _: Style) -> Document:
    """Return the ranges of a run as a document, with facts about its results."""
    document = _document([found], Options(), about(found.results))
    tables = list(document.tables)
    if tables:
        tables[-1] = tables[-1]._replace(notes=tuple(about(found.results, "complete=True")))
    return document._replace(tables=tables)


def _document(found: Sequence[Sensitivity], options: Options, notes: Sequence[str]) -> Document:
    records = {"ties": _ties(found, options), "unjudged": _unjudged(found, options)}
    tables = [_table(name, rows, options, many=len(found) > 1) for name, rows in records.items() if rows]
    return Document("ranges", tables, lambda _: _made(found, notes))


def _made(found: Sequence[Sensitivity], notes: Sequence[str]) -> Made:
    results = [each.results for each in found]
    first = results[0]
    runs = [{"name": run.run_name, "file": run.run_name, "tag": run.tag} for run in results]
    return Made(first.judgments_name, first.profile, first.complete, common_signatures(results), runs, notes=notes)


def _ties(found: Sequence[Sensitivity], options: Options) -> list[Record]:
    rows: list[Record] = []
    for each in found:
        for name, tied in each.ties.items():
            columns = {"lowest": tied.lowest, "expected": tied.expected, "highest": tied.highest}
            rows += _by_query(each, name, columns, options)
            if options.summary:
                means = {"lowest": tied.lowest_mean, "expected": tied.expected_mean, "highest": tied.highest_mean}
                rows.append(_summary(each, name, means))
                rows[-1] |= {"queries touched": tied.num_touched, "queries": len(tied.touched)}
    return rows


def _unjudged(found: Sequence[Sensitivity], options: Options) -> list[Record]:
    rows: list[Record] = []
    for each in found:
        for name, unjudged in each.unjudged.items():
            columns = {"lowest": unjudged.lowest, "highest": unjudged.highest, "judged": unjudged.judged}
            rows += _by_query(each, name, columns, options)
            if options.summary:
                means = {"lowest": unjudged.lowest_mean, "highest": unjudged.highest_mean}
                rows.append(_summary(each, name, {**means, "judged": unjudged.judged_mean}))
    return rows


def _by_query(each: Sensitivity, name: str, columns: Mapping[str, FloatArray], options: Options) -> list[Record]:
    """Return a record for each query, if requested and if the measure has values by query."""
    results = each.results
    if not options.per_query or not results.measures[results.names.index(name)].family.per_query:
        return []
    return [
        {"query": qid, "run": results.run_name, "measure": name, "value": results[qid].get(name)}
        | {key: float(column[row]) for key, column in columns.items()}
        for row, qid in enumerate(each.qids[name])
        if qid in results  # one that counts as 0 may be in averages only
    ]


def _summary(each: Sensitivity, name: str, means: Mapping[str, float]) -> Record:
    results = each.results
    return {"query": ALL, "run": results.run_name, "measure": name, "value": results.mean[name], **means}


def _table(name: str, rows: Sequence[Record], options: Options, *, many: bool) -> Table:
    keys = list(dict.fromkeys(key for row in rows for key in row))
    shown = {"query": options.per_query, "run": many}
    columns = [
        Column(
            key,
            [row.get(key) for row in rows],
            text=key in ("query", "run", "measure"),
            head=key == "measure",
            unknown="not known",
            group=GROUPS[name] if key in ("lowest", "expected", "highest") else "",
        )
        for key in keys
        if shown.get(key, True)
    ]
    return Table(tuple(columns), name, naming=sum(column.text for column in columns))
