"""Variants, the ways in which a value could have been computed: by a profile, or by changes of a way of scoring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from treceval_py.errors import MeasureError
from treceval_py.measuring import Measure
from treceval_py.scoring.planning import AS_USUAL, Scoring, Task
from treceval_py.scoring.profiles import PROFILES, Profile

MOST_GRADES = 100
"""Most grades that are tried as levels."""

DEFAULT, OPTION, CHANGE, MISTAKE, PAIR = range(5)
"""How far a variant is from what a program does on its own: its default, one of its options, one change, a mistake, two
changes or three."""

OF_PROFILE, OF_LISTS, OF_OPTION = 0.04, 0.005, 0.02
"""How often a value is that of another profile, of one that scores lists, or of an option of a profile."""


class Situation(NamedTuple):
    """Facts about the judgments and the run that decide which variants are possible.

    Attributes
    ----------
    max_rel : int
        The highest judgment.
    grades : tuple of int
        The judgments above 0 that occur, ascending; only the lowest ones if there are very many.
    has_ranks : bool
        Whether there is a rank column from 1 on.
    has_numbers : bool
        Whether all document ids are whole numbers.
    longest : int
        Documents in the longest ranking.
    ties : bool
        Whether some documents of a query have equal scores.
    lists : mapping of str to int
        Number of queries in the run; and in the judgments, if they list the common queries in another order.
    whole : bool
        Whether the run is small enough to be ranked by other keys than scores.
    """

    max_rel: int
    grades: tuple[int, ...]
    has_ranks: bool
    has_numbers: bool
    longest: int
    ties: bool
    lists: Mapping[str, int]
    whole: bool = False

    @property
    def graded(self) -> bool:
        """Whether there are several grades."""
        return self.max_rel > 1


class Variant(NamedTuple):
    """One way in which a value could have been computed.

    Attributes
    ----------
    name : str
        Description in words.
    task : Task
        The measure, its parameters and the conventions, from which changes start.
    profile : str
        The profile that gives this value; empty if none does.
    cost : int
        Distance from what a program does on its own: ``DEFAULT``, ``OPTION``, ``CHANGE``, ``MISTAKE`` or ``PAIR``.
    ids : tuple of str
        The changes, as ``changes.toml`` names them.
    prior : float
        How often it is seen, relative to other variants.
    mistake : bool
        Whether this is a common mistake; otherwise it is a convention that somebody may have chosen.
    settings : mapping of str to value, or None
        The parts of the formula, the conventions and the average after the changes; None if the task says all.
    before : Variant or None
        The variant without the last change.
    """

    name: str
    task: Task
    profile: str = ""
    cost: int = DEFAULT
    ids: tuple[str, ...] = ()
    prior: float = 1.0
    mistake: bool = False
    settings: Mapping[str, Any] | None = None
    before: Any = None


def task_of(measure: Measure, profile: Profile, situation: Situation, scoring: Scoring = AS_USUAL) -> Task:
    """Return the task that a profile makes of a measure, with the other options of a scoring."""
    checked = replace(scoring, measures=(), profile=profile).checked()
    # Profiles that compute the same have the same task, whatever they are called.
    return checked.task(measure, situation.max_rel)._replace(profile="")


def check_number(measure: Measure) -> None:
    """Refuse a measure that is not a number computed from relevance judgments."""
    if not measure.family.from_relevance:
        raise MeasureError(f"explain does not support {measure.name}", "Choose another measure, such as AP.")


def profile_variants(measure: Measure, situation: Situation, scoring: Scoring = AS_USUAL) -> list[Variant]:
    """Return each profile's task for a measure, by default and with all judged queries averaged."""
    usual, all_queries = replace(scoring, complete=None), replace(scoring, complete=True)
    ways = []
    for profile in PROFILES.values():
        task = task_of(measure, profile, situation, usual)
        by_ranks = task.conventions.order == "rank" and not situation.has_ranks
        if by_ranks or (profile.computes and measure.family.name not in profile.computes):
            continue
        # A program that scores lists agrees with many mistakes, and is hardly ever what somebody scored a run with.
        whole = task.conventions.known == "all"
        ways.append(Variant(profile.name, task, profile.name, prior=OF_PROFILE if whole else OF_LISTS))
        # A profile that knows only retrieved documents also knows only the run's queries; it cannot average others.
        if task.conventions.missing == "out" and whole:
            complete = task_of(measure, profile, situation, all_queries)
            name = f"{profile.name} with all judged queries (-c)"
            ways.append(Variant(name, complete, profile.name, cost=OPTION, prior=OF_OPTION))
    return ways
