"""What `treceval retrieve` says and refuses before, or without, a model: these tests need none."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from command import Done, treceval
from packages import skip_without
from syrupy.assertion import SnapshotAssertion

from treceval_py.cli.rerank import devices_of
from treceval_py.corpora.reporting import Silent
from treceval_py.corpora.texts import Listed, survey
from treceval_py.errors import RunnerError
from treceval_py.retrieval import devices, models, pipeline
from treceval_py.retrieval.collection import Collection
from treceval_py.retrieval.engines import Reranker
from treceval_py.retrieval.external import Imported, read_vectors
from treceval_py.retrieval.models import find_model
from treceval_py.retrieval.pipeline import Request, check_request
from treceval_py.retrieval.shards import Store

skip_without("bm25s", "scipy", "pyarrow")

DATA = Path(__file__).parent.parent / "data"


def retrieve(*arguments: str | Path | int) -> Done:
    return treceval(["retrieve", *map(str, arguments)])


def said(folder: Path, *arguments: str | Path | int) -> str:
    """Return the exit status and what is said, with the folder as … and that of the data as data."""
    done = retrieve(*arguments)
    return f"{done.status} {done.err.decode().replace(str(folder), '…').replace(str(DATA), 'data')}".rstrip("\n")


def collection(folder: Path) -> Path:
    for name in ("collection.tsv", "queries.tsv", "qrels.tsv"):
        shutil.copy(DATA / name, folder / name)
    return folder


EMBEDDED = ["--embeddings", "x", "y"]
TOGETHER = [
    ["--retriever", "bm25", "--pooling", "cls"],
    ["--retriever", "sparse", "--pooling", "cls"],
    ["--retriever", "sparse", "--index", "Flat"],
    ["--retriever", "bm25", "--instruction", "Find: "],
    ["--retriever", "jaccard", "--bm25", "2,0.5"],
    ["--retriever", "jaccard", "--device", "cpu"],
    ["--retriever", "bm25", "--engine", "flagembedding"],
    ["--bm25", "2,0.5"],
    ["--rerank-depth", "20"],
    ["--ray", "auto", "--device", "cpu"],
    [*EMBEDDED, "--pooling", "cls"],
    [*EMBEDDED, "--corpus", "c"],
    [*EMBEDDED, "--rerank", "c"],
    [*EMBEDDED, "--retriever", "bm25"],
]


def test_options_that_would_be_ignored_are_refused(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    told = {" ".join(each): said(tmp_path, DATA, "-o", tmp_path / "run.txt", *each) for each in TOGETHER}
    told["no run"] = said(tmp_path, DATA)
    told["no run by words"] = said(tmp_path, DATA, "--retriever", "bm25")
    told["no run of embeddings"] = said(tmp_path, DATA, *EMBEDDED, "--work", tmp_path / "w")
    told |= {
        f"{name} of nothing": said(tmp_path, DATA, "-o", tmp_path / "r", name, "") for name in ("--model", "--rerank")
    }
    told["a split of nothing"] = said(tmp_path, "-o", tmp_path / "run.txt", *EMBEDDED, "--split", "dev")
    told["no run and no collection"] = said(tmp_path)
    only_encoded = (["-k", "5"], ["-m", "map"], ["--rerank", "x"], ["--index", "Flat"], ["--dry-run"])
    told |= {f"no run, {given[0]}": said(tmp_path, DATA, "--work", tmp_path / "w", *given) for given in only_encoded}
    assert told == snapshot
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("given", ["2", "2,x", "", "1,2,3"])
def test_k1_and_b_are_two_numbers(tmp_path: Path, given: str) -> None:
    told = said(tmp_path, DATA, "-o", tmp_path / "run.txt", "--retriever", "bm25", "--bm25", given)
    assert told.startswith("2 treceval: Invalid value for '--bm25': ")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("given", ["1,-0.1", "1,1.1", "nan,0.5"])
def test_k1_and_b_that_bm25_does_not_have_are_refused_before_texts_are_read(tmp_path: Path, given: str) -> None:
    told = said(tmp_path, DATA, "-o", tmp_path / "run.txt", "--retriever", "bm25", "--bm25", given)
    assert re.fullmatch(r"1 treceval: (k1|b) of BM25 is \S+\. Give a number from 0 to \S+\.", told)
    assert not list(tmp_path.iterdir())


def test_k1_and_b_are_those_given_or_of_the_preset(tmp_path: Path) -> None:
    settings = []
    for given in (["bm25", "--bm25", "0.82,0.68"], ["bm25-anserini", "--bm25", "0.82,0.68"], ["bm25-anserini"]):
        assert retrieve(DATA, "-o", tmp_path / "run.txt", "--retriever", *given).status == 0
        search = json.loads((tmp_path / "run.txt.json").read_text("utf-8"))["search"]
        settings.append((search["k1"], search["b"], search["name"]))
    assert settings == [(0.82, 0.68, "bm25"), (0.82, 0.68, "bm25-anserini"), (0.9, 0.4, "bm25-anserini")]


def test_a_name_may_have_a_revision_and_a_folder_an_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine@2").mkdir()
    (tmp_path / "mine@2" / "config.json").write_text("{}")
    asked: list[tuple[str, str | None]] = []

    def from_hub(name: str, revision: str | None, **_: Any) -> tuple[str, int]:
        asked.append((name, revision))
        return str(tmp_path / "mine@2"), 0

    monkeypatch.setattr(models, "from_hub", from_hub)
    for name in ("BAAI/bge-base-en-v1.5", "BAAI/bge-base-en-v1.5@abc", "bge@a/b", str(tmp_path / "mine@2")):
        with pytest.raises(RunnerError, match="the model has no weights"):
            find_model(name)
    assert asked == [("BAAI/bge-base-en-v1.5", None), ("BAAI/bge-base-en-v1.5", "abc"), ("bge", "a/b")]
    told = said(tmp_path, DATA, "-o", tmp_path / "run.txt", "--model", "BAAI/bge-m3@")
    todo = "there is no such folder. Give a model's folder, or its name on the hub."
    assert told.splitlines()[-1] == f"1 BAAI/bge-m3@: {todo}"


class Notes(Silent):
    def __init__(self) -> None:
        self.texts: list[str] = []

    def note(self, text: str) -> None:
        self.texts.append(text)


def test_a_precision_is_chosen_by_the_devices_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """bf16 where every device is a GPU that computes with it: from compute capability 8 on, as NVIDIA says; else fp16."""
    capability = {"cuda:0": 9, "cuda:1": 7}
    monkeypatch.setattr(devices, "devices_for", list)
    gpus = SimpleNamespace(get_device_capability=lambda device: (capability[device], 0))
    monkeypatch.setattr(devices, "import_torch", lambda: SimpleNamespace(cuda=gpus))
    taken, reporter = {}, Notes()
    for names in (["cuda:0"], ["cuda:0", "cuda:1"], ["cuda:0", "cpu"], ["cpu"]):
        options = {"devices": names, "ray": None, "precision": "auto"}
        taken[",".join(names)] = devices_of(options, reporter)[1]
    assert taken == {"cuda:0": "bf16", "cuda:0,cuda:1": "fp16", "cuda:0,cpu": "fp32", "cpu": "fp32"}
    assert devices_of({"devices": [], "ray": "auto", "precision": "auto"}, reporter) == ([], "fp32")
    changed = "--precision auto took {}; scores have fewer digits than with fp32, so some documents change places."
    half = [changed.format(precision) for precision in ("bf16", "fp16")]
    assert reporter.texts == [*half, *["--precision auto took fp32."] * 3]
    with pytest.raises(RunnerError, match=r"cuda:1 does not compute with bf16"):
        devices_of({"devices": ["cuda:1"], "ray": None, "precision": "bf16"}, reporter)


def test_a_plan_says_which_bm25_it_is(tmp_path: Path) -> None:
    for preset, about in (("bm25", "bm25, k1 1.5, b 0.75"), ("bm25-anserini", "bm25-anserini, k1 0.9, b 0.4")):
        done = retrieve(DATA, "-o", tmp_path / "run.txt", "--retriever", preset, "--dry-run")
        assert f"search      {about}\n" in done.out.decode()


def test_a_cutoff_beyond_the_depth_has_a_note(tmp_path: Path) -> None:
    """There are 216 passages: 216 documents per query are all of them."""
    notes = {}
    for depth in (215, 216, 1000):
        done = retrieve(DATA, "-o", tmp_path / "run.txt", "--retriever", "jaccard", "-k", depth, "-m", "R@215,R@217,AP")
        notes[depth] = [line for line in done.err.decode().splitlines() if "were retrieved" in line]
    assert notes == {215: ["note: R@217: only 215 documents per query were retrieved (-k 215)."], 216: [], 1000: []}
    done = retrieve(DATA, "-o", tmp_path / "run.txt", "--retriever", "jaccard", "-k", 100)
    assert b"note: R@1000: only 100 documents per query were retrieved (-k 100).\n" in done.err


@pytest.mark.parametrize(
    ("weights", "size"),
    [
        (437_951_328, 1000),  # model.safetensors of bge-base-en-v1.5
        (133_462_128, 3000),  # bge-small-en-v1.5
        (1_340_612_432, 300),  # bge-large-en-v1.5
        (90_868_376, 5000),  # all-MiniLM-L6-v2
        (14_000_000_000, 100),
        (1_000_000, 10_000),
        (0, 10_000),
    ],
)
def test_shards_of_a_cpu_take_about_a_minute(tmp_path: Path, weights: int, size: int) -> None:
    """450 billion bytes of weights times texts, of which the first digit is kept."""
    request = Request(SimpleNamespace(), "", str(tmp_path / "w"), SimpleNamespace())  # type: ignore[arg-type]

    def of(devices: list[str], side: Any = "passages", ray: str | None = None) -> int:
        dense = SimpleNamespace(model=SimpleNamespace(bytes=weights), devices=devices, ray=ray)
        return pipeline._shard_size(request, dense, side)  # type: ignore[arg-type]

    assert (of(["cpu"]), of(["cpu", "cpu"]), of(["cuda:0"], "queries")) == (size, size, size)
    assert (of(["cuda:0"]), of(["cuda:0", "cpu"]), of([], ray="auto")) == (10_000, 10_000, 10_000)
    texts = Listed("corpus.tsv", "document", [("a", "x"), ("b", "y")])
    store = Store(str(tmp_path / "w" / "passages"), {"dimensions": 2}, survey(texts, 1), texts).open()
    assert of(["cpu"]) == size  # nothing is encoded yet
    store.add(next(store.wanted()), np.eye(2, dtype=np.float32)[:1], {})
    assert (of(["cpu"]), of(["cuda:0"]), of(["cpu"], "queries")) == (1, 1, size)


def test_what_would_stop_the_work_at_its_end_is_refused_before_it_begins(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    outputs = ["-", str(tmp_path), f"{tmp_path}/no/run.txt", "/dev/null", ""]
    told = {each: said(tmp_path, DATA, "-o", each, "--retriever", "jaccard") for each in outputs}
    told = {each.replace(str(tmp_path), "…"): text for each, text in told.items()}
    told["tag"] = said(tmp_path, DATA, "-o", tmp_path / "run.txt", "--retriever", "jaccard", "--tag", "a b")
    told["model"] = said(tmp_path, DATA, "-o", tmp_path / "no" / "run.txt", "--model", "no-such-model")
    asked = ["--retriever", "jaccard", "-m", "alpha_nDCG@10"]
    told["measure"] = said(tmp_path, DATA, "-o", tmp_path / "run.txt", *asked)
    assert told == snapshot
    assert not list(tmp_path.iterdir())


def test_a_run_to_rerank_must_exist_before_a_model_is_looked_for(tmp_path: Path) -> None:
    texts = ["--corpus", str(DATA / "collection.tsv"), "--queries", str(DATA / "queries.tsv"), "--model", "./none"]
    told = {"missing.txt": "no such file. Check the name.", "bm25.txt": "there is no such folder."}
    for run, reason in told.items():
        done = treceval(["rerank", str(DATA / "runs" / run), "-o", str(tmp_path / "out.txt"), *texts])
        assert (done.status, reason in done.err.decode()) == (1, True), done.err


def test_the_run_does_not_take_the_place_of_its_collection(tmp_path: Path) -> None:
    folder = collection(tmp_path)
    before = (folder / "qrels.tsv").read_bytes()
    told = "1 …/qrels.tsv: the run would replace one of its own input files. Name another."
    assert said(tmp_path, folder, "-o", folder / "qrels.tsv", "--retriever", "jaccard") == told
    assert (folder / "qrels.tsv").read_bytes() == before


def test_a_run_without_a_line_is_not_scored(tmp_path: Path) -> None:
    (tmp_path / "queries.tsv").write_text("377\tzzz qqq\n")
    done = retrieve(DATA, "-o", tmp_path / "run.txt", "--retriever", "jaccard", "--queries", tmp_path / "queries.tsv")
    assert (done.status, done.out) == (0, b"")
    told = f"note: {tmp_path}/run.txt: no query found any document; the run is empty and is not scored."
    assert done.err.decode().splitlines()[-1] == told
    assert (tmp_path / "run.txt").read_bytes() == b""


def test_the_truncated_protocol_retrieves_ten_documents_and_another_depth_is_noted(tmp_path: Path) -> None:
    """nDCG of the tutorial is scikit-learn's of the ten documents that it retrieves, so the depth decides its ideal."""
    ndcg_score = pytest.importorskip("sklearn.metrics").ndcg_score
    told = ["--retriever", "jaccard", "--protocol", "truncated", "--profile", "flagembedding-tutorial"]
    judged = [line.split("\t") for line in (DATA / "qrels.tsv").read_text().splitlines()]
    relevant = {(qid, docid) for qid, _, docid, rel in judged if int(rel) > 0}
    for depth, retrieved in (
        ([], 10),
        (["-k", "10"], 10),
        (["-k", "100"], 100),
        (["-k", "1000"], 143),
        (["-k", "5"], 5),
    ):
        done = retrieve(DATA, "-o", tmp_path / "run.txt", *told, *depth)
        run: dict[str, list[tuple[float, bool]]] = {}
        for line in (tmp_path / "run.txt").read_text().splitlines():
            qid, _, docid, _, score, _ = line.split()
            run.setdefault(qid, []).append((float(score), (qid, docid) in relevant))
        assert max(map(len, run.values())) <= retrieved
        values = [
            ndcg_score([[hit for _, hit in ranking]], [[score for score, _ in ranking]], k=10)
            for ranking in run.values()
        ]
        assert f"nDCG@10               \tall\t{np.mean(values):.4f}\n" in done.out.decode()
        notes = done.err.decode().split("write: ")[1]
        assert ("its ideal ranking is made from the" in notes) == (retrieved != 10)
        assert f"from the {retrieved} documents" in notes or retrieved == 10
        fewer = "note: R@10, nDCG@10, MRR@10: only 5 documents per query were retrieved (-k 5).\n"
        assert (fewer in notes) == (retrieved == 5)


