"""Compute several measures in a single pass of the compiled scanner, for callers that score many runs.

Measures are defined by their functions. The most common ones only add up a value per judged document and divide the
sum. For these, the scanner makes the same additions in the same order, so that every bit of a value is the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from treceval_py._types import AnyArray, FloatArray, IntArray
from treceval_py.errors import TrecevalError
from treceval_py.judging.judged import JudgedRun
from treceval_py.measures import counts, gains, precision
from treceval_py.measures.registry import MEAN, SUM, Function, Measure
from treceval_py.scan import scanner

COUNT, ANY, FIRST, PRECISIONS, GAINS = range(5)
"""What is added up, by the scanner's numbers."""

TAKEN = {"level", "cutoff", "gain", "discount", "base"}
"""Parameters that the scanner's sums support; the others must have their function's default."""

MOST_LABELS = 64
"""Number of discounted gains kept per rank."""

NO_LAST_RANK = 1 << 62

Parameters = Mapping[str, Any]
Divisor = Callable[[JudgedRun, Parameters], "FloatArray | IntArray | float"]


class _Form(NamedTuple):
    """The sum and the divisor of a measure."""

    kind: int
    divisor: Divisor = lambda _, __: 1.0


def _relevant(run: JudgedRun, given: Parameters) -> IntArray:
    return run.num_rel(given["level"])


def _cutoff(_: JudgedRun, given: Parameters) -> float:
    return float(given["cutoff"])


def _best(run: JudgedRun, given: Parameters) -> IntArray:
    return np.minimum(run.num_rel(given["level"]), given["cutoff"])


def _ideal(run: JudgedRun, given: Parameters) -> FloatArray:
    return gains.gain_of_ideal(run, None, given["gain"], given.get("cutoff"), _discount(given))


def _discount(given: Parameters) -> gains.Discount:
    return gains.discount_named(given["discount"], given["base"])


_FORMS: dict[Function, _Form] = {
    counts.number_relevant_retrieved: _Form(COUNT),
    precision.precision: _Form(COUNT, _cutoff),
    precision.recall: _Form(COUNT, _relevant),
    precision.relative_precision: _Form(COUNT, _best),
    precision.capped_recall: _Form(COUNT, _best),
    precision.success: _Form(ANY),
    precision.reciprocal_rank: _Form(FIRST),
    precision.reciprocal_rank_at: _Form(FIRST),
    precision.average_precision: _Form(PRECISIONS, _relevant),
    precision.average_precision_at: _Form(PRECISIONS, _relevant),
    gains.discounted_cumulated_gain: _Form(GAINS),
    gains.normalized_discounted_cumulated_gain: _Form(GAINS, _ideal),
    gains.normalized_discounted_cumulated_gain_at: _Form(GAINS, _ideal),
}


class Together:
    """The measures of a plan that are computed together.

    Parameters
    ----------
    measures : sequence of Measure, length M
        The measures of the plan, with all their parameters.
    highest : int
        The highest judgment.

    Attributes
    ----------
    numbers : list of int, length N
        The numbers of the measures that are computed together.
    """

    def __init__(self, measures: Sequence[Measure], highest: int) -> None:
        self._compiled: Any = scanner()
        self._given = (tuple(measures), highest)
        self.numbers: list[int] = []
        self._measures: list[tuple[Measure, Parameters]] = []
        if self._compiled is None or highest >= MOST_LABELS:
            measures, highest = [], 0
        tables, sums = [np.zeros((highest + 1, gains.TABLE))], []
        for number, measure in enumerate(measures):
            form, given = _FORMS.get(measure.family.function), _parameters(measure)
            if form is None or given is None:
                continue
            table = 0
            if form.kind == GAINS:
                try:
                    tables.append(gains.discounted(highest, given["gain"], _discount(given)))
                except TrecevalError:
                    continue  # the measure itself reports what is wrong
                table = len(tables) - 1
            sums.append((form.kind, max(given.get("level", 0), 0), given.get("cutoff", NO_LAST_RANK), table))
            self.numbers.append(number)
            self._measures.append((measure, given))
        self._sums = np.array(sums, dtype=np.int64).reshape(-1, 4)
        self._tables = np.array(tables)
        # Values that are added unchanged; other averages are left to the measure.
        averages = [measure.family.average for measure, _ in self._measures]
        self._left = [at for at, average in enumerate(averages) if average not in (MEAN, SUM)]
        self._means = np.array([average == MEAN for average in averages], dtype=np.int64)
        self._key = " ".join(["together", *(measure.notation for measure, _ in self._measures)])

    def __reduce__(self) -> tuple[object, ...]:
        return (Together, self._given)

    def __call__(self, run: JudgedRun) -> tuple[FloatArray, FloatArray] | None:
        """Compute the values (Q, N) and averages (N) of a judged run; None if the functions must compute them."""
        if not run.num_queries or not self.numbers:
            return None
        divisors = run.known(self._key, lambda: self._divisors(run))
        return self.averaged(self._compiled.add_up(*run.hits, self._sums, self._tables, divisors, self._means))

    def prepared(self, known: Mapping[Any, Any], tasks: int) -> tuple[Any, tuple[AnyArray, ...]] | None:
        """Return the scanner and its sums, if they cover every task and an earlier run cached them; else None."""
        divisors = known.get(self._key) if 0 < tasks == len(self.numbers) else None
        return None if divisors is None else (self._compiled, (self._sums, self._tables, divisors, self._means))

    def averaged(self, found: tuple[FloatArray, FloatArray] | None) -> tuple[FloatArray, FloatArray] | None:
        """Complete values and averages by the averages that are neither a mean nor a sum."""
        if found is not None and self._left:
            values, averages = found
            for at in self._left:
                averages[at] = self._measures[at][0].family.average(values[:, at], len(values))
        return found

    def _divisors(self, run: JudgedRun) -> FloatArray:
        divisors = np.empty((len(self._measures), run.num_queries))
        for row, (measure, given) in enumerate(self._measures):
            divisors[row] = _FORMS[measure.family.function].divisor(run, given)
        return divisors


def _parameters(measure: Measure) -> Parameters | None:
    """Return all parameters of a measure; None if one is set that the scanner's sums lack."""
    signature = inspect.signature(measure.family.function).parameters
    given = dict(measure.parameters)
    if any(name not in TAKEN and value != signature[name].default for name, value in given.items()):
        return None
    usual = {name: each.default for name, each in signature.items() if each.default is not inspect.Parameter.empty}
    return {**usual, **given}
