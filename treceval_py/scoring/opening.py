"""Open judgments and runs: bring each form in which they are given to one of a few, about which nobody asks again."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from treceval_py._types import Data, Source
from treceval_py.data.columns import QRELS, RUN
from treceval_py.data.groups import JudgmentGroups
from treceval_py.data.ids import shown
from treceval_py.data.preferences import Preferences
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import Ranking
from treceval_py.data.run import DEFAULT_TAG, RUN_NAME, Run
from treceval_py.data.table import FORMS, is_nested, parted
from treceval_py.diagnosis.signs import Lists, look
from treceval_py.errors import DataError, EvaluationError, InputError, RepeatedDocumentError
from treceval_py.io.named import read_judgments, reader_named, recognised
from treceval_py.io.rows import Rows, parts_of
from treceval_py.io.source import Watch, name_of
from treceval_py.io.trec import Judgments, twice_judged
from treceval_py.judging.judged import JudgedGroups, JudgedRun
from treceval_py.judging.preferences import JudgedPreferences
from treceval_py.judging.sampled import JudgedSample
from treceval_py.judging.streaming import Retrieved, read_by_queries
from treceval_py.measuring import FAMILIES, NICKNAMES, Measure
from treceval_py.scoring.planning import AS_IT_IS, NOTHING, Plan, Reading
from treceval_py.scoring.results import Results

if TYPE_CHECKING:
    from treceval_py.judging.arrays import Arrays

T = TypeVar("T")

Judged = JudgedRun | JudgedGroups | JudgedPreferences
AnyRun: TypeAlias = "Source | Data"
"""A run in any of its forms."""

AnyJudgments: TypeAlias = "Source | Judgments | Data"
"""Judgments in any of their forms."""

_KINDS: dict[type, str] = {
    Qrels: "relevance judgments (qrels)",
    JudgmentGroups: "judgments by groups (qrels_jg)",
    Preferences: "preference judgments (prefs)",
}
_NEEDS: dict[object, str] = {
    JudgedRun: _KINDS[Qrels],
    JudgedGroups: _KINDS[JudgmentGroups],
    JudgedPreferences: _KINDS[Preferences],
    JudgedSample: "judgments of a sample (sampled, prels)",
}


def format_for(measures: Sequence[Measure]) -> str | None:
    """Return the format of judgments that the measures require; None if it is to be recognised.

    Raises
    ------
    EvaluationError
        Some measures need judgments by subtopic and some do not.
    """
    # Not for trec_eval's own group measures: trec_eval refuses them unless the format is named.
    of_groups = [name for name in NICKNAMES["qrels_jg"] if FAMILIES[name].judged is JudgedGroups]
    needing = [measure for measure in measures if measure.family.judged in _NEEDS]
    if any(measure.family.name in of_groups for measure in needing):
        return None
    by_kind = {measure.family.judged: measure for measure in needing}
    if JudgedGroups in by_kind and len(by_kind) > 1:
        other = next(kind for kind in by_kind if kind is not JudgedGroups)
        raise EvaluationError(
            f"measure {by_kind[JudgedGroups].name} needs {_NEEDS[JudgedGroups]}, "
            f"and {by_kind[other].name} {_NEEDS[other]}",
            "Compute them in two separate commands.",
        )
    return "qrels_jg" if set(by_kind) == {JudgedGroups} else None


def load_judgments(
    qrels: AnyJudgments,
    format: str | None = None,
    *,
    duplicates: str = "refuse",
) -> Judgments:
    """Return judgments as a table: read a file, convert an object, or return a table unchanged.

    Parameters
    ----------
    qrels : path, binary file, table, or an object of another form
        The judgments.
    format : str, optional
        The format of a file; detected by default. With ``qrels_jg``, rows are judgments by subtopic, too.
    duplicates : {"refuse", "last"}
        How to treat a document that is judged twice for a query, in a file in TREC's format.

    Raises
    ------
    InputError, DataError
        The judgments cannot be read.
    """
    if isinstance(qrels, (Qrels, JudgmentGroups, Preferences)):
        return qrels
    if not isinstance(qrels, (str, os.PathLike)) and not hasattr(qrels, "read"):
        return _judgments_from(qrels, format)
    source: Any = qrels
    name, source = recognised(source, "qrels") if format is None else (format, source)
    try:
        if name == "qrels":
            return Rows(name_of(source), parts_of(source, QRELS)).qrels(duplicates=duplicates)
        return read_judgments(source, name)
    except RepeatedDocumentError as error:
        if name != "qrels":
            raise
        raise twice_judged(error, source) from None
    except InputError as error:
        if not error.what.endswith("not judgments"):
            raise
        # Judgments are read first.
        todo = "Are the two files swapped? The order is QRELS RUN."
        raise InputError(error.what, todo, file=error.file, line=error.line) from None


def _judgments_from(given: Any, format: str | None) -> Judgments:
    """Return the judgments of a Python object."""
    if given is None:
        raise DataError("no judgments", FORMS["judgments"])
    if isinstance(given, Run):
        raise DataError("this is a run, not judgments", "Give the judgments first, then the run.")
    if format == "qrels_jg" and not isinstance(given, Mapping):
        from treceval_py.data.objects import nested_groups

        return JudgmentGroups.from_dict(nested_groups(given))
    if not isinstance(given, Mapping):
        from treceval_py.judging.arrays import is_arrays, is_matrix, qrels_of_labels

        if is_matrix(given) and is_arrays(given):
            return qrels_of_labels(given)
    try:
        return Qrels(given)
    except DataError:
        by_query = given.values() if isinstance(given, Mapping) else ()
        nested = (each for groups in by_query if isinstance(groups, Mapping) for each in groups.values())
        if any(isinstance(each, Mapping) for each in nested):
            return JudgmentGroups.from_dict(given)
        raise


def check_kinds(measures: Sequence[Measure], judgments: Judgments) -> None:
    """Check that the measures can be computed from judgments of this kind.

    Raises
    ------
    EvaluationError
        A measure cannot.
    """
    have = _KINDS[type(judgments)]
    sampled = isinstance(judgments, Qrels) and judgments.sample is not None
    for measure in measures:
        need = _NEEDS.get(measure.family.judged, have)
        if need != have and not (sampled and measure.family.judged is JudgedSample):
            raise EvaluationError(
                f"measure {measure.name} needs {need}, but these are {have}",
                "Choose other measures, or name the file's format (-R).",
                file=judgments.name,
            )


class File(NamedTuple):
    """A run file in TREC's format or Parquet, or a stream, that is judged while it is read; `judge_file` says how."""

    format: str
    source: Source
    duplicates: str
    threads: int | None
    watch: Watch | None


