"""A stand-in for pytrec_eval: the same class, arguments, keys and values, so that code changes one import.

>>> import treceval_py as pytrec_eval
>>> evaluator = pytrec_eval.RelevanceEvaluator({"q1": {"d1": 1}}, {"map", "ndcg_cut.10"})
>>> evaluator.evaluate({"q1": {"d1": 1.0}})
{'q1': {'map': 1.0, 'ndcg_cut_10': 1.0}}
"""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from treceval_py.data.qrels import Qrels
from treceval_py.judging.judged import JudgedRun
from treceval_py.judging.locating import judge
from treceval_py.measures import FAMILIES, NICKNAMES, Family, Measure, in_print_order, parse_measures
from treceval_py.measures.parameters import PARAMETERS
from treceval_py.measures.registry import TEXT
from treceval_py.scoring.profiles import PROFILES

__all__ = ["RelevanceEvaluator", "compute_aggregated_measure", "supported_measures", "supported_nicknames"]

_PROFILE = PROFILES["pytrec_eval"]


def _takes_qrels(family: Family) -> bool:
    return family.judged is JudgedRun or JudgedRun in typing.get_args(family.judged)


supported_measures: frozenset[str] = frozenset(name for name, family in FAMILIES.items() if _takes_qrels(family))
"""The measures that can be asked for, by trec_eval's names."""

supported_nicknames: Mapping[str, frozenset[str]] = {
    name: frozenset(members)
    for name, members in NICKNAMES.items()
    if all(member in supported_measures for member in members)
}
"""Names that stand for several measures."""


class RelevanceEvaluator:
    """Score runs against one set of judgments; a drop-in replacement for pytrec_eval's class.

    Parameters
    ----------
    query_relevance : dict of dict
        ``{qid: {docid: rel}}``; rel is an int.
    measures : iterable of str
        Names of measures: ``"map"``, ``"ndcg_cut.5,10"``, ``"ndcg_cut_10"``, ``"official"``, and the notation of
        ir_measures.
    relevance_level : int
        Lowest relevant judgment, 0 or higher.
    judged_docs_only_flag : bool
        Remove unjudged documents from the ranking first.

    Raises
    ------
    DataError
        An id is not text, or a judgment is not an integer.
    MeasureError
        A measure is unknown or malformed; it is a ValueError, as in pytrec_eval.

    Notes
    -----
    As pytrec_eval does: scores are compared as float32, ties go to the larger id, queries that are not in both are left
    out, values of ``gm_map`` and ``gm_bpref`` are logarithms, and ``runid`` and ``relstring`` are 0.0. Where it is
    wrong this differs: a score that is NaN is refused, and a query that retrieves nothing keeps its ``num_rel``.
    """

    def __init__(
        self,
        query_relevance: Mapping[str, Mapping[str, int]],
        measures: Iterable[str],
        relevance_level: int = 1,
        judged_docs_only_flag: bool = False,
    ) -> None:
        asked = in_print_order(parse_measures(measures, leaves_out=_PROFILE.leaves_out))
        self._qrels = Qrels({qid: judged for qid, judged in query_relevance.items() if judged})
        level = PARAMETERS["level"].check(relevance_level, "relevance_level")
        defaults = {"level": level, "max_rel": self._qrels.max_rel, **_PROFILE.defaults}
        self._measures = [(_key(measure), measure.with_defaults(defaults)) for measure in asked]
        self._judged_only = judged_docs_only_flag

    def evaluate(self, scores: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
        """Score a run.

        Parameters
        ----------
        scores : dict of dict
            ``{qid: {docid: score}}``; more is better.

        Returns
        -------
        dict of dict
            ``{qid: {measure: value}}`` for the queries that are in both, as plain floats. Keys are trec_eval's
            printed names (``ndcg_cut_10``).

        Raises
        ------
        DataError
            An id is not text, or a score is not a number.
        """
        judged = judge(
            self._qrels,
            scores,
            complete=False,
            judged_only=self._judged_only,
            score_type=_PROFILE.conventions.score_type,
        )
        columns = [(key, self._column(measure, judged)) for key, measure in self._measures]
        return {qid: {key: column[row] for key, column in columns} for row, qid in enumerate(judged.qids)}

    @staticmethod
    def _column(measure: Measure, judged: JudgedRun) -> list[float]:
        if measure.family.kind == TEXT:
            return [0.0] * judged.num_queries
        values = np.asarray(measure(judged), dtype=np.float64)
        return typing.cast("list[float]", measure.family.average.store(values).tolist())


def compute_aggregated_measure(measure: str, values: Sequence[float]) -> float:
    """Average the values of queries as trec_eval does: mean, sum of counts, or exp of the mean of logarithms.

    Parameters
    ----------
    measure : str
        A name that stands for one measure.
    values : sequence of float, length Q
        The values that `RelevanceEvaluator.evaluate` gave.
    """
    average = parse_measures(measure)[0].family.average
    return average.finish(float(np.add.accumulate(np.asarray(values, dtype=np.float64))[-1]), len(values))


def _key(measure: Measure) -> str:
    """Return pytrec_eval's key, which has cutoffs in it but no other parameters."""
    at = measure.family.at
    if any(name != (at.name if at else None) for name, _ in measure.parameters) and measure.family.tail is None:
        return measure.name
    return Measure(measure.family, tuple(pair for pair in measure.parameters if at and pair[0] == at.name)).name
