"""A course as a whole: tasks in their folders, one gradebook, late days over all tasks, adjustments."""

from __future__ import annotations

import csv
import re
import shutil
from pathlib import Path

import pytest
from command import treceval
from grading_samples import quick
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.errors import EvaluationError
from treceval_py.grading import Course
from treceval_py.grading.outputs.feedback import feedback

pytestmark = pytest.mark.filterwarnings("ignore::treceval_py.errors.MissingQueriesWarning")

QRELS = "1 0 a 1\n1 0 b 0\n2 0 c 1\n"
# The relevant documents are first: MAP is 1.
RUN = "1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n2 Q0 c 1 1.0 t\n"
RULES = """\
title = "IR"
[points]
run = 10
claims = 0
[[task]]
name = "Sheet 1"
qrels = "qrels.txt"
folder = "sheet1*"
[[task]]
name = "Sheet 2"
qrels = "qrels.txt"
folder = "sheet2*"
weight = 2
"""
OF_STUDENTS = RULES.replace('"sheet1*"', '"*/sheets/ex1"').replace('"sheet2*"', '"*/ex2*.txt"')
ROSTER = "name,number,group\nAda Lovelace,1,A\nGrace Hopper,2,A\n李明,3,B\n"
ADJUSTED = "out/adjustments.toml"
LATE = """\
submission_1:
  :submitters:
  - :name: Ada Lovelace
    :sid: '1'
    :email: a@x.example
  :created_at: {}.000000000 Z
"""

Files = dict[str, str]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    quick(monkeypatch, pages="page" in request.node.name)


def put(folder: Path, files: Files) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    handed_in = ("sheet1/Lovelace Ada", "sheet1/明 李", "sheet1/Mallory", "sheet2/ada lovelace")
    put(tmp_path, {"qrels.txt": QRELS, "rules.toml": RULES, "roster.csv": ROSTER})
    put(tmp_path, {f"in/{name}/run.txt": RUN for name in handed_in})
    return tmp_path


def graded(folder: Path, *, roster: bool = True, submitted: str = "in") -> Course:
    rules, people = te.grading.read_rules(folder / "rules.toml"), folder / "roster.csv" if roster else None
    return te.grading.grade_course(folder / submitted, folder / "out", rules=rules, roster=people, workers=1)


def totals(course: Course) -> list[tuple[str, float, float]]:
    return [(each.student, each.total, each.most) for each in course.members]


def read(path: Path) -> str:
    return re.sub(r"\|v:[^\s|]+", "|v:VERSION", path.read_text("utf-8"))


def test_a_course_is_written_as_its_tasks_with_one_gradebook_and_the_feedback_of_each_student(
    folder: Path, snapshot: SnapshotAssertion
) -> None:
    put(folder, {"roster.csv": ROSTER + "明,4,\n"})
    course = graded(folder)
    assert totals(course) == [
        ("Ada Lovelace", 30.0, 30.0),  # 10 + 2 * 10
        ("Grace Hopper", 0.0, 30.0),
        ("明", 0.0, 30.0),
        ("李明", 10.0, 30.0),
        ("Mallory", 10.0, 10.0),
    ]
    assert repr(course) == "<Course 'IR': 5 students, Sheet 1, Sheet 2>"
    assert read(folder / "out" / "gradebook.csv") == snapshot
    assert [read(folder / "out" / "feedback" / f"{name}.txt") for name in ("Ada_Lovelace", "Mallory")] == snapshot
    before = {path: path.read_bytes() for path in (folder / "out").rglob("*") if path.is_file()}
    assert folder / "out" / "Sheet_1" / "grades.json" in before
    graded(folder)
    assert {path: path.read_bytes() for path in (folder / "out").rglob("*") if path.is_file()} == before
    done = treceval(["grade", *ARGUMENTS], folder=folder)
    assert (done.status, done.out.decode()) == (0, snapshot)
    # What was edited is kept with a note.
    put(folder, {"out/feedback/Ada_Lovelace.txt": "Well done"})
    notes = [note.partition(";")[0] for note in graded(folder).notes]
    assert notes == ["edited by hand and kept: feedback/Ada_Lovelace.txt"]
    assert read(folder / "out" / "feedback" / "Ada_Lovelace.txt") == "Well done"


def test_the_page_of_a_course_leads_to_its_tasks_and_students(folder: Path) -> None:
    graded(folder)
    links = re.findall(r'href="([^"#]+)"', (folder / "out" / "overview.html").read_text())
    assert {"Sheet_1/overview.html", "Sheet_2/feedback/Grace_Hopper.txt", "feedback/Ada_Lovelace.txt"} <= {*links}
    assert [link for link in links if not (folder / "out" / link).exists()] == []


