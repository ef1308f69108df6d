"""A gate for continuous integration: whether a candidate is worse than a baseline by more than a margin.

There are three outcomes, because a test that finds no difference does not show that there is none. The candidate
*passes* if every measure shows that it is not lower by more than the margin: the tests of all measures must reject, so
each uses the level alpha (Berger's intersection-union test). It is *worse* if any measure shows that it is lower by
more than the margin: one rejection is enough, so these p-values are corrected. Otherwise the gate *cannot tell*. A
candidate whose true difference is within the margin, such as an equal one, is called worse with a probability of at
most alpha. A candidate that is worse passes with a probability of at most alpha, too.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias, Unpack

import numpy as np

from treceval_py.comparing.corrections import holm
from treceval_py.comparing.gathering import Compares, Gathered, gather
from treceval_py.comparing.paired import SAME, noncentrality, of_differences, one_sided_power, queries_needed, special
from treceval_py.comparing.saved.reading import is_saved
from treceval_py.comparing.scores import Aligned, Scored, aligned
from treceval_py.data.ids import first_of, shown
from treceval_py.errors import EvaluationError, MeasureError, RunCountError, UnknownKeyError, brief
from treceval_py.io.digests import base_name
from treceval_py.measuring import Measure
from treceval_py.rendering import text_of
from treceval_py.rendering.style import Style
from treceval_py.scoring.opening import AnyJudgments
from treceval_py.scoring.planning import Options, Scoring, settled, takes_options
from treceval_py.scoring.profiles import profile_of
from treceval_py.scoring.results import Results, place_of
from treceval_py.scoring.show import about_signs
from treceval_py.scoring.signatures import Signature
from treceval_py.version import __version__

PASS, WORSE, CANNOT_TELL = "pass", "worse", "cannot tell"
"""The outcomes."""

STATUS: Mapping[str, int] = MappingProxyType({PASS: 0, WORSE: 3, CANNOT_TELL: 4})
"""The exit status of the command for each outcome."""


class Margin(NamedTuple):
    """How much lower a candidate may be.

    Attributes
    ----------
    size : float
        0 or more, in units of the measure; or as a share of the baseline's mean, below 1.
    relative : bool
        Whether it is a share.
    """

    size: float
    relative: bool = False

    def __str__(self) -> str:
        return f"{100 * self.size:.12g} %" if self.relative else f"{self.size:.12g}"


DEFAULT_MARGIN = Margin(0.01)

AnyMargin: TypeAlias = "float | str | Margin"
"""A margin: 0.01, or "5%" of the baseline's mean."""


class GateSettings(NamedTuple):
    """Settings of a gate.

    Attributes
    ----------
    margin : Margin or None
        The margin of all measures without one of their own. None: the default margin for measures without a floor.
    margins : dict of str to Margin
        The margins of some measures, by name.
    floors : dict of str to float
        The lowest mean that the candidate may have, by measure.
    alpha : float
        Level of significance, above 0 and below 1/2.
    power : float
        Power for the number of queries and for the detectable drop.
    """

    margin: Margin | None = None
    margins: Mapping[str, Margin] = MappingProxyType({})
    floors: Mapping[str, float] = MappingProxyType({})
    alpha: float = 0.05
    power: float = 0.8


