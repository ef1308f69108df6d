"""MTEB's scores of a retrieval task, whose metrics have a cutoff."""

from adapter import named, serve
from mteb._evaluators.retrieval_metrics import calculate_retrieval_scores

NAMES = {"nDCG@": "NDCG@", "AP@": "MAP@", "R@": "Recall@", "P@": "P@", "RR@": "MRR@", "Success@": "HitRate@"}


def value(case, measure):
    """Return the mean."""
    key = named(measure, NAMES)
    if key is None:
        raise NotImplementedError
    found = calculate_retrieval_scores(case.run, case.qrels, [int(measure.partition("@")[2])])
    return {**found.ndcg, **found.map, **found.recall, **found.precision, **found.mrr, **found.hit_rate}[key]


serve("MTEB", "mteb", "calculate_retrieval_scores(results, qrels, [k])", value)
