"""Profiles: the conventions by which a list is ranked and averaged.

What is computed from the ranks is a measure; how documents come to their ranks and queries to their average is a
profile. A profile stands for a program and its version.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from treceval_py.errors import MeasureError
from treceval_py.ranking import FLOAT32, FLOAT64

__all__ = ["DEFAULT_PROFILE", "PROFILES", "Profile", "profile_named"]


class Profile(NamedTuple):
    """Conventions of a scorer.

    Attributes
    ----------
    name : str
        The profile's name.
    title : str
        The program it stands for.
    score_type : {"float64", "float32"}
        The width of scores; in float32 more documents are tied.
    missing_as_zero : bool
        What a judged query that the run lacks counts when all judged queries are averaged: False, the value of an
        empty ranking, listed like any query; True, 0 without being listed.
    defaults : mapping
        Values for parameters of measures that were not given.
    leaves_out : frozenset of str
        Measures that nicknames do not have here.
    """

    name: str
    title: str
    score_type: str = FLOAT64
    missing_as_zero: bool = False
    defaults: Mapping[str, Any] = MappingProxyType({})
    leaves_out: frozenset[str] = frozenset()

    def __reduce__(self) -> tuple[object, ...]:
        return (profile_named, (self.name,))


_ALL = (
    Profile(
        "trec_eval-10",
        "NIST trec_eval 10.0: float64 scores, recall levels rounded to the nearest document",
        defaults=MappingProxyType({"rounding": "nearest"}),
    ),
    Profile(
        "trec_eval-9",
        "NIST trec_eval 9.0.8: float32 scores, recall levels rounded up, missing queries count 0, no rbp and unj",
        score_type=FLOAT32,
        missing_as_zero=True,
        defaults=MappingProxyType({"rounding": "up"}),
        leaves_out=frozenset({"rbp", "rbp_resid", "unj"}),
    ),
)

PROFILES: Mapping[str, Profile] = MappingProxyType({profile.name: profile for profile in _ALL})
"""All profiles by name."""

DEFAULT_PROFILE = "trec_eval-10"


def profile_named(name: str) -> Profile:
    """Return the profile of a name.

    Raises
    ------
    MeasureError
        There is none.
    """
    if name in PROFILES:
        return PROFILES[name]
    import difflib

    near = difflib.get_close_matches(name, PROFILES, n=1)
    raise MeasureError(
        f"unknown profile '{name}'", f"Did you mean {near[0]}?" if near else f"There are {', '.join(PROFILES)}."
    )
