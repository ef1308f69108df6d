"""Variants, the ways in which a value could have been computed: profiles, single changes, common mistakes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from treceval_py.errors import MeasureError
from treceval_py.measuring import FAMILIES, Measure
from treceval_py.measuring.facts import Sums
from treceval_py.measuring.parameters import Gains
from treceval_py.measuring.probes import given
from treceval_py.measuring.registry import MEAN
from treceval_py.scoring.conventions import CONVENTIONS, Conventions
from treceval_py.scoring.planning import AS_USUAL, Scoring, Task
from treceval_py.scoring.profiles import PROFILES, Profile

DEPTHS = (10, 20, 50, 100, 200, 500, 1000)
MOST_GRADES = 100
"""Most grades that are tried as levels, and named in a gain map."""

TREC_DEPTH = 1000
"""Length of a ranking submitted to TREC; some programs ignore documents below it."""

CUTOFFS = (1, 3, 5, 10, 15, 20, 30, 50, 100, 200, 500, 1000)

AS_IS, ASCENDING, REVERSED, DOCIDS, LATE = "as it is", "ascending", "reversed", "docids", "late"
"""What happens to the run first: nothing; the lowest score comes first; the same, with equal scores reversed; document
ids are read as scores; ranks are counted from 2, those of the ideal ranking included."""

USUAL, OF_RUN, MEDIAN, POOLED = "usual", "of the run", "median", "pooled"
"""How the values of queries are averaged: the measure's own average; their sum divided by the number of queries in the
run; their median; the sum of numerators divided by the sum of denominators (micro-average)."""

FIRST_QUERIES = (10, 20, 50, 100, 200, 500, 1000)
"""Numbers of queries that people use for a trial. If any number were tried, some would give almost any value."""

DEFAULT, OPTION, CHANGE, MISTAKE, PAIR = range(5)
"""How far a variant is from what a program does on its own: its default, one of its options, one change, a mistake, two
changes."""


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
    """

    max_rel: int
    grades: tuple[int, ...]
    has_ranks: bool
    has_numbers: bool
    longest: int
    ties: bool
    lists: Mapping[str, int]

    @property
    def binary(self) -> bool:
        """Whether the grades are few enough to be named one by one in a gain map."""
        return 0 < len(self.grades) < MOST_GRADES


class Variant(NamedTuple):
    """One way in which a value could have been computed.

    Attributes
    ----------
    name : str
        Description in words.
    task : Task
        The measure, its parameters and the conventions.
    profile : str
        The profile that gives this value; empty if none does.
    cost : int
        Distance from what a program does on its own: ``DEFAULT``, ``OPTION``, ``CHANGE``, ``MISTAKE`` or ``PAIR``.
    run : str
        What happens to the run first: ``AS_IS``, ``ASCENDING``, ``REVERSED``, ``DOCIDS`` or ``LATE``.
    average : str
        How the values of queries are averaged: ``USUAL``, ``OF_RUN``, ``MEDIAN`` or ``POOLED``.
    first : tuple of (str, int), or None
        Count only this number of queries, the first of the run or of the judgments; None for all.
    mistake : bool
        Whether this is a common mistake; otherwise it is a convention that somebody may have chosen.
    """

    name: str
    task: Task
    profile: str = ""
    cost: int = DEFAULT
    run: str = AS_IS
    average: str = USUAL
    first: tuple[str, int] | None = None
    mistake: bool = False

    @property
    def plain(self) -> bool:
        """Whether the task alone describes the variant."""
        return (self.run, self.average, self.first) == (AS_IS, USUAL, None)


class _Change(NamedTuple):
    """Another meaning of a measure, in words, and whether taking it is a mistake."""

    words: str
    measure: Measure
    mistake: bool = False


def task_of(measure: Measure, profile: Profile, situation: Situation, scoring: Scoring = AS_USUAL) -> Task:
    """Return the task that a profile makes of a measure, with the other options of a scoring."""
    checked = replace(scoring, measures=(), profile=profile).checked()
    # Profiles that compute the same have the same task, whatever they are called.
    return checked.task(measure, situation.max_rel)._replace(profile="")


def has_number(measure: Measure) -> bool:
    """Return whether a measure is a number computed from relevance judgments."""
    return measure.family.from_relevance


def possible(task: Task, situation: Situation) -> bool:
    """Return whether a run has what a task needs."""
    return task.conventions.order != "rank" or situation.has_ranks


