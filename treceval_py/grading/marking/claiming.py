"""The numbers of a submission, checked by the run that each is about; only declared ones can take points."""

from __future__ import annotations

import hashlib
import io
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from treceval_py.checking.catalogue import CODES
from treceval_py.checking.checking import Checked as CheckedFile
from treceval_py.checking.checking import check
from treceval_py.checking.findings import ERROR
from treceval_py.checking.fixing import fix
from treceval_py.errors import TrecevalError, visible
from treceval_py.explaining.explanation import Claim
from treceval_py.grading import records
from treceval_py.grading.claims.claims import DECLARED, MOST_CLAIMS, SHOWN, Claimed
from treceval_py.grading.claims.naming import known_measure, measure_named
from treceval_py.grading.claims.reconciling import MOST_SEARCHES, SURE_DIGITS, Ways, without_run
from treceval_py.grading.intake.archives import IntakeError
from treceval_py.grading.intake.candidates import RunFile
from treceval_py.grading.intake.folders import Item
from treceval_py.grading.intake.platforms import stem_of
from treceval_py.grading.marking.scoring import AssignmentScorer, Scored, told_findings
from treceval_py.grading.marking.similarity import ranking_of
from treceval_py.grading.records import Checked, Graded
from treceval_py.grading.rules import Rules
from treceval_py.io.source import Text, peek
from treceval_py.measuring import Measure

_Key = TypeVar("_Key")

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
        tried = Tried(file, graded._replace(status=records.REFUSED, run=name))
        try:
            data = bytes_of(file.item)
        except IntakeError as error:
            return tried.having(reason=visible(error.what))
        tried = tried.having(hash_of_run=hashlib.sha256(data).hexdigest())
        most = most_bytes(self.rules)
        tried = tried._replace(size=len(peek(Text(data, name), most + 1)[0]))
        if tried.size > most:
            return tried.having(reason=f"{name} is more than {self.rules.megabytes:g} MB when unpacked")
        checked, data, repairs = self._checked(data, name, judged=file.kind == records.JUDGED)
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
            scored = self._scoring.scored(Text(data, name), checked.kind.name)
        except TrecevalError as error:
            return tried.having(reason=visible(_at(error.line or 0, error.what)))
        results, names = scored.results, [rule.name for rule in self.rules.measures]
        distances = not UPSIDE_DOWN.isdisjoint(tried.graded.counts)
        tried = tried._replace(tag=scored.run.tag, scored=scored, ways=self._ways(scored, distances))
        if scored.own is not None:
            tried = tried._replace(own=self._ways(scored._replace(qrels=scored.own), distances, own=True))
        hash_of_ranking, tops = ranking_of(scored.run, scored.qrels.qids, scored.profile)
        return tried.having(
            status=records.REPAIRED if repairs else records.SCORED,
            profile=scored.profile.name,
            missing_queries=(len(results.missing), len(scored.qrels)),
            measures={name: results.mean[name] for name in names},
            signatures={name: str(results.signatures[name]) for name in names},
            hash_of_ranking=hash_of_ranking,
            tops=tops,
        )

    def _ways(self, scored: Scored, distances: bool, *, own: bool = False) -> Ways:
        """Return the ways in which numbers could have been computed from a run; ``own``: by the labels in it."""
        rules, values = (self.rules._replace(complete=False), {}) if own else (self.rules, scored.results.mean)
        return Ways(scored.qrels, scored.run, scored.profile, rules, values, distances=distances)

    def _checked(self, data: bytes, name: str, *, judged: bool) -> tuple[CheckedFile, bytes, tuple[str, ...]]:
        """Check a run, and repair it if it can be scored then."""
        checked = self._check(data, name, records.JUDGED if judged else None)
        # The fourth column is not a label then, but a rank, say.
        if checked.kind is not None and checked.kind.name == "qrels":
            checked = self._check(data, name, "run")
        errors = [CODES[code] for code in checked.counts if CODES[code].severity == ERROR]
        if not errors or checked.kind is None or not all(error.fixed for error in errors):
            return checked, data, ()
        mended = io.BytesIO()
        try:
            fixed = fix(Text(data, name), mended, checked.kind)
        except TrecevalError:
            return checked, data, ()
        if self._check(mended.getvalue(), name, checked.kind.name).errors:
            return checked, data, ()
        return checked, mended.getvalue(), fixed.repairs

    def _check(self, data: bytes, name: str, kind: str | None) -> CheckedFile:
        return check(self._scoring.qrels, Text(data, name), kind=kind, most=KEPT_FINDINGS)


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


RIGHT = (records.CORRECT, records.ROUNDING)

