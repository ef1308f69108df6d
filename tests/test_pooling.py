"""Pools: which documents each method asks for, in what order, and what the command prints."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import Done, treceval

import treceval_py as te
from treceval_py.pooling import Pool, pool

A = {"1": ["a", "b", "c", "d"], "2": ["p", "q", "r", "s"]}
B = {"1": ["a", "e", "c", "f"], "2": ["q", "p", "t", "s"]}


def asked(chosen: Pool) -> list[str]:
    return [f"{each.qid}{each.docid}" for each in chosen.documents]


def reasons(chosen: Pool) -> list[str]:
    return [each.reason for each in chosen.documents]


# Depth ---------------------------------------------------------------------------------------------


def test_a_pool_of_a_depth_is_all_first_documents_by_query_rank_and_id() -> None:
    chosen = pool(None, [A, B], depth=2)
    assert asked(chosen) == ["1a", "1b", "1e", "2p", "2q"]
    assert chosen.documents[0] == ("1", "a", 1, 2, "rank 1 in <run> (1); in 2 of 2 runs")
    assert reasons(chosen)[2:4] == ["rank 2 in <run> (2); in 1 of 2 runs", "rank 1 in <run> (1); in 2 of 2 runs"]


def test_the_usual_depth_is_ten() -> None:
    long = {"1": [f"d{rank:02}" for rank in range(1, 13)]}
    assert asked(pool(None, [long])) == [f"1d{rank:02}" for rank in range(1, 11)]
    assert len(pool(None, [long], depth=11).documents) == 11


def test_judged_documents_are_left_out_and_negative_judgments_are_none() -> None:
    assert asked(pool({"1": {"a": 0, "b": -1}, "2": {"q": 1}}, [A, B], depth=2)) == ["1b", "1e", "2p"]


def test_a_budget_takes_the_first_ranks_of_all_queries_first() -> None:
    assert asked(pool(None, [A, B], budget=2, method="depth")) == ["1a", "2p"]
    assert asked(pool(None, [A, B], budget=3, method="depth")) == ["1a", "2p", "2q"]


def test_ties_of_rank_are_broken_by_the_bytes_of_ids() -> None:
    runs = [{"1": [docid]} for docid in ("b", "é", "B", "a")]
    assert asked(pool(None, runs, depth=1)) == ["1B", "1a", "1b", "1é"]


def test_queries_are_in_the_order_of_the_judgments_then_of_the_runs() -> None:
    chosen = pool({"9": {"x": 1}}, [{"3": ["a"], "9": ["b"]}, {"1": ["c"]}], depth=1)
    assert asked(chosen) == ["9b", "3a", "1c"]
    assert chosen.notes[-2] == "2 of 3 queries have no judgments yet."


# The order of runs ---------------------------------------------------------------------------------


def chances(ranks: Any, labels: Any) -> Any:
    """Return probabilities of relevance of documents, in plain Python: half the fusion, scaled by what is judged."""
    fused = [sum(11 / (10 + rank) for rank in of if rank) / len(of) / 2 for of in ranks]
    known = [(prior, label) for prior, label in zip(fused, labels, strict=True) if label is not None]
    more = (1 + sum(label for _, label in known)) / (1 + sum(prior for prior, _ in known))
    return [min(prior * more, 0.95) if label is None else label for prior, label in zip(fused, labels, strict=True)]


def expected_gain(ranks: list[int], p: list[float], document: int) -> float:
    """Return what AP is expected to gain if a document is relevant, over all pairs of documents."""
    own = ranks[document]
    if not own:
        return 0.0
    others = [p[other] / max(own, rank) for other, rank in enumerate(ranks) if rank and other != document]
    return (1 / own + sum(others)) / max(sum(p), 1)


@pytest.mark.parametrize("seed", range(4))
def test_by_order_the_documents_with_the_largest_variance_of_differences_come_first(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = [f"d{number}" for number in range(8)]
    runs = [{"1": [names[at] for at in rng.permutation(8)[:6]]} for _ in range(3)]
    judged = {names[at]: int(at % 2) for at in rng.permutation(8)[:2]}
    lists = [run["1"] for run in runs]
    ranks = [[of.index(name) + 1 if name in of else 0 for of in lists] for name in names]
    p = chances(ranks, [judged.get(name) for name in names])
    gains = [[expected_gain([row[run] for row in ranks], p, at) for run in range(3)] for at in range(8)]
    pairs = [(0, 1), (0, 2), (1, 2)]
    variances = {
        name: p[at] * (1 - p[at]) * sum((gains[at][one] - gains[at][other]) ** 2 for one, other in pairs)
        for at, name in enumerate(names)
        if name not in judged
    }
    chosen = pool({"1": judged}, runs, budget=8)
    there = {each.docid for each in chosen.documents}
    assert there == {name for name, variance in variances.items() if variance > 1e-12}
    got = [variances[each.docid] for each in chosen.documents]
    assert all(one >= other - 1e-12 for one, other in pairwise(got))
    first = gains[names.index(chosen.documents[0].docid)]
    largest = max(abs(first[one] - first[other]) for one, other in pairs)
    assert reasons(chosen)[0].startswith(f"{largest:.6f} between ")


def test_a_document_with_the_same_rank_in_all_runs_is_not_asked_for() -> None:
    # P@1 of query 1 is the same in both runs, whatever a is; in query 2 they differ by p or q.
    assert asked(pool(None, [A, B], "P@1", budget=9)) == ["2p", "2q"]


def test_a_reason_is_the_difference_of_two_runs() -> None:
    # One of two queries: if p is relevant, P@1 of <run> (1) rises by 1, its mean by 1 / 2.
    assert reasons(pool(None, [A, B], "P@1", budget=1)) == ["0.500000 between <run> (1) and <run> (2), if relevant"]


def test_runs_whose_ranges_do_not_overlap_ask_for_nothing() -> None:
    # At rank 1 of both queries <run> (1) has the relevant documents: P@1 is 1, and that of <run> (2) at most 1/2.
    judged = {"1": {"a": 1, "x": 0}, "2": {"p": 1}}
    first, second = {"1": ["a"], "2": ["p"]}, {"1": ["x"], "2": ["z"]}
    chosen = pool(judged, [first, second], "P@1", budget=5)
    assert asked(chosen) == []
    assert [(run.value, run.lowest, run.highest, run.judged) for run in chosen.runs] == [(1, 1, 1, 1), (0, 0, 0.5, 0.5)]
    assert chosen.notes == (
        "The ranges of P@1 overlap in 0 of 1 pairs of runs. Further judgments cannot change their order.",
        "0 of 5 documents were chosen: no other one is expected to change the order of runs.",
    )
    left = pool(judged, [first, second], "P@1", budget=5, method="mtf")
    assert (asked(left), left.notes[-1]) == (["2z"], "1 of 5 documents were chosen: no other one is unjudged.")
    third = {"1": ["z"], "2": ["p"]}
    assert asked(pool(judged, [first, third], "P@1", budget=5)) == ["1z"]  # 1, beside 1 at most
    assert asked(pool(judged, [first, first], "P@1", budget=5)) == []
    assert asked(pool(judged, [first, second, third], "P@1", budget=5)) == ["1z", "2z"]


def test_queries_take_turns_and_those_with_few_judgments_come_first() -> None:
    judged = {"1": {"a": 1, "b": 0}}
    assert [each[0] for each in asked(pool(judged, [A, B], budget=1))] == ["2"]
    assert [each[0] for each in asked(pool(judged, [A, B], budget=4))] == ["1", "1", "2", "2"]


def test_gains_are_divided_by_the_ideal_of_the_relevant_documents_to_expect() -> None:
    # Two documents at rank 1 of one of two lists, whose chance of 1/4 is multiplied by (1 + 3) / (1 + 0), as three of three
    # judged documents are relevant that no run has: .95 at most. So R is 3 + 2 × .95, and the ideal has 5 documents.
    judged = {"1": {"x": 1, "y": 1, "z": 1}}
    chosen = pool(judged, [{"1": ["a"]}, {"1": ["w"]}], "nDCG@10", budget=1)
    assert reasons(chosen) == [
        f"{1 / sum(1 / np.log2(1 + rank) for rank in range(1, 6)):.6f} between <run> (1) and <run> (2), if relevant"
    ]


# Move-to-front and MaxMean -------------------------------------------------------------------------

FIRST = {"1": ["a", "b", "c", "d", "e"]}
SECOND = {"1": ["v", "w", "x", "y", "z"]}


def in_turn(method: str, relevant: str) -> str:
    """Judge one document at a time, and return them in their order."""
    judged: dict[str, dict[str, int]] = {}
    order = ""
    while chosen := pool(judged or None, [FIRST, SECOND], budget=1, method=method).documents:
        order += chosen[0].docid
        judged.setdefault("1", {})[chosen[0].docid] = int(chosen[0].docid in relevant)
    return order


def test_move_to_front_stays_with_a_run_until_a_document_is_not_relevant() -> None:
    # a is not relevant (-1), v w are, x is not (-1, -1); b is not (-2), y is, z is not (-2, -2); c d e are left.
    assert in_turn("mtf", "vwycde") == "avwxbyzcde"


def test_max_mean_goes_on_with_the_run_of_the_highest_mean() -> None:
    # Means (1 + R) / (2 + n): a relevant 2/3; b is not 2/4, as the other's 1/2, so c, not 2/5; v, not 1/3; d relevant
    # 3/6; e relevant 4/7; then the rest.
    assert in_turn("maxmean", "ade") == "abcvdewxyz"


def test_in_a_batch_a_document_without_judgment_counts_as_not_relevant() -> None:
    chosen = pool(None, [FIRST, SECOND], budget=4, method="mtf")
    assert asked(chosen) == ["1a", "1v", "1b", "1w"]
    assert reasons(chosen)[2:] == ["rank 2 in <run> (1), priority -1", "rank 2 in <run> (2), priority -1"]
    by_mean = pool({"1": {"a": 1}}, [FIRST, SECOND], budget=2, method="maxmean")
    assert reasons(by_mean) == ["rank 2 in <run> (1), mean 0.67", "rank 3 in <run> (1), mean 0.50"]


def test_another_run_begins_in_another_query() -> None:
    both = [{"1": ["a"], "2": ["p"]}, {"1": ["b"], "2": ["q"]}]
    assert asked(pool(None, both, budget=2, method="mtf")) == ["1a", "2q"]


def test_notes_say_why_fewer_documents_are_chosen_than_the_budget() -> None:
    # The ranges of two equal runs overlap, but no document separates them.
    assert pool({"1": {"a": 1}}, [A, A], budget=3).notes[-2:] == (
        "The ranges of MAP overlap in 1 of 1 pairs of runs.",
        "0 of 3 documents were chosen: no other one is expected to change the order of runs.",
    )
    within = pool(None, [FIRST, SECOND], depth=1, budget=1200, method="mtf").notes[-1]
    assert within == "2 of 1,200 documents were chosen: no other one down to rank 1 is unjudged."
    assert pool(None, [FIRST], budget=6, method="depth").notes[-1].endswith(": no other one is unjudged.")


def test_an_unjudged_document_can_be_relevant_before_any_judgment_is_as_high_as_the_level() -> None:
    chosen = pool({"1": {"a": 1}}, [{"1": ["b"]}, {"1": ["a"]}], "P(rel=2)@1", budget=9)
    assert [run[1:4] for run in chosen.runs] == [(0, 0, 1), (0, 0, 0)]
    assert asked(chosen) == ["1b"]


def test_all_runs_have_their_means_over_the_same_queries() -> None:
    # A run without query 2 has 0 there, so one half at most. A relevant document there is 1/2 of the mean of the other.
    chosen = pool({"1": {"x": 1}, "2": {"y": 1}}, [{"1": ["x"]}, {"1": ["x"], "2": ["b"]}], "P@1", budget=1)
    assert [run[1:4] for run in chosen.runs] == [(0.5, 0.5, 0.5), (0.5, 0.5, 1.0)]
    assert reasons(chosen) == ["0.500000 between <run> (1) and <run> (2), if relevant"]


def test_a_depth_limits_every_method() -> None:
    for method in ("order", "mtf", "maxmean"):
        assert {each.docid for each in pool(None, [FIRST, SECOND], depth=1, method=method).documents} == {"a", "v"}


# Robustness ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["order", "depth", "mtf", "maxmean"])
@pytest.mark.parametrize("seed", range(3))
def test_every_unjudged_document_is_asked_for_once_in_rounds(method: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    runs = [{str(q): [f"d{at}" for at in rng.permutation(9)[: 3 + q]] for q in range(3)} for _ in range(3)]
    judged: dict[str, dict[str, int]] = {}
    expected = {(qid, docid) for run in runs for qid, docids in run.items() for docid in docids}
    while chosen := pool(judged or None, runs, budget=4, method=method).documents:
        assert [int(each.qid) for each in chosen] == sorted(int(each.qid) for each in chosen)
        for each in chosen:
            assert each.docid not in judged.setdefault(each.qid, {})
            judged[each.qid][each.docid] = int(rng.random() < 0.3)
    got = {(qid, docid) for qid, labels in judged.items() for docid in labels}
    assert got == expected if method != "order" else got <= expected


@pytest.mark.parametrize("measure", ["map", "AP@3", "Rprec", "nDCG@3", "recall_100", "RR", "P@2", "RBP", "yaap", "dcg"])
def test_every_kind_of_measure_that_has_ranges_has_pools(measure: str) -> None:
    chosen = pool({"1": {"c": 2}}, [A, B], measure, budget=20)
    assert 0 < len(chosen.documents) <= 10
    assert all(run.lowest <= run.value <= run.highest or measure in ("map", "AP@3") for run in chosen.runs)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"measure": "bpref"},
            "--unjudged does not support bpref. Choose another measure, such as AP, P@10, nDCG@10 or RBP.",
        ),
        ({"measure": "P"}, "a pool is for one measure, not 9. Choose one, such as AP."),
        ({"budget": 0}, "budget must be a whole number from 1, not 0."),
        ({"depth": 1.5}, "depth must be a whole number from 1, not 1.5."),
        ({"method": "best"}, "method must be one of order, depth, mtf, maxmean, not 'best'."),
    ],
)
def test_what_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(te.errors.TrecevalError) as error:
        pool(None, [A, B], **given)
    assert str(error.value) == said


def test_one_run_has_a_pool_of_a_depth_but_no_order() -> None:
    assert asked(pool(None, [FIRST], depth=1)) == ["1a"]
    with pytest.raises(te.errors.RunCountError, match="the method order compares runs, and needs two or more"):
        pool(None, [FIRST], budget=1)
    with pytest.raises(te.errors.RunCountError, match=r"there are no runs\. Add one\."):
        pool(None, [])


def test_ties_of_scores_are_ranked_as_the_profile_ranks_them() -> None:
    tied = {"1": {"a": 1.0, "b": 1.0}}
    assert asked(pool(None, [tied], depth=1)) == ["1b"]
    assert asked(pool(None, [tied], depth=1, profile="beir")) == ["1b"]
    assert asked(pool(None, [tied], depth=1, profile="ranx")) == ["1a"]


# The command ---------------------------------------------------------------------------------------

QRELS = "1 0 a 1\n"
RUN = "1 Q0 a 1 3 {0}\n1 Q0 {0}1 2 2 {0}\n2 Q0 {0}2 1 1 {0}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "runs").mkdir()
    for name in "xy":
        (tmp_path / "runs" / name).write_text(RUN.format(name))
    return tmp_path


def pooled(folder: Path, words: str) -> Done:
    return treceval(["pool", *words.split()], folder=folder)


def test_lines_are_query_0_document_and_the_reason_after_a_tab(folder: Path) -> None:
    done = pooled(folder, "qrels runs --depth 2")
    assert (done.status, done.out.decode().splitlines()) == (
        0,
        [
            "1 0 x1\trank 2 in x; in 1 of 2 runs",
            "1 0 y1\trank 2 in y; in 1 of 2 runs",
            "2 0 x2\trank 1 in x; in 1 of 2 runs",
            "2 0 y2\trank 1 in y; in 1 of 2 runs",
        ],
    )
    # AP of query 1 is 1, or with x1 relevant (1 + 1) / 2; of query 2 it is 0 or 1. 2 of 3 documents lack a judgment:
    # the shares judged are 1/2 and 0.
    assert done.err.decode().splitlines() == [
        "Over all labels of unjudged documents",
        "",
        "run      MAP   lowest   highest   judged",
        "────────────────────────────────────────",
        "x     0.5000   0.5000    1.0000   0.2500",
        "y     0.5000   0.5000    1.0000   0.2500",
        "",
        "1 of 2 queries have no judgments yet.",
        "The ranges of MAP overlap in 1 of 1 pairs of runs.",
    ]


def test_runs_alone_have_a_first_pool(folder: Path) -> None:
    for words in ("runs", "runs/x runs/y", "runs/*"):
        assert pooled(folder, f"{words} --depth 1").out.decode().splitlines() == [
            "1 0 a\trank 1 in x; in 2 of 2 runs",
            "2 0 x2\trank 1 in x; in 1 of 2 runs",
            "2 0 y2\trank 1 in y; in 1 of 2 runs",
        ]


def test_judgments_to_fill_in_are_read_again_as_unjudged(folder: Path) -> None:
    done = pooled(folder, "runs --depth 1 --format qrels -o next")
    assert (done.status, (folder / "next").read_text()) == (0, "1 0 a -1\n2 0 x2 -1\n2 0 y2 -1\n")
    (folder / "next").write_text("1 0 a 1\n2 0 x2 0\n2 0 y2 -1\n")
    assert pooled(folder, "next runs --depth 1").out == b"2 0 y2\trank 1 in y; in 1 of 2 runs\n"


def test_json_has_the_documents_and_the_ranges(folder: Path) -> None:
    record = json.loads(pooled(folder, "qrels runs --budget 1 --method maxmean --format json").out)
    reason = "rank 1 in y, mean 0.50"
    assert record["documents"] == [{"query": "2", "docid": "y2", "rank": 1, "runs": 1, "reason": reason}]
    assert record["ranges"][0] == {"run": "x", "value": 0.5, "lowest": 0.5, "highest": 1.0, "judged": 0.25}


@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_csv_is_one_table_and_the_ranges_are_on_standard_error(folder: Path, format: str) -> None:
    done = pooled(folder, f"qrels runs --budget 1 --method maxmean --format {format}")
    comma = {"csv": ",", "tsv": "\t"}[format]
    assert done.out.decode().splitlines()[0].split(comma) == ["query", "docid", "rank", "runs", "reason"]
    assert (len(done.out.splitlines()), b"lowest" in done.err, b"note:" in done.err) == (2, True, False)


def test_the_command_asks_for_runs(folder: Path) -> None:
    done = pooled(folder, "qrels")
    assert (done.status, done.err.decode()) == (2, "treceval: Missing argument 'RUN…'. See 'treceval pool --help'.\n")
    assert pooled(folder, "qrels runs --budget 0").status == 2
    assert pooled(folder, "qrels runs -o qrels").status == 1


def test_a_pool_prints_as_its_table() -> None:
    chosen = pool(None, [FIRST, SECOND], depth=1)
    assert repr(chosen) == "<Pool of 2 documents from 2 runs by depth>"
    assert "Documents to judge, by depth" in str(chosen)
    assert "<table" in chosen._repr_html_()
