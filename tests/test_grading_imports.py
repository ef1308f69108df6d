"""Files for learning platforms: the columns and encodings that each platform documents, or reads by its open source.

Moodle, grading worksheet
    mod/assign/feedback/offline/importgradeslib.php (https://github.com/moodle/moodle): the file is read as UTF-8 with
    commas; columns called "Identifier", "Grade" and "Last modified (grade)" in the language of the site must be there,
    "Feedback comments" is read too; from an identifier such as "Participant 12345" the number is taken.
    mod/assign/feedback/offline/locallib.php: an empty grade is passed over. mod/assign/feedback/comments/locallib.php:
    comments are HTML. mod/assign/lang/en/assign.php: the English titles.
Canvas, gradebook
    lib/gradebook_importer.rb (https://github.com/instructure/canvas-lms): the first column is called "Student", the
    second "ID", "SIS User ID" and "SIS Login ID" may follow, and the last before the assignments is "Section"; a title
    of an assignment may have its number in parentheses; a row with "Points Possible" in its first cell is about
    assignments; "EX" is excused. https://community.canvaslms.com: the file is CSV in UTF-8.
Gradescope, autograder
    https://gradescope-autograders.readthedocs.io/en/latest/specs/: a zip file with setup.sh and run_autograder at its
    root, whose content is in source/; run_autograder runs in /autograder and writes results/results.json, with "score",
    "output" and "tests" of "name", "score", "max_score", "output".
    https://gradescope-autograders.readthedocs.io/en/latest/submission_metadata/: submission_metadata.json has the "id"
    of the submission and "users" with "email", "id", "name".
"""

from __future__ import annotations

import csv
import io
import json
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import click
import pytest
from command import treceval
from grading_samples import FORMULA, GRADES, SCRIPT

from treceval_py.cli.grade import grade as command
from treceval_py.errors import EvaluationError
from treceval_py.grading.grades import Entry, Grades, Person
from treceval_py.grading.marking.points import Mark, Marks
from treceval_py.grading.outputs.imports import PLATFORMS, check_platforms, gradescope_results
from treceval_py.grading.records import Graded

MARKS = Marks(
    (Mark("run", 40.0, 40.0, "the run was read and scored"), Mark("claims", 2.5, 60.0, "one is right")),
    42.5,
    100.0,
    None,
)
EXCUSED = Marks((), 0.0, 0.0, None, excused=True)
TEXT = "Feedback for <Ada> & co.\n  42.50 of 100.00 points\n"


def entry(student: str, source: str = "", marks: Marks = MARKS, **more: object) -> Entry:
    name = student.replace(" ", "_").replace("/", "_")
    return Entry(Graded(student, source or student, "scored"), marks, name, **more)  # type: ignore[arg-type]


def of(*entries: Entry, title: str = "") -> Grades:
    return GRADES._replace(entries=entries, pairs=(), rules=GRADES.rules._replace(title=title))


def made(platform: str, book: Grades) -> tuple[bytes, dict[str, str]]:
    return PLATFORMS[platform].make(book, {each.name: TEXT for each in book.entries})


def table(platform: str, book: Grades) -> list[list[str]]:
    return list(csv.reader(io.StringIO(made(platform, book)[0].decode("utf-8"), newline="")))


def test_the_options_of_the_command_are_the_platforms() -> None:
    (kind,) = (each.type for each in command.params if each.name == "to")
    assert isinstance(kind, click.Choice)
    assert list(kind.choices) == list(PLATFORMS)


def test_an_unknown_platform_is_refused() -> None:
    with pytest.raises(EvaluationError, match=r"unknown platform 'ilias'. Choose from moodle, canvas, gradescope."):
        check_platforms(["moodle", "ilias"])


# --- Moodle ---

WORKSHEET = (
    "Identifier", "Full name", "Email address", "Status", "Grade", "Maximum Grade", "Grade can be changed",
    "Last modified (submission)", "Last modified (grade)", "Feedback comments",
)  # fmt: skip

GERMAN = (
    "ID", "Vollständiger Name", "E-Mail-Adresse", "Status", "Bewertung", "Bestwertung", "Bewertung kann geändert werden",
    "Zuletzt geändert (Abgabe)", "Zuletzt geändert (Bewertung)", "Feedback als Kommentar",
)  # fmt: skip


def of_worksheet(name: str, titles: tuple[str, ...], identifier: str) -> Person:
    modified = "Monday, 2 November 2026, 10:15 AM"
    cells = (identifier, name, "x@uni.org", "Submitted", "", "100.00", "Yes", modified, "-", "")
    return Person(name, email="x@uni.org", row=tuple(zip(titles, cells, strict=True)))


