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
    """

    per_query: bool = False
    summary: bool = True
    digits: int | None = None
    colour: bool = False
