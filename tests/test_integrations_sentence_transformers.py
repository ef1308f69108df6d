"""The evaluator for sentence-transformers, beside InformationRetrievalEvaluator and in SentenceTransformer's own hands."""

from __future__ import annotations

import csv
import pickle
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from packages import skip_without

import treceval_py as te

skip_without("sentence_transformers", "torch")

pytestmark = pytest.mark.slow

WORDS = ["river", "water", "city", "people", "war", "law", "what", "how"]


def texts(prefix: str, count: int, seed: int) -> dict[str, str]:
    rng = random.Random(seed)
    return {f"{prefix}{number}": " ".join(rng.choices(WORDS, k=rng.randint(1, 6))) for number in range(count)}


QUERIES, CORPUS = texts("q", 6, 1), texts("d", 40, 2)
LABELS = {qid: {docid: random.Random(qid + docid).randint(0, 3) for docid in random.Random(qid).sample(sorted(CORPUS), 8)}
          for qid in [*QUERIES, "unasked"]}  # fmt: skip
RELEVANT = {qid: {docid for docid, label in row.items() if label} for qid, row in LABELS.items()}


class Words:
    """A stand-in for a model: a text is the count of each word, so that many scores are equal."""

    similarity_fn_name = "dot"

    def __init__(self, wrong: bool = False) -> None:
        self.asked: list[dict[str, Any]] = []
        self.wrong = wrong

    def encode(self, sentences: Sequence[str], **options: Any) -> Any:
        import torch

        self.asked.append(options)
        counts = [[float(text.split().count(word)) for word in WORDS] for text in sentences]
        return torch.tensor(counts) * (float("nan") if self.wrong else 1.0)

    @staticmethod
    def similarity(queries: Any, documents: Any) -> Any:
        return queries @ documents.T


def evaluator(*arguments: Any, **options: Any) -> Any:
    from treceval_py.integrations.sentence_transformers import RankingEvaluator

    return RankingEvaluator(QUERIES, CORPUS, *arguments, **options)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A model of the real class: untrained BERT, averaged over its tokens."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from tiny_models import make_tiny_model

    transformer = Transformer(make_tiny_model(tmp_path_factory.mktemp("model"), spread=0.5))
    pooling = Pooling(transformer.get_embedding_dimension(), "mean")
    return SentenceTransformer(modules=[transformer, pooling], device="cpu")


def theirs(**options: Any) -> Any:
    from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

    return InformationRetrievalEvaluator(QUERIES, CORPUS, RELEVANT, **options)


@pytest.mark.parametrize("name", ["", "dev"])
@pytest.mark.parametrize("chunk", [7, 50_000])
def test_by_default_keys_and_values_are_those_of_the_evaluator_of_sentence_transformers(
    model: Any, name: str, chunk: int
) -> None:
    their, ours = theirs(name=name, corpus_chunk_size=chunk), evaluator(RELEVANT, name=name, corpus_chunk_size=chunk)
    expected, found = their(model), ours(model)
    assert found == pytest.approx(expected, abs=1e-12)
    assert ours.primary_metric == their.primary_metric
    assert ours.greater_is_better is their.greater_is_better is True
    assert all(type(value) is float for value in found.values())


@pytest.mark.parametrize("chunk", [1, 3, 11, 40])
def test_ties_are_resolved_alike_whatever_the_chunk(chunk: int) -> None:
    class Both(Words):
        """With the two functions that theirs asks for."""

        encode_query = encode_document = Words.encode
        model_card_data = type("Card", (), {"set_evaluation_metrics": lambda *_: None})()

    expected = theirs(corpus_chunk_size=chunk, map_at_k=[5], mrr_at_k=[3], ndcg_at_k=[3])(Both())
    ours = evaluator(RELEVANT, [key.partition("_")[2] for key in expected], corpus_chunk_size=chunk)
    assert ours.depth == 10
    assert ours(Words()) == pytest.approx(expected, abs=1e-12)


def test_any_measure_and_profile(model: Any) -> None:
    """With labels, as te.evaluate scores the model's run, which is made here by itself."""
    ours = evaluator(LABELS, ["nDCG@10", "RR(rel=2)", "AP", "R_cap@5"], profile="trec_eval-10")
    found = ours(model)
    vectors = model.encode(list(QUERIES.values())), model.encode(list(CORPUS.values()))
    scores = model.similarity(*vectors).tolist()
    run = {qid: dict(zip(CORPUS, row, strict=True)) for qid, row in zip(QUERIES, scores, strict=True)}
    judged = {qid: LABELS[qid] for qid in QUERIES}
    expected = te.evaluate(judged, run, ["nDCG@10", "RR(rel=2)", "AP", "R_cap@5"])
    assert found == {f"cosine_{name}": pytest.approx(value, abs=1e-9) for name, value in expected.mean.items()}
    assert ours.primary_metric == "cosine_nDCG@10"
    assert ours.depth == 1000
    assert list(ours.results["cosine"]) == sorted(QUERIES)
    assert ours.get_config_dict() == {"profile": "trec_eval-10", "depth": 1000}


