"""Measures for incomplete judgments: they do not treat unjudged documents as non-relevant."""

from __future__ import annotations

import numpy as np

from treceval_py._types import FloatArray
from treceval_py.judging.judged import JudgedRun, ratio

SMALL = 0.00001
"""infAP's epsilon, which smooths the estimate of precision above a rank."""


def binary_preference(run: JudgedRun, *, level: int = 1, negative: str = "unjudged") -> FloatArray:
    r"""Binary preference (bpref): how rarely judged non-relevant documents are above relevant ones.

    Formula
    -------
    bpref = (1/R) · sum over the relevant documents retrieved of 1 - min(n, R) / min(N, R), or 1 if n = 0; n = documents
    above it that were judged not relevant, N = all documents judged not relevant.

    .. math:: \mathrm{bpref} = \frac{1}{R} \sum_{i\,:\,r_i = 1} \left(1 - \frac{\min(n_i, R)}{\min(N, R)}\right)

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also when R = 0.

    References
    ----------
    trec_eval 10.0, measure ``bpref``. Buckley, C., Voorhees, E. M. Retrieval Evaluation with Incomplete Information.
    SIGIR 2004. With ``negative=nonrelevant`` ranx 0.3.21, which has no value for a query with N = 0.

    Examples
    --------
    R = 2, N = 1: the first relevant document counts 1, the second 1 - 1/1; over 2.

    >>> binary_preference(ranked_labels("1 - 0 1"))
    array([0.5])

    N = 2: one of them is above the second relevant document.

    >>> binary_preference(ranked_labels("1 - -1 1 0"), negative="nonrelevant")
    array([0.75])
    """
    hits = run.found(level)
    relevant, nonrelevant, passed = run.num_rel(level), run.num_nonrel(level), hits.nonrelevant
    if negative == "nonrelevant":
        nonrelevant, passed = run.count(run.ideal.query) - relevant, passed + hits.unjudged
    most = np.minimum(nonrelevant, relevant)[hits.query]
    above = np.minimum(passed, relevant[hits.query])
    return ratio(run.sum(hits.query, 1.0 - ratio(above, most)), relevant)


def inferred_average_precision(run: JudgedRun, *, level: int = 1) -> FloatArray:
    r"""Inferred AP: estimate of AP when only a random sample of the pool was judged.

    Formula
    -------
    infAP = (1/R) · sum over the relevant documents retrieved, at rank k, of 1/k + ((k-1)/k) · (s/(k-1)) ·
    ((r+e) / (r+n+2e)). Of the documents above, s are from the pool, r are relevant and n are judged not relevant;
    e = 0.00001. A negative judgment marks a document of the pool that was not sampled.

    .. math:: \mathrm{infAP} = \frac{1}{R} \sum_{k\,:\,r_k = 1} \left(\frac{1}{k} + \frac{k - 1}{k} \cdot \frac{s}{k -
        1} \cdot \frac{r + e}{r + n + 2e}\right)

    Returns
    -------
    (Q,) float array
        From 0 to about 1. Empty case: 0, also when R = 0.

    References
    ----------
    trec_eval 10.0, measure ``infAP``. Yilmaz, E., Aslam, J. A. Estimating Average Precision with Incomplete and
    Imperfect Judgments. CIKM 2006.

    Examples
    --------
    At rank 1: 1. At rank 2: 1/2 + 1/2 · 1/1 · (1 + e)/(1 + 2e), which is nearly 1.

    >>> inferred_average_precision(ranked_labels("1 1"))
    array([0.9999975])
    """
    hits = run.found(level)
    above: FloatArray = (hits.rank - 1).astype(np.float64)
    relevant: FloatArray = (hits.nth - 1).astype(np.float64)
    pool = ratio(relevant + hits.nonrelevant + hits.unjudged, above)
    share = (relevant + SMALL) / (relevant + hits.nonrelevant + 2 * SMALL)
    expected = 1.0 / hits.rank + above / hits.rank * pool * share
    return ratio(run.sum(hits.query, expected), run.num_rel(level))
