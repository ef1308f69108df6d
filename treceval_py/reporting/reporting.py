"""The report of runs as a page, in one call."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

from treceval_py.comparing.comparing import checked, compare_gathered, gather_given
from treceval_py.comparing.comparison import Comparison
from treceval_py.comparing.gathering import Compares
from treceval_py.comparing.outcome import Settings
from treceval_py.comparing.tests import SIMULTANEOUS
from treceval_py.corpora.named import open_texts, read_query_texts
from treceval_py.data.ids import shown
from treceval_py.data.qrels import Qrels
from treceval_py.data.run import Run
from treceval_py.errors import EvaluationError
from treceval_py.io.query_groups import AnyGroups, read_query_groups
from treceval_py.measuring import Measure
from treceval_py.reporting.documents import Passages, Rankings
from treceval_py.reporting.payload import payload_of, write_report
from treceval_py.scoring.evaluation import Evaluator
from treceval_py.scoring.opening import AnyJudgments
from treceval_py.scoring.planning import Options, settled, takes_options
from treceval_py.scoring.results import Results


class Kept:
    """What a report needs of runs, kept while they are scored, so that none is read twice."""

    def __init__(self) -> None:
        self._rankings: Rankings | None = None

    def __call__(self, evaluator: Evaluator, run: Run) -> None:
        """Keep a scored run."""
        if isinstance(evaluator.judgments, Qrels):
            if self._rankings is None:
                self._rankings = Rankings.of(evaluator)
            self._rankings.add(run)

    def payload(self, comparison: Comparison, title: str | None, **how: Any) -> dict[str, Any]:
        """Return the contents of a report of the compared runs; with a usual title if there is none."""
        # Saved results have no rankings.
        every = self._rankings is not None and len(self._rankings.runs) == len(comparison.runs)
        first, *others = comparison.runs
        usual = f"Comparison of {1 + len(others)} runs" if others else first
        return payload_of(comparison, self._rankings if every else None, title=title or usual, **how)


@takes_options
def report(
    qrels: AnyJudgments | None,
    runs: Compares | Iterable[Compares] | Mapping[str, Compares],
    path: str | os.PathLike[str],
    measures: str | Measure | Sequence[str | Measure] | None = None,
    *,
    queries: str | os.PathLike[str] | Mapping[str, str] | None = None,
    corpus: str | os.PathLike[str] | Passages | None = None,
    title: str | None = None,
    baseline: str | int | None = None,
    alpha: float = 0.05,
    groups: AnyGroups | None = None,
    resamples: int | None = None,
    seed: int = 1,
    margin: float | None = None,
    power: float = 0.8,
    names: Sequence[str] | None = None,
    force: bool = False,
    **options: Unpack[Options],
) -> Comparison:
    """Write a report on one run or several: one self-contained HTML page with tables, plots and documents.

    Parameters
    ----------
    qrels : judgments or None
        The judgments, in any form that `evaluate` accepts; None for saved results.
    runs : run, or sequence or mapping of them, length S
        Runs, results or files of saved results, as `compare` takes them. The keys of a mapping name the runs. One run
        alone is a file, a `Run` or `Results`.
    path : path
        The file to write, whole or not at all.
    measures : name, Measure or sequence of them, optional
        Measures to compare, as in `compare`.
    queries : path or mapping of str to str, optional
        The texts of queries: a file, or a dictionary by id.
    corpus : path or mapping of str to str, optional
        The texts of documents: a file, or a dictionary by id. The page has the beginnings of those it shows.
    title : str, optional
        The title of the page. Default: the name of a single run, or "Comparison of N runs".
    baseline : str or int, optional
        The run that the page initially compares with. Default: of two runs the first, else the best.
    alpha, groups, resamples, seed, margin, power, names, force
        As in `compare`.
    profile, level, complete, depth, judged_only, collection_size, signature, scoring
        How runs are scored, as in `evaluate`.
    run_format, judgment_format, max_passage, threads
        How files are read, as in `evaluate`.

    Returns
    -------
    Comparison
        The comparison on the page, which prints as a table.

    Raises
    ------
    TrecevalError
        A file cannot be read or written, a measure is unknown, or runs cannot be compared.

    Examples
    --------
    >>> import tempfile
    >>> qrels = {"1": {"a": 1}, "2": {"a": 1}}
    >>> runs = {"one": {"1": {"a": 1.0}, "2": {"b": 1.0}}, "two": {"1": {"a": 1.0}, "2": {"a": 1.0}}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report(qrels, runs, f"{folder}/report.html", "RR")["RR"].means.tolist()
    [0.5, 1.0]
    """
    if not isinstance(path, (str, os.PathLike)):
        raise EvaluationError(f"path must be a path, not {shown(path)}", "The order is qrels, runs, path.")
    by = () if groups is None else read_query_groups(groups)
    scoring, reading = settled(measures, options)
    settings = checked(Settings((SIMULTANEOUS,), alpha, resamples, seed, margin, power), reading.threads)
    texts = read_query_texts(os.fspath(queries)) if isinstance(queries, (str, os.PathLike)) else queries
    passages = open_texts(os.fspath(corpus), "document") if isinstance(corpus, (str, os.PathLike)) else corpus
    kept = Kept()
    several = [runs] if isinstance(runs, (str, os.PathLike, Run, Results)) else runs
    gathered = gather_given(qrels, several, scoring, reading, names=names, force=force, look=kept, fewest=1)
    comparison = compare_gathered(
        gathered, settings, baseline=baseline, groups=by, force=force, threads=reading.threads, fewest=1
    )
    write_report(path, kept.payload(comparison, title, texts=texts, passages=passages, baseline=baseline, command=""))
    return comparison
