"""Similarity of the runs of a report: rank-biased overlap of their lists, and an order with similar runs adjacent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treceval_py._types import FloatArray
from treceval_py.comparing.agreement import rbo_of_lists

if TYPE_CHECKING:
    from treceval_py.reporting.documents import Rankings

PERSISTENCE = 0.9
"""The p of RBO: the first ten ranks have 86 % of the weight (Webber, Moffat, Zobel, TOIS 2010)."""


def overlap_of(rankings: Rankings, qids: Sequence[str]) -> dict[str, Any] | None:
    """Return the overlap of each pair of runs as in `report_payload`, over the queries for which all have lists."""
    compared = set(qids)
    rows = [row for row, qid in enumerate(rankings.qids) if qid in compared and rankings.deep[row]]
    rows = [row for row in rows if all(run.judged.num_ret[row] for run in rankings.runs)]
    if not rows or not rankings.first or len(rankings.runs) < 2:
        return None
    total = np.zeros((len(rankings.runs), len(rankings.runs)))
    for row in rows:
        total += rbo_of_lists(np.stack([run.firsts[row, : rankings.first] for run in rankings.runs]), PERSISTENCE)
    mean = total / len(rows)
    return {
        "rbo": np.round(mean, 3).tolist(),
        "order": _alike(mean),
        "depth": rankings.first,
        "p": PERSISTENCE,
        "queries": len(rows),
    }


def _alike(similarity: FloatArray) -> list[int]:
    """Return an order of the runs with similar ones adjacent: the leaves of average linkage.

    References
    ----------
    Sokal, R. R., Michener, C. D. A Statistical Method for Evaluating Systematic Relationships. University of Kansas
    Science Bulletin 38, 1958.
    """
    near = similarity.copy()
    np.fill_diagonal(near, -np.inf)
    leaves = [[number] for number in range(len(near))]
    for _ in range(len(near) - 1):
        one, other = sorted(divmod(int(near.argmax()), len(near)))
        size, more = len(leaves[one]), len(leaves[other])
        mean = (near[one] * size + near[other] * more) / (size + more)
        near[one], near[:, one] = mean, mean
        near[one, one] = near[other] = near[:, other] = -np.inf
        # The more similar ends are joined.
        left, right = leaves[one], leaves[other]
        turned = [(left, right), (left[::-1], right), (left, right[::-1]), (left[::-1], right[::-1])]
        first, second = max(turned, key=lambda pair: similarity[pair[0][-1], pair[1][0]])
        leaves[one] = first + second
    return leaves[0]
