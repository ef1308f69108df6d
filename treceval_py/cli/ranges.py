"""``treceval --ties`` and ``--unjudged``: values with the ranges in which they lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from treceval_py.cli.notes import about
from treceval_py.cli.printing import put
from treceval_py.ranges import assess
from treceval_py.ranges.show import RANGE_FORMATS, ranges_text
from treceval_py.scoring.show.options import Options

if TYPE_CHECKING:
    from treceval_py.cli.score import Job

__all__ = ["print_ranges"]


def print_ranges(
    job: Job,
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
    judgments = job.judgments(qrels)
    found = [
        assess(
            judgments,
            run,
            job.measures,
            ties=ties,
            unjudged=unjudged,
            level=job.level,
            complete=job.complete,
            depth=job.depth,
            judged_only=job.judged_only,
            profile=job.profile,
            run_format=job.run_format,
        )
        for run in runs
    ]
    put(ranges_text(found, options, name), output)
    for each in found:
        about(each.results)
