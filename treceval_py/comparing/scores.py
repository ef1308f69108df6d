"""The values to compare: one for each run, query and measure, over the same queries for all runs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from treceval_py._types import FloatArray
from treceval_py.comparing.paired import SAME, UNBOUNDED
from treceval_py.data.ids import encode, first_of
from treceval_py.errors import EvaluationError, MeasureError
from treceval_py.measuring import Measure, parse_measures
from treceval_py.scoring.profiles import PROFILES
from treceval_py.scoring.signatures import Signature, fingerprint_of_queries

if TYPE_CHECKING:
    from treceval_py.scoring.results import Results


class Scored(NamedTuple):
    """Values of a run, scored now or loaded from saved results.

    Attributes
    ----------
    name : str
        The run's name in comparisons.
    file : str
        The file of the run or of its saved results.
    tag : str
        The run's tag; empty if unknown.
    measures : tuple of str, length M
        The measures that have a number for each query, named as requested.
    qids : tuple of str, length Q
        The queries, in the order of their bytes.
    values : (Q, M) float array
        The values; NaN where a query does not count for a measure.
    signatures : tuple of Signature or None, length M
        How the values were computed; None if unknown.
    missing : tuple of str
        Judged queries that the run lacks, as far as known.
    digits : int or None
        Decimals of values that were rounded when saved; None if they were not.
    """

    name: str
    file: str
    tag: str
    measures: tuple[str, ...]
    qids: tuple[str, ...]
    values: FloatArray
    signatures: tuple[Signature | None, ...]
    missing: tuple[str, ...] = ()
    digits: int | None = None

    @property
    def meanings(self) -> dict[str, tuple[str, str]]:
        """By the name of each measure: the name, and the profile in which it has its meaning, as `known_measure` takes.

        Runs of other programs have no profile.
        """
        made = zip(self.measures, self.signatures, strict=True)
        return {name: (name, "" if signature is None else signature.profile) for name, signature in made}


class Aligned(NamedTuple):
    """The values of one measure, over the queries that all runs have.

    Attributes
    ----------
    measure : str
        The measure.
    qids : tuple of str, length Q
        The queries.
    values : (S, Q) float array
        The values, a row for each run; no NaN.
    signature : Signature or None
        How the first run's values were computed; None if unknown.
    left_out : tuple of str
        Queries that only some of the runs have.
    forced : tuple of str
        Differences between how values were computed, if compared with force.
    versions : tuple of str
        The versions of treceval_py that computed the values, as far as known.
    bounds : (float, float)
        The measure's range; infinite if it is unknown, or if values lie outside of it, as saved percentages do.
    """

    measure: str
    qids: tuple[str, ...]
    values: FloatArray
    signature: Signature | None
    left_out: tuple[str, ...]
    forced: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    bounds: tuple[float, float] = UNBOUNDED


MOST = 1e100
"""The standard deviation of larger values overflows a float."""


def known_measure(name: str, profile: str = "") -> Measure | None:
    """Return the measure of a name in a profile; None if there is none or the name means several."""
    try:
        measures = parse_measures(name, names_here=PROFILES[profile].names if profile in PROFILES else {})
    except MeasureError:
        return None
    return measures[0] if len(measures) == 1 else None


def scored_of(results: Results, name: str) -> Scored:
    """Return the comparable values of results: measures with a number for each query.

    Raises
    ------
    EvaluationError
        They are z-scores, or no measure has a number for each query.
    """
    if results.standardised:
        raise EvaluationError(f"the values of {results.run_name} are z-scores", "Compare the original values.")
    kept = [
        number
        for number, measure in enumerate(results.measures)
        if number not in results.texts and measure.family.per_query
    ]
    if not kept:
        raise EvaluationError(
            f"no measure of {results.run_name} has a value per query", "Choose other measures, such as map."
        )
    values = np.where(results.counted[:, kept], results.matrix[:, kept], np.nan)
    beyond = np.argwhere(np.abs(values) > MOST)
    if len(beyond):
        row, column = beyond[0].tolist()
        measure, qid = results.measures[kept[column]].name, results.qids[row]
        raise EvaluationError(
            f"{measure} of query '{qid}' is {values[row, column]:g}, which is too large to compare",
            "Compare another measure.",
            file=results.run_name,
        )
    return Scored(
        name,
        results.run_name,
        results.tag,
        tuple(results.measures[number].name for number in kept),
        results.qids,
        values,
        tuple(results.signature(number) for number in kept),
        results.missing,
    )


def aligned(runs: Sequence[Scored], *, force: bool = False) -> list[Aligned]:
    """Return the values of the measures that all runs have, each over the queries that all runs have for it.

    The conventions of its scores decide which queries a run has: all judged queries if missing queries count, otherwise
    only its own.

    Parameters
    ----------
    runs : sequence of Scored, length S
        The runs.
    force : bool
        Compare even values that were computed differently.

    Raises
    ------
    EvaluationError
        Values were computed differently, or the runs have no measure, or no query, in common.
    """
    names = [name for name in runs[0].measures if all(name in run.measures for run in runs)]
    if not names:
        other = next(run for run in runs if set(run.measures).isdisjoint(runs[0].measures) or run is runs[-1])
        raise EvaluationError(
            f"{runs[0].name} ({', '.join(runs[0].measures[:4])}, …) and {other.name} ({', '.join(other.measures[:4])}, "
            "…) have no measure in common",
            "Score them with the same measures.",
        )
    return [_aligned(runs, name, force=force) for name in names]


def _aligned(runs: Sequence[Scored], name: str, *, force: bool) -> Aligned:
    places = [run.measures.index(name) for run in runs]
    made = [(run, run.signatures[place]) for run, place in zip(runs, places, strict=True)]
    known = [(run, signature) for run, signature in made if signature is not None]
    forced = []
    for run, signature in known[1:]:
        # A different version alone is ignored: otherwise old results could not be compared with anything.
        differing = known[0][1]._replace(version=signature.version).differences(signature)
        if differing:
            said = f"{name} of {known[0][0].name} and of {run.name} were made differently: {'; '.join(differing)}"
            if not force:
                raise EvaluationError(said, "Score both in the same way, or allow it with --force (force=True).")
            forced.append(said)
    columns = [run.values[:, place] for run, place in zip(runs, places, strict=True)]
    counted = [~np.isnan(column) for column in columns]
    qids_of = [tuple(compress(run.qids, counts.tolist())) for run, counts in zip(runs, counted, strict=True)]
    values = [column[counts] for column, counts in zip(columns, counted, strict=True)]
    qids, left_out = qids_of[0], tuple[str, ...]()
    if any(those != qids for those in qids_of):
        common, every = set(qids).intersection(*qids_of[1:]), set(qids).union(*qids_of[1:])
        qids, left_out = (tuple(sorted(those, key=encode)) for those in (common, every - common))
        places_of = [{qid: row for row, qid in enumerate(those)} for those in qids_of]
        values = [column[[rows[qid] for qid in qids]] for column, rows in zip(values, places_of, strict=True)]
    if not qids:
        lacking = next((run for run, those in zip(runs, qids_of, strict=True) if not those), None)
        if lacking is not None:
            raise EvaluationError(f"{lacking.name} has no query with a value of {name}", "Is it the right file?")
        raise EvaluationError(
            f"the runs have no query in common: {runs[0].name} has {first_of(qids_of[0])}, "
            f"{runs[1].name} {first_of(qids_of[1])}",
            "Check that the runs are for the same queries.",
        )
    # The queries are those compared, which can be fewer than the run has.
    first = known[0][1]._replace(queries=len(qids), query_set=fingerprint_of_queries(qids)) if known else None
    versions = tuple(dict.fromkeys(signature.version for _, signature in known))
    measure = known_measure(name) if first is None else first.measure
    low, high = UNBOUNDED if measure is None else measure.family.bounds
    table = np.array(values, dtype=np.float64)
    bounds = (low, high) if low - SAME <= table.min() and table.max() <= high + SAME else UNBOUNDED
    return Aligned(name, qids, table, first, left_out, tuple(forced), versions, bounds)
