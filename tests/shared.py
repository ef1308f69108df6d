"""Real data beside the project: the folder ``../shared``, which is not part of it. Without it, tests of it skip."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
ROBUST = SHARED / "robust03"
"""Judgments of TREC 2003 Robust, eight of its runs, and trec_eval's recorded output."""

MISSING = "needs the folder ../shared"

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason=MISSING)


def skip_without_shared() -> None:
    """Skip a test, from a fixture that reads what is there."""
    if not SHARED.is_dir():
        pytest.skip(MISSING)
