"""How measures agree on the order of runs, and how the ranked lists of runs agree, as text."""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from treceval_py.comparing.agreement import Overlap, overlap_of_runs, system_orders
from treceval_py.comparing.show.latex import typeset
from treceval_py.data.ranking import PLAIN
from treceval_py.errors import EvaluationError, MeasureError, visible
from treceval_py.rendering.terminal import drawn
from treceval_py.scoring.show.tabular import json_safe
from treceval_py.scoring.show.text import escaped_markdown

if TYPE_CHECKING:
    from treceval_py.comparing.comparison import Comparison
    from treceval_py.data.run import Run

__all__ = ["AGREEMENT_FORMATS", "agreement_records", "agreement_text"]

Cell: TypeAlias = "str | float | int"
Record: TypeAlias = "dict[str, Cell]"

AGREEMENT_FORMATS = ("table", "csv", "tsv", "json", "markdown", "latex")
"""The formats in which agreement can be printed."""

PERSISTENCE = 0.9
"""Of RBO: the first ten ranks have 86 % of its weight."""

_MEANING = {
    "measure": "Kendall τ: τ-b of the runs' means. τ_AP,b: the same with more weight on the best runs; neither measure "
    f"is taken for the truth. RBO({PERSISTENCE:g}): of the runs, best first.",
    "run": "Means over the queries that all runs have. Kendall τ and τ_AP,b: of the documents in both lists. "
    f"RBO({PERSISTENCE:g}): extrapolated. shared: documents in both lists, of the longer one.",
}

_TITLES = {
    "first": "",
    "second": "",
    "tau": "Kendall τ",
    "tau_ap": "τ_AP,b",
    "rbo": f"RBO({PERSISTENCE:g})",
    "shared": "shared",
    "queries": "queries",
}


def agreement_text(
    comparison: Comparison,
    runs: Sequence[Run] | None,
    depth: int,
    format: str = "table",
    *,
    digits: int | None = None,
    colour: bool = False,
) -> str:
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
        One of `AGREEMENT_FORMATS`.
    digits : int, optional
        Decimals; by default 4 for people, all for programs.
    colour : bool
        Whether the header is bold.

    Raises
    ------
    EvaluationError
        There is nothing to say: fewer than three runs or one measure, and no lists.
    MeasureError
        The format is not one of these.
    """
    if format not in AGREEMENT_FORMATS:
        raise MeasureError(f"agreement is printed as {', '.join(AGREEMENT_FORMATS)}, not as {format}")
    orders = agreement_records(comparison, None, depth)
    overlap = None if runs is None else _overlap(comparison, runs, depth)
    lists = [] if overlap is None else _of_lists(overlap)
    if not orders and not lists:
        raise EvaluationError(
            "the agreement of measures needs three runs and two measures, and that of lists the runs themselves",
            "Give runs rather than saved results, or more of them.",
        )
    if format == "json":
        import json

        shown = [{key: _plain(cell) for key, cell in row.items()} for row in [*orders, *lists]]
        return json.dumps(shown, indent=2, ensure_ascii=False) + "\n"
    if format in ("csv", "tsv"):
        return _separated([*orders, *lists], "," if format == "csv" else "\t", digits)
    parts = []
    if orders:
        where = f"{len(comparison.runs)} runs by their means"
        parts.append(_block(f"Do measures order the runs alike? ({where})", orders, "measure", format, digits, colour))
    if overlap is not None:
        where = f"first {overlap.depth} documents, {overlap.queries} queries"
        parts.append(_block(f"Do the runs' lists agree? ({where})", lists, "run", format, digits, colour))
    return "\n".join(parts)


def agreement_records(comparison: Comparison, runs: Sequence[Run] | None, depth: int) -> list[Record]:
    """Return a record for each two measures, where there are three runs, and for each two runs, where they are given.

    Returns
    -------
    list of dict
        ``kind`` "measures" with Kendall's tau-b, tau_AP,b and rank-biased overlap of the orders of the runs, or "runs"
        with those of their lists of documents and the share of documents in both.
    """
    found: list[Record] = []
    if len(comparison.runs) > 2 and len(comparison.measures) > 1:
        orders = system_orders(comparison)
        for first, second in itertools.combinations(range(len(orders.measures)), 2):
            found.append(
                {
                    "kind": "measures",
                    "first": orders.measures[first],
                    "second": orders.measures[second],
                    "tau": float(orders.tau[first, second]),
                    "tau_ap": float(orders.tau_ap[first, second]),
                    "rbo": float(orders.rbo[first, second]),
                }
            )
    return found if runs is None else found + _of_lists(_overlap(comparison, runs, depth))


def _overlap(comparison: Comparison, runs: Sequence[Run], depth: int) -> Overlap:
    compared = comparison.measures[0]
    rules = PLAIN
    if compared.signature is not None:
        rules = compared.signature.conventions.rules()._replace(depth=None, judged_only=False)
    return overlap_of_runs(
        runs, names=comparison.runs, depth=depth, p=PERSISTENCE, rules=rules, qids=list(compared.qids)
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


def _plain(cell: Cell) -> Cell | None:
    if isinstance(cell, str):
        return json_safe(cell)
    return None if math.isnan(cell) else cell


def _separated(rows: Sequence[Record], delimiter: str, digits: int | None) -> str:
    import csv

    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    columns = list(dict.fromkeys(key for row in rows for key in row))
    writer.writerow(columns)
    writer.writerows([_text(row.get(column, ""), digits, "") for column in columns] for row in rows)
    return text.getvalue()


def _text(cell: Cell, digits: int | None, nothing: str) -> str:
    if isinstance(cell, float):
        if math.isnan(cell):
            return nothing
        return repr(cell) if digits is None else f"{cell:.{digits}f}"
    return str(cell)


def _block(
    title: str, rows: Sequence[Mapping[str, Cell]], what: str, format: str, digits: int | None, colour: bool
) -> str:
    columns = [key for key in rows[0] if key not in ("kind", "queries")]
    header = [{"first": what, "second": "and"}.get(key, _TITLES[key]) for key in columns]
    cells = [[visible(_text(row[key], 4 if digits is None else digits, "–")) for key in columns] for row in rows]
    if format == "table":
        return f"{title}\n\n{drawn(header, cells, 2, colour=colour)}\n{_MEANING[what]}\n"
    if format == "markdown":
        lines = [header, [":--", ":--", *["--:"] * (len(columns) - 2)]]
        text = "".join("| " + " | ".join(line) + " |\n" for line in lines)
        text += "".join("| " + " | ".join(map(escaped_markdown, line)) + " |\n" for line in cells)
        return f"{title}\n\n{text}\n{escaped_markdown(_MEANING[what])}\n"
    symbols = {"Kendall τ": r"Kendall $\tau$", "τ_AP,b": r"$\tau_{AP,b}$"}
    typed = [
        "% \\usepackage{booktabs}",
        "% \\usepackage[T1]{fontenc}",
        f"% {title}",
        f"% {_MEANING[what]}",
        f"\\begin{{tabular}}{{ll{'r' * (len(columns) - 2)}}}",
        "\\toprule",
    ]
    typed += [" & ".join(symbols.get(cell, typeset(cell)) for cell in header) + r" \\", "\\midrule"]
    typed += [" & ".join(map(typeset, line)) + r" \\" for line in cells]
    return "\n".join([*typed, "\\bottomrule", "\\end{tabular}", ""])
