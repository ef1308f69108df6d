"""Explain a function: somebody's own code is called on artificial rankings, and its values say what it computes."""

from __future__ import annotations

import contextlib
import inspect
import io
import math
import random
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import permutations, product
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from treceval_py._types import BoolArray, FloatArray
from treceval_py.data.ids import shown
from treceval_py.errors import MeasureError, TrecevalError, brief
from treceval_py.explaining.changes import ways
from treceval_py.explaining.variants import Situation, Variant, check_number, task_of
from treceval_py.judging.locating import judge
from treceval_py.measuring import Measure, parse_measures
from treceval_py.measuring.formulas import values_of
from treceval_py.measuring.probes import given
from treceval_py.scoring.profiles import profile_of

SAME = 1e-6
"""Largest difference between values that are the same."""

MOST_CHANGES, MOST_WAYS, MOST_NUMBERS = 3, 4, 30
"""Most changes at once that are tried, most ways that are named, and most numbers that are looked at in a result."""

LEAST_OTHERS = 3
"""Least number of queries for which a function that looks at rankings returns another value than usual."""

UNCUT = 1000
"""The cutoff given to a function that must have one where the measure has none."""

# The artificial rankings ---------------------------------------------------------------------------

GRADED, BINARY, SINGLE = VIEWS = "graded", "binary", "single"
"""What a function may learn of the judgments; the first says most."""

_KEYS: Mapping[str, str] = {
    "query": "query query_id qid user user_id topic",
    "id": "id _id doc_id docid document_id chunk_id item item_id text content page_content",
    "label": "label relevance rel grade gain rating y_true relevant is_relevant",
    "score": "score y_score y_pred prediction similarity",
}
"""Usual names of columns, keys and attributes."""


