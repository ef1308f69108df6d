"""The measures: functions of a judged run, the registry in which each is declared once, and their notation."""

from treceval_py.measures import catalogue as _catalogue  # noqa: F401 - declares the measures
from treceval_py.measures.notation import in_print_order, parse_measures
from treceval_py.measures.registry import FAMILIES, NICKNAMES, Family, Measure, declare

__all__ = ["FAMILIES", "NICKNAMES", "Family", "Measure", "declare", "in_print_order", "parse_measures"]
