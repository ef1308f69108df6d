"""Results of one or more runs as a sheet: a row for each query and measure, a column for each run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from treceval_py.data.ids import encode
from treceval_py.errors import EvaluationError
from treceval_py.measures.registry import COUNT, Measure
from treceval_py.scoring.results import Results, check_comparable
from treceval_py.scoring.show.options import Options

__all__ = ["Row", "Sheet", "column_names", "sheet_of", "signature_lines", "signatures_of"]

Cell = float | int | str | None

ALL = "all"


class Row(NamedTuple):
    """A query (or ``all``), a measure, and a value for each run; None where a run has none."""

    query: str
    measure: str
    cells: tuple[Cell, ...]


class Sheet(NamedTuple):
    """A header and rows.

    Attributes
    ----------
    runs : tuple of str
        The names of the columns of values.
    rows : list of Row
        The rows, queries in the order of their bytes, then the average.
    """

    runs: tuple[str, ...]
    rows: list[Row]


def sheet_of(runs: Sequence[Results], options: Options) -> Sheet:
    """Lay out results of runs that were scored with the same measures, in the same way.

    Raises
    ------
    EvaluationError
        They were scored in different ways.
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
    return Sheet(column_names(runs), rows)


def _check_alike(runs: Sequence[Results], *, force: bool) -> None:
    if not runs:
        raise EvaluationError("there are no results to print", "Give those of one run at least.")
    for run in runs[1:]:
        if run.measures != runs[0].measures:
            raise EvaluationError(
                f"{runs[0].run_name} and {run.run_name} were scored with different measures, or in another order",
                "Ask for the same measures in the same order.",
            )
    check_comparable(runs, force=force)


def signature_lines(runs: Sequence[Results], options: Options) -> list[str]:
    """Say how each number was made: ``measure: signature``, with the run's name where runs differ."""
    if not options.signature:
        return []
    lines: list[str] = []
    names = column_names(runs)
    columns = [signatures_of(run, options) for run in runs]
    for name in columns[0]:
        written = [column[name] for column in columns if name in column]
        if len(set(written)) == 1:
            lines.append(f"{name}: {written[0]}")
        else:
            lines += [f"{name} of {run}: {column[name]}" for run, column in zip(names, columns, strict=True)]
    return lines


def signatures_of(results: Results, options: Options) -> dict[str, str]:
    """Return how each number was made by the name of the measure, in the form that is asked for."""
    long = options.signature == "long"
    return {name: each.long if long else each.short for name, each in results.signatures.items()}


def column_names(runs: Sequence[Results]) -> tuple[str, ...]:
    """Name runs by their tags where these tell them apart, else by their files, else by files and numbers."""
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
    if results.measures[number].family.kind == COUNT and not results.standardised:
        return int(value)
    return value
