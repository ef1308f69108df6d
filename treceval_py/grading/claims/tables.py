"""Match names and numbers in a table: a row or a column for each measure, or a row for each number."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from treceval_py.grading.claims.documents.document import Grid
from treceval_py.grading.claims.lines import WHOLE, Said, plain, whole_number
from treceval_py.grading.claims.naming import is_label, is_ordinary
from treceval_py.grading.claims.wording import (
    OF_ALL,
    Whose,
    is_asked_of,
    is_change,
    is_of_others,
    is_of_own,
    is_spread,
    is_standard,
    told_of,
)

_NAMES = {
    "query": "query|qid|topic|query id|query_id|topic id|anfrage|thema|requête|consulta|查询",
    "measure": "measure|metric|maß|mass|metrik|kennzahl|mesure|métrique|métrica|medida|指标|name",
    "value": "value|claim|claimed|claimed value|score|number|result|wert|ergebnis|valeur|résultat|valor|resultado"
    "|puntuación|值|数值|结果|mean|ours|mine|0",
    "run": "run|system|model|method|approach|runid|run_id|tag|experiment|lauf|système|modèle|méthode|sistema|modelo"
    "|método|系统|模型|方法",
}
"""Column names in tables of claims."""


def key_of(name: str, keys: Sequence[str]) -> str:
    """Return the kind of column that a name means, among some kinds; empty if none."""
    return next((key for key in keys if name.strip().lower() in _NAMES[key].split("|")), "")


class _Series(NamedTuple):
    """The row or column of a table about one run, or one query.

    Attributes
    ----------
    label : str
        Its name.
    of_query : bool
        Whether its name comes from a column of queries.
    said : list of Said
        Its measures and numbers.
    """

    label: str
    of_query: bool
    said: list[Said]


def said_in_table(grid: Grid, context: Whose, runs: Collection[str] = ()) -> Iterator[Said]:
    """Yield the numbers of a table that are about the student's runs.

    Parameters
    ----------
    grid : Grid
        The table.
    context : Whose
        The owner of the numbers, according to the heading above the table.
    runs : collection of str
        Names of submitted runs, in lower case: their rows are the student's, whatever their names.
    """
    told = told_of(grid.caption)
    if told is Whose.OTHERS or (told is Whose.UNSAID and context is Whose.OTHERS):
        return
    cells = [[plain(cell) for cell in row.cells] for row in grid.rows]
    places = [row.place for row in grid.rows]
    series = _long(cells, places) or _by_rows(cells, places) or _by_columns(cells, places)
    chosen = _own(series, runs)
    several = len(chosen) > 1
    for line in chosen:
        counts = Counter(said.name for said in line.said)
        named = line.label if several or line.label.lower() in runs else ""
        yield from (
            said._replace(run=named) for said in line.said if counts[said.name] == 1 and not is_ordinary(said.name)
        )


# --- shapes ---


def _long(cells: Sequence[Sequence[str]], places: Sequence[str]) -> list[_Series]:
    """Read a row for each number, below a header with columns for measures and values."""
    for at, row in enumerate(cells[:3]):
        columns: dict[str, int] = {}
        for key in ("query", "run", "measure", "value"):
            exact = [column for column, name in enumerate(row) if name.lower() == key]
            own = exact or [
                column for column, name in enumerate(row) if key_of(name, (key,)) and column not in columns.values()
            ]
            if own:
                columns[key] = own[0]
        values = [
            column for column, name in enumerate(row) if column != columns.get("measure") and key_of(name, ("value",))
        ]
        if "measure" not in columns or len(values) != 1:
            continue
        columns["value"] = values[0]
        below = [cells[number][columns["measure"]] for number in range(at + 1, len(cells))]
        if not any(map(is_label, below)) and row[columns["measure"]].lower() == "name":
            continue
        by_label: dict[tuple[str, bool], list[Said]] = {}
        for number in range(at + 1, len(cells)):
            name, value = cells[number][columns["measure"]], cells[number][columns["value"]]
            query = cells[number][columns["query"]] if "query" in columns else ""
            label = cells[number][columns["run"]] if "run" in columns else ""
            is_claim = is_label(name) or (whole_number(value) and name.strip("-: "))
            if not is_claim or is_of_others(name) or (query and query.lower() not in OF_ALL):
                continue
            by_label.setdefault((label, False), []).append(
                Said(places[number], name, whole_number(value) or value, sure=is_label(name))
            )
        return [_Series(label, of_query, said) for (label, of_query), said in by_label.items()]
    return []


def _by_rows(cells: Sequence[Sequence[str]], places: Sequence[str]) -> list[_Series]:
    """Read a column for each measure, and a row for each run or query."""
    for at, header in enumerate(cells[:5]):
        columns = [column for column, name in enumerate(header) if is_label(name) and not is_of_others(name)]
        below = range(at + 1, len(cells))
        if not columns or any(WHOLE.fullmatch(name) for name in header if name):
            continue
        columns = [column for column in columns if any(whole_number(cells[number][column]) for number in below)]
        names = [column for column, name in enumerate(header) if is_label(name)]
        if not columns or (len(header) > 1 and all(is_label(cells[number][names[0]]) for number in below)):
            continue
        groups = _groups(cells[:at], columns, header)
        series = []
        for number in below:
            row = cells[number]
            if not all(whole_number(row[column]) or not row[column].strip("-–—/ ") for column in columns):
                continue
            of_query, label = _label(header, row, names)
            for group, members in groups.items():
                said = [
                    Said(places[number], header[column], value)
                    for column in members
                    if column in columns and (value := whole_number(row[column]))
                ]
                series.append(_Series(" ".join(filter(None, (label, group))), of_query, said))
        return series
    return []


_AMOUNT = re.compile(r"[<>~≈]?\s?[+-]?[\d.,]+\s?(?:%|[^\W\d_]{1,3}\.?)?")


def _label(header: Sequence[str], row: Sequence[str], names: Sequence[int]) -> tuple[bool, str]:
    """Return whether a row's name comes from a column of queries, and that name; times and settings are not names."""
    for key in ("query", "run"):
        column = next((at for at, name in enumerate(header) if key_of(name, (key,)) and at not in names), None)
        if column is not None:
            return key == "query", row[column]
    rest = [column for column in range(len(row)) if column not in names]
    words = dict.fromkeys(row[column] for column in rest if row[column] and not _AMOUNT.fullmatch(row[column]))
    return False, " ".join(words) or (row[0] if 0 in rest else "")


