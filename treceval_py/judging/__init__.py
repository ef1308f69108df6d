"""Judging: judgments and a run become the table of judged ranks from which measures are computed."""

from treceval_py import lazily

__all__, __getattr__, __dir__ = lazily(
    __name__,
    {
        "judging.judged": "Hits JudgedRun RankedQuery",
        "judging.locating": "judge",
    },
)
