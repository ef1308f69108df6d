"""Rankings by words: against the recorded runs of data/, plain loops over sets, and bm25s itself."""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

# BM25 is bm25s', which comes with the extra `retrieve`; writing a run takes its pyarrow.
pytest.importorskip("bm25s")
pytest.importorskip("pyarrow")

import bm25s

from treceval_py.data.ids import Ids
from treceval_py.errors import RunnerError
from treceval_py.retrieval import lexical
from treceval_py.retrieval.lexical import Bm25, check_bm25, rank_bm25, rank_jaccard
from treceval_py.retrieval.run_file import Ranked, write_ranked

Pairs = list[tuple[str, str]]
Found = dict[str, dict[int, float]]

DATA = Path(__file__).parent.parent / "data"
RANKERS = pytest.mark.parametrize("rank", [rank_bm25, rank_jaccard])


def rows(name: str) -> Pairs:
    lines = (DATA / name).read_text("utf-8").splitlines()
    return [(identifier, text) for identifier, text in (line.split("\t") for line in lines)]


def numbered(*texts: str) -> Pairs:
    return [(str(number), text) for number, text in enumerate(texts)]


def found(groups: Iterable[Ranked]) -> Found:
    """Return positions and scores by query, best first."""
    return {
        qid: {at: score for at, score in zip(positions, scores, strict=True) if at >= 0}
        for group in groups
        for qid, positions, scores in zip(group.qids, group.positions.tolist(), group.scores.tolist(), strict=True)
    }


def words_of(text: str) -> set[str]:
    return set(re.findall("[a-z0-9]+", text.lower()))


def jaccard_by_loops(corpus: Pairs, queries: Pairs, k: int) -> Found:
    every: Found = {}
    for qid, query in queries:
        q = words_of(query)
        scores = [len(q & words_of(text)) / len(q | words_of(text)) for _, text in corpus]
        best = sorted(range(len(corpus)), key=lambda at: -scores[at])[:k]
        every[qid] = {at: scores[at] for at in best if scores[at] > 0}
    return every


def recorded(name: str) -> dict[tuple[str, str], float]:
    lines = [line.split() for line in (DATA / "runs" / name).read_text("utf-8").splitlines()]
    return {(qid, docid): float(score) for qid, _, docid, _, score, _ in lines}


@pytest.mark.parametrize(("rank", "name"), [(rank_bm25, "bm25.txt"), (rank_jaccard, "jaccard.txt")])
def test_scores_and_documents_are_those_of_the_shipped_run(rank: Callable[..., Any], name: str) -> None:
    corpus, queries = rows("collection.tsv"), rows("queries.tsv")
    got = found(rank(corpus, queries, 100))
    flat = {(qid, corpus[at][0]): score for qid, documents in got.items() for at, score in documents.items()}
    assert flat == recorded(name)


def test_the_written_run_stands_in_the_order_in_which_trec_eval_takes_the_shipped_one(tmp_path: Path) -> None:
    corpus, queries = rows("collection.tsv"), rows("queries.tsv")
    ids = Ids.from_bytes([docid.encode() for docid, _ in corpus])
    write_ranked(tmp_path / "r", rank_jaccard(corpus, queries, 100), ids, "jaccard", k=100)
    written = [line.split() for line in (tmp_path / "r").read_text("utf-8").splitlines()]
    # By descending score, and of equal scores by descending id.
    shipped = sorted(((score, docid, qid) for (qid, docid), score in recorded("jaccard.txt").items()), reverse=True)
    assert [(qid, docid) for qid, _, docid, *_ in written] == [
        (qid, docid) for qid, _ in queries for _, docid, of in shipped if of == qid
    ]


@pytest.mark.parametrize("k", [1, 7, 400])
def test_jaccard_is_that_of_plain_sets_over_many_portions(monkeypatch: pytest.MonkeyPatch, k: int) -> None:
    monkeypatch.setattr(lexical, "PORTION", 23)
    monkeypatch.setattr(lexical, "GROUP", 7)
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
    assert group.scores[1].tolist() == [0, 0, 0]


@RANKERS
@pytest.mark.parametrize("query", ["", "?!", "the"], ids=["empty", "no words", "stop word"])
def test_a_query_without_words_has_no_hits(rank: Callable[..., Any], query: str) -> None:
    assert found(rank(numbered("", "?!", "apple"), [("q", query)], 3)) == {"q": {}}


@RANKERS
@pytest.mark.parametrize("corpus", [[], numbered("", "?")], ids=["no passages", "no words"])
def test_a_corpus_without_words_has_no_hits(rank: Callable[..., Any], corpus: Pairs) -> None:
    assert found(rank(corpus, [("q", "apple")], 2)) == {"q": {}}


@RANKERS
def test_more_passages_than_there_are_can_be_asked_for(rank: Callable[..., Any]) -> None:
    [group] = rank(numbered("apple", "pear"), [("q", "apple pear")], 5)
    assert group.positions.tolist() == [[0, 1, -1, -1, -1]]


@RANKERS
def test_queries_come_in_their_order_in_groups(rank: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "GROUP", 2)
    groups = list(rank(numbered("apple"), [("b", "apple"), ("a", "apple"), ("c", "pear")], 1))
    assert [group.qids for group in groups] == [["b", "a"], ["c"]]
    assert [group.positions.tolist() for group in groups] == [[[0], [0]], [[-1]]]


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


