"""The queries in which two runs differ most: which documents moved, and how that is written."""

from __future__ import annotations

import gzip
import io
import json
import math
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_runs import random_pair
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.comparing.comparison import Comparison
from treceval_py.comparing.documents import (
    Moved,
    QueryDifference,
    largest_differences,
    with_documents,
)
from treceval_py.comparing.outcome import Compared, Settings
from treceval_py.comparing.show.agreement import agreement_text
from treceval_py.comparing.show.queries import Pair, document_of, records
from treceval_py.corpora.named import read_query_texts
from treceval_py.errors import EvaluationError, InputError
from treceval_py.explaining.terms import _TAKEN_APART
from treceval_py.measuring.facts import Sums
from treceval_py.rendering import render
from treceval_py.rendering.envelope import Made
from treceval_py.rendering.style import Style
from treceval_py.scoring.signatures import Signature

pytestmark = pytest.mark.filterwarnings("ignore::treceval_py.errors.SuspectRunWarning")

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


def differing(
    values: dict[str, tuple[float, float]], run: int = 0, other: int = 1, **options: int
) -> list[QueryDifference]:
    return largest_differences(comparison_of("AP", values), "AP", run, other, **options)


def test_the_largest_differences_come_first_whatever_their_sign() -> None:
    found = differing({"1": (0.5, 0.25), "2": (0.125, 0.875), "3": (0.5, 0.375), "4": (0.5, 0.5)})
    assert [(each.qid, each.value, each.other_value, each.delta) for each in found] == [
        ("2", 0.125, 0.875, -0.75), ("1", 0.5, 0.25, 0.25), ("3", 0.5, 0.375, 0.125),
    ]  # fmt: skip
    assert [each[:4] for each in differing({"1": (0.5, 0.25)}, 1, 0)] == [("1", 0.25, 0.5, -0.25)]


def test_equal_differences_come_in_the_order_of_the_bytes_of_their_ids() -> None:
    values = {"b": (0.5, 0.0), "é": (0.5, 0.0), "10": (0.0, 0.5), "9": (0.5, 0.0)}
    assert [each.qid for each in differing(values)] == ["10", "9", "b", "é"]


def test_no_more_queries_than_asked_for_are_listed() -> None:
    values = {str(number): (number / 32, 0.0) for number in range(1, 20)}
    assert len(differing(values)) == 10
    assert [each.qid for each in differing(values, count=2)] == ["19", "18"]
    assert differing(values, count=0) == []


# --- the documents that moved, by arithmetic in sight ---


MOVED = {
    "a document above the cutoff": ("P@3", "a b", "a b x", "b x y a", ["a 1 1 4 1/3 0"]),
    "only the first relevant document": ("RR", "a b c", "a b c", "x b a", ["a 1 1 3 1 0", "b 1 2 2 0 1/2"]),
    # b has the precision 2/2 below a, and 1/2 without it; both are divided by two relevant documents.
    "one that keeps its rank": ("AP", "a b", "a b", "x b", ["a 1 1 - 1/2 0", "b 1 2 2 1/2 1/4"]),
    "one that a run lacks": ("AP", "a", "x y", "a", ["a 1 - 1 0 1"]),
    "a query that a run lacks": ("AP", "a", "", "a", ["a 1 - 1 0 1"]),
    # 0.3 / 3 is not 0.1: what a contributes beside b and c, and alone
    "equal but for rounding": ("P@10", "a b c", "a b c", "a x y", ["b 1 2 - 1/10 0", "c 1 3 - 1/10 0"]),
    "equal ones in the order of their bytes": (
        "P@4", "é b a z", "é b z a", "v w x y", ["a 1 4 - 1/4 0", "b 1 2 - 1/4 0", "z 1 3 - 1/4 0", "é 1 1 - 1/4 0"],
    ),
}  # fmt: skip
"""A measure, the relevant documents, two rankings; and each document that moved: its label, ranks and contributions."""


@pytest.mark.parametrize("case", MOVED)
def test_documents_that_moved_have_what_they_contribute(case: str) -> None:
    measure, relevant, run, other, expected = MOVED[case]
    runs = [{"0": {"x": 1.0}} | ({"1": ranking(each)} if each else {}) for each in (run, other)]
    (found,) = moved_in({"1": dict.fromkeys(relevant.split(), 1)}, *runs, measure)
    for each, text in zip(found.moved, expected, strict=True):
        docid, label, *ranks, mine, others = text.split()
        assert each[:4] == (docid, int(label), *(None if rank == "-" else int(rank) for rank in ranks))
        assert each[4:] == pytest.approx(
            (*map(float, map(Fraction, (mine, others))), float(Fraction(mine) - Fraction(others)))
        )


