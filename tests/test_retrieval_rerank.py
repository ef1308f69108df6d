"""Reranking: FlagReranker's scores, the run that is made of them, and what a kill leaves.

Expected scores are those that FlagEmbedding's FlagReranker computes in the test.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import random
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from command import last_of_each, treceval
from packages import flag_embedding, skip_without
from syrupy.assertion import SnapshotAssertion
from tiny_models import WORDS, make_language_model_reranker, make_tiny_model, make_tiny_reranker

from treceval_py.errors import RunnerError
from treceval_py.io.named import read_run
from treceval_py.retrieval.engines import Reranker, reranker_maker
from treceval_py.retrieval.models import find_model, settings_for
from treceval_py.retrieval.pipeline import Dense, Jaccard, Request, check_request

skip_without("sentence_transformers", "bm25s", "pyarrow")

pytestmark = pytest.mark.slow

DATA = Path(__file__).parent.parent / "data"
TEXTS = ["--corpus", str(DATA / "collection.tsv"), "--queries", str(DATA / "queries.tsv")]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_tiny_reranker(tmp_path_factory.mktemp("models") / "tiny-reranker")


@pytest.fixture(scope="module")
def flag(model: str) -> Any:
    return flag_embedding().FlagReranker(model, use_fp16=False, devices="cpu")


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of a first stage: BM25 of data/, up to 50 documents for each of 30 queries."""
    path = tmp_path_factory.mktemp("first") / "bm25.txt"
    assert treceval(["retrieve", str(DATA), "-o", str(path), "--retriever", "bm25", "-k", "50"]).status == 0
    return path


def rerank(first: str | Path, model: str, output: str | Path, *options: str) -> Any:
    usual = ["-o", str(output), *TEXTS, "--model", model, "--device", "cpu", "--batch-size", "8"]
    return treceval(["rerank", str(first), *last_of_each([*usual, *options])])


def texts() -> tuple[dict[str, str], dict[str, str]]:
    """Return the queries and passages of data/ by their ids."""
    one, other = (
        dict(line.split("\t", 1) for line in (DATA / name).read_text("utf-8").splitlines())
        for name in ("queries.tsv", "collection.tsv")
    )
    return one, other


def in_order(run: dict[str, float]) -> list[str]:
    """Return documents by descending score, those with equal scores by descending id: trec_eval's order."""
    return sorted(run, key=lambda docid: (run[docid], docid.encode()), reverse=True)


# Scores


def random_pairs() -> list[tuple[str, str]]:
    """Return pairs with short and long queries and passages, with words that are cut into pieces and unknown letters.

    No passage is empty: with transformers 5, FlagReranker gives the model the query alone then, without a separator.
    """
    draw = random.Random(1)
    words = [*WORDS, "it's", "can ' t", "flow - up", "naïve", "Москва", "[SEP]", "a,b", "x1"]

    def text(*lengths: int) -> str:
        return " ".join(draw.choices(words, k=draw.choice(lengths)))

    return [(text(0, 1, 5, 40, 600), text(1, 5, 40, 600)) for _ in range(120)]


ENGINES = ["flagembedding", "sentence-transformers"]


def ranker(model: str, engine: str | None = None, **settings: Any) -> Any:
    from treceval_py.retrieval.models import find_model

    if engine == "flagembedding":
        flag_embedding()
    return reranker_maker(Reranker(find_model(model, wanted="reranker"), engine=engine, **settings))("cpu")


def score(worker: Any, pairs: list[tuple[str, str]], done: Any = lambda _: None) -> Any:
    return worker.work(worker.prepare(pairs), done)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("length", [32, 100, 512])
def test_scores_are_those_of_flag_reranker_to_the_bit(model: str, flag: Any, length: int, engine: str) -> None:
    pairs = random_pairs()
    expected = flag.compute_score(pairs, batch_size=16, max_length=length)
    done: list[int] = []
    scores = score(ranker(model, engine, max_length=length, batch_size=16), pairs, done.append)
    assert scores.tolist() == expected
    assert sum(done) == len(pairs)


def test_flag_reranker_is_what_runs_for_a_reranker_of_bge(model: str, tmp_path: Path) -> None:
    flag_embedding()
    bge = ranker(shutil.copytree(model, tmp_path / "bge-reranker-tiny"))
    assert (bge.by["engine"], type(bge._flag).__name__) == ("FlagEmbedding", "BaseReranker")
    assert ranker(model).by["engine"] == "sentence-transformers"


