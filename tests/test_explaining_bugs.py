"""Explain names what people really get wrong: numbers of `wrong_metrics` on data that nothing was tuned on, too."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence

import pytest
from wrong_metrics import Case, every_case

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
