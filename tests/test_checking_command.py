"""The command ``treceval check``: what it prints, how it ends, what it mends."""

from __future__ import annotations

import gzip
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command import Done, treceval
from syrupy.assertion import SnapshotAssertion

from treceval_py.checking.catalogue import CODES
from treceval_py.checking.show import CHECK_FORMATS
from treceval_py.cli import check as command
from treceval_py.diagnosis.columns import KINDS

QRELS = "1 0 a 1\n1 0 b 0\n2 0 c 1\n"
CLEAN = "1 Q0 a 1 2.5 t\n1 Q0 b 2 1.5 t\n2 Q0 c 1 3 t\n"
NAN = "1 Q0 a 1 2.5 t\n1 Q0 b 2 nan t\n2 Q0 c 1 3 t\n"
RANKS_FROM_0 = "1 Q0 a 0 2.5 t\n1 Q0 b 1 1.5 t\n2 Q0 c 0 3 t\n"
TWICE = "1 Q0 a 1 2.5 t\n1 Q0 a 1 2.5 t\n2 Q0 c 1 3 t\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with judgments and runs, each with what its name says."""
    files = {"qrels.txt": QRELS, "clean.txt": CLEAN, "nan.txt": NAN, "ranks.txt": RANKS_FROM_0, "twice.txt": TWICE}
    for name, text in files.items():
        (tmp_path / name).write_bytes(text.encode())
    return tmp_path


def check(folder: Path, *arguments: str, stdin: bytes = b"") -> Done:
    return treceval(["check", *arguments], folder=folder, stdin=stdin)


def codes(done: Done) -> list[str]:
    """Return the codes of the findings that were printed as JSON."""
    return [found["code"] for found in json.loads(done.out)["rows"]]


def usage(folder: Path, *arguments: str) -> str:
    """Return what is said of a command line that is refused as such."""
    done = check(folder, *arguments)
    assert (done.status, done.out) == (2, b"")
    return done.err.decode().removesuffix(" See 'treceval check --help'.\n")


# What is printed.


def test_runs_after_judgments_are_compared_with_them(home: Path) -> None:
    (home / "other.txt").write_text("7 Q0 x 1 2.5 t\n")

    def found(*files: str) -> list[str]:
        return codes(check(home, *files, "--select", "X201", "--format", "json"))

    assert found("qrels.txt", "other.txt") == found("--qrels", "qrels.txt", "other.txt") == ["X201"]
    assert found("qrels.txt", "clean.txt", "other.txt") == ["X201"]
    # Judgments that do not come first, or are not alone, may belong to other runs.
    assert found("other.txt", "qrels.txt") == found("qrels.txt", "qrels.txt", "other.txt") == []
    assert found("qrels.txt") == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("clean.txt", "1 file"),
        ("qrels.txt", "1 file"),
        ("--qrels qrels.txt", "1 file"),
        ("--qrels qrels.txt qrels.txt --as qrels", "2 files"),
        ("both.txt --as judged-ranking", "1 file"),
    ],
)
def test_clean_files_give_nothing(home: Path, arguments: str, said: str) -> None:
    (home / "both.txt").write_text("1 Q0 a 1\n1 Q0 b 0\n")
    assert check(home, *arguments.split()) == (0, f"nothing found in {said}\n".encode(), b"")


def test_a_finding_has_its_place(home: Path) -> None:
    done = check(home, "nan.txt", "clean.txt")
    first, last = done.out.decode().splitlines()
    assert first.startswith("nan.txt:2:10: error R104: ")
    assert last == "1 error in 2 files"
    assert (done.status, done.err) == (1, b"")


def test_standard_input_is_checked(home: Path) -> None:
    done = check(home, "-", stdin=NAN.encode())
    assert done.status == 1
    assert b":2:10: error R104: " in done.out


def test_findings_are_written_to_a_file(home: Path) -> None:
    done = check(home, "nan.txt", "--format", "json", "-o", "found.json")
    assert (done.status, done.out) == (1, b"")
    assert [each["line"] for each in json.loads((home / "found.json").read_text())["rows"]] == [2]


def test_github_gets_commands(home: Path) -> None:
    out = check(home, "nan.txt", "--format", "github").out.decode()
    assert out.startswith(f"::error file=nan.txt,line=2,col=10,title=R104 {CODES['R104'].name}::")


