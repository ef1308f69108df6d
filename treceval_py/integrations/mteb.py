"""MTEB's dictionaries of retrieval scores: computed with its keys, and read as claims that `te.explain` explains.

>>> from treceval_py.integrations.mteb import claims, scores
>>> found = scores({"q1": {"d1": 1, "d2": 2}}, {"q1": {"d1": 2.0, "d2": 1.0}}, k_values=[1, 10])
>>> found["ndcg_at_10"], found["mrr_at_1"], found["accuracy"]
(0.85972, 1.0, 0.5)
>>> claims({"scores": {"test": [{"ndcg_at_10": 0.85972, "mrr_at_10": 1.0, "main_score": 0.85972}]}})
['ndcg_at_10=0.85972', 'mrr_at_10=1.0']
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

from treceval_py.errors import DataError
from treceval_py.scoring.evaluation import evaluate

K_VALUES = (1, 3, 5, 10, 20, 100, 1000)
"""The cutoffs of MTEB."""

DIGITS = 5
"""Number of decimals to which MTEB rounds means, except of reciprocal ranks."""

_NOTATION = {"ndcg": "nDCG", "map": "AP", "recall": "R", "precision": "P", "mrr": "RR", "hit_rate": "Success"}
"""The measures of MTEB's keys, in our notation."""

_KEY = re.compile(rf"({'|'.join(_NOTATION)})_at_[1-9][0-9]*")


def scores(
    qrels: Mapping[str, Mapping[str, int]],
    results: Mapping[str, Mapping[str, float]],
    k_values: Iterable[int] = K_VALUES,
) -> dict[str, float]:
    """Compute the scores of a retrieval task in MTEB's form.

    Parameters
    ----------
    qrels : dict of dict
        ``{qid: {docid: rel}}``.
    results : dict of dict
        ``{qid: {docid: score}}``, such as the predictions that MTEB saves for a split.
    k_values : iterable of int
        Cutoffs, 1 or higher.

    Returns
    -------
    dict of str to float
        ``ndcg_at_k``, ``map_at_k``, ``recall_at_k``, ``precision_at_k``, ``mrr_at_k`` and ``hit_rate_at_k``; and
        ``accuracy`` if 1 is a cutoff. As in MTEB, means are rounded to five decimals, except those of ``mrr_at_k``.

    Raises
    ------
    TrecevalError
        As for `te.evaluate`.
    """
    cutoffs = list(k_values)
    names = {f"{key}_at_{k}": f"{ours}@{k}" for key, ours in _NOTATION.items() for k in cutoffs}
    mean = evaluate(qrels, results, list(names.values()), profile="mteb").mean
    means = {key: mean[name] if key[:4] == "mrr_" else round(mean[name], DIGITS) for key, name in names.items()}
    return {**means, "accuracy": means["recall_at_1"]} if 1 in cutoffs else means


def claims(result: Any, split: str | None = None, subset: str | None = None) -> list[str]:
    """Return a task's retrieval scores as claims for ``te.explain(qrels, run, claims=…)``.

    Parameters
    ----------
    result : TaskResult, dict
        A task's result: MTEB's object, the contents of its JSON file, or a dictionary of scores.
    split, subset : str, optional
        Which scores to use; required if there are several.

    Returns
    -------
    list of str
        Such as ``"ndcg_at_10=0.85972"``. NaN and other scores, such as ``main_score``, are left out.

    Raises
    ------
    DataError
        There are no such scores, or there are several and none was chosen.
    """
    scored = getattr(result, "scores", result)
    if isinstance(scored, Mapping) and isinstance(scored.get("scores"), Mapping):
        scored = scored["scores"]
    if not isinstance(scored, Mapping):
        fault = f"scores of type {type(scored).__name__}"
        raise DataError(fault, "Give a TaskResult, or the contents of its JSON file.")
    if not any(map(_KEY.fullmatch, map(str, scored))):
        rows = _one(scored, split, "split")
        if isinstance(rows, Mapping):
            rows = [{**row, "hf_subset": name} for name, row in rows.items() if isinstance(row, Mapping)]
        rows = rows if isinstance(rows, list) else []
        scored = _one({row.get("hf_subset", ""): row for row in rows if isinstance(row, Mapping)}, subset, "subset")
    values = {key: value for key, value in scored.items() if _KEY.fullmatch(str(key)) and isinstance(value, Real)}
    claimed = [f"{key}={float(value)!r}" for key, value in values.items() if math.isfinite(value)]
    if not claimed:
        raise DataError("there are no retrieval scores", "Give the result of a retrieval task.")
    return claimed


def _one(named: Mapping[str, Any], name: str | None, kind: str) -> Any:
    """Return the only entry, or the one with a given name."""
    if name is None and len(named) == 1:
        (name,) = named
    if name is None or name not in named:
        problem = f"no {kind} was chosen" if name is None else f"there is no {kind} {name!r}"
        raise DataError(problem, f"There are: {', '.join(map(str, named)) or 'none'}.")
    return named[name]
