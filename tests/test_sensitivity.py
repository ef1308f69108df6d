"""What the order of ties and missing judgments can make of values: against all orders and all labels there are."""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from random_runs import random_pair

from treceval_py import JudgedRun, Measure, Qrels, Run, judge, parse_measures
from treceval_py.errors import EvaluationError, MeasureError
from treceval_py.judging.judged import Hits, Tied, ranked_labels
from treceval_py.measures import FAMILIES, Family
from treceval_py.measures.registry import PROMOTED
from treceval_py.ranges import TieRange, expected, tie_ranges, tied_documents, unjudged, unjudged_ranges

ORDERED = [family for family in FAMILIES.values() if family.promotes]
LABELLED = [FAMILIES[name] for name in unjudged._SEARCHES]

GAINS = [None, None, {1: 3.0, 2: 9.0}, {0: 1.0}, {1: 0.5, 2: 0.2, 3: 0.2}, {3: 0.0}]
CHOICES: dict[str, list[Any]] = {
    "level": [0, 1, 1, 1, 2, 5],
    "cutoff": [1, 2, 3, 4, 100],
    "recall": [0.0, 0.3, 0.5, 1.0],
    "recalls": [(0.0, 0.5, 1.0), (0.75, 0.25), (0.5, 0.0, 0.3)],
    "multiple": [0.5, 1.0, 2.0],
    "rounding": ["nearest", "up"],
    "gains": GAINS,
    "gain": ["linear", "exp"],
    "discount": ["log2", "jk"],
    "base": [2.0],
    "ideal": ["judged", "judged", "retrieved"],
    "steps": ["ordered"],
    "ties": ["ordered", "ordered", "average"],
    "norm": ["relevant", "capped", "retrieved"],
    "p": [0.5, 0.9],
    "coefficients": [(1.0, -1.0, 0.0, 0.0), (-1.0, 1.0, 0.25, 0.125)],
    "collection_size": [100],
    "beta_squared": [0.0, 1.0, 4.0],
    "weights": [None, (0.5, 0.0, 0.25, 0.25)],
    "beta": [0.0, 1.0, 3.0],
    "max_rel": [4],
    "min_rel": [0],
    "target": [1.0, 2.0],
    "deepest": [4, 1000],
    "normalised": ["yes", "no"],
}


def random_measure(family: Family, rng: random.Random) -> Measure:
    given = {parameter.name: rng.choice(CHOICES[parameter.name]) for parameter in family.parameters}
    if given.get("gains") and "gain" in given:
        given["gain"] = "linear"  # exponential gains are gains of their own
    return Measure(family, tuple(given.items()))


# Queries in the open --------------------------------------------------------------------------------

Labels = tuple[int | None, ...]
"""Labels in rank order; None is a document without a judgment, a negative one a document not judged."""


class Ranking:
    """A query: labels in rank order, the sizes of ties, and the judgments of documents that were not retrieved."""

    def __init__(self, labels: Sequence[int | None], sizes: Sequence[int], missed: Sequence[int] = ()) -> None:
        self.labels, self.sizes, self.missed = tuple(labels), tuple(sizes), tuple(missed)

    def orders(self) -> list[Labels]:
        starts = itertools.accumulate(self.sizes, initial=0)
        ties = [self.labels[start : start + size] for start, size in zip(starts, self.sizes, strict=False)]
        return [sum(order, ()) for order in itertools.product(*map(itertools.permutations, ties))]

    def fillings(self, top: int) -> list[Labels]:
        free = [at for at, label in enumerate(self.labels) if label is None or label < 0]
        found = []
        for choice in itertools.product(range(top + 1), repeat=len(free)):
            labels = list(self.labels)
            for at, label in zip(free, choice, strict=True):
                labels[at] = label
            found.append(tuple(labels))
        return found


