"""Format results as text: trec_eval's lines, assignments, tables in every format, and notes on what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treceval_py._types import IntArray
from treceval_py.data.ids import PORTION, encode, first_of
from treceval_py.data.qrels import Qrels
from treceval_py.errors import EvaluationError, MissingQueriesWarning, SuspectRunWarning, TrecevalWarning, visible
from treceval_py.measuring.registry import COUNT
from treceval_py.rendering import FORMATS, render
from treceval_py.scoring.profiles import DEFAULT_PROFILE, PROFILES, Profile
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
    """A query (or ``all``), a measure by number and name, a value per run (None if a run has none); if it is a mean."""

    query: str
    number: int
    name: str
    cells: tuple[Cell, ...]
    mean: bool


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
    if format in ("trec", "coursework"):
        lines = _lines if format == "trec" else _assignments
        return "".join(line for results in runs for line in lines(results, options, style))
    return render(
        _document([_table(runs, options, people=format not in ("csv", "tsv"))], runs, options, notes), format, style
    )


def document_of(results: Results, _: Style) -> Document:
    """Return results as a document: averages and notes for readers, and every query for programs."""
    table = _table([results], Options())._replace(notes=tuple(about(results, python=True)))
    return _document([table], [results], Options(per_query=True), about(results))


def _document(tables: Sequence[Table], runs: Sequence[Results], options: Options, notes: Sequence[str]) -> Document:
    from treceval_py.rendering.tables import Document

    return Document("scores", tables, lambda style: _made(runs, options, style, notes))


# Lines --------------------------------------------------------------------------------------------


def _lines(results: Results, options: Options, style: Style) -> Iterator[str]:
    """Yield lines of ``measure qid value``: the measure in 22 columns, then a tab. Signatures follow as comments."""
    digits = 4 if style.digits is None else style.digits
    form = f"{digits + 2}.{digits}f"
    heads: list[str] = []
    for number, task in enumerate(results.tasks):
        # trec_eval adds the Z of a z-score to the 22 columns, and counts columns in bytes.
        name, z = task.asked.line_name, "Z" * (results.standardised and number not in results.texts)
        heads.append(z + name + " " * (22 - (len(name) if name.isascii() else len(encode(name)))))
    if options.per_query:
        by_query = [number for number, task in enumerate(results.tasks) if task.asked.family.per_query]
        rows = np.flatnonzero(results.listed)
        for start in range(0, len(rows), PORTION):
            part = rows[start : start + PORTION]
            qids = [results.qids[row] for row in part.tolist()]
            columns = [_column(results, number, part, qids, heads[number], form) for number in by_query]
            yield "".join(chain.from_iterable(zip(*columns, strict=True)))
    for query, number, head, (cell,), _ in _rows([results], options._replace(per_query=False), heads):
        if isinstance(cell, float):
            yield f"{head}\t{query}\t{cell:{form}}\n"
        elif cell is not None:
            quoted = isinstance(cell, str) and results.tasks[number].asked.family.per_query
            value = f"'{cell}'" if quoted else cell
            yield f"{head}\t{query}\t{value}\n"
    # As comments, so that a search for a measure at the start of a line does not find them.
    if options.signature:
        line_names = {task.asked.name: task.asked.line_name for task in results.tasks}
        yield from (f"# {line_names[name]}: {made}\n" for name, made in _signatures(results, options).items())


def _column(results: Results, number: int, rows: IntArray, qids: Sequence[str], head: str, form: str) -> Sequence[str]:
    """Return the lines of a measure for some queries; empty where a query does not count."""
    texts, counted = results.texts.get(number), results.counted[rows, number]
    form, values = f"%{form}", results.matrix[rows, number].tolist()
    if texts is not None:
        form, values = "'%s'", [texts[row] for row in rows.tolist()]
    elif results.tasks[number].asked.family.kind == COUNT and not results.standardised:
        form = "%d"
    line = f"{head.replace('%', '%%')}\t%s\t{form}\n"
    if counted.all():
        return list(map(line.__mod__, zip(qids, values, strict=True)))
    of_rows = zip(counted.tolist(), qids, values, strict=True)
    return [line % (qid, value) if counts else "" for counts, qid, value in of_rows]


def _assignments(results: Results, options: Options, style: Style) -> Iterator[str]:
    """Yield lines of ``NAME = value`` with five decimals; for a query ``NAME(qid) = value``."""
    digits = 5 if style.digits is None else style.digits
    for row in _rows([results], options):
        query, (cell,), name = row.query, row.cells, _heading(row, results)
        value = f"{cell:.{digits}f}" if isinstance(cell, float) else "" if cell is None else visible(str(cell))
        yield f"{name if query == ALL else f'{name}({visible(query)})'} = {value}\n"
    yield from (f"# {visible(line)}\n" for line in _signature_lines([results], options))


# Tables -------------------------------------------------------------------------------------------


def _table(runs: Sequence[Results], options: Options, *, people: bool = False) -> Table:
    """Lay out results: a row per query and measure, a column per run, and columns for signatures."""
    from treceval_py.rendering.tables import Column, Table

    rows, titles = list(_rows(runs, options)), run_names(runs)
    if people and len(runs) > 1:  # runid is the heading
        rows = [row for row in rows if row.cells != titles] or rows
    queries, names = [row.query for row in rows], [row.name for row in rows]
    by_query = options.per_query or bool(options.groups)
    columns = [
        Column("query", queries, text=True, people=by_query),
        Column("measure", [_heading(row, runs[0]) for row in rows], text=True, head=True, programs=False),
        Column("measure", names, text=True, people=False),
        *(Column(title, [row.cells[at] for row in rows]) for at, title in enumerate(titles)),
    ]
    # One run has a column "signature". Several runs have one each, as they may lack different queries.
    for title, run in zip(titles, runs, strict=True) if options.signature else ():
        heading, written = f"signature {title}" if len(runs) > 1 else "signature", _signatures(run, options)
        columns.append(Column(heading, [written.get(name, "") for name in names], text=True, people=False))
    starts = [at for at in range(1, len(rows)) if by_query and queries[at] != queries[at - 1]]
    signatures, breaks = tuple(_signature_lines(runs, options)), dict.fromkeys(starts, "")
    return Table(tuple(columns), "scores", made=signatures, breaks=breaks, naming=2 if by_query else 1)


def _rows(runs: Sequence[Results], options: Options, names: Sequence[str] = ()) -> Iterator[Row]:
    """Yield the queries in byte order, the averages, and those of groups, of runs scored with the same measures.

    `names` are those of the measures, if not as they were asked for.

    Raises
    ------
    EvaluationError
        The runs were scored in different ways.
    """
    if len(runs) != 1:
        _check_alike(runs, force=options.force)
    first = runs[0]
    averaged = [number for number, task in enumerate(first.tasks) if task.asked.family.summary]
    # Label, the results and their row for each run (None for averages), measures, and whether these are means.
    lines: list[tuple[str, list[tuple[Results, int | None] | None], list[int], bool]] = []
    if options.per_query:
        by_query = [number for number, task in enumerate(first.tasks) if task.asked.family.per_query]
        places = [{qid: (run, row) for row, qid in enumerate(run.qids) if run.listed[row]} for run in runs]
        qids = sorted(set().union(*places), key=encode)
        lines += [(qid, [place.get(qid) for place in places], by_query, False) for qid in qids]
    if options.summary:
        lines.append((ALL, [(run, None) for run in runs], averaged, True))
    parts = [_by_group(run, options) for run in runs] if options.groups else []
    for name in dict.fromkeys(name for groups in parts for name in groups):
        numbers = [number for number in averaged if number not in first.texts]
        lines.append((name, [(groups[name], None) if name in groups else None for groups in parts], numbers, True))
    names = names or [
        "Z" * (first.standardised and at not in first.texts) + task.asked.name for at, task in enumerate(first.tasks)
    ]
    for label, sources, numbers, mean in lines:
        columns = [_cells(*source, numbers) if source else [None] * len(numbers) for source in sources]
        for number, cells in zip(numbers, zip(*columns, strict=True), strict=True):
            yield Row(label, number, names[number], cells, mean)


def _heading(row: Row, results: Results) -> str:
    """Return the name of a row's measure for people."""
    asked = results.tasks[row.number].asked
    return row.name.removesuffix(asked.name) + asked.heading if row.mean else row.name


