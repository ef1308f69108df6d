"""Measures over judgments of a sample: twins, arithmetic in sight, and the order of queries and documents."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from rankings import CHOICES, random_parameters
from twins_sampled import PROBABILITIES, STRATA, Document, Ranking

import treceval_py as te
from treceval_py.data.ids import Ids
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import Ranking as How
from treceval_py.data.sample import Sample
from treceval_py.judging.sampled import JudgedSample, drawn_labels, judge_sample
from treceval_py.measuring import FAMILIES, parse_measures

DEPTH = 9


def drawn(rng: random.Random) -> tuple[Ranking, list[Document]]:
    """Draw a ranking and the rest of the pool of one query; each stratum has a judged document."""
    documents: list[Document] = []
    for stratum in rng.sample("abc", rng.randint(1, 3)):
        documents.append((rng.choice([0, 1, 2, 10]), stratum, rng.choice([1.0, 0.5, 0.25])))
        for _ in range(rng.randint(0, 6)):
            documents.append((rng.choice([-1, 0, 0, 1, 2]), stratum, rng.choice([1.0, 0.5, 0.1])))
    rng.shuffle(documents)
    ranked = rng.randint(0, len(documents))
    ranking: Ranking = [*documents[:ranked], *[None] * rng.randint(0, 4)]
    rng.shuffle(ranking)
    return ranking, documents[ranked:]


def judged(queries: list[tuple[Ranking, list[Document]]], *, strata: bool) -> JudgedSample:
    """Judge rankings as queries 0, 1, …; documents have numbers as ids, and lines are in no order."""
    docids, rows, offsets = list[str](), list[Document](), [0]
    run: dict[str, dict[str, float]] = {}
    for number, (ranking, others) in enumerate(queries):
        pool = [(f"{at}", document) for at, document in enumerate([*ranking, *others]) if document is not None]
        random.Random(number).shuffle(pool)
        docids += [docid for docid, _ in pool]
        rows += [document for _, document in pool]
        offsets.append(len(rows))
        run[f"{number}"] = {f"{at}": -float(at) for at in range(len(ranking))}
    rels, names, shares = zip(*rows, strict=True)
    sample = Sample(np.array(names, dtype=object))
    if not strata:
        sample = Sample(None, np.array(shares), np.ones(len(rows), dtype=np.int64))
    qids = [f"{number}" for number in range(len(queries))]
    qrels = Qrels.from_columns(qids, np.array(offsets), Ids.from_text(docids), np.array(rels), sample=sample)
    return judge_sample(qrels, run, How(depth=DEPTH), complete=True)


@pytest.mark.parametrize("name", [*STRATA, *PROBABILITIES])
def test_measures_of_a_sample_equal_their_twins(name: str) -> None:
    rng, strata = random.Random(name), name in STRATA
    for _ in range(40):
        queries = [drawn(rng) for _ in range(12)]
        sample = judged(queries, strata=strata)
        given = random_parameters(FAMILIES[name], rng, CHOICES | {"level": [1, 1, 2]})
        twin = {**STRATA, **PROBABILITIES}[name]
        wanted = [twin(*queries[int(qid)], DEPTH, **given) for qid in sample.qids]
        values = FAMILIES[name].function(sample, **given)
        assert values == pytest.approx(wanted, rel=1e-12, abs=1e-12), given
        keep = np.array([rng.random() < 0.5 for _ in queries])
        assert FAMILIES[name].function(sample.select(keep), **given) == pytest.approx(
            np.array(wanted)[keep], rel=1e-12, abs=1e-12
        )


# Three strata: a is complete, of b one in two was judged, of c nothing. Ranking: a relevant, c, b relevant, b, nothing.
OF_STRATA = drawn_labels("1:a -1:c 2:b -1:b -", missed="0:a 0:b -1:b 1:a")

BY_HAND = {
    # R̂ = 2 of a + 4/2 of b. At rank 1 the precision is 1; at rank 3 it is (1 + 1 + 1/3) / 3, times 2.
    "xinfAP": (1 + 2 * (2 + 1 / 3) / 3) / 4,
    # a: 1/1 · 1 / log2(2). b: 2/1 · 2 / log2(4). Ideal: grade 2 twice, then 1 twice.
    "infNDCG": (1 + 2 * 2 / 2) / (2 + 2 / np.log2(3) + 1 / 2 + 1 / np.log2(5)),
    # a 1, c 1/3, b 2 · 1/1.
    "iP@10": (1 + 1 / 3 + 2) / 10,
    "INumRelRet": 1 + 1 / 3 + 2,
    "INumRel": 4,
}


@pytest.mark.parametrize("name", BY_HAND)
def test_measures_of_strata_have_the_values_that_arithmetic_gives(name: str) -> None:
    (measure,) = parse_measures(name)
    # The epsilon of the program, 0.00001, is what arithmetic leaves out.
    assert measure(OF_STRATA) == pytest.approx([BY_HAND[name]], rel=1e-4)


def test_the_value_of_a_query_does_not_depend_on_the_others() -> None:
    rng = random.Random(7)
    queries = [drawn(rng) for _ in range(11)]
    together = judged(queries, strata=True)
    for number, query in enumerate(queries):
        alone = judged([query], strata=True)
        place = together.qids.index(f"{number}")
        for name in STRATA:
            (measure,) = parse_measures(f"{name}@5" if name == "iP" else name)
            value: Any = measure(together)
            assert measure(alone)[0] == pytest.approx(value[place], rel=1e-15)


def test_a_measure_of_strata_refuses_probabilities_and_a_measure_of_a_sample_refuses_whole_judgments() -> None:
    prels = te.read_qrels(text="1 a 1 1 0.5\n1 b 0 1 1\n", format="prels")
    with pytest.raises(te.errors.EvaluationError, match="these judgments have probabilities, and no strata"):
        te.evaluate(prels, {"1": {"a": 1.0}}, "xinfAP")
    with pytest.raises(te.errors.EvaluationError, match="measure statAP needs judgments of a sample"):
        te.evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, "statAP")
