"""Collect the runs to compare: score run files, and load saved results."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from treceval_py._types import Source
from treceval_py.comparing.saved.files import Unscored, not_scored
from treceval_py.comparing.saved.measures import harmonised
from treceval_py.comparing.saved.naming import unique_names
from treceval_py.comparing.saved.reading import is_saved, read_saved
from treceval_py.comparing.scores import Scored, known_measure, scored_of
from treceval_py.comparing.tuned import about_tuned
from treceval_py.data.run import DEFAULT_TAG, RUN_NAME, Run
from treceval_py.errors import EvaluationError, MeasureError, SuspectRunWarning, TrecevalError, brief, warn
from treceval_py.io.digests import digest_of
from treceval_py.io.source import Watch
from treceval_py.io.trec import Judgments
from treceval_py.measuring import NICKNAMES, Measure, parse_measures
from treceval_py.measuring.registry import COUNT, TEXT
from treceval_py.scoring.evaluation import Evaluator
from treceval_py.scoring.opening import AnyJudgments, AnyRun, load_judgments
from treceval_py.scoring.planning import AS_IT_IS, AS_USUAL, Reading, Scoring
from treceval_py.scoring.profiles import USUAL_MEASURES, Profile, profile_of
from treceval_py.scoring.results import Results
from treceval_py.scoring.signatures import Fingerprint, Signature, concise, read_signatures

Compares: TypeAlias = "Results | Scored | Source | Run | Mapping[str, Mapping[str, float]]"
"""What can be compared: results, saved or not, and runs, which need judgments."""


class Gathered(NamedTuple):
    """The runs of a comparison, scored.

    Attributes
    ----------
    runs : tuple of Scored, length S
        The runs, with different names.
    sources : tuple, length S
        The run of each, as it was given; None for saved results.
    evaluator : Evaluator or None
        The judgments and the scoring of the runs; None if all are saved results.
    results : tuple of Results or None, length S
        The results of runs that were scored now; None for saved results.
    notes : tuple of str
        What was left out or assumed.
    digests : tuple of str, length S
        The SHA-256 of each run's file; empty if it came from elsewhere.
    judgments_digest : str
        That of the judgments' file.
    left_out : tuple of Unscored
        Files that could not be scored, if that is no error.
    headings : mapping of str to str
        The names of the measures' means, for people, by the measures' names.
    """

    runs: tuple[Scored, ...]
    sources: tuple[AnyRun | None, ...]
    evaluator: Evaluator | None
    results: tuple[Results | None, ...]
    notes: tuple[str, ...]
    digests: tuple[str, ...]
    judgments_digest: str
    left_out: tuple[Unscored, ...] = ()
    headings: Mapping[str, str] = MappingProxyType({})

    @property
    def judgments(self) -> Judgments | None:
        """The judgments; None if all runs are saved results."""
        return None if self.evaluator is None else self.evaluator.judgments

    def tuned(self, qids: Sequence[str]) -> list[str]:
        """Return notes about runs whose settings were chosen on some of these queries."""
        files = [os.fsdecode(source) if isinstance(source, (str, os.PathLike)) else "" for source in self.sources]
        return about_tuned(zip([run.name for run in self.runs], files, self.digests, strict=True), qids)


class _Entry(NamedTuple):
    scored: Scored
    source: AnyRun | None
    results: Results | None
    digest: str


def gather(
    given: Sequence[Compares],
    qrels: AnyJudgments | None,
    scoring: Scoring = AS_USUAL,
    reading: Reading = AS_IT_IS,
    *,
    names: Sequence[str] | None = None,
    by: str | None = None,
    force: bool = False,
    watch: Watch | None = None,
    after: Callable[[], None] | None = None,
    look: Callable[[Evaluator, Run], None] | None = None,
    optional: Sequence[str] = (),
    fewest: int = 2,
) -> Gathered:
    """Score the runs and read the saved results of a comparison.

    Parameters
    ----------
    given : sequence, length S
        Results, files of saved results (each may have several runs), and runs.
    qrels : judgments, optional
        The judgments; needed if there are runs.
    scoring : Scoring
        How runs are scored. Without options, runs given with saved results are scored as the signatures of these
        describe.
    reading : Reading
        How files are read.
    names : sequence of str, length S, optional
        Names of the runs. Default: their tags if these are unique, else their files.
    by : {"tag", "file"}, optional
        How runs are named.
    force : bool
        Score runs by `scoring` even if the signatures of saved results differ.
    watch : callable, optional
        As of `evaluate`.
    after : callable, optional
        Called after each scored run.
    look : callable, optional
        Called with each scored run as a table, so that the caller need not read the file again.
    optional : sequence of str
        Files, such as those of a folder, that are left out if they cannot be scored while `fewest` others can.
    fewest : int
        Fewest runs: two of a comparison, one of a report.

    Raises
    ------
    TrecevalError
        A file cannot be read, a measure is unknown, runs have no judgments, or their names are not different.
    """
    profile = profile_of(scoring.profile)
    asked = scoring.measures or ()
    if scoring.signatures is not None:
        asked = [concise(signature.measure) for signature in read_signatures(scoring.signatures)]
    wanted, notes = comparable(asked, profile)
    errors: list[tuple[str, TrecevalError]] = []
    sources, saved = [], []
    for source in given:
        with _taken_down(source, optional, errors):
            saved.append(_saved_of(source))
            sources.append(source)
    known = [scored for scores in saved if scores is not None for scored in scores]
    if sources and None not in saved:
        _check_not_scored(sources, qrels, scoring)
    chosen, more = _chosen(wanted, known, profile)
    notes += more
    how = scoring if scoring.signatures is not None else replace(scoring, measures=tuple(chosen))
    repeated = _signatures(known, chosen) if known and not scoring.chosen and not force else None
    if repeated is not None:
        how = Scoring(signatures=tuple(repeated))
    evaluator = Evaluator(qrels, how, reading) if qrels is not None and None in saved else None
    # A signature names its measure in full, and the saved results as they were asked for.
    names_of = tuple(name if isinstance(name, str) else name.name for name in chosen)
    headings = {name: _heading(each) for name, each in zip(names_of, chosen, strict=True)}
    entries: list[_Entry] = []
    for source, scores in zip(sources, saved, strict=True):
        with _taken_down(source, optional, errors):
            if scores is not None:
                results = source if isinstance(source, Results) else None
                entries += [
                    _Entry(_only(scored, chosen, names_of), None, results, digest_of(source)) for scored in scores
                ]
                continue
            digest, results = digest_of(source), _results(evaluator, source, watch, look)
            entries.append(_Entry(scored_of(results, "")._replace(measures=names_of), source, results, digest))
        if after is not None:
            after()
    if len(entries) < fewest and errors:
        raise errors[0][1]
    unscored = tuple(Unscored.of(file, error) for file, error in errors)
    notes += not_scored(unscored)
    _warn_of_signs(entries)
    called = _names(entries, names, by)
    scored = [entry.scored._replace(name=name) for entry, name in zip(entries, called, strict=True)]
    notes += _about_saved(scored)
    _, sources_of, results_of, digests = zip(*entries, strict=True) if entries else ((),) * 4
    judged_by = "" if evaluator is None else digest_of(qrels)
    runs = tuple(harmonised(scored))
    return Gathered(runs, sources_of, evaluator, results_of, tuple(notes), digests, judged_by, unscored, headings)


@contextmanager
def _taken_down(source: Compares, optional: Sequence[str], errors: list[tuple[str, TrecevalError]]) -> Iterator[None]:
    """Take down the error of an optional file, instead of ending with it."""
    try:
        yield
    except TrecevalError as error:
        if not isinstance(source, str) or source not in optional:
            raise
        errors.append((source, error))


def _results(
    evaluator: Evaluator | None, run: Any, watch: Watch | None, look: Callable[[Evaluator, Run], None] | None
) -> Results:
    """Score a run; held in memory, if it is then passed to ``look``."""
    if evaluator is None:
        raise EvaluationError("scoring runs needs judgments", "Give qrels, or results instead of runs.")
    # How many lines were replaced is known only where a file is scored.
    held = look is not None and evaluator.plan.duplicates != "last"
    table = evaluator.table(run) if held else run
    results = evaluator.scored(table, watch)
    if look is not None:
        look(evaluator, table if held else evaluator.table(run))
    return results


def _warn_of_signs(entries: Sequence[_Entry]) -> None:
    """Warn about signs of mistakes in the runs that were scored."""
    for results in (entry.results for entry in entries if entry.results and entry.source is not None):
        for sign in results.signs:
            warn(f"{brief(results.run_name)}: {sign.text}", SuspectRunWarning)


def _saved_of(given: Compares) -> list[Scored] | None:
    """Return saved results; None for a run."""
    if isinstance(given, Scored):
        return [given]
    if isinstance(given, Results):
        return [scored_of(given, "")]
    if isinstance(given, (str, os.PathLike)) and is_saved(given):
        return read_saved(given)
    return None


def fit(measure: Measure) -> bool:
    """Return whether a measure is useful to compare by default: it has a value per query and is not a count."""
    return measure.family.per_query and measure.family.kind not in (TEXT, COUNT)


def comparable(measures: str | Measure | Iterable[str | Measure], profile: Profile) -> tuple[list[Measure], list[str]]:
    """Return the requested measures; of sets of measures, those that can be compared.

    Returns
    -------
    measures : list of Measure
        The measures, each once.
    notes : list of str
        Notes about measures left out of sets.

    Raises
    ------
    MeasureError
        A measure is unknown, or a named measure has no number for each query.
    """
    wanted: list[Measure] = []
    notes = []
    for asked in [measures] if isinstance(measures, str) or not isinstance(measures, Iterable) else measures:
        meant = profile.parse(asked)
        if isinstance(asked, str) and asked in NICKNAMES:
            kept = [measure for measure in meant if fit(measure)]
            if not kept:
                raise MeasureError(f"no measure of {asked} has a value per query", "Compare other measures.")
            left = ", ".join(measure.name for measure in meant if measure not in kept)
            if left:
                notes.append(f"texts, counts and averages over all queries in {asked} are not compared: {left}.")
            meant = kept
        for measure in meant:
            if measure.family.kind == TEXT or not measure.family.per_query:
                raise MeasureError(f"measure {measure.name} has no value per query", "Choose another measure.")
        wanted += [measure for measure in meant if measure not in wanted]
    return wanted, notes


def usual_measures(profile: Profile) -> list[Measure]:
    """Return the measures that are compared by default."""
    return list(filter(fit, profile.usual_measures))


def _check_not_scored(given: Sequence[Compares], qrels: AnyJudgments | None, scoring: Scoring) -> None:
    """Refuse scoring options, and judgments but the results' own, if nothing is scored: they would not be used."""
    results = [each for each in given if isinstance(each, Results)]
    if qrels is not None and len(results) == len(given):
        judgments = str(Fingerprint(load_judgments(qrels)))
        other = next((each for each in results if str(each.fingerprint) != judgments), None)
        if other is not None:
            fault = f"the results of {other.run_name} were made with other judgments than these"
            raise EvaluationError(fault, "Give the run instead of its results, or omit the judgments.")
    elif qrels is not None:
        raise EvaluationError("every file holds saved results, so judgments are not used", "Remove the judgments file.")
    if scoring.chosen:
        raise EvaluationError(
            "saved results are compared as they are, so scoring options are not used",
            "Remove these options, or score the runs again.",
        )


