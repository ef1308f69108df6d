"""Explain claims: right, rounded, right under another convention, result of a mistake, or not reproduced.

The ways of computing a number are those of `explaining`: first the values under each profile, then one convention or
mistake, then up to three at once. A number that our own way gives is not searched for. How a claimed number and a value
agree (to the last digit, cut off, off by one, or as a percentage) comes first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from treceval_py.data.qrels import Qrels
from treceval_py.data.run import Run
from treceval_py.errors import TrecevalError, visible
from treceval_py.explaining import variants
from treceval_py.explaining.explanation import AS_LIKELY, CUT_OFF, Claim, Match, Row, nearest_of, rows_of, ways_tried
from treceval_py.explaining.scoring import ASCENDING, REVERSED, Scorer, reductions
from treceval_py.explaining.variants import Variant, profile_variants, task_of
from treceval_py.explaining.walking import walk
from treceval_py.grading.claims.claims import Claimed
from treceval_py.grading.records import CONVENTION, CORRECT, MISTAKE, NOT_REPRODUCED, ROUNDING, UNCHECKED, Checked
from treceval_py.grading.rules import Rules
from treceval_py.measuring import Measure, parse_measures
from treceval_py.scoring.planning import Scoring, Task
from treceval_py.scoring.profiles import Profile

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

    def is_cut_off(self, value: float) -> bool:
        """Tell whether the first digits of a value are this number."""
        noise = FLOAT_NOISE * max(1.0, abs(value))
        unit: float = 10.0**-self.digits
        # 0 cannot be a cut-off number, since every small value begins with it.
        return self.digits >= FEWEST_DIGITS and bool(self.value) and -noise <= value - self.value < unit - noise

    def is_met(self, value: float, tolerance: float = 0.0) -> bool:
        """Tell whether a value rounds to within the tolerance; with few digits, whether it is itself within it."""
        before = len(str(int(abs(self.value)))) if abs(self.value) > 1 else 0
        return self.is_near(value, tolerance + 0.5 * 10.0**-self.digits * (self.digits + before >= FEWEST_DIGITS))

    def is_near(self, value: float, distance: float) -> bool:
        """Tell whether a value is within a distance; half-way values may be rounded either way."""
        return abs(value - self.value) <= distance + FLOAT_NOISE * max(1.0, abs(value))


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
        if reading.is_near(value, 0.5 * 10.0**-reading.digits):
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
    if digits > FEWEST_DIGITS and reading.is_near(value, 1.5 * 10.0**-digits):
        return f"off by one in the last of its {digits} decimals"
    if digits > OF_ROUNDED and reading.is_near(value, 0.5 * 10.0**-OF_ROUNDED):
        return f"right to {OF_ROUNDED} decimals, as if the values of queries were rounded before averaging"
    return ""


def figure(value: float, digits: int = OF_ROUNDED) -> str:
    """Return a value with at least four decimals, up to ten; a count without decimals."""
    return f"{value:.{min(max(digits, OF_ROUNDED), 10)}f}" if digits else f"{value:g}"


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

_MOST_KEPT = 10_000_000
"""Most values of queries that are kept for further claims of a measure."""


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
    rules : Rules
        The rules, for the lowest relevant judgment, the queries that are averaged, and the tolerance.
    values : mapping of str to float
        Known means by the name of the measure; others are computed.
    distances : bool
        Whether the check of the run found that its scores are distances or ranks, so that the lowest is best.
    """

    def __init__(
        self, qrels: Qrels, run: Run, profile: Profile, rules: Rules, values: Mapping[str, float], *, distances: bool
    ) -> None:
        self._qrels, self._run, self._profile = qrels, run, profile
        self._scoring = Scoring(profile=profile, level=rules.level, complete=rules.complete)
        self._tolerance, self._distances = rules.tolerance, distances
        self._ours: dict[Measure, float | None] = {**by_measure(values)}
        self._searched: set[Measure] = set()
        self._paired: set[Measure] = set()

    @cached_property
    def _scorer(self) -> Scorer:
        return Scorer(self._qrels, [reductions(self._qrels, self._run, whole=True)])

    def agreement(self, claim: Claim) -> tuple[str, str] | None:
        """Compare a claim with our value; see `agreement`."""
        ours = self.ours(claim.measure)
        return None if ours is None else agreement(claim, ours, self._tolerance)

    def ours(self, measure: Measure) -> float | None:
        """Return the value of a measure under the assignment's conventions; None if there is none."""
        if measure not in self._ours:
            of_run = measure.family.from_relevance or measure.family.of_judgments  # of any kind of judgments
            (outcome,) = self._scorer.scored([Variant("", self._task(measure))]) if of_run else (None,)
            self._ours[measure] = None if outcome is None else outcome.mean
        value = self._ours[measure]
        return value if value is not None and math.isfinite(value) else None

    def checked(self, claimed: Claimed, near: tuple[str, str] | None, *, searches: int, profiles_only: bool) -> Checked:
        """Explain the number of a claim.

        Parameters
        ----------
        claimed : Claimed
            The claim, which may be unreadable.
        near : tuple of str or None
            Its verdict and reason if they are known, else whether it is our value decides.
        searches : int
            Most measures for which an explanation of a wrong number is searched.
        profiles_only : bool
            Whether it is searched among profiles alone, which takes a tenth of the time.
        """
        claim = claimed.claim
        if claim is None:
            return _unchecked(claimed)
        ours, near = self.ours(claim.measure), near or self.agreement(claim)
        verdict, why, profile = UNCHECKED, "", ""
        if near is not None:
            verdict, why = near
        elif not claim.measure.family.from_relevance:
            why = "" if ours is None else f"it is {_shown(claim.measure, ours)}; "
            why += f"{claimed.measure} is not a number that can be explained"
        elif ours is None:
            why = "no number can be computed"
            try:
                self._scorer.raise_for(self._task(claim.measure))
            except TrecevalError as error:
                why = visible(error.what)
        else:
            verdict, why, profile = self._explained(claim, ours, searches, profiles_only=profiles_only)
        return _unchecked(claimed, why)._replace(verdict=verdict, value=ours, profile=profile)

    def _explained(self, claim: Claim, ours: float, searches: int, *, profiles_only: bool) -> tuple[str, str, str]:
        """Return verdict, reason and profile of a claim that is not our value."""
        measure, scorer = claim.measure, self._scorer
        if not _is_count(measure) and not any(reading.digits and reading.value for reading in readings(claim)):
            return NOT_REPRODUCED, "a number without decimals, or of 0, does not show how it was computed", ""
        if len(self._searched | {measure}) > searches:
            why = f"only the first {searches} measures with wrong numbers are searched for an explanation"
            return NOT_REPRODUCED, why, ""
        self._searched.add(measure)
        scorer.forget(_MOST_KEPT)
        profiles = [
            variant
            for variant in profile_variants(measure, scorer.situation, Scoring(level=self._scoring.level))
            # Classes do not use programs that score lists, and these agree with many mistakes.
            if variant.task.conventions.known == "all" or self._profile.conventions.known != "all"
        ]
        most, decimals = variants.OPTION, max(reading.digits for reading in readings(claim))
        if not profiles_only and (decimals >= DIGITS_FOR_CHANGES or _is_count(measure)):
            pairs = decimals >= DIGITS_FOR_PAIRS and len(self._paired | {measure}) <= MOST_PAIR_SEARCHES
            most = variants.PAIR if pairs else variants.MISTAKE
        rows, matches = ways_tried(scorer, claim, self._scoring, rows_of(scorer, profiles), _matches, most)
        self._paired |= {measure for row in rows[-1:] if row.variant.cost == variants.PAIR}
        plausible = max((match.variant.prior for match in matches), default=0.0)
        met = _met(claim, [row for row in rows if row.variant.prior >= plausible], ours)
        ways = f"the {len(rows)} ways that were tried"
        if matches and met <= MOST_MET:
            return self._named(claim, matches)
        if not matches:
            return NOT_REPRODUCED, f"none of {ways} gives it{_nearest(claim, rows)}", ""
        near = f"{ways} give {100 * met:.0f} % of all such numbers near it"
        return NOT_REPRODUCED, f"it has too few decimals to show how it was computed: {near}", ""

    def _task(self, measure: Measure) -> Task:
        return task_of(measure, self._profile, self._scorer.situation, self._scoring)

    def _named(self, claim: Claim, matches: Sequence[Match]) -> tuple[str, str, str]:
        """Return verdict, words and profile of the likeliest of some ways."""

        def is_known(variant: Variant) -> bool:
            return self._distances and (variant.settings or {}).get("run") in (ASCENDING, REVERSED)

        def likelihood(match: Match) -> tuple[bool, bool, bool, bool, float]:
            variant = match.variant
            # Known facts about the run come before a convention that happens to give the number as well.
            other = variant.profile != self._profile.name
            return match.how.startswith(CUT_OFF), not is_known(variant), variant.mistake, other, -variant.prior

        plausible = AS_LIKELY * max(match.variant.prior for match in matches)
        first = min((match for match in matches if match.variant.prior >= plausible), key=likelihood)
        variant = first.variant
        words = variant.name + ", as its scores are probably distances" * is_known(variant)
        if variant.profile:
            others = _profiles(matches, first)
            also = f" (also of {', '.join(others)})" if others else ""
            steps = walk(self._scorer, self._task(claim.measure), variant.task)[1:]
            moving = [step.says for step in steps if step.delta] or [step.says for step in steps]
            words = f"the number of {variant.name}{also}" + (f": {'; '.join(moving)}" if moving else "")
        if not _is_count(claim.measure) and claim.digits + 2 * first.how.endswith(AS_PERCENTAGE) < SURE_DIGITS:
            words = f"perhaps {words}"
        why = "; ".join(filter(None, (words, first.how)))
        return (MISTAKE if variant.mistake else CONVENTION), why, variant.profile


