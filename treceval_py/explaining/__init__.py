"""Why two numbers differ: scores under every convention, claims that these reproduce, and walks between two."""

from treceval_py.explaining.explanation import Claim, Explanation, Match, explain, read_claim
from treceval_py.explaining.terms import Arithmetic, Term, arithmetic
from treceval_py.explaining.variants import Variant, profile_variants, variants_of
from treceval_py.explaining.walking import Move, Step, walk

__all__ = [
    "Arithmetic",
    "Claim",
    "Explanation",
    "Match",
    "Move",
    "Step",
    "Term",
    "Variant",
    "arithmetic",
    "explain",
    "profile_variants",
    "read_claim",
    "variants_of",
    "walk",
]
