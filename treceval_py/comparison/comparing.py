"""Compare runs: values over the same queries become differences, intervals, tests and groups."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from treceval_py._types import FloatArray, Source
from treceval_py.comparison.comparison import Compared, Comparison, Difference, Settings, Tested
from treceval_py.comparison.corrections import CORRECTIONS
from treceval_py.comparison.gathering import Compares, Gathered, Scoring, gather
from treceval_py.comparison.paired import (
    bca_interval,
    effect_size,
    equivalence,
    mean_interval,
    queries_needed,
    t_interval,
    wins_ties_losses,
)
from treceval_py.comparison.resampling import randomisation, randomised_tukey
from treceval_py.comparison.scores import Aligned, aligned
from treceval_py.comparison.tests import GROUPS, TESTS
from treceval_py.comparison.variance import least_difference, letters, tukey, two_way_anova
from treceval_py.errors import EvaluationError, MeasureError
from treceval_py.formats.trec import Judgments
from treceval_py.measures import Measure
from treceval_py.profiles import DEFAULT_PROFILE, Profile
from treceval_py.streaming import MOST_THREADS
from treceval_py.tables import first_of

__all__ = ["check_settings", "compare", "compare_gathered"]

EXACT = 1e-12
"""Means closer than this are equal: sums in other orders differ in their last digits."""

MOST_RESAMPLES = 100_000_000
MOST_SYSTEMS_FOR_P = 200
"""Above so many runs the letters' test is done by its critical value alone, without a p-value for each two runs."""


def compare(
    runs: Sequence[Compares] | Mapping[str, Compares],
    qrels: Source | Judgments | Mapping[str, Mapping[str, int]] | None = None,
    measures: str | Measure | Sequence[str | Measure] | None = None,
    *,
    baseline: str | int | None = None,
    pairs: bool = False,
    test: str = "t",
    tests: Sequence[str] = (),
    correction: str = "holm",
    alpha: float = 0.05,
    confidence: float = 0.95,
    interval: str = "t",
    groups: str = "tukey",
    resamples: int = 100_000,
    bootstrap: int = 10_000,
    seed: int = 1,
    margin: float | None = None,
    power: float = 0.8,
    profile: str | Profile = DEFAULT_PROFILE,
    level: int | None = None,
    complete: bool = False,
    depth: int | None = None,
    judged_only: bool = False,
    names: Sequence[str] | None = None,
    force: bool = False,
    threads: int | None = None,
) -> Comparison:
    """Compare two or more runs, paired over their queries.

    Parameters
    ----------
    runs : sequence or mapping, length S
        Results; files of saved results (``treceval -q`` in any format, ``trec_eval -q``); or, with `qrels`, runs in
        every form that `evaluate` takes. The keys of a mapping name the runs.
    qrels : judgments, optional
        The judgments, where runs are to be scored.
    measures : name, Measure or sequence of them, optional
        What is compared: by default map, ndcg_cut.10, recip_rank and P.10, or what saved results have.
    baseline : str or int, optional
        The run, by name or number from 0, that the others are compared with; by default the first one.
    pairs : bool
        Whether each two runs are compared, rather than each with the baseline.
    test : {"t", "wilcoxon", "sign", "randomisation"}
        The test that decides which differences are marked.
    tests : sequence of str
        More tests to compute.
    correction : {"holm", "bonferroni", "benjamini-hochberg", "none"}
        How p-values are corrected, over all differences and measures that are compared.
    alpha, confidence : float
        Level of significance, and confidence of intervals; between 0 and 1.
    interval : {"t", "bca"}
        Interval of the difference: Student's t, or the bias-corrected and accelerated bootstrap.
    groups : {"tukey", "randomised-tukey", "none"}
        The test behind the letters: Tukey's HSD of a two-way analysis of variance, or its randomised form.
    resamples, bootstrap : int
        Resamples of randomisation tests and of the BCa interval.
    seed : int
        Of everything drawn at random: the same seed gives the same numbers, with any number of threads.
    margin : float, optional
        Test whether differences are smaller than this in absolute value (two one-sided tests).
    power : float
        For which the number of queries needed is computed.
    profile, level, complete, depth, judged_only
        How runs are scored, as of `evaluate`.
    names : sequence of str, length S, optional
        What the runs are called.
    force : bool
        Whether values that were made in different ways are compared all the same.
    threads : int, optional
        How many threads read runs and resample; by default as many as there are cores for this process.

    Returns
    -------
    Comparison
        What was found, which prints as a table.

    Raises
    ------
    EvaluationError
        There are fewer than two runs, they were scored in different ways, or have no query in common.
    MeasureError
        An option is out of range, or a measure unknown.
    InputError
        A file cannot be read.

    Examples
    --------
    >>> qrels = {"1": {"a": 1}, "2": {"a": 1}, "3": {"b": 1}}
    >>> good = {qid: {"a": 2.0, "b": 1.0} for qid in qrels}
    >>> poor = {qid: {"x": 2.0, "b": 1.0, "a": 0.5} for qid in qrels}
    >>> found = compare({"good": good, "poor": poor}, qrels, "RR")
    >>> found["RR"].means.round(4).tolist()
    [0.8333, 0.3889]
    >>> found["RR"].differences[0].losses
    2
    """
    settings = Settings(
        test, (test, *(each for each in dict.fromkeys(tests) if each != test)), correction, alpha, confidence, interval,
        groups, resamples, bootstrap, seed, margin, power,
    )  # fmt: skip
    check_settings(settings, threads)
    asked = (measures,) if isinstance(measures, (str, Measure)) else tuple(measures or ())
    scoring = Scoring(asked, profile, level, complete, depth, judged_only, threads=threads)
    if isinstance(runs, Mapping):
        names = list(runs) if names is None else names
        runs = list(runs.values())
    found = gather(list(runs), qrels, scoring, names=names, force=force)
    return compare_gathered(found, settings, baseline=baseline, pairs=pairs, force=force, threads=threads)


