"""Collections: which files and data sets are taken for which part, and what is refused.

Folders need no package; what the libraries ``datasets`` and ``ir_datasets`` read is tested where these are installed.
"""

from __future__ import annotations

import gzip
import json
import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from shared import SHARED, skip_without_shared
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.corpora.texts import survey
from treceval_py.errors import InputError, RunnerError
from treceval_py.retrieval import collection as module
from treceval_py.retrieval.collection import Collection, open_collection

DATA = Path(__file__).parent.parent / "data"
SAMPLE = SHARED / "msmarco-sample"

PASSAGES = "p1\tone\np2\ttwo\np3\tthree\n"
TOPICS = "q1\tfirst\nq2\tsecond\n"
JUDGED = "q1 0 p2 1\nq2 0 p3 1\nq2 0 p1 0\n"

MSMARCO = {"collection.tsv": PASSAGES, "queries.dev.tsv": TOPICS, "qrels.dev.tsv": JUDGED}
BEIR = {
    "corpus.jsonl": '{"_id": "p1", "title": "T", "text": "one"}\n{"_id": "p2", "title": "", "text": "two"}\n',
    "queries.jsonl": '{"_id": "q1", "text": "first"}\n{"_id": "q2", "text": "second"}\n',
    "qrels/test.tsv": "query-id\tcorpus-id\tscore\nq2\tp2\t1\n",
    "qrels/dev.tsv": "query-id\tcorpus-id\tscore\nq1\tp1\t1\nq9\tp2\t1\n",
}


def folder_of(tmp_path: Path, files: Mapping[str, str]) -> str:
    tmp_path.mkdir(exist_ok=True)
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())
    return str(tmp_path)


def refusal(source: str, **names: Any) -> str:
    with pytest.raises((InputError, RunnerError)) as caught:
        open_collection(source, **names)
    return str(caught.value)


def files_of(found: Collection, folder: str) -> list[str | None]:
    return [
        None if name is None else str(Path(name).relative_to(folder))
        for name in (found.corpus.name, found.queries.name, found.qrels_name)
    ]


def judged(found: Collection) -> dict[str, dict[str, int]]:
    assert found.qrels is not None
    return found.qrels.to_dict()


def ids(texts: Any) -> list[str]:
    return [identifier for identifier, _ in texts]


# Folders.


def test_a_folder_of_ms_marco_is_opened(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, MSMARCO)
    found = open_collection(folder)
    assert (found.name, files_of(found, folder)) == (folder, ["collection.tsv", "queries.dev.tsv", "qrels.dev.tsv"])
    assert list(found.corpus) == [("p1", "one"), ("p2", "two"), ("p3", "three")]
    assert list(found.queries) == [("q1", "first"), ("q2", "second")]
    assert judged(found) == {"q1": {"p2": 1}, "q2": {"p3": 1, "p1": 0}}
    assert found.notes == ()


