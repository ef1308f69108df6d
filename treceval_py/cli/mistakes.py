"""What was probably meant by a word of a command line that is no command, option, file or measure."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import pairwise

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
    "--margin": "tolerance max-drop drop",
    "--alpha": "p-value p significance significance-level sig",
    "-l": "relevance-level relevance rel min-rel threshold",
    "-k": "k top top-k topk cutoff depth",
    "--digits": "precision decimals round",
    "--profile": "tool like convention conventions",
    "--retriever": "method",
    "--bm25": "k1 b",
    "--embeddings": "passage-embeddings query-embeddings",
    "--work": "embeddings-only",
    "--max-length": "passage-max-length query-max-length rerank-max-length",
    "--index": "search-parameters",
    "--explain": "code rule",
    "--format": "output-format out-format output_format",
    "--to": "format output-format out-format",
    "--corpus": "docs documents passages collection",
    "--queries": "topics query",
    "-o": "format out-file outfile file html",
}
"""Names that other programs give to options like ours."""

VALUES_MEANT = {
    "t": "ttest t-test student",
    "randomisation": "permutation",
    "rrf": "reciprocal",
    "csv": "excel",
    "markdown": "md",
}
"""Values that other programs name otherwise."""

CUTOFFS = ("k", "cutoff", "cutoffs", "top", "top-k", "topk", "at")
JUDGMENTS, RUNS = ("qrels", "qrel", "judgments", "judgements", "judgment"), ("run", "runs")
FILES = JUDGMENTS + RUNS

ANSWERS = {
    "correction": "P-values are corrected already: those of --test t by Holm's method.",
    "gain": "The gain belongs to the measure: -m 'nDCG(gain=exp)@10'.",
}
"""Answers about options that other programs have, and that nothing here takes the place of."""


def option_meant(name: str, command: click.Command, program: click.Group, typed: Sequence[str] = ()) -> str:
    """Return the message about an option that a command of a program does not have, with the words that were typed."""
    options = {spelling: option for option in command.params for spelling in option.opts}
    said, word = f"No such option '{brief(name)}'.", name.lstrip("-")
    words = [part for each in typed for part in (each.split("=", 1) if each[:2] == "--" else [each])]
    value = next((after for before, after in pairwise(words) if before == name), "")
    if answer := _no_option(word, value, words, command, options):
        return f"{said} {answer}"
    meant = next((ours for ours, others in OPTIONS_MEANT.items() if word in others.split() and ours in options), None)
    if meant == "-o":
        meant += f" {value if '.' in value else 'page.html' if value == 'html' else 'FILE'}"
    elif meant == "--floor":
        meant += f" {value}" if "=" in value else f" map={value}"
    for spelling, option in options.items():
        if word.lower() in getattr(option.type, "choices", ()):
            meant = f"{spelling} {word.lower()}"
    if meant is not None:
        return f"{said} Did you mean {meant}?"
    if other := _command_with(name, program):
        return f"{said} It is an option of 'treceval {other}'."
    near = get_close_matches(word, [spelling[2:] for spelling in options if spelling[:2] == "--"], 1, 0.61)
    return f"{said} Did you mean --{near[0]}?" if near else said


def _no_option(
    word: str, value: str, words: Sequence[str], command: click.Command, options: Mapping[str, click.Parameter]
) -> str:
    """Return how to write what needs no option here: a cutoff, a gain, files; empty for others."""
    if word in CUTOFFS and "-m" in options and "-k" not in options:
        from treceval_py.measuring.notation import with_cutoff

        asked = next((after for before, after in pairwise(words) if before in ("-m", "--measure")), "nDCG")
        return f"The cutoff belongs to the measure: -m {with_cutoff(asked, value if value.isdigit() else '10')}."
    if word in ("list", "list-measures", "list-profiles"):
        return f"'treceval {'profiles' if 'profiles' in (word[5:], command.name) else 'measures'}' lists them."
    if re.sub("[-_](file|path)$", "", word) in FILES:
        return f"The files need no option: {_with_files(words, command, options)}."
    return ANSWERS.get(word, "") if "-m" in options else ""


def _with_files(words: Sequence[str], command: click.Command, options: Mapping[str, click.Parameter]) -> str:
    """Return the command with the files of a line, in the order of its arguments."""
    places = {}
    for before, word in pairwise(["", *words]):
        option = options.get(before)
        if os.path.isfile(word) and (option is None or getattr(option, "is_flag", False)):
            named = re.sub("[-_](file|path)$", "", before.lstrip("-"))
            places[word] = 0 if named in JUDGMENTS else 2 if named in RUNS else 1
    files = sorted(places, key=lambda word: places[word])
    line = " ".join(files) or " ".join(command.collect_usage_pieces(click.Context(command))[1:])
    return f"treceval {'' if command.name == 'score' else f'{command.name} '}{line}"


def near(value: str, choices: Iterable[str]) -> str:
    """Return a sentence that names the choice that a value probably means; empty if there is none."""
    known = [*choices]
    meant = [ours for ours, others in VALUES_MEANT.items() if value.lower() in others.split() and ours in known]
    meant += get_close_matches(value.lower(), known, 1, 0.6)
    return f" Did you mean {meant[0]}?" if meant else ""


def value_meant(error: click.BadParameter) -> str:
    """Return what to add to the message about the value of an option."""
    value = [*error.message.split("'"), ""][1]
    if isinstance(kind := getattr(error.param, "type", None), click.Choice):
        return near(value, kind.choices)
    if "float" in error.message and re.fullmatch(r"\d+(\.\d+)?%", value):
        return f" Write {float(value[:-1]) / 100:g}."
    return ""


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
    from treceval_py.io.source import near_file
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
    if ctx is None and word == "treceval":
        raise click.UsageError("'treceval' is typed twice. Remove one.")
    before = next(
        (one for one, after in pairwise(ctx.obj or () if ctx else ()) if after == word and one[:1] == "-"), ""
    )
    if before and (word in ("yes", "no", "true", "false") or word.isdigit()):
        one = f" For one query: treceval explain QRELS RUN --query {word}." if before in ("-q", "--query") else ""
        raise click.UsageError(f"{before} takes no value; remove '{word}'.{one}", ctx)
    meant = near_file(word) or meant_by(word)
    kinds = "file or measure" if ctx else "command, file or measure"
    raise click.UsageError(f"There is no {kinds} '{brief(word)}'." + (f" Did you mean {meant}?" if meant else ""), ctx)
