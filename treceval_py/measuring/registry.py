"""Measures and their families: each is declared once, and from that parsed, computed, averaged, printed and explained.

A *family* is a function with its declaration: ``P``, ``ndcg_cut``, ``rbp``. A *measure* is a family with values for
some of its parameters: ``P_5``, ``nDCG@10``, ``AP(rel=2)``. Two measures with the same family and the same values are
equal, whichever notation they were written in.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import operator
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from treceval_py._types import FloatArray, IntArray
from treceval_py.data.ids import shown
from treceval_py.errors import MeasureError, brief
from treceval_py.judging.judged import JudgedGroups, JudgedRun
from treceval_py.judging.preferences import JudgedPreferences
from treceval_py.judging.sampled import JudgedSample
from treceval_py.measuring.facts import Labels, Promotes, Sums, checked
from treceval_py.measuring.parameters import JUDGED_ONLY, PARAMETERS, Parameter, Tail

Function = Callable[..., "FloatArray | IntArray | list[str]"]

REAL, COUNT, TEXT = "real", "count", "text"
"""How a value is printed: with decimals, as a whole number, or as text."""


class Average(NamedTuple):
    """How the values of queries are averaged.

    Attributes
    ----------
    name : str
        The name of this average.
    store : callable
        Maps the values (Q,) to the values (Q,) that are added up.
    finish : callable
        Maps the sum and the number of queries to the average.
    over : callable or None
        Maps values (Q,), the judged run and the measure's parameters to the average, if values alone do not determine
        it.
    """

    name: str
    store: Callable[[FloatArray], FloatArray]
    finish: Callable[[float, int], float]
    over: Callable[[FloatArray, Any, Mapping[str, Any]], float] | None = None

    def __call__(self, values: FloatArray, num_queries: int) -> float:
        """Average values (Q,) over ``num_queries`` queries, adding them sequentially."""
        if not num_queries:
            return 0.0
        stored = self.store(values)
        # Not np.sum, which adds pairwise: the order of a C loop decides the last bits, and sometimes a printed digit.
        total = float(np.add.accumulate(stored)[-1]) if len(stored) else 0.0
        return self.finish(total, num_queries)

    def __reduce__(self) -> tuple[object, ...]:
        return (_average_named, (self.name,))


def _average_named(name: str) -> Average:
    return next(family.average for family in FAMILIES.values() if family.average.name == name)


LEAST_GEOMETRIC = 0.00001
"""The smallest value in a geometric mean; smaller values count as this. trec_eval's MIN_GEO_MEAN."""


def _logarithms(values: FloatArray) -> FloatArray:
    return np.array([math.log(max(value, LEAST_GEOMETRIC)) for value in values.tolist()], dtype=np.float64)


MEAN = Average("mean", np.asarray, operator.truediv)
SUM = Average("sum", lambda values: values, lambda total, _: total)
VARIANCE = Average("variance of the mean", np.asarray, lambda total, count: total / count**2)
GEOMETRIC = Average("geometric mean", _logarithms, lambda total, count: math.exp(total / count))
NO_AVERAGE = Average("none", lambda values: values, lambda _, __: 0.0)


