"""Real data beside the project: the folder ``../shared``, which is not part of it. Without it, tests of it skip."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"
DATA = SHARED / "data"
ROBUST = DATA / "robust03"
"""Judgments of TREC 2003 Robust, eight of its runs, and trec_eval's recorded output."""

MISSING = "needs the folder ../shared"

needs_shared = pytest.mark.skipif(not DATA.is_dir(), reason=MISSING)


def skip_without_shared() -> None:
    """Skip a test, from a fixture that reads what is there."""
    if not DATA.is_dir():
        pytest.skip(MISSING)
