"""Agreement of judges on the relevance of documents, and its effect on the order of runs."""

from __future__ import annotations

from treceval_py.judges.agreeing import Agreement, agree

__all__ = ["Agreement", "agree"]
