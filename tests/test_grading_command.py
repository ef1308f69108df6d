"""The command that grades: what it writes, what it prints, how it goes on, and what hostile submissions cannot do."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from command import Done, treceval
from grading_samples import quick
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.grading import exercise
from treceval_py.grading import processes as workers
from treceval_py.grading.intake import intake
from treceval_py.grading.processes import graded_by_processes
from treceval_py.grading.records import Graded

QRELS = "".join(f"{qid} 0 d{number} {int(number % 3 == 0)}\n" for qid in (1, 2, 3) for number in range(1, 13))
RUN = "".join(
    f"{qid} Q0 d{number} {rank} {20 - rank}.5 t\n"
    for qid in (1, 2, 3)
    for rank, number in enumerate(range(12, 0, -1), 1)
)
# Relevant are the ranks 1, 4, 7 and 10: (1/1 + 2/4 + 3/7 + 4/10) / 4 = 0.58214…
AP = "0.5821"
ARGUMENTS = ["grade", "qrels.txt", "in", "-o", "out"]

Files = dict[str, str]


def put(folder: Path, files: Files) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.fixture
def assignment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with judgments and two submissions, one of them broken; they are graded in this process."""
    quick(monkeypatch)
    put(tmp_path, {"qrels.txt": QRELS, "in/ada/run.txt": RUN, "in/ada/claims.txt": f"MAP = {AP}\n"})
    put(tmp_path, {"in/bob/run.txt": RUN.replace(" 19.5 ", " nan ")})
    return tmp_path


