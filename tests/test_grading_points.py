"""Points of graded submissions: every expected number is worked out beside its test; the words are recorded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from treceval_py.grading.grades import Change, Mark, Marks, changed, marks_of
from treceval_py.grading.records import Checked, Graded
from treceval_py.grading.rules import DEFAULT_RULES, MeasureRule

SCORED = Graded("ada", "ada.txt", "scored", measures={"map": 0.25, "P_10": 0.5})
NOTHING = DEFAULT_RULES._replace(points_run=0.0, points_claims=0.0)


def claim(measure: str, verdict: str, text: str = "0.5", **more: object) -> Checked:
    return Checked(measure, text, "claims.csv:2", verdict)._replace(**more)  # type: ignore[arg-type]


def claim_marks(*claims: Checked, points: float = 60.0, expected: tuple[str, ...] = ()) -> Marks:
    rules = NOTHING._replace(points_claims=points, expected=expected)
    return marks_of(SCORED._replace(claims=claims), rules, {})


def points_of(marks: Marks) -> list[tuple[float, float]]:
    assert marks.total == pytest.approx(sum(each.points for each in marks.items))
    assert marks.most == pytest.approx(sum(each.most for each in marks.items))
    return [(each.points, each.most) for each in marks.items]


def words(told: Iterable[tuple[str, Marks]]) -> str:
    """Return the parts of marks, and why each has its points."""
    return "".join(f"# {name}\n" + "".join(f"{each}\n" for each in marks.items) for name, marks in told)


REPAIRED = SCORED._replace(status="repaired")
NOT_SCORED = [Graded("ada", "ada.txt", status, reason="it is a PDF") for status in ("refused", "missing", "failed")]

RUNS: dict[str, tuple[Graded, float, float]] = {
    "scored": (SCORED, 0.75, 40.0),
    "repaired": (REPAIRED, 0.75, 30.0),
    "repaired, with all points": (REPAIRED, 1.0, 40.0),
    "repaired, without points": (REPAIRED, 0.0, 0.0),
    **{graded.status: (graded, 0.75, 0.0) for graded in NOT_SCORED},
    "missing without a reason": (Graded("ada", "ada.txt", "missing"), 0.75, 0.0),
}


def test_a_run_has_points_by_its_status(snapshot: SnapshotAssertion) -> None:
    rules = DEFAULT_RULES._replace(points_claims=0.0)
    found = {
        name: marks_of(graded, rules._replace(credit_repaired=share), {}) for name, (graded, share, _) in RUNS.items()
    }
    assert {name: points_of(marks) for name, marks in found.items()} == {
        name: [(points, 40.0)] for name, (*_, points) in RUNS.items()
    }
    assert words(found.items()) == snapshot


def above(low: float | None, high: float) -> MeasureRule:
    return MeasureRule("map", none_below=low, full_from=high, above_baseline=True)


# The value, the rule, the value of the baseline, and the points of 20.
MEASURES: dict[str, tuple[float, MeasureRule, float, float]] = {
    "between": (0.25, MeasureRule("map", none_below=0.15, full_from=0.4), 0.9, 8.0),  # 0.1 of 0.25, and 20 · 0.4
    "from 0": (0.25, MeasureRule("map", full_from=0.4), 0.9, 12.5),  # 0.25 / 0.4 = 0.625
    "at the upper value": (0.25, MeasureRule("map", none_below=0.1, full_from=0.25), 0.9, 20.0),
    "at the lower value": (0.25, MeasureRule("map", none_below=0.25, full_from=0.3), 0.9, 0.0),
    "below the lower value": (0.25, MeasureRule("map", none_below=0.2501, full_from=0.3), 0.9, 0.0),
    "just below equal values": (0.2999, MeasureRule("map", none_below=0.3, full_from=0.3), 0.9, 0.0),
    "at equal values": (0.3, MeasureRule("map", none_below=0.3, full_from=0.3), 0.9, 20.0),
    "printed as 0.3000": (0.29996, MeasureRule("map", none_below=0.3, full_from=0.3), 0.9, 20.0),
    "above the baseline": (0.25, above(0.0, 0.1), 0.2, 10.0),  # 0.05 of 0.1
    # 0.35 - 0.3 is 0.04999999999999999 in binary floating point.
    "at a difference that binary numbers miss": (0.35, above(0.05, 0.05), 0.3, 20.0),
    "at the baseline": (0.3, above(None, 0.1), 0.3, 0.0),
    "below the baseline": (0.25, above(None, 0.1), 0.3, 0.0),
    "without a value": (float("nan"), MeasureRule("map", full_from=0.5), 0.9, 0.0),
}


def test_points_of_a_measure_grow_evenly_between_two_values(snapshot: SnapshotAssertion) -> None:
    found = {
        name: marks_of(
            SCORED._replace(measures={"map": value}),
            NOTHING._replace(measures=(rule,), points_measures=20.0),
            {"map": baseline},
        )
        for name, (value, rule, baseline, _) in MEASURES.items()
    }
    assert {name: points_of(each) for name, each in found.items()} == {
        name: [(points, 20.0)] for name, (*_, points) in MEASURES.items()
    }
    assert words(found.items()) == snapshot


def test_measures_share_points_by_weight_and_those_without_a_value_to_reach_have_none() -> None:
    rules = (MeasureRule("map", 2.0, full_from=0.5), MeasureRule("ndcg"), MeasureRule("P_10", 1.0, full_from=0.5))
    marks = marks_of(SCORED, NOTHING._replace(measures=rules, points_measures=20.0), {})
    # Two thirds and one third of 20; map reaches half of its own, P_10 all.
    assert [each.part for each in marks.items] == ["measure map", "measure P_10"]
    assert points_of(marks) == [(6.67, 13.33), (6.67, 6.67)]


# --- claims ---

MEANT = ["AP", "Mean Average Precision"]
EASY = claim("P@100000", "correct", "0.0000", value=0.0)
OTHER = {"run": "b.txt", "counts": False}
WRONG, RIGHT = claim("MAP", "not reproduced", "0.9"), claim("map", "correct")
MANY = [claim(f"P@{cutoff}", "correct", "0.423") for cutoff in range(100, 400)]

UNREAD = [claim("runid", "unchecked", "bm25"), claim("time", "unchecked", "12")]
HALVES = [(30.0, 30.0), (0.0, 30.0)]

# The points of 60, or of each part, and the claims.
CLAIMS: dict[str, tuple[Any, ...]] = {
    "correct": (60, RIGHT),
    "rounding": (60, claim("map", "rounding")),
    "convention": (30, claim("map", "convention")),  # half
    "mistake": (15, claim("map", "mistake")),  # a quarter
    "not reproduced": (0, WRONG),
    "unchecked": (0, claim("map", "unchecked")),
    "unchecked with a reason": (0, claim("map", "unchecked", why="a single decimal says too little")),
    "a reason of 301 letters": (0, claim("map", "unchecked", "0.3", why="a" * 299 + "bc")),
    "of another run": (60, RIGHT, WRONG._replace(**OTHER), claim("RR", "correct", **OTHER)),
    "only of other runs": (0, claim("map", "correct", **OTHER)),
    "none": (0,),
    "only in a report": (0, claim("map", "confirmed", counts=False)),
    "two numbers for a measure, of which the worst counts": (0, RIGHT, claim("AP", "not reproduced", "0.6")),
    "the same number twice": (60, RIGHT, RIGHT),
    "what is no measure beside one": (60, RIGHT, *UNREAD),
    "a line that could not be read": (0, claim("", "unchecked", "")),
    "a measure that could not be checked": (HALVES, RIGHT, claim("P_10", "unchecked")),
    "a name that does harm": (0, claim("\x1b[31m" + "m" * 100, "unchecked", "9" * 100)),
    "a count": (0, claim("num_rel", "correct", "30")),
    "a count beside a claim": (60, RIGHT, claim("num_q", "not reproduced")),
    "not in the rules, and nothing else": (60, claim("P@7", "correct", "0.423")),
    "not in the rules, with two digits": (0, claim("P@7", "correct", "0.42")),
    "not in the rules, with two digits after zeros": (0, claim("P@7", "correct", "0.0042", value=0.00421)),
    "not in the rules, of two digits and of three": (
        60,
        claim("P@7", "correct", "0.42"),
        claim("P@7", "correct", "0.423"),
    ),
    "not in the rules, and 1": (0, claim("P@7", "correct", "1.0000", value=1.0)),
    "not in the rules, and 0": (0, EASY),
    "not in the rules, and 0, beside a wrong one": (0, WRONG, EASY),
    **{f"in the rules, and {text}": (60, claim("MAP", "correct", text)) for text in ("0.0000", "0.42", "1.0000")},
    "accepted by the teacher": (60, claim("ERR@20", "correct", "", why="accepted by the teacher")),
    "right without a number": (0, claim("ERR@20", "correct", "")),
}

# The same, after the measures that are expected.
EXPECTED: dict[str, tuple[Any, ...]] = {
    "one, but only of other runs": (("map",), 0, claim("map", "correct", **OTHER)),
    "two, and one that is not": (("map", "P_10"), HALVES, RIGHT, claim("P_5", "correct"), claim("P_10", "no claim")),
    **{f"one, called {name}": (("map",), 60, claim(name, "correct")) for name in MEANT},
    "nowhere": (("map",), 0),
    "a count": (("num_ret",), 60, claim("num_ret", "correct", "30")),
    "0": (("P@100000",), 60, EASY),
}


def test_claims_have_points_by_their_verdicts(snapshot: SnapshotAssertion) -> None:
    cases: dict[str, Any] = {name: ((), *case) for name, case in CLAIMS.items()} | EXPECTED
    found = {name: claim_marks(*claims, expected=expected) for name, (expected, _, *claims) in cases.items()}
    assert {name: points_of(each) for name, each in found.items()} == {
        name: points if isinstance(points, list) else [(points, 60.0)] for name, (_, points, *_) in cases.items()
    }
    assert words(found.items()) == snapshot


def test_measures_that_are_not_in_the_rules_count_together_as_one() -> None:
    marks = claim_marks(WRONG, *MANY)
    assert marks.items[0][:3] == ("claim MAP", 0.0, 30.0)
    assert marks.items[1] == Mark("claim P@100", 0.1, 0.1, "0.423: the number is right")  # 30 / 300
    assert marks.total == 30.0


# Verdicts, points for all claims, and the points of each.
SHARES: list[tuple[list[str], float, list[tuple[float, float]]]] = [
    (["correct"] * 3, 20.0, [(6.67, 6.67), (6.67, 6.67), (6.66, 6.66)]),  # together not 20.01
    # Halves of 6.67 and 6.67 and a quarter of 6.66: 3.335 + 3.335 + 1.665 = 8.335, up to 8.34. Of three remainders of
    # one half the first two are rounded up.
    (["convention", "convention", "mistake"], 20.0, [(3.34, 6.67), (3.34, 6.67), (1.66, 6.66)]),
    (["convention"], 0.25, [(0.13, 0.25)]),  # 0.25 · 0.5 = 0.125; '%.2f' would write 0.12
]


def test_claims_share_their_points_so_that_the_parts_add_up_to_the_total() -> None:
    for verdicts, points, parts in SHARES:
        marks = claim_marks(*map(claim, ("map", "P_10", "RR"), verdicts), points=points)
        assert (points_of(marks), marks.most) == (parts, points)


def test_however_many_parts_there_are_they_add_up_and_no_part_has_more_than_there_is() -> None:
    verdicts = ["correct", "convention", "mistake", "not reproduced"]
    for number in range(1, 41):
        claims = [claim(f"P@{cut}", verdicts[cut % 4], f"0.12{cut}") for cut in range(1, number + 1)]
        marks = claim_marks(*claims, points=33.33, expected=tuple(f"P@{cut}" for cut in range(1, number + 1)))
        cents = [(round(mark.points * 100), round(mark.most * 100)) for mark in marks.items]
        assert all(0 <= got <= most for got, most in cents), number
        assert sum(got for got, _ in cents) == round(marks.total * 100), number
        assert sum(most for _, most in cents) == 3333, number


# --- totals, and what is added or taken ---


def test_what_is_added_and_taken_adds_up_to_the_total_which_decides_who_passes() -> None:
    rules = DEFAULT_RULES._replace(pass_mark=35.0)
    marks = marks_of(SCORED, rules, {})  # 40 for the run
    # Halves of a hundredth are rounded up: 40 - 10 + 5.
    late = changed(changed(marks, Change("late", -10.005, "2 days"), rules), Change("adjusted", 5, "oral"), rules)
    assert (late.total, [change.points for change in late.changes]) == (35.0, [-10.0, 5.0])
    gone = changed(late, Change("adjusted", -35, ""), rules)
    assert (gone.total, [change.points for change in gone.changes]) == (0.0, [-10.0, 5.0, -35.0])
    for points, taken, said, passed in (
        (-5, -5.0, "", True),
        (-5.01, -5.01, "", False),
        (-40, -40.0, "", False),
        (-40.01, -40.0, "; 40.01 points would be taken, but there are only 40", False),
    ):
        made = changed(marks, Change("late", points, "late"), rules)
        assert (made.total, made.changes) == (40 + taken, (Change("late", taken, "late" + said),))
        assert made.passed is passed


def test_the_pass_mark_is_reached_by_the_total() -> None:
    for mark, passed in ((40.0, True), (40.01, False), (None, None)):
        assert marks_of(SCORED, DEFAULT_RULES._replace(pass_mark=mark), {}).passed is passed


def test_parts_that_give_no_points_are_left_out() -> None:
    assert marks_of(SCORED, NOTHING, {}) == Marks((), 0.0, 0.0, None)
