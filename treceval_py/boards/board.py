"""A board: all runs of a folder ranked by a measure, with the caveats to know before calling one the best."""

from __future__ import annotations

import glob
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from treceval_py.boards.cache import Cached, Entry, is_within, path_in_cache, read_cache, still_there, write_cache
from treceval_py.boards.groups import BoardGroup, board_groups
from treceval_py.boards.intervals import ranges_of, rounded, shared_ranks
from treceval_py.boards.pseudonyms import pseudonyms_of
from treceval_py.comparing.gathering import comparable, usual_measures
from treceval_py.comparing.paired import mean_interval
from treceval_py.comparing.saved.files import Unscored, passed_over, run_files
from treceval_py.comparing.saved.naming import unique_names
from treceval_py.comparing.saved.reading import is_saved
from treceval_py.comparing.scores import Aligned, Scored, aligned, scored_of
from treceval_py.comparing.simultaneous import simultaneous
from treceval_py.comparing.tests import RESAMPLES, SIMULTANEOUS
from treceval_py.comparing.tuned import about_tuned
from treceval_py.comparing.variance import letters
from treceval_py.data.ids import encode, first_of, shown
from treceval_py.data.qrels import Qrels
from treceval_py.data.query_groups import QueryGroups
from treceval_py.data.ranking import narrowed
from treceval_py.data.run import Run
from treceval_py.errors import (
    EvaluationError,
    InputError,
    MeasureError,
    SuspectRunWarning,
    TrecevalError,
    brief,
    listed,
    warn,
)
from treceval_py.io.digests import base_name, digest_of, digest_of_file
from treceval_py.io.query_groups import AnyGroups, read_query_groups
from treceval_py.judging.judged import JudgedRun
from treceval_py.measuring import Measure, parse_measures
from treceval_py.measuring.registry import SUM
from treceval_py.ranges import tie_ranges
from treceval_py.rendering import show_of, text_of
from treceval_py.scoring.evaluation import Evaluator
from treceval_py.scoring.filling import part_of, results_of
from treceval_py.scoring.opening import AnyJudgments, Opened
from treceval_py.scoring.planning import Options, Reading, Scoring, settled, takes_options
from treceval_py.scoring.profiles import Profile, profile_of
from treceval_py.scoring.results import Results
from treceval_py.scoring.show import by_note
from treceval_py.scoring.signatures import Signature, explicit, fingerprint_of_queries
from treceval_py.threads import in_order
from treceval_py.version import __version__

if TYPE_CHECKING:
    from treceval_py.plots.images import Plot

JUDGED = "judged_10"
"""The measure of how complete the judgments are."""

MOST_HELD = 1 << 26
"""Largest file, in bytes, that is held in memory; larger ones are read twice to look for ties."""


EVERY = 3.0
"""Seconds from one writing of the cache to the next, at least."""

SHARE = 0.05
"""Share of the time that writing the cache may take: a large one is written less often."""


class BoardRun(NamedTuple):
    """A run on a board.

    Attributes
    ----------
    rank : int
        Its rank by the first measure, from 1; runs with equal means share one.
    name : str
        Its name on the board.
    file : str
        The name of its file, without folders.
    tag : str
        Its tag.
    means : tuple of float, length M
        The average of each measure over the same queries as for all other runs.
    low, high : float
        The t confidence interval of the first measure's average; NaN for a single query.
    letters : str
        Its groups by the first measure: two runs that share a letter do not differ significantly. Empty if there is
        nothing to test.
    judged : float
        The mean share of judged documents among the first ten; NaN if unknown.
    tied : int or None
        Number of queries in which the order of documents with equal scores changes the first measure; None if unknown.
    missing : tuple of str
        Judged queries that it lacks.
    digest : str
        The SHA-256 of its file.
    warnings : tuple of str
        Caveats about it, in a few words each.
    ranks : tuple of int, or None
        The confidence interval of its rank, best and worst; None for a single query.
    """

    rank: int
    name: str
    file: str
    tag: str
    means: tuple[float, ...]
    low: float
    high: float
    letters: str
    judged: float
    tied: int | None
    missing: tuple[str, ...]
    digest: str
    warnings: tuple[str, ...]
    ranks: tuple[int, int] | None = None


