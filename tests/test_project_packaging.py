"""How the package is built and published: the scanner that does not load, the workflows, what a release demands."""

from __future__ import annotations

import ast
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
from modules import module_at
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import treceval_py
from treceval_py.cli import main
from treceval_py.rendering import FORMATS

yaml = pytest.importorskip("yaml", reason="reads the workflows, which needs PyYAML: .[test] has it")

ROOT = Path(__file__).resolve().parent.parent

DECLARED = ConfigParser()
DECLARED.read(ROOT / "setup.cfg", "utf-8")

BUILD = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["cibuildwheel"]


# --- a scanner that does not load ---


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a copy of the package that has no scanner."""
    folder = tmp_path_factory.mktemp("installed")
    source = Path(treceval_py.__file__).parent
    shutil.copytree(
        source, folder / "treceval_py", ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.pyd", "*.c")
    )
    return folder


@pytest.fixture
def scan(package: Path) -> Iterator[Path]:
    """Return the scanner's folder; what a test puts there is removed."""
    folder = package / "treceval_py" / "scan"
    before = set(folder.iterdir())
    yield folder
    for path in set(folder.iterdir()) - before:
        if path.is_file():
            path.unlink()


SHIPPED = "_scan.pyd" if sys.platform == "win32" else "_scan.abi3.so"
OTHER = f"_scan.cpython-39-elsewhere{Path(SHIPPED).suffix}"


def version(package: Path, reader: str = "") -> subprocess.CompletedProcess[str]:
    """Run `treceval --version` of the copy."""
    environment = {**os.environ, "PYTHONPATH": str(package), "TRECEVAL_READER": reader}
    command = [sys.executable, "-m", "treceval_py", "--version"]
    return subprocess.run(command, env=environment, cwd=package, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("name", "reader", "reason"),
    [
        (None, "", r"the compiled reader was not built"),
        (SHIPPED, "", rf"the compiled reader cannot be loaded: .*{re.escape(SHIPPED[:5])}.*"),
        (OTHER, "", rf"the compiled reader is for another Python: {re.escape(OTHER)}"),
        (SHIPPED, "python", r"TRECEVAL_READER is python"),
    ],
)
def test_the_version_says_why_the_reader_is_not_compiled(
    name: str | None, reader: str, reason: str, package: Path, scan: Path
) -> None:
    if name:
        (scan / name).write_bytes(b"not a library")
    done = version(package, reader)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(rf"treceval_py \S+ \(.*; reader: Python, as {reason}\)\n", done.stdout)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (None, r"was not built\. Install a wheel, or with a C compiler at hand, or leave the variable out\."),
        (SHIPPED, r"cannot be loaded: .*_scan.*\. Install the package again, or leave the variable out\."),
    ],
)
def test_a_compiled_reader_that_is_demanded_says_why_there_is_none(
    name: str | None, message: str, package: Path, scan: Path
) -> None:
    if name:
        (scan / name).write_bytes(b"not a library")
    done = version(package, "compiled")
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(rf"treceval: TRECEVAL_READER is compiled, but the compiled reader {message}\n", done.stderr)


# --- a package in a zip, as zipapp makes it and Spark's --py-files has it ---


EXAMPLE = [str(ROOT / "data" / name) for name in ("qrels.tsv", "runs/bm25.txt", "runs/minilm.txt")]

SCORING = """
import sys, warnings, treceval_py as te
qrels, run = {"1": {"a": 1}, "2": {"b": 1}}, {"1": {"b": 2.0, "a": 1.0}}
with warnings.catch_warnings(record=True) as caught:
    print(te.evaluate(qrels, run, ["RR"]).mean["RR"], [warning.filename for warning in caught])
print(te.evaluate(sys.argv[1], sys.argv[2], ["RR"]).mean["RR"])
print(te.__file__)
"""


