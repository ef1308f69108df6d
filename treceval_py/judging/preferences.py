"""Runs judged by preference judgments.

The documents of a query are numbered: first the retrieved documents that occur in the judgments, from 0 in rank order;
then the others, by ascending id. Of documents with equal scores, the one with the *smaller* id comes first, unlike with
relevance judgments; both rules are trec_eval's. A judgment group whose lines all have one sub-group is a *simple*
group: it has classes of equal level, and every document of a higher class is preferred to every document of a lower
one. In a *partial* group, the preferences of its sub-groups are combined and closed transitively.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, groupby
from operator import attrgetter
from typing import NamedTuple, NoReturn

import numpy as np

from treceval_py._types import BoolArray, FloatArray, IntArray
from treceval_py.data.ids import encode, quoted
from treceval_py.data.preferences import Preference, Preferences
from treceval_py.data.ranking import FLOAT32, FLOAT64, PLAIN, Ranking, arranged, documents, limit_of, order_of
from treceval_py.data.run import Run
from treceval_py.errors import EvaluationError

PairCounts = tuple[float, float]
"""Preferences fulfilled by the ranking, and possible."""


class GroupPreferences(NamedTuple):
    """The preferences of one judgment group; documents have the numbers described in the module.

    Attributes
    ----------
    pairs : (N, N) int array
        ``pairs[x, y]`` is the number of times x is preferred to y.
    simple : bool
        Whether the group has one sub-group.
    classes : list of list of int
        For a simple group, its documents by descending level, ascending within a level; empty for a partial group.
    documents : list of (number, level)
        The documents with their levels: one per line for a simple group, each once for a partial group.
    """

    pairs: IntArray
    simple: bool
    classes: list[list[int]]
    documents: list[tuple[int, float]]


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
    """

    qids: tuple[str, ...]
    retrieved: IntArray
    groups: tuple[list[GroupPreferences], ...]
    tag: str = ""

    @property
    def num_queries(self) -> int:
        """The number of queries, Q."""
        return len(self.qids)

    def select(self, keep: BoolArray) -> JudgedPreferences:
        """Return the judged preferences of the queries selected by ``keep`` (Q,)."""
        kept = keep.tolist()
        groups = tuple(compress(self.groups, kept))
        return JudgedPreferences(tuple(compress(self.qids, kept)), self.retrieved[keep], groups, self.tag)


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
    return JudgedPreferences(qids, retrieved, tuple(groups), run.tag)


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
        ordered = [sorted(classes[level]) for level in levels]
        pairs = np.zeros((len(self.names), len(self.names)), dtype=np.int64)
        for above, better in enumerate(ordered):
            below = [document for worse in ordered[above + 1 :] for document in worse]
            np.add.at(pairs, np.ix_(better, below), 1)
        held = [(document, level) for level, members in zip(levels, ordered, strict=True) for document in members]
        return GroupPreferences(pairs, True, ordered, held)

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
            preferred |= preferred[:, between, None] & preferred[between]
        itself = np.flatnonzero(preferred.diagonal())
        both = np.argwhere(np.triu(preferred & preferred.T, 1))
        if len(both):
            one, other = (quoted(self.names[at]) for at in both[0].tolist())
            self._refuse(lines[0], f"documents {one} and {other} are each preferred to the other")
        if len(itself):
            self._refuse(lines[0], f"document {quoted(self.names[itself[0]])} has two levels in a sub-group")
        return GroupPreferences(preferred.astype(np.int64), False, [], sorted(level_of.items()))


def sums(pairs: IntArray, retrieved: int) -> dict[str, PairCounts]:
    """Count the fulfilled and the possible preferences, by which of their documents were retrieved.

    Parameters
    ----------
    pairs : (N, N) int array
        The number of times x is preferred to y.
    retrieved : int
        v; smaller numbers belong to retrieved documents.

    Returns
    -------
    dict
        ``ret``: both documents retrieved; ``imp``: at least one; ``all``: any. A preference for a retrieved document
        over one that was not retrieved counts as fulfilled.
    """
    both = pairs[:retrieved, :retrieved]
    fulfilled_ret, possible_ret = float(np.triu(both, 1).sum()), float(both.sum())
    fulfilled_one = float(pairs[:retrieved, retrieved:].sum())
    possible_one = fulfilled_one + float(pairs[retrieved:, :retrieved].sum())
    return {
        "ret": (fulfilled_ret, possible_ret),
        "imp": (fulfilled_ret + fulfilled_one, possible_ret + possible_one),
        "all": (fulfilled_ret + fulfilled_one, float(pairs.sum())),
    }


def balanced(group: GroupPreferences, retrieved: int) -> tuple[PairCounts, PairCounts]:
    """Count preferences with equal numbers of relevant and non-relevant documents, as trec_eval's Rnonrel does.

    Returns
    -------
    tuple of PairCounts
        Fulfilled and possible preferences over all documents, and over the retrieved ones.
    """
    relevant = [document for document, level in group.documents if level > 0]
    others = [document for document, level in group.documents if (level <= 0 if group.simple else level == 0)]
    counts = sums(group.pairs, retrieved)
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
    of_retrieved = GroupPreferences(
        group.pairs[:retrieved, :retrieved],
        group.simple,
        [[document for document in members if document < retrieved] for members in group.classes],
        [(document, level) for document, level in group.documents if document < retrieved],
    )
    return everything, _recounted(of_retrieved, retrieved, relevant_ret, len(relevant))


def _recounted(group: GroupPreferences, retrieved: int, tail: int, limit: int) -> PairCounts:
    """Count preferences with a limited number of non-relevant documents, as trec_eval does."""
    if not group.simple:
        zeros = [document for document, level in group.documents if level == 0]
        kept = np.ones(len(group.pairs), dtype=bool)
        kept[zeros[limit:]] = False
        x, y = np.nonzero(group.pairs * np.outer(kept, kept))
        return float(((x < y) & (x < retrieved)).sum()), float(len(x))
    fulfilled, possible = 0, 0
    *upper, last = group.classes
    pairs: list[tuple[Sequence[int], Sequence[int]]] = [
        (better, worse) for above, better in enumerate(upper) for worse in upper[above + 1 :]
    ]
    # The last class is also compared with itself. trec_eval computes this, though it was hardly intended.
    pairs += [(members, last[:tail]) for members in group.classes]
    for better, worse in pairs:
        possible += len(better) * len(worse)
        fulfilled += sum(x < y and x < retrieved for x in better for y in worse)
    return float(fulfilled), float(possible)


def pair_shares(groups: Sequence[GroupPreferences], retrieved: int) -> dict[str, FloatArray]:
    """Return the fulfilled share of each unordered pair of documents with a preference.

    Returns
    -------
    dict
        As for `sums`; each value is a float array of shares, to be summed and divided by its length.
    """
    total = sum((group.pairs for group in groups[1:]), start=groups[0].pairs)
    x, y = np.nonzero(np.triu(total + total.T, 1))
    share = total[x, y] / (total[x, y] + total[y, x])
    return {
        "ret": share[y < retrieved],
        "imp": share[x < retrieved],
        "all": np.where(x < retrieved, share, 0.0),
    }


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