def _chosen(wanted: list[Measure], known: Sequence[Scored], profile: Profile) -> tuple[list[Measure | str], list[str]]:
    """Return the measures to compare: the requested ones; or the usual ones, or all, that saved results have."""
    if wanted:
        return list(wanted), []
    if not known:
        return list(usual_measures(profile)), []
    first = harmonised(known)
    common = [name for name in first[0].measures if all(name in scored.measures for scored in first)]
    meant = [(name, known_measure(*first[0].meanings[name])) for name in common]
    # By the names that the saved results have.
    measures = [name if measure is None else replace(measure, asked=name) for name, measure in meant]
    real = [each for each in measures if isinstance(each, str) or each.family.kind != COUNT]
    of_usual = parse_measures(USUAL_MEASURES)
    kept: list[Measure | str] = [each for each in real if each in of_usual] or [*real]
    if not kept:
        raise EvaluationError("the saved results have no measure in common", "Score the runs with the same measures.")
    notes = []
    if len(kept) < len(real):
        names, are = ", ".join(map(_heading, kept)), "is" if len(kept) == 1 else "are"
        notes.append(f"of {len(real)} measures that were saved, {names} {are} compared; -m chooses others.")
    return kept, notes


def _heading(chosen: Measure | str) -> str:
    return chosen if isinstance(chosen, str) else chosen.heading


