"""Curves of a report: precision over recall, and recall over depth.

They are averages over the compared queries, ranked as for the first measure of the comparison, and computed by the
measures ``iprec_at_recall`` and ``recall`` themselves, so a point of a curve equals the number in a table of these
measures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from treceval_py._types import FloatArray
from treceval_py.data.ids import beginning_of, encode
from treceval_py.data.qrels import Qrels
from treceval_py.errors import EvaluationError
from treceval_py.judging.judged import JudgedRun
from treceval_py.measuring.probes import values
from treceval_py.scoring.conventions import Conventions
from treceval_py.scoring.planning import Plan, Scoring
from treceval_py.scoring.profiles import DEFAULT_PROFILE, PROFILES, Profile

if TYPE_CHECKING:
    from treceval_py.comparing.comparison import Comparison

RECALLS = tuple(tenth / 10 for tenth in range(11))
"""The recall levels of the curve of precision: trec_eval's eleven."""

DEPTHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""The depths of the curve of recall, as far as the longest list goes."""


class Basis(NamedTuple):
    """The ranking rules and the queries for what a report computes from runs besides the comparison.

    Attributes
    ----------
    qids : tuple of str, length Q
        The queries of the first measure.
    profile : Profile
        The profile of the first measure.
    conventions : Conventions
        Its conventions.
    level : int
        Lowest relevant judgment: that of the first measure that has one, else the profile's.
    """

    qids: tuple[str, ...]
    profile: Profile
    conventions: Conventions
    level: int

    def plan(self, names: Sequence[str], max_rel: int) -> Plan:
        """Plan measures under the profile and at the level."""
        return Scoring(names, self.profile, self.level).checked().plan(max_rel, None)


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
    """Return the ranking rules of the first measure of a comparison; if unknown, those of the default profile."""
    first = comparison.measures[0]
    signatures = [measure.signature for measure in comparison.measures if measure.signature is not None]
    levels = [dict(signature.measure.parameters).get("level") for signature in signatures]
    if first.signature is None:
        profile = PROFILES[DEFAULT_PROFILE]
        conventions = profile.conventions
    else:
        name, conventions = first.signature.profile, first.signature.conventions
        # For a user's own profile, the signature has everything needed.
        profile = PROFILES.get(name) or Profile(name, name, conventions)
    level = next((int(level) for level in levels if level is not None), profile.level)
    return Basis(first.qids, profile, conventions, level)


def curves_of(basis: Basis, qrels: Qrels, runs: Sequence[JudgedRun]) -> Curves:
    """Compute the curves of runs.

    Parameters
    ----------
    basis : Basis
        The ranking rules, and the queries to average over.
    qrels : Qrels
        The judgments.
    runs : sequence of JudgedRun, length S
        The runs with all judged queries, ranked so.

    Raises
    ------
    EvaluationError
        A query is not judged.

    References
    ----------
    Manning, C. D., Raghavan, P., Schütze, H. Introduction to Information Retrieval, section 8.4. Cambridge University
    Press 2008.
    """
    place = {qid: row for row, qid in enumerate(qrels.ideal.qids)}
    for qid in basis.qids:
        if qid not in place:
            raise EvaluationError(
                f"the compared query {beginning_of(encode(qid))} is not judged in {qrels.name}",
                "Use the judgments that the runs were scored with.",
            )
    rows = np.zeros(len(place), dtype=bool)
    rows[[place[qid] for qid in basis.qids]] = True
    runs = [run.select(rows) for run in runs]
    longest = min(max(int(run.num_ret.max(initial=0)) for run in runs), DEPTHS[-1])
    depths = (*(depth for depth in DEPTHS if depth < longest), max(longest, 1))
    names = [f"iprec_at_recall.{level:.1f}" for level in RECALLS] + [f"recall.{depth}" for depth in depths]
    measures = [task.resolved for task in basis.plan(names, qrels.max_rel).tasks]
    means = np.array([[float(values(measure, run).mean()) for measure in measures] for run in runs])
    return Curves(RECALLS, means[:, : len(RECALLS)], depths, means[:, len(RECALLS) :])
