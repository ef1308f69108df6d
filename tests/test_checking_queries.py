"""Checks of runs query by query: every finding with its exact line, column and text."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from treceval_py.checking.catalogue.queries import CODES
from treceval_py.checking.findings import Collector
from treceval_py.checking.queries import QueryChecks, Shape
from treceval_py.checking.rows import KINDS, Rows
from treceval_py.data.ids import Ids

ROOT = Path(__file__).parent.parent
SHARED = ROOT.parent / "shared" / "data"

SCORES_DECIDE = "Scoring uses scores and ignores ranks, as trec_eval does"
FIX = "--fix numbers documents from 1 in the order of their scores."
TIES = "Their order depends on ids; treceval --ties shows how much values depend on it."


def rows_of(text: str, kind: str = "run", first: int = 1) -> Rows:
    """Read lines by hand; those that begin with # are no data."""
    layout = KINDS[kind]
    raw = text.encode()
    every = [(at, line.split()) for at, line in enumerate(raw.splitlines()) if not line.startswith(b"#")]
    fields = [line for _, line in every]
    starts = [0, *(at + 1 for at, (a, b) in enumerate(pairwise(fields)) if a[0] != b[0]), len(fields)]
    scores = None if layout.score is None else np.array([float(line[layout.score]) for line in fields])
    ranks = unranked = None
    if layout.rank is not None:
        unranked = np.array([not line[layout.rank].lstrip(b"-").isdigit() for line in fields])
        ranks = np.array([0 if odd else int(line[layout.rank]) for line, odd in zip(fields, unranked, strict=True)])
    return Rows(
        qids=[fields[start][0] for start in starts[:-1]],
        starts=np.array(starts),
        docids=Ids.from_bytes([line[layout.docid] for line in fields]),
        scores=scores,
        ranks=ranks,
        rels=None if layout.rel is None else np.array([int(line[layout.rel]) for line in fields]),
        lines=[first + at for at, _ in every],
        text=raw,
        at=[at for at, _ in every],
        unranked=unranked if unranked is not None and unranked.any() else None,
    )


def checked(*texts: str, kind: str = "run", most: int = 100) -> tuple[list[str], Shape, Collector]:
    """Look at texts, one after the other, as those of one file."""
    collector = Collector("run.txt", {code.code: code for code in CODES}, most=most)
    checks = QueryChecks(KINDS[kind], collector)
    first = 1
    for text in texts:
        checks.take(rows_of(text, kind, first))
        first += text.count("\n")
    shape = checks.finish()
    return [str(each) for each in collector.sorted()], shape, collector


def found(*texts: str, kind: str = "run") -> list[str]:
    return checked(*texts, kind=kind)[0]


def only(code: str, *texts: str, kind: str = "run") -> list[str]:
    return [each for each in found(*texts, kind=kind) if f" {code}: " in each]


CLEAN = """\
1 Q0 d7 1 9.5 mine
1 Q0 d2 2 8.5 mine
1 Q0 d5 3 8.0 mine
2 Q0 d3 1 7.5 mine
2 Q0 d9 2 7.0 mine
2 Q0 d1 3 6.5 mine
"""


def test_a_clean_run_gives_nothing():
    assert found(CLEAN) == []


def test_a_clean_run_of_ms_marco_gives_nothing():
    assert found("1\t7\t1\n1\t3\t2\n2\t7\t1\n2\t5\t2\n", kind="msmarco") == []


def test_the_shape_has_queries_in_their_order_with_lines_and_counts():
    _, shape, _ = checked("# made by hand\n" + CLEAN, "10 Q0 d7 1 9.5 mine\n")
    assert shape == Shape({b"1": 2, b"2": 5, b"10": 8}, {b"1": 3, b"2": 3, b"10": 1}, 7, 0, 0, False)


def test_no_rows_have_an_empty_shape():
    assert checked()[1] == Shape({}, {}, 0, 0, 0, False)


