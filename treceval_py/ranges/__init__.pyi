# Made by docs/names.py from the table in __init__.py: change that, and run it again.

from treceval_py.ranges.assessment import Sensitivity as Sensitivity
from treceval_py.ranges.assessment import assess as assess
from treceval_py.ranges.ties import TiedDocuments as TiedDocuments
from treceval_py.ranges.ties import TieRange as TieRange
from treceval_py.ranges.ties import tie_ranges as tie_ranges
from treceval_py.ranges.ties import tied_documents as tied_documents
from treceval_py.ranges.unjudged import UnjudgedRange as UnjudgedRange
from treceval_py.ranges.unjudged import unjudged_ranges as unjudged_ranges

__all__ = [
    "Sensitivity",
    "assess",
    "TieRange",
    "TiedDocuments",
    "tie_ranges",
    "tied_documents",
    "UnjudgedRange",
    "unjudged_ranges",
]
