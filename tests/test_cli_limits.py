"""Whatever is given, a message is one line of bounded length, and no warning of NumPy is written."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from command import LINES, Done, treceval

LONG = "x" * 10_000
ODD = "a\nb\x1b[31m\x01\udcff" * 1_000
QRELS = "1 0 a 1\n1 0 b 0\n2 0 c 2\n"
RUN = "1 Q0 b 1 3.5 tag\n1 Q0 a 2 2.5 tag\n2 Q0 c 1 0.25 tag\n"
LONGEST = 640
"""Characters of a message, with what stands before and after it."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "run").write_text(RUN)
    (tmp_path / "other").write_text(RUN.replace("tag", "other"))
    (tmp_path / "nothing.py").write_text("x = 1\n")
    return tmp_path


def lines(done: Done) -> list[str]:
    """Return the lines on standard error, each of which can be printed and is not long."""
    found = done.err.decode().splitlines()
    for line in found:
        assert line.isprintable()
        assert len(line) <= LONGEST, f"{len(line)}: {line[:300]}"
    return found


COMMANDS = LINES["long"]


@pytest.mark.parametrize("text", [LONG, ODD, LONG.replace("x", "1")], ids=["long", "odd", "digits"])
def test_a_long_argument_is_shortened(text: str, folder: Path) -> None:
    for command in COMMANDS:
        done = treceval([each.replace("{}", text) for each in command.split(" ")], folder=folder)
        assert done.status or command.startswith("-l"), command
        assert len(lines(done)) <= 3, command


FILES = {
    "an id": (QRELS, f"1 Q0 {LONG * 10} 1 3.5 t\n" * 2),
    "a query": (QRELS, f"{LONG * 10} Q0 a 1 3.5 t\n" * 2),
    "a score": (QRELS, f"1 Q0 a 1 {LONG * 10} t\n"),
    "a grade": (f"1 0 a {LONG * 10}\n", RUN),
    "a line": (QRELS, LONG * 10 + "\n"),
    "odd text": (QRELS, "1 Q0 \x1b[31m\x07 1 \x1b[31m t\n"),
    "a judged document": (f"1 0 {LONG * 10} 1\n" * 2, RUN),
    "other queries": ("".join(f"{LONG[:1000]}{each} 0 a 1\n" for each in range(100)), RUN),
}


@pytest.mark.parametrize("name", FILES)
def test_a_long_field_is_shortened(name: str, folder: Path) -> None:
    for file, text in zip(("qrels", "run"), FILES[name], strict=True):
        (folder / file).write_text(text)
    for command in ("-m map qrels run", "compare qrels run other -m map", "check run --qrels qrels"):
        lines(treceval(command.split(" "), folder=folder))
    lines(treceval(["explain", "qrels", "run", "-m", "map"], folder=folder))


def test_many_unknown_names_are_one_line(folder: Path) -> None:
    names = [each for number in range(2_000) for each in ("-m", f"nosuch{number}")]
    assert len(lines(treceval([*names, "qrels", "run"], folder=folder))) == 1


EXTREME = LINES["extreme"]


@pytest.mark.parametrize("command", ["", "compare", "explain", "gate"])
def test_extreme_parameters_give_a_value_or_a_refusal(command: str, folder: Path) -> None:
    for measure in EXTREME:
        files = ["qrels", "run"] + ["other"] * (command in ("compare", "gate"))
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            done = treceval([*command.split(), "-m", measure, *files], folder=folder)
        lines(done)
        if done.status == 0 and not command:
            assert b"nan" not in done.out, measure
            assert b"inf" not in done.out, measure


def refused(*arguments: str, folder: Path) -> str:
    done = treceval(arguments, folder=folder)
    assert done.status in (1, 2)
    assert done.out == b""
    (line,) = lines(done)
    return line


