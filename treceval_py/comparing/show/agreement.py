"""How measures agree on the order of runs, and how the ranked lists of runs agree, as tables."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from treceval_py._types import FloatArray
from treceval_py.comparing.agreement import Agreement, overlap_of_runs, system_orders
from treceval_py.comparing.show.tables import made_of
from treceval_py.data.ranking import PLAIN
from treceval_py.errors import EvaluationError
from treceval_py.rendering import render
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import Cell, Column, Document, Table, records_table

if TYPE_CHECKING:
    from treceval_py.comparing.comparison import Comparison
    from treceval_py.data.run import Run

Record: TypeAlias = "dict[str, Cell]"

PERSISTENCE = 0.9
"""Of RBO: the first ten ranks have 86 % of its weight."""

_MEANING = {
    "measure": "Kendall τ: τ-b of the runs' means. τ_AP,b: the same with more weight on the best runs; neither measure "
    f"is treated as the truth. RBO({PERSISTENCE:g}): of the runs, best first.",
    "run": "Means over the queries that all runs have. Kendall τ and τ_AP,b: of the documents in both lists. "
    f"RBO({PERSISTENCE:g}): extrapolated. shared: documents in both lists, of the longer one.",
}

_TITLES = {"tau": "Kendall τ", "tau_ap": "τ_AP,b", "rbo": f"RBO({PERSISTENCE:g})", "shared": "shared"}

_TEX = {"tau": r"Kendall $\tau$", "tau_ap": r"$\tau_{AP,b}$"}


def agreement_text(comparison: Comparison, runs: Sequence[Run] | None, depth: int, format: str, style: Style) -> str:
    """Return how measures agree on the order of the runs, and how the runs' lists agree.

    Parameters
    ----------
    comparison : Comparison
        The runs compared.
    runs : sequence of Run, length S, or None
        The runs themselves; None where only results were saved, which have no lists.
    depth : int
        How many documents of each list are looked at.
    format : str
        One of `rendering.FORMATS`.
    style : Style
        How it is printed.

    Raises
    ------
    EvaluationError
        There is nothing to say: fewer than three runs or one measure, and no lists.
    """
    several = len(comparison.runs) > 2 and len(comparison.measures) > 1
    orders = _records("measures", system_orders(comparison)) if several else []
    overlap = None if runs is None else _overlap(comparison, runs, depth)
    lists = []
    if overlap is not None:
        lists = [row | {"queries": overlap.queries} for row in _records("runs", overlap, shared=overlap.shared)]
    if not orders and not lists:
        raise EvaluationError(
            "agreement of measures needs three runs and two measures, and agreement of lists needs run files",
            "Give run files instead of saved results, or more of them.",
        )
    tables = [records_table([*orders, *lists])]
    if orders:
        where = f"{len(comparison.runs)} runs by their means"
        headings = {each.measure: each.heading for each in comparison.measures}
        named = [row | {key: headings[str(row[key])] for key in ("first", "second")} for row in orders]
        tables.append(_for_people(f"Do measures order the runs alike? ({where})", named, "measure"))
    if overlap is not None:
        where = f"first {depth} documents, {overlap.queries} queries"
        tables.append(_for_people(f"Do the runs' lists agree? ({where})", lists, "run"))
    return render(Document("agreement", tables, lambda _: made_of(comparison)), format, style)


def _overlap(comparison: Comparison, runs: Sequence[Run], depth: int) -> Agreement:
    compared = comparison.measures[0]
    ranking = PLAIN
    if compared.signature is not None:
        ranking = compared.signature.conventions.ranking()._replace(depth=None, judged_only=False)
    return overlap_of_runs(
        runs, names=comparison.runs, depth=depth, p=PERSISTENCE, ranking=ranking, qids=list(compared.qids)
    )


def _records(kind: str, orders: Agreement, **more: FloatArray) -> list[Record]:
    """Return a record for each pair of measures, or of runs."""
    fields = {"tau": orders.tau, "tau_ap": orders.tau_ap, "rbo": orders.rbo, **more}
    return [
        {"kind": kind, "first": orders.names[first], "second": orders.names[second]}
        | {name: matrix[first, second].item() for name, matrix in fields.items()}
        for first, second in itertools.combinations(range(len(orders.names)), 2)
    ]


def _for_people(title: str, rows: Sequence[Record], noun: str) -> Table:
    titles = _TITLES | {"first": noun, "second": "and"}
    columns = tuple(
        Column(
            key,
            [row[key] for row in rows],
            titles[key],
            text=key in ("first", "second"),
            head=key == "first",
            programs=False,
            tex=_TEX.get(key, ""),
        )
        for key in rows[0]
        if key not in ("kind", "queries")
    )
    return Table(columns, f"{noun}s", title, notes=(_MEANING[noun],), naming=2)
