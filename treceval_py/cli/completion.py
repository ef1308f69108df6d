"""What the tab key offers: click's completion, with our names, and words that bash splits at ``@``, ``=`` and ``:``.

``_TRECEVAL_COMPLETE=bash_source treceval`` prints click's script, which calls the command with ``bash_complete`` at
each press of the tab key. zsh and fish likewise.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from itertools import pairwise

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    shell_complete,
)

from treceval_py.cli.commands import treceval
from treceval_py.cli.printing import say
from treceval_py.errors import TrecevalError
from treceval_py.io.formats import FORMATS

VARIABLE = "_TRECEVAL_COMPLETE"
"""The environment variable that asks for completion; click gives it its name."""


def names_of(kind: str, typed: str) -> list[CompletionItem]:
    """Return the names of a kind, with their meanings, that begin with the typed text; case does not matter."""
    names = _names(kind, typed)
    if not any(name.startswith(typed) for name in names):
        # In one spelling only: a shell shortens the typed text to the common beginning of its completions.
        alike = [name[: len(typed)] for name in names if name.lower().startswith(typed.lower())]
        typed = alike[-1] if alike else typed
    return [CompletionItem(name, help=meaning) for name, meaning in names.items() if name.startswith(typed)]


TABLES = {
    "profile": ("scoring.profiles", "PROFILES"),
    "test": ("comparing.tests", "TESTS"),
    "code": ("checking.catalogue", "CODES"),
}
"""Where the names of each kind are declared, with titles if they have any."""


def _names(kind: str, typed: str) -> Mapping[str, str]:
    if kind == "measure":
        return _measures(typed)
    if kind == "format":
        return {form.name: form.layout for form in FORMATS}
    module, table = TABLES[kind]
    names = getattr(import_module(f"treceval_py.{module}"), table)
    return {name: getattr(declared, "title", "") for name, declared in names.items()}


def _measures(typed: str) -> dict[str, str]:
    """Return the names of measures; as there are many, those with a cutoff only once something is typed."""
    from treceval_py.measuring import FAMILIES, NICKNAMES

    names: dict[str, str] = {}
    for family in FAMILIES.values():
        for name, mark in ((family.name, "."), *((name, "@") for name in family.notation[:1])):
            if family.at is None or name == family.name:  # other names need a cutoff
                names.setdefault(name, family.title)
            if typed and family.at is not None:
                names |= {f"{name}{mark}{family.at.show(cutoff)}": family.title for cutoff in family.cutoffs}
    return {**names, **{name: f"{len(members)} measures" for name, members in NICKNAMES.items()}}


class _Shell(ShellComplete):
    """A shell, for a program with a default command, and for values in ``--option=value``."""

    kept = 0
    """How much of the beginning of the word at the cursor the shell keeps itself."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Return completions of the piece of a word that the shell replaces."""
        # The words before determine the command, to which the option belongs; the first word may be a file.
        named = args[0] in treceval.names if args else not incomplete.startswith("-")
        items = super().get_completions(args if named else [treceval.default, *args], incomplete)
        option = incomplete[: incomplete.find("=") + 1] if incomplete.startswith("--") else ""
        for item in items:
            if item.type == "plain":
                item.value = (option + item.value)[self.kept :]
        return items


class _Bash(_Shell, BashComplete):
    """bash, which splits ``nDCG@10`` into three words and replaces only ``@10``, and after ``=`` and ``:`` less."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the cursor, as the program would get them, and the one at the cursor."""
        before, piece = super().get_completion_args()
        words: list[str] = []
        for last, each in pairwise(["", *before, piece]):
            if words and not {last, each}.isdisjoint("@=:"):
                words[-1] += each
            else:
                words.append(each)
        replaced = piece.lstrip("=:") if before[-1:] != ["@"] else f"@{piece}"
        self.kept = len(words[-1]) - len(replaced)
        return words[:-1], words[-1]


class _Zsh(_Shell, ZshComplete):
    pass


class _Fish(_Shell, FishComplete):
    pass


SHELLS = {shell.name: add_completion_class(shell) for shell in (_Bash, _Zsh, _Fish)}


def complete(instruction: str) -> int:
    """Carry out an instruction of a shell, such as ``bash_source`` or ``zsh_complete``; return the exit status."""
    shell, _, act = instruction.partition("_")
    if shell not in SHELLS or act not in ("source", "complete"):
        known = " or ".join(f"{name}_source" for name in SHELLS)
        say(f"treceval: {VARIABLE}={instruction} is not known. Set it to {known}.")
        return 2
    try:
        return shell_complete(treceval, {}, "treceval", VARIABLE, instruction)
    except (click.ClickException, TrecevalError):
        return 1  # a message would be printed into the unfinished command line
