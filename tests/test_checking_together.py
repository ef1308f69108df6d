"""A run beside judgments: what each check finds, at which line and column, in which words."""

from __future__ import annotations

import numpy as np
import pytest
from findings import briefs, words
from shared import SHARED, needs_shared
from syrupy.assertion import SnapshotAssertion

from treceval_py import Qrels, read_qrels
from treceval_py.checking import together
from treceval_py.checking.findings import Collector, Finding
from treceval_py.checking.queries import Shape
from treceval_py.checking.rows import QueryLines
from treceval_py.checking.together import Together
from treceval_py.diagnosis import lookalikes
from treceval_py.diagnosis.columns import KINDS
from treceval_py.io.rows import read_part
from treceval_py.io.source import numbered


def rows_of(text: bytes, first: int, kind: str) -> QueryLines:
    """Return lines of a run (or of a judged ranking), of which none is wrong, as columns."""
    part, error = read_part(text, first, KINDS[kind].layout, "run")
    assert part is not None
    assert error is None
    qids = [part.qids[number] for number in part.queries.tolist()]
    at = np.asarray(part.lines) - first
    return QueryLines(
        qids, part.starts, part.docids, part.scores, part.ranks, part.rels, part.lines, text, at, part.ordered
    )


def checked(qrels: Qrels, *chunks: str, kind: str = "run", most: int = 100, ignore: tuple[str, ...] = ()) -> Collector:
    """Check a run that comes in chunks."""
    collector = Collector("run", most=most, ignore=ignore)
    checks, line = Together(qrels, KINDS[kind], collector), 1
    first_line: dict[bytes, int] = {}
    counts: dict[bytes, int] = {}
    for chunk in chunks:
        text = chunk.encode()
        rows = rows_of(text, line, kind)
        checks.take(rows)
        for qid, start, stop in zip(rows.qids, rows.starts[:-1].tolist(), rows.starts[1:].tolist(), strict=True):
            first_line.setdefault(qid, rows.lines[start])
            counts[qid] = counts.get(qid, 0) + stop - start
        line += text.count(b"\n")
    checks.finish(Shape(first_line, counts, sum(counts.values()), tied=0, contradicted=0, scattered=False))
    return collector


def run(documents: dict[str, list[str]]) -> str:
    """Return the lines of a run with these documents, best first."""
    return "".join(
        f"{qid} Q0 {docid} {rank} {100 - rank} tag\n"
        for qid, docids in documents.items()
        for rank, docid in enumerate(docids, 1)
    )


ONE = Qrels({"1": {"a": 1, "b": 0}, "2": {"c": 1}})


def judged(*qids: object) -> Qrels:
    """Return judgments in which ``a`` is relevant to each query."""
    return Qrels({str(qid): {"a": 1} for qid in qids})


POOLED = Qrels({str(qid): {f"d{qid}-{number}": number % 2 for number in range(20)} for qid in range(1, 11)})
"""10 queries of 20 judgments each, half of them 0."""
MORE = Qrels({**POOLED.to_dict(), "11": {f"d11-{number}": 0 for number in range(20)}})
NEXT = {str(qid): [f"d{qid % 10 + 1}-{n}" for n in range(10)] for qid in range(1, 11)}
"""For each query the documents of the next one."""
DEEP = {qid: [f"x{n}" for n in range(90)] + [f"d{qid}-{n}" for n in range(10)] for qid in POOLED}
"""For each query 90 documents that are not judged, and then 10 that are."""
LATE = {"5": [*(f"x{n}" for n in range(10)), "d5-1"]}
"""A judged document beyond the first ten."""


def of_pool(own: int, other: int = 0, unknown: int = 0, queries: int = 10) -> str:
    """Return a run with documents that are judged for their query, for another one, and for none."""
    documents = {str(qid): [f"d{qid}-{n}" for n in range(own)] for qid in range(1, queries + 1)}
    for qid, docids in documents.items():
        docids += NEXT[qid][:other] + [f"x{qid}-{n}" for n in range(unknown)]
    return run(documents)