def test_a_text_is_made_tokens_once(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each query has many passages; FlagReranker makes tokens of a text, text of the tokens, and tokens again."""
    worker = ranker(model, "flagembedding")
    prepared = worker.prepare([("the river", "law"), ("the river", "war"), ("city", "law")])
    assert [row["input_ids"].tolist() for row in prepared[0][:2]] == [
        worker._tokens.tokenizer("the river", passage)["input_ids"] for passage in ("law", "war")
    ]
    monkeypatch.setattr(type(worker._tokens.tokenizer), "__call__", None)
    assert len(worker.work(prepared, lambda _: None)) == 3


def test_tokens_are_made_in_several_threads(model: str) -> None:
    """A tokenizer is told to cut before it is used: queries to another length than passages, pairs to a third."""
    worker, pairs = ranker(model, max_length=64), random_pairs() * 5
    expected, *_ = worker.prepare(pairs)
    with ThreadPoolExecutor(4) as threads:
        for rows, *_ in threads.map(worker.prepare, [pairs] * 12):
            assert all(
                np.array_equal(row["input_ids"], other["input_ids"]) for row, other in zip(rows, expected, strict=True)
            )


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_reranker_on_a_language_model_is_flag_llm_reranker(tmp_path: Path, precision: str) -> None:
    flag = flag_embedding()
    folder = make_language_model_reranker(tmp_path / "bge-reranker-gemma")
    pairs = [(query[:60], passage[:90]) for query, passage in random_pairs()[:12]]
    expected = flag.FlagLLMReranker(folder, devices="cpu").compute_score(pairs, batch_size=4, max_length=100)
    worker, done = ranker(folder, max_length=100, batch_size=4, precision=precision), list[int]()
    assert worker.by["engine"] == "FlagEmbedding"
    scores = score(worker, pairs, done.append)
    assert (scores.dtype, sum(done)) == (np.float32, len(pairs))
    if precision == "fp32":
        assert scores.tolist() == np.array(expected, dtype=np.float32).tolist()
    else:
        assert 0 < np.abs(scores - expected).max() < 0.5


def test_scores_are_those_of_sentence_transformers_where_nothing_is_cut(model: str) -> None:
    from sentence_transformers import CrossEncoder
    from torch.nn import Identity

    pairs = [(query, passage[:200]) for query, passage in random_pairs() if len(query) < 200]
    expected = CrossEncoder(model).predict(pairs, activation_fn=Identity())
    np.testing.assert_allclose(score(ranker(model), pairs), expected, atol=5e-6, rtol=0)


@pytest.mark.parametrize("engine", ENGINES)
def test_bf16_on_the_cpu_is_near_fp32(model: str, engine: str) -> None:
    pairs = random_pairs()[:20]
    full, half = (score(ranker(model, engine, precision=name), pairs) for name in ("fp32", "bf16"))
    assert 0 < np.abs(full - half).max() < 0.1  # bf16 has 8 bits


@pytest.mark.parametrize("engine", ENGINES)
def test_when_memory_runs_out_fewer_pairs_are_scored_at_once(
    model: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    pairs = random_pairs()[:20]
    worker = ranker(model, engine, batch_size=16)
    forward = worker._network.forward

    def with_little_memory(*given: Any, **inputs: Any) -> Any:
        if len(inputs["input_ids"]) > 10:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return forward(*given, **inputs)

    monkeypatch.setattr(worker._network, "forward", with_little_memory)
    found = score(worker, pairs)
    np.testing.assert_allclose(found, score(ranker(model, engine, batch_size=9), pairs), atol=2e-6, rtol=0)
    assert worker.by["batch_size"] == 9  # 16 · ¾ = 12, 12 · ¾ = 9
    assert worker.notes[-1] == "Memory on cpu is enough for 9 pairs at once, not 16."


# What is refused


def test_an_embedder_is_refused_as_its_head_would_be_random(tmp_path: Path, first: Path) -> None:
    done = rerank(first, make_tiny_model(tmp_path / "embedder"), tmp_path / "out.txt")
    assert done.status == 1
    assert b"embedder" in done.err
    assert not (tmp_path / "out.txt").exists()


def test_weights_that_are_missing_or_not_finite_are_refused(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    from safetensors.torch import load_file, save_file

    folder, told = make_tiny_reranker(tmp_path / "broken"), []
    weights = load_file(f"{folder}/model.safetensors")
    broken = [
        {name: each for name, each in weights.items() if name != lost}
        for lost in ("classifier.weight", "bert.pooler.dense.bias")
    ]
    broken.append({**weights, "classifier.bias": weights["classifier.bias"] * float("nan")})
    for each in broken:
        save_file(each, f"{folder}/model.safetensors", {"format": "pt"})
        with pytest.raises(RunnerError) as caught:
            ranker(folder)
        told.append(str(caught.value).replace(folder, "…"))
    assert told == snapshot


def test_tags_lengths_and_texts_that_do_not_fit_are_refused_before_pairs_are_scored(
    first: Path, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in {
        "run": "1 Q0 a 1 2 t\n",
        "queries.tsv": "1\tq\n",
        "surrogate.jsonl": '{"_id": "b", "text": ""}\n{"_id": "a", "text": "x \\ud800"}\n',
        "twice.tsv": "a\tthe river\nb\tlaw\na\tcity\n",
        "passages.tsv": "".join((DATA / "collection.tsv").read_text("utf-8").splitlines(keepends=True)[:-1]),
        "asked.tsv": "".join((DATA / "queries.tsv").read_text("utf-8").splitlines(keepends=True)[:-1]),
    }.items():
        Path(name).write_text(content)
    refused: dict[str, tuple[str | Path, list[str]]] = {
        "a long pair": (first, ["--max-length", "513"]),
        "a tag of two words": (first, ["--tag", "a b"]),
        "a passage that is missing": (first, ["--corpus", "passages.tsv"]),
        "a query that is missing": (first, ["--queries", "asked.tsv"]),
        "half a character": ("run", ["--corpus", "surrogate.jsonl", "--queries", "queries.tsv"]),
        "an id twice": ("run", ["--corpus", "twice.tsv", "--queries", "queries.tsv"]),
    }
    told = {}
    for case, (run, options) in refused.items():
        done = rerank(run, model, "out.txt", *options)
        assert done.status == 1, case
        told[case] = done.err.decode().splitlines()[-1].replace(model, "MODEL")
    assert told == snapshot
    assert not Path("out.txt").exists()


# Runs


def test_the_first_documents_are_ranked_by_their_scores(first: Path, model: str, flag: Any, tmp_path: Path) -> None:
    """The first 20 are sorted by FlagReranker's scores; the others follow as they were."""
    assert rerank(first, model, tmp_path / "out.txt", "--depth", "20").status == 0
    queries, passages = texts()
    before, after = read_run(first), read_run(tmp_path / "out.txt")
    assert list(after) == list(before)
    for qid in before:
        order = in_order(before[qid])
        head, tail = order[:20], order[20:]
        expected = dict(zip(head, flag.compute_score([(queries[qid], passages[docid]) for docid in head]), strict=True))
        # Other pairs share the batches, which may change the last digits.
        assert {docid: after[qid][docid] for docid in head} == pytest.approx(expected, abs=5e-6)
        lowest = min(after[qid][docid] for docid in head)
        assert in_order(after[qid])[len(head) :] == tail
        assert [after[qid][docid] for docid in tail] == pytest.approx([lowest - 1 - at for at in range(len(tail))])


def test_a_depth_larger_than_the_run_reranks_all_of_it_as_its_record_says(
    first: Path, model: str, tmp_path: Path
) -> None:
    assert rerank(first, model, tmp_path / "out.txt", "--depth", "1000").status == 0
    before, after = read_run(first), read_run(tmp_path / "out.txt")
    assert {qid: set(after[qid]) for qid in after} == {qid: set(before[qid]) for qid in before}
    record = json.loads((tmp_path / "out.txt.json").read_text("utf-8"))
    assert record["run"]["sha256"] == digest(tmp_path / "out.txt")
    assert record["first_stage"]["sha256"] == digest(first)
    assert record["first_stage"]["record"]["search"]["kind"] == "bm25"
    made, lines = record["reranker"], sum(map(len, before.to_dict().values()))
    assert made["model"]["files"]["model.safetensors"] == digest(Path(model) / "model.safetensors")
    assert (made["depth"], made["below"], made["pairs"], record["run"]["lines"]) == (1000, "keep", lines, lines)
    assert (made["precision"], made["max_length"], made["query_max_length"]) == ("fp32", 512, 384)
    assert [each["batch_size"] for each in made["by"]] == [8]
    assert not list((tmp_path / "out.txt.work").rglob("*.npz"))


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_record_passes_on_the_tuning_of_the_run_and_may_leave_out_folders(
    first: Path, model: str, tmp_path: Path
) -> None:
    run = tmp_path / "tuned.txt"
    run.write_bytes(first.read_bytes())
    record = {
        "run": {"file": str(run), "sha256": digest(run)},
        "directory": "/home/someone",
        "tuned": {"queries": ["a"]},
    }
    Path(f"{run}.json").write_text(json.dumps(record))
    assert rerank(run, model, tmp_path / "out.txt", "--depth", "1", "--no-paths").status == 0
    text = (tmp_path / "out.txt.json").read_text("utf-8")
    assert json.loads(text)["tuned"] == {"queries": ["a"]}
    assert json.loads(text)["first_stage"]["record"] == {
        "run": {"file": "tuned.txt", "sha256": digest(run)}, "tuned": {"queries": ["a"]}
    }  # fmt: skip
    assert "someone" not in text
    assert str(tmp_path) not in text


def test_a_worker_that_was_made_elsewhere_gives_the_same_scores(model: str) -> None:
    """Its maker is pickled, as for processes and clusters."""
    from treceval_py.retrieval.models import find_model

    maker = reranker_maker(Reranker(find_model(model, wanted="reranker")))
    one, other = (made("cpu") for made in (maker, pickle.loads(pickle.dumps(maker))))
    pairs = random_pairs()[:20]
    assert score(one, pairs).tolist() == score(other, pairs).tolist()


def test_the_hash_of_texts_is_one_of_all_that_is_scored(model: str, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("1 Q0 a 1 2 t\n")
    (tmp_path / "queries.tsv").write_text("1\tq\n")
    (tmp_path / "corpus.tsv").write_text("b\tnot of the run\na\tthe river\n")
    options = ["--corpus", str(tmp_path / "corpus.tsv"), "--queries", str(tmp_path / "queries.tsv")]
    assert rerank(tmp_path / "run", model, tmp_path / "out.txt", *options).status == 0
    record = json.loads((tmp_path / "out.txt.json").read_text("utf-8"))
    assert record["texts"]["sha256"] == hashlib.sha256(b'[{"1":"q"},{"a":"the river"}]').hexdigest()


# As part of `retrieve`


def test_retrieve_reranks_as_the_command_does(first: Path, model: str, tmp_path: Path) -> None:
    both, again = tmp_path / "both.txt", tmp_path / "again.txt"
    given = ["retrieve", str(DATA), "--retriever", "bm25", "-k", "50", "--rerank", model, "--rerank-depth", "20"]
    given += ["--device", "cpu", "--batch-size", "8", "--tag", "mine", "-m", "map"]
    done = treceval([*given, "-o", str(both)])
    assert done.status == 0
    assert rerank(first, model, again, "--depth", "20", "--tag", "mine").status == 0
    assert both.read_bytes() == again.read_bytes()
    (kept,) = (tmp_path / "both.txt.work" / "first").glob("*.txt")
    assert read_run(kept).to_dict() == read_run(first).to_dict()
    # The run of the first stage is taken over, even where the collection would now be ranked in another way.
    made = os.stat(kept).st_mtime_ns
    assert treceval([*given, "-o", str(both)]).out == done.out
    assert os.stat(kept).st_mtime_ns == made
    assert treceval([*given, "-o", str(both), "--dry-run"]).out.decode().count("600 pairs") == 1


def test_reranked_runs_have_notes_on_their_depth_only_where_documents_are_left(model: str, tmp_path: Path) -> None:
    given = ["retrieve", str(DATA), "-o", str(tmp_path / "out.txt"), "--retriever", "jaccard", "--device", "cpu"]
    noted = {}
    for depth in ("215", "216", "217"):
        done = treceval([*given, "--rerank", model, "--rerank-depth", "1", "-m", "R@1000", "-k", depth])
        assert done.status == 0, done.err
        noted[depth] = done.err.count(b"documents per query were retrieved")
    assert noted == {"215": 1, "216": 0, "217": 0}


def test_where_nothing_is_found_nothing_is_reranked(model: str, tmp_path: Path) -> None:
    (tmp_path / "collection.tsv").write_text("a\tthe river\n")
    (tmp_path / "queries.tsv").write_text("1\tlaw\n")
    given = ["--retriever", "jaccard", "--rerank", model, "--device", "cpu"]
    done = treceval(["retrieve", str(tmp_path), "-o", str(tmp_path / "out.txt"), *given])
    assert (done.status, b"1 of 1 queries found nothing" in done.err) == (0, True), done.err
    assert (tmp_path / "out.txt").read_bytes() == b""


def test_models_of_another_kind_and_batches_of_nothing_are_refused_before_texts_are_read(
    model: str, tmp_path: Path
) -> None:
    reranker, encoder = find_model(model, wanted="reranker"), find_model(make_tiny_model(tmp_path / "m"))
    settings = settings_for(encoder, pooling="cls")
    refused = {
        "not found as a reranker": (Jaccard(), Reranker(encoder)),
        "which makes no vectors": (Dense(reranker, settings_for(reranker), ["cpu"]), None),
        "the batch size is 0": (Dense(encoder, settings, ["cpu"], batch_size=0), None),
        "the batch size is -1": (Jaccard(), Reranker(reranker, batch_size=-1)),
    }
    for told, (retriever, second) in refused.items():
        request = Request(SimpleNamespace(), "", "", retriever, reranker=second)  # type: ignore[arg-type]
        with pytest.raises(RunnerError, match=told):
            check_request(request)