def test_so_many_of_each_code_are_shown(home: Path) -> None:
    (home / "many.txt").write_text("".join(f"1 Q0 d{n} {n} nan t\n" for n in range(1, 6)))
    done = check(home, "many.txt", "--max", "2", "--select", "R104")
    lines = done.out.decode().splitlines()
    assert lines[-1] == "5 errors in 1 file; 3 more of R104 not shown (--max)"
    assert len(lines) == 3
    assert len(check(home, "many.txt", "--max", "0", "--select", "R104").out.splitlines()) == 6
    done = check(home, "many.txt", "--max", "2", "--select", "R104", "--format", "json")
    assert (codes(done), done.err) == (["R104", "R104"], b"note: 3 more of R104 not shown (--max)\n")


@pytest.mark.parametrize(
    "chosen", ["R104", "r1", "score-nan,R129", "R104,F", "R104,", ",R104", "R104,,F"]
)  # and a comma too many
def test_codes_are_selected(home: Path, chosen: str) -> None:
    assert codes(check(home, "nan.txt", "--select", chosen, "--format", "json")) == ["R104"]


def test_what_could_not_be_read_is_a_failure_even_if_its_code_is_left_out(home: Path) -> None:
    (home / "commas.csv").write_text("1,Q0,a,1,2.5,t\n")
    done = check(home, "commas.csv", "--ignore", "R112")
    assert (done.status, done.out) == (1, b"nothing found in 1 file; 1 file not read to the end (R112)\n")
    done = check(home, "commas.csv", "--ignore", "R112", "--format", "json")
    assert (codes(done), done.err) == ([], b"note: 1 file not read to the end (R112)\n")
    done = check(home, "gone.txt", "--select", "R1")
    assert (done.status, done.out) == (1, b"gone.txt: error F002: no such file. Check the name.\n1 error in 1 file\n")


def test_a_missing_file_is_a_finding_and_the_others_are_checked(home: Path) -> None:
    done = check(home, "gone.txt", "nan.txt", "--format", "json")
    assert (done.status, codes(done)) == (1, ["F002", "R104"])


# Severities and the exit status.


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ("clean.txt", 0),
        ("nan.txt", 1),
        ("nan.txt --ignore R104", 0),
        ("ranks.txt --select R124", 0),  # a warning
        ("ranks.txt --select R124 --strict", 1),
        ("apart.txt --strict", 0),  # a note
    ],
)
def test_errors_are_a_failure_and_warnings_with_strict(home: Path, arguments: str, status: int) -> None:
    (home / "apart.txt").write_text("1 Q0 a 1 2.5 t\n2 Q0 c 1 3 t\n1 Q0 b 2 1.5 t\n")
    assert check(home, *arguments.split()).status == status


# Judgments.


def test_judgments_are_checked_too(home: Path) -> None:
    (home / "qrels.txt").write_text("1 0 a 1\n1 0 b 0.5\n")
    done = check(home, "--qrels", "qrels.txt", "clean.txt", "--format", "json")
    assert codes(done)[0] == "Q302"
    assert done.status == 1
    assert done.err.startswith(
        b"note: the judgments cannot be read, so no run is compared with them and the exit status is 1: qrels.txt:2: "
    )


def test_judgments_of_groups_that_cannot_be_read_as_others_are_a_failure(home: Path) -> None:
    # That they are of groups is a warning; but nothing can be scored with them as they are given.
    (home / "qrels.txt").write_text("1 0 a 1\n1 1 a 0\n")
    done = check(home, "--qrels", "qrels.txt", "clean.txt", "--format", "json")
    assert (codes(done), done.status) == (["Q317"], 1)
    said = (
        b"note: the judgments cannot be read, so no run is compared with them and the exit status is 1: qrels.txt:2: "
    )
    assert done.err.startswith(said)


def test_judgments_in_the_place_of_a_run_are_a_finding(home: Path) -> None:
    done = check(home, "--qrels", "qrels.txt", "qrels.txt")
    assert (done.status, done.err) == (1, b"")
    assert done.out.startswith(b"qrels.txt:1: error R114: these are judgments, not a run.")


def test_judgments_in_the_place_of_a_run_are_told_where_those_beside_them_cannot_be_read(home: Path) -> None:
    (home / "bad.txt").write_text("1 0 a 1\n1 0 b 0.5\n")
    assert codes(check(home, "--qrels", "bad.txt", "qrels.txt", "--format", "json")) == ["Q302", "R114"]


def test_a_run_is_looked_at_beside_judgments(home: Path) -> None:
    (home / "other.txt").write_text("7 Q0 a 1 1 t\n8 Q0 c 1 1 t\n")
    found = codes(check(home, "--qrels", "qrels.txt", "other.txt", "--select", "X", "--format", "json"))
    assert "X201" in found


