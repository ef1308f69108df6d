"""Abstention: how well a system's scores identify the queries that it answers well.

A system may abstain from the queries it is least confident about. Its confidence in a query is computed from the scores
of the retrieved documents, whatever their judgments. The result is one number for all queries, computed from the values
of another measure; a single query has no value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from treceval_py._types import FloatArray
from treceval_py.errors import EvaluationError
from treceval_py.judging.judged import JudgedRun
from treceval_py.measuring.notation import parse_measures
from treceval_py.measuring.parameters import PARAMETERS, Parameter, choice
from treceval_py.measuring.registry import Average, Measure

CONFIDENCES = ("max", "std", "diff1")
"""Kinds of confidence, in the order of the columns of `JudgedRun.confidence`."""

RATES = np.linspace(0.0, 1.0, 11)[:-1]
"""Shares of queries that are dropped: 0, 0.1, …, 0.9."""

FLAT = 0.9
"""Area under a curve of height 1 over these shares."""


PARAMETERS["of"] = Parameter(
    "of",
    "of",
    lambda text: measures[0] if len(measures := parse_measures(text)) == 1 else None,
    lambda measure: bool(measure and (of := measure.family).from_relevance and of.per_query and not of.needs),
    "one measure with a value for each query",
    "measure",
    "The measure whose values are averaged.",
    lambda measure: measure.notation if measure is not None else "several",
)
PARAMETERS["by"] = choice(
    "by",
    *CONFIDENCES,
    meaning="The confidence in a query: the highest score, the standard deviation of the scores, or the difference "
    "between the two highest scores.",
)


def key(text: str) -> dict[str, Any]:
    """Parse the text after ``nauc_`` in MTEB's ``nauc_ndcg_at_10_max``: a measure and a confidence."""
    of, _, by = text.rpartition("_")
    return {"of": PARAMETERS["of"].parse(of), "by": PARAMETERS["by"].parse(by)}


def normalized_area_under_abstention(run: JudgedRun, *, of: Measure | None = None, by: str = "max") -> FloatArray:  # noqa: ARG001 - of the average
    r"""Normalised area under the abstention curve (nAUC) of a measure.

    Formula
    -------
    nAUC = (A - F) / (O - F). Queries are dropped, least confident first: round(r·n) of all n, but never all, for r = 0,
    0.1, …, 0.9. A is the area, by trapezoids, under the means of a measure over the remaining queries. O is the same
    area if the queries with the lowest values are dropped first, and F = 0.9 · the mean over all queries. Queries with
    equal confidence count with their mean value.

    .. math:: \mathrm{nAUC} = \frac{A - F}{O - F}

    Parameters
    ----------
    of : Measure
        The measure whose values are averaged. Default: ``of=nDCG@10``.

    Returns
    -------
    (Q,) float array
        The values of the measure; only their nAUC is shown. It is at most 1, about 0 if confidence is uninformative,
        and NaN if all queries have the same value. Empty case: the confidence is 0.

    References
    ----------
    Gisserot-Boukhlef, H., Faysse, M., Malherbe, E., Hudelot, C., Colombo, P. Towards Trustworthy Reranking: A Simple
    yet Effective Abstention Mechanism. TMLR 2024. MTEB 2.26.24, ``nauc_ndcg_at_10_max`` and the like.

    Examples
    --------
    The query with the higher score has the worse answer. None is dropped up to r = 0.2, and the better one from 0.3 on:
    A = 0.2 · 0.5 + 0.1 · 0.25 + 0.6 · 0, O = 0.2 · 0.5 + 0.1 · 0.75 + 0.6 · 1 and F = 0.9 · 0.5. So nAUC is
    -0.325 / 0.325.

    >>> from treceval_py import Qrels
    >>> from treceval_py.judging import judge
    >>> from treceval_py.measuring import parse_measures
    >>> qrels, run = Qrels({"1": {"a": 1}, "2": {"a": 1}}), Run({"1": {"a": 0.5}, "2": {"b": 0.9}})
    >>> judged = judge(qrels, run, confidence=True)
    >>> normalized_area_under_abstention(judged, of=parse_measures("RR")[0], by="max")
    array([1., 0.])
    >>> round(ABSTENTION.over(np.array([1.0, 0.0]), judged, {"by": "max"}), 9)
    -1.0
    """
    return np.asarray((of or default_measure())(run), dtype=np.float64)


def default_measure() -> Measure:
    """Return the measure that nAUC uses by default."""
    return parse_measures("nDCG@10")[0]


def _area(values: FloatArray, order: FloatArray) -> float:
    """Return the area under the means of the remaining values (Q,) when queries are dropped in ascending order."""
    _, group, sizes = np.unique(order, return_inverse=True, return_counts=True)
    means: FloatArray = np.bincount(group, weights=values) / sizes
    ascending = np.repeat(means, sizes)
    number = len(values)
    # At least one query is left.
    dropped = [min(round(rate * number), number - 1) for rate in RATES.tolist()]
    left = np.array([ascending[first:].mean() for first in dropped])
    return float((np.diff(RATES) * (left[1:] + left[:-1]) / 2.0).sum())


def _over(values: FloatArray, run: JudgedRun, parameters: Mapping[str, Any]) -> float:
    """Return the nAUC of the values of a judged run (Q,); NaN if all are equal."""
    if run.confidence is None:
        raise EvaluationError("nAUC needs the scores of the run", "Judge the run with confidence=True.")
    if not len(values):
        return math.nan
    sure = run.confidence[:, CONFIDENCES.index(parameters.get("by", "max"))]
    area, best = _area(values, sure), _area(values, values)
    flat = FLAT * float(values.mean())
    return (area - flat) / (best - flat) if best != flat else math.nan


ABSTENTION = Average("normalised area under the abstention curve", np.asarray, lambda _, __: math.nan, _over)
"""Values alone do not determine this average."""
