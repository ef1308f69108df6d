"""Choose the weights of a fusion by judgments, and estimate the gain without bias.

A setting tested on the queries on which it was chosen looks better than it is. So queries are divided into folds, and
each fold is fused with the setting that is best on the other folds. The reported mean is that of this run, in which no
query influenced its own setting.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import numpy as np

from treceval_py._types import Data, FloatArray, IntArray, Source
from treceval_py.data.ids import encode, shown
from treceval_py.data.run import Run
from treceval_py.errors import DataError, EvaluationError, brief, listed, warn
from treceval_py.fusing.fusing import Fused, check_several, opened
from treceval_py.fusing.listing import ListedRun
from treceval_py.fusing.methods import METHODS, Fusion
from treceval_py.measuring import Measure
from treceval_py.measuring.registry import COUNT, TEXT
from treceval_py.runs.record import hash_of_query
from treceval_py.scoring.evaluation import Evaluator
from treceval_py.scoring.opening import AnyJudgments
from treceval_py.scoring.planning import Scoring
from treceval_py.scoring.profiles import Profile

DEFAULT_MEASURE = "nDCG@10"
"""The default measure, whose mean decides."""

MOST_SETTINGS = 1001
"""Most weightings to try: those of five runs in steps of 0.1; with more runs the steps are larger."""

STEPS = (10, 5, 4, 2)
"""Numbers of parts into which the sum of the weights may be divided, finest first."""


class Choice(NamedTuple):
    """The setting chosen on some queries.

    Attributes
    ----------
    fusion : Fusion
        The setting.
    mean : float
        The mean of the measure on the queries on which it was chosen.
    held_out : float
        The mean on the queries of the fold, which were not used; NaN for the choice on all queries.
    queries : int
        Number of queries used.
    alike : int
        Number of settings within one standard error of the best, itself included: the standard error of their mean
        difference over these queries.
    """

    fusion: Fusion
    mean: float
    held_out: float
    queries: int
    alike: int


class Chosen(NamedTuple):
    """The chosen settings and their gains.

    Attributes
    ----------
    folds : tuple of Choice
        The choice for each fold, made on all other folds.
    final : Choice
        The choice made on all queries, for queries without judgments.
    usual : float
        The mean over all queries of the first setting, with equal weights.
    nested : float
        The mean over all queries, each with the setting of its fold: the estimate for new queries.
    settings : int
        Number of settings tried.
    first : Fusion
        The first setting.
    """

    folds: tuple[Choice, ...]
    final: Choice
    usual: float
    nested: float
    settings: int
    first: Fusion


class Tuned(NamedTuple):
    """Settings of a fusion chosen by judgments.

    Attributes
    ----------
    chosen : Chosen
        The settings and their means.
    measure : str
        The measure whose mean was maximised.
    folds : dict of str to int
        The fold of each judged query, from 0.
    """

    chosen: Chosen
    measure: str
    folds: dict[str, int]

    def __repr__(self) -> str:
        chosen = self.chosen
        return f"<Tuned by {brief(self.measure)}: {chosen.final.fusion.tag()}, {chosen.nested:.4f} held out>"

    def fusion_of(self, qid: str) -> Fusion:
        """Return the setting of query `qid`: its fold's, or the final one if it has no judgments."""
        fold = self.folds.get(qid)
        return self.chosen.final.fusion if fold is None else self.chosen.folds[fold].fusion

    def record(self) -> dict[str, Any]:
        """Return the entry for the record of a run: all choices, and the hashes of the queries used."""
        return {
            "nested": True,
            "queries": sorted(map(hash_of_query, self.folds)),
            "measure": self.measure,
            "settings": self.chosen.settings,
            "usual": self.chosen.usual,
            "nested_mean": self.chosen.nested,
            "folds": [_record(choice) for choice in self.chosen.folds],
            "final": _record(self.chosen.final),
        }


def _record(choice: Choice) -> dict[str, Any]:
    said = {**choice._asdict(), "fusion": asdict(choice.fusion)}
    if math.isnan(choice.held_out):  # JSON has no NaN
        del said["held_out"]
    return said


class Tuning(NamedTuple):
    """How to choose settings.

    Attributes
    ----------
    fusions : list of Fusion
        The methods with their normalisations to choose from, the usual one first.
    evaluator : Evaluator
        Judgments, and one measure.
    folds : int
        Number of parts that the queries are divided into.
    """

    fusions: list[Fusion]
    evaluator: Evaluator
    folds: int = 5


