# Made by docs/names.py from the table in __init__.py: change that, and run it again.

from treceval_py.checking.catalogue import CODES as CODES
from treceval_py.checking.catalogue import Code as Code
from treceval_py.checking.checking import Checked as Checked
from treceval_py.checking.findings import Finding as Finding

__all__ = [
    "CODES",
    "Code",
    "Checked",
    "Finding",
]
