"""How the program ends before it is done: by a signal or out of memory, with nothing left behind and a clear status."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy._core._exceptions import _ArrayMemoryError  # type: ignore[import-not-found,unused-ignore]

from treceval_py.cli import commands
from treceval_py.cli.commands import run

posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")

DATA = Path(__file__).resolve().parent.parent / "data"

SIGNALS = ("SIGTERM", "SIGHUP", "SIGINT", "SIGPIPE")

RAISED_WHILE_WRITING = """\
import os, signal, sys, time
from treceval_py.io import target
lock = target.lock

def at_the_worst_moment(stream):  # the temporary file is there, and nobody who would remove it knows of it yet
    locked = lock(stream)
    {act}
    return locked

target.lock = at_the_worst_moment
from treceval_py.cli.main import main
main()
"""


def measures_written(folder: Path, act: str, ignored: str = "") -> tuple[int, bytes, list[str]]:
    """Write a file by the command, act when its temporary file is there, and return status, errors and names."""

    def begin() -> None:
        for name in SIGNALS:
            signal.signal(getattr(signal, name), signal.SIG_IGN if name == ignored else signal.SIG_DFL)

    done = subprocess.run(
        [sys.executable, "-c", RAISED_WHILE_WRITING.format(act=act), "profiles", "-o", "out.txt"],
        cwd=folder, capture_output=True, timeout=60, preexec_fn=begin,
    )  # fmt: skip
    return done.returncode, done.stderr, sorted(os.listdir(folder))


@posix
@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_ends_the_program_with_its_status_and_nothing_left(name: str, tmp_path: Path) -> None:
    ended = measures_written(tmp_path, f"os.kill(os.getpid(), signal.{name})")
    assert ended == (-getattr(signal, name), b"", [])


@posix
@pytest.mark.parametrize("name", ["SIGHUP", "SIGINT"])
def test_a_signal_that_is_ignored_stays_so(name: str, tmp_path: Path) -> None:
    ended = measures_written(tmp_path, f"os.kill(os.getpid(), signal.{name})", ignored=name)
    assert ended == (0, b"written: out.txt\n", ["out.txt"])


@posix
def test_a_signal_that_something_swallows_still_ends_the_program(tmp_path: Path) -> None:
    swallowing = "try: os.kill(os.getpid(), signal.SIGTERM)\n    except BaseException: pass"
    status, _, names = measures_written(tmp_path, swallowing)
    assert (status, names) == (-signal.SIGTERM, ["out.txt"])  # which was finished


@posix
@pytest.mark.parametrize(("seconds", "ended"), [(0.9, "unwound"), (1.1, "at once")])
def test_a_second_signal_after_a_second_ends_the_program_at_once(seconds: float, ended: str, tmp_path: Path) -> None:
    later = f"clock = time.monotonic; time.monotonic = lambda: clock() + {seconds}; os.kill(os.getpid(), signal.SIGINT)"
    act = f"try: os.kill(os.getpid(), signal.SIGTERM)\n    finally: {later}; os.write(2, b'unwound')"
    expected = b"unwound" if ended == "unwound" else b""
    assert measures_written(tmp_path, act) == (-signal.SIGTERM, expected, [])


@posix
def test_the_library_leaves_signals_alone(tmp_path: Path) -> None:
    source = (
        "import signal\n"
        "before = list(map(signal.getsignal, range(1, 32)))\n"
        "import treceval_py as te\n"
        "te.evaluate({'1': {'a': 1}}, {'1': {'a': 1.0}}, ['map']).save('out.json')\n"
        "assert list(map(signal.getsignal, range(1, 32))) == before\n"
    )
    subprocess.run([sys.executable, "-c", source], cwd=tmp_path, check=True)


# --- errors of the system ---

MEMORY = "treceval: out of memory. Use a machine with more, or raise the limit (ulimit -v)."
THREADS = "treceval: no thread can be started. Raise the limit of memory (ulimit -v) or of processes (ulimit -u)."

ERRORS: dict[str, tuple[Callable[[], BaseException], str]] = {
    "Python": (MemoryError, MEMORY),
    "numpy": (lambda: _ArrayMemoryError((1 << 50,), np.dtype("u1")), MEMORY),
    "the system": (lambda: OSError(12, "Cannot allocate memory"), MEMORY),
    "a library": (lambda: ImportError("x.so: failed to map segment from shared object"), MEMORY),
    "threads": (lambda: RuntimeError("can't start new thread"), THREADS),
    "another error of the system": (lambda: OSError(24, "Too many open files"), "treceval: Too many open files."),
    "of a file": (lambda: OSError(13, "Permission denied", "a\tb"), "a\\tb: Permission denied."),
}


@pytest.mark.parametrize("name", ERRORS)
def test_what_the_system_lacks_is_one_line(name: str, monkeypatch: pytest.MonkeyPatch, capfdbinary: object) -> None:
    error, line = ERRORS[name]
    monkeypatch.setattr(commands, "load_numpy", lambda: (_ for _ in ()).throw(error()))
    assert run(["measures"]) == 1
    said = capfdbinary.readouterr()  # type: ignore[attr-defined]
    assert (said.out, said.err.decode()) == (b"", line + "\n")


def test_pyarrow_s_lack_of_memory_is_python_s() -> None:
    assert issubclass(pytest.importorskip("pyarrow").ArrowMemoryError, MemoryError)


@pytest.mark.parametrize("error", [RuntimeError("another"), ImportError("no module"), KeyError("x")])
def test_an_error_of_the_program_is_not_hidden(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "load_numpy", lambda: (_ for _ in ()).throw(error))
    with pytest.raises(type(error), match=str(error.args[0])):
        run(["measures"])


# --- the commands that write, and those that need memory ---

WRITING = {
    "score": "-m all_trec -q qrels.tsv big.txt -o out.txt",
    "score --format": "-m map -q qrels.tsv big.txt --format json -o out.json",
    "compare": "qrels.tsv a.txt b.txt c.txt -o out.txt",
    "report": "qrels.tsv a.txt b.txt -o out.html",
    "board": "qrels.tsv runs -o out.txt",
    "check": "big.txt --fix out.txt",
    "explain": "qrels.tsv a.txt -m map -o out.txt",
    "convert": "big.txt out.jsonl",
    "fuse": "big.txt other.txt -o out.txt",
    "agree": "qrels.tsv judge.tsv -o out.txt",
    "gate": "qrels.tsv a.txt b.txt -o out.txt",
    "measures": "-o out.txt",
    "grade": "qrels.tsv in -o out --workers 2",
    "grade --template": "--template -o out",
}
"""A command line of each command that writes files."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with judgments, runs, two of them long, and submissions."""
    path = tmp_path_factory.mktemp("ending")
    for name in ("qrels.tsv", "judge.tsv"):
        (path / name).write_bytes((DATA / name).read_bytes())
    (path / "runs").mkdir()
    for name, run_name in (("a", "bm25"), ("b", "jaccard"), ("c", "minilm")):
        content = (DATA / "runs" / f"{run_name}.txt").read_bytes()
        for place in (path / f"{name}.txt", path / "runs" / f"{name}.txt", path / "in" / name / "run.txt"):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
    for name in ("big", "other"):
        lines = (f"{query} Q0 d{rank} {rank} {1000 - rank} t\n" for query in range(100) for rank in range(500))
        (path / f"{name}.txt").write_text("".join(lines))
    return path


