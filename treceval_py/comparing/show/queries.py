"""The queries in which two runs differ most, with the documents that moved, as tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from treceval_py.rendering.numbers import NONE, number
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import DIGITS, Cell, Column, Document, Section, Table, records_table

if TYPE_CHECKING:
    from treceval_py.comparing.documents import Moved, QueryDifference
    from treceval_py.rendering.envelope import Made

ARROW = " → "

_KEYS = ("docid", "judged", "rank", "other_rank", "contribution", "other_contribution", "change", "documents")


class Pair(NamedTuple):
    """Two runs and the queries in which they differ.

    Attributes
    ----------
    queries : sequence of QueryDifference
        The queries.
    measure, run, other : str
        The measure, the run and the one that it is compared with.
    """

    queries: Sequence[QueryDifference]
    measure: str
    run: str
    other: str


def document_of(pairs: Sequence[Pair], texts: Mapping[str, str], made: Made, style: Style) -> Document:
    """Return what is printed of queries.

    People read from the other run to the run, ``0.1234 → 0.5678`` is a gain; programs get `records`.

    Parameters
    ----------
    pairs : sequence of Pair
        The queries for each pair of runs and measure.
    texts : mapping of str to str
        Texts of queries.
    made : Made
        How the values were made.
    style : Style
        How tables are printed; values in texts have its number of decimals.
    """
    rows = [row for pair in pairs for row in records(pair, texts)]
    keys = ("measure", "run", "other", "query", "text", "value", "other_value", "delta", *_KEYS)
    digits = DIGITS if style.digits is None else style.digits
    return Document(
        "queries", [*(_people(pair, texts, digits) for pair in pairs), records_table(rows, keys)], lambda _: made
    )


def records(pair: Pair, texts: Mapping[str, str]) -> Iterator[dict[str, Cell]]:
    """Yield a record for each query and document.

    Yields
    ------
    dict
        ``value``, ``other_value`` and ``delta`` are those of the query; ``contribution``, ``other_contribution`` and
        ``change`` those of the document, NaN for a measure that is not taken apart. A record without a document sums
        up the others, whose number is in ``documents``; it is there where some are left, or where there is no other.
    """
    for query in pair.queries:
        head: dict[str, Cell] = {"measure": pair.measure, "run": pair.run, "other": pair.other, "query": query.qid}
        head |= {"text": texts.get(query.qid, "")}
        head |= {"value": query.value, "other_value": query.other_value, "delta": query.delta}
        for moved in query.moved:
            yield head | dict(zip(_KEYS, (*moved, 1), strict=True))
        if query.rest_documents or not query.moved:
            change = query.rest if query.rest_documents else None
            yield head | dict.fromkeys(_KEYS) | {"change": change, "documents": query.rest_documents}


def _people(pair: Pair, texts: Mapping[str, str], digits: int) -> Table:
    """Return a section for each query, with a row for each document that moved."""
    rows: list[tuple[Cell, ...]] = []
    sections, across = [], []
    for query in pair.queries:
        values = _from_to(query.other_value, query.value, digits), number(query.delta, digits, signed=True)
        sections.append(Section(len(rows), query.qid, values, texts.get(query.qid, "")))
        rows += [_row(moved, digits) for moved in query.moved]
        if query.rest_documents:
            kind = "" if query.apart else "judged "
            more = f"{query.rest_documents} more {kind}document{'s' if query.rest_documents > 1 else ''}"
            across.append(len(rows))
            rows.append((more, None, None, None, query.rest))
    docids, judged, ranks, contributions, changes = zip(*rows, strict=True) if rows else [()] * 5
    columns = (
        Column("docid", docids, text=True, head=True, programs=False),
        Column("judged", judged, programs=False),
        Column("rank", ranks, programs=False, joint=ARROW),
        Column("contribution", contributions, programs=False, joint=ARROW),
        Column("change", changes, programs=False, signed=True),
    )
    runs = f"{pair.measure}, {pair.other}{ARROW}{pair.run}"
    which = "the query that differs" if len(pair.queries) == 1 else f"the {len(pair.queries)} queries that differ"
    title = f"{runs}: {which} most" if pair.queries else f"{runs}: no query differs"
    ranks_alone = any(query.moved and not query.apart for query in pair.queries)
    remark = f"Where {pair.measure} is no sum over documents, ranks alone are shown."
    return Table(
        columns,
        name="queries",
        title=title,
        notes=(remark,) if ranks_alone else (),
        sections=tuple(sections),
        across=frozenset(across),
    )


def _row(moved: Moved, digits: int) -> tuple[Cell, ...]:
    label, *ranks = (NONE if cell is None else str(cell) for cell in (moved.label, moved.other_rank, moved.rank))
    contribution = _from_to(moved.other_contribution, moved.contribution, digits)
    return moved.docid, label, ARROW.join(ranks), contribution, moved.delta


def _from_to(before: float, after: float, digits: int) -> str:
    if math.isnan(before) and math.isnan(after):
        return NONE
    return f"{number(before, digits)}{ARROW}{number(after, digits)}"
