"""Weights chosen by cross-validation."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import treceval
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.errors import DataError
from treceval_py.fusing.methods import Fusion
from treceval_py.fusing.tuning import choose, folds_of, grid


@pytest.mark.parametrize("runs", [2, 3, 4])
def test_the_grid_has_all_weights_in_steps_of_a_tenth(runs: int) -> None:
    first, *others = grid([Fusion("weighted")], runs)
    assert first.weights is None
    found = {tuple(round(10 * weight) for weight in each.weights or ()) for each in others}
    wanted = {parts for parts in itertools.product(range(11), repeat=runs) if sum(parts) == 10 and len(set(parts)) > 1}
    assert found == wanted
    # 0.1 + 0.2 + 0.7 is not 1 in floating point: no setting is lost by that
    assert len(others) == math.comb(10 + runs - 1, runs - 1) - (runs == 2)
    distances = [sum((weight - 1 / runs) ** 2 for weight in each.weights or ()) for each in others]
    assert distances == pytest.approx(sorted(distances))


def test_more_runs_have_larger_steps() -> None:
    assert [len(grid([Fusion("weighted")], runs)) for runs in (5, 6)] == [1001, 253]


def test_methods_and_normalisations_are_chosen_among_too() -> None:
    settings = grid([Fusion("combsum"), Fusion("combsum", "zmuv"), Fusion("rrf")], 2)
    assert [each.method for each in settings] == ["combsum", "combsum", "rrf", *["rrf"] * 10]
    with pytest.raises(DataError, match="combsum takes no weights, so there is nothing to choose"):
        grid([Fusion("combsum")], 2)
    with pytest.raises(DataError, match="weights cannot be both given and chosen"):
        grid([Fusion("rrf", weights=(1, 2))], 2)


def test_folds_depend_on_ids_alone() -> None:
    qids = [f"{number}" for number in range(11)]
    folds = dict(zip(qids, folds_of(qids, 3).tolist(), strict=True))
    assert folds == dict(zip(qids[::-1], folds_of(qids[::-1], 3).tolist(), strict=True))
    by_hash = sorted(qids, key=lambda qid: hashlib.sha256(qid.encode()).hexdigest())
    assert [folds[qid] for qid in by_hash] == [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1]
    with pytest.raises(DataError, match="5 judged queries for 3 folds"):
        folds_of(qids[:5], 3)
    with pytest.raises(DataError, match="folds is 1"):
        folds_of(qids, 1)


def test_each_fold_is_fused_with_what_is_best_on_the_others() -> None:
    # Queries 0 and 1 are fold 0, 2 and 3 fold 1. On fold 1 the second setting is better (0.5 against 0.25), on fold 0
    # the first one (0.75 against 0.25): each fold has the setting that is worse on itself.
    values = np.array([[1.0, 0.5, 0.0, 0.5], [0.0, 0.5, 0.5, 0.5]])
    settings = grid([Fusion("weighted")], 2)[:2]
    found = choose(settings, values, np.array([0, 0, 1, 1]))
    assert [choice.fusion for choice in found.folds] == [settings[1], settings[0]]
    assert [choice.mean for choice in found.folds] == [0.5, 0.75]
    assert [choice.held_out for choice in found.folds] == [0.25, 0.25]
    assert (found.nested, found.usual) == (0.25, 0.5)
    assert found.final.fusion == settings[0]
    assert found.final.mean == 0.5


def test_of_equal_settings_the_first_is_chosen_and_those_alike_are_counted() -> None:
    values = np.array([[0.5, 0.5, 0.5, 0.5], [0.5, 0.5, 0.5, 0.5], [0.0, 0.0, 0.0, 0.0], [1.0, 0.9, 0.0, 0.0]])
    settings = grid([Fusion("weighted")], 2)[:4]
    found = choose(settings, values, np.array([0, 1, 0, 1]))
    assert found.final.fusion == settings[0]
    # The last one loses (-0.5, -0.4, 0.5, 0.5): 0.025 on average, with a standard error of 0.275.
    assert found.final.alike == 3


# Runs and judgments ---------------------------------------------------------------------------------

DATA = Path(__file__).parent.parent / "data"
QRELS = str(DATA / "qrels.tsv")
RUNS = [str(DATA / "runs" / f"{name}.txt") for name in ("bm25", "minilm")]


@pytest.mark.filterwarnings("ignore::treceval_py.errors.TrecevalWarning")
def test_each_query_of_the_fused_run_has_the_setting_of_its_fold() -> None:
    run, tuned = te.fusing.tune_fusion(QRELS, RUNS, folds=3)
    by_setting = {}
    for number, choice in enumerate(tuned.chosen.folds):
        weights = choice.fusion.weights
        assert weights is not None
        by_setting[number] = te.fuse(RUNS, "weighted", weights=weights)
    for qid, fold in tuned.folds.items():
        assert dict(run[qid]) == dict(by_setting[fold][qid])
    results = te.evaluate(QRELS, run, ["ndcg_cut.10"])
    assert results.mean["ndcg_cut.10"] == pytest.approx(tuned.chosen.nested, abs=1e-12)
    # The choice of fold 0, by scoring every setting on the queries of the other folds.
    others = [qid for qid, fold in tuned.folds.items() if fold]
    means = {}
    for tenths in range(11):
        fused = te.evaluate(QRELS, te.fuse(RUNS, "weighted", weights=[tenths / 10, 1 - tenths / 10]), ["ndcg_cut.10"])
        means[tenths] = sum(fused[qid]["ndcg_cut.10"] for qid in others) / len(others)
    best = max(means, key=lambda tenths: (round(means[tenths], 12), -abs(tenths - 5)))
    assert tuned.chosen.folds[0].fusion.weights == pytest.approx((best / 10, 1 - best / 10))
    assert tuned.chosen.folds[0].mean == pytest.approx(means[best])


@pytest.mark.filterwarnings("ignore::treceval_py.errors.TrecevalWarning")
def test_queries_without_judgments_have_the_final_setting() -> None:
    judged = {qid: dict(documents) for qid, documents in te.read_qrels(QRELS).items()}
    some = dict(list(judged.items())[:20])
    run, tuned = te.fusing.tune_fusion(some, RUNS, folds=2)
    assert set(tuned.folds) == set(some)
    final = tuned.chosen.final.fusion
    assert final.weights is not None
    plain = te.fuse(RUNS, "weighted", weights=final.weights)
    unjudged = [qid for qid in run if qid not in some]
    assert len(unjudged) == 10
    for qid in unjudged:
        assert dict(run[qid]) == dict(plain[qid])


def test_the_command_prints_folds_and_records_the_queries(tmp_path: Path) -> None:
    output = tmp_path / "tuned.txt"
    done = treceval(
        ["fuse", *RUNS, "-o", str(output), "--method", "weighted", "--tune", QRELS, "--folds", "3", "-m", "map"]
    )
    assert done.status == 0, done.err
    lines = done.out.decode().splitlines()
    assert lines[0] == "Settings chosen by map, weights of bm25.txt, minilm.txt"
    assert [line.split()[0] for line in lines[4:8]] == ["1", "2", "3", "all"]
    record = json.loads((tmp_path / "tuned.txt.json").read_text())
    tuned = record["tuned"]
    qids = list(te.read_qrels(QRELS))
    assert sorted(tuned["queries"]) == sorted(hashlib.sha256(qid.encode()).hexdigest()[:16] for qid in qids)
    assert tuned["nested"] is True
    assert tuned["qrels"]["sha256"] == hashlib.sha256(Path(QRELS).read_bytes()).hexdigest()
    assert record["run"]["tag"] == "weighted-min-max-tuned"
    scored = te.evaluate(QRELS, str(output), ["map"]).mean["map"]
    assert scored == pytest.approx(tuned["nested_mean"], abs=1e-12)

    again = tmp_path / "again.txt"
    done = treceval(["fuse", *RUNS, "-o", str(again), "--tuned", f"{output}.json"])
    assert done.status == 0, done.err
    fixed = json.loads(Path(f"{again}.json").read_text())
    assert fixed["fusion"]["weights"] == tuned["final"]["fusion"]["weights"]
    assert fixed["tuned"]["nested"] is False
    assert fixed["tuned"]["queries"] == sorted(tuned["queries"])
    # Hashes and the record of a run by other names: what is said of queries stays, folders do not.
    bare = tmp_path / "bare.txt"
    assert treceval(["fuse", *RUNS, "-o", str(bare), "--tuned", f"{output}.json", "--no-paths"]).status == 0
    assert str(tmp_path) not in Path(f"{bare}.json").read_text()
    notes = te.compare(QRELS, [RUNS[0], str(output), str(again)], measures=["map"]).notes
    assert sum("chosen by cross-validation on the queries compared" in note for note in notes) == 1
    assert sum("chosen on the queries compared: its mean is too high" in note for note in notes) == 1


def test_what_contradicts_or_would_be_ignored_is_refused(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    said = {}
    for options in (
        "--folds 3", "--tune Q --weights 1,2", "--method rrf --method isr", "--tuned Q", "--tune Q --folds 20",
        "--tune Q --method isr", "--tune Q -m num_q", "--tune Q -m all_trec", "--tune Q --norm zmuv",
        "--tune Q --rbc-phi 0.5", "--tune Q -m P.5,10", "--tuned x.json --rrf-k 5", "--tune Q -m map -m P.5",
        "--tune Q --folds 1",
    ):  # fmt: skip
        done = treceval(["fuse", *RUNS, "-o", str(tmp_path / "x.txt"), *options.replace("Q", QRELS).split()])
        assert done.status != 0
        said[options] = done.err.decode().replace(QRELS, "Q")
    assert said == snapshot
    assert not list(tmp_path.iterdir())
    enough = ["fuse", *RUNS, "-o", str(tmp_path / "x.txt"), "--tune", QRELS, "--folds", "15"]
    assert treceval(enough).status == 0  # two of 30 queries a fold


def record_of(tmp_path: Path, **changed: Any) -> list[str]:
    """Return options that take a setting from a record of our making."""
    fusion = {"method": "rrf", "norm": "none", "weights": [0.1, 0.9], "rrf_k": 60.0, "rbc_phi": 0.8} | changed
    record = {
        "inputs": [{"tag": "bm25"}, {"tag": "minilm"}],
        "fusion": {"depth": None},
        "tuned": {"queries": [], "final": {"fusion": fusion}},
    }
    (tmp_path / "tuned.json").write_text(json.dumps(record))
    return ["-o", str(tmp_path / "x.txt"), "--tuned", str(tmp_path / "tuned.json")]


def test_a_setting_is_for_the_runs_that_it_was_chosen_for(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    renamed = tmp_path / "renamed.txt"
    renamed.write_text(Path(RUNS[1]).read_text("utf-8").replace(" minilm\n", " m2\n"), "utf-8")
    other_order = record_of(tmp_path)
    said = []
    for status, runs, options in (
        (0, RUNS, [*other_order, "--depth", "5"]), (1, RUNS[::-1], other_order), (1, [*RUNS, RUNS[0]], other_order),
        (0, [str(renamed), RUNS[0]], other_order),
    ):  # fmt: skip
        done = treceval(["fuse", *runs, *options])
        assert done.status == status
        said.append(done.err.decode().replace(str(tmp_path), "").replace(str(DATA), ""))
    assert said == snapshot
    assert treceval(["fuse", *RUNS[::-1], *record_of(tmp_path, weights=None)]).status == 0


def test_judgments_by_which_all_is_zero_choose_nothing(tmp_path: Path) -> None:
    strange = [line.split() for line in Path(QRELS).read_text("utf-8").splitlines()]
    (tmp_path / "qrels").write_text("".join(f"{qid} 0 strange-{docid} {rel}\n" for qid, _, docid, rel in strange))
    done = treceval(["fuse", *RUNS, "-o", str(tmp_path / "x.txt"), "--tune", str(tmp_path / "qrels")])
    told = "qrels: nDCG@10 is 0 for every query with every setting. Give judgments of the collection that the runs"
    assert (done.status, told in done.err.decode()) == (1, True), done.err
    assert os.listdir(tmp_path) == ["qrels"]


@pytest.mark.parametrize(
    "changed",
    [{"method": "x"}, {"weights": [1]}, {"weights": "ab"}, {"rrf_k": "60"}, {"new": 1}, "[" * 100_000],
    ids=lambda changed: str(changed)[:20],
)
def test_a_record_that_was_edited_by_hand_is_refused(changed: Any, tmp_path: Path) -> None:
    options = record_of(tmp_path, **({} if isinstance(changed, str) else changed))
    if isinstance(changed, str):
        (tmp_path / "tuned.json").write_text(changed)
    done = treceval(["fuse", *RUNS, *options])
    assert done.status == 1
    assert "tuned.json: is not the record of a fusion" in done.err.decode()


def test_the_notes_are_on_the_method_that_was_chosen(tmp_path: Path) -> None:
    options = ["--tune", QRELS, "--method", "weighted", "--method", "rrf"]
    done = treceval(["fuse", *RUNS, "-o", str(tmp_path / "x.txt"), *options])
    assert "all    rrf, weights 0.1 0.9" in done.out.decode()
    assert "documents have the same score as another one of their query" in done.err.decode()


def test_what_cannot_be_tuned_is_refused_from_python(snapshot: SnapshotAssertion) -> None:
    qrels = {f"q{number}": {"a": 1} for number in range(8)}
    usual = {"runs": [{qid: {"a": 1.0} for qid in qrels}] * 2, "qrels": qrels, "folds": 2}
    said = {}
    for options in (
        {"qrels": {"z": {"a": 1}}}, {"qrels": {"q1": {"a": 1}}}, {"qrels": {qid: {"a": 1} for qid in ("q1", "q2", "q3")}},
        {"folds": 2.0}, {"method": []}, {"method": [["rrf"]]}, {"method": None}, {"norm": ()}, {"runs": "ab"},
        {"method": "combsum"},
    ):  # fmt: skip
        with pytest.raises(DataError) as refused:
            te.fusing.tune_fusion(**{**usual, **options})  # type: ignore[arg-type]
        said[str(options)] = str(refused.value)
    assert said == snapshot


def noise(seed: int, queries: int = 40, documents: int = 20) -> tuple[dict[str, dict[str, int]], list[te.Run]]:
    """Return judgments at random, and two runs that know nothing of them."""
    random = np.random.default_rng(seed)
    names = [f"d{number}" for number in range(documents)]
    qids = [f"q{number}" for number in range(queries)]
    qrels = {qid: {name: int(random.random() < 0.2) for name in names} | {"none": 1} for qid in qids}
    runs = [
        te.Run({qid: dict(zip(names, random.random(documents).tolist(), strict=True)) for qid in qids})
        for _ in range(2)
    ]
    return qrels, runs


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::treceval_py.errors.TrecevalWarning")
def test_on_noise_the_nested_estimate_shows_no_gain() -> None:
    # benchmarks/fusing_noise.py does it 1,000 times. The gain in sample is one of selection alone.
    gains = []
    for seed in range(60):
        chosen = te.fusing.tune_fusion(*noise(seed)).tuned.chosen
        gains.append((chosen.final.mean - chosen.usual, chosen.nested - chosen.usual))
    in_sample, nested = np.array(gains).T
    error = nested.std(ddof=1) / math.sqrt(len(nested))
    assert in_sample.mean() > 5 * error
    assert abs(nested.mean()) < 3 * error
