"""Evaluate: judgments, a run and measures become results."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import numpy as np

from treceval_py._types import BoolArray, FloatArray, Source
from treceval_py.data.groups import JudgmentGroups
from treceval_py.data.ids import first_of
from treceval_py.data.preferences import Preferences
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import RankContradictions, Rules, rank_contradictions
from treceval_py.data.run import DEFAULT_TAG, RUN_NAME, Run
from treceval_py.errors import EvaluationError, MeasureError, RepeatedDocumentError, TrecevalError
from treceval_py.io.lines import QRELS, RUN
from treceval_py.io.named import RUN_FORMATS, format_named, read_judgments, recognised
from treceval_py.io.rows import gathered
from treceval_py.io.source import Watch
from treceval_py.io.trec import Judgments
from treceval_py.judging.judged import JudgedGroups, JudgedRun
from treceval_py.judging.locating import judge_by, judge_groups, missing_queries
from treceval_py.judging.preferences import JudgedPreferences, judge_preferences
from treceval_py.judging.streaming import MOST_THREADS, Retrieved, judge_file
from treceval_py.measures import FAMILIES, NICKNAMES, Measure, parse_measures
from treceval_py.measures.registry import TEXT
from treceval_py.scoring.conventions import Conventions
from treceval_py.scoring.planning import Plan, plan_of_measures, plan_of_signatures
from treceval_py.scoring.profiles import DEFAULT_MEASURES, DEFAULT_PROFILE, Profile, profile_named
from treceval_py.scoring.results import Results
from treceval_py.scoring.signatures import Fingerprint, Signature, read_signatures

__all__ = [
    "DEFAULT_MEASURES",
    "evaluate",
    "evaluate_plan",
    "duplicates_of",
    "format_for",
    "load_judgments",
    "load_run",
    "selected",
]

Judged = JudgedRun | JudgedGroups | JudgedPreferences
AnyRun: TypeAlias = "Source | Run | Mapping[str, Mapping[str, float]]"

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
    run: AnyRun,
    measures: str | Measure | Iterable[str | Measure] | None = None,
    *,
    level: int | None = None,
    complete: bool = False,
    depth: int | None = None,
    judged_only: bool = False,
    collection_size: int = 0,
    profile: str | Profile = DEFAULT_PROFILE,
    signature: str | Signature | Iterable[str | Signature] | None = None,
    run_format: str | None = None,
    threads: int | None = None,
    watch: Watch | None = None,
) -> Results:
    """Score a run against judgments.

    A run file is judged while it is read and never held whole; of dictionaries only the judged documents are looked up.

    Parameters
    ----------
    qrels : path, binary file, Qrels, JudgmentGroups, Preferences or dict of dict
        The judgments: TREC's, BEIR's, JSON, JSON Lines, Parquet or ``"ir_datasets:NAME"``. Where all measures need
        judgments of groups or subtopics, a file is read as such.
    run : path, binary file, Run or dict of dict
        The run: TREC's, MS MARCO's, JSON, JSON Lines or Parquet.
    measures : name, Measure, or iterable of them, optional
        What to compute, in any notation: ``["map", "nDCG@10", "P.5,10"]``. By default what the profile computes:
        trec_eval's official measures, nDCG and nDCG@10.
    level : int, optional
        Least judgment that counts as relevant, from 0, for measures that do not say it themselves; by default that of
        the profile, 1.
    complete : bool
        Whether judged queries that the run lacks count (as empty rankings) also where the profile leaves them out.
        They are named in `Results.missing` in either case.
    depth : int, optional
        How many documents of each query count.
    judged_only : bool
        Whether documents without a judgment are taken out of the ranking first.
    collection_size : int
        Documents in the collection, for ``utility``.
    profile : str or Profile
        The conventions of ranking and averaging, and what names of measures mean.
    signature : str, Signature, or iterable of them, optional
        Repeat what these signatures say, in place of all the options above.
    run_format : str, optional
        The format of a run file, one of `formats.named.RUN_FORMATS`; by default it is recognised.
    threads : int, optional
        How many threads read a run file, from 1 to 256; by default as many as there are cores for this process.
    watch : callable, optional
        Is told, now and then while a run file is read, how many of its bytes have been read and how many there are
        (None where that is not known).

    Returns
    -------
    Results
        A value for each query and measure, averages, and how each number was made.

    Raises
    ------
    InputError
        A file cannot be read or a line of it is malformed.
    DataError
        Dictionaries are no judgments or no run.
    MeasureError
        A measure is unknown, or a parameter out of range.
    EvaluationError
        No query is in both (and missing queries do not count), a measure needs another kind of judgments, or a
        signature is of other judgments.

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
    repeated = None if signature is None else read_signatures(signature)
    if repeated is None:
        asked = parse_measures(rules.measures if measures is None else measures, leaves_out=rules.leaves_out)
        duplicates = rules.conventions.duplicates
    else:
        options = (measures, level, depth) != (None, None, None) or complete or judged_only or collection_size
        if options or rules.name != DEFAULT_PROFILE:
            raise MeasureError("a signature says all by itself", "Leave out the measures and other options.")
        asked, duplicates = [each.measure for each in repeated], duplicates_of(repeated)
    table = isinstance(qrels, (Qrels, JudgmentGroups, Preferences, Mapping))
    judgments = load_judgments(qrels, None if table else format_for(asked), duplicates=duplicates)
    fingerprint = Fingerprint(judgments)
    if repeated is not None:
        plan = plan_of_signatures(repeated, fingerprint, defaults={"max_rel": judgments.max_rel})
    else:
        plan = plan_of_measures(
            asked,
            rules,
            max_rel=judgments.max_rel,
            level=level,
            complete=complete,
            depth=depth,
            judged_only=judged_only,
            collection_size=collection_size,
        )
    check_kinds([task.asked for task in plan.tasks], judgments)
    return _carried_out(plan, judgments, fingerprint, _Reader(judgments, run, plan, run_format, threads, watch))


