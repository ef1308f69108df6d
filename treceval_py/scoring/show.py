"""Format results as text: trec_eval's lines, assignments, tables in every format, and notes on what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from treceval_py.data.ids import encode, first_of
from treceval_py.data.qrels import Qrels
from treceval_py.errors import EvaluationError, visible
from treceval_py.measures.registry import COUNT, TEXT, Measure
from treceval_py.rendering import FORMATS, render
from treceval_py.scoring.profiles import PROFILES, Profile
from treceval_py.scoring.results import Results, check_comparable
from treceval_py.scoring.signatures import Signature

if TYPE_CHECKING:
    from treceval_py.data.query_groups import QueryGroups
    from treceval_py.rendering.envelope import Made
    from treceval_py.rendering.style import Style
    from treceval_py.rendering.tables import Cell, Document, Table

RESULT_FORMATS = ("trec", *FORMATS, "coursework")
"""The formats of results: all table formats, and two line formats."""

ALL = "all"


class Options(NamedTuple):
    """Which parts of results are printed.

    Attributes
    ----------
    per_query, summary : bool
        Print each query; print the averages.
    signature : {"", "short", "long"}
        Print how each number was computed, in this form of signature; empty for none.
    force : bool
        Print results side by side even if they were computed in different ways.
    groups : sequence of QueryGroups
        The groups of queries whose averages are also printed.
    """

    per_query: bool = False
    summary: bool = True
    signature: str = ""
    force: bool = False
    groups: Sequence[QueryGroups] = ()


class Row(NamedTuple):
    """A query (or ``all``), a measure, and one value per run; None if a run has no value."""

    query: str
    measure: str
    cells: tuple[Cell, ...]


def results_text(
    runs: Sequence[Results], format: str, options: Options, style: Style, notes: Sequence[str] = ()
) -> str:
    """Return results of one or more runs as text.

    Parameters
    ----------
    runs : sequence of Results
        The results.
    format : str
        One of `RESULT_FORMATS`.
    options : Options
        What to print.
    style : Style
        How to print it.
    notes : sequence of str
        Notes to include in JSON.

    Raises
    ------
    EvaluationError
        A table was requested, but the runs were scored in different ways.
    """
    if format == "trec":
        return "".join(line for results in runs for line in _lines(results, options, style))
    if format == "coursework":
        return "".join(line for results in runs for line in _assignments(results, options, style))
    return render(_document([_table(runs, options)], runs, options, notes), format, style)


def document_of(results: Results, _: Style) -> Document:
    """Return results as a document: averages and notes for readers, and every query for programs."""
    table = _table([results], Options())._replace(notes=tuple(about(results, "complete=True")))
    return _document([table], [results], Options(per_query=True), about(results))


def _document(tables: Sequence[Table], runs: Sequence[Results], options: Options, notes: Sequence[str]) -> Document:
    from treceval_py.rendering.tables import Document

    return Document("scores", tables, lambda style: _made(runs, options, style, notes))


# Lines --------------------------------------------------------------------------------------------


def _lines(results: Results, options: Options, style: Style) -> Iterator[str]:
    """Yield lines of ``measure qid value``: the measure in 22 columns, then a tab. Signatures follow as comments."""
    # trec_eval adds the Z of a z-score to the 22 columns, and counts columns in bytes.
    names = [
        ("Z" if results.standardised and number not in results.texts else "")
        + (measure.name + " " * (22 - len(encode(measure.name))))
        for number, measure in enumerate(results.measures)
    ]
    if options.per_query:
        shown = [number for number, measure in enumerate(results.measures) if measure.family.per_query]
        for row, (qid, listed) in enumerate(zip(results.qids, results.listed.tolist(), strict=True)):
            if listed:
                values = results.matrix[row].tolist()
                counted = results.counted[row].tolist()
                for number in shown:
                    if counted[number]:
                        yield f"{names[number]}\t{qid}\t{_value(results, number, row, values[number], style)}\n"
    if options.summary:
        for number, (measure, average) in enumerate(zip(results.measures, results.averages.tolist(), strict=True)):
            if measure.family.summary:
                yield f"{names[number]}\t{ALL}\t{_value(results, number, -1, average, style)}\n"
    yield from _group_lines(results, options, names, style) if options.groups else ()
    # As comments, so that a search for a measure at the start of a line does not find them.
    if options.signature:
        yield from (f"# {line}\n" for line in _signature_lines([results], options))


def _group_lines(results: Results, options: Options, names: Sequence[str], style: Style) -> Iterator[str]:
    """Yield lines of the averages of groups of queries."""
    for name, part in _by_group(results, options).items():
        for number, measure in enumerate(part.measures):
            if measure.family.summary and number not in part.texts:
                yield f"{names[number]}\t{name}\t{_value(part, number, -1, float(part.averages[number]), style)}\n"


def _value(results: Results, number: int, row: int, value: float, style: Style) -> str:
    measure = results.tasks[number].asked
    if number in results.texts:
        text = results.texts[number][row] if results.texts[number] else results.tag
        return f"'{text}'" if measure.family.per_query else text
    if measure.family.kind == COUNT and not results.standardised:
        return str(int(value))
    digits = 4 if style.digits is None else style.digits
    return f"{value:{digits + 2}.{digits}f}"


def _assignments(results: Results, options: Options, style: Style) -> Iterator[str]:
    """Yield lines of ``NAME = value`` with five decimals; for a query ``NAME(qid) = value``."""
    digits = 5 if style.digits is None else style.digits
    for query, measure, (cell,) in _rows([results], options):
        name = measure if query == ALL else f"{measure}({visible(query)})"
        value = f"{cell:.{digits}f}" if isinstance(cell, float) else "" if cell is None else visible(str(cell))
        yield f"{name} = {value}\n"
    yield from (f"# {visible(line)}\n" for line in _signature_lines([results], options))


# Tables -------------------------------------------------------------------------------------------


def _table(runs: Sequence[Results], options: Options) -> Table:
    """Lay out results: a row per query and measure, a column per run, and columns for signatures."""
    from treceval_py.rendering.tables import Column, Table

    rows = _rows(runs, options)
    names = _names(runs)
    measures = [row.measure for row in rows]
    columns = [
        Column("query", [row.query for row in rows], text=True, people=options.per_query or bool(options.groups)),
        Column("measure", measures, text=True, head=True),
        *(Column(name, [row.cells[at] for row in rows]) for at, name in enumerate(names)),
    ]
    if options.signature:
        # One run has a column "signature". Several runs have one each, as they may lack different queries.
        titles = ["signature"] if len(runs) == 1 else [f"signature {name}" for name in names]
        for title, run in zip(titles, runs, strict=True):
            made = _signatures(run, options)
            columns.append(Column(title, [made.get(measure, "") for measure in measures], text=True, people=False))
    starts = [
        at
        for at in range(1, len(rows))
        if (options.per_query or options.groups) and rows[at].query != rows[at - 1].query
    ]
    return Table(
        tuple(columns),
        "scores",
        made=tuple(_signature_lines(runs, options)),
        breaks=dict.fromkeys(starts, ""),
        naming=2 if options.per_query or options.groups else 1,
    )


def _rows(runs: Sequence[Results], options: Options) -> list[Row]:
    """Return the queries in byte order, then the averages, of runs scored with the same measures.

    Raises
    ------
    EvaluationError
        The runs were scored in different ways.
    """
    _check_alike(runs, force=options.force)
    rows: list[Row] = []
    measures = runs[0].measures
    names = [_name(measure, number, runs[0]) for number, measure in enumerate(measures)]
    if options.per_query:
        places = [{qid: row for row, qid in enumerate(run.qids) if run.listed[row]} for run in runs]
        for qid in sorted(set().union(*places), key=encode):
            for number, measure in enumerate(measures):
                if measure.family.per_query:
                    cells = [
                        _cell(run, number, place.get(qid)) if qid in place else None
                        for run, place in zip(runs, places, strict=True)
                    ]
                    rows.append(Row(qid, names[number], tuple(cells)))
    if options.summary:
        for number, measure in enumerate(measures):
            if measure.family.summary:
                rows.append(Row(ALL, names[number], tuple(_cell(run, number, None) for run in runs)))
    return rows + _group_rows(runs, options, names) if options.groups else rows


def _group_rows(runs: Sequence[Results], options: Options, names: Sequence[str]) -> list[Row]:
    """Return the averages of groups of queries."""
    rows: list[Row] = []
    parts = [_by_group(run, options) for run in runs]
    for name in dict.fromkeys(name for each in parts for name in each):
        for number, measure in enumerate(runs[0].measures):
            if measure.family.summary and measure.family.kind != TEXT:
                cells = [_cell(each[name], number, None) if name in each else None for each in parts]
                rows.append(Row(name, names[number], tuple(cells)))
    return rows


def _by_group(results: Results, options: Options) -> dict[str, Results]:
    """Return the results of each group of queries, by its label in place of the query: ``all:ATTRIBUTE=LABEL``."""
    return {
        visible(f"{ALL}:{each.attribute}={label}"): part
        for each in options.groups
        for label, part in results.by_group(each)[each.attribute].items()
    }


def _check_alike(runs: Sequence[Results], *, force: bool) -> None:
    if not runs:
        raise EvaluationError("there are no results to print", "Give those of at least one run.")
    for run in runs[1:]:
        if run.measures != runs[0].measures:
            raise EvaluationError(
                f"{runs[0].run_name} and {run.run_name} were scored with different measures, or in another order",
                "Score both with the same measures in the same order.",
            )
    check_comparable(runs, force=force)


def _signature_lines(runs: Sequence[Results], options: Options) -> list[str]:
    """Return how each number was computed: ``measure: signature``, with the run's name if runs differ."""
    if not options.signature:
        return []
    lines: list[str] = []
    names = _names(runs)
    columns = [_signatures(run, options) for run in runs]
    for name in columns[0]:
        written = [column[name] for column in columns if name in column]
        if len(set(written)) == 1:
            lines.append(f"{name}: {written[0]}")
        else:
            lines += [f"{name} of {run}: {column[name]}" for run, column in zip(names, columns, strict=True)]
    return lines


