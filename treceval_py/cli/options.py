"""Options shared by several commands: how runs are scored and compared, and where results go."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import click
from click.core import ParameterSource

from treceval_py.cli import names
from treceval_py.cli.printing import Output
from treceval_py.data.numbers import integer
from treceval_py.errors import MeasureError
from treceval_py.io.formats import formats_of
from treceval_py.rendering import FORMATS
from treceval_py.threads import MOST_THREADS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from treceval_py.comparing.outcome import Settings

Decorator: TypeAlias = Callable[[Any], Any]

MOST_DIGITS = 60
"""A float64 has at most 17 significant digits; further digits are zeros or artefacts of the binary form."""


def given(ctx: click.Context) -> set[str]:
    """Return the names of the parameters given on the command line."""
    sources = {each.name: ctx.get_parameter_source(each.name) for each in ctx.command.params if each.name}
    # Before click 8.3, an omitted list of files is an empty one from the command line.
    absent = {name for name, value in ctx.params.items() if value == ()}
    return {name for name, source in sources.items() if source is ParameterSource.COMMANDLINE} - absent


def version_option(show: Callable[[object], NoReturn], help: str) -> Decorator:
    """Return the option ``--version``, which shows the version and ends the program."""
    # Unlike a callback, a type is called only if the option is given.
    how = {"flag_value": "", "type": show, "default": None, "is_eager": True, "expose_value": False}
    return flag("-v --version", help, **how)


TWICE = "Standard input (-) can be read only once."


# Kinds of options. Their spellings and the name of their value are one text: "-l --level --level_for_rel level".


class Option(click.Option):
    """An option of our commands."""

    group = ""
    """The title above it in help."""


def titled(title: str, names: Container[str] | None = None) -> Decorator:
    """Return a decorator that writes a title, in help, above the options below it, or those of these names."""

    def decorate(command: Any) -> Any:
        for parameter in command.__click_params__:
            if isinstance(parameter, Option) and not parameter.group and (names is None or parameter.name in names):
                parameter.group = title
        return command

    return decorate


def option(spellings: str, metavar: str | None, help: str, **settings: Any) -> Decorator:
    """Return an option that takes text, by default the name of a file."""
    return click.option(*spellings.split(), cls=Option, metavar=metavar, help=help, **settings)


def flag(spellings: str, help: str, **settings: Any) -> Decorator:
    """Return an option without a value."""
    return click.option(*spellings.split(), cls=Option, is_flag=True, help=help, **settings)


def choice(spellings: str, values: Iterable[str], help: str, **settings: Any) -> Decorator:
    """Return an option that takes one of some values."""
    return click.option(
        *spellings.split(), cls=Option, type=click.Choice([*values], case_sensitive=False), help=help, **settings
    )


def usual_choice(spellings: str, values: Sequence[str], help: str, **settings: Any) -> Decorator:
    """Return an option that takes one of some values, by default the first."""
    return choice(spellings, values, help, default=values[0], **settings)


def number(spellings: str, help: str, default: int | None = None, least: int = 0, most: int | None = None) -> Decorator:
    """Return an option that takes a whole number from `least` to `most`."""
    return option(spellings, "N", help, type=within(least, most), default=default)


def decimal(spellings: str, help: str, default: float | None = None) -> Decorator:
    """Return an option that takes a number."""
    return option(spellings, "X", help, type=float, default=default)


def within(least: int = 0, most: int | None = None) -> Callable[[str], int]:
    """Return an option's type: whole numbers of at most 18 digits from `least` to `most`."""

    def whole(text: str) -> int:
        try:
            number = integer(str(text))
        except MeasureError as error:
            raise click.BadParameter(f"{error.what}.") from None
        if number < least:
            raise click.BadParameter(f"{number} is not {least} or more.")
        if most is not None and number > most:
            raise click.BadParameter(f"{number} is more than {most}.")
        return number

    return whole