def test_a_measure_deeper_than_the_run_is_noted_unless_everything_was_retrieved(tmp_path: Path) -> None:
    notes = {}
    for depth in ("99", "100", "215", "216"):
        told = retrieve(DATA, "-o", tmp_path / "run.txt", "--retriever", "jaccard", "-k", depth).err.decode()
        notes[depth] = re.findall(r"note: (.*): only \d+ documents per query were retrieved", told)
    assert notes == {"99": ["R@100, R@1000"], "100": ["R@1000"], "215": ["R@1000"], "216": []}


def test_bytes_that_are_no_text_can_stand_in_names(tmp_path: Path) -> None:
    """A name in Latin-1, as an old file system has it."""
    run = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt")
    assert retrieve(DATA, "-o", run, "--retriever", "jaccard", "-k", "5").status == 0
    assert json.loads(Path(f"{run}.json").read_bytes())["run"]["file"] == run


def test_a_corpus_that_changes_while_it_is_ranked_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, look = collection(tmp_path), pipeline.look

    def swapped(*given: Any) -> Any:
        seen = look(*given)
        lines = (folder / "collection.tsv").read_text().splitlines(keepends=True)
        (folder / "collection.tsv").write_text("".join([lines[1], lines[0], *lines[2:]]))
        return seen

    monkeypatch.setattr(pipeline, "look", swapped)
    told = said(tmp_path, folder, "-o", tmp_path / "run.txt", "--retriever", "bm25").splitlines()[-1]
    assert told == "…/collection.tsv: the texts changed while they were read. Start again."
    assert not (tmp_path / "run.txt").exists()


