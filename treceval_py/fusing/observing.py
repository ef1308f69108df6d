"""Statistics of runs collected while they are fused, and notes on them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from treceval_py._types import FloatArray
from treceval_py.fusing.listing import ListedRun
from treceval_py.fusing.methods import Fusion, Lists

CUTOFFS = (10, 100, None)
"""Depths at which lists are compared; None is the whole list."""

FEW_QUERIES = 0.9
"""Runs of the same set of queries share at least this part of them."""

FEW_DOCUMENTS = 0.01
"""Runs of the same collection share at least this part of their lists with another run."""

OTHER_SCALE = 10
"""A run dominates if its typical score is this many times that of another run."""


def count_tied(scores: FloatArray) -> int:
    """Return how many scores, in descending order, are equal to another one."""
    equal = np.zeros(len(scores) + 1, dtype=bool)
    equal[1:-1] = scores[1:] == scores[:-1]
    return int(np.count_nonzero(equal[1:] | equal[:-1]))


class Observed:
    """Counts over the queries of some runs.

    Attributes
    ----------
    queries, complete : int
        The number of queries, and of those that all runs have.
    tied, single : (n,) int arrays
        Documents of each run whose score another document of the list shares, and lists of each run whose scores
        are all equal.
    middle, lists : (n,) arrays
        The sum of the absolute scores in the middle of the lists of each run, and the number of its lists.
    shared, possible : (3, n, n) int arrays
        Documents that the lists of two runs share down to each of `CUTOFFS`, and the largest possible number.
    alike : (n, n) bool array
        Whether two runs have the same documents in the same order in every query.
    cut : int
        Queries that have more documents than are kept.
    kept, fused_ties : int
        Documents kept, and those whose fused score another one shares.
    """

    def __init__(self, runs: int) -> None:
        self.queries = self.complete = self.cut = self.kept = self.fused_ties = 0
        self.tied, self.single, self.lists = (np.zeros(runs, dtype=np.int64) for _ in range(3))
        self.middle = np.zeros(runs)
        self.shared, self.possible = (np.zeros((len(CUTOFFS), runs, runs), dtype=np.int64) for _ in range(2))
        self.alike = np.ones((runs, runs), dtype=bool)

    def see(self, lists: Lists) -> None:
        """Add the lists of a query."""
        sizes = np.array([len(places) for places in lists.places])
        self.queries += 1
        self.complete += bool(sizes.all())
        self.lists += sizes > 0
        for row, scores in enumerate(lists.scores):
            if len(scores):
                self.tied[row] += count_tied(scores)
                self.single[row] += scores[0] == scores[-1]
                # only orders of magnitude count, and the sum must be finite
                self.middle[row] += min(abs(scores[len(scores) // 2]), 1e290)
        ranks = np.full((len(sizes), len(lists.docids)), np.inf)
        for row, places in enumerate(lists.places):
            ranks[row, places] = np.arange(len(places))
        for number, cutoff in enumerate(CUTOFFS):
            there = (ranks < (cutoff or np.inf)).astype(np.float64)
            self.shared[number] += (there @ there.T).astype(np.int64)
            down_to = sizes if cutoff is None else np.minimum(sizes, cutoff)
            self.possible[number] += np.minimum.outer(down_to, down_to)
        for one, other in combinations(range(len(sizes)), 2):
            if self.alike[one, other]:
                self.alike[one, other] = np.array_equal(lists.places[one], lists.places[other])

    def add(self, other: Observed) -> None:
        """Add the statistics of other queries."""
        self.alike &= other.alike
        for name in ("queries", "complete", "cut", "kept", "fused_ties"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("tied", "single", "lists", "middle", "shared", "possible"):
            getattr(self, name)[...] += getattr(other, name)

    def overlaps(self) -> list[dict[str, Any]]:
        """Return for each pair of runs, by number from 1, the share of documents in both lists at each cutoff."""
        shares = self.shared / np.maximum(self.possible, 1)
        keys = [f"at_{cutoff}" if cutoff else "all" for cutoff in CUTOFFS]
        return [
            {"inputs": [one + 1, other + 1]}
            | {key: round(float(shares[number, one, other]), 4) for number, key in enumerate(keys)}
            for one, other in combinations(range(len(self.lists)), 2)
        ]

    def notes(self, runs: Sequence[ListedRun], fusion: Fusion, k: int | None) -> list[str]:
        """Return notes for people on the runs, as sentences."""
        about_documents = self._about_scores(runs, fusion) + self._about_k(k)
        return self._about_queries(runs) + self._about_pairs(runs) + about_documents

    def _about_queries(self, runs: Sequence[ListedRun]) -> list[str]:
        if self.complete == self.queries:
            return []
        lacking = [
            f"{run.name} lacks {self.queries - number}"
            for run, number in zip(runs, self.lists.tolist(), strict=True)
            if number < self.queries
        ]
        doubt = " Are these runs of the same queries?" if self.complete < FEW_QUERIES * self.queries else ""
        count, by = self.queries - self.complete, "fused from the runs that have"
        verb, then = ("are", f"they are {by} them") if count > 1 else ("is", f"it is {by} it")
        return [f"{count} of {self.queries} queries {verb} not in every run ({', '.join(lacking)}); {then}.{doubt}"]

    def _about_pairs(self, runs: Sequence[ListedRun]) -> list[str]:
        notes = [
            f"{runs[one].name} and {runs[other].name} rank the same documents in the same order in all queries."
            for one, other in combinations(range(len(runs)), 2)
            if self.alike[one, other]
        ]
        shares = self.shared[-1] / np.maximum(self.possible[-1], 1)
        np.fill_diagonal(shares, 0)
        alone = [run.name for run, share in zip(runs, shares.max(axis=0), strict=True) if share < FEW_DOCUMENTS]
        return notes + [
            f"{name} has hardly any documents in common with {'any other run' if runs[2:] else alone[1]}. Do they rank "
            "the same collection, by the same ids?"
            for name in (alone if runs[2:] else alone[:1])
        ]

    def _about_scores(self, runs: Sequence[ListedRun], fusion: Fusion) -> list[str]:
        notes: list[str] = []
        by_rank = not fusion.takes_scores or fusion.norm == "rank"
        for run, tied, single in zip(runs, self.tied.tolist(), self.single.tolist(), strict=True):
            if run.contradicting:
                doubt = "the rank column contradicts the scores; the scores are used."
                if run.reversed:
                    doubt = "scores grow with the rank. If they are distances, negate them: higher scores rank first."
                notes.append(f"{run.name}: in {len(run.contradicting)} of {len(run.spans)} queries {doubt}")
            if by_rank and tied:
                alike = f"{run.name}: {tied} documents have the same score as another one of their query"
                notes.append(f"{alike}; the larger id is ranked first.")
            if not by_rank and single and fusion.constant:
                count = "1 list has" if single == 1 else f"{single} lists have"
                notes.append(f"{run.name}: {count} the same score for all documents, which count as {fusion.constant}.")
        if fusion.takes_scores and fusion.norm == "none":
            usual = self.middle / np.maximum(self.lists, 1)
            low, high = int(usual.argmin()), int(usual.argmax())
            if usual[high] > OTHER_SCALE * usual[low]:
                scales = f"has scores around {usual[high]:.3g} and {runs[low].name} around {usual[low]:.3g}"
                notes.append(f"{runs[high].name} {scales}, so the former dominates. Choose a normalisation.")
        return notes

    def _about_k(self, k: int | None) -> list[str]:
        if not self.cut:
            return []
        have = "have" if self.cut > 1 else "has"
        documents, kept = ("document", "one is") if k == 1 else ("documents", f"{k} are")
        return [f"{self.cut} of {self.queries} queries {have} more than {k} {documents}; the best {kept} kept."]
