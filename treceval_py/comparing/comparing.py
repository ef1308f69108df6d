"""Compare runs: values over the same queries become differences, intervals, tests and groups."""

from __future__ import annotations

import glob
import itertools
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, Unpack

import numpy as np

from treceval_py.comparing import paired
from treceval_py.comparing.by_group import grouped as by_groups
from treceval_py.comparing.comparison import Comparison
from treceval_py.comparing.corrections import holm
from treceval_py.comparing.gathering import Compares, Gathered, gather
from treceval_py.comparing.notes import about_groups, about_queries, about_resamples, about_tests
from treceval_py.comparing.outcome import Compared, Difference, Settings, Tested
from treceval_py.comparing.resampling import randomisation
from treceval_py.comparing.saved.files import run_files
from treceval_py.comparing.scores import Aligned, aligned
from treceval_py.comparing.simultaneous import Simultaneous, simultaneous_each
from treceval_py.comparing.tests import SIMULTANEOUS, TESTS
from treceval_py.comparing.variance import letters, two_way_anova
from treceval_py.data.ids import shown
from treceval_py.data.query_groups import QueryGroups
from treceval_py.data.run import Run
from treceval_py.errors import EvaluationError, MeasureError, RunCountError
from treceval_py.io.digests import base_name
from treceval_py.io.query_groups import AnyGroups, read_query_groups
from treceval_py.measuring import Measure
from treceval_py.measuring.notation import several
from treceval_py.scoring.opening import AnyJudgments
from treceval_py.scoring.planning import Options, Reading, Scoring, settled, takes_options
from treceval_py.scoring.results import Results
from treceval_py.threads import MOST_THREADS

MOST_RESAMPLES = 100_000_000


@takes_options
def compare(
    qrels: AnyJudgments | None = None,
    runs: Iterable[Compares] | Mapping[str, Compares] | None = None,
    measures: str | Measure | Sequence[str | Measure] | None = None,
    *,
    baseline: str | int | None = None,
    pairs: bool = False,
    test: str | Sequence[str] = SIMULTANEOUS,
    alpha: float = 0.05,
    groups: AnyGroups | None = None,
    resamples: int | None = None,
    seed: int = 1,
    margin: float | None = None,
    power: float = 0.8,
    names: Sequence[str] | None = None,
    force: bool = False,
    **options: Unpack[Options],
) -> Comparison:
    """Compare two or more runs, paired over their queries.

    Parameters
    ----------
    qrels : judgments, optional
        The judgments, in any form that `evaluate` accepts; needed if runs must be scored. ``compare(results)`` compares
        results, for which there are none.
    runs : sequence or mapping, length S
        Runs in any form that `evaluate` accepts; results; or files of saved results (``treceval -q`` in any format,
        ``trec_eval -q``). The keys of a mapping name the runs. Or a folder, or a pattern such as ``"runs/*.gz"``.
    measures : name, Measure or sequence of them, optional
        Measures to compare. Default: AP, nDCG@10, RR and P@10, or those of saved results.
    baseline : str or int, optional
        Run to compare the others with, by name or by number from 0. Default: the first.
    pairs : bool
        Compare every pair of runs, not only with the baseline.
    test : {"simultaneous", "t", "wilcoxon", "randomisation"}, or sequence of them
        The test that decides which differences are marked; of several, the first does. The simultaneous test corrects
        over all pairs of runs of a measure, and gives letters too; p-values of the others are corrected by Holm's
        method over all compared differences and measures.
    alpha : float
        Significance level, between 0 and 1. Intervals have the confidence 1 - alpha; that of a difference is
        simultaneous over all pairs of a measure.
    groups : path, mapping, frame, QueryGroups, or a sequence of paths or QueryGroups, optional
        Groups of queries, as of `read_query_groups`: compare the runs in each group too, and test whether their
        difference differs between groups.
    resamples : int, optional
        Resamples of each test that draws them. Default: 10,000 of the simultaneous test, 100,000 of the randomisation
        test.
    seed : int
        Random seed; the same seed gives the same values with any number of threads.
    margin : float, optional
        Test whether differences are smaller than this in absolute value (two one-sided tests).
    power : float
        Power for computing the number of queries needed.
    profile, level, complete, depth, judged_only, collection_size, signature, scoring
        How runs are scored, as in `evaluate`.
    names : sequence of str, length S, optional
        Names of the runs.
    force : bool
        Compare even values that were computed differently.
    run_format, judgment_format, max_passage : str, optional
        How files are read, as in `evaluate`.
    threads : int, optional
        Threads for reading runs and resampling. Default: one per available core.

    Returns
    -------
    Comparison
        The comparison; it prints as a table.

    Raises
    ------
    EvaluationError
        There are fewer than two runs, they were scored differently, or have no query in common.
    MeasureError
        An option is out of range, or a measure unknown.
    InputError
        A file cannot be read.

    Examples
    --------
    >>> qrels = {"1": {"a": 1}, "2": {"a": 1}, "3": {"b": 1}}
    >>> good = {qid: {"a": 2.0, "b": 1.0} for qid in qrels}
    >>> poor = {qid: {"x": 2.0, "b": 1.0, "a": 0.5} for qid in qrels}
    >>> found = compare(qrels, {"good": good, "poor": poor}, "RR")
    >>> found["RR"].means.round(4).tolist()
    [0.8333, 0.3889]
    >>> found["RR"].differences[0].losses
    2
    """
    _runs_given(qrels, runs)
    by = () if groups is None else read_query_groups(groups)
    there = f"There are {', '.join(TESTS)}."
    named = several(test, (str,), "test must be a name, or several", there)
    if not named:
        raise MeasureError("no test decides which differences are marked", there)
    scoring, reading = settled(measures, options)
    threads = reading.threads
    settings = checked(Settings(tuple(dict.fromkeys(named)), alpha, resamples, seed, margin, power), threads)
    gathered = gather_given(qrels, runs, scoring, reading, names=names, force=force)
    return compare_gathered(gathered, settings, baseline=baseline, pairs=pairs, groups=by, force=force, threads=threads)


