"""Ranking by words, to compare with: BM25, and the Jaccard similarity of the sets of words.

A document without any word of the query is not a hit. Of documents with equal scores at the cut, the earlier ones in
the corpus are kept, so the same texts give the same run.
"""

from __future__ import annotations

import functools
import re
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from treceval_py._types import AnyArray, IntArray
from treceval_py.corpora.texts import Pair
from treceval_py.errors import RunnerError
from treceval_py.retrieval.exact import SparseBest, hits_of
from treceval_py.retrieval.hub import check_packages
from treceval_py.retrieval.pool import Advance
from treceval_py.runs.writing import SearchResults

Words: TypeAlias = "Callable[[str], Collection[str]]"
"""Returns the words of a text."""

PORTION = 1 << 15
"""Passages read and searched at a time."""

K1_MOST = 1e6
"""Above it words count as often as they come, and far above it the scores overflow."""

POSSESSIVES = ("'s", "’s", "＇s")
"""The ending that Lucene removes from an English word."""

STEMS = 1 << 18
"""Words whose stems are remembered; PyStemmer remembers 10,000."""


class Bm25(NamedTuple):
    """How BM25 ranks.

    Both presets use Lucene's formula and its English stop words. ``bm25`` is what the package ``bm25s`` does without
    settings: words are runs of two or more letters, digits or underscores. ``bm25-anserini`` is what Lucene's analyser
    of English does in Anserini: words by Unicode's rules (UAX 29) without the possessive 's, stems by Porter, and
    lengths of documents that are rounded as in one byte.

    Attributes
    ----------
    name : {"bm25", "bm25-anserini"}
        The preset that decides words, stems and lengths.
    k1 : float
        Weight of repeated words, from 0 to a million.
    b : float
        Penalty for the length of a document, from 0 to 1.

    References
    ----------
    C. Kamphuis, A. P. de Vries, L. Boytsov, J. Lin. Which BM25 Do You Mean? A Large-Scale Reproducibility Study of
    Scoring Variants. ECIR 2020. https://doi.org/10.1007/978-3-030-45442-5_4
    """

    name: str = "bm25"
    k1: float = 1.5
    b: float = 0.75

    @property
    def lucene(self) -> bool:
        """Return whether words, stems and lengths are Lucene's."""
        return self.name == "bm25-anserini"


BM25 = {preset.name: preset for preset in (Bm25(), Bm25("bm25-anserini", k1=0.9, b=0.4))}
"""The presets: the defaults of ``bm25s`` and of Anserini."""


def about_bm25(settings: Bm25) -> dict[str, Any]:
    """Return the record of a ranking by BM25.

    Parameters
    ----------
    settings : Bm25
        How it ranks.

    Returns
    -------
    dict
        Plain JSON.
    """
    return {"kind": "bm25", **settings._asdict()}


