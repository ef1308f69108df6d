"""Explain a number: its value under each profile, and the profile, change or mistake that gives a claimed value."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from numbers import Real
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Unpack

import numpy as np

from treceval_py.data.ids import shown
from treceval_py.data.run import Run
from treceval_py.errors import EvaluationError, MeasureError, brief, listed, warn
from treceval_py.explaining.changes import ways
from treceval_py.explaining.functions import ExplainedFunction, explain_function
from treceval_py.explaining.scoring import MOST_VALUES, Outcome, Scorer, qrels_of, reductions
from treceval_py.explaining.variants import CHANGE, OPTION, PAIR, Variant, check_number, profile_variants, task_of
from treceval_py.explaining.walking import Step, walk, walk_of
from treceval_py.judging.located import Reduced
from treceval_py.measuring import Measure, parse_measures
from treceval_py.measuring.notation import several
from treceval_py.rendering import show_of, text_of
from treceval_py.scoring.evaluation import Evaluator
from treceval_py.scoring.noticing import biased
from treceval_py.scoring.opening import AnyJudgments, AnyRun, parts_of_run
from treceval_py.scoring.planning import Options, Scoring, Task, settled, takes_options
from treceval_py.scoring.profiles import Profile, profile_of

if TYPE_CHECKING:
    from treceval_py.plots.images import Plot

CUT_OFF = "cut off, not rounded"

MOST_MATCHES = 12
"""Most matches named that are not a program's own way of scoring."""

MOST_DIGITS = 20

MOST_WAYS, MOST_DOCUMENTS = 3000, 300_000
"""Most ways tried; and most documents of a run for which several changes at once are tried."""

AS_LIKELY = 0.03
"""How often a way is seen, against the most plausible one, to be named with it."""

CHANCE, NEAR = 0.03, 0.03
"""A match may be by chance if ways as plausible give this share of the numbers as near to the claim as that."""


class Claim(NamedTuple):
    """A value reported for a measure.

    Attributes
    ----------
    measure : Measure
        The measure.
    text : str
        The value as it was written.
    value : float
        The value.
    digits : int
        Its decimals.
    percent : bool
        Whether it was written with a percent sign.
    """

    measure: Measure
    text: str
    value: float
    digits: int
    percent: bool = False

    def met(self, value: float) -> str | None:
        """Return how `value` matches this claim, such as ``"exactly"`` or ``"as a percentage"``; None if not."""
        if not math.isfinite(value):
            return None
        if self.percent:
            return "as a percentage" if self._same(100 * value) else None
        if self._same(value):
            return "exactly"
        if self._same(100 * value):
            return "as a percentage"
        if self.digits and math.floor(value * 10**self.digits + 1e-9) == round(self.value * 10**self.digits):
            return CUT_OFF
        return None

    def _same(self, value: float) -> bool:
        # A value that lies half-way may be rounded either way, by the last bit of a float.
        # 0 and 1 do not stand for everything that rounds to them.
        half: float = 0.5 * 10.0**-self.digits * bool(self.digits or abs(self.value) > 1)
        return abs(value - self.value) <= half + 1e-9 * max(1.0, abs(value))


class Row(NamedTuple):
    """The value under a profile; ``outcome`` is None if it has no value."""

    variant: Variant
    outcome: Outcome | None


class Match(NamedTuple):
    """A variant that gives the claimed value, and how exactly.

    Attributes
    ----------
    variant : Variant
        The way of scoring.
    outcome : Outcome
        Its value, and the queries that count.
    how : str
        How exactly it gives the claimed value.
    likely : bool
        Whether it is about as plausible as the first match, or gives the same value.
    """

    variant: Variant
    outcome: Outcome
    how: str
    likely: bool = False


class Walk(NamedTuple):
    """The steps from our way of scoring to another one."""

    to: str
    steps: list[Step]


