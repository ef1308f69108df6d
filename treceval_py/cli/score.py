"""``treceval [score] QRELS RUN [RUN…]``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeAlias

import click

from treceval_py.cli.group import PrefixCommand
from treceval_py.cli.printing import note, put
from treceval_py.cli.progress import progress
from treceval_py.errors import MeasureError
from treceval_py.evaluation import DEFAULT_MEASURES, check_kinds, evaluate, load_judgments
from treceval_py.formats.trec import JUDGMENT_FORMATS
from treceval_py.measures import in_print_order, parse_measures
from treceval_py.measures.parameters import integer
from treceval_py.output import FORMATS, Options
from treceval_py.profiles import DEFAULT_PROFILE, PROFILES, profile_named
from treceval_py.results import Results
from treceval_py.scanner import reader_name
from treceval_py.streaming import MOST_THREADS
from treceval_py.tables import first_of
from treceval_py.version import __version__
from treceval_py.zscores import read_norms

__all__ = ["score"]

Callback: TypeAlias = Callable[..., Any]

MOST_DIGITS = 60
"""A float64 has at most 17 significant digits; more are only zeros and what binary makes of a decimal."""

HELP = """Score RUNs against the judgments in QRELS, with trec_eval's measures and numbers.

QRELS has lines of "qid iteration docid rel", RUN lines of "qid Q0 docid rank score tag". Either may be compressed
(gzip, bzip2, xz, zstd), a pipe, or - for standard input.

\b
treceval qrels.txt run.txt                 official measures, ndcg, ndcg_cut_10
treceval -q -m map -m nDCG@10 qrels.txt run.txt
treceval -m ndcg qrels.txt a.txt b.txt     a table with a column for each run
treceval measures ndcg                     what a measure is

