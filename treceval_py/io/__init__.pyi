# Made by docs/names.py from the table in __init__.py: change that, and run it again.

from treceval_py.io.judged_ranking import read_judged_ranking as read_judged_ranking
from treceval_py.io.query_groups import read_query_groups as read_query_groups
from treceval_py.io.trec import read_judgment_groups as read_judgment_groups
from treceval_py.io.trec import read_preferences as read_preferences
from treceval_py.io.writing import write_qrels as write_qrels

__all__ = [
    "read_judged_ranking",
    "read_query_groups",
    "read_judgment_groups",
    "read_preferences",
    "write_qrels",
]