def evaluate_plan(plan: Plan, judgments: Qrels, run: Run) -> Results:
    """Carry a plan out on tables, whose tasks need not have different names; errors as of `evaluate`."""
    return _carried_out(plan, judgments, Fingerprint(judgments), _Reader(judgments, run, plan))


class _Reader:
    """A run that is judged once for each way of ranking that a plan needs."""

    def __init__(
        self,
        judgments: Judgments,
        run: AnyRun,
        plan: Plan,
        run_format: str | None = None,
        threads: int | None = None,
        watch: Watch | None = None,
    ) -> None:
        self._judgments = judgments
        self._run = run
        self._threads = threads
        self._watch = watch
        self._last_counts = plan.duplicates == "last"
        self.retrieved = Retrieved((), "", "", RankContradictions())
        self.replaced = 0
        if isinstance(run, Mapping):
            return
        rereadable = isinstance(run, (str, os.PathLike)) and os.path.isfile(run)
        name, self._run = recognised(_source(run), "run") if run_format is None else (run_format, run)
        once = not rereadable and (len(plan.rankings) > 1 or self._last_counts)
        if name != "trec_results" or not isinstance(judgments, Qrels):
            self._run = load_run(self._run, name, duplicates=plan.duplicates)
        elif once:
            self._load_table()

    def _load_table(self) -> None:
        """Read a run of TREC's format whole."""
        rows = gathered(_source(self._run), RUN)
        self._run = rows.run(duplicates="last" if self._last_counts else "refuse")
        self.replaced = len(rows) - len(self._run.docids)

    def judged(self, rules: Rules, *, complete: bool) -> Judged:
        """Judge the run, with all judged queries or only with those that it has."""
        judgments = self._judgments
        if isinstance(judgments, Qrels):
            judged: Judged = self._of_qrels(judgments, rules, complete=complete)
        else:
            table = load_run(self._run)
            self.retrieved = _retrieved(table)
            function: Any = judge_groups if isinstance(judgments, JudgmentGroups) else judge_preferences
            judged = function(judgments, table, complete=complete, rules=rules)
        _check_common(judgments, self.retrieved, complete)
        return judged

    def _of_qrels(self, judgments: Qrels, rules: Rules, *, complete: bool) -> JudgedRun:
        if not isinstance(self._run, Mapping):
            try:
                judged, self.retrieved = judge_file(
                    *(judgments, _source(self._run)),
                    complete=complete,
                    rules=rules,
                    threads=self._threads,
                    watch=self._watch,
                )
            except RepeatedDocumentError:
                if not self._last_counts:
                    raise
                self._load_table()  # only now, as hardly a run has such documents
            else:
                return judged
        run = self._run
        if not isinstance(run, Mapping):
            raise AssertionError("a run that was not judged from its file is a table")
        self.retrieved = _retrieved(run)
        return judge_by(judgments, run, rules, complete=complete)


class _Columns(NamedTuple):
    """The values of all measures over the same queries; arrays are (Q, M), averages (M,)."""

    values: FloatArray
    counted: BoolArray
    texts: dict[int, tuple[str, ...]]
    averages: FloatArray
    as_zero: BoolArray


