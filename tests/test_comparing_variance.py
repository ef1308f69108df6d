"""Analysis of variance and letters, held to statsmodels and textbooks.

A test needs the eight runs of the TREC 2003 robust track, which are not part of this project: it runs where the folder
``../shared/data`` is.
"""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from treceval_py.comparing.variance import (
    Anova,
    letters,
    two_way_anova,
)

pandas = pytest.importorskip("pandas")
stats = pytest.importorskip("scipy.stats")


SOYBEANS = np.array(
    [[8, 10, 12, 13, 11], [2, 6, 7, 11, 5], [4, 10, 9, 8, 10], [3, 5, 9, 10, 6], [9, 7, 5, 5, 3]], dtype=float
)
"""Seeds of 100 that failed after five treatments (check, Arasan, Spergon, Semesan Jr., Fermate) in five replications: the
example of two-way analysis in G. W. Snedecor and W. G. Cochran, Statistical Methods, seventh edition, 1980."""


def simulated(runs: int, queries: int, *, seed: int, spread: float = 0.05) -> np.ndarray:
    generator = np.random.default_rng(seed)
    effects = generator.normal(0.4, 0.2, queries) + generator.normal(0, spread, (runs, 1))
    return effects + generator.normal(0, 0.1, (runs, queries))


def table_of(values: np.ndarray):
    """Return statsmodels' analysis of variance."""
    pytest.importorskip("statsmodels")
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    run, query = np.indices(values.shape)
    frame = pandas.DataFrame({"value": values.ravel(), "run": run.ravel(), "query": query.ravel()})
    return anova_lm(ols("value ~ C(query) + C(run)", frame).fit())


def analysis(values: np.ndarray) -> Anova:
    found = two_way_anova(values)
    assert found is not None
    return found


def check(values: np.ndarray) -> None:
    """Assert that the analysis is that of statsmodels."""
    table, anova = table_of(values), analysis(values)
    systems, queries, error = table.loc["C(run)"], table.loc["C(query)"], table.loc["Residual"]
    assert (anova.systems_df, anova.queries_df, anova.error_df) == (systems["df"], queries["df"], error["df"])
    found = [anova.systems_ss, anova.queries_ss, anova.error_ss, anova.error_ms]
    assert found == pytest.approx([systems.sum_sq, queries.sum_sq, error.sum_sq, error.mean_sq], rel=1e-9)
    assert [anova.systems_f, anova.queries_f] == pytest.approx([systems["F"], queries["F"]], rel=1e-9)
    assert [anova.systems_p, anova.queries_p] == pytest.approx([systems["PR(>F)"], queries["PR(>F)"]], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("runs", "queries"), [(2, 12), (3, 5), (4, 25), (8, 60)])
def test_the_analysis_of_variance_is_that_of_statsmodels(runs: int, queries: int) -> None:
    check(simulated(runs, queries, seed=runs))


def differing(count: int, pairs: list[tuple[int, int]]) -> np.ndarray:
    matrix = np.zeros((count, count), dtype=bool)
    for first, second in pairs:
        matrix[first, second] = matrix[second, first] = True
    return matrix


def test_letters_go_on_behind_z_with_numbers() -> None:
    means = -np.arange(28.0)
    found = letters(means, np.abs(means[:, None] - means) > 1)  # groups of two neighbours: 27
    assert found[:2] == ("a", "ab")
    assert found[-3:] == ("yz", "za1", "a1")


@pytest.mark.parametrize(
    ("means", "pairs", "expected"),
    [
        ([0.2, 0.4, 0.3], [(0, 1)], ("b", "a", "ab")),
        ([0.2, 0.2, 0.2], [], ("a", "a", "a")),
        ([3.0, 2.0, 1.0], [(0, 1), (0, 2), (1, 2)], ("a", "b", "c")),
        # The first differs from the second, and from nothing that is further away.
        ([3.0, 2.0, 1.0], [(0, 1)], ("a", "b", "ab")),
        ([0.5], [], ("a",)),
        ([2.0, 1.0], [(0, 0), (1, 1)], ("a", "a")),  # a run does not differ from itself
    ],
)
def test_letters_begin_with_the_highest_mean(
    means: list[float], pairs: list[tuple[int, int]], expected: tuple[str]
) -> None:
    assert letters(np.array(means), differing(len(means), pairs)) == expected


def groups_of(text: str) -> set[str]:
    return set(re.findall("[a-z][0-9]*", text))


@pytest.mark.parametrize("seed", range(20))
def test_runs_share_a_letter_exactly_when_they_do_not_differ(seed: int) -> None:
    chance = random.Random(seed)
    count = chance.randint(1, 9)
    density = chance.random()
    pairs = [(a, b) for a in range(count) for b in range(a) if chance.random() < density]
    means = np.array([chance.choice([0.1, 0.2, 0.3, 0.4, 0.5]) for _ in range(count)])
    different = differing(count, pairs)
    found = [groups_of(text) for text in letters(means, different)]
    for first in range(count):
        for second in range(count):
            assert bool(found[first] & found[second]) == (first == second or not different[first, second])
    assert "a" in found[int(np.argmax(means))]
