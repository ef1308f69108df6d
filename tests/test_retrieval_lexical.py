"""Rankings by words: against the recorded runs of data/, plain loops over sets, and bm25s itself."""

from __future__ import annotations

import bisect
import math
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

# BM25 is bm25s', which comes with the extra `retrieve`; writing a run takes its pyarrow.
pytest.importorskip("bm25s")
pytest.importorskip("pyarrow")

import bm25s

from treceval_py.data.ids import Ids
from treceval_py.errors import RunnerError
from treceval_py.retrieval import lexical
from treceval_py.retrieval.lexical import BM25, Bm25, analyser, rank_bm25, rank_jaccard
from treceval_py.runs.writing import SearchResults, write_search_results

Pairs = list[tuple[str, str]]
Found = dict[str, dict[int, float]]

DATA = Path(__file__).parent.parent / "data"
STOPS = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with"
)
"""Lucene's."""

RANKERS = pytest.mark.parametrize("rank", [rank_bm25, rank_jaccard])


def rows(name: str) -> Pairs:
    lines = (DATA / name).read_text("utf-8").splitlines()
    return [(identifier, text) for identifier, text in (line.split("\t") for line in lines)]


def numbered(*texts: str) -> Pairs:
    return [(str(number), text) for number, text in enumerate(texts)]


def found(groups: Iterable[SearchResults]) -> Found:
    """Return positions and scores by query, best first."""
    return {
        qid: {at: score for at, score in zip(positions, scores, strict=True) if at >= 0}
        for group in groups
        for qid, positions, scores in zip(group.qids, group.positions.tolist(), group.scores.tolist(), strict=True)
    }


def jaccard_by_loops(corpus: Pairs, queries: Pairs, k: int) -> Found:
    every: Found = {}
    for qid, query in queries:
        q, every_d = set(query.split()), [set(text.split()) for _, text in corpus]
        scores = [len(q & d) / (len(q | d) or 1) for d in every_d]
        best = sorted(range(len(corpus)), key=lambda at: -scores[at])[:k]
        every[qid] = {at: float(np.float32(scores[at])) for at in best if scores[at] > 0}
    return every


def recorded(name: str) -> dict[tuple[str, str], float]:
    lines = [line.split() for line in (DATA / "runs" / name).read_text("utf-8").splitlines()]
    return {(qid, docid): float(score) for qid, _, docid, _, score, _ in lines}


def test_scores_and_documents_are_those_of_the_shipped_run() -> None:
    corpus, queries = rows("collection.tsv"), rows("queries.tsv")
    got = found(rank_bm25(corpus, queries, 100))
    flat = {(qid, corpus[at][0]): score for qid, documents in got.items() for at, score in documents.items()}
    assert flat == recorded("bm25.txt")


def test_the_written_run_stands_in_the_order_in_which_trec_eval_takes_the_shipped_one(tmp_path: Path) -> None:
    corpus, queries = rows("collection.tsv"), rows("queries.tsv")
    ids = Ids.from_bytes([docid.encode() for docid, _ in corpus])
    write_search_results(tmp_path / "r", rank_bm25(corpus, queries, 100), ids, "bm25", k=100)
    written = [line.split() for line in (tmp_path / "r").read_text("utf-8").splitlines()]
    # By descending score, and of equal scores by descending id.
    shipped = sorted(((score, docid, qid) for (qid, docid), score in recorded("bm25.txt").items()), reverse=True)
    assert [(qid, docid) for qid, _, docid, *_ in written] == [
        (qid, docid) for qid, _ in queries for _, docid, of in shipped if of == qid
    ]


def test_jaccard_of_the_sample_is_that_of_plain_sets() -> None:
    corpus, queries = rows("collection.tsv"), rows("queries.tsv")
    assert found(rank_jaccard(corpus, queries, 100)) == jaccard_by_loops(corpus, queries, 100)


