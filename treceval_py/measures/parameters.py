"""The parameters that measures take: how each is read, checked and written, declared once.

A measure's function names its parameters as keywords (``level``, ``cutoff``, ``gains``, …); the same names stand here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from treceval_py.errors import MeasureError

__all__ = ["PARAMETERS", "Gains", "Parameter", "Tail", "integer", "number"]

Tail = Callable[[str], dict[str, Any]]
"""Reads what follows the dot of trec_eval's ``NAME.text`` as values of parameters."""


class Gains(Mapping[int, float]):
    """The gain of each judgment level; hashable, so that measures with gains can be compared.

    Examples
    --------
    >>> Gains({2: 9, 1: 3})
    {1:3,2:9}
    """

    __slots__ = ("_gains",)

    def __init__(self, gains: Mapping[int, float]) -> None:
        self._gains = dict(sorted((int(level), float(gain)) for level, gain in gains.items()))

    def __getitem__(self, level: int) -> float:
        return self._gains[level]

    def __iter__(self) -> Iterator[int]:
        return iter(self._gains)

    def __len__(self) -> int:
        return len(self._gains)

    def __hash__(self) -> int:
        return hash(tuple(self._gains.items()))

    def __repr__(self) -> str:
        return "{" + ",".join(f"{level}:{gain:.17g}" for level, gain in self._gains.items()) + "}"


def integer(text: str) -> int:
    """Read a whole number written in decimal.

    Raises
    ------
    MeasureError
        It is none.
    """
    if not re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", text):
        raise MeasureError(f"'{text}' is no whole number")
    return int(text)


