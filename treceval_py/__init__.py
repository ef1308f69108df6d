"""treceval_py: score ranked retrieval runs against graded judgments.

>>> import treceval_py as te
>>> results = te.evaluate({"q1": {"d1": 3, "d2": 0}}, {"q1": {"d2": 1.5, "d1": 1.2}}, ["map", "nDCG@10"])
>>> round(results.mean["nDCG@10"], 4)
0.6309
"""

from treceval_py.errors import (
    DataError,
    EvaluationError,
    InputError,
    MeasureError,
    OutputError,
    TrecevalError,
    UnknownMeasureError,
)
from treceval_py.evaluation import DEFAULT_MEASURES, evaluate
from treceval_py.formats import (
    read_judgment_groups,
    read_preferences,
    read_qrels,
    read_run,
    write_qrels,
    write_run,
)
from treceval_py.judging import Hits, JudgedRun, judge
from treceval_py.measures import Measure, parse_measures
from treceval_py.profiles import PROFILES, Profile
from treceval_py.pytrec import RelevanceEvaluator, supported_measures, supported_nicknames
from treceval_py.results import Results
from treceval_py.tables import JudgmentGroups, Preference, Preferences, Qrels, Run
from treceval_py.version import __version__
from treceval_py.zscores import read_norms

__all__ = [
    "DEFAULT_MEASURES",
    "PROFILES",
    "DataError",
    "EvaluationError",
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
    "Run",
    "TrecevalError",
    "UnknownMeasureError",
    "__version__",
    "evaluate",
    "judge",
    "parse_measures",
    "read_judgment_groups",
    "read_norms",
    "read_preferences",
    "read_qrels",
    "read_run",
    "supported_measures",
    "supported_nicknames",
    "write_qrels",
    "write_run",
]
