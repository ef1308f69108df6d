"""Evaluate runs: compute results from judgments, a run and measures."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from treceval_py._types import BoolArray, Data, FloatArray, Source
from treceval_py.data.groups import JudgmentGroups
from treceval_py.data.ids import first_of, shown
from treceval_py.data.preferences import Preferences
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import RankContradictions, Ranking, rank_contradictions
from treceval_py.data.run import DEFAULT_TAG, RUN_NAME, Run
from treceval_py.data.table import FORMS, is_nested
from treceval_py.errors import (
    DataError,
    EvaluationError,
    MeasureError,
    MissingQueriesWarning,
    TrecevalError,
    brief,
    listed,
    warn,
)
from treceval_py.io.lines import QRELS, RUN
from treceval_py.io.named import RUN_FORMATS, format_named, read_judgments, recognised
from treceval_py.io.rows import gathered
from treceval_py.io.source import Watch
from treceval_py.io.trec import Judgments
from treceval_py.judging.judged import JudgedGroups, JudgedRun
from treceval_py.judging.locating import judge_by, judge_groups, missing_queries
from treceval_py.judging.preferences import JudgedPreferences, judge_preferences
from treceval_py.judging.streaming import Retrieved, judge_file
from treceval_py.measures import FAMILIES, NICKNAMES, Measure
from treceval_py.measures.registry import REAL, TEXT, definition_of
from treceval_py.scoring.conventions import Conventions
from treceval_py.scoring.planning import AS_IT_IS, AS_USUAL, Plan, Reading, Scoring
from treceval_py.scoring.profiles import Profile
from treceval_py.scoring.results import Results
from treceval_py.scoring.signatures import Fingerprint, Signature

if TYPE_CHECKING:
    from treceval_py.judging.arrays import Rows

Judged = JudgedRun | JudgedGroups | JudgedPreferences
AnyRun: TypeAlias = "Source | Data"
"""A run in any of its forms."""

AnyJudgments: TypeAlias = "Source | Judgments | Data"
"""Judgments in any of their forms."""

_NOTHING = Retrieved((), "", "", RankContradictions())

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
    qrels: AnyJudgments,
    run: AnyRun,
    measures: str | Measure | Iterable[str | Measure] | None = None,
    *,
    level: int | None = None,
    complete: bool = False,
    depth: int | None = None,
    judged_only: bool = False,
    collection_size: int | None = None,
    profile: str | Profile | None = None,
    signature: str | Signature | Iterable[str | Signature] | None = None,
    scoring: Scoring | None = None,
    run_format: str | None = None,
    judgment_format: str | None = None,
    threads: int | None = None,
    watch: Watch | None = None,
) -> Results:
    """Score a run against judgments.

    A run file is judged while it is read and never held whole. In dictionaries, only judged documents are looked up.

    Parameters
    ----------
    qrels : path, binary file, Qrels, JudgmentGroups, Preferences, dict, frame or rows
        The judgments. A file in TREC's or BEIR's format, JSON, JSON Lines, Parquet or ``"ir_datasets:NAME"``; an
        object in memory as for `Qrels`; or a (Q, D) array of labels, one row per query and one column per document. If
        all measures need judgments by group or subtopic, it is read as such.
    run : path, binary file, Run, dict, frame or rows
        The run. A file in TREC's or MS MARCO's format, JSON, JSON Lines or Parquet; an object in memory as for `Run`; a
        (Q, D) array of scores; or a tuple of scores (Q, k), ids (Q, k) and, unless they are "0" to "Q - 1", the queries
        (Q,).
    measures : name, Measure, or iterable of them, optional
        What to compute, in any notation: ``["map", "nDCG@10", "P.5,10"]``. Default: the profile's; for
        trec_eval-10 the official measures, nDCG and nDCG@10.
    level : int, optional
        Lowest relevant judgment, 0 or higher, for measures that don't set their own. Default: the profile's, usually 1.
    complete : bool
        Count every judged query, treating those the run lacks as empty rankings, even if the profile leaves them out.
        Either way, `Results.missing` names them.
    depth : int, optional
        Score only this many documents of each query.
    judged_only : bool
        Remove unjudged documents from the ranking first.
    collection_size : int, optional
        Documents in the collection, for ``utility``. Default: 0.
    profile : str or Profile, optional
        The ranking and averaging conventions, and the meaning of measure names. Default: trec_eval 10.0's.
    signature : str, Signature, or iterable of them, optional
        Score exactly as these signatures describe; replaces all the options above.
    scoring : Scoring, optional
        All the options above as one value; use this or the separate options.
    run_format, judgment_format : str, optional
        Formats of the files, as for `read_run` and `read_qrels`; judgments may also be ``qrels_jg``, ``prefs`` or
        ``qrels_prefs``. Default: detected.
    threads : int, optional
        Threads for reading a run file, 1 to 256. Default: one per available core.
    watch : callable, optional
        Progress callback, called with bytes read and total bytes (None if unknown).

    Returns
    -------
    Results
        Values per query and measure, averages, and how each was computed.

    Raises
    ------
    InputError
        A file cannot be read or a line of it is malformed.
    DataError
        An object is not judgments, or not a run.
    MeasureError
        A measure is unknown, or an option has the wrong type or is out of range.
    EvaluationError
        Judgments and run share no query (unless missing queries count), a measure needs another kind of judgments, or
        a signature was made with other judgments.

    Warns
    -----
    MissingQueriesWarning
        The run lacks judged queries, and averages leave them out.

    Examples
    --------
    >>> results = evaluate({"1": {"a": 1, "b": 0}}, {"1": {"b": 0.9, "a": 0.5}}, ["map", "recip_rank"])
    >>> results["1"]["map"], results.mean["recip_rank"]
    (0.5, 0.5)
    """
    options = Scoring(measures, profile, level, complete, depth, judged_only, collection_size, signature)
    reading = Reading(run_format, judgment_format, threads)
    evaluator = Evaluator(qrels, options if scoring is None else options.beside(scoring), reading)
    results = evaluator.scored(run, watch)
    if results.missing:
        _warn_of_missing(results, evaluator)
    return results


class Evaluator:
    """Score any number of runs against the same judgments, which are prepared once.

    Parameters
    ----------
    qrels : path, binary file, Qrels, JudgmentGroups, Preferences, dict, frame or rows
        The judgments, as for `evaluate`.
    scoring : Scoring
        How runs are scored. Default: as trec_eval 10.0 scores them.
    reading : Reading
        How files are read.

    Attributes
    ----------
    judgments : Qrels, JudgmentGroups or Preferences
        The judgments as a table.
    fingerprint : Fingerprint
        Fingerprint of the judgments.
    plan : Plan
        The measures with their parameters and conventions.
    profile : Profile
        The profile, with all judged queries averaged if that was chosen.
    repeats : bool
        Whether scoring repeats signatures.

    Raises
    ------
    TrecevalError
        As for `evaluate`, for everything that doesn't depend on a run.

    Examples
    --------
    >>> import treceval_py as te
    >>> evaluator = te.Evaluator({"1": {"a": 1, "b": 0}}, te.Scoring(["map", "recip_rank"]))
    >>> [evaluator.score({"1": {"a": first, "b": 0.5}}).mean["map"] for first in (0.4, 0.6)]
    [0.5, 1.0]
    """

    def __init__(
        self,
        qrels: AnyJudgments,
        scoring: Scoring = AS_USUAL,
        reading: Reading = AS_IT_IS,
    ) -> None:
        if not isinstance(scoring, Scoring):
            what = f"scoring must be a te.Scoring, not {shown(scoring)}"
            raise MeasureError(what, "Put the measures and options into one: te.Scoring(['map']).")
        if not isinstance(reading, Reading) or any(each is not None for each in reading):
            reading = Reading.checked(reading)
        checked = scoring.checked()
        table = isinstance(qrels, (Qrels, JudgmentGroups, Preferences, Mapping))
        named = None if table else reading.judgment_format or format_for(checked.measures)
        self._reading = reading
        self.judgments: Judgments = load_judgments(qrels, named, duplicates=checked.duplicates)
        self.fingerprint = Fingerprint(self.judgments)
        self.profile: Profile = checked.profile
        self.plan: Plan = checked.plan(self.judgments.max_rel, self.fingerprint)
        self._several = len(self.plan.rankings) > 1
        self.repeats = checked.signatures is not None
        check_kinds([task.asked for task in self.plan.tasks], self.judgments)

    def __repr__(self) -> str:
        judged, measures = self.judgments, [task.asked.name for task in self.plan.tasks]
        of = f"{brief(judged.name)!r}, {len(judged.qids):,} queries"
        return f"<Evaluator of {of}: {listed(measures)}; {brief(self.plan.profile)}>"

    def score(self, run: AnyRun, watch: Watch | None = None) -> Results:
        """Score `run`, as `evaluate` does, with the same errors and warnings; `watch` sees the run while it is read."""
        results = self.scored(run, watch)
        if results.missing:
            _warn_of_missing(results, self)
        return results

    def scored(self, run: AnyRun, watch: Watch | None = None) -> Results:
        """Score `run` as `score` does (with `watch`), but without warnings: the caller reports missing queries."""
        return self.judging(run, watch).results(self.plan, self.fingerprint)

    def judging(self, run: AnyRun, watch: Watch | None = None, *, keep: bool = False) -> JudgedOnce:
        """Return a run ready to be judged; it is judged once per ranking that is requested.

        Parameters
        ----------
        run, watch
            As for `evaluate`.
        keep : bool
            Keep judged rankings, for several computations that share them.
        """
        return JudgedOnce(
            *(self.judgments, run, self._reading),
            duplicates=self.plan.duplicates,
            again=keep or self._several,
            keep=keep,
            watch=watch,
        )

    def table(self, run: AnyRun) -> Run:
        """Return `run` as a table, treating repeated documents as the plan does."""
        reading = self._reading
        if not isinstance(run, (str, os.PathLike, Mapping)):
            from treceval_py.judging.arrays import is_arrays, rows_of

            if is_arrays(run):
                found = rows_of(run)
                return found if isinstance(found, Run) else found.table(self.judgments)
        return load_run(run, reading.run_format, duplicates=self.plan.duplicates, threads=reading.threads)


def _warn_of_missing(results: Results, evaluator: Evaluator) -> None:
    """Warn about judged queries that averages leave out."""
    left_out = [
        measure.name
        for measure, conventions in zip(results.measures, results.conventions, strict=True)
        if conventions.missing == "out"
    ]
    if not left_out:
        return
    count, of = len(results.missing), len(evaluator.judgments.qids)
    averages = "every average" if len(left_out) == len(results.measures) else f"the average of {listed(left_out, 3)}"
    said = f"{count} of {of} judged queries {'is' if count == 1 else 'are'} missing ({listed(results.missing, 3)})"
    todo = "the signature says so." if evaluator.repeats else "complete=True counts missing queries as empty rankings."
    warn(f"{brief(results.run_name)}: {said}, and left out of {averages}; {todo}", MissingQueriesWarning)


class JudgedOnce:
    """One run, judged once per ranking that is requested.

    Parameters
    ----------
    judgments : Qrels, JudgmentGroups or Preferences
        The judgments.
    run : path, binary file, Run, dict, frame or rows
        The run.
    reading : Reading
        How a run file is read.
    duplicates : {"refuse", "last"}
        How to treat a document that occurs twice in a query of a file.
    again : bool
        Whether more than one ranking will be requested; a stream, which can be read only once, is then held whole.
    keep : bool
        Keep judged rankings. A plan requests each ranking once, so keeping them would only use memory.
    watch : callable, optional
        As for `evaluate`.

    Attributes
    ----------
    retrieved : Retrieved
        Facts about the run besides its judged documents; for a file, available once it has been judged.
    """

    _run: Any

    def __init__(
        self,
        judgments: Judgments,
        run: AnyRun,
        reading: Reading = AS_IT_IS,
        *,
        duplicates: str = "refuse",
        again: bool = False,
        keep: bool = False,
        watch: Watch | None = None,
    ) -> None:
        self._judgments = judgments
        self._threads = reading.threads
        self._duplicates = duplicates
        self._kept: dict[tuple[Ranking, bool, bool], Judged] | None = {} if keep else None
        self._widened: Qrels | None = None
        self._watch = watch
        self._run = run
        self._rows: Rows | None = None
        self.retrieved = _NOTHING
        if watch is not None and not callable(watch):
            raise EvaluationError(f"watch must be a function, not {shown(watch)}", "Give a function of two numbers.")
        kind = type(run)
        if kind is tuple or kind is np.ndarray:  # training loops score arrays: skip the slower checks for them
            if not self._take_arrays(run):
                self._take(load_run(run))
        elif isinstance(run, (str, os.PathLike)) or hasattr(run, "read"):
            self._open(reading.run_format, duplicates, again=again)
        elif isinstance(run, Run):
            self._take(run)
        elif isinstance(judgments, Qrels) and not isinstance(run, Results) and is_nested(run):
            self.retrieved = Retrieved(tuple(self._run), RUN_NAME, DEFAULT_TAG, RankContradictions())
        elif not self._take_arrays(run):
            self._take(load_run(run))

    def _open(self, run_format: str | None, duplicates: str, *, again: bool) -> None:
        """Detect the file's format, and read the file whole if it cannot be judged while it is read."""
        rereadable = isinstance(self._run, (str, os.PathLike)) and os.path.isfile(self._run)
        name = run_format
        if name is None:
            name, self._run = recognised(self._run, "run")
        if name != "trec_results" or not isinstance(self._judgments, Qrels):
            self._take(load_run(self._run, name, duplicates=duplicates, threads=self._threads))
        elif not rereadable and again:
            self._load_table()

    def _take_arrays(self, run: Any) -> bool:
        """Take a run given as arrays. Return whether it was."""
        from treceval_py.judging import arrays

        if not arrays.is_arrays(run):
            return False
        found = arrays.rows_of(run)
        if isinstance(found, Run):
            self._take(found)
        elif isinstance(self._judgments, Qrels):
            self._rows = found
            self.retrieved = Retrieved(found.qids, RUN_NAME, DEFAULT_TAG, _NOTHING.contradictions)
        else:
            self._take(found.table())
        return True

    def _take_rows(self, judgments: Judgments) -> None:
        """Convert arrays to a table."""
        if self._rows is not None:
            self._take(self._rows.table(judgments))
            self._rows = None

    def _take(self, run: Run, replaced: int = 0) -> None:
        self._run = run
        self.retrieved = Retrieved(run.qids, run.name, run.tag, rank_contradictions(run), replaced)

    def _load_table(self) -> None:
        """Read a run in TREC's format whole."""
        rows = gathered(self._run, RUN, threads=self._threads)
        run = rows.run(duplicates=self._duplicates)
        self._take(run, rows.count - len(run.docids))

    def judged(self, ranking: Ranking, *, complete: bool, extra: bool = False) -> Judged:
        """Judge the run. With `complete`, include all judged queries, else only those of the run. Errors as `evaluate`.

        With `extra`, include the run's queries without judgments, as if none of their documents were judged.
        """
        if self._kept is not None:
            for known in (ranking, ranking._replace(tied=True)):  # a ranking that also knows ties will do
                if (known, complete, extra) in self._kept:
                    return self._kept[known, complete, extra]
        judgments = self._with_extra() if extra else self._judgments
        judged: Judged | None = None
        if self._rows is not None and isinstance(judgments, Qrels):
            judged = self._rows.judged(judgments, ranking, complete=complete)
            if judged is None:
                self._take_rows(judgments)
        elif isinstance(judgments, Qrels) and not isinstance(self._run, Mapping):
            judged = self._judged_while_read(judgments, ranking, complete=complete)
        if judged is None:
            function: Any = judge_by
            if not isinstance(judgments, Qrels):
                function = judge_groups if isinstance(judgments, JudgmentGroups) else judge_preferences
            judged = function(judgments, self._run, ranking=ranking, complete=complete)
        if self._kept is not None:
            self._kept[ranking, complete, extra] = judged
        return judged

    def keep(self, ranking: Ranking, judged: Judged) -> None:
        """Keep a run that the caller has already judged for all judged queries."""
        if self._kept is not None:
            self._kept[ranking, True, False] = judged

    def _with_extra(self) -> Judgments:
        """Return the judgments extended by the run's other queries; for this, the run is held whole."""
        judgments = self._judgments
        if not isinstance(judgments, Qrels):
            raise _needs_qrels()
        self._take_rows(judgments)
        if not isinstance(self._run, Mapping):
            self._load_table()
        if self._widened is None:
            more = missing_queries(self.retrieved.qids, judgments.qids)
            ends = np.full(len(more), judgments.offsets[-1])
            self._widened = Qrels.from_columns(
                (*judgments.qids, *more),
                np.concatenate([judgments.offsets, ends]),
                judgments.docids,
                judgments.rels,
                name=judgments.name,
            )
        return self._widened

    def _judged_while_read(self, judgments: Qrels, ranking: Ranking, *, complete: bool) -> Judged:
        """Judge a file while it is read."""
        judged, self.retrieved = judge_file(
            *(judgments, self._run),
            complete=complete,
            ranking=ranking,
            duplicates=self._duplicates,
            threads=self._threads,
            watch=self._watch,
        )
        return judged

    def part(
        self, conventions: Conventions, ranking: Ranking, measure: Measure | None = None
    ) -> tuple[Judged, FloatArray]:
        """Judge the run for one measure, or for a measure without a value when nothing is relevant.

        Returns
        -------
        judged : JudgedRun, JudgedGroups or JudgedPreferences
            The Q queries that count under the conventions.
        fixed : (Q,) float array
            The value that each query counts with: 0 or 1, or NaN for the measure's own value.
        """
        extra = conventions.extra == "in"
        # A kept judged run serves other measures too; its additional queries are left out below.
        complete = self._kept is not None or conventions.missing != "out"
        judged = self.judged(ranking, complete=complete, extra=extra)
        part, kept, fixed = self._selected(judged, conventions, measure)
        return part, fixed[kept]

    def _selected(
        self, judged: Judged, conventions: Conventions, measure: Measure | None
    ) -> tuple[Judged, BoolArray, FloatArray]:
        """Return the queries that count, a mask of them, and their fixed values (NaN: the measure's own value).

        A query with the fixed value 0 is not listed.
        """
        there = np.ones(judged.num_queries, dtype=bool)
        if conventions.missing != "empty":
            missing = set(missing_queries(self._judgments.qids, self.retrieved.qids))
            there[:] = [qid not in missing for qid in judged.qids]
        kept = there.copy() if conventions.missing == "out" else np.ones(judged.num_queries, dtype=bool)
        fixed = np.where(there, np.nan, 0.0 if conventions.missing == "zero" else np.nan)
        if self._widened is not None and conventions.extra == "out":
            known = set(self._judgments.qids)
            kept &= np.array([qid in known for qid in judged.qids], dtype=bool)
        if not isinstance(judged, JudgedRun) and any(getattr(conventions, key) in _OF_QRELS[key] for key in _OF_QRELS):
            raise _needs_qrels()
        if conventions.unrelevant != "in" and isinstance(judged, JudgedRun):
            defined = _defined(measure, judged)
            if conventions.unrelevant == "out":
                kept &= defined
            else:
                fixed[~defined & np.isnan(fixed)] = 1.0
        if kept.all():
            return judged, kept, fixed
        if not isinstance(judged, JudgedRun):
            raise AssertionError("groups and preferences are judged for the queries that count")
        return judged.select(kept), kept, fixed

    def results(self, plan: Plan, fingerprint: Fingerprint) -> Results:
        """Compute the measures of a plan.

        Parameters
        ----------
        plan : Plan
            The measures and how they are computed.
        fingerprint : Fingerprint
            The fingerprint of the judgments.

        Raises
        ------
        TrecevalError
            The run cannot be read, or a measure cannot be computed, as for `evaluate`.
        """
        attributes, alike, computed = plan.common
        # All queries must be in one table only if the measures leave out different ones.
        everything = not alike or plan.tasks[0].conventions.missing != "out"
        extra = "in" in [task.conventions.extra for task in (plan.tasks[:1] if alike else plan.tasks)]
        columns: _Columns | None = None
        qids: tuple[str, ...] = ()
        missing: list[str] = []
        whole = False
        rankings = plan.rankings or {Ranking(): []}  # without any measure there are still queries
        for ranking, numbers in rankings.items():
            judged = self.judged(ranking, complete=everything, extra=extra)
            if not everything and not judged.num_queries and not set(self._judgments.qids) & set(self.retrieved.qids):
                raise _nothing_in_common(self._judgments, self.retrieved)
            missing = missing_queries(self._judgments.qids, self.retrieved.qids)
            whole = computed and not missing
            qids = judged.qids
            size = len(qids), len(plan.tasks)
            if columns is None:
                values, averages = np.full(size, np.nan), np.full(size[1], np.nan)
                columns = _Columns(values, np.zeros(size, dtype=bool), np.zeros(size, dtype=bool), averages)
            self._fill(columns, plan, numbers, judged)
        if columns is None:
            raise AssertionError("a run is judged at least once")
        if not alike:
            kept: BoolArray = np.asarray(columns.counted.any(axis=1))
            qids = tuple([qid for qid, keep in zip(qids, kept.tolist(), strict=True) if keep])
            columns.keep(kept)
        listed = columns.counted[:, 0] if whole and plan.tasks else np.ones(len(qids), dtype=bool)
        if plan.tasks and not whole:  # a query is listed if it counts for some measure other than as a fixed 0
            listed = np.asarray((columns.counted & ~columns.as_zero).any(axis=1))
        judgments, retrieved = self._judgments, self.retrieved
        return Results(
            qids=qids,
            **attributes,
            matrix=columns.values,
            counted=columns.counted,
            texts=columns.texts,
            averages=columns.averages,
            listed=listed,
            missing=tuple(missing),
            unjudged=tuple(missing_queries(retrieved.qids, (*judgments.qids, *qids) if extra else judgments.qids)),
            contradictions=retrieved.contradictions,
            judgments_name=judgments.name,
            run_name=retrieved.name,
            tag=retrieved.tag,
            fingerprint=fingerprint,
            replaced=retrieved.replaced,
        )

    def _fill(self, columns: _Columns, plan: Plan, numbers: Sequence[int], judged: Judged) -> None:
        """Compute the measures of some tasks and fill in their columns."""
        selections: dict[tuple[str, str, str, int], tuple[Judged, BoolArray, FloatArray]] = {}
        for number in numbers:
            task = plan.tasks[number]
            measure, conventions = task.resolved, task.conventions
            usual = conventions.unrelevant == "in" or measure.family.undefined_without == "relevant"
            key = (conventions.missing, conventions.unrelevant, conventions.extra, -1 if usual else number)
            if key not in selections:
                selections[key] = self._selected(judged, conventions, measure)
            part, kept, fixed = selections[key]
            with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused below
                found = _from_outside(measure, part) if measure.family.from_outside else measure(part)
            columns.counted[kept, number] = True
            columns.as_zero[:, number] = fixed == 0
            if measure.family.kind == TEXT:
                texts = [""] * judged.num_queries
                for row, text in zip(np.flatnonzero(kept).tolist(), found, strict=False):
                    texts[row] = str(text)
                columns.texts[number] = tuple(texts)
                continue
            column: FloatArray = np.asarray(found, dtype=np.float64)
            if not np.isnan(fixed).all():
                column = with_fixed(measure, column, fixed[kept])
            columns.values[kept, number] = column
            average = measure.family.average
            with np.errstate(over="ignore", invalid="ignore"):
                columns.averages[number] = (
                    average(column, part.num_queries)
                    if average.over is None
                    else average.over(column, part, dict(measure.parameters))
                )
            # an average over other things than values, such as nAUC's, may have no value
            fits = np.isfinite(column).all() and (average.over is not None or math.isfinite(columns.averages[number]))
            if not (fits or measure.family.from_outside):
                raise EvaluationError(
                    f"{brief(measure.name)} is too large for a 64-bit float", "Use smaller numbers as its parameters."
                )


