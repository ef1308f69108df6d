"""Evaluate: judgments, a run and measures become results."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np

from treceval_py._types import BoolArray, FloatArray, Source
from treceval_py.errors import EvaluationError, MeasureError
from treceval_py.formats.source import Watch
from treceval_py.formats.trec import JUDGMENT_FORMATS, Judgments, read_qrels, read_run
from treceval_py.judging import JudgedGroups, JudgedRun, judge, judge_groups, missing_queries
from treceval_py.measures import Measure, parse_measures
from treceval_py.measures.parameters import PARAMETERS
from treceval_py.measures.registry import TEXT
from treceval_py.preferences import JudgedPreferences, judge_preferences
from treceval_py.profiles import DEFAULT_PROFILE, Profile, profile_named
from treceval_py.ranking import RankContradictions, Rules, rank_contradictions
from treceval_py.results import Results
from treceval_py.streaming import MOST_THREADS, Retrieved, judge_file
from treceval_py.tables import DEFAULT_TAG, RUN_NAME, JudgmentGroups, Preferences, Qrels, Run, first_of

__all__ = ["DEFAULT_MEASURES", "evaluate", "load_judgments", "load_run"]

DEFAULT_MEASURES = ("official", "ndcg", "ndcg_cut.10")
"""What is computed unless something else is asked for: trec_eval's official measures, nDCG and nDCG@10."""

Judged = JudgedRun | JudgedGroups | JudgedPreferences

_KINDS: dict[type, str] = {
    Qrels: "relevance judgments (qrels)",
    JudgmentGroups: "judgments by groups (qrels_jg)",
    Preferences: "preference judgments (prefs)",
}
_NEEDS: dict[object, str] = {
    JudgedRun: _KINDS[Qrels],
    JudgedGroups: _KINDS[JudgmentGroups],
    JudgedPreferences: _KINDS[Preferences],
}


def evaluate(
    qrels: Source | Judgments | Mapping[str, Mapping[str, int]],
    run: Source | Run | Mapping[str, Mapping[str, float]],
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    *,
    level: int = 1,
    complete: bool = False,
    depth: int | None = None,
    judged_only: bool = False,
    collection_size: int = 0,
    profile: str | Profile = DEFAULT_PROFILE,
    threads: int | None = None,
    watch: Watch | None = None,
) -> Results:
    """Score a run against judgments.

    A run file is judged while it is read and never held whole; of dictionaries only the judged documents are looked up.

    Parameters
    ----------
    qrels : path, binary file, Qrels, JudgmentGroups, Preferences or dict of dict
        The judgments; a path is read as TREC qrels.
    run : path, binary file, Run or dict of dict
        The run; a path is read as a TREC run.
    measures : name, Measure, or iterable of them
        What to compute, in any notation: ``["map", "nDCG@10", "P.5,10"]``.
    level : int
        Least judgment that counts as relevant, from 0, for measures that do not say it themselves.
    complete : bool
        Whether judged queries that the run lacks count (as empty rankings). They are left out otherwise, and named in
        `Results.missing` in either case.
    depth : int, optional
        How many documents of each query count.
    judged_only : bool
        Whether documents without a judgment are taken out of the ranking first.
    collection_size : int
        Documents in the collection, for ``utility``.
    profile : str or Profile
        The conventions of ranking and averaging.
    threads : int, optional
        How many threads read a run file, from 1 to 256; by default as many as there are cores for this process.
    watch : callable, optional
        Is told, now and then while a run file is read, how many of its bytes have been read and how many there are
        (None where that is not known).

    Returns
    -------
    Results
        A value for each query and measure, and averages.

    Raises
    ------
    InputError
        A file cannot be read or a line of it is malformed.
    DataError
        Dictionaries are no judgments or no run.
    MeasureError
        A measure is unknown, or a parameter out of range.
    EvaluationError
        No query is in both (and `complete` is not set), or a measure needs another kind of judgments.

    Examples
    --------
    >>> results = evaluate({"1": {"a": 1, "b": 0}}, {"1": {"b": 0.9, "a": 0.5}}, ["map", "recip_rank"])
    >>> results["1"]["map"], results.mean["recip_rank"]
    (0.5, 0.5)
    """
    if depth is not None and depth < 0:
        raise MeasureError(f"depth must be 0 or more, not {depth}")
    if threads is not None and not 1 <= threads <= MOST_THREADS:
        raise MeasureError(f"threads must be 1 to {MOST_THREADS}, not {threads}")
    rules = profile_named(profile) if isinstance(profile, str) else profile
    asked = parse_measures(measures, leaves_out=rules.leaves_out)
    judgments = load_judgments(qrels)
    defaults: dict[str, Any] = {
        "max_rel": judgments.max_rel,
        "level": PARAMETERS["level"].check(level, "level"),
        "collection_size": PARAMETERS["collection_size"].check(collection_size, "collection_size"),
        **rules.defaults,
    }
    resolved = [measure.with_defaults(defaults) for measure in asked]
    check_kinds(asked, judgments)
    judged, retrieved = _judge(judgments, run, complete, Rules(depth, judged_only, rules.score_type), threads, watch)
    missing = missing_queries(judgments.qids, retrieved.qids)
    as_zero = np.zeros(judged.num_queries, dtype=bool)
    if complete and rules.missing_as_zero:
        absent = set(missing)
        as_zero = np.array([qid in absent for qid in judged.qids], dtype=bool)
    values, texts, averages = _compute(resolved, judged, as_zero)
    return Results(
        qids=judged.qids,
        measures=tuple(asked),
        resolved=tuple(resolved),
        matrix=values,
        texts=texts,
        averages=averages,
        listed=~as_zero,
        missing=tuple(missing),
        unjudged=tuple(missing_queries(retrieved.qids, judgments.qids)),
        contradictions=retrieved.contradictions,
        complete=complete,
        profile=rules.name,
        judgments_name=judgments.name,
        run_name=retrieved.name,
        tag=retrieved.tag,
    )


