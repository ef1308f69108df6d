"""``treceval --ties`` and ``--unjudged``: values with their ranges."""

from __future__ import annotations

from collections.abc import Sequence

import click

from treceval_py.cli.printing import note, put
from treceval_py.ranges.assessment import ranges_of
from treceval_py.ranges.show import ranges_text
from treceval_py.rendering import FORMATS
from treceval_py.rendering.style import Style
from treceval_py.scoring.evaluation import Evaluator
from treceval_py.scoring.planning import Reading, Scoring
from treceval_py.scoring.show import Options, about


def print_ranges(
    scoring: Scoring,
    reading: Reading,
    qrels: str,
    runs: Sequence[str],
    options: Options,
    style: Style,
    output_format: str | None,
    output: str | None,
    *,
    ties: bool,
    unjudged: bool,
) -> None:
    """Assess runs and print their ranges."""
    name = output_format or "table"
    if name not in FORMATS:
        raise click.UsageError(f"Ranges cannot be printed as {name}; choose {', '.join(FORMATS)}.")
    evaluator = Evaluator(qrels, scoring, reading)
    found = [ranges_of(evaluator, run, ties=ties, unjudged=unjudged) for run in runs]
    notes = [line for each in found for line in about(each.results)]
    put(ranges_text(found, name, options, style, notes), output, styled=name == "table")
    note(*notes)
