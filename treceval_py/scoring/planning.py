"""Plan the scoring: which measures are computed for given judgments, with which parameters and conventions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from numbers import Integral
from types import NoneType
from typing import Any, ClassVar, NamedTuple, TypedDict, TypeVar, cast

import numpy as np

from treceval_py.data.ids import shown
from treceval_py.data.ranking import Ranking
from treceval_py.errors import EvaluationError, MeasureError, brief, warn
from treceval_py.measuring import Measure, parse_measures
from treceval_py.measuring.abstention import default_measure
from treceval_py.measuring.gains import too_high
from treceval_py.measuring.parameters import JUDGED_ONLY, MOST_MAX_REL, PARAMETERS
from treceval_py.scoring.conventions import Conventions
from treceval_py.scoring.profiles import DEFAULT_PROFILE, PROFILES, Profile, profile_of
from treceval_py.scoring.signatures import Fingerprint, Signature, concise, ranked_apart, read_signatures
from treceval_py.threads import MOST_THREADS

Function = TypeVar("Function", bound=Callable[..., Any])


class Task(NamedTuple):
    """One measure to compute.

    Attributes
    ----------
    asked : Measure
        The measure as requested.
    resolved : Measure
        The measure with all its parameters.
    conventions : Conventions
        How rankings are ordered and values averaged.
    profile : str
        The profile under which it was requested.
    """

    asked: Measure
    resolved: Measure
    conventions: Conventions
    profile: str = ""

    @property
    def ranking(self) -> Ranking:
        """How documents are ranked for this measure."""
        needed = {("ties", "average"), ("steps", "together")} & set(self.resolved.parameters)
        needs = self.resolved.family.needs
        ranking = self.conventions.ranking(tied=bool(needed) or needs == "tied")
        return ranking._replace(**{needs: True}) if needs else ranking  # type: ignore[arg-type]


class Plan:
    """The measures to compute; not to be changed.

    Attributes
    ----------
    tasks : tuple of Task, length M
        The measures.
    profile : str
        The profile's name.
    duplicates : {"refuse", "last"}
        How to treat a document that occurs twice in a query of a file.
    rankings : dict of Ranking to list of int
        The numbers of the tasks that share each ranking.
    """

    __slots__ = ("duplicates", "profile", "rankings", "tasks")

    def __init__(self, tasks: tuple[Task, ...], profile: str = "", duplicates: str = "refuse") -> None:
        self.tasks = tasks
        self.profile = profile
        self.duplicates = duplicates
        self.rankings: dict[Ranking, list[int]] = {}
        for number, task in enumerate(tasks):
            self.rankings.setdefault(task.ranking, []).append(number)


NOTHING = Plan(())
"""Computes nothing: for a run that is opened for other computations."""


@dataclass(frozen=True, repr=False)
class Scoring:
    """How runs are scored: everything, besides the judgments and the run, that affects a value.

    None means not set: the profile or the scoring function then decides.

    Attributes
    ----------
    measures : name, Measure, sequence of them, or None
        Measures to compute; by default the profile's.
    profile : str, Profile or None
        The ranking and averaging conventions, and the meaning of measure names. Default: trec_eval 10.0's.
    level : int or None
        Lowest relevant judgment, 0 or higher, for measures that don't set their own. Default: the profile's.
    complete : bool or None
        Count every judged query, treating those the run lacks as empty rankings, even if the profile leaves them out.
    depth : int or None
        Score only this many documents of each query. Default: the profile's depth, usually all.
    judged_only : bool
        Remove unjudged documents from the ranking first.
    collection_size : int or None
        Documents in the collection, for ``utility``. Default: 0.
    signatures : str, Signature, sequence of them, or None
        Score exactly as these signatures describe; replaces all of the above.
    named : tuple of Measure
        What `checked` found: the measures, also those of signatures.
    duplicates : {"", "refuse", "last"}
        How it treats a document that occurs twice in a query of a file; empty before `checked`.

    Examples
    --------
    >>> import treceval_py as te
    >>> scoring = te.Scoring(["RR"], judged_only=True)
    >>> te.evaluate({"1": {"a": 1}}, {"1": {"b": 2.0, "a": 1.0}}, scoring=scoring).mean["RR"]
    1.0
    """

    measures: str | Measure | Iterable[str | Measure] | None = None
    profile: str | Profile | None = None
    level: int | None = None
    complete: bool | None = None
    depth: int | None = None
    judged_only: bool = False
    collection_size: int | None = None
    signatures: str | Signature | Iterable[str | Signature] | None = None
    named: ClassVar[tuple[Measure, ...]] = ()
    duplicates: ClassVar[str] = ""

    def __post_init__(self) -> None:
        # An iterator can be read only once: a second reader would find no measures.
        for name in ("measures", "signatures"):
            if hasattr(value := getattr(self, name), "__next__"):
                object.__setattr__(self, name, tuple(value))

    def __repr__(self) -> str:
        chosen = {each.name: getattr(self, each.name) for each in fields(self)}
        shown = [f"{k}={brief(repr(v))}" for k, v in chosen.items() if v is not None and v is not False]
        return f"Scoring({', '.join(shown)})"

    @property
    def chosen(self) -> bool:
        """Whether any option besides the measures is set."""
        values = [getattr(self, option.name) for option in fields(self)[1:]]
        return any(value is not None and value is not False for value in values)

    def beside(self, whole: Scoring | None) -> Scoring:
        """Return these options, or `whole` if that is given instead.

        Raises
        ------
        MeasureError
            Both are given.
        """
        if whole is None:
            return self
        if not isinstance(whole, Scoring):
            raise MeasureError(f"scoring must be a te.Scoring, not {shown(whole)}", "Use te.Scoring(['map']).")
        if self.chosen or self.measures is not None:
            raise MeasureError(
                "scoring= already has every scoring option", "Remove the other options, or put them into scoring."
            )
        return whole

    def checked(self, arrange: Callable[[list[Measure]], Iterable[Measure]] = tuple) -> Scoring:
        """Look up the names: the profile becomes a Profile, and the measures or signatures tuples of their types.

        `arrange` puts the measures into another order.

        Raises
        ------
        MeasureError
            A name is unknown, a value is out of range, or signatures are combined with other options.
        """
        wrong = [
            f"{name} must be {wanted}, not {shown(value)}"
            for name, (kinds, wanted) in _KINDS.items()
            if (value := getattr(self, name)) is not None
            and (not isinstance(value, kinds) or (kinds is Integral and value is bool(value)))
        ]
        if not wrong and self.depth is not None and self.depth < 0:
            wrong = [f"depth must be 0 or more, not {self.depth}"]
        if wrong:
            raise MeasureError(wrong[0])
        profile = PROFILES[DEFAULT_PROFILE] if self.profile is None else profile_of(self.profile)
        if self.signatures is not None:
            signatures = tuple(read_signatures(self.signatures))
            if self.measures is not None or replace(self, signatures=None).chosen:
                raise MeasureError(
                    "a signature already fixes every scoring option", "Remove the measures and other options."
                )
            last = {signature.conventions.duplicates for signature in signatures} == {"last"}
            named, duplicates = tuple([signature.measure for signature in signatures]), "last" if last else "refuse"
            checked = replace(self, profile=profile, signatures=signatures)
        else:
            duplicates = profile.conventions.duplicates
            if self.measures is None:
                chosen = profile.default_measures
            else:
                chosen = parse_measures(self.measures, leaves_out=profile.leaves_out, names_here=profile.names)
            named = tuple(arrange(chosen))
            for measure in named:
                if measure.note:
                    warn(measure.note)
            numbers = {
                name: PARAMETERS[name].check(int(value), name)
                for name, value in (("level", self.level), ("collection_size", self.collection_size))
                if value is not None
            }
            checked = replace(self, measures=named, profile=profile.complete if self.complete else profile, **numbers)
        object.__setattr__(checked, "named", named)
        object.__setattr__(checked, "duplicates", duplicates)
        return checked

    def plan(self, max_rel: int, fingerprint: Fingerprint | None) -> Plan:
        """Plan the measures of a checked scoring for judgments with highest label `max_rel`.

        Only signatures need the `fingerprint` of the judgments.

        Raises
        ------
        MeasureError
            A parameter is out of range, or two signatures have the same measure.
        EvaluationError
            A signature was made with other judgments.
        """
        if self.signatures is None:
            tasks = tuple([self.task(measure, max_rel) for measure in self.named])
            return Plan(tasks, cast("Profile", self.profile).name, self.duplicates)
        signatures = cast("tuple[Signature, ...]", self.signatures)
        tasks = tuple([_repeated(signature, max_rel, fingerprint) for signature in signatures])
        if not tasks:
            raise MeasureError("signatures must not be empty", "Give at least one.")
        if len({task.asked.name for task in tasks}) < len(tasks):
            tasks = tuple([_said_to_be_judged_only(task) for task in tasks])
        if len({task.asked.name for task in tasks}) < len(tasks):
            raise MeasureError("two signatures describe the same measure", "Repeat them in separate calls or commands.")
        profiles = dict.fromkeys(signature.profile for signature in signatures)
        return Plan(tasks, ", ".join(profiles), self.duplicates)

    def task(self, measure: Measure, max_rel: int, *, judged_only: bool | None = None) -> Task:
        """Return how a checked scoring computes `measure`; one derived from another takes that one's conventions.

        `max_rel` is the highest label of the judgments. With `judged_only`, unjudged documents are removed or kept
        whatever the scoring and its profile say.
        """
        profile, plain = cast("Profile", self.profile), measure
        if any(name == JUDGED_ONLY.name for name, _ in measure.parameters):
            # A parameter that affects the ranking is a convention, wherever it was given.
            plain, judged_only = ranked_apart(measure)
        if measure.family.average.over is not None:
            given = dict(plain.parameters)
            inner = self.task(given.get("of") or default_measure(), max_rel, judged_only=judged_only)
            resolved = replace(measure, parameters=tuple({**given, "of": inner.resolved}.items()), asked=measure.name)
            return Task(measure, resolved, inner.conventions, profile.name)
        defaults = {
            "max_rel": max_rel,
            "level": profile.level if self.level is None else self.level,
            "collection_size": self.collection_size or 0,
            **profile.defaults,
        }
        meant = profile.meaning_of(plain) if profile.meanings else plain
        resolved = meant.with_defaults(defaults)
        if "max_rel" in dict(resolved.parameters):
            top = dict(resolved.parameters)["max_rel"]
            if top == max_rel > MOST_MAX_REL:  # by default, the highest judgment
                raise too_high(max_rel, measure.name)
            PARAMETERS["max_rel"].check(top)
        conventions = profile.conventions_of(resolved) if profile.exceptions else profile.conventions
        if self.depth is not None:
            conventions = conventions._replace(depth=int(self.depth))
        if judged_only is not None or self.judged_only:
            conventions = conventions._replace(judged_only=judged_only is not False)
        return Task(measure, resolved, conventions, profile.name)


_WHOLE, _YES_OR_NO = (Integral, "a whole number"), ((bool, np.bool_), "True or False")
_KINDS: dict[str, tuple[Any, str]] = {
    "level": _WHOLE,
    "complete": _YES_OR_NO,
    "depth": _WHOLE,
    "judged_only": _YES_OR_NO,
    "collection_size": _WHOLE,
}
"""The type of each option, and its name in messages."""

AS_USUAL = Scoring()
"""Scores as trec_eval 10.0 computes them by default."""


class Reading(NamedTuple):
    """How files are read; part of no signature.

    Attributes
    ----------
    run_format : str or None
        Format of a run file, as for `read_run`. Default: detected.
    judgment_format : str or None
        Format of the judgments, as for `evaluate`. Default: detected.
    max_passage : str or None
        What separates the id of a document from the rest of a segment's id, to rank documents by their best segment
        (MaxP) whatever form the run has. Default: documents are ranked as they are.
    threads : int or None
        Threads for reading a run file, 1 to 256. Default: one per available core.
    """

    run_format: str | None = None
    judgment_format: str | None = None
    max_passage: str | None = None
    threads: int | None = None

    def __repr__(self) -> str:
        return f"Reading({', '.join(f'{name}={brief(repr(value))}' for name, value in self._asdict().items())})"

    def checked(self) -> Reading:
        """Return this, after checking that the number of threads is valid and the others are text.

        Raises
        ------
        MeasureError
            They are not valid.
        """
        if not isinstance(self, Reading):
            raise MeasureError(
                f"reading must be a te.scoring.Reading, not {shown(self)}", "Use te.scoring.Reading(run_format='json')."
            )
        for name in ("run_format", "judgment_format"):
            if not isinstance(getattr(self, name), (str, NoneType)):
                raise MeasureError(f"{name} must be the name of a format, not {shown(getattr(self, name))}")
        if not isinstance(self.max_passage, (str, NoneType)) or self.max_passage == "":
            fault = f"max_passage must be text between document and segment, not {shown(self.max_passage)}"
            raise MeasureError(fault, "Give '#' for ids such as d1#3.")
        if not isinstance(self.threads, (Integral, NoneType)) or self.threads is True:
            raise MeasureError(f"threads must be a whole number, not {shown(self.threads)}")
        if self.threads is not None and not 1 <= self.threads <= MOST_THREADS:
            raise MeasureError(f"threads must be 1 to {MOST_THREADS}, not {self.threads}")
        return self


AS_IT_IS = Reading()
"""Detects formats and reads with every core."""


class Options(TypedDict, total=False):
    """How a function that scores runs does so, by the names of its arguments: see `Scoring` and `Reading`."""

    level: int | None
    complete: bool | None
    depth: int | None
    judged_only: bool
    collection_size: int | None
    profile: str | Profile | None
    signature: str | Signature | Iterable[str | Signature] | None
    scoring: Scoring | None
    run_format: str | None
    judgment_format: str | None
    max_passage: str | None
    threads: int | None


def takes_options(function: Function) -> Function:
    """Show `Options` among the arguments of a function that takes them as ``**options``."""
    signature = inspect.signature(function)
    own = [parameter for name, parameter in signature.parameters.items() if name != "options"]
    options = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=False if name == "judged_only" else None,
            annotation=getattr(kind, "__forward_arg__", kind),
        )
        for name, kind in Options.__annotations__.items()
    ]
    function.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]
    return function


def settled(measures: str | Measure | Iterable[str | Measure] | None, options: Options) -> tuple[Scoring, Reading]:
    """Return how measures are scored and files read by the options of a function.

    Raises
    ------
    MeasureError
        There is a whole scoring and another option, or measures, beside it.
    TypeError
        The function has no such argument.
    """
    if unknown := options.keys() - Options.__annotations__.keys():
        raise TypeError(_no_argument(unknown, measures, options))
    if isinstance(measures, Mapping):
        todo = "Give judgments, then the run, then measures."
        if measures and all(isinstance(cutoffs, list) for cutoffs in measures.values()):
            names = [f"{str(name).partition('@')[0]}@{at}" for name, cutoffs in measures.items() for at in cutoffs]
            todo = f"Write {names}."
        raise MeasureError("measures are names, not a dictionary", todo)
    if isinstance(measures, Scoring):
        raise MeasureError("a Scoring is not the name of a measure", "Give it as scoring=….")
    if isinstance(measures, (str, list, tuple, set, frozenset)) and not measures:
        raise MeasureError("there are no measures", "Name some, such as ['nDCG@10'], or omit the argument.")
    given: dict[str, Any] = dict(options)
    reading = Reading(*[given.pop(name, None) for name in Reading._fields])
    whole, signatures = given.pop("scoring", None), given.pop("signature", None)
    scoring = Scoring(measures, signatures=signatures, **given)
    return scoring if whole is None else scoring.beside(whole), reading


_MEANT = {
    "measures": "metrics metric measure",
    "level": "relevance_level relevance_threshold rel min_rel threshold",
    "complete": "make_comparable",
    "threads": "n_jobs num_threads workers",
}
"""Names that other programs give to arguments, by ours."""


def _no_argument(names: Collection[str], measures: object, options: Mapping[str, object]) -> str:
    """Return the message about arguments that a function does not have: about one that is understood, if any is."""
    from difflib import get_close_matches

    from treceval_py.measuring.notation import with_cutoff

    for name in sorted(names):
        said = f"unexpected keyword argument {name!r}"
        if name in ("k", "cutoff", "cutoffs", "at", "top_k", "topk"):
            asked, value = measures if isinstance(measures, str) else "nDCG", options[name]
            cutoff = value if isinstance(value, int) else 10
            return f"{said}. The cutoff belongs to the measure: '{with_cutoff(asked, cutoff)}'."
        meant = [ours for ours, others in _MEANT.items() if name in others.split()]
        if near := meant or get_close_matches(name, ["measures", *Options.__annotations__], 1, 0.75):
            return f"{said}. Did you mean {near[0]}=…?"
    return f"unexpected keyword argument {min(names)!r}"


def _said_to_be_judged_only(task: Task) -> Task:
    """Return a task whose measure's name shows whether unjudged documents are removed."""
    if not task.conventions.judged_only:
        return task
    measure = Measure(task.asked.family, (*task.asked.parameters, (JUDGED_ONLY.name, True)))
    return task._replace(asked=replace(measure, asked=measure.notation))


def _repeated(signature: Signature, max_rel: int, fingerprint: Fingerprint | None) -> Task:
    """Return the task that a signature describes; `max_rel` fills in for a hand-written signature that lacks it."""
    if signature.judgments != str(fingerprint):
        raise EvaluationError(
            f"signature '{signature.short}' was made with judgments {signature.judgments}, but these are {fingerprint}",
            "Use the judgments that it was made with.",
        )
    resolved = signature.measure.with_defaults({"max_rel": max_rel})
    measure = concise(signature.measure)
    asked = Measure(measure.family, measure.parameters, asked=measure.notation)
    return Task(asked, resolved, signature.conventions, signature.profile)
