"""All kinds of findings, each declared once, with the check that makes it."""

from __future__ import annotations

from treceval_py.lint.catalogue.files import CODES as FILES
from treceval_py.lint.catalogue.judgments import CODES as JUDGMENTS
from treceval_py.lint.catalogue.lines import CODES as LINES
from treceval_py.lint.catalogue.queries import CODES as QUERIES
from treceval_py.lint.catalogue.together import CODES as TOGETHER
from treceval_py.lint.findings import Code

__all__ = ["CODES"]

CODES: dict[str, Code] = {code.code: code for part in (FILES, LINES, QUERIES, JUDGMENTS, TOGETHER) for code in part}
"""By their codes, in the order of the checks."""