class BoardSettings(NamedTuple):
    """Settings of a board.

    Attributes
    ----------
    profile : str
        The name of the profile.
    complete : bool
        Whether judged queries that a run lacks count for it.
    alpha : float
        Level of significance of the letters.
    confidence : float
        Of the intervals.
    resamples : int
        Draws of the bootstrap for the intervals of ranks.
    seed : int
        Its random seed.
    """

    profile: str
    complete: bool
    alpha: float
    confidence: float
    resamples: int = 1000
    seed: int = 1


class Board(NamedTuple):
    """Runs ranked by the first measure.

    Attributes
    ----------
    runs : tuple of BoardRun, length S
        The runs, best first; equal ones by name.
    measures : tuple of str, length M
        The measures.
    queries : tuple of int, length M
        Number of queries that each is averaged over.
    settings : BoardSettings
        How the board was made.
    critical : float
        The absolute value of t above which two runs differ significantly in the first measure; NaN if there is nothing
        to test.
    judgments_name : str
        The name of the judgments' file, without folders.
    signatures : tuple of Signature, length M
        How each value was computed.
    notes : tuple of str
        What was left out or assumed.
    errors : tuple of Unscored
        The files that could not be scored.
    scored : int
        Number of runs scored now; the others came from the cache.
    version : str
        The version of treceval_py.
    judgments_digest : str
        The SHA-256 of the judgments' file, in hexadecimal; empty if they did not come from a file.
    groups : tuple of BoardGroup
        The runs in each group of queries, if there are groups.
    pseudonyms : mapping of str to str, or None
        The name of the run behind each pseudonym, which no output has; None if runs are named.
    headings : tuple of str, length M
        The names of the measures' means, for people, such as ``MAP``.
    """

    runs: tuple[BoardRun, ...]
    measures: tuple[str, ...]
    queries: tuple[int, ...]
    settings: BoardSettings
    critical: float
    judgments_name: str
    signatures: tuple[Signature, ...]
    notes: tuple[str, ...]
    errors: tuple[Unscored, ...]
    scored: int
    version: str = __version__
    judgments_digest: str = ""
    groups: tuple[BoardGroup, ...] = ()
    pseudonyms: Mapping[str, str] | None = None
    headings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        runs = listed([f"{brief(run.name)} {run.means[0]:.4f}" for run in self.runs], 5, 60)
        failed = f"; {len(self.errors)} not scored" if self.errors else ""
        return f"<Board of {len(self.runs)} runs by {brief(self.measures[0])}: {runs}{failed}>"

    def __str__(self) -> str:
        return text_of(self, "table")

    def _repr_html_(self) -> str:
        return text_of(self, "html")

    def plot(self, measure: str | Measure | None = None) -> Plot:
        """Plot a measure's means as bars, as in reports, to show in a notebook or to save.

        Parameters
        ----------
        measure : str, optional
            The measure. Default: the first, which has intervals.

        Raises
        ------
        MeasureError
            The board lacks the measure.
        """
        plot: Plot = show_of(self).plot_of(self, measure)
        return plot


