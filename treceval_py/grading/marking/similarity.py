"""Similar runs in a class: the same file, the same ranking, or nearly the same first documents."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise

import numpy as np

from treceval_py._types import BoolArray, FloatArray, IntArray
from treceval_py.comparing.agreement import ranks_of, rbo_of_pairs
from treceval_py.data.ids import encode
from treceval_py.data.ranking import arrange
from treceval_py.data.run import Run
from treceval_py.grading.grades import Pair
from treceval_py.grading.records import Graded
from treceval_py.scoring.profiles import Profile

KINDS = SAME_FILE, SAME_RANKING, NEARLY, DOCUMENTS = "same file", "same ranking", "nearly the same", "same documents"
"""Kinds of pairs: the same bytes; the same documents in the same order; nearly the same first documents in nearly the
same order; the same first documents in another order, or but for a few that were put in."""

DEPTH = 10
"""Number of documents per query that are compared."""

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


def ranking_of(run: Run, qids: Iterable[str], profile: Profile) -> tuple[str, IntArray]:
    """Return a hash of the rankings of a run, and the first documents of each query, for comparison with other runs.

    Parameters
    ----------
    run : Run
        The run.
    qids : iterable of str
        The judged queries.
    profile : Profile
        How the run is ranked.

    Returns
    -------
    str
        SHA-256, hexadecimal, independent of scores, tag and order of queries; empty if the run has no documents.
    (T, 10) int64 array
        For the first T queries in byte order, at most 1000: 63 bits of the BLAKE2b hash of each document id; -1 if the
        run has fewer documents.

    Raises
    ------
    DataError
        The profile orders by rank, but the run has no ranks.
    """
    ranking = arrange(run, profile.conventions.ranking())
    queries = zip(map(encode, ranking.run.qids), pairwise(ranking.run.offsets.tolist()), strict=True)
    rows = sorted((qid, start, stop) for qid, (start, stop) in queries if start < stop)
    digest, numbers = hashlib.sha256(), {qid: at for at, qid in enumerate(sorted(map(encode, qids))[:MOST_QUERIES])}
    tops = np.full((len(numbers), DEPTH), -1, dtype=np.int64)
    for qid, start, stop in rows:
        ranked = ranking.run.docids.take(ranking.order[start:stop][: profile.conventions.depth])
        # Lengths make the encoding unique, whatever ids contain.
        digest.update(b"%d %d %b" % (len(qid), len(ranked), qid))
        digest.update(np.diff(ranked.offsets).astype("<i8").tobytes() + ranked.buffer)
        if qid in numbers:
            hashes = [hashlib.blake2b(docid, digest_size=8).digest() for docid in ranked.raw(0, DEPTH)]
            tops[numbers[qid], : len(hashes)] = [int.from_bytes(hashed, "little") >> 1 for hashed in hashes]
    return digest.hexdigest() if rows else "", tops


def _similarity(tops: IntArray, first: IntArray, second: IntArray) -> FloatArray:
    """Return the similarity of pairs of runs (3, P) in a query, by their first documents (S, K).

    That is their rank-biased overlap, 0 if both have no documents; the share of documents that both have, in any order;
    and the same, but 1 if one list has a few inserted documents and the others have the same order in both. For a list
    that is shorter than K, all are the overlap: it holds all there was to rank, so sharing it is no sign of copying.
    """
    depth = tops.shape[1]
    known, codes = np.unique(tops, return_inverse=True)
    lists = np.where(tops < 0, len(known), codes.reshape(tops.shape))
    ranks = ranks_of(lists, len(known))
    lengths = (tops >= 0).sum(axis=1)
    short, long = np.minimum(lengths[first], lengths[second]), np.maximum(lengths[first], lengths[second])
    similarity = np.zeros((3, len(first)))
    for start in range(0, len(first), CELLS // depth):
        some = slice(start, start + CELLS // depth)
        other = ranks[second[some, None], lists[first[some]]]
        met = np.maximum(np.arange(depth), other)
        overlap = rbo_of_pairs(met, depth, short[some], long[some], PERSISTENCE, extrapolated=False)
        common = other < depth
        share = common.sum(axis=1) / depth
        in_order = (~common | (other == np.maximum.accumulate(np.where(common, other, -1), axis=1))).all(axis=1)
        credit = np.where(in_order & (common.sum(axis=1) >= depth - depth // PUT_IN), 1.0, share)
        similarity[:, some] = np.where(short[some] < depth, overlap, [overlap, share, credit])
    return similarity


def alike(entries: Sequence[Graded], baseline: Graded | None, threshold: float) -> tuple[Pair, ...]:
    """Return the pairs of similar submissions; few enough to be read.

    Parameters
    ----------
    entries : sequence of Graded
        The submissions; all records are of the same judgments.
    baseline : Graded or None
        The baseline.
    threshold : float
        Lowest mean overlap of runs that are nearly the same.

    Returns
    -------
    tuple of Pair
        First the same files, then the same rankings, then the others by overlap.

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
    files = ["" if graded.hash_of_run == EMPTY_FILE else graded.hash_of_run for graded in everyone]
    last = len(entries)  # the number of the baseline
    pairs, scored = list[Pair](), list[int]()
    for group in _groups(everyone, files):
        known = {at: tops for at in group if (tops := everyone[at].tops) is not None}
        queries = max((int((tops[:, 0] >= 0).sum()) for tops in known.values()), default=0)
        couples = list(pairwise(group))
        if last in group:
            # Each with the baseline; those with another file than the baseline's are still paired with each other.
            couples = [(one, other) for one, other in couples if files[one] == files[other] != files[last]]
            couples += [(at, last) for at in group if at != last]
        for one, other in map(sorted, couples):
            kind = SAME_FILE if files[one] == files[other] else SAME_RANKING
            pairs.append(Pair(one, other, kind, 1.0, queries))
        scored += [last] if last in known else [*known][:1]
    near = _near(everyone, sorted(scored), threshold) if len(scored) > 1 else []
    pairs += dict.fromkeys([*_forest(near), *(pair for pair in near if pair.second == last)])
    return tuple(pair._replace(second=-1) if pair.second == last else pair for pair in sorted(pairs, key=_order))


