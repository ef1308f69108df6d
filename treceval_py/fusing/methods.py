"""Fuse the lists of several runs for a query: normalisations of scores, and fusion methods.

A method gives each document of a list a value, from its score or its rank, and combines the values of all lists.
`NORMS` and `METHODS` have the formulas. Sums are exact, so they do not depend on the order of the runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from treceval_py._types import AnyArray, FloatArray, IntArray
from treceval_py.data.ids import Ids, shown
from treceval_py.errors import DataError


def _min_max(scores: FloatArray) -> FloatArray:
    highest, lowest = float(scores[0]), float(scores[-1])
    return (scores - lowest) / (highest - lowest)


def _share(scores: FloatArray) -> FloatArray:
    above = scores - float(scores[-1])
    return above / math.fsum(above.tolist())


def _standard(scores: FloatArray) -> FloatArray:
    # The same result as from the scores themselves, whose squares can underflow.
    scaled = _min_max(scores)
    return (scaled - float(scaled.mean())) / float(scaled.std())


class Norm(NamedTuple):
    """A normalisation of the scores of a list.

    Attributes
    ----------
    formula : str
        The formula.
    values : callable
        Its implementation, for scores in descending order that are not all equal.
    constant : callable
        The values of the documents of a list whose scores are all equal, including a list of a single document.
    says : str
        These values in words, if the formula does not give them.
    """

    formula: str
    values: Callable[[FloatArray], FloatArray]
    constant: Callable[[FloatArray], float | FloatArray]
    says: str = ""


def _ranks(scores: FloatArray) -> FloatArray:
    return np.arange(1.0, len(scores) + 1)


def _by_rank(scores: FloatArray) -> FloatArray:
    return 1 - (_ranks(scores) - 1) / len(scores)


NORMS: dict[str, Norm] = {
    "min-max": Norm("(s − min) / (max − min)", _min_max, lambda _: 1.0, "1"),
    "zmuv": Norm("(s − mean) / standard deviation", _standard, lambda _: 0.0, "0"),
    "sum": Norm("(s − min) / Σ (s − min)", _share, lambda scores: 1 / len(scores), "1/n"),
    "max": Norm("s / max", lambda scores: scores / scores[0], lambda scores: float(scores[0] > 0), "1 (0 if it is 0)"),
    "rank": Norm("1 − (r − 1) / n", _by_rank, _by_rank),
    "none": Norm("s", lambda scores: scores, lambda scores: scores),
}
"""The normalisations of scores, the usual one first; n is the length of the list."""


def _total(values: FloatArray) -> FloatArray:
    """Add up the values of each document, correctly rounded; lists that lack the document add 0."""
    terms = np.where(np.isnan(values), 0.0, values)
    # The sum of two numbers is already correctly rounded. A longer sum would depend on their order: documents at ranks
    # 1, 2 and 3 of three runs, and at 3, 1 and 2, would not be tied.
    return terms.sum(axis=0) if len(terms) < 3 else np.array(list(map(math.fsum, terms.T.tolist())))


def _count(values: FloatArray) -> IntArray:
    """Return the number of lists that have each document."""
    count: IntArray = (~np.isnan(values)).sum(axis=0)
    return count


def _borda(values: FloatArray) -> FloatArray:
    """Return points by rank; a list divides its remaining points equally among the documents that it lacks."""
    documents = values.shape[1]
    left = (documents - _count(values.T) + 1) / 2
    return np.asarray(np.where(np.isnan(values), left[:, None], documents - values + 1))


class Method(NamedTuple):
    """A fusion method.

    Attributes
    ----------
    formula : str
        The formula for a document, for help and documentation.
    combine : callable
        Its implementation, given the values of the documents in each list (n, D), NaN where a list lacks a document.
    value : callable or None
        The value of a document by its rank; None for the normalised score.
    weighted : bool
        Whether runs may have weights, which multiply their values.
    points : callable or None
        Changes the values first, if they depend on all lists together.
    zero : bool
        Whether a document counts as 0 in a list that lacks it, so that being in a list with a value below 0 is worse.
    """

    formula: str
    combine: Callable[[FloatArray], FloatArray]
    value: Callable[[FloatArray, Fusion], FloatArray] | None = None
    weighted: bool = False
    points: Callable[[FloatArray], FloatArray] | None = None
    zero: bool = False


def _mnz(values: FloatArray) -> FloatArray:
    return _count(values) * _total(values)


METHODS: dict[str, Method] = {
    "rrf": Method("Σ w / (k + r)", _total, lambda ranks, by: 1 / (by.rrf_k + ranks), weighted=True),
    "combsum": Method("Σ s", _total, zero=True),
    "combmnz": Method("h · Σ s", _mnz, zero=True),
    "weighted": Method("Σ w s", _total, weighted=True, zero=True),
    "isr": Method("h · Σ 1 / r²", _mnz, lambda ranks, _: 1 / ranks**2),
    "rbc": Method(
        "Σ w (1 − φ) φ^(r − 1)", _total, lambda ranks, by: (1 - by.rbc_phi) * by.rbc_phi ** (ranks - 1), weighted=True
    ),
    "borda": Method(
        "Σ w (c − r + 1), in a list without it (c − n + 1) / 2",
        _total,
        lambda ranks, _: ranks,
        weighted=True,
        points=_borda,
    ),
    "combanz": Method("Σ s / h", lambda values: _total(values) / _count(values)),
    "combmin": Method("min s", np.fmin.reduce),
    "combmax": Method("max s", np.fmax.reduce),
    "combmed": Method("median s", lambda values: np.nanmedian(values, axis=0)),
}
"""The methods, the usual one first: s is the normalised score, r the rank, w the weight, h the number of lists with the
document, n the length of a list, c the number of documents in all lists together."""


def weights_of(given: Iterable[Any]) -> tuple[float, ...]:
    """Return weights as numbers.

    Raises
    ------
    DataError
        They are not numbers.
    """
    try:
        return tuple(map(float, [given] if isinstance(given, str) else given))
    except (TypeError, ValueError):
        said = ", ".join(map(shown, given if isinstance(given, (list, tuple)) else [given]))
        raise DataError(f"the weights are {said}", "Give a number for each run, such as [0.3, 0.7].") from None


LARGEST = 1e150
"""Sums, and products of two, of numbers below it are finite."""


@dataclass(frozen=True, slots=True)
class Fusion:
    """A method with its settings.

    Attributes
    ----------
    method : str
        One of `METHODS`.
    norm : str, optional
        One of `NORMS`, for a method that uses scores. Default: min-max.
    weights : sequence of float, optional
        The weight of each run, for a method that takes weights. Default: equal weights.
    rrf_k : float
        The constant of RRF [1]_.
    rbc_phi : float
        The persistence of RBC [2]_.

    Raises
    ------
    DataError
        A setting is unknown, out of range, or does not fit the method.

    References
    ----------
    .. [1] Gordon V. Cormack, Charles L. A. Clarke, Stefan Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and
       individual Rank Learning Methods", SIGIR 2009.
    .. [2] Peter Bailey, Alistair Moffat, Falk Scholer, Paul Thomas, "Retrieval Consistency in the Presence of Query
       Variations", SIGIR 2017.
    """

    method: str = "rrf"
    norm: str | None = None
    weights: tuple[float, ...] | None = None
    rrf_k: float = 60
    rbc_phi: float = 0.8

    def __post_init__(self) -> None:
        if not isinstance(self.method, str) or self.method not in METHODS:
            raise DataError(f"unknown fusion method {shown(self.method)}", f"There are {', '.join(METHODS)}.")
        by_score = METHODS[self.method].value is None
        if self.norm is not None and (not isinstance(self.norm, str) or self.norm not in NORMS):
            raise DataError(f"unknown normalisation {shown(self.norm)}", f"There are {', '.join(NORMS)}.")
        if not by_score and self.norm not in (None, "none"):
            raise DataError(f"{self.method} uses ranks, not scores", "Remove the normalisation.")
        if self.method == "combmnz" and self.norm == "zmuv":
            conflict = "combmnz multiplies by the number of runs, which lowers zmuv's values below 0"
            raise DataError(conflict, "Use combsum or min-max.")
        if not isinstance(self.rrf_k, Real) or not 0 <= self.rrf_k < math.inf:
            raise DataError(f"the constant of rrf is {shown(self.rrf_k)}", "Give a number from 0; 60 is usual.")
        if not isinstance(self.rbc_phi, Real) or not 0 < self.rbc_phi < 1:
            setting = f"the persistence of rbc is {shown(self.rbc_phi)}"
            raise DataError(setting, "Give a number between 0 and 1; 0.8 is usual.")
        object.__setattr__(self, "norm", (self.norm or "min-max") if by_score else "none")
        if self.weights is not None:
            self._check_weights(weights_of(self.weights))

    def _check_weights(self, weights: tuple[float, ...]) -> None:
        if not METHODS[self.method].weighted:
            able = ", ".join(name for name, method in METHODS.items() if method.weighted)
            raise DataError(f"{self.method} takes no weights", f"Methods with weights are {able}.")
        if not all(0 <= weight < LARGEST for weight in weights) or not any(weights):
            setting = f"the weights are {', '.join(map(str, weights)) or 'none'}"
            raise DataError(setting, "Give numbers from 0, not all of them 0.")
        object.__setattr__(self, "weights", weights)

    @property
    def takes_scores(self) -> bool:
        """Whether the method uses scores; the others use ranks."""
        return METHODS[self.method].value is None

    @property
    def constant(self) -> str:
        """The value of documents whose scores are all equal, if the formula does not give it."""
        return NORMS[str(self.norm)].says if self.takes_scores else ""

    def settings(self) -> dict[str, Any]:
        """Return all settings that affect the method, for records."""
        return {
            "method": self.method,
            "formula": METHODS[self.method].formula,
            **({"norm": self.norm, "norm_formula": NORMS[str(self.norm)].formula} if self.takes_scores else {}),
            **({"list_of_one_score": self.constant} if self.constant else {}),
            **({"weights": self.weights} if METHODS[self.method].weighted else {}),
            **({"k": self.rrf_k} if self.method == "rrf" else {}),
            **({"phi": self.rbc_phi} if self.method == "rbc" else {}),
        }

    def tag(self, depth: int | None = None) -> str:
        """Return a name for a run fused this way, such as ``rrf-k60`` or ``weighted-min-max-0.7-0.3+depth100``."""
        parts = [self.method]
        if self.takes_scores:
            parts.append(str(self.norm))
        parts += {"rrf": [f"k{self.rrf_k:g}"], "rbc": [f"{self.rbc_phi:g}"]}.get(self.method, [])
        parts += [f"{weight:g}" for weight in self.weights or ()]
        return "-".join(parts) + (f"+depth{depth}" if depth is not None else "")

    def check_runs(self, count: int) -> None:
        """Refuse weights for another number of runs.

        Raises
        ------
        DataError
            The number of weights is not that of the runs.
        """
        if self.weights is not None and len(self.weights) != count:
            are = "is 1 weight" if len(self.weights) == 1 else f"are {len(self.weights)} weights"
            raise DataError(f"there {are} for {count} runs", "Give one weight per run, such as 0.3,0.7 for two.")

    def fault(self, scores: FloatArray) -> str:
        """Return why the scores of a list cannot be fused; ``""`` if they can.

        Parameters
        ----------
        scores : (N,) float array
            The scores in descending order.
        """
        if not self.takes_scores:
            return ""
        highest, lowest = float(scores[0]), float(scores[-1])
        if self.norm != "rank" and max(highest, -lowest) >= LARGEST:
            return f"scores go from {lowest} to {highest}, and only those within ±{LARGEST} can be fused"
        if self.norm == "max" and lowest < 0 and highest <= 0:
            return f"the largest score is {highest}, by which scores cannot be divided"
        if self.norm == "max" and highest > 0 and -lowest / LARGEST >= highest:
            return f"scores go from {lowest} to {highest}, by which they cannot be divided"
        if METHODS[self.method].zero and self.norm in ("max", "none") and lowest < 0:
            return f"a score is {lowest}, less than the 0 of a document that the run lacks"
        return ""

    @property
    def instead(self) -> str:
        """Methods or normalisations that accept scores which this one refuses."""
        return "min-max or rrf" if self.norm in ("max", "none") else "rank or rrf"

    def values(self, scores: FloatArray) -> FloatArray:
        """Return the values of the documents of a list, without weights.

        Parameters
        ----------
        scores : (N,) float array
            Their scores in descending order, so that the first document has rank 1; N is at least 1.
        """
        by_rank = METHODS[self.method].value
        if by_rank is not None:
            return by_rank(_ranks(scores), self)
        norm = NORMS[str(self.norm)]
        return norm.values(scores) if scores[0] > scores[-1] else np.broadcast_to(norm.constant(scores), scores.shape)

    def combine(self, values: FloatArray) -> FloatArray:
        """Return the fused scores of documents.

        Parameters
        ----------
        values : (n, D) float array
            The values of each document in each list; NaN where a list lacks a document. Each column has a value.
        """
        method, weights = METHODS[self.method], self.weights
        if method.points is not None:
            values = method.points(values)
        if weights is None and self.method == "weighted":
            weights = (1 / len(values),) * len(values)
        if weights is not None:
            values = values * np.array(weights)[:, None]
        return method.combine(values)


class Lists(NamedTuple):
    """The lists of several runs for one query, side by side.

    Attributes
    ----------
    docids : (D,) array of bytes
        The documents of all lists, ascending.
    places : list of (N,) int arrays
        The documents of each list, best first, as positions in `docids`.
    scores : list of (N,) float arrays
        Their scores, in the same order.
    """

    docids: AnyArray
    places: list[IntArray]
    scores: list[FloatArray]

    def best(self, fusion: Fusion) -> tuple[IntArray, FloatArray]:
        """Return the documents as positions in `docids`, best first, and their fused scores."""
        values = np.full((len(self.places), len(self.docids)), np.nan)
        for row, (places, scores) in enumerate(zip(self.places, self.scores, strict=True)):
            if len(places):
                values[row, places] = fusion.values(scores)
        fused = fusion.combine(values)
        # Documents are in ascending order, so among equal scores the last one comes first.
        order = len(fused) - 1 - np.argsort(-fused[::-1], kind="stable")
        return order, fused[order] + 0.0  # turns negative zero into zero


LONGEST_WORD = 8
"""Longest document id, in bytes, that is compared as one number."""


def align(lists: Sequence[tuple[Ids, FloatArray]], depth: int | None = None) -> Lists:
    """Rank the documents of each list, and find those that several lists have.

    Parameters
    ----------
    lists : sequence of (Ids, (N,) float array)
        The documents of each run for a query and their scores, in any order; a run may have none.
    depth : int, optional
        Documents used of each list. Default: all.

    Returns
    -------
    Lists
        Documents by descending score; ties are ordered by descending id (by bytes), as in trec_eval.
    """
    cuts = np.cumsum([0, *(len(ids) for ids, _ in lists)])
    docids, codes = _numbered(Ids.concatenate([ids for ids, _ in lists]))
    places: list[IntArray] = []
    ranked: list[FloatArray] = []
    for (start, stop), (_, scores) in zip(pairwise(cuts.tolist()), lists, strict=True):
        those = codes[start:stop]
        before, after = scores[:-1], scores[1:]
        best: Any = slice(depth)
        if not (after <= before).all():
            best = np.lexsort((-those, -scores))[:depth]
        elif not (after < before).all():
            # Only documents with equal scores change their places: a stable sort of what is nearly sorted is fast.
            groups = np.cumsum(np.append(0, after < before))
            best = np.argsort((groups + 1) * len(docids) - those, kind="stable")[:depth]
        places.append(those[best])
        ranked.append(scores[best])
    if depth is not None:
        kept, joined = np.unique(np.concatenate(places), return_inverse=True)
        ends = np.cumsum([len(rows) for rows in places])[:-1]
        docids, places = docids[kept], np.split(joined, ends)
    return Lists(docids, places, ranked)


def _numbered(ids: Ids) -> tuple[AnyArray, IntArray]:
    """Return the different ids in ascending order, and the position there of each id."""
    lengths = np.diff(ids.offsets)
    if int(lengths.max(initial=0)) > LONGEST_WORD or b"\0" in ids.buffer:
        raw = ids.raw()
        different = sorted(set(raw))
        number = {docid: at for at, docid in enumerate(different)}
        return np.array(different, dtype=object), np.array([number[docid] for docid in raw], dtype=np.int64)
    # Short ids, such as MS MARCO's, fit in numbers of 8 bytes, which sort many times faster.
    padded = ids.buffer + bytes(LONGEST_WORD)
    from_each_byte = np.ndarray((len(padded) - LONGEST_WORD + 1,), ">u8", padded, strides=(1,))
    words, codes = np.unique(from_each_byte[ids.offsets[:-1]] & _FIRST[lengths], return_inverse=True)
    return words.astype(">u8").view(f"S{LONGEST_WORD}"), codes


_FIRST = np.array([2**64 - 2 ** (64 - 8 * length) for length in range(LONGEST_WORD + 1)], dtype=np.uint64)
"""Masks of the first 0, 1, … bytes of a word."""