def named(kind: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Return what completes names of a kind, which are imported when the tab key is pressed."""

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from treceval_py.cli.completion import names_of

        return names_of(kind, incomplete)

    return complete


def repeatable(spellings: str, metavar: str, help: str, kind: str) -> Decorator:
    """Return an option that takes names of a kind, or text that begins with them, any number of times."""
    return option(spellings, metavar, help, multiple=True, shell_complete=named(kind))


def tag_of(name: str) -> str:
    """Return the tag of a run made by the model, or from the file, of this name."""
    return re.sub(r"\s", "_", os.path.basename(os.path.abspath(name)))


def stacked(options: Iterable[Decorator]) -> Decorator:
    """Return a decorator that adds options to a command, in this order."""

    def decorate(command: Any) -> Any:
        for decorator in reversed([*options]):
            command = decorator(command)
        return command

    return decorate


def together(options: Mapping[str, Decorator], make: Callable[..., Any], made: str = "") -> Decorator:
    """Return a decorator that adds options to a command, which gets what is made of them as other arguments.

    Parameters
    ----------
    options : mapping
        The options by the names of their values.
    make : callable
        Makes the argument of those options that are set, given by name.
    made : str
        The argument's name; if empty, several are made, by name.
    """

    def decorate(command: Any) -> Any:
        maker = (tuple(options), make, made)
        if hasattr(command, "makers"):
            command.makers.insert(0, maker)
            return stacked(options.values())(command)
        makers = [maker]

        @functools.wraps(command)
        def with_made(**values: Any) -> Any:
            for fields, build, argument in makers:
                taken = {field: values.pop(field) for field in fields}
                chosen = {
                    field: value for field, value in taken.items() if value not in (None, ()) and value is not False
                }
                values |= {argument: build(**chosen)} if argument else build(**chosen)
            return command(**values)

        with_made.makers = makers  # type: ignore[attr-defined]
        return stacked(options.values())(with_made)

    return decorate


# Options of several commands.


def output_options(
    default: str | None = "table", formats: Sequence[str] = FORMATS, usual: str = "", *, digits: bool = True
) -> Decorator:
    """Return a decorator that gives a command the options of printing, as ``output=``.

    Parameters
    ----------
    default, formats
        The usual format, and all of them.
    usual : str
        The usual format for the help, if it depends on the arguments.
    digits : bool
        Whether there are values to print.
    """
    options = {"output_format": format_option(default, formats, usual)}
    if digits:
        options["digits"] = number("--digits", "Decimals of values [4; all in csv, tsv and json].", most=MOST_DIGITS)
    options["output"] = option("-o --output", "FILE", "Write to FILE.")
    return together(options, Output, "output")


def format_option(default: str | None, formats: Sequence[str], usual: str = "") -> Decorator:
    """Return the option ``--format``."""
    return choice(
        "--format output_format",
        formats,
        f"{', '.join(formats)} [{usual or default}].",
        metavar="NAME",
        default=default,
    )


GROUPS = option("--groups", "FILE[:COLUMN]", "Groups of queries: lines qid<TAB>label. Repeatable.", multiple=True)
COLUMNS = choice("--columns", ["1", "2"], "With --format latex: columns that tables span [1].")
NAMES = choice("--names by", ["tag", "file"], "Name runs by tag or by file [tag if unique].")
FORCE = flag("--force", "Compare even values computed differently.")
PROFILE: dict[str, Any] = {"metavar": "NAME", "shell_complete": named("profile")}
PATHS = flag("--paths/--no-paths", "Record files with their folders, or names only [paths].", default=True)
PLUGIN = option("--plugin plugins", "MODULE", "Your own measures: module or .py file. Repeatable.", multiple=True)
CORPUS = "Texts of documents: docid<TAB>text, corpus.jsonl, a folder, datasets:NAME or ir_datasets:NAME."
QUERIES = "Texts of queries: qid<TAB>text, queries.jsonl, a folder, datasets:NAME or ir_datasets:NAME."


def load_plugins(plugins: Iterable[str]) -> None:
    """Import plug-ins."""
    from treceval_py.measuring.plugins import load_plugin

    for plugin in plugins:
        load_plugin(plugin)


MEASURES = f"Measures, with commas (map,nDCG@10), or a set of them ({names.NICKNAMES[0]}, …). Repeatable [{{usual}}]."
"""The help of ``--measure``, with a place for the default measures."""


def _measures(usual: str) -> Decorator:
    return repeatable("-m --measure measures", "NAME", MEASURES.format(usual=usual), "measure")


SCORING_OPTIONS: Mapping[str, Decorator] = {
    "measures": _measures("the profile's"),
    "profile": option(
        "--profile",
        help=f"Score as another program does: {', '.join(names.PROFILES[4:6])}, …; 'treceval profiles' lists them "
        f"[{names.PROFILES[0]}].",
        **PROFILE,
    ),
    "level": number("-l --level --level_for_rel", "Lowest relevant judgment [1, or the profile's]."),
    "complete": flag("-c --complete --complete_rel_info_wanted", "Average over all judged queries, missing ones too."),
    "depth": number("-M --depth --Max_retrieved_per_topic", "Score only the first N documents of each query."),
    "judged_only": flag("-J --judged-only --Judged_docs_only", "Remove unjudged documents from the ranking."),
    "collection_size": number(
        "-N --collection-size --Number_docs_in_coll", "Number of documents in the collection [0]."
    ),
    "signatures": option(
        "--repeat signatures", "SIGNATURE", "Score as this signature describes. Repeatable.", multiple=True
    ),
}
"""How runs are scored: an option for each field of `Scoring`."""

READING_OPTIONS: Mapping[str, Decorator] = {
    "judgment_format": choice(
        "-R --judgment-format --Rel_info_format",
        formats_of("qrels", "judgments"),
        "Format of QRELS [recognised].",
        metavar="FORMAT",
    ),
    "run_format": choice(
        "-T --run-format --Results_format", formats_of("run"), "Format of runs [recognised].", metavar="FORMAT"
    ),
    "max_passage": option(
        "--max-passage", "[=TEXT]", "MaxP: d1 gets the best of d1#1, d1#2, … [#].", is_flag=False, flag_value="#"
    ),
    "threads": number("--threads", "Use N threads [one per core].", least=1, most=MOST_THREADS),
}
"""How files are read: an option for each field of `Reading`."""


def _scored(plugins: Iterable[str] = (), **fields: Any) -> dict[str, Any]:
    """Return how runs are read and scored, with plug-ins imported."""
    from treceval_py.scoring.planning import Reading, Scoring

    if plugins:
        load_plugins(plugins)
    reading = {field: fields.pop(field) for field in READING_OPTIONS if field in fields}
    if "signatures" in fields and len(fields) > 1:
        options = click.get_current_context().command.params
        other = next(each.opts[0] for each in options if each.name in fields and each.name != "signatures")
        raise click.UsageError(f"--repeat already fixes how to score; remove {other}.")
    return {"scoring": Scoring(**fields), "reading": Reading(**reading)}


USUAL = ", ".join(names.USUAL_MEASURES)


def scoring_options(usual: str = USUAL) -> Decorator:
    """Return a decorator that gives a command all options of scoring, as ``scoring=`` and ``reading=``.

    Parameters
    ----------
    usual : str
        The default measures, for the help.
    """
    options = {**SCORING_OPTIONS, "measures": _measures(usual), **READING_OPTIONS, "plugins": PLUGIN}
    add = together(options, _scored)
    return lambda command: titled("Scoring")(titled("Reading files", READING_OPTIONS)(add(command)))


STATISTICS: Mapping[str, Decorator] = {
    "tests": repeatable(
        "--test tests",
        "NAME",
        "simultaneous (all pairs), t, wilcoxon, randomisation or all. Repeatable; the first decides the marks "
        "[simultaneous].",
        "test",
    ),
    "alpha": decimal("--alpha", "Significance level; intervals are at 1 - X [0.05].", 0.05),
    "resamples": number("--resamples", "Resamples [10000; randomisation: 100000].", least=1),
    "margin": decimal("--margin", "Test whether the difference is smaller than X."),
}
"""How runs are compared: options of the fields of `Settings` that a command sets."""


def _settings(tests: tuple[str, ...] = (), **fields: Any) -> Settings:
    """Return how runs are compared."""
    from treceval_py.comparing.comparing import checked
    from treceval_py.comparing.outcome import Settings
    from treceval_py.comparing.tests import SIMULTANEOUS, TESTS

    for name in tests:
        if name not in (*TESTS, "all"):
            from treceval_py.cli.mistakes import near

            raise click.UsageError(f"--test must be one of {', '.join(TESTS)} or all, not '{name}'.{near(name, TESTS)}")
    marking = [name for name in tests if name != "all"] or [SIMULTANEOUS]
    every = dict.fromkeys((*marking, *(TESTS if "all" in tests else ())))
    return checked(Settings(tuple(every), **fields))


statistics_options = together(STATISTICS, _settings, "settings")
"""Gives a command the options of statistics, as ``settings=``."""

model_options = stacked(
    [
        choice(
            "--engine",
            ["flagembedding", "sentence-transformers"],
            "flagembedding or sentence-transformers [what suits the model].",
            metavar="NAME",
        ),
        choice(
            "--precision",
            ["auto", "fp32", "bf16", "fp16"],
            "fp32, bf16, fp16, or auto: bf16 or fp16 on GPUs [fp32].",
            metavar="NAME",
            default="fp32",
        ),
        number("--max-length", "Most tokens of a text, or of a pair to rerank [512, or the model's].", least=1),
    ]
)
"""Gives a command the options of how a model computes; the same for encoding and reranking."""

_machines = stacked(
    [
        option("--device devices", "NAME", "cpu, cuda:0, …. Repeatable [all GPUs, or cpu].", multiple=True),
        number("--batch-size", "Texts or pairs at once [32, more on a GPU].", least=1),
        option("--ray", "ADDRESS", "Use a Ray cluster: auto, HOST:PORT or local."),
    ]
)


def machine_options(command: Any) -> Any:
    """Give a command the options of where a model runs."""
    return titled("Larger machines")(_machines(command))