def rank_bm25(
    corpus: Iterable[Pair],
    queries: Sequence[Pair],
    k: int,
    settings: Bm25 = BM25["bm25"],
    advance: Advance = lambda _: None,
) -> Iterator[SearchResults]:
    """Rank passages by BM25.

    The scores of the default settings are those of the package `bm25s`, whose words and stop words are used. The corpus
    is read once and its texts are not kept, but the index is in memory: 8 bytes for each word of any query in each
    passage that has it. With 7,000 queries and passages of 60 words it was measured as 0.35 KB a passage, while it is
    built. The index of `bm25s` has all words, and all texts are in memory while it is built.

    Parameters
    ----------
    corpus : iterable of (str, str)
        Ids and texts of the passages.
    queries : sequence of (str, str)
        Ids and texts of the queries.
    k : int
        Most passages to keep for a query.
    settings : Bm25
        How to rank.
    advance : callable, optional
        Called with the number of passages read. Their index is built before the first group is returned.

    Returns
    -------
    iterator of SearchResults
        Groups of queries in their order, with float32 scores, best first.

    Raises
    ------
    RunnerError
        A setting cannot be used, or a package is not installed.
    """
    words = analyser(settings)
    asked, _, numbers = _asked(words(text) for _, text in queries)
    index = list(_tables(corpus, words, numbers, advance))
    frequencies = sum(np.bincount(table.indices, minlength=table.shape[1]) for table, _ in index)
    every = np.concatenate([np.zeros(0), *(lengths for _, lengths in index)])
    # Lucene knows of no document without a word.
    documents = int(np.count_nonzero(every)) if settings.lucene else len(every)
    average = every.sum() / max(documents, 1) or 1.0
    rarity = np.log((documents - frequencies + 0.5) / (frequencies + 0.5) + 1).astype(np.float32)
    # Words are in the order of the query, repeated ones repeated: so their scores are added.
    best = SparseBest(asked, k)
    for number, (table, lengths) in enumerate(index):
        length = _in_a_byte(lengths) if settings.lucene else lengths
        norms = settings.k1 * (1 - settings.b + settings.b * length / average)
        often = table.data.astype(np.float64)
        often /= often + np.repeat(norms, np.diff(table.indptr))
        table.data = (rarity[table.indices] * often).astype(np.float32)
        best.add(number * PORTION, table)
    yield _ranked(queries, best)


def _in_a_byte(lengths: IntArray) -> IntArray:
    """Return lengths as Lucene keeps them: up to 24 exactly, and of what is above that the first four binary digits."""
    above: IntArray = np.maximum(lengths - 24, 0)
    cut = np.maximum(np.frexp(above)[1] - 4, 0)
    rounded: IntArray = np.minimum(lengths, 24) + (above >> cut << cut)
    return rounded


def analyser(settings: Bm25) -> Words:
    """Check the settings and return the function that splits a text into words.

    Raises
    ------
    RunnerError
        A setting cannot be used, or a package is not installed.
    """
    if settings.name not in BM25:
        raise RunnerError(f"there is no BM25 called {settings.name!r}", f"There are {', '.join(BM25)}.")
    for name, value, most in (("k1", settings.k1, K1_MOST), ("b", settings.b, 1)):
        if not 0 <= value <= most:
            raise RunnerError(f"{name} of BM25 is {value}", f"Give a number from 0 to {most:,.0f}.")
    check_packages("bm25s", *(["Stemmer", "regex"] if settings.lucene else []))
    from bm25s.tokenization import Tokenizer  # type: ignore[import-untyped,import-not-found,unused-ignore]

    tokenizer = Tokenizer(stopwords="en")
    cut, stem = (_lucene_words, _porter()) if settings.lucene else (tokenizer.splitter, str)
    left_out = frozenset(tokenizer.stopwords)
    return lambda text: [stem(word) for word in cut(text.lower()) if word not in left_out]


def _porter() -> Callable[[str], str]:
    """Return Porter's stemmer. In Lucene it leaves words of two letters as they are: "us" is not "u"."""
    import Stemmer  # type: ignore[import-untyped,import-not-found,unused-ignore]

    stem = Stemmer.Stemmer("porter").stemWord
    return functools.lru_cache(STEMS)(lambda word: stem(word) if len(word) > 2 else word)


def _lucene_words(text: str) -> list[str]:
    """Return the words of a text in lower case as Lucene's analyser of English has them before it leaves any out."""
    words = (_ASCII_WORDS if text.isascii() else _unicode_words())(text)
    return [word[:-2] if word[-2:] in POSSESSIVES else word for word in words]


_PART = r"(?:[a-z](?:[.':]?[a-z])*+|[0-9](?:[.',;]?[0-9])*+)++"
_ASCII_WORDS = re.compile(f"_*+{_PART}(?:_++{_PART})*+_*+").findall
"""Returns the words of a text in ASCII; it takes a fourth of the time of what finds those of any text."""


