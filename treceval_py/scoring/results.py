"""Results: one value for each query and measure, and their averages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from treceval_py._types import BoolArray, FloatArray
from treceval_py.data.ranking import RankContradictions
from treceval_py.errors import EvaluationError
from treceval_py.measures import Measure, parse_measures
from treceval_py.scoring.conventions import Conventions
from treceval_py.scoring.signatures import Fingerprint, Signature, explicit, fingerprint_of_queries
from treceval_py.version import __version__

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ByMeasure", "Results", "check_comparable"]


class ByMeasure(Mapping[str, float]):
    """Values by measure, found under the name that was asked for or any other notation of the same measure.

    Examples
    --------
    >>> import treceval_py as te
    >>> results = te.evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, ["nDCG@10"])
    >>> results.mean["nDCG@10"] == results.mean["ndcg_cut_10"] == results.mean["ndcg_cut.10"]
    True
    """

    __slots__ = ("_measures", "_names", "_values")

    def __init__(self, measures: Sequence[Measure], values: Sequence[float]) -> None:
        self._names = {measure.name: position for position, measure in enumerate(measures)}
        self._measures = measures
        self._values = values

    def __getitem__(self, name: str) -> float:
        position = self._names.get(name)
        if position is None:
            position = self._find(name)
        return self._values[position]

    def _find(self, name: str) -> int:
        try:
            wanted = parse_measures(name)
        except ValueError:
            raise KeyError(name) from None
        if len(wanted) == 1 and wanted[0] in self._measures:
            return list(self._measures).index(wanted[0])
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return repr(dict(self))


@dataclass(frozen=True, slots=True, eq=False)
class Results(Mapping[str, ByMeasure]):
    """The values of measures for the queries of a run: ``results["301"]["map"]``, ``results.mean["map"]``.

    Attributes
    ----------
    qids : tuple of str, length Q
        The queries that were evaluated, in the order of their bytes.
    measures : tuple of Measure, length M
        The measures as requested.
    resolved : tuple of Measure, length M
        The measures with all parameters, as computed.
    conventions : tuple of Conventions, length M
        How rankings were ordered and each measure averaged.
    matrix : (Q, M) float array
        The values; NaN for measures whose value is text, and where a query does not count.
    counted : (Q, M) bool array
        Whether the query counts for the measure; some programs average different measures over different queries.
    texts : dict of int to tuple of str
        For the number of a measure whose value is text, its values (Q,).
    averages : (M,) float array
        The average of each measure, in its own way (mean, sum, geometric mean); NaN for text.
    listed : (Q,) bool array
        False for a query that counts in the averages but is not listed (see `Profile.missing_as_zero`).
    missing : tuple of str
        Judged queries that the run lacks.
    unjudged : tuple of str
        Queries of the run without judgments, which are not evaluated.
    contradictions : RankContradictions
        Queries in which the rank column of the run contradicts its scores, which decide.
    complete : bool
        Whether missing queries count.
    profile : str
        The profile's name.
    profiles : tuple of str, length M
        The profile under which each measure was asked for; results of several signatures can have several.
    judgments_name, run_name, tag : str
        Where the judgments and the run come from, and the run's tag.
    fingerprint : Fingerprint
        Fingerprint of the judgments.
    replaced : int
        Number of run lines overridden by a later line for the same document, under profiles that keep the last.
    version : str
        The version of treceval_py.
    standardised : bool
        Whether values are z-scores.
    """

    qids: tuple[str, ...]
    measures: tuple[Measure, ...]
    resolved: tuple[Measure, ...]
    conventions: tuple[Conventions, ...]
    matrix: FloatArray
    counted: BoolArray
    texts: Mapping[int, tuple[str, ...]]
    averages: FloatArray
    listed: BoolArray
    missing: tuple[str, ...]
    unjudged: tuple[str, ...]
    contradictions: RankContradictions
    complete: bool
    profile: str
    profiles: tuple[str, ...]
    judgments_name: str
    run_name: str
    tag: str
    fingerprint: Fingerprint
    replaced: int = 0
    version: str = __version__
    standardised: bool = False
    _rows: dict[str, int] = field(default_factory=dict, repr=False)

    @property
    def _places(self) -> dict[str, int]:
        """The rows of the queries that are listed, found once."""
        if not self._rows:
            self._rows.update({qid: row for row, qid in enumerate(self.qids) if self.listed[row]})
        return self._rows

    @property
    def names(self) -> list[str]:
        """Names of the measures, as requested."""
        return [measure.name for measure in self.measures]

    @property
    def signatures(self) -> dict[str, Signature]:
        """How each value was computed, by measure name."""
        return {
            measure.name: self.signature(number)
            for number, measure in enumerate(self.measures)
            if number not in self.texts
        }

    def signature(self, number: int) -> Signature:
        """Return how the values of measure ``number`` were computed."""
        counted = self.counted[:, number]
        qids = [self.qids[row] for row in np.flatnonzero(counted).tolist()]
        return Signature(
            explicit(self.resolved[number]),
            self.conventions[number],
            len(qids),
            str(self.fingerprint),
            self.version,
            self.profiles[number],
            fingerprint_of_queries(qids),
        )

    @property
    def mean(self) -> ByMeasure:
        """The average of each measure over the queries: its mean; the sum of a count; a geometric mean for gm_map."""
        chosen = [number for number in range(len(self.measures)) if number not in self.texts]
        return ByMeasure([self.measures[number] for number in chosen], self.averages[chosen].tolist())

    def text(self, measure: str) -> dict[str, str]:
        """Return a measure whose value is text, ``relstring`` or ``runid``, as ``{qid: text}``.

        Raises
        ------
        KeyError
            It was not requested.
        """
        for number, values in self.texts.items():
            if self.measures[number].name == measure:
                return dict(zip(self.qids, values, strict=True))
        raise KeyError(measure)

    def __getitem__(self, qid: str) -> ByMeasure:
        row = self._places[qid]
        chosen = [
            number
            for number, measure in enumerate(self.measures)
            if number not in self.texts and measure.family.per_query and self.counted[row, number]
        ]
        return ByMeasure([self.measures[number] for number in chosen], self.matrix[row, chosen].tolist())

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value:.4f}" for name, value in list(self.mean.items())[:6])
        return f"<Results of {self.run_name!r}: {len(self)} queries, {shown}>"

    def to_pandas(self) -> pd.DataFrame:
        """Return a DataFrame with a row for each query and a column for each measure.

        The index is called ``query``. Measures without values by query (``num_q``, ``gm_map``, ``runid``) are left
        out.
        """
        import pandas as pd

        rows = np.flatnonzero(self.listed)
        columns: dict[str, object] = {}
        for number, measure in enumerate(self.measures):
            if not measure.family.per_query:
                continue
            if number in self.texts:
                columns[measure.name] = [self.texts[number][row] for row in rows.tolist()]
            else:
                columns[measure.name] = self.matrix[rows, number]
        index = pd.Index([self.qids[row] for row in rows.tolist()], name="query", dtype=object)
        frame: pd.DataFrame = pd.DataFrame(columns, index=index)
        return frame

    def standardise(self, norms: Mapping[tuple[str, str], tuple[float, float]]) -> Results:
        """Return the results with each value replaced by its z-score, as trec_eval's ``-Z`` does.

        Parameters
        ----------
        norms : mapping
            ``{(qid, measure): (mean, standard deviation)}``, such as the mean of many runs.

        Returns
        -------
        Results
            z = (value - mean) / deviation. A deviation of 0 gives 0 where value = mean. A missing entry, or a
            deviation of 0 otherwise, gives -1000000. Geometric means are those of exp(z). Texts, the total of
            ``num_q`` and, where missing queries count, that of ``num_rel`` stay. A query that is not listed counts
            as it did before: 0, in a geometric mean 0.00001.
        """
        values, averages = self.matrix.copy(), self.averages.copy()
        for number, measure in enumerate(self.measures):
            family = measure.family
            if number in self.texts:
                continue
            stored = family.average.store(self.matrix[:, number])
            counted = self.counted[:, number]
            scores = [
                _z_score(value, norms.get((qid, measure.name))) if listed else value
                for qid, value, listed, here in zip(
                    self.qids, stored.tolist(), self.listed.tolist(), counted.tolist(), strict=True
                )
                if here
            ]
            values[counted, number] = scores
            if family.of_judgments and (self.complete or not family.per_query):
                continue  # their total is counted from the judgments, as trec_eval does
            if scores:
                averages[number] = family.average.finish(float(np.add.accumulate(scores)[-1]), len(scores))
        return replace(self, matrix=values, averages=averages, standardised=True, _rows={})


NO_NORM = -1000000.0
"""The z-score of a value without a norm; trec_eval's."""