@takes_options
def board(
    qrels: AnyJudgments,
    runs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    measures: str | Measure | Iterable[str | Measure] | None = None,
    *,
    by: str | None = None,
    without: Sequence[str | os.PathLike[str]] = (),
    alpha: float = 0.05,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 1,
    groups: AnyGroups | None = None,
    pseudonyms: str | None = None,
    cache: str | os.PathLike[str] | None = None,
    after: Callable[[], None] | None = None,
    **options: Unpack[Options],
) -> Board:
    """Rank all runs of a folder by a measure.

    Parameters
    ----------
    qrels : path, binary file, Qrels, JudgmentGroups, Preferences, dict, frame or rows
        The judgments, as in `evaluate`.
    runs : path, or sequence of paths
        Folders, patterns such as ``runs/*.gz``, and files.
    measures : name, Measure, or iterable of them, optional
        Measures to compute; the first decides the order. Default: AP, nDCG@10, RR and P@10, or the profile's.
    level, depth, judged_only, collection_size, profile, scoring, run_format, max_passage
        As in `evaluate`.
    signature
        Refused: a board is made by a profile.
    complete : bool, optional
        Count judged queries that a run lacks as empty rankings. Default: True, so that all runs are averaged over the
        same queries. Otherwise a query that the profile leaves out of one run is left out of all, so one run with few
        queries leaves few to the others.
    judgment_format : str, optional
        Format of the judgments. Default: recognised.
    by : {"tag", "file"}, optional
        How runs are named. Default: by tag if tags are unique, else by file.
    without : sequence of path
        Files to skip when a folder or pattern matches them, such as the judgments. The cache is always skipped.
    alpha : float
        Significance level of the letters, above 0 and below 1.
    confidence : float
        Confidence level of the intervals, above 0 and below 1.
    resamples : int
        Draws of the bootstrap over queries that gives the intervals of ranks, 100 to 1,000,000.
    seed : int
        Random seed of the bootstrap, 0 or higher.
    groups : path, mapping, frame, QueryGroups, or a sequence of paths or QueryGroups, optional
        Groups of queries, as of `read_query_groups`: average and rank runs within each group, too.
    pseudonyms : str, optional
        A secret key from which pseudonyms are made that replace the names of runs. Nothing that is drawn of the board
        shows names, tags or files; ``Board.pseudonyms`` has them.
    cache : path, optional
        File to cache results in, by the hash of each run file. A cached run is not scored again if measures,
        conventions, judgments and version are the same. Other runs stay in the cache while their files exist. Your own
        measures are never cached.
    threads : int, optional
        Number of files to hash and score at once, 1 to 256. Default: one per available core.
    after : callable, optional
        Called after each scored file.

    Returns
    -------
    Board
        The runs, best first, and the files that could not be scored.

    Raises
    ------
    InputError
        The judgments cannot be read, a folder is empty, a file is given twice.
    MeasureError
        A measure is unknown, or has no number for each query; a parameter is out of range.
    EvaluationError
        A measure needs another kind of judgments; the runs have no query in common; two runs have one name.

    Notes
    -----
    The letters are those of the simultaneous test of all pairs of runs, as in `compare`: a studentised bootstrap of the
    largest paired t, with 10,000 resamples, or fewer from 64 runs on, and seed 1.

    References
    ----------
    Westfall, P. H. and Young, S. S. Resampling-Based Multiple Testing. Wiley, 1993. Piepho, H.-P. An Algorithm for a
    Letter-Based Representation of All-Pairwise Comparisons. Journal of Computational and Graphical Statistics 13(2),
    2004.
    """
    scoring, reading = settled(measures, options)
    threads = reading.threads
    settings = BoardSettings("", scoring.complete is not False, alpha, confidence, resamples, seed)
    check_statistics(settings)
    by_group = () if groups is None else read_query_groups(groups)
    if isinstance(qrels, (str, os.PathLike)) and os.path.isdir(qrels):
        raise InputError("is a directory", "Give the judgments first, then the folder of runs.", file=os.fspath(qrels))
    if isinstance(runs, (str, os.PathLike)) and not (os.path.lexists(runs) or glob.has_magic(os.fspath(runs))):
        raise InputError("no such file or folder", "Check the name.", file=os.fspath(runs))
    scorer, notes = scorer_of(qrels, scoring, reading)
    if not isinstance(cache, (str, os.PathLike, NoneType)) or (after is not None and not callable(after)):
        raise EvaluationError(f"cache must be a path, not {shown(cache)}, and after a function", "Leave them out.")
    skipped = [*_paths(without), *([] if cache is None else [cache])]
    files = run_files(_paths(runs), without=skipped)
    known, about, scored = known_runs(scorer, files, cache, threads, after)
    judged_by = [qrels] if isinstance(qrels, (str, os.PathLike)) else []
    notes += about
    names = None
    if pseudonyms is None:
        notes += passed_over(_paths(runs), without=[*skipped, *judged_by])
    else:
        known, names = _disguised(known, pseudonyms, by)
        by = "file"
        if left := len(known.errors):
            notes.append(f"{left} {'file' if left == 1 else 'files'} could not be scored.")
    settings = settings._replace(profile=scorer.profile.name)
    ranking = _ranked(scorer, known, settings, by, notes, scored, by_group, threads)
    if names is not None:
        rows = tuple(run._replace(file="", digest="") for run in ranking.runs)
        ranking = ranking._replace(runs=rows, pseudonyms=names)
    return ranking._replace(judgments_digest=digest_of(qrels))


