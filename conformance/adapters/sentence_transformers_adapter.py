"""The InformationRetrievalEvaluator of sentence-transformers, given scores in place of a model's."""

from adapter import serve
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

NAMES = {"nDCG": "ndcg", "AP": "map", "R": "recall", "P": "precision", "RR": "mrr", "Success": "accuracy"}


def value(case, measure):
    """Return the mean."""
    name, at, cutoff = measure.partition("@")
    if not at or name not in NAMES:
        raise NotImplementedError
    k = [int(cutoff)]
    relevant = {qid: {docid for docid, label in row.items() if label > 0} for qid, row in case.qrels.items()}
    options = {f"{each}_at_k": k for each in ("mrr", "ndcg", "accuracy", "precision_recall", "map")}
    evaluator = InformationRetrievalEvaluator(dict.fromkeys(relevant, ""), {"": ""}, relevant, **options)
    run = case.run
    lists = [
        [{"corpus_id": docid, "score": score} for docid, score in run.get(qid, {}).items()]
        for qid in evaluator.queries_ids
    ]
    return evaluator.compute_metrics(lists)[f"{NAMES[name]}@k"][k[0]]


serve(
    "sentence-transformers", "sentence-transformers", "InformationRetrievalEvaluator(…).compute_metrics(lists)", value
)
