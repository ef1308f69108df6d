"""Runs judged by preference judgments.

The documents of a query are numbered: first the retrieved documents that occur in the judgments, from 0 in rank order;
then the others, by ascending id. Of documents with equal scores, the one with the *smaller* id comes first, unlike with
relevance judgments; both rules are trec_eval's. A judgment group whose lines all have one sub-group is a *simple*
group: it has classes of equal level, and every document of a higher class is preferred to every document of a lower
one. In a *partial* group, the preferences of its sub-groups are combined and closed transitively.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress, groupby
from operator import attrgetter
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np

from treceval_py._types import BoolArray, IntArray
from treceval_py.data.ids import encode, quoted
from treceval_py.data.preferences import Preference, Preferences
from treceval_py.data.ranking import FLOAT32, FLOAT64, PLAIN, Ranking, arranged, documents, limit_of, order_of
from treceval_py.data.run import Run
from treceval_py.errors import EvaluationError

T = TypeVar("T")

PairCounts = tuple[float, float]
"""Preferences fulfilled by the ranking, and possible."""


class GroupPreferences(NamedTuple):
    """The preferences of one judgment group; documents have the numbers described in the module.

    Attributes
    ----------
    documents : list of (number, level)
        The documents with their levels: one per line for a simple group, each once for a partial group.
    classes : list of int arrays
        For a simple group, its documents by descending level, ascending within a level; empty for a partial group.
    preferred : (N, N) bool array or None
        For a partial group, whether x is preferred to y.
    """

    documents: list[tuple[int, float]]
    classes: list[IntArray]
    preferred: BoolArray | None = None

    def between(self, start: int, stop: int, size: int) -> tuple[IntArray, IntArray]:
        """Return how often documents from ``start`` to ``stop`` are preferred to, and less than, the N from there."""
        if self.preferred is not None:
            ahead, behind = self.preferred[start:stop, start:], self.preferred[start:, start:stop].T
            return ahead.astype(np.int64), behind.astype(np.int64)
        held = np.concatenate(self.classes)
        level, lines = np.zeros(size, dtype=np.int64), np.bincount(held, minlength=size)
        level[held] = np.repeat(np.arange(len(self.classes)), list(map(len, self.classes)))
        first, times = level[start:stop, None], lines[start:stop, None] * lines[start:]
        return times * (first < level[start:]), times * (first > level[start:])


class JudgedPreferences(NamedTuple):
    """A run judged by preference judgments.

    Attributes
    ----------
    qids : tuple of str, length Q
        The queries in byte order.
    retrieved : (Q,) int array
        v, the number of retrieved documents among the judgments; their numbers are below v.
    groups : tuple of list of GroupPreferences, length Q
        The groups of each query, in byte order.
    tag : str
        The run's tag.
    made : dict
        What `once` returned.
    """

    qids: tuple[str, ...]
    retrieved: IntArray
    groups: tuple[list[GroupPreferences], ...]
    tag: str
    made: dict[object, Any]

    @property
    def num_queries(self) -> int:
        """The number of queries, Q."""
        return len(self.qids)

    def once(self, key: object, make: Callable[[], T]) -> T:
        """Return what `make` returns, called only the first time that `key` is given."""
        if key not in self.made:
            self.made[key] = make()
        made: T = self.made[key]
        return made

    def select(self, keep: BoolArray) -> JudgedPreferences:
        """Return the judged preferences of the queries selected by ``keep`` (Q,)."""
        kept = keep.tolist()
        groups = tuple(compress(self.groups, kept))
        return JudgedPreferences(tuple(compress(self.qids, kept)), self.retrieved[keep], groups, self.tag, {})


def judge_preferences(
    preferences: Preferences,
    run: Run,
    *,
    complete: bool = True,
    ranking: Ranking = PLAIN,
) -> JudgedPreferences:
    """Collect the preferences of each query between its numbered documents.

    Parameters
    ----------
    preferences : Preferences
        The judgments.
    run : Run
        The run; queries without judgments are left out.
    complete : bool
        Include judged queries that the run lacks, as queries without retrieved documents.
    ranking : Ranking
        How documents are ranked. By the default rule for ties, the document with the *smaller* id comes first, as in
        trec_eval. ``judged_only`` has no effect, because unjudged documents are not numbered anyway. The precision of
        scores also applies to levels.

    Raises
    ------
    EvaluationError
        Judgments of a group contradict each other.
    """
    qids = tuple(sorted((qid for qid in preferences.qids if complete or qid in run), key=encode))
    retrieved = np.zeros(len(qids), dtype=np.int64)
    if not ranking.plain:
        run = arranged(run, ranking)
    width = ranking.score_type if ranking.plain else FLOAT64
    groups: list[list[GroupPreferences]] = []
    for query, qid in enumerate(qids):
        lines = preferences.rows[qid]
        if ranking.score_type == FLOAT32:
            with np.errstate(over="ignore"):
                lines = [line._replace(level=float(np.float32(line.level))) for line in lines]
        judged = {line.docid for line in lines}
        row = run.row_of(qid)
        ranked: list[bytes] = []
        if row is not None:
            docids, scores = documents(run, row, width)
            order = order_of(docids, scores, later_first=False)[: limit_of(ranking.depth)]
            ranked = [docids[at] for at in order.tolist() if docids[at] in judged]
        retrieved[query] = len(ranked)
        names = [*ranked, *sorted(judged - set(ranked))]
        gather = _Gatherer(preferences.name, qid, names, {docid: number for number, docid in enumerate(names)})
        by_group = groupby(sorted(lines, key=attrgetter("group")), attrgetter("group"))
        groups.append([gather.group(list(of_group)) for _, of_group in by_group])
    return JudgedPreferences(qids, retrieved, tuple(groups), run.tag, {})


class _Gatherer(NamedTuple):
    """Converts the lines of a query's groups to preferences."""

    file: str
    qid: str
    names: list[bytes]
    number: dict[bytes, int]

    def group(self, lines: list[Preference]) -> GroupPreferences:
        return self._simple(lines) if len({line.subgroup for line in lines}) == 1 else self._partial(lines)

    def _refuse(self, line: Preference, fault: str) -> NoReturn:
        problem = f"{fault} in group {quoted(line.group)} of query {quoted(encode(self.qid))}"
        todo = "Give each document one level in a group."
        raise EvaluationError(problem, todo, file=self.file, line=line.line or None)

    def _simple(self, lines: list[Preference]) -> GroupPreferences:
        level_of: dict[bytes, float] = {}
        classes: dict[float, list[int]] = {}
        for line in lines:
            if level_of.setdefault(line.docid, line.level) != line.level:
                self._refuse(line, f"document {quoted(line.docid)} has two levels")
            classes.setdefault(line.level, []).append(self.number[line.docid])
        levels = sorted(classes, reverse=True)
        ordered = [np.sort(np.array(classes[level], dtype=np.int64)) for level in levels]
        held = np.concatenate(ordered)
        by_line = np.repeat(levels, list(map(len, ordered))).tolist()
        return GroupPreferences(list(zip(held.tolist(), by_line, strict=True)), ordered)

    def _partial(self, lines: list[Preference]) -> GroupPreferences:
        # trec_eval reads lines in this order; a document's level is the last one read.
        lines = sorted(lines, key=lambda line: (line.subgroup, -line.level, self.number[line.docid]))
        level_of: dict[int, float] = {}
        preferred: BoolArray = np.zeros((len(self.names), len(self.names)), dtype=bool)
        by_subgroup: dict[bytes, dict[float, list[int]]] = {}
        for line in lines:
            document = self.number[line.docid]
            before = level_of.get(document, line.level)
            if min(before, line.level) == 0 < max(before, line.level):
                self._refuse(line, f"document {quoted(line.docid)} has both level 0 and another one")
            level_of[document] = line.level
            by_subgroup.setdefault(line.subgroup, {}).setdefault(line.level, []).append(document)
        for classes in by_subgroup.values():
            ordered = [classes[level] for level in sorted(classes, reverse=True)]
            for above, better in enumerate(ordered):
                for worse in ordered[above + 1 :]:
                    preferred[np.ix_(better, worse)] = True
        for between in range(len(self.names)):  # Warshall's closure
            preferred[preferred[:, between]] |= preferred[between]
        itself = np.flatnonzero(preferred.diagonal())
        both = np.argwhere(np.triu(preferred & preferred.T, 1))
        if len(both):
            one, other = (quoted(self.names[at]) for at in both[0].tolist())
            self._refuse(lines[0], f"documents {one} and {other} are each preferred to the other")
        if len(itself):
            self._refuse(lines[0], f"document {quoted(self.names[itself[0]])} has two levels in a sub-group")
        return GroupPreferences(sorted(level_of.items()), [], preferred)


