"""Agreement of judges, and its effect on the order of runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Unpack

import numpy as np

from treceval_py._types import FloatArray, IntArray
from treceval_py.comparing.agreement import kendall_tau, tau_ap
from treceval_py.comparing.gathering import gather
from treceval_py.comparing.paired import SAME
from treceval_py.comparing.saved.naming import unique_names
from treceval_py.comparing.scores import Aligned, aligned
from treceval_py.comparing.simultaneous import simultaneous_each
from treceval_py.data.ids import encode, first_of, shown
from treceval_py.data.qrels import Qrels
from treceval_py.errors import EvaluationError, MeasureError, brief, listed
from treceval_py.judges.coefficients import LEVELS, WEIGHTS, krippendorff_alpha, weighted_kappa
from treceval_py.measuring import Measure
from treceval_py.rendering import text_of
from treceval_py.scoring.evaluation import Evaluator
from treceval_py.scoring.opening import AnyJudgments, AnyRun, load_judgments
from treceval_py.scoring.planning import Options, settled, takes_options
from treceval_py.scoring.profiles import profile_of
from treceval_py.version import __version__

MOST_GRADES = 100
"""Most different grades; more are probably scores, whose confusion table nobody could read."""

ABSENT = -1
"""The place of the grade of a document that a judge did not judge."""


class Estimate(NamedTuple):
    """A value with its interval, by the bootstrap over queries.

    Attributes
    ----------
    value : float
        The value; NaN if undefined.
    low, high : float
        The limits of the interval; NaN for fewer than two queries.
    """

    value: float
    low: float
    high: float


class QueryAgreement(NamedTuple):
    """Agreement of two judges on a query.

    Attributes
    ----------
    qid : str
        The query.
    common, only_first, only_second : int
        Documents that both judged, and those that only one of them judged.
    same : float
        The share of common documents with the same grade; NaN if there are none.
    kappa, quadratic : float
        Cohen's kappa and the quadratically weighted kappa; NaN if undefined.
    bias : float
        Mean grade of the second judge minus that of the first, over common documents.
    """

    qid: str
    common: int
    only_first: int
    only_second: int
    same: float
    kappa: float
    quadratic: float
    bias: float


class PairOfJudges(NamedTuple):
    """Agreement of two judges, over the documents that both judged.

    Attributes
    ----------
    first, second : int
        Numbers of the judges.
    common, only_first, only_second : int
        Documents (of a query) that both judged, and those that only one of them judged.
    same : float
        The share of common documents with the same grade.
    kappa, linear, quadratic : Estimate
        Cohen's kappa of grades: unweighted, weighted by the distance of grades, and by its square.
    relevant : Estimate
        Cohen's kappa of binary relevance, by the lowest relevant grade.
    overlap : float
        Documents relevant to both, of those relevant to either (Voorhees, 2000); NaN if there are none.
    bias : float
        Mean grade of the second judge minus that of the first: above 0 if the second is more lenient.
    confusion : (G, G) int array
        Number of documents to which the first judge gave the grade of the row and the second that of the column.
    queries : tuple of QueryAgreement
        The agreement per query, for queries that both judged.
    """

    first: int
    second: int
    common: int
    only_first: int
    only_second: int
    same: float
    kappa: Estimate
    linear: Estimate
    quadratic: Estimate
    relevant: Estimate
    overlap: float
    bias: float
    confusion: IntArray
    queries: tuple[QueryAgreement, ...]

    def __repr__(self) -> str:
        judges = f"judges {self.first} and {self.second}"
        return f"<PairOfJudges {judges}: κ {self.kappa.value:.4f} over {self.common:,} documents>"


class OrderOfRuns(NamedTuple):
    """Two judges' orders of the runs by a measure.

    Attributes
    ----------
    measure : str
        The measure.
    first, second : int
        Numbers of the judges.
    queries : int
        Number of queries that both means are over.
    means : (2, S) float array
        The mean of each run by the first judge and by the second.
    tau : float
        Kendall's tau-b of the means; NaN for one run, or if all means are equal.
    tau_ap : Estimate
        AP correlation, with the first judge's order as the truth.
    same, opposite, only_first, only_second, neither : int
        Pairs of runs that differ significantly: by both judges in the same direction, by both in opposite directions,
        by only the first, by only the second, by neither.
    flips : tuple of (int, int)
        The pairs that are significant by both in opposite directions, the better run by the first judge first.
    changes : tuple of (int, int, int)
        The pairs that are significant by only one judge: the better run, the other, and the number of the judge.
    swapped : int
        Pairs whose means are in the opposite order, significant or not.
    """

    measure: str
    first: int
    second: int
    queries: int
    means: FloatArray
    tau: float
    tau_ap: Estimate
    same: int
    opposite: int
    only_first: int
    only_second: int
    neither: int
    flips: tuple[tuple[int, int], ...]
    changes: tuple[tuple[int, int, int], ...]
    swapped: int


class Agreement(NamedTuple):
    """Agreement of judges; prints as tables.

    Attributes
    ----------
    judges : tuple of str, length J
        Names of the judges, or of their judgments.
    judged : tuple of int, length J
        Number of documents (of a query) that each judged.
    grades : tuple of int, length G
        The grades that were given, ascending.
    level : int
        The lowest grade that counts as relevant.
    pairs : tuple of PairOfJudges
        Each pair of judges.
    alpha : dict of str to Estimate
        Krippendorff's alpha of all judges: "nominal", "ordinal", "interval".
    runs : tuple of str, length S
        The names of the runs.
    orders : tuple of OrderOfRuns
        For each pair of judges and each measure; empty without runs.
    settings : dict
        Confidence, significance (of the tests), bootstrap, seed, and whether only common documents were scored.
    signatures : dict of str to Signature
        How the runs were scored, by measure.
    version : str
        The version of treceval_py.
    notes : tuple of str
        What was left out or assumed.
    """

    judges: tuple[str, ...]
    judged: tuple[int, ...]
    grades: tuple[int, ...]
    level: int
    pairs: tuple[PairOfJudges, ...]
    alpha: Mapping[str, Estimate]
    runs: tuple[str, ...]
    orders: tuple[OrderOfRuns, ...]
    settings: Mapping[str, Any]
    signatures: Mapping[str, Any]
    notes: tuple[str, ...]
    version: str = __version__

    def __repr__(self) -> str:
        pairs = listed(
            [f"{self.judges[p.first]} and {self.judges[p.second]} κ {p.kappa.value:.4f}" for p in self.pairs]
        )
        return f"<Agreement of {len(self.judges)} judges: {pairs}>"

    def __str__(self) -> str:
        return text_of(self, "table")

    def _repr_html_(self) -> str:
        return text_of(self, "html")


class _Labels(NamedTuple):
    """The labels of all judges: the queries, the query of each document, and places of grades."""

    qids: tuple[str, ...]
    query: IntArray
    grades: tuple[int, ...]
    places: IntArray  # (J, U)


@takes_options
def agree(
    judgments: Sequence[AnyJudgments] | Mapping[str, AnyJudgments],
    runs: Iterable[AnyRun] | Mapping[str, AnyRun] = (),
    measures: str | Measure | Sequence[str | Measure] | None = None,
    *,
    common: bool = False,
    alpha: float = 0.05,
    confidence: float = 0.95,
    bootstrap: int = 2000,
    resamples: int = 10_000,
    seed: int = 1,
    **options: Unpack[Options],
) -> Agreement:
    """Measure how judges agree, and whether they order runs alike.

    Parameters
    ----------
    judgments : sequence or mapping, length J ≥ 2
        The judgments of each judge, a person or a program, in any form that `evaluate` accepts. Keys name the judges.
        Negative judgments mean "not judged" and are left out.
    runs : sequence or mapping of runs, length S, optional
        Runs in any form that `evaluate` accepts.
    measures : name, Measure or sequence of them, optional
        Measures by which the runs are ordered. Default: those of `compare`.
    level : int, optional
        Lowest relevant grade. Default: the profile's, usually 1.
    profile, complete, depth, judged_only, collection_size, signature, scoring
        How runs are scored, as in `evaluate`.
    common : bool
        Score runs with only those judgments that all judges made. Otherwise each judge's judgments are used as they
        are, so documents that only one judge left out matter, too.
    alpha : float
        Significance level of the tests between runs, above 0 and below 1.
    confidence : float
        Confidence level of intervals, above 0 and below 1.
    bootstrap : int
        Resamples of queries behind the intervals.
    resamples : int
        Resamples of the simultaneous test between runs.
    seed : int
        Random seed.
    run_format, judgment_format, max_passage, threads
        As in `evaluate`.

    Returns
    -------
    Agreement
        The agreement of each pair of judges, of all of them, and of the orders of runs.

    Raises
    ------
    EvaluationError
        There are fewer than two judges, they share no document, or a run is given twice.
    MeasureError
        An option is out of range, a measure is unknown, or judgments have more than 100 grades.
    InputError
        A file cannot be read.

    Notes
    -----
    Documents of one query are not independent, so intervals are from a percentile bootstrap over queries. Two runs
    differ significantly by a judge if they do in the simultaneous test of `compare` over all pairs of runs.

    References
    ----------
    Jacob Cohen. A coefficient of agreement for nominal scales. Educational and Psychological Measurement 20(1), 37-46,
    1960. Jacob Cohen. Weighted kappa. Psychological Bulletin 70(4), 213-220, 1968. Klaus Krippendorff. Computing
    Krippendorff's alpha-reliability. University of Pennsylvania, 2011. Ellen M. Voorhees. Variations in relevance
    judgments and the measurement of retrieval effectiveness. Information Processing & Management 36(5), 697-716, 2000.
    Emine Yilmaz, Javed A. Aslam and Stephen Robertson. A new rank correlation coefficient for information retrieval.
    SIGIR 2008.

    Examples
    --------
    >>> anna = {"1": {"a": 1, "b": 0, "c": 1}, "2": {"d": 0, "e": 1}}
    >>> ben = {"1": {"a": 1, "b": 1, "c": 1}, "2": {"d": 0, "e": 1}}
    >>> found = agree({"anna": anna, "ben": ben})
    >>> found.pairs[0].same, round(found.pairs[0].kappa.value, 4)  # (4/5 - 14/25) / (1 - 14/25)
    (0.8, 0.5455)
    """
    _check(alpha=alpha, confidence=confidence, bootstrap=bootstrap, seed=seed)
    scoring, reading = settled(measures, options)
    names, tables = _judges(judgments, reading.judgment_format)
    notes: list[str] = []
    labels = _labels(names, tables, notes)
    least = scoring.level if scoring.level is not None else profile_of(scoring.checked().profile).level
    weights = _draws(len(labels.qids), bootstrap, seed)
    pairs = tuple(
        _pair(labels, first, second, least, weights, confidence)
        for first, second in itertools.combinations(range(len(names)), 2)
    )
    alphas = _alphas(labels, weights, confidence)
    given = list(runs.values()) if isinstance(runs, Mapping) else list(runs)
    called: tuple[str, ...] = ()
    orders: tuple[OrderOfRuns, ...] = ()
    signatures: dict[str, Any] = {}
    if given:
        used = _common(tables, labels) if common else tables
        table = Evaluator(used[0], scoring, reading).table
        loaded = [table(each) for each in given]
        gathered = [
            gather(loaded, each, scoring, reading, names=list(runs) if isinstance(runs, Mapping) else None)
            for each in used
        ]
        called = tuple(run.name for run in gathered[0].runs)
        notes += [note for each in gathered for note in each.notes if note not in notes]
        columns = [_aligned(each.runs, names[at]) for at, each in enumerate(gathered)]
        signatures = {column.measure: column.signature for column in columns[0] if column.signature is not None}
        settings = (alpha, confidence, bootstrap, resamples, seed, reading.threads)
        orders = tuple(
            _order(columns[first][at], columns[second][at], first, second, settings, notes)
            for first, second in itertools.combinations(range(len(names)), 2)
            for at in range(len(columns[0]))
        )
    elif common:
        notes.append("common (--common) has no effect without runs.")
    said = {"alpha": alpha, "confidence": confidence, "bootstrap": bootstrap, "resamples": resamples, "seed": seed}
    return Agreement(
        names,
        tuple(int((row != ABSENT).sum()) for row in labels.places),
        labels.grades,
        least,
        pairs,
        alphas,
        called,
        orders,
        {**said, "common": common},
        signatures,
        tuple(notes),
    )


def _check(*, alpha: float, confidence: float, bootstrap: int, seed: int) -> None:
    for name, value in (("alpha", alpha), ("confidence", confidence)):
        if not isinstance(value, (int, float)) or not 0 < value < 1:
            raise MeasureError(f"{name} must be above 0 and below 1, not {shown(value)}")
    for name, value, least in (("bootstrap", bootstrap, 1), ("seed", seed, 0)):
        if not isinstance(value, int) or value < least:
            raise MeasureError(f"{name} must be a whole number from {least}, not {shown(value)}")


def _judges(given: Any, format: str | None) -> tuple[tuple[str, ...], list[Qrels]]:
    """Return the names of the judges and their judgments."""
    several = isinstance(given, (Mapping, Sequence)) and not isinstance(given, (str, bytes, Qrels))
    if not several:
        raise EvaluationError(
            f"judgments must be a list or a dictionary of judgments, not {shown(given)}", "List two or more."
        )
    each = list(given.values()) if isinstance(given, Mapping) else list(given)
    if len(each) < 2:
        raise EvaluationError("agreement needs the judgments of two judges or more", "Add another.")
    tables = [load_judgments(one, format) for one in each]
    for table in tables:
        if not isinstance(table, Qrels):
            raise EvaluationError("agreement needs relevance judgments (qrels)", "Remove the others.")
    if isinstance(given, Mapping):
        return tuple(map(str, given)), [table for table in tables if isinstance(table, Qrels)]
    files = [table.name for table in tables]
    if len(set(files)) < len(files):
        return tuple(f"judge {number}" for number in range(1, len(files) + 1)), tables  # type: ignore[return-value]
    return unique_names([""] * len(files), files), tables  # type: ignore[return-value]


def _labels(names: Sequence[str], tables: Sequence[Qrels], notes: list[str]) -> _Labels:
    """Align the labels of all judges, document by document."""
    qids = tuple(sorted({qid for table in tables for qid in table}, key=encode))
    grades = sorted({int(grade) for table in tables for grade in np.unique(table.rels) if grade >= 0})
    if len(grades) > MOST_GRADES:
        raise MeasureError(f"there are {len(grades)} different grades, but at most {MOST_GRADES} are supported")
    place = {grade: number for number, grade in enumerate(grades)}
    query: list[int] = []
    columns: list[list[int]] = [[] for _ in tables]
    for number, qid in enumerate(qids):
        judged = [table.get(qid, {}) for table in tables]
        docids = dict.fromkeys(docid for labels in judged for docid, grade in labels.items() if grade >= 0)
        query += [number] * len(docids)
        for labels, column in zip(judged, columns, strict=True):
            column += [place.get(labels.get(docid, ABSENT), ABSENT) for docid in docids]
    places = np.array(columns, dtype=np.int64)
    negative = {name: int((table.rels < 0).sum()) for name, table in zip(names, tables, strict=True)}
    for name, count in negative.items():
        if count:
            are = "1 negative judgment is" if count == 1 else f"{count} negative judgments are"
            notes.append(f"{brief(name)}: {are} treated as not judged.")
    several = (places != ABSENT).sum(axis=0) > 1
    if not several.any():
        disjoint = f"no document was judged by two of the judges ({listed(names)})"
        raise EvaluationError(disjoint, "Check that the judgments have the same queries and documents.")
    alone = sorted({int(row) for row in query} - set(np.array(query)[several].tolist()))
    if alone:
        are = "1 query has" if len(alone) == 1 else f"{len(alone)} queries have"
        notes.append(f"{are} no document that two judges judged ({first_of([qids[at] for at in alone])}).")
    return _Labels(qids, np.array(query, dtype=np.int64), tuple(grades), places)


def _draws(queries: int, bootstrap: int, seed: int) -> FloatArray:
    """Return how often each query is in each resample; the first row has each query once."""
    generator = np.random.default_rng(seed)
    draws, chances = np.ones((bootstrap + 1, queries)), np.full(queries, 1 / queries)
    for row in draws[1:]:  # all at once would need three times the memory
        row[:] = generator.multinomial(queries, chances)
    return draws


def _estimate(values: FloatArray, confidence: float, queries: int) -> Estimate:
    """Return the first value with the percentiles of the others."""
    drawn = values[1:][~np.isnan(values[1:])]
    if queries < 2 or not len(drawn) or np.isnan(values[0]):
        return Estimate(float(values[0]), float("nan"), float("nan"))
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Estimate(float(values[0]), float(low), float(high))


def _pair(labels: _Labels, first: int, second: int, least: int, weights: FloatArray, confidence: float) -> PairOfJudges:
    one, two = labels.places[first], labels.places[second]
    both = (one != ABSENT) & (two != ABSENT)
    only = [(one != ABSENT) & ~both, (two != ABSENT) & ~both]
    count, size = len(labels.qids), len(labels.grades)
    flat = (labels.query[both] * size + one[both]) * size + two[both]
    tables = np.bincount(flat, minlength=count * size * size).reshape(count, size, size).astype(np.float64)
    grades = np.array(labels.grades, dtype=np.float64)
    drawn = (weights @ tables.reshape(count, -1)).reshape(-1, size, size)
    shared = int(np.count_nonzero(tables.sum(axis=(1, 2))))
    kappa, linear, quadratic = (_estimate(weighted_kappa(drawn, grades, each), confidence, shared) for each in WEIGHTS)
    relevant = grades >= least
    sides = (~relevant, relevant)
    binary = np.stack([np.stack([drawn[:, a][:, :, b].sum(axis=(1, 2)) for b in sides], -1) for a in sides], -2)
    kappa_binary = _estimate(weighted_kappa(binary, np.array([0.0, 1.0])), confidence, shared)
    whole = tables.sum(axis=0)
    either = whole[relevant].sum() + whole[:, relevant].sum() - whole[np.ix_(relevant, relevant)].sum()
    return PairOfJudges(
        first,
        second,
        int(both.sum()),
        int(only[0].sum()),
        int(only[1].sum()),
        _share(np.trace(whole), whole.sum()),
        kappa,
        linear,
        quadratic,
        kappa_binary,
        _share(whole[np.ix_(relevant, relevant)].sum(), either),
        _bias(whole, grades),
        whole.astype(np.int64),
        tuple(_by_query(labels, tables, only, grades)),
    )


def _by_query(labels: _Labels, tables: FloatArray, only: Sequence[Any], grades: FloatArray) -> list[QueryAgreement]:
    kappa, quadratic = weighted_kappa(tables, grades), weighted_kappa(tables, grades, "quadratic")
    counts = tables.sum(axis=(1, 2))
    alone = [np.bincount(labels.query[each], minlength=len(labels.qids)) for each in only]
    return [
        QueryAgreement(
            qid,
            int(counts[at]),
            int(alone[0][at]),
            int(alone[1][at]),
            _share(np.trace(tables[at]), counts[at]),
            float(kappa[at]),
            float(quadratic[at]),
            _bias(tables[at], grades),
        )
        for at, qid in enumerate(labels.qids)
        if counts[at]
    ]


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else float("nan")


def _bias(table: FloatArray, grades: FloatArray) -> float:
    return _share(float((table * (grades[None, :] - grades[:, None])).sum()), float(table.sum()))


def _alphas(labels: _Labels, weights: FloatArray, confidence: float) -> dict[str, Estimate]:
    """Return Krippendorff's alpha of all judges."""
    count, size = len(labels.qids), len(labels.grades)
    given = np.stack([(labels.places == place).sum(axis=0) for place in range(size)]).astype(np.float64)  # (G, U)
    labelled = given.sum(axis=0)
    kept = labelled > 1
    given, query, others = given[:, kept], labels.query[kept], labelled[kept] - 1
    tables = np.zeros((count, size, size))
    for one, two in itertools.product(range(size), repeat=2):
        pairs = given[one] * (given[two] - (one == two)) / others
        tables[:, one, two] = np.bincount(query, pairs, minlength=count)
    drawn = (weights @ tables.reshape(count, -1)).reshape(-1, size, size)
    grades = np.array(labels.grades, dtype=np.float64)
    shared = int(np.count_nonzero(tables.sum(axis=(1, 2))))
    return {level: _estimate(krippendorff_alpha(drawn, grades, level), confidence, shared) for level in LEVELS}