class Family:
    """A measure as declared, before its parameters have values.

    Attributes
    ----------
    name : str
        trec_eval's name, or one in its style.
    function : callable
        Maps a judged run and keyword parameters to one value per query.
    notation : tuple of str
        Its names in the notation of ir_measures; the first one is printed.
    at : Parameter or None
        The parameter given after ``@``, and by each item of trec_eval's comma list after the dot.
    cutoffs : tuple
        The values of ``at`` when the family is named alone.
    tail : callable or None
        Parses trec_eval's text after the dot, if that is not a list of cutoffs.
    average : Average
        How queries are averaged.
    kind : {"real", "count", "text"}
        How values are printed.
    per_query, summary : bool
        Whether there is a line for each query, and a line for all.
    promotes : Promotes
        The property by which better documents, ranked higher, never lower (or never raise) the value.
    sums : Sums
        How the value is a sum over documents.
    labels : Labels
        Which labels of unjudged documents give the extremes.
    written : tuple of (spelling, parameters)
        How other programs write it, with the parameters that the spelling implies, in notation.
    elsewhere : tuple of (spelling, words)
        Spellings that mean this measure here and another in other programs, each with a description of both.
    kin : tuple of (name, words)
        Other families with the same name, and how they differ.
    of_judgments : bool
        Whether a query that the run lacks keeps its value, even where other measures count 0 for it.
    needs : str
        The attribute of ``Ranking`` that a run must be judged with; empty if the ranks of judged documents are enough.
    undefined_without : {"relevant", "found", "nonrelevant", "drawn"}
        The documents without which there is no value: relevant ones, relevant ones retrieved (within the cutoff),
        retrieved ones that are not relevant, or relevant ones of queries with documents drawn at random. Conventions
        decide how such a query counts.
    mean : str
        The name of its mean, without a cutoff, if that has its own: ``MAP`` of ``AP``.
    estimates : str
        What it estimates from judgments of a sample: the name of a family, and ``of strata`` or ``of probabilities`` if
        it needs these. Empty if nothing.
    later : tuple of str
        Parameters that long signatures leave out unless they differ from the default, as signatures from before there
        were these parameters have none.
    """

    name: str
    function: Function
    notation: tuple[str, ...]
    at: Parameter | None
    cutoffs: tuple[float, ...]
    tail: Tail | None
    average: Average
    kind: str
    per_query: bool
    summary: bool
    promotes: Promotes
    sums: Sums
    labels: Labels
    written: tuple[tuple[str, str], ...]
    elsewhere: tuple[tuple[str, str], ...]
    kin: tuple[tuple[str, str], ...]
    of_judgments: bool
    needs: str
    undefined_without: str
    mean: str
    estimates: str
    later: tuple[str, ...]

    def __init__(self, **declared: Any) -> None:
        self.__dict__.update(declared)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"the measure '{self.name}' is declared once; declare it again to change it")

    @functools.cached_property
    def judged(self) -> Any:
        """The kind of judged run that it requires, from the function's signature."""
        run, *_ = inspect.signature(self.function).parameters.values()
        annotation = run.annotation
        if not isinstance(annotation, str):
            return JudgedRun if annotation is inspect.Parameter.empty else annotation
        if annotation in KINDS:
            return KINDS[annotation]
        source = inspect.unwrap(self.function)
        with contextlib.suppress(Exception):  # names may be imported for the type checker alone
            return eval(annotation, getattr(source, "__globals__", {}))  # noqa: S307 - the source of the function itself
        kinds = [KINDS[name] for name in re.findall(r"\w+", annotation) if name in KINDS]
        if not kinds:
            taken = f"measure '{self.name}', defined by {definition_of(self.function)}, takes {brief(annotation)!r}"
            todo = "Annotate its first parameter with JudgedRun, JudgedGroups or JudgedPreferences."
            raise MeasureError(f"{taken}, which is not known", todo)
        return functools.reduce(operator.or_, kinds)

    @functools.cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """All its parameters, from the function's signature; a cutoff that is optional belongs to `at` alone."""
        _, *others = inspect.signature(self.function).parameters.values()
        if unknown := [each.name for each in others if each.name not in PARAMETERS]:
            wrong = f"measure '{self.name}' has the unknown parameter '{unknown[0]}'"
            raise MeasureError(wrong, f"Use one of {', '.join(PARAMETERS)}.")
        taken = ((PARAMETERS[each.name], each.default) for each in others)
        return tuple(each for each, default in taken if each.key != "@" or default is not None or each == self.at)

    @functools.cached_property
    def defaults(self) -> dict[str, Any]:
        """The values of parameters that are not given, by name in Python; those without a default are missing."""
        arguments = inspect.signature(self.function).parameters
        usual = {parameter.name: arguments[parameter.name].default for parameter in self.parameters}
        return {name: default for name, default in usual.items() if default is not inspect.Parameter.empty}

    @functools.cached_property
    def bounds(self) -> tuple[float, float]:
        """The lowest and highest value of a query, whatever the parameters; infinite if unknown."""
        stated = r"^Returns\n-+\n.*\n +(?:(In \[0, 1\]|0 or 1)|In \[0,|From [01]\b)"
        values = re.search(stated, inspect.getdoc(self.function) or "", re.MULTILINE)
        return (-math.inf, math.inf) if values is None else (0.0, 1.0 if values[1] else math.inf)

    @functools.cached_property
    def title(self) -> str:
        """What it is, in one line: as declared, else the first line of its docstring."""
        return (inspect.getdoc(self.function) or self.name).split("\n")[0]

    @functools.cached_property
    def from_outside(self) -> bool:
        """Whether a user's code declared it."""
        return not str(self.function.__module__).startswith("treceval_py.")

    @property
    def uncut(self) -> Family | None:
        """The family with the same notation without a cutoff, such as nDCG for nDCG@k."""
        if self.at is None or not self.notation:
            return None
        alike = (each for each in FAMILIES.values() if each.at is None and each.notation[:1] == self.notation[:1])
        return next(alike, None)

    @property
    def from_relevance(self) -> bool:
        """Whether it is a number computed from relevance judgments; other families need no facts."""
        return self.kind != TEXT and self.judged is JudgedRun

    @property
    def ranks_judged(self) -> bool:
        """Whether unjudged documents can be removed from the rankings it is computed from."""
        return self.judged in (JudgedRun, JudgedGroups)

    def or_declare(self, todo: str) -> str:
        """Return `todo`, what to do if a fact is unknown, which the author of a user's measure can declare."""
        if not self.from_outside or not self.from_relevance or self.needs == "documents":
            return todo
        return f"Declare it (see treceval_py.measuring.declare), or {todo[0].lower()}{todo[1:]}"

    @property
    def keys(self) -> dict[str, Parameter]:
        """The parameters by their names in notation; what follows the @ has none."""
        taken = (*self.parameters, JUDGED_ONLY) if self.ranks_judged else self.parameters
        return {parameter.key: parameter for parameter in taken if parameter.key != "@"}

    def parameter(self, key: str) -> Parameter:
        """Return the parameter with the name `key` in notation.

        Raises
        ------
        MeasureError
            There is no such parameter.
        """
        if key not in self.keys:
            raise MeasureError(f"{self.name} has no parameter '{key}'", f"It has {', '.join(self.keys) or 'none'}.")
        return self.keys[key]

    def takes(self, name: str) -> bool:
        """Return whether the function has a parameter `name`."""
        return any(parameter.name == name for parameter in self.parameters)

    def measures(self) -> tuple[Measure, ...]:
        """Return the measures that the family's name alone stands for."""
        if self.at is None:
            return (Measure(self),)
        return tuple(Measure(self, ((self.at.name, value),)) for value in self.cutoffs)

    def __repr__(self) -> str:
        return f"<Family {brief(self.name)}>"

    def __reduce__(self) -> tuple[object, ...]:
        return (_family_named, (self.name,))


