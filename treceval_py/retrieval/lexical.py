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
from typing import Any, NamedTuple

import numpy as np

from treceval_py._types import AnyArray, FloatArray, IntArray
from treceval_py.errors import RunnerError
from treceval_py.retrieval.hub import check_packages
from treceval_py.retrieval.pool import Advance
from treceval_py.retrieval.products import Best
from treceval_py.runs.writing import SearchResults

GROUP = 256
"""Queries returned at a time."""

PORTION = 1 << 15
"""Passages read and searched at a time."""

METHODS = ("lucene", "robertson", "atire")
"""The variants of BM25, as `bm25s` calls them, that give a document without a word of the query no score."""

K1_MOST = 1e6
"""Above it words count as often as they come, and far above it the scores overflow."""

POSSESSIVES = ("'s", "’s", "＇s")
"""The ending that Lucene removes from an English word."""

STEMS = 1 << 18
"""Words whose stems are remembered; PyStemmer remembers 10,000."""

STOPWORDS = ("da", "de", "en", "es", "fr", "it", "ko", "nl", "no", "pt", "ru", "sv", "tr", "zh")
"""The languages of which `bm25s` has stop words; those of ``en`` are Lucene's."""


class Bm25(NamedTuple):
    """How BM25 ranks; the defaults are those of ``bm25s``.

    Attributes
    ----------
    k1 : float
        Weight of repeated words, from 0 to a million.
    b : float
        Penalty for the length of a document, from 0 to 1.
    method : {"lucene", "robertson", "atire"}
        The variant.
    stopwords : str or None
        The language of the stop words, such as ``"en"``; None to keep all words.
    stemmer : str or None
        The algorithm of the package PyStemmer that cuts words to their stems, such as ``"english"``; None for no
        stemming.
    lucene : bool
        Whether words and lengths are Lucene's: words by Unicode's rules (UAX 29) and without the possessive 's,
        lengths rounded as for one byte. Otherwise words are runs of two or more letters, digits or underscores, and
        lengths are exact.

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
    lucene: bool = False


BM25 = {"bm25s": Bm25(), "anserini": Bm25(k1=0.9, b=0.4, stemmer="porter", lucene=True)}
"""Defaults of other programs' BM25."""


def about_bm25(settings: Bm25) -> dict[str, Any]:
    """Return the record of a ranking by BM25: the settings, and the rules for words and lengths.

    Parameters
    ----------
    settings : Bm25
        How it ranks.

    Returns
    -------
    dict
        Plain JSON.
    """
    name = next((name for name, each in BM25.items() if each == settings), None)
    words, lengths = (
        ("UAX 29, lower case, without the possessive 's", "as in one byte")
        if settings.lucene
        else ("two or more letters, digits or underscores, lower case", "exact")
    )
    return {"kind": "bm25", "name": name, **settings._asdict(), "words": words, "lengths": lengths}


