"""Explain a function: somebody's own code is called on small made rankings, and its values say what it computes."""

from __future__ import annotations

import contextlib
import inspect
import io
import math
import random
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations, product
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from treceval_py._types import BoolArray, FloatArray
from treceval_py.data.ids import shown
from treceval_py.errors import MeasureError
from treceval_py.explaining.changes import ways
from treceval_py.explaining.formulas import values_of
from treceval_py.explaining.variants import Situation, Variant, task_of
from treceval_py.judging.judged import JudgedRun
from treceval_py.judging.locating import judge
from treceval_py.measuring import Measure, parse_measures
from treceval_py.measuring.probes import given
from treceval_py.scoring.profiles import profile_of

MOST_CHANGES = 3
UNCUT = 1000
"""The cutoff for a function that must have one where the measure has none."""

SAME = 1e-6
"""Largest difference between values that are the same."""

_IDS = ("id", "_id", "doc_id", "docid", "document_id", "chunk_id", "item_id", "text", "content", "page_content")
_QUERIES = ("query", "query_id", "qid", "user", "user_id", "topic")
_LABELS = ("label", "relevance", "rel", "grade", "gain", "rating", "y_true")
_SCORES = ("score", "y_score", "y_pred", "prediction")


class Document(str):
    """A document id that can also be used as a document: as an object or dictionary with an id, score and label."""

    facts: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        if name == "facts" or name not in self.facts:
            raise AttributeError(name)
        return self.facts[name]

    def __getitem__(self, key: Any) -> Any:
        return self.facts[key] if isinstance(key, str) else super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return a fact, as a dictionary does."""
        return self.facts.get(key, default)


class Case(NamedTuple):
    """A made query.

    Attributes
    ----------
    name : str
        What is special about it.
    ranked : list of Document
        The retrieved documents in rank order.
    grades : dict of Document to int
        All judgments, in no order.
    k : int
        The cutoff.
    """

    name: str
    ranked: list[Document]
    grades: dict[Document, int]
    k: int

    @property
    def labels(self) -> list[int]:
        """The labels in rank order; 0 for unjudged documents."""
        return [self.grades.get(document, 0) for document in self.ranked]

    @property
    def gold(self) -> list[Document]:
        """The relevant documents."""
        return [document for document, grade in self.grades.items() if grade > 0]

    @property
    def scored(self) -> list[Document]:
        """The retrieved documents in no order."""
        return _ORDERS["line"](self.ranked)

    def rank(self, missing: Any) -> Any:
        """Return the rank of the first relevant document; `missing` if there is none."""
        return next((rank for rank, label in enumerate(self.labels, 1) if label), missing)

    def __str__(self) -> str:
        ranked = " ".join(str(self.grades.get(document, "–")) for document in self.ranked) or "nothing"
        left = sorted((self.grades[document] for document in set(self.grades) - set(self.ranked)), reverse=True)
        return f"labels in rank order {ranked}; judged but not retrieved {' '.join(map(str, left)) or 'nothing'}"


NONE_RETRIEVED, NONE_RELEVANT, NO_HIT = "nothing is retrieved", "no document is relevant", "no relevant one is retrieved"
EDGES = (NO_HIT, NONE_RETRIEVED, NONE_RELEVANT)
GRADED, BINARY, SINGLE = "grades", "labels 0 and 1", "one relevant document for each query"


def cases_of(cutoff: int | None, view: str, cut: bool) -> list[Case]:
    """Make the queries, on which every change of a measure gives another value.

    Parameters
    ----------
    cutoff : int or None
        The cutoff; None for a measure without one.
    view : {GRADED, BINARY, SINGLE}
        What judgments are.
    cut : bool
        Whether lists end at the cutoff.
    """
    k, deal = cutoff or 10, random.Random(7)
    mixed = ["".join(deal.choices("-0123", (3, 3, 2, 2, 1), k=k + 2 + 5 * number)) for number in range(4)]
    patterns = [
        *(("documents are relevant", ranked, "321100"[number:]) for number, ranked in enumerate(mixed)),
        ("more than k documents are relevant", f"1{mixed[0]}", "2" + "1" * k),
        ("the first relevant document is low", ("-0" * k)[: k * 3 // 4] + f"2{mixed[1]}", "2"),
        ("few documents are retrieved", "-201-0120"[: max(k // 2, 2)], "3111111"),
        ("all relevant documents are in a short list", "-1021"[: max(k - 2, 2)], "00"),
        ("the first relevant document is at rank k", ("0-" * k)[: k - 1] + "2", "1"),
        ("the first relevant document is below rank k", ("-0" * k)[:k] + "21", "1"),
        (NO_HIT, ("0-" * k)[: k // 2 + 1], "21"),
        (NONE_RETRIEVED, "", "21"),
        (NONE_RELEVANT, "0-00-", "0"),
    ]
    cases = [_case(number, *pattern, cutoff or UNCUT, view) for number, pattern in enumerate(patterns)]
    return [case._replace(ranked=case.ranked[:k]) for case in cases] if cut else cases


def _case(seed: int, name: str, ranked: str, missed: str, k: int, view: str) -> Case:
    """Make a query of labels; ids are in no order."""
    documents, grades = [], {}
    order = random.Random(seed).sample(range(10_000, 99_999), len(ranked) + len(missed))
    for rank, (number, label) in enumerate(zip(order, ranked + missed, strict=True), 1):
        document = Document(f"doc-{number}")
        grade = max(int(label.replace("-", "0")), 0)
        if view == SINGLE and any(grades.values()):
            grade, label = 0, "-"
        grade = grade if view == GRADED else min(grade, 1)
        ids = dict.fromkeys(_IDS, str(document))
        labels = {**dict.fromkeys(_LABELS, grade), "relevant": grade > 0, "is_relevant": grade > 0}
        scores = {**dict.fromkeys(_SCORES, 10.25 - rank / 16), "rank": rank}
        document.facts = {**ids, **labels, **scores, "metadata": ids}
        documents.append(document)
        if label != "-":
            grades[document] = grade
    return Case(name, documents[: len(ranked)], dict(sorted(grades.items())), k)


# How a function may be called --------------------------------------------------------------------


def _frame(queries: Sequence[Sequence[Document]]) -> Any:
    import pandas as pd

    rows = [
        {**dict.fromkeys(_QUERIES, f"q{number}"), **{key: fact for key, fact in document.facts.items() if key != "metadata"}}
        for number, documents in enumerate(queries)
        for document in documents
    ]
    return pd.DataFrame(rows)


class Form(NamedTuple):
    """A form of an argument: what it is for, what it is, which judgments it can show, and how it is made of a query."""

    role: str
    words: str
    views: tuple[str, ...]
    make: Callable[[Case], Any]


VIEWS = (GRADED, BINARY, SINGLE)
FORMS = (
    Form("k", "k", VIEWS, lambda case: case.k),
    Form("k", "[k]", VIEWS, lambda case: [case.k]),
    Form("retrieved", "retrieved", VIEWS, lambda case: list(case.ranked)),
    Form("retrieved", "(id, score) pairs", VIEWS, lambda case: [(each, each.facts["score"]) for each in case.ranked]),
    Form("retrieved", "{id: score}", VIEWS, lambda case: {each: each.facts["score"] for each in case.scored}),
    Form("relevant", "set of relevant", (BINARY,), lambda case: set(case.gold)),
    Form("relevant", "list of relevant", (BINARY,), lambda case: case.gold),
    Form("relevant", "{id: grade}", (GRADED, BINARY), lambda case: {each: case.grades[each] for each in case.gold}),
    Form("relevant", "{id: grade}, 0 included", (GRADED, BINARY), lambda case: dict(case.grades)),
    Form("relevant", "the relevant id", (SINGLE,), lambda case: next(iter(case.gold), None)),
    Form("labels", "labels", (GRADED, BINARY), lambda case: case.labels),
    Form("labels", "array of labels", (GRADED, BINARY), lambda case: np.array(case.labels)),
    Form("labels", "retrieved with labels", (GRADED, BINARY), lambda case: list(case.ranked)),
    Form("all", "all labels", (GRADED, BINARY), lambda case: sorted(case.grades.values(), reverse=True)),
    Form("total", "number of relevant", (GRADED, BINARY), lambda case: len(case.gold)),
    Form("truth", "y_true", (GRADED, BINARY), lambda case: np.array([case.grades.get(each, 0) for each in case.scored])),
    Form("scores", "y_score", (GRADED, BINARY), lambda case: np.array([each.facts["score"] for each in case.scored])),
    Form("rank", "rank or None", (SINGLE,), lambda case: case.rank(None)),
    Form("rank", "rank or 0", (SINGLE,), lambda case: case.rank(0)),
    Form("rank", "rank or -1", (SINGLE,), lambda case: case.rank(-1)),
    Form("run", "frame of the run", (GRADED, BINARY), lambda case: case.scored),
    Form("judgments", "frame of judgments", (GRADED, BINARY), lambda case: list(case.grades)),
    Form("grades", "{id: grade}", (GRADED,), lambda case: dict(case.grades)),
)
CALLS = (
    ("retrieved", "relevant"),
    ("retrieved", "relevant", "grades"),
    ("labels",),
    ("labels", "all"),
    ("labels", "total"),
    ("truth", "scores"),
    ("rank",),
    ("run",),
    ("run", "judgments"),
)
"""What functions take, besides a cutoff."""

NAMES = {
    r"(top|at)?_?[kn]|k_?(s|values?|list)|top|.*(cut|depth|limit|max_rank).*": "k",
    r"(n|num|count|total|all)_.*(rel|pos|gold|gt).*|R|.*pos_num": "total",
    r".*(scores?|logits?|probs?|sims?|pred|preds|y_pred|dist.*)": "scores labels grades retrieved run all",
    r".*(ideal|best).*": "all",
    r"(first_|gold_)?(rank|position|pos|index)s?": "rank labels",
    r".*(rel(?!ated)|actual|gold|gt$|truth|true|expect|qrel|target|answer|pos|refer|judg|label|gain|grad).*": (
        "relevant labels truth grades all judgments"
    ),
    r".*(retriev|pred|rec|rank|result|doc|hit|cand|run|output|respon|return|context|item|list).*": (
        "retrieved labels scores run"
    ),
}
"""Names of parameters, and what they may be for."""

LIFTS: dict[str, Callable[[list[Any]], Any]] = {
    "": lambda values: values[0],
    "lists of ": lambda values: values,
    "dictionaries of ": lambda values: {f"q{number}": value for number, value in enumerate(values)},
}
"""How a function takes queries: one, or a list or a dictionary of them."""


class Call(NamedTuple):
    """A way to call a function.

    Attributes
    ----------
    forms : tuple of (Parameter, Form)
        The form of each argument.
    lift : str
        How it takes queries: one, or a list or a dictionary of them.
    view : str
        What judgments are.
    cut : bool
        Whether it gets lists that end at the cutoff.
    """

    forms: tuple[tuple[inspect.Parameter, Form], ...]
    lift: str
    view: str
    cut: bool

    def __str__(self) -> str:
        cut = " of the first k documents" if self.cut else ""
        return ", ".join(form.words if form.role == "k" else self.lift + form.words for _, form in self.forms) + cut

    @property
    def several(self) -> bool:
        """Whether it takes several queries at once."""
        return bool(self.lift) or any(form.role == "run" for _, form in self.forms)

    def __call__(self, function: Callable[..., Any], *cases: Case) -> Any:
        args, named = [], {}
        for parameter, form in self.forms:
            values = [form.make(case) for case in cases]
            if form.role in ("run", "judgments"):
                value = _frame(values)
            else:
                value = values[0] if form.role == "k" else LIFTS[self.lift](values)
            if parameter.kind is parameter.POSITIONAL_ONLY:
                args.append(value)
            else:
                named[parameter.name] = value
        return function(*args, **named)


def _roles(name: str) -> Sequence[str]:
    return next((roles.split() for words, roles in NAMES.items() if re.fullmatch(words, name, re.IGNORECASE)), ())


def calls_of(function: Callable[..., Any], *, cutoff: bool, named: bool) -> Iterator[Call]:
    """Yield the ways to call a function, the usual ones first: those that names of parameters allow, or the others."""
    parameters = [each for each in inspect.signature(function).parameters.values() if each.kind not in (2, 4)]
    required = [each for each in parameters if each.default is each.empty]
    # The cutoff is given, unless the measure has none and the function can do without.
    known = {"grades", "all", "total"} | ({"k"} if cutoff else set())
    optional = [each for each in parameters if each not in required and known.intersection(_roles(each.name))]
    takes_k = any("k" in _roles(each.name) for each in required + optional)
    for usual, k in product(CALLS, (("k",), ())):
        if takes_k and not k:
            continue
        roles = (*usual, *k)
        taken = required + [each for each in optional if {*roles}.intersection(_roles(each.name))]
        for order in permutations(roles) if len(taken) == len(roles) else ():
            pairs = list(zip(taken, order, strict=True))
            if named != all(role in (_roles(each.name) or roles) for each, role in pairs):
                continue
            forms_of = [[form for form in FORMS if form.role == role] for role in order]
            cuts = (False, True) if cutoff and not k else (False,)
            for lift, view, cut, *forms in product(LIFTS, VIEWS, cuts, *forms_of):
                if all(view in form.views for form in forms):
                    yield Call(tuple(zip(taken, forms, strict=True)), lift, view, cut)


# What it returns ----------------------------------------------------------------------------------

MOST_NUMBERS = 30
"""Most numbers in a result that are looked at."""


def numbers_in(result: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """Yield the numbers in a result, each with its place in it; no number is NaN."""
    if result is None:
        yield name, math.nan
    elif isinstance(result, (Real, np.bool_)) or getattr(result, "shape", None) == ():
        yield name, float(result)
    elif hasattr(result, "to_dict"):
        yield from numbers_in(result.to_dict(), name)
    elif isinstance(result, Mapping):
        for key, value in list(result.items())[:MOST_NUMBERS]:
            yield from numbers_in(value, name if key == "q0" else f"{name}[{key!r}]")
    elif isinstance(result, (Sequence, np.ndarray)) and not isinstance(result, (str, bytes)):
        for number, value in enumerate(result[:MOST_NUMBERS]):
            yield from numbers_in(value, f"{name}[{number}]")
    else:
        for key, value in getattr(result, "__dict__", {}).items():
            yield from numbers_in(value, f"{name}.{key}")


class Trial(NamedTuple):
    """What a function returned for the made queries when it was called in one way.

    Attributes
    ----------
    call : Call
        How it was called.
    place : str
        Where the number is in the result.
    values : (Q,) float array
        The number for each query; NaN for one without.
    problems : list of str
        What it does instead for queries without a number; empty for others.
    """

    call: Call
    place: str
    values: FloatArray
    problems: list[str]

    @property
    def compared(self) -> BoolArray:
        """Which queries decide what is computed: those with a number that have relevant and retrieved documents."""
        return np.isfinite(self.values) & (np.arange(len(self.values)) < len(self.values) - len(EDGES[1:]))


def try_call(function: Callable[..., Any], call: Call, cases: list[Case]) -> Iterator[Trial]:
    """Call a function for each made query; yield the numbers that depend on the query."""
    results: list[dict[str, float]] = []
    problems: list[str] = []
    for case in cases:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                result = call(function, case)
                results.append(dict(numbers_in(result)))
                there = any(map(math.isfinite, results[-1].values()))
                problems.append("" if there else f"returns {result!r}")
            except (Exception, SystemExit) as error:
                if not results:
                    return
                results.append({})
                problems.append(f"raises {type(error).__name__}: {error}".removesuffix(": "))
    for place in results[0]:
        trial = Trial(call, place, np.array([result.get(place, math.nan) for result in results]), problems)
        values = trial.values[trial.compared]
        if len(values) > len(cases) / 2 and np.ptp(values) > SAME:
            yield trial


# What it computes ---------------------------------------------------------------------------------


class Differing(NamedTuple):
    """The made query on which a function differs most from the nearest way.

    Attributes
    ----------
    way : Variant
        The nearest way.
    query : str
        The query in words: its labels, and what is special about it.
    theirs, ours : float
        The values of the function and of the way.
    """

    way: Variant
    query: str
    theirs: float
    ours: float


class ExplainedFunction(NamedTuple):
    """The convention by which a function computes a measure.

    Attributes
    ----------
    name : str
        The function.
    measure : Measure
        The measure.
    call : str
        How the function was called; empty if no call gave numbers that depend on the ranking.
    ways : list of Variant
        The ways of computing the measure that give the function's values, the most plausible first.
    tried : int
        Number of ways tried.
    notes : tuple of str
        What else was noticed, such as an exception where no document is relevant.
    differing : Differing or None
        Where it differs from the nearest way, if no way gives its values.
    """

    name: str
    measure: Measure
    call: str
    ways: list[Variant]
    tried: int
    notes: tuple[str, ...]
    differing: Differing | None

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    @property
    def sentences(self) -> list[str]:
        """The explanation in words."""
        name, measure, differing = self.name, self.measure.heading, self.differing
        if not self.call:
            return [f"{name} could not be called with rankings in any of {self.tried} forms.", *self.notes]
        called = f"It was called with {self.call}."
        if differing is None:
            usual = "as usual" if not self.ways[0].ids else "with " + ", or with ".join(way.name for way in self.ways)
            return [f"{name} computes {measure} {usual}.", called, *self.notes]
        return [
            f"{name} is not {measure} in any of the {self.tried} ways tried.",
            called,
            f"The nearest way is {differing.way.name or 'the usual one'}. They differ most where {differing.query}: "
            f"{name} returns {differing.theirs:.6f}, and the way gives {differing.ours:.6f}.",
            *self.notes,
        ]


class Fit(NamedTuple):
    """A way that gives the values of a trial, and how exactly."""

    way: Variant
    trial: Trial
    how: str | None


def _how(trial: Trial, ours: FloatArray) -> str | None:
    """Return how exactly a way gives the values of a trial: empty if exactly, None if it does not."""
    there = trial.compared
    theirs, ours = trial.values[there], ours[there]
    for how, scale in (("", 1.0), ("percentages", 100.0)):
        off = np.abs(scale * ours - theirs).max()
        if off <= SAME:
            return how
        for digits in (4, 3, 2):
            if off <= 0.5 * 10.0**-digits + SAME and np.abs(np.round(theirs, digits) - theirs).max() < 1e-9:
                return f"{how or 'rounded'} to {digits} digits"
    return None


_ORDERS: Mapping[str, Callable[[list[Document]], list[Document]]] = {
    "as it is": lambda ranked: ranked,
    "ascending": lambda ranked: ranked[::-1],
    "docid": lambda ranked: sorted(ranked, reverse=True),
    "docid ascending": sorted,
    "line": lambda ranked: sorted(ranked, key=lambda document: document[::-1]),
    "text": lambda ranked: sorted(ranked, key=lambda document: str(document.facts["score"]), reverse=True),
}
"""The made rankings sorted by another key."""


def _judged(cases: list[Case], order: str) -> JudgedRun:
    qids = [f"{number:02}" for number in range(len(cases))]
    grades = [{str(each): grade for each, grade in case.grades.items()} for case in cases]
    ranked = [{str(each): -float(rank) for rank, each in enumerate(_ORDERS[order](case.ranked))} for case in cases]
    return judge(dict(zip(qids, grades, strict=True)), dict(zip(qids, ranked, strict=True)))


def _fits(measure: Measure, cases: list[Case], trials: list[Trial], most: int) -> Iterator[tuple[Fit, FloatArray]]:
    """Yield the ways, up to `most` changes away, with their values for some trials on the same queries."""
    grades = sorted({grade for case in cases for grade in case.grades.values() if grade})
    longest = max(len(case.ranked) for case in cases)
    situation = Situation(grades[-1], tuple(grades), False, False, longest, False, {}, True)
    judged = {order: _judged(cases, order) for order in _ORDERS}
    for way in ways(task_of(measure, profile_of(None), situation), situation, most=most):
        settings = way.settings or {}
        order = "line" if settings["order"] == "line" else settings["run"]
        if order in judged:
            values = values_of(settings, judged[order])
            for trial in trials:
                yield Fit(way, trial, _how(trial, values)), values


def explain_function(function: Callable[..., Any], measure: str | Measure) -> ExplainedFunction:
    """Explain how somebody's own function computes a measure, by calling it on made rankings.

    The function is only called, many times, in the ways in which such functions take rankings and judgments; what it
    prints is dropped. Its values are compared, query by query, with those of the measure and of its changes.

    Parameters
    ----------
    function : callable
        The function. It takes a ranking and judgments of a query, or of many; ids, labels, scores or a frame.
    measure : str or Measure
        What it is meant to compute, such as ``nDCG@10``.

    Returns
    -------
    ExplainedFunction
        The ways of computing the measure that give its values.

    Raises
    ------
    MeasureError
        The measure is unknown or not computed from judgments, or `function` cannot be called.

    Examples
    --------
    >>> def precision(retrieved, relevant, k):
    ...     return len(set(retrieved[:k]) & set(relevant)) / len(retrieved[:k])
    >>> print(explain_function(precision, "P@5"))
    precision computes P@5 with divided by min(k, documents retrieved).
    It was called with retrieved, set of relevant, k.
    Where nothing is retrieved, it raises ZeroDivisionError: division by zero.
    """
    (read, *_) = parse_measures(measure)
    if not callable(function):
        raise MeasureError(f"code must be a function, not {shown(function)}", "Give the function itself: code=ndcg.")
    name = getattr(function, "__name__", type(function).__name__)
    cutoff = given(read).get("cutoff")
    made = {key: cases_of(cutoff, *key) for key in product(VIEWS, (False, True))}
    count = 0
    trials: dict[tuple[str, bool, bytes], Trial] = {}
    for named in (True, False):
        for call in calls_of(function, cutoff=cutoff is not None, named=named) if not trials else ():
            count += 1
            for trial in try_call(function, call, made[call.view, call.cut]):
                trials.setdefault((call.view, call.cut, trial.values.tobytes()), trial)
    if not trials:
        return ExplainedFunction(name, read, "", [], count, (), None)
    # A function of ids does not look at the grades of a dictionary.
    of_ids = {key[1:] for key, trial in trials.items() if any(form.views == (BINARY,) for _, form in trial.call.forms)}
    plain = any((GRADED, *key) in trials for key in of_ids)
    some = sorted(
        (trial for trial in trials.values() if not (plain and trial.call.view == GRADED)),
        key=lambda trial: sum(map(bool, trial.problems)),
    )
    tried: list[tuple[Fit, FloatArray]] = []
    # Grades show more than labels 0 and 1, and these show more than a single relevant document.
    for view, most in product(VIEWS, range(1, MOST_CHANGES + 1)):
        for cut in (False, True):
            mine = [trial for trial in some if (trial.call.view, trial.call.cut) == (view, cut)]
            tried += _fits(read, made[view, cut], mine, most) if mine else ()
        fits = [pair for pair in tried if pair[0].how is not None]
        if fits:
            break
    count = len({fit.way.name for fit, _ in tried})
    if fits:
        first, values = min(fits, key=lambda pair: (pair[0].how != "", -pair[0].way.prior))
    else:
        first, values = min(tried, key=lambda pair: _distance(pair[0].trial, pair[1]))
    trial, cases = first.trial, made[first.trial.call.view, first.trial.call.cut]
    notes = [f"It returns {first.how}."] * bool(first.how)
    for case, problem, theirs, ours in zip(cases, trial.problems, trial.values, values, strict=True):
        if problem:
            notes.append(f"Where {case.name}, it {problem}.")
        elif case.name in EDGES[1:] and abs(theirs - ours) > SAME:
            notes.append(f"Where {case.name}, it returns {theirs:g}, and {read.heading} is {ours:g}.")
    called = f"{trial.call}{f'; the number is result{trial.place}' * bool(trial.place)}"
    if fits:
        notes += _means(function, trial, cases)
        names = {fit.way.name: fit.way for fit, _ in fits if fit.trial is trial and (fit.way.ids or not first.way.ids)}
        same = [first.way] if not first.way.ids else list(names.values())
        return ExplainedFunction(name, read, called, same, count, tuple(notes), None)
    off = np.where(trial.compared, np.abs(trial.values - values), -1.0)
    at = int(off.argmax())
    query = f"{cases[at].name} ({cases[at]})"
    differing = Differing(first.way, query, float(trial.values[at]), float(values[at]))
    return ExplainedFunction(name, read, called, [], count, tuple(notes), differing)


def _distance(trial: Trial, ours: FloatArray) -> tuple[int, float]:
    """Return on how many queries a way differs from a function, and by how much."""
    off = np.abs(trial.values - ours)[trial.compared]
    return int((off > SAME).sum()), float(off.sum())


def _means(function: Callable[..., Any], trial: Trial, cases: list[Case]) -> list[str]:
    """Say how a function that takes several queries averages them, if that is not the mean of all."""
    there = np.flatnonzero(np.isfinite(trial.values))
    if not trial.call.several:
        return []
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            both = dict(numbers_in(trial.call(function, *(cases[at] for at in there))))
    except (Exception, SystemExit) as error:
        return [f"Of several queries, it raises {type(error).__name__}: {error}."]
    mean, alone = both.get(trial.place, math.nan), trial.values[there]
    kept = {
        "": np.ones(len(there), bool),
        "the queries with relevant documents": np.array([bool(cases[at].gold) for at in there]),
        "the queries with documents retrieved": np.array([bool(cases[at].ranked) for at in there]),
        "the queries with a value above 0": alone > 0,
    }
    for words, which in kept.items():
        if not math.isfinite(mean) or abs(alone[which].mean() - mean) <= SAME:
            return [f"Of several queries, it returns the mean of {words}."] * bool(words)
    return ["Of several queries, it returns another number than the mean of their values, such as a micro-average."]
