"""A progress bar for each stage of long work, or lines if there is no terminal."""

from __future__ import annotations

import gc
import os
import shlex
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from treceval_py.cli.commands import THREADS
from treceval_py.cli.printing import note, say
from treceval_py.corpora.reporting import duration
from treceval_py.errors import OutputError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

QUIET = 60.0
"""Seconds between two lines about one stage, without a terminal."""


@contextmanager
def long_work(work: str, kept: str) -> Iterator[Stages]:
    """Yield a reporter for work of hours; `kept` says what an interruption leaves in the folder `work`."""
    # Undo settings that suit a command of a tenth of a second.
    gc.enable()
    if THREADS not in os.environ:  # else the user's number
        os.unsetenv(THREADS)
    if hasattr(signal, "SIGPIPE"):
        # A broken connection (the hub's, Ray's) is an error of that connection and must not end the program.
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    stages = Stages()
    try:
        yield stages
    except KeyboardInterrupt:
        stages.close()
        say(f"interrupted: {kept}: {shlex.join(['treceval', *sys.argv[1:]])}")
        raise
    except OSError as error:  # from the work folder or a disk, not from standard output as elsewhere
        problem = f"cannot be used: {error.strerror or error}"
        raise OutputError(problem, "Work so far is kept.", file=str(error.filename or work)) from None
    finally:
        stages.close()


class Stages:
    """A reporter that shows bars with the time left on a terminal, and otherwise prints a line now and then."""

    def __init__(self) -> None:
        self._drawn = _drawn() if sys.stderr is not None and sys.stderr.isatty() else None
        self._task: TaskID | None = None

    def begin(self, stage: str, total: int | None, unit: str, done: int = 0) -> None:
        """Begin a stage with a new bar."""
        self._stage, self._total, self._unit = stage, total, unit
        self._done = self._before = done
        self._since = self._told = time.monotonic()
        if self._drawn is not None:
            self._drawn.start()
            self._task = self._drawn.add_task(stage, total=total, completed=done, told=self._counted())

    def advance(self, count: int) -> None:
        """Count finished units."""
        self._done += count
        now = time.monotonic()
        if self._drawn is not None and self._task is not None:
            self._drawn.update(self._task, completed=self._done, told=self._counted() + self._left(now))
        elif now - self._told > QUIET:
            self._told = now
            say(f"{self._stage}: {self._counted()}{self._left(now)}")

    def end(self) -> None:
        """End the stage."""
        told = f"{self._counted()} in {duration(time.monotonic() - self._since)}"
        if self._drawn is not None and self._task is not None:
            self._drawn.update(self._task, completed=self._done, total=self._done, told=told)
            self._drawn.refresh()
        elif self._drawn is None:
            say(f"{self._stage}: {told}")

    def note(self, text: str) -> None:
        """Write a note above the bars."""
        if self._drawn is not None and self._drawn.live.is_started:
            self._drawn.console.print(f"note: {text}", markup=False, highlight=False, soft_wrap=True)
        else:
            note(text)

    def close(self) -> None:
        """Leave the bars as they are."""
        if self._drawn is not None:
            self._drawn.stop()

    def _counted(self) -> str:
        of = f" of {self._total:,}" if self._total is not None and self._total > self._done else ""
        return f"{self._done:,}{of} {self._unit}"

    def _left(self, now: float) -> str:
        # Units finished earlier took none of this time.
        done = self._done - self._before
        if self._total is None or done <= 0:
            return ""
        return f", {duration((now - self._since) / done * (self._total - self._done))} left"


def _drawn() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    return Progress(
        TextColumn("{task.description:<15}", markup=False),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[told]}", markup=False),
        console=Console(stderr=True),
    )
