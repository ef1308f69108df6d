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
from itertools import zip_longest
from pathlib import Path

import click
import pytest
from command import treceval
from grading_samples import FORMULA, GRADES, SCRIPT
from syrupy.assertion import SnapshotAssertion

from treceval_py.cli.grade import grade as command
from treceval_py.errors import EvaluationError
from treceval_py.grading.grades import Entry, Grades, Mark, Marks, Person
from treceval_py.grading.outputs.imports import PLATFORMS, check_platforms
from treceval_py.grading.records import Graded

MARKS = Marks(
    (Mark("run", 40.0, 40.0, "the run was scored"), Mark("claims", 2.5, 60.0, "one is right")),
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


def test_the_options_of_the_command_are_the_platforms() -> None:
    (kind,) = (each.type for each in command.params if each.name == "to")
    assert isinstance(kind, click.Choice)
    assert list(kind.choices) == list(PLATFORMS)


def test_an_unknown_platform_is_refused() -> None:
    with pytest.raises(EvaluationError, match=r"unknown platform 'ilias'. Choose from moodle, canvas, gradescope."):
        check_platforms(["moodle", "ilias"])


# --- Moodle and Canvas ---

WORKSHEET = (
    "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,"
    "Last modified (submission),Last modified (grade),Feedback comments"
)
GERMAN = (
    "ID,Vollständiger Name,E-Mail-Adresse,Status,Bewertung,Bestwertung,Bewertung kann geändert werden,"
    "Zuletzt geändert (Abgabe),Zuletzt geändert (Bewertung),Feedback als Kommentar"
)
CANVAS = "Student,ID,SIS User ID,SIS Login ID,Section"


def row(titles: str, *cells: str) -> tuple[tuple[str, str], ...]:
    return tuple(zip_longest(titles.split(","), cells, fillvalue=""))


def of_worksheet(titles: str, identifier: str, name: str = "Ada") -> Person:
    modified = "Monday, 2 November 2026, 10:15 AM"
    cells = (identifier, name, "x@uni.org", "Submitted", "", "100.00", "Yes", modified, "-", "")
    return Person(name, email="x@uni.org", row=row(titles, *cells))


def of_canvas(columns: str = "") -> Person:
    return Person("Ada", number="s1", row=row(CANVAS + columns, "Lovelace, Ada", "815", "s1", "login1", "Section A"))


def canvas(columns: str) -> tuple[str, Grades]:
    return "canvas", of(entry("Ada", person=of_canvas(columns)), title="Homework 1")


WITHOUT_DATES = Person("Ada", row=row("Identifier,Full name,Grade,Feedback comments", "Participant 17", "Ada"))
IN_GERMAN = entry("Ada", person=of_worksheet(GERMAN, "Teilnehmer/in17"))
OF_MOODLE = entry("Ada Lovelace_17", platform="moodle", account="17")
OF_CANVAS = entry("lovelaceada_815", platform="canvas", account="815")

BOOKS: dict[str, tuple[str, Grades]] = {
    "a worksheet": ("moodle", of(entry("Ada", person=of_worksheet(WORKSHEET, "Participant 17")))),
    "a German worksheet, and others of whom Moodle has the number or not": (
        "moodle",
        of(IN_GERMAN, entry("Bob_18", platform="moodle", account="18"), entry("Eve")),
    ),
    "no worksheet": ("moodle", of(OF_MOODLE)),
    "a worksheet without dates gets the column that Moodle needs": ("moodle", of(entry("Ada", person=WITHOUT_DATES))),
    "no grade of who is excused": (
        "moodle",
        of(entry("Ada", marks=EXCUSED, person=of_worksheet(WORKSHEET, "Participant 17"))),
    ),
    "a number of Canvas is not Moodle's": ("moodle", of(entry("Ada_17", platform="canvas", account="17"))),
    "a number of no platform is not Moodle's": ("moodle", of(entry("Ada_17", account="17"))),
    # The assignment of Canvas is the one called so, or the only one.
    "the assignment that is called so": canvas(",Essay (11),homework 1 (12),Current Score"),
    "the only assignment": canvas(",Essay (11)"),
    "the only assignment, beside a score": canvas(",Essay (11),Current Score (2026)"),
    "two other assignments": canvas(",Essay (11),Quiz (12)"),
    "no assignment": canvas(""),
    "of a new assignment Canvas gets the points that are possible": ("canvas", of(OF_CANVAS, title="Homework 1")),
    "Canvas is told who is excused": (
        "canvas",
        of(entry("Ada", marks=EXCUSED, person=of_canvas(",Homework 1 (12)")), title="x"),
    ),
    "a number of Moodle is not that of Canvas": ("canvas", of(OF_MOODLE)),
}


def test_platforms_get_the_columns_that_they_read(snapshot: SnapshotAssertion) -> None:
    said = []
    for name, (platform, book) in BOOKS.items():
        data, left = made(platform, book)
        said += [f"# {name}", data.decode("utf-8").rstrip(), *(f"left out: {who}: {why}" for who, why in left.items())]
    assert "\n".join(said).replace("\r\n", "\n") == snapshot


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
    assert set(results) == {"score", "output", "tests"}
    assert results["tests"][1] == {"name": "claims", "score": 2.5, "max_score": 60.0, "output": "one is right"}


@pytest.mark.parametrize("users", [[{"email": "eve@uni.org", "name": "Eve"}], [{"name": "Ada"}]], ids=["new", "two"])
def test_gradescopes_autograder_gives_nobody_the_grade_of_another(tmp_path: Path, users: list[object]) -> None:
    book = of(ADA, entry("Ada", source="1"), Entry(Graded("Ada", "2", "scored"), MARKS, "Ada_2"))
    done = autograder(tmp_path, book, {"id": 1, "users": users})
    assert done.returncode == 1
    assert "There is no grade for" in done.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("submission", "platform", "status", "said"),
    [
        # nobody claims a number, so all points are those of the run: 40
        ("ada", "gradescope", 0, '"score": 40.0,'),
        ("qrels", "moodle", 2, "With --single, only --to gradescope is possible."),
    ],
)
def test_a_single_submission_gives_results_for_gradescope_only(
    tmp_path: Path, submission: str, platform: str, status: int, said: str
) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n")
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "run.txt").write_text("1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n")
    done = treceval(["grade", "qrels", submission, "--single", "--to", platform], folder=tmp_path)
    assert done.status == status
    assert said in (done.out + done.err).decode()


def test_the_same_grades_give_the_same_bytes() -> None:
    for name in PLATFORMS:
        assert made(name, of(ADA, BOB)) == made(name, of(ADA, BOB))
