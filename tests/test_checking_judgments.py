"""Judgments as a whole: what each check finds, at which line and column, in which words."""

from __future__ import annotations

import io
import random

import numpy as np
import pytest
from findings import brief, briefs, words
from shared import SHARED, needs_shared
from syrupy.assertion import SnapshotAssertion

from treceval_py.checking.findings import Collector
from treceval_py.checking.judgments import JudgmentChecks, tell_labels
from treceval_py.checking.queries import Shape
from treceval_py.checking.repetitions import Repetitions
from treceval_py.checking.rows import QueryLines
from treceval_py.checking.scattered import grouped
from treceval_py.data.qrels import Qrels
from treceval_py.diagnosis.columns import KINDS
from treceval_py.io.rows import read_part
from treceval_py.io.source import numbered


def rows_of(text: bytes, first: int = 1) -> QueryLines:
    """Return lines of judgments, of which none is wrong, as columns."""
    part, error = read_part(text, first, KINDS["qrels"].layout, "qrels")
    assert part is not None
    assert error is None
    qids = [part.qids[number] for number in part.queries.tolist()]
    at = np.asarray(part.lines) - first
    return QueryLines(qids, part.starts, part.docids, None, None, part.rels, part.lines, text, at)


def checked(
    *chunks: str | bytes, kind: str = "qrels", scale: tuple[int, int] | None = None, most: int = 100
) -> tuple[Collector, Shape]:
    """Check judgments that come in chunks."""
    collector = Collector("qrels", most=most)
    checks, line = JudgmentChecks(KINDS[kind], collector, scale=scale), 1
    for chunk in chunks:
        text = chunk.encode() if isinstance(chunk, str) else chunk
        checks.take(rows_of(text, line))
        line += text.count(b"\n")
    shape = checks.finish()
    if shape.scattered:
        whole = b"".join(chunk.encode() if isinstance(chunk, str) else chunk for chunk in chunks)
        repetitions = Repetitions(KINDS[kind], collector)
        for rows in grouped(lambda: io.BytesIO(whole), KINDS[kind], size=50):
            repetitions.take(rows)
        repetitions.finish()
    return collector, shape


def labels(*rels: int) -> str:
    """Return judgments of as many documents of one query with these labels, over and over."""
    return "".join(f"1 0 d{place} {rel}\n" for place, rel in enumerate(rels))


ONES = labels(*[1] * 100)
HIGHER = [1, 2, 3, 4] * 60
SCATTERED = "1 0 a 1\n2 0 a 1\n1 0 a 1\n2 0 b 1\n"
DAMAGED = "\x1b[2J" + "x" * 500

