"""The systems that this project grew from: each of their figures comes out, also those that were made by mistake.

Expected numbers are those that the systems print or publish, or arithmetic in sight.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from command import Done, treceval
from sklearn.metrics import ndcg_score

import treceval_py as te

# --- a coursework scorer: one file of lines is ranking and judgments, MAP, MRR and NDCG with five decimals ---


def judged_ranking(*queries: str) -> bytes:
    """Return lines for queries, each given as its labels in rank order."""
    return b"".join(
        f"{number} Q0 d{number}-{rank} {rel}\n".encode()
        for number, labels in enumerate(queries, 1)
        for rank, rel in enumerate(labels.split(), 1)
    )


def coursework(folder: Path, data: bytes, *options: str) -> Done:
    (folder / "ranking").write_bytes(data)
    return treceval(["--judged-ranking", "ranking", "--format", "coursework", *options], folder=folder)


WORKED = judged_ranking("2 0 1 0 3", "0 1 0 0", "1 1")


def test_the_worked_example_of_the_coursework(tmp_path: Path) -> None:
    done = coursework(tmp_path, WORKED)
    assert (done.status, done.err) == (0, b"")
    assert done.out == b"MAP = 0.75185\nMRR = 0.83333\nNDCG = 0.89889\n"


def test_the_queries_of_the_worked_example(tmp_path: Path) -> None:
    done = coursework(tmp_path, WORKED, "-q", "-n", "--digits", "6")
    assert done.out.decode().splitlines() == [
        # (1/1 + 2/3 + 3/5) / 3; 2 + 1/log2 3 + 3/log2 5 over 3 + 2 + 1/log2 3
        "MAP(1) = 0.755556",
        "MRR(1) = 1.000000",
        "NDCG(1) = 0.696681",
        # The relevant document at rank 2 is not discounted.
        "MAP(2) = 0.500000",
        "MRR(2) = 0.500000",
        "NDCG(2) = 1.000000",
        "MAP(3) = 1.000000",
        "MRR(3) = 1.000000",
        "NDCG(3) = 1.000000",
    ]


def test_the_discount_of_the_coursework_by_hand(tmp_path: Path) -> None:
    (tmp_path / "ranking").write_bytes(WORKED)
    qrels, run = te.io.read_judged_ranking(tmp_path / "ranking")
    results = te.evaluate(qrels, run, profile="coursework")
    found = 2 + 1 / math.log2(3) + 3 / math.log2(5)
    assert results["1"]["NDCG"] == pytest.approx(found / (3 + 2 + 1 / math.log2(3)), rel=1e-14)
    assert results["1"]["MAP"] == pytest.approx((1 + 2 / 3 + 3 / 5) / 3, rel=1e-14)


def test_first_relevant_documents_at_ranks_4_none_none_and_5(tmp_path: Path) -> None:
    done = coursework(tmp_path, judged_ranking("0 0 0 1", "0 0", "0", "0 0 0 0 2"), "-m", "MRR")
    assert done.out == b"MRR = 0.11250\n"  # (1/4 + 0 + 0 + 1/5) / 4


def test_a_query_without_a_relevant_document_is_0(tmp_path: Path) -> None:
    done = coursework(tmp_path, judged_ranking("0 0 0"))
    assert done.out == b"MAP = 0.00000\nMRR = 0.00000\nNDCG = 0.00000\n"
    both = coursework(tmp_path, judged_ranking("0 0 0", "1"))
    assert both.out == b"MAP = 0.50000\nMRR = 0.50000\nNDCG = 0.50000\n"


def test_a_label_below_0_counts_as_0(tmp_path: Path) -> None:
    negative, zero = (coursework(tmp_path, judged_ranking(f"{rel} 1 {rel} 2", f"{rel}")) for rel in (-3, 0))
    assert negative.out == zero.out


def test_ranks_are_the_order_of_the_lines_also_where_a_query_is_interrupted(tmp_path: Path) -> None:
    lines = WORKED.splitlines(keepends=True)
    mixed = b"".join([*lines[:2], *lines[5:7], *lines[2:5], *lines[9:], *lines[7:9]])
    assert coursework(tmp_path, mixed).out == coursework(tmp_path, WORKED).out


def test_a_judged_ranking_comes_from_standard_input_too() -> None:
    done = treceval(["--judged-ranking", "-", "--format", "coursework"], stdin=WORKED)
    assert done.out == b"MAP = 0.75185\nMRR = 0.83333\nNDCG = 0.89889\n"


# --- the evaluation of an embedding model: recall, MRR and nDCG at 1 and 10 ---

NAMES = ["R@1", "R@10", "MRR@1", "MRR@10", "nDCG@1", "nDCG@10"]


def test_the_profile_of_the_tutorials_computes_what_they_do() -> None:
    assert te.evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, profile="flagembedding-tutorial").names == NAMES


def hits(*places: int, size: int = 10) -> dict[str, float]:
    """Return ``size`` documents of a query, those at some ranks being r1, r2, …"""
    names = {place: f"r{nth}" for nth, place in enumerate(places, 1)}
    return {names.get(rank, f"x{rank}"): float(size - rank) for rank in range(1, size + 1)}


def test_the_definitions_of_the_tutorials_by_hand() -> None:
    # Query 1: two relevant passages at ranks 1 and 3. Query 2: three, one found, at rank 2. Query 3: none found.
    qrels = {"1": {"r1": 1, "r2": 1}, "2": {"r1": 1, "r2": 1, "r3": 1}, "3": {"r1": 1}}
    run = {"1": hits(1, 3), "2": hits(2), "3": hits()}
    found = te.evaluate(qrels, run, profile="flagembedding-tutorial")
    at_3 = 1 / math.log2(4)
    expected = {
        "1": [1 / 1, 2 / 2, 1, 1, 1, (1 + at_3) / (1 + 1 / math.log2(3))],
        "2": [0 / 1, 1 / 3, 0, 1 / 2, 0, (1 / math.log2(3)) / 1],  # the ideal of what was retrieved: one hit at rank 1
        "3": [0, 0, 0, 0, 0, 0],
    }
    for qid, values in expected.items():
        assert list(found[qid].values()) == pytest.approx(values, rel=1e-14), qid
    columns = zip(*expected.values(), strict=True)
    assert list(found.mean.values()) == pytest.approx([sum(each) / 3 for each in columns], rel=1e-14)


def test_recall_is_capped_by_the_cutoff_and_by_1() -> None:
    # 12 relevant passages: at 10 the best possible is 10. A query whose judgments are all 0 divides by max(min(c, 0), 1).
    qrels = {"1": {f"r{nth}": 1 for nth in range(1, 13)}, "2": {"r1": 0}}
    found = te.evaluate(qrels, {"1": hits(*range(1, 10)), "2": hits(1)}, "R@10", profile="flagembedding-tutorial")
    assert {qid: row["R@10"] for qid, row in found.items()} == {"1": 9 / 10, "2": 0.0}


def test_the_published_figures_go_together() -> None:
    # 100 queries of one relevant passage each: 97 at rank 1, and MRR@10 0.9825 and nDCG@10 0.9869253606521631 of the
    # other three at ranks 2, 2 and 4: (97 + 2/2 + 1/4) / 100, (97 + 2/log2 3 + 1/log2 5) / 100.
    places = [1] * 97 + [2, 2, 4]
    qrels = {str(number): {"r1": 1} for number in range(100)}
    run = {str(number): hits(place) for number, place in enumerate(places)}
    found = te.evaluate(qrels, run, profile="flagembedding-tutorial").mean
    assert found["R@1"] == found["MRR@1"] == found["nDCG@1"] == pytest.approx(0.97, abs=1e-12)
    assert found["R@10"] == 1.0
    assert found["MRR@10"] == pytest.approx(0.9825, abs=1e-12)
    assert found["nDCG@10"] == pytest.approx(0.9869253606521631, abs=1e-12)


# --- a sheet of metrics: three queries, cutoffs 1, 5 and 10 ---

RELEVANT = ((11, 1, 7, 17, 21), (4, 16, 1), (26, 10, 22, 8))
RANKED = (
    (11, 1, 17, 7, 21, 8, 0, 28, 9, 20),
    (16, 1, 6, 18, 3, 4, 25, 19, 8, 14),
    (24, 10, 26, 2, 8, 28, 4, 23, 13, 21),
)
SHEET_QRELS = {f"q{number}": {str(docid): 1 for docid in row} for number, row in enumerate(RELEVANT)}
SHEET_RUN = {
    f"q{number}": {str(docid): 10.0 - place for place, docid in enumerate(row)} for number, row in enumerate(RANKED)
}

SHEET = {
    "recall, capped": ("R_cap", (0.666667, 0.805556, 0.916667), "R"),
    "MRR": ("RR", (0.666667, 0.833333, 0.833333), "MRR"),
    "precision": ("P", (0.666667, 0.666667, 0.366667), "P"),
    "MAP": ("AP(norm=retrieved)", (0.666667, 0.862963, 0.807407), "MAP"),
    "nDCG, ideal from the retrieved list": ("nDCG(ideal=retrieved)", (0.666667, 0.825875, 0.881595), "nDCG"),
    "nDCG, ties averaged": ("nDCG(ideal=retrieved,ties=average)", (0.666667, 0.825875, 0.881595), ""),
    "nDCG, ideal from the judgments": ("nDCG", (0.666667, 0.785958, 0.841678), ""),
    "MAP, divided by min(c, R)": ("AP(norm=capped)", (0.666667, 0.702778, 0.758333), ""),
    "MAP, divided by R": ("AP", (0.177778, 0.702778, 0.758333), ""),
}
"""Of each row of the sheet the notation, its figures at 1, 5 and 10, and its name under flagembedding-tutorial."""


def test_the_rows_of_the_sheet_come_out() -> None:
    for row, (notation, figures, named) in SHEET.items():
        for name, profile in ((notation, "trec_eval-10"), (named, "flagembedding-tutorial")):
            if name:
                names = [f"{name}@{cutoff}" for cutoff in (1, 5, 10)]
                found = te.evaluate(SHEET_QRELS, SHEET_RUN, names, profile=profile).mean
                assert [round(found[each], 6) for each in names] == list(figures), row


def test_the_map_of_the_sheet_by_hand() -> None:
    # Query 0 at 5: five relevant documents at ranks 1 to 5, all precisions 1. Query 1: at ranks 1, 2, and 6. Query 2:
    # at ranks 2, 3 and 5.
    found = te.evaluate(SHEET_QRELS, SHEET_RUN, ["AP(norm=retrieved)@5", "AP(norm=capped)@5", "AP@1"])
    assert [row["AP(norm=retrieved)@5"] for row in found.values()] == pytest.approx(
        [1, (1 + 1) / 2, (1 / 2 + 2 / 3 + 3 / 5) / 3], rel=1e-14
    )
    assert [row["AP(norm=capped)@5"] for row in found.values()] == pytest.approx(
        [1, (1 + 1) / 3, (1 / 2 + 2 / 3 + 3 / 5) / 4], rel=1e-14
    )
    assert [row["AP@1"] for row in found.values()] == pytest.approx([1 / 5, 1 / 3, 0], rel=1e-14)


MISTAKEN = {1: 0.0, 5: 0.3298163165186628, 10: 0.5955665344840209}
"""The nDCG that the sheet prints: it hands the document ids to scikit-learn's ndcg_score as if they were scores."""


