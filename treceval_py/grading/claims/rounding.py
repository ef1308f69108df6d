"""How a claimed number and a value agree: to the last digit, cut off, off by one, or as a percentage."""

from __future__ import annotations

from typing import NamedTuple

from treceval_py.explaining.explanation import Claim
from treceval_py.grading.records import CORRECT, ROUNDING, UNCHECKED

FLOAT_NOISE = 1e-9
"""Largest difference that another order of additions makes."""

FEWEST_DIGITS = 2
"""Numbers with fewer digits prove too little: any mean from 0 to 1 rounds to 0 or 1, and some way gives each 0.4."""

OF_ROUNDED = 4
"""Decimals to which some programs round the values of queries."""


AS_PERCENTAGE = "given as a percentage"


class Reading(NamedTuple):
    """A claim as a number: as written, or taken for a percentage.

    Attributes
    ----------
    value : float
        The number.
    digits : int
        Its decimals.
    aside : str
        How it was read, if not as written.
    """

    value: float
    digits: int
    aside: str = ""

    @property
    def says_enough(self) -> bool:
        """Whether it has enough digits to tell numbers apart."""
        before = len(str(int(abs(self.value)))) if abs(self.value) > 1 else 0
        return self.digits + before >= FEWEST_DIGITS

    def is_rounded(self, value: float) -> bool:
        """Tell whether a value rounds to this number; half-way values may be rounded either way."""
        half: float = 0.5 * 10.0**-self.digits
        return abs(value - self.value) <= half + FLOAT_NOISE * max(1.0, abs(value))

    def is_cut_off(self, value: float) -> bool:
        """Tell whether the first digits of a value are this number."""
        noise = FLOAT_NOISE * max(1.0, abs(value))
        unit: float = 10.0**-self.digits
        # 0 cannot be a cut-off number, since every small value begins with it.
        return self.digits >= FEWEST_DIGITS and bool(self.value) and -noise <= value - self.value < unit - noise

    def is_met(self, value: float, tolerance: float = 0.0) -> bool:
        """Tell whether a value rounds to within the tolerance; with few digits, whether it is itself within it."""
        half: float = 0.5 * 10.0**-self.digits if self.says_enough else 0.0
        return abs(value - self.value) <= tolerance + half + FLOAT_NOISE * max(1.0, abs(value))


def readings(claim: Claim) -> list[Reading]:
    """Return the ways to read a claim; a number above 1 without a percent sign may still be a percentage."""
    as_percentage = Reading(claim.value / 100, claim.digits + 2, AS_PERCENTAGE)
    if claim.percent:
        return [as_percentage]
    as_is = Reading(claim.value, claim.digits)
    may_be_percentage = claim.measure.family.kind != "count" and abs(claim.value) > 1
    return [as_is, as_percentage] if may_be_percentage else [as_is]


def agreement(claim: Claim, value: float, tolerance: float) -> tuple[str, str] | None:
    """Compare a claim with our value.

    Parameters
    ----------
    claim : Claim
        The claim.
    value : float
        Our value.
    tolerance : float
        Distance within which a claim is correct, besides half a unit of its last digit for rounding.

    Returns
    -------
    tuple of str or None
        The verdict and the reason. The verdict is correct, rounding, or unchecked if the number is ours but has too few
        digits. None for a claim of another number.
    """
    for reading in readings(claim):
        if reading.is_met(value, tolerance):
            return CORRECT, reading.aside
        if claim.measure.family.kind == "count" or not reading.digits:
            continue
        if reading.is_rounded(value):
            return UNCHECKED, f"a single decimal says too little; it is {figure(value, reading.digits)}"
        words = _rounding(reading, value)
        if words:
            return ROUNDING, "; ".join(filter(None, (words, reading.aside)))
    return None


def _rounding(reading: Reading, value: float) -> str:
    """Say how a value was rounded to become a number; empty if it is another number."""
    if not reading.value:
        return ""
    digits = reading.digits
    if reading.is_cut_off(value):
        return f"cut off after {digits} decimals, not rounded"
    distance, unit = abs(value - reading.value), 10.0**-digits
    if digits > FEWEST_DIGITS and distance <= 1.5 * unit + FLOAT_NOISE:
        return f"off by one in the last of its {digits} decimals"
    if digits > OF_ROUNDED and distance <= 0.5 * 10.0**-OF_ROUNDED + FLOAT_NOISE:
        return f"right to {OF_ROUNDED} decimals, as if the values of queries were rounded before averaging"
    return ""


def figure(value: float, digits: int = OF_ROUNDED) -> str:
    """Return a value with at least four decimals, up to ten; a count without decimals."""
    if digits == 0:
        return f"{value:g}"
    return f"{value:.{min(max(digits, OF_ROUNDED), 10)}f}"