def _signatures(results: Results, options: Options) -> dict[str, str]:
    """Return how each measure was computed, in the requested form of signature."""
    long = options.signature == "long"
    return {name: each.long if long else each.short for name, each in results.signatures.items()}


def _names(runs: Sequence[Results]) -> tuple[str, ...]:
    """Name runs by tag if tags are unique, else by file, else by file and number."""
    for names in ([run.tag for run in runs], [run.run_name for run in runs]):
        if all(names) and max(Counter(names).values()) == 1:
            return tuple(names)
    return tuple(f"{run.run_name} ({number})" for number, run in enumerate(runs, 1))


def _name(measure: Measure, number: int, results: Results) -> str:
    return ("Z" if results.standardised and number not in results.texts else "") + measure.name


def _cell(results: Results, number: int, row: int | None) -> Cell:
    if row is not None and not results.counted[row, number]:
        return None
    if number in results.texts:
        return results.tag if row is None else results.texts[number][row]
    value = float(results.averages[number] if row is None else results.matrix[row, number])
    if results.tasks[number].asked.family.kind == COUNT and not results.standardised:
        return int(value)
    return value


# JSON ---------------------------------------------------------------------------------------------


def _made(runs: Sequence[Results], options: Options, style: Style, notes: Sequence[str]) -> Made:
    """Return the runs, how they were scored, and their values."""
    from treceval_py.rendering.envelope import Made

    first = runs[0]
    measures = {
        measure.name: resolved.notation for measure, resolved in zip(first.measures, first.resolved, strict=True)
    }
    shown = [_run(name, results, options, style) for name, results in zip(_names(runs), runs, strict=True)]
    return Made(
        first.judgments_name,
        first.profile,
        first.complete,
        common_signatures(runs),
        shown,
        {"measures": measures},
        notes,
    )


