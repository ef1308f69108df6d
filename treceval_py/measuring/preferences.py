"""Measures of preference judgments: how many preferences between documents a ranking respects.

A preference for x over y is *fulfilled* if x is above y, or if x was retrieved and y was not. All preferences are
*possible*; ``_imp`` measures use only those with a retrieved document (implied by the ranking), and ``_ret`` measures
only those with both documents retrieved.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import starmap

import numpy as np

from treceval_py._types import FloatArray, IntArray
from treceval_py.judging.judged import ratio
from treceval_py.judging.preferences import GroupPreferences, JudgedPreferences, balanced, pair_shares, sums


def _queries(run: JudgedPreferences) -> Iterator[tuple[list[GroupPreferences], int]]:
    """Yield the judgment groups of each query, and its number of documents retrieved."""
    return zip(run.groups, run.retrieved.tolist(), strict=True)


def _counts(run: JudgedPreferences, kind: str) -> tuple[FloatArray, FloatArray]:
    """Return the fulfilled and the possible preferences of each judgment group. (G,) each."""
    by_group = run.once(sums, lambda: [sums(group, size) for groups, size in _queries(run) for group in groups])
    fulfilled, possible = np.reshape([counts[kind] for counts in by_group], (-1, 2)).T
    return fulfilled, possible


def _added(run: JudgedPreferences, values: FloatArray) -> FloatArray:
    """Add up the values of each query's groups, (G,), one after the other. (Q,)."""
    query = np.repeat(np.arange(run.num_queries), list(map(len, run.groups)))
    return np.bincount(query, weights=values, minlength=run.num_queries).astype(np.float64, copy=False)


def _totals(run: JudgedPreferences, kind: str) -> tuple[FloatArray, FloatArray]:
    """Return the fulfilled and the possible preferences, added up over the groups of each query. (Q,) each."""
    fulfilled, possible = _counts(run, kind)
    return _added(run, fulfilled), _added(run, possible)


def _mean_over_groups(run: JudgedPreferences, kind: str) -> FloatArray:
    return _mean(run, *_counts(run, kind))


def _mean(run: JudgedPreferences, fulfilled: FloatArray, possible: FloatArray) -> FloatArray:
    """Return the mean over the groups of each query of fulfilled / possible. (Q,)."""
    return ratio(_added(run, ratio(fulfilled, possible)), _added(run, np.ones(len(possible))))


def _mean_over_pairs(run: JudgedPreferences, kind: str) -> FloatArray:
    by_query = run.once(pair_shares, lambda: list(starmap(pair_shares, _queries(run))))
    shares, number = np.reshape([counts[kind] for counts in by_query], (-1, 2)).T
    return ratio(shares, number)


def _balanced_over_groups(run: JudgedPreferences, which: int) -> FloatArray:
    by_group = run.once(balanced, lambda: [balanced(group, size) for groups, size in _queries(run) for group in groups])
    fulfilled, possible = np.reshape([counts[which] for counts in by_group], (-1, 2)).T
    # As in trec_eval, a group without a possible preference makes the query's value 0.
    return np.where(_added(run, possible == 0) > 0, 0.0, _mean(run, fulfilled, possible))


def preferences_possible(run: JudgedPreferences) -> IntArray:
    r"""Count the preferences.

    Formula
    -------
    prefs_num_prefs_poss = preferences of all groups, whatever was retrieved.

    .. math:: \mathrm{prefs\_num\_prefs\_poss} = \sum_{j=1}^{J} \mathrm{possible}_j

    Returns
    -------
    (Q,) int array
        From 0; added up over queries. Empty case: the query's preferences, which do not depend on the run.

    References
    ----------
    trec_eval 10.0, measure ``prefs_num_prefs_poss``.

    Examples
    --------
    x over y, x over z and y over z.

    >>> preferences_possible(preferred("y x", "x y z"))
    array([3])
    """
    return _totals(run, "all")[1].astype(np.int64)