def _cells(results: Results, row: int | None, numbers: Sequence[int]) -> list[Cell]:
    """Return the values of some measures for a query, or their averages; None where the query does not count."""
    values = results.averages.tolist() if row is None else results.matrix[row].tolist()
    counted = [] if row is None else results.counted[row].tolist()
    cells: list[Cell] = []
    for number in numbers:
        if row is not None and not counted[number]:
            cells.append(None)
        elif number in results.texts:
            cells.append(results.tag if row is None else results.texts[number][row])
        else:
            count = results.tasks[number].asked.family.kind == COUNT and not results.standardised
            cells.append(int(values[number]) if count else values[number])
    return cells


def _by_group(results: Results, options: Options) -> dict[str, Results]:
    """Return the results of each group of queries, by its label in place of the query: ``all:ATTRIBUTE=LABEL``."""
    return {
        visible(f"{ALL}:{attribute}={label}"): part
        for attribute, parts in results.by_group(options.groups).items()
        for label, part in parts.items()
    }


def _check_alike(runs: Sequence[Results], *, force: bool) -> None:
    if not runs:
        raise EvaluationError("there are no results to print", "Give those of at least one run.")
    for run in runs[1:]:
        if run.measures != runs[0].measures:
            problem = f"{runs[0].run_name} and {run.run_name} were scored with different measures, or in another order"
            raise EvaluationError(problem, "Score both with the same measures in the same order.")
    check_comparable(runs, force=force)


