"""Reranking: FlagReranker's scores, the run that is made of them, and what a kill leaves.

Expected scores are those that FlagEmbedding's FlagReranker computes in the test.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import treceval
from packages import skip_without
from tiny_models import WORDS, make_tiny_model, make_tiny_reranker

from treceval_py.errors import RunnerError
from treceval_py.io.named import read_run
from treceval_py.retrieval import reranking

skip_without("FlagEmbedding", "bm25s", "pyarrow")

pytestmark = pytest.mark.slow

DATA = Path(__file__).parent.parent / "data"
TEXTS = ["--corpus", str(DATA / "collection.tsv"), "--queries", str(DATA / "queries.tsv")]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_tiny_reranker(tmp_path_factory.mktemp("models") / "tiny-reranker")


@pytest.fixture(scope="module")
def flag(model: str) -> Any:
    from FlagEmbedding import FlagReranker

    return FlagReranker(model, use_fp16=False, devices="cpu")


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of a first stage: BM25 of data/, up to 50 documents for each of 30 queries."""
    path = tmp_path_factory.mktemp("first") / "bm25.txt"
    assert treceval(["retrieve", str(DATA), "-o", str(path), "--retriever", "bm25", "-k", "50"]).status == 0
    return path


def rerank(first: Path, model: str, output: Path, *options: str) -> Any:
    given = [str(first), "-o", str(output), *TEXTS, "--model", model, "--device", "cpu", "--batch-size", "8", *options]
    return treceval(["rerank", *given])


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


def cross_encoder(model: str, **settings: Any) -> reranking.CrossEncoder:
    from treceval_py.retrieval.models import find_model

    return reranking.CrossEncoder(reranking.Reranker(find_model(model, wanted="reranker"), **settings), "cpu")


@pytest.mark.parametrize("length", [32, 100, 512])
def test_scores_are_those_of_flag_reranker_to_the_bit(model: str, flag: Any, length: int) -> None:
    pairs = random_pairs()
    expected = flag.compute_score(pairs, batch_size=16, max_length=length)
    done: list[int] = []
    scores = cross_encoder(model, max_length=length, batch_size=16).work(pairs, done.append)
    assert scores.tolist() == expected
    assert sum(done) == len(pairs)


def test_scores_are_those_of_sentence_transformers_where_nothing_is_cut(model: str) -> None:
    from sentence_transformers import CrossEncoder
    from torch.nn import Identity

    pairs = [(query, passage[:200]) for query, passage in random_pairs() if len(query) < 200]
    expected = CrossEncoder(model).predict(pairs, activation_fn=Identity())
    np.testing.assert_allclose(cross_encoder(model).work(pairs), expected, atol=2e-6, rtol=0)


def test_half_precision_is_that_of_the_rounded_weights(model: str) -> None:
    pairs = random_pairs()[:20]
    full, rounded = (cross_encoder(model, precision=name).work(pairs) for name in ("fp32", "fp16-weights"))
    assert 0 < np.abs(full - rounded).max() < 0.02  # fp16 has 11 bits


def test_when_memory_runs_out_fewer_pairs_are_scored_at_once(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    pairs = random_pairs()[:20]
    worker = cross_encoder(model, batch_size=16)
    logits = worker._logits

    def with_little_memory(inputs: Any) -> Any:
        if len(inputs["input_ids"]) > 10:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return logits(inputs)

    monkeypatch.setattr(worker, "_logits", with_little_memory)
    found = worker.work(pairs)
    np.testing.assert_allclose(found, cross_encoder(model, batch_size=9).work(pairs), atol=2e-6, rtol=0)
    assert worker.by["batch_size"] == 9  # 16 · ¾ = 12, 12 · ¾ = 9
    assert worker.notes[-1] == "Memory on cpu is enough for 9 pairs at once, not 16."


# Models that are refused


def test_a_model_with_two_labels_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunnerError, match="2"):
        cross_encoder(make_tiny_reranker(tmp_path / "two", labels=2))


def test_an_embedder_is_refused_as_its_head_would_be_random(tmp_path: Path, first: Path) -> None:
    done = rerank(first, make_tiny_model(tmp_path / "embedder"), tmp_path / "out.txt")
    assert done.status == 1
    assert b"embedder" in done.err
    assert not (tmp_path / "out.txt").exists()


def test_language_models_and_models_with_prompts_are_refused_by_name(model: str) -> None:
    from treceval_py.retrieval.models import find_model

    fits = find_model(model, wanted="reranker")
    reranking.Reranker(fits).check()
    with pytest.raises(RunnerError, match=r"the reranker is a GemmaForCausalLM; only cross-encoders .* run here"):
        reranking.Reranker(fits._replace(architecture="GemmaForCausalLM")).check()
    with pytest.raises(RunnerError, match="the reranker has prompts"):
        reranking.Reranker(fits._replace(prompts={"query": "<query>: "})).check()


