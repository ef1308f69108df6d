"""A comparison for a paper: LaTeX that fits, the names of measures, the order and choice of runs."""

from __future__ import annotations

import functools
import json
import math
import random
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from command import treceval
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.comparing.comparison import Comparison
from treceval_py.measuring import parse_measures
from treceval_py.measuring.registry import FAMILIES
from treceval_py.rendering import left_out, render
from treceval_py.rendering.envelope import Made
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import Column, Document, Table

ROOT = Path(__file__).parent.parent
QRELS, BM25, JACCARD, MINILM = "data/qrels.tsv", *(f"data/runs/{name}.txt" for name in ("bm25", "jaccard", "minilm"))

NAMES = (
    "bm25", "bm25+rm3", "splade-v3", "bge-small-en-v1.5", "MonoT5_3B", "minilm", "ColBERTv2", "rrf(bm25,minilm)",
    "e5-base", "contriever", "tasb", "ance", "docT5query", "SPLADE++ED", "unicoil", "bge-reranker-v2-m3", "RankZephyr7B",
)  # fmt: skip


@functools.cache
def compared(count: int, measures: str, *, pairs: bool = False) -> Comparison:
    """Return a comparison of runs of which the later ones find relevant documents less and less often."""
    draw = random.Random(7)
    qrels = {str(qid): {f"d{number}": 1 for number in range(5)} for qid in range(20)}
    runs = {}
    for place, name in enumerate(NAMES[:count]):
        runs[name] = {
            qid: {
                f"{'d' if draw.random() < 0.9 - place / 25 else 'x'}{number}": 1 / (1 + number) + draw.random()
                for number in range(20)
            }
            for qid in qrels
        }
    return te.compare(qrels, runs, measures.split(), pairs=pairs, resamples=499)


def command(*arguments: str, runs: Sequence[str] = (BM25, JACCARD, MINILM)) -> tuple[int, str, str]:
    """Compare the example's runs on the command line; return the status, the output and the messages."""
    done = treceval(["compare", QRELS, *runs, *arguments], folder=ROOT)
    return done.status, done.out.decode(), done.err.decode()


FOUR = "MAP nDCG@10 MRR P@10"

TIMES = (
    r"\DeclareFontFamily{T1}{like}{}\DeclareFontShape{T1}{like}{m}{n}{<->ecrm1000}{}"
    r"\DeclareFontShape{T1}{like}{b}{n}{<->ecrm1000}{}\DeclareFontShape{T1}{like}{bx}{n}{<->ecrm1000}{}"
    r"\renewcommand{\rmdefault}{like}"
)
"""A font whose bold digits are as wide as others, as those of Times are; its letters are wider than those of Times."""

STYLES = {
    "article": r"\documentclass{article}\usepackage[T1]{fontenc}",
    "article in two columns": r"\documentclass[twocolumn]{article}\usepackage[T1]{fontenc}",
    # acmart, sigconf: 241.14749 pt, with letters of 9 points; ACL: 219.08614 pt, with Times of 11 points.
    "sigconf": r"\documentclass[twocolumn]{article}\usepackage[T1]{fontenc}"
    r"\textwidth506.295pt\columnsep24.0pt\oddsidemargin-40pt",
    "ACL": r"\documentclass[11pt,twocolumn]{article}\usepackage[T1]{fontenc}"
    rf"\textwidth455.24411pt\columnsep17.07182pt\oddsidemargin-10pt{TIMES}",
}
"""The widths of columns of the usual styles, which may not be installed."""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not on the path")
@pytest.mark.parametrize("style", STYLES)
def test_no_box_is_overfull(tmp_path: Path, style: str) -> None:
    found = [compared(17, FOUR), compared(8, FOUR), compared(2, "map"), compared(4, FOUR, pairs=True)]
    found.append(compared(3, " ".join(f"nDCG@{cutoff}" for cutoff in range(1, 13))))
    bodies = [each.to_latex(columns=columns) for each in found for columns in (1, 2)]
    text = rf"{STYLES[style]}\usepackage{{booktabs}}\begin{{document}}" + "\n\\clearpage\n".join(bodies)
    (tmp_path / "paper.tex").write_text(text + "\n\\end{document}\n", "utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-draftmode", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=300, check=False)
    log = (tmp_path / "paper.log").read_text("latin-1")
    assert done.returncode == 0, log[-2000:]
    assert re.findall(r"Overfull \\hbox.*|.*too large.*|.*Undefined.*", log) == []


