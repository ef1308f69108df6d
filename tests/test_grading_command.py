"""The command that grades: what it writes, what it prints, how it goes on, and what hostile submissions cannot do."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from command import Done, treceval
from grading_samples import graded_here

import treceval_py as te
from treceval_py.grading.intake import intake
from treceval_py.grading.processes import worker

QRELS = "".join(f"{qid} 0 d{number} {int(number % 3 == 0)}\n" for qid in (1, 2, 3) for number in range(1, 13))
RUN = "".join(
    f"{qid} Q0 d{number} {rank} {20 - rank}.5 t\n"
    for qid in (1, 2, 3)
    for rank, number in enumerate(range(12, 0, -1), 1)
)
# Relevant are the ranks 1, 4, 7 and 10: (1/1 + 2/4 + 3/7 + 4/10) / 4 = 0.58214…
AP = "0.5821"


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treceval_py.grading.exercise.graded_by_processes", graded_here)


@pytest.fixture
def assignment(tmp_path: Path) -> Path:
    """Return a folder with judgments and two submissions, one of them broken."""
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "in" / "ada").mkdir(parents=True)
    (tmp_path / "in" / "ada" / "run.txt").write_text(RUN)
    (tmp_path / "in" / "ada" / "claims.txt").write_text(f"MAP = {AP}\n")
    (tmp_path / "in" / "bob").mkdir()
    (tmp_path / "in" / "bob" / "run.txt").write_text(RUN.replace(" 19.5 ", " nan "))
    return tmp_path


def grade(folder: Path, *options: str) -> Done:
    return treceval(["grade", "qrels.txt", "in", "-o", "out", *options], folder=folder)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def points(folder: Path) -> dict[str, str]:
    with (folder / "out" / "gradebook.csv").open(encoding="utf-8", newline="") as stream:
        return {row["student"]: row["points"] for row in csv.DictReader(stream)}


# --- what it writes and prints ---


def test_it_prints_a_summary_and_names_who_could_not_be_scored(assignment: Path) -> None:
    done = grade(assignment)
    assert (done.status, done.err) == (0, b"")
    assert done.out.decode().splitlines() == [
        "2 students: 1 scored, 1 refused",
        "claims: 1 correct",
        "  bob: refused: line 1: score 'nan' is not a number, so it cannot be ranked (and 2 more such findings)",
        "needs a human: 1 student (1 no claims): see the overview",
        "written to out/",
    ]


@pytest.mark.slow
def test_it_writes_a_gradebook_feedback_and_an_overview(assignment: Path) -> None:
    grade(assignment)
    written = {name for name in files(assignment / "out") if not name.startswith(".grades/")}
    assert written == {
        "gradebook.csv",
        "gradebook.xlsx",
        "overview.html",
        "grades.json",
        "feedback/ada.txt",
        "feedback/bob.txt",
    }
    assert points(assignment) == {"ada": "100.00", "bob": "0.00"}


def test_without_any_claim_points_are_given_for_runs_alone(assignment: Path) -> None:
    (assignment / "in" / "ada" / "claims.txt").unlink()
    grade(assignment)
    (ada, _) = json.loads((assignment / "out" / "grades.json").read_text("utf-8"))
    assert (ada["points"], ada["most"]) == (40, 40)


def test_the_rules_of_the_example_are_the_default_ones(tmp_path: Path) -> None:
    done = treceval(["grade", "--example-rules"])
    (tmp_path / "rules.toml").write_bytes(done.out)
    assert te.read_rules(tmp_path / "rules.toml") == te.Rules()


@pytest.mark.slow
def test_a_baseline_shows_where_a_submission_loses(assignment: Path) -> None:
    # The baseline has the relevant documents first; of query 1 the submission has d12 first, and d9 only at rank 4.
    best = "".join(
        f"{qid} Q0 d{number} {rank} {20 - rank} b\n"
        for qid in (1, 2, 3)
        for rank, number in enumerate((12, 9, 6, 3, 1, 2), 1)
    )
    (assignment / "best.txt").write_text(best)
    (assignment / "full.toml").write_text('[scoring]\nfeedback = "full"\n')
    grade(assignment, "--baseline", "best.txt", "--rules", "full.toml")
    (ada, _) = json.loads((assignment / "out" / "grades.json").read_text("utf-8"))
    against = ada["against"]
    assert (against["baseline"], against["queries"], against["worse"]) == (1.0, 3, 3)
    assert against["value"] == pytest.approx((1 + 2 / 4 + 3 / 7 + 4 / 10) / 4)
    assert against["losses"][0]["qid"] == "1"
    assert against["losses"][0]["documents"] == [
        {"docid": "d9", "label": 1, "rank": 4, "baseline": 2},
        {"docid": "d6", "label": 1, "rank": 7, "baseline": 3},
        {"docid": "d3", "label": 1, "rank": 10, "baseline": 4},
    ]


def test_claims_of_somebody_else_are_told(assignment: Path) -> None:
    (assignment / "claims.csv").write_text("student,measure,value\nada,P@10,0.4\neve,MAP,0.5\n")
    done = grade(assignment, "--claims", "claims.csv")
    assert "not matched: claims.csv:3: student 'eve' handed nothing in, or under another name" in done.out.decode()


# --- one submission ---


def single(folder: Path, *arguments: str) -> Done:
    return treceval(["grade", "qrels.txt", *arguments, "--single"], folder=folder)


def test_a_single_submission_is_printed_as_json(assignment: Path) -> None:
    done = single(assignment, "in/ada")
    found = json.loads(done.out)
    assert (done.status, found["student"], found["status"], found["points"]) == (0, "ada", "scored", 100)
    assert not (assignment / "out").exists()


def test_a_single_submission_that_cannot_be_scored_ends_with_status_1(assignment: Path) -> None:
    done = single(assignment, "in/bob")
    assert (done.status, json.loads(done.out)["status"]) == (1, "refused")


def test_a_single_submission_below_the_mark_to_pass_ends_with_status_3(assignment: Path) -> None:
    (assignment / "rules.toml").write_text("[points]\npass_mark = 50\n")
    (assignment / "in" / "ada" / "claims.txt").write_text("MAP = 0.9\n")
    done = single(assignment, "in/ada", "--rules", "rules.toml")
    assert (done.status, json.loads(done.out)["points"], json.loads(done.out)["passed"]) == (3, 40, False)


# --- what is refused ---


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["qrels.txt"], "treceval: Missing argument 'SUBMISSIONS'. See 'treceval grade --help'."),
        (["qrels.txt", "in"], "treceval: Missing option '-o': the folder to write to. See 'treceval grade --help'."),
        (
            ["qrels.txt", "in", "-o", "o", "--single"],
            "treceval: --single prints a grade and writes no files; remove -o. See 'treceval grade --help'.",
        ),
        (
            ["qrels.txt", "in", "--single", "--workers", "2"],
            ("treceval: --single grades one submission in one process; remove --workers. See 'treceval grade --help'."),
        ),
        (
            ["--workers", "2", "--example-rules"],
            ("treceval: --example-rules only prints rules; remove the other arguments. See 'treceval grade --help'."),
        ),
        (
            ["qrels.txt", "--example-rules"],
            ("treceval: --example-rules only prints rules; remove the other arguments. See 'treceval grade --help'."),
        ),
        (
            ["-", "in", "-o", "o"],
            "treceval: Grading cannot read standard input (-); name files. See 'treceval grade --help'.",
        ),
    ],
)
def test_a_wrong_command_is_one_line(assignment: Path, arguments: list[str], message: str) -> None:
    done = treceval(["grade", *arguments], folder=assignment)
    assert (done.status, done.err.decode()) == (2, message + "\n")


def test_a_folder_of_somebody_else_is_not_written_to(assignment: Path) -> None:
    done = treceval(["grade", "qrels.txt", "in", "-o", "in"], folder=assignment)
    assert done.status == 1
    assert done.err == b"in: the folder has files that grading did not write. Name a new or an empty folder.\n"


def test_judgments_that_cannot_be_read_stop_everything(assignment: Path) -> None:
    (assignment / "qrels.txt").write_text("1 0 d1 high\n")
    done = grade(assignment)
    assert (done.status, (assignment / "out").exists()) == (1, False)
    assert done.err == b"qrels.txt:1: judgment 'high' is not a whole number. Grades are integers, such as 0, 1, 2.\n"


def test_a_broken_baseline_stops_everything(assignment: Path) -> None:
    (assignment / "base.txt").write_text("1 Q0 d1 1 nan t\n")
    done = grade(assignment, "--baseline", "base.txt")
    assert done.status == 1
    assert done.err.startswith(b"base.txt:1: score 'nan' is not a number")


def test_rules_that_need_a_baseline_say_so(assignment: Path) -> None:
    text = "[points]\nrun = 0\nmeasures = 100\nclaims = 0\n[[measure]]\nname = 'AP'\nabove_baseline = true\nfull_from = 0.1\n"
    (assignment / "rules.toml").write_text(text)
    done = grade(assignment, "--rules", "rules.toml")
    assert done.err == (
        b"treceval: the rules give points by the baseline, but there is none. Give a run to compare with (--baseline; in "
        b"a course baseline of the task).\n"
    )


# --- again and again ---


@pytest.mark.slow
def test_two_gradings_write_the_same_bytes(assignment: Path) -> None:
    grade(assignment, "--workers", "1")
    first = files(assignment / "out")
    (assignment / "out").rename(assignment / "before")
    grade(assignment, "--workers", "2")
    assert files(assignment / "out") == first


@pytest.mark.slow
def test_what_was_graded_is_not_graded_again(assignment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grade(assignment)
    records = assignment / "out" / ".grades"
    kept = {path.name: path.stat().st_mtime_ns for path in records.glob("*.json.gz")}
    (assignment / "in" / "bob" / "run.txt").write_text(RUN)
    grade(assignment)
    again = {path.name: path.stat().st_mtime_ns for path in records.glob("*.json.gz")}
    assert len(kept) == len(again) == 2
    assert len(set(kept.items()) & set(again.items())) == 1  # ada's, as it was
    assert points(assignment)["bob"] == "40.00"


@pytest.mark.slow
@pytest.mark.parametrize("change", ["qrels", "run", "claims", "baseline", "rules"])
def test_what_changes_a_grade_is_graded_again(assignment: Path, change: str) -> None:
    (assignment / "base.txt").write_text(RUN)
    (assignment / "claims.csv").write_text("student,measure,value\nada,P@10,0.4\n")
    (assignment / "rules.toml").write_text("[scoring]\n")
    options = ["--baseline", "base.txt", "--claims", "claims.csv", "--rules", "rules.toml"]
    grade(assignment, *options)
    before = set((assignment / "out" / ".grades").glob("*.json.gz"))
    assert len(before) == 2
    {
        "qrels": lambda: (assignment / "qrels.txt").write_text(QRELS.replace("1 0 d1 0", "1 0 d1 1")),
        "run": lambda: (assignment / "in" / "ada" / "run.txt").write_text(RUN.replace(" t\n", " u\n")),
        "claims": lambda: (assignment / "claims.csv").write_text("student,measure,value\nada,P@10,0.5\n"),
        "baseline": lambda: (assignment / "base.txt").write_text(RUN.replace("1 Q0 d1 12 8.5", "1 Q0 d1 12 98.5")),
        "rules": lambda: (assignment / "rules.toml").write_text("[scoring]\nlevel = 2\n"),
    }[change]()
    grade(assignment, *options)
    after = set((assignment / "out" / ".grades").glob("*.json.gz"))
    assert len(after & before) == (1 if change in ("run", "claims") else 0)  # bob's is not concerned by these two


@pytest.mark.slow
def test_other_points_are_given_without_grading_again(assignment: Path) -> None:
    grade(assignment)
    before = set((assignment / "out" / ".grades").glob("*.json.gz"))
    (assignment / "rules.toml").write_text("[points]\nrun = 10\nclaims = 10\n")
    grade(assignment, "--rules", "rules.toml")
    assert set((assignment / "out" / ".grades").glob("*.json.gz")) == before
    assert points(assignment) == {"ada": "20.00", "bob": "0.00"}


@pytest.mark.slow
def test_feedback_of_who_is_gone_is_removed_and_nothing_else(assignment: Path) -> None:
    grade(assignment)
    (assignment / "out" / "feedback" / "mine.txt").write_text("a note of the teacher's")
    (assignment / "in" / "bob").rename(assignment / "bob")
    grade(assignment)
    assert sorted(path.name for path in (assignment / "out" / "feedback").iterdir()) == ["ada.txt", "mine.txt"]


@pytest.mark.slow
def test_a_record_that_was_damaged_is_made_again(assignment: Path) -> None:
    grade(assignment)
    first = files(assignment / "out")
    for path in (assignment / "out" / ".grades").glob("*.json.gz"):
        path.write_bytes(path.read_bytes()[:40])
    grade(assignment)
    assert files(assignment / "out") == first


def killed_after(assignment: Path, records: int) -> None:
    """Grade in a process of its own, and kill it as soon as so many records are there."""
    command = [sys.executable, "-m", "treceval_py", "grade", "qrels.txt", "in", "-o", "out", "--workers", "1"]
    process = subprocess.Popen(command, cwd=assignment, stdout=subprocess.DEVNULL)
    kept = assignment / "out" / ".grades"
    while process.poll() is None and len(list(kept.glob("*.json.gz"))) < records:
        pass
    process.kill()
    process.wait()


@pytest.mark.slow
def test_grading_that_was_killed_goes_on_and_ends_as_if_it_had_not_been(assignment: Path) -> None:
    for number in range(12):
        student = assignment / "in" / f"student{number}"
        student.mkdir()
        (student / "run.txt").write_text(RUN.replace(" t\n", f" t{number}\n"))
        (student / "claims.txt").write_text(f"MAP = 0.{9000 - number}\n")
    grade(assignment)
    whole = files(assignment / "out")
    (assignment / "out").rename(assignment / "before")
    killed_after(assignment, 4)
    kept = {path.name: path.stat().st_mtime_ns for path in (assignment / "out" / ".grades").glob("*.json.gz")}
    assert 4 <= len(kept) < 14
    grade(assignment)
    assert files(assignment / "out") == whole
    assert all((assignment / "out" / ".grades" / name).stat().st_mtime_ns == time for name, time in kept.items())


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
    command = [sys.executable, "-c", MEASURED, "grade", "qrels.txt", "in", "-o", "out"]
    done = subprocess.run(command, cwd=assignment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    # Nothing is written outside of OUT.
    after = {path for path in assignment.rglob("*") if not path.is_symlink()}
    assert {path.relative_to(assignment).parts[0] for path in after - before} == {"out"}
    assert not Path("/tmp/escaped-run.txt").exists()
    # Memory stays bounded: in KB, of the largest process that graded, and of the one that wrote.
    assert max(map(int, done.stdout.split()[-2:])) < 700_000
    found = {each["student"]: each for each in json.loads((assignment / "out" / "grades.json").read_text("utf-8"))}
    statuses = {name: each["status"] for name, each in found.items()}
    assert statuses.pop("ada") == "scored"
    assert statuses == {
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


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="names of POSIX systems")
def test_names_are_no_formulas_no_html_and_no_paths(assignment: Path) -> None:
    hostile(assignment / "in")
    grade(assignment)
    table = (assignment / "out" / "gradebook.csv").read_text("utf-8")
    assert all(
        not cell.startswith(("=", "+", "-", "@"))
        for row in csv.reader(io.StringIO(table))
        for cell in row
        if not number(cell)
    )
    assert "\x1b" not in table
    page = (assignment / "out" / "overview.html").read_text("utf-8")
    assert "<script>alert" not in page
    assert "<img" not in page
    names = [path.name for path in (assignment / "out" / "feedback").iterdir()]
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") for name in names)
    assert max(map(len, names)) < 128


def number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def where_bob(does: str) -> str:
    """Return what a process runs that grades as always, but does something else first where it comes to bob."""
    return f"""