def like_query(written: str, known: str) -> tuple[Qrels, tuple[str, ...], str]:
    chunks = "x Q0 a 1 2 t\n", f"  {written} Q0 a 1 2 t\n{written} Q0 b 2 1 t\n"
    return judged("x", known), chunks, "2:3 X204, X202"


def like_document(written: str, known: str) -> tuple[Qrels, tuple[str, ...], str]:
    return Qrels({"1": {"other": 1, known: 1}}), (f"1\tQ0\tx\t1\t2\tt\n1\tQ0\t{written}\t2\t1\tt\n",), "2:6 X205"


CASES: dict[str, tuple[Qrels, tuple[str, ...], str]] = {
    "a run that fits": (ONE, (run({"1": ["a", "x"], "2": ["c"]}),), ""),
    "a file without queries": (ONE, (), ""),
    # queries
    "two other queries": (judged(*range(301, 308)), (run({"401": ["a"], "402": ["a"]}),), "X201"),
    "one other query": (ONE, (run({"401": ["a"]}),), "X201"),
    "an id that is damage": (judged(1), (run({"\x1b[2J" + "q" * 5000: ["a"]}),), "X201"),
    "two queries that look like judged ones": (
        judged("37.1", "37.2"),
        (run({"37_1": ["a"], "37_2": ["a"]}),),
        "1:1 X204, 2:1 X204, X201",
    ),
    "punctuation": like_query("37_1", "37.1"),
    "leading zeros": like_query("7", "007"),
    "the case of letters": like_query("q7", "Q7"),
    "a decimal point": like_query("301.0", "301"),
    "the text before the number": like_query("MB001", "1"),
    "one missing query": (ONE, (run({"1": ["a"]}),), "X202"),
    "five missing queries": (judged(*range(1, 7)), (run({"3": ["a"]}),), "X202"),
    "seven missing queries": (judged(*range(1, 9)), (run({"3": ["a"]}),), "X202"),
    "one query that is not judged": (ONE, (run({"8": ["a"], "1": ["a"], "2": ["c"]}),), "1 X203"),
    "two queries that are not judged": (
        ONE,
        (run({"1": ["a"], "8": ["a", "b"]}), run({"2": ["c"], "9": ["a"]})),
        "2 X203",
    ),
    "swapped columns": (judged(301, 302), ("a Q0 301 1 2 t\nb Q0 301 2 1 t\nb Q0 302 1 1 t\n",), "X201"),
    "swapped columns in the second piece": (judged(301), ("a Q0 x 1 2 t\n", "b Q0 301 1 2 t\n"), "X201"),
    # documents
    "no judged document": (ONE, (run({"1": ["x", "y"], "2": ["z"]}),), "X205"),
    "only one document": (judged(1), (run({"1": ["x"]}),), "X205"),
    "the case of a document's letters": like_document("ft911-3", "FT911-3"),
    "the ending": like_document("FT911-3.txt", "FT911-3"),
    "the folder": like_document("corpus/FT911-3", "FT911-3"),
    "the text before a document's number": like_document("doc_12", "12"),
    "the number alone": like_document("12", "doc12"),
    "leading zeros of a document": like_document("00012", "12"),
    "a look-alike that another query has": (ONE, (run({"1": ["x", "C"], "2": ["y"]}),), "2:6 X205"),
    "a file name that another query has": (ONE, (run({"1": ["x", "docs/C"], "2": ["y"]}),), "2:6 X205"),
    "a look-alike of two queries": (
        Qrels({"1": {"x": 1, "D1": 1}, "2": {"d1": 0}}),
        (run({"1": ["y"], "2": ["d1.txt"]}),),
        "2:6 X205",
    ),
    "a look-alike in the first piece": (ONE, (run({"1": ["A"]}), run({"2": ["y"]})), "1:6 X205"),
    "a look-alike after a piece without judged queries": (
        judged(1),
        (run({"8": ["x"]}), run({"1": ["A"]})),
        "1 X203, 2:6 X205",
    ),
    "documents of other queries": (ONE, (run({"1": ["c", "x"], "2": ["a", "b"]}),), "X205"),
    "a judged document far down": (ONE, (run({"1": [f"x{n}" for n in range(50)] + ["b"], "2": ["y"]}),), ""),
    "a judged document in a later piece": (ONE, (run({"1": ["x"]}), run({"2": ["y", "c"]})), ""),
    # the first ten documents of each query
    "9 of 100 are judged": (
        POOLED,
        (run({str(qid): [f"x{qid}-{n}" for n in range(9)] + [f"{'xd'[qid > 1]}{qid}-3"] for qid in range(1, 11)}),),
        "X206",
    ),
    "10 of 100 are judged": (POOLED, (of_pool(1, other=9),), ""),
    "10 of 101 are judged": (MORE, (of_pool(1, other=9), run({"11": ["x"]})), "X206"),  # 9.9 %
    "0 of 50 are judged": (POOLED, (of_pool(0, other=10, queries=4), run(LATE)), "X202, X206"),
    "0 of 49 are judged": (POOLED, (of_pool(0, 9, queries=1), run({q: NEXT[q] for q in "234"}), run(LATE)), "X202"),
    "1 of 100 is judged": (POOLED, (run({**NEXT, "1": ["d1-1", *NEXT["1"][1:]]}),), "X206"),
    "1 of 100 is judged, and 50 for no query": (
        POOLED,
        (run({**{q: [*docs[:5], *"vwxyz"] for q, docs in NEXT.items()}, "1": ["d1-1", *NEXT["1"][1:5], *"vwxyz"]}),),
        "X206",
    ),
    "1 of 100 is judged, and 49 for no query": (
        POOLED,
        (run({**{q: [*docs[:5], *"vwxyz"] for q, docs in NEXT.items()}, "1": ["d1-1", *NEXT["1"][1:6], *"vwxy"]}),),
        "X206",
    ),
    "50 of 100 are not judged for any query": (POOLED, (of_pool(5, unknown=5),), "X207"),
    "40 of 100 are not judged for any query": (POOLED, (of_pool(6, unknown=4),), ""),
    "50 of 101 are not judged for any query": (MORE, (of_pool(5, unknown=5), run({"11": ["d11-0"]})), ""),  # 49.5 %
    "judged documents on the last lines, with the highest scores": (
        POOLED,
        ("".join(f"{q} Q0 {docid} {at} {at} t\n" for q, docids in DEEP.items() for at, docid in enumerate(docids, 1)),),
        "",
    ),
    "19 judgments a query are no pool": (
        Qrels({qid: {f"d{qid}-{number}": number % 2 for number in range(19)} for qid in POOLED}),
        (of_pool(5, unknown=5),),
        "",
    ),
    "judgments without a 0 are no pool": (
        Qrels({qid: {f"d{qid}-{number}": 1 for number in range(20)} for qid in POOLED}),
        (of_pool(5, unknown=5),),
        "",
    ),
}