class Before(NamedTuple):
    """The setting chosen for an earlier fusion.

    Attributes
    ----------
    fusion : Fusion
        The setting.
    tuned : dict
        The queries on which it was chosen, for the record of a run fused with it.
    tags : list of str
        The tags of the runs for which it was chosen.
    depth : int or None
        Documents used of each list.
    """

    fusion: Fusion
    tuned: dict[str, Any]
    tags: list[str]
    depth: int | None

    def check_runs(self, runs: Sequence[ListedRun], depth: int | None) -> list[str]:
        """Refuse runs that do not fit the setting, and return notes on other differences.

        Raises
        ------
        DataError
            The number of runs differs, or weights would apply to other runs than those for which they were chosen.
        """
        tags, record = [run.tag for run in runs], self.tuned["chosen_in"]
        if len(tags) != len(self.tags):
            mismatch = f"its setting was chosen for {len(self.tags)} runs, and {len(tags)} are given"
            raise DataError(mismatch, "Fuse runs of the same systems, in the same order.", file=record)
        if self.fusion.weights is not None and tags != self.tags and sorted(tags) == sorted(self.tags):
            mismatch = f"its weights are for runs in another order: {', '.join(self.tags)}"
            raise DataError(mismatch, "Give runs in that order.", file=record)
        notes = []
        if sorted(tags) != sorted(self.tags):
            for_these = f"was chosen for {', '.join(self.tags)}, and is used for {', '.join(tags)}"
            notes.append(f"{record}: its setting {for_these}, in this order.")
        if depth != self.depth:
            was = "without a depth" if self.depth is None else f"with depth {self.depth}"
            notes.append(f"{record}: its setting was chosen {was}.")
        return notes


def tuned_before(record: str) -> Before:
    """Return the final setting of an earlier tuned fusion, with the runs for which it was chosen.

    Parameters
    ----------
    record : str
        The record next to the tuned run.

    Raises
    ------
    DataError
        It cannot be read, or is not the record of a tuned fusion.
    """
    try:
        with open(record, "rb") as stream:
            said = json.loads(stream.read())
        tuned = said["tuned"]
        final = tuned["final"]["fusion"]
        weights = None if final["weights"] is None else tuple(final["weights"])
        fusion = Fusion(**{**final, "weights": weights})
        queries = [str(query) for query in tuned["queries"]]
        tags, depth = [str(source["tag"]) for source in said["inputs"]], said["fusion"]["depth"]
        fusion.check_runs(len(tags))
    except OSError as error:
        unreadable = f"cannot be read: {error.strerror or error}"
        raise DataError(unreadable, "Name the record beside a run that was made with --tune.", file=record) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        mistaken = "is not the record of a fusion whose settings were chosen"
        raise DataError(mistaken, "Name the record beside a run that was made with --tune.", file=record) from None
    return Before(fusion, {"queries": queries, "nested": False, "chosen_in": record}, tags, depth)


def grid(fusions: Sequence[Fusion], runs: int) -> list[Fusion]:
    """Return the settings to choose from, the usual ones first.

    Parameters
    ----------
    fusions : sequence of Fusion
        The methods with their normalisations, without weights; the first one is the usual one.
    runs : int
        Number of runs to fuse.

    Returns
    -------
    list of Fusion
        Each method with equal weights; then, for methods that take weights, all weights in steps of 0.1 that sum to 1,
        the nearest to equal ones first. With more than five runs the steps are larger.

    Raises
    ------
    DataError
        A method has weights already, or there is nothing to choose from.
    """
    if any(fusion.weights is not None for fusion in fusions):
        raise DataError("weights cannot be both given and chosen", "Remove one of the two.")
    settings = list(dict.fromkeys(fusions))
    for fusion in fusions:
        if METHODS[fusion.method].weighted:
            settings += [replace(fusion, weights=weights) for weights in _weights(runs)]
    if len(settings) < 2:
        no_choice = f"{fusions[0].method} takes no weights, so there is nothing to choose"
        weighted = ", ".join(name for name, method in METHODS.items() if method.weighted)
        raise DataError(no_choice, f"Give several methods, or one of {weighted}.")
    return settings


def _weights(runs: int) -> list[tuple[float, ...]]:
    """Return weights that sum to 1, except equal weights, by their distance from equal weights."""
    parts = next((step for step in STEPS if math.comb(step + runs - 1, runs - 1) <= MOST_SETTINGS), STEPS[-1])
    # Stars and bars: the positions of the bars determine the number of parts of each run.
    divisions = [
        tuple(np.diff([-1, *bars, parts + runs - 1]) - 1)
        for bars in itertools.combinations(range(parts + runs - 1), runs - 1)
    ]
    unequal = [counts for counts in divisions if len(set(counts)) > 1]
    unequal.sort(key=lambda counts: (sum(int(count) ** 2 for count in counts), [-int(count) for count in counts]))
    return [tuple(int(count) / parts for count in counts) for counts in unequal]