def _common(tables: Sequence[Qrels], labels: _Labels) -> list[Qrels]:
    """Return each judge's judgments of the documents that all of them judged."""
    by_all: dict[str, set[str]] = {}
    for qid in labels.qids:
        judged = [{d for d, grade in table[qid].items() if grade >= 0} if qid in table else set() for table in tables]
        by_all[qid] = set.intersection(*judged)
    if not any(by_all.values()):
        raise EvaluationError("no document was judged by all judges", "Remove common (--common).")
    return [
        Qrels({q: {d: grade for d, grade in table[q].items() if d in docids} for q, docids in by_all.items() if docids})
        for table in tables
    ]


def _aligned(runs: Sequence[Any], judge: str) -> list[Aligned]:
    try:
        return aligned(runs)
    except EvaluationError as error:
        raise EvaluationError(f"by {brief(judge)}, {error.what}", error.todo) from None


def _order(
    one: Aligned, two: Aligned, first: int, second: int, settings: tuple[Any, ...], notes: list[str]
) -> OrderOfRuns:
    """Compare two judges' orders of the runs by a measure, over the queries that both have."""
    alpha, confidence, bootstrap, resamples, seed, threads = settings
    there = {qid: at for at, qid in enumerate(two.qids)}
    shared = [(at, there[qid]) for at, qid in enumerate(one.qids) if qid in there]
    if not shared:
        raise EvaluationError(f"no query has a value of {one.measure} from both judges", "Choose other judgments.")
    apart = len(one.qids) + len(two.qids) - 2 * len(shared)
    if apart:
        are = (
            "query that only one of two judges has is" if apart == 1 else "queries that only one of two judges has are"
        )
        said = f"{apart} {are} left out of the orders of runs."
        if said not in notes:
            notes.append(said)
    left = one.values[:, [at for at, _ in shared]]
    right = two.values[:, [at for _, at in shared]]
    means = np.stack([left.mean(axis=1), right.mean(axis=1)])
    weights = _draws(len(shared), bootstrap, seed) / len(shared)
    drawn = np.array(
        [tau_ap(_settled(a), _settled(b)) for a, b in zip(weights @ left.T, weights @ right.T, strict=True)]
    )
    runs = len(left)
    counts = dict.fromkeys(("same", "opposite", "only_first", "only_second", "neither"), 0)
    flips, changes, swapped = [], [], 0
    if runs > 1:
        tested = simultaneous_each([left, right], resamples=resamples, seed=seed, threads=threads)
        for a, b in itertools.combinations(range(runs), 2):
            gaps = [float(row[a] - row[b]) for row in means]
            signs = [0 if abs(gap) <= SAME else (1 if gap > 0 else -1) for gap in gaps]
            significant = [bool(test.p[a, b] <= alpha) and sign != 0 for test, sign in zip(tested, signs, strict=True)]
            swapped += signs[0] * signs[1] < 0
            if all(significant):
                kind = "same" if signs[0] == signs[1] else "opposite"
                if kind == "opposite":
                    flips.append((a, b) if signs[0] > 0 else (b, a))
            elif any(significant):
                kind = "only_first" if significant[0] else "only_second"
                better = signs[0] if significant[0] else signs[1]
                changes.append((*((a, b) if better > 0 else (b, a)), first if significant[0] else second))
            else:
                kind = "neither"
            counts[kind] += 1
    tau = kendall_tau(_settled(means[0]), _settled(means[1])) if runs > 1 else float("nan")
    correlation = _estimate(drawn, confidence, len(shared))
    return OrderOfRuns(
        one.measure, first, second, len(shared), means, tau, correlation, **counts,
        flips=tuple(flips), changes=tuple(changes), swapped=swapped,
    )  # fmt: skip


def _settled(means: FloatArray) -> FloatArray:
    """Return the means, with means that differ only by rounding errors made equal."""
    return np.round(means, 12)