def _groups(above: Sequence[Sequence[str]], columns: Sequence[int], header: Sequence[str]) -> dict[str, list[int]]:
    """Return the columns grouped by the header above their names, if names are repeated."""
    if not above or len({header[column] for column in columns}) == len(columns):
        return {"": list(columns)}
    groups: dict[str, list[int]] = {}
    current = ""
    for column in range(len(header)):
        current = above[-1][column] or current
        if column in columns:
            groups.setdefault(current, []).append(column)
    return groups


_YEAR = re.compile(r"(?:19|20)\d\d")


def _by_columns(cells: Sequence[Sequence[str]], places: Sequence[str]) -> list[_Series]:
    """Read a row for each measure, and a column for each run."""
    width = len(cells[0]) if cells else 0
    named = [sum(is_label(row[column]) and not is_of_others(row[column]) for row in cells) for column in range(width)]
    if not any(named):
        return []
    first = named.index(max(named))
    rows = [number for number, row in enumerate(cells) if is_label(row[first]) and not is_of_others(row[first])]
    rows = [number for number in rows if any(whole_number(cell) for cell in cells[number][first + 1 :])]
    if not rows:
        return []
    header = cells[rows[0] - 1] if rows[0] else [""] * width
    titles = header[first + 1 :]
    # Years, and numbers from 0, may be column names.
    if any(whole_number(name) and not _YEAR.fullmatch(name) for name in titles) and not all(map(str.isdigit, titles)):
        header = [""] * width
    series = []
    for column in range(first + 1, width):
        said = [
            Said(places[number], cells[number][first], value)
            for number in rows
            if (value := whole_number(cells[number][column]))
        ]
        if said:
            label = "" if key_of(header[column], ("value",)) and not is_of_own(header[column]) else header[column]
            series.append(_Series(label, False, said))
    return series


# --- whose rows they are ---


_QUERY = re.compile(r"(?i)(?:(?:q|query|topic|anfrage|thema|requête|consulta|查询)?[\s_#-]?\d+|[\d.,]+ ?%?)")


def _own(series: Sequence[_Series], runs: Collection[str]) -> list[_Series]:
    """Return the student's own rows or columns, reduced to the mean over all queries."""
    kept = [line for line in series if line.said]
    if any(line.of_query for line in kept):
        return [line for line in kept if not line.of_query or not line.label or line.label.lower() in OF_ALL][:1]
    means = [line for line in kept if line.label.lower().strip(" :") in OF_ALL]
    others = [line for line in kept if line not in means]
    if means and (
        sum(bool(_QUERY.fullmatch(line.label)) for line in others) > len(others) / 2
        or any(is_spread(line.label) for line in others)
        or any(is_asked_of(line.label) for line in others)
    ):
        return means[:1]
    kept = [line for line in kept if _is_handed_in(line, runs) or not _is_of_others(line)]
    if len(kept) > 1 and all(_QUERY.fullmatch(line.label) for line in kept):
        return []
    own = [line for line in kept if _is_handed_in(line, runs) or is_of_own(line.label)]
    if own:
        kept = own
    elif len(kept) > 1:
        # If all are standard systems, none of them is there for comparison.
        kept = [line for line in kept if not is_standard(line.label)] or kept
    labels = [line.label for line in kept]
    return kept if len(kept) < 2 or (all(labels) and len(set(labels)) == len(labels)) else []


def _is_handed_in(series: _Series, runs: Collection[str]) -> bool:
    return series.label.lower() in runs


def _is_of_others(series: _Series) -> bool:
    label = series.label
    return told_of(label) is Whose.OTHERS or is_spread(label) or is_change(label) or is_of_others(label)