def test_the_shape_of_a_judged_ranking_has_queries_and_documents_only():
    findings, shape, _ = checked("1 Q0 d7 1\n1 Q0 d2 0\n", kind="judged-ranking")
    assert findings == []
    assert shape == Shape({b"1": 1}, {b"1": 2}, 2, 0, 0, False)


# -- documents that come twice


def test_a_document_that_comes_twice_with_the_same_score_is_told_with_its_first_line():
    text = "1 Q0 d7 1 9.5 mine\n1 Q0 d2 2 8.5 mine\n1  Q0 d7 3 9.50 mine\n"
    assert only("R120", text) == [
        (
            "run.txt:3:7: error R120: document 'd7' is listed again in query '1' with the same score (first on "
            "line 1). Delete one of the two lines."
        )
    ]


def test_a_document_that_comes_twice_with_another_score_is_told_with_both():
    text = "1 Q0 d7 1 9.5 mine\n1 Q0 d2 2 8.5 mine\n1 Q0 d7 3 8.25 mine\n"
    assert found(text) == [
        (
            "run.txt:3:6: error R121: document 'd7' is listed again in query '1' with score 8.25 (first on "
            "line 1, with 9.5). Find out which of the two lines is right, and delete the other."
        )
    ]


def test_each_further_line_of_a_document_is_told():
    text = "1 Q0 d7 1 9.5 mine\n1 Q0 d7 2 9.5 mine\n1 Q0 d7 3 8.5 mine\n"
    assert [each.split(": document")[0] for each in found(text) if "R12" in each[:30]] == [
        "run.txt:2:6: error R120",
        "run.txt:3:6: error R121",
    ]


def test_a_document_of_two_queries_does_not_come_twice():
    assert found("1 Q0 d7 1 9.5 mine\n", "2 Q0 d7 1 9.5 mine\n") == []


def test_of_many_lines_that_come_twice_so_many_are_kept_and_all_are_counted():
    text = "".join(f"1 Q0 d7 {rank} 9.5 mine\n" for rank in range(1, 51))
    findings, _, collector = checked(text, most=3)
    assert [each.split(":")[1] for each in findings if "R120" in each] == ["2", "3", "4"]
    assert collector.counts["R120"] == 49


def test_a_passage_that_comes_twice_in_a_run_of_ms_marco_is_told_with_its_ranks():
    assert found("1\t7\t1\n1\t3\t2\n1\t7\t3\n", kind="msmarco") == [
        (
            "run.txt:3:3: error R121: document '7' is listed again in query '1' with rank 3 (first on line 1, "
            "with 1). Find out which of the two lines is right, and delete the other."
        )
    ]


def test_a_control_character_in_an_id_is_made_visible():
    assert "document 'd\\x1b[31m' is listed again" in only("R120", "1 Q0 d\x1b[31m 1 2 t\n1 Q0 d\x1b[31m 2 2 t\n")[0]


def test_a_long_id_is_cut_off():
    text = f"1 Q0 {'d' * 5000} 1 2 t\n1 Q0 {'d' * 5000} 2 2 t\n"
    assert f"document '{'d' * 80}…' is listed again" in only("R120", text)[0]


# -- queries whose lines do not stand together


INTERLEAVED = """\
1 Q0 d7 1 9.5 mine
2 Q0 d3 1 7.5 mine
 1 Q0 d2 2 8.5 mine
2 Q0 d9 2 7.0 mine
3 Q0 d9 1 7.0 mine
"""

TOLD_INTERLEAVED = [
    (
        "run.txt:3:2: note R122: the lines of 2 of 3 queries are not together: query '1' appears again here "
        "(first on line 1). Values here do not depend on it, but some programs need all lines of a query "
        "together."
    )
]


def test_queries_whose_lines_do_not_stand_together_are_told_once():
    assert only("R122", INTERLEAVED) == TOLD_INTERLEAVED


