"""Similar runs in a class: the same file, the same ranking, or nearly the same first documents."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np

from treceval_py._types import BoolArray, FloatArray, IntArray
from treceval_py.data.ids import encode
from treceval_py.data.ranking import arrange
from treceval_py.data.run import Run
from treceval_py.errors import EvaluationError
from treceval_py.grading.grades import Pair
from treceval_py.grading.records import Graded
from treceval_py.scoring.profiles import DEFAULT_PROFILE, PROFILES, Profile

SAME_FILE, SAME_RANKING, NEARLY, DOCUMENTS = "same file", "same ranking", "nearly the same", "same documents"

DEPTH = 10
"""Documents per query that are compared."""

KINDS_OF_PAIRS = {
    SAME_FILE: "the runs are the same, byte by byte",
    SAME_RANKING: "the runs rank the same documents in the same order; scores, tag or form differ",
    NEARLY: "the first documents of the runs are nearly the same, in nearly the same order",
    DOCUMENTS: "the first documents of the runs are the same in another order, or but for a few that were put in",
}
"""The meaning of each kind of pair."""

MOST_QUERIES = 1000
"""Most queries that are compared: enough for any class, and few enough to keep."""

PERSISTENCE = 0.9
"""Probability that a reader goes on to the next rank; it gives the first documents most weight."""

CELLS = 1 << 20
"""Most documents of pairs that are compared at once."""

EMPTY_FILE = hashlib.sha256(b"").hexdigest()
"""That two files are empty is not a sign of copying."""

PUT_IN = 5
"""One in this many documents may have been inserted, if the others have the same order in both lists."""

LEAST_SHARED = 0.5
"""Two runs are compared if they share at least this part of the queries of the larger one."""


def tops_of(run: Run, qids: Sequence[str], profile: Profile, depth: int) -> IntArray:
    """Return the first documents of each query as numbers, for comparison with other runs.

    Parameters
    ----------
    run : Run
        The run.
    qids : sequence of str
        The judged queries.
    profile : Profile
        How the run is ranked.
    depth : int
        Number of documents per query, at least 1.

    Returns
    -------
    (T, depth) int64 array
        For the first T queries in byte order, at most 1000: 63 bits of the BLAKE2b hash of each document id; -1 if the
        run has fewer documents.

    Raises
    ------
    DataError
        The profile orders by rank, but the run has no ranks.
    """
    chosen = sorted(qids, key=encode)[:MOST_QUERIES]
    tops = np.full((len(chosen), depth), -1, dtype=np.int64)
    conventions = profile.conventions
    ranking = arrange(run, conventions.ranking())
    limit = depth if conventions.depth is None else min(depth, conventions.depth)
    for number, qid in enumerate(chosen):
        row = ranking.run.row_of(qid)
        if row is None:
            continue
        start, stop = ranking.run.span(row)
        docids = ranking.run.docids.take(ranking.order[start : min(stop, start + limit)]).raw()
        tops[number, : len(docids)] = [_number_of(docid) for docid in docids]
    return tops


def _number_of(docid: bytes) -> int:
    digest = hashlib.blake2b(docid, digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def hash_of_ranking(run: Run, profile: Profile = PROFILES[DEFAULT_PROFILE]) -> str:
    """Return a hash of the rankings of a run, independent of scores, tag and order of queries.

    Parameters
    ----------
    run : Run
        The run.
    profile : Profile
        How it is ranked; by default as in trec_eval.

    Returns
    -------
    str
        SHA-256, hexadecimal; empty if the run has no documents.

    Raises
    ------
    DataError
        The profile orders by rank, but the run has no ranks.
    """
    ranking = arrange(run, profile.conventions.ranking())
    if not len(ranking.run.docids):
        return ""
    docids = ranking.run.docids.raw()
    order = ranking.order.tolist()
    digest = hashlib.sha256()
    for qid in sorted(ranking.run.qids, key=encode):
        row = ranking.run.row_of(qid)
        assert row is not None
        start, stop = ranking.run.span(row)
        ranked = [docids[at] for at in order[start:stop][: profile.conventions.depth]]
        if ranked:
            # Lengths make the encoding unique, whatever ids contain.
            name = encode(qid)
            digest.update(b"%d %d %b" % (len(name), len(ranked), name))
            digest.update(b",".join([b"%d" % len(docid) for docid in ranked]) + b":" + b"".join(ranked))
    return digest.hexdigest()


def overlap(one: IntArray, other: IntArray) -> float:
    r"""Return the similarity of two lists: rank-biased overlap of their first D documents.

    .. math:: \frac{\sum_{d=1}^{D} p^{d-1} X_d / d}{\sum_{d=1}^{D} p^{d-1}}

    where :math:`X_d` is the number of documents that both have among their first d, D is the length of the longer list,
    and p = 0.9.

    Parameters
    ----------
    one, other : (K,) int arrays
        The documents as numbers, best first; -1 after the last one.

    Returns
    -------
    float
        1 for equal lists, 0 for lists that share nothing or are empty.

    Notes
    -----
    Rank-biased overlap is the mean agreement X_d / d over all depths, weighted by (1 - p) p^(d-1). For lists cut at
    depth D, the sum up to D is only part of it: less than 1 even for equal lists. Divided by the weights up to D, it is
    the mean agreement at the observed depths.

    References
    ----------
    William Webber, Alistair Moffat and Justin Zobel. A similarity measure for indefinite rankings. ACM Transactions on
    Information Systems 28(4), article 20, 2010.
    """
    tops = np.stack([one, other])[:, None, :]
    similarity = _Overlaps(tops).of_query(0, np.array([0]), np.array([1]))
    return round(float(similarity.overlap[0]), 12)


class _Alike(NamedTuple):
    """Similarity of pairs of runs in a query.

    Attributes
    ----------
    overlap : (P,) float array
        Rank-biased overlap.
    share : (P,) float array
        The share of documents that both have, in any order. For a list shorter than the compared depth, the overlap
        instead: both lists then hold everything there was to rank, so sharing documents is not a sign of copying.
    credit : (P,) float array
        Like ``share``, but 1 if one list has a few inserted documents and the others have the same order in both.
    """

    overlap: FloatArray
    share: FloatArray
    credit: FloatArray


class _Overlaps:
    """Overlaps of pairs of runs in each query.

    Parameters
    ----------
    tops : (S, T, K) int array
        The documents of each run and query as numbers; -1 after the last one.
    """

    def __init__(self, tops: IntArray) -> None:
        self.tops = tops
        self.lengths: IntArray = (tops >= 0).sum(axis=2)
        depth = np.arange(1, tops.shape[2] + 1)
        weight = PERSISTENCE ** (depth - 1.0)
        # A document that both have from depth m on adds p^(d-1) / d at each depth d from m to D: row D, column m - 1.
        parts = np.tril(np.ones((len(depth) + 1, len(depth)), dtype=np.float64), -1) * (weight / depth)
        shares = np.cumsum(parts[:, ::-1], axis=1)[:, ::-1]
        total = np.concatenate([[1.0], np.cumsum(weight)])
        self.shares: FloatArray = np.pad(shares / total[:, None], ((0, 0), (0, 1)))

    def of_query(self, query: int, first: IntArray, second: IntArray) -> _Alike:
        """Return the similarity of pairs of runs, by their numbers, in a query; 0 if one has no documents."""
        lists, ranks = self._coded(query)
        depth = lists.shape[1]
        similarity = _Alike(*np.zeros((3, len(first))))
        longer = np.maximum(self.lengths[first, query], self.lengths[second, query])
        step = max(1, CELLS // depth)
        for start in range(0, len(first), step):
            some = slice(start, start + step)
            other = ranks[second[some, None], lists[first[some]]]
            place = np.maximum(np.arange(depth), other)
            similarity.overlap[some] = self.shares[longer[some, None], place].sum(axis=1)
            common = other < depth
            similarity.share[some] = common.sum(axis=1) / depth
            in_order = (~common | (other == np.maximum.accumulate(np.where(common, other, -1), axis=1))).all(axis=1)
            few = common.sum(axis=1) >= depth - depth // PUT_IN
            similarity.credit[some] = np.where(in_order & few, 1.0, similarity.share[some])
        short = np.minimum(self.lengths[first, query], self.lengths[second, query]) < depth
        similarity.share[short] = similarity.credit[short] = similarity.overlap[short]
        return similarity

    def _coded(self, query: int) -> tuple[IntArray, IntArray]:
        """Return a query's documents (S, K) as small numbers, and the rank (S, V + 1) of each in each run."""
        tops = self.tops[:, query]
        count, depth = tops.shape
        known, codes = np.unique(tops, return_inverse=True)
        lists = np.where(tops < 0, len(known), codes.reshape(tops.shape))
        ranks = np.full((count, len(known) + 1), depth, dtype=np.int64)
        ranks[np.arange(count)[:, None], lists] = np.arange(depth)
        ranks[:, len(known)] = depth
        return lists, ranks


