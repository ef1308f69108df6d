"""Grade one submission: find its runs, score them, read its claims, and choose the run that counts."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Collection, Mapping, Sequence

from treceval_py.errors import visible
from treceval_py.grading import records
from treceval_py.grading.claims.claims import DECLARED, SHOWN, Claimed, claims_of
from treceval_py.grading.claims.documents.document import Document, Grid, Line
from treceval_py.grading.claims.documents.reading import read_document
from treceval_py.grading.claims.reconciling import without_run
from treceval_py.grading.intake.archives import IntakeError, Limits
from treceval_py.grading.intake.candidates import SHORTEST, RunFile, candidates, head_of, last_of
from treceval_py.grading.intake.folders import Item, Submission
from treceval_py.grading.marking import claiming
from treceval_py.grading.marking.claiming import MOST_OTHERS, RIGHT, Tried, Trier, bytes_of, most_bytes
from treceval_py.grading.marking.scoring import AssignmentScorer, against, values_by_query
from treceval_py.grading.marking.similarity import ranking_of
from treceval_py.grading.records import FileRead, Graded, RunRead
from treceval_py.grading.rules import ANYWHERE, Rules, Task
from treceval_py.io.formats import DATASET


def chosen(
    tried: Sequence[Tried], claims: Sequence[Claimed], of_row: Mapping[str, int], *, wanted: str, named: str
) -> tuple[int, str]:
    """Return which run counts, and why.

    Parameters
    ----------
    tried : sequence of Tried
        The runs, at least one, the likeliest first.
    claims : sequence of Claimed
        All numbers of the submission.
    of_row : mapping of str to int
        The runs of some names in claims, from `runs_of_rows`.
    wanted : str
        The file that the teacher chose; empty for none.
    named : str
        The pattern of the rules for the file that counts; empty for none.

    Returns
    -------
    int
        Number of the run that counts.
    str
        Which run counts and why, without a full stop; empty if there was no choice.
    """
    numbers, said = list(range(len(tried))), list[str]()
    for name, by in ((wanted, "the teacher chose"), (named, "the rules count files named")):
        fits = [number for number, run in enumerate(tried) if name and is_named(run.graded.run, name)]
        if name:
            said.append(f"{by} {visible(name)}" + ("" if fits else ", but no run has that name"))
        if fits:
            numbers = fits
            break
    number = numbers[0]
    if len(numbers) > 1:
        number, why = _one_of(tried, numbers, claims, of_row)
        said.append(why)
    return number, f"{tried[number].graded.run} counts: {'; '.join(said)}" if wanted or len(tried) > 1 else ""


def _one_of(
    tried: Sequence[Tried], numbers: Sequence[int], claims: Sequence[Claimed], of_row: Mapping[str, int]
) -> tuple[int, str]:
    """Return which of several runs counts, and why."""
    scored = [number for number in numbers if tried[number].scored is not None]
    # X201: none of its queries is judged.
    scored = [number for number in scored if "X201" not in tried[number].graded.counts] or scored
    if len(scored) == 1:
        return scored[0], f"it is the only one of {len(numbers)} runs that can be scored and has judged queries"
    if not scored:
        return numbers[0], f"none of {len(numbers)} runs can be scored, and it looks most like one"
    telling = [(at, claim) for at, claim in enumerate(claims) if claiming.says_something(claim)]
    mine = {n: [(at, claim) for at, claim in telling if of_row.get(claim.run, n) == n] for n in scored}
    counts, fits = {n: sum(tried[n].right[at] for at, _ in own) for n, own in mine.items()}, "right for"
    if not any(counts.values()):
        fits = "explained by"
        for n in scored[:MOST_OTHERS]:
            counts[n] = claiming.explained(tried[n], [claim for _, claim in mine[n] if claim.weight == DECLARED])
    most = max(counts.values())
    scored = [number for number in scored if counts[number] == most]
    said = f"no claimed number is right for any of {len(tried)} runs, or explained by one; " if claims else ""
    if most:
        said = "1 claimed number is" if most == 1 else f"{most} claimed numbers are"
        if len(scored) == 1:
            return scored[0], f"{said} {fits} it, and fewer are {fits} any other run"
        said = f"{said} {fits} each of {len(scored)} runs; "
    last, why = last_of([tried[number].file for number in scored])
    latest = next(number for number in scored if tried[number].file is last)
    why = why or f"nothing shows which of {len(scored)} runs was handed in last, so the first of them counts"
    return latest, said + why


def is_named(name: str, pattern: str) -> bool:
    """Tell whether a pattern fits a file, or the last part of its path."""
    pattern = pattern.casefold()
    known = (name.casefold(), name.rsplit("/", 1)[-1].casefold())
    return pattern in known or any(fnmatch.fnmatchcase(form, pattern) for form in known)


CLAIMED = "it has numbers that are claimed for measures"
NOT_DECLARED = "it has numbers beside names of measures, and declares none"
"""Why a file has the role of claims, or of a report."""

PARTS = "the runs have no query in common, so they may be parts of one, which belong in one file"

LOOKS = ("it has the lines of", "it does not look like a run, but")
"""How the reason begins if a file may be a run."""

_OF_A_RUN = re.compile(r"(?i)\S+ q0 \S+ \d+(?:\.0)? [+-]?[\d.]")
"""The beginning of a run's line."""