@pytest.mark.parametrize(
    ("titles", "identifier"), [(WORKSHEET, "Participant 17"), (GERMAN, "Teilnehmer/in17")], ids=["English", "German"]
)
def test_moodles_worksheet_is_filled_in_whatever_its_language_is(titles: tuple[str, ...], identifier: str) -> None:
    rows = table("moodle", of(entry("Ada Lovelace_17", person=of_worksheet("Ada Lovelace", titles, identifier))))
    assert rows[0] == list(titles)
    filled = dict(zip(titles, rows[1], strict=True))
    assert (filled[titles[0]], filled[titles[4]]) == (identifier, "42.50")
    assert filled[titles[9]] == ("<pre>Feedback for &lt;Ada&gt; &amp; co.\n  42.50 of 100.00 points\n</pre>")
    assert filled[titles[7]] == "Monday, 2 November 2026, 10:15 AM"


def test_without_a_worksheet_moodle_gets_the_numbers_of_its_folders() -> None:
    rows = table("moodle", of(entry("Ada Lovelace_17", platform="moodle", account="17")))
    assert rows[0] == [
        "Identifier",
        "Full name",
        "Email address",
        "Grade",
        "Last modified (grade)",
        "Feedback comments",
    ]
    assert rows[1][:4] == ["Participant 17", "Ada Lovelace_17", "", "42.50"]


def test_a_worksheet_without_dates_gets_the_column_that_moodle_needs() -> None:
    titles = ("Identifier", "Full name", "Grade", "Feedback comments")
    person = Person("Ada", row=tuple(zip(titles, ("Participant 17", "Ada", "", ""), strict=True)))
    rows = table("moodle", of(entry("Ada", person=person)))
    assert rows[0] == [*titles, "Last modified (grade)"]
    assert (rows[1][:3], rows[1][3][:5], rows[1][4]) == (["Participant 17", "Ada", "42.50"], "<pre>", "")


def test_who_is_not_in_the_worksheet_has_a_row_if_moodle_has_the_number() -> None:
    ada = entry("Ada", person=of_worksheet("Ada", GERMAN, "Teilnehmer/in17"))
    data, left = made("moodle", of(ada, entry("Bob_18", platform="moodle", account="18"), entry("Eve")))
    rows = list(csv.reader(io.StringIO(data.decode(), newline="")))
    assert [row[:2] for row in rows[1:]] == [["Teilnehmer/in17", "Ada"], ["Teilnehmer/in18", "Bob_18"]]
    assert list(left) == ["Eve"]


def test_moodle_reads_no_grade_of_who_is_excused() -> None:
    person = of_worksheet("Ada", WORKSHEET, "Participant 17")
    assert table("moodle", of(entry("Ada", marks=EXCUSED, person=person)))[1][4] == ""


@pytest.mark.parametrize("platform", ["canvas", ""])
def test_a_number_of_another_platform_is_not_moodles(platform: str) -> None:
    data, left = made("moodle", of(entry("Ada_17", platform=platform, account="17")))
    assert data.count(b"\n") == 1
    assert left == {"Ada_17": "participant number unknown; give Moodle's grading worksheet as the roster"}


# --- Canvas ---

CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")


def of_canvas(name: str, number: str, *columns: str) -> Person:
    cells = (name, number, "s1", "login1", "Section A", *("" for _ in columns))
    return Person(name, number="s1", row=tuple(zip((*CANVAS, *columns), cells, strict=True)))


def test_canvas_gets_its_columns_and_those_of_no_other_assignment() -> None:
    person = of_canvas("Lovelace, Ada", "815", "Essay (11)", "Homework 1 (12)", "Current Score")
    rows = table("canvas", of(entry("lovelaceada_815", person=person), title="Homework 1"))
    assert rows == [
        [*CANVAS, "Homework 1 (12)"],
        ["Lovelace, Ada", "815", "s1", "login1", "Section A", "42.50"],
    ]


@pytest.mark.parametrize(
    ("columns", "column"),
    [
        (("Essay (11)",), "Essay (11)"),
        (("Essay (11)", "Quiz (12)"), "Homework 1"),
        (("Essay (11)", "homework 1 (12)"), "homework 1 (12)"),
        (("Essay (11)", "Current Score (2026)"), "Essay (11)"),
        ((), "Homework 1"),
    ],
)
def test_the_assignment_of_canvas_is_the_one_called_so_or_the_only_one(columns: tuple[str, ...], column: str) -> None:
    person = of_canvas("Lovelace, Ada", "815", *columns)
    assert table("canvas", of(entry("Ada", person=person), title="Homework 1"))[0] == [*CANVAS, column]


def test_of_a_new_assignment_canvas_gets_the_points_that_are_possible() -> None:
    rows = table("canvas", of(entry("lovelaceada_815", platform="canvas", account="815"), title="Homework 1"))
    assert rows == [
        [*CANVAS, "Homework 1"],
        ["    Points Possible", "", "", "", "", "100.00"],
        ["lovelaceada_815", "815", "", "", "", "42.50"],
    ]


