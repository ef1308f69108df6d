"""Weights of words: those of sentence-transformers' SparseEncoder and of FlagEmbedding's bge-m3, searched exactly."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from packages import flag_embedding, skip_without
from tiny_models import TEXTS, byte_tokenizer, make_xlm_roberta

from treceval_py.cli.commands import run as command
from treceval_py.errors import RunnerError
from treceval_py.retrieval.collection import open_collection
from treceval_py.retrieval.engines import encoder_maker
from treceval_py.retrieval.exact import SparseBest, hits_of
from treceval_py.retrieval.indexing import IndexSettings
from treceval_py.retrieval.models import find_model, settings_for
from treceval_py.retrieval.pipeline import Dense, Request, check_request

skip_without("sentence_transformers")

DATA = Path(__file__).parent.parent / "data"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("sparse")


@pytest.fixture(scope="module")
def masked(folder):
    """Return a masked language model as SPLADE's first versions are saved: without a word on what it is for."""
    import torch
    import transformers

    tokenizer = byte_tokenizer("<s>", "</s>")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=600, pad_token_id=2, initializer_range=0.3,
    )  # fmt: skip
    model = transformers.BertForMaskedLM(config)
    with torch.no_grad():
        model.cls.predictions.bias.fill_(-3)  # most words of the vocabulary have no weight then
    model.save_pretrained(str(folder / "splade-tiny"))
    tokenizer.save_pretrained(str(folder / "splade-tiny"))
    return str(folder / "splade-tiny")


@pytest.fixture(scope="module")
def m3(folder):
    """Return a model in the layout of bge-m3."""
    import torch

    made = Path(make_xlm_roberta(folder / "bge-m3"))
    for name, width in (("sparse", 1), ("colbert", 32)):
        linear = torch.nn.Linear(32, width)
        torch.nn.init.normal_(linear.weight, std=2)
        torch.nn.init.constant_(linear.bias, 12)
        torch.save(linear.state_dict(), made / f"{name}_linear.pt")
    return str(made)


def encoder_of(folder, **settings):
    model = find_model(folder, wanted="sparse")
    return encoder_maker(model, settings_for(model, **settings), 4)("cpu")


def encode(encoder, side="passages"):
    return encoder.work(encoder.prepare((TEXTS, TEXTS, side)), lambda _: None)


def agrees(encoder, theirs, **instructions):
    """Compare with the weights of sentence-transformers, where some are 0 and some are not."""
    theirs.max_seq_length = 512
    for side in ("queries", "passages"):
        found = encode(encoder, side)
        expected = theirs.encode(TEXTS, prompt=instructions.get(side, ""), batch_size=4, convert_to_sparse_tensor=False)
        assert 0 < found.nnz < found.shape[0] * found.shape[1]
        np.testing.assert_allclose(found.toarray(), expected.numpy(), atol=1e-6)


@pytest.mark.slow
def test_splade_without_files_of_sentence_transformers(masked):
    import sentence_transformers

    theirs = sentence_transformers.SparseEncoder(masked, device="cpu")
    agrees(encoder_of(masked), theirs)


@pytest.mark.slow
def test_splade_with_prompts_and_a_most_number_of_words(folder, masked):
    import sentence_transformers

    prompts = {"query": "query: ", "document": "text: "}
    theirs = sentence_transformers.SparseEncoder(masked, device="cpu", prompts=prompts, max_active_dims=9)
    theirs.save(str(folder / "saved"))
    encoder = encoder_of(folder / "saved")
    agrees(encoder, theirs, queries="query: ", passages="text: ")
    assert np.diff(encode(encoder).indptr).max() == 9


@pytest.mark.slow
def test_lexical_weights_of_bge_m3_are_those_of_flag_embedding(m3):
    flag = flag_embedding().BGEM3FlagModel(m3, use_fp16=False, devices="cpu", batch_size=4)
    expected = flag.encode(TEXTS, return_dense=False, return_sparse=True, max_length=512)["lexical_weights"]
    encoder = encoder_of(m3)
    found = encode(encoder)
    assert (found.dtype, encoder.by["engine"]) == (np.float32, "FlagEmbedding")
    rows = [dict(zip(row.indices.tolist(), row.data, strict=True)) for row in found]
    assert rows == [{int(token): weight for token, weight in row.items()} for row in expected]
    assert sum(map(len, rows)) > 10
    # The score of a pair is FlagEmbedding's too.
    score = flag.compute_lexical_matching_score(expected[2], expected[4])
    assert (found[2] @ found[4].T).toarray().item() == pytest.approx(score, rel=1e-6)


