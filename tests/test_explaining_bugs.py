"""Explain names what people really get wrong: numbers of `wrong_metrics` on data that nothing was tuned on, too."""

from __future__ import annotations

import math
import random
import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from wrong_metrics import DEVELOPMENT, SHAPES, Case, Data, cases, cases_of, distinct, made, score

import treceval_py as te
from treceval_py.explaining.explanation import Explained, Match

CASES = Path(__file__).with_name("public-cases")


def first_group(explained: Explained) -> list[Match]:
    """Return the matches that are named first: the top one, and those that are said to fit as well."""
    return [match for match in explained.matches if match.likely]


def verdict(case: Case, explained: Explained) -> str:
    """Return where the cause is named, or one with the very same number.

    "first" is in the first group and "chance" is in no first group, which is said to match by chance; "wrong" is another
    cause without such a word, and "none" no cause.
    """
    if not explained.matches:
        return "none"
    if any(abs(match.outcome.mean - case.value) <= 1e-9 for match in first_group(explained)):
        return "first"
    return "chance" if explained.by_chance else "wrong"


class Answer(NamedTuple):
    """A case and what is said about its number."""

    case: Case
    verdict: str
    explained: Explained

    @property
    def named(self) -> bool:
        """Whether the first group has the very causes, or those with the same number, by their ids."""
        alike = {*self.case.alike}
        return any(frozenset(match.variant.ids) in alike for match in first_group(self.explained))


def answers(some: Sequence[Case], digits: int = 4) -> list[Answer]:
    """Ask for the cause of each number; all are of one data set."""
    data = some[0].data
    claims = [f"{case.measure}={case.value:.{digits}f}" for case in some]
    explained = te.explain(data.qrels, data.run, claims=claims).measures
    return [Answer(case, verdict(case, one), one) for case, one in zip(some, explained, strict=True)]


def line_of(what: str, of: Sequence[Answer]) -> str:
    """Return a line of the table: how many are where, at the top, by their ids, certain; ways in the first group."""
    every, count = max(len(of), 1), Counter(answer.verdict for answer in of)
    first = [answer for answer in of if answer.verdict == "first"]
    top = sum(abs(answer.explained.matches[0].outcome.mean - answer.case.value) <= 1e-9 for answer in first)
    certain = sum(not answer.explained.by_chance for answer in first)
    named = sum(answer.named for answer in first)
    size = statistics.fmean(len(first_group(answer.explained)) for answer in first) if first else 0.0
    return (
        f"{what:18} {len(of):5} {count['first'] / every:7.1%} {count['wrong']:5} {count['chance']:6} {count['none']:5} "
        f"{top / every:7.1%} {named / every:7.1%} {certain / every:7.1%} {size:6.2f}"
    )


HEAD = f"{'':18} cases   first wrong chance  none     top   named certain  group"


@pytest.mark.slow
@pytest.mark.parametrize("held_out", [False, True], ids=["development", "held out"])
@pytest.mark.parametrize("name", SHAPES)
def test_what_people_get_wrong_is_named_first(name: str, held_out: bool) -> None:
    every = answers(cases_of(name, held_out))
    print(f"\n{HEAD}\n{line_of(name, every)}")
    for size, what in enumerate(("one", "two", "three"), 1):
        print(line_of(what, [answer for answer in every if min(map(len, answer.case.alike)) == size]))
    count = Counter(answer.verdict for answer in every)
    assert count["first"] >= 0.95 * len(every)
    assert count["wrong"] == 0


def test_a_sample_of_what_people_get_wrong_is_named_first() -> None:
    sample = cases_of("sparse, ties")[::40]
    assert Counter(answer.verdict for answer in answers(sample)) == {"first": len(sample)}


@pytest.mark.slow
def test_few_digits_of_few_queries_are_said_to_match_by_chance() -> None:
    few = answers(distinct(cases(made("graded, ties", 7, 5)))[::4], digits=2)
    print(f"\n{HEAD}\n{line_of('two digits', few)}")
    assert sum(answer.verdict == "wrong" for answer in few) <= 0.02 * len(few)


def test_the_ideal_of_the_retrieved_top_is_named_first() -> None:
    # 0.4537 is what scikit-learn's ndcg_score prints for the first ten documents of each query.
    explained = te.explain(
        CASES / "explain-ideal-topk.qrels", CASES / "explain-ideal-topk.run", claims="nDCG@10=0.4537"
    )
    assert "ideal-topk" in {cause for match in first_group(explained.measures[0]) for cause in match.variant.ids}


