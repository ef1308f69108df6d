"""How often tests of an interaction reject at 0.05 where there is none: the table in benchmarks/README.md.

    python benchmarks/levels_of_groups.py QRELS GROUPS RUN RUN…

GROUPS has two groups of queries; TREC 2003 Robust's are its old and new topics. A null hypothesis is the differences
of two of the runs, centred within each group, from which each group is drawn with replacement. Each cell has the
lowest and the highest share of rejections by four measures, of 2,000 null hypotheses each.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

import treceval_py as te
from treceval_py.comparing.by_group import welch_anova

MEASURES = ["map", "nDCG@10", "recip_rank", "P.10"]
NULLS, AT_ONCE, RESAMPLES, ALPHA = 2000, 250, 499, 0.05
OF_GROUPS = [(50, 50), (15, 15), (25, 75), (90, 10), (25, 5)]
OF_THIRDS = [(33, 33, 34), (10, 10, 10), (60, 30, 10)]

Rng = np.random.Generator


def by_analysis_of_variance(groups: Sequence[Any], _: Rng) -> Any:
    """Return the p-values of the usual analysis of variance."""
    return stats.f_oneway(*groups).pvalue


def by_welch(groups: Sequence[Any], _: Rng) -> Any:
    """Return the p-values of Welch's analysis of variance."""
    return welch_anova(groups).p


def by_permutation(groups: Sequence[Any], rng: Rng) -> Any:
    """Return the p-values of Welch's F over random assignments of the queries to groups."""
    joined, cuts = np.concatenate(groups), np.cumsum([len(group) for group in groups])[:-1]
    return referred(groups, (np.split(rng.permutation(joined), cuts) for _ in range(RESAMPLES)))


def by_bootstrap(groups: Sequence[Any], rng: Rng) -> Any:
    """Return the p-values of Welch's F over bootstrap samples of each group, centred."""
    centred = [group - group.mean(axis=0) for group in groups]
    drawn = ([group[rng.integers(len(group), size=len(group))] for group in centred] for _ in range(RESAMPLES))
    return referred(groups, drawn)


def referred(groups: Sequence[Any], resamples: Any) -> Any:
    """Return the p-values of Welch's F, referred to those of resamples."""
    observed = welch_anova(groups).statistic
    exceeding = sum((welch_anova(each).statistic >= observed - 1e-12).astype(int) for each in resamples)
    return (exceeding + 1) / (RESAMPLES + 1)


TESTS = (by_analysis_of_variance, by_welch, by_permutation, by_bootstrap)


def rejections(values: Any, members: Sequence[Any], sizes: Sequence[int], rng: Rng) -> list[float]:
    """Return the share of rejections of each test; values (S, Q) of one measure."""
    pairs = list(itertools.combinations(range(len(values)), 2))
    found = np.zeros(len(TESTS))
    for _ in range(NULLS // AT_ONCE):
        columns = []
        for pair in rng.integers(len(pairs), size=AT_ONCE):
            difference = values[pairs[pair][0]] - values[pairs[pair][1]]
            pools = [difference[rows] - difference[rows].mean() for rows in members]
            columns.append([rng.choice(pool, size) for pool, size in zip(pools, sizes, strict=True)])
        groups = [np.column_stack(group) for group in zip(*columns, strict=True)]
        found += [(test(groups, rng) <= ALPHA).sum() for test in TESTS]
    shares: list[float] = (found / NULLS).tolist()
    return shares


def main(qrels: str, file: str, *runs: str) -> None:
    """Print the table."""
    evaluator = te.Evaluator(qrels, te.Scoring(MEASURES, complete=True))
    results = [evaluator.scored(run) for run in runs]
    values = np.array([each.matrix for each in results])
    (groups,) = te.io.read_query_groups(file)
    order = np.argsort(values[:, :, 0].mean(axis=0), kind="stable")
    members = [np.array(rows) for rows in groups.members(results[0].qids).values()]
    print("| groups: queries | analysis of variance | Welch | permutation of Welch's F | bootstrap of Welch's F |")
    print("|---|---|---|---|---|")
    for parts, cases in ((members, OF_GROUPS), (np.array_split(order, 3), OF_THIRDS)):
        for sizes in cases:
            rng = np.random.default_rng(sizes)
            found = [rejections(values[:, :, at], parts, sizes, rng) for at in range(len(MEASURES))]
            cells = [f"{min(each):.3f}–{max(each):.3f}" for each in zip(*found, strict=True)]
            print(f"| {', '.join(map(str, sizes))} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
