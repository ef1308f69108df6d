"""Points of graded submissions: every expected number is worked out beside its test."""

from __future__ import annotations

import pytest

from treceval_py.checking.findings import Finding
from treceval_py.errors import EvaluationError
from treceval_py.grading.marking.points import Change, Mark, Marks, changed, marks_of
from treceval_py.grading.records import Checked, Graded
from treceval_py.grading.rules import DEFAULT_RULES, MeasureRule, Rules

SCORED = Graded("ada", "ada.txt", "scored", measures={"map": 0.25, "P_10": 0.5})
NOTHING = DEFAULT_RULES._replace(points_run=0.0, points_claims=0.0)


def claim(measure: str, verdict: str, text: str = "0.5") -> Checked:
    return Checked(measure, text, "claims.csv:2", verdict)


def only(marks: Marks) -> Mark:
    (mark,) = marks.items
    return mark


def run_mark(graded: Graded, rules: Rules = DEFAULT_RULES) -> Mark:
    return only(marks_of(graded, rules._replace(points_claims=0.0), {}))


def measure_marks(
    graded: Graded, *rules: MeasureRule, points: float, baseline: dict[str, float] | None = None
) -> Marks:
    return marks_of(graded, NOTHING._replace(measures=rules, points_measures=points), baseline or {})


def claim_marks(*claims: Checked, points: float = 60.0, expected: tuple[str, ...] = ()) -> Marks:
    rules = NOTHING._replace(points_claims=points, expected=expected)
    return marks_of(SCORED._replace(claims=claims), rules, {})


def test_a_run_that_was_scored_has_all_its_points() -> None:
    assert run_mark(SCORED) == Mark("run", 40.0, 40.0, "the run was read and scored")


def test_a_repaired_run_has_the_share_of_its_points_that_the_rules_leave() -> None:
    why = "the run was scored after lossless repairs, which gives 75 % of the points"
    assert run_mark(SCORED._replace(status="repaired")) == Mark("run", 30.0, 40.0, why)  # 40 · 0.75


def test_a_repaired_run_may_have_all_points() -> None:
    mark = run_mark(SCORED._replace(status="repaired"), DEFAULT_RULES._replace(credit_repaired=1.0))
    assert mark == Mark("run", 40.0, 40.0, "the run was scored after lossless repairs")


@pytest.mark.parametrize("status", ["refused", "missing", "failed"])
def test_a_submission_without_a_score_has_no_points_for_its_run(status: str) -> None:
    graded = Graded("ada", "ada.txt", status, reason="it is a PDF")
    assert run_mark(graded) == Mark("run", 0.0, 40.0, "it is a PDF")


def test_without_a_reason_the_status_is_one() -> None:
    assert run_mark(Graded("ada", "ada.txt", "missing")).why == "no run was found"


def found(code: str, severity: str) -> Finding:
    return Finding(code, severity, "run.txt", 1, 0, "something")


def test_each_kind_of_warning_takes_points_once() -> None:
    graded = SCORED._replace(
        findings=(found("R123", "warning"), found("R123", "warning"), found("F013", "warning"), found("F009", "note"))
    )
    mark = run_mark(graded, DEFAULT_RULES._replace(deduction_per_warning=1.5))
    why = "the run was read and scored; 2 kinds of warnings (F013, R123) took 1.5 each"
    assert mark == Mark("run", 37.0, 40.0, why)  # 40 - 2 · 1.5


def test_warnings_take_no_more_points_than_there_are() -> None:
    mark = run_mark(
        SCORED._replace(findings=(found("R123", "warning"),)), DEFAULT_RULES._replace(deduction_per_warning=50.0)
    )
    assert mark == Mark("run", 0.0, 40.0, "the run was read and scored; 1 kind of warning (R123) took 50 each")


def test_without_a_deduction_warnings_are_not_mentioned() -> None:
    assert run_mark(SCORED._replace(findings=(found("R123", "warning"),))).why == "the run was read and scored"


