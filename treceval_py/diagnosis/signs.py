"""Signs of a mistake in a run: counted in its columns while it is judged or checked, then put into words.

`look` counts what the columns of whole queries show, `merged` adds the counts of pieces, and `noting.signs_of` chooses
the most serious signs. `treceval check` reports a sign from its first case; commands that score a run, where chance is
an unlikely explanation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain, islice
from typing import Any, Self

import numpy as np

from treceval_py._types import BoolArray, FloatArray, IntArray
from treceval_py.data.ids import Ids
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import by_rank
from treceval_py.data.run import DEFAULT_TAG, Run

CONSTANT_FROM = 3
"""Fewest documents that count as constant: two with the same score are only a tie."""

NEARLY_ALL = 0.9
"""Share of the queries in which scores must be constant, or grow with the rank, to be a sign."""

MANY_TIES = 0.2
"""Share of tied documents that is a sign."""

FOLLOWS_FROM = 5
"""Fewest documents of a query whose order is compared with that of ids."""

UNLIKELY = math.log(10_000)
"""Logarithm of the odds against chance from which an order is a sign."""

DISTANCES_FROM, DISTANCES_FROM_LINES = 3, 5
"""Fewest documents of a query that can look like distances: judged by ranks, or only by the order of lines."""

SAME_FROM, SAME_DOCUMENTS = 3, 5
"""Fewest queries, and fewest documents of each, of which the same order is noted."""

CUT_FROM = 10
"""Fewest queries, and documents of each other query, of which it is a sign that the last query is much shorter."""

DEPTH = 10
"""Number of first documents of a query that are looked up."""

FEW_JUDGED = 0.1
"""A smaller share of judged documents among the first ones is a sign."""


class Lists:
    """The documents of whole queries as ranked lists: Q queries, each with documents, and D documents.

    Parameters
    ----------
    qids : sequence, length Q
        The queries.
    offsets : (Q + 1,) int array
        Where the documents of each query begin, then D.
    docids : Ids, length D
        The documents.
    scores, ranks : (D,) arrays or None
        Scores and ranks.
    ordered : bool
        True if ranks are known to rise, and scores never to rise, within each query.
    unranked : (D,) bool array or None
        Documents whose rank is not a whole number; None if there are none.
    columns : bool
        Whether there is a rank column, which may hold anything else if there are no ranks.
    """

    def __init__(
        self,
        qids: Sequence[str] | Sequence[bytes],
        offsets: IntArray,
        docids: Ids,
        scores: FloatArray | None,
        ranks: IntArray | None,
        *,
        ordered: bool = False,
        unranked: BoolArray | None = None,
        columns: bool = True,
    ) -> None:
        self.qids, self.offsets, self.docids, self.scores, self.ranks = qids, offsets, docids, scores, ranks
        self.sizes: IntArray = np.diff(offsets)
        self.columns, self.ordered, self._unranked = columns, ordered, unranked

    @classmethod
    def of(cls, run: Run, *, ordered: bool = False) -> Self:
        """Return the queries of a run."""
        columns = run.tag not in ("", DEFAULT_TAG)  # as runs of other formats than TREC's have
        return cls(run.qids, run.offsets, run.docids, run.scores, run.ranks, ordered=ordered, columns=columns)

    @cached_property
    def query(self) -> IntArray:
        """Number of each document's query; (D,)."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def within(self) -> BoolArray:
        """Whether each document and the next one belong to the same query; (D - 1,)."""
        within = np.ones(max(int(self.offsets[-1]) - 1, 0), dtype=bool)
        within[self.offsets[1:-1] - 1] = False
        return within

    @cached_property
    def falling(self) -> bool:
        """Whether scores never rise from a document to the next."""
        if self.ordered or self.scores is None:
            return self.ordered
        return not (self.within & (self.scores[1:] > self.scores[:-1])).any()

    @cached_property
    def by_score(self) -> IntArray:
        """The rows by query, the best first: by score, equal scores in file order; by rank if there are no scores."""
        if self.scores is None:
            return self.by_rank
        return np.arange(len(self.scores)) if self.falling else np.lexsort((-self.scores, self.query))

    @cached_property
    def by_rank(self) -> IntArray:
        """The rows by query and rank, equal ranks by descending score; as they are if there are no ranks."""
        ranks = self.ranks
        if ranks is None or self.ordered or not (self.within & (ranks[1:] <= ranks[:-1])).any():
            return np.arange(self.offsets[-1])
        return by_rank(self.query, ranks, self.scores)

    @cached_property
    def descending(self) -> FloatArray:
        """The scores by query, the highest first."""
        scores = self.scores
        if scores is None or self.falling:
            return np.zeros(0) if scores is None else scores
        size = int(self.sizes[0])
        if (self.sizes == size).all():  # faster than an order of all rows
            return -np.sort(-scores.reshape(-1, size), axis=1).ravel()
        return scores[self.by_score]

    def _same(self, ordered: FloatArray | IntArray) -> BoolArray:
        """Tell for each query of two or more documents whether all have the same value, given the values in order."""
        same: BoolArray = (ordered[self.offsets[:-1]] == ordered[self.offsets[1:] - 1]) & (self.sizes > 1)
        return same

    @cached_property
    def same_score(self) -> BoolArray:
        """Whether all documents of a query, two or more, have the same score; (Q,)."""
        return np.zeros(len(self.sizes), dtype=bool) if self.scores is None else self._same(self.descending)

    @cached_property
    def ranked(self) -> BoolArray:
        """Whether all documents of a query have ranks that are whole numbers; (Q,)."""
        ranked = np.full(len(self.sizes), self.ranks is not None)
        if self._unranked is not None:
            ranked[self.query[self._unranked]] = False
        return ranked

    @cached_property
    def usable(self) -> BoolArray:
        """Whether ranks can order a query, as they are whole numbers and not all the same; (Q,)."""
        if self.ranks is None or self.ordered:
            return self.ranked
        return self.ranked & ~self._same(self.ranks[self.by_rank])

    @cached_property
    def constant(self) -> BoolArray:
        """Whether all documents of a query have the same score, and are more than a tie; (Q,)."""
        constant: BoolArray = self.same_score & (self.sizes >= CONSTANT_FROM)
        return constant

    @cached_property
    def equal(self) -> BoolArray:
        """Whether each document and the next, by descending score, belong to the same query and are tied; (D - 1,)."""
        equal: BoolArray = self.descending[1:] == self.descending[:-1]
        equal[self.offsets[1:-1] - 1] = False
        return equal

    @cached_property
    def directions(self) -> tuple[BoolArray, BoolArray]:
        """Whether scores rise, and whether they fall, somewhere in a query: by rank if ranks are usable, or by line."""
        nowhere, by_ranks = np.zeros(len(self.sizes), dtype=bool), bool(self.usable.any())
        if self.scores is None or self.ordered or (self.falling and not by_ranks):
            return nowhere, ~self.same_score
        order = np.arange(len(self.scores))
        if by_ranks:
            rows = np.repeat(self.usable, self.sizes)
            order[rows] = self.by_rank[rows]
        scores = self.scores[order]
        return self.marked(scores[1:] > scores[:-1]), self.marked(scores[1:] < scores[:-1])

    @property
    def contradicting(self) -> BoolArray:
        """Whether a document with a smaller rank has a lower score than one with a larger rank; (Q,)."""
        return self.directions[0] & self.usable

    @property
    def comparable(self) -> BoolArray:
        """Whether a query can look like distances; (Q,)."""
        return ~self.same_score & (self.sizes >= np.where(self.usable, DISTANCES_FROM, DISTANCES_FROM_LINES))

    @property
    def growing(self) -> BoolArray:
        """Whether scores only grow with the rank, or else from line to line; (Q,)."""
        return self.comparable & ~self.directions[1]

    @property
    def followable(self) -> BoolArray:
        """Whether the order of a query's documents can be compared with that of their ids; (Q,)."""
        return ~self.same_score & (self.sizes >= FOLLOWS_FROM)

    def marked(self, pairs: BoolArray) -> BoolArray:
        """Return which queries, (Q,), have a marked pair of neighbours; ``pairs`` (D - 1,) follow any order."""
        with_pair = np.zeros(len(self.sizes), dtype=bool)
        with_pair[self.query[1:][self.within & pairs]] = True
        return with_pair

    def best(self, number: int, most: int) -> list[bytes]:
        """Return the first documents of a query: by score, by rank if there are no scores, or by line."""
        start, stop = self.offsets[number : number + 2].tolist()
        column: FloatArray | IntArray | None = self.ranks if self.scores is None else self.scores
        if self.falling or column is None:
            return self.docids.raw(start, min(stop, start + most))
        keys = column[start:stop] if self.scores is None else -column[start:stop]
        return self.docids.take(start + np.argsort(keys, kind="stable")[:most]).raw()