@pytest.fixture
def processes(assignment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Grade in processes of their own, a third submission too, after that which does harm."""
    put(assignment, {"in/cid/run.txt": RUN})
    monkeypatch.setattr("treceval_py.grading.exercise.graded_by_processes", graded_by_processes)


def grade(folder: Path, *options: str) -> Done:
    return treceval([*ARGUMENTS, *options], folder=folder)


def files(folder: Path) -> dict[str, bytes]:
    """Return what a folder has, without the lock, in which is the number of the process."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path.name != "lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def records(folder: Path) -> dict[str, int]:
    """Return the records of a grading, and when each was written."""
    return {path.name: path.stat().st_mtime_ns for path in (folder / "out" / ".grades").glob("*.json.gz")}


def points(folder: Path) -> dict[str, str]:
    with (folder / "out" / "gradebook.csv").open(encoding="utf-8", newline="") as stream:
        return {row["student"]: row["points"] for row in csv.DictReader(stream)}


def grades(folder: Path) -> dict[str, dict[str, Any]]:
    return {each["student"]: each for each in json.loads((folder / "out" / "grades.json").read_text("utf-8"))}


def statuses(folder: Path) -> dict[str, tuple[str, str]]:
    return {name: (each["status"], each["reason"]) for name, each in grades(folder).items()}


# --- what it writes and prints ---


def test_it_prints_a_summary_and_names_who_could_not_be_scored(
    assignment: Path, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(assignment, {"in/cid/run.txt": RUN, "claims.csv": "student,measure,value\nada,P@10,0.4\neve,MAP,0.5\n"})
    # MAP as above, and 4 of the first 10
    done = grade(assignment, "--claims", "claims.csv")
    assert (done.status, done.err, done.out.decode()) == (0, b"written: out/\n", snapshot)
    assert points(assignment) == {"ada": "100.00", "bob": "0.00", "cid": "40.00"}
    monkeypatch.setattr("treceval_py.cli.grade.find_spec", lambda package: None)
    assert b"note: gradebook.xlsx is not written because xlsxwriter is not installed." in grade(assignment).err


LEFT_OUT = ["  and 1 more, see the overview", "and 1 more not matched, see the overview"]


@pytest.mark.parametrize(("broken", "last"), [(20, []), (21, LEFT_OUT)])
def test_at_most_twenty_that_could_not_be_scored_or_matched_are_named(
    assignment: Path, broken: int, last: list[str]
) -> None:
    for number in range(broken - 1):
        (assignment / "in" / f"c{number:02}").mkdir()
    put(assignment, {"claims.csv": "student,measure,value\n" + "".join(f"e{at},MAP,0.5\n" for at in range(broken))})
    lines = grade(assignment, "--claims", "claims.csv").out.decode().splitlines()
    assert lines[0] == f"{broken + 1} students: 1 scored, 1 refused, {broken - 1} missing"
    named = [line.split(":")[0] for line in lines if line.startswith("  ")]
    assert named == ["  bob", *(f"  c{number:02}" for number in range(19)), *last[:1]]
    assert [line for line in lines if line.startswith("and ")] == last[1:]
    assert sum(line.startswith("not matched: ") for line in lines) == 20


def test_the_folder_of_a_new_exercise_has_the_default_rules_and_says_where_to_declare(
    assignment: Path, snapshot: SnapshotAssertion
) -> None:
    done = treceval(["grade", "--template", "-o", "new"], folder=assignment)
    assert (done.status, done.out, done.err) == (0, b"", b"written: new/\n")
    new = assignment / "new"
    assert te.grading.read_rules(new / "rules.toml") == te.grading.Rules()
    names = ["README.md", "for-students/README.md", "for-students/claims.csv"]
    assert {name: (new / name).read_text() for name in names} == snapshot
    assert sorted(path.name for path in new.iterdir()) == ["README.md", "for-students", "rules.toml", "submissions"]
    # Filled in as it says: beside a run whose number it is, it gives all points.
    shutil.copytree(assignment / "in" / "ada", new / "submissions" / "ada")
    (new / "submissions" / "ada" / "claims.txt").unlink()
    claims = (new / "for-students" / "claims.csv").read_text()
    (new / "submissions" / "ada" / "claims.csv").write_text(claims.replace("AP,", f"AP,{AP}"))
    again = treceval(["grade", "../qrels.txt", "submissions/", "--rules", "rules.toml", "-o", "graded"], folder=new)
    assert (again.status, again.out.decode().split("\n")[2]) == (0, "claims: 1 correct")
    assert treceval(["grade", "--template", "-o", "new"], folder=assignment).status == 1  # nothing is replaced


# --- one submission ---


def single(folder: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    done = treceval(["grade", "qrels.txt", *arguments, "--single"], folder=folder)
    assert not (folder / "out").exists()
    return done.status, json.loads(done.out)


@pytest.mark.parametrize(
    ("more", "pass_mark", "status", "reached"),
    [
        pytest.param({}, 100, 0, ("scored", 100, True), id="passed"),
        pytest.param({"in/ada/claims.txt": "MAP = 0.9\n"}, 40, 0, ("scored", 40, True), id="just passed"),
        pytest.param({"in/ada/claims.txt": "MAP = 0.9\n"}, 40.01, 3, ("scored", 40, False), id="not passed"),
        # three quarters of 40, and 60
        pytest.param({"in/ada/run.txt": RUN + RUN.splitlines(True)[-1]}, 90, 0, ("repaired", 90, True), id="repaired"),
        pytest.param({"in/ada/run.txt": RUN.replace("19.5", "nan")}, 0, 1, ("refused", 0, True), id="refused"),
    ],
)
def test_a_single_submission_is_printed_as_json_and_its_status_is_that_of_the_command(
    assignment: Path, more: Files, pass_mark: float, status: int, reached: tuple[str, float, bool]
) -> None:
    put(assignment, {**more, "rules.toml": f"[points]\npass_mark = {pass_mark}\n"})
    ended, found = single(assignment, "in/ada", "--rules", "rules.toml")
    assert (ended, found["student"]) == (status, "ada")
    assert (found["status"], found["points"], found["passed"]) == reached


def test_a_single_submission_has_its_claims_in_the_table_of_a_class(
    assignment: Path, snapshot: SnapshotAssertion
) -> None:
    (assignment / "in" / "ada" / "claims.txt").unlink()
    put(
        assignment,
        {"claims.csv": f"student,measure,value\neve,MAP,0.1\nAda Lovelace,MAP,{AP}\nAda Lovelace,P@10,0.4\n"},
    )
    ended, found = single(assignment, "in/ada", "--claims", "claims.csv", "--student", "Ada Lovelace")
    assert (ended, found["student"], found["points"], found["most"]) == (0, "Ada Lovelace", 100, 100)
    assert [(each["text"], each["place"], each["verdict"]) for each in found["claims"]] == [
        (AP, "claims.csv:3", "correct"),
        ("0.4", "claims.csv:4", "correct"),
    ]
    unknown = treceval(["grade", "qrels.txt", "in/ada", "--claims", "claims.csv", "--single"], folder=assignment)
    assert unknown.err.decode() == snapshot


# --- what is refused ---

ABOVE = (
    "[points]\nrun = 0\nmeasures = 100\nclaims = 0\n[[measure]]\nname = 'AP'\nabove_baseline = true\nfull_from = 0.1\n"
)
REFUSED: dict[str, tuple[Files, list[str], int]] = {
    "no submissions": ({}, ["qrels.txt"], 2),
    "no folder": ({}, ["qrels.txt", "in"], 2),
    "single with a folder": ({}, ["qrels.txt", "in", "-o", "o", "--single"], 2),
    "single with processes": ({}, ["qrels.txt", "in", "--single", "--workers", "2"], 2),
    "template with judgments": ({}, ["qrels.txt", "--template", "-o", "o"], 2),
    "template without a folder": ({}, ["--template"], 2),
    "template in a folder with files": ({}, ["--template", "-o", "in"], 1),
    "standard input": ({}, ["-", "in", "-o", "o"], 2),
    "student of a class": ({}, [*ARGUMENTS[1:], "--student", "ada"], 2),
    "folder of somebody else": ({}, ["qrels.txt", "in", "-o", "in"], 1),
    "broken judgments": ({"qrels.txt": "1 0 d1 high\n"}, ARGUMENTS[1:], 1),
    "broken baseline": ({"base.txt": "1 Q0 d1 1 nan t\n"}, [*ARGUMENTS[1:], "--baseline", "base.txt"], 1),
    "judgments as a baseline": ({}, [*ARGUMENTS[1:], "--baseline", "qrels.txt"], 1),
    "rules without their baseline": ({"rules.toml": ABOVE}, [*ARGUMENTS[1:], "--rules", "rules.toml"], 1),
    "no submission": ({"empty/.x": ""}, ["qrels.txt", "empty", "-o", "out"], 1),
    "judgments from a pipe": ({}, ["pipe", "in", "-o", "out"], 1),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_graded_is_refused_in_a_line_and_changes_nothing(
    case: str, assignment: Path, snapshot: SnapshotAssertion
) -> None:
    more, arguments, status = REFUSED[case]
    put(assignment, more)
    if "pipe" in arguments:
        if not hasattr(os, "mkfifo"):
            pytest.skip("pipes of POSIX systems")
        os.mkfifo(assignment / "pipe")
    before = files(assignment)
    done = treceval(["grade", *arguments], folder=assignment)
    assert (done.status, done.err.decode()) == (status, snapshot)
    assert files(assignment) == before


# --- again and again ---


@pytest.mark.slow
def test_two_gradings_write_the_same_bytes(assignment: Path, processes: None) -> None:
    grade(assignment, "--workers", "1")
    first = files(assignment / "out")
    (assignment / "out").rename(assignment / "before")
    grade(assignment, "--workers", "2")
    assert files(assignment / "out") == first


CLAIMED = "student,measure,value\nada,P@10,0.4\n"
CHANGES: dict[str, tuple[str, str, int]] = {
    "judgments": ("qrels.txt", QRELS.replace("1 0 d1 0", "1 0 d1 1"), 0),
    "run": ("in/ada/run.txt", RUN.replace(" t\n", " u\n"), 1),  # bob's stays
    "claims": ("claims.csv", CLAIMED.replace("0.4", "0.5"), 1),
    "baseline": ("base.txt", RUN.replace("1 Q0 d1 12 8.5", "1 Q0 d1 12 98.5"), 0),
    "rules": ("in/rules.toml", "[scoring]\nlevel = 2\n", 0),
    "points": ("in/rules.toml", "[points]\nrun = 10\nclaims = 10\n", 2),
}


def test_what_changes_a_grade_is_graded_again_and_nothing_else(assignment: Path) -> None:
    # Rules beside the submissions are none.
    put(assignment, {"base.txt": RUN, "claims.csv": CLAIMED, "in/rules.toml": "[scoring]\n"})
    options = ["--baseline", "base.txt", "--claims", "claims.csv", "--rules", "in/rules.toml"]
    grade(assignment, *options)
    before, first = records(assignment), files(assignment / "out")
    grade(assignment, *options)
    assert records(assignment) == before
    for name in before:
        path = assignment / "out" / ".grades" / name
        path.write_bytes(path.read_bytes()[:40])  # a damaged record is made again
    grade(assignment, *options)
    assert files(assignment / "out") == first
    stay = {}
    for change, (name, text, _) in CHANGES.items():
        old = (assignment / name).read_text()
        put(assignment, {name: text})
        grade(assignment, *options)
        stay[change] = len(records(assignment).keys() & before.keys())
        put(assignment, {name: old})
    assert points(assignment) == {"ada": "20.00", "bob": "0.00"}  # after the last change
    assert stay == {change: number for change, (*_, number) in CHANGES.items()}


@pytest.mark.slow
def test_grading_that_was_killed_goes_on_and_ends_as_if_it_had_not_been(assignment: Path, processes: None) -> None:
    for number in range(11):
        own = {"run.txt": RUN.replace(" t\n", f" t{number}\n"), "claims.txt": f"MAP = 0.{9000 - number}\n"}
        put(assignment, {f"in/student{number}/{name}": text for name, text in own.items()})
    command = [sys.executable, "-m", "treceval_py", *ARGUMENTS, "--workers", "1"]
    process = subprocess.Popen(command, cwd=assignment, stdout=subprocess.DEVNULL)
    while process.poll() is None and len(records(assignment)) < 4:
        pass
    process.kill()
    process.wait()
    kept = records(assignment)
    assert 4 <= len(kept) < 14
    subprocess.run(command, cwd=assignment, stdout=subprocess.DEVNULL, check=True)
    assert kept.items() <= records(assignment).items()
    again = files(assignment / "out")
    (assignment / "out").rename(assignment / "before")
    subprocess.run(command, cwd=assignment, stdout=subprocess.DEVNULL, check=True)
    assert files(assignment / "out") == again


# --- hostile submissions ---


def zipped(members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return raw.getvalue()


def hostile(folder: Path) -> None:
    """Hand in what should do harm, one of each kind."""

    def put(student: str, name: str, data: bytes) -> None:
        (folder / student).mkdir(exist_ok=True)
        (folder / student / name).write_bytes(data)

    zeros = bytes(1 << 20)
    bomb = zipped({f"{number}.txt": zeros * 64 for number in range(8)})
    put("bomb-in-a-zip", "run.zip", zipped({"run.txt": zeros * 300, "more.zip": bomb}))
    put("bomb-of-gzip", "run.txt.gz", gzip.compress(zeros * 200, 9))
    put(
        "traversal",
        "run.zip",
        zipped({"../../../escaped.txt": b"x", "/tmp/escaped-run.txt": b"x", "run.txt": RUN.encode()}),
    )
    (folder / "link").mkdir()
    (folder / "link" / "run.txt").symlink_to("/etc/passwd")
    (folder / "link-to-a-folder").symlink_to("/etc")
    (folder / "pipe").mkdir()
    os.mkfifo(folder / "pipe" / "run.txt")
    put("giant-line", "run.txt", b"1 Q0 " + b"d" * (20 << 20))
    put("million-queries", "run.txt", b"".join(b"q%d Q0 d 1 1 t\n" % number for number in range(1_000_000)))
    put("million-claims", "claims.txt", b"".join(b"P@%d = 0.5\n" % number for number in range(1, 1_000_000)))
    put("million-claims", "run.txt", RUN.encode())
    put("=HYPERLINK(1)", "run.txt", RUN.encode())
    put("\x1b[31mred\x07", "run.txt", RUN.encode())
    put("<script>alert(1)<b>", "run.txt", RUN.replace(" t\n", " <img/onerror=alert(1)>\n").encode())
    put("n" * 240, "run.txt", RUN.encode())


MEASURED = """
import resource, sys
from treceval_py.cli.commands import run
status = run(sys.argv[1:])
# Its own ru_maxrss would count the memory of the process that started it.
own = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, *own)
sys.exit(status)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is as Linux's /proc tells it")
def test_hostile_submissions_do_no_harm_and_the_others_are_graded(assignment: Path) -> None:
    hostile(assignment / "in")
    before = {path for path in assignment.rglob("*") if not path.is_symlink()}
    command = [sys.executable, "-c", MEASURED, *ARGUMENTS]
    done = subprocess.run(command, cwd=assignment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"written: out/\n")
    # Nothing is written outside of OUT.
    after = {path for path in assignment.rglob("*") if not path.is_symlink()}
    assert {path.relative_to(assignment).parts[0] for path in after - before} == {"out"}
    assert not Path("/tmp/escaped-run.txt").exists()
    # Memory stays bounded: in KB, of the largest process that graded, and of the one that wrote.
    assert max(map(int, done.stdout.split()[-2:])) < 700_000
    assert {name: status for name, (status, _) in statuses(assignment).items()} == {
        "ada": "scored",
        "bob": "refused",
        "bomb-in-a-zip": "missing",
        "bomb-of-gzip": "refused",
        "traversal": "scored",
        "link": "missing",
        "link-to-a-folder": "missing",
        "pipe": "missing",
        "giant-line": "refused",
        "million-queries": "refused",
        "million-claims": "scored",
        "=HYPERLINK(1)": "scored",
        "\\x1b[31mred\\x07": "scored",
        "<script>alert(1)<b>": "scored",
        "n" * 240: "scored",
    }
    # Names are neither formulas nor HTML nor paths.
    table = (assignment / "out" / "gradebook.csv").read_text("utf-8")
    assert not re.search(r"(?m)(^|,)\"?[=+@]|(^|,)\"?-(?!\d)|\x1b", table)
    page = (assignment / "out" / "overview.html").read_text("utf-8")
    assert "<script>alert" not in page
    assert "<img" not in page
    names = [path.name for path in (assignment / "out" / "feedback").iterdir()]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]{,127}", name) for name in names)


def where_bob(does: str) -> str:
    """Return what a process runs that grades as always, but does something else first where it comes to bob."""
    return f"""
import os, sys, time
sys.path[:] = sys.argv[1:]
from treceval_py.grading import processes as workers
answered = workers._answered
def other(job, grader, setup):
    if job.submission.student == "bob":
        {does}
    return answered(job, grader, setup)
workers._answered = other
workers.main()
"""


START = "treceval_py.grading.processes.START"
HARM = {
    "too slow": ("time.sleep(600)", ("failed", "grading it takes more than 2 seconds"), 2),  # bob is tried again
    "crash": ("os._exit(3)", ("failed", "the process that graded it ended: out of memory, or a crash"), 2),
    "noise": ("print('noise' * 100_000, flush=True)", None, 3),
}


@pytest.mark.parametrize(
    "harm", ["noise", *(pytest.param(each, marks=pytest.mark.slow) for each in ("crash", "too slow"))]
)
def test_what_a_submission_does_to_its_process_does_no_harm_to_others(
    assignment: Path, processes: None, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    does, told, kept = HARM[harm]
    monkeypatch.setattr(START, where_bob(does))
    put(assignment, {"rules.toml": f"[limits]\nseconds = {2 if harm == 'too slow' else 60}\n"})
    assert grade(assignment, "--rules", "rules.toml", "--workers", "1").status == 0
    found = statuses(assignment)
    assert (found["ada"], found["cid"], len(records(assignment))) == (("scored", ""), ("scored", ""), kept)
    assert found["bob"][0] == "refused" if told is None else found["bob"] == told


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is limited where Linux's /proc tells it")
def test_a_run_that_needs_too_much_memory_fails(
    assignment: Path, processes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exercise, "MEMORY", 128 << 20)
    lines = b"".join(b"%d Q0 document%d 1 %d t\n" % (number % 3, number, number) for number in range(1_500_000))
    (assignment / "in" / "bob" / "run.txt").write_bytes(lines)
    grade(assignment)
    assert statuses(assignment)["ada"] == ("scored", "")
    assert statuses(assignment)["bob"] == ("failed", "grading it needs more memory than a submission may use")


def test_a_process_with_nothing_left_to_grade_ends_while_another_still_grades(monkeypatch: pytest.MonkeyPatch) -> None:
    both, ended = threading.Barrier(2), threading.Event()

    class Process:
        used_up = False

        def __init__(self, setup: object) -> None:
            self.end = ended.set

        def asked(self, job: str, seconds: float) -> workers.Reply:
            both.wait(10)
            ends_first = job == "long" and ended.wait(10)
            return workers.Reply(Graded(job, "", "scored"), str(ends_first))

    monkeypatch.setattr("treceval_py.grading.processes._Process", Process)
    setup = workers.Setup(None, "", "", 0)  # type: ignore[arg-type]
    found = graded_by_processes(setup, ["long", "short"], workers=2, seconds=60)  # type: ignore[list-item]
    assert [each.kept for each in found] == ["True", "False"]


def test_a_process_that_cannot_start_says_why(
    assignment: Path, processes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(START, "raise ImportError('no numpy here')")
    done = grade(assignment)
    assert (done.status, done.err) == (
        1,
        b"treceval: the process that grades could not start: ImportError: no numpy here.\n",
    )


@pytest.mark.slow
def test_programs_that_students_hand_in_are_not_run(assignment: Path, processes: None) -> None:
    programs = ("json", "numpy", "tempfile", "sitecustomize", "treceval_py")
    put(assignment / "in", {f"{name}.py": "open('executed', 'w').close()\n" for name in programs})
    (assignment / "qrels.txt").rename(assignment / "in" / "qrels.txt")
    done = treceval(["grade", "qrels.txt", ".", "-o", "../out"], folder=assignment / "in")
    assert done.status == 0
    assert not (assignment / "in" / "executed").exists()
    assert statuses(assignment)["ada"] == ("scored", "")


def test_a_defect_of_ours_fails_one_submission_only(assignment: Path) -> None:
    class Broken:
        def grade(self, submission: object, claimed: object, wanted: str) -> object:
            raise RuntimeError("a defect")

    job = workers.Job(intake.one(str(assignment / "in" / "ada")))
    reply = workers._answered(job, Broken(), workers.Setup(None, "", "", 0))  # type: ignore[arg-type]
    assert isinstance(reply, workers.Reply)
    assert (reply.graded.status, reply.graded.reason) == (
        "failed",
        "grading stopped at an error of treceval_py: RuntimeError: a defect",
    )


def workers_of(pid: int) -> list[int]:
    """Return the processes that a process started."""
    texts = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [int(number) for text in texts for number in text.split()]


def alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes in Linux's /proc")
def test_processes_that_grade_end_with_the_one_that_started_them(assignment: Path) -> None:
    lines = b"".join(b"q%d Q0 d%d 1 1 t\n" % (number % 500_000, number) for number in range(1_000_000))
    (assignment / "in" / "ada" / "run.txt").write_bytes(lines)
    command = [sys.executable, "-m", "treceval_py", *ARGUMENTS, "--workers", "1"]
    process = subprocess.Popen(command, cwd=assignment, stdout=subprocess.DEVNULL)
    found: list[int] = []
    while process.poll() is None and not found:
        found = workers_of(process.pid)
    time.sleep(1)  # it is at work
    assert found
    process.kill()
    process.wait()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and any(map(alive, found)):
        time.sleep(0.1)
    assert not any(map(alive, found))


# --- judged rankings, and whose labels count ---

WORKED = "".join(
    f"{qid} Q0 d{qid}-{rank} {label}\n"
    for qid, labels in (("1", "20103"), ("2", "0100"), ("3", "11"))
    for rank, label in enumerate(labels, 1)
)
"""The worked example of a coursework: MAP 0.75185, MRR 0.83333, NDCG 0.89889."""

OF_WORKED = "MAP = 0.75185\nMRR = 0.83333\nNDCG = 0.89889\n"
BACKWARDS = "".join(reversed(WORKED.splitlines(keepends=True)))
RANKS = "".join(f"{qid} Q0 d{number} {rank}\n" for qid in (1, 2, 3) for rank, number in enumerate(range(12, 0, -1), 1))
GOOD: tuple[str, list[float], list[str]] = ("scored", [0.75185, 0.83333, 0.89889], ["correct"] * 3)
RANKINGS: dict[str, tuple[str, str, str, tuple[str, list[float], list[str]]]] = {
    "labels as judged": (BACKWARDS, WORKED, OF_WORKED, GOOD),
    # The document is judged 0. By the invented label AP is 1 for query 1.
    "labels that contradict": (QRELS, "1 Q0 d1 1\n1 Q0 d2 0\n", "MAP = 1.0000\n", ("scored", [0.0], ["mistake"])),
    "ranks": (QRELS, RANKS, "MAP = 1.0000\n", ("refused", [], ["unchecked"])),
}


@pytest.mark.parametrize("case", RANKINGS)
def test_a_judged_ranking_is_scored_by_the_judgments(assignment: Path, case: str) -> None:
    qrels, ranking, claims, (status, values, verdicts) = RANKINGS[case]
    (assignment / "in" / "ada" / "run.txt").unlink()
    rules = '[scoring]\nmeasures = ["MAP", "MRR", "NDCG"]\n'
    put(assignment, {"qrels.txt": qrels, "rules.toml": rules})
    put(assignment, {"in/ada/ranking.txt": ranking, "in/ada/claims.txt": claims})
    assert grade(assignment, "--rules", "rules.toml").status == 0
    found = grades(assignment)["ada"]
    assert (found["status"], found["profile"]) == (status, "coursework" if values else "")
    assert [round(value, 5) for value in found["measures"].values()][: len(values)] == values
    said = [claim["verdict"] for claim in found["claims"] if claim["verdict"] != "no claim"]
    assert said == verdicts
    if case == "labels that contradict":
        why = "right by the labels in the file itself, which contradict the judgments of the assignment"
        assert found["claims"][0]["why"] == why