def _order(pair: Pair) -> tuple[object, ...]:
    return KINDS.index(pair.kind), -pair.overlap, pair.first, pair.second


def _groups(everyone: Sequence[Graded], files: Sequence[str]) -> list[list[int]]:
    """Return groups of runs with the same ranking, or the same file; the same files are next to each other."""
    # Of two equal files, one may have been stopped before its ranking was known.
    of_file = {file: run.hash_of_ranking for file, run in zip(files, everyone, strict=True) if run.hash_of_ranking}
    groups: dict[Hashable, list[int]] = {}
    for number, (file, run) in enumerate(zip(files, everyone, strict=True)):
        key = run.hash_of_ranking or (file and (of_file.get(file) or file)) or number
        groups.setdefault(key, []).append(number)
    return [sorted(group, key=lambda at: files.index(files[at])) for group in groups.values()]


def _near(everyone: Sequence[Graded], runs: Sequence[int], threshold: float) -> list[Pair]:
    """Return all pairs of some runs whose mean overlap, or share of documents, reaches the threshold."""
    tops = np.stack([everyone[at].tops for at in runs])  # type: ignore[misc]
    there: BoolArray = tops[:, :, 0] >= 0
    first, second = np.triu_indices(len(runs), 1)
    common = (there.astype(np.int64) @ there.T.astype(np.int64))[first, second]
    most = np.maximum(there.sum(axis=1)[first], there.sum(axis=1)[second])
    sums, left = np.zeros((3, len(first))), common.copy()
    kept = (common > 0) & (common >= LEAST_SHARED * most)
    for query in range(there.shape[1]):
        first, second, common, left, sums = first[kept], second[kept], common[kept], left[kept], sums[:, kept]
        sums += _similarity(tops[:, query], first, second)
        left -= there[first, query] & there[second, query]
        # Drop pairs that cannot reach the threshold even if all remaining queries were equal: soon, most of them.
        kept = np.maximum(sums[0], sums[2]) + left >= threshold * common - 1e-9
    pairs = []
    columns = (first.tolist(), second.tolist(), common.tolist(), np.round(sums / common, 12).T.tolist())
    for one, other, queries, (overlap, share, credit) in zip(*columns, strict=True):
        if overlap >= threshold:
            pairs.append(Pair(runs[one], runs[other], NEARLY, overlap, queries))
        elif credit >= threshold:
            pairs.append(Pair(runs[one], runs[other], DOCUMENTS, share, queries))
    # If most pairs have the same documents, these were given to all for ranking; runs that have more chose them.
    given = len(runs) > 2 and 4 * len(pairs) > len(runs) * (len(runs) - 1)
    deeper = {at for at in runs if everyone[at].lines > DEPTH * everyone[at].queries}
    return [pair for pair in pairs if not given or pair.kind == NEARLY or {pair.first, pair.second} & deeper]


def _forest(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs with the highest overlap that join runs not yet joined (Kruskal's algorithm)."""
    trees: dict[int, set[int]] = {}
    chosen = []
    for pair in sorted(pairs, key=_order):
        one, other = (trees.setdefault(at, {at}) for at in (pair.first, pair.second))
        if one is not other:
            one |= other
            trees.update(dict.fromkeys(other, one))
            chosen.append(pair)
    return chosen
