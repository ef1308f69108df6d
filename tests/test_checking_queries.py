"""Checks of runs query by query: every finding with its exact line, column and text, counted by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from findings import brief, briefs, words
from syrupy.assertion import SnapshotAssertion

from treceval_py.checking.findings import Collector, Finding
from treceval_py.checking.queries import QueryChecks, Shape
from treceval_py.checking.rows import QueryLines
from treceval_py.data.ids import Ids
from treceval_py.diagnosis.columns import KINDS


def rows_of(text: str, kind: str = "run", first: int = 1) -> QueryLines:
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
    return QueryLines(
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


def checked(*texts: str, kind: str = "run", most: int = 100) -> tuple[list[Finding], Shape, Collector]:
    """Look at texts, one after the other, as those of one file."""
    collector = Collector("run.txt", most=most)
    checks = QueryChecks(KINDS[kind], collector)
    first = 1
    for text in texts:
        checks.take(rows_of(text, kind, first))
        first += text.count("\n")
    shape = checks.finish()
    return collector.sorted(), shape, collector


def listed(ids, scores=None, ranks=None, qid="1"):
    """Write a query with ids in their order: by default ranks from 1 on, and scores that fall to 1."""
    ids = ids.split() if isinstance(ids, str) else ids
    scores = range(len(ids), 0, -1) if scores is None else scores
    ranks = range(1, len(ids) + 1) if ranks is None else ranks
    return "".join(f"{qid} Q0 {name} {rank} {score} t\n" for name, rank, score in zip(ids, ranks, scores, strict=True))


def same(*rankings: str, qids: str = "123456789") -> str:
    """Write a run with these documents, of one letter each, best first."""
    return "".join(
        listed(list(docs), [9.5 - rank for rank in range(1, len(docs) + 1)], qid=qid)
        for qid, docs in zip(qids, rankings, strict=False)
    )


def grow(query: int, names: str, rank: str, step: int) -> str:
    """Write a query whose scores rise, or fall, by a step; ranks are the numbers of its lines, or all the same."""
    scores = [50 + step * at for at in range(1, len(names) + 1)]
    return listed([f"d{name}" for name in names], scores, rank * len(names) or None, str(query))


CLEAN = """\
1 Q0 d7 1 9.5 mine
1 Q0 d2 2 8.5 mine
1 Q0 d5 3 8.0 mine
2 Q0 d3 1 7.5 mine
2 Q0 d9 2 7.0 mine
2 Q0 d1 3 6.5 mine
"""
INTERLEAVED = "1 Q0 d7 1 9.5 t\n2 Q0 d3 1 7.5 t\n 1 Q0 d2 2 8.5 t\n2 Q0 d9 2 7.0 t\n3 Q0 d9 1 7.0 t\n"
UNRANKED = "9 Q0 d7 x 2.5 mine\n9 Q0 d2 1 8.5 mine\n"
TEN = ["d3", "d9", "d1", "d5", "d2", "d7", "d4", "d8", "d6", "d0"]
MIXED = [f"d{37 * at % 101}" for at in range(101)]
"""Ids in no order."""
LONG_RUN = [f"d{at}" for at in range(1000, 2200)]


def depths(usual: int, others: int) -> str:
    """Write queries with one document each, then some with two."""
    one = "".join(listed(["d1"], qid=f"q{query}") for query in range(usual))
    return one + "".join(listed(["d1", "d2"], qid=f"p{query}") for query in range(others))


CASES: dict[str, tuple[str | tuple[str, ...], str]] = {
    "a clean run": (CLEAN, ""),
    # documents that are repeated
    "repeated with the same score": ("1 Q0 d7 1 9.5 t\n1 Q0 d2 2 8.5 t\n1  Q0 d7 3 9.50 t\n", "3:7 R120, 3:10 R123"),
    "repeated with another score": ("1 Q0 d7 1 9.5 mine\n1 Q0 d2 2 8.5 mine\n1 Q0 d7 3 8.25 mine\n", "3:6 R121"),
    "each further line of a document": (
        "1 Q0 d7 1 9.5 mine\n1 Q0 d7 2 9.5 mine\n1 Q0 d7 3 8.5 mine\n",
        "2:6 R120, 3:6 R121",
    ),
    "a document of two queries": (("1 Q0 d7 1 9.5 mine\n", "2 Q0 d7 1 9.5 mine\n"), ""),
    "a control character in an id": ("1 Q0 d\x1b[31m 1 2 t\n1 Q0 d\x1b[31m 2 2 t\n", "2:6 R120"),
    "a long id": (f"1 Q0 {'d' * 5000} 1 2 t\n1 Q0 {'d' * 5000} 2 2 t\n", "2:6 R120"),
    "a repeated line beside distances": (
        listed(["d7", "d4", "d8", "d8"], [0.25, 0.5, 0.75, 0.75], [1, 2, 3, 3]),
        "1:11 R129, 2:9 R123, 4:6 R120, 4:9 R126",
    ),
    # queries whose lines are not together
    "interleaved": (INTERLEAVED, "3:2 R122"),
    "interleaved, in two pieces": (
        (INTERLEAVED[: INTERLEAVED.index(" 1 Q0")], INTERLEAVED[INTERLEAVED.index(" 1 Q0") :]),
        "3:2 R122",
    ),
    "a query that was only cut in two": (("1 Q0 d7 1 9.5 mine\n", "1 Q0 d2 2 8.5 mine\n"), ""),
    "a repeated document after a query that was cut in two": (("1 Q0 d7 1 9 t\n",) * 2 + ("2 Q0 d7 1 9 t\n" * 2,), ""),
    # ranks
    "ranks that contradict scores": (
        CLEAN + listed(["d4", "d6", "d1"], [2.5, 3.25, 9], qid="3") + listed(["d4", "d6"], [2.5, 3.25], qid="4"),
        "8:9 R123",
    ),
    "equal ranks": ("1 Q0 d7 1 2.5 mine\n1 Q0 d2 1 8.5 mine\n1 Q0 d5 2 1.0 mine\n", "2:9 R126"),
    "of equal ranks the one with the lower score": (
        listed(["d7", "d2", "d5", "d4"], [5, 1, 3, 2], [1, 2, 2, 3]),
        "3:9 R126, 4:9 R123",
    ),
    "equal scores before a contradiction": (listed(["d7", "d2", "d5"], [5, 5, 6]), "1:11 R129, 2:11 R130, 3:9 R123"),
    "lines out of order": (listed(["d5", "d7", "d2"], [1.0, 2.5, 2.0], [3, 1, 2]), ""),
    "a rank that is not whole": ("1 Q0 d7 x 2.5 mine\n1 Q0 d2 1 8.5 mine\n", ""),
    "such a rank, and a contradiction elsewhere": (UNRANKED + listed(["d7", "d2"], [1, 2]), "4:9 R123"),
    "such a rank, and a rank of 0 elsewhere": (UNRANKED + listed(["d7", "d2"], ranks=[0, 1]), "3:9 R124"),
    "such a rank, and constant ranks elsewhere": (UNRANKED + listed(["d7", "d2"], ranks=[7, 7]), "3:9 R125"),
    "such a rank, and a gap elsewhere": (UNRANKED + listed(["d7", "d2"], ranks=[1, 3]), "4:9 R126"),
    "such a rank in a query of rising scores": (
        listed([f"d{name}" for name in "73918"], range(1, 6), [1, 1, "x", 1, 1]),
        "1:11 R129",
    ),
    "ranks from 0": ("1 Q0 d7 0 9.5 mine\n1 Q0 d2 1 8.5 mine\n2 Q0 d3 0 7.5 mine\n", "1:9 R124"),
    "a single document of rank 0": (listed(["d7"], ranks=[0]), "1:9 R124"),
    "a single document of rank 0 before others": (
        listed(["d3"], ranks=[0]) + listed(["d7", "d2"], ranks=[0, 1], qid="2"),
        "1:9 R124",
    ),
    "a single document of rank 0 after others": (
        listed(["d7", "d2"], ranks=[0, 1]) + listed(["d3"], ranks=[0], qid="2"),
        "1:9 R124",
    ),
    "a negative rank": ("1 Q0 d7 2 8.5 mine\n1 Q0 d2 -1 9.5 mine\n", "1:9 R126, 2:9 R124"),
    "a constant rank of 0": ("1 Q0 d7 0 9.5 mine\n1 Q0 d2 0 8.5 mine\n2 Q0 d3 0 7.5 mine\n", "1:9 R125"),
    "a rank that is repeated": (listed(["d0", "d1", "d2"], ranks=[1, 2, 2]), "3:9 R126"),
    "a rank that is repeated later": (listed(["d0", "d1", "d2"], [2, 3, 1], [2, 1, 2]), "3:9 R126"),
    "a rank that is repeated with a higher score": (listed(["d0", "d1", "d2"], [9, 7, 8], [1, 2, 2]), "3:9 R126"),
    "a rank that is missing": (listed(["d0", "d1", "d2"], ranks=[1, 2, 4]), "3:9 R126"),
    "a rank that is missing on the first line": (listed(["d0", "d1", "d2"], [1, 2, 3], [4, 2, 1]), "1:9 R126"),
    "ranks from 2": (listed(["d0", "d2", "d1"], ranks=[2, 3, 4]), "1:9 R126"),
    "ranks at the ends of 64 bits": (listed(["d1", "d2"], ranks=[-(2**63), 2**63 - 1]), "1:9 R124, 2:9 R126"),
    # scores
    "constant scores": (listed(["d7", "d2", "d5"], [1.0, 1.0, 1]) + listed(["d5"], qid="2"), "1:11 R127"),
    "two equal scores": (listed(["d7", "d2"], [1, 1]), "2:11 R130"),
    # 7! = 5,040 orders, 8! = 40,320, 5! * 5! = 14,400; from 10,000 on chance is unlikely
    "ids that rise": (listed("d1 d2 d3 d4 d5 d6 d7 d8"), "1:11 R128"),
    "ids that fall": (listed("d8 d7 d6 d5 d4 d3 d2 d1"), "1:11 R128"),
    "ids that rise by their numbers": (listed("d1 d2 d9 d10 d11 d98 d99 d100"), "1:11 R128"),
    "ids that fall by their numbers": (listed("100 098 0097 11 10 9 2 1"), "1:12 R128"),
    "ids that rise as texts": (listed("d1 d10 d100 d11 d2 d98 d99 e"), "1:11 R128"),
    "seven ids that rise": (listed("d1 d2 d3 d4 d5 d6 d7"), ""),
    "seven ids that rise after another query": (listed(["x"]) + listed("d1 d2 d3 d4 d5 d6 d7", qid="2"), ""),
    "two queries of five ids that rise": (
        (listed("d1 d2 d3 d4 d5"), listed("d1 d2 d3 d4 d5", qid="2")),
        "1:11 R128",
    ),
    "two queries of four ids that rise": (
        listed("d1 d2 d3 d4") + "".join(listed("d1 d2 d3 d5", qid=qid) for qid in "2345"),
        "",
    ),
    "one query of two in another order": (
        (listed([f"d{at}" for at in range(10, 30)]), listed("d1 d2 d3 d5 d4", qid="2")),
        "",
    ),
    "one query of two in another order, in one piece": (
        listed([f"d{at}" for at in range(10, 30)])
        + listed([*(f"d{at}" for at in range(12, 30)), "d11", "d10"], qid="2"),
        "",
    ),
    "tied documents are no evidence": (listed([f"d{at}" for at in range(10)], [2] * 9 + [1]), "2:11 R130"),  # 10! / 9!
    "two tied documents among ids that rise": (
        listed([f"d{at}" for at in range(1, 10)], [9, 8, 7, 6, 5, 4, 3, 2, 2]),
        "1:11 R128, 9:11 R130",
    ),
    "an order that ends after a thousand ids": (listed([*LONG_RUN[:-2], *LONG_RUN[:-3:-1]]), ""),
    "an order of more than a thousand ids": (listed(LONG_RUN), "1:14 R128"),
    "an id of a million digits": (listed([*(f"d{at}" for at in range(8)), "d" + "9" * 1_000_000]), "1:11 R128"),
    "three scores that grow with the rank": (listed(["d7", "d4", "d8"], [0.25, 0.5, 0.75]), "1:11 R129, 2:9 R123"),
    "three scores of which one grows with the rank": (
        listed(["d7", "d4", "d8"], [0.25, 0.25, 0.75]),
        "1:11 R129, 2:11 R130, 3:9 R123",
    ),
    "two scores that grow with the rank": (listed(["d7", "d4"], [0.25, 0.5]), "2:9 R123"),
    "five scores that grow from line to line": (grow(1, "73918", "0", 1), "1:9 R125, 1:11 R129"),
    "four scores that grow from line to line": (grow(1, "7391", "0", 1), "1:9 R125"),
    # Nine queries of four documents are too short to count.
    "of how many queries of five documents": (
        grow(1, "73918", "0", 1) + "".join(grow(query, "7391", "0", -1) for query in range(2, 11)),
        "1 R132, 1:9 R125, 1:11 R129",
    ),
    "with and without ranks": (grow(1, "73918", "0", 1) + grow(2, "739", "", 1), "1:9 R125, 1:11 R129, 7:9 R123"),
    "lines that grow while ranks fall": (listed(["d7", "d3", "d9", "d1", "d8"], range(1, 6), range(5, 0, -1)), ""),
    "nine of ten queries grow": (
        "".join(grow(query, "738", "", 1 if query else -1) for query in range(10)),
        "4:11 R129, 5:9 R123, R136",
    ),
    "eight of nine queries grow": (
        "".join(grow(query, "738", "", 1 if query else -1) for query in range(9)),
        "5:9 R123, R136",
    ),
    "2 of 10 documents are tied": (listed(TEN, [20, 18, 18, *range(17, 10, -1)]), "3:11 R130"),
    "no document is tied": (listed(TEN), ""),
    "10 of 51 documents are tied": (listed(MIXED[:51], sorted([*range(46), *range(5)], reverse=True)), ""),  # 19.6 %
    "ties beside constant scores": (
        listed(["d7", "d2", "d5"], [1, 1, 1]) + listed(TEN, [20, 18, 18, *range(17, 10, -1)], qid="2"),
        "1:11 R127, 6:11 R130",
    ),
    "the higher of two ties": (listed(["d7", "d2", "d5", "d3"], [1, 1, 9, 9], [3, 4, 1, 2]), "4:11 R130"),
    "a document that is repeated is no tie": (listed(["d7", "d2", "d7"], [9, 8, 9]), "3:6 R120, 3:9 R123"),
    "a document that is repeated counts once among ties": (
        listed(["d7", "d7", "d2", "d5"], [9, 9, 9, 7]),
        "2:6 R120, 3:11 R130",
    ),
    # 2**24 + 1 is the first whole number that single precision does not have.
    "equal in single precision": ("1 Q0 a 1 16777217 t\n1 Q0 b 2 16777216 t\n", "2:10 R131"),
    "different in single precision": ("1 Q0 a 1 16777216 t\n1 Q0 b 2 16777215 t\n", ""),
    "1 of 100 neighbours is equal in single precision": (
        listed(MIXED, [2**24 + 1, 2**24, *range(99, 0, -1)]),
        "2:12 R131",
    ),
    "1 of 101 neighbours is equal in single precision": (
        listed([*MIXED, "x"], [2**24 + 1, 2**24, *range(100, 0, -1)]),
        "",
    ),
    "both infinite in single precision": ("1 Q0 a 1 1e301 t\n1 Q0 b 2 1e300 t\n", "2:10 R131"),
    "infinite scores": ("1 Q0 b 1 inf t\n1 Q0 a 2 1 t\n1 Q0 c 3 -inf t\n", ""),
    # depth
    "4 of 5 queries have one document": (depths(4, 1), "5 R132"),
    "15 of 19 queries have one document": (depths(15, 4), ""),  # 78.9 %
    "five other queries": (depths(20, 5), "21 R132"),
    "six other queries": (depths(24, 6), "25 R132"),
    "one document less": (
        "".join(listed(["d1", "d2"], qid=f"q{query}") for query in range(4)) + listed(["d1"], qid="q9"),
        "9 R132",
    ),
    # the same documents
    "three queries with the same three documents": (same("xyz", "xyz", "xyz"), "R135"),
    "the same documents, in two pieces": ((same("xyz", "xyz"), same("xyz", qids="3")), "R135"),
    "the same documents in different orders": (same("xyz", "xyz", "zyx"), "R136"),
    "two queries with the same documents": (same("xyz", "xyz"), ""),
    "three queries with the same two documents": (same("xy", "xy", "xy"), ""),
    "three queries with other documents": (same("xyz", "xyz", "xyw"), ""),
    "one query with one document more": (same("xyz", "xyzw", "xyz", "xyz", "xyz"), "4 R132"),
}

MSMARCO = {
    "a clean run": ("1\t7\t1\n1\t3\t2\n2\t7\t1\n2\t5\t2\n", ""),
    "a passage that is repeated": ("1\t7\t1\n1\t3\t2\n1\t7\t3\n", "3:3 R121"),
    "a passage that is repeated with its rank": ("1\t7\t1\n1\t7\t1\n", "2:3 R120, 2:5 R134"),
    "ranks from 0": ("1\t7\t0\n1\t3\t1\n", "1:5 R133"),
    "a rank that is repeated": ("1\t7\t1\n1\t3\t1\n", "2:5 R134"),
    "the same ranking on lines in different orders": (
        "".join(f"{qid}\t{doc}\t{doc}\n" for qid, docs in (("q", "123"), ("p", "312"), ("r", "321")) for doc in docs),
        "R135",
    ),
}
JUDGED_RANKING = {
    "a clean ranking": ("1 Q0 d7 1\n1 Q0 d2 0\n", ""),
    "a document that is repeated": ("1 Q0 d7 1\n1 Q0 d7 0\n", "2:6 R120"),
}


@pytest.mark.parametrize(
    ("kind", "cases"),
    [("run", CASES), ("msmarco", MSMARCO), ("judged-ranking", JUDGED_RANKING)],
    ids=["run", "msmarco", "judged-ranking"],
)
def test_a_run_gives_what_is_true_of_it(kind, cases, snapshot: SnapshotAssertion):
    found = {
        name: checked(*((texts,) if isinstance(texts, str) else texts), kind=kind)[0]
        for name, (texts, _) in cases.items()
    }
    assert briefs(found) == {name: expected for name, (_, expected) in cases.items()}
    assert words(found) == snapshot


def test_beyond_those_that_are_kept_repeated_lines_are_counted():
    findings, _, collector = checked("".join(f"1 Q0 d7 {rank} 9.5 mine\n" for rank in range(1, 51)), most=3)
    assert brief(findings) == "2:6 R120, 3:6 R120, 4:6 R120"
    assert collector.counts["R120"] == 49


# -- the shape


def test_the_shape_has_queries_in_their_order_with_lines_and_counts():
    shape = checked("# made by hand\n" + CLEAN, "10 Q0 d7 1 9.5 mine\n")[1]
    assert shape == Shape({b"1": 2, b"2": 5, b"10": 8}, {b"1": 3, b"2": 3, b"10": 1}, 7, 0, 0, False)
    assert checked()[1] == Shape({}, {}, 0, 0, 0, False)
    assert checked("1 Q0 d7 1\n1 Q0 d2 0\n", kind="judged-ranking")[1] == Shape({b"1": 1}, {b"1": 2}, 2, 0, 0, False)
    assert checked(INTERLEAVED)[1] == Shape({b"1": 1, b"2": 2, b"3": 5}, {b"1": 2, b"2": 2, b"3": 1}, 5, 0, 0, True)
    assert checked("1 Q0 d7 1 9.5 mine\n", "1 Q0 d2 2 8.5 mine\n")[1].scattered


def test_the_first_of_several_pieces_is_shown_whichever_comes_first():
    collector = Collector("run.txt")
    checks = QueryChecks(KINDS["run"], collector)
    checks.take(rows_of("2 Q0 a 1 1 t\n2 Q0 b 2 2 t\n", first=3))
    checks.take(rows_of("1 Q0 a 1 1 t\n1 Q0 b 2 2 t\n", first=1))
    shape = checks.finish()
    assert brief(collector.sorted()) == "2:8 R123"
    assert list(shape.first_line) == [b"1", b"2"]


@pytest.mark.parametrize(
    ("text", "tied"),
    [
        (listed(TEN, [20, 18, 18, *range(17, 10, -1)]), 2),
        (listed([*TEN, "dx"], [20, 18, 18, *range(17, 9, -1)]), 2),  # too few to be reported
        (listed(["d7", "d2", "d7"], [9, 8, 9]), 0),
        (listed(["d3", "d9", "d1", "d5"], [2, 1, 1, 1]), 3),
        (listed(["a", "b", "c"], [2, 1, 2], [1, 3, 2]), 2),
        ("1 Q0 a 1 2 t\n2 Q0 b 1 2 t\n", 0),
    ],
)
def test_the_shape_counts_documents_that_share_their_score(text, tied):
    assert checked(text)[1].tied == tied


def test_the_shape_says_whether_ranks_contradict_scores_and_scores_look_like_distances():
    texts = [CASES["ranks that contradict scores"][0], grow(1, "739", "", 1), grow(1, "739", "", -1), UNRANKED]
    found = [(shape.contradicted, shape.distances) for _, shape, _ in map(checked, texts)]
    assert found == [(2, False), (1, True), (0, False), (0, False)]
