"""The queries in which two runs differ most: which documents moved, and how that is written."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import random
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_runs import random_pair

import treceval_py as te
from treceval_py.comparing.comparison import Comparison
from treceval_py.comparing.documents import (
    Moved,
    QueryDifference,
    largest_differences,
    read_query_texts,
    with_documents,
)
from treceval_py.comparing.outcome import Compared, Settings
from treceval_py.comparing.show.agreement import agreement_text
from treceval_py.comparing.show.queries import Pair, document_of, records
from treceval_py.errors import EvaluationError, InputError, MeasureError
from treceval_py.explaining.terms import _TAKEN_APART
from treceval_py.measures.facts import Sums
from treceval_py.rendering import render
from treceval_py.rendering.envelope import Made
from treceval_py.rendering.tables import Style
from treceval_py.scoring.signatures import Signature

DATA = Path(__file__).parent.parent / "data"
ALL = 10**6


def comparison_of(measure: str, values: dict[str, tuple[float, float]], signature: Any = None) -> Comparison:
    """Return a comparison of two runs by their values for each query, with nothing else in it."""
    table = np.array(list(values.values()), dtype=np.float64).reshape(-1, 2).T
    nothing = np.zeros(2)
    compared = Compared(
        measure, signature, tuple(values), table, table.mean(axis=1), nothing, nothing,
        (0,), ("", ""), None, None, (), (),
    )  # fmt: skip
    return Comparison(("new", "old"), 1, (compared,), Settings(), 1, ("new.txt", "old.txt"))


def moved_in(
    qrels: dict[str, dict[str, int]], run: Any, other: Any, measure: str, *, count: int = ALL, **options: Any
) -> list[QueryDifference]:
    """Score two runs, and return the queries in which they differ with the documents that moved."""
    results = [te.evaluate(qrels, te.Run(table), measure, complete=True, **options) for table in (run, other)]
    values = {qid: (results[0][qid][measure], results[1][qid][measure]) for qid in results[0].qids}
    signature = results[0].signature(0)
    found = largest_differences(comparison_of(measure, values), measure, 0, 1, count=ALL)
    return with_documents(found, te.Qrels(qrels), te.Run(run), te.Run(other), signature, count=count)


def ranking(docids: str) -> dict[str, float]:
    """Return scores that rank documents as they are written."""
    return {docid: -float(rank) for rank, docid in enumerate(docids.split())}


# --- the queries that differ most ---


def test_the_largest_differences_come_first_whatever_their_sign() -> None:
    comparison = comparison_of("AP", {"1": (0.5, 0.25), "2": (0.125, 0.875), "3": (0.5, 0.375)})
    found = largest_differences(comparison, "AP", 0, 1)
    assert [(each.qid, each.value, each.other_value, each.delta) for each in found] == [
        ("2", 0.125, 0.875, -0.75), ("1", 0.5, 0.25, 0.25), ("3", 0.5, 0.375, 0.125),
    ]  # fmt: skip


def test_the_difference_is_that_of_the_first_run_minus_the_second() -> None:
    (found,) = largest_differences(comparison_of("AP", {"1": (0.5, 0.25)}), "AP", 1, 0)
    assert (found.value, found.other_value, found.delta) == (0.25, 0.5, -0.25)


def test_equal_differences_come_in_the_order_of_the_bytes_of_their_ids() -> None:
    values = {"b": (0.5, 0.0), "é": (0.5, 0.0), "10": (0.0, 0.5), "9": (0.5, 0.0)}
    found = largest_differences(comparison_of("AP", values), "AP", 0, 1)
    assert [each.qid for each in found] == ["10", "9", "b", "é"]


def test_queries_without_a_difference_are_never_listed() -> None:
    comparison = comparison_of("AP", {"1": (0.5, 0.5), "2": (0.5, 0.25)})
    assert [each.qid for each in largest_differences(comparison, "AP", 0, 1)] == ["2"]


def test_no_more_queries_than_asked_for_are_listed() -> None:
    comparison = comparison_of("AP", {str(number): (number / 32, 0.0) for number in range(1, 20)})
    assert len(largest_differences(comparison, "AP", 0, 1)) == 10
    assert [each.qid for each in largest_differences(comparison, "AP", 0, 1, count=2)] == ["19", "18"]
    assert largest_differences(comparison, "AP", 0, 1, count=0) == []


def test_a_negative_number_of_queries_is_refused() -> None:
    with pytest.raises(MeasureError) as caught:
        largest_differences(comparison_of("AP", {"1": (0.5, 0.25)}), "AP", 0, 1, count=-1)
    assert str(caught.value) == "the number of queries must be 0 or more, not -1."


# --- the documents that moved, by arithmetic in sight ---


def test_what_each_document_contributes_to_ndcg() -> None:
    qrels = {"1": {"a": 3, "b": 1, "c": 0}}
    (found,) = moved_in(qrels, {"1": ranking("a b c")}, {"1": ranking("c a b")}, "nDCG")
    ideal = 3 / 1 + 1 / math.log2(3)
    a = (3 / 1 / ideal, 3 / math.log2(3) / ideal)
    b = (1 / math.log2(3) / ideal, 1 / 2 / ideal)
    assert [(each.docid, each.label, each.rank, each.other_rank) for each in found.moved] == [
        ("a", 3, 1, 2), ("b", 1, 2, 3),
    ]  # fmt: skip
    assert found.moved[0][4:] == pytest.approx((*a, a[0] - a[1]), rel=1e-14)
    assert found.moved[1][4:] == pytest.approx((*b, b[0] - b[1]), rel=1e-14)


def test_what_each_document_contributes_to_precision() -> None:
    qrels = {"1": {"a": 1, "b": 1}}
    (found,) = moved_in(qrels, {"1": ranking("a b x")}, {"1": ranking("b x y a")}, "P@3")
    assert found.moved == (Moved("a", 1, 1, 4, pytest.approx(1 / 3), 0.0, pytest.approx(1 / 3)),)


def test_only_the_first_relevant_documents_contribute_to_the_reciprocal_rank() -> None:
    qrels = {"1": {"a": 1, "b": 1, "c": 1}}
    (found,) = moved_in(qrels, {"1": ranking("a b c")}, {"1": ranking("x b a")}, "RR")
    assert found.moved == (Moved("a", 1, 1, 3, 1.0, 0.0, 1.0), Moved("b", 1, 2, 2, 0.0, 0.5, -0.5))


def test_in_average_precision_a_document_that_keeps_its_rank_moves_with_those_above() -> None:
    qrels = {"1": {"a": 1, "b": 1}}
    (found,) = moved_in(qrels, {"1": ranking("a b")}, {"1": ranking("x b")}, "AP")
    # b has the precision 2/2 below a, and 1/2 without it; both are divided by two relevant documents.
    assert found.moved == (Moved("a", 1, 1, None, 0.5, 0.0, 0.5), Moved("b", 1, 2, 2, 0.5, 0.25, 0.25))


def test_a_document_that_the_run_lacks_has_no_rank_in_it() -> None:
    (found,) = moved_in({"1": {"a": 1}}, {"1": ranking("x y")}, {"1": ranking("a")}, "AP")
    assert found.moved == (Moved("a", 1, None, 1, 0.0, 1.0, -1.0),)


def test_a_document_below_the_depth_has_no_rank() -> None:
    (found,) = moved_in({"1": {"a": 1}}, {"1": ranking("a x y")}, {"1": ranking("x y a")}, "AP", depth=2)
    assert found.moved == (Moved("a", 1, 1, None, 1.0, 0.0, 1.0),)


def test_a_query_that_one_run_lacks_has_documents_of_the_other_alone() -> None:
    qrels = {"1": {"a": 1}, "2": {"b": 1}}
    (found,) = moved_in(qrels, {"1": ranking("a")}, {"1": ranking("a"), "2": ranking("b")}, "AP")
    assert (found.qid, found.moved) == ("2", (Moved("b", 1, None, 1, 0.0, 1.0, -1.0),))


def test_a_document_whose_contribution_is_equal_but_for_rounding_has_not_moved() -> None:
    qrels = {"1": {"a": 1, "b": 1, "c": 1}}
    assert 0.3 / 3 != 0.1  # what a contributes beside b and c, and alone
    (found,) = moved_in(qrels, {"1": ranking("a b c")}, {"1": ranking("a x y")}, "P@10")
    assert [each.docid for each in found.moved] == ["b", "c"]


def test_documents_beyond_the_number_asked_for_are_summed_up() -> None:
    qrels = {"1": {"a": 1, "b": 1, "c": 1, "d": 1}}
    runs = {"1": ranking("a b c d")}, {"1": ranking("w x y z")}
    (found,) = moved_in(qrels, *runs, "P@4", count=1)
    assert ([each.docid for each in found.moved], found.rest, found.rest_documents) == (["a"], 0.75, 3)
    (found,) = moved_in(qrels, *runs, "P@4", count=4)
    assert (len(found.moved), found.rest, found.rest_documents) == (4, 0.0, 0)


def test_equal_contributions_come_in_the_order_of_the_bytes_of_their_ids() -> None:
    qrels = {"1": {"é": 1, "b": 1, "a": 1, "z": 1}}
    (found,) = moved_in(qrels, {"1": ranking("é b z a")}, {"1": ranking("v w x y")}, "P@4")
    assert [each.docid for each in found.moved] == ["a", "b", "z", "é"]


def test_a_measure_that_is_no_sum_has_the_ranks_of_judged_documents_alone() -> None:
    qrels = {"1": {"a": 1, "b": 2, "c": 0, "d": 1}}
    (found,) = moved_in(qrels, {"1": ranking("b x a c")}, {"1": ranking("c d a b")}, "bpref", count=3)
    assert [each[:4] for each in found.moved] == [("b", 2, 1, 4), ("d", 1, None, 2), ("c", 0, 4, 1)]
    assert all(math.isnan(number) for each in found.moved for number in each[4:])
    assert (found.apart, math.isnan(found.rest), found.rest_documents) == (False, True, 0)


def test_a_measure_that_averages_ties_is_not_taken_apart_where_there_are_some() -> None:
    qrels = {"1": {"a": 1, "b": 0}}
    tied, other = {"1": {"a": 1.0, "b": 1.0}}, {"1": ranking("x y a")}
    (found,) = moved_in(qrels, tied, other, "nDCG(ties=average)")
    # In one order of the tie a has rank 1 and in the other rank 2.
    assert found.value == pytest.approx((1 + 1 / math.log2(3)) / 2)
    assert (found.apart, [each.docid for each in found.moved]) == (False, ["a", "b"])


# --- the documents that moved, of any runs ---

PARTS = [
    "AP", "AP(rel=2)", "AP(norm=retrieved)", "AP(ties=together)", "AP(norm=retrieved,ties=together)", "AP@5",
    "AP(norm=capped)@5", "AP(norm=retrieved)@3", "RR", "RR(rel=2)", "RR@3", "P@5", "P(rel=2)@10", "R@5", "R(rel=2)@20",
    "R_cap@5", "relative_P.5", "DCG", "DCG(gain=exp)", "DCG(discount=jk,base=3)", "nDCG", "nDCG(gain=exp)",
    "nDCG(ideal=retrieved)", "nDCG@5", "nDCG(gains={1:3,2:9})@10", "nDCG(discount=jk)@5", "nDCG(ideal=retrieved)@5",
    "ERR", "ERR(max_rel=6)", "ERR@5", "RBP(p=0.8,rel=1)", "RBP(p=0.5,rel=2)", "RBP(p=0.9,rel=1)@5", "nERR", "nERR@5",
    "Rprec", "Rprec_mult.0.5", "NumRelRet", "SetP", "SetR", "SetF", "rbp", "gRBP(max_rel=6)", "SDCG(max_rel=6)@5",
    "Judged@5",
]  # fmt: skip


def test_every_kind_of_sum_that_is_taken_apart_is_tried() -> None:
    tried = {te.parse_measures(name)[0].family.sums for name in PARTS}
    assert {*_TAKEN_APART} - tried == {Sums.EACH_UNCUT}  # whose value is not 0 where nothing is judged


def ranked_run(scores: dict[str, dict[str, float]], rng: random.Random) -> te.Run:
    """Return a run with a rank column that has gaps and says another order than the scores."""
    lines = []
    for qid, row in scores.items():
        ranks = rng.sample(range(1, 3 * len(row) + 1), len(row))
        lines += [f"{qid} Q0 {docid} {rank} {row[docid]!r} t\n" for docid, rank in zip(row, ranks, strict=True)]
    return te.read_run(io.BytesIO("".join(lines).encode()))


def any_conventions(rng: random.Random) -> dict[str, Any]:
    return {
        "order": rng.choice(["score", "score", "score", "rank", "line"]),
        "score_type": rng.choice(["float64", "float32"]),
        "ties": rng.choice(["docid-desc", "docid-asc", "line"]),
        "self_hits": rng.choice(["keep", "drop"]),
        "judged_only": rng.random() < 0.3,
        "depth": rng.choice([None, None, 3, 10]),
        "missing": rng.choice(["empty", "zero"]),
    }


def any_runs(seed: int) -> tuple[te.Qrels, list[te.Run], random.Random]:
    """Return judgments and two runs for the same queries, with ties, unjudged documents and queries not retrieved."""
    rng = random.Random(seed)
    qrels, row = random_pair(rng)
    documents = sorted({docid for part in (*qrels.values(), *row.values()) for docid in part} | set(qrels))
    runs = [row]
    runs.append({qid: {docid: float(rng.randint(0, 9)) for docid in rng.sample(documents, 3)} for qid in qrels})
    return te.Qrels(qrels), [ranked_run(run, rng) for run in runs], rng


def signed(qrels: te.Qrels, run: te.Run, measure: str, rng: random.Random) -> Signature:
    signature = te.evaluate(qrels, run, measure, complete=True).signature(0)
    return signature._replace(conventions=signature.conventions.changed(any_conventions(rng)))


@pytest.mark.parametrize("measure", PARTS)
def test_contributions_add_up_to_the_difference_under_any_conventions(measure: str) -> None:
    for seed in range(25):
        qrels, runs, rng = any_runs(seed)
        signature = signed(qrels, runs[0], measure, rng)
        results = [te.evaluate(qrels, run, signature=signature) for run in runs]
        values = dict(zip(results[0].qids, zip(*(each.matrix[:, 0] for each in results), strict=True), strict=True))
        differences = largest_differences(comparison_of(measure, values), measure, 0, 1, count=ALL)
        whole = with_documents(differences, qrels, *runs, signature, count=ALL)
        some = with_documents(differences, qrels, *runs, signature, count=2)
        for each, short in zip(whole, some, strict=True):
            assert each.apart, (seed, each.qid)
            for numbers, expected in (
                ([moved.delta for moved in each.moved], each.delta),
                ([*(moved.delta for moved in short.moved), short.rest], each.delta),
            ):
                assert math.fsum(numbers) == pytest.approx(expected, rel=1e-12, abs=1e-12), (seed, each.qid)
            assert (short.moved, short.rest_documents) == (each.moved[:2], len(each.moved[2:]))
            assert (each.rest, each.rest_documents) == (0.0, 0)
            assert all(moved.delta == moved.contribution - moved.other_contribution != 0 for moved in each.moved)


@pytest.mark.parametrize("measure", [*PARTS, "bpref", "Rprec", "nDCG(ties=average)", "num_ret"])
def test_the_arithmetic_of_a_signature_has_the_value_of_its_evaluation(measure: str) -> None:
    for seed in range(12):
        qrels, runs, rng = any_runs(seed)
        signature = signed(qrels, runs[0], measure, rng)
        results = te.evaluate(qrels, runs[0], signature=signature)
        for row, qid in enumerate(results.qids):
            found = te.arithmetic(qrels, runs[0], None, qid, signature=signature.long)
            assert found.value == results.matrix[row, 0], (seed, qid)


def test_the_arithmetic_of_a_signature_follows_its_depth_and_ties() -> None:
    qrels, run = {"1": {"a": 1, "b": 1, "c": 1}}, {"1": {"a": 1.0, "b": 1.0, "c": 1.0}}
    signature = te.evaluate(qrels, run, "AP", depth=2).signature(0)
    ascending = signature._replace(conventions=signature.conventions._replace(ties="docid-asc"))
    for chosen, expected in ((signature, ["c", "b"]), (ascending, ["a", "b"])):
        found = te.arithmetic(qrels, run, None, "1", signature=chosen)
        assert [term.docid for term in found.terms] == expected


@pytest.mark.filterwarnings("ignore::treceval_py.MissingQueriesWarning")
def test_the_arithmetic_of_a_query_that_a_signature_leaves_out_of_the_mean() -> None:
    qrels, run = {"1": {"a": 1}, "2": {"b": 0}, "3": {"c": 1}}, {"1": {"a": 1.0}, "2": {"b": 1.0}}
    signature = te.evaluate(qrels, run, "AP").signature(0)
    signature = signature._replace(conventions=signature.conventions._replace(missing="out", unrelevant="out"))
    assert te.evaluate(qrels, run, signature=signature).qids == ("1",)
    assert [te.arithmetic(qrels, run, None, qid, signature=signature).value for qid in qrels] == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("measure", "options"), [("AP", {}), (None, {"level": 2}), (None, {"profile": "ranx"})], ids=repr
)
def test_a_signature_beside_other_options_is_refused(measure: str | None, options: dict[str, Any]) -> None:
    qrels, run = {"1": {"a": 1}}, {"1": {"a": 1.0}}
    signature = te.evaluate(qrels, run, "AP").signature(0)
    with pytest.raises(MeasureError) as caught:
        te.arithmetic(qrels, run, measure, "1", signature=signature, **options)
    assert str(caught.value) == "a signature already fixes every scoring option. Remove the measures and other options."


def test_arithmetic_without_a_measure_or_a_signature_is_refused() -> None:
    with pytest.raises(MeasureError) as caught:
        te.arithmetic({"1": {"a": 1}}, {"1": {"a": 1.0}}, None, "1")
    assert str(caught.value) == "no measure to explain. Name one, such as P@10, or give a signature."


# --- refusals ---


def test_a_signature_of_other_judgments_is_refused() -> None:
    run = {"1": {"a": 1.0}}
    results = te.evaluate({"1": {"a": 1}}, run, "AP")
    with pytest.raises(EvaluationError, match=r"was made with judgments fff4dd91, but these are [0-9a-f]{8}\."):
        with_documents([], te.Qrels({"1": {"a": 2}}), te.Run(run), te.Run(run), results.signature(0))


def test_a_run_that_is_not_the_one_that_was_compared_is_refused() -> None:
    qrels, run = {"1": {"a": 1}}, {"1": ranking("a")}
    signature = te.evaluate(qrels, run, "AP").signature(0)
    other = {"1": ranking("x a")}
    with pytest.raises(EvaluationError) as caught:
        with_documents([QueryDifference("1", 1.0, 0.25, 0.75)], te.Qrels(qrels), te.Run(run), te.Run(other), signature)
    assert str(caught.value) == (
        "<run>: AP(rel=1) of query '1' is 0.500000 here, and 0.250000 where it was compared. "
        "Use the run that was scored."
    )


def test_a_negative_number_of_documents_is_refused() -> None:
    qrels, run = {"1": {"a": 1}}, {"1": {"a": 1.0}}
    signature = te.evaluate(qrels, run, "AP").signature(0)
    with pytest.raises(MeasureError) as caught:
        with_documents([], te.Qrels(qrels), te.Run(run), te.Run(run), signature, count=-1)
    assert str(caught.value) == "the number of documents must be 0 or more, not -1."


# --- texts of queries ---


def test_the_texts_of_queries_are_read_from_lines_with_tabs(tmp_path: Path) -> None:
    (tmp_path / "queries.tsv").write_bytes("1\thow long\tis it\r\n\n2\t é \n".encode())
    assert read_query_texts(str(tmp_path / "queries.tsv")) == {"1": "how long\tis it", "2": " é "}


def test_the_texts_of_queries_are_read_from_json_lines(tmp_path: Path) -> None:
    (tmp_path / "queries").write_text('{"_id": "1", "text": "how long", "metadata": {}}\n{"_id": "2", "text": ""}\n')
    assert read_query_texts(str(tmp_path / "queries")) == {"1": "how long", "2": ""}


@pytest.mark.parametrize("line", ["1\thow long\n", '{"_id": "1", "text": "how long"}\n'])
def test_the_texts_of_queries_are_read_compressed(line: str, tmp_path: Path) -> None:
    (tmp_path / "queries.gz").write_bytes(gzip.compress(line.encode()))
    assert read_query_texts(str(tmp_path / "queries.gz")) == {"1": "how long"}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "1\thow\n2 long\n",
            "2: expected an id, a tab and a text, but found no tab in '2 long'. Put a tab between the id and its text.",
        ),
        ("1\thow\n\n1\tlong\n", "3: the id '1' occurs twice (first on line 1). Keep one of the two."),
        (
            '{"_id": "1", "text": "how"}\n{"_id": "2"}\n',
            "2: the object has no field 'text' (it has '_id'). Name the fields as BEIR does.",
        ),
        (
            '{"_id": "1", "text": "how"\n',
            "1: not JSON: Expecting ',' delimiter at column 27. Write one object per line.",
        ),
    ],
)
def test_a_malformed_line_of_queries_is_refused_by_its_number(text: str, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "queries"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_query_texts(str(path))
    assert str(caught.value) == f"{path}:{fault}"


def test_queries_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_query_texts(str(tmp_path / "queries.tsv"))
    assert str(caught.value) == f"{tmp_path}/queries.tsv: no such file. Check the name."


# --- as text ---

FOUND = [
    QueryDifference(
        "301", 0.75, 0.25, 0.5,
        (Moved("a", 2, 3, 12, 0.5, 0.0, 0.5), Moved("long-id", None, None, 1, 0.0, 0.125, -0.125)),
        True, "", 0.125, 4,
    ),
    QueryDifference("7", 0.0, 0.25, -0.25, (Moved("b", 0, 2, 1, math.nan, math.nan, math.nan),), False, "why"),
]  # fmt: skip


def text_of(
    found: list[QueryDifference] = FOUND, format: str = "table", texts: dict[str, str] | None = None, **options: Any
) -> str:
    style = Style(**options)
    return render(document_of([Pair(found, "AP", "new", "old")], texts or {}, Made(), style), format, style)


def json_of(found: list[QueryDifference] = FOUND, **options: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(text_of(found, "json", **options))["rows"]
    return rows


def test_queries_as_a_table() -> None:
    assert text_of(texts={"301": "how long"}) == (
        "AP, old → new: the 2 queries that differ most\n"
        "Where AP is no sum over documents, ranks alone are shown.\n"
        "\n"
        "301  0.2500 → 0.7500  +0.5000  how long\n"
        "    docid    judged     rank     contribution   change\n"
        "    a             2  12 →  3  0.0000 → 0.5000  +0.5000\n"
        "    long-id       –   1 →  –  0.1250 → 0.0000  -0.1250\n"
        "    4 more documents                           +0.1250\n"
        "\n"
        "7    0.2500 → 0.0000  -0.2500  why\n"
        "    docid    judged     rank     contribution   change\n"
        "    b             0   1 →  2                –        –\n"
    )


def test_a_table_without_documents_has_a_line_a_query() -> None:
    assert text_of([QueryDifference("1", 0.75, 0.5, 0.25)], digits=2) == (
        "AP, old → new: the query that differs most\n\n1  0.50 → 0.75  +0.25\n"
    )


def test_no_query_that_differs_is_said() -> None:
    assert text_of([]) == "AP, old → new: no query differs\n"


def test_a_long_text_is_cut_to_the_width_of_a_terminal() -> None:
    for text in ("word " * 40, "語" * 80):
        (line,) = text_of([QueryDifference("1", 0.75, 0.5, 0.25, text=text)]).splitlines()[2:]
        width = sum(2 if letter == "語" else 1 for letter in line)
        assert line.endswith("…")
        assert 98 <= width <= 100


def test_control_characters_of_ids_and_texts_are_made_visible() -> None:
    moved = (Moved("d\x1b[2J", 1, 1, 2, 1.0, 0.5, 0.5),)
    found = [QueryDifference("q\x07", 1.0, 0.5, 0.5, moved, True, "bell\x1b]0;x\x07")]
    for name in ("table", "markdown", "latex", "html"):
        style = Style()
        text = render(document_of([Pair(found, "AP", "new\x1b", "old")], {}, Made(), style), name, style)
        assert all(letter.isprintable() or letter == "\n" for letter in text), name


def test_styles_are_used_only_where_they_may_be() -> None:
    assert "\n\x1b[1m301  0.2500 → 0.7500  +0.5000\x1b[0m\n" in text_of(colour=True)
    assert "\x1b" not in text_of()


def test_queries_as_records() -> None:
    head = {"measure": "AP", "run": "new", "other": "old"}
    first = {**head, "query": "301", "text": "how long", "value": 0.75, "other_value": 0.25, "delta": 0.5}
    second = {**head, "query": "7", "text": "why", "value": 0.0, "other_value": 0.25, "delta": -0.25}
    names = ("docid", "judged", "rank", "other_rank", "contribution", "other_contribution", "change", "documents")
    assert json_of(texts={"301": "how long"}) == [
        {**first, **dict(zip(names, ("a", 2, 3, 12, 0.5, 0.0, 0.5, 1), strict=True))},
        {**first, **dict(zip(names, ("long-id", None, None, 1, 0.0, 0.125, -0.125, 1), strict=True))},
        {**first, **dict(zip(names, (None, None, None, None, None, None, 0.125, 4), strict=True))},
        {**second, **dict(zip(names, ("b", 0, 2, 1, None, None, None, 1), strict=True))},
    ]


def test_a_query_without_documents_has_a_record() -> None:
    (record,) = records(Pair([QueryDifference("1", 0.75, 0.5, 0.25)], "AP", "new", "old"), {})
    assert (record["query"], record["delta"], record["docid"], record["documents"]) == ("1", 0.25, None, 0)


@pytest.mark.parametrize(("format", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_separated_values_have_the_records(format: str, delimiter: str) -> None:
    rows = list(csv.DictReader(io.StringIO(text_of(format=format)), delimiter=delimiter))
    assert rows == [{name: "" if cell is None else str(cell) for name, cell in row.items()} for row in json_of()]


def test_programs_get_fewer_digits_only_when_they_are_asked_for() -> None:
    found = [QueryDifference("1", 1.0, 1 / 3, 2 / 3)]
    assert json_of(found)[0]["delta"] == 2 / 3
    assert json_of(found, digits=2)[0]["delta"] == 0.67
    assert ",1.00,0.33,0.67," in text_of(found, "csv", digits=2)


def test_bytes_that_are_not_utf_8_are_shown_in_json() -> None:
    found = [QueryDifference("\udce9", 1.0, 0.5, 0.5)]
    assert json_of(found)[0]["query"] == "\\xe9"


def test_queries_as_markdown() -> None:
    assert text_of(FOUND[:1], "markdown", texts={"301": "how *long* | far"}) == (
        "AP, old → new: the query that differs most\n"
        "\n"
        "**301** 0.2500 → 0.7500 (+0.5000) how \\*long\\* \\| far\n"
        "\n"
        "| docid | judged | rank | contribution | change |\n"
        "| :-- | --: | --: | --: | --: |\n"
        "| a | 2 | 12 → 3 | 0.0000 → 0.5000 | +0.5000 |\n"
        "| long-id | – | 1 → – | 0.1250 → 0.0000 | -0.1250 |\n"
        "| 4 more documents |  |  |  | +0.1250 |\n"
    )


def test_ids_of_documents_are_escaped_where_marks_have_a_meaning() -> None:
    found = [QueryDifference("1", 1.0, 0.5, 0.5, (Moved("<a>|_b_", 1, 1, 2, 1.0, 0.5, 0.5),), True)]
    assert "\n| \\<a\\>\\|\\_b\\_ | 1 |" in text_of(found, "markdown")
    assert "<bdi>&lt;a&gt;|_b_</bdi>" in text_of(found, "html")


class Cells(HTMLParser):
    """Collects the rows of a table, and the tags that are open at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