def test_points_of_a_measure_grow_evenly_between_the_two_values() -> None:
    mark = only(measure_marks(SCORED, MeasureRule("map", none_below=0.15, full_from=0.4), points=20.0))
    why = "map is 0.2500; that is 40 % of the way from 0.1500 to 0.4000"
    assert mark == Mark("measure map", 8.0, 20.0, why)  # (0.25 - 0.15) / (0.4 - 0.15) = 0.4; 20 · 0.4


def test_without_the_lower_value_points_grow_from_0() -> None:
    mark = only(measure_marks(SCORED, MeasureRule("map", full_from=0.4), points=20.0))
    assert mark.points == 12.5  # 0.25 / 0.4 = 0.625


def test_from_the_upper_value_on_there_are_all_points() -> None:
    mark = only(measure_marks(SCORED, MeasureRule("map", none_below=0.1, full_from=0.25), points=20.0))
    assert mark == Mark("measure map", 20.0, 20.0, "map is 0.2500; all points from 0.2500 on")


def test_below_the_lower_value_there_are_no_points() -> None:
    mark = only(measure_marks(SCORED, MeasureRule("map", none_below=0.2501, full_from=0.3), points=20.0))
    assert mark == Mark("measure map", 0.0, 20.0, "map is 0.2500; no points below 0.2501")


@pytest.mark.parametrize(("value", "points"), [(0.2999, 0.0), (0.3, 20.0)])
def test_equal_values_give_all_or_nothing(value: float, points: float) -> None:
    graded = SCORED._replace(measures={"map": value})
    mark = only(measure_marks(graded, MeasureRule("map", none_below=0.3, full_from=0.3), points=20.0))
    assert mark.points == points


def test_values_count_as_they_are_printed() -> None:
    graded = SCORED._replace(measures={"map": 0.29996})  # printed as 0.3000
    mark = only(measure_marks(graded, MeasureRule("map", none_below=0.3, full_from=0.3), points=20.0))
    assert mark == Mark("measure map", 20.0, 20.0, "map is 0.3000; all points from 0.3000 on")


def test_thresholds_may_be_counted_from_the_baseline() -> None:
    rule = MeasureRule("map", none_below=0.0, full_from=0.1, above_baseline=True)
    mark = only(measure_marks(SCORED, rule, points=20.0, baseline={"map": 0.2}))
    why = "map is 0.2500, the baseline's 0.2000; that is 50 % of the way from 0.2000 to 0.3000"
    assert mark == Mark("measure map", 10.0, 20.0, why)  # 0.05 of 0.1


def test_a_difference_that_binary_numbers_miss_is_reached() -> None:
    # 0.35 - 0.3 is 0.04999999999999999 in binary floating point.
    rule = MeasureRule("map", none_below=0.05, full_from=0.05, above_baseline=True)
    graded = SCORED._replace(measures={"map": 0.35})
    assert only(measure_marks(graded, rule, points=20.0, baseline={"map": 0.3})).points == 20.0


def test_a_run_below_the_baseline_has_no_points_of_it() -> None:
    rule = MeasureRule("map", full_from=0.1, above_baseline=True)
    mark = only(measure_marks(SCORED, rule, points=20.0, baseline={"map": 0.3}))
    why = "map is 0.2500, the baseline's 0.3000; no points below 0.3000"
    assert mark == Mark("measure map", 0.0, 20.0, why)


def test_points_above_a_baseline_need_one() -> None:
    rule = MeasureRule("map", full_from=0.1, above_baseline=True)
    with pytest.raises(EvaluationError) as caught:
        measure_marks(SCORED, rule, points=20.0)
    assert str(caught.value) == (
        "the rules count map from the baseline's value, but there is no baseline with it. Give a baseline, or "
        "leave above_baseline out of the rules."
    )


def test_measures_share_points_by_weight_and_those_without_a_value_to_reach_have_none() -> None:
    rules = (MeasureRule("map", 2.0, full_from=0.5), MeasureRule("ndcg"), MeasureRule("P_10", 1.0, full_from=0.5))
    marks = measure_marks(SCORED, *rules, points=20.0)
    # Two thirds and one third of 20; map reaches half of its own, P_10 all.
    assert [(mark.part, mark.points, mark.most) for mark in marks.items] == [
        ("measure map", 6.67, 13.33),
        ("measure P_10", 6.67, 6.67),
    ]
    assert (marks.total, marks.most) == (13.34, 20.0)  # 6.67 + 6.67, 13.33 + 6.67


