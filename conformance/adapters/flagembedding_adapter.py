"""FlagEmbedding's evaluation package, whose metrics have a cutoff."""

from adapter import named, serve
from FlagEmbedding.abc.evaluation.utils import evaluate_metrics, evaluate_mrr

NAMES = {"nDCG@": "NDCG@", "AP@": "MAP@", "R@": "Recall@", "P@": "P@", "RR@": "MRR@"}


def value(case, measure):
    """Return the mean."""
    key = named(measure, NAMES)
    if key is None:
        raise NotImplementedError
    cutoff = int(measure.partition("@")[2])
    if key.startswith("MRR"):
        return evaluate_mrr(case.qrels, case.run, [cutoff])[key]
    return {name: each for means in evaluate_metrics(case.qrels, case.run, [cutoff]) for name, each in means.items()}[
        key
    ]


serve("FlagEmbedding", "FlagEmbedding", "evaluate_metrics(qrels, results, [k]), evaluate_mrr", value)
