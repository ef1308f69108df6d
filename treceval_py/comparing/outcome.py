"""The data of a comparison: what was compared, how, and with what outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from treceval_py._types import FloatArray
from treceval_py.comparing.paired import UNBOUNDED
from treceval_py.comparing.tests import RESAMPLES, SIMULTANEOUS
from treceval_py.errors import brief, listed
from treceval_py.io.digests import short
from treceval_py.scoring.signatures import Signature
from treceval_py.version import __version__

if TYPE_CHECKING:
    from treceval_py.comparing.simultaneous import Simultaneous
    from treceval_py.comparing.variance import Anova
    from treceval_py.data.query_groups import QueryGroups


class Settings(NamedTuple):
    """How runs are compared.

    Attributes
    ----------
    tests : tuple of str
        The tests that are computed, of `TESTS`; the first decides which differences are marked.
    alpha : float
        Level of significance, between 0 and 1.
    resamples : int or None
        Resamples of each test that draws them; None: the usual number, `RESAMPLES`.
    seed : int
        Of everything that is drawn at random.
    margin : float or None
        Differences smaller than this count as none, in the test of equivalence; None: no such test.
    power : float
        For which the number of queries needed is computed.
    """

    tests: tuple[str, ...] = (SIMULTANEOUS,)
    alpha: float = 0.05
    resamples: int | None = None
    seed: int = 1
    margin: float | None = None
    power: float = 0.8

    @property
    def test(self) -> str:
        """The test that decides which differences are marked."""
        return self.tests[0]

    @property
    def correction(self) -> str | None:
        """The correction of the p-values of other tests than the simultaneous one; None if there are none."""
        return "holm" if {*self.tests} - {SIMULTANEOUS} else None

    @property
    def confidence(self) -> float:
        """The confidence of intervals, so that those of differences leave out 0 where these are significant."""
        return round(1 - self.alpha, 12)

    def drawn(self, test: str) -> int:
        """Return the number of resamples of a test."""
        return RESAMPLES[test] if self.resamples is None else self.resamples

    def described(self) -> dict[str, Any]:
        """Return all that decides the statistics, for programs."""
        return {
            "test": self.test,
            **self._asdict(),
            "correction": self.correction,
            "confidence": self.confidence,
            "interval": SIMULTANEOUS,
            "letters": SIMULTANEOUS if self.test == SIMULTANEOUS else "none",
            "resamples": self.drawn("randomisation"),
            "bootstrap": self.drawn(SIMULTANEOUS),
        }


class Tested(NamedTuple):
    """The result of a test.

    Attributes
    ----------
    statistic : float
        Its statistic; NaN if there is none.
    p : float
        Its two-sided p-value; NaN if there is none, as for a single query. That of the simultaneous test is corrected.
    adjusted : float
        The p-value corrected over the family that is compared.
    direction : int
        1 if the test favours the run, -1 if it favours the other, else 0. Wilcoxon's test adds ranks, so it can favour
        the run with the lower mean.
    """

    statistic: float
    p: float
    adjusted: float
    direction: int = 0


class Difference(NamedTuple):
    """The paired difference of two runs in a measure over the queries.

    Attributes
    ----------
    run, other : int
        The numbers of the runs; the difference is that of `run` minus that of `other`. The baseline is the other.
    mean : float
        The mean difference.
    low, high : float
        Its confidence interval, simultaneous over all pairs of runs.
    tests : dict of str to Tested
        The result of each test, by its name.
    effect, effect_low, effect_high : float
        The standardised effect size d_z, mean / standard deviation of the differences, with its confidence interval.
    wins, ties, losses : int
        Queries in which the run is better than the other, equal, and worse.
    equivalence : float
        p-value of the test of equivalence; NaN without a margin.
    needed : float
        Queries needed to mark the observed effect with the power of the settings, by a t-test at `Compared.level`;
        infinite if there is no effect.
    """

    run: int
    other: int
    mean: float
    low: float
    high: float
    tests: dict[str, Tested]
    effect: float
    effect_low: float
    effect_high: float
    wins: int
    ties: int
    losses: int
    equivalence: float
    needed: float


class Compared(NamedTuple):
    """One measure of all runs.

    Attributes
    ----------
    measure : str
        The measure.
    signature : Signature or None
        How the values were computed, if known.
    qids : tuple of str, length Q
        The queries.
    values : (S, Q) float array
        The value of each run and query.
    means : (S,) float array
        The mean of each run.
    low, high : (S,) float arrays
        The t confidence interval of each mean.
    best : tuple of int
        The runs with the highest mean.
    letters : tuple of str, length S
        Groups of runs: two runs that share a letter do not differ significantly. Empty texts without groups.
    anova : Anova or None
        Two-way analysis of variance, of queries and systems; None for a single query.
    together : Simultaneous or None
        The simultaneous test of all pairs of runs, whichever test decides the marks; None for a single query or run.
    differences : tuple of Difference
        The requested differences: from the baseline, or of each pair of runs.
    left_out : tuple of str
        Queries that only some of the runs have.
    level : float
        The level at which a two-sided paired t-test is as strict as this comparison. For the simultaneous test: the
        level whose critical ``|t|`` is that of all pairs. For corrected tests: alpha divided by the number of
        p-values, at which a difference is marked whatever the others are. NaN for a single query.
    bounds : (float, float)
        The measure's range, at which intervals are cut; infinite if it is unknown.
    mean_name : str
        The name of its mean, such as ``MAP``; empty if that is the measure's.
    """

    measure: str
    signature: Signature | None
    qids: tuple[str, ...]
    values: FloatArray
    means: FloatArray
    low: FloatArray
    high: FloatArray
    best: tuple[int, ...]
    letters: tuple[str, ...]
    anova: Anova | None
    together: Simultaneous | None
    differences: tuple[Difference, ...]
    left_out: tuple[str, ...]
    level: float = float("nan")
    bounds: tuple[float, float] = UNBOUNDED
    mean_name: str = ""

    @property
    def heading(self) -> str:
        """The name of its means, for people."""
        return self.mean_name or self.measure

    def in_order(self, runs: list[int]) -> Compared:
        """Return the measure with the runs of these numbers, in the order of `runs`."""
        return self._replace(
            values=self.values[runs],
            means=self.means[runs],
            low=self.low[runs],
            high=self.high[runs],
            best=tuple(at for at, run in enumerate(runs) if run in self.best),
            letters=tuple(self.letters[run] for run in runs),
            together=None if self.together is None else self.together.in_order(runs),
            differences=tuple(_in_order(self.differences, runs)),
        )

    def __repr__(self) -> str:
        means = listed([f"{mean:.4f}" for mean in self.means.tolist()])
        return f"<Compared {brief(self.measure)}: {means} over {len(self.qids)} queries>"


class GroupDifference(NamedTuple):
    """The paired difference of two runs in a measure, in one group of queries.

    Attributes
    ----------
    run, other : int
        The numbers of the runs, as of `Difference`.
    group : str
        The group.
    queries : int
        Number of its queries that are compared, 1 or more.
    mean : float
        The mean difference in the group.
    low, high : float
        Its confidence interval; NaN for a single query.
    statistic, p : float
        Statistic and p-value of the paired t-test in the group; NaN for a single query.
    adjusted : float
        The p-value corrected over all differences in groups of the comparison.
    """

    run: int
    other: int
    group: str
    queries: int
    mean: float
    low: float
    high: float
    statistic: float
    p: float
    adjusted: float


class Interaction(NamedTuple):
    """Whether a difference of two runs differs between groups of queries: Welch's analysis of variance.

    Attributes
    ----------
    run, other : int
        The numbers of the runs, as of `Difference`.
    groups : tuple of str
        The groups that are compared: those with two queries or more.
    statistic : float
        F; NaN if it cannot be tested because differences do not vary in a group.
    degrees : int
        Degrees of freedom of the groups.
    error_degrees : float
        Degrees of freedom of the error.
    p : float
        The p-value.
    adjusted : float
        The p-value corrected over all interactions of the comparison.
    """

    run: int
    other: int
    groups: tuple[str, ...]
    statistic: float
    degrees: int
    error_degrees: float
    p: float
    adjusted: float


class Grouped(NamedTuple):
    """One measure of all runs in each group of queries, by one attribute.

    Attributes
    ----------
    measure : str
        The measure.
    attribute : str
        The attribute that defines the groups.
    labels : tuple of str, length G
        The groups.
    queries : tuple of int, length G
        Number of queries of each group that are compared.
    means : (S, G) float array
        The mean of each run in each group; NaN for a group without queries.
    differences : tuple of GroupDifference
        The differences in each group, group by group, for the pairs of the comparison.
    interactions : tuple of Interaction
        For each of these pairs, whether its difference is the same in all groups; empty for fewer than two groups.
    """

    measure: str
    attribute: str
    labels: tuple[str, ...]
    queries: tuple[int, ...]
    means: FloatArray
    differences: tuple[GroupDifference, ...]
    interactions: tuple[Interaction, ...]

    def in_order(self, runs: list[int]) -> Grouped:
        """Return the measure with the runs of these numbers, in the order of `runs`."""
        pairs = _in_order(self.differences, runs)
        return self._replace(
            means=self.means[runs],
            differences=tuple(sorted(pairs, key=lambda pair: self.labels.index(pair.group))),
            interactions=tuple(_in_order(self.interactions, runs)),
        )

    def __repr__(self) -> str:
        return f"<Grouped {brief(self.measure)} by {brief(self.attribute)}: {listed(self.labels)}>"


def _in_order(pairs: Sequence[Any], runs: list[int]) -> list[Any]:
    """Return pairs of runs with the numbers that these have in a new order, sorted by them."""
    place = {run: at for at, run in enumerate(runs)}
    moved = [pair._replace(run=place[pair.run], other=place[pair.other]) for pair in pairs]
    return sorted(moved, key=lambda pair: sorted((pair.run, pair.other)))


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The fields of a `Comparison`, which describes them and adds look-up and printing."""

    runs: tuple[str, ...]
    baseline: int | None
    measures: tuple[Compared, ...]
    settings: Settings
    family: int
    files: tuple[str, ...]
    judgments_name: str = ""
    notes: tuple[str, ...] = ()
    version: str = __version__
    digests: tuple[str, ...] = ()
    judgments_digest: str = ""
    groups: tuple[QueryGroups, ...] = ()
    by_group: tuple[Grouped, ...] = ()

    @property
    def hashes(self) -> tuple[str, ...]:
        """The first eight hexadecimal digits of the SHA-256 of each run's file; empty if it is not a file."""
        return tuple(map(short, self.digests or ("",) * len(self.runs)))
