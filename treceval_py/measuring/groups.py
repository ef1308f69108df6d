"""Measures over several groups of judgments: the value of each group, averaged over the groups of a query."""

from __future__ import annotations

from treceval_py._types import FloatArray
from treceval_py.judging.judged import JudgedGroups
from treceval_py.measuring.precision import average_precision, precision, r_precision_multiple


def average_precision_over_groups(run: JudgedGroups, *, level: int = 1) -> FloatArray:
    r"""Average precision, averaged over the judgment groups of a query.

    Formula
    -------
    map_avgjg = mean over the groups of the AP by the group's judgments.

    .. math:: \mathrm{map\_avgjg} = \frac{1}{J} \sum_{j=1}^{J} \mathrm{AP}_j

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0.

    References
    ----------
    trec_eval 10.0, measure ``map_avgjg``.

    Examples
    --------
    One group finds the first document relevant (AP 1), the other the second (AP 1/2).

    >>> groups = JudgmentGroups({"q": {b"A": {b"a": 1}, b"B": {b"b": 1}}})
    >>> average_precision_over_groups(judge_groups(groups, Run({"q": {"a": 2.0, "b": 1.0}})))
    array([0.75])
    """
    return run.mean(average_precision(run.run, level=level))


def precision_over_groups(run: JudgedGroups, *, level: int = 1, cutoff: int) -> FloatArray:
    r"""Precision of the first k documents, averaged over the judgment groups of a query.

    Formula
    -------
    P_avgjg@k = mean over the groups of the P@k by the group's judgments.

    .. math:: \mathrm{P\_avgjg}@k = \frac{1}{J} \sum_{j=1}^{J} \mathrm{P}_j@k

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0.

    References
    ----------
    trec_eval 10.0, measure ``P_avgjg``.

    Examples
    --------
    One group finds both documents relevant (P@2 = 1), the other only one of them (P@2 = 1/2).

    >>> groups = JudgmentGroups({"q": {b"A": {b"a": 1, b"b": 1}, b"B": {b"b": 1}}})
    >>> precision_over_groups(judge_groups(groups, Run({"q": {"a": 2.0, "b": 1.0}})), cutoff=2)
    array([0.75])
    """
    return run.mean(precision(run.run, level=level, cutoff=cutoff))


def r_precision_multiple_over_groups(run: JudgedGroups, *, level: int = 1, multiple: float) -> FloatArray:
    r"""Precision at a multiple of R, averaged over the judgment groups of a query.

    Formula
    -------
    Rprec_mult_avgjg@x = mean over the groups of the Rprec_mult@x by the group's judgments.

    .. math:: \mathrm{Rprec\_mult\_avgjg}@x = \frac{1}{J} \sum_{j=1}^{J} \mathrm{Rprec\_mult}_j@x

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0.

    References
    ----------
    trec_eval 10.0, measure ``Rprec_mult_avgjg``.

    Examples
    --------
    At R one group has 1/1, the other 0/1.

    >>> groups = JudgmentGroups({"q": {b"A": {b"a": 1}, b"B": {b"b": 1}}})
    >>> r_precision_multiple_over_groups(judge_groups(groups, Run({"q": {"a": 2.0, "b": 1.0}})), multiple=1.0)
    array([0.5])
    """
    return run.mean(r_precision_multiple(run.run, level=level, multiple=multiple))
