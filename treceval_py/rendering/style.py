"""How a table is drawn, apart from what tables are made of, which lines of values do without."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Style"]


class Style(NamedTuple):
    """How a table is drawn.

    Attributes
    ----------
    digits : int or None
        Decimals of values. None: four for people, all that float64 has for programs.
    colour : bool
        Whether terminal styles may be used.
    width : int or None
        Columns of the terminal: a wider table is cut into blocks of columns, and sentences are wrapped. None: they are
        not.
    """

    digits: int | None = None
    colour: bool = False
    width: int | None = None
