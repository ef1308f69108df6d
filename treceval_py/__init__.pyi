# Made by docs/names.py from the table in __init__.py: change that, and run it again.

from treceval_py import boards as boards
from treceval_py import checking as checking
from treceval_py import comparing as comparing
from treceval_py import data as data
from treceval_py import errors as errors
from treceval_py import explaining as explaining
from treceval_py import fusing as fusing
from treceval_py import gating as gating
from treceval_py import grading as grading
from treceval_py import integrations as integrations
from treceval_py import io as io
from treceval_py import judges as judges
from treceval_py import judging as judging
from treceval_py import listing as listing
from treceval_py import measuring as measuring
from treceval_py import pooling as pooling
from treceval_py import ranges as ranges
from treceval_py import reporting as reporting
from treceval_py import retrieval as retrieval
from treceval_py import scoring as scoring
from treceval_py.boards.board import board as board
from treceval_py.checking.checking import check as check
from treceval_py.comparing.comparing import compare as compare
from treceval_py.data.qrels import Qrels as Qrels
from treceval_py.data.run import Run as Run
from treceval_py.explaining.explanation import explain as explain
from treceval_py.fusing.fusing import fuse as fuse
from treceval_py.io.conversion import convert as convert
from treceval_py.io.named import read_qrels as read_qrels
from treceval_py.io.named import read_run as read_run
from treceval_py.io.writing import write_run as write_run
from treceval_py.listing.listing import measures as measures
from treceval_py.listing.listing import profiles as profiles
from treceval_py.reporting.reporting import report as report
from treceval_py.scoring.evaluation import Evaluator as Evaluator
from treceval_py.scoring.evaluation import evaluate as evaluate
from treceval_py.scoring.planning import Scoring as Scoring
from treceval_py.scoring.pytrec import RelevanceEvaluator as RelevanceEvaluator
from treceval_py.scoring.pytrec import compute_aggregated_measure as compute_aggregated_measure
from treceval_py.scoring.pytrec import parse_qrel as parse_qrel
from treceval_py.scoring.pytrec import parse_run as parse_run
from treceval_py.scoring.pytrec import supported_measures as supported_measures
from treceval_py.scoring.pytrec import supported_nicknames as supported_nicknames
from treceval_py.scoring.results import Results as Results
from treceval_py.version import __version__ as __version__

__all__ = [
    "board",
    "check",
    "compare",
    "Qrels",
    "Run",
    "explain",
    "fuse",
    "convert",
    "read_qrels",
    "read_run",
    "write_run",
    "measures",
    "profiles",
    "report",
    "Evaluator",
    "evaluate",
    "Scoring",
    "Results",
    "__version__",
]