def common_signatures(runs: Sequence[Results]) -> dict[str, Signature]:
    """Return the signature of each measure that was computed in the same way for all runs."""
    others = [run.signatures for run in runs[1:]]
    return {name: each for name, each in runs[0].signatures.items() if all(other.get(name) == each for other in others)}


def _run(name: str, results: Results, options: Options, style: Style) -> dict[str, Any]:
    from treceval_py.rendering.envelope import plain, signature_forms

    shown: dict[str, Any] = {
        "name": name,
        "file": results.run_name,
        "tag": results.tag,
        "queries": len(results.qids),
        "signatures": signature_forms(results.signatures),
        "missing": results.missing,
        "unjudged": results.unjudged,
    }
    rows = _rows([results], options._replace(groups=()))
    count = len([measure for measure in results.measures if measure.family.summary]) if options.summary else 0
    by_query, averages = rows[: len(rows) - count], rows[len(rows) - count :]

    def averages_of(rows: Sequence[Row]) -> dict[str, Cell]:
        return {row.measure: plain(row.cells[0], style.digits) for row in rows}

    if options.summary:
        shown["mean"] = averages_of(averages)
    if options.per_query:
        queries: dict[str, dict[str, Cell]] = {}
        for query, measure, (cell,) in by_query:
            if cell is not None:  # the query counts for the measure
                queries.setdefault(query, {})[measure] = plain(cell, style.digits)
        shown["per_query"] = queries
    for each in options.groups:
        shown.setdefault("groups", {})[each.attribute] = {
            label: {"queries": len(part.qids), "mean": averages_of(_rows([part], Options()))}
            for label, part in results.by_group(each)[each.attribute].items()
        }
    return shown


# Notes --------------------------------------------------------------------------------------------


def about_groups(runs: Sequence[Results], options: Options) -> list[str]:
    """Return notes on queries and groups that do not fit together."""
    qids = sorted(set().union(*runs), key=encode)
    return [note for each in options.groups for note in each.notes(qids)]


