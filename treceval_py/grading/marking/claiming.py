"""The claims of a submission, each checked by the run that it speaks of."""

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

__all__ = ["checked_claims", "explained", "first_claims", "reconciled", "right_for"]

RIGHT = (CORRECT, ROUNDING)

MOST_OTHERS = 3
"""So many other runs are searched for an explanation of a number that the run that counts does not explain."""

Again = Callable[[Tried], Tried]
"""Brings back what was forgotten of a run."""


def first_claims(claims: Sequence[Claimed]) -> list[Claimed]:
    """Return as many claims as are read; the last one says if there are more."""
    read = list(claims[:MOST_CLAIMS])
    if len(claims) > MOST_CLAIMS:
        read[-1] = noted(read[-1], ONLY_THE_FIRST)
    return read


def right_for(tried: Tried, claims: Sequence[Claimed]) -> tuple[bool, ...]:
    """Tell which claims are right for a run, also by the labels in it where these contradict no judgments."""
    ways = [each for each in (tried.ways, None if tried.contradicts else tried.own) if each is not None]
    return tuple(any(each.is_right(claim) for each in ways) for claim in claims)


def explained(tried: Tried, claims: Sequence[Claimed]) -> int:
    """Count the claims that are a run's numbers under another convention, or with a mistake."""
    return sum(_is_explained(each) for each in reconciled(tried, claims, searches=MOST_OTHERS))


def reconciled(
    tried: Tried, claims: Sequence[Claimed], *, searches: int = MOST_SEARCHES, expected: Sequence[str] = ()
) -> list[Checked]:
    """Say of each claim how its number comes about, for one run.

    Parameters
    ----------
    tried : Tried
        The run.
    claims : sequence of Claimed
        The claims.
    searches : int
        For so many measures at most an explanation is searched.
    expected : sequence of str
        Measures for which a claim has to be there.

    Returns
    -------
    list of Checked
        As of `reconcile`.
    """
    if tried.ways is not None:
        tried.ways.searches = searches
    told = reconcile(claims, tried.ways, expected)
    if tried.own is not None:
        _look_at_own_labels(tried, claims, told)
    run = tried.graded.run if tried.is_scored else ""
    return [each if each.verdict == NO_CLAIM else each._replace(run=run) for each in told]


def _look_at_own_labels(tried: Tried, claims: Sequence[Claimed], told: list[Checked]) -> None:
    """Look at the claims that are wrong by the labels in the judged ranking, by which students compute them."""
    wrong = [number for number, each in enumerate(told[: len(claims)]) if each.verdict not in RIGHT]
    again = reconcile([claims[number] for number in wrong], tried.own)
    for number, each in zip(wrong, again, strict=True):
        if each.verdict not in RIGHT:
            continue
        why = "by the labels in the file itself" + (f"; {each.why}" if each.why else "")
        if tried.contradicts:
            why = "right by the labels in the file itself, which contradict the judgments of the assignment"
        verdict = MISTAKE if tried.contradicts else each.verdict
        told[number] = each._replace(verdict=verdict, why=why, value=told[number].value)


def checked_claims(
    tried: Sequence[Tried],
    counts: int,
    claims: Sequence[Claimed],
    of_row: Mapping[str, int],
    *,
    again: Again,
    expected: Sequence[str],
) -> list[Checked]:
    """Check each claim by the run that it speaks of.

    Parameters
    ----------
    tried : sequence of Tried
        The runs.
    counts : int
        The one that counts.
    claims : sequence of Claimed
        The claims.
    of_row : mapping of str to int
        The runs of rows, by `of_which`.
    again : callable
        Brings back what was forgotten of a run.
    expected : sequence of str
        Measures for which a claim has to be there.

    Returns
    -------
    list of Checked
        One for each claim, in their order, and one for each expected measure that is not claimed for the run that
        counts. A claim that is right for that run is one of it; otherwise it is one of the run in whose row it is, or
        that it is right for, and does not count if that is another run.
    """
    unknown = [row for row in rows_of(claims) if row not in of_row]
    if unknown:
        of_row = {**of_row, **_rows_by_explanation(again(tried[counts]), claims, unknown, counts)}
    runs = [_run_of(at, each, tried, counts, of_row) for at, each in enumerate(claims)]
    told: dict[int, Checked] = {}
    searches, missing = MOST_SEARCHES, list[Checked]()
    for run in dict.fromkeys([counts, *runs]):
        mine = [at for at, of in enumerate(runs) if of == run]
        if run == NOT_HANDED_IN:
            told |= {at: _not_handed_in(claims[at]) for at in mine}
            continue
        wanted = expected if run == counts else ()
        found = reconciled(again(tried[run]), [claims[at] for at in mine], searches=searches, expected=wanted)
        missing += found[len(mine) :]
        told |= {at: each if run == counts else _of_another(each) for at, each in zip(mine, found, strict=False)}
        if run != counts:
            searched = {each.measure for each in found if each.verdict in (CONVENTION, MISTAKE, NOT_REPRODUCED)}
            searches = max(searches - len(searched), 0)
    for at, each in enumerate(claims):
        if each.run in unknown and each.run not in of_row and told[at].verdict not in RIGHT:
            told[at] = _of_one_of_several(told[at])
        elif not each.run and told[at].verdict == NOT_REPRODUCED and told[at].counts:
            told[at] = _explained_by_others(tried, counts, each) or told[at]
    _leave_open(claims, told)
    return [told[at] for at in range(len(claims))] + missing


