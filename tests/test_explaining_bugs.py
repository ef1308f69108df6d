"""Explain names what people really get wrong: numbers of `wrong_metrics` on data that nothing was tuned on, too."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence

import pytest
from wrong_metrics import Case, Data, every_case, score

import treceval_py as te
from treceval_py.explaining.explanation import Explained, Match


def first_group(explained: Explained) -> list[Match]:
    """Return the matches that the report names before "and also by"."""
    best = explained.matches[0]
    return [
        match
        for match in explained.matches
        if match.how == best.how and match.variant.cost <= max(1, best.variant.cost)
    ]


def verdict(case: Case, explained: Explained) -> str:
    """Return whether the cause, or one with the very same number, is named first, later, or not."""
    if not explained.matches:
        return "none"
    same = [match for match in explained.matches if abs(match.outcome.mean - case.value) <= 1e-9]
    group = first_group(explained)
    if any(match in same for match in group):
        return "first"
    if group[0].variant.cost == 4:
        return "later" if same else "chance"
    return "wrong"


def verdicts(cases: Sequence[Case]) -> list[tuple[Case, str, Explained]]:
    data = cases[0].data
    explained = te.explain(data.qrels, data.run, claims=[case.text for case in cases]).measures
    return [(case, verdict(case, found), found) for case, found in zip(cases, explained, strict=True)]


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