def test_jaccard_takes_words_of_any_script_whole() -> None:
    # Hindi writes vowels as marks, which Python's \\w leaves out; é as a letter and its accent is one word as well.
    corpus = numbered("हिन्दी भाषा", "हन्द", "cafe\u0301 noir", "cafe noir", "ΟΔΟΣ", "snake_case")
    queries = numbered("हिन्दी", "cafe\u0301", "οδος", "case")
    assert found(rank_jaccard(corpus, queries, 3)) == {"0": {0: 1 / 2}, "1": {2: 1 / 2}, "2": {4: 1.0}, "3": {5: 1 / 2}}


@pytest.mark.parametrize(
    "settings",
    [Bm25(k1=0.9, b=0.4), Bm25(method="robertson"), Bm25(method="atire"), Bm25(stopwords=None), Bm25(stopwords="de")],
    ids=str,
)
def test_settings_reach_bm25s(settings: Bm25) -> None:
    # Passages without words are there, as they make the others longer than average.
    corpus, queries = [*rows("collection.tsv"), ("x", ""), ("y", "?!")], rows("queries.tsv")[:5]

    def tokens(texts: list[str]) -> Any:
        return bm25s.tokenize(texts, stopwords=settings.stopwords, return_ids=False, show_progress=False)

    index = bm25s.BM25(k1=settings.k1, b=settings.b, method=settings.method)
    index.index(tokens([text for _, text in corpus]), show_progress=False)
    for qid, query in queries:
        scores = index.get_scores(tokens([query])[0])
        expected = {at: score for at, score in enumerate(scores.tolist()) if score > 0}
        assert found(rank_bm25(corpus, [(qid, query)], len(corpus), settings))[qid] == expected


def fake_stemmer() -> types.ModuleType:
    """Stand in for PyStemmer with one algorithm, which cuts off an s."""

    class Stemmer:
        def __init__(self, name: str) -> None:
            assert name == "cut"

        def stemWord(self, word: str) -> str:
            return word.removesuffix("s")

    module = types.ModuleType("Stemmer")
    module.Stemmer, module.algorithms = Stemmer, lambda: ["cut"]  # type: ignore[attr-defined]
    return module


def test_stems_of_words_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "Stemmer", fake_stemmer())
    corpus, queries = numbered("apples", "pear"), [("q", "apple"), ("r", "pears pearss")]
    assert {qid: list(hits) for qid, hits in found(rank_bm25(corpus, queries, 2, Bm25(stemmer="cut"))).items()} == {
        "q": [0],
        "r": [1],
    }


def test_bm25_says_nothing_on_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    list(rank_bm25(numbered("apple", "pear"), [("q", "pear")], 1))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (Bm25(k1=-1), "k1 of BM25 is -1. Give 0 or more."),
        (Bm25(k1=float("nan")), "k1 of BM25 is nan. Give 0 or more."),
        (Bm25(k1=1e308), "k1 of BM25 is 1e+308. Give 1,000,000 or less."),
        (Bm25(b=1.5), "b of BM25 is 1.5. Give a number from 0 to 1."),
        (Bm25(method="bm25+"), "BM25 has no method 'bm25+'. Give one of lucene, robertson, atire."),
        (
            Bm25(stopwords="xx"),
            (
                "there are no stop words of the language 'xx'. "
                "Give one of da, de, en, es, fr, it, ko, nl, no, pt, ru, sv, tr, zh, or none."
            ),
        ),
    ],
    ids=str,
)
def test_settings_that_mean_nothing_are_refused_at_once(settings: Bm25, message: str) -> None:
    with pytest.raises(RunnerError) as caught:
        rank_bm25([], [], 1, settings)
    assert str(caught.value) == message


def test_settings_can_be_checked_without_texts() -> None:
    with pytest.raises(RunnerError, match=r"^b of BM25 is 1\.5\."):
        check_bm25(Bm25(b=1.5))


def test_an_unknown_stemmer_is_refused_with_those_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "Stemmer", fake_stemmer())
    with pytest.raises(RunnerError) as caught:
        rank_bm25([], [], 1, Bm25(stemmer="klingon"))
    assert str(caught.value) == "PyStemmer has no algorithm 'klingon'. Give one of cut."


@pytest.mark.parametrize(
    ("missing", "settings", "message"),
    [
        (
            "bm25s.tokenization",
            Bm25(),
            "BM25 needs the package bm25s, which is not installed. pip install 'treceval-py[retrieve]'",
        ),
        (
            "Stemmer",
            Bm25(stemmer="english"),
            "stemming needs the package PyStemmer, which is not installed. pip install PyStemmer",
        ),
    ],
)
def test_a_missing_package_is_named_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, missing: str, settings: Bm25, message: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(RunnerError) as caught:
        rank_bm25([], [], 1, settings)
    assert str(caught.value) == message


@RANKERS
def test_no_passages_asked_for_is_refused_at_once(rank: Callable[..., Any]) -> None:
    with pytest.raises(RunnerError) as caught:
        rank([], [], 0)
    assert str(caught.value) == "0 passages are asked for. Ask for 1 or more."
