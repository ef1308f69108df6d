"""A board over many collections: runs ranked by the mean of their means, with intervals of the ranks."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from treceval_py._types import FloatArray
from treceval_py.boards.board import BoardSettings, check_statistics, known_runs, scored_runs, scorer_of
from treceval_py.boards.cache import cache_beside
from treceval_py.boards.collections import Collection, Collections, found_in, listed_in
from treceval_py.boards.intervals import (
    RESAMPLED,
    Resampled,
    drawn_errors,
    rank_intervals,
    rounded,
    separated,
    shared_ranks,
)
from treceval_py.comparing.gathering import gather
from treceval_py.comparing.saved.files import Unscored, passed_over, run_files
from treceval_py.comparing.saved.naming import stem, unique_names
from treceval_py.comparing.saved.reading import is_saved
from treceval_py.comparing.scores import Scored, aligned, known_measure, scored_of
from treceval_py.data.ids import encode, first_of, shown
from treceval_py.errors import EvaluationError, InputError, MeasureError, brief, listed
from treceval_py.io.digests import base_name, digest_of
from treceval_py.measuring import Measure
from treceval_py.rendering import text_of
from treceval_py.scoring.planning import AS_IT_IS, Reading, Scoring
from treceval_py.scoring.results import Results
from treceval_py.scoring.signatures import Signature
from treceval_py.version import __version__

Given: TypeAlias = "str | os.PathLike[str] | Mapping[str, Mapping[str, Results | Mapping[str, float]]]"
"""Input of a board over collections: a folder or a TOML file; or results, or values by query, by collection and run."""

VALUE = "value"
"""Name of values that were given without a measure."""

NAMED = 5
"""Most runs lacking a collection that are named; others are counted."""

MAIN = "main measure"
"""Name of the measure if collections have different ones."""


class OneCollection(NamedTuple):
    """A collection of a board.

    Attributes
    ----------
    name : str
        Its name.
    measures : tuple of str
        Its measures; the first decides.
    queries : int
        Number of queries that the deciding measure is averaged over.
    weight : float
        Its weight in the mean over collections.
    judgments : str
        The name of its judgments' file, without folders; empty if its values were given or saved.
    signatures : tuple of Signature
        How each measure was computed; empty if not known.
    judgments_digest : str
        The SHA-256 of the judgments' file; empty if there is none.
    """

    name: str
    measures: tuple[str, ...]
    queries: int
    weight: float
    judgments: str
    signatures: tuple[Signature, ...]
    judgments_digest: str = ""


class CollectionRun(NamedTuple):
    """A run on a board over K collections by M measures.

    Attributes
    ----------
    rank : int or None
        Its rank by the mean of the first measure, from 1; runs with equal means share one. None if it lacks a
        collection.
    name : str
        Its name in all collections.
    averages : tuple of float, length M
        The mean over collections of each measure; NaN if it lacks a collection.
    means : tuple of tuples of float, (K, M)
        Its means in each collection; NaN where it lacks the collection.
    ranks : tuple of int, or None
        The confidence interval of its rank, best and worst; None if there is none.
    like_next : bool or None
        Whether it does not differ significantly from the next run. None for the last one with a rank, or if nothing
        was tested.
    files : tuple of str, length K
        The name of its file in each collection, without folders; empty where there is none.
    digests : tuple of str, length K
        The SHA-256 of each; empty where there is none.
    """

    rank: int | None
    name: str
    averages: tuple[float, ...]
    means: tuple[tuple[float, ...], ...]
    ranks: tuple[int, int] | None
    like_next: bool | None
    files: tuple[str, ...]
    digests: tuple[str, ...]

    @property
    def lacking(self) -> int:
        """The number of collections that the run lacks."""
        return sum(math.isnan(means[0]) for means in self.means)


class CollectionsBoard(NamedTuple):
    """Runs ranked over many collections.

    Attributes
    ----------
    runs : tuple of CollectionRun, length S
        The runs, best first; equal ones by name. Those that lack a collection are last: they have no rank.
    collections : tuple of OneCollection, length K
        The collections.
    measures : tuple of str, length M
        The measures; the first decides.
    settings : BoardSettings
        How the board was made.
    resampled : {"both", "queries", "collections"}
        The level that the bootstrap resampled.
    critical : float
        The difference, in standard errors, above which two runs differ significantly; NaN if nothing was tested.
    notes : tuple of str
        What was left out or assumed.
    errors : tuple of Unscored
        The files that could not be scored.
    scored : int
        Number of runs scored now; the others came from caches, or were saved or given.
    version : str
        The version of treceval_py.
    """

    runs: tuple[CollectionRun, ...]
    collections: tuple[OneCollection, ...]
    measures: tuple[str, ...]
    settings: BoardSettings
    resampled: Resampled
    critical: float
    notes: tuple[str, ...]
    errors: tuple[Unscored, ...]
    scored: int
    version: str = __version__

    def __repr__(self) -> str:
        runs = listed([f"{brief(run.name)} {run.averages[0]:.4f}" for run in self.runs], 5, 60)
        over = f"{len(self.collections)} collection{'' if len(self.collections) == 1 else 's'}"
        return f"<CollectionsBoard of {len(self.runs)} runs over {over} by {brief(self.measures[0])}: {runs}>"

    def __str__(self) -> str:
        return text_of(self, "table")

    def _repr_html_(self) -> str:
        return text_of(self, "html")


class _Scores(NamedTuple):
    """The values of the runs of a collection."""

    collection: OneCollection
    names: list[str]
    files: list[str]
    digests: list[str]
    qids: list[tuple[str, ...]]
    """The queries of each measure."""
    values: FloatArray
    """(S, Q), of the deciding measure."""
    means: FloatArray
    """(S, M)"""
    notes: list[str]
    errors: list[Unscored]
    scored: int
    meant: tuple[Measure | str, ...]
    """What the names of the measures mean here; the name itself if it is unknown."""


def board_over(
    collections: Given,
    measures: str | Measure | Iterable[str | Measure] | None = None,
    *,
    scoring: Scoring | None = None,
    reading: Reading = AS_IT_IS,
    by: str | None = None,
    resampled: Resampled = "both",
    resamples: int = 1000,
    seed: int = 1,
    alpha: float = 0.05,
    confidence: float = 0.95,
    cache: bool = False,
    without: Sequence[str | os.PathLike[str]] = (),
    after: Callable[[], None] | None = None,
) -> CollectionsBoard:
    """Rank runs by the mean of their means over many collections.

    Parameters
    ----------
    collections : path, or mapping of str to mapping of str to Results or mapping
        A folder with a folder for each collection; or a TOML file that lists them, as docs/compare.md describes; or,
        for each collection, the results of each run or its value for each query.
    measures : name, Measure, or iterable of them, optional
        Measures to compute; the first decides the order. Default: the TOML file's, else as in `board`. For given
        values: the name of their measure.
    scoring : Scoring, optional
        How runs are scored. A collection's own measures, profile and level come before these.
    reading : Reading
        How files are read, and by how many threads.
    by : {"file", "tag"}, optional
        How runs are matched between collections: by the names of their files without folders and endings (default), or
        by their tags.
    resampled : {"both", "queries", "collections"}
        Level that the bootstrap resamples. ``queries``: would the order be the same with other queries for these
        collections? ``collections``: with other collections like these? ``both``: with other collections and queries.
    resamples : int
        Draws of the bootstrap, 100 to 1,000,000.
    seed : int
        Random seed of the bootstrap, 0 or higher.
    alpha : float
        Significance level for telling runs apart, of all pairs together; above 0 and below 1.
    confidence : float
        Confidence level of each interval of a rank, above 0 and below 1.
    cache : bool
        Cache the results of each collection in the folder of its runs.
    without : sequence of path
        Files to skip when a folder or pattern matches them.
    after : callable, optional
        Called after each scored file.

    Returns
    -------
    CollectionsBoard
        The runs, best first, those that lack a collection last, and the files that could not be scored.

    Raises
    ------
    InputError
        A file or folder cannot be read, or has no collection.
    EvaluationError
        A collection has no run, or two with the same name; values do not compare.
    MeasureError
        A measure is unknown, or has no number for each query; a parameter is out of range.

    Notes
    -----
    The mean over collections weighs each collection, not each query, alike, unless a TOML file has other weights.

    Examples
    --------
    >>> cars = {"a": {"1": 0.9, "2": 0.5}, "b": {"1": 0.2, "2": 0.4}}
    >>> law = {"a": {"7": 1.0, "8": 1.0}, "b": {"7": 0.5, "8": 0.5}}
    >>> found = board_over({"cars": cars, "law": law}, "nDCG@10")
    >>> [(run.rank, run.name, round(run.averages[0], 4)) for run in found.runs]
    [(1, 'a', 0.85), (2, 'b', 0.4)]
    """
    settings = BoardSettings("", True, alpha, confidence, resamples, seed)
    check_statistics(settings)
    if resampled not in RESAMPLED:
        raise MeasureError(f"resampled must be one of {', '.join(RESAMPLED)}, not {shown(resampled)}")
    if by not in (None, "tag", "file"):
        raise EvaluationError(f"runs cannot be named by {shown(by)}", "Choose 'tag' or 'file'.")
    notes: list[str] = []
    if isinstance(collections, Mapping):
        label = _label(measures)
        tables = [_given(name, runs, label) for name, runs in collections.items()]
    elif not isinstance(collections, (str, os.PathLike)):
        misuse = f"collections must be a folder, a TOML file or a mapping, not {shown(collections)}"
        raise EvaluationError(misuse, "Give values by collection, run and query.")
    else:
        meant = found_in(collections) if os.path.isdir(collections) else listed_in(collections)
        notes += meant.notes
        usual = Scoring(measures).beside(scoring)
        skipped = [os.fspath(path) for path in without]
        tables = [_scored(each, meant, usual, reading, by, skipped, after, cache=cache) for each in meant.collections]
        unused = [name for name in meant.names.values() if not any(name in table.names for table in tables)]
        notes += [f"no run has a name that [names] gives to {first_of(unused)}."] if unused else []
    if not tables:
        raise EvaluationError("there is no collection", "Give at least one.")
    return _ranked(tables, settings, resampled, notes)


def _label(measures: object) -> str:
    """Return the name of the measure that values are of."""
    if measures is None:
        return VALUE
    if isinstance(measures, Iterable) and not isinstance(measures, str):
        raise MeasureError("values have one measure", "Name one.")
    return str(measures)


# The values of a collection ---------------------------------------------------------------------------


def _given(name: str, runs: Mapping[str, Results | Mapping[str, float]], label: str) -> _Scores:
    """Return the scores of a collection whose values were given."""
    if not isinstance(runs, Mapping) or not runs:
        raise EvaluationError(f"collection {shown(name)} must map runs to results or values", "Give at least one run.")
    scored = [_values(name, run, values, label) for run, values in runs.items()]
    return _scores(Collection(name, None, ()), scored, [], [], 0)


def _values(collection: str, name: str, given: Results | Mapping[str, float], label: str) -> Scored:
    if isinstance(given, Results):
        return scored_of(given, name)
    if not isinstance(given, Mapping) or not given:
        misuse = f"run {shown(name)} of collection {shown(collection)} must have results or values by query"
        raise EvaluationError(misuse, "Give a mapping of queries to numbers.")
    qids = tuple(given)
    try:
        values = np.array(list(given.values()), dtype=np.float64).reshape(-1, 1)
    except (TypeError, ValueError):
        values = np.full((1, 1), np.nan)
    if len(values) != len(qids) or not np.isfinite(values).all():
        raise EvaluationError(f"a value of run {shown(name)} in {shown(collection)} is not a number", "Correct it.")
    return Scored(name, "", "", (label,), qids, values, (None,))


def _scored(
    collection: Collection,
    meant: Collections,
    scoring: Scoring,
    reading: Reading,
    by: str | None,
    without: Sequence[str],
    after: Callable[[], None] | None,
    *,
    cache: bool,
) -> _Scores:
    """Score the runs of a collection, or read their saved results."""
    own = {
        "measures": collection.measures or (meant.measures if scoring.measures is None else None),
        "profile": collection.profile or (meant.profile if scoring.profile is None else None),
        "level": collection.level if collection.level is not None or scoring.level is not None else meant.level,
    }
    scoring = replace(scoring, **{name: value for name, value in own.items() if value is not None})  # type: ignore[arg-type]
    judgments = [] if collection.judgments is None else [collection.judgments]
    place = cache_beside(collection.runs, meant.folder) if cache else None
    skipped = [*without, *judgments, *([] if place is None else [place])]
    files = run_files(collection.runs, without=skipped)
    notes = [f"{collection.name}: {note}" for note in passed_over(collection.runs, without=skipped)]
    if cache and place is None and cache_beside(collection.runs) is not None:
        folder = os.path.basename(os.path.abspath(meant.folder or os.curdir))
        notes.append(f"{collection.name}: its runs are outside of {folder}, so their results are not cached.")
    if all(map(is_saved, files)):
        scored = _saved(files, scoring, by)
        if judgments:
            notes.append(f"{collection.name}: all runs are saved results, so its judgments are not used.")
        return _scores(collection._replace(judgments=None), _renamed(scored, meant.names), notes, [], 0)
    if collection.judgments is None:
        first = next(file for file in files if not is_saved(file))
        raise InputError("this is not saved results, and its collection has no judgments", "Add judgments.", file=first)
    scorer, left_out = scorer_of(collection.judgments, scoring, reading)
    known, about, count = known_runs(scorer, files, place, reading.threads, after)
    names = unique_names([entry.tag for entry in known.entries], known.files, by or "file", known.digests)
    scored = scored_runs(known, tuple(measure.name for measure in scorer.measures), names)
    lacking = [name for name, entry in zip(names, known.entries, strict=True) if entry.missing]
    if lacking:
        effect = "count as empty rankings" if scorer.scoring.complete else "are left out of all"
        runs = "1 run lacks" if len(lacking) == 1 else f"{len(lacking)} runs lack"
        about = [*about, f"{runs} judged queries ({first_of(lacking)}), which {effect}."]
    notes += [f"{collection.name}: {note}" for note in (*left_out, *about)]
    scores = _scores(
        collection, _renamed(scored, meant.names), notes, known.errors, count, scorer.measures, known.digests
    )
    return scores._replace(collection=scores.collection._replace(signatures=scorer.signatures(scores.qids)))


def _saved(files: Sequence[str], scoring: Scoring, by: str | None) -> list[Scored]:
    """Read saved results; those of a single run are named after their file."""
    if scoring.chosen:
        conflict = "saved results are taken as they are, so scoring options are not used"
        raise EvaluationError(conflict, "Remove these options, or give judgments and runs.", file=files[0])
    runs = list(gather(list(files), None, Scoring(scoring.measures)).runs)
    if by == "tag":
        return [run._replace(name=run.tag or run.name) for run in runs]
    alone = {file for file in files if sum(run.file == file for run in runs) == 1}
    return [run._replace(name=stem(run.file)) if run.file in alone else run for run in runs]


def _renamed(scored: Sequence[Scored], names: Mapping[str, str]) -> list[Scored]:
    """Return the runs by their names on the board."""
    return [run._replace(name=names.get(run.name, run.name)) for run in scored]


def _scores(
    collection: Collection,
    scored: Sequence[Scored],
    notes: Sequence[str],
    errors: Sequence[Unscored],
    count: int,
    computed: Sequence[Measure] = (),
    hashes: Sequence[str] = (),
) -> _Scores:
    """Return the scores of a collection, over the queries that all of its runs have."""
    names = [run.name for run in scored]
    twice = next((name for number, name in enumerate(names) if name in names[:number]), None)
    if twice is not None:
        clash = f"two runs of collection {shown(collection.name)} are named {shown(twice)}"
        raise EvaluationError(clash, "Rename one, or remove it.")
    measures = tuple(measure.name for measure in computed)
    columns, notes = [np.empty((0, 0)) for _ in measures], [*notes]
    qids: list[tuple[str, ...]] = [()] * len(measures)
    signatures: tuple[Signature, ...] = ()
    if scored and _alike(scored):
        measures, qids = scored[0].measures, [scored[0].qids] * len(scored[0].measures)
        columns = [np.array([run.values[:, at] for run in scored]) for at in range(len(measures))]
    elif scored:
        by_measure = aligned(scored)
        measures, qids = tuple(column.measure for column in by_measure), [column.qids for column in by_measure]
        columns = [column.values for column in by_measure]
        signatures = tuple(column.signature for column in by_measure if column.signature is not None)
        left_out = by_measure[0].left_out
        if left_out:
            are = "1 query that some runs lack is" if len(left_out) == 1 else f"{len(left_out)} that some runs lack are"
            notes.append(f"{collection.name}: {are} left out ({first_of(left_out)}).")
    means = np.array([column.mean(axis=1) for column in columns]).T if scored else np.empty((0, len(measures)))
    judgments = collection.judgments or ""
    about = OneCollection(
        collection.name,
        measures,
        len(qids[0]),
        collection.weight,
        base_name(judgments),
        signatures,
        digest_of(judgments) if judgments else "",
    )
    files = [base_name(run.file) for run in scored]
    digests = list(hashes) or [digest_of(run.file) if run.file else "" for run in scored]
    failed = [error._replace(message=f"{collection.name}: {error.message}") for error in errors]
    meant: tuple[Measure | str, ...] = tuple(computed)
    if not computed:
        meant = tuple([known_measure(*scored[0].meanings[name]) or name for name in measures])
    return _Scores(about, names, files, digests, qids, columns[0], means, notes, failed, count, meant)


def _alike(scored: Sequence[Scored]) -> bool:
    """Return whether runs have values for the same queries in the same order, computed in unknown ways."""
    first = scored[0]
    return all(
        run.qids == first.qids
        and run.measures == first.measures
        and not any(run.signatures)
        and not np.isnan(run.values).any()
        for run in scored
    )


# The board ----------------------------------------------------------------------------------------------


def _ranked(
    tables: Sequence[_Scores], settings: BoardSettings, resampled: Resampled, notes: Sequence[str]
) -> CollectionsBoard:
    """Average over collections, rank, and find the intervals of the ranks."""
    said = [*notes, *(note for table in tables for note in table.notes)]
    measures, different = _measures(tables)
    said += different
    places = [{name: number for number, name in enumerate(table.names)} for table in tables]
    names = list(dict.fromkeys(name for table in tables for name in table.names))
    complete = [name for name in names if all(name in place for place in places)]
    rows = [[place[name] for name in complete] for place in places]
    weights = np.array([table.collection.weight for table in tables])
    averages = np.zeros((len(complete), len(measures)))
    for scores, row, share in zip(tables, rows, (weights / weights.sum()).tolist(), strict=True):
        averages += share * scores.means[row, : len(measures)]
    single = len(tables) == 1
    if single and resampled != "queries":
        said.append("there is only one collection, so the bootstrap is over its queries.")
    resampled = "queries" if single else resampled
    few = [table.collection.name for table in tables if table.collection.queries == 1]
    if few and resampled != "collections":
        said.append(
            f"{first_of(few)} {'has' if len(few) == 1 else 'have'} one query, so the error is unknown and counts as 0."
        )
    values = [scores.values[row] for scores, row in zip(tables, rows, strict=True)]
    tested = len(complete) > 1 and (resampled != "queries" or len(few) < len(tables))
    ranks: list[tuple[int, int] | None] = [None] * len(complete)
    apart, critical = np.zeros((len(complete), len(complete)), dtype=bool), float("nan")
    if tested:
        errors = drawn_errors(values, weights, resampled=resampled, draws=settings.resamples, seed=settings.seed)
        low, high = rank_intervals(averages[:, 0], errors, settings.confidence)
        ranks = list(zip(low.tolist(), high.tolist(), strict=True))
        apart, critical = separated(averages[:, 0], errors, settings.alpha)
    order = sorted(range(len(complete)), key=lambda run: (-rounded(averages[run, 0]), encode(complete[run])))
    listed_ranks = shared_ranks([averages[run, 0] for run in order])
    after: list[bool | None] = [bool(not apart[run, other]) if tested else None for run, other in pairwise(order)]
    runs = [
        _run(complete[run], tables, places, len(measures))._replace(
            rank=rank, averages=tuple(averages[run].tolist()), ranks=ranks[run], like_next=alike
        )
        for run, rank, alike in zip(order, listed_ranks, [*after, None], strict=False)
    ]
    lacking = [_run(name, tables, places, len(measures)) for name in names if name not in set(complete)]
    runs += sorted(lacking, key=lambda run: (run.lacking, encode(run.name)))
    return CollectionsBoard(
        tuple(runs),
        tuple(table.collection for table in tables),
        measures,
        settings,
        resampled,
        critical,
        (*said, *_about_lacking(lacking, tables)),
        tuple(error for table in tables for error in table.errors),
        sum(table.scored for table in tables),
    )


def _run(name: str, tables: Sequence[_Scores], places: Sequence[Mapping[str, int]], measures: int) -> CollectionRun:
    """Return a run that has no rank yet."""
    nothing = (float("nan"),) * measures
    rows = [(table, place.get(name)) for table, place in zip(tables, places, strict=True)]
    means = [nothing if row is None else tuple(table.means[row, :measures].tolist()) for table, row in rows]
    files = ["" if row is None else table.files[row] for table, row in rows]
    digests = ["" if row is None else table.digests[row] for table, row in rows]
    return CollectionRun(None, name, nothing, tuple(means), None, None, tuple(files), tuple(digests))


def _measures(tables: Sequence[_Scores]) -> tuple[tuple[str, ...], list[str]]:
    """Return the measures to average over collections, and a note if collections have different ones."""
    names = tables[0].collection.measures
    if len({table.meant for table in tables}) == 1:
        return names, []
    deciding = dict.fromkeys(table.meant[0] for table in tables)
    if len(deciding) == 1:
        return names[:1], [f"collections have different measures: only {names[0]}, which all have first, is averaged."]
    firsts = [next(table.collection.measures[0] for table in tables if table.meant[0] == meant) for meant in deciding]
    if len(set(firsts)) < len(firsts):  # one name, of which profiles make different measures
        firsts = [meant if isinstance(meant, str) else meant.notation for meant in deciding]
    which = ", ".join(firsts)
    return (MAIN,), [
        f"means over collections are of different measures ({which}): of each collection the first counts."
    ]


def _about_lacking(lacking: Sequence[CollectionRun], tables: Sequence[_Scores]) -> list[str]:
    """Describe the runs that lack a collection."""
    if not lacking:
        return []
    said = []
    for run in lacking[:NAMED]:
        pairs = zip(run.means, tables, strict=True)
        said.append(f"{run.name} ({first_of([each.collection.name for means, each in pairs if math.isnan(means[0])])})")
    more = f" and {len(lacking) - NAMED} more" if len(lacking) > NAMED else ""
    lack = (
        "1 run lacks a collection and has" if len(lacking) == 1 else f"{len(lacking)} runs lack a collection and have"
    )
    return [f"{lack} neither mean nor rank: {', '.join(said)}{more}."]
