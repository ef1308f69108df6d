"""LightGBM's metrics ndcg and map, which score lists of labels at a cutoff."""

import lightgbm
import numpy as np
from adapter import serve

NAMES = {"nDCG@": "ndcg", "AP@": "map"}


def value(case, measure):
    """Return the mean."""
    name, at, cutoff = measure.partition("@")
    if name + at not in NAMES:
        raise NotImplementedError
    lists = case.lists()
    labels = [label for each, _ in lists for label in each]
    scores = [score for _, each in lists for score in each]
    metric = NAMES[name + at]
    options = {"objective": "lambdarank", "metric": [metric], "eval_at": [int(cutoff)], "num_threads": 1, "verbose": -1}
    options["feature_pre_filter"] = False
    groups = [len(each) for _, each in lists]
    data = lightgbm.Dataset(np.zeros((len(labels), 1)), labels, group=groups, init_score=scores, params=options)
    found = {}
    # There is nothing to split by, so the scores stay what they are.
    lightgbm.train(options, data, 1, [data], ["x"], callbacks=[lightgbm.record_evaluation(found)])
    return found["x"][f"{metric}@{cutoff}"][0]


serve("LightGBM", "lightgbm", "train(metric=[…], eval_at=[k]) with init_score", value)