def test_judgments_can_come_from_standard_input(home: Path) -> None:
    (home / "other.txt").write_text("7 Q0 a 1 1 t\n8 Q0 c 1 1 t\n")
    done = check(home, "--qrels", "-", "other.txt", "--select", "X201", "--format", "json", stdin=QRELS.encode())
    assert codes(done) == ["X201"]


@pytest.fixture
def pipe(home: Path) -> Iterator[Callable[[str, bytes], None]]:
    """What makes a named pipe, into which data are written as soon as somebody reads."""
    writers = []

    def made(name: str, data: bytes) -> None:
        os.mkfifo(home / name)
        writers.append(threading.Thread(target=(home / name).write_bytes, args=(data,), daemon=True))
        writers[-1].start()

    yield made
    for writer in writers:
        writer.join(timeout=60)


needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")


@needs_pipes
def test_judgments_can_come_from_a_pipe(home: Path, pipe: Callable[[str, bytes], None]) -> None:
    pipe("judgments", gzip.compress(b"7 0 a 1\n"))
    done = check(home, "--qrels", "judgments", "clean.txt", "--select", "X201", "--format", "json")
    assert (codes(done), done.err) == (["X201"], b"")


@needs_pipes
def test_what_comes_from_a_pipe_is_mended(home: Path, pipe: Callable[[str, bytes], None]) -> None:
    pipe("run", TWICE.encode())
    done = check(home, "run", "--fix", "mended.txt")
    assert done.err == b"note: mended.txt: 1 exact duplicate was removed (line 2)\n"
    assert (home / "mended.txt").read_text() == "1 Q0 a 1 2.5 t\n2 Q0 c 1 3 t\n"


@needs_pipes
def test_a_pipe_is_not_mended_in_place(home: Path) -> None:
    os.mkfifo(home / "run")
    said = "treceval: run is not a regular file and cannot be fixed in place; use --fix OUT."
    assert usage(home, "run", "--in-place") == said


def test_a_folder_in_the_place_of_a_file_is_a_finding(home: Path) -> None:
    assert check(home, ".").out == b".: error F002: is a folder. Give a file.\n1 error in 1 file\n"


def test_labels_are_held_to_a_scale(home: Path) -> None:
    done = check(home, "--qrels", "qrels.txt", "--scale", "1-3", "--select", "Q312", "--format", "json")
    assert [each["line"] for each in json.loads(done.out)["rows"]] == [2]


# Explanations.


def test_codes_are_explained_by_code_and_name(home: Path) -> None:
    done = check(home, "--explain", "R104")
    assert (done.status, done.out.decode().splitlines()[0]) == (0, "R104 score-nan (error)")
    assert check(home, "--explain", "Score-NaN") == check(home, "--explain", "r104") == done
    both = check(home, "--explain", "queries-interleaved").out
    assert both == check(home, "--explain", "R122").out + b"\n\n" + check(home, "--explain", "Q315").out


def test_all_codes_are_explained(home: Path) -> None:
    out = check(home, "--explain", "all").out.decode()
    assert [code for code in CODES if f"{code} {CODES[code].name} ({CODES[code].severity})\n" not in out] == []


# Mending.


def test_a_mended_copy_is_written_and_told(home: Path) -> None:
    done = check(home, "twice.txt", "--fix", "mended.txt")
    assert (home / "mended.txt").read_text() == "1 Q0 a 1 2.5 t\n2 Q0 c 1 3 t\n"
    assert (home / "twice.txt").read_text() == TWICE
    assert done.status == 0
    assert done.err == b"note: mended.txt: 1 exact duplicate was removed (line 2)\n"
    assert b"twice.txt:2:6: error R120: " in done.out


def test_a_file_with_nothing_to_mend_is_copied(home: Path) -> None:
    done = check(home, "clean.txt", "--fix", "copy.txt")
    assert (home / "copy.txt").read_bytes() == CLEAN.encode()
    assert (done.status, done.err) == (0, b"note: copy.txt: nothing to fix, so this is a copy\n")


def test_copies_of_several_files_go_into_a_folder(home: Path) -> None:
    done = check(home, "twice.txt", "ranks.txt", "--fix", "out/mended")
    assert done.status == 0
    assert (home / "out" / "mended" / "twice.txt").read_text() == "1 Q0 a 1 2.5 t\n2 Q0 c 1 3 t\n"
    assert (home / "out" / "mended" / "ranks.txt").read_bytes() == CLEAN.encode()


