"""BEIR's and MTEB's dictionaries of scores: the same keys, the same numbers; claims read from a task's result."""

from __future__ import annotations

import copy
import importlib
import json
import math
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import treceval_py as te
from treceval_py.integrations import beir, mteb

# said where a dictionary cannot say it
pytestmark = pytest.mark.filterwarnings("ignore:.* judged query is missing:treceval_py.errors.TrecevalWarning")

QRELS = {"q1": {"a": 2, "b": 0, "c": 1, "d": 1}, "q2": {"a": 1, "q2": 1}, "q3": {"b": 1}, "lost": {"a": 1}}
RUN = {"q1": {"b": 3.0, "a": 3.0, "x": 2.0, "c": 1.0}, "q2": {"q2": 9.0, "y": 2.0, "a": 1.0}, "q3": {"z": 1.0}}

# What beir 2.2.0 (EvaluateRetrieval, cutoffs 1, 2 and 10) returns for these.
OF_BEIR: dict[bool, tuple[dict[str, float], ...]] = {
    True: (
        {"NDCG@1": 0.0, "NDCG@2": 0.28883, "NDCG@10": 0.30915},
        {"MAP@1": 0.0, "MAP@2": 0.13889, "MAP@10": 0.19444},
        {"Recall@1": 0.0, "Recall@2": 0.27778, "Recall@10": 0.38889},
        {"P@1": 0.0, "P@2": 0.33333, "P@10": 0.1},
    ),
    False: (
        {"NDCG@1": 0.33333, "NDCG@2": 0.36426, "NDCG@10": 0.48677},
        {"MAP@1": 0.16667, "MAP@2": 0.22222, "MAP@10": 0.38889},
        {"Recall@1": 0.16667, "Recall@2": 0.27778, "Recall@10": 0.55556},
        {"P@1": 0.33333, "P@2": 0.33333, "P@10": 0.13333},
    ),
}
CUSTOM_OF_BEIR = {
    "mrr": {"MRR@1": 0.25, "MRR@2": 0.375, "MRR@10": 0.375},
    "recall_cap": {"R_cap@1": 0.25, "R_cap@2": 0.25, "R_cap@10": 0.41667},
    "hole": {"Hole@1": 0.25, "Hole@2": 0.25, "Hole@10": 0.075},
    "top_k_accuracy": {"Accuracy@1": 0.25, "Accuracy@2": 0.5, "Accuracy@10": 0.5},
}


@pytest.mark.parametrize("ignored", [True, False])
def test_beirs_four_dictionaries(ignored: bool) -> None:
    run = copy.deepcopy(RUN)
    assert beir.evaluate(QRELS, run, [1, 2, 10], ignored) == OF_BEIR[ignored]
    assert run == RUN  # BEIR takes the documents out of the run that it is given
    assert beir.evaluate(QRELS, RUN, iter([1, 2, 10]), ignore_identical_ids=ignored) == OF_BEIR[ignored]


def test_a_judged_query_that_the_run_lacks_is_said() -> None:
    with pytest.warns(te.errors.TrecevalWarning, match=r"1 judged query is missing \(lost\)"):
        beir.evaluate(QRELS, RUN, [1])
    with pytest.warns(te.errors.TrecevalWarning, match=r"1 judged query is missing \(lost\)"):
        mteb.scores(QRELS, RUN, [1])


@pytest.mark.parametrize("metric", CUSTOM_OF_BEIR)
def test_beirs_other_metrics(metric: str) -> None:
    assert beir.evaluate_custom(QRELS, RUN, [1, 2, 10], metric, False) == CUSTOM_OF_BEIR[metric]
    assert beir.evaluate_custom(QRELS, RUN, [1, 2, 10], metric.upper(), False) == CUSTOM_OF_BEIR[metric]


def test_a_document_that_is_the_query_is_taken_out_of_beirs_other_metrics_too() -> None:
    """As after its evaluate, which takes it out for good: ranks 2 (by line), 2 and none, over four queries."""
    assert beir.evaluate_custom(QRELS, RUN, [10], "mrr") == {"MRR@10": 0.25}


def test_a_metric_that_beir_lacks_is_refused() -> None:
    with pytest.raises(
        te.errors.MeasureError, match=r"BEIR has no metric 'ndcg'\. Choose one of mrr, mrr@k, mrr_cut, "
    ):
        beir.evaluate_custom(QRELS, RUN, [10], "ndcg")


