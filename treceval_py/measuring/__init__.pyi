# Made by docs/names.py from the table in __init__.py: change that, and run it again.

from treceval_py.measuring.by_query import measure_by_query as measure_by_query
from treceval_py.measuring.catalogue import SECTIONS as SECTIONS
from treceval_py.measuring.catalogue import by_section as by_section
from treceval_py.measuring.notation import in_print_order as in_print_order
from treceval_py.measuring.notation import parse_measures as parse_measures
from treceval_py.measuring.plugins import load_plugin as load_plugin
from treceval_py.measuring.registry import FAMILIES as FAMILIES
from treceval_py.measuring.registry import NICKNAMES as NICKNAMES
from treceval_py.measuring.registry import Family as Family
from treceval_py.measuring.registry import Measure as Measure
from treceval_py.measuring.registry import declare as declare

__all__ = [
    "measure_by_query",
    "SECTIONS",
    "by_section",
    "in_print_order",
    "parse_measures",
    "load_plugin",
    "FAMILIES",
    "NICKNAMES",
    "Family",
    "Measure",
    "declare",
]