@pytest.mark.parametrize("lost", ["classifier.weight", "bert.pooler.dense.bias"])
def test_weights_that_are_missing_are_refused(tmp_path: Path, lost: str) -> None:
    from safetensors.torch import load_file, save_file

    folder = make_tiny_reranker(tmp_path / "broken")
    weights = load_file(f"{folder}/model.safetensors")
    del weights[lost]
    save_file(weights, f"{folder}/model.safetensors", {"format": "pt"})
    with pytest.raises(RunnerError, match=f"the weights lack 1 of the model's tensors, such as {lost}"):
        cross_encoder(folder)


def test_scores_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = make_tiny_reranker(tmp_path / "nan")
    weights = load_file(f"{folder}/model.safetensors")
    weights["classifier.bias"].fill_(float("nan"))
    save_file(weights, f"{folder}/model.safetensors", {"format": "pt"})
    with pytest.raises(RunnerError, match="the score of a pair is not finite"):
        cross_encoder(folder)


@pytest.mark.parametrize(("options", "told"), [
    (["--max-length", "513"], "pairs of 513 tokens cannot be scored. Give 32 to 512."),
    (["--max-length", "31"], "pairs of 31 tokens cannot be scored. Give 32 to 512."),
    (["--precision", "fp16"], "fp16 is for GPUs, and the device is the CPU"),
    (["--tag", "a b"], "tag 'a b' is empty or contains white space"),
])  # fmt: skip
def test_settings_that_cannot_be_used_are_refused(
    first: Path, model: str, tmp_path: Path, options: list[str], told: str
) -> None:
    done = rerank(first, model, tmp_path / "out.txt", *options)
    assert (done.status, told in done.err.decode()) == (1, True), done.err


# Runs


@pytest.mark.parametrize("below", ["keep", "drop"])
def test_the_first_documents_are_ranked_by_their_scores(
    first: Path, model: str, flag: Any, tmp_path: Path, below: str
) -> None:
    """The first 20 are sorted by FlagReranker's scores; the others follow as they were, or are gone."""
    assert rerank(first, model, tmp_path / "out.txt", "--depth", "20", "--below", below).status == 0
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
        kept = tail if below == "keep" else []
        assert in_order(after[qid])[len(head) :] == kept
        assert [after[qid][docid] for docid in kept] == pytest.approx([lowest - 1 - at for at in range(len(kept))])


def test_a_depth_larger_than_the_run_reranks_all_of_it(first: Path, model: str, tmp_path: Path) -> None:
    assert rerank(first, model, tmp_path / "all.txt", "--depth", "1000").status == 0
    before, after = read_run(first), read_run(tmp_path / "all.txt")
    assert {qid: set(after[qid]) for qid in after} == {qid: set(before[qid]) for qid in before}
    record = json.loads((tmp_path / "all.txt.json").read_text("utf-8"))
    assert record["reranker"]["pairs"] == record["run"]["lines"] == sum(map(len, before.to_dict().values()))


def test_the_record_says_what_the_run_was_made_from(first: Path, model: str, tmp_path: Path) -> None:
    assert rerank(first, model, tmp_path / "out.txt", "--depth", "5").status == 0
    record = json.loads((tmp_path / "out.txt.json").read_text("utf-8"))
    assert record["run"]["sha256"] == digest(tmp_path / "out.txt")
    assert record["first_stage"]["sha256"] == digest(first)
    assert record["first_stage"]["record"]["search"]["kind"] == "bm25"
    made = record["reranker"]
    assert made["model"]["files"]["model.safetensors"] == digest(Path(model) / "model.safetensors")
    assert (made["depth"], made["below"], made["pairs"]) == (5, "keep", 150)
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


def test_two_processes_make_the_run_of_one(first: Path, model: str, tmp_path: Path) -> None:
    import torch

    # With as many threads as each of the two has: last digits depend on them.
    before = torch.get_num_threads()
    torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // 2))
    try:
        assert rerank(first, model, tmp_path / "one.txt", "--depth", "50").status == 0
    finally:
        torch.set_num_threads(before)
    assert rerank(first, model, tmp_path / "two.txt", "--depth", "50", "--device", "cpu").status == 0
    assert (tmp_path / "two.txt").read_bytes() == (tmp_path / "one.txt").read_bytes()