def folds_of(qids: Sequence[str], folds: int) -> IntArray:
    """Return the fold of each query, by the hash of its id, so the order of queries does not matter.

    Raises
    ------
    DataError
        There are fewer than two folds, or fewer queries than folds.
    """
    if not isinstance(folds, (int, np.integer)) or folds < 2:
        raise DataError(f"folds is {shown(folds)}", "Give a whole number from 2.")
    if not len(qids):
        raise DataError("no query of the runs is judged", "Give judgments of the same queries.")
    if len(qids) < 4:
        shortage = f"only {len(qids)} of the queries {'is' if len(qids) == 1 else 'are'} judged"
        raise DataError(shortage, "Give judgments of four or more: two folds of two queries.")
    if len(qids) < 2 * folds:
        shortage = f"there are {len(qids)} judged queries for {folds} folds"
        raise DataError(shortage, "Give fewer folds: each needs two queries.")
    order = sorted(range(len(qids)), key=lambda at: hashlib.sha256(encode(qids[at])).digest())
    fold = np.empty(len(qids), dtype=np.int64)
    fold[order] = np.arange(len(qids)) % folds
    return fold


def choose(settings: Sequence[Fusion], values: FloatArray, folds: IntArray) -> Chosen:
    """Choose a setting for each fold, on the queries of the other folds, and one on all queries.

    Parameters
    ----------
    settings : sequence of Fusion, length S
        The settings, the usual one first.
    values : (S, Q) float array
        The value of the measure for each query with each setting.
    folds : (Q,) int array
        The fold of each query, from 0.

    Returns
    -------
    Chosen
        Of settings with equal means, the first is chosen.
    """
    chosen = []
    for fold in range(int(folds.max()) + 1):
        out = folds == fold
        best, choice = _best(settings, values[:, ~out])
        chosen.append(choice._replace(held_out=math.fsum(values[best, out].tolist()) / int(out.sum())))
    sizes = np.bincount(folds).tolist()
    nested = math.fsum(choice.held_out * size for choice, size in zip(chosen, sizes, strict=True)) / len(folds)
    usual = math.fsum(values[0].tolist()) / len(folds)
    return Chosen(tuple(chosen), _best(settings, values)[1], usual, nested, len(settings), settings[0])


def _best(settings: Sequence[Fusion], values: FloatArray) -> tuple[int, Choice]:
    """Return the best setting on these queries."""
    count = values.shape[1]
    means = [math.fsum(row) / count for row in values.tolist()]
    best = means.index(max(means))
    lost = values[best] - values
    error = lost.std(axis=1, ddof=1) / math.sqrt(count)
    alike = int((lost.mean(axis=1) <= error).sum())
    return best, Choice(settings[best], means[best], math.nan, count, alike)


def tune(fused: Fused, tuning: Tuning) -> Tuned:
    """Choose settings by the judged queries of the runs.

    Parameters
    ----------
    fused : Fused
        The runs.
    tuning : Tuning
        The settings to choose from, and the judgments and measure to choose by.

    Returns
    -------
    Tuned
        The settings.

    Raises
    ------
    DataError
        There is nothing to choose from, too few queries are judged, or a method cannot fuse the scores.
    EvaluationError
        The name means several measures, or the measure has no value per query.
    """
    evaluator = tuning.evaluator
    settings = grid(tuning.fusions, len(fused.runs))
    tasks = evaluator.plan.tasks
    measure = tasks[0].asked
    if len(tasks) > 1 or not measure.family.per_query or measure.family.kind in (TEXT, COUNT):
        misuse = f"settings cannot be chosen by {listed([task.asked.name for task in tasks])}"
        raise EvaluationError(misuse, "Give one measure with a value per query, such as map or nDCG@10.")
    qids: list[str] = []
    columns: list[FloatArray] = []
    known = set(evaluator.judgments.qids)
    judged = [qid for qid in fused.qids if qid in known]
    for group, runs in fused.tried(judged, settings):
        results = [evaluator.scored(run) for run in runs]
        first, those = results[0], set(group)
        # Under some profiles, queries that a run lacks count too; here, these are the queries of the other groups.
        rows = [row for row, qid in enumerate(first.qids) if qid in those and first.counted[row, 0]]
        qids += [first.qids[row] for row in rows]
        columns.append(np.stack([each.matrix[rows, 0] for each in results]))
    of = folds_of(qids, tuning.folds)
    values = np.hstack(columns)
    if not values.any():
        all_zero = f"{measure.name} is 0 for every query with every setting"
        raise DataError(all_zero, "Give judgments of the collection that the runs rank.", file=evaluator.judgments.name)
    return Tuned(choose(settings, values, of), measure.name, dict(zip(qids, of.tolist(), strict=True)))


