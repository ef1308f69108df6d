"""A second class (data/coursework/make_course.py): exports of four platforms, each student as the script says."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from command import treceval
from modules import module_at

import treceval_py as te
from treceval_py.grading.claims.naming import measure_named
from treceval_py.grading.grades import Entry, Grades
from treceval_py.grading.records import EVIDENCE

pytestmark = pytest.mark.slow  # a class takes seconds

Grading = Callable[[str], tuple[Grades, Path]]

MAKE = Path(__file__).parent.parent / "data" / "coursework" / "make_course.py"
with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(str(MAKE.parent))  # for what it takes from make.py
    MADE = module_at(MAKE)
    sys.modules.pop("make", None)
EXPORTS = {export.platform: export for export in (make() for make in MADE.EXPORTS)}
PLATFORMS = pytest.mark.parametrize("platform", EXPORTS)


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Grading:
    """Return what grades a platform's export, once."""
    pytest.importorskip("pypdf")
    pytest.importorskip("docx")

    @cache
    def of(platform: str) -> tuple[Grades, Path]:
        folder = tmp_path_factory.mktemp("course")
        MADE.write(folder)
        export = EXPORTS[platform]
        grades = te.grading.grade(
            folder / "qrels.txt",
            folder / export.file,
            folder / "out",
            rules=te.grading.read_rules(folder / "rules.toml"),
            baseline=folder / "baseline.txt",
            claims=folder / export.file.replace(".zip", "-claims.csv") if export.claims else None,
            roster=folder / export.file.replace(".zip", "-roster.csv"),
        )
        return grades, folder / "out"

    return of


def both(platform: str, graded: Grading) -> Iterator[tuple[Any, Entry]]:
    """Yield each student of an export, with the entry."""
    grades, _ = graded(platform)
    for student in EXPORTS[platform].students:
        (entry,) = (each for each in grades.entries if each.student == student.name)
        yield student, entry


def told(claims: Iterable[Any]) -> list[tuple[str, str, str, str]]:
    return sorted((measure_named(each.measure).notation, each.text, each.place, each.verdict) for each in claims)


@PLATFORMS
def test_everybody_on_the_roster_has_a_row_and_nobody_else_is_lost(platform: str, graded: Grading) -> None:
    grades, _ = graded(platform)
    export = EXPORTS[platform]
    on_roster = [entry.student for entry in grades.entries if entry.person is not None]
    assert sorted(on_roster) == sorted(student.name for student in export.students)
    others = [entry for entry in grades.entries if entry.person is None]
    assert len(others) == len(export.strangers)
    for name, entry in zip(export.strangers, others, strict=True):
        assert name in entry.graded.student
        assert "nobody's" in {question.kind for question in entry.questions}


@PLATFORMS
def test_each_submission_has_its_status_and_its_run(platform: str, graded: Grading) -> None:
    for student, entry in both(platform, graded):
        found = entry.graded
        assert (found.status, found.run) == (student.status, student.run), (student.name, found.reason, found.chosen)
        roles = {each.name: each.role for each in found.files}
        assert student.roles.items() <= roles.items(), student.name
        if "several runs" in student.needs:
            assert found.chosen, student.name
            assert len(found.runs) > 1, student.name
        assert bool(found.late) == bool(student.late), student.name


@PLATFORMS
def test_each_claim_is_found_at_its_place_and_gets_its_verdict(platform: str, graded: Grading) -> None:
    for student, entry in both(platform, graded):
        found = [claim for claim in entry.graded.claims if claim.counts or not claim.sentence]
        assert told(found) == told(student.said), student.name
        others = {claim.verdict for claim in entry.graded.claims if claim not in found}
        assert others <= {*EVIDENCE, "unchecked"}, student.name
        by_place = {(measure_named(each.measure).notation, each.text, each.place): each for each in found}
        for said in student.said:
            claim = by_place[said.measure, said.text, said.place]
            assert said.words in claim.why, student.name
            assert (claim.counts, claim.run) == (said.counts, said.run or claim.run), (student.name, claim.why)


@PLATFORMS
def test_each_student_has_the_points_by_hand_and_is_looked_at_where_needed(platform: str, graded: Grading) -> None:
    rows = rows_of(graded(platform)[1] / "gradebook.csv")
    for student, entry in both(platform, graded):
        assert entry.marks.total == student.points, (student.name, entry.marks.items)
        assert float(rows[student.name]["points"]) == student.points
        needs = set(filter(None, student.needs.split(", ")))
        assert {each.kind for each in entry.questions} == needs, (student.name, entry.questions)


# --- a course of two sheets ---


def rows_of(gradebook: Path) -> dict[str, dict[str, str]]:
    with gradebook.open(encoding="utf-8-sig", newline="") as stream:
        return {row["student"]: row for row in csv.DictReader(stream)}


def test_a_course_of_two_sheets_has_one_gradebook(tmp_path: Path) -> None:
    MADE.write(tmp_path)
    _, _, points = MADE.course()
    done = treceval(
        ["grade", "course", "--rules", "course.toml", "--roster", "course-roster.csv", "-o", "out"], folder=tmp_path
    )
    assert done.status == 0, done.err.decode()
    for number, task in enumerate(("sheet-4", "sheet-5")):
        found = {name: float(row["points"]) for name, row in rows_of(tmp_path / "out" / task / "gradebook.csv").items()}
        assert found == {name: of_both[number] for name, of_both in points.items()}
    book = rows_of(tmp_path / "out" / "gradebook.csv")
    found = {name: tuple(float(row[f"sheet-{number}: points"]) for number in (4, 5)) for name, row in book.items()}
    assert found == points
