"""What the worked examples in docstrings may use without importing it."""

from __future__ import annotations

from typing import Any

import pytest

from treceval_py import JudgmentGroups, Run
from treceval_py.judging.judged import ranked_labels
from treceval_py.judging.locating import judge_groups
from treceval_py.judging.preferences import preferred


@pytest.fixture(autouse=True)
def _names_of_examples(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace.update(
        ranked_labels=ranked_labels,
        preferred=preferred,
        judge_groups=judge_groups,
        JudgmentGroups=JudgmentGroups,
        Run=Run,
    )