def test_it_is_the_same_when_they_come_in_two_pieces():
    lines = INTERLEAVED.splitlines(keepends=True)
    assert only("R122", "".join(lines[:2]), "".join(lines[2:])) == TOLD_INTERLEAVED


def test_the_shape_of_such_a_run_says_so_and_counts_all_lines():
    _, shape, _ = checked(INTERLEAVED)
    assert shape.scattered
    assert shape.counts == {b"1": 2, b"2": 2, b"3": 1}
    assert shape.first_line == {b"1": 1, b"2": 2, b"3": 5}


def test_a_query_that_was_only_cut_in_two_stands_together_but_must_be_looked_at_again():
    findings, shape, _ = checked("1 Q0 d7 1 9.5 mine\n", "1 Q0 d2 2 8.5 mine\n")
    assert findings == []
    assert shape.scattered


# -- ranks


def test_ranks_that_contradict_scores_are_told_once_with_both_documents():
    text = (
        CLEAN + "3 Q0 d4 1 2.5 mine\n3 Q0 d6 2 3.25 mine\n3 Q0 d1 3 9 mine\n4 Q0 d4 1 2.5 mine\n4 Q0 d6 2 3.25 mine\n"
    )
    findings, shape, _ = checked(text)
    assert [each for each in findings if "R123" in each] == [
        (
            "run.txt:8:9: warning R123: ranks contradict scores in 2 of 4 queries: in query '3' document 'd6' has rank 2 "
            "and score 3.25, but 'd4' on line 7 has rank 1 and score 2.5. "
            f"{SCORES_DECIDE}; MS MARCO's script uses the ranks. Find out which of the two is right."
        )
    ]
    assert shape.contradicted == 2


def test_the_first_of_several_pieces_is_shown_whichever_comes_first():
    collector = Collector("run.txt", {code.code: code for code in CODES})
    checks = QueryChecks(KINDS["run"], collector)
    checks.take(rows_of("2 Q0 a 1 1 t\n2 Q0 b 2 2 t\n", first=3))
    checks.take(rows_of("1 Q0 a 1 1 t\n1 Q0 b 2 2 t\n", first=1))
    shape = checks.finish()
    assert [(each.line, each.column) for each in collector.sorted()] == [(2, 8)]
    assert list(shape.first_line) == [b"1", b"2"]


def test_equal_ranks_contradict_nothing():
    assert only("R123", "1 Q0 d7 1 2.5 mine\n1 Q0 d2 1 8.5 mine\n1 Q0 d5 2 1.0 mine\n") == []


def test_of_documents_with_equal_ranks_the_one_with_the_lower_score_is_shown():
    text = "1 Q0 d7 1 5 mine\n1 Q0 d2 2 1 mine\n1 Q0 d5 2 3 mine\n1 Q0 d4 3 2 mine\n"
    assert only("R123", text)[0].startswith(
        "run.txt:4:9: warning R123: ranks contradict scores in 1 of 1 query: in query '1' document 'd4' has rank 3 and "
        "score 2, but 'd2' on line 2 has rank 2 and score 1."
    )


def test_lines_out_of_order_contradict_nothing():
    assert found("1 Q0 d5 3 1.0 mine\n1 Q0 d7 1 2.5 mine\n1 Q0 d2 2 2.0 mine\n") == []


def test_ranks_that_are_no_whole_numbers_are_left_to_the_check_of_lines():
    findings, shape, _ = checked("1 Q0 d7 x 2.5 mine\n1 Q0 d2 1 8.5 mine\n")
    assert findings == []
    assert shape.contradicted == 0


