"""treceval_py: score ranked retrieval runs against graded judgments.

>>> import treceval_py as te
>>> results = te.evaluate({"q1": {"d1": 3, "d2": 0}}, {"q1": {"d2": 1.5, "d1": 1.2}}, ["map", "nDCG@10"])
>>> round(results.mean["nDCG@10"], 4)
0.6309
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from treceval_py.version import __version__

if TYPE_CHECKING:
    from treceval_py.boards.board import Board, board
    from treceval_py.checking import Finding, check
    from treceval_py.comparing import Comparison, compare
    from treceval_py.data.groups import JudgmentGroups
    from treceval_py.data.preferences import Preference, Preferences
    from treceval_py.data.qrels import Qrels
    from treceval_py.data.run import Run
    from treceval_py.errors import (
        DataError,
        EvaluationError,
        InputError,
        MeasureError,
        OutputError,
        RunnerError,
        TrecevalError,
        UnknownMeasureError,
    )
    from treceval_py.explaining import Explanation, arithmetic, explain
    from treceval_py.grading import grade, grade_one
    from treceval_py.grading.rules import Rules, read_rules
    from treceval_py.io.conversion import convert
    from treceval_py.io.judged_ranking import read_judged_ranking
    from treceval_py.io.named import read_qrels, read_run
    from treceval_py.io.trec import read_judgment_groups, read_preferences
    from treceval_py.io.writing import write_qrels, write_run
    from treceval_py.judging.judged import Hits, JudgedRun
    from treceval_py.judging.locating import judge
    from treceval_py.measures import Measure, declare, parse_measures
    from treceval_py.measures.plugins import load_plugin
    from treceval_py.ranges import Sensitivity, assess
    from treceval_py.report import report_payload, write_report
    from treceval_py.scoring.conventions import CONVENTIONS, Conventions
    from treceval_py.scoring.evaluation import DEFAULT_MEASURES, evaluate
    from treceval_py.scoring.profiles import PROFILES, Profile
    from treceval_py.scoring.pytrec import RelevanceEvaluator, supported_measures, supported_nicknames
    from treceval_py.scoring.results import Results, check_comparable
    from treceval_py.scoring.signatures import Signature
    from treceval_py.scoring.zscores import read_norms

_MODULES = {
    "treceval_py.errors": "DataError EvaluationError InputError MeasureError OutputError RunnerError "
    "TrecevalError UnknownMeasureError",
    "treceval_py.comparing": "Comparison compare",
    "treceval_py.boards.board": "Board board",
    "treceval_py.scoring.conventions": "CONVENTIONS Conventions",
    "treceval_py.scoring.evaluation": "DEFAULT_MEASURES evaluate",
    "treceval_py.explaining": "Explanation arithmetic explain",
    "treceval_py.io.conversion": "convert",
    "treceval_py.io.judged_ranking": "read_judged_ranking",
    "treceval_py.io.named": "read_qrels read_run",
    "treceval_py.io.trec": "read_judgment_groups read_preferences",
    "treceval_py.io.writing": "write_qrels write_run",
    "treceval_py.grading": "grade grade_one",
    "treceval_py.grading.rules": "Rules read_rules",
    "treceval_py.judging.judged": "Hits JudgedRun",
    "treceval_py.judging.locating": "judge",
    "treceval_py.checking": "Finding check",
    "treceval_py.measures": "Measure declare parse_measures",
    "treceval_py.measures.plugins": "load_plugin",
    "treceval_py.scoring.profiles": "PROFILES Profile",
    "treceval_py.scoring.pytrec": "RelevanceEvaluator supported_measures supported_nicknames",
    "treceval_py.report": "report_payload write_report",
    "treceval_py.scoring.results": "Results check_comparable",
    "treceval_py.ranges": "Sensitivity assess",
    "treceval_py.scoring.signatures": "Signature",
    "treceval_py.data.groups": "JudgmentGroups",
    "treceval_py.data.preferences": "Preference Preferences",
    "treceval_py.data.qrels": "Qrels",
    "treceval_py.data.run": "Run",
    "treceval_py.scoring.zscores": "read_norms",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = [
    "CONVENTIONS",
    "DEFAULT_MEASURES",
    "PROFILES",
    "Board",
    "Comparison",
    "Conventions",
    "DataError",
    "EvaluationError",
    "Explanation",
    "Finding",
    "Hits",
    "InputError",
    "JudgedRun",
    "JudgmentGroups",
    "Measure",
    "MeasureError",
    "OutputError",
    "Preference",
    "Preferences",
    "Profile",
    "Qrels",
    "RelevanceEvaluator",
    "Results",
    "Rules",
    "Run",
    "RunnerError",
    "Sensitivity",
    "Signature",
    "TrecevalError",
    "UnknownMeasureError",
    "__version__",
    "arithmetic",
    "assess",
    "board",
    "check",
    "check_comparable",
    "compare",
    "convert",
    "declare",
    "evaluate",
    "explain",
    "grade",
    "grade_one",
    "judge",
    "load_plugin",
    "parse_measures",
    "read_judged_ranking",
    "read_judgment_groups",
    "read_norms",
    "read_preferences",
    "read_qrels",
    "read_rules",
    "read_run",
    "report_payload",
    "supported_measures",
    "supported_nicknames",
    "write_qrels",
    "write_report",
    "write_run",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for: the command line starts faster without what it does not use."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
