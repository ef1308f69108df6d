"""What tuned weights gain on runs that know nothing: in sample, and by the nested estimate that `--tune` prints.

    python benchmarks/fusing_noise.py [SIMULATIONS]

Each simulation has random judgments and two runs with random scores, so no weights are better than others for new
queries, and each query is judged and fused independently. A fair estimate of the gain has mean 0.
"""

from __future__ import annotations

import math
import sys
import warnings

import numpy as np

import treceval_py as te

DOCUMENTS = [f"d{number}" for number in range(20)]


def noise(random: np.random.Generator, queries: int) -> tuple[dict[str, dict[str, int]], list[te.Run]]:
    """Return judgments at random, and two runs that know nothing of them."""
    qids = [f"q{number}" for number in range(queries)]
    labels = (random.random((queries, len(DOCUMENTS))) < 0.2).astype(int)
    labels[np.arange(queries), random.integers(len(DOCUMENTS), size=queries)] = 1
    qrels = {qid: dict(zip(DOCUMENTS, row.tolist(), strict=True)) for qid, row in zip(qids, labels, strict=True)}
    runs = [
        te.Run({qid: dict(zip(DOCUMENTS, random.random(len(DOCUMENTS)).tolist(), strict=True)) for qid in qids})
        for _ in range(2)
    ]
    return qrels, runs


def main(simulations: int) -> None:
    """Simulate, and print the mean gains with their standard errors."""
    warnings.simplefilter("ignore", te.errors.TrecevalWarning)
    print("queries  gain in sample     nested gain        |nested| in errors")
    for queries in (10, 50):
        random = np.random.default_rng(queries)
        gains = []
        for _ in range(simulations):
            qrels, runs = noise(random, queries)
            chosen = te.fusing.tune_fusion(qrels, runs).tuned.chosen
            gains.append((chosen.final.mean - chosen.usual, chosen.nested - chosen.usual))
        means, errors = np.mean(gains, axis=0), np.std(gains, axis=0, ddof=1) / math.sqrt(simulations)
        told = [f"{mean:+.4f} ± {error:.4f}" for mean, error in zip(means, errors, strict=True)]
        print(f"{queries:7}  {told[0]:17}  {told[1]:17}  {abs(means[1]) / errors[1]:.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
