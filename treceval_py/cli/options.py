"""Options shared by several commands: how runs are scored, and how they are compared."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import click
from click.core import ParameterSource

from treceval_py.errors import MeasureError
from treceval_py.io.named import JUDGMENT_FORMATS, RUN_FORMATS
from treceval_py.measures import NICKNAMES
from treceval_py.measures.parameters import integer
from treceval_py.rendering import FORMATS
from treceval_py.scoring.profiles import DEFAULT_PROFILE, PROFILES
from treceval_py.threads import MOST_THREADS

Callback: TypeAlias = Callable[..., Any]
Decorator: TypeAlias = Callable[[Any], Any]

MOST_DIGITS = 60
"""A float64 has at most 17 significant digits; further digits are zeros or artefacts of the binary form."""


def given(ctx: click.Context) -> set[str]:
    """Return the names of the parameters given on the command line."""
    sources = {each.name: ctx.get_parameter_source(each.name) for each in ctx.command.params if each.name}
    # Before click 8.3, an omitted list of files is an empty one from the command line.
    absent = {name for name, value in ctx.params.items() if value == ()}
    return {name for name, source in sources.items() if source is ParameterSource.COMMANDLINE} - absent


def whole_number(text: str, least: int = 0, most: int | None = None) -> int:
    """Return an option's value as a whole number of at most 18 digits, or fail as a usage error."""
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
    """Return an option's type: whole numbers from `least` to `most`."""

    def whole(text: str) -> int:
        return whole_number(text, least, most)

    return whole


def _seed(text: str) -> int:
    """Return a seed, which may have any number of digits, as numpy takes it."""
    return int(text) if re.fullmatch("[0-9]{19,400}", str(text)) else whole_number(text)


def decimal(*names: str, help: str, default: float | None = None) -> Decorator:
    """Return an option that takes a number."""
    return click.option(*names, type=float, metavar="X", default=default, help=help)


def tag_of(name: str) -> str:
    """Return the tag of a run made by the model, or from the file, of this name."""
    return re.sub(r"\s", "_", os.path.basename(os.path.abspath(name)))


def flag(*names: str, help: str) -> Decorator:
    """Return an option without a value."""
    return click.option(*names, is_flag=True, help=help)


def format_option(default: str | None = "table", formats: Sequence[str] = FORMATS, usual: str = "") -> Decorator:
    """Return the option ``--format``, with any of the formats and a default."""
    choice = click.Choice(list(formats))
    shown = usual or default
    return click.option("--format", "output_format", type=choice, default=default, help=f"Output format [{shown}].")


groups_option = click.option(
    "--groups",
    multiple=True,
    metavar="FILE[:COLUMN]",
    help="Also show each group of queries: lines of qid<TAB>label, or a column of a queries file. Repeatable.",
)
"""The option for groups of queries."""

columns_option = click.option(
    "--columns",
    type=click.Choice(["1", "2"]),
    help="With --format latex: width of the tables, 1 (table) or 2 columns of text (table*, or a page) [1].",
)
"""The option for the width of tables in LaTeX."""

digits_option = number("--digits", most=MOST_DIGITS, help="Decimals of values [4; all in csv, tsv and json].")
"""The option for the number of decimals."""

output_option = click.option("-o", "--output", metavar="FILE", help="Write to FILE; it is never left half-written.")
"""The option for the output file."""


class _ScoringOption(NamedTuple):
    """An option that decides how runs are read or scored, with all its spellings, the short one first."""

    spellings: tuple[str, ...]
    help: str
    make: Callable[..., Decorator] = click.option
    settings: Mapping[str, Any] = MappingProxyType({})

    def decorator(self, field: str, usual: str) -> Decorator:
        """Return click's decorator; `usual` names the default measures."""
        return self.make(*self.spellings, field, help=self.help.format(usual=usual), **self.settings)


_REPEATED = {"multiple": True, "metavar": "NAME"}