def test_the_scores_of_mteb_have_its_keys_and_numbers() -> None:
    """What mteb 2.26.24 gives for this (calculate_retrieval_scores and make_score_dict)."""
    found = mteb.scores(QRELS, RUN, [1, 10])
    assert found == {
        "ndcg_at_1": 0.33333, "ndcg_at_10": 0.48677, "map_at_1": 0.16667, "map_at_10": 0.38889, "recall_at_1": 0.16667,
        "recall_at_10": 0.55556, "precision_at_1": 0.33333, "precision_at_10": 0.13333, "mrr_at_1": 1 / 3,
        "mrr_at_10": 0.5, "hit_rate_at_1": 0.33333, "hit_rate_at_10": 0.66667, "accuracy": 0.16667,
    }  # fmt: skip
    assert list(mteb.scores(QRELS, RUN))[:7] == [f"ndcg_at_{k}" for k in (1, 3, 5, 10, 20, 100, 1000)]
    assert "accuracy" not in mteb.scores(QRELS, RUN, [10])


ROW: dict[str, Any] = {
    "ndcg_at_10": 0.48677, "mrr_at_10": 0.5, "nauc_mrr_at_10_max": 0.1, "main_score": 0.48677, "hf_subset": "default",
    "map_at_10": math.nan, "languages": ["eng-Latn"],
}  # fmt: skip
CLAIMS = ["ndcg_at_10=0.48677", "mrr_at_10=0.5"]


@pytest.mark.parametrize(
    "result",
    [
        ROW,
        {"scores": {"test": [ROW]}, "task_name": "T", "mteb_version": "2.26.24"},
        {"test": [ROW]},
        {"test": {"default": ROW}},
        types.SimpleNamespace(scores={"test": [ROW]}),
    ],
    ids=["scores", "file", "splits", "subsets", "TaskResult"],
)
def test_claims_are_read_from_every_form_of_a_result(result: Any) -> None:
    assert mteb.claims(result) == CLAIMS


def test_a_claim_from_mteb_is_explained() -> None:
    claims = mteb.claims(mteb.scores(QRELS, RUN, [10]))
    found = te.explain(QRELS, RUN, claims=[claim for claim in claims if claim.startswith(("ndcg", "map"))])
    assert {match.variant.name for each in found.measures for match in each.matches} >= {"pytrec_eval"}


def test_splits_and_subsets_are_chosen_and_not_guessed() -> None:
    result = {"scores": {"dev": [{**ROW, "mrr_at_10": 0.25}], "test": [ROW, {**ROW, "hf_subset": "de"}]}}
    assert mteb.claims(result, "dev") == ["ndcg_at_10=0.48677", "mrr_at_10=0.25"]
    assert mteb.claims(result, "test", "de") == CLAIMS
    for arguments, message in {
        (): "no split was chosen. There are: dev, test.",
        ("train",): "there is no split 'train'. There are: dev, test.",
        ("test",): "no subset was chosen. There are: default, de.",
        ("test", "fr"): "there is no subset 'fr'. There are: default, de.",
    }.items():
        with pytest.raises(te.errors.DataError) as caught:
            mteb.claims(result, *arguments)
        assert str(caught.value) == message


@pytest.mark.parametrize(
    "wrong", [None, 5, [], {}, {"scores": {}}, {"test": []}, {"test": [{"accuracy": 0.5}]}, {"a": "b"}]
)
def test_what_is_no_result_of_retrieval_is_refused(wrong: object) -> None:
    with pytest.raises(te.errors.DataError):
        mteb.claims(wrong)


def test_a_file_of_mteb_is_read_as_it_lies(tmp_path: Path) -> None:
    path = tmp_path / "T.json"
    path.write_text(json.dumps({"task_name": "T", "scores": {"test": [{**ROW, "map_at_10": None}]}}))
    assert mteb.claims(json.loads(path.read_text())) == CLAIMS


def test_the_evaluator_of_models_takes_relevance_judgments_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    # sentence-transformers takes seconds to import; only its base class is needed to read judgments.
    stand_in = types.ModuleType("evaluation")
    stand_in.BaseEvaluator = object  # type: ignore[attr-defined]
    module = "treceval_py.integrations.sentence_transformers"
    for name in (
        "sentence_transformers",
        "sentence_transformers.base",
        "sentence_transformers.base.evaluation",
        module,
    ):
        monkeypatch.setitem(sys.modules, name, stand_in)
    del sys.modules[module]  # the one with the stand-in is forgotten after the test
    evaluator = importlib.import_module(module).RankingEvaluator
    texts = {"q1": "a text"}
    assert evaluator(texts, {"d": "another"}, {"q1": {"d"}, "q2": {"d"}}, "nDCG@7").depth == 7
    with pytest.raises(te.errors.DataError, match=r"^Preferences instead of judgments\. Give \{qid: "):
        evaluator(texts, {}, te.data.Preferences({}))
