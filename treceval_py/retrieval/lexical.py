"""Ranking by words, to compare with: BM25, and the Jaccard similarity of the sets of words.

A document that has no word of the query is no hit. Of documents with equal scores at the cut the earlier ones of the
corpus are kept, so that the same texts give the same run.
"""

from __future__ import annotations

import functools
import math
import re
import sys
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, NamedTuple

import numpy as np

from treceval_py._types import AnyArray, FloatArray, IntArray
from treceval_py.errors import RunnerError
from treceval_py.retrieval.hub import INSTALL
from treceval_py.retrieval.run_file import Ranked

__all__ = ["METHODS", "Bm25", "check_bm25", "rank_bm25", "rank_jaccard"]

Advance = Callable[[int], None]

GROUP = 256
"""Queries that are handed on at a time."""

PORTION = 8192
"""Passages that are looked at at a time."""

METHODS = ("lucene", "robertson", "atire")
"""The variants of BM25, as `bm25s` calls them, that give a document without a word of the query no score."""

K1_MOST = 1e6
"""Above it words count as often as they come, and far above it the scores overflow."""

STOPWORDS = ("da", "de", "en", "es", "fr", "it", "ko", "nl", "no", "pt", "ru", "sv", "tr", "zh")
"""The languages of which `bm25s` has stop words."""


class Bm25(NamedTuple):
    """How BM25 ranks; the defaults are those of `bm25s`.

    Attributes
    ----------
    k1 : float
        How much it counts that a word comes more than once, from 0 to a million.
    b : float
        How much the length of a document counts against it, from 0 to 1.
    method : {"lucene", "robertson", "atire"}
        The variant.
    stopwords : str or None
        The language of the words that are left out, such as ``"en"``; None to leave out none.
    stemmer : str or None
        The algorithm of the package PyStemmer that cuts words to their stems, such as ``"english"``; None for no
        stemming.

    References
    ----------
    C. Kamphuis, A. P. de Vries, L. Boytsov, J. Lin. Which BM25 Do You Mean? A Large-Scale Reproducibility Study of
    Scoring Variants. ECIR 2020. https://doi.org/10.1007/978-3-030-45442-5_4
    """

    k1: float = 1.5
    b: float = 0.75
    method: str = "lucene"
    stopwords: str | None = "en"
    stemmer: str | None = None


def check_bm25(settings: Bm25) -> None:
    """Check that BM25 can rank with these settings, without any texts.

    Parameters
    ----------
    settings : Bm25
        How to rank.

    Raises
    ------
    RunnerError
        A setting is none that can be used, or a package is not installed.
    """
    _tokenizer(settings)


def rank_bm25(
    corpus: Iterable[tuple[str, str]],
    queries: Sequence[tuple[str, str]],
    k: int,
    settings: Bm25 = Bm25(),  # noqa: B008 - it cannot be changed
    advance: Advance | None = None,
) -> Iterator[Ranked]:
    """Rank passages by BM25, with the package `bm25s`.

    Words are runs of two or more letters, digits or underscores in lower case, as `bm25s` takes them. The corpus is
    read once and its texts are not kept, but the index is in memory: 8 bytes for each different word of each passage,
    and 37 while it is built, which for passages of 60 words (34 different ones) was measured as 1.3 KB each.

    Parameters
    ----------
    corpus : iterable of (str, str)
        Ids and texts of the passages.
    queries : sequence of (str, str)
        Ids and texts of the queries.
    k : int
        How many passages to keep for a query at most.
    settings : Bm25
        How to rank.
    advance : callable, optional
        Is told how many passages have been read. Before the first group comes out, their index is built.

    Returns
    -------
    iterator of Ranked
        Groups of queries in their order, with float32 scores, best first.

    Raises
    ------
    RunnerError
        A setting is none that can be used, or a package is not installed.
    """
    _check_k(k)
    return _bm25_groups(corpus, queries, k, settings, _tokenizer(settings), advance)


def _bm25_groups(
    corpus: Iterable[tuple[str, str]],
    queries: Sequence[tuple[str, str]],
    k: int,
    settings: Bm25,
    tokenizer: Any,
    advance: Advance | None,
) -> Iterator[Ranked]:
    index = _bm25_index(_Words.of(corpus, tokenizer, advance), tokenizer, settings)
    for group in _groups(queries):
        positions, scores = _empty(len(group), k, np.float32)
        texts = [text for _, text in group]
        found = tokenizer.streaming_tokenize(texts, update_vocab=False, allow_empty=False)
        for row, numbers in enumerate(found):
            if index is None:
                continue
            of_all = index.get_scores_from_ids(numbers)
            kept = _best(of_all, k)
            positions[row, : len(kept)], scores[row, : len(kept)] = kept, of_all[kept]
        yield Ranked([qid for qid, _ in group], positions, scores)