class Document(str):
    """A document id that can also be used as a document: an object or dictionary with an id, score and label."""

    facts: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("facts", ()):
            return self.facts[name]
        raise AttributeError(name)

    def __getitem__(self, key: Any) -> Any:
        return self.facts[key] if isinstance(key, str) else super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return a fact, as a dictionary does."""
        return self.facts.get(key, default)


_ORDERS: Mapping[str, Callable[[list[Document]], list[Document]]] = {
    "as it is": list,
    "ascending": lambda ranked: ranked[::-1],
    "docid": lambda ranked: sorted(ranked, reverse=True),
    "docid ascending": sorted,
    "line": lambda ranked: sorted(ranked, key=lambda document: document[::-1]),
    "text": lambda ranked: sorted(ranked, key=lambda document: str(document.score), reverse=True),
}
"""Orders of the retrieved documents, by the keys that are taken for scores."""


class Case(NamedTuple):
    """A made query.

    Attributes
    ----------
    about : str
        What is special about it.
    ranked : list of Document
        The retrieved documents in rank order.
    grades : dict of Document to int
        All judgments, in no order.
    k : int
        The cutoff.
    """

    about: str
    ranked: list[Document]
    grades: dict[Document, int]
    k: int

    @property
    def labels(self) -> list[int]:
        """The labels in rank order; 0 for unjudged documents."""
        return [self.grades.get(document, 0) for document in self.ranked]

    @property
    def gold(self) -> dict[Document, int]:
        """The relevant documents with their grades."""
        return {document: grade for document, grade in self.grades.items() if grade > 0}

    @property
    def lines(self) -> list[Document]:
        """The retrieved documents in no order."""
        return _ORDERS["line"](self.ranked)

    def rank(self, missing: int | None) -> int | None:
        """Return the rank of the first relevant document; `missing` if there is none."""
        return next((rank for rank, label in enumerate(self.labels, 1) if label), missing)


NONE_RETRIEVED, NONE_RELEVANT = EDGES = "nothing is retrieved", "no document is relevant"


def cases_of(cutoff: int | None, view: str, cut: bool) -> list[Case]:
    """Make queries on which the changes of a measure that people make give different values.

    Parameters
    ----------
    cutoff : int or None
        The cutoff; None for a measure without one.
    view : {GRADED, BINARY, SINGLE}
        What judgments are.
    cut : bool
        Whether lists end at the cutoff.
    """
    k, deal = cutoff or 10, random.Random(7)  # noqa: S311
    mixed = ["".join(deal.choices("-0123", (3, 3, 2, 2, 1), k=k + 2 + 3 * number)) for number in range(6)]
    cases = [
        *(("many documents are judged", ranked, "3211100"[number:]) for number, ranked in enumerate(mixed)),
        ("more than k documents are relevant", f"1{mixed[0]}", "2" + "1" * k),
        ("only the first document is relevant", "2" + "-0" * k, "0"),
        ("the first relevant document is in the middle", ("-0" * k)[: (k - 1) // 2] + f"21{mixed[1]}", "2"),
        ("the first relevant document is low", ("-0" * k)[: k * 3 // 4] + f"2{mixed[1]}", "2"),
        ("the first relevant document is at rank k", ("0-" * k)[: k - 1] + "2", "1"),
        ("the first relevant document is below rank k", ("-0" * k)[:k] + "21", "1"),
        ("the first relevant document is far below rank k", ("0-" * k)[: k + 3] + "1", "2"),
        ("few documents are retrieved", "-201-0120"[: max(k // 2, 2)], "3111111"),
        ("all relevant documents are in a short list", "-1021"[: max(k - 2, 2)], "00"),
        ("no relevant document is retrieved", ("0-" * k)[: k // 2 + 1], "21"),
        (NONE_RETRIEVED, "", "21"),
        (NONE_RELEVANT, "0-00-", "0"),
    ]
    made = []
    for seed, (about, ranked, missed) in enumerate(cases):
        numbers = random.Random(seed).sample(range(10_000, 99_999), len(ranked + missed))  # noqa: S311
        documents = [Document(f"doc-{number}") for number in numbers]
        grades: dict[Document, int] = {}
        for rank, (document, label) in enumerate(zip(documents, ranked + missed, strict=True), 1):
            if label != "-" and not (view == SINGLE and any(grades.values())):
                grades[document] = int(label) if view == GRADED else min(int(label), 1)
            facts = {
                "query": f"q{seed}",
                "id": str(document),
                "label": grades.get(document, 0),
                "score": 10.25 - rank / 16,
            }
            document.facts = {key: facts[kind] for kind, keys in _KEYS.items() for key in keys.split()}
            document.facts |= {"rank": rank, "metadata": dict.fromkeys(_KEYS["id"].split(), str(document))}
        retrieved = documents[: min(len(ranked), k) if cut else len(ranked)]
        made.append(Case(about, retrieved, dict(sorted(grades.items())), cutoff or UNCUT))
    return made


# How functions are called -------------------------------------------------------------------------


def _frame(queries: Sequence[Sequence[Document]]) -> Any:
    import pandas as pd

    rows = [document.facts for documents in queries for document in documents]
    return pd.DataFrame(rows).drop(columns="metadata", errors="ignore")


class Form(NamedTuple):
    """A form of an argument.

    Attributes
    ----------
    role : str
        What it is for.
    words : str
        Description.
    views : str
        Initials of the judgments that it can show: g, b or s.
    make : callable
        Makes it of a query.
    """

    role: str
    words: str
    views: str
    make: Callable[[Case], Any]


FORMS = (
    Form("k", "the cutoff", "gbs", lambda case: case.k),
    Form("k", "[the cutoff]", "gbs", lambda case: [case.k]),
    Form("retrieved", "ids", "gbs", lambda case: list(case.ranked)),
    Form("retrieved", "(id, score) pairs", "gbs", lambda case: [(each, each.score) for each in case.ranked]),
    Form("retrieved", "{id: score}", "gbs", lambda case: {each: each.score for each in case.lines}),
    Form("relevant", "set of relevant ids", "b", lambda case: set(case.gold)),
    Form("relevant", "list of relevant ids", "b", lambda case: list(case.gold)),
    Form("relevant", "{id: grade}", "gb", lambda case: case.gold),
    Form("relevant", "{id: grade}, 0 too", "g", lambda case: dict(case.grades)),
    Form("relevant", "the relevant id", "s", lambda case: next(iter(case.gold), None)),
    Form("grades", "{id: grade}", "g", lambda case: case.gold),
    Form("labels", "labels", "gb", lambda case: case.labels),
    Form("labels", "array of labels", "gb", lambda case: np.array(case.labels)),
    Form("labels", "documents with labels", "gb", lambda case: list(case.ranked)),
    Form("all", "all labels", "gb", lambda case: sorted(case.grades.values(), reverse=True)),
    Form("total", "number of relevant documents", "gb", lambda case: len(case.gold)),
    Form("truth", "labels", "gb", lambda case: np.array([each.label for each in case.lines])),
    Form("scores", "scores", "gb", lambda case: np.array([each.score for each in case.lines])),
    *(Form("rank", f"rank or {missing}", "s", partial(Case.rank, missing=missing)) for missing in (None, 0, -1)),
    Form("run", "frame of the run", "gb", lambda case: case.lines),
    Form("judgments", "frame of the judgments", "gb", lambda case: list(case.grades)),
)
CALLS = (
    "rank,retrieved relevant,retrieved relevant grades,truth scores,labels,labels all,labels total,run,run judgments"
)
"""What functions take, besides a cutoff."""

RANKINGS = {"retrieved", "labels", "truth", "rank", "run"}
"""What shows the ranking, of which a function takes one."""

NAMES = {
    r"(top|at)?_?[kn]|k_?(s|values?|list)|top|.*(cut|depth|limit|max_rank).*": "k",
    r"(n|num|count|total|all)_.*(rel|pos|gold|gt).*|(?-i:R)|.*pos_num": "total",
    r".*(scores?|logits?|probs?|sims?|preds?|dist.*)": "scores labels grades retrieved run all",
    r".*(ideal|best).*": "all",
    r"(first_|gold_)?(rank|position|pos|index)s?": "rank labels",
    r"gt_.*|.*gt|.*(rel(?!ated)|actual|gold|tru[te]|expect|qrel|target|answer|pos|ref|judg|label|gain|grad|rating).*": (
        "relevant labels truth grades all judgments"
    ),
    r".*(retriev|pred|rec|rank|result|doc|hit|cand|run|output|respon|return|context|item|list).*": (
        "retrieved labels scores run"
    ),
}
"""Names of parameters, and what these may be for."""

LIFTS: Mapping[str, Callable[[list[Any]], Any]] = {
    "{}": lambda values: values[0],
    "[{}, …]": lambda values: values,
    "{{query: {}}}": lambda values: {f"q{number}": value for number, value in enumerate(values)},
}
"""How functions take queries: one, a list or a dictionary of them."""


class Call(NamedTuple):
    """A way to call a function.

    Attributes
    ----------
    function : callable
        The function.
    forms : tuple of (Parameter, Form)
        The form of each argument.
    lift : str
        How it takes queries.
    view : str
        What judgments are.
    cut : bool
        Whether lists end at the cutoff.
    """

    function: Callable[..., Any]
    forms: tuple[tuple[inspect.Parameter, Form], ...]
    lift: str
    view: str
    cut: bool

    def __str__(self) -> str:
        lifts = {"k": "{}", "run": "{}", "judgments": "{}"}
        arguments = (f"{each.name}={lifts.get(form.role, self.lift).format(form.words)}" for each, form in self.forms)
        return f"{_name(self.function)}({', '.join(arguments)}){', with lists that end at k' * self.cut}"

    @property
    def roles(self) -> frozenset[str]:
        """What its arguments are for."""
        return frozenset(form.role for _, form in self.forms)

    @property
    def several(self) -> bool:
        """Whether the function takes several queries."""
        return self.lift != "{}" or "run" in self.roles

    def __call__(self, *cases: Case) -> Iterator[tuple[str, float]]:
        """Call the function; return the numbers in its result. What it prints is dropped."""
        args, named = [], {}
        for parameter, form in self.forms:
            values = [form.make(case) for case in cases]
            frame = form.role in ("run", "judgments")
            value = _frame(values) if frame else values[0] if form.role == "k" else LIFTS[self.lift](values)
            if parameter.kind is parameter.POSITIONAL_ONLY:
                args.append(value)
            else:
                named[parameter.name] = value
        with contextlib.ExitStack() as quiet:
            quiet.enter_context(contextlib.redirect_stdout(io.StringIO()))
            quiet.enter_context(contextlib.redirect_stderr(io.StringIO()))
            quiet.enter_context(np.errstate(all="ignore"))
            quiet.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")
            return numbers_in(self.function(*args, **named))


def _name(function: Callable[..., Any]) -> str:
    return getattr(getattr(function, "func", function), "__name__", type(function).__name__)


def _roles(name: str) -> Sequence[str]:
    return next((roles.split() for words, roles in NAMES.items() if re.fullmatch(words, name, re.IGNORECASE)), ())


def calls_of(function: Callable[..., Any], *, cutoff: bool, named: bool) -> Iterator[Call]:
    """Yield the ways to call a function, the usual ones first: those that names of parameters allow, or the others."""
    parameters = [each for each in inspect.signature(function).parameters.values() if each.kind not in (2, 4)]
    required = [each for each in parameters if each.default is each.empty]
    required = required or [each for each in parameters if each.default is None]
    # The cutoff is given, unless the measure has none and the function can do without.
    known = {"grades", "all", "total", *(["k"] if cutoff else [])}
    optional = [each for each in parameters if each not in required and known.intersection(_roles(each.name))]
    takes_k = any("k" in _roles(each.name) for each in required + optional)
    for usual, k in product(CALLS.split(","), ([], ["k"])[takes_k:]):
        roles = usual.split() + k
        taken = required + [each for each in optional if known.intersection(roles, _roles(each.name))]
        for order in permutations(roles) if len(taken) == len(roles) else ():
            # A number may be anything; it is a rank only if it is called one.
            names = [_roles(each.name) or [role for role in roles if role != "rank"] for each in taken]
            if named != all(role in some for some, role in zip(names, order, strict=True)):
                continue
            choices = [[form for form in FORMS if form.role == role] for role in order]
            for lift, view, cut, *forms in product(LIFTS, VIEWS, {False, cutoff and not k}, *choices):
                if all(view[0] in form.views for form in forms):
                    yield Call(function, tuple(zip(taken, forms, strict=True)), lift, view, cut)


def numbers_in(result: Any, place: str = "") -> Iterator[tuple[str, float]]:
    """Yield the numbers in a result, each with its place; None is NaN."""
    if hasattr(result, "to_dict"):
        result = result.to_dict()
    elif hasattr(result, "tolist"):
        result = result.tolist()
    if result is None or isinstance(result, Number):
        yield place, math.nan if result is None else float(result)  # type: ignore[arg-type]
    elif isinstance(result, Mapping):
        for key, value in [*result.items()][:MOST_NUMBERS]:
            yield from numbers_in(value, place if re.fullmatch(r"q\d+", str(key)) else f"{place}[{key!r}]")
    elif isinstance(result, Sequence) and not isinstance(result, str):
        for number, value in enumerate(result[:MOST_NUMBERS]):
            yield from numbers_in(value, f"{place}[{number}]")
    else:
        for name, value in getattr(result, "__dict__", {}).items():
            yield from numbers_in(value, f"{place}.{name}")


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
    instead : list of str
        What the function does for queries without a number; empty for others.
    """

    call: Call
    place: str
    values: FloatArray
    instead: list[str]

    @property
    def compared(self) -> BoolArray:
        """Which queries decide what is computed: those with a number, and with relevant and retrieved documents."""
        return np.isfinite(self.values) & (np.arange(len(self.values)) < len(self.values) - len(EDGES))

    def how(self, ours: FloatArray) -> str | None:
        """Return how exactly other values give these; None if they do not."""
        theirs, ours = self.values[self.compared], ours[self.compared]
        for scale, words in ((1, ""), (100, "percentages")):
            off = np.abs(scale * ours - theirs).max()
            if off <= SAME:
                return words
            for digits in (5, 4, 3, 2, 1)[: 4 + (scale > 1)]:
                if off <= 0.5 * 10.0**-digits + SAME and np.abs(np.round(theirs, digits) - theirs).max() < 1e-9:
                    return f"{words or 'numbers'} rounded to {digits} digits"
        return None

    def distance(self, ours: FloatArray) -> tuple[int, float]:
        """Return for how many queries other values differ from these, and by how much."""
        off = np.abs(self.values - ours)[self.compared]
        return int((off > SAME).sum()), float(off.sum())