class Seen:
    """What the columns of a run show: counts over its queries.

    Attributes
    ----------
    queries, documents : int
        Their number.
    constant, in_constant : int
        Queries with constant scores, and their documents.
    tied : int
        Documents that share their score with another document of their query.
    ranked, lined : int
        Queries that can look like distances, by their ranks or by the order of lines.
    growing, growing_lined : int
        Those of them that do.
    doubt : float
        Minus the logarithm of the probability that lines have this order by chance.
    contradicting : tuple of str
        Queries in which ranks contradict scores.
    ranks : bool
        Whether all ranks are whole numbers.
    counting : int
        The longest query whose scores are 1, 2, 3, … and whose ranks are not, if all are like this; else 0.
    half, rounded, fractions : bool
        Whether all scores are 16-bit floats; whether all have two decimals or fewer; and whether some are not multiples
        of 1/64, as counts and their halves are.
    ranking : list of bytes or None
        The documents of each query in order, if all queries have the same ones in the same order.
    ways : tuple of int
        The ways in which all scores follow document ids, as in `WAYS`.
    following : float
        Minus the logarithm of the probability that ids are in one given order by chance.
    usual, last : int
        The number of documents of each query but the last, -1 if it differs, 0 if there is none; and of the last.
    first : tuple of (str, list of bytes)
        The first documents of the first judged queries, if they were looked up.
    """

    queries: int = 0
    documents: int = 0
    constant: int = 0
    in_constant: int = 0
    tied: int = 0
    ranked: int = 0
    lined: int = 0
    growing: int = 0
    growing_lined: int = 0
    doubt: float = 0.0
    contradicting: tuple[str, ...] = ()
    ranks: bool = True
    counting: int = 0
    half: bool = True
    rounded: bool = True
    fractions: bool = False
    ranking: list[bytes] | None = None
    ways: tuple[int, ...] = ()
    following: float = 0.0
    usual: int = 0
    last: int = 0
    first: tuple[tuple[str, list[bytes]], ...] = ()

    # No named tuple: to make one of so many fields takes a hundredth of the time of a small run.
    def __init__(self, **facts: Any) -> None:
        self.__dict__.update(facts)

    @property
    def suspect(self) -> bool:
        """Whether there may be a sign in the columns."""
        coarse = (self.half or self.rounded) and self.tied >= MANY_TIES * self.documents
        wrong = self.counting or self.constant or self.growing or self.growing_lined or self.contradicting
        return bool(wrong or coarse or self.same_ranking or self.cut or self.following >= UNLIKELY)

    @property
    def cut(self) -> bool:
        """Whether the last query is much shorter than all others, which are alike."""
        return self.queries >= CUT_FROM and self.usual >= CUT_FROM and 2 * self.last <= self.usual

    @property
    def same_ranking(self) -> bool:
        """Whether enough queries have the same ranking of enough documents."""
        return self.queries >= SAME_FROM and self.ranking is not None

    @property
    def distances(self) -> bool:
        """Whether scores look like distances."""
        growing = self.growing + self.growing_lined
        return growing > 0 and growing >= NEARLY_ALL * (self.ranked + self.lined)

    @property
    def many_ties(self) -> bool:
        """Whether many documents are tied, leaving out queries with constant scores."""
        tied, documents = self.tied - self.in_constant, self.documents - self.in_constant
        return tied > 0 and tied >= MANY_TIES * documents

    @property
    def follows_ids(self) -> bool:
        """Whether chance is an unlikely explanation of scores that follow document ids."""
        return bool(self.ways) and self.following >= UNLIKELY

    @property
    def ties(self) -> str:
        """How many documents are tied, in words."""
        tied, documents = self.tied - self.in_constant, self.documents - self.in_constant
        share = f"{tied:,} of {documents:,} documents ({share_of(tied, documents)})"
        return f"{share} share their score with another document of their query"