def test_queries_as_html() -> None:
    page = Cells()
    page.feed(text_of(FOUND[:1], "html", texts={"301": "<b>&how"}))
    assert page.open == []
    assert page.rows == [
        ["docid", "judged", "rank", "contribution", "change"],
        ["301 <b>&how", "0.2500 → 0.7500", "+0.5000"],
        ["a", "2", "12 → 3", "0.0000 → 0.5000", "+0.5000"],
        ["long-id", "–", "1 → –", "0.1250 → 0.0000", "−0.1250"],
        ["4 more documents", "+0.1250"],
    ]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_queries_as_latex_compile(tmp_path: Path) -> None:
    moved = (Moved("[a]_1 & 100%", 1, 1, None, 1.0, 0.5, 0.5), Moved("*b", None, 2, 3, math.nan, math.nan, math.nan))
    found = [*FOUND, QueryDifference("#1", 1.0, 0.5, 0.5, moved, True, "how ~ $5 \\ x^2 {is} it\x07", 0.25, 1)]
    table = text_of(found, "latex")
    lines = ["\\documentclass{article}", "\\usepackage{booktabs}", "\\begin{document}", table, "\\end{document}"]
    (tmp_path / "page.tex").write_text("\n".join(lines), "utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_queries_in_any_script_compile_as_latex(tmp_path: Path) -> None:
    moved = (Moved("文-1", 1, 1, None, 1.0, 0.5, 0.5),)
    found = [QueryDifference("查询", 1.0, 0.5, 0.5, moved, True, "复利是如何计算的复利是如何计算的复利 שלום 😀")]
    style = Style()
    table = render(document_of([Pair(found, "AP", "模型", "bm25")], {}, Made(), style), "latex", style)
    assert r"\quad \textless{}U+6587\textgreater{}-1 & 1 & -- $\to$ 1 &" in table
    head = ["\\documentclass{article}", "\\usepackage{booktabs}", "\\usepackage[T1]{fontenc}"]
    lines = [*head, "\\begin{document}", table, "\\end{document}"]
    (tmp_path / "page.tex").write_text("\n".join(lines), "utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_the_agreement_of_runs_named_in_any_script_compiles_as_latex(tmp_path: Path) -> None:
    comparison = replace(comparison_of("AP", {"1": (0.5, 0.25)}), runs=("模型", "bm25 & 100 %"))
    runs = [te.Run({"1": ranking("a b c")}), te.Run({"1": ranking("b a c")})]
    text = agreement_text(comparison, runs, 100, "latex", Style())
    assert r"\textless{}U+6A21\textgreater{}\textless{}U+578B\textgreater{} & bm25 \& 100 \% & 0.3333" in text
    head = ["\\documentclass{article}", "\\usepackage{booktabs}", "\\usepackage[T1]{fontenc}"]
    (tmp_path / "page.tex").write_text("\n".join([*head, "\\begin{document}", text, "\\end{document}"]), "utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="format must be one of") as caught:
        text_of(format="x")
    assert str(caught.value) == "format must be one of table, csv, tsv, json, markdown, latex, html, not 'x'."


@pytest.mark.skipif(not (DATA / "qrels.tsv").exists(), reason="the example data are not there")
def test_the_example_runs_differ_most_where_their_values_say() -> None:
    qrels, runs = (
        te.read_qrels(DATA / "qrels.tsv"),
        [te.read_run(DATA / f"runs/{name}.txt") for name in ("minilm", "bm25")],
    )
    results = [te.evaluate(qrels, run, "nDCG@10") for run in runs]
    values = {qid: (results[0][qid]["nDCG@10"], results[1][qid]["nDCG@10"]) for qid in results[0]}
    found = largest_differences(comparison_of("nDCG@10", values), "nDCG@10", 0, 1, count=3)
    found = with_documents(found, qrels, *runs, results[0].signature(0))
    texts = read_query_texts(str(DATA / "queries.tsv"))
    text = render(document_of([Pair(found, "nDCG@10", "minilm", "bm25")], texts, Made(), Style()), "table", Style())
    assert "63    0.3887 → 0.9648  +0.5762  how does compound interest work\n" in text