def test_standard_input_is_mended(home: Path) -> None:
    assert check(home, "-", "--fix", "mended.txt", stdin=TWICE.encode()).status == 0
    assert (home / "mended.txt").read_text() == "1 Q0 a 1 2.5 t\n2 Q0 c 1 3 t\n"


def test_a_file_is_mended_in_place(home: Path) -> None:
    done = check(home, "ranks.txt", "--in-place")
    assert (home / "ranks.txt").read_bytes() == CLEAN.encode()
    assert done.err == b"note: ranks.txt: ranks of 2 queries were numbered from 1 (first: line 1)\n"


def test_a_file_with_nothing_to_mend_stays_the_file_it_is(home: Path) -> None:
    before = (home / "clean.txt").stat()
    assert check(home, "clean.txt", "--in-place").err == b"note: clean.txt: nothing to fix\n"
    after = (home / "clean.txt").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert len(list(home.iterdir())) == 5


@pytest.mark.parametrize("target", ["twice.txt", "./twice.txt", "qrels.txt"])
def test_what_is_read_is_not_written_over(home: Path, target: str) -> None:
    done = check(home, "twice.txt", "--qrels", "qrels.txt", "--fix", target)
    said = f"{target}: this file is an input, and would be overwritten. Name another file.\n"
    assert (done.status, done.out, done.err.decode()) == (1, b"", said)


def test_findings_and_a_copy_do_not_go_into_one_file(home: Path) -> None:
    done = check(home, "twice.txt", "--fix", "out.txt", "-o", "out.txt")
    assert done.err == b"out.txt: two outputs would go to this file. Name another file.\n"
    assert not (home / "out.txt").exists()


def test_two_files_of_one_name_do_not_go_into_one_folder(home: Path) -> None:
    (home / "sub").mkdir()
    (home / "sub" / "twice.txt").write_text(TWICE)
    done = check(home, "twice.txt", "sub/twice.txt", "--fix", "out")
    assert done.err == b"out/twice.txt: two outputs would go to this file. Name another file.\n"


def test_several_copies_need_a_folder(home: Path) -> None:
    done = check(home, "twice.txt", "ranks.txt", "--fix", "clean.txt")
    said = b"clean.txt: copies of several files need a folder, and this is not one. Name a folder.\n"
    assert (done.status, done.err) == (1, said)


def test_what_cannot_be_mended_leaves_no_file_and_the_others_are_mended(home: Path) -> None:
    (home / "empty.txt").write_bytes(b"")
    done = check(home, "empty.txt", "twice.txt", "--fix", "out")
    assert done.status == 1
    first, *_ = done.err.decode().splitlines()
    assert first == "treceval: empty.txt: it has no lines that could be fixed, so nothing was written."
    assert [path.name for path in (home / "out").iterdir()] == ["twice.txt"]


# Usage.


MEANINGLESS = [
    "", "--select R999 clean.txt", "--ignore= clean.txt", "--ignore , clean.txt", "--explain score-nam",
    "--explain R104 clean.txt", "--explain R104 --strict", "--explain R104 --scale 0-3", "--explain R104 --fix out.txt",
    "--explain R104 --max 100", "--explain R104 --format json", "--scale 3 clean.txt", "--scale 3-0 clean.txt",
    "- --qrels -", "clean.txt --fix a --in-place", "--qrels qrels.txt --fix a", "- --in-place", "clean.txt --fix -",
    "clean.txt - --fix a",
]  # fmt: skip


def test_a_command_line_that_means_nothing_is_refused(home: Path, snapshot: SnapshotAssertion) -> None:
    assert {line: usage(home, *line.split()) for line in MEANINGLESS} == snapshot


@pytest.mark.parametrize(("text", "scale"), [("0-3", (0, 3)), ("-2-4", (-2, 4)), ("-2..-1", (-2, -1)), ("0:1", (0, 1))])
def test_a_scale_is_two_labels(text: str, scale: tuple[int, int]) -> None:
    assert command._labels(text) == scale


def test_the_command_names_the_formats_and_kinds_that_there_are() -> None:
    (option,) = (each for each in command.check.params if "--format" in each.opts)
    assert list(option.type.choices) == list(CHECK_FORMATS)
    (option,) = (each for each in command.check.params if "--as" in each.opts)
    assert list(option.type.choices)[: len(KINDS)] == list(KINDS)
