"""What was probably meant by a word of a command line that is no command, option, file or measure."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from difflib import get_close_matches

import click

from treceval_py.errors import MeasureError, UnknownMeasureError, brief

COMMANDS_MEANT = {
    "score": "evaluate eval",
    "compare": "test significance",
    "board": "leaderboard rank",
    "report": "plot",
    "check": "lint validate",
    "retrieve": "search index",
    "fuse": "merge",
    "measures": "metrics list",
    "--version": "version",
}
"""Names that other programs give to commands like ours."""

OPTIONS_MEANT = {
    "-m": "metric metrics measures",
    "-q": "by-query perquery per-topic by-topic",
    "--floor": "min minimum threshold",
    "-l": "relevance-level relevance rel min-rel threshold",
    "-k": "k top top-k topk cutoff depth",
    "--digits": "precision decimals round",
    "--profile": "tool like convention conventions",
    "--retriever": "method",
    "--explain": "code rule",
    "--format": "output-format out-format output_format",
    "--to": "format output-format out-format",
    "--corpus": "docs documents passages collection",
    "--queries": "topics query",
    "-o": "format out-file outfile file html",
}
"""Names that other programs give to options like ours."""

CUTOFFS, FILES = ["k", "cutoff", "cutoffs", "top", "top-k", "topk", "at"], ["qrels", "qrel", "run", "runs"]


def option_meant(name: str, command: click.Command, program: click.Group) -> str:
    """Return the message about an option that a command of a program does not have."""
    options = {spelling: option for option in command.params for spelling in option.opts}
    said, word = f"No such option '{brief(name)}'.", name.lstrip("-")
    meant = next((ours for ours, others in OPTIONS_MEANT.items() if word in others.split() and ours in options), None)
    for spelling, option in options.items():
        if word.lower() in getattr(option.type, "choices", ()):
            meant = f"{spelling} {word.lower()}"
    if meant is None and word in getattr(options.get("--set"), "settings", ()):
        meant = f"--set {word}=…"
    if meant is not None:
        return f"{said} Did you mean {meant}?"
    if word in CUTOFFS and "-m" in options:
        return f"{said} The cutoff belongs to the measure: -m nDCG@10."
    if word in FILES:
        usage = command.get_usage(click.Context(command, info_name="treceval"))
        return f"{said} Files need none: {usage.partition(': ')[2]}"
    if other := _command_with(name, program):
        return f"{said} It is an option of 'treceval {other}'."
    near = get_close_matches(word, [spelling[2:] for spelling in options if spelling[:2] == "--"], 1, 0.61)
    return f"{said} Did you mean --{near[0]}?" if near else said


def _command_with(name: str, program: click.Group) -> str:
    """Return the first command that has an option."""
    ctx = click.Context(program)
    commands = ((each, program.get_command(ctx, each)) for each in program.list_commands(ctx) if name[:2] == "--")
    return next((each for each, command in commands if command and any(name in one.opts for one in command.params)), "")


def no_command(word: str, commands: Collection[str]) -> click.UsageError:
    """Return the error about a word that should be a command."""
    said = f"There is no command '{brief(word)}'."
    if meant := _command_meant(word, commands):
        said += f" Did you mean 'treceval {meant}'?"
    else:
        with contextlib.suppress(MeasureError, click.UsageError):
            if is_measure(word):
                said = f"{word} is a measure: 'treceval measures {word}' explains it."
    return click.UsageError(said)


def _command_meant(word: str, commands: Collection[str]) -> str:
    meant = (ours for ours, others in COMMANDS_MEANT.items() if word in others.split())
    return next(meant, None) or next(iter(get_close_matches(word, commands, 1, 0.7)), "")


def is_measure(word: str, ctx: click.Context | None = None, commands: Collection[str] = ()) -> bool:
    """Tell whether a word that is not the name of a file is a measure, or else the name of a missing file.

    Without a context, it is the first word, and may also be one of the commands.

    Raises
    ------
    UsageError
        It is none of these.
    MeasureError
        It is a measure with a wrong parameter.
    """
    from treceval_py.measuring.notation import meant_by, parse_measures
    from treceval_py.measuring.plugins import load_plugin

    for plugin in ctx.params["plugins"] if ctx else ():
        load_plugin(plugin)
    try:
        return bool(parse_measures(word))
    except MeasureError as error:
        if not set(".*?").isdisjoint(word):
            return False
        if not isinstance(error, UnknownMeasureError):
            raise
    if ctx is None and commands and _command_meant(word, commands):
        raise no_command(word, commands)
    if word in commands:
        raise click.UsageError(f"{word} is a command, so it comes first: treceval {word} ….", ctx)
    if word in ("yes", "no", "true", "false"):
        raise click.UsageError(f"Options such as -q take no value; remove '{word}'.", ctx)
    meant = meant_by(word)
    kinds = "file or measure" if ctx else "command, file or measure"
    raise click.UsageError(f"There is no {kinds} '{brief(word)}'." + (f" Did you mean {meant}?" if meant else ""), ctx)