def by_measure(values: Mapping[str, float]) -> dict[Measure, float]:
    """Return values by their measures, given those by names."""
    return {measure: value for name, value in values.items() for measure in parse_measures(name)}


def without_run(claimed: Claimed) -> Checked:
    """Return a claim that is not checked because there is no run."""
    return _unchecked(claimed, "there is no run that could be scored" * (claimed.claim is not None))


def _unchecked(claimed: Claimed, why: str = "") -> Checked:
    """Return a claim that is not checked, with the reason."""
    why = "; ".join(filter(None, (why, claimed.fault)))
    return Checked(claimed.measure, claimed.text, claimed.place, UNCHECKED, why=why)


def _is_count(measure: Measure) -> bool:
    return measure.family.kind == "count"


def _profiles(matches: Sequence[Match], first: Match) -> list[str]:
    """Return the profiles that give a claimed number in the same way as the first one; with an option if needed."""
    alike = [match.variant for match in matches if match.variant.profile and match.how == first.how]
    named = {first.variant.profile: ""}
    for variant in sorted(alike, key=lambda variant: variant.cost):
        named.setdefault(variant.profile, variant.profile + " -c" * (variant.cost != variants.DEFAULT))
    return [name for name in named.values() if name]


def _matches(claim: Claim, rows: Sequence[Row]) -> list[Match]:
    """Return the ways that give the claimed number to its last digit, or cut off after it."""
    matches, cuts = [], not _is_count(claim.measure)
    for variant, outcome in rows:
        if outcome is None:
            continue
        for reading in readings(claim):
            if reading.is_met(outcome.mean):
                matches.append(Match(variant, outcome, reading.aside))
            elif reading.is_cut_off(outcome.mean) and cuts and _may_be_cut_off(variant, reading):
                matches.append(Match(variant, outcome, "; ".join(filter(None, (CUT_OFF, reading.aside)))))
    return matches


