"""Whose submissions are: folders of a class, and archives as learning platforms export them."""

from __future__ import annotations

import gzip
import io
import multiprocessing
import pickle
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from treceval_py.grading.intake.intake import IntakeError, Limits, Submission, one, safe_name, submissions
from treceval_py.grading.intake.items import Owner
from treceval_py.grading.records import FileRead

RUN = "1 Q0 a 1 0.9 t\n1 Q0 b 2 0.8 t\n"
CLAIMS = "MAP = 0.75\n"

Shown = dict[str, dict[str, str]]
"""Students, their files, and what is in each."""


def zipped(*names: str, **files: str | bytes) -> bytes:
    """Return a zip archive of files with a run in each."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, files.get(name, RUN))
    return stream.getvalue()


def archive_of(folder: Path, *names: str) -> str:
    path = folder / "class.zip"
    path.write_bytes(zipped(*names))
    return str(path)


def folder_of(folder: Path, *names: str) -> str:
    for name in names:
        path = folder / "class" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(RUN)
    return str(folder / "class")


def names(found: list[Submission]) -> dict[str, list[str]]:
    """Return the names of the files of each student, and see that each can be read."""
    for each in found:
        for item in each.items:
            with item.opened() as stream:
                assert stream.read() == RUN.encode()
    return {each.student: [item.name for item in each.items] for each in found}


def listed(path: str, **options: list[str]) -> dict[str, list[str]]:
    return names(list(submissions(path, **options)))


# --- a folder ---


def test_each_folder_and_file_of_a_folder_is_a_submission(tmp_path: Path) -> None:
    path = folder_of(tmp_path, "bob/run.txt", "bob/more/notes.md", "ada.txt", "carl.run.gz")
    assert listed(path) == {"ada": ["ada.txt"], "bob": ["run.txt", "more/notes.md"], "carl": ["carl.run.gz"]}


def test_files_that_differ_in_their_ending_are_of_one_student(tmp_path: Path) -> None:
    assert listed(folder_of(tmp_path, "ada.txt", "ada.csv", "bob.txt")) == {
        "ada": ["ada.csv", "ada.txt"],
        "bob": ["bob.txt"],
    }


def test_what_the_system_wrote_is_left_out_and_told(tmp_path: Path) -> None:
    path = folder_of(tmp_path, "ada/run.txt", "ada/.DS_Store", "bob/run.txt", "Thumbs.db", ".git/config")
    others: list[FileRead] = []
    found = submissions(path, others=others)
    size = len(RUN)
    assert found[0].refused == (FileRead(".DS_Store", "not used", "a hidden file", size),)
    assert others == [
        FileRead(".git", "not used", "a hidden file", 0),
        FileRead("Thumbs.db", "not used", "written by the operating system, not by a person", size),
    ]


def test_what_lies_among_submissions_can_be_excluded_by_path_or_name(tmp_path: Path) -> None:
    path = folder_of(tmp_path, "ada/run.txt", "bob/run.txt", "claims.csv", "out/grades.csv")
    assert list(listed(path, without=[str(tmp_path / "class" / "out"), "claims.csv"])) == ["ada", "bob"]


def test_a_folder_that_is_alone_at_the_top_is_entered(tmp_path: Path) -> None:
    assert list(listed(folder_of(tmp_path, "Course/Homework 1/ada/run.txt", "Course/Homework 1/bob/run.txt"))) == [
        "ada",
        "bob",
    ]


def test_the_folder_of_an_only_student_is_not_entered(tmp_path: Path) -> None:
    assert listed(folder_of(tmp_path, "ada/run.txt", "ada/claims.csv")) == {"ada": ["claims.csv", "run.txt"]}


def test_an_empty_folder_of_a_student_is_a_submission_without_files(tmp_path: Path) -> None:
    path = folder_of(tmp_path, "ada/run.txt")
    (tmp_path / "class" / "bob").mkdir()
    assert submissions(path)[1] == Submission("bob", f"{path}/bob", owners=(Owner("bob"),))


def test_an_empty_class_has_no_submissions(tmp_path: Path) -> None:
    assert list(submissions(str(tmp_path))) == []


def test_a_name_that_is_not_utf8_can_be_shown(tmp_path: Path) -> None:
    folder = tmp_path / "class"
    folder.mkdir()
    try:
        (folder / "J\udcf6rg.txt").write_text(RUN)
    except (OSError, UnicodeError):
        pytest.skip("this file system has names in UTF-8 only")
    assert listed(str(folder)) == {"J\\xf6rg": ["J\\xf6rg.txt"]}


def test_an_earlier_folder_of_grades_is_no_student(tmp_path: Path) -> None:
    path = folder_of(tmp_path, "ada/run.txt", "bob/run.txt", "out/.grades/files.json", "out/feedback/ada.txt")
    others: list[FileRead] = []
    assert [each.student for each in submissions(path, others=others)] == ["ada", "bob"]
    assert others == [FileRead("out", "not used", "it is a folder of grades, written by an earlier grading", 0)]


def test_an_earlier_folder_of_grades_is_none_in_an_archive_either(tmp_path: Path) -> None:
    others: list[FileRead] = []
    path = archive_of(tmp_path, "ada/run.txt", "bob/run.txt", "out/.grades/files.json", "out/feedback/ada.txt")
    assert [each.student for each in submissions(path, others=others)] == ["ada", "bob"]
    assert {(each.name, each.why) for each in others} == {
        ("out", "it is a folder of grades, written by an earlier grading")
    }


def test_a_folder_of_grades_within_that_of_a_student_is_not_read(tmp_path: Path) -> None:
    path = folder_of(tmp_path, "ada/run.txt", "ada/out/.grades/files.json", "ada/out/feedback/ada.txt", "bob/run.txt")
    others: list[FileRead] = []
    assert names(list(submissions(path, others=others))) == {"ada": ["run.txt"], "bob": ["run.txt"]}
    assert others == [FileRead("ada/out", "not used", "it is a folder of grades, written by an earlier grading", 0)]


def test_what_is_excluded_by_path_may_lie_deep_in_the_folder_of_a_student(tmp_path: Path) -> None:
    path = folder_of(tmp_path, "ada/run.txt", "ada/x/out/feedback.txt", "bob/run.txt")
    ada = submissions(path, without=[f"{path}/ada/x/out"])[0]
    assert [item.name for item in ada.items] == ["run.txt"]
    assert ada.refused == (FileRead("x/out", "not used", "it was given to this grading as something else", 0),)


def test_a_folder_of_three_files_that_are_runs_is_a_class_whatever_their_names(tmp_path: Path) -> None:
    files = ("submissions/s0_run.txt", "submissions/s1_run.txt", "submissions/s2_run.txt", "submissions/README.txt")
    found = ["README", "s0_run", "s1_run", "s2_run"]  # RUN is in each of them
    assert list(listed(archive_of(tmp_path, *files))) == found
    assert list(listed(folder_of(tmp_path, *files))) == found


def test_two_runs_beside_a_file_named_otherwise_are_a_class(tmp_path: Path) -> None:
    path = folder_of(tmp_path, "submissions/ada.txt", "submissions/bob.txt")
    (tmp_path / "class" / "submissions" / "README.txt").write_text("Welcome.\n")
    assert [each.student for each in submissions(path)] == ["ada", "bob"]


@pytest.mark.parametrize("make", [archive_of, folder_of], ids=["archive", "folder"])
def test_a_folder_of_two_runs_is_that_of_one_student_and_that_is_told(tmp_path: Path, make: Callable[..., str]) -> None:
    others: list[FileRead] = []
    found = submissions(make(tmp_path, "ada/run_1.txt", "ada/run_2.txt"), others=others)
    assert [each.student for each in found] == ["ada"]
    why = (
        "all of it is graded as one student, though several of its files look like runs: if "
        "these are several students, give each of them a folder"
    )
    assert others == [FileRead("ada", "note", why, 0)]


def test_a_loose_file_beside_the_folders_of_students_is_nobodys_unless_it_is_a_run(tmp_path: Path) -> None:
    path = folder_of(tmp_path, "ada/run.txt", "bob/run.txt", "carl.txt")
    (tmp_path / "class" / "README.md").write_text("# Homework\n")
    others: list[FileRead] = []
    assert [each.student for each in submissions(path, others=others)] == ["ada", "bob", "carl"]
    why = "it is next to the submissions, and is not a run"
    assert others == [FileRead("README.md", "not used", why, 11)]


def test_a_hidden_file_at_two_levels_is_no_student(tmp_path: Path) -> None:
    path = archive_of(tmp_path, "class/ada/run.txt", "class/bob/run.txt", "class/.DS_Store", ".DS_Store")
    others: list[FileRead] = []
    assert [each.student for each in submissions(path, others=others)] == ["ada", "bob"]
    assert others == [FileRead(".DS_Store", "not used", "a hidden file", len(RUN))]


# --- archives of platforms ---


def test_folders_of_moodle(tmp_path: Path) -> None:
    path = archive_of(
        tmp_path,
        "Ada Lovelace_12345_assignsubmission_file_/run.txt",
        "Ada Lovelace_12345_assignsubmission_onlinetext_/onlinetext.html",
        "Bob O'Neil_67_assignsubmission_file/a/run.txt",
    )
    assert listed(path) == {"Ada Lovelace_12345": ["onlinetext.html", "run.txt"], "Bob O'Neil_67": ["a/run.txt"]}


def test_files_of_moodle(tmp_path: Path) -> None:
    path = archive_of(
        tmp_path,
        "Ada Lovelace_12345_assignsubmission_file_my_run_1.txt",
        "Ada Lovelace_12345_assignsubmission_onlinetext_.html",
        "Participant_67_assignsubmission_file_run.txt",
    )
    # Of what was typed the name has nothing but the ending.
    assert listed(path) == {"Ada Lovelace_12345": [".html", "my_run_1.txt"], "Participant_67": ["run.txt"]}


def test_two_students_of_one_name_stay_apart(tmp_path: Path) -> None:
    path = archive_of(tmp_path, "Ada_1_assignsubmission_file_/run.txt", "Ada_2_assignsubmission_file_/run.txt")
    assert listed(path) == {"Ada_1": ["run.txt"], "Ada_2": ["run.txt"]}


def test_files_of_canvas(tmp_path: Path) -> None:
    path = archive_of(
        tmp_path, "lovelaceada_LATE_123_456_my_run.txt", "lovelaceada_LATE_123_457_claims.csv", "bob_12_34_run-1.txt"
    )
    assert listed(path) == {"bob_12": ["run-1.txt"], "lovelaceada_123": ["claims.csv", "my_run.txt"]}


def test_a_file_that_only_looks_like_one_of_canvas_keeps_its_name(tmp_path: Path) -> None:
    path = archive_of(tmp_path, "bm25_10_20_final.txt", "ada.txt", "bob.txt", "carl.txt")
    assert list(listed(path)) == ["ada", "bm25_10_20_final", "bob", "carl"]


def test_files_of_blackboard(tmp_path: Path) -> None:
    path = archive_of(
        tmp_path,
        "Homework_1_ada1_attempt_2026-01-01-10-00-00_run.txt",
        "Homework_1_ada1_attempt_2026-01-01-10-00-00.txt",
        "Homework_1_bob_x_attempt_2026-01-02-10-00-00_run_2.txt",
    )
    assert listed(path) == {"ada1": ["run.txt", "typed.txt"], "bob_x": ["run_2.txt"]}


def test_of_several_attempts_the_last_one_comes_first_and_each_file_tells_its_own(tmp_path: Path) -> None:
    path = archive_of(
        tmp_path,
        "HW_ada_attempt_2026-01-09-10-00-00_run.txt",
        "HW_ada_attempt_2026-01-10-11-30-00_run.txt",
        "HW_bob_attempt_2026-01-01-10-00-00_run.txt",
    )
    ada, bob = submissions(path)
    assert ada.source == f"{path}/HW_ada_attempt_2026-01-10-11-30-00_run.txt"
    assert [(item.name, item.attempt) for item in ada.items] == [
        ("run.txt", "2026-01-10-11-30-00"),
        ("HW_ada_attempt_2026-01-09-10-00-00_run.txt", "2026-01-09-10-00-00"),
    ]
    assert (ada.handed_in, ada.attempt, ada.late) == ("2026-01-10T11:30:00", "2", None)
    assert (bob.handed_in, bob.attempt, bob.owners) == ("2026-01-01T10:00:00", "", (Owner("", "bob"),))


def test_blackboard_tells_the_name_in_the_text_that_it_adds(tmp_path: Path) -> None:
    # As Blackboard Learn writes it: name and login, then what was typed, then the names of the files.
    text = (
        "Name: Ada King Lovelace (ada1)\nAssignment: Homework\nDate Submitted: Thursday\n\nComments:\nName: Eve (eve)\n"
    )
    path = tmp_path / "class.zip"
    before = "HW_ada1_attempt_2026-01-01-10-00-00"
    names = (f"{before}.txt", f"{before}_run.txt", "HW_bob_attempt_2026-01-01-10-00-00_run.txt")
    path.write_bytes(zipped(*names, **{f"{before}.txt": text}))
    ada = submissions(str(path))[0]
    assert (ada.student, ada.owners, ada.platform) == ("ada1", (Owner("Ada King Lovelace", "ada1"),), "blackboard")
    path.write_bytes(zipped(*names, **{f"{before}.txt": text[text.index("Assignment") :]}))
    assert submissions(str(path))[0].owners == (Owner("", "ada1"),)


def test_of_ids_of_blackboard_that_begin_alike_no_short_number_alone_is_left(tmp_path: Path) -> None:
    path = archive_of(
        tmp_path,
        "HW_3_ada_1_attempt_2026-01-01-10-00-00_run.txt",
        "HW_3_ada_2_attempt_2026-01-01-10-00-00_run.txt",
    )
    assert list(listed(path)) == ["ada_1", "ada_2"]


def test_the_only_student_of_blackboard_is_the_last_word_before_the_attempt(tmp_path: Path) -> None:
    assert list(listed(archive_of(tmp_path, "Home_work_ada_attempt_2026-01-01-10-00-00_run.txt"))) == ["ada"]


def test_folders_of_ilias_lie_in_two_others(tmp_path: Path) -> None:
    path = archive_of(
        tmp_path, "Exercise/Task 1/Lovelace_Ada_ada1_17/run.txt", "Exercise/Task 1/Neil_Bob_bob2_18/run.txt"
    )
    found = submissions(path)
    assert [each.student for each in found] == ["Lovelace_Ada_ada1_17", "Neil_Bob_bob2_18"]
    assert found[0].source == f"{path}/Exercise/Task 1/Lovelace_Ada_ada1_17"


def test_an_archive_made_by_hand(tmp_path: Path) -> None:
    path = archive_of(tmp_path, "class/ada.txt", "class/bob.txt", "__MACOSX/class/._ada.txt")
    others: list[FileRead] = []
    found = submissions(path, others=others)
    assert names(list(found)) == {"ada": ["ada.txt"], "bob": ["bob.txt"]}
    why = "written by the operating system, not by a person"
    assert others == [FileRead("__MACOSX", "not used", why, len(RUN))]


def test_the_archive_of_an_unpacked_class_gives_the_same_as_its_folder(tmp_path: Path) -> None:
    files = ("Ada_1_assignsubmission_file_/x/run.txt", "Bob_2_assignsubmission_file_run.txt", "Bob_2_x.txt")
    assert listed(archive_of(tmp_path, *files)) == listed(folder_of(tmp_path, *files))


def facts(found: Submission) -> dict[str, object]:
    """Return what a platform told, without what it did not tell."""
    empty = Submission("", "")
    names = ("student", "platform", "group", "handed_in", "late", "attempt")
    return {name: getattr(found, name) for name in names if getattr(found, name) != getattr(empty, name)}


def test_moodle_tells_names_and_numbers(tmp_path: Path) -> None:
    # downloader.php: the name, or the group's, underscore, number; "Participant" where they are anonymous.
    path = archive_of(
        tmp_path,
        "Ada Lovelace_12345_assignsubmission_file_/run.txt",
        "Participant_67_assignsubmission_file_/run.txt",
        "Group 7_18_assignsubmission_file_/run.txt",
        "Default group_assignsubmission_file_/run.txt",
        "Team Blue-Jean-Luc Picard_5_assignsubmission_file_/run.txt",
        "Anne-Marie Team_6_assignsubmission_file_/run.txt",
    )
    found = {each.student: each for each in submissions(path)}
    assert {name: (each.owners, each.group) for name, each in found.items()} == {
        "Ada Lovelace_12345": ((Owner("Ada Lovelace", "12345"),), ""),
        "Participant_67": ((Owner("", "67"),), ""),
        "Group 7_18": ((Owner("Group 7", "18"),), "Group 7"),
        "Default group": ((Owner("Default group"),), "Default group"),
        "Jean-Luc Picard_5": ((Owner("Jean-Luc Picard", "5"),), "Team Blue"),
        "Anne-Marie Team_6": ((Owner("Anne-Marie Team", "6"),), "Anne-Marie Team"),
    }
    assert {each.platform for each in found.values()} == {"moodle"}


def test_canvas_tells_who_is_late_and_numbers_what_is_handed_in_again(tmp_path: Path) -> None:
    # content_zipper.rb: name, LATE, number of the user or "anon" and letters, number and name of the file; "text.html"
    # for what was typed. Attachment.make_unique_filename puts "-1" before the ending of a name that there was before.
    path = archive_of(
        tmp_path,
        "lovelaceada_LATE_123_456_my_run.txt",
        "lovelaceada_LATE_123_text.html",
        "neilbob_12_34_run-1.txt",
        "李明_55_66_run.txt",
        "anon_Ab3dE_77_run.txt",
        "LATE_anon_Fg4hI_78_run.txt",
    )
    found = submissions(path)
    assert [facts(each) for each in found] == [
        {"student": "anon_Ab3dE", "platform": "canvas", "late": False},
        {"student": "anon_Fg4hI", "platform": "canvas", "late": True},
        {"student": "lovelaceada_123", "platform": "canvas", "late": True},
        {"student": "neilbob_12", "platform": "canvas", "late": False, "attempt": "2"},
        {"student": "李明_55", "platform": "canvas", "late": False},
    ]
    assert names(list(found))["lovelaceada_123"] == ["my_run.txt", "text.html"]
    assert found[2].owners == (Owner("lovelaceada", "123"),)
    assert [(item.name, item.number) for item in found[2].items] == [("my_run.txt", 456), ("text.html", 0)]


GRADESCOPE = """---
submission_11:
  :submitters:
  - :name: Ada Lovelace
    :sid: '0017'
    :email: ada@example.org
  :created_at: 2026-01-02 10:00:00.123456000 +01:00
  :score: 3.0
  :results:
    :output: "submission_12:\\n  :submitters:\\n  - :name: Eve"
  :history:
  - :id: 5
    :created_at: 2026-01-01 10:00:00.000000000 Z
    :submitters:
    - :name: Nobody
  - :id: 6
    :created_at: 2026-01-01 11:00:00.000000000 Z
