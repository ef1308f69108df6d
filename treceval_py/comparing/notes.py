"""Notes about a comparison: what was left out or forced, and which tests cannot find anything."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from treceval_py.comparing.outcome import Compared, Grouped, Settings
from treceval_py.comparing.scores import Aligned
from treceval_py.comparing.tests import RESAMPLES, SIMULTANEOUS
from treceval_py.data.ids import first_of
from treceval_py.data.query_groups import QueryGroups

FEW = 10
"""With fewer queries, a difference equal in all of them is not rare."""


FEW_IN_GROUP = 20
"""In smaller groups t-tests of real values exceed their level, up to several times (benchmarks/README.md)."""


def about_queries(columns: Sequence[Aligned], names: Sequence[str], *, scored: bool) -> list[str]:
    """Yield notes about forced comparisons, omitted queries and equal runs."""
    notes = [f"by force: {said}." for column in columns for said in column.forced]
    versions = list(dict.fromkeys(version for column in columns for version in column.versions))
    if len(versions) > 1:
        notes.append(f"the values were made by versions {', '.join(versions)} of treceval_py.")
    by_queries: dict[tuple[str, ...], list[Aligned]] = {}
    for column in columns:
        if column.left_out:
            by_queries.setdefault(column.left_out, []).append(column)
    for left_out, group in by_queries.items():
        count = len(left_out)
        are = "1 query that some runs lack is" if count == 1 else f"{count} queries that some runs lack are"
        where = "" if len(group) == len(columns) else f" of {', '.join(column.measure for column in group)}"
        notes.append(
            f"{are} left out{where} ({first_of(left_out)}): all runs are compared over the same "
            f"{'query' if len(group[0].qids) == 1 else f'{len(group[0].qids)} queries'}."
            + (" With -c (complete=True) a missing query counts as an empty ranking." if scored else "")
        )
    alike = [
        f"{names[first]} and {names[second]}"
        for first, second in itertools.combinations(range(min(len(names), 50)), 2)
        if all(np.array_equal(column.values[first], column.values[second]) for column in columns)
    ]
    if alike:
        notes.append(f"{'; '.join(alike[:5])}{'; …' if len(alike) > 5 else ''} have the same values in every query.")
    least = min(len(column.qids) for column in columns)
    if least == 1:
        notes.append("there is only one query, so nothing can be tested.")
    elif least < FEW:
        notes.append(f"there are {least} queries: tests of so few queries say little, whatever the p-values.")
    return notes


def about_tests(measures: Sequence[Compared], names: Sequence[str], settings: Settings) -> list[str]:
    """Yield notes about tests that favour the run with the lower mean."""
    cases = []
    for compared in measures:
        for pair in compared.differences:
            tested = pair.tests[settings.test]
            if tested.adjusted <= settings.alpha and tested.direction * pair.mean < 0:
                better, worse = (pair.run, pair.other) if pair.mean > 0 else (pair.other, pair.run)
                cases.append((names[better], compared.measure, names[worse]))
    if not cases:
        return []
    test = f"the {settings.test} test, which is not one of means, speaks for"
    if len(cases) == 1:
        higher, measure, lower = cases[0]
        return [f"{higher} has the higher mean of {measure}, and {test} {lower}: it is not marked."]
    some = "; ".join(f"{measure}, {higher} and {lower}" for higher, measure, lower in cases[:3])
    others = "; …" if len(cases) > 3 else ""
    return [f"in {len(cases)} comparisons {test} the run with the lower mean: they are not marked ({some}{others})."]


def about_resamples(settings: Settings, family: int) -> list[str]:
    """Yield notes about tests with too few resamples for any significance."""
    test, alpha = settings.test, settings.alpha
    factor = 1 if test == SIMULTANEOUS else family
    if test not in RESAMPLES or factor <= alpha * (settings.drawn(test) + 1):
        return []
    of, nothing, more = " of the bootstrap", "nothing", "or more"
    if test != SIMULTANEOUS:
        of, nothing, more = f" and {family:,} p-values corrected together,", "nothing drawn", "resamples or more"
    can = f"with {settings.drawn(test):,} resamples{of} {nothing} can be significant at {alpha:g}"
    return [f"{can}: that takes {math.ceil(factor / alpha):,} {more}."]


def about_groups(measures: Sequence[Compared], groups: Sequence[QueryGroups], by_group: Sequence[Grouped]) -> list[str]:
    """Yield notes about queries without a group, groups without queries, and groups that are too small."""
    every = max((compared.qids for compared in measures), key=len)
    notes = [note for grouping in groups for note in grouping.notes(every)]
    for part in by_group[: len(groups)]:
        few = [label for label, count in zip(part.labels, part.queries, strict=True) if 0 < count < FEW_IN_GROUP]
        if few:
            which, have = (f"group {few[0]}", "has") if len(few) == 1 else (f"groups {first_of(few)}", "have")
            notes.append(
                f"{which} of {part.attribute} {have} fewer than {FEW_IN_GROUP} queries: in so small a group chance "
                "makes differences significant more often than it should."
            )
    untested = [
        f"{part.measure} by {part.attribute}"
        for part in by_group
        if any(math.isnan(one.p) for one in part.interactions)
    ]
    if untested:
        notes.append(
            f"whether a difference depends on the group is not tested everywhere ({first_of(untested)}): in a group it "
            "is the same for all queries."
        )
    return notes