def preferences_fulfilled(run: JudgedPreferences) -> IntArray:
    r"""Count the preferences that the ranking fulfils.

    Formula
    -------
    prefs_num_prefs_ful = preferences x over y with x above y, or x retrieved and y not.

    .. math:: \mathrm{prefs\_num\_prefs\_ful} = \sum_{j=1}^{J} \mathrm{fulfilled}_j

    Returns
    -------
    (Q,) int array
        From 0; added up over queries. Empty case: 0.

    References
    ----------
    trec_eval 10.0, measure ``prefs_num_prefs_ful``.

    Examples
    --------
    x over z and y over z, but not x over y.

    >>> preferences_fulfilled(preferred("y x", "x y z"))
    array([2])
    """
    return _totals(run, "all")[0].astype(np.int64)


def preferences_fulfilled_retrieved(run: JudgedPreferences) -> IntArray:
    r"""Count the preferences between retrieved documents that the ranking fulfils.

    Formula
    -------
    prefs_num_prefs_ful_ret = preferences x over y with x above y, both retrieved.

    .. math:: \mathrm{prefs\_num\_prefs\_ful\_ret} = \sum_{j=1}^{J} \mathrm{fulfilled}_j^{\mathrm{ret}}

    Returns
    -------
    (Q,) int array
        From 0; added up over queries. Empty case: 0.

    References
    ----------
    trec_eval 10.0, measure ``prefs_num_prefs_ful_ret``.

    Examples
    --------
    >>> preferences_fulfilled_retrieved(preferred("y x", "x y z"))
    array([0])
    """
    return _totals(run, "ret")[0].astype(np.int64)


def preference_share(run: JudgedPreferences) -> FloatArray:
    r"""Share of the preferences that the ranking fulfils.

    Formula
    -------
    prefs_simp = fulfilled / possible, both added up over the groups.

    .. math:: \mathrm{prefs\_simp} = \frac{\sum_{j=1}^{J} \mathrm{fulfilled}_j}{\sum_{j=1}^{J} \mathrm{possible}_j}

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also without any preference.

    References
    ----------
    trec_eval 10.0, measure ``prefs_simp``. Carterette, B., Bennett, P. N., Chickering, D. M., Dumais, S. T. Here or
    There: Preference Judgments for Relevance. ECIR 2008.

    Examples
    --------
    >>> preference_share(preferred("y x", "x y z"))
    array([0.66666667])
    """
    return ratio(*_totals(run, "all"))


def preference_share_retrieved(run: JudgedPreferences) -> FloatArray:
    r"""Share of the preferences between retrieved documents that the ranking fulfils.

    Formula
    -------
    prefs_simp_ret = fulfilled / possible, over preferences with both documents retrieved.

    .. math:: \mathrm{prefs\_simp\_ret} = \frac{\sum_{j=1}^{J} \mathrm{fulfilled}_j^{\mathrm{ret}}}{\sum_{j=1}^{J}
        \mathrm{possible}_j^{\mathrm{ret}}}

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also without such a preference.

    References
    ----------
    trec_eval 10.0, measure ``prefs_simp_ret``.

    Examples
    --------
    Only x over y counts, and y is above x.

    >>> preference_share_retrieved(preferred("y x", "x y z"))
    array([0.])
    """
    return ratio(*_totals(run, "ret"))


def preference_share_implied(run: JudgedPreferences) -> FloatArray:
    r"""Share of the preferences with a retrieved document that the ranking fulfils.

    Formula
    -------
    prefs_simp_imp = fulfilled / possible, over preferences with at least one document retrieved.

    .. math:: \mathrm{prefs\_simp\_imp} = \frac{\sum_{j=1}^{J} \mathrm{fulfilled}_j^{\mathrm{imp}}}{\sum_{j=1}^{J}
        \mathrm{possible}_j^{\mathrm{imp}}}

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also without such a preference.

    References
    ----------
    trec_eval 10.0, measure ``prefs_simp_imp``.

    Examples
    --------
    Five of the six preferences involve x, all but y over z. x is below w and above y and z.

    >>> preference_share_implied(preferred("x", "w x y z"))
    array([0.66666667])
    """
    return ratio(*_totals(run, "imp"))