def test_without_the_extra_the_message_has_the_line_for_pip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    for package in ("torch", "faiss", "FlagEmbedding", "pyarrow", "huggingface_hub", "bm25s"):
        monkeypatch.setitem(sys.modules, package, None)
    given = [DATA, "-o", tmp_path / "run.txt"]
    assert [said(tmp_path, *given, *more) for more in (["--retriever", "bm25"], ["--model", "any"])] == snapshot
    assert not list(tmp_path.iterdir())


def test_a_run_that_cannot_be_reranked_or_written_is_refused_before_a_model_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run").write_text("1 Q0 a 1 2 t\n")
    Path("mine.json").write_text('{"1": {"a": 1.0}}')
    os.mkfifo("pipe")
    texts = ["--corpus", str(DATA / "collection.tsv"), "--queries", str(DATA / "queries.tsv")]
    told = {}
    for run, output in (
        ("run", "run"), ("run", "-"), ("run", "new/"), ("run", "mine"), ("run", "no/out.txt"), ("-", "out.txt"),
        ("pipe", "out.txt"), ("gone", "out.txt"),
    ):  # fmt: skip
        done = treceval(["rerank", run, "-o", output, *texts, "--model", "no-such-model"])
        told[f"{run} to {output}"] = f"{done.status} {done.err.decode()}".rstrip("\n")
    assert told == snapshot
    assert sorted(os.listdir()) == ["mine.json", "pipe", "run"]


