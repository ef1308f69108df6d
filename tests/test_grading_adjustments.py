"""What the teacher decides by hand: how it is written, whose it is, and what it does to claims and points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from treceval_py.errors import InputError
from treceval_py.grading.adjustments import Adjustment, adjusted, decided, matched, read_adjustments
from treceval_py.grading.grades import Change, Mark, Marks, marks_of
from treceval_py.grading.people import Identity
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


def test_every_key_is_read_with_its_line_and_of_several_tasks_each_has_its_own_table(tmp_path: Path) -> None:
    assert read_adjustments(tmp_path / "adjustments.toml") == ()
    text = (
        '["李明"]\npoints = 30\ncomment = "A good idea."\nrun = "b.txt"\n\n'
        '["ada.lovelace@uni.org"]\npoints = "-1.5"\nclaims.MAP = "accepted"\nclaims."nDCG@10" = "rejected"\n\n'
        "[4711]\nexcused = true\n"
    )
    path = written(tmp_path, text)
    assert read_adjustments(path) == (
        Adjustment("李明", str(path), 1, points=30.0, comment="A good idea.", run="b.txt"),
        Adjustment("ada.lovelace@uni.org", str(path), 6, change=-1.5, claims={"MAP": True, "nDCG@10": False}),
        Adjustment("4711", str(path), 11, excused=True),
    )
    text = '["Ada"]\ncomment = "Well done."\n["Ada".tasks.bm25]\npoints = 3\n["Ada".tasks.dense]\nexcused = true\n'
    (first,), (second,) = (read_adjustments(written(tmp_path, text), task, TASKS) for task in TASKS)
    assert (first.points, first.excused, first.comment) == (3.0, False, "Well done.")
    assert (second.points, second.excused, second.comment) == (None, True, "Well done.")


REFUSALS = [
    '["Ada"]\npoint = 3\n',
    '["Ada"]\npoints = -0.01\n',
    '["Ada"]\npoints = true\n',
    '["Ada"]\npoints = 1000000.01\n',
    '["Ada"]\npoints = "2"\n',
    '["Ada"]\npoints = "+2.5.1"\n',
    '["Ada"]\npoints = "-1000000.01"\n',
    '["Ada"]\npoints = nan\n',
    '["Ada"]\nexcused = "yes"\n',
    '["Ada"]\nrun = ""\n',
    '["Ada"]\nrun = 3\n',
    '["Ada"]\nclaims = "accepted"\n',
    '["Ada"]\nclaims.MAP = true\n',
    '["Ada"]\nclaims.MAPP = "accepted"\n',
    '["Ada"]\nexcused = true\npoints = 2\n',
    "points = 3\n",
    '["Ada".tasks.bm25]\npoints = 2\n',
    '["Ada"]\npoints = 0,5\n',
]
OF_TASKS = [
    '["Ada"]\npoints = 3\n',
    '["Ada"]\nrun = "a"\n',
    '["Ada".tasks.sparse]\npoints = 3\n',
    '["Ada"]\ncomment = "x"\n["Ada".tasks.dense]\npoint = 3\n',  # whatever task is graded
]


def test_what_makes_no_sense_is_refused_at_its_line(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    of_one = {" ".join(text.split()): refusal(tmp_path, text) for text in REFUSALS}
    of_several = {" ".join(text.split()): refusal(tmp_path, text, tasks=TASKS) for text in OF_TASKS}
    assert {"one task": of_one, "tasks": of_several} == snapshot


def test_points_are_a_number_from_0_or_a_change_in_quotes(tmp_path: Path) -> None:
    points = {"0": (0.0, None), "1000000": (1e6, None), '"+0"': (None, 0.0), '"-1000000"': (None, -1e6)}
    for text, expected in (points | {'"+2.25"': (None, 2.25)}).items():
        (each,) = read_adjustments(written(tmp_path, f'["Ada"]\npoints = {text}\n'))
        assert (each.points, each.change) == expected, text


# --- whose it is ---

CLASS = (
    Identity(("Ada Lovelace",), ("1815",), ("ada@uni.org",)),
    Identity(("Alan Turing",), ("1912",)),
    Identity(("Alan Kay",)),
    Identity(("李明",), ("2001",)),
)


def test_a_student_is_found_by_name_number_and_address(snapshot: SnapshotAssertion) -> None:
    students = {"Lovelace, Ada": 0, "ada@uni.org": 0, "1815": 0, "alan turing": 1, "李明": 3, "2001": 3}
    for student, place in students.items():
        each = Adjustment(student, "a.toml", 1)
        assert matched([each], CLASS) == {place: each}
    # Who is only in another task is left out, even if somebody here has a part of the name.
    assert matched([Adjustment("Alan", "a.toml", 1)], CLASS, [Identity(("alan",))]) == {}
    said = []
    for several in (["Grace Hopper"], ["Alan"], ["Ada Lovelace", "ada@uni.org"]):
        with pytest.raises(InputError) as caught:
            matched([Adjustment(student, "a.toml", 1 + 3 * at) for at, student in enumerate(several)], CLASS)
        said.append(str(caught.value))
    assert said == snapshot


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


def test_claims_are_accepted_or_rejected_and_say_what_the_check_had_found() -> None:
    accepted = decided(GRADED, Adjustment("Ada", "a.toml", 1, claims={"map": True})).claims[0]
    reason = (
        "the number is not reproduced by any convention or common mistake that was tried: the nearest is AP@10, 0.4009"
    )
    assert accepted.verdict == "correct"
    assert accepted.why == f"accepted by the teacher; the check found that {reason}"
    rejected = decided(GRADED, Adjustment("Ada", "a.toml", 1, claims={"RR": False}))
    assert [claim.verdict for claim in rejected.claims] == ["not reproduced", "not reproduced"]
    assert rejected.claims[1].why == "rejected by the teacher; the check found that the number is right"
    marks = marks_of(rejected, RULES, {})
    assert [mark.why for mark in marks.items if mark.part == "claim MRR"] == ["0.5: rejected by the teacher"]


def test_a_claim_that_was_not_found_can_be_accepted_and_neither_it_nor_a_run_can_be_invented() -> None:
    graded = decided(GRADED, Adjustment("Ada", "a.toml", 1, claims={"nDCG@10": True}))
    # 40 for the run; of 60 points a third each: MAP 0, MRR 20, nDCG@10 20
    assert marks_of(graded, RULES, {}).total == 80.0
    with pytest.raises(InputError, match=r"a.toml:1: no claim of nDCG@10 was found. Leave it out."):
        decided(GRADED, Adjustment("Ada", "a.toml", 1, claims={"nDCG@10": False}))
    assert decided(GRADED, Adjustment("Ada", "a.toml", 1, run="b.txt")) == GRADED
    with pytest.raises(InputError, match=r"a.toml:1: no run 'c.txt' was handed in. There are b.txt, a.txt."):
        decided(GRADED, Adjustment("Ada", "a.toml", 1, run="c.txt"))


# --- points ---

NO_LESS = "50 points would be taken, but there are only 35"
MARKS = Marks((Mark("run", 40.0, 40.0, "the run was scored"),), 35.0, 100.0, False, (Change("late", -5.0, "x"),))


# What the teacher decides, the points, and the change.
CHANGES: list[tuple[dict[str, Any], float, list[Change]]] = [
    ({"points": 60.0}, 60.0, [Change("adjusted", 25.0, "the teacher gives 60 points")]),
    ({"points": 0.0}, 0.0, [Change("adjusted", -35.0, "the teacher gives 0 points")]),
    ({"change": 2.5, "comment": "A good idea."}, 37.5, [Change("adjusted", 2.5, "A good idea")]),
    ({"change": 2.504}, 37.5, [Change("adjusted", 2.5, "the teacher's decision")]),
    ({"change": 15.0}, 50.0, [Change("adjusted", 15.0, "the teacher's decision")]),
    ({"change": 14.99}, 49.99, [Change("adjusted", 14.99, "the teacher's decision")]),
    ({"change": -50.0, "comment": "x"}, 0.0, [Change("adjusted", -35.0, f"x; {NO_LESS}")]),
    ({"change": 0.0}, 35.0, []),
    ({"comment": "See me."}, 35.0, [Change("adjusted", 0.0, "See me")]),
    ({}, 35.0, []),
]


def test_points_are_replaced_or_changed_with_a_reason_and_who_is_excused_has_none_to_get() -> None:
    for given, total, change in CHANGES:
        marks = adjusted(MARKS, Adjustment("Ada", "a.toml", 1, **given), RULES)
        assert (marks.total, list(marks.changes[1:]), marks.items) == (total, change, MARKS.items), given
        assert marks.passed == (total >= 50), given
    excused = (Change("adjusted", 0.0, "excused by the teacher"),)
    decision = Adjustment("Ada", "a.toml", 1, excused=True)
    assert adjusted(MARKS, decision, RULES) == Marks((), 0.0, 0.0, None, excused, excused=True)
