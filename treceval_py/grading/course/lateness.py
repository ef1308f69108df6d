"""The cost of lateness: free late days, and a share of the points for each day after them."""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta
from typing import NamedTuple

from treceval_py.grading.grades import Person
from treceval_py.grading.marking.points import Change, Marks, changed
from treceval_py.grading.records import Graded
from treceval_py.grading.rule_keys import Rules

KIND = "late"
"""Kind of a `Change` for lateness."""


class Late(NamedTuple):
    """How late something was handed in.

    Attributes
    ----------
    days : int
        Days after the deadline, rounded up; 0 in time.
    said : str
        The same in words, without a full stop; empty in time.
    known : bool
        Whether anything shows when it was handed in.
    """

    days: int
    said: str = ""
    known: bool = True


# "Submitted for grading - 1 day 2 hours late - ", "Zur Bewertung abgegeben - 36 Tage 10 Stunden zu spät -  - "
_OF_MOODLE = re.compile(r"(?i)- (?:(?P<days>\d+) (?:days?|tage?)\b)?(?P<more>[^-]*?) (?:late|zu spät)\b")


def days_late(graded: Graded, rules: Rules, person: Person | None = None) -> Late:
    """Return how late a submission is, by its time and the deadline; without these, according to platform or roster.

    A time without a zone is in the zone of the deadline.
    """
    if rules.deadline is not None and graded.handed_in:
        try:
            time = datetime.fromisoformat(graded.handed_in)
        except ValueError:
            time = rules.deadline
        if time.tzinfo is None:
            time = time.replace(tzinfo=rules.deadline.tzinfo)
        over = time - rules.deadline
        days = max(math.ceil(over / timedelta(days=1)), 0)
        at = time.astimezone(rules.deadline.tzinfo).strftime("%Y-%m-%d %H:%M")
        return Late(days, f"handed in on {at}, {_days(days)} late") if days else Late(0)
    # Of Moodle's grading worksheet, if that is the roster.
    status = "" if person is None else next((cell for title, cell in person.row if title.casefold() == "status"), "")
    if graded.source and (overdue := _OF_MOODLE.search(status)):
        days = max(int(overdue["days"] or 0) + any(map(str.isdigit, overdue["more"])), 1)
        return Late(days, f"the roster says {overdue[0][2:].strip(' -')}")
    if graded.late:
        return Late(1, "the platform marks it as late, without saying by how much: this counts as 1 day")
    return Late(0, known=bool(graded.handed_in) or graded.late is not None or bool(status))


def penalised(marks: Marks, late: Late, rules: Rules, free_days: int) -> tuple[Marks, int]:
    """Return points after the penalty for lateness, and the number of free days used.

    Parameters
    ----------
    marks : Marks
        The points without the penalty.
    late : Late
        How late it is.
    rules : Rules
        The rules for lateness.
    free_days : int
        Free days that the student has left.
    """
    if not late.days or not (rules.late_per_day or rules.free_days or rules.most_days is not None):
        return marks, 0
    why = late.said
    if rules.most_days is not None and late.days > rules.most_days:
        why += f"; no points {f'for more than {_days(rules.most_days)}' if rules.most_days else 'after the deadline'}"
        return changed(marks, [Change(KIND, -marks.total, why)], rules), 0
    used = min(late.days, free_days)
    paid = late.days - used
    if used:
        why += f"; {used} free {'day' if used == 1 else 'days'} used, {free_days - used} left"
    share = min(paid * rules.late_per_day, 1.0)
    taken = min(share * marks.most, marks.total)
    if paid:
        why += f"; {share * 100:.4g} % of {marks.most:g} points taken for {_days(paid)}"
    return changed(marks, [Change(KIND, -round(taken, 2), why)], rules), used


def _days(number: int) -> str:
    return f"{number} day" if number == 1 else f"{number} days"
