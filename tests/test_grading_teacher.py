"""The command as a teacher repeats it: with decisions, an edited feedback, a board and files for a platform."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import pytest
from command import Done, treceval
from syrupy.assertion import SnapshotAssertion

from treceval_py.grading import exercise
from treceval_py.grading.marking.marking import Grader
from treceval_py.grading.processes import Job, Reply, Setup, reply_to

QRELS = "1 0 a 1\n1 0 b 0\n1 0 c 1\n2 0 d 1\n2 0 e 0\n"
# AP: query 1 has relevant a and c, query 2 has d.
GOOD = "1 Q0 a 1 3 t\n1 Q0 c 2 2 t\n1 Q0 b 3 1 t\n2 Q0 d 1 2 t\n2 Q0 e 2 1 t\n"  # 1, 1
WORSE = "1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n1 Q0 c 3 1 t\n2 Q0 e 1 2 t\n2 Q0 d 2 1 t\n"  # (1 + 2/3) / 2, 1/2
RULES = '[scoring]\nmeasures = ["AP"]\n[points]\nrun = 40\nclaims = 60\n[limits]\nmegabytes = 1\n'


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Grade in this process: others would have to be started for each command."""

    def graded(setup: Setup, jobs: Sequence[Job], **_: object) -> list[Reply]:
        grader = Grader(setup.assignment)
        return [reply_to(job, grader, setup) for job in jobs]

    monkeypatch.setattr(exercise, "graded_by_processes", graded)


@pytest.fixture
def course(tmp_path: Path) -> Path:
    ada = {"run.txt": GOOD, "claims.txt": "MAP = 1.0000\n"}
    alan = {"first.txt": GOOD, "second.txt": WORSE, "claims.txt": "MAP = 0.1234\n"}
    for name, files in (("Ada Lovelace_17", ada), ("Alan Turing_18", alan)):
        folder = tmp_path / "in" / f"{name}_assignsubmission_file_"
        folder.mkdir(parents=True)
        for file, text in files.items():
            (folder / file).write_text(text)
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "rules.toml").write_text(RULES)
    return tmp_path


def grade(folder: Path, *more: str) -> Done:
    return treceval(["grade", "qrels", "in", "-o", "out", "--rules", "rules.toml", *more], folder=folder)


def decide(folder: Path, text: str, *more: str) -> Done:
    (folder / "out").mkdir(exist_ok=True)
    (folder / "out" / "adjustments.toml").write_text(text)
    done = grade(folder, *more)
    assert (folder / "out" / "adjustments.toml").read_text() == text
    return done


def rows(home: Path, name: str = "gradebook.csv") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((home / "out" / name).read_text("utf-8"), newline="")))


def gradebook(folder: Path) -> dict[str, dict[str, str]]:
    return {row["student"].partition("_")[0]: row for row in rows(folder)}


def points(folder: Path) -> list[str]:
    """Return the points of Ada and Alan."""
    return [gradebook(folder)[name]["points"] for name in ("Ada Lovelace", "Alan Turing")]


def test_decisions_are_applied_at_each_grading_and_taken_back(course: Path) -> None:
    assert grade(course).status == 0
    assert points(course) == ["100.00", "40.00"]  # 40 for the run, and 60 for the claim
    ada = '["Ada Lovelace"]\npoints = "-2.5"\ncomment = "The report is late."\n'
    decide(course, ada + '["Alan Turing"]\nclaims.MAP = "accepted"\n')
    assert points(course) == ["97.50", "100.00"]
    grade(course)
    assert points(course) == ["97.50", "100.00"]
    told = (course / "out" / "feedback" / "Ada_Lovelace_17.txt").read_text("utf-8")
    assert "The report is late" in told
    assert "-2.50" in told or "−2.50" in told
    decide(course, "")
    assert points(course) == ["100.00", "40.00"]


def test_the_run_that_the_teacher_chose_counts(course: Path) -> None:
    for run, value in (("second.txt", (5 / 6 + 1 / 2) / 2), ("first.txt", 1.0)):
        decide(course, f'["Alan Turing"]\nrun = "{run}"\n')
        row = gradebook(course)["Alan Turing"]
        assert (row["run"], float(row["AP"])) == (run, pytest.approx(value))


def test_a_decision_that_cannot_be_applied_is_refused_before_anything_is_written(
    course: Path, snapshot: SnapshotAssertion
) -> None:
    said = []
    for text in ('\n["Grace Hopper"]\npoints = 3\n', '["Alan Turing"]\nrun = "third.txt"\n'):
        done = decide(course, text)
        said.append(done.err.decode())
        assert (done.status, (course / "out" / "gradebook.csv").exists()) == (1, False)
    assert "".join(said) == snapshot


def test_a_repeated_grading_gives_the_same_bytes_but_keeps_an_edited_feedback_which_goes_to_the_platform(
    course: Path,
) -> None:
    def contents(*more: str) -> dict[str, bytes]:
        assert grade(course, *more).status == 0
        files = (path for path in (course / "out").rglob("*") if path.is_file() and ".grades" not in path.parts)
        return {path.name: path.read_bytes() for path in files}

    to = ("--to", "moodle", "--to", "canvas", "--to", "gradescope")
    first = contents(*to)
    assert contents(*to) == first
    left = set(first) - set(contents())  # what is not asked for again is removed
    assert left == {"import-moodle.csv", "import-canvas.csv", "import-gradescope.zip"}
    file = course / "out" / "feedback" / "Ada_Lovelace_17.txt"
    file.write_text("See me.\n")
    (course / "rules.toml").write_text(RULES.replace("run = 40", "run = 30"))
    notes = grade(course, "--to", "moodle").err.decode()
    assert file.read_text() == "See me.\n"
    assert "note: edited by hand and kept: feedback/Ada_Lovelace_17.txt; delete it" in notes
    assert "note: 2 students changed, came or went since the last grading: see changes.txt." in notes
    assert "<pre>See me." in (course / "out" / "import-moodle.csv").read_text("utf-8")
    assert "feedback/Ada_Lovelace_17.txt was edited by hand" in (course / "out" / "gradebook.csv").read_text("utf-8")