def _tokenizer(settings: Bm25) -> Any:
    """Check the settings and return what cuts texts into numbers of words."""
    if not (math.isfinite(settings.k1) and settings.k1 >= 0):
        raise RunnerError(f"k1 of BM25 is {settings.k1}", "Give 0 or more.")
    if settings.k1 > K1_MOST:
        raise RunnerError(f"k1 of BM25 is {settings.k1}", f"Give {K1_MOST:,.0f} or less.")
    if not 0 <= settings.b <= 1:
        raise RunnerError(f"b of BM25 is {settings.b}", "Give a number from 0 to 1.")
    if settings.method not in METHODS:
        raise RunnerError(f"BM25 has no method {settings.method!r}", f"Give one of {', '.join(METHODS)}.")
    if settings.stopwords is not None and settings.stopwords not in STOPWORDS:
        what = f"there are no stop words of the language {settings.stopwords!r}"
        raise RunnerError(what, f"Give one of {', '.join(STOPWORDS)}, or none.")
    try:
        from bm25s.tokenization import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
            Tokenizer,
        )
    except ImportError:
        what = "BM25 needs the package bm25s, which is not installed"
        raise RunnerError(what, INSTALL) from None
    return Tokenizer(stopwords=settings.stopwords, stemmer=_stemmer(settings.stemmer))


def _stemmer(name: str | None) -> Any:
    if name is None:
        return None
    try:
        import Stemmer  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        raise RunnerError(
            "stemming needs the package PyStemmer, which is not installed", "pip install PyStemmer"
        ) from None
    known = sorted(Stemmer.algorithms())
    if name not in known:
        raise RunnerError(f"PyStemmer has no algorithm {name!r}", f"Give one of {', '.join(known)}.")
    return Stemmer.Stemmer(name)


class _Words:
    """The numbers of the words of all passages in one buffer, that reads as the list of lists which `bm25s` takes."""

    def __init__(self) -> None:
        self.numbers = array("i")
        self.ends = array("q", [0])

    @classmethod
    def of(cls, corpus: Iterable[tuple[str, str]], tokenizer: Any, advance: Advance | None) -> _Words:
        """Read the passages of a corpus."""
        words = cls()
        for portion in _portions(corpus, advance):
            # The words of an empty text are none; `bm25s` else makes the empty word of it, which queries could have.
            for numbers in tokenizer.streaming_tokenize(portion, update_vocab=True, allow_empty=False):
                words.numbers.extend(numbers)
                words.ends.append(len(words.numbers))
        return words

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __iter__(self) -> Iterator[list[int]]:
        for start, end in pairwise(self.ends):
            yield self.numbers[start:end].tolist()


class _Tokenized(NamedTuple):
    """What `bm25s` takes for a corpus of numbered words."""

    ids: _Words
    vocab: dict[str, int]


def _bm25_index(words: _Words, tokenizer: Any, settings: Bm25) -> Any:
    """Return the index, None where there is no word in all of the corpus."""
    import bm25s  # type: ignore[import-untyped,import-not-found,unused-ignore]

    if not words.numbers:
        return None
    # SciPy makes the same index as bm25s' own code, in less memory.
    index = bm25s.BM25(k1=settings.k1, b=settings.b, method=settings.method, backend="numpy", csc_backend="scipy")
    corpus = _Tokenized(words, tokenizer.get_vocab_dict())
    index.index(corpus, create_empty_token=False, show_progress=False)
    return index


def _best(scores: AnyArray, k: int) -> IntArray:
    """Return the places of the k best scores above 0, best first; of equal ones the first."""
    found = np.flatnonzero(scores > 0)
    if len(found) > k:
        values = scores[found]
        least = np.partition(values, -k)[-k]
        above, equal = found[values > least], found[values == least]
        found = np.sort(np.concatenate([above, equal[: k - len(above)]]))
    return found[np.argsort(-scores[found], kind="stable")]


def rank_jaccard(
    corpus: Iterable[tuple[str, str]],
    queries: Sequence[tuple[str, str]],
    k: int,
    advance: Advance | None = None,
) -> Iterator[Ranked]:
    """Rank passages by the share of words that they have in common with the query, of all words of either.

    Words are runs of letters and digits in lower case, with their combining marks; how often a word comes does not
    matter. The corpus is read once, and memory does not grow with it: 16 bytes for each of the k best of each query.
    A passage of 60 words takes some 10 microseconds, and 0.04 more for each query with which it has a word in common.

    Parameters
    ----------
    corpus : iterable of (str, str)
        Ids and texts of the passages.
    queries : sequence of (str, str)
        Ids and texts of the queries.
    k : int
        How many passages to keep for a query at most.
    advance : callable, optional
        Is told how many passages have been read.

    Returns
    -------
    iterator of Ranked
        Groups of queries in their order, with float64 scores above 0 and up to 1, best first.

    Raises
    ------
    RunnerError
        k is no positive number.
    """
    _check_k(k)
    return _jaccard_groups(corpus, queries, k, advance)


