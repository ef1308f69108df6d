"""What the authors of a paper write of a comparison: a paragraph on significance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from treceval_py.comparing.show.cells import ABOVE, BELOW
from treceval_py.comparing.show.sentences import MOST_NAMES, finding, joined, procedure
from treceval_py.errors import visible

if TYPE_CHECKING:
    from treceval_py.comparing.outcome import Outcome


def significance(comparison: Outcome, marks: Sequence[Mapping[int, str]]) -> list[str]:
    """Return sentences for the text of a paper: what came out, how runs were compared, and which differ significantly.

    Parameters
    ----------
    comparison : Outcome
        The comparison.
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
            said.append(f"In {visible(compared.heading)}, {'; '.join(parts)}.")
    return said


def _some(runs: Sequence[str]) -> str:
    return joined([visible(run) for run in runs]) if len(runs) <= MOST_NAMES else f"{len(runs)} runs"