UNRANKED = "9 Q0 d7 x 2.5 mine\n9 Q0 d2 1 8.5 mine\n"


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("1 Q0 d7 1 1 t\n1 Q0 d2 2 2 t\n", "4:9", "warning R123: ranks contradict scores in 1 of 1 query:"),
        ("1 Q0 d7 0 2 t\n1 Q0 d2 1 1 t\n", "3:9", "warning R124: ranks begin below 1 in 1 of 1 query:"),
        ("1 Q0 d7 7 2 t\n1 Q0 d2 7 1 t\n", "3:9", "note R125: all ranks of a query are the same in 1 of 1 query:"),
        ("1 Q0 d7 1 2 t\n1 Q0 d2 3 1 t\n", "4:9", "note R126: ranks are not 1, 2, 3, … in 1 of 1 query:"),
    ],
)
def test_a_rank_that_is_no_whole_number_leaves_the_ranks_of_other_queries_to_be_looked_at(text, place, words):
    assert [each.startswith(f"run.txt:{place}: {words}") for each in found(UNRANKED + text)] == [True]


def test_a_query_with_a_rank_that_is_no_whole_number_goes_by_its_lines():
    text = "".join(f"1 Q0 d{name} {'x' if at == 3 else 1} {at} t\n" for at, name in enumerate("73918", 1))
    assert "they grow from line to line" in only("R129", text)[0]


def test_ranks_from_0_are_told_once():
    text = "1 Q0 d7 0 9.5 mine\n1 Q0 d2 1 8.5 mine\n2 Q0 d3 0 7.5 mine\n"
    assert found(text) == [
        (
            "run.txt:1:9: warning R124: ranks begin below 1 in 2 of 2 queries: in query '1' document 'd7' has rank 0. "
            f"Ranks begin at 1. {SCORES_DECIDE}; {FIX}"
        )
    ]


def test_a_negative_rank_is_shown_where_it_stands():
    assert only("R124", "1 Q0 d7 2 8.5 mine\n1 Q0 d2 -1 9.5 mine\n")[0].startswith(
        "run.txt:2:9: warning R124: ranks begin below 1 in 1 of 1 query: in query '1' document 'd2' has rank -1."
    )


def test_a_constant_rank_is_told_once_and_is_nothing_else():
    text = "1 Q0 d7 0 9.5 mine\n1 Q0 d2 0 8.5 mine\n2 Q0 d3 0 7.5 mine\n"
    assert found(text) == [
        (
            "run.txt:1:9: note R125: all ranks of a query are the same in 1 of 2 queries: the 2 documents of query '1' "
            f"have rank 0. {SCORES_DECIDE}; {FIX}"
        )
    ]


@pytest.mark.parametrize(
    ("ranks", "place", "words"),
    [
        ((1, 2, 2), "3:9", "in query '1' rank 2 appears again (first on line 2)"),
        ((2, 1, 2), "3:9", "in query '1' rank 2 appears again (first on line 1)"),
        ((1, 2, 4), "3:9", "in query '1' the next rank after 2 is 4"),
        ((4, 2, 1), "1:9", "in query '1' the next rank after 2 is 4"),
        ((5, 6, 7), "1:9", "those of query '1' begin at 5"),
    ],
)
def test_ranks_that_are_repeated_or_missing_are_told_once(ranks, place, words):
    scores = {rank: 10 - rank for rank in ranks}
    text = "".join(f"1 Q0 d{at} {rank} {scores[rank]}.{3 - at} mine\n" for at, rank in enumerate(ranks))
    assert found(text) == [
        f"run.txt:{place}: note R126: ranks are not 1, 2, 3, … in 1 of 1 query: {words}. {SCORES_DECIDE}; {FIX}"
    ]


def test_ranks_at_the_ends_of_64_bits_do_no_harm():
    text = f"1 Q0 d1 {-(2**63)} 3 mine\n1 Q0 d2 {2**63 - 1} 2 mine\n"
    assert [each.split(":")[3] for each in found(text)] == [" warning R124", " note R126"]


def test_ranks_from_0_in_a_run_of_ms_marco_are_an_error():
    assert found("1\t7\t0\n1\t3\t1\n", kind="msmarco") == [
        (
            "run.txt:1:5: error R133: ranks begin below 1 in 1 of 1 query: in query '1' document '7' has rank "
            "0. Ranks begin at 1: add 1 to each."
        )
    ]


