"""Explain names the right cause: claims made by a scorer of a few lines, with one mistake or other convention each.

The scorer stands here, in plain Python, and shares nothing with the package. A claim has the four decimals that papers
have. Its cause must come first, or stand among those that are said to give the number just as well.
"""

from __future__ import annotations

import gzip
import math
import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from shared import ROBUST, needs_shared
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.explaining.changes import ways as ways_of
from treceval_py.explaining.explanation import Explained, Match
from treceval_py.explaining.variants import Situation, Variant, task_of

HOME = Path(__file__).parent.parent

Labels = Mapping[str, int]
Ranking = Sequence[str]


class Pair(NamedTuple):
    """Judgments and a run, in the order of their lines."""

    qrels: dict[str, dict[str, int]]
    run: dict[str, dict[str, float]]


def lines(path: Path) -> list[list[str]]:
    data = path.read_bytes()
    return [line.split() for line in (gzip.decompress(data) if path.suffix == ".gz" else data).decode().splitlines()]


PARTLY = "bm25 judged in part"
"""Every fourth query of the run has no judgments."""


@cache
def pair(name: str) -> Pair:
    if name in ("bm25", "jaccard", "minilm", PARTLY):
        judged, retrieved = HOME / "data" / "qrels.tsv", HOME / "data" / "runs" / f"{name.split()[0]}.txt"
    else:
        judged, retrieved = ROBUST / "qrels.txt.gz", ROBUST / f"input.{name}.gz"
    found = Pair({}, {})
    for qid, _, docid, rel in lines(judged):
        found.qrels.setdefault(qid, {})[docid] = int(rel)
    for qid, _, docid, _, score, _ in lines(retrieved):
        found.run.setdefault(qid, {})[docid] = float(score)
    if name == PARTLY:
        for qid in list(found.qrels)[::4]:
            del found.qrels[qid]
    return found


OURS = ["bm25", *(pytest.param(name, marks=pytest.mark.slow) for name in ("jaccard", "minilm", PARTLY))]
THEIRS = [pytest.param(name, marks=[pytest.mark.slow, needs_shared]) for name in ("NLPR03vb10", "uic0301")]

# --- a scorer of a few lines, as somebody writes one ---


def by_score(scores: Mapping[str, float]) -> list[str]:
    """Rank as trec_eval does: the larger id first where scores are equal."""
    return sorted(sorted(scores, reverse=True), key=lambda docid: -scores[docid])


def precision(ranking: Ranking, labels: Labels, k: int = 10, by: str = "k") -> float:
    hits = sum(labels.get(docid, 0) >= 1 for docid in ranking[:k])
    relevant = sum(rel >= 1 for rel in labels.values())
    divisor = {"k": k, "min(k, R)": min(k, relevant)}[by]
    return hits / divisor if divisor else 0.0


def recall(ranking: Ranking, labels: Labels, k: int = 10) -> float:
    relevant = {docid for docid, rel in labels.items() if rel >= 1}
    return len(relevant.intersection(ranking[:k])) / len(relevant) if relevant else 0.0


def reciprocal(ranking: Ranking, labels: Labels, plus: int = 0, k: int | None = None) -> float:
    ranks = (rank for rank, docid in enumerate(ranking[:k], 1) if labels.get(docid, 0) >= 1)
    return next((1 / (rank + plus) for rank in ranks), 0.0)


def average_precision(ranking: Ranking, labels: Labels, level: int = 1, by: str = "R", k: int | None = None) -> float:
    precisions: list[float] = []
    for rank, docid in enumerate(ranking[:k], 1):
        if labels.get(docid, 0) >= level:
            precisions.append((len(precisions) + 1) / rank)
    relevant = sum(rel >= level for rel in labels.values())
    divisor = {"R": relevant, "found": len(precisions), "min(k, R)": min(k or relevant, relevant)}[by]
    return sum(precisions) / divisor if divisor else 0.0


def linear(rel: int) -> float:
    return max(rel, 0)


def exponential(rel: int) -> float:
    return 2.0 ** max(rel, 0) - 1


def binary(rel: int) -> float:
    return float(rel > 0)


def late(rank: int) -> float:
    return math.log2(rank + 2)


def burges(rank: int) -> float:
    return math.log2(rank + 1)


def jk(rank: int) -> float:
    return max(1.0, math.log2(rank))


