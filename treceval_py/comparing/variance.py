"""Several runs at once: analysis of variance over queries and systems, and letters for groups of runs.

The model is v(s, q) = mean + system(s) + query(q) + error(s, q), one value for each run and query. What makes a query
hard for all runs is taken out before runs are compared, so the tests are paired, as the t-test of two runs is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from treceval_py._types import BoolArray, FloatArray
from treceval_py.comparing.paired import SAME, special


class Anova(NamedTuple):
    """A two-way analysis of variance without replication: of systems (runs) and queries.

    Attributes
    ----------
    systems_ss, queries_ss, error_ss : float
        Sums of squares.
    systems_df, queries_df, error_df : int
        Degrees of freedom: S - 1, Q - 1 and (S - 1)(Q - 1).
    systems_f, systems_p : float
        The F statistic of the systems, and its p-value.
    queries_f, queries_p : float
        The same for the queries.
    error_ms : float
        The mean square of the error, error_ss / error_df; exactly 0 where it is no more than rounding.
    """

    systems_ss: float
    queries_ss: float
    error_ss: float
    systems_df: int
    queries_df: int
    error_df: int
    systems_f: float
    systems_p: float
    queries_f: float
    queries_p: float
    error_ms: float


def two_way_anova(values: FloatArray) -> Anova | None:
    r"""Divide the variance of values into that of systems, that of queries and error.

    .. math:: F_\text{systems} = \frac{Q \sum_s (\bar v_s - \bar v)^2 / (S-1)}
                                      {\sum_{s,q} (v_{sq} - \bar v_s - \bar v_q + \bar v)^2 / ((S-1)(Q-1))}

    Parameters
    ----------
    values : (S, Q) float array
        The value of each run and query, without NaN.

    Returns
    -------
    Anova or None
        None of one run or of one query, which leave no error to compare with. Where there is no error, since all runs
        differ by constants, an effect has F = inf and p = 0; an effect that is 0 as well has F = 0 and p = 1.

    Notes
    -----
    Assumes that errors are independent and normally distributed with the same variance for all runs and queries.

    References
    ----------
    Ronald A. Fisher. Statistical Methods for Research Workers. Oliver and Boyd, 1925.

    Jean Tague-Sutcliffe and James Blustein. A statistical analysis of the TREC-3 data. In Overview of the Third Text
    REtrieval Conference (TREC-3), NIST Special Publication 500-225, 385-398, 1995.

    Examples
    --------
    Means of runs 2 and 4, of queries 1.5, 3 and 4.5; the residuals are 0.5, 0, -0.5, -0.5, 0, 0.5.

    >>> import numpy as np
    >>> anova = two_way_anova(np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]))
    >>> anova.systems_ss, anova.queries_ss, anova.error_ss
    (6.0, 9.0, 1.0)
    >>> anova.systems_f, anova.queries_f
    (12.0, 9.0)
    """
    runs, queries = values.shape
    if runs < 2 or queries < 2:
        return None
    mean = values.mean()
    system = values.mean(axis=1) - mean
    query = values.mean(axis=0) - mean
    error = values - mean - system[:, None] - query
    systems_df, queries_df, error_df = runs - 1, queries - 1, (runs - 1) * (queries - 1)
    # How large a number that should be 0 can be after means of values were subtracted from values.
    rounding = max(SAME, 16 * float(np.finfo(np.float64).eps) * float(np.abs(values).max(initial=0.0)))
    systems_ss = queries * _squares(system, rounding)
    queries_ss = runs * _squares(query, rounding)
    error_ss = _squares(error, rounding)
    error_ms = error_ss / error_df
    systems_f, systems_p = _f_test(systems_ss / systems_df, systems_df, error_ms, error_df)
    queries_f, queries_p = _f_test(queries_ss / queries_df, queries_df, error_ms, error_df)
    return Anova(
        systems_ss, queries_ss, error_ss, systems_df, queries_df, error_df,
        systems_f, systems_p, queries_f, queries_p, error_ms,
    )  # fmt: skip


def _squares(effects: FloatArray, rounding: float) -> float:
    """Return the sum of squares; 0 where all effects are rounding, as a test would else find them significant."""
    return float(np.square(effects).sum()) if np.abs(effects).max() > rounding else 0.0


def _f_test(effect_ms: float, effect_df: int, error_ms: float, error_df: int) -> tuple[float, float]:
    if error_ms == 0:
        return (np.inf, 0.0) if effect_ms > 0 else (0.0, 1.0)
    statistic = effect_ms / error_ms
    return statistic, float(special.fdtrc(effect_df, error_df, statistic))


def letters(means: FloatArray, different: BoolArray) -> tuple[str, ...]:
    """Return the letters of each run, such that two runs share a letter exactly when they do not differ.

    Parameters
    ----------
    means : (S,) float array
        The mean of each run. Groups are lettered from the highest mean downwards.
    different : (S, S) bool array
        Whether two runs differ significantly; symmetric, its diagonal does not count.

    Returns
    -------
    tuple of str, length S
        The letters of each run in order, such as ``"a"``, ``"ab"``, ``"b"``; the run with the highest mean has ``a``.
        Where there are more than 26 groups, they go on with a1, b1, …: ``"za1"`` is in z and in a1.

    Notes
    -----
    For each pair that does not differ and shares no letter yet, from the highest means downwards, a group is made that
    no run can be added to. Where one least difference decides, groups are stretches of the means, and no more than
    there are runs. Other tests can tell apart two runs and not two others whose means are further apart: then there can
    be more. To find the fewest could take for ever.

    References
    ----------
    Hans-Peter Piepho. An algorithm for a letter-based representation of all-pairwise comparisons. Journal of
    Computational and Graphical Statistics 13(2), 456-466, 2004.

    Jens Gramm, Jiong Guo, Falk Hüffner, Rolf Niedermeier, Hans-Peter Piepho and Ramona Schmid. Algorithms for compact
    letter displays: comparison and evaluation. Computational Statistics & Data Analysis 52(2), 725-736, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> means = np.array([0.1, 0.3, 0.2])
    >>> letters(means, np.abs(means[:, None] - means) > 0.15)
    ('b', 'a', 'ab')
    """
    order = np.argsort(-means, kind="stable")
    groups = _groups(different[np.ix_(order, order)])
    # a, b, …, z, a1, b1 and so on, which can be concatenated.
    names = [chr(ord("a") + number % 26) + (str(number // 26) if number >= 26 else "") for number in range(len(groups))]
    texts = [""] * len(order)
    for place, run in enumerate(order.tolist()):
        texts[run] = "".join(name for name, group in zip(names, groups, strict=True) if group >> place & 1)
    return tuple(texts)


def _groups(different: BoolArray) -> list[int]:
    """Return groups of places that do not differ, which hold each such pair: the bits of an int; that of place 0 first.

    Each is as large as can be. Not all of those are needed, of which there can be more than two to the number of runs
    divided by three; a group is made for a pair that no other has yet.
    """
    count = len(different)
    alike = [sum(1 << other for other in np.flatnonzero(~row).tolist()) for row in different]
    alike = [bits & ~(1 << place) for place, bits in enumerate(alike)]
    lacking = list(alike)
    groups = []
    for place in range(count):
        if not alike[place]:
            groups.append(1 << place)
        while lacking[place]:
            other = (lacking[place] & -lacking[place]).bit_length() - 1
            group = _grown(1 << place | 1 << other, alike[place] & alike[other], alike, lacking)
            for member in _places(group):
                lacking[member] &= ~group
            groups.append(group)
    return sorted(groups, key=_places)


def _grown(group: int, candidates: int, alike: Sequence[int], lacking: Sequence[int]) -> int:
    """Add places to a group until all others differ from one in it; first those that make pairs which no group has."""
    for wanted in (True, False):
        for place in _places(candidates):
            if candidates >> place & 1 and (lacking[place] & group or not wanted):
                group |= 1 << place
                candidates &= alike[place]
    return group


def _places(group: int) -> list[int]:
    return [place for place in range(group.bit_length()) if group >> place & 1]