def alike(entries: Sequence[Graded], baseline: Graded | None, *, threshold: float, depth: int) -> tuple[Pair, ...]:
    """Return the pairs of similar submissions; few enough to be read.

    Parameters
    ----------
    entries : sequence of Graded
        The submissions.
    baseline : Graded or None
        The baseline.
    threshold : float
        Lowest mean overlap of runs that are nearly the same.
    depth : int
        Number of documents per query that are compared.

    Returns
    -------
    tuple of Pair
        First the same files, then the same rankings, then the others by overlap.

    Raises
    ------
    EvaluationError
        The records are not about the same queries.

    Notes
    -----
    For n equal runs there are n - 1 pairs, each run with the next one, instead of all n (n - 1) / 2. A run that equals
    the baseline is also paired with the baseline. Runs that are nearly the same are paired as a tree: the pairs with
    the highest overlap that join runs not yet joined by another pair. So each run is next to the one most like it, and
    a group of runs is visible as a group. A group of equal runs takes part once, by its first run. Every run like the
    baseline is also paired with it, so that each copy of the baseline is visible. Two runs are compared over their
    common queries, if these are at least half of the queries of either run.

    Below the threshold, runs still count as having the same documents if their share of common first documents reaches
    it, or would reach it without a few inserted ones (at most one in five). If this holds for more than half of the
    pairs of three or more runs that have no further documents, all of them rank the documents they were given, and it
    is not reported.
    """
    everyone = [*entries, *([] if baseline is None else [baseline])]
    numbers = [*range(len(entries)), -1]
    groups = _groups(everyone)
    pairs = [
        _same(everyone, numbers, one, other) for group in groups for one, other in _couples(everyone, group, baseline)
    ]
    having = [[at for at in group if everyone[at].tops is not None] for group in groups]
    # The baseline comes after all submissions.
    scored = sorted(max(group) if everyone[max(group)] is baseline else group[0] for group in having if group)
    links = _near([everyone[at] for at in scored], threshold, depth)
    likes = [link for link in links if everyone[scored[link.second]] is baseline]
    for link in dict.fromkeys([*_forest(links), *likes]):
        one, other = sorted((scored[link.first], scored[link.second]))
        pairs.append(Pair(numbers[one], numbers[other], link.kind, link.overlap, link.queries))
    kinds = list(KINDS_OF_PAIRS)
    return tuple(
        sorted(pairs, key=lambda pair: (kinds.index(pair.kind), -pair.overlap, pair.first, pair.second % 2**32))
    )


