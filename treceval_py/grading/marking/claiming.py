"""The claims of a submission, each checked by the run that it is about."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from treceval_py.errors import visible
from treceval_py.grading.claims.claims import MOST_CLAIMS, ONLY_THE_FIRST, Claimed, noted
from treceval_py.grading.claims.reconciling import MOST_SEARCHES, reconcile
from treceval_py.grading.marking.runs import NOT_HANDED_IN, rows_of
from treceval_py.grading.marking.trying import Tried
from treceval_py.grading.records import (
    CONVENTION,
    CORRECT,
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
"""Most other runs that are searched for an explanation of a number, after the run that counts."""

Again = Callable[[Tried], Tried]
"""Restores the dropped parts of a run."""


def first_claims(claims: Sequence[Claimed]) -> list[Claimed]:
    """Return the claims within the limit; the last one says if there are more."""
    read = list(claims[:MOST_CLAIMS])
    if len(claims) > MOST_CLAIMS:
        read[-1] = noted(read[-1], ONLY_THE_FIRST)
    return read


def right_for(tried: Tried, claims: Sequence[Claimed]) -> tuple[bool, ...]:
    """Tell which claims are right for a run, also by its own labels if these do not contradict the judgments."""
    both = [ways for ways in (tried.ways, None if tried.contradicts else tried.own) if ways is not None]
    return tuple(any(ways.is_right(claim) for ways in both) for claim in claims)


def explained(tried: Tried, claims: Sequence[Claimed]) -> int:
    """Count the claims that a run explains by another convention or a mistake."""
    return sum(_is_explained(claim) for claim in reconciled(tried, claims, searches=MOST_OTHERS))


def reconciled(
    tried: Tried, claims: Sequence[Claimed], *, searches: int = MOST_SEARCHES, expected: Sequence[str] = ()
) -> list[Checked]:
    """Explain the number of each claim, for one run.

    Parameters
    ----------
    tried : Tried
        The run.
    claims : sequence of Claimed
        The claims.
    searches : int
        Largest number of measures for which an explanation is searched.
    expected : sequence of str
        Measures that must be claimed.

    Returns
    -------
    list of Checked
        See `reconcile`.
    """
    if tried.ways is not None:
        tried.ways.searches = searches
    told = reconcile(claims, tried.ways, expected)
    if tried.own is not None:
        _look_at_own_labels(tried, claims, told)
    run = tried.graded.run if tried.is_scored else ""
    return [claim if claim.verdict == NO_CLAIM else claim._replace(run=run) for claim in told]


def _look_at_own_labels(tried: Tried, claims: Sequence[Claimed], told: list[Checked]) -> None:
    """Check wrong claims again by the labels in the judged ranking, which students may have used."""
    wrong = [number for number, claim in enumerate(told[: len(claims)]) if claim.verdict not in RIGHT]
    again = reconcile([claims[number] for number in wrong], tried.own)
    for number, checked in zip(wrong, again, strict=True):
        if checked.verdict not in RIGHT:
            continue
        why = "by the labels in the file itself" + (f"; {checked.why}" if checked.why else "")
        if tried.contradicts:
            why = "right by the labels in the file itself, which contradict the judgments of the assignment"
        verdict = MISTAKE if tried.contradicts else checked.verdict
        told[number] = checked._replace(verdict=verdict, why=why, value=told[number].value)


def checked_claims(
    tried: Sequence[Tried],
    counts: int,
    claims: Sequence[Claimed],
    of_row: Mapping[str, int],
    *,
    again: Again,
    expected: Sequence[str],
) -> list[Checked]:
    """Check each claim by the run that it is about.

    Parameters
    ----------
    tried : sequence of Tried
        The runs.
    counts : int
        The number of the run that counts.
    claims : sequence of Claimed
        The claims.
    of_row : mapping of str to int
        The runs of rows, from `of_which`.
    again : callable
        Restores the dropped parts of a run.
    expected : sequence of str
        Measures that must be claimed.

    Returns
    -------
    list of Checked
        One for each claim, in order, and one for each expected measure that is not claimed for the run that counts. A
        claim belongs to the run that counts if it is right for it; otherwise to the run of its row, or to a run for
        which it is right. It does not count if that is another run.
    """
    unknown = [row for row in rows_of(claims) if row not in of_row]
    if unknown:
        of_row = {**of_row, **_rows_by_explanation(again(tried[counts]), claims, unknown, counts)}
    runs = [_run_of(at, claim, tried, counts, of_row) for at, claim in enumerate(claims)]
    told: dict[int, Checked] = {}
    searches, missing = MOST_SEARCHES, list[Checked]()
    for run in dict.fromkeys([counts, *runs]):
        mine = [at for at, of in enumerate(runs) if of == run]
        if run == NOT_HANDED_IN:
            told |= {at: _not_handed_in(claims[at]) for at in mine}
            continue
        wanted = expected if run == counts else ()
        checked = reconciled(again(tried[run]), [claims[at] for at in mine], searches=searches, expected=wanted)
        missing += checked[len(mine) :]
        told |= {at: claim if run == counts else _of_another(claim) for at, claim in zip(mine, checked, strict=False)}
        if run != counts:
            searched = {claim.measure for claim in checked if claim.verdict in (CONVENTION, MISTAKE, NOT_REPRODUCED)}
            searches = max(searches - len(searched), 0)
    for at, claim in enumerate(claims):
        if claim.run in unknown and claim.run not in of_row and told[at].verdict not in RIGHT:
            told[at] = told[at]._replace(verdict=UNCHECKED, why=f"several runs are named, and {OF_WHICH}")
        elif not claim.run and told[at].verdict == NOT_REPRODUCED and told[at].counts:
            told[at] = _explained_by_others(tried, counts, claim) or told[at]
    _leave_open(claims, told)
    return [told[at] for at in range(len(claims))] + missing


def _leave_open(claims: Sequence[Claimed], told: dict[int, Checked]) -> None:
    """Leave a number open, not wrong, if its file has a right number for the measure: it may belong to another run."""
    right = {_told_in(claim): claim for at, claim in enumerate(claims) if not claim.run and told[at].verdict in RIGHT}
    for at, claim in enumerate(claims):
        other = right.get(_told_in(claim))
        if other is not None and not claim.run and told[at].verdict == NOT_REPRODUCED:
            why = f"{other.text} ({other.place}) is right, and {OF_WHICH}"
            told[at] = told[at]._replace(verdict=UNCHECKED, why=why)


def _told_in(claimed: Claimed) -> tuple[str, Measure | None]:
    """Return the file and the measure of a claim."""
    return re.split(r":\d|, ", claimed.place, maxsplit=1)[0], claimed.claim.measure if claimed.claim else None


def _run_of(at: int, claim: Claimed, tried: Sequence[Tried], counts: int, of_row: Mapping[str, int]) -> int:
    """Return the run by which a claim is checked: that of its row, or one for which it is right."""
    target = of_row.get(claim.run, counts)
    order = [target] if target != NOT_HANDED_IN else []
    right = [
        run for run in dict.fromkeys([*order, counts, *range(len(tried))]) if tried[run].right[at : at + 1] == (True,)
    ]
    return right[0] if right else target


def _rows_by_explanation(tried: Tried, claims: Sequence[Claimed], rows: Sequence[str], counts: int) -> dict[str, int]:
    """Find the row of the only run by the numbers that the run explains; empty unless exactly one row fits best."""
    matches = {row: explained(tried, [claim for claim in claims if claim.run == row]) for row in rows}
    best = [row for row in rows if matches[row] and matches[row] == max(matches.values())]
    return {**dict.fromkeys(rows, NOT_HANDED_IN), best[0]: counts} if len(best) == 1 else {}


def _explained_by_others(tried: Sequence[Tried], counts: int, claim: Claimed) -> Checked | None:
    """Return a claim explained by another run than the one that counts; None if no run explains it."""
    others = [other for at, other in enumerate(tried) if at != counts and other.ways is not None]
    for other in others[:MOST_OTHERS]:
        (checked,) = reconciled(other, [claim], searches=1)
        if _is_explained(checked):
            return _of_another(checked)
    return None


def _is_explained(checked: Checked) -> bool:
    """Tell whether a number is explained, and has enough digits for that."""
    return checked.verdict in (CONVENTION, MISTAKE) and not checked.why.startswith("perhaps")


def _of_another(checked: Checked) -> Checked:
    """Return a claim about a run that does not count."""
    why = f"it is a number of {checked.run}, which does not count: it has no effect on the points"
    return checked._replace(why="; ".join(filter(None, (why, checked.why))), counts=False)


def _not_handed_in(claim: Claimed) -> Checked:
    why = f"it is a number of {visible(claim.run)}, which was not handed in: it has no effect on the points"
    return Checked(claim.measure, claim.text, claim.place, UNCHECKED, why=why, counts=False)
