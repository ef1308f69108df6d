"""Explain a function: code as people write it, right or with one mistake, is called on made rankings and named."""

from __future__ import annotations

import asyncio
import math
import random
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import wrong_metrics

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
    ranks = [rank for rank, doc in enumerate(retrieved[:k], 1) if doc in relevant]
    return sum(precision_at_k(retrieved, relevant, rank) for rank in ranks) / k


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


def recalls(qrels: dict[str, dict[str, int]], results: dict[str, dict[str, float]], k_values: list[int]) -> Any:
    recall = dict.fromkeys((f"Recall@{k}" for k in k_values), 0.0)
    for qid, scores in results.items():
        top = sorted(scores.items(), key=lambda pair: pair[1], reverse=True)
        relevant = {doc for doc, grade in qrels[qid].items() if grade > 0}
        for k in k_values:
            recall[f"Recall@{k}"] += len([doc for doc, _ in top[:k] if doc in relevant]) / len(relevant)
    return {name: round(value / len(results), 5) for name, value in recall.items()}


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


class Reciprocal:
    """A metric that keeps its cutoff."""

    def __init__(self, top: int) -> None:
        self.top = top

    def __call__(self, gold: str | None = None, predicted: list[str] | None = None) -> float:
        top = (predicted or [])[: self.top]
        return 1 / (top.index(gold) + 1) if gold in top else 0.0


def ndcg_of_item(gt_item: str, pred_items: list[str]) -> float:
    return 1 / math.log2(pred_items.index(gt_item) + 2) if gt_item in pred_items else 0.0


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


def recall_of_arrays(*, preds: Any, target: Any, top_k: int | None = None) -> float:
    order = np.argsort(-np.asarray(preds))[: top_k or len(preds)]
    return float((np.asarray(target)[order] > 0).sum() / max((np.asarray(target) > 0).sum(), 1))


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


CASES: list[Any] = [
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
    (Reciprocal(10).__call__, "RR@10", ""),
    (ndcg_of_item, "nDCG@10", ""),
    (ndcg_of_scores, "nDCG@10", "ideal-retrieved"),
    (precision_ascending, "P@5", "sort-ascending"),
    (recall_of_arrays, "R@5", "recall-in-list"),
    (mrr_of_run, "RR", ""),
    (recall_micro, "R@10", ""),
    (recalls, "R@5", ""),
    (precision_of_documents, "P@5", ""),
    (hit_rate_of_pairs, "Success@5", ""),
    (precision_of_chunks, "P@10", ""),
    pytest.param(recall_of_frames, "R@5", "", marks=pytest.mark.slow),  # imports pandas
]
"""Functions, what they are meant to compute, and what they do instead."""


@pytest.mark.parametrize(("function", "measure", "ids"), CASES, ids=lambda value: getattr(value, "__name__", None))
def test_a_function_is_named_right(function: Callable[..., Any], measure: str, ids: str) -> None:
    explained = explain_function(function, measure)
    assert explained.ways[0].ids == tuple(ids.split()), explained.sentences
    assert explained.sentences[0].startswith(f"{function.__name__} computes ")
    assert explained.sentences[0].endswith(" as usual.") == (not ids)


# --- the catalogue of mistakes, in the forms in which functions are written ---

Scored = Callable[[list[str], dict[str, int], int], float]


def with_set(score: Scored) -> Callable[..., Any]:
    def metric(retrieved: list[str], relevant: set[str], k: int) -> float:
        return score(retrieved, dict.fromkeys(relevant | set(), 1), k)

    return metric


def with_actual_first(score: Scored) -> Callable[..., Any]:
    def metric(actual: list[str], predicted: list[str], k: int = 10) -> tuple[float, int]:
        return score(predicted, dict.fromkeys([*actual], 1), k), k

    return metric


def with_names_that_say_nothing(score: Scored) -> Callable[..., Any]:
    def metric(a: int, b: list[str], c: set[str]) -> float:
        return score(b, dict.fromkeys(c | set(), 1), a)

    return metric


def with_keywords(score: Scored) -> Callable[..., Any]:
    def metric(*, expected_ids: set[str], retrieved_ids: list[str], top_k: int = 3) -> dict[str, float]:
        return {
            "k": top_k,
            f"value@{top_k}": round(100 * score(retrieved_ids, dict.fromkeys(expected_ids, 1), top_k), 2),
        }

    return metric