def sums(group: GroupPreferences, retrieved: int) -> dict[str, PairCounts]:
    """Count the fulfilled and the possible preferences, by which of their documents were retrieved.

    Parameters
    ----------
    group : GroupPreferences
        The preferences.
    retrieved : int
        v; smaller numbers belong to retrieved documents.

    Returns
    -------
    dict
        ``ret``: both documents retrieved; ``imp``: at least one; ``all``: any. A preference for a retrieved document
        over one that was not retrieved counts as fulfilled.
    """
    pairs = group.preferred
    if pairs is None:
        return _sums_of_classes(group.classes, retrieved)
    both = pairs[:retrieved, :retrieved]
    fulfilled_ret, possible_ret = float(np.triu(both, 1).sum()), float(both.sum())
    fulfilled_one = float(pairs[:retrieved, retrieved:].sum())
    possible_one = fulfilled_one + float(pairs[retrieved:, :retrieved].sum())
    return {
        "ret": (fulfilled_ret, possible_ret),
        "imp": (fulfilled_ret + fulfilled_one, possible_ret + possible_one),
        "all": (fulfilled_ret + fulfilled_one, float(pairs.sum())),
    }


def _sums_of_classes(classes: Sequence[IntArray], retrieved: int) -> dict[str, PairCounts]:
    """Count as `sums` does, the documents of higher classes being preferred to those of lower ones."""
    fulfilled, one, possible, missed, neither = 0, 0, 0, 0, 0
    # Numbers within the classes, so that a small group among many documents costs no more than its own.
    numbers = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *classes]))
    retrieved = int(np.searchsorted(numbers, retrieved))
    # Of the documents of higher classes: each of the retrieved ones, and the number of the others.
    better, beyond = np.zeros(retrieved, dtype=np.int64), 0
    for members in (np.searchsorted(numbers, among) for among in classes):
        inside, above = members[members < retrieved], np.cumsum(better)
        outside, total = len(members) - len(inside), int(better.sum())
        fulfilled += int(above[inside].sum())
        one += total * outside
        possible += total * len(inside)
        missed += beyond * len(inside)
        neither += beyond * outside
        np.add.at(better, inside, 1)
        beyond += outside
    return {
        "ret": (float(fulfilled), float(possible)),
        "imp": (float(fulfilled + one), float(possible + one + missed)),
        "all": (float(fulfilled + one), float(possible + one + missed + neither)),
    }


