"""The folder of grades: whose it is, what is written to it, what of it is removed; and what the command says of it."""

from __future__ import annotations

import csv
import io
import json
import os
import zipfile
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import BinaryIO

import pytest
from command import Done, treceval
from grading_samples import GRADES, graded_here

from treceval_py.errors import OutputError
from treceval_py.grading.grades import Grades, Question
from treceval_py.grading.outputs import folder as writing
from treceval_py.grading.outputs.folder import check_folder, edited, with_edits, write_all
from treceval_py.io.target import written_whole

FEEDBACK = tuple(f"feedback/{entry.name}.txt" for entry in GRADES.entries)

WRITTEN = (*FEEDBACK, "gradebook.csv", "gradebook.xlsx", "grades.json", "overview.html")


def target(folder: Path, manifest: bytes | None = None) -> Path:
    """Return a folder of grades; with a manifest, of an earlier grading."""
    (folder / "out" / ".grades").mkdir(parents=True)
    if manifest is not None:
        (folder / "out" / ".grades" / "files.json").write_bytes(manifest)
    return folder / "out"


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def put(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")


# --- whose it is ---


def test_a_new_folder_and_an_empty_one_and_one_of_ours_are_fine(tmp_path: Path) -> None:
    check_folder(str(tmp_path / "new"))
    (tmp_path / "empty").mkdir()
    check_folder(str(tmp_path / "empty"))
    put(target(tmp_path), "gradebook.csv")
    check_folder(str(tmp_path / "out"))
    assert not (tmp_path / "new").exists()


def refused(path: Path) -> str:
    with pytest.raises(OutputError) as caught:
        check_folder(str(path))
    return str(caught.value)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    put(tmp_path, "out")
    assert refused(tmp_path / "out") == f"{tmp_path / 'out'}: is not a folder. Name a new one."


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX systems")
def test_a_link_to_nothing_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to(tmp_path / "none")
    assert refused(tmp_path / "out") == f"{tmp_path / 'out'}: is not a folder. Name a new one."


@pytest.mark.parametrize("name", ["thesis.tex", ".hidden", ".grades"])
def test_a_folder_with_any_file_of_somebody_else_is_refused(tmp_path: Path, name: str) -> None:
    put(tmp_path, f"out/{name}")  # a file .grades is not the folder of records
    assert refused(tmp_path / "out") == (
        f"{tmp_path / 'out'}: the folder has files that grading did not write. Name a new or an empty folder."
    )


# --- what is written ---


def test_all_outputs_are_written_and_their_names_kept(tmp_path: Path) -> None:
    out = target(tmp_path)
    write_all(str(out), GRADES)
    assert files(out) == {*WRITTEN, ".grades/files.json"}
    assert sorted(json.loads((out / ".grades" / "files.json").read_bytes())) == sorted(WRITTEN)


def test_what_was_written_before_is_replaced(tmp_path: Path) -> None:
    out = target(tmp_path, json.dumps(WRITTEN).encode())
    put(out, *WRITTEN)
    write_all(str(out), GRADES)
    assert not [name for name in WRITTEN if (out / name).read_bytes() == b"mine"]


@pytest.mark.parametrize(("package", "missing"), [("xlsxwriter", "gradebook.xlsx"), ("jinja2", "overview.html")])
def test_without_a_package_all_is_written_that_does_not_need_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, missing: str
) -> None:
    monkeypatch.setattr(writing, "find_spec", lambda name: None if name == package else SimpleNamespace())
    out = target(tmp_path)
    write_all(str(out), GRADES)
    assert files(out) == {*WRITTEN, ".grades/files.json"} - {missing}


def test_without_the_package_the_workbook_of_an_earlier_grading_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = target(tmp_path)
    write_all(str(out), GRADES)
    monkeypatch.setattr(writing, "find_spec", lambda name: None if name == "xlsxwriter" else SimpleNamespace())
    write_all(str(out), GRADES)
    assert not (out / "gradebook.xlsx").exists()


def test_a_folder_of_feedback_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    out = target(tmp_path)
    put(out, "feedback")
    with pytest.raises(OutputError) as caught:
        write_all(str(out), GRADES)
    assert str(caught.value) == f"{out / 'feedback'}: cannot be made: File exists."