RANKING = "1 Q0 a 1\n1 Q0 b 0\n2 Q0 c 1\n"
RANKINGS: dict[str, tuple[Qrels, tuple[str, ...], str]] = {
    "the labels of the judgments": (ONE, (RANKING,), ""),
    "another label": (ONE, ("1 Q0 a 1\n", "1 Q0 bb 0\n1\tQ0\tb\t2\n2 Q0 c 1\n"), "3:8 X210"),
    "a relevant document that is not judged": (ONE, (RANKING + "2 Q0 x 1\n2 Q0 y 0\n",), "4:8 X210"),
    "labels of a query that is not judged": (ONE, (RANKING + "3 Q0 x 1\n",), "4 X203"),
}


@pytest.mark.parametrize(("kind", "cases"), [("run", CASES), ("judged-ranking", RANKINGS)], ids=["run", "ranking"])
def test_a_file_beside_judgments_gives_what_is_true_of_both(
    kind: str, cases: dict[str, tuple[Qrels, tuple[str, ...], str]], snapshot: SnapshotAssertion
) -> None:
    found = {name: checked(qrels, *chunks, kind=kind).sorted() for name, (qrels, chunks, _) in cases.items()}
    assert briefs(found) == {name: expected for name, (_, _, expected) in cases.items()}
    assert words(found) == snapshot