def _trials(call: Call, cases: Sequence[Case]) -> Iterator[Trial]:
    """Call a function for each query; yield the numbers that depend on the query."""
    results: list[dict[str, float]] = []
    instead: list[str] = []
    for case in cases:
        try:
            results.append(dict(call(case)))
            instead.append("" if any(map(math.isfinite, results[-1].values())) else "returns None or NaN")
        except (Exception, SystemExit) as error:  # noqa: BLE001
            if not results:
                return
            results.append({})
            instead.append(f"raises {type(error).__name__}")
    for place in results[0]:
        trial = Trial(call, place, np.array([result.get(place, math.nan) for result in results]), instead)
        values = trial.values[trial.compared]
        if (
            len(values) > len(cases) / 2
            and max(Counter(values.round(6).tolist()).values()) <= len(values) - LEAST_OTHERS
        ):
            yield trial


# What functions compute ---------------------------------------------------------------------------


class ExplainedFunction(NamedTuple):
    """How a function computes a measure.

    Attributes
    ----------
    name : str
        The function.
    measure : Measure
        The measure.
    ways : list of Variant
        The ways of computing the measure that give the function's values, the most plausible first; the usual way has
        no name.
    sentences : tuple of str
        The explanation in words.
    """

    name: str
    measure: Measure
    ways: list[Variant]
    sentences: tuple[str, ...]

    def __repr__(self) -> str:
        return "\n".join(self.sentences)