class Opened(NamedTuple):
    """A run, opened to be judged against judgments any number of times.

    Attributes
    ----------
    judgments : Qrels, JudgmentGroups or Preferences
        The judgments.
    form : File, Run, Arrays or nested dictionaries
        The run: all other forms become a table. Arrays and dictionaries stand beside relevance judgments only.
    retrieved : Retrieved
        Its queries, its tag and its notes; of a file, what `filling.judge_opened` returns.
    kept : dict or None
        What `filling.judge_opened` returned, by its arguments, if several computations share it.
    """

    judgments: Judgments
    form: File | Run | Arrays | Mapping[str, Mapping[str, float]]
    retrieved: Retrieved
    kept: dict[tuple[Ranking, bool, tuple[str, ...]], tuple[Judged, Retrieved]] | None = None


def open_run(
    judgments: Judgments,
    run: AnyRun,
    reading: Reading = AS_IT_IS,
    plan: Plan = NOTHING,
    *,
    keep: bool = False,
    watch: Watch | None = None,
) -> Opened:
    """Open a run to be judged against judgments.

    Parameters
    ----------
    judgments : Qrels, JudgmentGroups or Preferences
        The judgments.
    run : path, binary file, Run, dict, frame or rows
        The run.
    reading : Reading
        How a run file is read.
    plan : Plan
        What is computed. A stream, which can be read only once, is held whole if the plan has several rankings, or to
        keep judged runs; so is any run but dictionaries if its queries without judgments count, or with judgments of a
        sample.
    keep : bool
        Keep judged runs, for several computations. A plan requests each ranking once.
    watch : callable, optional
        As for `evaluate`; it sees a file that is judged while it is read.

    Raises
    ------
    TrecevalError
        The run cannot be opened, or read if it is held whole.
    """
    if watch is not None and not callable(watch):
        raise EvaluationError(f"watch must be a function, not {shown(watch)}", "Give a function of two numbers.")
    relevance = isinstance(judgments, Qrels)
    segments = reading.max_passage is not None
    whole = segments or "in" in [task.conventions.extra for task in plan.tasks]
    whole |= any(ranking.sample for ranking in plan.rankings)
    kept: dict[Any, Any] | None = {} if keep else None
    if isinstance(run, (str, os.PathLike)) or hasattr(run, "read"):
        rereadable = isinstance(run, (str, os.PathLike)) and os.path.isfile(run)
        source: Any = run
        name = reading.run_format
        if name is None:
            by_rank = {task.conventions.order for task in plan.tasks} == {"rank"}
            name, source = recognised(source, "run", by_rank=by_rank)
        once = name == "trec_results" and not keep and len(plan.rankings) <= 1
        if name in ("trec_results", "parquet") and relevance and not whole and (rereadable or once):
            file = File(name, source, plan.duplicates, reading.threads, watch)
            return Opened(judgments, file, Retrieved((), "", ""), kept)
        table, replaced = _read_run(source, name, plan.duplicates, reading)
        return Opened(judgments, table, facts_of(table, replaced), kept)
    if relevance and not segments and not isinstance(run, (Run, Results, Qrels)) and is_nested(run):
        given: Any = run
        nested, bare = parted(given)
        return Opened(judgments, nested, Retrieved(tuple(nested), RUN_NAME, DEFAULT_TAG, bare=bare), kept)
    form = _table_or_arrays(run)
    if not isinstance(form, Run):
        if relevance and not whole:
            return Opened(judgments, form, Retrieved(form.qids, RUN_NAME, DEFAULT_TAG), kept)
        form = form.table(judgments)
    form = _ranking_documents(form, reading)
    return Opened(judgments, form, facts_of(form), kept)


