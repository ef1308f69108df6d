# Made by docs/names.py from the table in __init__.py: change that, and run it again.

from treceval_py.judges.agreeing import Agreement as Agreement
from treceval_py.judges.agreeing import agree as agree

__all__ = [
    "Agreement",
    "agree",
]