def with_fixed(measure: Measure, values: FloatArray, fixed: FloatArray) -> FloatArray:
    """Replace a measure's values by the fixed values of `JudgedOnce.part`, except where these are NaN. (Q,)."""
    if measure.family.of_judgments:
        return values
    if measure.family.kind != REAL:
        fixed = np.where(fixed == 1, np.nan, fixed)  # a count has no highest value and stays as it is
    return np.where(np.isnan(fixed), values, fixed)


def _defined(measure: Measure | None, judged: JudgedRun) -> BoolArray:
    """Return for which queries a measure has a value. (Q,)."""
    without = "relevant" if measure is None else measure.family.undefined_without
    if measure is None or without == "relevant":
        return judged.num_rel(1) > 0
    given = dict(measure.parameters)
    level = int(given.get("level", 1))
    if without == "nonrelevant":
        return judged.num_ret > judged.num_rel_ret(level)
    found = judged.found(level)
    return judged.count(found.query[found.rank <= given.get("cutoff", np.inf)]) > 0


@dataclass(slots=True)
class _Columns:
    """The values of all measures over the same queries; arrays are (Q, M), averages (M,)."""

    values: FloatArray
    counted: BoolArray
    as_zero: BoolArray
    averages: FloatArray
    texts: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def keep(self, kept: BoolArray) -> None:
        """Keep the queries selected by a mask (Q,)."""
        self.values, self.counted, self.as_zero = self.values[kept], self.counted[kept], self.as_zero[kept]
        for number, texts in self.texts.items():
            self.texts[number] = tuple([text for text, keep in zip(texts, kept.tolist(), strict=True) if keep])


