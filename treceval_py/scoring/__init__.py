"""Scoring: judgments, runs and measures become results, under conventions, profiles and signatures."""

from treceval_py import lazily

__all__, __getattr__, __dir__ = lazily(
    __name__,
    {
        "scoring.conventions": "CONVENTIONS Conventions",
        "scoring.planning": "Reading",
        "scoring.profiles": "DEFAULT_MEASURES PROFILES Profile",
        "scoring.results": "check_comparable",
        "scoring.signatures": "Signature",
        "scoring.zscores": "read_norms",
    },
)
