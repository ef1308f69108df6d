"""Grade one submission: find its run, check it, mend what can be mended without loss, score it, and take its claims."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping, Sequence

from treceval_py.checking.catalogue import CODES
from treceval_py.checking.checking import Checked as CheckedFile
from treceval_py.checking.checking import check
from treceval_py.checking.findings import ERROR
from treceval_py.checking.fixing import fix
from treceval_py.data.qrels import Qrels
from treceval_py.errors import TrecevalError, visible
from treceval_py.grading.claims.claims import MOST_BYTES, Claimed, claims_in
from treceval_py.grading.claims.reconciling import reconcile
from treceval_py.grading.intake.choosing import choose, head_of
from treceval_py.grading.intake.intake import IntakeError, Item, Limits, Submission
from treceval_py.grading.marking.scoring import Assignment, AssignmentScorer, Named, Scored, against
from treceval_py.grading.marking.similarity import hash_of_ranking, tops_of
from treceval_py.grading.records import (
    CORRECT,
    JUDGED,
    MISSING,
    MISTAKE,
    REFUSED,
    REPAIRED,
    ROUNDING,
    SCORED,
    Checked,
    FileRead,
    Graded,
)
from treceval_py.grading.rules import Rules
from treceval_py.io.named import DATASET
from treceval_py.io.source import peek

__all__ = ["Grader", "baseline_record", "limits_of"]

BESIDE_JUDGMENTS = ("X201", "X202", "X203", "X204", "X205", "X206", "X207")
"""Findings that say that a file and the judgments of the assignment do not belong together."""

KEPT_FINDINGS = 20
"""Findings of each code that are kept of a submission; the others are counted."""


def limits_of(rules: Rules) -> Limits:
    """Return what of a submission is read at most."""
    return Limits(file_bytes=int(rules.megabytes * (1 << 20)))


class Grader:
    """Grades submissions of one assignment.

    Parameters
    ----------
    assignment : Assignment
        The judgments, the baseline and the rules; they are read here.

    Raises
    ------
    TrecevalError
        As of `AssignmentScorer`.

    Attributes
    ----------
    head : bytes
        The beginning of the judgments, by which they are known when a student hands them in.
    """

    def __init__(self, assignment: Assignment) -> None:
        self.rules = assignment.rules
        self._scoring = AssignmentScorer(assignment)
        self.head = b"" if assignment.qrels.startswith(DATASET) else head_of(assignment.qrels)

    @property
    def qrels(self) -> Qrels:
        """The judgments."""
        return self._scoring.qrels

    @property
    def baseline(self) -> Scored | None:
        """The baseline with its numbers, where there is one."""
        return self._scoring.baseline

    @property
    def notes(self) -> tuple[str, ...]:
        """What is likely a mistake in the baseline."""
        return self._scoring.notes

    @property
    def baseline_hash(self) -> str:
        """SHA-256 of the bytes of the baseline's file; empty without one."""
        return self._scoring.baseline_hash

    def grade(self, submission: Submission, claimed: Sequence[Claimed] = ()) -> Graded:
        """Grade a submission; what is wrong with it is part of the record.

        Parameters
        ----------
        submission : Submission
            What was handed in.
        claimed : sequence of Claimed
            The numbers that were claimed for it elsewhere, beside those in its own files.

        Returns
        -------
        Graded
            The record.
        """
        item, others, files = choose(submission, qrels=self.head)
        judged = any(each.role == "judged ranking" for each in files)
        files, found = _claims_of(files, others)
        graded = Graded(submission.student, submission.source, MISSING, _nothing(files), files)
        scored = None
        if item is not None:
            graded, scored = self._run(graded, item, judged=judged)
        return graded._replace(claims=tuple(self._reconciled([*claimed, *found], scored, graded.counts)))

    def _run(self, graded: Graded, item: Item, *, judged: bool) -> tuple[Graded, Scored | None]:
        """Check and score the file that is the run."""
        name = visible(item.name)
        graded = graded._replace(status=REFUSED, run=name)
        try:
            data = _bytes_of(item)
        except IntakeError as error:
            return graded._replace(reason=visible(error.what)), None
        graded = graded._replace(hash_of_run=hashlib.sha256(data).hexdigest())
        if len(peek(Named(data, name), self._most + 1)[0]) > self._most:
            return graded._replace(reason=f"{name} is more than {self.rules.megabytes:g} MB when it is unpacked"), None
        found, data, repairs = self._checked(data, name, judged=judged)
        graded = _with_check(graded, found)._replace(repairs=repairs)
        if found.kind is None or (found.errors and not repairs):
            return graded._replace(reason=_first_error(found)), None
        try:
            scored = self._scoring.scored(Named(data, name), found.kind.name)
        except TrecevalError as error:
            return graded._replace(reason=visible(_at(error.line or 0, error.what))), None
        return self._with_numbers(graded, scored)._replace(status=REPAIRED if repairs else SCORED), scored

    @property
    def _most(self) -> int:
        return limits_of(self.rules).file_bytes

    def _checked(self, data: bytes, name: str, *, judged: bool) -> tuple[CheckedFile, bytes, tuple[str, ...]]:
        """Check a run, and mend it where that makes it one that can be scored."""
        found = self._check(data, name, JUDGED if judged else None)
        if found.kind is not None and found.kind.name == "qrels":  # four columns that are no labels, such as ranks
            found = self._check(data, name, "run")
        errors = [CODES[code] for code in found.counts if CODES[code].severity == ERROR]
        if not errors or not self.rules.repair or found.kind is None or not all(each.fixed for each in errors):
            return found, data, ()
        mended = io.BytesIO()
        try:
            fixed = fix(Named(data, name), mended, found.kind)
        except TrecevalError:
            return found, data, ()
        if not fixed.repairs or self._check(mended.getvalue(), name, found.kind.name).errors:
            return found, data, ()
        return found, mended.getvalue(), fixed.repairs

    def _check(self, data: bytes, name: str, kind: str | None) -> CheckedFile:
        # A judged ranking that is scored by its own labels lacks nothing of the assignment's judgments.
        ignore = BESIDE_JUDGMENTS if kind == JUDGED and self.rules.own_labels else ()
        return check(Named(data, name), self.qrels, kind=kind, most=KEPT_FINDINGS, ignore=ignore)

    def _with_numbers(self, graded: Graded, scored: Scored) -> Graded:
        results = scored.results
        names = [each.name for each in self.rules.measures]
        baseline = self._scoring.baseline
        return graded._replace(
            reason="",
            profile=scored.profile.name,
            missing_queries=(len(results.missing), len(scored.qrels)),
            measures={name: results.mean[name] for name in names},
            signatures={name: str(results.signatures[name]) for name in names},
            against=None if baseline is None else against(scored, baseline, names[0]),
            hash_of_ranking=hash_of_ranking(scored.run, scored.profile),
            tops=tops_of(scored.run, self._scoring.qrels.qids, scored.profile, self.rules.similarity_depth),
        )

    def _reconciled(self, claims: Sequence[Claimed], scored: Scored | None, counts: Mapping[str, int]) -> list[Checked]:
        rules = self.rules
        told = reconcile(
            claims,
            self._scoring.qrels if scored is None else scored.qrels,
            None if scored is None else scored.run,
            profile=rules.profile if scored is None else scored.profile.name,
            complete=rules.complete,
            level=rules.level,
            values={} if scored is None else dict(scored.results.mean),
            tolerance=rules.tolerance,
            expected=rules.expected,
        )
        if scored is None or scored.own is None or scored.own is scored.qrels:
            return told
        return self._by_own_labels(claims, told, scored, contradicted=bool(counts.get("X210")))

    def _by_own_labels(
        self, claims: Sequence[Claimed], told: list[Checked], scored: Scored, *, contradicted: bool
    ) -> list[Checked]:
        """Look at the claims that are wrong by the labels in the judged ranking, by which students compute them."""
        wrong = [number for number, each in enumerate(told[: len(claims)]) if each.verdict not in (CORRECT, ROUNDING)]
        again = reconcile(
            *([claims[number] for number in wrong], scored.own or scored.qrels, scored.run),
            profile=scored.profile.name,
            complete=False,
            level=self.rules.level,
            values={},
            tolerance=self.rules.tolerance,
            expected=(),
        )
        for number, each in zip(wrong, again, strict=True):
            if each.verdict not in (CORRECT, ROUNDING):
                continue
            why = "by the labels in the file itself" + (f"; {each.why}" if each.why else "")
            if contradicted:
                why = "right by the labels in the file itself, which contradict the judgments of the assignment"
            verdict = MISTAKE if contradicted else each.verdict
            told[number] = each._replace(verdict=verdict, why=why, value=told[number].value)
        return told


