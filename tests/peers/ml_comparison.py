"""Compare with machine-learning packages on random inputs: ``python tests/peers/ml_comparison.py [INPUTS]``.

Exit status 0: every metric has our value on every input; 1: one has not; 2: a package is not installed.

LightGBM, XGBoost, torchmetrics, sentence-transformers and MTEB score random judgments and runs with ties, grades,
queries without relevant documents, and queries of the judgments or of the run alone; our values are those of their
profiles. Where the order of equal scores is undefined, there are none.
"""

from __future__ import annotations

import importlib.util
import math
import random
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from random_runs import Qrels, Run, random_pair

import treceval_py as te

INPUTS = 1000
CUTOFFS = (1, 3, 5, 10, 100)


class Value(NamedTuple):
    """A value of a package, and what has it here."""

    metric: str
    value: float
    profile: str
    measure: str


Found = Iterator[tuple[Qrels, Run, list[Value]]]
"""Judgments, a run, and values of that run."""


def lists(qrels: Qrels, run: Run) -> tuple[list[int], list[float], list[int]]:
    """Return labels and scores of the documents of all queries, and how many documents each has."""
    labels = [qrels.get(qid, {}).get(docid, 0) for qid, scores in run.items() for docid in scores]
    return labels, [score for scores in run.values() for score in scores.values()], [*map(len, run.values())]


def binary(qrels: Qrels) -> Qrels:
    """Return judgments with the label 1 in place of every other one above 0."""
    return {qid: {docid: int(label > 0) for docid, label in labels.items()} for qid, labels in qrels.items()}


def without_ties(run: Run, rng: random.Random, least: float) -> Run:
    """Return a run with other scores from `least` on, in steps of 1/64."""
    return {
        qid: {
            docid: least + place / 64 for docid, place in zip(scores, rng.sample(range(40), len(scores)), strict=True)
        }
        for qid, scores in run.items()
    }


def lightgbm(qrels: Qrels, run: Run, _: random.Random) -> Found:
    import lightgbm

    labels, scores, sizes = lists(qrels, run)
    options = {"objective": "lambdarank", "metric": ["ndcg", "map"], "eval_at": list(CUTOFFS)}
    options |= {"num_threads": 1, "verbose": -1, "feature_pre_filter": False}
    data = lightgbm.Dataset(np.zeros((len(labels), 1)), labels, group=sizes, init_score=scores, params=options)
    said: dict[str, dict[str, list[float]]] = {}
    # There is nothing to split by, so that scores stay what they are.
    lightgbm.train(options, data, 1, [data], ["x"], callbacks=[lightgbm.record_evaluation(said)])
    names = [(f"{name}@{k}", f"{measure}@{k}") for name, measure in (("ndcg", "nDCG"), ("map", "AP")) for k in CUTOFFS]
    yield qrels, run, [Value(name, said["x"][name][0], "lightgbm", measure) for name, measure in names]


def xgboost(qrels: Qrels, run: Run, _: random.Random) -> Found:
    import xgboost

    def values(qrels: Qrels, metrics: Mapping[str, str], **options: Any) -> Found:
        labels, scores, sizes = lists(qrels, run)
        data = xgboost.DMatrix(np.zeros((len(labels), 1)), labels, base_margin=scores, nthread=1)
        data.set_group(sizes)
        options |= {"objective": "rank:ndcg", "eval_metric": list(metrics), "nthread": 1}
        said = xgboost.Booster(options, [data]).eval(data, "x")
        found = dict(each.rsplit(":", 1) for each in said.split("\t")[1:])
        minus = {True: "xgboost-minus", False: "xgboost"}
        yield (
            *(qrels, run),
            [Value(name, float(found[f"x-{name}"]), minus[name[-1] == "-"], each) for name, each in metrics.items()],
        )

    def at(name: str, measure: str, whole: str, ends: str = "") -> dict[str, str]:
        cut = {f"{name}@{k}{end}": f"{measure}@{k}" for k in CUTOFFS for end in ("", *ends)}
        return {**cut, **{f"{name}{end}": whole for end in ("", *ends)}}

    yield from values(qrels, at("ndcg", "nDCG", "nDCG", "-"), ndcg_exp_gain=True)
    yield from values(qrels, at("ndcg", "nDCG(gain=linear)", "nDCG(gain=linear)@32", "-"), ndcg_exp_gain=False)
    yield from values(binary(qrels), at("map", "AP", "AP", "-"))


TORCH = {
    "MAP": "AP",
    "MRR": "RR",
    "Precision": "P",
    "Recall": "R",
    "HitRate": "Success",
}
TORCH_WHOLE = {"Precision": "SetP", "Recall": "SetR"}


