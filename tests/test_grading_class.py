"""A class of 60 made-up submissions (data/coursework/make.py): each gets what its student says there."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from command import treceval
from modules import module_at

pytestmark = pytest.mark.slow  # a class takes seconds

MADE = module_at(Path(__file__).parent.parent / "data" / "coursework" / "make.py")
STUDENTS = {student.name: student for student in MADE.CLASS}


def grade(submissions: str, folder: Path) -> Path:
    """Grade the class with the command, and return the folder that it wrote."""
    MADE.write(folder)
    options = "--claims claims.csv --baseline baseline.txt --rules rules.toml"
    done = treceval(["grade", "qrels.txt", submissions, "-o", "out", *options.split()], folder=folder)
    assert done.status == 0, done.err.decode()
    assert done.err.decode() == (
        "note: the baseline baseline.txt has a warning, X202: 1 of 12 judged queries is missing from the run: 8.\n"
        "written: out/\n"
    )
    return folder / "out"


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that the command wrote about the class."""
    return grade("submissions", tmp_path_factory.mktemp("class"))


@pytest.fixture(scope="module")
def grades(graded: Path) -> dict[str, dict[str, Any]]:
    found = json.loads((graded / "grades.json").read_text("utf-8"))
    return {each["student"]: each for each in found}


def test_each_submission_is_what_its_student_says(grades: dict[str, dict[str, Any]]) -> None:
    assert len(STUDENTS) == 60
    statuses = {name: each.status for name, each in STUDENTS.items()}
    assert {name: each["status"] for name, each in grades.items()} == statuses
    lacking = {name: set(each.codes.split()) - set(grades[name]["counts"]) for name, each in STUDENTS.items()}
    assert {name: codes for name, codes in lacking.items() if codes} == {}


def test_each_claim_gets_its_verdict(grades: dict[str, dict[str, Any]]) -> None:
    for name, student in STUDENTS.items():
        claims = grades[name]["claims"]
        verdicts = [(claim["measure"], claim["text"], claim["verdict"]) for claim in claims]
        assert verdicts == [(said.measure, said.text, said.verdict) for said in student.said], name
        for said, claim in zip(student.said, claims, strict=True):
            assert said.words in claim["why"] or said.words == claim["profile"], (name, claim["why"])


def points_by_hand(student: Any) -> float:
    """Return the points: 40 for a run (three quarters if it was repaired), 60 shared by the claims."""
    run = {"scored": 40.0, "repaired": 30.0}.get(student.status, 0.0)
    credit = {"correct": 1.0, "rounding": 1.0, "convention": 0.5, "mistake": 0.25}
    claims = (
        sum(credit.get(each.verdict, 0.0) for each in student.said) / len(student.said) * 60 if student.said else 0.0
    )
    return round(run + claims, 2)


def test_the_points_are_right_by_hand(grades: dict[str, dict[str, Any]], graded: Path) -> None:
    points = {name: found["points"] for name, found in grades.items()}
    assert points == {name: points_by_hand(student) for name, student in STUDENTS.items()}
    with (graded / "gradebook.csv").open(encoding="utf-8-sig", newline="") as stream:
        assert {row["student"]: float(row["points"]) for row in csv.DictReader(stream)} == points
    assert points["Ada Lovelace"] == 100  # 40 + 3/3 of 60
    assert points["Ran X"] == 70  # 40 + 1/2 of 60
    assert points["Upside Down"] == 55  # 40 + 1/4 of 60
    assert points["Made Up"] == 70  # 40 + one of two claims
    assert points["Twice Exactly"] == 90  # 3/4 of 40 for a repaired run, and 60
    assert points["No Claims"] == 40
    assert points["Nan Score"] == points["Nothing At All"] == 0


def test_a_zip_as_moodle_exports_it_gives_the_same_grades(grades: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    zipped = json.loads((grade("submissions.zip", tmp_path) / "grades.json").read_text("utf-8"))
    # The platform adds a number to each name, and leaves out who handed nothing in.
    assert {each["student"].rpartition("_")[0]: (each["status"], each["points"]) for each in zipped} == {
        name: (each["status"], each["points"]) for name, each in grades.items() if name != "Nothing At All"
    }