submission_12:
  :submitters:
  - :name: "Bob \\xD6zg\\xFCr"
    :sid:
    :email: bob@example.org
  - :name: 李明
    :sid: 3
    :email:
  :created_at: !ruby/object:ActiveSupport::TimeWithZone
    utc: 2026-01-03 22:38:48.127493000 Z
"""


@pytest.mark.parametrize("make", ["zip", "folder", "tar"])
def test_gradescope_tells_names_numbers_addresses_times_and_attempts(tmp_path: Path, make: str) -> None:
    # The form of submission_metadata.yml is that of exports which programs that read it show: symbols of Ruby as keys.
    top = "assignment_9_export"
    files = {f"{top}/submission_{number}/run.txt": RUN for number in (11, 12, 13)}
    path = written(tmp_path, make, {**files, f"{top}/submission_metadata.yml": GRADESCOPE})
    others: list[FileRead] = []
    ada, bob, unknown = sorted(submissions(path, others=others), key=lambda each: each.source)
    assert facts(ada) == {
        "student": "Ada Lovelace_0017",
        "platform": "gradescope",
        "handed_in": "2026-01-02T09:00:00Z",
        "attempt": "3",
    }
    assert ada.owners == (Owner("Ada Lovelace", "0017", "ada@example.org"),)
    assert facts(bob) == {
        "student": "Bob Özgür and 李明_3",
        "platform": "gradescope",
        "group": "Bob Özgür, 李明",
        "handed_in": "2026-01-03T22:38:48Z",
        "attempt": "1",
    }
    assert bob.owners == (Owner("Bob Özgür", "", "bob@example.org"), Owner("李明", "3"))
    assert facts(unknown) == {"student": "submission_13"}
    assert others == []


def test_a_file_of_gradescope_is_known_by_its_name(tmp_path: Path) -> None:
    metadata = "7.txt:\n  :submitters:\n  - :name: Ada\n8.txt:\n  :submitters:\n  - :name: Bob\n"
    path = written(tmp_path, "zip", {"7.txt": RUN, "8.txt": RUN, "submission_metadata.yml": metadata})
    assert listed(path) == {"Ada": ["7.txt"], "Bob": ["8.txt"]}


def test_who_handed_something_in_on_gradescope_that_the_export_lacks_is_told(tmp_path: Path) -> None:
    metadata = "7.txt:\n  :submitters:\n  - :name: Ada\n8.txt:\n  :submitters:\n  - :name: Bob\n    :sid: '3'\n"
    path = written(tmp_path, "zip", {"7.txt": RUN, "9.txt": RUN, "submission_metadata.yml": metadata})
    others: list[FileRead] = []
    submissions(path, others=others)
    assert [(each.name, each.role, each.why[:6]) for each in others] == [("8.txt", "note", "Bob_3 ")]


def test_what_a_student_calls_the_metadata_of_gradescope_says_nothing(tmp_path: Path) -> None:
    metadata = "run.txt:\n  :submitters:\n  - :name: Eve\n"
    path = written(tmp_path, "zip", {"ada/run.txt": RUN, "ada/submission_metadata.yml": metadata, "bob/run.txt": RUN})
    assert [each.student for each in submissions(path)] == ["ada", "bob"]


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (("hw1-ada/run.txt", "hw1-ada/.git/HEAD", "hw1-bob-x/run.txt"), [("ada", "github"), ("bob-x", "github")]),
        (("hw1-ada/run.txt", "hw1-bob/run.txt", "hw1-carl/run.txt"), [("ada", ""), ("bob", ""), ("carl", "")]),
        (("anna-lena/run.txt", "anna-maria/run.txt"), [("anna-lena", ""), ("anna-maria", "")]),
        (
            ("hw-group-1/run.txt", "hw-group-2/run.txt", "hw-group-3/run.txt"),
            [("group-1", ""), ("group-2", ""), ("group-3", "")],
        ),
    ],
    ids=["repositories", "three folders", "two folders", "short numbers"],
)
@pytest.mark.parametrize("make", ["zip", "folder"])
def test_repositories_of_github_classroom_begin_with_the_assignment(
    tmp_path: Path, make: str, files: tuple[str, ...], found: list[tuple[str, str]]
) -> None:
    path = written(tmp_path, make, {f"hw1-submissions/{name}": RUN for name in files})
    assert [(each.student, each.platform) for each in submissions(path)] == found


def written(folder: Path, make: str, files: dict[str, str]) -> str:
    """Write a class as a zip archive, a folder, or a tar archive."""
    if make == "folder":
        for name, text in files.items():
            (folder / "class" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "class" / name).write_text(text)
        return str(folder / "class")
    path = folder / f"class.{make}"
    if make == "zip":
        path.write_bytes(zipped(*files, **files))
    else:
        path.write_bytes(tarred(files))
    return str(path)


def tarred(files: dict[str, str]) -> bytes:
    """Return a tar archive that gzip compressed."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(text.encode()), 1_768_000_000
            archive.addfile(info, io.BytesIO(text.encode()))
    return stream.getvalue()


