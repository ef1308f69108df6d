"""The statistical methods, declared once for the command line, its explanations and the documentation."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from treceval_py.comparing.agreement import kendall_tau, rbo, tau_ap_b
from treceval_py.comparing.by_group import corrections, welch_anova
from treceval_py.comparing.corrections import benjamini_hochberg, bonferroni, holm
from treceval_py.comparing.paired import (
    bca_interval,
    effect_size,
    equivalence,
    paired_t,
    queries_needed,
    sign_test,
    t_interval,
    wilcoxon,
)
from treceval_py.comparing.resampling import randomisation, randomised_tukey
from treceval_py.comparing.simultaneous import SIMULTANEOUS, simultaneous
from treceval_py.comparing.variance import tukey, two_way_anova

if TYPE_CHECKING:
    from treceval_py.comparing.outcome import Settings

WIDTH = 100
"""Columns of an explanation."""


class Test(NamedTuple):
    """A statistical method.

    Attributes
    ----------
    name : str
        Its name for users.
    title : str
        Its name in a sentence.
    function : callable
        Its implementation; the docstring has details.
    assumes : str
        Its assumptions.
    reference : str
        Its source.
    weaknesses : str
        Its weaknesses.
    """

    name: str
    title: str
    function: Callable[..., Any]
    assumes: str
    reference: str
    weaknesses: str


URBANO = (
    "Julián Urbano, Harlley Lima and Alan Hanjalic. Statistical significance testing in information retrieval: an "
    "empirical analysis of type I, type II and type III errors. In Proceedings of the 42nd International ACM SIGIR "
    "Conference, 505-514, 2019."
)
CARTERETTE = (
    "Benjamin A. Carterette. Multiple testing in statistical analysis of systems-based information retrieval "
    "experiments. ACM Transactions on Information Systems 30(1), article 4, 2012."
)
STUDENT = "Student. The probable error of a mean. Biometrika 6(1), 1-25, 1908."
COHEN = "Jacob Cohen. Statistical Power Analysis for the Behavioral Sciences. 2nd edition, Erlbaum, 1988."


def _by_name(*tests: Test) -> dict[str, Test]:
    return {test.name: test for test in tests}


_ALL_PAIRS = Test(
    SIMULTANEOUS,
    "simultaneous test of all pairs of runs, a studentised bootstrap of the largest paired t",
    simultaneous,
    "Queries are independent and a fair sample of those that matter. Nothing is assumed of the distribution of values, "
    "nor that runs vary alike.",
    "Peter Hall. The Bootstrap and Edgeworth Expansion. Springer, 1992. Peter H. Westfall and S. Stanley Young. "
    "Resampling-Based Multiple Testing. Wiley, 1993.",
    "It corrects for all pairs, even those of no interest: with many runs it finds less than a test of one difference "
    "that was chosen beforehand. Its p-values depend on the runs that are compared, and are never below "
    "1 / (resamples + 1).",
)

TESTS = _by_name(
    _ALL_PAIRS,
    Test(
        "t",
        "two-sided paired t-test",
        paired_t,
        "Queries are independent, and the mean of the differences is about normally distributed, which some 25 queries "
        "ensure unless a few differences outweigh all others.",
        STUDENT,
        "With few queries and very skewed differences its p-values are off; the randomisation test is then safer.",
    ),
    Test(
        "wilcoxon",
        "two-sided Wilcoxon signed-rank test",
        wilcoxon,
        "Queries are independent, and the differences are distributed symmetrically around their median.",
        "Frank Wilcoxon. Individual comparisons by ranking methods. Biometrics Bulletin 1(6), 80-83, 1945.",
        "Differences of retrieval measures are rarely symmetric. Then it can find a difference that the means do not "
        f"have, the more so the more queries there are. See {URBANO}",
    ),
    Test(
        "sign",
        "two-sided sign test",
        sign_test,
        "Queries are independent.",
        "William J. Conover. Practical Nonparametric Statistics. 3rd edition, Wiley, 1999, section 3.4.",
        "It counts how often a run is better, not by how much. It has little power, and tests the median, which can "
        f"differ when the means do not. See {URBANO}",
    ),
    Test(
        "randomisation",
        "two-sided randomisation test",
        randomisation,
        "Under the null hypothesis, the two runs are exchangeable in each query. Nothing is assumed about the "
        "distribution of the differences.",
        "Mark D. Smucker, James Allan and Ben Carterette. A comparison of statistical significance tests for "
        "information retrieval evaluation. In Proceedings of the 16th ACM Conference on Information and Knowledge "
        "Management, 623-632, 2007.",
        "If signs are drawn at random, p is never below 1 / (resamples + 1), and has a standard error that more "
        "resamples lower. With fewer than six queries that differ, p cannot be below 0.05.",
    ),
)
"""The tests of differences between two runs, by the names that users write."""

INTERVALS = {SIMULTANEOUS: _ALL_PAIRS.name, "t": "t-interval", "bca": "bca"}
"""The intervals of differences by the names that users write, with the method that computes each."""

LETTERS = _by_name(
    _ALL_PAIRS,
    Test(
        "tukey",
        "Tukey's HSD test after a two-way analysis of variance",
        tukey,
        "What a query and a run add to a value does not depend on the other, and the rest is independent and normally "
        "distributed with the same variance for all runs.",
        "John W. Tukey. The problem of multiple comparisons. Mimeographed manuscript, Princeton University, 1953; in "
        "The Collected Works of John W. Tukey, volume VIII, Chapman and Hall, 1994.",
        "It uses one variance for all pairs: two runs that are much alike seem less different than they are, and a run "
        "unlike all others seems more different. Its p-values depend on the runs that are compared.",
    ),
    Test(
        "randomised-tukey",
        "randomised Tukey HSD test",
        randomised_tukey,
        "Under the null hypothesis, all runs are equally good and exchangeable in each query. Nothing is assumed "
        "about the distribution of values.",
        CARTERETTE,
        "Its null hypothesis is that all runs are alike, so its p-values depend on the runs that are compared, and it "
        "finds less if some of them are far apart. p is never below 1 / (resamples + 1).",
    ),
)
"""The tests of all runs together, which assign the letters, by the names that users write."""

METHODS = _by_name(
    Test(
        "t-interval",
        "confidence interval of the mean difference by Student's t",
        t_interval,
        "As for the t-test: queries are independent, and the mean of the differences is about normally distributed.",
        STUDENT,
        "It is symmetric even if the differences are skewed.",
    ),
    Test(
        "bca",
        "bias-corrected and accelerated bootstrap interval of the mean difference",
        bca_interval,
        "Queries are independent and a fair sample of those that matter.",
        "Bradley Efron. Better bootstrap confidence intervals. Journal of the American Statistical Association "
        "82(397), 171-185, 1987.",
        "With fewer than about 20 queries it is too narrow. Its limits vary with the seed.",
    ),
    Test(
        "effect-size",
        "standardised effect size d_z, the mean difference divided by the standard deviation of the differences, with "
        "its exact interval",
        effect_size,
        "Queries are independent, and the differences are normally distributed.",
        "Geoff Cumming and Sue Finch. A primer on the understanding, use, and calculation of confidence intervals that "
        "are based on central and noncentral distributions. Educational and Psychological Measurement 61(4), 532-574, "
        "2001.",
        "It is large if runs are alike in most queries, however small the difference is in units of the measure.",
    ),
    Test(
        "equivalence",
        "test of equivalence within a margin: two one-sided t-tests (TOST)",
        equivalence,
        "As for the t-test; and the margin was chosen before the values were seen.",
        "Donald J. Schuirmann. A comparison of the two one-sided tests procedure and the power approach for assessing "
        "the equivalence of average bioavailability. Journal of Pharmacokinetics and Biopharmaceutics 15(6), 657-680, "
        "1987.",
        "With few queries it seldom finds two runs equivalent, even if they are.",
    ),
    Test(
        "queries-needed",
        "number of queries with which a paired t-test finds the observed effect with a given power",
        queries_needed,
        "As for the t-test; and the observed effect is the true one.",
        f"{COHEN} Tetsuya Sakai. Topic set size design. Information Retrieval Journal 19(3), 256-283, 2016.",
        "The observed effect is an estimate, and too large if it was chosen because it is significant. The number is "
        "for planning the next experiment, and does not show whether this one had enough queries.",
    ),
    Test(
        "anova",
        "two-way analysis of variance of systems and queries",
        two_way_anova,
        "What a query and a run add to a value does not depend on the other, and the rest is independent and normally "
        "distributed with the same variance for all runs and queries.",
        "Jean Tague-Sutcliffe and James Blustein. A statistical analysis of the TREC-3 data. In Overview of the Third "
        "Text REtrieval Conference (TREC-3), NIST Special Publication 500-225, 385-398, 1995.",
        "It shows that some runs differ, not which. If some queries suit some runs, which is common, this counts "
        "as error.",
    ),
    Test(
        "welch",
        "Welch's analysis of variance of the paired differences: do they depend on the group of queries?",
        welch_anova,
        "Queries are independent, and in each group the mean of the differences is about normally distributed. Their "
        "variance may differ from group to group.",
        "Bernard L. Welch. On the comparison of several mean values: an alternative approach. Biometrika 38(3/4), "
        "330-336, 1951.",
        "It shows that the difference depends on the group, not which groups differ. With small groups "
        "it finds little.",
    ),
    Test(
        "holm",
        "Holm's correction",
        holm,
        "Nothing of how the tests depend on each other.",
        "Sture Holm. A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6(2), "
        "65-70, 1979.",
        "It keeps the chance of even one false finding below the level, so that of many differences it finds few.",
    ),
    Test(
        "bonferroni",
        "Bonferroni's correction",
        bonferroni,
        "Nothing of how the tests depend on each other.",
        "Olive Jean Dunn. Multiple comparisons among means. Journal of the American Statistical Association 56(293), "
        "52-64, 1961.",
        "Holm's correction gives the same guarantee and never finds less.",
    ),
    Test(
        "benjamini-hochberg",
        "Benjamini and Hochberg's correction",
        benjamini_hochberg,
        "The tests are independent, or depend on each other positively.",
        "Yoav Benjamini and Yosef Hochberg. Controlling the false discovery rate: a practical and powerful approach to "
        "multiple testing. Journal of the Royal Statistical Society, Series B 57(1), 289-300, 1995.",
        "It limits the share of false findings, not the chance of one: among many findings, some may be false.",
    ),
    Test(
        "kendall",
        "Kendall's τ (τ-b, which allows for ties)",
        kendall_tau,
        "Nothing; it describes how far two orders agree.",
        "Maurice G. Kendall. The treatment of ties in ranking problems. Biometrika 33(3), 239-251, 1945.",
        "An exchange at the bottom counts as much as one at the top.",
    ),
    Test(
        "tau_ap",
        "τ_AP,b, a rank correlation that counts the top more",
        tau_ap_b,
        "Nothing; it describes how far two orders agree, neither of which is the truth.",
        "Emine Yilmaz, Javed A. Aslam and Stephen Robertson. A new rank correlation coefficient for information "
        "retrieval. In Proceedings of the 31st Annual International ACM SIGIR Conference, 587-594, 2008. Ties: Julián "
        "Urbano and Mónica Marrero. The treatment of ties in AP correlation. In Proceedings of the ACM SIGIR "
        "International Conference on Theory of Information Retrieval, 321-324, 2017.",
        "It depends on few runs at the top.",
    ),
    Test(
        "rbo",
        "rank-biased overlap",
        rbo,
        "A reader of both lists continues from each rank to the next with probability p. Lists may have different "
        "lengths and different documents.",
        "William Webber, Alistair Moffat and Justin Zobel. A similarity measure for indefinite rankings. ACM "
        "Transactions on Information Systems 28(4), article 20, 2010.",
        "Its value depends on p; below the end of the lists it is extrapolated.",
    ),
)
"""Intervals, effect sizes, corrections and coefficients."""


def explanations(settings: Settings | None = None, *, groups: bool = False) -> str:
    """Explain statistical methods: definition, assumptions, weaknesses and source.

    Parameters
    ----------
    settings : Settings, optional
        Explain only the methods of a comparison with these settings. Default: all methods.
    groups : bool
        Whether it compares runs in groups of queries, too.

    Returns
    -------
    str
        A paragraph for each method, in lines of at most `WIDTH` columns.
    """
    known = {**TESTS, **LETTERS, **METHODS}
    return "\n".join(
        _paragraph(known[name]) for name in (known if settings is None else _used(settings, groups=groups))
    )


def _used(settings: Settings, *, groups: bool) -> list[str]:
    """Name the methods that a comparison uses, in the order in which its output has them."""
    used = [
        *settings.tests,
        settings.correction,
        INTERVALS.get(settings.interval or SIMULTANEOUS),
        "effect-size",
        None if settings.margin is None else "equivalence",
        "queries-needed",
        settings.letters,
        "anova",
        *(("t", *corrections(settings), "welch") if groups else ()),
    ]
    return [name for name in dict.fromkeys(used) if name is not None and name != "none"]


def _paragraph(test: Test) -> str:
    parts = {"Assumes": test.assumes, "Weaknesses": test.weaknesses, "Reference": test.reference}
    lines = textwrap.wrap(f"{test.name}: {test.title}", WIDTH, subsequent_indent="    ")
    for label, text in parts.items():
        lines += textwrap.wrap(f"{label}: {text}", WIDTH, initial_indent="  ", subsequent_indent="    ")
    return "\n".join(lines) + "\n"
