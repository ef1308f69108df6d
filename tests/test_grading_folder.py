"""The folder of grades: whose it is, what is written to it, what of it is removed; and what the command says of it."""

from __future__ import annotations

import json
import os
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest
from command import treceval
from grading_samples import GRADES
from syrupy.assertion import SnapshotAssertion

from treceval_py.errors import OutputError
from treceval_py.grading.grades import Grades, Question
from treceval_py.grading.outputs import folder as writing
from treceval_py.grading.outputs.folder import about_edits, check_folder, edited, with_edits, write_all
from treceval_py.io.target import written_whole

FEEDBACK = tuple(f"feedback/{entry.name}.txt" for entry in GRADES.entries)

WRITTEN = {*FEEDBACK, "gradebook.csv", "gradebook.xlsx", "overview.html", "grades.json"}


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
    put(tmp_path, "by hand/adjustments.toml")
    for name in ("out", "by hand"):
        check_folder(str(tmp_path / name))
    assert not (tmp_path / "new").exists()


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX systems")
def test_another_file_or_folder_is_refused(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    put(tmp_path, "file", "thesis/thesis.tex", "hidden/.hidden", "records/.grades")  # a file is no folder of records
    (tmp_path / "link").symlink_to(tmp_path / "none")
    said = {}
    for name in ("file", "link", "thesis", "hidden", "records"):
        with pytest.raises(OutputError) as caught:
            check_folder(str(tmp_path / name))
        said[name] = str(caught.value).replace(str(tmp_path), "HERE")
    assert said == snapshot


# --- what is written ---


def test_all_outputs_are_written_and_a_workbook_only_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = target(tmp_path)
    put(out, *WRITTEN)
    write_all(str(out), GRADES)
    assert files(out) == {*WRITTEN, ".grades/files.json"}
    assert json.loads((out / ".grades" / "files.json").read_bytes()).keys() == WRITTEN
    assert not [name for name in files(out) if (out / name).read_bytes() == b"mine"]  # what was there is replaced
    monkeypatch.setattr(writing, "find_spec", lambda _: None)
    write_all(str(out), GRADES)
    assert files(out) == {*WRITTEN, ".grades/files.json"} - {"gradebook.xlsx"}


@pytest.mark.parametrize("name", ["feedback", "gradebook.csv"])
def test_what_stands_in_the_place_of_an_output_is_named(tmp_path: Path, snapshot: SnapshotAssertion, name: str) -> None:
    out = target(tmp_path)
    if name == "feedback":
        put(out, name)
    else:
        (out / name).mkdir()
    with pytest.raises(OutputError) as caught:
        write_all(str(out), GRADES)
    assert str(caught.value).replace(str(tmp_path), "HERE") == snapshot


# --- what is removed ---


def test_what_an_earlier_grading_wrote_and_this_one_does_not_is_removed_and_nothing_else(tmp_path: Path) -> None:
    gone = ("feedback/gone.txt", "import-canvas.csv", "import-moodle.csv")
    others = ["notes.txt", "feedback/notes.md", "feedback/deeper/a.txt", "elsewhere/a.txt", ".grades/a.txt", "a.txt"]
    outside = ["outside.txt", "feedback.txt"]
    named = [*gone, "feedback/never.txt", *others, "../outside.txt", "../feedback.txt", "feedback/../../outside.txt"]
    named += ["feedback/../a.txt", "./a.txt", str(tmp_path / "outside.txt"), "", ".", "..", "feedback", "feedback/"]
    hashes = {name: [sha256(b"mine").hexdigest()] for name in named}
    out = target(tmp_path, json.dumps({**hashes, "gradebook.csv": 1, "overview.html": None}).encode())
    put(out, *gone, "feedback/mine.txt", *others)
    put(tmp_path, *outside)
    write_all(str(out), GRADES)
    assert files(out) == {*WRITTEN, ".grades/files.json", "feedback/mine.txt", *others}
    assert {path.name for path in tmp_path.iterdir()} == {"out", *outside}


@pytest.mark.parametrize("manifest", [b"", b"[", b"5", b"null", b'["feedback/gone.txt"]', b'{"feedback/gone.txt": 1}'])
def test_a_damaged_manifest_is_written_again_and_removes_nothing(tmp_path: Path, manifest: bytes) -> None:
    out = target(tmp_path, manifest)
    put(out, "feedback/gone.txt")
    assert edited(str(out)) == ()
    write_all(str(out), GRADES)
    assert files(out) == {*WRITTEN, ".grades/files.json", "feedback/gone.txt"}
    assert json.loads((out / ".grades" / "files.json").read_bytes()).keys() == WRITTEN


def test_what_a_killed_grading_left_half_written_is_removed(tmp_path: Path) -> None:
    out = target(tmp_path, b"{}")
    name = os.path.basename(FEEDBACK[0])
    put(out, ".gradebook.csv.treceval0", ".overview.html.treceval0", ".grades/.files.json.treceval0")
    put(out, f"feedback/.{name}.treceval0")
    stay = (".notes.txt.treceval0", ".gradebook.csv", "feedback/.notes.txt.treceval0", ".grades/.other.json.treceval0")
    put(out, *stay)
    write_all(str(out), GRADES)
    assert files(out) == {*WRITTEN, ".grades/files.json", *stay}


# --- what the command writes ---


def entries(folder: Path, submitted: str, *options: str) -> dict[str, tuple[float, float]]:
    """Grade with the command, and return points and most points of each student."""
    done = treceval(["grade", "qrels.txt", submitted, "-o", "out", *options], folder=folder)
    assert done.status == 0
    found = json.loads((folder / "out" / "grades.json").read_text("utf-8"))
    return {each["student"]: (each["points"], each["most"]) for each in found}


@pytest.fixture
def assignment(tmp_path: Path) -> Path:
    """Return a folder with judgments and two submissions without claims."""
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq2 0 b 1\n")
    for name in ("ada", "bob"):
        (tmp_path / "in" / name).mkdir(parents=True)
        (tmp_path / "in" / name / "run.txt").write_text(f"q1 Q0 a 1 2 {name}\nq1 Q0 b 2 1 {name}\nq2 Q0 b 1 2 {name}\n")
    return tmp_path


def test_points_for_claims_stay_though_nobody_claims_under_rules_of_a_teacher_or_if_one_claims(
    assignment: Path,
) -> None:
    assert entries(assignment, "in") == {"ada": (40, 40), "bob": (40, 40)}
    (assignment / "rules.toml").write_text('title = "Sheet 3"\n')
    assert entries(assignment, "in", "--rules", "rules.toml") == {"ada": (40, 100), "bob": (40, 100)}
    (assignment / "in" / "bob" / "claims.txt").write_text("MAP = 1.00\n")
    assert entries(assignment, "in") == {"ada": (40, 100), "bob": (100, 100)}
    # Files of an archive that belong to nobody are noted on the page, and not written.
    with zipfile.ZipFile(assignment / "in.zip", "w") as archive:
        for name in ("ada/run.txt", "bob/run.txt", "../evil/run.txt", "/root/run.txt"):
            archive.writestr(name, "q1 Q0 a 1 2 t\n")
    assert entries(assignment, "in.zip").keys() == {"ada", "bob"}
    page = (assignment / "out" / "overview.html").read_text("utf-8")
    assert "../evil/run.txt belongs to nobody: its path leads out of the archive" in page
    assert "/root/run.txt belongs to nobody: its path begins at the root of a disk" in page
    assert not (assignment.parent / "evil").exists()


# --- what was edited by hand ---

ADA = FEEDBACK[0]


def regraded(title: str) -> Grades:
    """Return the class under rules with a title, which stands in every feedback."""
    return GRADES._replace(rules=GRADES.rules._replace(title=title))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Return a folder of grades in which a teacher changed a feedback."""
    folder = target(tmp_path)
    write_all(str(folder), GRADES)
    (folder / ADA).write_text("Come and see me.")
    return folder


def test_an_edited_file_is_kept_until_it_is_removed_and_platforms_get_it(out: Path) -> None:
    for title in ("Second try", "Third try"):
        write_all(str(out), regraded(title), ["gradescope"])
        assert (out / ADA).read_text() == "Come and see me."
        assert title in (out / FEEDBACK[1]).read_text("utf-8")
        assert files(out) == {*WRITTEN, ".grades/files.json", "import-gradescope.zip"}
        with zipfile.ZipFile(out / "import-gradescope.zip") as archive:
            assert json.loads(archive.read("results/Ada_Lovelace.json"))["output"] == "Come and see me."
    (out / ADA).unlink()
    write_all(str(out), regraded("Third try"))
    assert "Third try" in (out / ADA).read_text("utf-8")
    assert edited(str(out)) == ()


def test_edited_files_that_would_not_be_written_again_are_kept(out: Path) -> None:
    (out / "gradebook.xlsx").write_text("mine")
    for _ in range(2):
        write_all(str(out), GRADES._replace(entries=GRADES.entries[1:], pairs=()))
        assert (out / ADA).read_text() == "Come and see me."
        assert edited(str(out)) == (ADA, "gradebook.xlsx")


def test_files_of_a_grading_that_was_killed_are_not_taken_for_edited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = target(tmp_path)
    write_all(str(folder), GRADES)
    left = iter([written_whole] * 3)  # the manifest and two files
    monkeypatch.setattr(writing, "written_whole", lambda path: next(left)(path))
    with pytest.raises(StopIteration):
        write_all(str(folder), regraded("Second try"))
    monkeypatch.undo()
    assert edited(str(folder)) == ()


def test_an_edited_file_is_a_question_and_a_note_with_what_to_do(out: Path, tmp_path: Path) -> None:
    book = with_edits(str(out), GRADES)
    renew = "delete it and repeat the command to get the new version"
    first, *others = GRADES.entries
    asked = Question("kept edit", f"{ADA} was edited by hand and is kept; {renew}")
    assert book.entries == (first._replace(questions=(*first.questions, asked)), *others)
    assert book.notes == (*GRADES.notes, f"edited by hand and kept: {ADA}; {renew}")
    assert with_edits(str(tmp_path / "new"), GRADES) == GRADES


@pytest.mark.parametrize(("number", "said"), [(3, "a, b, c;"), (4, "a, b, c and 1 more;"), (5, "a, b, c and 2 more;")])
def test_a_note_names_three_edited_files(number: int, said: str) -> None:
    assert about_edits("abcde"[:number]).startswith(f"edited by hand and kept: {said}")