NOT_HANDED_IN = -1
"""Replaces a run's number if a row of a table is about a run that was not handed in."""

MOST_OTHERS = 3
"""Most runs that are searched for an explanation of a number."""

MOST_OPEN = 10
"""Most other numbers of a measure that equal nothing, beside a confirmed one that gives points: else guessing would."""


def first_claims(claims: Sequence[Claimed]) -> list[Claimed]:
    """Return the numbers within the limit, the declared ones first; the last one says if there are more."""
    read = sorted(claims, key=lambda claim: -claim.weight)[:MOST_CLAIMS]
    if len(claims) > MOST_CLAIMS:
        fault = f"only the first {MOST_CLAIMS} numbers of a submission are read"
        read[-1] = read[-1]._replace(fault="; ".join(filter(None, (read[-1].fault, fault))))
    return read


def right_for(tried: Tried, claims: Sequence[Claimed]) -> tuple[bool, ...]:
    """Tell which claims are right for a run, also by its own labels if these do not contradict the judgments."""
    return tuple((_agreement(tried, claim.claim) or ("",))[0] in RIGHT for claim in claims)


def _agreement(tried: Tried, claim: Claim | None) -> tuple[str, str] | None:
    """Compare a number with the value of a run, or with that by the labels in a judged ranking; verdict and reason."""
    if claim is None or tried.ways is None:
        return None
    near = tried.ways.agreement(claim)
    own = None if tried.own is None else tried.own.agreement(claim)
    if own is None or own[0] not in RIGHT or (near is not None and near[0] in RIGHT):
        return near
    if OTHER_LABELS in tried.graded.counts:
        why = "right by the labels in the file itself, which contradict the judgments of the assignment"
        return records.MISTAKE, why
    return own[0], "; ".join(filter(None, ("by the labels in the file itself", own[1])))


def explained(tried: Tried, claims: Sequence[Claimed]) -> int:
    """Count the claims that a run explains by another convention or a mistake."""
    return sum(map(_is_explained, reconciled(tried, claims, searches=MOST_OTHERS)))


def _is_explained(checked: Checked) -> bool:
    """Tell whether a number is explained, and has enough digits for that."""
    return checked.verdict in (records.CONVENTION, records.MISTAKE) and not checked.why.startswith("perhaps")


def reconciled(
    tried: Tried, claims: Sequence[Claimed], *, searches: int = MOST_SEARCHES, profiles_only: bool = False
) -> list[Checked]:
    """Explain the number of each claim for one run, like `Ways.checked`."""
    if tried.ways is None:
        return [*map(without_run, claims)]
    nears = [None if tried.own is None else _agreement(tried, claim.claim) for claim in claims]
    both = zip(claims, nears, strict=True)
    checks = (tried.ways.checked(claim, near, searches=searches, profiles_only=profiles_only) for claim, near in both)
    return [checked._replace(run=tried.graded.run) for checked in checks]


# --- of which run a claim speaks ---


def says_something(claimed: Claimed) -> bool:
    """Tell whether a claim can tell runs apart: numbers with a single decimal, and 0 and 1, are right for many."""
    return claimed.claim is not None and claimed.claim.value not in (0, 1) and claimed.claim.digits > 1


def names_of(file: str, tag: str) -> set[str]:
    """Return the names that a table may use for a run, without regard to case."""
    last = file.rsplit("/", 1)[-1]
    return {name.casefold() for name in (file, last, stem_of(last), tag) if name}


def runs_of_rows(claims: Sequence[Claimed], tried: Sequence[Tried]) -> dict[str, int]:
    """Return the runs that claims name by their file, its stem or their tag, or else those whose numbers they give."""
    names = [names_of(run.graded.run, run.tag) for run in tried]
    rows = dict.fromkeys(claim.run for claim in claims if claim.run)
    fits = {row: [at for at, known in enumerate(names) if row.casefold() in known] for row in rows}
    by_row = {row: numbers[0] for row, numbers in fits.items() if len(numbers) == 1}
    for row in [row for row in fits if row not in by_row]:
        of_row = [at for at, claim in enumerate(claims) if claim.run == row and says_something(claim)]
        others = [number for number in range(len(tried)) if number not in by_row.values()]
        for best in _most({number: sum(tried[number].right[at] for at in of_row) for number in others}):
            by_row[row] = best
    return by_row


def _most(counts: Mapping[_Key, int]) -> list[_Key]:
    """Return what has the largest count, in a list of one; an empty list if several have, or it is 0."""
    best = [key for key, count in counts.items() if count and count == max(counts.values())]
    return best if len(best) == 1 else []


