"""Whose submissions are: folders of a class, and archives as learning platforms export them."""

from __future__ import annotations

import gzip
import io
import pickle
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from treceval_py.grading.intake.archives import IntakeError, Limits, amount, path_of, shown
from treceval_py.grading.intake.folders import Owner, Submission, close_kept
from treceval_py.grading.intake.intake import one, submissions
from treceval_py.grading.intake.platforms import named_of, safe_name
from treceval_py.grading.records import FileRead

RUN = "1 Q0 a 1 0.9 t\n1 Q0 b 2 0.8 t\n"
NOTES = "Welcome.\n"

Files = Mapping[str, str | bytes]


def encoded(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


def zipped(files: Files) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), encoded(content), zipfile.ZIP_DEFLATED)  # without a time
    return stream.getvalue()


def tarred(files: Files, time: int = 0) -> bytes:
    """Return a tar archive that gzip compressed."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(encoded(content)), time
            archive.addfile(info, io.BytesIO(encoded(content)))
    return stream.getvalue()


def runs(*names: str, **more: str) -> Files:
    """Return files with a run in each; those with other content follow, with dots for underscores."""
    return {**dict.fromkeys(names, RUN), **{name.replace("_", "."): content for name, content in more.items()}}


def written(folder: Path, make: str, files: Files) -> str:
    """Write a class as a zip archive, a folder, or a tar archive."""
    path = folder / (f"class.{make}" if make != "folder" else "class")
    if make != "folder":
        path.write_bytes(zipped(files) if make == "zip" else tarred(files))
    for name, content in files.items() if make == "folder" else ():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(encoded(content))
    return str(path)


def names(found: Iterable[Submission]) -> dict[str, list[str]]:
    """Return the names of the files of each student, and see that each can be read."""
    for each in found:
        for item in each.items:
            with item.opened() as stream:
                assert len(stream.read()) == item.size
    return {each.student: [item.name for item in each.items] for each in found}


def read(path: str, **options: list[str]) -> str:
    """Return what is known of a class, a line for each submission and file, without what is not known."""
    others: list[FileRead] = []
    found = submissions(path, others=others, **options)
    names(found)
    lines = []
    for each in found:
        owners = "; ".join("/".join(owner) for owner in each.owners)
        known = {name: getattr(each, name) for name in ("platform", "group", "handed_in", "late", "attempt", "source")}
        said = [f"{name}={value}" for name, value in known.items() if value not in ("", None)]
        lines.append(" ".join([f"{each.student} [{owners}]", *said]))
        lines += [
            " ".join(filter(None, (f"  {item.name}", item.attempt, str(item.number or ""), item.time)))
            for item in each.items
        ]
        lines += [f"  {file.role}: {file.name}: {file.why} ({file.bytes})" for file in each.refused]
    lines += [f"{file.role}: {file.name}: {file.why} ({file.bytes})" for file in others]
    return "\n".join([*lines, ""]).replace(path, "class")


CLASSES: dict[str, Files] = {
    "folders and files": runs("bob/run.txt", "bob/more/notes.md", "ada.txt", "carl.run.gz"),
    "files that differ in their ending": runs("ada.txt", "ada.csv", "bob.txt"),
    "what the system wrote": runs("ada/run.txt", "ada/.DS_Store", "ada/~$a.docx", "bob/run.txt", "Thumbs.db"),
    "a folder that is alone at the top": runs("Course/Homework 1/ada/run.txt", "Course/Homework 1/bob/run.txt"),
    "four folders at the top": runs("a/b/c/d/ada/run.txt", "a/b/c/d/bob/run.txt"),
    "five folders at the top": runs("a/b/c/d/e/ada/run.txt", "a/b/c/d/e/bob/run.txt"),
    "an only student": runs("ada/run.txt", "ada/claims.csv"),
    "an earlier folder of grades": runs("ada/run.txt", "bob/run.txt", "out/.grades/files.json", "out/feedback/ada.txt"),
    "grades in the folder of a student": runs(
        "ada/run.txt", "ada/out/.grades/files.json", "ada/out/x.txt", "bob/run.txt"
    ),
    "three files that are runs": runs("class/s0_run.txt", "class/s1_run.txt", "class/s2_run.txt"),
    "two runs, and what is named otherwise": {**runs("class/ada.txt", "class/bob.txt"), "class/README.txt": NOTES},
    "two runs": runs("ada/run_1.txt", "ada/run_2.txt"),
    "a loose run and a loose text beside folders": runs("ada/run.txt", "bob/run.txt", "carl.txt", README_md=NOTES),
    "a text beside as many folders": runs("ada/run.txt", eve_md=NOTES),
    "two texts beside a folder": runs("ada/run.txt", eve_md=NOTES, mia_md=NOTES),
    "what belongs to nobody among texts": runs("ada/run.txt", eve_md=NOTES, mia_md=NOTES, LICENSE_txt=NOTES),
    "a hidden file at two levels": runs("class/ada/run.txt", "class/bob/run.txt", "class/.DS_Store", ".DS_Store"),
    "hidden files whose names are shown alike": runs("ada/run.txt", "bob/run.txt", f".{'x' * 130}1", f".{'x' * 130}2"),
    "folders of Moodle": runs(
        "Ada Lovelace_12345_assignsubmission_file_/run.txt",
        "Ada Lovelace_12345_assignsubmission_onlinetext_/onlinetext.html",
        "Bob O'Neil_67_assignsubmission_file/a/run.txt",
    ),
    # Of what was typed the name has nothing but the ending.
    "files of Moodle": runs(
        "Ada Lovelace_12345_assignsubmission_file_my_run_1.txt",
        "Ada Lovelace_12345_assignsubmission_onlinetext_.html",
        "Participant_67_assignsubmission_file_run.txt",
    ),
    "two students of one name": runs("Ada_1_assignsubmission_file_/run.txt", "Ada_2_assignsubmission_file_/run.txt"),
    "an unpacked class of Moodle": runs(
        "Ada_1_assignsubmission_file_/x/run.txt", "Bob_2_assignsubmission_file_run.txt", "Bob_2_x.txt"
    ),
    # downloader.php: the name, or the group's, underscore, number; "Participant" where they are anonymous.
    "groups of Moodle": runs(
        "Participant_67_assignsubmission_file_/run.txt",
        "Group 7_18_assignsubmission_file_/run.txt",
        "Default group_assignsubmission_file_/run.txt",
        "Team Blue-Jean-Luc Picard_5_assignsubmission_file_/run.txt",
        "Anne-Marie Team_6_assignsubmission_file_/run.txt",
    ),
    # content_zipper.rb: name, LATE, number of the user or "anon" and letters, number and name of the file; "text.html"
    # for what was typed. Attachment.make_unique_filename puts "-1" before the ending of a name that there was before.
    "files of Canvas": runs(
        "lovelaceada_LATE_123_456_my_run.txt",
        "lovelaceada_LATE_123_457_claims.csv",
        "lovelaceada_LATE_123_text.html",
        "neilbob_12_34_run-1.txt",
        "李明_55_66_run.txt",
        "anon_Ab3dE_77_run.txt",
        "LATE_anon_Fg4hI_78_run.txt",
    ),
    "one of two files is named as by Canvas": runs("bm25_10_20_final.txt", "ada.txt"),
    "two of three files are named as by Canvas": runs("ada_10_20_final.txt", "bob_11_21_run.txt", "carl.txt"),
    "files of Blackboard": runs(
        "Homework_1_ada1_attempt_2026-01-01-10-00-00_run.txt",
        "Homework_1_ada1_attempt_2026-01-01-10-00-00.txt",
        "Homework_1_bob_x_attempt_2026-01-02-10-00-00_run_2.txt",
    ),
    "attempts of Blackboard, the last one first": runs(
        "HW_ada_attempt_2026-01-09-10-00-00_run.txt",
        "HW_ada_attempt_2026-01-10-11-30-00_run.txt",
        "HW_bob_attempt_2026-01-01-10-00-00_run.txt",
    ),
    "ids of Blackboard that begin alike, of which no short number is left": runs(
        "HW_3_ada_1_attempt_2026-01-01-10-00-00_run.txt", "HW_3_ada_2_attempt_2026-01-01-10-00-00_run.txt"
    ),
    "the only student of Blackboard": runs("Home_work_ada_attempt_2026-01-01-10-00-00_run.txt"),
    "folders of ILIAS in two others": runs(
        "Exercise/Task 1/Lovelace_Ada_ada1_17/run.txt", "Exercise/Task 1/Neil_Bob_bob2_18/run.txt"
    ),
    "an only file": runs("class/ada.txt"),
    "made by hand": runs("class/ada.txt", "class/bob.txt", "__MACOSX/class/._ada.txt"),
    "repositories of GitHub Classroom": runs("hw/hw1-ada/run.txt", "hw/hw1-ada/.git/HEAD", "hw/hw1-bob-x/run.txt"),
    "three folders that begin alike": runs("hw/hw1-ada/run.txt", "hw/hw1-bob/run.txt", "hw/hw1-carl/run.txt"),
    "two folders that begin alike": runs("hw/anna-lena/run.txt", "hw/anna-maria/run.txt"),
    "numbers of three digits": runs("hw-group-101/a.txt", "hw-group-102/a.txt", "hw-group-203/a.txt"),
    "numbers of four digits": runs("hw-group-1001/a.txt", "hw-group-1002/a.txt", "hw-group-2003/a.txt"),
    "an address": runs("ada@uni.org/run.txt", "bob@uni/run.txt"),
}


def test_a_class_is_read_as_its_platform_exports_it(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    found = {}
    for number, (name, files) in enumerate(CLASSES.items()):
        (tmp_path / str(number)).mkdir()
        found[name] = [read(written(tmp_path / str(number), make, files)) for make in ("zip", "folder", "tar")]
    assert [name for name, (packed, *others) in found.items() if others != [packed, packed]] == []
    assert "".join(f"# {name}\n{packed}\n" for name, (packed, *_) in found.items()) == snapshot


@pytest.mark.parametrize(("texts", "students"), [(197, 200), (198, 1)])
def test_the_first_two_hundred_files_are_looked_into_for_three_runs(tmp_path: Path, texts: int, students: int) -> None:
    files = {f"class/{number:03}.notes": NOTES for number in range(texts)}
    found = submissions(written(tmp_path, "zip", {**files, **runs("class/x1.run", "class/x2.run", "class/x3.run")}))
    assert len(found) == students


def test_what_lies_among_submissions_can_be_excluded_by_path_or_name(tmp_path: Path) -> None:
    path = written(tmp_path, "folder", runs("ada/run.txt", "ada/x/out/a.txt", "bob/run.txt", "claims.csv", "out/a.csv"))
    found = submissions(path, without=[f"{path}/out", "claims.csv", f"{path}/ada/x/out"])
    assert names(found) == {"ada": ["run.txt"], "bob": ["run.txt"]}
    assert found[0].refused == ()


def test_an_empty_folder_is_a_submission_without_files_and_an_empty_class_has_none(tmp_path: Path) -> None:
    (tmp_path / "class").mkdir()
    assert list(submissions(str(tmp_path / "class"))) == []
    path = written(tmp_path, "folder", runs("ada/run.txt"))
    (tmp_path / "class" / "bob").mkdir()
    assert submissions(path)[1] == Submission("bob", f"{path}/bob", owners=(Owner("bob"),))


def test_a_name_that_is_not_utf8_can_be_shown(tmp_path: Path) -> None:
    try:
        path = written(tmp_path, "folder", runs("J\udcf6rg.txt"))
    except (OSError, UnicodeError):
        pytest.skip("this file system has names in UTF-8 only")
    assert names(submissions(path)) == {"J\\xf6rg": ["J\\xf6rg.txt"]}


def test_blackboard_tells_the_name_in_the_text_that_it_adds(tmp_path: Path) -> None:
    # As Blackboard Learn writes it: name and login, then what was typed, then the names of the files.
    text = (
        "Name: Ada King Lovelace (ada1)\nAssignment: Homework\nDate Submitted: Thursday\n\nComments:\nName: Eve (eve)\n"
    )
    before = "HW_ada1_attempt_2026-01-01-10-00-00"
    files = runs(f"{before}_run.txt", "HW_bob_attempt_2026-01-01-10-00-00_run.txt")
    ada = submissions(written(tmp_path, "zip", {f"{before}.txt": text, **files}))[0]
    assert (ada.student, ada.owners, ada.platform) == ("ada1", (Owner("Ada King Lovelace", "ada1"),), "blackboard")
    assert named_of("HW_ada_attempt_2026-13-01-10-00-00_run.txt", False).handed_in == ""  # there is no such day
    typed = text[text.index("Assignment") :]
    assert submissions(written(tmp_path, "zip", {f"{before}.txt": typed, **files}))[0].owners == (Owner("", "ada1"),)


GRADESCOPE = (Path(__file__).parent / "grading_submission_metadata.yml").read_text("utf-8")
TWO = "7.txt:\n  :submitters:\n  - :name: Ada\n8.txt:\n  :submitters:\n  - :name: Bob\n    :sid: '3'\n"


def test_gradescope_tells_names_numbers_addresses_times_and_attempts(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    # The form of submission_metadata.yml is that of exports which programs that read it show: symbols of Ruby as keys.
    top = "assignment_9_export"
    files = runs(*(f"{top}/submission_{number}/run.txt" for number in (11, 12, 13)))
    files = {**files, f"{top}/submission_metadata.yml": GRADESCOPE}
    assert read(written(tmp_path, "zip", files)) == snapshot
    one_lacks = {**runs("7.txt", "9.txt"), "submission_metadata.yml": TWO}
    assert read(written(tmp_path, "zip", one_lacks)) == snapshot(name="a file that the export lacks")
    metadata = "run.txt:\n  :submitters:\n  - :name: Eve\n"
    of_a_student = {**runs("ada/run.txt", "bob/run.txt"), "ada/submission_metadata.yml": metadata}
    assert list(names(submissions(written(tmp_path, "zip", of_a_student)))) == ["ada", "bob"]


Time = tuple[int, int, int, int, int, int]
NOON, WITHIN, AFTER = (2026, 1, 10, 12, 0, 0), (2026, 1, 10, 12, 59, 58), (2026, 1, 10, 13, 0, 0)
NEXT, LAST = (2026, 1, 11, 12, 0, 0), (2026, 1, 13, 0, 0, 0)
UNKNOWN, NO_DAY = (1980, 1, 1, 0, 0, 0), (2026, 2, 30, 0, 0, 0)


@pytest.mark.parametrize(
    ("times", "count"),
    [
        ([NOON, WITHIN], False),
        ([NOON, AFTER], True),  # an hour apart
        ([NOON, NOON, WITHIN, NEXT], False),  # most within an hour
        ([NOON, NOON, NEXT, LAST], True),  # half within an hour
        ([NOON, NEXT, UNKNOWN], True),
        ([NOON, NO_DAY, NEXT], True),
        ([NOON, (1981, 1, 1, 0, 0, 0), NEXT], True),
    ],
)
def test_times_in_the_archive_of_a_class_count_unless_most_are_those_of_packing(
    tmp_path: Path, times: list[Time], count: bool
) -> None:
    path = tmp_path / "class.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for student, time in zip("abcd", times, strict=False):
            archive.writestr(zipfile.ZipInfo(f"{student}/run.txt", time), RUN)
    written = ["{}-{:02}-{:02}T{:02}:{:02}:{:02}".format(*time) for time in times]
    assert [item.time for each in submissions(str(path)) for item in each.items] == [
        text if count and time not in (UNKNOWN, NO_DAY) else "" for text, time in zip(written, times, strict=True)
    ]


# --- archives of students ---


def test_files_of_archives_of_students_are_taken_with_the_time_of_their_last_change(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(zipfile.ZipInfo("old.txt", (2026, 1, 2, 3, 4, 6)), RUN)
        archive.writestr(zipfile.ZipInfo("unknown.txt"), RUN)
    files = {
        "ada/notes.md": NOTES,
        "ada/all.tar.gz": tarred(runs("run.txt", "x/._run.txt"), 1_768_000_000),
        "ada/all.tgz": gzip.compress(bytes(10240)),
        "ada/all.zip": stream.getvalue(),
        "ada/x.txt": zipped(runs("y.txt", "__MACOSX/._run.txt")),
        "ada/run.txt.gz": gzip.compress(RUN.encode()),
        "ada/report.docx": zipped(runs("word/document.xml")),
        "bob.zip": zipped(runs("x/run.txt")),
        "empty/x.zip": zipped({}),
    }
    ada, bob, empty = submissions(written(tmp_path, "folder", files))
    assert {item.name: item.time for item in ada.items} == {
        # date -u -d @1768000000 says 2026-01-09 23:06:40.
        "all.tar.gz/run.txt": "2026-01-09T23:06:40Z",
        "all.zip/old.txt": "2026-01-02T03:04:06",
        "all.zip/unknown.txt": "",
        "notes.md": "",
        "report.docx": "",
        "run.txt.gz": "",
        "x.txt/y.txt": "",
    }
    assert names([bob]) == {"bob": ["bob.zip/x/run.txt"]}
    assert empty.refused == (FileRead("x.zip", "refused", "it is a zip archive without files", 22),)


def test_other_archives_are_refused_with_what_to_do(tmp_path: Path) -> None:
    others = {
        "x.7z": b"7z\xbc\xaf\x27\x1c",
        "x.rar.txt": b"Rar!\x1a\x07\x01\x00",
        "x.tar.xz": b"\xfd7zXZ",
        "x.tbz2": b"BZh9",
    }
    path = written(tmp_path, "folder", runs("ada/run.txt") | {f"ada/{name}": data for name, data in others.items()})
    kinds = ("a 7z archive", "a rar archive", *["a tar archive in an unusual compression"] * 2)
    why = "it is {}, which cannot be read: hand in a zip archive or the files themselves"
    refused = {file.name: file.why for file in submissions(path)[0].refused}
    assert refused == {name: why.format(kind) for name, kind in zip(others, kinds, strict=True)}


def test_a_file_may_have_the_name_of_a_folder(tmp_path: Path) -> None:
    data = {"ada/run.txt": RUN, "bob/x": RUN, "bob/x/y": NOTES, "carl.zip": zipped({"x": RUN, "x/y": NOTES})}
    found = submissions(written(tmp_path, "zip", data))
    assert names(found[1:]) == {"bob": ["x", "x/y"], "carl": ["carl.zip/x", "carl.zip/x/y"]}


# --- one submission ---


def test_a_file_a_folder_and_an_archive_are_one_submission_each(tmp_path: Path) -> None:
    (tmp_path / "ada.run.txt").write_text(RUN)
    file = one(str(tmp_path / "ada.run.txt"))
    assert (file.student, file.source) == ("ada.run", str(tmp_path / "ada.run.txt"))
    assert names([file]) == {"ada.run": ["ada.run.txt"]}
    files = runs("a/run.txt", "b/run.txt", "claims.txt")
    assert names([one(written(tmp_path, "folder", files))]) == {"class": ["claims.txt", "a/run.txt", "b/run.txt"]}
    assert names([one(written(tmp_path, "zip", runs("a/run.txt", "claims.txt")))]) == {
        "class": ["class.zip/claims.txt", "class.zip/a/run.txt"]
    }


# --- elsewhere ---


def test_submissions_survive_pickling_and_can_be_read_again_and_side_by_side(tmp_path: Path) -> None:
    found = list(submissions(written(tmp_path, "zip", {"ada.zip": zipped(runs("x.txt")), "bob/run.txt": RUN})))
    close_kept()
    copy = pickle.loads(pickle.dumps(found))
    assert copy == found
    (first,), (second,) = (each.items for each in copy)
    with first.opened() as one_of_them, second.opened() as other:
        lines = [one_of_them.readline(), other.readline(), one_of_them.readline()]
        assert lines == [b"1 Q0 a 1 0.9 t\n", b"1 Q0 a 1 0.9 t\n", b"1 Q0 b 2 0.8 t\n"]
        assert (one_of_them.tell(), one_of_them.seek(0), one_of_them.read()) == (30, 0, RUN.encode())


# --- what cannot be read at all ---


def test_submissions_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.txt").write_text(RUN)
    Path("x.7z").write_bytes(b"7z\xbc\xaf\x27\x1c")
    Path("x.zip").write_bytes(b"PK\x03\x04" + bytes(40))
    written(tmp_path, "folder", runs("a.txt", "b.txt", "c.txt"))
    assert len(submissions("class", Limits(entries=3))) == 3
    said = []
    for path in ("x", "x" * 300, "x.txt", "x.7z", "x.zip", "/dev/null", "class"):
        with pytest.raises(IntakeError) as caught:
            submissions(path, Limits(entries=2))
        said.append(str(caught.value))
    with pytest.raises(IntakeError, match="class: it has more than 2 files and folders"):
        one("class", Limits(entries=2))
    assert "\n".join(said) == snapshot


# --- names for files, and amounts ---


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
        ("x" * 80, "x" * 80),
        # What lost something has digits of a hash, as sha256sum prints them, such as of: printf con | sha256sum
        ("x" * 81, "x" * 70 + "-4d1f7bb8"),
        ("李雷", "student-3a47328a"),
        ("...", "student-ab5df625"),
        ("con", "con-1143da2b"),
        ("LPT1.txt", "_LPT1.txt-38e9f3ec"),
    ],
)
def test_a_name_for_files_has_only_letters_that_every_system_takes(student: str, name: str) -> None:
    assert safe_name(student, set()) == name


def test_no_two_names_for_files_are_alike_whatever_the_case() -> None:
    taken: set[str] = set()
    made = [safe_name(student, taken) for student in ("Ada", "ada", "Ada", "Ada", "Ada!")]
    assert [made[0], *made[2:4]] == ["Ada", "Ada-99a563ab", "Ada-99a563ab-2"]  # printf Ada | sha256sum
    assert taken == {name.lower() for name in made}
    assert len(taken) == 5


def test_amounts_and_paths_are_shown_short() -> None:
    numbers = (0, 1, 1_048_575, 1_048_576, 1_572_864)
    assert [amount(each) for each in numbers] == ["0 bytes", "1 byte", "1,048,575 bytes", "1 MiB", "1.5 MiB"]
    assert [shown("x" * 120), shown("x" * 121)] == ["x" * 120, "x" * 120 + "…"]
    # Of a path with thousands of folders 34 parts are kept.
    assert path_of("d/" * 5000, 255) == (("d",) * 34, "its path has more than 255 characters")