def with_grades(score: Scored) -> Callable[..., Any]:
    def metric(ranking: list[str], qrels: dict[str, int], k: int) -> float:
        return score(ranking, dict(qrels.items()), k)

    return metric


def of_a_run(score: Scored) -> Callable[..., Any]:
    def metric(run: dict[str, dict[str, float]], qrels: dict[str, dict[str, int]], k: int) -> float:
        rankings = {qid: sorted(scores, key=lambda doc: -scores[doc]) for qid, scores in run.items()}
        return sum(score(ranking, qrels[qid], k) for qid, ranking in rankings.items()) / len(run)

    return metric


def of_lists(score: Scored) -> Callable[..., Any]:
    def metric(gold: list[set[str]], results: list[list[str]], k: int) -> list[float]:
        return [score(ranking, dict.fromkeys(ids | set(), 1), k) for ids, ranking in zip(gold, results, strict=True)]

    return metric


FORMS = (with_set, with_actual_first, with_names_that_say_nothing, with_keywords, of_lists)
GRADED_FORMS = (with_grades, of_a_run)

NOT_SHOWN = {"ln", "log10", "gain-share"}
"""These divide out of nDCG."""

MISTAKES = {
    name: [(), *((cause,) for cause in parts if (name, cause) not in {("Bpref", "bpref-added")})]
    for name, (_, parts) in wrong_metrics.METRICS.items()
}
MISTAKES["nDCG"] = [ids for ids in MISTAKES["nDCG"] if NOT_SHOWN.isdisjoint(ids)]
MISTAKES["nDCG"] += list(
    product(("ideal-topk", "ideal-retrieved", "ideal-uncut", "ideal-none"), ("gain-exp", "log2-rank"))
)
MISTAKES["nDCG"] += [("ideal-topk", "log2-rank", "gain-exp"), ("ideal-k-ones", "gain-01")]

GRADES = {"gain", "ideal-r-ones", "ideal-max-grade"}
"""What makes no difference, or none that a function can know, where labels are 0 and 1."""


def scored(measure: str, ids: tuple[str, ...]) -> Scored:
    """Return the function of `wrong_metrics` that makes these mistakes."""
    metric, parts = wrong_metrics.METRICS[measure]
    how = dict(wrong_metrics.USUAL.get(measure, {}))
    for cause in ids:
        how.update(parts[cause])

    def score(ranking: list[str], labels: dict[str, int], k: int) -> float:
        query = wrong_metrics.Query(ranking, {doc: -float(rank) for rank, doc in enumerate(ranking)}, labels, 3)
        value = metric(query, k, **how)
        return value if isinstance(value, float | int) else wrong_metrics.ratio(value)

    return score


def catalogue() -> Iterator[Any]:
    for measure, mistakes in MISTAKES.items():
        for ids in mistakes:
            seen = measure in ("ERR", "Bpref") or any(cause.startswith(tuple(GRADES)) for cause in ids)
            for form in GRADED_FORMS if seen else (*FORMS, *GRADED_FORMS):
                # In each form the usual value, and a mistake of each measure, are tried quickly.
                quick = (form is with_set and ids == ()) or ids == ("ideal-topk", "log2-rank", "gain-exp")
                marks = () if quick else pytest.mark.slow
                yield pytest.param(measure, ids, form, marks=marks, id=f"{measure}-{'+'.join(ids)}-{form.__name__}")


@pytest.mark.parametrize(("measure", "ids", "form"), list(catalogue()))
def test_a_mistake_is_named_in_whatever_form_it_is_written(
    measure: str, ids: tuple[str, ...], form: Callable[[Scored], Callable[..., Any]]
) -> None:
    name = measure if measure == "Bpref" else f"{measure}@7"
    explained = explain_function(form(scored(measure, ids)), name)
    named = [{*way.ids} - {"F1"} for way in explained.ways]
    assert {*ids} in named, explained.sentences


# --- functions that compute something else, or nothing ---


def always(*values: Any) -> Any:
    return 0.5


def by_chance(retrieved: list[str], relevant: set[str], k: int) -> float:
    return random.Random("".join(retrieved[:k]) + str(len(relevant))).random()


def sqrt_of_precision(retrieved: list[str], relevant: set[str], k: int) -> float:
    return math.sqrt(precision_at_k(retrieved, relevant, k))


