"""How measures agree on the order of runs, and how the ranked lists of runs agree, as tables."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from treceval_py.comparing.agreement import Overlap, overlap_of_runs, system_orders
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
    f"is taken for the truth. RBO({PERSISTENCE:g}): of the runs, best first.",
    "run": "Means over the queries that all runs have. Kendall τ and τ_AP,b: of the documents in both lists. "
    f"RBO({PERSISTENCE:g}): extrapolated. shared: documents in both lists, of the longer one.",
}

_TITLES = {
    "tau": "Kendall τ",
    "tau_ap": "τ_AP,b",
    "rbo": f"RBO({PERSISTENCE:g})",
    "shared": "shared",
}

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
    orders = agreement_records(comparison, None, depth)
    overlap = None if runs is None else _overlap(comparison, runs, depth)
    lists = [] if overlap is None else _of_lists(overlap)
    if not orders and not lists:
        raise EvaluationError(
            "agreement of measures needs three runs and two measures, and agreement of lists needs run files",
            "Give run files instead of saved results, or more of them.",
        )
    tables = [records_table([*orders, *lists])]
    if orders:
        where = f"{len(comparison.runs)} runs by their means"
        tables.append(_for_people(f"Do measures order the runs alike? ({where})", orders, "measure"))
    if overlap is not None:
        where = f"first {overlap.depth} documents, {overlap.queries} queries"
        tables.append(_for_people(f"Do the runs' lists agree? ({where})", lists, "run"))
    return render(Document("agreement", tables, lambda _: made_of(comparison)), format, style)


def agreement_records(comparison: Comparison, runs: Sequence[Run] | None, depth: int) -> list[Record]:
    """Return a record for each pair of measures, given three runs, and for each pair of given runs.

    Returns
    -------
    list of dict
        ``kind`` "measures" with Kendall's tau-b, tau_AP,b and rank-biased overlap of the orders of the runs, or "runs"
        with those of their lists of documents and the share of documents in both.
    """
    records: list[Record] = []
    if len(comparison.runs) > 2 and len(comparison.measures) > 1:
        orders = system_orders(comparison)
        for first, second in itertools.combinations(range(len(orders.measures)), 2):
            records.append(
                {
                    "kind": "measures",
                    "first": orders.measures[first],
                    "second": orders.measures[second],
                    "tau": float(orders.tau[first, second]),
                    "tau_ap": float(orders.tau_ap[first, second]),
                    "rbo": float(orders.rbo[first, second]),
                }
            )
    return records if runs is None else records + _of_lists(_overlap(comparison, runs, depth))


def _overlap(comparison: Comparison, runs: Sequence[Run], depth: int) -> Overlap:
    compared = comparison.measures[0]
    ranking = PLAIN
    if compared.signature is not None:
        ranking = compared.signature.conventions.ranking()._replace(depth=None, judged_only=False)
    return overlap_of_runs(
        runs, names=comparison.runs, depth=depth, p=PERSISTENCE, ranking=ranking, qids=list(compared.qids)
    )


def _of_lists(overlap: Overlap) -> list[Record]:
    return [
        {
            "kind": "runs",
            "first": overlap.runs[first],
            "second": overlap.runs[second],
            "tau": float(overlap.tau[first, second]),
            "tau_ap": float(overlap.tau_ap[first, second]),
            "rbo": float(overlap.rbo[first, second]),
            "shared": float(overlap.shared[first, second]),
            "queries": overlap.queries,
        }
        for first, second in itertools.combinations(range(len(overlap.runs)), 2)
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
