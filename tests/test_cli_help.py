"""Help: an overview that fits on a screen, and for each command its most used options first, then groups."""

from __future__ import annotations

import re

import click
import pytest
from command import treceval

from treceval_py.cli import commands
from treceval_py.cli.commands import COMMANDS, USES, Command

WITHOUT_GROUPS = {"convert", "measures", "profiles"}
"""Commands with few options."""


def command_named(name: str) -> Command:
    command = commands.treceval.get_command(click.Context(commands.treceval), name)
    assert isinstance(command, Command)
    return command


def help_of(*words: str) -> str:
    done = treceval(words)
    assert (done.status, done.err) == (0, b""), words
    return done.out.decode()


def test_the_overview_fits_on_a_screen_and_names_every_command_once() -> None:
    overview = help_of("--help")
    lines = overview.splitlines()
    assert (len(lines) <= 24, max(map(len, lines)) <= 80) == (True, True)
    listed = re.findall(r"(?m)^(?:[A-Z][a-z ]+|) {2,}([a-z]+) {2,}\w", overview)
    assert listed == [name for names in USES.values() for name in names] == [*COMMANDS]
    assert overview == help_of("-h") == help_of("help")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_can_be_asked_for_in_three_ways(name: str) -> None:
    assert help_of("help", name) == help_of(name, "--help") == help_of("--help", name)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_option_is_in_help_once_and_the_most_used_come_first(name: str) -> None:
    command = command_named(name)
    shown = re.findall(r"(?m)^  (-[^ ,]+)", help_of(name, "--help").partition("\nOptions")[2])
    declared = [each.opts[0] for each in command.get_params(click.Context(command)) if isinstance(each, click.Option)]
    assert sorted(shown) == sorted(declared)
    assert len(command.common) == (0 if name in WITHOUT_GROUPS else 5)
    assert shown[: len(command.common)] == command.common


MOST_LINES = 70
"""Of help."""


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_read_in_a_minute(name: str) -> None:
    command = command_named(name)
    options = [each for each in command.params if isinstance(each, click.Option)]
    assert len(options) <= 30
    assert len(help_of(name, "--help").splitlines()) <= MOST_LINES


def test_a_group_has_a_title_and_trec_evals_long_names_are_left_out() -> None:
    text = help_of("score", "--help")
    titles = re.findall(r"(?m)^(\w.*):$", text)
    assert titles == ["Options used most", "Scoring", "Reading files", "Other values", "Output"]
    assert "  -l, --level N " in text
    assert "--level_for_rel" not in text
    assert treceval(["--level_for_rel", "x", "q.txt", "r.txt"]).err.startswith(b"treceval: Invalid value for '-l'")
