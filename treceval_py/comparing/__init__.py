"""Compare runs: paired tests, intervals, analysis of variance, agreement, and what moved."""

from __future__ import annotations

from treceval_py.comparing.comparing import compare
from treceval_py.comparing.comparison import Comparison
from treceval_py.comparing.outcome import Compared, Difference, GroupDifference, Grouped, Interaction, Settings, Tested

__all__ = [
    "Compared",
    "Comparison",
    "Difference",
    "GroupDifference",
    "Grouped",
    "Interaction",
    "Settings",
    "Tested",
    "compare",
]
