"""How much values depend on the order of documents with equal scores, and on missing judgments."""

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
