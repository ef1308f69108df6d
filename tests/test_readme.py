"""Every example in the README prints what the README shows."""

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
README = (HOME / "README.md").read_text("utf-8")
CONSOLE = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
EXAMPLES = [
    (command, shown)
    for block in CONSOLE
    for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
]


def printed(command: str) -> str:
    """Run a command as the README means it, with `treceval` being the one of this environment."""
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


def test_the_readme_has_examples() -> None:
    assert len(EXAMPLES) >= 9


@pytest.mark.parametrize(("command", "shown"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_a_command_prints_what_the_readme_shows(command: str, shown: str) -> None:
    pattern = "(?:.*\n)*".join(map(re.escape, shown.split("…\n")))
    assert re.fullmatch(pattern, printed(command)), printed(command)


def test_the_python_examples_print_what_the_readme_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HOME)
    blocks = "\n".join(re.findall(r"```pycon\n(.*?)```", README, re.DOTALL))
    test = doctest.DocTestParser().get_doctest(blocks, {}, "README.md", "README.md", 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    try:
        assert runner.run(test).failed == 0
    finally:
        FAMILIES.pop("worst_rank", None)
