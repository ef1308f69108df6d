"""Checks of runs and judgments: every finding with its file, line and column, in one pass."""

from treceval_py import lazily

__all__, __getattr__, __dir__ = lazily(
    __name__, {"checking.catalogue": "CODES Code", "checking.checking": "Checked", "checking.findings": "Finding"}
)
