"""The numbers of a submission, each checked by the run that it is about; only declared ones can take points."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from treceval_py.errors import visible
from treceval_py.explaining.explanation import Claim
from treceval_py.grading.claims.claims import DECLARED, MOST_CLAIMS, ONLY_THE_FIRST, SHOWN, Claimed, noted
from treceval_py.grading.claims.naming import known_measure, measure_named
from treceval_py.grading.claims.reconciling import MOST_SEARCHES, SURE_DIGITS, Ways, reconcile
from treceval_py.grading.marking.runs import NOT_HANDED_IN
from treceval_py.grading.marking.trying import Tried
from treceval_py.grading.records import (
    ASKED,
    CONFIRMED,
    CONVENTION,
    CORRECT,
    EXPLAINED,
    MISTAKE,
    NO_CLAIM,
    NOT_REPRODUCED,
    OF_WHICH,
    ROUNDING,
    UNCHECKED,
    Checked,
)
from treceval_py.measures import Measure

RIGHT = (CORRECT, ROUNDING)

MOST_OTHERS = 3
"""Most runs that are searched for an explanation of a number."""

MOST_OPEN = 10
"""Most other numbers of a measure that equal nothing, beside a confirmed one that gives points: else guessing would."""

Again = Callable[[Tried], Tried]
"""Restores the dropped parts of a run."""


def first_claims(claims: Sequence[Claimed]) -> list[Claimed]:
    """Return the numbers within the limit, the declared ones first; the last one says if there are more."""
    read = sorted(claims, key=lambda claim: -claim.weight)[:MOST_CLAIMS]
    if len(claims) > MOST_CLAIMS:
        read[-1] = noted(read[-1], ONLY_THE_FIRST)
    return read


def right_for(tried: Tried, claims: Sequence[Claimed]) -> tuple[bool, ...]:
    """Tell which claims are right for a run, also by its own labels if these do not contradict the judgments."""
    return tuple(any(ways.is_right(claim) for ways in _ways_of(tried)) for claim in claims)


def _ways_of(tried: Tried) -> list[Ways]:
    return [ways for ways in (tried.ways, None if tried.contradicts else tried.own) if ways is not None]


def explained(tried: Tried, claims: Sequence[Claimed]) -> int:
    """Count the claims that a run explains by another convention or a mistake."""
    return sum(map(_is_explained, reconciled(tried, claims, searches=MOST_OTHERS)))


def _is_explained(checked: Checked) -> bool:
    """Tell whether a number is explained, and has enough digits for that."""
    return checked.verdict in (CONVENTION, MISTAKE) and not checked.why.startswith("perhaps")


def reconciled(tried: Tried, claims: Sequence[Claimed], *, searches: int = MOST_SEARCHES) -> list[Checked]:
    """Explain the number of each claim, for one run; ``searches``: the most measures for which this is searched."""
    if tried.ways is not None:
        tried.ways.searches = searches
    told = reconcile(claims, tried.ways)
    if tried.own is not None:
        _look_at_own_labels(tried, claims, told)
    run = tried.graded.run if tried.is_scored else ""
    return [claim._replace(run=run) for claim in told]


def _look_at_own_labels(tried: Tried, claims: Sequence[Claimed], told: list[Checked]) -> None:
    """Check wrong claims again by the labels in the judged ranking, which students may have used."""
    for at, checked in enumerate(reconcile(claims, tried.own)):
        if told[at].verdict in RIGHT or checked.verdict not in RIGHT:
            continue
        why = "by the labels in the file itself" + (f"; {checked.why}" if checked.why else "")
        if tried.contradicts:
            why = "right by the labels in the file itself, which contradict the judgments of the assignment"
        verdict = MISTAKE if tried.contradicts else checked.verdict
        told[at] = checked._replace(verdict=verdict, why=why, value=told[at].value)


# --- declared numbers ---


def checked_claims(
    tried: Sequence[Tried], counts: int, claims: Sequence[Claimed], of_row: Mapping[str, int], again: Again
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
    again : callable
        Restores the dropped parts of a run.

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
        best = [row for row in unknown if explains[row] and explains[row] == max(explains.values())]
        if len(best) == 1:
            of_row = {**of_row, **dict.fromkeys(unknown, NOT_HANDED_IN), best[0]: counts}
    runs = [_run_of(at, claim, tried, counts, of_row) for at, claim in enumerate(claims)]
    told: dict[int, Checked] = {}
    for run in dict.fromkeys([counts, *runs]):
        mine = [at for at, of in enumerate(runs) if of == run]
        if run == NOT_HANDED_IN:
            told |= {at: _not_handed_in(claims[at]) for at in mine}
            continue
        checked = reconciled(again(tried[run]), [claims[at] for at in mine])
        told |= {at: claim if run == counts else _of_another(claim) for at, claim in zip(mine, checked, strict=True)}
    right = {_measure_of(claims[at]): claims[at] for at in told if told[at].verdict in RIGHT and not claims[at].run}
    for at, claim in enumerate(claims):
        if told[at].verdict in RIGHT or not told[at].counts:
            continue
        if claim.run and claim.run not in of_row:
            told[at] = told[at]._replace(verdict=UNCHECKED, why=f"several runs are named, and {OF_WHICH}")
        elif not claim.run and told[at].verdict == NOT_REPRODUCED and (other := right.get(_measure_of(claim))):
            # Perhaps of another run: two numbers for one measure are a question, and not wrong.
            why = f"{other.text} ({other.place}) is right, and {OF_WHICH}"
            told[at] = told[at]._replace(verdict=UNCHECKED, why=why)
        elif not claim.run and told[at].verdict == NOT_REPRODUCED:
            told[at] = _explained_by_others(tried, counts, claim) or told[at]
    return [told[at] for at in range(len(claims))]


def _measure_of(claimed: Claimed) -> Measure | None:
    return known_measure(claimed.measure) if claimed.claim is None else claimed.claim.measure


def _run_of(at: int, claim: Claimed, tried: Sequence[Tried], counts: int, of_row: Mapping[str, int]) -> int:
    """Return the run by which a claim is checked: that of its row, or one for which it is right."""
    target = of_row.get(claim.run, counts)
    order = [target] if target != NOT_HANDED_IN else []
    right = [
        run for run in dict.fromkeys([*order, counts, *range(len(tried))]) if tried[run].right[at : at + 1] == (True,)
    ]
    return right[0] if right else target


def _explained_by_others(tried: Sequence[Tried], counts: int, claim: Claimed) -> Checked | None:
    """Return a claim explained by another run than the one that counts; None if no run explains it."""
    others = [other for at, other in enumerate(tried) if at != counts and other.ways is not None]
    told = (reconciled(other, [claim], searches=1)[0] for other in others[:MOST_OTHERS])
    return next((_of_another(checked) for checked in told if _is_explained(checked)), None)


def _of_another(checked: Checked) -> Checked:
    """Return a claim about a run that does not count."""
    why = f"it is a number of {checked.run}, which does not count: it has no effect on the points"
    return checked._replace(why="; ".join(filter(None, (why, checked.why))), counts=False)


def _not_handed_in(claim: Claimed) -> Checked:
    why = f"it is a number of {visible(claim.run)}, which was not handed in: it has no effect on the points"
    return Checked(claim.measure, claim.text, claim.place, UNCHECKED, why=why, counts=False)


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
        The runs; the one that counts has all its parts.
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
    shown = [(at, claim) for at, claim in enumerate(claims) if claim.weight != DECLARED]
    told = [_looked_up(at, claim, tried, counts, queries, baseline) for at, claim in shown]
    by_measure: dict[Measure | None, list[int]] = {}
    for number, (_, claim) in enumerate(shown):
        by_measure.setdefault(_measure_of(claim), []).append(number)
    for measure, numbers in by_measure.items():
        guesses = {told[number].text for number in numbers if told[number].verdict == ASKED}
        giving = [
            number
            for number in numbers
            if told[number].verdict in RIGHT and (anywhere or shown[number][1].weight != SHOWN)
        ]
        if measure in declared or len(guesses) > MOST_OPEN:
            giving = []
        best = min((RIGHT.index(told[number].verdict) for number in giving), default=0)
        for number in numbers:
            if told[number].verdict in RIGHT and not (number in giving and told[number].verdict == RIGHT[best]):
                told[number] = told[number]._replace(verdict=CONFIRMED, counts=False)
    return told


def _looked_up(
    at: int,
    claim: Claimed,
    tried: Sequence[Tried],
    counts: int,
    queries: Collection[str],
    baseline: Ways | None,
) -> Checked:
    """Return what a number equals: the value of the run that counts, or another one that is known."""
    own, read = tried[counts], claim.claim
    seen = Checked(claim.measure, claim.text, claim.place, EXPLAINED, counts=False, sentence=claim.sentence)
    if claim.run in queries:
        return seen._replace(why=f"it is said of query {visible(claim.run)}")
    if read is None:
        return seen._replace(verdict=ASKED, why=claim.fault)
    if own.ways is None:
        return seen._replace(verdict=UNCHECKED, why=reconciled(own, [claim])[0].why)
    seen = seen._replace(value=own.ways.ours(read.measure))
    near = next(filter(None, (ways.agreement(read) for ways in _ways_of(own))), None)
    if near is not None:
        right = near[0] in RIGHT
        return seen._replace(verdict=near[0] if right else EXPLAINED, why=near[1], run=own.graded.run, counts=right)
    other = next((run.graded.run for run in tried if run.right[at : at + 1] == (True,)), "")
    if other:
        return seen._replace(why=f"it is the value of {other}, which does not count")
    if baseline is not None and baseline.agreement(read) is not None:
        return seen._replace(why="it is the value of the baseline")
    return _by_convention(claim, read, seen, own, own.ways)


def _by_convention(claim: Claimed, read: Claim, seen: Checked, own: Tried, ways: Ways) -> Checked:
    """Return a number with the tool whose convention gives it, or as a question."""
    if read.digits + 2 * read.percent < SURE_DIGITS:
        why = f"no run gives it, and fewer than {SURE_DIGITS} decimals do not show a convention"
        return seen._replace(verdict=ASKED, why=why)
    ways.profiles_only = True
    (checked,) = reconciled(own, [claim])
    verdict = {NOT_REPRODUCED: ASKED, UNCHECKED: UNCHECKED}.get(checked.verdict, EXPLAINED)
    return seen._replace(verdict=verdict, why=checked.why, profile=checked.profile)


def missing(told: Sequence[Checked], expected: Sequence[str], ways: Ways | None) -> Iterator[Checked]:
    """Yield expected measures for which no number counts; one that cannot be read does."""
    there = {known_measure(claim.measure) for claim in told if claim.counts}
    for name in expected:
        measure = measure_named(name)
        if measure in there:
            continue
        why = f"no number was declared for {name}"
        known = [claim for claim in told if claim.verdict == CONFIRMED and known_measure(claim.measure) == measure]
        if known:
            why += f"; {known[0].text} ({known[0].place}) is right, but not declared"
        yield Checked(name, "", "", NO_CLAIM, None if ways is None else ways.ours(measure), why)
