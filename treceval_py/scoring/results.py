"""Results: one value per query and measure, and their averages."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from treceval_py._types import BoolArray, FloatArray
from treceval_py.data.ids import encode, shown
from treceval_py.data.qrels import Qrels
from treceval_py.data.table import no_query
from treceval_py.errors import DataError, EvaluationError, MeasureError, OutputError, UnknownKeyError, brief, listed
from treceval_py.measuring import Measure, parse_measures
from treceval_py.measuring.notation import is_measure
from treceval_py.measuring.registry import COUNT
from treceval_py.rendering import text_of
from treceval_py.scoring.conventions import Conventions
from treceval_py.scoring.planning import Task
from treceval_py.scoring.profiles import EXTRA, NEGATIVE, PROFILES, TWICE
from treceval_py.scoring.signatures import Fingerprint, Signature, explicit, fingerprint_of_queries
from treceval_py.version import __version__

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl  # type: ignore[import-not-found,unused-ignore]

    from treceval_py.diagnosis.sign import Sign
    from treceval_py.io.query_groups import AnyGroups


class ByMeasure(dict[str, float]):
    """Values by measure: a dictionary of names as typed, else in notation, that can be read in any notation.

    ``values[name]``, ``values.get(name)`` and ``name in values`` accept any notation. Iteration, and so `json.dumps`
    and `pandas.DataFrame`, gives the names.

    Examples
    --------
    >>> import treceval_py as te
    >>> results = te.evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, ["nDCG@10"])
    >>> results.mean["nDCG@10"] == results.mean["ndcg_cut_10"] == results.mean["ndcg_cut.10"]
    True
    """

    __slots__ = ("_measures", "_profile")

    def __init__(self, measures: Sequence[Measure] = (), values: Iterable[float] = (), profile: str = "") -> None:
        super().__init__(zip([measure.name for measure in measures], values, strict=True))
        self._measures, self._profile = tuple(measures), profile

    def __missing__(self, name: str) -> float:
        requested = self._named(name)
        if requested is None:
            quoted = brief(repr(str(name)))
            fault, todo = f"there is no measure {quoted}", f"Computed: {listed(self)}."
            if is_measure(name):
                fault = f"measure {quoted} was not computed"
                todo += f" Add {quoted} to the measures of te.evaluate."
            raise UnknownKeyError(fault, todo)
        return self[requested]

    if not TYPE_CHECKING:  # else any attribute would have a type

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):  # not yet filled, as in a copy that begins
                raise AttributeError(name)
            meant = _computed(name, self._measures) or next(iter(self), "nDCG@10")
            raise AttributeError(f"values by measure have no attribute {name!r}. Read them by name: [{meant!r}].")

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or self._named(name) is not None

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a measure, in any notation, or `default`."""
        try:
            return self[name]
        except KeyError:
            return default

    def _named(self, name: object) -> str | None:
        """Return the requested name of a measure that is given in another notation."""
        if isinstance(name, Iterable) and not isinstance(name, str):
            return None
        profile = PROFILES.get(self._profile)
        try:
            meant = parse_measures(name, names_here={} if profile is None else profile.names)  # type: ignore[arg-type]
        except MeasureError:
            return None
        # By the family's name, as a family may have been redeclared since.
        keys = [(each.family.name, each.parameters) for each in meant]
        alike = (each.name for each in self._measures if [(each.family.name, each.parameters)] == keys)
        return next((each for each in alike if super(ByMeasure, self).__contains__(each)), None)


def place_of(names: Sequence[str], measure: str | Measure) -> int:
    """Return the position of a measure, or of a name in any notation, among names.

    Raises
    ------
    MeasureError
        The measure is not among them.
    """
    if isinstance(measure, str) and measure in names:
        return names.index(measure)
    with suppress(MeasureError, StopIteration):
        wanted = parse_measures(measure)
        return next(place for place, name in enumerate(names) if parse_measures(name) == wanted)
    raise MeasureError(f"measure {brief(repr(str(measure)))} is not among these", f"Computed: {listed(names)}.")


def _computed(name: str, measures: Sequence[Measure]) -> str:
    """Return the name of a computed measure that an attribute means; empty if there is none."""
    with suppress(MeasureError):
        kinds = {each.notation.partition("@")[0] for each in parse_measures(name)}
        return next((each.name for each in measures if {each.notation.partition("@")[0]} == kinds), "")
    return ""


