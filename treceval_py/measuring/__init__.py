"""The measures: functions of a judged run, the registry in which each is declared once, and their notation."""

from treceval_py import lazily
from treceval_py.measuring import catalogue as _declares_the_measures  # noqa: F401

__all__, __getattr__, __dir__ = lazily(
    __name__,
    {
        "measuring.by_query": "measure_by_query",
        "measuring.catalogue": "SECTIONS by_section",
        "measuring.notation": "in_print_order parse_measures",
        "measuring.plugins": "load_plugin",
        "measuring.registry": "FAMILIES NICKNAMES Family Measure declare",
    },
)