def test_canvas_is_told_who_is_excused() -> None:
    rows = table(
        "canvas", of(entry("Ada", marks=EXCUSED, person=of_canvas("Ada", "815", "Homework 1 (12)")), title="x")
    )
    assert rows[1][-1] == "EX"


def test_a_number_of_another_platform_is_not_canvass() -> None:
    rows = table("canvas", of(entry("Ada_17", platform="moodle", account="17")))
    assert rows[2][:2] == ["Ada_17", ""]


@pytest.mark.parametrize("platform", ["moodle", "canvas"])
def test_nothing_that_a_student_wrote_is_a_formula_or_html(platform: str) -> None:
    data, _ = made(platform, of(entry(FORMULA, platform=platform, account="17"), entry(SCRIPT)))
    cells = [cell for row in csv.reader(io.StringIO(data.decode(), newline="")) for cell in row]
    assert [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))] == []


# --- Gradescope ---


def autograder(folder: Path, book: Grades, metadata: object) -> subprocess.CompletedProcess[str]:
    """Unpack the autograder, as Gradescope does, and run it on a submission."""
    with zipfile.ZipFile(io.BytesIO(made("gradescope", book)[0])) as archive:
        assert {"setup.sh", "run_autograder"} <= set(archive.namelist())
        assert all(member.external_attr >> 16 & stat.S_IXUSR for member in archive.infolist())
        archive.extractall(folder / "source")
    (folder / "run_autograder").write_bytes((folder / "source" / "run_autograder").read_bytes())
    (folder / "submission_metadata.json").write_text(json.dumps(metadata))
    return subprocess.run(
        [sys.executable, "run_autograder"], cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False
    )


ADA = entry("Ada Lovelace", person=Person("Ada Lovelace", email="Ada@uni.org"))
BOB = entry("submission_5", source="x.zip/submission_5", platform="gradescope", marks=MARKS._replace(total=7.0))


@pytest.mark.parametrize(
    ("metadata", "score"),
    [
        ({"id": 1, "users": [{"email": "ada@uni.org", "id": 9, "name": "A. L."}]}, 42.5),
        ({"id": 1, "users": [{"email": "", "id": 9, "name": "Ada Lovelace"}]}, 42.5),
        ({"id": 5, "users": [{"email": "", "id": 9, "name": "Bob"}]}, 7.0),
    ],
    ids=["by address", "by name", "by submission"],
)
def test_gradescopes_autograder_gives_each_student_the_own_grade(
    tmp_path: Path, metadata: object, score: float
) -> None:
    done = autograder(tmp_path, of(ADA, BOB), metadata)
    assert (done.returncode, done.stderr) == (0, "")
    results = json.loads((tmp_path / "results" / "results.json").read_text("utf-8"))
    assert results["score"] == score
    assert results["output"] == TEXT
    assert results["tests"][1] == {"name": "claims", "score": 2.5, "max_score": 60.0, "output": "one is right"}


@pytest.mark.parametrize("users", [[{"email": "eve@uni.org", "name": "Eve"}], [{"name": "Ada"}]], ids=["new", "two"])
def test_gradescopes_autograder_gives_nobody_the_grade_of_another(tmp_path: Path, users: list[object]) -> None:
    book = of(ADA, entry("Ada", source="1"), Entry(Graded("Ada", "2", "scored"), MARKS, "Ada_2"))
    done = autograder(tmp_path, book, {"id": 1, "users": users})
    assert done.returncode == 1
    assert "There is no grade for" in done.stderr
    assert not (tmp_path / "results").exists()


def test_results_for_gradescope_are_what_it_reads() -> None:
    found = gradescope_results(ADA, TEXT)
    assert set(found) <= {"score", "execution_time", "output", "visibility", "stdout_visibility", "extra_data", "tests"}
    assert isinstance(found["score"], float)


QRELS, RUN = "1 0 a 1\n1 0 b 0\n", "1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n"


def test_a_single_submission_prints_results_for_gradescope(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "run.txt").write_text(RUN)
    done = treceval(["grade", "qrels", "ada", "--single", "--to", "gradescope"], folder=tmp_path)
    assert done.status == 0
    # nobody claims a number, so all points are those of the run: 40
    assert json.loads(done.out)["score"] == 40.0


def test_a_single_submission_is_nothing_that_moodle_imports(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text(QRELS)
    done = treceval(["grade", "qrels", "qrels", "--single", "--to", "moodle"], folder=tmp_path)
    assert done.status == 2
    assert "With --single, only --to gradescope is possible." in done.err.decode()


def test_the_same_grades_give_the_same_bytes() -> None:
    for name in PLATFORMS:
        assert made(name, of(ADA, BOB)) == made(name, of(ADA, BOB))
