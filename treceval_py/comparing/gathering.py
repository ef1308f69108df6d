"""What is compared: run files that are scored now, results of earlier scorings, and files of saved results."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from treceval_py._types import Source
from treceval_py.comparing.saved.measures import harmonised
from treceval_py.comparing.saved.naming import unique_names
from treceval_py.comparing.saved.reading import is_saved, read_saved
from treceval_py.comparing.scores import Scored, scored_of
from treceval_py.data.run import DEFAULT_TAG, RUN_NAME, Run
from treceval_py.errors import EvaluationError, MeasureError
from treceval_py.io.source import Watch
from treceval_py.io.trec import Judgments
from treceval_py.measures import NICKNAMES, Measure, parse_measures
from treceval_py.measures.registry import COUNT, TEXT
from treceval_py.scoring.evaluation import check_kinds, evaluate, format_for, load_judgments
from treceval_py.scoring.profiles import DEFAULT_MEASURES, DEFAULT_PROFILE, Profile, profile_named
from treceval_py.scoring.results import Results
from treceval_py.scoring.signatures import Signature

__all__ = ["USUAL", "Compares", "Gathered", "Scoring", "comparable", "fit", "gather"]

USUAL = ("map", "ndcg_cut.10", "recip_rank", "P.10")
"""What is compared unless something else is asked for. A few: each one more makes every difference harder to show."""

Compares: TypeAlias = "Results | Scored | Source | Run | Mapping[str, Mapping[str, float]]"
"""What can be compared: results, saved or not, and runs, which need judgments."""


class Scoring(NamedTuple):
    """How runs are scored that are compared; the options of `evaluate`.

    Attributes
    ----------
    measures : tuple of str or Measure
        What is computed; empty for the usual measures, or for those that saved results have.
    profile : str, Profile or None
        The profile; None for the usual one, or for the way in which saved results were made.
    level, complete, depth, judged_only, collection_size, run_format, judgment_format, threads
        As of `evaluate`.
    """

    measures: tuple[str | Measure, ...] = ()
    profile: str | Profile | None = None
    level: int | None = None
    complete: bool = False
    depth: int | None = None
    judged_only: bool = False
    collection_size: int = 0
    run_format: str | None = None
    judgment_format: str | None = None
    threads: int | None = None

    @property
    def rules(self) -> Profile:
        """The profile itself."""
        if isinstance(self.profile, Profile):
            return self.profile
        return profile_named(self.profile or DEFAULT_PROFILE)

    @property
    def asked(self) -> bool:
        """Whether anything but the measures is said of how runs are scored."""
        return self._replace(measures=(), threads=None, run_format=None, judgment_format=None) != Scoring()


AS_USUAL = Scoring()


class Gathered(NamedTuple):
    """What is compared, scored.

    Attributes
    ----------
    runs : tuple of Scored, length S
        The runs, with different names.
    sources : tuple, length S
        The run of each, as it was given; None for saved results.
    judgments : Judgments or None
        The judgments, where there are any.
    results : tuple of Results or None, length S
        The results of runs that were scored now.
    notes : tuple of str
        What was left out or assumed.
    """

    runs: tuple[Scored, ...]
    sources: tuple[Source | Run | Mapping[str, Mapping[str, float]] | None, ...]
    judgments: Judgments | None
    results: tuple[Results | None, ...]
    notes: tuple[str, ...]


class _Entry(NamedTuple):
    scored: Scored
    source: Source | Run | Mapping[str, Mapping[str, float]] | None
    results: Results | None


def gather(
    given: Sequence[Compares],
    qrels: Source | Judgments | Mapping[str, Mapping[str, int]] | None,
    scoring: Scoring = AS_USUAL,
    *,
    names: Sequence[str] | None = None,
    by: str | None = None,
    force: bool = False,
    watch: Watch | None = None,
    after: Callable[[], None] | None = None,
) -> Gathered:
    """Score and read what is compared.

    Parameters
    ----------
    given : sequence, length S
        Results, files of saved results (of which each may have several runs), and runs.
    qrels : judgments, optional
        The judgments; needed where there are runs.
    scoring : Scoring
        How runs are scored. Beside saved results that say how they were made, and without options of their own, runs
        are scored in the same way.
    names : sequence of str, length S, optional
        What the runs are called; by default by their tags where these are different, else by their files.
    by : {"tag", "file"}, optional
        By what runs are named.
    force : bool
        Whether runs are scored as `scoring` says also where saved results say something else.
    watch : callable, optional
        As of `evaluate`.
    after : callable, optional
        Is called after each run that was scored.

    Raises
    ------
    TrecevalError
        A file cannot be read, a measure is unknown, runs have no judgments, or their names are not different.
    """
    wanted, notes = comparable(scoring.measures, scoring.rules)
    saved = [_saved_of(each) for each in given]
    known = [scored for found in saved if found is not None for scored in found]
    if given and None not in saved:
        _check_not_scored(qrels, scoring)
    chosen, more = _chosen(wanted, known, scoring.rules)
    notes += more
    repeated = _signatures(known, chosen) if known and not scoring.asked and not force else None
    judgments = _judgments(qrels, chosen, scoring) if None in saved else None
    entries: list[_Entry] = []
    for each, found in zip(given, saved, strict=True):
        if found is not None:
            results = each if isinstance(each, Results) else None
            entries += [_Entry(_only(scored, chosen), None, results) for scored in found]
            continue
        if judgments is None:
            raise EvaluationError("judgments are needed to score runs", "Give qrels, or results of the runs.")
        results = _scored_now(each, judgments, chosen, scoring, repeated, watch)
        # A signature names its measure in full, and the saved results as they were asked for.
        names_of = tuple(name if isinstance(name, str) else name.name for name in chosen)
        entries.append(_Entry(scored_of(results, "")._replace(measures=names_of), each, results))  # type: ignore[arg-type]
        if after is not None:
            after()
    called = _names(entries, names, by)
    scored = [entry.scored._replace(name=name) for entry, name in zip(entries, called, strict=True)]
    notes += _about_saved(scored)
    return Gathered(
        tuple(harmonised(scored)),
        tuple(entry.source for entry in entries),
        judgments,
        tuple(entry.results for entry in entries),
        tuple(notes),
    )


def _saved_of(given: Compares) -> list[Scored] | None:
    """Return what was scored before; None for a run."""
    if isinstance(given, Scored):
        return [given]
    if isinstance(given, Results):
        return [scored_of(given, "")]
    if isinstance(given, (str, os.PathLike)) and is_saved(given):
        return read_saved(given)
    return None


def fit(measure: Measure) -> bool:
    """Tell whether a measure that nobody named is worth comparing: it has a value for each query, and is no count."""
    return measure.family.per_query and measure.family.kind not in (TEXT, COUNT)


def comparable(measures: Iterable[str | Measure], rules: Profile) -> tuple[list[Measure], list[str]]:
    """Return the measures that were asked for; of sets of measures those that can be compared.

    Returns
    -------
    measures : list of Measure
        The measures, each once.
    notes : list of str
        What is left out of sets.

    Raises
    ------
    MeasureError
        A measure is unknown, or one that was named has no number for each query.
    """
    wanted: list[Measure] = []
    notes = []
    for asked in measures:
        found = parse_measures(asked, leaves_out=rules.leaves_out)
        if isinstance(asked, str) and asked in NICKNAMES:
            kept = [each for each in found if fit(each)]
            if not kept:
                raise MeasureError(f"no measure of {asked} has a number for each query", "Compare others.")
            left = ", ".join(each.name for each in found if each not in kept)
            if left:
                notes.append(f"texts, counts and averages over all queries in {asked} are not compared: {left}.")
            found = kept
        for measure in found:
            if measure.family.kind == TEXT or not measure.family.per_query:
                raise MeasureError(f"measure {measure.name} has no number for each query", "Choose another one.")
        wanted += [each for each in found if each not in wanted]
    return wanted, notes


def _check_not_scored(qrels: object, scoring: Scoring) -> None:
    """Refuse judgments and options of scoring where nothing is scored: they would be dropped in silence."""
    if qrels is not None:
        raise EvaluationError("all of these are results, for which no judgments are needed", "Leave the judgments out.")
    if scoring.asked:
        raise EvaluationError(
            "saved results are compared as they are: nothing is left to score",
            "Leave out profile, complete, level, depth and judged_only, or score the runs again.",
        )


def _chosen(wanted: list[Measure], known: Sequence[Scored], rules: Profile) -> tuple[list[Measure | str], list[str]]:
    """Return the measures to compare: those asked for; or the usual ones, or all, that saved results have."""
    if wanted:
        return list(wanted), []
    if not known:
        if rules.measures == DEFAULT_MEASURES:
            return list(parse_measures(USUAL)), []
        return [each for each in parse_measures(rules.measures, leaves_out=rules.leaves_out) if fit(each)], []
    first = harmonised(known)
    common = [name for name in first[0].measures if all(name in scored.measures for scored in first)]
    measures = [(name, _measure(name)) for name in common]
    real = [(name, each) for name, each in measures if each is None or each.family.kind != COUNT]
    of_usual = parse_measures(USUAL)
    usual_there = [name for name, each in real if each in of_usual]
    found = usual_there or [name for name, _ in real]
    if not found:
        raise EvaluationError("the saved results have no measure in common", "Score the runs with the same measures.")
    notes = []
    if len(found) < len(real):
        are = "is" if len(found) == 1 else "are"
        notes.append(f"of {len(real)} measures that were saved, {', '.join(found)} {are} compared; -m chooses others.")
    return list(found), notes


def _measure(name: str) -> Measure | None:
    try:
        found = parse_measures(name)
    except MeasureError:
        return None
    return found[0] if len(found) == 1 else None


def _same(name: str, chosen: Measure | str) -> bool:
    if name == chosen or (isinstance(chosen, Measure) and name == chosen.name):
        return True
    measure = _measure(name)
    return measure is not None and measure == (chosen if isinstance(chosen, Measure) else _measure(chosen))


def _only(scored: Scored, chosen: Sequence[Measure | str]) -> Scored:
    """Return what was scored with the chosen measures only, in their order."""
    places = []
    for each in chosen:
        place = next((at for at, name in enumerate(scored.measures) if _same(name, each)), None)
        if place is None:
            name = each if isinstance(each, str) else each.name
            raise EvaluationError(
                f"the saved results have no {name}: they have {', '.join(scored.measures[:6])}",
                "Choose one of these, or score the run again.",
                file=scored.file,
            )
        places.append(place)
    names = tuple(each if isinstance(each, str) else each.name for each in chosen)
    return scored._replace(
        measures=names,
        values=scored.values[:, places],
        signatures=tuple(scored.signatures[place] for place in places),
    )


def _signatures(known: Sequence[Scored], chosen: Sequence[Measure | str]) -> list[Signature] | None:
    """Return how saved results were made, for runs to be scored likewise; None where that is not known."""
    for scored in known:
        places = [[at for at, name in enumerate(scored.measures) if _same(name, each)] for each in chosen]
        found = [scored.signatures[place[0]] if place else None for place in places]
        said = [signature for signature in found if signature is not None]
        if len(said) == len(chosen):
            return said
    return None


def _judgments(
    qrels: Source | Judgments | Mapping[str, Mapping[str, int]] | None,
    chosen: Sequence[Measure | str],
    scoring: Scoring,
) -> Judgments | None:
    if qrels is None:
        return None
    measures = [each for name in chosen for each in parse_measures(name)]
    named = scoring.judgment_format or format_for(measures)
    duplicates = scoring.rules.conventions.duplicates
    judgments = load_judgments(qrels, None if isinstance(qrels, Mapping) else named, duplicates=duplicates)
    check_kinds(measures, judgments)
    return judgments


def _scored_now(
    run: Compares,
    judgments: Judgments,
    chosen: Sequence[Measure | str],
    scoring: Scoring,
    repeated: list[Signature] | None,
    watch: Watch | None,
) -> Results:
    if isinstance(run, (Results, Scored)):
        raise AssertionError("results are not scored again")
    if repeated is not None:
        return evaluate(
            judgments,
            run,
            signature=repeated,
            run_format=scoring.run_format,
            threads=scoring.threads,
            watch=watch,
        )
    return evaluate(
        judgments,
        run,
        chosen,
        level=scoring.level,
        complete=scoring.complete,
        depth=scoring.depth,
        judged_only=scoring.judged_only,
        collection_size=scoring.collection_size,
        profile=scoring.rules,
        run_format=scoring.run_format,
        threads=scoring.threads,
        watch=watch,
    )


def _names(entries: Sequence[_Entry], names: Sequence[str] | None, by: str | None) -> tuple[str, ...]:
    if names is not None:
        if len(names) != len(entries):
            raise EvaluationError(
                f"the number of names is {len(names)}, and that of runs {len(entries)}", "Give one for each run."
            )
        if not all(isinstance(name, str) for name in names):
            raise EvaluationError("the names of runs are text", "Give each run a name.")
        if len(set(names)) < len(names) or not all(names):
            raise EvaluationError("the names of the runs are not different", "Give each run a name of its own.")
        return tuple(names)
    tags = [entry.scored.tag or entry.scored.name for entry in entries]
    files = [entry.scored.file for entry in entries]
    of_data = [
        not isinstance(entry.source, (str, os.PathLike)) and entry.scored.file == RUN_NAME and tag == DEFAULT_TAG
        for entry, tag in zip(entries, tags, strict=True)
    ]
    if len(entries) > 1 and all(of_data):  # dictionaries have neither
        return tuple(f"run {number}" for number in range(1, len(entries) + 1))
    return unique_names(tags, files, by)


def _about_saved(runs: Sequence[Scored]) -> list[str]:
    notes = []
    rounded = [run for run in runs if run.digits is not None]
    if rounded:
        digits = min(run.digits for run in rounded if run.digits is not None)
        have = "has" if len(rounded) == 1 else "have"
        notes.append(f"{_some(rounded)} {have} values of {digits} decimals: p-values are those of rounded values.")
    unknown = [run for run in runs if None in run.signatures]
    if unknown:
        notes.append(
            f"how the values of {_some(unknown)} were made is not known, so that it could not be checked that they "
            "compare."
        )
    return notes


def _some(runs: Sequence[Scored]) -> str:
    return ", ".join(run.name for run in runs[:3]) + (", …" if len(runs) > 3 else "")
