"""How documents add up to the value of a query, in a form for the page's script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treceval_py.measuring.facts import Sums
from treceval_py.measuring.probes import parameter, rank_weights, shares

if TYPE_CHECKING:
    from treceval_py.reporting.documents import Rankings
    from treceval_py.scoring.planning import Task

EACH = (
    Sums.EACH, Sums.GAINS, Sums.GAINS_OF_IDEAL, Sums.POWERS,
    Sums.SHARE_OF_CUTOFF, Sums.SHARE_OF_RELEVANT, Sums.SHARE_OF_BEST,
)  # fmt: skip
"""Sums in which a document adds the gain of its grade times the weight of its rank."""

KINDS = {Sums.PRECISIONS: "precisions", Sums.FIRST: "first", Sums.ANY: "first"}
"""Sums over relevant documents, with their kind in the payload."""


def sum_of(task: Task, rankings: Rankings) -> dict[str, Any] | None:
    """Return the sum of a measure as in `report_payload`; None if documents do not add up to the value."""
    measure = task.resolved
    averaged = parameter(measure, "ties") == "average" or parameter(measure, "steps") == "together"
    if averaged or task.conventions.ranking() != rankings.ranking._replace(tied=False):
        return None
    if measure.family.sums in KINDS:
        level, cutoff = int(parameter(measure, "level", 1)), parameter(measure, "cutoff")
        if level < 1:
            return None
        return {"kind": KINDS[measure.family.sums], "level": level, "cutoff": None if cutoff is None else int(cutoff)}
    if measure.family.sums not in EACH:
        return None
    labels = np.arange(max(rankings.qrels.max_rel, 1) + 1)
    of = shares(measure, labels)
    if of.worth[0] or not of.worth.any():  # nonrelevant documents count too, or none do
        return None
    weights = rank_weights(measure, of, rankings.deepest())
    last = np.flatnonzero(weights)
    return {
        "kind": "weights",
        "gains": [float(f"{gain:.6g}") for gain in of.of(labels).tolist()],
        "weights": [float(f"{weight:.6g}") for weight in weights[: last[-1] + 1].tolist()] if len(last) else [],
    }
