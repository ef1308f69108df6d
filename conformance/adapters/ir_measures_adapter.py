"""ir_measures, asked one measure after the other."""

import ir_measures
from adapter import serve


def value(case, measure):
    """Return the mean and the values by query."""
    qrels = [ir_measures.Qrel(qid, docid, label) for qid, docid, label in case.judged]
    run = [ir_measures.ScoredDoc(qid, docid, score) for qid, docid, _, score in case.ranked]
    found = ir_measures.calc([ir_measures.parse_measure(measure)], qrels, run)
    return {"all": next(iter(found.aggregated.values())), **{each.query_id: each.value for each in found.per_query}}


serve("ir_measures", "ir-measures", "ir_measures.calc([measure], qrels, run)", value)
