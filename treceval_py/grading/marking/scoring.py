"""Score submissions by the judgments, conventions, measures and baseline of an assignment."""

from __future__ import annotations

import hashlib
import math
import pathlib
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from treceval_py._types import FloatArray
from treceval_py.checking.catalogue import CODES
from treceval_py.checking.checking import check
from treceval_py.checking.findings import ERROR, WARNING, Finding
from treceval_py.comparing.paired import paired_t
from treceval_py.data.ids import encode
from treceval_py.data.qrels import Qrels
from treceval_py.data.run import Run
from treceval_py.errors import InputError
from treceval_py.explaining.terms import dissected, task_of_signature
from treceval_py.grading.records import JUDGED, AgainstBaseline, Loss, LostDocument
from treceval_py.grading.rules import Task
from treceval_py.io.judged_ranking import read_judged_ranking
from treceval_py.io.named import read_qrels
from treceval_py.io.source import Text
from treceval_py.scoring.evaluation import Evaluator
from treceval_py.scoring.noticing import biased
from treceval_py.scoring.planning import Reading, Scoring
from treceval_py.scoring.profiles import Profile, profile_named
from treceval_py.scoring.results import Results

JUDGED_PROFILE = "coursework"
"""The profile for judged rankings."""

MOST_LOSSES, MOST_LOST = 3, 3
"""Most queries named that lost most against the baseline, and most documents of each, if the rules allow it."""


AGGREGATE, FULL = "aggregate", "full"
"""Values of `Rules.feedback`: reveal nothing about single queries, or all of the judgments."""

WITHOUT_JUDGMENTS = {
    "X205": "not one document is judged for its query",
    "X210": "labels in the ranking differ from the judgments",
}
"""Replacements for findings that would reveal judged documents or their labels."""


class Scored(NamedTuple):
    """A run with its numbers.

    Attributes
    ----------
    name : str
        The file.
    profile : Profile
        The profile it is scored under.
    qrels : Qrels
        The judgments.
    run : Run
        The run.
    results : Results
        The numbers.
    own : Qrels or None
        The labels in a judged ranking, which do not count.
    """

    name: str
    profile: Profile
    qrels: Qrels
    run: Run
    results: Results
    own: Qrels | None = None


class AssignmentScorer:
    """Scores runs by the rules of an assignment.

    Parameters
    ----------
    assignment : Task
        The judgments, the baseline and the rules; the files are read here.

    Raises
    ------
    TrecevalError
        The judgments or the baseline cannot be read, or a measure of the rules cannot be computed.
    """

    def __init__(self, assignment: Task) -> None:
        self.rules = assignment.rules
        self.qrels = read_qrels(assignment.qrels)
        self._evaluators: dict[str, Evaluator] = {}
        self.baseline: Scored | None = None
        self.baseline_hash, self.notes = "", tuple[str, ...]()
        if self.qrels.sample is not None:
            tasks = self._evaluator(profile_named(self.rules.profile)).plan.tasks
            self.notes = tuple(sign.text.removesuffix(".") for sign in biased(self.qrels, tasks))
        if not (path := assignment.baseline):
            return
        checked = check(self.qrels, path, most=1)
        error = next((finding for finding in checked.findings if finding.severity == ERROR), None)
        if error is not None:
            raise InputError(error.what, error.todo, file=path, line=error.line or None)
        if checked.kind is None or checked.kind.name == "qrels":
            raise InputError("these are not lines of a run", "Give a run to compare with.", file=path)
        # Points may depend on the baseline, so its probable mistakes are reported; hidden judgments without documents.
        hidden = self.rules.feedback != FULL
        self.notes += tuple(
            f"the baseline {path} has a warning, {finding.code}: "
            + (CODES[finding.code].title if hidden and finding.code[0] == "R" else finding.what)
            for finding in told_findings(checked.findings, self.rules.feedback)
            if finding.severity == WARNING
        )
        data = pathlib.Path(path).read_bytes()
        self.baseline_hash = hashlib.sha256(data).hexdigest()
        self.baseline = self.scored(Text(data, path), checked.kind.name)

    def scored(self, source: Text, kind: str) -> Scored:
        """Read a run, and compute the measures of the rules.

        Parameters
        ----------
        source : Text
            The file.
        kind : str
            Its kind, one of `checking.rows.KINDS`.

        Raises
        ------
        TrecevalError
            It cannot be read or scored.
        """
        profile = profile_named(JUDGED_PROFILE if kind == JUDGED else self.rules.profile)
        evaluator = self._evaluator(profile)
        own, run = read_judged_ranking(source) if kind == JUDGED else (None, evaluator.table(source))
        return Scored(source.name, profile, self.qrels, run, evaluator.scored(run), own)

    def _evaluator(self, profile: Profile) -> Evaluator:
        if (evaluator := self._evaluators.get(profile.name)) is None:
            names = tuple(rule.name for rule in self.rules.measures)
            scoring = Scoring(names, profile, self.rules.level, complete=self.rules.complete)
            evaluator = self._evaluators[profile.name] = Evaluator(self.qrels, scoring, Reading(threads=1))
        return evaluator