def _z_score(value: float, norm: tuple[float, float] | None) -> float:
    if norm is None:
        return NO_NORM
    mean, deviation = norm
    if deviation == 0:
        return 0.0 if value == mean else NO_NORM
    return (value - mean) / deviation


def check_comparable(results: Iterable[Results], *, force: bool = False) -> None:
    """Raise if values were computed differently and should not be compared.

    Parameters
    ----------
    results : iterable of Results
        Results with the same measures by name.
    force : bool
        Allow them all the same.

    Raises
    ------
    EvaluationError
        Signatures differ in more than the runs' queries. Measures that only one of them has are ignored.
    """
    first, *others = results
    for other in others:
        if force:
            return
        if first.standardised != other.standardised:
            raise EvaluationError(
                f"only one of {first.run_name} and {other.run_name} has z-scores", "Standardise both or neither."
            )
        for number, measure in enumerate(first.measures):
            if measure.name not in other.names:
                continue
            place = other.names.index(measure.name)
            if number in first.texts or place in other.texts:
                continue
            alike = (
                first.resolved[number] == other.resolved[place]
                and first.conventions[number] == other.conventions[place]
                and first.version == other.version
                and first.fingerprint.same_table(other.fingerprint)
            )
            found = [] if alike else first.signature(number).differences(other.signature(place))
            if found:
                raise EvaluationError(
                    f"{measure.name} of {first.run_name} and of {other.run_name} were made differently: "
                    + "; ".join(found),
                    "Score both in the same way, or allow it with --force (force=True).",
                )
