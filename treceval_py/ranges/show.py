"""The ranges of values as tables: one for ties, and one for unjudged documents."""

from __future__ import annotations

from collections.abc import Sequence

from treceval_py.ranges.assessment import Sensitivity
from treceval_py.rendering import render
from treceval_py.rendering.envelope import Made
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import Cell, Column, Document, Table
from treceval_py.scoring.show import Options, about, common_signatures, run_names

ALL = "all"

GROUPS = {"ties": "over all orders of ties", "unjudged": "over all labels"}
"""The common headings of the ends of ranges."""

_ENDS = {"ties": ("lowest", "expected", "highest"), "unjudged": ("lowest", "highest", "judged")}
"""The columns of each table: attributes of ranges by query; with ``_mean``, their averages."""

Record = dict[str, Cell]

_HEADING = {"named": "run", "heading": "measure"}
"""The keys of names for people, with the keys of those for programs."""

_TITLES = {"ties": "Over all orders of equal scores", "unjudged": "Over all labels of unjudged documents"}


def ranges_text(
    sensitivities: Sequence[Sensitivity], format: str, options: Options, style: Style, notes: Sequence[str] = ()
) -> str:
    """Return the ranges of one or more runs as text; one table for ties and one for unjudged documents.

    Parameters
    ----------
    sensitivities : sequence of Sensitivity
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
    return render(_document(sensitivities, options, notes), format, style)


def document_of(sensitivity: Sensitivity, _: Style) -> Document:
    """Return the ranges of a run as a document, with facts about its results."""
    document = _document([sensitivity], Options(), about(sensitivity.results))
    tables = list(document.tables)
    if tables:
        tables[-1] = tables[-1]._replace(notes=tuple(about(sensitivity.results, python=True)))
    return document._replace(tables=tables)


def _document(sensitivities: Sequence[Sensitivity], options: Options, notes: Sequence[str]) -> Document:
    tables = []
    for kind in GROUPS:
        names = run_names([sensitivity.results for sensitivity in sensitivities])
        pairs = zip(sensitivities, names, strict=True)
        rows = [record for sensitivity, name in pairs for record in _records(sensitivity, name, kind, options)]
        tables += [_table(kind, rows, options, many=len(sensitivities) > 1)] if rows else []
    return Document("ranges", tables, lambda _: _made(sensitivities, notes))


def _made(sensitivities: Sequence[Sensitivity], notes: Sequence[str]) -> Made:
    results = [sensitivity.results for sensitivity in sensitivities]
    first = results[0]
    runs = [{"name": run.run_name, "file": run.run_name, "tag": run.tag} for run in results]
    return Made(first.judgments_name, first.profile, first.complete, common_signatures(results), runs, notes=notes)


def _records(sensitivity: Sensitivity, named: str, kind: str, options: Options) -> list[Record]:
    """Return a record for each query that is listed, if the measure has values by query, and one for the mean."""
    results, keys = sensitivity.results, _ENDS[kind]
    rows: list[Record] = []
    for name, ends in getattr(sensitivity, kind).items():
        asked = results.measures[results.names.index(name)]
        of_measure = {"run": results.run_name, "named": named, "measure": name}
        if options.per_query and asked.family.per_query:
            rows += [
                {"query": qid, **of_measure, "heading": name, "value": results[qid].get(name)}
                | {key: float(getattr(ends, key)[row]) for key in keys}
                for row, qid in enumerate(sensitivity.qids[name])
                if qid in results  # one that counts as 0 may be in averages only
            ]
        if options.summary:
            means = {key: getattr(ends, f"{key}_mean") for key in keys}
            rows.append({"query": ALL, **of_measure, "heading": asked.heading, "value": results.mean[name], **means})
            if kind == "ties":
                rows[-1] |= {"queries touched": ends.num_touched, "queries": len(ends.touched)}
    return rows


def _table(name: str, rows: Sequence[Record], options: Options, *, many: bool) -> Table:
    keys = list(dict.fromkeys(key for row in rows for key in row))
    shown = {"query": options.per_query, "run": many, "named": many}
    columns = [
        Column(
            key,
            [row.get(key) for row in rows],
            _HEADING.get(key),
            text=key in ("query", *_HEADING, *_HEADING.values()),
            head=key == "heading",
            people=key not in _HEADING.values(),
            programs=key not in _HEADING,
            unknown="not known",
            group=GROUPS[name] if key in ("lowest", "expected", "highest") else "",
        )
        for key in keys
        if shown.get(key, True)
    ]
    return Table(tuple(columns), name, _TITLES[name], naming=sum(column.text and column.people for column in columns))
