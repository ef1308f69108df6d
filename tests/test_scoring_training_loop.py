"""An evaluator in a loop: many runs with one preparation, as dictionaries and as arrays of any library.

Values of arrays are those of files that hold the same ids and scores; values of an evaluator's later runs, which the
scanner computes together, are those of the measures' functions, bit for bit.
"""

from __future__ import annotations

import gc
import itertools
import os
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_runs import random_pair
from refused import refusal
from syrupy.assertion import SnapshotAssertion
from test_scan import READERS, under

import treceval_py as te
from treceval_py.errors import DataError, TrecevalError
from treceval_py.judging.arrays import is_arrays
from treceval_py.scan import scanner
from treceval_py.scoring.profiles import PROFILES

# Random runs lack some queries, which is what is tried.
pytestmark = pytest.mark.filterwarnings(
    "ignore::treceval_py.errors.MissingQueriesWarning", "ignore::treceval_py.errors.SuspectRunWarning"
)

compiled = pytest.mark.skipif(scanner() is None, reason="without the scanner nothing is computed together")

USUAL = ["map", "ndcg", "ndcg_cut_10", "recip_rank", "P_10", "recall_100"]

EVERY_FORM = [
    "num_rel_ret", "P.1,3,10", "recall.2,5", "relative_P.2,5", "R_cap@3", "success.1,2,5", "RR", "RR@2", "AP", "AP@3",
    "gm_map", "DCG", "nDCG", "nDCG@3", "nDCG@1", "P(rel=2)@3", "AP(rel=3)", "RR(rel=2)", "R(rel=0)@5", "nDCG(gain=exp)@4",
    "nDCG(discount=jk)", "DCG(gain=exp)", "nDCG(discount=jk,base=3)@5",
]  # fmt: skip

# As the parameters above, but of those that only the functions compute.
OTHERS = [
    "bpref", "iprec_at_recall", "AP(norm=retrieved)", "nDCG(ideal=retrieved)@3", "ndcg.0=1,1=2", "ERR@5", "num_q", "runid",
]  # fmt: skip

ATTRIBUTES = (
    "qids", "measures", "resolved", "conventions", "texts", "missing", "unjudged", "complete", "profile", "profiles",
)  # fmt: skip


def same(found: te.Results, expected: te.Results) -> None:
    """Check that results are the same to the last bit."""
    for name in ATTRIBUTES:
        assert getattr(found, name) == getattr(expected, name), name
    for name in ("matrix", "counted", "averages", "listed"):
        one, other = getattr(found, name), getattr(expected, name)
        assert (one.dtype, one.tobytes()) == (other.dtype, other.tobytes()), (name, found.measures, one, other)
    assert {**found.mean} == {**expected.mean}
    assert {qid: {**found[qid]} for qid in found} == {qid: {**expected[qid]} for qid in expected}


# Many runs ------------------------------------------------------------------------------------------


@compiled
@pytest.mark.parametrize("measures", [EVERY_FORM, [*OTHERS, *EVERY_FORM], OTHERS], ids=["usual", "all", "others"])
def test_later_runs_have_the_values_of_the_functions(measures: list[str]) -> None:
    for seed in range(25):
        rng = random.Random(seed)
        qrels, run = random_pair(rng, negatives=seed % 3 > 0)
        options: dict[str, Any] = rng.choice(
            [{}, {"depth": 3}, {"judged_only": True}, {"level": 2}, {"complete": True}]
        )
        evaluator = te.Evaluator(qrels, te.Scoring(measures, **options))
        evaluator.scored({qid: {"d0": 1.0} for qid in qrels})
        for every in (run, {**run, **{qid: {"d1": 1.0, "d2": 1.0} for qid in qrels if qid not in run}}):
            same(evaluator.scored(every), te.evaluate(qrels, every, measures, **options))


