"""The payload of a report: everything its page shows, as JSON-compatible data."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treceval_py.data.ids import shown
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import limit_of
from treceval_py.data.run import Run
from treceval_py.errors import EvaluationError
from treceval_py.io.digests import base_name
from treceval_py.io.target import written_whole
from treceval_py.rendering.envelope import plain
from treceval_py.report.curves import Basis, basis_of, curves_of
from treceval_py.report.warnings import warnings_of
from treceval_py.scoring.evaluation import AnyJudgments, AnyRun, load_judgments, load_run
from treceval_py.scoring.profiles import PROFILES
from treceval_py.scoring.signatures import concise

if TYPE_CHECKING:
    from treceval_py.comparing.comparison import Comparison

__all__ = ["OVERLAP_DEPTH", "PERSISTENCE", "report_payload", "write_report"]

SUMMARY = ("queries", "test", "groups")
"""Sentences shown below the table of means; the others are below the differences."""

OVERLAP_DEPTH = 100
"""Depth to which lists are compared."""

PERSISTENCE = 0.9
"""The p of RBO: the first ten ranks have 86 % of the weight (Webber, Moffat, Zobel, TOIS 2010)."""


def report_payload(
    comparison: Comparison,
    *,
    qrels: AnyJudgments | None = None,
    runs: Iterable[AnyRun] | Mapping[str, AnyRun] | None = None,
    texts: Mapping[str, str] | None = None,
    title: str = "Comparison of runs",
    command: str = "",
) -> dict[str, Any]:
    """Return the contents of a report as JSON-compatible data.

    Parameters
    ----------
    comparison : Comparison
        The comparison.
    qrels : judgments, optional
        The judgments in any form that `evaluate` accepts, for curves and warnings.
    runs : sequence or mapping of runs, length S, optional
        The runs in any form that `evaluate` accepts and in the order of the comparison, for curves, warnings and
        overlap; without them, as where results were saved, these are left out.
    texts : mapping of str to str, optional
        The texts of queries; those that were not compared are left out.
    title : str
        The title of the page.
    command : str
        The command that made it.

    Returns
    -------
    dict
        ``title``, ``made`` (version, command, date), ``judgments``, ``queries`` (ids by measure), ``texts``, ``runs``
        (name, file, tag), ``baseline`` (a number of a run), ``confidence`` (of all intervals), ``measures`` (name,
        signature, long, means, low, high, best, letters, marks, adjusted, values), ``summary_sentences``,
        ``differences_html``, ``precision_recall``, ``recall_at_depth``, ``overlap``, ``warnings`` (run, kind, text) and
        ``reproduce`` (commands). Lists by run have S entries, ``values`` is S × Q. What is not known, or no finite
        number, is None. The values of queries have 6 significant digits, all other numbers all of theirs. The same data
        give the same payload: it has no date.

    Raises
    ------
    EvaluationError
        There is not a run for each name, or a query that was compared is not judged.
    DataError
        A run is to be ranked by ranks that it has not.
    """
    from treceval_py.comparing.comparison import Comparison
    from treceval_py.comparing.show.figures import measure_payload
    from treceval_py.comparing.show.sentences import methods, notes
    from treceval_py.comparing.show.tables import differences_html

    if not isinstance(comparison, Comparison):
        raise EvaluationError(f"{shown(comparison)} is not a comparison", "Give what te.compare returned.")
    if texts is not None and not isinstance(texts, Mapping):
        raise EvaluationError(f"texts of queries cannot be {shown(texts)}", "Give a dictionary {qid: text}.")
    given_runs: Any = runs.values() if isinstance(runs, Mapping) and not isinstance(runs, Run) else runs
    runs, qrels = _tables(given_runs), None if qrels is None else load_judgments(qrels)
    if runs is not None and len(runs) != len(comparison.runs):
        raise EvaluationError(
            f"there are {len(runs)} tables for {len(comparison.runs)} compared runs",
            "Give one table per run, in the same order.",
        )
    if qrels is not None and not isinstance(qrels, Qrels):
        raise EvaluationError("the judgments of a report must be relevance judgments (qrels)", "Leave them out.")
    given = () if runs is None else tuple(base_name(run.name) for run in runs)
    if given != comparison.files and sorted(given) == sorted(comparison.files):
        raise EvaluationError("the runs are not in the order of the comparison", "Give them in that order.")
    basis = basis_of(comparison)
    compared = {qid for each in comparison.measures for qid in each.qids}
    said = methods(comparison)
    payload = {
        "title": title,
        "made": {"version": comparison.version, "command": command, "date": None},
        "judgments": comparison.judgments_name,
        "queries": {each.measure: list(each.qids) for each in comparison.measures},
        "texts": {qid: text for qid, text in (texts or {}).items() if qid in compared},
        "runs": _runs(comparison, runs),
        "baseline": comparison.baseline,
        "confidence": comparison.settings.confidence,
        "measures": [measure_payload(comparison, each) for each in comparison.measures],
        "summary_sentences": [*(said[subject] for subject in SUMMARY if subject in said), *notes(comparison)],
        "differences_html": differences_html(comparison),
        **_curves(basis, qrels, runs),
        "overlap": _overlap(comparison, basis, runs),
        "warnings": [each._asdict() for each in warnings_of(comparison, qrels, runs)],
        "reproduce": _reproduce(comparison, qrels, runs, command),
    }
    safe: dict[str, Any] = plain(payload)
    return safe


def _tables(runs: Any) -> list[Run] | None:
    """Return the runs of a report as tables."""
    if runs is None:
        return None
    if isinstance(runs, (str, os.PathLike, Run)) or hasattr(type(runs), "columns") or not isinstance(runs, Iterable):
        raise EvaluationError(f"the runs of a report must be a list, not {shown(runs)}", "Give one for each name.")
    return [load_run(run) for run in runs]


def write_report(path: str | os.PathLike[str], payload: Mapping[str, Any]) -> None:
    """Write the page of a payload to a file, whole or not at all.

    Parameters
    ----------
    path : path
        The file.
    payload : mapping
        What `report_payload` returned.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    from treceval_py.report.page import page

    if not isinstance(payload, Mapping) or "measures" not in payload:
        raise EvaluationError(f"{shown(payload)} is not a payload", "Give what te.report_payload returned.")
    made = page(payload).encode("utf-8")
    with written_whole(path) as stream:
        stream.write(made)