def test_a_table_is_cut_only_where_it_must_be_and_says_so() -> None:
    found = compared(9, FOUR)
    wide, narrow = (found.to_latex(columns=columns) for columns in (2, 1))
    assert [text.count("\nRun & \\multicolumn{2}{c}{MAP}") for text in (wide, narrow)] == [1, 1]
    assert "\\begin{table*}" in wide
    assert ["Letters: runs that share one" in text for text in (wide, narrow)] == [True, False]
    note = (
        "the table of means fits into one column of text only without the letters of groups; --columns 2 has more room."
    )
    assert f"\n% {note}\n" in narrow
    # Letters stay where nothing else says which runs differ.
    text = compared(6, FOUR, pairs=True).to_latex()
    assert "Letters: runs that share one" in text
    assert text.count("\\textsuperscript{") >= 6 * 4


def test_the_table_for_a_paper_and_what_it_lacks(snapshot: SnapshotAssertion) -> None:
    status, out, err = command("-m", "map", "--format", "latex")
    # the values of minilm and bm25 as the command prints them; the second best of three is underlined
    assert re.findall(r"\\(?:underline|textbf)\{(.*?)\}", out) == ["0.8490", "0.6358"]
    version = re.compile(rf"{re.escape(te.__version__)}")
    assert (status, version.sub("VERSION", out), err) == (0, snapshot, snapshot)
    assert "only without" not in command("-m", "map", "--format", "latex", "--columns", "2")[2]
    assert "underline" not in command("-m", "map", "--format", "latex", runs=(BM25, MINILM))[1]


def test_a_table_that_fits_into_no_column_is_as_wide_as_a_page() -> None:
    columns = (Column("name", ["x"], text=True), *(Column(f"value {number}", [0.5]) for number in range(8)))
    document = Document("x", [Table(columns, "rows", "Rows", label="tab:x", tight=True)], lambda _: Made())
    assert "\\begin{table*}" in render(document, "latex", Style())
    assert left_out(document, "latex", Style()) == [
        "the table of rows does not fit into one column of text, and is as wide as a page."
    ]
    assert left_out(document, "table", Style()) == []


def test_a_board_in_latex_says_what_it_lacks() -> None:
    arguments = ["board", QRELS, "data/runs", "--no-cache", "-m", "MAP", "-m", "nDCG@10", "--format", "latex"]
    done = treceval(arguments, folder=ROOT)
    assert b"& MAP & " in done.out
    assert b"Ranked by MAP;" in done.out
    assert b"note: the table of runs " in done.err
    assert b"\\begin{table*}" in treceval([*arguments, "--columns", "2"], folder=ROOT).out
    refused = treceval(["board", QRELS, "data/runs", "--columns", "2"], folder=ROOT)
    assert refused.status == 2
    assert b"--columns needs --format latex." in refused.err


def test_a_long_name_is_broken_between_its_words() -> None:
    name = "sentence-transformers/msmarco-distilbert-base-tas-b"
    columns = Column("run", [name], text=True, head=True), *(Column(str(each), [0.5]) for each in range(3))
    text = render(Document("x", [Table(columns, label="tab:x")], lambda _: Made()), "latex", Style())
    (row,) = [line for line in text.splitlines() if line.startswith("\\parbox")]
    assert re.sub(r"\\allowbreak\{\}", "", row).split("strut ")[1].split("\\strut")[0] == name
    assert "msmarco-\\allowbreak{}distilbert-" in row


