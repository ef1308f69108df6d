"""Differences of runs in groups of queries, and whether they depend on the group.

A difference that is significant in one group and not in another need not differ between them. Showing that it does
takes a test of the interaction of runs and groups (Gelman and Stern 2006). Here it is Welch's analysis of variance of
the paired differences, with the group as the factor. The usual analysis of variance is wrong by a factor of three on
real values, whose variances differ between groups, if groups differ in size; benchmarks/README.md has the figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from treceval_py._types import FloatArray
from treceval_py.comparing.corrections import bonferroni, holm
from treceval_py.comparing.outcome import Compared, GroupDifference, Grouped, Interaction, Settings
from treceval_py.comparing.paired import of_differences, paired_t, settled, special, t_interval
from treceval_py.data.query_groups import QueryGroups

LEAST = 2
"""Fewest queries of a group in which differences are tested."""


class Welch(NamedTuple):
    """Result of Welch's analysis of variance for each pair of runs.

    Attributes
    ----------
    statistic : (P,) float array
        F.
    degrees : int
        Degrees of freedom of the groups, G - 1.
    error_degrees : (P,) float array
        Degrees of freedom of the error, not always whole.
    p : (P,) float array
        The p-value.
    """

    statistic: FloatArray
    degrees: int
    error_degrees: FloatArray
    p: FloatArray


def welch_anova(groups: Sequence[FloatArray]) -> Welch:
    """Test with Welch's analysis of variance whether the mean difference is the same in all groups.

    Parameters
    ----------
    groups : sequence of (Q, P) float arrays, length G
        The differences in each group: a row for each query and a column for each pair of runs. Groups may differ in
        size.

    Returns
    -------
    Welch
        The test of each pair. NaN if there are fewer than two groups, or if a group has fewer than two queries or
        differences that do not vary. If no differences vary and all are equal, p = 1.

    Notes
    -----
    Assumes that queries are independent and that the mean of the differences in each group is about normally
    distributed. Variances may differ. With two groups it is Welch's t-test, F = t².

    References
    ----------
    Bernard L. Welch. On the comparison of several mean values: an alternative approach. Biometrika 38(3/4), 330-336,
    1951.

    Examples
    --------
    >>> one, two = np.array([[1.0], [2.0], [3.0]]), np.array([[2.0], [4.0], [6.0]])
    >>> round(float(welch_anova([one, two]).statistic[0]), 4)  # (4 - 2)² / (1/3 + 4/3)
    2.4
    """
    differences = [settled(group) for group in groups]
    count = len(differences)
    unknown = np.full(differences[0].shape[1] if differences else 0, np.nan)
    if count < 2 or min(map(len, differences)) < LEAST:
        return Welch(unknown, max(count - 1, 0), unknown, unknown)
    sizes = np.array([[len(group)] for group in differences], dtype=np.float64)
    means = np.array([group.mean(axis=0) for group in differences])
    # A variation within rounding errors counts as none.
    varying = np.array([np.ptp(settled(group - group[0]), axis=0) > 0 for group in differences])
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = np.where(varying, sizes / np.array([group.var(axis=0, ddof=1) for group in differences]), np.nan)
        total = weights.sum(axis=0)
        between = (weights * (means - (weights * means).sum(axis=0) / total) ** 2).sum(axis=0) / (count - 1)
        spread = ((1 - weights / total) ** 2 / (sizes - 1)).sum(axis=0)
        statistic = between / (1 + 2 * (count - 2) / (count**2 - 1) * spread)
        error = (count**2 - 1) / (3 * spread)
        p = special.fdtrc(count - 1, error, statistic)
    same = ~varying.any(axis=0) & (np.ptp(settled(means - means[0]), axis=0) == 0)
    return Welch(np.where(same, 0.0, statistic), count - 1, error, np.where(same, 1.0, p))


def grouped(measures: Sequence[Compared], groups: Sequence[QueryGroups], settings: Settings) -> tuple[Grouped, ...]:
    """Compare the runs of a comparison in each group of queries.

    Parameters
    ----------
    measures : sequence of Compared
        The measures, with the pairs of runs to compare.
    groups : sequence of QueryGroups
        The groups by each attribute.
    settings : Settings
        The confidence of intervals.

    Returns
    -------
    tuple of Grouped
        For each measure, the groups of each attribute. p-values are corrected over everything returned: all within
        groups together by Bonferroni's method, so that an interval leaves out 0 exactly where p is at most alpha; and
        all interactions together by Holm's.
    """
    crossed = [_Cells(compared, grouping) for compared in measures for grouping in groups]
    within = [outcome.p for cells in crossed for outcome in cells.tested.values()]
    between = [cells.welch.p for cells in crossed]
    confidence = 1 - settings.alpha / max(int(sum(np.isfinite(p).sum() for p in within)), 1)
    adjusted, interactions = iter(_corrected(within, bonferroni)), iter(_corrected(between, holm))
    return tuple(
        Grouped(
            cells.measure,
            cells.attribute,
            tuple(cells.columns),
            tuple(map(len, cells.columns.values())),
            cells.means,
            tuple(cells.differences([next(adjusted) for _ in cells.tested], confidence)),
            tuple(cells.interactions(next(interactions))),
        )
        for cells in crossed
    )


def _corrected(parts: Sequence[FloatArray], correct: Callable[[FloatArray], FloatArray]) -> list[FloatArray]:
    """Correct p-values in several arrays together."""
    flat = correct(np.concatenate([np.empty(0), *parts]))
    return np.split(flat, np.cumsum([len(part) for part in parts])[:-1])


class _Cells:
    """The differences of the pairs of a measure in each group, with their tests."""

    def __init__(self, compared: Compared, groups: QueryGroups) -> None:
        self.measure = compared.measure
        self.attribute = groups.attribute
        self.bounds = of_differences(compared.bounds)
        self.pairs = [(difference.run, difference.other) for difference in compared.differences]
        values = {label: compared.values[:, rows] for label, rows in groups.members(compared.qids).items()}
        nothing = np.full(len(compared.values), np.nan)
        self.means = np.column_stack([chosen.mean(axis=1) if chosen.size else nothing for chosen in values.values()])
        runs, others = (list(numbers) for numbers in zip(*self.pairs, strict=True))
        self.columns = {label: settled((chosen[runs] - chosen[others]).T) for label, chosen in values.items()}
        self.tested = {label: paired_t(column) for label, column in self.columns.items() if len(column)}
        self.compared = tuple(label for label, column in self.columns.items() if len(column) >= LEAST)
        self.welch = welch_anova([self.columns[label] for label in self.compared])

    def differences(self, adjusted: Sequence[FloatArray], confidence: float) -> Iterator[GroupDifference]:
        """Yield the differences, group by group, with corrected p-values and intervals of this confidence."""
        for (label, outcome), corrected in zip(self.tested.items(), adjusted, strict=True):
            column = self.columns[label]
            low, high = (np.clip(limit, *self.bounds) for limit in t_interval(column, confidence))
            numbers = (column.mean(axis=0), low, high, outcome.statistic, outcome.p, corrected)
            for (run, other), row in zip(self.pairs, np.column_stack(numbers).tolist(), strict=True):
                yield GroupDifference(run, other, label, len(column), *row)

    def interactions(self, adjusted: FloatArray) -> Iterator[Interaction]:
        """Yield the interaction of each pair with a corrected p-value; none if there are fewer than two groups."""
        if self.welch.degrees:
            numbers = (self.welch.statistic, self.welch.error_degrees, self.welch.p, adjusted)
            for (run, other), row in zip(self.pairs, np.column_stack(numbers).tolist(), strict=True):
                f, error, p, corrected = row
                yield Interaction(run, other, self.compared, f, self.welch.degrees, error, p, corrected)