def table(rankings: Sequence[Ranking], labels: Sequence[Labels] | None = None, depth: int | None = None) -> JudgedRun:
    """Make rankings the queries of a judged run; ``labels`` in place of their own, cut at a depth."""
    hits: list[tuple[int, int, int, int, int]] = []
    ideal: list[tuple[int, int, int]] = []
    lengths = []
    for query, ranking in enumerate(rankings):
        here = ranking.labels if labels is None else labels[query]
        end = len(here) if depth is None else min(depth, len(here))
        spans: list[tuple[int, int]] = []
        for size in ranking.sizes:
            spans += [(len(spans) + 1, len(spans) + size)] * size
        for rank, label in enumerate(here[:end], 1):
            if label is not None:
                hits.append((query, rank, label, *spans[rank - 1]))
        best = sorted([*(label for label in here if label is not None), *ranking.missed], reverse=True)
        ideal += [(query, rank, label) for rank, label in enumerate(best, 1)]
        lengths.append(end)
    of_hits = np.array(hits, dtype=np.int64).reshape(-1, 5).T
    of_ideal = np.array(ideal, dtype=np.int64).reshape(-1, 3).T
    return JudgedRun(
        tuple(map(str, range(len(lengths)))),
        Hits(*of_hits[:3]),
        Hits(*of_ideal),
        np.array(lengths, dtype=np.int64),
        "",
        Tied(*of_hits[3:]),
    )


def random_ranking(rng: random.Random, longest: int, most_unjudged: int = 99) -> Ranking:
    while True:
        labels = [rng.choice([None, None, -1, 0, 0, 1, 1, 2, 3]) for _ in range(rng.randint(0, longest))]
        if sum(label is None or label < 0 for label in labels) <= most_unjudged:
            break
    sizes: list[int] = []
    while sum(sizes) < len(labels):
        sizes.append(rng.randint(1, min(len(labels) - sum(sizes), 4)))
    return Ranking(labels, sizes, [rng.choice([-1, 0, 0, 1, 2, 4]) for _ in range(rng.randint(0, 3))])


Batch = tuple[JudgedRun, JudgedRun, "np.ndarray[Any, Any]"]
"""A run, all that its queries could be as a run of many queries, and where each query begins there."""


def batch(rankings: Sequence[Ranking], every: Sequence[Sequence[Labels]], depth: int | None = None) -> Batch:
    repeated = [ranking for ranking, choices in zip(rankings, every, strict=True) for _ in choices]
    starts = np.cumsum([0, *map(len, every)])
    return table(rankings), table(repeated, [labels for choices in every for labels in choices], depth), starts


DEPTHS = [None, None, 2, 4]


@functools.cache
def orders_of(number: int) -> Batch:
    rng = random.Random(f"orders {number}")
    rankings = [random_ranking(rng, 7) for _ in range(250)]
    return batch(rankings, [ranking.orders() for ranking in rankings], DEPTHS[number])


@functools.cache
def fillings_of(top: int) -> Batch:
    rng = random.Random(f"labels {top}")
    rankings = [random_ranking(rng, 8, {1: 8, 2: 5, 3: 4, 4: 4}[top]) for _ in range(250)]
    return batch(rankings, [ranking.fillings(top) for ranking in rankings])


def computed(measure: Measure, judged: JudgedRun) -> Any:
    return np.asarray(measure(judged), dtype=np.float64)


def near(found: Any, wanted: Any) -> bool:
    return bool(np.allclose(found, wanted, rtol=1e-11, atol=1e-12))


# Ties -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ORDERED, ids=lambda family: family.name)
def test_lowest_expected_and_highest_value_are_those_over_all_orders(family: Family) -> None:
    rng = random.Random(family.name)
    for number, depth in enumerate(DEPTHS):
        judged, every, starts = orders_of(number)
        measure = random_measure(family, rng)
        while depth is not None and dict(measure.parameters).get("ideal") == "retrieved":
            measure = random_measure(family, rng)
        values = computed(measure, every)
        (found,) = tie_ranges(judged, [measure], depth)
        lowest, highest = np.minimum.reduceat(values, starts[:-1]), np.maximum.reduceat(values, starts[:-1])
        mean = np.add.reduceat(values, starts[:-1]) / np.diff(starts)
        assert near(found.lowest, lowest), measure.notation
        assert near(found.highest, highest), measure.notation
        assert near(found.expected, mean), measure.notation
        assert (found.touched == (highest - lowest > 1e-11)).all()


@pytest.mark.parametrize("name", expected._CLOSED)
def test_closed_forms_do_without_trying_orders(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expected, "MOST_ORDERS", 0)
    (measure,) = FAMILIES[name].measures()[:1]
    (found,) = tie_ranges(orders_of(0)[0], [measure.with_defaults({"max_rel": 4})])
    assert not np.isnan(found.expected).any()


