"""User-defined measures computed query by query, from documents with ids, scores, ranks and judgments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from numbers import Real
from typing import Any

import numpy as np

from treceval_py._types import FloatArray
from treceval_py.errors import EvaluationError, MeasureError, TrecevalError, brief
from treceval_py.judging.judged import JudgedRun, RankedQuery
from treceval_py.measuring.registry import MEAN, Average, Family, declare, definition_of


def measure_by_query(
    function: Callable[..., float],
    name: str,
    *,
    notation: Iterable[str] = (),
    average: Average = MEAN,
    replace: bool = False,
) -> Family:
    """Declare a measure by a function of one query's ranking; ``NAME@k`` applies it to the first k documents.

    Parameters
    ----------
    function : callable
        Takes a `RankedQuery` (ids, scores, ranks and judgments of the retrieved documents, and all judgments of the
        query) and keyword-only parameters named as in the table of parameters of ``docs/measures.md``, such as
        ``level``; returns a number. A query that the run lacks has an empty ranking, if such queries count.
    name : str
        Its name.
    notation : iterable of str
        Its names in ir_measures' style; the first one is printed. Default: the name.
    average : Average
        How queries are averaged.
    replace : bool
        Replace your own measure of this name, as for `declare`.

    Returns
    -------
    Family
        The declared measure.

    Raises
    ------
    MeasureError
        As for `declare`. Also if the function has a parameter ``cutoff``: the ranking is cut instead.

    Examples
    --------
    >>> import treceval_py as te
    >>> def first_hit(query):
    ...     return min((rank for rank, label in zip(query.ranks, query.labels) if label), default=0)
    >>> family = te.measuring.measure_by_query(first_hit, "first_hit")
    >>> run = {"1": {"x": 3.0, "a": 2.0}}
    >>> te.evaluate({"1": {"a": 1}}, run, ["first_hit", "first_hit@1"]).to_dict()
    {'1': {'first_hit': 2.0, 'first_hit@1': 0.0}}
    """
    given = list(inspect.signature(function).parameters.values())
    if "cutoff" in [parameter.name for parameter in given[1:]]:
        problem = f"measure '{name}' has a parameter 'cutoff', but {name}@k gets the first k documents"
        raise MeasureError(problem, "Remove it.")

    @wraps(function)
    def values(run: JudgedRun, *, cutoff: int | None = None, **parameters: Any) -> FloatArray:
        if run.documents is None:
            problem = f"measure '{name}' needs all documents that were retrieved"
            raise EvaluationError(problem, "Judge the run with documents=True.")
        queries = run.documents if cutoff is None else [query.first(cutoff) for query in run.documents]
        return np.array([_value(function, name, query, parameters) for query in queries], dtype=np.float64)

    first = given[0] if given else inspect.Parameter("run", inspect.Parameter.POSITIONAL_ONLY)
    cut = inspect.Parameter("cutoff", inspect.Parameter.KEYWORD_ONLY, default=None)
    values.__signature__ = inspect.Signature([first.replace(annotation=JudgedRun), cut, *given[1:]])  # type: ignore[attr-defined]
    names = tuple(notation) or (name,)
    settings: dict[str, Any] = {"notation": names, "average": average, "needs": "documents", "replace": replace}
    family = declare(values, name, **settings)
    declare(values, f"{name}_cut", at="cutoff", cutoffs=(10,), **settings)
    return family


def _value(function: Callable[..., float], name: str, query: RankedQuery, parameters: dict[str, Any]) -> float:
    """Return the value of a query; any failure in the function becomes a one-line error."""
    where = f"measure {name}, defined by {definition_of(function)}"
    try:
        value = function(query, **parameters)
    except TrecevalError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        problem = f"{where}, failed for query '{brief(query.qid)}': {reason}"
        raise EvaluationError(problem, "Fix the function.") from error
    if not isinstance(value, (Real, np.number, np.bool_)):
        returned = f"returned {brief(repr(value))} for query '{brief(query.qid)}'"
        raise EvaluationError(f"{where}, {returned}", "Return a number.")
    return float(value)
