"""Explain claims: right, rounded, right under another convention, result of a mistake, or not reproduced.

The ways of computing a number are those of `explaining`: first the values under each profile, then one convention or
mistake, then two at once. A number that our own way gives is not searched for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from treceval_py.data.qrels import Qrels
from treceval_py.data.run import Run
from treceval_py.errors import TrecevalError, visible
from treceval_py.explaining.explanation import MOST_ROWS_FOR_PAIRS, Claim
from treceval_py.explaining.scoring import Scorer
from treceval_py.explaining.variants import (
    ASCENDING,
    DEFAULT,
    PAIR,
    REVERSED,
    Variant,
    has_number,
    pairs_of,
    profile_variants,
    task_of,
    variants_of,
)
from treceval_py.grading.claims.claims import Claimed
from treceval_py.grading.claims.rounding import OF_ROUNDED, Reading, agreement, figure, readings
from treceval_py.grading.records import (
    CONVENTION,
    MISTAKE,
    NOT_REPRODUCED,
    UNCHECKED,
    Checked,
)
from treceval_py.measures import Measure, parse_measures
from treceval_py.scoring.conventions import CONVENTIONS
from treceval_py.scoring.planning import Scoring, Task
from treceval_py.scoring.profiles import Profile

MOST_SEARCHES = 20
"""Most wrong claims of a submission that are searched for; each may take a second."""

DIGITS_FOR_PAIRS = 4
"""Fewest decimals for pairs of changes: some of hundreds of pairs give any number with fewer."""

DIGITS_FOR_CHANGES = 3
"""Fewest decimals for changes: with fewer, only profiles are tried, since some change or mistake gives most numbers."""

SURE_DIGITS = 4
"""Explanations of numbers with fewer decimals are uncertain, and only our own value may be cut off."""

MOST_MET = 0.05
"""Largest share of the numbers near a claim that the ways may give; above it, no explanation is given."""

NEAR = 0.1
"""How near numbers must be to a claim for this; a relative distance for values above 1."""

MOST_PAIR_SEARCHES = 3
"""Most measures of a submission for which two changes at once are tried, which takes ten times as long as one."""


def reconcile(claimed: Sequence[Claimed], ways: Ways | None) -> list[Checked]:
    """Explain the number of each claim.

    Parameters
    ----------
    claimed : sequence of Claimed
        The claims, including unreadable ones.
    ways : Ways or None
        The ways of computing numbers of the run; without a run, claims are not checked.

    Returns
    -------
    list of Checked
        One for each claim, in their order.
    """
    return [_checked(claim, ways) for claim in claimed]


def _checked(claimed: Claimed, ways: Ways | None) -> Checked:
    unchecked = Checked(claimed.measure, claimed.text, claimed.place, UNCHECKED)
    if claimed.claim is None:
        return unchecked._replace(why=claimed.fault)
    checked = _compared(claimed.claim, unchecked, ways)
    return checked._replace(why="; ".join(remark for remark in (checked.why, claimed.fault) if remark))


def _compared(claim: Claim, unchecked: Checked, ways: Ways | None) -> Checked:
    if ways is None:
        return unchecked._replace(why="there is no run that could be scored")
    ours, near = ways.ours(claim.measure), ways.agreement(claim)
    checked = unchecked._replace(value=ours)
    if near is not None:
        return checked._replace(verdict=near[0], why=near[1])
    if not has_number(claim.measure):
        why = "" if ours is None else f"it is {_shown_value(claim.measure, ours)}; "
        return checked._replace(why=f"{why}{unchecked.measure} is not a number that can be explained")
    return checked._replace(why=ways.reason(claim.measure)) if ours is None else ways.explained(claim, checked)


# --- ways of making a number ---


class _Match(NamedTuple):
    """A way that gives a claimed number, how the claim was read, and whether it was cut off."""

    variant: Variant
    reading: Reading
    cut_off: bool


class Ways:
    """The ways in which numbers of a run could have been computed.

    Parameters
    ----------
    qrels : Qrels
        The judgments.
    run : Run
        The run.
    profile : Profile
        The profile under which a claim is correct.
    complete : bool
        Whether it averages all judged queries.
    level : int or None
        Lowest relevant judgment; by default that of each profile.
    values : mapping of str to float
        Known means by the name of the measure; others are computed.
    tolerance : float
        Distance from our value within which a claim is correct, whatever its digits.
    distances : bool
        Whether the check of the run found that its scores are distances or ranks, so that the lowest is best.

    Attributes
    ----------
    profiles_only : bool
        Whether an explanation is searched among profiles alone, which takes a tenth of the time.
    searches : int
        Most measures for which an explanation of a wrong number is searched.
    """

    def __init__(
        self,
        qrels: Qrels,
        run: Run,
        profile: Profile,
        *,
        complete: bool,
        level: int | None,
        values: Mapping[str, float],
        tolerance: float,
        distances: bool = False,
    ) -> None:
        self._qrels, self._run = qrels, run
        self._profile, self._complete, self._level = profile, complete, level
        self._tolerance = tolerance
        self._distances = distances
        self.searches = MOST_SEARCHES
        self.profiles_only = False
        self._ours: dict[Measure, float | None] = {
            measure: value for name, value in values.items() for measure in parse_measures(name)
        }
        self._scorer: Scorer | None = None
        self._searched: dict[Measure, None] = {}
        self._paired: dict[Measure, None] = {}
        self._values: dict[tuple[Measure, str, bool], tuple[int, list[tuple[Variant, float]]]] = {}

    def is_right(self, claimed: Claimed) -> bool:
        """Tell whether a claim is our value, except for rounding."""
        near = None if claimed.claim is None else self.agreement(claimed.claim)
        return near is not None and near[0] != UNCHECKED

    def agreement(self, claim: Claim) -> tuple[str, str] | None:
        """Compare a claim with our value; see `rounding.agreement`."""
        ours = self.ours(claim.measure)
        return None if ours is None else agreement(claim, ours, self._tolerance)

    def ours(self, measure: Measure) -> float | None:
        """Return the value of a measure under the assignment's conventions; None if there is none."""
        if measure not in self._ours:
            value = None
            if has_number(measure) or measure.family.of_judgments:  # of any kind of judgments
                scorer = self._scorer = self._scorer or Scorer(self._qrels, self._run)
                (outcome,) = scorer.scored([Variant("", self._task(scorer, measure))])
                value = None if outcome is None else outcome.mean
            self._ours[measure] = value
        value = self._ours[measure]
        return value if value is not None and math.isfinite(value) else None

    def explained(self, claim: Claim, checked: Checked) -> Checked:
        """Find the way that gives a claim which is not our value."""
        measure = claim.measure
        if measure.family.kind != "count" and not any(reading.digits and reading.value for reading in readings(claim)):
            why = "a number without decimals, or of 0, does not show how it was computed"
            return checked._replace(verdict=NOT_REPRODUCED, why=why)
        if measure not in self._searched and len(self._searched) >= self.searches:
            why = f"only the first {self.searches} measures with wrong numbers are searched for an explanation"
            return checked._replace(verdict=NOT_REPRODUCED, why=why)
        self._searched.setdefault(measure)
        # A new scorer for each measure frees the cached results of hundreds of ways for thousands of queries.
        scorer = Scorer(self._qrels, self._run)
        tried, values = self._tried(scorer, claim)
        matches, met = _matches(claim, values), _met(claim, values, checked.value)
        if not matches:
            nearest = f"; nearest is {_nearest(claim, values)}" if values else ""
            why = f"none of the {tried} ways that were tried gives it{nearest}"
        elif met > MOST_MET:
            near = f"the {tried} ways that were tried give {100 * met:.0f} % of all such numbers near it"
            why = f"it has too few decimals to show how it was computed: {near}"
        else:
            return self._told(scorer, measure, matches, checked)
        return checked._replace(verdict=NOT_REPRODUCED, why=why)

    def _tried(self, scorer: Scorer, claim: Claim) -> tuple[int, list[tuple[Variant, float]]]:
        """Return the number of ways tried, and their values; two changes at once only if nothing simpler fits."""
        count, values = self._known(claim, "singles", lambda: list(self._singles(scorer, claim)), scorer)
        if not _matches(claim, values) and self._pairs_allowed(claim):
            start = self._task(scorer, claim.measure)
            more, others = self._known(claim, "pairs", lambda: pairs_of(start, scorer.situation), scorer)
            return count + more, values + others
        return count, values

    def _known(
        self, claim: Claim, kind: str, made: Callable[[], Sequence[Variant]], scorer: Scorer
    ) -> tuple[int, list[tuple[Variant, float]]]:
        """Return the number of ways and their values, cached for all claims of a measure."""
        key = claim.measure, kind, self._changes_tried(claim)
        if key not in self._values:
            ways = made()
            self._values[key] = len(ways), _means(scorer, ways)
        return self._values[key]

    def _changes_tried(self, claim: Claim) -> bool:
        enough = claim.measure.family.kind == "count" or _decimals(claim) >= DIGITS_FOR_CHANGES
        return enough and not self.profiles_only

    def _task(self, scorer: Scorer, measure: Measure, *, other: bool = False) -> Task:
        """Return how a measure is computed for the assignment; ``other``: over the other set of queries."""
        complete = self._complete != other
        scoring = Scoring(level=self._level, complete=complete)
        return task_of(measure, self._profile, scorer.situation, scoring)

    def _singles(self, scorer: Scorer, claim: Claim) -> Iterator[Variant]:
        """Yield the profiles, and our way with one change or mistake, over either set of queries."""
        situation, measure = scorer.situation, claim.measure
        # Classes do not use programs that score lists, and these agree with many mistakes.
        lists = self._profile.conventions.known != "all"
        for variant in profile_variants(measure, situation, Scoring(level=self._level)):
            if lists or variant.task.conventions.known == "all":
                yield variant
        if not self._changes_tried(claim):
            return
        start, other = self._task(scorer, measure), self._task(scorer, measure, other=True)
        yield from variants_of(start, situation)
        if other != start:
            missing = CONVENTIONS["missing"]
            also = f"{missing.question} {missing.says(other.conventions.missing)}"
            for variant in variants_of(other, situation):
                yield variant._replace(name=f"{variant.name}; {also}")

    def _pairs_allowed(self, claim: Claim) -> bool:
        enough = _decimals(claim) >= DIGITS_FOR_PAIRS and not self.profiles_only
        if not enough or len(self._run.docids) > MOST_ROWS_FOR_PAIRS:
            return False
        if claim.measure not in self._paired and len(self._paired) >= MOST_PAIR_SEARCHES:
            return False
        self._paired.setdefault(claim.measure)
        return True

    def reason(self, measure: Measure) -> str:
        """Return why we have no value."""
        scorer = Scorer(self._qrels, self._run)
        try:
            scorer.raise_for(self._task(scorer, measure))
        except TrecevalError as error:
            return visible(error.what)
        return "no number can be computed"

    def _told(self, scorer: Scorer, measure: Measure, matches: Sequence[_Match], checked: Checked) -> Checked:
        """Describe the likeliest of some ways."""

        def is_known(variant: Variant) -> bool:
            return self._distances and variant.run in (ASCENDING, REVERSED)

        def likelihood(match: _Match) -> tuple[bool, bool, bool, bool, int]:
            variant = match.variant
            # Known facts about the run come before a convention that happens to give the number as well.
            unknown = not is_known(variant)
            return match.cut_off, unknown, variant.mistake, variant.profile != self._profile.name, variant.cost

        first = min(matches, key=likelihood)
        variant = first.variant
        words = f"{variant.name}, as its scores are probably distances" if is_known(variant) else variant.name
        if variant.profile:
            others = _profiles(matches, first)
            also = f" (also of {', '.join(others)})" if others else ""
            differs = _differences(scorer, self._task(scorer, measure), variant.task)
            words = f"the number of {variant.name}{also}" + (f": {'; '.join(differs)}" if differs else "")
        cut_off = "; cut off, not rounded" if first.cut_off else ""
        if measure.family.kind != "count" and first.reading.digits < SURE_DIGITS:
            words = f"perhaps {words}"
        verdict = MISTAKE if variant.mistake else CONVENTION
        return checked._replace(verdict=verdict, why=first.reading.said(words + cut_off), profile=variant.profile)


