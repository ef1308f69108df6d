"""What tests share: names for the worked examples in docstrings, names of tests, a SIGINT that is not ignored."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest

from treceval_py import JudgmentGroups, Run
from treceval_py.judging.judged import ranked_labels
from treceval_py.judging.locating import judge_groups
from treceval_py.judging.preferences import preferred
from treceval_py.measures import FAMILIES

# Importing it imports sentence-transformers, which takes seconds, if it is installed at all.
collect_ignore = ["treceval_py/integrations/sentence_transformers.py"]


@pytest.fixture(autouse=True)
def _names_of_examples(doctest_namespace: dict[str, Any], request: pytest.FixtureRequest) -> Iterator[None]:
    doctest_namespace.update(
        ranked_labels=ranked_labels,
        preferred=preferred,
        judge_groups=judge_groups,
        JudgmentGroups=JudgmentGroups,
        Run=Run,
    )
    before = dict(FAMILIES)
    yield
    if isinstance(request.node, pytest.DoctestItem):  # an example may declare a measure
        FAMILIES.clear()
        FAMILIES.update(before)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name compressed bytes by their length: they hold the time, and parallel processes must find the same names."""
    if isinstance(val, bytes) and (not val.isascii() or b"\0" in val):
        return f"{argname}-{len(val)} bytes"
    return None


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let child processes be interrupted where SIGINT is ignored, as it is under nohup and in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