MOST_TOGETHER = 4
"""Size limit of all runs of a submission together, as a multiple of the largest file; further runs are not tried."""


def limits_of(rules: Rules) -> Limits:
    """Return the limits on what is read of a submission."""
    return Limits(file_bytes=most_bytes(rules))


class Grader:
    """Grades submissions of one assignment.

    Parameters
    ----------
    assignment : Task
        The judgments, the baseline and the rules; the files are read here.

    Attributes
    ----------
    scoring : AssignmentScorer
        Scores runs; it has the judgments and the baseline.
    head : bytes
        The beginning of the judgments, to recognise them when a student hands them in.

    Raises
    ------
    TrecevalError
        See `AssignmentScorer`.
    """

    def __init__(self, assignment: Task) -> None:
        self.rules = assignment.rules
        self.scoring = AssignmentScorer(assignment)
        self._trier = Trier(self.scoring)
        self.head = b"" if assignment.qrels.startswith(DATASET) else head_of(assignment.qrels)

    def grade(self, submission: Submission, claimed: Sequence[Claimed] = (), wanted: str = "") -> Graded:
        """Grade a submission; its faults are part of the record.

        Parameters
        ----------
        submission : Submission
            The submission.
        claimed : sequence of Claimed
            The numbers that were claimed for it elsewhere, besides those in its own files.
        wanted : str
            The file that counts if there are several runs, chosen by the teacher: its name, or a pattern; empty for
            none.

        Returns
        -------
        Graded
            The record.
        """
        handed = candidates(submission, qrels=self.head)
        files = {file.name: file for file in handed.files}
        runs = {name for run in handed.runs for name in _names_of(run)}
        queries = set(self.scoring.qrels.qids)
        inside = {item.name: _searched(item, files, runs, queries) for item in handed.texts}
        claims = claiming.first_claims([*claimed, *(claim for own in inside.values() for claim in own)])
        declared = [claim for claim in claims if claim.weight == DECLARED]
        graded = record_of(submission, records.MISSING)
        tried = self._tried(handed.runs, graded, files, claims, inside)
        if not tried:
            checked = [without_run(claim) for claim in declared]
            others = (claim for claim in claims if claim.weight != DECLARED)
            checked += [without_run(claim)._replace(counts=False, sentence=claim.sentence) for claim in others]
            checked += claiming.missing(checked, self.rules.expected, None)
            listed = tuple(sorted(files.values()))
            reason = "none of the files is a run" if listed else "no file was handed in"
            if listed and all(file.role == "refused" for file in listed):
                reason = f"no file could be opened: {listed[0].name}: {listed[0].why}"
            return graded._replace(reason=reason, files=listed, claims=tuple(checked))
        of_row = claiming.runs_of_rows(declared, tried)
        number, why = chosen(tried, claims, of_row, wanted=wanted, named=self.rules.named)
        checked = claiming.checked_claims(tried, number, declared, claiming.of_which(declared, of_row, number))
        anywhere, baseline = self.rules.claims == ANYWHERE, self._trier.baseline
        checked += claiming.evidence(tried, number, claims, queries=queries, baseline=baseline, anywhere=anywhere)
        checked += claiming.missing(checked, self.rules.expected, tried[number].ways)
        doubt, of_runs = "", [set(run.scored.run.qids) for run in tried if run.scored is not None]
        if len(of_runs) > 1 and sum(map(len, of_runs)) == len(set().union(*of_runs)):
            why, doubt = f"{why}; {PARTS}", PARTS
        elif any(file.role == "unread" and file.why.startswith(LOOKS) for file in files.values()):
            doubt = "the runs that were read do not give it, and others were not read"
        for at, claim in enumerate(checked):
            if doubt and claim.verdict == records.NOT_REPRODUCED and claim.counts:
                checked[at] = claim._replace(verdict=records.UNCHECKED, why=doubt)
        return self._completed([tried.pop(number), *tried], files, tuple(checked))._replace(chosen=why)

    def _tried(
        self,
        runs: Sequence[RunFile],
        graded: Graded,
        files: dict[str, FileRead],
        claims: Sequence[Claimed],
        inside: Mapping[str, Sequence[Claimed]],
    ) -> list[Tried]:
        """Try all files that may be runs, without duplicates."""
        kept: list[Tried] = []
        left = MOST_TOGETHER * most_bytes(self.rules)
        for file in runs:
            seen = files[file.item.name]
            if left <= 0:
                why = f"{seen.why}, but the runs before it have {MOST_TOGETHER * self.rules.megabytes:g} MB or more"
                files[seen.name] = seen._replace(role="unread", why=why)
                continue
            run = self._trier.tried(file, graded)
            same = [other for other in kept if other.graded.hash_of_run == run.graded.hash_of_run != ""]
            if same:
                files[seen.name] = seen._replace(role="not used", why=f"it is the same file as {same[0].graded.run}")
            elif run.scored is None and inside.get(seen.name) and file.kind not in ("run", records.JUDGED):
                files[seen.name] = seen._replace(role="claims", why=CLAIMED)
            else:
                left -= run.size
                kept.append(run._replace(right=claiming.right_for(run, claims)))
        return kept

    def _completed(
        self, tried: Sequence[Tried], files: dict[str, FileRead], claims: tuple[records.Checked, ...]
    ) -> Graded:
        """Return the record of the first run, which counts, with facts about the others."""
        graded, scored, baseline = tried[0].graded, tried[0].scored, self.scoring.baseline
        runs = []
        for run in tried:
            name, own = run.file.item.name, run.graded
            if run is not tried[0]:
                why = f"{run.file.why}; it was tried as a run, but {graded.run} counts"
                files[name] = files[name]._replace(role="not used", why=why)
            right = sum(claim.run == own.run and claim.verdict in RIGHT for claim in claims)
            when = run.file.item.time or own.handed_in
            runs.append(RunRead(own.run, own.status, own.reason, own.measures, right, when))
        if scored is not None:
            first = self.rules.measures[0].name
            beside = None if baseline is None else against(scored, baseline, first, self.rules.feedback)
            graded = graded._replace(against=beside, values=values_by_query(scored, first))
        return graded._replace(files=tuple(sorted(files.values())), runs=tuple(runs), claims=claims)