def test_a_rank_that_comes_twice_in_a_run_of_ms_marco_is_a_warning():
    assert found("1\t7\t1\n1\t3\t1\n", kind="msmarco") == [
        (
            "run.txt:2:5: warning R134: ranks are not 1, 2, 3, … in 1 of 1 query: in query '1' rank 1 appears "
            "again (first on line 1). Number the documents of each query from 1, without gaps: of two with the "
            "same rank only the last line counts."
        )
    ]


# -- scores


def test_constant_scores_are_told_once():
    text = "1 Q0 d7 1 1.0 mine\n1 Q0 d2 2 1.0 mine\n1 Q0 d5 3 1 mine\n2 Q0 d5 1 2 mine\n"
    assert found(text) == [
        (
            "run.txt:1:11: warning R127: all scores of a query are the same in 1 of 2 queries: the 3 documents "
            "of query '1' have score 1.0. The order of these documents depends only on their ids. Write the "
            "scores of the ranking."
        )
    ]


def test_two_documents_with_the_same_score_are_a_tie():
    assert [each.split(":")[3] for each in found("1 Q0 d7 1 1 t\n1 Q0 d2 2 1 t\n")] == [" warning R130"]


def ranked(ids, scores=None):
    """Write a query that ranks ids in their order."""
    scores = range(len(ids), 0, -1) if scores is None else scores
    return "".join(f"1 Q0 {name} {at} {score} t\n" for at, (name, score) in enumerate(zip(ids, scores, strict=True), 1))


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ("d1 d2 d3 d4 d5 d6 d7 d8", "rising"),
        ("d8 d7 d6 d5 d4 d3 d2 d1", "falling"),
        ("d1 d2 d9 d10 d11 d98 d99 d100", "rising by their numbers"),
        ("100 098 0097 11 10 9 2 1", "falling by their numbers"),
        ("d1 d10 d100 d11 d2 d98 d99 e", "rising"),
    ],
)
def test_scores_that_follow_ids_are_told(ids, words):
    assert found(ranked(ids.split())) == [
        "run.txt:1:"
        + str(len("1 Q0 " + ids.split()[0] + " 1 ") + 1)
        + ": warning R128: scores follow document ids: in "
        f"the only query with 5 or more documents, ids are {words} from the highest score on. "
        "Write the scores of the ranking, not ids or row numbers."
    ]


def test_the_order_of_seven_ids_may_be_chance():
    # 7! = 5,040 orders, 8! = 40,320
    assert found(ranked(["d1", "d2", "d3", "d4", "d5", "d6", "d7"])) == []


def test_two_queries_of_five_ids_are_evidence_enough():
    # 5! * 5! = 14,400 orders
    text = ranked(["d1", "d2", "d3", "d4", "d5"])
    assert (
        "in each of the 2 queries with 5 or more documents"
        in only("R128", text, "2" + text[1:].replace("\n1", "\n2"))[0]
    )


def test_one_query_in_another_order_is_enough_to_say_nothing():
    text = ranked([f"d{at}" for at in range(10, 30)])
    other = ranked(["d1", "d2", "d3", "d5", "d4"])
    assert found(text, "2" + other[1:].replace("\n1", "\n2")) == []


def test_tied_documents_are_no_evidence():
    # 10! / 9! = 10 orders
    assert only("R128", ranked([f"d{at}" for at in range(10)], [2] * 9 + [1])) == []


def test_an_order_that_ends_after_a_thousand_documents_is_no_order():
    names = [f"d{at}" for at in range(1000, 2200)]
    assert only("R128", ranked([*names[:-2], names[-1], names[-2]])) == []
    assert len(only("R128", ranked(names))) == 1


def test_an_id_of_a_million_digits_does_no_harm():
    assert only("R128", ranked([*(f"d{at}" for at in range(8)), "d" + "9" * 1_000_000])) != []