def _signature_lines(runs: Sequence[Results], options: Options) -> list[str]:
    """Return how each number was computed: ``measure: signature``, with the run's name if runs differ."""
    if not options.signature:
        return []
    lines: list[str] = []
    names = run_names(runs)
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


def run_names(runs: Sequence[Results]) -> tuple[str, ...]:
    """Name runs by tag if tags are unique, else by file, else by file and number."""
    for names in ([run.tag for run in runs], [run.run_name for run in runs]):
        if all(names) and max(Counter(names).values()) == 1:
            return tuple(names)
    return tuple(f"{run.run_name} ({number})" for number, run in enumerate(runs, 1))


# JSON ---------------------------------------------------------------------------------------------


def _made(runs: Sequence[Results], options: Options, style: Style, notes: Sequence[str]) -> Made:
    """Return the runs, how they were scored, and their values."""
    from treceval_py.rendering.envelope import Made

    first = runs[0]
    measures = {task.asked.name: task.resolved.notation for task in first.tasks}
    shown = [_run(name, results, options, style) for name, results in zip(run_names(runs), runs, strict=True)]
    common, more = common_signatures(runs), {"measures": measures}
    return Made(first.judgments_name, first.profile, first.complete, common, shown, more, notes)


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
        "signs": [sign._asdict() for sign in results.signs],
    }

    def averages_of(part: Results) -> dict[str, Cell]:
        return {row.name: plain(row.cells[0], style.digits) for row in _rows([part], Options())}

    if options.summary:
        shown["mean"] = averages_of(results)
    if options.per_query:
        queries: dict[str, dict[str, Cell]] = {}
        for row in _rows([results], Options(per_query=True, summary=False)):
            if row.cells[0] is not None:  # the query counts for the measure
                queries.setdefault(row.query, {})[row.name] = plain(row.cells[0], style.digits)
        shown["per_query"] = queries
    if options.groups:
        shown["groups"] = {
            attribute: {label: {"queries": len(p.qids), "mean": averages_of(p)} for label, p in parts.items()}
            for attribute, parts in results.by_group(options.groups).items()
        }
    return shown


# Notes --------------------------------------------------------------------------------------------


def about_groups(runs: Sequence[Results], options: Options) -> list[str]:
    """Return notes on queries and groups that do not fit together."""
    qids = sorted(set().union(*runs), key=encode)
    return [note for each in options.groups for note in each.notes(qids)]


def about_runs(several: Iterable[Results], *, fixed: bool = False) -> list[str]:
    """Return the notes of `notes_of` on several runs; notes that several share appear once."""
    return by_note(
        (
            results.run_name if said.startswith(f"{results.run_name}: ") else "",
            said.removeprefix(f"{results.run_name}: "),
        )
        for results in several
        for said, _ in notes_of(results, fixed=fixed)
    )


def about_signs(several: Iterable[Results | None]) -> list[str]:
    """Return notes on signs of mistakes in several runs; notes that several share appear once."""
    return by_note((results.run_name, sign.text) for results in several if results for sign in results.signs)