def _profiles(matches: Sequence[_Match], first: _Match) -> list[str]:
    """Return the profiles that give a claimed number in the same way as the first one; with an option if needed."""
    alike = [match.variant for match in matches if match.variant.profile and match.cut_off == first.cut_off]
    named = {first.variant.profile: ""}
    for variant in sorted(alike, key=lambda variant: variant.cost):
        named.setdefault(variant.profile, variant.profile if variant.cost == DEFAULT else f"{variant.profile} -c")
    return [name for name in named.values() if name]


def _means(scorer: Scorer, variants: Sequence[Variant]) -> list[tuple[Variant, float]]:
    outcomes = scorer.scored(variants)
    return [
        (variant, outcome.mean)
        for variant, outcome in zip(variants, outcomes, strict=True)
        if outcome is not None and math.isfinite(outcome.mean)
    ]


def _matches(claim: Claim, values: Sequence[tuple[Variant, float]]) -> list[_Match]:
    """Return the ways that give the claimed number to its last digit, or cut off after it."""
    matches = []
    counted = claim.measure.family.kind == "count"
    for variant, value in values:
        for reading in readings(claim):
            if reading.is_met(value):
                matches.append(_Match(variant, reading, cut_off=False))
            elif not counted and _may_be_cut_off(variant, reading) and reading.is_cut_off(value):
                matches.append(_Match(variant, reading, cut_off=True))
    return matches