def _groups(everyone: Sequence[Graded]) -> list[list[int]]:
    """Return groups of runs with the same ranking, or the same file; the same files are next to each other."""
    files = [graded.hash_of_run if graded.hash_of_run != EMPTY_FILE else "" for graded in everyone]
    # Of two equal files, one may have been stopped before its ranking was known.
    known = [(file, graded.hash_of_ranking) for file, graded in zip(files, everyone, strict=True)]
    of_file = {file: ranking for file, ranking in known if file and ranking}
    groups: dict[Hashable, list[int]] = {}
    first: dict[str, int] = {}
    for number, (file, graded) in enumerate(zip(files, everyone, strict=True)):
        first.setdefault(file, number)
        groups.setdefault(graded.hash_of_ranking or of_file.get(file) or file or number, []).append(number)
    return [sorted(group, key=lambda at: (first[files[at]], at)) for group in groups.values()]


def _couples(everyone: Sequence[Graded], group: Sequence[int], baseline: Graded | None) -> list[tuple[int, int]]:
    """Return the pairs of a group: each with the next one or, if the baseline is in it, each with the baseline.

    Students with the same file, other than the baseline's, are still paired with each other.
    """
    *others, last = sorted(group)
    if everyone[last] is not baseline:
        return list(pairwise(group))
    of_file = [at for at in group if at != last and everyone[at].hash_of_run != everyone[last].hash_of_run]
    copies = [pair for pair in pairwise(of_file) if len({everyone[at].hash_of_run for at in pair}) == 1]
    return [(at, last) for at in others] + copies