def dcg(gains: Sequence[float], k: int | None, discount: Callable[[int], float]) -> float:
    return sum(gain / discount(rank) for rank, gain in enumerate(gains[:k], 1))


def ideal(
    labels: Labels,
    k: int | None = 10,
    gain: Callable[[int], float] = linear,
    discount: Callable[[int], float] = burges,
) -> float:
    return dcg(sorted(map(gain, labels.values()), reverse=True), k, discount)


def ndcg(
    ranking: Ranking,
    labels: Labels,
    k: int | None = 10,
    gain: Callable[[int], float] = linear,
    discount: Callable[[int], float] = burges,
    retrieved: bool = False,
) -> float:
    gains = [gain(labels.get(docid, 0)) for docid in ranking]
    best = dcg(sorted(gains, reverse=True), k, discount) if retrieved else ideal(labels, k, gain, discount)
    return dcg(gains, k, discount) / best if best else 0.0


Score = Callable[[Ranking, Labels], float]


def values(of: Pair, score: Score, rank: Callable[[Mapping[str, float]], Ranking] = by_score) -> dict[str, float]:
    """Return the value of each judged query of the run, in the order of the run."""
    return {qid: score(rank(scores), of.qrels[qid]) for qid, scores in of.run.items() if qid in of.qrels}


def mean(of: Pair, score: Score, rank: Callable[[Mapping[str, float]], Ranking] = by_score) -> float:
    return statistics.fmean(values(of, score, rank).values())


def pooled(of: Pair, score: Score, divisor: Callable[[Labels], float]) -> float:
    """Add up what is counted for all queries, and divide by the sum of what it is divided by in each."""
    found = values(of, score)
    return sum(found[qid] * divisor(of.qrels[qid]) for qid in found) / sum(divisor(of.qrels[qid]) for qid in found)


def of_first(found: Mapping[str, float], qids: Sequence[str]) -> float:
    return statistics.fmean(found[qid] for qid in qids if qid in found)


def number_in(docid: str) -> int:
    if not docid.isdecimal():
        pytest.skip("ids are no numbers")
    return int(docid)


def relevant(labels: Labels) -> int:
    return sum(rel >= 1 for rel in labels.values())


# --- what each of them does, and the words for it ---