def _may_be_cut_off(variant: Variant, reading: Reading) -> bool:
    """Tell whether a number may be a way's cut-off value; there are too many pairs of changes to consider this."""
    return reading.digits >= SURE_DIGITS and variant.cost != variants.PAIR


def _met(claim: Claim, rows: Sequence[Row], ours: float) -> float:
    """Return the share of numbers near a claim that other ways than ours give, at as many decimals; 0 for a count.

    This is the probability that a random number is explained. If a claim can be read in two ways, the larger share
    counts.
    """
    if _is_count(claim.measure):
        return 0.0
    shares = []
    values = [(variant, outcome.mean) for variant, outcome in rows if outcome is not None]
    for reading in readings(claim):
        unit, width = 10.0**-reading.digits, NEAR * max(1.0, abs(reading.value))
        close = [(variant, value) for variant, value in values if abs(value - reading.value) <= width]
        near = {round(value / unit) for _, value in close}
        near |= {math.floor(value / unit) for variant, value in close if _may_be_cut_off(variant, reading)}
        shares.append(len(near - {round(ours / unit)}) / (2 * width / unit + 1))
    return max(shares)


def _nearest(claim: Claim, rows: Sequence[Row]) -> str:
    """Say which value is nearest to a claim, with as many digits, and which way gives it."""
    wanted = readings(claim)[-1]
    for variant, outcome, *_ in nearest_of(wanted.value, [row for row in rows if row.variant.cost != variants.PAIR]):
        return f"; nearest is {_shown(claim.measure, outcome.mean, wanted.digits)} ({variant.name})"
    return ""


def _shown(measure: Measure, value: float, digits: int = OF_ROUNDED) -> str:
    return figure(value, 0) if _is_count(measure) else figure(value, max(digits, 1))
