"""A course graded as a whole: tasks in their folders, one gradebook, late days over all tasks, adjustments."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from command import treceval

import treceval_py as te
from treceval_py.errors import EvaluationError, InputError
from treceval_py.grading import Course
from treceval_py.grading.outputs.feedback import feedback

pytestmark = pytest.mark.filterwarnings("ignore::treceval_py.MissingQueriesWarning")

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
ROSTER = "name,number,group\nAda Lovelace,1,A\nGrace Hopper,2,A\n李明,3,B\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "rules.toml").write_text(RULES)
    (tmp_path / "roster.csv").write_text(ROSTER)
    for name in ("sheet1/Lovelace Ada", "sheet1/明 李", "sheet1/Mallory", "sheet2/ada lovelace"):
        (tmp_path / "in" / name).mkdir(parents=True)
        (tmp_path / "in" / name / "run.txt").write_text(RUN)
    return tmp_path


def graded(folder: Path, roster: bool = True) -> Course:
    return te.grade_course(
        folder / "in",
        folder / "out",
        rules=te.read_rules(folder / "rules.toml"),
        roster=folder / "roster.csv" if roster else None,
        workers=1,
    )


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "out" / "gradebook.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_course_has_one_gradebook_of_all_tasks(folder: Path) -> None:
    (folder / "roster.csv").write_text(ROSTER + "明,4,\n")
    (folder / "in" / "sheet1" / "明 李").rename(folder / "in" / "sheet1" / "李明_55")
    course = graded(folder)
    assert [(each["student"], each["number"], each["points"], each["out of"]) for each in rows(folder)] == [
        ("Ada Lovelace", "1", "30.00", "30.00"),  # 10 + 2 * 10
        ("Grace Hopper", "2", "0.00", "30.00"),
        ("明", "4", "0.00", "30.00"),
        ("李明", "3", "10.00", "30.00"),
        ("Mallory", "", "10.00", "10.00"),
    ]
    assert [(each["Sheet 1"], each["Sheet 2"], each["Sheet 2: status"]) for each in rows(folder)][:2] == [
        ("10.00", "10.00", "scored"),
        ("0.00", "0.00", "missing"),
    ]
    assert [(each.student, each.total, each.most) for each in course.members][3:] == [
        ("李明", 10.0, 30.0),
        ("Mallory", 10.0, 10.0),
    ]
    assert repr(course) == "<Course 'IR': 5 students, Sheet 1, Sheet 2>"


def test_each_task_is_written_as_a_class_and_a_student_reads_of_all_tasks_in_one_file(folder: Path) -> None:
    graded(folder)
    assert (folder / "out" / "Sheet_1" / "grades.json").exists()
    told = (folder / "out" / "feedback" / "Ada_Lovelace.txt").read_text()
    assert "  Sheet 1  10.00 of 10.00\n  Sheet 2  10.00 of 10.00   (counts 2 times)\n" in told
    assert "  Total    30.00 of 30.00\n" in told
    for task in ("Sheet_1", "Sheet_2"):
        own = (folder / "out" / task / "feedback" / "Ada_Lovelace.txt").read_text()
        assert own[own.index("\n\n10.00 of 10.00 points") :] in told
    assert told.count("Feedback for Ada Lovelace") == 1
    assert "Grace" not in told


def test_the_page_of_a_course_leads_to_its_tasks_and_students(folder: Path) -> None:
    pytest.importorskip("jinja2")
    graded(folder)
    page = (folder / "out" / "overview.html").read_text()
    for link in ("Sheet_1/overview.html", "Sheet_2/feedback/Grace_Hopper.txt", "feedback/Ada_Lovelace.txt"):
        assert f'href="{link}"' in page
        assert (folder / "out" / link).exists()


def test_the_same_course_gives_the_same_bytes(folder: Path) -> None:
    graded(folder)
    before = {path: path.read_bytes() for path in (folder / "out").rglob("*") if path.is_file()}
    graded(folder)
    assert {path: path.read_bytes() for path in (folder / "out").rglob("*") if path.is_file()} == before


def test_late_days_are_used_up_in_the_order_of_the_deadlines(folder: Path) -> None:
    # The sheet that is due first comes last in the rules.
    (folder / "rules.toml").write_text(
        RULES.replace("[[task]]", "[late]\nfree_days = 2\nper_day = 0.1\n[[task]]", 1).replace(
            'folder = "sheet1*"\n', 'folder = "sheet1*"\n[task.late]\ndeadline = 2026-02-10T12:00:00Z\n'
        )
        + "[task.late]\ndeadline = 2026-02-01T12:00:00Z\n"
    )
    for sheet, time in (("sheet1", "2026-02-12 11:00:00"), ("sheet2", "2026-02-02 13:00:00")):
        path = folder / "in" / sheet
        for each in path.iterdir():
            (each / "run.txt").unlink()
            each.rmdir()
        (path / "submission_1").mkdir()
        (path / "submission_1" / "run.txt").write_text(RUN)
        (path / "submission_metadata.yml").write_text(
            "submission_1:\n  :submitters:\n  - :name: Ada Lovelace\n    :sid: '1'\n    :email: a@x.example\n"
            f"  :created_at: {time}.000000000 Z\n"
        )
    course = graded(folder)
    # Two days late for sheet 2 use both free days, and two days late for sheet 1 cost 2 * 10 % of 10 points.
    ada = next(each for each in course.members if each.student == "Ada Lovelace")
    assert [each.marks.total for each in ada.entries if each is not None] == [8.0, 10.0]


def test_a_task_that_nothing_was_handed_in_for_yet_is_left_out_and_told(folder: Path) -> None:
    (folder / "in" / "sheet2").rename(folder / "other")
    course = graded(folder)
    assert course.names == ("Sheet 1",)
    assert course.notes == ("nothing was handed in for Sheet 2, which is left out",)
    (folder / "in" / "sheet1").rename(folder / "another")
    with pytest.raises(EvaluationError, match=r"there is nothing called sheet1\*, sheet2\*"):
        graded(folder)


def test_what_is_of_no_task_is_told(folder: Path) -> None:
    (folder / "in" / "Sheet2 late" / "Alan Turing").mkdir(parents=True)
    (folder / "in" / ".DS_Store").write_text("")
    told = "Sheet2 late in {}: of no task, so not graded; name the folder of each task in the rules"
    assert graded(folder).notes == (told.format(folder / "in"),)


def test_files_of_no_task_in_the_folders_of_students_are_told(folder: Path) -> None:
    (folder / "rules.toml").write_text(RULES.replace('"sheet1*"', '"*/ex1"').replace('"sheet2*"', '"*/ex2"'))
    for name in ("ada/ex1", "ada/Ex 2", "grace/ex2"):
        (folder / "class" / name).mkdir(parents=True)
        (folder / "class" / name / "run.txt").write_text(RUN)
    (folder / "in").rename(folder / "unused")
    (folder / "class").rename(folder / "in")
    (told,) = graded(folder, roster=False).notes
    assert told.startswith(f"ada/Ex 2/run.txt in {folder / 'in'}: of no task")


def test_tasks_may_be_folders_within_those_of_the_students(folder: Path) -> None:
    (folder / "rules.toml").write_text(RULES.replace('"sheet1*"', '"*/ex1"').replace('"sheet2*"', '"*/ex2*.txt"'))
    for name, ex1, ex2 in (("ada", True, True), ("grace", False, True)):
        (folder / "class" / name / "ex1").mkdir(parents=True)
        if ex1:
            (folder / "class" / name / "ex1" / "run.txt").write_text(RUN)
        if ex2:
            (folder / "class" / name / "ex2_run.txt").write_text(RUN)
    (folder / "in").rename(folder / "unused")
    (folder / "class").rename(folder / "in")
    course = graded(folder, roster=False)
    assert [(each.student, each.total) for each in course.members] == [("ada", 30.0), ("grace", 20.0)]
    assert [each.graded.run for each in course.tasks[0].entries] == ["run.txt", ""]
    assert [each.graded.run for each in course.tasks[1].entries] == ["ex2_run.txt", "ex2_run.txt"]


def test_a_mistake_in_the_last_task_is_told_before_anything_is_graded(folder: Path) -> None:
    last = RULES.rindex('"qrels.txt"')
    (folder / "rules.toml").write_text(RULES[:last] + '"none.txt"' + RULES[last + len('"qrels.txt"') :])
    with pytest.raises(InputError, match=r"none\.txt: no such file"):
        graded(folder)
    assert not (folder / "out").exists()


def test_several_folders_that_fit_a_task_are_refused(folder: Path) -> None:
    (folder / "in" / "sheet1-late").mkdir()
    with pytest.raises(EvaluationError, match=r"2 folders or archives may have the submissions of task Sheet 1"):
        graded(folder)


def test_adjustments_are_of_a_task_and_a_comment_is_of_all(folder: Path) -> None:
    graded(folder)
    (folder / "out" / "adjustments.toml").write_text(
        '["Ada Lovelace".tasks."Sheet 2"]\npoints = 4\ncomment = "The run is a copy"\n["2"]\nexcused = true\n'
    )
    course = graded(folder)
    assert [(each.student, each.total, each.most) for each in course.members][:2] == [
        ("Ada Lovelace", 18.0, 30.0),  # 10 + 2 * 4
        ("Grace Hopper", 0.0, 0.0),
    ]
    assert rows(folder)[0]["Sheet 2: changes"] == "The run is a copy"
    assert rows(folder)[1]["Sheet 2: status"] == "excused"
    assert rows(folder)[1]["Sheet 2"] == ""
    (folder / "out" / "adjustments.toml").write_text("[Nobody]\nexcused = true\n")
    with pytest.raises(InputError, match=r"adjustments\.toml:1: unknown student 'Nobody'"):
        graded(folder)


def test_adjustments_may_be_of_who_is_not_on_the_roster(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "adjustments.toml").write_text('["Mallory".tasks."Sheet 1"]\npoints = 4\n')
    assert [each.total for each in graded(folder).members if each.student == "Mallory"] == [4.0]


def test_a_task_with_spaces_is_named_as_toml_takes_it(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "adjustments.toml").write_text('["Mallory"]\npoints = 4\n')
    with pytest.raises(InputError, match=r'\["Mallory"\.tasks\."Sheet 1"\]'):
        graded(folder)


def test_what_a_group_handed_in_counts_for_each_member_and_is_compared_with_others_once(folder: Path) -> None:
    (folder / "rules.toml").write_text('[points]\nrun = 10\nclaims = 0\n[roster]\ngroups = "A"\n')
    rules = te.read_rules(folder / "rules.toml")
    roster = te.read_roster(folder / "roster.csv")
    grades = te.grade(
        folder / "qrels.txt", folder / "in" / "sheet1", folder / "out", rules=rules, roster=roster, workers=1
    )
    assert [(each.student, each.marks.total) for each in grades.entries] == [
        *(("Ada Lovelace", 10.0), ("Grace Hopper", 10.0), ("李明", 10.0), ("Mallory", 10.0)),
    ]
    said = {each.name: "Your group handed it in" in feedback(each, grades) for each in grades.entries}
    assert list(said.values()) == [True, True, False, False]
    # Three handed in equal runs, each of which is named beside its neighbour.
    assert sorted((pair.first, pair.second) for pair in grades.pairs) == [(0, 2), (2, 3)]


def test_files_of_a_course_that_were_edited_are_kept_and_told(folder: Path) -> None:
    graded(folder)
    (folder / "out" / "feedback" / "Ada_Lovelace.txt").write_text("Well done")
    (folder / "out" / "Sheet_1" / "adjustments.toml").write_text("")
    course = graded(folder)
    assert (folder / "out" / "feedback" / "Ada_Lovelace.txt").read_text() == "Well done"
    assert course.notes == (
        "Sheet_1/adjustments.toml is not read; the adjustments of a course are in its own folder",
        "edited by hand and kept: feedback/Ada_Lovelace.txt; if grading changed one, see its .new file",
    )


def test_pseudonyms_of_those_who_handed_in_nothing_are_their_own_in_all_tasks(folder: Path) -> None:
    (folder / "rules.toml").write_text(RULES.replace("[[task]]", '[board]\nkey = "secret words"\n[[task]]', 1))
    course = graded(folder)
    ada, grace, li, _ = course.members
    first = [each.entries[0].pseudonym for each in (ada, grace, li) if each.entries[0] is not None]
    assert [each.entries[1].pseudonym for each in (ada, grace, li) if each.entries[1] is not None] == first
    assert len(set(first)) == 3


def test_a_deadline_that_cannot_be_held_against_submissions_without_a_time_is_told(folder: Path) -> None:
    (folder / "rules.toml").write_text(RULES + "[task.late]\ndeadline = 2026-02-01T12:00:00Z\n")
    course = graded(folder)
    assert course.tasks[0].notes == ()
    assert course.tasks[1].notes == (
        "1 submission has no time in the export, so lateness is unknown and costs nothing",
    )


def test_rules_of_a_course_and_of_an_exercise_are_not_taken_for_each_other(folder: Path) -> None:
    with pytest.raises(EvaluationError, match="these are the rules of a course"):
        te.grade(folder / "qrels.txt", folder / "in", folder / "out", rules=te.read_rules(folder / "rules.toml"))
    with pytest.raises(EvaluationError, match="the rules have no task"):
        te.grade_course(folder / "in", folder / "out", rules=te.read_rules(text='title = "x"'))


def test_the_command_grades_a_course(folder: Path) -> None:
    done = treceval(["grade", "in", "--rules", "rules.toml", "--roster", "roster.csv", "-o", "out"], folder=folder)
    assert done.status == 0
    lines = done.out.decode().splitlines()
    assert lines[0] == "Sheet 1: 4 students: 3 scored, 1 missing"
    assert lines[-1] == "written to out/"
    assert len(rows(folder)) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["qrels.txt", "in"], "The rules name the judgments of each task; remove QRELS."),
        (["in", "--claims", "x"], "--claims belongs to a task; write claims_file in [[task]] of the rules."),
        (["in", "--single"], "--single needs the rules of one exercise, and these are for a course."),
        ([], "Missing argument 'SUBMISSIONS'."),
    ],
    ids=["judgments", "claims", "single", "nothing"],
)
def test_what_the_rules_of_a_course_say_is_not_said_again(folder: Path, options: list[str], message: str) -> None:
    done = treceval(["grade", *options, "--rules", "rules.toml", "-o", "out"], folder=folder)
    assert done.status == 2
    assert message in done.err.decode()


def test_with_a_roster_everybody_has_a_row(folder: Path) -> None:
    done = treceval(["grade", "qrels.txt", "in/sheet1", "--roster", "roster.csv", "-o", "out"], folder=folder)
    assert done.status == 0, done.err
    assert [(each["student"], each["number"], each["group"], each["status"]) for each in rows(folder)] == [
        ("Ada Lovelace", "1", "A", "scored"),
        ("Grace Hopper", "2", "A", "missing"),
        ("李明", "3", "B", "scored"),
        ("Mallory", "", "", "scored"),
    ]
    assert "nothing was handed in" in (folder / "out" / "feedback" / "Grace_Hopper.txt").read_text()


def test_a_roster_is_that_of_a_class_and_not_of_one_submission(folder: Path) -> None:
    done = treceval(["grade", "qrels.txt", "in/sheet1/Mallory", "--single", "--roster", "roster.csv"], folder=folder)
    assert done.status == 2
    assert b"--roster lists a class, and --single grades one submission; remove one of them." in done.err
