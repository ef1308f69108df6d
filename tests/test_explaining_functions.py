"""Explain a function: code as people write it, right or with one mistake, is called on made rankings and named."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import treceval_py as te
from treceval_py.errors import MeasureError
from treceval_py.explaining.functions import explain_function

# --- two collections: retrieved and relevant ids ---


def precision_at_k(retrieved: list[str], relevant: set[str], k: int) -> float:
    return len(set(retrieved[:k]) & relevant) / k


def precision_of_list(retrieved: list[str], relevant: set[str], k: int = 5) -> float:
    top = retrieved[:k]
    return sum(doc in relevant for doc in top) / len(top)


def precision_of_least(actual: list[str], predicted: list[str], topk: int) -> float:
    return len(set(predicted[:topk]) & set(actual)) / min(topk, len(actual))


def recall_at_k(k: int, relevants: set[str], retrieved: list[str]) -> float:
    if not relevants:
        return 0.0
    return len(set(retrieved[:k]) & relevants) / len(relevants)


def recall_capped(actual: list[str], predicted: list[str], k: int) -> float:
    return len(set(actual) & set(predicted[:k])) / min(k, len(actual))


def recall_is_hit_rate(retrieved_ids: list[str], expected_ids: list[str], top_k: int = 3) -> bool:
    return any(doc in expected_ids for doc in retrieved_ids[:top_k])


def recall_one_without_gold(retrieved: list[str], relevant: set[str], k: int) -> float:
    if len(relevant) == 0:
        return 1.0
    return len(set(retrieved[:k]) & relevant) / len(relevant)


def hit_rate_is_recall(recs: list[str], gt: set[str], n: int) -> float:
    return len(set(recs[:n]) & gt) / len(gt) if gt else 0.0


def average_precision_hits(retrieved: list[str], relevant: set[str], k: int) -> float:
    hits, total = 0, 0.0
    for i, doc in enumerate(retrieved[:k]):
        if doc in relevant:
            hits += 1
            total += hits / (i + 1)
    return total / hits if hits else 0.0


def apk(actual: list[str], predicted: list[str], k: int = 10) -> float:
    predicted = predicted[:k]
    score, hits = 0.0, 0
    for i, p in enumerate(predicted):
        if p in actual and p not in predicted[:i]:
            hits += 1
            score += hits / (i + 1)
    return score / min(len(actual), k) if actual else 0.0


def mapk(actual: list[list[str]], predicted: list[list[str]], k: int = 10) -> float:
    return float(np.mean([apk(a, p, k) for a, p in zip(actual, predicted)]))  # noqa: B905


def average_precision_over_k(retrieved: list[str], relevant: set[str], k: int) -> float:
    return sum(precision_at_k(retrieved, relevant, i) for i in range(1, k + 1) if retrieved[i - 1 : i] and retrieved[i - 1] in relevant) / k


def reciprocal_rank(results: list[Any], relevant: set[str]) -> float | None:
    for i, doc in enumerate(results):
        if doc in relevant:
            return 1 / (i + 1)
    return None


def reciprocal_rank_from_two(results: list[Any], relevant: set[str]) -> float:
    for i, doc in enumerate(results):
        if doc in relevant:
            return 1 / (i + 2)
    return 0.0


def reciprocal_rank_sum(retrieved: list[str], relevant: set[str], k: int = 10) -> float:
    return sum(1 / rank for rank, doc in enumerate(retrieved[:k], 1) if doc in relevant)


def ndcg_k_ones(retrieved: list[str], relevant: set[str], k: int) -> float:
    dcg = sum(1 / math.log2(i + 2) for i, doc in enumerate(retrieved[:k]) if doc in relevant)
    return dcg / sum(1 / math.log2(i + 2) for i in range(k))


def ndcg_binary(retrieved: list[str], relevant: set[str], k: int) -> float:
    dcg = sum(1 / math.log2(i + 2) for i, doc in enumerate(retrieved[:k]) if doc in relevant)
    idcg = sum(1 / math.log2(i + 2) for i in range(min(len(relevant), k)))
    return dcg / idcg if idcg > 0 else 0.0


def f1_of_length(retrieved: list[str], relevant: set[str], k: int) -> tuple[float, float, float]:
    hits = len(set(retrieved[:k]) & relevant)
    p, r = hits / max(len(retrieved[:k]), 1), hits / max(len(relevant), 1)
    return p, r, 2 * p * r / (p + r) if p + r else 0.0


# --- grades by id ---


def ndcg_exp(ranked: list[str], relevance: dict[str, int], k: int = 10) -> float:
    dcg = sum((2 ** relevance.get(doc, 0) - 1) / math.log2(rank + 1) for rank, doc in enumerate(ranked[:k], start=1))
    best = sorted(relevance.values(), reverse=True)[:k]
    ideal = sum((2**grade - 1) / math.log2(rank + 1) for rank, grade in enumerate(best, start=1))
    return dcg / ideal if ideal else 0.0


def ndcg_uncut(ranked: list[str], qrels: dict[str, int], k: int) -> float:
    dcg = sum(qrels.get(doc, 0) / math.log2(rank + 1) for rank, doc in enumerate(ranked[:k], start=1))
    best = sorted(qrels.values(), reverse=True)
    return dcg / sum(grade / math.log2(rank + 1) for rank, grade in enumerate(best, start=1))


def ndcg_rounded(ranked: list[str], qrels: dict[str, int], k: int) -> float:
    gains = [qrels.get(doc, 0) for doc in ranked]
    best = sorted(gains, reverse=True)[:k]
    dcg, ideal = (sum(g / math.log2(i + 2) for i, g in enumerate(some)) for some in (gains[:k], best))
    return round(100 * dcg / ideal, 2) if ideal else 0.0


# --- labels in rank order ---


def dcg_at_k(r: Any, k: int, method: int = 0) -> float:
    r = np.asarray(r, dtype=float)[:k]
    if r.size:
        if method == 0:
            return float(r[0] + np.sum(r[1:] / np.log2(np.arange(2, r.size + 1))))
        return float(np.sum(r / np.log2(np.arange(2, r.size + 2))))
    return 0.0


def ndcg_at_k(r: Any, k: int, method: int = 0) -> float:
    dcg_max = dcg_at_k(sorted(r, reverse=True), k, method)
    if not dcg_max:
        return 0.0
    return dcg_at_k(r, k, method) / dcg_max


def ndcg_top(rels: list[float], k: int) -> dict[str, float]:
    top = rels[:k]
    ideal = sorted(top, reverse=True)
    dcg, idcg = (sum(rel / math.log2(i + 2) for i, rel in enumerate(some)) for some in (top, ideal))
    return {f"dcg@{k}": dcg, f"idcg@{k}": idcg, f"ndcg@{k}": dcg / idcg if idcg > 0 else 0.0}


def average_precision(r: Any) -> float:
    r = np.asarray(r) != 0
    out = [float(np.mean(r[: k + 1])) for k in range(r.size) if r[k]]
    return float(np.mean(out)) if out else 0.0


def recall_with_total(r: list[int], k: int, all_pos_num: int) -> float:
    return float(np.asarray(r)[:k].sum() / all_pos_num)


# --- rank only, one gold document ---


def ndcg_of_rank(rank: int | None, k: int) -> float:
    return 1 / math.log2(rank + 1) if rank is not None and rank <= k else 0.0


def mrr_of_ranks(ranks: list[int | None]) -> float:
    return sum(1 / rank for rank in ranks if rank) / len(ranks)


def mrr_of_gold(retrieved: list[str], gold: str, k: int) -> float:
    return 1 / (retrieved.index(gold) + 1) if gold in retrieved[:k] else 0.0


# --- arrays ---


def ndcg_of_scores(y_true: Any, y_score: Any, k: int = 10) -> float:
    order = np.argsort(y_score)[::-1]
    gains = np.take(y_true, order[:k])
    best = np.sort(y_true)[::-1][:k]
    discounts = np.log2(np.arange(len(gains)) + 2)
    return float((gains / discounts).sum() / (best / discounts).sum())


def precision_ascending(y_true: Any, y_pred: Any, k: int) -> float:
    return float((np.asarray(y_true)[np.argsort(y_pred)][:k] > 0).sum() / k)


# --- dictionaries of queries ---


def mrr_of_run(qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]) -> float:
    total = 0.0
    for qid, scores in run.items():
        ranking = sorted(scores, key=lambda doc: scores[doc], reverse=True)
        total += next((1 / rank for rank, doc in enumerate(ranking, 1) if qrels[qid].get(doc, 0) > 0), 0.0)
    return total / len(run)


def recall_micro(run: dict[str, list[str]], qrels: dict[str, set[str]], k: int) -> float:
    hits = sum(len(set(run[qid][:k]) & qrels[qid]) for qid in run)
    return hits / sum(len(qrels[qid]) for qid in run)


# --- documents ---


def precision_of_documents(documents: list[Any], relevant_ids: list[str], k: int) -> float:
    return sum(doc.metadata["id"] in relevant_ids for doc in documents[:k]) / k


def hit_rate_of_pairs(results: list[tuple[str, float]], gold: list[str], k: int) -> SimpleNamespace:
    return SimpleNamespace(score=float(any(doc in gold for doc, _ in results[:k])))


def precision_of_chunks(results: list[dict[str, Any]], k: int) -> float:
    return sum(1 for chunk in results[:k] if chunk["relevant"]) / k


# --- frames ---


def recall_of_frames(ratings: Any, predictions: Any, k: int) -> float:
    good = ratings[ratings["rating"] > 0]
    top = predictions.sort_values("score", ascending=False).groupby("user_id").head(k)
    hits = top.merge(good, on=["user_id", "item_id"])
    return float((hits.groupby("user_id").size() / good.groupby("user_id").size()).fillna(0).mean())


CASES: list[tuple[Callable[..., Any], str, str]] = [
    (precision_at_k, "P@5", ""),
    (precision_of_list, "P@5", "p-over-length"),
    (precision_of_least, "P@10", "p-over-min-kr"),
    (recall_at_k, "R@10", ""),
    (recall_capped, "R@5", "recall-capped"),
    (recall_is_hit_rate, "R@5", "recall-is-hit-rate"),
    (recall_one_without_gold, "R@5", ""),
    (hit_rate_is_recall, "Success@10", "success-is-recall"),
    (average_precision_hits, "AP@10", "ap-over-hits"),
    (apk, "AP@10", "ap-capped"),
    (mapk, "AP@5", "ap-capped"),
    (average_precision_over_k, "AP@10", "ap-over-k"),
    (reciprocal_rank, "RR", ""),
    (reciprocal_rank_from_two, "RR", "rr-plus-one"),
    (reciprocal_rank_sum, "RR@10", "rr-sum"),
    (ndcg_k_ones, "nDCG@10", "ideal-k-ones"),
    (ndcg_binary, "nDCG@10", ""),
    (f1_of_length, "F1@10", "p-over-length"),
    (ndcg_exp, "nDCG@10", "gain-exp"),
    (ndcg_uncut, "nDCG@10", "ideal-uncut"),
    (ndcg_rounded, "nDCG@10", "ideal-retrieved"),
    (ndcg_at_k, "nDCG@10", "ideal-retrieved log2-rank"),
    (ndcg_top, "nDCG@5", "ideal-topk"),
    (average_precision, "AP", "ap-over-hits"),
    (recall_with_total, "R@10", ""),
    (ndcg_of_rank, "nDCG@10", ""),
    (mrr_of_ranks, "RR", ""),
    (mrr_of_gold, "RR@5", ""),
    (ndcg_of_scores, "nDCG@10", "ideal-retrieved"),
    (precision_ascending, "P@5", "sort-ascending"),
    (mrr_of_run, "RR", ""),
    (recall_micro, "R@10", ""),
    (precision_of_documents, "P@5", ""),
    (hit_rate_of_pairs, "Success@5", ""),
    (precision_of_chunks, "P@10", ""),
    (recall_of_frames, "R@5", ""),
]
"""Functions, what they are meant to compute, and what they do instead."""


@pytest.mark.parametrize(("function", "measure", "ids"), CASES, ids=[case[0].__name__ for case in CASES])
def test_a_function_is_named_right(function: Callable[..., Any], measure: str, ids: str) -> None:
    found = explain_function(function, measure)
    assert {*ids.split()} in [{*way.ids} for way in found.ways], found
