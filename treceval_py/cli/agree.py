"""``treceval agree QRELS QRELS… [RUN…]``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from treceval_py.cli.options import (
    SCORING_OPTIONS,
    decimal,
    digits_option,
    flag,
    format_option,
    number,
    output_option,
    scoring_options,
)
from treceval_py.cli.printing import check_targets, note, put, style_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treceval_py.scoring.planning import Reading, Scoring

HELP = """Measure how judges agree, and whether they order runs alike.

QRELS are the judgments of each judge, a person or a program. RUNs are recognised by their lines; name a run in another
format with --run. The output has Cohen's kappa, weighted kappas and Krippendorff's alpha with intervals, and a table of
grades for each pair of judges. With runs, it also has the correlation of the orders of runs (Kendall's tau, AP
correlation) and the pairs of runs whose significant difference depends on the judge.

\b
treceval agree anna.qrels ben.qrels
treceval agree nist.qrels llm.qrels runs/*.txt -m nDCG@10
treceval agree anna.qrels ben.qrels -q --format csv -o agreement.csv
"""


@click.command("agree", help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", metavar="QRELS QRELS… [RUN…]", nargs=-1, required=True)
@click.option("--run", "runs", multiple=True, metavar="RUN", help="Run, folder or pattern of runs. Repeatable.")
@scoring_options("map, ndcg_cut.10, recip_rank, P.10")
@flag("--common", help="Score runs with only those judgments that all judges made.")
@flag("-q", "--per-query", "by_query", help="Show each query, too.")
@decimal("--alpha", default=0.05, help="Significance level of the tests between runs [0.05].")
@decimal("--confidence", default=0.95, help="Confidence level of the intervals [0.95].")
@number("--bootstrap", default=2000, least=100, help="Resamples of the bootstrap [2000].")
@number("--seed", default=1, help="Random seed [1].")
@format_option()
@digits_option
@output_option
def agree(
    files: tuple[str, ...],
    runs: tuple[str, ...],
    scoring: Scoring,
    reading: Reading,
    common: bool,
    by_query: bool,
    alpha: float,
    confidence: float,
    bootstrap: int,
    seed: int,
    output_format: str,
    digits: int | None,
    output: str | None,
) -> None:
    """Tell judgments from runs, compare, print."""
    from treceval_py.comparing.saved.files import run_files
    from treceval_py.judges.agreeing import agree as agreeing
    from treceval_py.judges.show import document_of
    from treceval_py.rendering import render

    if "-" in (*files, *runs):
        raise click.UsageError("Standard input (-) is not read here; name a file.")
    judgments = [each for each in files if not _is_run(each)]
    given = [*(each for each in files if each not in judgments), *runs]
    if len(judgments) < 2:
        what = "is one file" if judgments else "are no files"
        raise click.UsageError(f"There {what} of judgments, but agreement needs two or more.")
    if not given:
        _check_needless(scoring, common=common)
    check_targets([output], files)
    found = agreeing(
        _each_once(judgments),
        run_files(given, without=judgments, written=[] if output is None else [output]) if given else (),
        common=common,
        alpha=alpha,
        confidence=confidence,
        bootstrap=bootstrap,
        seed=seed,
        scoring=scoring,
        **reading._asdict(),
    )
    style = style_for(output, digits)
    text = render(document_of(found, style, by_query=by_query), output_format, style)
    put(text, output, styled=output_format == "table")
    if output_format in ("csv", "tsv"):
        note(*found.notes)


def _check_needless(scoring: Scoring, *, common: bool) -> None:
    """Refuse options that have no effect without runs; level and profile still decide what is relevant."""
    from treceval_py.scoring.planning import Scoring

    alpha = click.get_current_context().get_parameter_source("alpha") is ParameterSource.COMMANDLINE
    unset = Scoring()
    needless = [
        next(name for name in option.spellings if name.startswith("--"))
        for field, option in SCORING_OPTIONS.items()
        if field not in ("level", "profile") and getattr(scoring, field) != getattr(unset, field)
    ]
    needless += [option for option, is_given in {"--common": common, "--alpha": alpha}.items() if is_given]
    if needless:
        raise click.UsageError(f"{needless[0]} needs runs.")


def _each_once(files: Sequence[str]) -> Sequence[str]:
    """Refuse a file that is given twice, even by different paths: a judge always agrees with himself."""
    import os

    places = [os.path.realpath(file) for file in files]
    for at, file in enumerate(files):
        if places[at] in places[:at]:
            raise click.UsageError(f"{file} is given twice; remove one.")
    return files


def _is_run(path: str) -> bool:
    """Tell by its first lines whether a file is a run; folders and patterns always are."""
    import glob
    import os

    from treceval_py.checking.causes import looks_like
    from treceval_py.io.source import peek

    if os.path.isdir(path) or (glob.has_magic(path) and not os.path.lexists(path)):
        return True
    if path.startswith("ir_datasets:"):
        return False
    head, _ = peek(path, 1 << 12)
    kind = looks_like(head)
    return kind is not None and kind.name != "qrels"