class _Fit(NamedTuple):
    """A way of computing a measure, its values for the made queries, and how exactly they give those of a trial."""

    way: Variant
    values: FloatArray
    trial: Trial
    how: str | None


def _fits(measure: Measure, cases: Sequence[Case], trials: Sequence[Trial], most: int) -> Iterator[_Fit]:
    """Try the ways that are up to `most` changes away on trials with the same queries."""
    qids, judged = [f"{number:02}" for number in range(len(cases))], {}
    qrels = {
        qid: {str(key): grade for key, grade in case.grades.items()} for qid, case in zip(qids, cases, strict=True)
    }
    grades = sorted({*cases[0].grades.values()} - {0})
    for order, sort in _ORDERS.items():
        ranked = (sort(case.ranked) for case in cases)
        scores = ({str(document): -rank for rank, document in enumerate(documents)} for documents in ranked)
        judged[order] = judge(qrels, dict(zip(qids, scores, strict=True)), tied=True)
    longest = max(len(case.ranked) for case in cases)
    situation = Situation(grades[-1], tuple(grades), False, False, longest, False, {"run": 1}, True)
    for way in ways(task_of(measure, profile_of(None), situation), situation, most):
        settings = way.settings or {}
        order = "line" if settings["order"] == "line" else settings["run"]
        if order not in judged:
            continue
        with contextlib.suppress(TrecevalError):  # such as a measure that needs a cutoff
            values = values_of(settings, judged[order])
            yield from [_Fit(way, values, trial, trial.how(values)) for trial in trials]