def _same(everyone: Sequence[Graded], numbers: Sequence[int], one: int, other: int) -> Pair:
    """Return a pair of two members of a group; the baseline comes second."""
    one, other = sorted((one, other))
    file = everyone[one].hash_of_run == everyone[other].hash_of_run
    known = [tops for tops in (everyone[one].tops, everyone[other].tops) if tops is not None]
    queries = int((known[0][:, :1] >= 0).sum()) if known else 0
    return Pair(numbers[one], numbers[other], SAME_FILE if file else SAME_RANKING, 1.0, queries)


class _Link(NamedTuple):
    """Two runs, by their numbers, and their similarity; for `DOCUMENTS` the overlap is the share."""

    kind: str
    overlap: float
    first: int
    second: int
    queries: int


def _near(runs: Sequence[Graded], threshold: float, depth: int) -> list[_Link]:
    """Return all pairs of runs whose mean overlap, or share of documents, reaches the threshold."""
    lists = [graded.tops[:, :depth] for graded in runs if graded.tops is not None]
    if len({tops.shape for tops in lists}) > 1:
        raise EvaluationError("the records are of different queries or depths", "Grade all submissions afresh.")
    if len(lists) < 2 or not lists[0].size:
        return []
    overlaps = _Overlaps(np.stack(lists))
    there: BoolArray = overlaps.lengths > 0
    first, second = np.array(list(combinations(range(len(lists)), 2))).T
    common = (there.astype(np.int64) @ there.T.astype(np.int64))[first, second]
    most = np.maximum(there.sum(axis=1)[first], there.sum(axis=1)[second])
    kept = (common > 0) & (common >= LEAST_SHARED * most)
    first, second, common = first[kept], second[kept], common[kept]
    sums, left = np.zeros((3, len(first))), common.copy()
    for query in range(there.shape[1]):
        sums += overlaps.of_query(query, first, second)
        left -= there[first, query] & there[second, query]
        # Drop pairs that cannot reach the threshold even if all remaining queries were equal: soon, most of them.
        kept = np.maximum(sums[0], sums[2]) + left >= threshold * common - 1e-9
        first, second, common, left, sums = first[kept], second[kept], common[kept], left[kept], sums[:, kept]
    means = np.round(sums / common, 12)
    nearly = means[0] >= threshold
    links = [
        _Link(NEARLY if near else DOCUMENTS, mean if near else share, *rest)
        for near, mean, share, *rest in zip(
            *(column.tolist() for column in (nearly, means[0], means[1], first, second, common)), strict=True
        )
    ]
    links = [
        link
        for link, credit in zip(links, means[2].tolist(), strict=True)
        if link.kind == NEARLY or credit >= threshold
    ]
    deeper = [graded.lines > depth * graded.queries for graded in runs if graded.tops is not None]
    return _without_what_all_share(links, deeper)


def _without_what_all_share(links: list[_Link], deeper: Sequence[bool]) -> list[_Link]:
    """Remove links for the same documents if most pairs have them: the documents were given to all, for ranking.

    Runs with more documents than were compared chose these themselves, so their links stay.
    """
    count = len(deeper)
    given = count > 2 and 2 * len(links) > count * (count - 1) / 2
    return [link for link in links if not given or link.kind == NEARLY or deeper[link.first] or deeper[link.second]]


def _forest(links: Sequence[_Link]) -> list[_Link]:
    """Return the links with the highest overlap that join runs not yet joined (Kruskal's algorithm)."""
    root: dict[int, int] = {}

    def root_of(run: int) -> int:
        while run in root:
            run = root[run]
        return run

    chosen = []
    for link in sorted(links, key=lambda link: (link.kind != NEARLY, -link.overlap, link.first, link.second)):
        one, other = root_of(link.first), root_of(link.second)
        if one != other:
            root[other] = one
            chosen.append(link)
    return chosen