def test_the_mistaken_ndcg_of_the_sheet_is_that_of_ids_taken_for_scores() -> None:
    by_id = {qid: {docid: float(docid) for docid in row} for qid, row in SHEET_RUN.items()}
    labels = [[int(docid in judged) for docid in ranked] for judged, ranked in zip(RELEVANT, RANKED, strict=True)]
    for cutoff, mistaken in MISTAKEN.items():
        name = f"nDCG@{cutoff}"
        found = te.evaluate(SHEET_QRELS, by_id, name, profile="flagembedding-tutorial").mean[name]
        assert found == pytest.approx(mistaken, abs=1e-15)
        assert float(ndcg_score(labels, RANKED, k=cutoff)) == pytest.approx(mistaken, abs=1e-15)


@pytest.mark.parametrize("profile", ["trec_eval-10", "flagembedding-tutorial", "sklearn"])
@pytest.mark.parametrize(
    "claim", ["nDCG@5=0.32982", "nDCG@10=0.59557", "nDCG@5=0.3298163165186628", "nDCG@10=0.5955665344840209"]
)
def test_the_mistake_of_the_sheet_is_recognised_in_what_it_prints(claim: str, profile: str) -> None:
    (found,) = te.explain(SHEET_QRELS, SHEET_RUN, claims=[claim], profile=profile).measures
    likely = [match for match in found.matches if match.likely]
    assert likely
    assert all("sort-docid-number" in match.variant.ids and match.how == "exactly" for match in likely)


@pytest.mark.parametrize("claim", ["nDCG@1=0.0", "nDCG@1=0.0000"])
def test_of_a_0_all_mistakes_that_give_it_are_named(claim: str) -> None:
    # No profile gives 0 at 1, nor does any single convention; both of these mistakes do, and neither is likelier.
    (found,) = te.explain(SHEET_QRELS, SHEET_RUN, claims=[claim]).measures
    names = {match.variant.name for match in found.matches}
    assert names >= {"sorted by ascending score", "document ids taken for scores"}
    assert all(row.outcome is None or row.outcome.mean == pytest.approx(2 / 3) for row in found.rows)


def test_a_way_that_gives_a_claim_is_named_once(tmp_path: Path) -> None:
    te.io.write_qrels(te.Qrels(SHEET_QRELS), tmp_path / "qrels")
    te.write_run(te.Run(SHEET_RUN), tmp_path / "run")
    done = treceval(["explain", "qrels", "run", "--claim", "nDCG@10=0.59557"], folder=tmp_path)
    lines = [line for line in done.out.decode().splitlines() if "document ids" in line]
    assert len(lines) == len(set(lines)) > 0
