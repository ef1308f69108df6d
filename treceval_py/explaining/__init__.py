"""Why two numbers differ: scores under every convention, claims that these reproduce, and walks between two."""

from treceval_py import lazily

__all__, __getattr__, __dir__ = lazily(
    __name__,
    {
        "explaining.explanation": "Claim Explanation Match",
        "explaining.functions": "ExplainedFunction explain_function",
        "explaining.terms": "Arithmetic Term arithmetic",
        "explaining.variants": "Variant",
        "explaining.walking": "Move Step",
    },
)
