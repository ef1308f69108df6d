"""Small random judgments and runs: graded, with ties, unjudged documents, missing and extra queries."""

from __future__ import annotations

import random

Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]


def random_pair(rng: random.Random, *, negatives: bool = True, highest: int = 4) -> tuple[Qrels, Run]:
    """Return judgments and a run over the same few documents."""
    documents = [f"d{number}" for number in range(rng.randint(3, 40))]
    levels = [*([-2, -1] if negatives else []), 0, 0, 0, *range(1, rng.randint(1, highest) + 1)]
    qrels: Qrels = {}
    run: Run = {}
    for query in range(rng.randint(1, 4)):
        judged = rng.sample(documents, rng.randint(1, len(documents)))
        ranked = rng.sample(documents, rng.randint(1, len(documents)))
        scores = [rng.choice([rng.uniform(-1, 1), float(rng.randint(0, 4)), 1e6 + rng.random() / 100]) for _ in ranked]
        if rng.random() < 0.9:
            qrels[f"q{query}"] = {docid: rng.choice(levels) for docid in judged}
        if rng.random() < 0.9:
            run[f"q{query}"] = dict(zip(ranked, scores, strict=True))
    if not set(qrels) & set(run):
        qrels["q0"], run["q0"] = {"d0": 1, "d1": 0}, {"d1": 1.0, "d0": 0.5}
    return qrels, run
