"""Numbers in texts as students write them (claim_texts.toml), and of which run and measure each is said."""

from __future__ import annotations

import io
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

from treceval_py.grading.claims.claims import claims_in

TEXTS: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "claim_texts.toml").read_text("utf-8"))["text"]
SLOW = {"unseen, packed"}  # their formats are written by packages that take a while to import


def made(text: dict[str, Any]) -> bytes:
    """Return the file of a text; one with paragraphs and tables is a Word document, one with pages a PDF."""
    raw = io.BytesIO()
    if "paragraphs" in text:
        document = pytest.importorskip("docx").Document()
        for part in text["paragraphs"]:
            if isinstance(part, str):
                document.add_paragraph(part)
                continue
            table = document.add_table(rows=len(part), cols=len(part[0]))
            for cells, row in zip(part, table.rows, strict=True):
                for content, cell in zip(cells, row.cells, strict=True):
                    cell.text = content
        document.save(raw)
    elif "pages" in text:
        document = pytest.importorskip("fpdf").FPDF()
        document.set_font("Helvetica", size=11)
        for page in text["pages"]:
            document.add_page()
            for line in page.splitlines():
                document.cell(0, 6, line, new_x="LMARGIN", new_y="NEXT")
        raw.write(bytes(document.output()))
    else:
        raw.write(text["written"].encode())
    return raw.getvalue()


def in_short(data: bytes, name: str) -> list[tuple[str, float]]:
    found = claims_in(data, name)
    assert [each.fault for each in found] == [""] * len(found)
    assert all(each.place.startswith((f"{name}:", f"{name}, ")) for each in found)
    return sorted(
        (each.claim.measure.notation, round(each.claim.value / (100 if each.claim.percent else 1), 6))
        for each in found
        if each.claim
    )


@pytest.mark.parametrize(
    "group",
    [
        pytest.param(each, marks=[pytest.mark.slow] * (each in SLOW))
        for each in sorted({text["group"] for text in TEXTS})
    ],
)
def test_a_text_claims_the_numbers_that_it_gives_for_measures_and_no_others(group: str) -> None:
    texts = {text["what"]: text for text in TEXTS if text["group"] == group}
    found = {what: in_short(made(text), text["file"]) for what, text in texts.items()}
    expected = {what: sorted((claim[0], claim[1]) for claim in text.get("claims", ())) for what, text in texts.items()}
    assert found == expected


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("| run | MAP |\n|---|---|\n| dense | 0.31 |\n| hybrid | 0.32 |", ["dense", "hybrid"]),
        ("| model | MAP | Time |\n|---|---|---|\n| bm25 | 0.31 | 1.2s |\n| tfidf | 0.32 | <1s |", ["bm25", "tfidf"]),
        ("| run | MAP |\n|--|--|\n| run1.txt | 0.3512 |\n| run2.txt | 0.3688 |", ["run1.txt", "run2.txt"]),
        ("measure,dense,hybrid\nMAP,0.31,0.32\n", ["dense", "hybrid"]),
        ("run,MAP,P@10\ndense,0.31,-\nhybrid,0.32,0.4\n", ["dense", "hybrid", "hybrid"]),
        ("Run A: MAP 0.31.\nRun B: MAP 0.32.", ["A", "B"]),
        ("## Run A\n\nMAP = 0.31\n\n## Run B\n\nMAP = 0.32", ["A", "B"]),
        ("runid all first\nmap all 0.31\nrunid all second\nmap all 0.32", ["first", "second"]),
        ("{'dense': {'map': 0.31}, 'hybrid': {'map': 0.32}}", ["dense", "hybrid"]),
        ("dense {'map': 0.31}\nhybrid {'map': 0.32}", ["dense", "hybrid"]),
        ("| run | MAP |\n|---|---|\n| baseline | 0.31 |\n| hybrid | 0.32 |", [""]),
        ("MAP = 0.31", [""]),
        ("$ trec_eval qrels.txt a.run\nmap all 0.31\n$ trec_eval qrels.txt b.run\nmap all 0.32", ["a.run", "b.run"]),
        ("me@host:~$ trec_eval q a.run\nmap all 0.31\n\nOur MAP is 0.31 on all queries.", ["a.run", ""]),
        ("python eval.py --run a.txt\nMAP: 0.31\npython eval.py --run b.txt\nMAP: 0.32", ["a.txt", "b.txt"]),
        ("Evaluating a.txt ...\nMAP: 0.31\nEvaluating b.txt ...\nMAP: 0.32", ["a.txt", "b.txt"]),
        ("a.txt MAP=0.31 P@10=0.4\nb.txt MAP=0.32 P@10=0.5", ["a.txt", "a.txt", "b.txt", "b.txt"]),
        ("## Run A\n\n{'map': 0.31}\n\n## Run B\n\n{'map': 0.32}", ["A", "B"]),
        ("=== BM25 ===\nMAP: 0.31\n\n=== Hybrid ===\nMAP: 0.32", [""]),
        ("results.txt\nMAP = 0.31", [""]),
    ],
)
def test_a_claim_names_the_run_of_which_it_is_said_where_there_are_several(text: str, runs: list[str]) -> None:
    assert [each.run for each in claims_in(text.encode(), "report.md")] == runs