def against(scored: Scored, baseline: Scored, measure: str, feedback: str) -> AgainstBaseline | None:
    """Compare a submission with the baseline, over the queries for which both have values.

    Parameters
    ----------
    scored, baseline : Scored
        Compared only if both are scored under the same profile.
    measure : str
        The measure, one of the rules.
    feedback : str
        How much of the judgments is revealed, as in `Rules.feedback`: documents are named only with ``full``, and
        queries not with ``aggregate``.

    Returns
    -------
    AgainstBaseline or None
        None if they cannot be compared.
    """
    if scored.profile.name != baseline.profile.name:
        return None
    mine, theirs = (values_by_query(side, measure) for side in (scored, baseline))
    deltas = mine - theirs
    both = deltas[~np.isnan(deltas)]
    if not len(both):
        return None
    qids, losses = sorted(scored.qrels.qids, key=encode), []
    for at in np.argsort(deltas, kind="stable")[: MOST_LOSSES if feedback != AGGREGATE else 0].tolist():  # NaN is last
        if deltas[at] < 0:
            documents = _fallen(scored, baseline, measure, qids[at]) if feedback == FULL else ()
            losses.append(Loss(qids[at], float(mine[at]), float(theirs[at]), documents))
    better, worse, equal = (int(np.count_nonzero(there)) for there in (both > 0, both < 0, both == 0))
    value, reference = (float(values[~np.isnan(deltas)].mean()) for values in (mine, theirs))
    p = float(paired_t(both[:, None]).p[0]) if len(both) > 1 else None
    return AgainstBaseline(baseline.name, measure, value, reference, len(both), better, worse, equal, p, tuple(losses))


def values_by_query(scored: Scored, measure: str) -> FloatArray:
    """Return the values of a measure for each judged query, in byte order; NaN if it does not count. (T,)."""
    results = scored.results
    number = results.names.index(measure)
    column = np.where(results.counted[:, number], results.matrix[:, number], math.nan)
    values = dict(zip(results.qids, column.tolist(), strict=True))
    return np.array([values.get(qid, math.nan) for qid in sorted(scored.qrels.qids, key=encode)], dtype=np.float64)


def told_findings(findings: Iterable[Finding], feedback: str) -> tuple[Finding, ...]:
    """Return findings without judged documents and their labels, unless the rules let students see them.

    Parameters
    ----------
    findings : iterable of Finding
        The findings of a check against the judgments.
    feedback : str
        How much of the judgments is revealed, as in `Rules.feedback`.

    Returns
    -------
    tuple of Finding
        The findings. Those that would reveal judgments are replaced by one per kind, without a line.
    """
    if feedback == FULL:
        return tuple(findings)
    texts = ((finding, WITHOUT_JUDGMENTS.get(finding.code)) for finding in findings)
    return tuple(dict.fromkeys(kept._replace(line=0, column=0, what=text) if text else kept for kept, text in texts))


def _fallen(scored: Scored, baseline: Scored, measure: str, qid: str) -> tuple[LostDocument, ...]:
    """Return the relevant documents that fell most."""
    ranks, theirs = (
        {document.docid: document.rank for document in dissected(task, side.qrels, side.run, qid).documents}
        for side in (scored, baseline)
        for task in (task_of_signature(side.results.signatures[measure], side.qrels),)
    )
    labels = scored.qrels[qid]
    level = dict(scored.results.signatures[measure].measure.parameters).get("level")
    least = max(level, 0) if isinstance(level, int) else 1  # else labels are gains, and the lowest gain counts
    lost = [
        LostDocument(docid, label, ranks.get(docid), theirs[docid])
        for docid, label in labels.items()
        if label >= least and docid in theirs and (docid not in ranks or ranks[docid] > theirs[docid])
    ]
    # First those that ranked highest in the baseline, where they count most.
    return tuple(sorted(lost, key=lambda document: (theirs[document.docid], document.docid))[:MOST_LOST])