class Decision(NamedTuple):
    """The decision about one measure.

    Attributes
    ----------
    measure : str
        The measure.
    outcome : {"pass", "worse", "cannot tell"}
        The outcome.
    queries : int
        Number of queries, Q.
    baseline, candidate : float
        The means.
    difference : float
        That of the candidate minus that of the baseline.
    low : float
        The lower one-sided confidence limit of the difference, at 1 - alpha; the candidate passes if it is above minus
        the margin. NaN without a margin, and for a single query.
    margin : Margin or None
        The margin; None if only a floor decides.
    allowed : float
        The margin in units of the measure; NaN without one.
    floor : float
        The lowest mean that the candidate may have; NaN if any.
    p : float
        p-value of the one-sided test that the candidate is lower by the margin or more: small if it passes.
    p_worse : float
        p-value of the one-sided test that it is not lower by more than the margin, corrected over the measures: small
        if it is worse.
    power : float
        The probability that an equal candidate passes, given the standard deviation of the differences.
    drop : float
        The true drop that is found to be worse with the power of the settings, before further steps of the correction.
    needed : float
        Queries with which an equal candidate passes with the power of the settings; infinite without room for it, as
        for a margin of 0.
    needed_as_seen : float
        Queries with which it is decided with that power, if the true difference is the one seen.
    signature : Signature or None
        How the values were computed, if known.
    mean_name : str
        The name of its mean, such as MAP; empty if that is the measure's.
    """

    measure: str
    outcome: str
    queries: int
    baseline: float
    candidate: float
    difference: float
    low: float
    margin: Margin | None
    allowed: float
    floor: float
    p: float
    p_worse: float
    power: float
    drop: float
    needed: float
    needed_as_seen: float
    signature: Signature | None = None
    mean_name: str = ""

    @property
    def heading(self) -> str:
        """The name of its means, for people."""
        return self.mean_name or self.measure

    @property
    def below_floor(self) -> bool:
        """Whether the candidate's mean is below the floor."""
        return self.candidate < self.floor - SAME


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """The verdict of a gate; prints as a table, also in notebooks.

    Attributes
    ----------
    outcome : {"pass", "worse", "cannot tell"}
        The outcome: worse if any measure is, and pass if all do.
    decisions : tuple of Decision, length M
        The decision about each measure.
    runs : tuple of two str
        The names of baseline and candidate.
    settings : GateSettings
        The settings.
    files : tuple of two str
        Files of the runs, or of their saved results.
    digests : tuple of two str
        The SHA-256 of these files; empty for an object in memory.
    judgments_name, judgments_digest : str
        The same for the judgments.
    notes : tuple of str
        What was left out or assumed.
    version : str
        The version of treceval_py.
    """

    outcome: str
    decisions: tuple[Decision, ...]
    runs: tuple[str, str]
    settings: GateSettings
    files: tuple[str, str]
    digests: tuple[str, str]
    judgments_name: str = ""
    judgments_digest: str = ""
    notes: tuple[str, ...] = ()
    version: str = __version__

    @property
    def passed(self) -> bool:
        """Whether the candidate passes."""
        return self.outcome == PASS

    @property
    def status(self) -> int:
        """The exit status of the command: 0 pass, 3 worse, 4 cannot tell."""
        return STATUS[self.outcome]

    def __getitem__(self, measure: str | Measure) -> Decision:
        try:
            return self.decisions[place_of([decision.measure for decision in self.decisions], measure)]
        except MeasureError as error:
            raise UnknownKeyError(error.what, error.todo) from None

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<Verdict {self.outcome} of {brief(self.runs[1])} against {brief(self.runs[0])}>"

    def _repr_html_(self) -> str:
        return self.to_text("html")

    def to_text(self, format: str = "table", *, digits: int | None = None) -> str:
        """Return the verdict as text.

        Parameters
        ----------
        format : str
            ``table``, ``markdown`` or another format of ``--format``.
        digits : int, optional
            Decimals. Default: 4, or all in csv, tsv and json.

        Raises
        ------
        MeasureError
            The format is unknown; it is a ValueError.
        """
        return text_of(self, format, Style(digits))


