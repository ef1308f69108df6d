# Made by docs/names.py from the table in __init__.py: change that, and run it again.

from treceval_py.scoring.conventions import CONVENTIONS as CONVENTIONS
from treceval_py.scoring.conventions import Conventions as Conventions
from treceval_py.scoring.planning import Reading as Reading
from treceval_py.scoring.profiles import DEFAULT_MEASURES as DEFAULT_MEASURES
from treceval_py.scoring.profiles import PROFILES as PROFILES
from treceval_py.scoring.profiles import Profile as Profile
from treceval_py.scoring.results import check_comparable as check_comparable
from treceval_py.scoring.signatures import Signature as Signature
from treceval_py.scoring.zscores import read_norms as read_norms

__all__ = [
    "CONVENTIONS",
    "Conventions",
    "Reading",
    "DEFAULT_MEASURES",
    "PROFILES",
    "Profile",
    "check_comparable",
    "Signature",
    "read_norms",
]
