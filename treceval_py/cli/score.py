"""``treceval [score] QRELS RUN [RUN…]``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

import click

from treceval_py.cli.commands import PrefixCommand
from treceval_py.cli.names import RESULT_FORMATS
from treceval_py.cli.options import GROUPS, TWICE, flag, option, output_options, scoring_options, titled, version_option
from treceval_py.cli.printing import Output, check_targets, kind_of, note, put
from treceval_py.cli.progress import progress
from treceval_py.errors import InputError
from treceval_py.rendering import FORMATS
from treceval_py.version import __version__

if TYPE_CHECKING:
    from treceval_py.data.query_groups import QueryGroups
    from treceval_py.scoring.evaluation import Evaluator
    from treceval_py.scoring.planning import Reading, Scoring
    from treceval_py.scoring.results import Results
    from treceval_py.scoring.show import Options

HELP = """Score RUNs against the judgments in QRELS, with trec_eval's measures and numbers.

QRELS has lines "qid iteration docid rel", RUN lines "qid Q0 docid rank score tag". Other formats (MS MARCO, BEIR,
JSON, Parquet, …) and compressed files are recognised; - is standard input.

\b
treceval qrels.txt run.txt                 official measures, ndcg, ndcg_cut_10
treceval -q -m map -m nDCG@10 qrels.txt run.txt
treceval qrels.txt run.txt nDCG@10 RR      measures may also follow the files
treceval -m ndcg qrels.txt a.txt b.txt     a table with a column for each run
treceval --profile msmarco qrels.tsv run.tsv
treceval --ties -m map qrels.txt run.txt   range over all orders of ties
"""


def _print_version(_: object) -> NoReturn:
    from treceval_py.scan import reader_name, why_python

    reader = reader_name() + (f", as {why}" if (why := why_python()) else "")
    put(f"treceval_py {__version__} (agrees with trec_eval 10.0 and 9.0.8; reader: {reader})\n", None)
    raise click.exceptions.Exit


def _lacking(file: str, measures: Sequence[str], output: str | None) -> str:
    """Return what lacks beside the only file that was given, by what it looks like."""
    kind = kind_of(file)
    if kind == "qrels":
        own = f"or, if its lines are also the ranking, --judged-ranking {file}"
        return f"Missing argument 'RUN [RUN…]': {file} looks like judgments. Give a run after it; {own}."
    if taken := next(filter(os.path.isfile, measures), None):
        return f"-m takes a measure, and {taken} is a file: -m map {taken} {file}."
    if output and kind_of(output):
        return f"-o takes the file to write, and {output} is an input: -o FILE {output} {file}."
    if kind == "run":
        return f"Missing argument 'QRELS': {file} looks like a run. Give the judgments before it."
    return "Missing argument 'RUN [RUN…]'."


def _with_way(error: InputError, files: Sequence[str]) -> InputError:
    """Return an error about a folder or judgments given as a run, with what takes them; those before have been read."""
    if error.file in files[1:] and os.path.isdir(error.file or ""):
        todo = f"Give its files, {os.path.join(error.file or '', '*')}, or: treceval board {files[0]} {error.file}."
        return type(error)(error.what, todo, file=error.file)
    if error.file is None or error.file not in files[1:] or kind_of(error.file) != "qrels":
        return error
    judged = " ".join(f"--judged-ranking {file}" for file in files[1:] if kind_of(file) == "qrels")
    todo = f"If its lines are also a ranking, score it without QRELS: treceval {judged}."
    return type(error)(error.what, todo, file=error.file, line=error.line)


def _check(ctx: click.Context) -> dict[str, object]:
    """Return what is wrong: files that lack, and options that do not go together."""
    chosen = ctx.params
    files, judged_rankings = chosen["files"], chosen["judged_rankings"]
    signature = chosen["signature"] or chosen["long_signature"]
    norms, ranges = chosen["norms"] is not None, chosen["ties"] or chosen["unjudged"]
    own = {"-R": "judgment_format", "-T": "run_format", "--max-passage": "max_passage"}
    wrong = next((option for option, name in own.items() if chosen[name]), "")
    tables = " and ".join(f"--{name}" for name in ("ties", "unjudged") if chosen[name])
    prints = f"{tables} print{'' if ' ' in tables else 's'} ranges of values"
    alone = len(files) == 1 and not judged_rankings
    return {
        "--judged-ranking FILE replaces QRELS and RUN; remove them.": judged_rankings and files,
        "Missing arguments 'QRELS RUN'.": not judged_rankings and not files,
        _lacking(files[0], chosen["measures"], chosen["output"]) if alone else "": alone,
        TWICE: (judged_rankings or files).count("-") > 1,
        "Signatures describe values, not z-scores; remove -Z.": norms and (chosen["signatures"] or signature),
        f"--judged-ranking has its own format; remove {wrong}.": judged_rankings and wrong,
        "--groups prints the averages of groups; remove -n.": chosen["groups"] and chosen["no_summary"] and not ranges,
        **{
            f"{prints}; remove {option}.": ranges and there
            for option, there in (
                ("-Z", norms),
                ("--signature", signature),
                ("--judged-ranking", judged_rankings),
                ("--groups", chosen["groups"]),
            )
        },
    }


@click.command(
    "score", cls=PrefixCommand, peak=(190, 150), help=HELP, check=_check, common="-m --profile -q --format -o"
)
@click.argument("files", metavar="QRELS RUN [RUN…]", nargs=-1)
@version_option(_print_version, "Print the version.")
@scoring_options("official, ndcg, ndcg_cut.10, or the profile's")
@titled("Reading files")
@option(
    "--judged-ranking judged_rankings",
    "FILE",
    "A ranking with labels, 'qid Q0 docid rel', in place of QRELS RUN [profile: coursework]. Repeatable.",
    multiple=True,
)
@titled("Other values")
@option("-Z --Zscore norms", "FILE", "Print z-scores, with means and deviations from FILE: qid measure mean deviation.")
@GROUPS
@flag("--ties", "Ranges of values over all orders of equal scores.")
@flag("--unjudged", "Ranges over all labels of unjudged documents.")
@titled("Output")
@flag("-q --per-query --query_eval_wanted per_query", "Print each query too.")
@flag("-n --nosummary no_summary", "Do not print averages.")
@flag("--signature", "Print how each value was computed, for --repeat.")
@flag("--long-signature", "The same with every parameter and convention.")
@output_options(None, RESULT_FORMATS, "trec for one run, table for several")
def score(
    files: tuple[str, ...],
    scoring: Scoring,
    reading: Reading,
    per_query: bool,
    no_summary: bool,
    norms: str | None,
    judged_rankings: tuple[str, ...],
    groups: tuple[str, ...],
    signature: bool,
    long_signature: bool,
    ties: bool,
    unjudged: bool,
    output: Output,
) -> None:
    """Score runs: read, evaluate, print."""
    from treceval_py.measuring import in_print_order
    from treceval_py.scoring.evaluation import Evaluator
    from treceval_py.scoring.profiles import profile_of
    from treceval_py.scoring.show import Options, about_groups, about_runs, results_text
    from treceval_py.scoring.zscores import read_norms

    qrels, runs = (None, judged_rankings) if judged_rankings else (files[0], files[1:])
    if output.path is not None:
        check_targets([output.path], [*files, *judged_rankings, norms])
    ranges = ties or unjudged
    output.format = output.format or ("trec" if len(runs) == 1 and not ranges else "table")
    if scoring.signatures is None:
        profile = scoring.profile or ("coursework" if judged_rankings else None)
        usual = profile_of(profile).usual_measures if ranges else None
        # Tables have the measures as they were named; lines, as trec_eval prints them.
        measures = scoring.measures or usual
        arrange = tuple if measures and output.format in FORMATS else in_print_order
        scoring = replace(scoring, profile=profile, measures=measures).checked(arrange)
    by_group: tuple[QueryGroups, ...] = ()
    if groups:
        from treceval_py.io.query_groups import read_query_groups

        by_group = read_query_groups(groups)
        check_targets([output.path], [each.name for each in by_group])
    form = "long" if long_signature else "short" if signature else ""
    # Each judged ranking has its own judgments.
    options = Options(per_query, not no_summary, form, bool(judged_rankings), by_group)
    try:
        if ranges:
            evaluator = Evaluator(qrels or "", scoring, reading)
            text, notes = _ranges(evaluator, runs, options, output, ties=ties, unjudged=unjudged)
        else:
            table = None if norms is None else read_norms(norms)
            scored: list[Results] = []
            with progress(runs) as bar:
                judging = None if qrels is None else Evaluator(qrels, scoring, reading)
                for file in runs:
                    if judging is not None:
                        results = judging.scored(file, None if bar is None else bar.watch)
                    else:
                        results = _of_judged_ranking(file, scoring, reading)
                    scored.append(results if table is None else results.standardise(table))
                    if bar is not None:
                        bar.next()
            notes = about_runs(scored, fixed=scoring.signatures is not None)
            notes += about_groups(scored, options) if groups else []
            text = results_text(scored, output.format, options, output.style, notes)
    except InputError as error:
        raise _with_way(error, files) from None
    output.put(text)
    # Only now, so that output that cannot be written gives a single line.
    if notes:
        note(*notes)


def _ranges(
    evaluator: Evaluator, runs: Sequence[str], options: Options, output: Output, *, ties: bool, unjudged: bool
) -> tuple[str, list[str]]:
    """Return the ranges of values as text, and notes."""
    from treceval_py.ranges.assessment import ranges_of
    from treceval_py.ranges.show import ranges_text
    from treceval_py.scoring.show import about_runs

    if output.format not in FORMATS:
        raise click.UsageError(f"Ranges cannot be printed as {output.format}; choose {', '.join(FORMATS)}.")
    assessed = [ranges_of(evaluator, run, ties=ties, unjudged=unjudged) for run in runs]
    notes = about_runs(run.results for run in assessed)
    return ranges_text(assessed, output.format, options, output.style, notes), notes


def _of_judged_ranking(file: str, scoring: Scoring, reading: Reading) -> Results:
    """Score a judged ranking against its own judgments."""
    from treceval_py.io.judged_ranking import read_judged_ranking
    from treceval_py.scoring.evaluation import Evaluator

    qrels, run = read_judged_ranking(file, reading.threads)
    return Evaluator(qrels, scoring).scored(run)