@pytest.mark.slow
def test_a_damaged_layer_of_weights_is_refused(folder, m3):
    damaged = shutil.copytree(m3, folder / "damaged")
    (damaged / "sparse_linear.pt").write_bytes(b"no weights")
    with pytest.raises(RunnerError, match=f"^{damaged}: the model cannot be loaded: .* Copy it again, or use another"):
        encoder_of(damaged)
    # FlagEmbedding looks at both files, and makes both layers at random where one is missing.
    (damaged / "colbert_linear.pt").unlink()
    with pytest.raises(RunnerError, match=f"^{damaged}: this is a model of one vector for each text"):
        encoder_of(damaged)


@pytest.mark.slow
def test_a_model_without_the_head_that_weighs_words_is_refused(folder, masked):
    import transformers

    bare = shutil.copytree(masked, folder / "splade-bare")
    transformers.BertModel.from_pretrained(masked).save_pretrained(str(bare))
    config = (bare / "config.json").read_text().replace('"BertModel"', '"BertForMaskedLM"')
    (bare / "config.json").write_text(config)
    with pytest.raises(RunnerError, match=r"tensors of the weights differ .* such as cls\.predictions"):
        encoder_of(bare)


# Search


def plain(queries, passages, k):
    """Return positions and scores by loops over floats, equal scores in the order of the passages."""
    found = []
    for query in queries.toarray().astype(np.float64):
        scores = passages.toarray().astype(np.float64) @ query
        best = sorted(range(len(scores)), key=lambda at: -scores[at])[:k]
        found.append([(at, scores[at]) for at in best if scores[at] > 0])
    return found


@pytest.mark.parametrize("k", [1, 5, 300])
def test_the_best_are_those_of_plain_loops_whatever_the_blocks(k):
    from scipy.sparse import random

    rng = np.random.default_rng(7)
    # Few small numbers: sums are exact in float32, and many are equal.
    passages, queries = (
        random(rows, 30, density, "csr", np.float32, rng, data_rvs=lambda size: rng.integers(1, 4, size) / 2)
        for rows, density in ((200, 0.1), (100, 0.2))
    )
    results = []
    for size in (200, 64, 7):
        best = SparseBest(queries, k)
        for first in range(0, 200, size):
            best.add(first, passages[first : first + size])
        results.append(hits_of(best.keys))
    got = [
        [(at, score) for at, score in zip(*row, strict=True) if at >= 0]
        for row in zip(results[0].positions.tolist(), results[0].scores.tolist(), strict=True)
    ]
    assert got == plain(queries, passages, k)
    for other in results[1:]:
        np.testing.assert_array_equal(other.positions, results[0].positions)
        np.testing.assert_array_equal(other.scores, results[0].scores)


# The whole way


def retrieve(*arguments):
    return command(["retrieve", *map(str, arguments)])


@pytest.fixture(scope="module")
def collection(folder):
    """Return 300 passages and 20 queries, more than one shard of each."""
    made = folder / "collection"
    made.mkdir()
    rng = np.random.default_rng(1)
    words = [line.split("\t")[1].split() for line in (DATA / "collection.tsv").read_text().splitlines()]
    words = [word for text in words for word in text]
    for name, count, longest in (("collection.tsv", 300, 12), ("queries.tsv", 20, 4)):
        lines = [f"{at}\t{' '.join(rng.choice(words, rng.integers(1, longest)))}\n" for at in range(count)]
        (made / name).write_text("".join(lines))
    return made


