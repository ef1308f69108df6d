"""The measure that somebody means who writes its name by hand: other cases, spaces, and the words in full."""

from __future__ import annotations

import contextlib
import re
from functools import cache

from treceval_py.errors import MeasureError, UnknownMeasureError
from treceval_py.measures import FAMILIES, Measure, parse_measures

__all__ = ["LONGEST_NAME", "is_name", "measure_named", "nearest_name"]

LONGEST_NAME = 100

_WORDS = {
    "average precision": "AP",
    "mean average precision": "AP",
    "mean ap": "AP",
    "reciprocal rank": "RR",
    "mean reciprocal rank": "RR",
    "mean rr": "RR",
    "normalized discounted cumulative gain": "nDCG",
    "normalised discounted cumulative gain": "nDCG",
    "discounted cumulative gain": "DCG",
    "mean ndcg": "nDCG",
    "r precision": "Rprec",
    "mean precision": "P",
    "prec": "P",
    "mean recall": "R",
    "rec": "R",
    "hit": "Success",
    "hits": "Success",
    "hit rate": "Success",
    "success rate": "Success",
    "expected reciprocal rank": "ERR",
    "geometric mean average precision": "GMAP",
}
"""What measures are called in full."""


def _spoken() -> dict[str, str]:
    """Return each name in small letters without spaces, with how it is written here."""
    return _made(len(FAMILIES))


@cache
def _made(families: int) -> dict[str, str]:  # noqa: ARG001 - measures can be added, and then the names are made anew
    names = {_squeezed(words): name for words, name in _WORDS.items()}
    for family in FAMILIES.values():
        for name in (*family.notation, family.name):
            names.setdefault(_squeezed(name), name)
    # A notation also stands for the measure with a cutoff, which trec_eval's name of the family does not.
    names.update({_squeezed(name): name for family in FAMILIES.values() for name in family.notation})
    # In claims hits are those of a hit rate, not a count.
    names.update({_squeezed(words): name for words, name in _WORDS.items()})
    return names


def _squeezed(text: str) -> str:
    return re.sub(r"[\s_-]+", "", text.lower())


_ABBREVIATION = re.compile(r"\s*\([^()=]*\)")
_SPOKEN_CUTOFF = re.compile(r"(?P<name>.*?[^\d\s@_-])(?:[\s@_-]*(?:(?<![a-z])at[\s_-]*)?(?P<cutoff>\d{1,18}))?", re.I)


_OF_PROGRAM = re.compile(
    r"[^\s@]+@\d+$|\S+_at_\d+|[Rr]etrieval_?[A-Za-z]|metric/\S+|\w+:(top|type|border|denominator)=|\S+-l\d+$|\w+_burges"
)
"""What a name of another program looks like, which prose does not."""


def is_name(text: str) -> bool:
    """Tell whether a text begins like the name of a measure; quick, for texts most of which are none."""
    if not 0 < len(text.strip()) <= LONGEST_NAME:
        return False
    stem = _squeezed(re.split(r"[(@.=]", text.strip(), maxsplit=1)[0])
    known = _spoken()
    bare = stem.rstrip("0123456789")
    if stem in known or bare in known or bare.removesuffix("at") in known:
        return True
    return _OF_PROGRAM.match(text.strip()) is not None and _is_measure(text.strip())


def _is_measure(text: str) -> bool:
    try:
        return bool(parse_measures(text))
    except MeasureError:
        return False


def measure_named(text: str) -> Measure:
    """Return the measure of a name in any notation, in any case, or in words: ``MAP``, ``ndcg@10``, ``precision at 5``.

    Raises
    ------
    UnknownMeasureError
        There is none.
    MeasureError
        It lacks a cutoff, has one that it does not take, or stands for several measures.

    Examples
    --------
    >>> measure_named("Mean Average Precision").notation, measure_named("ndcg@10").notation
    ('AP', 'nDCG@10')
    """
    name = " ".join(text.split())
    if not is_name(name):
        raise UnknownMeasureError(f"'{name[:40]}' is no measure")
    said = _SPOKEN_CUTOFF.fullmatch(_ABBREVIATION.sub("", name))
    meant = None if said is None else _spoken().get(_squeezed(said["name"]))
    if said is None or meant is None:
        return _only(name)
    # What somebody says is not what a program has under that name: hits are a count in ranx.
    spoken = any(_squeezed(said["name"]) == _squeezed(words) for words in _WORDS)
    if not spoken and (
        said["name"] in FAMILIES or any(said["name"] in family.notation for family in FAMILIES.values())
    ):
        with contextlib.suppress(MeasureError):
            return _only(name)
    return _only(meant if said["cutoff"] is None else f"{meant}@{said['cutoff']}")


def _only(name: str) -> Measure:
    (measure, *more) = parse_measures(name)
    if more:
        raise MeasureError(f"{name} stands for {1 + len(more)} measures", f"Name one, such as {measure.name}.")
    return measure


def nearest_name(text: str) -> str:
    """Return the name of a measure that looks like a text; empty where none does."""
    import difflib

    squeezed = _squeezed(text[:LONGEST_NAME].partition("@")[0])
    for name, written in _spoken().items():
        if sorted(name) == sorted(squeezed):  # two letters that changed places
            return written
    near = difflib.get_close_matches(squeezed, _spoken(), n=1, cutoff=0.65)
    return _spoken()[near[0]] if near else ""