def balanced(group: GroupPreferences, retrieved: int) -> tuple[PairCounts, PairCounts]:
    """Count preferences with equal numbers of relevant and non-relevant documents, as trec_eval's Rnonrel does.

    Returns
    -------
    tuple of PairCounts
        Fulfilled and possible preferences over all documents, and over the retrieved ones.
    """
    pairs = group.preferred
    relevant = [document for document, level in group.documents if level > 0]
    others = [document for document, level in group.documents if (level <= 0 if pairs is None else level == 0)]
    counts = sums(group, retrieved)
    relevant_ret, others_ret = (sum(document < retrieved for document in some) for some in (relevant, others))

    def padded(counted: PairCounts, spare: int) -> PairCounts:
        """Add the preferences over non-relevant documents that would have to be added to have equal numbers."""
        return counted[0] + relevant_ret * spare, counted[1] + len(relevant) * spare

    if len(relevant) >= len(others):
        everything = padded(counts["all"], len(relevant) - len(others))
    else:
        everything = _recounted(group, retrieved, len(relevant), len(relevant))
    if relevant_ret >= others_ret:
        return everything, padded(counts["ret"], relevant_ret - others_ret)
    of_retrieved = group._replace(
        documents=[(document, level) for document, level in group.documents if document < retrieved],
        classes=[members[members < retrieved] for members in group.classes],
        preferred=None if pairs is None else pairs[:retrieved, :retrieved],
    )
    return everything, _recounted(of_retrieved, retrieved, relevant_ret, len(relevant))