@pytest.mark.parametrize("measures", [{}, {"map": float("nan")}])
def test_a_measure_without_a_value_has_no_points(measures: dict[str, float]) -> None:
    mark = only(measure_marks(SCORED._replace(measures=measures), MeasureRule("map", full_from=0.5), points=20.0))
    assert mark == Mark("measure map", 0.0, 20.0, "there is no value of map")


CREDIT = [
    ("correct", 60.0, "0.5: the number is right"),
    ("rounding", 60.0, "0.5: the number is right except for its rounding"),
    ("convention", 30.0, "0.5: the number is right under another convention, which gives 50 % of the points"),
    ("mistake", 15.0, "0.5: the number is explained by a common mistake, which gives 25 % of the points"),
    ("not reproduced", 0.0, "0.5: no convention and no common mistake gives the number"),
    (
        "unchecked",
        0.0,
        "0.5: the number could not be checked: no run, no known measure, or too few digits",
    ),
]


@pytest.mark.parametrize(("verdict", "points", "why"), CREDIT)
def test_each_verdict_has_its_credit(verdict: str, points: float, why: str) -> None:
    assert only(claim_marks(claim("map", verdict))) == Mark("claim map", points, 60.0, why)


def test_claims_share_their_points_so_that_the_parts_add_up_to_the_total() -> None:
    marks = claim_marks(claim("map", "correct"), claim("P_10", "correct"), claim("RR", "correct"), points=20.0)
    assert [mark.points for mark in marks.items] == [6.67, 6.67, 6.66]
    assert (marks.total, marks.most) == (20.0, 20.0)  # not 20.01


def test_rounded_parts_add_up_to_the_rounded_sum() -> None:
    marks = claim_marks(claim("map", "convention"), claim("P_10", "convention"), claim("RR", "mistake"), points=20.0)
    # Halves of 6.67 and 6.67 and a quarter of 6.66: 3.335 + 3.335 + 1.665 = 8.335, up to 8.34. Of three remainders of
    # one half the first two are rounded up.
    assert [(mark.points, mark.most) for mark in marks.items] == [(3.34, 6.67), (3.34, 6.67), (1.66, 6.66)]
    assert marks.total == 8.34


@pytest.mark.parametrize("number", range(1, 41))
def test_however_many_parts_there_are_they_add_up_and_no_part_has_more_than_there_is(number: int) -> None:
    verdicts = ["correct", "convention", "mistake", "not reproduced"]
    claims = [claim(f"P@{cut}", verdicts[cut % 4], f"0.12{cut}") for cut in range(1, number + 1)]
    marks = claim_marks(*claims, points=33.33, expected=tuple(f"P@{cut}" for cut in range(1, number + 1)))
    cents = [(round(mark.points * 100), round(mark.most * 100)) for mark in marks.items]
    assert all(0 <= got <= most for got, most in cents)
    assert sum(got for got, _ in cents) == round(marks.total * 100)
    assert sum(most for _, most in cents) == 3333


# --- claims of another run ---


def test_a_claim_of_a_run_that_does_not_count_neither_gives_points_nor_takes_any() -> None:
    other = claim("map", "not reproduced", "0.7")._replace(run="b.txt", counts=False)
    right = claim("P_10", "correct")._replace(run="b.txt", counts=False)
    marks = claim_marks(claim("map", "correct"), other, right)
    assert marks.items == (Mark("claim map", 60.0, 60.0, "0.5: the number is right"),)


@pytest.mark.parametrize(("expected", "part"), [((), "claims"), (("map",), "claim map")])
def test_where_all_claims_are_of_other_runs_it_is_said(expected: tuple[str, ...], part: str) -> None:
    marks = claim_marks(claim("map", "correct")._replace(counts=False), expected=expected)
    assert marks.items == (Mark(part, 0.0, 60.0, "no number was claimed for the run that counts"),)


