"""The hook of pre-commit and the actions for GitHub: their own commands are run, in the environment that GitHub makes.

GitHub runs a step with ``shell: bash`` as ``bash --noprofile --norc -eo pipefail FILE`` (docs.github.com, workflow syntax,
"Setting the default shell"). The step that installs the package is left out; the one here is on the PATH.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

yaml = pytest.importorskip("yaml")
HOME = Path(__file__).parent.parent
ACTIONS = {"check": HOME / "action.yml", "gate": HOME / "gate" / "action.yml"}
HOOKS = HOME / ".pre-commit-hooks.yaml"

QRELS = "".join(f"{query} 0 d{number} {int(number == 0)}\n" for query in range(30) for number in range(2))
GOOD = "".join(f"{query} Q0 d{number} {number + 1} {2 - number} good\n" for query in range(30) for number in range(2))
POOR = "".join(f"{query} Q0 d{number} {2 - number} {number} poor\n" for query in range(30) for number in (1, 0))
UNCLEAR = "".join(GOOD.splitlines(keepends=True)[:56]) + "".join(POOR.splitlines(keepends=True)[56:])

bash = pytest.mark.skipif(os.name != "posix" or shutil.which("bash") is None, reason="the steps need bash")


class Ended(NamedTuple):
    """How a step ended."""

    status: int
    out: str
    err: str
    summary: str
    outputs: str


def steps_of(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load(ACTIONS[name].read_text("utf-8"))["runs"]["steps"])


def run_step(name: str, folder: Path, **inputs: str) -> Ended:
    """Run the last step of an action; inputs that are not given have their defaults."""
    action = yaml.safe_load(ACTIONS[name].read_text("utf-8"))
    declared = action["inputs"]
    given = {key.replace("_", "-"): value for key, value in inputs.items()}
    assert set(given) <= set(declared)
    values = {key: given.get(key, each.get("default", "")) for key, each in declared.items()}
    step = steps_of(name)[-1]
    environment = {key: expanded(text, values) for key, text in step["env"].items()}
    script, summary, outputs = (folder / each for each in ("step.sh", "summary.md", "outputs"))
    script.write_text(step["run"])
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    treceval = tools / "treceval"
    treceval.write_text(f"#!{sys.executable}\nfrom treceval_py.cli.main import main\nmain()\n")
    treceval.chmod(0o755)
    environment |= {
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(summary),
        "GITHUB_OUTPUT": str(outputs),
    }
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    written = (each.read_text() if each.exists() else "" for each in (summary, outputs))
    return Ended(done.returncode, done.stdout, done.stderr, *written)


def expanded(text: str, inputs: Mapping[str, str]) -> str:
    return re.sub(r"\$\{\{ inputs\.([a-z-]+) \}\}", lambda found: inputs[found[1]], text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (
        ("qrels", QRELS),
        ("good.run", GOOD),
        ("base.run", GOOD),
        ("poor.run", POOR),
        ("unclear.run", UNCLEAR),
    ):
        (tmp_path / name).write_text(text)
    (tmp_path / "twice.run").write_text(GOOD + "29 Q0 d1 3 0.5 good\n")
    return tmp_path


@pytest.mark.parametrize("name", ACTIONS)
def test_inputs_reach_scripts_only_through_the_environment(name: str) -> None:
    steps = steps_of(name)
    assert [step["name"] for step in steps] == ["Install", name.title()]
    used = set()
    for step in steps:
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"
        for text in [*step["env"].values(), step.get("if", "")]:
            used |= set(re.findall(r"inputs\.([a-z-]+)", text))
    assert used == set(yaml.safe_load(ACTIONS[name].read_text("utf-8"))["inputs"])


@bash
def test_check_passes_and_fails(folder: Path) -> None:
    assert run_step("check", folder, files="good.run", qrels="qrels")[:2] == (0, "")
    done = run_step("check", folder, files="good.run\ntwice.run\n")
    assert done.status == 1
    assert "\n::error file=twice.run,line=61," in done.out
    assert done.out.count("::error") == 1


@bash
def test_check_takes_patterns_and_arguments(folder: Path) -> None:
    (folder / "a b").mkdir()
    (folder / "a b" / "twice.run").write_text(GOOD + "29 Q0 d1 3 0.5 good\n")
    done = run_step("check", folder, files="*/*.run\n\ntw?ce.run")
    assert (done.status, done.out.count("::error")) == (1, 2)
    assert "::error file=a b/twice.run,line=61," in done.out
    select = run_step("check", folder, files="twice.run", args="--select\nR101\n\n--max=1")
    assert (select.status, select.out) == (0, "")


@bash
@pytest.mark.slow
def test_no_input_is_run_as_a_command(folder: Path) -> None:
    hostile = "$(touch x)\n`touch x`\n\"; touch x; \"\n'; touch x; '\n--helpx\n; touch x\n& touch x\n\\\n*\n$HOME\n"
    (folder / "$(touch x)").write_text(GOOD)
    for inputs in ({"files": hostile}, {"files": "good.run", "qrels": hostile}, {"files": "good.run", "args": hostile}):
        run_step("check", folder, **inputs)
    for key in ("qrels", "baseline", "candidate", "measures", "margin", "args", "cannot_tell"):
        done = run_step(
            "gate", folder, **{"qrels": "qrels", "baseline": "base.run", "candidate": "good.run", key: hostile}
        )
        assert done.status in (1, 2), key
    assert not (folder / "x").exists()
    assert run_step("check", folder, files="$(touch x)").status == 0


@bash
@pytest.mark.parametrize(
    ("candidate", "cannot_tell", "status", "verdict"),
    [
        ("good.run", "fail", 0, "pass"),
        ("poor.run", "pass", 3, "worse"),
        ("unclear.run", "fail", 4, "cannot tell"),
        ("unclear.run", "pass", 0, "cannot tell"),
        ("missing.run", "pass", 1, ""),
    ],
)
def test_gate_gives_its_verdict(candidate: str, cannot_tell: str, status: int, verdict: str, folder: Path) -> None:
    files = {"qrels": "qrels", "baseline": "base.run", "candidate": candidate}
    done = run_step("gate", folder, **files, measures="map\nnDCG@10", margin="0.01\nmap=0.02", cannot_tell=cannot_tell)
    assert (done.status, done.outputs) == (status, f"verdict={verdict}\n"), done
    assert ("| map" in done.summary and "nDCG@10" in done.summary) == bool(verdict), done.summary


@bash
def test_a_misspelt_choice_is_refused(folder: Path) -> None:
    files = {"qrels": "qrels", "baseline": "base.run", "candidate": "good.run"}
    assert run_step("gate", folder, **files, cannot_tell="yes").status == 2


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("runs/bm25.txt", True),
        ("a/runs/x/bm25.k1=0.9", True),
        ("data/qrels.tsv", True),
        ("a.run.zst", True),
        ("qrels/test.tsv", True),
        ("bm25.run", True),
        ("data/my.qrels.txt", True),
        ("my.run.gz", True),
        ("runs/README.md", False),
        ("runs/.gitkeep", False),
        ("runs/Makefile", False),
        ("src/run/main.go", False),
        ("runs/plot.py", False),
        ("src/run.py", False),
        ("running/x.txt", False),
        ("prune.txt", False),
    ],
)
def test_the_hook_takes_runs_and_judgments(path: str, wanted: bool) -> None:
    (hook,) = yaml.safe_load(HOOKS.read_text("utf-8"))
    assert bool(re.search(hook["files"], path) and not re.search(hook["exclude"], path)) == wanted


@pytest.mark.both_readers  # the hook installs a reader of its own
@pytest.mark.slow
def test_pre_commit_runs_the_hook(folder: Path) -> None:
    pytest.importorskip("pre_commit")
    if shutil.which("git") is None or not (HOME / ".git").exists():
        pytest.skip("this is not a git repository")
    environment = {**os.environ, "PRE_COMMIT_HOME": str(folder / "cache")}
    (folder / "qrels").unlink()
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "runs"]):
        subprocess.run([*git, *command], cwd=folder, check=True)
    start = [sys.executable, "-m", "pre_commit", "try-repo", str(HOME), "treceval-check"]

    command = [*start, "--verbose", "--files", "good.run", "twice.run"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "\ntwice.run:61:" in done.stdout
    assert "\n1 error, 1 note in 2 files\n" in done.stdout