CASES: dict[str, tuple[str | tuple[str, ...], str]] = {
    "clean": ("1 0 a 1\n1 0 b 0\n2 0 a 2\n", ""),
    # documents
    "the same line twice": ("1 0 a 1\n1 0 b 0\n1 0 a 1\n", "3:5 Q310"),
    "the same line in another piece": (("1 0 a 1\n1 0 b 0\n", "1 0 a 1\n"), "3:5 Q310"),
    "a document of another query": ("1 0 a 1\n2 0 a 1\n", ""),
    "each further line of a document": ("1 0 a 1\n1 0 a 1\n1 0 a 0\n", "2:5 Q310, 3:7 Q311"),
    "two labels": ("1\t0\tdoc-ä\t2\n1\t0\tdoc-ä\t0\n", "2:11 Q311"),
    "a damaged id": (f"1 0 {DAMAGED} 1\n" * 2, "2:5 Q310"),
    "a document twice in a scattered query": (SCATTERED, "3 Q315, 3:5 Q310"),
    "groups": ("1 0 a 1\n1 0 b 0\n1 1 a 0\n1 1 b 0\n", "3:3 Q317"),
    "twice in a group": (("1 0 a 1\n1 1 a 0\n", "1 1 a 0\n"), "2:3 Q317, 3:5 Q310"),
    "a second column that differs between documents": ("1 0 a 1\n1 7 b 0\n", ""),
    "a second column that is the same in another layout": (" 1\tQ0  a 1\n1 Q0 a\t1\n", "2:6 Q310"),
    # In the second reading the parts of the queries may come in another order than the lines.
    "groups of scattered queries": (
        tuple(f"{qid} {group} a 1\n" for group in "01" for qid in "54321"),
        "6 Q315, 6:3 Q317",
    ),
    # queries
    "a query that goes on in the next piece": (("1 0 a 1\n", "1 0 b 1\n2 0 a 1\n"), ""),
    "interleaved queries": (("1 0 a 1\n2 0 a 1\n", "3 0 a 1\n1 0 b 1\n1 0 c 1\n3 0 b 0\n"), "4 Q315"),
    "no relevant document": (("1 0 a 1\n2 0 a 0\n2 0 b 0\n", "3 0 a 0\n"), "2 Q314"),
    "one query without relevant document": ("1 0 a 1\n2 0 a 0\n", "2 Q314"),
    "a relevant document further down": ("2 0 a 0\n2 0 b 1\n", ""),
    "a relevant document in the next part of the query": (("2 0 a 0\n1 0 a 1\n", "2 0 b 1\n"), "3 Q315"),
    "ids that differ in punctuation": (("37.1 0 a 1\n37.2 0 a 1\n", " 37_1 0 a 1\n"), "3:2 Q316"),
    "ids that differ in zeros": (("37.1 0 a 1\n37.2 0 a 1\n", " 37.01 0 a 1\n"), "3:2 Q316"),
    "ids that differ in case": ("Q1 0 a 1\nq1 0 a 1\n", "2:1 Q316"),
    # labels
    "labels of -2": ("1 0 a 3\n1 0 b -1\n1 0 c -2\n", "2 Q313"),
    "a label of -3": ("1 0 a 1\n1 0 b -3\n", "2 Q313, 2:7 Q312"),
    "negative labels": (("1 0 a 1\n1 0 b -1\n", "1 0 c -2\n1 0 d 0\n"), "2 Q313"),
    "a label of 22 among 0 to 3": (labels(*[0, 1, 2, 3] * 75, 0, 22, *[0, 1, 2, 3] * 25), "302:10 Q312"),
    "two labels above all others": (
        labels(*[0, 1, 2] * 100, 11, 0, 11, 0, 200, *[0, 1, 2] * 200),
        "301:10 Q312, 305:10 Q312",
    ),
    "1 of 101 labels": (ONES + "1 0 x 22\n", "101:7 Q312"),  # 0.99 % of the positive ones
    "1 of 100 labels": (ONES[8:] + "1 0 x 22\n", ""),
    "1 of 100 labels, and as many zeros": ((labels(*[0] * 99).replace("d", "e"), ONES[8:] + "1 0 x 22\n"), ""),
    "a label of 10 among ones": (ONES + "1 0 x 10\n", "101:7 Q312"),
    "a label of 9 among ones": (ONES + "1 0 x 9\n", ""),
    "a label of 10 among 1 to 5": (labels(*[1, 5] * 100, 10), ""),  # twice the highest
    "a label of 11 among 1 to 5": (labels(*[1, 5] * 100, 11), "201:10 Q312"),
    "a label of 22 in two pieces": ((labels(*[1] * 200, 22), "1 0 y 22\n"), "201:10 Q312"),
    "labels up to 100": (labels(*range(101), *range(101)), ""),
    "labels of 0 and 100": (labels(*[0, 100] * 250), ""),
    "labels of 0, 1 and 30": (labels(*[0, 1, 30] * 150), ""),
    "labels of 0, 5 and 10": (labels(*[0, 5, 10] * 150), ""),
    "labels of 0, 10, 20 and 40": (labels(*[0, 10, 20, 40] * 120), ""),
}
SCALES: dict[str, tuple[tuple[int, int], str, str]] = {
    "4 on 0 to 3": ((0, 3), "1 0 a 3\n1 0 b 4\n", "2:7 Q312"),
    "22 on 0 to 3": ((0, 3), "1 0 a 3\n1 0 b 22\n", "2:7 Q312"),
    "0 on 1 to 3": ((1, 3), "1 0 a 3\n1 0 b 0\n1 0 c 1\n", "2:7 Q312"),
    "marks of what is not judged": ((0, 3), "1 0 a 3\n1 0 b -1\n1 0 c -2\n", "2 Q313"),
    "-3 on 0 to 3": ((0, 3), "1 0 a 3\n1 0 b -3\n", "2 Q313, 2:7 Q312"),
    "-5 and -6 on -5 to 3": ((-5, 3), "1 0 a 3\n1 0 b -5\n1 0 c -6\n", "2 Q313, 3:7 Q312"),
    "an outlier within the scale": ((0, 22), ONES + "1 0 x 22\n", ""),
}


def test_judgments_give_what_is_true_of_them(snapshot: SnapshotAssertion) -> None:
    found = {
        name: checked(*((texts,) if isinstance(texts, str) else texts))[0].sorted()
        for name, (texts, _) in CASES.items()
    }
    found |= {name: checked(text, scale=scale)[0].sorted() for name, (scale, text, _) in SCALES.items()}
    assert briefs(found) == {name: case[-1] for name, case in {**CASES, **SCALES}.items()}
    assert words(found) == snapshot


def test_a_judged_ranking_may_find_nothing_relevant_but_no_document_twice() -> None:
    assert brief(checked("1 Q0 a 0\n", kind="judged-ranking")[0].sorted()) == ""
    assert brief(checked("1 Q0 a 0\n1 Q0 a 0\n", kind="judged-ranking")[0].sorted()) == "2:6 Q310"


@pytest.mark.parametrize(("large", "told"), [(200, 200), (201, 0)])
def test_a_file_with_more_than_200_large_labels_has_another_scale(large: int, told: int) -> None:
    # 201 of 20,101 positive labels are 1.0 %, and 200 less.
    text = labels(*[1] * 20_001, *range(1000, 1000 + large))
    assert checked(text)[0].counts["Q312"] == told


