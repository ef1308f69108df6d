"""Compare runs: paired tests, intervals, analysis of variance, agreement, and what moved."""

from treceval_py import lazily

__all__, __getattr__, __dir__ = lazily(
    __name__,
    {
        "comparing.comparison": "Comparison",
        "comparing.outcome": "Compared Difference GroupDifference Grouped Interaction Tested",
        "comparing.saved.results": "read_results",
    },
)