def scorer_of(qrels: AnyJudgments, scoring: Scoring, reading: Reading) -> tuple[Scorer, list[str]]:
    """Return the scorer of a board's runs, and the measures left out of sets.

    Raises
    ------
    TrecevalError
        The judgments cannot be read, or the options do not fit a board.
    """
    if scoring.signatures is not None:
        raise MeasureError("boards are scored by a profile, not by signatures", "Give measures and a profile.")
    profile = profile_of(scoring.profile)
    asked, left_out = usual_measures(profile), list[str]()
    if scoring.measures is not None:
        asked, left_out = comparable(scoring.measures, profile)
        if not asked:
            raise MeasureError("no measure to rank runs by", "Name one, such as map.")
    scoring = replace(scoring, measures=asked, profile=profile, complete=scoring.complete is not False)
    # Each run is read by one thread: as many runs are read at a time.
    reading = reading.checked()._replace(threads=1)
    return Scorer(Evaluator(qrels, scoring, reading), scoring, profile, reading), left_out


def check_statistics(settings: BoardSettings) -> None:
    """Refuse settings of statistics that are out of range."""
    for name, value in (("alpha", settings.alpha), ("confidence", settings.confidence)):
        if not isinstance(value, Real) or not 0 < value < 1:
            raise MeasureError(f"{name} must be above 0 and below 1, not {shown(value)}")
    for name, count, least, most in (
        ("resamples", settings.resamples, 100, 1_000_000),
        ("seed", settings.seed, 0, None),
    ):
        whole = isinstance(count, (int, np.integer)) and not isinstance(count, bool)
        if not whole or count < least or (most is not None and count > most):
            allowed = f"{least} or more" if most is None else f"{least} to {most}"
            raise MeasureError(f"{name} must be {allowed}, not {shown(count)}")


