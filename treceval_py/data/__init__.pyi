# Made by docs/names.py from the table in __init__.py: change that, and run it again.

from treceval_py.data.groups import JudgmentGroups as JudgmentGroups
from treceval_py.data.preferences import Preference as Preference
from treceval_py.data.preferences import Preferences as Preferences
from treceval_py.data.query_groups import QueryGroups as QueryGroups

__all__ = [
    "JudgmentGroups",
    "Preference",
    "Preferences",
    "QueryGroups",
]