@takes_options
def gate(
    qrels: AnyJudgments | None,
    baseline: Compares,
    candidate: Compares,
    measures: str | Measure | Sequence[str | Measure] | None = None,
    *,
    margin: AnyMargin | Mapping[str, AnyMargin] | None = None,
    floors: Mapping[str, float] | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
    force: bool = False,
    **options: Unpack[Options],
) -> Verdict:
    """Decide whether a candidate may replace a baseline: it is not worse by more than a margin.

    Parameters
    ----------
    qrels : judgments or None
        The judgments, in any form that `evaluate` accepts; None if both runs are saved results.
    baseline, candidate : run, results or path
        Runs in any form that `evaluate` accepts; results; or files of saved results.
    measures : name, Measure or sequence of them, optional
        Measures that decide; higher values must be better. Default: those with a margin or a floor of their own, else
        those of `compare`.
    margin : float, str or mapping, optional
        How much lower than the baseline the candidate may be: 0.01 in units of the measure, "5%" of the baseline's
        mean, or a mapping of measures to such. Default: 0.01 for measures without a floor. With 0 a candidate passes
        only if it is shown to be better.
    floors : mapping of str to float, optional
        The lowest mean that the candidate may have in some measures. The mean is compared as it is, without a test.
    alpha : float
        Level of significance, above 0 and below 1/2.
    power : float
        Power for the number of queries needed and for the drop that is found.
    profile, level, depth, judged_only, collection_size, signature, scoring
        How runs are scored, as in `evaluate`.
    complete : bool, optional
        Count judged queries that a run lacks as empty rankings. Default: True where runs are scored.
    force : bool
        Compare even values that were computed differently.
    run_format, judgment_format, max_passage : str, optional
        How files are read, as in `evaluate`.
    threads : int, optional
        Threads for reading runs. Default: one per available core.

    Returns
    -------
    Verdict
        The outcome, and the decision about each measure.

    Raises
    ------
    EvaluationError
        The values were computed differently, or are of different queries.
    MeasureError
        An option is out of range, or a measure unknown.
    InputError
        A file cannot be read.

    Notes
    -----
    Differences are paired over the queries, and tested by Student's t. With a relative margin r the tested values are
    those of the candidate minus 1 - r times those of the baseline, so that the baseline's mean is not taken for exact.
    Assumes that queries are independent, and that the mean of the differences is about normally distributed.

    References
    ----------
    Roger L. Berger. Multiparameter hypothesis testing and acceptance sampling. Technometrics 24(4), 295-300, 1982.

    Stefan Wellek. Testing Statistical Hypotheses of Equivalence and Noninferiority. 2nd edition, Chapman and Hall/CRC,
    2010.

    Examples
    --------
    >>> qrels = {str(query): {"a": 1} for query in range(20)}
    >>> old = {qid: {"a": 2.0, "b": 1.0} for qid in qrels}
    >>> new = {qid: {"a": 1.0, "b": 2.0} if qid < "15" else {"a": 2.0} for qid in qrels}
    >>> gate(qrels, old, old, "RR").outcome, gate(qrels, old, new, "RR").outcome
    ('pass', 'worse')
    """
    settings = gate_settings(margin, floors, alpha, power)
    given = [baseline, candidate]
    scoring, reading = settled(measures, options)
    scoring = scoring_for(scoring, settings, saved=any(map(_is_scored, given)))
    return gate_gathered(gather(given, qrels, scoring, reading, force=force), settings, force=force)


def scoring_for(options: Scoring, settings: GateSettings, *, saved: bool) -> Scoring:
    """Return how runs are scored: by the measures that have margins or floors too, and over all judged queries."""
    if options.signatures is None:
        own = [*settings.margins, *settings.floors]
        asked = options.measures or ()
        if isinstance(asked, str) or not isinstance(asked, Iterable):
            asked = [asked]
        options = replace(options, measures=[*asked, *own] or None)
    if options.complete is None and options.signatures is None and not saved:
        options = replace(options, complete=True)
    return options


def _is_scored(given: object) -> bool:
    """Tell whether something was scored before, so that it is compared as it is."""
    return isinstance(given, (Results, Scored)) or (isinstance(given, (str, os.PathLike)) and is_saved(given))


def gate_settings(margin: Any, floors: Mapping[str, Any] | None, alpha: float, power: float) -> GateSettings:
    """Return settings from the options of `gate`; in a mapping of margins, "" is for all measures without their own.

    Raises
    ------
    MeasureError
        One is out of range.
    """
    margins = {"": margin} if margin is not None and not isinstance(margin, Mapping) else margin or {}
    if floors is not None and not isinstance(floors, Mapping):
        raise MeasureError("floors must be a mapping of measures to means", 'Give them as {"map": 0.3}.')
    read = {str(name): read_margin(allowed) for name, allowed in margins.items()}
    return GateSettings(
        read.pop("", None),
        read,
        {str(name): _number(f"the floor of {name}", floor) for name, floor in (floors or {}).items()},
        _share("alpha", alpha, 0.5),
        _share("power", power, 1.0),
    )


