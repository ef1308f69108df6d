"""What the teacher decides by hand: how it is written, whose it is, and what it does to claims and points."""

from __future__ import annotations

from pathlib import Path

import pytest

from treceval_py.errors import InputError
from treceval_py.grading.adjustments import Adjustment, adjusted, decided, matched, read_adjustments
from treceval_py.grading.course.matching import Identity
from treceval_py.grading.marking.points import Change, Mark, Marks, marks_of
from treceval_py.grading.records import Checked, Graded, RunRead
from treceval_py.grading.rules import read_rules

TASKS = ("bm25", "dense")


def written(folder: Path, text: str) -> Path:
    path = folder / "adjustments.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(folder: Path, text: str, *, tasks: tuple[str, ...] = ()) -> str:
    with pytest.raises(InputError) as caught:
        read_adjustments(written(folder, text), tasks[0] if tasks else "", tasks)
    return str(caught.value).replace(str(folder), "OUT")


# --- the file ---


def test_without_a_file_nothing_is_decided(tmp_path: Path) -> None:
    assert read_adjustments(tmp_path / "adjustments.toml") == ()


def test_every_key_is_read_with_its_line(tmp_path: Path) -> None:
    text = (
        '["李明"]\npoints = 30\ncomment = "A good idea."\nrun = "b.txt"\n\n'
        '["ada.lovelace@uni.org"]\npoints = "-1.5"\nclaims.MAP = "accepted"\nclaims."nDCG@10" = "rejected"\n\n'
        "[4711]\nexcused = true\n"
    )
    path = written(tmp_path, text)
    name = str(path)
    assert read_adjustments(path) == (
        Adjustment("李明", name, 1, points=30.0, comment="A good idea.", run="b.txt"),
        Adjustment("ada.lovelace@uni.org", name, 6, change=-1.5, claims={"MAP": True, "nDCG@10": False}),
        Adjustment("4711", name, 11, excused=True),
    )


REFUSALS = {
    '["Ada"]\npoint = 3\n': "OUT/adjustments.toml:2: unknown key 'point'. Did you mean points?",
    '["Ada"]\ncolour = 3\n': "OUT/adjustments.toml:2: unknown key 'colour'. Known keys are "
    "points, comment, run, excused, claims.",
    '["Ada"]\n\npoints = -3\n': "OUT/adjustments.toml:3: points must be a number, 0 or more, "
    'or a change in quotes, such as "+2"',
    '["Ada"]\npoints = "2"\n': "OUT/adjustments.toml:2: points must be a number, 0 or more, "
    'or a change in quotes, such as "+2"',
    '["Ada"]\npoints = nan\n': "OUT/adjustments.toml:2: points must be a number, 0 or more, "
    'or a change in quotes, such as "+2"',
    '["Ada"]\nexcused = "yes"\n': "OUT/adjustments.toml:2: excused must be true or false",
    '["Ada"]\nrun = ""\n': "OUT/adjustments.toml:2: run must be the name of a file in quotes",
    '["Ada"]\nclaims.MAP = true\n': "OUT/adjustments.toml:2: claims must be accepted or rejected for a measure: "
    'claims.MAP = "accepted"',
    '["Ada"]\nclaims.MAPP = "accepted"\n': "OUT/adjustments.toml:2: 'MAPP' is not a measure.",
    '["Ada"]\nexcused = true\npoints = 2\n': "OUT/adjustments.toml:1: an excused student has no points. "
    "Keep points or excused.",
    "points = 3\n": "OUT/adjustments.toml:1: 'points' is not a table. "
    'Write ["Ada Lovelace"] on a line, and points = 30 below it.',
    '["Ada".tasks.bm25]\npoints = 2\n': "OUT/adjustments.toml:1: unknown task 'bm25'. "
    "There is only one: write the keys below the name.",
    '["Ada"]\npoints = 0,5\n': "OUT/adjustments.toml:2: no TOML: expected newline or end of document after a statement. "
    "Write decimals with a point: 0.95.",
}


@pytest.mark.parametrize("text", REFUSALS, ids=[" ".join(text.split()) for text in REFUSALS])
def test_what_makes_no_sense_is_refused_at_its_line(tmp_path: Path, text: str) -> None:
    assert refusal(tmp_path, text).startswith(REFUSALS[text])


def test_of_several_tasks_each_has_its_own_table(tmp_path: Path) -> None:
    text = '["Ada"]\ncomment = "Well done."\n["Ada".tasks.bm25]\npoints = 3\n["Ada".tasks.dense]\nexcused = true\n'
    path = written(tmp_path, text)
    (first,), (second,) = (read_adjustments(path, task, TASKS) for task in TASKS)
    assert (first.points, first.excused, first.comment) == (3.0, False, "Well done.")
    assert (second.points, second.excused, second.comment) == (None, True, "Well done.")


OF_TASKS = {
    '["Ada"]\npoints = 3\n': "OUT/adjustments.toml:2: points belongs to a task, and there are several. "
    'Write it below ["Ada".tasks."bm25"].',
    '["Ada".tasks.sparse]\npoints = 3\n': "OUT/adjustments.toml:1: unknown task 'sparse'. The tasks are bm25, dense.",
    '["Ada"]\ncomment = "x"\n["Ada".tasks.dense]\npoint = 3\n': "OUT/adjustments.toml:4: unknown key 'point'. "
    "Did you mean points?",
}


@pytest.mark.parametrize("text", OF_TASKS, ids=[" ".join(text.split()) for text in OF_TASKS])
def test_a_mistake_in_the_table_of_a_task_is_refused_whatever_task_is_graded(tmp_path: Path, text: str) -> None:
    assert refusal(tmp_path, text, tasks=TASKS) == OF_TASKS[text]