def look(lists: Lists, qrels: Qrels | None = None, before: Seen | None = None) -> Seen:
    """Count what the columns of whole queries show.

    With judgments, given if no document may be judged, their first documents are kept; then queries are text. What must
    be true of all pieces of a run is not looked for again if it is not true of the one ``before``.
    """
    scores = lists.scores
    if scores is None or not len(lists.sizes):
        return Seen()
    sizes, constant = lists.sizes, lists.constant
    coarse = before is None or before.half or before.rounded
    half, rounded, fractions = _coarseness(scores) if coarse else (False, False, False)
    ties = groups = 0
    if coarse:
        ties = int(np.count_nonzero(lists.equal))
        groups = ties - int(np.count_nonzero(lists.equal[1:] & lists.equal[:-1])) if ties else 0
    usual = int(sizes[0]) if len(sizes) > 1 else 0
    ways, following = _followed(lists, scores) if before is None or before.ways else ((), 0.0)
    seen = Seen(
        queries=len(sizes),
        documents=len(scores),
        constant=int(np.count_nonzero(constant)),
        in_constant=int(sizes[constant].sum()),
        tied=ties + groups,
        ranks=lists.ranks is not None,
        half=half,
        rounded=rounded,
        fractions=fractions,
        ranking=_same_ranking(lists) if before is None or before.ranking is not None else None,
        ways=ways,
        following=following,
        usual=usual if (sizes[:-1] == usual).all() else -1,
        last=int(sizes[-1]),
    )
    if qrels is not None:
        judged = (number for number, qid in enumerate(lists.qids) if qrels.row_of(str(qid)) is not None)
        seen.first = tuple([(str(lists.qids[number]), lists.best(number, DEPTH)) for number in islice(judged, DEPTH)])
    if lists.ordered:  # as nearly every run is: nothing else can be wrong
        seen.ranked = int(np.count_nonzero(~lists.same_score & (sizes >= DISTANCES_FROM)))
        return seen
    usable, growing, comparable = lists.usable, lists.growing, lists.comparable
    lined = growing & ~usable
    seen.ranked = int(np.count_nonzero(comparable & usable))
    seen.lined = int(np.count_nonzero(comparable & ~usable))
    seen.growing = int(np.count_nonzero(growing & usable))
    seen.growing_lined = int(np.count_nonzero(lined))
    seen.doubt = math.fsum(math.lgamma(size + 1) for size in sizes[lined].tolist())
    seen.contradicting = tuple([str(lists.qids[number]) for number in np.flatnonzero(lists.contradicting).tolist()])
    seen.counting = _counting(lists, scores)
    return seen