def test_what_each_document_contributes_to_ndcg() -> None:
    (found,) = moved_in({"1": {"a": 3, "b": 1, "c": 0}}, {"1": ranking("a b c")}, {"1": ranking("c a b")}, "nDCG")
    ideal = 3 / 1 + 1 / math.log2(3)
    assert [each[:4] for each in found.moved] == [("a", 3, 1, 2), ("b", 1, 2, 3)]
    for each, (mine, others) in zip(found.moved, ((3, 3 / math.log2(3)), (1 / math.log2(3), 1 / 2)), strict=True):
        assert each[4:] == pytest.approx((mine / ideal, others / ideal, (mine - others) / ideal), rel=1e-14)


def test_a_document_below_the_depth_has_no_rank() -> None:
    (found,) = moved_in({"1": {"a": 1}}, {"1": ranking("a x y")}, {"1": ranking("x y a")}, "AP", depth=2)
    assert found.moved == (Moved("a", 1, 1, None, 1.0, 0.0, 1.0),)


def test_documents_beyond_the_number_asked_for_are_summed_up() -> None:
    qrels = {"1": {"a": 1, "b": 1, "c": 1, "d": 1}}
    runs = {"1": ranking("a b c d")}, {"1": ranking("w x y z")}
    for count, rest in ((0, 4), (1, 3), (4, 0)):
        (found,) = moved_in(qrels, *runs, "P@4", count=count)
        assert [each.docid for each in found.moved] == list("abcd")[:count]
        assert (found.rest, found.rest_documents) == (rest / 4, rest)


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
    tried = {te.measuring.parse_measures(name)[0].family.sums for name in PARTS}
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


def add_up(qrels: te.Qrels, runs: list[te.Run], measure: str, signature: Signature) -> Iterator[str]:
    """Return where contributions do not add up to the difference of the values."""
    results = [te.evaluate(qrels, run, signature=signature) for run in runs]
    values = dict(zip(results[0].qids, zip(*(each.matrix[:, 0] for each in results), strict=True), strict=True))
    differences = largest_differences(comparison_of(measure, values), measure, 0, 1, count=ALL)
    whole = with_documents(differences, qrels, *runs, signature, count=ALL)
    some = with_documents(differences, qrels, *runs, signature, count=2)
    for each, short in zip(whole, some, strict=True):
        sums = (
            math.fsum(moved.delta for moved in each.moved),
            math.fsum([short.rest, *(moved.delta for moved in short.moved)]),
        )
        added = sums == pytest.approx((each.delta, each.delta), rel=1e-12, abs=1e-12)
        cut = (short.moved, short.rest_documents) == (each.moved[:2], len(each.moved[2:]))
        deltas = all(moved.delta == moved.contribution - moved.other_contribution != 0 for moved in each.moved)
        if not (each.apart and added and cut and deltas and (each.rest, each.rest_documents) == (0.0, 0)):
            yield each.qid


@pytest.mark.parametrize("measure", [*PARTS, "bpref", "nDCG(ties=average)", "num_ret"])
def test_contributions_add_up_and_the_arithmetic_of_a_signature_has_its_value(measure: str) -> None:
    wrong = []
    for seed in range(6):
        qrels, runs, rng = any_runs(seed)
        signature = signed(qrels, runs[0], measure, rng)
        if measure in PARTS:
            wrong += [(seed, qid) for qid in add_up(qrels, runs, measure, signature)]
        results = te.evaluate(qrels, runs[0], signature=signature)
        for row, qid in enumerate(results.qids):
            found = te.explaining.arithmetic(qrels, runs[0], None, qid, signature=signature.long)
            wrong += [] if found.value == results.matrix[row, 0] else [(seed, qid)]
    assert wrong == []


def test_the_arithmetic_of_a_signature_follows_its_depth_and_ties() -> None:
    qrels, run = {"1": {"a": 1, "b": 1, "c": 1}}, {"1": {"a": 1.0, "b": 1.0, "c": 1.0}}
    signature = te.evaluate(qrels, run, "AP", depth=2).signature(0)
    ascending = signature._replace(conventions=signature.conventions._replace(ties="docid-asc"))
    for chosen, expected in ((signature, ["c", "b"]), (ascending, ["a", "b"])):
        found = te.explaining.arithmetic(qrels, run, None, "1", signature=chosen)
        assert [term.docid for term in found.terms] == expected