def test_models_and_settings_that_score_no_pair_are_refused_and_their_neighbours_are_not(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    config = {"model_type": "bert", "hidden_size": 4, "max_position_embeddings": 512, "num_labels": 1}
    config["architectures"] = ["BertForSequenceClassification"]
    for name, content in {"config.json": json.dumps(config), "model.safetensors": "", "vocab.txt": "[UNK]"}.items():
        (tmp_path / name).write_text(content)
    fits = find_model(tmp_path, wanted="reranker")
    refused: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"architecture": "GemmaForCausalLM"}, {"engine": "sentence-transformers"}),
        ({}, {"depth": 0}),
        ({}, {"max_length": 31}),
        ({}, {"max_length": 513}),
    ]
    told = []
    for changed, settings in refused:
        with pytest.raises(RunnerError) as caught:
            Reranker(fits._replace(**changed), **settings).check()
        told.append(str(caught.value).replace(str(tmp_path), "…"))
    assert told == snapshot
    for accepted in ({}, {"max_length": 32, "depth": 1}, {"max_length": 512, "devices": ("cpu",)}):
        Reranker(fits, **accepted).check()


# Plans


def test_a_plan_counts_what_is_written_and_says_where_there_is_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    (tmp_path / "collection.tsv").write_text("a\tone\nb\ttwo\nc\tthree four\n")
    (tmp_path / "queries.tsv").write_text("1\tone\n2\ttwo\n")
    given = [tmp_path, "-o", tmp_path / "run.txt", "--retriever", "jaccard", "-k", "5", "--tag", "tag"]
    # 2 queries with 3 passages each: lines of 14 characters, two digits of positions and the tag
    needed, told = 2 * 3 * (14 + 2 + 3), []
    for free in (needed, needed - 1):
        monkeypatch.setattr("shutil.disk_usage", lambda folder, free=free: SimpleNamespace(free=free))
        done = retrieve(*given, "--dry-run")
        told.append((done.out + done.err).decode().replace(str(tmp_path), "…"))
        assert (f"has {free} bytes free, which is not enough." in told[-1]) is (free < needed)
    assert re.sub(r"\ntime .*", "", told[0]).partition("read ")[0] == snapshot


