"""Evaluate runs: compute results from judgments, a run and measures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import NoneType
from typing import Unpack, cast

import numpy as np

from treceval_py.data.groups import JudgmentGroups
from treceval_py.data.ids import shown
from treceval_py.data.preferences import Preferences
from treceval_py.data.qrels import Qrels
from treceval_py.data.run import Run
from treceval_py.errors import InputError, MeasureError, brief, listed, warn
from treceval_py.io.source import Watch
from treceval_py.io.trec import Judgments
from treceval_py.measuring import Measure
from treceval_py.scoring.filling import results_of
from treceval_py.scoring.opening import (
    AnyJudgments,
    AnyRun,
    Opened,
    check_kinds,
    format_for,
    load_judgments,
    load_run,
    open_run,
)
from treceval_py.scoring.planning import AS_IT_IS, AS_USUAL, Options, Plan, Reading, Scoring, settled, takes_options
from treceval_py.scoring.profiles import Profile
from treceval_py.scoring.results import Results
from treceval_py.scoring.signatures import Fingerprint


@takes_options
def evaluate(
    qrels: AnyJudgments,
    run: AnyRun,
    measures: str | Measure | Iterable[str | Measure] | None = None,
    *,
    watch: Watch | None = None,
    **options: Unpack[Options],
) -> Results:
    """Score a run against judgments.

    A run file in TREC's format is judged while it is read. In dictionaries, only judged documents are looked up.

    Parameters
    ----------
    qrels : path, binary file, Qrels, JudgmentGroups, Preferences, dict, frame or rows
        The judgments. A file in TREC's or BEIR's format, JSON, JSON Lines, Parquet or ``"ir_datasets:NAME"``; an
        object in memory as for `Qrels`; or a (Q, D) array of labels, one row per query and one column per document. If
        all measures need judgments by group or subtopic, it is read as such.
    run : path, binary file, Run, dict, frame or rows
        The run. A file in TREC's or MS MARCO's format, JSON, JSON Lines or Parquet; an object in memory as for `Run`; a
        (Q, D) array of scores; or a tuple of scores (Q, k), ids (Q, k) and, unless they are "0" to "Q - 1", the queries
        (Q,). Labels and scores may also be lists, as in scikit-learn: a list for each query, or one of numbers.
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
    max_passage : str, optional
        Documents are ranked by the best of their segments (MaxP). The id of a segment is that of the document, this
        text and more: with ``"#"``, ``d1#3`` is a segment of ``d1``.
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
    TrecevalWarning
        What else the command notes: queries without judgments are not scored, no query counts, the top of the scale is
        taken from the judgments, lines are replaced by later ones, or a value can differ from that of the profile's
        program (see `Results.differences`).
    SuspectRunWarning
        The run shows signs of a mistake, such as scores that are distances; also in ``Results.signs``.

    Examples
    --------
    >>> results = evaluate({"1": {"a": 1, "b": 0}}, {"1": {"b": 0.9, "a": 0.5}}, ["map", "recip_rank"])
    >>> results["1"]["map"], results.mean["recip_rank"]
    (0.5, 0.5)
    """
    if isinstance(qrels, _LISTS) and isinstance(run, _LISTS):
        from treceval_py.judging.arrays import labels_and_scores

        qrels, run = labels_and_scores(qrels, run)
    return Evaluator(qrels, *settled(measures, options)).score(run, watch)


_LISTS = (list, tuple, np.ndarray)


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
            fault = f"scoring must be a te.Scoring, not {shown(scoring)}"
            raise MeasureError(fault, "Put the measures and options into one: te.Scoring(['map']).")
        if not isinstance(reading, Reading) or {*map(type, reading)} != {NoneType}:
            reading = Reading.checked(reading)
        self._reading = reading
        scoring = scoring if scoring.duplicates else scoring.checked()
        self.judgments: Judgments
        if isinstance(qrels, (Qrels, JudgmentGroups, Preferences, Mapping)):
            self.judgments = load_judgments(qrels)
        else:
            named = self._reading.judgment_format or format_for(scoring.named)
            self.judgments = load_judgments(qrels, named, duplicates=scoring.duplicates)
        self.fingerprint = Fingerprint(self.judgments)
        self.profile = cast("Profile", scoring.profile)
        self.plan: Plan = scoring.plan(self.judgments.max_rel, self.fingerprint)
        self.repeats = scoring.signatures is not None
        check_kinds([task.asked for task in self.plan.tasks], self.judgments)

    def __repr__(self) -> str:
        judged, measures = self.judgments, [task.asked.name for task in self.plan.tasks]
        of = f"{brief(judged.name)!r}, {len(judged.qids):,} queries"
        return f"<Evaluator of {of}: {listed(measures)}; {brief(self.plan.profile)}>"

    def score(self, run: AnyRun, watch: Watch | None = None) -> Results:
        """Score `run`, as `evaluate` does, with the same errors and warnings; `watch` sees the run while it is read."""
        results = self.scored(run, watch)
        from treceval_py.scoring.show import notes_of

        for text, kind in notes_of(results, python=True, fixed=self.repeats):
            if kind is not None:
                warn(text, kind)
        return results

    def scored(self, run: AnyRun, watch: Watch | None = None) -> Results:
        """Score `run` as `score` does (with `watch`), but without warnings: the caller gives them."""
        opened = open_run(self.judgments, run, self._reading, self.plan, watch=watch)
        try:
            return results_of(opened, self.plan, self.fingerprint)
        except InputError as error:
            if error.file != self.judgments.name or not error.what.endswith("not a run"):
                raise
            todo = "The file is given twice. Give a run second."
            raise InputError(error.what, todo, file=error.file, line=error.line) from None

    def open(self, run: AnyRun) -> Opened:
        """Return `run` ready for several computations, which share its judged runs."""
        return open_run(self.judgments, run, self._reading, self.plan, keep=True)

    def table(self, run: AnyRun) -> Run:
        """Return `run` as a table, treating repeated documents as the plan does."""
        return load_run(run, self._reading, duplicates=self.plan.duplicates, judgments=self.judgments)
