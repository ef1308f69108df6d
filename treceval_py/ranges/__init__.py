"""How far values depend on what was left open: the order of documents with equal scores, and missing judgments."""

from treceval_py.ranges.assessment import Sensitivity, assess
from treceval_py.ranges.ties import TiedDocuments, TieRange, tie_ranges, tied_documents
from treceval_py.ranges.unjudged import UnjudgedRange, unjudged_ranges

__all__ = [
    "Sensitivity",
    "TieRange",
    "TiedDocuments",
    "UnjudgedRange",
    "assess",
    "tie_ranges",
    "tied_documents",
    "unjudged_ranges",
]