MEANT = {
    "results.mean": "average avg means aggregate aggregated aggregated_metrics overall scores metrics summary all",
    "results[qid], or results.to_pandas()": "per_query by_query queries query_scores topics",
    "results.to_pandas()": "to_df to_dataframe to_frame df dataframe",
    "results.to_pandas().to_csv(path)": "to_csv",
    "print(results)": "print show",
    "results.names": "measure_names metric_names columns",
}
"""Attributes that results of other programs have, by ours."""


@dataclass(frozen=True, eq=False, repr=False)
class Results(Mapping[str, ByMeasure]):
    """The values of measures for the queries of a run: ``results["301"]["map"]``, ``results.mean["map"]``.

    Attributes
    ----------
    qids : tuple of str, length Q
        The evaluated queries, in byte order.
    tasks : tuple of Task, length M
        The measures, and how each was computed.
    matrix : (Q, M) float array
        The values; NaN for measures whose value is text, and for queries that do not count.
    counted : (Q, M) bool array
        Whether the query counts for the measure; some programs average different measures over different queries.
    texts : dict of int to tuple of str
        For measures whose value is text: their values (Q,), by number of the measure.
    averages : (M,) float array
        The average of each measure, in its own way (mean, sum, geometric mean); NaN for text.
    listed : (Q,) bool array
        False for a query that counts in the averages but is not listed (see `Profile.when_complete`).
    missing : tuple of str
        Judged queries that the run lacks.
    unjudged : tuple of str
        Queries of the run without judgments, which are not evaluated.
    profile : str
        The profile's name; results of several signatures can have several, separated by commas.
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
    signs : tuple of Sign
        Signs of a mistake in the run, the most serious first.
    """

    qids: tuple[str, ...]
    tasks: tuple[Task, ...]
    matrix: FloatArray
    counted: BoolArray
    texts: Mapping[int, tuple[str, ...]]
    averages: FloatArray
    listed: BoolArray
    missing: tuple[str, ...]
    unjudged: tuple[str, ...]
    profile: str
    judgments_name: str
    run_name: str
    tag: str
    fingerprint: Fingerprint
    replaced: int = 0
    version: str = __version__
    standardised: bool = False
    signs: tuple[Sign, ...] = ()
    _rows: dict[str, int] = field(default_factory=dict, repr=False)

    @property
    def _places(self) -> dict[str, int]:
        """The row of each listed query, computed once."""
        if not self._rows:
            self._rows.update({qid: row for row, qid in enumerate(self.qids) if self.listed[row]})
        return self._rows

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures as requested, length M."""
        return tuple([task.asked for task in self.tasks])

    @property
    def resolved(self) -> tuple[Measure, ...]:
        """The measures with all parameters, as computed, length M."""
        return tuple([task.resolved for task in self.tasks])

    @property
    def conventions(self) -> tuple[Conventions, ...]:
        """How rankings were ordered and each measure averaged, length M."""
        return tuple([task.conventions for task in self.tasks])

    @property
    def profiles(self) -> tuple[str, ...]:
        """The profile under which each measure was requested, length M."""
        return tuple([task.profile for task in self.tasks])

    @property
    def differences(self) -> dict[str, str]:
        """Why values of measures can differ here from those of the profile's program, by measure."""
        profile = PROFILES.get(self.profile)
        return {
            task.asked.name: difference.text
            for task in self.tasks
            for difference in (profile.differences_of(task.resolved) if profile and profile.differs else ())
            if self._has(difference.when, dict(task.resolved.parameters).get("level", 1))
        }

    def about_differences(self) -> list[str]:
        """Return a note for each reason of `differences`."""
        measures: dict[str, list[str]] = {}
        for name, text in self.differences.items():
            measures.setdefault(text, []).append(name)
        return [f"{listed(names, 3)} can differ from {self.profile}: {text}." for text, names in measures.items()]

    def _has(self, what: str, level: int) -> bool:
        """Return whether the judgments or the run have what makes values differ; also if that is not known."""
        judgments = self.fingerprint.judgments
        if what == EXTRA:
            return bool(self.unjudged)
        if what == TWICE:
            return self.replaced > 0 or (isinstance(judgments, Qrels) and judgments.replaced > 0)
        if not isinstance(judgments, Qrels) or not what:
            return True
        if what == NEGATIVE:
            return bool((judgments.rels < 0).any())
        relevant = np.concatenate([[0], np.cumsum(judgments.rels >= level)])
        return bool(judgments.bare or (np.diff(relevant[judgments.offsets]) == 0).any())

    @property
    def complete(self) -> bool:
        """Whether missing queries count."""
        return bool(self.tasks) and all(task.conventions.missing != "out" for task in self.tasks)

    @property
    def names(self) -> list[str]:
        """Names of the measures, as typed, else in notation."""
        return [task.asked.name for task in self.tasks]

    @property
    def _numeric(self) -> list[int]:
        """The numbers of the measures whose values are not text."""
        return [number for number in range(len(self.tasks)) if number not in self.texts]

    @property
    def signatures(self) -> dict[str, Signature]:
        """How each value was computed, by measure name."""
        return {self.tasks[number].asked.name: self.signature(number) for number in self._numeric}

    def signature(self, number: int) -> Signature:
        """Return how the values of measure ``number`` were computed."""
        task, counted = self.tasks[number], self.counted[:, number]
        qids = [self.qids[row] for row in np.flatnonzero(counted).tolist()]
        measure, judgments, query_set = explicit(task.resolved), str(self.fingerprint), fingerprint_of_queries(qids)
        return Signature(measure, task.conventions, len(qids), judgments, self.version, task.profile, query_set)

    @property
    def mean(self) -> ByMeasure:
        """The average of each measure over the queries: a mean, the sum of counts, or a geometric mean for gm_map."""
        numbers = self._numeric
        return ByMeasure(
            [self.tasks[number].asked for number in numbers], self.averages[numbers].tolist(), self.profile
        )

    def text(self, measure: str | Measure) -> dict[str, str]:
        """Return the values of `measure`, which is text (``relstring``, ``runid``), as ``{qid: text}``.

        Raises
        ------
        KeyError
            The measure was not requested.
        """
        for number, values in self.texts.items():
            asked = self.tasks[number].asked
            if str(measure) in (asked.name, asked.trec_name):
                return dict(zip(self.qids, values, strict=True))
        raise UnknownKeyError(f"{brief(repr(str(measure)))} is no measure of these results whose values are text")

    def __getitem__(self, qid: str) -> ByMeasure:
        row = self._places.get(qid)
        if row is None:
            raise self._no_query(qid)
        counted = [number for number in self._numeric if self.counted[row, number]]
        chosen = [number for number in counted if self.tasks[number].asked.family.per_query]
        return ByMeasure(
            [self.tasks[number].asked for number in chosen], self.matrix[row, chosen].tolist(), self.profile
        )

    def _no_query(self, qid: object) -> UnknownKeyError:
        """Return the error about a key that is no listed query."""
        if qid in self.missing:
            return UnknownKeyError(f"the run lacks query {shown(qid)}", "complete=True counts it as an empty ranking.")
        if qid in self.unjudged:
            return UnknownKeyError(f"query {shown(qid)} has no judgments", "Only judged queries are scored.")
        if is_measure(qid):
            name = repr(str(qid))
            todo = f"The average is results.mean[{name}], and the value of a query results[qid][{name}]."
            return UnknownKeyError(f"the keys of results are query ids, and {name} is a measure", todo)
        return no_query(qid, tuple(self))

    if not TYPE_CHECKING:  # else any attribute would have a type

        def __getattr__(self, name: str) -> Any:
            said = f"results have no attribute {name!r}"
            meant = next((ours for ours, others in MEANT.items() if name in others.split()), "")
            if not name.startswith("_") and (meant or is_measure(name)):
                computed = _computed(name, self.measures)
                meant = meant or (computed and f"results.mean[{computed!r}]")
                said += f". Write {meant}" if meant else f". Computed: {listed(self.names)}"
            raise AttributeError(f"{said}.")

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        real = [number for number in self._numeric if self.tasks[number].asked.family.kind != COUNT] or self._numeric
        values = zip([self.tasks[number].asked.name for number in real], self.averages[real].tolist(), strict=True)
        averages = [f"{brief(name)}={value:.4f}" for name, value in values]
        count = f"{len(self)} {'query' if len(self) == 1 else 'queries'}"
        shown = ", ".join(filter(None, [count, listed(averages, width=60)]))
        if self.missing:
            counts = "counted" if self.complete else "left out"
            shown += f"; {len(self.missing)} judged missing ({listed(self.missing, 3)}), {counts}"
        return f"<Results of {brief(self.run_name)!r}: {shown}>"

    def __str__(self) -> str:
        return text_of(self, "table")

    def _repr_html_(self) -> str:
        return text_of(self, "html")

    def to_json(self) -> str:
        """Return the results as JSON, as ``treceval -q --format json`` prints them; `save` writes it to a file."""
        return text_of(self, "json")

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return the values as plain dictionaries, ``{qid: {measure: value}}``."""
        return {qid: dict(self[qid]) for qid in self}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the results as `to_json` returns them; the file is complete or absent.

        `read_results` reads the file, and `compare` accepts it in place of results.

        Parameters
        ----------
        path : path
            The file.

        Raises
        ------
        OutputError
            The file cannot be written.
        DataError
            A query id is empty, so that the file could not be read again.
        """
        from treceval_py.io.target import written_whole

        if "" in self:
            raise DataError("a query id is empty, so the results cannot be saved", "Give every query an id.")
        with written_whole(path) as stream:
            stream.write(encode(self.to_json()))

    def to_pandas(self) -> pd.DataFrame:
        """Return a DataFrame with a row for each query and a column for each measure.

        The index is called ``query``. Measures without per-query values (``num_q``, ``gm_map``, ``runid``) are omitted.
        """
        import pandas as pd

        qids, columns = self._columns()
        frame: pd.DataFrame = pd.DataFrame(columns, index=pd.Index(qids, name="query", dtype=object))
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Return a polars DataFrame with a column ``query`` and a column for each measure, as in `to_pandas`.

        If a query does not count for a measure, the value is null. Bytes that are not UTF-8 are escaped.

        Raises
        ------
        OutputError
            polars is not installed.
        """
        try:
            import polars as pl
        except ImportError:
            problem = "this needs the package polars, which is not installed"
            raise OutputError(problem, "pip install polars, or use to_pandas.") from None
        from treceval_py.rendering.envelope import plain

        qids, columns = self._columns()
        frame: pl.DataFrame = pl.DataFrame(
            {"query": plain(qids)} | {name: plain(list(c)) for name, c in columns.items()}
        )
        return frame

    def _columns(self) -> tuple[list[str], dict[str, Sequence[Any]]]:
        """Return the listed queries, and the values of each measure that has one per query."""
        rows = np.flatnonzero(self.listed)
        columns: dict[str, Sequence[Any]] = {}
        for number, task in enumerate(self.tasks):
            if task.asked.family.per_query:
                texts = self.texts.get(number)
                values = self.matrix[rows, number] if texts is None else [texts[row] for row in rows.tolist()]
                columns[task.asked.name] = values
        return [self.qids[row] for row in rows.tolist()], columns

    def by_group(self, groups: AnyGroups) -> dict[str, dict[str, Results]]:
        """Return the results of each group of queries, averaged over that group only.

        Parameters
        ----------
        groups : path, mapping, frame, QueryGroups, or a sequence of paths or QueryGroups
            The groups, as for `read_query_groups`, such as ``"groups.tsv"`` or ``{qid: label}``.

        Returns
        -------
        dict
            ``{attribute: {label: Results}}``. Groups without a query in these results are left out. Averages that
            cannot be computed from per-query values, such as those of abstention measures, are NaN.

        Raises
        ------
        TrecevalError
            The groups cannot be read.

        Examples
        --------
        >>> import treceval_py as te
        >>> qrels = {"1": {"a": 1}, "2": {"a": 1}, "3": {"a": 1}}
        >>> run = {"1": {"a": 1.0}, "2": {"b": 2.0, "a": 1.0}, "3": {"a": 1.0}}
        >>> groups = te.evaluate(qrels, run, ["RR"]).by_group({"1": "short", "2": "long", "3": "long"})
        >>> {label: results.mean["RR"] for label, results in groups["group"].items()}
        {'short': 1.0, 'long': 0.75}
        """
        from treceval_py.io.query_groups import read_query_groups

        results: dict[str, dict[str, Results]] = {}
        for grouping in read_query_groups(groups):
            # Of each group: its rows, and its places among the queries that are missing or unjudged.
            parts = (grouping.members(qids) for qids in (self.qids, self.missing, self.unjudged))
            members = zip(grouping.labels, *(part.values() for part in parts), strict=True)
            results[grouping.attribute] = {label: self._over(rows, *others) for label, rows, *others in members if rows}
        return results

    def _over(self, rows: Sequence[int], missing: Sequence[int], unjudged: Sequence[int]) -> Results:
        """Return the results of one group: its rows, in order, and the facts that concern its queries."""
        matrix, counted = self.matrix[rows], self.counted[rows]
        averages = np.full(len(self.tasks), np.nan)
        for number in self._numeric:
            average, counts = self.tasks[number].asked.family.average, counted[:, number]
            if average.over is None:
                average = average._replace(store=np.asarray) if self.standardised else average
                averages[number] = average(matrix[counts, number], int(counts.sum()))
        return replace(
            self,
            qids=tuple([self.qids[row] for row in rows]),
            matrix=matrix,
            counted=counted,
            texts={n: tuple([text[row] for row in rows]) if text else text for n, text in self.texts.items()},
            averages=averages,
            listed=self.listed[rows],
            missing=tuple([self.missing[place] for place in missing]),
            unjudged=tuple([self.unjudged[place] for place in unjudged]),
            _rows={},
        )

    def standardise(self, norms: Mapping[tuple[str, str], tuple[float, float]]) -> Results:
        """Return the results with each value replaced by its z-score, as trec_eval's ``-Z`` does.

        Parameters
        ----------
        norms : mapping
            ``{(qid, measure): (mean, standard deviation)}``, such as the mean of many runs.

        Returns
        -------
        Results
            z = (value - mean) / deviation. If the deviation is 0, z is 0 if value = mean, else -1000000. A missing norm
            also gives -1000000. Geometric means are computed from exp(z). Texts and the total of ``num_q`` are
            unchanged; so is the total of ``num_rel`` if missing queries count. A query that is not listed counts as
            before: 0, or 0.00001 in a geometric mean.
        """
        if not isinstance(norms, Mapping):
            raise EvaluationError(f"norms cannot be {shown(norms)}", "Read them with te.scoring.read_norms.")
        values, averages, named = self.matrix.copy(), self.averages.copy(), {name for _, name in norms}
        for number in self._numeric:
            measure, rows = self.tasks[number].asked, np.flatnonzero(self.counted[:, number])
            family, stored = measure.family, measure.family.average.store(self.matrix[:, number]).tolist()
            # Files of norms have trec_eval's names.
            name = next((each for each in (measure.name, measure.trec_name) if each in named), "")
            scores = [
                _z_score(stored[row], norms.get((self.qids[row], name))) if self.listed[row] else stored[row]
                for row in rows.tolist()
            ]
            values[rows, number] = scores
            if family.of_judgments and (self.complete or not family.per_query):
                continue  # their totals are counted from the judgments, as in trec_eval
            if scores:
                averages[number] = family.average.finish(float(np.add.accumulate(scores)[-1]), len(scores))
        return replace(self, matrix=values, averages=averages, standardised=True, _rows={})


NO_NORM = -1000000.0
"""The z-score of a value without a norm, as in trec_eval."""


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
        Results with the same measures.
    force : bool
        Allow different computations.

    Raises
    ------
    EvaluationError
        Signatures differ in more than the queries of the runs. Measures that only one result has are ignored.
    """
    given = [*results] if isinstance(results, Iterable) and not isinstance(results, Results) else [results]
    wrong = [each for each in given if not isinstance(each, Results)]
    if wrong or not given:
        given_instead = shown(wrong[0]) if wrong else "nothing"
        raise EvaluationError(f"{given_instead} cannot be compared as Results", "Give what te.evaluate returned.")
    first, *others = given
    for other in () if force else others:
        if first.standardised != other.standardised:
            problem = f"only one of {first.run_name} and {other.run_name} has z-scores"
            raise EvaluationError(problem, "Standardise both or neither.")
        measures = other.measures
        for number, task in enumerate(first.tasks):
            if task.asked not in measures or number in first.texts:
                continue
            place = measures.index(task.asked)
            twin = other.tasks[place]
            alike = task.resolved == twin.resolved and task.conventions == twin.conventions
            alike = alike and first.version == other.version and first.fingerprint.same_table(other.fingerprint)
            differences = [] if alike else first.signature(number).differences(other.signature(place))
            if differences:
                problem = f"{task.asked.name} of {first.run_name} and of {other.run_name} were made differently"
                todo = "Score both in the same way, or allow it with --force (force=True)."
                raise EvaluationError(f"{problem}: {'; '.join(differences)}", todo)