def _may_be_cut_off(variant: Variant, reading: Reading) -> bool:
    """Tell whether a number may be a way's cut-off value; there are too many pairs of changes to consider this."""
    return reading.digits >= SURE_DIGITS and variant.cost != PAIR


def _met(claim: Claim, values: Sequence[tuple[Variant, float]], ours: float | None) -> float:
    """Return the share of numbers near a claim that other ways than ours give, at as many decimals; 0 for a count.

    This is the probability that a random number is explained. If a claim can be read in two ways, the larger share
    counts.
    """
    if claim.measure.family.kind == "count":
        return 0.0
    shares = []
    for reading in readings(claim):
        unit = 10.0**-reading.digits
        width = NEAR * max(1.0, abs(reading.value))
        close = [(variant, value) for variant, value in values if abs(value - reading.value) <= width]
        near = {round(value / unit) for _, value in close}
        near |= {math.floor(value / unit) for variant, value in close if _may_be_cut_off(variant, reading)}
        if ours is not None:
            near.discard(round(ours / unit))
        shares.append(len(near) / (2 * width / unit + 1))
    return max(shares)


def _decimals(claim: Claim) -> int:
    return max(reading.digits for reading in readings(claim))


def _nearest(claim: Claim, values: Sequence[tuple[Variant, float]]) -> str:
    """Return the value nearest to a claim, with as many digits, and the way that gives it."""
    wanted = readings(claim)[-1]
    simple = [way for way in values if way[0].cost != PAIR]
    variant, value = min(simple, key=lambda way: (abs(way[1] - wanted.value), way[0].cost))
    return f"{_shown_value(claim.measure, value, wanted.digits)} ({variant.name})"


def _shown_value(measure: Measure, value: float, digits: int = OF_ROUNDED) -> str:
    return figure(value, 0) if measure.family.kind == "count" else figure(value, max(digits, 1))


def _differences(scorer: Scorer, start: Task, end: Task) -> list[str]:
    """Describe the conventions in which two ways differ; only those that change the number, if there are any."""
    stations, words = [start], []
    for convention in start.conventions.differences(end.conventions):
        value = getattr(end.conventions, convention.name)
        conventions = stations[-1].conventions.changed({convention.name: value})
        stations.append(stations[-1]._replace(conventions=conventions))
        words.append(f"{convention.question} {convention.says(value)}")
    if start.resolved != end.resolved:
        stations.append(end)
        words.append(f"the measure is {end.resolved.notation}, not {start.resolved.notation}")
    means = [
        None if outcome is None else outcome.mean for outcome in scorer.scored([Variant("", at) for at in stations])
    ]
    moving = [word for word, before, after in zip(words, means, means[1:], strict=False) if before != after]
    return moving or words