CLAIMS: dict[str, tuple[str, Callable[[Pair], float]]] = {
    # other conventions
    "relevant from judgment 2 instead of 1": (
        "AP", lambda of: mean(of, lambda ranking, labels: average_precision(ranking, labels, level=2))),
    "gain 2^rel - 1 instead of rel": (
        "nDCG@10", lambda of: mean(of, lambda ranking, labels: ndcg(ranking, labels, gain=exponential))),
    "discount of Järvelin and Kekäläinen 2002, base 2": (
        "nDCG@10", lambda of: mean(of, lambda ranking, labels: ndcg(ranking, labels, discount=jk))),
    "documents with equal scores are ranked by id, smallest first, byte by byte": (
        "nDCG@10", lambda of: mean(of, ndcg, lambda scores: sorted(sorted(scores), key=lambda docid: -scores[docid]))),
    "documents with equal scores keep the order of their lines": (
        "AP", lambda of: mean(of, average_precision, lambda scores: sorted(scores, key=lambda docid: -scores[docid]))),
    "the median of the queries, not the mean": (
        "AP", lambda of: statistics.median(values(of, average_precision).values())),
    "the median of the queries, not the mean [nDCG]": (
        "nDCG@10", lambda of: statistics.median(values(of, ndcg).values())),
    "micro-average: all queries as if they were one, not the mean of their values": (
        "R@10", lambda of: pooled(of, recall, relevant)),
    "micro-average: all queries as if they were one, not the mean of their values [AP]": (
        "AP", lambda of: pooled(of, average_precision, relevant)),
    "micro-average: all queries as if they were one, not the mean of their values [nDCG]": (
        "nDCG@10", lambda of: pooled(of, ndcg, ideal)),
    "divided by min(k, R)": (
        "P@10", lambda of: mean(of, lambda ranking, labels: precision(ranking, labels, by="min(k, R)"))),
    "divided by min(k, R) [R]": (
        "R@10", lambda of: mean(of, lambda ranking, labels: precision(ranking, labels, by="min(k, R)"))),
    "divided by min(k, R) [AP]": (
        "AP@10", lambda of: mean(of, lambda ranking, labels: average_precision(ranking, labels, by="min(k, R)", k=10))),
    "unjudged documents are removed from the ranking": (
        "AP", lambda of: mean(of, lambda ranking, labels: average_precision([d for d in ranking if d in labels], labels))),
    # mistakes
    "document ids taken for scores": (
        "nDCG@10", lambda of: mean(of, ndcg, lambda scores: sorted(scores, key=number_in, reverse=True))),
    "divided by the number of queries in the run, judged or not": (
        "AP", lambda of: sum(values(of, average_precision).values()) / len(of.run)),
    "cutoff 20 instead of 10": (
        "nDCG@10", lambda of: mean(of, lambda ranking, labels: ndcg(ranking, labels, k=20))),
    "cutoff 5 instead of 10": (
        "P@10", lambda of: mean(of, lambda ranking, labels: precision(ranking, labels, k=5))),
    "without the cutoff": (
        "nDCG@10", lambda of: mean(of, lambda ranking, labels: ndcg(ranking, labels, k=None))),
    "cutoff 10": (
        "AP", lambda of: mean(of, lambda ranking, labels: average_precision(ranking, labels, k=10))),
    "divided by the relevant documents found": (
        "AP", lambda of: mean(of, lambda ranking, labels: average_precision(ranking, labels, by="found"))),
    "grades as 0 and 1": (
        "nDCG@10", lambda of: mean(of, lambda ranking, labels: ndcg(ranking, labels, gain=binary))),
    "ideal from the retrieved documents": (
        "nDCG@10", lambda of: mean(of, lambda ranking, labels: ndcg(ranking, labels, retrieved=True))),
    "discount log2(rank + 2) instead of log2(rank + 1)": (
        "nDCG@10", lambda of: mean(of, lambda ranking, labels: ndcg(ranking, labels, discount=late))),
    "1 / (rank + 1) instead of 1 / rank": (
        "RR", lambda of: mean(of, lambda ranking, labels: reciprocal(ranking, labels, plus=1))),
    "1 / (rank + 1) instead of 1 / rank [@10]": (
        "RR@10", lambda of: mean(of, lambda ranking, labels: reciprocal(ranking, labels, plus=1, k=10))),
    "sorted by ascending score": (
        "AP", lambda of: mean(of, average_precision, lambda scores: by_score({key: -scores[key] for key in scores}))),
    "sorted by ascending score, equal scores reversed too": (
        "AP", lambda of: mean(of, average_precision, lambda scores: by_score(scores)[::-1])),
    "only the first 10 queries of the run": (
        "nDCG@10", lambda of: of_first(values(of, ndcg), list(of.run)[:10])),
    "only the first 20 queries of the run": (
        "AP", lambda of: of_first(values(of, average_precision), list(of.run)[:20])),
    "only the first 20 queries of the judgments": (
        "R@10", lambda of: of_first(values(of, recall), list(of.qrels)[:20])),
    "without the last query of the run": (
        "AP", lambda of: of_first(values(of, average_precision), list(of.run)[:-1])),
    # two at once
    "gain 2^rel - 1 instead of rel; cutoff 20 instead of 10": (
        "nDCG@10", lambda of: mean(of, lambda ranking, labels: ndcg(ranking, labels, k=20, gain=exponential))),
}  # fmt: skip
"""By the words of its cause (and where two have the same, the measure): what is claimed, and the number."""


def first_group(found: Explained) -> list[Match]:
    """Return the matches that the report names first."""
    return [match for match in found.matches if match.likely]


@pytest.mark.parametrize("name", [*OURS, *THEIRS])
@pytest.mark.parametrize("words", CLAIMS)
def test_the_cause_of_a_claim_is_named_first(words: str, name: str) -> None:
    measure, number = CLAIMS[words]
    of, cause = pair(name), words.partition(" [")[0]
    value = number(of)
    (found,) = te.explain(of.qrels, of.run, claims=[f"{measure}={value:.4f}"]).measures
    ours = found.rows[0].outcome
    if ours is not None and f"{ours.mean:.4f}" == f"{value:.4f}":
        pytest.skip("it has no effect on this run")
    assert found.matches, "no cause was found"
    # To its last bit it is the same computation, whatever it is called: a program may be named, or what comes to the same
    # on this run. A program that has the same four decimals may be named before it, and nothing else.
    same = [each.variant for each in found.matches if each.outcome.mean == pytest.approx(value, rel=1e-12)]
    first = first_group(found)
    assert same, f"another cause is named: {[each.variant.name for each in first]}"
    assert same[0] in [each.variant for each in first] or first[0].variant.profile
    assert cause in [each.name for each in same] or same[0].profile or same[0].name in ALIKE.get(cause, ())