def number(text: str) -> float:
    """Read a finite number written in decimal.

    Raises
    ------
    MeasureError
        It is none.
    """
    if not re.fullmatch(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*", text) or math.isinf(float(text)):
        raise MeasureError(f"'{text}' is no number")
    return float(text)


def _shown(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    short = f"{value:.15g}"  # 0.1, where repr would do, and 2 rather than 2.0
    return short if float(short) == value else repr(value)


class Parameter(NamedTuple):
    """A parameter of measures.

    Attributes
    ----------
    name : str
        Its name in Python, the keyword of the measure's function.
    key : str
        Its name in the notation ``AP(rel=2)``.
    read : callable
        Text to value; raises `MeasureError` when it is none.
    fits : callable
        Whether a value is in range.
    range : str
        The range, for messages.
    show : callable
        Value to text.
    """

    name: str
    key: str
    read: Callable[[str], Any]
    fits: Callable[[Any], bool]
    range: str
    show: Callable[[Any], str] = _shown

    def parse(self, text: str) -> Any:
        """Return the value of a text.

        Raises
        ------
        MeasureError
            It is no value, or out of range.
        """
        return self.check(self.read(text))

    def check(self, value: Any, called: str | None = None) -> Any:
        """Return a value that is in range; `called` is its name in messages, by default that of the notation.

        Raises
        ------
        MeasureError
            It is out of range.
        """
        if not self.fits(value):
            name = called or (self.name if self.key == "@" else self.key)
            raise MeasureError(f"{name} must be {self.range}, not {self.show(value)}")
        return value


def _read_gains(text: str) -> Gains:
    inner = re.fullmatch(r"\s*\{(.*)\}\s*", text)
    if not inner:
        raise MeasureError(f"gains '{text}' are not of the form {{1:3,2:9}}")
    return _gains_of([pair.partition(":")[::2] for pair in inner[1].split(",") if pair.strip()])


def _gains_of(pairs: list[tuple[str, str]]) -> Gains:
    gains: dict[int, float] = {}
    for level, gain in pairs:
        grade, value = integer(level), number(gain)
        # Of two gains of one level trec_eval takes the lower one.
        gains[grade] = min(value, gains.get(grade, value))
    for grade in [grade for grade in gains if grade < 0]:
        if gains.pop(grade) != 0:
            raise MeasureError(f"level {grade} is negative, and documents that were not judged have no gain")
    return Gains(gains)


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(number(piece) for piece in text.split(","))


def _show_numbers(values: tuple[float, ...]) -> str:
    return ",".join(map(_shown, values))


def _choice(name: str, *values: str) -> Parameter:
    return Parameter(name, name, str, lambda x: x in values, " or ".join(values))


MOST_MAX_REL = 1000
"""The highest scale of grades: 2 to the power of it is still a float64."""

_ALL = (
    Parameter("level", "rel", integer, lambda x: x >= 0, "0 or more"),
    Parameter("cutoff", "@", integer, lambda x: x >= 1, "1 or more"),
    Parameter("recall", "@", number, lambda x: x >= 0, "0 or more"),
    Parameter("multiple", "@", number, lambda x: x >= 0, "0 or more"),
    Parameter("rounding", "round", str, lambda x: x in ("nearest", "up"), "nearest or up"),
    Parameter(
        "recalls",
        "recalls",
        _numbers,
        lambda x: len(x) > 0 and all(each >= 0 for each in x),
        "a list of values from 0 on",
        _show_numbers,
    ),
    Parameter("coefficients", "coefficients", _numbers, lambda x: len(x) == 4, "four numbers", _show_numbers),
    Parameter("collection_size", "docs", integer, lambda x: x >= 0, "0 or more"),
    Parameter("beta_squared", "beta", number, lambda x: x >= 0, "0 or more"),
    Parameter("length", "length", integer, lambda x: x >= 0, "0 or more"),
    Parameter("p", "p", number, lambda x: 0 <= x <= 1, "between 0 and 1"),
    Parameter("gains", "gains", _read_gains, lambda x: all(gain >= 0 for gain in x.values()), "0 or more", str),
    _choice("gain", "linear", "exp"),
    _choice("discount", "log2", "jk"),
    Parameter("base", "base", number, lambda x: x > 1, "above 1"),
    _choice("ideal", "judged", "retrieved"),
    _choice("ties", "ordered", "average"),
    _choice("steps", "ordered", "together")._replace(key="ties"),
    _choice("norm", "relevant", "capped", "retrieved"),
    Parameter("max_rel", "max_rel", integer, lambda x: 1 <= x <= MOST_MAX_REL, f"1 to {MOST_MAX_REL}"),
    Parameter("min_rel", "min_rel", integer, lambda x: x >= 0, "0 or more"),
    Parameter(
        "weights",
        "weights",
        _numbers,
        lambda x: sum(x) > 0 and all(each >= 0 for each in x),
        "a list of values from 0 on that are not all 0",
        _show_numbers,
    ),
    Parameter("beta", "beta", number, lambda x: x >= 0, "0 or more"),
    Parameter("patience", "beta", number, lambda x: 0 <= x <= 1, "between 0 and 1"),
    Parameter("alpha", "alpha", number, lambda x: 0 <= x <= 1, "between 0 and 1"),
    Parameter("target", "T", number, lambda x: x > 0, "above 0"),
    Parameter("effort", "K", integer, lambda x: x >= 1, "1 or more"),
    Parameter("deepest", "D", integer, lambda x: x >= 1, "1 or more"),
    _choice("normalised", "yes", "no"),
)

PARAMETERS: dict[str, Parameter] = {parameter.name: parameter for parameter in _ALL}
"""All parameters by the keyword of the measures' functions."""


def whole(name: str) -> Tail:
    """Return a reader that takes the whole text as the value of one parameter."""
    return lambda text: {name: PARAMETERS[name].parse(text)}


def pairs(*names: str) -> Tail:
    """Return a reader of ``name=value,…``: levels are gains, other names are parameters of that name."""

    def read(text: str) -> dict[str, Any]:
        values: dict[str, Any] = {}
        levels: list[tuple[str, str]] = []
        for piece in text.split(","):
            name, equals, value = piece.partition("=")
            if not equals or "=" in value:
                raise MeasureError(f"'{piece}' is not of the form name=value")
            if name in values:
                raise MeasureError(f"{name} is given twice")
            if name in names:
                values[name] = PARAMETERS[name].parse(value)
            else:
                levels.append((name, value))
        if levels:
            values["gains"] = PARAMETERS["gains"].check(_gains_of(levels))
        return values

    return read