@pytest.mark.parametrize("end", ["tar", "tar.gz", "tgz"])
def test_a_class_in_a_tar_archive_is_that_in_a_zip_archive(tmp_path: Path, end: str) -> None:
    files = ("class/Ada_1_assignsubmission_file_/x/run.txt", "class/Bob_2_assignsubmission_file_/run.txt")
    path = tmp_path / f"class.{end}"
    data = tarred(dict.fromkeys(files, RUN))
    path.write_bytes(gzip.decompress(data) if end == "tar" else data)
    assert listed(str(path)) == listed(archive_of(tmp_path, *files)) == {"Ada_1": ["x/run.txt"], "Bob_2": ["run.txt"]}


def timed(folder: Path, times: dict[str, tuple[int, int, int, int, int, int]]) -> dict[str, str]:
    """Return the times of all files of a class whose archive has these."""
    path = folder / "class.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, time in times.items():
            archive.writestr(zipfile.ZipInfo(name, time), RUN)
    return {f"{each.student}/{item.name}": item.time for each in submissions(str(path)) for item in each.items}


def test_times_in_the_archive_of_a_class_count_unless_they_are_those_of_packing(tmp_path: Path) -> None:
    files = {
        "ada/a.txt": (2026, 1, 10, 12, 0, 0),
        "ada/b.txt": (2026, 1, 10, 12, 0, 2),
        "bob/a.txt": (2026, 1, 10, 12, 1, 0),
    }
    assert set(timed(tmp_path, files).values()) == {""}
    assert set(timed(tmp_path, {**files, "eve/old.txt": (1999, 1, 1, 0, 0, 0)}).values()) == {""}
    files = {
        "ada/a.txt": (2026, 1, 10, 12, 0, 0),
        "ada/b.txt": (2026, 1, 11, 12, 0, 0),
        "bob/a.txt": (1980, 1, 1, 0, 0, 0),
    }
    assert timed(tmp_path, files) == {
        "ada/a.txt": "2026-01-10T12:00:00",
        "ada/b.txt": "2026-01-11T12:00:00",
        "bob/a.txt": "",
    }