MEANS = {
    "map": "MAP",  # Buckley and Voorhees, Evaluating Evaluation Measure Stability, SIGIR 2000
    "RR@10": "MRR@10",  # the MS MARCO leaderboard
    "set_map": "SetMAP", "AP_IA": "MAP_IA", "recip_rank": "MRR", "AP(rel=2)@100": "MAP(rel=2)@100",
    "ndcg_cut_10": "nDCG@10", "P_10": "P@10", "Rprec": "Rprec", "ERR_IA@20": "ERR_IA@20",
}  # fmt: skip


def test_a_mean_has_the_name_that_was_typed_or_its_own() -> None:
    measures = {asked: parse_measures(asked)[0] for asked in MEANS}
    assert {asked: measure.untyped.heading for asked, measure in measures.items()} == MEANS
    typed = {asked: MEANS[asked] if asked == each.notation else asked for asked, each in measures.items()}
    assert {asked: measure.heading for asked, measure in measures.items()} == typed
    assert {family.name for family in FAMILIES.values() if family.mean} == {
        "map", "map_cut", "recip_rank", "recip_rank_cut", "set_map", "ap_ia",
        "statAP", "varAP", "statRprec", "statPC", "statNDCG",
    }  # fmt: skip


def rows_of(text: str) -> list[str]:
    """Return the names of the runs in the table of means."""
    lines = text.split("\n\n")[1].splitlines()
    return [line.split(" ")[0] for line in lines[2:]]


def test_people_see_the_highest_first_and_programs_the_given_order_or_what_is_asked() -> None:
    assert rows_of(command("-m", "map")[1]) == ["minilm", "bm25", "jaccard"]
    lines = command("-m", "map", "--format", "csv")[1].splitlines()
    assert [line.split(",")[1] for line in lines[1:]] == ["jaccard", "minilm"]
    given, sorted_by_value = ["bm25", "jaccard", "minilm"], ["minilm", "bm25", "jaccard"]
    comparison = te.compare([te.evaluate(ROOT / QRELS, ROOT / run, ["map", "P.10"]) for run in (BM25, JACCARD, MINILM)])
    for by, names in {"given": given, "name": given, "P.10": sorted_by_value}.items():
        assert rows_of(comparison.to_text(sort=by)) == names
        found = json.loads(comparison.to_text("json", sort=by))
        assert [each["name"] for each in found["runs"]] == names
        assert [each["name"] for each in found["measures"][0]["runs"]] == names
        assert found["baseline"] == "bm25"


def test_an_option_that_would_change_nothing_is_refused(snapshot: SnapshotAssertion) -> None:
    said = {}
    for options in (
        "--columns 2", "--columns 1 --format csv", "--columns 2 --format latex --per-query",
    ):  # fmt: skip
        status, out, said[options] = command(*options.split(), runs=(BM25, MINILM))
        assert (status, out) == (2, "")
    assert said == snapshot


def test_siunitx_gets_numbers_as_it_reads_them() -> None:
    column = Column("value", [0.5, -12.25, math.nan, 1.0], best=frozenset({3}), second=frozenset({0}), signed=True)
    table = Table((Column("run", ["a", "b", "c", "d"], text=True), column), label="tab:x")
    text = render(Document("x", [table], lambda _: Made()), "latex", Style(siunitx=True))
    assert "% \\usepackage{siunitx}" in text
    assert "\\begin{tabular}{lS[table-format=+2.4]}" in text
    assert [line.split(" & ")[1] for line in text.splitlines() if re.match("[abcd] &", line)] == [
        "{\\underline{+0.5000}} \\\\", "-12.2500 \\\\", "{--} \\\\", "\\bfseries +1.0000 \\\\",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["table", "markdown", "latex", "html", "csv", "tsv", "json"])
@pytest.mark.parametrize("digits", [None, 1, 4])
def test_nothing_is_minus_zero(name: str, digits: int | None) -> None:
    table = Table((Column("run", ["a"], text=True), Column("x", [-1e-9]), Column("y", [-1e-9], signed=True)))
    text = render(Document("x", [table], lambda _: Made()), name, Style(digits=digits))
    assert not re.search(r"[-−]0(\.0*)?(?![.\de])", text.replace("&#8722;", "−").replace("$-$", "-"))
