"""Lateness: how many days it is, and what it costs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from treceval_py.grading.course.lateness import Late, days_late, is_dated, penalised
from treceval_py.grading.grades import Person
from treceval_py.grading.marking.points import Change, Mark, Marks
from treceval_py.grading.records import Graded
from treceval_py.grading.rules import DEFAULT_RULES, Rules

DEADLINE = datetime(2026, 11, 20, 23, 59, tzinfo=timezone(timedelta(hours=1)))
RULES = DEFAULT_RULES._replace(deadline=DEADLINE, late_per_day=0.1)


def handed_in(at: str, late: bool | None = None) -> Graded:
    return Graded("Ada", "ada", "scored", handed_in=at, late=late)


@pytest.mark.parametrize(
    ("at", "days"),
    [
        ("2026-11-20T22:59:00Z", 0),  # 23:59 in the zone of the deadline
        ("2026-11-20T22:59:01Z", 1),
        ("2026-11-21T22:59:00Z", 1),
        ("2026-11-21T22:59:01Z", 2),
        ("2026-11-20T23:59:00", 0),  # without a zone: that of the deadline
        ("2026-11-21T00:30:00", 1),
        ("2026-11-24", 4),
        ("yesterday", 0),
        ("", 0),
    ],
)
def test_begun_days_after_the_deadline_count(at: str, days: int) -> None:
    assert days_late(handed_in(at), RULES).days == days


def test_what_is_handed_in_within_the_grace_is_in_time_and_later_counts_from_the_deadline() -> None:
    rules = RULES._replace(grace_minutes=30.0)
    assert days_late(handed_in("2026-11-21T00:29:00"), rules).days == 0
    assert days_late(handed_in("2026-11-21T00:29:01"), rules).days == 1
    assert days_late(handed_in("2026-11-22T00:00:00"), rules).days == 2


def test_the_platform_says_what_is_late_where_time_or_deadline_is_unknown() -> None:
    assert days_late(handed_in("", late=True), RULES).days == 1
    assert days_late(handed_in("2026-11-30", late=True), DEFAULT_RULES).days == 1
    assert days_late(handed_in("2026-11-30", late=False), DEFAULT_RULES).days == 0
    assert days_late(handed_in("2026-11-20", late=True), RULES).days == 0  # its own deadline may be an earlier one


@pytest.mark.parametrize(
    ("status", "days"),
    [
        ("Submitted for grading - 2 days 3 hours late - Graded", 3),
        ("Submitted for grading - 2 days late - ", 2),
        ("Submitted for grading - 5 mins 20 secs late - ", 1),
        ("Zur Bewertung abgegeben - 36 Tage 10 Stunden zu spät -  - ", 37),
        ("Submitted for grading - ", 0),
        ("No submission - Assignment is overdue by: 2 days", 0),
    ],
)
def test_the_grading_worksheet_of_moodle_says_how_late_something_is(status: str, days: int) -> None:
    # What the worksheet has in its column Status, in English and German, as tools on GitHub that read it have it.
    person = Person("Ada", row=(("Full name", "Ada"), ("Status", status)))
    assert days_late(handed_in(""), RULES, person).days == days
    assert days_late(handed_in("2026-11-20T20:00:00"), RULES, person).days == 0
    assert is_dated(handed_in(""), person)
    assert not is_dated(handed_in(""), Person("Ada"))


def test_lateness_is_told_in_the_zone_of_the_deadline() -> None:
    said = days_late(handed_in("2026-11-21T23:30:00Z"), RULES)
    assert said == Late(2, "handed in on 2026-11-22 00:30, 2 days late")


def marks(total: float, most: float = 50.0) -> Marks:
    return Marks((Mark("run", total, most, "why"),), total, most, None)


@pytest.mark.parametrize(
    ("total", "days", "rules", "free", "left", "used"),
    [
        (40.0, 0, {}, 2, 40.0, 0),
        (40.0, 2, {}, 2, 40.0, 2),
        (40.0, 3, {}, 2, 35.0, 2),  # 1 day: 10 % of 50
        (40.0, 3, {}, 0, 25.0, 0),
        (40.0, 30, {}, 0, 0.0, 0),
        (40.0, 6, {"late_lowest": 0.5}, 0, 25.0, 0),  # 30 would be taken, and 25 is half of 50
        (20.0, 6, {"late_lowest": 0.5}, 0, 20.0, 0),
        (40.0, 4, {"most_days": 3}, 9, 0.0, 0),
        (40.0, 3, {"most_days": 3}, 9, 40.0, 3),
        (40.0, 3, {"late_per_day": 0.0}, 0, 40.0, 0),
    ],
)
def test_a_share_of_all_points_is_taken_for_each_day_that_is_not_free(
    total: float, days: int, rules: dict[str, float], free: int, left: float, used: int
) -> None:
    found, spent = penalised(marks(total), Late(days, "late" * bool(days)), RULES._replace(**rules), free)
    assert (found.total, spent) == (left, used)
    assert found.total == total + sum(each.points for each in found.changes)


def test_the_penalty_says_how_it_comes_about() -> None:
    late = Late(3, "handed in on 2026-11-23 10:00, 3 days late")
    found, _ = penalised(marks(40.0), late, RULES, 2)
    assert found.changes == (
        Change(
            "late",
            -5.0,
            "handed in on 2026-11-23 10:00, 3 days late; 2 free days used, 0 left; 10 % of 50 points taken for 1 day",
        ),
    )
    found, _ = penalised(marks(40.0), late, RULES._replace(most_days=0), 2)
    assert found.changes[0].why.endswith("; no points after the deadline")


def test_without_rules_for_it_lateness_costs_nothing() -> None:
    assert penalised(marks(40.0), Late(3, "late"), Rules(deadline=datetime(2026, 1, 1, tzinfo=UTC)), 0) == (
        *(marks(40.0), 0),
    )