def facts_of(run: Run, replaced: int = 0) -> Retrieved:
    """Return the facts about a run that is held as a table."""
    return Retrieved(run.qids, run.name, run.tag, look(Lists.of(run)), replaced, run.bare)


def parts_of_run(
    judgments: Judgments, run: AnyRun, take: Callable[[Run], T], reading: Reading, duplicates: str
) -> list[T]:
    """Return what `take` makes of each part of a run, read as `load_run` does.

    A file in TREC's format is taken piece by piece, each of whole queries; any other run has one part.
    """
    in_file = isinstance(run, (str, os.PathLike)) or hasattr(run, "read")
    if in_file and isinstance(judgments, Qrels) and reading.max_passage is None:
        source: Any = run
        name, source = recognised(source, "run") if reading.run_format is None else (reading.run_format, source)
        if name == "trec_results":
            return read_by_queries(judgments, source, take, duplicates=duplicates, threads=reading.threads)
        return [take(_read_run(source, name, duplicates, reading)[0])]
    return [take(load_run(run, reading, duplicates=duplicates, judgments=judgments))]


def load_run(
    run: AnyRun,
    reading: Reading = AS_IT_IS,
    *,
    duplicates: str = "refuse",
    judgments: Judgments | None = None,
) -> Run:
    """Return a run as a table: read a file, convert an object, or return a table unchanged.

    Parameters
    ----------
    run : path, binary file, Run, or an object of another form
        The run.
    reading : Reading
        How it is read.
    duplicates : {"refuse", "last"}
        How to treat a document that occurs twice in a query, in a file in TREC's format.
    judgments : Qrels, optional
        Judgments that tell which NaN among arrays of scores without ids are documents: those that are judged.

    Raises
    ------
    InputError, DataError
        The run cannot be read.
    """
    if isinstance(run, (str, os.PathLike)) or hasattr(run, "read"):
        source: Any = run
        name, source = recognised(source, "run") if reading.run_format is None else (reading.run_format, source)
        return _read_run(source, name, duplicates, reading)[0]
    form = _table_or_arrays(run)
    return _ranking_documents(form if isinstance(form, Run) else form.table(judgments), reading)


def _read_run(source: Source, format: str, duplicates: str, reading: Reading) -> tuple[Run, int]:
    """Return a run file as a table, and how many of its lines were replaced by later ones."""
    if format != "trec_results":
        return _ranking_documents(reader_named(format, "run")(source), reading), 0
    rows = Rows(name_of(source), parts_of(source, RUN, threads=reading.threads))
    run = rows.run(duplicates=duplicates)
    return _ranking_documents(run, reading), rows.count - len(run.docids)


def _ranking_documents(run: Run, reading: Reading) -> Run:
    """Return a run of documents, made from one of segments if they are read so."""
    if reading.max_passage is None:
        return run
    from treceval_py.data.passages import as_documents

    return as_documents(run, reading.max_passage)


def _table_or_arrays(run: Any) -> Run | Arrays:
    """Return an object that is a run; as arrays if it is given so."""
    if isinstance(run, Run):
        return run
    if run is None:
        raise DataError("no run", FORMS["run"])
    if isinstance(run, Results):
        raise DataError("these are results, not a run", "Give the run that they are of.")
    if isinstance(run, (Qrels, JudgmentGroups, Preferences)):
        raise DataError("these are judgments, not a run", "Give the judgments first, then the run.")
    from treceval_py.judging.arrays import is_arrays, rows_of

    return rows_of(run) if is_arrays(run) else Run(run)