def check_settings(settings: Settings, threads: int | None = None) -> None:
    """Refuse settings out of range.

    Raises
    ------
    MeasureError
        One is; it says which and what is possible.
    """
    for name in settings.tests:
        _one_of("test", name, [*TESTS])
    _one_of("correction", settings.correction, [*CORRECTIONS])
    _one_of("interval", settings.interval, ["t", "bca"])
    _one_of("groups", settings.groups, [*GROUPS, "none"])
    for name in ("alpha", "confidence", "power"):
        value = getattr(settings, name)
        if not 0 < value < 1:
            raise MeasureError(f"{name} must lie between 0 and 1, not {value:g}")
    for name in ("resamples", "bootstrap"):
        if not 1 <= getattr(settings, name) <= MOST_RESAMPLES:
            raise MeasureError(f"{name} must be 1 to {MOST_RESAMPLES}, not {getattr(settings, name)}")
    if settings.seed < 0:
        raise MeasureError(f"seed must be 0 or more, not {settings.seed}")
    if settings.margin is not None and not 0 < settings.margin < np.inf:
        raise MeasureError(f"margin must be above 0, not {settings.margin:g}")
    if threads is not None and not 1 <= threads <= MOST_THREADS:
        raise MeasureError(f"threads must be 1 to {MOST_THREADS}, not {threads}")


