"""Runs of a class that are alike; overlaps are compared with sums written out, and with a plain definition."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence

import pytest

from treceval_py._types import IntArray
from treceval_py.data.run import Run
from treceval_py.errors import DataError
from treceval_py.grading.grades import Pair
from treceval_py.grading.marking.similarity import alike, ranking_of
from treceval_py.grading.records import Graded
from treceval_py.scoring.profiles import PROFILES, Profile

TREC = PROFILES["trec_eval-10"]

Lists = dict[str, Sequence[str]]


def run_of(lists: Lists) -> Run:
    return Run({qid: {docid: float(-rank) for rank, docid in enumerate(docids)} for qid, docids in lists.items()})


def graded(lists: Lists, file: str, qids: Sequence[str] | None = None) -> Graded:
    run = run_of(lists)
    hashed = hashlib.sha256(file.encode()).hexdigest()
    ranking, tops = ranking_of(run, qids or lists, TREC)
    return Graded(file, file, "scored", hash_of_run=hashed, hash_of_ranking=ranking, tops=tops)


def tops_of(run: Run, qids: Sequence[str], profile: Profile = TREC) -> IntArray:
    return ranking_of(run, qids, profile)[1]


def pairs(*entries: Graded, baseline: Graded | None = None, threshold: float = 0.95) -> list[Pair]:
    return list(alike(entries, baseline, threshold))


def code(docid: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(docid, digest_size=8).digest(), "little") // 2


def plain_overlap(one: Sequence[object], other: Sequence[object]) -> float:
    """Rank-biased overlap up to the longer list, divided by its weights, by its definition."""
    longest = max(len(one), len(other))
    agreement = [len(set(one[:d]) & set(other[:d])) / d for d in range(1, longest + 1)]
    weights = [0.9 ** (d - 1) for d in range(1, longest + 1)]
    return sum(w * a for w, a in zip(weights, agreement, strict=True)) / sum(weights)


def test_the_tops_are_hashes_of_the_first_documents_of_each_query_in_the_order_of_their_bytes() -> None:
    run = Run({"2": {"a": 1.0, "b": 3.0, "c": 2.0}, "10": {str(number): -number for number in range(11)}})
    ten, two, seven = tops_of(run, ["2", "10", "7"]).tolist()
    assert ten == [code(b"%d" % number) for number in range(10)]
    assert two == [code(b"b"), code(b"c"), code(b"a"), *[-1] * 7]
    assert seven == [-1] * 10


def test_tops_are_ranked_by_the_profile_and_at_most_a_thousand_queries_are_kept() -> None:
    run = Run({"1": {"a": 1.0, "b": 1.0}})
    assert tops_of(run, ["1"])[0, :2].tolist() == [code(b"b"), code(b"a")]  # ties by descending id
    assert tops_of(run, ["1"], PROFILES["ranx"])[0, :2].tolist() == [code(b"a"), code(b"b")]  # by line
    with pytest.raises(DataError, match="has no rank column"):
        tops_of(run, ["1"], PROFILES["msmarco"])
    for count in (1000, 1001):
        assert tops_of(run, [str(number) for number in range(count)]).shape == (1000, 10)


def test_the_hash_of_a_ranking_is_that_of_its_documents_in_their_order() -> None:
    one = Run({"1": {"a": 3.0, "b": 2.0}, "2": {"c": 1.0}}, tag="one")
    other = Run({"2": {"c": 9.0}, "1": {"b": 0.1, "a": 0.2}}, tag="other")
    others: list[Lists] = [
        {"1": ["b", "a"], "2": ["c"]},
        {"1": ["a", "b"], "3": ["c"]},
        {"1": ["a"], "2": ["b", "c"]},
        {"1": ["ab"], "2": ["c"]},
        {"1": ["a", "b", "c"]},
    ]
    hashes = [ranking_of(run, [], TREC)[0] for run in (one, *map(run_of, others), other, Run({}))]
    assert len(set(hashes)) == 7
    assert hashes[-2:] == [hashes[0], ""]


def overlap_of(one: Sequence[int], other: Sequence[int]) -> float:
    (pair,) = pairs(*(graded({"1": [str(item) for item in items]}, str(items)) for items in (one, other)), threshold=0)
    return pair.overlap


def test_the_overlap_of_two_lists_is_the_weighted_mean_of_their_agreement() -> None:
    # Shared: 0 of 1, 2 of 2, 2 of 3; weights 1, 0.9, 0.81.
    assert overlap_of([1, 2, 3], [2, 1, 4]) == pytest.approx((0.9 * 2 / 2 + 0.81 * 2 / 3) / (1 + 0.9 + 0.81), abs=1e-12)
    # Shared: 1 of 1, 1 of 2; the third depth is behind the end of both.
    assert overlap_of([1], [1, 2]) == pytest.approx((1 + 0.9 / 2) / (1 + 0.9), abs=1e-12)
    assert overlap_of([1, 2, 3], [4, 5, 6]) == 0
    draw = random.Random(5)
    for _ in range(50):
        one, other = (draw.sample(range(15), draw.randint(1, 10)) for _ in range(2))
        assert overlap_of(one, other) == pytest.approx(plain_overlap(one, other), abs=1e-11)


FILE, RANKING, NEARLY = "same file", "same ranking", "nearly the same"
HALF = round(0.9 / 1.9, 12)
"""Of a b and b a nothing is shared at depth 1, and all at depth 2: 0.47."""


def entry(text: str) -> Graded:
    """Return a run of one query, by its documents and its file."""
    docids, file = text.split("=")
    return graded({"1": list(docids)}, file)


# Documents and files of the runs, and of the baseline; the threshold, and the pairs.
PAIRS: dict[str, tuple[str, str, float, list[tuple[int, int, str, float, int]]]] = {
    "nobody": ("", "", 0.95, []),
    "nothing in common": ("ab=one xy=other", "", 0.95, []),
    "copies of a file": ("ab=same xy=other ab=same", "", 0.95, [(0, 2, FILE, 1.0, 1)]),
    "the same ranking in another file": ("ab=one ab=other", "", 0.95, [(0, 1, RANKING, 1.0, 1)]),
    "n equal runs are n - 1 pairs, the same files together": (
        "ab=one ab=two ab=one ab=two ab=three",
        "",
        0.95,
        [(0, 2, FILE, 1.0, 1), (1, 3, FILE, 1.0, 1), (1, 2, RANKING, 1.0, 1), (3, 4, RANKING, 1.0, 1)],
    ),
    "a copy of the baseline": ("xy=one ab=bm25", "ab=bm25", 0.95, [(1, -1, FILE, 1.0, 1)]),
    # Two have the same file, which is not the baseline's; all have its ranking.
    "every copy of the baseline": (
        "ab=mine ab=bm25 ab=mine",
        "ab=bm25",
        0.95,
        [(0, 2, FILE, 1.0, 1), (1, -1, FILE, 1.0, 1), (0, -1, RANKING, 1.0, 1), (2, -1, RANKING, 1.0, 1)],
    ),
    "at the threshold": ("ab=one ba=two", "", HALF, [(0, 1, NEARLY, HALF, 1)]),
    "just below the threshold": ("ab=one ba=two", "", HALF + 1e-9, []),
    "near the baseline": ("ab=one", "ba=bm25", 0.4, [(0, -1, NEARLY, HALF, 1)]),
    "groups of equal runs": (
        "ab=one ab=one ba=two ba=two",
        "",
        0.4,
        [(0, 1, FILE, 1.0, 1), (2, 3, FILE, 1.0, 1), (0, 2, NEARLY, HALF, 1)],
    ),
}


def test_runs_that_are_alike_are_pairs() -> None:
    found = {
        name: pairs(*map(entry, runs.split()), baseline=entry(baseline) if baseline else None, threshold=least)
        for name, (runs, baseline, least, _) in PAIRS.items()
    }
    assert found == {name: expected for name, (*_, expected) in PAIRS.items()}


def test_files_that_could_not_be_scored_are_pairs_if_they_are_the_same_and_not_empty() -> None:
    same, other = entry("ab=same"), entry("ab=other")
    broken = [Graded(name, name, "refused", hash_of_run="ab12") for name in ("ada", "bob")]
    assert pairs(*broken) == [Pair(0, 1, FILE, 1.0, 0)]
    stopped = Graded("x", "x", "failed", hash_of_run=same.hash_of_run)
    assert pairs(stopped, same, other) == [Pair(0, 1, FILE, 1.0, 1), Pair(1, 2, RANKING, 1.0, 1)]
    empty = [each._replace(hash_of_run=hashlib.sha256(b"").hexdigest()) for each in broken]
    nothing = [Graded("ada", "ada", "missing"), Graded("bob", "bob", "missing")]
    unknown = same._replace(hash_of_run="")
    assert pairs(*empty, *nothing) == pairs(*empty, *nothing, baseline=unknown) == []
    assert pairs(same, baseline=unknown) == [Pair(0, -1, RANKING, 1.0, 1)]


def test_runs_are_compared_over_their_common_queries_if_these_are_half_of_the_larger_ones() -> None:
    one, two, half = (graded({qid: ["a"] for qid in own}, own, "1234") for own in ("1234", "1", "12"))
    assert (pairs(one, half), pairs(one, two)) == ([Pair(0, 1, NEARLY, 1.0, 2)], [])


def test_of_runs_that_are_all_nearly_the_same_each_stands_beside_the_most_alike() -> None:
    base = [f"d{rank}" for rank in range(10)]
    qids = {str(query): base for query in range(4)}
    near = {**qids, "0": [*base[:8], base[9], base[8]]}  # swapped at ranks 9 and 10, in one query
    far = {**qids, "0": [base[1], base[0], *base[2:]]}  # swapped at ranks 1 and 2
    found = pairs(graded(far, "far"), graded(qids, "base"), graded(near, "near"), threshold=0.5)
    # far and near are alike as well, by less than each is like base.
    assert [(pair.first, pair.second, pair.kind) for pair in found] == [(1, 2, NEARLY), (0, 1, NEARLY)]


def test_every_run_near_the_baseline_is_paired_with_it() -> None:
    one, two = (["a", "b", "c", *rest] for rest in (["x", "y"], ["x", "z"]))
    base = graded({"q": ["a", "b", "c", "w", "v"]}, "bm25")
    found = pairs(graded({"q": one}, "one"), graded({"q": two}, "two"), baseline=base, threshold=0.8)
    # The two are more like one another than like the baseline, which a tree would join to one of them only.
    assert [(each.first, each.second) for each in found] == [(0, 1), (0, -1), (1, -1)]


def test_only_the_first_ten_documents_count() -> None:
    base = [f"d{rank}" for rank in range(9)]
    for before, found in ((["x"], Pair(0, 1, NEARLY, 1.0, 1)), ([], Pair(0, 1, "same documents", 0.9, 1))):
        one, other = (graded({"1": [*base, *before, last]}, last) for last in "yz")
        assert pairs(one, other, threshold=1.0) == [found]


def test_pairs_of_many_runs_are_those_of_comparing_each_two() -> None:
    random.seed(11)
    qids = [str(query) for query in range(6)]
    documents = [f"d{number}" for number in range(14)]
    many: list[Lists] = []
    for _ in range(25):
        drawn = {qid: random.sample(documents, random.randint(3, 14)) for qid in random.sample(qids, 3)}
        many.append({**dict.fromkeys(qids, documents), **drawn})
    entries = [graded(lists, str(number), qids) for number, lists in enumerate(many)]

    def overlap(one: int, other: int) -> float:
        return sum(plain_overlap(many[one][qid][:10], many[other][qid][:10]) for qid in qids) / 6

    expected = {frozenset((one, two)) for one in range(25) for two in range(one) if overlap(one, two) >= 0.6}
    near = pairs(*entries, threshold=0.6)
    found = {frozenset((pair.first, pair.second)) for pair in near if pair.kind == NEARLY}
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


# The first two are swapped; one, two or too many were put in; nine of ten are in another order.
CHANGES: list[tuple[Callable[[list[str]], list[str]], float | None]] = [
    (lambda docids: [docids[1], docids[0], *docids[2:]], 1.0),
    (lambda docids: ["junk", *docids], 0.9),
    (lambda docids: ["x", "y", *docids], 0.8),
    (lambda docids: ["x", "y", "z", *docids], None),
    (lambda docids: [docids[1], docids[0], *docids[2:5], "junk", *docids[5:]], None),
]


def test_lists_with_the_same_documents_are_known_though_a_fifth_was_put_in() -> None:
    for change, share in CHANGES:
        found = pairs(graded(TOPS, "one"), graded(changed(change), "other"))
        assert found == ([] if share is None else [Pair(0, 1, "same documents", share, 5)])


def test_short_lists_of_the_same_documents_are_no_sign_as_all_were_to_be_ranked() -> None:
    for length, kinds in ((9, []), (10, ["same documents"])):
        one = [f"d{rank}" for rank in range(length)]
        found = pairs(graded({"1": one}, "one"), graded({"1": [one[1], one[0], *one[2:]]}, "other"))
        assert [pair.kind for pair in found] == kinds


ORDERS = [changed(lambda docids, at=at: [*docids[at:10], *docids[:at], *docids[10:]]) for at in (0, 3, 6)]  # type: ignore[misc]


def test_where_most_runs_have_the_same_documents_and_no_more_these_were_given_to_them() -> None:
    for runs, others, lines, found in (
        (3, 0, 50, 0),  # all of them: the documents were given
        (2, 0, 50, 1),
        (3, 1, 50, 2),  # three of six pairs are not most
        (3, 0, 51, 2),  # with ten documents in each of five queries, and one more, they were chosen
    ):
        entries = [graded(lists, str(number)) for number, lists in enumerate(ORDERS[:runs])]
        entries += [graded({qid: [f"x{rank}" for rank in range(10)] for qid in TOPS}, "other")] * others
        entries = [each._replace(lines=lines, queries=5) for each in entries]
        assert [pair.kind for pair in pairs(*entries)] == ["same documents"] * found


def test_nearly_the_same_goes_before_the_same_documents() -> None:
    low = changed(lambda docids: [*docids[:8], docids[9], docids[8], *docids[10:]])
    swapped = changed(lambda docids: [docids[1], docids[0], *docids[2:]])
    others = [graded({qid: [f"{name}{rank}" for rank in range(10)] for qid in TOPS}, name) for name in "xyz"]
    found = pairs(graded(TOPS, "one"), graded(low, "low"), graded(swapped, "swapped"), *others)
    assert [pair[:3] for pair in found] == [(0, 1, NEARLY), (0, 2, "same documents")]
