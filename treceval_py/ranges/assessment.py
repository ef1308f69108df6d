"""A run's values with their ranges, under a profile."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple, Unpack, cast

import numpy as np

from treceval_py.data.ids import shown
from treceval_py.data.qrels import Qrels
from treceval_py.errors import EvaluationError, MeasureError, brief, listed
from treceval_py.judging.judged import JudgedRun
from treceval_py.measuring import Measure
from treceval_py.measuring.probes import parameter
from treceval_py.measuring.registry import TEXT
from treceval_py.ranges.ties import TieRange, tie_ranges
from treceval_py.ranges.unjudged import UnjudgedRange, unjudged_ranges
from treceval_py.scoring.evaluation import Evaluator
from treceval_py.scoring.filling import part_of, results_of, with_fixed
from treceval_py.scoring.opening import AnyJudgments, AnyRun, Opened
from treceval_py.scoring.planning import Options, Task, settled, takes_options
from treceval_py.scoring.profiles import profile_of
from treceval_py.scoring.results import Results


class Sensitivity(NamedTuple):
    """Values, and how much they depend on ties and unjudged documents.

    Attributes
    ----------
    results : Results
        The values.
    ties : dict of str to TieRange
        For each measure, by its name, the range over all orders of documents with equal scores; empty if not asked for.
    unjudged : dict of str to UnjudgedRange
        The range over all labels of the unjudged documents retrieved; empty if not asked for.
    qids : dict of str to tuple of str
        The queries of each measure, in the order of its ranges.
    """

    results: Results
    ties: dict[str, TieRange]
    unjudged: dict[str, UnjudgedRange]
    qids: dict[str, tuple[str, ...]]

    def __repr__(self) -> str:
        parts = []
        for name, value in self.results.mean.items():
            ranges = [("ties", self.ties.get(name)), ("unjudged", self.unjudged.get(name))]
            said = [f"{kind} {ends.lowest_mean:.4f} to {ends.highest_mean:.4f}" for kind, ends in ranges if ends]
            parts.append(f"{name}={value:.4f} ({'; '.join(said)})")
        return f"<Sensitivity of {brief(self.results.run_name)!r}: {listed(parts, 3, 110)}>"

    def __str__(self) -> str:
        from treceval_py.rendering import text_of

        return text_of(self, "table")

    def _repr_html_(self) -> str:
        from treceval_py.rendering import text_of

        return text_of(self, "html")


@takes_options
def assess(
    qrels: AnyJudgments,
    run: AnyRun,
    measures: str | Measure | Iterable[str | Measure] | None = None,
    *,
    ties: bool = True,
    unjudged: bool = True,
    **options: Unpack[Options],
) -> Sensitivity:
    """Score a run and return how much its values depend on the order of ties and on unjudged documents.

    Parameters
    ----------
    qrels, run, measures
        As in `evaluate`. Default measures: AP, nDCG@10, RR and P@10, or the profile's.
    ties, unjudged : bool
        Which ranges to compute.
    level, complete, depth, judged_only, collection_size, profile, signature, scoring
        As in `evaluate`.
    run_format, judgment_format, max_passage, threads
        As in `evaluate`.

    Returns
    -------
    Sensitivity
        The results, and the range of each value.

    Raises
    ------
    TrecevalError
        As in `evaluate`; also if a measure does not support ranges, or documents are not ranked by scores.

    Examples
    --------
    >>> found = assess({"1": {"a": 1, "b": 0}}, {"1": {"a": 1.0, "b": 1.0}}, ["RR"], unjudged=False)
    >>> found.ties["RR"].lowest_mean, found.ties["RR"].expected_mean, found.ties["RR"].highest_mean
    (0.5, 0.75, 1.0)
    """
    if not isinstance(ties, bool) or not isinstance(unjudged, bool):
        raise MeasureError(f"ties and unjudged must be True or False, not {shown(ties)} and {shown(unjudged)}")
    scoring, reading = settled(measures, options)
    if scoring.signatures is None and scoring.measures is None:
        scoring = replace(scoring, measures=profile_of(scoring.profile).usual_measures)
    return ranges_of(Evaluator(qrels, scoring, reading), run, ties=ties, unjudged=unjudged)


def ranges_of(evaluator: Evaluator, run: AnyRun, *, ties: bool, unjudged: bool) -> Sensitivity:
    """Score a run and compute ranges; parameters, results and errors as of `assess`."""
    judgments = evaluator.judgments
    if not isinstance(judgments, Qrels):
        raise EvaluationError("ranges need relevance judgments (qrels)", file=judgments.name)
    opened = evaluator.open(run)
    results = results_of(opened, evaluator.plan, evaluator.fingerprint)
    sensitivity = Sensitivity(results, {}, {}, {})
    for task in results.tasks:
        name = task.asked.name
        if task.resolved.family.kind == TEXT:
            continue
        if ties:
            sensitivity.qids[name], sensitivity.ties[name] = range_of_ties(opened, task)
        if unjudged:
            sensitivity.qids[name], sensitivity.unjudged[name] = range_of_labels(opened, task, judgments.max_rel)
    return sensitivity


def range_of_ties(opened: Opened, task: Task) -> tuple[tuple[str, ...], TieRange]:
    """Return the range of a measure over the orders of ties, and its queries; errors as of `assess`."""
    measure, conventions = task.resolved, task.conventions
    _check_ties(task)
    ranking = conventions.ranking(tied=True)._replace(depth=None, pooled=measure.family.needs == "pooled")
    part, fixed = part_of(opened, conventions, ranking, measure)
    (ends,) = tie_ranges(cast("JudgedRun", part), [measure], conventions.depth)
    if np.isnan(fixed).all():
        return part.qids, ends
    ends_with_fixed = [with_fixed(measure, values, fixed) for values in (ends.lowest, ends.expected, ends.highest)]
    low, middle, high = (measure.family.average(values, len(values)) for values in ends_with_fixed)
    lowest, expected, highest = ends_with_fixed
    touched = ends.touched & np.isnan(fixed)
    return part.qids, TieRange(measure, lowest, expected, highest, low, middle, high, touched)


def range_of_labels(opened: Opened, task: Task, max_rel: int) -> tuple[tuple[str, ...], UnjudgedRange]:
    """Return the range of a measure over the labels of unjudged documents, and its queries; errors as of `assess`."""
    measure, conventions = task.resolved, task.conventions
    for convention, value, changed in _BY_LABELS:
        if getattr(conventions, convention) == value:
            problem = f"--unjudged does not support the profile {task.profile}"
            problem += f": labels of unjudged documents would decide {changed}"
            raise EvaluationError(problem, "Use another profile.")
    part, fixed = part_of(opened, conventions, conventions.ranking(), measure)
    # Where no document is relevant yet, an unjudged one can still be.
    top = max(max_rel, parameter(measure, "level", 0))
    (ends,) = unjudged_ranges(cast("JudgedRun", part), [measure], int(dict(measure.parameters).get("max_rel", top)))
    if np.isnan(fixed).all():
        return part.qids, ends
    lowest, highest = (with_fixed(measure, values, fixed) for values in (ends.lowest, ends.highest))
    low, high = (measure.family.average(values, len(values)) for values in (lowest, highest))
    return part.qids, ends._replace(lowest=lowest, highest=highest, lowest_mean=low, highest_mean=high)


def _check_ties(task: Task) -> None:
    """Check that the order of ties affects only ranks."""
    conventions, fault = task.conventions, ""
    if conventions.order == "rank":
        problem = f"the profile {task.profile} ranks documents by the rank column, which has no ties"
        raise EvaluationError(problem, "Use another profile.")
    todo = "Remove the depth (-M), or use another profile."
    if conventions.judged_only:
        fault, todo = "which unjudged documents are removed", "Remove the depth (-M) or -J (judged_only)."
    elif conventions.known == "retrieved":
        fault = "which judgments are known"
    elif conventions.unrelevant != "in" and task.resolved.family.undefined_without != "relevant":
        fault = f"in which queries {task.resolved.name} has a value"
    if fault and conventions.depth is not None:
        raise EvaluationError(f"with a depth, the order of ties decides {fault}", todo)


_BY_LABELS = (
    ("ties", "worst", "the order of ties"),
    ("unrelevant", "one", "which queries count 1"),
    ("not_positive", "miss", "more than documents with a score of 0 or less can add"),
)
"""Values of conventions under which labels of unjudged documents affect more than values, and what they affect."""
