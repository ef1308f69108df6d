"""BEIR's dictionaries of scores, with its keys and its rounding.

>>> from treceval_py.integrations.beir import evaluate
>>> ndcg, map_, recall, precision = evaluate({"q1": {"d1": 1, "d2": 2}}, {"q1": {"d1": 2.0, "d2": 1.0}}, [1, 10])
>>> ndcg, precision
({'NDCG@1': 0.5, 'NDCG@10': 0.85972}, {'P@1': 1.0, 'P@10': 0.2})

BEIR's ``results`` are a run and its ``qrels`` are judgments for every function here. ``profile="beir"`` gives
BEIR's numbers before rounding, with values per query.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from treceval_py.errors import MeasureError
from treceval_py.scoring.evaluation import evaluate as score
from treceval_py.scoring.profiles import PROFILES

DIGITS = 5
"""Number of decimals to which BEIR rounds means."""

Scores = dict[str, float]
Judged = Mapping[str, Mapping[str, int]]
Retrieved = Mapping[str, Mapping[str, float]]

_CUSTOM = {
    ("MRR", "RR"): "mrr mrr@k mrr_cut",
    ("R_cap", "R_cap"): "recall_cap r_cap r_cap@k",
    ("Hole", "Hole"): "hole hole@k",
    ("Accuracy", "Success"): "acc top_k_acc accuracy accuracy@k top_k_accuracy",
}
"""BEIR's key and our notation, by BEIR's names."""


def evaluate(
    qrels: Judged, results: Retrieved, k_values: Iterable[int], ignore_identical_ids: bool = True
) -> tuple[Scores, Scores, Scores, Scores]:
    """Compute what BEIR's ``EvaluateRetrieval.evaluate`` returns, without changing ``results``.

    Parameters
    ----------
    qrels : dict of dict
        ``{qid: {docid: rel}}``.
    results : dict of dict
        ``{qid: {docid: score}}``.
    k_values : iterable of int
        Cutoffs, 1 or higher.
    ignore_identical_ids : bool
        Remove a document that has the id of its query.

    Returns
    -------
    ndcg, map, recall, precision : dict of str to float
        ``NDCG@k``, ``MAP@k``, ``Recall@k`` and ``P@k``, means rounded to five decimals.

    Raises
    ------
    TrecevalError
        As for `te.evaluate`.
    """
    pairs = [("NDCG", "nDCG"), ("MAP", "AP"), ("Recall", "R"), ("P", "P")]
    ndcg, map_, recall, precision = _scored(qrels, results, pairs, k_values, ignore_identical_ids)
    return ndcg, map_, recall, precision


def evaluate_custom(
    qrels: Judged, results: Retrieved, k_values: Iterable[int], metric: str, ignore_identical_ids: bool = True
) -> Scores:
    """Compute what BEIR's ``EvaluateRetrieval.evaluate_custom`` returns.

    Parameters
    ----------
    qrels, results, k_values
        As for `evaluate`.
    metric : str
        ``mrr``, ``recall_cap``, ``hole`` or ``top_k_accuracy``, or another of BEIR's names for these.
    ignore_identical_ids : bool
        Remove a document that has the id of its query. BEIR does so if its ``evaluate`` was called before, because that
        removes the document from ``results``; otherwise it keeps the document, as False does.

    Raises
    ------
    MeasureError
        The metric is none of these.
    """
    pairs = {name: pair for pair, names in _CUSTOM.items() for name in names.split()}
    if metric.lower() not in pairs:
        raise MeasureError(f"BEIR has no metric '{metric}'", f"Choose one of {', '.join(pairs)}.")
    return _scored(qrels, results, [pairs[metric.lower()]], k_values, ignore_identical_ids)[0]


def _scored(
    qrels: Judged, results: Retrieved, pairs: list[tuple[str, str]], k_values: Iterable[int], without_self: bool
) -> list[Scores]:
    profile, cutoffs = PROFILES["beir"], list(k_values)
    if not without_self:
        profile = profile._replace(conventions=profile.conventions._replace(self_hits="keep"))
    means = score(qrels, results, [f"{ours}@{k}" for _, ours in pairs for k in cutoffs], profile=profile).mean
    return [{f"{theirs}@{k}": round(means[f"{ours}@{k}"], DIGITS) for k in cutoffs} for theirs, ours in pairs]