@pytest.mark.parametrize("k", [1, 7, 400])
def test_jaccard_is_that_of_plain_sets_over_many_portions(monkeypatch: pytest.MonkeyPatch, k: int) -> None:
    monkeypatch.setattr(lexical, "PORTION", 23)
    random = np.random.default_rng(5)
    corpus = numbered(*[" ".join(f"w{n}" for n in random.integers(0, 30, random.integers(0, 9))) for _ in range(300)])
    queries = numbered(*[" ".join(f"w{n}" for n in random.integers(0, 33, random.integers(0, 5))) for _ in range(20)])
    queries = [(qid, text or "nothing") for qid, text in queries]
    got, expected = found(rank_jaccard(corpus, queries, k)), jaccard_by_loops(corpus, queries, k)
    assert {qid: list(documents.items()) for qid, documents in got.items()} == {
        qid: list(documents.items()) for qid, documents in expected.items()
    }


@RANKERS
def test_of_equal_scores_the_earlier_passages_are_kept(
    rank: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lexical, "PORTION", 2)
    corpus = numbered("plum tart", "apple tart", "pear tart", "apple cake", "apple tree", "apple plum")
    assert list(found(rank(corpus, [("q", "apple")], 2))["q"]) == [1, 3]


@RANKERS
def test_a_passage_without_a_word_of_the_query_is_no_hit(rank: Callable[..., Any]) -> None:
    [group] = rank(numbered("apple tart", "plum cake", "pear pie"), [("q", "apple"), ("none", "quince")], 3)
    assert group.positions.tolist() == [[0, -1, -1], [-1, -1, -1]]
    assert group.scores[1].tolist() == [-np.inf] * 3


@pytest.mark.parametrize("name", BM25)
@pytest.mark.parametrize("query", ["", "?!", "the"], ids=["empty", "no words", "stop word"])
def test_a_query_without_words_has_no_hits(name: str, query: str) -> None:
    if name == "bm25-anserini":
        pytest.importorskip("Stemmer")
    corpus = numbered("", "?!", "the apple")
    assert found(rank_bm25(corpus, [("q", query)], 3, BM25[name])) == {"q": {}}
    assert found(rank_jaccard(corpus, [("q", ""), ("r", "?! \t")], 3)) == {"q": {}, "r": {1: 1.0}}


@RANKERS
@pytest.mark.parametrize("corpus", [[], numbered("", " ")], ids=["no passages", "no words"])
def test_a_corpus_without_words_has_no_hits(rank: Callable[..., Any], corpus: Pairs) -> None:
    assert found(rank(corpus, [("q", "apple")], 2)) == {"q": {}}


@RANKERS
def test_more_passages_than_there_are_can_be_asked_for(rank: Callable[..., Any]) -> None:
    [group] = rank(numbered("apple", "pear"), [("q", "apple pear")], 5)
    assert group.positions.tolist() == [[0, 1, -1, -1, -1]]


@RANKERS
def test_every_passage_that_was_read_is_told(rank: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "PORTION", 4)
    told: list[int] = []
    list(rank(numbered(*["apple"] * 10), [("q", "apple")], 1, advance=told.append))
    assert told == [4, 4, 2]


@RANKERS
def test_the_corpus_is_read_once_and_as_a_stream(rank: Callable[..., Any]) -> None:
    begun = 0

    class Stream:
        def __iter__(self) -> Iterator[tuple[str, str]]:
            nonlocal begun
            begun += 1
            yield from numbered("apple", "pear")

    assert list(found(rank(Stream(), [("q", "pear")], 1))["q"]) == [1]
    assert begun == 1


def test_jaccard_takes_words_as_they_are_written() -> None:
    corpus, queries = (
        numbered("Apple, apple", "apple\u00a0Apple,", "cafe\u0301"),
        [("q", "Apple, tart"), ("r", "caf\u00e9")],
    )
    third = float(np.float32(1 / 3))
    assert found(rank_jaccard(corpus, queries, 3)) == {"q": {0: third, 1: third}, "r": {}}