def test_a_time_that_does_not_exist_is_none(tmp_path: Path) -> None:
    files = {
        "ada/a.txt": (2026, 1, 10, 12, 0, 0),
        "bob/a.txt": (2026, 2, 30, 12, 0, 0),
        "eve/a.txt": (2026, 1, 1, 1, 1, 2),
    }
    assert list(timed(tmp_path, files).values()) == ["2026-01-10T12:00:00", "", "2026-01-01T01:01:02"]


# --- archives of students ---


def test_a_student_may_hand_in_a_tar_archive(tmp_path: Path) -> None:
    path = folder_of(tmp_path, "ada/notes.md")
    (tmp_path / "class" / "ada" / "all.tar.gz").write_bytes(tarred({"run.txt": RUN, "x/._run.txt": RUN}))
    (ada,) = submissions(path)
    assert names([ada]) == {"ada": ["all.tar.gz/run.txt", "notes.md"]}
    # date -u -d @1768000000 says 2026-01-09 23:06:40.
    assert [item.time for item in ada.items] == ["2026-01-09T23:06:40Z", ""]


def test_a_compressed_run_is_no_archive(tmp_path: Path) -> None:
    path = folder_of(tmp_path, "ada/notes.md")
    (tmp_path / "class" / "ada" / "run.txt.gz").write_bytes(gzip.compress(RUN.encode()))
    assert [item.name for item in submissions(path)[0].items] == ["notes.md", "run.txt.gz"]