def load_judgments(qrels: Source | Judgments | Mapping[str, Mapping[str, int]], format: str = "qrels") -> Judgments:
    """Return judgments as a table: read a file, convert a dictionary, or take a table as it is.

    Raises
    ------
    InputError, DataError
        They cannot be read.
    """
    if isinstance(qrels, (Qrels, JudgmentGroups, Preferences)):
        return qrels
    if isinstance(qrels, Mapping):
        return Qrels(qrels)
    return JUDGMENT_FORMATS[format](_source(qrels)) if format != "qrels" else read_qrels(_source(qrels))


def load_run(run: Source | Run | Mapping[str, Mapping[str, float]]) -> Run:
    """Return a run as a table: read a file, convert a dictionary, or take a table as it is.

    Raises
    ------
    InputError, DataError
        It cannot be read.
    """
    if isinstance(run, Run):
        return run
    return Run(run) if isinstance(run, Mapping) else read_run(_source(run))


def check_kinds(measures: Sequence[Measure], judgments: Judgments) -> None:
    """Check that measures can be computed from judgments of this kind.

    Raises
    ------
    EvaluationError
        One cannot.
    """
    have = _KINDS[type(judgments)]
    for measure in measures:
        need = _NEEDS.get(measure.family.judged, have)
        if need != have:
            raise EvaluationError(
                f"measure {measure.name} needs {need}, but these are {have}",
                "Ask for other measures, or say how to read the file (-R).",
                file=judgments.name,
            )


def _source(source: object) -> str | os.PathLike[str] | BinaryIO:
    if isinstance(source, (str, os.PathLike)) or hasattr(source, "read"):
        return source  # type: ignore[return-value]
    raise EvaluationError(
        f"cannot read {type(source).__name__}", "Give a path, an open binary file, a table or a dictionary."
    )


def _judge(
    judgments: Judgments,
    run: Source | Run | Mapping[str, Mapping[str, float]],
    complete: bool,
    rules: Rules,
    threads: int | None,
    watch: Watch | None,
) -> tuple[Judged, Retrieved]:
    if isinstance(judgments, Qrels):
        if isinstance(run, Mapping) and not isinstance(run, Run):
            judged: Judged = judge(judgments, run, complete=complete, **rules._asdict())
            retrieved = Retrieved(tuple(run), RUN_NAME, DEFAULT_TAG, RankContradictions())
        elif isinstance(run, Run):
            judged, retrieved = judge(judgments, run, complete=complete, **rules._asdict()), _retrieved(run)
        else:
            judged, retrieved = judge_file(
                judgments, _source(run), complete=complete, rules=rules, threads=threads, watch=watch
            )
        _check_common(judgments, retrieved, complete)
        return judged, retrieved
    table = load_run(run)
    retrieved = _retrieved(table)
    _check_common(judgments, retrieved, complete)
    function: Any = judge_groups if isinstance(judgments, JudgmentGroups) else judge_preferences
    return function(judgments, table, complete=complete, rules=rules), retrieved


def _retrieved(run: Run) -> Retrieved:
    return Retrieved(run.qids, run.name, run.tag, rank_contradictions(run))


def _check_common(judgments: Judgments, run: Retrieved, complete: bool) -> None:
    if complete or not set(judgments.qids).isdisjoint(run.qids):
        return
    raise EvaluationError(
        f"no query of {_some(run.qids)} is judged: {judgments.name} has {_some(judgments.qids)}",
        "Check that both belong together and write query ids alike.",
        file=run.name,
    )


def _some(qids: Sequence[str]) -> str:
    if not qids:
        return "none (0 queries)"
    count = "1 query" if len(qids) == 1 else f"{len(qids)} queries"
    return f"{first_of(qids)} ({count})"


def _compute(
    measures: Sequence[Measure], judged: Judged, as_zero: BoolArray
) -> tuple[FloatArray, dict[int, tuple[str, ...]], FloatArray]:
    """Compute measures; queries of ``as_zero`` (Q,) get 0 in all but what does not depend on the run."""
    values = np.full((judged.num_queries, len(measures)), np.nan)
    averages = np.full(len(measures), np.nan)
    texts: dict[int, tuple[str, ...]] = {}
    for number, measure in enumerate(measures):
        found = measure(judged)
        if measure.family.kind == TEXT:
            texts[number] = tuple(map(str, found))
            continue
        column: FloatArray = np.asarray(found, dtype=np.float64)
        if as_zero.any() and measure.family.name not in ("num_q", "num_rel"):
            column = np.where(as_zero, 0.0, column)
        values[:, number] = column
        averages[number] = measure.family.average(column, judged.num_queries)
    return values, texts, averages
