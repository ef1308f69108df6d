"""The measures: functions of a judged run, the registry in which each is declared once, and their notation."""

from treceval_py.measuring.catalogue import SECTIONS, by_section
from treceval_py.measuring.notation import in_print_order, parse_measures
from treceval_py.measuring.registry import FAMILIES, NICKNAMES, Family, Measure, declare

__all__ = [
    "FAMILIES",
    "NICKNAMES",
    "SECTIONS",
    "Family",
    "Measure",
    "by_section",
    "declare",
    "in_print_order",
    "parse_measures",
]