def _runs(comparison: Comparison, runs: Sequence[Run] | None) -> list[dict[str, str]]:
    tags = [""] * len(comparison.runs) if runs is None else [run.tag for run in runs]
    return [
        {"name": name, "file": file, "tag": tag}
        for name, file, tag in zip(comparison.runs, comparison.files, tags, strict=True)
    ]


def _curves(basis: Basis, qrels: Qrels | None, runs: Sequence[Run] | None) -> dict[str, Any]:
    if qrels is None or runs is None:
        return {"precision_recall": None, "recall_at_depth": None}
    found = curves_of(basis, qrels, runs)
    return {
        "precision_recall": {"recall": list(found.recalls), "precision": found.precision.tolist()},
        "recall_at_depth": {"depth": list(found.depths), "recall": found.recall.tolist()},
    }


def _overlap(comparison: Comparison, basis: Basis, runs: Sequence[Run] | None) -> dict[str, Any] | None:
    """Return the similarity of the lists of each pair of runs; None if no query has documents of all runs."""
    if runs is None:
        return None
    from treceval_py.comparing.agreement import overlap_of_runs

    ranking = basis.conventions.ranking()
    depth = min(OVERLAP_DEPTH, limit_of(ranking.depth))
    # The queries that were compared can be such that one run or another lacks each of them, and a depth can be 0.
    common = set(basis.qids).intersection(*(_with_documents(run) for run in runs))
    if not common or not depth:
        return None
    found = overlap_of_runs(
        runs, names=comparison.runs, depth=depth, p=PERSISTENCE, ranking=ranking._replace(depth=None), qids=basis.qids
    )
    return {
        "rbo": found.rbo.tolist(),
        "shared": found.shared.tolist(),
        "tau": found.tau.tolist(),
        "depth": depth,
        "p": PERSISTENCE,
        "queries": found.queries,
    }


def _with_documents(run: Run) -> set[str]:
    return {qid for qid, length in zip(run.qids, np.diff(run.offsets).tolist(), strict=True) if length}


def _reproduce(comparison: Comparison, qrels: Qrels | None, runs: Sequence[Run] | None, command: str) -> list[str]:
    """Return the command that made the report, and one that computes the averages again from the signatures.

    The second one is there where it gives the numbers of the page: not where queries are left out of some runs, nor of
    judgments other than relevance judgments, which it could not tell how to read.
    """
    commands = [command] if command else []
    signatures = [each.signature for each in comparison.measures if each.signature is not None]
    files = [comparison.judgments_name, *comparison.files]
    # What came from Python or from a pipe has a name such as <run>, and saved results are not scored again.
    if runs is None or len(signatures) < len(comparison.measures) or not all(map(_is_file, files)):
        return commands
    if qrels is None or any(each.left_out for each in comparison.measures):
        return commands
    by_measure = {concise(each.measure).notation: each for each in signatures}  # one may have been asked for twice
    # The short form of a profile of somebody's own could not be read back.
    written = [each.short if each.profile in PROFILES else each.long for each in by_measure.values()]
    options = [part for signature in written for part in ("--repeat", signature)]
    return [*commands, _command_line(["treceval", *options, *(f"./{f}" if f.startswith("-") else f for f in files)])]


def _is_file(name: str) -> bool:
    return bool(name) and name != "-" and not name.startswith("<")


def _command_line(words: Iterable[str]) -> str:
    import shlex

    return shlex.join(words)