def test_scores_that_grow_with_the_rank_are_likely_distances():
    text = "1 Q0 d7 1 0.25 t\n1 Q0 d4 2 0.5 t\n1 Q0 d8 3 0.75 t\n"
    assert only("R129", text) == [
        (
            "run.txt:1:11: warning R129: scores look like distances, for which smaller is better: in query '1' "
            "they grow with the rank, as in 1 of 1 query of 3 or more documents. Scoring puts the highest "
            "score first. If these are distances, write them with the opposite sign."
        )
    ]


def test_where_ranks_say_nothing_scores_that_grow_from_line_to_line_are_likely_distances():
    text = "".join(f"1 Q0 d{name} 0 {at} t\n" for at, name in enumerate("73918", 1))
    assert only("R129", text)[0].startswith(
        "run.txt:1:11: warning R129: scores look like distances, for which smaller is better: in query '1' "
        "they grow from line to line, as"
    )


def test_four_lines_that_grow_may_be_chance():
    assert only("R129", "".join(f"1 Q0 d{name} 0 {at} t\n" for at, name in enumerate("7391", 1))) == []


def grow(query: int, names: str, rank: str, step: int) -> str:
    """Return lines of which scores rise, or fall, by a step; with their number for a rank, or all with the same one."""
    return "".join(f"{query} Q0 d{name} {rank or at} {50 + step * at} t\n" for at, name in enumerate(names, 1))


def test_without_ranks_it_is_told_of_how_many_queries_of_five_documents_scores_grow():
    # The nine queries of four documents are too short to count.
    text = grow(1, "73918", "0", 1) + "".join(grow(query, "7391", "0", -1) for query in range(2, 11))
    assert "from line to line, as in 1 of 1 query of 5 or more documents. Scoring" in only("R129", text)[0]


def test_with_and_without_ranks_both_numbers_of_documents_are_told():
    text = grow(1, "73918", "0", 1) + grow(2, "739", "", 1)
    told = "from line to line, as in 2 of 2 queries of 3 or more documents, or of 5 if ranks are unusable. Scoring"
    assert told in only("R129", text)[0]


@pytest.mark.parametrize(("step", "distances"), [(1, True), (-1, False)])
def test_the_shape_says_whether_scores_look_like_distances(step, distances):
    assert checked(grow(1, "739", "", step))[1].distances is distances


def test_lines_that_grow_while_ranks_fall_are_no_distances():
    text = "".join(f"1 Q0 d{name} {6 - at} {at} t\n" for at, name in enumerate("73918", 1))
    assert found(text) == []


@pytest.mark.parametrize(("others", "told"), [(1, True), (2, False)])
def test_distances_are_told_from_nine_of_ten_queries_on(others, told):
    texts = []
    for query in range(10):
        scores = (3, 2, 1) if query < others else (1, 2, 3)
        texts += [
            f"{query} Q0 d{name} {at} {score} t\n"
            for at, (name, score) in enumerate(zip("738", scores, strict=True), 1)
        ]
    assert bool(only("R129", "".join(texts))) is told


@pytest.mark.parametrize(("tied", "told"), [(2, True), (0, False)])
def test_ties_are_told_from_a_fifth_of_documents_on(tied, told):
    scores = list(range(20, 10, -1))
    scores[1] = scores[2] if tied else scores[1]
    findings, shape, _ = checked(ranked(["d3", "d9", "d1", "d5", "d2", "d7", "d4", "d8", "d6", "d0"], scores))
    assert shape.tied == tied
    expected = [
        (
            "run.txt:3:11: warning R130: 2 of 10 documents (20.0 %) share their score with another document of their query: in "
            f"query '1' document 'd1' has score 18, and 'd9' on line 2 has 18. {TIES}"
        )
    ]
    assert findings == (expected if told else [])


