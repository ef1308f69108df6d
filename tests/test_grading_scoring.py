"""Scores of an assignment, and a submission beside the baseline; numbers are computed by hand beside each test."""

from __future__ import annotations

import gzip
import hashlib
import math
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from treceval_py.errors import InputError, TrecevalError
from treceval_py.grading.marking.scoring import AssignmentScorer, against, values_by_query
from treceval_py.grading.records import AgainstBaseline, Loss, LostDocument
from treceval_py.grading.rules import MeasureRule, Rules, Task
from treceval_py.io.source import Text

RR = Rules(measures=(MeasureRule("RR"),), feedback="full")
"""The reciprocal of the rank of the first relevant document, over all judged queries."""


def scoring(
    folder: Path, qrels: str, baseline: str | bytes = "", rules: Rules = RR, name: str = "base.txt"
) -> AssignmentScorer:
    (folder / "qrels.txt").write_text(qrels)
    (folder / name).write_bytes(baseline if isinstance(baseline, bytes) else baseline.encode())
    return AssignmentScorer(Task("", str(folder / "qrels.txt"), str(folder / name) if baseline else "", rules=rules))


def run_of(**rankings: str) -> str:
    """Return a run of rankings: q1="abc" ranks document a first."""
    ranked = [(qid, rank, docid) for qid, docids in rankings.items() for rank, docid in enumerate(docids, 1)]
    return "".join(f"{qid} Q0 {docid} {rank} {100 - rank} t\n" for qid, rank, docid in ranked)


def compared(folder: Path, qrels: str, mine: str, theirs: str, rules: Rules = RR) -> AgainstBaseline:
    """Compare a run with a baseline by the first measure."""
    made = scoring(folder, qrels, theirs, rules)
    assert made.baseline is not None
    scored = made.scored(Text(mine.encode(), "run.txt"), "run")
    found = against(scored, made.baseline, rules.measures[0].name, rules.feedback)
    assert found is not None
    return found


PROFILE = RR._replace(profile="ranx")
ONE_EACH = "".join(f"{qid} 0 r 1\n" for qid in ("q1", "q2", "q3", "q4", "q5"))
"""Five queries, each with one relevant document, r: RR is 1 / its rank."""


# --- a run ---

REPEATED = b"q1 Q0 r 1 9 t\nq1 Q0 x 2 8 t\nq1 Q0 r 3 7 t\n"
BY_RANK = b"q1\tx\t1\nq1\ty\t2\nq1\tr\t3\n"
TWO_JUDGED = "q1 0 a 1\nq1 0 b 0\nq2 0 c 1\n"


@pytest.mark.parametrize(
    ("qrels", "run", "kind", "profile", "value"),
    [
        (ONE_EACH, run_of(q1="xr", q2="r").encode(), "run", "trec_eval-10", (1 / 2 + 1) / 5),
        ("q1 0 r 1\n", BY_RANK, "msmarco", "trec_eval-10", 1 / 3),
        ("q1 0 r 1\n", REPEATED, "run", "ranx", 1 / 2),  # the last line of r counts, behind x
        # A judged ranking, in the order of its lines; its labels do not count.
        (TWO_JUDGED, b"q1 Q0 b 0\nq1 Q0 a 1\nq2 Q0 c 1\n", "judged-ranking", "coursework", (1 / 2 + 1) / 2),
        (TWO_JUDGED, b"q1 Q0 b 1\nq1 Q0 a 1\n", "judged-ranking", "coursework", (1 / 2 + 0) / 2),
    ],
)
def test_a_run_is_scored_by_the_judgments_under_the_profile(
    tmp_path: Path, qrels: str, run: bytes, kind: str, profile: str, value: float
) -> None:
    rules = RR if kind == "judged-ranking" else RR._replace(profile=profile)
    scored = scoring(tmp_path, qrels, rules=rules).scored(Text(run, "run.txt"), kind)
    assert scored.results.mean == {"RR": pytest.approx(value)}
    assert (scored.name, scored.profile.name) == ("run.txt", profile)


# --- the baseline ---


def test_the_baseline_is_scored_as_a_run_and_known_by_the_hash_of_its_bytes(tmp_path: Path) -> None:
    data = gzip.compress(run_of(q1="r", q2="xr").encode())
    made = scoring(tmp_path, ONE_EACH, data, name="base.txt.gz")
    assert made.baseline is not None
    assert made.baseline.results.mean == {"RR": pytest.approx((1 + 1 / 2) / 5)}
    assert made.baseline.name == str(tmp_path / "base.txt.gz")
    assert made.baseline_hash == hashlib.sha256(data).hexdigest()
    without = scoring(tmp_path, ONE_EACH)
    assert (without.baseline, without.baseline_hash) == (None, "")


MSMARCO = Rules(profile="msmarco", measures=(MeasureRule("RR@10"),))
ONE = "q1 0 r 1\n"

