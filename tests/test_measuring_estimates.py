"""Estimates from a sample: against their twins, the values with all judgments, and means over all samples."""

from __future__ import annotations

import random

import pytest
from twins_estimates import Relevant, est_ap, est_ndcg_of_one_round

from treceval_py.judging.sampled import JudgedSample, drawn_labels
from treceval_py.measuring import estimates
from treceval_py.measuring.estimates import estimated_average_precision, estimated_ndcg


def drawn(documents: list[tuple[int, str]], missed: list[tuple[int, str]]) -> JudgedSample:
    """Return the judged sample of one query: (grade, stratum) in rank order, and those not retrieved."""
    return drawn_labels(*(" ".join(f"{grade}:{stratum}" for grade, stratum in of) for of in (documents, missed)))


def relevant(documents: list[tuple[int, str]], missed: list[tuple[int, str]]) -> list[Relevant]:
    """Return the relevant documents of a sample."""
    strata = [stratum for _, stratum in documents + missed]
    judged = [stratum for grade, stratum in documents + missed if grade >= 0]
    ranked = [*enumerate(documents, 1), *((0, one) for one in missed)]
    return [
        Relevant(rank, grade, stratum, strata.count(stratum), judged.count(stratum))
        for rank, (grade, stratum) in ranked
        if grade > 0
    ]


def at_random(rng: random.Random, sizes: dict[str, tuple[int, int]]) -> tuple[list[tuple[int, str]], ...]:
    """Draw grades for strata of some sizes, of which some are judged; some documents are not retrieved."""
    documents = [
        (rng.choice([0, 1, 1, 2]) if at < judged else -1, stratum)
        for stratum, (pooled, judged) in sizes.items()
        for at in range(pooled)
    ]
    rng.shuffle(documents)
    cut = rng.randint(1, len(documents))
    return documents[:cut], documents[cut:]


def test_est_ap_equals_its_twin() -> None:
    rng = random.Random(1)
    for _ in range(25):
        pooled = {stratum: rng.randint(1, 8) for stratum in "abc"}
        judged = {stratum: rng.randint(min(3, size), size) for stratum, size in pooled.items()}
        sample = at_random(rng, {stratum: (pooled[stratum], judged[stratum]) for stratum in "abc"})
        cutoff = rng.randint(1, 20)
        expected = est_ap(relevant(*sample)), est_ap(relevant(*sample), cutoff)
        run = drawn(*sample)
        values = estimated_average_precision(run)[0], estimated_average_precision(run, cutoff=cutoff)[0]
        assert values == pytest.approx(expected, rel=1e-3, abs=1e-4), sample


def test_est_ndcg_of_one_round_equals_its_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "ROUNDS", 1)
    rng = random.Random(2)
    for _ in range(15):
        # Beside one judged document the others are judged with probability 1/3 (b), 1/2 (c) and 1 (a).
        sample = at_random(rng, {"a": (3, 3), "b": (6, 2), "c": (4, 2)})
        if relevant(*sample):
            expected = est_ndcg_of_one_round(relevant(*sample))
            assert estimated_ndcg(drawn(*sample))[0] == pytest.approx(expected, rel=3e-3), sample
