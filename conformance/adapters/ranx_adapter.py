"""ranx, with files of TREC and make_comparable, without which it refuses different sets of queries."""

import tempfile

import ranx
from adapter import named, serve

NAMES = {
    "AP": "map", "AP@": "map@", "nDCG": "ndcg", "nDCG@": "ndcg@", "RR": "mrr", "RR@": "mrr@", "P@": "precision@",
    "R@": "recall@", "Success@": "hit_rate@", "Rprec": "r-precision", "Bpref": "bpref",
}  # fmt: skip


def value(case, measure):
    """Return the mean and the values by query."""
    name = named(measure, NAMES)
    if name is None:
        raise NotImplementedError
    with tempfile.TemporaryDirectory() as folder:
        qrels, run = case.write(folder)
        judged, ranked = ranx.Qrels.from_file(qrels, kind="trec"), ranx.Run.from_file(run, kind="trec")
    mean = ranx.evaluate(judged, ranked, name, make_comparable=True)
    return {"all": mean, **{qid: float(each) for qid, each in ranked.scores[name].items()}}


serve("ranx", "ranx", "evaluate(Qrels.from_file(qrels), Run.from_file(run), metric, make_comparable=True)", value)