def _one_of(what: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise MeasureError(f"{what} must be one of {', '.join(known)}, not '{name}'")


def compare_gathered(
    found: Gathered,
    settings: Settings,
    *,
    baseline: str | int | None = None,
    pairs: bool = False,
    force: bool = False,
    threads: int | None = None,
) -> Comparison:
    """Compare what was gathered; parameters and errors as of `compare`."""
    runs = found.runs
    if len(runs) < 2:
        raise EvaluationError(
            f"there {'is one run' if runs else 'are no runs'} to compare, and two or more are needed", "Add another."
        )
    names = tuple(run.name for run in runs)
    if pairs and baseline is not None:
        raise MeasureError("each two runs are compared, or each with a baseline", "Leave one of the two out.")
    base = None if pairs else _baseline(names, baseline)
    columns = aligned(runs, force=force)
    if base is None:
        which = [(second, first) for first, second in itertools.combinations(range(len(runs)), 2)]
    else:
        which = [(run, base) for run in range(len(runs)) if run != base]
    differences = [_differences(each.values, which, settings, threads) for each in columns]
    corrected, family = _corrected(differences, settings)
    measures = tuple(_compared(each, rows, settings, threads) for each, rows in zip(columns, corrected, strict=True))
    return Comparison(
        runs=names,
        baseline=base,
        measures=measures,
        settings=settings,
        family=family,
        files=tuple(run.file for run in runs),
        judgments_name="" if found.judgments is None else found.judgments.name,
        notes=(*found.notes, *_notes(columns, names)),
    )


def _baseline(names: Sequence[str], wanted: str | int | None) -> int:
    if wanted is None:
        return 0
    if isinstance(wanted, int):
        if not 0 <= wanted < len(names):
            raise EvaluationError(f"the baseline is run {wanted} of {len(names)}, counted from 0")
        return wanted
    if wanted not in names:
        raise EvaluationError(
            f"no run is called '{wanted}', which is to be the baseline", f"The runs are {', '.join(names[:20])}."
        )
    return list(names).index(wanted)


def _differences(
    values: FloatArray, which: Sequence[tuple[int, int]], settings: Settings, threads: int | None
) -> list[Difference]:
    """Return the differences of pairs of runs, of one measure."""
    columns = np.column_stack([values[run] - values[other] for run, other in which])
    columns[np.abs(columns) <= EXACT] = 0.0
    low, high = (
        t_interval(columns, settings.confidence)
        if settings.interval == "t"
        else bca_interval(columns, settings.confidence, resamples=settings.bootstrap, seed=settings.seed)
    )
    outcomes = {
        name: randomisation(columns, resamples=settings.resamples, seed=settings.seed, threads=threads)
        if name == "randomisation"
        else TESTS[name].function(columns)
        for name in settings.tests
    }
    effect = effect_size(columns, settings.confidence)
    counts = wins_ties_losses(columns)
    equal = np.full(len(which), np.nan) if settings.margin is None else equivalence(columns, settings.margin).p
    needed = queries_needed(effect.d, alpha=settings.alpha, power=settings.power)
    found = []
    for at, (run, other) in enumerate(which):
        tests = {
            name: Tested(float(each.statistic[at]), float(each.p[at]), float("nan")) for name, each in outcomes.items()
        }
        wins, ties, losses = counts[at].tolist()
        found.append(
            Difference(
                run=run,
                other=other,
                mean=float(columns[:, at].mean()),
                low=float(low[at]),
                high=float(high[at]),
                tests=tests,
                effect=float(effect.d[at]),
                effect_low=float(effect.low[at]),
                effect_high=float(effect.high[at]),
                wins=wins,
                ties=ties,
                losses=losses,
                equivalence=float(equal[at]),
                needed=float(needed[at]),
            )
        )
    return found


def _corrected(differences: Sequence[Sequence[Difference]], settings: Settings) -> tuple[list[list[Difference]], int]:
    """Correct the p-values of each test over all differences of all measures; say how many these are."""
    flat = [each for rows in differences for each in rows]
    adjusted: dict[str, list[float]] = {}
    for name in settings.tests:
        p = np.array([each.tests[name].p for each in flat])
        adjusted[name] = CORRECTIONS[settings.correction](p).tolist()
    family = int(np.isfinite([each.tests[settings.test].p for each in flat]).sum())
    numbers = iter(range(len(flat)))
    corrected = []
    for rows in differences:
        places = [next(numbers) for _ in rows]
        corrected.append(
            [
                each._replace(
                    tests={name: one._replace(adjusted=adjusted[name][at]) for name, one in each.tests.items()}
                )
                for each, at in zip(rows, places, strict=True)
            ]
        )
    return corrected, family


def _compared(each: Aligned, rows: Sequence[Difference], settings: Settings, threads: int | None) -> Compared:
    values = each.values
    means = values.mean(axis=1)
    low, high = mean_interval(values, settings.confidence)
    best = tuple(int(run) for run in np.flatnonzero(means >= means.max() - EXACT))
    grouped, pairs_p = _groups(values, means, settings, threads)
    return Compared(
        each.measure, each.signature, each.qids, values, means, low, high, best, grouped, two_way_anova(values),
        pairs_p, tuple(rows), each.left_out,
    )  # fmt: skip


def _groups(
    values: FloatArray, means: FloatArray, settings: Settings, threads: int | None
) -> tuple[tuple[str, ...], FloatArray | None]:
    """Return the letters of the runs, and the p-values behind them."""
    if settings.groups == "none" or values.shape[1] < 2:
        return ("",) * len(values), None
    if settings.groups == "randomised-tukey":
        p = randomised_tukey(values, resamples=settings.resamples, seed=settings.seed, threads=threads)
        return letters(means, p <= settings.alpha), p
    if len(values) > MOST_SYSTEMS_FOR_P:
        apart = np.abs(means[:, None] - means[None, :]) > max(least_difference(values, settings.alpha), EXACT)
        return letters(means, apart), None
    p = tukey(values)
    return letters(means, p <= settings.alpha), p


def _notes(columns: Sequence[Aligned], names: Sequence[str]) -> list[str]:
    """Say which queries are left out, and which runs are the same."""
    notes = []
    by_queries: dict[tuple[str, ...], list[Aligned]] = {}
    for each in columns:
        if each.left_out:
            by_queries.setdefault(each.left_out, []).append(each)
    for left_out, group in by_queries.items():
        count = len(left_out)
        are = "1 query that some runs lack is" if count == 1 else f"{count} queries that some runs lack are"
        where = "" if len(group) == len(columns) else f" of {', '.join(each.measure for each in group)}"
        notes.append(
            f"{are} left out{where} ({first_of(left_out)}): all runs are compared over the same "
            f"{_queries(len(group[0].qids))}. With -c a missing query counts as an empty ranking."
        )
    alike = [
        f"{names[first]} and {names[second]}"
        for first, second in itertools.combinations(range(min(len(names), 50)), 2)
        if all(np.array_equal(each.values[first], each.values[second]) for each in columns)
    ]
    if alike:
        notes.append(f"{'; '.join(alike[:5])}{'; …' if len(alike) > 5 else ''} have the same values in every query.")
    if columns and len(columns[0].qids) == 1:
        notes.append("there is one query, so that nothing can be tested.")
    return notes


def _queries(count: int) -> str:
    return "query" if count == 1 else f"{count} queries"