def test_results_of_two_epochs_can_be_compared() -> None:
    ours = evaluator(LABELS, ["nDCG@10"], profile=None)
    ours(Words())
    first = ours.results["dot"]
    ours(Words())
    assert first is not ours.results["dot"]
    assert te.compare([first, ours.results["dot"]], names=["a", "b"])["nDCG@10"].differences[0].mean == 0


def test_a_line_is_written_for_each_call(tmp_path: Path) -> None:
    ours = evaluator(RELEVANT, ["RR@10", "AP@5"], profile=None, name="dev")
    values = ours(Words(), str(tmp_path / "new"), epoch=0, steps=10)
    ours(Words(), str(tmp_path / "new"), epoch=1)
    with (tmp_path / "new" / "Ranking_evaluation_dev_results.csv").open(newline="") as stream:
        rows = list(csv.reader(stream))
    assert rows[0] == ["epoch", "steps", "dot_RR@10", "dot_AP@5"]
    assert [row[:2] for row in rows[1:]] == [["0", "10"], ["1", "-1"]]
    assert list(map(float, rows[1][2:])) == [values["dev_dot_RR@10"], values["dev_dot_AP@5"]]
    with pytest.raises(te.errors.OutputError, match=r"the file has other columns\. Move it, or give another name"):
        evaluator(RELEVANT, ["P@5"], name="dev")(Words(), str(tmp_path / "new"))
    with pytest.raises(te.errors.OutputError, match="cannot write"):
        ours(Words(), str(tmp_path / "new" / "Ranking_evaluation_dev_results.csv"))
    evaluator(RELEVANT, write_csv=False)(Words(), str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()


def test_several_similarities_have_keys_of_their_own_and_the_best_is_primary() -> None:
    ours = evaluator(
        RELEVANT, ["RR@10"], score_functions={"worst": lambda q, d: -(q @ d.T), "dot": Words.similarity}, name="dev"
    )
    found = ours(Words())
    assert list(found) == ["dev_worst_RR@10", "dev_dot_RR@10"]
    assert ours.primary_metric == max(found, key=found.__getitem__)


def test_prompts_and_dimensions_reach_the_model() -> None:
    model = Words()
    evaluator(RELEVANT, query_prompt="query: ", corpus_prompt_name="passage", truncate_dim=8, batch_size=5)(model)
    plain = {"batch_size": 5, "show_progress_bar": False, "convert_to_tensor": True, "truncate_dim": 8}
    assert model.asked == [{**plain, "prompt": "query: "}, {**plain, "prompt_name": "passage"}]


@pytest.mark.parametrize("form", [set, frozenset, list, tuple], ids=lambda form: form.__name__)
def test_relevant_documents_in_every_form(form: type, tmp_path: Path) -> None:
    expected = evaluator({qid: dict.fromkeys(row, 1) for qid, row in RELEVANT.items()})(Words())
    assert evaluator({qid: form(row) for qid, row in RELEVANT.items()})(Words()) == expected
    path = tmp_path / "qrels.txt"
    path.write_text("".join(f"{qid} 0 {docid} 1\n" for qid, row in RELEVANT.items() for docid in row))
    assert evaluator(path)(Words()) == evaluator(te.read_qrels(path))(Words()) == expected


def test_what_cannot_be_evaluated_is_refused() -> None:
    with pytest.raises(te.errors.DataError, match="no query has judgments"):
        evaluator({"unasked": {"d1"}})
    with pytest.raises(te.errors.MeasureError, match="unknown measure"):
        evaluator(RELEVANT, ["ndgc@10"])
    with pytest.raises(te.errors.MeasureError, match="unknown profile"):
        evaluator(RELEVANT, profile="sentence-transformer")
    with pytest.raises(te.errors.EvaluationError, match="the model returns NaN scores"):
        evaluator(RELEVANT)(Words(wrong=True))


def test_the_trainer_of_sentence_transformers_takes_it(model: Any, tmp_path: Path) -> None:
    from datasets import Dataset
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments

    ours = evaluator(LABELS, ["nDCG@10", "RR@10"], name="dev")
    arguments = SentenceTransformerTrainingArguments(str(tmp_path), report_to="none", use_cpu=True, disable_tqdm=True)
    data = Dataset.from_dict({"anchor": list(QUERIES.values())[:2], "positive": list(CORPUS.values())[:2]})
    trainer = SentenceTransformerTrainer(model, arguments, data, evaluator=ours)
    assert trainer.evaluator is ours  # and not taken apart as a list of evaluators
    found = trainer.evaluate()
    assert found["eval_dev_cosine_nDCG@10"] == pytest.approx(ours(model)["dev_cosine_nDCG@10"])


def test_in_a_sequence_of_evaluators_its_primary_metric_counts(model: Any) -> None:
    from sentence_transformers.sentence_transformer.evaluation import SequentialEvaluator

    ours = evaluator(LABELS, ["RR@10"])
    assert SequentialEvaluator([ours])(model)["sequential_score"] == ours(model)["cosine_RR@10"]
    assert pickle.loads(pickle.dumps(ours))(model) == ours(model)
