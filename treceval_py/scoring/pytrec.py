"""A drop-in replacement for pytrec_eval: same names, arguments, keys and values, so only an import changes.

>>> import treceval_py as pytrec_eval
>>> evaluator = pytrec_eval.RelevanceEvaluator({"q1": {"d1": 1}}, {"map", "ndcg_cut.10"})
>>> evaluator.evaluate({"q1": {"d1": 1.0}})
{'q1': {'map': 1.0, 'ndcg_cut_10': 1.0}}

Errors belong both to the class that pytrec_eval raises and to ours. docs/coming-from/pytrec_eval.md lists differences.
"""

from __future__ import annotations

import math
import typing
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from treceval_py.data.ids import encode, quoted
from treceval_py.data.qrels import Qrels
from treceval_py.errors import DataError, DataTypeError, MeasureError, MeasureTypeError, RepeatedPairError, listed
from treceval_py.judging.judged import JudgedRun
from treceval_py.judging.locating import judge
from treceval_py.measuring import FAMILIES, NICKNAMES, Family, Measure, in_print_order
from treceval_py.measuring.registry import GEOMETRIC, MEAN, SUM, TEXT
from treceval_py.scoring.profiles import PROFILES

_PROFILE = PROFILES["pytrec_eval"]

supported_nicknames: dict[str, set[str]] = {
    name: set(members) - _PROFILE.leaves_out for name, members in NICKNAMES.items()
}
"""pytrec_eval's names for groups of measures. Both packages refuse ``prefs``, ``all_prefs`` and ``qrels_jg``."""

supported_measures: set[str] = set(supported_nicknames["all_trec"])
"""pytrec_eval's measures. `RelevanceEvaluator` also computes every other measure based on relevance judgments."""

Number = TypeVar("Number", int, float)


