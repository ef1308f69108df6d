"""Facts about a measure, besides its value, that commands need: plain names, given by its declaration.

Nothing is computed here. `ranges` and `explaining` implement an algorithm for each name.
`tests/test_measuring_facts.py` checks each declared fact by brute force.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TypeVar

from treceval_py.errors import MeasureError


class _Fact(Enum):
    def __repr__(self) -> str:
        return repr(self.value)  # as in a declaration


class Promotes(_Fact):
    """The property by which better documents, ranked higher, never lower (or never raise) the value.

    The extremes over orders of ties follow from it. Without it, ``--ties`` refuses the measure.

    Attributes
    ----------
    UNKNOWN
        No such property is known.
    NOTHING
        The order of documents does not matter.
    RELEVANCE
        Whether the document is relevant.
    GAIN
        Its gain.
    BOTH
        Whether it is relevant and, among relevant documents, its gain.
    PREFERENCE
        Relevant documents come first, then unjudged ones, then those judged not relevant.
    JUDGMENT
        Whether it is judged.
    LABEL
        Whether it has a label at all, even a negative one.
    """

    UNKNOWN = "unknown"
    NOTHING = "nothing"
    RELEVANCE = "relevance"
    GAIN = "gain"
    BOTH = "both"
    PREFERENCE = "preference"
    JUDGMENT = "judgment"
    LABEL = "label"


class Sums(_Fact):
    """How the value is a sum over the documents retrieved.

    The arithmetic of a query, the documents that moved between two runs, and the average over orders of ties are
    derived from it. A sum that differs from the value under the given parameters, as with averaged ties, is not shown.

    Attributes
    ----------
    UNKNOWN
        No such sum is known. No arithmetic is shown, and orders of ties are tried one by one if there are few.
    EACH
        Each document adds an amount that depends only on its judgment and rank: the worth of the judgment times the
        weight of the rank. Both are found by computing the measure for one document alone.
    SHARE_OF_CUTOFF
        As EACH: relevant documents within the cutoff, divided by the cutoff.
    SHARE_OF_RELEVANT
        As EACH: relevant documents (within the cutoff, if given), divided by R.
    SHARE_OF_BEST
        As EACH: relevant documents within the cutoff, divided by min(k, R).
    GAINS
        As EACH: discounted gains.
    GAINS_OF_IDEAL
        As EACH: discounted gains, divided by those of the ideal ranking.
    POWERS
        As EACH: (1 - p)·p^(rank - 1) for each relevant document.
    EACH_WITHIN
        As EACH: relevant documents down to a rank that depends on the judgments of the query, divided by that rank.
    EACH_UNCUT
        As EACH, unless the ranking is cut at a depth.
    SQUARE
        The square of the number of relevant documents, times a constant.
    PRECISIONS
        The precision at each relevant document.
    GRADED_PRECISIONS
        PRECISIONS at each level of relevance, weighted by the worth of the level.
    BLENDED_RATIOS
        The blended ratio of counts and gains at each relevant document.
    FIRST
        1 / rank of the first relevant document.
    ANY
        1 if there is a relevant document.
    CASCADE
        1 / rank of each document, times the probability that the reader arrives there and stops.
    CASCADE_OF_IDEAL
        CASCADE, divided by that of the ideal ranking.
    JUDGED_ABOVE
        For each relevant document 1 minus the share of judged documents above it that are not relevant.
    OTHERS_ABOVE
        For each relevant document 1 / log2(2 + documents above it that are not relevant).
    """

    UNKNOWN = "unknown"
    EACH = "each"
    SHARE_OF_CUTOFF = "share of cutoff"
    SHARE_OF_RELEVANT = "share of relevant"
    SHARE_OF_BEST = "share of best"
    GAINS = "gains"
    GAINS_OF_IDEAL = "gains of ideal"
    POWERS = "powers"
    EACH_WITHIN = "each within"
    EACH_UNCUT = "each uncut"
    SQUARE = "square"
    PRECISIONS = "precisions"
    GRADED_PRECISIONS = "graded precisions"
    BLENDED_RATIOS = "blended ratios"
    FIRST = "first"
    ANY = "any"
    CASCADE = "cascade"
    CASCADE_OF_IDEAL = "cascade of ideal"
    JUDGED_ABOVE = "judged above"
    OTHERS_ABOVE = "others above"


class Labels(_Fact):
    """Which labels of unjudged documents give the lowest and the highest value.

    Attributes
    ----------
    UNKNOWN
        The labels are unknown: ``--unjudged`` refuses the measure.
    ALIKE
        All documents have the label with the lowest worth, or all the label with the highest.
    ABOVE_CUTOFF
        The documents within the cutoff have the highest label and the others the lowest one, or the reverse.
    PRECISIONS
        The first or the last documents are relevant: the number that gives the extreme of precisions divided by R.
    ODDS
        As for PRECISIONS, and for (1 + S) / (1 + R - S), S being the sum of precisions.
    WITHIN_R
        As for PRECISIONS, and for the share of relevant documents among the first R.
    GAINS_OF_IDEAL
        For discounted gains divided by those of the ideal ranking.
    SHARE_OF_HIGHEST
        For gains divided by the highest gain of the query.
    """

    UNKNOWN = "unknown"
    ALIKE = "alike"
    ABOVE_CUTOFF = "above cutoff"
    PRECISIONS = "precisions"
    ODDS = "odds"
    WITHIN_R = "within R"
    GAINS_OF_IDEAL = "gains of ideal"
    SHARE_OF_HIGHEST = "share of highest"


_NEEDS = {
    Sums.SHARE_OF_CUTOFF.value: "cutoff",
    Sums.SHARE_OF_BEST.value: "cutoff",
    Sums.POWERS.value: "p",
    Sums.BLENDED_RATIOS.value: "beta",
    Sums.CASCADE.value: "max_rel",
    Sums.CASCADE_OF_IDEAL.value: "max_rel",
    Labels.ABOVE_CUTOFF.value: "cutoff",
}
"""The parameter that a measure must have for a fact to be true."""

Fact = TypeVar("Fact", Promotes, Sums, Labels)


def checked(kind: type[Fact], fact: Fact | str | None, measure: str, takes: Callable[[str], bool]) -> Fact:
    """Return a declared fact, which may be given as its value; it is unknown if none is given.

    Raises
    ------
    MeasureError
        There is no such fact, or the measure lacks the parameter that the fact requires.
    """
    try:
        known = kind("unknown" if fact is None else fact)
    except ValueError:
        wrong = f"measure '{measure}' declares {kind.__name__.lower()}='{fact}', which is unknown"
        raise MeasureError(wrong, f"Choose one of {', '.join(each.value for each in kind)}.") from None
    needed = _NEEDS.get(known.value)
    if needed and not takes(needed):
        wrong = f"measure '{measure}' declares {kind.__name__.lower()}='{known.value}' and has no parameter {needed}"
        raise MeasureError(wrong, "Add the parameter to the function, or leave out the declaration.")
    return known
