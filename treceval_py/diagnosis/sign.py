"""What data shows about a mistake in it."""

from __future__ import annotations

from typing import NamedTuple


class Sign(NamedTuple):
    """A sign of a mistake.

    Attributes
    ----------
    code : str
        Its kind: a code of ``treceval check``.
    what : str
        What the data shows, without a full stop.
    todo : str
        What to do about it, in whole sentences.
    """

    code: str
    what: str
    todo: str

    @property
    def text(self) -> str:
        """What the data shows and what to do, in whole sentences."""
        return f"{self.what}. {self.todo}"