@functools.cache
def _unicode_words() -> Words:
    """Return what finds the words of any script: what is between two boundaries and has a letter or a digit.

    Scripts without spaces, such as Thai, have no boundaries, and stay whole as in Lucene.
    """
    import regex  # type: ignore[import-untyped,import-not-found,unused-ignore]

    split = regex.compile(r"(?V1w)\b(?!(?<=\p{LB=SA})\p{LB=SA})").split
    words = "".join(rf"\p{{WB={kind}}}" for kind in ("ALetter", "Hebrew_Letter", "Numeric", "Katakana"))
    is_word = regex.compile(rf"[{words}\p{{Han}}\p{{Hiragana}}\p{{LB=SA}}]").search
    return lambda text: [part for part in split(text) if is_word(part)]


def rank_jaccard(
    corpus: Iterable[Pair], queries: Sequence[Pair], k: int, advance: Advance = lambda _: None
) -> Iterator[SearchResults]:
    """Rank passages by `similarity.jaccard`: the share of words in common with the query, of all words of either.

    Words are separated by white space and compared as written; repetitions do not matter. The corpus is
    read once, and memory does not grow with it: 8 bytes for each of the k best of each query. A passage of 60 words
    takes some 10 microseconds, and 0.1 more for each query with which it has a word in common. Different shares have
    different scores while the words of the query times those of the passage are fewer than eight millions.

    Parameters
    ----------
    corpus : iterable of (str, str)
        Ids and texts of the passages.
    queries : sequence of (str, str)
        Ids and texts of the queries.
    k : int
        Most passages to keep for a query.
    advance : callable, optional
        Called with the number of passages read.

    Returns
    -------
    iterator of SearchResults
        Groups of queries in their order, with float32 scores above 0 and up to 1, best first.
    """

    def words(text: str) -> set[str]:
        return set(text.split())

    asked, asked_sizes, numbers = _asked(words(text) for _, text in queries)
    best = SparseBest(asked, k)
    for number, (table, sizes) in enumerate(_tables(corpus, words, numbers, advance)):

        def share(common: AnyArray, rows: IntArray, places: IntArray, sizes: IntArray = sizes) -> Any:
            return (common / (asked_sizes[rows] + sizes[places] - common)).astype(np.float32)

        best.add(number * PORTION, table, share)
    yield _ranked(queries, best)


def _ranked(queries: Sequence[Pair], best: SparseBest) -> SearchResults:
    hits = hits_of(best.keys)
    return SearchResults([qid for qid, _ in queries], hits.positions, hits.scores)


def _asked(queries: Iterable[Collection[str]]) -> tuple[Any, IntArray, dict[str, int]]:
    """Return the words of queries as a table, their numbers of words, and the numbers that words have.

    No other word of a passage matters but for the passage's length.
    """
    rows = list(queries)
    numbers = {word: number for number, word in enumerate(sorted(set().union(*rows)))}
    return *_table(rows, numbers), numbers


def _tables(
    corpus: Iterable[Pair], words: Words, numbers: dict[str, int], advance: Advance
) -> Iterator[tuple[Any, IntArray]]:
    """Yield the counts of words of passages, and how many each has, for each portion."""
    texts = (text for _, text in corpus)
    while portion := list(islice(texts, PORTION)):
        table, sizes = _table(map(words, portion), numbers)
        table.sum_duplicates()
        yield table, sizes
        advance(len(portion))


def _table(rows: Iterable[Collection[str]], numbers: dict[str, int]) -> tuple[Any, IntArray]:
    """Return words as a sparse matrix (rows, numbered words) of ones in their order, and how many each row has."""
    from scipy.sparse import csr_matrix  # type: ignore[import-untyped,unused-ignore]

    known, ends, sizes = array("i"), array("q", [0]), array("q")
    for row in rows:
        known.extend(numbers[word] for word in row if word in numbers)
        ends.append(len(known))
        sizes.append(len(row))
    parts = np.ones(len(known), dtype=np.float32), np.array(known, np.intc), np.array(ends, np.int64)
    return csr_matrix(parts, shape=(len(sizes), len(numbers))), np.array(sizes, np.int64)
