"""XGBoost's metrics ndcg, map and pre, which score lists of labels."""

import numpy as np
import xgboost
from adapter import named, serve

NAMES = {"nDCG": "ndcg", "nDCG@": "ndcg@", "AP": "map", "AP@": "map@", "P@": "pre@"}


def value(case, measure):
    """Return the mean."""
    name = named(measure, NAMES)
    if name is None:
        raise NotImplementedError
    lists = case.lists()
    labels = [label for each, _ in lists for label in each]
    scores = [score for _, each in lists for score in each]
    data = xgboost.DMatrix(np.zeros((len(labels), 1)), labels, base_margin=scores, nthread=1)
    data.set_group([len(each) for _, each in lists])
    booster = xgboost.Booster({"objective": "rank:ndcg", "eval_metric": [name], "nthread": 1}, [data])
    try:
        return float(booster.eval(data, "x").rsplit(":", 1)[1])
    except xgboost.core.XGBoostError as error:
        # The text begins with the time and ends with the stack.
        raise ValueError(str(error).partition("Check failed: ")[2].partition("\n")[0]) from None


serve("XGBoost", "xgboost", "Booster(eval_metric=[…]).eval(data) with base_margin", value)