SCORING_OPTIONS: Mapping[str, _ScoringOption] = {
    "measures": _ScoringOption(
        ("-m", "--measure"),
        "Compute this measure. Repeatable. A measure (map), one with parameters (P.5,10 or nDCG@10), or a set "
        f"({', '.join(NICKNAMES)}) [{{usual}}].",
        settings=_REPEATED,
    ),
    "profile": _ScoringOption(
        ("--profile",),
        f"Ranking and averaging conventions: {', '.join(PROFILES)} [{DEFAULT_PROFILE}].",
        settings={"metavar": "NAME"},
    ),
    "level": _ScoringOption(
        ("-l", "--level", "--level_for_rel"), "Lowest relevant judgment [the profile's, usually 1].", number
    ),
    "complete": _ScoringOption(
        ("-c", "--complete", "--complete_rel_info_wanted"),
        "Average over all judged queries, counting those that the run lacks as empty rankings.",
        flag,
    ),
    "depth": _ScoringOption(
        ("-M", "--depth", "--Max_retrieved_per_topic"), "Score only the first N documents of each query.", number
    ),
    "judged_only": _ScoringOption(
        ("-J", "--judged-only", "--Judged_docs_only"), "Remove unjudged documents from the ranking.", flag
    ),
    "collection_size": _ScoringOption(
        ("-N", "--collection-size", "--Number_docs_in_coll"), "Number of documents in the collection [0].", number
    ),
    "signatures": _ScoringOption(
        ("--repeat",),
        "Score exactly as this signature describes; replaces measures and profile. Repeatable.",
        settings={"multiple": True, "metavar": "SIGNATURE"},
    ),
}
"""How runs are scored: an option for each field of `Scoring`."""

READING_OPTIONS: Mapping[str, _ScoringOption] = {
    "judgment_format": _ScoringOption(
        ("-R", "--judgment-format", "--Rel_info_format"),
        "Format of QRELS [recognised, or as the measures require].",
        settings={"type": click.Choice(list(JUDGMENT_FORMATS))},
    ),
    "run_format": _ScoringOption(
        ("-T", "--run-format", "--Results_format"),
        "Format of runs [recognised].",
        settings={"type": click.Choice(list(RUN_FORMATS))},
    ),
    "threads": _ScoringOption(
        ("--threads",),
        "Use N threads [one per available core; always 1 for the pure Python reader].",
        number,
        {"least": 1, "most": MOST_THREADS},
    ),
}
"""How files are read: an option for each field of `Reading`."""

PLUGIN = click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="MODULE",
    help="Import your own measures from a Python module or .py file. Repeatable.",
)


paths_option = click.option(
    "--paths/--no-paths", default=True, help="Record files with their folders; --no-paths: names only [paths]."
)


def running_options(command: Callback) -> Callback:
    """Add the options on how and where a model computes; the same for encoding and reranking."""
    for option in reversed(
        [
            click.option(
                "--precision",
                type=click.Choice(["fp32", "bf16", "fp16", "fp16-weights"]),
                default="fp32",
                help="Arithmetic of the model [fp32]; fp16 is for GPUs.",
            ),
            click.option(
                "--device",
                "devices",
                multiple=True,
                metavar="NAME",
                help="cpu, cuda:0, …. Repeatable [all GPUs, or cpu].",
            ),
            number("--batch-size", least=1, help="Texts or pairs to compute at once [32 on a CPU, more on a GPU]."),
            click.option("--ray", metavar="ADDRESS", help="Compute on a Ray cluster: auto, HOST:PORT, local."),
        ]
    ):
        command = option(command)
    return command


def rerank_options(prefix: str) -> Decorator:
    """Add the options of reranking, each beginning with a prefix."""
    options = [
        number(f"{prefix}depth", default=100, least=1, help="Documents per query to rerank [100]."),
        click.option(
            f"{prefix}below",
            type=click.Choice(["keep", "drop"]),
            default="keep",
            help="Keep documents below the reranked ones, or drop them [keep].",
        ),
        number(
            f"{prefix}max-length",
            least=1,
            help="Most tokens of a query and passage together [512, or the model's limit if less].",
        ),
    ]

    def taking(command: Callback) -> Callback:
        for option in reversed(options):
            command = option(command)
        return command

    return taking