def test_every_name_is_that_of_a_measure() -> None:
    assert all(FAMILIES[name].promotes for name in expected._CLOSED)
    assert all(family.promotes in ("", *PROMOTED) for family in FAMILIES.values())
    assert set(unjudged._SEARCHES) <= set(FAMILIES)


def range_of(ranking: Ranking, text: str, depth: int | None = None, **defaults: Any) -> TieRange:
    (measure,) = parse_measures(text)
    (found,) = tie_ranges(table([ranking]), [measure.with_defaults(defaults)], depth)
    return found


TIED = Ranking([3] * 20 + [1] * 80 + [0] * 100 + [None] * 800, [1000], [2, 1])
"""A thousand documents with one score; two relevant ones were not retrieved."""


def test_reciprocal_rank_of_a_thousand_tied_documents() -> None:
    # The first of 100 relevant documents stands at rank j in C(1000 - j, 99) of C(1000, 100) choices of ranks.
    exact = sum(Fraction(math.comb(1000 - j, 99), math.comb(1000, 100) * j) for j in range(1, 902))
    found = range_of(TIED, "recip_rank")
    assert found.expected[0] == pytest.approx(float(exact), rel=1e-12)
    assert (found.lowest[0], found.highest[0]) == (1 / 901, 1.0)


def test_average_precision_of_a_thousand_tied_documents() -> None:
    # At rank i: relevant with 100/1000, and then each of the i - 1 above with 99/999. Over R = 102.
    exact = sum(Fraction(100, 1000) * (1 + (i - 1) * Fraction(99, 999)) / i for i in range(1, 1001)) / 102
    assert range_of(TIED, "map").expected[0] == pytest.approx(float(exact), rel=1e-13)


def test_err_of_a_thousand_tied_documents() -> None:
    # Grades up to 3: 20 documents are passed with 1/8, 80 with 7/8, the rest for certain. Of the C(1000, j) choices of the
    # j documents above, those with a of the 20 and b of the 80 are C(20, a)·C(80, b)·C(900, j - a - b) and are all
    # passed with (1/8)^a·(7/8)^b; in units of 8^-100, whole numbers.
    product = [1]
    for count, passes in ((20, 1), (80, 7)):
        factor = [math.comb(count, a) * passes**a * 8 ** (count - a) for a in range(count + 1)]
        product = [
            sum(product[a] * factor[j - a] for a in range(len(product)) if 0 <= j - a < len(factor))
            for j in range(len(product) + count)
        ]

    def passed(j: int) -> Fraction:
        ways = sum(product[a] * math.comb(900, j - a) for a in range(min(j, 100) + 1))
        return Fraction(ways, math.comb(1000, j) * 8**100)

    exact = sum((passed(j - 1) - passed(j)) / j for j in range(1, 31))
    found = range_of(TIED, "ERR@30", max_rel=3)
    assert found.expected[0] == pytest.approx(float(exact), rel=1e-12)


def test_bpref_of_a_thousand_tied_documents() -> None:
    # Of 100 documents judged not relevant 0..100 stand above a relevant one, each number as likely; R = 102, N = 100.
    exact = Fraction(100, 102) * sum(1 - Fraction(above, 100) for above in range(101)) / 101
    assert range_of(TIED, "bpref").expected[0] == pytest.approx(float(exact), rel=1e-13)


def test_chances_of_a_tie_that_straddles_the_depth() -> None:
    # 5 of 50 documents are others. One of the first 20 places, and x of the 5 among the j - 1 above: hypergeometric.
    exact = [
        sum(Fraction(math.comb(5, x) * math.comb(44, j - 1 - x), math.comb(49, j - 1)) for j in range(x + 1, 21)) / 50
        for x in range(6)
    ]
    assert expected._chances_above(50, 5, 20) == pytest.approx([float(chance) for chance in exact], rel=1e-13)


def test_success_and_precision_of_a_thousand_tied_documents() -> None:
    exact = 1 - Fraction(math.comb(900, 10), math.comb(1000, 10))
    assert range_of(TIED, "success_10").expected[0] == pytest.approx(float(exact), rel=1e-13)
    assert range_of(TIED, "P_10").expected[0] == pytest.approx(0.1, rel=1e-13)
    assert range_of(TIED, "recall_500", depth=100).expected[0] == pytest.approx(10 / 102, rel=1e-13)