@pytest.mark.parametrize("settings", [Bm25(), Bm25(k1=0.9, b=0.4), Bm25(k1=0, b=1)], ids=str)
def test_scores_are_those_of_bm25s(settings: Bm25) -> None:
    # Passages without words are there, as they make the others longer than average.
    corpus, queries = [*rows("collection.tsv"), ("x", ""), ("y", "?!")], rows("queries.tsv")[:5]

    def tokens(texts: list[str]) -> Any:
        return bm25s.tokenize(texts, stopwords="en", return_ids=False, show_progress=False)

    index = bm25s.BM25(k1=settings.k1, b=settings.b)
    index.index(tokens([text for _, text in corpus]), show_progress=False)
    for qid, query in queries:
        scores = index.get_scores(tokens([query])[0])
        # Which numbers bm25s rounds to float32 on the way depends on NumPy's version.
        expected = {at: pytest.approx(score, rel=1e-6) for at, score in enumerate(scores.tolist()) if score > 0}
        assert found(rank_bm25(corpus, [(qid, query)], len(corpus), settings))[qid] == expected


def lucene_lengths() -> list[int]:
    """Return the 256 lengths that Lucene can store (SmallFloat.byte4ToInt): 24 as they are, others as a small float."""
    floats = [bits if bits < 8 else (bits % 8 + 8) << (bits // 8 - 1) for bits in range(232)]
    return [*range(24), *(24 + value for value in floats)]


def uax29(text: str) -> list[str]:
    """Cut ASCII text into words by the rules WB6 to WB13b, a character at a time."""
    kinds = ["a" if c.isalpha() else "n" if c.isdigit() else c for c in text] + [" "]
    words: list[str] = []
    word = ""
    for at, (c, kind) in enumerate(zip(text, kinds, strict=False)):
        before, after = kinds[at - 1] if at else " ", kinds[at + 1]
        inside = (kind in ".':" and before == after == "a") or (kind in ".',;" and before == after == "n")
        if kind in "an_" or inside:
            word += c
        elif word:
            words, word = [*words, word], ""
    return [each for each in [*words, word] if each.strip("_")]


def bm25_in_float64(corpus: Pairs, queries: Pairs, stem: Callable[[str], str]) -> Found:
    def words(text: str) -> list[str]:
        cut = [word.removesuffix("'s") for word in uax29(text.lower())]
        return [stem(word) if len(word) > 2 else word for word in cut if word not in STOPS.split()]

    documents, stored = [words(text) for _, text in corpus], lucene_lengths()
    held = [document for document in documents if document]
    average = sum(map(len, held)) / len(held)
    every: Found = {}
    for qid, query in queries:
        scores = dict.fromkeys(range(len(corpus)), 0.0)
        for word in words(query):
            df = sum(word in document for document in held)
            idf = math.log(1 + (len(held) - df + 0.5) / (df + 0.5))
            for at, document in enumerate(documents):
                length = stored[bisect.bisect_right(stored, len(document)) - 1]
                tf = document.count(word)
                scores[at] += idf * tf / (tf + 0.9 * (1 - 0.4 + 0.4 * length / average))
        every[qid] = {at: score for at, score in scores.items() if score > 0}
    return every


@pytest.mark.parametrize("stemmer", ["none", "porter"])
def test_bm25_as_anserini_has_it_equals_a_plain_implementation(stemmer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stem: Callable[[str], str] = str
    if stemmer == "none":
        monkeypatch.setitem(sys.modules, "Stemmer", fake_stemmer(str))
    else:
        stem = pytest.importorskip("Stemmer").Stemmer("porter").stemWord
    long = " ".join(f"w{number}" for number in range(997)) + " the river's mouth: U.S. 3.14, a_b. 1,000 _ x:y us"
    corpus = [*rows("collection.tsv"), ("e", ""), ("s", "The, and?"), ("long", long)]
    queries = [*rows("queries.tsv"), ("x", "river rivers mouth mouth u.s 3.14 a_b 1,000 x:y us US'S")]
    got = found(rank_bm25(corpus, queries, len(corpus), BM25["bm25-anserini"]))
    expected = bm25_in_float64(corpus, queries, stem)
    assert {qid: set(hits) for qid, hits in got.items()} == {qid: set(hits) for qid, hits in expected.items()}
    for qid, hits in got.items():
        assert hits == {at: pytest.approx(score, rel=1e-6) for at, score in expected[qid].items()}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        # Most are of Lucene's own tests of its StandardAnalyzer.
        ("O'Reilly you're she's don’t Jim’s", "o'reilly you're she don’t jim"),
        ("21.35 216.239.63.104 R2D2 B2B 1,000", "21.35 216.239.63.104 r2d2 b2b 1,000"),
        ("some-dashed-phrase dogs,chase,cats ac/dc AT&T 1.a", "some dashed phrase dogs chase cats ac dc at t 1 a"),
        ("word_having_underscore _x_ ___ x__1", "word_having_underscore _x_ x__1"),
        ("안녕하세요 한글입니다", "안녕하세요 한글입니다"),
        ("我是中国人。 １２３４ Tests ", "我 是 中 国 人 １２３４ tests"),
        ("ひら カタカナ", "ひ ら カタカナ"),
        ("การที่ได้ต้อง", "การที่ได้ต้อง"),
        ("हिन्दी भाषा cafe\u0301", "हिन्दी भाषा cafe\u0301"),
    ],
)
def test_words_are_lucenes(text: str, words: str) -> None:
    assert lexical._lucene_words(text.lower()) == words.split()


def test_words_of_ascii_and_of_other_texts_are_cut_alike() -> None:
    random = np.random.default_rng(3)
    for length in range(200):
        text = "".join(random.choice(list("aab12_.,;:' -"), length))
        # A letter of another alphabet makes it a text that is not in ASCII.
        assert lexical._lucene_words(f"{text} ж") == [*lexical._lucene_words(text), "ж"]


def fake_stemmer(stem: Callable[[str], str] = lambda word: word.removesuffix("s")) -> types.ModuleType:
    """Stand in for PyStemmer."""

    class Stemmer:
        def __init__(self, name: str) -> None:
            assert name == "porter"

        def stemWord(self, word: str) -> str:
            return stem(word)

    module = types.ModuleType("Stemmer")
    module.__spec__ = ModuleSpec("Stemmer", None)
    module.Stemmer = Stemmer  # type: ignore[attr-defined]
    return module


def test_stems_of_words_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "Stemmer", fake_stemmer())
    corpus, queries = numbered("apples", "pear"), [("q", "apple"), ("r", "pears pearss")]
    got = found(rank_bm25(corpus, queries, 2, BM25["bm25-anserini"]))
    assert {qid: list(hits) for qid, hits in got.items()} == {"q": [0], "r": [1]}


