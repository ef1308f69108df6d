"""The command line, run inside the test's process."""

from __future__ import annotations

import io
import os
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import click

from treceval_py.cli.commands import run
from treceval_py.cli.commands import treceval as program


def _data(name: str) -> Any:
    return tomllib.loads(Path(__file__).with_name(name).read_text("utf-8"))


LINES: dict[str, list[str]] = {name: text.splitlines() for name, text in _data("command_lines.toml").items()}
"""Command lines by what comes of them."""

REFUSED = _data("refused_files.toml")
"""Files that are refused, by kind."""


class Done(NamedTuple):
    """How a command ended and what it printed."""

    status: int
    out: bytes
    err: bytes


def last_of_each(arguments: Sequence[object]) -> list[str]:
    """Return arguments without the options, and their values, that are given again further on."""
    words = list(map(str, arguments))
    again = {at for at, word in enumerate(words) if word.startswith("--") and word in words[at + 1 :]}
    return [word for at, word in enumerate(words) if at not in again and at - 1 not in again]


def treceval(arguments: Sequence[str], *, stdin: bytes = b"", folder: str | os.PathLike[str] | None = None) -> Done:
    """Run ``treceval`` with arguments in a folder."""
    return command(arguments, stdin=stdin, folder=folder)


def command(
    arguments: Sequence[str],
    program: click.Command = program,
    *,
    stdin: bytes = b"",
    folder: str | os.PathLike[str] | None = None,
) -> Done:
    """Run a program with arguments in a folder."""
    with _streams(stdin) as (out, err), _inside(folder):
        status = run(list(arguments), program)
        out.flush()
        err.flush()
        return Done(status, out.buffer.getvalue(), err.buffer.getvalue())  # type: ignore[attr-defined]


def table(found: Mapping[str, str]) -> str:
    """Return cases and what came of each, to be recorded."""
    return "".join(f"{name}\n    {line}\n" for name, line in found.items())


@contextmanager
def _streams(stdin: bytes) -> Iterator[tuple[io.TextIOWrapper, io.TextIOWrapper]]:
    before = sys.stdin, sys.stdout, sys.stderr
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(stdin)), out, err
    try:
        yield out, err
    finally:
        sys.stdin, sys.stdout, sys.stderr = before


@contextmanager
def _inside(folder: str | os.PathLike[str] | None) -> Iterator[None]:
    before = os.getcwd()
    if folder is not None:
        os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
