"""The runs of a board in groups of queries: their means, and their ranks within each group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from treceval_py.comparing.scores import Aligned
from treceval_py.data.query_groups import QueryGroups
from treceval_py.measuring import Measure

DIGITS = 12
"""Significant digits of a mean that do not depend on the order in which values are added."""


class BoardGroup(NamedTuple):
    """The runs of a board in one group of queries.

    Attributes
    ----------
    attribute : str
        The attribute that defines the groups.
    label : str
        The group.
    queries : tuple of int, length M
        Number of its queries that each measure is averaged over, 0 or more.
    means : tuple of tuple of float, length S
        For each run, in the order of the board, the average of each measure (M,); NaN without a query.
    ranks : tuple of int or None, length S
        The rank of each run by the first measure in this group; runs with equal means share one. None without a query.
    """

    attribute: str
    label: str
    queries: tuple[int, ...]
    means: tuple[tuple[float, ...], ...]
    ranks: tuple[int | None, ...]


def board_groups(
    groups: Sequence[QueryGroups], measures: Sequence[Measure], columns: Sequence[Aligned], order: Sequence[int]
) -> tuple[BoardGroup, ...]:
    """Return the runs in each group.

    Parameters
    ----------
    groups : sequence of QueryGroups
        The groups by each attribute.
    measures : sequence of Measure, length M
        The measures.
    columns : sequence of Aligned, length M
        Their values.
    order : sequence of int, length S
        The numbers of the runs in the order of the board.
    """
    ranked = []
    for grouping in groups:
        rows = [grouping.members(column.qids) for column in columns]
        for label in grouping.labels:
            parts = [column.values[order][:, of[label]] for column, of in zip(columns, rows, strict=True)]
            means = [
                [measure.family.average(row, len(row)) if len(row) else float("nan") for row in part]
                for measure, part in zip(measures, parts, strict=True)
            ]
            sizes = tuple(part.shape[1] for part in parts)
            by_run = tuple(zip(*means, strict=True))
            ranked.append(BoardGroup(grouping.attribute, label, sizes, by_run, _ranks(means[0])))
    return tuple(ranked)


def _ranks(means: Sequence[float]) -> tuple[int | None, ...]:
    rounded = np.array([float(f"{mean:.{DIGITS}g}") for mean in means])
    return tuple(None if math.isnan(mean) else 1 + int((rounded > mean).sum()) for mean in rounded.tolist())