def test_a_value_that_is_too_large_is_refused(folder: Path) -> None:
    assert refused("-m", "utility.1e308,1e308,1e308,1e308", "qrels", "run", folder=folder) == (
        "treceval: utility_1e308,1e308,1e308,1e308 is too large for a 64-bit float. Use smaller numbers as its parameters."
    )


def test_a_large_multiple_of_r_is_a_large_rank(folder: Path) -> None:
    done = treceval(["-m", "Rprec_mult.1e308", "qrels", "run"], folder=folder)
    assert done.out == b"Rprec_mult_10000000   \tall\t0.0000\n"


def test_parameters_beyond_their_range_are_refused(folder: Path) -> None:
    for measure in ("iprec_at_recall.2", "iprec_at_recall.0.5,1.01", "11pt_avg.0.5,2", "IPrec@2"):
        assert "between 0 and 1, not" in refused("-m", measure, "qrels", "run", folder=folder)
    for measure in ("ndcg.1=1e308", "nDCG(gains={1:2e100})", "dcg.2=1e101", "dcg.2=-1"):
        assert "gains must be 0 to 1e100, not {" in refused("-m", measure, "qrels", "run", folder=folder)
    for measure in ("IPrec@1", "IPrec@0", "dcg.2=1e100", "dcg.2=0"):
        assert treceval(["-m", measure, "qrels", "run"], folder=folder).status == 0


@pytest.mark.parametrize("plugin", ["nothing.py", "json"])
def test_a_plugin_that_declares_nothing_is_refused(plugin: str, folder: Path) -> None:
    assert refused("--plugin", plugin, "-m", "map", "qrels", "run", folder=folder) == (
        f"treceval: plugin '{plugin}' declares no measure. "
        "Call treceval_py.measuring.declare(function, name) in it for each of your measures."
    )


def test_norms_that_are_not_finite_are_refused(folder: Path) -> None:
    for norm in ("inf 1", "0.5 inf", "0.5 -1", "-inf 0"):
        (folder / "norms").write_text(f"1 P_5 0.5 0.25\n1 map {norm}\n2 map 0.5 0.25\n")
        assert refused("-m", "map", "-Z", "norms", "qrels", "run", folder=folder) == (
            "norms:2: the mean must be finite, and the deviation finite and 0 or more, not "
            f"{norm.replace(' ', ' and ')}. Compute them again, from finite values."
        )
    (folder / "norms").write_text("1 map 0.5 0\n2 map -0.5 1e-300\n")
    assert treceval(["-m", "map", "-Z", "norms", "qrels", "run"], folder=folder).status == 0


def test_a_norm_that_is_nan_makes_z_scores_that_are_nan_and_says_so(folder: Path) -> None:
    # trec_eval 9.0.8's own norms for set_F are nan, and so is what it prints with them.
    (folder / "norms").write_text("1 map nan nan\n2 map 0.5 nan\n3 zz 0 0\n")
    done = treceval(["-q", "-m", "map", "-Z", "norms", "qrels", "run"], folder=folder)
    assert done.out == b"".join(b"Zmap                   \t%s\t   nan\n" % qid for qid in (b"1", b"2", b"all"))
    assert lines(done) == [
        (
            "note: norms:1: the mean or deviation of map is nan, and 1 more like it; z-scores made with it are nan. "
            "Leave out such lines to get -1000000."
        )
    ]


@pytest.mark.parametrize("command", ["", "retrieve"])
def test_help_that_cannot_be_printed_says_so(command: str, folder: Path) -> None:
    script = f'"{sys.executable}" -m treceval_py {command} --help >&-'
    done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (1, b"treceval: standard output is closed. Redirect it to a file.\n")


def test_extreme_scores_write_no_warning(folder: Path) -> None:
    run = "".join(f"{query} Q0 d{each} 1 {1.7e308 / (each + 1)} t\n" for query in range(4) for each in range(3))
    (folder / "large").write_text(run)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert treceval(["fuse", "large", "run", "-o", "out", "--method", "rrf"], folder=folder).status == 0