def scoring_options(usual: str) -> Decorator:
    """Return a decorator that gives a command all options of scoring, as ``scoring=`` and ``reading=``.

    Parameters
    ----------
    usual : str
        The default measures, for the help.
    """

    def decorate(command: Callback) -> Callback:
        @functools.wraps(command)
        def with_scoring(*, plugins: tuple[str, ...], **options: Any) -> Any:
            from treceval_py.scoring.planning import Reading, Scoring

            if plugins:
                from treceval_py.measures.plugins import load_plugin

                for plugin in plugins:
                    load_plugin(plugin)
            taken = {field: options.pop(field) for field in (*SCORING_OPTIONS, *READING_OPTIONS)}
            given = {
                field: value
                for field, value in taken.items()
                if value is not None and value is not False and value != ()
            }
            chosen = {field: value for field, value in given.items() if field in SCORING_OPTIONS}
            if "signatures" in chosen:
                for field, option in SCORING_OPTIONS.items():
                    if field != "signatures" and field in chosen:
                        raise click.UsageError(f"--repeat already fixes how to score; remove {option.spellings[0]}.")
            reading = Reading(**{field: value for field, value in given.items() if field in READING_OPTIONS})
            return command(scoring=Scoring(**chosen), reading=reading, **options)

        decorated: Callback = PLUGIN(with_scoring)
        for field, option in reversed({**SCORING_OPTIONS, **READING_OPTIONS}.items()):
            decorated = option.decorator(field, usual)(decorated)
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
            help="simultaneous (all pairs of runs), t, wilcoxon, sign, randomisation, or all. Repeatable; the first "
            "decides what is marked [simultaneous].",
        ),
        click.option(
            "--correction",
            metavar="NAME",
            help="Correction of tests other than simultaneous: holm, bonferroni, benjamini-hochberg or none [holm].",
        ),
        click.option(
            "--letters",
            metavar="NAME",
            help="Test for the letters: simultaneous, tukey, randomised-tukey or none [simultaneous if it decides the "
            "marks, else none].",
        ),
        click.option(
            "--interval",
            metavar="NAME",
            help="Confidence interval of a difference: simultaneous (over all pairs), t, or bca (bootstrap) "
            "[simultaneous].",
        ),
        decimal("--alpha", default=0.05, help="Significance level [0.05]."),
        decimal("--confidence", default=0.95, help="Confidence level of intervals [0.95]."),
        number("--resamples", default=100_000, least=1, help="Resamples of randomisation tests [100000]."),
        number("--bootstrap", default=10_000, least=1, help="Resamples of the simultaneous test and of bca [10000]."),
        click.option("--seed", type=_seed, metavar="N", default=1, help="Random seed [1]."),
        decimal("--margin", help="Test for equivalence: differences smaller than X, by two one-sided tests."),
        decimal("--power", default=0.8, help="Power for computing the number of queries needed [0.8]."),
    ]

    @functools.wraps(command)
    def with_settings(
        *,
        tests: tuple[str, ...],
        correction: str | None,
        letters: str | None,
        interval: str | None,
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
        from treceval_py.comparing.simultaneous import SIMULTANEOUS
        from treceval_py.comparing.tests import TESTS

        for name in tests:
            if name not in (*TESTS, "all"):
                raise click.UsageError(f"--test must be one of {', '.join(TESTS)} or all, not '{name}'.")
        named = [each for each in tests if each != "all"] or [SIMULTANEOUS]
        every = [*named, *(TESTS if "all" in tests else ())]
        settings = Settings(
            named[0], tuple(dict.fromkeys(every)), correction, alpha, confidence, interval, letters, resamples,
            bootstrap, seed, margin, power,
        )  # fmt: skip
        return command(settings=checked(settings), **others)

    decorated: Callback = with_settings
    for option in reversed(options):
        decorated = option(decorated)
    return decorated