def _recounted(group: GroupPreferences, retrieved: int, tail: int, limit: int) -> PairCounts:
    """Count preferences with a limited number of non-relevant documents, as trec_eval does."""
    if group.preferred is not None:
        zeros = [document for document, level in group.documents if level == 0]
        kept = np.ones(len(group.preferred), dtype=bool)
        kept[zeros[limit:]] = False
        x, y = np.nonzero(group.preferred & np.outer(kept, kept))
        return float(((x < y) & (x < retrieved)).sum()), float(len(x))
    *upper, last = group.classes
    fulfilled, possible = _sums_of_classes(upper, retrieved)["all"]
    # The last class is also compared with itself. trec_eval computes this, though it was hardly intended.
    every, last = np.sort(np.concatenate(group.classes)), last[:tail]
    above = np.searchsorted(every[every < retrieved], last)
    return fulfilled + float(above.sum()), possible + float(len(every) * len(last))


CELLS = 1 << 18
"""Number of pairs of documents compared at a time."""


def pair_shares(groups: Sequence[GroupPreferences], retrieved: int) -> dict[str, PairCounts]:
    """Add up the fulfilled shares of all unordered pairs of documents with a preference.

    Returns
    -------
    dict
        As for `sums`; each value is the sum of shares, added one after the other, and the number of pairs.
    """
    if len(groups) == 1 and groups[0].preferred is None:  # the share of each pair is 0 or 1
        return _sums_of_classes(list(map(np.unique, groups[0].classes)), retrieved)
    total, number = {"ret": 0.0, "imp": 0.0}, {"ret": 0, "imp": 0, "all": 0}
    size = 1 + max(document for group in groups for document, _ in group.documents)
    for start in range(0, size, max(1, CELLS // size)):
        blocks = [group.between(start, start + max(1, CELLS // size), size) for group in groups]
        ahead, behind = (sum(counts[1:], start=counts[0]) for counts in zip(*blocks, strict=True))
        x, y = np.nonzero(np.triu(ahead + behind, 1))
        share = ahead[x, y] / (ahead[x, y] + behind[x, y])
        for kind, chosen in (("ret", y + start < retrieved), ("imp", x + start < retrieved)):
            total[kind] = float(np.add.accumulate(np.append(total[kind], share[chosen]))[-1])
            number[kind] += int(chosen.sum())
        number["all"] += len(share)
    total["all"] = total["imp"]  # a pair with no document retrieved has the share 0
    return {kind: (total[kind], number[kind]) for kind in number}


def preferred(retrieved: str, *groups: str) -> JudgedPreferences:
    """Return the judged preferences of one query, for worked examples and tests.

    Parameters
    ----------
    retrieved : str
        The documents retrieved, best first.
    *groups : str
        For each judgment group, its documents, most preferred first, with levels n, n - 1, …, 1.

    Examples
    --------
    >>> preferred("y x", "x y").retrieved
    array([2])
    """
    lines = [
        Preference(str(number).encode(), b"", docid.encode(), float(len(order.split()) - place))
        for number, order in enumerate(groups)
        for place, docid in enumerate(order.split())
    ]
    scores = {docid: -float(place) for place, docid in enumerate(retrieved.split())}
    return judge_preferences(Preferences({"q": lines}), Run({"q": scores}, tag="example"))