def _carried_out(plan: Plan, judgments: Judgments, fingerprint: Fingerprint, reader: _Reader) -> Results:
    rankings = plan.rankings
    # Only measures that leave different queries out need to see all of them in one table.
    same = {(task.conventions.missing == "out", task.conventions.unrelevant) for task in plan.tasks} in (
        {(True, "in")},
        {(False, "in")},
    )
    everything = not same or any(task.conventions.missing != "out" for task in plan.tasks)
    columns: _Columns | None = None
    qids: tuple[str, ...] = ()
    for rules, numbers in rankings.items():
        judged = reader.judged(rules, complete=everything)
        if columns is None:
            qids = judged.qids
            columns = _empty(judged.num_queries, len(plan.tasks))
        _fill(columns, plan, numbers, judged, set(reader.retrieved.qids))
    if columns is None:  # no measure was asked for
        judged = reader.judged(Rules(), complete=everything)
        qids, columns = judged.qids, _empty(judged.num_queries, 0)
    retrieved = reader.retrieved
    if not same:
        kept: BoolArray = np.asarray(columns.counted.any(axis=1))
        qids = tuple(qid for qid, keep in zip(qids, kept.tolist(), strict=True) if keep)
        texts = {
            number: tuple(text for text, keep in zip(found, kept.tolist(), strict=True) if keep)
            for number, found in columns.texts.items()
        }
        columns = _Columns(columns.values[kept], columns.counted[kept], texts, columns.averages, columns.as_zero[kept])
    conventions = tuple(task.conventions for task in plan.tasks)
    return Results(
        qids=qids,
        measures=tuple(task.asked for task in plan.tasks),
        resolved=tuple(task.resolved for task in plan.tasks),
        conventions=conventions,
        matrix=columns.values,
        counted=columns.counted,
        texts=columns.texts,
        averages=columns.averages,
        listed=_listed(columns),
        missing=tuple(missing_queries(judgments.qids, retrieved.qids)),
        unjudged=tuple(missing_queries(retrieved.qids, judgments.qids)),
        contradictions=retrieved.contradictions,
        complete=all(each.missing != "out" for each in conventions) if conventions else False,
        profile=plan.profile,
        profiles=tuple(task.profile for task in plan.tasks),
        judgments_name=judgments.name,
        run_name=retrieved.name,
        tag=retrieved.tag,
        fingerprint=fingerprint,
        replaced=reader.replaced,
    )


def _listed(columns: _Columns) -> BoolArray:
    """Tell which queries are listed: those that count for some measure otherwise than as 0. Returns (Q,)."""
    if not columns.values.shape[1]:
        return np.ones(len(columns.values), dtype=bool)
    listed: BoolArray = np.asarray((columns.counted & ~columns.as_zero).any(axis=1))
    return listed


def _empty(queries: int, measures: int) -> _Columns:
    values = np.full((queries, measures), np.nan)
    nothing = np.zeros((queries, measures), dtype=bool)
    return _Columns(values, nothing, {}, np.full(measures, np.nan), nothing.copy())


def _fill(columns: _Columns, plan: Plan, numbers: Sequence[int], judged: Judged, retrieved: set[str]) -> None:
    """Compute the measures of some tasks and write their columns."""
    selections: dict[tuple[str, str], tuple[Judged, BoolArray, BoolArray]] = {}
    for number in numbers:
        task = plan.tasks[number]
        key = (task.conventions.missing, task.conventions.unrelevant)
        if key not in selections:
            selections[key] = selected(judged, task.conventions, retrieved)
        part, kept, as_zero = selections[key]
        measure = task.resolved
        found = _computed(measure, part)
        columns.counted[kept, number] = True
        columns.as_zero[:, number] = as_zero
        if measure.family.kind == TEXT:
            texts = [""] * judged.num_queries
            for row, text in zip(np.flatnonzero(kept).tolist(), found, strict=False):
                texts[row] = str(text)
            columns.texts[number] = tuple(texts)
            continue
        column: FloatArray = np.asarray(found, dtype=np.float64)
        if as_zero.any() and not measure.family.of_judgments:
            column = np.where(as_zero[kept], 0.0, column)
        columns.values[kept, number] = column
        columns.averages[number] = measure.family.average(column, part.num_queries)


def _place_of(function: Callable[..., Any]) -> str:
    """Return where a function stands, for a message."""
    code = getattr(function, "__code__", None)
    name = getattr(function, "__name__", "a function")
    return name if code is None else f"{name} in {os.path.basename(code.co_filename)}:{code.co_firstlineno}"


