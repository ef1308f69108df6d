"""Metrics as people get them wrong: plain functions of lists and dictionaries, and the numbers that they give.

Each mistake was seen in public code. Nothing here is shared with the package: a claim of `cases` is a number of this
module. A cause is an id such as ``ideal-topk``; a case has one, or several that were seen together.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

from sklearn.metrics import ndcg_score

# --- data ---


class Data(NamedTuple):
    """Judgments and a run, in the order of their lines."""

    name: str
    qrels: dict[str, dict[str, int]]
    run: dict[str, dict[str, float]]


class Shape(NamedTuple):
    """What is made: the range of relevant documents a query, the highest grade, and the depths of lists."""

    relevant: tuple[int, int]
    top: int
    others: tuple[int, int]
    depths: Sequence[int]
    ties: bool = False
    rough: bool = False


SHAPES = {
    "graded": Shape((3, 16), 3, (8, 20), (100,), rough=True),
    "graded, 10 deep": Shape((3, 25), 3, (8, 20), (10, 10, 10, 10, 6)),
    "graded, ties": Shape((2, 9), 3, (4, 12), (40, 30, 8, 5), ties=True, rough=True),
    "sparse": Shape((0, 2), 1, (1, 3), (20, 20, 15, 7, 4), rough=True),
    "sparse, ties": Shape((0, 3), 1, (1, 3), (10, 10, 8, 3), ties=True, rough=True),
    "binary": Shape((5, 60), 1, (2, 90), (1000,)),
}
"""``rough``: some judged queries lack results, and some queries of the run have no judgments."""

DEVELOPMENT = {"graded": (1, 50), "graded, 10 deep": (2, 25), "graded, ties": (3, 18), "sparse": (4, 40),
               "sparse, ties": (5, 15), "binary": (6, 20)}  # fmt: skip
HELD_OUT = {"graded": (101, 37), "graded, 10 deep": (102, 48), "graded, ties": (103, 29), "sparse": (104, 50),
            "sparse, ties": (105, 24), "binary": (106, 12)}  # fmt: skip
"""Seed and number of queries of each shape. Nothing is tuned on those held out."""


@cache
def made(name: str, seed: int, queries: int) -> Data:
    """Make judgments and a run."""
    rng, shape = random.Random(seed), SHAPES[name]
    data = Data(name, {}, {})
    for number in range(1, queries + 1):
        qid, names = f"q{number}", [f"d{docid}" for docid in rng.sample(range(10_000), 3000)]
        relevant = rng.randint(*shape.relevant)
        labels = {docid: min(1 + int(rng.expovariate(1.0)), shape.top) for docid in names[:relevant]}
        labels |= dict.fromkeys(names[relevant : relevant + rng.randint(*shape.others)], 0)
        depth = rng.choice(shape.depths)
        chosen = [docid for docid in names[: len(labels) + depth] if docid not in labels or rng.random() < 0.8]
        # A grade lifts a document, and noise moves all.
        scores = {docid: 10 + 1.3 * labels.get(docid, 0) + rng.gauss(0, 1.5) for docid in chosen}
        kept = sorted(scores, key=scores.__getitem__, reverse=True)[:depth]
        rng.shuffle(kept)
        data.qrels[qid] = dict(rng.sample(sorted(labels.items()), len(labels)))
        data.run[qid] = {docid: round(max(scores[docid], 0.1), 0 if shape.ties else 4) for docid in kept}
    if shape.rough:
        for qid in rng.sample(sorted(data.run), max(2, queries // 10)):
            del data.run[qid]
        for qid in rng.sample(sorted(data.run), max(1, queries // 15)):
            del data.qrels[qid]
    return data


# --- metrics of one query ---

Gain = Callable[[int], float]
Discount = Callable[[int], float]


class Query(NamedTuple):
    """A query: the ranked documents, their scores, the labels, and the highest label of all queries."""

    ranked: list[str]
    scores: Mapping[str, float]
    labels: Mapping[str, int]
    top: int

    @property
    def relevant(self) -> int:
        """The number of relevant documents."""
        return sum(label > 0 for label in self.labels.values())

    def hit(self, k: int | None) -> list[bool]:
        """Whether each of the first k is relevant."""
        return [self.labels.get(docid, 0) > 0 for docid in self.ranked[:k]]


def linear(label: int) -> float:
    return max(label, 0)


def exponential(label: int) -> float:
    return 2.0 ** max(label, 0) - 1


def binary(label: int) -> float:
    return 1.0 if label > 0 else 0.0


def burges(rank: int) -> float:
    return math.log2(rank + 1)


def log2_rank(rank: int) -> float:
    return math.log2(rank) if rank > 1 else 1.0


def ln_rank(rank: int) -> float:
    return math.log(rank) if rank > 1 else 1.0


def dcg_of(gains: Sequence[float], discount: Discount = burges) -> float:
    return sum(gain / discount(rank) for rank, gain in enumerate(gains, 1))


def ndcg(q: Query, k: int | None, gain: Gain = linear, discount: Discount = burges, ideal: str = "judged",
         ideal_gain: Gain | None = None, ideal_discount: Discount | None = None, share: bool = False) -> float:  # fmt: skip
    if share:
        return ndcg(q, k, lambda label: gain(label) / q.top, discount, ideal, ideal_gain, ideal_discount)
    gains = [gain(q.labels.get(docid, 0)) for docid in q.ranked]
    value = dcg_of(gains[:k], discount)
    judged = sorted((gain if ideal_gain is None else ideal_gain)(label) for label in q.labels.values())[::-1]
    returned, depth = len(q.ranked), len(q.ranked) if k is None else k
    best: dict[str, Sequence[float]] = {
        "judged": judged[:k],
        "uncut": judged,
        "retrieved": sorted(gains, reverse=True)[:k],
        "top k": sorted(gains[:k], reverse=True),
        "k ones": [1.0] * depth,
        "min(k, n) ones": [1.0] * min(depth, returned),
        "min(R, n) ones": [1.0] * min(depth, returned, q.relevant),
        "R ones": [1.0] * min(q.relevant if k is None else k, q.relevant),
        "top grades": [gain(q.top) if ideal_gain is None else ideal_gain(q.top)]
        * min(q.relevant if k is None else k, q.relevant),
    }
    if ideal == "none":
        return value
    divisor = dcg_of(best[ideal], ideal_discount or discount)
    return value / divisor if divisor else 0.0


def sklearn_of_all(q: Query, k: int | None) -> float:
    """Ask scikit-learn, with the relevant documents that were not returned at score 0."""
    docids = [*q.ranked, *(docid for docid, label in q.labels.items() if label > 0 and docid not in q.scores)]
    labels, scores = (
        [max(q.labels.get(docid, 0), 0) for docid in docids],
        [q.scores.get(docid, 0.0) for docid in docids],
    )
    return float(ndcg_score([labels], [scores], k=k)) if len(docids) > 1 else float(sum(labels) > 0)


def sklearn_of_returned(q: Query, k: int | None) -> float:
    """Ask scikit-learn about the first k that were returned, which is all that it knows."""
    labels = [max(q.labels.get(docid, 0), 0) for docid in q.ranked[:k]]
    scores = [q.scores[docid] for docid in q.ranked[:k]]
    return float(ndcg_score([labels], [scores])) if len(labels) > 1 else float(sum(labels) > 0)


def average_precision(q: Query, k: int | None, divisor: str = "R") -> float:
    hit = q.hit(k)
    precisions = [sum(hit[:rank]) / rank for rank in range(1, len(hit) + 1)]
    at_hits = [precision for precision, is_hit in zip(precisions, hit, strict=True) if is_hit]
    if divisor == "mean of P":
        ranks = range(1, (k or len(hit)) + 1)
        return sum(sum(hit[:rank]) / rank for rank in ranks) / len(ranks) if ranks else 0.0
    if divisor == "last hit":
        return at_hits[-1] if at_hits else 0.0
    if divisor == "last rank skipped":
        return sum(at_hits[:-1] if hit and hit[-1] else at_hits) / q.relevant if q.relevant else 0.0
    by = {
        "R": q.relevant,
        "hits": len(at_hits),
        "hits of the list": sum(q.hit(None)),
        "min(R, k)": q.relevant if k is None else min(q.relevant, k),
        "k": k or len(hit),
        "n": len(hit),
    }[divisor]
    return sum(at_hits) / by if by else 0.0


def reciprocal_rank(q: Query, k: int | None, over: str = "first", plus: int = 0,
                    miss: Callable[[Query, int | None], float] = lambda q, k: 0.0) -> float:  # fmt: skip
    inverse = [1 / (rank + plus) for rank, is_hit in enumerate(q.hit(k), 1) if is_hit]
    if not inverse:
        return miss(q, k)
    return {"first": inverse[0], "sum": sum(inverse), "hits": sum(inverse) / len(inverse)}.get(
        over, sum(inverse) / max(q.relevant, 1)
    )


def precision_parts(q: Query, k: int | None, by: str = "k", uncut: bool = False, more: int = 0) -> tuple[float, float]:
    depth = len(q.ranked) if k is None else k
    divisor = {"k": depth, "min(k, n)": min(depth, len(q.ranked)), "min(k, R)": min(depth, q.relevant)}[by]
    return sum(q.hit(None if uncut or k is None else k + more)), divisor


def recall_parts(q: Query, k: int | None, by: str = "R") -> tuple[float, float]:
    depth = len(q.ranked) if k is None else k
    hits = sum(q.hit(k))
    if by == "any":
        return min(hits, 1), 1
    return hits, {
        "R": q.relevant,
        "none": 1,
        "min(R, k)": min(q.relevant, depth),
        "k": depth,
        "min(k, n)": min(depth, len(q.ranked)),
        "hits of the list": sum(q.hit(None)),
    }[by]


def f1_parts(q: Query, k: int | None, by: str = "k", capped: bool = False) -> tuple[float, float]:
    """Return 2h and the sum of both divisors: F1 = 2·P·R / (P + R) = 2h / (divisor of P + divisor of R)."""
    hits, length = precision_parts(q, k, by)
    return 2 * hits, length + recall_parts(q, k, "min(R, k)" if capped else "R")[1]


def ratio(parts: tuple[float, float]) -> float:
    return parts[0] / parts[1] if parts[1] else 0.0


def expected_reciprocal_rank(q: Query, k: int | None, top: str = "all", last: bool = False,
                             chance: str = "exponential", unjudged: float = 0.0) -> float:  # fmt: skip
    returned = [q.labels.get(docid, 0) for docid in q.ranked[:k]]
    highest = {
        "all": q.top,
        "2": 2,
        "4": 4,
        "query": max(q.labels.values(), default=0),
        "list": max(returned, default=0),
    }
    value, left, term = 0.0, 1.0, 0.0
    for rank, docid in enumerate(q.ranked[:k], 1):
        label = max(q.labels.get(docid, 0), 0)
        stop = (2.0**label - 1) / 2.0 ** highest[top] if chance == "exponential" else label / (highest[top] or 1)
        stop = min(stop, 1.0) if docid in q.labels else unjudged
        if stop:
            term = left * stop / rank
        value += left * stop / rank
        left *= 1 - stop
    return term if last else value


def bpref(q: Query, k: int | None, by: str = "min(R, N)", unjudged: bool = False, added: bool = False) -> float:
    relevant = q.relevant
    others, above, value = sum(label == 0 for label in q.labels.values()), 0, 0.0
    bound = {"min(R, N)": min(relevant, others), "R": relevant}[by]
    for docid in q.ranked:
        if q.labels.get(docid, 0) > 0:
            value += 1 - min(above, relevant) / bound if above and bound else 1.0
        elif unjudged or docid in q.labels:
            above += 1
    if added:
        return 1 / relevant + value if relevant else 0.0
    return value / relevant if relevant else 0.0


# --- what was done wrong, by measure ---

Parts = Mapping[str, Mapping[str, Any]]

GAINS: Parts = {
    "gain-exp": {"gain": exponential},
    "gain-01": {"gain": binary},
    "gain-share": {"share": True},
    "log2-rank": {"discount": log2_rank},
    "ln": {"discount": lambda rank: math.log(rank + 1)},
    "log10": {"discount": lambda rank: math.log10(rank + 1)},
    "discount-rank": {"discount": float},
    "log2-rank-plus-2": {"discount": lambda rank: math.log2(rank + 2)},
    "ln-rank": {"discount": ln_rank},
}
IDEALS: Parts = {
    "ideal-retrieved": {"ideal": "retrieved"},
    "ideal-topk": {"ideal": "top k"},
    "ideal-k-ones": {"ideal": "k ones"},
    "ideal-min-kn-ones": {"ideal": "min(k, n) ones"},
    "ideal-min-rn-ones": {"ideal": "min(R, n) ones"},
    "ideal-r-ones": {"ideal": "R ones"},
    "ideal-max-grade": {"ideal": "top grades"},
    "ideal-uncut": {"ideal": "uncut"},
    "ideal-none": {"ideal": "none"},
    "gain-01-run": {"gain": binary, "ideal_gain": linear},
    "log2-rank-plus-2-run": {"discount": lambda rank: math.log2(rank + 2), "ideal_discount": burges},
}
AP: Parts = {
    "ap-over-hits": {"divisor": "hits"},
    "ap-over-hits-in-list": {"divisor": "hits of the list"},
    "ap-capped": {"divisor": "min(R, k)"},
    "ap-over-k": {"divisor": "k"},
    "ap-over-n": {"divisor": "n"},
    "ap-mean-of-p": {"divisor": "mean of P"},
    "ap-last-skipped": {"divisor": "last rank skipped"},
    "ap-last-hit": {"divisor": "last hit"},
}
RR: Parts = {
    "rr-sum": {"over": "sum"},
    "rr-over-hits": {"over": "hits"},
    "rr-over-r": {"over": "R"},
    "rr-plus-one": {"plus": 1},
    "rr-miss-k": {"miss": lambda q, k: 1 / (k + 1)},
    "rr-miss-n": {"miss": lambda q, k: 1 / (len(q.ranked) + 1)},
    "rr-miss-100": {"miss": lambda q, k: 1 / 100},
    "rr-miss-one": {"miss": lambda q, k: 1.0},
    "rr-miss-minus-one": {"miss": lambda q, k: -1.0},
}
P: Parts = {
    "p-over-length": {"by": "min(k, n)"},
    "p-over-min-kr": {"by": "min(k, R)"},
    "hits-uncut": {"uncut": True},
    "cutoff-plus-1-divisor": {"more": 1},
    "cutoff-minus-1-divisor": {"more": -1},
}
R: Parts = {
    "recall-is-hit-rate": {"by": "any"},
    "recall-is-hits": {"by": "none"},
    "recall-capped": {"by": "min(R, k)"},
    "recall-is-precision": {"by": "k"},
    "recall-over-length": {"by": "min(k, n)"},
    "recall-in-list": {"by": "hits of the list"},
}
SUCCESS: Parts = {
    "success-is-recall": {"by": "R"},
    "success-is-hits": {"by": "none"},
    "success-is-precision": {"by": "k"},
}
ERR: Parts = {
    "err-max-2": {"top": "2"},
    "err-max-4": {"top": "4"},
    "err-max-query": {"top": "query"},
    "err-max-list": {"top": "list"},
    "err-last-term": {"last": True},
    "err-half-unjudged": {"unjudged": 0.5},
    "err-prob-g-max": {"chance": "linear"},
}
BPREF: Parts = {"bpref-over-r": {"by": "R"}, "bpref-unjudged": {"unjudged": True}, "bpref-added": {"added": True}}
F1: Parts = {"p-over-length": {"by": "min(k, n)"}, "recall-capped": {"capped": True}}

Metric = Callable[..., Any]
METRICS: dict[str, tuple[Metric, Parts]] = {
    "nDCG": (ndcg, {**GAINS, **IDEALS}),
    "DCG": (ndcg, GAINS),
    "AP": (average_precision, AP),
    "RR": (reciprocal_rank, RR),
    "P": (precision_parts, P),
    "R": (recall_parts, R),
    "F1": (f1_parts, F1),
    "Success": (recall_parts, SUCCESS),
    "ERR": (expected_reciprocal_rank, ERR),
    "Bpref": (bpref, BPREF),
}
OTHERS: dict[tuple[str, str], tuple[Metric, Mapping[str, Any]]] = {
    ("nDCG", "unreturned-at-zero"): (sklearn_of_all, {}),
    ("nDCG", "sklearn"): (sklearn_of_returned, {}),
    ("AP", "ap-is-p"): (precision_parts, {}),
    ("AP", "ap-is-rr"): (reciprocal_rank, {}),
    ("RR", "rr-is-ap-over-hits"): (average_precision, {"divisor": "hits"}),
}
"""One measure under the name of another."""

USUAL: dict[str, Mapping[str, Any]] = {"DCG": {"ideal": "none"}, "Success": {"by": "any"}}

# --- how a list is ranked, and queries are averaged ---


def by_score(scores: Mapping[str, float]) -> list[str]:
    """Rank as trec_eval does: the larger id first where scores are equal."""
    return sorted(sorted(scores, reverse=True), key=lambda docid: -scores[docid])


RANKINGS: dict[str, Callable[[Mapping[str, float], Mapping[str, int]], list[str]]] = {
    "sort-ascending": lambda scores, labels: by_score({docid: -score for docid, score in scores.items()}),
    "sort-reversed": lambda scores, labels: by_score(scores)[::-1],
    "sort-text": lambda scores, labels: sorted(by_score(scores), key=lambda docid: str(scores[docid]), reverse=True),
    "sort-docid": lambda scores, labels: sorted(scores, reverse=True),
    "sort-docid-asc": lambda scores, labels: sorted(scores),
    "sort-line": lambda scores, labels: list(scores),
    "ties-line": lambda scores, labels: sorted(scores, key=lambda docid: -scores[docid]),
    "ties-docid-asc": lambda scores, labels: sorted(sorted(scores), key=lambda docid: -scores[docid]),
    "ties-label-first": lambda scores, labels: sorted(
        by_score(scores), key=lambda docid: (-scores[docid], -labels.get(docid, 0))
    ),
    "judged-only": lambda scores, labels: [docid for docid in by_score(scores) if docid in labels],
}

AVERAGES = ("no-gold-one", "no-gold-out", "hit-only", "missing-zero", "nothing-returned-one", "short-out", "over-run",
            "micro", "median", "geometric", "first-10", "f1-of-means", "rr-mean-rank", "ap-pooled", "rr-k-queries")  # fmt: skip
CUTOFFS = ("cutoff-ignored", "cutoff-plus-1", "cutoff-minus-1", "cutoff-20", "level-2", "level-3")


def score(data: Data, measure: str, ids: Iterable[str] = ()) -> float | None:
    """Return a measure's mean when all of this was done wrong; None if there is nothing to average."""
    causes = set(ids)
    name, _, cutoff = measure.partition("@")
    k = int(cutoff) if cutoff else None
    shift = {"cutoff-plus-1": 1, "cutoff-minus-1": -1}
    for cause in causes & {*CUTOFFS, "rr-k-queries"}:
        if cause == "cutoff-ignored":
            k = None
        elif cause == "cutoff-20":
            k = 20
        elif cause == "rr-k-queries":
            k = min(k or 0, len(data.run))
        elif cause in shift:
            k = (k or 0) + shift[cause]
    level = next((int(cause[-1]) for cause in causes if cause.startswith("level-")), 1)
    metric, parts = METRICS[name]
    how = dict(USUAL.get(name, {}))
    for cause in causes:
        if (name, cause) in OTHERS:
            metric, other = OTHERS[name, cause]
            how |= other
        how |= parts.get(cause, {})
    top = max(label for labels in data.qrels.values() for label in labels.values())
    qids = [qid for qid in data.run if qid in data.qrels]
    if "missing-zero" in causes:
        qids += [qid for qid in data.qrels if qid not in data.run]
    ranking = next((RANKINGS[cause] for cause in causes if cause in RANKINGS), None)
    queries: dict[str, Query] = {}
    for qid in qids:
        scores, labels = data.run.get(qid, {}), data.qrels[qid]
        ranked = by_score(scores) if ranking is None else ranking(scores, labels)
        if level > 1:
            labels = {docid: int(label >= level) for docid, label in labels.items()}
        queries[qid] = Query(ranked, scores, labels, top)
    if "no-gold-out" in causes:
        queries = {qid: q for qid, q in queries.items() if q.relevant}
    if "hit-only" in causes:
        queries = {qid: q for qid, q in queries.items() if any(q.hit(k))}
    if "short-out" in causes:
        queries = {qid: q for qid, q in queries.items() if len(q.ranked) >= (k or 0)}
    if "first-10" in causes:
        first = list(data.run)[:10]
        queries = {qid: q for qid, q in queries.items() if qid in first}
    if not queries:
        return None
    if "f1-of-means" in causes:
        p = statistics.fmean(ratio(precision_parts(q, k, how.get("by", "k"))) for q in queries.values())
        r = statistics.fmean(ratio(recall_parts(q, k)) for q in queries.values())
        return 2 * p * r / (p + r) if p + r else 0.0
    if "rr-mean-rank" in causes:
        ranks = [q.hit(k).index(True) + 1 for q in queries.values() if any(q.hit(k))]
        return 1 / statistics.fmean(ranks) if ranks else None
    if "ap-pooled" in causes:
        flat = [is_hit for q in queries.values() for is_hit in q.hit(k)]
        precisions = [sum(flat[:rank]) / rank for rank, is_hit in enumerate(flat, 1) if is_hit]
        return sum(precisions) / sum(q.relevant for q in queries.values())
    scored = {qid: metric(q, k, **how) for qid, q in queries.items()}
    if "micro" in causes:
        return ratio((sum(hits for hits, _ in scored.values()), sum(divisor for _, divisor in scored.values())))
    values = {qid: ratio(value) if isinstance(value, tuple) else value for qid, value in scored.items()}
    for qid, q in queries.items():
        if ("no-gold-one" in causes and not q.relevant) or ("nothing-returned-one" in causes and not q.ranked):
            values[qid] = 1.0
    if "median" in causes:
        return statistics.median(values.values())
    if "geometric" in causes:
        return math.exp(statistics.fmean(math.log(max(value, 0.00001)) for value in values.values()))
    return sum(values.values()) / (len(data.run) if "over-run" in causes else len(values))


