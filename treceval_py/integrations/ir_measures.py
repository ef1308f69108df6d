"""A provider for ir_measures, so that its functions, and PyTerrier's Experiment, compute measures with this package.

>>> import ir_measures
>>> from ir_measures import AP, nDCG
>>> from treceval_py.integrations.ir_measures import measure, provide
>>> treceval = provide()
>>> qrels, run = {"q1": {"d1": 1, "d2": 2}}, {"q1": {"d1": 2.0, "d2": 1.0}}
>>> {str(each): round(value, 4) for each, value in ir_measures.calc_aggregate([nDCG @ 10], qrels, run).items()}
{'nDCG@10': 0.8597}
>>> ir_measures.calc_aggregate([measure("R_cap@1")], qrels, run)
{R_cap@1: 1.0}
>>> withdraw()
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import ir_measures
import numpy as np
from ir_measures import providers
from ir_measures.measures import registry
from ir_measures.measures.base import Agg
from ir_measures.measures.base import Measure as TheirMeasure
from ir_measures.util import Metric, QrelsConverter, RunConverter

from treceval_py.data.groups import JudgmentGroups
from treceval_py.errors import MeasureError
from treceval_py.judging.judged import JudgedGroups
from treceval_py.measuring import Measure, parse_measures
from treceval_py.scoring.evaluation import Evaluator
from treceval_py.scoring.planning import Scoring
from treceval_py.scoring.profiles import Profile, profile_of

NAME = "treceval_py"


def provide(profile: str | Profile = "ir_measures") -> TrecevalProvider:
    """Register this package as a provider for ``ir_measures.calc_aggregate``, ``iter_calc`` and ``evaluator``.

    ir_measures' own providers still compute measures that this package lacks. Another call replaces the profile.

    Parameters
    ----------
    profile : str or Profile
        The ranking and averaging conventions, and the meaning of measure names. Default: those of ir_measures, so that
        values do not change.

    Returns
    -------
    TrecevalProvider
        The provider. It has the same functions, and is also registered under the name ``treceval_py``.

    Raises
    ------
    MeasureError
        The profile does not exist.
    """
    provider = TrecevalProvider(profile)
    withdraw()
    providers.register(provider)
    ir_measures.DefaultPipeline.providers.insert(0, provider)
    return provider


def withdraw() -> None:
    """Undo `provide`, so that ir_measures computes with its own providers again."""
    providers.registry.pop(NAME, None)
    chain = ir_measures.DefaultPipeline.providers
    chain[:] = [each for each in chain if not isinstance(each, TrecevalProvider)]


def measure(name: str) -> TheirMeasure:
    """Return a measure of this package as an object of ir_measures, which only the provider computes.

    Parameters
    ----------
    name : str
        A name of a single measure, in any notation.

    Raises
    ------
    MeasureError
        The name is unknown or malformed, stands for several measures, or its measure has no per-query values.

    Examples
    --------
    >>> measure("R_cap@10")
    R_cap@10
    """
    meant = parse_measures(name)
    if len(meant) != 1:
        raise MeasureError(f"'{name}' stands for {len(meant)} measures", "Name one, such as P@10 instead of P.")
    if not meant[0].family.per_query:
        raise MeasureError(f"{name} has no per-query values for ir_measures to average", "Name another one.")
    return _Ours(name=meant[0].name)


_LEFT = {
    "Accuracy",  # in ir_measures, it leaves out queries without a value
    "Compat",  # in ir_measures, its depth is that of the longer of ranking and ideal
}
"""Measures with other values in ir_measures; its own providers compute them."""


class _Ours(TheirMeasure):
    """A measure of this package, by its name."""

    NAME = NAME
    SUPPORTED_PARAMS = {"name": ir_measures.ParamInfo(dtype=str, required=True, desc="the measure's name")}  # noqa: RUF012

    def __repr__(self) -> str:
        return str(self["name"])

    def aggregator(self) -> Agg:
        return _Average(parse_measures(self["name"])[0])


class _Average(Agg):
    """The average of a measure of this package: a mean, or the sum of counts."""

    def __init__(self, averaged: Measure) -> None:
        self._average = averaged.family.average
        self._values: list[float] = []

    def add(self, value: float) -> None:
        self._values.append(value)

    def result(self) -> float:
        return self._average(np.array(self._values, dtype=np.float64), len(self._values))


class TrecevalProvider(providers.Provider):
    """The provider: all measures of ir_measures that this package has, and its own measures made by `measure`.

    Parameters
    ----------
    profile : str or Profile
        As for `provide`.
    """

    NAME = NAME

    def __init__(self, profile: str | Profile = "ir_measures") -> None:
        super().__init__()
        self.profile = profile_of(profile)

    def supports(self, measure: TheirMeasure) -> bool:
        """Return whether a measure can be computed."""
        measure.validate_params()
        return _here(measure) is not None

    def _evaluator(self, measures: Iterable[TheirMeasure], qrels: Any) -> _Evaluator:
        return _Evaluator(list(measures), qrels, self.profile)

    def qrel_inputs(self, measures: Iterable[TheirMeasure]) -> list[str]:
        """Return the columns of judgments that measures need; measures of subtopics also need the iteration."""
        subtopics = any(ours.family.judged is JudgedGroups for each in measures if (ours := _here(each)) is not None)
        return ["query_id", "doc_id", "relevance", *(["iteration"] if subtopics else [])]


def _here(measure: TheirMeasure) -> Measure | None:
    """Return the equivalent of ir_measures' measure in this package, or None."""
    if isinstance(measure, _Ours):
        return parse_measures(measure["name"])[0]
    # A measure defined at runtime computes its author's function, whatever its name.
    defined = type(registry.get(measure.NAME)) is type(measure)
    graded = measure.NAME == "RBP" and "rel" not in measure.params  # in ir_measures; here it is binary
    if not defined or graded or measure.NAME in _LEFT:
        return None
    try:
        meant = parse_measures(str(measure))
    except MeasureError:
        return None
    # Names have ir_measures' meaning, so no note about other meanings is needed.
    return replace(meant[0], note="") if len(meant) == 1 else None