_RULES: dict[str, Callable[[list[Any]], Any]] = {
    **dict.fromkeys(("queries", "documents", "constant", "in_constant", "tied", "ranked", "lined", "growing"), sum),
    **dict.fromkeys(("growing_lined", "doubt", "following"), sum),
    **dict.fromkeys(("ranks", "half", "rounded"), all),
    **dict.fromkeys(("contradicting", "first"), lambda parts: tuple(chain.from_iterable(parts))),
    "fractions": any,
    "counting": lambda parts: max(parts) if all(parts) else 0,
    "ranking": lambda parts: parts[0] if all(part == parts[0] for part in parts) else None,
    "ways": lambda parts: tuple([way for way in parts[0] if all(way in part for part in parts)]),
    "last": lambda parts: parts[-1],
}
"""What a fact about a run is, given those about its pieces."""


def merged(parts: Sequence[Seen]) -> Seen:
    """Add the counts of consecutive pieces of a run."""
    parts = [part for part in parts if part.queries]
    if len(parts) < 2:
        return parts[0] if parts else Seen()
    seen = Seen(**{name: rule([getattr(part, name) for part in parts]) for name, rule in _RULES.items()})
    if not seen.ranks and any(part.ranks for part in parts):  # a column with some ranks orders nothing
        seen.ranked, seen.growing, seen.contradicting = 0, 0, ()
    depths = {part.usual for part in parts if part.usual} | {part.last for part in parts[:-1]}
    seen.usual = depths.pop() if len(depths) == 1 else -1
    seen.first = seen.first[:DEPTH]
    return seen


