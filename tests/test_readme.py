"""Every example in the README, and in the page on conventions, prints what is shown."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from treceval_py.measures import FAMILIES

HOME = Path(__file__).parent.parent
PAGES = {name: (HOME / name).read_text("utf-8") for name in ("README.md", "docs/conventions.md")}


def blocks(page: str, kind: str) -> list[str]:
    """Return the code blocks of a kind on a page."""
    return re.findall(rf"```{kind}\n(.*?)```", PAGES[page], re.DOTALL)


EXAMPLES = [
    pytest.param(command, shown, id=f"{page}: {command}")
    for page in PAGES
    for block in blocks(page, "console")
    for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
]


def printed(command: str) -> str:
    """Run a command as a page means it, with `treceval` being the one of this environment."""
    if command == "make demo":  # what it does after the installation, which has been done
        recipe = subprocess.run(["make", "-n", "demo"], cwd=HOME, capture_output=True, text=True, check=True)
        command = next(line for line in recipe.stdout.splitlines() if "/treceval " in line)
        command = re.sub(r"\S*/treceval ", "treceval ", command)
    path = str(Path(sys.executable).parent) + os.pathsep + os.environ["PATH"]
    done = subprocess.run(
        command,
        shell=True,
        cwd=HOME,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.stdout.decode("utf-8")


@pytest.mark.parametrize(("page", "least"), [("README.md", 9), ("docs/conventions.md", 8)])
def test_a_page_has_examples(page: str, least: int) -> None:
    assert sum(str(example.id).startswith(page) for example in EXAMPLES) >= least
    assert blocks(page, "pycon")


@pytest.mark.parametrize(("command", "shown"), EXAMPLES)
def test_a_command_prints_what_is_shown(command: str, shown: str) -> None:
    pattern = "(?:.*\n)*".join(map(re.escape, shown.split("…\n")))
    assert re.fullmatch(pattern, printed(command)), printed(command)


@pytest.mark.parametrize("page", list(PAGES))
def test_the_python_examples_print_what_is_shown(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HOME)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks(page, "pycon")), {}, page, page, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    try:
        assert runner.run(test).failed == 0
    finally:
        FAMILIES.pop("worst_rank", None)
