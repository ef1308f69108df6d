"""``treceval [score] QRELS RUN [RUN…]``."""

from __future__ import annotations

import sys

import click

from treceval_py.cli.group import PrefixCommand
from treceval_py.cli.printing import note, put
from treceval_py.errors import MeasureError
from treceval_py.evaluation import DEFAULT_MEASURES, check_kinds, evaluate, load_judgments, load_run
from treceval_py.formats import JUDGMENT_FORMATS
from treceval_py.measures import in_print_order, parse_measures
from treceval_py.measures.parameters import integer
from treceval_py.output import FORMATS, Options
from treceval_py.profiles import DEFAULT_PROFILE, profile_named
from treceval_py.results import Results
from treceval_py.version import __version__
from treceval_py.zscores import read_norms

__all__ = ["score"]


class WholeNumber(click.ParamType):
    """A whole number from 0 on."""

    name = "N"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number, or fail as a usage error."""
        if isinstance(value, int):
            return value
        try:
            number = integer(str(value))
        except MeasureError as error:
            self.fail(error.what, param, ctx)
        if number < 0:
            self.fail(f"{number} is not 0 or more", param, ctx)
        return number


COUNT = WholeNumber()


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        put(f"treceval_py {__version__} (agrees with trec_eval 10.0 and 9.0.8; reader: Python)\n", None)
        ctx.exit()


@click.command("score", cls=PrefixCommand, context_settings={"help_option_names": ["-h", "--help"]})
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
@click.option("-q", "--query_eval_wanted", "per_query", is_flag=True, help="Print each query too.")
@click.option("-n", "--nosummary", "no_summary", is_flag=True, help="Do not print the average over queries.")
@click.option(
    "-c",
    "--complete_rel_info_wanted",
    "complete",
    is_flag=True,
    help="Average over all judged queries: one that the run lacks counts as an empty ranking.",
)
@click.option("-l", "--level_for_rel", "level", type=COUNT, default=1, help="Least judgment that is relevant [1].")
@click.option("-M", "--Max_retrieved_per_topic", "depth", type=COUNT, help="Use the first N documents of each query.")
@click.option("-J", "--Judged_docs_only", "judged_only", is_flag=True, help="Take out documents without a judgment.")
@click.option(
    "-N", "--Number_docs_in_coll", "collection_size", type=COUNT, default=0, help="Documents in the collection [0]."
)
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
@click.option(
    "-Z", "--Zscore", "norms", metavar="FILE", help="Print z-scores by this file: qid measure mean deviation."
)
@click.option(
    "--profile",
    default=DEFAULT_PROFILE,
    metavar="NAME",
    help="Conventions of ranking and averaging: trec_eval-10 (default) or trec_eval-9.",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(list(FORMATS)),
    help="How to print: trec (default for one run) or table (default for several), csv, tsv, json, markdown, latex.",
)
@click.option("--digits", type=COUNT, help="Decimals of values [4; all of them in csv, tsv and json].")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE, whole or not at all.")
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
) -> None:
    """Score RUNs against the judgments in QRELS, with trec_eval's measures and numbers.

    QRELS has lines of "qid iteration docid rel", RUN lines of "qid Q0 docid rank score tag". Either may be compressed
    (gzip, bzip2, xz, zstd), a pipe, or - for standard input.

    \b
    treceval qrels.txt run.txt                    official measures, ndcg, ndcg_cut_10
    treceval -q -m map -m nDCG@10 qrels.txt run.txt
    treceval -m official -m ndcg qrels.txt a.txt b.txt c.txt
    treceval measures ndcg                        what a measure is

    Commands beside this one: measures (list and explain measures). 'score' is this command's own name.
    """
    if [qrels, *runs].count("-") > 1:
        raise click.UsageError("Standard input (-) can be read only once.")
    rules = profile_named(profile)
    wanted = in_print_order(parse_measures(measures or DEFAULT_MEASURES, leaves_out=rules.leaves_out))
    judgments = load_judgments(qrels, judgment_format)
    check_kinds(wanted, judgments)
    table = read_norms(norms) if norms is not None else None
    scored: list[Results] = []
    for run in runs:
        results = evaluate(
            judgments,
            load_run(run),
            wanted,
            level=level,
            complete=complete,
            depth=depth,
            judged_only=judged_only,
            collection_size=collection_size,
            profile=rules,
        )
        scored.append(results if table is None else results.standardise(table))
    name = output_format or ("trec" if len(runs) == 1 else "table")
    colour = output is None and sys.stdout is not None and sys.stdout.isatty()
    options = Options(per_query=per_query, summary=not no_summary, digits=digits, colour=colour)
    text = FORMATS[name](scored, options)
    for results in scored:
        _notes(results)
    put(text, output)


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
        note(f"{results.run_name}: {count} {are} missing ({_first(results.missing)}), {what}.")
    if results.unjudged:
        count = len(results.unjudged)
        have = "query of the run has" if count == 1 else "queries of the run have"
        are = "is" if count == 1 else "are"
        note(f"{results.run_name}: {count} {have} no judgments ({_first(results.unjudged)}) and {are} not scored.")


def _first(qids: tuple[str, ...]) -> str:
    return ", ".join(qids[:3]) + (", …" if len(qids) > 3 else "")