# --- what occurs, alone and together ---

CUT_OFF_AT: dict[str, tuple[str, ...]] = {
    "nDCG": ("nDCG@10", "nDCG@5", "nDCG"),
    "DCG": ("DCG@10",),
    "AP": ("AP", "AP@10"),
    "RR": ("RR", "RR@10"),
    "P": ("P@10", "P@5"),
    "R": ("R@10", "R@5"),
    "F1": ("F1@10",),
    "Success": ("Success@5", "Success@10"),
    "ERR": ("ERR@10",),
    "Bpref": ("Bpref",),
}
HELD_OUT_AT: dict[str, tuple[str, ...]] = {
    "nDCG": ("nDCG@20", "nDCG@3", "nDCG"),
    "DCG": ("DCG@5",),
    "AP": ("AP", "AP@5"),
    "RR": ("RR", "RR@5"),
    "P": ("P@3", "P@20"),
    "R": ("R@20", "R@3"),
    "F1": ("F1@5",),
    "Success": ("Success@3", "Success@10"),
    "ERR": ("ERR@20",),
    "Bpref": ("Bpref",),
}

TOGETHER: dict[str, tuple[str, ...]] = {
    "nDCG": (
        "ideal-topk+log2-rank", "ideal-topk+gain-exp", "ideal-topk+gain-01", "ideal-topk+hit-only",
        "ideal-topk+no-gold-out", "ideal-topk+missing-zero", "ideal-topk+short-out", "ideal-topk+no-gold-one",
        "ideal-retrieved+log2-rank", "ideal-retrieved+gain-exp", "ideal-retrieved+gain-01", "ideal-retrieved+hit-only",
        "ideal-retrieved+no-gold-out", "ideal-retrieved+missing-zero", "ideal-retrieved+short-out",
        "ideal-topk+log2-rank+gain-exp", "ideal-topk+no-gold-out+missing-zero", "ideal-topk+hit-only+gain-01",
        "ideal-retrieved+log2-rank+gain-exp", "ideal-retrieved+no-gold-out+missing-zero",
        "ideal-retrieved+hit-only+gain-01", "ideal-retrieved+ln-rank",
        "ideal-k-ones+gain-01", "ideal-k-ones+gain-01+missing-zero", "ideal-k-ones+gain-01+ln-rank",
        "ideal-k-ones+gain-01+no-gold-out", "ideal-min-kn-ones+gain-01", "ideal-min-rn-ones+gain-01",
        "ideal-min-rn-ones+missing-zero", "ideal-max-grade+gain-01-run", "gain-share+ideal-r-ones", "gain-share+ideal-k-ones",
        "gain-share+ideal-none",
        "ideal-none+gain-exp", "ideal-none+gain-01", "ideal-none+log2-rank", "ideal-none+ln", "ideal-none+log10",
        "ideal-none+discount-rank", "ideal-uncut+gain-exp", "ideal-uncut+log2-rank",
        "gain-exp+log2-rank", "gain-exp+no-gold-out", "gain-exp+missing-zero", "gain-01+log2-rank",
        "log2-rank+no-gold-out", "unreturned-at-zero+missing-zero", "hit-only+gain-01",
    ),
    "DCG": ("gain-exp+ln", "gain-exp+log2-rank", "gain-01+log2-rank"),
    "P": ("p-over-length+no-gold-one", "p-over-length+no-gold-out", "p-over-length+micro", "p-over-min-kr+micro",
          "p-over-length+missing-zero"),
    "AP": ("ap-over-hits+no-gold-one", "ap-over-hits+no-gold-out", "ap-over-hits+hit-only", "ap-over-hits+missing-zero",
           "ap-capped+no-gold-out", "ap-capped+no-gold-one", "ap-capped+missing-zero", "ap-over-k+no-gold-out"),
    "RR": ("rr-sum+hit-only", "rr-over-hits+hit-only", "hit-only+no-gold-out", "no-gold-out+missing-zero",
           "rr-miss-k+missing-zero", "no-gold-one+missing-zero"),
    "R": ("recall-capped+no-gold-out", "recall-capped+no-gold-one", "recall-capped+micro",
          "recall-capped+no-gold-one+missing-zero", "recall-capped+no-gold-out+micro", "recall-is-hit-rate+no-gold-out",
          "recall-is-hit-rate+missing-zero", "recall-in-list+no-gold-out", "no-gold-one+missing-zero",
          "no-gold-out+micro"),
    "F1": ("p-over-length+recall-capped", "f1-of-means+p-over-length", "p-over-length+no-gold-one"),
    "Success": ("no-gold-out+missing-zero", "success-is-recall+no-gold-out"),
    "ERR": (),
    "Bpref": (),
}  # fmt: skip
"""Causes that were seen in one program."""