def _from_outside(measure: Measure, judged: Judged) -> Any:
    """Compute a measure defined by a user; any failure in it becomes a one-line error."""
    try:
        found = measure(judged)
        if measure.family.kind != TEXT:
            found = np.asarray(found, dtype=np.float64)
    except TrecevalError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise EvaluationError(
            f"measure {measure.name}, defined by {definition_of(measure.family.function)}, failed: {reason}",
            "Fix the function.",
        ) from error
    shape = np.shape(found)
    if shape != (judged.num_queries,):
        raise EvaluationError(
            f"measure {measure.name} returned values of shape {shape} for {judged.num_queries} queries",
            "Return one value per query.",
        )
    return found


def format_for(measures: Sequence[Measure]) -> str | None:
    """Return the format of judgments that the measures require; None if any format will do.

    Raises
    ------
    EvaluationError
        Some measures need judgments by subtopic and some do not.
    """
    # Not for trec_eval's own group measures: trec_eval refuses them unless the format is named.
    of_groups = [name for name in NICKNAMES["qrels_jg"] if FAMILIES[name].judged is JudgedGroups]
    needing = [measure for measure in measures if measure.family.judged in _NEEDS]
    if any(measure.family.name in of_groups for measure in needing):
        return None
    by_kind = {measure.family.judged: measure.name for measure in needing}
    if JudgedGroups in by_kind and len(by_kind) > 1:
        other = next(kind for kind in by_kind if kind is not JudgedGroups)
        raise EvaluationError(
            f"measure {by_kind[JudgedGroups]} needs {_NEEDS[JudgedGroups]}, and {by_kind[other]} {_NEEDS[other]}",
            "Compute them in two separate commands.",
        )
    return "qrels_jg" if set(by_kind) == {JudgedGroups} else None


