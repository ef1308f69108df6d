"""Format numbers for people."""

from __future__ import annotations

import math

NONE, INFINITE = "–", "∞"

LEAST_P = 0.0001
"""The smallest p-value that is written out."""

MOST_NEEDED = 10_000
"""The largest number of queries that is written out; nobody will judge more."""


def number(value: float, digits: int, *, signed: bool = False) -> str:
    """Write a number with a fixed number of decimals; NaN as a dash, and zero without a minus sign."""
    if math.isnan(value):
        return NONE
    if math.isinf(value):
        return ("+" if signed else "") + INFINITE if value > 0 else f"-{INFINITE}"
    return unsigned_zero(f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}")


def unsigned_zero(text: str) -> str:
    """Return a number without its sign if all its digits are zero."""
    return text[1:] if text[0] in "+-" and not text.strip("+-0.") else text


def p_value(p: float) -> str:
    """Write a p-value with four decimals; a smaller one is written as below 0.0001, never as zero."""
    if math.isnan(p):
        return NONE
    return f"<{LEAST_P:.4f}" if p < LEAST_P else f"{p:.4f}"


def needed(queries: float) -> str:
    """Write the number of queries needed; a very large number is only described as such."""
    return f">{MOST_NEEDED:,}" if MOST_NEEDED < queries < math.inf else number(queries, 0)


def exactly(value: float) -> str:
    """Write a number with the fewest digits that identify it."""
    return repr(float(value)).removesuffix(".0")


def percent(share: float) -> str:
    """Write a share in percent with all its digits, so that nearly all is never written as all."""
    from decimal import Decimal

    return f"{(100 * Decimal(repr(float(share)))).normalize():f} %"
