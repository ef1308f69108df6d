"""The grades of a class: points with their reasons, and the cost of lateness."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from typing import NamedTuple

from treceval_py.errors import brief, listed, visible
from treceval_py.grading import records
from treceval_py.grading.claims.naming import known_measure
from treceval_py.grading.records import Checked, Graded
from treceval_py.grading.rules import Rules
from treceval_py.measuring import Measure
from treceval_py.measuring.registry import REAL

LONGEST_SHOWN = 40
"""Characters of a claimed number that a reason shows."""

FEWEST_DIGITS = 3
"""Numbers with fewer digits, without leading zeros, prove nothing about a measure that was not asked for."""

LONGEST_REASON = 300
"""Characters of the reason why a number could not be checked."""


class Mark(NamedTuple):
    """The points for a part of a submission.

    Attributes
    ----------
    part : str
        ``run``, ``measure map``, ``claim map``; ``claims`` if nothing was claimed.
    points, most : float
        Points reached and possible, 0 or more, with two decimals; the sums over all parts are the totals.
    why : str
        The reason, a sentence without a full stop.
    """

    part: str
    points: float
    most: float
    why: str


class Change(NamedTuple):
    """A change of the sum of the parts: a penalty, or a decision of the teacher.

    Attributes
    ----------
    kind : str
        ``late`` or ``adjusted``.
    points : float
        Signed, rounded to two decimals.
    why : str
        The reason, a sentence without a full stop.
    """

    kind: str
    points: float
    why: str


class Marks(NamedTuple):
    """All points of a submission.

    Attributes
    ----------
    items : tuple of Mark
        The parts that can give points under the rules.
    total, most : float
        Points reached, after the changes, and points possible; 0 or more.
    passed : bool or None
        Whether the total reaches the pass mark; None without one.
    changes : tuple of Change
        Points added to the parts or taken from them; the total includes them.
    excused : bool
        Whether the teacher excused the student, so that no points are counted.
    """

    items: tuple[Mark, ...]
    total: float
    most: float
    passed: bool | None
    changes: tuple[Change, ...] = ()
    excused: bool = False


_Part = tuple[str, Fraction, Fraction, str]
"""A `Mark` before rounding: fractions give the same sum as a calculation by hand. The share is relative to most."""


def marks_of(graded: Graded, rules: Rules, baseline: Mapping[str, float]) -> Marks:
    """Return the points of a submission.

    Parameters
    ----------
    graded : Graded
        The submission.
    rules : Rules
        The rules for points.
    baseline : mapping of str to float
        The baseline's means by measure; empty without one.

    Returns
    -------
    Marks
        The points with their reasons. Values of measures count as printed, with four decimals.
    """
    parts = [_of_run(graded, rules), *_of_measures(graded, rules, baseline), *_of_claims(graded, rules)]
    names, shares, whole, reasons = zip(*parts, strict=True)
    most = _cents([part * 100 for part in whole])
    points = _cents([share * cents for share, cents in zip(shares, most, strict=True)])
    rows = zip(names, points, most, whole, reasons, strict=True)
    items = tuple(Mark(name, got / 100, could / 100, why) for name, got, could, exact, why in rows if exact)
    return Marks(items, sum(points) / 100, sum(most) / 100, _passed(sum(points), rules))


def changed(marks: Marks, change: Change, rules: Rules) -> Marks:
    """Return points after a change, which never takes more than there is; the parts and changes add up to the total."""
    before, wanted = round(marks.total * 100), math.floor(_exact(change.points) * 100 + Fraction(1, 2))
    moved, why = max(wanted, -before), change.why
    if moved != wanted:
        why += f"; {-wanted / 100:g} points would be taken, but there are only {before / 100:g}"
    changes = (*marks.changes, change._replace(points=moved / 100, why=why))
    return marks._replace(total=(before + moved) / 100, passed=_passed(before + moved, rules), changes=changes)


def _passed(cents: int, rules: Rules) -> bool | None:
    return None if rules.pass_mark is None else cents >= _exact(rules.pass_mark) * 100


def _cents(exact: Sequence[Fraction]) -> list[int]:
    """Round numbers so that they add up to their rounded sum: those with the largest remainders are rounded up."""
    cents = [math.floor(number) for number in exact]
    more = math.floor(sum(exact, Fraction(1, 2))) - sum(cents)
    for at in sorted(range(len(exact)), key=lambda at: cents[at] - exact[at])[:more]:
        cents[at] += 1
    return cents


def _exact(number: float) -> Fraction:
    """Return a number exactly as written: 0.1, not the nearest float."""
    return Fraction(repr(number))


def _percent(share: Fraction) -> str:
    return f"{float(share * 100):.4g} %"


def _giving(share: Fraction) -> str:
    return "" if share == 1 else f", which gives {_percent(share)} of the points"


def _of_run(graded: Graded, rules: Rules) -> _Part:
    """Return the part of the run: all points, less after repairs, none if no run could be scored."""
    share, why = Fraction(graded.status == records.SCORED), records.STATUSES[graded.status]
    if graded.status == records.REPAIRED:
        share = _exact(rules.credit_repaired)
        why += _giving(share)
    elif not share:
        why = graded.reason or why
    return "run", share, _exact(rules.points_run), why


def _of_measures(graded: Graded, rules: Rules, baseline: Mapping[str, float]) -> list[_Part]:
    """Return a part for each measure whose value gives points."""
    chosen, parts = [rule for rule in rules.measures if rule.full_from is not None], list[_Part]()
    for rule in chosen:
        most = _exact(rules.points_measures) * _exact(rule.weight) / sum(_exact(other.weight) for other in chosen)
        value, share, why = graded.measures.get(rule.name, math.nan), Fraction(0), f"there is no value of {rule.name}"
        if not math.isnan(value):
            # As printed: a student who reads 0.3000 has reached 0.3.
            printed, start, why = Fraction(f"{value:.4f}"), Fraction(0), f"{rule.name} is {value:.4f}"
            if rule.above_baseline:
                start = Fraction(f"{baseline[rule.name]:.4f}")
                why += f", the baseline's {baseline[rule.name]:.4f}"
            low, high = start + _exact(rule.none_below or 0.0), start + _exact(rule.full_from or 0.0)
            if printed >= high:
                share, more = Fraction(1), f"all points from {float(high):.4f} on"
            elif printed < low:
                more = f"no points below {float(low):.4f}"
            else:
                share = (printed - low) / (high - low)
                more = f"that is {_percent(share)} of the way from {float(low):.4f} to {float(high):.4f}"
            why += f"; {more}"
        parts.append((f"measure {rule.name}", share, most, why))
    return parts


def _of_claims(graded: Graded, rules: Rules) -> list[_Part]:
    """Return a part for each measure that must be claimed or, if the rules expect none, that was claimed.

    Then measures of the rules have equal parts, and all others together have one more. Numbers that are always right,
    such as P@100000 = 0.0000, are left out, because students who choose what to claim could find many.
    """
    whole = _exact(rules.points_claims)
    claimed: dict[Measure | str, list[Checked]] = {}
    for claim in graded.claims:
        if claim.measure and claim.verdict != records.NO_CLAIM and claim.counts:
            claimed.setdefault(_meant(claim.measure), []).append(claim)
    elsewhere = any(not claim.counts and claim.verdict in records.VERDICTS for claim in graded.claims)
    nothing = "no number was declared" + " for the run that counts" * elsewhere
    if any(claim.verdict == records.CONFIRMED for claim in graded.claims):
        nothing += ", and right ones in a report give no points"
    if rules.expected:
        most = whole / len(rules.expected)
        return [_of_claim(name, claimed.get(_meant(name), ()), most, rules, nothing) for name in rules.expected]
    own = {_meant(rule.name) for rule in rules.measures}
    known = [key for key in claimed if isinstance(key, Measure) and key.family.kind == REAL]
    # Next to claims, lines that only look like claims, such as trec_eval's runid, are ignored.
    first = [key for key in known or claimed if key in own or isinstance(key, str)]
    others = [key for key in known if key not in own and any(map(_says_something, claimed[key]))]
    if not first and not others:
        why = "the claims do not say how good a run is" if claimed else nothing
        return [("claims", Fraction(0), whole, why)]
    share = whole / (len(first) + bool(others))
    mosts = dict.fromkeys(first, share) | dict.fromkeys(others, share / max(len(others), 1))
    shown = {key: visible(claimed[key][0].measure[:LONGEST_SHOWN]) for key in mosts}
    return [_of_claim(shown[key], claimed[key], most, rules, "") for key, most in mosts.items()]


def _says_something(claim: Checked) -> bool:
    """Tell whether a number is informative: 0, 1 and numbers with few digits are often right by chance."""
    digits = "".join(filter(str.isdigit, claim.text)).lstrip("0")
    return claim.why.startswith(records.BY_TEACHER) or (len(digits) >= FEWEST_DIGITS and claim.value != 1)


def _of_claim(name: str, claims: Sequence[Checked], most: Fraction, rules: Rules, nothing: str) -> _Part:
    """Return the part of one measure; of several numbers the worst counts, so that guessing gains nothing."""
    if not claims:
        return f"claim {name}", Fraction(0), most, nothing
    claim = min(claims, key=lambda claim: rules.credit[claim.verdict])
    share, said = _exact(rules.credit[claim.verdict]), records.VERDICTS[claim.verdict]
    said = next((reason for reason in records.BY_TEACHER if claim.why.startswith(reason)), said)
    if claim.verdict == records.UNCHECKED and claim.why:
        said = f"it could not be checked: {visible(claim.why[:LONGEST_REASON])}"
    why = f"{visible(claim.text[:LONGEST_SHOWN])}: {said}{_giving(share) if share else ''}"
    if len({other.text for other in claims}) > 1:
        why = f"{len(claims)} numbers were claimed, and the worst counts; {why}"
    return f"claim {name}", share, most, why


def _meant(name: str) -> Measure | str:
    """Return a key common to all names of a measure; for an unknown name, the name in lower case."""
    measure = known_measure(name)
    return name.strip().casefold() if measure is None else measure


class Person(NamedTuple):
    """A student on a roster.

    Attributes
    ----------
    name : str
        The name, given name first.
    number, email, login, group : str
        As on the roster; empty if missing. ``login`` is the account on GitHub or the platform.
    row : tuple of (str, str)
        Titles and cells of the student's row, which import files for the same platform repeat.
    """

    name: str
    number: str = ""
    email: str = ""
    login: str = ""
    group: str = ""
    row: tuple[tuple[str, str], ...] = ()


class Question(NamedTuple):
    """A question for a person to look at.

    Attributes
    ----------
    kind : str
        One of `treceval_py.grading.attention.KINDS`.
    what : str
        A sentence without a full stop.
    """

    kind: str
    what: str


class Entry(NamedTuple):
    """A submission with its points.

    Attributes
    ----------
    graded : Graded
        Its record.
    marks : Marks
        Its points.
    name : str
        A name for its files, of letters, digits, dots, hyphens and underscores; unique among the entries, without
        regard to case.
    person : Person or None
        The student on the roster; None without a roster, or if nobody on it fits.
    questions : tuple of Question
        Questions for a person to look at.
    platform, account : str
        The platform from which the submission was exported, and the number of the student's account there; empty if
        unknown.
    """

    graded: Graded
    marks: Marks
    name: str
    person: Person | None = None
    questions: tuple[Question, ...] = ()
    platform: str = ""
    account: str = ""

    @property
    def student(self) -> str:
        """The student's name: on the roster if there is one, otherwise of the folder or file."""
        return self.graded.student if self.person is None else self.person.name