class Explained(NamedTuple):
    """The explanation of one measure.

    Attributes
    ----------
    measure : Measure
        The measure as requested.
    rows : list of Row
        The value under each profile.
    claim : Claim or None
        The value claimed for it.
    matches : list of Match
        The variants that give the claimed value, the most plausible first.
    tried : int
        Number of variants tried.
    nearest : list of Match
        The nearest variants if none gives the claimed value.
    walks : list of Walk
        The requested walks, and the walk to the first match.
    chance : float
        Share of the numbers near the claim that ways as plausible as the first match give.
    code : ExplainedFunction or None
        How the user's own function computes it.
    """

    measure: Measure
    rows: list[Row]
    claim: Claim | None
    matches: list[Match]
    tried: int
    nearest: list[Match]
    walks: list[Walk]
    chance: float = 0.0
    code: ExplainedFunction | None = None

    @property
    def by_chance(self) -> bool:
        """Whether the first match may be a coincidence."""
        return bool(self.matches) and self.chance >= CHANCE

    def __repr__(self) -> str:
        claim = "" if self.claim is None else f", claimed to be {brief(self.claim.text)}"
        return f"<Explained {brief(self.measure.name)}{claim}, under {len(self.rows)} profiles>"


class Explanation(NamedTuple):
    """Explanations of some measures of a run.

    Attributes
    ----------
    run_name, judgments_name : str
        Names of the run and the judgments: their files, if they come from files.
    profile : str
        Our profile, from which walks start.
    queries : tuple of int
        Number of judged queries, of queries in the run, and of queries in both.
    measures : list of Explained
        The explanation of each measure.
    """

    run_name: str
    judgments_name: str
    profile: str
    queries: tuple[int, int, int]
    measures: list[Explained]

    def __repr__(self) -> str:
        said = []
        for each in self.measures:
            if each.claim is None:
                said.append(each.measure.name)
                continue
            by = each.matches[0].variant.name if each.matches else f"none of {each.tried} ways"
            said.append(f"{brief(each.measure.name)}={brief(each.claim.text)} is given by {brief(by)}")
        return f"<Explanation of {brief(self.run_name)!r}: {listed(said, 3, 130)}>"

    def __str__(self) -> str:
        return text_of(self, "table")

    def _repr_html_(self) -> str:
        return text_of(self, "html")

    def plot(self, measure: str | Measure | None = None) -> Plot:
        """Plot a measure's value under each profile as bars, to show in a notebook or to save.

        Parameters
        ----------
        measure : str or Measure, optional
            The measure. Default: the first.

        Raises
        ------
        MeasureError
            The measure is not explained here.
        """
        plot: Plot = show_of(self).plot_of(self, measure)
        return plot


def read_claim(text: str, names_here: Mapping[str, str] = MappingProxyType({})) -> Claim:
    """Read a claim such as ``nDCG@10=0.3498`` or ``MRR@10 = 34.98%``; a profile may decide what its name means.

    Raises
    ------
    MeasureError
        It is not a claim, or its measure is unknown.
    """
    name, equals, number = text.rpartition("=")
    written = number.strip()
    if not equals or not name.strip() or not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)%?", written, re.ASCII):
        named = (name if equals else text).strip()
        example = f"{named if named[:1].isalpha() else 'nDCG@10'}=0.3498"
        raise MeasureError(f"claim '{text}' is not of the form NAME=VALUE", f"Write {example}, for example.")
    (measure, *more) = parse_measures(name.strip(), names_here=names_here)
    if more:
        raise MeasureError(f"claim '{text}' names {1 + len(more)} measures", "Name one, such as P@10.")
    plain = written.rstrip("%")
    digits = len(plain.partition(".")[2])
    if digits > MOST_DIGITS or not math.isfinite(float(plain)):
        raise MeasureError(f"claim '{text[:40]}…' has too many digits", "Use fewer.")
    return Claim(measure, written, float(plain), digits, percent=written.endswith("%"))


def _written(measure: str | Measure, value: object) -> str:
    """Return a claim as text; a number as the digits that Python prints, without an exponent."""
    if isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value):
        value = f"{Decimal(repr(float(value))):f}"
    if not isinstance(value, str):
        wrong = f"the value claimed for {shown(measure)} cannot be {shown(value)}"
        raise MeasureError(wrong, "Give a number, or text such as 34.98%.")
    return f"{measure.notation if isinstance(measure, Measure) else measure}={value}"