@pytest.mark.parametrize(
    "measure", ["RR@3", *(pytest.param(name, marks=pytest.mark.slow) for name in ("P@5", "nDCG@10", "AP", "R@10"))]
)
def test_a_random_function_is_none(measure: str) -> None:
    explained = explain_function(by_chance, measure)
    assert not explained.ways
    assert re.search(r"by_chance computes \S+ in none of the \d+ ways that we tried\.", explained.sentences[0])


def test_what_fits_nowhere_is_shown_on_the_ranking_where_it_differs_most() -> None:
    said, called, nearest = explain_function(sqrt_of_precision, "P@5").sentences
    assert said.startswith("sqrt_of_precision computes P@5 in none of the ")
    assert called == ("It was called as sqrt_of_precision(retrieved=ids, relevant=set of relevant ids, k=the cutoff).")
    theirs, ours = map(float, re.findall(r"returns ([\d.]+), and that way ([\d.]+)\.", nearest)[0])
    labels = re.findall(r"For the labels (.*) in rank order", nearest)[0].split()
    hits = sum(label not in "–0" for label in labels[:5])
    assert theirs == pytest.approx(math.sqrt(hits / 5), abs=1e-6)
    assert theirs != ours


@pytest.mark.parametrize("function", [always, lambda: 1.0, lambda a, b, c, d, e, f: 0.0, print])
def test_a_function_that_does_not_look_at_rankings_is_said_to_give_no_numbers(function: Callable[..., Any]) -> None:
    explained = explain_function(function, "P@5")
    assert not explained.ways
    assert "gives no numbers that depend on the ranking" in str(explained)


@pytest.mark.parametrize(
    ("function", "measure", "words"),
    [
        ("P@5", "P@5", "code must be a function of Python, not 'P@5'"),
        (asyncio.sleep, "P@5", "code must be a function of Python, not a coroutine"),
        (dict, "P@5", "Write code=lambda retrieved, relevant, k: …, which calls yours."),
        (precision_at_k, "num_q", "does not support num_q"),
    ],
)
def test_what_cannot_be_explained_is_refused(function: Any, measure: str, words: str) -> None:
    with pytest.raises(MeasureError, match=words):
        explain_function(function, measure)


@pytest.mark.parametrize("measure", ["SDCG@5", "Hole@5", "AUC@5"])
def test_a_measure_that_needs_something_is_explained_all_the_same(measure: str) -> None:
    said, *_ = explain_function(sqrt_of_precision, measure).sentences
    assert said.startswith(f"sqrt_of_precision computes {measure} in none of the ")


def discount_of_first(retrieved: list[str], relevant: set[str], k: int) -> float:
    return next((1 / math.log2(rank + 1) for rank, doc in enumerate(retrieved[:k], 1) if doc in relevant), 0.0)


def test_a_function_of_sets_is_not_taken_for_one_of_a_single_id() -> None:
    # For a single relevant document this is nDCG; for several it is not.
    explained = explain_function(discount_of_first, "nDCG@10")
    assert not explained.ways
    assert "relevant=set of relevant ids" in explained.sentences[1]


def test_a_function_of_ids_is_not_called_with_labels() -> None:
    documents: set[type] = set()

    def precision(retrieved: list[str], relevant: set[str], k: int) -> float:
        documents.update(type(getattr(doc, "name", doc)) for doc in retrieved)
        return precision_at_k(retrieved, relevant, k)

    assert explain_function(precision, "P@5").ways[0].ids == ()
    assert int not in documents


def of_keys(retrieved: list[str], relevant: set[str], k: int) -> float:
    return float({}["score"])


def as_text(retrieved: list[str], relevant: set[str], k: int) -> str:
    return f"{precision_at_k(retrieved, relevant, k):.3f}"


@pytest.mark.parametrize(
    ("function", "words"),
    [(of_keys, "it raises KeyError: 'score'"), (as_text, "it returns no number."), (always, "it returns 0.5.")],
)
def test_what_happens_when_no_numbers_come_is_said(function: Callable[..., Any], words: str) -> None:
    explained = explain_function(lambda retrieved, relevant, k: function(retrieved, relevant, k), "P@5")
    assert str(explained).endswith(words)


# --- what else is said ---


def sentences(function: Callable[..., Any], measure: str) -> list[str]:
    return list(explain_function(function, measure).sentences[2:])


def test_the_case_without_relevant_documents_is_said() -> None:
    assert sentences(recall_one_without_gold, "R@5") == ["Where no document is relevant, it returns 1, not 0."]
    assert sentences(precision_of_list, "P@5") == ["Where nothing is retrieved, it raises ZeroDivisionError."]
    assert sentences(recall_at_k, "R@5") == []
    assert sentences(reciprocal_rank, "RR") == [
        "Where no relevant document is retrieved or nothing is retrieved or no document is relevant, it returns None or NaN."
    ]