def test_a_plan_refuses_what_a_run_refuses(tmp_path: Path) -> None:
    (tmp_path / "queries.tsv").write_text("1\tone\n#2\ttwo\n")
    given = [DATA, "-o", tmp_path / "run.txt", "--retriever", "bm25", "--queries", tmp_path / "queries.tsv"]
    told = [said(tmp_path, *given, *more).splitlines()[-1] for more in ([], ["--dry-run"])]
    assert told[0].startswith("…/queries.tsv:2: the query id '#2' begins")
    assert told[0] in told[1]


def test_vectors_without_texts_cannot_be_reranked(tmp_path: Path) -> None:
    for name in ("p", "q"):
        np.save(tmp_path / f"{name}.npy", np.eye(2, dtype=np.float32))
        (tmp_path / f"{name}.ids").write_text("a\nb\n")
    passages, queries = (read_vectors(str(tmp_path / f"{name}.npy")) for name in ("p", "q"))
    parts = Collection("vectors", passages, queries, None)
    request = Request(parts, str(tmp_path / "r.txt"), str(tmp_path / "w"), Imported(passages, queries))
    check_request(request)
    with pytest.raises(RunnerError, match=r"^vectors have no texts to rerank\. Rerank their run with the corpus"):
        check_request(request._replace(reranker=object()))  # type: ignore[arg-type]
