"""A newcomer's walk through the tutorial: its commands in order, in a fresh folder with nothing but data/."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HOME = Path(__file__).parent.parent
PAGE = (HOME / "docs" / "tutorial.md").read_text("utf-8")


def steps(page: str) -> Iterator[tuple[str, str, str]]:
    """Yield what a reader does: run a command that prints something, run a command, or save a file."""
    for before, kind, text in re.findall(r"([^\n]*)\n\n```(\w+)\n(.*?)```", page, re.DOTALL):
        if kind == "console":
            for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
                yield "prints", command, shown
        elif kind == "sh":
            for command in text.splitlines():
                yield "runs", command, ""
        else:
            (name,) = re.findall(r"Save this as `(.*?)`:$", before)
            yield "saves", name, text


STEPS = list(steps(PAGE))
INSTALLATION = [command for kind, command, _ in STEPS[:3] if kind == "runs"]
"""Has been done: .ci/run installs the package in fresh environments."""


def test_the_installation_comes_first_and_asks_for_what_the_walk_needs() -> None:
    assert PAGE.count("```") == 2 * len(re.findall(r"[^\n]*\n\n```\w+\n.*?```", PAGE, re.DOTALL))  # none is passed over
    assert INSTALLATION == ["python3 -m venv .venv", ". .venv/bin/activate", "pip install '.[report]'"]
    assert STEPS[3][:2] == ("prints", "treceval --version")


@pytest.mark.both_readers  # the page shows which one is at work
@pytest.mark.slow
def test_the_walk_prints_what_the_page_shows(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    pytest.importorskip("jinja2")
    shutil.copytree(HOME / "data", tmp_path / "data")
    path = str(Path(sys.executable).parent) + os.pathsep + os.environ["PATH"]
    for kind, what, shown in STEPS[len(INSTALLATION) :]:
        if kind == "saves":
            (tmp_path / what).write_text(shown, "utf-8")
            continue
        if what.startswith("pdflatex") and shutil.which("pdflatex") is None:
            continue
        done = subprocess.run(
            what,
            shell=True,
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        seen = done.stdout.decode("utf-8", "replace")
        if kind == "prints":
            pattern = "(?:.*\n)*".join(map(re.escape, shown.split("…\n")))
            assert re.fullmatch(pattern, seen), f"{what}\n{seen}"
        else:
            assert done.returncode == 0, f"{what}\n{seen}"
    assert (tmp_path / "report.html").stat().st_size > 100_000
    if shutil.which("pdflatex") is not None:
        log = (tmp_path / "paper.log").read_text("utf-8", "replace")
        assert (tmp_path / "paper.pdf").read_bytes().startswith(b"%PDF")
        assert "undefined references" not in log
        assert "Overfull" not in log


def test_what_the_page_says_of_numbers_is_what_is_shown() -> None:
    shown = " ".join(text for kind, _, text in STEPS if kind == "prints")
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", PAGE, flags=re.DOTALL)
    numbers = set(re.findall(r"\d+\.\d{4}", prose))
    assert numbers
    assert [number for number in numbers if number not in shown] == []
    assert [word for word in ("1267", "137", "143", "137") if not re.search(rf"\b{word}\b", shown)] == []