def _paths(runs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> Sequence[str | os.PathLike[str]]:
    given: Any = runs
    several = isinstance(runs, Iterable) and not isinstance(runs, (str, os.PathLike)) and not hasattr(runs, "columns")
    paths: list[Any] = list(given) if several else [given]
    wrong = next((path for path in paths if not isinstance(path, (str, os.PathLike))), None)
    if wrong is not None or isinstance(runs, Mapping):
        misuse = f"a board is made of files of runs, not of {shown(runs if wrong is None else wrong)}"
        raise EvaluationError(misuse, "Give paths, or compare runs in memory with te.compare.")
    return paths


class Scorer:
    """Scores each run of a board: by its measures, and by the share of judged documents."""

    def __init__(self, evaluator: Evaluator, scoring: Scoring, profile: Profile, reading: Reading) -> None:
        self.profile = profile
        self.measures = [task.asked for task in evaluator.plan.tasks]
        self.scoring = scoring
        self.reading = reading
        self.judgments = evaluator.judgments
        self.plan = evaluator.plan
        self.fingerprint = evaluator.fingerprint
        (self.reach,) = parse_measures(JUDGED)
        if isinstance(self.judgments, Qrels) and self.reach not in self.measures:
            scoring = replace(scoring, measures=[*self.measures, self.reach])
            evaluator = Evaluator(self.judgments, scoring, reading)
        self.evaluator = evaluator

    def signatures(self, qids: Sequence[Sequence[str]]) -> tuple[Signature, ...]:
        """Return the signature of each measure, given the queries that it is averaged over."""
        return tuple(
            Signature(
                explicit(task.resolved),
                task.conventions,
                len(over),
                str(self.fingerprint),
                __version__,
                task.profile,
                fingerprint_of_queries(over),
            )
            for task, over in zip(self.plan.tasks, qids, strict=True)
        )

    @property
    def key(self) -> list[str]:
        """Everything besides the run that decides its cached result."""
        signatures = self.signatures([()] * len(self.measures))
        return [*(signature.long for signature in signatures), f"reading:{tuple(self.reading)}"]

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """The range of each measure."""
        return [measure.family.bounds for measure in self.measures]

    @property
    def own(self) -> list[str]:
        """The measures from outside this package, whose code may change between two boards."""
        return [measure.name for measure in self.measures if measure.family.from_outside]

    def entry(self, file: str, digest: str) -> Entry:
        """Score a run.

        Raises
        ------
        TrecevalError
            It cannot be scored, or its bytes do not match the digest, before or after.
        """
        relevance = isinstance(self.judgments, Qrels)
        run = self.evaluator.table(file) if os.path.getsize(file) <= MOST_HELD else file
        opened = self.evaluator.open(run)
        results = results_of(opened, self.evaluator.plan, self.fingerprint)
        values = scored_of(results, "").values[:, : len(self.measures)]
        tied = _tied_queries(opened, run, results) if relevance and isinstance(run, Run) else None
        # A file that was changed and changed back would pass; one that somebody is writing does not.
        if digest_of_file(file) != digest:
            raise InputError("the file changed while it was read", "Run again when nothing writes to it.", file=file)
        judged = _judged_share(results, self.reach)
        return Entry(results.tag, results.qids, values, results.missing, judged, tied, results.signs)


def _judged_share(results: Results, judged: Measure) -> float | None:
    """Return the mean share of judged documents at the top, over the queries that the run has."""
    if judged not in results.measures:
        return None
    missing = set(results.missing)
    there = [qid not in missing for qid in results.qids]
    column = results.matrix[:, results.measures.index(judged)][there]
    return float(column.mean()) if len(column) else None


def _tied_queries(opened: Opened, run: Run, results: Results) -> int | None:
    """Count the queries in which the order of documents with equal scores changes the first measure."""
    _, measure, conventions, _ = results.tasks[0]
    if conventions.order != "score":
        return None
    if conventions.depth is not None and (conventions.judged_only or conventions.known == "retrieved"):
        return None
    if not _has_equal_scores(run, conventions.score_type):
        return 0
    # The range over all orders does not depend on the current order; that of the lines is the cheapest.
    ranking = conventions.ranking(tied=True)._replace(depth=None, ties="line")
    part, _ = part_of(opened, conventions._replace(missing="out"), ranking, measure)
    if not isinstance(part, JudgedRun) or not part.num_queries:
        return 0
    try:
        (ties,) = tie_ranges(part, [measure], conventions.depth)
    except MeasureError:  # which order is best is known for most measures, not for all
        return None
    return ties.num_touched


def _has_equal_scores(run: Run, score_type: str) -> bool:
    """Return whether two documents of a query have equal scores. Most dense runs have none, which is quick to see."""
    scores = narrowed(run.scores, score_type)
    query = np.repeat(np.arange(len(run.qids)), np.diff(run.offsets))
    same = query[1:] == query[:-1]
    if (same & (scores[1:] == scores[:-1])).any():
        return True
    if not (same & (scores[1:] > scores[:-1])).any():
        return False
    order = np.lexsort((scores, query))
    ordered = scores[order]
    return bool((same & (ordered[1:] == ordered[:-1])).any())


class Known(NamedTuple):
    """The files that were hashed, and those that could not be read."""

    files: list[str]
    digests: list[str]
    entries: list[Entry]
    errors: list[Unscored]


def known_runs(
    scorer: Scorer,
    files: Sequence[str],
    cache: str | os.PathLike[str] | None,
    workers: int | None,
    after: Callable[[], None] | None,
) -> tuple[Known, list[str], int]:
    """Return the result of each file, from the cache or scored now; notes; and the number scored."""
    path, notes = None if cache is None else os.fspath(cache), list[str]()
    if path is not None and scorer.own:
        notes.append(f"results are not cached: {', '.join(scorer.own)} may change without notice.")
        path = None
    cached = Cached({}, {})
    if path is not None:
        cached = read_cache(path, scorer.key, scorer.bounds)
        notes += [cached.note.replace(path, base_name(path))] if cached.note else []
    kept = cached.entries
    digests = list(in_order(iter(files), _digest, workers))
    wanted = {digest: file for file, digest in zip(files, digests, strict=True) if isinstance(digest, str)}
    lacking = [(file, digest) for digest, file in wanted.items() if digest not in kept]
    made: dict[str, Entry | Unscored] = {digest: kept[digest] for digest in wanted if digest in kept}
    keeper = None if path is None or not cached.writable else _Keeper(path, scorer, cached, wanted, files)
    scores = in_order(iter(lacking), lambda pair: _scored(scorer, *pair), workers)
    for (_, digest), outcome in zip(lacking, scores, strict=True):
        made[digest] = outcome
        if keeper is not None and time.monotonic() >= keeper.due:
            keeper.keep(made)
        if after is not None:
            after()
    if keeper is not None:
        keeper.keep(made)
        notes += [keeper.failure] if keeper.failure else []
    known = Known([], [], [], [])
    for file, hashed in zip(files, digests, strict=True):
        outcome = made[hashed] if isinstance(hashed, str) else hashed
        if isinstance(outcome, Unscored):
            known.errors.append(outcome._replace(file=file))
        elif isinstance(hashed, str):
            known.files.append(file)
            known.digests.append(hashed)
            known.entries.append(outcome)
    return known, notes, sum(isinstance(made[digest], Entry) for _, digest in lacking)


class _Keeper:
    """Writes the results of runs to the cache now and then, so that a board that is killed can go on.

    Attributes
    ----------
    due : float
        When to write them next, by `time.monotonic`.
    failure : str
        Why they could not be written; empty if they were.
    """

    def __init__(
        self, path: str, scorer: Scorer, cached: Cached, wanted: Mapping[str, str], given: Sequence[str]
    ) -> None:
        self._path = path
        self._key = scorer.key
        self._bounds = scorer.bounds
        self._cached = cached
        self._now = {digest: path_in_cache(file, path) for digest, file in wanted.items()}
        self._others = still_there(cached, path, {path_in_cache(file, path) for file in given})
        self._written = cached.files
        self.due = time.monotonic() + EVERY
        self.failure = ""

    def keep(self, made: Mapping[str, Entry | Unscored]) -> None:
        """Write the results of these runs and of others that still exist, unless the cache already has them."""
        begun = time.monotonic()
        there = {
            digest: entry
            for digest, entry in made.items()
            if isinstance(entry, Entry) and is_within(entry.values, self._bounds)
        }
        entries = {digest: self._cached.entries[digest] for digest in self._others} | there
        files = {digest: self._now.get(digest) or self._others[digest] for digest in entries}
        if self.failure or files == self._written:
            return
        self.failure = write_cache(self._path, self._key, entries, files).replace(self._path, base_name(self._path))
        self._written = files
        done = time.monotonic()
        self.due = math.inf if self.failure else done + max(EVERY, (done - begun) / SHARE)


def _disguised(known: Known, key: str, by: str | None) -> tuple[Known, dict[str, str]]:
    """Return runs in the order of their pseudonyms, which replace files and hashes; and the names behind these."""
    made = pseudonyms_of(key, [entry.tag for entry in known.entries], known.files, by)
    called = [pseudonym for pseudonym, _, _ in made]
    entries = [known.entries[place]._replace(tag="") for _, _, place in made]
    return Known(called, called, entries, known.errors), {pseudonym: name for pseudonym, name, _ in made}


def _digest(file: str) -> str | Unscored:
    try:
        if file == "-":
            raise InputError("standard input cannot be put on a board", "Name a file or a folder.")
        if os.path.exists(file) and not os.path.isfile(file):
            raise InputError(
                "is not a regular file, so it cannot be recognised again", "Copy it to a regular file.", file=file
            )
        return digest_of_file(file)
    except TrecevalError as error:
        return Unscored.of(file, error)


def _scored(scorer: Scorer, file: str, digest: str) -> Entry | Unscored:
    try:
        if scorer.reading.run_format is None and is_saved(file):
            misuse = "this holds saved results, but boards need runs"
            raise InputError(misuse, "Compare saved results with treceval compare.", file=file)
        return scorer.entry(file, digest)
    except TrecevalError as error:
        return Unscored.of(file, error)
    except OSError as error:  # it was removed after it was hashed
        return Unscored.of(file, InputError(f"cannot be read: {error.strerror or error}", "Check the file.", file=file))


def _ranked(
    scorer: Scorer,
    known: Known,
    settings: BoardSettings,
    by: str | None,
    notes: list[str],
    scored: int,
    by_group: Sequence[QueryGroups],
    threads: int | None,
) -> Board:
    """Average, rank and group the runs."""
    names = tuple(measure.name for measure in scorer.measures)
    headings = tuple(measure.heading for measure in scorer.measures)
    if not known.files:
        return Board(
            (), names, (0,) * len(names), settings, float("nan"), base_name(scorer.judgments.name),
            scorer.signatures([()] * len(names)), tuple(notes), tuple(known.errors), scored, headings=headings,
        )  # fmt: skip
    called = unique_names([entry.tag for entry in known.entries], known.files, by, known.digests)
    columns = aligned(scored_runs(known, names, called))
    notes += _about_queries(scorer, known, columns)
    signs = by_note(
        (name, sign.text) for name, entry in zip(called, known.entries, strict=True) for sign in entry.signs
    )
    for said in signs:
        warn(said, SuspectRunWarning)
    notes += signs
    notes += about_tuned(zip(called, known.files, known.digests, strict=True), columns[0].qids)
    notes += [note for grouping in by_group for note in grouping.notes(columns[0].qids)]
    means = np.array(
        [
            [measure.family.average(row, len(row)) for row in column.values]
            for measure, column in zip(scorer.measures, columns, strict=True)
        ]
    )
    values = columns[0].values
    low, high = mean_interval(values, settings.confidence, columns[0].bounds)
    # The interval of a sum is that of the mean times the number of queries.
    scale = values.shape[1] if scorer.measures[0].family.average is SUM else 1
    critical, groups = _groups(columns[0], settings, threads)
    ranges = ranges_of(values, settings.confidence, draws=settings.resamples, seed=settings.seed)
    warnings = _warnings(known, called)
    order = sorted(range(len(called)), key=lambda run: (-rounded(means[0, run]), encode(called[run])))
    ranks = shared_ranks([means[0, run] for run in order])
    rows = tuple(
        BoardRun(
            rank,
            called[run],
            base_name(known.files[run]),
            known.entries[run].tag,
            tuple(means[:, run].tolist()),
            float(low[run] * scale),
            float(high[run] * scale),
            groups[run],
            math.nan if (judged := known.entries[run].judged) is None else judged,
            known.entries[run].tied,
            known.entries[run].missing,
            known.digests[run],
            warnings[run],
            ranges[run],
        )
        for rank, run in zip(ranks, order, strict=True)
    )
    return Board(
        rows,
        names,
        tuple(len(column.qids) for column in columns),
        settings,
        critical,
        base_name(scorer.judgments.name),
        scorer.signatures([column.qids for column in columns]),
        tuple(notes),
        tuple(known.errors),
        scored,
        groups=board_groups(by_group, scorer.measures, columns, order),
        headings=headings,
    )


def scored_runs(known: Known, measures: tuple[str, ...], names: Sequence[str]) -> list[Scored]:
    """Return the values of the scored runs, by their names on the board."""
    return [
        Scored(name, file, entry.tag, measures, entry.qids, entry.values, (None,) * len(measures), entry.missing)
        for name, file, entry in zip(names, known.files, known.entries, strict=True)
    ]


def _groups(column: Aligned, settings: BoardSettings, threads: int | None) -> tuple[float, tuple[str, ...]]:
    """Return the critical t of all pairs, and the letters of the runs."""
    count, queries = column.values.shape
    if count < 2 or queries < 2:
        return float("nan"), ("",) * count
    tests = simultaneous(column.values, resamples=RESAMPLES[SIMULTANEOUS], seed=1, threads=threads)
    return tests.critical(settings.alpha), letters(column.values.mean(axis=1), tests.p <= settings.alpha)


def _about_queries(scorer: Scorer, known: Known, columns: Sequence[Aligned]) -> list[str]:
    """Describe how queries that some runs lack are treated."""
    notes = []
    over = len(columns[0].qids)
    same = f"all means are over the same {over} {'query' if over == 1 else 'queries'}."
    lacking = [base_name(file) for file, entry in zip(known.files, known.entries, strict=True) if entry.missing]
    if lacking and scorer.scoring.complete:
        runs = "1 run lacks" if len(lacking) == 1 else f"{len(lacking)} runs lack"
        notes.append(f"{runs} judged queries ({first_of(lacking)}), which count as empty rankings: {same}")
    left_out = columns[0].left_out
    if left_out:
        count = len(left_out)
        are = "1 query that some runs lack is" if count == 1 else f"{count} queries that some runs lack are"
        notes.append(
            f"{are} left out ({first_of(left_out)}): {same}"
            + ("" if scorer.scoring.complete else " Without --common a missing query counts as an empty ranking.")
        )
    if columns[0].values.shape[1] == 1:
        notes.append("there is only one query, so nothing can be tested.")
    return notes


def _warnings(known: Known, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the warnings about each run."""
    first: dict[str, str] = {}
    warnings = []
    for name, digest, entry in zip(names, known.digests, known.entries, strict=True):
        said = []
        judged = len(entry.qids) - len(set(entry.missing) & set(entry.qids))
        if judged and entry.missing:
            said.append(f"lacks {len(entry.missing)} {'query' if len(entry.missing) == 1 else 'queries'}")
        if entry.tied:
            said.append(f"ties matter in {entry.tied} of {judged} {'query' if judged == 1 else 'queries'}")
        said += [sign.what.partition("; ")[0] for sign in entry.signs]
        if first.setdefault(digest, name) != name:
            said.append(f"the same file as {first[digest]}")
        warnings.append(tuple(said))
    return warnings
