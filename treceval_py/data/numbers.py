"""Whole numbers as users write them; here, because options and parameters of measures need no arrays for that."""

from __future__ import annotations

import re

from treceval_py.errors import MeasureError


def integer(text: str) -> int:
    """Read a whole number written in decimal.

    Raises
    ------
    MeasureError
        The text is not a whole number, or has more than 18 digits.
    """
    if not re.fullmatch(r"\s*[+-]?[0-9]+\s*", text):
        raise MeasureError(f"'{text}' is not a whole number")
    if len(re.sub(r"\D", "", text)) > 18:
        raise MeasureError(f"'{text}' has more than 18 digits")
    return int(text.strip())  # of control characters, int() knows fewer as white space