# --- what is added or taken ---


def test_what_is_added_and_taken_adds_up_to_the_total() -> None:
    marks = changed(
        marks_of(SCORED, DEFAULT_RULES, {}),
        [Change("late", -10.005, "2 days"), Change("adjusted", 5, "oral")],
        DEFAULT_RULES,
    )
    # 40 for the run; halves of a hundredth are rounded up: 40 - 10 + 5
    assert (marks.total, [each.points for each in marks.changes]) == (35.0, [-10.0, 5.0])


def test_never_more_is_taken_than_there_is() -> None:
    marks = changed(marks_of(SCORED, DEFAULT_RULES, {}), [Change("late", -50, "9 days late")], DEFAULT_RULES)
    why = "9 days late; 50 points would be taken, but there are only 40"
    assert (marks.total, marks.changes) == (0.0, (Change("late", -40.0, why),))


@pytest.mark.parametrize(("points", "passed"), [(-5, True), (-5.01, False)])
def test_whether_a_student_passes_is_decided_by_the_changed_total(points: float, passed: bool) -> None:
    rules = DEFAULT_RULES._replace(pass_mark=35.0)
    assert changed(marks_of(SCORED, rules, {}), [Change("late", points, "late")], rules).passed is passed


def test_halves_of_a_hundredth_are_rounded_up() -> None:
    # 0.25 · 0.5 = 0.125; '%.2f' would write 0.12
    assert only(claim_marks(claim("map", "convention"), points=0.25)).points == 0.13


def test_expected_claims_share_the_points_whatever_else_is_claimed() -> None:
    marks = claim_marks(
        claim("map", "correct"), claim("P_5", "correct"), claim("P_10", "no claim", ""), expected=("map", "P_10")
    )
    assert marks.items == (
        Mark("claim map", 30.0, 30.0, "0.5: the number is right"),
        Mark("claim P_10", 0.0, 30.0, "no number was claimed"),
    )


@pytest.mark.parametrize("name", ["AP", "MAP", "map", "Mean Average Precision"])
def test_an_expected_measure_may_be_claimed_by_any_of_its_names(name: str) -> None:
    assert claim_marks(claim(name, "correct"), expected=("map",)).total == 60.0


def test_an_expected_claim_that_is_nowhere_has_no_points() -> None:
    assert only(claim_marks(expected=("map",))) == Mark("claim map", 0.0, 60.0, "no number was claimed")


def test_without_any_claim_there_are_no_points_for_claims() -> None:
    assert only(claim_marks()) == Mark("claims", 0.0, 60.0, "no number was claimed")


def test_of_several_numbers_for_a_measure_the_worst_counts() -> None:
    marks = claim_marks(claim("map", "correct", "0.5"), claim("AP", "not reproduced", "0.6"))
    why = "2 numbers were claimed, and the worst counts; 0.6: no convention and no common mistake gives the number"
    assert only(marks) == Mark("claim map", 0.0, 60.0, why)


def test_the_same_number_claimed_twice_counts_once() -> None:
    marks = claim_marks(claim("map", "correct"), claim("map", "correct"))
    assert only(marks) == Mark("claim map", 60.0, 60.0, "0.5: the number is right")


def test_what_is_no_measure_is_left_out_beside_claims_that_can_be_checked() -> None:
    marks = claim_marks(claim("map", "correct"), claim("runid", "unchecked", "bm25"), claim("time", "unchecked", "12"))
    assert only(marks) == Mark("claim map", 60.0, 60.0, "0.5: the number is right")


def test_a_line_that_could_not_be_read_has_no_part() -> None:
    assert only(claim_marks(claim("", "unchecked", ""))) == Mark("claims", 0.0, 60.0, "no number was claimed")


def test_a_known_measure_that_could_not_be_checked_takes_its_part() -> None:
    assert claim_marks(claim("map", "correct"), claim("P_10", "unchecked")).total == 30.0


