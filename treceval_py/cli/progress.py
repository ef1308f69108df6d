"""A progress bar for long reading, on standard error if that is a terminal."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from treceval_py.errors import visible

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE = 1.0
"""Seconds of work before a bar is shown."""


class Bar:
    """A bar over the files of a command, shown after a while.

    Parameters
    ----------
    files : sequence of str
        The files that will be read, one after the other.
    """

    def __init__(self, files: Sequence[str]) -> None:
        self._files = [visible(file) for file in files]
        sizes = [os.path.getsize(file) if os.path.isfile(file) else None for file in files]
        self._sizes = [size or 0 for size in sizes]
        self._total = sum(self._sizes) if None not in sizes else None
        self._begun = time.monotonic()
        self._at = 0
        self._shown: Progress | None = None

    def watch(self, done: int, total: int | None) -> None:  # noqa: ARG002 - already known for all files together
        """Update with the number of bytes read of the current file."""
        if time.monotonic() - self._begun < PATIENCE:
            return
        if self._shown is None:
            self._shown = self._drawn()
        self._shown.update(
            self._shown.task_ids[0], completed=sum(self._sizes[: self._at]) + done, description=self._files[self._at]
        )

    def next(self) -> None:
        """Advance to the next file."""
        self._at = min(self._at + 1, len(self._files) - 1)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the bar."""
        if self._shown is not None:
            self._shown.stop()

    def _drawn(self) -> Progress:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        shown = Progress(*columns, console=Console(stderr=True), transient=True)
        shown.start()
        shown.add_task("", total=self._total)
        return shown


def progress(files: Sequence[str]) -> AbstractContextManager[Bar | None]:
    """Return a progress bar for files, removed at the end; None if standard error is not a terminal."""
    return Bar(files) if sys.stderr is not None and sys.stderr.isatty() else nullcontext()


@contextmanager
def working(work: str) -> Iterator[Callable[[], None] | None]:
    """Show what is being done, and for how long, after a while; yield a callback that counts steps.

    Parameters
    ----------
    work : str
        What is being done: "comparing 12 runs".
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    ended, begun, terminal, done = threading.Event(), time.monotonic(), sys.stderr, 0

    def after() -> None:
        nonlocal done
        done += 1

    def show() -> None:
        while not ended.wait(PATIENCE):
            steps = f"{done} done, " if done else ""
            terminal.write(f"\r{work}: {steps}{time.monotonic() - begun:.0f} s")
            terminal.flush()
        terminal.write("\r\x1b[K" if time.monotonic() - begun >= PATIENCE else "")
        terminal.flush()

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield after
    finally:
        ended.set()
        thread.join()