def _jaccard_groups(
    corpus: Iterable[tuple[str, str]], queries: Sequence[tuple[str, str]], k: int, advance: Advance | None
) -> Iterator[Ranked]:
    vocabulary = _Vocabulary(text for _, text in queries)
    searches = [_Search(vocabulary, [text for _, text in group], k) for group in _groups(queries)]
    first = 0
    for portion in _portions(corpus, advance):
        passages, sizes = vocabulary.table(portion)
        columns = passages.T.tocsr()
        for search in searches:
            search.look(columns, sizes, first)
        first += len(portion)
    for group, search in zip(_groups(queries), searches, strict=True):
        yield Ranked([qid for qid, _ in group], search.positions, search.scores)


class _Vocabulary:
    """The words of all queries: no other word of a passage matters but for their number."""

    def __init__(self, queries: Iterable[str]) -> None:
        every = sorted(set().union(*map(_words, queries)))
        self.numbers = {word: number for number, word in enumerate(every)}
        self.words = frozenset(every)

    def table(self, texts: Sequence[str]) -> tuple[Any, FloatArray]:
        """Return which text has which word, (N, words) of 0 and 1 (sparse), and the number of all words, (N,)."""
        from scipy.sparse import csr_matrix  # type: ignore[import-untyped,unused-ignore]

        numbers, ends, sizes = array("i"), array("q", [0]), array("d")
        for text in texts:
            words = _words(text)
            sizes.append(len(words))
            numbers.extend(map(self.numbers.__getitem__, words & self.words))
            ends.append(len(numbers))
        ones = np.ones(len(numbers), dtype=np.int32)
        parts = (
            ones,
            np.frombuffer(numbers, np.intc) if numbers else np.zeros(0, np.intc),
            np.frombuffer(ends, np.int64),
        )
        return csr_matrix(parts, shape=(len(texts), len(self.words))), np.frombuffer(sizes, np.float64)


class _Search:
    """Some queries and the best passages that they have met."""

    def __init__(self, vocabulary: _Vocabulary, queries: Sequence[str], k: int) -> None:
        self.queries, self.sizes = vocabulary.table(queries)
        self.positions, self.scores = _empty(len(queries), k, np.float64)

    def look(self, columns: Any, sizes: FloatArray, first: int) -> None:
        """Take note of a portion of passages: ``columns`` (words, N), their numbers of words, place of the first."""
        common = self.queries @ columns
        common.sort_indices()
        rows = np.repeat(np.arange(common.shape[0]), np.diff(common.indptr))
        scores = common.data / (self.sizes[rows] + sizes[common.indices] - common.data)
        # Who only equals the last one kept comes too late.
        better = np.flatnonzero(scores > self.scores[rows, -1])
        met, starts = np.unique(rows[better], return_index=True)
        for row, some in zip(met.tolist(), np.split(better, starts[1:]), strict=False):
            self._keep(row, common.indices[some] + first, scores[some])

    def _keep(self, row: int, positions: IntArray, scores: FloatArray) -> None:
        """Put passages, which stand after those that are kept, among these."""
        k = self.scores.shape[1]
        every = np.concatenate([self.scores[row], scores])
        order = np.argsort(-every, kind="stable")[:k]
        self.scores[row] = every[order]
        self.positions[row] = np.concatenate([self.positions[row], positions])[order]


def _words(text: str) -> set[str]:
    if text.isascii():
        return set(_ASCII_WORDS(text.lower()))
    return set(_word_pattern().findall(text.lower()))


_ASCII_WORDS = re.compile("[a-z0-9]+").findall


@functools.cache
def _word_pattern() -> re.Pattern[str]:
    """Return the pattern of words in any script: a mark, such as a vowel sign of Hindi, belongs to its letter."""
    marks = "".join(chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code))[0] == "M")
    return re.compile(f"[^\\W_](?:[^\\W_]|[{marks}])*")


def _portions(corpus: Iterable[tuple[str, str]], advance: Advance | None) -> Iterator[list[str]]:
    texts = (text for _, text in corpus)
    while portion := list(islice(texts, PORTION)):
        yield portion
        if advance is not None:
            advance(len(portion))


def _groups(queries: Sequence[tuple[str, str]]) -> Iterator[Sequence[tuple[str, str]]]:
    for start in range(0, len(queries), GROUP):
        yield queries[start : start + GROUP]


def _empty(queries: int, k: int, kind: type[np.floating[Any]]) -> tuple[IntArray, AnyArray]:
    return np.full((queries, k), -1, dtype=np.int64), np.zeros((queries, k), dtype=kind)


def _check_k(k: int) -> None:
    if k < 1:
        raise RunnerError(f"{k} passages are asked for", "Ask for 1 or more.")
