"""Progress reports of long work."""

from __future__ import annotations

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
