"""The parameters of measures: how each is read, checked and written, declared once.

A measure's function takes its parameters as keywords (``level``, ``cutoff``, ``gains``, …), which are declared here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from treceval_py.data.numbers import integer
from treceval_py.errors import MeasureError

Tail = Callable[[str], dict[str, Any]]
"""Parses the text after the dot in trec_eval's ``NAME.text`` into values of parameters."""


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


def number(text: str) -> float:
    """Read a finite number written in decimal.

    Raises
    ------
    MeasureError
        The text is not a number.
    """
    if not re.fullmatch(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*", text) or math.isinf(float(text)):
        raise MeasureError(f"'{text}' is not a number")
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
        Its name in Python: the keyword of the measure's function.
    key : str
        Its name in the notation ``AP(rel=2)``.
    read : callable
        Maps text to a value; raises `MeasureError` for malformed text.
    fits : callable
        Returns whether a value is in range.
    range : str
        The range, for messages.
    type : str
        The type of its values; empty if the range implies it.
    meaning : str
        Its description, for measures whose docstring gives no longer one.
    show : callable
        Maps a value to text.
    """

    name: str
    key: str
    read: Callable[[str], Any]
    fits: Callable[[Any], bool]
    range: str
    type: str
    meaning: str
    show: Callable[[Any], str] = _shown

    @property
    def form(self) -> str:
        """The type and range of its values, for documentation."""
        return f"{self.type}, {self.range}" if self.type else self.range

    def parse(self, text: str) -> Any:
        """Parse a value.

        Raises
        ------
        MeasureError
            The text is malformed, or the value is out of range.
        """
        return self.check(self.read(text))

    def check(self, value: Any, called: str | None = None) -> Any:
        """Return the value if it is in range; messages name it `called`, by default the name in notation.

        Raises
        ------
        MeasureError
            The value is out of range.
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
        # Of two gains for one level, trec_eval uses the lower one.
        gains[grade] = min(value, gains.get(grade, value))
    for grade in [grade for grade in gains if grade < 0]:
        if gains.pop(grade) != 0:
            raise MeasureError(f"level {grade} is negative, but unjudged documents have no gain")
    return Gains(gains)


def _integer(name: str, key: str, least: int, meaning: str) -> Parameter:
    return Parameter(name, key, integer, lambda x: x >= least, f"{least} or more", "int", meaning)


def _number(name: str, key: str, fits: Callable[[float], bool], range: str, meaning: str) -> Parameter:
    return Parameter(name, key, number, fits, range, "float", meaning)


def _share(name: str, key: str, meaning: str) -> Parameter:
    return _number(name, key, lambda x: 0 <= x <= 1, "between 0 and 1", meaning)


def _positive(name: str, key: str, meaning: str) -> Parameter:
    return _number(name, key, lambda x: x >= 0, "0 or more", meaning)


def _list(name: str, fits: Callable[[tuple[float, ...]], bool], range: str, meaning: str) -> Parameter:
    read, show = (lambda text: tuple(map(number, text.split(",")))), (lambda values: ",".join(map(_shown, values)))
    return Parameter(name, name, read, fits, range, "", meaning, show)


def choice(name: str, *values: str, meaning: str, key: str = "") -> Parameter:
    """Return a parameter with one of the given words as its value."""
    return Parameter(name, key or name, str, lambda x: x in values, " or ".join(values), "", meaning)


MOST_MAX_REL = 1000
"""The highest top of a scale of grades: 2 to this power is still a float64."""

MOST_GAIN = 1e100
"""The highest gain; sums of higher ones could overflow."""

# fmt: off
_ALL = (
    _integer("level", "rel", 0, "Lowest judgment that counts as relevant."),
    _integer("cutoff", "@", 1, "k, the number of ranks that are scored."),
    _share("recall", "@", "x, the recall level."),
    _positive("multiple", "@", "x, the multiple of R."),
    choice("rounding", "nearest", "up", key="round", meaning="How x·R is rounded: to the nearest integer, halves up "
        "(trec_eval 10), or by floor(x·R + 0.9) (trec_eval 9)."),
    _list("recalls", lambda x: len(x) > 0 and all(0 <= each <= 1 for each in x), "a list of values between 0 and 1",
        "The recall levels, ascending."),
    _list("coefficients", lambda x: len(x) == 4, "four numbers", "a, b, c, d."),
    _integer("collection_size", "docs", 0, "The number of documents in the collection (``-N``); 0 if unknown."),
    _positive("beta_squared", "beta", "x, the square of F's beta. trec_eval's parameter, and the ``beta`` that "
        "ir_measures passes to it, are this x and are not squared."),
    _integer("length", "length", 0, "The number of ranks to show."),
    _share("p", "p", "Probability of continuing to the next document."),
    Parameter("gains", "gains", _read_gains, lambda x: all(0 <= gain <= MOST_GAIN for gain in x.values()), "0 to 1e100",
        "mapping of int to float", "The gain of each judgment; a judgment that is not listed is its own gain.", str),
    choice("gain", "linear", "exp", "binary", meaning="The gain of a judgment g: g, 2^g - 1, or 1 for every g above "
        "0. It must be linear if `gains` are given."),
    choice("discount", "log2", "jk", "position", meaning="log2(i + 1); Järvelin and Kekäläinen's: none at ranks i < "
        "`base` and log_base(i) at ranks i ≥ `base`; or the rank i itself."),
    _number("base", "base", lambda x: x > 1, "above 1", "The base of ``jk``. With 2 the first two ranks are not "
        "discounted."),
    choice("ideal", "judged", "retrieved", meaning="The documents in the best possible ranking: all judged ones, or "
        "those retrieved at any rank."),
    choice("ties", "ordered", "average", meaning="Documents with equal scores keep the ranking's order, or each gets "
        "the average of 1 / discount over the ranks that they share: the mean over all their orders."),
    choice("steps", "ordered", "together", key="ties", meaning="Whether documents with equal scores are taken one "
        "after the other, or in one step, so that each gets the precision at the last rank of the tie. ``together`` "
        "with ``norm=retrieved`` is scikit-learn's average_precision_score over the retrieved documents."),
    choice("norm", "relevant", "capped", "retrieved", meaning="The divisor: R, min(k, R), or the number of relevant "
        "documents retrieved. Without a cutoff ``capped`` is R too."),
    choice("divisor", "cutoff", "retrieved", key="norm", meaning="The divisor: k, or min(k, documents retrieved)."),
    choice("credit", "half", "wrong", key="ties", meaning="Whether a pair of documents with equal scores counts as "
        "half right or as wrong."),
    _number("max_fpr", "max_fpr", lambda x: 0 < x <= 1, "above 0 and at most 1", "The false positive rate up to which "
        "the area is computed. Below 1, the area is standardised: a random ranking has 1/2."),
    choice("negative", "unjudged", "nonrelevant", meaning="Whether a document with a negative judgment counts as "
        "unjudged or as judged not relevant."),
    choice("stop", "grade", "label", meaning="The probability that a document judged g satisfies the reader: (2^g - "
        "1) / 2^max_rel, or g itself for judgments from 0 to 1."),
    choice("scale", "max_rel", "none", meaning="Whether judgments are divided by the top of the scale, or used "
        "unscaled, so that values can exceed 1."),
    _share("decay", "decay", "Probability that a reader who is not satisfied by a document continues to the next one."),
    Parameter("max_rel", "max_rel", integer, lambda x: 1 <= x <= MOST_MAX_REL, f"1 to {MOST_MAX_REL}", "int",
        "The top of the judgment scale, not just this query's highest judgment."),
    _integer("min_rel", "min_rel", 0, "The bottom of the scale: this grade and lower ones have gain 0."),
    _list("weights", lambda x: sum(x) > 0 and all(each >= 0 for each in x),
        "a list of values from 0 on that are not all 0",
        "t_1, t_2, …, one for each grade from 1 to the top of the scale, divided by their sum. Default: all equal."),
    _positive("beta", "beta", "The weight of gains; with 0, Q is AP."),
    _share("patience", "beta", "beta, the probability of continuing to the next document."),
    _share("alpha", "alpha", "How much a document's gain for a subtopic falls with each relevant one above it."),
    _number("target", "T", lambda x: x > 0, "above 0", "T, the gain that the reader wants."),
    _integer("deepest", "D", 1, "D, the depth: a shorter ranking is padded with documents of gain 0, a longer one is "
        "cut. The value depends on D."),
    choice("until", "depth", "longer", meaning="The depth of a query: D, or the larger of its numbers of documents "
        "retrieved and of documents judged above 0."),
    choice("normalised", "yes", "no", meaning="Whether to divide by RBO(I, I), as in the paper of 2021 but not in the "
        "two papers of 2020."),
    choice("divide_by", "relevant", "capped", key="norm", meaning="The divisor: the estimated number of relevant "
        "documents, or at most the depth of rankings."),
    choice("counts", "rounded", "exact", meaning="Whether the estimated number of documents of a grade is rounded in "
        "the ideal ranking."),
    choice("version", "v3", "v4", meaning="The version of statAP_MQ_eval."),
    # Other text is returned unchanged and then refused as out of range, with the range in the message.
    Parameter("judged_only", "judged_only", lambda text: {"true": True, "false": False}.get(text.strip().lower(), text),
        lambda x: isinstance(x, bool), "True or False", "",
        "Whether to remove unjudged documents from the ranking first, as ``-J`` does."),
)
# fmt: on

PARAMETERS: dict[str, Parameter] = {parameter.name: parameter for parameter in _ALL}
"""All parameters by their keyword in measures' functions."""

JUDGED_ONLY = PARAMETERS["judged_only"]
"""A parameter of every measure of judged documents. It affects the ranking, so no measure's function takes it."""


def arguments_of(inside: str | None) -> dict[str, str]:
    """Split ``rel=2, gains={1:3,2:9}`` at the commas outside of braces and parentheses.

    Raises
    ------
    MeasureError
        A piece is not of this form, or a name is given twice.
    """
    arguments: dict[str, str] = {}
    if inside is None or not inside.strip():
        return arguments
    for piece in re.split(r",(?![^{]*\})(?![^(]*\))(?=\s*[A-Za-z_@]+\s*=)", inside):
        key, equals, value = piece.partition("=")
        if not equals:
            raise MeasureError(f"'{piece.strip()}' is not of the form name=value")
        if key.strip() in arguments:
            raise MeasureError(f"{key.strip()} is given twice")
        arguments[key.strip()] = value.strip().strip("'\"")
    return arguments


_ELSEWHERE: Mapping[str, Callable[[str], str] | Mapping[str, str]] = {
    **dict.fromkeys(("cutoff", "top_k", "topn", "top", "k"), "@={}".format),
    "dcg": {"log2": "gain=linear", "exp-log2": "gain=exp"},
    "gain_function": {"linear_rank": "gain=linear", "exp_rank": "gain=exp"},
    "type": {"Base": "gain=linear", "Exp": "gain=exp", "Classic": "type=Classic", "Ranking": "type=Ranking"},
    "denominator": {"LogPosition": "discount=log2", "Position": "discount=position"},
    "normalize": {"True": "normalised=yes", "False": "normalised=no"},
    "border": lambda text: f"rel={math.floor(number(text)) + 1}",  # the lowest level above it
}
"""Names of parameters in other programs (ir_measures, ignite, CatBoost, torchmetrics), and their names here."""


def translated(arguments: Mapping[str, str]) -> dict[str, str]:
    """Translate arguments of other programs to the names used here; the cutoff's name is ``@``.

    Raises
    ------
    MeasureError
        An argument has a value that the other program does not accept, or is given twice.
    """
    ours: dict[str, str] = {}
    for key, value in arguments.items():
        if value == "None":  # how Python programs write a parameter that is not set
            continue
        meant = _ELSEWHERE.get(key, f"{key}={{}}".format)
        if isinstance(meant, Mapping) and value not in meant:
            raise MeasureError(f"{key} must be {' or '.join(meant)}, not {value}")
        name, _, text = (meant[value] if isinstance(meant, Mapping) else meant(value)).partition("=")
        if name in ours:
            raise MeasureError("the cutoff is given twice" if name == "@" else f"{name} is given twice")
        ours[name] = text
    return ours


def whole(name: str) -> Tail:
    """Return a parser that takes the whole text as the value of one parameter."""
    return lambda text: {name: PARAMETERS[name].parse(text)}


def pairs(*names: str) -> Tail:
    """Return a parser of ``name=value,…``: levels are gains; other names are parameters."""

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