def test_expected_ndcg_is_that_of_averaged_discounts() -> None:
    # McSherry and Najork, ECIR 2008: the mean over all orders is the DCG with the mean discount of the ranks of a tie.
    (averaged,) = parse_measures("nDCG(ties=average)@10")
    assert range_of(TIED, "nDCG@10").expected[0] == pytest.approx(computed(averaged, table([TIED]))[0], rel=1e-12)


def test_an_average_over_too_many_orders_is_not_known() -> None:
    found = range_of(TIED, "yaap")
    assert np.isnan(found.expected[0])
    assert np.isnan(found.expected_mean)
    assert found.lowest[0] < found.highest[0]


def test_means_are_the_measures_own_and_touched_queries_are_counted() -> None:
    judged = table([Ranking([1, 0], [2]), Ranking([1, 0], [1, 1]), Ranking([], [])])
    ap, relevant, gm = tie_ranges(judged, parse_measures(["map", "num_rel_ret", "gm_map"]), depth=1)
    # AP is 1 or 0 in the first query, 1 in the second, 0 in the empty one.
    assert (ap.lowest_mean, ap.expected_mean, ap.highest_mean) == pytest.approx((1 / 3, 1.5 / 3, 2 / 3))
    assert (relevant.lowest_mean, relevant.expected_mean, relevant.highest_mean) == (1.0, 1.5, 2.0)
    assert gm.highest_mean == pytest.approx(0.00001 ** (1 / 3))
    assert (ap.num_touched, ap.touched.tolist()) == (1, [True, False, False])


def test_a_group_further_down_than_anything_counts_touches_nothing() -> None:
    ranking = Ranking([1, 0, 1, 0], [1, 1, 2])
    assert range_of(ranking, "P_2").num_touched == 0
    assert range_of(ranking, "map", depth=2).num_touched == 0
    assert range_of(ranking, "map", depth=0).highest.tolist() == [0.0]


def test_the_order_of_the_run_is_one_of_the_orders() -> None:
    rng = random.Random(7)
    measures = [
        measure.with_defaults({"max_rel": 4})
        for family in ORDERED
        if family.judged is JudgedRun
        for measure in family.measures()[:2]
    ]
    for _ in range(4):
        qrels, run = random_pair(rng)
        for depth in (None, 3):
            found = tie_ranges(judge(Qrels(qrels), Run(run), tied=True), measures, depth)
            for ties in ("docid-desc", "docid-asc", "line"):
                ranked = judge(Qrels(qrels), Run(run), ties=ties, depth=depth)
                for between in found:
                    values = computed(between.measure, ranked)
                    assert (values >= between.lowest - 1e-12).all()
                    assert (values <= between.highest + 1e-12).all()


@pytest.mark.parametrize("text", ["infAP", "G", "INST", "BPM@3", "relstring", "Accuracy", "prefs_simp", "map_avgjg"])
def test_measures_that_no_order_is_known_to_be_best_for_are_refused(text: str) -> None:
    with pytest.raises(MeasureError, match=r"^for \S+ it is not known which order of ties .* Ask for others, such as"):
        range_of(Ranking([1, 0], [2]), text, max_rel=1)


def test_an_ideal_of_what_was_retrieved_is_refused_at_a_depth() -> None:
    message = (
        r"for nDCG\(ideal=retrieved\) cut at a depth it is not known which order of ties is the best or the worst. "
        "Leave out the depth, or ask for ideal=judged."
    )
    with pytest.raises(MeasureError, match=message):
        range_of(Ranking([1, 0], [2]), "nDCG(ideal=retrieved)", depth=1)


def test_a_run_judged_without_ties_is_refused() -> None:
    judged = judge(Qrels({"1": {"a": 1}}), Run({"1": {"a": 1.0}}))
    for function in (tied_documents, lambda run: tie_ranges(run, parse_measures("map"))):
        with pytest.raises(EvaluationError, match=r"does not say which documents are tied\. Judge it with tied=True\."):
            function(judged)


def test_documents_tied_with_a_judged_one_are_counted() -> None:
    judged = table(
        [
            Ranking(
                [1, None, 0, None, None], [3, 2]
            ),  # a tie of three; one of unjudged documents, which is not counted
            Ranking([1, -1, None], [1, 2]),  # a document not judged is none that is judged
            Ranking([], []),
        ]
    )
    found = tied_documents(judged)
    assert (found.tied.tolist(), found.num_queries, found.share) == ([3, 0, 0], 1, 3 / 8)
    assert tied_documents(table([Ranking([], [])])).share == 0.0


