"""Agreement of judges on the relevance of documents, and its effect on the order of runs."""

from treceval_py import lazily

__all__, __getattr__, __dir__ = lazily(
    __name__,
    {
        "judges.agreeing": "Agreement agree",
    },
)
