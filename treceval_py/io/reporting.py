"""How a long piece of work tells how far it is."""

from __future__ import annotations

from typing import Protocol

__all__ = ["SILENT", "Reporter", "Silent"]


class Reporter(Protocol):
    """Receiver of progress reports, one stage after the other."""

    def begin(self, stage: str, total: int | None, unit: str, done: int = 0) -> None:
        """Begin a stage.

        Parameters
        ----------
        stage : str
            What is done, such as ``"encode passages"``.
        total : int or None
            How many units there are; None where nobody knows.
        unit : str
            What is counted, such as ``"passages"``.
        done : int
            How many of them were there already.
        """

    def advance(self, count: int) -> None:
        """Take note of units that are done."""

    def end(self) -> None:
        """End the stage."""

    def note(self, text: str) -> None:
        """Take a remark for people: one sentence or two."""


class Silent:
    """A reporter that tells nobody."""

    def begin(self, stage: str, total: int | None, unit: str, done: int = 0) -> None:
        """Begin a stage."""

    def advance(self, count: int) -> None:
        """Take note of units that are done."""

    def end(self) -> None:
        """End the stage."""

    def note(self, text: str) -> None:
        """Take a remark."""


SILENT = Silent()
"""For callers who do not care."""