def test_a_name_that_is_no_measure_is_shown_harmless_and_short() -> None:
    mark = only(claim_marks(claim("\x1b[31m" + "m" * 100, "unchecked", "9" * 100)))
    assert mark.part == "claim \\x1b[31m" + "m" * 35
    assert mark.why.startswith("9" * 40 + ": the number could not be checked")


@pytest.mark.parametrize("name", ["num_q", "num_ret", "num_rel", "num_rel_ret"])
def test_a_count_gives_no_points_where_it_is_not_expected(name: str) -> None:
    mark = only(claim_marks(claim(name, "correct", "30")))
    assert mark == Mark("claims", 0.0, 60.0, "the claims do not say how good a run is")


def test_a_count_takes_no_points_from_other_claims() -> None:
    assert only(claim_marks(claim("map", "correct"), claim("num_q", "not reproduced"))).points == 60.0


def test_a_count_that_is_expected_gives_points() -> None:
    assert claim_marks(claim("num_ret", "correct", "30"), expected=("num_ret",)).total == 60.0


def test_measures_that_are_not_in_the_rules_count_together_as_one() -> None:
    many = [claim(f"P@{cutoff}", "correct", "0.423") for cutoff in range(100, 400)]
    marks = claim_marks(claim("MAP", "not reproduced", "0.9"), *many)
    assert marks.items[0][:3] == ("claim MAP", 0.0, 30.0)
    assert marks.items[1] == Mark("claim P@100", 0.1, 0.1, "0.423: the number is right")  # 30 / 300
    assert marks.total == 30.0


def test_measures_that_are_not_in_the_rules_have_all_points_where_nothing_else_is_claimed() -> None:
    assert only(claim_marks(claim("P@7", "correct", "0.423"))) == Mark(
        "claim P@7", 60.0, 60.0, "0.423: the number is right"
    )


@pytest.mark.parametrize(("text", "value"), [("0.0000", 0.0), ("0.0001", 0.00012), ("0.42", 0.42), ("1.0000", 1.0)])
def test_a_number_that_anybody_may_know_is_no_claim_of_a_measure_that_is_not_in_the_rules(
    text: str, value: float
) -> None:
    easy = claim("P@100000", "correct", text)._replace(value=value)
    assert only(claim_marks(easy)) == Mark("claims", 0.0, 60.0, "the claims do not say how good a run is")
    assert claim_marks(claim("MAP", "not reproduced", "0.9"), easy).total == 0.0
    assert claim_marks(easy, expected=("P@100000",)).total == 60.0


@pytest.mark.parametrize("text", ["0.0000", "0.42", "1.0000"])
def test_such_a_number_is_a_claim_of_a_measure_of_the_rules(text: str) -> None:
    assert claim_marks(claim("MAP", "correct", text)).total == 60.0


def test_a_claim_that_could_not_be_checked_says_why() -> None:
    checked = claim("map", "unchecked", "0.3")._replace(why="a single decimal says too little; it is 0.2800")
    assert only(claim_marks(checked)).why == (
        "0.3: it could not be checked: a single decimal says too little; it is 0.2800"
    )


@pytest.mark.parametrize(("mark", "passed"), [(70.0, True), (70.01, False), (None, None)])
def test_the_pass_mark_is_reached_by_the_total(mark: float | None, passed: bool | None) -> None:
    graded = SCORED._replace(claims=(claim("map", "convention"),))
    marks = marks_of(graded, DEFAULT_RULES._replace(pass_mark=mark), {})
    assert (marks.total, marks.most, marks.passed) == (70.0, 100.0, passed)  # 40 + 60 · 0.5


def test_parts_that_give_no_points_are_left_out() -> None:
    assert marks_of(SCORED, NOTHING, {}) == Marks((), 0.0, 0.0, None)


def test_a_claim_that_the_teacher_accepted_counts_though_nobody_found_its_number() -> None:
    accepted = Checked("ERR@20", "", "", "correct", why="accepted by the teacher")
    assert claim_marks(accepted).items[-1].points == 60.0
    assert claim_marks(accepted._replace(why="")).items[-1].points == 0.0