Commands beside this one: measures (list and explain measures). 'score' is this command's own name and may be left out.
"""


def _whole_number(text: str, least: int, most: int | None) -> int:
    """Return the whole number that an option was given, or fail as a usage error."""
    try:
        number = integer(str(text))
    except MeasureError as error:
        raise click.BadParameter(f"{error.what}.") from None
    if number < least:
        raise click.BadParameter(f"{number} is not {least} or more.")
    if most is not None and number > most:
        raise click.BadParameter(f"{number} is more than {most}.")
    return number


def _number(
    *names: str, help: str, default: int | None = None, least: int = 0, most: int | None = None
) -> Callable[[Callback], Callback]:
    def whole_number(text: str) -> int:
        return _whole_number(text, least, most)

    return click.option(*names, type=whole_number, metavar="N", default=default, help=help)


def _flag(*names: str, help: str) -> Callable[[Callback], Callback]:
    return click.option(*names, is_flag=True, help=help)


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        put(f"treceval_py {__version__} (agrees with trec_eval 10.0 and 9.0.8; reader: {reader_name()})\n", None)
        ctx.exit()


@click.command("score", cls=PrefixCommand, help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("qrels", metavar="QRELS")
@click.argument("runs", metavar="RUN [RUN…]", nargs=-1, required=True)
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="NAME",
    help="Compute this measure; may be repeated. A measure (map), with parameters (P.5,10 or nDCG@10), or a set of "
    "them (official, set, all_trec, prefs, all_prefs, qrels_jg). Default: official, ndcg, ndcg_cut.10.",
)
@_flag("-q", "--query_eval_wanted", "per_query", help="Print each query too.")
@_flag("-n", "--nosummary", "no_summary", help="Do not print the average over queries.")
@_flag(
    "-c",
    "--complete_rel_info_wanted",
    "complete",
    help="Average over all judged queries: one that the run lacks counts as an empty ranking.",
)
@_number("-l", "--level_for_rel", "level", default=1, help="Least judgment that is relevant [1].")
@_number("-M", "--Max_retrieved_per_topic", "depth", help="Use the first N documents of each query.")
@_flag("-J", "--Judged_docs_only", "judged_only", help="Take out documents without a judgment.")
@_number("-N", "--Number_docs_in_coll", "collection_size", default=0, help="Documents in the collection [0].")
@click.option(
    "-R",
    "--Rel_info_format",
    "judgment_format",
    type=click.Choice(list(JUDGMENT_FORMATS)),
    default="qrels",
    help="How QRELS is written [qrels].",
)
@click.option(
    "-T",
    "--Results_format",
    "run_format",
    type=click.Choice(["trec_results"]),
    default="trec_results",
    help="How RUN is written [trec_results].",
)
@click.option("-Z", "--Zscore", "norms", metavar="FILE", help="Print z-scores by FILE: qid measure mean deviation.")
@click.option(
    "--profile",
    default=DEFAULT_PROFILE,
    metavar="NAME",
    help=f"Conventions of ranking and averaging: {', '.join(PROFILES)} [{DEFAULT_PROFILE}].",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(list(FORMATS)),
    help="How to print [trec for one run, table for several].",
)
@_number("--digits", most=MOST_DIGITS, help="Decimals of values [4; all of them in csv, tsv and json].")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE, whole or not at all.")
@_number(
    "--threads",
    least=1,
    most=MOST_THREADS,
    help="Read a run with N threads [the cores that this process may use; the Python reader has one].",
)
@click.option(
    "-v",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version.",
)
def score(
    qrels: str,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    per_query: bool,
    no_summary: bool,
    complete: bool,
    level: int,
    depth: int | None,
    judged_only: bool,
    collection_size: int,
    judgment_format: str,
    run_format: str,  # noqa: ARG001 - there is one so far, and naming it is allowed
    norms: str | None,
    profile: str,
    output_format: str | None,
    digits: int | None,
    output: str | None,
    threads: int | None,
) -> None:
    """Score runs: read, evaluate, print."""
    if [qrels, *runs].count("-") > 1:
        raise click.UsageError("Standard input (-) can be read only once.")
    rules = profile_named(profile)
    wanted = in_print_order(parse_measures(measures or DEFAULT_MEASURES, leaves_out=rules.leaves_out))
    judgments = load_judgments(qrels, judgment_format)
    check_kinds(wanted, judgments)
    table = read_norms(norms) if norms is not None else None
    scored: list[Results] = []
    with progress(runs) as bar:
        for file in runs:
            results = evaluate(
                judgments,
                file,
                wanted,
                level=level,
                complete=complete,
                depth=depth,
                judged_only=judged_only,
                collection_size=collection_size,
                profile=rules,
                threads=threads,
                watch=None if bar is None else bar.watch,
            )
            scored.append(results if table is None else results.standardise(table))
            if bar is not None:
                bar.next()
    name = output_format or ("trec" if len(runs) == 1 else "table")
    colour = output is None and sys.stdout is not None and sys.stdout.isatty()
    options = Options(per_query=per_query, summary=not no_summary, digits=digits, colour=colour)
    text = FORMATS[name](scored, options)
    put(text, output)
    # Only now, so that output that cannot be written has one line to say so.
    for results in scored:
        _notes(results)


def _notes(results: Results) -> None:
    if results.missing:
        count = len(results.missing)
        are = "judged query is" if count == 1 else "judged queries are"
        if results.complete:
            what = "and counts as an empty ranking" if count == 1 else "and count as empty rankings"
        else:
            what = "and left out; -c counts " + ("it" if count == 1 else "them")
        if not set(results.qids) - set(results.missing):
            note(
                f"{results.run_name}: no query of the run is judged in {results.judgments_name}; is it the right file?"
            )
        note(f"{results.run_name}: {count} {are} missing ({first_of(results.missing)}), {what}.")
    if results.unjudged:
        count = len(results.unjudged)
        have = "query of the run has" if count == 1 else "queries of the run have"
        are = "is" if count == 1 else "are"
        note(f"{results.run_name}: {count} {have} no judgments ({first_of(results.unjudged)}) and {are} not scored.")
    _about_ranks(results)


def _about_ranks(results: Results) -> None:
    found = results.contradictions
    if not found:
        return
    queries = len(results.unjudged) + len(set(results.qids) - set(results.missing))
    where = f"{results.run_name}: in {len(found.qids)} of {queries} queries ({first_of(found.qids)})"
    if found.reversed:
        note(f"{where} scores grow with the rank. If they are distances, give their negatives: more is better.")
    else:
        note(f"{where} the rank column contradicts the scores, which decide.")