class _Evaluator(providers.Evaluator):
    """Judgments and measures, prepared for any number of runs."""

    def __init__(self, measures: list[TheirMeasure], qrels: Any, profile: Profile) -> None:
        converter = QrelsConverter(qrels)
        judged: dict[str, dict[str, int]] = {}
        subtopics: dict[str, dict[str, dict[str, int]]] = {}
        wanted: dict[tuple[bool, bool], list[tuple[TheirMeasure, Measure]]] = {}
        for each in measures:
            ours = _here(each)
            if ours is None:
                raise ValueError(f"unsupported measure {each}")
            kind = (ours.family.judged is JudgedGroups, ours.family.of_judgments)
            wanted.setdefault(kind, []).append((each, ours))
        if any(of_subtopics for of_subtopics, _ in wanted):
            for qrel in converter.as_namedtuple_iter():
                judged.setdefault(qrel.query_id, {})[qrel.doc_id] = qrel.relevance
                groups = subtopics.setdefault(qrel.query_id, {})
                groups.setdefault(str(getattr(qrel, "iteration", "0")), {})[qrel.doc_id] = qrel.relevance
        else:
            judged = converter.as_dict_of_dict()
        super().__init__(measures, set(judged))
        self._parts: list[tuple[list[TheirMeasure], Evaluator, bool]] = []
        for (of_subtopics, counted), pairs in wanted.items() if judged else ():
            table = JudgmentGroups.from_dict(subtopics) if of_subtopics else judged
            scoring = Scoring([ours for _, ours in pairs], profile)
            self._parts.append(([theirs for theirs, _ in pairs], Evaluator(table, scoring), counted))

    def iter_calc(self, run: Any) -> Iterator[Metric]:
        """Yield the values of the queries that count under the profile."""
        scores: Mapping[str, Mapping[str, float]] = RunConverter(run).as_dict_of_dict()
        for measures, evaluator, counted in self._parts:
            # In ir_measures, counts from judgments are 0 for queries that the run lacks.
            results = evaluator.scored(scores) if counted else evaluator.score(scores)
            lost = results.missing if counted else ()
            for number, each in enumerate(measures):
                for row in np.flatnonzero(results.counted[:, number] & results.listed).tolist():
                    if results.qids[row] not in lost:
                        yield Metric(results.qids[row], each, float(results.matrix[row, number]))
                for qid in lost:
                    yield Metric(qid, each, 0.0)