def preference_mean_over_pairs(run: JudgedPreferences) -> FloatArray:
    r"""Mean over pairs of documents of the share of groups whose preference the ranking fulfils.

    Formula
    -------
    prefs_pair = mean over the pairs with a preference of (groups that prefer the one ranked above) / (groups with a
    preference); a pair with no document retrieved counts 0.

    .. math:: \mathrm{prefs\_pair} = \frac{1}{|A|} \sum_{\{x, y\} \in A} \frac{a_{xy}}{p_{xy}}, \quad a_{xy} =
        \text{groups that prefer the one ranked above}, \quad p_{xy} = \text{groups with a preference}, \quad A =
        \text{pairs with a preference}

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also without any preference.

    References
    ----------
    trec_eval 10.0, measure ``prefs_pair``.

    Examples
    --------
    >>> preference_mean_over_pairs(preferred("y x", "x y z"))
    array([0.66666667])
    """
    return _mean_over_pairs(run, "all")


def preference_mean_over_pairs_retrieved(run: JudgedPreferences) -> FloatArray:
    r"""Mean over pairs of retrieved documents of the share of groups whose preference is fulfilled.

    Formula
    -------
    prefs_pair_ret = as prefs_pair, over the pairs with both documents retrieved.

    .. math:: \mathrm{prefs\_pair\_ret} = \frac{1}{|A^{\mathrm{ret}}|} \sum_{\{x, y\} \in A^{\mathrm{ret}}}
        \frac{a_{xy}}{p_{xy}}, \quad a_{xy} = \text{groups that prefer the one ranked above}, \quad p_{xy} =
        \text{groups with a preference}, \quad A^{\mathrm{ret}} = \text{pairs with a preference}

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also without such a pair.

    References
    ----------
    trec_eval 10.0, measure ``prefs_pair_ret``.

    Examples
    --------
    >>> preference_mean_over_pairs_retrieved(preferred("x y", "x y z"))
    array([1.])
    """
    return _mean_over_pairs(run, "ret")


def preference_mean_over_pairs_implied(run: JudgedPreferences) -> FloatArray:
    r"""Mean over pairs with a retrieved document of the share of groups whose preference is fulfilled.

    Formula
    -------
    prefs_pair_imp = as prefs_pair, over the pairs with at least one document retrieved.

    .. math:: \mathrm{prefs\_pair\_imp} = \frac{1}{|A^{\mathrm{imp}}|} \sum_{\{x, y\} \in A^{\mathrm{imp}}}
        \frac{a_{xy}}{p_{xy}}, \quad a_{xy} = \text{groups that prefer the one ranked above}, \quad p_{xy} =
        \text{groups with a preference}, \quad A^{\mathrm{imp}} = \text{pairs with a preference}

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also without such a pair.

    References
    ----------
    trec_eval 10.0, measure ``prefs_pair_imp``.

    Examples
    --------
    The pairs of x: below w, above y, above z.

    >>> preference_mean_over_pairs_implied(preferred("x", "w x y z"))
    array([0.66666667])
    """
    return _mean_over_pairs(run, "imp")


def preference_mean_over_groups(run: JudgedPreferences) -> FloatArray:
    r"""Mean over judgment groups of the share of preferences that the ranking fulfils.

    Formula
    -------
    prefs_avgjg = mean over the groups of fulfilled / possible; 0 for a group without a preference.

    .. math:: \mathrm{prefs\_avgjg} = \frac{1}{J} \sum_{j=1}^{J} \frac{\mathrm{fulfilled}_j}{\mathrm{possible}_j}

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0.

    References
    ----------
    trec_eval 10.0, measure ``prefs_avgjg``.

    Examples
    --------
    One group agrees with the ranking, the other does not.

    >>> preference_mean_over_groups(preferred("x y", "x y", "y x"))
    array([0.5])
    """
    return _mean_over_groups(run, "all")