def by_note(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Return each note once, with the runs it is about: pairs of a run's name, empty for none, and a note about it."""
    runs: dict[str, list[str]] = {}
    for run, said in pairs:
        runs.setdefault(said, []).extend([run] * bool(run))
    notes = []
    for said, names in runs.items():
        who = f"{len(names)} runs ({first_of(names)})" if len(names) > 1 else "".join(names)
        notes.append(f"{who}: {said}" if who else said)
    return notes


def about(results: Results, *, python: bool = False) -> list[str]:
    """Return the notes of `notes_of`."""
    return [text for text, _ in notes_of(results, python=python)]


def notes_of(
    results: Results, *, python: bool = False, fixed: bool = False
) -> Iterator[tuple[str, type[TrecevalWarning] | None]]:
    """Yield notes on what was left out, replaced or assumed; each with the kind of its warning in Python, if any.

    With `python`, options are named as its arguments; if signatures fix the scoring, none is named.
    """
    name, missing, unjudged = results.run_name, results.missing, results.unjudged
    for sign in results.signs:
        yield f"{name}: {sign.text}", SuspectRunWarning
    if missing:
        one = len(missing) == 1
        left_out = [task.asked.name for task in results.tasks if task.conventions.missing == "out"]
        counting = "" if fixed else f"; {'complete=True' if python else '-c'} counts {'it' if one else 'them'}"
        consequence = f"and left out{counting}"
        if results.complete:
            consequence = "and counts as an empty ranking" if one else "and count as empty rankings"
        elif len(left_out) < len(results.tasks):
            averages = f"{', '.join(left_out[:3])}{', …' if len(left_out) > 3 else ''}"
            consequence = consequence.replace("left out", f"left out of {averages}")
        are = "judged query is" if one else "judged queries are"
        kind = None if results.complete else MissingQueriesWarning
        yield f"{name}: {len(missing)} {are} missing ({first_of(missing)}), {consequence}.", kind
    if unjudged:
        one = len(unjudged) == 1
        have, are = ("query of the run has", "is") if one else ("queries of the run have", "are")
        said = f"{name}: {len(unjudged)} {have} no judgments ({first_of(unjudged)}) and {are} not scored."
        yield said, TrecevalWarning
    if results.tasks and not results.counted.any():
        yield f"{name}: no query counts, because none has a relevant document.", TrecevalWarning
    for task in results.tasks:
        if "max_rel" in dict(task.resolved.parameters):
            yield from dict.fromkeys(_about_scale(results, PROFILES.get(results.profile)), TrecevalWarning).items()
            break
    if results.replaced or results.profile != DEFAULT_PROFILE:
        yield from dict.fromkeys(_about_profile(results), TrecevalWarning).items()
        yield from dict.fromkeys(_about_level(results, "level=1" if python else "-l 1")).items()


def _about_profile(results: Results) -> list[str]:
    """Return notes on what a profile replaces, and where its program's values can differ."""
    judgments, why = results.fingerprint.judgments, "by a later line for the same document"
    replaced = {results.judgments_name: judgments.replaced} if isinstance(judgments, Qrels) else {}
    said = [
        f"{file}: {'1 line is' if count == 1 else f'{count} lines are'} replaced {why}, as in {results.profile}."
        for file, count in [*replaced.items(), (results.run_name, results.replaced)]
        if count
    ]
    return [*said, *results.about_differences()]


def _about_level(results: Results, higher: str) -> list[str]:
    """Return a note on how many judgments count as relevant here but not in other profiles."""
    profile, judgments = PROFILES.get(results.profile), results.fingerprint.judgments
    if profile is None or profile.level > 0:
        return []
    levels = [dict(task.resolved.parameters).get("level") for task in results.tasks]
    count = int((judgments.rels == 0).sum()) if profile.level in levels and isinstance(judgments, Qrels) else 0
    counts = "1 judgment of 0 counts" if count == 1 else f"{count} judgments of 0 count"
    said = f"{results.judgments_name}: {counts} as relevant in {profile.name}; with {higher} they would not be."
    return [said] if count else []


def _about_scale(results: Results, profile: Profile | None) -> list[str]:
    """Return a note if the top of the scale was taken from the judgments."""
    taken = {}
    for task in results.tasks:
        meant, given = profile.meaning_of(task.asked) if profile else task.asked, dict(task.resolved.parameters)
        unscaled = given.get("scale") == "none" or given.get("stop") == "label"  # judgments are used unscaled
        if "max_rel" in given and "max_rel" not in dict(meant.parameters) and not unscaled:
            taken[task.asked.name] = given["max_rel"]
    if not taken:
        return []
    top = next(iter(taken.values()))
    use = f"the highest judgment, {top}, is used as the top of the scale in {', '.join(taken)}"
    return [f"{results.judgments_name}: {use}; set max_rel={top} to fix it."]