# Unjudged documents ---------------------------------------------------------------------------------


@pytest.mark.parametrize("family", LABELLED, ids=lambda family: family.name)
def test_lowest_and_highest_value_are_those_over_all_labels(family: Family) -> None:
    rng = random.Random(family.name)
    own_scale = any(parameter.name == "max_rel" for parameter in family.parameters)
    for top in (1, 2, 3, 4) if not own_scale else (4, 4, 4, 4):
        judged, every, starts = fillings_of(top)
        measure = random_measure(family, rng)
        while dict(measure.parameters).get("ties") == "average":
            measure = random_measure(family, rng)
        values = computed(measure, every)
        (found,) = unjudged_ranges(judged, [measure], top)
        assert near(found.lowest, np.minimum.reduceat(values, starts[:-1])), measure.notation
        assert near(found.highest, np.maximum.reduceat(values, starts[:-1])), measure.notation


def test_unjudged_as_not_relevant_is_not_the_minimum_nor_all_relevant_the_maximum() -> None:
    # Not relevant: AP = 1. Only the last one relevant: (1 + 2/4) / 2. All: 1. Of the second, relevant above and unjudged
    # below, all: (1/2 + 2/3 + 3/4) / 3 = 0.6389; none: (1/3) / 1; only the first: (1/2 + 2/3) / 2 = 0.5833.
    first, second = Ranking([1, None, None, None], [1] * 4), Ranking([0, None, 1, None], [1] * 4)
    (found,) = unjudged_ranges(table([first, second]), parse_measures("map"), 1)
    assert found.lowest == pytest.approx([(1 + 2 / 4) / 2, 1 / 3])
    assert found.highest == pytest.approx([1.0, (1 / 2 + 2 / 3 + 3 / 4) / 3])
    # All relevant is not the highest: below many others, one more relevant document is mostly one more that is missed.
    (late,) = unjudged_ranges(table([Ranking([1, 0, 0, 0, None], [1] * 5)]), parse_measures("map"), 1)
    assert late.highest == pytest.approx([1.0])
    assert late.lowest == pytest.approx([(1 + 2 / 5) / 2])


def test_the_share_of_judged_documents_is_that_within_the_cutoff() -> None:
    judged = table([Ranking([1, None, -1, 0], [1] * 4), Ranking([], [])])
    whole, cut = unjudged_ranges(judged, parse_measures(["map", "P.2"]), 1)
    assert (whole.judged.tolist(), whole.judged_mean) == ([0.5, 0.0], 0.25)
    assert (cut.judged.tolist(), cut.judged_mean) == ([0.5, 0.0], 0.25)
    assert (cut.lowest_mean, cut.highest_mean) == (0.25, 0.5)


def test_measures_that_no_labels_are_known_to_be_extreme_for_are_refused() -> None:
    for text in ("infAP", "bpref", "nerr", "nDCG(ties=average)", "relstring", "iprec_at_recall.0.5"):
        (measure,) = parse_measures(text)
        with pytest.raises(MeasureError, match="it is not known which labels of unjudged documents give the extremes"):
            unjudged_ranges(ranked_labels("1 -"), [measure.with_defaults({"max_rel": 1})], 1)


def test_the_highest_label_is_in_range() -> None:
    with pytest.raises(MeasureError, match="max_rel"):
        unjudged_ranges(ranked_labels("1 -"), parse_measures("map"), 0)


def test_large_runs_are_no_matter() -> None:
    rng = np.random.default_rng(3)
    rankings = [
        Ranking([None if x > 3 else int(x) for x in rng.integers(0, 9, 400)], [100, 1, 1, 98, 200]) for _ in range(10)
    ]
    judged = table(rankings)
    measures = parse_measures(["map", "ndcg", "ndcg_cut.10", "recip_rank", "P.10", "bpref", "Rprec"])
    assert all(not np.isnan(found.expected).any() for found in tie_ranges(judged, measures))
    without = [measure for measure in measures if measure.family.name != "bpref"]
    assert all((found.lowest < found.highest).any() for found in unjudged_ranges(judged, without, 3))