def profile_variants(measure: Measure, situation: Situation, scoring: Scoring = AS_USUAL) -> list[Variant]:
    """Return each profile's task for a measure, by default and with all judged queries averaged."""
    usual, all_queries = replace(scoring, complete=None), replace(scoring, complete=True)
    ways = []
    for profile in PROFILES.values():
        task = task_of(measure, profile, situation, usual)
        if not possible(task, situation) or (profile.computes and measure.family.name not in profile.computes):
            continue
        ways.append(Variant(profile.name, task, profile.name))
        # A profile that knows only retrieved documents also knows only the run's queries; it cannot average others.
        if task.conventions.missing == "out" and task.conventions.known == "all":
            complete = task_of(measure, profile, situation, all_queries)
            ways.append(Variant(f"{profile.name} with all judged queries (-c)", complete, profile.name, cost=OPTION))
    return ways


def variants_of(task: Task, situation: Situation) -> list[Variant]:
    """Return the variants one change away from a task: a convention, the measure, or a mistake."""
    variants = [
        Variant(
            _changed_words(name, value),
            task._replace(conventions=task.conventions.changed({name: value})),
            cost=CHANGE,
            mistake=_cuts(name, value),
        )
        for name, value in _other_conventions(task.conventions, situation)
    ]
    variants += [
        Variant(change.words, task._replace(resolved=change.measure), cost=CHANGE, mistake=change.mistake)
        for change in _other_measures(task.resolved, situation)
    ]
    variants += _mistakes(task, situation)
    variants += _averages(task, situation)
    return variants


def _mistakes(task: Task, situation: Situation) -> Iterator[Variant]:
    """Yield the variants that common mistakes give."""
    made = Variant("", task, cost=MISTAKE, mistake=True)
    yield made._replace(name="sorted by ascending score", run=ASCENDING)
    backwards = _OPPOSITE.get(task.conventions.ties)
    if situation.ties and task.conventions.order == "score" and backwards is not None:
        reversed_task = task._replace(conventions=task.conventions.changed({"ties": backwards}))
        yield made._replace(
            name="sorted by ascending score, equal scores reversed too", task=reversed_task, run=REVERSED
        )
    if situation.has_numbers:
        yield made._replace(name="document ids taken for scores", run=DOCIDS)
        retrieved = _with(task.resolved, ideal="retrieved", ties="average")
        if retrieved is not None:
            words = "document ids taken for scores, ideal from the retrieved documents, grades as 0 and 1"
            binary = _with(retrieved, gains=_binary(situation)) if situation.binary else None
            yield made._replace(name=words, task=task._replace(resolved=binary or retrieved), run=DOCIDS)
    late = _late(task.resolved)
    if late is not None:
        yield made._replace(name=late.words, task=task._replace(resolved=late.measure), run=LATE)


def _averages(task: Task, situation: Situation) -> Iterator[Variant]:
    """Yield the variants with another average: over other queries, or of another kind."""
    made = Variant("", task, cost=MISTAKE, mistake=True)
    yield made._replace(name="divided by the number of queries in the run, judged or not", average=OF_RUN)
    if task.resolved.family.average.over is not None:
        return  # it has no values of queries
    for source, count in situation.lists.items():
        for first in FIRST_QUERIES:
            if first < count - 1:
                yield made._replace(name=f"only the first {first} queries of the {source}", first=(source, first))
        if count > 1:
            yield made._replace(name=f"without the last query of the {source}", first=(source, count - 1))
    if task.resolved.family.average is MEAN:
        yield Variant("the median of the queries, not the mean", task, cost=CHANGE, average=MEDIAN)
        if task.resolved.family.sums in _POOLED:
            words = "micro-average: all queries as if they were one, not the mean of their values"
            yield Variant(words, task, cost=CHANGE, average=POOLED)


_OPPOSITE = {"docid-desc": "docid-asc", "docid-asc": "docid-desc", "line": "line"}
"""The order of ties in a list that is read from its end; its lines are then reversed, too."""

_POOLED = frozenset(
    {
        Sums.EACH,
        Sums.SHARE_OF_RELEVANT,
        Sums.SHARE_OF_BEST,
        Sums.GAINS_OF_IDEAL,
        Sums.EACH_WITHIN,
        Sums.PRECISIONS,
        Sums.JUDGED_ABOVE,
        Sums.OTHERS_ABOVE,
        Sums.CASCADE_OF_IDEAL,
    }
)
"""Measures whose numerators and denominators can be added up over all queries."""