def test_a_row_named_as_a_run_that_was_handed_in_is_the_students_whatever_its_name() -> None:
    table = b"| run | MAP |\n|---|---|\n| BM25 | 0.31 |\n| Hybrid | 0.32 |"
    assert [each.run for each in claims_in(table, "report.md")] == [""]  # BM25 is for comparison
    assert [each.run for each in claims_in(table, "report.md", ["bm25", "hybrid"])] == ["BM25", "Hybrid"]


def test_a_heading_or_the_begin_of_a_line_names_a_run_that_was_handed_in() -> None:
    text = b"## BM25\n{'map': 0.31}\n\n## Hybrid\n{'map': 0.32}\n\n[bm25] P@10=0.4 MRR=0.5"
    found = [(each.text, each.run) for each in claims_in(text, "report.md", ["bm25", "hybrid"])]
    assert found == [("0.31", "BM25"), ("0.32", "Hybrid"), ("0.4", "bm25"), ("0.5", "bm25")]


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("- MAP: 0.412 → 0.447 (+8.5 %)\n- nDCG@10: 0.489 -> 0.523", [("AP", 0.447), ("nDCG@10", 0.523)]),
        ("MAP 0.31 → 0.33 → 0.35", [("AP", 0.35)]),
        ("| Run | MAP [%] | P@20 (%) |\n|--|--|--|\n| mine | 25.13 | 41.8 |", [("AP", 25.13), ("P@20", 41.8)]),
        ("Q4. MAP of your submitted run? 0.2213\nQ5. And the length of documents? 157.2", [("AP", 0.2213)]),
        ("We have a MAP of 0,28 and a\nP@10 of 0,43. With k1 = 0,9 and b = 0,4.", [("AP", 0.28), ("P@10", 0.43)]),
        ("Baseline\nMAP = 0.25\n\nours:\nMAP = 0.31", [("AP", 0.31)]),
        ("MAP = 10 of 12", []),
    ],
)
def test_a_number_is_taken_for_the_measure_that_it_is_said_of(text: str, claims: list[tuple[str, float]]) -> None:
    assert in_short(text.encode(), "report.md") == sorted(claims)


def test_marks_of_significance_in_latex_are_no_part_of_a_number() -> None:
    table = r"\begin{tabular}{lll} & MAP & P@10\\ Ours & $0.31^{\dagger}$ & 0.4$^{ab}$\\ \end{tabular}"
    assert in_short(table.encode(), "paper.tex") == [("AP", 0.31), ("P@10", 0.4)]


def test_the_place_of_a_number_in_a_sentence_is_its_line() -> None:
    text = (
        b"With stemming and stop words our system obtained on the test topics a MAP of\n0.4009, and an MRR\nof 0.9440."
    )
    assert [each.place for each in claims_in(text, "report.md")] == ["report.md:1", "report.md:2"]


def test_numbers_of_one_measure_that_differ_in_running_text_are_no_claims_and_roundings_are() -> None:
    assert in_short(b"The MAP is 0.31 here. The MAP is 0.35 there.", "a.md") == []
    assert in_short(b"The MAP is 0.3512 here. The MAP is 0.35, rounded.", "a.md") == [("AP", 0.35), ("AP", 0.3512)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "MAP 0.4 ", "a MAP of ", "than the the the baseline 0.41 ", "{'a':", "'map': ", "MAP and ", "| MAP ", "MAP = ",
        "MAP.........................................", "0.4009 ", "MAP of our very own nice new system ",
    ],
)  # fmt: skip
def test_a_mebibyte_of_what_looks_like_claims_is_read_in_bounded_time(text: str) -> None:
    begun = time.process_time()
    for line in (text * 100_000, (text * 40 + "\n") * 1000):
        claims_in(line.encode()[: 1 << 20], "report.md")
    assert time.process_time() - begun < 60  # hours, where each beginning is followed to the end of the file