@pytest.mark.parametrize("causes", ["ideal-topk", "ap-over-hits", "recall-capped"])
def test_a_claim_may_be_a_percentage(causes: str) -> None:
    data = made("graded, ties", *DEVELOPMENT["graded, ties"])
    measure = {"i": "nDCG@10", "a": "AP", "r": "R@10"}[causes[0]]
    value = score(data, measure, [causes])
    assert value is not None
    for claim in (f"{measure}={100 * value:.2f}", f"{measure}={100 * value:.2f}%"):
        (explained,) = te.explain(data.qrels, data.run, claims=claim).measures
        assert any(abs(match.outcome.mean - value) <= 1e-9 for match in first_group(explained)), claim


def certain(data: Data, claims: Sequence[str]) -> int:
    """Count the claims for which causes are named, and not said to match by chance."""
    explained = te.explain(data.qrels, data.run, claims=claims).measures
    return sum(bool(one.matches) and not one.by_chance for one in explained)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_a_number_of_no_origin_is_not_explained_with_certainty(name: str) -> None:
    rng, data = random.Random(20), made(name, *DEVELOPMENT[name])
    claims = [
        f"{measure}={max(right + rng.uniform(-0.1, 0.1), 0):.4f}"
        for measure in ("nDCG@10", "AP", "RR@10", "R@10", "P@10")
        if (right := score(data, measure)) is not None
        for _ in range(12)
    ]
    assert certain(data, claims) <= 0.05 * len(claims)


@pytest.mark.slow
def test_one_of_few_possible_numbers_is_not_explained_with_certainty() -> None:
    # With a hit in some of 34 queries, there are few numbers, and each is given by something.
    data = made("sparse", *DEVELOPMENT["sparse"])
    queries = len(data.run.keys() & data.qrels.keys())
    claims = [f"Success@5={hits / queries:.4f}" for hits in range(5, queries - 5)]
    assert certain(data, claims) <= len(claims) / 4


# --- the wrong functions are wrong in the way that their names say ---