def _family_named(name: str) -> Family:
    return FAMILIES[name]


@dataclass(frozen=True, repr=False)
class Measure:
    """A family with values for its parameters.

    Attributes
    ----------
    family : Family
        The family to compute.
    parameters : tuple of (name, value)
        The given parameters, sorted by name. The evaluation (for the level) or the profile sets the others, or they
        have the function's default.
    asked : str
        The name that was typed for this measure alone; empty for one of several, as of a nickname, and for a default.
        Ignored in comparisons.
    note : str
        The other meaning of an ambiguous name in other programs; ignored in comparisons.

    Examples
    --------
    >>> from treceval_py.measuring import parse_measures
    >>> parse_measures("ndcg_cut.10") == parse_measures("nDCG@10") == parse_measures("ndcg_cut_10")
    True
    """

    family: Family
    parameters: tuple[tuple[str, Any], ...] = ()
    asked: str = field(default="", compare=False)
    note: str = field(default="", compare=False)
    _name: str = field(default="", compare=False, repr=False, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", tuple(sorted(self.parameters)))

    @property
    def name(self) -> str:
        """The name wherever its values are shown: as typed, else the notation."""
        if not self._name:  # computed once: results are read by name
            object.__setattr__(self, "_name", self.asked or self.notation)
        return self._name

    @property
    def heading(self) -> str:
        """The name of its mean, for people: as typed, but such as ``MAP`` or ``MRR@10`` for the notation."""
        plain = self.asked in ("", self.notation)
        return self._written(self.family.mean or self._head) if plain else self.asked

    @property
    def line_name(self) -> str:
        """The name in trec_eval's format: as typed, else as trec_eval prints it, else the notation."""
        return self.asked or self.trec_name or self.notation

    @property
    def untyped(self) -> Measure:
        """The measure as a default, which is shown in notation."""
        return replace(self, asked="")

    @property
    def trec_name(self) -> str:
        """The name that trec_eval prints, such as ``ndcg_cut_10``; empty if it has none."""
        values = dict(self.parameters)
        parts = [self.family.name]
        if self.family.at is not None:
            if self.family.at.name not in values:
                return ""
            cutoff = values.pop(self.family.at.name)
            # trec_eval writes recall levels with '%3.2f' and keeps eight characters.
            parts.append(str(cutoff) if isinstance(cutoff, int) else f"{cutoff:3.2f}"[:8])
        return "" if values else "_".join(parts)

    @property
    def notation(self) -> str:
        """The name in the notation of ir_measures, such as ``nDCG@10`` or ``AP(rel=2)@100``."""
        return self._written(self._head)

    @property
    def _head(self) -> str:
        return self.family.notation[0] if self.family.notation else self.family.name

    def _written(self, head: str) -> str:
        """Return a name followed by the parameters and the cutoff."""
        values = dict(self.parameters)
        at = self.family.at
        tail = "@" + at.show(values.pop(at.name)) if at is not None and at.name in values else ""
        written = [f"{PARAMETERS[name].key}={PARAMETERS[name].show(value)}" for name, value in values.items()]
        return head + (f"({','.join(written)})" if written else "") + tail

    def with_defaults(self, defaults: Mapping[str, Any]) -> Measure:
        """Return the measure with `defaults` for parameters that were not given."""
        given, taken = dict(self.parameters), {parameter.name for parameter in self.family.parameters}
        more = {name: value for name, value in defaults.items() if name in taken and name not in given}
        return replace(self, parameters=tuple({**given, **more}.items()), asked=self.name)

    def __call__(self, judged: Any) -> FloatArray | IntArray | list[str]:
        """Compute the value for each query of a judged run. Returns (Q,)."""
        given = dict(self.parameters)
        if JUDGED_ONLY.name in given:
            raise MeasureError(f"{self.name} also decides how documents are ranked", "Use evaluate.")
        return self.family.function(judged, **given)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<Measure {brief(self.name)}>"


KINDS: Mapping[str, Any] = {
    **{each.__name__: each for each in (JudgedRun, JudgedGroups, JudgedPreferences, JudgedSample)},
    "Run": JudgedRun,
    "Any": Any,
}
"""What a measure is computed from, by its name in annotations."""


FAMILIES: dict[str, Family] = {}
"""All families by name, in output order."""

PARSED: dict[object, Any] = {}
"""Names that were parsed, with their measures; forgotten when one is declared."""

NICKNAMES: dict[str, tuple[str, ...]] = {}
"""Names of sets of families."""

NOT_COMPUTED: dict[str, str] = {}
"""Measures of other programs that cannot be computed here, as spelled there, with the reason."""


def folded(name: str) -> str:
    """Return a name in lower case, without word separators."""
    return re.sub(r"[_-](?=\w)", "", name.lower())


def declare(
    function: Function,
    name: str,
    *,
    notation: Iterable[str] = (),
    at: str | None = None,
    cutoffs: Iterable[float] = (),
    tail: Tail | None = None,
    average: Average = MEAN,
    kind: str = REAL,
    per_query: bool = True,
    summary: bool = True,
    bounds: tuple[float, float] | None = None,
    promotes: Promotes | str | None = None,
    sums: Sums | str | None = None,
    labels: Labels | str | None = None,
    written: Iterable[str] | Mapping[str, str] = (),
    elsewhere: Mapping[str, str] | None = None,
    kin: Mapping[str, str] | None = None,
    of_judgments: bool = False,
    needs: str = "",
    undefined_without: str = "relevant",
    mean: str = "",
    estimates: str = "",
    later: Iterable[str] = (),
    replace: bool = False,
) -> Family:
    """Declare a measure, so that it can be named, parsed, computed, listed and explained.

    Parameters
    ----------
    function : callable
        Takes a judged run, whose annotation gives its kind (default: `JudgedRun`), and keyword-only parameters named as
        in the table of parameters of ``docs/measures.md``; returns one value per query, (Q,). Its docstring is shown by
        ``treceval measures NAME``.
    name : str
        Its name in trec_eval's style.
    notation : iterable of str
        Its names in ir_measures' style; the first one is printed.
    at : str, optional
        The parameter given after ``@``.
    cutoffs : iterable
        The values of ``at`` when the name is used alone.
    tail : callable, optional
        Parses trec_eval's ``NAME.text`` if that is not a list of cutoffs.
    average : Average
        How queries are averaged.
    kind : {"real", "count", "text"}
        How values are printed.
    per_query, summary : bool
        Whether there is a line for each query, and a line for all.
    bounds : (float, float), optional
        The lowest and highest value of a query, whatever the parameters. Default: as the docstring says below the type
        of what the function returns, by ``In [0, 1]``, ``0 or 1``, ``In [0, k]`` or ``From 0``, else infinite.
    promotes : Promotes or str, optional
        The property by which better documents, ranked higher, never lower (or never raise) the value; a member of
        ``Promotes`` or its value, such as ``"relevance"``. Without it ``--ties`` refuses the measure.
    sums : Sums or str, optional
        How the value is a sum over documents, such as ``"each"``. Without it ``explain --query`` shows no terms, and
        averages over orders of ties are available only if there are few orders.
    labels : Labels or str, optional
        Which labels of unjudged documents give the extremes, such as ``"alike"``. Without it ``--unjudged`` refuses the
        measure.
    written : iterable of str, or mapping of str to str
        How other programs write it, in lower case. ``hit_rate`` also covers ``HitRate@10`` and ``hit_rate_at_10``: the
        cutoff, in any form, belongs to the notation. In a mapping, values are the parameters that a spelling implies:
        ``{"ndcg_burges": "gain=exp"}``, with ``@=32`` for its default cutoff. A spelling also applies to the family of
        the same notation with, or without, a cutoff.
    elsewhere : mapping of str to str, optional
        Spellings that mean something else in other programs, each with a description of both meanings: ``{"accuracy":
        "the share of pairs in the right order; in BEIR it is Success@k"}``. A note shows it unless the profile decides.
    kin : mapping of str to str, optional
        Other families with the same name, and how they differ, for ``explain``.
    of_judgments : bool
        Whether a query that the run lacks keeps its value, even where other measures count 0 for it.
    needs : {"", "tied", "pooled", "confidence", "documents", "sample"}
        What the run must be judged with, as in `judge`: the possible ranks of tied documents, documents judged for
        other queries, the confidence that scores express, or all documents with ids and scores; or how documents were
        drawn, for a function of a ``JudgedSample``.
    undefined_without : {"relevant", "found", "nonrelevant", "drawn"}
        The documents without which there is no value: relevant ones, relevant ones retrieved (within the cutoff),
        retrieved ones that are not relevant, or relevant ones of queries with documents drawn at random. The profile
        decides how such a query counts.
    mean : str, optional
        The name of its mean, without a cutoff, if that has its own: ``"MAP"`` of ``AP``.
    estimates : str, optional
        What it estimates from judgments of a sample, such as ``"map of strata"``; notes about biased values name it.
    later : iterable of str
        Parameters that the function has got since values were signed: long signatures leave them out unless they differ
        from the default.
    replace : bool
        Replace your own measure of this name. Not needed to run a cell or file again: the same function at the same
        place replaces its measure anyway. Existing results keep the values of the earlier measure.

    Returns
    -------
    Family
        The declared measure.

    Raises
    ------
    MeasureError
        A name belongs to another function or measure, the function has a parameter that is not declared, or a fact is
        unknown or needs a parameter that the function lacks.
    """
    if not callable(function):
        raise MeasureError(f"{shown(function)} is not a function", "Give one that takes a JudgedRun.")
    _check_free(name, function, replace=replace)
    PARSED.clear()
    for each in (name, *notation):
        if not re.fullmatch(r"[^\s()@.,:|=#]+", each):
            raise MeasureError(f"'{each}' cannot be the name of a measure", "Use letters, digits and underscores.")
    family = Family(
        name=name,
        function=function,
        notation=tuple(notation),
        at=PARAMETERS[at] if at is not None else None,
        cutoffs=tuple(cutoffs),
        tail=tail,
        average=average,
        kind=kind,
        per_query=per_query,
        summary=summary,
        written=tuple(written.items() if isinstance(written, Mapping) else ((each, "") for each in written)),
        elsewhere=tuple((elsewhere or {}).items()),
        kin=tuple((kin or {}).items()),
        of_judgments=of_judgments,
        needs=needs,
        undefined_without=undefined_without,
        mean=mean,
        estimates=estimates,
        later=tuple(later),
    )
    if family.from_outside:  # tests read the signatures of our own, so that a start need not
        _ = family.parameters, family.judged
        _check_names(family)
    vars(family).update(
        promotes=checked(Promotes, promotes, name, family.takes),
        sums=checked(Sums, sums, name, family.takes),
        labels=checked(Labels, labels, name, family.takes),
        **({} if bounds is None else {"bounds": bounds}),
    )
    FAMILIES[name] = family
    return family


def _check_free(name: str, function: Function, *, replace: bool) -> None:
    """Refuse a name that is in use, unless the same function is declared again or `replace` is set."""
    earlier = FAMILIES.get(name)
    if earlier is None and name not in NICKNAMES:
        return
    taken = f"there is already a measure called '{name}'"
    if earlier is None or not earlier.from_outside:
        raise MeasureError(taken, "Choose another name.")
    if not replace and not _same_source(earlier.function, function):
        todo = "Choose another name, or replace that measure: declare(…, replace=True)."
        raise MeasureError(f"{taken}, defined by {definition_of(earlier.function)}", todo)


def _check_names(family: Family) -> None:
    """Refuse names of a user's measure that mean another one: its values would be shown as that one's."""
    names = {folded(name): name for name in (family.name, *family.notation)}
    for other in FAMILIES.values():
        if other.name == family.name or (other.from_outside and (other.at is None) != (family.at is None)):
            continue  # a user's measure may have a family with a cutoff and one without
        meant = (other.name, *other.notation, other.mean, *(spelling for spelling, _ in other.written))
        if clash := names.keys() & map(folded, meant):
            raise MeasureError(f"'{names[min(clash)]}' already means the measure {other.name}", "Choose another name.")


_CELL = r"<ipython-input-|<python-input-|<stdin>|ipykernel_"
"""File names of notebook and console cells; they differ each time."""


_HOME = operator.attrgetter("__module__", "__qualname__")
_CODE = operator.attrgetter("co_code", "co_consts", "co_names")


def _same_source(one: Function, other: Function) -> bool:
    """Return whether two functions are one piece of source, run twice: the same place in a file, or cells' names."""
    one, other = inspect.unwrap(one), inspect.unwrap(other)
    first, second = (getattr(each, "__code__", None) for each in (one, other))
    if first is None or second is None or _HOME(one) != _HOME(other):
        return one is other
    if all(re.search(_CELL, each.co_filename) for each in (first, second)) and one.__module__ == "__main__":
        # A changed cell that is run again replaces its measure. Only names tell cells apart; a lambda has none.
        return "<" not in first.co_qualname or bool(_CODE(first) == _CODE(second))
    return (first.co_filename, first.co_firstlineno) == (second.co_filename, second.co_firstlineno)


def definition_of(function: Callable[..., Any]) -> str:
    """Return where a function is defined, for a message."""
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None)
    name = getattr(function, "__name__", "a function")
    return name if code is None else f"{name} in {os.path.basename(code.co_filename)}:{code.co_firstlineno}"
