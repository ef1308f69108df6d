"""Lateness: how many days it is, and what it costs."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from syrupy.assertion import SnapshotAssertion

from treceval_py.grading.grades import Late, Mark, Marks, Person, days_late, penalised
from treceval_py.grading.records import Graded
from treceval_py.grading.rules import DEFAULT_RULES, Rules

RULES = DEFAULT_RULES._replace(
    deadline=datetime(2026, 11, 20, 23, 59, tzinfo=timezone(timedelta(hours=1))), late_per_day=0.1
)

# When it was handed in, whether the platform marks it as late, the rules, and the days.
TIMES: list[tuple[str, bool | None, Rules, int]] = [
    ("2026-11-20T22:59:00Z", None, RULES, 0),  # 23:59 in the zone of the deadline
    ("2026-11-20T22:59:01Z", None, RULES, 1),
    ("2026-11-21T22:59:00Z", None, RULES, 1),
    ("2026-11-21T22:59:01Z", None, RULES, 2),
    ("2026-11-20T23:59:00", None, RULES, 0),  # without a zone: that of the deadline
    ("2026-11-21T00:30:00", None, RULES, 1),
    ("2026-11-24", None, RULES, 4),
    ("", None, RULES, 0),
    # The platform decides where time or deadline is unknown; its own deadline may be an earlier one.
    ("", True, RULES, 1),
    ("2026-11-30", True, DEFAULT_RULES, 1),
    ("2026-11-30", False, DEFAULT_RULES, 0),
    ("2026-11-20", True, RULES, 0),
]

# What Moodle's grading worksheet has in its column Status, in English and German, as tools on GitHub that read it have
# it, and the days.
STATUSES = {
    "Submitted for grading - 2 days 3 hours late - Graded": 3,
    "Submitted for grading - 2 days late - ": 2,
    "Submitted for grading - 1 day late - ": 1,
    "Submitted for grading - 5 mins 20 secs late - ": 1,
    "Zur Bewertung abgegeben - 36 Tage 10 Stunden zu spät -  - ": 37,
    "Submitted for grading - ": 0,
    "No submission - Assignment is overdue by: 2 days": 0,
}


def handed_in(at: str, late: bool | None = None) -> Graded:
    return Graded("Ada", "ada", "scored", handed_in=at, late=late)


def test_begun_days_after_the_deadline_count_or_what_the_platform_says(snapshot: SnapshotAssertion) -> None:
    found = [days_late(handed_in(at, late), rules) for at, late, rules, _ in TIMES]
    people = [Person("Ada", row=(("Full name", "Ada"), ("Status", status))) for status in STATUSES]
    of_moodle = [days_late(handed_in(""), RULES, person) for person in people]
    assert [each.days for each in found] == [days for *_, days in TIMES]
    assert dict(zip(STATUSES, (each.days for each in of_moodle), strict=True)) == STATUSES
    assert "\n".join(each.said for each in (*found, *of_moodle) if each.said) == snapshot
    # The worksheet says something only of what was handed in, and at an unknown time.
    assert days_late(handed_in("2026-11-20T20:00:00"), RULES, people[0]).days == 0
    assert days_late(handed_in("")._replace(source=""), RULES, people[0]).days == 0
    known = [days_late(handed_in(""), RULES, each).known for each in (*people[::5], Person("Ada"), None)]
    assert known == [True, True, False, False]
    assert all(days_late(handed_in(*each), DEFAULT_RULES).known for each in (("2026",), ("", True), ("", False)))


# Points of 50, days, rules, free days; then the points that are left, and the free days that were used.
PENALTIES: list[tuple[float, int, dict[str, object], int, float, int]] = [
    (40.0, 0, {}, 2, 40.0, 0),
    (40.0, 1, {}, 2, 40.0, 1),
    (40.0, 2, {}, 2, 40.0, 2),
    (40.0, 3, {}, 2, 35.0, 2),  # 1 day: 10 % of 50
    (40.0, 3, {}, 0, 25.0, 0),
    (50.0, 10, {}, 0, 0.0, 0),
    (40.0, 30, {}, 0, 0.0, 0),
    (40.0, 3, {"most_days": 3}, 9, 40.0, 3),
    (40.0, 4, {"most_days": 3}, 9, 0.0, 0),
    (40.0, 2, {"most_days": 1}, 9, 0.0, 0),
    (40.0, 1, {"most_days": 0}, 9, 0.0, 0),
    (40.0, 3, {"late_per_day": 0.0}, 0, 40.0, 0),
    (40.0, 3, {"late_per_day": 0.0, "free_days": 1}, 1, 40.0, 1),
    (40.0, 3, {"late_per_day": 0.0, "most_days": 2}, 0, 0.0, 0),
]


def test_a_share_of_all_points_is_taken_for_each_day_that_is_not_free(snapshot: SnapshotAssertion) -> None:
    lines = []
    for total, days, rules, free, left, used in PENALTIES:
        marks = Marks((Mark("run", total, 50.0, "why"),), total, 50.0, None)
        found, spent = penalised(marks, Late(days, "late" * bool(days)), RULES._replace(**rules), free)  # type: ignore[arg-type]
        assert (found.total, spent) == (left, used), (total, days, rules, free)
        assert found.total == total + sum(each.points for each in found.changes)
        lines += [f"{each.kind} {each.points:g}: {each.why}" for each in found.changes] or ["nothing"]
    assert "\n".join(lines) == snapshot
