"""What is printed of results."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Options"]


class Options(NamedTuple):
    """What is printed of results.

    Attributes
    ----------
    per_query, summary : bool
        Whether each query, and the average, is printed.
    digits : int or None
        Decimals of a value. None: four where people read, all that float64 has where programs read.
    colour : bool
        Whether terminal styles may be used.
    signature : {"", "short", "long"}
        Whether it is said how each number was made.
    force : bool
        Whether results that were made in different ways may stand side by side.
    """

    per_query: bool = False
    summary: bool = True
    digits: int | None = None
    colour: bool = False
    signature: str = ""
    force: bool = False