class RelevanceEvaluator:
    """Score runs against one set of judgments; a drop-in replacement for pytrec_eval's class.

    Parameters
    ----------
    query_relevance : dict of dict
        ``{qid: {docid: rel}}``; rel is an int.
    measures : iterable of str
        Names of measures: ``"map"``, ``"ndcg_cut.5,10"``, ``"ndcg_cut_10"``, ``"official"``, or names in ir_measures'
        notation.
    relevance_level : int
        Lowest relevant judgment, 1 or higher.
    judged_docs_only_flag : bool
        Remove unjudged documents from the ranking first.

    Raises
    ------
    DataError
        The judgments are not ``{qid: {docid: rel}}``, an id is not text, or a judgment is not an integer. Also a
        TypeError, as in pytrec_eval.
    MeasureError
        A measure is unknown or malformed, or needs other judgments. Also a ValueError, as in pytrec_eval; and a
        TypeError if a measure is not text or the level is not a whole number above 0.

    Notes
    -----
    As in pytrec_eval: scores are compared as float32, ties go to the larger id, only queries that are both judged and
    in the run are scored, ``gm_map`` and ``gm_bpref`` are logarithms, and ``runid`` and ``relstring`` are 0.0.
    Errors of pytrec_eval are not reproduced: NaN scores are refused, a query that retrieves nothing keeps its
    ``num_rel``, labels may exceed 32 bits, and ``P_0`` and ``map_5`` are refused. A plain ``"map"``, outside a set, is
    one measure.
    """

    def __init__(
        self,
        query_relevance: Mapping[str, Mapping[str, int]],
        measures: Iterable[str],
        relevance_level: int = 1,
        judged_docs_only_flag: bool = False,
    ) -> None:
        if not isinstance(query_relevance, Mapping):
            raise DataTypeError(f"judgments of type {type(query_relevance).__name__}", _JUDGMENTS)
        asked = in_print_order(_parsed(measures))
        for measure in asked:
            if not takes_qrels(measure.family):
                unsupported = f"unsupported measure {measure}: it is not computed from relevance judgments"
                raise MeasureError(unsupported, "Use te.evaluate with the judgments that it needs.")
            if ("judged_only", True) in measure.parameters:
                todo = "Give judged_docs_only_flag=True, or use te.evaluate."
                raise MeasureError(f"unsupported measure {measure}", todo)
        if not isinstance(relevance_level, (int, np.integer)) or relevance_level < 1:
            unsupported = f"relevance_level must be a whole number from 1 on, not {relevance_level!r}"
            raise MeasureTypeError(unsupported, "For level 0 use te.evaluate(…, level=0).")
        self._qrels = _typed(Qrels, query_relevance)
        defaults = {"level": int(relevance_level), "max_rel": self._qrels.max_rel, **_PROFILE.defaults}
        self._measures = [(_key(measure), measure.with_defaults(defaults)) for measure in asked]
        self._judged_only = bool(judged_docs_only_flag)

    def __repr__(self) -> str:
        return f"<RelevanceEvaluator of {len(self._qrels):,} queries: {listed(key for key, _ in self._measures)}>"

    def evaluate(self, scores: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
        """Score a run.

        Parameters
        ----------
        scores : dict of dict
            ``{qid: {docid: score}}``; more is better.

        Returns
        -------
        dict of dict
            ``{qid: {measure: value}}`` for queries that are both judged and in the run, in the order of the run. Values
            are plain floats; keys are trec_eval's printed names (``ndcg_cut_10``).

        Raises
        ------
        DataError
            The run is not ``{qid: {docid: score}}``, an id is not text, or a score is not a number. Also a TypeError,
            as in pytrec_eval.
        """
        if scores is None:
            return {}
        width = _PROFILE.conventions.score_type
        # A query without documents is answered, as in the package. To `judge` it is missing.
        rows_given = scores.values() if isinstance(scores, Mapping) else ()
        bare = any(isinstance(row, Mapping) and not row for row in rows_given)
        judged = _typed(judge, self._qrels, scores, complete=bare, judged_only=self._judged_only, score_type=width)
        columns: dict[str, list[float]] = {}
        for key, measure in self._measures:
            values = np.zeros(judged.num_queries) if measure.family.kind == TEXT else measure(judged)
            columns[key] = measure.family.average.store(np.asarray(values, dtype=np.float64)).tolist()
        rows = {qid: row for row, qid in enumerate(judged.qids)}
        return {qid: {key: column[rows[qid]] for key, column in columns.items()} for qid in scores if qid in rows}


def compute_aggregated_measure(measure: str, values: Sequence[float]) -> float:
    """Average per-query values as trec_eval does: a mean, a sum of counts, or exp of the mean of logarithms.

    Parameters
    ----------
    measure : str
        Any name. Names of counts begin with ``num_``, names of geometric means with ``gm_``.
    values : sequence of float, length Q
        The values that `RelevanceEvaluator.evaluate` returned.

    Returns
    -------
    float
        The average. Without values: NaN, or 0 for a count.

    Raises
    ------
    DataError
        The values are not numbers. Also a TypeError.

    Examples
    --------
    >>> compute_aggregated_measure("num_rel", [2.0, 1.0]), compute_aggregated_measure("map", [0.5, 0.25])
    (3.0, 0.375)
    """
    average = SUM if measure.startswith("num_") else GEOMETRIC if measure.startswith("gm_") else MEAN
    try:
        column = np.array([float(value) for value in values], dtype=np.float64)
    except (TypeError, ValueError):
        raise DataTypeError(f"values of type {type(values).__name__}", "Give a list of numbers.") from None
    if not len(column):
        return 0.0 if average is SUM else math.nan
    return average.finish(float(np.add.accumulate(column)[-1]), len(column))


def parse_run(f_run: Iterable[str]) -> dict[str, dict[str, float]]:
    """Read a run from its lines, ``query Q0 document rank score tag``.

    Parameters
    ----------
    f_run : iterable of str
        The lines, such as an open file.

    Returns
    -------
    defaultdict
        ``{qid: {docid: score}}``.

    Raises
    ------
    DataError
        A line does not have six fields, or a score is not a number. Also a ValueError, as in pytrec_eval; and an
        AssertionError if a document occurs twice in a query.

    Examples
    --------
    >>> parse_run(["q1 Q0 d1 1 12.5 tag"])["q1"]
    {'d1': 12.5}
    """
    return _pairs(f_run, "query Q0 document rank score tag", 4, float)


def parse_qrel(f_qrel: Iterable[str]) -> dict[str, dict[str, int]]:
    """Read judgments from their lines, ``query 0 document label``.

    Parameters
    ----------
    f_qrel : iterable of str
        The lines, such as an open file.

    Returns
    -------
    defaultdict
        ``{qid: {docid: rel}}``.

    Raises
    ------
    DataError
        A line does not have four fields, or a label is not a whole number. Also a ValueError, as in pytrec_eval; and an
        AssertionError if a document is judged twice for a query.

    Examples
    --------
    >>> parse_qrel(["q1 0 d1 1"])["q1"]
    {'d1': 1}
    """
    return _pairs(f_qrel, "query 0 document label", 3, int)


_JUDGMENTS = "Give a dictionary {qid: {docid: rel}}."


def _pairs(lines: Iterable[str], form: str, at: int, read: Callable[[str], Number]) -> dict[str, dict[str, Number]]:
    """Parse lines into numbers by query and document."""
    pairs: dict[str, dict[str, Number]] = defaultdict(dict)
    width = len(form.split())
    if isinstance(lines, str):
        raise DataError("text in place of lines", "Give an open file, or text.splitlines().")
    for number, line in enumerate(lines, 1):
        fields = line.split()
        if len(fields) != width:
            raise DataError(f"line {number} has {len(fields)} fields instead of {width}", f"Write {form}.")
        try:
            value = read(fields[at])
        except ValueError:
            fault = "is not a number" if read is float else "is not a whole number"
            text = quoted(encode(fields[at]))
            raise DataError(f"line {number}: the {form.split()[at]} {text} {fault}") from None
        if fields[2] in pairs[fields[0]]:
            qid, docid = quoted(encode(fields[0])), quoted(encode(fields[2]))
            problem = f"line {number}: document {docid} occurs twice in query {qid}"
            raise RepeatedPairError(problem, "Keep one of the lines.")
        pairs[fields[0]][fields[2]] = value
    return pairs


def takes_qrels(family: Family) -> bool:
    """Return whether a family can be computed from relevance judgments."""
    return family.judged is JudgedRun or JudgedRun in typing.get_args(family.judged)


def _parsed(measures: Iterable[str]) -> list[Measure]:
    """Return the measures. Names that are not text raise a TypeError."""
    if not isinstance(measures, (str, Measure)):
        if not isinstance(measures, Iterable):
            raise MeasureTypeError(f"measures of type {type(measures).__name__}", "Give names, such as {'map'}.")
        if isinstance(measures, Mapping) and any(isinstance(value, Mapping) for value in measures.values()):
            todo = "Give judgments, then measures; the run goes to evaluate(run)."
            raise MeasureTypeError("measures are names, not judgments or a run", todo)
        measures = tuple([_dotted(name) if isinstance(name, str) else name for name in measures])
    try:
        return _PROFILE.parse(measures)
    except MeasureError as error:
        if all(isinstance(name, str) for name in measures):
            raise
        raise MeasureTypeError(error.what, error.todo) from None


def _dotted(name: str) -> str:
    """Return ``P.5`` for ``P_5``: in pytrec_eval, both replace the default cutoffs of ``P``."""
    family, _, cutoffs = name.rpartition("_")
    cut = family in supported_measures and FAMILIES[family].at is not None
    return f"{family}.{cutoffs}" if cut else name


Made = TypeVar("Made")


def _typed(make: Callable[..., Made], *given: Any, **options: Any) -> Made:
    """Return the object made of what was given. Refused data raise a TypeError, as in pytrec_eval."""
    try:
        return make(*given, **options)
    except DataTypeError:
        raise
    except DataError as error:
        raise DataTypeError(error.what, error.todo) from None


def _key(measure: Measure) -> str:
    """Return pytrec_eval's key, which includes cutoffs but no other parameters."""
    at = measure.family.at
    if any(name != (at.name if at else None) for name, _ in measure.parameters) and measure.family.tail is None:
        return measure.line_name
    return Measure(measure.family, tuple(pair for pair in measure.parameters if at and pair[0] == at.name)).line_name