def test_files_of_an_archive_have_the_time_of_their_last_change(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(zipfile.ZipInfo("old.txt", (2026, 1, 2, 3, 4, 6)), RUN)
        archive.writestr(zipfile.ZipInfo("unknown.txt"), RUN)
    path = folder_of(tmp_path, "ada/notes.md")
    (tmp_path / "class" / "ada" / "all.zip").write_bytes(stream.getvalue())
    assert {item.name: item.time for item in submissions(path)[0].items} == {
        "all.zip/old.txt": "2026-01-02T03:04:06",
        "all.zip/unknown.txt": "",
        "notes.md": "",
    }


def test_a_student_may_hand_in_a_zip_archive(tmp_path: Path) -> None:
    path = folder_of(tmp_path, "ada/notes.md")
    (tmp_path / "class" / "ada" / "all.zip").write_bytes(zipped("run.txt", "__MACOSX/._run.txt"))
    (tmp_path / "class" / "bob.zip").write_bytes(zipped("x/run.txt"))
    assert listed(path) == {"ada": ["all.zip/run.txt", "notes.md"], "bob": ["bob.zip/x/run.txt"]}


def test_a_zip_archive_is_known_by_what_is_in_it(tmp_path: Path) -> None:
    path = folder_of(tmp_path, "ada/run.txt")
    (tmp_path / "class" / "ada" / "x.txt").write_bytes(zipped("y.txt"))
    assert listed(path) == {"ada": ["run.txt", "x.txt/y.txt"]}


def test_an_office_document_is_not_unpacked(tmp_path: Path) -> None:
    path = folder_of(tmp_path, "ada/run.txt")
    (tmp_path / "class" / "ada" / "report.docx").write_bytes(zipped("word/document.xml"))
    assert [item.name for item in submissions(path)[0].items] == ["report.docx", "run.txt"]


@pytest.mark.parametrize(
    ("name", "data", "what"),
    [
        ("x.7z", b"7z\xbc\xaf\x27\x1c" + bytes(30), "a 7z archive"),
        ("x.txt", b"Rar!\x1a\x07\x01\x00", "a rar archive"),
        ("x.tar.xz", b"\xfd7zXZ\x00" + bytes(20), "a tar archive in an unusual compression"),
        ("x.tbz2", b"BZh9" + bytes(20), "a tar archive in an unusual compression"),
    ],
)
def test_other_archives_are_refused_with_what_to_do(tmp_path: Path, name: str, data: bytes, what: str) -> None:
    path = folder_of(tmp_path, "ada/run.txt")
    (tmp_path / "class" / "ada" / name).write_bytes(data)
    why = f"it is {what}, which cannot be read: hand in a zip archive or the files themselves"
    assert submissions(path)[0].refused == (FileRead(name, "refused", why, len(data)),)


def test_an_archive_without_files_is_refused(tmp_path: Path) -> None:
    path = folder_of(tmp_path, "ada/run.txt")
    (tmp_path / "class" / "ada" / "x.zip").write_bytes(zipped())
    assert submissions(path)[0].refused == (FileRead("x.zip", "refused", "it is a zip archive without files", 22),)


# --- one submission ---


def test_a_file_is_one_submission(tmp_path: Path) -> None:
    path = tmp_path / "ada.run.txt"
    path.write_text(RUN)
    found = one(str(path))
    assert (found.student, found.source) == ("ada.run", str(path))
    assert names([found]) == {"ada.run": ["ada.run.txt"]}


def test_a_folder_is_one_submission(tmp_path: Path) -> None:
    path = folder_of(tmp_path, "a/run.txt", "b/run.txt", "claims.txt")
    assert names([one(path)]) == {"class": ["claims.txt", "a/run.txt", "b/run.txt"]}


def test_an_archive_is_one_submission(tmp_path: Path) -> None:
    assert names([one(archive_of(tmp_path, "a/run.txt", "claims.txt"))]) == {
        "class": ["class.zip/claims.txt", "class.zip/a/run.txt"]
    }


# --- in other processes ---


def read_elsewhere(found: Submission) -> list[bytes]:
    contents = []
    for item in found.items:
        with item.opened() as stream:
            contents.append(stream.read())
    return contents


def test_files_in_archives_in_archives_can_be_read_in_another_process(tmp_path: Path) -> None:
    path = tmp_path / "class.zip"
    path.write_bytes(zipped("ada.zip", "bob.txt", **{"ada.zip": zipped("run.txt", "b.txt", **{"b.txt": CLAIMS})}))
    found = submissions(str(path))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(read_elsewhere, found) == [[CLAIMS.encode(), RUN.encode()], [RUN.encode()]]


def test_a_file_can_be_read_again_from_its_beginning(tmp_path: Path) -> None:
    (item,) = submissions(archive_of(tmp_path, "ada.txt"))[0].items
    with item.opened() as stream:
        first = stream.read(5)
        assert (first, stream.tell(), stream.seek(0), stream.read()) == (b"1 Q0 ", 5, 0, RUN.encode())


def test_two_files_of_an_archive_can_be_read_side_by_side(tmp_path: Path) -> None:
    (first,), (second,) = (each.items for each in submissions(archive_of(tmp_path, "ada.txt", "bob.txt")))
    with first.opened() as one_of_them, second.opened() as other:
        assert [one_of_them.readline(), other.readline(), one_of_them.readline()] == [
            RUN.encode()[:15],
            RUN.encode()[:15],
            RUN.encode()[15:],
        ]


def test_a_submission_survives_pickling(tmp_path: Path) -> None:
    found = list(submissions(archive_of(tmp_path, "ada.txt", "bob/run.txt")))
    assert pickle.loads(pickle.dumps(found)) == found


# --- what cannot be read at all ---


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("x", None, "x: no such file or folder. Check the name."),
        ("x.txt", b"1 Q0 a 1 1 t\n", "x.txt: is neither a folder nor an archive. Give what the platform exported."),
        (
            "x.7z",
            b"7z\xbc\xaf\x27\x1c",
            "x.7z: this is a 7z archive, which cannot be read. Unpack it, and give the folder.",
        ),
        (
            "x.zip",
            b"PK\x03\x04" + bytes(40),
            (
                "x.zip: this zip archive cannot be read: it has no list of files, as if its end were cut off. "
                "Make it again, or hand in the files themselves."
            ),
        ),
    ],
    ids=["nothing", "a file", "7z", "cut off"],
)
def test_submissions_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, data: bytes | None, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if data is not None:
        Path(name).write_bytes(data)
    with pytest.raises(IntakeError) as caught:
        submissions(name)
    assert str(caught.value) == message