def selected(judged: Judged, conventions: Conventions, retrieved: set[str]) -> tuple[Judged, BoolArray, BoolArray]:
    """Return the queries that conventions count, which these are, and which of them count 0 unlisted."""
    there = np.array([qid in retrieved for qid in judged.qids], dtype=bool)
    kept = there.copy() if conventions.missing == "out" else np.ones(judged.num_queries, dtype=bool)
    as_zero = ~there if conventions.missing == "zero" else np.zeros(judged.num_queries, dtype=bool)
    if conventions.unrelevant == "out":
        if not isinstance(judged, JudgedRun):
            raise EvaluationError(
                "queries without relevant documents can be left out only with relevance judgments (qrels)",
                "Use another profile.",
            )
        kept &= judged.num_rel(1) > 0
        as_zero &= kept
    if kept.all():
        return judged, kept, as_zero
    if not isinstance(judged, JudgedRun):
        raise AssertionError("groups and preferences are judged for the queries that count")
    return judged.select(kept), kept, as_zero


def _computed(measure: Measure, judged: Judged) -> Any:
    """Compute a measure; what goes wrong in one that was added from outside is said in one line."""
    function = measure.family.function
    if str(function.__module__).startswith("treceval_py."):
        return measure(judged)
    try:
        found = measure(judged)
        if measure.family.kind != TEXT:
            found = np.asarray(found, dtype=np.float64)
    except TrecevalError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise EvaluationError(
            f"measure {measure.name}, which is {_place_of(function)}, failed: {reason}",
            "Mend the function.",
        ) from error
    shape = np.shape(found)
    if shape != (judged.num_queries,):
        raise EvaluationError(
            f"measure {measure.name} returned values of shape {shape} for {judged.num_queries} queries",
            "A measure returns one value a query.",
        )
    return found


def duplicates_of(signatures: Sequence[Signature]) -> str:
    """Return what signatures say of documents that come twice."""
    found = {each.conventions.duplicates for each in signatures}
    return "last" if found == {"last"} else "refuse"


def format_for(measures: Sequence[Measure]) -> str | None:
    """Return the format of judgments without which some measures cannot be computed; None where any will do.

    Raises
    ------
    EvaluationError
        Some need judgments by subtopics and some do not.
    """
    # Not for trec_eval's own measures of groups, which it refuses when the format is not named.
    of_groups = [name for name in NICKNAMES["qrels_jg"] if FAMILIES[name].judged is JudgedGroups]
    needing = [measure for measure in measures if measure.family.judged in _NEEDS]
    if any(measure.family.name in of_groups for measure in needing):
        return None
    by_kind = {measure.family.judged: measure.name for measure in needing}
    if JudgedGroups in by_kind and len(by_kind) > 1:
        other = next(kind for kind in by_kind if kind is not JudgedGroups)
        raise EvaluationError(
            f"measure {by_kind[JudgedGroups]} needs {_NEEDS[JudgedGroups]}, and {by_kind[other]} {_NEEDS[other]}",
            "Compute them in two commands.",
        )
    return "qrels_jg" if set(by_kind) == {JudgedGroups} else None


def load_judgments(
    qrels: Source | Judgments | Mapping[str, Mapping[str, int]],
    format: str | None = None,
    *,
    duplicates: str = "refuse",
) -> Judgments:
    """Return judgments as a table: read a file, convert a dictionary, or take a table as it is.

    Parameters
    ----------
    qrels : path, binary file, table or dict of dict
        The judgments.
    format : str, optional
        The format of a file; by default it is recognised.
    duplicates : {"refuse", "last"}
        What a document that is judged twice for a query does in a file of TREC's format.

    Raises
    ------
    InputError, DataError
        They cannot be read.
    """
    if isinstance(qrels, (Qrels, JudgmentGroups, Preferences)):
        return qrels
    if isinstance(qrels, Mapping):
        return Qrels(qrels)
    name, source = recognised(_source(qrels), "qrels") if format is None else (format, _source(qrels))
    if name == "qrels" and duplicates == "last":
        return gathered(source, QRELS).qrels(duplicates=duplicates)
    return read_judgments(source, name)


def load_run(run: AnyRun, format: str | None = None, *, duplicates: str = "refuse") -> Run:
    """Return a run as a table: read a file, convert a dictionary, or take a table as it is.

    Parameters
    ----------
    run : path, binary file, Run or dict of dict
        The run.
    format : str, optional
        The format of a file; by default it is recognised.
    duplicates : {"refuse", "last"}
        What a document that comes twice in a query of a file of TREC's format does.

    Raises
    ------
    InputError, DataError
        It cannot be read.
    """
    if isinstance(run, Run):
        return run
    if isinstance(run, Mapping):
        return Run(run)
    name, source = recognised(_source(run), "run") if format is None else (format, _source(run))
    if name == "trec_results" and duplicates == "last":
        return gathered(source, RUN).run(duplicates=duplicates)
    return format_named(RUN_FORMATS, name, "runs")(source)


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


def _retrieved(run: Mapping[str, Mapping[str, float]]) -> Retrieved:
    if not isinstance(run, Run):
        return Retrieved(tuple(run), RUN_NAME, DEFAULT_TAG, RankContradictions())
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