@takes_options
def explain(
    qrels: AnyJudgments,
    run: AnyRun,
    measures: str | Measure | Iterable[str | Measure] | None = None,
    *,
    claims: Mapping[str | Measure, float | str] | str | Claim | Iterable[str | Claim] = (),
    against: str | Profile | Iterable[str | Profile] = (),
    code: Callable[..., object] | None = None,
    **options: Unpack[Options],
) -> Explanation:
    """Explain values of a run: its value under every profile, and how a claimed value may have been computed.

    Parameters
    ----------
    qrels : path, binary file, Qrels, dict, frame or rows
        The judgments, as in `evaluate`.
    run : path, binary file, Run, dict, frame or rows
        The run, as in `evaluate`; it is read into memory whole.
    measures : name, Measure, or iterable of them, optional
        Measures to explain, besides those of the claims. Default: AP, nDCG@10, RR and P@10.
    claims : mapping of measure to value; str, Claim, or iterable of them
        Values reported elsewhere: ``{"nDCG@10": 0.3498}``, ``{"nDCG@10": "35.0%"}`` or ``"nDCG@10=0.3498"``. Zeros at
        the end count as digits only in text.
    against : profile, or iterable of them
        Profiles to walk to, one convention at a time.
    code : callable, optional
        Your own function, which is meant to compute these measures. It is called on artificial rankings, and what it
        returns shows how it computes them; `treceval_py.explaining.explain_function` does so alone.
    profile : str or Profile, optional
        The profile from which walks start. Default: trec_eval 10.0's.
    complete : bool
        Average over all judged queries under it.
    level, depth, judged_only, collection_size
        As in `evaluate`, under every profile.
    signature
        Refused: an explanation starts from a profile. `arithmetic` takes one.
    scoring : Scoring, optional
        All these options as one value.
    run_format, judgment_format, max_passage, threads
        As in `evaluate`.

    Returns
    -------
    Explanation
        For each measure, its values, the ways to get a claimed value, and the walks.

    Raises
    ------
    TrecevalError
        The files cannot be read, a measure or profile is unknown, or judgments and run share no query.

    Examples
    --------
    >>> found = explain({"1": {"a": 1}}, {"1": {"a": 1.0, "b": 1.0}}, claims={"RR@10": 1.0})
    >>> found.measures[0].matches[0].variant.name
    'ir_measures'
    """
    if isinstance(measures, (Mapping, Real)):
        raise MeasureError("numbers to explain are claims", "Write claims={'nDCG@10': 0.346}.")
    asked = measures if measures is None else parse_measures(measures) or None
    if isinstance(claims, Mapping):
        claims = [_written(measure, value) for measure, value in claims.items()]
    claims = several(claims, (str, Claim), "a claim is text", "Write nDCG@10=0.3498, for example.")
    against = several(against, (str, Profile), "against must be profiles", "Name one, such as ranx.")
    scoring, reading = settled(asked, options)
    if scoring.signatures is not None:
        raise MeasureError(
            "an explanation starts from a profile, not from a signature",
            "With a signature, explain one query (--query).",
        )
    named = profile_of(scoring.profile)
    asked = named.parse(scoring.measures) if scoring.measures else []
    wanted: list[tuple[Measure, Claim | None]] = []
    for claim in claims:
        read = claim if isinstance(claim, Claim) else read_claim(claim, named.names)
        wanted.append((read.measure, read))
    if not wanted and not asked:
        asked = profile_of(None).usual_measures
    wanted += [(measure, None) for measure in asked if measure not in [each for each, _ in wanted]]
    for measure, _ in wanted:
        check_number(measure)
    others = [profile_of(each) for each in against]
    scoring = replace(scoring, measures=[measure for measure, _ in wanted], profile=named)
    evaluator = Evaluator(qrels, scoring, reading)
    judgments = qrels_of(evaluator)
    for sign in biased(judgments, evaluator.plan.tasks):
        warn(f"{judgments.name}: {sign.text}")
    # Few measures look at documents far from judged ones; ids are only taken for scores to explain a claim.
    whole = any(measure.family.needs not in ("", "tied") for measure, _ in wanted)
    keys, sizes = any(claim for _, claim in wanted), list[int]()

    def take(part: Run) -> dict[str, Reduced]:
        sizes.append(len(part.docids))
        return reductions(judgments, part, whole=whole, numbers=keys, keys=keys and sum(sizes) <= MOST_DOCUMENTS)

    scorer = Scorer(judgments, parts_of_run(evaluator.judgments, run, take, reading, evaluator.plan.duplicates))
    name = f"{evaluator.profile.name} -c" if scoring.complete else evaluator.profile.name
    both = len(set(scorer.qrels.qids) & set(scorer.run.qids))
    if not both:
        scorer.raise_for(task_of(wanted[0][0], named, scorer.situation, scoring))
    return Explanation(
        scorer.run.name,
        scorer.qrels.name,
        name,
        (len(scorer.qrels), len(scorer.run), both),
        [
            _explained(scorer, measure, claim, scoring, others)._replace(
                code=None if code is None else explain_function(code, measure)
            )
            for measure, claim in wanted
        ],
    )


