"""A run beside judgments: what each check finds, at which line and column, in which words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from treceval_py import Qrels, read_qrels
from treceval_py.checking.catalogue.together import CODES
from treceval_py.checking.findings import Collector
from treceval_py.checking.queries import Shape
from treceval_py.checking.rows import KINDS, Rows
from treceval_py.checking.together import Together
from treceval_py.io.rows import read_part
from treceval_py.io.source import numbered

SHARED = Path(__file__).parents[1] / ".." / "shared" / "data"


def rows_of(text: bytes, first: int, kind: str) -> Rows:
    """Return lines of a run (or of a judged ranking), of which none is wrong, as columns."""
    part, error = read_part(text, first, KINDS[kind].layout, "run")
    assert part is not None
    assert error is None
    qids = [part.qids[number] for number in part.queries.tolist()]
    at = np.asarray(part.lines) - first
    return Rows(qids, part.starts, part.docids, part.scores, part.ranks, part.rels, part.lines, text, at)


def checked(
    qrels: Qrels, *chunks: bytes, kind: str = "run", most: int = 100, ignore: tuple[str, ...] = ()
) -> tuple[list[str], Collector]:
    """Check a run that comes in chunks, and return what is printed of each finding."""
    collector = Collector("run", {code.code: code for code in CODES}, most=most, ignore=ignore)
    checks, line = Together(qrels, KINDS[kind], collector), 1
    first_line: dict[bytes, int] = {}
    counts: dict[bytes, int] = {}
    for text in chunks:
        rows = rows_of(text, line, kind)
        checks.take(rows)
        for qid, start, stop in zip(rows.qids, rows.starts[:-1].tolist(), rows.starts[1:].tolist(), strict=True):
            first_line.setdefault(qid, rows.lines[start])
            counts[qid] = counts.get(qid, 0) + stop - start
        line += text.count(b"\n")
    checks.finish(Shape(first_line, counts, sum(counts.values()), tied=0, contradicted=0, scattered=False))
    return [str(finding) for finding in collector.sorted()], collector


def findings(qrels: Qrels, *chunks: str, kind: str = "run") -> list[str]:
    return checked(qrels, *(chunk.encode() for chunk in chunks), kind=kind)[0]


def run(documents: dict[str, list[str]]) -> str:
    """Return the lines of a run with these documents, best first."""
    return "".join(
        f"{qid} Q0 {docid} {rank} {100 - rank} tag\n"
        for qid, docids in documents.items()
        for rank, docid in enumerate(docids, 1)
    )


ONE = Qrels({"1": {"a": 1, "b": 0}, "2": {"c": 1}})


def test_a_run_that_fits_its_judgments_gives_nothing() -> None:
    assert findings(ONE, run({"1": ["a", "x"], "2": ["c"]})) == []


def test_a_run_of_other_queries_is_told_with_the_queries_of_both() -> None:
    qrels = Qrels({str(qid): {"a": 1} for qid in range(301, 308)})
    assert findings(qrels, run({"401": ["a"], "402": ["a"]})) == [
        (
            "run: error X201: none of 2 queries is judged: here 401, 402; in QRELS 301, 302, 303, 304, 305, …. "
            "Is it a run for other queries?"
        )
    ]


def test_a_run_of_one_other_query_is_told() -> None:
    assert findings(ONE, run({"401": ["a"]})) == [
        "run: error X201: the only query is not judged: here 401; in QRELS 1, 2. Is it a run for other queries?"
    ]


def test_queries_that_all_look_like_judged_ones_are_told_each_and_together() -> None:
    assert findings(Qrels({"37.1": {"a": 1}, "37.2": {"a": 1}}), run({"37_1": ["a"], "37_2": ["a"]})) == [
        (
            "run:1:1: warning X204: query '37_1' is not judged, but '37.1' is: they differ only in "
            "punctuation. Write query ids as in QRELS."
        ),
        (
            "run:2:1: warning X204: query '37_2' is not judged, but '37.2' is: they differ only in "
            "punctuation. Write query ids as in QRELS."
        ),
        (
            "run: error X201: none of 2 queries is judged: here 37_1, 37_2; in QRELS 37.1, 37.2. Write "
            "query ids as in QRELS."
        ),
    ]


def test_missing_queries_are_told_once_with_the_first_five() -> None:
    qrels = Qrels({str(qid): {"a": 1} for qid in range(1, 9)})
    assert findings(qrels, run({"3": ["a"]})) == [
        (
            "run: warning X202: 7 of 8 judged queries are missing from the run: 1, 2, 4, 5, 6, …. If "
            "all judged queries are averaged, each of them counts as 0."
        )
    ]


def test_a_single_missing_query_is_told_by_name() -> None:
    assert findings(ONE, run({"1": ["a"]})) == [
        (
            "run: warning X202: 1 of 2 judged queries is missing from the run: 2. If "
            "all judged queries are averaged, each of them counts as 0."
        )
    ]


def test_queries_that_are_not_judged_are_told_once_at_the_first() -> None:
    assert findings(ONE, run({"1": ["a"], "8": ["a", "b"]}), run({"2": ["c"], "9": ["a"]})) == [
        "run:2: note X203: 2 of 4 queries of the run are not judged; the first is '8'. They are not scored."
    ]


def test_a_single_query_that_is_not_judged_is_told() -> None:
    assert findings(ONE, run({"8": ["a"], "1": ["a"], "2": ["c"]})) == [
        "run:1: note X203: 1 of 3 queries of the run is not judged; the first is '8'. It is not scored."
    ]


@pytest.mark.parametrize(
    ("written", "judged", "what"),
    [
        ("37_1", "37.1", "punctuation"),
        ("7", "007", "leading zeros"),
        ("q7", "Q7", "the case of letters"),
        ("301.0", "301", "a decimal point"),
        ("MB001", "1", "leading zeros and the text before the number"),
    ],
)
def test_a_query_that_looks_like_a_judged_one_is_told_where_it_stands(written: str, judged: str, what: str) -> None:
    qrels = Qrels({"x": {"a": 1}, judged: {"a": 1}})
    assert findings(qrels, "x Q0 a 1 2 t\n", f"  {written} Q0 a 1 2 t\n{written} Q0 b 2 1 t\n") == [
        (
            f"run:2:3: warning X204: query '{written}' is not judged, but '{judged}' is: they differ only in {what}. "
            "Write query ids as in QRELS."
        ),
        (
            f"run: warning X202: 1 of 2 judged queries is missing from the run: {judged}. "
            "If all judged queries are averaged, each of them counts as 0."
        ),
    ]


def test_look_alikes_beyond_those_that_are_kept_are_counted() -> None:
    qrels = Qrels({f"{qid}": {"a": 1} for qid in range(1, 6)})
    _, collector = checked(qrels, run({f"0{qid}": ["a"] for qid in range(1, 6)}).encode(), most=2)
    assert collector.counts == {"X204": 5, "X201": 1}


def test_a_run_without_a_judged_document_is_told() -> None:
    assert findings(ONE, run({"1": ["x", "y"], "2": ["z"]})) == [
        (
            "run: warning X205: none of 3 documents is judged for its query. Is the "
            "run on another collection than these judgments?"
        )
    ]


@pytest.mark.parametrize(
    ("written", "judged", "what"),
    [
        ("ft911-3", "FT911-3", "the case of letters"),
        ("FT911-3.txt", "FT911-3", "the ending"),
        ("corpus/FT911-3", "FT911-3", "the folder"),
        ("doc_12", "12", "the text before the number"),
        ("12", "doc12", "the text before the number"),
        ("00012", "12", "leading zeros"),
    ],
)
def test_documents_that_look_like_judged_ones_are_told_by_a_pair(written: str, judged: str, what: str) -> None:
    qrels = Qrels({"1": {"other": 1, judged: 1}})
    assert findings(qrels, f"1\tQ0\tx\t1\t2\tt\n1\tQ0\t{written}\t2\t1\tt\n") == [
        (
            f"run:2:6: warning X205: none of 2 documents is judged for its query; '{written}' is not judged, but "
            f"'{judged}' is: they differ only in {what} (query '1'). Write document ids as in QRELS."
        )
    ]


def test_a_look_alike_that_is_judged_for_another_query_is_found_too() -> None:
    assert findings(ONE, run({"1": ["x", "C"], "2": ["y"]})) == [
        (
            "run:2:6: warning X205: none of 3 documents is judged for its query; 'C' is not judged, but 'c' "
            "is: they differ only in the case of letters (query '2'). Write document ids as in QRELS."
        )
    ]


def test_documents_that_are_judged_for_other_queries_are_told() -> None:
    assert findings(ONE, run({"1": ["c", "x"], "2": ["a", "b"]})) == [
        (
            "run: warning X205: none of 4 documents is judged for its query; of the first 4 QRELS judges 3 for "
            "other queries. Are the query ids those of QRELS?"
        )
    ]


def test_a_judged_document_far_down_is_found() -> None:
    assert findings(ONE, run({"1": [f"x{number}" for number in range(50)] + ["b"], "2": ["y"]})) == []


def test_a_judged_document_in_a_later_chunk_is_found() -> None:
    assert findings(ONE, run({"1": ["x"]}), run({"2": ["y", "c"]})) == []


POOLED = Qrels({str(qid): {f"d{qid}-{number}": number % 2 for number in range(20)} for qid in range(1, 11)})
"""10 queries of 20 judgments each, half of them 0."""


def test_a_run_of_which_hardly_any_first_documents_are_judged_is_told() -> None:
    # In each query 10 documents, of which one is judged in 9 of 10 queries: 9 of 100.
    found = run({str(qid): [f"x{qid}-{n}" for n in range(9)] + [f"{'xd'[qid > 1]}{qid}-3"] for qid in range(1, 11)})
    assert findings(POOLED, found) == [
        (
            "run: warning X206: of 100 documents (the first 10 of each of 10 judged queries) only 9 are judged "
            "for their query, and 91 are not judged for any query. Is it the version of the corpus that was "
            "judged?"
        )
    ]


def test_a_tenth_of_the_first_documents_is_not_few() -> None:
    found = run({str(qid): [f"d{qid % 10 + 1}-{n}" for n in range(9)] + [f"d{qid}-3"] for qid in range(1, 11)})
    assert findings(POOLED, found) == []


def test_few_judged_documents_that_are_judged_for_other_queries_are_told_so() -> None:
    # Each query has the documents of the next one, but one of its own in query 1.
    documents = {str(qid): [f"d{qid % 10 + 1}-{n}" for n in range(10)] for qid in range(1, 11)}
    documents["1"][0] = "d1-1"
    assert findings(POOLED, run(documents)) == [
        (
            "run: warning X206: of 100 documents (the first 10 of each of 10 judged queries) only 1 is judged for their query. "
            "Are the query ids those of QRELS?"
        )
    ]


def test_the_first_documents_are_those_with_the_highest_scores() -> None:
    # The lines stand from the lowest score to the highest: the judged documents are last, and first by score.
    documents = {qid: [f"x{n}" for n in range(90)] + [f"d{qid}-{n}" for n in range(10)] for qid in POOLED}
    lines = "".join(
        f"{qid} Q0 {docid} {place} {place} tag\n" for qid in documents for place, docid in enumerate(documents[qid], 1)
    )
    assert findings(POOLED, lines) == []


def test_the_first_documents_of_a_run_without_scores_are_those_with_the_lowest_ranks() -> None:
    documents = {qid: [f"x{n}" for n in range(90)] + [f"d{qid}-{n}" for n in range(10)] for qid in POOLED}
    lines = "".join(
        f"{qid} Q0 {docid} {100 - place} 0 t\n" for qid in documents for place, docid in enumerate(documents[qid])
    )
    collector = Collector("run", {code.code: code for code in CODES})
    checks = Together(POOLED, KINDS["msmarco"], collector)
    checks.take(rows_of(lines.encode(), 1, "run")._replace(scores=None))
    checks.finish(Shape({qid.encode(): 1 for qid in POOLED}, {}, 1000, tied=0, contradicted=0, scattered=False))
    assert collector.sorted() == []


def test_judgments_of_few_documents_a_query_are_no_pool() -> None:
    qrels = Qrels({str(qid): {f"d{qid}": 1, "z": 0} for qid in range(1, 11)})
    assert findings(qrels, run({str(qid): [f"d{qid}"] + [f"x{n}" for n in range(19)] for qid in range(1, 11)})) == []


def test_judgments_without_a_nonrelevant_document_are_no_pool() -> None:
    qrels = Qrels({str(qid): {f"d{qid}-{number}": 1 for number in range(20)} for qid in range(1, 11)})
    assert findings(qrels, run({qid: [f"d{qid}-1"] + [f"x{n}" for n in range(19)] for qid in qrels})) == []


def test_documents_that_no_query_has_judged_are_told_when_they_are_half_of_the_first() -> None:
    documents = {qid: [f"d{qid}-{n}" for n in range(5)] + [f"x{n}" for n in range(5)] for qid in POOLED}
    assert findings(POOLED, run(documents)) == [
        (
            "run: note X207: of 100 documents (the first 10 of each of 10 judged queries) 50 are not judged "
            "for any query. Is it the version of the corpus that was judged?"
        )
    ]


def test_documents_that_no_query_has_judged_are_nothing_when_they_are_fewer() -> None:
    documents = {qid: [f"d{qid}-{n}" for n in range(6)] + [f"x{n}" for n in range(4)] for qid in POOLED}
    assert findings(POOLED, run(documents)) == []


RANKING = "1 Q0 a 1\n1 Q0 b 0\n2 Q0 c 1\n"


def test_a_judged_ranking_with_the_labels_of_the_judgments_gives_nothing() -> None:
    assert findings(ONE, RANKING, kind="judged-ranking") == []


def test_a_label_that_contradicts_the_judgments_is_told_where_it_stands() -> None:
    assert findings(ONE, "1 Q0 a 1\n", "1 Q0 bb 0\n1\tQ0\tb\t2\n2 Q0 c 1\n", kind="judged-ranking") == [
        (
            "run:3:8: warning X210: document 'b' of query '1' has label 2, but QRELS says 0. Use "
            "the label of QRELS, or find out which one is right."
        )
    ]


def test_a_relevant_document_that_is_not_judged_contradicts_the_judgments() -> None:
    assert findings(ONE, RANKING + "2 Q0 x 1\n2 Q0 y 0\n", kind="judged-ranking") == [
        (
            "run:4:8: warning X210: document 'x' of query '2' has label 1, but QRELS does not judge it. Use "
            "the label of QRELS, or find out which one is right."
        )
    ]


def test_labels_of_queries_that_are_not_judged_contradict_nothing() -> None:
    assert findings(ONE, RANKING + "3 Q0 x 1\n", kind="judged-ranking") == [
        "run:4: note X203: 1 of 3 queries of the run is not judged; the first is '3'. It is not scored."
    ]


def test_what_is_ignored_is_not_looked_for() -> None:
    assert checked(ONE, run({"1": ["x"], "9": ["x"]}).encode(), ignore=("X",))[0] == []


def test_a_file_without_queries_is_left_to_other_checks() -> None:
    assert findings(ONE) == []


def test_ids_that_are_damage_are_shown_short_and_without_control_characters() -> None:
    (found,) = findings(Qrels({"1": {"a": 1}}), run({"\x1b[2J" + "q" * 5000: ["a"]}))
    assert found.startswith("run: error X201: the only query is not judged: here \\x1b[2Jqqq")
    assert len(found) < 250


RUNS = ["MU03rob01", "NLPR03vb10", "SABIR03BASE", "UIUC03Rd1", "aplrob03a", "pircRBa1", "rutcor03100", "uic0301"]


def real(run: str, qrels: str) -> list[str]:
    """Check a real run beside its judgments."""
    if not (SHARED / run).exists():
        pytest.skip(f"no {run} beside the project")
    chunks = (bytes(text) for _, text in numbered(str(SHARED / run)))
    return checked(read_qrels(str(SHARED / qrels)), *chunks)[0]


@pytest.mark.parametrize("name", RUNS)
def test_real_runs_give_nothing(name: str) -> None:
    assert real(f"robust03/input.{name}.gz", "robust03/qrels.txt.gz") == []


@pytest.mark.parametrize(
    ("name", "qrels"),
    [("results.test", "qrels.test"), ("results.test", "qrels.rel_level"), ("results-302.test", "qrels-302.test")],
)
def test_trec_evals_runs_give_nothing(name: str, qrels: str) -> None:
    assert real(f"trec_eval-test/{name}", f"trec_eval-test/{qrels}") == []


def test_the_run_that_trec_eval_cut_lacks_a_query() -> None:
    assert real("trec_eval-test/results.trunc", "trec_eval-test/qrels.test") == [
        (
            "run: warning X202: 1 of 3 judged queries is missing from the run: 302. If "
            "all judged queries are averaged, each of them counts as 0."
        )
    ]


def test_trec_evals_run_of_301_queries_has_31_judged_ones() -> None:
    # cut -d' ' -f1 FILE | sort -u | wc -l prints 301 for the run and 31 for the judgments.
    assert real("trec_eval-test/results.comment.test", "trec_eval-test/qrels.comment.test") == [
        (
            "run:1: note X203: 270 of 301 queries of the run are not judged; the first is '2024-224960'. They "
            "are not scored."
        )
    ]


def test_every_code_says_all_that_is_shown_of_it() -> None:
    for code in CODES:
        assert all((code.title, code.why, code.example, code.todo)), code.code
        assert not code.title.endswith("."), code.code
        assert code.why.endswith("."), code.code
        assert code.todo.endswith("."), code.code


def test_a_run_whose_documents_are_judged_queries_has_columns_swapped() -> None:
    qrels = Qrels({"301": {"a": 1}, "302": {"b": 0}})
    assert findings(qrels, "a Q0 301 1 2 t\nb Q0 301 2 1 t\nb Q0 302 1 1 t\n")[-1] == (
        "run: error X201: query and document are swapped: none of 2 queries is judged: here a, b; in QRELS "
        "301, 302. Write qid Q0 docid rank score tag."
    )
