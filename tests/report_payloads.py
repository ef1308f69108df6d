"""Payloads of reports, drawn at random, for pages and plots."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import t

HOSTILE = "</script><script>alert(1)</script>"
QUOTES = '"><img src=x onerror="alert(2)"> & \'x\''
NAMES = ["bm25", "dense-é-日本語", HOSTILE, QUOTES, "{second}", "rrf(bm25, dense)", "a-name-that-is-long-" * 3, "zero"]
MEASURES = ["AP", "nDCG@10", "P@10", "RR", "R@100"]
CRITICAL = 3.2


def drawn_payload(
    runs: int = 8,
    queries: int = 100,
    measures: int = 5,
    *,
    texts: bool = True,
    baseline: int | None = None,
    curves: bool = True,
    documents: int = 20,
    missing: bool = False,
) -> dict[str, Any]:
    """Return a payload in all its parts: values are drawn, a run is a little better than the one before.

    `documents` of each list are named, in every third query; with 0 there are no rankings, as of saved results.
    """
    drawn = np.random.default_rng(7)
    names = [NAMES[run] if run < len(NAMES) else f"run {run}" for run in range(runs)]
    qids = [f"q{number}" for number in range(1, queries + 1)]
    hard = drawn.beta(1.4, 1.6, (measures, 1, queries))
    values = np.clip(hard + drawn.normal(0, 0.12, (measures, runs, queries)) + 0.012 * np.arange(runs)[:, None], 0, 1)
    values = np.round(values, 5)
    if missing:
        values[:, :, :2] = np.nan
    means = np.nanmean(values, axis=2)
    half = 1.98 * np.nanstd(values, axis=2) / np.sqrt(queries)
    fall = np.linspace(0, 1, 11)
    depth = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    near = 0.15 + 0.8 * np.exp(-0.35 * np.abs(np.subtract.outer(np.arange(runs), np.arange(runs))))
    np.fill_diagonal(near, 1)
    precision = np.array([(0.7 + 0.02 * run / runs) * (1 - fall) ** (1.2 + 0.5 * run / runs) for run in range(runs)])
    recall = np.array([np.log1p(depth) / np.log1p(1000) * (0.6 + 0.3 * run / runs) for run in range(runs)])
    third = max(1, queries // 3)
    return {
        "v": 3,
        "title": f"Eight runs {HOSTILE}",
        "version": "1.0.0",
        "command": f"treceval report qrels '{HOSTILE}' -o report.html",
        "judgments": {"name": "qrels.robust04.txt", "hash": "0123abcd", "n": 311410} if documents else None,
        "baseline": baseline,
        "alpha": 0.05,
        "confidence": 0.95,
        "power": 0.8,
        "margin": None,
        "seed": 0,
        "methods": ["Differences are tested with paired t statistics."],
        "notes": [f"3 queries are missing: {HOSTILE}, 302, 303."],
        "reproduce": ["treceval report qrels.robust04.txt runs/*.gz -o report.html --seed 1"],
        "runs": [
            {"name": name, "file": f"{run}.gz", "hash": f"{run:08x}", "tag": name, "judged": 0.9 if documents else None}
            for run, name in enumerate(names)
        ],
        "qids": qids,
        "texts": {qid: f"what is known about subject {qid} {HOSTILE}" for qid in qids} if texts else {},
        "R": [3] * queries if documents else None,
        "measures": [
            {
                "name": MEASURES[place],
                "label": MEASURES[place],
                "long": MEASURES[place],
                "sig": f"{MEASURES[place]}|#:{queries}|ties:docid",
                "siglong": f"{MEASURES[place]}|queries:{queries}|judgments:0123456789abcdef",
                "means": means[place].tolist(),
                "low": (means - half)[place].tolist(),
                "high": (means + half)[place].tolist(),
                "values": [[None if np.isnan(x) else x for x in row] for row in values[place].tolist()],
                "left_out": 0,
                "bounds": [0, 1],
                "finding": [
                    [int(means[place].argmax()), f" has the highest {MEASURES[place]}, {means[place].max():.4f}."],
                    [0, " is not significantly better than ", runs - 1, "."],
                ],
                "pairs": _pairs(values[place]) if runs > 1 else None,
                "student": {str(n): float(t.isf(0.05 / 4 / 2, n - 1)) for n in range(2, queries + 1)},
                "ties": [[mean, mean + 0.001, 3] for mean in means[place].tolist()] if documents else None,
                "unj": [[mean / 2, min(1, mean * 2)] for mean in means[place].tolist()] if documents else None,
                "sum": {"kind": "precisions", "level": 1, "cutoff": None} if MEASURES[place] == "AP" else None,
            }
            for place in range(measures)
        ],
        "groups": [
            {"name": "by age", "sets": [["old", list(range(third))], [HOSTILE, list(range(third, queries))]]},
            {"name": "by number", "sets": [["few", list(range(0, queries, 2))], ["many", list(range(1, queries, 2))]]},
        ]
        if queries > 2
        else [],
        "pr": {"x": [round(step / 10, 1) for step in range(11)], "y": precision.tolist()} if curves else None,
        "rd": {"x": depth, "y": recall.tolist()} if curves else None,
        "overlap": {"rbo": near.tolist(), "order": list(range(runs)), "depth": 100, "p": 0.9, "queries": queries}
        if curves
        else None,
        "K": documents,
        "docs": [_documents(drawn, runs, documents) if query % 3 == 0 else None for query in range(queries)]
        if documents
        else None,
        "passages": {"relevant-0": f"A passage {HOSTILE}"} if texts else {},
    }


def _pairs(values: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, Any]:
    """Return statistics of all pairs of runs; p-values are 1 in 1,000 or 1 in 2, whether a difference is significant."""
    found: dict[str, list[Any]] = {"won": [], "lost": [], "error": [], "p": [], "needed": []}
    for run, row in enumerate(values):
        for other in values[:run]:
            each = (row - other)[~np.isnan(row)]
            found["won"].append(int(np.sum(each > 0)))
            found["lost"].append(int(np.sum(each < 0)))
            if len(each) > 1:
                error = float(each.std(ddof=1) / np.sqrt(len(each)))
                found["error"].append(error)
                found["p"].append(1 if abs(each.mean()) > CRITICAL * error else 500)
                found["needed"].append(320)
    if not found["error"]:
        return {"won": found["won"], "lost": found["lost"]}
    resolution = CRITICAL * float(np.median(found["error"]))
    return {"critical": CRITICAL, "resolution": resolution, "resamples": 999, **found}


def _documents(drawn: np.random.Generator, runs: int, documents: int) -> dict[str, Any]:
    """Return the documents of a query: two relevant ones in the lists, one in none, and others."""
    lists = [drawn.permutation(documents + 5)[:documents].tolist() for _ in range(runs)]
    ranks = [[each.index(place) + 1 if place in each else 400 + place for place in (0, 1)] + [0] for each in lists]
    ids = ["relevant-0", HOSTILE, *(f"document-{number}" for number in range(2, documents + 5))]
    grades = [2, 1, *([0, -1] * documents)][: documents + 5]
    return {"d": ids, "g": grades, "u": [1], "t": lists, "r": ranks, "n": [1000] * runs}
