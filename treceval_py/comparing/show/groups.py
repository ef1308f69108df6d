"""A comparison in groups of queries as tables: means, differences, and whether these differ between groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from treceval_py.comparing.show import cells
from treceval_py.comparing.show.cells import shown
from treceval_py.errors import visible
from treceval_py.io.digests import base_name, named
from treceval_py.rendering.envelope import plain
from treceval_py.rendering.numbers import NONE, exactly, number, percent
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import Table

if TYPE_CHECKING:
    from treceval_py.comparing.outcome import Grouped, Outcome
    from treceval_py.data.query_groups import QueryGroups


def group_tables(comparison: Outcome, style: Style) -> list[Table]:
    """Return the tables of groups of queries: three for people for each attribute, and two for programs.

    Parameters
    ----------
    comparison : Outcome
        The comparison.
    style : Style
        How tables are printed.
    """
    tables = []
    headings = {compared.measure: compared.heading for compared in comparison.measures}
    for groups in comparison.groups:
        parts = [
            part._replace(measure=headings[part.measure])
            for part in comparison.by_group
            if part.attribute == groups.attribute
        ]
        tables += [_means(comparison, groups, parts), _differences(comparison, groups, parts, style)]
        tables += [_interactions(comparison, groups, parts)] if any(part.interactions for part in parts) else []
    if comparison.groups:
        for name, rows in (("by_group", _records(comparison)), ("interactions", _interaction_records(comparison))):
            flat = [
                {key: " ".join(cell) if isinstance(cell, tuple) else cell for key, cell in row.items()} for row in rows
            ]
            tables += [cells.for_programs(flat, name)] if rows else []
    return tables


def _above(measures: Sequence[str]) -> dict[int, str]:
    """Return the rows with which measures begin, and these."""
    return {at: measure for at, measure in enumerate(measures) if not at or measures[at - 1] != measure}


def _means(comparison: Outcome, groups: QueryGroups, parts: list[Grouped]) -> Table:
    """Lay out means: a row for each run, a column for each measure and group."""
    columns = [shown("run", comparison.runs, text=True, head=True, tex="Run")]
    for part in parts:
        for at, (label, count) in enumerate(zip(part.labels, part.queries, strict=True)):
            means = part.means[:, at].tolist()
            title = f"{part.measure}, {label} ({count})" if len(parts) > 1 else f"{label} ({count})"
            columns.append(shown(title, means, best=cells.highest(means)))
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


def _differences(comparison: Outcome, groups: QueryGroups, parts: list[Grouped], style: Style) -> Table:
    """Lay out differences: a row for each measure, pair of runs and group."""
    rows = [
        (part.measure, one)
        for part in parts
        for pair in dict.fromkeys((one.run, one.other) for one in part.differences)
        for one in part.differences
        if (one.run, one.other) == pair
    ]
    within = [one for _, one in rows]
    columns = cells.naming(comparison, rows)
    names = len(columns) + 1
    marks = [cells.mark(one.mean, one.adjusted, comparison.settings.alpha) for one in within]
    columns += [
        shown("group", [one.group for one in within], groups.attribute, text=True),
        shown("queries", [one.queries for one in within]),
        *cells.differences(comparison, within, marks, style),
        *cells.p_values([one.p for one in within], [one.adjusted for one in within], "Bonferroni"),
    ]
    of_pairs = [(measure, one.run, one.other) for measure, one in rows]
    starts = {at: "" for at, row in enumerate(of_pairs) if not at or of_pairs[at - 1] != row}
    title = f"Differences by {groups.attribute}{cells.of_baseline(comparison, ', from ')}"
    return Table(
        tuple(columns),
        title=title,
        notes=(_about_differences(comparison),),
        caption=(f"{title}.", _about_differences(comparison)),
        breaks=starts,
        above=dict.fromkeys(starts, "") | _above([measure for measure, _ in rows]),
        naming=names,
        label=f"tab:differences-{_slug(groups)}",
        tight=True,
        folds=True,
    )


def _interactions(comparison: Outcome, groups: QueryGroups, parts: list[Grouped]) -> Table:
    """Lay out whether differences differ between groups: a row for each measure and pair of runs."""
    rows = [(part.measure, one) for part in parts for one in part.interactions]
    interactions = [one for _, one in rows]
    columns = cells.naming(comparison, rows)
    names = len(columns)
    degrees = [NONE if one.p != one.p else f"{one.degrees}, {number(one.error_degrees, 1)}" for one in interactions]
    said = {True: "yes", False: "not shown"}
    depends = [NONE if one.p != one.p else said[one.adjusted <= comparison.settings.alpha] for one in interactions]
    columns += [
        shown("f", [one.statistic for one in interactions], "F", digits=2),
        shown("degrees", degrees, "df", joint=", "),
        *cells.p_values([one.p for one in interactions], [one.adjusted for one in interactions], "Holm"),
        shown("depends", depends, text=True),
    ]
    return Table(
        tuple(columns),
        title=f"Does the difference depend on {groups.attribute}?",
        notes=(_about_interactions(comparison, groups),),
        above=_above([measure for measure, _ in rows]),
        naming=names,
        label=f"tab:interactions-{_slug(groups)}",
        tight=True,
    )


def _slug(groups: QueryGroups) -> str:
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in groups.attribute)


def _about_file(groups: QueryGroups) -> tuple[str, ...]:
    """Say where groups come from."""
    return (f"Groups: {visible(named(groups.name, groups.digest))}.",) if groups.name else ()


def _about_differences(comparison: Outcome) -> str:
    settings = comparison.settings
    p = [one.p for part in comparison.by_group for one in part.differences]
    return (
        f"{cells.ABOVE}{cells.BELOW}: significant difference in the group, paired t-test, p ≤ "
        f"{exactly(settings.alpha)}, {_over('Bonferroni', p)}. Intervals: {percent(settings.confidence)}, simultaneous "
        "over the same."
    )


def _about_interactions(comparison: Outcome, groups: QueryGroups) -> str:
    settings = comparison.settings
    p = [one.p for part in comparison.by_group for one in part.interactions]
    return (
        f"Interaction of runs and {visible(groups.attribute)}: Welch's analysis of variance of the paired differences, "
        f"p ≤ {exactly(settings.alpha)}, {_over('Holm', p)}."
    )


def group_sentences(comparison: Outcome) -> list[str]:
    """Say how runs were compared in groups; nothing if they were not."""
    said = [_about_differences(comparison)] if comparison.groups else []
    for groups in comparison.groups:
        said += [*_about_file(groups), _about_interactions(comparison, groups)]
    return said


def _over(correction: str, p: Sequence[float]) -> str:
    """Say how p-values were corrected, and how many there are."""
    count = sum(not math.isnan(value) for value in p)
    return f"{correction} over {'1 p-value' if count == 1 else f'{count} p-values'}"


# For programs ------------------------------------------------------------------------------------------


def _records(comparison: Outcome) -> list[dict[str, Any]]:
    """Return a record for each measure, attribute, group and pair of runs."""
    return [
        {
            "measure": part.measure,
            "attribute": part.attribute,
            "group": one.group,
            "queries": one.queries,
            **cells.record_of(
                comparison, one, *part.means[[one.run, one.other], part.labels.index(one.group)].tolist()
            ),
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
        }
        | dict(zip(("statistic_welch", "degrees", "error_degrees", "p_welch", "adjusted_welch"), one[3:], strict=True))
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
        "by_group": [cells.rounded(row, digits) for row in _records(comparison)],
        "interactions": _interaction_records(comparison),
    }