@pytest.mark.parametrize(("texts", "told"), [
    ("--corpus", "1 of the 214 passages to rerank are not there, such as '215'"),
    ("--queries", "1 of the 30 queries to rerank are not there, such as"),
])  # fmt: skip
def test_texts_that_are_missing_are_refused(first: Path, model: str, tmp_path: Path, texts: str, told: str) -> None:
    source = Path(TEXTS[TEXTS.index(texts) + 1])
    short = tmp_path / "short.tsv"
    short.write_text("\n".join(source.read_text("utf-8").splitlines()[:-1]), "utf-8")
    done = rerank(first, model, tmp_path / "out.txt", texts, str(short))
    assert (done.status, told in done.err.decode()) == (1, True), done.err


def test_a_text_that_is_not_unicode_is_refused_with_its_line(model: str, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("1 Q0 a 1 2 t\n")
    (tmp_path / "queries.tsv").write_text("1\tq\n")
    (tmp_path / "corpus.jsonl").write_text('{"_id": "b", "text": ""}\n{"_id": "a", "text": "x \\ud800"}\n')
    options = ["--corpus", str(tmp_path / "corpus.jsonl"), "--queries", str(tmp_path / "queries.tsv")]
    done = rerank(tmp_path / "run", model, tmp_path / "out.txt", *options)
    assert (done.status, "corpus.jsonl:2: the text is not valid Unicode" in done.err.decode()) == (1, True), done.err


def test_a_text_that_comes_twice_is_refused_with_its_lines(model: str, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("1 Q0 a 1 2 t\n")
    (tmp_path / "queries.tsv").write_text("1\tq\n")
    (tmp_path / "corpus.tsv").write_text("a\tthe river\nb\tlaw\na\tcity\n")
    options = ["--corpus", str(tmp_path / "corpus.tsv"), "--queries", str(tmp_path / "queries.tsv")]
    done = rerank(tmp_path / "run", model, tmp_path / "out.txt", *options)
    told = "corpus.tsv:3: the id 'a' occurs twice (first on line 1). Keep one of the two."
    assert (done.status, told in done.err.decode()) == (1, True), done.err


def test_what_is_not_there_is_said_before_a_model_is_looked_for(first: Path, tmp_path: Path) -> None:
    for run, output, told in (
        (tmp_path / "missing.txt", tmp_path / "out.txt", "missing.txt: no such file. Check the name."),
        (first, tmp_path / "no" / "out.txt", "out.txt: the folder of the run file does not exist."),
    ):
        done = rerank(run, "no-such-model", output)
        assert (done.status, told in done.err.decode()) == (1, True), done.err
    given = ["retrieve", str(DATA), "-o", str(tmp_path / "no" / "out.txt"), "--model", "no-such-model"]
    assert "out.txt: the folder of the run file does not exist." in treceval(given).err.decode()
    assert os.listdir(tmp_path) == []


def test_an_empty_tag_is_refused(first: Path, model: str, tmp_path: Path) -> None:
    done = rerank(first, model, tmp_path / "out.txt", "--tag", "")
    assert (done.status, "tag" in done.err.decode()) == (1, True), done.err


def test_the_hash_of_texts_is_one_of_all_that_is_scored(model: str, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("1 Q0 a 1 2 t\n")
    (tmp_path / "queries.tsv").write_text("1\tq\n")
    (tmp_path / "corpus.tsv").write_text("b\tnot of the run\na\tthe river\n")
    options = ["--corpus", str(tmp_path / "corpus.tsv"), "--queries", str(tmp_path / "queries.tsv")]
    assert rerank(tmp_path / "run", model, tmp_path / "out.txt", *options).status == 0
    record = json.loads((tmp_path / "out.txt.json").read_text("utf-8"))
    assert record["texts"]["sha256"] == hashlib.sha256(b'["1","q"]\n["a","the river"]\n').hexdigest()


def test_a_run_is_not_written_over_itself(first: Path, model: str) -> None:
    before = first.read_bytes()
    done = rerank(first, model, first)
    assert done.status == 1
    assert done.err.decode().endswith(": the run would replace one of its own input files. Name another.\n")
    assert first.read_bytes() == before


@pytest.mark.parametrize(("output", "told"), [
    ("-", "-: a run is a file, with its record next to it."),
    ("new/", "new/: a run is a file, with its record next to it."),
    ("mine", "mine.json: this is not the record of a run, and would be overwritten. Name another run."),
])  # fmt: skip
def test_where_no_run_can_be_is_said_before_anything_is_scored(
    output: str, told: str, first: Path, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.json").write_text('{"1": {"a": 1.0}}')
    done = treceval(["rerank", str(first), "-o", output, *TEXTS, "--model", model])
    assert (done.status, told in done.err.decode()) == (1, True), done.err
    assert os.listdir() == ["mine.json"]


def test_a_run_that_cannot_be_read_again_is_refused(model: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for run in ("-", str(tmp_path / "pipe")):
        done = treceval(["rerank", run, "-o", str(tmp_path / "out.txt"), *TEXTS, "--model", model])
        assert f"{run}: the run to rerank must be a file, as it is read more than once." in done.err.decode()


# Kills


KILLER = """
import json, os, random, shutil, signal, sys
import bm25s, pyarrow.compute, transformers.models.bert.modeling_bert
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from treceval_py.cli.commands import run
from treceval_py.retrieval import parts, reranking

def once(point):  # in a fork: returns the status, how many changes of files there were, and how many groups were scored
    listen, tell = os.pipe()
    child = os.fork()
    if not child:
        count, scored, work = [0], [], reranking.CrossEncoder.work
        def watch(event, given):
            if event in {"open", "os.rename", "os.mkdir", "os.remove"} and str(given[0]).startswith(folder):
                count[0] += event != "open" or given[1] is None or "r" not in given[1]
                if count[0] == point:
                    os.kill(os.getpid(), signal.SIGKILL)
        def counted(self, pairs, *rest):
            scored.append(len(pairs))
            return work(self, pairs, *rest)
        reranking.PAIRS, reranking.CrossEncoder.work = 100, counted
        sys.addaudithook(watch)
        status = run([*sys.argv[2:], "-o", f"{folder}/run.txt"])
        os.write(tell, json.dumps([count[0], len(scored) - 1]).encode())  # the first pairs try out the model
        os._exit(status)
    os.close(tell)
    with open(listen) as stream:
        said = json.loads(stream.read() or "[0, 0]")
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), *said

def state():
    content = open(f"{folder}/run.txt", "rb").read() if os.path.exists(f"{folder}/run.txt") else b""
    found = sorted(name for _, _, names in os.walk(folder) for name in names)
    return content.decode(), found, sum(name.endswith(".npz") for name in found)

folder = os.path.join(sys.argv[1], "killed")
told = []
for point in (None, *(random.Random(seed).random() for seed in range(5))):
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    if point is not None:
        before = once(1 + int(point * told[0]["changes"])), state()
    status, changes, scored = once(None)
    told.append({"status": status, "changes": changes, "scored": scored, "state": state()})
    if point is not None:
        told[-1]["before"] = before
print(json.dumps(told))
"""


def test_a_killed_run_goes_on_where_it_was(model: str, tmp_path: Path) -> None:
    """Killed at any of the points where a file is about to change, it scores what is left and writes the same bytes."""
    given = ["retrieve", str(DATA), "--retriever", "bm25", "-k", "50", "-m", "map", "--rerank", model]
    given += ["--rerank-depth", "50", "--device", "cpu", "--batch-size", "8"]
    done = subprocess.run(
        [sys.executable, "-c", KILLER, str(tmp_path), *given],
        capture_output=True, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    whole, *killed = json.loads(done.stdout.splitlines()[-1])
    assert (whole["status"], whole["scored"]) == (0, 15)  # 30 queries, 2 in a group
    for each in killed:
        (status, *_), (_, _, groups) = each["before"]
        assert status == -signal.SIGKILL
        assert each["status"] == 0
        assert each["state"] == whole["state"]
        assert each["scored"] in {15 - groups, -1}  # nothing if all was scored
    assert len({groups for *_, (_, _, groups) in (each["before"] for each in killed)}) > 1


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


def test_where_nothing_is_found_nothing_is_reranked(model: str, tmp_path: Path) -> None:
    (tmp_path / "collection.tsv").write_text("a\tthe river\n")
    (tmp_path / "queries.tsv").write_text("1\tlaw\n")
    given = ["--retriever", "jaccard", "--rerank", model, "--device", "cpu"]
    done = treceval(["retrieve", str(tmp_path), "-o", str(tmp_path / "out.txt"), *given])
    assert (done.status, b"1 of 1 queries found nothing" in done.err) == (0, True), done.err
    assert (tmp_path / "out.txt").read_bytes() == b""


def test_a_plan_counts_the_memory_of_the_reranker(model: str, tmp_path: Path) -> None:
    given = ["--retriever", "jaccard", "--dry-run", "--no-probe", "-o", str(tmp_path / "out.txt")]
    alone, both = (treceval(["retrieve", str(DATA), *given, *more]) for more in ([], ["--rerank", model]))
    assert [line.split(b"about ")[1].split()[1] for done in (alone, both) for line in done.out.splitlines()
            if line.startswith(b"memory")] == [b"KB", b"MB"]  # fmt: skip


def test_options_of_reranking_need_it(tmp_path: Path) -> None:
    done = treceval(["retrieve", str(DATA), "-o", str(tmp_path / "run.txt"), "--rerank-depth", "20"])
    assert (done.status, done.err.decode().partition(" See")[0]) == (2, "treceval: --rerank-depth needs --rerank.")