WITH_MICRO = {"P", "R", "F1", "Success"}
WITHOUT_LEVEL = {"nDCG", "DCG", "ERR", "Bpref"}


def causes_of(name: str) -> Iterator[frozenset[str]]:
    """Yield what was done wrong with a measure, alone and together."""
    alone = [
        *METRICS[name][1],
        *(cause for measure, cause in OTHERS if measure == name),
        *RANKINGS,
        *CUTOFFS,
        *AVERAGES,
    ]
    only = {"f1-of-means": "F1", "rr-mean-rank": "RR", "rr-k-queries": "RR", "ap-pooled": "AP"}
    for cause in alone:
        if only.get(cause, name) == name and not (
            (cause == "micro" and name not in WITH_MICRO)
            or (cause.startswith("level") and name in WITHOUT_LEVEL)
            or (cause == "nothing-returned-one")
        ):
            yield frozenset([cause])
    for causes in TOGETHER[name]:
        yield frozenset(causes.split("+"))


class Case(NamedTuple):
    """A number that a wrong metric gives, and all causes that give the very same on this data."""

    data: Data
    measure: str
    causes: frozenset[str]
    alike: tuple[frozenset[str], ...]
    value: float


def cases(data: Data, measures: Mapping[str, Sequence[str]] = CUT_OFF_AT) -> Iterator[Case]:
    """Yield each wrong number of these measures on some data; one that is right to four decimals is no case."""
    for name, notations in measures.items():
        for measure in notations:
            usual = score(data, measure)
            wrong: dict[frozenset[str], float] = {}
            for causes in causes_of(name):
                if "@" not in measure and any(at in causes for at in (*CUTOFFS[:4], "rr-miss-k", "rr-k-queries")):
                    continue
                value = score(data, measure, causes)
                if value is not None and usual is not None and f"{value:.4f}" != f"{usual:.4f}":
                    wrong[causes] = value
            for causes, value in wrong.items():
                # Of several, some may have no effect on this data.
                fewer = {
                    frozenset(some) for size in range(1, len(causes)) for some in combinations(sorted(causes), size)
                }
                scored = {**{some: score(data, measure, some) for some in fewer}, **wrong}
                alike = tuple(other for other, same in scored.items() if same is not None and abs(same - value) <= 1e-9)
                yield Case(data, measure, causes, alike, value)


def distinct(some: Iterable[Case]) -> list[Case]:
    """Keep one case of those with the same measure and number: they are one question."""
    kept: dict[tuple[str, str, str], Case] = {}
    for case in some:
        kept.setdefault((case.data.name, case.measure, f"{case.value:.9f}"), case)
    return list(kept.values())


def cases_of(name: str, held_out: bool = False) -> list[Case]:
    """Return the cases of the data of a shape."""
    seeds, measures = (HELD_OUT, HELD_OUT_AT) if held_out else (DEVELOPMENT, CUT_OFF_AT)
    return distinct(cases(made(name, *seeds[name]), measures))
