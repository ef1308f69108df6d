"""The commands, and how their errors become one line on standard error."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from treceval_py.cli.group import DefaultGroup
from treceval_py.cli.measures import measures
from treceval_py.cli.score import score
from treceval_py.errors import TrecevalError

__all__ = ["run", "treceval"]

treceval = DefaultGroup("treceval", commands=[score, measures], add_help_option=False)


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return the exit status: 0 done, 1 bad data, 2 usage."""
    try:
        status = treceval.main(list(arguments), prog_name="treceval", standalone_mode=False)
    except TrecevalError as error:
        _say(f"treceval: {error}" if error.file is None else str(error))
        return error.status
    except click.UsageError as error:
        _say(f"treceval: {_sentence(error.format_message())} See 'treceval --help'.")
        return 2
    except click.ClickException as error:
        _say(f"treceval: {_sentence(error.format_message())}")
        return 1
    except click.Abort:
        raise KeyboardInterrupt from None
    except OSError as error:  # standard output: a full disk, a closed descriptor
        _say(f"treceval: cannot write the output: {error.strerror or error}.")
        return 1
    return status if isinstance(status, int) else 0


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return text if text.endswith((".", "?", "!")) else text + "."


def _say(line: str) -> None:
    if sys.stderr is not None:
        raw = line.encode("utf-8", "backslashreplace") + b"\n"
        sys.stderr.flush()
        sys.stderr.buffer.write(raw)
        sys.stderr.buffer.flush()
