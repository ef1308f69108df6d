"""Runs of a class that are alike; overlaps are compared with sums written out, and with a plain definition."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from treceval_py.data.run import Run
from treceval_py.errors import DataError, EvaluationError
from treceval_py.grading.grades import Pair
from treceval_py.grading.marking.similarity import alike, hash_of_ranking, overlap, tops_of
from treceval_py.grading.records import Graded
from treceval_py.scoring.profiles import PROFILES

TREC = PROFILES["trec_eval-10"]

Lists = dict[str, Sequence[str]]


def run_of(lists: Lists) -> Run:
    return Run({qid: {docid: float(-rank) for rank, docid in enumerate(docids)} for qid, docids in lists.items()})


def graded(lists: Lists, file: str, qids: Sequence[str] | None = None, depth: int = 10) -> Graded:
    run = run_of(lists)
    hashed = hashlib.sha256(file.encode()).hexdigest()
    tops = tops_of(run, qids or sorted(lists), TREC, depth)
    return Graded(file, file, "scored", hash_of_run=hashed, hash_of_ranking=hash_of_ranking(run), tops=tops)


def pairs(*entries: Graded, baseline: Graded | None = None, threshold: float = 0.95, depth: int = 10) -> list[Pair]:
    return list(alike(entries, baseline, threshold=threshold, depth=depth))


def code(docid: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(docid, digest_size=8).digest(), "little") // 2


def plain_overlap(one: Sequence[int], other: Sequence[int]) -> float:
    """Rank-biased overlap up to the longer list, divided by its weights, by its definition."""
    longest = max(len(one), len(other))
    agreement = [len(set(one[:d]) & set(other[:d])) / d for d in range(1, longest + 1)]
    weights = [0.9 ** (d - 1) for d in range(1, longest + 1)]
    return sum(w * a for w, a in zip(weights, agreement, strict=True)) / sum(weights)


def column(documents: Sequence[int], depth: int) -> np.ndarray:
    return np.array([*documents, *[-1] * (depth - len(documents))], dtype=np.int64)


def test_the_tops_are_hashes_of_the_first_documents_of_each_query_in_the_order_of_their_bytes() -> None:
    run = Run({"2": {"a": 1.0, "b": 3.0, "c": 2.0}, "10": {"d": 1.0}})
    tops = tops_of(run, ["2", "10", "7"], TREC, 2)
    assert tops.tolist() == [[code(b"d"), -1], [code(b"b"), code(b"c")], [-1, -1]]  # 10, 2, 7


def test_tops_are_ranked_by_the_profile() -> None:
    run = Run({"1": {"a": 1.0, "b": 1.0}})
    assert tops_of(run, ["1"], TREC, 1).tolist() == [[code(b"b")]]  # ties by descending id
    assert tops_of(run, ["1"], PROFILES["ranx"], 1).tolist() == [[code(b"a")]]  # by line


def test_tops_of_a_run_without_the_ranks_that_the_profile_needs_are_refused() -> None:
    with pytest.raises(DataError, match="has no rank column"):
        tops_of(Run({"1": {"a": 1.0}}), ["1"], PROFILES["msmarco"], 1)


def test_at_most_a_thousand_queries_are_kept() -> None:
    assert tops_of(Run({"1": {"a": 1.0}}), [str(number) for number in range(1500)], TREC, 1).shape == (1000, 1)


def test_the_hash_of_a_ranking_is_the_same_for_other_scores_tags_and_orders_of_lines() -> None:
    one = Run({"1": {"a": 3.0, "b": 2.0}, "2": {"c": 1.0}}, tag="one")
    other = Run({"2": {"c": 9.0}, "1": {"b": 0.1, "a": 0.2}}, tag="other")
    assert hash_of_ranking(one) == hash_of_ranking(other)


@pytest.mark.parametrize(
    "other",
    [
        {"1": ["b", "a"], "2": ["c"]},
        {"1": ["a", "b"], "3": ["c"]},
        {"1": ["a"], "2": ["b", "c"]},
        {"1": ["ab"], "2": ["c"]},
        {"1": ["a", "b", "c"]},
    ],
    ids=str,
)
def test_the_hash_of_another_ranking_is_another(other: Lists) -> None:
    assert hash_of_ranking(run_of(other)) != hash_of_ranking(run_of({"1": ["a", "b"], "2": ["c"]}))


def test_a_run_without_documents_has_no_hash() -> None:
    assert hash_of_ranking(Run({})) == ""


def test_equal_lists_overlap_wholly_whatever_their_length() -> None:
    assert [overlap(column(range(n), 10), column(range(n), 10)) for n in (1, 3, 10)] == [1.0, 1.0, 1.0]


def test_lists_that_share_nothing_do_not_overlap() -> None:
    assert overlap(column([1, 2, 3], 3), column([4, 5, 6], 3)) == 0.0


def test_empty_lists_do_not_overlap() -> None:
    assert overlap(column([], 3), column([], 3)) == 0.0


def test_the_overlap_of_two_lists_is_the_weighted_mean_of_their_agreement() -> None:
    # Shared: 0 of 1, 2 of 2, 2 of 3; weights 1, 0.9, 0.81.
    expected = (0.9 * 2 / 2 + 0.81 * 2 / 3) / (1 + 0.9 + 0.81)
    assert overlap(column([1, 2, 3], 3), column([2, 1, 4], 3)) == pytest.approx(expected, abs=1e-12)


def test_of_a_list_that_ends_earlier_the_missing_documents_do_not_agree() -> None:
    # Shared: 1 of 1, 1 of 2; the third depth is behind the end of both.
    expected = (1 + 0.9 / 2) / (1 + 0.9)
    assert overlap(column([1], 3), column([1, 2], 3)) == pytest.approx(expected, abs=1e-12)


def test_overlaps_are_those_of_the_plain_definition() -> None:
    random.seed(5)
    for _ in range(200):
        depth = random.randint(1, 12)
        one, other = (random.sample(range(15), random.randint(0, depth)) for _ in range(2))
        found = overlap(column(one, depth), column(other, depth))
        assert found == pytest.approx(plain_overlap(one, other) if one or other else 0.0, abs=1e-11)


AB, BA, XY = {"1": ["a", "b"]}, {"1": ["b", "a"]}, {"1": ["x", "y"]}


def test_runs_that_have_nothing_in_common_are_no_pair() -> None:
    assert pairs(graded(AB, "one"), graded(XY, "other")) == []


def test_two_copies_of_a_file_are_a_pair() -> None:
    assert pairs(graded(AB, "same"), graded(XY, "other"), graded(AB, "same")) == [Pair(0, 2, "same file", 1.0, 1)]


def test_the_same_ranking_in_another_file_is_a_pair() -> None:
    assert pairs(graded(AB, "one"), graded(AB, "other")) == [Pair(0, 1, "same ranking", 1.0, 1)]


def test_of_n_equal_runs_there_are_n_minus_1_pairs_and_the_same_files_stand_together() -> None:
    entries = [graded(AB, file) for file in ("one", "two", "one", "two", "three")]
    assert pairs(*entries) == [
        Pair(0, 2, "same file", 1.0, 1),
        Pair(1, 3, "same file", 1.0, 1),
        Pair(1, 2, "same ranking", 1.0, 1),
        Pair(3, 4, "same ranking", 1.0, 1),
    ]


def test_a_copy_of_the_baseline_is_a_pair_with_it() -> None:
    baseline = graded(AB, "bm25")
    assert pairs(graded(XY, "one"), graded(AB, "bm25"), baseline=baseline) == [Pair(1, -1, "same file", 1.0, 1)]


def test_every_copy_of_the_baseline_is_paired_with_it() -> None:
    found = pairs(graded(AB, "mine"), graded(AB, "bm25"), graded(AB, "mine"), baseline=graded(AB, "bm25"))
    assert found == [
        # Two have the same file, which is not the baseline's; all have its ranking.
        Pair(0, 2, "same file", 1.0, 1),
        Pair(1, -1, "same file", 1.0, 1),
        Pair(0, -1, "same ranking", 1.0, 1),
        Pair(2, -1, "same ranking", 1.0, 1),
    ]


def test_every_run_near_the_baseline_is_paired_with_it() -> None:
    one, two = (["a", "b", "c", *rest] for rest in (["x", "y"], ["x", "z"]))
    base = graded({"q": ["a", "b", "c", "w", "v"]}, "bm25")
    found = pairs(graded({"q": one}, "one"), graded({"q": two}, "two"), baseline=base, threshold=0.8)
    # The two are more like one another than like the baseline, which a tree would join to one of them only.
    assert [(each.first, each.second) for each in found] == [(0, 1), (0, -1), (1, -1)]


def test_a_baseline_without_a_hash_of_its_file_is_the_same_ranking() -> None:
    baseline = graded(AB, "bm25")._replace(hash_of_run="")
    assert pairs(graded(AB, "bm25"), baseline=baseline) == [Pair(0, -1, "same ranking", 1.0, 1)]


def test_two_copies_of_a_file_that_cannot_be_scored_are_a_pair() -> None:
    broken = [Graded(name, name, "refused", hash_of_run="ab12") for name in ("ada", "bob")]
    assert pairs(*broken) == [Pair(0, 1, "same file", 1.0, 0)]


def test_a_copy_that_was_stopped_is_a_pair_with_the_one_that_was_scored() -> None:
    stopped = Graded("x", "x", "failed", hash_of_run=hashlib.sha256(b"same").hexdigest())
    found = pairs(stopped, graded(AB, "same"), graded(AB, "other"))
    assert found == [Pair(0, 1, "same file", 1.0, 1), Pair(1, 2, "same ranking", 1.0, 1)]


def test_two_empty_files_are_no_pair() -> None:
    empty = hashlib.sha256(b"").hexdigest()
    assert pairs(*(Graded(name, name, "refused", hash_of_run=empty) for name in ("ada", "bob"))) == []


def test_what_has_no_file_is_not_taken_for_a_baseline_without_a_hash() -> None:
    empty = Graded("ada", "ada", "refused", hash_of_run=hashlib.sha256(b"").hexdigest())
    baseline = graded(AB, "bm25")._replace(hash_of_run="")
    assert pairs(empty, Graded("bob", "bob", "missing"), baseline=baseline) == []


def test_submissions_without_a_run_are_no_pair() -> None:
    assert pairs(Graded("ada", "ada", "missing"), Graded("bob", "bob", "missing")) == []


def test_runs_that_are_nearly_the_same_are_a_pair_with_their_mean_overlap() -> None:
    one = graded({"1": ["a", "b"], "2": ["c", "d"]}, "one")
    other = graded({"1": ["a", "b"], "2": ["d", "c"]}, "other")
    # Query 1 overlaps wholly; of query 2 nothing is shared at depth 1 and all at depth 2: 0.9 / 1.9.
    mean = round((1 + 0.9 / 1.9) / 2, 12)  # 0.737
    assert pairs(one, other, threshold=0.73) == [Pair(0, 1, "nearly the same", mean, 2)]
    assert pairs(one, other, threshold=0.74) == []


def test_only_the_first_documents_count() -> None:
    one, other = graded({"1": ["a", "b", "c"]}, "one"), graded({"1": ["a", "b", "d"]}, "other")
    assert pairs(one, other, depth=2, threshold=1.0) == [Pair(0, 1, "nearly the same", 1.0, 1)]


def test_queries_that_only_one_run_has_do_not_count() -> None:
    qids = ["1", "2"]
    one, other = graded({"1": ["a"], "2": ["b"]}, "one", qids), graded({"1": ["a"]}, "other", qids)
    assert pairs(one, other) == [Pair(0, 1, "nearly the same", 1.0, 1)]


def test_runs_that_share_less_than_half_of_the_queries_are_not_compared() -> None:
    qids = ["1", "2", "3"]
    one, other = graded({qid: ["a"] for qid in qids}, "one", qids), graded({"1": ["a"]}, "other", qids)
    assert pairs(one, other) == []


def test_of_runs_that_are_all_nearly_the_same_each_stands_beside_the_most_alike() -> None:
    base = [f"d{rank}" for rank in range(10)]
    qids = {str(query): base for query in range(4)}
    near = {**qids, "0": [*base[:8], base[9], base[8]]}  # swapped at ranks 9 and 10, in one query
    far = {**qids, "0": [base[1], base[0], *base[2:]]}  # swapped at ranks 1 and 2
    found = pairs(graded(far, "far"), graded(qids, "base"), graded(near, "near"), threshold=0.5)
    # far and near are alike as well, by less than each is like base.
    assert [(pair.first, pair.second, pair.kind) for pair in found] == [
        (1, 2, "nearly the same"),
        (0, 1, "nearly the same"),
    ]


def test_a_group_of_equal_runs_is_compared_once_with_others() -> None:
    entries = [graded(AB, "one"), graded(AB, "one"), graded(BA, "two"), graded(BA, "two")]
    found = pairs(*entries, threshold=0.4)  # 0.9 / 1.9 = 0.47
    assert [(pair.first, pair.second, pair.kind) for pair in found] == [
        (0, 1, "same file"),
        (2, 3, "same file"),
        (0, 2, "nearly the same"),
    ]


def test_a_run_near_the_baseline_is_a_pair_with_it() -> None:
    found = pairs(graded(AB, "one"), baseline=graded(BA, "bm25"), threshold=0.4)
    assert found == [Pair(0, -1, "nearly the same", round(0.9 / 1.9, 12), 1)]


def test_pairs_of_many_runs_are_those_of_comparing_each_two() -> None:
    random.seed(11)
    qids = [str(query) for query in range(6)]
    documents = [f"d{number}" for number in range(12)]
    many: list[Lists] = []
    for _ in range(25):
        lists = {qid: list(documents) for qid in qids}
        for qid in random.sample(qids, random.randint(1, 4)):
            lists[qid] = random.sample(documents, random.randint(3, 12))
        many.append(lists)
    entries = [graded(lists, str(number), qids, depth=8) for number, lists in enumerate(many)]
    expected = {
        frozenset((one, other))
        for one in range(25)
        for other in range(one)
        if sum(overlap(*(entries[at].tops[query] for at in (one, other))) for query in range(6)) / 6 >= 0.6  # type: ignore[index]
    }
    found = {frozenset((pair.first, pair.second)) for pair in pairs(*entries, threshold=0.6, depth=8)}
    assert found <= expected
    assert components(25, found) == components(25, expected)
    assert len(found) == 25 - len(components(25, expected))  # a tree for each group
    assert len(expected) > len(found) > 5


def components(count: int, links: set[frozenset[int]]) -> set[frozenset[int]]:
    groups = [{number} for number in range(count)]
    for link in links:
        joined = [group for group in groups if group & link]
        groups = [group for group in groups if not group & link] + [set().union(*joined)]
    return set(map(frozenset, groups))


TOPS = {str(query): [f"{query}-{rank}" for rank in range(1, 13)] for query in range(1, 6)}
"""Twelve documents for each of five queries, of which the first ten count."""


def changed(change: Callable[[list[str]], list[str]]) -> Lists:
    return {qid: change(list(docids)) for qid, docids in TOPS.items()}


def test_a_copy_with_the_first_two_documents_swapped_has_the_same_documents() -> None:
    copy = changed(lambda docids: [docids[1], docids[0], *docids[2:]])
    assert pairs(graded(TOPS, "one"), graded(copy, "other")) == [Pair(0, 1, "same documents", 1.0, 5)]


def test_a_copy_with_a_document_put_before_each_list_has_the_same_documents() -> None:
    copy = changed(lambda docids: ["junk", *docids])
    assert pairs(graded(TOPS, "one"), graded(copy, "other")) == [Pair(0, 1, "same documents", 0.9, 5)]


def test_three_documents_put_among_the_first_ten_are_too_many() -> None:
    assert pairs(graded(TOPS, "one"), graded(changed(lambda docids: ["x", "y", "z", *docids]), "other")) == []


def test_nine_documents_of_ten_in_another_order_are_too_few() -> None:
    copy = changed(lambda docids: [docids[1], docids[0], *docids[2:5], "junk", *docids[5:]])
    assert pairs(graded(TOPS, "one"), graded(copy, "other")) == []


def test_short_lists_of_the_same_documents_are_no_sign_as_all_were_to_be_ranked() -> None:
    one = {"1": ["a", "b", "c", "d", "e", "f"]}
    assert pairs(graded(one, "one"), graded({"1": ["b", "a", "c", "d", "e", "f"]}, "other")) == []


def test_where_most_runs_have_the_same_documents_these_were_given_to_them() -> None:
    orders = [changed(lambda docids, at=at: [*docids[at:10], *docids[:at]]) for at in (0, 3, 6)]  # type: ignore[misc]
    entries = [graded(lists, str(number)) for number, lists in enumerate(orders)]
    assert pairs(*entries) == []
    assert [pair.kind for pair in pairs(*entries[:2])] == ["same documents"]


def test_where_runs_go_on_behind_the_same_documents_these_were_chosen() -> None:
    orders = [changed(lambda docids, at=at: [*docids[at:10], *docids[:at], *docids[10:]]) for at in (0, 3, 6)]  # type: ignore[misc]
    entries = [graded(lists, str(number))._replace(lines=60, queries=5) for number, lists in enumerate(orders)]
    assert [pair.kind for pair in pairs(*entries)] == ["same documents"] * 2


def test_nearly_the_same_goes_before_the_same_documents() -> None:
    low = changed(lambda docids: [*docids[:8], docids[9], docids[8], *docids[10:]])
    swapped = changed(lambda docids: [docids[1], docids[0], *docids[2:]])
    others = [graded({qid: [f"{name}{rank}" for rank in range(10)] for qid in TOPS}, name) for name in "xyz"]
    found = pairs(graded(TOPS, "one"), graded(low, "low"), graded(swapped, "swapped"), *others)
    assert [(pair.first, pair.second, pair.kind) for pair in found] == [
        (0, 1, "nearly the same"),
        (0, 2, "same documents"),
    ]


def test_records_of_other_depths_are_refused() -> None:
    with pytest.raises(EvaluationError, match="the records are of different queries or depths"):
        pairs(graded(AB, "one", depth=5), graded(BA, "two", depth=7))


def test_a_class_of_nobody_has_no_pairs() -> None:
    assert pairs() == []