@pytest.mark.filterwarnings("ignore::treceval_py.errors.MissingQueriesWarning")
def test_the_arithmetic_of_a_query_that_a_signature_leaves_out_of_the_mean() -> None:
    qrels, run = {"1": {"a": 1}, "2": {"b": 0}, "3": {"c": 1}}, {"1": {"a": 1.0}, "2": {"b": 1.0}}
    signature = te.evaluate(qrels, run, "AP").signature(0)
    signature = signature._replace(conventions=signature.conventions._replace(missing="out", unrelevant="out"))
    assert te.evaluate(qrels, run, signature=signature).qids == ("1",)
    assert [te.explaining.arithmetic(qrels, run, None, qid, signature=signature).value for qid in qrels] == [
        1.0,
        0.0,
        0.0,
    ]


# --- refusals ---


def test_what_was_not_compared_is_refused(snapshot: SnapshotAssertion) -> None:
    qrels, run = {"1": {"a": 1}}, {"1": {"a": 1.0}}
    signature = te.evaluate(qrels, run, "AP").signature(0)
    one, two = te.Qrels(qrels), te.Qrels({"1": {"a": 2}})
    other = [QueryDifference("1", 1.0, 0.25, 0.75)]
    cases: dict[str, Callable[[], object]] = {
        "other judgments": lambda: with_documents([], two, te.Run(run), te.Run(run), signature),
        "another run": lambda: with_documents(other, one, te.Run(run), te.Run({"1": ranking("x a")}), signature),
        "nothing to explain": lambda: te.explaining.arithmetic(qrels, run, None, "1"),
        "a measure": lambda: te.explaining.arithmetic(qrels, run, "AP", "1", signature=signature),
        "a level": lambda: te.explaining.arithmetic(qrels, run, None, "1", signature=signature, level=2),
        "a profile": lambda: te.explaining.arithmetic(qrels, run, None, "1", signature=signature, profile="ranx"),
    }
    said = {}
    for case, call in cases.items():
        with pytest.raises(te.errors.TrecevalError) as caught:
            call()
        said[case] = f"{type(caught.value).__name__}: {caught.value}"
    assert said == snapshot


@pytest.mark.parametrize(("apart", "refused"), [(0.9e-9, False), (1.1e-9, True)])
def test_a_value_may_differ_by_rounding_from_the_one_that_was_compared(apart: float, refused: bool) -> None:
    qrels, run = te.Qrels({"1": {"a": 1}}), te.Run({"1": {"a": 1.0}})
    signature = te.evaluate(qrels, run, "AP").signature(0)
    with pytest.raises(EvaluationError) if refused else nullcontext():
        with_documents([QueryDifference("1", 1.0, 1.0 - apart, apart)], qrels, run, run, signature)