def test_the_shape_has_queries_with_their_first_lines_and_counts() -> None:
    shape = checked("# judged\n1 0 a 1\n1 0 b 0\n", "2 0 a 2\n")[1]
    assert shape == Shape({b"1": 2, b"2": 4}, {b"1": 2, b"2": 1}, 3, tied=0, contradicted=0, scattered=False)
    scattered = checked(SCATTERED)[1]
    assert scattered == Shape({b"1": 1, b"2": 2}, {b"1": 2, b"2": 2}, 4, tied=0, contradicted=0, scattered=True)


def test_findings_beyond_those_that_are_kept_are_counted() -> None:
    collector = checked("1 0 a 1\n" * 5, "1 0 a 0\n" * 3, "1 1 a 0\n", most=1)[0]
    assert (brief(collector.sorted()), collector.counts) == (
        "2:5 Q310, 6:7 Q311, 9:3 Q317",
        {"Q310": 4, "Q311": 3, "Q317": 1},
    )
    many = checked("".join(f"{'0' * n}1 0 a -9\n" for n in range(4)), most=1)[0]
    assert many.counts == {"Q316": 3, "Q312": 4, "Q313": 1, "Q314": 1}
    assert brief(many.sorted()) == "1 Q313, 1 Q314, 1:7 Q312, 2:1 Q316"


def test_documents_are_left_to_a_second_reading_where_lines_are_not_together() -> None:
    collector = Collector("qrels")
    checks = JudgmentChecks(KINDS["qrels"], collector)
    for line, text in ((1, b"1 0 a 1\n1 0 a 1\n"), (3, b"2 0 a 1\n1 0 a 0\n")):
        checks.take(rows_of(text, line))
    assert checks.finish().scattered
    assert collector.counts == {"Q315": 1}


def test_repeated_documents_are_the_same_however_lines_are_cut_into_chunks() -> None:
    for seed in range(20):
        draw = random.Random(seed)
        lines = [f"{draw.randint(1, 3)} 0 d{draw.randint(1, 6)} {draw.randint(0, 1)}\n" for _ in range(20)]
        first: dict[tuple[str, str], tuple[str, int]] = {}
        expected = []
        for line, (qid, _, docid, rel) in enumerate(map(str.split, lines), 1):
            label, at = first.setdefault((qid, docid), (rel, line))
            if at != line:
                expected.append((line, "Q310" if label == rel else "Q311"))
        cuts = sorted(draw.sample(range(1, 20), 4))
        chunks = ["".join(lines[a:b]) for a, b in zip([0, *cuts], [*cuts, 20], strict=True)]
        for parts in (["".join(lines)], chunks):
            found = checked(*parts)[0].sorted()
            assert [(each.line, each.code) for each in found if each.code in ("Q310", "Q311")] == expected, seed


TABLES: dict[str, tuple[dict[str, dict[str, int]], tuple[int, int] | None]] = {
    "several outside the scale": ({"1": {"a": 3, "b": 4}, "2": {"c": 9, "d": -1}}, (0, 3)),
    "a single one below all": ({"1": {"a": 3}, "2": {"c": -3}}, None),
    "a single judgment": ({"1": {"a": 4}}, (0, 3)),
    "within the scale": ({"1": {"a": 3, "b": -2}}, (0, 3)),
}


def test_labels_of_judgments_without_lines_are_reported_once_with_the_first(snapshot: SnapshotAssertion) -> None:
    found = {}
    for name, (judgments, scale) in TABLES.items():
        collector = Collector("qrels")
        tell_labels(Qrels(judgments), collector, scale)
        found[name] = collector.sorted()
    assert briefs(found) == {**dict.fromkeys(TABLES, "Q312"), "within the scale": ""}
    assert words(found) == snapshot


REAL = {
    "robust03/qrels.txt.gz": "",
    "msmarco/qrels.dl19-passage.txt": "",
    "msmarco/qrels.msmarco-passage.dev-subset.txt": "",
    "msmarco-sample/qrels.tsv": "",
    "trec_eval-test/qrels.test": "",
    "trec_eval-test/qrels.test.with-comments": "",
    "trec_eval-test/qrels-302.test": "",
    # 304 lines end in -1, the first on line 2,770: awk '$4 < 0 {print FNR}'.
    "trec_eval-test/qrels.rel_level": "2770 Q313",
    # awk '{k = $1 " " $3; if (k in g) {if (g[k] != $2) n++} else g[k] = $2} END {print n}' prints 6629.
    "trec_eval-test/qrels.123": "2770 Q313, 3682 Q315, 3682:5 Q317",
}


@pytest.mark.slow
@needs_shared
def test_real_judgments_give_what_is_true_of_them(snapshot: SnapshotAssertion) -> None:
    found = {path: checked(*(bytes(text) for _, text in numbered(str(SHARED / path))))[0].sorted() for path in REAL}
    assert briefs(found) == REAL
    assert "304 of 3,681 labels" in str(found["trec_eval-test/qrels.rel_level"][0])
    assert "6,629 lines are like this" in str(found["trec_eval-test/qrels.123"][2])
    assert words(found) == snapshot
