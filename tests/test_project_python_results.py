"""What functions return: short in a notebook's cell, a table in print, and in JSON what the command writes."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import treceval

import treceval_py as te

DATA = Path(__file__).parent.parent / "data"
QRELS = str(DATA / "qrels.tsv")
RUNS = [str(DATA / "runs" / f"{name}.txt") for name in ("bm25", "jaccard", "minilm")]

# AP of "1": the relevant document is second of two; of "2": first. nDCG@10 of "1": 1 / log2(3).
SMALL = {"1": {"a": 1, "b": 0}, "2": {"c": 2}, "3": {"d": 1}}
RUN = {"1": {"b": 2.0, "a": 1.0}, "2": {"c": 1.0}, "9": {"a": 1.0}}


def results() -> te.Results:
    return te.evaluate(SMALL, RUN, ["AP", "nDCG@10", "num_rel"])


pytestmark = pytest.mark.filterwarnings("ignore::treceval_py.errors.MissingQueriesWarning")

MADE: dict[str, tuple[Callable[[], Any], str]] = {
    "Results": (lambda: te.evaluate(QRELS, RUNS[0]), "MAP"),
    "Comparison": (lambda: te.compare(QRELS, RUNS), "minilm"),
    "Board": (lambda: te.board(QRELS, RUNS), "rank"),
    "Checked": (lambda: te.check(RUNS[0]), "R130"),
    "Explanation": (lambda: te.explain(QRELS, RUNS[0], "AP"), "sklearn"),
    "Explained": (lambda: te.explain(QRELS, RUNS[0], "AP").measures[0], "AP"),
    "Arithmetic": (lambda: te.explaining.arithmetic(QRELS, RUNS[0], "AP", "10086"), "docid"),
    "Agreement": (lambda: te.judges.agree([QRELS, QRELS], RUNS), "overlap"),
    "PairOfJudges": (lambda: te.judges.agree([QRELS, QRELS]).pairs[0], "487 documents"),
    "Verdict": (lambda: te.gating.gate(QRELS, *RUNS[:2]), "worse"),
    "Sensitivity": (lambda: te.ranges.assess(QRELS, RUNS[0], "AP"), "lowest"),
    "TunedFusion": (lambda: te.fusing.tune_fusion(runs=RUNS, qrels=QRELS), "weighted"),
    "Qrels": (lambda: te.read_qrels(QRELS), "487 documents"),
    "Run": (lambda: te.read_run(RUNS[0]), "1,267 documents"),
    "JudgmentGroups": (lambda: te.data.JudgmentGroups.from_dict({"1": {"s": {"a": 1}}}), "1 query>"),
    "JudgedRun": (lambda: te.judging.judge(te.read_qrels(QRELS), te.read_run(RUNS[0])), "398 judged"),
    "Evaluator": (lambda: te.Evaluator(QRELS), "trec_eval-10"),
    "Signature": (lambda: te.evaluate(QRELS, RUNS[0], "AP").signature(0), "AP"),
    "Fingerprint": (lambda: te.evaluate(QRELS, RUNS[0], "AP").fingerprint, "128d97c5"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE)
def test_a_result_is_short_in_a_cell_and_prints(name: str) -> None:
    make, part = MADE[name]
    made = make()
    assert repr(made).startswith(f"<{name}")
    assert len(repr(made)) <= 200
    assert repr(made).isprintable()
    assert part in str(made)


def test_results_print_as_the_table_of_the_command(tmp_path: Path) -> None:
    done = treceval(["--format", "table", "-m", "AP", "-m", "nDCG@10", QRELS, RUNS[0]])
    assert str(te.evaluate(QRELS, RUNS[0], ["AP", "nDCG@10"])) == done.out.decode()


def test_counts_do_not_hide_measures_in_a_cell() -> None:
    assert repr(results()).startswith("<Results of '<run>': 2 queries, AP=0.7500, nDCG@10=0.8155;")
    assert "num_rel=2.0000" in repr(te.evaluate(SMALL, RUN, ["num_rel"]))


def test_a_board_says_how_many_files_it_lacks(tmp_path: Path) -> None:
    assert repr(te.board(QRELS, [*RUNS, str(tmp_path / "none")])).endswith("; 1 not scored>")
    assert "not scored" not in repr(te.board(QRELS, RUNS))


def test_to_json_is_what_the_command_writes_and_compare_reads(tmp_path: Path) -> None:
    both = [te.evaluate(QRELS, run, ["AP", "nDCG@10"]) for run in RUNS[:2]]
    done = treceval(["-q", "--format", "json", "-m", "AP", "-m", "nDCG@10", QRELS, RUNS[0]])
    assert json.loads(both[0].to_json()) == json.loads(done.out)
    for made, name in zip(both, ("one.json", "two.json"), strict=True):
        (tmp_path / name).write_text(made.to_json())
    both[0].save(tmp_path / "saved.json")
    assert (tmp_path / "saved.json").read_text() == both[0].to_json()
    compared = te.compare([tmp_path / "one.json", tmp_path / "two.json"])
    assert compared["AP"].means.tolist() == te.compare(both)["AP"].means.tolist()


def refused(kind: type[Exception], read: Callable[[], object]) -> str:
    with pytest.raises(kind) as caught:
        read()
    return str(caught.value)


def test_a_key_that_is_no_query_is_answered() -> None:
    made = results()
    assert "results.mean['map']" in refused(KeyError, lambda: made["map"])
    assert "results[qid]['ERR@7']" in refused(KeyError, lambda: made["ERR@7"])  # also if it was not computed
    assert "the run lacks query '3'" in refused(KeyError, lambda: made["3"])
    assert "query '9' has no judgments" in refused(KeyError, lambda: made["9"])
    assert "Query ids are text: '1'" in refused(KeyError, lambda: made[1])  # type: ignore[index]
    assert "The queries are 1, 2." in refused(KeyError, lambda: made["nothing"])
    assert made.get("map") is None
    assert "map" not in made


def test_a_measure_that_was_not_computed_is_answered() -> None:
    for values in (results().mean, results()["1"]):
        assert "'P@5' was not computed. Computed: AP, nDCG@10" in refused(KeyError, lambda values=values: values["P@5"])
        assert values.get("P@5") is None
        assert "P@5" not in values
        assert values["ndcg_cut_10"] == values["nDCG@10"]


def test_attributes_of_other_programs_are_answered() -> None:
    made = results()
    for name, meant in {
        "map": "results.mean['AP']",
        "average": "results.mean",
        "aggregated": "results.mean",
        "scores": "results.mean",
        "per_query": "results[qid]",
        "to_df": "results.to_pandas()",
    }.items():
        assert f"Write {meant}" in refused(AttributeError, lambda name=name: getattr(made, name))
    assert refused(AttributeError, lambda: made.nothing) == "results have no attribute 'nothing'."  # type: ignore[attr-defined]
    assert "by name: ['AP']" in refused(AttributeError, lambda: made.mean.map)  # type: ignore[attr-defined]
    assert not hasattr(made, "__array__")


def test_results_are_copied_and_pickled_as_before() -> None:
    for again in (copy.copy(results()), copy.deepcopy(results()), pickle.loads(pickle.dumps(results()))):
        assert again.to_dict() == results().to_dict()
        assert again.mean == results().mean


def test_a_query_that_a_table_lacks_is_answered() -> None:
    for table in (te.Qrels(SMALL), te.Run(RUN)):
        assert "there is no query 'x'" in refused(KeyError, lambda table=table: table["x"])
        assert "Query ids are text: '1'" in refused(KeyError, lambda table=table: table[1])
        assert table.get("x") is None


def test_judgments_are_no_run() -> None:
    for judgments in (te.Qrels(SMALL), te.data.JudgmentGroups.from_dict({"1": {"s": {"a": 1}}})):
        with pytest.raises(te.errors.DataError, match="these are judgments, not a run"):
            te.evaluate(SMALL, judgments, "AP")
        with pytest.raises(te.errors.DataError, match="these are judgments, not a run"):
            te.fuse([RUN, judgments])
    assert te.evaluate(SMALL, te.Run(te.Qrels(SMALL).to_dict()), "AP").mean["AP"] == 1.0  # the ideal run


def test_an_empty_list_has_no_measures_and_none_has_the_usual_ones() -> None:
    for empty in ([], (), set[str](), ""):
        with pytest.raises(te.errors.MeasureError, match="there are no measures"):
            te.evaluate(SMALL, RUN, empty)
    assert "map" in te.evaluate(SMALL, RUN).mean


def test_one_run_is_not_several() -> None:
    for runs in (RUN, "run.txt", te.Run(RUN)):
        with pytest.raises(te.errors.EvaluationError, match="Put runs into a list"):
            te.compare(SMALL, runs)
    named = te.compare(SMALL, {"one": RUN, "two": {"1": ["a"], "2": ["c"]}}, "AP")
    assert named.runs == ("one", "two")


@pytest.mark.parametrize("name", ["metrics", "metric", "measure", "k", "cutoff", "relevance_level", "n_jobs", "profil"])
def test_names_of_arguments_in_other_programs_are_answered(name: str) -> None:
    meant = {
        "k": "'nDCG@10'",
        "cutoff": "'nDCG@10'",
        "relevance_level": "level=",
        "n_jobs": "threads=",
        "profil": "profile=",
    }
    said = refused(TypeError, lambda: te.evaluate(SMALL, RUN, **{name: 10}))  # type: ignore[arg-type]
    assert meant.get(name, "measures=") in said


def test_a_scalar_of_numpy_is_a_number_as_any_other() -> None:
    qrels = {"1": {"a": np.int64(1), "b": np.bool_(False)}}
    assert te.evaluate(qrels, {"1": {"a": np.float32(0.5), "b": np.float64(0.75)}}, "AP").mean["AP"] == 0.5


def test_ranges_have_measures_by_default() -> None:
    # trec_eval's counts, which evaluate gives by default, have none
    assert list(te.ranges.assess(SMALL, RUN).ties) == ["AP", "nDCG@10", "RR", "P@10"]
