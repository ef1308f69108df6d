"""Judgments as a whole: what each check finds, at which line and column, in which words."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from treceval_py.checking.catalogue.judgments import CODES
from treceval_py.checking.findings import Collector
from treceval_py.checking.judgments import JudgmentChecks, tell_labels
from treceval_py.checking.queries import Shape
from treceval_py.checking.repetitions import Repetitions
from treceval_py.checking.rows import KINDS, Rows
from treceval_py.checking.scattered import grouped
from treceval_py.data.qrels import Qrels
from treceval_py.io.rows import read_part
from treceval_py.io.source import numbered

SHARED = Path(__file__).parents[1] / ".." / "shared" / "data"


def rows_of(text: bytes, first: int = 1) -> Rows:
    """Return lines of judgments, of which none is wrong, as columns."""
    part, error = read_part(text, first, KINDS["qrels"].layout, "qrels")
    assert part is not None
    assert error is None
    qids = [part.qids[number] for number in part.queries.tolist()]
    at = np.asarray(part.lines) - first
    return Rows(qids, part.starts, part.docids, None, None, part.rels, part.lines, text, at)


def checked(
    *chunks: str | bytes, kind: str = "qrels", scale: tuple[int, int] | None = None, most: int = 100
) -> tuple[list[str], Shape, Collector]:
    """Check judgments that come in chunks, and return what is printed of each finding."""
    collector = Collector("qrels", {code.code: code for code in CODES}, most=most)
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
    return [str(finding) for finding in collector.sorted()], shape, collector


def findings(*chunks: str | bytes, kind: str = "qrels", scale: tuple[int, int] | None = None) -> list[str]:
    return checked(*chunks, kind=kind, scale=scale)[0]


def test_clean_judgments_give_nothing() -> None:
    assert findings("1 0 a 1\n1 0 b 0\n2 0 a 2\n") == []


def test_the_shape_has_queries_with_their_first_lines_and_counts() -> None:
    shape = checked("# judged\n1 0 a 1\n1 0 b 0\n", "2 0 a 2\n")[1]
    assert shape.first_line == {b"1": 2, b"2": 4}
    assert shape.counts == {b"1": 2, b"2": 1}
    assert (shape.documents, shape.tied, shape.contradicted, shape.scattered) == (3, 0, 0, False)


DUPLICATE = (
    "qrels:3:5: error Q310: document 'a' of query '1' is listed twice with label 1 (first on line 1). "
    "Delete one of the two lines."
)


def test_the_same_line_twice_is_told_at_the_document() -> None:
    assert findings("1 0 a 1\n1 0 b 0\n1 0 a 1\n") == [DUPLICATE]


def test_duplicates_are_found_across_chunks() -> None:
    assert findings("1 0 a 1\n1 0 b 0\n", "1 0 a 1\n") == [DUPLICATE]


def test_a_document_of_another_query_is_no_duplicate() -> None:
    assert findings("1 0 a 1\n2 0 a 1\n") == []


def test_each_further_line_of_a_document_is_compared_with_its_first() -> None:
    assert findings("1 0 a 1\n1 0 a 1\n1 0 a 0\n") == [
        (
            "qrels:2:5: error Q310: document 'a' of query '1' is listed twice with label 1 (first on line 1). "
            "Delete one of the two lines."
        ),
        (
            "qrels:3:7: error Q311: document 'a' of query '1' has label 0 here and 1 on line 1. Find "
            "out which label is right, and delete the other line."
        ),
    ]


def test_two_labels_of_a_document_are_told_at_the_second_label() -> None:
    assert findings("1\t0\tdoc-ä\t2\n1\t0\tdoc-ä\t0\n") == [
        (
            "qrels:2:11: error Q311: document 'doc-ä' of query '1' has label 0 here and 2 on line 1. Find "
            "out which label is right, and delete the other line."
        )
    ]


def test_duplicates_beyond_those_that_are_kept_are_counted() -> None:
    kept, _, collector = checked("1 0 a 1\n" * 5, most=1)
    assert len(kept) == 1
    assert collector.counts == {"Q310": 4}


def test_a_duplicate_in_a_query_whose_lines_do_not_stand_together_is_found() -> None:
    found, shape, _ = checked("1 0 a 1\n2 0 a 1\n1 0 a 1\n2 0 b 1\n")
    assert found == [
        (
            "qrels:3: note Q315: the lines of 2 of 2 queries are not together; query '1', which began on line "
            "1, continues here. Sort the lines by query, with a stable sort; some programs lose lines "
            "otherwise."
        ),
        DUPLICATE,
    ]
    assert shape.scattered
    assert shape.counts == {b"1": 2, b"2": 2}


def test_what_is_told_of_documents_is_left_to_a_second_reading_where_lines_do_not_stand_together() -> None:
    collector = Collector("qrels", {code.code: code for code in CODES})
    checks = JudgmentChecks(KINDS["qrels"], collector)
    for line, text in ((1, b"1 0 a 1\n1 0 a 1\n"), (3, b"2 0 a 1\n1 0 a 0\n")):
        checks.take(rows_of(text, line))
    assert checks.finish().scattered
    assert collector.counts == {"Q315": 1}


def test_of_documents_no_more_than_those_of_the_last_query_are_held() -> None:
    checks = Repetitions(KINDS["qrels"], Collector("qrels", {code.code: code for code in CODES}))
    for number in range(1, 4):
        checks.take(rows_of(b"%d 0 a 1\n" % number, number))
    assert [stretch.docids.raw() for stretch in checks._stretches] == [[b"a"]]


def test_the_first_line_of_a_group_is_told_in_whatever_order_queries_are_read() -> None:
    # In the second reading the parts of the queries may come in another order than the lines.
    (found,) = [
        each for each in findings(*(f"{qid} {group} a 1\n" for group in "01" for qid in "54321")) if "Q317" in each
    ]
    assert found.startswith(
        "qrels:6:3: warning Q317: document 'a' of query '5' has a judgment of group '1' here, and one"
    )
    assert "5 lines are like this" in found


def test_a_query_that_goes_on_in_the_next_chunk_stands_together() -> None:
    found, shape, _ = checked("1 0 a 1\n", "1 0 b 1\n2 0 a 1\n")
    assert found == []
    assert not shape.scattered


def test_interleaved_queries_are_told_once() -> None:
    assert findings("1 0 a 1\n2 0 a 1\n", "3 0 a 1\n1 0 b 1\n1 0 c 1\n3 0 b 0\n") == [
        (
            "qrels:4: note Q315: the lines of 2 of 3 queries are not together; query '1', which began on line "
            "1, continues here. Sort the lines by query, with a stable sort; some programs lose lines "
            "otherwise."
        )
    ]


@pytest.mark.parametrize("seed", range(20))
def test_repeated_documents_are_the_same_however_lines_are_cut_into_chunks(seed: int) -> None:
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
        found = checked(*parts)[2].sorted()
        assert [(each.line, each.code) for each in found if each.code in ("Q310", "Q311")] == expected


@pytest.mark.parametrize(("rel", "column"), [(4, 7), (22, 7)])
def test_a_label_above_the_scale_is_told_where_it_stands(rel: int, column: int) -> None:
    assert findings(f"1 0 a 3\n1 0 b {rel}\n", scale=(0, 3)) == [
        f"qrels:2:{column}: warning Q312: label {rel} is outside the scale from 0 to 3. Correct the label, or the scale."
    ]


def test_a_label_below_the_scale_is_told() -> None:
    assert findings("1 0 a 3\n1 0 b 0\n", scale=(1, 3)) == [
        "qrels:2:7: warning Q312: label 0 is outside the scale from 1 to 3. Correct the label, or the scale."
    ]


def test_labels_that_mark_what_is_not_judged_are_within_every_scale() -> None:
    assert [found[:19] for found in findings("1 0 a 3\n1 0 b -1\n1 0 c -2\n", scale=(0, 3))] == ["qrels:2: note Q313:"]


def told_of_table(judgments: dict[str, dict[str, int]], scale: tuple[int, int] | None) -> list[str]:
    collector = Collector("qrels", {code.code: code for code in CODES})
    tell_labels(Qrels(judgments), collector, scale)
    return [str(finding) for finding in collector.sorted()]


def test_labels_of_judgments_without_lines_are_told_once_with_the_first_outside_the_scale() -> None:
    assert told_of_table({"1": {"a": 3, "b": 4}, "2": {"c": 9, "d": -1}}, (0, 3)) == [
        (
            "qrels: warning Q312: 2 of 4 labels are outside the scale from 0 to 3: the first is 4 of document 'b' of query "
            "'1'. Correct the label, or the scale."
        )
    ]


def test_a_single_label_of_judgments_without_lines_is_named() -> None:
    assert told_of_table({"1": {"a": 3}, "2": {"c": -3}}, None) == [
        (
            "qrels: warning Q312: 1 of 2 labels is below -2, the lowest label in use: -3 of document 'c' of "
            "query '2'. If it is intended, give --scale."
        )
    ]


def test_labels_of_judgments_without_lines_that_are_within_the_scale_give_nothing() -> None:
    assert told_of_table({"1": {"a": 3, "b": -2}}, (0, 3)) == []


def test_without_a_scale_a_label_below_minus_two_is_told() -> None:
    assert findings("1 0 a 1\n1 0 b -3\n")[1] == (
        "qrels:2:7: warning Q312: label -3 is below -2, the lowest label in use. If it is intended, give --scale."
    )


def test_without_a_scale_a_label_that_stands_out_is_told_where_it_first_stands() -> None:
    lines = [f"1 0 d{number} {number % 4}\n" for number in range(400)]
    lines[301] = "1 0 d301 22\n"
    assert findings("".join(lines)) == [
        (
            "qrels:302:10: warning Q312: label 22 occurs once, while nearly all labels are at most 3. "
            "Correct it; if it is intended, give --scale."
        )
    ]


def test_all_labels_that_stand_out_are_told_with_their_number() -> None:
    lines = [f"1 0 d{number} {number % 3}\n" for number in range(900)]
    lines[300] = "1 0 x 11\n"
    lines[310] = "1 0 y 11\n"
    lines[320] = "1 0 z 200\n"
    assert findings("".join(lines)) == [
        (
            "qrels:301:7: warning Q312: label 11 occurs 2 times, first here, while nearly all labels are at "
            "most 2. Correct it; if it is intended, give --scale."
        ),
        (
            "qrels:321:7: warning Q312: label 200 occurs once, while nearly all labels are at most 2. "
            "Correct it; if it is intended, give --scale."
        ),
    ]


@pytest.mark.parametrize("labels", [range(101), [0, 100], [0, 1, 30], [0, 5, 10], [0, 10, 20, 40]])
def test_a_scale_with_large_labels_gives_nothing(labels: list[int]) -> None:
    assert findings("".join(f"1 0 d{place} {labels[place % len(labels)]}\n" for place in range(500))) == []


def test_negative_labels_are_told_once_with_the_first_line() -> None:
    assert findings("1 0 a 1\n1 0 b -1\n", "1 0 c -2\n1 0 d 0\n") == [
        (
            "qrels:2: note Q313: 2 of 4 labels are negative, the lowest -2; the first is here. "
            "trec_eval treats such documents as not judged; if they are not relevant, write 0."
        )
    ]


def test_queries_without_a_relevant_document_are_told_once_with_the_first() -> None:
    assert findings("1 0 a 1\n2 0 a 0\n2 0 b 0\n", "3 0 a 0\n") == [
        (
            "qrels:2: note Q314: 2 of 3 queries have no relevant document; the first is '2'. "
            "trec_eval counts 0 for such a query; some programs leave it out of the mean."
        )
    ]


def test_a_query_with_a_relevant_document_further_down_is_not_told() -> None:
    assert [each for each in findings("2 0 a 0\n1 0 a 1\n", "2 0 b 1\n") if "Q314" in each] == []


def test_a_judged_ranking_that_finds_nothing_relevant_is_no_fault() -> None:
    assert findings("1 Q0 a 0\n", kind="judged-ranking") == []


def test_a_judged_ranking_with_a_document_twice_is_told() -> None:
    assert findings("1 Q0 a 0\n1 Q0 a 0\n", kind="judged-ranking") == [
        (
            "qrels:2:6: error Q310: document 'a' of query '1' is listed twice with label 0 (first on line 1). "
            "Delete one of the two lines."
        )
    ]


@pytest.mark.parametrize(
    ("qid", "what"), [("37_1", "punctuation"), ("37.01", "leading zeros"), ("37:1", "punctuation")]
)
def test_query_ids_that_look_alike_are_told_at_the_second(qid: str, what: str) -> None:
    assert findings("37.1 0 a 1\n37.2 0 a 1\n", f" {qid} 0 a 1\n") == [
        (
            f"qrels:3:2: warning Q316: query '{qid}' looks like query '37.1' of line 1: they differ only in {what}. "
            "If they are one query, write its id in one way; if they are two, ignore this."
        )
    ]


def test_query_ids_that_differ_only_in_case_look_alike() -> None:
    assert findings("Q1 0 a 1\nq1 0 a 1\n") == [
        (
            "qrels:2:1: warning Q316: query 'q1' looks like query 'Q1' of line 1: they differ only in the case "
            "of letters. If they are one query, write its id in one way; if they are two, ignore this."
        )
    ]


def test_judgments_of_groups_are_told_once_and_are_no_duplicates() -> None:
    assert findings("1 0 a 1\n1 0 b 0\n1 1 a 0\n1 1 b 0\n") == [
        (
            "qrels:3:3: warning Q317: document 'a' of query '1' has a judgment of group '1' here, and one of "
            "'0' on line 1; 2 lines are like this. Read judgments of groups or subtopics with -R qrels_jg; otherwise keep "
            "one group."
        )
    ]


def test_a_duplicate_within_a_group_is_told() -> None:
    assert [found[:16] for found in findings("1 0 a 1\n1 1 a 0\n", "1 1 a 0\n")] == [
        "qrels:2:3: warni",
        "qrels:3:5: error",
    ]


def test_a_second_column_that_differs_between_documents_says_nothing() -> None:
    assert findings("1 0 a 1\n1 7 b 0\n") == []


def test_a_second_column_that_is_the_same_everywhere_is_seen_as_such_in_any_layout() -> None:
    assert findings(" 1\tQ0  a 1\n1 Q0 a\t1\n") == [
        (
            "qrels:2:6: error Q310: document 'a' of query '1' is listed twice with label 1 (first on line 1). "
            "Delete one of the two lines."
        )
    ]


def test_ids_that_are_damage_are_shown_short_and_without_control_characters() -> None:
    docid = b"\x1b[2J" + b"x" * 500
    (found,) = findings(b"1 0 " + docid + b" 1\n1 0 " + docid + b" 1\n")
    assert found.startswith("qrels:2:5: error Q310: document '\\x1b[2Jxxx")
    assert len(found) < 250


def shared(path: str) -> Iterator[bytes]:
    """Yield real judgments in chunks, as they are read."""
    if not (SHARED / path).exists():
        pytest.skip(f"no {path} beside the project")
    for _, text in numbered(str(SHARED / path)):
        yield bytes(text)


@pytest.mark.parametrize(
    "path",
    [
        "robust03/qrels.txt.gz",
        "msmarco/qrels.dl19-passage.txt",
        "msmarco/qrels.dl20-passage.txt",
        "msmarco/qrels.msmarco-passage.dev-subset.txt",
        "msmarco-sample/qrels.tsv",
        "trec_eval-test/qrels.test",
        "trec_eval-test/qrels.test.with-comments",
        "trec_eval-test/qrels-302.test",
    ],
)
def test_real_judgments_give_nothing(path: str) -> None:
    assert findings(*shared(path)) == []


def test_trec_evals_judgments_with_levels_have_negative_ones() -> None:
    # 304 lines end in -1, the first on line 2,770: awk '$4 < 0 {print FNR}'.
    assert [found.partition(";")[0] for found in findings(*shared("trec_eval-test/qrels.rel_level"))] == [
        "qrels:2770: note Q313: 304 of 3,681 labels are negative, the lowest -1"
    ]


@pytest.mark.slow
def test_trec_evals_judgments_of_three_assessors_are_those_of_groups() -> None:
    # awk '{k = $1 " " $3; if (k in g) {if (g[k] != $2) n++} else g[k] = $2} END {print n}' prints 6629.
    found = findings(*shared("trec_eval-test/qrels.123"))
    assert [each.split(": ")[0] + each.split(": ")[1][-4:] for each in found] == [
        "qrels:2770Q313", "qrels:3682Q315", "qrels:3682:5Q317"
    ]  # fmt: skip
    assert "6,629 lines are like this" in found[2]


def test_every_code_says_all_that_is_shown_of_it() -> None:
    for code in CODES:
        assert all((code.title, code.why, code.example, code.todo)), code.code
        assert not code.title.endswith("."), code.code
        assert code.why.endswith("."), code.code
        assert code.todo.endswith("."), code.code