def preference_mean_over_groups_retrieved(run: JudgedPreferences) -> FloatArray:
    r"""Mean over judgment groups of the share of fulfilled preferences between retrieved documents.

    Formula
    -------
    prefs_avgjg_ret = mean over the groups of fulfilled / possible, over preferences between retrieved documents; 0 for
    a group without one.

    .. math:: \mathrm{prefs\_avgjg\_ret} = \frac{1}{J} \sum_{j=1}^{J}
        \frac{\mathrm{fulfilled}_j^{\mathrm{ret}}}{\mathrm{possible}_j^{\mathrm{ret}}}

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0.

    References
    ----------
    trec_eval 10.0, measure ``prefs_avgjg_ret``.

    Examples
    --------
    >>> preference_mean_over_groups_retrieved(preferred("x y", "x y z", "y x"))
    array([0.5])
    """
    return _mean_over_groups(run, "ret")


def preference_mean_over_groups_implied(run: JudgedPreferences) -> FloatArray:
    r"""Mean over judgment groups of the share of fulfilled preferences with a retrieved document.

    Formula
    -------
    prefs_avgjg_imp = mean over the groups of fulfilled / possible, over preferences with at least one retrieved
    document; 0 for a group without one.

    .. math:: \mathrm{prefs\_avgjg\_imp} = \frac{1}{J} \sum_{j=1}^{J}
        \frac{\mathrm{fulfilled}_j^{\mathrm{imp}}}{\mathrm{possible}_j^{\mathrm{imp}}}

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0.

    References
    ----------
    trec_eval 10.0, measure ``prefs_avgjg_imp``.

    Examples
    --------
    Two of three preferences in the first group, and the only one in the second.

    >>> preference_mean_over_groups_implied(preferred("x", "w x y z", "x y"))
    array([0.83333333])
    """
    return _mean_over_groups(run, "imp")


def preference_balanced(run: JudgedPreferences) -> FloatArray:
    r"""Mean over judgment groups of fulfilled preferences, with equal numbers of relevant and other documents.

    Formula
    -------
    prefs_avgjg_Rnonrel = mean over the groups of fulfilled / possible. If a group has fewer other documents than
    relevant ones (level above 0), it is filled up with others that were not retrieved; if it has more, only the first
    ones count. The lowest class of a group with one sub-group is also compared with itself.

    .. math:: \mathrm{prefs\_avgjg\_Rnonrel} = \frac{1}{J} \sum_{j=1}^{J}
        \frac{\mathrm{fulfilled}_j}{\mathrm{possible}_j}

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also when a group has no preference to count.

    References
    ----------
    trec_eval 10.0, measure ``prefs_avgjg_Rnonrel``.

    Examples
    --------
    Levels 3 2 1 for x y z, which are all relevant: two of three preferences are fulfilled. Three other documents are
    added, and two retrieved documents are above each: (2 + 2·3) / (3 + 3·3).

    >>> preference_balanced(preferred("y x", "x y z"))
    array([0.66666667])
    """
    return _balanced_over_groups(run, 0)


def preference_balanced_retrieved(run: JudgedPreferences) -> FloatArray:
    r"""Mean over judgment groups of fulfilled preferences between retrieved documents, balanced.

    Formula
    -------
    prefs_avgjg_Rnonrel_ret = as prefs_avgjg_Rnonrel, over the retrieved documents.

    .. math:: \mathrm{prefs\_avgjg\_Rnonrel\_ret} = \frac{1}{J} \sum_{j=1}^{J}
        \frac{\mathrm{fulfilled}_j}{\mathrm{possible}_j}

    Returns
    -------
    (Q,) float array
        In [0, 1]. Empty case: 0, also when a group has no preference to count.

    References
    ----------
    trec_eval 10.0, measure ``prefs_avgjg_Rnonrel_ret``.

    Examples
    --------
    None of one preference is fulfilled, and two other documents are added: (0 + 2·2) / (1 + 3·2).

    >>> preference_balanced_retrieved(preferred("y x", "x y z"))
    array([0.57142857])
    """
    return _balanced_over_groups(run, 1)
