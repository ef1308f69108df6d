"""Every line on the pages of docs/coming-from is run: ours always, the other tool's where it is installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import coming_from
import pages
import pytest

PAGES = coming_from.PAGES
HEAVY = {"sentence-transformers", "torchmetrics"}
"""Pages whose lines import torch."""


def skip_without(page: str) -> None:
    for package in coming_from.PACKAGES[page]:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")


def names_for(page: str, folder: Path) -> dict[str, Any]:
    """Return the data of a page, and the model that one of them evaluates."""
    names = coming_from.data_of(page)
    if page == "sentence-transformers":
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
        from tiny_models import make_tiny_model

        transformer = Transformer(make_tiny_model(folder))
        pooling = Pooling(transformer.get_embedding_dimension(), "mean")
        names["model"] = SentenceTransformer(modules=[transformer, pooling], device="cpu")
    return names


@pytest.mark.filterwarnings("ignore::treceval_py.errors.TrecevalWarning")  # pages tell of queries that the run lacks
@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[pytest.mark.slow] if page in HEAVY else []) for page in PAGES]
)
def test_our_lines_print_what_is_shown(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page in ("ir_measures", "sentence-transformers"):
        skip_without(page)
    monkeypatch.chdir(pages.HOME)
    assert pages.blocks(PAGES[page], "pycon")
    assert pages.differences(PAGES[page], names_for(page, tmp_path)) == ""


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if coming_from.PACKAGES[page]])
def test_their_lines_print_what_is_shown(page: str, tmp_path: Path) -> None:
    skip_without(page)
    assert coming_from.run_theirs(page, names_for(page, tmp_path)) == []


def test_commands_print_what_is_shown() -> None:
    shown = [
        each for page in PAGES.values() for block in pages.blocks(page, "console") for each in pages.examples(block)
    ]
    assert len(shown) == 3
    assert [(command, printed) for command, text in shown if (printed := pages.run(command)) != (0, text)] == []


def test_a_page_has_their_lines_ours_and_what_differs() -> None:
    assert len(PAGES) == len(coming_from.PACKAGES) == 10
    for page, text in PAGES.items():
        assert text.startswith("# Coming from "), page
        assert text.rstrip().rpartition("\n## ")[2].startswith("What differs\n"), page
        assert len(pages.blocks(text, "python")) > 1 or not coming_from.PACKAGES[page]
        assert max(map(len, text.splitlines())) < 400


def test_a_wrong_comment_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PAGES, "x", "```python\na = 1\n```\n```python\nb = a\nb + 1  # 3\nb  # 1\n```\n")
    assert coming_from.run_theirs("x", coming_from.data_of("x")) == ["b + 1 is 2, not 3"]
