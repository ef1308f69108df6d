"""What is imported before the arguments are understood: help and refusals need no numpy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from treceval_py.cli import commands

HEAVY = {"numpy", "scipy", "pandas", "yaml", "rich", "csv", "tempfile", "gzip"}

CODE = "import sys; from treceval_py.cli.commands import run; status = run(sys.argv[1:]); print(status, *sys.modules)"


def started(arguments: list[str], folder: Path) -> tuple[str, str, set[str]]:
    """Call the command in a process of its own; return its status, its messages, and the modules that it imported."""
    command = [sys.executable, "-c", CODE, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=False)
    status, *modules = done.stdout.splitlines()[-1].split()
    return status, done.stderr, set(modules)


@pytest.mark.both_readers
@pytest.mark.parametrize("name", [[], *([name] for name in commands.COMMANDS)], ids=" ".join)
def test_help_needs_no_numpy(name: list[str], tmp_path: Path) -> None:
    status, said, modules = started([*name, "--help"], tmp_path)
    assert (status, said) == ("0", "")
    assert modules.isdisjoint(HEAVY)


@pytest.mark.parametrize("program", [[], ["score"]], ids=" ".join)
def test_the_version_needs_no_numpy(program: list[str], tmp_path: Path) -> None:
    status, said, modules = started([*program, "--version"], tmp_path)
    assert (status, said) == ("0", "")
    assert modules.isdisjoint(HEAVY)


REFUSED = {
    "--nonsense": "No such option",
    "compare --nonsense": "No such option",
    "check --nonsense": "No such option",
    "": "Missing arguments 'QRELS RUN'.",
    "-": "Missing argument 'RUN [RUN…]'.",
    "convert in": "Missing argument 'OUT'.",
    "compare": "Missing argument 'QRELS'.",
    "gate": "Missing argument 'QRELS'.",
    "report -o page.html": "Missing argument 'QRELS'.",
    "grade": "Missing argument 'QRELS'.",
    "board qrels": "Missing argument 'RUNS…'.",
    "fuse a b": "Missing option '-o'",
    "check": "Name a FILE to check",
    "--format nosuch qrels run": "'nosuch' is not one of",
    "-R nosuch qrels run": "'nosuch' is not one of",
    "fuse a b -o c --method nosuch": "'nosuch' is not one of",
    "--digits x qrels run": "'x' is not a whole number.",
    "--threads 0 qrels run": "0 is not 1 or more.",
    "agree a b --alpha x": "'x' is not a number",
    "compare a b c --resamples 0": "0 is not 1 or more.",
    "--ties --signature qrels run": "remove --signature.",
    "retrieve x -o y --bm25 1": "is not K1,B",
}


@pytest.mark.both_readers
@pytest.mark.parametrize("line", REFUSED)
def test_a_refusal_needs_no_numpy(line: str, tmp_path: Path) -> None:
    for name in ("qrels", "run"):
        (tmp_path / name).touch()
    status, said, modules = started(line.split(), tmp_path)
    assert status == "2"
    assert REFUSED[line] in said
    assert modules.isdisjoint(HEAVY)


@pytest.mark.both_readers
@pytest.mark.parametrize(("name", "expected"), [("compare", "0"), ("gate --margin 0.01", "4")])
def test_two_runs_are_compared_without_the_costly_parts_of_scipy(name: str, expected: str, tmp_path: Path) -> None:
    qids = range(30)
    (tmp_path / "qrels").write_text("".join(f"{qid} 0 a 1\n" for qid in qids))
    for run in ("one", "other"):
        lines = (f"{qid} Q0 {'a' if qid % len(run) else 'b'} 1 1 {run}\n" for qid in qids)
        (tmp_path / run).write_text("".join(lines))
    status, said, modules = started([*name.split(), "qrels", "one", "other"], tmp_path)
    assert (status, said) == (expected, "")
    assert "scipy.special" in modules
    assert modules.isdisjoint({"scipy.stats", "scipy.optimize"})


def test_what_needs_numpy_has_it(tmp_path: Path) -> None:
    status, said, modules = started(["profiles", "ranx"], tmp_path)
    assert (status, said) == ("0", "")
    assert "numpy" in modules
