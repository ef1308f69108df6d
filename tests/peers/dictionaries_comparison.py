"""Compare with BEIR and MTEB live, in an environment that has both: ``python tests/peers/dictionaries_comparison.py``.

Exit status 0: their dictionaries of scores are ours on random messy runs; 1: one is not; 2: a package is not installed.
What their own code stops at (a query of the run without judgments or without relevant documents) is left out.
"""

from __future__ import annotations

import copy
import math
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from random_runs import random_pair

from treceval_py.integrations import beir, mteb

K = [1, 3, 5, 10]


def main() -> int:
    """Compare, and say what differs."""
    try:
        from beir.retrieval.evaluation import EvaluateRetrieval
        from mteb._evaluators.retrieval_metrics import calculate_retrieval_scores, make_score_dict
    except ImportError as error:
        print(f"{error.name} is not installed", file=sys.stderr)
        return 2
    compared = 0
    for seed in range(300):
        qrels, run = random_pair(random.Random(seed), negatives=False)
        qrels = {qid: row for qid, row in qrels.items() if max(row.values(), default=0) > 0}
        run = {qid: row for qid, row in run.items() if qid in qrels and row}
        if not run:
            continue
        for qid, row in run.items():  # an id of its own
            row[qid] = max(row.values())
        for ignored in (True, False):
            theirs = EvaluateRetrieval.evaluate(qrels, copy.deepcopy(run), K, ignored)
            ours = beir.evaluate(qrels, run, K, ignored)
            if theirs != ours:
                print(f"seed {seed}: BEIR {theirs}, ours {ours}")
                return 1
        for metric in ("mrr", "recall_cap", "hole", "top_k_accuracy"):
            custom, own = (
                EvaluateRetrieval.evaluate_custom(qrels, run, K, metric),
                beir.evaluate_custom(qrels, run, K, metric, False),
            )
            if custom != own:
                print(f"seed {seed}: BEIR {custom}, ours {own}")
                return 1
        found = calculate_retrieval_scores(run, qrels, K)
        expected = make_score_dict(
            ndcg=found.ndcg, _map=found.map, recall=found.recall, precision=found.precision, mrr=found.mrr, naucs={},
            naucs_mrr={}, hit_rate=found.hit_rate, task_scores={},
        )  # fmt: skip
        scores = mteb.scores(qrels, run, K)
        if set(expected) != set(scores) or not all(
            math.isclose(value, expected[key], abs_tol=1e-12) for key, value in scores.items()
        ):
            print(f"seed {seed}: MTEB {expected}, ours {scores}")
            return 1
        compared += 1
    print(f"BEIR and MTEB: the same dictionaries on {compared} runs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