def _place(scored: Scored, chosen: Measure | str) -> int | None:
    """Return where scored runs have a measure, by what their names mean, else by the name; None if they lack it."""
    known: list[object] = [known_measure(*meaning) for meaning in scored.meanings.values()]
    if chosen in known:
        return known.index(chosen)
    name = str(chosen)
    return scored.measures.index(name) if name in scored.measures else None


def _only(scored: Scored, chosen: Sequence[Measure | str], names: tuple[str, ...]) -> Scored:
    """Return scored runs with only the chosen measures, in their order and by these names."""
    places = []
    for each, wanted in zip(chosen, names, strict=True):
        place = _place(scored, each)
        if place is None:
            raise EvaluationError(
                f"the saved results lack {wanted}; they have {', '.join(scored.measures[:6])}",
                "Choose one of these, or score the run again.",
                file=scored.file,
            )
        places.append(place)
    signatures = tuple(scored.signatures[place] for place in places)
    return scored._replace(measures=names, values=scored.values[:, places], signatures=signatures)


def _signatures(known: Sequence[Scored], chosen: Sequence[Measure | str]) -> list[Signature] | None:
    """Return how saved results were computed, to score runs in the same way; None if unknown."""
    for scored in known:
        places = [_place(scored, each) for each in chosen]
        signatures = (scored.signatures[place] for place in places if place is not None)
        said = [signature for signature in signatures if signature is not None]
        if len(said) == len(chosen):
            return said
    return None


