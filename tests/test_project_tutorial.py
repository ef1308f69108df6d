"""A newcomer's walk through the tutorial: its commands in order, in a fresh folder with nothing but data/."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pages
import pytest

PAGE = (pages.HOME / "docs" / "tutorial.md").read_text("utf-8")


def steps(page: str) -> Iterator[tuple[str, str, str]]:
    """Yield what a reader does: run a command that prints something, run a command, or save a file."""
    for before, kind, text in re.findall(r"([^\n]*)\n\n```(\w+)\n(.*?)```", page, re.DOTALL):
        if kind == "console":
            yield from (("prints", command, shown) for command, shown in pages.examples(text))
        elif kind == "sh":
            yield from (("runs", command, "") for command in text.splitlines())
        else:
            (name,) = re.findall(r"Save this as `(.*?)`:$", before)
            yield "saves", name, text


STEPS = list(steps(PAGE))
INSTALLATION = [command for kind, command, _ in STEPS[:3] if kind == "runs"]
"""Has been done: .ci/run installs the package in fresh environments."""


def test_the_installation_comes_first_and_asks_for_what_the_walk_needs() -> None:
    assert PAGE.count("```") == 2 * len(re.findall(r"[^\n]*\n\n```\w+\n.*?```", PAGE, re.DOTALL))  # none is passed over
    assert INSTALLATION == ["python3 -m venv .venv", ". .venv/bin/activate", "pip install ."]
    assert STEPS[3][:2] == ("prints", "treceval --version")


@pytest.mark.both_readers  # the page shows which one is at work
@pytest.mark.slow
def test_the_walk_prints_what_the_page_shows(tmp_path: Path) -> None:
    shutil.copytree(pages.HOME / "data", tmp_path / "data")
    for kind, what, shown in STEPS[len(INSTALLATION) :]:
        if kind == "saves":
            (tmp_path / what).write_text(shown, "utf-8")
        elif not what.startswith("pdflatex") or shutil.which("pdflatex"):
            status, printed = pages.run(what, tmp_path)
            assert pages.fits(shown, printed) if kind == "prints" else status == 0, f"{what}\n{printed}"
    assert (tmp_path / "report.html").stat().st_size > 100_000
    if shutil.which("pdflatex") is not None:
        log = (tmp_path / "paper.log").read_text("utf-8", "replace")
        assert (tmp_path / "paper.pdf").read_bytes().startswith(b"%PDF")
        assert "undefined references" not in log
        assert "Overfull" not in log


def test_what_the_page_says_of_numbers_is_what_is_shown() -> None:
    shown = " ".join(text for kind, _, text in STEPS if kind == "prints")
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", PAGE, flags=re.DOTALL)
    numbers = set(re.findall(r"\d+\.\d{4}", prose)) | {"1267", "137", "143"}
    assert len(numbers) > 3
    assert [number for number in numbers if not re.search(rf"\b{re.escape(number)}\b", shown)] == []