def test_a_folder_of_beir_has_the_queries_of_its_split(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    folder = folder_of(tmp_path, {**BEIR, "own.tsv": TOPICS})
    test, dev = open_collection(folder), open_collection(folder, split="dev")
    assert list(test.corpus) == [("p1", "T one"), ("p2", "two")]
    assert list(test.queries) == [("q2", "second")]
    assert judged(test) == {"q2": {"p2": 1}}
    assert ids(dev.queries) == ["q1"]  # q9 is judged and not there
    assert [note.replace(folder, "F") for note in (*test.notes, *dev.notes)] == snapshot
    assert ids(open_collection(folder, queries=f"{folder}/own.tsv").queries) == ["q1", "q2"]


FLAGEMBEDDING = {
    "corpus.jsonl": '{"id": "p1", "title": "", "text": "one"}\n',
    "dev_queries.jsonl": '{"id": "q1", "text": "first"}\n{"id": "q2", "text": "second"}\n',
    "dev_qrels.jsonl": '{"qid": "q1", "docid": "p1", "relevance": 2}\n',
}


def test_a_folder_of_flagembedding_is_opened_and_its_split_chooses(tmp_path: Path) -> None:
    found = open_collection(folder_of(tmp_path, FLAGEMBEDDING))
    assert (list(found.corpus), ids(found.queries)) == ([("p1", "one")], ["q1", "q2"])
    assert judged(found) == {"q1": {"p1": 2}}
    folder = folder_of(tmp_path, {"test_queries.jsonl": '{"id": "t1", "text": "x"}\n'})
    assert ids(open_collection(folder, split="test").queries) == ["t1"]


# The names are those of MS MARCO's own files.
PARTS = {
    "collection.tsv": PASSAGES,
    **{f"queries.{part}.tsv": TOPICS for part in ("train", "dev", "dev.small", "eval")},
    **{f"qrels.{part}.tsv": JUDGED for part in ("train", "dev", "dev.small")},
}
QUERIES = {"collection.tsv": PASSAGES, "queries.tsv": TOPICS}
DEV = ["collection.tsv", "queries.dev.tsv", "qrels.dev.tsv"]
SMALL = ["collection.tsv", "queries.dev.small.tsv", "qrels.dev.small.tsv"]
NAMED = {"c": PASSAGES, "q": TOPICS}

FOUND: dict[str, tuple[dict[str, str], dict[str, str], list[str | None]]] = {
    "compressed": ({"collection.tsv.gz": PASSAGES, "queries.tsv.gz": TOPICS, "qrels.txt": JUDGED}, {},
                   ["collection.tsv.gz", "queries.tsv.gz", "qrels.txt"]),
    "the split": (PARTS, {"split": "dev.small"}, SMALL),
    "the split with a slash": (PARTS, {"split": "dev/small"}, SMALL),
    "the split with a dash": (PARTS, {"split": "dev-small"}, SMALL),
    "a split without judgments": (PARTS, {"split": "eval"}, ["collection.tsv", "queries.eval.tsv", None]),
    "judgments of any split": ({**QUERIES, "queries.dev.tsv": TOPICS, "qrels.tsv": JUDGED}, {"split": "dev"},
                               ["collection.tsv", "queries.dev.tsv", "qrels.tsv"]),
    "judgments of the split before those of any": ({**MSMARCO, "qrels.tsv": JUDGED}, {}, DEV),
    "the only judgments for queries of no split": ({**QUERIES, "qrels.a.tsv": JUDGED}, {},
                                                   ["collection.tsv", "queries.tsv", "qrels.a.tsv"]),
    "no judgments": (QUERIES, {}, ["collection.tsv", "queries.tsv", None]),
    "no judgments of BEIR": ({name: BEIR[name] for name in ("corpus.jsonl", "queries.jsonl")}, {},
                             ["corpus.jsonl", "queries.jsonl", None]),
    "a corpus elsewhere": ({"queries.dev.tsv": TOPICS, "qrels.dev.tsv": JUDGED, "at/c.tsv": PASSAGES},
                           {"corpus": "F/at/c.tsv"}, ["at/c.tsv", "queries.dev.tsv", "qrels.dev.tsv"]),
    "a corpus in a folder": ({**MSMARCO, "a/collection.tsv": PASSAGES}, {"corpus": "F/a"},
                             ["a/collection.tsv", *DEV[1:]]),
    "no layout": (NAMED, {"corpus": "F/c", "queries": "F/q"}, ["c", "q", None]),
    "judgments of the split for queries of a file": (
        {**MSMARCO, "qrels.test.tsv": JUDGED, "q": TOPICS}, {"queries": "F/q", "split": "test"},
        ["collection.tsv", "q", "qrels.test.tsv"]),
    "judgments in a file": ({**MSMARCO, "own": '{"q1": {"p1": 2}}'}, {"qrels": "F/own"}, [*DEV[:2], "own"]),
}  # fmt: skip
"""By case: files, what is named (with the folder as F), and what is found."""


def test_parts_are_found_by_their_names_and_splits(tmp_path: Path) -> None:
    wrong = {}
    for number, (case, (files, given, expected)) in enumerate(FOUND.items()):
        folder = folder_of(tmp_path / str(number), files)
        found = open_collection(folder, **{name: each.replace("F", folder) for name, each in given.items()})
        assert len(list(found.corpus)) == (2 if "BEIR" in case else 3)
        if files_of(found, folder) != expected or (found.qrels is None) != (expected[2] is None):
            wrong[case] = files_of(found, folder)
    assert wrong == {}


def test_each_part_can_be_named(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"c": '{"_id": "p2", "text": "x"}\n', "q": "q1\tx\n", "r": "q1 0 p2 3\n"})
    found = open_collection("", corpus=f"{folder}/c", queries=f"{folder}/q", qrels=f"{folder}/r")
    assert (list(found.corpus), list(found.queries)) == ([("p2", "x")], [("q1", "x")])
    assert judged(found) == {"q1": {"p2": 3}}
    assert found.name == f"{folder}/c, {folder}/q"


