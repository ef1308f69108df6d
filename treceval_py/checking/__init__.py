"""Checks of runs and judgments: every finding with its file, line and column, in one pass."""

from treceval_py.checking.catalogue import CODES, Code
from treceval_py.checking.checking import Checked, check
from treceval_py.checking.findings import Finding

__all__ = ["CODES", "Checked", "Code", "Finding", "check"]