class TunedFusion(NamedTuple):
    """A fused run, in which each query has a setting chosen without it, and the settings.

    Attributes
    ----------
    run : Run
        The run.
    tuned : Tuned
        The settings.
    """

    run: Run
    tuned: Tuned

    def __repr__(self) -> str:
        return f"<TunedFusion {self.run!r} {self.tuned!r}>"


def tune_fusion(
    qrels: AnyJudgments,
    runs: Sequence[Run | Data | Source],
    method: str | Sequence[str] = "weighted",
    *,
    norm: str | Sequence[str] | None = None,
    measure: str | Measure = DEFAULT_MEASURE,
    folds: int = 5,
    profile: str | Profile | None = None,
    rrf_k: float = 60,
    rbc_phi: float = 0.8,
    depth: int | None = None,
    k: int | None = 1000,
    strict: bool = False,
    tag: str | None = None,
    max_passage: str | None = None,
) -> TunedFusion:
    """Fuse runs with weights chosen by cross-validation; the fused run shows their gain on new queries.

    Parameters
    ----------
    qrels : judgments
        As in `evaluate`. Queries without judgments are fused with the setting that is best on all judged ones.
    runs : sequence of Run, path, or objects of other forms
        As in `fuse`.
    method : str or sequence of str
        The methods to choose from, as in `fuse`, each with weights if it takes them.
    norm : str or sequence of str, optional
        The normalisations to choose from, for methods that use scores. Default: min-max.
    measure : str or Measure
        The measure whose mean over queries decides.
    folds : int
        Number of parts that queries are divided into, by a hash of their ids. Each part is fused with the setting that
        is best on the others.
    profile : str or Profile, optional
        The conventions of the measure.
    rrf_k, rbc_phi, depth, k, strict, tag, max_passage
        As in `fuse`.

    Returns
    -------
    TunedFusion
        The run and the settings; ``tuned.chosen.final`` is the setting for other queries.

    Raises
    ------
    DataError
        As in `fuse`, or too few queries are judged, or there is nothing to choose from.
    MeasureError
        The measure is unknown.
    EvaluationError
        The measure has no value per query.

    Examples
    --------
    Only the second run finds the relevant document of each query, so it gets more weight:

    >>> qrels = {f"q{number}": {"a": 1} for number in range(8)}
    >>> one, other = ({qid: {first: 2.0, "c": 1.0} for qid in qrels} for first in "ba")
    >>> found = tune_fusion(qrels, [one, other], folds=2)
    >>> found.tuned.chosen.final.fusion.weights, found.tuned.chosen.nested
    ((0.4, 0.6), 1.0)
    """
    check_several(runs)
    fusions = fusions_of(_each(method, "method"), [None] if norm is None else _each(norm, "norm"), rrf_k, rbc_phi)
    tuning = Tuning(fusions, Evaluator(qrels, Scoring(measures=[measure], profile=profile)), folds)
    with opened(runs, max_passage=max_passage) as listed_runs:
        tuned = tune(Fused(listed_runs, lambda _: fusions[0], depth, k, strict=strict), tuning)
        fused = Fused(listed_runs, tuned.fusion_of, depth, k, strict=strict)
        run = fused.run(tag or "tuned")
    for sentence in fused.notes(tuned.chosen.final.fusion):
        warn(sentence)
    return TunedFusion(run, tuned)


def _each(given: str | Sequence[str], what: str) -> list[str]:
    names = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else []
    if not names:
        raise DataError(f"{what} is {given!r:.40}", "Give a name, or a list of names to choose from.")
    return names


def fusions_of(methods: Sequence[str], norms: Sequence[str | None], rrf_k: float, rbc_phi: float) -> list[Fusion]:
    """Return each method with each normalisation that it takes.

    Raises
    ------
    DataError
        A method or normalisation is unknown, or no method uses a normalisation.
    """
    by_score = [
        name for name in methods if not isinstance(name, str) or name not in METHODS or METHODS[name].value is None
    ]
    fusions = [
        Fusion(method, norm if method in by_score or not by_score else None, None, rrf_k, rbc_phi)
        for method in methods
        for norm in norms
    ]
    return list(dict.fromkeys(fusions))
