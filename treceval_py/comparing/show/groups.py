"""A comparison in groups of queries as tables: means, differences, and whether these differ between groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from treceval_py.comparing.by_group import corrections, is_simultaneous
from treceval_py.comparing.show.sentences import ABOVE, BELOW
from treceval_py.errors import visible
from treceval_py.io.digests import base_name, named
from treceval_py.rendering.envelope import plain
from treceval_py.rendering.escaping import typeset
from treceval_py.rendering.numbers import NONE, exactly, number, p_value, percent
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import DIGITS, Column, Table, records_table

if TYPE_CHECKING:
    from treceval_py.comparing.outcome import GroupDifference, Grouped, Interaction, Outcome
    from treceval_py.data.query_groups import QueryGroups

VALUES = ("mean_run", "mean_other", "difference", "low", "high")
"""The fields that a number of decimals is meant for."""


def group_tables(comparison: Outcome, paper: Outcome, runs: Sequence[int], style: Style) -> list[Table]:
    """Return the tables of groups of queries: three for people for each attribute, and two for programs.

    Parameters
    ----------
    comparison, paper : Outcome
        The comparison; and with the names that measures have in LaTeX.
    runs : sequence of int
        The runs that people see.
    style : Style
        How tables are printed.
    """
    tables = []
    shown = _Shown(
        comparison,
        runs,
        {compared.measure: named.measure for compared, named in zip(comparison.measures, paper.measures, strict=True)},
    )
    for groups in comparison.groups:
        parts = [part for part in comparison.by_group if part.attribute == groups.attribute]
        tables += [_means(shown, groups, parts), _differences(shown, groups, parts, style)]
        tables += [_interactions(shown, groups, parts)] if any(part.interactions for part in parts) else []
    if comparison.groups:
        for name, rows in (("by_group", _records(comparison)), ("interactions", _interaction_records(comparison))):
            exact = {key for row in rows[:1] for key in row if key not in VALUES}
            flat = [
                {key: " ".join(cell) if isinstance(cell, tuple) else cell for key, cell in row.items()} for row in rows
            ]
            tables += [records_table(flat, name=name, exact=exact)] if rows else []
    return tables


class _Shown(NamedTuple):
    """What people see of a comparison: all of it, or some runs; and what LaTeX calls its measures."""

    comparison: Outcome
    runs: Sequence[int]
    papers: Mapping[str, str]

    def has(self, one: GroupDifference | Interaction) -> bool:
        """Tell whether both runs of a difference are seen."""
        return one.run in self.runs and one.other in self.runs

    def above(self, measures: Sequence[str]) -> dict[int, str]:
        """Return the rows with which measures begin, and what LaTeX calls these."""
        starts = [at for at, measure in enumerate(measures) if not at or measures[at - 1] != measure]
        return {at: self.papers[measures[at]] for at in starts}


def _means(shown: _Shown, groups: QueryGroups, parts: list[Grouped]) -> Table:
    """Lay out means: a row for each run, a column for each measure and group."""
    names = [shown.comparison.runs[run] for run in shown.runs]
    columns = [Column("run", names, text=True, head=True, programs=False, tex="Run")]
    for part in parts:
        for at, (label, count) in enumerate(zip(part.labels, part.queries, strict=True)):
            every = part.means[:, at].tolist()
            means = [every[run] for run in shown.runs]
            best = [row for row, mean in enumerate(means) if mean >= max(every) - EXACT]
            best = [] if min(every) >= max(every) - EXACT else best
            title, tex = (
                f"{measure}, {label} ({count})" if len(parts) > 1 else f"{label} ({count})"
                for measure in (part.measure, shown.papers[part.measure])
            )
            columns.append(Column(title, means, programs=False, best=frozenset(best), tex=typeset(tex)))
    title = f"{parts[0].measure if len(parts) == 1 else 'Means'} by {groups.attribute} (number of queries)"
    return Table(
        tuple(columns),
        title=title,
        notes=_about_file(groups),
        caption=(f"{title}.", "Bold: highest mean of the group.", *_about_file(groups)),
        best="highest mean of the group",
        label=f"tab:means-{_slug(groups)}",
        tight=True,
    )


def _differences(shown: _Shown, groups: QueryGroups, parts: list[Grouped], style: Style) -> Table:
    """Lay out differences: a row for each measure, pair of runs and group."""
    comparison = shown.comparison
    digits = DIGITS if style.digits is None else style.digits
    rows = [
        (part, pair, one)
        for part in parts
        for pair in _pairs(part)
        for one in part.differences
        if (one.run, one.other) == pair and shown.has(one)
    ]
    correction = corrections(comparison.settings).within
    differences = [one for _, _, one in rows]
    columns = _naming(comparison, [(part.measure, pair) for part, pair, _ in rows])
    naming = len(columns) + 1
    intervals = [_interval(one, digits) for one in differences]
    marks = [_mark(one, comparison) for one in differences]
    columns += [
        Column("group", [one.group for one in differences], groups.attribute, text=True, programs=False),
        Column("queries", [one.queries for one in differences], programs=False),
        Column("difference", [one.mean for one in differences], signed=True, marks=marks, apart=True, programs=False),
        Column(
            "interval",
            intervals,
            f"{percent(comparison.settings.confidence)} {_kind(comparison)}",
            joint=", ",
            programs=False,
        ),
        Column("p", [p_value(one.p) for one in differences], programs=False, paper=correction == "none"),
    ]
    if correction != "none":
        title = f"p ({_name(correction)})"
        columns.append(Column("adjusted", [p_value(one.adjusted) for one in differences], title, programs=False))
    starts = {at: "" for at, row in enumerate(rows) if not at or rows[at - 1][:2] != row[:2]}
    title = f"Differences by {groups.attribute}{_from(comparison)}"
    return Table(
        tuple(columns),
        title=title,
        notes=(_about_differences(comparison),),
        caption=(f"{title}.", _about_differences(comparison)),
        breaks=starts,
        above=dict.fromkeys(starts, "") | shown.above([part.measure for part, _, _ in rows]),
        naming=naming,
        label=f"tab:differences-{_slug(groups)}",
        tight=True,
        folds=True,
    )


def _interactions(shown: _Shown, groups: QueryGroups, parts: list[Grouped]) -> Table:
    """Lay out whether differences differ between groups: a row for each measure and pair of runs."""
    comparison = shown.comparison
    rows = [(part.measure, one) for part in parts for one in part.interactions if shown.has(one)]
    interactions = [one for _, one in rows]
    correction = corrections(comparison.settings).between
    columns = _naming(comparison, [(measure, (one.run, one.other)) for measure, one in rows])
    naming = len(columns)
    degrees = [NONE if one.p != one.p else f"{one.degrees}, {number(one.error_degrees, 1)}" for one in interactions]
    columns += [
        Column("f", [one.statistic for one in interactions], "F", digits=2, programs=False),
        Column("degrees", degrees, "df", joint=", ", programs=False),
        Column("p", [p_value(one.p) for one in interactions], programs=False, paper=correction == "none"),
    ]
    if correction != "none":
        title = f"p ({_name(correction)})"
        columns.append(Column("adjusted", [p_value(one.adjusted) for one in interactions], title, programs=False))
    columns.append(
        Column("depends", [_depends(one, comparison) for one in interactions], "depends", text=True, programs=False)
    )
    return Table(
        tuple(columns),
        title=f"Does the difference depend on {groups.attribute}?",
        notes=(_about_interactions(comparison, groups),),
        above=shown.above([measure for measure, _ in rows]),
        naming=naming,
        label=f"tab:interactions-{_slug(groups)}",
        tight=True,
    )


EXACT = 1e-12
"""Means closer than this are equal: sums in other orders differ in their last digits."""


def _naming(comparison: Outcome, rows: list[tuple[str, tuple[int, int]]]) -> list[Column]:
    runs = comparison.runs
    columns = [
        Column("measure", [measure for measure, _ in rows], text=True, programs=False, paper=False),
        Column("run", [runs[run] for _, (run, _) in rows], text=True, head=True, programs=False, tex="Run"),
    ]
    if comparison.baseline is None:
        columns.append(Column("other", [runs[other] for _, (_, other) in rows], "minus", text=True, programs=False))
    return columns


def _pairs(grouped: Grouped) -> list[tuple[int, int]]:
    return list(dict.fromkeys((one.run, one.other) for one in grouped.differences))


def _slug(groups: QueryGroups) -> str:
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in groups.attribute)


def _from(comparison: Outcome) -> str:
    return "" if comparison.baseline is None else f", from {visible(comparison.runs[comparison.baseline])} (baseline)"


def _mark(one: GroupDifference, comparison: Outcome) -> str:
    if not one.adjusted <= comparison.settings.alpha or one.mean == 0:
        return ""
    return ABOVE if one.mean > 0 else BELOW


def _interval(one: GroupDifference, digits: int) -> str:
    if one.low != one.low:
        return NONE
    return f"[{number(one.low, digits, signed=True)}, {number(one.high, digits, signed=True)}]"


def _kind(comparison: Outcome) -> str:
    return "simultaneous" if is_simultaneous(comparison.settings) else "pointwise"


def _depends(one: Interaction, comparison: Outcome) -> str:
    return NONE if one.p != one.p else "yes" if one.adjusted <= comparison.settings.alpha else "not shown"


def _name(correction: str) -> str:
    return {"benjamini-hochberg": "BH"}.get(correction, correction.capitalize())


def _about_file(groups: QueryGroups) -> tuple[str, ...]:
    """Say where groups come from."""
    return (f"Groups: {visible(named(groups.name, groups.digest))}.",) if groups.name else ()


def _about_differences(comparison: Outcome) -> str:
    settings = comparison.settings
    p = [one.p for part in comparison.by_group for one in part.differences]
    kind = "simultaneous over the same" if is_simultaneous(settings) else "pointwise, each by itself"
    how = "BCa bootstrap, " if settings.interval == "bca" else ""
    return (
        f"{ABOVE}{BELOW}: significant difference in the group, paired t-test, p ≤ {exactly(settings.alpha)}, "
        f"{_over(corrections(settings).within, p)}. Intervals: {percent(settings.confidence)}, {how}{kind}."
    )


def _about_interactions(comparison: Outcome, groups: QueryGroups) -> str:
    settings = comparison.settings
    p = [one.p for part in comparison.by_group for one in part.interactions]
    return (
        f"Interaction of runs and {visible(groups.attribute)}: Welch's analysis of variance of the paired differences, "
        f"p ≤ {exactly(settings.alpha)}, {_over(corrections(settings).between, p)}."
    )


def group_sentences(comparison: Outcome) -> list[str]:
    """Say how runs were compared in groups; nothing if they were not."""
    about = [
        sentence
        for groups in comparison.groups
        for sentence in (*_about_file(groups), _about_interactions(comparison, groups))
    ]
    return [_about_differences(comparison), *about] if about else []


def _over(correction: str, p: Sequence[float]) -> str:
    """Say how p-values were corrected, and how many there are."""
    count = sum(not math.isnan(value) for value in p)
    values = "1 p-value" if count == 1 else f"{count} p-values"
    return f"{values}, not corrected" if correction == "none" else f"{_name(correction)} over {values}"


# For programs ------------------------------------------------------------------------------------------


def _records(comparison: Outcome) -> list[dict[str, Any]]:
    """Return a record for each measure, attribute, group and pair of runs."""
    return [
        {
            "measure": part.measure,
            "attribute": part.attribute,
            "group": one.group,
            "queries": one.queries,
            "run": comparison.runs[one.run],
            "other": comparison.runs[one.other],
            "mean_run": float(part.means[one.run, part.labels.index(one.group)]),
            "mean_other": float(part.means[one.other, part.labels.index(one.group)]),
            "difference": one.mean,
            "low": one.low,
            "high": one.high,
            "interval": _kind(comparison),
            "confidence": comparison.settings.confidence,
            "statistic_t": one.statistic,
            "p_t": one.p,
            "adjusted_t": one.adjusted,
        }
        for part in comparison.by_group
        for one in part.differences
    ]


def _interaction_records(comparison: Outcome) -> list[dict[str, Any]]:
    """Return a record for each measure, attribute and pair of runs."""
    return [
        {
            "measure": part.measure,
            "attribute": part.attribute,
            "groups": one.groups,
            "run": comparison.runs[one.run],
            "other": comparison.runs[one.other],
            "statistic_welch": one.statistic,
            "degrees": one.degrees,
            "error_degrees": one.error_degrees,
            "p_welch": one.p,
            "adjusted_welch": one.adjusted,
        }
        for part in comparison.by_group
        for one in part.interactions
    ]


def group_payload(comparison: Outcome, digits: int | None) -> dict[str, Any]:
    """Return what JSON has of groups: nothing if none were asked for."""
    if not comparison.groups:
        return {}
    return {
        "groups": [
            {
                "attribute": groups.attribute,
                "file": base_name(groups.name),
                "sha256": groups.digest,
                "labels": groups.labels,
                "of": groups.of,
            }
            for groups in comparison.groups
        ],
        "group_means": [
            {
                "measure": part.measure,
                "attribute": part.attribute,
                "group": label,
                "queries": count,
                "means": plain(dict(zip(comparison.runs, part.means[:, at].tolist(), strict=True)), digits),
            }
            for part in comparison.by_group
            for at, (label, count) in enumerate(zip(part.labels, part.queries, strict=True))
        ],
        "by_group": [
            {key: plain(value, digits) if key in VALUES else value for key, value in row.items()}
            for row in _records(comparison)
        ],
        "interactions": _interaction_records(comparison),
    }
