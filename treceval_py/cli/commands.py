"""The commands, with trec_eval-style options; each error becomes one line on standard error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import cast

import click

from treceval_py.cli.printing import lost, say
from treceval_py.errors import TrecevalError, visible

__all__ = ["DefaultGroup", "PrefixCommand", "run", "treceval"]


class DefaultGroup(click.Group):
    """A group whose command may be omitted: arguments without a command's name go to the default one.

    Parameters
    ----------
    name : str
        The program's name.
    modules : mapping of str to str
        For each command the module of `treceval_py.cli` that defines it; imported only when called, so that scoring
        starts fast.
    """

    default = "score"

    def __init__(self, name: str, modules: Mapping[str, str]) -> None:
        super().__init__(name, add_help_option=False)
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the commands."""
        return list(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Return a command by name."""
        if cmd_name not in self._modules:
            return None
        module = import_module(f"treceval_py.cli.{self._modules[cmd_name]}")
        return cast("click.Command", getattr(module, cmd_name))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the default command before arguments that don't name one."""
        if not args or args[0] not in self._modules:
            args = [self.default, *args]
        return super().parse_args(ctx, args)


class PrefixCommand(click.Command):
    """A command whose long options may be abbreviated if unambiguous, as in getopt_long."""

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show that the command's name may be omitted."""
        formatter.write_usage(f"treceval [{self.name}]", " ".join(self.collect_usage_pieces(ctx)))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Expand abbreviated options."""
        known = [name for parameter in self.params for name in parameter.opts if name.startswith("--")]
        written: list[str] = []
        for position, argument in enumerate(args):
            if argument == "--":
                written.extend(args[position:])
                break
            written.append(_written_out(argument, known) if argument.startswith("--") else argument)
        return super().parse_args(ctx, written)


def _written_out(argument: str, known: list[str]) -> str:
    name, equals, value = argument.partition("=")
    if name in known:
        return argument
    meant = [option for option in known if option.startswith(name)]
    if len(meant) > 1:
        raise click.UsageError(f"Option '{name}' is ambiguous: {' or '.join(meant)}.")
    return meant[0] + equals + value if meant else argument


treceval = DefaultGroup(
    "treceval",
    {
        "score": "score",
        "compare": "compare",
        "board": "board",
        "report": "report",
        "check": "check",
        "grade": "grade",
        "measures": "measures",
        "profiles": "profiles",
        "explain": "explain",
        "convert": "convert",
        "retrieve": "retrieve",
    },
)


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return the exit status: 0 done, 1 bad data, 2 usage."""
    try:
        # Not click's own `main`, which prints a line of its own when the program is interrupted.
        with treceval.make_context("treceval", list(arguments), obj=tuple(arguments)) as context:
            treceval.invoke(context)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except TrecevalError as error:
        say(f"treceval: {error}" if error.file is None else str(error))
        return error.status
    except click.UsageError as error:
        say(f"treceval: {_sentence(error.format_message())} See '{_command(error)} --help'.")
        return 2
    except BrokenPipeError:
        raise
    except OSError as error:  # help and usage, which click prints itself; what has a file is about that one
        say(f"treceval: {lost(error)}" if error.filename is None else _about_file(error))
        return 1
    return 0


def _about_file(error: OSError) -> str:
    return f"{visible(str(error.filename))}: {error.strerror or error}."


def _command(error: click.UsageError) -> str:
    """Return the misused command as the user called it; the default one has no name."""
    path = "treceval" if error.ctx is None else error.ctx.command_path
    return path.removesuffix(f" {treceval.default}")


def _sentence(text: str) -> str:
    text = visible(" ".join(text.split()))
    return text if text.endswith((".", "?", "!")) else text + "."