# --- texts of queries ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1\thow long\tis it\r\n\n2\t é \n", {"1": "how long\tis it", "2": " é "}),
        (
            '{"_id": "1", "text": "how long", "metadata": {}}\n{"_id": "2", "text": ""}\n',
            {"1": "how long", "2": ""},
        ),
        ('\ufeff{"_id": "1", "text": "how long"}\n', {"1": "how long"}),
    ],
)
def test_the_texts_of_queries_are_read_plain_and_compressed(
    text: str, expected: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "queries").write_bytes(text.encode())
    (tmp_path / "queries.gz").write_bytes(gzip.compress(text.encode()))
    assert read_query_texts(str(tmp_path / "queries")) == expected
    assert read_query_texts(str(tmp_path / "queries.gz")) == expected


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("1\thow\n2 long\n", "2:"),
        ("1\thow\n\n1\tlong\n", "3:"),
        ('{"_id": "1", "text": "how"}\n{"_id": "2"}\n', "2:"),
        ('{"_id": "1", "text": "how"\n', "1:"),
        (None, ""),
    ],
)
def test_a_malformed_line_of_queries_is_refused_by_its_number(
    text: str | None, line: str, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    path = tmp_path / "queries"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_query_texts(str(path))
    assert str(caught.value).startswith(f"{path}:{line}")
    assert str(caught.value).removeprefix(str(path)) == snapshot


# --- as text ---

FOUND = [
    QueryDifference(
        "301", 0.75, 0.25, 0.5,
        (Moved("a", 2, 3, 12, 0.5, 0.0, 0.5), Moved("long-id", None, None, 1, 0.0, 0.125, -0.125)),
        True, 0.125, 4,
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


@pytest.mark.parametrize("format", ["table", "json", "markdown", "html", "latex", "csv"])
def test_queries_in_every_format(format: str, snapshot: SnapshotAssertion) -> None:
    hostile = QueryDifference("#1", 1.0, 1 / 3, 2 / 3, (Moved("<a>|_b_", 1, 1, 2, 1.0, 0.5, 0.5),), True)
    text = text_of([*FOUND, hostile], format, texts={"301": "how *long* | far", "#1": "<b> & *x*"})
    assert re.sub(rf'<style>.*?</style>\n|"treceval_py": "{te.__version__}",', "", text, flags=re.DOTALL) == snapshot


def test_a_table_without_documents_has_a_line_a_query() -> None:
    assert text_of([QueryDifference("1", 0.75, 0.5, 0.25)], digits=2) == (
        "AP, old → new: the query that differs most\n\n1  0.50 → 0.75  +0.25\n"
    )
    assert text_of([]) == "AP, old → new: no query differs\n"
    (record,) = records(Pair([QueryDifference("1", 0.75, 0.5, 0.25)], "AP", "new", "old"), {})
    assert (record["query"], record["delta"], record["docid"], record["documents"]) == ("1", 0.25, None, 0)


def test_a_long_text_is_cut_to_the_width_of_a_terminal() -> None:
    for text in ("word " * 40, "語" * 80):
        (line,) = text_of([QueryDifference("1", 0.75, 0.5, 0.25)], texts={"1": text}).splitlines()[2:]
        width = sum(2 if letter == "語" else 1 for letter in line)
        assert line.endswith("…")
        assert 98 <= width <= 100


def test_control_characters_of_ids_and_texts_are_made_visible() -> None:
    moved = (Moved("d\x1b[2J", 1, 1, 2, 1.0, 0.5, 0.5),)
    found, texts = [QueryDifference("q\x07", 1.0, 0.5, 0.5, moved, True)], {"q\x07": "bell\x1b]0;x\x07"}
    for name in ("table", "markdown", "latex", "html"):
        style = Style()
        text = render(document_of([Pair(found, "AP", "new\x1b", "old")], texts, Made(), style), name, style)
        assert all(letter.isprintable() or letter == "\n" for letter in text), name


def test_styles_are_used_only_where_they_may_be() -> None:
    assert "\n\x1b[1m301  0.2500 → 0.7500  +0.5000\x1b[0m\n" in text_of(colour=True)
    assert "\x1b" not in text_of()


def test_programs_get_fewer_digits_only_when_they_are_asked_for() -> None:
    found = [QueryDifference("1", 1.0, 1 / 3, 2 / 3)]
    assert json_of(found)[0]["delta"] == 2 / 3
    assert json_of(found, digits=2)[0]["delta"] == 0.67
    assert ",1.00,0.33,0.67," in text_of(found, "csv", digits=2)


def test_bytes_that_are_not_utf_8_are_shown_in_json() -> None:
    found = [QueryDifference("\udce9", 1.0, 0.5, 0.5)]
    assert json_of(found)[0]["query"] == "\\xe9"


LATEX = ["\\documentclass{article}", "\\usepackage{booktabs}", "\\usepackage[T1]{fontenc}", "\\begin{document}"]


def compiled(folder: Path, *tables: str) -> str:
    """Compile tables and return what LaTeX says."""
    (folder / "page.tex").write_text("\n".join([*LATEX, *tables, "\\end{document}"]), "utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_queries_and_agreement_in_any_script_compile_as_latex(tmp_path: Path) -> None:
    odd = (Moved("[a]_1 & 100%", 1, 1, None, 1.0, 0.5, 0.5), Moved("*b", None, 2, 3, math.nan, math.nan, math.nan))
    found = [*FOUND, QueryDifference("#1", 1.0, 0.5, 0.5, odd, True, "how ~ $5 \\ x^2 {is} it\x07", 0.25, 1)]
    moved = (Moved("文-1", 1, 1, None, 1.0, 0.5, 0.5),)
    other = [QueryDifference("查询", 1.0, 0.5, 0.5, moved, True, "复利是如何计算的复利是如何计算的复利 שלום 😀")]
    comparison = replace(comparison_of("AP", {"1": (0.5, 0.25)}), runs=("模型", "bm25 & 100 %"))
    runs = [te.Run({"1": ranking("a b c")}), te.Run({"1": ranking("b a c")})]
    style = Style()
    tables = [
        text_of(found, "latex"),
        render(document_of([Pair(other, "AP", "模型", "bm25")], {}, Made(), style), "latex", style),
        agreement_text(comparison, runs, 100, "latex", style),
    ]
    assert r"\quad \textless{}U+6587\textgreater{}-1 & 1 & -- $\to$ 1 &" in tables[1]
    assert r"\textless{}U+6A21\textgreater{}\textless{}U+578B\textgreater{} & bm25 \& 100 \% & 0.3333" in tables[2]
    assert "Overfull" not in compiled(tmp_path, *tables[:2])
    compiled(tmp_path, tables[2])


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