def explain_function(function: Callable[..., Any], measure: str | Measure) -> ExplainedFunction:
    """Explain how somebody's own function computes a measure, by calling it on artificial rankings.

    The function is only called, hundreds of times, in the ways in which such functions take rankings and judgments.
    What it returns is compared, query by query, with the measure and with what people change in it.

    Parameters
    ----------
    function : callable
        The function. It takes the ranking and the judgments of a query or of many: ids, labels, scores, ranks or
        frames. What it prints is dropped.
    measure : str or Measure
        What it is meant to compute, such as ``nDCG@10``.

    Returns
    -------
    ExplainedFunction
        The ways of computing the measure that give its values.

    Raises
    ------
    MeasureError
        The measure is unknown or not supported, or `function` is not one of Python.

    Examples
    --------
    >>> def precision(retrieved, relevant, k):
    ...     top = retrieved[:k]
    ...     return sum(doc in relevant for doc in top) / len(top)
    >>> print(explain_function(precision, "P@5"))
    precision computes P@5, but: divided by min(k, documents retrieved).
    It was called as precision(retrieved=ids, relevant=set of relevant ids, k=the cutoff).
    Where nothing is retrieved, it raises ZeroDivisionError.
    """
    (measured, *_) = parse_measures(measure)
    check_number(measured)
    other = "a coroutine" if inspect.iscoroutinefunction(function) else ""
    try:
        inspect.signature(function)
    except (TypeError, ValueError):
        other = shown(function)
    if other:
        hint = "Write code=lambda retrieved, relevant, k: …, which calls yours."
        raise MeasureError(f"code must be a function of Python, not {other}", hint)
    cutoff = given(measured).get("cutoff")
    made = {key: cases_of(cutoff, *key) for key in product(VIEWS, (False, True))}
    trials = _all_trials(function, made, cutoff=cutoff is not None)
    if not trials:
        said = "gives no numbers that depend on the ranking, in any form of rankings and judgments that we tried."
        calls = calls_of(function, cutoff=cutoff is not None, named=True)
        usual = [call for call in calls if call.view == BINARY][:1]
        happens = (_result(call, made[call.view, call.cut][0]) for call in usual)
        return ExplainedFunction(_name(function), measured, [], (f"{_name(function)} {said}", *happens))
    tried: list[_Fit] = []
    fits: list[_Fit] = []
    for view, most in product(VIEWS, range(1, MOST_CHANGES + 1)):
        for cut in (False, True) if not fits else ():
            alike = [trial for trial in trials if (trial.call.view, trial.call.cut) == (view, cut)]
            tried += _fits(measured, made[view, cut], alike, most) if alike else ()
        fits = fits or [fit for fit in tried if fit.how is not None]
    best = min(fits, key=lambda fit: (fit.how != "", -fit.way.prior)) if fits else None
    first = best or min(tried, key=lambda fit: (fit.trial is not trials[0], *fit.trial.distance(fit.values)))
    cases = made[first.trial.call.view, first.trial.call.cut]
    named = {fit.way.name: fit.way for fit in fits if fit.trial is first.trial and fit.how == first.how}
    named = named if first.way.ids else {"": first.way} if best else {}
    same = sorted(named.values(), key=lambda way: -way.prior)[:MOST_WAYS]
    if best is None:
        how = f" in none of the {len({fit.way.name for fit in tried})} ways that we tried."
    else:
        how = f", but: {first.way.name}." if first.way.ids else " as usual."
    place = f"; the number is {first.trial.place} of its result" if first.trial.place else ""
    sentences = [
        f"{_name(function)} computes {measured.heading}{how}",
        f"It was called as {first.trial.call}{place}.",
        *([_difference(first, cases)] if best is None else []),
        *([f"The same as: {'; or '.join(way.name for way in same[1:])}."] if same[1:] else []),
        *([f"It returns {first.how}."] if first.how else []),
        *_special(first, cases),
        *(_averaged(first, cases) if best and first.trial.call.several else []),
    ]
    return ExplainedFunction(_name(function), measured, same, tuple(sentences))