def load_judgments(
    qrels: AnyJudgments,
    format: str | None = None,
    *,
    duplicates: str = "refuse",
) -> Judgments:
    """Return judgments as a table: read a file, convert an object, or return a table unchanged.

    Parameters
    ----------
    qrels : path, binary file, table, or an object of another form
        The judgments.
    format : str, optional
        The format of a file; detected by default. With ``qrels_jg``, rows are judgments by subtopic, too.
    duplicates : {"refuse", "last"}
        How to treat a document that is judged twice for a query, in a file in TREC's format.

    Raises
    ------
    InputError, DataError
        The judgments cannot be read.
    """
    if isinstance(qrels, (Qrels, JudgmentGroups, Preferences)):
        return qrels
    if not isinstance(qrels, (str, os.PathLike)) and not hasattr(qrels, "read"):
        return _judgments_from(qrels, format)
    source: Any = qrels
    name, source = recognised(source, "qrels") if format is None else (format, source)
    if name == "qrels":
        return gathered(source, QRELS).qrels(duplicates=duplicates)
    return read_judgments(source, name)


def load_run(run: AnyRun, format: str | None = None, *, duplicates: str = "refuse", threads: int | None = None) -> Run:
    """Return a run as a table: read a file, convert an object, or return a table unchanged.

    Parameters
    ----------
    run : path, binary file, Run, or an object of another form
        The run.
    format : str, optional
        The format of a file; detected by default.
    duplicates : {"refuse", "last"}
        How to treat a document that occurs twice in a query, in a file in TREC's format.
    threads : int, optional
        Threads for reading a file in TREC's format. Default: one per available core.

    Raises
    ------
    InputError, DataError
        The run cannot be read.
    """
    if isinstance(run, Run):
        return run
    if not isinstance(run, (str, os.PathLike)) and not hasattr(run, "read"):
        if run is None or isinstance(run, Results):
            raise DataError("no run" if run is None else "these are results, not a run", FORMS["run"])
        from treceval_py.judging.arrays import is_arrays, rows_of

        found = rows_of(run) if is_arrays(run) else Run(run)
        return found if isinstance(found, Run) else found.table()
    source: Any = run
    name, source = recognised(source, "run") if format is None else (format, source)
    if name == "trec_results":
        return gathered(source, RUN, threads=threads).run(duplicates=duplicates)
    return format_named(RUN_FORMATS, name, "runs")(source)


