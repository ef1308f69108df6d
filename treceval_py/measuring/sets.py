"""Measures of the retrieved set, whatever its order."""

from __future__ import annotations

import numpy as np

from treceval_py._types import FloatArray
from treceval_py.judging.judged import JudgedRun, ratio
from treceval_py.measuring.counts import is_judged


def set_precision(run: JudgedRun, *, level: int = 1) -> FloatArray:
    r"""Precision of the whole retrieved set.

    Formula
    -------
    set_P = (relevant retrieved) / (retrieved).

    .. math:: \mathrm{set\_P} = \frac{|\text{relevant} \cap \text{retrieved}|}{|\text{retrieved}|}

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0.

    References
    ----------
    trec_eval 10.0, measure ``set_P``. van Rijsbergen, C. J. Information Retrieval, chapter 7. Butterworths 1979.

    Examples
    --------
    >>> set_precision(ranked_labels("1 0 - 2", missed="1"))
    array([0.5])
    """
    return ratio(run.num_rel_ret(level), run.num_ret)


def set_recall(run: JudgedRun, *, level: int = 1) -> FloatArray:
    r"""Recall of the whole retrieved set.

    Formula
    -------
    set_recall = (relevant retrieved) / R.

    .. math:: \mathrm{set\_recall} = \frac{|\text{relevant} \cap \text{retrieved}|}{R}

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also when R = 0.

    References
    ----------
    trec_eval 10.0, measure ``set_recall``. van Rijsbergen, C. J. Information Retrieval, chapter 7. Butterworths 1979.

    Examples
    --------
    >>> set_recall(ranked_labels("1 0 - 2", missed="1"))
    array([0.66666667])
    """
    return ratio(run.num_rel_ret(level), run.num_rel(level))


def set_relative_precision(run: JudgedRun, *, level: int = 1) -> FloatArray:
    r"""Precision of the retrieved set, relative to the best possible for its size.

    Formula
    -------
    set_relative_P = (relevant retrieved) / min(retrieved, R).

    .. math:: \mathrm{set\_relative\_P} = \frac{|\text{relevant} \cap \text{retrieved}|}{\min(|\text{retrieved}|, R)}

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also when R = 0.

    References
    ----------
    trec_eval 10.0, measure ``set_relative_P``.

    Examples
    --------
    >>> set_relative_precision(ranked_labels("1 0 - 2", missed="1"))
    array([0.66666667])
    """
    return ratio(run.num_rel_ret(level), np.minimum(run.num_ret, run.num_rel(level)))


def set_success(run: JudgedRun, *, level: int = 1) -> FloatArray:
    r"""Whether a relevant document was retrieved.

    Formula
    -------
    Success = 1 if a relevant document was retrieved, else 0.

    .. math:: \mathrm{Success} = \max_{i} r_i

    Returns
    -------
    (Q,) float array
        0 or 1. Empty case: 0.

    References
    ----------
    trec_eval 10.0, measure ``success`` with a cutoff below the end. ranx 0.3.21, ``hit_rate``.

    Examples
    --------
    >>> set_success(ranked_labels("0 - 1"))
    array([1.])
    """
    return (run.num_rel_ret(level) > 0).astype(np.float64)


def set_judged(run: JudgedRun, *, negative: str = "unjudged") -> FloatArray:
    r"""Share of the documents retrieved that were judged.

    Formula
    -------
    Judged = (retrieved, with rel >= 0) / (retrieved), or with any rel if negative ones count.

    .. math:: \mathrm{Judged} = \frac{|\{i : \mathrm{rel}_i \ge 0\}|}{|\text{retrieved}|}

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0.

    References
    ----------
    ir_measures 0.4.3, ``Judged`` without a cutoff: MacAvaney, S., Macdonald, C., Ounis, I. Streamlining Evaluation with
    ir-measures. ECIR 2022. There a negative label is a judgment (``negative=nonrelevant``).

    Examples
    --------
    >>> set_judged(ranked_labels("1 - 0 -"))
    array([0.5])
    """
    return ratio(run.count(run.hits.query[is_judged(run, negative)]), run.num_ret)


def set_average_precision(run: JudgedRun, *, level: int = 1) -> FloatArray:
    r"""Average precision of an unordered set: precision times recall.

    Formula
    -------
    set_map = (relevant retrieved)² / (retrieved · R).

    .. math:: \mathrm{set\_map} = \frac{|\text{relevant} \cap \text{retrieved}|^2}{|\text{retrieved}| \cdot R}

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also when R = 0.

    References
    ----------
    trec_eval 10.0, measure ``set_map``.

    Examples
    --------
    2² / (4 · 2)

    >>> set_average_precision(ranked_labels("1 0 - 2"))
    array([0.5])
    """
    relevant = run.num_rel_ret(level)
    return ratio(relevant * relevant, run.num_ret * run.num_rel(level))


def set_f(run: JudgedRun, *, level: int = 1, beta_squared: float = 1.0) -> FloatArray:
    r"""F measure of the retrieved set.

    Formula
    -------
    set_F = (x + 1)·P·R / (x·P + R), P = set_P, R = set_recall.

    .. math:: \mathrm{set\_F} = \frac{(x + 1) \cdot \mathrm{set\_P} \cdot \mathrm{set\_recall}}{x \cdot \mathrm{set\_P}
        + \mathrm{set\_recall}}

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also when nothing relevant was retrieved.

    References
    ----------
    trec_eval 10.0, measure ``set_F``. van Rijsbergen, C. J. Information Retrieval, chapter 7. Butterworths 1979.

    Examples
    --------
    P = 1/2 and R = 1: 2 · 1/2 / (3/2).

    >>> set_f(ranked_labels("1 0"))
    array([0.66666667])
    """
    precision, recall = set_precision(run, level=level), set_recall(run, level=level)
    return ratio((beta_squared + 1) * precision * recall, beta_squared * precision + recall)