class Pair(NamedTuple):
    """Two submissions, or one and the baseline, with similar runs: a question to look into, not a verdict.

    Attributes
    ----------
    first, second : int
        Numbers of the entries; ``second`` is -1 for the baseline.
    kind : str
        ``same file``, ``same ranking``, ``nearly the same`` or ``same documents``.
    overlap : float
        Mean rank-biased overlap of the first documents of each query, or the share of documents that both have, 0 to 1.
    queries : int
        Number of queries compared.
    """

    first: int
    second: int
    kind: str
    overlap: float
    queries: int


class Grades(NamedTuple):
    """The results of grading a class, from which all output is made.

    Attributes
    ----------
    qrels, submissions, baseline : str
        The files, as they were named; the baseline is empty if there is none.
    rules : Rules
        The rules of grading.
    measures : tuple of str
        The measures; the first one orders the overview.
    baseline_measures : dict of str to float
        The baseline's means; empty without one.
    entries : tuple of Entry
        All submissions, in the order of the students' names.
    pairs : tuple of Pair
        The pairs of similar runs.
    strays : tuple of str
        Claims that match no submission, such as ``claims.csv:12: student 'xy' …``; sentences without full stops.
    notes : tuple of str
        Other notes for the teacher; sentences without full stops.
    """

    qrels: str
    submissions: str
    baseline: str
    rules: Rules
    measures: tuple[str, ...]
    baseline_measures: dict[str, float]
    entries: tuple[Entry, ...]
    pairs: tuple[Pair, ...] = ()
    strays: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Grades of {brief(self.submissions)!r}: {len(self.entries)} submissions by {listed(self.measures)}>"


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
        zone, time = rules.deadline.tzinfo, datetime.fromisoformat(graded.handed_in)
        time = time.astimezone(zone) if time.tzinfo else time.replace(tzinfo=zone)
        days = max(math.ceil((time - rules.deadline) / timedelta(days=1)), 0)
        return Late(days, f"handed in on {time:%Y-%m-%d %H:%M}, {_days(days)} late" if days else "")
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
    why, used, taken = late.said, 0, marks.total
    if rules.most_days is not None and late.days > rules.most_days:
        why += f"; no points {f'for more than {_days(rules.most_days)}' if rules.most_days else 'after the deadline'}"
    else:
        used = min(late.days, free_days)
        share = min((late.days - used) * rules.late_per_day, 1.0)
        taken = min(share * marks.most, marks.total)
        if used:
            why += f"; {used} free {'day' if used == 1 else 'days'} used, {free_days - used} left"
        if used < late.days:
            why += f"; {share * 100:.4g} % of {marks.most:g} points taken for {_days(late.days - used)}"
    return changed(marks, Change("late", -round(taken, 2), why), rules), used


def _days(number: int) -> str:
    return f"{number} day" if number == 1 else f"{number} days"
