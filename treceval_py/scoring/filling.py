"""Judge opened runs, decide which queries count, and fill the columns of results.

`queries_that_count` decides about queries that the run lacks, that have no relevant documents, or no judgments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from treceval_py._types import BoolArray, FloatArray
from treceval_py.data.groups import JudgmentGroups
from treceval_py.data.ids import first_of, shown
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import Ranking
from treceval_py.data.run import Run
from treceval_py.diagnosis.signs import hardly_judged
from treceval_py.errors import EvaluationError, TrecevalError, brief
from treceval_py.io.trec import Judgments
from treceval_py.judging.judged import JudgedRun
from treceval_py.judging.locating import judge_by, judge_groups, missing_queries
from treceval_py.judging.preferences import judge_preferences
from treceval_py.judging.sampled import JudgedSample, judge_sample
from treceval_py.judging.streaming import Retrieved, judge_file
from treceval_py.measuring import Measure
from treceval_py.measuring.registry import REAL, TEXT, definition_of
from treceval_py.scoring.conventions import Conventions
from treceval_py.scoring.opening import File, Judged, Opened, facts_of
from treceval_py.scoring.planning import Plan
from treceval_py.scoring.results import Results
from treceval_py.scoring.signatures import Fingerprint

if TYPE_CHECKING:
    from treceval_py.diagnosis.sign import Sign

Judge: TypeAlias = Callable[[Opened, Ranking, bool, tuple[str, ...]], "tuple[Judged, Retrieved]"]
"""What judges an opened run, as `judge_opened` does."""


def judge_opened(
    opened: Opened, ranking: Ranking, complete: bool, extra: tuple[str, ...] = ()
) -> tuple[Judged, Retrieved]:
    """Judge an opened run.

    Parameters
    ----------
    opened : Opened
        The run.
    ranking : Ranking
        How its documents are ranked.
    complete : bool
        Include all judged queries; else only those of the run.
    extra : tuple of str
        Count these queries as judged, too: without judgments, none of their documents is.

    Returns
    -------
    judged : JudgedRun, JudgedGroups or JudgedPreferences
        The judged run.
    retrieved : Retrieved
        The run's queries, its tag and its notes.

    Raises
    ------
    TrecevalError
        The run cannot be read or ranked, as for `evaluate`.
    """
    kept = opened.kept
    if kept is not None:
        for known in (ranking, ranking._replace(tied=True)):  # a ranking that also knows ties will do
            if (known, complete, extra) in kept:
                return kept[known, complete, extra]
    judgments, form, retrieved = opened.judgments, opened.form, opened.retrieved
    if extra and isinstance(judgments, Qrels):
        judgments = judgments.widened(missing_queries(extra, judgments.qids))
    judged: Judged
    if not isinstance(judgments, Qrels):
        by: Any = judge_groups if isinstance(judgments, JudgmentGroups) else judge_preferences
        judged = by(judgments, form, complete=complete, ranking=ranking)
    elif isinstance(form, File):
        judged, retrieved = judge_file(
            judgments,
            form.source,
            complete=complete,
            ranking=ranking,
            duplicates=form.duplicates,
            threads=form.threads,
            watch=form.watch,
            format=form.format,
        )
    elif isinstance(form, (Run, Mapping)):
        match = judge_sample if ranking.sample else judge_by
        judged = match(judgments, form, ranking, complete=complete)
    else:
        by_scanner = form.judged(judgments, ranking, complete=complete)
        if by_scanner is None:
            table = form.table(judgments)
            by_scanner, retrieved = judge_by(judgments, table, ranking, complete=complete), facts_of(table)
        judged = by_scanner
    outcome = judged, retrieved
    if kept is not None:
        kept[ranking, complete, extra] = outcome
    return outcome


def results_of(opened: Opened, plan: Plan, fingerprint: Fingerprint, judge: Judge = judge_opened) -> Results:
    """Compute the measures of a plan for an opened run.

    Parameters
    ----------
    opened : Opened
        The run.
    plan : Plan
        The measures and how they are computed.
    fingerprint : Fingerprint
        The fingerprint of the judgments.
    judge : callable
        What judges the run.

    Raises
    ------
    TrecevalError
        The run cannot be read, or a measure cannot be computed, as for `evaluate`.
    """
    tasks, judgments = plan.tasks, opened.judgments
    conventions = [task.conventions for task in tasks]
    missings, unrelevants, extras, bares = (
        set(map(attrgetter(name), conventions)) for name in ("missing", "unrelevant", "extra", "bare")
    )
    # Whether, for all measures, just the queries of both the judgments and the run count.
    common = missings == {"out"} and "out" not in unrelevants and len(extras) == len(bares) == 1
    # All judged queries must be in one table only if some others count, or the measures leave out different ones.
    everything = not common or "answered" in bares
    extra = (opened.retrieved.qids if "in" in extras else ()) + (judgments.bare if "judged" in bares else ())
    values, counted, as_zero = np.empty((0, 0)), np.empty((0, 0), bool), np.empty((0, 0), bool)
    averages, texts = np.full(len(tasks), np.nan), dict[int, tuple[str, ...]]()
    missing: list[str] | None = None
    first: tuple[Judged, Ranking] | None = None
    for ranking, numbers in (plan.rankings or {Ranking(): []}).items():  # without any measure there are still queries
        judged, retrieved = judge(opened, ranking, everything, extra)
        if missing is None or first is None:
            first = judged, ranking
            same = judgments.qids == retrieved.qids and not (judgments.bare or retrieved.bare)
            missing = [] if same else _judged_and_missing(judgments, retrieved, bares)[1]
            if common and len(missing) == len(judgments.qids) and (everything or not judged.qids):
                raise _nothing_in_common(judgments, retrieved, opened.form)
            size = len(judged.qids), len(tasks)
            values, counted, as_zero = np.full(size, np.nan), np.zeros(size, bool), np.zeros(size, bool)
        selections: dict[object, tuple[Judged, BoolArray | slice, FloatArray | None]] = {}
        for number in numbers:
            how, measure = conventions[number], tasks[number].resolved
            basis = None if how.unrelevant == "in" else _basis(measure)
            key = (how.missing, how.unrelevant, how.extra, how.bare, basis)
            if key not in selections:
                known, lacking = (None, []) if same else _judged_and_missing(judgments, retrieved, {how.bare})
                selections[key] = queries_that_count(judged, lacking, known if extra else None, how, measure)
            part, kept, fixed = selections[key]
            counted[kept, number] = True
            if fixed is not None:
                as_zero[:, number] = fixed == 0
                fixed = fixed[kept]
            column, averages[number] = _computed(measure, part, fixed)
            if isinstance(column, np.ndarray):
                values[kept, number] = column
            else:
                of_row = dict(zip(np.arange(len(judged.qids))[kept].tolist(), column, strict=False))
                texts[number] = tuple([of_row.get(row, "") for row in range(len(judged.qids))])
    qids = judged.qids
    kept = np.asarray(counted.any(axis=1))
    if not kept.all():
        rows = np.flatnonzero(kept).tolist()
        qids, values, counted, as_zero = tuple([qids[row] for row in rows]), values[kept], counted[kept], as_zero[kept]
        texts = {number: tuple([column[row] for row in rows]) for number, column in texts.items()}
    unjudged: list[str] = []
    if missing or len(retrieved.qids) != len(judgments.qids):
        unjudged = missing_queries(retrieved.qids, (*judgments.qids, *qids) if extra else judgments.qids)
    return Results(
        tasks=tasks,
        profile=plan.profile,
        qids=qids,
        matrix=values,
        counted=counted,
        texts=texts,
        averages=averages,
        # A query is listed if it counts for some measure other than as a fixed 0.
        listed=np.asarray((counted & ~as_zero).any(axis=1)) if tasks else np.ones(len(qids), dtype=bool),
        missing=tuple(missing or ()),
        unjudged=tuple(unjudged),
        judgments_name=judgments.name,
        run_name=retrieved.name,
        tag=retrieved.tag,
        fingerprint=fingerprint,
        replaced=retrieved.replaced,
        # Another judge only tries a way of scoring.
        signs=_signs(opened, retrieved, *first, missing, unjudged, plan) if first and judge is judge_opened else (),
    )


def _signs(
    opened: Opened,
    retrieved: Retrieved,
    judged: Judged,
    ranking: Ranking,
    missing: Sequence[str] | None,
    unjudged: Sequence[str],
    plan: Plan,
) -> tuple[Sign, ...]:
    """Return the signs of a mistake in a run; nearly no run has one, which is quick to see of a file."""
    seen, judgments = retrieved.seen, opened.judgments
    signs: tuple[Sign, ...] = ()
    few = isinstance(judged, JudgedRun) and hardly_judged(judged.num_ret, judged.hits.rank)
    if seen is None or seen.suspect or few or (missing and unjudged):
        from treceval_py.scoring.noticing import noticed

        signs = noticed(opened, retrieved, judged, ranking, missing or (), unjudged, few=few)
    if isinstance(judgments, Qrels) and judgments.sample is not None:
        from treceval_py.scoring.noticing import biased

        signs += biased(judgments, plan.tasks)
    return signs


def part_of(
    opened: Opened,
    conventions: Conventions,
    ranking: Ranking,
    measure: Measure | None = None,
    judge: Judge = judge_opened,
) -> tuple[Judged, FloatArray]:
    """Judge an opened run for one measure.

    Parameters
    ----------
    opened : Opened
        The run.
    conventions : Conventions
        Which queries count, and how.
    ranking : Ranking
        How documents are ranked.
    measure : Measure, optional
        The measure, which decides what a query lacks to have a value. Default: relevant documents.
    judge : callable
        What judges the run.

    Returns
    -------
    judged : JudgedRun, JudgedGroups or JudgedPreferences
        The Q queries that count under the conventions.
    fixed : (Q,) float array
        The value that each query counts with: 0 or 1, or NaN for the measure's own value.
    """
    # A kept judged run serves other measures too; its additional queries are left out below.
    judgments, bares = opened.judgments, {conventions.bare}
    complete = opened.kept is not None or conventions.missing != "out" or "answered" in bares
    extra = opened.retrieved.qids if conventions.extra == "in" else ()
    extra += judgments.bare if "judged" in bares else ()
    judged, retrieved = judge(opened, ranking, complete, extra)
    known, missing = _judged_and_missing(judgments, retrieved, bares)
    part, kept, fixed = queries_that_count(judged, missing, known if extra else None, conventions, measure)
    return part, np.full(len(part.qids), np.nan) if fixed is None else fixed[kept]


def _judged_and_missing(
    judgments: Judgments, retrieved: Retrieved, bares: AbstractSet[str]
) -> tuple[Sequence[str], list[str]]:
    """Return the judged queries under values of the convention ``bare``, and those that the run lacks."""
    judged, answered = judgments.qids, retrieved.qids
    if "judged" in bares:
        judged += judgments.bare
    if "answered" in bares:
        answered += retrieved.bare
    return judged, missing_queries(judged, answered)


def queries_that_count(
    judged: Judged,
    missing: Sequence[str],
    known: Sequence[str] | None,
    conventions: Conventions,
    measure: Measure | None,
) -> tuple[Judged, BoolArray | slice, FloatArray | None]:
    """Return the queries that count, which these are, and the fixed values of all (NaN: the measure's own value).

    `missing` are the judged queries that the run lacks; `known` are the judged ones, if `judged` has others too.
    A query with the fixed value 0 is not listed. None: no value is fixed.
    """
    if not missing and known is None and conventions.unrelevant == "in" and isinstance(judged, JudgedRun):
        return judged, slice(None), None
    kept = np.ones(len(judged.qids), dtype=bool)
    fixed = np.full(len(judged.qids), np.nan)
    if missing and conventions.missing != "empty":
        lacking = set(missing)
        absent = np.array([qid in lacking for qid in judged.qids], dtype=bool)
        if conventions.missing == "out":
            kept &= ~absent
        else:
            fixed[absent] = 0.0
    if known is not None and conventions.extra == "out":
        of_judgments = set(known)
        kept &= np.array([qid in of_judgments for qid in judged.qids], dtype=bool)
    if not isinstance(judged, JudgedRun):
        if any(getattr(conventions, name) in values for name, values in _OF_QRELS.items()):
            fault = "the conventions of this profile need relevance judgments (qrels)"
            raise EvaluationError(fault, "Use another profile.")
    elif conventions.unrelevant != "in":
        defined = _defined(measure, judged)
        if conventions.unrelevant == "out":
            kept &= defined
        else:
            fixed[~defined & np.isnan(fixed)] = 1.0
    return judged if kept.all() else judged.select(kept), kept, fixed


def _computed(measure: Measure, part: Judged, fixed: FloatArray | None) -> tuple[FloatArray | Sequence[str], float]:
    """Return a measure's values over the queries that count, (Q,) numbers or texts, and their average."""
    family = measure.family
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused below
        outcome = _from_outside(measure, part) if family.from_outside else measure(part)
        if family.kind == TEXT:
            return [str(text) for text in outcome], math.nan
        column: FloatArray = np.asarray(outcome, dtype=np.float64)
        if fixed is not None and not np.isnan(fixed).all():
            column = with_fixed(measure, column, fixed)
        over = family.average.over
        if over is None:
            average = family.average(column, len(part.qids))
        else:
            average = over(column, part, dict(measure.parameters))
    # An average over other things than values, such as nAUC's, may have no value.
    finite = np.isfinite(column).all() and (over is not None or math.isfinite(average))
    if not (finite or family.from_outside):
        raise EvaluationError(
            f"{brief(measure.name)} is too large for a 64-bit float", "Use smaller numbers as its parameters."
        )
    return column, average


def with_fixed(measure: Measure, values: FloatArray, fixed: FloatArray) -> FloatArray:
    """Replace a measure's values by the fixed values of `part_of`, except where these are NaN. (Q,)."""
    if measure.family.of_judgments:
        return values
    if measure.family.kind != REAL:
        fixed = np.where(fixed == 1, np.nan, fixed)  # a count has no highest value and stays as it is
    return np.where(np.isnan(fixed), values, fixed)


def _basis(measure: Measure) -> object:
    """Return on what it depends whether a query has a value of `measure`: the level, or all of its parameters."""
    return dict(measure.parameters).get("level", 1) if measure.family.undefined_without == "relevant" else measure


def _defined(measure: Measure | None, judged: JudgedRun) -> BoolArray:
    """Return for which queries a measure has a value. (Q,)."""
    without = "relevant" if measure is None else measure.family.undefined_without
    given = {} if measure is None else dict(measure.parameters)
    level = int(given.get("level", 1))
    if without == "relevant":
        return judged.num_rel(level) > 0
    if isinstance(judged, JudgedSample) and without == "drawn":
        return judged.drawn & (judged.num_rel(level) > 0)
    if without == "nonrelevant":
        return judged.num_ret > judged.num_rel_ret(level)
    relevant = judged.found(level)
    return judged.count(relevant.query[relevant.rank <= given.get("cutoff", np.inf)]) > 0


def _from_outside(measure: Measure, judged: Judged) -> Any:
    """Compute a measure defined by a user; any failure in it becomes a one-line error."""
    try:
        values = measure(judged)
        if measure.family.kind != TEXT:
            values = np.asarray(values, dtype=np.float64)
    except TrecevalError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise EvaluationError(
            f"measure {measure.name}, defined by {definition_of(measure.family.function)}, failed: {reason}",
            "Fix the function.",
        ) from error
    shape = np.shape(values)
    if shape != (judged.num_queries,):
        raise EvaluationError(
            f"measure {measure.name} returned values of shape {shape} for {judged.num_queries} queries",
            "Return one value per query.",
        )
    return values


_OF_QRELS: Mapping[str, Sequence[str]] = {
    "ties": ["worst"],
    "unrelevant": ["out", "one"],
    "known": ["retrieved"],
    "extra": ["in"],
    "not_positive": ["miss"],
}
"""Values of conventions that require relevance judgments."""


def _nothing_in_common(judgments: Judgments, run: Retrieved, form: object) -> EvaluationError:
    from treceval_py.diagnosis.lookalikes import but_known
    from treceval_py.diagnosis.noting import like_queries

    for empty, of in ((judgments, "judgments have"), (run, "run has")):
        if not empty.qids:
            missing = "document" if getattr(empty, "bare", ()) else "query"
            return EvaluationError(f"the {of} no {missing}", "Give at least one.", file=empty.name)
    none = f"query {shown(run.qids[0])} is not"
    if len(run.qids) > 1:
        none = f"none of the run's queries ({first_of(run.qids)}) is"
    fault = f"{none} judged; the judgments have {first_of(judgments.qids)}"
    alike = like_queries(run.qids, judgments.qids)
    if alike:
        fault, todo = f"{fault}; {but_known(*alike[0])}", "Write query ids as in the judgments."
        return EvaluationError(fault, todo, file=run.name)
    todo = "Check that both belong together and use the same query ids."
    if not isinstance(form, (File, Run, Mapping)) and run.qids == tuple(map(str, range(len(run.qids)))):
        todo = "The rows of an array are queries 0, 1, 2 and so on. Give {qid: {docid: score}}."
    return EvaluationError(fault, todo, file=run.name)
