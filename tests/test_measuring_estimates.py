"""Estimates from a sample: against their twins, values with all judgments, and means over all samples."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from twins_estimates import Relevant, est_ap, est_ndcg_of_one_round

import treceval_py as te
from treceval_py.judging.sampled import JudgedSample, drawn_labels
from treceval_py.measuring import estimates
from treceval_py.measuring.estimates import estimated_average_precision, estimated_ndcg
from treceval_py.measuring.sampled import stat_average_precision

Documents = list[tuple[int, str]]


def drawn(ranked: Documents, missed: Documents) -> JudgedSample:
    """Return the judged sample of one query: grades and strata in rank order, and of documents not retrieved."""
    return drawn_labels(*(" ".join(f"{grade}:{stratum}" for grade, stratum in of) for of in (ranked, missed)))


def relevant(ranked: Documents, missed: Documents) -> list[Relevant]:
    """Return the relevant documents of a sample."""
    strata = [stratum for _, stratum in ranked + missed]
    judged = [stratum for grade, stratum in ranked + missed if grade >= 0]
    return [
        Relevant(rank, grade, stratum, strata.count(stratum), judged.count(stratum))
        for rank, (grade, stratum) in [*enumerate(ranked, 1), *((0, one) for one in missed)]
        if grade > 0
    ]


def at_random(rng: random.Random, sizes: dict[str, tuple[int, int]]) -> tuple[Documents, Documents]:
    """Draw grades for strata of some sizes, of which some documents are judged; some are not retrieved."""
    documents = [
        (rng.choice([0, 1, 1, 2]) if at < judged else -1, stratum)
        for stratum, (pooled, judged) in sizes.items()
        for at in range(pooled)
    ]
    rng.shuffle(documents)
    retrieved = rng.randint(1, len(documents))
    return documents[:retrieved], documents[retrieved:]


# 1/R and 1/ideal are fitted by 20 exponentials, the twins' are exact: hence the tolerances.


@pytest.mark.parametrize("strata", ["abc", ["1", "0.5", "0.3", "0.02"]])
def test_est_ap_equals_its_twin(strata: str | list[str]) -> None:
    rng = random.Random(1)
    for _ in range(4):
        pooled = {stratum: rng.randint(1, 6) for stratum in strata}
        judged = {stratum: rng.randint(min(3, size), size) for stratum, size in pooled.items()}
        if strata != "abc":
            judged = pooled = {stratum: rng.randint(0, 3) for stratum in strata} | {"1": 1}
        sample = at_random(rng, {stratum: (pooled[stratum], judged[stratum]) for stratum in strata})
        run, cutoff, level = drawn(*sample), rng.randint(1, 20), rng.choice([1, 2])
        values = [
            estimated_average_precision(run)[0],
            estimated_average_precision(run, cutoff=cutoff, level=level)[0],
        ]
        expected = [est_ap(relevant(*sample)), est_ap(relevant(*sample), cutoff=cutoff, level=level)]
        assert values == pytest.approx(expected, rel=1e-4, abs=1e-5), sample


def test_est_ndcg_of_one_round_equals_its_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "ROUNDS", 1)
    rng = random.Random(2)
    for _ in range(4):
        # Beside one of its stratum, a document of b is judged with probability 1/5, of c 1/3; else 1/3 and 1/2.
        sample = at_random(rng, {"a": (3, 3), "b": (6, 2), "c": (4, 2)})
        expected = est_ndcg_of_one_round(relevant(*sample))
        assert estimated_ndcg(drawn(*sample))[0] == pytest.approx(expected, rel=1e-3), sample


def test_where_everything_was_judged_they_are_ap_and_ndcg() -> None:
    # Relevant at ranks 1, 3 and 4 of four; grades 5, 1, 2 and, not retrieved, 4: with all in one group of three kinds.
    run = drawn([(5, "a"), (0, "b"), (1, "a"), (2, "b")], [(4, "a"), (0, "a")])
    assert estimated_average_precision(run)[0] == pytest.approx((1 + 2 / 3 + 3 / 4) / 4, rel=1e-9)
    assert estimated_average_precision(run, cutoff=3)[0] == pytest.approx((1 + 2 / 3) / 4, rel=1e-9)
    ideal = 5 + 4 / math.log2(3) + 2 / 2
    assert estimated_ndcg(run)[0] == pytest.approx(
        (5 + 1 / 2 + 2 / math.log2(5)) / (ideal + 1 / math.log2(5)), rel=1e-9
    )
    assert estimated_ndcg(run, cutoff=3)[0] == pytest.approx((5 + 1 / 2) / ideal, rel=1e-9)


def test_the_mean_over_all_samples_is_nearer_to_the_truth_than_that_of_stat_ap() -> None:
    grades, means = [1, 0, 2, 1, 0, 1], np.zeros(3)
    for judged in itertools.product([True, False], repeat=len(grades)):
        if any(judged):
            run = drawn_labels(
                " ".join(f"{grade}:0.5" if one else "-" for grade, one in zip(grades, judged, strict=True))
            )
            values = [
                measure(run)[0] for measure in (estimated_average_precision, stat_average_precision, estimated_ndcg)
            ]
            means += np.array(values) / 2 ** len(grades)
    average_precision = (1 + 2 / 3 + 3 / 4 + 4 / 6) / 4
    gained, ideal = 1 + 2 / 2 + 1 / math.log2(5) + 1 / math.log2(7), 2 + 1 / math.log2(3) + 1 / 2 + 1 / math.log2(5)
    assert means[0] == pytest.approx(average_precision, rel=0.02)
    assert means[1] < 0.9 * average_precision
    assert means[2] == pytest.approx(gained / ideal, rel=0.02)


def test_without_a_relevant_document_they_are_0() -> None:
    for run in (drawn([(0, "a"), (-1, "a")], []), drawn([(0, "a")], [(1, "a")])):
        assert estimated_average_precision(run).tolist() == estimated_ndcg(run).tolist() == [0.0]


@pytest.mark.parametrize("measure", ["estAP", "estAP@3", "estNDCG", "estNDCG@3"])
def test_the_value_of_a_query_does_not_depend_on_the_others(measure: str) -> None:
    rng = random.Random(3)
    lines, run = [], {}
    for qid in ("q1", "q2", "q3", "q4"):
        ranked, missed = at_random(rng, {"a": (3, 3), "b": (9, 4)})
        lines.append([f"{qid} 0 d{at} {stratum} {grade}\n" for at, (grade, stratum) in enumerate(ranked + missed)])
        run[qid] = {f"d{at}": -float(at) for at in range(len(ranked))}
    together = te.evaluate(te.read_qrels(text="".join(itertools.chain(*lines))), run, measure).to_dict()
    for (qid, ranking), own in zip(run.items(), lines, strict=True):
        alone = te.evaluate(te.read_qrels(text="".join(own)), {qid: ranking}, measure).to_dict()
        assert alone[qid] == pytest.approx(together[qid], rel=1e-6)