ONE = Data("one query", {"q": {"b": 3, "d": 1, "e": 2, "c": 0}}, {"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}})
"""Ranked a b c d, with labels - 3 0 1; another document with label 2 was not returned. So R = 3 and n = 4."""
L3 = math.log2(3)
L5 = math.log2(5)

BY_HAND = {
    "nDCG@3": 3 / L3 / (3 + 2 / L3 + 1 / 2),
    "nDCG@3 ideal-topk": (3 / L3) / 3,
    "nDCG@3 ideal-retrieved": (3 / L3) / (3 + 1 / L3),
    "nDCG@3 ideal-k-ones": (3 / L3) / (1 + 1 / L3 + 1 / 2),
    "nDCG@3 ideal-k-ones+gain-01": (1 / L3) / (1 + 1 / L3 + 1 / 2),
    "nDCG@2 ideal-uncut": (3 / L3) / (3 + 2 / L3 + 1 / 2),
    "nDCG@3 ideal-max-grade": (3 / L3) / (3 + 3 / L3 + 3 / 2),
    "nDCG@3 ideal-max-grade+gain-01-run": (1 / L3) / (3 + 3 / L3 + 3 / 2),
    "nDCG@3 gain-01-run": (1 / L3) / (3 + 2 / L3 + 1 / 2),
    "nDCG@9 ideal-min-rn-ones+gain-01": (1 / L3 + 1 / L5) / (1 + 1 / L3 + 1 / 2),
    "nDCG@9 ideal-min-kn-ones+gain-01": (1 / L3 + 1 / L5) / (1 + 1 / L3 + 1 / 2 + 1 / L5),
    "nDCG@3 ideal-none": 3 / L3,
    "nDCG@3 ideal-none+gain-exp": 7 / L3,
    "nDCG@3 log2-rank": 3 / (3 + 2 + 1 / L3),
    "nDCG@3 ideal-topk+log2-rank+gain-exp": 7 / 7,
    "nDCG@3 discount-rank": (3 / 2) / (3 + 2 / 2 + 1 / 3),
    "nDCG@3 log2-rank-plus-2": (3 / 2) / (3 / L3 + 2 / 2 + 1 / L5),
    "nDCG@3 log2-rank-plus-2-run": (3 / 2) / (3 + 2 / L3 + 1 / 2),
    "nDCG@3 ln-rank": (3 / math.log(2)) / (3 + 2 / math.log(2) + 1 / math.log(3)),
    "nDCG@3 gain-share+ideal-r-ones": (3 / 3 / L3) / (1 + 1 / L3 + 1 / 2),
    "DCG@3 ln": 3 / math.log(3),
    "AP": (1 / 2 + 2 / 4) / 3,
    "AP ap-over-hits": (1 / 2 + 2 / 4) / 2,
    "AP@3 ap-over-hits-in-list": (1 / 2) / 2,
    "AP@2 ap-capped": (1 / 2) / 2,
    "AP@4 ap-over-k": (1 / 2 + 2 / 4) / 4,
    "AP@9 ap-over-n": (1 / 2 + 2 / 4) / 4,
    "AP@3 ap-mean-of-p": (0 + 1 / 2 + 1 / 3) / 3,
    "AP ap-last-skipped": (1 / 2) / 3,
    "AP ap-last-hit": 2 / 4,
    "AP@3 ap-is-p": 1 / 3,
    "RR rr-sum": 1 / 2 + 1 / 4,
    "RR rr-over-hits": (1 / 2 + 1 / 4) / 2,
    "RR rr-over-r": (1 / 2 + 1 / 4) / 3,
    "RR@1 rr-miss-k": 1 / 2,
    "RR level-2": 1 / 2,
    "P@9 p-over-length": 2 / 4,
    "P@9 p-over-min-kr": 2 / 3,
    "P@3 hits-uncut": 2 / 3,
    "P@3 cutoff-plus-1-divisor": 2 / 3,
    "R@3 recall-is-hit-rate": 1,
    "R@2 recall-capped": 1 / 2,
    "R@3 recall-is-precision": 1 / 3,
    "R@9 recall-over-length": 2 / 4,
    "R@3 recall-in-list": 1 / 2,
    "F1@4": 2 * (2 / 4) * (2 / 3) / (2 / 4 + 2 / 3),
    "F1@9 p-over-length": 2 * (2 / 4) * (2 / 3) / (2 / 4 + 2 / 3),
    "Success@4 success-is-recall": 2 / 3,
    "ERR@4": (7 / 8) / 2 + (1 / 8) * (1 / 8) / 4,
    "ERR@4 err-last-term": (1 / 8) * (1 / 8) / 4,
    "ERR@4 err-max-4": (7 / 16) / 2 + (9 / 16) * (1 / 16) / 4,
    "ERR@4 err-prob-g-max": 1 / 2,
    "ERR@4 err-half-unjudged": 1 / 2 + (1 / 2) * (7 / 8) / 2 + (1 / 2) * (1 / 8) * (1 / 8) / 4,
    # one document was judged not relevant: c, above d alone
    "Bpref": (1 + (1 - 1 / 1)) / 3,
    "Bpref bpref-over-r": (1 + (1 - 1 / 3)) / 3,
    "Bpref bpref-added": 1 / 3 + 1 + (1 - 1 / 1),
    "Bpref bpref-unjudged": ((1 - 1 / 1) + (1 - 2 / 1)) / 3,
}


@pytest.mark.parametrize("what", BY_HAND)
def test_a_wrong_metric_computes_what_its_name_says(what: str) -> None:
    measure, _, causes = what.partition(" ")
    assert score(ONE, measure, causes.split("+")) == pytest.approx(BY_HAND[what], rel=1e-12)


TWO = Data("two queries", {"1": {"a": 1, "b": 1}, "2": {"c": 0}, "3": {"d": 1}, "4": {"e": 1}},
           {"1": {"x": 3.0, "a": 2.0}, "2": {"c": 1.0}, "3": {"y": 1.0}, "9": {"z": 1.0}})  # fmt: skip
"""AP of query 1 is (1/2)/2; 2 has no relevant document, 3 no hit, 4 no results, and 9 no judgments."""


@pytest.mark.parametrize(
    ("measure", "causes", "value"),
    [
        ("AP", "", (1 / 4 + 0 + 0) / 3),
        ("AP", "no-gold-one", (1 / 4 + 1 + 0) / 3),
        ("AP", "no-gold-out", (1 / 4 + 0) / 2),
        ("AP", "hit-only", 1 / 4),
        ("AP", "missing-zero", (1 / 4 + 0 + 0 + 0) / 4),
        ("AP", "no-gold-out+missing-zero", (1 / 4 + 0 + 0) / 3),
        ("AP", "nothing-returned-one+missing-zero", (1 / 4 + 0 + 0 + 1) / 4),
        ("AP", "over-run", (1 / 4 + 0 + 0) / 4),
        ("AP@2", "short-out", 1 / 4),
        ("AP", "median", 0),
        ("AP", "ap-pooled", (1 / 2) / (2 + 0 + 1)),
        ("RR", "rr-mean-rank", 1 / 2),
        ("R@2", "micro", (1 + 0 + 0) / (2 + 0 + 1)),
        ("P@2", "micro+p-over-length", (1 + 0 + 0) / (2 + 1 + 1)),
        ("F1@2", "f1-of-means", 2 * (1 / 6) * (1 / 6) / (1 / 6 + 1 / 6)),
    ],
)
def test_a_wrong_mean_is_of_the_queries_that_its_name_says(measure: str, causes: str, value: float) -> None:
    assert score(TWO, measure, causes.split("+")) == pytest.approx(value, rel=1e-12)