def baseline_record(grader: Grader) -> Graded | None:
    """Return the baseline as if it were a submission, to see which runs are like it; None without one."""
    scored = grader.baseline
    if scored is None:
        return None
    tops = tops_of(scored.run, grader.qrels.qids, scored.profile, grader.rules.similarity_depth)
    return Graded(
        "",
        scored.name,
        SCORED,
        kind=scored.kind,
        hash_of_run=grader.baseline_hash,
        measures={each.name: scored.results.mean[each.name] for each in grader.rules.measures},
        hash_of_ranking=hash_of_ranking(scored.run, scored.profile),
        tops=tops,
    )


def _claims_of(files: Sequence[FileRead], items: Sequence[Item]) -> tuple[tuple[FileRead, ...], list[Claimed]]:
    """Return all files, those refused from which claims cannot be read to their end, and the claims of the others."""
    found = {item.name: _claims_in(item) for item in items}
    refused = {name: each for name, each in found.items() if isinstance(each, str)}
    told = [each._replace(role="refused", why=refused[each.name]) if each.name in refused else each for each in files]
    return tuple(told), [claimed for each in found.values() if not isinstance(each, str) for claimed in each]


def _claims_in(item: Item) -> list[Claimed] | str:
    """Return the claims in a file; what is wrong, where it is damaged further on than it was looked into."""
    try:
        return claims_in(_bytes_of(item, MOST_BYTES + 1), visible(item.name))
    except IntakeError as error:
        return error.what


def _bytes_of(item: Item, most: int = -1) -> bytes:
    with item.opened() as stream:
        return stream.read(most)


def _nothing(files: Sequence[FileRead]) -> str:
    """Say why there is no run."""
    if not files:
        return "no file was handed in"
    refused = [each for each in files if each.role == "refused"]
    if len(refused) == len(files):
        return f"no file could be opened: {refused[0].name}: {refused[0].why}"
    return "none of the files is a run"


def _with_check(graded: Graded, found: CheckedFile) -> Graded:
    shape = found.shape
    return graded._replace(
        kind="" if found.kind is None else found.kind.name,
        lines=found.lines,
        queries=0 if shape is None else len(shape.counts),
        documents=0 if shape is None else shape.documents,
        findings=tuple(found.findings),
        counts=dict(found.counts),
    )


def _first_error(found: CheckedFile) -> str:
    for each in found.findings:
        if each.severity == ERROR:
            more = found.errors - 1
            such = "such finding" if more == 1 else "such findings"
            return visible(_at(each.line, each.what)) + (f" (and {more:,} more {such})" if more else "")
    return "it is of a format without lines, such as JSON or Parquet, and only runs of lines are graded"


def _at(line: int, what: str) -> str:
    return f"line {line}: {what}" if line else what