def test_late_days_are_used_up_in_the_order_of_the_deadlines(folder: Path) -> None:
    # The sheet that is due first comes last in the rules.
    rules = RULES.replace("[[task]]", "[late]\nfree_days = 2\nper_day = 0.1\n[[task]]", 1).replace(
        'folder = "sheet1*"\n', 'folder = "sheet1*"\n[task.late]\ndeadline = 2026-02-10T12:00:00Z\n'
    )
    put(folder, {"rules.toml": rules + "[task.late]\ndeadline = 2026-02-01T12:00:00Z\n"})
    unknown = "submission has no time in the export, so lateness is unknown and costs nothing"
    notes = [task.notes for task in graded(folder).tasks]
    assert notes == [(unknown.replace("submission has", "3 submissions have"),), (f"1 {unknown}",)]
    for sheet, time in (("sheet1", "2026-02-12 11:00:00"), ("sheet2", "2026-02-02 13:00:00")):
        (folder / "in" / sheet).rename(folder / sheet)
        export = f"in/{sheet}/submission"
        put(folder, {f"{export}_1/run.txt": RUN, f"{export}_metadata.yml": LATE.format(time)})
    ada = next(each for each in graded(folder).members if each.student == "Ada Lovelace")
    # Two days late for sheet 2 use both free days, and two days late for sheet 1 cost 2 * 10 % of 10 points.
    assert [each.marks.total for each in ada.entries if each is not None] == [8.0, 10.0]


NOTES: dict[str, tuple[Files, str]] = {
    "nothing to note": ({"in/.DS_Store": "", "in/sheet2/.hidden": ""}, "in"),
    "a task without submissions": ({"rules.toml": RULES.replace("sheet2*", "sheet3*")}, "in"),
    "a folder of no task": ({"in/Sheet2 late/Alan Turing/run.txt": RUN}, "in"),
    "files of no task": (
        {
            "rules.toml": OF_STUDENTS.replace("ex2*.txt", "ex2"),
            **{f"class/{name}/run.txt": RUN for name in ("ada/sheets/ex1", "ada/Ex 2", "grace/ex2")},
        },
        "class",
    ),
    "adjustments of a task": (
        dict.fromkeys(("out/.grades/x", "out/Sheet_1/.grades/x", "out/Sheet_1/adjustments.toml"), ""),
        "in",
    ),
}