def test_a_device_is_no_folder_of_submissions() -> None:
    with pytest.raises(IntakeError) as caught:
        submissions("/dev/null")
    assert str(caught.value) == "/dev/null: is neither a folder nor a file. Give a folder or an archive."


def test_a_class_of_more_entries_than_the_limit_is_refused(tmp_path: Path) -> None:
    path = folder_of(tmp_path, "a.txt", "b.txt", "c.txt")
    with pytest.raises(IntakeError) as caught:
        submissions(path, Limits(entries=2))
    assert str(caught.value) == f"{path}: it has more than 2 files and folders. Hand in fewer files."


# --- names for files ---


@pytest.mark.parametrize(
    ("student", "name"),
    [
        ("Ada Lovelace_12345", "Ada_Lovelace_12345"),
        ("Jürgen Strauß", "Jurgen_Strauss"),
        ("../../etc/passwd", "etc_passwd"),
        ("=cmd|' /C calc'!A0", "cmd_C_calc_A0"),
        ("<script>", "script"),
        (".hidden", "hidden"),
        ("-rf", "rf"),
        ("dot.", "dot"),
    ],
)
def test_a_name_for_files_has_only_letters_that_every_system_takes(student: str, name: str) -> None:
    assert safe_name(student, set()) == name


@pytest.mark.parametrize(
    ("student", "name"),
    [
        # The digits as sha256sum prints them, such as of: printf con | sha256sum
        ("李雷", "student-3a47328a"),
        ("...", "student-ab5df625"),
        ("x" * 200, "x" * 70 + "-aa20c23e"),
        ("con", "con-1143da2b"),
        ("LPT1.txt", "_LPT1.txt-38e9f3ec"),
    ],
)
def test_a_name_that_lost_something_has_digits_of_a_hash(student: str, name: str) -> None:
    assert safe_name(student, set()) == name


def test_no_two_names_for_files_are_alike_whatever_the_case() -> None:
    taken: set[str] = set()
    made = [safe_name(student, taken) for student in ("Ada", "ada", "ADA", "Ada", "Ada!")]
    assert made[0] == "Ada"
    assert len({name.lower() for name in made}) == 5
    assert taken == {name.lower() for name in made}
