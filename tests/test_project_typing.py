"""What type checkers and editors see: names that do not exist are errors, and scripts of users are clean when strict."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parent.parent

SCRIPT = """
import treceval_py as te
from treceval_py import Results, evaluate

qrels = {"q1": {"d1": 1}, "q2": {"d2": 2}}
run = {"q1": {"d1": 1.0}, "q2": {"d3": 1.0, "d2": 0.5}}
other = {"q1": {"d1": 1.0}, "q2": {"d2": 1.0, "d3": 0.5}}

results: Results = evaluate(qrels, run, ["map", "nDCG@10"], profile="ranx", complete=True)
mean: float = results.mean["map"]
for qid, row in results.items():
    name: str = qid
    value: float = row["nDCG@10"]
missing: tuple[str, ...] = results.missing
evaluator = te.Evaluator(qrels, te.Scoring(["map"]))
scores: list[float] = [evaluator.score(each).mean["map"] for each in (run, other)]
compared: te.comparing.Comparison = te.compare(runs=[run, other], qrels=qrels, measures=["map"])
explained: te.explaining.Explanation = te.explain(qrels, run, claims=["AP=0.5"])
causes: list[str] = [match.variant.name for each in explained.measures for match in each.matches]
title: str = te.scoring.PROFILES["ranx"].title
ranges: te.ranges.Sensitivity = te.ranges.assess(qrels, run, "map")
table: te.Run = te.read_run("run.txt")
te.write_run(table, "copy.txt")
by_query: dict[str, dict[str, float]] = te.RelevanceEvaluator(qrels, {"map"}).evaluate(run)


def mine(judged: te.judging.JudgedRun, *, level: int = 1) -> te.judging.Hits:
    return judged.hits


try:
    te.evaluate("qrels.txt", "run.txt")
except te.errors.InputError as error:
    raise SystemExit(str(error)) from None
"""

MISTAKES = """
import treceval_py as te
from treceval_py import evalute  # here
from treceval_py.retrieval import jacard  # here
from treceval_py import grade  # here

qrels = {"q1": {"d1": 1}}
run = {"q1": {"d1": 1.0}}
te.evalute(qrels, run)  # here
te.Reslts  # here
te.grading.grade_corse  # here
te.DataError  # here
te.evaluate(qrels, run, depht=3)  # here
te.evaluate(qrels, run, level="2")  # here
te.evaluate(qrels)  # here
results = te.evaluate(qrels, run)
results.men  # here
number: str = results.mean["map"]  # here
te.explain(qrels, run).measures[0].mached  # here
te.Evaluator(qrels).scor(run)  # here
"""


def lines_marked(script: str) -> list[int]:
    return [number for number, line in enumerate(script.splitlines(), 1) if line.endswith("# here")]


@pytest.mark.slow
def test_mypy_passes_a_script_that_is_right_and_finds_each_misspelt_name(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    scripts = {"right.py": SCRIPT, "wrong.py": MISTAKES}
    for name, script in scripts.items():
        (tmp_path / name).write_text(script)
    done = subprocess.run(
        # The settings are those of `make types`, and so is the cache: what either has read, the other need not read again.
        [
            sys.executable,
            "-m",
            "mypy",
            "--config-file",
            HOME / "pyproject.toml",
            "--cache-dir",
            HOME / ".mypy_cache",
            *scripts,
        ],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(HOME)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    places = {(file, int(line)) for file, line, *_ in (each.split(":") for each in done.stdout.splitlines()[:-1])}
    assert places == {(name, line) for name, script in scripts.items() for line in lines_marked(script)}, done.stdout


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright is not installed")
def test_pyright_says_the_same(tmp_path: Path) -> None:
    for script in (SCRIPT, MISTAKES):
        (tmp_path / "script.py").write_text(script)
        (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(HOME)]}))
        done = subprocess.run(
            ["pyright", "--outputjson", "--pythonpath", sys.executable, "script.py"],
            cwd=tmp_path,
            capture_output=True,
            timeout=300,
            check=False,
        )
        said = json.loads(done.stdout)["generalDiagnostics"]
        wrong = {each["range"]["start"]["line"] + 1 for each in said if each["severity"] == "error"}
        assert sorted(wrong) == lines_marked(script), said
