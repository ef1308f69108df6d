"""``treceval explain QRELS RUN``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from treceval_py.cli.commands import Command
from treceval_py.cli.options import TWICE, option, output_options, repeatable, scoring_options, titled
from treceval_py.cli.printing import Output
from treceval_py.cli.progress import working
from treceval_py.errors import visible
from treceval_py.rendering import render

if TYPE_CHECKING:
    from treceval_py.explaining import Arithmetic
    from treceval_py.scoring.planning import Reading, Scoring


def _check(ctx: click.Context) -> dict[str, object]:
    """Return what is wrong with options and files."""
    chosen = ctx.params
    others = chosen["query"] is not None and (chosen["claims"] or chosen["against"])
    claimed = [word for word in chosen["files"][2:] if "=" in word]
    claimed += [f"{name}={value}" for name in chosen["claims"] for value in chosen["files"][2:] if "=" not in name]
    claim = f" A claim is written --claim {claimed[0]}." if claimed else ""
    return {
        f"Give two files, QRELS and RUN, not {len(chosen['files'])}.{claim}": len(chosen["files"]) != 2,
        TWICE: chosen["files"] == ("-", "-"),
        "--query shows the arithmetic of one query; remove --claim and --against.": others,
    }


@click.command("explain", cls=Command, peak=(300, 250), check=_check, common="-m --claim --against --query --profile")
@click.argument("files", metavar="QRELS RUN", nargs=-1)
@repeatable("--claim claims", "NAME=VALUE", "A value that another tool printed, to be explained.", "measure")
@repeatable("--against", "PROFILE", "Go to this profile, one convention at a time.", "profile")
@option("--query", "QID", "Show the arithmetic of this query, term by term.")
@scoring_options()
@titled("Output")
@output_options("table")
def explain(
    files: tuple[str, ...],
    claims: tuple[str, ...],
    against: tuple[str, ...],
    query: str | None,
    scoring: Scoring,
    reading: Reading,
    output: Output,
) -> None:
    r"""Explain how a value is computed, and why others report a different one.

    Scores RUN under every profile, finds the profile, convention or mistake behind a claimed value, and goes from our
    value to theirs, one convention at a time.

    \b
    treceval explain qrels.txt run.txt -m nDCG@10
    treceval explain qrels.txt run.txt --claim nDCG@10=0.3498
    treceval explain qrels.txt run.txt -m AP --against ranx
    treceval explain qrels.txt run.txt -m AP --query 301   arithmetic of a query
    """
    from treceval_py.explaining.explanation import explain as explained
    from treceval_py.explaining.show import document_of

    qrels, run = files
    if query is not None:
        document = document_of(_of_query(qrels, run, query, scoring, reading), output.style)
    else:
        with working(f"explaining {visible(run)}"):
            explanation = explained(qrels, run, claims=claims, against=against, scoring=scoring, **reading._asdict())
        document = document_of(explanation, output.style)
    output.put(render(document, output.format, output.style))


def _of_query(qrels: str, run: str, query: str, scoring: Scoring, reading: Reading) -> list[Arithmetic]:
    """Return the arithmetic of a query for each measure or signature."""
    from treceval_py.explaining.terms import arithmetic, run_of_query
    from treceval_py.scoring.evaluation import Evaluator
    from treceval_py.scoring.profiles import profile_of
    from treceval_py.scoring.signatures import read_signatures

    if scoring.signatures is not None:
        ways = [replace(scoring, signatures=each) for each in read_signatures(scoring.signatures)]
    else:
        asked = profile_of(scoring.profile).parse(("AP",) if scoring.measures is None else scoring.measures)
        ways = [replace(scoring, measures=each) for each in asked]
    first = Evaluator(qrels, ways[0], reading)
    alone = run_of_query(first, run, query, reading)
    return [arithmetic(first.judgments, alone, None, query, scoring=way) for way in ways]
