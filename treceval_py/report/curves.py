"""Curves of a report: precision over recall, and recall over depth.

They are averages over the queries that were compared, ranked as the first measure of the comparison ranks, and computed
by the measures ``iprec_at_recall`` and ``recall`` themselves, so that a point of a curve is the number that a table of
these measures has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from treceval_py._types import FloatArray
from treceval_py.data.ids import encode, shortened
from treceval_py.data.qrels import Qrels
from treceval_py.data.run import Run
from treceval_py.errors import EvaluationError
from treceval_py.scoring.conventions import Conventions
from treceval_py.scoring.evaluation import JudgedOnce
from treceval_py.scoring.planning import Plan, Scoring
from treceval_py.scoring.profiles import DEFAULT_PROFILE, PROFILES, Profile
from treceval_py.scoring.signatures import Fingerprint

if TYPE_CHECKING:
    from treceval_py.comparing.comparison import Comparison

__all__ = ["DEPTHS", "RECALLS", "Basis", "Curves", "basis_of", "curves_of"]

RECALLS = tuple(tenth / 10 for tenth in range(11))
"""The recall levels of the curve of precision: trec_eval's eleven."""

DEPTHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""The depths of the curve of recall, as far as the longest list goes."""


class Basis(NamedTuple):
    """How the runs of a comparison are ranked where something else is computed from them, and over which queries.

    Attributes
    ----------
    qids : tuple of str, length Q
        The queries of the first measure.
    profile : Profile
        The profile of the first measure.
    conventions : Conventions
        Its conventions.
    level : int
        Least judgment that counts as relevant: that of the first measure that has one, else the profile's.
    """

    qids: tuple[str, ...]
    profile: Profile
    conventions: Conventions
    level: int

    def plan(self, names: Sequence[str], max_rel: int) -> Plan:
        """Plan measures under the profile, with the depth and the documents of the first measure.

        Judged queries that a run lacks count as empty rankings: `qids` says which of them count.
        """
        plan = Scoring(names, self.profile, self.level).checked().plan(max_rel, None)
        changes = {
            "depth": self.conventions.depth,
            "judged_only": self.conventions.judged_only,
            "missing": "empty",
            "unrelevant": "in",
        }
        tasks = tuple(task._replace(conventions=task.conventions.changed(changes)) for task in plan.tasks)
        return replace(plan, tasks=tasks)


class Curves(NamedTuple):
    """Averages of each run over the queries.

    Attributes
    ----------
    recalls : tuple of float, length R
        Levels of recall, from 0 to 1.
    precision : (S, R) float array
        Interpolated precision at these.
    depths : tuple of int, length N
        Depths, from 1; the last is the length of the longest list, or 1000.
    recall : (S, N) float array
        Recall at these.
    """

    recalls: tuple[float, ...]
    precision: FloatArray
    depths: tuple[int, ...]
    recall: FloatArray


def basis_of(comparison: Comparison) -> Basis:
    """Return how the first measure of a comparison ranks; where that is not known, as the default profile does."""
    first = comparison.measures[0]
    signatures = [each.signature for each in comparison.measures if each.signature is not None]
    levels = [dict(each.measure.parameters).get("level") for each in signatures]
    if first.signature is None:
        profile = PROFILES[DEFAULT_PROFILE]
        conventions = profile.conventions
    else:
        name, conventions = first.signature.profile, first.signature.conventions
        # Of a profile of somebody's own, the signature says what is needed.
        profile = PROFILES.get(name) or Profile(name, name, conventions)
    level = next((int(level) for level in levels if level is not None), profile.level)
    return Basis(first.qids, profile, conventions, level)


def curves_of(basis: Basis, qrels: Qrels, runs: Sequence[Run]) -> Curves:
    """Compute the curves of runs.

    Parameters
    ----------
    basis : Basis
        How they are ranked, and over which queries averages are taken.
    qrels : Qrels
        The judgments.
    runs : sequence of Run, length S
        The runs.

    Raises
    ------
    EvaluationError
        A query is not judged.
    DataError
        A run is to be ranked by ranks that it has not.

    References
    ----------
    Manning, C. D., Raghavan, P., Schütze, H. Introduction to Information Retrieval, section 8.4. Cambridge University
    Press 2008.
    """
    depths = _depths(basis, runs)
    names = [f"iprec_at_recall.{level:.1f}" for level in RECALLS] + [f"recall.{depth}" for depth in depths]
    plan = basis.plan(names, qrels.max_rel)
    rows = np.array([_averages(plan, basis.qids, qrels, run) for run in runs])
    return Curves(RECALLS, rows[:, : len(RECALLS)], depths, rows[:, len(RECALLS) :])


def _averages(plan: Plan, qids: Sequence[str], qrels: Qrels, run: Run) -> FloatArray:
    """Return the averages of the measures of a plan over some queries. (M,)."""
    results = JudgedOnce(qrels, run).results(plan, Fingerprint(qrels))
    place = {qid: row for row, qid in enumerate(results.qids)}
    for qid in qids:
        if qid not in place:
            raise EvaluationError(
                f"the compared query {shortened(encode(qid))} is not judged in {qrels.name}",
                "Use the judgments that the runs were scored with.",
            )
    averages: FloatArray = results.matrix[[place[qid] for qid in qids]].mean(axis=0)
    return averages


def _depths(basis: Basis, runs: Sequence[Run]) -> tuple[int, ...]:
    """Return the depths at which recall is computed: beyond the end of the longest list it would only go on flat."""
    longest = 0
    for run in runs:
        rows = [row for qid in basis.qids if (row := run.row_of(qid)) is not None]
        longest = max(longest, int(np.diff(run.offsets)[rows].max(initial=0)))
    depth = basis.conventions.depth
    end = min(longest if depth is None else min(longest, depth), DEPTHS[-1])
    return (*(each for each in DEPTHS if each < end), max(end, 1))