def _explained(
    scorer: Scorer,
    measure: Measure,
    claim: Claim | None,
    scoring: Scoring,
    others: Sequence[Profile],
) -> Explained:
    situation, ours, theirs = scorer.situation, profile_of(scoring.profile), replace(scoring, complete=None)
    start = task_of(measure, ours, situation, scoring)
    variants = profile_variants(measure, situation, scoring)
    if start.conventions.order == "rank" and not situation.has_ranks:
        raise EvaluationError(f"{scorer.run.name} has no rank column starting at 1, which {ours.name} ranks by")
    rows = rows_of(scorer, variants)
    if not any(row.outcome for row in rows):
        scorer.raise_for(start)  # with the reason why not even one of them can be computed
    ends = [task_of(measure, other, situation, theirs) for other in others]
    for end in ends:
        scorer.raise_for(end)
    walks = [Walk(other.name, walk(scorer, start, end)) for other, end in zip(others, ends, strict=True)]
    if claim is None:
        return Explained(measure, rows, None, [], len(rows), [], walks)
    tried, matches = ways_tried(scorer, claim, scoring, rows, _matches)
    if matches and not others:
        first = matches[0].variant
        if first.settings is not None:
            walks.append(Walk(first.name, walk_of(scorer, first)))
        elif first.task != start:
            walks.append(Walk(first.name, walk(scorer, start, first.task)))
    value = claim.value / 100 if claim.percent else claim.value
    nearest = [] if matches else nearest_of(value, tried)
    chance = _chance(claim, tried, matches[0]) if matches else 0.0
    number = itertools.count()
    matches = [match for match in matches if match.variant.profile or next(number) < MOST_MATCHES]
    return Explained(measure, rows, claim, matches, len(tried), nearest, walks, chance)


def ways_tried(
    scorer: Scorer,
    claim: Claim,
    scoring: Scoring,
    rows: list[Row],
    matching: Callable[[Claim, Sequence[Row]], list[Match]],
    most: int = PAIR,
) -> tuple[list[Row], list[Match]]:
    """Search the ways that give a claimed value.

    Parameters
    ----------
    scorer : Scorer
        The judgments and the run.
    claim : Claim
        The claim.
    scoring : Scoring
        Our way of scoring, which is changed.
    rows : list of Row
        The values of the profiles, which are tried first.
    matching : callable
        Returns the rows that give the claimed value.
    most : int
        The largest cost of a way that is tried.

    Returns
    -------
    list of Row
        All ways that were tried; a change without an effect is left out.
    list of Match
        Those that give the value.
    """
    tried = list(rows)
    if most > OPTION and claim.measure.family.average.over is None:
        start = task_of(claim.measure, profile_of(scoring.profile), scorer.situation, scoring)
        # Of hundreds of pairs of changes some give any number that has no decimals.
        several = most == PAIR and claim.digits and scorer.documents <= MOST_DOCUMENTS
        key = start, 3 if several else 1
        if key not in scorer.searched:
            scorer.searched[key] = _rows_of_changes(scorer, *key)
        tried += scorer.searched[key]
    return tried, matching(claim, tried)