def _late(measure: Measure) -> _Change | None:
    """Return a measure for ranks counted from 2; None if that is not a common mistake."""
    values, at = given(measure), measure.family.at
    if measure.family.sums is Sums.FIRST:
        words = "1 / (rank + 1) instead of 1 / rank"
    elif measure.family.sums in (Sums.GAINS, Sums.GAINS_OF_IDEAL) and values.get("discount") == "log2":
        words = "discount log2(rank + 2) instead of log2(rank + 1)"
        # These make an ideal of their own, whose ranks are counted from 1.
        if values.get("ideal") == "retrieved" or values.get("gains"):
            return None
    else:
        return None
    # A document below the cutoff stays below it, and the last one within it stays within.
    later = {} if at is None else {at.name: values[at.name] + 1}
    return _Change(words, Measure(measure.family, tuple({**dict(measure.parameters), **later}.items())))


def pairs_of(task: Task, situation: Situation) -> list[Variant]:
    """Return the variants two changes away from a task, at most one of them a mistake or rare."""
    conventions = list(_other_conventions(task.conventions, situation))
    measures = list(_other_measures(task.resolved, situation))
    pairs = []

    def pair(words: Sequence[str], task: Task, mistakes: Sequence[bool], rare: Sequence[bool]) -> None:
        # There are hundreds of pairs, and each may give a value by chance.
        if not all(rare):
            pairs.append(Variant("; ".join(words), task, cost=PAIR, mistake=any(mistakes)))

    for at, one in enumerate(conventions):
        once, said, cut = task.conventions.changed(dict([one])), _changed_words(*one), _cuts(*one)
        for other in conventions[at + 1 :]:
            if other[0] != one[0]:
                twice = task._replace(conventions=once.changed(dict([other])))
                pair([said, _changed_words(*other)], twice, [cut, _cuts(*other)], [_rare(*one), _rare(*other)])
        for change in measures:
            twice = task._replace(resolved=change.measure, conventions=once)
            pair([said, change.words], twice, [cut, change.mistake], [_rare(*one), change.mistake])
    for at, first in enumerate(measures):
        later = [change.words for change in measures[at + 1 :]]
        for second in list(_other_measures(first.measure, situation)):
            if second.words != first.words and second.measure != task.resolved and second.words in later:
                mistakes = [first.mistake, second.mistake]
                pair([first.words, second.words], task._replace(resolved=second.measure), mistakes, mistakes)
    return pairs


_RARE = {"order", "ties", "self_hits", "judged_only"}
"""Changes that move few values, or that few people choose: hardly ever combined with each other or with a mistake."""


def _rare(name: str, value: Any) -> bool:
    return _cuts(name, value) or name in _RARE


def _cuts(name: str, value: Any) -> bool:
    """Return whether a change of a convention cuts rankings where no program does, which is a mistake."""
    return name == "depth" and value is not None and value < TREC_DEPTH


def _changed_words(name: str, value: Any) -> str:
    convention = CONVENTIONS[name]
    return f"{convention.question} {convention.says(value)}"


def _other_conventions(conventions: Conventions, situation: Situation) -> Iterator[tuple[str, Any]]:
    """Yield each convention with each other value that could matter, the most common among programs first."""
    changes = []
    # A convention that few programs change belongs to their profiles. Changed alone, it only repeats in other words
    # that the ideal comes from the retrieved documents, or that the sum is divided by the queries of the run.
    usual = [(name, convention) for name, convention in CONVENTIONS.items() if not convention.rare]
    for name, convention in reversed(usual):
        values: Sequence[Any] = [convention.parse(text) for text in convention.meanings]
        if name == "depth":
            values = (None, *(depth for depth in DEPTHS if depth < situation.longest))
        changes += [(name, value) for value in values if value != getattr(conventions, name)]
    for name, value in sorted(changes, key=lambda each: (_cuts(*each), -_programs(*each))):
        if (name, value) not in _NOT_TRIED and ((name, value) != ("order", "rank") or situation.has_ranks):
            yield name, value


@cache
def _programs(name: str, value: Any) -> int:
    """Count the programs that have this value of a convention, at least for some measures."""
    ways = [[each.conventions, *map(each.conventions.changed, each.exceptions.values())] for each in PROFILES.values()]
    return sum(any(getattr(each, name) == value for each in way) for way in ways)


