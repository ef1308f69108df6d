"""Agreement of judges as tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from treceval_py.comparing.show.cells import shown
from treceval_py.rendering.envelope import Made, plain
from treceval_py.rendering.numbers import NONE, exactly, number, percent
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import DIGITS, Cell, Column, Document, Table, records_table

if TYPE_CHECKING:
    from treceval_py.judges.agreeing import Agreement, Estimate, PairOfJudges

Record: TypeAlias = "dict[str, Cell]"

MOST_CONFUSIONS = 3
"""Most tables of confusion shown to people: those of three judges. JSON has all."""

KAPPAS = {"kappa": "Cohen's κ", "linear": "linear κ", "quadratic": "quadratic κ", "relevant": "κ of relevant"}


def document_of(found: Agreement, style: Style, *, by_query: bool = False) -> Document:
    """Return the agreement of judges as a document; `by_query` adds each query."""
    tables = [records_table(list(_records(found, by_query=by_query))), _pairs(found), _coefficients(found, style)]
    if len(found.pairs) <= MOST_CONFUSIONS:
        tables += [_confusion(found, pair) for pair in found.pairs]
    if by_query:
        tables += [_queries(found, pair) for pair in found.pairs if pair.queries]
    if found.orders:
        tables += [_orders(found, style)]
        tables += [table for table in (_changes(found),) if table.rows]
    tables[-1] = tables[-1]._replace(
        notes=(*tables[-1].notes, *(f"Note: {note.rstrip('.')}." for note in found.notes)),
        version=f"treceval_py {found.version}",
    )
    return Document("judges", tables, lambda style: _made(found, style))


def _made(found: Agreement, style: Style) -> Made:
    payload = {
        "judges": [{"name": name, "judged": count} for name, count in zip(found.judges, found.judged, strict=True)],
        "grades": list(found.grades),
        "level": found.level,
        "settings": dict(found.settings),
        "pairs": [
            {
                **pair._asdict(),
                "first": found.judges[pair.first],
                "second": found.judges[pair.second],
                "confusion": pair.confusion.tolist(),
            }
            for pair in found.pairs
        ],
        "alpha": dict(found.alpha),
        "orders": [
            {
                **order._asdict(),
                "first": found.judges[order.first],
                "second": found.judges[order.second],
                "means": [dict(zip(found.runs, row, strict=True)) for row in order.means.tolist()],
                "flips": [[found.runs[run] for run in pair] for pair in order.flips],
                "changes": [
                    {"better": found.runs[better], "worse": found.runs[worse], "by": found.judges[judge]}
                    for better, worse, judge in order.changes
                ],
            }
            for order in found.orders
        ],
    }
    return Made(
        signatures=found.signatures,
        runs=[{"name": name, "file": None, "tag": None} for name in found.runs],
        payload=plain(payload, style.digits),
        notes=found.notes,
        version=found.version,
    )


def _records(found: Agreement, *, by_query: bool) -> Iterator[Record]:
    """Yield rows for CSV and TSV: a value on each line, with its interval, its name and its judges."""
    for pair in found.pairs:
        who: Record = {"first": found.judges[pair.first], "second": found.judges[pair.second]}
        counts = {"common": pair.common, "only_first": pair.only_first, "only_second": pair.only_second}
        for name, value in {**counts, "same": pair.same, "overlap": pair.overlap, "bias": pair.bias}.items():
            yield {"what": name, **who, "measure": "", "qid": "", "value": value, "low": None, "high": None}
        for name in KAPPAS:
            yield {"what": name, **who, "measure": "", "qid": "", **getattr(pair, name)._asdict()}
        for query in pair.queries if by_query else ():
            for name in ("common", "same", "kappa", "quadratic", "bias"):
                where: Record = {"measure": "", "qid": query.qid}
                yield {"what": name, **who, **where, "value": getattr(query, name), "low": None, "high": None}
    for level, alpha in found.alpha.items():
        yield {"what": f"alpha_{level}", "first": "", "second": "", "measure": "", "qid": "", **alpha._asdict()}
    for order in found.orders:
        who = {"first": found.judges[order.first], "second": found.judges[order.second]}
        who |= {"measure": order.measure, "qid": ""}
        yield {"what": "tau", **who, "value": order.tau, "low": None, "high": None}
        yield {"what": "tau_ap", **who, **order.tau_ap._asdict()}
        for name in ("same", "opposite", "only_first", "only_second", "neither", "swapped"):
            yield {"what": f"pairs_{name}", **who, "value": getattr(order, name), "low": None, "high": None}


def _interval(each: Estimate, style: Style) -> str:
    digits = DIGITS if style.digits is None else style.digits
    if math.isnan(each.low):
        return NONE
    return f"[{number(each.low, digits)}, {number(each.high, digits)}]"


def _words(key: str, cells: Sequence[str], title: str | None = None, **how: Any) -> Column:
    return shown(key, cells, title, text=True, **how)


def _who(found: Agreement, pairs: Sequence[Any]) -> list[Column]:
    return [
        _words("first", [found.judges[pair.first] for pair in pairs], "judge", head=True),
        _words("second", [found.judges[pair.second] for pair in pairs], "and"),
    ]


def _pairs(found: Agreement) -> Table:
    pairs = found.pairs
    columns = [
        *_who(found, pairs),
        shown("common", [pair.common for pair in pairs]),
        shown("only_first", [pair.only_first for pair in pairs], "only first"),
        shown("only_second", [pair.only_second for pair in pairs], "only second"),
        shown("same", [pair.same for pair in pairs], "same grade"),
        shown("overlap", [pair.overlap for pair in pairs]),
        shown("bias", [pair.bias for pair in pairs], signed=True),
    ]
    about = (
        "common: documents of a query that both judged. same grade: the share of these with one grade. overlap: "
        f"documents relevant (from {found.level} on) to both, of those relevant to either. bias: mean of the "
        "second's grades minus the first's."
    )
    return Table(tuple(columns), "pairs", "Do the judges agree?", notes=(about,), naming=2)


def _coefficients(found: Agreement, style: Style) -> Table:
    """Return the kappas of each pair of judges and the alphas of all, a row for each."""
    rows: list[tuple[str, str, str, Estimate]] = []
    starts = {}
    for pair in found.pairs:
        starts[len(rows)] = ""
        who = found.judges[pair.first], found.judges[pair.second]
        rows += [(*who, title, getattr(pair, name)) for name, title in KAPPAS.items()]
    starts[len(rows)] = ""
    everybody = f"all {len(found.judges)}"
    rows += [(everybody, "", f"Krippendorff's α, {level}", alpha) for level, alpha in found.alpha.items()]
    confidence = percent(found.settings["confidence"])
    columns = (
        _words("first", [row[0] for row in rows], "judge", head=True),
        _words("second", [row[1] for row in rows], "and"),
        _words("coefficient", [row[2] for row in rows]),
        shown("value", [row[3].value for row in rows]),
        shown("interval", [_interval(row[3], style) for row in rows], f"{confidence} interval", joint=", "),
    )
    notes = (
        (
            "Agreement beyond chance: 1 is complete, 0 is chance. Linear and quadratic κ: a disagreement "
            "is weighted by the distance of the grades, or its square. κ of relevant: grades from "
            f"{found.level} on against those below."
        ),
        (
            f"Intervals: {confidence}, bootstrap over queries, {found.settings['bootstrap']:,} resamples, seed "
            f"{found.settings['seed']}."
        ),
    )
    return Table(columns, "coefficients", "", "Coefficients of agreement", notes=notes, breaks=starts, naming=2)


def _confusion(found: Agreement, pair: PairOfJudges) -> Table:
    first, second = found.judges[pair.first], found.judges[pair.second]
    columns = [shown(str(grade), pair.confusion[:, at].tolist()) for at, grade in enumerate(found.grades)]
    heads = _words("grade", [str(grade) for grade in found.grades], first, head=True)
    title = f"Grades of {first} (rows) and {second} (columns)"
    return Table((heads, *columns), f"confusion-{pair.first}-{pair.second}", title)


def _queries(found: Agreement, pair: PairOfJudges) -> Table:
    # The queries in which they differ most come first.
    rows = sorted(pair.queries, key=lambda query: query.same)
    columns = [
        _words("qid", [query.qid for query in rows], "query", head=True),
        shown("common", [query.common for query in rows]),
        shown("only_first", [query.only_first for query in rows], "only first"),
        shown("only_second", [query.only_second for query in rows], "only second"),
        shown("same", [query.same for query in rows], "same grade"),
        shown("kappa", [query.kappa for query in rows], "κ"),
        shown("quadratic", [query.quadratic for query in rows], "quadratic κ"),
        shown("bias", [query.bias for query in rows], signed=True),
    ]
    title = f"{found.judges[pair.first]} and {found.judges[pair.second]}, query by query"
    notes = (f"{NONE}: κ is not defined if both judges gave all documents the same grade.",)
    return Table(tuple(columns), f"queries-{pair.first}-{pair.second}", title, notes=notes)


def _orders(found: Agreement, style: Style) -> Table:
    orders = found.orders
    columns = [
        _words("measure", [order.measure for order in orders], head=True),
        *(column._replace(head=False) for column in _who(found, orders)),
        shown("queries", [order.queries for order in orders]),
        shown("tau", [order.tau for order in orders], "Kendall τ", tex=r"Kendall $\tau$"),
        shown("tau_ap", [order.tau_ap.value for order in orders], "τ_AP", tex=r"$\tau_{AP}$"),
        shown(
            "interval",
            [_interval(order.tau_ap, style) for order in orders],
            percent(found.settings["confidence"]),
            joint=", ",
        ),
        shown("pairs_same", [order.same for order in orders], "both"),
        shown("pairs_opposite", [order.opposite for order in orders], "opposite"),
        shown("pairs_only_first", [order.only_first for order in orders], "only first"),
        shown("pairs_only_second", [order.only_second for order in orders], "only second"),
        shown("pairs_neither", [order.neither for order in orders], "neither"),
    ]
    notes = (
        (
            "τ_AP: AP correlation, which gives more weight to the best runs; the first judge's order is the truth. Its "
            "interval is that of a bootstrap over queries."
        ),
        (
            f"Pairs of runs that differ significantly (p ≤ {exactly(found.settings['alpha'])}, simultaneous over all "
            "pairs): both: by both judges, in the same direction; opposite: in opposite directions; only first, only "
            "second: by one of them."
        ),
        *(["Scored with only the judgments that all judges made."] if found.settings["common"] else ()),
    )
    title = f"Do the judges order the runs alike? ({len(found.runs)} {'run' if len(found.runs) == 1 else 'runs'})"
    return Table(tuple(columns), "orders", title, notes=notes, naming=3)


def _changes(found: Agreement) -> Table:
    """Return the pairs of runs whose verdict depends on the judge."""
    rows: list[tuple[str, str, str, str]] = []
    for order in found.orders:
        judges = [found.judges[order.first], found.judges[order.second]]
        rows += [
            (order.measure, found.runs[a], found.runs[b], f"opposite: {judges[1]} finds {found.runs[b]} better")
            for a, b in order.flips
        ]
        for better, worse, judge in order.changes:
            other = judges[1] if found.judges[judge] == judges[0] else judges[0]
            said = f"by {found.judges[judge]}, not by {other}"
            rows.append((order.measure, found.runs[better], found.runs[worse], said))
    columns = [
        _words(key, [row[at] for row in rows], title, head=at == 0)
        for at, (key, title) in enumerate(
            (("measure", "measure"), ("better", "run"), ("worse", "better than"), ("by", "significant"))
        )
    ]
    return Table(tuple(columns), "changes", "Which verdicts depend on the judge?", naming=3)
