"""``trec_eval QRELS RUN``: the command ``score`` with trec_eval's default, options, exit statuses and silence.

Used by ``python -m treceval_py.trec_eval``, and when the program is called by a link named ``trec_eval``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy
from typing import Any, NoReturn

import click

from treceval_py.cli.commands import PrefixCommand
from treceval_py.cli.options import MEASURES, READING_OPTIONS, TWICE, flag, option, version_option, within
from treceval_py.cli.printing import SILENT, put, say
from treceval_py.cli.score import score
from treceval_py.errors import EvaluationError, InputError, RepeatedDocumentError, TrecevalError, UnknownMeasureError
from treceval_py.version import __version__

DEFAULT = "official"

HELP = f"""Score RUN against the judgments in QRELS, as trec_eval 10.0 does [measures: {DEFAULT}].

This is treceval_py under trec_eval's name. 'treceval' has more options and other commands. -h -m NAME also explains a
measure or a set of measures.
"""

TAKEN = ("-q", "-m", "-c", "-l", "-n", "-J", "-N", "-M", "-R", "-T", "-Z")
"""The options of `score` that trec_eval has too; the others are declared below."""


def _whole_cutoffs(ctx: click.Context, parameter: click.Parameter, measures: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG001 - click's
    """Truncate cutoffs with decimals (``ndcg_cut.10,23.4``), as trec_eval's own test needs; other junk is refused."""
    if not any("." in measure for measure in measures):
        return measures
    from treceval_py.measuring import FAMILIES

    def whole(measure: str) -> str:
        name, dot, cutoffs = measure.partition(".")
        family = FAMILIES.get(name)
        if family is None or family.at is None or family.at.name != "cutoff":
            return measure
        return name + dot + re.sub(r"(?<![^,])([0-9]+)\.[0-9]+(?![^,])", r"\1", cutoffs)

    return tuple(map(whole, measures))


def _print_version(_: object) -> NoReturn:
    from treceval_py.scan import reader_name

    say(f"trec_eval version 10.0 (treceval_py {__version__}; reader: {reader_name()})")
    raise click.exceptions.Exit


class _Misused(click.UsageError):
    """A usage error with trec_eval's status."""

    exit_code = 1


class _TrecEval(PrefixCommand):
    """A command that prints no notes, and exits with trec_eval's statuses."""

    last_counts = True
    measures_among_files = False

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show the two files."""
        formatter.write_usage(ctx.command_path, "[OPTIONS] QRELS RUN")

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse options with 1, unknown formats with 2."""
        ctx.meta[SILENT] = True
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            parameter = getattr(error, "param", None)
            error.ctx = error.ctx or ctx
            if parameter is not None and parameter.name in READING_OPTIONS:
                raise
            raise _Misused(error.format_message(), error.ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Refuse unknown measures with 1, bad files and parameters with 2, runs that cannot be evaluated with 4."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            raise _Misused(error.format_message(), error.ctx) from None
        except TrecevalError as error:
            error.status = _status(error, ctx.params["norms"], ctx.params["measures"])
            raise


def _status(error: TrecevalError, norms: str | None, measures: Sequence[str]) -> int:
    if isinstance(error, (EvaluationError, RepeatedDocumentError)):
        return 4
    if isinstance(error, InputError):
        return 2 if error.file is None or error.file != norms else 255
    unknown = isinstance(error, UnknownMeasureError) or any(re.fullmatch(r"[^.]*\.", each) for each in measures)
    return 1 if unknown else error.status


@click.command("trec_eval", cls=_TrecEval, peak=(190, 150), help=HELP, add_help_option=False)
@click.argument("files", metavar="QRELS RUN", nargs=-1)
@click.option("-D", "--Debug_level", type=within(), metavar="N", expose_value=False, help="Ignored.")
@click.option("-o", is_flag=True, expose_value=False, help="Ignored.")
@option("--Output_old_results_format", "X", "Ignored.", expose_value=False)
@flag("-h --help helping", "Print this help, and explain the measures of -m.")
@version_option(_print_version, "Print the version to standard error.")
@click.pass_context
def trec_eval(
    ctx: click.Context, /, files: tuple[str, ...], helping: bool, measures: tuple[str, ...], **others: Any
) -> None:
    """Score one run, or print help."""
    if helping:
        from treceval_py.listing.of_measures import explained
        from treceval_py.measuring import in_print_order
        from treceval_py.scoring.profiles import profile_of

        families = dict.fromkeys(each.family.name for each in in_print_order(profile_of(None).parse(measures)))
        put("\n".join([ctx.get_help(), "", *map(explained, families)]), None)
        return
    if len(files) != 2:
        raise click.UsageError(f"Give two files, QRELS and RUN, not {len(files)}.")
    if files == ("-", "-"):
        raise click.UsageError(TWICE)
    ctx.invoke(score, files=files, measures=measures or (DEFAULT,), **others)


trec_eval.params[1:1] = [copy(parameter) for parameter in score.params if not set(TAKEN).isdisjoint(parameter.opts)]
for parameter in trec_eval.params:
    if isinstance(parameter, click.Option) and parameter.name == "measures":
        parameter.callback = _whole_cutoffs
        parameter.help = MEASURES.format(usual=DEFAULT)
