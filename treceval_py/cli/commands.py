"""The commands, and how their errors become one line on standard error."""

from __future__ import annotations

from collections.abc import Sequence

import click

from treceval_py.cli.group import DefaultGroup
from treceval_py.cli.printing import lost, say
from treceval_py.errors import TrecevalError, visible

__all__ = ["run", "treceval"]

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
    """Return how the command is called that was misused; the default one has no name."""
    path = "treceval" if error.ctx is None else error.ctx.command_path
    return path.removesuffix(f" {treceval.default}")


def _sentence(text: str) -> str:
    text = visible(" ".join(text.split()))
    return text if text.endswith((".", "?", "!")) else text + "."
