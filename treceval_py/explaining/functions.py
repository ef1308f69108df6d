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

from treceval_py._types import FloatArray
from treceval_py.data.qrels import Qrels
from treceval_py.data.run import Run
from treceval_py.errors import MeasureError, listed
from treceval_py.explaining.scoring import Scorer, reductions
from treceval_py.explaining.variants import Variant, pairs_of, profile_variants, task_of, variants_of
from treceval_py.measuring import Measure, parse_measures
from treceval_py.scoring.planning import AS_USUAL
from treceval_py.scoring.profiles import profile_of

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
        return sorted(self.ranked)

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


def cases_of(k: int, view: str, *, cut: bool) -> list[Case]:
    """Make the queries, on which every change of a measure with the cutoff `k` gives another value.

    Parameters
    ----------
    k : int
        The cutoff.
    view : {GRADED, BINARY, SINGLE}
        What judgments are.
    cut : bool
        Whether lists end at the cutoff.
    """
    deal = random.Random(7)
    one, other = ("".join(deal.choices("-0123", (3, 2, 3, 2, 1), k=k + 3)) for _ in range(2))
    patterns = {
        "many documents are judged": (f"-2{one}"[: k + 3], "321100"),
        "more than k documents are relevant": (f"1{other}"[: k + 2], "2" + "1" * k),
        "the first relevant document is at rank 4": (f"-0-20-{one[::-1]}"[: k + 2], "2"),
        "few documents are retrieved": ("0-21-0120"[: max(k // 2, 2)], "31"),
        "all relevant documents are in a short list": ("0102--"[: max(k - 2, 2)], "00"),
        "the first relevant document is at rank k": (("0-" * k)[: k - 1] + "2", "1"),
        "the first relevant document is below rank k": (("-0" * k)[:k] + "21", "1"),
        NO_HIT: (("0-" * k)[: k + 2], "21"),
        NONE_RETRIEVED: ("", "21"),
        NONE_RELEVANT: ("0-00-", "0"),
    }
    cases = [_case(name, ranked, missed, k, view) for name, (ranked, missed) in patterns.items()]
    return [case._replace(ranked=case.ranked[:k]) for case in cases] if cut else cases


def _case(name: str, ranked: str, missed: str, k: int, view: str) -> Case:
    """Make a query of labels; ids are in no order."""
    documents, grades = [], {}
    order = random.Random(name).sample(range(10_000, 99_999), len(ranked) + len(missed))
    for rank, (number, label) in enumerate(zip(order, ranked + missed, strict=True), 1):
        document = Document(f"doc-{number}")
        grade = max(int(label.replace("-", "0")), 0)
        if view == SINGLE and any(grades.values()):
            grade, label = 0, "-"
        grade = grade if view == GRADED else min(grade, 1)
        ids = dict.fromkeys(_IDS, str(document))
        labels = {**dict.fromkeys(_LABELS, grade), "relevant": grade > 0, "is_relevant": grade > 0}
        scores = {**dict.fromkeys(_SCORES, 10.0 - rank / 16), "rank": rank}
        document.facts = {**ids, **labels, **scores, "metadata": ids}
        documents.append(document)
        if label != "-":
            grades[document] = grade
    return Case(name, documents[: len(ranked)], dict(sorted(grades.items())), k)


# How a function may be called --------------------------------------------------------------------


def _frame(case: Case, documents: Sequence[Document]) -> Any:
    import pandas as pd

    query = dict.fromkeys(_QUERIES, "q1")
    return pd.DataFrame([{**query, **document.facts} for document in documents]).drop(columns="metadata", errors="ignore")


class Form(NamedTuple):
    """A form of an argument: what it is for, what it is, which judgments it can show, and how it is made of a query."""

    role: str
    words: str
    views: tuple[str, ...]
    make: Callable[[Case], Any]


ANY = (GRADED, BINARY, SINGLE)
FORMS = (
    Form("k", "k", ANY, lambda case: case.k),
    Form("k", "[k]", ANY, lambda case: [case.k]),
    Form("retrieved", "retrieved", ANY, lambda case: list(case.ranked)),
    Form("retrieved", "(id, score) pairs", ANY, lambda case: [(each, each.facts["score"]) for each in case.ranked]),
    Form("retrieved", "{id: score}", ANY, lambda case: {each: each.facts["score"] for each in case.scored}),
    Form("relevant", "set of relevant", (BINARY,), lambda case: set(case.gold)),
    Form("relevant", "list of relevant", (BINARY,), lambda case: case.gold),
    Form("relevant", "{id: grade}", (GRADED, BINARY), lambda case: dict(case.grades)),
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
    Form("run", "frame of the run", (GRADED, BINARY), lambda case: _frame(case, case.scored)),
    Form("judgments", "frame of judgments", (GRADED, BINARY), lambda case: _frame(case, list(case.grades))),
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

LIFTS: dict[str, Callable[[Any], Any]] = {
    "": lambda value: value,
    "lists of ": lambda value: [value],
    "dictionaries of ": lambda value: {"q1": value},
}
"""How a function takes queries: one, or a list or a dictionary of them."""


class Call(NamedTuple):
    """A way to call a function: the form of each parameter, for which judgments, and of how many queries."""

    forms: tuple[tuple[inspect.Parameter, Form], ...]
    lift: str
    view: str
    cut: bool

    def __str__(self) -> str:
        told = [form.words if form.role == "k" else f"{self.lift}{form.words}" for _, form in self.forms]
        return ", ".join(told) + (" (lists cut at k)" if self.cut else "")

    def __call__(self, function: Callable[..., Any], case: Case) -> Any:
        args, named = [], {}
        for parameter, form in self.forms:
            value = form.make(case)
            value = value if form.role in ("k", "run", "judgments") else LIFTS[self.lift](value)
            if parameter.kind is parameter.POSITIONAL_ONLY:
                args.append(value)
            else:
                named[parameter.name] = value
        return function(*args, **named)


def _roles(name: str) -> Sequence[str]:
    return next((roles.split() for words, roles in NAMES.items() if re.fullmatch(words, name, re.IGNORECASE)), ())


def calls_of(function: Callable[..., Any], *, cutoff: bool) -> Iterator[Call]:
    """Yield the ways to call a function that its signature allows, the usual ones first."""
    parameters = [each for each in inspect.signature(function).parameters.values() if each.kind not in (2, 4)]
    required = [each for each in parameters if each.default is each.empty]
    optional = [each for each in parameters if each.default is not each.empty]
    for by_name, usual, k in product((True, False), CALLS, (("k",), ())):
        roles = (*usual, *k)
        extra = [each for each in optional if set(_roles(each.name)) & {"k", "grades", "all", "total"} & set(roles)]
        taken = required + extra
        if len(taken) != len(roles):
            continue
        for order in permutations(roles):
            wrong = [_roles(each.name) and role not in _roles(each.name) for each, role in zip(taken, order, strict=True)]
            if any(wrong) == by_name:
                continue
            some = [[form for form in FORMS if form.role == role] for role in order]
            for lift, view, *forms in product(LIFTS, ANY, *some):
                if all(view in form.views for form in forms):
                    for cut in (False, True) if cutoff and not k else (False,):
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
            yield from numbers_in(value, name if key == "q1" else f"{name}[{key!r}]")
    elif isinstance(result, (Sequence, np.ndarray)) and not isinstance(result, (str, bytes)):
        for number, value in enumerate(result[:MOST_NUMBERS]):
            yield from numbers_in(value, f"{name}[{number}]")
    else:
        for key, value in getattr(result, "__dict__", {}).items():
            yield from numbers_in(value, f"{name}.{key}")


class Trial(NamedTuple):
    """A number that a function returned for each made query, and what it returned where that is none."""

    call: Call
    cases: list[Case]
    place: str
    values: FloatArray
    problems: dict[str, str]

    @property
    def shown(self) -> str:
        return f"{self.call}{f', its result{self.place}' if self.place else ''}"


def tried(function: Callable[..., Any], call: Call, cases: list[Case]) -> list[Trial]:
    """Call a function for each made query; return the numbers that depend on the query."""
    results: list[dict[str, float]] = []
    problems: dict[str, str] = {}
    for number, case in enumerate(cases):
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                result = call(function, case)
                results.append(dict(numbers_in(result)))
                if result is None:
                    problems[case.name] = "None"
            except (Exception, SystemExit) as error:
                if number == 0:
                    return []
                problems[case.name] = f"{type(error).__name__}: {error}"
                results.append({})
    trials = []
    for place in results[0]:
        values = np.array([result.get(place, math.nan) for result in results])
        usual = values[: -len(EDGES)]
        if np.isfinite(usual).sum() >= len(usual) / 2 and len(set(usual[np.isfinite(usual)])) > 1:
            trials.append(Trial(call, cases, place, values, problems))
    return trials