ALIKE = {
    "sorted by ascending score, equal scores reversed too": ("sorted by ascending score",),
    "only the first 20 queries of the judgments": ("only the first 20 queries of the run",),
}
"""What may be said instead where it comes to the same, as for a run without equal scores."""


@pytest.mark.slow
def test_a_number_of_no_origin_is_hardly_ever_explained() -> None:
    of = pair("bm25")
    rng = random.Random(16)
    explained = 0
    for measure in ("AP", "R@100", "P@10"):
        (ours,) = te.evaluate(of.qrels, of.run, measure).mean.values()
        claims = [f"{measure}={ours + rng.uniform(-0.1, 0.1):.4f}" for _ in range(10)]
        found = te.explain(of.qrels, of.run, claims=claims).measures
        explained += sum(bool(each.matches) and not each.by_chance for each in found)
    assert explained <= 2


# --- what is tried ---

SITUATION = Situation(
    2, (1, 2), has_ranks=True, has_numbers=True, longest=51, ties=True, lists={"run": 12, "judgments": 11}, whole=True
)


def ways(measure: str, situation: Situation = SITUATION) -> list[Variant]:
    """Return the variants up to three changes away from a measure of trec_eval."""
    task = task_of(te.measuring.parse_measures(measure)[0], te.scoring.PROFILES["trec_eval-10"], situation)
    return ways_of(task, situation)[1:]


@pytest.mark.parametrize("measure", ["AP", "nDCG@10", "RR", "P@5", "R@10", "ERR@20", "Bpref", "infAP"])
def test_the_ways_that_are_tried_are_known(measure: str, snapshot: SnapshotAssertion) -> None:
    found = ways(measure)
    assert len({frozenset(each.ids) for each in found}) == len(found)
    assert [each.prior for each in found] == sorted((each.prior for each in found), reverse=True)
    single = [
        f"{each.prior:.4f} {'+'.join(each.ids)}{'!' * each.mistake}: {each.name}" for each in found if each.cost < 4
    ]
    assert {"one": single, "several": len(found) - len(single)} == snapshot


def test_a_way_needs_what_it_is_about() -> None:
    # Of 51 documents 50 are a part, and of 12 queries 10 with more than one left out.
    def names(measure: str, situation: Situation = SITUATION) -> list[str]:
        return [each.name for each in ways(measure, situation) if each.cost < 4]

    found = names("AP")
    assert sorted(each.split("first ")[1] for each in found if "in each ranking the first" in each) == [
        "10 documents count", "20 documents count", "50 documents count",
    ]  # fmt: skip
    assert [each for each in found if "only the first" in each] == ["only the first 10 queries of the run"]
    fewer = names("AP", SITUATION._replace(longest=50, lists={"run": 2, "judgments": 1}))
    assert not any("the first 50" in each or "of the judgments" in each for each in fewer)
    assert "without the last query of the run" in fewer
    for lacking, words in (
        ({"has_ranks": False}, "ranked by the rank column"),
        ({"has_numbers": False}, "document ids taken for scores"),
        ({"ties": False}, "equal scores reversed too"),
        ({"max_rel": 1}, "grades as 0 and 1"),
        ({"max_rel": 1, "grades": (1,)}, "relevant from judgment 2"),
        ({"whole": False}, "scores sorted as text"),
    ):
        assert any(words in each for each in names("nDCG@10") + names("AP")), words
        assert not any(
            words in each for measure in ("nDCG@10", "AP") for each in names(measure, SITUATION._replace(**lacking))
        ), words


def test_up_to_three_changes_combine_and_none_sets_what_another_sets() -> None:
    found = {frozenset(each.ids): each for each in ways("nDCG@10")}
    three = found[frozenset({"ideal-topk", "log2-rank", "gain-exp"})]
    assert three.prior == pytest.approx(76 / 500 * 20 / 500 * 25 / 500)
    assert frozenset({"ideal-topk", "ideal-retrieved"}) not in found
