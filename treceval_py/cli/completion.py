"""Shell completion: click's, extended to our default command and to words with ``@`` and ``=``.

``_TRECEVAL_COMPLETE=bash_source treceval`` prints a script that the shell evaluates; it calls the command with
``bash_complete`` at each press of the tab key. zsh and fish likewise.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from copy import copy

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    split_arg_string,
)

from treceval_py.cli.commands import COMMANDS, DefaultGroup
from treceval_py.cli.printing import say
from treceval_py.errors import TrecevalError
from treceval_py.io.named import JUDGMENT_FORMATS, RUN_FORMATS
from treceval_py.measures import FAMILIES, NICKNAMES
from treceval_py.scoring.profiles import PROFILES

PROGRAM = "treceval"

VARIABLE = "_TRECEVAL_COMPLETE"
"""The environment variable that asks for completion; click gives it its name."""


class _Names(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """One of some names.

    Parameters
    ----------
    names : callable
        Returns the possible names and their meanings for a typed text. Case does not matter.
    """

    name = "name"

    def __init__(self, names: Callable[[str], Mapping[str, str]]) -> None:
        self._names = names

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's
        """Return the names that begin with the typed text."""
        found = self._names(incomplete)
        begins = incomplete
        if not any(name.startswith(begins) for name in found):
            # In one spelling only: a shell shortens the typed text to the common beginning of its completions.
            alike = [name[: len(begins)] for name in found if name.lower().startswith(begins.lower())]
            begins = alike[-1] if alike else begins
        return [CompletionItem(name, help=what) for name, what in found.items() if name.startswith(begins)]


def _measures(typed: str) -> dict[str, str]:
    """Return the names of measures; as there are many, those with a cutoff only once something is typed."""
    found: dict[str, str] = {}
    for family in FAMILIES.values():
        for name, mark in ((family.name, "."), *((name, "@") for name in family.notation[:1])):
            if family.at is None or name == family.name:  # other names need a cutoff
                found.setdefault(name, family.title)
            if typed and family.at is not None:
                found |= {f"{name}{mark}{family.at.show(cutoff)}": family.title for cutoff in family.cutoffs}
    return {**found, **{name: f"{len(members)} measures" for name, members in NICKNAMES.items()}}


def _profiles(_: str) -> dict[str, str]:
    return {name: profile.title for name, profile in PROFILES.items()}


def _formats(_: str) -> dict[str, str]:
    return {**dict.fromkeys(RUN_FORMATS, "of runs"), **dict.fromkeys(JUDGMENT_FORMATS, "of judgments")}


def _tests(_: str) -> dict[str, str]:
    from treceval_py.comparing.tests import TESTS

    return {name: test.title for name, test in TESTS.items()}


def _letters(_: str) -> dict[str, str]:
    from treceval_py.comparing.tests import LETTERS

    return {name: test.title for name, test in LETTERS.items()}


def _corrections(_: str) -> dict[str, str]:
    from treceval_py.comparing.corrections import CORRECTIONS

    return dict.fromkeys(CORRECTIONS, "")


def _codes(_: str) -> dict[str, str]:
    from treceval_py.checking.catalogue import CODES

    return {code: each.title for code, each in CODES.items()}


NAMES: Mapping[str, Callable[[str], Mapping[str, str]]] = {
    "measures": _measures,
    "claims": _measures,
    "margins": _measures,
    "floors": _measures,
    "measures names": _measures,
    "profile": _profiles,
    "against": _profiles,
    "profiles names": _profiles,
    "convert source_format": _formats,
    "convert target_format": _formats,
    "tests": _tests,
    "correction": _corrections,
    "letters": _letters,
    "check explain": _codes,
    "check select": _codes,
    "check ignore": _codes,
}
"""The values of parameters, by name; if a name has several meanings, the command precedes it. A parameter with choices
needs no entry, and any other text is a file name."""


def _completed(command: str, parameter: click.Parameter) -> click.Parameter:
    if parameter.type is not click.STRING:
        return parameter
    names = NAMES.get(f"{command} {parameter.name}") or NAMES.get(str(parameter.name))
    parameter = copy(parameter)
    parameter.type = _Names(names) if names else click.Path()
    return parameter


class _Group(DefaultGroup):
    """The commands, with the values of their parameters."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a copy of a command whose text parameters have types that can be completed."""
        command = copy(super().get_command(ctx, cmd_name))
        if command is not None:
            command.params = [_completed(cmd_name, parameter) for parameter in command.params]
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the default command before arguments that don't name one; the first word may become either."""
        return super().parse_args(ctx, args) if args else click.Group.parse_args(self, ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's
        """Complete the first word: the name of a command, or of a file for the default one."""
        named = {self.default: "score runs", **COMMANDS}
        found = [CompletionItem(name, help=what) for name, what in named.items() if name.startswith(incomplete)]
        return [CompletionItem(incomplete, type="file"), *found]


_BASH = """\
%(complete_func)s() {
    local response kind value files=
    response=$(env COMP_WORDS="${COMP_LINE:0:COMP_POINT}" COMP_CWORD="$2" %(complete_var)s=bash_complete "$1")
    COMPREPLY=()
    while IFS=, read -r kind value; do
        case $kind in
            plain) COMPREPLY+=("$value") ;;
            file | dir) files=1 ;;
        esac
    done <<< "$response"
    if [[ $files && ${#COMPREPLY[@]} -eq 0 ]]; then
        compopt -o default
    elif [[ $files ]]; then
        compopt -o filenames
        while read -r value; do
            [[ $value ]] && COMPREPLY+=("$value")
        done <<< "$(compgen -f -- "$2")"
    fi
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class _Shell(ShellComplete):
    """A shell, for a program with a default command."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Return completions of a word, or of the value in ``--option=value``."""
        # The words before determine the command, to which the option belongs.
        return super().get_completions(args or [DefaultGroup.default] * incomplete.startswith("-"), incomplete)


class _Bash(_Shell, BashComplete):
    """bash, which splits ``nDCG@10`` into three words and replaces only the last one."""

    source_template = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the cursor, as the program would get them, and the one at the cursor."""
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)
        last = "" if not words or line[-1:].isspace() else words.pop()
        return words[1:], last

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Return completions of the piece of a word that bash replaces."""
        found = super().get_completions(args, incomplete)
        whole = incomplete.partition("=")[2] if incomplete.startswith("--") and "=" in incomplete else incomplete
        before = len(whole) - len(os.environ["COMP_CWORD"])
        for item in found:
            if item.type == "plain" and before > 0:
                item.value = item.value[before:]
        return found


class _WholeWord(_Shell):
    """zsh and fish, which replace a whole word, also that of ``--profile=ranx``."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Return completions of the whole word."""
        found = super().get_completions(args, incomplete)
        option, equals, _ = incomplete.partition("=")
        for item in found:
            if option.startswith("-") and equals and item.type == "plain":
                item.value = f"{option}={item.value}"
        return found


class _Zsh(_WholeWord, ZshComplete):
    pass


class _Fish(_WholeWord, FishComplete):
    pass


_SHELLS: dict[str, type[ShellComplete]] = {"bash": _Bash, "zsh": _Zsh, "fish": _Fish}


def complete(instruction: str) -> int:
    """Carry out an instruction of a shell, such as ``bash_source`` or ``zsh_complete``; return the exit status."""
    shell, _, what = instruction.partition("_")
    if shell not in _SHELLS or what not in ("source", "complete"):
        known = " or ".join(f"{name}_source" for name in _SHELLS)
        say(f"treceval: {VARIABLE}={instruction} is not known. Set it to {known}.")
        return 2
    group = _Group(PROGRAM, (DefaultGroup.default, *COMMANDS))
    completion = _SHELLS[shell](group, {}, PROGRAM, VARIABLE)
    if what == "source":
        click.echo(completion.source(), nl=False)
        return 0
    try:
        click.echo(completion.complete())
    except (click.ClickException, TrecevalError):
        return 1  # a message would be printed into the unfinished command line
    return 0