def gather_given(
    qrels: Any, runs: Any, scoring: Scoring, reading: Reading, *, names: Sequence[str] | None, **how: Any
) -> Gathered:
    """Gather the runs of a list, or of a dictionary by their names; `how` as of `gather`."""
    qrels, given = _runs_given(qrels, runs)
    if isinstance(given, (str, os.PathLike)):
        given = how["optional"] = run_files([given], without=[qrels] if isinstance(qrels, (str, os.PathLike)) else [])
    if isinstance(given, Mapping):
        names = list(given) if names is None else names
        given = given.values()
    return gather(list(given), qrels, scoring, reading, names=names, **how)


def _runs_given(qrels: Any, runs: Any) -> tuple[Any, Any]:
    """Return judgments and runs, or a folder or pattern; results alone have no judgments before them.

    Raises
    ------
    EvaluationError
        A single run was given instead of several.
    """
    if runs is None:
        qrels, runs = None, qrels
    if isinstance(runs, (str, os.PathLike)) and (os.path.isdir(runs) or glob.has_magic(os.fspath(runs))):
        return qrels, runs
    first = qrels[0] if isinstance(qrels, (list, tuple)) and qrels else None
    nested = isinstance(first, Mapping) and any(isinstance(row, Mapping) for row in first.values())
    if (nested or isinstance(first, (str, os.PathLike, Results))) and not isinstance(runs, (list, tuple)):
        raise EvaluationError("the first argument is a list of runs", "Give the judgments first, then the runs.")
    if isinstance(runs, (str, bytes, os.PathLike)):
        path = shown(runs if isinstance(runs, bytes) else os.fspath(runs))
        raise EvaluationError(f"runs must be a list, not one path: {path}", AS_LIST)
    if not isinstance(runs, Iterable) or isinstance(runs, (Results, Run)) or hasattr(type(runs), "columns"):
        raise EvaluationError(f"runs must be a list or a dictionary of runs, not {shown(runs)}", AS_LIST)
    first = next(iter(runs.values()), None) if isinstance(runs, Mapping) else None
    if isinstance(first, Mapping) and all(isinstance(value, Real) for value in first.values()):
        raise EvaluationError("runs must be several, and this is one", AS_LIST)
    return qrels, runs


AS_LIST = "Put runs into a list, or into a dictionary by their names."