import os, sys, time
sys.path[:] = sys.argv[1:]
from treceval_py.grading.processes import worker
answered = worker._answered
def other(job, grader, setup):
    if job.submission.student == "bob":
        {does}
    return answered(job, grader, setup)
worker._answered = other
worker.main()
"""


def statuses(folder: Path) -> dict[str, tuple[str, str]]:
    found = json.loads((folder / "out" / "grades.json").read_text("utf-8"))
    return {each["student"]: (each["status"], each["reason"]) for each in found}


@pytest.fixture
def three(assignment: Path) -> Path:
    """Add a student after the one whose submission does harm."""
    (assignment / "in" / "cid").mkdir()
    (assignment / "in" / "cid" / "run.txt").write_text(RUN)
    return assignment


@pytest.mark.slow
def test_a_submission_that_takes_too_long_is_stopped_and_told(three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treceval_py.grading.processes.workers.START", where_bob("time.sleep(600)"))
    (three / "rules.toml").write_text("[limits]\nseconds = 4\n")
    assert grade(three, "--rules", "rules.toml", "--workers", "1").status == 0
    assert statuses(three) == {
        "ada": ("scored", ""),
        "bob": ("failed", "grading it takes more than 4 seconds"),
        "cid": ("scored", ""),
    }
    assert len(list((three / "out" / ".grades").glob("*.json.gz"))) == 2  # bob is tried again the next time


@pytest.mark.slow
def test_a_process_that_dies_takes_nothing_else_along(three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treceval_py.grading.processes.workers.START", where_bob("os._exit(3)"))
    assert grade(three, "--workers", "1").status == 0
    assert statuses(three) == {
        "ada": ("scored", ""),
        "bob": ("failed", "the process that graded it ended: out of memory, or a crash"),
        "cid": ("scored", ""),
    }


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is limited where Linux's /proc tells it")
def test_a_run_that_needs_too_much_memory_is_told(assignment: Path) -> None:
    lines = b"".join(b"%d Q0 document%d 1 %d t\n" % (number % 3, number, number) for number in range(1_500_000))
    (assignment / "in" / "bob" / "run.txt").write_bytes(lines)
    (assignment / "rules.toml").write_text("[limits]\nmemory_megabytes = 128\n")
    grade(assignment, "--rules", "rules.toml")
    assert statuses(assignment) == {
        "ada": ("scored", ""),
        "bob": ("failed", "grading it needs more memory than the rules allow"),
    }


def test_what_prints_while_it_grades_is_no_message(three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "treceval_py.grading.processes.workers.START", where_bob("print('noise' * 100_000, flush=True)")
    )
    assert grade(three, "--workers", "1").status == 0
    assert statuses(three)["cid"] == ("scored", "")


def test_a_process_that_cannot_start_says_why(assignment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treceval_py.grading.processes.workers.START", "raise ImportError('no numpy here')")
    done = grade(assignment)
    assert done.status == 1
    assert done.err == b"treceval: the process that grades could not start: ImportError: no numpy here.\n"


@pytest.mark.slow
def test_programs_that_students_hand_in_are_not_run(assignment: Path) -> None:
    for name in ("json", "numpy", "tempfile", "sitecustomize", "treceval_py"):
        (assignment / "in" / f"{name}.py").write_text("open('executed', 'w').close()\n")
    (assignment / "qrels.txt").rename(assignment / "in" / "qrels.txt")
    done = treceval(["grade", "qrels.txt", ".", "-o", "../out"], folder=assignment / "in")
    assert done.status == 0
    assert not (assignment / "in" / "executed").exists()
    assert statuses(assignment)["ada"] == ("scored", "")


@pytest.mark.slow
def test_a_file_of_rules_beside_the_submissions_is_no_submission(assignment: Path) -> None:
    (assignment / "in" / "rules.toml").write_text("[points]\nrun = 10\n")
    grade(assignment, "--rules", "in/rules.toml")
    assert set(statuses(assignment)) == {"ada", "bob"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX systems")
def test_judgments_from_a_pipe_are_refused_before_they_are_read(assignment: Path) -> None:
    os.mkfifo(assignment / "pipe")
    done = treceval(["grade", "pipe", "in", "-o", "out"], folder=assignment)
    assert done.err == b"pipe: is not a regular file, but several processes must read it. Write it to a file.\n"


def test_a_defect_of_ours_fails_one_submission_only(assignment: Path) -> None:
    class Broken:
        def grade(self, submission: object, claimed: object, wanted: str) -> object:
            raise RuntimeError("a defect")

    job = worker.Job(intake.one(str(assignment / "in" / "ada")))
    reply = worker._answered(job, Broken(), worker.Setup(None, "", "", 0))  # type: ignore[arg-type]
    assert isinstance(reply, worker.Reply)
    assert reply.graded.status == "failed"
    assert reply.graded.reason == "grading stopped at an error of treceval_py: RuntimeError: a defect"


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
    command = [sys.executable, "-m", "treceval_py", "grade", "qrels.txt", "in", "-o", "out", "--workers", "1"]
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

CLAIMED = "MAP = 0.75185\nMRR = 0.83333\nNDCG = 0.89889\n"

THREE_MEASURES = '[scoring]\nmeasures = ["MAP", "MRR", "NDCG"]\n'


def one_of(folder: Path, student: str) -> dict:  # type: ignore[type-arg]
    found = json.loads((folder / "out" / "grades.json").read_text("utf-8"))
    return next(each for each in found if each["student"] == student)


def hand_in_a_judged_ranking(assignment: Path, ranking: str, claims: str, rules: str = THREE_MEASURES) -> dict:  # type: ignore[type-arg]
    (assignment / "in" / "ada" / "run.txt").unlink()
    (assignment / "in" / "ada" / "ranking.txt").write_text(ranking)
    (assignment / "in" / "ada" / "claims.txt").write_text(claims)
    (assignment / "rules.toml").write_text(rules)
    assert grade(assignment, "--rules", "rules.toml").status == 0
    return one_of(assignment, "ada")


@pytest.mark.slow
def test_a_judged_ranking_whose_labels_are_those_of_the_judgments_is_scored_as_the_coursework_does(
    assignment: Path,
) -> None:
    (assignment / "qrels.txt").write_text("".join(reversed(WORKED.splitlines(keepends=True))))
    found = hand_in_a_judged_ranking(assignment, WORKED, CLAIMED)
    assert (found["status"], found["profile"], found["points"]) == ("scored", "coursework", 100)
    assert [round(value, 5) for value in found["measures"].values()] == [0.75185, 0.83333, 0.89889]
    assert [claim["verdict"] for claim in found["claims"]] == ["correct"] * 3


@pytest.mark.slow
def test_labels_of_its_own_count_where_the_rules_say_so(assignment: Path) -> None:
    found = hand_in_a_judged_ranking(assignment, WORKED, CLAIMED, THREE_MEASURES + "own_labels = true\n")
    assert [round(value, 5) for value in found["measures"].values()] == [0.75185, 0.83333, 0.89889]
    assert [claim["verdict"] for claim in found["claims"]] == ["correct"] * 3


def test_a_judged_ranking_is_scored_by_the_judgments_and_not_by_labels_that_leave_something_out(
    assignment: Path,
) -> None:
    # One of the four relevant documents of query 1 alone: AP is 1/4 there, and 0 for the queries that it lacks.
    found = hand_in_a_judged_ranking(assignment, "1 Q0 d3 1\n", "MAP = 0.08333\n")
    assert found["measures"]["MAP"] == pytest.approx(1 / 4 / 3)
    assert [claim["verdict"] for claim in found["claims"]] == ["correct"]


@pytest.mark.slow
def test_a_claim_that_is_right_by_labels_that_contradict_the_judgments_is_a_mistake(assignment: Path) -> None:
    # The document is judged 0. By the invented label AP is 1 for query 1.
    found = hand_in_a_judged_ranking(assignment, "1 Q0 d1 1\n1 Q0 d2 0\n", "MAP = 1.0000\n")
    assert found["measures"]["MAP"] == 0
    (claim,) = found["claims"]
    assert (claim["verdict"], claim["why"]) == (
        "mistake",
        "right by the labels in the file itself, which contradict the judgments of the assignment",
    )


@pytest.mark.slow
def test_ranks_in_the_place_of_labels_are_no_judged_ranking(assignment: Path) -> None:
    ranks = "".join(
        f"{qid} Q0 d{number} {rank}\n" for qid in (1, 2, 3) for rank, number in enumerate(range(12, 0, -1), 1)
    )
    found = hand_in_a_judged_ranking(assignment, ranks, "MAP = 1.0000\n")
    assert found["status"] == "refused"


def test_judgments_are_no_baseline(assignment: Path) -> None:
    done = grade(assignment, "--baseline", "qrels.txt")
    assert (done.status, done.err) == (
        1,
        b"qrels.txt: these are not lines of a run. Give a run to compare with.\n",
    )


@pytest.mark.slow
def test_a_folder_without_submissions_changes_nothing(assignment: Path) -> None:
    grade(assignment)
    before = files(assignment / "out")
    (assignment / "empty").mkdir()
    done = treceval(["grade", "qrels.txt", "empty", "-o", "out"], folder=assignment)
    assert (done.status, done.err) == (
        1,
        b"empty: there are no submissions. Give a folder or zip with a file or folder for each student.\n",
    )
    assert files(assignment / "out") == before


def test_a_single_submission_finds_its_claims_in_the_table_of_a_class(assignment: Path) -> None:
    (assignment / "in" / "ada" / "claims.txt").unlink()
    (assignment / "claims.csv").write_text(f"student,measure,value\neve,MAP,0.1\nAda Lovelace,MAP,{AP}\n")
    done = single(assignment, "in/ada", "--claims", "claims.csv", "--student", "Ada Lovelace")
    assert (done.err, json.loads(done.out)["student"]) == (b"", "Ada Lovelace")
    assert [claim["verdict"] for claim in json.loads(done.out)["claims"]] == ["correct"]
    unknown = single(assignment, "in/ada", "--claims", "claims.csv")
    assert unknown.err.decode().splitlines() == [
        "note: claims.csv:2: student 'eve' handed nothing in, or under another name.",
        "note: claims.csv:3: student 'Ada Lovelace' handed nothing in, or under another name.",
    ]


def test_student_is_of_a_single_submission(assignment: Path) -> None:
    done = grade(assignment, "--student", "ada")
    assert done.err == (
        b"treceval: --student names the student of a single submission; add --single. See 'treceval grade --help'.\n"
    )


@pytest.mark.slow
def test_without_the_page_the_summary_points_to_the_gradebook(
    assignment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (assignment / "in" / "cid").mkdir()
    (assignment / "in" / "cid" / "run.txt").write_text(RUN)
    assert (
        "needs a human: 3 students (2 no claims, 2 alike): see the overview"
        in grade(assignment).out.decode().splitlines()
    )
    monkeypatch.setattr("treceval_py.cli.grade.find_spec", lambda package: None)
    assert (
        "needs a human: 3 students (2 no claims, 2 alike): see the gradebook"
        in grade(assignment).out.decode().splitlines()
    )