def test_bm25_says_nothing_on_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    list(rank_bm25(numbered("apple", "pear"), [("q", "pear")], 1))
    assert capfd.readouterr() == ("", "")


def test_settings_that_mean_nothing_are_refused_without_texts(
    monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setitem(sys.modules, "Stemmer", fake_stemmer())
    told = []

    def refuse(settings: Any) -> None:
        with pytest.raises(RunnerError) as caught:
            analyser(Bm25(**settings))
        told.append(str(caught.value))

    values = [{"k1": -0.001}, {"k1": float("nan")}, {"k1": 1_000_000.001}, {"b": -0.001}, {"b": 1.001}]
    for settings in (*values, {"name": "anserini"}):
        refuse(settings)
    for accepted in ({"k1": 0, "b": 0}, {"k1": 1_000_000, "b": 1, "name": "bm25-anserini"}):
        assert analyser(Bm25(**accepted))("The river's") == ["river"]
    for package, name in (("Stemmer", "bm25-anserini"), ("regex", "bm25-anserini"), ("bm25s", "bm25")):
        monkeypatch.setitem(sys.modules, package, None)
        refuse({"name": name})
    assert told == snapshot


def test_the_record_has_the_settings() -> None:
    # The defaults of bm25s 0.3.16, and those of Anserini's IndexCollection and SearchCollection.
    assert lexical.about_bm25(BM25["bm25"]) == {"kind": "bm25", "name": "bm25", "k1": 1.5, "b": 0.75}
    assert lexical.about_bm25(BM25["bm25-anserini"]) == {"kind": "bm25", "name": "bm25-anserini", "k1": 0.9, "b": 0.4}
