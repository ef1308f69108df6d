"""Progress reports of long work."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Protocol


class Reporter(Protocol):
    """Receiver of progress reports, one stage after another."""

    def begin(self, stage: str, total: int | None, unit: str, done: int = 0) -> None:
        """Begin a stage.

        Parameters
        ----------
        stage : str
            The work, such as ``"encode passages"``.
        total : int or None
            Number of units; None if unknown.
        unit : str
            The unit, such as ``"passages"``.
        done : int
            Number of units that were already done.
        """

    def advance(self, count: int) -> None:
        """Add `count` units to those done."""

    def end(self) -> None:
        """End the stage."""

    def note(self, text: str) -> None:
        """Receive `text`, a remark for people of one or two sentences."""


class Silent:
    """A reporter that discards everything."""

    def begin(self, stage: str, total: int | None, unit: str, done: int = 0) -> None:
        """Begin a stage."""

    def advance(self, count: int) -> None:
        """Add `count` units to those done."""

    def end(self) -> None:
        """End the stage."""

    def note(self, text: str) -> None:
        """Receive a remark."""


SILENT = Silent()
"""Reporter for callers without progress output."""


class Logbook:
    """A reporter that hands on, and keeps the seconds of each stage and the notes, each of them once.

    Parameters
    ----------
    reporter : Reporter
        Receives what this one receives.

    Attributes
    ----------
    seconds : dict of str to float
        The seconds of the stages that have ended.
    notes : list of str
        The notes.
    """

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self.advance = reporter.advance
        self.seconds = defaultdict[str, float](float)
        self.notes: list[str] = []

    def begin(self, stage: str, total: int | None, unit: str, done: int = 0) -> None:
        """Begin a stage."""
        self._stage = stage
        self.seconds[stage] -= time.monotonic()
        self._reporter.begin(stage, total, unit, done)

    def end(self) -> None:
        """End the stage."""
        self.seconds[self._stage] += time.monotonic()
        self._reporter.end()

    def note(self, text: str) -> None:
        """Receive a remark."""
        if text not in self.notes:
            self.notes.append(text)
            self._reporter.note(text)


def duration(seconds: float) -> str:
    """Return a time in at most two units, for people."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
