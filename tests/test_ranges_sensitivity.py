"""What the order of ties and missing judgments can make of values; test_measuring_facts tries all orders and all labels."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from random_runs import random_pair
from rankings import Ranking, computed, table
from refused import refusal
from syrupy.assertion import SnapshotAssertion

from treceval_py import Qrels, Run
from treceval_py.judging import JudgedRun, judge
from treceval_py.judging.judged import ranked_labels
from treceval_py.measuring import FAMILIES, parse_measures
from treceval_py.measuring.facts import Promotes
from treceval_py.ranges import TieRange, expected, tie_ranges, tied_documents, unjudged_ranges

# Ties -----------------------------------------------------------------------------------------------


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


def test_measures_of_a_thousand_tied_documents() -> None:
    expected = {
        # At rank i: relevant with 100/1000, and then each of the i - 1 above with 99/999. Over R = 102.
        "map": sum(Fraction(100, 1000) * (1 + (i - 1) * Fraction(99, 999)) / i for i in range(1, 1001)) / 102,
        # Of 100 documents judged not relevant 0..100 stand above a relevant one, each number as likely; R = 102, N = 100.
        "bpref": Fraction(100, 102) * sum(1 - Fraction(above, 100) for above in range(101)) / 101,
        "success_10": 1 - Fraction(math.comb(900, 10), math.comb(1000, 10)),
        "P_10": Fraction(1, 10),
    }
    for name, exact in expected.items():
        assert range_of(TIED, name).expected[0] == pytest.approx(float(exact), rel=1e-13), name
    assert range_of(TIED, "recall_500", depth=100).expected[0] == pytest.approx(10 / 102, rel=1e-13)


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


def test_chances_of_a_tie_that_straddles_the_depth() -> None:
    # 5 of 50 documents are others. One of the first 20 places, and x of the 5 among the j - 1 above: hypergeometric.
    exact = [
        sum(Fraction(math.comb(5, x) * math.comb(44, j - 1 - x), math.comb(49, j - 1)) for j in range(x + 1, 21)) / 50
        for x in range(6)
    ]
    assert expected._chances_above(50, 5, 20) == pytest.approx([float(chance) for chance in exact], rel=1e-13)


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
        for family in FAMILIES.values()
        if family.judged is JudgedRun and family.promotes not in (None, Promotes.UNKNOWN)
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


def test_documents_tied_with_a_judged_one_are_counted() -> None:
    # A tie of three and one of unjudged documents, which is not counted; a document not judged is none that is judged.
    judged = table([Ranking([1, None, 0, None, None], [3, 2]), Ranking([1, -1, None], [1, 2]), Ranking([], [])])
    found = tied_documents(judged)
    assert (found.tied.tolist(), found.num_queries, found.share) == ([3, 0, 0], 1, 3 / 8)
    assert tied_documents(table([Ranking([], [])])).share == 0.0


# Unjudged documents ---------------------------------------------------------------------------------


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


def labels_of(text: str, highest: int = 1) -> object:
    (measure,) = parse_measures(text)
    return unjudged_ranges(ranked_labels("1 -"), [measure.with_defaults({"max_rel": 1})], highest)


PLAIN = judge(Qrels({"1": {"a": 1}}), Run({"1": {"a": 1.0}}))
NO_ORDER = ("infAP", "G", "INST", "BPM@3", "relstring", "Accuracy", "prefs_simp", "map_avgjg")
NO_LABELS = ("infAP", "bpref", "nerr", "nDCG(ties=average)", "relstring", "iprec_at_recall.0.5")

REFUSED: dict[str, Callable[[], object]] = {
    **{f"ties, {text}": partial(range_of, Ranking([1, 0], [2]), text, max_rel=1) for text in NO_ORDER},
    "ties, nDCG(ideal=retrieved) at a depth": partial(range_of, Ranking([1, 0], [2]), "nDCG(ideal=retrieved)", depth=1),
    **{f"unjudged, {text}": partial(labels_of, text) for text in NO_LABELS},
    "unjudged, a label of 0": partial(labels_of, "map", 0),
    "tied documents of a run judged without ties": partial(tied_documents, PLAIN),
    "ties of a run judged without ties": partial(tie_ranges, PLAIN, parse_measures("map")),
}


def test_what_has_no_range_is_refused(snapshot: SnapshotAssertion) -> None:
    assert {case: refusal(call) for case, call in REFUSED.items()} == snapshot


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
