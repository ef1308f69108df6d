"""The command under trec_eval's name: trec_eval 10's own test byte for byte, its options, its exit statuses.

The commands are those of ``quicktest`` in trec_eval 10.0's Makefile, with the outputs that are part of trec_eval. Its data
is not part of this project: those tests run where the folder ``../shared/data`` is. Statuses are what the program, built
from the tag v10.0 by its Makefile, ended with for the same files.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command import LINES, Done, command
from shared import SHARED, needs_shared

from treceval_py.cli.trec_eval import trec_eval as program

DATA = SHARED / "trec_eval-test"

QUICKTEST = LINES["quicktest"]

QRELS = "1 0 a 1\n1 0 b 0\n2 0 c 2\n"
RUN = "1 Q0 b 1 3.5 tag\n1 Q0 a 2 2.5 tag\n2 Q0 c 1 0.25 tag\n"
FILES = {
    "qrels": QRELS,
    "run": RUN,
    "twice": RUN + "2 Q0 c 2 0.5 tag\n",
    "partial": "1 Q0 b 1 3.5 tag\n",
    "others": "3 Q0 b 1 3.5 tag\n",
    "short": RUN + "3 Q0 a\n",
    "empty": "",
    "norms": "1 map 0.5 0.25\n2 map 0.5 0.25\n3 zz 0 0\n",
    "short-norms": "1 map\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def trec_eval(*arguments: str, folder: Path) -> Done:
    return command(arguments, program, folder=folder)


@needs_shared
def test_trec_evals_own_test_passes() -> None:
    assert len(QUICKTEST) == 15
    for line in QUICKTEST:
        arguments, _, expected = line.partition(" > ")
        assert trec_eval(*arguments.split(), folder=DATA) == (0, (DATA / expected).read_bytes(), b""), line


def by_module(*arguments: str, folder: Path) -> Done:
    return started([sys.executable, "-m", "treceval_py.trec_eval"], arguments, folder)


def by_link(*arguments: str, folder: Path) -> Done:
    script = folder / "treceval.py"
    script.write_text(f"#!{sys.executable}\nfrom treceval_py.cli.main import main\nmain()\n")
    script.chmod(0o755)
    link = folder / "trec_eval"
    link.unlink(missing_ok=True)
    link.symlink_to(script)
    return started([str(link)], arguments, folder)


def started(start: list[str], arguments: tuple[str, ...], folder: Path) -> Done:
    done = subprocess.run([*start, *arguments], cwd=folder, capture_output=True, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.mark.skipif(os.name != "posix", reason="links and the first line of scripts are POSIX's")
@pytest.mark.parametrize("start", [by_module, by_link])
def test_the_name_decides(start: object, folder: Path) -> None:
    assert callable(start)
    # trec_eval -m map qrels run; the last line of trec_eval qrels run
    assert start("-qm", "map", "qrels", "run", folder=folder) == (
        0,
        b"".join(b"map                   \t%s\n" % row for row in (b"1\t0.5000", b"2\t1.0000", b"all\t0.7500")),
        b"",
    )
    done = start("qrels", "run", folder=folder)
    assert done.out.endswith(b"P_1000                \tall\t0.0010\n")
    assert done.out.count(b"\n") == 30
    assert start("-x", folder=folder).status == 1


STATUSES = LINES["statuses"]


def test_statuses_are_trec_evals(folder: Path) -> None:
    for line in STATUSES:
        status, *arguments = line.split(" ")
        done = trec_eval(*arguments, folder=folder)
        assert done.status == int(status), (line, done)
        assert done.err.count(b"\n") == (done.status != 0), line
        assert done.status == 0 or done.out == b"", line


# What is refused here, and a missing query that is left out, although trec_eval ends otherwise: docs/why-numbers-differ.md.
DIFFERENT = {
    "-m map qrels partial": 0,  # 4 in trec_eval 10.0; 0 in 9.0.8
    "-m map.5 qrels run": 2,  # 0
    "-m P.5x qrels run": 2,  # 0
    "-m utility.1,2 qrels run": 2,  # 4
    "-l x qrels run": 1,  # 0
    "-D 1.302 qrels run": 1,  # 7
}


def test_deliberate_differences(folder: Path) -> None:
    assert {each: trec_eval(*each.split(), folder=folder).status for each in DIFFERENT} == DIFFERENT


def test_notes_are_not_written(folder: Path) -> None:
    arguments = ["-m", "map", "qrels", "partial"]
    assert trec_eval(*arguments, folder=folder).err == b""
    assert command(arguments, folder=folder).err.startswith(b"note: ")


def test_cutoffs_with_decimals_are_truncated(folder: Path) -> None:
    # trec_eval -m P.2.9,1 qrels run, and atol; other junk is refused
    done = trec_eval("-m", "P.2.9,1", "qrels", "run", folder=folder)
    assert done.out == b"P_1                   \tall\t0.5000\nP_2                   \tall\t0.5000\n"
    assert trec_eval("-m", "P.2.9e1", "qrels", "run", folder=folder).status == 2


def test_help_and_version(folder: Path) -> None:
    plain, explained = (trec_eval("-h", *more, folder=folder) for more in ([], ["-m", "map", "-m", "P.5"]))
    assert plain.out.startswith(b"Usage: trec_eval [OPTIONS] QRELS RUN\n")
    assert explained.out.startswith(plain.out)
    assert b"\nmap = AP" in explained.out
    assert b"\nP = P@k" in explained.out
    assert b"[official]" in plain.out
    done = trec_eval("--version", folder=folder)
    assert (done.status, done.out) == (0, b"")
    assert done.err.startswith(b"trec_eval version 10.0 (treceval_py ")
    assert done.err.count(b"\n") == 1


def test_messages_name_the_program(folder: Path) -> None:
    done = trec_eval("-m", "map", "qrels", folder=folder)
    assert done.err == b"trec_eval: Give two files, QRELS and RUN, not 1. See 'trec_eval --help'.\n"
    done = trec_eval("-m", "bad", "qrels", "run", folder=folder)
    assert done.err.startswith(b"trec_eval: ")


def test_the_last_of_a_repeated_option_counts_as_in_getopt(folder: Path) -> None:
    # trec_eval 10.0 assigns each in turn in its loop over getopt_long: the first document of query 1 is not relevant.
    last = trec_eval("-M", "2", "-M", "1", "-m", "map", "qrels", "run", folder=folder)
    assert last.out == b"map                   \tall\t0.5000\n"  # (0 + 1) / 2
