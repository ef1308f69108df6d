"""Score submissions by the judgments, conventions, measures and baseline of an assignment."""

from __future__ import annotations

import hashlib
import io
import math
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
from treceval_py.grading.rules import Rules
from treceval_py.io.judged_ranking import read_judged_ranking
from treceval_py.io.named import read_qrels
from treceval_py.scoring.evaluation import Evaluator
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
    "X210": "labels in the ranking differ from those of the judgments",
}
"""Replacements for findings that would reveal judged documents or their labels."""


class Assignment(NamedTuple):
    """The assignment; it holds paths, so that other processes can read the files.

    Attributes
    ----------
    qrels : str
        The judgments.
    baseline : str
        A run to compare with; empty for none.
    rules : Rules
        The rules.
    """

    qrels: str
    baseline: str
    rules: Rules


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


class Named(io.BytesIO):
    """Bytes of a file, with the name for messages."""

    def __init__(self, data: bytes, name: str) -> None:
        super().__init__(data)
        self.name = name


class AssignmentScorer:
    """Scores runs by the rules of an assignment.

    Parameters
    ----------
    assignment : Assignment
        The judgments, the baseline and the rules; the files are read here.

    Raises
    ------
    TrecevalError
        The judgments or the baseline cannot be read, or a measure of the rules cannot be computed.
    """

    def __init__(self, assignment: Assignment) -> None:
        self.rules = assignment.rules
        self.qrels = read_qrels(assignment.qrels)
        self._evaluators: dict[str, Evaluator] = {}
        self.baseline: Scored | None = None
        self.baseline_hash = ""
        self.notes: tuple[str, ...] = ()
        if assignment.baseline:
            self.baseline = self._baseline(assignment.baseline)

    def _baseline(self, path: str) -> Scored:
        checked = check(path, self.qrels, most=1)
        error = next((finding for finding in checked.findings if finding.severity == ERROR), None)
        if error is not None:
            raise InputError(error.what, error.todo, file=path, line=error.line or None)
        if checked.kind is None or checked.kind.name == "qrels":
            raise InputError("these are not lines of a run", "Give a run to compare with.", file=path)
        # Points may depend on the baseline, so its probable mistakes are reported; hidden judgments without documents.
        hidden = self.rules.feedback != FULL
        self.notes = tuple(
            f"the baseline {path} has a warning, {finding.code}: "
            + (CODES[finding.code].title if hidden and finding.code[0] == "R" else finding.what)
            for finding in told_findings(checked.findings, self.rules.feedback)
            if finding.severity == WARNING
        )
        with open(path, "rb") as stream:
            data = stream.read()
        self.baseline_hash = hashlib.sha256(data).hexdigest()
        return self.scored(Named(data, path), checked.kind.name)

    def scored(self, source: Named, kind: str) -> Scored:
        """Read a run, and compute the measures of the rules.

        Parameters
        ----------
        source : Named
            The file.
        kind : str
            Its kind, one of `checking.rows.KINDS`.

        Raises
        ------
        TrecevalError
            It cannot be read or scored.
        """
        profile = profile_named(JUDGED_PROFILE if kind == JUDGED else self.rules.profile)
        names = tuple(rule.name for rule in self.rules.measures)
        scoring = Scoring(names, profile, self.rules.level, complete=self.rules.complete)
        if profile.name not in self._evaluators:
            self._evaluators[profile.name] = Evaluator(self.qrels, scoring, Reading(threads=1))
        evaluator = self._evaluators[profile.name]
        own, run = read_judged_ranking(source) if kind == JUDGED else (None, evaluator.table(source))
        return Scored(source.name, profile, self.qrels, run, evaluator.scored(run), own)


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
    both = ~np.isnan(mine - theirs)
    if not both.any():
        return None
    qids = [qid for qid, there in zip(sorted(scored.qrels.qids, key=encode), both.tolist(), strict=True) if there]
    mine, theirs = mine[both], theirs[both]
    deltas = mine - theirs
    lost = np.argsort(deltas, kind="stable")[: MOST_LOSSES if feedback != AGGREGATE else 0].tolist()
    losses = [Loss(qids[at], float(mine[at]), float(theirs[at])) for at in lost if deltas[at] < 0]
    if feedback == FULL:
        losses = [loss._replace(documents=_fallen(scored, baseline, measure, loss.qid)) for loss in losses]
    better, worse, equal = (int(np.count_nonzero(there)) for there in (deltas > 0, deltas < 0, deltas == 0))
    means = float(mine.mean()), float(theirs.mean())
    p = float(paired_t(deltas[:, None]).p[0]) if len(deltas) > 1 else None
    return AgainstBaseline(baseline.name, measure, *means, len(deltas), better, worse, equal, p, tuple(losses))


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
    kept: dict[Finding, None] = {}
    for finding in findings:
        text = WITHOUT_JUDGMENTS.get(finding.code)
        kept.setdefault(finding if text is None else finding._replace(line=0, column=0, what=text))
    return tuple(kept)


def _fallen(scored: Scored, baseline: Scored, measure: str, qid: str) -> tuple[LostDocument, ...]:
    """Return the relevant documents that fell most."""
    ranks, theirs = (_ranks(side, measure, qid) for side in (scored, baseline))
    labels = scored.qrels[qid]
    level = dict(scored.results.signatures[measure].measure.parameters).get("level")
    least = max(level, 0) if isinstance(level, int) else 1  # else labels are gains, and the lowest gain counts
    relevant = [docid for docid, label in labels.items() if label >= least and docid in theirs]
    fallen = [docid for docid in relevant if docid not in ranks or ranks[docid] > theirs[docid]]
    # First those that ranked highest in the baseline, where they count most.
    fallen.sort(key=lambda docid: (theirs[docid], docid))
    return tuple(LostDocument(docid, labels[docid], ranks.get(docid), theirs[docid]) for docid in fallen[:MOST_LOST])


def _ranks(scored: Scored, measure: str, qid: str) -> dict[str, int]:
    """Return the ranks of a query's documents in the scored run."""
    task = task_of_signature(scored.results.signatures[measure], scored.qrels)
    return {document.docid: document.rank for document in dissected(task, scored.qrels, scored.run, qid).documents}
