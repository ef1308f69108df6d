"""A class of 60 made-up submissions (data/coursework/make.py): each gets what its student says there."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from command import treceval
from modules import module_at

MAKE = Path(__file__).parent.parent / "data" / "coursework" / "make.py"


MADE = module_at(MAKE)
STUDENTS = {student.name: student for student in MADE.CLASS}


def grade(submissions: str, folder: Path) -> Path:
    """Grade the class with the command, and return the folder that it wrote."""
    MADE.write(folder)
    options = "--claims claims.csv --baseline baseline.txt --rules rules.toml"
    done = treceval(["grade", "qrels.txt", submissions, "-o", "out", *options.split()], folder=folder)
    assert done.status == 0, done.err.decode()
    assert done.err.decode() == (
        "note: the baseline baseline.txt has a warning, X202: 1 of 12 judged queries is missing from the run: 8.\n"
    )
    return folder / "out"


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that the command wrote about the class."""
    return grade("submissions", tmp_path_factory.mktemp("class"))


@pytest.fixture(scope="module")
def grades(graded: Path) -> dict[str, dict]:  # type: ignore[type-arg]
    found = json.loads((graded / "grades.json").read_text("utf-8"))
    return {each["student"]: each for each in found}


@pytest.mark.slow
def test_the_class_has_sixty_students(grades: dict[str, dict]) -> None:  # type: ignore[type-arg]
    assert len(STUDENTS) == 60
    assert set(grades) == set(STUDENTS)


@pytest.mark.parametrize("name", STUDENTS)
def test_each_submission_is_what_its_student_says(name: str, grades: dict[str, dict]) -> None:  # type: ignore[type-arg]
    student, found = STUDENTS[name], grades[name]
    assert found["status"] == student.status, (found["status"], found["reason"])
    for code in student.codes.split():
        assert code in found["counts"]


@pytest.mark.parametrize("name", STUDENTS)
def test_each_claim_gets_its_verdict(name: str, grades: dict[str, dict]) -> None:  # type: ignore[type-arg]
    student, found = STUDENTS[name], grades[name]
    told = [(claim["measure"], claim["text"], claim["verdict"]) for claim in found["claims"]]
    assert told == [(said.measure, said.text, said.verdict) for said in student.said]
    for said, claim in zip(student.said, found["claims"], strict=True):
        assert said.words in claim["why"] or said.words == claim["profile"], claim


def points_by_hand(student: object) -> float:
    """Return the points: 40 for a run (three quarters if it was repaired), 60 shared by the claims."""
    run = {"scored": 40.0, "repaired": 30.0}.get(student.status, 0.0)  # type: ignore[attr-defined]
    credit = {"correct": 1.0, "rounding": 1.0, "convention": 0.5, "mistake": 0.25}
    said = student.said  # type: ignore[attr-defined]
    claims = sum(credit.get(each.verdict, 0.0) for each in said) / len(said) * 60 if said else 0.0
    return round(run + claims, 2)


def test_the_points_of_some_students_by_hand(grades: dict[str, dict]) -> None:  # type: ignore[type-arg]
    points = {name: found["points"] for name, found in grades.items()}
    assert points["Ada Lovelace"] == 100  # 40 + 3/3 of 60
    assert points["Ran X"] == 70  # 40 + 1/2 of 60
    assert points["Upside Down"] == 55  # 40 + 1/4 of 60
    assert points["Made Up"] == 70  # 40 + one of two claims
    assert points["Twice Exactly"] == 90  # 3/4 of 40 for a repaired run, and 60
    assert points["No Claims"] == 40
    assert points["Nan Score"] == points["Nothing At All"] == 0


@pytest.mark.parametrize("name", STUDENTS)
def test_the_total_in_the_gradebook_is_right_by_hand(name: str, graded: Path) -> None:
    with (graded / "gradebook.csv").open(encoding="utf-8-sig", newline="") as stream:
        rows = {row["student"]: row for row in csv.DictReader(stream)}
    assert float(rows[name]["points"]) == points_by_hand(STUDENTS[name])


@pytest.mark.slow
def test_a_zip_as_moodle_exports_it_gives_the_same_grades(graded: Path, tmp_path: Path) -> None:
    zipped = json.loads((grade("submissions.zip", tmp_path) / "grades.json").read_text("utf-8"))
    # The platform adds a number to each name, and leaves out who handed nothing in.
    points = {each["student"].rpartition("_")[0]: (each["status"], each["points"]) for each in zipped}
    found = json.loads((graded / "grades.json").read_text("utf-8"))
    assert points == {
        each["student"]: (each["status"], each["points"]) for each in found if each["student"] != "Nothing At All"
    }
