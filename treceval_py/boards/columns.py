"""Columns that boards of one collection and of many share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from treceval_py.io.digests import base_name
from treceval_py.rendering.tables import Column

if TYPE_CHECKING:
    from treceval_py.comparing.saved.files import Unscored


def rank_interval(ranks: Sequence[tuple[int, int] | None], confidence: str) -> Column:
    """Return the intervals of ranks for people; hidden if there are none, or only one run."""
    cells = ["–" if interval is None else "–".join(map(str, dict.fromkeys(interval))) for interval in ranks]
    return Column(f"{confidence} ranks", cells, programs=False, people=any(ranks) and len(ranks) > 1)


def ranks_for_programs(ranks: Sequence[tuple[int, int] | None]) -> tuple[Column, Column]:
    """Return the intervals of ranks for programs."""
    low = Column("rank_low", [None if interval is None else interval[0] for interval in ranks], people=False)
    return low, Column("rank_high", [None if interval is None else interval[1] for interval in ranks], people=False)


def named_errors(errors: Sequence[Unscored]) -> list[tuple[str, str]]:
    """Return the files that could not be scored and why, without their folders."""
    return [(base_name(error.file), error.reason) for error in errors]
