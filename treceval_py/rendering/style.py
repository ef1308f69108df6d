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
    columns : {1, 2}
        How many columns of text a table of LaTeX may be wide.
    siunitx : bool
        Whether LaTeX aligns numbers by the package siunitx.
    raw_names : bool
        Whether LaTeX names measures as they were asked for, not as papers do.
    rows : int or None
        How many runs people see of a comparison. None: all.
    """

    digits: int | None = None
    colour: bool = False
    width: int | None = None
    columns: int = 1
    siunitx: bool = False
    raw_names: bool = False
    rows: int | None = None