def test_a_folder_in_the_place_of_a_file_is_told(tmp_path: Path) -> None:
    out = target(tmp_path)
    (out / "gradebook.csv").mkdir()
    with pytest.raises(OutputError) as caught:
        write_all(str(out), GRADES)
    assert str(caught.value) == (
        f"{out / 'gradebook.csv'}: cannot be written: Is a directory. Check the folder and the space left."
    )


# --- what is removed ---


def test_feedback_that_an_earlier_grading_wrote_and_this_one_does_not_is_removed(tmp_path: Path) -> None:
    out = target(tmp_path, json.dumps(["feedback/gone.txt", "feedback/never.txt", FEEDBACK[0]]).encode())
    put(out, "feedback/gone.txt", "feedback/mine.txt")
    write_all(str(out), GRADES)
    assert files(out) == {*WRITTEN, ".grades/files.json", "feedback/mine.txt"}


def test_nothing_else_is_removed_whatever_the_manifest_names(tmp_path: Path) -> None:
    others = ["notes.txt", "feedback/notes.md", "feedback/deeper/a.txt", "elsewhere/a.txt", ".grades/a.txt", "a.txt"]
    outside = ["outside.txt", "feedback.txt"]
    named = [
        *others,
        "../outside.txt",
        "../feedback.txt",
        "feedback/../../outside.txt",
        "feedback/../a.txt",
        "./a.txt",
        str(tmp_path / "outside.txt"),
        "",
        ".",
        "..",
        "feedback",
        "feedback/",
        5,
        None,
        ["a.txt"],
    ]
    out = target(tmp_path, json.dumps(named).encode())
    put(out, *others)
    put(tmp_path, *outside)
    write_all(str(out), GRADES)
    assert files(out) == {*WRITTEN, ".grades/files.json", *others}
    assert {path.name for path in tmp_path.iterdir()} == {"out", *outside}


@pytest.mark.parametrize(
    "manifest", [b"", b"[", b"5", b"null", b'"feedback/gone.txt"', b"{}", b'{"feedback/gone.txt": 1}', b"\xff\xfe"]
)
def test_a_damaged_manifest_is_written_again_and_removes_nothing(tmp_path: Path, manifest: bytes) -> None:
    out = target(tmp_path, manifest)
    put(out, "feedback/gone.txt")
    write_all(str(out), GRADES)
    assert files(out) == {*WRITTEN, ".grades/files.json", "feedback/gone.txt"}
    assert sorted(json.loads((out / ".grades" / "files.json").read_bytes())) == sorted(WRITTEN)


def test_what_a_killed_grading_left_half_written_is_removed(tmp_path: Path) -> None:
    out = target(tmp_path, b'["feedback/gone.txt"]')
    name = os.path.basename(FEEDBACK[0])
    put(out, ".gradebook.csv.k3x9", ".overview.html.q_7z", ".grades/.files.json.ab12", f"feedback/.{name}.ab12")
    put(out, "feedback/.gone.txt.ab12")
    stay = (".notes.txt.ab12", ".gradebook.csv", "feedback/.notes.txt.ab12", ".grades/.other.json.ab12")
    put(out, *stay)
    write_all(str(out), GRADES)
    assert files(out) == {*WRITTEN, ".grades/files.json", *stay}


# --- what the command says ---

QRELS = "q1 0 a 1\nq2 0 b 1\n"
RUN = "q1 Q0 a 1 2 t\nq1 Q0 b 2 1 t\nq2 Q0 a 1 2 t\nq2 Q0 b 2 1 t\n"


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treceval_py.grading.exercise.graded_by_processes", graded_here)


@pytest.fixture
def assignment(tmp_path: Path) -> Path:
    """Return a folder with judgments and two submissions without claims."""
    (tmp_path / "qrels.txt").write_text(QRELS)
    for name in ("ada", "bob"):
        (tmp_path / "in" / name).mkdir(parents=True)
        (tmp_path / "in" / name / "run.txt").write_text(RUN.replace(" t\n", f" {name}\n"))
    return tmp_path


def grade(folder: Path, *options: str, submitted: str = "in") -> Done:
    return treceval(["grade", "qrels.txt", submitted, "-o", "out", "--workers", "1", *options], folder=folder)


