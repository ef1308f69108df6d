"""What the authors of a paper write of a comparison: the names of measures, and a paragraph on significance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from treceval_py.comparing.show.cells import ABOVE, BELOW
from treceval_py.comparing.show.sentences import MOST_NAMES, finding, joined, procedure
from treceval_py.errors import MeasureError, visible
from treceval_py.measuring import parse_measures

if TYPE_CHECKING:
    from treceval_py.comparing.outcome import Outcome
    from treceval_py.scoring.signatures import Signature


def in_paper(comparison: Outcome) -> Outcome:
    """Return a comparison with measures named as papers write them; as they were asked for if two would be the same."""
    papers = [paper_name(compared.measure, compared.signature) for compared in comparison.measures]
    measures = tuple(
        compared._replace(measure=paper) if papers.count(paper) == 1 else compared
        for compared, paper in zip(comparison.measures, papers, strict=True)
    )
    return replace(comparison, measures=measures)


def paper_name(measure: str, signature: Signature | None) -> str:
    """Return the name of a measure as papers write it; the name itself if it is not known what it is."""
    try:
        measures = parse_measures(measure)
    except MeasureError:  # of another program's results, or of a profile
        return measure
    known = len(measures) == 1 and (signature is None or signature.measure.family is measures[0].family)
    return measures[0].paper if known else measure


def significance(comparison: Outcome, marks: Sequence[Mapping[int, str]]) -> list[str]:
    """Return sentences for the text of a paper: what came out, how runs were compared, and which differ significantly.

    Parameters
    ----------
    comparison : Outcome
        The comparison, with the names that measures have in the paper.
    marks : sequence of mapping of int to str, length M
        For each measure the mark of each run that was compared with the baseline.
    """
    if comparison.baseline is None:
        return [sentence for compared in comparison.measures for sentence in finding(comparison, compared)]
    baseline = visible(comparison.runs[comparison.baseline])
    said = [*finding(comparison, comparison.measures[0])]
    said.append(f"We compare each run with {baseline}: {procedure(comparison)}.")
    for compared, of_runs in zip(comparison.measures, marks, strict=True):
        parts = []
        for mark, words in ((ABOVE, "significantly better"), (BELOW, "significantly worse"), ("", "")):
            runs = [comparison.runs[run] for run, run_mark in of_runs.items() if run_mark == mark]
            if runs and words:
                parts.append(f"{_some(runs)} {'is' if len(runs) == 1 else 'are'} {words}")
            elif runs:
                parts.append(f"{_some(runs)} {'does' if len(runs) == 1 else 'do'} not differ significantly")
        if parts:
            said.append(f"In {visible(compared.measure)}, {'; '.join(parts)}.")
    return said


def _some(runs: Sequence[str]) -> str:
    return joined([visible(run) for run in runs]) if len(runs) <= MOST_NAMES else f"{len(runs)} runs"