def record_of(submission: Submission, status: str, reason: str = "") -> Graded:
    """Return a record with the facts that are known before grading."""
    made = Graded(submission.student, submission.source, status, reason)
    return made._replace(handed_in=submission.handed_in, late=submission.late, attempt=submission.attempt)


def baseline_record(grader: Grader) -> Graded | None:
    """Return the baseline as a submission, to find similar runs; None without a baseline."""
    scoring, scored = grader.scoring, grader.scoring.baseline
    if scored is None:
        return None
    hash_of_ranking, tops = ranking_of(scored.run, scoring.qrels.qids, scored.profile)
    made = Graded("", scored.name, records.SCORED, measures=dict(scored.results.mean))
    return made._replace(hash_of_run=scoring.baseline_hash, hash_of_ranking=hash_of_ranking, tops=tops)


def _names_of(file: RunFile) -> set[str]:
    """Return the names that a table may use for a run: those of its file, and the tag on its first line."""
    with file.item.opened() as stream:
        fields = head_of(stream).partition(b"\n")[0].split()
    tagged = file.kind == "run" and len(fields) == 6
    return claiming.names_of(file.item.name, fields[-1].decode("utf-8", "replace") if tagged else "")


def _searched(item: Item, files: dict[str, FileRead], runs: Collection[str], queries: Collection[str]) -> list[Claimed]:
    """Return the numbers in a file, and record the role of the file."""
    seen = files[item.name]
    try:
        document = read_document(bytes_of(item), item.name)
    except IntakeError as error:  # it is damaged after its beginning, which was readable
        files[item.name] = seen._replace(role="refused", why=error.what)
        return []
    claims = claims_of(document, visible(item.name), runs, queries)
    role, why = "report", NOT_DECLARED if claims else "it has no number beside the name of a measure"
    if any(claim.weight != SHOWN for claim in claims):
        role, why = "claims", CLAIMED
    if document.fault:
        role, why = (role, f"{why}; {document.fault}") if claims else ("unread", document.fault)
    elif _has_a_run(document):
        role, why = "unread", "it has the lines of a run, but runs are only read from plain text: hand it in as that"
    if seen.role not in ("run", "judged ranking"):
        files[item.name] = seen._replace(role=role, why=why)
    return claims


def _has_a_run(document: Document) -> bool:
    """Tell whether most of a document is lines of a run."""
    lines = [" ".join(row.cells) for block in document.blocks if isinstance(block, Grid) for row in block.rows]
    lines += [block.text for block in document.blocks if isinstance(block, Line) and block.text]
    good = sum(_OF_A_RUN.match(line) is not None for line in lines)
    return good >= SHORTEST and 2 * good > len(lines)
