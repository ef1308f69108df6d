"""scikit-learn's ndcg_score and average_precision_score, over the retrieved documents of each query."""

import numpy as np
from adapter import serve
from sklearn.metrics import average_precision_score, ndcg_score


def value(case, measure):
    """Return the values of the queries that have judgments and documents."""
    name, at, cutoff = measure.partition("@")
    if name not in ("nDCG", "AP") or (name == "AP" and at):
        raise NotImplementedError
    qrels, found = case.qrels, {}
    for qid, scores in case.run.items():
        if qid in qrels:
            labels = [qrels[qid].get(docid, 0) for docid in scores]
            found[qid] = (
                average_precision_score(np.array(labels), np.array([*scores.values()]))
                if name == "AP"
                else ndcg_score([labels], [[*scores.values()]], k=int(cutoff) if at else None)
            )
    return found


serve(
    "scikit-learn",
    "scikit-learn",
    "ndcg_score([labels], [scores], k=k), average_precision_score(labels, scores), by query",
    value,
)
