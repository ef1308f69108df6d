"""treceval_py: score ranked retrieval runs against graded judgments.

>>> import treceval_py as te
>>> results = te.evaluate({"q1": {"d1": 3, "d2": 0}}, {"q1": {"d2": 1.5, "d1": 1.2}}, ["map", "nDCG@10"])
>>> round(results.mean["nDCG@10"], 4)
0.6309
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# Public names by module. Type checkers read them from __init__.pyi, which docs/names.py generates.
_MODULES = {
    "treceval_py.boards.board": "Board board",
    "treceval_py.boards.over": "CollectionsBoard board_over",
    "treceval_py.checking": "Finding check",
    "treceval_py.comparing": "Comparison compare",
    "treceval_py.comparing.saved.results": "read_results",
    "treceval_py.data.groups": "JudgmentGroups",
    "treceval_py.data.preferences": "Preference Preferences",
    "treceval_py.data.qrels": "Qrels",
    "treceval_py.data.query_groups": "QueryGroups",
    "treceval_py.data.run": "Run",
    "treceval_py.errors": "DataError EvaluationError InputError MeasureError MissingQueriesWarning OutputError "
    "RunnerError SuspectRunWarning TrecevalError TrecevalWarning UnknownMeasureError",
    "treceval_py.explaining": "Explanation arithmetic explain",
    "treceval_py.fusing.fusing": "fuse",
    "treceval_py.fusing.tuning": "Tuned TunedFusion tune_fusion",
    "treceval_py.gating": "Verdict gate",
    "treceval_py.grading": "grade grade_course grade_one",
    "treceval_py.grading.people": "Roster read_roster",
    "treceval_py.grading.rules": "Rules read_rules",
    "treceval_py.io.conversion": "convert",
    "treceval_py.io.judged_ranking": "read_judged_ranking",
    "treceval_py.io.named": "read_qrels read_run",
    "treceval_py.io.query_groups": "read_query_groups",
    "treceval_py.io.trec": "read_judgment_groups read_preferences",
    "treceval_py.io.writing": "write_qrels write_run",
    "treceval_py.judges": "Agreement agree",
    "treceval_py.judging.judged": "Hits JudgedRun RankedQuery",
    "treceval_py.judging.locating": "judge",
    "treceval_py.measuring": "Measure declare parse_measures",
    "treceval_py.measuring.by_query": "measure_by_query",
    "treceval_py.measuring.plugins": "load_plugin",
    "treceval_py.ranges": "Sensitivity assess",
    "treceval_py.reporting": "report_payload write_report",
    "treceval_py.scoring.conventions": "CONVENTIONS Conventions",
    "treceval_py.scoring.evaluation": "Evaluator evaluate",
    "treceval_py.scoring.planning": "Reading Scoring",
    "treceval_py.scoring.profiles": "DEFAULT_MEASURES PROFILES Profile",
    "treceval_py.scoring.pytrec": "RelevanceEvaluator compute_aggregated_measure parse_qrel parse_run "
    "supported_measures supported_nicknames",
    "treceval_py.scoring.results": "Results check_comparable",
    "treceval_py.scoring.signatures": "Signature",
    "treceval_py.scoring.zscores": "read_norms",
    "treceval_py.version": "__version__",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = list(_MODULE_OF)


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that the command line starts faster."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, for completion in editors and notebooks."""
    return __all__