@pytest.fixture(scope="module")
def zipped(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a zip with the copy of the package and a main module."""
    path = shutil.make_archive(str(tmp_path_factory.mktemp("zipped") / "treceval"), "zip", package)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("__main__.py", "from treceval_py.cli.main import main\nmain()\n")
    return Path(path)


TOGETHER: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}


def printed(place: Path, *arguments: object, folder: Path | None = None) -> str:
    """Return what Python prints that imports the package from a place."""
    command = [sys.executable, "-P", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(place), "TRECEVAL_READER": ""}
    done = subprocess.run(command, env=environment, cwd=folder or place.parent, check=True, **TOGETHER)
    return str(done.stdout)


@pytest.mark.both_readers
def test_a_package_in_a_zip_scores_and_prints(zipped: Path, tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels.txt", tmp_path / "run.txt"
    qrels.write_text("1 0 a 1\n")
    run.write_text("1 Q0 b 1 2.0 mine\n1 Q0 a 2 1.0 mine\n")
    home = zipped / "treceval_py" / "__init__.py"
    # The relevant document is at rank 2; the run in memory lacks a query, which the line that scores is told.
    assert printed(zipped, "-c", SCORING, qrels, run).splitlines() == ["0.5 ['<string>']", "0.5", str(home)]
    table = printed(zipped, zipped, "--format", "tsv", "-m", "RR", qrels, run)
    assert table.split() == ["query", "measure", "mine", "all", "RR", "0.5"]


@pytest.mark.slow
@pytest.mark.both_readers
@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        *(["--format", name, *EXAMPLE[:2]] for name in ("trec", *FORMATS)),
        ["--ties", *EXAMPLE[:2]],
        ["compare", *EXAMPLE],
        ["report", *EXAMPLE, "-o", "OUT"],
        ["check", EXAMPLE[1]],
        ["grade", EXAMPLE[0], str(ROOT / "data/runs"), "-o", "OUT"],
    ],
    ids=lambda arguments: " ".join(word for word in arguments if word not in EXAMPLE),
)
def test_a_command_does_the_same_from_a_zip(arguments: list[str], package: Path, zipped: Path, tmp_path: Path) -> None:
    done = []
    for place in (package, zipped):
        folder = tmp_path / place.name
        folder.mkdir()
        said = printed(place, "-m", "treceval_py", *arguments, folder=folder)
        # A workbook has the time, and a lock the number of its process.
        paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        paths = [path for path in paths if path.suffix != ".xlsx" and path.name != "lock"]
        done.append((said, {path.relative_to(folder): path.read_bytes() for path in paths}))
    assert done[0] == done[1]


# --- other systems ---


def test_an_interruption_on_windows_is_no_wrong_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    with monkeypatch.context() as windows:
        windows.setattr(sys, "platform", "win32")
        windows.setattr(signal, "signal", lambda *_: None)
        windows.setattr(os, "kill", lambda *_: None)
        windows.setattr(os, "_exit", ended.append)
        with pytest.raises(SystemExit):  # as that `_exit` returns
            main._die_of(signal.SIGINT)
    # STATUS_CONTROL_C_EXIT of ntstatus.h, with which Python itself ends; C's int has a sign.
    assert [status & 0xFFFFFFFF for status in ended] == [0xC000013A]


# --- versions that are declared more than once, as each file has its own reader ---


def test_the_oldest_python_is_the_same_everywhere() -> None:
    setup = ast.parse((ROOT / "setup.py").read_text("utf-8"))
    (oldest,) = [
        ast.literal_eval(node.value)
        for node in setup.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "OLDEST"
    ]
    assert DECLARED["options"]["python_requires"] == ">={}.{}".format(*oldest)
    assert BUILD["build"] == "cp{}{}-*".format(*oldest)
    assert pythons()[0] == "{}.{}".format(*oldest)


def pythons() -> list[str]:
    """Return the versions of Python that the package says it is for."""
    return re.findall(r"Python :: (3\.\d+)$", DECLARED["metadata"]["classifiers"], re.MULTILINE)


def test_the_conda_recipe_needs_what_the_package_needs() -> None:
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text("utf-8"))
    assert recipe["context"]["version"] == treceval_py.__version__
    declared = [line.replace(">=", " >=") for line in DECLARED["options"]["install_requires"].split("\n") if line]
    run = [
        f'{each["then"]}; sys_platform == "{each["if"]}32"' if isinstance(each, dict) else each
        for each in recipe["requirements"]["run"]
    ]
    assert sorted(run) == sorted(["python", *declared])
    built = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["build-system"]["requires"]
    assert {line.replace(">=", " >=") for line in built} < set(recipe["requirements"]["host"])
    files = DECLARED["metadata"]["license_files"].split()
    assert sorted(recipe["about"]["license_file"]) == sorted(
        str(path.relative_to(ROOT).as_posix()) for pattern in files for path in ROOT.glob(pattern)
    )


def locked(name: str) -> dict[str, list[Requirement]]:
    """Return what a lock holds: by name the versions, of which markers choose one."""
    found: dict[str, list[Requirement]] = {}
    for line in (ROOT / "locks" / f"{name}.txt").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            requirement = Requirement(line)
            found.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    return found


def test_the_locks_have_a_version_of_all_that_their_extras_need_and_agree() -> None:
    extras, locks = DECLARED["options.extras_require"], module_at(ROOT / ".ci" / "lock.py").EXTRAS
    whole = locked("retrieve")
    for name, wanted in locks.items():
        lock, waiting = locked(name), [DECLARED["options"]["install_requires"], *(extras[extra] for extra in wanted)]
        while waiting:
            for line in waiting.pop().split("\n"):
                needed = Requirement(line) if line and not line.startswith("#") else None
                if needed is None or (needed.marker and not needed.marker.evaluate()):
                    continue
                if needed.name == "treceval-py":
                    waiting += [extras[extra] for extra in needed.extras]
                    continue
                pins = lock.get(canonicalize_name(needed.name), [])
                versions = [next(iter(pin.specifier)).version for pin in pins]
                right = versions and all(version in needed.specifier for version in versions)
                assert right, f"locks/{name}.txt has {needed.name} {versions}, setup.cfg {line}. Run make lock KEEP=1."
        for package, pins in lock.items():
            assert {str(pin.specifier) for pin in pins} <= {str(pin.specifier) for pin in whole[package]}, package


def test_files_of_tests_that_the_makefile_lists_are_there() -> None:
    (listed,) = re.findall(r"^READING = ((?:.*\\\n)*.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    names = listed.replace("\\", "").split()
    assert len(names) > 10
    assert names == sorted(set(names))
    assert [name for name in names if not (ROOT / "tests" / f"test_{name}.py").is_file()] == []


# --- a release ---

RELEASE = runpy.run_path(str(ROOT / ".ci" / "release.py"))


@pytest.mark.parametrize(
    ("tag", "entry", "wrong"),
    [
        ("v1.2.3", "## 1.2.3 (2026-12-01)", ""),
        ("v1.2.4", "## 1.2.3 (2026-12-01)", "the tag is v1.2.4, but"),
        ("1.2.3", "## 1.2.3 (2026-12-01)", "the tag is 1.2.3, but"),
        ("v1.2.3", "## 1.2.3 (not yet released)", "the first entry is '## 1.2.3 (not yet released)'"),
        ("v1.2.3", "## 1.2.4 (2026-12-01)\n\n## 1.2.3 (2026-11-01)", "the first entry is '## 1.2.4 (2026-12-01)'"),
        ("v1.2.3", "", "the first entry is ''"),
    ],
)
def test_a_tag_is_the_version_and_the_first_entry_of_the_changelog(tag: str, entry: str, wrong: str) -> None:
    said = RELEASE["wrong_tag"](tag, "1.2.3", f"# Changelog\n\n{entry}\n\nText.\n")
    assert wrong in said
    assert bool(wrong) == bool(said)


FILES = [
    "treceval_py-1.2.3.tar.gz",
    *(
        f"treceval_py-1.2.3-cp311-abi3-{platform}.whl"
        for platform in (
            "manylinux2014_x86_64.manylinux_2_17_x86_64",
            "manylinux2014_aarch64.manylinux_2_17_aarch64",
            "musllinux_1_2_x86_64",
            "musllinux_1_2_aarch64",
            "macosx_10_9_x86_64",
            "macosx_11_0_arm64",
            "win_amd64",
            "win_arm64",
        )
    ),
]
"""Names as auditwheel 6.8.2 and cibuildwheel 4.2 write them."""


def test_a_release_has_a_wheel_for_each_platform() -> None:
    wrong = RELEASE["wrong_files"]
    assert wrong(FILES, "1.2.3") == []
    for name in FILES:
        assert len(wrong([each for each in FILES if each != name], "1.2.3")) == 1
    assert wrong([*FILES, "treceval_py-1.2.3-cp312-cp312-win_amd64.whl"], "1.2.3") == [
        "unexpected: treceval_py-1.2.3-cp312-cp312-win_amd64.whl"
    ]
    assert len(wrong([*FILES, "treceval_py-1.2.3-cp311-abi3-macosx_12_0_arm64.whl"], "1.2.3")) == 1
    assert len(wrong(FILES, "1.2.4")) == 2 * len(FILES)


# --- the workflows ---

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def workflow(name: str) -> dict[str, Any]:
    """Return a workflow as it is parsed."""
    parsed: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text("utf-8"))
    return parsed


def steps(job: dict[str, Any], action: str) -> list[dict[str, Any]]:
    """Return the steps of a job that use an action."""
    return [step for step in job["steps"] if step.get("uses", "").startswith(f"{action}@")]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_commit(path: Path) -> None:
    text = path.read_text("utf-8")
    used = [line.strip() for line in text.splitlines() if "- uses:" in line]
    assert used
    for line in used:
        assert re.fullmatch(r"- uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


def test_an_action_has_one_commit_in_all_workflows() -> None:
    used = {line.strip() for path in WORKFLOWS for line in path.read_text("utf-8").splitlines() if "- uses:" in line}
    assert len(used) == len({line.partition("@")[0] for line in used})


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_job_may_only_read_unless_it_publishes(path: Path) -> None:
    parsed = workflow(path.stem)
    assert parsed["permissions"] == {}
    for name, job in parsed["jobs"].items():
        expected = {"id-token": "write"} if name == "publish" else {"contents": "read"}
        assert job["permissions"] == expected, name
        if "uses" in job:  # another of these workflows
            assert (ROOT / job["uses"]).is_file()
            continue
        assert job["timeout-minutes"] <= (180 if name == "everything" else 60), name
        for checkout in steps(job, "actions/checkout"):
            assert checkout["with"]["persist-credentials"] is False, name


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_no_command_is_made_of_expressions(path: Path) -> None:
    # What a tag or a branch is called would be run. It goes through the environment.
    for job in workflow(path.stem)["jobs"].values():
        for step in job.get("steps", []):
            assert "${{" not in step.get("run", "")


def test_only_a_tag_publishes_and_only_what_was_tested() -> None:
    parsed = workflow("release")
    assert parsed[True]["push"] == {"tags": ["v[0-9]+.[0-9]+.[0-9]+*"]}  # YAML 1.1 reads the key `on` so
    jobs = parsed["jobs"]
    publish = jobs["publish"]
    assert publish["if"] == "github.event_name == 'push'"
    assert publish["environment"]["name"] == "pypi"
    assert set(publish["needs"]) == set(jobs) - {"publish"}
    assert not any("run" in step for step in publish["steps"])
    assert not steps(publish, "actions/checkout")
    for name in ("everything", "wheels", "source"):
        assert jobs[name]["needs"] == "version"


def test_everything_runs_each_night_and_before_a_release() -> None:
    parsed = workflow("everything")
    assert set(parsed[True]) == {"schedule", "workflow_call", "workflow_dispatch"}
    assert [step["run"] for step in parsed["jobs"]["everything"]["steps"] if "run" in step] == ["make everything"]
    assert workflow("release")["jobs"]["everything"]["uses"] == "./.github/workflows/everything.yml"


def test_every_kind_of_machine_builds_and_tests_its_wheel() -> None:
    jobs = workflow("release")["jobs"]
    assert jobs["later"]["strategy"]["matrix"]["system"] == jobs["wheels"]["strategy"]["matrix"]["system"]
    assert jobs["later"]["strategy"]["matrix"]["python"] == pythons()[1:]
    assert workflow("ci")["jobs"]["tests"]["strategy"]["matrix"]["python"] == pythons()
    # Each runner builds for itself only, so there are as many kinds of machine as platforms, but for the two C libraries of Linux.
    assert BUILD["archs"] == ["native"]
    linux = [system for system in jobs["wheels"]["strategy"]["matrix"]["system"] if system.startswith("ubuntu")]
    assert len(RELEASE["PLATFORMS"]) == len(jobs["wheels"]["strategy"]["matrix"]["system"]) + len(linux)


def test_a_wheel_that_is_published_has_the_scanner_and_is_tested_with_it() -> None:
    assert BUILD["environment"] == {"TRECEVAL_RELEASE": "1"}
    assert BUILD["test-environment"] == {"TRECEVAL_READER": "compiled"}
    tested = re.findall(r"\{project\}/(\S+)", BUILD["test-command"])
    assert tested
    assert all((ROOT / path).is_file() for path in tested)
    jobs = workflow("release")["jobs"]
    (run,) = [step for step in jobs["later"]["steps"] if "pytest tests" in step.get("run", "")]
    assert run["env"] == {"TRECEVAL_READER": "compiled"}
    assert run["run"].startswith("pytest ")  # `python -m pytest` would import the checkout
    assert any("abi3audit --strict" in step.get("run", "") for step in jobs["complete"]["steps"])