# --- whose it is ---

CLASS = (
    Identity(("Ada Lovelace",), ("1815",), ("ada@uni.org",)),
    Identity(("Alan Turing",), ("1912",)),
    Identity(("Alan Kay",)),
    Identity(("李明",), ("2001",)),
)


@pytest.mark.parametrize(
    ("student", "place"),
    [("Lovelace, Ada", 0), ("ada@uni.org", 0), ("1815", 0), ("alan turing", 1), ("李明", 3), ("2001", 3)],
)
def test_a_student_is_found_by_name_number_and_address(student: str, place: int) -> None:
    each = Adjustment(student, "a.toml", 1)
    assert matched([each], CLASS) == {place: each}


def of_nobody(*students: str) -> str:
    with pytest.raises(InputError) as caught:
        matched([Adjustment(student, "a.toml", 1 + 3 * at) for at, student in enumerate(students)], CLASS)
    return str(caught.value)


def test_who_is_not_in_the_class_is_refused() -> None:
    assert of_nobody("Grace Hopper") == (
        "a.toml:1: unknown student 'Grace Hopper'. Write a name, a number or an e-mail address of the class."
    )


def test_two_tables_for_one_student_are_refused() -> None:
    with pytest.raises(InputError, match="is the student of line 1"):
        matched([Adjustment("Ada Lovelace", "a.toml", 1), Adjustment("ada@uni.org", "a.toml", 4)], CLASS)


# --- claims and runs ---

GRADED = Graded(
    "Ada",
    "Ada",
    "scored",
    run="b.txt",
    runs=(RunRead("b.txt", status="scored"), RunRead("a.txt", status="scored")),
    measures={"AP": 0.25, "RR": 0.5},
    claims=(
        Checked("MAP", "0.41", "report.pdf, page 2, line 7", "not reproduced", 0.25, "the nearest is AP@10, 0.4009"),
        Checked("MRR", "0.5", "report.pdf, page 2, line 8", "correct", 0.5),
    ),
)
RULES = read_rules(
    text='[scoring]\nmeasures = ["AP", "RR", "nDCG@10"]\n[points]\nrun = 40\nclaims = 60\npass_mark = 50\n'
)


def test_an_accepted_claim_is_right_and_says_what_the_check_had_found() -> None:
    claim = decided(GRADED, Adjustment("Ada", "a.toml", 1, claims={"map": True})).claims[0]
    assert claim.verdict == "correct"
    assert claim.why == (
        "accepted by the teacher; the check found that no convention and no common mistake gives the number: "
        "the nearest is AP@10, 0.4009"
    )


def test_a_rejected_claim_gives_nothing() -> None:
    claims = decided(GRADED, Adjustment("Ada", "a.toml", 1, claims={"RR": False})).claims
    assert [claim.verdict for claim in claims] == ["not reproduced", "not reproduced"]
    assert claims[1].why == "rejected by the teacher; the check found that the number is right"
    marks = marks_of(GRADED._replace(claims=tuple(claims)), RULES, {})
    assert [mark.why for mark in marks.items if mark.part == "claim MRR"] == ["0.5: rejected by the teacher"]


def test_a_claim_that_was_not_found_in_the_files_can_be_accepted() -> None:
    graded = decided(GRADED, Adjustment("Ada", "a.toml", 1, claims={"nDCG@10": True}))
    # 40 for the run; of 60 points a third each: MAP 0, MRR 20, nDCG@10 20
    assert marks_of(graded, RULES, {}).total == 80.0


def test_a_claim_that_was_not_found_cannot_be_rejected() -> None:
    with pytest.raises(InputError, match=r"a.toml:1: no claim of nDCG@10 was found. Leave it out."):
        decided(GRADED, Adjustment("Ada", "a.toml", 1, claims={"nDCG@10": False}))


def test_a_run_that_was_not_handed_in_is_refused_with_those_that_were() -> None:
    assert decided(GRADED, Adjustment("Ada", "a.toml", 1, run="b.txt")) == GRADED
    with pytest.raises(InputError, match=r"a.toml:1: no run 'c.txt' was handed in. There are b.txt, a.txt."):
        decided(GRADED, Adjustment("Ada", "a.toml", 1, run="c.txt"))


# --- points ---

MARKS = Marks(
    (Mark("run", 40.0, 40.0, "the run was read and scored"),), 35.0, 100.0, False, (Change("late", -5.0, "x"),)
)


def changed(**given: object) -> Marks:
    return adjusted(MARKS, Adjustment("Ada", "a.toml", 1, **given), RULES)  # type: ignore[arg-type]


def test_points_replace_what_the_rules_give() -> None:
    marks = changed(points=60.0)
    assert (marks.total, marks.passed) == (60.0, True)
    assert marks.changes[1:] == (Change("adjusted", 25.0, "the teacher gives 60 points"),)


def test_a_change_is_added_with_its_comment() -> None:
    marks = changed(change=2.5, comment="A good idea.")
    assert (marks.total, marks.items) == (37.5, MARKS.items)
    assert marks.changes[1:] == (Change("adjusted", 2.5, "A good idea"),)


def test_points_are_never_negative() -> None:
    marks = changed(change=-50.0)
    assert (marks.total, marks.changes[1].points) == (0.0, -35.0)


def test_a_comment_alone_changes_no_points() -> None:
    marks = changed(comment="See me.")
    assert (marks.total, marks.changes[1:]) == (35.0, (Change("adjusted", 0.0, "See me"),))


def test_who_is_excused_has_no_points_to_get() -> None:
    assert changed(excused=True) == Marks(
        (), 0.0, 0.0, None, (Change("adjusted", 0.0, "excused by the teacher"),), excused=True
    )