@pytest.mark.filterwarnings("ignore:.*no query counts")
@compiled
def test_later_runs_follow_every_profile() -> None:
    measures = ["AP", "nDCG@5", "P@3", "RR"]
    for seed, profile in itertools.product(range(5), PROFILES):
        qrels, run = random_pair(random.Random(seed), negatives=False)
        try:
            expected = te.evaluate(qrels, run, measures, profile=profile)
        except TrecevalError:
            continue  # what the profile refuses
        evaluator = te.Evaluator(qrels, te.Scoring(measures, profile=profile))
        evaluator.scored(run)
        same(evaluator.scored(run), expected)


@compiled
def test_an_evaluator_that_has_scored_crosses_to_another_process() -> None:
    evaluator, run = te.Evaluator({"q": {"a": 1, "b": 0}}, te.Scoring(["map", "nDCG@10"])), {"q": {"b": 2.0, "a": 1.0}}
    expected = [evaluator.scored(run).mean for _ in range(3)]
    again = pickle.loads(pickle.dumps(evaluator))
    assert [again.scored(run).mean for _ in range(3)] == expected


def test_long_lists_and_high_labels_are_left_to_the_functions() -> None:
    long = {"1": {f"d{number}": -float(number) for number in range(5000)}}
    for qrels, run in (({"1": {"d4999": 1, "d3": 2}}, long), ({"1": {"a": 1000, "b": 3}}, {"1": {"b": 2.0, "a": 1.0}})):
        evaluator = te.Evaluator(qrels, te.Scoring(["AP", "nDCG", "P@5"]))
        evaluator.scored(run)
        same(evaluator.scored(run), te.evaluate(qrels, run, ["AP", "nDCG", "P@5"]))


def test_what_a_run_lacks_is_said_in_every_turn() -> None:
    evaluator = te.Evaluator({"1": {"a": 1}, "2": {"b": 1}}, te.Scoring(["AP"]))
    for _ in range(3):
        results = evaluator.scored({"3": {"x": 1.0}, "1": {"a": 1.0}})
        assert (results.qids, results.missing, results.unjudged) == (("1",), ("2",), ("3",))
        assert evaluator.scored({"2": {"b": 1.0}, "1": {"x": 1.0}}).mean["AP"] == 0.5


# Arrays ---------------------------------------------------------------------------------------------


def files(folder: Path, qrels: Any, run: Any) -> tuple[str, str]:
    """Write judgments and a run, so that arrays are compared with what is read from a file."""
    (folder / "qrels").write_text("".join(f"{q} 0 {d} {rel}\n" for q, of in qrels.items() for d, rel in of.items()))
    lines = [
        f"{q} Q0 {d} {rank} {score!r} t\n" for q, of in run.items() for rank, (d, score) in enumerate(of.items(), 1)
    ]
    (folder / "run").write_text("".join(lines))
    return str(folder / "qrels"), str(folder / "run")


def random_ids(rng: np.random.Generator) -> tuple[Any, Any, tuple[str, ...], dict[str, dict[str, int]]]:
    """Return scores and ids with padding, most scores tied, queries in no order, and judgments of some of them."""
    queries, k = int(rng.integers(2, 13)), int(rng.integers(1, 30))
    pool = rng.choice([1, 10, 100, 3000]) * np.arange(40) + rng.integers(0, 9)
    ids = np.array([rng.permutation(pool)[:k] for _ in range(queries)])
    ids[rng.random(ids.shape) < 0.2] = -1
    ids[:, 0] = np.where(ids[:, 0] < 0, 10**12, ids[:, 0])
    scores = rng.choice([rng.normal(size=ids.shape), rng.integers(0, 4, ids.shape) / 4], axis=0)
    names = tuple(f"{number}" for number in rng.permutation(20)[:queries])
    judged = rng.permutation([*names, "x"])[: int(rng.integers(1, queries + 2))]
    qrels = {
        str(qid): {text: int(rng.integers(-1, 4)) for text in {*map(str, rng.choice(pool, 9)), "d1", "07"}}
        for qid in judged
    }
    qrels.setdefault(names[0], {"7": 1})
    return scores, ids, names, qrels


def nested(scores: Any, ids: Any, names: tuple[str, ...]) -> dict[str, dict[str, float]]:
    rows = zip(names, ids.tolist(), scores.tolist(), strict=True)
    found = {
        qid: {str(docid): value for docid, value in zip(documents, values, strict=True) if docid >= 0}
        for qid, documents, values in rows
    }
    return {qid: documents for qid, documents in found.items() if documents}


