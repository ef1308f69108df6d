"""Check a file that may be a run, repair it if that loses nothing, and score it."""

from __future__ import annotations

import hashlib
import io
from typing import Any, NamedTuple

from treceval_py.checking.catalogue import CODES
from treceval_py.checking.checking import Checked as CheckedFile
from treceval_py.checking.checking import check
from treceval_py.checking.findings import ERROR
from treceval_py.checking.fixing import fix
from treceval_py.errors import TrecevalError, visible
from treceval_py.grading.claims.reconciling import Ways
from treceval_py.grading.intake.candidates import RunFile
from treceval_py.grading.intake.found import IntakeError
from treceval_py.grading.intake.items import Item
from treceval_py.grading.marking.scoring import AssignmentScorer, Named, Scored, told_findings
from treceval_py.grading.marking.similarity import ranking_of
from treceval_py.grading.records import JUDGED, REFUSED, REPAIRED, SCORED, Graded
from treceval_py.grading.rule_keys import Rules
from treceval_py.io.source import peek

OTHER_LABELS = "X210"
"""The finding that the labels in a judged ranking differ from those of the assignment."""

UPSIDE_DOWN = frozenset(("X209", "R119"))
"""Findings that the lowest scores of a run are probably the best: distances, or ranks."""

KEPT_FINDINGS = 20
"""Findings of each code that are kept per submission; the others are only counted."""


class Tried(NamedTuple):
    """A file that may be a run, and the result of trying it.

    Attributes
    ----------
    file : RunFile
        The file.
    graded : Graded
        The record of the submission if this run counts, without the parts that only the counting run needs.
    size : int
        Its size in bytes, unpacked.
    tag : str
        The run's tag; empty if it is not scored.
    scored : Scored or None
        The run with its values; None if it was refused.
    ways : Ways or None
        The ways in which numbers could have been computed from it.
    own : Ways or None
        The same by the labels in a judged ranking, if it is scored by other labels.
    right : tuple of bool
        Which of the submission's claims are right for it, if this was computed.
    """

    file: RunFile
    graded: Graded
    size: int = 0
    tag: str = ""
    scored: Scored | None = None
    ways: Ways | None = None
    own: Ways | None = None
    right: tuple[bool, ...] = ()

    @property
    def is_scored(self) -> bool:
        """Whether it could be scored."""
        return self.graded.status != REFUSED

    @property
    def contradicts(self) -> bool:
        """Whether its labels differ from those of the assignment."""
        return OTHER_LABELS in self.graded.counts

    def having(self, **fields: Any) -> Tried:
        """Return it with changed fields of its record."""
        return self._replace(graded=self.graded._replace(**fields))


