"""Options that several commands have: how runs are scored, and how they are compared."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import click
from click.core import ParameterSource

from treceval_py.errors import MeasureError
from treceval_py.io.named import JUDGMENT_FORMATS, RUN_FORMATS
from treceval_py.judging.streaming import MOST_THREADS
from treceval_py.measures.parameters import integer
from treceval_py.rendering import FORMATS
from treceval_py.scoring.profiles import DEFAULT_PROFILE, PROFILES

__all__ = [
    "Callback",
    "decimal",
    "digits_option",
    "flag",
    "format_option",
    "given",
    "number",
    "output_option",
    "scoring_options",
    "statistics_options",
    "whole_number",
    "within",
]

Callback: TypeAlias = Callable[..., Any]
Decorator: TypeAlias = Callable[[Any], Any]

MOST_DIGITS = 60
"""A float64 has at most 17 significant digits; more are only zeros and what binary makes of a decimal."""


def given(ctx: click.Context) -> set[str]:
    """Return the names of the parameters that stand on the command line."""
    sources = {each.name: ctx.get_parameter_source(each.name) for each in ctx.command.params if each.name}
    # Before click 8.3, a list of files that is left out is an empty one from the command line.
    absent = {name for name, value in ctx.params.items() if value == ()}
    return {name for name, source in sources.items() if source is ParameterSource.COMMANDLINE} - absent


def whole_number(text: str, least: int = 0, most: int | None = None) -> int:
    """Return the whole number, of at most 18 digits, that an option was given, or fail as a usage error."""
    try:
        number = integer(str(text))
    except MeasureError as error:
        raise click.BadParameter(f"{error.what}.") from None
    if number < least:
        raise click.BadParameter(f"{number} is not {least} or more.")
    if most is not None and number > most:
        raise click.BadParameter(f"{number} is more than {most}.")
    return number


def number(*names: str, help: str, default: int | None = None, least: int = 0, most: int | None = None) -> Decorator:
    """Return an option that takes a whole number from `least` to `most`."""
    return click.option(*names, type=within(least, most), metavar="N", default=default, help=help)


def within(least: int = 0, most: int | None = None) -> Callable[[str], int]:
    """Return what reads a whole number from `least` to `most`, as an option's type."""

    def whole(text: str) -> int:
        return whole_number(text, least, most)

    return whole


def _seed(text: str) -> int:
    """Return a seed, which may have any number of digits, as numpy takes it."""
    return int(text) if re.fullmatch("[0-9]{19,400}", str(text)) else whole_number(text)


def decimal(*names: str, help: str, default: float | None = None) -> Decorator:
    """Return an option that takes a number."""
    return click.option(*names, type=float, metavar="X", default=default, help=help)


def flag(*names: str, help: str) -> Decorator:
    """Return an option that is there or not."""
    return click.option(*names, is_flag=True, help=help)


def format_option(default: str | None = "table", formats: Sequence[str] = FORMATS, usual: str = "") -> Decorator:
    """Return the option of how a command prints: in any format, `default` unless one is named."""
    choice = click.Choice(list(formats))
    shown = usual or default
    return click.option("--format", "output_format", type=choice, default=default, help=f"How to print [{shown}].")


digits_option = number("--digits", most=MOST_DIGITS, help="Decimals of values [4; all of them in csv, tsv and json].")
"""The option of how many decimals a command prints."""

output_option = click.option("-o", "--output", metavar="FILE", help="Write to FILE, whole or not at all.")
"""The option of where a command prints."""

_COMPLETE = "A judged query that a run lacks counts as an empty ranking."