def _leave_open(claims: Sequence[Claimed], told: dict[int, Checked]) -> None:
    """Call no number wrong beside a right one that the same file has for its measure: it may be of another run."""
    right = {_told_in(each): each for at, each in enumerate(claims) if not each.run and told[at].verdict in RIGHT}
    for at, each in enumerate(claims):
        other = right.get(_told_in(each))
        if other is not None and not each.run and told[at].verdict == NOT_REPRODUCED:
            why = f"{other.text} ({other.place}) is right, and {OF_WHICH}"
            told[at] = told[at]._replace(verdict=UNCHECKED, why=why)


def _told_in(claimed: Claimed) -> tuple[str, Measure | None]:
    """Return the file of a claim and its measure."""
    return re.split(r":\d|, ", claimed.place, maxsplit=1)[0], claimed.claim.measure if claimed.claim else None


def _run_of(at: int, claim: Claimed, tried: Sequence[Tried], counts: int, of_row: Mapping[str, int]) -> int:
    """Return the run by which a claim is checked: that of its row, or one that it is right for."""
    target = of_row.get(claim.run, counts)
    order = [target] if target != NOT_HANDED_IN else []
    right = [
        run for run in dict.fromkeys([*order, counts, *range(len(tried))]) if tried[run].right[at : at + 1] == (True,)
    ]
    return right[0] if right else target


def _rows_by_explanation(tried: Tried, claims: Sequence[Claimed], rows: Sequence[str], counts: int) -> dict[str, int]:
    """Find the row of the only run by what explains its numbers; empty where that is not one row alone."""
    found = {row: explained(tried, [each for each in claims if each.run == row]) for row in rows}
    best = [row for row in rows if found[row] and found[row] == max(found.values())]
    return {**dict.fromkeys(rows, NOT_HANDED_IN), best[0]: counts} if len(best) == 1 else {}


def _explained_by_others(tried: Sequence[Tried], counts: int, claim: Claimed) -> Checked | None:
    """Return what another run makes of a number that the one that counts does not explain; None where none does."""
    others = [each for at, each in enumerate(tried) if at != counts and each.ways is not None]
    for each in others[:MOST_OTHERS]:
        (found,) = reconciled(each, [claim], searches=1)
        if _is_explained(found):
            return _of_another(found)
    return None


def _is_explained(checked: Checked) -> bool:
    """Tell whether a number is explained, and by enough digits."""
    return checked.verdict in (CONVENTION, MISTAKE) and not checked.why.startswith("perhaps")


def _of_another(checked: Checked) -> Checked:
    """Return a claim of a run that does not count."""
    why = f"it is a number of {checked.run}, which does not count: no points are given or taken"
    return checked._replace(why="; ".join(filter(None, (why, checked.why))), counts=False)


def _not_handed_in(claim: Claimed) -> Checked:
    why = f"it is a number of {visible(claim.run)}, which was not handed in: no points are given or taken"
    return Checked(claim.measure, claim.text, claim.place, UNCHECKED, why=why, counts=False)


def _of_one_of_several(checked: Checked) -> Checked:
    return checked._replace(verdict=UNCHECKED, why=f"several runs are named, and {OF_WHICH}")