def test_the_average_of_several_queries_is_said_unless_it_is_the_mean() -> None:
    assert sentences(mrr_of_run, "RR") == []
    assert sentences(recall_micro, "R@10")[-1] == (
        "For several queries, it returns another number than their mean, such as a micro-average."
    )
    assert sentences(recall_of_hits, "RR")[-1] == "It averages over the queries with a value above 0."


def recall_of_hits(ranks: list[int | None]) -> float:
    hits = [1 / rank for rank in ranks if rank]
    return sum(hits) / len(hits) if hits else 0.0


def err_of_labels(labels: list[int], max_grade: int = 3, k: int = 10) -> float:
    arrives, total = 1.0, 0.0
    for rank, grade in enumerate(labels[:k], 1):
        stops = (2**grade - 1) / 2**max_grade
        arrives, total = arrives * (1 - stops), total + arrives * stops / rank
    return total


def test_a_parameter_with_a_number_is_not_given_labels() -> None:
    explained = explain_function(err_of_labels, "ERR@10")
    assert explained.sentences[0] == "err_of_labels computes ERR@10 as usual."
    assert explained.sentences[1] == "It was called as err_of_labels(labels=labels, k=the cutoff)."


class Tensor:
    def __init__(self, values: list[float]) -> None:
        self.values = values

    def tolist(self) -> list[float]:
        return self.values


@pytest.mark.parametrize("form", [lambda value: Decimal(str(value)), lambda value: Tensor([value]), np.float32])
def test_numbers_of_other_types_are_numbers(form: Callable[[float], Any]) -> None:
    precision = partial(lambda form, retrieved, relevant: form(precision_at_k(retrieved, relevant, 5)), form)
    explained = explain_function(precision, "P@5")
    assert [way.ids for way in explained.ways] == [()]
    assert explained.name == "<lambda>"


def mrr_rounded(qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]) -> float:
    return round(mrr_of_run(qrels, run), 3)


def test_a_rounded_mean_is_a_mean() -> None:
    assert sentences(mrr_rounded, "RR") == ["It returns numbers rounded to 3 digits."]


def test_where_the_number_is_in_a_result_and_how_it_is_rounded_is_said() -> None:
    assert explain_function(ndcg_top, "nDCG@5").sentences[1].endswith("; the number is ['ndcg@5'] of its result.")
    assert sentences(ndcg_rounded, "nDCG@10") == ["It returns percentages rounded to 2 digits."]


def test_what_a_function_prints_is_dropped_and_what_it_changes_is_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    def precision(retrieved: list[str], relevant: set[str], k: int) -> float:
        print("debugging", retrieved)
        relevant.add("more")
        hits = sum(doc in relevant for doc in retrieved[:k])
        retrieved.clear()
        return hits / k

    assert explain_function(precision, "P@5").ways[0].ids == ()
    assert capsys.readouterr() == ("", "")


# --- te.explain ---

QRELS = {"1": {"a": 3, "b": 0, "c": 1}, "2": {"a": 1}}
RUN = {"1": {"b": 3.0, "c": 2.0, "x": 1.0}, "2": {"x": 2.0, "a": 1.0}}


def test_explain_takes_a_function_beside_a_claim() -> None:
    # Query 1: the gains 0, 1 and 0, against 1, 0 and 0; query 2: 0 and 1.
    claim = 1 / math.log2(3)
    explanation = te.explain(QRELS, RUN, claims={"nDCG@10": f"{claim:.4f}"}, code=ndcg_at_k)
    code = explanation.measures[0].code
    assert code is not None
    assert code.ways[0].ids == ("ideal-retrieved", "log2-rank")
    assert all(sentence in str(explanation) for sentence in code.sentences)
    assert repr(code) == str(code) == "\n".join(code.sentences)


def test_explain_takes_a_function_without_a_claim() -> None:
    explained = te.explain(QRELS, RUN, ["P@5", "R@5"], code=precision_at_k).measures
    assert [str(each.code).splitlines()[0] for each in explained] == [
        "precision_at_k computes P@5 as usual.",
        "precision_at_k computes R@5, but: divided by 5: precision.",
    ]
    assert te.explain(QRELS, RUN, "P@5").measures[0].code is None
