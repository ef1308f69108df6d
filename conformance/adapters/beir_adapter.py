"""BEIR, whose metrics have a cutoff."""

from adapter import named, serve
from beir.retrieval.evaluation import EvaluateRetrieval

NAMES = {"nDCG@": "NDCG@", "AP@": "MAP@", "R@": "Recall@", "P@": "P@"}
CUSTOM = {"RR@": ("mrr", "MRR@"), "Success@": ("top_k_accuracy", "Accuracy@")}


def value(case, measure):
    """Return the mean."""
    name, at, cutoff = measure.partition("@")
    if name + at in CUSTOM:
        metric, key = CUSTOM[name + at]
        found = EvaluateRetrieval.evaluate_custom(case.qrels, case.run, [int(cutoff)], metric)
        return found[key + cutoff]
    key = named(measure, NAMES)
    if key is None:
        raise NotImplementedError
    found = EvaluateRetrieval.evaluate(case.qrels, case.run, [int(cutoff)])
    return {name: each for means in found for name, each in means.items()}[key]


serve("BEIR", "beir", "EvaluateRetrieval.evaluate(qrels, results, [k]), evaluate_custom for MRR and Accuracy", value)