def _names(entries: Sequence[_Entry], names: Sequence[str] | None, by: str | None) -> tuple[str, ...]:
    if names is not None:
        several = isinstance(names, Iterable) and not isinstance(names, str)
        called = list(names) if several else []
        texts = {name for name in called if isinstance(name, str) and name}
        if len(called) != len(entries) or len(texts) < len(called):
            count = len(entries)
            raise EvaluationError(f"{count} runs need {count} names, each a different text", "Give each run a name.")
        return tuple(called)
    tags = [entry.scored.tag or entry.scored.name for entry in entries]
    files = [entry.scored.file for entry in entries]
    of_data = [
        not isinstance(entry.source, (str, os.PathLike)) and entry.scored.file == RUN_NAME and tag == DEFAULT_TAG
        for entry, tag in zip(entries, tags, strict=True)
    ]
    if len(entries) > 1 and all(of_data):  # dictionaries have neither
        return tuple(f"run {number}" for number in range(1, len(entries) + 1))
    return unique_names(tags, files, by, [entry.digest for entry in entries])


def _about_saved(runs: Sequence[Scored]) -> list[str]:
    notes = []
    rounded = [run for run in runs if run.digits is not None]
    if rounded:
        digits = min(run.digits for run in rounded if run.digits is not None)
        have = "has" if len(rounded) == 1 else "have"
        notes.append(f"{_some(rounded)} {have} values of {digits} decimals: p-values are computed from rounded values.")
    unknown = [run for run in runs if None in run.signatures]
    if unknown:
        notes.append(
            f"it is unknown how the values of {_some(unknown)} were computed, so whether they can be compared was not "
            "checked."
        )
    return notes


def _some(runs: Sequence[Scored]) -> str:
    return ", ".join(run.name for run in runs[:3]) + (", …" if len(runs) > 3 else "")