REFUSED: dict[str, tuple[str, str | bytes, Rules]] = {
    "preferences": ("1 0 0 a 1.0\n1 0 0 b 2.0\n", "", RR),
    "judgments of groups": ("1 1 a 1\n1 2 a 0\n", "", RR),
    "a score that is no number": (ONE, "q1 Q0 r first 9 t\nq1 Q0 x 2 nan t\n", RR),
    "a document again": (ONE, REPEATED, RR),
    "no judged query": (ONE_EACH, run_of(q9="r"), RR),
    "JSON": (ONE_EACH, '{"q1": {"r": 2.5}}', RR),
    "judgments": (ONE_EACH, "q1 0 r 1\n", RR),
    "no ranks": (ONE, "q1 Q0 r first 9 t\n", MSMARCO),
}


def test_judgments_and_baselines_that_cannot_be_used_are_refused_at_their_line(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    said = []
    for name, (qrels, baseline, rules) in REFUSED.items():
        with pytest.raises(TrecevalError) as caught:
            scoring(tmp_path, qrels, baseline, rules)
        said.append(f"{name}: {caught.value}".replace(f"{tmp_path}/", ""))
    with pytest.raises(InputError) as caught:
        scoring(tmp_path, ONE).scored(Text(REPEATED, "run.txt"), "run")
    assert "\n".join([*said, f"a document again in a run: {caught.value}"]) == snapshot


# --- beside the baseline ---


def test_a_submission_is_set_beside_the_baseline_query_by_query(tmp_path: Path) -> None:
    mine = run_of(q1="xr", q2="r", q3="r", q4="zr", q5="r")
    theirs = run_of(q1="r", q2="xr", q3="r", q4="yr", q5="xyzr")
    found = compared(tmp_path, ONE_EACH, mine, theirs)
    # RR of mine: 1/2, 1, 1, 1/2, 1; of theirs: 1, 1/2, 1, 1/2, 1/4.
    means = pytest.approx(4 / 5), pytest.approx(3.25 / 5)
    assert found[:8] == (str(tmp_path / "base.txt"), "RR", *means, 5, 2, 1, 2)
    assert found.losses == (Loss("q1", 0.5, 1.0, (LostDocument("r", 1, 2, 1),)),)


def test_the_p_value_is_that_of_students_paired_t_test(tmp_path: Path) -> None:
    found = compared(tmp_path, "q1 0 r 1\nq2 0 r 1\n", run_of(q1="r", q2="xr"), run_of(q1="xr", q2="abcr"))
    # Differences 1/2 and 1/4: mean 3/8, half of their distance 1/8, so t = 3; with one degree of freedom t has the
    # Cauchy distribution, and p = 1 - 2 atan(t) / pi.
    assert found.p == pytest.approx(1 - 2 * math.atan(3) / math.pi, abs=1e-12)


def test_the_three_queries_that_lost_most_are_named_the_largest_loss_first(tmp_path: Path) -> None:
    first = dict.fromkeys(("q2", "q10", "q3", "q4", "q5"), "r")
    qrels = ONE_EACH.replace("q1 ", "q10 ")
    found = compared(tmp_path, qrels, run_of(q2="abr", q10="abr", q3="abcdr", q4="xr", q5="r"), run_of(**first))
    assert found.worse == 4
    # Of equal losses the first in the order of their bytes.
    assert [(loss.qid, loss.value) for loss in found.losses] == [("q3", 1 / 5), ("q10", 1 / 3), ("q2", 1 / 3)]
    equal = compared(tmp_path, qrels, run_of(**first), run_of(**first))
    assert (equal.better, equal.worse, equal.equal, equal.p, equal.losses) == (0, 0, 5, 1.0, ())


def test_only_queries_that_both_have_values_for_are_compared(tmp_path: Path) -> None:
    rules = RR._replace(complete=False)
    found = compared(tmp_path, ONE_EACH, run_of(q1="r", q2="xr"), run_of(q2="r", q3="r"), rules)
    assert (found.queries, found.value, found.baseline, found.p) == (1, 0.5, 1.0, None)  # of one query there is no p


def test_queries_that_count_for_another_measure_only_are_not_compared(tmp_path: Path) -> None:
    # Of a query that the run lacks BEIR's RR takes 0 into the mean, and its nDCG nothing.
    rules = Rules(profile="beir", complete=False, measures=(MeasureRule("nDCG@10"), MeasureRule("RR")))
    found = compared(tmp_path, ONE_EACH, run_of(q1="r", q2="r"), run_of(q1="xr", q2="xr"), rules)
    assert (found.queries, found.value, found.better) == (2, 1.0, 2)
    assert found.baseline == pytest.approx(1 / math.log2(3))


def test_only_what_is_scored_under_the_same_profile_and_has_common_queries_is_compared(tmp_path: Path) -> None:
    incomplete = RR._replace(complete=False)
    baseline = scoring(tmp_path, ONE_EACH, run_of(q1="r"), incomplete).baseline
    assert baseline is not None
    for rules, qid, queries in ((incomplete, "q1", 1), (incomplete, "q2", None), (PROFILE, "q1", None)):
        mine = scoring(tmp_path, ONE_EACH, rules=rules).scored(Text(run_of(**{qid: "r"}).encode(), "run.txt"), "run")
        found = against(mine, baseline, "RR", "full")
        assert (found if found is None else found.queries) == queries


# --- what may be told of the judgments ---


def test_documents_and_queries_that_lost_are_named_where_the_rules_allow_it(tmp_path: Path) -> None:
    for feedback, losses in (("own", (Loss("q1", 0.5, 1.0),)), ("aggregate", ())):
        found = compared(tmp_path, ONE, run_of(q1="xr"), run_of(q1="rx"), RR._replace(feedback=feedback))
        assert (found.losses, found.value, found.baseline, found.worse) == (losses, 0.5, 1.0, 1)


def test_values_by_query_are_those_of_all_judged_queries_in_the_order_of_their_bytes(tmp_path: Path) -> None:
    made = scoring(tmp_path, "2 0 r 1\n10 0 r 1\n7 0 r 1\n", rules=RR._replace(complete=False))
    scored = made.scored(Text(b"10 Q0 r 1 9 t\n2 Q0 x 1 9 t\n2 Q0 r 2 8 t\n", "run.txt"), "run")
    assert values_by_query(scored, "RR").tolist() == pytest.approx([1, 0.5, math.nan], nan_ok=True)


# --- the documents that were lost ---

AP, NDCG = (Rules(measures=(MeasureRule(name),)) for name in ("AP", "nDCG"))


def lost(folder: Path, qrels: str, mine: str, theirs: str, rules: Rules = AP) -> tuple[LostDocument, ...]:
    """Return the documents of the only query that is worse than the baseline."""
    (loss,) = compared(folder, qrels, mine, theirs, rules._replace(feedback="full")).losses
    return loss.documents


# Labels, rankings of the submission and of the baseline, rules, and the documents with label, ranks in both.
LOST: dict[str, tuple[str, str, str, Rules, list[tuple[str, int, int | None, int]]]] = {
    # c rose from 4 to 2; x is not relevant.
    "as the baseline ranks them": ("a2 b1 c1 x0", "xcba", "baxc", AP, [("b", 1, 3, 1), ("a", 2, 4, 2)]),
    # Of the baseline b stands where the submission would have its next document.
    "not retrieved": ("a1 b1", "a", "ab", AP, [("b", 1, None, 2)]),
    "a query that the run lacks": ("a1 b1", "", "ab", AP, [("a", 1, None, 1), ("b", 1, None, 2)]),
    "not retrieved by the baseline": ("a1 b1", "xyabz", "a", AP, [("a", 1, 3, 1)]),
    "one that keeps its rank": ("a1 b1", "axb", "ab", AP, [("b", 1, 3, 2)]),
    "three at most": ("a1 b1 c1 d1", "wxyzabcd", "dcba", AP, [("d", 1, 8, 1), ("c", 1, 7, 2), ("b", 1, 6, 3)]),
    "from the level of the rules on": ("a1 b2", "xyab", "ab", AP._replace(level=2), [("b", 2, 4, 2)]),
    "labels that are gains": ("a1 b2 c0", "xyzcba", "cba", NDCG, [("b", 2, 5, 2), ("a", 1, 6, 3)]),
}


def test_relevant_documents_that_fell_are_lost_first_what_the_baseline_ranks_highest(tmp_path: Path) -> None:
    found = {}
    for name, (labels, mine, theirs, rules, _) in LOST.items():
        qrels = "".join(f"q1 0 {each[0]} {each[1]}\n" for each in labels.split()) + "q2 0 a 1\n"
        found[name] = list(lost(tmp_path, qrels, run_of(q1=mine, q2="a"), run_of(q1=theirs, q2="a"), rules))
    assert found == {name: expected for name, (*_, expected) in LOST.items()}


def test_ranks_are_those_by_which_the_profile_scored(tmp_path: Path) -> None:
    # By the scores r stands last in both; by the ranks, as MS MARCO's script takes them, it fell from 1 to 2.
    rules = Rules(profile="msmarco", measures=(MeasureRule("RR@10"),))
    mine, theirs = "q1 Q0 r 2 1 t\nq1 Q0 x 1 9 t\n", "q1 Q0 r 1 1 t\nq1 Q0 x 2 9 t\n"
    assert lost(tmp_path, "q1 0 r 1\n", mine, theirs, rules) == (LostDocument("r", 1, 2, 1),)