def about_runs(several: Iterable[Results]) -> list[str]:
    """Return notes on what was left out, replaced or assumed in several runs; notes that several share appear once."""
    runs: dict[str, list[str]] = {}
    for results in several:
        for said in about(results):
            named = said.startswith(f"{results.run_name}: ")
            runs.setdefault(said.removeprefix(f"{results.run_name}: "), []).extend([results.run_name] * named)
    notes = []
    for said, names in runs.items():
        who = f"{len(names)} runs ({first_of(names)})" if len(names) > 1 else "".join(names)
        notes.append(f"{who}: {said}" if who else said)
    return notes


def about(results: Results, counting: str = "-c") -> list[str]:
    """Return notes on what was left out, replaced or assumed; `counting` is the option that counts missing queries."""
    name, missing, unjudged = results.run_name, results.missing, results.unjudged
    said: list[str] = []
    if missing:
        one = len(missing) == 1
        left_out = [task.asked.name for task in results.tasks if task.conventions.missing == "out"]
        consequence = f"and left out; {counting} counts {'it' if one else 'them'}"
        if results.complete:
            consequence = "and counts as an empty ranking" if one else "and count as empty rankings"
        elif len(left_out) < len(results.tasks):
            averages = f"{', '.join(left_out[:3])}{', …' if len(left_out) > 3 else ''}"
            consequence = consequence.replace("left out", f"left out of {averages}")
        if not set(results.qids) - set(missing):
            said.append(f"{name}: no query of the run is judged in {results.judgments_name}; is it the right file?")
        are = "judged query is" if one else "judged queries are"
        said.append(f"{name}: {len(missing)} {are} missing ({first_of(missing)}), {consequence}.")
    if unjudged:
        one = len(unjudged) == 1
        have, are = ("query of the run has", "is") if one else ("queries of the run have", "are")
        said.append(f"{name}: {len(unjudged)} {have} no judgments ({first_of(unjudged)}) and {are} not scored.")
    if results.tasks and not results.counted.any():
        said.append(f"{name}: no query counts, because none has a relevant document.")
    if results.replaced:
        lines = "1 line is" if results.replaced == 1 else f"{results.replaced} lines are"
        said.append(f"{name}: {lines} replaced by a later line for the same document, as in {results.profile}.")
    if results.contradictions.qids:
        said.append(_about_ranks(results))
    if any("max_rel" in dict(resolved.parameters) for resolved in results.resolved):
        said += _about_scale(results)
    profile = PROFILES.get(results.profile)
    return said if profile is None or profile.level > 0 else [*said, *_about_level(results, profile)]


def _about_level(results: Results, profile: Profile) -> list[str]:
    """Return a note on how many judgments count as relevant here but not in other profiles."""
    judgments, levels = results.fingerprint.judgments, [dict(each.parameters).get("level") for each in results.resolved]
    if profile.level not in levels or not isinstance(judgments, Qrels):
        return []
    count = int((judgments.rels == 0).sum())
    counts = "1 judgment of 0 counts" if count == 1 else f"{count} judgments of 0 count"
    said = f"{results.judgments_name}: {counts} as relevant in {profile.name}; with -l 1 they would not be."
    return [said] if count else []


def _about_scale(results: Results) -> list[str]:
    """Return a note if the top of the scale was taken from the judgments."""
    profile = PROFILES.get(results.profile)
    taken = []
    for measure, resolved in zip(results.measures, results.resolved, strict=True):
        meant = measure if profile is None else profile.meaning_of(measure)
        given = dict(resolved.parameters)
        unscaled = given.get("scale") == "none" or given.get("stop") == "label"  # judgments are used unscaled
        if "max_rel" in given and "max_rel" not in dict(meant.parameters) and not unscaled:
            taken.append((measure.name, given["max_rel"]))
    if not taken:
        return []
    names, top = ", ".join(name for name, _ in taken), taken[0][1]
    assumption = (
        f"the highest judgment, {top}, is used as the top of the scale in {names}; set max_rel={top} to fix it."
    )
    return [f"{results.judgments_name}: {assumption}"]


def _about_ranks(results: Results) -> str:
    contradictions = results.contradictions
    queries = len(results.unjudged) + len(set(results.qids) - set(results.missing))
    where = f"{results.run_name}: in {len(contradictions.qids)} of {queries} queries ({first_of(contradictions.qids)})"
    if contradictions.reversed:
        return f"{where} scores grow with the rank. If they are distances, negate them: higher scores rank first."
    return f"{where} the rank column contradicts the scores; the scores are used."