_NOT_TRIED = {("duplicates", "refuse"), ("duplicates", "last"), ("missing", "zero"), ("ties", "ranx")}
"""Values that are not tried alone: a scored run has no duplicates, a missing query that counts 0 is like an empty
ranking, and only ranx, which has a profile, has ranx's order of ties."""


def _other_measures(measure: Measure, situation: Situation) -> Iterator[_Change]:
    """Yield other meanings of a measure's name."""
    family = measure.family
    given = dict(measure.parameters)
    for words, changes, mistake in _parameter_changes(given, situation):
        other = _with(measure, **changes)
        if other is not None and other != measure:
            yield _Change(words, other, mistake)
    yield from _kin(measure)
    if family.at is not None and family.at.name == "cutoff":
        for cutoff in CUTOFFS:
            if cutoff != given["cutoff"]:
                other = Measure(family, tuple({**given, "cutoff": cutoff}.items()))
                yield _Change(f"cutoff {cutoff} instead of {given['cutoff']}", other, mistake=True)


def _parameter_changes(given: Mapping[str, Any], situation: Situation) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Yield words, parameters, and whether choosing them is a mistake."""
    level = given.get("level")
    if isinstance(level, int):
        for other in sorted({0, 1, level - 1, level + 1, *situation.grades}):
            if other != level and other >= 0:
                yield f"relevant from judgment {other} instead of {level}", {"level": other}, False
    graded = situation.max_rel > 1 and situation.binary
    yield "gain 2^rel - 1 instead of rel", {"gain": "exp"}, False
    yield "gain rel instead of 2^rel - 1", {"gain": "linear"}, False
    if graded:
        yield "grades as 0 and 1", {"gains": _binary(situation)}, True
    yield "discount of Järvelin and Kekäläinen 2002, base 2", {"discount": "jk", "base": 2.0}, False
    yield "discount rank instead of log2(rank + 1)", {"discount": "position"}, False
    yield "ideal from the retrieved documents", {"ideal": "retrieved"}, True
    yield "tied documents averaged", {"ties": "average"}, False
    averaged = "tied documents averaged, ideal from the retrieved documents"
    yield averaged, {"ties": "average", "ideal": "retrieved"}, True
    if graded:
        changes = {"ties": "average", "ideal": "retrieved", "gains": _binary(situation)}
        yield f"{averaged}, grades as 0 and 1", changes, True
    yield "divided by the relevant documents found", {"norm": "retrieved"}, True
    yield "tied documents taken in one step", {"steps": "together"}, False
    words = "tied documents taken in one step, divided by the relevant documents found"
    yield words, {"steps": "together", "norm": "retrieved"}, True
    yield "divided by min(k, R)", {"norm": "capped"}, False
    yield "divided by min(k, documents retrieved)", {"divisor": "retrieved"}, False


def _binary(situation: Situation) -> Gains:
    return Gains(dict.fromkeys(situation.grades, 1.0))


_CUT_OFF, _NOT_CUT_OFF = "cut off", "without the cutoff"


def _kin(measure: Measure) -> Iterator[_Change]:
    """Yield the measures of other families with the same name."""
    given, uncut = dict(measure.parameters), measure.family.uncut
    families = [(uncut, _NOT_CUT_OFF)] if uncut is not None else []
    families += [(family, _CUT_OFF) for family in FAMILIES.values() if family.uncut is measure.family]
    families += [(FAMILIES[name], words) for name, words in measure.family.kin]
    for family, words in families:
        kept = {key: value for key, value in given.items() if family.takes(key)}
        if family.at is None or family.at.name in kept:
            yield _Change(words, Measure(family, tuple(kept.items())), mistake=words == _NOT_CUT_OFF)
            continue
        for cutoff in CUTOFFS:
            other = Measure(family, tuple({**kept, family.at.name: cutoff}.items()))
            yield _Change(f"cutoff {cutoff}", other, mistake=words == _CUT_OFF)


def _with(measure: Measure, **changes: Any) -> Measure | None:
    """Return a measure with other parameters; None if it lacks one of them."""
    if not all(measure.family.takes(name) for name in changes):
        return None
    given = {**dict(measure.parameters), **changes}
    if given.get("gain", "linear") != "linear" and given.get("gains"):
        given.pop("gain")
    try:
        return Measure(measure.family, tuple(given.items()))
    except MeasureError:
        return None
