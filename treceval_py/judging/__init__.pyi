# Made by docs/names.py from the table in __init__.py: change that, and run it again.

from treceval_py.judging.judged import Hits as Hits
from treceval_py.judging.judged import JudgedRun as JudgedRun
from treceval_py.judging.judged import RankedQuery as RankedQuery
from treceval_py.judging.locating import judge as judge

__all__ = [
    "Hits",
    "JudgedRun",
    "RankedQuery",
    "judge",
]