def check_kinds(measures: Sequence[Measure], judgments: Judgments) -> None:
    """Check that the measures can be computed from judgments of this kind.

    Raises
    ------
    EvaluationError
        A measure cannot.
    """
    have = _KINDS[type(judgments)]
    for measure in measures:
        need = _NEEDS.get(measure.family.judged, have)
        if need != have:
            raise EvaluationError(
                f"measure {measure.name} needs {need}, but these are {have}",
                "Choose other measures, or name the file's format (-R).",
                file=judgments.name,
            )


def _judgments_from(given: Any, format: str | None) -> Judgments:
    """Return the judgments of a Python object."""
    if given is None:
        raise DataError("no judgments", FORMS["judgments"])
    if isinstance(given, Run):
        raise DataError("this is a run, not judgments", "Give the judgments first, then the run.")
    if format == "qrels_jg" and not isinstance(given, Mapping):
        from treceval_py.data.objects import nested_groups

        return JudgmentGroups.from_dict(nested_groups(given))
    if not isinstance(given, Mapping):
        from treceval_py.judging.arrays import is_arrays, is_matrix, qrels_of_labels

        if is_matrix(given) and is_arrays(given):
            return qrels_of_labels(given)
    try:
        return Qrels(given)
    except DataError:
        by_query = given.values() if isinstance(given, Mapping) else ()
        nested = (each for groups in by_query if isinstance(groups, Mapping) for each in groups.values())
        if any(isinstance(each, Mapping) for each in nested):
            return JudgmentGroups.from_dict(given)
        raise


_OF_QRELS: Mapping[str, Sequence[str]] = {
    "ties": ["worst"],
    "unrelevant": ["out", "one"],
    "known": ["retrieved"],
    "extra": ["in"],
    "not_positive": ["miss"],
}
"""Values of conventions that require relevance judgments."""


def _needs_qrels() -> EvaluationError:
    return EvaluationError("the conventions of this profile need relevance judgments (qrels)", "Use another profile.")


def _nothing_in_common(judgments: Judgments, run: Retrieved) -> EvaluationError:
    return EvaluationError(
        f"no query of {_some(run.qids)} is judged: {judgments.name} has {_some(judgments.qids)}",
        "Check that both files belong together and use the same query ids.",
        file=run.name,
    )


def _some(qids: Sequence[str]) -> str:
    if not qids:
        return "none (0 queries)"
    count = "1 query" if len(qids) == 1 else f"{len(qids)} queries"
    return f"{first_of(qids)} ({count})"