def entries(folder: Path) -> dict[str, dict]:  # type: ignore[type-arg]
    found = json.loads((folder / "out" / "grades.json").read_text("utf-8"))
    return {each["student"]: each for each in found}


def test_under_the_rules_of_a_teacher_points_for_claims_stay_though_nobody_claims(assignment: Path) -> None:
    (assignment / "rules.toml").write_text('title = "Sheet 3"\n')
    assert grade(assignment, "--rules", "rules.toml").status == 0
    ada = entries(assignment)["ada"]
    assert (ada["points"], ada["most"]) == (40, 100)


def test_under_the_usual_rules_one_claim_keeps_the_points_for_claims_for_all(assignment: Path) -> None:
    (assignment / "in" / "bob" / "claims.txt").write_text("MAP = 0.75\n")
    assert grade(assignment).status == 0
    found = {name: (each["points"], each["most"]) for name, each in entries(assignment).items()}
    assert found == {"ada": (40, 100), "bob": (100, 100)}


def test_files_of_an_archive_that_belong_to_nobody_are_noted_and_not_written(assignment: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in ("ada/run.txt", "bob/run.txt", "../evil/run.txt", "/root/run.txt"):
            archive.writestr(name, RUN)
    (assignment / "in.zip").write_bytes(stream.getvalue())
    assert grade(assignment, submitted="in.zip").status == 0
    assert set(entries(assignment)) == {"ada", "bob"}
    page = (assignment / "out" / "overview.html").read_text("utf-8")
    assert "../evil/run.txt belongs to nobody: its path leads out of the archive" in page
    assert "/root/run.txt belongs to nobody: its path begins at the root of a disk" in page
    assert not (assignment.parent / "evil").exists()


def test_of_the_claims_of_a_class_a_single_submission_gets_those_of_its_student(assignment: Path) -> None:
    # AP is 1 in q1 and 1/2 in q2.
    (assignment / "claims.csv").write_text("student,measure,value\nbob,MAP,0.9\nada,MAP,0.75\nada,P@1,0.5\n")
    arguments = ["grade", "qrels.txt", "in/ada", "--single", "--claims", "claims.csv"]
    found = json.loads(treceval(arguments, folder=assignment).out)
    assert [(each["measure"], each["text"], each["place"], each["verdict"]) for each in found["claims"]] == [
        ("MAP", "0.75", "claims.csv:3", "correct"),
        ("P@1", "0.5", "claims.csv:4", "correct"),
    ]
    assert (found["points"], found["most"]) == (100, 100)


def test_a_single_submission_that_was_repaired_ends_with_status_0(assignment: Path) -> None:
    (assignment / "in" / "ada" / "run.txt").write_text(RUN + RUN.splitlines(keepends=True)[-1])
    done = treceval(["grade", "qrels.txt", "in/ada", "--single"], folder=assignment)
    found = json.loads(done.out)
    assert (done.status, found["status"], found["points"]) == (0, "repaired", 30)  # three quarters of 40


@pytest.mark.slow
@pytest.mark.parametrize(("broken", "last"), [(20, []), (21, ["  and 1 more, see the overview"])])
def test_at_most_twenty_that_could_not_be_scored_are_named(assignment: Path, broken: int, last: list[str]) -> None:
    for number in range(broken):
        (assignment / "in" / f"c{number:02}").mkdir()
        (assignment / "in" / f"c{number:02}" / "run.txt").write_text("q1 Q0 a 1 nan t\n")
    lines = grade(assignment).out.decode().splitlines()
    why = "refused: line 1: score 'nan' is not a number, so it cannot be ranked"
    assert lines[0] == f"{broken + 2} students: 2 scored, {broken} refused"
    named = [f"  c{number:02}: {why}" for number in range(20)]
    assert [line for line in lines if line.startswith("  ")] == named + last


def test_pairs_of_runs_alike_are_counted_in_the_summary(assignment: Path) -> None:
    assert "needs a human: 2 students (2 alike): see the overview" in grade(assignment).out.decode().splitlines()


def test_the_gradebook_has_a_row_for_each_student(assignment: Path) -> None:
    grade(assignment)
    with (assignment / "out" / "gradebook.csv").open(encoding="utf-8", newline="") as stream:
        assert [row["student"] for row in csv.DictReader(stream)] == ["ada", "bob"]


# --- what was edited by hand ---

ADA = FEEDBACK[0]
BESIDE = ADA.replace(".txt", ".new.txt")


def regraded(title: str) -> Grades:
    """Return the class under rules with a title, which stands in every feedback."""
    return GRADES._replace(rules=GRADES.rules._replace(title=title))


def edited_by_hand(folder: Path) -> Path:
    """Return a folder of grades in which a teacher changed a feedback."""
    out = target(folder)
    write_all(str(out), GRADES)
    (out / ADA).write_text("Come and see me.")
    return out


def test_an_edited_file_is_kept_and_the_new_version_is_written_beside_it(tmp_path: Path) -> None:
    out = edited_by_hand(tmp_path)
    write_all(str(out), regraded("Second try"))
    assert (out / ADA).read_text() == "Come and see me."
    assert "Second try" in (out / BESIDE).read_text("utf-8")
    assert "Second try" in (out / FEEDBACK[1]).read_text("utf-8")
    write_all(str(out), regraded("Third try"))
    assert (out / ADA).read_text() == "Come and see me."
    assert "Third try" in (out / BESIDE).read_text("utf-8")


def test_there_is_no_new_version_as_long_as_nothing_else_would_be_written(tmp_path: Path) -> None:
    out = edited_by_hand(tmp_path)
    write_all(str(out), GRADES)
    assert (out / ADA).read_text() == "Come and see me."
    assert not (out / BESIDE).exists()


def test_a_new_version_goes_when_the_edited_file_is_removed(tmp_path: Path) -> None:
    out = edited_by_hand(tmp_path)
    write_all(str(out), regraded("Second try"))
    (out / ADA).unlink()
    write_all(str(out), regraded("Second try"))
    assert "Second try" in (out / ADA).read_text("utf-8")
    assert not (out / BESIDE).exists()
    assert edited(str(out)) == ()


def test_a_new_version_that_was_edited_is_kept_too(tmp_path: Path) -> None:
    out = edited_by_hand(tmp_path)
    write_all(str(out), regraded("Second try"))
    (out / BESIDE).write_text("Mine as well.")
    write_all(str(out), regraded("Third try"))
    assert [(out / name).read_text() for name in (ADA, BESIDE)] == ["Come and see me.", "Mine as well."]
    assert "Third try" in (out / BESIDE.replace(".txt", ".new.txt")).read_text("utf-8")


def test_edited_feedback_of_a_student_who_is_gone_is_kept(tmp_path: Path) -> None:
    out = edited_by_hand(tmp_path)
    write_all(str(out), GRADES._replace(entries=GRADES.entries[1:], pairs=()))
    assert (out / ADA).read_text() == "Come and see me."
    assert edited(str(out)) == (ADA,)


def test_files_of_a_grading_that_was_killed_are_not_taken_for_edited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = target(tmp_path)
    write_all(str(out), GRADES)
    wrote = written_whole
    left = [3]

    def killed(path: str) -> AbstractContextManager[BinaryIO]:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return wrote(path)

    monkeypatch.setattr(writing, "written_whole", killed)
    with pytest.raises(KeyboardInterrupt):
        write_all(str(out), regraded("Second try"))
    monkeypatch.undo()
    assert edited(str(out)) == ()
    write_all(str(out), regraded("Second try"))
    assert not [name for name in files(out) if ".new." in name]


def test_an_edited_file_is_a_question_and_a_note(tmp_path: Path) -> None:
    out = edited_by_hand(tmp_path)
    book = with_edits(str(out), GRADES)
    told = f"{ADA} was edited by hand and is kept; if grading changed it, see {BESIDE}"
    first, *others = GRADES.entries
    assert book.entries == (first._replace(questions=(*first.questions, Question("kept edit", told))), *others)
    kept = f"edited by hand and kept: {ADA}; if grading changed one, see its .new file"
    assert book.notes == (*GRADES.notes, kept)


def test_a_manifest_of_names_alone_says_nothing_of_edits(tmp_path: Path) -> None:
    out = target(tmp_path, json.dumps(WRITTEN).encode())
    put(out, *WRITTEN)
    assert edited(str(out)) == ()


def test_a_folder_with_adjustments_alone_is_fine(tmp_path: Path) -> None:
    put(tmp_path, "out/adjustments.toml")
    check_folder(str(tmp_path / "out"))