class Trier:
    """Tries runs by the rules of an assignment.

    Parameters
    ----------
    scoring : AssignmentScorer
        Scores the runs.

    Attributes
    ----------
    baseline : Ways or None
        The ways in which numbers of the baseline could have been computed, if there is one.
    """

    def __init__(self, scoring: AssignmentScorer) -> None:
        self.rules = scoring.rules
        self._scoring = scoring
        self.baseline = None if scoring.baseline is None else self._ways(scoring.baseline, distances=False)

    def tried(self, file: RunFile, graded: Graded) -> Tried:
        """Check and score a file that may be a run.

        Parameters
        ----------
        file : RunFile
            The file.
        graded : Graded
            The record of the submission so far.

        Returns
        -------
        Tried
            The result, with the reason if it was refused.
        """
        name = visible(file.item.name)
        tried = Tried(file, graded._replace(status=REFUSED, run=name))
        try:
            data = bytes_of(file.item)
        except IntakeError as error:
            return tried.having(reason=visible(error.what))
        tried = tried.having(hash_of_run=hashlib.sha256(data).hexdigest())
        most = most_bytes(self.rules)
        tried = tried._replace(size=len(peek(Named(data, name), most + 1)[0]))
        if tried.size > most:
            return tried.having(reason=f"{name} is more than {self.rules.megabytes:g} MB when unpacked")
        checked, data, repairs = self._checked(data, name, judged=file.kind == JUDGED)
        shape = checked.shape
        tried = tried.having(
            kind="" if checked.kind is None else checked.kind.name,
            lines=checked.lines,
            queries=0 if shape is None else len(shape.counts),
            documents=0 if shape is None else shape.documents,
            findings=told_findings(checked.findings, self.rules.feedback),
            counts=dict(checked.counts),
            repairs=repairs,
        )
        if checked.kind is None or (checked.errors and not repairs):
            return tried.having(reason=_first_error(checked))
        try:
            scored = self._scoring.scored(Named(data, name), checked.kind.name)
        except TrecevalError as error:
            return tried.having(reason=visible(_at(error.line or 0, error.what)))
        return self._with_numbers(tried, scored).having(status=REPAIRED if repairs else SCORED)

    def _with_numbers(self, tried: Tried, scored: Scored) -> Tried:
        results, names = scored.results, [rule.name for rule in self.rules.measures]
        distances = not UPSIDE_DOWN.isdisjoint(tried.graded.counts)
        tried = tried._replace(tag=scored.run.tag, scored=scored, ways=self._ways(scored, distances))
        if scored.own is not None:
            tried = tried._replace(own=self._ways(scored._replace(qrels=scored.own), distances, own=True))
        hash_of_ranking, tops = ranking_of(scored.run, scored.qrels.qids, scored.profile)
        return tried.having(
            profile=scored.profile.name,
            missing_queries=(len(results.missing), len(scored.qrels)),
            measures={name: results.mean[name] for name in names},
            signatures={name: str(results.signatures[name]) for name in names},
            hash_of_ranking=hash_of_ranking,
            tops=tops,
        )

    def _ways(self, scored: Scored, distances: bool, *, own: bool = False) -> Ways:
        """Return the ways in which numbers could have been computed from a run; ``own``: by the labels in it."""
        return Ways(
            scored.qrels,
            scored.run,
            scored.profile,
            complete=self.rules.complete and not own,
            level=self.rules.level,
            values={} if own else scored.results.mean,
            tolerance=self.rules.tolerance,
            distances=distances,
        )

    def _checked(self, data: bytes, name: str, *, judged: bool) -> tuple[CheckedFile, bytes, tuple[str, ...]]:
        """Check a run, and repair it if it can be scored then."""
        checked = self._check(data, name, JUDGED if judged else None)
        # The fourth column is not a label then, but a rank, say.
        if checked.kind is not None and checked.kind.name == "qrels":
            checked = self._check(data, name, "run")
        errors = [CODES[code] for code in checked.counts if CODES[code].severity == ERROR]
        if not errors or checked.kind is None or not all(error.fixed for error in errors):
            return checked, data, ()
        mended = io.BytesIO()
        try:
            fixed = fix(Named(data, name), mended, checked.kind)
        except TrecevalError:
            return checked, data, ()
        if self._check(mended.getvalue(), name, checked.kind.name).errors:
            return checked, data, ()
        return checked, mended.getvalue(), fixed.repairs

    def _check(self, data: bytes, name: str, kind: str | None) -> CheckedFile:
        return check(Named(data, name), self._scoring.qrels, kind=kind, most=KEPT_FINDINGS)


def most_bytes(rules: Rules) -> int:
    """Return the largest allowed size of a file, unpacked."""
    return int(rules.megabytes * (1 << 20))


def bytes_of(item: Item) -> bytes:
    """Read a submitted file; raises like `Item.opened`."""
    with item.opened() as stream:
        return stream.read()


def _first_error(checked: CheckedFile) -> str:
    first = next((finding for finding in checked.findings if finding.severity == ERROR), None)
    if first is None:
        return "its format has no lines, such as JSON or Parquet; only runs with lines are graded"
    more, such = checked.errors - 1, "such finding" if checked.errors == 2 else "such findings"
    return visible(_at(first.line, first.what)) + (f" (and {more:,} more {such})" if more else "")


def _at(line: int, text: str) -> str:
    return f"line {line}: {text}" if line else text