def _result(call: Call, case: Case) -> str:
    """Say what comes of a call that is no trial."""
    try:
        numbers = [f"{value:g}" for _, value in call(case)]
    except (Exception, SystemExit) as error:  # noqa: BLE001
        return f"Called as {call}, it raises {type(error).__name__}: {brief(str(error), 200)}"
    return f"Called as {call}, it returns {', '.join(numbers) or 'no number'}."


def _all_trials(
    function: Callable[..., Any], made: Mapping[tuple[str, bool], Sequence[Case]], *, cutoff: bool
) -> list[Trial]:
    """Call a function in all ways that fit the names of its parameters, or else in all others."""
    trials: dict[tuple[str, bool, bytes], Trial] = {}
    for named in (True, False):
        for call in calls_of(function, cutoff=cutoff, named=named) if not trials else ():
            # What takes ids may also run on labels, where it computes something else.
            if named and trials and RANKINGS & call.roles != RANKINGS & next(iter(trials.values())).call.roles:
                break
            for trial in _trials(call, made[call.view, call.cut]):
                trials.setdefault((call.view, call.cut, trial.values.tobytes()), trial)
    # A function of ids does not look at the grades of a dictionary.
    of_ids = {key[1:] for key, trial in trials.items() if any(form.views == "b" for _, form in trial.call.forms)}
    blind = any((GRADED, *key) in trials for key in of_ids)
    some = [trial for trial in trials.values() if not (blind and trial.call.view == GRADED)]
    # What takes a set of ids may look for them in a single one, too, as parts of a text.
    wide = {(trial.call.roles, trial.call.lift) for trial in some if trial.call.view != SINGLE}
    some = [trial for trial in some if trial.call.view != SINGLE or (trial.call.roles, trial.call.lift) not in wide]
    return sorted(some, key=lambda trial: sum(map(bool, trial.instead)))