def checked(settings: Settings, threads: int | None = None) -> Settings:
    """Return settings as plain numbers; refuse those out of range.

    Raises
    ------
    MeasureError
        A setting is out of range; the message has the range.
    """
    wrong = next((name for name in settings.tests if name not in TESTS), None)
    if wrong is not None:
        raise MeasureError(f"test must be one of {', '.join(TESTS)}, not {shown(wrong)}")
    alpha, power = (_real(name, getattr(settings, name)) for name in ("alpha", "power"))
    for name, value in (("alpha", alpha), ("power", power)):
        if not 0 < value < 1:
            raise MeasureError(f"{name} must be between 0 and 1, not {value:g}")
    margin = None if settings.margin is None else _real("margin", settings.margin)
    if margin is not None and not 0 < margin < np.inf:
        raise MeasureError(f"margin must be above 0, not {margin:g}")
    resamples = None if settings.resamples is None else _whole("resamples", settings.resamples)
    seed = _whole("seed", settings.seed)
    if seed < 0:
        raise MeasureError(f"seed must be 0 or more, not {seed}")
    for name, count, most in (("resamples", resamples, MOST_RESAMPLES), ("threads", threads, MOST_THREADS)):
        if count is not None and not 1 <= _whole(name, count) <= most:
            raise MeasureError(f"{name} must be 1 to {most}, not {count}")
    return Settings(settings.tests, alpha, resamples, seed, margin, power)


def _whole(name: str, value: object) -> int:
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise MeasureError(f"{name} must be a whole number, not {shown(value)}") from None


def _real(name: str, value: object) -> float:
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise MeasureError(f"{name} must be a number, not {shown(value)}") from None


def compare_gathered(
    given: Gathered,
    settings: Settings,
    *,
    baseline: str | int | None = None,
    pairs: bool = False,
    groups: Sequence[QueryGroups] = (),
    force: bool = False,
    threads: int | None = None,
    fewest: int = 2,
) -> Comparison:
    """Compare gathered runs; parameters and errors as of `compare`. A report has one run or more."""
    settings = checked(settings, threads)
    runs = given.runs
    if len(runs) < fewest:
        wrong = f"there {'is one run' if runs else 'are no runs'} to compare, but two or more are needed"
        raise RunCountError(*(("there are no runs", "Add one.") if fewest == 1 else (wrong, "Add another.")))
    names = tuple(run.name for run in runs)
    if pairs and baseline is not None:
        raise MeasureError(
            "every pair of runs is compared, or each run with a baseline, not both", "Remove pairs or baseline."
        )
    base = None if pairs or len(runs) == 1 else _baseline(names, [run.file for run in runs], baseline)
    columns, repeated = _once(aligned(runs, force=force))
    if base is None:
        which = [(second, first) for first, second in itertools.combinations(range(len(runs)), 2)]
    else:
        which = [(run, base) for run in range(len(runs)) if run != base]
    tested = sum(len(which) for column in columns if len(column.qids) > 1)
    values, resamples = [column.values for column in columns], settings.drawn(SIMULTANEOUS)
    tests = simultaneous_each(values, resamples=resamples, seed=settings.seed, threads=threads)
    compared = [
        _compared(column, given.headings.get(column.measure, ""), together, which, settings, tested, threads)
        for column, together in zip(columns, tests, strict=True)
    ]
    measures = _corrected(compared, settings)
    family = len(runs) * (len(runs) - 1) // 2 if settings.test == SIMULTANEOUS else tested
    said = [*about_tests(measures, names, settings), *about_resamples(settings, family)]
    by_group = by_groups(measures, groups, settings)
    said += about_groups(measures, groups, by_group)
    said += given.tuned(list(dict.fromkeys(qid for column in columns for qid in column.qids)))
    return Comparison(
        runs=names,
        baseline=base,
        measures=measures,
        settings=settings,
        family=family,
        files=tuple(base_name(run.file) for run in runs),
        judgments_name="" if given.judgments is None else base_name(given.judgments.name),
        notes=(*given.notes, *repeated, *about_queries(columns, names, scored=given.judgments is not None), *said),
        digests=given.digests,
        judgments_digest=given.judgments_digest,
        groups=tuple(groups),
        by_group=by_group,
    )


def _baseline(names: Sequence[str], files: Sequence[str], wanted: str | int | None) -> int:
    if wanted is None:
        return 0
    if not isinstance(wanted, str):
        wanted = _whole("baseline", wanted)
        if not 0 <= wanted < len(names):
            raise EvaluationError(f"the baseline is run {wanted}, but runs are numbered 0 to {len(names) - 1}")
        return wanted
    if wanted not in names and files.count(wanted) == 1:
        return files.index(wanted)
    if wanted not in names:
        raise EvaluationError(
            f"the baseline '{wanted}' is not among the runs", f"The runs are {', '.join(names[:20])}."
        )
    return list(names).index(wanted)


