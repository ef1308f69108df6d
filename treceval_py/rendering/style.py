"""How tables are drawn; this is separate from tables, because lines of values need no tables."""

from __future__ import annotations

from typing import NamedTuple


class Style(NamedTuple):
    """How a table is drawn.

    Attributes
    ----------
    digits : int or None
        Decimals of values. None: four for people, all digits of float64 for programs.
    colour : bool
        Use terminal styles.
    width : int or None
        Columns of the terminal. A wider table is split into blocks of columns, and sentences are wrapped. None: no
        splitting or wrapping.
    columns : {1, 2}
        Number of text columns that a LaTeX table may span.
    siunitx : bool
        Align numbers in LaTeX with the package siunitx.
    """

    digits: int | None = None
    colour: bool = False
    width: int | None = None
    columns: int = 1
    siunitx: bool = False