def rank_bm25(
    corpus: Iterable[tuple[str, str]],
    queries: Sequence[tuple[str, str]],
    k: int,
    settings: Bm25 = Bm25(),  # noqa: B008 - it cannot be changed
    advance: Advance = lambda _: None,
) -> Iterator[SearchResults]:
    """Rank passages by BM25.

    Texts are cut into words by the package `bm25s`, and the scores of the default settings are its scores. The corpus
    is read once and its texts are not kept, but the index is in memory: 8 bytes for each word of any query in each
    passage that has it. With 7,000 queries and passages of 60 words it was measured as 0.35 KB a passage, while it is
    built.

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
    counts, lengths = [], []
    for portion in _portions(corpus, advance):
        table, sizes = _table(map(words, portion), numbers)
        table.sum_duplicates()
        counts.append(table)
        lengths.append(sizes)
    index = _bm25_scores(counts, lengths, settings)
    for start in range(0, len(queries), GROUP):
        # Words are in the order of the query, repeated ones repeated: so their scores are added.
        best = Best(asked[start : start + GROUP], k)
        for number, columns in enumerate(index):
            best.look(columns, number * PORTION)
        yield SearchResults([qid for qid, _ in queries[start : start + GROUP]], best.positions, best.scores)


def _bm25_scores(index: list[Any], lengths: Sequence[IntArray], settings: Bm25) -> list[Any]:
    """Put scores of words (words, n) in the place of their counts (n, words), for each portion of passages."""
    frequencies = sum(np.bincount(counts.indices, minlength=counts.shape[1]) for counts in index)
    every = np.concatenate([np.zeros(0), *lengths])
    # Lucene knows of no document without a word.
    documents = int(np.count_nonzero(every)) if settings.lucene else len(every)
    average = every.sum() / max(documents, 1) or 1.0
    for number, counts in enumerate(index):
        length = _in_a_byte(lengths[number]) if settings.lucene else lengths[number]
        norms = settings.k1 * (1 - settings.b + settings.b * length / average)
        often = counts.data.astype(np.float64)
        often /= often + np.repeat(norms, np.diff(counts.indptr))
        rarity = _rarity(settings, np.take(frequencies, counts.indices), documents)
        counts.data = (rarity.astype(np.float32) * often).astype(np.float32)
        index[number] = counts.T.tocsr()
    return index


def _rarity(settings: Bm25, found: FloatArray, documents: int) -> FloatArray:
    """Return the factor of each word, which is in ``found`` of the documents."""
    if settings.method == "atire":
        return (settings.k1 + 1) * np.log(documents / found)
    odds = (documents - found + 0.5) / (found + 0.5)
    return np.log(odds + 1 if settings.method == "lucene" else np.maximum(odds, 1))


def _in_a_byte(lengths: IntArray) -> IntArray:
    """Return lengths as Lucene keeps them: up to 24 exactly, and of what is above that the first four binary digits."""
    above: IntArray = np.maximum(lengths - 24, 0)
    cut = np.maximum(np.frexp(above)[1] - 4, 0)
    rounded: IntArray = np.minimum(lengths, 24) + (above >> cut << cut)
    return rounded


def analyser(settings: Bm25) -> Callable[[str], list[str]]:
    """Check the settings and return the function that splits a text into words.

    Raises
    ------
    RunnerError
        A setting cannot be used, or a package is not installed.
    """
    for fits, fault, todo in (
        (0 <= settings.k1 <= K1_MOST, f"k1 of BM25 is {settings.k1}", f"Give a number from 0 to {K1_MOST:,.0f}."),
        (0 <= settings.b <= 1, f"b of BM25 is {settings.b}", "Give a number from 0 to 1."),
        (settings.method in METHODS, f"BM25 has no method {settings.method!r}", f"Give one of {', '.join(METHODS)}."),
        (
            settings.stopwords in (None, *STOPWORDS),
            f"there are no stop words of the language {settings.stopwords!r}",
            f"Give one of {', '.join(STOPWORDS)}, or none.",
        ),
    ):
        if not fits:
            raise RunnerError(fault, todo)
    check_packages("bm25s", *(["Stemmer"] if settings.stemmer else []), *(["regex"] if settings.lucene else []))
    from bm25s.tokenization import Tokenizer  # type: ignore[import-untyped,import-not-found,unused-ignore]

    made, stem = Tokenizer(stopwords=settings.stopwords), _stemmer(settings)
    cut, left_out = _lucene_words if settings.lucene else made.splitter, frozenset(made.stopwords or ())
    return lambda text: [stem(word) for word in cut(text.lower()) if word not in left_out]


def _stemmer(settings: Bm25) -> Callable[[str], str]:
    if settings.stemmer is None:
        return str
    import Stemmer  # type: ignore[import-untyped,import-not-found,unused-ignore]

    known = sorted(Stemmer.algorithms())
    if settings.stemmer not in known:
        raise RunnerError(f"PyStemmer has no algorithm {settings.stemmer!r}", f"Give one of {', '.join(known)}.")
    stem = functools.lru_cache(STEMS)(Stemmer.Stemmer(settings.stemmer).stemWord)
    # Lucene leaves words of two letters as they are: "us" is not "u".
    return (lambda word: stem(word) if len(word) > 2 else word) if settings.lucene else stem


def _lucene_words(text: str) -> list[str]:
    """Return the words of a text in lower case as Lucene's analyser of English has them before it leaves any out."""
    words = (_ASCII_WORDS if text.isascii() else _unicode_words())(text)
    return [word[:-2] if word[-2:] in POSSESSIVES else word for word in words]