def test_what_was_left_out_and_why_is_a_note(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    said = {}
    for number, (case, (files, submitted)) in enumerate(NOTES.items()):
        own = tmp_path / str(number)
        put(own, {"qrels.txt": QRELS, "rules.toml": RULES, "in/sheet1/Ada/run.txt": RUN, "in/sheet2/Ada/run.txt": RUN})
        put(own, files)
        course = graded(own, roster=False, submitted=submitted)
        said[case] = [course.names, *(note.replace(str(own), "COURSE") for note in course.notes)]
    assert said == snapshot


def test_tasks_may_be_folders_within_the_folders_of_students(folder: Path) -> None:
    put(folder, {"rules.toml": OF_STUDENTS})
    put(folder, {f"class/{name}": RUN for name in ("ada/sheets/ex1/run.txt", "ada/ex2_run.txt", "grace/ex2_run.txt")})
    (folder / "class" / "grace" / "sheets" / "ex1").mkdir(parents=True)
    course = graded(folder, roster=False, submitted="class")
    # 10 + 2 * 10, and 2 * 10 of as many: grace's folder is there, so she has 0 for the first task
    assert totals(course) == [("ada", 30.0, 30.0), ("grace", 20.0, 30.0)]
    runs = [[each.graded.run for each in task.entries] for task in course.tasks]
    assert runs == [["run.txt", ""], ["ex2_run.txt"] * 2]


def test_weighted_points_are_added_as_decimals_and_rounded_once(folder: Path) -> None:
    # 0.1 * 3.35 + 0.11 * 3.35 is 0.7035; two roundings would give 0.34 + 0.37
    rules = RULES.replace("run = 10", "run = 3.35").replace('"sheet1*"', '"sheet1"\nweight = 0.1')
    shutil.make_archive(str(folder / "in" / "sheet1"), "zip", folder / "in" / "sheet1")
    (folder / "in" / "sheet1").rename(folder / "unpacked")
    put(folder, {"rules.toml": rules.replace("weight = 2", "weight = 0.11")})
    assert totals(graded(folder))[0] == ("Ada Lovelace", 0.7, 0.7)


ARGUMENTS = ["in", "--rules", "rules.toml", "--roster", "roster.csv", "-o", "out"]
REFUSED: dict[str, tuple[Files, list[str], int]] = {
    "nothing handed in": ({"rules.toml": RULES.replace('"sheet', '"blatt')}, ARGUMENTS, 1),
    "no such judgments": ({"rules.toml": "none.txt".join(RULES.rsplit("qrels.txt", 1))}, ARGUMENTS, 1),
    "two folders for a task": ({"in/sheet1-late/Alan/run.txt": RUN}, ARGUMENTS, 1),
    "adjustments of nobody": ({ADJUSTED: "[Nobody]\nexcused = true\n"}, ARGUMENTS, 1),
    "points without a task": ({ADJUSTED: '["Mallory"]\npoints = 4\n'}, ARGUMENTS, 1),
    "judgments twice": ({}, ["qrels.txt", *ARGUMENTS], 2),
    "claims": ({}, [*ARGUMENTS, "--claims", "x"], 2),
    "single": ({}, ["in", "--rules", "rules.toml", "--single"], 2),
    "nothing to grade": ({}, ["--rules", "rules.toml", "-o", "out"], 2),
    "single with a roster": ({}, ["qrels.txt", "in/sheet1/Mallory", "--single", "--roster", "roster.csv"], 2),
    "no folder": ({}, ["qrels.txt", *ARGUMENTS[1:]], 1),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_course_that_cannot_be_graded_is_refused_before_anything_is_written(
    case: str, folder: Path, snapshot: SnapshotAssertion
) -> None:
    files, arguments, status = REFUSED[case]
    put(folder, files)
    done = treceval(["grade", *arguments], folder=folder)
    assert (done.status, done.err.decode().replace(str(folder), "COURSE")) == (status, snapshot)
    assert not [*folder.glob("out/**/*.csv"), *folder.glob("out/**/*.txt")]


def test_rules_of_a_course_and_of_an_exercise_are_not_taken_for_each_other(folder: Path) -> None:
    with pytest.raises(EvaluationError, match="these are the rules of a course"):
        te.grading.grade(
            folder / "qrels.txt", folder / "in", folder / "out", rules=te.grading.read_rules(folder / "rules.toml")
        )
    with pytest.raises(EvaluationError, match="the rules have no task"):
        te.grading.grade_course(folder / "in", folder / "out", rules=te.grading.read_rules(text='title = "x"'))


def test_adjustments_are_of_a_task_and_a_comment_is_of_all(folder: Path) -> None:
    ada = '["Ada Lovelace".tasks."Sheet 2"]\npoints = 4\ncomment = "The run is a copy"\n'
    put(folder, {ADJUSTED: ada + '["2"]\nexcused = true\n["Mallory".tasks."Sheet 1"]\npoints = 4\n'})
    assert totals(graded(folder)) == [
        ("Ada Lovelace", 18.0, 30.0),  # 10 + 2 * 4
        ("Grace Hopper", 0.0, 0.0),
        ("李明", 10.0, 30.0),
        ("Mallory", 4.0, 10.0),  # who is not on the roster
    ]
    with (folder / "out" / "gradebook.csv").open(encoding="utf-8", newline="") as stream:
        first, grace, *_ = csv.DictReader(stream)
    said = (first["Sheet 2: changes"], grace["Sheet 2: status"], grace["Sheet 2: points"])
    assert said == ("The run is a copy", "excused", "")
    assert "excused" in read(folder / "out" / "feedback" / "Grace_Hopper.txt").partition("Total")[2].split("\n")[0]


def test_what_a_group_handed_in_counts_for_each_member_and_is_compared_with_others_once(folder: Path) -> None:
    # Three equal runs and another one, which the teacher chose for the group; decisions on others do not undo that.
    put(folder, {"in/sheet1/Lovelace Ada/other.txt": RUN.replace("b 2 1.0", "b 2 3.0")})
    put(folder, {ADJUSTED: '["1"]\nrun = "other.txt"\n["2"]\ncomment = "Well done"\n'})
    rules = te.grading.read_rules(text='[points]\nrun = 10\nclaims = 0\n[roster]\ngroups = "A"\n')
    roster = te.grading.read_roster(folder / "roster.csv")
    grades = te.grading.grade(
        folder / "qrels.txt", folder / "in" / "sheet1", folder / "out", rules=rules, roster=roster
    )
    said = [(each.graded.run, "Your group handed it" in feedback(each, grades)) for each in grades.entries]
    assert said == [("other.txt", True)] * 2 + [("run.txt", False)] * 2  # Ada and Grace; 李明 and Mallory
    assert [each.marks.total for each in grades.entries] == [10.0] * 4
    assert sorted((pair.first, pair.second, pair.kind) for pair in grades.pairs) == [(2, 3, "same file")]


def test_each_member_of_a_joint_submission_has_their_own_account_number(folder: Path) -> None:
    joint = LATE.replace("  :created_at", "  - :name: Grace Hopper\n    :sid: '2'\n  :created_at")
    put(folder, {"export/submission_1/run.txt": RUN})
    put(folder, {"export/submission_metadata.yml": joint.format("2026-02-01 10:00:00")})
    roster = te.grading.read_roster(folder / "roster.csv")
    grades = te.grading.grade(folder / "qrels.txt", folder / "export", folder / "out", roster=roster)
    accounts = [(each.student, each.platform, each.account) for each in grades.entries]
    assert accounts == [("Ada Lovelace", "gradescope", "1"), ("Grace Hopper", "gradescope", "2"), ("李明", "", "")]
