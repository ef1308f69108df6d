"""pytrec_eval, whose values of queries are averaged over the queries that it returns."""

import pytrec_eval
from adapter import serve, trec_eval_name


def value(case, measure):
    """Return the values by query."""
    name = trec_eval_name(measure)
    if name is None:
        raise NotImplementedError
    found = pytrec_eval.RelevanceEvaluator(case.qrels, {name}).evaluate(case.run)
    return {qid: next(iter(row.values())) for qid, row in found.items()}


serve("pytrec_eval-terrier", "pytrec-eval-terrier", "RelevanceEvaluator(qrels, measures).evaluate(run)", value)