def test_judgments_of_other_queries_are_left_out_and_said(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {**MSMARCO, "qrels.dev.tsv": "x 0 p1 1\n"})
    found = open_collection(folder)
    assert (found.qrels, found.qrels_name) == (None, None)
    note = "No query of F/queries.dev.tsv is judged in F/qrels.dev.tsv: the run will not be scored."
    assert [each.replace(folder, "F") for each in found.notes] == [note]


@pytest.mark.parametrize(("folder", "passages", "queries", "docids"), [(DATA, 216, 30, 487), (SAMPLE, 260, 10, None)])
def test_the_shipped_collection_and_the_sample_of_ms_marco_open(
    folder: Path, passages: int, queries: int, docids: int | None
) -> None:
    if folder == SAMPLE:
        skip_without_shared()
    found = open_collection(str(folder))
    # Lines of the files, by wc -l.
    assert (survey(found.corpus, 100).count, survey(found.queries, 100).count) == (passages, queries)
    assert found.qrels is not None
    assert docids in (len(found.qrels.docids), None)


NO_RELEVANT = {**MSMARCO, "qrels.dev.tsv": "q1 0 elsewhere 1\nq1 0 p1 0\n"}
ONLY = {"corpus.jsonl", "queries.jsonl", "qrels/dev.tsv"}
REFUSED: dict[str, tuple[dict[str, str], str, dict[str, str]]] = {
    "several splits": ({**MSMARCO, "queries.train.tsv": TOPICS}, "F", {}),
    "all queries beside those of a split": ({**QUERIES, "queries.dev.small.tsv": TOPICS}, "F", {}),
    "a split that is not there": (MSMARCO, "F", {"split": "eval"}),
    "judgments of several splits": ({**QUERIES, "qrels.a.tsv": JUDGED, "qrels.b.tsv": JUDGED}, "F", {}),
    "a corpus plain and compressed": ({**MSMARCO, "collection.tsv.gz": PASSAGES}, "F", {}),
    "no queries": ({"collection.tsv": PASSAGES}, "F", {}),
    "a split that BEIR lacks": ({name: each for name, each in BEIR.items() if name in ONLY}, "F", {}),
    "judgments of other queries": ({**BEIR, "qrels/test.tsv": "query-id\tcorpus-id\tscore\nx\tp1\t1\n"}, "F", {}),
    "several splits of FlagEmbedding": ({**FLAGEMBEDDING, "test_queries.jsonl": ""}, "F", {}),
    "no layout": ({"x.txt": ""}, "F", {}),
    "no folder": ({}, "F/none", {}),
    "no folder with all parts": ({**NAMED, "r": JUDGED}, "F/none", {"corpus": "F/c", "queries": "F/q", "qrels": "F/r"}),
    "a file": ({"x": ""}, "F/x", {}),
    "a file that is missing": (MSMARCO, "F", {"queries": "F/none"}),
    "a protocol": (MSMARCO, "F", {"protocol": "half"}),
    "no queries named": ({}, "", {"corpus": "x"}),
    "no corpus named": ({}, "", {"queries": "x"}),
    "a split of files": (NAMED, "", {"corpus": "F/c", "queries": "F/q", "split": "dev"}),
    "a split of queries in a file": ({**QUERIES, "q": TOPICS}, "F", {"queries": "F/q", "split": "dev"}),
    "the truncated protocol without judgments": (QUERIES, "F", {"protocol": "truncated"}),
    "the truncated protocol without relevant documents": (NO_RELEVANT, "F", {"protocol": "truncated"}),
}
"""By case: files, the source and what is named, with the folder as F."""