def _coarseness(scores: FloatArray) -> tuple[bool, bool, bool]:
    """Return whether scores are 16-bit floats, have two decimals or fewer, and are not only multiples of 1/64."""
    some = scores[:8].tolist()  # nearly always the first of them tell, and short lists are faster without numpy
    half = all(math.frexp(score)[0] * 2048 % 1 == 0 for score in some)
    rounded = all(round(score, 2) == score for score in some)
    if not half and not rounded:
        return False, False, False
    with np.errstate(over="ignore", invalid="ignore"):
        if half:
            single = scores.astype(np.float32)
            brain = not (single.view(np.uint32) & 0xFFFF).any() and (single == scores).all()
            half = bool(brain or (single.astype(np.float16) == scores).all())
        if rounded:
            cents = np.rint(scores * 100)
            cents /= 100
            rounded = bool((cents == scores).all())
        fractions = any(score * 64 % 1 for score in some) or bool(((scores * 64) % 1 != 0).any())
        return half, rounded, (half or rounded) and fractions


def _counting(lists: Lists, scores: FloatArray) -> int:
    """Return the size of the longest query if in all of them scores are 1, 2, 3, … and ranks are no such numbers."""
    starts = scores[lists.offsets[:-1]]
    if lists.falling or not lists.columns or not ((starts == 0) | (starts == 1)).all():
        return 0
    within, ranks = lists.within, lists.ranks
    if (scores[1:] != scores[:-1] + 1)[within].any():
        return 0
    if ranks is not None and not ((ranks[1:] <= ranks[:-1])[within].all() and (ranks[1:] < ranks[:-1])[within].any()):
        return 0
    return int(lists.sizes.max())


def _same_ranking(lists: Lists) -> list[bytes] | None:
    """Return the documents of each query in order if all queries have the same ones, and enough, in the same order."""
    sizes = lists.sizes
    size, count = int(sizes[0]), len(sizes)
    if size < SAME_DOCUMENTS or (sizes != size).any() or (count > 1 and lists.best(0, 1) != lists.best(1, 1)):
        return None
    first = lists.best(0, size)
    return first if all(lists.best(number, size) == first for number in range(1, count)) else None


def _by_number(docid: bytes) -> tuple[bytes, int, bytes]:
    """Return a sort key that orders ids by the number at their end if the rest is equal."""
    before = docid.rstrip(b"0123456789")
    digits = docid[len(before) :].lstrip(b"0")  # not as an integer: there may be a million of them
    return before, len(digits), digits


WAYS = ("rising", "falling", "rising by their numbers", "falling by their numbers")
"""The ways in which scores can follow ids: from the best document on, ids rise or fall."""


def _followed(lists: Lists, scores: FloatArray) -> tuple[tuple[int, ...], float]:
    """Return the ways in which scores follow ids in all queries, and how unlikely that is."""
    ways, unlikely = tuple(range(len(WAYS))), 0.0
    for number in np.flatnonzero(lists.followable).tolist():
        start, stop = lists.offsets[number : number + 2].tolist()
        for end in sorted({min(start + FOLLOWS_FROM, stop), min(start + 1000, stop), stop}):
            here = _ways(lists.docids.raw(start, end), scores[start:end].tolist())
            ways = tuple([way for way in ways if way in here])
            if not ways:
                return ways, unlikely
        groups = np.unique(scores[start:stop], return_counts=True)[1].tolist()
        unlikely += math.lgamma(stop - start + 1) - sum(math.lgamma(size + 1) for size in groups)
    return ways, unlikely


def _ways(docids: list[bytes], scores: list[float]) -> tuple[int, ...]:
    """Return the ways in which scores follow ids."""
    ways = []
    for way, keys in ((0, docids), (2, [_by_number(docid) for docid in docids])):
        ordered = [scores[at] for at in sorted(range(len(docids)), key=keys.__getitem__)]
        ways += [way] * (ordered == sorted(ordered, reverse=True)) + [way + 1] * (ordered == sorted(ordered))
    return tuple(ways)


def hardly_judged(num_ret: IntArray, rank: IntArray) -> bool:
    """Tell whether hardly any of the first documents are judged: numbers by query, and ranks of judged documents."""
    first = int(np.minimum(num_ret, DEPTH).sum())
    return first > 0 and int(np.count_nonzero(rank <= DEPTH)) < FEW_JUDGED * first


def of_queries(count: int, number: int) -> str:
    """Return ``in 2 of 3 queries``."""
    return f"in {count:,} of {number:,} {'query' if number == 1 else 'queries'}"


def documents_of(count: int) -> str:
    """Return ``3 documents``."""
    return f"{count:,} {'document' if count == 1 else 'documents'}"


def share_of(count: int, number: int) -> str:
    """Return a share in per cent, rounded down so that only the whole is 100 %."""
    return f"{math.floor(1000 * count / number) / 10:.1f} %"