def _difference(fit: _Fit, cases: Sequence[Case]) -> str:
    """Show the query on which the nearest way differs most from a function."""
    theirs = fit.trial.values
    at = int(np.where(fit.trial.compared, np.abs(theirs - fit.values), -1).argmax())
    ranked, grades = cases[at].ranked, cases[at].grades
    left = sorted((grade for document, grade in grades.items() if document not in ranked), reverse=True)
    return (
        f"The nearest is {fit.way.name or 'the usual way'}. For the labels "
        f"{' '.join(str(grades.get(document, '–')) for document in ranked)} in rank order, and "
        f"{' '.join(map(str, left)) or 'none'} not retrieved, it returns {theirs[at]:.6f}, and that way "
        f"{fit.values[at]:.6f}."
    )


def _special(fit: _Fit, cases: Sequence[Case]) -> list[str]:
    """Say for which queries a function returns no number, or an unusual one where there is nothing to compute."""
    about: dict[str, list[str]] = {}
    for case, instead, theirs, ours in zip(cases, fit.trial.instead, fit.trial.values, fit.values, strict=True):
        if not instead and case.about in EDGES and abs(theirs - ours) > SAME:
            about.setdefault(f"returns {theirs:g}, not {ours:g}", []).append(case.about)
        elif instead:
            about.setdefault(instead, []).append(case.about)
    return [f"Where {' or '.join(dict.fromkeys(which))}, it {instead}." for instead, which in about.items()]


def _averaged(fit: _Fit, cases: Sequence[Case]) -> list[str]:
    """Say how a function averages several queries, if it takes them, and does not return their mean."""
    trial, digits = fit.trial, re.search(r"\d", fit.how or "")
    apart = 10.0 ** -int(digits[0]) if digits else SAME
    there = [number for number, instead in enumerate(trial.instead) if not instead.startswith("raises")]
    some, values = [cases[number] for number in there], np.nan_to_num(trial.values[there])
    try:
        means = [value for place, value in trial.call(*some) if place in (trial.place, f"[{len(some) - 1}]")]
    except (Exception, SystemExit):  # noqa: BLE001
        return []  # such as arrays of lists that are not equally long
    over = {
        "": [True for _ in some],
        " over the queries with relevant documents": [bool(case.gold) for case in some],
        " over the queries with retrieved documents": [bool(case.ranked) for case in some],
        " over the queries with a value above 0": [value > 0 for value in values],
    }
    for words, counted in over.items():
        if len(means) != 1 or abs(values[counted].mean() - means[0]) <= apart:  # several are a number for each query
            return [f"It averages{words}."] * bool(words)
    return ["For several queries, it returns another number than their mean, such as a micro-average."]