def test_collections_that_cannot_be_opened_are_refused(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    told = {}
    for number, (case, (files, source, given)) in enumerate(REFUSED.items()):
        folder = folder_of(tmp_path / str(number), files)
        names = {name: each.replace("F/", f"{folder}/") for name, each in given.items()}
        told[case] = refusal(source.replace("F", folder), **names).replace(folder, "F")
    assert told == snapshot


def test_a_folder_that_cannot_be_listed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def listed(path: str) -> list[str]:
        raise PermissionError(13, "Permission denied", path)

    folder = folder_of(tmp_path, {"a/x": "", "q": TOPICS})
    monkeypatch.setattr("os.listdir", listed)
    assert refusal("", corpus=f"{folder}/a", queries=f"{folder}/q") == (
        f"{folder}/a: cannot be read as a folder: Permission denied. Give a folder that can be read."
    )


# The truncated protocol.


def test_the_truncated_protocol_has_the_first_queries_and_what_is_relevant_for_some_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TRUNCATED_QUERIES", 2)
    monkeypatch.setattr(module, "TRUNCATED_POOL", 3)
    passages = "".join(f"p{number}\ttext {number}\n" for number in range(9))
    topics = "".join(f"q{number}\tquery {number}\n" for number in (4, 1, 3, 2))
    # Relevant for q4, q1 and q3: p7, p5 and p1; p2 is judged 0, p8 only for q2, which is the fourth.
    qrels = "q1 0 p5 2\nq1 0 p2 0\nq2 0 p8 1\nq3 0 p1 1\nq4 0 p7 1\n"
    files = {"collection.tsv": passages, "queries.tsv": topics, "qrels.tsv": qrels}
    found = open_collection(folder_of(tmp_path, files), protocol="truncated")
    assert list(found.corpus) == [("p1", "text 1"), ("p5", "text 5"), ("p7", "text 7")]
    assert list(found.queries) == [("q4", "query 4"), ("q1", "query 1")]
    assert judged(found) == {"q4": {"p7": 1}, "q1": {"p5": 2, "p2": 0}}
    assert found.notes == (
        "Truncated protocol: the first 2 queries, and as corpus the 3 passages that are relevant for the first 3.",
    )


def test_the_truncated_protocol_takes_a_hundred_queries_and_five_thousand(tmp_path: Path) -> None:
    count = 5001
    files = {
        "collection.tsv": "".join(f"p{number}\ttext\n" for number in range(count)),
        "queries.tsv": "".join(f"q{number}\ttext\n" for number in range(count)),
        "qrels.tsv": "".join(f"q{number} 0 p{number} 1\n" for number in range(count)),
    }
    found = open_collection(folder_of(tmp_path, files), protocol="truncated")
    assert (found.corpus.known_count(), found.queries.known_count()) == (5000, 100)
    assert len(judged(found)) == 100


# The library datasets.


@pytest.fixture
def datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return the library, with its cache among the files of the test."""
    library = pytest.importorskip("datasets", reason="a package of the extra retrieve")
    monkeypatch.setattr(library.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(library.config, "HF_HUB_OFFLINE", True)
    return library


ROWS = [
    {"query": "first", "positive": ["one"], "negative": ["x"]},
    {"query": "second", "positive": ["two", "three"], "negative": []},
    {"query": "third", "positive": ["one"], "negative": []},
    {"query": "fourth", "positive": ["four"], "negative": []},
]
CONTENTS = [{"content": "three"}, {"content": "none"}, {"content": "one"}, {"content": "two"}, {"content": "one"}]


def in_lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_positives_are_looked_up_in_the_corpus_by_their_text(datasets: Any, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"q/dev.jsonl": in_lines(ROWS), "c/train.jsonl": in_lines(CONTENTS)})
    found = open_collection(f"datasets:{folder}/q", corpus=f"datasets:{folder}/c")
    assert list(found.queries) == [("0", "first"), ("1", "second"), ("2", "third"), ("3", "fourth")]
    assert list(found.corpus)[:2] == [("0", "three"), ("1", "none")]
    # "one" is row 2 and row 4 of the corpus, "two" is row 3, "three" is row 0; "four" is not there.
    assert judged(found) == {"0": {"2": 1, "4": 1}, "1": {"0": 1, "3": 1}, "2": {"2": 1, "4": 1}}
    assert found.notes == (
        "1 of 4 positives are not in the corpus.",
        "1 of 4 positives occur again in the corpus (copies: 1).",
    )
    assert found.qrels_name == f"positives of datasets:{folder}/q"


def test_the_truncated_protocol_of_positives_keeps_those_that_come_again(
    datasets: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TRUNCATED_QUERIES", 2)
    monkeypatch.setattr(module, "TRUNCATED_POOL", 3)
    folder = folder_of(tmp_path, {"dev.jsonl": in_lines(ROWS)})
    found = open_collection(f"datasets:{folder}", protocol="truncated")
    assert list(found.corpus) == [("0", "one"), ("1", "two"), ("2", "three"), ("3", "one")]
    assert list(found.queries) == [("0", "first"), ("1", "second")]
    assert judged(found) == {"0": {"0": 1, "3": 1}, "1": {"1": 1, "2": 1}}
    assert found.copies == {"3": "0"}
    assert found.notes == (
        "Truncated protocol: the first 2 queries, and as corpus the 4 passages that are relevant for the first 3.",
        "1 of 3 positives occur again in the corpus (copies: 1).",
    )


def test_recall_counts_a_text_once_and_ndcg_counts_each_copy(datasets: Any, tmp_path: Path) -> None:
    rows = [
        {"query": "q", "positive": ["a", "b"]},
        {"query": "r", "positive": ["a"]},
        {"query": "s", "positive": ["c"]},
    ]
    found = open_collection(f"datasets:{folder_of(tmp_path, {'dev.jsonl': in_lines(rows)})}", protocol="truncated")
    # The corpus is 0 "a", 1 "b", 2 "a", 3 "c". The first query finds "c", the second "a", the first "a", and not "b".
    run = {"0": {"3": 4.0, "2": 3.0, "0": 2.0}, "1": {"3": 1.0}}
    qrels = module.judge_texts(found, run)
    assert qrels.to_dict() == {"0": {"0": 1, "1": 2, "2": 2}, "1": {"0": 2, "2": 1}, "2": {"3": 2}}
    scored = te.evaluate(qrels, run, ["R@10", "MRR@10", "nDCG@10"], profile="flagembedding-tutorial", level=2)
    # One of the two texts, first at rank 2; two hits at ranks 2 and 3, where the ideal has them at 1 and 2.
    ndcg = (1 / math.log2(3) + 1 / math.log2(4)) / (1 + 1 / math.log2(3))
    assert list(scored["0"].values()) == pytest.approx([1 / 2, 1 / 2, ndcg], rel=1e-14)


def test_a_data_set_that_was_saved_is_opened_with_its_ids(datasets: Any, tmp_path: Path) -> None:
    rows = [{"query_id": 10 + number, **row} for number, row in enumerate(ROWS)]
    saved = {"dev": datasets.Dataset.from_list(rows), "train": datasets.Dataset.from_list(rows[:1])}
    datasets.DatasetDict(saved).save_to_disk(str(tmp_path / "q"))
    passages = [{"pid": "a", "passage": "one"}, {"pid": "b", "passage": "two"}]
    datasets.Dataset.from_list(passages).save_to_disk(str(tmp_path / "c"))
    found = open_collection(f"datasets:{tmp_path}/q", corpus=f"{tmp_path}/c")
    assert ids(found.queries) == ["10", "11", "12", "13"]
    assert judged(found) == {"10": {"a": 1}, "11": {"b": 1}, "12": {"a": 1}}
    assert ids(open_collection(f"datasets:{tmp_path}/q", corpus=f"{tmp_path}/c", split="train").queries) == ["10"]


def test_parquet_in_several_files_is_one_split(datasets: Any, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for part, rows in enumerate((ROWS[:1], ROWS[1:])):
        path = tmp_path / "data" / f"dev-0000{part}-of-00002.parquet"
        datasets.Dataset.from_list(rows).to_parquet(str(path))
    found = open_collection(f"datasets:{tmp_path}", protocol="truncated")
    assert [text for _, text in found.queries] == ["first", "second", "third", "fourth"]


def test_the_split_is_dev_for_queries_and_train_for_a_corpus(datasets: Any, tmp_path: Path) -> None:
    both = {
        "dev.jsonl": in_lines([{"query": "d", "text": "d"}]),
        "train.jsonl": in_lines([{"query": "t", "text": "t"}]),
    }
    folder = folder_of(tmp_path, {**both, "r": "0 0 0 1\n"})
    found = open_collection(f"datasets:{folder}", corpus=f"datasets:{folder}", qrels=f"{folder}/r")
    assert (list(found.queries), list(found.corpus)) == ([("0", "d")], [("0", "t")])
    named = open_collection("", corpus=f"datasets:{folder}", queries=f"datasets:{folder}", qrels=f"{folder}/r")
    assert list(named.queries) == [("0", "d")]


def test_files_of_a_folder_come_before_those_of_its_folder_data(datasets: Any, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"dev.jsonl": in_lines(ROWS[:1]), "data/dev.jsonl": in_lines(ROWS[1:])})
    assert [text for _, text in open_collection(f"datasets:{folder}", protocol="truncated").queries] == ["first"]


def test_rows_are_numbered_through_all_batches(datasets: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treceval_py.corpora.texts.COLUMN_BATCH", 2)
    folder = folder_of(tmp_path, {"c/train.jsonl": in_lines(CONTENTS), "queries.tsv": TOPICS})
    assert ids(open_collection(folder, corpus=f"{folder}/c").corpus) == ["0", "1", "2", "3", "4"]


def test_a_corpus_with_titles_is_joined_as_beirs(datasets: Any, tmp_path: Path) -> None:
    rows = [{"_id": "a", "title": "T", "text": "x"}, {"_id": "b", "title": None, "text": "y"}]
    folder = folder_of(tmp_path, {"corpus/c.csv": "", "queries.tsv": TOPICS})
    datasets.Dataset.from_list(rows).to_parquet(f"{folder}/c.parquet")
    found = open_collection(folder, corpus=f"{folder}/c.parquet")
    assert list(found.corpus) == [("a", "T x"), ("b", "y")]


def test_the_number_of_rows_is_known(datasets: Any, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"q/dev.jsonl": in_lines(ROWS), "c/train.jsonl": in_lines(CONTENTS)})
    found = open_collection(f"datasets:{folder}/q", corpus=f"{folder}/c")
    assert (found.queries.known_count(), found.corpus.known_count()) == (4, 5)


def test_judgments_that_are_named_replace_the_positives(datasets: Any, tmp_path: Path) -> None:
    rows = [{"query": "first"}, {"query": "second"}]
    files = {"q/dev.jsonl": in_lines(rows), "c/train.jsonl": in_lines(CONTENTS), "r": "1 0 4 1\n"}
    folder = folder_of(tmp_path, files)
    found = open_collection(f"datasets:{folder}/q", corpus=f"{folder}/c", qrels=f"{folder}/r")
    assert (judged(found), found.qrels_name) == ({"1": {"4": 1}}, f"{folder}/r")


def test_positives_of_which_none_is_in_the_corpus_are_no_judgments(datasets: Any, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"q/dev.jsonl": in_lines(ROWS), "c/train.jsonl": in_lines([{"text": "x"}])})
    found = open_collection(f"datasets:{folder}/q", corpus=f"{folder}/c")
    assert (found.qrels, found.qrels_name) == (None, None)
    assert found.notes == ("4 of 4 positives are not in the corpus.",)


DATA_REFUSED: dict[str, tuple[dict[str, str], str, dict[str, str]]] = {
    "no corpus": ({"dev.jsonl": in_lines(ROWS)}, "", {}),
    "another corpus": ({"dev.jsonl": in_lines(ROWS)}, "", {"protocol": "truncated", "corpus": "x"}),
    "no such split": ({"dev.jsonl": in_lines(ROWS), "train.jsonl": in_lines(ROWS)}, "", {"split": "test"}),
    "no such column": ({"dev.jsonl": in_lines([{"query": "x", "pos": ["y"]}])}, "", {"protocol": "truncated"}),
    "a text for a list": ({"dev.jsonl": in_lines([{"query": "x", "positive": "y"}])}, "", {"protocol": "truncated"}),
    "numbers for texts": ({"dev.jsonl": in_lines([{"query": "x", "positive": [1]}])}, "", {"protocol": "truncated"}),
    "no data": ({"x.txt": ""}, "", {}),
    "no folder": ({}, "/none", {}),
}


def test_data_sets_that_cannot_be_used_are_refused(datasets: Any, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    told = {}
    for number, (case, (files, below, given)) in enumerate(DATA_REFUSED.items()):
        source = f"datasets:{folder_of(tmp_path / str(number), files)}{below}"
        told[case] = refusal(source, **given).replace(source, "F")
    for save in ("save_to_disk", "to_parquet"):
        place = tmp_path / ("dev.parquet" if save == "to_parquet" else "saved")
        getattr(datasets.Dataset.from_dict({"query": [], "positive": []}), save)(place)
        told[f"no rows, {save}"] = refusal(f"datasets:{place}", protocol="truncated").replace(f"datasets:{place}", "F")
    datasets.Dataset.from_list(ROWS).save_to_disk(tmp_path / "one")
    source = f"datasets:{tmp_path}/one"
    told["no splits"] = refusal(source, protocol="truncated", split="dev").replace(source, "F")
    assert told == snapshot


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([{"text": "x"}, {"text": None}], "the value of column 'text' is missing (row 2)."),
        ([{"id": 1.5, "text": "x"}], "the value of column 'id' is '1.5', which is not text (row 1)."),
    ],
)
def test_a_value_that_is_no_text_is_refused_with_its_row(
    datasets: Any, tmp_path: Path, rows: list[dict[str, Any]], told: str
) -> None:
    folder = folder_of(tmp_path, {"c/train.jsonl": in_lines(rows), "queries.tsv": TOPICS})
    found = open_collection(folder, corpus=f"datasets:{folder}/c")
    with pytest.raises(InputError) as caught:
        survey(found.corpus, 10)
    assert str(caught.value) == f"datasets:{folder}/c: {told} Fill it in, or remove the row."


def test_a_damaged_file_of_data_is_refused_in_one_line(datasets: Any, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"dev.parquet": "PAR1 and no more"})
    message = refusal(f"datasets:{folder}", protocol="truncated")
    assert message.startswith(f"datasets:{folder}: the data set cannot be loaded: ")
    assert message.endswith(". Check the name and the connection.")
    assert "\n" not in message


def test_a_name_of_the_hub_is_loaded_with_its_split_and_its_corpus(
    datasets: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[tuple[str, str]]()

    def load(name: str, split: str) -> Any:
        asked.append((name, split))
        return datasets.Dataset.from_list(CONTENTS if name.endswith("corpus") else ROWS)

    monkeypatch.setattr(datasets, "load_dataset", load)
    found = open_collection("datasets:namespace-Pt/msmarco")
    assert asked == [("namespace-Pt/msmarco", "dev"), ("namespace-Pt/msmarco-corpus", "train")]
    assert found.corpus.name == "datasets:namespace-Pt/msmarco-corpus"
    assert judged(found)["1"] == {"0": 1, "3": 1}


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ConnectionError("Couldn't reach 'a/b'\non the Hub."), "Couldn't reach 'a/b'"),
        (ValueError("x" * 201 + "\nmore"), "x" * 200),  # of a long reason the beginning
    ],
)
def test_a_hub_that_cannot_be_reached_is_said_in_one_line(
    datasets: Any, monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    def load(name: str, split: str) -> Any:
        raise error

    monkeypatch.setattr(datasets, "load_dataset", load)
    assert refusal("datasets:a/b", protocol="truncated") == (
        f"datasets:a/b: the data set cannot be loaded: {reason}. Check the name and the connection."
    )


def test_no_bar_is_drawn_and_bars_come_back(
    datasets: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets.enable_progress_bars()
    open_collection(f"datasets:{folder_of(tmp_path, {'dev.jsonl': in_lines(ROWS)})}", protocol="truncated")
    assert capsys.readouterr().err == ""
    assert not datasets.are_progress_bars_disabled()


@pytest.mark.parametrize("package", ["datasets", "ir_datasets"])
def test_a_package_that_is_missing_is_named(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    assert refusal(f"{package}:x") == (
        f"{package}:x: the data set needs the package {package}, which is not installed. pip install '.[retrieve]', in your clone of treceval_py"
    )


# The package ir_datasets.


@pytest.fixture
def registered(tmp_path: Path) -> Iterator[str]:
    """Register a data set, made of the files of MS MARCO's layout above, and return its name."""
    ir_datasets = pytest.importorskip("ir_datasets", reason="a package of the extra retrieve")
    folder = folder_of(tmp_path, MSMARCO)
    data = ir_datasets.create_dataset(
        docs_tsv=f"{folder}/collection.tsv",
        queries_tsv=f"{folder}/queries.dev.tsv",
        qrels_trec=f"{folder}/qrels.dev.tsv",
    )
    name = f"treceval-test/{tmp_path.name}"
    ir_datasets.registry.register(name, data)
    yield name
    del ir_datasets.registry._registered[name]


def test_a_data_set_of_ir_datasets_is_opened(registered: str, tmp_path: Path) -> None:
    source = f"ir_datasets:{registered}"
    found = open_collection(source)
    assert list(found.corpus) == [("p1", "one"), ("p2", "two"), ("p3", "three")]
    assert list(found.queries) == [("q1", "first"), ("q2", "second")]
    assert judged(found) == {"q1": {"p2": 1}, "q2": {"p3": 1, "p1": 0}}
    assert found.qrels_name == source
    assert ids(open_collection(source, protocol="truncated").corpus) == ["p2", "p3"]
    folder = folder_of(tmp_path, {"own.tsv": "x\ty\n"})
    assert ids(open_collection(source, corpus=f"{folder}/own.tsv").corpus) == ["x"]
    assert refusal(source, split="dev") == f"{source}: there are no splits to choose from. Remove the split."


def test_an_unknown_name_of_ir_datasets_is_refused() -> None:
    pytest.importorskip("ir_datasets", reason="a package of the extra retrieve")
    assert refusal("ir_datasets:none") == (
        "ir_datasets:none: ir_datasets has no data set with this name. Its names are listed at https://ir-datasets.com."
    )