def _compared(
    column: Aligned,
    heading: str,
    together: Simultaneous,
    which: Sequence[tuple[int, int]],
    settings: Settings,
    tested: int,
    threads: int | None,
) -> Compared:
    """Compare the runs in one measure, without corrections; ``tested`` p-values will be corrected together."""
    values = column.values
    means = values.mean(axis=1)
    low, high = paired.mean_interval(values, settings.confidence, column.bounds)
    best = tuple(int(run) for run in np.flatnonzero(means >= means.max() - paired.SAME))
    testable = len(values) > 1 and len(column.qids) > 1
    # The level of a t-test of one difference that is as strict as the marks; see `Compared.level`.
    level = settings.alpha / tested if testable else float("nan")
    by_letters = settings.test == SIMULTANEOUS and testable
    if by_letters:
        level = paired.two_sided_t(together.critical(settings.alpha), values.shape[1])
    grouped = letters(means, together.p <= settings.alpha) if by_letters else ("",) * len(values)
    rows = _differences(column, which, together, level, settings, threads)
    return Compared(
        column.measure, column.signature, column.qids, values, means, low, high, best, grouped, two_way_anova(values),
        together if testable else None, tuple(rows), column.left_out, level, column.bounds, heading,
    )  # fmt: skip


def _differences(
    column: Aligned,
    which: Sequence[tuple[int, int]],
    together: Simultaneous,
    level: float,
    settings: Settings,
    threads: int | None,
) -> list[Difference]:
    """Return the differences of pairs of runs, of one measure."""
    if not which:  # one run
        return []
    columns = np.column_stack([column.values[run] - column.values[other] for run, other in which])
    columns[np.abs(columns) <= paired.SAME] = 0.0
    of_pair = tuple(np.array(which).T)
    means, error = columns.mean(axis=0), together.error[of_pair]
    reach = np.zeros_like(error)
    np.multiply(together.critical(settings.alpha), error, out=reach, where=error != 0)  # 0 of what does not vary
    low, high = (np.clip(limit, *paired.of_differences(column.bounds)) for limit in (means - reach, means + reach))
    outcomes, directions = {}, {}
    for name in settings.tests:
        directions[name] = np.sign(means).astype(np.int64)
        if name == SIMULTANEOUS:
            outcomes[name] = paired.Outcome(together.t[of_pair], together.p[of_pair])
        elif name == "randomisation":
            outcomes[name] = randomisation(columns, resamples=settings.drawn(name), seed=settings.seed, threads=threads)
        elif name == "wilcoxon":
            outcomes[name], directions[name] = paired.wilcoxon(columns), paired.signed_ranks(columns)
        else:
            outcomes[name] = paired.paired_t(columns)
    effect = paired.effect_size(columns, settings.confidence)
    counts = paired.wins_ties_losses(columns)
    equal = np.full(len(which), np.nan) if settings.margin is None else paired.equivalence(columns, settings.margin)
    needed = paired.queries_needed(effect.d, alpha=level, power=settings.power)
    numbers = np.column_stack([low, high, *effect, equal, needed]).tolist()
    rows = []
    for at, (pair, (*limits, d, d_low, d_high, same, more)) in enumerate(zip(which, numbers, strict=True)):
        tests = {
            name: Tested(float(outcome.statistic[at]), float(outcome.p[at]), float(outcome.p[at]),
                         int(directions[name][at]))
            for name, outcome in outcomes.items()
        }  # fmt: skip
        mean, counted = float(columns[:, at].mean()), counts[at].tolist()
        rows.append(Difference._make([*pair, mean, *limits, tests, d, d_low, d_high, *counted, same, more]))
    return rows


def _corrected(measures: Sequence[Compared], settings: Settings) -> tuple[Compared, ...]:
    """Correct the p-values of each test over all differences of all measures, except those already corrected."""
    flat = [pair for compared in measures for pair in compared.differences]
    for name in settings.tests:
        if name != SIMULTANEOUS:
            adjusted = holm(np.array([pair.tests[name].p for pair in flat])).tolist()
            flat = [
                pair._replace(tests=pair.tests | {name: pair.tests[name]._replace(adjusted=p)})
                for pair, p in zip(flat, adjusted, strict=True)
            ]
    rows = iter(flat)
    return tuple(
        compared._replace(differences=tuple(itertools.islice(rows, len(compared.differences)))) for compared in measures
    )


def _once(columns: Sequence[Aligned]) -> tuple[list[Aligned], list[str]]:
    """Leave out measures that repeat another one under another name, as they would count twice in the correction."""
    kept: list[Aligned] = []
    notes = []
    for column in columns:
        made = column.signature
        same = next((each for each in kept if made and each.signature and not made.differences(each.signature)), None)
        if same is None:
            kept.append(column)
        else:
            notes.append(f"{column.measure} is {same.measure} by another name, and is compared once.")
    return kept, notes
