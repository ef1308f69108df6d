"""``treceval --ties`` and ``--unjudged``: values with the ranges in which they lie."""

from __future__ import annotations

from collections.abc import Sequence

import click

from treceval_py.cli.notes import about
from treceval_py.cli.printing import put
from treceval_py.ranges.assessment import ranges_of
from treceval_py.ranges.show import RANGE_FORMATS, ranges_text
from treceval_py.scoring.evaluation import Evaluator
from treceval_py.scoring.planning import Reading, Scoring
from treceval_py.scoring.show.options import Options

__all__ = ["print_ranges"]


def print_ranges(
    scoring: Scoring,
    reading: Reading,
    qrels: str,
    runs: Sequence[str],
    options: Options,
    output_format: str | None,
    output: str | None,
    *,
    ties: bool,
    unjudged: bool,
) -> None:
    """Assess runs and print their ranges."""
    name = output_format or "table"
    if name not in RANGE_FORMATS:
        raise click.UsageError(f"Ranges are printed as {', '.join(RANGE_FORMATS)}, not as {name}.")
    evaluator = Evaluator(qrels, scoring, reading)
    found = [ranges_of(evaluator, run, ties=ties, unjudged=unjudged) for run in runs]
    put(ranges_text(found, options, name), output)
    for each in found:
        about(each.results)
