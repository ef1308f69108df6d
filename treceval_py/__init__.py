"""Score ranked retrieval runs against relevance judgments, compare them, and explain every number.

>>> import treceval_py as te
>>> results = te.evaluate({"q1": {"d1": 3, "d2": 0}}, {"q1": {"d2": 1.5, "d1": 1.2}}, ["map", "nDCG@10"])
>>> round(results.mean["nDCG@10"], 4)
0.6309

Judgments come first, then the run or the runs: paths, dictionaries, frames, arrays or tables.
``help(te.evaluate)`` describes a function with its arguments.

Score
    evaluate, Evaluator     a run once; one run after another, as in training
    compare                 runs: means, differences, significance
    report                  a page on one run, or on several and their differences
    board                   all runs of a folder, best first
    Results                 what `evaluate` returns: `mean`, values of queries, `to_pandas`, `save`
    Scoring                 all settings that decide a value

Trust
    check                   mistakes in judgments and runs, with their lines
    explain                 why two numbers differ
    measures, profiles      names to ask for; programs whose numbers can be repeated

Read, write, make
    read_qrels, read_run, write_run, convert, Qrels, Run
    fuse                    one run from several

Everything else is in packages, loaded when they are used: ``te.grading.grade``.
    boards         collections: `board_over`
    checking       findings and their codes
    comparing      what `compare` returns; `read_results`
    data           judgments of groups, preferences, groups of queries
    errors         `TrecevalError`, from which all errors derive, and warnings
    explaining     a query term by term: `arithmetic`
    fusing         weights found by cross-validation: `tune_fusion`
    gating         may a candidate replace a baseline: `gate`
    grading        coursework: `grade`, `grade_one`, `grade_course`
    integrations   inside ir_measures, BEIR, MTEB, sentence-transformers
    io             other files: `write_qrels`, `read_preferences`
    judges         agreement of judges: `agree`
    judging        judged runs, from which measures are computed: `judge`
    listing        what `measures` and `profiles` return
    measuring      measures of your own: `declare`, `measure_by_query`
    pooling        which documents to judge next: `pool`
    ranges         values under other orders of ties and other judgments: `assess`
    reporting      pictures and contents of pages
    retrieval      runs from texts: `retrieve`, `rerank`
    scoring        profiles, conventions, signatures

The names of pytrec_eval are here too: ``import treceval_py as pytrec_eval``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

MODULES: dict[str, dict[str, str]] = {}
"""The modules of public names, by package; ``""`` for a name that is itself a module."""


def lazily(
    package: str, modules: Mapping[str, str], unlisted: Mapping[str, str] | None = None
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package that imports public names when they are used.

    Names stand by the module that has them. Type checkers see them in ``__init__.pyi``, which docs/names.py writes.
    """
    listed = [name for names in modules.values() for name in names.split()]
    module_of = {
        name: module for table in (modules, unlisted or {}) for module in table for name in table[module].split()
    }
    MODULES[package] = module_of

    def attribute(name: str) -> Any:
        if name not in module_of:
            # With `obj`, Python appends no suggestion of its own.
            raise AttributeError(f"module {package!r} has no attribute {name!r}{_nearest(package, name)}", obj=None)
        module = module_of[name]
        value = getattr(import_module(f"treceval_py.{module}"), name) if module else import_module(f"{package}.{name}")
        setattr(sys.modules[package], name, value)
        return value

    return listed, attribute, lambda: listed


def _nearest(package: str, name: str) -> str:
    """Return a hint on a name that a package lacks: where it is, or the name that was meant."""
    if name.startswith("_"):  # which programs ask for
        return ""
    from difflib import get_close_matches

    if package == __name__ and name in ("calc_aggregate", "iter_calc", "calc"):
        return ". Use treceval_py.evaluate(qrels, run, measures).mean"
    if package == __name__ and import_module("treceval_py.measuring.notation").is_measure(name):
        return f". {name} is a measure: treceval_py.evaluate(qrels, run, [{name!r}])"
    names = {}
    for other in (package, __name__, *(f"{__name__}.{other}" for other in _PACKAGES.split())):
        for public in dir(import_module(other)):
            if not public.startswith("_"):
                names.setdefault(public, f"{other}.{public}")
    here = [public for public in names if names[public] == f"{package}.{public}"]
    near = [name] if name in names else []
    near = near or get_close_matches(name, here, 1, 0.75) or get_close_matches(name, names, 1, 0.75)
    return f". Use {names[near[0]]}" if near else ". help(treceval_py) lists what there is"


_PACKAGES = (
    "boards checking comparing data errors explaining fusing gating grading integrations io judges judging listing "
    "measuring pooling ranges reporting retrieval scoring"
)

_LISTED, _attribute, __dir__ = lazily(
    __name__,
    {
        "boards.board": "board",
        "checking.checking": "check",
        "comparing.comparing": "compare",
        "data.qrels": "Qrels",
        "data.run": "Run",
        "explaining.explanation": "explain",
        "fusing.fusing": "fuse",
        "io.conversion": "convert",
        "io.named": "read_qrels read_run",
        "io.writing": "write_run",
        "listing.listing": "measures profiles",
        "reporting.reporting": "report",
        "scoring.evaluation": "Evaluator evaluate",
        "scoring.planning": "Scoring",
        "scoring.results": "Results",
        "version": "__version__",
    },
    unlisted={
        "": _PACKAGES,
        "scoring.pytrec": "RelevanceEvaluator compute_aggregated_measure parse_qrel parse_run supported_measures "
        "supported_nicknames",
    },
)


def __getattr__(name: str) -> Any:
    """Import a public name when it is used; ``help()`` prints the map above, not the methods of each class."""
    if name == "__all__" and sys._getframe(1).f_code.co_name != "docmodule":
        return _LISTED
    return _attribute(name)