def of_which(claims: Sequence[Claimed], by_row: Mapping[str, int], counts: int) -> dict[str, int]:
    """Return the run of each name in claims, once it is known which run counts.

    That is `NOT_HANDED_IN` if it can only be another run. None has one if it is unknown which of several names belongs
    to the run that counts.
    """
    rows = dict.fromkeys(claim.run for claim in claims if claim.run)
    left = [row for row in rows if row not in by_row]
    if not by_row and len(rows) > 1:
        return {}
    if len(left) == 1 and counts not in by_row.values():
        return {**by_row, left[0]: counts}
    return {**dict.fromkeys(left, NOT_HANDED_IN), **by_row}


# --- declared numbers ---


def checked_claims(
    tried: Sequence[Tried], counts: int, claims: Sequence[Claimed], of_row: Mapping[str, int]
) -> list[Checked]:
    """Check each declared number by the run that it is about.

    Parameters
    ----------
    tried : sequence of Tried
        The runs.
    counts : int
        The number of the run that counts.
    claims : sequence of Claimed
        The declared numbers, the first of all numbers of the submission.
    of_row : mapping of str to int
        The runs of rows, from `of_which`.

    Returns
    -------
    list of Checked
        One for each claim, in order. A claim belongs to the run of its row, or to a run for which it is right, the one
        that counts first. It does not count if that is another run.
    """
    unknown = dict.fromkeys(claim.run for claim in claims if claim.run and claim.run not in of_row)
    if unknown:
        # The row with most numbers that the run explains is about it, and then others are not.
        explains = {row: explained(tried[counts], [c for c in claims if c.run == row]) for row in unknown}
        for best in _most(explains):
            of_row = {**of_row, **dict.fromkeys(unknown, NOT_HANDED_IN), best: counts}
    runs = [_run_of(at, claim, tried, counts, of_row) for at, claim in enumerate(claims)]
    checks: dict[int, Checked] = {}
    for run in dict.fromkeys([counts, *runs]):
        mine = [at for at, of in enumerate(runs) if of == run]
        if run == NOT_HANDED_IN:
            checks |= {at: _not_handed_in(claims[at]) for at in mine}
            continue
        checked = reconciled(tried[run], [claims[at] for at in mine])
        checks |= {at: claim if run == counts else _of_another(claim) for at, claim in zip(mine, checked, strict=True)}
    right = {_measure_of(claims[at]): claims[at] for at in checks if checks[at].verdict in RIGHT and not claims[at].run}
    for at, claim in enumerate(claims):
        if checks[at].verdict in RIGHT or not checks[at].counts:
            continue
        if claim.run and claim.run not in of_row:
            why = f"several runs are named, and {records.OF_WHICH}"
            checks[at] = checks[at]._replace(verdict=records.UNCHECKED, why=why)
        elif not claim.run and checks[at].verdict == records.NOT_REPRODUCED:
            if other := right.get(_measure_of(claim)):
                # Perhaps of another run: two numbers for one measure are a question, and not wrong.
                why = f"{other.text} ({other.place}) is right, and {records.OF_WHICH}"
                checks[at] = checks[at]._replace(verdict=records.UNCHECKED, why=why)
                continue
            others = [run for number, run in enumerate(tried) if number != counts and run.ways is not None]
            tries = (reconciled(run, [claim], searches=1)[0] for run in others[:MOST_OTHERS])
            checks[at] = next((_of_another(checked) for checked in tries if _is_explained(checked)), checks[at])
    return [checks[at] for at in range(len(claims))]


def _measure_of(claimed: Claimed) -> Measure | None:
    return known_measure(claimed.measure) if claimed.claim is None else claimed.claim.measure


def _run_of(at: int, claim: Claimed, tried: Sequence[Tried], counts: int, of_row: Mapping[str, int]) -> int:
    """Return the run by which a claim is checked: that of its row, or one for which it is right."""
    target = of_row.get(claim.run, counts)
    order = [*[target] * (target != NOT_HANDED_IN), counts, *range(len(tried))]
    return next((run for run in order if tried[run].right[at]), target)


def _of_another(checked: Checked) -> Checked:
    """Return a claim about a run that does not count."""
    why = f"it is a number of {checked.run}, which does not count: it has no effect on the points"
    return checked._replace(why="; ".join(filter(None, (why, checked.why))), counts=False)


def _not_handed_in(claim: Claimed) -> Checked:
    why = f"it is a number of {visible(claim.run)}, which was not handed in: it has no effect on the points"
    return Checked(claim.measure, claim.text, claim.place, records.UNCHECKED, why=why, counts=False)


# --- evidence ---