def test_fewer_ties_than_a_fifth_are_counted_only():
    scores = [20, 18, 18, *range(17, 9, -1)]
    findings, shape, _ = checked(ranked(["d3", "d9", "d1", "d5", "d2", "d7", "d4", "d8", "d6", "d0", "dx"], scores))
    assert (findings, shape.tied) == ([], 2)


def test_a_document_that_comes_again_with_the_same_score_is_no_tie():
    _, shape, collector = checked("1 Q0 d7 1 9 t\n1 Q0 d2 2 8 t\n1 Q0 d7 3 9 t\n")
    assert (set(collector.counts), shape.tied) == ({"R120", "R123"}, 0)


def test_a_document_that_comes_again_counts_once_among_ties():
    text = "1 Q0 d7 1 9 t\n1 Q0 d7 2 9 t\n1 Q0 d2 3 9 t\n1 Q0 d5 4 7 t\n"
    assert [each.split(". ")[0] for each in only("R130", text)] == [
        (
            "run.txt:3:11: warning R130: 2 of 3 documents (66.6 %) share their score with another document of "
            "their query: in query '1' document 'd2' has score 9, and 'd7' on line 1 has 9"
        )
    ]


def test_three_documents_with_one_score_are_three_tied_ones():
    assert checked(ranked(["d3", "d9", "d1", "d5"], [2, 1, 1, 1]))[1].tied == 3


def test_ties_that_are_not_on_neighbouring_lines_are_seen():
    assert checked("1 Q0 a 1 2 t\n1 Q0 b 3 1 t\n1 Q0 c 2 2 t\n")[1].tied == 2


def test_equal_scores_of_two_queries_are_no_ties():
    assert checked("1 Q0 a 1 2 t\n2 Q0 b 1 2 t\n")[1].tied == 0


def test_scores_that_differ_in_double_precision_only_are_told():
    # 2**24 and 2**24 + 1 are the first whole numbers that single precision cannot tell apart.
    assert found("1 Q0 a 1 16777217 t\n1 Q0 b 2 16777216 t\n") == [
        (
            "run.txt:2:10: note R131: 1 of 1 neighbours (100.0 %) have scores that differ, but not in single "
            "precision: in query '1' document 'b' has score 16777216, and 'a' on line 1 has 16777217. "
            "trec_eval 9 and pytrec_eval treat them as ties, ordered by id; this program does not."
        )
    ]


def test_scores_beyond_single_precision_are_both_infinite_there():
    assert [each.split(":")[3] for each in found("1 Q0 a 1 1e301 t\n1 Q0 b 2 1e300 t\n")] == [" note R131"]


def test_infinite_scores_do_no_harm():
    assert found("1 Q0 b 1 inf t\n1 Q0 a 2 1 t\n1 Q0 c 3 -inf t\n") == []


# -- depth


def test_queries_with_another_depth_than_nearly_all_are_told():
    text = "".join(f"q{query} Q0 d{rank} {rank} {-rank} t\n" for query in range(4) for rank in (1, 2))
    assert found(text + "q9 Q0 d1 1 3 t\n") == [
        (
            "run.txt:9: note R132: 4 of 5 queries have 2 documents, but query 'q9' has 1. Find out "
            "whether lines were lost or added, or whether fewer documents were found."
        )
    ]


def test_at_most_five_such_queries_are_named():
    text = "".join(f"q{query} Q0 d1 1 1 t\n" for query in range(24))
    text += "".join(f"p{query} Q0 d1 1 2 t\np{query} Q0 d2 2 1 t\n" for query in range(6))
    assert only("R132", text)[0].startswith(
        "run.txt:25: note R132: 24 of 30 queries have 1 document, but query 'p0' has 2, 'p1' has 2, 'p2' has 2, 'p3' has "
        "2, 'p4' has 2, …. "
    )


def test_where_depths_differ_from_query_to_query_nothing_is_told():
    # 3 of 4 queries, and 4 of 5 are asked for
    text = "".join(f"q{query} Q0 d1 1 1 t\n" for query in range(3))
    assert found(text + "q9 Q0 d1 1 2 t\nq9 Q0 d2 2 1 t\n") == []