def read_margin(given: object) -> Margin:
    """Return a margin that is given as a number, or as text such as "0.01" or "5%".

    Raises
    ------
    MeasureError
        It is neither, or out of range.
    """
    if isinstance(given, Margin):
        return given
    share = re.fullmatch(r"\s*(\S+?)\s*%\s*", given) if isinstance(given, str) else None
    size = _number("a margin", given if share is None else share[1])
    size = size / 100 if share is not None else size
    if size < 0 or (share is not None and size >= 1):
        limits = "from 0 to below 100 %" if share is not None else "0 or more"
        raise MeasureError(f"a margin must be {limits}, not {shown(given)}")
    return Margin(size, share is not None)


def _number(name: str, given: Any) -> float:
    try:
        value = math.nan if isinstance(given, bool) else float(given)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise MeasureError(f"{name} must be a number, not {shown(given)}")
    return value


def _share(name: str, given: Any, most: float) -> float:
    value = _number(name, given)
    if not 0 < value < most:
        raise MeasureError(f"{name} must be above 0 and below {most:g}, not {value:g}")
    return value


def gate_gathered(gathered: Gathered, settings: GateSettings, *, force: bool = False) -> Verdict:
    """Decide about what was gathered, the baseline first; errors as of `gate`."""
    runs = gathered.runs
    if len(runs) != 2:
        given = "only one is given" if len(runs) == 1 else f"{len(runs)} are given"
        raise RunCountError(f"a gate compares two runs, baseline and candidate, but {given}", "Name one file for each.")
    columns = aligned(runs, force=force)
    for column in columns:
        _check_queries(column, runs)
    names = [column.measure for column in columns]
    margins, floors = _by_measure("margin", settings.margins, names), _by_measure("floor", settings.floors, names)
    limits = [margins.get(name, settings.margin or (None if name in floors else DEFAULT_MARGIN)) for name in names]
    decisions = tuple(
        decision._replace(mean_name=gathered.headings.get(decision.measure, ""))
        for decision in decide(columns, limits, [floors.get(name, math.nan) for name in names], settings)
    )
    outcomes = {decision.outcome for decision in decisions}
    return Verdict(
        next(outcome for outcome in (WORSE, CANNOT_TELL, PASS) if outcome in outcomes),
        decisions,
        (runs[0].name, runs[1].name),
        settings,
        (base_name(runs[0].file), base_name(runs[1].file)),
        (gathered.digests[0], gathered.digests[1]),
        "" if gathered.judgments is None else base_name(gathered.judgments.name),
        gathered.judgments_digest,
        (
            *about_signs(gathered.results),
            *gathered.notes,
            *gathered.tuned(columns[0].qids),
            *_about_missing(runs),
            *_about_margins(columns, limits),
        ),
    )