def evidence(
    tried: Sequence[Tried],
    counts: int,
    claims: Sequence[Claimed],
    *,
    queries: Collection[str],
    baseline: Ways | None,
    anywhere: bool,
) -> list[Checked]:
    """Look up the numbers that are not declared: none of them can take a point.

    Parameters
    ----------
    tried : sequence of Tried
        The runs.
    counts : int
        The number of the run that counts.
    claims : sequence of Claimed
        All numbers of the submission.
    queries : collection of str
        The judged queries.
    baseline : Ways or None
        The values of the baseline, if there is one.
    anywhere : bool
        Whether numbers in sentences and rows with labels give points too.

    Returns
    -------
    list of Checked
        One for each number that is not declared, in order. A number of the run that counts gives the points of its
        measure if it needs no words, or may stand anywhere; but not if the measure is declared, or more than
        `MOST_OPEN` other numbers are given for it. Any other number is confirmed, explained or a question.
    """
    declared = {_measure_of(claim) for claim in claims if claim.weight == DECLARED}
    checks = [
        (claim, _measure_of(claim), _looked_up(at, claim, tried, counts, queries, baseline))
        for at, claim in enumerate(claims)
        if claim.weight != DECLARED
    ]
    asked = {(measure, checked.text) for _, measure, checked in checks if checked.verdict == records.ASKED}
    guesses = Counter(measure for measure, _ in asked)

    def gives(claim: Claimed, measure: Measure | None, checked: Checked) -> bool:
        usable = checked.verdict in RIGHT and (anywhere or claim.weight != SHOWN)
        return usable and measure not in declared and guesses[measure] <= MOST_OPEN

    exact = {m for claim, m, checked in checks if checked.verdict == records.CORRECT and gives(claim, m, checked)}
    return [
        checked._replace(verdict=records.CONFIRMED, counts=False)
        if checked.verdict in RIGHT
        and (not gives(claim, measure, checked) or (checked.verdict == records.ROUNDING and measure in exact))
        else checked
        for claim, measure, checked in checks
    ]


def _looked_up(
    at: int, claim: Claimed, tried: Sequence[Tried], counts: int, queries: Collection[str], baseline: Ways | None
) -> Checked:
    """Return what a number equals: the value of the run that counts, or another one that is known."""
    own, read = tried[counts], claim.claim
    seen = Checked(claim.measure, claim.text, claim.place, records.EXPLAINED, counts=False, sentence=claim.sentence)
    if claim.run in queries:
        return seen._replace(why=f"it is said of query {visible(claim.run)}")
    if read is None:
        return seen._replace(verdict=records.ASKED, why=claim.fault)
    if own.ways is None:
        return seen._replace(verdict=records.UNCHECKED, why=reconciled(own, [claim])[0].why)
    seen = seen._replace(value=own.ways.ours(read.measure))
    near = _agreement(own, read)
    if near is not None:
        seen = seen._replace(why=near[1], run=own.graded.run)
        return seen._replace(verdict=near[0], counts=True) if near[0] in RIGHT else seen
    if other := next((run.graded.run for run in tried if run.right[at]), ""):
        return seen._replace(why=f"it is the value of {other}, which does not count")
    if baseline is not None and baseline.agreement(read) is not None:
        return seen._replace(why="it is the value of the baseline")
    if read.digits + 2 * read.percent < SURE_DIGITS:
        why = f"no run gives it, and fewer than {SURE_DIGITS} decimals do not show a convention"
        return seen._replace(verdict=records.ASKED, why=why)
    (checked,) = reconciled(own, [claim], profiles_only=True)
    verdicts = {records.NOT_REPRODUCED: records.ASKED, records.UNCHECKED: records.UNCHECKED}
    verdict = verdicts.get(checked.verdict, records.EXPLAINED)
    return seen._replace(verdict=verdict, why=checked.why, profile=checked.profile)


def missing(checks: Sequence[Checked], expected: Sequence[str], ways: Ways | None) -> Iterator[Checked]:
    """Yield expected measures for which no number counts; one that cannot be read does."""
    there = {known_measure(claim.measure) for claim in checks if claim.counts}
    for name in expected:
        if (measure := measure_named(name)) in there:
            continue
        right = (claim for claim in checks if claim.verdict == records.CONFIRMED)
        known = [claim for claim in right if known_measure(claim.measure) == measure]
        declared = [f"; {claim.text} ({claim.place}) is right, but not declared" for claim in known[:1]]
        why = "".join((f"no number was declared for {name}", *declared))
        yield Checked(name, "", "", records.NO_CLAIM, None if ways is None else ways.ours(measure), why)
