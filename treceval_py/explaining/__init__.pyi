# Made by docs/names.py from the table in __init__.py: change that, and run it again.

from treceval_py.explaining.explanation import Claim as Claim
from treceval_py.explaining.explanation import Explanation as Explanation
from treceval_py.explaining.explanation import Match as Match
from treceval_py.explaining.functions import ExplainedFunction as ExplainedFunction
from treceval_py.explaining.functions import explain_function as explain_function
from treceval_py.explaining.terms import Arithmetic as Arithmetic
from treceval_py.explaining.terms import Term as Term
from treceval_py.explaining.terms import arithmetic as arithmetic
from treceval_py.explaining.variants import Variant as Variant
from treceval_py.explaining.walking import Move as Move
from treceval_py.explaining.walking import Step as Step

__all__ = [
    "Claim",
    "Explanation",
    "Match",
    "ExplainedFunction",
    "explain_function",
    "Arithmetic",
    "Term",
    "arithmetic",
    "Variant",
    "Move",
    "Step",
]