@pytest.mark.parametrize("reader", READERS)
def test_scores_with_ids_are_scored_as_the_file(reader: str, tmp_path: Path) -> None:
    measures = [*EVERY_FORM, "bpref", "num_ret"]
    for seed in range(16):
        scores, ids, names, qrels = random_ids(np.random.default_rng(seed))
        options: dict[str, Any] = random.Random(seed).choice(
            [{}, {"depth": 5}, {"judged_only": True}, {"complete": True}]
        )
        with under(reader):
            expected = te.evaluate(*files(tmp_path, qrels, nested(scores, ids, names)), measures, **options)
            evaluator = te.Evaluator(qrels, te.Scoring(measures, **options))
            for form in (tuple, list):
                same(evaluator.scored(form((scores, ids, names))), expected)
            same(te.evaluate(qrels, te.Run.from_arrays(names, ids, scores), measures, **options), expected)


def label_matrices(rng: np.random.Generator) -> tuple[Any, Any, dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Return labels, some of which are lacking, with scores, and what the files of both would hold."""
    shape = int(rng.integers(1, 13)), int(rng.integers(1, 120))
    labels = rng.choice([-1.0, 0.0, 0.0, 1.0, 2.0, np.nan], shape)
    labels[0, 0] = 1.0
    scores = rng.choice([rng.normal(size=shape), rng.integers(0, 5, shape) / 4], axis=0)
    scores[np.isnan(labels) & (rng.random(shape) < 0.3)] = np.nan
    qrels = {
        str(row): {str(at): int(label) for at, label in enumerate(of) if label == label}
        for row, of in enumerate(labels.tolist())
    }
    run = {
        str(row): {str(at): score for at, score in enumerate(of) if score == score}
        for row, of in enumerate(scores.tolist())
    }
    return labels, scores, {q: of for q, of in qrels.items() if of}, {q: of for q, of in run.items() if of}


@pytest.mark.parametrize("reader", READERS)
def test_scores_with_labels_are_scored_as_the_files(reader: str, tmp_path: Path) -> None:
    measures = [*EVERY_FORM, "bpref", "num_ret"]
    for seed in range(16):
        labels, scores, qrels, run = label_matrices(np.random.default_rng(seed))
        with under(reader):
            expected = te.evaluate(*files(tmp_path, qrels, run), measures)
            same(te.evaluate(labels, scores, measures), expected)
            evaluator = te.Evaluator(labels, te.Scoring(measures))
            evaluator.scored(scores)
            same(evaluator.scored(scores), expected)


@pytest.mark.parametrize("options", [{}, {"depth": 5}, {"judged_only": True}, {"complete": True}], ids=str)
def test_every_turn_of_arrays_alone_has_the_values_of_its_file(options: dict[str, Any], tmp_path: Path) -> None:
    # From the third turn on no judged run is made where the queries are those of the judgments; other turns in between.
    for seed in range(5):
        rng = np.random.default_rng(seed)
        scores, ids, names, qrels = random_ids(rng)
        qrels = {qid: qrels.get(qid, {"10": 1, "30": 2, "d1": 1}) for qid in names}
        evaluator = te.Evaluator(qrels, te.Scoring(EVERY_FORM, **options))
        for turn in range(8):
            chosen = scores if turn == 7 else rng.permuted(scores, axis=1).astype(rng.choice([np.float32, np.float64]))
            rows = slice(0, len(names) - (turn == 4))
            run = chosen[rows], ids[rows], names[rows]
            same(evaluator.scored(run), te.evaluate(*files(tmp_path, qrels, nested(*run)), EVERY_FORM, **options))
        twice = np.repeat(ids[:, :1], ids.shape[1] + 1, axis=1)
        with pytest.raises(DataError, match="twice"):
            evaluator.scored((np.zeros(twice.shape), twice, names))


@pytest.mark.filterwarnings("ignore:.*no query counts")
def test_arrays_are_ranked_as_a_profile_ranks_files(tmp_path: Path) -> None:
    # Where ties stand in the order of lines, that is their order in the row.
    measures = ["AP", "nDCG@5", "P@3"]
    for seed, profile in itertools.product(range(4), PROFILES):
        scores, ids, names, qrels = random_ids(np.random.default_rng(seed))
        positive = {qid: {docid: max(rel, 0) for docid, rel in of.items()} for qid, of in qrels.items()}
        sources = files(tmp_path, positive, nested(scores, ids, names))
        try:
            expected = te.evaluate(*sources, measures, profile=profile)
        except TrecevalError:
            continue  # what the profile refuses, such as MS MARCO's, which ranks by the rank column
        if te.Evaluator(positive, te.Scoring(measures, profile=profile)).plan.tasks[0].ranking.order != "rank":
            same(te.evaluate(positive, (scores, ids, names), measures, profile=profile), expected)


def test_long_rows_are_ranked_by_sorting_and_short_ones_by_counting_alike() -> None:
    rng = np.random.default_rng(3)
    for documents in (319, 320, 321, 700):
        labels = rng.integers(0, 3, (3, documents))
        for scores in (
            rng.normal(size=labels.shape),
            rng.integers(0, 50, labels.shape),
            rng.random(labels.shape, np.float32),
        ):
            qrels = {str(row): {str(at): rel for at, rel in enumerate(of)} for row, of in enumerate(labels.tolist())}
            values = np.asarray(scores, dtype=np.float64).tolist()
            run = {str(row): {str(at): score for at, score in enumerate(of)} for row, of in enumerate(values)}
            same(te.evaluate(labels, scores, USUAL), te.evaluate(qrels, run, USUAL))


def test_columns_are_documents_whatever_the_order_of_judgments() -> None:
    labels, scores = {"10": 1, "9": 2, "1": 0}, np.array([[float(at % 7) for at in range(12)]])
    evaluator, run = te.Evaluator({"0": labels}, te.Scoring(USUAL)), {"0": {str(at): at % 7.0 for at in range(12)}}
    for _ in range(3):
        same(evaluator.scored(scores), te.evaluate({"0": labels}, run, USUAL))


def test_tied_numbers_are_in_the_order_of_their_digits() -> None:
    # trec_eval's rule, larger ids first, on the texts 2 > 19 > 12 > 100 > 10 > 1 > 0.
    ids = np.array([[0, 1, 10, 12, 100, 19, 2]])
    for place, docid in enumerate([2, 19, 12, 100, 10, 1, 0], 1):
        found = te.evaluate({"0": {str(docid): 1}}, (np.zeros(ids.shape), ids), "recip_rank")
        assert found.mean["recip_rank"] == 1 / place
    large = [2**63 - 1, 9, 10**18, 10**17, 92]
    texts = sorted(map(str, large), reverse=True)
    for docid in large:
        found = te.evaluate({"0": {str(docid): 1}}, (np.zeros((1, 5)), np.array([large])), "recip_rank")
        assert found.mean["recip_rank"] == 1 / (1 + texts.index(str(docid)))


def test_queries_may_be_whole_numbers_and_ids_text() -> None:
    scores = np.array([[0.5, 0.25], [0.75, 0.0]])
    for qids in ([7, 8], np.array([7, 8]), ("7", "8")):
        results = te.evaluate({"7": {"3": 1}, "8": {"4": 1}}, (scores, np.array([[3, 4], [3, 4]]), qids), "recip_rank")
        assert (results["7"]["recip_rank"], results["8"]["recip_rank"]) == (1.0, 0.5)
    texts = (scores, np.array([["a", "b"], ["b", ""]]))
    assert te.evaluate({"0": {"b": 1}, "1": {"b": 1}}, texts, "recip_rank").mean["recip_rank"] == 0.75


@pytest.mark.parametrize("reader", READERS)
def test_a_query_in_several_rows_has_the_documents_of_all(reader: str) -> None:
    scores, ids = np.array([[0.5, 0.25], [0.75, 0.0]]), np.array([[3, 4], [5, 6]])
    with under(reader):
        evaluator = te.Evaluator({"q": {"4": 1}}, te.Scoring(["recip_rank"]))
        for _ in range(2):
            assert evaluator.score((scores, ids, ["q", "q"])).mean["recip_rank"] == 1 / 3  # after 5 and 3
        with pytest.raises(DataError, match="document '3' occurs twice in query 'q' of the run"):
            evaluator.score((scores, np.array([[3, 4], [3, 6]]), ["q", "q"]))


def test_what_is_masked_is_not_there() -> None:
    labels = np.ma.masked_array([[1, 1, 2]], mask=[[False, True, False]])
    scores = np.ma.masked_array([[0.1, 0.5, 0.9]], mask=[[False, False, True]])
    # Document 1 is not judged, document 2 was not retrieved: 0 is at rank 2 of 2, and R is 2.
    results = te.evaluate(labels, scores, ["map", "num_ret", "num_rel"])
    assert {**results.mean} == {"map": 0.25, "num_ret": 2, "num_rel": 2}
    ids = np.ma.masked_array([[5, 6]], mask=[[True, False]])
    assert te.evaluate({"0": {"6": 1}}, (np.array([[2.0, 1.0]]), ids), "map").mean["map"] == 1.0


def test_every_function_takes_arrays() -> None:
    labels, scores = np.array([[1, 0], [0, 1]]), np.array([[0.5, 0.5], [0.1, 0.2]])
    assert te.Evaluator(labels, te.Scoring(["map"])).table(scores)["1"] == {"0": 0.1, "1": 0.2}
    evaluator = te.Evaluator(np.array([[1.0, np.nan]]), te.Scoring(["map"]))
    assert evaluator.table(np.array([[0.5, np.nan]])).to_dict() == {"0": {"0": 0.5}}


class OfDlpack:
    """An array of a library of which only the protocol is known."""

    def __init__(self, array: Any) -> None:
        self._array, self.dtype, self.shape = array, "float32", array.shape

    def __dlpack__(self, **_: Any) -> object:
        return self._array.__dlpack__()

    def __dlpack_device__(self) -> object:
        return self._array.__dlpack_device__()


def test_arrays_of_other_libraries_are_read_by_protocol() -> None:
    labels, scores = np.array([[1, 0, 2]]), np.array([[0.5, 0.75, 0.25]])
    same(te.evaluate(OfDlpack(labels), OfDlpack(scores), USUAL), te.evaluate(labels, scores, USUAL))


@pytest.mark.slow
def test_tensors_are_arrays() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    scores = torch.randn(5, 20, requires_grad=True)
    labels = torch.randint(0, 4, (5, 20))
    expected = te.evaluate(labels.numpy(), scores.detach().numpy(), USUAL)
    same(te.evaluate(labels, scores, USUAL), expected)
    for kind in (torch.float64, torch.float16, torch.bfloat16):
        rounded = scores.to(kind)
        same(
            te.evaluate(labels.to(torch.int8), rounded, USUAL),
            te.evaluate(labels.numpy(), rounded.double().detach().numpy(), USUAL),
        )
    qrels = {str(row): {str(at): rel for at, rel in enumerate(of)} for row, of in enumerate(labels.tolist())}
    same(te.evaluate(qrels, torch.topk(scores, 20), USUAL), expected)


WRONG: dict[str, Callable[[], object]] = {
    "shapes of ids": lambda: (np.zeros((2, 3)), np.zeros((2, 2), int)),
    "number of queries": lambda: (np.zeros((2, 3)), None, ["a"]),
    "ids first": lambda: (np.array([[1, 2]]), np.array([[0.5, 0.1]])),
    "scores of text": lambda: (np.array([["a"]]), np.array([[1]])),
    "a score that is NaN": lambda: (np.array([[0.5, np.nan]]), np.array([[3, 4]])),
    "a document twice": lambda: (np.zeros((1, 3)), np.array([[3, 4, 3]])),
    "a query that is neither": lambda: (np.zeros((1, 1)), None, [1.5]),
    "complex scores": lambda: np.zeros((1, 1), complex),
    "an id beyond 63 bits": lambda: (np.zeros((1, 1)), np.array([[2**63]], np.uint64)),
}


def test_what_is_wrong_with_arrays_is_said(snapshot: SnapshotAssertion) -> None:
    said: dict[str, dict[str, list[str]]] = {}
    for reader in READERS:
        with under(reader):
            evaluator = te.Evaluator({"0": {"1": 1}}, te.Scoring(["map"]))
            # Twice, as a first run is read in another way than later ones.
            said[reader] = {what: [refusal(evaluator.scored, make()) for _ in range(2)] for what, make in WRONG.items()}
    assert said["python"] == said["compiled"] == snapshot
    evaluator.scored((np.zeros((1, 1)), np.array([[2**63 - 1]], np.uint64)))


def test_what_is_wrong_with_labels_is_said(snapshot: SnapshotAssertion) -> None:
    said = []
    for reader in READERS:
        with under(reader):
            for scores in (np.zeros((1, 3)), np.array([[1.0, np.nan]])):
                said.append(refusal(te.evaluate, np.array([[1, 0]]), scores, "map"))
    assert said[:2] == said[2:]
    labels: list[Any] = [np.array([[0.5, 1.0]]), np.array([[np.inf]]), np.zeros((1, 1), complex)]
    labels.append(np.array([[2**63]], np.uint64))
    assert said[:2] + [refusal(te.Evaluator, given) for given in labels] == snapshot
    te.Evaluator(np.array([[2**63 - 1]], np.uint64))


def test_only_arrays_of_two_dimensions_are_taken_for_arrays() -> None:
    pd = pytest.importorskip("pandas")
    matrix = np.zeros((2, 2))
    for given in (matrix, (matrix, matrix), (matrix, None, ["a", "b"]), [matrix, matrix, None]):
        assert is_arrays(given)
    lines = np.array([["q", "d"]])
    for other in (
        np.zeros(3),
        np.zeros((1, 1, 1)),
        lines,
        lines.astype(object),
        pd.DataFrame(matrix),
        [matrix],
        (1, 2),
        "run",
        None,
        {},
    ):
        assert not is_arrays(other)


# Memory ---------------------------------------------------------------------------------------------


def resident() -> int:
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads the memory of the process from /proc")
@pytest.mark.parametrize("form", ["dictionaries", "ids", "labels", "another length each time"])
def test_memory_does_not_grow(form: str) -> None:
    rng = np.random.default_rng(1)
    labels, scores = rng.integers(0, 3, (20, 30)), rng.normal(size=(20, 30))
    ids = np.broadcast_to(np.arange(30), scores.shape)
    qrels = {str(row): {str(at): rel for at, rel in enumerate(of)} for row, of in enumerate(labels.tolist())}
    run = nested(scores, ids, tuple(qrels))
    evaluator = te.Evaluator(labels if form == "labels" else qrels, te.Scoring(USUAL))

    def turn(number: int) -> None:
        if form == "another length each time":  # of the queries, the lists and the names of queries
            queries, k = 2 + number % 19, 1 + number % 29
            evaluator.scored((scores[:queries, :k], ids[:queries, :k], [*map(str, range(queries - 1)), f"x{number}"]))
        else:
            assert evaluator.score({"dictionaries": run, "ids": (scores, ids), "labels": scores}[form]).mean

    for number in range(4_000):
        turn(number)
    before = resident()
    for number in range(20_000):
        turn(number)
    assert resident() - before < 2e6


def test_a_huge_judgment_needs_no_table_of_its_size() -> None:
    evaluator = te.Evaluator({"1": {"a": 2**62, "b": 1}}, te.Scoring(["bpref", "map", "nDCG"]))
    runs = [{"1": {"b": 1.0, "a": 0.5}} for _ in range(3)]
    # Both documents are relevant: AP is 1. nDCG is (1 + 2^62 / log2 3) / (2^62 + 1 / log2 3), or 1 / log2 3 in float64.
    for run in runs:
        found = evaluator.score(run).mean
        assert (found["map"], found["nDCG"]) == (1.0, pytest.approx(1 / np.log2(3), rel=1e-15))