# -- the catalogue


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.code)
def test_a_code_is_told_in_sentences(code):
    assert not code.title.endswith(".")
    assert code.why.endswith(".")
    assert code.todo.endswith(".")


def test_names_and_codes_are_different():
    assert len({code.code for code in CODES}) == len({code.name for code in CODES}) == len(CODES)


# -- real files


def codes_of(path: Path) -> dict[str, tuple[int, int]]:
    opened: Callable[..., object] = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt") as file:  # type: ignore[attr-defined]
        collector = checked(file.read())[2]
    return {each.code: (each.line, each.column) for each in collector.sorted()}


# What is true of them was counted with awk and sort: documents that share a score, the least rank, lines of a query.
ROBUST = {
    "MU03rob01": {"R130": (7, 24)},
    "NLPR03vb10": {"R132": (671, 0)},
    "SABIR03BASE": {},
    "UIUC03Rd1": {},
    "aplrob03a": {"R124": (1, 22)},
    "pircRBa1": {"R124": (1, 22)},
    "rutcor03100": {"R130": (2, 24)},
    "uic0301": {"R124": (1, 19), "R126": (2286, 19)},
}


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.exists(), reason="the files of the Robust track are not there")
@pytest.mark.parametrize("name", ROBUST)
def test_a_run_of_the_robust_track_gives_only_what_is_true_of_it(name):
    assert codes_of(SHARED / "robust03" / f"input.{name}.gz") == ROBUST[name]


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.exists(), reason="trec_eval's test files are not there")
@pytest.mark.parametrize(
    ("name", "expected"),
    [("results.test", {}), ("results-302.test", {}), ("results.comment.test", {}), ("results.trunc", {"R122": (3, 1)})],
)
def test_a_test_file_of_trec_eval_gives_only_what_is_true_of_it(name, expected):
    assert codes_of(SHARED / "trec_eval-test" / name) == expected


@pytest.mark.parametrize(
    ("name", "expected"), [("bm25", {"R130": (14, 15)}), ("jaccard", {"R130": (15, 14)}), ("minilm", {})]
)
def test_a_run_of_this_project_gives_only_what_is_true_of_it(name, expected):
    assert codes_of(ROOT / "data" / "runs" / f"{name}.txt") == expected


# -- the same documents ------------------------------------------------------------------------------------------------


def same(*rankings: str, qids: str = "123456789") -> str:
    """Return a run with these documents, of one letter each, best first."""
    every = (
        (qid, rank, docid) for qid, docs in zip(qids, rankings, strict=False) for rank, docid in enumerate(docs, 1)
    )
    return "".join(f"{qid} Q0 {docid} {rank} {9.5 - rank} t\n" for qid, rank, docid in every)


def test_queries_with_the_same_ranking_are_told():
    words = "all 3 queries have the same 3 documents in the same order. The ranking does not depend on the query: find out why."
    assert only("R135", same("xyz", "xyz", "xyz")) == [f"run.txt: warning R135: {words}"]
    assert only("R135", same("xyz", "xyz"), same("xyz", qids="3")) == [f"run.txt: warning R135: {words}"]


def test_queries_with_the_same_documents_in_different_orders_are_told():
    words = "all 3 queries have the same 3 documents, in different orders. Does the collection have no other documents?"
    assert only("R136", same("xyz", "xyz", "zyx")) == [f"run.txt: note R136: {words}"]
    assert only("R135", same("xyz", "xyz", "zyx")) == []


@pytest.mark.parametrize(
    "text", [same("xyz", "xyz"), same("xy", "xy", "xy"), same("xyz", "xyz", "xyw"), same("xyz", "xyzw", "xyz")]
)
def test_too_few_queries_or_documents_and_others_are_not_told_to_be_the_same(text):
    assert [each for each in found(text) if "R135" in each or "R136" in each] == []
