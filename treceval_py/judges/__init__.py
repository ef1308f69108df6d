"""How judges agree on the relevance of documents, and what their disagreement does to the order of runs."""

from __future__ import annotations

from treceval_py.judges.agreeing import Agreement, agree

__all__ = ["Agreement", "agree"]