def _rows_of_changes(scorer: Scorer, start: Task, most: int) -> list[Row]:
    """Return the values of the ways with so many changes at most, without changes that have no effect."""
    rows, means = list[Row](), dict[frozenset[str], float | None]()
    for way in ways(start, scorer.situation, most)[: min(MOST_WAYS, MOST_VALUES // max(len(scorer.qrels), 1))]:
        (outcome,) = scorer.scored([way])
        ids = frozenset(way.ids)
        means[ids] = mean = None if outcome is None else float(f"{outcome.mean:.12g}")
        # What a change adds to others without an effect need not be said.
        if ids and all(means.get(ids.difference(each)) != mean for each in _one_by_one(way)):
            rows.append(Row(way, outcome))
    return rows


def _one_by_one(way: Variant) -> Iterator[tuple[str, ...]]:
    """Yield the names of each change of a way."""
    while way.before is not None:
        yield way.ids[len(way.before.ids) :]
        way = way.before


def _chance(claim: Claim, rows: Sequence[Row], first: Match) -> float:
    """Return the share of numbers near a claim that are given by some way as plausible as its first match."""
    unit = 10.0**-claim.digits / (100 if first.how == "as a percentage" else 1)
    mean, prior, counted = first.outcome.mean, first.variant.prior, first.outcome.counted
    # A mean of values in equal steps, such as 0 and 1, can only be one of some numbers.
    steps = np.diff(np.unique(first.outcome.values[counted].round(9)))
    step = float(steps.min(initial=1.0))
    if np.allclose(steps / step, np.rint(steps / step), atol=1e-6):
        unit = max(unit, step / max(int(counted.sum()), 1))
    means = [row.outcome.mean for row in rows if row.outcome is not None and row.variant.prior >= prior]
    width = max(min(NEAR, abs(mean) / 6), 3 * unit)
    near = {round(each / unit) for each in means if abs(each - mean) <= width}
    return len(near) / (2 * width / unit)


def rows_of(scorer: Scorer, variants: Sequence[Variant]) -> list[Row]:
    """Return the values of variants."""
    return [Row(variant, outcome) for variant, outcome in zip(variants, scorer.scored(variants), strict=True)]


def _matches(claim: Claim, rows: Sequence[Row]) -> list[Match]:
    """Return the variants that give the claimed value, the most plausible first."""
    matches = [
        Match(variant, outcome, how)
        for variant, outcome in rows
        if outcome is not None and (how := claim.met(outcome.mean)) is not None
        # To cut off is a change, and of hundreds of pairs of changes some come near any number.
        if variant.cost < (CHANGE if how == CUT_OFF else PAIR) or how == "exactly" or claim.percent
    ]
    matches.sort(key=lambda match: (match.how != "exactly", -match.variant.prior))
    kept: dict[tuple[object, ...], Match] = {}
    for match in matches:
        # A program is named each time, but with an option only where that makes a difference.
        variant, outcome = match.variant, match.outcome
        same = (variant.profile, outcome.mean, outcome.queries) if variant.profile else variant.name
        kept.setdefault((same, match.how), match)
    first = next(iter(kept.values()), None)
    return [match._replace(likely=first is not None and _as_likely(match, first)) for match in kept.values()]


def _as_likely(match: Match, first: Match) -> bool:
    """Return whether a match is about as plausible as the first one, or gives the same value."""
    rarer = match.variant.prior / first.variant.prior
    same = math.isclose(match.outcome.mean, first.outcome.mean, rel_tol=1e-12)
    changes = len(match.variant.ids) - max(len(first.variant.ids), 1)
    # One more change that moves the number, but not the claim's digits, may as well have been made.
    may_be = changes <= 0 if same else changes == 1 and {*first.variant.ids} < {*match.variant.ids}
    return match.how == first.how and (rarer >= AS_LIKELY or (may_be and rarer >= AS_LIKELY**2))


def nearest_of(value: float, rows: Sequence[Row]) -> list[Match]:
    """Return the three rows whose values are nearest to a value."""
    scored = [Match(variant, outcome, "nearly") for variant, outcome in rows if outcome is not None]
    scored.sort(key=lambda match: (np.nan_to_num(abs(match.outcome.mean - value), nan=np.inf), match.variant.cost))
    kept: dict[str, Match] = {}
    for match in scored:
        kept.setdefault(f"{match.outcome.mean:.9f}", match)
    return list(kept.values())[:3]