def scoring_options(usual: str, *, complete: bool = True) -> Decorator:
    """Return a decorator that gives a command the options of scoring, which it gets as ``scoring=`` and ``reading=``.

    Parameters
    ----------
    usual : str
        What is computed by default, for the help.
    complete : bool
        Whether the command can be told how missing queries count.
    """
    options: list[Decorator] = [
        click.option(
            "-m",
            "--measure",
            "measures",
            multiple=True,
            metavar="NAME",
            help=f"Compute this measure, in any notation; may be repeated [{usual}].",
        ),
        click.option(
            "--profile",
            metavar="NAME",
            help=f"Conventions of ranking and averaging: {', '.join(PROFILES)} [{DEFAULT_PROFILE}].",
        ),
        *([flag("-c", "--complete", help=_COMPLETE)] if complete else []),
        number("-l", "--level", help="Least judgment that is relevant [1, or the profile's]."),
        number("-M", "--depth", help="Use the first N documents of each query."),
        flag("-J", "--judged-only", help="Take out documents without a judgment."),
        click.option(
            "-R",
            "judgment_format",
            type=click.Choice(list(JUDGMENT_FORMATS)),
            help="How QRELS is written [recognised].",
        ),
        click.option(
            "-T", "run_format", type=click.Choice(list(RUN_FORMATS)), help="How runs are written [recognised]."
        ),
        click.option(
            "--plugin",
            "plugins",
            multiple=True,
            metavar="MODULE",
            help="Import measures of your own from a Python module or .py file; may be repeated.",
        ),
        number("--threads", least=1, most=MOST_THREADS, help="Work with N threads [the cores for this process]."),
    ]

    def decorate(command: Callback) -> Callback:
        @functools.wraps(command)
        def with_scoring(
            *,
            measures: tuple[str, ...],
            profile: str | None,
            level: int | None,
            depth: int | None,
            judged_only: bool,
            judgment_format: str | None,
            run_format: str | None,
            plugins: tuple[str, ...],
            threads: int | None,
            complete: bool = False,
            **others: Any,
        ) -> Any:
            from treceval_py.measures.plugins import load_plugin
            from treceval_py.scoring.planning import Reading, Scoring

            for plugin in plugins:
                load_plugin(plugin)
            scoring = Scoring(measures or None, profile, level, complete or None, depth, judged_only)
            return command(scoring=scoring, reading=Reading(run_format, judgment_format, threads), **others)

        decorated: Callback = with_scoring
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


def statistics_options(command: Callback) -> Callback:
    """Give a command the options of statistics, which it gets as ``settings=``."""
    options: list[Decorator] = [
        click.option(
            "--test",
            "tests",
            multiple=True,
            metavar="NAME",
            help="t, wilcoxon, sign, randomisation, or all; may be repeated: the first one decides what is marked [t].",
        ),
        click.option(
            "--correction",
            default="holm",
            metavar="NAME",
            help="holm, bonferroni, benjamini-hochberg or none, over all differences that are compared [holm].",
        ),
        click.option(
            "--groups",
            default="tukey",
            metavar="NAME",
            help="The test behind the letters: tukey, randomised-tukey or none [tukey].",
        ),
        click.option(
            "--interval",
            default="t",
            metavar="NAME",
            help="Confidence interval of a difference: t, or bca, the bootstrap [t].",
        ),
        decimal("--alpha", default=0.05, help="Level of significance [0.05]."),
        decimal("--confidence", default=0.95, help="Confidence of intervals [0.95]."),
        number("--resamples", default=100_000, least=1, help="Resamples of randomisation tests [100000]."),
        number("--bootstrap", default=10_000, least=1, help="Resamples of the bootstrap [10000]."),
        click.option("--seed", type=_seed, metavar="N", default=1, help="Seed of all that is drawn at random [1]."),
        decimal("--margin", help="Test whether differences are smaller than X: equivalence, by two one-sided tests."),
        decimal("--power", default=0.8, help="Power for which the number of queries needed is computed [0.8]."),
    ]

    @functools.wraps(command)
    def with_settings(
        *,
        tests: tuple[str, ...],
        correction: str,
        groups: str,
        interval: str,
        alpha: float,
        confidence: float,
        resamples: int,
        bootstrap: int,
        seed: int,
        margin: float | None,
        power: float,
        **others: Any,
    ) -> Any:
        from treceval_py.comparing.comparing import checked
        from treceval_py.comparing.outcome import Settings
        from treceval_py.comparing.tests import TESTS

        for name in tests:
            if name not in (*TESTS, "all"):
                raise click.UsageError(f"--test is one of {', '.join(TESTS)} and all, not '{name}'.")
        named = [each for each in tests if each != "all"] or ["t"]
        every = [*named, *(TESTS if "all" in tests else ())]
        settings = Settings(
            named[0], tuple(dict.fromkeys(every)), correction, alpha, confidence, interval, groups, resamples,
            bootstrap, seed, margin, power,
        )  # fmt: skip
        return command(settings=checked(settings), **others)

    decorated: Callback = with_settings
    for option in reversed(options):
        decorated = option(decorated)
    return decorated
