"""How much values depend on the order of documents with equal scores, and on missing judgments."""

from treceval_py import lazily

__all__, __getattr__, __dir__ = lazily(
    __name__,
    {
        "ranges.assessment": "Sensitivity assess",
        "ranges.ties": "TieRange TiedDocuments tie_ranges tied_documents",
        "ranges.unjudged": "UnjudgedRange unjudged_ranges",
    },
)
