"""What tests share: names for examples in docstrings, names of tests, a browser, a SIGINT that is not ignored."""

from __future__ import annotations

import importlib.util
import shutil
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from shared import MISSING

from treceval_py import Run
from treceval_py.data import JudgmentGroups
from treceval_py.judging.judged import ranked_labels
from treceval_py.judging.locating import judge_groups
from treceval_py.judging.preferences import preferred
from treceval_py.judging.sampled import drawn_labels
from treceval_py.measuring import FAMILIES

OTHER_SCORERS = {
    "ir_measures": (
        "explaining",
        "grading_reconciling",
        "integrations_ir_measures",
        "measures_user_models",
        "scoring_peers",
        "scoring_profiles",
    ),
    "pytrec_eval": ("scoring_drop_in", "scoring_peers", "scoring_profiles"),
}
"""Tests that compare with a scorer throughout; they are left out on systems where it cannot be installed."""

# Importing it imports sentence-transformers, which takes seconds, if it is installed at all.
collect_ignore = ["treceval_py/integrations/sentence_transformers.py", "tests/fuzz.py"]
for package, names in OTHER_SCORERS.items():
    if importlib.util.find_spec(package) is None:
        collect_ignore += [f"tests/test_{name}.py" for name in names]
        collect_ignore += [f"treceval_py/integrations/{package}.py"]


@pytest.fixture(autouse=True)
def _names_of_examples(doctest_namespace: dict[str, Any], request: pytest.FixtureRequest) -> Iterator[None]:
    doctest_namespace.update(
        ranked_labels=ranked_labels,
        drawn_labels=drawn_labels,
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


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without a screen, until the module's tests have ended: a process can drive only one at a time."""
    playwright = pytest.importorskip("playwright.sync_api", reason="opens pages, which needs playwright: .[dev] has it")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("opens pages, which needs Chromium on the path")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how many tests skipped for want of real data: a run without it proves less, and should not look the same."""
    skipped = [report.longrepr for report in terminalreporter.stats.get("skipped", [])]
    count = sum(isinstance(where, tuple) and MISSING in where[2] for where in skipped)
    if count:
        terminalreporter.write_line(f"{count} tests did not run, as the folder ../shared with real data is not there")