def words(command: str, module: str = "treceval_py") -> list[str]:
    return [sys.executable, "-m", module, command.split()[0], *WRITING[command].split()]


def there(folder: Path) -> set[str]:
    """Return the files and folders there."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def children_of(process: int) -> list[int]:
    threads = Path(f"/proc/{process}/task").iterdir()
    return [int(child) for thread in threads for child in (thread / "children").read_text().split()]


def lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def clean(folder: Path) -> None:
    for path in (*folder.glob("out*"), *folder.glob(".out*")):
        subprocess.run(["rm", "-rf", path], check=True)


def moments(count: int, seconds: float) -> Iterator[tuple[str, float]]:
    """Yield signals at random moments of a run that takes so long, the same in every test."""
    chance = random.Random(1)
    for name in SIGNALS:
        for _ in range(count):
            yield name, chance.uniform(0, seconds)


MOMENTS = int(os.environ.get("TRECEVAL_TEST_MOMENTS", "2"))
"""Moments for each signal and command."""


@posix
@pytest.mark.slow
@pytest.mark.parametrize("command", WRITING)
def test_signals_at_random_moments_leave_nothing(command: str, folder: Path) -> None:
    clean(folder)
    before = there(folder)
    begun = time.monotonic()
    subprocess.run(words(command), cwd=folder, capture_output=True, check=False, timeout=120)
    seconds = time.monotonic() - begun
    whole = there(folder)
    assert whole - before
    for name, moment in moments(MOMENTS, seconds):
        clean(folder)
        process = subprocess.Popen(words(command), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(moment)
        number = getattr(signal, name)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        what = f"{command}, {name} after {moment:.3f} of {seconds:.3f} s: {process.returncode}, {err!r}"
        # Until Python has set them up, SIGINT is an exception of its own, and SIGPIPE is ignored.
        early = b"Traceback" in err or moment < 0.1
        assert process.returncode == -number or (process.returncode in (0, 3) and out is not None) or early, what
        assert not (there(folder) - whole), what  # among them no temporary file
    clean(folder)


MEMORY_NEEDED = ("score", "compare", "report", "board", "check", "explain", "convert", "fuse", "agree", "gate", "grade")


@pytest.mark.skipif(sys.platform != "linux", reason="address spaces are limited on Linux")
@pytest.mark.slow
@pytest.mark.parametrize("command", MEMORY_NEEDED)
def test_too_little_memory_is_one_line(command: str, folder: Path) -> None:
    import resource

    for megabytes in (60, 100, 130, 160, 190, 220, 250, 300, 350, 400):
        clean(folder)

        def limit(size: int = megabytes << 20) -> None:
            resource.setrlimit(resource.RLIMIT_AS, (size, size))

        done = subprocess.run(words(command), cwd=folder, capture_output=True, timeout=60, preexec_fn=limit)
        if done.returncode not in (0, 3):  # 3: of a gate
            assert (megabytes, done.returncode, done.stderr.count(b"\n")) == (megabytes, 1, 1), done.stderr.decode()
        # OpenBLAS ends the program itself; the next one that writes the file removes what is left.
        assert done.stderr.startswith(b"OpenBLAS") or not list(folder.rglob(".*.treceval[0-9]"))
    clean(folder)


# --- grading ---


@posix
def test_a_folder_is_graded_by_one_program_at_a_time(folder: Path, tmp_path: Path) -> None:
    from treceval_py.errors import OutputError
    from treceval_py.grading.grading import grade
    from treceval_py.io.target import locked

    arguments = (folder / "qrels.tsv", folder / "in", tmp_path / "out")
    held = (
        f"the folder is {tmp_path / 'out'}: another treceval command is using this folder (process {os.getpid()}). "
        "Wait for it, or use another folder."
    ).removeprefix("the folder is ")
    with locked(str(tmp_path / "out"), OutputError, "folder", ".grades/lock"), pytest.raises(OutputError) as caught:
        grade(*arguments, workers=1)
    assert str(caught.value) == held


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
@pytest.mark.slow
def test_processes_that_grade_end_with_a_killed_program(folder: Path, tmp_path: Path) -> None:
    process = subprocess.Popen([*words("grade")[:-4], "-o", tmp_path / "out", "--workers", "2"], cwd=folder)
    while not (children := children_of(process.pid)):
        time.sleep(0.01)
    process.kill()
    process.wait(60)
    until = time.monotonic() + 60
    while any(map(lives, children)):
        assert time.monotonic() < until
        time.sleep(0.01)
