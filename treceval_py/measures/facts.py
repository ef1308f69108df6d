"""Facts about a measure, besides its value, that commands need: plain names, given by its declaration.

Nothing is computed here. `ranges` and `explaining` implement an algorithm for each name.
`tests/test_measures_facts.py` checks each declared fact by brute force.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TypeVar

from treceval_py.errors import MeasureError


class _Fact(Enum):
    def __repr__(self) -> str:
        return repr(self.value)  # as in a declaration


class Promotes(_Fact):
    """The property by which better documents, ranked higher, never lower (or never raise) the value.

    The extremes over orders of ties follow from it. Without it, ``--ties`` refuses the measure.
    """

    UNKNOWN = "unknown"
    """No such property is known."""

    NOTHING = "nothing"
    """The order of documents does not matter."""

    RELEVANCE = "relevance"
    """Whether the document is relevant."""

    GAIN = "gain"
    """Its gain."""

    BOTH = "both"
    """Whether it is relevant and, among relevant documents, its gain."""

    PREFERENCE = "preference"
    """Relevant documents come first, then unjudged ones, then those judged not relevant."""

    JUDGMENT = "judgment"
    """Whether it is judged."""

    LABEL = "label"
    """Whether it has a label at all, even a negative one."""


class Sums(_Fact):
    """How the value is a sum over the documents retrieved.

    The arithmetic of a query, the documents that moved between two runs, and the average over orders of ties are
    derived from it. A sum that differs from the value under the given parameters, as with averaged ties, is not shown.
    """

    UNKNOWN = "unknown"
    """No such sum is known. No arithmetic is shown, and orders of ties are tried one by one if there are few."""

    EACH = "each"
    """Each document adds an amount that depends only on its judgment and rank: the worth of the judgment times the
    weight of the rank. Both are found by computing the measure for one document alone."""

    SHARE_OF_CUTOFF = "share of cutoff"
    """As EACH: relevant documents within the cutoff, divided by the cutoff."""

    SHARE_OF_RELEVANT = "share of relevant"
    """As EACH: relevant documents (within the cutoff, if given), divided by R."""

    SHARE_OF_BEST = "share of best"
    """As EACH: relevant documents within the cutoff, divided by min(k, R)."""

    GAINS = "gains"
    """As EACH: discounted gains."""

    GAINS_OF_IDEAL = "gains of ideal"
    """As EACH: discounted gains, divided by those of the ideal ranking."""

    POWERS = "powers"
    """As EACH: (1 - p)·p^(rank - 1) for each relevant document."""

    EACH_WITHIN = "each within"
    """As EACH: relevant documents down to a rank that depends on the judgments of the query, divided by that rank."""

    EACH_UNCUT = "each uncut"
    """As EACH, unless the ranking is cut at a depth."""

    SQUARE = "square"
    """The square of the number of relevant documents, times a constant."""

    PRECISIONS = "precisions"
    """The precision at each relevant document."""

    GRADED_PRECISIONS = "graded precisions"
    """PRECISIONS at each level of relevance, weighted by the worth of the level."""

    BLENDED_RATIOS = "blended ratios"
    """The blended ratio of counts and gains at each relevant document."""

    FIRST = "first"
    """1 / rank of the first relevant document."""

    ANY = "any"
    """1 if there is a relevant document."""

    CASCADE = "cascade"
    """1 / rank of each document, times the probability that the reader arrives there and stops."""

    CASCADE_OF_IDEAL = "cascade of ideal"
    """CASCADE, divided by that of the ideal ranking."""

    JUDGED_ABOVE = "judged above"
    """For each relevant document 1 minus the share of judged documents above it that are not relevant."""

    OTHERS_ABOVE = "others above"
    """For each relevant document 1 / log2(2 + documents above it that are not relevant)."""


class Labels(_Fact):
    """Which labels of unjudged documents give the lowest and the highest value."""

    UNKNOWN = "unknown"
    """The labels are unknown: ``--unjudged`` refuses the measure."""

    ALIKE = "alike"
    """All documents have the label with the lowest worth, or all the label with the highest."""

    ABOVE_CUTOFF = "above cutoff"
    """The documents within the cutoff have the highest label and the others the lowest one, or the reverse."""

    PRECISIONS = "precisions"
    """The first or the last documents are relevant: the number that gives the extreme of precisions divided by R."""

    ODDS = "odds"
    """As for PRECISIONS, and for (1 + S) / (1 + R - S), S being the sum of precisions."""

    WITHIN_R = "within R"
    """As for PRECISIONS, and for the share of relevant documents among the first R."""

    GAINS_OF_IDEAL = "gains of ideal"
    """For discounted gains divided by those of the ideal ranking."""

    SHARE_OF_HIGHEST = "share of highest"
    """For gains divided by the highest gain of the query."""


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


def checked(kind: type[Fact], fact: Fact | str | None, measure: str, parameters: Sequence[str]) -> Fact:
    """Return a declared fact, which may be given as its value; it is unknown if none is given.

    Raises
    ------
    MeasureError
        There is no such fact, or the measure lacks the parameter that the fact requires.
    """
    try:
        known = kind("unknown" if fact is None else fact)
    except ValueError:
        raise MeasureError(
            f"measure '{measure}' declares {kind.__name__.lower()}='{fact}', which is unknown",
            f"Choose one of {', '.join(each.value for each in kind)}.",
        ) from None
    needed = _NEEDS.get(known.value)
    if needed and needed not in parameters:
        raise MeasureError(
            f"measure '{measure}' declares {kind.__name__.lower()}='{known.value}' and has no parameter {needed}",
            "Add the parameter to the function, or leave out the declaration.",
        )
    return known