@pytest.mark.slow
def test_a_run_has_the_scores_of_sentence_transformers(folder, masked, collection, monkeypatch):
    import sentence_transformers

    monkeypatch.setattr("treceval_py.retrieval.pipeline.SHARD_SIZE", 64)
    monkeypatch.setattr("treceval_py.retrieval.pipeline.GROUP", 8)

    output, again = folder / "run.txt", folder / "again.txt"
    sparse = ("--retriever", "sparse", "--model", masked, "-k", 300)
    assert retrieve(collection, "-o", output, *sparse) == 0
    theirs = sentence_transformers.SparseEncoder(masked, device="cpu")
    texts, asked = (
        [line.split("\t") for line in (collection / name).read_text().splitlines()]
        for name in ("collection.tsv", "queries.tsv")
    )
    scores = theirs.similarity(
        theirs.encode_query([text for _, text in asked]), theirs.encode_document([text for _, text in texts])
    ).to_dense()
    expected = {
        (qid, docid): float(scores[row, at])
        for row, (qid, _) in enumerate(asked)
        for at, (docid, _) in enumerate(texts)
        if scores[row, at] > 0
    }
    lines = [line.split() for line in output.read_text().splitlines()]
    assert {(qid, docid): float(score) for qid, _, docid, _, score, _ in lines} == pytest.approx(expected, rel=1e-5)
    # Vectors are taken over, and a run from them is the same.
    assert retrieve(collection, "-o", again, *sparse, "--work", f"{output}.work") == 0
    assert again.read_bytes() == output.read_bytes()
    record, other = (json.loads((folder / f"{name}.txt.json").read_text()) for name in ("run", "again"))
    assert record["search"]["kind"] == "sparse product"
    assert other["taken_over"] == {"passages": 300, "queries": 20}
    assert record["passages"]["sha256"] == other["passages"]["sha256"]


@pytest.mark.slow
def test_a_corpus_that_grew_gives_the_bytes_of_a_run_from_nothing(folder, m3, collection, monkeypatch):
    monkeypatch.setattr("treceval_py.retrieval.pipeline.SHARD_SIZE", 64)
    grown = shutil.copytree(collection, folder / "grown")
    with open(grown / "collection.tsv", "a") as stream:
        stream.write("new\tanother passage about the law\n")
    sparse = ("--retriever", "sparse", "--model", m3, "-k", 50)
    assert retrieve(collection, "-o", folder / "grown.txt", *sparse) == 0
    assert retrieve(grown, "-o", folder / "grown.txt", *sparse) == 0
    assert retrieve(grown, "-o", folder / "fresh.txt", *sparse) == 0
    assert (folder / "grown.txt").read_bytes() == (folder / "fresh.txt").read_bytes()
    kept = json.loads((folder / "grown.txt.json").read_text())["taken_over"]
    assert kept["passages"] >= 300 - 64


@pytest.mark.slow
def test_more_queries_than_a_group_has_give_the_same_run(folder, masked, collection, monkeypatch):
    """Shards of queries are read whole, whatever the groups."""
    monkeypatch.setattr("treceval_py.retrieval.pipeline.SHARD_SIZE", 4)
    for name, group in (("one", 2048), ("many", 3)):
        monkeypatch.setattr("treceval_py.retrieval.pipeline.GROUP", group)
        given = ("--retriever", "sparse", "--model", masked, "--tag", "t", "-k", 20)
        assert retrieve(collection, "-o", folder / f"{name}.txt", *given) == 0
    assert (folder / "one.txt").read_bytes() == (folder / "many.txt").read_bytes()
    assert json.loads((folder / "many.txt.json").read_text())["run"]["lines"] > 20


@pytest.mark.slow
def test_a_plan_says_what_is_searched_and_a_damaged_shard_and_a_dense_retriever_are_refused(
    folder, masked, collection, capfdbinary
):
    output, model = folder / "damaged.txt", ("--model", masked)
    assert retrieve(collection, "-o", output, "--retriever", "sparse", *model, "--dry-run") == 0
    told = capfdbinary.readouterr().out.decode()
    assert "weights of 260 words, fp32" in told
    assert "exact, by sparse products" in told
    assert retrieve(collection, "-o", output, "--retriever", "sparse", *model) == 0
    (shard,) = (folder / "damaged.txt.work" / "passages").glob("*.npz")
    shard.write_bytes(shard.read_bytes()[:-1])
    assert retrieve(collection, "-o", output, "--retriever", "sparse", *model) == 1
    assert b"the file was cut short or changed" in capfdbinary.readouterr().err
    assert retrieve(collection, "-o", output, *model) == 1
    assert b"Give it to treceval retrieve as --model, with --retriever sparse." in capfdbinary.readouterr().err


@pytest.mark.slow
def test_an_index_of_sparse_vectors_is_refused_before_anything_is_encoded(folder, masked, collection):
    model = find_model(masked, wanted="sparse")
    dense = Dense(model, settings_for(model), ["cpu"])
    request = Request(open_collection(str(collection)), str(folder / "index.txt"), str(folder / "none"), dense)
    check_request(request)
    indexed = replace(dense, index=IndexSettings("Flat", "inner-product"))
    with pytest.raises(RunnerError, match=r"^Faiss has no index for sparse vectors\. Search them exactly\.$"):
        check_request(request._replace(retriever=indexed))