def test_findings_beyond_those_that_are_kept_are_counted() -> None:
    zeros = run({f"0{qid}": ["a"] for qid in range(1, 6)})
    assert checked(judged(*range(1, 6)), zeros, most=2).counts == {"X204": 5, "X201": 1}
    assert checked(ONE, "1 Q0 a 3\n1 Q0 b 3\n2 Q0 c 3\n", kind="judged-ranking", most=2).counts == {"X210": 3}


def test_what_is_ignored_is_not_looked_for() -> None:
    assert checked(ONE, run({"1": ["x"], "9": ["x"]}), ignore=("X",)).sorted() == []


@pytest.mark.parametrize(
    ("limit", "most", "qrels", "text", "expected"),
    [
        ("MOST_SAMPLED", 60, POOLED, of_pool(5, unknown=5), "of 60 documents"),
        ("MOST_SAMPLED", 61, POOLED, of_pool(5, unknown=5), "of 70 documents"),
        ("MOST_SPELLED", 2, judged("Q1", "Q2"), run({"x": ["a"], "q1": ["a"], "q2": ["a"]}), "query 'q1' is not"),
        ("MOST_SPELLED", 1, judged("Q1", "Q2"), run({"x": ["a"], "q1": ["a"], "q2": ["a"]}), "none of 3 queries"),
        ("MOST_COMPARED", 3, ONE, run({"1": ["C"], "2": ["y"]}), "'C' is not judged, but 'c' is"),
        ("MOST_COMPARED", 2, ONE, run({"1": ["C"], "2": ["y"]}), "Is the run for another collection"),
    ],
)
def test_work_has_limits(
    limit: str, most: int, qrels: Qrels, text: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(together if hasattr(together, limit) else lookalikes, limit, most)
    assert expected in str(checked(qrels, text).sorted()[0])


def test_the_first_documents_of_a_run_without_scores_are_those_with_the_lowest_ranks() -> None:
    lines = "".join(f"{q} Q0 {docid} {100 - place} 0 t\n" for q in DEEP for place, docid in enumerate(DEEP[q]))
    collector = Collector("run")
    checks = Together(POOLED, KINDS["msmarco"], collector)
    checks.take(rows_of(lines.encode(), 1, "run")._replace(scores=None))
    checks.finish(Shape({qid.encode(): 1 for qid in POOLED}, {}, 1000, tied=0, contradicted=0, scattered=False))
    assert collector.sorted() == []


REAL = {
    ("results.test", "qrels.test"): "",
    ("results.test", "qrels.rel_level"): "",
    ("results-302.test", "qrels-302.test"): "",
    ("results.trunc", "qrels.test"): "X202",  # trec_eval's authors cut it off before query 302
    # cut -d' ' -f1 FILE | sort -u | wc -l prints 301 for the run and 31 for the judgments.
    ("results.comment.test", "qrels.comment.test"): "1 X203",
}


@needs_shared
def test_trec_evals_runs_give_what_is_true_of_them(snapshot: SnapshotAssertion) -> None:
    found: dict[str, list[Finding]] = {}
    for name, qrels in REAL:
        chunks = (bytes(text).decode() for _, text in numbered(str(SHARED / "trec_eval-test" / name)))
        judgments = read_qrels(str(SHARED / "trec_eval-test" / qrels))
        found[f"{name} {qrels}"] = checked(judgments, *chunks).sorted()
    assert briefs(found) == {" ".join(names): expected for names, expected in REAL.items()}
    assert words(found) == snapshot