def torchmetrics(qrels: Qrels, run: Run, rng: random.Random) -> Found:
    import torch
    from torchmetrics import retrieval

    profiles = {"neg": "torchmetrics", "pos": "torchmetrics-pos", "skip": "torchmetrics-skip"}

    def values(qrels: Qrels, run: Run, metrics: Mapping[str, str]) -> Found:
        labels, scores, sizes = lists(qrels, run)
        indexes = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
        action = rng.choice(list(profiles))
        found = []
        for k in (None, rng.choice(CUTOFFS)):
            for name, measure in metrics.items():
                if name == "HitRate" and k is None:
                    continue
                given: dict[str, Any] = {"empty_target_action": action, "top_k": k}
                if name == "RPrecision":
                    del given["top_k"]
                if (name, action) == ("FallOut", "neg"):
                    del given["empty_target_action"]  # its own default
                metric = getattr(retrieval, f"Retrieval{name}")(**given)
                metric.update(torch.tensor(scores), torch.tensor(labels), indexes=indexes)
                ours = TORCH_WHOLE.get(name, measure) if k is None else f"{measure}@{k}"
                ours = "Rprec" if name == "RPrecision" else ours
                found.append(Value(f"{name} top_k={k} {action}", float(metric.compute()), profiles[action], ours))
        yield qrels, run, found

    yield from values(qrels, run, {"NormalizedDCG": "nDCG"})
    yield from values(binary(qrels), without_ties(run, rng, -0.25), {**TORCH, "RPrecision": "Rprec"})
    # Scores from 0 to 1 are taken as they are.
    # yield from values(binary(qrels), without_ties(run, rng, 0.125), {"AUROC": "AUC"})


def sentence_transformers(qrels: Qrels, run: Run, _: random.Random) -> Found:
    from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

    relevant = {qid: {docid for docid, label in labels.items() if label > 0} for qid, labels in qrels.items()}
    relevant = {qid: docids for qid, docids in relevant.items() if docids}
    if not relevant:
        return  # it divides by zero
    options = {f"{name}_at_k": list(CUTOFFS) for name in ("mrr", "ndcg", "accuracy", "precision_recall", "map")}
    evaluator = InformationRetrievalEvaluator(dict.fromkeys(relevant, ""), {"": ""}, relevant, **options)
    ranked = [run.get(qid, {}).items() for qid in evaluator.queries_ids]
    said = evaluator.compute_metrics(
        [[{"corpus_id": docid, "score": score} for docid, score in each] for each in ranked]
    )
    names = {"accuracy": "Success", "precision": "P", "recall": "R", "ndcg": "nDCG", "mrr": "RR", "map": "AP"}
    found = [
        (f"{name}@{k}", said[f"{name}@k"][k], f"{measure}@{k}") for name, measure in names.items() for k in CUTOFFS
    ]
    yield qrels, run, [Value(name, float(value), "sentence-transformers", measure) for name, value, measure in found]


MTEB = {"NDCG": "nDCG", "MAP": "AP", "Recall": "R", "P": "P", "MRR": "RR", "HitRate": "Success"}


def mteb(qrels: Qrels, run: Run, _: random.Random) -> Found:
    from mteb._evaluators.retrieval_metrics import calculate_retrieval_scores

    run = {qid: scores for qid, scores in run.items() if qid in qrels}  # MRR refuses other queries
    said = calculate_retrieval_scores(run, qrels, CUTOFFS)
    means = {**said.ndcg, **said.map, **said.recall, **said.precision, **said.mrr, **said.hit_rate}
    found = [
        Value(name, value, "mteb", "@".join((MTEB[name.split("@")[0]], name.split("@")[1])))
        for name, value in means.items()
    ]
    yield qrels, run, found


PACKAGES: Mapping[str, Callable[[Qrels, Run, random.Random], Found]] = {
    "lightgbm": lightgbm,
    "xgboost": xgboost,
    "torchmetrics": torchmetrics,
    "sentence_transformers": sentence_transformers,
    "mteb": mteb,
}


def close(package: str, name: str, theirs: float, ours: float) -> bool:
    """Tell whether two values are equal, as far as a package computes or rounds them."""
    if package == "mteb" and not name.startswith("MRR"):
        return abs(theirs - ours) <= 5e-6 + 1e-12
    return math.isclose(theirs, ours, rel_tol=0, abs_tol=2e-6 if package == "torchmetrics" else 1e-9)


def differences(package: str, inputs: int = INPUTS) -> tuple[int, list[str]]:
    """Return how many values were compared, and a line for each that differs."""
    compared, found = 0, []
    for seed in range(inputs):
        rng = random.Random(seed)
        for qrels, run, values in PACKAGES[package](*random_pair(rng, negatives=False), rng):
            for profile in dict.fromkeys(each.profile for each in values):
                here = [each for each in values if each.profile == profile]
                means = te.evaluate(
                    qrels, run, list(dict.fromkeys(each.measure for each in here)), profile=profile
                ).mean
                compared += len(here)
                found += [
                    f"{package} {seed}: {each.metric} {each.value!r}, {profile} {each.measure} {means[each.measure]!r}"
                    for each in here
                    if not close(package, each.metric, each.value, means[each.measure])
                ]
    return compared, found


def main() -> int:
    """Compare, print what was found, and return the exit status."""
    lacking = [package for package in PACKAGES if importlib.util.find_spec(package) is None]
    if lacking:
        print(f"not installed: {', '.join(lacking)}")
        return 2
    warnings.simplefilter("ignore")
    status = 0
    for package in PACKAGES:
        compared, found = differences(package, *map(int, sys.argv[1:]))
        print(f"{package}: {compared:,} values compared, {len(found):,} differ")
        for line in found[:20]:
            print(line)
        status = 1 if found or not compared else status
    return status


if __name__ == "__main__":
    sys.exit(main())