def _pattern(letter: str, digit: str, join: str, in_words: str, in_numbers: str, *others: str) -> str:
    """Return the pattern of words by UAX 29, from those of characters, and of ``others`` that are words."""
    part = f"(?:{letter}(?:{in_words}?{letter})*+|{digit}(?:{in_numbers}?{digit})*+)++"
    return "|".join([f"{join}*+{part}(?:{join}++{part})*+{join}*+", *others])


_ASCII_WORDS = re.compile(_pattern("[a-z]", "[0-9]", "_", "[.':]", "[.',;]")).findall


@functools.cache
def _unicode_words() -> Callable[[str], list[str]]:
    """Return what finds the words of any script; it takes seven times as long."""
    import regex  # type: ignore[import-untyped,import-not-found,unused-ignore]

    def one_of(*properties: str) -> str:
        # Marks and the like belong to the character before them.
        return f"(?:[{''.join(properties)}][\\p{{WB=Extend}}\\p{{WB=Format}}\\p{{WB=ZWJ}}]*+)"

    pattern = _pattern(
        one_of(r"\p{WB=ALetter}", r"\p{WB=Hebrew_Letter}"),
        one_of(r"\p{WB=Numeric}"),
        one_of(r"\p{WB=ExtendNumLet}"),
        one_of(r"\p{WB=MidLetter}", r"\p{WB=MidNumLet}", "':"),
        one_of(r"\p{WB=MidNum}", r"\p{WB=MidNumLet}", "'"),
        one_of(r"\p{WB=Katakana}") + "+",
        one_of(r"\p{Han}", r"\p{Hiragana}"),
        one_of(r"\p{LB=SA}") + "+",
    )
    find: Callable[[str], list[str]] = regex.compile(pattern).findall
    return find


def rank_jaccard(
    corpus: Iterable[tuple[str, str]], queries: Sequence[tuple[str, str]], k: int, advance: Advance = lambda _: None
) -> Iterator[SearchResults]:
    """Rank passages by `similarity.jaccard`: the share of words in common with the query, of all words of either.

    Words are separated by white space and compared as written; repetitions do not matter. The corpus is
    read once, and memory does not grow with it: 16 bytes for each of the k best of each query. A passage of 60 words
    takes some 10 microseconds, and 0.1 more for each query with which it has a word in common.

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
        Groups of queries in their order, with float64 scores above 0 and up to 1, best first.
    """
    asked, asked_sizes, numbers = _asked(set(text.split()) for _, text in queries)
    best = Best(asked, k, np.float64)
    first = 0
    for portion in _portions(corpus, advance):
        table, sizes = _table((set(text.split()) for text in portion), numbers)

        def share(common: AnyArray, rows: IntArray, places: IntArray, sizes: IntArray = sizes) -> FloatArray:
            shares: FloatArray = common / (asked_sizes[rows] + sizes[places] - common)
            return shares

        best.look(table.T.tocsr(), first, share)
        first += len(portion)
    for start in range(0, len(queries), GROUP):
        some = slice(start, start + GROUP)
        yield SearchResults([qid for qid, _ in queries[some]], best.positions[some], best.scores[some])


def _asked(queries: Iterable[Collection[str]]) -> tuple[Any, IntArray, dict[str, int]]:
    """Return the words of queries as a table, their numbers of words, and the numbers that words have.

    No other word of a passage matters but for the passage's length.
    """
    rows = list(queries)
    numbers = {word: number for number, word in enumerate(sorted(set().union(*rows)))}
    return *_table(rows, numbers), numbers


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


def _portions(corpus: Iterable[tuple[str, str]], advance: Advance) -> Iterator[list[str]]:
    texts = (text for _, text in corpus)
    while portion := list(islice(texts, PORTION)):
        yield portion
        advance(len(portion))