def _by_measure(kind: str, given: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return what is given by measures, in any notation, by the names of those that are compared."""
    by_name: dict[str, Any] = {}
    for name, limit in given.items():
        for part in [name] if name in names else [part.name for part in profile_of(None).parse(name)]:
            measure = names[place_of(names, part)]
            if measure in by_name:
                raise MeasureError(f"the {kind} of {measure} is given twice, also as {name}", "Give one of them.")
            by_name[measure] = limit
    return by_name


def _check_queries(column: Aligned, runs: Sequence[Scored]) -> None:
    """Refuse to decide about some of the queries only."""
    if column.left_out:
        count = len(column.left_out)
        queries = "1 query has" if count == 1 else f"{count} queries have"
        raise EvaluationError(
            f"{queries} a value of {column.measure} in {runs[0].name} or in {runs[1].name} only "
            f"({first_of(column.left_out)})",
            "Score both over all judged queries (-c), or choose another measure.",
        )


def _about_missing(runs: Sequence[Scored]) -> list[str]:
    notes = []
    for role, run in zip(("baseline", "candidate"), runs, strict=True):
        if run.missing:
            queries = "1 judged query" if len(run.missing) == 1 else f"{len(run.missing)} judged queries"
            notes.append(f"the {role} lacks {queries} ({first_of(run.missing)}), which count as empty rankings.")
    return notes


def _about_margins(columns: Sequence[Aligned], limits: Sequence[Margin | None]) -> list[str]:
    """Say where a margin in units of the measure means little, as that of a measure with values above 1 may."""
    large = [
        column.measure
        for column, limit in zip(columns, limits, strict=True)
        if limit == DEFAULT_MARGIN and np.abs(column.values).max() > 1 + SAME
    ]
    said = [f"{', '.join(large)} may be above 1: is a margin of {DEFAULT_MARGIN} meant?"] if large else []
    for column, limit in zip(columns, limits, strict=True):
        mean = float(column.values[0].mean())
        if limit is not None and not limit.relative and 0 < mean <= limit.size:
            about = f"the baseline's mean of {column.measure}, {mean:.4f}, is not above the margin of {limit}"
            said.append(f"{about}, so that a candidate without any result may pass: is a smaller one meant?")
    return said


def decide(
    columns: Sequence[Aligned], margins: Sequence[Margin | None], floors: Sequence[float], settings: GateSettings
) -> tuple[Decision, ...]:
    """Decide about each measure.

    Parameters
    ----------
    columns : sequence of Aligned, length M
        The values of baseline and candidate.
    margins : sequence of Margin or None, length M
        The margins; None where only a floor decides.
    floors : sequence of float, length M
        The floors; NaN where there is none.
    settings : GateSettings
        Level and power.
    """
    tested = sum(margin is not None for margin in margins)
    decisions = [_tested(*each, settings, tested) for each in zip(columns, margins, floors, strict=True)]
    corrected = holm(np.array([decision.p_worse for decision in decisions])).tolist()
    return tuple(
        decision._replace(p_worse=p, outcome=_outcome(decision, p, settings.alpha))
        for decision, p in zip(decisions, corrected, strict=True)
    )


def _outcome(found: Decision, p_worse: float, alpha: float) -> str:
    if found.below_floor or p_worse <= alpha:
        return WORSE
    return PASS if found.margin is None or found.p <= alpha else CANNOT_TELL


def _tested(column: Aligned, margin: Margin | None, floor: float, settings: GateSettings, tested: int) -> Decision:
    """Return what is known of a measure, before the correction over `tested` measures."""
    baseline, candidate = column.values
    queries = len(baseline)
    means = float(baseline.mean()), float(candidate.mean())
    decision = Decision(
        column.measure, CANNOT_TELL, queries, *means, means[1] - means[0], math.nan, margin, math.nan, floor, math.nan,
        math.nan, math.nan, math.nan, math.nan, math.nan, column.signature,
    )  # fmt: skip
    if margin is None:
        return decision
    # What must be above 0 on average. If the runs are equal on average, it is `room`.
    above = candidate - (1 - margin.size) * baseline if margin.relative else candidate - baseline + margin.size
    room = margin.size * means[0] if margin.relative else margin.size
    decision = decision._replace(allowed=room)
    if queries < 2:
        return decision
    mean, deviation = float(above.mean()), float(above.std(ddof=1))
    if np.ptp(above) <= SAME * max(1.0, float(np.abs(above).max())):
        passes = mean >= -SAME
        return decision._replace(
            low=decision.difference, p=0.0 if passes else 1.0, p_worse=1.0 if passes else 0.0, power=1.0, drop=room,
            needed=2.0, needed_as_seen=2.0,
        )  # fmt: skip
    statistic = mean / deviation * math.sqrt(queries)
    reach = -float(special.stdtrit(queries - 1, settings.alpha)) * deviation / math.sqrt(queries)
    critical = -special.stdtrit(queries - 1, np.array([settings.alpha / tested]))
    mean_with_power = max(0.0, float(noncentrality(critical, queries - 1, settings.power)[0]) / math.sqrt(queries))
    return decision._replace(
        low=max(mean - reach - room, of_differences(column.bounds)[0]),
        p=float(special.stdtr(queries - 1, -statistic)),
        p_worse=float(special.stdtr(queries - 1, statistic)),
        power=float(one_sided_power(np.array([room / deviation]), np.array([queries]), alpha=settings.alpha)[0]),
        drop=room + deviation * mean_with_power,
        needed=_needed(room / deviation, settings.alpha, settings.power),
        needed_as_seen=_needed(abs(mean) / deviation, settings.alpha / (1 if mean > 0 else tested), settings.power),
    )


def _needed(effect: float, alpha: float, power: float) -> float:
    """Return the queries that a one-sided test needs."""
    if effect <= 0:
        return math.inf
    return float(queries_needed(np.array([effect]), alpha=alpha, power=power, sides=1)[0])
